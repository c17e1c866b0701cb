# SPDX-License-Identifier: (LGPL-2.1 OR BSD-2-Clause)
"""Probes on functions of C and C++ programs do no harm and count exactly.

Each program is run without wcbpf first: what it prints and how it ends must be the same with its functions probed, and
the number of ops is that which the program says.
"""
import collections
import os
import re
import signal
import struct
import subprocess

import graph
from live import Skip, check, tracer_programs
from test_go import program

FUNCTIONS = ['plain', 'tail_target', 'recursive', 'several_returns', 'tail_calls', 'maybe_tail', 'by_table',
             'many_arguments', 'no_frame', 'floats', 'deep_frame', 'loops_at_entry', 'jumps_away', 'only_returns']
PROFILES = os.path.join(os.path.dirname(os.path.abspath(__file__)), 'profiles')
# So long after a recording's begin, and before its end, its probes are surely there: on an idle machine, and on any.
ATTACHED_NS, ATTACHED_NS_MAX = 20000000, 45000000
UPROBE_EVENTS = '/sys/kernel/tracing/uprobe_events'


def options(functions):
    return [word for f in functions for word in ('-e', 'program:' + f)]


def probed(live, argv, *more, lossy=False, wrap=(), said=str, **kw):
    """Runs a program without and with probes, and compares (of its output, what said() gives). Gives the recording."""
    rc, out, err = live.run(argv)
    budget = [] if '--max-overhead' in more else ['--max-overhead', '0']
    rec = live.record(argv, *budget, *more, rc=rc, lossy=lossy, wrap=wrap, **kw)
    check(said(rec.out) == said(out), 'it printed %r, with probes %r', out[-300:], rec.out[-300:])
    return rec


def named(rec, cls):
    return [o for o in rec.ops.values() if o.cls == cls and o.kind == 'call']


def op_above(rec, op):
    """The nearest op of a choke point above; None."""
    up = rec.ops.get(op.parent)
    while up and up.kind != 'call':
        up = rec.ops.get(up.parent)
    return up


def count_is(rec, cls, n, unwound=0):
    ops = named(rec, cls)
    left = [o for o in ops if o.unwound]
    check(len(ops) == n, '%s: %d ops, called %d times', cls, len(ops), n)
    check(len(left) == unwound, '%s: %d unwound, not %d', cls, len(left), unwound)
    check(not any(o.open for o in ops), '%s: an op is still open', cls)
    check(all(o.outcome == 'canceled' for o in left), '%s: unwound with outcome %s', cls, {o.outcome for o in left})
    return ops


# -- counts: CASES C46

def counts_are_exact(live, how, functions, n):
    argv = live.work('counted-%s %d' % (how, n))
    if not os.path.exists(argv[0]):
        raise Skip('no linker for ' + how)
    if not os.uname().machine == 'x86_64':
        functions = [f for f in functions if f not in ('loops_at_entry', 'jumps_away')]
    extra = [] if 'many_arguments' not in functions else [
        '-e', 'program:many_arguments ident="{$arg1:s32} {$arg6:s32} {$arg8:s32}" '
        'outcome="error if $retval < 2000, ok"']
    rec = probed(live, argv, *options(f for f in functions if not extra or f != 'many_arguments'), *extra)
    times = {name: int(v) for name, v in re.findall(r'^called (\w+) times=(\d+)', rec.out, re.M)}
    for f in functions:
        count_is(rec, f, times[f])
    if extra:
        got = {(o.ident, o.outcome) for o in named(rec, 'many_arguments')}
        want = {('%d 6 %d' % (i, i), 'error' if i + 139 + 8 * i < 2000 else 'ok') for i in range(n)}
        check(got == want, 'values of many_arguments: not %s', sorted(got ^ want)[:6])
    if 'recursive' in functions:
        depths = {}
        for o in named(rec, 'recursive'):
            depth, up = 0, op_above(rec, o)
            while up:
                depth, up = depth + 1, op_above(rec, up)
            depths[depth] = depths.get(depth, 0) + 1
        check(depths == {d: n for d in range(4)}, 'depths of recursive: %s', depths)


