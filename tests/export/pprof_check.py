# SPDX-License-Identifier: (LGPL-2.1 OR BSD-2-Clause)
"""Profiles as go tool pprof says them."""

import os
import re
import shutil
import subprocess


def available():
    return shutil.which('go') is not None


def raw(path):
    r = subprocess.run(['go', 'tool', 'pprof', '-raw', path], capture_output=True, text=True,
                       env=dict(os.environ, PPROF_TMPDIR=os.path.dirname(path)), timeout=120)
    if r.returncode:
        raise AssertionError('go tool pprof: ' + r.stderr)
    out = {'types': None, 'samples': [], 'locations': {}, 'mappings': []}
    lines = iter(r.stdout.split('\n'))
    section = None
    for line in lines:
        if line in ('Samples:', 'Locations', 'Mappings'):
            section = line
            if line == 'Samples:':
                out['types'] = next(lines).split()
        elif section == 'Samples:':
            m = re.match(r'^((?:\s+\d+)+): ([\d ]*)$', line)
            if m:
                out['samples'].append([[int(v) for v in m.group(1).split()], [int(v) for v in m.group(2).split()], ''])
            elif line.strip():
                out['samples'][-1][2] += line
        elif section == 'Locations':
            m = re.match(r'^\s+(\d+): 0x([0-9a-f]+)(?: M=(\d+))?(.*)$', line)
            if m:
                last = int(m.group(1))
                out['locations'][last] = []
                rest = m.group(4)
            else:
                rest = line
            if rest.strip():
                out['locations'][last].append(rest)
        elif section == 'Mappings' and line.strip():
            out['mappings'].append(line)
    return out
