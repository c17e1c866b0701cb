#!/usr/bin/env python3
# SPDX-License-Identifier: (LGPL-2.1 OR BSD-2-Clause)
"""
Exports against readers that are not ours, and against what the dumps come to when read here, without wcbpf.

    run.py WCBPF [PART OF A TEST'S NAME]

Who checks what: perfetto: protoc, by the public schema (perfetto.proto), then the trace processor's rules of nesting,
interning and thread states, written anew; pprof: go tool pprof; folded: awk and flamegraph.pl; firefox
and otlp: their rules, written anew from the formats' own definitions; svg: an XML parser.
"""

import html
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
import xml.etree.ElementTree as ElementTree

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path[:0] = [HERE, os.path.join(HERE, '..', 'check')]

import dump
import firefox_check
import folded_check
import otlp_check
import perfetto_check
import pprof_check
from tap import Tap

GOLDEN = os.path.join(HERE, '..', 'golden')


class Run:
    def __init__(self, wcbpf, folder):
        self.wcbpf = wcbpf
        self.folder = folder
        self.made = 0

    def __call__(self, args, code=0, **options):
        r = subprocess.run([self.wcbpf] + args, stdin=subprocess.DEVNULL, capture_output=True, timeout=120, cwd=self.folder,
                           **options)
        if r.returncode != code:
            raise AssertionError('%s: exit %d: %s' % (' '.join(args), r.returncode, r.stderr.decode('utf-8', 'replace')))
        return r

    def simulated(self, seed, merge=False, **options):
        path = os.path.join(self.folder, 'sim%d.ndjson' % seed)
        made = dump.Maker(seed, **options)
        if merge:
            made.merge()
        made.write(path)
        return path, dump.Dump(path)

    def export(self, format_, path, *options):
        self.made += 1
        out = os.path.join(self.folder, 'out%d.%s' % (self.made, format_))
        self(['export', '-q', '-f', format_, '-o', out, *options, path])
        return out

    def picture(self, verb, path, *options):
        self.made += 1
        out = os.path.join(self.folder, 'out%d.%s' % (self.made, verb))
        self([verb, '-q', '-o', out, *options, path])
        return out


def expect(what, got, expected):
    return [] if got == expected else ['%s: %r, expected %r' % (what, got, expected)]


def golden(name):
    return os.path.join(GOLDEN, name + '.ndjson')


# ---- perfetto ----

def perfetto_simulated(run):
    problems = []
    for seed in range(4):
        path, d = run.simulated(seed, cpu_n=1 + seed)
        r = run(['export', '--json', '-f', 'perfetto', '-o', 'trace', path])
        problems += expect('runs without a CPU', json.loads(r.stdout)['virtual_runs'], 0)
        trace = perfetto_check.Trace(os.path.join(run.folder, 'trace'))
        problems += perfetto_check.compare(trace, d)
        problems += perfetto_slices(trace, d)
        problems += expect('samples', sorted((t - d.epoch, tid) for t, tid, _ in trace.samples),
                           sorted((t, s['tid']) for s in d.samples for t in s['at']))
        for _, _, stack in trace.samples:
            problems += expect('stack of a sample', stack in [d.frames(s)[::-1] for s in (1, 5)], True)
    return problems


def perfetto_slices(trace, d):
    """Each op but those of whole threads, and each wait, is one slice; flows are the wakes by threads that are there."""
    problems = []
    thread_ops = {t['op'] for t in d.threads}
    ops = sorted((o['s'], o['d'], d.string(o['c'])) for o in d.ops if o['id'] not in thread_ops)
    problems += expect('ops', sorted((s['start'] - d.epoch, s['end'] - d.epoch, s['name']) for s in trace.slices
                                     if s['category'] == 'op'), ops)
    waits = sorted((w['s'], w['d'], d.blocked(w), d.runnable(w), w['rs']) for w in d.waits)
    problems += expect('waits', sorted((s['start'] - d.epoch, s['end'] - d.epoch, s['args']['blocked_ns'], s['args']['runnable_ns'],
                                        s['args']['reason']) for s in trace.slices if s['category'] == 'wait'), waits)
    tids = {t['tid'] for t in d.threads}
    wakes = sorted((w['wake_ns'], w['waker_tid'], w['tid']) for w in d.waits if w.get('waker_tid') in tids)
    tid = {uuid: t['thread'][0]['tid'][0] for uuid, t in trace.tracks.items() if t['thread']}
    begins = {f: (time, tid[track]) for f, time, track, begin in trace.flows if begin}
    ends = {f: (time, tid[track]) for f, time, track, begin in trace.flows if not begin}
    problems += expect('flows', sorted((begins[f][0] - d.epoch, begins[f][1], ends[f][1]) for f in begins), wakes)
    problems += expect('flows end when woken', {f: begins[f][0] for f in begins}, {f: ends[f][0] for f in ends})
    by_start = {w['s']: w for w in d.waits}
    for s in trace.slices:
        if s['category'] == 'wait' and s['stack']:
            w = by_start.get(s['start'] - d.epoch)
            if w and [x['s'] for x in d.waits].count(w['s']) == 1:
                stack = [n for key in ('ustack', 'kstack') if key in w for n in stack_names(d, w[key])]
                if stack != s['stack']:
                    problems.append('stack %s, expected %s' % (s['stack'], stack))
                    break
    return problems


def stack_names(d, sid):
    """Root first, as wcbpf names what has no name, and what is missing."""
    s = d.stacks[sid]
    names = []
    paths = {e['mid']: e['path'] for e in d.events if e['e'] == 'module'}
    for module, address, name in s['frames']:
        path = paths[module].rsplit('/', 1)[-1]
        names.append(d.string(name) if name else '[%s+0x%x]' % (path, address))
    return ([] if s['ended'] == 'complete' else ['[incomplete]']) + names[::-1]


def perfetto_merged(run):
    """Waits in which the thread ran meanwhile: its times are the dump's all the same."""
    path, d = run.simulated(9, merge=True)
    trace = perfetto_check.Trace(run.export('perfetto', path))
    return (expect('there are some', any(w.get('oncpu_ns') for w in d.waits), True) + perfetto_check.compare(trace, d) +
            perfetto_slices(trace, d))


