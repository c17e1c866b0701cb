# SPDX-License-Identifier: (LGPL-2.1 OR BSD-2-Clause)
"""One finished recording, read back from its folder as a stranger would: dump, folded or map text, diagnostics,
summary.

load() also holds every recording to the invariants of its files: strict dump (check_dump), folded lines
that parse, sums that add up, and losses that are told in all three places or in none.
"""
import json
import os
import re

import check_dump

FOLDED = re.compile(rb'^[^;\n]+(;[^;\n]+)* [0-9]+$')
WARNING = re.compile(r'^WARNING: (\d+) stack traces lost and could not be displayed\.$', re.M)
WALL_LEAVES = {'[on-cpu]', '[on-cpu, not sampled]', '[runnable]', '[blocked]', '[shorter than --min]', '[lost]',
               '[unaccounted]', '[left out by --only]'}
MAP_HEAD = re.compile(r'^@offcpu_(kernel|user)\[$')
# Not bpf_prog_load and the like: another tracer, about to load its programs, is a program as any.
TRACER_FRAME = re.compile(r'^(bpf_prog_[0-9a-f]{16}|bpf_trace_run\d|__bpf_trace_|__traceiter_|trace_call_bpf)')


class Item:
    """An event with its string ids replaced by their strings; absent keys are None."""

    def __init__(self, **fields):
        self.__dict__.update(fields)

    def __getattr__(self, name):
        if name.startswith('__'):
            raise AttributeError(name)
        return None

    def __repr__(self):
        return ' '.join('%s=%s' % kv for kv in self.__dict__.items() if kv[1] not in (None, '', 0, []))


