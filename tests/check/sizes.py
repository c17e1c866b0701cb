#!/usr/bin/env python3
# SPDX-License-Identifier: (LGPL-2.1 OR BSD-2-Clause)
"""No function of more than 80 lines, no file of more than 900. (The style aims at 70 and 800.)"""

import re
import sys

from tap import Tap, c_files, read, self_test

FUNCTION_LINES_MAX = 80
FILE_LINES_MAX = 900
FOLDERS = ['bpf', 'src', 'tests']


def function_name(lines, brace):
    """The name before the parameters of the function whose body opens at the line of the brace."""
    head = ''
    for line in reversed(lines[max(0, brace - 6):brace]):
        if not line.strip() or line.startswith(('#', '}', '/*', ' */')) or line.rstrip().endswith(';'):
            break
        head = line + ' ' + head
    # BPF_PROG(name, ...) and the like take the name as their first argument.
    m = re.search(r'\bBPF_\w+\((\w+)', head) or re.search(r'(\w+)\(', re.sub(r'__attribute__\(\(.*?\)\)\)?', '', head))
    return m.group(1) if m else 'at line %d' % (brace + 1)


def functions(text):
    """(name, lines) of each; a body is what lies between "{" and "}" at the left margin."""
    lines, start = text.split('\n'), None
    for i, line in enumerate(lines):
        if line.rstrip() == '{':
            start = i
        elif line.rstrip() == '}' and start is not None:
            yield function_name(lines, start), i - start + 1
            start = None


def check(root):
    problems = []
    for path in c_files(root, FOLDERS):
        text = read(root, path)
        n = text.count('\n')
        if n > FILE_LINES_MAX:
            problems.append('%s: %d lines, more than %d' % (path, n, FILE_LINES_MAX))
        for name, n in functions(text):
            if n > FUNCTION_LINES_MAX:
                problems.append('%s: %s: %d lines, more than %d' % (path, name, n, FUNCTION_LINES_MAX))
    return problems


def main():
    body = '{\n' + '\tx++;\n' * (FUNCTION_LINES_MAX - 2) + '}\n'
    long_body = '{\n' + '\tx++;\n' * (FUNCTION_LINES_MAX - 1) + '}\n'
    tap = Tap()
    self_test(tap, 'long functions and files are found', check, {
        'src/util/good.c': 'int good(int x)\n' + body + '\nstruct s {\n' + '\tint x;\n' * 100 + '};\n',
        'src/util/bad.c': 'int good(int x)\n' + body + '\nstatic int bad(int x,\n\t\tint y)\n' + long_body,
        'bpf/x.bpf.c': 'SEC("tp_btf/sched_switch")\nint BPF_PROG(on_switch, int x)\n' + long_body,
        'tests/unit/good.c': '\n' * FILE_LINES_MAX,
        'tests/unit/bad.c': '\n' * (FILE_LINES_MAX + 1),
    }, ['src/util/bad.c: bad: 81 lines', 'bpf/x.bpf.c: on_switch: 81 lines', 'tests/unit/bad.c: 901 lines'])
    tap.result('sizes of functions and files', check(sys.argv[1]))
    tap.end()


if __name__ == '__main__':
    main()
