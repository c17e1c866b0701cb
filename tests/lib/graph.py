# SPDX-License-Identifier: (LGPL-2.1 OR BSD-2-Clause)
"""Compares two wcprof dumps of one run as graphs: a program's own record, and what a tracer saw from outside.

An op is known by kind, class, ident and client, and by those of its ancestors: that must be one op, or the comparison
is refused. Ops that a tracer makes of what the kernel tells (processes, threads, goroutines, their phases) are none of
the program's own: they are looked through. Waits are equal if the op that waits, what it waits for (an op or a named
resource) and the reason are; which of several equal ones is which follows from their order. Two things a program can't
know of its own waits: whether the op that a wait is for was over before it began (on two threads at once), so a tracer
may leave out such a target; and whether it really blocked for a lock that it found taken.

What the kernel tells of waiting beside (a thread slept, a futex was contended) is not compared, but for one thing: no
piece of a wait may be listed a second time.
"""
import re

import check_dump

ENGINE_REASONS = {'call_exec', 'singleflight', 'lazy', 'service'}
OVER_NS = 100000        # what ends within this before or behind a wait's begin may have been over then
KERNEL_REASONS = {'sync', 'sleep', 'poll', 'cpu', 'fault', 'stopped', 'signal', 'lock', 'other'}
PROCESS = re.compile(r'^\d+:\d+$')


class Op:
    def __init__(self, **fields):
        self.__dict__.update(fields)

    def own(self):
        return (self.kind, self.cls, self.ident, self.client)

    def __str__(self):
        return ' '.join(x for x in (self.kind, self.cls, self.ident, self.client and '(' + self.client + ')') if x)


class Wait(Op):
    def __str__(self):
        return 'wait of %s ns, reason %s' % (self.end - self.start, self.reason)


def made_by_kernel(op):
    """A process, thread or goroutine, or a phase of one, as wcbpf makes them."""
    if op.kind == 'exec':
        return bool(PROCESS.match(op.ident)) and op.ident == op.client
    if op.kind == 'internal':
        return bool(re.match(r'^(tid|goid):\d+', op.ident))
    return op.kind == 'exec_phase' and not op.ident and not op.client


