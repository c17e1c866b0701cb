# SPDX-License-Identifier: (LGPL-2.1 OR BSD-2-Clause)
"""Choke points of Go programs, by version of Go and by how they are built: counts, arguments, parents, waits.

The program (tests/lib/go/points) says what it called how often and how it waited; the rest follows from its source.
"""
import re
import subprocess

from live import check
from test_go import NEWER, newer_program, program
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
# Kind of wait: reason, the word for it (None: any), does a goroutine wake it?
WAITS = {
    'mutex': ('lock', 'mutex', True), 'rwlock': ('lock', 'rwlock', True),
    'chan_receive': ('sync', 'chan_receive', True), 'chan_close': ('sync', 'chan_receive', True),
    'chan_send': ('sync', 'chan_send', True), 'select': ('sync', 'chan_select', True),
    'cond': ('sync', 'condvar', True), 'waitgroup': ('sync', 'waitgroup', True), 'sleep': ('sleep', 'sleep', False),
    'network': ('io', None, False),
    'syscall': ('sleep', 'sleep', False),
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
    for kind, goid, waker, start, end in re.findall(
            r'^wait kind=(\w+) goid=(\d+) waker=(\d+) start=(\d+) end=(\d+)', rec.out, re.M):
        reason, word, by_goroutine = WAITS[kind]
        goid, waker, start, end = int(goid), int(waker), int(start) - offset, int(end) - offset
        inside = [w for w in rec.waits if w.goid == goid and w.start < end and w.end > start and
                  w.end - w.start > 10000000]
        check(len(inside) == 1, '%s: %d waits of goroutine %d: %s', kind, len(inside), goid, inside[:3])
        w = inside[0]
        check(w.reason == reason and (not word or w.kind == word), '%s: reason %s, kind %s', kind, w.reason, w.kind)
        check(start - 100000 <= w.start <= start + live.slack_ns and end - live.slack_ns <= w.end <= end + 100000,
              '%s: [%d, %d], the program says [%d, %d]', kind, w.start, w.end, start, end)
        check(w.waker_goid == (waker if by_goroutine else 0), '%s: woken by goroutine %s, not %s', kind, w.waker_goid,
              waker if by_goroutine else 'any')
        stack = rec.stacks.get(w.waker_stack)
        check(bool(stack) == (by_goroutine and waker_stacks) and (not stack or ('main.waits.func2' in stack.frames and
                                                             stack.ended == 'complete')),
              '%s: the stack of who woke it: %s', kind, stack)
        if kind == 'sleep':
            check(w.ctx == 'timer', 'sleep: woken by %s', w.ctx)


def said(text):
    """What is the same in each run."""
    return sorted(line for line in text.split('\n') if line.startswith('called'))


def points(live, path, waker_stacks=True):
    options = [x for name, more in FUNCTIONS.items() for x in ('-e', 'main.%s %s' % (name, more))]
    rec = probed(live, [path, str(N)], *options, *DESCRIBE, '--waker-stacks', said=said)
    called = {name: int(n) for name, n in re.findall(r'^called (\w+) times=(\d+)', rec.out, re.M)}
    ops = counts(rec, called)
    values(rec, ops)
    nesting(rec, ops)
    waits(live, rec, waker_stacks)
    return rec


def wakers_are_seen():
    """From where the runtime wakes; by the system's Go."""
    said = subprocess.run(['go', 'version'], capture_output=True, text=True).stdout
    return tuple(map(int, re.search(r'go(\d+)\.(\d+)', said).groups())) >= (1, 21)


TESTS = {name: lambda live, name=name: points(live, program(live, name, 'ops'), waker_stacks=wakers_are_seen())
         for name in ('points', 'points-pie', 'points-external', 'points-bare')}
TESTS.update({'points-go' + version: lambda live, version=version: points(
    live, newer_program(live, 'points-stripped', version)) for version in NEWER})


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
