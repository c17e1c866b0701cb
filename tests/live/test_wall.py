# SPDX-License-Identifier: (LGPL-2.1 OR BSD-2-Clause)
"""Mode wall: every thread's lifetime in lines that sum to it, and what ran by samples. C10."""
import json
import math
import os
import re
import shutil
import subprocess

from live import Skip, check, children_of, close_to, tracer_programs
from truth import MS, Truth

ALONE = True

S = 1000 * MS
ON_CPU = ('[on-cpu]', '[on-cpu, not sampled]')
SIGMAS = 4.5            # of a sampling error: a few in a million runs are further off


def sampling_error(share, n):
    """How far off a share may be that n samples give."""
    return SIGMAS * math.sqrt(max(share * (1 - share), 1 / n) / n)


def us_of(rec, comm, *leaves, having=None):
    return sum(v for frames, leaf, v in rec.wall if frames[0] == comm and (not leaves or leaf in leaves)
               and (having is None or having in frames))


def spent(truth, tid):
    return {x['function']: x['ns'] for x in truth.facts.get('spent', []) if x['tid'] == tid}


def check_shares(rec, truth, tid, comm, slack=0.02):
    """Each function's share of the thread's time on the CPU is what the thread's own clock says."""
    oncpu = us_of(rec, comm, *ON_CPU)
    own, n = spent(truth, tid), rec.thread(tid).samples
    total = sum(own.values())
    check(n > 5 or comm not in ('wall', 'computes'), '%d samples of %s', n, comm)
    if n <= 5:          # those that compute for a time, not for a time on the CPU, may hardly have got one
        return
    for function, ns in own.items():
        got, want = us_of(rec, comm, '[on-cpu]', having=function) / oncpu, ns / total
        # what is outside of these functions (start and end of a thread) is a little of it
        check(abs(got - want) <= sampling_error(want, n) + slack, '%s: %.3f of %s by %d samples, %.3f by its own clock',
              function, got, comm, n, want)


def check_thread(live, rec, truth, comm):
    """A thread's lines against its record in the dump, and that against the kernel's account and its own clock."""
    tid = next(t.tid for t in rec.threads if t.comm == comm)
    t, own = rec.thread(tid), truth.threads[tid]
    # a line is rounded by less than 1 us; until a thread named itself it had its parent's name
    named = next((x['at'] for x in truth.facts.get('named', []) if x['tid'] == tid), own['begin'])
    slack_us = len(rec.wall) + max(0, named - truth.offset_ns(rec) - t.begin + MS) / 1000
    life = us_of(rec, comm)
    check(abs(life - (t.end - t.begin) / 1000) <= slack_us, '%s: lines %d us, life %d ns', comm, life, t.end - t.begin)
    for ns, leaves in ((t.oncpu, ON_CPU), (t.blocked, ('[blocked]',)), (t.runnable, ('[runnable]',))):
        got = us_of(rec, comm, *leaves)
        check(abs(got - ns / 1000) <= slack_us, '%s: %s %d us, its record has %d ns', comm, leaves[0], got, ns)
    # what it was born for and could not look at a clock yet, for want of a CPU, is life too
    lived, own_life = t.end - t.begin, own['end'] - own['begin']
    check(own_life - live.slack_ns <= lived <= 1.01 * own_life + live.slack_ns + t.runnable,
          '%s lived %d ns, by its own clock %d', comm, lived, own_life)
    check(close_to(t.oncpu, own['oncpu'], 0.02, 5 * MS), '%s: %d ns on the CPU, the kernel says %d', comm, t.oncpu,
          own['oncpu'])
    check(close_to(t.runnable, own['runnable'], 0.05, 15 * MS), '%s: %d ns runnable, the kernel says %d', comm,
          t.runnable, own['runnable'])
    return tid


