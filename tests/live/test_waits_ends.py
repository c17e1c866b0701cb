# SPDX-License-Identifier: (LGPL-2.1 OR BSD-2-Clause)
"""What the error of a wait's end consists of: between the switch to a thread and the reading of its own clock lie the
way out of the kernel, cold caches and what the host takes. That is there without wcbpf too, and what wcbpf does at the
switch comes on top. ftrace sees the switch in both cases.
"""
import bisect
import os

from ftrace import Ftrace, Unavailable
from live import Skip, check, percentile
from truth import Truth

ALONE = True

LINES = ('mutex plain 5 80', 'condvar signal 8 40', 'semaphore post 8 40', 'sleep 20 20000 4', 'barrier 4 60',
         'poll epoll woken 6 50', 'socket unix 6 50', 'rwlock 3 80')
MEDIAN_NS_MAX = 20000   # what tracing may add for the one that waits in the middle


def lags(truth, ftrace):
    """(ns from the last switch to the thread after a sleep to its own clock, did it lose the CPU in between?), of each
    wait whose switches ftrace has seen."""
    found, unseen = [], 0
    for t in truth.waits:
        tid, lost = t['tid'], set(ftrace.lost.get(t['tid'], []))
        slept = [x for x in ftrace.outs.get(tid, []) if t['start'] - 1000 <= x <= t['end'] and x not in lost]
        ins = ftrace.ins.get(tid, [])
        i = bisect.bisect_right(ins, slept[-1]) if slept else len(ins)
        if i == len(ins) or ins[i] > t['end'] + 1000:       # ftrace rounds to microseconds
            unseen += 1
            continue
        found.append((t['end'] - ins[i], any(ins[i] < x < t['end'] for x in lost)))
    return found, unseen


def run(live, line, traced):
    argv = live.work(line)
    try:
        with Ftrace(live.tmp, line.split()[0]) as ftrace:
            out = live.record(argv).out if traced else live.run(argv)[1]
    except Unavailable as e:
        raise Skip(str(e))
    return lags(Truth(out), ftrace)


def test_what_the_error_is(live):
    """The same programs without wcbpf and with it, in turns, so that both have the same machine."""
    median = {}
    found = {False: [], True: []}
    unseen = {False: 0, True: 0}
    for line in LINES:
        for traced in (False, True):
            some, lacking = run(live, line, traced)
            found[traced] += some
            unseen[traced] += lacking
    for traced, what in ((False, 'without wcbpf'), (True, 'with it')):
        whole = [ns for ns, _ in found[traced]]
        kept = [ns for ns, lost in found[traced] if not lost]
        check(len(kept) >= 100, '%s: ftrace saw the switch of %d waits only', what, len(kept))
        median[traced] = percentile(kept, 50)
        live.figure('a program\'s clock behind the switch to it, %s: p50 %.1f us, p99 %.1f us; of the %d whose thread had '
                    'its CPU until then p50 %.1f us, p99 %.1f us; %d not, %d with a switch that ftrace did not see', what,
                    percentile(whole, 50) / 1000, percentile(whole, 99) / 1000, len(kept), median[traced] / 1000,
                    percentile(kept, 99) / 1000, len(whole) - len(kept), unseen[traced])
    more, busy = median[True] - median[False], max(1, os.getloadavg()[0] / os.cpu_count())
    check(more <= MEDIAN_NS_MAX * busy, 'tracing adds %d ns at the median', more)
