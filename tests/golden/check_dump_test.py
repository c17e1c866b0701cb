#!/usr/bin/env python3
# SPDX-License-Identifier: (LGPL-2.1 OR BSD-2-Clause)
"""tests/lib/check_dump.py itself: good dumps pass, and each way of breaking one is reported."""

import gzip
import json
import os
import sys
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, '..', 'lib'))
from check_dump import check  # noqa: E402


def events_of(docs, kind):
    return [d for d in docs[1:] if d['e'] == kind]


def wait(docs):
    return events_of(docs, 'wait')[0]


def wait_by_900(docs):
    """Woken by one who is no thread of the recording."""
    return next(d for d in events_of(docs, 'wait') if d.get('waker_tid') == 900)


def wait_in_futex_with_op(docs):
    w = wait(docs)
    w['futex_op'] = 0
    return w


def put(get, **values):
    def change(docs):
        get(docs).update(values)
    return change


def header(docs):
    return docs[0]


def of(kind, n=0):
    return lambda docs: events_of(docs, kind)[n]


def drop(get, key):
    def change(docs):
        del get(docs)[key]
    return change


def open_op(docs):
    return docs[0]['open_ops'][0]


def twice(kind):
    def change(docs):
        docs.append(dict(events_of(docs, kind)[0]))
        docs[0]['event_count'] += 1
    return change


def op_add(docs, **values):
    docs.append(dict({'e': 'op', 'id': 1000 + len(docs), 'p': 1, 's': 0, 'd': 2000000000}, **values))
    docs[0]['event_count'] += 1


def span_add(docs, **values):
    docs.append(dict({'e': 'span', 'id': 1, 'tr': '0af7651916cd43dd8448eb211c80319c', 'sp': 'b7ad6b7169203331'}, **values))
    docs[0]['event_count'] += 1


