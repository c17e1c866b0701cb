# SPDX-License-Identifier: (LGPL-2.1 OR BSD-2-Clause)
"""Attaches to working programs, lets libdwfl look at the same stacks, and judges both: what test_unwind*.py share."""
import os
import re
import signal
import time

from live import Skip, check, tracer_programs
from oracle import Oracle, blocking_ends, difference, share

WARM_NS = 1000000000         # tables are made in the background; the first second is not judged
OUTER = ['inner', 'outer', 'main']
NAP = ['frames_nap']
STOPS_MIN = 100
WAITS_MIN = 200
COMPLETE_MIN = 0.999
UNSEEN_MAX = 0.01


def watch(live, processes, *options, rounds=200, pause_ms=3, seconds=2, work=None, targets=None, pids=None):
    """(recording, oracle) of attaching to processes while dwflstacks stops their threads.

    targets: what to attach to, if not the processes themselves; pids: a function that gives the pids to stop, called
    when the recording is a second old. With work, that is done in place of the stops.
    """
    processes = processes if isinstance(processes, (list, tuple)) else [processes]
    targets = targets or [p.pid for p in processes]
    before = tracer_programs()
    a = live.attach_start('-p', ','.join(map(str, targets)), *options)
    live.started(a)
    time.sleep(WARM_NS / 1e9)
    looks = []
    if work:
        work()
    else:
        looks = [live.spawn(live.work('dwflstacks %d %d %d %d' % (pid, rounds, pause_ms, seconds)))
                 for pid in (pids() if pids else targets)]
        for look in looks:
            rc = live.wait(look, live.seconds(seconds) + 20)
            check(rc == 0, 'dwflstacks: %s', live.text(look, 1))
    a.send_signal(signal.SIGINT)
    rec = live.finish(a, before, lossy=True)
    return rec, Oracle(rec, ''.join(live.text(look) for look in looks)).run()


def judge(live, name, rec, oracle, complete=COMPLETE_MIN, stops=STOPS_MIN, waits=WAITS_MIN, pids=None):
    """No stack differs from libdwfl's, few stops were missed, and this share of blocked waits has its whole stack.

    On a machine so loaded that there is too little to judge, the test is skipped, and says so. complete=None: the
    program has stacks that can't be complete.
    """
    late, all_ends = blocking_ends(rec, WARM_NS, pids), blocking_ends(rec, 0, pids)
    live.figure('%s: %s; complete %.2f %% of %d blocking waits after the first second, %.2f %% of all %d%s', name,
                oracle.text(), 100 * share(late), sum(late.values()), 100 * share(all_ends), sum(all_ends.values()),
                ''.join(', %d %s' % (n, e) for e, n in sorted(all_ends.items()) if e != 'complete'))
    check(not oracle.mismatches, '%d of %d stacks differ from libdwfl: %s', len(oracle.mismatches), oracle.judged(),
          '; '.join(difference(*m) for m in oracle.mismatches[:3]))
    load = 'load %.1f on %d CPUs' % (os.getloadavg()[0], os.cpu_count())
    if oracle.judged() < stops:
        check(oracle.unseen <= len(oracle.stops) / 2, 'most stops were not seen: %s', oracle.text())
        raise Skip('%s: too few to judge, %s' % (oracle.text(), load))
    hidden = rec.hidden_switches()       # of which no tracer on this host could know
    check(oracle.unseen <= max(UNSEEN_MAX * len(oracle.stops), hidden), '%s (%d switches hidden by the host)',
          oracle.text(), hidden)
    if complete is None:
        return
    if sum(late.values()) < waits:
        raise Skip('%d blocking waits after the first second: too few to judge, %s' % (sum(late.values()), load))
    check(share(late) >= complete, '%.3f %% of blocking stacks complete: %s', 100 * share(late), late)


def sleeps(rec, pid, after_ns=WARM_NS):
    return [w for w in rec.waits if w.pid == pid and w.reason == 'sleep' and w.start >= after_ns]


OWN = re.compile(r'frames_nap|wait_\w+|one_\w+|inner|outer|main|compare|handler|busy|below|deep_\w+|bare_\w+|jit_outer|'
                 r'path_\w+|short_life|child_life|nap_in|library_nap|inside_\w')


def own_frames(rec, wait):
    """The functions of the workloads' own sources, innermost first."""
    return [f for f in rec.frames(wait)[0] if OWN.fullmatch(f)]


def chains_hold(rec, waits, chain, waits_min=50):
    """All these waits that began after the first second have this stack, but for what libc puts between."""
    waits = [w for w in waits if w.start >= WARM_NS]
    pattern = re.compile(' '.join(chain))
    check(len(waits) >= waits_min, '%d waits', len(waits))
    for w in waits:
        own = ' '.join(own_frames(rec, w))
        check(pattern.fullmatch(own), 'stack %s of %r, not %s', rec.frames(w)[0], w, ' '.join(chain)[:300])
