# SPDX-License-Identifier: (LGPL-2.1 OR BSD-2-Clause)
"""Runs wcbpf on workloads for the live tests: own folders, time limits, only own processes ended.

Every recording is checked twice over, whatever the test is about: its files by recording.py, and that
no BPF program stays behind when wcbpf has gone.
"""
import ctypes
import json
import os
import re
import shlex
import shutil
import signal
import subprocess
import sys
import tempfile
import time

from recording import Recording
from truth import Comparison, Truth, check_threads

PR_SET_CHILD_SUBREAPER = 36


class Fail(Exception):
    pass


class Skip(Exception):
    pass


def check(ok, text, *args):
    if not ok:
        raise Fail(text % args if args else text)


def close_to(got, want, share, slack):
    return abs(got - want) <= abs(want) * share + slack


def sleep_overshoot_ns(rounds=10):
    """How much later than asked a sleeper runs here and now: the worst of some."""
    worst = 0
    for _ in range(rounds):
        start = time.monotonic_ns()
        time.sleep(0.001)
        worst = max(worst, time.monotonic_ns() - start - 1000000)
    return worst


def tracer_programs():
    """Ids of the loaded BPF tracing programs."""
    p = subprocess.run(['bpftool', '-j', 'prog', 'list'], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL,
                       env=dict(os.environ, PATH=os.environ.get('PATH', '') + ':/usr/sbin:/sbin'))
    try:
        progs = json.loads(p.stdout or b'[]')
    except ValueError:
        return set()
    return {p['id'] for p in progs if isinstance(p, dict) and p.get('type') in
            ('tracing', 'raw_tracepoint', 'tracepoint', 'kprobe', 'perf_event')}


def programs_held_by(pid):
    """Ids of the BPF programs that a process holds by open files, of programs or of links."""
    held = set()
    folder = '/proc/%d/fdinfo' % pid
    try:
        for fd in os.listdir(folder):
            with open('%s/%s' % (folder, fd)) as f:
                held |= {int(x) for x in re.findall(r'^prog_id:\s*(\d+)', f.read(), re.M)}
    except OSError:
        pass
    return held


def programs_of_others():
    """Ids held by processes that are not of this test run: somebody else's tracers."""
    own, held = set(children_of(os.getpid())), set()
    for name in os.listdir('/proc'):
        if name.isdigit() and int(name) not in own:
            held |= programs_held_by(int(name))
    return held


def children_of(pid):
    """pid and all below it."""
    found, todo = [], [pid]
    while todo:
        p = todo.pop()
        found.append(p)
        try:
            for tid in os.listdir('/proc/%d/task' % p):
                with open('/proc/%d/task/%s/children' % (p, tid)) as f:
                    todo += [int(x) for x in f.read().split()]
        except OSError:
            pass
    return found


