# SPDX-License-Identifier: (LGPL-2.1 OR BSD-2-Clause)
"""The engine stand-ins, traced from outside, against the record that they keep themselves: the same graph.

All ops with kind, class, ident, client, ancestors and outcome, all waits with what they were for and why, none
invented. The ends of a wait or op may differ by the cost of a probe and by preemption between the program's clock and
the probed instruction: single times are held to a tolerance that grows with the machine's load, the 99th percentile
is printed.
"""
import os
import re

import graph
from live import check
from test_go import FIRST, newer_program, program

PROFILES = os.path.join(os.path.dirname(os.path.abspath(__file__)), 'profiles')
TOLERANCE_NS, LOADED_NS = 20000000, 300000000
SIZE = ['6', '6']


def compared(live, argv, profile, name, *options, env=None, size=SIZE, tolerance_ns=TOLERANCE_NS, only=None):
    """Records a stand-in and holds the recording to the program's own dump, or what is under some ops in it."""
    own = live.path('own.ndjson')
    env = dict(os.environ, ENGINE_WCPROF=own, **(env or {}))
    rec = live.record([*argv, *size], '--probes', os.path.join(PROFILES, profile), '--max-overhead', '0', *options,
                      env=env, timeout=90, lossy=True)
    # Processes that are about to run another program have this one's until then: what they call is not asked for.
    said = [line for line in rec.diagnostics.split('\n') if line and 'processes that ran already' not in line]
    check(rec.hidden_switches() or (rec.complete() and not said), 'losses: %s; %s', rec.lost_text(), said)
    check(re.search(r'^clock realtime=\d+ monotonic=\d+$', rec.out, re.M), 'it said %r', rec.out)
    dump = [rec.path(n) for n in ('wcprof.ndjson', 'wcprof.ndjson.gz') if os.path.exists(rec.path(n))][0]
    busy = os.getloadavg()[0] / os.cpu_count()
    tolerance_ns *= max(1, busy)
    truth = graph.Graph(own)
    if only:
        truth.only(*only)
    c = graph.Comparison(truth, graph.Graph(dump), tolerance_ns, resources=('own.lock',), reasons=('io',),
                         loaded=tolerance_ns > 2 * TOLERANCE_NS)
    c.run()
    live.figure('%s: %s', name, graph.figure(c))
    check(not c.differences, '%d differences: %s', len(c.differences), '; '.join(c.differences[:12]))
    return c


def works_alone(live, argv):
    """With its recorder off a stand-in does the same, and says the same."""
    said = []
    for env in (dict(os.environ), dict(os.environ, ENGINE_WCPROF=live.path('own.ndjson'))):
        rc, out, err = live.run([*argv, '4', '2'], env=env)
        check(rc == 0 and not err, 'status %s: %s', rc, err)
        said.append(re.sub(r'\d{5,}', 'N', out))
    check(said[0] == said[1], 'said %r and %r', *said)
    g = graph.Graph(live.path('own.ndjson'))
    check(not g.errors, 'its dump: %s', g.errors)
    outcomes = {op.outcome for op in g.ops.values()}
    check(outcomes >= {'hit', 'executed', 'joined', 'do_not_cache', 'ok', 'error', 'canceled'}, 'outcomes: %s',
          outcomes)
    reasons = {w.reason for w in g.waits}
    check(reasons == {'call_exec', 'singleflight', 'lazy', 'service', 'lock', 'exec', 'io'}, 'reasons: %s', reasons)
    kinds = {op.kind for op in g.ops.values()}
    check(len(kinds) == 9, 'kinds: %s', kinds)
    ambiguous = graph.Comparison(g, g, 0)
    ambiguous._by_path(g, 'its own')
    check(not ambiguous.differences, '%s', ambiguous.differences[:3])


def test_c_works_alone(live):
    works_alone(live, live.work('engine-stripped'))


def only_one_session(live, argv, profile, name):
    """What a session does and spawns, and nothing else; what it joins of others is nothing known."""
    c = compared(live, argv, profile, name, '--only', 'session_phase:engine.session:s1', size=['4', '3'],
                 only=('session_phase', 'engine.session', 's1'))
    alone = [w for w in c.truth.waits if not w.target and w.reason == 'singleflight']
    check(c.op_n > 30 and c.wait_n > 10 and alone, '%d ops, %d waits, %d of them for work of others', c.op_n, c.wait_n,
          len(alone))


def test_go_works_alone(live):
    works_alone(live, [program(live, 'engine-stripped', 'ops')])


def test_c_stripped(live):
    compared(live, live.work('engine-stripped'), 'engine-c.profile', 'engine in C, stripped')


def test_c_under_load(live):
    compared(live, live.work('engine'), 'engine-c.profile', 'engine in C under load', env={'ENGINE_BURN': '6'},
             tolerance_ns=LOADED_NS)


def test_go_stripped(live):
    compared(live, [program(live, 'engine-stripped', 'ops')], 'engine-go.profile', 'engine in Go, stripped')


def test_go_position_independent(live):
    compared(live, [program(live, 'engine-pie', 'ops')], 'engine-go.profile', 'engine in Go, PIE', size=['4', '3'])


def test_go_under_load(live):
    compared(live, [program(live, 'engine', 'ops')], 'engine-go.profile', 'engine in Go under load',
             env={'ENGINE_BURN': '6', 'GOMAXPROCS': '4'}, tolerance_ns=LOADED_NS)


def test_c_only_one_session(live):
    only_one_session(live, live.work('engine-stripped'), 'engine-c.profile', 'one session of the engine in C')


def test_go_only_one_session(live):
    only_one_session(live, [program(live, 'engine-stripped', 'ops')], 'engine-go.profile',
                     'one session of the engine in Go')


def test_go_one_thread(live):
    """All goroutines take turns on one thread: what a thread does in between belongs to others."""
    compared(live, [program(live, 'engine', 'ops')], 'engine-go.profile', 'engine in Go, one P',
             env={'GOMAXPROCS': '1'}, size=['4', '3'])


TESTS = {'go_stripped_go' + version: lambda live, version=version: compared(
    live, [newer_program(live, 'engine-stripped', version, 'newer-engine')], 'engine-go.profile', 'engine in Go ' + version,
    env={'ENGINE_BURN': '2', 'GOMAXPROCS': '4'}, tolerance_ns=LOADED_NS, size=['5', '4']) for version in FIRST}
