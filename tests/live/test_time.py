# SPDX-License-Identifier: (LGPL-2.1 OR BSD-2-Clause)
"""Where the time went: totals, preemption, stops, clips, clocks, reused ids. C01-C14."""
import os
import re
import shutil
import signal
import time

from live import Skip, check, close_to, tracer_programs
from truth import MS, Truth

ALONE = True

S = 1000 * MS


def test_clipped_wait(live):
    """C01: a sleep that began before and outlives the recording is as long as the recording, and marked."""
    sleeper = live.spawn(['sleep', '30'])
    time.sleep(0.3)
    rec = live.attach('-p', str(sleeper.pid), '-d', '3')
    waits = rec.of_tid(sleeper.pid)
    check(len(waits) == 1, '%d waits: %s', len(waits), waits)
    w = waits[0]
    check(close_to(w.end - w.start, 3 * S, 0.1, 300 * MS), 'length %d ns', w.end - w.start)
    check(w.clipped == 3, 'clipped %s, not 3', w.clipped)
    check(w.reason == 'sleep', 'reason %s', w.reason)
    check(rec.header.get('open_ops'), 'no open ops')


def test_pipe_bench_never_negative(live):
    """C02: hundreds of thousands of switches, CPUs' clocks in play; no thread's sum exceeds the elapsed time."""
    rec = live.record(live.work('switches 50000'), lossy=True)
    truth = Truth(rec.out)
    for tid, t in truth.threads.items():
        got = rec.thread(tid)
        check(got is not None, 'no totals of %d', tid)
        check(sum((got.oncpu, got.runnable, got.blocked, got.lost)) <= rec.end_ns + MS, 'more than elapsed: %r', got)
        waited = sum(w.blocked + w.runnable for w in rec.of_tid(tid))
        check(waited <= rec.end_ns, 'thread %d waited %d ns of %d', tid, waited, rec.end_ns)
    recorded = sum(1 for w in rec.waits if w.kind == 'pipe')
    check(recorded > 20000, 'only %d pipe waits', recorded)


def test_reused_pids(live):
    """C04: 4000 processes through 500 process ids, each with a life of its own."""
    if not os.path.exists('/proc/sys/kernel/pid_max') or kernel() < (6, 14):
        raise Skip('kernel.pid_max is of the whole machine before 6.14')
    script = ('echo 500 > /proc/sys/kernel/pid_max && exec "$@"')
    loop = 'i=0; while [ $i -lt 4000 ]; do /bin/true; i=$((i+1)); done'
    rec = live.record(['sh', '-c', loop], timeout=120, lossy=True,
                      wrap=('unshare', '-p', '-f', '--mount-proc', 'sh', '-c', script, 'sh'))
    execs = [o for o in rec.ops.values() if o.kind == 'exec' and not o.open]
    check(len(execs) >= 4000, '%d exec ops for 4000 processes', len(execs))
    check(len({o.client for o in execs}) == len(execs), 'process keys repeat')
    check(len({o.pid for o in execs}) < 500, '%d process ids: none was reused', len({o.pid for o in execs}))
    longest = max(w.end - w.start for w in rec.waits)
    check(longest < rec.end_ns, 'a wait of %d ns', longest)
    for pid in {o.pid for o in execs}:
        spans = sorted((o.start, o.end) for o in execs if o.pid == pid)
        check(all(a[1] <= b[0] for a, b in zip(spans, spans[1:])), 'lives of pid %d overlap', pid)


def kernel():
    return tuple(int(x) for x in re.findall(r'\d+', os.uname().release)[:2])


def test_12000_threads(live):
    """C04: more threads than a map may hold: each found, or counted as lost."""
    rec = live.record(live.work('many 12000 1500'), timeout=100, lossy=True)
    made = Truth(rec.out).fact('made', 'n')
    sleeps = [w for w in rec.waits if w.kind == 'sleep' and close_to(w.blocked, 1500 * MS, 0.5, 300 * MS)]
    i = rec.summary['capture_integrity']
    lost = sum(v for k, v in i.items() if k.startswith('lost_') and isinstance(v, int)) + rec.header['dropped_events']
    check(len(sleeps) <= made, '%d sleeps of %d threads', len(sleeps), made)
    check(len(sleeps) + lost >= made, '%d sleeps of %d threads, %d lost', len(sleeps), made, lost)
    live.figure('12000 threads: %d of %d sleeps recorded, %d lost counted', len(sleeps), made, lost)
    check(all(w.end - w.start <= rec.end_ns for w in rec.waits), 'a wait longer than the recording')


