# SPDX-License-Identifier: (LGPL-2.1 OR BSD-2-Clause)
"""A Perfetto trace, decoded by protoc and read as Perfetto's trace processor reads it."""

import collections
import os
import shutil
import subprocess

HERE = os.path.dirname(os.path.abspath(__file__))
# Times that the scheduler's events tell of threads: prev_state of sched_switch.
PREEMPTED = 0x100


def available():
    return shutil.which('protoc') is not None


def unescape(text):
    """A quoted string of protobuf's text format: C's escapes, octal bytes."""
    out = bytearray()
    simple = {'n': 10, 'r': 13, 't': 9, '"': 34, "'": 39, '\\': 92, 'a': 7, 'b': 8, 'f': 12, 'v': 11}
    i = 0
    while i < len(text):
        c = text[i]
        if c != '\\':
            out += c.encode()
            i += 1
        elif text[i + 1] in simple:
            out.append(simple[text[i + 1]])
            i += 2
        else:
            out.append(int(text[i + 1:i + 4], 8))
            i += 4
    return bytes(out)


def value(text):
    if text.startswith('"'):
        return unescape(text[1:-1])
    try:
        return int(text, 0)
    except ValueError:
        return text


def decode(path):
    """Messages as dicts of lists, by protoc."""
    with open(path, 'rb') as f:
        r = subprocess.run(['protoc', '-I', HERE, '--decode=Trace', 'perfetto.proto'], stdin=f, capture_output=True)
    if r.returncode:
        raise ValueError('protoc: ' + r.stderr.decode())
    root = collections.defaultdict(list)
    path = [root]
    for line in r.stdout.decode().split('\n'):
        line = line.strip()
        if line.endswith(' {'):
            message = collections.defaultdict(list)
            path[-1][line[:-2]].append(message)
            path.append(message)
        elif line == '}':
            path.pop()
        elif line:
            name, _, text = line.partition(': ')
            path[-1][name].append(value(text))
    return root


def unknown_fields(message, where=''):
    found = []
    for name, values in message.items():
        if name.isdigit():
            found.append('%s: field %s is not of the schema' % (where or 'trace', name))
        for v in values:
            if isinstance(v, dict):
                found += unknown_fields(v, name)
    return sorted(set(found))


