#!/usr/bin/env python3
# SPDX-License-Identifier: (LGPL-2.1 OR BSD-2-Clause)
"""A strict check of a wcprof dump that wcbpf wrote (man/wcbpf-dump.5), independent of wcbpf's own reader.

check_dump.py FILE: prints the first violations, exit 1. check(path) -> (errors, header, events).
"""

import gzip
import json
import sys
import zlib

ERRORS_MAX = 20
INT64_MAX = (1 << 63) - 1
UINT64_MAX = (1 << 64) - 1
UINT32_MAX = (1 << 32) - 1

OP_KINDS = {'call', 'call_exec', 'lazy', 'exec', 'exec_phase', 'service_start', 'session_phase', 'io', 'internal'}
WORK_TYPES = {'engine', 'user', 'external'}
OP_OUTCOMES = {'hit', 'executed', 'joined', 'do_not_cache', 'ok', 'error', 'canceled'}
LINK_KINDS = {'nested_client', 'result', 'reused_result'}
REASONS = {'call_exec', 'singleflight', 'lazy', 'service', 'lock', 'exec', 'io', 'sync', 'sleep', 'poll', 'cpu', 'fault',
           'stopped', 'signal', 'other'}
WAIT_OUTCOMES = {'woken', 'timeout', 'interrupted', 'killed'}
OWNER_UNKNOWNS = {'fault', 'began before', 'no thread of the process'}
WAKER_CTXS = {'task', 'timer', 'disk', 'net', 'irq', 'unknown'}

# What the reference reader decodes into fields of its own: these keys, in any case, in events of any type.
STANDARD = {'e': 'word', 'k': 'word', 'w': 'word', 'o': 'word', 'rs': 'word', 'lk': 'word', 'tr': 'word', 'sp': 'word',
            'id': 'u64', 'p': 'u64', 't': 'u64', 'r': 'u64', 'c': 'string', 'i': 'string', 'cl': 'string', 'm': 'string',
            's': 'i64', 'd': 'i64'}
STANDARD_ON = {'op': {'e', 'k', 'w', 'o', 'id', 'p', 'r', 'c', 'i', 'cl', 'm', 's', 'd'},
               'wait': {'e', 'rs', 'p', 't', 'i', 's', 'd'},
               'link': {'e', 'lk', 'p', 't', 'r', 'i', 's', 'd'},
               'span': {'e', 'id', 'tr', 'sp'},
               'stack': {'e'}, 'module': {'e'}, 'thread': {'e'}, 'sample': {'e'}}
ADDED = {'op': {'pid': 'u32', 'tid': 'u32', 'goid': 'u64', 'exit_status': 'i32', 'unwound': 'one', 'clipped': 'clipped',
                'kstack': 'stack', 'ustack': 'stack', 'waker_stack': 'stack'},
         'wait': {'pid': 'u32', 'tid': 'u32', 'goid': 'u64', 'clipped': 'clipped', 'wait_kind': 'string',
                  'outcome': 'string', 'wake_ns': 'i64', 'blocked_ns': 'u64', 'runnable_ns': 'u64', 'oncpu_ns': 'u64',
                  'waker_pid': 'u32', 'waker_tid': 'u32', 'waker_goid': 'u64', 'waker_op': 'u64', 'waker_ctx': 'string',
                  'waker_comm': 'string', 'owner_tid': 'u32', 'owner_unknown': 'string', 'timeout_ns': 'timeout',
                  'futex_val': 'u32', 'syscall': 'syscall', 'futex_op': 'u32', 'kstack': 'stack', 'ustack': 'stack',
                  'waker_stack': 'stack', 'thread_name': 'string', 'task_state': 'u32', 'parked': 'one',
                  'cpu_from': 'u32', 'cpu_to': 'u32'},
         'link': {}, 'span': {},
         'stack': {'sid': 'u32', 'side': 'word', 'ended': 'word', 'frames': 'frames'},
         'module': {'mid': 'u32', 'path': 'word', 'build_id': 'word', 'bias': 'u64'},
         'thread': {'pid': 'u32', 'tid': 'u32', 'goid': 'u64', 'parent_goid': 'u64', 'comm': 'word', 'op': 'u64',
                    'clipped': 'clipped', 'begin_ns': 'i64',
                    'end_ns': 'i64', 'oncpu_ns': 'u64', 'runnable_ns': 'u64', 'blocked_ns': 'u64', 'lost_ns': 'u64',
                    'left_out_ns': 'u64', 'intervals': 'u32', 'lost': 'u32', 'below_min': 'u32', 'voluntary': 'u32', 'involuntary': 'u32',
                    'samples': 'u32', 'cpus_allowed': 'u32'},
         'sample': {'pid': 'u32', 'tid': 'u32', 'begin_ns': 'i64', 'thread_name': 'string', 'syscall': 'syscall',
                    'kstack': 'stack', 'ustack': 'stack', 'samples': 'u32', 'at': 'times'}}
