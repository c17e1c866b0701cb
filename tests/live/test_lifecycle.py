# SPDX-License-Identifier: (LGPL-2.1 OR BSD-2-Clause)
"""Beginning and end: what is followed, signals, exit codes, wrong targets, a killed tracer. C50-C54, C63, C65, C71."""
import json
import os
import signal
import time

from live import Fail, Skip, check, children_of, close_to, programs_held_by, tracer_programs
from truth import MS, Truth

S = 1000 * MS


def test_exit_codes(live):
    """C65: the workload's status is record's; what can't start is told apart."""
    for script, want in (('exit 0', 0), ('exit 7', 7), ('exit 255', 255), ('kill -SEGV $$', 139),
                         ('kill -KILL $$', 137)):
        rec = live.record(['sh', '-c', script], rc=want, strict=False)
        check(rec.summary and rec.summary['state'] in ('summary_written', 'tool_failed'), '%s: %s', script, rec.summary)
    for argv, want in ((['/nonexistent/program'], 127), (['/etc/passwd'], 126), (['/'], 126)):
        rc, _, err = live.run([live.wcbpf, 'record', '-o', live.folder(), '--', *argv])
        check(rc == want and argv[0] in err, '%s: status %s, not %d: %s', argv[0], rc, want, err)
    for words in (['record'], ['record', '--no-such-option', '--', 'true'], ['record', '--mode', 'x', '--', 'true'],
                  ['record', '-d', 'abc', '--', 'true'], ['attach'], ['attach', '-p', '1', '-m', '3parsecs']):
        rc, out, err = live.run([live.wcbpf, *words], cwd=live.tmp)
        check(rc == 125 and err.strip(), 'usage error %s: status %s, said %r', words, rc, err)
    check(not os.path.exists(live.path('wcbpf.out')), 'a usage error left a folder')


def test_wrong_targets(live):
    """C71: each wrong target has its own sentence, at once, and leaves no file."""
    zombie = live.spawn(['sh', '-c', 'true & exec sleep 20'])

    def zombie_pid():
        for pid in children_of(zombie.pid)[1:]:
            with open('/proc/%d/stat' % pid) as f:
                if f.read().rsplit(')', 1)[1].split()[0] == 'Z':
                    return pid
    said = set()
    pid = live.until('a zombie', zombie_pid)
    targets = ['-1', 'abc', '0', '4194999', '', '12,abc']
    for target in targets + [str(pid)]:
        folder = live.folder()
        begin = time.monotonic()
        rc, out, err = live.run([live.wcbpf, 'attach', '-p', target, '-o', folder, '-d', '5'])
        took = time.monotonic() - begin
        check(rc not in (0, None), '-p %r: exit status %s', target, rc)
        check(took < live.seconds(1), '-p %r: took %.1f s', target, took)
        check(err.strip() and len(err.strip().splitlines()) <= 4, '-p %r: said %r', target, err)
        check(not os.path.exists(folder), '-p %r: left %s', target, folder)
        check('ermission' not in err and 'not permitted' not in err, '-p %r is no question of rights: %s', target, err)
        said.add(err.strip().replace(target, '') if target else err.strip())
    check(len(said) > 2, 'all targets get the same message: %s', said)


def test_kernel_thread_target(live):
    """C32, C71: kernel threads are recorded, without user stacks and without complaint."""
    rec = live.attach('-p', '2', '-d', '1')
    check(not rec.integrity['failed_user_stacks'], 'integrity %s', rec.integrity)
    check(rec.waits and not any(w.ustack for w in rec.waits), 'waits with user stacks: %s', rec.waits[:3])


def test_own_pid_is_refused_or_empty(live):
    """C71: the tracer can't be its own target."""
    rc, _, err = live.run(['sh', '-c', 'exec "$0" attach -p $$ -o "$1" -d 1', live.wcbpf, live.folder()])
    check(rc not in (0, None) and err.strip(), 'attach to itself: status %s: %s', rc, err)


