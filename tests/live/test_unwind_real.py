# SPDX-License-Identifier: (LGPL-2.1 OR BSD-2-Clause)
"""User stacks of real programs as Debian ships them, at work, against libdwfl's of the same stops. C17.

None of them is built with frame pointers. No stack may differ, and 99.9 % of the blocking waits after the first
second must have their whole stack.
"""
import os
import re
import shutil
import signal

from live import check
from test_real import accepts, free_port, need, postgres_start
from unwinding import judge, watch


def children(pid):
    with open('/proc/%d/task/%d/children' % (pid, pid)) as f:
        return [int(x) for x in f.read().split()]


def command(pid):
    try:
        with open('/proc/%d/cmdline' % pid, 'rb') as f:
            return f.read().replace(b'\0', b' ').decode('utf-8', 'replace')
    except OSError:
        return ''


# ---- redis, and what another tool says of the same waits ----

SCRIPT = ("for i = 1, 100 do redis.call('lpush', 'list', i * 7919 % 101) end "
          "local sorted = redis.call('sort', 'list', 'limit', 0, 3) redis.call('del', 'list') return sorted")


def roots_of(oracle, pid):
    """Addresses in memory at which libdwfl's whole stacks end: main's caller, start_thread, and what is above them."""
    base = {}
    with open('/proc/%d/maps' % pid) as f:
        for line in f:
            words = line.split()
            if len(words) > 5 and words[2] == '00000000':
                base.setdefault(os.path.basename(words[5]), int(words[0].split('-')[0], 16))
    roots = set()
    for stack in oracle.distinct:
        for name, address in stack[-3:] if len(stack) > 4 else stack[-2:]:
            if name.startswith('libc.so') or address == stack[-1][1]:
                roots.add(base.get(name, 0) + address)
    return roots


def traces(pid):
    """Whether a process has attached a BPF program."""
    folder = '/proc/%d/fdinfo' % pid
    try:
        for fd in os.listdir(folder):
            with open('%s/%s' % (folder, fd)) as f:
                if 'link_type' in f.read():
                    return True
    except OSError:
        pass
    return False


def offcputime_share(text, roots):
    """(share of its time whose user stack reaches a root, entries) of what `offcputime -v` printed."""
    reached = total = entries = 0
    found = False
    for line in text.split('\n'):
        frame = re.match(r'\s+#\d+\s+0x([0-9a-f]+)', line)
        value = re.match(r'\s+(\d+)$', line)
        if frame:
            found = found or int(frame.group(1), 16) in roots
        elif value:
            entries += 1
            total += int(value.group(1))
            reached += int(value.group(1)) if found else 0
            found = False
    return reached / total if total else 0.0, entries


def test_redis(live):
    """redis-server under redis-benchmark and Lua scripts, its log synced each second; and offcputime of the same."""
    server, bench, cli, port = need('redis-server'), need('redis-benchmark'), need('redis-cli'), free_port()
    p = live.spawn([server, '--port', str(port), '--bind', '127.0.0.1', '--dir', live.tmp, '--save', '',
                    '--appendonly', 'yes', '--appendfsync', 'everysec'], cwd=live.tmp)
    live.until('redis', lambda: accepts(port))
    live.spawn([bench, '-p', str(port), '-n', '100000000', '-c', '6', '-t', 'set,lpush', '-q'])
    live.spawn([cli, '-p', str(port), '-r', '-1', '-i', '0.001', 'eval', SCRIPT, '0'])
    peer, tool = None, shutil.which('offcputime', path=os.environ.get('PATH', '') + ':/usr/sbin')
    if tool:
        peer = live.spawn([tool, '-v', '-p', str(p.pid), '--stack-storage-size', '16384', '30'])
        live.until('offcputime', lambda: traces(peer.pid))       # so that its programs are not taken for wcbpf's
    rec, oracle = watch(live, p)
    roots = roots_of(oracle, p.pid)
    judge(live, 'redis-server', rec, oracle)
    if peer:
        peer.send_signal(signal.SIGINT)
        live.wait(peer, 20)
        theirs, entries = offcputime_share(live.text(peer), roots)
        user = rec.summary['stacks']['user']
        live.figure('redis-server: of the blocked time, wcbpf has %.2f %% with a whole user stack; offcputime reaches '
                    'main\'s caller or start_thread in %.2f %% (%d stacks)', 100 * user['complete']['share'],
                    100 * theirs, entries)
    p.terminate()
    live.wait(p, 20)


# ---- postgres ----


def test_postgres(live):
    """Backends under pgbench: they lock, sync their log and wait for their clients."""
    p, as_pg, bins = postgres_start(live)
    live.spawn([*as_pg, bins + '/pgbench', '-n', '-c', '3', '-j', '1', '-T', '60', 'postgres'], cwd='/')

    def backends():
        return [pid for pid in children(p.pid) if re.search(r'postgres: postgres postgres 127', command(pid))]
    live.until('backends', lambda: len(backends()) == 3)
    rec, oracle = watch(live, p, pids=backends, rounds=100, pause_ms=6)
    judge(live, 'postgres backends and helpers', rec, oracle)
    check(len({w.pid for w in rec.waits}) >= 4, 'processes: %s', {w.pid for w in rec.waits})
    p.send_signal(signal.SIGINT)
    live.wait(p, 20)


