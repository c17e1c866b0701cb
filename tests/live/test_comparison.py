# SPDX-License-Identifier: (LGPL-2.1 OR BSD-2-Clause)
"""The comparison itself: it accepts a right recording and notices each way to be wrong. No wcbpf is involved."""
import copy
import json
import time

from live import check
from oracle import Oracle
from recording import Item, Recording
from truth import KINDS, MS, Comparison, Truth

SLACK_NS = 3 * MS


def right_recording(truth):
    """What a faultless tracer would have recorded, 5 us off at both ends."""
    rec = Recording('/nonexistent')
    base = rec.offset_ns = truth.clock['monotonic'] - 10 * MS
    for n, tid in enumerate(truth.threads, 1):
        rec.ops[n] = Item(id=n, kind='internal', tid=tid, ident='tid:%d' % tid)
    for t in truth.waits:
        if t['end'] - t['start'] < MS:
            continue
        kinds, reasons, _ = KINDS[t['kind']]
        target = rec.thread_op(t['joined']) if t['kind'] == 'join' else None
        rec.waits.append(Item(
            tid=t['tid'], start=t['start'] - base + 5000, end=t['end'] - base - 5000, reason=sorted(reasons)[0],
            kind=sorted(kinds)[0], ident='futex 0x%x' % t['addr'] if 'addr' in t else '', owner_tid=t.get('owner'),
            waker_tid=t.get('waker'), ctx=t.get('ctx', 'task'), outcome=t.get('outcome', ''),
            blocked=t['end'] - t['start'] - 10000, target=target.id if target else 0))
    return rec


def change(of, **fields):
    def mutate(rec):
        for w in rec.waits:
            if w.kind == of:
                w.__dict__.update({k: v(getattr(w, k)) if callable(v) else v for k, v in fields.items()})
    return mutate


def extra(rec, **fields):
    return Item(tid=rec.waits[0].tid, start=20 * MS, end=29 * MS, blocked=9 * MS, **fields)


FAULTS = {
    'a wait is missing': lambda rec: rec.waits.pop(),
    'a wait is there twice': lambda rec: rec.waits.append(copy.copy(rec.waits[0])),
    'a wait is invented': lambda rec: rec.waits.append(extra(rec, kind='mutex', reason='lock')),
    'a long wait of another kind': lambda rec: rec.waits.append(extra(rec, kind='x', reason='other')),
    'wrong owner': change('mutex', owner_tid=1),
    'no owner': change('mutex', owner_tid=None),
    'wrong waker': change('mutex', waker_tid=1),
    'waker not told': change('mutex', ctx='unknown'),
    'wrong kind': change('mutex', kind='condvar'),
    'wrong reason': change('mutex', reason='sync'),
    'wrong address': change('mutex', ident='0x1'),
    'wrong outcome': change('mutex', outcome='timeout'),
    'begins late': change('mutex', start=lambda x: x + 10 * MS),
    'begins early': change('mutex', start=lambda x: x - MS),
    'ends late': change('mutex', end=lambda x: x + MS),
    'ends early': change('mutex', end=lambda x: x - 10 * MS),
    'join without target': change('join', target=0),
}


def test_notices_each_fault(live):
    rc, out, err = live.run(live.work('mutex plain 2 60'))
    check(rc == 0, 'workload: %s', err)
    truth = Truth(out)
    rec = right_recording(truth)
    problems = Comparison(truth, rec, SLACK_NS).run().problems
    check(not problems, 'a right recording is refused: %s', problems)
    for name, fault in FAULTS.items():
        wrong = copy.deepcopy(rec)
        fault(wrong)
        check(Comparison(truth, wrong, SLACK_NS).run().problems, '%s: not noticed', name)


FRAMES = [['/usr/lib/libx.so.6', 0x10], ['/usr/bin/x', 0x20], ['', 0x30], ['/usr/bin/x', 0x40]]


def judged(change=lambda rec, stop: None, ended='complete'):
    """The judgement of one stop within one wait, both changed by this."""
    rec = Recording('/nonexistent')
    rec.header = {'epoch_unix_nano': time.time_ns()}
    rec.modules = {1: Item(path='/usr/lib/libx.so.6'), 2: Item(path='/usr/bin/x'), 3: Item(path='//anon')}
    rec.stacks = {1: Item(ended=ended, modules=[1, 2, 2, 3, 2], addresses=[0x10, 0x20, 0x20, 0x30, 0x40],
                          inlined=[False, True, False, False, False])}
    rec.waits = [Item(tid=7, start=10 * MS, end=20 * MS, ustack=1)]
    now = time.monotonic_ns()
    stop = {'tid': 7, 'from': now + 12 * MS, 'to': now + 13 * MS, 'whole': True, 'frames': copy.deepcopy(FRAMES)}
    change(rec, stop)
    return Oracle(rec, json.dumps(stop) + '\n').run()


def test_oracle_notices_each_fault(_):
    """The comparison with libdwfl's stacks: what is equal, wrong, cut short, guessed, unseen."""
    def other_address(rec, _):
        rec.stacks[1].addresses[4] = 0x41

    def other_file(rec, _):
        rec.modules[2].path = '/usr/bin/y'

    def cut(rec, _):
        for values in (rec.stacks[1].modules, rec.stacks[1].addresses, rec.stacks[1].inlined):
            values.pop()

    def longer(rec, _):
        rec.stacks[1].modules.append(2), rec.stacks[1].addresses.append(0x50), rec.stacks[1].inlined.append(False)

    def later(rec, _):
        rec.waits[0].start = 12500000

    def gave_up(_, stop):
        stop['whole'] = False

    check(judged().equal == 1, 'equal stacks are not')
    for change in (other_address, other_file, cut, longer):
        o = judged(change)
        check(len(o.mismatches) == 1 and not o.equal, 'not noticed: %s', change.__name__)
    check(len(judged(cut, 'truncated').incomplete) == 1, 'a leaf side that is right')
    check(len(judged(other_address, 'truncated').mismatches) == 1, 'a leaf side that is wrong')
    check(len(judged(ended='guessed').incomplete) == 1, 'guessed and right')
    check(len(judged(cut, 'guessed').guessed_wrong) == 1, 'guessed and cut')
    check(judged(later).unseen == 1, 'a stop that began before its wait')
    check(judged(gave_up).unjudged == 1, 'a stop at which libdwfl gave up')
