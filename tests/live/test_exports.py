# SPDX-License-Identifier: (LGPL-2.1 OR BSD-2-Clause)
"""Exports and pictures of real recordings: what readers that are not ours make of them is what the dump says."""
import json
import os
import re
import sys
import xml.etree.ElementTree as ElementTree

from live import check
from test_go import program
from test_ops import PROFILES

sys.path.append(os.path.join(os.path.dirname(os.path.abspath(__file__)), '..', 'export'))

import dump                     # noqa: E402
import firefox_check            # noqa: E402
import folded_check             # noqa: E402
import otlp_check               # noqa: E402
import perfetto_check           # noqa: E402
import pprof_check              # noqa: E402


def made(live, rec, verb, *options):
    """The file that a verb wrote."""
    live.n += 1
    out = live.path('%d.%s' % (live.n, options[1] if options else verb))
    rc, said, err = live.run([live.wcbpf, verb, '-o', out, *options, rec.dir], timeout=60)
    check(rc == 0, '%s %s: status %d: %s', verb, options, rc, err)
    return out


def same(what, got, expected):
    check(got == expected, '%s: %r, the dump has %r', what, got, expected)


def perfetto(live, rec, d):
    if not perfetto_check.available():
        live.figure('no protoc: Perfetto traces are not read')
        return
    trace = perfetto_check.Trace(made(live, rec, 'export', '-f', 'perfetto'))
    problems = perfetto_check.compare(trace, d)
    check(not problems, 'perfetto: %d: %s', len(problems), '; '.join(problems[:4]))
    same('waits in the trace', sum(s['category'] == 'wait' for s in trace.slices), len(d.waits))


def pprof(live, rec, d):
    if not pprof_check.available():
        live.figure('no go: pprof profiles are not read')
        return
    for view, waits in of_views(d):
        samples = pprof_check.raw(made(live, rec, 'export', '-f', 'pprof', '--view', view))['samples']
        same('sums of the profile', [sum(s[0][k] for s in samples) for k in range(3)],
             [len(waits), sum(map(d.blocked, waits)), sum(map(d.runnable, waits))])


def of_views(d):
    """Time that goroutines were parked is of no thread, and in a view of its own."""
    parked = [w for w in d.waits if w.get('parked')]
    of_threads = [w for w in d.waits if not w.get('parked')]
    return [('offcpu', of_threads)] + ([('goroutines', parked)] if parked else [])


def folded(live, rec, d):
    for view, waits in of_views(d) + [('offwake', of_views(d)[0][1])]:
        lines, problems = folded_check.read(made(live, rec, 'export', '-f', 'folded', '--view', view))
        check(not problems, 'folded: %s', problems[:4])
        same('sum of ' + view, sum(v for _, v in lines), sum(map(d.blocked, waits)))


def firefox(live, rec, _):
    problems = firefox_check.Check(firefox_check.load(made(live, rec, 'export', '-f', 'firefox'))).problems
    check(not problems, 'firefox: %s', problems[:4])


def otlp(live, rec, d):
    with open(made(live, rec, 'export', '-f', 'otlp'), encoding='utf-8') as f:
        spans, problems = otlp_check.read(json.load(f))
    check(not problems, 'otlp: %s', problems[:4])
    check(len(spans) >= len(d.ops), '%d spans of %d ops', len(spans), len(d.ops))


def pictures(live, rec, _):
    for view in ('offcpu', 'offwake', 'wall', 'path'):
        ElementTree.parse(made(live, rec, 'flamegraph', '--view', view))
    with open(made(live, rec, 'timeline'), encoding='utf-8') as f:
        text = f.read()
    check(not re.search(r'(?:src|href)="?https?:', text), 'the timeline asks for something from elsewhere')


def exported(live, rec):
    d = dump.Dump(next(rec.path(n) for n in os.listdir(rec.dir) if n == 'wcprof.ndjson'))
    check(len(d.waits) > 20, '%d waits', len(d.waits))
    for read in (perfetto, pprof, folded, firefox, otlp, pictures):
        read(live, rec, d)
    live.figure('%d waits, %d ops of %d threads, %d goroutines', len(d.waits), len(d.ops), len(d.threads),
                len(d.goroutines))


def test_threads(live):
    """Threads that compute, sleep and contend, and samples of them."""
    exported(live, live.record(live.work('wall threads'), '-F', '499', lossy=True))


def test_processes(live):
    """Processes that replace and follow one another, and a pipe between two."""
    loop = 'i=0; while [ $i -lt 40 ]; do /bin/echo $i | /bin/cat >/dev/null; i=$((i+1)); done'
    exported(live, live.record(['sh', '-c', loop], lossy=True))


def engine(live, argv, profile):
    exported(live, live.record([*argv, '4', '3'], '--probes', os.path.join(PROFILES, profile), '--max-overhead', '0',
                               timeout=90, lossy=True))


def test_c_engine(live):
    """Ops of choke points, and joins of them."""
    engine(live, live.work('engine-stripped'), 'engine-c.profile')


def test_go_engine(live):
    """Goroutines."""
    engine(live, [program(live, 'engine-stripped', 'ops')], 'engine-go.profile')
