# SPDX-License-Identifier: (LGPL-2.1 OR BSD-2-Clause)
"""The comparison of graphs itself: it accepts a right dump and names each fault. No wcbpf is involved."""
import copy
import json

import graph
from live import check

US, MS = 1000, 1000000
EPOCH = 1700000000 * 10**9

OPS = [      # id, kind, class, ident, client, parent, start, end (ms), outcome
    (1, 'session_phase', 'engine.session', 's0', 's0', 0, 0, 90, None),
    (2, 'session_phase', 'engine.session', 's1', 's1', 0, 0, 90, None),
    (3, 'call', 'Module.load', 'sha:m', 's0', 1, 1, 30, 'executed'),
    (4, 'call', 'Module.load', 'sha:m', 's1', 2, 2, 30, 'joined'),
    (5, 'call_exec', 'Module.load', 'sha:m', 's0', 3, 2, 29, 'ok'),
    (6, 'exec', 'Container.exec', 'sha:x', 's0', 5, 4, 20, 'error'),
    (7, 'exec_phase', 'exec.containerStart', 'sha:x', 's0', 6, 5, 6, 'ok'),
    (8, 'call', 'Module.load', 'sha:m', 's0', 1, 40, 41, 'hit'),
    (9, 'call', 'Query.version', 'sha:v', 's1', 2, 50, 60, 'do_not_cache'),
]
WAITS = [    # op, target, resource, reason, start, end (ms)
    (3, 5, '', 'call_exec', 2, 29), (4, 5, '', 'singleflight', 3, 29), (5, 6, '', 'exec', 4, 21),
    (9, 0, 'cachelock:a', 'lock', 51, 52), (9, 0, 'cachelock:a', 'lock', 53, 55), (1, 0, 'cachelock:b', 'lock', 60, 61),
]


def dump(ops, waits, extra=(), links=((6, '77:100'),), dropped=0, open_ids=(), off_us=0, wcbpf=False,
         wakers=()):
    """The lines of a dump; each time is off by so much."""
    strings, events, open_ops = [''], [], []

    def sid(s):
        if s not in strings:
            strings.append(s)
        return strings.index(s)

    def event(**keys):
        events.append({k: v for k, v in keys.items() if k in ('s', 'd') or v})

    for number, kind, cls, ident, client, parent, start, end, outcome in ops:
        if number in open_ids:
            op = dict(op_id=number, parent_id=parent, kind=kind, class_id=sid(cls), ident_id=sid(ident),
                      client_id=sid(client), start_ns=start * MS)
            open_ops.append({k: v for k, v in op.items() if v or k == 'start_ns'})
        else:
            strand = dict(pid=55, tid=1000 + number) if wcbpf else {}
            event(e='op', id=number, k=kind, c=sid(cls), i=sid(ident), cl=sid(client), p=parent, o=outcome,
                  s=start * MS + off_us * US, d=end * MS + off_us * US, **strand)
    for wait in list(waits) + list(extra):
        op, target, resource, reason, start, end, *thread_of = wait
        strand = dict(pid=55, tid=1000 + (thread_of or [op])[0], blocked_ns=int((end - start) * MS)) if wcbpf else {}
        if wait in wakers:
            strand['waker_op'] = wakers[wait]
        event(e='wait', p=op, t=target, i=sid(resource), rs=reason, s=int(start * MS) + off_us * US,
              d=int(end * MS) + off_us * US, **strand)
    for op, ident in links:
        event(e='link', lk='nested_client', p=op, i=sid(ident), s=5 * MS, d=5 * MS)
    header = dict(schema_version=1, epoch_unix_nano=EPOCH, dumped_unix_nano=EPOCH + 100 * MS, dropped_events=dropped,
                  event_count=len(events), strings=strings)
    if open_ops:
        header['open_ops'] = open_ops
    return ''.join(json.dumps(x) + '\n' for x in [header] + events)


def machine_ops(ops):
    """As a tracer shows the same: below a process and its threads."""
    with_threads = [(100, 'exec', 'engine', '55:1', '55:1', 0, 0, 95, 'ok'),
                    (101, 'internal', 'engine', 'tid:55', '', 100, 0, 95, None),
                    (102, 'exec_phase', 'engine', '', '', 100, 0, 95, None),
                    (103, 'internal', 'engine', 'tid:57', '', 3, 2, 30, None)]
    moved = {0: 101, 3: 103}
    return with_threads + [op[:5] + (moved.get(op[5], op[5]) if op[0] != 103 else op[5],) + op[6:] for op in ops]


