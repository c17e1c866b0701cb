# SPDX-License-Identifier: (LGPL-2.1 OR BSD-2-Clause)
"""Goroutines that were parked before the attach: found in the program's memory, with why, where, and until when."""
import re

from live import check
from test_go import FIRST, newer_program, program

# How it waits: the function that does, reason, who ends it
WAITS = {
    'mutex': ('main.onMutex', 'lock', 'task'), 'chan_receive': ('main.onReceive', 'sync', 'task'),
    'chan_send': ('main.onSend', 'sync', 'task'), 'chan_select': ('main.onSelect', 'sync', 'task'),
    'waitgroup': ('main.onWaitGroup', 'sync', 'task'), 'condvar': ('main.onCond', 'sync', 'task'),
    'sleep': ('main.onSleep', 'sleep', 'timer'), 'socket': ('main.onNetwork', 'io', 'net'),
}


def are_found(live, path):
    p = live.spawn([path, '2500'])
    live.until('all are parked', lambda: 'parked main=' in live.text(p), 10)
    rec = live.attach('-p', str(p.pid), '-d', '4s', '--probes', 'go', timeout=90)
    text = live.text(p)
    main = int(re.search(r'^parked main=(\d+)', text, re.M).group(1))
    told = re.findall(r'^goroutine kind=(\w+) wakes=(\w+) goid=(\d+)', text, re.M)
    check(len(told) == 2 * len(WAITS), 'the program waited otherwise: %s', told)
    ran = {int(g): int(at) for g, at in re.findall(r'^woken kind=\w+ goid=(\d+) at=(\d+)', text, re.M)}
    epoch = rec.header['epoch_unix_nano']
    end = max(w.end for w in rec.waits)
    for kind, wakes, goid in told:
        function, reason, ctx = WAITS[kind]
        goid = int(goid)
        waits = [w for w in rec.waits if w.goid == goid and w.start < 1000000 and w.end - w.start > 100000000]
        check(len(waits) == 1, '%s: goroutine %d has %d waits from the start: %s', kind, goid, len(waits), waits)
        w = waits[0]
        check(w.kind == kind and w.reason == reason, '%s: %s', kind, w)
        frames = rec.stacks[w.ustack].frames
        check(rec.stacks[w.ustack].ended == 'complete' and function in frames and frames[-1] == 'runtime.goexit',
              '%s: the stack (%s): %s', kind, rec.stacks[w.ustack].ended, frames)
        if wakes == 'true':
            check(w.clipped == 1, '%s was woken: clipped %s', kind, w.clipped)
            check(abs(w.end + epoch - ran[goid]) < live.slack_ns, '%s: ran at %d, the program says %d', kind,
                  w.end + epoch, ran[goid])
            check(w.ctx == ctx and w.waker_goid == (main if ctx == 'task' else 0), '%s: woken by %s %s', kind, w.ctx,
                  w.waker_goid)
        else:
            check(goid not in ran and w.clipped == 3 and end - w.end < 1000000, '%s stays parked: %s', kind, w)
    check(not any('not seen' in n for n in rec.summary.get('notes', [])), '%s', rec.summary.get('notes'))


def test_found(live):
    are_found(live, program(live, 'parked'))


def found_by(version):
    def test(live):
        are_found(live, newer_program(live, 'parked', version))
    return test


for v in FIRST:
    globals()['test_found_go_' + v.replace('.', '_')] = found_by(v)