def goroutines(run):
    """A goroutine is a track of its own, its thread's time is told once, its parked time in a view of its own."""
    path = os.path.join(run.folder, 'go.ndjson')
    strings = ['', 'main.serve', 'chan_receive', 'request', 'handle', '1:5']
    lines = [dict(schema_version=1, epoch_unix_nano=10 ** 18, dumped_unix_nano=10 ** 18 + 1000, dropped_events=0, event_count=7,
                  strings=strings),
             dict(e='op', k='exec', id=1, c=4, i=5, cl=5, s=0, d=1000, pid=1, tid=1),
             dict(e='op', k='call', id=2, c=3, s=120, d=800, pid=1, tid=1, goid=7),
             dict(e='thread', pid=1, tid=1, comm='m', begin_ns=0, end_ns=1000, oncpu_ns=900, runnable_ns=20, blocked_ns=80, lost_ns=0),
             dict(e='thread', pid=1, tid=1, goid=7, comm='main.serve', begin_ns=100, end_ns=900),
             dict(e='wait', rs='sync', wait_kind=2, p=2, s=200, d=350, pid=1, tid=1, goid=7, parked=1, blocked_ns=100, runnable_ns=50,
                  wake_ns=300),
             dict(e='wait', rs='io', p=2, s=500, d=600, pid=1, tid=1, goid=7, blocked_ns=80, runnable_ns=20, wake_ns=580)]
    with open(path, 'w', encoding='utf-8') as f:
        f.write(''.join(json.dumps(line) + '\n' for line in lines))
    d = dump.Dump(path)
    trace = perfetto_check.Trace(run.export('perfetto', path))
    problems = perfetto_check.compare(trace, d)
    tracks = {u: (t['name'] or [b''])[0].decode() for u, t in trace.tracks.items()}
    problems += expect('on its track', sorted((tracks[s['track']], s['name'], s['depth']) for s in trace.slices if s['depth'] or
                                              s['name'] == 'request'),
                       [('goroutine 7 main.serve', 'chan_receive', 1), ('goroutine 7 main.serve', 'io', 1),
                        ('goroutine 7 main.serve', 'request', 0)])
    for view, total in (('goroutines', 100), ('offcpu', 80), ('wall', 1000)):
        lines, found = folded_check.read(run.export('folded', path, '--view', view))
        problems += found + expect(view, sum(v for _, v in lines), total)
    profile = firefox_check.load(run.export('firefox', path))
    problems += firefox_check.Check(profile).problems
    problems += expect('time on the CPU', {t['tid']: round(sum(t['samples']['threadCPUDelta']) * 1e3) for t in profile['threads']},
                       {'1': 900, 'goid 7': 0, 'ops of 1': 0})
    return problems


def perfetto_others(run):
    """Dumps of all sorts: of the engine, without CPUs, cut, hostile."""
    problems = []
    for name in ('app', 'sampled', 'engine', 'idle', 'hostile', 'damaged'):
        trace = perfetto_check.Trace(run.export('perfetto', golden(name)))
        trace.thread_states()
        problems += ['%s: %s' % (name, p) for p in trace.problems]
    return problems


def critical_path(run):
    """One stretch after another without a gap, the same in all that show it; and each where its thread did just that."""
    problems = []
    for path, d in (run.simulated(3), run.simulated(0, cpu_n=1), run.simulated(2, wait_n=3000)):
        with open(run.picture('timeline', path), encoding='utf-8') as f:
            stretches = unpack(re.search(r'id="data">\n(.*?)</script>', f.read(), re.S).group(1))['path']
        begin, end = stretches[0][0], stretches[-1][1]
        problems += expect('gaps', [(a, b) for a, b in zip(stretches, stretches[1:]) if a[1] != b[0]], [])
        problems += expect('begin', begin, min(t['begin_ns'] for t in d.threads))
        problems += expect('end', d.length * 0.9 < end <= d.length, True)
        lines, found = folded_check.read(run.export('folded', path, '--view', 'path'))
        problems += found + expect('folded', sum(v for _, v in lines), end - begin)
        _, boxes = svg_boxes(run.picture('flamegraph', path, '--view', 'path'))
        problems += expect('flamegraph', max(b[5] for b in boxes), end - begin)
        trace = perfetto_check.Trace(run.export('perfetto', path))
        problems += trace.problems + expect('perfetto', sorted((s['start'] - d.epoch, s['end'] - d.epoch) for s in trace.slices
                                                               if s['category'] == 'path'), [s[:2] for s in stretches])
        # Simulated wakes come when they come, not when the waker is done: where the replay has no wait, the recording may.
        wrong = sum(stop - start - in_state(d, tid, start, stop, state) for start, stop, tid, state in stretches)
        problems += expect('%.1f%% lie where the thread did something else' % (100 * wrong / (end - begin)), wrong < 0.05 * (end - begin), True)
    return problems


def in_state(d, tid, start, stop, state):
    """For how long of it the thread did that."""
    blocked = runnable = 0
    for w in d.waits:
        if w['tid'] == tid and w['s'] < stop and w['d'] > start:
            ready = w['s'] + d.blocked(w)
            blocked += max(0, min(stop, ready) - max(start, w['s']))
            runnable += max(0, min(stop, w['d']) - max(start, ready))
    return {'on CPU': stop - start - blocked - runnable, 'runnable': runnable, 'blocked': blocked}.get(state, stop - start)


def perfetto_overlaps(run):
    """Ops that are no thread's: each is on a track where it lies within its parent or alone."""
    path, d = run.simulated(7)
    trace = perfetto_check.Trace(run.export('perfetto', path))
    loose = [s for s in trace.slices if s['name'] == 'loose']
    parents = {(o['s'], o['d']): o['p'] for o in d.ops if d.string(o['c']) == 'loose'}
    by_id = {o['id']: o for o in d.ops}
    problems = []
    for s in loose:
        around = [x for x in loose if x['track'] == s['track'] and x['depth'] == s['depth'] - 1 and
                  x['start'] <= s['start'] and s['end'] <= x['end']]
        parent = by_id.get(parents[s['start'] - d.epoch, s['end'] - d.epoch])
        if s['depth'] and (parent is None or (parent['s'], parent['d']) not in
                           [(x['start'] - d.epoch, x['end'] - d.epoch) for x in around]):
            problems.append('a slice within one that is not its parent: %s' % s)
    return problems + expect('lanes are used', len({s['track'] for s in loose}) > 1, True)


