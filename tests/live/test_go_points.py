# SPDX-License-Identifier: (LGPL-2.1 OR BSD-2-Clause)
"""Choke points of Go programs, by version of Go and by how they are built: counts, arguments, parents, waits.

The program (tests/lib/go/points) says what it called how often and how it waited; the rest follows from its source.
"""
import json
import os
import re
import subprocess

from live import check
from test_go import FIRST, NEWER, is_by_status, newer_program, program
from truth import Truth
from test_probes import count_is, named, op_above, probed

N = 80
FUNCTIONS = {
    'counted': '',
    'several': 'args="i int, s string" results="n int, err error" ident={s} outcome="error if err != nil, ok"',
    'grows': 'args="n int" ident={n}',
    'panics': 'args="i int" ident={i}',
    'through': '',
    'recovers': 'args="i int" ident={i}',
    'exits': 'args="i int" ident={i}',
    'migrates': '',
    'arguments': 'args="s string, b slice, n int, t ptr" ident="{s} {$arg2.len:s64} {n} {+16(t):s64}"',
    'spilled': 'args="a int, b int, c int, d int, e int, f int, g int, h int, i int, s string" ident="{a} {i} {s}"',
    'parent': 'args="i int" ident={i}',
    'child': 'args="i int" ident={i}',
}
DESCRIBE = '-e', 'main.(*inner).describe class=describe args="t ptr, prefix string" ident="{prefix}{+0(t):gostring}"'
# Kind of wait: reason, the word for it, who ends it
WAITS = {
    'mutex': ('lock', 'mutex', 'task'), 'rwlock': ('lock', 'rwlock', 'task'),
    'chan_receive': ('sync', 'chan_receive', 'task'), 'chan_close': ('sync', 'chan_receive', 'task'),
    'chan_send': ('sync', 'chan_send', 'task'), 'select': ('sync', 'chan_select', 'task'),
    'cond': ('sync', 'condvar', 'task'), 'waitgroup': ('sync', 'waitgroup', 'task'),
    'sleep': ('sleep', 'sleep', 'timer'), 'timer': ('sync', 'chan_receive', 'timer'),
    'timer_select': ('sync', 'chan_select', 'timer'), 'after_func': ('sync', 'chan_receive', 'task'),
    'network': ('io', 'socket', 'net'), 'accept': ('io', 'accept', 'net'), 'pipe': ('io', 'netpoll', 'net'),
    'deadline': ('io', 'socket', 'timer'),
    'syscall': ('sleep', 'sleep', 'timer'),         # a thread's
}