class Graph:
    """One dump. Times are Unix ns less clock_ns: CLOCK_MONOTONIC, if that is what the one is ahead of the other."""

    def __init__(self, path, clock_ns=0, machine=made_by_kernel):
        self.errors, header, events = check_dump.check(path)
        self.ops, self.waits, self.links = {}, [], []
        if not header:
            return
        self.strings, self.dropped = header['strings'], header['dropped_events']
        self.begin_ns = header['epoch_unix_nano'] - clock_ns
        self.end_ns = header['dumped_unix_nano'] - header['epoch_unix_nano']
        for o in header.get('open_ops', []):
            self._op(o['op_id'], o['kind'], o.get('parent_id', 0), o['start_ns'], self.end_ns, None,
                     [o.get(k, 0) for k in ('class_id', 'ident_id', 'client_id')], o, is_open=True)
        for e in events:
            if e['e'] == 'op':
                self._op(e['id'], e['k'], e.get('p', 0), e['s'], e['d'], e.get('o'),
                         [e.get(k, 0) for k in ('c', 'i', 'cl')], e)
            elif e['e'] == 'wait':
                self.waits.append(Wait(op=e.get('p', 0), target=e.get('t', 0), resource=self.strings[e.get('i', 0)],
                                       reason=e['rs'], start=self.begin_ns + e['s'], end=self.begin_ns + e['d'],
                                       strand=(e.get('pid'), e.get('goid') or -e.get('tid', 0)), raw=e))
            elif e['e'] == 'link':
                self.links.append(Op(kind=e['lk'], op=e.get('p', 0), to=e.get('t', 0), cls='', client='',
                                     ident=self.strings[e.get('i', 0)]))
        self.off_cpu = {}       # by thread or goroutine: when it was ready, and did not run
        for w in self.waits:
            if w.reason == 'cpu':
                self.off_cpu.setdefault(w.strand, []).append((w.start, w.end))
        for op in self.ops.values():
            op.machine = machine(op)
        for op in self.ops.values():
            op.path = self._path(op)

    def _op(self, number, kind, parent, start, end, outcome, strings, raw, is_open=False):
        cls, ident, client = (self.strings[i] for i in strings)
        self.ops[number] = Op(id=number, kind=kind, parent=parent, start=self.begin_ns + start, end=self.begin_ns + end,
                              outcome=outcome, cls=cls, ident=ident, client=client, raw=raw, open=is_open)

    def above(self, number):
        """The nearest op of the program's own, from this one upwards; None."""
        while number and self.ops[number].machine:
            number = self.ops[number].parent
        return self.ops[number] if number else None

    def _path(self, op):
        path = []
        while op:
            path.append(op.own())
            op = self.above(op.parent)
        return tuple(reversed(path))

    def only(self, kind, cls, name):
        """Leaves out all that is not of an op with that ident or client, nor below one; waits for it have no target."""
        def within(op):
            while op and not (op.kind == kind and op.cls == cls and name in (op.ident, op.client)):
                op = self.above(op.parent)
            return op is not None

        kept = {number for number, op in self.ops.items() if within(op)}
        self.waits = [w for w in self.waits if w.op in kept]
        self.links = [link for link in self.links if link.op in kept]
        for w in self.waits:
            w.target = w.target if w.target in kept else 0
        self.ops = {number: op for number, op in self.ops.items() if number in kept}
        for op in self.ops.values():
            op.parent = op.parent if op.parent in kept else 0
        for op in self.ops.values():
            op.path = self._path(op)
        return self

    def ran_ns(self, op, start, end):
        """How long what does the op was not kept from running between the two."""
        strand = (op.raw.get('pid'), op.raw.get('goid') or -op.raw.get('tid', 0))
        return end - start - sum(max(0, min(b, end) - max(a, start)) for a, b in self.off_cpu.get(strand, []))

    def own_ops(self):
        return [op for op in self.ops.values() if not op.machine]


def parent_text(graph, op):
    up = graph.above(op.parent)
    return str(up) if up else 'none'


