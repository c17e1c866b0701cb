#!/usr/bin/env python3
# SPDX-License-Identifier: (LGPL-2.1 OR BSD-2-Clause)
"""What-ifs against the truth: predict, write the predictions down, turn the knob, compare. Needs root.

For each program: it is recorded five times, unmodified, from outside, while nothing else runs, and of the recording
with the middle makespan what each engine predicts for each knob is appended to a file whose hash is printed, before any
knob of it is turned. Then the program runs unturned and with each knob turned, in turns, all recorded alike, and prints
its makespans; a round in which something else ran, by more than 5% of the CPUs, is run again. The medians are the truth,
with a bootstrap interval of 95%. If other load can't be avoided there is no verdict. If the unturned program takes
another time than recorded, by more than half the target and in each run, the machine has changed its speed meanwhile (as
hosts of virtual machines do), and predictions are of another machine: all of the program is done once more.

error: |predicted - true| / true makespan; its: wcprof's. points: saving predicted - saving true, in percent of the
base. The page of the report must advise first, of those functions that have a knob, the one that helps most. spread:
half the distance of the base's quartiles, in percent of its median: how well the truth is known. The report's range is
that of E1 and E2.
"""

import argparse
import ctypes
import hashlib
import json
import os
import random
import re
import resource
import shutil
import statistics
import subprocess
import sys
import tempfile
import time

sys.dont_write_bytecode = True
HERE = os.path.dirname(os.path.abspath(__file__))
sys.path[:0] = [HERE]

from cases import CASES, RandomCase, Skip  # noqa: E402

OTHER_LOAD_MAX = 0.05
RECORDINGS, RECORDINGS_TRIED = 5, 12
CONTROL_MAX = 2.0
ENGINES = (('E1', 'e1_ns'), ('E2', 'e2_ns'), ('wcprof', 'wcprof_ns'))


PR_SET_CHILD_SUBREAPER = 36


def orphans_reap():
    """What runs leave behind (a database's servers) is reaped here, so its CPU time is known to be theirs."""
    try:
        while os.waitpid(-1, os.WNOHANG)[0]:
            pass
    except ChildProcessError:
        pass


class Load:
    """What else ran on the CPUs since it was made."""

    def __init__(self):
        self.began, self.busy, self.own = time.monotonic(), self.busy_s(), self.own_s()

    @staticmethod
    def busy_s():
        with open('/proc/stat', encoding='ascii') as f:
            user, nice, system, _idle, _iowait, irq, softirq, steal = map(int, f.readline().split()[1:9])
        return (user + nice + system + irq + softirq + steal) / os.sysconf('SC_CLK_TCK')

    @staticmethod
    def own_s():
        orphans_reap()
        return sum(u.ru_utime + u.ru_stime for u in map(resource.getrusage,
                                                        (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)))

    def other(self):
        other = self.busy_s() - self.busy - (self.own_s() - self.own)
        return max(0.0, other / ((time.monotonic() - self.began) * os.cpu_count()))


def makespan_us(text):
    for line in text.splitlines():
        if line.startswith('makespan_us '):
            return int(line.split()[1])
    raise RuntimeError('no makespan: %r' % text[-200:])


def machine_changed(recorded_us, base, target):
    """Did no run take as long as the recorded one, their median by more than half the target (percent) not?"""
    return not min(base) <= recorded_us <= max(base) and \
        abs(recorded_us / statistics.median(base) - 1) > target / 200


