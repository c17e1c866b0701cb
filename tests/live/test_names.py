# SPDX-License-Identifier: (LGPL-2.1 OR BSD-2-Clause)
"""Names out of debug files of stripped programs, and of code made at run time. C23, C26."""
import itertools
import json
import os
import re
import shutil
import signal
import socket

from live import Skip, check, close_to, tracer_programs

SYSTEM = '/usr/lib/debug'


def strip(live, name):
    """A copy of the sleep workload without symbols, and its debug file beside it: (program, debug file, build id)."""
    program, debug = live.path(name), live.path(name + '.debug')
    shutil.copy(live.work('sleep')[0], program)
    live.run(['objcopy', '--only-keep-debug', program, debug])
    live.run(['strip', '-s', program])
    _, text, _ = live.run(['readelf', '-n', program])
    return program, debug, re.search(r'Build ID: (\w+)', text).group(1)


def check_named(live, rec, rounds=4):
    us = rec.folded_us('main', 'g', 'f')
    check(close_to(us, rounds * 50000, 0.05, live.slack_ns / 1000), '%d us under main;g;f: %s', us, rec.folded[:4])


def check_unnamed(rec):
    """Its own functions have no names; what it calls has."""
    check(not any(f in ('main', 'f', 'g') for frames, _ in rec.folded for f in frames), 'named: %s', rec.folded[:4])
    check(any('nanosleep' in f for frames, _ in rec.folded for f in frames), 'no libc: %s', rec.folded[:4])


def test_debug_link(live):
    """C23: stripped, nothing of its own is named; with the file that .gnu_debuglink names all is; not with another's."""
    program, debug, _ = strip(live, 'linked')
    rec = live.record([program, '4', '50000'])
    check_unnamed(rec)
    live.run(['objcopy', '--add-gnu-debuglink=' + debug, program])
    check_named(live, live.record([program, '4', '50000']))
    shutil.copy(live.work('mutex')[0], debug)
    rec = live.record([program, '4', '50000'], lossy=True)
    check_unnamed(rec)
    check(rec.diagnostics == 'debug file %s has another build id: not used\n' % debug, 'diagnostics: %r', rec.diagnostics)


def private_debug_folder(script):
    """A command line that runs script, with /usr/lib/debug an empty folder of its own; $1 and so on are its words."""
    return ['unshare', '-m', 'sh', '-c', 'mount -t tmpfs none %s && %s' % (SYSTEM, script), 'sh']


def with_debug_folder(test):
    """The folder must be there to mount something on it; what this makes it takes away."""
    def run(live):
        made = not os.path.isdir(SYSTEM)
        if made:
            os.mkdir(SYSTEM)
        try:
            test(live)
        finally:
            if made:
                os.rmdir(SYSTEM)
    run.__doc__, run.__name__ = test.__doc__, test.__name__
    return run


def install(build_id):
    """Shell commands that install "$1" as the debug file of that build id."""
    folder = '%s/.build-id/%s' % (SYSTEM, build_id[:2])
    return 'mkdir -p %s && cp "$1" %s/%s.debug && shift' % (folder, folder, build_id[2:])


@with_debug_folder
def test_build_id(live):
    """C23: the debug file lies below /usr/lib/debug/.build-id."""
    program, debug, build_id = strip(live, 'by_id')
    wrap = private_debug_folder(install(build_id) + ' && "$@"; exit $?') + [debug]
    check_named(live, live.record([program, '4', '50000'], wrap=wrap))


@with_debug_folder
def test_debug_files_of_the_target(live):
    """C20, C23: program and debug file are in the target's mount namespace only; it is attached to from outside."""
    program, debug, build_id = strip(live, 'inside')
    p = live.spawn(private_debug_folder(install(build_id) + ' && exec "$@"') + [debug, program, '200', '50000'])
    live.until('the program', lambda: os.readlink('/proc/%d/exe' % p.pid) == program)
    os.unlink(debug)
    before = tracer_programs()
    a = live.attach_start('-p', str(p.pid))
    live.started(a)
    a.send_signal(signal.SIGINT)
    rec = live.finish(a, before)
    total = sum(v for f, v in rec.folded)
    check(rec.folded_us('main', 'g', 'f') >= 0.95 * total, 'names: %s', rec.folded[:3])


def serve(live, folder):
    """A debuginfod of our own that serves a folder with one file: (URL, function that gives what it was asked for)."""
    if not shutil.which('debuginfod'):
        raise Skip('no debuginfod: install debuginfod, libdebuginfod1')
    with socket.socket() as s:
        s.bind(('127.0.0.1', 0))
        port = s.getsockname()[1]
    p = live.spawn(['debuginfod', '-F', '-p', str(port), '-d', live.path('db'), folder],
                   env={'PATH': os.environ['PATH'], 'HOME': live.tmp})
    said = lambda: live.text(p) + live.text(p, 1)

    def ready():
        check(p.poll() is None, 'debuginfod ended: %s', said()[-300:])
        if 'traversed source paths' in said():
            p.send_signal(signal.SIGUSR2)            # then it counts what it knows
        return 'files scanned (#) 1' in said()
    live.until('debuginfod', ready, 60)
    return 'http://127.0.0.1:%d' % port, lambda: re.findall(r'GET (\S+)', said())