def add_counts():
    for how in ('pie', 'pie-O0', 'cf-O0', 'nofp'):
        yield 'counts_' + how.replace('-', '_'), lambda live, how=how: counts_are_exact(live, how, FUNCTIONS, 250)
    for how in ('no-pie', 'static', 'static-pie', 'noseparate', 'lld'):
        yield 'counts_' + how.replace('-', '_'), lambda live, how=how: counts_are_exact(
            live, how, ['plain', 'several_returns', 'tail_calls', 'by_table'], 1000)


TESTS = dict(add_counts())


# -- values

def test_bits(live):
    """Bits of numbers in memory, in registers and of results are those that the compiler put there."""
    lines = {'handled': '{+0($arg1):b4@0/32} {+0($arg1):b5@4/32} {+0(%di):b1@9/32} {+0($arg1):b22@10/32} '
             '{+8($arg1):b40@0/64} {+8($arg1):b24@40/64} {$arg2:b7@57/64}',
             'narrow': '{+0($arg1):b3@0/8} {+0($arg1):b5@3/8} {+2($arg1):b7@6/16}'}
    rec = probed(live, live.work('bits 300'), '-e', 'program:handled ident="%s" client={$retval:b5@3/8} '
                 'outcome="error if +0($arg1):b1@9/32 == 1, ok"' % lines['handled'],
                 '-e', 'program:narrow ident="%s" client={$retval:b64@0/64}' % lines['narrow'])
    for name in lines:
        said = re.findall(r'^%s (.*)' % name, rec.out, re.M)
        ops = sorted(named(rec, name), key=lambda o: o.start)
        check([o.ident for o in ops] == said, '%s: %s, not %s', name, [o.ident for o in ops][:3], said[:3])
        check(len(set(said)) > 250, 'values of %s are all the same', name)
        check([o.client for o in ops] == [s.split()[1] for s in said], 'results of %s', name)
    check([o.outcome for o in sorted(named(rec, 'handled'), key=lambda o: o.start)] ==
          ['error' if s.split()[2] == '1' else 'ok' for s in re.findall(r'^handled (.*)', rec.out, re.M)], 'outcomes')


def test_bits_by_name(live):
    """The same by the names of the fields."""
    rec = probed(live, live.work('bits 300'), '-e',
                 'program:handled ident="{p->version} {p->kind} {$arg1->urgent} {p->length} {p->wide} {p->tail}" '
                 'outcome="error if p->urgent == 1, ok" client={p->kind:s8}', '-e',
                 'program:narrow ident="{b->low} {b->high} {b->middle}"')
    for name in ('handled', 'narrow'):
        said = re.findall(r'^%s (.*)' % name, rec.out, re.M)
        ops = sorted(named(rec, name), key=lambda o: o.start)
        said = [' '.join(x.split()[:6]) for x in said]
        check([o.ident for o in ops] == said, '%s: %s, not %s', name, [o.ident for o in ops][:3], said[:3])
        check(len(set(said)) > 250, 'values of %s are all the same', name)
    handled = sorted(named(rec, 'handled'), key=lambda o: o.start)
    kinds = [int(s.split()[1]) for s in re.findall(r'^handled (.*)', rec.out, re.M)]
    check([o.client for o in handled] == [str(k - 32 if k > 15 else k) for k in kinds], 'with a sign')
    check([o.outcome for o in handled] ==
          ['error' if s.split()[2] == '1' else 'ok' for s in re.findall(r'^handled (.*)', rec.out, re.M)], 'outcomes')


# -- frames that are left otherwise: C38, C39, C42

