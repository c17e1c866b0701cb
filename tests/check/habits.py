#!/usr/bin/env python3
# SPDX-License-Identifier: (LGPL-2.1 OR BSD-2-Clause)
"""Habits that a machine can see: licence line, no goto in src/, no typedef of a struct, no drawer for odds and ends."""

import os
import re
import sys

from tap import Tap, c_files, read, self_test, without_comments

LICENCE = 'SPDX-License-Identifier: (LGPL-2.1 OR BSD-2-Clause)'
DRAWERS = {'utils', 'common', 'helpers', 'misc'}


def line_of(text, m):
    return text.count('\n', 0, m.start()) + 1


def check_licences(root):
    return ['%s: the first line is not the licence line' % path for path in c_files(root, ['bpf', 'src', 'tests'])
            if LICENCE not in read(root, path).split('\n', 1)[0]]


def check_gotos(root):
    problems = []
    for path in c_files(root, ['src']):
        text = without_comments(read(root, path))
        problems += ['%s:%d: goto' % (path, line_of(text, m)) for m in re.finditer(r'\bgoto\b', text)]
    return problems


def check_typedefs(root):
    problems = []
    for path in c_files(root, ['bpf', 'src', 'tests']):
        text = without_comments(read(root, path))
        problems += ['%s:%d: typedef of a struct' % (path, line_of(text, m))
                     for m in re.finditer(r'\btypedef\s+(struct|union)\b', text)]
    return problems


def check_names(root):
    problems = []
    for path in c_files(root, ['bpf', 'src', 'tests']):
        stem = os.path.basename(path).split('.')[0]
        if DRAWERS & set(re.split(r'[-_]', stem)):
            problems.append('%s: a file is named for what it does' % path)
    for path in c_files(root, ['src']):
        text = without_comments(read(root, path))
        # At the left margin: a definition or declaration, not a call of libelf.
        problems += ['%s:%d: %s: the prefix elf_ is libelf\'s' % (path, line_of(text, m), m.group(1))
                     for m in re.finditer(r'^[A-Za-z][\w *]*?\b(elf_\w+)\(', text, re.M)]
    return problems


def main():
    root = sys.argv[1]
    tap = Tap()
    spdx = '/* %s */\n' % LICENCE
    self_test(tap, 'a missing licence line is found', check_licences, {
        'src/a/good.c': spdx, 'bpf/good.c': '// ' + LICENCE + '\n',
        'src/a/none.c': 'int x;\n', 'bpf/late.h': '\n' + spdx, 'tests/empty.h': '',
    }, ['src/a/none.c', 'bpf/late.h', 'tests/empty.h'])
    tap.result('licence lines', check_licences(root))
    self_test(tap, 'a goto is found', check_gotos, {
        'src/a/good.c': '/* goto\n goto */ char *s = "goto x"; // goto\nint goto_x, my_goto;\nchar q = \'"\';\n',
        'src/a/bad.c': '/* "\n*/\nchar *s = "\\"";\n\tgoto out;\n',
        'bpf/allowed.c': 'goto out;\n',
    }, ['src/a/bad.c:4'])
    tap.result('no goto in src', check_gotos(root))
    self_test(tap, 'a typedef of a struct is found', check_typedefs, {
        'src/a/good.c': 'typedef int (*f)(struct x *);\n/* typedef struct */\n',
        'src/a/bad.h': 'typedef struct {\n\tint x;\n} x_t;\n',
        'bpf/bad.h': '\ntypedef\n\tunion u u_t;\n',
    }, ['src/a/bad.h:1', 'bpf/bad.h:2'])
    tap.result('no typedef of a struct', check_typedefs(root))
    self_test(tap, 'a wrong name is found', check_names, {
        'src/a/good.c': 'static int f(void)\n{\n\treturn elf_version(1);\n}\n',
        'src/a/bad.c': 'static int elf_open(void)\n{\n}\n',
        'src/a/utils.c': '', 'tests/test_helpers.c': '', 'src/a/uncommon.c': '',
    }, ['src/a/bad.c:1: elf_open', 'src/a/utils.c', 'tests/test_helpers.c'])
    tap.result('names', check_names(root))
    tap.end()


if __name__ == '__main__':
    main()
