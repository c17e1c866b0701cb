# SPDX-License-Identifier: (LGPL-2.1 OR BSD-2-Clause)
"""A real sudo, called by a real user: whose the files are, what the target gets, who gets Ctrl-C. C65, C68.

The user is nobody. Its right to use sudo is a file mounted over /etc/sudoers in a mount namespace of the test's own,
so the host's stays as it is.
"""
import os
import pty
import shutil
import signal
import time

from live import Skip, check, children_of, programs_held_by, tracer_programs
from recording import Recording
from truth import MS

NOBODY = 65534
SUDOERS = '''Defaults env_reset, %s
Defaults secure_path="/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"
root ALL=(ALL:ALL) ALL
#%d ALL=(ALL:ALL) NOPASSWD: SETENV: ALL
'''


def as_user(*words):
    return ['setpriv', '--reuid=%d' % NOBODY, '--regid=%d' % NOBODY, '--clear-groups', *words]


def sudo(live, *options, default='!use_pty'):
    """What comes before a command that nobody runs by sudo; its folder becomes nobody's."""
    if not shutil.which('sudo'):
        raise Skip('NO SUDO: install sudo')
    sudoers = live.path('sudoers')
    if os.path.exists(sudoers):
        os.unlink(sudoers)
    with open(sudoers, 'w') as f:
        f.write(SUDOERS % (default, NOBODY))
    os.chmod(sudoers, 0o440)
    os.chown(live.tmp, NOBODY, NOBODY)
    script = 'mount --bind "$0" /etc/sudoers && exec "$@"'
    return ('unshare', '-m', 'sh', '-c', script, sudoers,
            *as_user('env', '-i', 'PATH=/usr/bin:/bin', 'HOME=/nonexistent', 'USER=nobody', 'TERM=dumb',
                     'WCBPF_TEST=secret', 'sudo', '-n', *options))


def owned_by_nobody(folder):
    for name in ['', *os.listdir(folder)]:
        st = os.stat(os.path.join(folder, name))
        check((st.st_uid, st.st_gid) == (NOBODY, NOBODY), '%s of %s belongs to %d:%d', name or 'the folder',
              os.path.basename(folder), st.st_uid, st.st_gid)


def reported(live, folder, *words):
    """report, run by nobody; by a copy of wcbpf that it can reach wherever the build is."""
    program = live.path('wcbpf')
    shutil.copy(live.wcbpf, program)
    rc, out, err = live.run([*as_user(program), 'report', folder], cwd=live.tmp)
    check(rc == 0, 'report as nobody: status %d: %s', rc, err)
    for word in words:
        check(word in out, '%s is not in the report: %s', word, out[:600])


def test_record(live):
    """The files are the caller's, also those that became old; the caller reads them; the status is the workload's."""
    folder = live.folder()
    for _ in range(2):
        rec = live.record(['sh', '-c', 'sleep 0.2; exit 3'], rc=3, wrap=sudo(live), folder=folder)
        check(any(w.kind == 'sleep' and w.blocked > 190 * MS for w in rec.waits), 'no sleep: %s', rec.waits)
        owned_by_nobody(folder)
    owned_by_nobody(folder + '.old')
    reported(live, folder, 'sleep', 'exit 3')
    check(not os.path.exists(folder + '.old.removed'), 'a third folder')


def test_exit_codes(live):
    """sudo passes on what wcbpf says: a signal, not found, not runnable, usage."""
    os.mkdir(live.path('folder'))
    for want, words in ((0, ['--', 'true']), (143, ['--', 'sh', '-c', 'kill -TERM $$']), (127, ['--', 'no-such-thing']),
                        (126, ['--', live.path('folder')]), (125, ['--no-such-option', '--', 'true'])):
        rc, _, err = live.run([*sudo(live), live.wcbpf, 'record', '-o', live.folder(), *words])
        check(rc == want, '%s: status %d, not %d: %s', words, rc, want, err)


def test_environment(live):
    """The target's environment is what sudo gives without wcbpf; -E and assignments reach it, and nothing else does."""
    for options in ((), ('-E',), ('GIVEN=a b',), ('-H',)):
        rc, plain, err = live.run([*sudo(live, *options), 'env'])
        check(rc == 0, 'sudo env: %s', err)
        rec = live.record(['env'], wrap=sudo(live, *options), strict=False)
        a, b = ({x for x in text.splitlines() if not x.startswith('SUDO_COMMAND=')} for text in (plain, rec.out))
        check(len(a) > 5 and 'SUDO_UID=%d' % NOBODY in a, 'sudo gives %s', a)
        check(a == b, 'sudo %s: without wcbpf %s, with it %s', options, a - b, b - a)
        check(('WCBPF_TEST=secret' in b) == ('-E' in options), 'sudo %s: the environment is %s', options, b)


