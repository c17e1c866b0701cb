# SPDX-License-Identifier: (LGPL-2.1 OR BSD-2-Clause)
"""Kernel stacks that are recognized instead of walked: the same ones. The kernel's own walk is the truth."""
import collections
import re

from live import Skip, check

ALONE = True

GAVE = re.compile(r'kernel stacks: (\d+) skeletons gave (\d+), of which (\d+) were walked as well, (\d+) of them others')
# enough of each for a skeleton to be learned long before the end: stacks are read ten times a second
WORK = ['switches 15000', 'crowd', 'fsync {tmp}/file 200', 'sleep 300 1000 3']


def recognized(live, rec):
    """(skeletons, recognized, compared, of them others) of a recording made with -vv."""
    found = GAVE.search(rec.err)
    if not found:
        raise Skip('this kernel\'s stacks are always walked')
    return tuple(int(n) for n in found.groups())


def test_all_compared(live):
    """Every stack that a skeleton gave is walked as well: none is another, and most stacks are recognized."""
    known = intervals = 0
    for work in WORK:
        rec = live.record(live.work(work), '-vv', '--kernel-stacks', 'check')
        _, gave, compared, others = recognized(live, rec)
        # at the switch-out a walk is not always possible
        check(compared >= gave * 0.99, '%s: %d of %d compared', work, compared, gave)
        check(others == 0, '%s: %d of %d recognized as others', work, others, gave)
        check(rec.integrity['mismatched_kernel_stacks'] == 0, '%s: %s', work, rec.integrity)
        known += gave
        intervals += rec.integrity['attempted']
    # what comes before a skeleton is learned is walked: some tenth of a second each
    check(known > intervals * 0.5, 'only %d of %d kernel stacks were recognized', known, intervals)
    live.figure('%d of %d kernel stacks recognized, none wrong', known, intervals)


def stacks_by_call(rec, share):
    """{system call: {its kernel stacks of more than that share of its waits}}"""
    waits = collections.defaultdict(collections.Counter)
    for w in rec.waits:
        if w.kstack in rec.stacks and not w.clipped and w.syscall is not None:
            waits[w.syscall][tuple(rec.stacks[w.kstack].frames)] += 1
    return {call: {s for s, n in stacks.items() if n > sum(stacks.values()) * share} for call, stacks in waits.items()}


def test_same_stacks(live):
    """Two recordings of the same work, walked and recognized: the same kernel stacks, system call by system call."""
    for work in ('switches 15000', 'fsync {tmp}/file 2000', 'sleep 300 1000 2'):
        walked = live.record(live.work(work), '--kernel-stacks', 'walk')
        rec = live.record(live.work(work), '-vv')
        _, gave, compared, others = recognized(live, rec)
        check(gave > 100, '%s: %d recognized', work, gave)
        check(0 < compared < gave, '%s: %d of %d compared', work, compared, gave)
        check(others == 0, '%s: %d of %d recognized as others', work, others, compared)
        for one, two in ((walked, rec), (rec, walked)):
            often, all_there = stacks_by_call(one, 0.1), stacks_by_call(two, 0)
            for call, stacks in often.items():
                if sum(w.syscall == call for w in one.waits) > 100:
                    check(stacks <= all_there.get(call, set()), '%s: in the %s one only: %s', work,
                          'walked' if one is walked else 'recognized', stacks - all_there.get(call, set()))
