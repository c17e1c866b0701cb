# SPDX-License-Identifier: (LGPL-2.1 OR BSD-2-Clause)
"""The programs whose knobs are turned: what each is about, its what-ifs, and what counts as right."""


class Knob:
    """One what-if and the change of the program that it is about.

    expr: as `wcbpf whatif` takes it; args: what makes the change true; control: nothing is to be gained.
    """

    def __init__(self, name, expr, args, control=False, env=None):
        self.name, self.expr, self.args, self.control, self.env = name, expr, args, control, env or {}


class Case:
    def __init__(self, number, name, program, knobs, args=(), target=5.0, prefix=(), turned_prefix=None, classes=()):
        self.number, self.name, self.program, self.knobs = number, name, program, knobs
        self.args, self.target, self.prefix = list(args), target, list(prefix)
        self.turned_prefix = self.prefix if turned_prefix is None else list(turned_prefix)


def half(function, knob, whole, **more):
    return Knob('%s / 2' % function, 'fn:%s * 0.5' % function, ['%s=%d' % (knob, whole // 2)], **more)


ONE_CPU = ['taskset', '-c', '0']

CASES = [
    Case(1, 'serial chain', 'serial', target=1.0, knobs=[
        half('fetch', 'fetch', 4000), half('parse', 'parse', 1000), half('store', 'store', 1000)]),
    Case(2, 'barrier 10/8 ms', 'barrier', knobs=[
        Knob('slow_part * 0.9', 'fn:slow_part * 0.9', ['slow=9000']),
        Knob('slow_part * 0.8', 'fn:slow_part * 0.8', ['slow=8000']),
        Knob('slow_part * 0.7', 'fn:slow_part * 0.7', ['slow=7000']),
        Knob('fast_part / 2', 'fn:fast_part * 0.5', ['fast=4000'], control=True)]),
    Case(3, 'saturated mutex 2/2 ms', 'mutex', knobs=[half('critical', 'critical', 2000)]),
    Case(4, 'the same, outside', 'mutex', knobs=[half('outside', 'outside', 2000, control=True)]),
    Case(5, 'unsaturated mutex 1/4 ms', 'mutex', args=['critical=1000', 'outside=4000', 'rounds=40'], knobs=[
        half('critical', 'critical', 1000), half('outside', 'outside', 4000)]),
    Case(5.1, 'unsaturated mutex 2/6 ms, 2 threads', 'mutex', args=['outside=6000', 'threads=2'], knobs=[
        half('critical', 'critical', 2000), half('outside', 'outside', 6000)]),
    Case(5.2, 'mutex held computing 2/1 ms, 2 threads', 'mutex',
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
        half('serve_one', 'serve', 2000), half('prepare', 'prepare', 1000)]),
    Case(11, 'timed condition variable', 'timed', knobs=[
        Knob('limit / 2', 'resource:condvar * 0.5', ['limit=5000']),
        half('answer_work', 'work', 4000), half('fall_back', 'fallback', 1000)]),
    Case(12, 'rwlock, 3 readers, 1 writer', 'rwlock', knobs=[half('write_part', 'write', 4000)]),
    Case(14, 'async and hot, off the path', 'async', knobs=[
        half('fire_and_forget', 'async', 15000, control=True), half('hot', 'hot', 60000, control=True),
        half('main_work', 'main', 20000)]),
]
# serve_one burns and naps: both knobs are turned at once.
CASES[11].knobs[0].args.append('burn=500')
