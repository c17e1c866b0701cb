# SPDX-License-Identifier: (LGPL-2.1 OR BSD-2-Clause)
"""Real programs: redis, postgres, make, python, a pipeline. Recorded, reported, invariants hold."""
import json
import os
import re
import shutil
import signal
import socket
import time

from live import Skip, check, close_to, tracer_programs
from truth import MS

S = 1000 * MS


def need(program, *places):
    path = shutil.which(program) or next((p for p in places if os.path.exists(p)), None)
    if not path:
        raise Skip('no %s' % program)
    return path


def free_port():
    with socket.socket() as s:
        s.bind(('127.0.0.1', 0))
        return s.getsockname()[1]


def accepts(port):
    with socket.socket() as s:
        return s.connect_ex(('127.0.0.1', port)) == 0


def reported(live, rec, *words):
    rc, out, err = live.run([live.wcbpf, 'report', rec.dir])
    check(rc == 0, 'report: status %d: %s', rc, err)
    for word in words:
        check(word in out, '%s is not in the report: %s', word, out[:600])


def named_share(rec):
    """Share of blocked time whose stack has no bare address in it."""
    total = sum(v for _, v in rec.folded) or 1
    return sum(v for f, v in rec.folded if not any(re.match(r'0x[0-9a-f]+$|\[unknown\]', x) for x in f)) / total


def test_redis(live):
    """A server under load, attached to; its waits are epoll, its client's sockets are named."""
    server, bench, port = need('redis-server'), need('redis-benchmark'), free_port()
    p = live.spawn([server, '--port', str(port), '--bind', '127.0.0.1', '--dir', live.tmp, '--save', '1 1',
                    '--appendonly', 'yes', '--appendfsync', 'always'], cwd=live.tmp)
    live.until('redis', lambda: accepts(port))
    before = tracer_programs()
    a = live.attach_start('-p', str(p.pid))
    live.started(a)
    rc, out, _ = live.run([bench, '-p', str(port), '-n', '3000', '-c', '8', '-t', 'set,get', '-q'], timeout=60)
    check(rc == 0, 'redis-benchmark: %s', out)
    time.sleep(1.5)                     # a save in a child of its own
    a.send_signal(signal.SIGINT)
    rec = live.finish(a, before, lossy=True)
    main = rec.of_tid(p.pid)
    check(any(w.reason == 'poll' for w in main), 'redis never waits in epoll: %s', main[:3])
    check(any(w.reason == 'io' and w.kind == 'fsync' for w in main), 'appendfsync always, and no fsync wait')
    check(rec.thread(p.pid).blocked > 0, 'totals')
    reported(live, rec, 'poll')
    p.terminate()
    live.wait(p, 20)


def test_redis_recorded_whole(live):
    """The client recorded: its sockets go to the server's port."""
    server, bench, port = need('redis-server'), need('redis-benchmark'), free_port()
    p = live.spawn([server, '--port', str(port), '--bind', '127.0.0.1', '--save', '',
                    '--enable-debug-command', 'yes'], cwd=live.tmp)
    live.until('redis', lambda: accepts(port))
    rec = live.record([bench, '-p', str(port), '-n', '2000', '-c', '4', '-t', 'get', '-q'], lossy=True)
    check('requests per second' in rec.out, 'redis-benchmark: %s', rec.out)
    check(any(w.reason == 'poll' for w in rec.waits), 'no poll wait')
    cli = need('redis-cli')
    rec = live.record([cli, '-p', str(port), 'debug', 'sleep', '0.3'], lossy=True)
    waits = [w for w in rec.waits if w.blocked > 250 * MS]
    check(waits and '127.0.0.1:%d' % port in (waits[0].ident or '') or waits and waits[0].reason == 'poll',
          'redis-cli waits for %s', waits)
    p.terminate()
    live.wait(p, 20)


def postgres_start(live):
    """(postmaster, command prefix as its user, folder of programs)"""
    bins = os.path.dirname(os.path.realpath(need('postgres', '/usr/lib/postgresql/15/bin/postgres')))
    data, port = live.path('pg'), free_port()
    os.mkdir(data)
    shutil.chown(data, 'postgres', 'postgres')
    as_pg = ['setpriv', '--reuid=postgres', '--regid=postgres', '--init-groups', 'env', 'PGPORT=%d' % port,
             'PGHOST=127.0.0.1', 'LC_ALL=C']
    rc, _, err = live.run([*as_pg, bins + '/initdb', '-D', data, '-A', 'trust', '-N'], timeout=60, cwd='/')
    check(rc == 0, 'initdb: %s', err)
    p = live.spawn([*as_pg, bins + '/postgres', '-D', data, '-k', data, '-c', 'listen_addresses=127.0.0.1'], cwd='/')
    live.until('postgres', lambda: live.run([*as_pg, bins + '/pg_isready', '-q'], cwd='/')[0] == 0, 30)
    rc, _, err = live.run([*as_pg, bins + '/pgbench', '-i', '-q', '-s', '1', 'postgres'], timeout=60, cwd='/')
    check(rc == 0, 'pgbench -i: %s', err)
    return p, as_pg, bins


