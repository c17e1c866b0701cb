# SPDX-License-Identifier: (LGPL-2.1 OR BSD-2-Clause)
"""The profiles dagger and otel on a program with the engine's symbols, signatures and memory layouts, which records
itself: the same ops, waits, links and spans. What a runtime and an init do in a container shows by their processes.
"""
import json
import os
import re

import graph
from live import check
from test_go import FIRST, newer_program, program
from test_ops import TOLERANCE_NS

# Between the program's clock and the tracer's others may have the CPU, as both know; all else counts.
ACCURACY_NS = 100000
PHASES = ['exec.containerStart', 'exec.runtimeStart', 'exec.processRun']
RUN = ['exec.initStart', 'exec.processSpawn', 'exec.workload', 'exec.processExit']
EXIT = ['exec.reap', 'exec.stdioDrain']
STOP = {'engine.stop', 'engine.stop.signal', 'engine.stop.func1', 'engine.stop.func2', 'engine.stop.Cache.Prune',
        'engine.stop.Cache.Close', 'engine.stop.removeDaggerSession', 'engine.stop.stopRemoteCacheIntegration',
        'engine.exit.metrics', 'engine.exit.telemetry', 'grpc.GracefulStop'}


def recorded(live, argv, *options):
    own = live.path('own.ndjson')
    rec = live.record(argv, '--probes', 'dagger', '--max-overhead', '0', *options, timeout=90, lossy=True,
                      env=dict(os.environ, ENGINE_WCPROF=own))
    check(re.search(r'^clock realtime=\d+ monotonic=\d+$', rec.out, re.M), 'it said %r', rec.out)
    i = rec.summary['capture_integrity']
    check(i['unmatched_exits'] == 0 and i['lost_ops'] == 0 and i['unwound_ops'] == 0, 'integrity: %s', i)
    return rec, own, [rec.path(n) for n in ('wcprof.ndjson', 'wcprof.ndjson.gz') if os.path.exists(rec.path(n))][0]


def spans(path, ops):
    """{path of the op: (trace, span)}"""
    found = {}
    with open(path) as f:
        for line in f:
            e = json.loads(line)
            if e.get('e') == 'span':
                check(ops[e['id']].path not in found, 'two spans of %s', ops[e['id']])
                found[ops[e['id']].path] = (e['tr'], e['sp'])
    return found


def explained(live, rec):
    """The critical path of it all, also through goroutines that timers start: it has no gap to speak of."""
    rc, out, err = live.run([live.wcbpf, 'report', '--json', '--all', '--section', 'path', rec.dir])
    check(rc == 0, 'report: %s', err)
    path = json.loads(out)['path']
    gaps = sum(s['ns'] for s in path['stretches'] if s['state'] == 'gap')
    check(gaps * 100 < path['sum_ns'] == path['makespan_ns'], 'nothing is known of %.1f ms of the path of %.1f ms', gaps / 1e6,
          path['sum_ns'] / 1e6)


def compared(live, argv, name, size=('5', '3')):
    rec, own, dump = recorded(live, [argv, *size])
    explained(live, rec)
    busy = max(1, os.getloadavg()[0] / os.cpu_count())
    truth, traced = graph.Graph(own), graph.Graph(dump)
    c = graph.Comparison(truth, traced, TOLERANCE_NS * busy, reasons=('io',), loaded=busy > 2).run()
    live.figure('%s: %s', name, graph.figure(c))
    check(not c.differences, '%d differences: %s', len(c.differences), '; '.join(c.differences[:12]))
    for what, apart in (('starts', c.start_apart), ('ends', c.end_apart)):
        off = graph.percentile(apart, 99)
        check(off < ACCURACY_NS * busy, '%s are %.1f us off at p99, of what it ran', what, off / 1000)
    outcomes = {op.outcome for op in traced.own_ops()}
    check(outcomes >= {'hit', 'executed', 'joined', 'do_not_cache', 'ok', 'error'}, 'outcomes: %s', outcomes)
    classes = {op.cls for op in traced.own_ops()}
    check(classes >= STOP, 'of the stop: %s', {c for c in classes if c.startswith('engine.')})
    named = {w.resource for w in traced.waits if w.reason == 'lock'}
    check(named >= {'core.lazyGroupOnce.mu', 'core.LazyState.LazyMu', 'dagql.sharedResult.leaseSyncMu',
                    'cachelock:cache-volume:0'}, 'locks: %s', named)
    a, b = spans(own, truth.ops), spans(dump, traced.ops)
    missing = a.keys() - b.keys()
    check(len(a) > 4 and not missing, '%d of %d spans are missing: %s', len(missing), len(a), sorted(missing)[:3])
    check(all(a.get(k) == v for k, v in b.items()), 'spans that the program knows otherwise: %s', b.items() - a.items())
    return rec, traced