HEADER = {'schema_version': 'i64', 'epoch_unix_nano': 'i64', 'dumped_unix_nano': 'i64', 'dropped_events': 'u64',
          'event_count': 'i64'}
OPEN_OP = {'op_id': 'u64', 'parent_id': 'u64', 'kind': 'word', 'work_type': 'word', 'class_id': 'string',
           'ident_id': 'string', 'client_id': 'string', 'meta_id': 'string', 'start_ns': 'i64'}
# 0 is a value of its own for these; all others are left out when 0 or empty.
ZERO_ALLOWED = {'s', 'd', 'e', 'exit_status', 'syscall', 'futex_op', 'futex_val', 'timeout_ns', 'wake_ns', 'begin_ns',
                'end_ns', 'oncpu_ns', 'runnable_ns', 'blocked_ns', 'lost_ns', 'start_ns', 'frames', 'comm', 'path', 'ended', 'cpu_from',
                'cpu_to'}
RANGES = {'u64': (0, UINT64_MAX), 'i64': (-INT64_MAX - 1, INT64_MAX), 'u32': (0, UINT32_MAX),
          'i32': (-(1 << 31), (1 << 31) - 1), 'syscall': (0, (1 << 31) - 1), 'timeout': (0, INT64_MAX),
          'clipped': (1, 3), 'one': (1, 1), 'string': (0, UINT32_MAX), 'stack': (0, UINT32_MAX)}


def no_constant(word):
    raise ValueError('%s is no JSON' % word)


def unique_keys(pairs):
    """json takes the last of equal keys silently; the reference reader matches keys without regard to case."""
    lower = [k.lower() for k, _ in pairs]
    if len(set(lower)) != len(lower):
        raise ValueError('key %r twice (case counts for nothing)' % next(k for k in lower if lower.count(k) > 1))
    return dict(pairs)


def tail_means_something(frame):
    """The last part of a frame is never zero, but for a file without a line."""
    file_line, inlined, aliases = frame[3:5], frame[5:6], frame[6:]
    if aliases:
        return inlined[0] in (0, 1) and 0 < aliases[0] <= UINT32_MAX
    return inlined == [1] or (not inlined and (not file_line or any(file_line)))


def parse(line):
    return json.loads(line.decode('utf-8', 'strict'), parse_constant=no_constant, object_pairs_hook=unique_keys)