def short_lived(ops, most_ms):
    long = [o for o in ops if o.end - o.start > most_ms * 1000000]
    check(not long, '%d ops are longer than %d ms: %s', len(long), most_ms, long[:2])


def test_untouched_memory(live):
    """A constant is known before the program has its page in memory; of what may have been written nothing is said."""
    rec = probed(live, live.work('untouched 20'), '-e', 'program:constant_work ident="{$arg1:string}" '
                 'client={+0($arg2):gostring}', '-e', 'program:data_work ident="{$arg1:string}"', '-e',
                 'program:holder_work ident="{+0(+0($arg1)):string}"', lossy=True)
    check('present 0\n' in rec.out, 'not untouched: %s', rec.out)
    constant, _ = re.search(r'^strings (\S+) (\S+)$', rec.out, re.M).groups()
    ops = count_is(rec, 'constant_work', 20)
    check({(o.ident, o.client) for o in ops} == {(constant, constant[:13])}, 'constants: %s', {o.ident for o in ops})
    check({o.ident for cls in ('data_work', 'holder_work') for o in count_is(rec, cls, 20)} == {''}, 'data')
    i = rec.summary['capture_integrity']
    check(i['lost_values'] == 40 and i['status'] == 'partial', 'integrity: %s', i)
    check('40 value(s) of choke points could not be read' in rec.diagnostics, 'said: %s', rec.diagnostics)


def test_exceptions(live):
    rec = probed(live, live.work('throws 200'), '-e', 'program:shop::till::sell class=sell',
                 '-e', 'program:shop::check class=check', '-e', 'program:shop::after class=after ident={$arg1:s32}')
    sells, checks = count_is(rec, 'sell', 201, unwound=100), count_is(rec, 'check', 200, unwound=100)
    afters = count_is(rec, 'after', 200)
    check(all(op_above(rec, o) in sells for o in checks), 'check() is not below sell()')
    check(not any(op_above(rec, o) for o in afters + sells), 'what comes after a throw lies below what was left')
    check({o.ident for o in afters} == {str(i) for i in range(200)}, 'arguments of after()')
    short_lived(sells + checks, 200)


def test_one_overload(live):
    rec = probed(live, live.work('throws 20'), '-e', 'program:shop::till::sell(double) class=sell')
    count_is(rec, 'sell', 1)


def test_cancelled_threads(live):
    for how in ('', ' exit'):
        rec = probed(live, live.work('cancels 20' + how), '-e', 'program:guarded_wait ident={$arg1:s32}')
        check('destroyed=20 free=1' in rec.out, 'said %s', rec.out)
        ops = count_is(rec, 'guarded_wait', 20, unwound=20)
        check({o.ident for o in ops} == {str(i) for i in range(1, 21)}, 'arguments: %s', {o.ident for o in ops})


def test_longjmp_and_recursion(live):
    functions = ['enters', 'leaves', 'down', 'bottom', 'interrupted', 'in_handler']
    rec = probed(live, live.work('jumps'), *options(functions))
    enters, leaves = count_is(rec, 'enters', 200, unwound=100), count_is(rec, 'leaves', 200, unwound=100)
    check(all(op_above(rec, o) in enters for o in leaves), 'leaves() is not below enters()')
    check(not any(op_above(rec, o) for o in enters), 'enters() lies below what was left')
    short_lived(enters + leaves, 200)
    down, bottom = count_is(rec, 'down', 100), count_is(rec, 'bottom', 1)
    depth, up = 0, op_above(rec, bottom[0])
    while up:
        check(up in down, 'an ancestor of bottom() is %s', up)
        depth, up = depth + 1, op_above(rec, up)
    check(depth == 100, 'bottom() is %d deep', depth)
    count_is(rec, 'interrupted', 10)
    check(all(op_above(rec, o).cls == 'interrupted' for o in count_is(rec, 'in_handler', 10)),
          'the handler on its own stack is not below what it interrupted')
    integrity = rec.summary['capture_integrity']
    check(integrity['unwound_ops'] == 200, 'unwound_ops %s', integrity['unwound_ops'])
    check(integrity['unmatched_exits'] == 0, 'unmatched_exits %s', integrity['unmatched_exits'])