def test_descendants_yes_strangers_no(live):
    """C51: children and grandchildren are followed, a process outside with the same program is not."""
    lock = live.work('mutex plain 1 400')
    outside = live.spawn(lock)
    rec = live.record(['sh', '-c', 'sleep 0.3 & "$@"; wait', 'sh', *lock])
    truth, other = Truth(rec.out), None
    live.wait(outside, 10)
    other = Truth(live.text(outside))
    for tid in truth.threads:
        check(rec.thread(tid), 'thread %d of a descendant is missing', tid)
    for tid in other.threads:
        check(not rec.of_tid(tid) and not rec.thread(tid), 'thread %d of a stranger is there', tid)
    check(len([w for w in rec.waits if w.kind == 'mutex' and w.blocked > 100 * MS]) == 1, 'mutex waits')
    check(len([w for w in rec.waits if w.kind == 'sleep' and close_to(w.blocked, 300 * MS, 0.1, 5 * MS)]) >= 1,
          'the background sleep is missing')


def test_no_inherit(live):
    """C51: --no-inherit follows the process alone."""
    rec = live.record(['sh', '-c', 'sleep 0.2; sleep 0.1; exit 0'], '--no-inherit')
    check(not [w for w in rec.waits if w.kind == 'sleep'], 'children are there: %s', rec.waits)
    check([w for w in rec.waits if w.reason == 'exec'], 'the shell\'s own waits are missing')


def test_exec_chain(live):
    """C51: exec keeps the process; each program is an exec_phase; an exec from a second thread too."""
    rec = live.record(live.work('execs 4'))
    truth = Truth(rec.out)
    pids = {f['pid'] for f in truth.facts['generation']}
    check(len(pids) == 1 and len(truth.facts['generation']) == 5, 'generations: %s', truth.facts)
    pid = pids.pop()
    execs = [o for o in rec.ops.values() if o.kind == 'exec' and o.pid == pid]
    check(len(execs) == 1, 'exec ops: %s', execs)
    phases = sorted((o for o in rec.ops.values() if o.kind == 'exec_phase' and o.parent == execs[0].id),
                    key=lambda o: o.start)
    check(len(phases) == 5, '%d exec phases for 5 programs', len(phases))
    check(all(a.end <= b.start + MS for a, b in zip(phases, phases[1:])), 'phases overlap: %s', phases)
    naps = [w for w in rec.waits if w.kind == 'sleep' and w.pid == pid and close_to(w.blocked, 100 * MS, 0.2, 10 * MS)]
    check(len(naps) == 5, '%d naps of 5', len(naps))
    named = [u for w in naps for u in [rec.frames(w)[0]] if 'main' in u]
    check(len(named) == 5, 'main is named in %d of 5 generations', len(named))


def test_short_program_is_whole(live):
    """A program of a millisecond is there from its exec to its exit, with its argv and status."""
    rec = live.record(live.work('sleep 1 1000'))
    truth = Truth(rec.out)
    tid = list(truth.threads)[0]
    check(len(rec.of_tid(tid, kind='sleep')) == 1, 'sleeps: %s', rec.of_tid(tid))
    op = rec.process_op(tid)
    check(op and not op.open and op.exit_status == 0 and not op.clipped, 'op %r', op)
    check('"1","1000"' in op.meta.replace(' ', ''), 'argv %s', op.meta)
    offset = truth.offset_ns(rec)
    check(op.start + offset <= truth.threads[tid]['begin'], 'the op begins after main()')
    check(op.end + offset >= truth.threads[tid]['end'], 'the op ends before main() did')


def test_launcher_is_no_workload(live):
    """What wcbpf's own child does before it executes the command is no wait of the workload."""
    rec, truth, _ = live.truth('sleep 2 20000')
    tid = list(truth.threads)[0]
    begin = truth.threads[tid]['begin'] - truth.offset_ns(rec)
    early = [w for w in rec.of_tid(tid) if w.end < begin and w.blocked > MS and w.reason in ('io', 'lock', 'sync',
                                                                                             'poll')]
    check(not early, 'waits before the program: %s', early)
    for stack in rec.stacks.values():
        paths = [os.path.realpath(rec.modules[m].path) for m in stack.modules if m]
        check(os.path.realpath(live.wcbpf) not in paths, 'wcbpf itself is in a stack: %s', stack.frames)