class Live:
    """What one test gets: paths, a folder of its own, runs."""

    def __init__(self, wcbpf, workloads, verbose=False):
        self.wcbpf, self.workloads, self.verbose = wcbpf, workloads, verbose
        self.start_errors, self.end_errors, self.figures = [], [], []
        self.tmp, self.processes, self.n = None, [], 0
        ctypes.CDLL(None, use_errno=True).prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)

    # -- one test

    def begin(self):
        self.tmp = tempfile.mkdtemp(prefix='wcbpf-live.')
        os.chmod(self.tmp, 0o755)
        self.n = 0
        self.slack_ns = 3000000 + 3 * sleep_overshoot_ns()

    def end(self):
        for p in self.processes:
            if p.poll() is None:
                self.kill_tree(p.pid)
                p.wait()
        for pid in children_of(os.getpid())[1:]:         # orphans of killed tracers came to us
            self.kill_tree(pid)
        while True:
            try:
                if os.waitpid(-1, os.WNOHANG) == (0, 0):
                    break
            except ChildProcessError:
                break
        self.processes = []
        shutil.rmtree(self.tmp, ignore_errors=True)

    def kill_tree(self, pid):
        for p in children_of(pid):
            try:
                os.kill(p, signal.SIGKILL)
            except ProcessLookupError:
                pass

    def seconds(self, n):
        """n seconds of an idle machine, in seconds of this one."""
        return n * max(1.0, os.getloadavg()[0] / os.cpu_count()) + self.slack_ns / 1e8

    def attach_rounds(self):
        """How often to attach to a target: about ten seconds' worth, or what WCBPF_ATTACH_ROUNDS says, and time for it."""
        rounds = int(os.environ.get('WCBPF_ATTACH_ROUNDS', '7'))
        signal.alarm(120 + 5 * rounds)
        return rounds

    def figure(self, text, *args):
        self.figures.append(text % args)

    def path(self, name):
        return os.path.join(self.tmp, name)

    def work(self, line):
        """argv of a workload given as a command line; {tmp} is the test's folder."""
        words = shlex.split(line.replace('{tmp}', self.tmp))
        return [os.path.join(self.workloads, words[0])] + words[1:]

    # -- processes

    def spawn(self, argv, out=None, err=None, **kw):
        """Starts argv with stdout and stderr into files: a pipe would make waits of its own."""
        self.n += 1
        files = [self.path('%d.%s' % (self.n, x)) for x in ('out', 'err')]
        with open(files[0], 'wb') as o, open(files[1], 'wb') as e:
            kw.setdefault('stdin', subprocess.DEVNULL)
            kw.setdefault('start_new_session', True)
            p = subprocess.Popen(argv, stdout=out or o, stderr=err or e, **kw)
        p.files = files
        self.processes.append(p)
        if self.verbose:
            sys.stderr.write('  + %s\n' % ' '.join(map(shlex.quote, argv)))
        return p

    def wait(self, p, timeout):
        try:
            rc = p.wait(timeout)
        except subprocess.TimeoutExpired:
            self.kill_tree(p.pid)
            p.wait()
            raise Fail('no end after %d s: %s; said: %s' % (timeout, ' '.join(p.args), self.text(p, 1)[-300:]))
        return rc

    def text(self, p, n=0):
        with open(p.files[n], 'rb') as f:
            return f.read().decode('utf-8', 'replace')

    def run(self, argv, timeout=30, **kw):
        """(status, stdout, stderr) of any command."""
        p = self.spawn(argv, **kw)
        rc = self.wait(p, timeout)
        return rc, self.text(p), self.text(p, 1)

    def until(self, what, ready, timeout=10):
        end = time.monotonic() + timeout
        while True:
            value = ready()
            if value:
                return value
            check(time.monotonic() < end, '%s: not after %d s', what, timeout)
            time.sleep(0.02)

    def said(self, p, word, n=0, timeout=10):
        """Waits until a process has printed a whole line with this word; gives the output so far."""
        def ready():
            text = self.text(p, n)
            return text if any(word in line for line in text.split('\n')[:-1]) else None
        return self.until('%s from %s' % (word, p.args[0]), ready, timeout)

    def started(self, p, folder=None, timeout=20):
        """Waits until a recording is on, by what an attach says, or by its BPF programs."""
        says = 'attach' in p.args and '--' not in p.args and '-q' not in p.args

        def ready():
            check(p.poll() is None, 'ended with %s before it traced: %s', p.returncode, self.text(p, 1)[-400:])
            if says:
                return 'Ctrl-C ends it' in self.text(p, 1)
            return any(programs_held_by(pid) for pid in children_of(p.pid))
        self.until('BPF programs of wcbpf', ready, timeout)
        time.sleep(0.7)          # programs are loaded one after another, then attached; and something to record

    # -- recordings

    def folder(self):
        self.n += 1
        return self.path('out%d' % self.n)

    def record_start(self, cmd, *options, folder=None, wrap=(), **kw):
        folder = folder or self.folder()
        p = self.spawn([*wrap, self.wcbpf, 'record', '-o', folder, *options, '--', *cmd], **kw)
        p.folder = folder
        return p

    def attach_start(self, *options, folder=None, wrap=(), **kw):
        folder = folder or self.folder()
        p = self.spawn([*wrap, self.wcbpf, 'attach', '-o', folder, *options], **kw)
        p.folder = folder
        return p

    def finish(self, p, before, rc=0, timeout=60, lossy=False, strict=True):
        """Waits for a wcbpf process, loads what it wrote, holds it to the invariants."""
        got = self.wait(p, timeout)
        rec = Recording(p.folder)
        rec.ended = time.monotonic()
        rec.rc, rec.out, rec.err = got, self.text(p), self.text(p, 1)
        self.nothing_left(before)
        if rc is not None:
            check(got == rc, 'exit status %s, not %s; said: %s', got, rc, rec.err[-500:])
        rec.load()
        if strict:
            check(rec.header, 'no dump in %s; said: %s', os.listdir(p.folder) if os.path.isdir(p.folder) else 'nothing',
                  rec.err[-500:])
            check(rec.summary, 'no summary')
        check(not rec.errors, '%d broken invariants: %s', len(rec.errors), '; '.join(rec.errors[:4]))
        if strict and not lossy:
            hidden = 0 if rec.complete() else rec.hidden_switches()
            if hidden:
                self.figure('%d context switches hidden by the host, and told', hidden)
            check(hidden or rec.complete(), 'losses: %s; %s', rec.lost_text(), rec.diagnostics)
            check(hidden or not rec.diagnostics, 'a clean run has diagnostics: %r', rec.diagnostics)
        return rec

    def record(self, cmd, *options, rc=0, timeout=60, lossy=False, strict=True, **kw):
        before = tracer_programs()
        p = self.record_start(cmd, *options, **kw)
        return self.finish(p, before, rc, timeout, lossy, strict)

    def attach(self, *options, rc=0, timeout=60, lossy=False, strict=True, **kw):
        before = tracer_programs()
        p = self.attach_start(*options, **kw)
        return self.finish(p, before, rc, timeout, lossy, strict)

    def nothing_left(self, before):
        """Programs that came since and belong to nobody alive are ours. The kernel frees them a moment later."""
        for _ in range(60):
            left = tracer_programs() - before
            if not left or not left - programs_of_others():
                return
            time.sleep(0.05)
        raise Fail('BPF programs stayed behind: %s' % left)

    # -- truth

    def truth(self, line, *options, ignore=(), loose=False, timeout=60, lossy=False, **kw):
        """Records a workload and compares each of its waits. Gives (recording, truth, comparison)."""
        rec = self.record(self.work(line), *options, timeout=timeout, lossy=lossy, **kw)
        truth = Truth(rec.out)
        self.slack_ns = max(self.slack_ns, 3000000 + 3 * sleep_overshoot_ns())
        # loose: the truth comes from another process, which signals and is woken with delays of its own
        cmp = Comparison(truth, rec, max(self.slack_ns, 30000000) if loose else self.slack_ns, loose).run(ignore)
        self.start_errors += cmp.start_errors
        self.end_errors += cmp.end_errors
        problems = cmp.problems + check_threads(truth, rec, self.slack_ns)
        check(not problems, '%d differences: %s', len(problems), '; '.join(problems[:4]))
        return rec, truth, cmp


def percentile(values, p):
    values = sorted(values)
    return values[min(len(values) - 1, int(len(values) * p / 100))] if values else 0