# -- names that are more, or less, than one function: C43, C44

def test_versions_of_one_name(live):
    for how in ('default', 'old'):
        argv = live.work('condversions %s 100' % how)
        rec = probed(live, argv, '-e', 'libc:pthread_cond_wait role=wait reason=sync resource=cond:{$arg1:ptr}')
        waits = [w for w in rec.waits if w.ident.startswith('cond:')]
        n = int(re.search(r'waits=(\d+)', rec.out).group(1))
        check(len(waits) == n, '%s: %d waits, %d calls', how, len(waits), n)
        check({w.reason for w in waits} == {'sync'}, 'reasons: %s', {w.reason for w in waits})
    rec = probed(live, argv, '--probes', 'pthread', lossy=True)
    waits = [w for w in rec.waits if w.ident.startswith('condvar:')]
    check(len(waits) == n, 'profile pthread: %d waits, %d calls', len(waits), n)


def test_indirect_functions(live):
    rec = probed(live, live.work('indirect'), '-e', 'scaled', '-e', 'libc:memcpy', lossy=True)
    for name in ('scaled', 'memcpy'):
        n = len(named(rec, name))
        told = [line for line in (rec.diagnostics or '').split('\n') if name in line and 'IFUNC' in line]
        check(n >= 1000 or (n == 0 and told), '%s: %d ops, and %r', name, n, rec.diagnostics)


def test_missing_is_told(live):
    rec = probed(live, live.work('counted-pie 10'), '-e', 'no_such_function', '-e', 'plain', lossy=True)
    caveats = rec.summary['choke_points']['caveats']
    check([c for c in caveats if 'no_such_function' in c], 'caveats: %s', caveats)
    check('no_such_function' in rec.diagnostics, 'diagnostics: %r', rec.diagnostics)
    count_is(rec, 'plain', int(re.search(r'^called plain times=(\d+)', rec.out, re.M).group(1)))


def test_relative_path(live):
    """A program that is named from where it lies, or by a link, has its probes before its first call."""
    os.symlink(live.work('counted-pie')[0], live.path('link'))
    for name in ('./counted-pie', live.path('link')):
        rec = live.record([name, '50'], '--max-overhead', '100%', '-e', 'plain', cwd=live.workloads, rc=3)
        count_is(rec, 'plain', int(re.search(r'^called plain times=(\d+)', rec.out, re.M).group(1)))


def test_profile_errors_stop_it(live):
    with open(live.path('bad.profile'), 'w') as f:
        f.write('[op x]\nsymbol = plain\nkind = calls\n[op y]\nsimbol = plain\n')
    rc, _, err = live.run([live.wcbpf, 'record', '-o', live.folder(), '--probes', live.path('bad.profile'), '--',
                           'true'])
    check(rc == 125 and 'bad.profile:3' in err and 'bad.profile:5' in err, 'status %s: %s', rc, err)


# -- as they appear: children, other programs, libraries, other namespaces

def test_children_and_exec(live):
    program = live.work('counted-pie')[0]
    argv = ['sh', '-c', '"$0" 40 400; "$0" 50 400 & wait; exec "$0" 60 400', program]
    rec = probed(live, argv, '-e', 'several_returns', lossy=True)       # what ran before it was seen is told of
    by_pid = {}
    for o in count_is(rec, 'several_returns', 40 + 50 + 60):
        by_pid[o.pid] = by_pid.get(o.pid, 0) + 1
    check(sorted(by_pid.values()) == [40, 50, 60], 'by process: %s', by_pid)


def test_library_loaded_later(live):
    library = live.work('loaded.so')[0]
    rec = probed(live, live.work('loads %s 400' % library), '-e', 'loaded.so:loaded_work ident={$arg1:s32}', lossy=True)
    count_is(rec, 'loaded_work', 200)


