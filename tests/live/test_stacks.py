# SPDX-License-Identifier: (LGPL-2.1 OR BSD-2-Clause)
"""Stacks and names: callers, order, programs that are gone, other mount namespaces, faults. C17-C20, C30, C32."""
import os
import re
import shutil
import signal

from live import check, close_to, tracer_programs
from truth import MS

TRACER = re.compile(r'^(bpf_prog_|bpf_trace_run|__traceiter_|bpf_get_|__bpf_)')


def test_callers(live):
    """C17: at least 99 % of 1.5 s are under main;g;f."""
    rec = live.record(live.work('sleep 3 500000'))
    us = rec.folded_us('main', 'g', 'f')
    check(us >= 0.99 * 1500000, '%d us under main;g;f: %s', us, sorted(rec.folded, key=lambda x: -x[1])[:2])


def test_order(live):
    """C18, C30: comm, main to libc's sleep, then the kernel from the syscall's entry to schedule; no tracer frames."""
    rec = live.record(live.work('sleep 3 100000'))
    frames, _ = max(rec.folded, key=lambda x: x[1])
    check(frames[0] == 'sleep', 'first %s', frames[0])
    user = frames.index('f')
    check(frames.index('main') < frames.index('g') < user, 'user side %s', frames)
    libc = [i for i, f in enumerate(frames) if 'nanosleep' in f and i > user]
    kernel = [i for i, f in enumerate(frames) if re.search(r'do_syscall_64|entry_SYSCALL|el0_svc', f)]
    sched = [i for i, f in enumerate(frames) if re.fullmatch(r'(__)?schedule', f)]
    check(libc and kernel and sched, 'frames %s', frames)
    check(libc[0] < kernel[0] < sched[0], 'order %s', frames)
    check(frames[-1] in ('schedule', '__schedule', 'do_nanosleep') or 'sched' in frames[-1], 'innermost %s', frames[-1])
    for stack in rec.stacks.values():
        check(not any(TRACER.match(f) for f in stack.frames), 'tracer frames in %s', stack.frames)


def test_stack_events(live):
    """The dump's stacks: every id is there, innermost first, labelled with how they ended."""
    rec = live.record(live.work('sleep 5 20000'))
    seen = 0
    for w in rec.waits:
        for sid in (w.kstack, w.ustack):
            check(not sid or sid in rec.stacks, 'stack %s of %r is nowhere', sid, w)
        user, kernel = rec.frames(w)
        if w.kind == 'sleep':
            seen += 1
            check(user.index('f') < user.index('g') < user.index('main'), 'user %s', user)
            check(any('nanosleep' in f for f in kernel), 'kernel %s', kernel)
    check(seen == 5, '%d sleeps', seen)
    check(all(s.side in ('user', 'kernel') and s.ended for s in rec.stacks.values()), 'unlabelled stacks')


def test_program_gone(live):
    """C19: the program has exited and its file is deleted before the recording ends; all is named."""
    program = live.path('shortlived')
    shutil.copy(live.work('sleep')[0], program)
    rec = live.record(['sh', '-c', '"$0" 2 100000; rm "$0"; sleep 0.1', program])
    check(not os.path.exists(program), 'the program was not deleted')
    us = rec.folded_us('main', 'g', 'f')
    check(us >= 0.98 * 200000, '%d us under main;g;f: %s', us, [f for f in rec.folded if f[0][0] == 'shortlived'])
    rc, out, err = live.run([live.wcbpf, 'report', rec.dir])
    check(rc == 0 and out.strip(), 'report: %s', err)


def test_other_mount_namespace(live):
    """C20: a target whose program exists only in its own mount namespace, attached from outside."""
    script = 'mount -t tmpfs none /mnt && cp "$1" /mnt/lk && exec /mnt/lk 200 50000'
    p = live.spawn(['unshare', '-m', 'sh', '-c', script, 'sh', live.work('sleep')[0]])
    live.until('the program', lambda: os.readlink('/proc/%d/exe' % p.pid) == '/mnt/lk')
    check(not os.path.exists('/mnt/lk'), '/mnt/lk is visible here')
    before = tracer_programs()
    a = live.attach_start('-p', str(p.pid))
    live.started(a)
    a.send_signal(signal.SIGINT)
    rec = live.finish(a, before)
    total = sum(v for f, v in rec.folded)
    check(rec.folded_us('main', 'g', 'f') >= 0.95 * total, 'names: %s', rec.folded[:3])
    check(any(m.path == '/mnt/lk' for m in rec.modules.values()), 'modules %s', [m.path for m in rec.modules.values()])


