# SPDX-License-Identifier: (LGPL-2.1 OR BSD-2-Clause)
"""Servers in Go as Debian builds them, stripped, at work: etcd under load, and dockerd's BuildKit building offline.

What etcd counts itself (its metrics) is what must be found; of a build the Dockerfile tells what ran.
"""
import json
import os
import re
import shutil
import signal
import socket
import time
import urllib.request

from live import Skip, check, tracer_programs

PUT = 'go.etcd.io/etcd/etcdserver.(*EtcdServer).Put'
TRIGGER = 'go.etcd.io/etcd/pkg/wait.(*list).Trigger'
DEBIAN = {'etcd': '/usr/bin/etcd', 'etcdctl': '/usr/bin/etcdctl', 'docker': '/usr/bin/docker',
          'dockerd': '/usr/sbin/dockerd', 'busybox': '/bin/busybox'}


def needs(*names):
    """The distribution's own, whatever else is in PATH."""
    missing = [n for n in names if not os.path.exists(DEBIAN[n])]
    if missing:
        raise Skip('not here (packages etcd-server, etcd-client, docker.io, busybox-static): ' + ', '.join(missing))


def free_port():
    with socket.socket() as s:
        s.bind(('127.0.0.1', 0))
        return s.getsockname()[1]


def kin(rec, op):
    """Ops below this one, processes included."""
    hosted = {}
    for link in rec.links:
        if link.kind == 'nested_client':
            hosted.setdefault(link.source, []).append(link.to)
    below = {}
    for o in rec.ops.values():
        below.setdefault(o.parent, []).append(o.id)
    found, todo = [], [op.id]
    while todo:
        number = todo.pop()
        for n in below.get(number, []) + hosted.get(number, []):
            if n in rec.ops:
                found.append(rec.ops[n])
                todo.append(n)
    return found


def unharmed(rec):
    i = rec.summary['capture_integrity']
    check(i['unmatched_exits'] == 0 and i['lost_ops'] == 0, 'unmatched exits %s, lost %s', i['unmatched_exits'],
          i['lost_ops'])


# -- etcd

def puts_started(url):
    with urllib.request.urlopen(url + '/metrics', timeout=5) as f:
        m = re.search(r'^grpc_server_started_total{grpc_method="Put",[^}]*} (\S+)$', f.read().decode(), re.M)
    return int(float(m.group(1))) if m else 0


def healthy(url):
    try:
        with urllib.request.urlopen(url + '/health', timeout=5) as f:
            return json.load(f)['health'] in ('true', True)
    except OSError:
        return False


def test_etcd(live):
    needs('etcd', 'etcdctl')
    url, peer = ('http://127.0.0.1:%d' % free_port() for _ in range(2))
    server = live.spawn([DEBIAN['etcd'], '--data-dir', live.path('etcd'), '--listen-client-urls', url,
                         '--advertise-client-urls', url, '--listen-peer-urls', peer,
                         '--initial-advertise-peer-urls', peer, '--initial-cluster', 'default=' + peer])
    live.until('etcd', lambda: healthy(url), 20)
    before, programs = puts_started(url), tracer_programs()
    tracer = live.attach_start('-p', str(server.pid), '-e', PUT, '-e', TRIGGER + ' kind=internal')
    live.started(tracer)
    env = dict(os.environ, ETCDCTL_API='3')
    load = live.spawn([DEBIAN['etcdctl'], '--endpoints', url, 'check', 'perf', '--load=s'], env=env)
    time.sleep(3)
    load.terminate()
    live.wait(load, 10)
    time.sleep(0.3)
    started = puts_started(url) - before
    tracer.send_signal(signal.SIGINT)
    rec = live.finish(tracer, programs)
    unharmed(rec)
    puts = [o for o in rec.ops.values() if o.cls.endswith('.Put')]
    check(len(puts) == started > 50, '%d ops, etcd counts %d Puts', len(puts), started)
    check(not any(o.unwound or o.open for o in puts), 'a Put was left otherwise')
    check(all(o.goid for o in puts), 'a Put without goroutine')
    ids = {o.id for o in puts}
    selects = [w for w in rec.waits if w.op in ids and w.kind == 'chan_select']
    by_trigger = [w for w in selects if w.waker_op in rec.ops and rec.ops[w.waker_op].cls.endswith('.Trigger')]
    total, parked = sum(o.end - o.start for o in puts), sum(w.end - w.start for w in rec.waits if w.op in ids)
    live.figure('etcd: %d Puts, %.2f s, parked %.2f s, of it %.2f s in select woken from Trigger', len(puts),
                total / 1e9, parked / 1e9, sum(w.end - w.start for w in by_trigger) / 1e9)
    check(len(selects) >= len(puts) * 0.9, '%d Puts wait in select, of %d', len(selects), len(puts))
    # each waits for raft to take its proposal too
    check(len(by_trigger) >= len(puts) * 0.95, '%d of %d Puts are woken from Trigger', len(by_trigger), len(puts))
    check(parked > total * 0.5, 'parked %d of %d ns', parked, total)
    check(healthy(url), 'etcd is not healthy any more')
    rc, out, err = live.run([DEBIAN['etcdctl'], '--endpoints', url, 'put', 'a', 'b'], env=env)
    check(rc == 0 and 'OK' in out, 'etcd: %s %s', rc, err)
    server.terminate()
    live.wait(server, 20)