# (name, change of the parsed lines, words of the report)
BROKEN = [
    ('count', put(header, event_count=24), 'event_count is 24, 25 lines follow'),
    ('schema', put(header, schema_version=2), 'schema_version is 2'),
    ('no epoch', drop(header, 'epoch_unix_nano'), 'lacks epoch_unix_nano'),
    ('float epoch', put(header, epoch_unix_nano=1.5), 'epoch_unix_nano is no integer'),
    ('negative drops', put(header, dropped_events=-1), 'dropped_events is -1'),
    ('string 0', lambda d: d[0]['strings'].__setitem__(0, 'x'), 'string 0 is not ""'),
    ('same string', lambda d: d[0]['strings'].__setitem__(31, 'app'), 'in the table twice'),
    ('surrogate', lambda d: d[0]['strings'].__setitem__(31, '\ud800'), 'lone surrogate'),
    ('empty open_ops', put(header, open_ops=[]), 'not left out'),
    ('open kind', put(open_op, kind='thing'), "kind 'thing'"),
    ('open parent', put(open_op, parent_id=99), 'parent 99 does not exist'),
    ('open and ended', put(open_op, op_id=2), 'op 2 is open and ended'),
    ('open late', put(open_op, start_ns=2000000001), 'not 0 <= 2000000001'),
    ('wcbpf', put(header, wcbpf=1), 'wcbpf is no object'),
    ('dump before epoch', put(header, dumped_unix_nano=1), 'dumped before its epoch'),
    ('string id', put(wait, i=39), 'i is string 39 of 39'),
    ('string id of a frame', lambda d: of('stack')(d)['frames'].__setitem__(0, [1, 1, 39]), 'string 39 of 39'),
    ('end before start', put(wait, s=400000001), 'not 0 <= 400000001 <= 400000000'),
    ('before the epoch', put(of('op'), s=-1), 'not 0 <= -1'),
    ('after the dump', put(of('op'), d=2000000001), '<= 2000000001 <= 2000000000'),
    ('thread after the dump', put(of('thread'), end_ns=2000000001), '<= 2000000001 <= 2000000000'),
    ('parts of a wait', put(wait, blocked_ns=1), 'blocked + runnable + on CPU = 10000001'),
    ('wake outside', put(wait, wake_ns=400000001), 'wake at 400000001'),
    ('parent', put(of('op', 1), p=99), 'p of this op is 99: no such op'),
    ('target', put(wait, t=99), 't of this wait is 99: no such op'),
    ('waker op', put(wait, waker_op=99), 'waker_op of this wait is 99'),
    ('stack', put(wait, ustack=99), 'ustack 99 is no stack'),
    ('module', lambda d: of('stack')(d)['frames'].__setitem__(0, [9, 1, 1]), 'module 9 of a frame'),
    ('frame', lambda d: of('stack')(d)['frames'].__setitem__(0, [1, 1]), 'a frame is no'),
    ('frame of 4', lambda d: of('stack')(d)['frames'].__setitem__(0, [1, 1, 1, 1]), 'a frame is no'),
    ('file of a frame', lambda d: of('stack')(d)['frames'].__setitem__(0, [1, 1, 1, 39, 1]), 'string 39 of 39'),
    ('idle parts of a frame', lambda d: of('stack')(d)['frames'].__setitem__(0, [1, 1, 1, 0, 0]), 'says nothing'),
    ('inlined frame', lambda d: of('stack')(d)['frames'].__setitem__(0, [1, 1, 1, 0, 0, 2]), 'says nothing'),
    ('no other names', lambda d: of('stack')(d)['frames'].__setitem__(0, [1, 1, 1, 0, 0, 1, 0]), 'says nothing'),
    ('inlined before names', lambda d: of('stack')(d)['frames'].__setitem__(0, [1, 1, 1, 0, 0, 2, 3]), 'says nothing'),
    ('own ancestor', put(of('op'), p=2), 'its own ancestor'),
    ('op twice', twice('op'), 'op 1 twice'),
    ('stack twice', twice('stack'), 'stack 1 twice'),
    ('module twice', twice('module'), 'module 1 twice'),
    ('kind', put(of('op'), k='thing'), "k is 'thing'"),
    ('outcome of an op', put(of('op'), o='fine'), "o is 'fine'"),
    ('reason', put(wait, rs='boredom'), "rs is 'boredom'"),
    ('outcome', put(wait, outcome=1), "outcome 'app'"),
    ('waker_ctx', put(wait, waker_ctx=1), "waker_ctx 'app'"),
    ('owner_unknown', put(wait_by_900, owner_unknown=1), "owner_unknown 'app'"),
    ('owner and none', put(wait, owner_unknown=1), 'an owner, and a reason why there is none'),
    ('name of a recorded waker', put(wait, waker_comm=1), 'waker_comm of a thread of the recording'),
    ('name of a waker', put(wait_by_900, waker_comm=39), 'waker_comm is string 39 of 39'),
    ('timeout', put(wait, timeout_ns=-1), 'timeout_ns is -1'),
    ('futex_op', drop(wait_in_futex_with_op, 'syscall'), 'futex_op outside of a system call'),
    ('futex_val', put(wait, futex_val=1 << 32), 'futex_val is 4294967296'),
    ('futex_val outside', lambda d: (put(wait, futex_val=0)(d), drop(wait, 'syscall')(d)),
     'futex_val outside of a system call'),
    ('op after its parent', put(of('op'), d=1999999999), 'this op is [0, 2000000000], its op 1 [0, 1999999999]'),
    ('wait before its op', put(of('op', 2), s=500000001), 'this wait is [500000000, 610000000], its op 4 [500000001'),
    ('wait after its op', put(of('op', 2), d=719999999), 'this wait is [700000000, 720000000], its op 4 [0, 719999999]'),
    ('float', put(wait, s=1.0), 's is no integer'),
    ('boolean', put(wait, syscall=True), 'syscall is no integer'),
    ('string for a number', put(of('op'), id='1'), 'id is no integer'),
    ('too large', put(of('op'), id=1 << 64), 'id is 18446744073709551616'),
    ('zero', put(wait, t=0), 't is 0 and should have been left out'),
    ('empty', put(of('op'), o=''), "o is '' and should have been left out"),
    ('no end', drop(wait, 'd'), 'wait without d'),
    ('unknown key', put(wait, novelty=1), "unknown key 'novelty'"),
    ('standard key in other case', put(wait, S=1), 'twice (case counts for nothing)'),
    ('standard key on our event', put(of('stack'), s=1), "key 's' of the format on a stack"),
    ('unknown event', put(wait, e='novelty'), "unknown event 'novelty'"),
    ('argv', lambda d: d[0]['strings'].__setitem__(3, 'app -x'), 'meta is no JSON array of strings'),
    ('client', lambda d: d[0]['strings'].__setitem__(2, '100'), "client '100' is no pid:starttime"),
    ('thread times', drop(of('thread'), 'lost_ns'), "of a thread's four times"),
    ('clipped', put(wait, clipped=4), 'clipped is 4'),
    ('parked thread', put(wait, parked=1), 'parked, and no goroutine'),
    ('two wakers', put(wait, waker_tid=101, waker_goid=7), 'a goroutine and a thread as waker'),
    ('times of a goroutine', put(of('thread'), goid=7), 'times of a goroutine'),
    ('parent of a thread', put(of('thread'), parent_goid=7), 'the parent goroutine of a thread'),
    ('span of nothing', lambda d: span_add(d, id=99), 'id of this span is 99: no such op'),
    ('span without ids', lambda d: span_add(d, sp='12'), 'sp is not 16 hex digits'),
    ('span with a time', lambda d: span_add(d, s=1), "key 's' of the format on a span"),
]

