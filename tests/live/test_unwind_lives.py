# SPDX-License-Identifier: (LGPL-2.1 OR BSD-2-Clause)
"""User stacks of processes, threads and libraries that come and go: built without frame pointers, known by source.

What has just been mapped may lack its tables for a moment: no stack may be wrong then, and after SETTLE_NS all are
complete. C17, C22.
"""
import re
import signal
import time

from live import check
from truth import MS
from unwinding import NAP, OUTER, WARM_NS, chains_hold, judge, own_frames, sleeps, watch

SETTLE_NS = 300 * MS


def ends_text(ends):
    return ', '.join('%d %s' % (n, e) for e, n in sorted(ends.items()))


def never_wrong(rec, waits, chain):
    """Stacks called complete are right; those not called so hold no more than the leaf side of what is right."""
    pattern, ends = re.compile(' '.join(chain)), {}
    for w in waits:
        ended, own = rec.stacks[w.ustack].ended if w.ustack else 'none', own_frames(rec, w)
        ends[ended] = ends.get(ended, 0) + 1
        if ended == 'complete':
            check(pattern.fullmatch(' '.join(own)), 'called complete: %s of %r', rec.frames(w)[0], w)
        elif ended not in ('guessed', 'fp'):
            check(own == chain[:len(own)], 'called %s: %s of %r', ended, rec.frames(w)[0], w)
    return ends


def test_thread_churn(live):
    """Threads that live for a millisecond."""
    p = live.spawn(live.work('frames-lives churn'))
    rec, oracle = watch(live, p)
    judge(live, 'frames-lives churn', rec, oracle)
    chains_hold(rec, [w for w in sleeps(rec, p.pid) if w.tid != p.pid], [*NAP, 'short_life'], 200)
    threads = {w.tid for w in rec.waits if w.pid == p.pid}
    check(len(threads) > 200, '%d threads', len(threads))


def test_fork_without_exec(live):
    """Children that never execute anything have their parent's code; the parent waits in waitpid."""
    p = live.spawn(live.work('frames-lives fork'))
    rec, oracle = watch(live, p)
    judge(live, 'frames-lives fork', rec, oracle)
    children = [w for w in rec.waits if w.pid != p.pid and w.reason == 'sleep' and w.start > WARM_NS]
    check(len({w.pid for w in children}) > 10, 'children %s', {w.pid for w in children})
    chains_hold(rec, children, [*NAP, 'child_life', 'one_fork', *OUTER], 100)
    parents = [w for w in rec.waits if w.pid == p.pid and w.reason == 'exec']
    chains_hold(rec, parents, ['wait_for', 'one_fork', *OUTER], 10)


def test_vfork(live):
    """A child that sleeps in its parent's memory, and the parent that is blocked meanwhile in vfork itself."""
    p = live.spawn(live.work('frames-lives vfork'))
    rec, oracle = watch(live, p, pause_ms=5)
    judge(live, 'frames-lives vfork', rec, oracle)
    children = [w for w in rec.waits if w.pid != p.pid and w.reason == 'sleep' and w.start > WARM_NS]
    chains_hold(rec, children, [*NAP, 'one_vfork', *OUTER])
    blocked = [w for w in rec.waits if w.pid == p.pid and w.blocked > MS and w.start > WARM_NS and
               w.reason not in ('stopped', 'cpu')]
    chains_hold(rec, blocked, ['(wait_for )?one_vfork', *OUTER])
    check(any('vfork' in f for w in blocked for f in rec.frames(w)[0][:1]), 'no wait is in vfork: %s', blocked[:2])


def test_posix_spawn(live):
    """The parent, blocked in clone3 until its child has executed, and short-lived children of other programs."""
    p = live.spawn(live.work('frames-lives spawn'))
    rec, oracle = watch(live, p, pause_ms=5)
    judge(live, 'frames-lives spawn', rec, oracle, pids={p.pid}, waits=50)
    blocked = [w for w in rec.waits if w.pid == p.pid and w.blocked > MS // 5 and w.start > WARM_NS and
               w.reason not in ('stopped', 'cpu', 'fault', 'lock')]
    chains_hold(rec, blocked, ['(wait_for )?one_spawn', *OUTER], 20)
    spawning = [w for w in blocked if any('spawn' in f for f in rec.frames(w)[0][:4])]
    check(spawning, 'no wait is in posix_spawn: %s', blocked[:2])
    naps = [w for w in rec.waits if w.pid != p.pid and w.reason == 'sleep' and w.blocked > 4 * MS]
    ends = never_wrong(rec, naps, [*NAP, 'one_short', *OUTER])
    live.figure('frames-lives spawn: sleeps of processes that live 5 ms: %s', ends_text(ends))
    check(naps, 'no child sleeps')


def test_exec(live):
    """A process that executes its program anew each 400 ms: another place for its code each time."""
    p = live.spawn(live.work('frames-lives exec'))
    rec, oracle = watch(live, p)
    judge(live, 'frames-lives exec', rec, oracle, complete=None)
    naps = sleeps(rec, p.pid)
    begins = sorted(o.start for o in rec.ops.values() if o.kind == 'exec_phase' and o.pid == p.pid)
    check(len(begins) >= 3, 'executions at %s', begins)
    chain = [*NAP, 'one_exec', *OUTER]
    ends = never_wrong(rec, naps, chain)
    late = [w for w in naps if all(not b <= w.start < b + SETTLE_NS for b in begins)]
    live.figure('frames-lives exec: %s; %d of them %d ms or more after an exec', ends_text(ends), len(late),
                SETTLE_NS // MS)
    chains_hold(rec, late, chain, 20)
    check(all(rec.stacks[w.ustack].ended == 'complete' for w in late), 'not complete long after an exec')


def test_dlopen(live):
    """C22: libraries loaded after the attach, unloaded, and others loaded: frames of what was there then."""
    libraries = [live.work('frames-library-%s.so' % x)[0] for x in 'ab']
    p = live.spawn([*live.work('frames-lives dlopen'), *libraries])

    def go():
        p.send_signal(signal.SIGUSR1)
        time.sleep(2.5)
    rec, _ = watch(live, p, work=go)
    offset = rec.header['epoch_unix_nano'] - (time.time_ns() - time.monotonic_ns())
    loads = [(int(at) - offset, 'ab'[libraries.index(path)])
             for path, at in re.findall(r'loaded path=(\S+) at=(\d+)', live.text(p))]
    check(len(loads) >= 4, 'loads: %s', loads)
    ends, late = {}, 0
    for (start, name), (end, _) in zip(loads, loads[1:]):
        naps = [w for w in sleeps(rec, p.pid, 0) if start <= w.start and w.end < end]
        chain = [*NAP, 'inside_' + name, 'library_nap', 'nap_in', 'one_dlopen', *OUTER]
        for ended, n in never_wrong(rec, naps, chain).items():
            ends[ended] = ends.get(ended, 0) + n
        for w in naps:
            other = 'inside_' + 'ab'['ba'.index(name)]
            check(other not in rec.frames(w)[0], '%s while library %s was loaded: %r', rec.frames(w)[0], name, w)
        settled = [w for w in naps if w.start >= start + SETTLE_NS]
        late += len(settled)
        check(all(rec.stacks[w.ustack].ended == 'complete' for w in settled), 'not complete %d ms after dlopen: %s',
              SETTLE_NS // MS, {rec.stacks[w.ustack].ended for w in settled})
    live.figure('frames-lives dlopen: %d libraries: %s; %d of them %d ms or more after dlopen', len(loads) - 1,
                ends_text(ends), late, SETTLE_NS // MS)