def test_attach_takes_all_threads(live):
    """C52: three threads, two more later; -t takes one; -p with a thread's id takes it or names its process."""
    p = live.spawn(live.work('threads 9'))
    live.until('three threads', lambda: live.text(p).count('early') == 3)
    before = tracer_programs()
    a = live.attach_start('-p', str(p.pid))
    live.started(a)
    live.until('two more threads', lambda: live.text(p).count('late') == 2)
    time.sleep(0.5)
    a.send_signal(signal.SIGINT)
    rec = live.finish(a, before)
    tids = [int(line.split('=')[1]) for line in live.text(p).splitlines() if not line.startswith('main')]
    check(len(tids) == 5, 'the workload has %d threads', len(tids))
    for tid in tids:
        check(len(rec.of_tid(tid, kind='sleep')) >= 3, 'thread %d: %s', tid, rec.of_tid(tid))
    rec = live.attach('-t', str(tids[1]), '-d', '700ms')
    check({w.tid for w in rec.waits} == {tids[1]}, '-t %d recorded %s', tids[1], {w.tid for w in rec.waits})
    rc, _, err = live.run([live.wcbpf, 'attach', '-p', str(tids[0]), '-d', '500ms', '-o', live.folder()])
    check(rc == 0 or str(p.pid) in err, '-p with a thread id: status %s, %s', rc, err)


def cgroup_v2_root():
    with open('/proc/self/mountinfo') as f:
        for line in f:
            left, _, right = line.partition(' - ')
            if right.startswith('cgroup2 '):
                return left.split()[4]
    raise Skip('no cgroup v2 is mounted')


def test_cgroup(live):
    """C51, -G: what is in the cgroup (also in one below it) when recording begins or comes later; no stranger."""
    group = os.path.join(cgroup_v2_root(), 'wcbpf-test-%d' % os.getpid())
    os.makedirs(group + '/below')
    try:
        script = 'echo $$ > "$0"/cgroup.procs; echo in; for i in 1 2 3 4 5 6 7 8; do sleep 0.3; done'
        members = [live.spawn(['sh', '-c', script, group]), live.spawn(['sh', '-c', script, group + '/below'])]
        stranger = live.spawn(['sh', '-c', 'for i in 1 2 3 4 5 6 7 8; do sleep 0.3; done'])
        live.until('members in the cgroup', lambda: all('in' in live.text(p) for p in members))
        rec = live.attach('-G', group, '-d', '1500ms')
        pids = {w.pid for w in rec.waits}
        for p in members:
            check(p.pid in pids, '%d of the cgroup is missing: %s', p.pid, pids)
        check(stranger.pid not in pids, 'the stranger %d was recorded', stranger.pid)
        sleeps = [w for w in rec.waits if w.kind == 'sleep' and not w.clipped]
        check(len(sleeps) >= 4, 'sleeps of children that came later: %s', sleeps)
    finally:
        for p in live.processes:
            live.kill_tree(p.pid)
        live.until('the cgroup to be empty', lambda: rmdir_tree(group), 10)


def rmdir_tree(group):
    try:
        for folder in (group + '/below', group):
            if os.path.isdir(folder):
                os.rmdir(folder)
        return True
    except OSError:
        return False


def test_idle_target(live):
    """C54: a process that does nothing at all shows its open wait."""
    sleeper = live.spawn(['sleep', '30'])
    time.sleep(0.2)
    rec = live.attach('-p', str(sleeper.pid), '-d', '1')
    waits = rec.of_tid(sleeper.pid)
    check(len(waits) == 1 and waits[0].clipped == 3, 'waits: %s', waits)
    check(rec.folded, 'the folded file is empty')


def test_spinning_target_has_no_rows(live):
    """C54: without a row the summary says which kind of nothing it was."""
    p = live.spawn(live.work('spin 20000 1'))
    spinner = live.until('the spinner', lambda: children_of(p.pid)[1:])[0]
    rec = live.attach('-p', str(spinner), '-d', '1', '--mode', 'time', rc=None, strict=False)
    live.kill_tree(p.pid)
    check(rec.summary, 'no summary')
    if not rec.folded:
        check(rec.summary['caveat_kind'] == 'no_rows' and rec.summary['state'] == 'tool_failed', 'caveat %s, state %s',
              rec.summary['caveat_kind'], rec.summary['state'])
        check(rec.summary['caveat_message'], 'no reason is given')