# (name, change of the file's bytes, words of the report)
RAW = [
    ('no UTF-8', lambda b: b.replace(b'"worker"', b'"work\xffer"', 1), "can't decode byte 0xff"),
    ('control character', lambda b: b.replace(b'"worker"', b'"work\x01er"', 1), 'Invalid control character'),
    ('NaN', lambda b: b.replace(b'"pid":100', b'"pid":NaN', 1), 'NaN is no JSON'),
    ('cut', lambda b: b[:-20], 'no newline'),
    ('blank line', lambda b: b + b'\n', 'Expecting value'),
    ('two values a line', lambda b: b.replace(b'}\n{"e":"module","mid":2', b'} {"e":"module","mid":2', 1), 'Extra data'),
    ('empty', lambda b: b'', 'no newline'),
    ('gzip cut', lambda b: gzip.compress(b)[:-30], 'Compressed file ended'),
]


def check_bytes(data):
    with tempfile.NamedTemporaryFile(prefix='wcbpf-check.') as f:
        f.write(data)
        f.flush()
        return check(f.name)


def main():
    with open(os.path.join(HERE, 'app.ndjson'), 'rb') as f:
        good = f.read()
    results = []
    for name, data in (('plain', good), ('gzip', gzip.compress(good))):
        errors, head, events = check_bytes(data)
        results.append(('a good dump, ' + name, errors + ([] if head and len(events) == 25 else ['events missing'])))
    docs = [json.loads(line) for line in good.decode().splitlines()]
    wait_by_900(docs).update(waker_pid=900, waker_comm=1, timeout_ns=0, futex_op=0, futex_val=0)
    data = ''.join(json.dumps(d, separators=(',', ':')) + '\n' for d in docs).encode()
    results.append(('a good dump, keys that may be 0', check_bytes(data)[0]))
    op_add(docs, k='exec', pid=100)
    op_add(docs, k='exec', pid=100, i=1, cl=4)
    data = ''.join(json.dumps(d, separators=(',', ':')) + '\n' for d in docs).encode()
    results.append(('a good dump, exec ops of an engine', check_bytes(data)[0]))
    results.append(('a good dump of the engine', check(os.path.join(HERE, 'engine.ndjson'))[0]))
    for name, change, words in BROKEN:
        docs = [json.loads(line) for line in good.decode().splitlines()]
        change(docs)
        data = ''.join(json.dumps(d, separators=(',', ':')) + '\n' for d in docs).encode()
        results.append((name, check_bytes(data)[0], words))
    for name, change, words in RAW:
        results.append((name, check_bytes(change(good))[0], words))
    failed = 0
    for i, (name, errors, *words) in enumerate(results):
        bad = not any(words[0] in e for e in errors) if words else bool(errors)
        failed += bad
        print('%sok %d - check_dump: %s' % ('not ' if bad else '', i + 1, name))
        if bad:
            print('# expected %r, got %r' % (words[0] if words else [], errors))
    print('1..%d' % len(results))
    return 1 if failed else 0


if __name__ == '__main__':
    sys.exit(main())
