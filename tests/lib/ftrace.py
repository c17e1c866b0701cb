# SPDX-License-Identifier: (LGPL-2.1 OR BSD-2-Clause)
"""The kernel's own tracer as a second witness of context switches: neither BPF nor perf, and in every kernel with
tracefs. An instance of its own, so that nobody else's tracing is touched; its clock is CLOCK_MONOTONIC, in whole
microseconds, rounded.

Switched on before wcbpf it runs first at each switch: wcbpf's time comes after this one, by what ftrace takes.
"""
import bisect
import os
import re
import subprocess

LINE = re.compile(r'.*?\[\d+\] \S+\s+(\d+)\.(\d{6}): (\w+): (.*)')
SWITCH = re.compile(r'.*?prev_pid=(\d+) .*?prev_state=(\S+) ==> .*next_pid=(\d+)')
WAKING = re.compile(r'.* pid=(\d+) ')


class Unavailable(Exception):
    pass


def lacks_in(outs, ins, t):
    """Did ftrace itself not see the switch-in that a thread's wait around t ended with? It left the CPU, then again."""
    i = bisect.bisect_right(outs, t) - 1
    if i < 0 or i + 1 >= len(outs):
        return False
    return bisect.bisect_right(ins, outs[i]) == bisect.bisect_right(ins, outs[i + 1])


def nearest(times, t):
    """Of sorted times, the one nearest to t; None if there is none."""
    i = bisect.bisect(times, t)
    return min(times[max(0, i - 1):i + 1], key=lambda x: abs(x - t), default=None)


class Ftrace:
    """with Ftrace(folder, comm) as f: ...; then f.outs, f.ins, f.wakes: {tid: sorted times in ns}, f.switches:
    [(time, tid that leaves, tid that comes)], f.lost: {tid: sorted times at which it lost the CPU, runnable}; of threads
    that are called comm."""

    def __init__(self, tmp, comm):
        self.comm, self.mounted = comm, None
        root = '/sys/kernel/tracing'
        if not os.path.isdir(root + '/instances'):
            root = os.path.join(tmp, 'tracefs')
            os.makedirs(root, exist_ok=True)
            if subprocess.run(['mount', '-t', 'tracefs', 'none', root], stderr=subprocess.DEVNULL).returncode:
                raise Unavailable('no tracefs')
            self.mounted = root
        self.dir = '%s/instances/wcbpf-live-%d' % (root, os.getpid())
        self.outs, self.ins, self.wakes, self.lost, self.switches = {}, {}, {}, {}, []

    def _write(self, name, text):
        with open(os.path.join(self.dir, name), 'w') as f:
            f.write(text)

    def __enter__(self):
        try:
            os.mkdir(self.dir)
            self._write('trace_clock', 'mono')
            self._write('buffer_size_kb', '4096')
            self._write('events/sched/sched_switch/filter',
                        'prev_comm == "%s" || next_comm == "%s"' % (self.comm, self.comm))
            self._write('events/sched/sched_waking/filter', 'comm == "%s"' % self.comm)
            self._write('events/sched/sched_switch/enable', '1')
            self._write('events/sched/sched_waking/enable', '1')
        except OSError as e:
            self._remove()
            raise Unavailable('ftrace: %s' % e)
        return self

    def __exit__(self, kind, *_):
        try:
            self._write('tracing_on', '0')
            if not kind:
                self._read()
        finally:
            self._remove()

    def _remove(self):
        if os.path.isdir(self.dir):
            os.rmdir(self.dir)           # switches its events off
        if self.mounted:
            subprocess.run(['umount', self.mounted])

    def _read(self):
        with open(self.dir + '/trace', errors='replace') as f:
            for line in f:
                m = LINE.match(line)
                if not m:
                    continue
                t = int(m[1]) * 1000000000 + int(m[2]) * 1000
                if m[3] == 'sched_switch':
                    fields = SWITCH.match(m[4])
                    prev, following = int(fields[1]), int(fields[3])
                    self.switches.append((t, prev, following))
                    self.outs.setdefault(prev, []).append(t)
                    if fields[2].startswith('R'):
                        self.lost.setdefault(prev, []).append(t)
                    self.ins.setdefault(following, []).append(t)
                elif m[3] == 'sched_waking':
                    self.wakes.setdefault(int(WAKING.match(m[4])[1]), []).append(t)
        for of_tid in (self.outs, self.ins, self.wakes, self.lost):
            for times in of_tid.values():
                times.sort()
