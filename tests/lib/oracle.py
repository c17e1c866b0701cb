# SPDX-License-Identifier: (LGPL-2.1 OR BSD-2-Clause)
"""Compares recorded user stacks with those that libdwfl saw (tests/workloads/dwflstacks.c), frame by frame."""
import bisect
import json
import os
import struct
import time

GUESSED = 'guessed'


class Oracle:
    """Stops of threads as dwflstacks printed them, held against a recording.

    Each stop ends up in one place: equal, mismatches (called complete and not libdwfl's, or cut short and not the
    leaf side of libdwfl's), incomplete (not called complete, and not contradicted), guessed_wrong (said to be
    guessed, and not libdwfl's), unjudged (libdwfl itself gave up) or unseen (no wait of that moment).
    """

    def __init__(self, rec, text):
        self.rec = rec
        self.begin_ns = rec.header['epoch_unix_nano'] - (time.time_ns() - time.monotonic_ns())
        self.stops = [json.loads(line) for line in text.splitlines() if line.startswith('{')]
        self.equal, self.unseen, self.unjudged, self.distinct = 0, 0, 0, set()
        self.incomplete, self.mismatches, self.guessed_wrong = [], [], []
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

    def run(self):
        for stop in self.stops:
            w = self._wait_at(stop['tid'], stop['from'] - self.begin_ns, stop['to'] - self.begin_ns)
            if w is None or not w.ustack:
                self.unseen += 1
            elif not stop['whole']:
                self.unjudged += 1
            else:
                self._judge(self.rec.stacks[w.ustack].ended, frames(self.rec, w.ustack),
                            [(base_name(f), a) for f, a in stop['frames']])
        return self

    def _judge(self, ended, got, want):
        self.distinct.add(tuple(want))
        if got == want and ended == 'complete':
            self.equal += 1
        elif ended == GUESSED:
            (self.incomplete if got == want else self.guessed_wrong).append((ended, got, want))
        elif ended != 'complete' and got == want[:len(got)]:
            self.incomplete.append((ended, got, want))
        else:
            self.mismatches.append((ended, got, want))

    def judged(self):
        return len(self.stops) - self.unseen - self.unjudged

    def text(self):
        return ('%d stops in %d different places: %d equal to libdwfl, %d differ, %d of ours incomplete, %d guessed '
                'wrong, %d libdwfl gave up, %d not seen' % (
                    len(self.stops), len(self.distinct), self.equal, len(self.mismatches), len(self.incomplete),
                    len(self.guessed_wrong), self.unjudged, self.unseen))


def difference(ended, got, want):
    """One mismatch in a line: where the lists part, and what either says there."""
    i = next((i for i, (g, w) in enumerate(zip(got, want)) if g != w), min(len(got), len(want)))

    def at(some):
        return '%s+0x%x' % some[i] if i < len(some) else 'the end'
    return '%s, frame %d of %d/%d: got %s, libdwfl %s' % (ended, i, len(got), len(want), at(got), at(want))


def frames(rec, sid):
    """[(file's name, address in it)] of a recorded stack, innermost first; inlined frames are left out."""
    stack = rec.stacks[sid]
    return [(base_name(rec.modules[module].path if module in rec.modules else ''), address)
            for module, address, inlined in zip(stack.modules, stack.addresses, stack.inlined) if not inlined]


def complete_share(rec, blocking_only=True):
    """(complete, all) waits that have a user stack; of blocked ones alone if so asked."""
    waits = [w for w in rec.waits if w.ustack and (w.blocked or not blocking_only)]
    return sum(rec.stacks[w.ustack].ended == 'complete' for w in waits), len(waits)


def blocking_ends(rec, after_ns=0, pids=None):
    """{how the user stack ended: waits} of all waits that blocked and began after this time; 'none' has no stack."""
    ends = {}
    for w in rec.waits:
        if w.blocked and w.start >= after_ns and (pids is None or w.pid in pids):
            ended = rec.stacks[w.ustack].ended if w.ustack in rec.stacks else 'none'
            ends[ended] = ends.get(ended, 0) + 1
    return ends


def share(ends, word='complete'):
    total = sum(ends.values())
    return ends.get(word, 0) / total if total else 0.0


def base_name(path):
    if not path or path.startswith('//'):      # code in no file
        return ''
    return 'vdso' if path.startswith('[vdso') else os.path.basename(path.removesuffix(' (deleted)'))


class Code:
    """The executable bytes of an ELF file, by the addresses that the file itself counts in."""

    def __init__(self, path):
        with open(path, 'rb') as f:
            self.data = f.read()
        offset, = struct.unpack_from('<Q', self.data, 0x20)
        size, n = struct.unpack_from('<HH', self.data, 0x36)
        self.parts = []
        for i in range(n):
            kind, flags, file_offset, address, _, length = struct.unpack_from('<IIQQQQ', self.data, offset + i * size)
            if kind == 1 and flags & 1:
                self.parts.append((address, length, file_offset))

    def before(self, address, n):
        """The n bytes before an address; None where none of this file is executable."""
        for start, length, offset in self.parts:
            if start + n <= address <= start + length:
                at = offset + address - start
                return self.data[at - n:at]
        return None

    def holds(self, address):
        return any(start <= address < start + length for start, length, _ in self.parts)

    def after_call(self, address):
        """Whether an x86_64 call instruction may end right before this address."""
        b = self.before(address, 8)
        if b is None:
            return False
        # e8: relative; ff /2: by register or memory, with the lengths that its ModRM byte can ask for
        return b[-5] == 0xe8 or any(b[-n] == 0xff and b[-n + 1] >> 3 & 7 == 2 for n in range(2, 8))