# ---- nginx ----

NGINX = '''
daemon off; worker_processes 2; pid {tmp}/nginx.pid; error_log {tmp}/error.log;
events {{ worker_connections 256; }}
http {{
    access_log {tmp}/access.log;
    client_body_temp_path {tmp}/body; proxy_temp_path {tmp}/proxy; fastcgi_temp_path {tmp}/fastcgi;
    uwsgi_temp_path {tmp}/uwsgi; scgi_temp_path {tmp}/scgi;
    gzip on; gzip_min_length 1; gzip_types *;
    server {{
        listen 127.0.0.1:{port}; root {tmp}/www;
        location /again/ {{ proxy_pass http://127.0.0.1:{port}/; }}
    }}
}}
'''

BROWSERS = '''
import http.client, random, sys, threading, time
end = time.monotonic() + 60
def browse(seed):
    r = random.Random(seed)
    c = http.client.HTTPConnection('127.0.0.1', int(sys.argv[1]))
    while time.monotonic() < end:
        c.request('GET', r.choice(['/text', '/again/text', '/nothing']), headers={'Accept-Encoding': 'gzip'})
        c.getresponse().read()
        time.sleep(r.random() / 200)
for seed in range(6):
    threading.Thread(target=browse, args=(seed,)).start()
'''


def python():
    return '/usr/bin/python3' if os.path.exists('/usr/bin/python3') else need('python3')


def test_nginx(live):
    """Two workers that serve, compress, and pass on requests to each other."""
    server, port = need('nginx', '/usr/sbin/nginx'), free_port()
    os.mkdir(live.path('www'))
    with open(live.path('www/text'), 'w') as f:
        f.write('some lines that can be compressed\n' * 3000)
    with open(live.path('nginx.conf'), 'w') as f:
        f.write(NGINX.format(tmp=live.tmp, port=port))
    p = live.spawn([server, '-p', live.tmp, '-c', live.path('nginx.conf'), '-e', live.path('error.log')])
    live.until('nginx', lambda: accepts(port))
    live.spawn([python(), '-c', BROWSERS, str(port)])
    workers = live.until('two workers', lambda: len(children(p.pid)) == 2 and children(p.pid))
    rec, oracle = watch(live, p, targets=[p.pid, *workers], pids=lambda: workers)
    judge(live, 'nginx workers', rec, oracle)
    p.terminate()
    live.wait(p, 20)


# ---- python ----

PYTHON = '''
import functools, json, queue, re, threading, time
q, lock, changed = queue.Queue(), threading.Lock(), threading.Condition()
end = time.monotonic() + 60
def compare(a, b):
    time.sleep(0.0005)
    return a - b
def worker():
    while time.monotonic() < end:
        q.get()
        with lock:
            sorted([3, 1, 2], key=functools.cmp_to_key(compare))
def recursive(n):
    return recursive(n - 1) if n else json.dumps({'x': list(range(200))})
def notified():
    while time.monotonic() < end:
        with changed:
            changed.wait(0.01)
        re.match('(a*)*b', 'a' * 12)
for f in (worker, worker, notified):
    threading.Thread(target=f).start()
print('ready', flush=True)
while time.monotonic() < end:
    q.put(recursive(20))
    with changed:
        changed.notify()
    time.sleep(0.003)
'''


def test_python3(live):
    """Threads with a queue, a lock, a condition, and sleeps in a comparison called by C called by the interpreter."""
    p = live.spawn([python(), '-c', PYTHON])
    live.said(p, 'ready')
    rec, oracle = watch(live, p, pause_ms=6)
    judge(live, os.path.realpath(python()), rec, oracle)


# ---- Rust ----

FEEDER = '''
import random, sys, time
fifos = [open(path, 'wb', buffering=0) for path in sys.argv[1:]]
end, r = time.monotonic() + 60, random.Random(7)
line = b'a haystack with some straw, and now and then 127.0.0.1 is a needle: aaaaaaaaaaaaaaaaaaaaaaaaaab\\n'
while time.monotonic() < end:
    for fifo in fifos:
        fifo.write(line * r.randrange(1, 40))
        time.sleep(r.random() / 500)
'''


def test_ripgrep(live):
    """Rust: ripgrep's threads, each waiting for a pipe that lines come from, and its main thread waiting for them."""
    rg = need('rg')
    fifos = [live.path('fifo%d' % i) for i in range(3)]
    for fifo in fifos:
        os.mkfifo(fifo)
    with open('/dev/null', 'wb') as null:
        p = live.spawn([rg, '-j3', '--no-mmap', '--line-buffered', r'(\d+\.){3}\d+ .*(a+)+b', *fifos], out=null)
    live.spawn([python(), '-c', FEEDER, *fifos])
    live.until('its threads', lambda: len(os.listdir('/proc/%d/task' % p.pid)) >= 4)
    rec, oracle = watch(live, p)
    judge(live, 'ripgrep', rec, oracle)
