#!/usr/bin/env python3
# SPDX-License-Identifier: (LGPL-2.1 OR BSD-2-Clause)
"""A folder of src/ includes lower ranks only, and of another folder only its door; libraries have their rooms."""

import os
import re
import sys

from tap import Tap, c_files, read, self_test

RANKS = {
    'util': 0,
    'model': 1, 'proc': 1, 'objfile': 1,
    'sym': 2, 'unwind': 2, 'probe': 2, 'dump': 2, 'analyze': 2, 'assemble': 2, 'replay': 2,
    'capture': 3, 'output': 3, 'export': 3, 'serve': 3,
    'cmd': 4,
}
# Who may include a library's headers.
LIBRARIES = [
    (r'bpf/', {'capture'}),
    (r'(libelf|gelf|nlist|dwarf|libdw)\.h|elfutils/', {'objfile', 'unwind', 'sym'}),
    (r'Zy(dis|core)/', {'objfile'}),
    (r'microhttpd\.h', {'serve'}),
]
GENERATED = {'wcbpf.skel.h': 'capture'}

INCLUDE = re.compile(r'^[ \t]*#[ \t]*include[ \t]+(?:"([^"]+)"|<([^>]+)>)', re.M)


def own_include_problem(root, folder, target):
    if target in GENERATED:
        return None if folder == GENERATED[target] else 'only %s may include it' % GENERATED[target]
    if target == 'bpf/wire.h':
        return None
    room, slash, name = target.partition('/')
    if not slash:
        return 'an own header is named with its folder: "%s/%s"' % (folder, target)
    if room not in RANKS:
        return 'no such folder in src/'
    if not os.path.exists(os.path.join(root, 'src', target)):
        return 'no such header'
    if room == folder:
        return None
    if RANKS[room] >= RANKS[folder]:
        return '%s (rank %d) may include lower ranks only, %s has %d' % (folder, RANKS[folder], room, RANKS[room])
    # Each header of util is a door.
    if room != 'util' and name != room + '.h':
        return 'the door of %s is %s/%s.h' % (room, room, room)
    return None


def library_problem(folder, target):
    for pattern, rooms in LIBRARIES:
        if re.match(pattern, target) and folder not in rooms:
            return 'only %s may include it' % ', '.join(sorted(rooms))
    return None


def check(root):
    problems = []
    for path in c_files(root, ['src']):
        parts = path.split(os.sep)
        folder = parts[1]
        if len(parts) != 3 or folder not in RANKS:
            problems.append('%s: not in a folder of known rank (see RANKS in tests/check/ranks.py)' % path)
            continue
        text = read(root, path)
        for m in INCLUDE.finditer(text):
            own, library = m.groups()
            problem = own_include_problem(root, folder, own) if own else library_problem(folder, library)
            if problem:
                line = text.count('\n', 0, m.start()) + 1
                problems.append('%s:%d: %s: %s' % (path, line, own or library, problem))
    return problems


def main():
    tap = Tap()
    self_test(tap, 'each broken rule is found', check, {
        'src/util/log.h': '',
        'src/model/model.h': '#include "util/log.h"\n',
        'src/model/inner.h': '#include <libelf.h>\n',
        'src/objfile/objfile.h': '#include <libelf.h>\n#include <elf.h>\n',
        'src/dump/dump.h': '#include "model/model.h"\n#include "bpf/wire.h"\n',
        'src/dump/up.c': '  #  include "output/output.h"\n',
        'src/dump/beside.c': '#include "sym/sym.h"\n',
        'src/dump/window.c': '#include "model/inner.h"\n',
        'src/dump/bare.c': '#include "dump.h"\n',
        'src/dump/gone.c': '#include "model/gone.h"\n',
        'src/sym/sym.h': '#include <Zydis/Zydis.h>\n',
        'src/output/output.h': '#include "dump/dump.h"\n',
        'src/output/loads.c': '#include <bpf/libbpf.h>\n#include "wcbpf.skel.h"\n',
        'src/capture/capture.c': '#include <bpf/libbpf.h>\n#include "wcbpf.skel.h"\n#include "output/output.h"\n',
        'src/cmd/main.c': '#include "output/output.h"\n#include "util/log.h"\n',
        'src/extra/x.c': '',
    }, ['src/model/inner.h:1: libelf.h', 'src/dump/up.c:1: output/output.h', 'src/dump/beside.c:1: sym/sym.h',
        'src/dump/window.c:1: model/inner.h', 'src/dump/bare.c:1: dump.h', 'src/dump/gone.c:1: model/gone.h',
        'src/output/loads.c:1: bpf/libbpf.h', 'src/output/loads.c:2: wcbpf.skel.h',
        'src/capture/capture.c:3: output/output.h', 'src/sym/sym.h:1: Zydis/Zydis.h', 'src/extra/x.c: not in a folder'])
    tap.result('ranks and doors', check(sys.argv[1]))
    tap.end()


if __name__ == '__main__':
    main()
