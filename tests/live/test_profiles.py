# SPDX-License-Identifier: (LGPL-2.1 OR BSD-2-Clause)
"""The built-in profiles, each on the program that it is for: what that program counts itself is what is found."""
import os
import re
import shutil
import signal
import time

from live import Skip, check, tracer_programs
from test_real import accepts, free_port, need, postgres_start
from truth import MS, Truth

NO_LIMIT = ('--max-overhead', '0')
PYTHON = '/usr/bin/python3'     # the distribution's, which has markers


def attached(live, pid, profile, work, *options, settle=0.0):
    """Attaches with a profile, does the work, ends it."""
    before = tracer_programs()
    a = live.attach_start('-p', str(pid), '--probes', profile, *NO_LIMIT, *options)
    live.started(a)
    done = work()
    time.sleep(settle)
    a.send_signal(signal.SIGINT)
    rec = live.finish(a, before, lossy=True)
    lost = rec.integrity
    check(not lost['lost_ops'] and not lost['unmatched_exits'], 'lost ops %s, exits without entry %s', lost['lost_ops'],
          lost['unmatched_exits'])
    return rec, done


def of_class(rec, *classes):
    return [o for o in rec.ops.values() if o.cls in classes]


# -- redis

def test_redis(live):
    """As many ops of each command as `INFO commandstats` counts calls."""
    server, cli, port = need('redis-server'), need('redis-cli'), free_port()
    p = live.spawn([server, '--port', str(port), '--bind', '127.0.0.1', '--save', ''], cwd=live.tmp)
    live.until('redis', lambda: accepts(port))
    commands = live.path('commands')
    with open(commands, 'w') as f:
        f.write(''.join('set k%d v\nget k%d\n' % (i, i) for i in range(300)) + 'lpush l a b c\nlrange l 0 -1\n' * 7)

    def work():
        with open(commands) as f:
            live.run([cli, '-p', str(port)], stdin=f, timeout=60)
        _, out, _ = live.run([cli, '-p', str(port), 'info', 'commandstats'])
        return {m[0]: int(m[1]) for m in re.findall(r'cmdstat_(\w+):calls=(\d+)', out)}

    rec, counted = attached(live, p.pid, 'redis', work)
    check(counted.get('set') == 300 and counted.get('lrange') == 7, 'redis counted %s', counted)
    for name in ('set', 'get', 'lpush', 'lrange'):
        got = of_class(rec, name)
        check(len(got) == counted[name], '%d ops %s, redis counts %d', len(got), name, counted[name])
        check(all(o.kind == 'call' and o.pid == p.pid for o in got), '%s', got[:2])
    p.terminate()
    live.wait(p, 20)


# -- postgres