# ---- pprof ----

def pprof_sums(run):
    problems = []
    for path, d in [run.simulated(s) for s in range(3)] + [(golden('app'), dump.Dump(golden('app')))]:
        raw = pprof_check.raw(run.export('pprof', path))
        problems += expect('types', raw['types'], ['waits/count', 'offcpu/nanoseconds[dflt]', 'runnable/nanoseconds'])
        sums = [sum(s[0][k] for s in raw['samples']) for k in range(3)]
        problems += expect('sums', sums, [len(d.waits), sum(map(d.blocked, d.waits)), sum(map(d.runnable, d.waits))])
        problems += expect('locations', sorted({i for s in raw['samples'] for i in s[1]} - set(raw['locations'])), [])
    return problems


def pprof_top(run):
    """pprof's own sum of a function, and its order: the innermost function is flat, its callers are cumulative."""
    path = run.export('pprof', golden('app'))
    r = subprocess.run(['go', 'tool', 'pprof', '-top', '-nodefraction=0', '-unit=ms', path], capture_output=True, text=True)
    rows = {}
    for line in r.stdout.split('\n'):
        m = re.match(r'^\s*([\d.]+)(?:ms)?\s+[\d.]+%\s+[\d.]+%\s+([\d.]+)(?:ms)?\s+[\d.]+%\s+(.*)$', line)
        if m:
            rows[m.group(3)] = (float(m.group(1)), float(m.group(2)))
    # Of app.ndjson: the condition variable 1500, fsync 400, mutexes 390, the open rwlock 100, the rest without a stack.
    problems = expect('kernel leaf', rows.get('__schedule'), (2390.0, 2390.0))
    problems += expect('lock', rows.get('__lll_lock_wait'), (0.0, 390.0))
    problems += expect('no stack', rows.get('[no stack]'), (1350.0, 1350.0))
    problems += expect('main', rows.get('main'), (0.0, 1500.0))
    r = subprocess.run(['go', 'tool', 'pprof', '-top', '-tagfocus=kind=mutex', '-unit=ms', path], capture_output=True, text=True)
    return problems + expect('label', 'accounting for 390ms, 10.43% of 3740ms total' in r.stdout, True)


def pprof_inlined(run):
    """Functions that are inlined at an address are lines of one location, innermost first."""
    path = os.path.join(run.folder, 'inlined.ndjson')
    strings = ['', 'inner', 'middle', 'outer', 'main', 'a.c', 'b.c', 'app']
    lines = [dict(schema_version=1, epoch_unix_nano=10 ** 18, dumped_unix_nano=10 ** 18 + 1000, dropped_events=0, event_count=4,
                  strings=strings),
             dict(e='module', mid=1, path='/app'),
             dict(e='stack', sid=1, side='user', ended='complete', frames=[[1, 16, 1, 5, 7, 1], [1, 16, 2, 5, 8, 1],
                                                                          [1, 16, 3, 6, 9], [1, 64, 4]]),
             dict(e='thread', pid=1, tid=1, comm='app', begin_ns=0, end_ns=1000),
             dict(e='wait', rs='lock', s=0, d=500, pid=1, tid=1, blocked_ns=500, ustack=1)]
    with open(path, 'w', encoding='utf-8') as f:
        f.write(''.join(json.dumps(line) + '\n' for line in lines))
    raw = pprof_check.raw(run.export('pprof', path))
    got = [[(x.split()[0], x.split()[1].split(':')[:2]) for x in l] for l in raw['locations'].values()]
    return expect('lines', got, [[('inner', ['a.c', '7']), ('middle', ['a.c', '8']), ('outer', ['b.c', '9'])], [('main', ['', '0'])]])


# ---- folded ----

def folded_sums(run):
    problems = []
    for path, d in [run.simulated(s) for s in range(3)] + [(golden(n), dump.Dump(golden(n))) for n in ('app', 'idle', 'sampled')]:
        blocked = sum(map(d.blocked, d.waits))
        for view, total in (('offcpu', blocked), ('offwake', blocked), ('wall', sum(t['end_ns'] - t['begin_ns'] for t in d.threads))):
            out = run.export('folded', path, '--view', view)
            lines, found = folded_check.read(out)
            problems += found + expect('%s of %s' % (view, path), sum(v for _, v in lines), total)
            awk = subprocess.run(['awk', '{ s += $NF } END { printf "%.0f", s }', out], capture_output=True, text=True)
            problems += expect('awk', int(awk.stdout), total)
            problems += expect('each line once', len({tuple(f) for f, _ in lines}), len(lines))
    return problems


BRACKETS = str.maketrans('<>', '()')     # what flamegraph.pl has for angle ones


def boxes_of(lines):
    """The boxes of a flame graph, worked out from its lines: one for each stack's beginning."""
    by_prefix = {}
    for frames, v in lines:
        for n in range(len(frames)):
            by_prefix[tuple(frames[:n + 1])] = by_prefix.get(tuple(frames[:n + 1]), 0) + v
    boxes = {('all', sum(v for _, v in lines)): 1}
    for prefix, v in by_prefix.items():
        key = prefix[-1], v
        boxes[key] = boxes.get(key, 0) + 1
    return boxes


def folded_flamegraph_pl(run):
    """The tool that the format is from draws every frame, with the time that it should have, and complains of nothing."""
    problems = []
    for path in [run.simulated(4)[0], golden('app'), golden('sampled')]:
        for view in ('offcpu', 'offwake', 'wall'):
            out = run.export('folded', path, '--view', view)
            lines, _ = folded_check.read(out)
            boxes, found = folded_check.flamegraph(out)
            own = [([html.escape(f.translate(BRACKETS), quote=False).replace('"', '&quot;') for f in frames], v)
                   for frames, v in lines]
            want = boxes_of(own)
            wrong = sorted(set(boxes.items()) ^ set(want.items()))
            problems += found + expect('%s of %s' % (view, path), wrong, [])
    return problems