def test_attach_ends_with_target(live):
    """attach ends by itself, with 0, when its target has gone."""
    p = live.spawn(['sleep', '3'])
    before = tracer_programs()
    a = live.attach_start('-p', str(p.pid))
    live.started(a)
    live.wait(p, 10)
    begin = time.monotonic()
    rec = live.finish(a, before, timeout=10)
    check(time.monotonic() - begin < live.seconds(3), 'ended late')
    op = rec.process_op(p.pid)
    check(op and not op.open and op.exit_status == 0, 'op %r', op)


def stops_well(live, a, sig, before, rc, group=False):
    """Sends a signal; complete files within 3 s."""
    begin = time.monotonic()
    if group:
        os.killpg(a.pid, sig)
    else:
        a.send_signal(sig)
    rec = live.finish(a, before, rc=rc, timeout=20, lossy=True)
    took = rec.ended - begin
    check(took < live.seconds(3), 'files came after %.1f s', took)
    return rec


def test_interrupted_attach_is_complete(live):
    """C63: one Ctrl-C or TERM on an attach, under load: complete files, status 0."""
    busy = live.spawn(live.work('switches 4000000'))
    for sig in (signal.SIGINT, signal.SIGTERM):
        before = tracer_programs()
        a = live.attach_start('-p', str(busy.pid))
        live.started(a)
        rec = stops_well(live, a, sig, before, 0)
        check(len(rec.waits) > 1000, '%d waits', len(rec.waits))
    live.kill_tree(busy.pid)


def test_ctrl_c_waits_for_the_workload(live):
    """C63: Ctrl-C reaches wcbpf and workload; the workload ends in its own time, its status counts."""
    before = tracer_programs()
    p = live.record_start(live.work('catch 20'))
    live.said(p, 'ready')
    rec = stops_well(live, p, signal.SIGINT, before, 42, group=True)
    check('got signal=2' in rec.out, 'the workload got no SIGINT: %s', rec.out)


def test_term_is_forwarded(live):
    """C63: TERM to wcbpf alone goes on to the workload."""
    before = tracer_programs()
    p = live.record_start(live.work('catch 20'))
    live.said(p, 'ready')
    rec = stops_well(live, p, signal.SIGTERM, before, 42)
    check('got signal=15' in rec.out, 'the workload got no SIGTERM: %s', rec.out)
    before = tracer_programs()
    p = live.record_start(['sleep', '30'])
    live.started(p)
    stops_well(live, p, signal.SIGTERM, before, 128 + 15)


def test_second_signal_ends_at_once(live):
    """C63: the workload ignores Ctrl-C; a second one ends wcbpf promptly, without half files."""
    p = live.record_start(['sh', '-c', 'trap "" INT TERM; echo ready; sleep 20 & wait; sleep 20'])
    live.said(p, 'ready')
    p.send_signal(signal.SIGINT)
    time.sleep(0.5)
    check(p.poll() is None, 'did not wait for the workload')
    begin = time.monotonic()
    p.send_signal(signal.SIGINT)
    live.wait(p, 10)
    check(time.monotonic() - begin < live.seconds(3), 'took %.1f s after the second signal',
          time.monotonic() - begin)
    for name in os.listdir(p.folder) if os.path.isdir(p.folder) else []:
        if name.endswith('.json'):
            with open(os.path.join(p.folder, name)) as f:
                json.load(f)


def test_second_signal_while_loading(live):
    """C63: two signals before recording is on end an attach at once; nothing stays, the target runs on."""
    sleeper = live.spawn(['sleep', '20'])
    before = tracer_programs()
    a = live.attach_start('-p', str(sleeper.pid))
    live.until('the first program', lambda: a.poll() is None and programs_held_by(a.pid), 20)
    a.send_signal(signal.SIGINT)
    time.sleep(0.26)            # what comes sooner is the first one's echo
    begin = time.monotonic()
    a.send_signal(signal.SIGINT)
    live.wait(a, 10)
    check(time.monotonic() - begin < live.seconds(1), 'took %.1f s', time.monotonic() - begin)
    live.nothing_left(before)
    check(sleeper.poll() is None, 'the target ended with %s', sleeper.returncode)


