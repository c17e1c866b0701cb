# SPDX-License-Identifier: (LGPL-2.1 OR BSD-2-Clause)
"""Names out of debug files of stripped programs. C23."""
import os
import re
import shutil
import signal

from live import check, close_to, tracer_programs

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