def folded_wakers(run):
    """Every off-wake line has a break and behind it the waker, by name; sums by waker are the dump's."""
    path, d = run.simulated(3)
    lines, problems = folded_check.read(run.export('folded', path, '--view', 'offwake'))
    got = {}
    for frames, v in lines:
        problems += expect('a break', frames[-2], '--')
        got[frames[-1]] = got.get(frames[-1], 0) + v
    timers = sum(d.blocked(w) for w in d.waits if 'waker_ctx' in w and d.string(w['waker_ctx']) == 'timer')
    problems += expect('by timers', got.get('timer'), timers)
    opened = sum(d.blocked(w) for w in d.waits if w.get('clipped', 0) & 2)
    return problems + expect('not ended', got.get('[not ended]', 0), opened)


def folded_waker_stacks(run):
    """Where the waker's stack is known, it stands behind the break, innermost first, in place of the ops it was in."""
    path = os.path.join(run.folder, 'wakers.ndjson')
    strings = ['', 'lock', 'main', 'post', 'serve', 'start_thread', 'task', 'handle']
    op = dict(e='op', k='internal', s=0, d=1000, pid=1)
    wait = dict(e='wait', rs='lock', p=1, pid=1, tid=1, ustack=1, waker_pid=1, waker_tid=2, waker_ctx=6, waker_op=3)
    lines = [dict(schema_version=1, epoch_unix_nano=10 ** 18, dumped_unix_nano=10 ** 18 + 1000, dropped_events=0, event_count=9,
                  strings=strings),
             dict(e='stack', sid=1, side='user', ended='complete', frames=[[0, 1, 1], [0, 2, 2]]),
             dict(e='stack', sid=2, side='user', ended='complete', frames=[[0, 3, 3], [0, 4, 4], [0, 5, 5]]),
             dict(op, id=1, tid=1), dict(op, id=2, tid=2), dict(op, k='call', id=3, p=2, c=7, tid=2),
             dict(e='thread', pid=1, tid=1, comm='app', op=1, begin_ns=0, end_ns=1000),
             dict(e='thread', pid=1, tid=2, comm='other', op=2, begin_ns=0, end_ns=1000),
             dict(wait, s=0, d=500, blocked_ns=500, waker_stack=2), dict(wait, s=600, d=700, blocked_ns=100)]
    with open(path, 'w', encoding='utf-8') as f:
        f.write(''.join(json.dumps(line) + '\n' for line in lines))
    with open(run.export('folded', path, '--view', 'offwake'), encoding='utf-8') as f:
        got = sorted(f.read().splitlines())
    return expect('lines', got, ['app;main;lock;--;handle;other 100', 'app;main;lock;--;post;serve;start_thread;other 500'])


def folded_states(run):
    """View wall: the leaf says what the time was, and sums by leaf are the threads' accounts."""
    problems = []
    for path, d in [run.simulated(5), (golden('sampled'), dump.Dump(golden('sampled')))]:
        lines, found = folded_check.read(run.export('folded', path, '--view', 'wall'))
        got = {}
        for frames, v in lines:
            got[frames[-1]] = got.get(frames[-1], 0) + v
        sampled = {(s['pid'], s['tid']) for s in d.samples}
        problems += found + expect('on CPU', got.get('[on-cpu]', 0), sum(t['oncpu_ns'] for t in d.threads
                                                                        if (t['pid'], t['tid']) in sampled))
        problems += expect('not sampled', got.get('[on-cpu, not sampled]', 0), sum(t['oncpu_ns'] for t in d.threads
                                                                                  if (t['pid'], t['tid']) not in sampled))
        problems += expect('blocked', got.get('[blocked]', 0), sum(map(d.blocked, d.waits)))
        problems += expect('runnable', got.get('[runnable]', 0), sum(map(d.runnable, d.waits)))
    return problems


def folded_of_ops(run):
    """
    Without threads ops are the frames: what an op does itself, and what it waits for, each at its place. a (0 to 1000) calls b
    (100 to 700), which is executed by b (100 to 650), waits 200 to 300 for a lock, and gives up waiting for c (300 to 400),
    another client's (250 to 900) that goes on; d (300 to 500) runs in a container that c hosts.
    """
    path = os.path.join(run.folder, 'ops.ndjson')
    strings = ['', 'a', 'b', 'c', 'd', 'cli', 'other', 'nested', 'cache;volume']
    op, wait, ms = dict(e='op', k='call'), dict(e='wait', p=3), 10 ** 6
    lines = [dict(schema_version=1, epoch_unix_nano=10 ** 18, dumped_unix_nano=10 ** 18 + 1000 * ms, dropped_events=0, event_count=9,
                  strings=strings),
             dict(op, id=1, c=1, cl=5, s=0, d=1000 * ms), dict(op, id=2, p=1, c=2, cl=5, s=100 * ms, d=700 * ms),
             dict(op, k='call_exec', id=3, p=2, c=2, cl=5, s=100 * ms, d=650 * ms),
             dict(op, id=4, c=3, cl=6, s=250 * ms, d=900 * ms), dict(op, id=5, c=4, cl=7, s=300 * ms, d=500 * ms),
             dict(e='link', lk='nested_client', p=4, i=7, s=0, d=0), dict(wait, p=2, t=3, rs='call_exec', s=100 * ms, d=650 * ms),
             dict(wait, rs='lock', i=8, s=200 * ms, d=300 * ms), dict(wait, rs='singleflight', t=4, s=300 * ms, d=400 * ms)]
    with open(path, 'w', encoding='utf-8') as f:
        f.write(''.join(json.dumps(line) + '\n' for line in lines))

    def export(view):
        with open(run.export('folded', path, '--view', view), encoding='utf-8') as f:
            return {line.rsplit(' ', 1)[0]: int(line.rsplit(' ', 1)[1]) / ms for line in f.read().splitlines()}

    lock, gave_up, joined = 'cli;a;b;b (call_exec);[lock];cache\\x3bvolume', 'cli;a;b;b (call_exec);[singleflight];c', 'cli;a;b;[call_exec];b'
    waits = {lock: 100, gave_up: 100, joined: 550}
    wall = dict({'cli;a;[self]': 400, 'cli;a;b;[self]': 50, 'cli;a;b;b (call_exec);[self]': 350, 'other;c;[self]': 450,
                 'other;c;d;[self]': 200}, **waits)
    problems = expect('wall', export('wall'), wall)
    problems += expect('offcpu', export('offcpu'), waits)
    raw = pprof_check.raw(run.export('pprof', path))
    got = {tuple(re.match(r' *(.*?) :0', raw['locations'][i][0]).group(1) for i in s[1]): s[0] for s in raw['samples']}
    problems += expect('pprof', got, {
        ('cache;volume', '[lock]', 'b', 'b', 'a'): [1, 100 * ms, 0], ('c', '[singleflight]', 'b', 'b', 'a'): [1, 100 * ms, 0],
        ('b', '[call_exec]', 'b', 'a'): [1, 550 * ms, 0]})
    return problems + expect('offwake', export('offwake'), {
        lock + ';--;[waker unknown]': 100, gave_up + ';--;[given up]': 100, joined + ';--;b (call_exec);b;a': 550})


