# SPDX-License-Identifier: (LGPL-2.1 OR BSD-2-Clause)
"""The times themselves, against the kernel's own tracer at the same switches and in the same run.

The programs' own clock (truth.py) is the outer bound: between it and a switch lie the way through the kernel, page
faults, and what the host takes. Here nothing lies between but ftrace's own work.
"""
from ftrace import Ftrace, Unavailable, lacks_in, nearest
from live import Skip, check, percentile
from truth import Truth

ALONE = True

ROUNDING_NS = 1000      # ftrace tells whole microseconds
MEDIAN_NS_MAX = 2000
P99_NS_MAX = 10000      # one in a hundred may meet the host between the two clocks

LINES = ('sleep 30 5000 4', 'mutex plain 5 40', 'condvar signal 8 20', 'pipe 8 20', 'socket tcp 8 20', 'child 4 40',
         'fsync {tmp}/synced 30')


def witnessed(live, line, *options, **kw):
    """(recording, truth, ftrace) of one run."""
    argv = live.work(line)
    try:
        with Ftrace(live.tmp, line.split()[0]) as ftrace:
            rec = live.record(argv, *options, **kw)
    except Unavailable as e:
        raise Skip(str(e))
    return rec, Truth(rec.out), ftrace


def test_against_ftrace(live):
    """Begin, wake and end of every wait of seven workloads, but of switches that ftrace lacks: from the idle task here."""
    errors, hidden = {'start': [], 'wake': [], 'end': []}, 0
    for line in LINES:
        rec, truth, ftrace = witnessed(live, line)
        offset = truth.offset_ns(rec)
        for tid in truth.threads:
            for w in rec.of_tid(tid):
                if w.clipped or w.reason == 'cpu':
                    continue
                unseen = lacks_in(ftrace.outs.get(tid, []), ftrace.ins.get(tid, []), w.end + offset)
                hidden += unseen
                for what, t, seen in (('start', w.start, ftrace.outs), ('wake', w.wake, ftrace.wakes),
                                      ('end', None if unseen else w.end, ftrace.ins)):
                    other = nearest(seen.get(tid, []), t + offset) if t is not None else None
                    if other is not None:
                        errors[what].append(t + offset - other)
    live.figure('%d of %d ends are not compared: ftrace did not see their switch', hidden,
                hidden + len(errors['end']))
    for what, values in errors.items():
        check(len(values) >= (150 if what != 'end' else 50), 'only %d %ss were seen by both', len(values), what)
        live.figure('time of %s against ftrace at the same %s: p50 %.1f us, p99 %.1f us, worst %.1f us, %d waits',
                    what, 'wake-up' if what == 'wake' else 'switch', percentile(values, 50) / 1000,
                    percentile(values, 99) / 1000, max(values, key=abs) / 1000, len(values))
        sizes = [abs(v) for v in values]
        check(percentile(sizes, 50) <= MEDIAN_NS_MAX, '%s: p50 %d ns', what, percentile(sizes, 50))
        check(percentile(sizes, 99) <= P99_NS_MAX, '%s: p99 %d ns', what, percentile(sizes, 99))
        # ftrace looked first: whatever is earlier than it is no time of that switch
        early = [v for v in values if v < -ROUNDING_NS]
        check(len(early) <= len(values) // 100, '%s: %d times before their switch: %s', what, len(early), early[:5])


def test_one_stack_whoever_follows(live):
    """A kernel stack is taken at the switch-out or at the switch-in, by who gets the CPU: it is the same one."""
    rec, truth, ftrace = witnessed(live, 'sleep 40 5000 4', wrap=('taskset', '-c', '0'))
    workers = set(truth.threads)
    to = {(t, prev): following in workers for t, prev, following in ftrace.switches if prev in workers}
    offset, stacks = truth.offset_ns(rec), {True: set(), False: set()}
    for w in rec.waits:
        if w.kind != 'sleep' or w.tid not in workers or w.clipped or not w.kstack:
            continue
        out = nearest(ftrace.outs[w.tid], w.start + offset)
        stacks[to[(out, w.tid)]].add(tuple(rec.stacks[w.kstack].frames) + (w.kstack,))
    check(stacks[True] and stacks[False], 'stacks to traced threads: %s; to others: %s', stacks[True], stacks[False])
    check(stacks[True] == stacks[False] and len(stacks[True]) == 1, 'to traced threads: %s; to others: %s',
          stacks[True], stacks[False])
    check('do_syscall_64' in str(stacks) or 'invoke_syscall' in str(stacks), 'no system call in it: %s', stacks)
