# SPDX-License-Identifier: (LGPL-2.1 OR BSD-2-Clause)
"""Compares recorded user stacks with those that libdwfl saw (tests/workloads/dwflstacks.c), frame by frame."""
import bisect
import json
import os
import time


class Oracle:
    """Stops of threads as dwflstacks printed them, held against a recording."""

    def __init__(self, rec, text):
        self.rec = rec
        self.begin_ns = rec.header['epoch_unix_nano'] - (time.time_ns() - time.monotonic_ns())
        self.stops = [json.loads(line) for line in text.splitlines() if line.startswith('{')]
        self.equal, self.unseen, self.unjudged, self.incomplete, self.mismatches = 0, 0, 0, [], []
        waits = {}
        for w in rec.waits:
            waits.setdefault(w.tid, []).append(w)
        self.waits = {tid: sorted(ws, key=lambda w: w.start) for tid, ws in waits.items()}
        self.starts = {tid: [w.start for w in ws] for tid, ws in self.waits.items()}

    def _wait_at(self, tid, begin, end):
        i = bisect.bisect_right(self.starts.get(tid, []), begin) - 1
        if i < 0:
            return None
        w = self.waits[tid][i]
        return w if w.end >= end else None

    def frames(self, wait):
        """[(file's name, address in it)] of a wait's user stack, innermost first; inlined frames are left out."""
        stack = self.rec.stacks[wait.ustack]
        found = []
        for module, address in zip(stack.modules, stack.addresses):
            path = self.rec.modules[module].path if module in self.rec.modules else ''
            frame = (_name(path), address)
            found.append(frame)
        return found

    def run(self):
        for stop in self.stops:
            w = self._wait_at(stop['tid'], stop['from'] - self.begin_ns, stop['to'] - self.begin_ns)
            if w is None or not w.ustack:
                self.unseen += 1
                continue
            want = [(_name(f), a) for f, a in stop['frames']]
            got = self.frames(w)
            ended = self.rec.stacks[w.ustack].ended
            if not stop['whole']:
                self.unjudged += 1           # libdwfl itself gave up
            elif got == want:
                self.equal += 1
                if ended != 'complete':
                    self.incomplete.append((ended, got))
            elif ended != 'complete':
                self.incomplete.append((ended, got, want))
            else:
                self.mismatches.append((ended, got, want))
        return self

    def text(self):
        return '%d stops: %d equal to libdwfl, %d differ, %d of ours incomplete, %d libdwfl gave up, %d not seen' % (
            len(self.stops), self.equal, len(self.mismatches), len(self.incomplete), self.unjudged, self.unseen)


def complete_share(rec, blocking_only=True):
    """(complete, all) waits that have a user stack; of blocked ones alone if so asked."""
    waits = [w for w in rec.waits if w.ustack and (w.blocked or not blocking_only)]
    return sum(rec.stacks[w.ustack].ended == 'complete' for w in waits), len(waits)


def _name(path):
    if not path:
        return ''
    return 'vdso' if path.startswith('[vdso') else os.path.basename(path.removesuffix(' (deleted)'))