# ---- firefox ----

def firefox_rules(run):
    problems = []
    for path in [run.simulated(s)[0] for s in range(3)] + [golden(n) for n in ('app', 'sampled', 'engine', 'idle', 'hostile')]:
        problems += ['%s: %s' % (path, p) for p in firefox_check.Check(firefox_check.load(run.export('firefox', path))).problems]
    return problems


def firefox_sums(run):
    """Weights by category are times by reason; weights sum to lives, threadCPUDelta to time on the CPU."""
    problems = []
    categories = {'lock': 'Lock', 'io': 'I/O', 'sync': 'Sync', 'sleep': 'Sleep', 'poll': 'Poll'}
    for seed in range(3):
        path, d = run.simulated(seed)
        profile = firefox_check.load(run.export('firefox', path))
        weights = firefox_check.weights(profile)
        cpu = {(t['pid'], t['tid']): sum(t['samples']['threadCPUDelta']) for t in profile['threads']}
        for t in d.threads:
            key = (str(t['pid']), str(t['tid']))
            mine = {c: n for (p, tid, c), n in weights.items() if (p, tid) == key}
            waits = [w for w in d.waits if w['tid'] == t['tid']]
            for reason, category in categories.items():
                problems += expect('%s %s' % (key, category), mine.get(category, 0),
                                   sum(d.blocked(w) for w in waits if w['rs'] == reason))
            problems += expect('%s runnable' % (key,), mine.get('Runnable', 0), sum(map(d.runnable, waits)))
            problems += expect('%s life' % (key,), sum(mine.values()), t['end_ns'] - t['begin_ns'])
            problems += expect('%s CPU' % (key,), round(cpu[key] * 1e3), t['oncpu_ns'])
    return problems


def firefox_stacks(run):
    """Each wait's stack, function by function with the library that it is of: two libraries share none."""
    path, d = run.simulated(4)
    profile = firefox_check.load(run.export('firefox', path))
    libs = {e['mid']: e['path'].rsplit('/', 1)[-1] for e in d.events if e['e'] == 'module'}
    got = {}
    for t in profile['threads']:
        for i, stack in enumerate(t['samples']['stack']):
            key = (t['tid'], round(t['samples']['time'][i] * 1e6), round(t['samples']['weight'][i] * 1e6))
            frames = []
            while stack is not None:
                func = t['frameTable']['func'][t['stackTable']['frame'][stack]]
                resource = t['funcTable']['resource'][func]
                lib = profile['libs'][t['resourceTable']['lib'][resource]]['name'] if resource >= 0 else ''
                frames.append((lib, t['stringArray'][t['funcTable']['name'][func]]))
                stack = t['stackTable']['prefix'][stack]
            got[key] = frames
    problems = []
    for w in d.waits:
        expected = []
        for key in ('kstack', 'ustack'):
            s = d.stacks[w[key]] if key in w else {'frames': [], 'ended': 'complete'}
            expected += [(libs[m], d.string(name) or '0x%x' % a) for m, a, name in s['frames']]
            expected += [] if s['ended'] == 'complete' else [('', '[incomplete]')]
        if d.blocked(w):
            problems += expect('stack', got.get((str(w['tid']), w['s'], d.blocked(w))), expected or [('', '[no stack]')])
    return problems


def firefox_script(run):
    """A script for samply's profiles: self time on the CPU by threadCPUDelta, whatever waits weigh."""
    top = firefox_check.top_self(firefox_check.load(run.export('firefox', golden('sampled'))), 'threadCPUDelta')
    d = dump.Dump(golden('sampled'))
    expected = {}
    for t in d.threads:
        samples = [s for s in d.samples if s['tid'] == t['tid']]
        for s in samples:
            _, address, name = d.stacks[s.get('kstack') or s['ustack']]['frames'][0][:3]
            name = d.string(name) or '0x%x' % address
            expected[name] = expected.get(name, 0) + t['oncpu_ns'] * s['samples'] / sum(x['samples'] for x in samples)
        if not samples:
            expected['[on-cpu, not sampled]'] = expected.get('[on-cpu, not sampled]', 0) + t['oncpu_ns']
    return expect('self', {key[1]: round(v / 1e3) for key, v in top.items() if v}, {k: round(v / 1e6) for k, v in expected.items()})


def firefox_reused(run):
    """A pid that was used again is another process."""
    d = dump.Maker(2)
    path = os.path.join(run.folder, 'reused.ndjson')
    key = d.string('100:9999')
    d.op(k='exec', w='user', o='ok', p=0, c=d.string('again'), i=key, cl=key, s=d.end - 50, d=d.end, pid=100, exit_status=0)
    d.write(path)
    profile = firefox_check.load(run.export('firefox', path))
    return expect('pids', {t['pid'] for t in profile['threads'] if t['pid'].startswith('100')}, {'100', '100.1'})