class Comparison:
    """differences: all of them, in words. start_errors, end_errors (of ops), wait_errors: ns, tracer's less program's.
    start_apart, end_apart: how far they are apart, ns, less what kept the thread from running between the two clocks"""

    def __init__(self, truth, traced, tolerance_ns, resources=(), reasons=frozenset(), loaded=False):
        """resources: names of locks that the program has beside those in its record. reasons: of waits for named
        resources that are compared too, beside lock. loaded: waits for a lock in which the tracer saw no blocking may
        be missing: on a busy machine the lock is dropped before its waiter has got to waiting."""
        self.loaded = loaded
        self.truth, self.traced, self.tolerance_ns = truth, traced, tolerance_ns
        self.resources = set(resources) | {w.resource for w in truth.waits if not w.target and w.resource}
        self.reasons = {'lock'} | set(reasons)
        self.differences, self.start_errors, self.end_errors, self.wait_errors = [], [], [], []
        self.start_apart, self.end_apart = [], []
        self.op_n = self.wait_n = self.link_n = 0

    def wrong(self, text, *args):
        self.differences.append(text % args if args else text)

    def run(self):
        for name, graph in (('the program\'s', self.truth), ('the traced', self.traced)):
            for e in graph.errors:
                self.wrong('%s dump: %s', name, e)
            if graph.ops and graph.dropped:
                self.wrong('%s dump has dropped %d events', name, graph.dropped)
        if not self.truth.ops:
            self.wrong('no op in the program\'s own dump')
        if self.differences:
            return self
        self._ops()
        self._waits()
        self._links()
        self._twice()
        return self

    # -- ops

    def _by_path(self, graph, name):
        found = {}
        for op in graph.own_ops():
            found.setdefault(op.path, []).append(op)
        for ops in found.values():
            if len(ops) > 1:
                self.wrong('ambiguous: %d times in %s dump, below %s: %s', len(ops), name, parent_text(graph, ops[0]),
                           ops[0])
        return {path: ops[0] for path, ops in found.items()}

    def _ops(self):
        want = self._by_path(self.truth, 'the program\'s')
        got = self._by_path(self.traced, 'the traced')
        strangers = {}
        for path in got.keys() - want.keys():
            strangers.setdefault(path[-1], []).append(got[path])
        self.op_n = len(want)
        for path, op in sorted(want.items()):
            if path in got:
                self._op(op, got[path])
                continue
            elsewhere = strangers.get(path[-1])
            if elsewhere:
                other = elsewhere.pop()
                if path[:-1] in got or other.path[:-1] in want:         # else: said of an ancestor
                    self.wrong('parent of %s: %s, traced %s', op, parent_text(self.truth, op),
                               parent_text(self.traced, other))
            else:
                self._missing(op, strangers)
        for ops in strangers.values():
            for op in ops:
                self.wrong('invented: op %s below %s', op, parent_text(self.traced, op))

    def _missing(self, op, strangers):
        """An op that isn't there; or is, but called otherwise."""
        for own, ops in strangers.items():
            for other in ops:
                if other.path[:-1] == op.path[:-1] and sum(a == b for a, b in zip(own, op.own())) == 3:
                    ops.remove(other)
                    self.wrong('called otherwise: %s, traced %s', op, other)
                    return
        self.wrong('missing: op %s below %s', op, parent_text(self.truth, op))

    def _op(self, want, got):
        if want.outcome != got.outcome:
            self.wrong('outcome of %s: %s, traced %s', want, want.outcome, got.outcome)
        if want.open != got.open:
            self.wrong('%s is %s, traced %s', want, *('open' if x.open else 'ended' for x in (want, got)))
        self._times('op %s' % want, want, got, self.start_errors, self.end_errors)
        for a, b, apart in ((want.start, got.start, self.start_apart), (want.end, got.end, self.end_apart)):
            apart.append(self.traced.ran_ns(got, min(a, b), max(a, b)))

    def _times(self, what, want, got, starts, ends):
        starts.append(got.start - want.start)
        ends.append(got.end - want.end)
        for word, error in (('begins', starts[-1]), ('ends', ends[-1])):
            if abs(error) > self.tolerance_ns:
                self.wrong('%s %s %.1f us too %s', what, word, abs(error) / 1000, 'late' if error > 0 else 'early')

    # -- waits

    def _for(self, graph, w):
        """What it waits for: an op of the program's own, by path, or a named resource; None: neither."""
        target = graph.ops.get(w.target)
        if target and w.reason in KERNEL_REASONS and w.raw.get('waker_op') == w.target:
            return None     # of the kernel's locks, say: for who woke it, whose op ended then
        if target:
            return None if target.machine else target.path
        if w.reason in self.reasons and w.resource in self.resources:
            return w.resource
        return '' if w.reason in ENGINE_REASONS else None

    def _by_edge(self, graph):
        found = {}
        for w in graph.waits:
            to = self._for(graph, w)
            if to is not None:
                up = graph.above(w.op)
                found.setdefault((up.path if up else (), to), []).append(w)
        for waits in found.values():
            waits.sort(key=lambda w: w.start)
        return found

    @staticmethod
    def _edge_text(edge):
        words = [' '.join(x for x in part[-1] if x) if isinstance(part, tuple) and part else part or 'nothing known'
                 for part in edge]
        return '%s for %s' % tuple(words)

    def _waits(self):
        want, got = self._by_edge(self.truth), self._by_edge(self.traced)
        self.wait_n = sum(len(x) for x in want.values())
        # Those for nothing known at last: some of the others may be found there.
        for edge in sorted(want.keys() | got.keys(), key=lambda e: (e[1] == '', repr(e))):
            a, b = want.get(edge, []), got.get(edge, [])
            if len(a) > len(b):
                a = self._without_excused(edge, a, b, got.get((edge[0], ''), []))
            if len(a) != len(b):
                self.wrong('%s: wait of %s: %d, traced %d', 'missing' if len(a) > len(b) else 'invented',
                           self._edge_text(edge), len(a), len(b))
            for x, y in zip(a, b):
                if x.reason != y.reason:
                    self.wrong('reason of the wait of %s: %s, traced %s', self._edge_text(edge), x.reason, y.reason)
                errors = []
                self._times('wait of ' + self._edge_text(edge), x, y, errors, errors)
                self.wait_errors += errors

    def _without_excused(self, edge, a, b, unknown):
        """a without waits that may be missing from the traced b; unknown: b's of this waiter for nothing known."""
        kept = list(a)
        for w in a:
            if len(kept) == len(b):
                break
            target = self.truth.ops.get(w.target)
            # Over before the wait, or begun behind it, so known to nobody then: the recorder looks when all is over.
            if target and (target.end < w.start + OVER_NS or target.start > w.end):
                alike = [u for u in unknown if u.reason == w.reason]
                if alike:
                    unknown.remove(alike[0])
                if alike or w.reason not in ENGINE_REASONS:
                    kept.remove(w)
            elif not target and self.loaded and not any(x.start < w.end and w.start < x.end for x in b) and \
                    not self._blocked(edge[0], w):
                kept.remove(w)
        return kept

    def _blocked(self, path, w):
        """Did the tracer see the waiter blocked within w?"""
        strands = {(op.raw.get('pid'), op.raw.get('goid') or -op.raw.get('tid', 0))
                   for op in self.traced.own_ops() if op.path == path}
        return any(x.strand in strands and x.start < w.end and w.start < x.end and x.raw.get('blocked_ns')
                   for x in self.traced.waits)

    def _twice(self):
        """No other wait of the same strand lies within one that is compared."""
        strands = {}
        for w in self.traced.waits:
            strands.setdefault(w.strand, []).append(w)
        for waits in strands.values():
            waits.sort(key=lambda w: (w.start, -w.end))
            for i, w in enumerate(waits):
                if self._for(self.traced, w) is None:
                    continue
                for other in waits[max(0, i - 1):i] + waits[i + 1:i + 2]:
                    if other.start < w.end and w.start < other.end:
                        up = self.traced.above(w.op)
                        self.wrong('twice: a wait of %s (%s) lies within another (%s)', up, other.reason, w.reason)

    # -- links

    def _hosts(self, graph):
        """(path of the exec op that hosts it, pid) of each nested process that the program's own ops host."""
        found = set()
        for link in graph.links:
            op = graph.above(link.op)
            while op and op.kind != 'exec':
                op = graph.above(op.parent)
            if link.kind == 'nested_client' and op:
                found.add((op.path, link.ident.split(':')[0]))
        return found

    def _links(self):
        want, got = self._hosts(self.truth), self._hosts(self.traced)
        self.link_n = len(want)
        for sign, links in (('missing', want - got), ('invented', got - want)):
            for path, pid in sorted(links):
                self.wrong('%s: link from %s to process %s', sign, ' '.join(x for x in path[-1] if x), pid)


def percentile(values, p):
    values = sorted(abs(v) for v in values)
    return values[min(len(values) - 1, int(len(values) * p / 100))] if values else 0


def figure(c):
    """One line of what was compared and how far the times differ: in all, and by what isn't others' turn on the CPU."""
    parts = ['%d ops, %d waits, %d links' % (c.op_n, c.wait_n, c.link_n)]
    for what, values, apart in (('starts', c.start_errors, c.start_apart), ('ends', c.end_errors, c.end_apart),
                                ('waits', c.wait_errors, ())):
        parts.append('%s p50 %.1f us p99 %.1f us' % (what, percentile(values, 50) / 1000,
                                                     percentile(values, 99) / 1000))
        if apart:
            parts[-1] += ' (running %.1f us)' % (percentile(apart, 99) / 1000)
    return ', '.join(parts)