def test_other_mount_namespace(live):
    program = live.work('counted-pie')[0]
    script = 'mount -t tmpfs none /mnt && cp "$0" /mnt/hidden && exec /mnt/hidden 100 400'
    rec = probed(live, ['unshare', '-m', 'sh', '-c', script, program], '-e', 'hidden:several_returns', lossy=True)
    count_is(rec, 'several_returns', 100)


# -- what must be refused: C40

def buildinfo(version):
    text = version.encode()
    return b'\xff Go buildinf:\x08\x02' + bytes(16) + struct.pack('B', len(text)) + text + b'\x00'


def test_go_by_buildinfo_alone(live):
    """What says that it is Go gets no return probe, whatever else it is."""
    fake, info = live.path('fake'), live.path('info')
    with open(info, 'wb') as f:
        f.write(buildinfo('go1.26.0'))
    subprocess.run(['objcopy', '--add-section', '.go.buildinfo=' + info, '--set-section-flags',
                    '.go.buildinfo=alloc,readonly,data', '--change-section-address', '.go.buildinfo=0x800000',
                    live.work('counted-no-pie')[0], fake], check=True, stderr=subprocess.DEVNULL)
    rec = probed(live, [fake, '100'], '-e', 'plain exit=return', lossy=True)
    check(not named(rec, 'plain') or all(o.end == o.start for o in named(rec, 'plain')), 'a return probe on Go')
    check('plain' in rec.diagnostics and 'Go' in rec.diagnostics, 'not told: %r', rec.diagnostics)


# -- limits, crashes, cost: C48, C50

def test_few_open_files(live):
    argv = live.work('counted-pie 100')
    p = live.record_start(argv, *options(FUNCTIONS[:8]), wrap=('bash', '-c', 'ulimit -n 24; exec "$@"', 'bash'))
    rc, err = live.wait(p, 30), live.text(p, 1)
    check(rc == 125 and 'too many open files' in err and 'ulimit -n' in err, 'status %s: %s', rc, err)
    check('called' not in live.text(p), 'the program ran')
    few = ('bash', '-c', 'ulimit -n 200; exec "$@"', 'bash')
    count_is(probed(live, argv, *options(FUNCTIONS), wrap=few), 'several_returns', 100)


def uprobe_events():
    try:
        with open(UPROBE_EVENTS) as f:
            return f.read()
    except OSError:
        return ''


def test_killed_tracer_leaves_nothing(live):
    before, events = tracer_programs(), uprobe_events()
    target = live.spawn(live.work('engine-stripped 4 30'))
    tracer = live.attach_start('-p', str(target.pid), '--probes', os.path.join(PROFILES, 'engine-c.profile'))
    live.started(tracer)
    check(target.poll() is None, 'the target has ended too early')
    os.kill(tracer.pid, signal.SIGKILL)
    check(live.wait(tracer, 10) == -signal.SIGKILL, 'not killed')
    live.nothing_left(before)
    check(uprobe_events() == events, 'uprobe_events: %s', uprobe_events())
    check(live.wait(target, 30) == 0 and '4 sessions, 30 rounds' in live.text(target), 'the target: %s',
          target.returncode)


def whole_ops(g, begin_ns, end_ns):
    """The program's own ops that began and ended between two times, as a list of what they are."""
    return [op.own() for op in g.own_ops() if not op.open and op.start > begin_ns and op.end < end_ns]


