#!/usr/bin/env python3
# SPDX-License-Identifier: (LGPL-2.1 OR BSD-2-Clause)
"""wcbpf report, diff, explain and whatif over dumps written by hand, against text worked out by hand.

A case is a file NAME.golden: comments (how the numbers come about), then
"$ wcbpf ARGS", then "exit N", then what stdout must be, to the letter. Lines
"2> TEXT" before "exit" are all of stderr.
"""

import difflib
import gzip
import json
import os
import random
import re
import shlex
import subprocess
import sys
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
LINES_MAX = 40
COLUMNS_MAX = 100


def parse(path):
    case = {'args': None, 'stderr': '', 'exit': 0}
    lines = open(path, encoding='utf-8').read().split('\n')
    for i, line in enumerate(lines):
        if line.startswith('$ wcbpf '):
            case['args'] = shlex.split(line[8:])
        elif line.startswith('2> '):
            case['stderr'] += line[3:] + '\n'
        elif line.startswith('exit '):
            case['exit'] = int(line[5:])
            case['stdout'] = '\n'.join(lines[i + 1:])
            return case
        elif line and not line.startswith('#'):
            raise ValueError('%s:%d: neither comment, command nor exit' % (path, i + 1))
    raise ValueError('%s: no exit line' % path)


def run(wcbpf, args):
    env = dict(os.environ, LC_ALL='C.UTF-8', NO_COLOR='', DEBUGINFOD_URLS=' ')
    return subprocess.run([wcbpf] + args, cwd=HERE, stdin=subprocess.DEVNULL, capture_output=True, env=env, timeout=120)


def check_case(wcbpf, case):
    r = run(wcbpf, case['args'])
    problems = []
    if r.returncode != case['exit']:
        problems.append('exit %d, expected %d' % (r.returncode, case['exit']))
    for name, got, expected in (('stdout', r.stdout, case['stdout']), ('stderr', r.stderr, case['stderr'])):
        got = got.decode('utf-8', 'backslashreplace')
        problems += list(difflib.unified_diff(expected.split('\n'), got.split('\n'), 'expected ' + name, 'got',
                                              lineterm='', n=0))
    more = {'--all', '--section', '--top', '--json', '--events', '-h'}
    if case['args'][0] == 'report' and not set(case['args']) & more and r.stdout.count(b'\n') > LINES_MAX:
        problems.append('%d lines: more than a page' % r.stdout.count(b'\n'))
    if case['args'][0] == 'report' and not {'--json', '--events', '-h'} & set(case['args']):
        for line in r.stdout.decode('utf-8', 'replace').split('\n'):
            if len(line) > COLUMNS_MAX:
                problems.append('%d columns: %s' % (len(line), line))
    return problems


