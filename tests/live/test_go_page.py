# SPDX-License-Identifier: (LGPL-2.1 OR BSD-2-Clause)
"""What the page says of Go programs: whose time it is about, with and without goroutines."""
import time

from live import check
from test_go import program


def page(live, rec):
    rc, out, err = live.run([live.wcbpf, 'report', rec.dir])
    check(rc == 0 and 'VERDICT' in out, 'status %s: %s', rc, err)
    return out, ' '.join(out.split('VERDICT')[1].split('\n\n')[0].split())


def test_queue(live):
    """Goroutines that queue for a mutex are what the page is about, as long as the program says they were."""
    p = live.spawn([program(live, 'locks'), 'queue', '2.5'])
    rec = live.attach('-p', str(p.pid), '-d', '1500ms', '--probes', 'go')
    out, verdict = page(live, rec)
    check('for locks' in verdict and 'most for mutex' in verdict, '%s', verdict)
    check('goroutine-s' in out.split('Wall time')[1].split('\n')[0], '%s', out)
    rec = live.record([program(live, 'locks'), 'queue', '1'], '--probes', 'go')
    _, verdict = page(live, rec)
    waited = sum(w.blocked for w in rec.waits if w.kind == 'mutex') / 1e6
    want = int(rec.out.split()[-1])
    live.figure('waited for the mutex: %d ms, the program says %d', waited, want)
    check(abs(waited - want) < 0.1 * want, 'waited %d ms, the program says %d', waited, want)
    check('mutex' in verdict, '%s', verdict)


def test_stuck(live):
    """Two goroutines that have what the other wants are the verdict, at the end of the recording and of the program."""
    p = live.spawn([program(live, 'locks'), 'stuck', '6'])
    time.sleep(1)  # both have hung by then: there is nothing but what is parked
    rec = live.attach('-p', str(p.pid), '-d', '1500ms', '--probes', 'go')
    check('2 goroutines hang' in page(live, rec)[1], '%s', page(live, rec)[1])
    rec = live.record([program(live, 'locks'), 'stuck', '1.5'], '--probes', 'go')
    check('2 goroutines hung in locks' in page(live, rec)[1], '%s', page(live, rec)[1])
    rec = live.record([program(live, 'locks'), 'stuck', '3'], '-d', '1500ms', '--probes', 'go')
    check('2 goroutines hang' in page(live, rec)[1], '%s', page(live, rec)[1])


def test_without_probes(live):
    """Threads of Go's scheduler are idle by design, and it is said what would tell more, before and after."""
    rec = live.record([program(live, 'locks'), 'queue', '1'])
    out, verdict = page(live, rec)
    check('is a Go program' in rec.err and '--probes go' in rec.err, '%s', rec.err)
    check('--probes go' in verdict and 'waiting for locks' not in verdict, '%s', verdict)
    check('idle by design' in out, '%s', out)
    rec = live.record([program(live, 'locks'), 'queue', '1'], '--probes', 'go')
    check('is a Go program' not in rec.err, '%s', rec.err)
