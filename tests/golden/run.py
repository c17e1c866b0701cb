#!/usr/bin/env python3
# SPDX-License-Identifier: (LGPL-2.1 OR BSD-2-Clause)
"""wcbpf report over dumps written by hand, against text worked out by hand.

A case is a file NAME.golden: comments (how the numbers come about), then
"$ wcbpf ARGS", then "exit N", then what stdout must be, to the letter. Lines
"2> TEXT" before "exit" are all of stderr.
"""

import difflib
import json
import os
import shlex
import subprocess
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
LINES_MAX = 40


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
    if not set(case['args']) & {'--all', '--section', '--top', '--json', '-h'} and r.stdout.count(b'\n') > LINES_MAX:
        problems.append('%d lines: more than a page' % r.stdout.count(b'\n'))
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
            'file_problem': None, 'dump_is_cut': False, 'bad_lines': 0})
    expect('user stacks', doc['user_stacks'], {'count': 7, 'complete': 6})
    expect('wall', doc['wall'],
           {'accounted': True, 'process_count': 1, 'thread_count': 4, 'lifetime_ns': 8000000000, 'oncpu_ns': 4220000000,
            'runnable_ns': 40000000, 'blocked_ns': 3740000000, 'lost_ns': 0})
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
             'name': 'futex:100:0x20', 'idle_by_design': False, 'age_ns_min': 100000000, 'owner_tid': None}])
    expect('threads', [(x['tid'], x['oncpu_ns']) for x in doc['threads']],
           [(102, 1870000000), (101, 1600000000), (103, 550000000), (100, 200000000)])
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


def check_refusal(wcbpf, args, words):
    r = run(wcbpf, ['report'] + args)
    err = r.stderr.decode('utf-8', 'backslashreplace')
    problems = []
    if r.returncode != 2:
        problems.append('exit %d, expected 2' % r.returncode)
    if r.stdout or err.count('\n') != 1 or words not in err:
        problems.append('stdout %r, stderr %r: expected one line with %r' % (r.stdout, err, words))
    return problems


def main():
    wcbpf = os.path.abspath(sys.argv[1])
    tests = []
    for name in sorted(os.listdir(HERE)):
        if name.endswith('.golden'):
            tests.append((name, lambda n=name: check_case(wcbpf, parse(os.path.join(HERE, n)))))
    tests.append(('json', lambda: check_json(wcbpf)))
    tests.append(('json of samples', lambda: check_json_sampled(wcbpf)))
    for args, words in ((['nosuch'], 'nosuch: No such file or directory'),
                        (['empty'], 'empty: no wcprof.ndjson or wcprof.ndjson.gz in it'),
                        (['refused'], 'not runnable on this host; blocked time was not captured: no CAP_BPF'),
                        (['--debuginfod', 'app.ndjson'], 'DEBUGINFOD_URLS names no server'),
                        (['version2.ndjson'], 'schema_version is 2, only 1 can be read'),
                        (['run.py'], 'run.py: line 1 is no wcprof dump header'),
                        (['app.ndjson', 'engine.ndjson'], 'merging dumps is not supported'),
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
