# SPDX-License-Identifier: (LGPL-2.1 OR BSD-2-Clause)
"""Hosts and users that allow less: the missing thing is named; doctor says the same. C72, C73, C74."""
import json
import os
import re
import shutil

from live import Skip, check

CLOSED = ('unshare', '-m', 'sh', '-c')


def without(live, mounts, argv):
    """argv in a mount namespace with empty tmpfs over these folders."""
    script = ''.join('mount -t tmpfs none %s && ' % m for m in mounts if os.path.isdir(m)) + 'exec "$@"'
    return live.run([*CLOSED, script, 'sh', *argv], timeout=60)


def summary_of(folder):
    path = os.path.join(folder, 'offcpu.summary.json')
    if not os.path.exists(path):
        return None
    with open(path) as f:
        return json.load(f)


def test_without_btf(live):
    """C74: no BTF: its kernel option is named, status 125, the summary says tool_missing; report still works."""
    folder = live.folder()
    rec = live.record(live.work('mutex plain 2 40'))
    rc, _, err = without(live, ['/sys/kernel/btf'], [live.wcbpf, 'record', '-o', folder, '--', 'true'])
    check(rc == 125, 'status %s: %s', rc, err)
    check('CONFIG_DEBUG_INFO_BTF' in err, 'said %s', err)
    s = summary_of(folder)
    check(s and s['state'] == 'tool_missing' and s['caveat_kind'] == 'tool_unavailable', 'summary %s', s)
    check(s['caveat_message'].startswith('the off-CPU profiler is not runnable on this host; blocked time was not '
                                         'captured'), 'caveat %s', s['caveat_message'])
    check('BTF' in s['caveat_message'], 'caveat %s', s['caveat_message'])
    rc, out, err = without(live, ['/sys/kernel/btf'], [live.wcbpf, 'report', rec.dir])
    check(rc == 0 and 'lock' in out, 'report: %s', err)
    rc, out, err = without(live, ['/sys/kernel/btf'], [live.wcbpf, 'doctor'])
    check('CONFIG_DEBUG_INFO_BTF' in out + err, 'doctor: %s', out)


def test_hidden_tracefs(live):
    """C73: tracefs hidden: full function by a mount of our own, outcomes of futex calls included."""
    folder, before, after = live.folder(), live.path('mounts.before'), live.path('mounts.after')
    # in wcbpf's own mount namespace: from outside nothing of it could be seen
    script = 'cat /proc/self/mountinfo >%s; "$@"; s=$?; cat /proc/self/mountinfo >%s; exit $s' % (before, after)
    rc, out, err = without(live, ['/sys/kernel/tracing', '/sys/kernel/debug'],
                           ['sh', '-c', script, 'sh', live.wcbpf, 'record', '-o', folder, '--',
                            *live.work('condvar timed 3 50')])
    check(rc == 0, 'status %s: %s', rc, err)
    from recording import Recording
    rec = Recording(folder).load()
    check(not rec.errors, '%s', rec.errors[:3])
    waits = [w for w in rec.waits if w.kind == 'condvar']
    check(len(waits) == 3, '%d waits', len(waits))
    if any(w.outcome != 'timeout' for w in waits):
        said = (rec.diagnostics or '') + err
        check('tracefs' in said, 'outcomes %s, and nothing is said: %s', [w.outcome for w in waits], said)
    with open(before) as f, open(after) as g:
        there, left = f.read().splitlines(), g.read().splitlines()
    check(there and left == there, 'mounts changed: %s', set(left) ^ set(there))


def test_unprivileged_user(live):
    """C72: as nobody: the missing capability by name, refused as the harness expects it, no traceback of libbpf's."""
    os.chmod(live.tmp, 0o777)
    folder = live.folder()
    argv = ['setpriv', '--reuid=65534', '--regid=65534', '--clear-groups', live.wcbpf]
    rc, _, err = live.run([*argv, 'record', '-o', folder, '--', 'true'], cwd=live.tmp)
    check(rc == 125, 'status %s: %s', rc, err)
    check('CAP_BPF' in err or 'CAP_SYS_ADMIN' in err, 'said %s', err)
    check('libbpf:' not in err and len(err.splitlines()) < 10, 'said %s', err)
    s = summary_of(folder)
    check(s and s['state'] in ('tool_missing', 'tool_failed'), 'summary %s', s)
    with open(os.path.join(folder, 'offcpu.diagnostics.txt')) as f:
        check('Operation not permitted' in f.read(), 'the harness can not classify it')
    rc, out, err = live.run([*argv, 'doctor'], cwd=live.tmp)
    check('CAP_BPF' in out + err, 'doctor as nobody: %s', out)
    check('before Linux' not in out, 'doctor as nobody, of what it could not ask: %s', out)
    said = [line for line in out.splitlines() if line.split()[1:3] == ['BPF', 'programs']]
    check(said and said[0].endswith('run as root'), 'doctor as nobody, cut short: %s', said)