def test_alone(live):
    """One thread of one name: its lines are its life to the microsecond, each state what it was."""
    rec = live.record(live.work('wall alone'), '-F', '499')
    truth = Truth(rec.out)
    check(len(rec.threads) == 1, '%d threads', len(rec.threads))
    t = rec.threads[0]
    life = us_of(rec, 'wall')
    check(abs(life * 1000 - (t.end - t.begin)) <= 500, 'lines %d us, life %d ns', life, t.end - t.begin)
    tid = check_thread(live, rec, truth, 'wall')
    check_shares(rec, truth, tid, 'wall')
    slept = us_of(rec, 'wall', '[blocked]', having='nap_ms') or us_of(rec, 'wall', '[blocked]')
    check(close_to(slept, 200000, 0.02, live.slack_ns / 1000), 'slept %d us', slept)
    check(us_of(rec, 'wall', '[on-cpu]') > 380000, 'on the CPU by samples: %d us', us_of(rec, 'wall', '[on-cpu]'))


def test_threads(live):
    """Threads that compute, sleep and contend: each closes, and f, g and h have their shares."""
    rec = live.record(live.work('wall threads'), '-F', '499')
    truth = Truth(rec.out)
    for comm in ('computes', 'sleeps', 'contends-a', 'contends-b'):
        tid = check_thread(live, rec, truth, comm)
        check_shares(rec, truth, tid, comm)
    for comm in ('contends-a', 'contends-b'):
        waited = us_of(rec, comm, '[runnable]')
        check(waited > 90000, 'two of 300 ms on one CPU: %s was runnable for %d us', comm, waited)
        h = us_of(rec, comm, '[runnable]', having='h')
        check(h > 0.9 * waited, '%s: %d us of %d runnable under h', comm, h, waited)


def test_short_lived(live):
    """Processes that live shorter than a sample takes: all of their time is there, most of it not sampled."""
    loop = 'i=0; while [ $i -lt 150 ]; do /bin/true; i=$((i+1)); done'
    rec = live.record(['sh', '-c', loop], '-F', '97', timeout=120)
    check(len(rec.threads) > 150, '%d threads', len(rec.threads))
    unsampled = us_of(rec, 'true', '[on-cpu, not sampled]')
    lives = sum(t.end - t.begin for t in rec.threads if t.comm == 'true') / 1000
    check(unsampled > 0, 'all were sampled')
    oncpu = sum(v for _, leaf, v in rec.wall if leaf in ON_CPU)
    check(abs(oncpu - sum(t.oncpu for t in rec.threads) / 1000) <= len(rec.threads), 'on the CPU: %d us, records %d ns',
          oncpu, sum(t.oncpu for t in rec.threads))
    # from fork to exec each has its parent's name
    check(0.3 * lives < us_of(rec, 'true') <= lives + len(rec.threads), '%d us of lives of %d', us_of(rec, 'true'), lives)


def test_attach_to_a_spinner(live):
    """Attached to a thread that never blocks: its second is on the CPU or runnable, under the function it is in."""
    p = live.spawn(live.work('spin 20000 1'))
    spinner = live.until('the spinner', lambda: children_of(p.pid)[1:])[0]
    rec = live.attach('-p', str(spinner), '-d', '1', '-F', '299')
    live.kill_tree(p.pid)
    t = rec.thread(spinner)
    check(close_to(t.end - t.begin, S, 0.1, 100 * MS), 'recorded for %d ns', t.end - t.begin)
    check(abs(us_of(rec, 'spin') * 1000 - (t.end - t.begin)) <= 500, 'lines %d us, life %d ns', us_of(rec, 'spin'),
          t.end - t.begin)
    busy = us_of(rec, 'spin', '[on-cpu]', '[runnable]')
    check(busy > 0.98 * us_of(rec, 'spin'), '%d us busy of %d', busy, us_of(rec, 'spin'))
    seen = us_of(rec, 'spin', '[on-cpu]', having='spin_for')
    check(seen > 0.95 * us_of(rec, 'spin', *ON_CPU), '%d us under spin_for: %s', seen, rec.wall[:5])
    expected = 299 * t.oncpu / S
    check(abs(t.samples - expected) < SIGMAS * math.sqrt(expected), '%d samples at 299 a second in %d ns', t.samples, t.oncpu)
    check(rec.summary['state'] == 'summary_written', 'state %s', rec.summary['state'])