class Trace:
    def __init__(self, path):
        self.root = decode(path)
        self.problems = unknown_fields(self.root)
        self.packets = self.root['packet']
        self.tracks = {}
        self.interned = {k: {} for k in ('event_categories', 'event_names', 'debug_annotation_names', 'function_names', 'frames',
                                         'callstacks', 'build_ids', 'mapping_paths', 'mappings', 'debug_annotation_string_values')}
        self.slices = []   # (track, start, end, name, category, annotations, stack)
        self.flows = []    # (flow, time, track, begins)
        self.samples = []
        self.switches = collections.defaultdict(list)  # by cpu
        self.wakings = []
        self.read()

    def complain(self, text):
        if len(self.problems) < 20:
            self.problems.append(text)

    def read(self):
        events = []
        started = False
        for n, p in enumerate(self.packets):
            if 'ftrace_events' in p:
                self.ftrace(p['ftrace_events'][0])
                continue
            if p['trusted_packet_sequence_id'] != [1] or p['timestamp_clock_id'] != [6] or 'timestamp' not in p:
                self.complain('packet %d: no sequence, clock or time' % n)
            if p['sequence_flags'] != [2 if started else 1]:
                self.complain('packet %d: sequence_flags %s' % (n, p['sequence_flags']))
            started = True
            for entry in p.get('interned_data', []):
                self.intern(entry)
            if 'track_descriptor' in p:
                t = p['track_descriptor'][0]
                if not t['uuid'] or t['uuid'][0] in self.tracks or (t['parent_uuid'] and t['parent_uuid'][0] not in self.tracks):
                    self.complain('track %s: no uuid, told twice, or under one that is not there' % t['uuid'])
                self.tracks[t['uuid'][0]] = t
            if 'track_event' in p:
                # Interned data counts from its packet on: what an event refers to has to be there now.
                events.append((p['timestamp'][0], n, p['track_event'][0], self.resolve(p['track_event'][0])))
            if 'perf_sample' in p:
                s = p['perf_sample'][0]
                self.samples.append((p['timestamp'][0], s['tid'][0], self.stack(s['callstack_iid'][0]) if s['callstack_iid'] else []))
        self.nest(events)

    def intern(self, entry):
        for kind, values in entry.items():
            for v in values:
                if v['iid'][0] in self.interned[kind] or v['iid'][0] == 0:
                    self.complain('%s: iid %d again, or 0' % (kind, v['iid'][0]))
                self.interned[kind][v['iid'][0]] = v

    def text(self, kind, iid):
        if iid not in self.interned[kind]:
            self.complain('%s: iid %d is not there' % (kind, iid))
            return None
        v = self.interned[kind][iid]
        return (v['name'] or v['str'])[0].decode()

    def stack(self, iid):
        names = []
        if iid not in self.interned['callstacks']:
            self.complain('callstack %d is not there' % iid)
            return names
        for frame in self.interned['callstacks'][iid]['frame_ids']:
            f = self.interned['frames'].get(frame)
            if f is None or f['mapping_id'][0] not in self.interned['mappings']:
                self.complain('frame %d of a stack, or its mapping, is not there' % frame)
                continue
            m = self.interned['mappings'][f['mapping_id'][0]]
            for path in m['path_string_ids']:
                self.text('mapping_paths', path)
            for build_id in m['build_id']:
                self.interned['build_ids'].get(build_id) or self.complain('build id %d is not there' % build_id)
            names.append(self.text('function_names', f['function_name_id'][0]))
        return names

    def resolve(self, e):
        out = {'name': None, 'category': None, 'args': {}, 'stack': None}
        if e['name_iid']:
            out['name'] = self.text('event_names', e['name_iid'][0])
        if e['category_iids']:
            out['category'] = self.text('event_categories', e['category_iids'][0])
        for a in e['debug_annotations']:
            key = self.text('debug_annotation_names', a['name_iid'][0])
            out['args'][key] = a['int_value'][0] if a['int_value'] else self.text('debug_annotation_string_values',
                                                                                 a['string_value_iid'][0])
        if e['callstack_iid']:
            out['stack'] = self.stack(e['callstack_iid'][0])
        return out

    def nest(self, events):
        """As the trace processor: by time, of equal times in the file's order; an end closes the innermost slice."""
        open_slices = collections.defaultdict(list)
        for time, _, e, r in sorted(events, key=lambda x: (x[0], x[1])):
            track = e['track_uuid'][0]
            if track not in self.tracks:
                self.complain('an event on a track that is not there')
            kind = e['type'][0]
            if kind == 'TYPE_SLICE_BEGIN':
                open_slices[track].append([time, r])
            elif kind == 'TYPE_SLICE_END':
                if not open_slices[track]:
                    self.complain('an end without a begin')
                    continue
                start, begun = open_slices[track].pop()
                self.slices.append(dict(track=track, start=start, end=time, depth=len(open_slices[track]), **begun))
            for flow in e['flow_ids']:
                self.flows.append((flow, time, track, True))
            for flow in e['terminating_flow_ids']:
                self.flows.append((flow, time, track, False))
        if any(open_slices.values()):
            self.complain('a slice that never ends')

    def ftrace(self, bundle):
        cpu = bundle['cpu'][0]
        for e in bundle['event']:
            if 'sched_switch' in e:
                s = {k: v[0] for k, v in e['sched_switch'][0].items()}
                self.switches[cpu].append((e['timestamp'][0], s))
            elif 'sched_waking' in e:
                self.wakings.append((e['timestamp'][0], e['pid'][0], e['common_flags'], e['sched_waking'][0]['pid'][0]))

    def thread_states(self):
        """
        Times by state of each tid, from the scheduler's events alone: {tid: {'running': ns, 'runnable': ns, 'sleeping': ns}},
        from its first event to its last one.
        """
        events = []
        for cpu, switches in self.switches.items():
            on = 0
            for time, s in switches:
                if s['prev_pid'] != on:
                    self.complain('CPU %d at %d: %d leaves, but %d was there' % (cpu, time, s['prev_pid'], on))
                on = s['next_pid']
                events += [(time, len(events), 'off', s['prev_pid'], s['prev_state']), (time, len(events) + 1, 'on', s['next_pid'], None)]
            if [t for t, _ in switches] != sorted(t for t, _ in switches):
                self.complain('CPU %d: events are not in the order of time' % cpu)
        events += [(time, 1 << 60, 'wake', tid, None) for time, _, _, tid in self.wakings]
        states = collections.defaultdict(lambda: dict(running=0, runnable=0, sleeping=0))
        now = {}
        for time, _, what, tid, state in sorted(events, key=lambda x: x[:2]):
            if not tid:
                continue
            if tid in now:
                states[tid][now[tid][0]] += time - now[tid][1]
            elif what == 'off':
                self.complain('tid %d leaves a CPU that it never came to' % tid)
            if what == 'wake' and tid in now and now[tid][0] == 'running':
                self.complain('tid %d is woken while it runs' % tid)
            now[tid] = ({'on': 'running', 'wake': 'runnable'}.get(what) or
                        ('runnable' if state in (0, PREEMPTED) else 'sleeping'), time)
        self.last = {tid: s for tid, s in now.items()}
        return states


def compare(trace, dump):
    """Against a dump that Maker made, or any whose threads are accounted for."""
    states = trace.thread_states()
    problems = trace.problems
    for t in dump.threads:
        if 'oncpu_ns' not in t:
            continue
        # A goroutine that is parked leaves its thread to others.
        all_waits = [w for w in dump.waits if w['tid'] == t['tid'] and not w.get('parked')]
        waits = [w for w in all_waits if not w.get('clipped', 0) & 2]
        got = states.get(t['tid'], dict(running=0, runnable=0, sleeping=0))
        # The last state of each thread lasts to the end, which no event tells.
        end = max((w['d'] for w in waits), default=t['begin_ns'])
        last_runs = trace.last.get(t['tid'], ('', 0))
        running = got['running'] + (dump.epoch + t['end_ns'] - last_runs[1] if last_runs[0] == 'running' else 0)
        sums = (running, sum(dump.runnable(w) for w in waits), sum(dump.blocked(w) for w in waits))
        # What of its time off the CPU is in no wait (below --min, lost) can only be shown as running.
        off = sum(dump.runnable(w) + dump.blocked(w) for w in all_waits)
        expected = t['oncpu_ns'] + t['lost_ns'] + t['blocked_ns'] + t['runnable_ns'] - off
        if running != expected:
            problems.append('tid %d: %d ns running, the dump has %d' % (t['tid'], running, expected))
        # Where it ran at once when woken, the wake is told a nanosecond before: two events can't have one order at one time.
        at_once = sum(1 for w in waits if not dump.runnable(w) and dump.blocked(w) > 1 and 'wake_ns' in w)
        open_ready = got['runnable'] - sums[1], got['sleeping'] - sums[2]
        if open_ready != (at_once, -at_once) and len(waits) == len(all_waits):
            problems.append('tid %d: runnable, sleeping %s off, until %d' % (t['tid'], open_ready, end))
    return problems