class Recording:
    def __init__(self, folder):
        self.dir = folder
        self.rc = self.out = self.err = None
        self.errors = []
        self.header, self.strings, self.offset_ns = {}, [''], None
        self.ops, self.waits, self.links, self.threads, self.stacks, self.modules = {}, [], [], [], {}, {}
        self.goroutines, self.spans = [], []
        self.summary, self.folded, self.folded_lines, self.maps, self.diagnostics = None, [], 0, [], None
        self.wall = []      # (frames, leaf, microseconds); folded then holds what was blocked, as in mode time

    def path(self, name):
        return os.path.join(self.dir, name)

    def wrong(self, text):
        self.errors.append(text)

    # -- reading

    def load(self):
        self._load_summary()
        for name in ('wcprof.ndjson', 'wcprof.ndjson.gz'):
            if os.path.exists(self.path(name)):
                self._load_dump(self.path(name))
        if os.path.exists(self.path('offcpu.diagnostics.txt')):
            with open(self.path('offcpu.diagnostics.txt'), encoding='utf-8') as f:
                self.diagnostics = f.read()
        if os.path.exists(self.path('offcpu.time.txt')):
            self._load_folded(self.path('offcpu.time.txt'))
        if os.path.exists(self.path('wall.folded.txt')):
            self._load_folded(self.path('wall.folded.txt'))
            self._load_wall()
        if os.path.exists(self.path('offcpu.stacks.txt')):
            self._load_maps(self.path('offcpu.stacks.txt'))
        self._check_leftovers()
        self._check_integrity()
        return self

    def _load_summary(self):
        try:
            with open(self.path('offcpu.summary.json'), 'rb') as f:
                self.summary_text = f.read().decode('utf-8')
            self.summary = json.loads(self.summary_text)
        except FileNotFoundError:
            return
        except ValueError as e:
            self.wrong('offcpu.summary.json: %s' % e)

    def _text(self, sid):
        if sid is None:
            return ''
        return self.strings[sid] if 0 <= sid < len(self.strings) else '<bad string id %d>' % sid

    def _load_dump(self, path):
        errors, header, events = check_dump.check(path)
        self.errors += ['%s: %s' % (os.path.basename(path), e) for e in errors[:20]]
        if not header:
            return
        self.header, self.strings = header, header['strings']
        self.end_ns = header['dumped_unix_nano'] - header['epoch_unix_nano']
        begin = header.get('wcbpf', {}).get('clock_begin_ns')
        self.offset_ns = begin if isinstance(begin, int) else None
        for op in header.get('open_ops', []):
            self.ops[op['op_id']] = Item(
                id=op['op_id'], parent=op.get('parent_id', 0), kind=op['kind'], start=op['start_ns'], end=self.end_ns,
                work=op.get('work_type', 'engine'), cls=self._text(op.get('class_id')),
                ident=self._text(op.get('ident_id')), client=self._text(op.get('client_id')),
                meta=self._text(op.get('meta_id')), open=True, pid=op.get('pid'), tid=op.get('tid'),
                goid=op.get('goid', 0), outcome=None, unwound=False, ustack=op.get('ustack', 0))
        for e in events:
            self._event(e)

    def _event(self, e):
        kind = e['e']
        if kind == 'op':
            self.ops[e['id']] = Item(
                id=e['id'], parent=e.get('p', 0), kind=e.get('k'), start=e['s'], end=e['d'], work=e.get('w', 'engine'),
                outcome=e.get('o'), cls=self._text(e.get('c')), ident=self._text(e.get('i')),
                client=self._text(e.get('cl')), meta=self._text(e.get('m')), open=False, pid=e.get('pid'),
                tid=e.get('tid'), goid=e.get('goid', 0), exit_status=e.get('exit_status'),
                clipped=e.get('clipped', 0), unwound=bool(e.get('unwound')), ustack=e.get('ustack', 0))
        elif kind == 'wait':
            self.waits.append(Item(
                op=e.get('p', 0), target=e.get('t', 0), start=e['s'], end=e['d'], reason=e.get('rs'),
                kind=self._text(e.get('wait_kind')), ident=self._text(e.get('i')), pid=e.get('pid'), tid=e.get('tid'),
                outcome=self._text(e.get('outcome')), ctx=self._text(e.get('waker_ctx')), wake=e.get('wake_ns'),
                waker_tid=e.get('waker_tid'), waker_pid=e.get('waker_pid'), waker_op=e.get('waker_op'),
                owner_tid=e.get('owner_tid'), blocked=e.get('blocked_ns', 0), runnable=e.get('runnable_ns', 0),
                oncpu=e.get('oncpu_ns', 0), clipped=e.get('clipped', 0), syscall=e.get('syscall'),
                waker_stack=e.get('waker_stack', 0), futex_val=e.get('futex_val'), kstack=e.get('kstack', 0), ustack=e.get('ustack', 0),
                goid=e.get('goid', 0), parked=bool(e.get('parked')), waker_goid=e.get('waker_goid', 0)))
            self._check_wait(self.waits[-1])
        elif kind == 'link':
            self.links.append(Item(kind=e.get('lk'), source=e.get('p', 0), to=e.get('t', 0),
                                   ident=self._text(e.get('i'))))
        elif kind == 'span':
            self.spans.append(Item(op=e['id'], trace=e['tr'], span=e['sp']))
        elif kind == 'thread' and 'goid' in e:
            self.goroutines.append(Item(goid=e['goid'], parent=e.get('parent_goid', 0), pid=e['pid'], tid=e['tid'],
                                        comm=e['comm'], function=e['comm'], op=e.get('op', 0), begin=e['begin_ns'],
                                        end=e['end_ns']))
        elif kind == 'thread':
            self.threads.append(Item(
                pid=e['pid'], tid=e['tid'], comm=self._text(e['comm']) if isinstance(e['comm'], int) else e['comm'],
                begin=e.get('begin_ns', 0), end=e.get('end_ns', 0), oncpu=e.get('oncpu_ns', 0),
                runnable=e.get('runnable_ns', 0), blocked=e.get('blocked_ns', 0), lost=e.get('lost_ns', 0),
                samples=e.get('samples', 0), accounted='oncpu_ns' in e))
            self._check_thread(self.threads[-1])
        elif kind == 'stack':
            self.stacks[e['sid']] = Item(
                side=e.get('side'), ended=e.get('ended'), frames=[self._text(f[2]) for f in e.get('frames', [])],
                addresses=[f[1] for f in e.get('frames', [])], modules=[f[0] for f in e.get('frames', [])],
                inlined=[len(f) > 5 and f[5] == 1 for f in e.get('frames', [])],
                other_names=[f[6] if len(f) > 6 else 0 for f in e.get('frames', [])])
        elif kind == 'module':
            self.modules[e['mid']] = Item(path=e.get('path'), build_id=e.get('build_id'))

    # -- invariants

    def _check_wait(self, w):
        total = w.blocked + w.runnable + w.oncpu
        if total != w.end - w.start:
            self.wrong('wait of %s: blocked %d + runnable %d + on CPU %d is not its length %d'
                       % (w.tid, w.blocked, w.runnable, w.oncpu, w.end - w.start))
        if min(w.blocked, w.runnable, w.oncpu) < 0:
            self.wrong('negative part in wait %r' % w)
        if w.tid == 0:
            self.wrong('the idle task waits: %r' % w)

    def _check_thread(self, t):
        total, life = t.oncpu + t.runnable + t.blocked + t.lost, t.end - t.begin
        if not t.accounted:
            lost = {k: v for k, v in self.header['wcbpf']['integrity'].items() if v and k.startswith('lost_')}
            if not lost.get('lost_lifecycle') and not lost.get('lost_recursion') and not lost.get('lost_map_full'):
                self.wrong('thread %d (%s) of %d ns has no totals, and no loss says why: %s' % (t.tid, t.comm, life, lost))
        elif abs(total - life) > life * 0.02 + 1000000:
            self.wrong('thread %d: on %d + runnable %d + blocked %d + lost %d = %d, lifetime %d'
                       % (t.tid, t.oncpu, t.runnable, t.blocked, t.lost, total, life))
        if t.begin < 0 or t.end > self.end_ns:
            self.wrong('thread %d lives %d..%d, outside of the recording 0..%d' % (t.tid, t.begin, t.end, self.end_ns))

    def _load_folded(self, path):
        with open(path, 'rb') as f:
            lines = f.read().split(b'\n')
        if lines and lines[-1] == b'':
            lines.pop()
        self.folded_lines = len(lines)
        for line in lines:
            if not FOLDED.match(line):
                self.wrong('folded line breaks the format: %r' % line[:200])
                continue
            frames, value = line.decode('utf-8').rsplit(' ', 1)
            self.folded.append((frames.split(';'), int(value)))
            if any(TRACER_FRAME.match(f) for f in frames.split(';')):
                self.wrong('the tracer itself is in a stack: %s' % frames)

    def _load_wall(self):
        """Takes the leaf off each line; the lines must sum to all threads' lives, in the summary too."""
        for frames, us in self.folded:
            if len(frames) < 2 or frames[-1] not in WALL_LEAVES:
                self.wrong('a line of mode wall says not what the thread did: %s' % frames)
            self.wall.append((frames[:-1], frames[-1], us))
        self.folded = [(frames, us) for frames, leaf, us in self.wall if leaf == '[blocked]']
        total_us, lives_ns = sum(us for _, _, us in self.wall), sum(t.end - t.begin for t in self.threads)
        if abs(total_us * 1000 - lives_ns) > 500:
            self.wrong('wall.folded.txt sums to %d us, the threads lived %d ns' % (total_us, lives_ns))
        if not self.summary or self.summary['state'] != 'summary_written':
            return
        parts = dict(self.summary['wall'])
        if parts.pop('lifetime_ns') != lives_ns or sum(parts.values()) != lives_ns:
            self.wrong('the summary divides %d ns of %d into %s' % (sum(parts.values()), lives_ns, parts))
        if self.summary['total_us'] != total_us:
            self.wrong('total_us %d, the lines sum to %d' % (self.summary['total_us'], total_us))
        samples = sum(t.samples for t in self.threads)
        if samples != self.summary['sampling']['samples']:
            self.wrong('%d samples of threads, the summary has %s' % (samples, self.summary['sampling']))

    def _load_maps(self, path):
        """bpftrace map text: entries of (side, [frame, innermost first], count)."""
        with open(path, encoding='utf-8') as f:
            lines = f.read().split('\n')
        side = None
        for line in lines:
            if side is None:
                head = MAP_HEAD.match(line)
                if head:
                    side, frames = head.group(1), []
                elif line.strip():
                    self.wrong('offcpu.stacks.txt: not a map entry: %r' % line[:200])
            elif line.startswith(']: '):
                if not re.fullmatch(r'\]: [0-9]+', line):
                    self.wrong('offcpu.stacks.txt: bad count: %r' % line)
                else:
                    self.maps.append((side, frames, int(line[3:])))
                side = None
            elif line.startswith('    '):
                frames.append(line[4:])
            else:
                self.wrong('offcpu.stacks.txt: not a frame: %r' % line[:200])
        if side is not None:
            self.wrong('offcpu.stacks.txt: the last entry is not closed')

    def _check_leftovers(self):
        known = {'wcprof.ndjson', 'wcprof.ndjson.gz', 'wall.folded.txt', 'offcpu.time.txt', 'offcpu.stacks.txt',
                 'offcpu.diagnostics.txt', 'offcpu.summary.json'}
        if os.path.isdir(self.dir):
            for name in os.listdir(self.dir):
                if name not in known and re.search(r'tmp|\.new|\.part|~$', name):
                    self.wrong('a temporary file was left behind: %s' % name)

    def _check_integrity(self):
        if not self.summary:
            return
        keys = list(self.summary)[:10]
        want = ['kind', 'tool', 'mode', 'capture_path', 'diagnostics_path', 'summary_path', 'state', 'caveat_kind',
                'caveat_message', 'capture_integrity']
        if keys != want:
            self.wrong('the summary begins with %s' % keys)
            return
        i = self.integrity = self.summary['capture_integrity']
        if self.summary['state'] != 'summary_written' and i['status'] == 'unknown':
            return
        if '"lost_stack_trace_count": %d' % i['lost_stack_trace_count'] not in self.summary_text:
            self.wrong('lost_stack_trace_count is not written as harnesses look for it')
        lost = {k: v for k, v in i.items() if re.match(r'(lost|dropped|failed|detached|unlisted)_|unbalanced$', k) and isinstance(v, int) and v}
        warning = WARNING.search(self.diagnostics or '')
        caveat = self.summary['caveat_kind']
        if i['status'] == 'complete' and (caveat == 'offcpu_capture_partial' or warning or
                                          any(k.startswith(('lost_', 'dropped_')) for k in lost)):
            self.wrong('complete, but: caveat %s, %s, %s' % (caveat, warning and warning.group(0), lost))
        if lost and i['status'] == 'complete':
            self.wrong('complete, but %s' % lost)
        if i['status'] == 'partial' and self.summary['state'] == 'summary_written' and (
                caveat != 'offcpu_capture_partial' or not lost):
            self.wrong('partial, but caveat %s and losses %s' % (caveat, lost))
        if i['lost_stack_trace_count'] and (not warning or int(warning.group(1)) != i['lost_stack_trace_count']):
            self.wrong('%d stack traces lost by the summary, the diagnostics say %s'
                       % (i['lost_stack_trace_count'], warning and warning.group(0)))
        parts = ('recorded', 'below_min', 'out_of_scope', 'lost_ring_full', 'lost_unprocessed', 'lost_clock_back')
        if 'attempted' in i and all(p in i for p in parts) and i['attempted'] != sum(i[p] for p in parts):
            self.wrong('attempted %d is not %s' % (i['attempted'], ' + '.join('%s %d' % (p, i[p]) for p in parts)))
        if i['samples'] != i['recorded_samples'] + i['lost_samples']:
            self.wrong('samples %d is not recorded %d + lost %d' % (i['samples'], i['recorded_samples'], i['lost_samples']))
        if i['ops'] != i['recorded_ops'] + i['lost_ops']:
            self.wrong('hits of choke points: %d are not recorded %d + lost %d' % (i['ops'], i['recorded_ops'], i['lost_ops']))
        if self.header and self.header['dropped_events'] and not lost:
            self.wrong('the dump says %d events dropped, the summary nothing' % self.header['dropped_events'])

    # -- questions

    def complete(self):
        return bool(self.summary) and self.summary['state'] == 'summary_written' \
            and self.summary['capture_integrity']['status'] == 'complete'

    def hidden_switches(self):
        """How many context switches the host hid, if nothing else is missing; else 0.

        On some virtual machines no tracepoint fires while an agent of the hypervisor has the CPU (perf misses the
        same switches). wcbpf infers what it can, and says that those intervals lack their kernel stack.
        """
        i = dict(self.summary['capture_integrity']) if self.summary else {}
        hidden = i.get('inferred_switches', 0) + i.get('unbalanced', 0)
        other = [k for k, v in i.items() if k.startswith(('lost_', 'dropped_', 'dump_dropped', 'failed_')) and v and
                 k not in ('lost_stack_trace_count', 'failed_kernel_stacks')]
        if other or not hidden or hidden > 30 + i['attempted'] // 50 or i['failed_kernel_stacks'] > hidden:
            return 0
        return hidden

    def lost_text(self):
        if not self.summary:
            return 'no summary'
        i = self.summary['capture_integrity']
        return '%s, caveat %s (%s), %s' % (i['status'], self.summary['caveat_kind'], self.summary['caveat_message'],
                                           {k: v for k, v in i.items() if isinstance(v, int) and v})

    def of_tid(self, tid, **fields):
        return [w for w in self.waits if w.tid == tid and all(getattr(w, k) == v for k, v in fields.items())]

    def thread(self, tid):
        found = [t for t in self.threads if t.tid == tid]
        return found[0] if found else None

    def frames(self, wait):
        """(user, kernel) function names of a wait, innermost first."""
        return tuple(self.stacks[sid].frames if sid in self.stacks else [] for sid in (wait.ustack, wait.kstack))

    def folded_us(self, *part):
        """Microseconds of the folded lines in which these frames follow one another."""
        n = len(part)
        return sum(v for frames, v in self.folded
                   if any(tuple(frames[i:i + n]) == part for i in range(len(frames) - n + 1)))

    def process_op(self, pid):
        found = [o for o in self.ops.values() if o.kind == 'exec' and o.pid == pid and o.ident == o.client]
        return found[0] if found else None

    def thread_op(self, tid):
        found = [o for o in self.ops.values() if o.kind == 'internal' and o.tid == tid and o.ident == 'tid:%d' % tid]
        return found[0] if found else None