# -- dockerd

DAEMON = r'''
mount -t tmpfs none /run
exec "$@"
'''
DOCKERFILE = '''FROM scratch AS base
COPY busybox /bin/busybox
%s
FROM base
%s
'''
STEPS = ('alpha', 'beta', 'gamma')


def build_folder(live):
    folder = live.path('context')
    os.mkdir(folder)
    shutil.copy(DEBIAN['busybox'], os.path.join(folder, 'busybox'))
    run = '\n'.join('FROM base AS %s\nRUN ["/bin/busybox", "sh", "-c", "/bin/busybox sleep 0.4; echo %s >/%s"]' %
                    (s, s, s) for s in STEPS)
    copies = '\n'.join('COPY --from=%s /%s /%s' % (s, s, s) for s in STEPS)
    with open(os.path.join(folder, 'Dockerfile'), 'w') as f:
        f.write(DOCKERFILE % (run, copies))
    return folder


class Docker:
    def __init__(self, live):
        needs('dockerd', 'docker', 'busybox')
        self.live, self.folder = live, build_folder(live)
        self.url = 'unix://' + live.path('docker.sock')
        env = dict(os.environ, PATH='/usr/sbin:/usr/bin:/sbin:/bin')
        self.daemon = live.spawn(
            ['unshare', '-nm', 'sh', '-ec', DAEMON, 'sh', DEBIAN['dockerd'], '--data-root', live.path('docker'),
             '--exec-root', live.path('exec'), '--pidfile', live.path('docker.pid'), '-H', self.url, '--iptables=false',
             '--ip6tables=false', '--bridge=none', '--storage-driver=vfs'], env=env)
        try:
            live.until('dockerd', self.answers, 20)
        except Exception as e:
            raise Skip('dockerd does not run here: %s' % self.live.text(self.daemon, 1)[-300:]) from e

    def answers(self):
        return self.live.run([DEBIAN['docker'], '-H', self.url, 'version'])[0] == 0

    def build(self):
        rc, out, err = self.live.run([DEBIAN['docker'], '-H', self.url, 'build', '--network=none', '--no-cache', '-q',
                                      self.folder], env=dict(os.environ, DOCKER_BUILDKIT='1'), timeout=60)
        check(rc == 0 and out.startswith('sha256:'), 'build: %s %s %s', rc, out, err)


def asked_at_once(path, request, n):
    """n connections to dockerd's socket with the same request, sent when all are there. Their statuses."""
    peers = []
    for _ in range(n):
        s = socket.socket(socket.AF_UNIX)
        s.settimeout(30)
        s.connect(path)
        peers.append(s)
    for s in peers:
        s.sendall(('GET %s HTTP/1.1\r\nHost: docker\r\nConnection: close\r\n\r\n' % request).encode())
    answers = []
    for s in peers:
        text = b''
        while True:
            part = s.recv(65536)
            if not part:
                break
            text += part
        s.close()
        answers.append(int(text.split()[1]))
    return answers


def in_order(rec, parent, names):
    """The phases below it, which follow each other from its begin to its end."""
    ops = sorted((o for o in rec.ops.values() if o.parent == parent.id and o.cls.startswith('exec.')),
                 key=lambda o: (o.start, o.end))
    check([o.cls for o in ops] == names, 'phases below %s: %s', parent.cls, [o.cls for o in ops])
    limits = [parent.start] + [o.end for o in ops]
    check(all(o.start == limit for o, limit in zip(ops, limits)) and limits[-1] == parent.end,
          'phases below %s: %s, of %s', parent.cls, [(o.start, o.end) for o in ops], (parent.start, parent.end))
    return ops


def run_in_phases(live, rec, run):
    """runc, without an init; the command sleeps for 0.4 s."""
    runtime, process = in_order(rec, run, ['exec.containerStart', 'exec.runtimeStart', 'exec.processRun'])[1:]
    workload, after = in_order(rec, process, ['exec.workload', 'exec.processExit'])
    in_order(rec, after, ['exec.reap', 'exec.stdioDrain'])
    took = workload.end - workload.start
    check(4e8 <= took < 5e8 + live.slack_ns and runtime.end > runtime.start, 'workload of %d ns, runtime of %d ns', took,
          runtime.end - runtime.start)


