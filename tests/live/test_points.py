# SPDX-License-Identifier: (LGPL-2.1 OR BSD-2-Clause)
"""Choke points: every call is counted, in threads, children, programs and libraries that come later; nothing stays
behind; what costs too much goes. The workload counts its own calls."""
import json
import os
import re
import signal
import subprocess

from live import check, tracer_programs

WORK = 'probed_work class=work ident={$arg2:string}'
LIBRARY = 'libprobed-lib.so:probed_library class=library'
NO_LIMIT = ('--max-overhead', '0')


def calls_of(text):
    """What the workload, and each program that it started, says of its own calls."""
    found = re.findall(r'^calls probed_work=(\d+) probed_library=(\d+) probed_rare=(\d+)$', text, re.M)
    check(found, 'the workload told no number: %r', text[-200:])
    return [sum(int(x[i]) for x in found) for i in range(3)]


def hits(rec, name):
    points = [p for p in rec.summary['choke_points']['points'] if p['name'] == name]
    check(points, 'no point %s: %s', name, rec.summary['choke_points'])
    return sum(p['entries'] for p in points), sum(p['exits'] for p in points)


def counted(live, line, *options, which=0, name='probed_work', **kw):
    """Records the workload; each call is an entry and an exit, each entry an op."""
    rec = live.record(live.work(line), *NO_LIMIT, *options, **kw)
    want = calls_of(rec.out)[which]
    check(hits(rec, name) == (want, want), '%s: hits %s of %d calls; %s', line, hits(rec, name), want,
          rec.summary['choke_points']['caveats'])
    i = rec.integrity
    check(i['ops'] == 2 * want and i['ops'] == i['recorded_ops'] + i['lost_ops'], '%d calls: %s', want, i)
    check(not i['unmatched_exits'] and not i['unwound_ops'], 'ops that did not end: %s', i)
    return rec, want


def test_threads(live):
    """Four threads, 100,000 calls."""
    rec, want = counted(live, 'probed threads 4 25000', '-e', WORK)
    check(want == 100000, '%d calls', want)
    costs = rec.summary['choke_points']
    live.figure('a hit costs %s ns, single-stepped %s ns, a value %s ns', costs['hit_ns'], costs['single_stepped_hit_ns'],
                costs['value_ns'])


def by_events(live, how):
    os.environ['WCBPF_UPROBES'] = how
    try:
        counted(live, 'probed threads 4 2000', '-e', WORK, lossy=True)
    finally:
        del os.environ['WCBPF_UPROBES']


def test_perf_events(live):
    """Without uprobe_multi, as before Linux 6.6: a perf event each."""
    by_events(live, 'cookie')


def test_forked_children(live):
    """Children that run no other program have the probes of their parent's from their first instruction."""
    counted(live, 'probed forks 8 500', '-e', WORK)


def test_executed_children(live):
    """Children that run the same program anew, for some ms."""
    counted(live, 'probed execs 8 500', '-e', WORK)


def test_library_loaded_later(live):
    """A library that comes by dlopen, and children that have it from their parent: each process has a link of its own."""
    rec, _ = counted(live, 'probed library 4 500 700', '-e', LIBRARY, which=1, name='probed_library', lossy=True)
    said = rec.summary['choke_points']['caveats'] + rec.summary['choke_points']['notes']
    check(any('ran already' in x for x in said), 'attached when the library was there, and not told: %s', said)


def test_strangers(live):
    """Somebody else runs the same program: it is probed in the traced process alone, and the stranger's calls are not there."""
    other = live.spawn(live.work('probed until'))
    live.until('runs', lambda: live.text(other))
    counted(live, 'probed threads 2 1000', '-e', WORK)
    other.send_signal(signal.SIGTERM)
    check(live.wait(other, 10) == 0, 'the other ended with %s', other.returncode)


def test_moved(live):
    """A thread that is not its process's first one runs another program: the link was to one that has gone."""
    other = live.spawn(live.work('probed until'))        # a stranger, so that each process has a link of its own
    live.until('runs', lambda: live.text(other))
    counted(live, 'probed moved 3 300 900', '-e', WORK, lossy=True)
    other.send_signal(signal.SIGTERM)
    live.wait(other, 10)


