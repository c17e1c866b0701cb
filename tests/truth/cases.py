# SPDX-License-Identifier: (LGPL-2.1 OR BSD-2-Clause)
"""The programs whose knobs are turned: what each is about, its what-ifs, and what counts as right."""

import os
import shutil
import subprocess
import zlib


ONE_CPU = ['taskset', '-c', '0']


class Skip(Exception):
    """It can't be tried here."""


class Knob:
    """One what-if and the change of the program that it is about.

    expr: as `wcbpf whatif` takes it; args: what makes the change true; control: nothing is to be gained; why: what is
    known of why it is missed, if it is.
    """

    def __init__(self, name, expr, args, control=False, why=''):
        self.name, self.expr, self.args, self.control, self.why = name, expr, list(args), control, why


class Case:
    """A program of this folder. prefix, turned_prefix: before its command, unturned and turned."""

    def __init__(self, number, name, program, knobs, args=(), target=5.0, prefix=(), turned_prefix=None):
        self.number, self.name, self.program, self.knobs = number, name, program, knobs
        self.grade_excuses = False      # what is graded below A may be wrong
        self.args, self.target, self.prefix = list(args), target, list(prefix)
        self.turned_prefix = self.prefix if turned_prefix is None else list(turned_prefix)

    def begin(self, programs, work):
        """Before anything of it runs. work: a folder of its own."""

    def end(self):
        """After all of it ran."""

    def command(self, programs, args, turned):
        return (self.turned_prefix if turned else self.prefix) + \
            [os.path.join(programs, 'truth-' + self.program)] + self.args + args


class RandomCase(Case):
    """A program that follows from a seed, and a knob for each of its parts: right, or a grade below A."""

    def __init__(self, seed):
        super().__init__(seed, 'random %d' % seed, 'random', [], args=['seed=%d' % seed])
        self.grade_excuses = True

    def begin(self, programs, work):
        text = subprocess.run(self.command(programs, ['show=1'], False), stdout=subprocess.PIPE, text=True,
                              check=True).stdout
        parts = {step[0] for line in text.splitlines() if line.startswith('thread ') for step in line.split(':')[1].split()}
        self.knobs = [Knob('part_%s / 2' % x, 'fn:part_%s * 0.5' % x, ['half_%s=1' % x]) for x in sorted(parts)]


class DeviceCase(Case):
    """Two file systems on devices whose fsync takes 4 ms and 2 ms."""

    def begin(self, programs, work):
        self.servers, self.folders = [], []
        for us in (4000, 2000):
            folder = os.path.join(work, str(us))
            os.makedirs(folder)
            server = subprocess.Popen([os.path.join(programs, 'slowfs'), folder, str(us)], stdout=subprocess.PIPE,
                                      text=True)
            self.servers.append(server)
            if server.stdout.readline() != 'ready\n':
                raise Skip('FUSE can not be mounted here')
            self.folders.append(folder)

    def end(self):
        for folder in self.folders:
            subprocess.run(['umount', folder], check=False)
        for server in self.servers:
            server.wait(10)

    def command(self, programs, args, turned):
        return [os.path.join(programs, 'truth-device'), os.path.join(self.folders[turned], 'data')]


class RealCase(Case):
    """Something that was not written to be measured; a small program of ours takes its time."""

    tools = ()

    def __init__(self, number, name, knobs, **more):
        super().__init__(number, name, None, knobs, target=10.0, **more)

    def begin(self, programs, work):
        missing = [t for t in self.tools if not shutil.which(t)]
        if missing:
            raise Skip('no ' + ', '.join(missing))
        self.work = work
        self.prepare()

    def prepare(self):
        pass

    def command(self, programs, args, turned):
        return (self.turned_prefix if turned else self.prefix) + [os.path.join(programs, 'timed-run')] + self.line(args)


class MakeCase(RealCase):
    """make -j2 with a compiler wrapper that sleeps before each job."""

    tools = ('make', 'gcc')

    def prepare(self):
        body = ''.join('int f%d(int x) { int s = 0; for (int i = 0; i < x; i++) s += (s ^ i) * %d; return s; }\n' % (i, i)
                       for i in range(30))
        for i in range(10):
            self.write('part%d.c' % i, body.replace('int f', 'int part%d_f' % i))
        self.write('cc', '#!/bin/sh\nsleep $WRAPPER_SLEEP\nexec gcc "$@"\n', 0o755)
        self.write('Makefile', 'all: $(patsubst %%.c,%%.o,$(wildcard part*.c))\n%%.o: %%.c\n\t./cc -O1 -c -o $@ $<\n'
                   .replace('%%', '%'))

    def write(self, name, text, mode=0o644):
        path = os.path.join(self.work, name)
        with open(path, 'w', encoding='ascii') as f:
            f.write(text)
        os.chmod(path, mode)

    def line(self, args):
        return ['sh', '-c', 'cd %s; rm -f *.o; WRAPPER_SLEEP=%s exec make -s -j2' % (self.work, (args or ['0.1'])[0])]


