# SPDX-License-Identifier: (LGPL-2.1 OR BSD-2-Clause)
"""The debug endpoint and checkpoints, asked by clients that are not ours (http.client, curl); dumps read by check_dump.

The workload's own lines say when it waited. Its waits are looked for in the dumps by their times alone.
"""
import bisect
import collections
import gzip
import http.client
import json
import os
import shutil
import signal
import socket
import time

from check_dump import check as check_dump
from live import Skip, check, tracer_programs
from truth import MS, Truth


class Unix(http.client.HTTPConnection):
    """Over a unix socket."""

    def __init__(self, path, timeout=30):
        super().__init__('localhost', timeout=timeout)
        self.path = path

    def connect(self):
        self.sock = socket.socket(socket.AF_UNIX)
        self.sock.settimeout(self.timeout)
        self.sock.connect(self.path)


def ask(connection, method, path, body=None, headers={}):
    connection.request(method, path, body, headers)
    r = connection.getresponse()
    text = r.read()
    connection.close()
    return r.status, text, r


def switch(connection, word):
    status, text, _ = ask(connection, 'POST', '/debug/wcprof/enabled', word)
    check(status == 200, 'POST %s: %d %r', word, status, text)
    return json.loads(text)


class Dump:
    """One dump, checked."""

    def __init__(self, live, text, name):
        path = live.path(name)
        with open(path, 'wb') as f:
            f.write(text)
        errors, self.header, events = check_dump(path)
        check(not errors, '%s: %s', name, '; '.join(map(str, errors[:4])))
        self.events = list(events)
        self.waits = [e for e in self.events if e['e'] == 'wait']
        self.ops = {e['id'] for e in self.events if e['e'] == 'op'}


def dump(live, connection, name, flush=True):
    status, text, r = ask(connection, 'GET', '/debug/wcprof/dump' + ('' if flush else '?flush=0'))
    check(status == 200, '%s: %d %r', name, status, text[:200])
    check(r.getheader('Content-Type') == 'application/x-ndjson', 'content type %s', r.getheader('Content-Type'))
    return Dump(live, text, name)


def start(live, line, *options):
    """A workload, and an attach to it with a socket."""
    work = live.spawn(live.work(line))
    sock = live.path('s.sock')
    p = live.attach_start('-p', str(work.pid), '--listen', 'unix:' + sock, *options)
    live.started(p)
    return work, p, sock


def end(live, work, p, before, **kw):
    p.send_signal(signal.SIGINT)
    rec = live.finish(p, before, **kw)
    check(not os.path.exists(live.path('s.sock')), 'the socket is still there')
    work.terminate()
    check(live.wait(work, 60) == 0, 'the target ended with %d', work.returncode)
    return rec


def clock_of(header):
    """Monotonic time of relative time 0."""
    return header['epoch_unix_nano'] - (time.time_ns() - time.monotonic_ns())