def check_json(wcbpf):
    """The JSON has the page's numbers: those of app.golden."""
    r = run(wcbpf, ['report', '--json', 'app.ndjson'])
    problems = ['exit %d' % r.returncode] if r.returncode else []
    doc = json.loads(r.stdout.decode('utf-8'))

    def expect(what, got, expected):
        if got != expected:
            problems.append('%s: %r, expected %r' % (what, got, expected))

    expect('kind', doc['kind'], 'wcbpf_report')
    expect('schema_version', doc['schema_version'], 1)
    expect('duration', doc['duration_ns'], 2000000000)
    expect('integrity', doc['capture_integrity'],
           {'status': 'complete', 'attempted': 14, 'recorded': 11, 'below_min': 3, 'inferred_switches': 0, 'losses': {},
            'file_problem': None, 'dump_is_cut': False, 'bad_lines': 0, 'missing_events': 0})
    expect('user stacks', doc['user_stacks'], {'count': 7, 'complete': 6})
    expect('wall', {k: v for k, v in doc['wall'].items() if not isinstance(v, dict)},
           {'accounted': True, 'process_count': 1, 'thread_count': 4, 'lifetime_ns': 8000000000, 'oncpu_ns': 4220000000,
            'runnable_ns': 40000000, 'blocked_ns': 3740000000, 'lost_ns': 0, 'states_are_of_ops': False,
            'states_total_ns': 8000000000, 'states_gap_ns': 0})
    expect('states', doc['wall']['states_ns'],
           {'running': 4220000000, 'runnable': 40000000, 'lock': 490000000, 'disk': 400000000, 'net': 0, 'pipe': 50000000,
            'timer': 300000000, 'child': 0, 'work': 0, 'idle': 2500000000, 'unknown': 0})
    expect('reasons', [(x['reason'], x['wait_kind'], x['idle_by_design'], x['count'], x['blocked_ns'], x['runnable_ns'])
                       for x in doc['reasons']],
           [('sync', 'condvar', True, 1, 1500000000, 0), ('poll', 'epoll', True, 1, 1000000000, 0),
            ('io', 'fsync', False, 2, 400000000, 0), ('lock', 'mutex', False, 2, 390000000, 20000000),
            ('sleep', 'sleep', False, 1, 300000000, 0), ('lock', 'rwlock', False, 1, 100000000, 0),
            ('io', 'pipe', False, 1, 50000000, 0), ('cpu', '', False, 1, 0, 20000000)])
    expect('resources', [(x['name'], x['blocked_ns'], x['longest_ns']) for x in doc['resources']],
           [('/data/log', 400000000, 200000000), ('futex:100:0x10', 390000000, 290000000), ('', 300000000, 300000000),
            ('futex:100:0x20', 100000000, 100000000), ('pipe:[77]', 50000000, 50000000)])
    expect('wakers', {x['name']: x['count'] for x in doc['wakers']},
           {'disk interrupt': 2, 'timer': 1, 'worker (tid 102)': 1, 'worker (tid 101)': 1, 'nobody yet (open at the end)': 1,
            'tid 900 (not recorded)': 1})
    expect('stack', doc['stacks'][1]['user_frames'],
           ['__lll_lock_wait', 'pthread_mutex_lock', 'work(int, char)', 'worker_main', 'start_thread'])
    expect('other names', doc['stacks'][1]['user_other_names'], [0, 1, 12, 0, 0])
    expect('kernel stack', doc['stacks'][1]['kernel_frames'], ['__schedule', 'schedule', 'futex_wait', 'do_futex'])
    expect('open', doc['open'],
           [{'pid': 100, 'tid': 101, 'thread_name': 'worker', 'reason': 'lock', 'wait_kind': 'rwlock',
             'name': 'futex:100:0x20', 'idle_by_design': False, 'age_ns_min': 100000000, 'owner_tid': None,
             'waits_for_tid': None, 'root_tid': None, 'deadlock': 0, 'waits_for_deadlock': 0}])
    expect('threads', [(x['tid'], x['oncpu_ns']) for x in doc['threads']],
           [(102, 1870000000), (101, 1600000000), (103, 550000000), (100, 200000000)])
    return problems


