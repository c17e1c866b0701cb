#!/usr/bin/env python3
# SPDX-License-Identifier: (LGPL-2.1 OR BSD-2-Clause)
"""The help of each subcommand and its man page know the same options, each subcommand has a page, and each page fits
a terminal of 80 columns. The page of report knows each key of JSON that its source names.

  manpages.py ROOT WCBPF
"""

import os
import re
import shutil
import subprocess
import sys

from tap import Tap

OPTION = re.compile(r'(?<![\w-])(--[a-z][a-z0-9-]*[a-z0-9]|-[A-Za-z])(?![\w-])')
# Lines of "wcbpf --help" that begin with a subcommand.
VERB = re.compile(r'^ +(?:wcbpf )?([a-z]+)\b', re.M)


def help_options(text):
    """Options that a line of the help begins with: "  -o, --output DIR  ..."."""
    found = set()
    for line in text.split('\n'):
        m = re.match(r'^ +(-.*?)(?:  |$)', line)
        if m:
            found |= set(OPTION.findall(m.group(1)))
    return found


def man_plain(source):
    """The page's source without fonts and escapes."""
    text = re.sub(r'^\.\\".*$', '', source, flags=re.M)
    text = re.sub(r'\\f(?:[A-Z]|\[\w*\]|\(\w\w)', '', text)
    return text.replace('\\-', '-').replace('\\&', '').replace('\\(hy', '-').replace('\\ ', ' ')


def man_options(source):
    """Options that the page defines: in the line (the tag) after each .TP."""
    lines, found = man_plain(source).split('\n'), set()
    for before, tag in zip(lines, lines[1:]):
        if re.match(r'\.T[PQ]\b', before):
            tag = re.sub(r'^\.[A-Z]+ ', '', tag).replace('"', '')
            if tag.startswith('-'):
                found |= set(OPTION.findall(tag))
    return found


def compare(verb, help_text, source):
    in_help, in_man = help_options(help_text), man_options(source)
    problems = ['%s: %s is in the help, not in the man page' % (verb, o) for o in sorted(in_help - in_man)]
    problems += ['%s: %s is in the man page, not in the help' % (verb, o) for o in sorted(in_man - in_help)]
    if not in_help:
        problems.append('%s: no option found in the help' % verb)
    return problems


def overview_verbs(text):
    return sorted(set(VERB.findall(text)))


def run(wcbpf, *args):
    return subprocess.run([wcbpf, *args], capture_output=True, text=True, timeout=30)


def check(root, wcbpf):
    overview = run(wcbpf, '--help')
    # "help" itself has no options; wcbpf.1 tells of it.
    verbs = [v for v in overview_verbs(overview.stdout) if v != 'help' and run(wcbpf, 'help', v).returncode == 0]
    problems = []
    if overview.returncode or not {'record', 'attach', 'report', 'doctor'} <= set(verbs):
        problems.append('wcbpf --help: exit %d, subcommands %s' % (overview.returncode, ' '.join(verbs)))
    for verb in verbs:
        page = os.path.join(root, 'man', 'wcbpf-%s.1' % verb)
        if not os.path.exists(page):
            problems.append('%s: no man/wcbpf-%s.1' % (verb, verb))
            continue
        with open(page, encoding='utf-8') as f:
            problems += compare(verb, run(wcbpf, 'help', verb).stdout, f.read())
    return problems


# A key as the source writes one: json_kv_uint_nz(j, "goid", ..), json_key(j, "waiter").
KEY = re.compile(r'\bjson_(?:kv_\w+|key)\(\w+, "(\w+)"')


def unknown_keys(source, page):
    return sorted(set(KEY.findall(source)) - set(re.findall(r'[a-z0-9_]+', man_plain(page))))


def check_keys(root):
    source, folder = '', os.path.join(root, 'src', 'cmd')
    for name in sorted(os.listdir(folder)):
        if re.match(r'report.*\.c$', name):
            with open(os.path.join(folder, name), encoding='utf-8') as f:
                source += f.read()
    with open(os.path.join(root, 'man', 'wcbpf-report.1'), encoding='utf-8') as f:
        found = unknown_keys(source, f.read())
    problems = ['wcbpf-report.1 does not tell of the key ' + k for k in found]
    return problems + ([] if len(set(KEY.findall(source))) > 200 else ['hardly a key found in %s' % folder])


