# SPDX-License-Identifier: (LGPL-2.1 OR BSD-2-Clause)
"""Stripped Go programs: whole stacks, with Go's names, also of what is blocked when recording begins."""
import os
import subprocess

from live import Skip, check

TOOLCHAIN = os.path.join(os.path.dirname(os.path.abspath(__file__)), '..', 'lib', 'go-toolchain')
# Besides the system's: of each layout of the runtime's structures, and of each set of its words for waits; 1.22 is
# as 1.21, 1.23 has the layout of 1.24 with the words of 1.21.
NEWER = os.environ.get('WCBPF_GO_VERSIONS', '1.21 1.24 1.25 1.26 1.27').split()


def is_by_status(version):
    """Are wakes seen as changes of a goroutine's status there?"""
    return int(version.split('.')[1]) >= 26


# The first of either way, for what takes longer; of the newest of these other builds than stripped ones.
FIRST = [([v for v in NEWER if is_by_status(v) == how] or [None])[0] for how in (False, True)]
FIRST = [v for v in FIRST if v]
SCRIPT = os.path.join(os.path.dirname(os.path.abspath(__file__)), '..', 'lib', 'go-programs')
SLEEP = ['runtime.goexit', 'runtime.main', 'main.main', 'main.outer', 'main.inner', 'syscall.Nanosleep']


def program(live, name, of='base', compiler='go', version='', cache=''):
    """The path of a Go program of the tests, built if need be."""
    folder = os.path.abspath(os.path.join(live.workloads, '..', '..', 'go-programs' + version))
    env = dict(os.environ, GO=compiler, **({'WCBPF_GO_BUILD_CACHE': cache} if cache else {}))
    rc = subprocess.run([SCRIPT, folder, of], stdout=subprocess.DEVNULL, env=env).returncode
    if rc == 77:
        raise Skip('no Go compiler')
    check(rc == 0, '%s %s %s: status %d', SCRIPT, folder, of, rc)
    return os.path.join(folder, name)


def newer_program(live, name, version, of='newer'):
    """The same by another version of Go, which is fetched if it can be."""
    p = subprocess.run([TOOLCHAIN, version], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    if p.returncode == 77:
        raise Skip(p.stderr.strip())
    check(p.returncode == 0, '%s %s: status %d: %s', TOOLCHAIN, version, p.returncode, p.stderr)
    folder = p.stdout.strip()
    return program(live, name, of, os.path.join(folder, 'bin', 'go'), '-' + version, folder + '-build')


def stacks_are_whole(live, name):
    p = live.spawn([program(live, name), '60000'])
    live.until('sleeps', lambda: live.text(p), 10)
    rec = live.attach('-p', str(p.pid), '-d', '3s', timeout=90)
    sleeps = [rec.frames(w)[0][::-1] for w in rec.waits if w.kind == 'sleep']
    whole = [f for f in sleeps if f[:len(SLEEP)] == SLEEP]
    strange = [f for f in sleeps if 'main.inner' in f and f not in whole]
    check(len(whole) > 100, '%d sleeps of %d with all callers, others: %s', len(whole), len(sleeps), strange[:2])
    check(not strange, 'sleeps without all of their callers: %s', strange[:2])
    user = rec.summary['stacks']['user']
    share = user['complete']['count'] / user['count']
    live.figure('%s: %d of %d user stacks complete', name, user['complete']['count'], user['count'])
    check(share > 0.98, 'complete are %.3f of the stacks: %s', share, user)


def test_stripped(live):
    stacks_are_whole(live, 'stripped')


def test_position_independent(live):
    stacks_are_whole(live, 'pie-stripped')


def test_without_section_headers(live):
    stacks_are_whole(live, 'bare')