# ---- otlp ----

def otlp_rules(run):
    problems = []
    for path in [run.simulated(s)[0] for s in range(3)] + [golden(n) for n in ('app', 'engine', 'idle', 'hostile')]:
        with open(run.export('otlp', path), encoding='utf-8') as f:
            problems += otlp_check.read(json.load(f))[1]
    return problems


def otlp_content(run):
    path, d = run.simulated(1)
    with open(run.export('otlp', path), encoding='utf-8') as f:
        spans, problems = otlp_check.read(json.load(f))
    problems += expect('spans', sorted((int(i, 16), s['start'] - d.epoch, s['end'] - d.epoch, s['name'], s['attributes']['wcprof.op.kind'],
                                        s['attributes']['wcprof.work_type'], int(s['parent'] or '0', 16)) for (_, i), s in spans.items()),
                       sorted((o['id'], o['s'], o['d'], d.string(o['c']), o['k'], o['w'], o['p']) for o in d.ops))
    links = sorted((int(i, 16), int(a['wcprof.wait.start_unix_ns']) - d.epoch, int(a['wcprof.wait.end_unix_ns']) - d.epoch,
                    a['wcprof.wait.reason'], a.get('wcprof.wait.ident', '')) for (_, i), s in spans.items() for _, a in s['links'])
    problems += expect('waits', links, sorted((w['p'], w['s'], w['d'], w['rs'], d.string(w.get('i', 0))) for w in d.waits))
    problems += expect('errors', {int(i, 16) for (_, i), s in spans.items() if s['status'] == 2},
                       {o['id'] for o in d.ops if o.get('o') == 'error'})
    return problems


def otlp_engine(run):
    """
    Joins lead to the span that was awaited; waits for a resource to none. Op 4011 has a span of its own, in a trace of its
    own: it has those ids, what is below it is in that trace, and what is above is linked to.
    """
    with open(run.export('otlp', golden('engine')), encoding='utf-8') as f:
        spans, problems = otlp_check.read(json.load(f))
    own = ('00112233445566778899aabbccddeeff', '0011223344556677')
    ids = {('own' if key == own else int(key[1], 16)): s for key, s in spans.items()}
    name = {key: 'own' if key == own else int(key[1], 16) for key in list(spans) + [otlp_check.NONE]}
    problems += expect('spans', sorted(map(str, ids)), ['4010', '4012', '77', 'own'])
    links = {(o, a.get('wcprof.wait.reason'), a.get('wcprof.wait.ident')): name[target]
             for o, s in ids.items() for target, a in s['links']}
    problems += expect('links', links, {
        ('own', 'singleflight', None): 4012, ('own', 'lock', 'core.lazyGroupOnce.mu'): 0, ('own', 'lock', '/root/.cache'): 0,
        (4010, 'call_exec', None): 'own', ('own', None, None): 4010})
    problems += expect('trace of what is below', [k[0] for k in spans if name[k] == 4012], [own[0]])
    return problems + expect('parents', (ids[4012]['parent'], ids['own']['parent']), (own[1], None))


# ---- pictures ----

SVG = '{http://www.w3.org/2000/svg}'


def svg_boxes(path):
    """(title's name, x, y, width, ns) of each; XML that doesn't parse raises."""
    root = ElementTree.parse(path).getroot()
    boxes = []
    for g in root.iter(SVG + 'g'):
        if 'data-d' in g.attrib:
            rect, title = g.find(SVG + 'rect'), g.find(SVG + 'title').text
            boxes.append((title.rsplit(' (', 1)[0], float(rect.get('x')), float(rect.get('y')), float(rect.get('width')),
                          int(g.get('data-t')), int(g.get('data-d'))))
    return root, boxes


def svg_geometry(run):
    """Each box lies on its caller, side by side, as wide as its time."""
    problems = []
    for path, d in [run.simulated(s) for s in range(2)] + [(golden('app'), dump.Dump(golden('app')))]:
        root, boxes = svg_boxes(run.picture('flamegraph', path, '--all', '--view', 'offcpu'))
        total = sum(map(d.blocked, d.waits))
        problems += expect('all', [b[5] for b in boxes if b[0] == 'all' and b[4] == 0][0], total)
        rows = {}
        for b in boxes:
            rows.setdefault(b[2], []).append(b)
            problems += expect('width of ' + b[0], abs(b[3] - b[5] / total * 1180) < 0.02, True)
        lowest = max(rows)
        for y, row in rows.items():
            row.sort(key=lambda b: b[4])
            for a, b in zip(row, row[1:]):
                problems += expect('boxes of a row do not overlap', a[4] + a[5] <= b[4], True)
            for b in row if y != lowest else []:
                under = [u for u in rows.get(y + 17, []) if u[4] <= b[4] and b[4] + b[5] <= u[4] + u[5]]
                problems += expect('what %s stands on' % b[0], len(under), 1)
    return problems[:10]


def svg_names(run):
    """Names of the target stay text, whatever is in them; nothing is loaded from elsewhere."""
    problems = []
    for path in (run.simulated(0)[0], golden('hostile')):
        out = run.picture('flamegraph', path, '--all', '--view', 'offcpu')
        root, boxes = svg_boxes(out)
        scripts = list(root.iter(SVG + 'script'))
        problems += expect('scripts', len(scripts), 1)
        elements = {e.tag.replace(SVG, '') for e in root.iter()}
        problems += expect('elements', elements <= {'svg', 'title', 'style', 'rect', 'text', 'g', 'script'}, True)
        with open(out, encoding='utf-8') as f:
            text = f.read()
        text = text.replace('http://www.w3.org/2000/svg', '')
        problems += expect('addresses', re.findall(r'(?:https?:|href|@import|url\()', text), [])
        problems += expect('control characters', re.findall(r'[\x00-\x08\x0b-\x1f\x7f]', text), [])
    path, d = run.simulated(0)
    names = {b[0] for b in svg_boxes(run.picture('flamegraph', path, '--all', '--view', 'offcpu'))[1]}
    used = {d.string(f[2]) for s in d.stacks.values() for f in s['frames'] if any(s['sid'] in (w.get('ustack'), w.get('kstack'))
                                                                                 for w in d.waits if d.blocked(w))}
    for name in used - {''}:
        shown = re.sub(r'[\x00-\x1f\x7f]', lambda m: '\\x%02x' % ord(m.group(0)), name)
        problems += expect(repr(name), shown in names, True)
    return problems + expect('hostile names', len(used & {'<script>alert(1)</script>', ']]>', 'q"uote\'s', '&amp;', '</script>'}) > 2, True)