class Suite:
    def __init__(self, o):
        self.o, self.work = o, tempfile.mkdtemp(prefix='truth-')
        self.rows, self.top_wrong, self.begun = [], [], []
        self.advice = {}        # by program: what the page would make faster first

    def run(self, case, args, turned, traced, name='out'):
        """One run's makespan in us; traced: its recording's folder too."""
        command = case.command(self.o.programs, args, turned)
        folder = os.path.join(self.work, name)
        if traced:
            shutil.rmtree(folder, ignore_errors=True)
            command = [self.o.wcbpf, 'record', '-q', '--mode', 'wall', '-F', '997', '-o', folder, '--'] + command
        r = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, check=False,
                           timeout=120)
        if r.returncode:
            raise RuntimeError('%s: %d: %s' % (' '.join(command), r.returncode, r.stderr[-300:]))
        return makespan_us(r.stdout), folder

    def begin(self, case):
        work = os.path.join(self.work, str(len(self.begun)))
        os.makedirs(work)
        try:
            case.begin(self.o.programs, work)
        except Skip as e:
            print('%g %s: skipped: %s' % (case.number, case.name, e))
            return False
        self.begun.append(case)
        return True

    def recording(self, case):
        """Of the least disturbed ones that with the middle makespan, and what else ran then."""
        quiet, tried = 0, []
        self.run(case, [], False, False)        # what is read from a disk once must not be in it
        while len(tried) < RECORDINGS_TRIED and quiet < RECORDINGS:
            load = Load()
            made = self.run(case, [], False, True, 'recording%d' % len(tried))
            tried.append((load.other(), made))
            quiet += tried[-1][0] <= OTHER_LOAD_MAX
        best = sorted(tried)[:RECORDINGS]
        return (*sorted(made for _, made in best)[len(best) // 2], max(other for other, _ in best))

    def predict(self, case):
        """The recorded makespan, and for each knob what each engine makes of it, in us."""
        base_us, folder, other = self.recording(case)
        if self.o.keep:
            shutil.copytree(folder, os.path.join(self.o.keep, '%g' % case.number), dirs_exist_ok=True)
        self.advice[case.name] = self.first_advice(folder)
        dump = [os.path.join(folder, n) for n in os.listdir(folder) if n.startswith('wcprof.ndjson')][0]
        r = subprocess.run([self.o.predict, dump] + [k.expr for k in case.knobs], stdout=subprocess.PIPE,
                           stderr=subprocess.PIPE, text=True, check=False)
        if r.returncode:
            raise RuntimeError('predict: ' + r.stderr.strip())
        whole, *answers = [json.loads(line) for line in r.stdout.splitlines()]
        predictions = []
        for knob, answer in zip(case.knobs, answers):
            p = {'case': case.number, 'knob': knob.name, 'expr': knob.expr, 'recorded_us': base_us, 'other': other,
                 'grade': answer['grade'], 'why': answer['why'], 'best_us': base_us - answer['best_ns'] / 1000,
                 'drift': {e: whole[k] / whole['makespan_ns'] - 1 for e, k in ENGINES}}
            for engine, key in ENGINES:
                # What the program does before its first and behind its last look at the clock doesn't change.
                saved = (whole[key] - answer[key]) / whole[key] if answer[key] >= 0 and whole[key] > 0 else None
                p[engine] = None if saved is None else base_us - saved * whole['makespan_ns'] / 1000
            predictions.append(p)
        return predictions

    def first_advice(self, folder):
        """The first name that the report's page would have in half the time, or None."""
        page = subprocess.run([self.o.wcbpf, 'report', folder], stdout=subprocess.PIPE, text=True, check=True).stdout
        found = re.search(r'^  (\S+) in half the time ', page, re.MULTILINE)
        return found and found.group(1)

    def measure(self, case):
        """Makespans with all knobs unturned, with each turned, in turns, and what else ran meanwhile."""
        base, turned, others = [], [[] for _ in case.knobs], []
        spare = self.o.runs
        while len(base) < self.o.runs:
            load = Load()
            made = [self.run(case, [], False, not self.o.untraced)[0]]
            made += [self.run(case, k.args, True, not self.o.untraced)[0] for k in case.knobs]
            others.append(load.other())
            if others[-1] > OTHER_LOAD_MAX and not self.o.ignore_load and spare:
                spare -= 1
                others.pop()
                continue
            base.append(made[0])
            for runs, us in zip(turned, made[1:]):
                runs.append(us)
        return base, turned, statistics.mean(others)

    def judge(self, case, knob, p, base, turned, other):
        other = max(other, p['other'])
        true, base_us = statistics.median(turned), statistics.median(base)
        rng = random.Random(1)
        medians = sorted(statistics.median(rng.choices(turned, k=len(turned))) for _ in range(500))
        row = {'case': case, 'knob': knob, 'p': p, 'base_us': base_us, 'true_us': true, 'low_us': medians[12],
               'high_us': medians[487], 'other': other}
        row['error'] = 100 * abs(p['best_us'] - true) / true
        row['theirs'] = None if p['wcprof'] is None else 100 * abs(p['wcprof'] - true) / true
        quartiles = statistics.quantiles(base, n=4) if len(base) > 1 else [base_us] * 3
        row['spread'] = 50 * (quartiles[2] - quartiles[0]) / base_us
        row['points'] = 100 * ((p['recorded_us'] - p['best_us']) / p['recorded_us'] - (base_us - true) / base_us)
        saved = 100 * (p['recorded_us'] - p['best_us']) / p['recorded_us']
        if other > OTHER_LOAD_MAX and not self.o.ignore_load:
            row['verdict'] = 'no verdict: %d%% other load' % round(100 * other)
        elif knob.control and abs(saved) >= CONTROL_MAX:
            row['verdict'] = 'MISSED: a saving where there is none'
        elif row['error'] > case.target and case.grade_excuses and p['grade'] > 'A':
            row['verdict'] = 'off, which the grade warns of'
        elif row['error'] > case.target:
            row['verdict'] = 'MISSED: more than %g%%' % case.target
        else:
            row['verdict'] = 'ok'
        self.rows.append(row)
        return row

    def top_check(self, case, rows):
        """Is what is said to help most what does? What differs by less than the control's limit, or than can be told, ties."""
        if len(rows) < 2 or any(r['verdict'].startswith(('no verdict', 'off')) for r in rows):
            return
        best = max(rows, key=lambda r: r['base_us'] - r['true_us'])

        def check(said, who):
            gap = 100 * (said['true_us'] - best['true_us']) / best['base_us']
            if said is not best and gap >= CONTROL_MAX and said['low_us'] > best['high_us']:
                self.top_wrong.append('%s: %s says that %s helps most, %s does' % (
                    case.name, who, said['knob'].name, best['knob'].name))

        check(max(rows, key=lambda r: r['p']['recorded_us'] - r['p']['best_us']), 'the prediction')
        name = self.advice[case.name]
        advised = [r for r in rows if r['knob'].expr.startswith('fn:%s ' % name)]
        print('    the page would make %s faster first%s' % (name or 'nothing', '' if advised else ', which has no knob'))
        if advised:
            check(min(advised, key=lambda r: r['true_us']), 'the page')

    def write_down(self, predictions):
        """To the file of all; says what it is with them."""
        with open(self.o.predictions, 'a', encoding='utf-8') as f:
            f.writelines(json.dumps(p) + '\n' for p in predictions)
        with open(self.o.predictions, 'rb') as f:
            print('    predictions: %s sha256 %s' % (self.o.predictions, hashlib.sha256(f.read()).hexdigest()), flush=True)

    def try_case(self, case):
        for is_last in (False, True):
            predictions = self.predict(case)
            self.write_down(predictions)
            base, turned, other = self.measure(case)
            if is_last or self.o.untraced or not machine_changed(predictions[0]['recorded_us'], base, case.target):
                break
            print('    recorded it took %.1f ms, then %.1f to %.1f: the machine changed its speed; once more' % (
                predictions[0]['recorded_us'] / 1000, min(base) / 1000, max(base) / 1000), flush=True)
        rows = [self.judge(case, k, p, base, us, other) for k, p, us in zip(case.knobs, predictions, turned)]
        for row in rows:
            self.print_row(row)
        self.top_check(case, rows)

    def is_asked_for(self, case):
        return not self.o.cases or any(x == '%g' % case.number or (x in case.name and not x[0].isdigit())
                                       for x in self.o.cases)

    def main(self):
        open(self.o.predictions, 'wb').close()
        print('%-44s %7s %7s %15s %6s %7s %7s %7s %7s %7s %7s  %s' % (
            'program: knob', 'base ms', 'true ms', '95%', 'spread', 'E1', 'E2', 'wcprof', 'error', 'its', 'points',
            'grade'))
        first, last = (int(x) for x in self.o.random.split('-')) if self.o.random else (1, 0)
        for case in [RandomCase(seed) for seed in range(first, last + 1)] or CASES:
            if self.is_asked_for(case) and self.begin(case):
                self.try_case(case)
        return self.finish()

    @staticmethod
    def print_row(row):
        ms = ['%7.1f' % (row['p'][e] / 1000) if row['p'][e] is not None else '      -' for e, _ in ENGINES]
        print('%-44s %7.1f %7.1f %7.1f-%7.1f %5.1f%% %s %6.1f%% %s %+7.1f  %s %s' % (
            ('%g %s: %s' % (row['case'].number, row['case'].name, row['knob'].name))[:44], row['base_us'] / 1000,
            row['true_us'] / 1000, row['low_us'] / 1000, row['high_us'] / 1000, row['spread'], ' '.join(ms),
            row['error'], '      -' if row['theirs'] is None else '%6.1f%%' % row['theirs'], row['points'],
            row['p']['grade'], row['verdict']), flush=True)
        if row['verdict'].startswith('MISSED'):
            print('    reason: %s' % (row['knob'].why or 'not known; the grade says: %s' % row['p']['why']))

    def finish(self):
        for text in self.top_wrong:
            print('TOP WRONG: ' + text)
        missed = [r for r in self.rows if r['verdict'].startswith('MISSED')]
        silent = [r for r in self.rows if r['verdict'].startswith('no verdict')]
        right = [r for r in self.rows if r['verdict'] == 'ok']
        print('%d what-ifs: %d right, %d off below grade A, %d missed, %d without a verdict; top class wrong %d times' % (
            len(self.rows), len(right), len(self.rows) - len(right) - len(missed) - len(silent), len(missed), len(silent),
            len(self.top_wrong)))
        if len(silent) == len(self.rows):
            print('truth: nothing could be judged beside so much other load', file=sys.stderr)
            return 77
        return 1 if missed or self.top_wrong else 0


def main():
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument('--wcbpf', required=True)
    p.add_argument('--predict', required=True)
    p.add_argument('--programs', required=True, help='folder of the truth-* programs')
    p.add_argument('--predictions', default='truth-predictions.jsonl', help='file to write them to first')
    p.add_argument('--runs', type=int, default=15, help='of each kind, 15')
    p.add_argument('--keep', metavar='FOLDER', help='keep the recordings that the predictions are from')
    p.add_argument('--untraced', action='store_true', help='turn the knob without recording the runs')
    p.add_argument('--ignore-load', action='store_true', help='a verdict whatever else runs')
    p.add_argument('--random', metavar='FIRST-LAST', help='programs made of these seeds instead; of what has grade A all '
                   'must be right')
    p.add_argument('cases', nargs='*', help='numbers of programs, or parts of their names; else all')
    if os.geteuid():
        print('truth: needs root', file=sys.stderr)
        return 77
    ctypes.CDLL(None).prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)
    suite = Suite(p.parse_args())
    try:
        return suite.main()
    finally:
        for case in suite.begun:
            case.end()
        shutil.rmtree(suite.work, ignore_errors=True)


if __name__ == '__main__':
    sys.exit(main())
