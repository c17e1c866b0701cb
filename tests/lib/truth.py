# SPDX-License-Identifier: (LGPL-2.1 OR BSD-2-Clause)
"""The workloads' own account of their waits (tests/workloads/lib.h), and its comparison with a recording."""
import re

MS = 1000000

# kind of truth: accepted wait_kinds (None: the formats fix no word), accepted reasons, shortest sure wait in ns
KINDS = {
    'mutex': ({'mutex'}, {'lock'}, MS),
    'pi_mutex': ({'pi_mutex'}, {'lock'}, MS),
    'rwlock': ({'rwlock'}, {'lock'}, MS),
    'condvar': ({'condvar'}, {'sync'}, MS),
    'semaphore': ({'semaphore'}, {'sync'}, MS),
    'barrier': ({'barrier'}, {'sync'}, MS),
    'join': ({'join'}, {'sync'}, MS),
    'futex': (None, {'sync', 'lock', 'other'}, MS),
    'pipe': ({'pipe'}, {'io'}, MS),
    'socket': ({'socket', 'accept', 'connect'}, {'io'}, MS),
    'fsync': ({'fsync'}, {'io'}, MS // 10),
    'eventfd': ({'eventfd'}, {'io', 'sync', 'poll'}, MS),
    'timerfd': ({'timerfd'}, {'sleep', 'io'}, MS),
    'poll': ({'poll', 'select'}, {'poll'}, MS),
    'epoll': ({'epoll'}, {'poll'}, MS),
    'child': ({'child'}, {'exec'}, MS),
    'sleep': ({'sleep'}, {'sleep'}, MS // 2),
    'fault': (None, {'fault'}, MS // 20),
    'stopped': (None, {'stopped'}, MS),
}
# how a wait ended is read from the futex call's result; of other calls it may be left out, but never be wrong
FUTEX_KINDS = {'mutex', 'pi_mutex', 'rwlock', 'condvar', 'semaphore', 'barrier', 'futex'}
NOISE_NS = 5 * MS       # blocked time of another kind that a thread may have had besides: page faults, allocation


class Truth:
    def __init__(self, text):
        self.waits, self.threads, self.facts, self.clock = [], {}, {}, None
        for line in text.splitlines():
            words = line.split()
            if not words or not all('=' in w for w in words[1:]):
                continue
            fields = dict(w.split('=', 1) for w in words[1:])
            for k, v in fields.items():
                if re.fullmatch(r'-?\d+|0x[0-9a-f]+', v) and k not in ('comm', 'path', 'name'):
                    fields[k] = int(v, 0)
            if words[0] == 'wait':
                self.waits.append(fields)
            elif words[0] == 'thread':
                self.threads[fields['tid']] = fields
            elif words[0] == 'clock':
                self.clock = fields
            else:
                self.facts.setdefault(words[0], []).append(fields)

    def fact(self, word, key):
        return self.facts[word][0][key]

    def offset_ns(self, rec):
        """CLOCK_MONOTONIC of the recording's relative time 0."""
        if rec.offset_ns is not None:
            return rec.offset_ns
        return self.clock['monotonic'] - (self.clock['realtime'] - rec.header['epoch_unix_nano'])


class Comparison:
    def __init__(self, truth, rec, slack_ns, loose=False):
        self.truth, self.rec, self.slack_ns, self.loose = truth, rec, slack_ns, loose
        self.problems, self.start_errors, self.end_errors, self.pairs = [], [], [], []
        self.offset_ns = truth.offset_ns(rec)

    def run(self, ignore=()):
        """Pairs each wait of the truth with one of the dump; what has no partner on either side is a problem."""
        taken = set()
        for t in self.truth.waits:
            found = [w for w in self.rec.of_tid(t['tid']) if self._overlap(t, w) and self._same_kind(t, w)
                     and id(w) not in taken]
            length = t['end'] - t['start']
            if not found:
                if length >= KINDS[t['kind']][2] and self._must_block(t):
                    self.problems.append('not found: %s; there: %s' % (self._show(t), self._near(t)))
                continue
            def overlap(w):
                return min(w.end, t['end'] - self.offset_ns) - max(w.start, t['start'] - self.offset_ns)
            best = max(found, key=overlap)
            # A neighbour within the slack is no second wait: one that lies in the call for its greater part is.
            inside = [w for w in found if 2 * overlap(w) > min(w.end - w.start, length)]
            # Where clocks are off by ms a short one at an edge is the call's before, or the next one's.
            if self.loose:
                inside = [w for w in inside if w is best or 10 * (w.end - w.start) > length]
            if len(inside) > 1:
                self.problems.append('%d waits for one call: %s: %s' % (len(inside), self._show(t), inside))
            # ... and that neighbour stays free for the call that it belongs to.
            taken.update(id(w) for w in found if w is best or 2 * overlap(w) > w.end - w.start)
            self.pairs.append((t, best))
            self._times(t, best)
            self._facts(t, best)
        self._invented(taken, set(ignore))
        return self

    def _must_block(self, t):
        """A timer of a millisecond may fire before a delayed thread has gone to sleep: no wait then."""
        asked_ns = t.get('ms', 0) * MS + t.get('us', 0) * 1000
        return not 0 < asked_ns < 5 * MS

    def _overlap(self, t, w):
        return w.start + self.offset_ns < t['end'] and w.end + self.offset_ns > t['start']

    def _same_kind(self, t, w):
        kinds, reasons, _ = KINDS[t['kind']]
        return w.reason in reasons and (kinds is None or w.kind in kinds)

    def _near(self, t):
        near = [w for w in self.rec.of_tid(t['tid']) if self._overlap(t, w)]
        return ', '.join('%s/%s %s..%s ms' % (w.reason, w.kind, w.start // MS, w.end // MS) for w in near[:4]) \
            or 'nothing'

    def _show(self, t):
        return '%s of tid %d at %.3f for %.3f ms' % (t['kind'], t['tid'], (t['start'] - self.offset_ns) / MS,
                                                     (t['end'] - t['start']) / MS)

    def _times(self, t, w):
        start = w.start + self.offset_ns - t['start']
        end = t['end'] - (w.end + self.offset_ns)
        early = -self.slack_ns if self.loose else -20000
        if not early <= start <= self.slack_ns or not early <= end <= self.slack_ns:
            self.problems.append('%s: the dump begins %d us after and ends %d us before'
                                 % (self._show(t), start // 1000, end // 1000))
        if not self.loose:
            self.start_errors.append(start)
            self.end_errors.append(end)

    def _facts(self, t, w):
        def expect(what, ok, got):
            if not ok:
                self.problems.append('%s: %s, got %r' % (self._show(t), what, got))

        if 'addr' in t:
            found = [int(x, 16) for x in re.findall(r'0x([0-9a-f]+)', w.ident or '')]
            ranges = [(t['addr'], t['size'])] + ([(t['addr2'], 4)] if 'addr2' in t else [])
            expect('the futex is 0x%x' % t['addr'], any(a <= x < a + n for x in found for a, n in ranges), w.ident)
        if 'owner' in t:
            expect('the owner is %d' % t['owner'], w.owner_tid == t['owner'], w.owner_tid)
        if t.get('waker'):
            net = t['kind'] == 'socket' and w.ctx == 'net'
            expect('woken by %d' % t['waker'], net or w.waker_tid == t['waker'], '%s %s' % (w.ctx, w.waker_tid))
            expect('the waker is a task', net or w.ctx == 'task', w.ctx)
        if 'ctx' in t:
            # On some hosts a wake can hide from every tracepoint: then it is unknown, and counted.
            hidden = w.ctx == 'unknown' and self.rec.integrity.get('unmatched_wakes')
            expect('woken by a %s' % t['ctx'], w.ctx == t['ctx'] or hidden, w.ctx)
        if 'outcome' in t:
            sure = t['kind'] in FUTEX_KINDS
            expect('ended as %s' % t['outcome'], w.outcome == t['outcome'] or not (sure or w.outcome), w.outcome)
        if t.get('ino'):
            expect('pipe %d' % t['ino'], str(t['ino']) in (w.ident or ''), w.ident)
        if t.get('port'):
            ends = ['127.0.0.1:%d' % port for port in (t['port'], t.get('peer', 0)) if port]
            expect('one of %s' % ends, any(end in (w.ident or '') for end in ends), w.ident)
        if t.get('name'):
            expect('socket %s' % t['name'], t['name'] in (w.ident or ''), w.ident)
        if 'path' in t and t['kind'] == 'fsync':
            expect('file %s' % t['path'], t['path'].rsplit('/', 1)[1] in (w.ident or ''), w.ident)
        self._targets(t, w, expect)

    def _targets(self, t, w, expect):
        if t['kind'] == 'child' and 'child' in t:
            op = self.rec.process_op(t['child'])
            expect('the target is the exec op of %d' % t['child'], op and w.target == op.id, w.target)
        elif t['kind'] == 'join' and t.get('joined'):
            op = self.rec.thread_op(t['joined'])
            expect('the target is the op of thread %d' % t['joined'], op and w.target == op.id, w.target)

    def _began_ns(self, tid):
        """Before its first instruction (exec, loader) a thread may wait for what the workload knows nothing of."""
        return self.truth.threads[tid]['begin'] if tid in self.truth.threads else 0

    def _invented(self, taken, ignore):
        kinds = {t['kind'] for t in self.truth.waits} - ignore
        words = set().union(*[KINDS[k][0] or set() for k in kinds]) if kinds else set()
        tids = set(self.truth.threads) | {t['tid'] for t in self.truth.waits}
        for w in self.rec.waits:
            if w.tid not in tids or id(w) in taken or w.end + self.offset_ns < self._began_ns(w.tid):
                continue
            if w.kind in words:
                self.problems.append('no such wait was made: %r' % w)
            elif w.blocked >= NOISE_NS and w.reason not in ignore:
                self.problems.append('nothing of the kind was waited for: %r' % w)


def check_threads(truth, rec, slack_ns):
    """Lifetimes, CPU time and switches of the workload's threads, as the kernel itself counted them."""
    problems = []
    for tid, t in truth.threads.items():
        got = rec.thread(tid)
        if not got:
            problems.append('thread %d has no totals' % tid)
            continue
        life = t['end'] - t['begin']
        if got.end - got.begin < life - MS:
            problems.append('thread %d lived at least %d ns, the totals cover %d' % (tid, life, got.end - got.begin))
        # schedstat of a running thread lags by up to a tick; a main thread's also counts from before its exec
        margin = life * 0.02 + slack_ns + 10 * MS
        for what in ('oncpu', 'runnable'):
            more = getattr(got, what) - t[what]
            if more > margin or (more < -margin and tid != got.pid):
                problems.append('thread %d: %s for %d ns by schedstat, %d by the totals'
                                % (tid, what, t[what], getattr(got, what)))
    return problems