def self_test_keys():
    source = 'json_kv_uint_nz(j, "goid", g);\n\tjson_key(j, "own_ns");\n\tjson_kv_bool(j, key, true);\n'
    page = '\\fBgoid\\fR, of\n.BR own_ns .\n'
    wrong = [] if unknown_keys(source, page) == [] else ['good: %s' % unknown_keys(source, page)]
    return wrong + ([] if unknown_keys(source, page.replace('own_ns', 'own_nsx')) == ['own_ns'] else ['not found: own_ns'])


def format_faults(source):
    """What groff, as man(1) runs it on 80 columns, warns of; and lines that are longer."""
    r = subprocess.run(['groff', '-t', '-man', '-Tutf8', '-ww', '-rLL=78n', '-P-cbou'], input=source,
                       capture_output=True, encoding='utf-8', timeout=30)
    found = [' '.join(x.split()) for x in r.stderr.replace(':\n', ':').split('\n') if x.strip()]
    return found + ['line of %d columns: %s' % (len(x), x.strip()) for x in r.stdout.split('\n') if len(x) > 80]


def check_format(root):
    problems, folder = [], os.path.join(root, 'man')
    for name in sorted(n for n in os.listdir(folder) if re.search(r'\.\d$', n)):
        with open(os.path.join(folder, name), encoding='utf-8') as f:
            problems += ['%s: %s' % (name, p) for p in format_faults(f.read())]
    return problems


def self_test_format():
    page = '.TH X 1 "" "x" "x"\n.SH NAME\nx \\- y\n'
    wide = '.TS\nl l.\n%s\t%s\n.TE\n' % ('a ' * 20, 'b ' * 30)
    wrong = ['good: ' + p for p in format_faults(page)]
    for name, text, want in (('wide table', page + wide, 'wider than line'),
                             ('long line', page + '.nf\n' + 'a ' * 45 + '\n', 'columns'),
                             ('no such macro', page + '.NOSUCH x\n', 'NOSUCH')):
        if not any(want in p for p in format_faults(text)):
            wrong.append('not found: ' + name)
    return wrong


def self_test():
    help_text = ('Usage: wcbpf x [-z]\n\n  -o, --output DIR   where, not --here\n'
                 '      --mode time|stacks  which\n  -q  quiet\n')
    page = ('.SH OPTIONS\n.TP\n.BR \\-o ", " \\-\\-output " " \\fIDIR\\fP\nAs with \\-\\-elsewhere.\n'
            '.TP\n\\fB\\-\\-mode\\fR \\fItime\\fR|\\fIstacks\\fR\nText.\n.TP\n.B \\-q\nQuiet.\n'
            '.TP\n.B 125\nAn exit code.\n')
    wrong = ['good: ' + p for p in compare('x', help_text, page)]
    for name, h, m, want in [
            ('help only', help_text + '  --extra  x\n', page, '--extra is in the help'),
            ('page only', help_text, page + '.TP\n.B \\-\\-old\nText.\n', '--old is in the man page'),
            ('short only', help_text.replace('-q ', '-w '), page, '-q is in the man page'),
            ('prefix', help_text.replace('--mode', '--modes'), page, '--modes is in the help'),
            ('empty help', '', '', 'no option found')]:
        if not any(want in p for p in compare('x', h, m)):
            wrong.append('not found: ' + name)
    if overview_verbs('Usage: wcbpf COMMAND\n\n  record  runs\n  wcbpf attach  looks\n') != ['attach', 'record']:
        wrong.append('overview: ' + ' '.join(overview_verbs('  record  runs\n')))
    return wrong


def main():
    root, wcbpf = sys.argv[1:]
    tap = Tap()
    tap.result('self-test: an option that only one side knows is found', self_test())
    if os.access(wcbpf, os.X_OK):
        tap.result('help and man pages', check(root, wcbpf))
    else:
        tap.skip('help and man pages', wcbpf + ' is not built')
    tap.result('self-test: a key of JSON that the page lacks is found', self_test_keys())
    tap.result('keys of JSON and the page of report', check_keys(root))
    if shutil.which('groff'):
        tap.result('self-test: a page that does not fit is found', self_test_format())
        tap.result('man pages fit 80 columns', check_format(root))
    else:
        tap.skip('man pages fit 80 columns', 'no groff: install groff-base')
    tap.end()


if __name__ == '__main__':
    main()