def test_recorded_in_other_mount_namespace(live):
    """C20: the same, recorded from its start."""
    script = 'mount -t tmpfs none /mnt && cp "$1" /mnt/lk && /mnt/lk 4 50000; exit $?'
    rec = live.record(['unshare', '-m', 'sh', '-c', script, 'sh', live.work('sleep')[0]])
    us = rec.folded_us('main', 'g', 'f')
    check(close_to(us, 200000, 0.05, live.slack_ns / 1000), '%d us under main;g;f: %s', us, rec.folded[:4])


def test_fault_frames(live):
    """C32: a page fault that waits for the disk shows who touched the page."""
    rec, _, cmp = live.truth('fault {tmp}/mapped 60')
    faults = [w for t, w in cmp.pairs if t['kind'] == 'fault']
    check(len(faults) > 10, '%d faults', len(faults))
    for w in faults:
        user, kernel = rec.frames(w)
        check('main' in user and user[0] == 'touch_page', 'user %s', user)
        check(any('fault' in f for f in kernel), 'kernel %s', kernel)
        check(w.syscall is None or w.syscall < 0, 'a fault in a syscall: %s', w.syscall)


def test_lock_callers(live):
    """Stacks of lock waits have the locking function of the program and of libc."""
    rec, _, cmp = live.truth('mutex plain 3 80')
    for t, w in cmp.pairs:
        if t['kind'] == 'mutex':
            user, _ = rec.frames(w)
            check('lock_contended' in user and 'lock_waiter' in user, 'user %s', user)
            check(any('mutex_lock' in f or 'lll_lock' in f for f in user), 'no libc function in %s', user)


BY_WAKER = {'pipe': 'wakes_by_pipe', 'eventfd': 'wakes_by_eventfd', 'condvar': 'wakes_by_condvar',
            'mutex': 'wakes_by_mutex', 'join': 'ends_itself'}


def test_waker_stacks(live):
    """Each wait has the stack from which it was ended, to its root; a process that ends has no memory to walk any more."""
    rec, _, cmp = live.truth('wakers 6 4', '--waker-stacks')
    seen = {}
    for t, w in cmp.pairs:
        if t['kind'] in BY_WAKER and w.waker_stack:
            stack = rec.stacks[w.waker_stack]
            name = BY_WAKER[t['kind']]
            outer = ['ending', 'start_thread'] if t['kind'] == 'join' else ['rounds', 'main']
            if t['kind'] == 'join' and name not in stack.frames:
                continue # sleeper's own end
            at = [stack.frames.index(f) if f in stack.frames else -1 for f in [name] + outer]
            check(-1 not in at and at == sorted(at), '%s: ended from %s', t['kind'], stack.frames)
            check(stack.side == 'user' and stack.ended == 'complete', '%s: %s', t['kind'], stack)
            seen[t['kind']] = seen.get(t['kind'], 0) + 1
        elif t['kind'] in ('sleep', 'child'):
            check(not w.waker_stack, '%s: %s', t['kind'], w.waker_stack and rec.stacks[w.waker_stack])
    check(seen == {kind: 6 for kind in BY_WAKER}, 'with the stack of their waker: %s', seen)
    rc, out, err = live.run([live.wcbpf, 'export', '--format', 'folded', '--view', 'offwake', '-o', '-', rec.dir])
    ends = [line.rsplit(' ', 1)[0].split(';--;', 1)[1].split(';') for line in out.splitlines() if ';--;' in line]
    for name in BY_WAKER.values():
        behind = [x for x in ends if name in x]
        check(behind and all(x.index(name) < x.index('start_thread' if name == 'ends_itself' else 'main') for x in behind),
              'off-wake lines of %s: %s', name, behind)


def test_no_waker_stacks(live):
    rec = live.record(live.work('wakers 2 4'))
    check(not any(w.waker_stack for w in rec.waits), 'taken without being asked for')


def test_no_symbols(live):
    """--no-symbols: addresses, but the same time."""
    rec = live.record(live.work('sleep 3 50000'), '--no-symbols')
    total = sum(v for f, v in rec.folded if f[0] == 'sleep')
    check(close_to(total, 150000, 0.05, live.slack_ns / 1000), '%d us', total)
    check(not rec.folded_us('main', 'g', 'f'), 'names in spite of --no-symbols')


