# SPDX-License-Identifier: (LGPL-2.1 OR BSD-2-Clause)
"""How much of the verifier's limit the programs take: kernels differ in what they prune, so there must be room. C76."""
import os
import signal

from live import Skip, check, programs_held_by, tracer_programs
from programs import verified_insns

GATE, GOAL = 100000, 10000


def held(live, *options):
    """{program: instructions verified} of a recording that runs. A global function counts with each that calls it."""
    p = live.spawn(live.work('sleep 400 50000'))
    before = tracer_programs()
    a = live.attach_start('-p', str(p.pid), *options)
    live.started(a)
    told = [verified_insns(x) for x in programs_held_by(a.pid)]
    a.send_signal(signal.SIGINT)
    live.finish(a, before)
    live.kill_tree(p.pid)
    check(told and None not in told, 'programs %s', told)
    if any(n is None for _, n in told):
        raise Skip('this kernel tells no verified_insns (Linux 5.16 does)')
    check(len(set(name for name, _ in told)) == len(told), 'names are cut to the same: %s', told)
    return dict(told)


def test_verified_instructions(live):
    """C76: each program is verified in under 100,000 instructions, whatever walks the user stacks."""
    all_of = {}
    for walk in ('auto', 'ehframe', 'fp', 'copy', 'none'):
        got = held(live, '--mode', 'wall', '--call-graph', walk)
        # What it stands on: the switch, which walks both stacks, and the sampler
        check(any('switch' in name for name in got), '%s: no program for switches: %s', walk, sorted(got))
        check(all(n > 0 for n in got.values()), '%s: %s', walk, got)
        over = {name: n for name, n in got.items() if n > GATE}
        check(not over, '--call-graph %s: over %d: %s', walk, GATE, over)
        all_of[walk] = got
    check(max(all_of['ehframe'].values()) > max(all_of['none'].values()), 'walking costs nothing: %s', all_of)
    for walk, got in all_of.items():
        ranked = sorted(got.items(), key=lambda x: -x[1])
        live.figure('verified instructions, --call-graph %s: %s; %d of %d programs over the goal of %d', walk,
                    ', '.join('%s %d' % x for x in ranked), sum(n > GOAL for n in got.values()), len(got), GOAL)


def test_verified_instructions_of_probes(live):
    """C76: likewise the program of choke points, in each of its three forms."""
    told = []
    for how in ('auto', 'cookie', 'address'):
        os.environ['WCBPF_UPROBES'] = how
        try:
            got = held(live, '-e', 'main')
        finally:
            del os.environ['WCBPF_UPROBES']
        of_probes = {name: n for name, n in got.items() if name.startswith('site_')}
        check(len(of_probes) == 1, '%s: %s', how, sorted(got))
        check(all(0 < n <= GATE for n in got.values()), '%s: %s', how, got)
        told.append('%s %d' % of_probes.popitem())
    live.figure('verified instructions of choke points: %s', ', '.join(told))