def test_attach_many_times(live):
    """Attached and detached under load: the target's output and end are as without."""
    rounds = live.attach_rounds()
    p = live.spawn(live.work('probed until'))
    live.until('runs', lambda: live.text(p))
    for _ in range(rounds):
        rec = live.attach('-p', str(p.pid), '-d', '100ms', *NO_LIMIT, '-e', WORK, lossy=True)
        entries, exits = hits(rec, 'probed_work')
        check(entries > 100 and abs(entries - exits) <= 4, '%d entries, %d exits', entries, exits)
    p.send_signal(signal.SIGTERM)
    check(live.wait(p, 10) == 0, 'the target ended with %s', p.returncode)
    lines = live.text(p).split('\n')
    n = int(lines[-3].split()[1])
    check(lines[:n] == [str(i) for i in range(n)], 'the output of the target has changed')


def test_killed(live):
    """C50: nothing of a killed wcbpf stays, and the target runs on."""
    before = tracer_programs()
    p = live.spawn(live.work('probed until'))
    live.until('runs', lambda: live.text(p))
    a = live.attach_start('-p', str(p.pid), *NO_LIMIT, '-e', WORK)
    live.started(a)
    a.send_signal(signal.SIGKILL)
    live.wait(a, 20)
    live.nothing_left(before)
    said = live.text(p)
    live.until('runs on', lambda: len(live.text(p)) > len(said))
    p.send_signal(signal.SIGTERM)
    check(live.wait(p, 10) == 0, 'the target ended with %s', p.returncode)
    calls_of(live.text(p))
    for path in ('/sys/kernel/tracing/uprobe_events', '/sys/kernel/debug/tracing/uprobe_events'):
        if os.path.exists(path):
            with open(path) as f:
                check('wcbpf' not in f.read(), 'left in %s', path)


def priced(live, rec):
    """Each choke point cost its hits times the price that was measured, and its values times theirs; report says no other."""
    c = rec.summary['choke_points']
    for p in c['points']:
        n = p['entries'] + p['exits'] + p['by_others']
        want = ((n - p['single_stepped']) * (c['hit_ns'] or 0) + p['single_stepped'] * (c['single_stepped_hit_ns'] or 0) +
                p['entries'] * p['values'] * (c['value_ns'] or 0))
        check(p['cost_ns'] == want, '%s cost %d ns, not %d: %s', p['name'], p['cost_ns'], want, c)
    check(c['cost_ns'] == sum(p['cost_ns'] for p in c['points']), 'the sum: %s', c)
    rc, out, err = live.run([live.wcbpf, 'report', '--json', '--section', 'health', rec.dir])
    check(rc == 0, 'report: %s', err)
    said = sorted((p['name'], p['hits'], p['cost_ns'], p['detached_ns']) for p in json.loads(out)['health']['choke_points'])
    known = sorted((p['name'], p['entries'] + p['exits'] + p['by_others'], p['cost_ns'], p['detached_ns']) for p in c['points'])
    check(said == known, 'report says %s, the summary %s', said, known)
    return c


def test_prices(live):
    """A point with a value, one without, one that is never hit."""
    rec, want = counted(live, 'probed threads 2 20000', '-e', WORK, '-e', 'probed_rare class=rare')
    c = priced(live, rec)
    work = [p for p in c['points'] if p['name'] == 'probed_work'][0]
    check(work['values'] >= 1 and c['value_ns'] and work['cost_ns'] > 2 * want * c['hit_ns'], 'its values cost nothing: %s', c)


def test_budget(live):
    """A probe that takes more of a CPU than is allowed is detached, which is said everywhere; the program goes on."""
    rec = live.record(live.work('probed threads 2 1500000'), '--max-overhead', '2%', '-e', WORK, lossy=True)
    point = [p for p in rec.summary['choke_points']['points'] if p['name'] == 'probed_work'][0]
    want = calls_of(rec.out)[0]
    check(point['detached_ns'], 'not detached: %s', point)
    check(0 < point['entries'] < want, '%d hits of %d calls', point['entries'], want)
    told = rec.header['wcbpf'].get('detached_probes')
    check(told and told[0]['name'] == 'probed_work' and told[0]['at_ns'] == point['detached_ns'], 'the dump says %s', told)
    check(any('was detached' in x for x in rec.summary['choke_points']['caveats']), 'no caveat')
    check('was detached' in rec.diagnostics and 'was detached' in rec.err, 'not said: %s', rec.diagnostics)
    counted = [x['detached_probes'] for x in (rec.summary['capture_integrity'], rec.header['wcbpf']['integrity'])]
    check(counted == [1, 1] and rec.summary['capture_integrity']['status'] == 'partial', 'the verdict: %s', counted)
    check('1 probe(s) detached' in rec.summary['caveat_message'], 'the caveat: %s', rec.summary['caveat_message'])
    # Beside it a kernel stack may be missing: another tracer took one on that CPU when the thread was preempted.
    check(re.search(r'PARTIAL: .*\b1 probe\(s\) detached', rec.err), 'at the end: %s', rec.err)
    priced(live, rec)
    rc, page, err = live.run([live.wcbpf, 'report', rec.dir])
    check(rc == 0 and 'detached: probed_work at ' in page, 'the first page: %s %s', page[:300], err)
    live.figure('detached after %.0f ms and %d calls', point['detached_ns'] / 1e6, point['entries'])