def check_json_sections(wcbpf):
    """Every section has its key, and numbers that the pages of path.golden and calls.golden have, as integers."""
    problems = []

    def expect(what, got, expected):
        if got != expected:
            problems.append('%s: %r, expected %r' % (what, got, expected))

    def document(*args):
        r = run(wcbpf, ['report', '--json', *args])
        return json.loads(r.stdout.decode('utf-8'), parse_float=lambda x: problems.append('not an integer: ' + x)
                          if args[-1] != 'path.ndjson' else float(x))

    names = run(wcbpf, ['report', '--section', 'nosuch']).stderr.decode().split('there are ')[1].split(' and all')[0]
    doc = document('path.ndjson')
    expect('sections', [n for n in names.strip(' ,').split(', ') if n not in doc], [])
    expect('path', [(x['state'], x['name'], x['ns'], x['stretches']) for x in doc['path']['by_class']],
           [('on CPU', 'b', 390000000, 1), ('on CPU', 'a', 230000000, 2), ('on CPU', 'main', 200000000, 2),
            ('disk', 'a', 150000000, 1), ('runnable', 'a', 20000000, 2), ('runnable', 'b', 10000000, 1)])
    expect('sums', (doc['path']['sum_ns'], doc['path']['makespan_ns'], doc['health']['states_gap_ns'],
                    doc['health']['path_sum_ns'], doc['health']['waits_outside_ops_ns']), (10**9, 10**9, 0, 10**9, 0))
    fill = [x for x in doc['whatif']['savings'] if x['of'] == 'function' and x['name'] == 'fill'][0]
    # To a microsecond: factors are kept with so many digits.
    expect('fill', [(round(f['saves_ns'], -3), round(f['saves_low_ns'], -3), round(f['saves_high_ns'], -3), f['grade'])
                    for f in fill['factors']][1:],
           [(195000000, 195000000, 195000000, 'B'), (39000000, 39000000, 39000000, 'B')])
    # Without b's computing a has the mutex at 300, 200 earlier; then its own way is as long. b, which ends at 800, bounds
    # what a's computing and its disk come to. For wcprof's rules waits for a mutex are as long as they were.
    expect('drag', [x['drag_ns'] and round(x['drag_ns'], -3) for x in doc['path']['by_class']],
           [200000000, 100000000, 200000000, 100000000, None, None])
    expect('fill by wcprof', [f['wcprof_ns'] for f in fill['factors']], [900000000] * 3)
    expect('wcprof of all', min(f['wcprof_ns'] for x in doc['whatif']['savings'] for f in x['factors']) > 0, True)
    expect('matrix', [(x['waiter']['thread_name'], x['by'].get('thread_name', x['by'].get('device')), x['blocked_ns'])
                      for x in doc['matrix']],
           [('main', 'a', 800000000), ('a', 'b', 200000000), ('b', 'timer', 200000000), ('a', 'disk', 150000000)])
    expect('locks', [(x['name'], x['waits'], x['waited_ns'], x['depth_max']) for x in doc['locks']],
           [('futex:10:77:0x40', 1, 200000000, 1)])
    expect('knots', [[m['who'].get('device') for m in x['members']] for x in doc['graph']['knots']], [['timer'], ['disk']])
    expect('cpu', (doc['cpu']['cpus'], doc['cpu']['wake_ns'], doc['cpu']['preempted_ns'], doc['cpu']['migrations']),
           (2, 20000000, 20000000, 3))
    expect('dead air', [(x['pid'], x['dead_air_ns'], x['longest_start_ns']) for x in doc['dead']['processes']],
           [(0, 50000000, 800000000), (10, 50000000, 800000000)])
    expect('chains', [(len(x['steps']), x['root'], x['root_device'], x['blocked_ns']) for x in doc['chains']],
           [(1, 'ran', None, 200000000), (1, 'device', 'timer', 200000000), (1, 'device', 'disk', 150000000)])
    doc = document('--section', 'classes', '--section', 'tail', '--section', 'clients', 'calls.ndjson')
    query = [x for x in doc['classes'] if x['class'] == 'Query.run'][0]
    expect('class', [query[k] for k in ('kind', 'count', 'total_ns', 'p50_ns', 'p95_ns', 'p99_ns', 'longest_ns', 'children_ns',
                                        'duplicates', 'duplicates_ns', 'outcomes')],
           ['call', 40, 468000000, 10000000, 10000000, 60000000, 60000000, 72000000, 31, 410000000,
            {'hit': 4, 'executed': 36}])
    # Means of one op, as the page has them, though of the middle tenth there are several.
    median = doc['tail']['median']
    expect('median', (median['ops'], median['total_ns'], median['ns']['running'], median['ns']['disk']),
           (5, 10000000, 7000000, 3000000))
    expect('tail', (doc['tail']['ops'], doc['tail']['p99_ns'], doc['tail']['slowest_ops'], doc['tail']['slowest']['ns']['lock']),
           (40, 60000000, [77], 50000000))
    expect('clients', {x['client']: (x['ops'], x['active_ns'], x['blocked_ns']) for x in doc['clients']},
           {'20:88': (1, 1200000000, 732000000), 'web': (30, 268000000, 78000000), 'batch': (10, 200000000, 130000000)})
    return problems


def worded(ns):
    """A time as pages write it."""
    sign, ns = ('-', -ns) if ns < 0 else ('', ns)
    s = ns / 1e9
    if ns == 0:
        return '0'
    if ns < 1000:
        return sign + '%d ns' % ns
    if ns < 10**6:
        return sign + '%.1f us' % (ns / 1e3)
    if ns < 10**9:
        return sign + '%.1f ms' % (ns / 1e6)
    return sign + ('%.2f s' % s if s < 10 else '%.1f s' % s)


def integers(value):
    if isinstance(value, dict):
        value = list(value.values())
    if isinstance(value, list):
        return [n for v in value for n in integers(v)]
    return [value] if isinstance(value, int) and not isinstance(value, bool) else []


