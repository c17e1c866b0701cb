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
    # Others run the same program, in other tests: what the probes cost them is no matter of this one.
    rec = live.attach('-p', str(p.pid), '-d', '4s', '--probes', 'go', '--max-overhead', '0', timeout=90)
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


def many(live, n, *options, **kw):
    p = live.spawn([program(live, 'parked'), 'many', str(n)])
    live.until('all are parked', lambda: 'parked many=' in live.text(p), 60)
    rec = live.attach('-p', str(p.pid), '-d', '2s', '--probes', 'go', *options, timeout=90, **kw)
    integrity = rec.summary['capture_integrity']
    check(integrity['lost_go_events'] == integrity['lost_goroutines'] == 0, 'lost: %s', integrity)
    told = [re.search(r': (\d+) goroutines were parked before', x) for x in rec.summary['choke_points']['notes']]
    told = [int(x.group(1)) for x in told if x]
    check(len(told) == 1, 'told: %s', rec.summary['choke_points']['notes'])
    caveats = [c for c in rec.summary['choke_points'].get('caveats', []) if "it can't be told since when" in c]
    left = integrity['unlisted_goroutines']
    check(bool(caveats) == (left > 0), '%d left out, told: %s', left, caveats)
    return rec, told[0], left, caveats


def test_many(live):
    """More than are read at once."""
    n = 20000
    rec, told, left, _ = many(live, n)
    found = {w.goid: w for w in rec.waits if w.goid and w.clipped & 1 and w.ustack and w.kind == 'chan_receive'}
    # of those that are woken some are in the instant of the attach, and are known from then on
    check(n - n // 100 <= told <= n + 10, '%d of %d found', told, n)
    check(len(found) >= told - 10 and left < 100, '%d told of, %d in the dump, %d left out', told, len(found), left)
    for w in list(found.values())[::400]:
        frames = rec.stacks[w.ustack].frames
        check('main.onReceive' in frames and frames[-1] == 'runtime.goexit', '%s', frames)


def test_more_than_there_is_room_for(live):
    """Room is left for those that come, and what there was none for is told."""
    n, room = 110000, 98304
    _, told, left, caveats = many(live, n, '--event-cap', '20000', lossy=True)
    check(told <= room and told > room - 1000, '%d told of', told)
    check(n - room - n // 100 <= left <= n - room + 1000, '%d left out', left)
    check('of %d more goroutines' % left in caveats[0] and 'no room for them' in caveats[0], '%s', caveats)


def found_by(version):
    def test(live):
        are_found(live, newer_program(live, 'parked', version))
    return test


for v in FIRST:
    globals()['test_found_go_' + v.replace('.', '_')] = found_by(v)
