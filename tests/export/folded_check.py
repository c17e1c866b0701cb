# SPDX-License-Identifier: (LGPL-2.1 OR BSD-2-Clause)
"""Folded lines as flamegraph.pl takes them."""

import os
import re
import subprocess

TOOL = '/usr/share/perl5/Devel/NYTProf/flamegraph.pl'    # Debian's libdevel-nytprof-perl has it
TITLE = re.compile(r'<title>(.*) \(([\d,]+) ns, [\d.]+%\)')

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


def available():
    return os.path.exists(TOOL)


def flamegraph(path):
    """What flamegraph.pl makes of a file: {(frame's name, its time): how many boxes}, and its complaints."""
    r = subprocess.run(['perl', TOOL, '--minwidth', '0', '--countname', 'ns', path], capture_output=True)
    boxes = {}
    text = r.stdout.decode('utf-8', 'replace')      # it cuts labels within letters, not titles
    for name, value in TITLE.findall(text):
        key = name, int(value.replace(',', ''))
        boxes[key] = boxes.get(key, 0) + 1
    return boxes, [r.stderr.decode()] if r.returncode or r.stderr else []
