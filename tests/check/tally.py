#!/usr/bin/env python3
# SPDX-License-Identifier: (LGPL-2.1 OR BSD-2-Clause)
"""The closing line of scripts/test counts what it should: scripts/tally on made-up results."""

import json
import os
import subprocess
import sys
import tempfile

from tap import Tap

# (name, meson's lines, logs of the runners, the closing line)
CASES = [
    ('all passed',
     [('u / a', 'OK', '1..2\nok 1 - x\nok 2 - y\n'), ('plain', 'OK', '')],
     {'live.log': 'ok p\nlive: 1 passed, 0 failed, 0 skipped\n'}, '4 passed, 0 failed, 0 skipped'),
    ("Criterion's lines, which have no numbers",
     [('a', 'FAIL', 'TAP version 13\n1..3\n# Criterion\nok - s::x  (0.00s)\nnot ok - s::y  (0.00s)\n'
       'ok - s::z # SKIP no disk\n')], {}, '1 passed, 1 failed, 1 skipped'),
    ('a crash after which nothing came', [('a', 'FAIL', '1..5\nok 1 - x\nok 2 - y\n')], {},
     '2 passed, 3 failed, 0 skipped'),
    ('a crash at the end', [('a', 'ERROR', '1..1\nok 1 - x\n')], {}, '1 passed, 1 failed, 0 skipped'),
    ('a time limit without any output', [('a', 'TIMEOUT', None), ('b', 'OK', '')], {}, '1 passed, 1 failed, 0 skipped'),
    ('a skipped program', [('a', 'SKIP', ''), ('b', 'OK', '1..1\nok 1\n')], {}, '1 passed, 0 failed, 1 skipped'),
    ('a runner that ended early', [('b', 'OK', '')], {'vm.log': 'ok a\nTraceback\n'}, '1 passed, 1 failed, 0 skipped'),
    ('a runner that says nothing', [('b', 'OK', '')], {'vm.log': ''}, '1 passed, 1 failed, 0 skipped'),
    ('a runner whose status differs from its words', [('b', 'OK', '')],
     {'vm.log': 'vm: 3 passed, 0 failed, 0 skipped\n', 'vm.failed': 'x'}, '4 passed, 1 failed, 0 skipped'),
    ('nothing ran', [], {}, '0 passed, 1 failed, 0 skipped'),
    ('no log at all', None, {}, '0 passed, 2 failed, 0 skipped'),
]


def problems_of(root, meson, logs, want):
    with tempfile.TemporaryDirectory(prefix='wcbpf-check.') as folder:
        testlog = os.path.join(folder, 'testlog.json')
        if meson is not None:
            with open(testlog, 'w') as f:
                for name, result, output in meson:
                    f.write(json.dumps({'name': name, 'result': result, 'stdout': output}) + '\n')
        own = os.path.join(folder, 'logs')
        os.mkdir(own)
        for name, text in logs.items():
            with open(os.path.join(own, name), 'w') as f:
                f.write(text)
        r = subprocess.run([os.path.join(root, 'scripts', 'tally'), testlog, own], capture_output=True, text=True)
    last = r.stdout.rstrip('\n').split('\n')[-1]
    problems = [] if last == want else ['"%s" instead of "%s"' % (last, want)]
    if r.returncode != (0 if ' 0 failed' in want else 1):
        problems.append('exit status %d %s' % (r.returncode, r.stderr))
    return problems


def main():
    tap = Tap()
    for name, meson, logs, want in CASES:
        tap.result(name, problems_of(sys.argv[1], meson, logs, want))
    tap.end()


if __name__ == '__main__':
    main()