def test_stripped(live):
    compared(live, program(live, 'dagger-stripped', 'ops'), 'dagger, stripped')


def test_whole(live):
    """Fields come from the debug information."""
    rec, _ = compared(live, program(live, 'dagger', 'ops'), 'dagger, whole')
    check('left out' not in rec.diagnostics, 'said: %s', rec.diagnostics)


def test_position_independent(live):
    compared(live, program(live, 'dagger-pie', 'ops'), 'dagger, PIE', size=('4', '2'))


def test_nested_clients_hang_below_their_containers(live):
    """As a reader of wcprof dumps puts them there: by the link's ident and the client of ops without parent."""
    _, traced = compared(live, program(live, 'dagger-stripped', 'ops'), 'dagger', size=('4', '2'))
    hosts = {link.ident: traced.ops[link.op] for link in traced.links if not link.to}
    roots = [op for op in traced.own_ops() if op.cls == 'session.serveQuery' and op.client.startswith('nested-')]
    check(len(roots) == len(hosts) == 6, '%d queries, %d links: %s', len(roots), len(hosts), hosts.keys())
    for op in roots:
        check(op.parent == 0 and hosts[op.client].cls == 'exec.run' and 'nested-' + hosts[op.client].client == op.client,
              '%s is of %s', op, hosts.get(op.client))


# A runtime with a hook, and an init that needs some time for itself.
BUSY = 'i=0\nwhile [ $i -lt 20000 ]; do i=$((i + 1)); done\n'
RUNC = '#!/bin/sh\n[ "$1" != init ] || { shift; exec "${0%/*}/.init" "$@"; }\n/bin/sleep 0.01\n"$0" init "$@"\n'
INIT = '#!/bin/sh\n' + BUSY + '"$@"\nstatus=$?\n' + BUSY + 'exit $status\n'


def below(traced, op):
    return sorted((o for o in traced.ops.values() if o.parent == op.id), key=lambda o: (o.start, -o.end))


def in_order(parent, ops, names, last=None):
    """The phases follow each other without a gap, from the parent's begin to its end."""
    check([o.cls for o in ops] == names, 'below %s: %s', parent, [o.cls for o in ops])
    ends = [parent.start] + [o.end for o in ops]
    for o, begin in zip(ops, ends):
        check(o.start == begin, '%s begins %d ns behind what is before it', o.cls, o.start - begin)
    check(ends[-1] == (last if last is not None else parent.end), '%s ends %d ns before its parent', ops[-1].cls,
          parent.end - ends[-1])


def test_runtime_and_init(live):
    folder = live.path('bin')
    os.mkdir(folder)
    for name, text in (('runc', RUNC), ('.init', INIT)):
        with open(os.path.join(folder, name), 'w') as f:
            f.write(text)
        os.chmod(os.path.join(folder, name), 0o755)
    argv = [program(live, 'dagger-stripped', 'ops'), '4', '1', os.path.join(folder, 'runc'), '/bin/sh', '-c',
            '/bin/sleep 0.1; exit 0']
    _, _, dump = recorded(live, argv)
    traced = graph.Graph(dump)
    runs = [op for op in traced.own_ops() if op.cls == 'exec.runContainer']
    check(len(runs) == 4, '%d runs', len(runs))
    for run in runs:
        if run.outcome == 'error':      # /bin/false, without any of them
            continue
        phases = [o for o in below(traced, run) if o.kind == 'exec_phase']
        in_order(run, phases, PHASES)
        check(phases[1].end - phases[1].start > 10e6, 'the runtime took %d ns', phases[1].end - phases[1].start)
        parts = below(traced, phases[2])
        in_order(phases[2], parts, RUN)
        check(parts[0].end - parts[0].start > 1e6, 'the init took %d ns', parts[0].end - parts[0].start)
        took = parts[2].end - parts[2].start
        check(100e6 < took < 150e6 + live.slack_ns, 'the command took %d ns', took)
        in_order(parts[3], below(traced, parts[3]), EXIT)
        reap, drain = below(traced, parts[3])
        check(reap.end - reap.start > 1e6 and drain.end - drain.start > 3e6, 'reaped in %d ns, drained in %d ns',
              reap.end - reap.start, drain.end - drain.start)
        works = {o.cls: o.raw.get('w', 'engine') for o in phases + parts}
        check({c for c, w in works.items() if w == 'user'} == {'exec.processRun', 'exec.workload'}, 'work: %s', works)


TESTS = {'stripped_go' + version: lambda live, version=version: compared(
    live, newer_program(live, 'dagger-stripped', version, 'newer-engine'), 'dagger, Go ' + version, size=('4', '2'))
    for version in FIRST}
