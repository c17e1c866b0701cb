# SPDX-License-Identifier: (LGPL-2.1 OR BSD-2-Clause)
"""Every kind of wait: found, none invented, named rightly, from when to when, woken by whom. C55, C56, C58."""
import os
import time

from live import Fail, Skip, check, close_to
from truth import MS, Truth

ALONE = True

FUTEX_CALL = {'x86_64': 202, 'aarch64': 98}

WAITS = {
    'mutex': 'mutex plain 5 80',
    'mutex_recursive': 'mutex recursive 2 80',
    'mutex_robust': 'mutex robust 2 80',
    'pi_mutex': 'mutex pi 5 80',
    'condvar': 'condvar signal 8 40',
    'condvar_broadcast': 'condvar broadcast 3 40',
    'condvar_timed': 'condvar timed 5 100',
    'semaphore': 'semaphore post 8 40',
    'semaphore_timed': 'semaphore timed 4 50',
    'rwlock': 'rwlock 3 80',
    'barrier': 'barrier 4 60',
    'join': 'join 4 80',
    'pipe': 'pipe 6 50',
    'socket_tcp': 'socket tcp 6 50',
    'socket_unix': 'socket unix 6 50',
    'poll': 'poll poll woken 6 50',
    'select': 'poll select woken 3 50',
    'select_timeout': 'poll select timeout 3 50',
    'epoll': 'poll epoll woken 6 50',
    'epoll_timeout': 'poll epoll timeout 3 50',
    'eventfd': 'anonfd eventfd 6 50',
    'timerfd': 'anonfd timerfd 6 50',
    'fsync': 'fsync {tmp}/synced 30',
    'fault': 'fault {tmp}/mapped 60',
    'sleep': 'sleep 20 20000',
    'sleep_threads': 'sleep 20 20000 4',
    'child': 'child 4 80',
    'migrate': 'migrate 100',
}


def wait_test(line):
    def test(live):
        _, _, cmp = live.truth(line)
        check(cmp.pairs, 'no wait was compared: %s', line)
    return test


TESTS = {name: wait_test(line) for name, line in WAITS.items()}


def lock_ns(rec):
    return sum(w.blocked for w in rec.waits if w.reason == 'lock' and w.blocked > MS)


def test_lock_is_only_contention(live):
    """C55: the one contended mutex is the only lock wait; an idle condition variable, a join, a timeout are none."""
    rec, truth, _ = live.truth('mutex plain 1 800')
    want = sum(t['end'] - t['start'] for t in truth.waits if t['kind'] == 'mutex')
    check(close_to(want, 700 * MS, 0.02, live.slack_ns), 'the workload itself waited %d ns', want)
    check(close_to(lock_ns(rec), want, 0.01, live.slack_ns), 'lock waits sum to %d ns, not %d', lock_ns(rec), want)
    for line in ('condvar signal 1 1000', 'condvar timed 5 100', 'join 1 1000'):
        rec, _, _ = live.truth(line)
        check(lock_ns(rec) == 0, '%s: %d ns of lock waits', line, lock_ns(rec))


def test_futex_eagain_is_no_wait(live):
    """C55: 1000 calls that return at once."""
    rec, truth, _ = live.truth('futex eagain')
    futex = [w for w in rec.of_tid(list(truth.threads)[0]) if w.reason in ('sync', 'lock', 'other') and
             w.syscall == FUTEX_CALL.get(os.uname().machine)]
    check(len(futex) == 0, '%d waits: %s', len(futex), futex[:3])


def test_pi_waits_in_full(live):
    """C56: FUTEX_LOCK_PI is a lock wait of 0.7 s with its holder."""
    rec, _, cmp = live.truth('mutex pi 1 800')
    waits = [w for t, w in cmp.pairs if t['kind'] == 'pi_mutex']
    check(len(waits) == 1 and close_to(waits[0].blocked, 700 * MS, 0.01, live.slack_ns), 'waits: %s', waits)
    check(waits[0].reason == 'lock' and waits[0].owner_tid, 'reason %s, owner %s', waits[0].reason, waits[0].owner_tid)


