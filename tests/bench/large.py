#!/usr/bin/env python3
# SPDX-License-Identifier: (LGPL-2.1 OR BSD-2-Clause)
"""Of a large recording not all is simulated: the table marks what was not, and only that.

large.py WCBPF ANALYZE_SPEED. A recording of half a million events is made, the table of what-ifs read cell by cell, and
held to the JSON of the same report; what that says was simulated, or was not, is asked again one by one of "wcbpf
whatif", which simulates a single change of a recording of any size.
"""

import json
import os
import re
import subprocess
import sys
import tempfile

EVENTS = 500000
FACTORS = (0, 0.5, 0.9)
UNITS = {'ns': 1, 'us': 1e3, 'ms': 1e6, 's': 1e9}
# Three columns of ten, then the range, the grade and its mark.
ROW = re.compile(r'^(.{9}) (.{9}) (.{9})  (.{15}) ([ABC])([ ~])')


def run(*command):
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout


def cell_of(text):
    """(is it marked, ns or None, by how much it may be rounded); a cell without anything has no time."""
    mark, number, unit = re.fullmatch(r'(~?)(-?[0-9.]*) ?(ns|us|ms|s)?', text.strip()).groups()
    if not number:
        return bool(mark), None, 0
    scale = UNITS[unit or 'ns']
    digits = len(number.partition('.')[2])
    return bool(mark), float(number) * scale, 0.51 * 10 ** -digits * scale


class Recording:
    def __init__(self, wcbpf, speed, folder):
        self.wcbpf, self.dump = wcbpf, os.path.join(folder, 'large.ndjson')
        run(speed, str(EVENTS), self.dump)
        report = (wcbpf, 'report', '--no-pager', '--all', '--section', 'whatif', self.dump)
        self.text = run(*report)
        self.json = json.loads(run(*report, '--json'))['whatif']
        self.savings = self.json['savings']
        # The machine's lines behind the table have one cell.
        self.rows = [m for m in map(ROW.match, self.text.splitlines()) if m][:len(self.savings)]

    def single(self, saving, factor, engine):
        """What one change comes to, asked for alone: ns."""
        change = '%s:%s * %s' % (saving['of'], saving['name'], factor)
        out = json.loads(run(self.wcbpf, 'whatif', '--json', '--engine', engine, change, self.dump))
        return out['outcome']['%s_ns' % engine]


def cells_say_what_json_says(rec):
    assert len(rec.rows) == len(rec.savings), '%d lines, %d savings' % (len(rec.rows), len(rec.savings))
    for row, saving in zip(rec.rows, rec.savings):
        removed = saving['change'] == 'removed'
        for k, factor in enumerate(saving['factors']):
            marked, ns, slack = cell_of(row.group(1 + k))
            what = '%s: %s' % (saving.get('name'), row.group(0))
            assert ns is not None and abs(ns - factor['saves_ns']) <= slack, what
            assert marked == (saving['simulated'] and factor['e2_ns'] < 0), what
        for k in range(len(saving['factors']), len(FACTORS)):
            assert removed and not row.group(1 + k).strip(), row.group(0)
        assert (row.group(6) == '~') == (not saving['simulated']), row.group(0)


def both_sorts_are_there(rec):
    """Of a class that is simulated: of all three factors, or of the middle one."""
    sorts = {tuple(f['e2_ns'] >= 0 for f in s['factors']) for s in rec.savings
             if s['simulated'] and s['change'] == 'scaled'}
    assert sorts == {(True, True, True), (False, True, False)}, sorts
    assert not any(f['e2_ns'] >= 0 for s in rec.savings if not s['simulated'] for f in s['factors'])


def what_is_not_marked_was_simulated(rec):
    """By name, of classes whose name is unique: threads."""
    threads = [s for s in rec.savings if s['of'] == 'thread' and s['simulated']][:2]
    assert threads, 'no thread was simulated'
    for saving in threads:
        middle = saving['factors'][1]
        assert rec.single(saving, FACTORS[1], 'e2') == middle['e2_ns'], saving['name']
        assert rec.single(saving, FACTORS[1], 'e1') == middle['e1_ns'], saving['name']


def what_is_marked_was_not(rec):
    """It has what the recorded order gives, though a simulation would have given something else."""
    saving = next(s for s in rec.savings if s['of'] == 'thread' and s['simulated'])
    ends = [(FACTORS[k], f) for k, f in enumerate(saving['factors']) if f['e2_ns'] < 0]
    assert ends, 'all was simulated'
    for factor, outcome in ends:
        base = rec.json['e1_baseline_ns']
        assert rec.single(saving, factor, 'e1') == outcome['e1_ns']
        expected = (base - outcome['e1_ns']) / base * rec.json['makespan_ns']
        assert abs(outcome['saves_ns'] - expected) <= 1, (outcome, expected)
        simulated = rec.single(saving, factor, 'e2') / rec.json['e2_baseline_ns']
        assert abs(simulated - outcome['e1_ns'] / base) > 0.001, 'the engines agree: the mark makes no difference here'


TESTS = (cells_say_what_json_says, both_sorts_are_there, what_is_not_marked_was_simulated, what_is_marked_was_not)


def main():
    print('1..%d' % len(TESTS))
    failed = 0
    with tempfile.TemporaryDirectory(prefix='wcbpf-large.') as folder:
        rec = Recording(sys.argv[1], sys.argv[2], folder)
        for i, test in enumerate(TESTS):
            try:
                test(rec)
                print('ok %d - %s' % (i + 1, test.__name__), flush=True)
            except AssertionError as e:
                failed += 1
                print('not ok %d - %s: %s' % (i + 1, test.__name__, str(e).replace('\n', ' ')), flush=True)
    return 1 if failed else 0


if __name__ == '__main__':
    sys.exit(main())