def compared(live, ops=OPS, waits=WAITS, truth_ops=OPS, truth_waits=WAITS, tolerance_us=100, loaded=False, **keys):
    paths = live.path('truth.ndjson'), live.path('traced.ndjson')
    for path, text in zip(paths, (dump(truth_ops, truth_waits), dump(machine_ops(ops), waits, wcbpf=True, **keys))):
        with open(path, 'w') as f:
            f.write(text)
    a, b = graph.Graph(paths[0]), graph.Graph(paths[1])
    return graph.Comparison(a, b, tolerance_us * US, resources=('own.lock',), loaded=loaded).run()


def changed(rows, i, at, value):
    rows = copy.copy(rows)
    rows[i] = rows[i][:at] + (value,) + rows[i][at + 1:]
    return rows


# name: (arguments of compared(), what the difference must name)
FAULTS = {
    'missing op': (dict(ops=OPS[:-1], waits=WAITS[:3] + WAITS[5:]), 'missing: op call Query.version sha:v'),
    'invented op': (dict(ops=OPS + [(10, 'lazy', 'X', 'y', 's0', 1, 1, 2, 'ok')]), 'invented: op lazy X y'),
    'op twice': (dict(ops=OPS + [(10,) + OPS[6][1:]]), 'ambiguous: 2 times in the traced'),
    'class': (dict(ops=changed(OPS, 8, 2, 'Query.other')), 'called otherwise: call Query.version'),
    'ident': (dict(ops=changed(OPS, 8, 3, 'sha:w')), 'called otherwise: call Query.version'),
    'client': (dict(ops=changed(OPS, 8, 4, 's0')), 'called otherwise: call Query.version'),
    'kind': (dict(ops=changed(OPS, 8, 1, 'call_exec')), 'called otherwise: call Query.version'),
    'parent': (dict(ops=changed(OPS, 8, 5, 1)),
               'parent of call Query.version sha:v (s1): session_phase engine.session s1'),
    'no parent': (dict(ops=changed(OPS, 4, 5, 0)), 'parent of call_exec Module.load'),
    'outcome': (dict(ops=changed(OPS, 3, 8, 'hit')), 'outcome of call Module.load sha:m (s1): joined, traced hit'),
    'no outcome': (dict(ops=changed(OPS, 4, 8, None)), 'outcome of call_exec'),
    'an outcome too many': (dict(ops=changed(OPS, 0, 8, 'ok')), 'outcome of session_phase'),
    'open': (dict(open_ids=(5,)), 'call_exec Module.load sha:m (s0) is ended, traced open'),
    'begins late': (dict(ops=changed(OPS, 8, 6, 51)), 'op call Query.version sha:v (s1) begins 1000.0 us too late'),
    'ends early': (dict(ops=changed(OPS, 8, 7, 59)), 'ends 1000.0 us too early'),
    'all late': (dict(off_us=200), 'begins 200.0 us too late'),
    'missing wait': (dict(waits=WAITS[1:]), 'missing: wait of call Module.load sha:m s0 for call_exec'),
    'missing lock wait': (dict(waits=WAITS[:-1]),
                          'missing: wait of session_phase engine.session s0 s0 for cachelock:b'),
    'one of two': (dict(waits=WAITS[:3] + WAITS[4:]), 'for cachelock:a: 2, traced 1'),
    'missing lock wait that blocked': (dict(waits=WAITS[:-1], loaded=True, extra=[(1, 0, 'futex', 'sync', 60, 61)]),
                                       'for cachelock:b: 1, traced 0'),
    'missing wait for one that ended late': (dict(waits=WAITS[1:] + [(3, 0, '', 'call_exec', 2, 29)]),
                                             'missing: wait of call Module.load sha:m s0 for call_exec'),
    'invented wait': (dict(extra=[(9, 5, '', 'call_exec', 50, 51)]), 'invented: wait of call Query.version'),
    'uncontended lock': (dict(extra=[(9, 0, 'own.lock', 'lock', 57, 58)]), 'for own.lock: 0, traced 1'),
    'wait without target': (dict(waits=changed(WAITS, 1, 1, 0)), 'for nothing known: 0, traced 1'),
    'other target': (dict(waits=changed(WAITS, 2, 1, 3)), 'missing: wait of call_exec Module.load sha:m s0 for exec'),
    'other waiter': (dict(waits=changed(WAITS, 5, 0, 2)), 'invented: wait of session_phase engine.session s1'),
    'other resource': (dict(waits=changed(WAITS, 5, 2, 'cachelock:a')),
                       'missing: wait of session_phase engine.session s0'),
    'reason': (dict(waits=changed(WAITS, 1, 3, 'call_exec')), 'reason of the wait of call Module.load sha:m s1'),
    'reason of a target': (dict(waits=changed(WAITS, 2, 3, 'sync')), 'reason of the wait of call_exec'),
    'wait ends late': (dict(waits=changed(WAITS, 5, 5, 63)), 'for cachelock:b ends 2000.0 us too late'),
    'a piece again': (dict(extra=[(4, 0, 'futex', 'sync', 5, 6)]),
                      'twice: a wait of call Module.load sha:m (s1) (sync)'),
    'missing link': (dict(links=()), 'missing: link from exec Container.exec sha:x s0 to process 77'),
    'link from elsewhere': (dict(links=((3, '77:100'),)), 'missing: link from exec Container.exec'),
    'invented link': (dict(links=((6, '77:100'), (6, '78:100'))),
                      'invented: link from exec Container.exec sha:x s0 to process 78'),
    'dropped': (dict(dropped=3), 'the traced dump has dropped 3 events'),
    'broken dump': (dict(waits=changed(WAITS, 1, 1, 999)), 'the traced dump: line'),
    'ambiguous record': (dict(truth_ops=OPS + [(10,) + OPS[8][1:]]), 'ambiguous: 2 times in the program\'s'),
}