def svg_pruned(run):
    """What is too narrow is not drawn, and told."""
    d = dump.Maker(4, wait_n=60)
    path = os.path.join(run.folder, 'long.ndjson')
    t = d.threads[0]
    d.end += 10 ** 13
    for x in d.threads:
        x['end'] = d.end
    d.write_checked = None
    t['waits'].append(dict(e='wait', rs='sleep', p=t['op']['id'], s=d.end - 10 ** 13, d=d.end, pid=t['pid'], tid=t['tid'],
                           blocked_ns=10 ** 13, ustack=1))
    for x in d.threads[1:]:
        x['oncpu'] += 10 ** 13
    d.write(path)
    r = run(['flamegraph', '--json', '--all', '--view', 'offcpu', '-o', 'pruned.svg', path])
    told = json.loads(r.stdout)
    _, boxes = svg_boxes(os.path.join(run.folder, 'pruned.svg'))
    problems = expect('pruned', told['pruned_frames'] > 0 and told['pruned_ns'] > 0, True)
    with open(os.path.join(run.folder, 'pruned.svg'), encoding='utf-8') as f:
        problems += expect('told', '%d frames narrower than' % told['pruned_frames'] in f.read(), True)
    return problems + expect('drawn', min(b[3] for b in boxes) >= 0.1, True)


def svg_idle(run):
    """Idle waits are left out, and told; --all shows them."""
    problems = []
    d = dump.Dump(golden('app'))
    idle = {'condvar', 'epoll'}
    busy = sum(d.blocked(w) for w in d.waits if d.string(w.get('wait_kind', 0)) not in idle)
    for options, total in ((['--all'], sum(map(d.blocked, d.waits))), ([], busy)):
        _, boxes = svg_boxes(run.picture('flamegraph', golden('app'), '--view', 'offcpu', *options))
        problems += expect('total %s' % options, max(b[5] for b in boxes), total)
    return problems


def timeline_data(run):
    """The packed data of the page, unpacked here: each wait and op is there, to the nanosecond."""
    problems = []
    dumps = [run.simulated(0), run.simulated(1, merge=True)]
    for path, d in dumps + [(golden(n), dump.Dump(golden(n))) for n in ('app', 'engine', 'sampled')]:
        with open(run.picture('timeline', path), encoding='utf-8') as f:
            page = f.read()
        problems += expect('addresses', re.findall(r'(?:https?:|src=|href=|@import|url\()', page), [])
        got = unpack(re.search(r'id="data">\n(.*?)</script>', page, re.S).group(1))
        thread_ops = {t['op'] for t in d.threads if 'op' in t}
        tids = {t['tid'] for t in d.threads}
        problems += expect('waits', sorted(got['waits']), sorted(
            (w['s'], w['d'], d.blocked(w), d.runnable(w), w['wake_ns'] if w.get('waker_tid') in tids and 'wake_ns' in w else -1,
             w['tid']) for w in d.waits if w.get('tid')))
        problems += expect('ops', sorted(got['ops']), sorted([(o['s'], o['d']) for o in d.ops if o['id'] not in thread_ops] +
                                                             [(w['s'], w['d']) for w in d.waits if not w.get('tid')]))
    return problems