def test_system_wide(live):
    """-a: a spinner among all the others; the idle tasks and the tracer are in no line."""
    p = live.spawn(live.work('spin 20000 1'))
    spinner = live.until('the spinner', lambda: children_of(p.pid)[1:])[0]
    before = tracer_programs()
    a = live.attach_start('-a', '-d', '1', '-F', '199')
    rec = live.finish(a, before, lossy=True)
    live.kill_tree(p.pid)
    names = {frames[0] for frames, _, _ in rec.wall}
    check(not any(n.startswith('swapper') for n in names), 'lines of %s', sorted(names)[:20])
    check(not any(t.pid == a.pid for t in rec.threads), 'the tracer is in its own recording')
    t = rec.thread(spinner)
    check(t.samples > 10, '%d samples of the spinner', t.samples)
    seen = us_of(rec, 'spin', '[on-cpu]', having='spin_for')
    check(seen > 0.9 * t.oncpu / 1000, '%d us under spin_for, %d ns on the CPU', seen, t.oncpu)
    check(sum(t.oncpu for t in rec.threads) <= 1.05 * os.cpu_count() * rec.end_ns, 'more time on CPUs than there is')


def test_below_min(live):
    """What --min leaves out has a line of its own, and the sum stays."""
    rec = live.record(live.work('sleep 100 1000'), '-m', '100ms')
    t = rec.threads[0]
    short = us_of(rec, 'sleep', '[shorter than --min]')
    check(not us_of(rec, 'sleep', '[blocked]'), 'blocked in spite of --min: %s', rec.wall)
    check(short > 90000, '%d us shorter than --min', short)
    check(abs(short - (t.blocked + t.runnable) / 1000) <= 2, '%d us, the record has %d ns', short, t.blocked + t.runnable)


def test_frequency(live):
    """Samples come as often as asked for: the number of them is the rate by the time on the CPU."""
    for hz in (49, 999):
        rec = live.record(live.work('wall alone'), '-F', str(hz))
        t, sampling = rec.threads[0], rec.summary['sampling']
        check(sampling['hz'] == hz and sampling['hz_asked'] == hz, 'sampled at %s', sampling)
        check(rec.header['wcbpf']['sample_hz'] == hz, 'the dump says %s', rec.header['wcbpf'].get('sample_hz'))
        expected = hz * t.oncpu / S
        # on a busy machine a thread's turns are shorter than the time between two samples: then it is a matter of luck
        check(abs(t.samples - expected) < SIGMAS * math.sqrt(expected), '%d samples at %d a second in %d ns', t.samples, hz, t.oncpu)
        live.figure('%d Hz: %d samples of %.1f expected', hz, t.samples, expected)


def test_rate_is_limited(live):
    """A rate that the kernel does not allow is lowered, and that is told."""
    path = '/proc/sys/kernel/perf_event_max_sample_rate'
    if not os.access(path, os.W_OK):
        raise Skip('no %s' % path)
    with open(path) as f:
        before = f.read()
    try:
        with open(path, 'w') as f:
            f.write('500')
        rec = live.record(live.work('sleep 1 1000'), '-F', '997', lossy=True)
    except OSError as e:
        raise Skip('%s: %s' % (path, e))
    finally:
        with open(path, 'w') as f:
            f.write(before)
    check(0 < rec.summary['sampling']['hz'] <= 500 and rec.summary['sampling']['hz_asked'] == 997, 'sampled at %s',
          rec.summary['sampling'])
    check('perf_event_max_sample_rate' in rec.diagnostics, 'diagnostics: %r', rec.diagnostics)


def test_perf_events_refused(live):
    """Without perf events the rest is recorded, the time on the CPU has a line, and the reason is told."""
    if not shutil.which('strace'):
        raise Skip('needs strace')
    wrap = ('strace', '-qqq', '-o', '/dev/null', '-e', 'trace=perf_event_open', '-e',
            'inject=perf_event_open:error=EACCES')
    rec = live.record(live.work('wall alone'), wrap=wrap, lossy=True)
    check('not sampled' in rec.diagnostics and 'Operation not permitted' not in rec.diagnostics, 'diagnostics: %r',
          rec.diagnostics)
    check(rec.summary['sampling'] == {'hz': 0, 'hz_asked': 99, 'samples': 0}, 'sampling %s', rec.summary['sampling'])
    t = rec.threads[0]
    got = us_of(rec, 'wall', '[on-cpu, not sampled]')
    check(abs(got - t.oncpu / 1000) <= 1, '%d us not sampled, %d ns on the CPU', got, t.oncpu)
    check(us_of(rec, 'wall', '[blocked]') > 190000, 'the sleep: %d us', us_of(rec, 'wall', '[blocked]'))


