# SPDX-License-Identifier: (LGPL-2.1 OR BSD-2-Clause)
"""Dumps, read and made here without wcbpf: what exports are compared with."""

import heapq
import json
import random


class Dump:
    """A dump's lines, and what they come to."""

    def __init__(self, path):
        with open(path, encoding='utf-8') as f:
            self.header = json.loads(f.readline())
            self.events = [json.loads(line) for line in f]
        self.strings = self.header['strings']
        self.epoch = self.header['epoch_unix_nano']
        self.length = self.header['dumped_unix_nano'] - self.epoch
        self.waits = [e for e in self.events if e['e'] == 'wait']
        self.threads = [e for e in self.events if e['e'] == 'thread' and 'goid' not in e]
        self.goroutines = [e for e in self.events if e['e'] == 'thread' and 'goid' in e]
        self.samples = [e for e in self.events if e['e'] == 'sample']
        self.stacks = {e['sid']: e for e in self.events if e['e'] == 'stack'}
        opened = [dict(id=o['op_id'], p=o.get('parent_id', 0), k=o['kind'], s=o['start_ns'], d=self.length,
                       c=o.get('class_id', 0), cl=o.get('client_id', 0), **{k: o[k] for k in ('pid', 'tid') if k in o})
                  for o in self.header.get('open_ops', [])]
        self.ops = [e for e in self.events if e['e'] == 'op'] + opened

    def string(self, i):
        return self.strings[i]

    def blocked(self, wait):
        if not any(k in wait for k in ('blocked_ns', 'runnable_ns', 'oncpu_ns')):
            return 0 if wait['rs'] == 'cpu' else wait['d'] - wait['s']
        return wait.get('blocked_ns', 0)

    def runnable(self, wait):
        if not any(k in wait for k in ('blocked_ns', 'runnable_ns', 'oncpu_ns')):
            return wait['d'] - wait['s'] if wait['rs'] == 'cpu' else 0
        return wait.get('runnable_ns', 0)

    def frames(self, sid):
        """Names of a stack, innermost first, where all of them have one."""
        return [self.strings[f[2]] for f in self.stacks[sid]['frames']]


class Strings:
    def __init__(self):
        self.list = ['']
        self.ids = {'': 0}

    def __call__(self, s):
        if s not in self.ids:
            self.ids[s] = len(self.list)
            self.list.append(s)
        return self.ids[s]


# Names that every format has its own way to stumble over.
NAMES = ['main', 'work(int, char)', 'operator<<', 'a;b', 'x y 12', 'q"uote\'s', '<script>alert(1)</script>', ']]>', '&amp;',
         '\u00e9\u4e2d\U0001f600', 'back\\slash', '[unknown]', 'tab\there', 'new\nline', '\x1b[31mred', 'std::vector<int>::at',
         '</script>', '0x10', '--', '\u2028sep']

KINDS = [('lock', 'mutex'), ('io', 'pipe'), ('sleep', 'sleep'), ('sync', 'condvar'), ('poll', 'epoll'), ('io', 'file')]