# What a page works out of the numbers that JSON has: means of a group, differences, sums of a column.
DERIVED = {'tail', 'chains', 'health', 'cpu', 'graph'}
TIME = re.compile(r'(?<![\w.])-?\d+(?:\.\d+)? (?:ns|us|ms|s)\b')


def check_same_numbers(wcbpf, dump):
    """Each time in the text of a section is, to the letter, one that its JSON has."""
    problems = []
    names = run(wcbpf, ['report', '--section', 'nosuch']).stderr.decode().split('there are ')[1].split(' and all')[0]
    for name in names.strip(' ,').split(', '):
        args = ['report', '--section', name, dump] + (['--below', 'work|main|query'] if name == 'below' else [])
        text = run(wcbpf, args).stdout.decode('utf-8', 'replace')
        doc = json.loads(run(wcbpf, args + ['--json']).stdout.decode('utf-8'))
        if name not in doc:
            problems.append('%s: no such key' % name)
            continue
        known = {worded(n) for n in integers(doc[name])} | {worded(n) for n in integers(doc['wall'] if 'wall' in doc else [])}
        known |= {worded(n) for n in (doc['duration_ns'],)}
        if name == 'reasons':
            for reason in {x['reason'] for x in doc[name]}:
                known.add(worded(sum(x['blocked_ns'] or x['runnable_ns'] for x in doc[name] if x['reason'] == reason)))
        body = text.split('\n\n', 1)[1] if '\n\n' in text else ''
        body = '\n'.join(line for line in body.split('\n') if not re.match(r'Hidden as|\* marks', line))
        found = TIME.findall(body)
        unknown = [t for t in found if t not in known]
        if name in DERIVED:
            unknown = unknown if found and len(unknown) == len(found) else []
        if unknown:
            problems.append('%s: in the text only: %s' % (name, ', '.join(unknown[:5])))
    return problems


# Objects whose keys are words of the recording's: counters of losses (wcbpf-output.5), outcomes, ways to end.
KEYED_BY_DATA = {'losses', 'outcomes', 'user_stack_endings', 'kernel_stack_endings'}


def json_keys(value):
    if isinstance(value, list):
        return {k for v in value for k in json_keys(v)}
    if not isinstance(value, dict):
        return set()
    return set(value) | {k for name, v in value.items() if name not in KEYED_BY_DATA for k in json_keys(v)}


def check_json_keys(wcbpf):
    """Each key of each report's JSON is a word of the manual page."""
    keys, documents = set(), 0
    for name in sorted(n for n in os.listdir(HERE) if n.endswith('.golden')):
        args = parse(os.path.join(HERE, name))['args']
        if args[0] == 'report' and not {'--events', '--json', '-h'} & set(args):
            out = run(wcbpf, args + ['--json']).stdout.decode('utf-8')
            documents += bool(out.startswith('{'))
            keys |= json_keys(json.loads(out)) if out.startswith('{') else set()
    with open(os.path.join(HERE, '..', '..', 'man', 'wcbpf-report.1'), encoding='utf-8') as f:
        words = set(re.findall(r'[a-z0-9_]+', re.sub(r'\\f.', ' ', f.read())))
    problems = ['man/wcbpf-report.1 does not tell of ' + k for k in sorted(keys - words)]
    return problems + ([] if documents > 20 and len(keys) > 200 else ['%d documents, %d keys' % (documents, len(keys))])


