#!/usr/bin/env python3
# SPDX-License-Identifier: (LGPL-2.1 OR BSD-2-Clause)
"""How long wcbpf's analyzer takes, and how much memory: "scripts/bench analyze".

For each number of events a recording of a simulated server is made (analyze-speed, the same each time), written as a
dump and given to the report as people would; beside it, in the same run, what anybody has reads the same file line by
line: wc, Python's json, jq. Then the stages, as analyze-speed times them within one process. Targets on two CPUs:
4 million events, all classes by three factors, in 5 s, with 20 of them simulated in 10 s, in 1 GB; 10 million in 30 s
and 2.5 GB; twice the events, twice the time.
"""

import argparse
import os
import shutil
import subprocess
import sys
import tempfile
import time

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
JSON_READER = 'import json, sys\nfor line in open(sys.argv[1]):\n    json.loads(line)\n'
MB = 1 << 20


class Run:
    """One command: wall and CPU seconds, the most memory it had at once."""

    def __init__(self, command, text=False):
        begin = time.monotonic()
        out = subprocess.PIPE if text else subprocess.DEVNULL
        p = subprocess.Popen(command, stdout=out, stderr=subprocess.PIPE)
        self.text = p.stdout.read().decode() if text else ''
        errors = p.stderr.read().decode(errors='replace')
        _, status, usage = os.wait4(p.pid, 0)
        p.returncode = os.waitstatus_to_exitcode(status)
        self.wall = time.monotonic() - begin
        self.cpu = usage.ru_utime + usage.ru_stime
        self.rss = usage.ru_maxrss * 1024
        if p.returncode:
            raise RuntimeError('%s: exit %d: %s' % (' '.join(command[:3]), p.returncode, errors.strip()))


def rows(args, dump):
    """(what, command): first the peers."""
    wcbpf = [args.wcbpf, 'report', '--no-pager']
    found = [('wc -l', ['wc', '-l', dump]), ('python3, json.loads a line', ['python3', '-c', JSON_READER, dump])]
    if shutil.which('jq') and args.jq:
        found.append(('jq, a line', ['jq', '-c', '.e', dump]))
    return found + [
        ('report --section health', wcbpf + ['--section', 'health', dump]),
        ('report, the page', wcbpf + [dump]),
        ('report --section whatif', wcbpf + ['--section', 'whatif', dump]),
        ('report --json, all sections', wcbpf + ['--json', dump]),
        ('the page, from gzip', wcbpf + [dump + '.gz']),
    ]


def measure(args, folder, events):
    dump = os.path.join(folder, '%d.ndjson' % events)
    stages = Run([args.speed, str(events), dump], text=True).text
    with open(dump + '.gz', 'wb') as f:
        subprocess.run(['gzip', '-1', '-nc', dump], stdout=f, check=True)
    size = os.path.getsize(dump)
    print('\n%d events, %d MB' % (events, size // MB))
    print('%-30s %9s %9s %9s %16s' % ('', 'wall s', 'CPU s', 'RSS MB', 'CPU to python3'))
    peer = None
    for what, command in rows(args, dump):
        results = [Run(command) for _ in range(args.rounds)]
        best = min(results, key=lambda r: r.wall)
        if what.startswith('python3'):
            peer = best.cpu
        print('%-30s %9.2f %9.2f %9d %16s' % (what, best.wall, best.cpu, max(r.rss for r in results) // MB,
                                            '%.2f' % (best.cpu / peer) if peer else ''), flush=True)
    print('\nstages of analyze-speed, one process:\n' + stages, end='', flush=True)
    os.unlink(dump)
    os.unlink(dump + '.gz')


def main():
    p = argparse.ArgumentParser(prog='bench analyze', description=__doc__,
                                formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument('events', type=int, nargs='*', default=[1000000, 4000000, 10000000])
    p.add_argument('-n', '--rounds', type=int, default=1, help='of each command; the best counts')
    p.add_argument('--jq', action='store_true', help='jq too, which takes a while')
    p.add_argument('--wcbpf', default=os.path.join(ROOT, 'build', 'src', 'wcbpf'))
    args = p.parse_args()
    args.speed = os.path.join(os.path.dirname(args.wcbpf), '..', 'tests', 'bench', 'analyze-speed')
    for program in (args.wcbpf, args.speed):
        if not os.access(program, os.X_OK):
            sys.exit('bench: %s is not built (meson setup build && ninja -C build)' % program)
    with tempfile.TemporaryDirectory(prefix='wcbpf-bench.', dir='/var/tmp') as folder:
        for events in args.events:
            measure(args, folder, events)


if __name__ == '__main__':
    main()