def test_rows_of_one_function(live):
    """Two callers of one function stay two rows, threads of one name share them."""
    rec, _, _ = live.truth('sleep 10 5000 3')
    rows = [f for f, v in rec.folded if 'f' in f and 'sleeper' in f]
    check(len(rows) == 1, '%d rows for one path: %s', len(rows), rows)
    slept = sum(w.blocked for w in rec.waits if w.kind == 'sleep')
    us = rec.folded_us('sleeper', 'g', 'f')
    check(close_to(us, slept / 1000, 0.001, 10), '%d us, not %d', us, slept / 1000)
    check(slept >= 3 * 10 * 5 * MS, 'slept %d ns', slept)


def test_direct_caller_without_frame_pointers(live):
    """C17: built without frame pointers, below a libc without: who called libc, and who called that."""
    rec = live.record(live.work('nofp 5 20'), '--call-graph', 'auto')
    sleeps = [w for w in rec.waits if w.kind == 'sleep']
    check(len(sleeps) == 5, 'sleeps: %s', sleeps)
    for w in sleeps:
        user, _ = rec.frames(w)
        own = [i for i, f in enumerate(user) if f in ('direct_caller', 'outer', 'main')]
        check([user[i] for i in own] == ['direct_caller', 'outer', 'main'] and own[2] == own[0] + 2, 'user %s', user)
        check(own[0] >= 1 and all('nanosleep' in f for f in user[:own[0]]), 'user %s', user)
        check(rec.stacks[w.ustack].ended == 'complete', 'ended %s', rec.stacks[w.ustack].ended)


def test_call_graph_fp(live):
    """--call-graph fp walks frame pointers alone and says so of each user stack."""
    rec = live.record(live.work('sleep 5 20000'), '--call-graph', 'fp')
    for w in (w for w in rec.waits if w.kind == 'sleep'):
        user, _ = rec.frames(w)
        check('main' in user and user.index('g') < user.index('main'), 'user %s', user)    # f: libc's caller, lost
        check(rec.stacks[w.ustack].ended == 'fp', 'ended %s', rec.stacks[w.ustack].ended)
    for rec in (rec, live.record(live.work('nofp 3 20'), '--call-graph', 'fp')):
        ended = {s.ended for s in rec.stacks.values() if s.side == 'user'}
        check(ended and ended <= {'fp', 'truncated'}, 'user stacks ended as %s', ended)


def test_call_graph_none(live):
    """--call-graph none: no user stack, which is no failure."""
    rec = live.record(live.work('sleep 5 20000'), '--call-graph', 'none')
    sleeps = [w for w in rec.waits if w.kind == 'sleep']
    check(len(sleeps) == 5 and all(w.kstack for w in sleeps), 'sleeps: %s', sleeps)
    check(not any(w.ustack for w in rec.waits), 'user stacks: %s', [w for w in rec.waits if w.ustack])
    check({s.side for s in rec.stacks.values()} == {'kernel'}, 'stacks %s', rec.stacks)
    check(rec.summary['capture_integrity']['failed_user_stacks'] == 0, 'failed: %s', rec.lost_text())


SLEEP_CALLS = {'x86_64': {35, 230}, 'aarch64': {101, 115}}
POLL_CALLS = {'x86_64': {7, 271}, 'aarch64': {73}}


def test_stack_of_an_open_wait_is_its_own(live):
    """Waits cut off by the end of the recording have the kernel stack of their syscall, not of the next one."""
    p = live.spawn(live.work('crowd 300 20'))
    live.said(p, 'crowd')
    rec = live.attach('-p', str(p.pid), '-d', '500ms', lossy=True)
    machine, seen = os.uname().machine, {'sleep': 0, 'poll': 0}
    for w in rec.waits:
        _, kernel = rec.frames(w)
        if not kernel or w.reason == 'cpu':
            continue
        asleep = any('hrtimer_nanosleep' in f for f in kernel)
        polls = any(re.search(r'do_(sys_)?poll', f) for f in kernel)
        if w.syscall in POLL_CALLS.get(machine, ()):
            check(not asleep, 'a poll with the stack of a sleep: %r %s', w, kernel)
            seen['poll'] += polls and w.clipped in (2, 3)
        elif w.syscall in SLEEP_CALLS.get(machine, ()):
            check(not polls, 'a sleep with the stack of a poll: %r %s', w, kernel)
            seen['sleep'] += asleep and w.clipped in (2, 3)
    check(seen['sleep'] >= 30 and seen['poll'] >= 30, 'open waits with a stack: %s', seen)
