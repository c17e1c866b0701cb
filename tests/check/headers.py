#!/usr/bin/env python3
# SPDX-License-Identifier: (LGPL-2.1 OR BSD-2-Clause)
"""Each header compiles alone, and twice. The BPF side's fragments have one reader and one order: only wire.h of bpf/."""

import subprocess
import sys

from tap import Tap, c_files, self_test

FLAGS = ['-std=gnu11', '-D_GNU_SOURCE', '-DWCBPF_VERSION="0"', '-Wall', '-Wextra', '-Wno-pedantic', '-Werror', '-I.',
         '-Isrc', '-fsyntax-only', '-x', 'c', '-']


def check(root):
    problems = []
    headers = c_files(root, ['src'], ('.h',)) + [h for h in c_files(root, ['bpf'], ('.h',)) if h == 'bpf/wire.h']
    for header in headers:
        include = '#include "%s"\n' % header.removeprefix('src/')
        r = subprocess.run(['cc', *FLAGS], cwd=root, input=include * 2, capture_output=True, text=True)
        if r.returncode:
            error = next((line for line in r.stderr.split('\n') if 'error' in line), r.stderr)
            problems.append('%s does not compile alone: %s' % (header, error))
    return problems


def main():
    tap = Tap()
    self_test(tap, 'a header that needs another, or has no guard, is found', check, {
        'src/util/good.h': '#pragma once\n#include <stdint.h>\nstruct good { uint32_t a; };\n',
        'src/util/needy.h': '#pragma once\nstruct needy { uint32_t a; };\n',
        'src/util/bare.h': 'struct bare { int a; };\n',
        'bpf/wire.h': '#pragma once\nstruct wire { no_such_type a; };\n',
        'bpf/part.bpf.h': 'static u64 part;\n',
    }, ['src/util/needy.h', 'src/util/bare.h', 'bpf/wire.h'])
    tap.result('headers compile alone', check(sys.argv[1]))
    tap.end()


if __name__ == '__main__':
    main()