def one_goes(live, how, line):
    """The hot one of two probes is detached: the other is counted all the while, no hit lost and none counted twice."""
    if how:
        os.environ['WCBPF_UPROBES'] = how
    try:
        rec = live.record(live.work(line), '--max-overhead', '4%', '-e', 'probed_work', '-e', 'probed_rare', lossy=True)
    finally:
        os.environ.pop('WCBPF_UPROBES', None)
    gone = [p['name'] for p in rec.summary['choke_points']['points'] if p['detached_ns']]
    check(gone == ['probed_work'], 'detached are %s: %s', gone, rec.summary['choke_points'])
    want = calls_of(rec.out)
    check(0 < hits(rec, 'probed_work')[0] < want[0], 'of %d calls %s', want[0], hits(rec, 'probed_work'))
    check(hits(rec, 'probed_rare') == (want[2], want[2]), 'of %d calls %s', want[2], hits(rec, 'probed_rare'))


def test_one_of_two_goes(live):
    one_goes(live, '', 'probed two 3 700')


def test_one_of_two_events_goes(live):
    one_goes(live, 'cookie', 'probed two 3 700')


def test_few_files(live):
    """C48: 24 open files are enough, or it says what to do."""
    rec = live.record(live.work('probed threads 2 100'), *NO_LIMIT, '-e', WORK, rc=None, strict=False, lossy=True,
                      wrap=('prlimit', '--nofile=24:24', 'setpriv', '--bounding-set=-sys_resource',
                            '--inh-caps=-sys_resource') if os.path.exists('/usr/bin/setpriv') else ())
    if rec.rc == 0:
        check(hits(rec, 'probed_work') == (200, 200), 'hits %s', hits(rec, 'probed_work'))
    else:
        check('ulimit -n' in rec.err, 'status %s: %s', rec.rc, rec.err[-300:])


def test_nothing_to_probe(live):
    """A function that isn't there is told; it is no failure of the command, but one of what was asked for."""
    rec = live.record(live.work('probed threads 1 10'), '-e', 'no_such_function_anywhere', lossy=True)
    check(any('no_such_function_anywhere' in x for x in rec.summary['choke_points']['caveats']), '%s',
          rec.summary['choke_points'])
    check(rec.summary['capture_integrity']['status'] != 'complete' or (
        rec.summary['caveat_kind'] == 'choke_points_incomplete' and
        'no_such_function_anywhere' in rec.summary['caveat_message']), 'caveat %s', rec.summary['caveat_kind'])
    for section in ([], ['--section', 'health']):
        rc, out, _ = live.run([live.wcbpf, 'report', *section, rec.dir])
        check(rc == 0 and ('PROBES' in out or 'caveats' in out) and 'no_such_function_anywhere' in out, 'status %s: %s', rc, out[:500])


def test_nothing_to_probe_strictly(live):
    """--strict wants all that was asked for."""
    rc, _, err = live.run([live.wcbpf, 'record', '--strict', '-o', live.folder(), '-e', 'no_such_function_anywhere', '--',
                           'true'])
    check(rc == 125 and 'no_such_function_anywhere' in err.strip().split('\n')[-1], 'status %s: %s', rc, err)
    rc, _, err = live.run([live.wcbpf, 'record', '--strict', '-o', live.folder(), '-e', 'probed_work', '--',
                           *live.work('probed threads 1 10')])
    check(rc == 0 or 'something was lost' in err, 'status %s: %s', rc, err)


def test_told_before_it_runs(live):
    """What can't be probed is said before the workload's first instruction, not when it is over."""
    rc, _, err = live.run([live.wcbpf, 'record', '-o', live.folder(), '-e', 'no_such_function_anywhere', '--',
                           'sh', '-c', 'echo the workload runs >&2'])
    told, runs = err.find('no_such_function_anywhere'), err.find('the workload runs')
    check(rc == 0 and 0 <= told < runs, 'status %s: %s', rc, err)
    check(err.count('no_such_function_anywhere') == 1, 'told more than once: %s', err)