def check_json_verbs(wcbpf):
    """diff, explain and whatif: the numbers of diff.golden, explain.golden and path_whatif.golden."""
    problems = []

    def expect(what, got, expected):
        if got != expected:
            problems.append('%s: %r, expected %r' % (what, got, expected))

    def document(*args):
        r = run(wcbpf, list(args) + ['--json'])
        return json.loads(r.stdout.decode('utf-8')) if r.returncode == 0 else problems.append('exit %d' % r.returncode)

    doc = document('diff', 'path.ndjson', 'path2.ndjson')
    expect('diff', (doc['kind'], [(x['a'], x['b'], x['difference'], x['noise']) for x in doc['differences']
                                  if x['name'] in ('makespan', 'path:thread:a', 'disk')]),
           ('wcbpf_diff', [(10**9, 950000000, -50000000, None), (150000000, 100000000, -50000000, None),
                           (400000000, 350000000, -50000000, None)]))
    # Three recordings, two of them alike: the mean of a is 950 + 50 / 3, the variance of that 2/9 x 50^2 / 2; of
    # b there is none, so two degrees of freedom are left: Student's t is 4.30 at 95%.
    doc = document('diff', 'path.ndjson,path2.ndjson,path2.ndjson', 'path2.ndjson,path2.ndjson')
    got = [x for x in doc['differences'] if x['name'] == 'makespan'][0]
    expect('noise', (got['a'], got['b'], got['noise'], got['beyond_noise']), (966666667, 950000000, 71666667, False))
    doc = document('diff', 'path.ndjson,path.ndjson', 'path2.ndjson,path2.ndjson')
    got = [x for x in doc['differences'] if x['name'] == 'makespan'][0]
    expect('no noise', (got['difference'], got['noise'], got['beyond_noise']), (-50000000, 0, True))
    doc = document('explain', '77', 'calls.ndjson')
    expect('explain', (doc['op']['id'], doc['op']['client'], doc['total_ns'], doc['ns']['lock'], doc['shorter_ones'],
                       doc['parents'], [x['id'] for x in doc['tree']], len(doc['waits'])),
           (77, 'batch', 60000000, 50000000, 38, [2, 1], [77, 78], 2))
    doc = document('whatif', 'resource:fsync * 0.4', 'path.ndjson')
    expect('whatif', (doc['makespan_ns'], round(doc['saves_ns'], -3), round(doc['outcome']['e1_ns'], -3),
                      round(doc['outcome']['e2_ns'], -3)), (10**9, 90000000, 910000000, 910000000))
    return problems


def check_json_sampled(wcbpf):
    """The JSON has all functions, of the threads that pass the filter."""
    r = run(wcbpf, ['report', '--json', '--section', 'oncpu', '--comm', 'worker', 'sampled.ndjson'])
    problems = ['exit %d' % r.returncode] if r.returncode else []
    oncpu = json.loads(r.stdout.decode('utf-8'))['oncpu']
    got = [(x['user_frames'][0], x['kernel_frames'][:1], x['in_kernel'], x['samples'], x['oncpu_ns'], x['stack_count'])
           for x in oncpu.pop('functions')]
    expected = [('crc32', [], False, 277, 2770000000, 1), ('parse', [], False, 50, 500000000, 1),
                ('parse', ['copy_page'], True, 10, 100000000, 1), ('app+0x777', [], False, 10, 100000000, 1)]
    if got != expected:
        problems.append('functions: %r, expected %r' % (got, expected))
    if oncpu != {'sample_hz': 99, 'samples': 347, 'sampled_ns': 3470000000, 'unsampled_ns': 0}:
        problems.append('sums: %r' % oncpu)
    return problems


def check_spoilt(wcbpf):
    """Numbers that nobody wrote, and bytes that are none: whatever the file says, there is an answer or an error."""
    problems = []
    pick = random.Random(4711)
    for name in ('path', 'calls', 'engine'):
        text = open(os.path.join(HERE, name + '.ndjson'), 'rb').read()
        for i in range(12):
            spoilt = bytearray(text)
            for _ in range(pick.randint(1, 4)):
                at = pick.randrange(len(spoilt))
                if pick.random() < 0.25:
                    spoilt[at] = pick.randrange(256)
                    continue
                digits = [k for k in range(at, min(at + 200, len(spoilt))) if chr(spoilt[k]).isdigit()]
                if digits:
                    spoilt[digits[0]:digits[0]] = b'9' * pick.randint(0, 16)
            with tempfile.NamedTemporaryFile(suffix='.ndjson') as f:
                f.write(spoilt)
                f.flush()
                for args in (['report', '--all', f.name], ['report', '--json', f.name],
                             ['whatif', 'no runqueue', f.name], ['explain', '1', f.name]):
                    r = run(wcbpf, args)
                    if r.returncode not in (0, 1, 2) or b'Sanitizer' in r.stderr:
                        problems.append('%s %d: %s: %d %s' % (name, i, args[0], r.returncode, r.stderr[-300:]))
    return problems