def test_killed_tracer_leaves_nothing(live):
    """C50: kill -9 of wcbpf: no program, link or uprobe event stays, the workload runs on to its own end."""
    before = tracer_programs()
    marker = live.path('done')
    p = live.record_start(['sh', '-c', 'sleep 3; echo yes > "$0"', marker])
    live.started(p)
    p.kill()
    p.wait()
    live.nothing_left(before)
    for name in ('/sys/kernel/tracing/uprobe_events', '/sys/kernel/debug/tracing/uprobe_events'):
        if os.path.exists(name):
            with open(name) as f:
                check('wcbpf' not in f.read(), '%s is not empty', name)
    live.until('the end of the workload', lambda: os.path.exists(marker), 10)
    for name in ('wcprof.ndjson', 'wall.folded.txt', 'offcpu.summary.json'):
        check(not os.path.exists(os.path.join(p.folder, name)), 'a killed recording has a final %s', name)


def test_killed_attach_target_runs_on(live):
    """C50: the same for an attach."""
    sleeper = live.spawn(['sh', '-c', 'sleep 3; exit 5'])
    before = tracer_programs()
    a = live.attach_start('-p', str(sleeper.pid))
    live.started(a)
    a.kill()
    a.wait()
    live.nothing_left(before)
    rc = live.wait(sleeper, 10)
    if rc != 5:
        raise Fail('the target ended with %s' % rc)


# A shell below a shell below the target, which forks a child every 50 ms.
FAMILY = 'echo "top $$"; (sh -c "echo grand \\$\\$; while :; do sleep 0.05; done"; :) & wait'


def family(live):
    """(process, pid of its grandchild)"""
    p = live.spawn(['sh', '-c', FAMILY])
    text = live.said(p, 'grand')
    return p, int(text.split('grand ')[1].split()[0])


def test_attach_follows_the_family(live):
    """C51: descendants that exist already are followed, and what they fork later."""
    p, grand = family(live)
    check(grand != p.pid and grand in children_of(p.pid)[1:], 'no grandchild %d of %d', grand, p.pid)
    before = tracer_programs()
    a = live.attach_start('-p', str(p.pid))
    live.started(a)
    a.send_signal(signal.SIGINT)
    rec = live.finish(a, before)
    top = rec.of_tid(p.pid)
    check(len(top) == 1 and top[0].clipped == 3, 'the target itself: %s', top)
    check(len(rec.of_tid(grand, reason='exec')) >= 3, 'waits of the grandchild: %s', rec.of_tid(grand))
    children = {w.pid for w in rec.waits if w.kind == 'sleep' and w.blocked > 20 * MS} - {p.pid, grand}
    check(len(children) >= 3, 'sleeps of later children: %s', children)
    ops = [rec.process_op(pid) for pid in children]
    check(all(ops), 'later children without an exec op: %s', children)
    forked = [op for op in ops if not op.open and not op.clipped & 1]
    check(len(forked) >= 2, 'forked since the attach: %s', forked)
    for op in forked:
        links = [x for x in rec.links if x.kind == 'nested_client' and x.ident == op.client]
        check(len(links) == 1, '%d links to %r', len(links), op)


def test_attach_no_inherit(live):
    """C51: with --no-inherit neither a descendant that exists nor one that comes is there."""
    p, grand = family(live)
    rec = live.attach('-p', str(p.pid), '--no-inherit', '-d', '500ms')
    check(len(rec.of_tid(p.pid)) == 1, 'waits of the target: %s', rec.of_tid(p.pid))
    strangers = {w.pid for w in rec.waits} | {t.pid for t in rec.threads}
    check(strangers == {p.pid}, 'others are there: %s; grandchild %d', strangers - {p.pid}, grand)