def counts(rec, called):
    ops = {}
    for name in FUNCTIONS:
        cls = 'main.' + name
        odd = {'panics': N // 2, 'through': N // 2, 'exits': N // 2}.get(name, 0)
        ops[name] = count_is(rec, cls, called[name], unwound=odd)
        check(all(o.goid for o in ops[name]), '%s: an op without goroutine', name)
    return ops


def values(rec, ops):
    every = [str(i) for i in range(N)]

    def same(name, want):
        got = sorted(o.ident for o in ops[name])
        check(got == sorted(want), '%s: idents %s', name, sorted(set(got) ^ set(want))[:5])

    same('several', ['s' + i for i in every])
    wrong = {o.ident for o in ops['several'] if o.outcome != ('error' if int(o.ident[1:]) % 4 == 1 else 'ok')}
    check(not wrong, 'outcomes of several: %s', wrong)
    for name in ('panics', 'recovers', 'exits'):
        same(name, every)
    same('arguments', ['string %s %s %s %s' % (i, i, i, i) for i in every])
    same('spilled', ['1 %s spilled %s' % (i, i) for i in every])
    check({int(o.ident) % 2 for o in ops['panics'] if o.unwound} == {1}, 'panics: others were unwound')
    described = count_is(rec, 'describe', 2 * N)
    check({o.ident for o in described} == {w + i for w in ('direct ', 'wrapped ') for i in every},
          'receivers of describe')


def nesting(rec, ops):
    for inner, outer in (('through', 'recovers'), ('panics', 'through')):
        check(all(op_above(rec, o).cls == 'main.' + outer for o in ops[inner]), '%s is not below %s', inner, outer)
    for name in ('recovers', 'exits', 'several', 'arguments'):
        check(not any(op_above(rec, o) for o in ops[name]), '%s lies below what was left', name)
    depth = {}
    for o in sorted(ops['grows'], key=lambda o: o.start):
        up = op_above(rec, o)
        if up and up.cls == 'main.grows':
            check(int(up.ident) == int(o.ident) + 1 and up.goid == o.goid, 'grows(%s) is below grows(%s)', o.ident,
                  up.ident)
        depth[o.ident] = depth.get(o.ident, 0) + 1
    check(depth['500'] == 20 and depth['0'] == 40, 'grows: %s at the top, %s at the bottom', depth['500'], depth['0'])
    moved = [o for o in ops['migrates'] if o.tid]
    check(moved, 'no thread is told')
    spawned = {(o.ident, op_above(rec, o).ident, op_above(rec, o).cls) for o in ops['child']}
    check(spawned == {(str(i), str(i), 'main.parent') for i in range(10)}, 'children of parents: %s', spawned)
    told = {(int(a), int(b)) for a, b in re.findall(r'^child goid=(\d+) parent=(\d+)', rec.out, re.M)}
    got = {(o.goid, op_above(rec, o).goid) for o in ops['child']}
    check(got == told, 'goroutines: %s', sorted(got ^ told))


def waits(live, rec, waker_stacks):
    offset = Truth(rec.out).offset_ns(rec)
    told = re.findall(r'^wait kind=(\w+) goid=(\d+) waker=(\d+) start=(\d+) end=(\d+)', rec.out, re.M)
    check({x[0] for x in told} == set(WAITS), 'the program waited otherwise: %s', {x[0] for x in told} ^ set(WAITS))
    for kind, goid, waker, start, end in told:
        reason, word, ctx = WAITS[kind]
        goid, waker, start, end = int(goid), int(waker), int(start) - offset, int(end) - offset
        inside = [w for w in rec.waits if w.goid == goid and w.start < end and w.end > start and
                  w.end - w.start > 10000000]
        check(len(inside) == 1, '%s: %d waits of goroutine %d: %s', kind, len(inside), goid, inside[:3])
        w = inside[0]
        check(w.reason == reason and w.kind == word, '%s: reason %s, kind %s', kind, w.reason, w.kind)
        check(start - 100000 <= w.start <= start + live.slack_ns and end - live.slack_ns <= w.end <= end + 100000,
              '%s: [%d, %d], the program says [%d, %d]', kind, w.start, w.end, start, end)
        check(w.waker_goid == (waker if ctx == 'task' else 0), '%s: woken by goroutine %s, not %s', kind, w.waker_goid,
              waker if ctx == 'task' else 'any')
        check(w.ctx == ctx, '%s: woken by %s, not %s: %s', kind, w.ctx, ctx, w)
        stack = rec.stacks.get(w.waker_stack)
        if waker_stacks is not None:
            check(bool(stack) == (ctx == 'task' and waker_stacks), '%s: the stack of who woke it: %s', kind, stack)
        check(not stack or stack.ended == 'complete' and
              any(f.startswith(('main.waits.func', 'main.timers.func')) for f in stack.frames),
              '%s: the stack of who woke it: %s', kind, stack)


CLOCK_NS = 50000        # between the program's look at its clock and what it does next, but for a switch between them


def queues(live, rec, by_status):
    """There is one P, and who has it burns 5 ms after it has woken another, or has begun one that burns.

    Where the machine lets it wait the runtime preempts it earlier.
    """
    offset = Truth(rec.out).offset_ns(rec)
    queued = re.findall(r'^queued goid=(\d+) start=(\d+) woken=(\d+) by=(\d+) end=(\d+)', rec.out, re.M)
    yielded = re.findall(r'^yielded goid=(\d+) start=(\d+) end=(\d+)', rec.out, re.M)
    check(len(queued) == 10 and len(yielded) == 10, 'the program queued %d and %d times', len(queued), len(yielded))
    errors, delays = [], []
    for goid, start, woken, by, end in queued:
        start, woken, by, end = (int(t) - offset for t in (start, woken, by, end))
        found = [w for w in rec.waits if w.goid == int(goid) and w.kind == 'chan_receive' and w.start < by and
                 w.end > woken]
        check(len(found) == 1, 'queued: %d waits: %s', len(found), found[:3])
        w = found[0]
        check(woken - CLOCK_NS <= w.wake <= by + CLOCK_NS, 'woken at %s, the program says [%d, %d]', w.wake, woken, by)
        check(end - live.slack_ns <= w.end <= end + CLOCK_NS, 'ran at %d, the program says %d', w.end, end)
        check(w.runnable == w.end - w.wake and w.blocked == w.wake - w.start, 'its parts: %s', w)
        errors.append(abs(w.runnable - (end - by)))
        delays.append(w.runnable)
    check(max(delays) > 1000000, 'nobody had to wait while another burnt 5 ms: %s', delays)
    live.figure('run-queue delay of goroutines, by the program\'s clock: off by at most %d us', max(errors) / 1000)
    for goid, start, end in yielded if by_status else ():
        start, end = int(start) - offset, int(end) - offset
        found = [w for w in rec.waits if w.goid == int(goid) and w.kind == 'runqueue' and w.end > start]
        check(found and all(w.reason == 'cpu' and w.runnable == w.end - w.start for w in found), 'yielded: %s', found)
        check(abs(found[0].start - start) < live.slack_ns and abs(max(w.end for w in found) - end) < live.slack_ns,
              'gave way [%d, %d], the program says [%d, %d]', found[0].start, found[-1].end, start, end)
        check(abs(sum(w.runnable for w in found) - (end - start)) < live.slack_ns, 'was ready for %d of %d ns',
              sum(w.runnable for w in found), end - start)


def said(text):
    """What is the same in each run."""
    return sorted(line for line in text.split('\n') if line.startswith('called'))


def options(names):
    return [x for name in names for x in ('-e', 'main.%s %s' % (name, FUNCTIONS[name]))]


def called(rec):
    return {name: int(n) for name, n in re.findall(r'^called (\w+) times=(\d+)', rec.out, re.M)}


def points(live, path, by_status, waker_stacks=None):
    rec = probed(live, [path, str(N)], *options(FUNCTIONS), *DESCRIBE, '--waker-stacks', said=said)
    runtime = {p['name'] for p in rec.summary['choke_points']['points']}
    check(('go/casgstatus' in runtime, 'go/ready' in runtime) == (by_status, not by_status), 'wakes by %s', runtime)
    ops = counts(rec, called(rec))
    values(rec, ops)
    nesting(rec, ops)
    waits(live, rec, waker_stacks)
    queues(live, rec, by_status)


def points_by(live, path, how):
    """As it is done with other releases: the runtime's functions are the same."""
    os.environ['WCBPF_GO_WAKES'] = how
    try:
        points(live, path, how == 'status')
    finally:
        del os.environ['WCBPF_GO_WAKES']


def newer(live, name, version, of='newer'):
    by_status = is_by_status(version)
    points(live, newer_program(live, name, version, of), by_status, None if by_status else wakers_are_seen(version))


def wakers_are_seen(version=None):
    """From where the runtime wakes; without a version by the system's Go."""
    if not version:
        said = subprocess.run(['go', 'version'], capture_output=True, text=True).stdout
        version = re.search(r'go(\d+\.\d+)', said).group(1)
    return tuple(map(int, version.split('.')[:2])) >= (1, 21)


def functions_of(live, path):
    """By wcbpf: name -> address."""
    rc, out, err = live.run([live.wcbpf, 'probes', '-p', path, '--json', *options(FUNCTIONS)])
    check(rc == 0, 'probes: %s', err)
    file = json.loads(out)['files'][0]
    sites = [s for p in file['points'] for s in p['sites']] + file['go_runtime']
    return {s['symbol']: s['function'] for s in sites}


def addresses(live, twin, paths):
    """Functions of stripped programs, the runtime's too, lie where nm sees those of one with symbols."""
    text = subprocess.run(['nm', twin], stdout=subprocess.PIPE, check=True, text=True).stdout
    want = {name: int(address, 16) for address, name in re.findall(r'^([0-9a-f]+) [Tt] (.+?)(?:\.abi\w+)?$', text, re.M)}
    for path in paths:
        got = functions_of(live, path)
        check(len(got) >= len(FUNCTIONS) + 6, '%s: found %s', path, sorted(got))
        wrong = [name for name in got if got[name] != want.get(name)]
        check(not wrong, '%s: not where nm has it: %s', path, wrong)


def newer_addresses(live, version):
    twin = newer_program(live, 'points', version)
    addresses(live, twin, [os.path.join(os.path.dirname(twin), 'points-' + x) for x in ('strip', 'bare', 'stripped')])


def newer_builds(live, version):
    for how in ('pie', 'external'):
        twin = newer_program(live, 'points-%s-plain' % how, version, 'newer-builds')
        addresses(live, twin, [os.path.join(os.path.dirname(twin), 'points-' + how)])
        newer(live, 'points-' + how, version, 'newer-builds')


TESTS = {name: lambda live, name=name: points(live, program(live, name, 'ops'), False, wakers_are_seen())
         for name in ('points', 'points-pie', 'points-external', 'points-bare')}
TESTS['points_by_status'] = lambda live: points_by(live, program(live, 'points-stripped', 'ops'), 'status')
for v in NEWER:
    TESTS['go%s_stripped' % v] = lambda live, v=v: newer(live, 'points-stripped', v)
    TESTS['go%s_addresses' % v] = lambda live, v=v: newer_addresses(live, v)
for v in FIRST[-1:]:
    TESTS['go%s_builds' % v] = lambda live, v=v: newer_builds(live, v)


# -- a runtime that isn't known, or isn't followed

def program_of(live, version):
    """The system's program, that says to be of another version of Go."""
    with open(program(live, 'points-stripped', 'ops'), 'rb') as f:
        bytes = bytearray(f.read())
    at = bytes.index(b'\xff Go buildinf:') + 33
    check(bytes[at:at + 4] == b'go1.', 'no version of Go at its place')
    bytes[at:at + len(version)] = version.encode()
    path = live.path('go' + version)
    with open(path, 'wb') as f:
        f.write(bytes)
    os.chmod(path, 0o755)
    return path


def is_not_followed(live, path, why):
    rec = probed(live, [path, '20'], '-e', 'main.counted', '-e', DESCRIBE[1], '--probes', 'go', lossy=True, said=said)
    ops = [o for o in rec.ops.values() if o.kind == 'call' or o.goid]
    check(not ops and not rec.goroutines, '%d ops, %d goroutines: %s', len(ops), len(rec.goroutines), ops[:2])
    check(not rec.summary['choke_points']['points'], 'probed: %s', rec.summary['choke_points']['points'])
    caveats = rec.summary['choke_points']['caveats']
    for name in ('main.counted', 'main.(*inner).describe', os.path.basename(path)):
        check([c for c in caveats if name in c and why in c], 'no caveat for %s: %s', name, caveats)
    offset = Truth(rec.out).offset_ns(rec)
    (start, end), = re.findall(r'^wait kind=syscall goid=\d+ waker=0 start=(\d+) end=(\d+)', rec.out, re.M)
    start, end = int(start) - offset, int(end) - offset
    kept = [w for w in rec.waits if w.reason == 'sleep' and w.start < end and w.end > start and w.end - w.start > 10000000]
    check(any(abs(w.start - start) < live.slack_ns and abs(w.end - end) < live.slack_ns for w in kept),
          'the sleep of a thread, [%d, %d], is not among %s', start, end, kept[:3])


def test_unknown_release(live):
    is_not_followed(live, program_of(live, 'go1.98'), "go1.98")


def test_unknown_layout(live):
    """Its code is not what this release's is known to be."""
    is_not_followed(live, program_of(live, 'go1.26'), 'lies elsewhere')


def test_without_the_runtime(live):
    """Ops are of their goroutines nevertheless, on whatever threads these run; what they wait for isn't known."""
    names = [name for name in FUNCTIONS if name != 'exits']         # whose end would not be seen
    rec = probed(live, [program(live, 'points-stripped', 'ops'), str(N)], '--probes', 'none', *options(names),
                 said=said)
    points = {p['name'] for p in rec.summary['choke_points']['points']}
    check(not any(p.startswith('go/') for p in points), 'the runtime is probed: %s', points)
    n = called(rec)
    ops = {name: count_is(rec, 'main.' + name, n[name], unwound=N // 2 if name in ('panics', 'through') else 0)
           for name in names}
    check(all(o.goid for v in ops.values() for o in v), 'an op without goroutine')
    for inner, outer in (('through', 'recovers'), ('panics', 'through')):
        check(all(op_above(rec, o).cls == 'main.' + outer for o in ops[inner]), '%s is not below %s', inner, outer)
    for o in ops['grows']:
        up = op_above(rec, o)
        check(int(o.ident) in (100 + i for i in range(20)) and up and up.cls == 'main.migrates' or o.ident == '500' or
              up and int(up.ident) == int(o.ident) + 1 and up.goid == o.goid, 'grows(%s) is below %s', o.ident, up)
    told = {int(goid) for goid in re.findall(r'^child goid=(\d+)', rec.out, re.M)}
    check({o.goid for o in ops['child']} == told, 'goroutines: %s', told)
    of_goroutines = [w for w in rec.waits if w.goid or w.parked]
    check(not of_goroutines, 'waits of goroutines: %s', of_goroutines[:3])


def test_inlined_is_told(live):
    path = program(live, 'points-stripped', 'ops')
    rec = probed(live, [path, '10'], '-e', 'main.inlined', '-e', 'main.onlyInlined', lossy=True,
                 said=said)
    check(len(named(rec, 'main.inlined')) == 10, 'inlined() called by value: %d', len(named(rec, 'main.inlined')))
    told = [line for line in rec.diagnostics.split('\n') if 'nlined' in line]
    check(any('main.inlined' in line and '1' in line for line in told), 'inlined at one place: %r', rec.diagnostics)
    check(any('main.onlyInlined' in line and 'only' in line for line in told), 'only inlined: %r', rec.diagnostics)


def test_return_probe_is_refused(live):
    path = program(live, 'points-stripped', 'ops')
    rec = probed(live, [path, '50'], '-e', 'main.grows exit=return', lossy=True, said=said)
    check(not named(rec, 'main.grows') or all(o.start == o.end for o in named(rec, 'main.grows')), 'a return probe')
    check('main.grows' in rec.diagnostics and 'return' in rec.diagnostics, 'not told: %r', rec.diagnostics)