def test_postgres(live):
    """Postgres under pgbench: many processes, locks, fsync; attached to the postmaster and all below it."""
    p, as_pg, bins = postgres_start(live)
    before = tracer_programs()
    a = live.attach_start('-p', str(p.pid))
    live.started(a)
    rc, out, err = live.run([*as_pg, bins + '/pgbench', '-c', '4', '-j', '2', '-T', '4', 'postgres'], timeout=60,
                            cwd='/')
    check(rc == 0, 'pgbench: %s', err)
    a.send_signal(signal.SIGINT)
    rec = live.finish(a, before, lossy=True)
    p.send_signal(signal.SIGINT)
    live.wait(p, 20)
    check(len({w.pid for w in rec.waits}) >= 5, '%d processes wait', len({w.pid for w in rec.waits}))
    kinds = {}
    for w in rec.waits:
        kinds[w.kind] = kinds.get(w.kind, 0) + 1
    check(any(k in kinds for k in ('fsync',)), 'commits without fsync: %s', kinds)
    check(kinds.get('semaphore', 0) + kinds.get('futex', 0) + kinds.get('epoll', 0) > 10, 'kinds %s', kinds)
    reported(live, rec, 'io')


def make_project(folder, n=12):
    """A C project with enough to compile to keep two jobs busy for a few seconds."""
    for i in range(n):
        with open(os.path.join(folder, 'part%d.c' % i), 'w') as f:
            f.write('#include <stdio.h>\n#include <stdlib.h>\n#include <string.h>\n')
            for j in range(60):
                f.write('int part%d_%d(int x)\n{\n\tchar b[64];\n\tsnprintf(b, sizeof(b), "%%d", x);\n'
                        '\tfor (int i = 0; i < x; i++)\n\t\tx ^= (int)strlen(b) * %d + atoi(b);\n\treturn x;\n}\n'
                        % (i, j, j + 3))
    with open(os.path.join(folder, 'main.c'), 'w') as f:
        for i in range(n):
            f.write('int part%d_0(int x);\n' % i)
        f.write('int main(void)\n{\n\treturn 0 & (%s);\n}\n' % ' + '.join('part%d_0(1)' % i for i in range(n)))
    with open(os.path.join(folder, 'Makefile'), 'w') as f:
        objects = ' '.join('part%d.o' % i for i in range(n)) + ' main.o'
        f.write('prog: %s\n\tsleep 0.2\n\t$(CC) -o $@ $^\n%%.o: %%.c\n\t$(CC) -O2 -c -o $@ $<\n' % objects)


def test_make(live):
    """make -j2: every process an exec op below its spawner, each wait for a child has its target."""
    need('make'), need('cc')
    os.mkdir(live.path('src'))
    make_project(live.path('src'))
    rec = live.record(['make', '-C', live.path('src'), '-j2', '-s'], timeout=100)
    check(os.path.exists(live.path('src/prog')), 'nothing was built')
    execs = [o for o in rec.ops.values() if o.kind == 'exec']
    classes = {}
    for o in execs:
        classes[o.cls.rsplit('/', 1)[-1]] = classes.get(o.cls.rsplit('/', 1)[-1], 0) + 1
    check(classes.get('cc1', 0) == 13 and classes.get('as', 0) == 13, 'programs %s', classes)
    check(all(not o.open and o.outcome == 'ok' for o in execs), 'ops that failed or stayed open')
    keys = {o.client for o in execs}
    linked = {x.ident for x in rec.links if x.kind == 'nested_client'}
    roots = [o for o in execs if o.client not in linked]
    check(len(roots) == 1 and linked <= keys, 'roots %s', roots)
    # a wait in vfork ends with the child's exec, not with its op: it has no target, and is long on a busy machine
    waits = [w for w in rec.waits if w.kind == 'child' and w.blocked > 5 * MS]
    with_target = [w for w in waits if w.target]
    check(len(with_target) >= 0.9 * len(waits) > 0, '%d of %d waits for children have a target', len(with_target),
          len(waits))
    for w in with_target:
        check(abs(rec.ops[w.target].end - w.end) < 10 * MS + live.slack_ns or rec.ops[w.target].end <= w.end,
              'the target of %r ends at %d', w, rec.ops[w.target].end)
    check(any(w.kind == 'sleep' and close_to(w.blocked, 200 * MS, 0.1, 10 * MS) for w in rec.waits), 'sleep 0.2')
    reported(live, rec, 'exec')