def test_told_before_an_attach(live):
    target = live.spawn(live.work('probed threads 1 2000000000'))
    _, _, err = live.run([live.wcbpf, 'attach', '-o', live.folder(), '-d', '200ms', '-e', 'no_such_function_anywhere',
                          '-p', str(target.pid), '--', 'sh', '-c', 'echo the timer runs >&2'])
    check(0 <= err.find('no_such_function_anywhere') < err.find('the timer runs'), '%s', err)
    live.kill_tree(target.pid)


def test_dry_run(live):
    """Functions where nm has them: of the program and of the libraries that it will map. Nothing is run."""
    line = live.work('probed threads 1 10')
    libc = next(x.split()[2] for x in subprocess.check_output(['ldd', line[0]], text=True).splitlines() if 'libc.so' in x)
    for option, value, file, name in (('-e', 'probed_work', line[0], 'probed_work'),
                                      ('--probes', 'pthread', libc, 'pthread_mutex_lock')):
        rc, out, err = live.run([live.wcbpf, 'record', '--dry-run', option, value, '--', *line])
        check(rc == 0 and 'calls probed_work=' not in out + err, 'status %s: %s %s', rc, out[-200:], err[-200:])
        nm = subprocess.check_output(['nm', '-S', '--defined-only', *(['-D'] if file == libc else []), file], text=True)
        begin, size = next((int(x.split()[0], 16), int(x.split()[1], 16)) for x in nm.splitlines()
                           if len(x.split()) == 4 and x.split()[3].split('@')[0] == name)
        of_it = out[out.index(name):]
        entry = int(re.search(r'entry\s+(0x[0-9a-f]+)', of_it).group(1), 16)
        check(begin <= entry < begin + size, '%s of %s is at 0x%x, %d bytes: %s', name, file, begin, size, of_it[:300])


MANY = 2000


def many_functions(live):
    """A program with 2,000 functions that can be told apart, each called twice."""
    source = os.path.join(live.folder(), 'many.c')
    os.makedirs(os.path.dirname(source), exist_ok=True)
    names = ['%s%03d' % (letter, i) for letter in 'ab' for i in range(MANY // 2)]
    with open(source, 'w') as f:
        for i, name in enumerate(names):
            f.write('__attribute__((noinline)) int %s(int x) { __asm__ volatile(""); return x + %d; }\n' % (name, i))
        f.write('int main(void) { int x = 0; for (int i = 0; i < 2; i++) {\n%s\n} return x == 1; }\n'
                % '\n'.join('x ^= %s(i);' % name for name in names))
    program = source[:-2]
    subprocess.check_call(['cc', '-O1', '-o', program, source])
    return program


def test_many_functions(live):
    """2,000 functions: attached and detached in a moment, each call counted."""
    program = many_functions(live)
    rec = live.record([program], *NO_LIMIT, '-vv', '-e', 'program:a*', '-e', 'program:b*')
    points = [p for p in rec.summary['choke_points']['points'] if p['file'] == program]
    wrong = [p for p in points if (p['entries'], p['exits']) != (2, 2)]
    check(len(points) >= MANY and not wrong, '%d points: %s; %s', len(points), wrong[:3],
          rec.summary['choke_points']['caveats'])
    attached = [int(x) for x in re.findall(r'addresses of pid \d+ attached in (\d+) us', rec.err)]
    detached = [int(x) for x in re.findall(r'a link detached in (\d+) us', rec.err)]
    check(attached and detached, 'no times: %s', rec.err[-500:])
    live.figure('%d functions attached in %.1f ms, detached in %.1f ms', len(points), max(attached) / 1000,
                max(detached) / 1000)
    check(max(attached) < live.seconds(1) * 1e6 and max(detached) < live.seconds(1) * 1e6, '%s %s us', attached, detached)


def test_too_many_events(live):
    """With an event for each address only as many functions are probed as can be left again, whole ones."""
    program = many_functions(live)
    os.environ['WCBPF_UPROBES'] = 'cookie'
    try:
        rec = live.record([program], *NO_LIMIT, '-e', 'program:a*', lossy=True)
    finally:
        del os.environ['WCBPF_UPROBES']
    points = [p for p in rec.summary['choke_points']['points'] if p['file'] == program and p['entries']]
    check(50 <= len(points) <= 200 and all((p['entries'], p['exits']) == (2, 2) for p in points), '%d points: %s',
          len(points), points[:3])
    check(any('name fewer' in x for x in rec.summary['choke_points']['caveats']), '%s',
          rec.summary['choke_points']['caveats'])