def check_refusal(wcbpf, args, words):
    verbs = ('report', 'diff', 'explain', 'whatif')
    r = run(wcbpf, args if args[0] in verbs else ['report'] + args)
    err = r.stderr.decode('utf-8', 'backslashreplace')
    problems = []
    if r.returncode != 2:
        problems.append('exit %d, expected 2' % r.returncode)
    if r.stdout or err.count('\n') != 1 or words not in err:
        problems.append('stdout %r, stderr %r: expected one line with %r' % (r.stdout, err, words))
    return problems


def laid_out(text):
    """The same JSON values, otherwise: name -> bytes."""
    values = [json.loads(line) for line in text.splitlines() if line.strip()]
    compact = ''.join(json.dumps(v, separators=(',', ':')) + '\n' for v in values)
    return {
        'as it is': text.encode(), 'packed': gzip.compress(text.encode()), 'behind a mark': b'\xef\xbb\xbf' + text.encode(),
        'on one line': ' '.join(compact.splitlines()).encode(), 'with no blanks': compact.replace('\n', '').encode(),
        'indented': '\n'.join(json.dumps(v, indent=2) for v in values).encode(),
        'packed and indented': gzip.compress('\n'.join(json.dumps(v, indent=2) for v in values).encode()),
    }


def check_layouts(wcbpf, name):
    """However the values of a dump are laid out, and also where they can be read only once, the report is one."""
    with open(os.path.join(HERE, name), encoding='utf-8') as f:
        forms = laid_out(f.read())
    want = run(wcbpf, ['report', name, '--section', 'all']).stdout
    problems = [] if want else ['no report']
    with tempfile.TemporaryDirectory(prefix='wcbpf-layouts.') as folder:
        for form, text in forms.items():
            path = os.path.join(folder, name)
            with open(path, 'wb') as f:
                f.write(text)
            for how, args, stdin in (('a file', [path], None), ('standard input', ['-'], text), ('a pipe', ['/dev/stdin'], text)):
                r = subprocess.run([wcbpf, 'report', '--section', 'all'] + args, input=text if stdin else None,
                                   stdin=None if stdin else subprocess.DEVNULL, capture_output=True, timeout=60, cwd=folder)
                if r.returncode or r.stdout.replace(path.encode(), name.encode()) != want:
                    problems.append('%s from %s: status %d: %s' % (form, how, r.returncode, (r.stderr or r.stdout)[:200]))
    return problems


def check_page(wcbpf, name):
    """A full page stays a page where the command's line is broken for want of columns."""
    with open(os.path.join(HERE, name), encoding='utf-8') as f:
        header, rest = f.read().split('\n', 1)
    header = json.loads(header)
    header['wcbpf'].update({'command': ['/long' * 20], 'exit_status': 11})
    r = subprocess.run([wcbpf, 'report', '-'], input=(json.dumps(header) + '\n' + rest).encode(), capture_output=True,
                       timeout=60)
    lines = r.stdout.decode().split('\n')[:-1]
    if '/long' not in lines[0] or len(lines[0]) > COLUMNS_MAX or not lines[1].startswith('    '):
        return ['the first line is not broken: %r' % lines[:2]]
    return ['%d lines' % len(lines)] if len(lines) > LINES_MAX else []


def check_outputs(wcbpf):
    """What doesn't get out is told with its reason and fails, in each form; and so is a file that can't be made."""
    problems = []
    full = open('/dev/full', 'wb')
    gone = 'exec "$0" "$@" >&-'
    for args, to, words in ((['report', 'app.ndjson'], full, 'No space left'),
                            (['report', '--json', 'app.ndjson'], full, 'No space left'),
                            (['report', 'folder'], None, 'Bad file descriptor'),
                            (['report', '--json', 'folder'], None, 'Bad file descriptor'),
                            (['diff', 'folder', 'path.ndjson'], None, 'Bad file descriptor'),
                            (['timeline', 'app.ndjson', '-o', '/nosuch/x'], subprocess.DEVNULL, '/nosuch/x: No such')):
        argv = [wcbpf] + args if to else ['sh', '-c', gone, wcbpf] + args
        r = subprocess.run(argv, cwd=HERE, stdin=subprocess.DEVNULL, stdout=to or subprocess.DEVNULL,
                           stderr=subprocess.PIPE, timeout=60)
        if r.returncode != 1 or words not in r.stderr.decode():
            problems.append('%s: %d %s' % (' '.join(args), r.returncode, r.stderr.decode()))
    full.close()
    return problems