def unpack(text):
    import base64
    data = base64.b64decode(text)
    at = 0

    def number():
        nonlocal at
        value = shift = 0
        while True:
            byte = data[at]
            at += 1
            value |= (byte & 127) << shift
            shift += 7
            if byte < 128:
                return value

    texts = []
    for _ in range(number()):
        n = number()
        texts.append(data[at:at + n].decode('utf-8'))
        at += n
    assert number() == 1
    number(), number()
    for _ in range(number()):
        number()
    for _ in range(number()):  # stacks
        for _ in range(2):
            for _ in range(number()):
                texts[number()]
    for _ in range(number()):  # manners of waits
        for _ in range(8):
            number()
    for _ in range(number()):  # sayings of ops
        for _ in range(9):
            number()
    out = {'waits': [], 'ops': [], 'path': []}
    tids = []
    for _ in range(number()):
        number(), number()
        for _ in range(number()):
            number(), number()
            tid = number()
            tids.append(tid)
            number(), number(), number()
            time = 0
            for _ in range(number()):
                time += number()
                blocked, runnable, rest = number(), number(), number()
                number()
                wake = -1
                if number():
                    late = number()
                    wake = time + blocked + (-(late + 1) // 2 if late % 2 else late // 2)
                out['waits'].append((time, time + blocked + runnable + rest, blocked, runnable, wake, tid))
            time = 0
            for _ in range(number()):
                time += number()
                length = number()
                number(), number(), number()
                out['ops'].append((time, time + length))
    time = 0
    for _ in range(number()):
        time += number()
        length, actor, state = number(), number(), number()
        number(), number()
        out['path'].append((time, time + length, tids[actor - 1] if actor else 0,
                            ('on CPU', 'runnable', 'blocked', 'unknown')[state >> 1]))
    assert at == len(data)
    return out


# ---- the command line ----

def files(run):
    """Default names, -o -, devices, and nothing half-written."""
    problems = []
    for f, name in (('perfetto', 'trace.pftrace'), ('firefox', 'profile.json.gz'), ('pprof', 'profile.pb.gz'), ('folded', 'out.folded'),
                    ('otlp', 'trace.otlp.json')):
        run(['export', '-f', f, golden('app')])
        with open(os.path.join(run.folder, name), 'rb') as x:
            written = x.read()
        problems += expect(f + ' to stdout', run(['export', '-q', '-f', f, '-o', '-', golden('app')]).stdout == written, True)
        run(['export', '-q', '-f', f, '-o', '/dev/null', golden('app')])
        problems += expect('/dev/null', os.path.exists('/dev/null.tmp'), False)
    for verb, name in (('flamegraph', 'flamegraph.svg'), ('timeline', 'timeline.html')):
        run([verb, golden('app')])
        problems += expect(name, os.path.exists(os.path.join(run.folder, name)), True)
    os.symlink('out.folded', os.path.join(run.folder, 'link'))
    run(['export', '-q', '-f', 'folded', '-o', 'link', golden('app')])
    problems += expect('a link stays one', os.path.islink(os.path.join(run.folder, 'link')), True)
    return problems + expect('temporary files', [n for n in os.listdir(run.folder) if n.endswith('.tmp')], [])


def refusals(run):
    problems = []
    none = os.path.join(run.folder, 'none.ndjson')
    with open(none, 'w', encoding='utf-8') as f:
        f.write('{"schema_version":1,"epoch_unix_nano":1,"dumped_unix_nano":1,"dropped_events":0,"event_count":0,"strings":[""]}\n')
    for args, words in (
            (['export', golden('app')], '-f FORMAT is needed'), (['export', '-f', 'svg', golden('app')], '-f svg: there are perfetto'),
            (['export', '-f', 'pprof', 'nosuch'], 'nosuch: No such file'),
            (['export', '-f', 'folded', '--view', 'x', golden('app')], '--view x: there are offcpu'),
            (['export', '-f', 'folded', '--view', 'path', none], 'no critical path'),
            (['export', '-f', 'pprof', '--view', 'goroutines', golden('app')], 'no goroutine was recorded'),
            (['flamegraph', '--view', 'wall', none], "the recording has neither threads' lives nor ops"),
            (['flamegraph', '--json', '-o', '-', golden('app')], 'standard output is the file'),
            (['timeline', golden('app'), golden('idle')], 'one recording at a time'),
            (['timeline', '-o', '/nosuch/x', golden('app')], '-o /nosuch/x: No such file or directory')):
        r = run(args, code=1 if '/nosuch/x' in args else 2)
        err = r.stderr.decode()
        problems += expect(' '.join(args), (words in err, err.count('\n'), r.stdout), (True, 1, b''))
    return problems


def terminal(run):
    """What is not text is never written to a terminal."""
    import pty
    master, slave = pty.openpty()
    r = subprocess.run([run.wcbpf, 'export', '-f', 'pprof', '-o', '-', golden('app')], stdout=slave, stderr=subprocess.PIPE)
    name = os.ttyname(slave)
    named = subprocess.run([run.wcbpf, 'export', '-f', 'perfetto', '-o', name, golden('app')], capture_output=True)
    text = subprocess.run([run.wcbpf, 'export', '-q', '-f', 'folded', '-o', '-', golden('app')], stdout=slave, stderr=subprocess.PIPE)
    os.close(slave)
    os.set_blocking(master, False)
    shown = os.read(master, 65536)
    os.close(master)
    return (expect('refused', (r.returncode, b'terminal' in r.stderr), (2, True)) +
            expect('by name', (named.returncode, b'terminal' in named.stderr), (2, True)) +
            expect('text may', (text.returncode, b'main' in shown, b'\x1f\x8b' in shown), (0, True, False)))


def full_disk(run):
    r = subprocess.run([run.wcbpf, 'export', '-f', 'otlp', '-o', '/dev/full', golden('app')], capture_output=True)
    return expect('exit', (r.returncode, b'No space left' in r.stderr), (1, True))


def filters(run):
    path, d = run.simulated(6)
    problems = []
    for pid in (100, 200):
        waits = [w for w in d.waits if w['pid'] == pid]
        lines, found = folded_check.read(run.export('folded', path, '--view', 'offcpu', '--pid', str(pid)))
        problems += found + expect('blocked of %d' % pid, sum(v for _, v in lines), sum(map(d.blocked, waits)))
        trace = perfetto_check.Trace(run.export('perfetto', path, '--pid', str(pid)))
        problems += trace.problems + expect('waits', len([s for s in trace.slices if s['category'] == 'wait']), len(waits))
        profile = firefox_check.load(run.export('firefox', path, '--pid', str(pid)))
        problems += expect('processes', {t['pid'] for t in profile['threads']}, {str(pid)})
    tid = d.threads[2]['tid']
    lines, _ = folded_check.read(run.export('folded', path, '--view', 'wall', '--tid', str(tid)))
    return problems + expect('life', sum(v for _, v in lines), d.threads[2]['end_ns'] - d.threads[2]['begin_ns'])


GO = [pprof_sums, pprof_top, pprof_inlined]
PROTOC = [perfetto_simulated, perfetto_merged, goroutines, critical_path, perfetto_others, perfetto_overlaps, filters]
TESTS = PROTOC + GO + [folded_sums, folded_flamegraph_pl, folded_wakers, folded_waker_stacks, folded_states, folded_of_ops, firefox_rules, firefox_sums, firefox_stacks, firefox_script, firefox_reused,
                       otlp_rules, otlp_content, otlp_engine, svg_geometry, svg_names, svg_pruned, svg_idle, timeline_data, files,
                       refusals, terminal, full_disk]


def main():
    tap = Tap()
    part = sys.argv[2] if len(sys.argv) > 2 else ''
    for test in TESTS:
        name = test.__name__.replace('_', ' ')
        if part not in test.__name__:
            continue
        if test in PROTOC and not perfetto_check.available():
            tap.skip(name, 'no protoc: install protobuf-compiler')
            continue
        if test is folded_flamegraph_pl and not folded_check.available():
            tap.skip(name, 'no flamegraph.pl: install libdevel-nytprof-perl')
            continue
        if test in GO and not shutil.which('go'):
            tap.skip(name, 'no go: install golang-go')
            continue
        with tempfile.TemporaryDirectory(prefix='wcbpf-export.') as folder:
            try:
                problems = test(Run(os.path.abspath(sys.argv[1]), folder))
            except Exception as e:  # one test's, the others go on
                problems = ['%s: %s' % (type(e).__name__, e)]
        tap.result(name, problems[:8])
    tap.end()


if __name__ == '__main__':
    main()