class XzCase(RealCase):
    """xz -T2 at this level of so many lines of ten bytes, in blocks of 512 KiB, on one CPU and then on two."""

    tools = ('xz', 'taskset')

    def __init__(self, number, name, level, lines, why=''):
        super().__init__(number, name, [Knob('2 CPUs', 'cpus = 2', [], why=why)], prefix=ONE_CPU, turned_prefix=[])
        self.level, self.lines = level, lines

    def prepare(self):
        with open(os.path.join(self.work, 'file'), 'wb') as f:
            # Neither all zeros nor all noise.
            f.write(b''.join(b'%d %d\n' % (i, zlib.crc32(b'%d' % i) % 9973) for i in range(self.lines)))

    def line(self, args):
        return ['sh', '-c', 'exec xz -T2 -%d --block-size=512KiB -c %s >/dev/null' % (
            self.level, os.path.join(self.work, 'file'))]


class PostgresCase(RealCase):
    """Clients that hold one row for a while: a lock that no futex of ours knows."""

    tools = ('pgbench', 'runuser')

    def prepare(self):
        versions = '/usr/lib/postgresql'
        if not os.path.isdir(versions):
            raise Skip('no PostgreSQL server')
        self.bin = os.path.join(versions, max(os.listdir(versions), key=float), 'bin')
        shutil.chown(self.work, 'postgres')
        os.chmod(os.path.dirname(self.work), 0o755)
        self.as_postgres('%s/initdb -D db -A trust -N >/dev/null && printf "fsync=off\\nlisten_addresses=\'\'\\n'
                         'unix_socket_directories=\'%s\'\\n" >>db/postgresql.conf' % (self.bin, self.work))
        for ms in ('4', '2'):
            with open(os.path.join(self.work, ms + '.sql'), 'w', encoding='ascii') as f:
                f.write('BEGIN; UPDATE hot SET v = v + 1; SELECT pg_sleep(0.00%s); COMMIT;\n' % ms)
        self.as_postgres(self.session('psql -q -h %s postgres -c "CREATE TABLE hot AS SELECT 1 AS v"' % self.work))

    def as_postgres(self, script):
        subprocess.run(self.shell(script), check=True, stdout=subprocess.DEVNULL)

    def shell(self, script):
        return ['runuser', '-u', 'postgres', '--', 'sh', '-c', 'cd %s && %s' % (self.work, script)]

    def session(self, script):
        return '%s/pg_ctl -s -w -D db -l log start; %s; %s/pg_ctl -s -w -D db -m fast stop' % (self.bin, script, self.bin)

    def line(self, args):
        return self.shell(self.session('pgbench -n -h %s -c 4 -t 50 -f %s.sql postgres >/dev/null' % (
            self.work, (args or ['4'])[0])))