def main():
    wcbpf = os.path.abspath(sys.argv[1])
    tests = []
    for name in sorted(os.listdir(HERE)):
        if name.endswith('.golden'):
            tests.append((name, lambda n=name: check_case(wcbpf, parse(os.path.join(HERE, n)))))
    tests.append(('json', lambda: check_json(wcbpf)))
    tests.append(('json of samples', lambda: check_json_sampled(wcbpf)))
    tests.append(('json of each section', lambda: check_json_sections(wcbpf)))
    for dump in ('app.ndjson', 'path.ndjson', 'calls.ndjson', 'stuck.ndjson', 'engine.ndjson', 'sampled.ndjson'):
        tests.append(('text and json of ' + dump, lambda d=dump: check_same_numbers(wcbpf, d)))
    tests.append(('json and the manual page', lambda: check_json_keys(wcbpf)))
    tests.append(('json of the other verbs', lambda: check_json_verbs(wcbpf)))
    for dump in ('calls.ndjson', 'sampled.ndjson'):
        tests.append(('layouts of ' + dump, lambda d=dump: check_layouts(wcbpf, d)))
    for dump in ('path.ndjson', 'path2.ndjson', 'hidden.ndjson', 'golang.ndjson'):
        tests.append(('a page of ' + dump, lambda d=dump: check_page(wcbpf, d)))
    tests.append(('outputs', lambda: check_outputs(wcbpf)))
    tests.append(('spoilt dumps', lambda: check_spoilt(wcbpf)))
    for args, words in ((['nosuch'], "nosuch: No such file or directory: name a recording's folder or its dump"),
                        (['whatif', 'app.ndjson', 'main * 0.5'], "app.ndjson is a recording; what is to change comes before it: wcbpf "
                         "whatif 'main * 0.5' app.ndjson"),
                        (['explain', 'app.ndjson', 'main'], "wcbpf explain 'main' app.ndjson"),
                        (['empty'], 'empty: no wcprof.ndjson or wcprof.ndjson.gz in it'),
                        (['refused'], 'not runnable on this host; blocked time was not captured: no CAP_BPF'),
                        (['--debuginfod', 'app.ndjson'], 'DEBUGINFOD_URLS names no server'),
                        (['version2.ndjson'], 'schema_version is 2, only 1 can be read'),
                        (['run.py'], 'run.py: line 1 is no wcprof dump header'),
                        (['app.ndjson', 'hostile.ndjson'], 'is of another run than'),
                        (['--time', '3s,2s', 'app.ndjson'], '--time 3s,2s: not a START,STOP'),
                        (['--time', '3s,', 'app.ndjson'], 'the recording is 2.000 s long'),
                        (['--below', '(', 'app.ndjson'], '--below (: '),
                        (['--fail-if', 'lock', 'app.ndjson'], '--fail-if lock: not NAME OP VALUE'),
                        (['whatif', 'main * 1e308', 'app.ndjson'], '"main * 1e308": the factor is too large'),
                        (['diff', 'app.ndjson'], 'diff needs two recordings'),
                        (['diff', 'app.ndjson', 'nosuch'], 'nosuch: No such file or directory'),
                        (['explain', '4711', 'app.ndjson'], 'there is no op 4711 in app.ndjson'),
                        (['explain', 'exec:nosuch', 'app.ndjson'], 'there is no op of class exec:nosuch'),
                        (['whatif', 'nosuch * 0.5', 'app.ndjson'], 'nothing of the recording is called "nosuch"'),
                        (['whatif', '--engine', 'e3', 'x', 'app.ndjson'], '--engine e3: there are'),
                        (['--top', '0', 'app.ndjson'], '--top 0'), (['--section', 'x'], '--section x'),
                        (['app.ndjson', '--pid', 'x'], '--pid x'), (['--frobnicate'], '--frobnicate: no such option')):
        tests.append(('refuses ' + ' '.join(args), lambda a=args, w=words: check_refusal(wcbpf, a, w)))
    failed = 0
    for i, (name, test) in enumerate(tests):
        problems = test()
        failed += bool(problems)
        print('%sok %d - %s' % ('not ' if problems else '', i + 1, name))
        for p in problems:
            print('# ' + p)
    print('1..%d' % len(tests))
    sys.exit(1 if failed else 0)


if __name__ == '__main__':
    main()