def test_equal_graphs_are_equal(live):
    ops = [op for op in OPS if op[0] != 8]
    woken = (1, 5, 'mmap', 'other', 28, 29)
    for keys in (dict(), dict(off_us=50), dict(extra=[woken], wakers={woken: 5}), dict(links=((7, '77:123'),)),
                 dict(extra=[(1, 0, 'x', 'sleep', 70, 71)])):
        c = compared(live, ops=ops, truth_ops=ops, **keys)
        check(not c.differences, 'equal, but: %s', c.differences)
        check((c.op_n, c.wait_n, c.link_n) == (8, 6, 1), 'compared %d ops, %d waits, %d links', c.op_n, c.wait_n,
              c.link_n)
    over = (9, 5, '', 'call_exec', 55, 56)
    for keys in (dict(waits=WAITS + [over]), dict(waits=WAITS + [(9, 0, '', 'call_exec', 55, 56)])):
        c = compared(live, ops=ops, truth_ops=ops, truth_waits=WAITS + [over], **keys)
        check(not c.differences, 'a wait for what was over before: %s', c.differences)
    check(not compared(live, ops=ops, truth_ops=ops, waits=WAITS[:-1], loaded=True).differences,
          'a lock that never blocked')
    check(graph.percentile(compared(live, ops=ops, truth_ops=ops, off_us=50).start_errors, 50) == 50 * US, 'figures')


def test_others_turn_on_the_cpu_is_known(live):
    """Of 50 us between the clocks the thread of one op was kept from running for 30, another one's for more."""
    ops = [op for op in OPS if op[0] != 8]
    c = compared(live, ops=ops, truth_ops=ops, off_us=50,
                 extra=[(2, 0, '', 'cpu', 49.97, 50, 9), (3, 0, '', 'cpu', 28.9, 29.5, 5), (4, 0, '', 'sleep', 29.9, 30)])
    check(not c.differences, 'equal, but: %s', c.differences)
    check(sorted(c.start_apart) == [20 * US] + [50 * US] * 7, 'starts: %s', c.start_apart)
    check(sorted(c.end_apart) == [0] + [50 * US] * 7, 'ends: %s', c.end_apart)
    check(sorted(c.end_errors) == [50 * US] * 8, 'all told: %s', c.end_errors)


def test_each_fault_is_named(live):
    ops = [op for op in OPS if op[0] != 8]
    same = compared(live)
    check(any('ambiguous' in d for d in same.differences), 'one call twice below one op is not unique: %s',
          same.differences)
    for name, (keys, text) in FAULTS.items():
        keys = dict(keys)
        truth = [op for op in keys.pop('truth_ops', OPS) if op[0] != 8]
        mine = [op for op in keys.pop('ops', OPS if len(truth) == len(ops) else truth) if op[0] != 8]
        c = compared(live, ops=mine, truth_ops=truth, **keys)
        check(any(text in d for d in c.differences), '%s: not named: %s', name, c.differences)