def half(function, knob, whole, **more):
    return Knob('%s / 2' % function, 'fn:%s * 0.5' % function, ['%s=%d' % (knob, whole // 2)], **more)


CASES = [
    Case(1, 'serial chain', 'serial', target=1.0, knobs=[
        half('fetch', 'fetch', 4000), half('parse', 'parse', 1000), half('store', 'store', 1000)]),
    Case(2, 'barrier 10/8 ms', 'barrier', knobs=[
        Knob('slow_part * 0.9', 'fn:slow_part * 0.9', ['slow=9000']),
        Knob('slow_part * 0.8', 'fn:slow_part * 0.8', ['slow=8000']),
        Knob('slow_part * 0.7', 'fn:slow_part * 0.7', ['slow=7000']),
        Knob('fast_part / 2', 'fn:fast_part * 0.5', ['fast=4000'], control=True)]),
    # Who comes back from outside does so just when the lock is left, and takes it before who was woken for it: of 104
    # turns 27 wait when nobody records and 75 when somebody does, but 94 and 103 with the knobs turned (medians of 15
    # runs, by the program's own clock). So turns are unfair unturned, and the last thread has some left alone: 47 ms
    # from the first thread's end to the last's, against 5. That is what outside / 2 saves: 216.2 becomes 214.4 ms, on
    # average 218.0 becomes 214.5. Recorded, the program takes 1% longer.
    Case(3, 'saturated mutex 2/2 ms', 'mutex', knobs=[
        half('critical', 'critical', 2000, why='wakes that the machine held up for milliseconds are in the prediction '
             'as often as in the recording; of twelve of a quiet machine one was 5.3% off, the middle one 2.3%'),
        half('outside', 'outside', 2000, control=True, why='it is nearly none: fair turns save 1%')]),
    Case(4, 'saturated mutex 2/1 ms', 'mutex', args=['outside=1000'], knobs=[
        half('critical', 'critical', 2000), half('outside', 'outside', 1000, control=True)]),
    Case(5, 'unsaturated mutex 1/4 ms', 'mutex', args=['critical=1000', 'outside=4000', 'rounds=40'], knobs=[
        half('critical', 'critical', 1000), half('outside', 'outside', 4000)]),
    Case(5.1, 'unsaturated 2/6 ms, 2 threads', 'mutex', args=['outside=6000', 'threads=2'], knobs=[
        half('critical', 'critical', 2000), half('outside', 'outside', 6000)]),
    Case(5.2, 'mutex held computing 2/1 ms', 'mutex',
         args=['outside=1000', 'threads=2', 'burn=1', 'rounds=60'], knobs=[
             half('critical', 'critical', 2000), half('outside', 'outside', 1000)]),
    Case(6, 'pipeline 2/3/1 ms', 'pipeline', knobs=[
        half('stage_one', 'one', 2000, control=True), half('stage_two', 'two', 3000),
        half('stage_three', 'three', 1000, control=True)]),
    Case(7, 'four burners, 2 CPUs', 'burners', knobs=[half('burn_a', 'a', 100000), half('burn_b', 'b', 100000)]),
    Case(8, 'the same, from 1 to 2 CPUs', 'burners', args=['a=50000', 'b=50000'], prefix=ONE_CPU, turned_prefix=[],
         knobs=[Knob('2 CPUs', 'cpus = 2', [])]),
    Case(9, 'worker and hog on one CPU', 'hog', knobs=[Knob('no hog', 'fn:hog_cpu * 0', ['hog=0'])]),
    Case(10, 'fork, exec, pipe calls', 'rpc', knobs=[
        Knob('serve_one / 2', 'fn:serve_one * 0.5', ['serve=1000', 'burn=500']), half('prepare', 'prepare', 1000)]),
    Case(11, 'timed condition variable', 'timed', knobs=[
        Knob('limit / 2', 'resource:condvar * 0.5', ['limit=5000']),
        half('answer_work', 'work', 4000), half('fall_back', 'fallback', 1000)]),
    Case(12, 'rwlock, 3 readers, 1 writer', 'rwlock', knobs=[half('write_part', 'write', 4000)]),
    DeviceCase(13, 'fsync on a slow device', 'device', knobs=[Knob('fsync / 2', 'resource:fsync * 0.5', [])]),
    Case(14, 'async and hot, off the path', 'async', knobs=[
        half('fire_and_forget', 'async', 15000, control=True), half('hot', 'hot', 60000, control=True),
        half('main_work', 'main', 20000)]),
    MakeCase(15, 'make -j2, slow wrapper', knobs=[Knob('sleep / 2', 'program:sleep delay * 0.5', ['0.05'])]),
    XzCase(15.1, 'xz -T2, from 1 to 2 CPUs', 0, 1200000),
    PostgresCase(15.2, 'pgbench, a hot row', knobs=[Knob('pg_sleep / 2', 'fn:pg_sleep delay * 0.5', ['2'])]),
    # Level 2 works on more than an L2 cache has: on one CPU the same file takes 1.43-1.57 s of CPU time with -T1 and
    # 1.5-2.1 with -T2, with a CPU each 1.44-1.63 in all. At level 0 it is 0.62 whichever way.
    XzCase(15.3, 'the same, larger than a cache', 2, 600000, 'two that take turns on a CPU lose its cache: 5 to 40% of '
           'the CPU time in the recording is that, and nothing there tells it from work'),
    XzCase(15.4, 'the same, 4 blocks', 2, 150000, 'each block goes to the thread that is free then; the replay leaves it '
           'with the one that had it (the grade says so), and on one CPU one may have three of the four'),
]