def test_delayed_record_has_the_children(live):
    """-D: who was started during the delay is there, blocked since before the recording."""
    rec = live.record(['sh', '-c', 'sleep 3 | cat'], '-D', '300ms')
    for comm, kind in (('sleep', 'sleep'), ('cat', 'pipe')):
        threads = [t for t in rec.threads if t.comm == comm]
        check(len(threads) == 1, 'threads: %s', rec.threads)
        waits = [w for w in rec.of_tid(threads[0].tid) if w.blocked > 200 * MS]
        check(len(waits) == 1 and waits[0].kind == kind and waits[0].clipped == 1, '%s waits: %s', comm, waits)
        check(waits[0].start <= 50 * MS, '%s: blocked from %d ms', comm, waits[0].start // MS)
        check(waits[0].blocked < 2900 * MS, '%s: %d ms of 2700', comm, waits[0].blocked // MS)


# Children with long arguments first, whose exec events fill any buffer; then bare forks.
FLOOD = ('long=$(printf %%7000s x | tr " " x); read go < "$0"; '
         'i=0; while [ $i -lt %d ]; do /bin/true $long; i=$((i+1)); done; '
         'i=0; while [ $i -lt %d ]; do (:); i=$((i+1)); done; exit 3')


def flood(live, execs_n, forks_n, to_the_end):
    """An attach that stands still for 2 s meanwhile, or until the target has ended. Gives (recording, target)."""
    fifo = live.path('go')
    os.mkfifo(fifo)
    p = live.spawn(['sh', '-c', FLOOD % (execs_n, forks_n), fifo])
    before = tracer_programs()
    a = live.attach_start('-p', str(p.pid))
    live.started(a)
    a.send_signal(signal.SIGSTOP)
    stopped = time.monotonic()
    with open(fifo, 'w') as f:
        f.write('go\n')
    time.sleep(2)
    if to_the_end:
        live.wait(p, 60)
    stood = time.monotonic() - stopped
    a.send_signal(signal.SIGCONT)
    check(live.wait(p, 60) == 3, 'the target ended with %s', p.returncode)
    begin = time.monotonic()
    rec = live.finish(a, before, timeout=live.seconds(10), lossy=True)
    took = time.monotonic() - begin
    n = execs_n + forks_n
    execs = {o.client for o in rec.ops.values() if o.kind == 'exec' and o.pid != p.pid}
    lost = rec.summary['capture_integrity']['lost_lifecycle']
    check(len(execs) == n or len(execs) < n and lost, '%d ops of %d children, %s', len(execs), n, rec.lost_text())
    op = rec.process_op(p.pid)
    check(op and not op.open, 'op of the target: %r', op)
    live.figure('%d children, wcbpf standing still for %.1f s: %d told of, %d events lost, end %.1f s after theirs', n,
                stood, len(execs), lost, took)
    return rec, op


def test_flood_of_children(live):
    """C60: thousands of lives while wcbpf stands still: attach ends by itself, what it missed is told."""
    rec, op = flood(live, 700, 2300, False)
    if rec.complete():
        check(op.exit_status == 3 << 8, 'complete, but the target ended as %r', op)


def test_end_within_a_flood(live):
    """C60: the target's own end is among what was missed: attach ends by itself all the same, and tells."""
    rec, _ = flood(live, 700, 0, True)
    check(not rec.complete() and rec.summary['capture_integrity']['lost_lifecycle'], 'lost nothing of 5 MB')


def test_threads_born_while_recording_begins(live):
    """-a on a system that forks all the time: nobody is in it twice, each thread's time adds up (recording.py)."""
    forker = live.spawn(['sh', '-c', 'while :; do /bin/true & /bin/true; wait; done'])
    seen = 0
    for _ in range(4):
        rec = live.attach('-a', '-d', '0.5', lossy=True)
        lives = {}
        for t in rec.threads:
            lives.setdefault(t.tid, []).append((t.begin, t.end))
        for tid, spans in lives.items():
            spans.sort()
            for (_, end), (begin, _) in zip(spans, spans[1:]):
                check(end <= begin, 'thread %d lives twice at once: %s', tid, spans)
        seen += len(lives)
    check(seen > 50, 'only %d threads', seen)
    live.kill_tree(forker.pid)