def futex_call(mode):
    def test(live):
        try:
            _, _, cmp = live.truth('futex %s 300' % mode)
        except Fail as e:
            if 'exit status 77' in str(e):
                raise Skip('this kernel has no futex %s' % mode)
            raise
        waits = [(t, w) for t, w in cmp.pairs if t['kind'] == 'futex']
        check(len(waits) == 1, '%d futex waits', len(waits))
        t, w = waits[0]
        check(close_to(w.end - w.start, t['end'] - t['start'], 0.01, live.slack_ns), 'length %d', w.end - w.start)
        # of several at once the values lie in memory
        want = None if mode == 'waitv' else t['val']
        check(w.futex_val == want, 'expected value %s, not %s', w.futex_val, want)
    return test


TESTS.update({'futex_' + mode: futex_call(mode) for mode in ('waitv', 'wait2', 'bitset', 'requeue_pi')})


def test_futex_values_of_locks(live):
    """A glibc mutex is waited for while its word says 2, with its owner; a PI mutex has an owner and no such value."""
    for line, kind, val in (('mutex plain 3 80', 'mutex', 2), ('mutex pi 3 80', 'pi_mutex', None)):
        _, _, cmp = live.truth(line)
        waits = [w for t, w in cmp.pairs if t['kind'] == kind]
        check(waits and all(w.futex_val == val and w.owner_tid for w in waits), '%s: %s', line, waits)


def test_child_op_hangs_below_its_spawner(live):
    """The op graph: exec ops of processes, nested_client links, outcomes of exit statuses."""
    rec, truth, _ = live.truth('child 3 50')
    for t in (t for t in truth.waits if t['kind'] == 'child'):
        op = rec.process_op(t['child'])
        check(op and op.exit_status == 3 << 8, 'exec op of %d: exit_status %s', t['child'], op and op.exit_status)
        check(op.outcome == 'error', 'outcome %s for exit status 3', op.outcome)
        check(op.client.startswith('%d:' % t['child']), 'client %r', op.client)
        links = [x for x in rec.links if x.kind == 'nested_client' and x.ident == op.client]
        check(len(links) == 1, '%d nested_client links to %s', len(links), op.client)
        spawner = rec.ops.get(links[0].source)
        check(spawner and spawner.pid == t['tid'], 'linked from %r', spawner)


def test_process_group_of_waits_has_ops(live):
    """Each wait belongs to the op of its thread, each thread's op to its process."""
    rec, _, _ = live.truth('sleep 3 20000 3')
    for w in rec.waits:
        op = rec.ops.get(w.op)
        check(op and op.start <= w.start and w.end <= op.end, 'wait %r outside of its op %r', w, op)
        check(op.tid == w.tid or op.kind in ('exec', 'exec_phase'), 'wait %r in op %r', w, op)
        top = op
        while top.parent:
            top = rec.ops[top.parent]
        check(top.kind == 'exec' and top.work == 'user' and top.meta.startswith('["'), 'root op %r', top)


def test_outcome_woken(live):
    """A command substitution: the read of its pipe and the waits for its children ended as they should."""
    rec = live.record(['bash', '-c', 'x=$(sleep 0.3; echo hi); echo $x'])
    check(rec.out == 'hi\n', 'said %r', rec.out)
    reads = [w for w in rec.waits if w.kind == 'pipe']
    children = [w for w in rec.waits if w.reason == 'exec']
    check([w for w in reads if w.blocked > 200 * MS] and children, 'pipe: %s; children: %s', reads, children)
    for w in reads + children:
        check(w.outcome == 'woken', 'not woken: %r', w)
    odd = [w for w in rec.waits if w.outcome in ('killed', 'interrupted')]
    check(not odd, 'nobody was killed or interrupted: %s', odd)