class Maker:
    """
    Threads on CPUs as a scheduler would have them: who is ready waits for a CPU, who runs is preempted, blocks, wakes
    others. So what is written is consistent to the nanosecond, and its sums are known from the simulation itself.
    """

    def __init__(self, seed, thread_n=6, cpu_n=2, wait_n=400, processes=2):
        self.random = random.Random(seed)
        self.string = Strings()
        self.cpu_n = cpu_n
        self.events = []
        self.op_n = 0
        self.make_stacks()
        self.make_processes(processes)
        self.run(thread_n, wait_n)

    def op(self, **fields):
        self.op_n += 1
        self.events.append(dict(e='op', id=self.op_n, **fields))
        return self.events[-1]

    def make_stacks(self):
        self.stack_n = 12
        self.events += [dict(e='module', mid=1, path='/opt/a <&> b', build_id='0123456789abcdef0123456789abcdef01234567', bias=0),
                        dict(e='module', mid=2, path='/usr/lib/libc.so.6', build_id='aa', bias=4096),
                        dict(e='module', mid=3, path='[kernel]', build_id='', bias=0)]
        for sid in range(1, self.stack_n + 1):
            user = sid % 3 != 0
            n = self.random.randint(1, 9)
            frames = []
            for _ in range(n):
                name = self.random.choice(NAMES)
                frames.append([self.random.choice([1, 2]) if user else 3, self.random.randrange(1 << 20), self.string(name)])
            if sid == 4:
                frames[0][2] = 0  # a function without a name
            self.events.append(dict(e='stack', sid=sid, side='user' if user else 'kernel', frames=frames,
                                    ended='complete' if sid % 4 else 'no_frame'))

    def make_processes(self, n):
        self.processes = []
        for i in range(n):
            pid = 100 * (i + 1)
            key = self.string('%d:%d' % (pid, 5000 + i))
            self.processes.append(self.op(k='exec', w='user', o='ok', p=0, c=self.string('prog%d' % i), i=key, cl=key, s=0, d=0,
                                          pid=pid, exit_status=0, m=self.string('["prog", "%d"]' % i)))

    def run(self, thread_n, wait_n):
        r = self.random
        threads = []
        for i in range(thread_n):
            process = self.processes[i % len(self.processes)]
            first = i < len(self.processes)
            name = r.choice(NAMES) if i % 2 else 'worker'
            t = dict(pid=process['pid'], tid=process['pid'] + (0 if first else i), comm=name, begin=0, waits=[], runs=[], oncpu=0)
            t['op'] = self.op(k='internal', w='user', p=process['id'], c=self.string(name), s=0, d=0, pid=t['pid'], tid=t['tid'])
            threads.append(t)
        self.threads = threads
        now, made = 1000, 0
        ready = [(now, i) for i in range(thread_n)]  # since when
        cpus = [None] * self.cpu_n  # (thread, since)
        last = [None] * thread_n  # the wait that is under way
        blocked = []  # heap of (wake time, thread, waker)
        for i, t in enumerate(threads):
            t['begin'] = now
            last[i] = dict(s=now, wake=None, preempted=True, cpu_from=0)
        until = [0] * self.cpu_n
        while True:
            ready.sort()
            for cpu in range(self.cpu_n):
                # A switch takes time: nobody comes back in the moment in which he left.
                if cpus[cpu] is None and ready and (ready[0][0] < now or now == 1000):
                    since, i = ready.pop(0)
                    if not self.come_on(threads[i], last[i], now, cpu):
                        threads[i]['begin'] = now if not threads[i]['runs'] else threads[i]['begin']
                    cpus[cpu] = (i, now)
                    until[cpu] = now + r.randint(1000, 200000)
            made = sum(len(t['waits']) for t in threads)
            if made >= wait_n:
                break
            times = [until[c] for c in range(self.cpu_n) if cpus[c] is not None] + ([blocked[0][0]] if blocked else [])
            if ready and None in cpus:
                times.append(now + 1)
            now = max(now + 1, min(times))
            while blocked and blocked[0][0] <= now:
                wake, i = heapq.heappop(blocked)
                runners = [c for c in cpus if c is not None and c[0] != i]
                waker = r.choice(runners)[0] if runners and r.random() < 0.6 else None
                last[i]['wake'] = now
                last[i]['waker'] = waker
                ready.append((now, i))
            for cpu in range(self.cpu_n):
                if cpus[cpu] is not None and until[cpu] <= now:
                    i, since = cpus[cpu]
                    threads[i]['runs'].append((since, now, cpu))
                    threads[i]['oncpu'] += now - since
                    preempted = r.random() < 0.3
                    last[i] = dict(s=now, wake=None, preempted=preempted, cpu_from=cpu)
                    if preempted:
                        ready.append((now, i))
                    else:
                        heapq.heappush(blocked, (now + r.randint(500, 400000), i))
                    cpus[cpu] = None
        self.finish(threads, cpus, last, now + 5000)

    def come_on(self, t, w, now, cpu):
        """The wait that ends now becomes an event. False: it had no length."""
        if now == w['s'] or not t['runs']:
            return False
        reason, kind = ('cpu', '') if w['preempted'] else self.random.choice(KINDS)
        e = dict(e='wait', rs=reason, p=t['op']['id'], s=w['s'], d=now, pid=t['pid'], tid=t['tid'], cpu_from=w['cpu_from'],
                 cpu_to=cpu, wait_kind=self.string(kind), ustack=self.random.choice([1, 2, 4, 5, 7, 8]),
                 kstack=self.random.choice([0, 3, 6, 9]))
        if w['preempted']:
            e.update(runnable_ns=now - w['s'], wake_ns=w['s'], task_state=0)
        else:
            e.update(blocked_ns=w['wake'] - w['s'], runnable_ns=now - w['wake'], wake_ns=w['wake'],
                     i=self.string('thing %d' % self.random.randrange(5)))
            if w.get('waker') is not None:
                o = self.threads[w['waker']]
                e.update(waker_pid=o['pid'], waker_tid=o['tid'], waker_ctx=self.string('task'))
            else:
                e.update(waker_ctx=self.string('timer'))
        e = {k: v for k, v in e.items() if v or k in ('s', 'd', 'cpu_from', 'cpu_to', 'wake_ns')}
        t['waits'].append(e)
        return True

    def finish(self, threads, cpus, last, end):
        on = {c[0]: (c[1], n) for n, c in enumerate(cpus) if c is not None}
        for i, t in enumerate(threads):
            if i in on:
                t['runs'].append((on[i][0], end, on[i][1]))
                t['oncpu'] += end - on[i][0]
            else:
                w = last[i]
                reason = 'cpu' if w['preempted'] or not t['runs'] else 'lock'
                length = end - w['s']
                wake = w['wake'] if reason != 'cpu' and w['wake'] else None
                e = dict(e='wait', rs=reason, p=t['op']['id'], s=w['s'], d=end, pid=t['pid'], tid=t['tid'], clipped=2)
                if reason == 'cpu':
                    e.update(runnable_ns=length)
                elif wake:
                    e.update(blocked_ns=wake - w['s'], runnable_ns=end - wake, wake_ns=wake)
                else:
                    e.update(blocked_ns=length)
                if length:
                    t['waits'].append({k: v for k, v in e.items() if v or k in ('s', 'd')})
            t['begin'] = t['runs'][0][0] if t['runs'] else t['begin']
            t['end'] = end
            t['op']['s'], t['op']['d'] = t['begin'], end
        for p in self.processes:
            p['d'] = end
        self.end = end
        self.add_ops()
        self.add_samples()

    def add_ops(self):
        """On threads nested ones, as calls are; and of no thread, which overlap as they like."""
        r = self.random
        for t in self.threads:
            open_ops = [t['op']]
            for _ in range(12):
                parent = r.choice(open_ops)
                a = r.randint(parent['s'], parent['d'])
                b = r.randint(a, parent['d'])
                siblings = [o for o in open_ops if o is not t['op'] and not (o['d'] <= a or o['s'] >= b)]
                if any(not (o['s'] <= a and b <= o['d']) for o in siblings):
                    continue
                within = min(siblings, key=lambda o: o['d'] - o['s'], default=parent)
                open_ops.append(self.op(k='call', w='engine', o='executed', p=within['id'], c=self.string(r.choice(NAMES)),
                                        s=a, d=b, pid=t['pid'], tid=t['tid']))
        roots = []
        for _ in range(30):
            parent = r.choice(roots) if roots and r.random() < 0.6 else None
            a = r.randint(parent['s'], parent['d']) if parent else r.randint(0, self.end)
            b = r.randint(a, parent['d'] if parent else self.end)
            roots.append(self.op(k='lazy', w='engine', o='error' if r.random() < 0.2 else 'ok', p=parent['id'] if parent else 0,
                                 c=self.string('loose'), cl=self.string('client'), s=a, d=b))

    def add_samples(self):
        self.samples = []
        for t in self.threads:
            moments = sorted(self.random.randrange(a, b) for a, b, _ in t['runs'] for _ in range(self.random.randint(0, 2)) if b > a)
            for k, stack in enumerate([1, 5]):
                at = moments[k::2]
                if at:
                    self.samples.append(dict(e='sample', pid=t['pid'], tid=t['tid'], begin_ns=t['begin'], ustack=stack,
                                             samples=len(at), at=at))

    def merge(self):
        """Some waits become one with the next, as one system call that was woken in vain: the run between is within it."""
        for t in self.threads:
            out = []
            for w in t['waits']:
                before = out[-1] if out else None
                if before and 'wake_ns' in w and 'wake_ns' in before and 'cpu' not in (w['rs'], before['rs']) and \
                        self.random.random() < 0.4:
                    before.update({k: before.get(k, 0) + w.get(k, 0) for k in ('blocked_ns', 'runnable_ns')},
                                  oncpu_ns=before.get('oncpu_ns', 0) + w['s'] - before['d'], d=w['d'], wake_ns=w['wake_ns'],
                                  cpu_to=w['cpu_to'])
                    for k in ('waker_pid', 'waker_tid', 'waker_ctx'):
                        before.pop(k, None)
                        before.update({k: w[k]} if k in w else {})
                else:
                    out.append(w)
            t['waits'] = out

    def write(self, path):
        threads = []
        for t in self.threads:
            blocked = sum(w.get('blocked_ns', 0) for w in t['waits'])
            runnable = sum(w.get('runnable_ns', 0) for w in t['waits'])
            assert t['end'] - t['begin'] == t['oncpu'] + blocked + runnable, t['tid']
            threads.append(dict(e='thread', pid=t['pid'], tid=t['tid'], comm=t['comm'], op=t['op']['id'], begin_ns=t['begin'],
                                end_ns=t['end'], oncpu_ns=t['oncpu'], runnable_ns=runnable, blocked_ns=blocked, lost_ns=0,
                                clipped=3))
        events = self.events + threads + self.samples + [w for t in self.threads for w in t['waits']]
        header = dict(schema_version=1, epoch_unix_nano=1700000000000000000, dumped_unix_nano=1700000000000000000 + self.end,
                      dropped_events=0, event_count=len(events), strings=self.string.list,
                      wcbpf=dict(version='0', host='h', kernel='6.1.0 x86_64', cpus=self.cpu_n, sample_hz=99))
        with open(path, 'w', encoding='utf-8') as f:
            for line in [header] + events:
                f.write(json.dumps(line, ensure_ascii=False, separators=(',', ':')) + '\n')