def test_other_modes_are_not_sampled(live):
    """The lane's modes take no samples and write none of this."""
    for mode in ('time', 'stacks'):
        rec = live.record(live.work('wall alone'), '--mode', mode)
        check(not rec.wall and not os.path.exists(rec.path('wall.folded.txt')), 'a wall file in mode %s', mode)
        check('sampling' not in rec.summary and rec.summary['capture_integrity']['samples'] == 0, 'samples in mode %s', mode)


def test_report(live):
    """The report's table of functions is the folded file's."""
    rec = live.record(live.work('wall alone'), '-F', '499')
    rc, text, err = live.run([live.wcbpf, 'report', rec.dir])
    check(rc == 0 and 'On CPU by function' in text, 'status %s: %s%s', rc, text, err)
    line = next((x for x in text.split('\n') if re.search(r' f < spent < main', x)), None)
    check(line, 'f is not there:\n%s', text)
    check(len(text.split('\n')) <= 41, 'a page of %d lines', len(text.split('\n')))
    rc, text, err = live.run([live.wcbpf, 'report', '--section', 'oncpu', '--json', rec.dir])
    check(rc == 0, 'status %s: %s', rc, err)
    oncpu = json.loads(text)['oncpu']
    total = sum(x['oncpu_ns'] for x in oncpu['functions'])
    check(total == oncpu['sampled_ns'] and total + oncpu['unsampled_ns'] == rec.threads[0].oncpu, 'sums: %d, %s', total,
          {k: v for k, v in oncpu.items() if k != 'functions'})
    f = sum(x['oncpu_ns'] for x in oncpu['functions'] if x['user_frames'][:1] == ['f'] and not x['in_kernel'])
    want = sum(us for frames, leaf, us in rec.wall if leaf == '[on-cpu]' and frames[-1] == 'f') * 1000
    check(f and close_to(f, want, 0.001, 20000), 'f: %d ns in the report, %d in the folded file', f, want)


def perf_shares(text, comm):
    """{function: share} of perf script's samples of a thread name, by any of the functions in a stack, and how many."""
    found, n = {}, 0
    for block in text.split('\n\n'):
        lines = block.strip().split('\n')
        if not lines or not lines[0].startswith(comm):
            continue
        n += 1
        for name in {line.split()[1].split('+')[0] for line in lines[1:] if len(line.split()) > 1}:
            found[name] = found.get(name, 0) + 1
    return {name: count / n for name, count in found.items()}, n


def test_beside_perf(live):
    """perf record samples the same run with the same clock: the same shares."""
    if not shutil.which('perf'):
        raise Skip('needs perf')
    data = live.path('perf.data')
    before = tracer_programs()
    p = live.record_start(live.work('wall threads'), '-F', '499',
                          wrap=('perf', 'record', '-q', '-e', 'cpu-clock', '-F', '499', '--call-graph', 'fp', '-o', data,
                                '--'))
    rec = live.finish(p, before)
    script = subprocess.run(['perf', 'script', '-i', data, '-F', 'comm,ip,sym'], stdout=subprocess.PIPE,
                            stderr=subprocess.DEVNULL, text=True, errors='replace').stdout
    compared = 0
    for comm, functions in (('computes', 'fg'), ('contends-a', 'h'), ('contends-b', 'h')):
        theirs, n = perf_shares(script, comm)
        tid = next(t.tid for t in rec.threads if t.comm == comm)
        ours, own = us_of(rec, comm, *ON_CPU), rec.thread(tid).samples
        if n < 20:
            continue
        for function in functions:
            got, want = us_of(rec, comm, '[on-cpu]', having=function) / ours, theirs.get(function, 0)
            error = sampling_error(want, n) + sampling_error(want, own)
            check(abs(got - want) <= error + 0.02, '%s of %s: %.3f, perf says %.3f', function, comm, got, want)
            live.figure('%s of %s: %.3f by %d samples, perf %.3f by %d', function, comm, got, own, want, n)
            compared += 1
    if not compared:
        raise Skip('perf gave no samples')