def test_preemption_is_not_blocking(live):
    """C05: three spinners on one CPU: two thirds of each one's time runnable, none blocked."""
    rec = live.record(live.work('spin 1500 3'), wrap=('taskset', '-c', '1') if os.cpu_count() > 1 else ())
    truth = Truth(rec.out)
    check(len(truth.threads) == 3, '%d spinners', len(truth.threads))
    for tid, t in truth.threads.items():
        got, life = rec.thread(tid), t['end'] - t['begin']
        check(got.blocked < life * 0.01 + 2 * MS, 'blocked %d of %d', got.blocked, life)
        check(close_to(got.runnable, t['runnable'], 0.03, 15 * MS), 'runnable %d, the kernel says %d', got.runnable,
              t['runnable'])
        check(got.runnable > life / 3, 'runnable %d of %d with three on one CPU', got.runnable, life)
        cpu = sum(w.runnable for w in rec.of_tid(tid, reason='cpu'))
        check(close_to(cpu, got.runnable, 0.03, 10 * MS), 'waits of reason cpu sum to %d of %d', cpu, got.runnable)
    blocked = sum(v for f, v in rec.folded if f[0] == 'spin' and 'do_wait' not in f)      # not their parent
    check(blocked < 50000, '%d us of the spinners in the folded file, which holds blocked time only', blocked)


def test_no_idle_task(live):
    """C06: system-wide has no tid 0; -p 0 is refused."""
    before = tracer_programs()
    p = live.attach_start('-a', '-d', '1')
    rec = live.finish(p, before, lossy=True)
    check(rec.waits, 'nothing at all waited on this machine')
    check(all(t.tid != 0 and not t.comm.startswith('swapper') for t in rec.threads), 'the idle task is listed')
    check(not any(f[0].startswith('swapper') for f, _ in rec.folded), 'the idle task is in the folded file')
    # by its number: somebody else's wcbpf is a program like any other
    check(p.pid not in {t.pid for t in rec.threads}, 'the tracer is in its own recording')
    rc, _, err = live.run([live.wcbpf, 'attach', '-p', '0', '-o', live.folder()])
    check(rc not in (0, None) and '0' in err, 'attach -p 0: exit status %s, %r', rc, err)


def stopped(how):
    def test(live):
        rec, truth, cmp = live.truth('stop ' + how, loose=True)
        pid = truth.fact('child', 'pid')
        kinds = [w.reason for w in sorted(rec.of_tid(pid), key=lambda w: w.start) if w.blocked > 50 * MS]
        check(kinds == ['sleep', 'stopped', 'sleep'], 'waits of the child: %s', kinds)
        total = sum(w.blocked for w in rec.of_tid(pid, reason='stopped'))
        check(close_to(total, 500 * MS, 0.02, live.slack_ns), 'stopped for %d ns', total)
    return test


TESTS = {'stopped_by_signal': stopped('signal'), 'stopped_by_ptrace': stopped('ptrace')}


def test_threads_sum_to_thread_seconds(live):
    """C10: four threads sleeping 2 s are 8 thread-seconds in 2 s, and the folded total is the waits' total."""
    rec, truth, _ = live.truth('sleep 1 2000000 4')
    slept = sum(w.blocked for w in rec.waits if w.kind == 'sleep')
    check(close_to(slept, 8 * S, 0.02, 0), '%d ns slept', slept)
    check(rec.end_ns < 6 * S, 'the recording took %d ns', rec.end_ns)
    waits_us = sum(w.blocked for w in rec.waits) / 1000
    folded_us = sum(v for _, v in rec.folded)
    check(close_to(folded_us, waits_us, 0.001, rec.folded_lines + 5), 'folded %d us, waits %d us', folded_us, waits_us)


def test_time_namespace(live):
    """C11: an offset clock shifts nothing."""
    begin = time.time()
    rec = live.record(['unshare', '-T', '--monotonic', '100000', '-f', 'sleep', '1'])
    sleeps = [w for w in rec.waits if w.kind == 'sleep' and w.blocked > 500 * MS]
    check(len(sleeps) == 1, 'sleeps: %s', sleeps)
    check(close_to(sleeps[0].end - sleeps[0].start, S, 0.02, live.slack_ns), 'length %d',
          sleeps[0].end - sleeps[0].start)
    epoch = rec.header['epoch_unix_nano'] / 1e9
    check(begin - 1 < epoch < time.time() + 1, 'epoch %f, begun at %f', epoch, begin)
    check('MONOTONIC' in str(rec.header['wcbpf'].get('clock')), 'the clock is not named: %s', rec.header['wcbpf'])