def dropped(live, caps, words):
    if not shutil.which('capsh', path='/usr/sbin:/sbin:/usr/bin'):
        raise Skip('no capsh')
    script = 'exec "$0" "$@"'
    return live.run(['/usr/sbin/capsh', '--drop=' + caps, '--', '-c', script, *words], timeout=60)


def test_single_capabilities(live):
    """C72: without one capability it works quietly or says which."""
    for cap in ('cap_bpf', 'cap_perfmon', 'cap_sys_ptrace', 'cap_sys_admin', 'cap_bpf,cap_sys_admin',
                'cap_perfmon,cap_sys_admin'):
        folder = live.folder()
        rc, out, err = dropped(live, cap, [live.wcbpf, 'record', '-o', folder, '--', *live.work('mutex plain 1 40')])
        if rc == 0:
            s = summary_of(folder)
            check(s and s['state'] == 'summary_written', 'without %s: %s', cap, s)
            continue
        check(rc == 125, 'without %s: status %s: %s', cap, rc, err)
        named = [c for c in cap.upper().split(',') if c in err]
        check(named, 'without %s: said %s', cap, err)


def test_doctor(live):
    """doctor on this host: status 0 and a line for each thing that matters; of a target too."""
    rc, out, err = live.run([live.wcbpf, 'doctor'])
    check(rc == 0, 'status %d: %s', rc, err + out)
    for word in ('BTF', 'CAP_BPF', 'tracefs'):
        check(word in out, '%s is not in %s', word, out)
    sleeper = live.spawn(['sleep', '20'])
    rc, out, err = live.run([live.wcbpf, 'doctor', '-p', str(sleeper.pid)])
    check(rc == 0 and str(sleeper.pid) in out, 'doctor -p: status %d: %s', rc, err + out)
    rc, out, err = live.run([live.wcbpf, 'doctor', '-p', '4194999'])
    check(rc != 0 and '4194999' in out + err, 'doctor -p of nobody: status %d: %s', rc, err + out)


def test_typed_programs_refused(live):
    """A kernel that refuses the BTF tracing programs: recorded by others, and that is told, by doctor too."""
    env = dict(os.environ, LD_PRELOAD=live.work('librefuse.so')[0], REFUSE='switch_btf')
    rec = live.record(live.work('sleep 5 20000'), strict=False, env=env)
    check('BTF tracing programs are refused' in rec.diagnostics, 'diagnostics: %r', rec.diagnostics)
    stacks = [rec.stacks[w.kstack].frames for w in rec.waits if w.kind == 'sleep' and w.kstack in rec.stacks]
    check(len(stacks) >= 5 and all(any('nanosleep' in f for f in s) for s in stacks), 'kernel stacks: %s', stacks)
    rc, out, err = live.run([live.wcbpf, 'doctor'], env=env)
    check(re.search(r'BTF programs.*refused', out), 'doctor: %s', out + err)
    rc, out, err = live.run([live.wcbpf, 'doctor'])
    check(not re.search(r'BTF programs.*refused', out) and 'BTF programs' in out, 'doctor: %s', out + err)


def test_help_and_version(live):
    """Every verb has help on stdout with status 0; an unknown verb is a usage error of its own."""
    for words in (['--help'], ['-h'], ['--version'], ['-V'], ['help', 'record'], ['record', '--help'],
                  ['attach', '--help'], ['report', '--help'], ['doctor', '--help']):
        rc, out, err = live.run([live.wcbpf, *words])
        check(rc == 0 and out.strip() and not err.strip(), '%s: status %d, stderr %r', words, rc, err[:200])
    rc, out, err = live.run([live.wcbpf, 'recrod'])
    check(rc not in (0, 1) and 'recrod' in err and not out, 'recrod: status %d: %s', rc, err)
