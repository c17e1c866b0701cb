#!/usr/bin/env python3
# SPDX-License-Identifier: (LGPL-2.1 OR BSD-2-Clause)
"""embed.py OUT.c PROFILE...: the texts of the profiles as C, by name."""
import os
import sys

out, paths = sys.argv[1], sorted(sys.argv[2:], key=os.path.basename)
with open(out, 'w') as f:
    f.write('/* Made by embed.py. */\n#include "probe/set.h"\n\nconst struct builtin_text builtin_texts[] = {\n')
    for path in paths:
        with open(path, 'rb') as profile:
            text = profile.read()
        f.write('\t{"%s", (const char[]){' % os.path.basename(path).rsplit('.', 1)[0])
        f.write(','.join(str(b) for b in text))
        f.write(',0}, %d},\n' % len(text))
    f.write('};\nconst size_t builtin_text_n = %d;\n' % len(paths))