def test_user_option(live):
    """--user under sudo: back to the caller, with no more rights than it had."""
    rec = live.record(['sh', '-c', 'id -u; id -ru; grep CapEff /proc/self/status; echo x >made'], '--user', 'nobody',
                      wrap=sudo(live), cwd=live.tmp)
    check(rec.out.split() == [str(NOBODY), str(NOBODY), 'CapEff:', '0' * 16], 'it is %s', rec.out.split())
    check(os.stat(live.path('made')).st_uid == NOBODY, 'its file is of %d', os.stat(live.path('made')).st_uid)


def sleeper_of_nobody(live):
    p = live.spawn(as_user('sleep', '60'))
    live.until('sleep', lambda: os.stat('/proc/%d' % p.pid).st_uid == NOBODY)
    return p


def test_attach(live):
    """attach to a process of the caller's; a SIGINT for sudo ends it with whole files and status 0."""
    target, before = sleeper_of_nobody(live), tracer_programs()
    p = live.attach_start('-p', str(target.pid), wrap=sudo(live))
    live.started(p)
    p.send_signal(signal.SIGINT)
    rec = live.finish(p, before)
    check(any(w.kind == 'sleep' and w.tid == target.pid for w in rec.waits), 'no sleep: %s', rec.waits)
    owned_by_nobody(rec.dir)
    reported(live, rec.dir, 'sleep', 'pid %d' % target.pid)
    rec = live.attach('-p', str(target.pid), '-d', '300ms', wrap=sudo(live))
    owned_by_nobody(rec.dir)
    check(target.poll() is None, 'the target ended')


def on_terminal(argv, seconds=30):
    """Runs argv on a terminal of its own, types Ctrl-C when it traces. (wait status or None, what it showed)"""
    pid, fd = pty.fork()
    if pid == 0:
        # a job in the background of a script has them ignored, and wcbpf leaves it at that
        signal.signal(signal.SIGINT, signal.SIG_DFL)
        signal.signal(signal.SIGQUIT, signal.SIG_DFL)
        os.execvp(argv[0], argv)
    os.set_blocking(fd, False)
    got, typed, status, end = b'', False, None, time.monotonic() + seconds
    while time.monotonic() < end:
        try:
            got += os.read(fd, 65536)
        except OSError:
            pass
        if not typed and any(programs_held_by(p) for p in children_of(pid)):
            time.sleep(0.7)         # as in Live.started()
            os.write(fd, b'\x03')
            typed = True
        done, state = os.waitpid(pid, os.WNOHANG)
        if done:
            status = state
            break
        time.sleep(0.05)
    else:
        os.kill(pid, signal.SIGKILL)
        os.waitpid(pid, 0)
    os.close(fd)
    return status, got.decode('utf-8', 'replace')


def test_terminal(live):
    """Ctrl-C on a terminal, with sudo's own terminal in between and without: one interrupt, whole files, status 0."""
    for default in ('!use_pty', 'use_pty'):
        target, folder, before = sleeper_of_nobody(live), live.folder(), tracer_programs()
        argv = [*sudo(live, default=default), live.wcbpf, 'attach', '-o', folder, '-p', str(target.pid)]
        status, text = on_terminal(argv)
        check(status is not None and os.WIFEXITED(status) and os.WEXITSTATUS(status) == 0, '%s: status %s: %s', default,
              status, text[-400:])
        live.nothing_left(before)
        rec = Recording(folder).load()
        check(rec.header and rec.summary and not rec.errors, '%s: %s', default, rec.errors[:3] or text[-400:])
        check(any(w.tid == target.pid for w in rec.waits), '%s: no wait', default)
        owned_by_nobody(folder)


def test_refused_without(live):
    """Forgetting sudo: one line says so, status 125; several times cost no recording that was made with it."""
    program, folder = live.path('wcbpf'), live.path('wcbpf.out')
    live.record(['sleep', '0.05'], wrap=sudo(live), folder=folder)
    live.record(['sleep', '0.05'], wrap=sudo(live), folder=folder)
    shutil.copy(live.wcbpf, program)

    def dumps():
        return [open(os.path.join(folder + more, 'wcprof.ndjson'), 'rb').read() for more in ('', '.old')]
    before = dumps()
    for _ in range(3):
        rc, _, err = live.run([*as_user(program), 'record', '--', 'true'], cwd=live.tmp)
        check(rc == 125 and 'run as root' in err.splitlines()[0], 'status %d: %s', rc, err)
    check(dumps() == before, 'the recordings are not where they were')
    check(not os.path.exists(folder + '.old.removed'), 'a third folder')