def test_dockerd_builds(live):
    docker = Docker(live)
    programs = tracer_programs()
    tracer = live.attach_start('-p', str(docker.daemon.pid), '--probes', 'buildkit')
    live.started(tracer)
    docker.build()
    tracer.send_signal(signal.SIGINT)
    rec = live.finish(tracer, programs, lossy=True)
    unharmed(rec)
    by = {}
    for o in rec.ops.values():
        by.setdefault(o.cls, []).append(o)
    for cls in ('buildkit.solve', 'buildkit.exec', 'buildkit.execOp', 'buildkit.run', 'buildkit.flight'):
        check(by.get(cls), 'no %s: %s', cls, {c: len(v) for c, v in by.items() if c.startswith('buildkit')})
        check(not any(o.unwound or o.open for o in by[cls]), '%s: left otherwise', cls)
    for cls, outcome in (('buildkit.solve', 'ok'), ('buildkit.execOp', 'ok'), ('buildkit.exec', 'executed')):
        check({o.outcome for o in by[cls]} == {outcome}, '%s: %s', cls, {o.outcome for o in by[cls]})
    check(len(by['buildkit.solve']) == 1, '%d solves', len(by['buildkit.solve']))
    runs = by['buildkit.run']
    check(len(runs) == len(STEPS) == len(by['buildkit.execOp']), '%d runs, %d execOps', len(runs),
          len(by['buildkit.execOp']))
    shown = set()
    for run in runs:
        commands = [o for o in kin(rec, run) if o.kind == 'exec' and o.meta.startswith('["/bin/busybox","sh"')]
        check(len(commands) == 1, 'below %s: %s', run.ident, [o.meta for o in kin(rec, run) if o.kind == 'exec'])
        shown.add(re.search(r'echo (\w+)', commands[0].meta).group(1))
        sleeps = [o for o in kin(rec, commands[0]) if o.kind == 'exec' and '"sleep"' in o.meta]
        check(len(sleeps) == 1 and abs(sleeps[0].end - sleeps[0].start - 4e8) < 1e8 + live.slack_ns, 'sleeps: %s',
              sleeps)
        check(run.start <= commands[0].start <= commands[0].end <= run.end, 'the command is not within its run')
        run_in_phases(live, rec, run)
    check(shown == set(STEPS), 'commands: %s', shown)
    together = max(r.start for r in runs) < min(r.end for r in runs)
    check(together, 'the steps ran one after another: %s', [(r.start, r.end) for r in runs])
    # whether several meet at one flight is BuildKit's scheduler's doing: whoever began it waits for it too
    joins = [w for w in rec.waits if w.reason in ('call_exec', 'singleflight')]
    targets = {rec.ops[w.target].cls for w in joins if w.target}
    check(len(joins) >= len(by['buildkit.flight']) / 2 and targets == {'buildkit.flight'},
          'single flight: %d waits, for %s', len(joins), targets)
    live.figure('dockerd: %d ops of BuildKit, %d waits for single flight, %d of them joins, %d processes below the '
                'runs', sum(len(v) for c, v in by.items() if c.startswith('buildkit')), len(joins),
                sum(1 for w in joins if w.reason == 'singleflight'),
                sum(1 for r in runs for o in kin(rec, r) if o.kind == 'exec'))
    rc, out, err = live.run([live.wcbpf, 'report', tracer.folder])
    check(rc == 0 and out, 'report: %s %s', rc, err)
    docker.build()
    docker.daemon.terminate()
    check(live.wait(docker.daemon, 20) == 0, 'dockerd: %s', docker.daemon.returncode)


def test_dockerd_joins_a_flight(live):
    """How much room each record of BuildKit's cache takes is found out once: who asks meanwhile joins."""
    docker = Docker(live)
    programs = tracer_programs()
    tracer = live.attach_start('-p', str(docker.daemon.pid), '--probes', 'buildkit')
    live.started(tracer)
    rounds = []
    for _ in range(4):
        docker.build()
        rounds.append(asked_at_once(docker.url[len('unix://'):], '/system/df', 12))
    tracer.send_signal(signal.SIGINT)
    rec = live.finish(tracer, programs, lossy=True)
    unharmed(rec)
    flights = {o.id: o for o in rec.ops.values() if o.cls == 'buildkit.flight'}
    joins = [w for w in rec.waits if w.reason == 'singleflight']
    check(joins, 'of %d flights none was joined; answers %s', len(flights), rounds)
    lost = [w for w in joins if w.target not in flights]
    check(not lost, 'joins of no flight: %s', lost)
    # A caller whose request has ended meanwhile is not woken by the flight.
    woken = [w for w in joins if w.waker_op == w.target]
    for w in woken:
        target = flights[w.target]
        check(target.start <= w.wake <= target.end and w.start < w.wake, '%s is woken by %s', w, target)
        check(w.goid != target.goid, '%s waits for itself', w)
    begun = [w.target for w in rec.waits if w.reason == 'call_exec' and w.target in flights]
    check(len(set(begun)) == len(begun), 'flights that were begun by several: %s', begun)
    # Who begins one and gets no CPU until it is over waits for nothing.
    check(len(begun) * 2 > len(flights), 'of %d flights, %d have one who began them', len(flights), len(begun))
    live.figure('dockerd: %d flights, %d waits of who joined one, %d of them to its end', len(flights), len(joins),
                len(woken))
    docker.daemon.terminate()
    check(live.wait(docker.daemon, 20) == 0, 'dockerd: %s', docker.daemon.returncode)
