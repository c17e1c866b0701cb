# SPDX-License-Identifier: (LGPL-2.1 OR BSD-2-Clause)
"""Folded lines as flamegraph.pl takes them."""

import re

FLAMEGRAPH_PL = re.compile(r'^(.*)\s+?(\d+(?:\.\d*)?)$')  # what flamegraph.pl takes for a line


def read(path):
    with open(path, encoding='utf-8', newline='\n') as f:
        text = f.read()
    problems = [] if text.endswith('\n') else ['no newline at the end']
    lines = []
    for line in text.split('\n')[:-1]:
        m = FLAMEGRAPH_PL.match(line)
        if not m or int(m.group(2)) <= 0 or any(ord(c) < 32 for c in line) or re.search(r'\s\d+$', m.group(1)):
            problems.append('line %r' % line)
        else:
            lines.append((m.group(1).split(';'), int(m.group(2))))
    return lines, problems