PYTHON = '''
import queue, threading, time
q, lock, done = queue.Queue(), threading.Lock(), threading.Event()
def worker():
    while q.get() is not None:
        with lock:
            time.sleep(0.05)
threads = [threading.Thread(target=worker, name='worker%d' % i) for i in range(3)]
for t in threads: t.start()
for i in range(12): q.put(i)
for t in threads: q.put(None)
for t in threads: t.join()
done.wait(0.2)
print('done')
'''


def test_python_threads(live):
    """python3: threads that queue for one lock around a sleep: 12 x 50 ms in turn."""
    rec = live.record([need('python3'), '-c', PYTHON])
    check('done' in rec.out, 'python: %s', rec.err)
    sleeps = [w for w in rec.waits if w.kind == 'sleep' and close_to(w.blocked, 50 * MS, 0.1, live.slack_ns)]
    check(len(sleeps) == 12, '%d sleeps of 12', len(sleeps))
    for a, b in zip(sorted(sleeps, key=lambda w: w.start), sorted(sleeps, key=lambda w: w.start)[1:]):
        check(b.start >= a.end, 'two threads sleep inside one lock')
    sync = sum(w.blocked for w in rec.waits if w.kind in ('semaphore', 'condvar', 'futex', 'mutex'))
    check(sync > 1 * S, 'the others waited %d ms for the lock', sync // MS)
    reported(live, rec, 'sleep')


def test_shell_pipeline(live):
    """A pipeline: readers wait for their pipes, the shell for its children, status of the last command."""
    script = '(for i in 1 2 3 4 5; do sleep 0.1; echo $i; done) | cat | (wc -l; exit 4)'
    rec = live.record(['sh', '-c', script], rc=4)
    check(rec.out.strip() == '5', 'output %r', rec.out)
    pipes = [w for w in rec.waits if w.kind == 'pipe' and w.blocked > 50 * MS]
    check(5 <= len(pipes) <= 12, '%d pipe waits: %s', len(pipes), pipes)
    check(all('pipe' in w.ident for w in pipes), 'idents %s', {w.ident for w in pipes})
    sleeps = [w for w in rec.waits if w.kind == 'sleep' and close_to(w.blocked, 100 * MS, 0.1, 5 * MS + live.slack_ns)]
    check(len(sleeps) == 5, '%d sleeps', len(sleeps))
    check(any(w.reason == 'exec' and w.target for w in rec.waits), 'the shell waits for no child')


def test_pipeline_path(live):
    """A writer whose pipe is full wakes its reader from within its wait: the critical path leads through all of them."""
    script = 'seq 1 100000 | sort -R | gzip | wc -c; sleep 0.2'
    rec = live.record(['sh', '-c', script])
    rc, out, err = live.run([live.wcbpf, 'report', '--json', '--section', 'path', rec.dir])
    check(rc == 0, 'report: %s', err)
    path = json.loads(out)['path']
    gap = sum(x['ns'] for x in path['stretches'] if x['state'] == 'gap')
    classes = {x['class'] for x in path['stretches']}
    live.figure('pipeline: %.0f ms, %.1f ms of the path are a gap', path['makespan_ns'] / MS, gap / MS)
    check(gap < path['makespan_ns'] / 50, 'nothing is known of %d of %d ns', gap, path['makespan_ns'])
    check({'sort', 'sleep'} <= classes, 'on the path are %s', classes)
    # sort reads all before it writes, so nothing runs beside it but seq.
    rc, out, err = live.run([live.wcbpf, 'whatif', '--json', 'op:internal:sort cpu * 0.5', rec.dir])
    check(rc == 0, 'whatif: %s', err)
    oncpu, saved = sum(t.oncpu for t in rec.threads if t.comm == 'sort'), json.loads(out)['saves_ns']
    check(saved > 0.3 * oncpu, 'half of %d ns of sort saves %d', oncpu, saved)