class Checker:
    def __init__(self):
        self.errors = []
        self.header = None
        self.events = []
        self.string_n = 0
        self.end_ns = 0
        self.op_ids = set()
        self.open_ids = set()
        self.stack_ids = set()
        self.module_ids = set()

    def error(self, where, fmt, *args):
        if len(self.errors) < ERRORS_MAX:
            self.errors.append('%s: %s' % (where, fmt % args))

    def value(self, where, key, v, kind):
        """One value against its kind of number or word; False if its type is already wrong."""
        if kind == 'word':
            if not isinstance(v, str):
                self.error(where, '%s is no string: %r', key, v)
                return False
            return True
        if kind == 'frames':
            if not isinstance(v, list):
                self.error(where, 'frames is no array')
                return False
            return True
        if kind == 'times':
            if not isinstance(v, list) or any(isinstance(x, bool) or not isinstance(x, int) for x in v):
                self.error(where, '%s is no array of times', key)
                return False
            return True
        if isinstance(v, bool) or not isinstance(v, int):
            self.error(where, '%s is no integer: %r', key, v)
            return False
        low, high = RANGES[kind]
        if not low <= v <= high:
            self.error(where, '%s is %d, not within [%d, %d]', key, v, low, high)
            return False
        if kind == 'string' and v >= self.string_n:
            self.error(where, '%s is string %d of %d', key, v, self.string_n)
            return False
        return True

    def fields(self, where, obj, kinds, others_allowed=False):
        """Known keys have their types, nothing else is there, zeros and empty strings are left out."""
        good = True
        for key, v in obj.items():
            if key not in kinds:
                if not others_allowed:
                    self.error(where, 'unknown key %r', key)
                continue
            if not self.value(where, key, v, kinds[key]):
                good = False
            elif v in (0, '') and key not in ZERO_ALLOWED:
                self.error(where, '%s is %r and should have been left out', key, v)
        return good

    def interval(self, where, start, end):
        if not 0 <= start <= end <= self.end_ns:
            self.error(where, 'not 0 <= %d <= %d <= %d (the recording\'s end)', start, end, self.end_ns)

    def string(self, string_id):
        return self.header['strings'][string_id]

    # ---- header ----

    def check_header(self, h):
        if not isinstance(h, dict):
            self.error('line 1', 'the header is no object')
            return False
        missing = [k for k in list(HEADER) + ['strings'] if k not in h]
        if missing:
            self.error('line 1', 'the header lacks %s', ', '.join(missing))
            return False
        for key, kind in HEADER.items():
            if not self.value('line 1', key, h[key], kind):
                return False
        strings = h['strings']
        if not isinstance(strings, list) or not all(isinstance(s, str) for s in strings):
            self.error('line 1', 'strings is no array of strings')
            return False
        if not strings or strings[0] != '':
            self.error('line 1', 'string 0 is not ""')
        if len(set(strings)) != len(strings):
            self.error('line 1', 'a string is in the table twice')
        for s in strings:
            if any(0xd800 <= ord(c) < 0xe000 for c in s):
                self.error('line 1', 'a lone surrogate in string %r', s)
        self.string_n = len(strings)
        self.end_ns = h['dumped_unix_nano'] - h['epoch_unix_nano']
        if h['schema_version'] != 1:
            self.error('line 1', 'schema_version is %d', h['schema_version'])
        if self.end_ns < 0:
            self.error('line 1', 'dumped before its epoch')
        for key in set(h) - set(HEADER) - {'strings', 'open_ops', 'wcbpf'}:
            self.error('line 1', 'unknown key %r', key)
        if 'wcbpf' in h and not isinstance(h['wcbpf'], dict):
            self.error('line 1', 'wcbpf is no object')
        self.header = h
        return True

    def check_open_ops(self):
        ops = self.header.get('open_ops')
        if ops is None:
            return
        if not isinstance(ops, list) or not ops:
            self.error('line 1', 'open_ops is no array, or empty and not left out')
            return
        kinds = dict(OPEN_OP, **ADDED['op'])
        for i, op in enumerate(ops):
            where = 'open_ops[%d]' % i
            if not isinstance(op, dict) or not self.fields(where, op, kinds):
                continue
            for key in ('op_id', 'kind', 'start_ns'):
                if key not in op:
                    self.error(where, 'no %s', key)
            if op.get('kind') not in OP_KINDS:
                self.error(where, 'kind %r', op.get('kind'))
            if op.get('work_type', 'engine') not in WORK_TYPES:
                self.error(where, 'work_type %r', op['work_type'])
            self.interval(where, op.get('start_ns', 0), self.end_ns)
            if op.get('op_id') in self.open_ids:
                self.error(where, 'op %d twice', op['op_id'])
            self.open_ids.add(op.get('op_id'))

    # ---- events ----

    def check_shape(self, where, ev):
        """Everything that a line alone tells."""
        if not isinstance(ev, dict) or not isinstance(ev.get('e'), str):
            self.error(where, 'no object with a string e')
            return False
        kind = ev['e']
        if kind not in STANDARD_ON:
            self.error(where, 'unknown event %r', kind)
            return False
        for key in ev:
            if key.lower() in STANDARD and (key != key.lower() or key not in STANDARD_ON[kind]):
                self.error(where, 'key %r of the format on a %s', key, kind)
                return False
        kinds = {k: STANDARD[k] for k in STANDARD_ON[kind]}
        kinds.update(ADDED[kind])
        if not self.fields(where, ev, kinds):
            return False
        return getattr(self, 'shape_' + kind)(where, ev)

    def needs(self, where, ev, *keys):
        missing = [k for k in keys if k not in ev]
        if missing:
            self.error(where, '%s without %s', ev['e'], ', '.join(missing))
        return not missing

    def word(self, where, ev, key, words):
        if key in ev and ev[key] not in words:
            self.error(where, '%s is %r', key, ev[key])

    def shape_op(self, where, ev):
        if not self.needs(where, ev, 'id', 'k', 's', 'd'):
            return False
        self.word(where, ev, 'k', OP_KINDS)
        self.word(where, ev, 'w', WORK_TYPES)
        self.word(where, ev, 'o', OP_OUTCOMES)
        self.interval(where, ev['s'], ev['d'])
        if ev['id'] in self.op_ids:
            self.error(where, 'op %d twice', ev['id'])
        self.op_ids.add(ev['id'])
        if ev['k'] == 'exec' and ev.get('pid') and ev.get('m'):
            self.check_argv(where, self.string(ev['m']))
        if ev['k'] == 'exec' and ev.get('pid') and 'cl' in ev and ev['cl'] == ev.get('i') and ':' not in self.string(ev['cl']):
            self.error(where, 'client %r is no pid:starttime', self.string(ev['cl']))
        return True

    def check_argv(self, where, text):
        try:
            argv = json.loads(text)
        except ValueError:
            argv = None
        if not isinstance(argv, list) or not all(isinstance(a, str) for a in argv):
            self.error(where, 'meta is no JSON array of strings: %.60r', text)

    def shape_wait(self, where, ev):
        if not self.needs(where, ev, 'rs', 's', 'd'):
            return False
        self.word(where, ev, 'rs', REASONS)
        self.interval(where, ev['s'], ev['d'])
        if 'wake_ns' in ev and not ev['s'] <= ev['wake_ns'] <= ev['d']:
            self.error(where, 'wake at %d, outside of the wait [%d, %d]', ev['wake_ns'], ev['s'], ev['d'])
        parts = [ev[k] for k in ('blocked_ns', 'runnable_ns', 'oncpu_ns') if k in ev]
        # The engine doesn't tell them apart; a wait of ours names its thread.
        if (parts or 'tid' in ev) and sum(parts) != ev['d'] - ev['s']:
            self.error(where, 'blocked + runnable + on CPU = %d, the wait is %d long', sum(parts), ev['d'] - ev['s'])
        if 'outcome' in ev and self.string(ev['outcome']) not in WAIT_OUTCOMES:
            self.error(where, 'outcome %r', self.string(ev['outcome']))
        if 'waker_ctx' in ev and self.string(ev['waker_ctx']) not in WAKER_CTXS:
            self.error(where, 'waker_ctx %r', self.string(ev['waker_ctx']))
        if 'owner_unknown' in ev and self.string(ev['owner_unknown']) not in OWNER_UNKNOWNS:
            self.error(where, 'owner_unknown %r', self.string(ev['owner_unknown']))
        if 'parked' in ev and ('goid' not in ev or 'syscall' in ev or 'kstack' in ev):
            self.error(where, 'parked, and no goroutine or in the kernel')
        if 'waker_goid' in ev and 'waker_tid' in ev:
            self.error(where, 'a goroutine and a thread as waker')
        if 'owner_unknown' in ev and 'owner_tid' in ev:
            self.error(where, 'an owner, and a reason why there is none')
        if 'waker_comm' in ev and 'waker_op' in ev:
            self.error(where, 'waker_comm of a thread of the recording')
        for key in ('futex_op', 'futex_val'):
            if key in ev and 'syscall' not in ev:
                self.error(where, '%s outside of a system call', key)
        return True

    def shape_link(self, where, ev):
        if not self.needs(where, ev, 'lk', 's', 'd'):
            return False
        self.word(where, ev, 'lk', LINK_KINDS)
        self.interval(where, ev['s'], ev['d'])
        return True

    def shape_span(self, where, ev):
        if set(ev) != {'e', 'id', 'tr', 'sp'}:
            self.error(where, 'a span has e, id, tr and sp')
            return False
        for key, n in (('tr', 32), ('sp', 16)):
            if len(ev[key]) != n or set(ev[key]) - set('0123456789abcdef'):
                self.error(where, '%s is not %d hex digits', key, n)
        return True

    def shape_stack(self, where, ev):
        if not self.needs(where, ev, 'sid', 'side', 'ended', 'frames'):
            return False
        self.word(where, ev, 'side', {'user', 'kernel'})
        if ev['sid'] in self.stack_ids:
            self.error(where, 'stack %d twice', ev['sid'])
        self.stack_ids.add(ev['sid'])
        for f in ev['frames']:
            if not isinstance(f, list) or len(f) not in (3, 5, 6, 7) or any(
                    isinstance(x, bool) or not isinstance(x, int) for x in f):
                self.error(where, 'a frame is no [module, address, name] or [.., file, line], [.., .., 1], [.., .., 0 or 1, n]: %r', f)
                return False
            if len(f) > 3:
                self.value(where, 'a frame\'s file', f[3], 'string')
                self.value(where, 'a frame\'s line', f[4], 'u32')
            if not tail_means_something(f):
                self.error(where, 'a frame says nothing behind its name: %r', f)
            self.value(where, 'a frame\'s name', f[2], 'string')
            self.value(where, 'a frame\'s address', f[1], 'u64')
        return True

    def shape_module(self, where, ev):
        if not self.needs(where, ev, 'mid', 'path'):
            return False
        if ev['mid'] in self.module_ids:
            self.error(where, 'module %d twice', ev['mid'])
        self.module_ids.add(ev['mid'])
        return True

    def shape_thread(self, where, ev):
        if not self.needs(where, ev, 'pid', 'tid', 'comm', 'begin_ns', 'end_ns'):
            return False
        self.interval(where, ev['begin_ns'], ev['end_ns'])
        times = [k for k in ('oncpu_ns', 'runnable_ns', 'blocked_ns', 'lost_ns') if k in ev]
        if times and len(times) != 4:
            self.error(where, 'only %s of a thread\'s four times', ', '.join(times))
        if 'goid' in ev and times:
            self.error(where, 'times of a goroutine')
        if 'parent_goid' in ev and 'goid' not in ev:
            self.error(where, 'the parent goroutine of a thread')
        return True

    def shape_sample(self, where, ev):
        if not self.needs(where, ev, 'pid', 'tid', 'begin_ns', 'samples'):
            return False
        at = ev.get('at', [])
        if len(at) > ev['samples'] or at != sorted(at):
            self.error(where, '%d samples at %d moments, or not in time order', ev['samples'], len(at))
        for ns in at:
            self.interval(where, ns, ns)
        return True

    # ---- what lines say of each other ----

    def check_references(self):
        ops = self.op_ids | self.open_ids
        both = self.op_ids & self.open_ids
        if both:
            self.error('header', 'op %d is open and ended', min(both))
        for i, op in enumerate(self.header.get('open_ops') or []):
            if isinstance(op, dict) and op.get('parent_id', 0) not in ops | {0}:
                self.error('open_ops[%d]' % i, 'parent %d does not exist', op['parent_id'])
        for line, ev in self.events:
            where = 'line %d' % line
            for key in {'op': ('p',), 'wait': ('p', 't', 'waker_op'), 'link': ('p', 't'), 'span': ('id',),
                        'thread': ('op',)}.get(ev['e'], ()):
                if ev.get(key, 0) and ev[key] not in ops:
                    self.error(where, '%s of this %s is %d: no such op', key, ev['e'], ev[key])
            for key in ('kstack', 'ustack', 'waker_stack'):
                if key in ev and ev[key] not in self.stack_ids:
                    self.error(where, '%s %d is no stack of this dump', key, ev[key])
            for f in ev['frames'] if ev['e'] == 'stack' else ():
                if f[0] and f[0] not in self.module_ids:
                    self.error(where, 'module %d of a frame is not in this dump', f[0])
        self.check_parents()
        self.check_lifetimes()
        self.check_samples()

    def check_samples(self):
        """Each is of a thread of the dump, which says how many it has."""
        said = {(ev['pid'], ev['tid'], ev['begin_ns']): ev.get('samples', 0) for _, ev in self.events
                if ev['e'] == 'thread' and 'goid' not in ev}
        found = {}
        for line, ev in self.events:
            if ev['e'] != 'sample':
                continue
            key = ev['pid'], ev['tid'], ev['begin_ns']
            if key not in said:
                self.error('line %d' % line, 'a sample of pid %d tid %d begun at %d: no such thread', *key)
            found[key] = found.get(key, 0) + ev['samples']
        for key, n in said.items():
            if n != found.get(key, 0):
                self.error('threads', 'pid %d tid %d has %d samples, and says %d', key[0], key[1], found.get(key, 0), n)

    def check_lifetimes(self):
        """Of our own events (they have a pid): no wait outside of its op, no process or thread outlasts its parent.

        What an op of a choke point has begun may outlast it, as in the engine's own dumps.
        """
        life = {ev['id']: (ev['s'], ev['d']) for _, ev in self.events if ev['e'] == 'op'}
        natural = {ev.get('op') for _, ev in self.events if ev['e'] == 'thread' and 'goid' not in ev}
        natural |= {ev['id'] for _, ev in self.events if ev['e'] == 'op' and ev['k'] == 'exec' and
                    'cl' in ev and ev['cl'] == ev.get('i')}
        for op in self.header.get('open_ops') or []:
            if isinstance(op, dict):
                life.setdefault(op.get('op_id'), (op.get('start_ns', 0), self.end_ns))
                if op.get('kind') == 'exec' and 'client_id' in op and op['client_id'] == op.get('ident_id'):
                    natural.add(op.get('op_id'))
        natural |= {ev['id'] for _, ev in self.events if ev['e'] == 'op' and ev['k'] == 'exec_phase' and
                    ev.get('p') in natural}
        for line, ev in self.events:
            if ev['e'] not in ('op', 'wait') or 'pid' not in ev or ev.get('p') not in life:
                continue
            if ev['e'] == 'op' and not {ev['id'], ev['p']} <= natural:
                continue
            start, end = life[ev['p']]
            if not start <= ev['s'] <= ev['d'] <= end:
                self.error('line %d' % line, 'this %s is [%d, %d], its op %d [%d, %d]', ev['e'], ev['s'], ev['d'],
                           ev['p'], start, end)

    def check_parents(self):
        """Parents form trees."""
        parent = {ev['id']: ev.get('p', 0) for _, ev in self.events if ev['e'] == 'op'}
        for op in self.header.get('open_ops') or []:
            if isinstance(op, dict):
                parent.setdefault(op.get('op_id'), op.get('parent_id', 0))
        good = {0}
        for op in parent:
            path = []
            while op in parent and op not in good:
                if op in path:
                    self.error('ops', 'op %d is its own ancestor', op)
                    break
                path.append(op)
                op = parent[op]
            good.update(path)

    def check_lines(self, lines):
        for number, line in enumerate(lines, 1):
            where = 'line %d' % number
            try:
                obj = parse(line)
            except (UnicodeDecodeError, ValueError, RecursionError) as e:
                self.error(where, '%s', e)
                if number == 1:
                    return
                continue
            if number == 1:
                if not self.check_header(obj):
                    return
                self.check_open_ops()
            elif self.check_shape(where, obj):
                self.events.append((number, obj))
        if self.header is None:
            self.error('line 1', 'no header')
            return
        if self.header['event_count'] != len(lines) - 1:
            self.error('line 1', 'event_count is %d, %d lines follow', self.header['event_count'], len(lines) - 1)
        self.check_references()


def read(path):
    with open(path, 'rb') as f:
        data = f.read()
    return gzip.decompress(data) if data[:2] == b'\x1f\x8b' else data


def check(path):
    """(list of errors, header, list of events); header is None if it can't be used."""
    c = Checker()
    try:
        data = read(path)
    except (OSError, EOFError, zlib.error) as e:
        return ['%s' % e], None, []
    if not data.endswith(b'\n'):
        c.error('the end', 'the last line has no newline')
    c.check_lines(data.split(b'\n')[:-1] if data.endswith(b'\n') else data.split(b'\n'))
    return c.errors, c.header, [ev for _, ev in c.events]


def main():
    if len(sys.argv) != 2:
        print('usage: check_dump.py FILE', file=sys.stderr)
        return 2
    errors, header, events = check(sys.argv[1])
    for e in errors:
        print('%s: %s' % (sys.argv[1], e))
    if not errors:
        print('%s: good, %d events' % (sys.argv[1], len(events)))
    return 1 if errors else 0


if __name__ == '__main__':
    sys.exit(main())