def test_postgres(live):
    """pgbench's transactions are its queries, ten times over; who waits for a table's lock waits for that table."""
    p, as_pg, bins = postgres_start(live)
    transactions = 40

    def sql(text):
        rc, out, err = live.run([*as_pg, bins + '/psql', '-qtA', '-c', text, 'postgres'], cwd='/', timeout=60)
        check(rc == 0, 'psql: %s', err)
        return out.strip()

    def work():
        rc, _, err = live.run([*as_pg, bins + '/pgbench', '-n', '-c', '2', '-t', str(transactions // 2), 'postgres'],
                              timeout=60, cwd='/')
        check(rc == 0, 'pgbench: %s', err)
        holder = live.spawn([*as_pg, bins + '/psql', '-q', '-c',
                             'begin; lock table pgbench_tellers; select pg_sleep(0.6); commit', 'postgres'], cwd='/')
        granted = "select count(*) from pg_locks where relation = 'pgbench_tellers'::regclass and granted and mode like 'Acc%Excl%'"
        live.until('the lock', lambda: sql(granted) == '1')
        begin = time.monotonic()
        sql('select count(*) from pgbench_tellers')
        took = time.monotonic() - begin
        live.wait(holder, 20)
        return took, sql("select oid from pg_database where datname = 'postgres'"), \
            sql("select 'pgbench_tellers'::regclass::oid")

    rec, (took, database, table) = attached(live, p.pid, 'postgres', work)
    queries = [o for o in rec.ops.values() if o.kind == 'call' and (o.ident or '').startswith('UPDATE pgbench_accounts')]
    check(len(queries) == transactions, '%d updates of accounts in %d transactions; ops %s', len(queries), transactions,
          sorted({o.cls for o in rec.ops.values()}))
    inserts = [o for o in rec.ops.values() if o.kind == 'call' and (o.ident or '').startswith('INSERT INTO pgbench_history')]
    check(len(inserts) == transactions, '%d inserts', len(inserts))
    locks = [w for w in rec.waits if w.reason == 'lock' and (w.ident or '').endswith(':%s/%s/0' % (database, table))]
    check(len(locks) == 1 and locks[0].ident.startswith('lock:0:'), 'waits for lock:0:%s/%s: %s, locks %s', database, table,
          locks, {w.ident for w in rec.waits if w.reason == 'lock'})
    length = (locks[0].end - locks[0].start) / 1e9
    check(0.5 * took < length <= took, 'a wait of %.3f s in a query that took psql %.3f s', length, took)
    p.send_signal(signal.SIGINT)
    live.wait(p, 20)


# -- CPython

GIL = '''
import gc, threading, time
for i in range(5):
    gc.collect(i % 3)
def hold():
    time.sleep(0.1)
    sum(range(30000000))        # one call of C code that keeps the lock
t = threading.Thread(target=hold)
t.start()
time.sleep(0.2)                 # ends while it does
t.join()
import this_is_nowhere_else
gc.disable()
print('collected', *[x['collections'] for x in gc.get_stats()])
'''


def test_python(live):
    """Collections are counted by generation; a thread that comes back from sleep waits for the interpreter's lock."""
    if not os.path.exists(PYTHON):
        raise Skip('no %s' % PYTHON)
    folder = live.path('python')
    os.mkdir(folder)
    with open(folder + '/this_is_nowhere_else.py', 'w') as f:
        f.write('')
    with open(folder + '/gil.py', 'w') as f:
        f.write(GIL)
    rec = live.record([PYTHON, '-S', '-B', folder + '/gil.py'], '--probes', 'python', *NO_LIMIT, lossy=True)
    got = [o.ident for o in of_class(rec, 'gc')]
    counted = [int(x) for x in re.search(r'collected (\d+) (\d+) (\d+)', rec.out).groups()]
    check(min(counted) >= 1, 'it counts %s', counted)
    # Its end, after it has told its numbers, collects all a few times more.
    for generation, n in enumerate(counted):
        have = got.count('generation %d' % generation)
        check(have == n or generation == 2 and have > n, '%d collections of generation %d, it counts %s', have,
              generation, counted)
    check([o for o in of_class(rec, 'import') if o.ident == 'this_is_nowhere_else'], 'imports: %s',
          [o.ident for o in of_class(rec, 'import')][-5:])
    waits = [w for w in rec.waits if w.ident == 'GIL' and w.reason == 'lock']
    check(waits and max(w.end - w.start for w in waits) > 50 * MS, 'waits for the GIL: %s', waits[:4])


# -- threads of C

PTHREAD = {'mutex plain 6 8': 'mutex:%s', 'rwlock 6 8': 'rwlock:%s', 'semaphore 6 8': 'semaphore:%s',
           'barrier 6 8': 'barrier:%s', 'condvar 6 8': 'condvar:%s'}


def test_pthread(live):
    """What a thread waits for is named by its kind and address."""
    for line, ident in PTHREAD.items():
        rec = live.record(live.work(line), '--probes', 'pthread', *NO_LIMIT, lossy=True)
        truth = Truth(rec.out)
        offset_ns = truth.offset_ns(rec)
        kind = ident.split(':')[0]
        own = [t for t in truth.waits if t['kind'] == kind and t['end'] - t['start'] > 2 * MS]
        check(own, '%s: no wait in %s', line, rec.out[:300])
        for t in own:
            near = [w for w in rec.of_tid(t['tid']) if w.start + offset_ns < t['end'] and w.end + offset_ns > t['start']
                    and (w.ident or '').startswith(kind)]
            check(near, '%s: no wait %s: %s', line, ident, rec.of_tid(t['tid'])[:4])
            at = int(re.search(r'0x([0-9a-f]+)', near[0].ident).group(1), 16)
            check(t['addr'] <= at < t['addr'] + max(t['size'], 1), '%s: %s, is at 0x%x', line, near[0].ident, t['addr'])


# -- Rust

RUST = '''
use std::sync::{Arc, Mutex};
use std::time::Duration;
fn main() {
    let m = Arc::new(Mutex::new(0u64));
    println!("mutex {:p}", &*m);
    let other = m.clone();
    let held = m.lock().unwrap();
    let t = std::thread::spawn(move || { *other.lock().unwrap() += 1; });
    std::thread::sleep(Duration::from_millis(80));
    drop(held);
    t.join().unwrap();
}
'''


def test_rust(live):
    """A contended Mutex, by its address."""
    compiler = shutil.which('rustc')
    if not compiler:
        raise Skip('no rustc')
    source, program = live.path('lock.rs'), live.path('lock')
    with open(source, 'w') as f:
        f.write(RUST)
    rc, _, err = live.run([compiler, '-O', '-o', program, source], timeout=100)
    check(rc == 0, 'rustc: %s', err)
    rec = live.record([program], '--probes', 'rust-std', *NO_LIMIT, lossy=True)
    address = int(re.search(r'mutex 0x([0-9a-f]+)', rec.out).group(1), 16)
    waits = [w for w in rec.waits if w.reason == 'lock' and (w.ident or '').startswith('mutex:')]
    check(len(waits) == 1 and waits[0].end - waits[0].start > 40 * MS, 'waits: %s; %s', waits,
          rec.summary['choke_points']['caveats'])
    # The futex is the first word of it or, in some versions, behind what the Arc has in front.
    at = int(waits[0].ident.split('0x')[1], 16)
    check(address <= at < address + 32, '%s, the mutex is at 0x%x', waits[0].ident, address)


# -- Go

GO = '''
package main

import (
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"strconv"
)

func main() {
	n, _ := strconv.Atoi(os.Args[1])
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		panic(err)
	}
	handled := 0
	go http.Serve(listener, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		handled++
		io.WriteString(w, r.URL.Path)
	}))
	for i := 0; i < n; i++ {
		method := []string{"GET", "POST"}[i%2]
		req, _ := http.NewRequest(method, fmt.Sprintf("http://%s/path/%d", listener.Addr(), i%3), nil)
		resp, err := http.DefaultClient.Do(req)
		if err != nil {
			panic(err)
		}
		io.Copy(io.Discard, resp.Body)
		resp.Body.Close()
	}
	fmt.Println("handled", handled)
}
'''


def test_go_http(live):
    """A server and its client in one program, stripped: as many requests of each kind on both sides as were made."""
    compiler = shutil.which('go')
    if not compiler:
        raise Skip('no Go compiler')
    source, program = live.path('web.go'), live.path('web')
    with open(source, 'w') as f:
        f.write(GO)
    rc, _, err = live.run([compiler, 'build', '-ldflags=-s -w', '-o', program, source], timeout=300,
                          env=dict(os.environ, CGO_ENABLED='0', GOFLAGS='-mod=mod', GOPROXY='off', GOTOOLCHAIN='local'))
    check(rc == 0, 'go build: %s', err)
    rec = live.record([program, '40'], '--probes', 'go', *NO_LIMIT, lossy=True)
    check('handled 40' in rec.out, '%s', rec.out)
    for cls, n in (('http GET', 20), ('http POST', 20), ('http.client GET', 20), ('http.client POST', 20)):
        got = of_class(rec, cls)
        check(len(got) == n, '%d ops %s, not %d; %s', len(got), cls, n, rec.summary['choke_points']['caveats'])
    paths = sorted(o.ident for o in of_class(rec, 'http GET'))
    want = sorted('/path/%d' % (i % 3) for i in range(0, 40, 2))
    check(paths == want, 'paths %s', paths[:5])
    check(all(o.outcome == 'ok' for o in of_class(rec, 'http.client GET')), 'outcomes')