def counted(truth, waits, zero):
    """How often each nap of the workload is among the waits: one that fills it by more than half is it."""
    n = collections.Counter()
    mids = sorted(((w['s'] + w['d']) // 2 + zero, w['d'] - w['s']) for w in waits)
    at = [m for m, _ in mids]
    for t in truth:
        for m, length in mids[bisect.bisect(at, t['start']):bisect.bisect(at, t['end'])]:
            n[t['start']] += length > (t['end'] - t['start']) / 2
    return n


def merged(dumps):
    """Their waits, each once: one that was open at a dump (clipped 2) is in a later one again, whole."""
    later, waits = set(), []
    for d in reversed(dumps):
        waits += [w for w in d.waits if not (w.get('clipped', 0) & 2 and (w['pid'], w['tid'], w['s']) in later)]
        later |= {(w['pid'], w['tid'], w['s']) for w in d.waits}
    return waits


def naps_of(live, work):
    return [w for w in Truth(live.text(work)).waits if w['kind'] == 'sleep']


def test_dumps_once_each(live):
    """Off and on, dumps that flush: each wait is in one of them or in the files at the end; none began while it was off."""
    before = tracer_programs()
    work, p, sock = start(live, 'sleep 900 20000', '-m', '1ms')
    dumps, toggles = [], []
    for i in range(3):
        time.sleep(0.5)
        dumps.append(dump(live, Unix(sock), 'd%d' % i))
        toggles.append(time.monotonic_ns())
        check(switch(Unix(sock), 'off') == {'global_enabled': False, 'recorder_active': True}, 'off')
        toggles.append(time.monotonic_ns())
        time.sleep(0.4)
        if i == 1:
            kept = dump(live, Unix(sock), 'kept', flush=False)
            dumps.append(dump(live, Unix(sock), 'off'))
            check(len(kept.waits) == len(dumps[-1].waits) > 0, 'what ?flush=0 gave is not all still there')
        toggles.append(time.monotonic_ns())
        check(switch(Unix(sock), 'on')['global_enabled'], 'on')
        toggles.append(time.monotonic_ns())
    time.sleep(0.3)
    end(live, work, p, before)
    last = Dump(live, open(os.path.join(p.folder, 'wcprof.ndjson'), 'rb').read(), 'last')
    stop = Dump(live, gzip.open(os.path.join(p.folder, 'stop.ndjson.gz')).read(), 'stop')
    check(stop.header == last.header and stop.events == last.events, 'the dump at stop is another')
    dumps.append(last)
    strings = dumps[0].header['strings']
    for d in dumps[1:]:
        check(d.header['epoch_unix_nano'] == dumps[0].header['epoch_unix_nano'], 'another epoch')
        check(d.header['strings'][:len(strings)] == strings, 'strings changed their places')
        strings = d.header['strings']
    zero, slack = clock_of(last.header), live.slack_ns
    naps = naps_of(live, work)
    n = counted(naps, merged(dumps), zero)
    begun, over = zero + 100 * MS, zero + last.header['dumped_unix_nano'] - last.header['epoch_unix_nano'] - 100 * MS
    once = none = 0
    for nap in naps:
        off = any(a - slack < nap['start'] < b + slack for a, b in zip(toggles[1::4], toggles[2::4]))
        edge = any(a - slack < nap['start'] < b + slack for a, b in zip(toggles[::2], toggles[1::2]))
        if nap['start'] < begun or nap['end'] > over or edge:
            continue
        check(n[nap['start']] == (0 if off else 1), 'a nap at %.3f s, %s, is in the dumps %d times',
              (nap['start'] - zero) / 1e9, 'off' if off else 'on', n[nap['start']])
        once, none = once + (not off), none + off
    check(once > 40 and none > 30, 'only %d naps while it was on, %d off', once, none)


def test_hung(live):
    """A program that hangs: its waits are in every dump and in the checkpoint, cut there; merged each is there once."""
    before = tracer_programs()
    work, p, sock = start(live, 'locked abba', '--checkpoint', '300ms')
    line = live.until('a line of the workload', lambda: [x for x in live.text(work).splitlines() if x.startswith('locked')])
    said = dict(x.split('=') for x in line[0].split()[1:])
    first, second = int(said['first']), int(said['second'])
    path = os.path.join(p.folder, 'stop.ndjson.gz')
    time.sleep(0.5)
    dumps = [dump(live, Unix(sock), 'kept', flush=False), dump(live, Unix(sock), 'flushed'), dump(live, Unix(sock), 'later')]
    live.until('a checkpoint', lambda: os.path.exists(path))
    stop = Dump(live, gzip.open(path).read(), 'stop')
    p.send_signal(signal.SIGINT)
    live.finish(p, before)
    work.kill()
    work.wait()
    dumps.append(Dump(live, open(os.path.join(p.folder, 'wcprof.ndjson'), 'rb').read(), 'last'))
    for d in dumps + [stop]:
        over = d.header['dumped_unix_nano'] - d.header['epoch_unix_nano']
        for tid, owner in ((first, second), (second, first)):
            mine = [w for w in d.waits if w['tid'] == tid]
            check(len(mine) == 1, 'thread %d has the waits %s', tid, mine)
            w = mine[0]
            check(d.header['strings'][w.get('wait_kind', 0)] == 'mutex' and w.get('owner_tid') == owner, 'wait: %s', w)
            check(w.get('clipped', 0) & 2 and w['d'] == over, 'it is not cut at the dump, %d: %s', over, w)
    lasts = {w['tid']: w['d'] for w in dumps[-1].waits}
    files = [live.path(n) for n in ('kept', 'flushed', 'later')]
    rc, out, err = live.run([live.wcbpf, 'report', '--events', *files, p.folder])
    both = [json.loads(x) for x in out.splitlines() if '"event":"wait"' in x.replace(' ', '')]
    check(rc == 0 and len(both) == len(dumps[-1].waits), '%d waits merged, %d in the last: %s', len(both),
          len(dumps[-1].waits), err)
    rc, out, err = live.run([live.wcbpf, 'report', live.path('kept')])
    check(rc == 0 and 'DEADLOCK' in out, 'no deadlock is told: %s', out[:600])
    check(lasts[first] > 0, 'no wait at the end')


def test_hung_at_a_choke_point(live):
    """Likewise in functions that are probed: the wait is the choke point's, in each dump cut there, merged there once."""
    before = tracer_programs()
    sock, profile = live.path('hung.sock'), live.path('hung.profile')
    with open(profile, 'w') as f:
        f.write('about = mutexes\nfile = libc | libpthread\nlanguage = native\n[lock mutex]\nsymbol = pthread_mutex_lock\n'
                'args = mutex ptr\nresource = mutex:{mutex}\nwait_kind = mutex\n')
    p = live.record_start(live.work('locked abba'), '--probes', profile, '--listen', 'unix:' + sock)
    live.until('it listens', lambda: os.path.exists(sock))
    line = live.until('a line of the workload', lambda: [x for x in live.text(p).splitlines() if x.startswith('locked')])
    threads = {int(x.split('=')[1]) for x in line[0].split()[1:]}
    time.sleep(0.5)
    dumps = [dump(live, Unix(sock), 'kept', flush=False), dump(live, Unix(sock), 'flushed'), dump(live, Unix(sock), 'later')]
    p.send_signal(signal.SIGINT)
    live.finish(p, before, rc=None)
    dumps.append(Dump(live, open(os.path.join(p.folder, 'wcprof.ndjson'), 'rb').read(), 'last'))
    starts = set()
    for d in dumps:
        strings = d.header['strings']
        over = d.header['dumped_unix_nano'] - d.header['epoch_unix_nano']
        mine = [w for w in d.waits if w['tid'] in threads and w['d'] - w['s'] > 100 * MS]
        check({w['tid'] for w in mine} == threads and len(mine) == 2, 'waits of %s: %s', threads, mine)
        for w in mine if d is not dumps[-1] else []:  # the last is of when the program was killed
            check(w.get('clipped') == 2 and w['rs'] == 'lock' and strings[w.get('i', 0)].startswith('mutex:0x') and w['d'] == over,
                  'it is not the choke point\'s, cut at the dump, %d: %s', over, w)
        starts.add(tuple(sorted((w['tid'], w['s'], strings[w['i']]) for w in mine)))
    check(len(starts) == 1, 'the dumps have other waits: %s', starts)
    files = [live.path(n) for n in ('kept', 'flushed', 'later')]
    rc, out, err = live.run([live.wcbpf, 'report', '--events', *files, p.folder])
    both = [json.loads(x) for x in out.splitlines() if '"event":"wait"' in x.replace(' ', '')]
    hung = [w for w in both if w.get('tid') in threads and 'mutex:0x' in json.dumps(w)]
    check(rc == 0 and len(hung) == 2, '%d waits merged: %s %s', len(hung), both[:4], err)


def test_start_off(live):
    """Before it was first on: 503; then a recording from then on."""
    before = tracer_programs()
    work, p, sock = start(live, 'sleep 700 20000', '--start-off', '-m', '1ms')
    check(json.loads(ask(Unix(sock), 'GET', '/debug/wcprof/enabled')[1]) ==
          {'global_enabled': False, 'recorder_active': False}, 'it is on')
    status, text, _ = ask(Unix(sock), 'GET', '/debug/wcprof/dump')
    check(status == 503 and b'switched on' in text, 'a dump of nothing: %d %r', status, text)
    time.sleep(0.4)
    on = time.monotonic_ns()
    switch(Unix(sock), 'true')
    time.sleep(0.6)
    d = dump(live, Unix(sock), 'd')
    end(live, work, p, before)
    zero = clock_of(d.header)
    check(d.waits, 'no wait')
    check(all(w['s'] + zero > on - live.slack_ns for w in d.waits), 'a wait from before it was on')


def test_never_on(live):
    """Nobody switches it on: that is said, and nothing was lost of nothing."""
    before = tracer_programs()
    work, p, sock = start(live, 'sleep 300 20000', '--start-off', '-d', '500ms', '--mode', 'time')
    rec = live.finish(p, before, strict=False, rc=None)
    check(live.wait(work, 60) == 0, 'the target ended with %d', work.returncode)
    check('never switched on' in rec.err and 'nothing lost of 0 intervals; ' in rec.err, 'said: %s', rec.err)
    check('could be read' not in rec.err, 'said: %s', rec.err)
    with open(os.path.join(p.folder, 'offcpu.summary.json')) as f:
        summary = json.load(f)
    check(summary['caveat_kind'] == 'no_rows' and 'never switched on' in summary['caveat_message'], 'summary: %s',
          summary['caveat_message'])
    check(summary['capture_integrity']['recorded'] == 0, 'recorded: %s', summary['capture_integrity'])


def test_answers(live):
    """What may be asked, and how; by curl too."""
    before = tracer_programs()
    work, p, sock = start(live, 'sleep 700 20000')
    st = os.stat(sock)
    check(st.st_mode & 0o777 == 0o600, 'mode %o', st.st_mode)
    enabled = '/debug/wcprof/enabled'
    for method, path, body, headers, want in (
            ('POST', enabled, b'off' + b' ' * 61, {}, 200), ('POST', enabled, b'off' + b' ' * 62, {}, 400),
            ('POST', enabled, b'x' * 60000, {}, 400), ('POST', enabled, b'maybe', {}, 400), ('POST', enabled, b'', {}, 400),
            ('POST', enabled + '?v=on', b'', {}, 200), ('POST', enabled + '?v=off', b'x', {}, 400),
            ('PUT', enabled, b'off', {}, 405), ('DELETE', enabled, None, {}, 405), ('GET', enabled + '?v=off', None, {}, 200),
            ('GET', '/', None, {}, 404), ('POST', '/debug/wcprof/dump', b'', {}, 405),
            ('GET', '/debug/wcprof/dump?flush=x', None, {}, 400),
            ('POST', enabled, b'off', {'Origin': 'http://example.org'}, 403)):
        status, text, _ = ask(Unix(sock), method, path, body, headers)
        check(status == want, '%s %s %r %s: %d %r', method, path, (body or b'')[:10], headers, status, text)
        check(status != 400 or b'expected' in text, 'a 400 that does not say what was expected: %r', text)
    state = json.loads(ask(Unix(sock), 'GET', enabled)[1])
    check(state == {'global_enabled': True, 'recorder_active': True}, 'GET toggled, or a refused POST did: %s', state)
    if shutil.which('curl'):
        rc, out, err = live.run(['curl', '-sS', '--unix-socket', sock, '-d', 'off', 'http://localhost' + enabled])
        check(rc == 0 and not json.loads(out)['global_enabled'], 'curl: %s %s', out, err)
    # Who connects and says nothing, or half a line, stops nobody.
    idle = [Unix(sock) for _ in range(8)]
    for c in idle:
        c.connect()
        c.sock.send(b'GET /debug')
    check(ask(Unix(sock), 'GET', enabled)[0] == 200, 'idle clients')
    end(live, work, p, before)
    for c in idle:
        c.close()


def free_port():
    with socket.socket() as s:
        s.bind(('127.0.0.1', 0))
        return s.getsockname()[1]


def test_addresses(live):
    """Nothing but this machine; what is taken is told before anything is attached; a page can't reach it."""
    before = tracer_programs()
    for bad in ('0.0.0.0:8080', '[::]:8080', 'localhost:8080', '10.1.2.3:8080', ':8080', 'unix:', '127.0.0.1:0'):
        rc, _, err = live.run([live.wcbpf, 'record', '-o', live.folder(), '--listen', bad, '--', 'true'])
        check(rc == 125 and bad in err, '%s: %d %s', bad, rc, err)
    with socket.socket() as s:
        s.bind(('127.0.0.1', 0))
        s.listen()
        folder = live.folder()
        rc, _, err = live.run([live.wcbpf, 'record', '-o', folder, '--listen', '127.0.0.1:%d' % s.getsockname()[1], '--', 'touch', live.path('ran')])
        check(rc == 125 and 'in use' in err and err.count('\n') == 1, 'a port that is taken: %d %r', rc, err)
        check(not os.path.exists(folder) and not os.path.exists(live.path('ran')), 'it left something, or ran the command')
    port = free_port()
    p = live.record_start(live.work('sleep 300 20000'), '--listen', '127.0.0.1:%d' % port)
    live.started(p)

    def tcp():
        return http.client.HTTPConnection('127.0.0.1', port, timeout=20)
    check(ask(tcp(), 'GET', '/debug/wcprof/enabled')[0] == 200, 'GET')
    for headers in ({'Host': 'example.org'}, {'Origin': 'http://127.0.0.1:%d' % port}, {'Sec-Fetch-Site': 'cross-site'}):
        for method, path in (('POST', '/debug/wcprof/enabled?v=off'), ('GET', '/debug/wcprof/dump')):
            check(ask(tcp(), method, path, b'' if method == 'POST' else None, headers)[0] == 403, '%s %s', method, headers)
    check(dump(live, tcp(), 'tcp').waits, 'no wait')
    live.finish(p, before)


def test_slow_reader(live):
    """One that reads a dump a little at a time, while threads flood the recording: nothing is lost."""
    before = tracer_programs()
    work, p, sock = start(live, 'sleep 4000 3000 16')
    time.sleep(1)
    c = Unix(sock)
    c.request('GET', '/debug/wcprof/dump')
    r = c.getresponse()
    size, text = int(r.getheader('Content-Length')), b''
    for _ in range(30):
        text += r.read(min(1000, size - len(text)))
        time.sleep(0.1)
    other = dump(live, Unix(sock), 'other')
    text += r.read()
    c.close()
    check(len(text) == size > 500000, '%d bytes of %d', len(text), size)
    slow = Dump(live, text, 'slow')
    rec = end(live, work, p, before)
    ids = [(w['pid'], w['tid'], w['s']) for w in merged([slow, other])]
    check(len(ids) == len(set(ids)), 'a wait is in both dumps')
    check(len(slow.waits) > 3000 and len(other.waits) > 6000, '%d and %d waits', len(slow.waits), len(other.waits))
    live.figure('slow reader: %d and %d waits dumped, %d at the end', len(slow.waits), len(other.waits), len(rec.waits))


def test_cap(live):
    """A flush frees room: a recording goes on for ever under a small cap. It fills in 5 s; a dump may take a while."""
    cap = 2000
    before = tracer_programs()
    work, p, sock = start(live, 'sleep 3000 10000 4', '--event-cap', str(cap))
    n = 0
    for i in range(60):
        time.sleep(0.3)
        begin = time.monotonic()
        d = dump(live, Unix(sock), 'd%d' % i)
        if d.header['dropped_events'] and time.monotonic() - begin > 3:
            raise Skip('a dump took %.1f s on this busy machine' % (time.monotonic() - begin))
        check(d.header['dropped_events'] == 0, '%d dropped', d.header['dropped_events'])
        n += len(d.waits)
        if n > 1.3 * cap:
            break
    check(n > 1.3 * cap, 'only %d waits: the cap was never near', n)
    end(live, work, p, before, lossy=True)


def test_killed(live):
    """SIGKILL at any moment leaves the last checkpoint, whole, with the waits before it."""
    work = live.spawn(live.work('sleep 2500 10000'))
    folders = []
    for i in range(3):
        p = live.attach_start('-p', str(work.pid), '--checkpoint', '300ms', '-m', '1ms')
        live.started(p)
        path = os.path.join(p.folder, 'stop.ndjson.gz')
        live.until('a checkpoint', lambda: os.path.exists(path))
        time.sleep(0.37 * i + 0.1)
        p.send_signal(signal.SIGKILL)
        live.wait(p, 10)
        folders.append((path, time.monotonic_ns()))
        rc, out, err = live.run([live.wcbpf, 'report', p.folder])
        check(rc == 0 and 'VERDICT' in out and 'killed' in err and 'stop.ndjson.gz' in err, 'report: %d %s', rc, err)
        os.rename(path, live.path('kept%d.gz' % i))
        folders[-1] = (live.path('kept%d.gz' % i), folders[-1][1])
        rc, out, err = live.run([live.wcbpf, 'report', p.folder])
        check(rc == 2 and not out and 'killed before it wrote one' in err, 'report of nothing: %d %s %s', rc, out, err)
    work.terminate()
    check(live.wait(work, 60) == 0, 'the target ended with %d', work.returncode)
    naps = naps_of(live, work)
    for path, _ in folders:
        d = Dump(live, gzip.open(path).read(), 'killed')
        zero = clock_of(d.header)
        told = zero + d.header['dumped_unix_nano'] - d.header['epoch_unix_nano'] - 250 * MS
        n = counted(naps, d.waits, zero)
        mine = [x for x in naps if x['start'] > zero + 100 * MS and x['end'] < told]
        check(len(mine) > 5, 'only %d naps before the checkpoint', len(mine))
        check(all(n[x['start']] == 1 for x in mine), 'naps before the checkpoint that are not in it once: %s',
              [(x['start'] - zero, n[x['start']]) for x in mine if n[x['start']] != 1][:4])


def test_stale_socket(live):
    """One that a killed recorder left is replaced; where somebody listens, nobody else can."""
    work, p, sock = start(live, 'sleep 2000 10000')
    rc, _, err = live.run([live.wcbpf, 'record', '-o', live.folder(), '--listen', 'unix:' + sock, '--', 'true'])
    check(rc == 125 and 'somebody listens' in err, 'two on one socket: %d %s', rc, err)
    check(ask(Unix(sock), 'GET', '/debug/wcprof/enabled')[0] == 200, 'the first is disturbed')
    p.send_signal(signal.SIGKILL)
    live.wait(p, 10)
    check(os.path.exists(sock), 'a killed recorder has removed its socket')
    before = tracer_programs()
    p = live.attach_start('-p', str(work.pid), '--listen', 'unix:' + sock)
    live.started(p)
    check(ask(Unix(sock), 'GET', '/debug/wcprof/enabled')[0] == 200, 'the second does not answer')
    end(live, work, p, before)
