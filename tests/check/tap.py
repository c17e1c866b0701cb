# SPDX-License-Identifier: (LGPL-2.1 OR BSD-2-Clause)
"""What the checks share: the TAP lines that meson counts, a made-up tree for self-tests, C text without comments."""

import os
import re
import sys
import tempfile


class Tap:
    def __init__(self):
        self.n = 0
        self.failed = 0

    def result(self, name, problems):
        """One test: passes if there is no problem."""
        self.n += 1
        self.failed += bool(problems)
        print('%sok %d - %s' % ('not ' if problems else '', self.n, name))
        for p in problems:
            print('# ' + p)

    def skip(self, name, reason):
        self.n += 1
        print('ok %d - %s # SKIP %s' % (self.n, name, reason))

    def end(self):
        print('1..%d' % self.n)
        sys.exit(1 if self.failed else 0)


def self_test(tap, name, check, files, expected):
    """check() over a tree of the given files must report exactly the expected problems (parts of their text)."""
    with tempfile.TemporaryDirectory(prefix='wcbpf-check.') as root:
        for path, text in files.items():
            os.makedirs(os.path.dirname(os.path.join(root, path)), exist_ok=True)
            with open(os.path.join(root, path), 'w') as f:
                f.write(text)
        problems = check(root)
    wrong = ['not reported: ' + e for e in expected if not any(e in p for p in problems)]
    wrong += ['reported without cause: ' + p for p in problems if not any(e in p for e in expected)]
    tap.result('self-test: ' + name, wrong)


def c_files(root, folders, suffixes=('.c', '.h')):
    """Paths below root, in order."""
    found = []
    for folder in folders:
        for path, dirs, names in os.walk(os.path.join(root, folder)):
            dirs.sort()
            found += [os.path.relpath(os.path.join(path, n), root) for n in sorted(names) if n.endswith(suffixes)]
    return found


def read(root, path):
    with open(os.path.join(root, path), encoding='utf-8') as f:
        return f.read()


def without_comments(text):
    """Comments and the insides of strings become blanks; lines stay where they are."""
    def blank(m):
        return re.sub(r'[^\n]', ' ', m.group(0))
    return re.sub(r'/\*.*?\*/|//[^\n]*|"(?:\\.|[^"\\\n])*"|\'(?:\\.|[^\'\\\n])*\'', blank, text, flags=re.S)