def test_debuginfod(live):
    """C23: the debug file is on a server only: it is fetched when report is told to, by nothing else, and once."""
    program, debug, build_id = strip(live, 'served')
    folder = live.path('debug')
    os.mkdir(folder)
    shutil.move(debug, folder)
    url, asked = serve(live, folder)
    env = dict(os.environ, DEBUGINFOD_URLS=url, DEBUGINFOD_CACHE_PATH=live.path('cache'), HOME=live.tmp)
    rec = live.record([program, '4', '50000'], env=env)
    check_unnamed(rec)
    report = [live.wcbpf, 'report', '--json', '--section', 'stacks', rec.dir]

    def named_us(*options):
        rc, out, err = live.run(report + list(options), env=env)
        check(rc == 0, 'status %s: %s', rc, err)
        rows = [(s['user_frames'], s['blocked_ns']) for s in json.loads(out)['stacks']]
        return sum(ns for frames, ns in rows if any(frames[i:i + 3] == ['f', 'g', 'main'] for i in range(len(frames)))) / 1000
    check(named_us() == 0 and named_us('--symbols', live.tmp) == 0, 'named without')
    check(asked() == [], 'asked for: %s', asked())
    us = named_us('--debuginfod')
    check(close_to(us, 200000, 0.05, live.slack_ns / 1000), '%d us under main;g;f', us)
    check(asked() == ['/buildid/%s/debuginfo' % build_id], 'asked for: %s', asked())


FOLDED = """
#include <unistd.h>
__attribute__((noinline)) int waits_here(int us) { return usleep(us) + 1; }
__attribute__((noinline)) int waits_there(int us) { return usleep(us) + 1; }
int once_more(int us) __attribute__((alias("waits_there")));
int main(void) { return waits_here(50000) + waits_there(50000) + once_more(50000) == 7; }
"""


def test_folded_functions(live):
    """Functions that the linker made one have one name, always the same, and the number of the others: nm's."""
    program = live.path('folded')
    with open(live.path('folded.c'), 'w') as f:
        f.write(FOLDED)
    rc, _, err = live.run(['gcc', '-O1', '-fno-optimize-sibling-calls', '-ffunction-sections', '-fuse-ld=gold',
                           '-Wl,--icf=all', '-o', program, live.path('folded.c')])
    check(rc == 0, 'gcc: %s', err)
    _, text, _ = live.run(['nm', program])
    address = re.search(r'(\w+) T waits_here', text).group(1)
    names = sorted(re.findall(address + r' T (\w+)', text))
    check(names == ['once_more', 'waits_here', 'waits_there'], 'gold has not folded: %s', names)
    rec = live.record([program], rc=None)
    told = {(f, n) for s in rec.stacks.values() for f, n in zip(s.frames, s.other_names) if f in names}
    check(len(told) == 1 and told.pop()[1] == 2, 'told %s', told)
    rc, out, err = live.run([live.wcbpf, 'report', '--section', 'stacks', '--json', rec.dir])
    shown = [x for s in (json.loads(out)['stacks'] if rc == 0 else []) for x in zip(s['user_frames'], s['user_other_names'])]
    check(any(f in names and n == 2 for f, n in shown), 'report: %s', shown or err)
    rc, out, err = live.run([live.wcbpf, 'report', '--section', 'stacks', rec.dir])
    check(rc == 0 and re.search(r'\w \(\+\d names?\) < ', out), 'report: %s', out + err)
    check('names)' not in live.run([live.wcbpf, 'report', rec.dir])[1], 'the one page has them too')


JAVASCRIPT = """
const cell = new Int32Array(new SharedArrayBuffer(4));
function waits_here(n) { return Atomics.wait(cell, 0, 0, n); }
function outer_here() { for (let i = 0; i < 30; i++) waits_here(20); }
Atomics.wait(cell, 0, 0, 1500);
outer_here();
"""


def test_jit_names(live):
    """C26: node's own code is named by the perf map that it writes; such stacks are told as guessed."""
    node = shutil.which('node')
    if not node:
        raise Skip('no node')
    script = live.path('waits.js')
    with open(script, 'w') as f:
        f.write(JAVASCRIPT)
    rec = live.record([node, '--perf-basic-prof', '--interpreted-frames-native-stack', script], '--mode', 'time',
                      cwd=live.tmp)                 # it leaves a log where it runs
    for pid in {w.pid for w in rec.waits}:
        if os.path.exists('/tmp/perf-%d.map' % pid):
            os.unlink('/tmp/perf-%d.map' % pid)
    us = 0
    for frames, value in rec.folded:
        at = [next((i for i, f in enumerate(frames) if name in f), -1) for name in ('outer_here', 'waits_here')]
        us += value if 0 <= at[0] < at[1] else 0
    check(us >= 0.95 * 600000, '%d us under outer_here;waits_here: %s', us, [f for f in rec.folded if f[1] > 300000])
    # The first ones may come while the tables of node's library, some 50 MB of it, are still being made.
    told = [rec.stacks[w.ustack].ended for w in sorted(rec.waits, key=lambda w: w.start)
            if w.ustack and 'waits_here' in str(rec.stacks[w.ustack].frames)]
    known = list(itertools.dropwhile(lambda word: word == 'pending', told))
    check(known and set(known) == {'guessed'}, 'frames of code without rules are not told as guessed: %s', told)