class Engine:
    """An engine stand-in that runs while it is attached to, and what was seen of it each time."""

    def __init__(self, live, argv, env):
        self.live, self.own = live, live.path('own%d.ndjson' % live.n)
        self.process = live.spawn([*argv, '4', '24'], env=dict(os.environ, ENGINE_WCPROF=self.own, **env))
        self.seen, self.margin_ns = [], ATTACHED_NS

    def attach(self, profile):
        """False: it was over before the recording was."""
        rec = self.live.attach('-p', str(self.process.pid), '--probes', profile, '--max-overhead', '0', '-d', '150ms',
                               lossy=True, strict=False, rc=None)
        if self.process.poll() is not None:
            return False
        check(rec.rc == 0 and rec.header and rec.summary, 'attach ended with %s: %s', rec.rc, rec.err)
        check(not rec.integrity['lost_ops'], 'losses: %s', rec.lost_text())
        dump = [rec.path(n) for n in ('wcprof.ndjson', 'wcprof.ndjson.gz') if os.path.exists(rec.path(n))][0]
        self.seen.append(graph.Graph(dump))
        busy = max(1, os.getloadavg()[0] / os.cpu_count())
        self.margin_ns = max(self.margin_ns, min(ATTACHED_NS * busy, ATTACHED_NS_MAX))
        return True

    def finish(self):
        """Everything it did while attached was seen, and nothing else. Gives the number of ops."""
        live, p = self.live, self.process
        check(live.wait(p, 60) == 0, 'status %s: %s', p.returncode, live.text(p, 1)[-500:])
        check('4 sessions, 24 rounds' in live.text(p), 'said %s', live.text(p))
        truth, n = graph.Graph(self.own), 0
        for g in self.seen:
            begin, end = g.begin_ns, g.begin_ns + g.end_ns
            for what, some, of in (('not seen', truth, g), ('invented', g, truth)):
                inner = collections.Counter(whole_ops(some, begin + self.margin_ns, end - self.margin_ns))
                missing = inner - collections.Counter(whole_ops(of, begin, end))
                where = ['%s, %.1f ms behind the begin and %.1f before the end' % (op, (op.start - begin) / 1e6,
                                                                                   (end - op.end) / 1e6)
                         for op in some.own_ops() if op.own() in missing and begin < op.start and op.end < end]
                check(not missing, '%d ops %s: %s', sum(missing.values()), what, '; '.join(where[:3]))
            n += sum(inner.values())
        return n


def attached_again_and_again(live, argv, profile, env):
    rounds = live.attach_rounds()
    engines, n = [], 0
    while n < rounds:
        if not engines or engines[-1].process.poll() is not None:
            check(len(engines) <= rounds, 'the program ends before it is attached to')
            engines.append(Engine(live, argv, env))
        n += engines[-1].attach(profile)
    ops = sum(e.finish() for e in engines)
    check(ops > rounds, '%d ops in %d recordings', ops, rounds)
    live.figure('%s: attached %d times, unharmed, %d ops as it says itself', os.path.basename(argv[0]), rounds, ops)


def test_attach_and_detach_c(live):
    attached_again_and_again(live, live.work('engine-stripped'), os.path.join(PROFILES, 'engine-c.profile'),
                             {'ENGINE_BURN': '2'})


def test_attach_and_detach_go(live):
    attached_again_and_again(live, [program(live, 'engine-stripped', 'ops')],
                             os.path.join(PROFILES, 'engine-go.profile'), {'ENGINE_BURN': '4', 'GOMAXPROCS': '4'})


def test_budget_detaches_the_hottest(live):
    rec = probed(live, live.work('counted-pie 60000'), '-e', 'no_frame', '-e', 'tail_target', '--max-overhead', '1%',
                 lossy=True)
    n = len(named(rec, 'no_frame'))
    check(n < 60000, 'all %d calls were recorded', n)
    check('no_frame' in rec.diagnostics, 'not told: %r', rec.diagnostics)


def test_dry_run(live):
    rc, out, err = live.run([live.wcbpf, 'record', '-o', live.folder(), '--dry-run', '-e', 'plain', '--',
                             *live.work('counted-pie 10')])
    check(rc == 0 and 'plain' in out + err and 'called' not in out, 'status %s: %s%s', rc, out, err)