def test_outcome_interrupted(live):
    """A read that the workload itself saw return EINTR."""
    _, truth, cmp = live.truth('interrupt 4 50')
    said = [t for t in truth.waits if t.get('outcome') == 'interrupted']
    check(len(said) == 4, 'the workload saw %d interruptions', len(said))
    got = [w.outcome for t, w in cmp.pairs if t.get('outcome') == 'interrupted']
    check(got == ['interrupted'] * 4, 'outcomes %s', got)


def test_outcome_killed_or_timeout(live):
    """A sleep that SIGKILL ended, and one that ended by its time; all threads of a killed process."""
    rec = live.record(['sh', '-c', 'sleep 20 & sleep 0.2; kill -KILL $!; wait $!; exit 0'])
    got = sorted((w.outcome, w.blocked // (100 * MS)) for w in rec.waits if w.kind == 'sleep')
    check([o for o, _ in got] == ['killed', 'timeout'], 'sleeps: %s', got)
    rec, truth, _ = live.truth('killed 3 300', ignore=('other',))
    for t in truth.facts['blocked']:
        outcomes = [w.outcome for w in rec.of_tid(t['tid']) if w.blocked > 100 * MS]
        check(outcomes == ['killed'], '%s: %s', t, outcomes)


def attached_to_locked(live, mode):
    """(recording of 0.6 s, what the workload said of its threads), all of them blocked before."""
    p = live.spawn(live.work('locked ' + mode))
    live.said(p, 'locked')
    time.sleep(0.2)
    return live.attach('-p', str(p.pid), '-d', '600ms'), Truth(live.text(p)).facts['locked'][0]


def expect_owner(rec, tid, kind, owner):
    waits = rec.of_tid(tid)
    check(len(waits) == 1 and waits[0].kind == kind and waits[0].reason == 'lock', 'thread %d: %s', tid, waits)
    check(waits[0].clipped == 3, 'clipped %s', waits[0].clipped)
    check(waits[0].owner_tid == owner, 'thread %d: owner %s, not %d', tid, waits[0].owner_tid, owner)


def test_deadlock_owners(live):
    """Two threads that wait for each other since before the attach: each wait has the other as the owner."""
    rec, said = attached_to_locked(live, 'abba')
    expect_owner(rec, said['first'], 'mutex', said['second'])
    expect_owner(rec, said['second'], 'mutex', said['first'])


def test_pi_owner_at_attach(live):
    """C56: the same of a priority inheriting mutex, which has its owner in the futex."""
    rec, said = attached_to_locked(live, 'pi')
    expect_owner(rec, said['waiter'], 'pi_mutex', said['owner'])


def test_timedlock_owner(live):
    """C55: pthread_mutex_timedlock is a lock wait with its owner, ended by its time."""
    _, truth, cmp = live.truth('locked timed')
    waits = [w for t, w in cmp.pairs if t['kind'] == 'mutex' and t['outcome'] == 'timeout']
    check(len(waits) == 1 and close_to(waits[0].blocked, 100 * MS, 0.02, live.slack_ns), 'waits: %s', waits)


def test_inodes_reused(live):
    """Files that had one inode number, one after another: each sync names its own."""
    _, truth, cmp = live.truth('inodes {tmp} 6')
    inodes = {f['inode'] for f in truth.facts['file']}
    if len(inodes) == 6:
        raise Skip('this file system gave each file an inode number of its own')
    check(len([t for t, _ in cmp.pairs if t['kind'] == 'fsync']) >= 3, 'pairs: %s', cmp.pairs)


def test_anonymous_files_swapped(live):
    """An eventfd and a timerfd take turns on one inode and one descriptor: each wait has the kind of its time."""
    rec, _, _ = live.truth('anonswap 20 5')
    for kind in ('eventfd', 'timerfd'):
        waits = [w for w in rec.waits if w.kind == kind]
        check(len(waits) == 20, '%d waits of 20 on a %s', len(waits), kind)
