# SPDX-License-Identifier: (LGPL-2.1 OR BSD-2-Clause)
"""The target must not notice: what it inherits, its streams, its terminal, its user. C68, invariant I4."""
import os
import pty
import re
import resource
import shutil
import signal
import stat
import time

from live import check

# what may differ between two runs, with or without a tracer: file identities of our own output files, the n-th shell
VARIES = re.compile(r'^(fd [12] .*|env _=.*|env OLDPWD=.*)$')


def lines_of(text):
    return [x for x in text.splitlines() if not VARIES.match(x)]


# Both runs are children of a shell in its session: the runner's own children lead sessions, record's child does not.
SHELL = ('sh', '-c', '"$@"; exit $?', 'sh')


def compare(live, **kw):
    argv = live.work('inherit')
    rc, plain, _ = live.run([*SHELL, *argv], **kw)
    rec = live.record(argv, rc=rc, strict=False, wrap=SHELL, **kw)
    a, b = lines_of(plain), lines_of(rec.out)
    check(len(a) > 50, 'the workload printed %d lines', len(a))
    gone, new = [x for x in a if x not in b], [x for x in b if x not in a]
    check(not gone and not new, 'inherited without tracer: %s; with: %s', gone[:5], new[:5])


def test_inherits_everything(live):
    """C68: files, signals, environment, limits, credentials, scheduling as without wcbpf."""
    compare(live)


def test_inherits_odd_settings(live):
    """C68: ignored and blocked signals, nice, limits, umask, CPU set, more open files."""
    def odd():
        signal.signal(signal.SIGHUP, signal.SIG_IGN)
        signal.signal(signal.SIGPIPE, signal.SIG_IGN)
        signal.signal(signal.SIGINT, signal.SIG_IGN)
        signal.signal(signal.SIGCHLD, signal.SIG_IGN)
        signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGUSR1, signal.SIGWINCH, signal.SIGTERM])
        os.nice(5)
        os.umask(0o27)
        resource.setrlimit(resource.RLIMIT_NOFILE, (200, 300))
        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
        os.sched_setaffinity(0, [min(os.sched_getaffinity(0))])
        os.dup2(os.open('/dev/null', os.O_RDWR), 77)
    compare(live, preexec_fn=odd, close_fds=False)


def test_low_memlock(live):
    """C72: a limit of 64 KiB of locked memory neither stops wcbpf nor changes for the workload."""
    def low():
        resource.setrlimit(resource.RLIMIT_MEMLOCK, (65536, 65536))
    compare(live, preexec_fn=low)


def test_setuid_program(live):
    """C68: a set-user-id program works."""
    program = live.path('inherit')
    shutil.copy(live.work('inherit')[0], program)
    os.chown(program, 65534, 65534)
    os.chmod(program, 0o4755)
    rec = live.record([program], strict=False)
    check(re.search(r'^ids 0 65534 ', rec.out, re.M), 'ids: %s', re.findall(r'^ids.*', rec.out, re.M))


def test_user_option(live):
    """C68: --user runs the workload as that user, with its groups, and gives it no capability."""
    os.chmod(live.tmp, 0o777)
    program = live.path('inherit')
    shutil.copy(live.work('inherit')[0], program)
    os.chmod(program, 0o755)
    rec = live.record([program], '--user', 'nobody', strict=False)
    check(re.search(r'^ids 65534 65534 65534 65534', rec.out, re.M), 'ids: %s', re.findall(r'^ids.*', rec.out, re.M))
    check(re.search(r'^status CapEff:\s0+$', rec.out, re.M), 'capabilities: %s', re.findall(r'CapEff.*', rec.out))
    check(re.search(r'^status Groups:\s(65534)?\s*$', rec.out, re.M), 'groups: %s', re.findall(r'Groups.*', rec.out))


def test_sudo_owns_the_files(live):
    """C68: under sudo the files belong to who called it."""
    env = dict(os.environ, SUDO_UID='65534', SUDO_GID='65534', SUDO_USER='nobody')
    rec = live.record(live.work('sleep 2 1000'), env=env)
    for name in [''] + os.listdir(rec.dir):
        st = os.stat(os.path.join(rec.dir, name))
        check((st.st_uid, st.st_gid) == (65534, 65534), '%s belongs to %d:%d', name or 'the folder', st.st_uid,
              st.st_gid)


def test_streams_pass_through(live):
    """I4: stdin, stdout and stderr are the workload's own; what it prints is in no file of wcbpf."""
    text = b'one\ntwo\n' * 1000
    with open(live.path('in'), 'wb') as f:
        f.write(text)
    with open(live.path('in'), 'rb') as f:
        rec = live.record(['sh', '-c', 'cat; echo SECRET-ERR >&2; exit 3'], stdin=f, rc=3, strict=False)
    check(rec.out.encode() == text, 'stdout has %d bytes, not %d', len(rec.out), len(text))
    check('SECRET-ERR' in rec.err, 'stderr was lost')
    for name in ('offcpu.diagnostics.txt', 'offcpu.summary.json'):
        with open(rec.path(name)) as f:
            check('SECRET-ERR' not in f.read().replace('echo SECRET-ERR', ''), '%s holds what the workload printed',
                  name)


def test_terminal(live):
    """I4: on a terminal the workload is in the foreground and reads from it; Ctrl-C by the terminal reaches it."""
    script = 'stty -g >/dev/null && read line && echo "read=$line"; exec "$@"'
    argv = [live.wcbpf, 'record', '-o', live.folder(), '--', 'sh', '-c', script, 'sh', *live.work('catch 20')]
    pid, fd = pty.fork()
    if pid == 0:
        os.execv(argv[0], argv)
    got, sent, interrupted, end = b'', False, False, time.monotonic() + 30
    os.set_blocking(fd, False)
    status = None
    while time.monotonic() < end:
        try:
            got += os.read(fd, 65536)
        except (BlockingIOError, OSError):
            pass
        if not sent and time.monotonic() > end - 28:
            os.write(fd, b'hello\n')
            sent = True
        if b'ready' in got and not interrupted:
            os.write(fd, b'\x03')
            interrupted = True
        done, status = os.waitpid(pid, os.WNOHANG)
        if done:
            break
        time.sleep(0.05)
    else:
        live.kill_tree(pid)
        os.waitpid(pid, 0)
    os.close(fd)
    text = got.decode('utf-8', 'replace')
    check(status is not None and os.WIFEXITED(status), 'no end; terminal shows: %s', text[-300:])
    check('read=hello' in text, 'the workload could not read the terminal: %s', text[-300:])
    check('got signal=2' in text and os.WEXITSTATUS(status) == 42, 'Ctrl-C: status %s, terminal: %s', status,
          text[-300:])


def test_output_is_no_secret_program(live):
    """C68: output files can be read by their owner and are nobody else's to write."""
    rec = live.record(live.work('sleep 2 1000'))
    for name in os.listdir(rec.dir):
        mode = os.stat(rec.path(name)).st_mode
        check(not mode & (stat.S_IWGRP | stat.S_IWOTH | stat.S_IXUSR), '%s has mode %o', name, mode & 0o7777)