def time_namespace(offset_s):
    """C11: wcbpf itself and its workload in a time namespace, whose CLOCK_MONOTONIC is not that of BPF programs."""
    def test(live):
        with open('/proc/uptime') as f:
            if float(f.read().split()[0]) + offset_s < 10:
                raise Skip('this machine runs for less than %d s' % -offset_s)
        rec = live.record(live.work('sleep 3 50000'),
                          wrap=('unshare', '-T', '--monotonic', str(offset_s), '--fork'))
        truth = Truth(rec.out)
        sleeps = [w for w in rec.waits if w.kind == 'sleep']
        check(len(sleeps) == 3, 'sleeps: %s', sleeps)
        for w, t in zip(sleeps, truth.waits):
            check(close_to(w.end - w.start, t['end'] - t['start'], 0, live.slack_ns), 'length %d, not %d',
                  w.end - w.start, t['end'] - t['start'])
            at = rec.header['epoch_unix_nano'] + w.start
            want = truth.clock['realtime'] - truth.clock['monotonic'] + t['start']
            check(close_to(at, want, 0, live.slack_ns + 5 * MS), 'began %d ms off', (at - want) // MS)
            user, _ = rec.frames(w)
            check([f for f in user if f in ('f', 'g', 'main')] == ['f', 'g', 'main'], 'user stack %s', user)
    return test


TESTS.update({'time_namespace_%s' % ('back' if s < 0 else 'ahead'): time_namespace(s) for s in (-500, 1000)})


def test_exec_by_another_thread(live):
    """C37, C51: a thread that executes takes over the leader's id: neither's time is lost or counted twice."""
    rec = live.record(live.work('execburn 200 100'))
    said = Truth(rec.out).facts['process'][0]
    own = [t for t in rec.threads if t.pid == said['pid']]
    check({t.tid for t in own} == {said['pid'], said['second']}, 'threads: %s', own)
    for tid in {t.tid for t in own}:
        lives = sorted((t.begin, t.end) for t in own if t.tid == tid)
        check(all(a[1] <= b[0] for a, b in zip(lives, lives[1:])), 'records of %d overlap: %s', tid, lives)
    for t in own:
        total = t.oncpu + t.runnable + t.blocked + t.lost
        check(close_to(total, t.end - t.begin, 0, MS), 'thread %r: %d of %d', t, total, t.end - t.begin)
    oncpu = sum(t.oncpu for t in own)
    check(said['cpu'] >= 300 * MS, 'the workload burned %d ms', said['cpu'] // MS)
    check(close_to(oncpu, said['cpu'], 0.05, 20 * MS), 'on CPU for %d ms by the threads, %d by the process\'s clock',
          oncpu // MS, said['cpu'] // MS)


def test_killed_while_blocked(live):
    """C13: fifty blocked threads, killed: fifty waits that end with them; the dying switch opens none."""
    rec, truth, _ = live.truth('killed 50 1000', ignore=('other',))
    blocked = truth.facts['blocked']
    check(len(blocked) == 50, '%d blocked threads', len(blocked))
    offset = truth.offset_ns(rec)
    for t in blocked:
        waits = [w for w in rec.of_tid(t['tid']) if w.blocked > 100 * MS]
        check(len(waits) == 1, 'thread %d: %s', t['tid'], waits)
        w = waits[0]
        check(w.start + offset >= t['start'] - MS and w.end + offset >= t['end'] - MS, 'span of %r', w)
        check(close_to(w.end - w.start, t['end'] - t['start'], 0.05, 50 * MS + live.slack_ns), 'length of %r, not %d',
              w,
              t['end'] - t['start'])
        check(w.outcome == 'killed', 'outcome of %r', w)
        check(not w.clipped, 'clipped: %r', w)
        want = {'pause': ('signal', 'other', 'sleep'), 'mutex': ('lock',), 'pipe': ('io',)}[t['kind']]
        check(w.reason in want, '%s waits as %s', t['kind'], w.reason)
    op = rec.process_op(truth.fact('killed', 'pid'))
    check(op and op.exit_status == signal.SIGKILL, 'exit_status %s', op and op.exit_status)


def test_poll_is_not_disturbed(live):
    """C14: no EINTR, and no more switches than the kernel counts without a tracer."""
    for _ in range(3):      # a page that has to be read from disk is a switch as well, in either run
        rc, out, _ = live.run(live.work('poll poll timeout 5 300'))
        plain = Truth(out)
        _, truth, _ = live.truth('poll poll timeout 5 300')
        check(truth.fact('eintr', 'n') == 0, '%d times EINTR', truth.fact('eintr', 'n'))
        pairs = [(truth.threads[a]['voluntary'], plain.threads[b]['voluntary'])
                 for a, b in zip(sorted(truth.threads), sorted(plain.threads))]
        if all(abs(traced - free) <= 2 for traced, free in pairs):
            return
    check(False, 'voluntary switches (traced, free): %s', pairs)


def test_switch_counts(live):
    """Every voluntary switch that /proc counted for a thread is an interval of the recording."""
    for line in ('sleep 50 2000 2', 'mutex plain 4 20', 'pipe 10 5'):
        rec, truth, _ = live.truth(line)
        main = min(truth.threads)
        for tid, t in truth.threads.items():
            if tid == main:         # its count began before its exec
                continue
            blocked = sum(1 for w in rec.of_tid(tid) if w.blocked > 0)
            check(abs(blocked - t['voluntary']) <= 2, '%s: thread %d: %d blocking waits, %d voluntary switches', line,
                  tid, blocked, t['voluntary'])


def perf_intervals(live, perf, data):
    """{tid: [(out ns, in ns)]} of perf's sched_switch records; where perf lost one of a pair there is none."""
    rc, out, err = live.run([perf, 'script', '-i', data, '--ns', '-F', 'time,event,trace'], timeout=60)
    check(rc == 0, 'perf script: %s', err)
    left, found = {}, {}
    for m in re.finditer(r'(\d+)\.(\d{9}):\s+sched:sched_switch:.*? prev_pid=(\d+) .*? next_pid=(\d+)', out):
        now, gone, come = int(m.group(1)) * S + int(m.group(2)), int(m.group(3)), int(m.group(4))
        if come in left:
            found.setdefault(come, []).append((left.pop(come), now))
        left[gone] = now
    return found


def test_perf_sched_agrees(live):
    """Off-CPU intervals against those that perf sched record saw in the same run, by its own clock."""
    perf, data = shutil.which('perf'), live.path('perf.data')
    if not perf or live.run([perf, 'sched', 'record', '-o', data, 'true'])[0]:
        raise Skip('perf sched record does not work here')
    before = tracer_programs()
    p = live.record_start(live.work('sleep 40 20000 3'), wrap=(perf, 'sched', 'record', '-m', '4096', '-o', data))
    rec = live.finish(p, before)
    truth = Truth(rec.out)
    theirs, compared = perf_intervals(live, perf, data), 0
    for tid in truth.threads:
        pairs = [x for x in theirs.get(tid, []) if x[1] - x[0] > 10 * MS]
        waits = sorted((w for w in rec.of_tid(tid) if w.kind == 'sleep'), key=lambda w: w.start)
        if len(pairs) < 20 or len(waits) < 20:
            continue
        # the clocks differ by a constant that no one tells: the one under which most intervals begin together
        offset = max((out - w.start for out, _ in pairs[:5] for w in waits[:5]), key=lambda d: sum(
            any(abs(out - d - w.start) < MS for w in waits) for out, _ in pairs))
        both = [(i - o, w.end - w.start) for o, i in pairs for w in waits if abs(o - offset - w.start) < MS]
        check(len(both) >= 0.9 * len(pairs), 'thread %d: %d of %d intervals of perf are there', tid, len(both),
              len(pairs))
        far = [x for x in both if not close_to(x[1], x[0], 0.02, MS // 2)]
        check(len(far) <= len(both) // 20, 'thread %d: lengths differ (perf, wcbpf): %s', tid, far[:5])
        check(close_to(sum(b for _, b in both), sum(a for a, _ in both), 0.02, 0), 'thread %d: sums differ', tid)
        compared += 1
    if not compared:
        raise Skip('perf lost too many of its own records')


def test_min_is_in_totals(live):
    """-m leaves short waits out of the dump, not out of the totals, and is no loss."""
    rec = live.record(live.work('sleep 50 1000 1'), '-m', '10ms')
    truth = Truth(rec.out)
    tid = max(truth.threads)
    short = [w for w in rec.of_tid(tid) if w.end - w.start < 10 * MS]
    check(not short, 'waits shorter than -m 10ms: %s', short)
    check(rec.thread(tid).blocked >= 50 * MS, 'blocked total %d', rec.thread(tid).blocked)
    below = rec.integrity['below_min']
    check(below + len(rec.of_tid(tid)) >= 50 and below, 'below_min %d', below)


def test_delay_and_duration(live):
    """-d ends an attach at its time; the recording is as long as asked."""
    sleeper = live.spawn(['sleep', '20'])
    begin = time.monotonic()
    rec = live.attach('-p', str(sleeper.pid), '-d', '1500ms')
    check(close_to(rec.end_ns, 1.5 * S, 0.1, 300 * MS), 'a recording of %d ns', rec.end_ns)
    check(time.monotonic() - begin < 15, 'took %d s', time.monotonic() - begin)
    check(sleeper.poll() is None, 'the target ended')
