#!/usr/bin/env python3
# SPDX-License-Identifier: (LGPL-2.1 OR BSD-2-Clause)
"""
The pictures in a headless Chromium: what its console says, what is drawn where, what mouse and keys do, how long a frame
of 100,000 intervals takes.

    pictures.py WCBPF [PART OF A TEST'S NAME] [--keep FOLDER]   (screenshots, to be looked at)
"""

import json
import os
import struct
import subprocess
import sys
import tempfile
import zlib

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path[:0] = [HERE, os.path.join(HERE, '..', 'check'), os.path.join(HERE, '..', 'lib')]

import browser
import dump
from tap import Tap

GOLDEN = os.path.join(HERE, '..', 'golden')


def expect(what, got, expected):
    return [] if got == expected else ['%s: %r, expected %r' % (what, got, expected)]


class Run:
    def __init__(self, wcbpf, folder, keep):
        self.wcbpf = wcbpf
        self.folder = folder
        self.keep = keep

    def picture(self, verb, path, *options):
        out = os.path.join(self.folder, {'flamegraph': 'x.svg', 'timeline': 'x.html'}[verb])
        subprocess.run([self.wcbpf, verb, '-q', '-o', out, *options, path], check=True, stdin=subprocess.DEVNULL, timeout=120)
        return out

    def shot(self, b, name):
        path = os.path.join(self.keep or self.folder, name + '.png')
        b.screenshot(path)
        return path

    def simulated(self, seed, **options):
        path = os.path.join(self.folder, 'sim%d.ndjson' % seed)
        made = dump.Maker(seed, **options)
        made.write(path)
        return path, made


def pixels(path):
    """A PNG of 8 bits a channel as rows of (r, g, b)."""
    with open(path, 'rb') as f:
        data = f.read()
    at, idat = 8, b''
    while at < len(data):
        n, kind = struct.unpack('>I4s', data[at:at + 8])
        if kind == b'IHDR':
            width, height, depth, color = struct.unpack('>IIBB', data[at + 8:at + 18])
            assert depth == 8 and color in (2, 6)
        elif kind == b'IDAT':
            idat += data[at + 8:at + 8 + n]
        at += 12 + n
    channels = 3 if color == 2 else 4
    raw, stride, rows, before = zlib.decompress(idat), width * channels, [], bytearray(width * channels)
    for y in range(height):
        kind, line = raw[y * (stride + 1)], bytearray(raw[y * (stride + 1) + 1:(y + 1) * (stride + 1)])
        for x in range(stride):
            a = line[x - channels] if x >= channels else 0
            b, c = before[x], before[x - channels] if x >= channels else 0
            if kind == 1:
                line[x] = (line[x] + a) & 255
            elif kind == 2:
                line[x] = (line[x] + b) & 255
            elif kind == 3:
                line[x] = (line[x] + (a + b) // 2) & 255
            elif kind == 4:
                p, q, r = abs(b - c), abs(a - c), abs(a + b - 2 * c)
                line[x] = (line[x] + (a if p <= q and p <= r else b if q <= r else c)) & 255
        rows.append([tuple(line[i:i + 3]) for i in range(0, stride, channels)])
        before = line
    return rows


CATEGORY = {'running': (0x4c, 0xaf, 0x50), 'lock': (0xe5, 0x39, 0x35), 'i/o': (0x3f, 0x51, 0xb5), 'sleep': (0x81, 0xb4, 0xe0)}


def timeline_draws(run, b):
    """app.ndjson, pixel by pixel: where its waits are known to be, there is their colour."""
    b.open(run.picture('timeline', os.path.join(GOLDEN, 'app.ndjson')))
    # The critical path would lie over them.
    b.evaluate('document.getElementById("path").click(); new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)))')
    problems = b.complaints()
    rows = pixels(run.shot(b, 'app'))
    at = b.evaluate('''(() => { const v = timeline.view, box = v.scroll.getBoundingClientRect();
        return timeline.data.actors.filter(a => a.thread).map(a => ({ tid: a.tid, y: box.top + a.y - v.scroll.scrollTop,
            xs: [0.05, 0.15, 0.55, 0.75, 1.65, 1.95].map(t => box.left + v.x(t * 1e9)) })) })()''')
    # Seconds: 101 waits for a lock 0.1 to 0.4 and from 1.9 on, 103 for the disk 0 to 0.2 and for epoll 0.7 to 1.7, ...
    expected = {101: {0.05: 'running', 0.15: 'lock', 0.55: 'running', 1.95: 'lock'},
                102: {0.15: 'running', 0.55: 'lock', 0.75: 'running'},
                103: {0.05: 'i/o', 0.15: 'i/o'},
                100: {1.65: 'sleep', 1.95: 'running'}}
    for line in at:
        for t, x in zip([0.05, 0.15, 0.55, 0.75, 1.65, 1.95], line['xs']):
            if t in expected[line['tid']]:
                got = rows[round(line['y']) + 12][round(x)]
                problems += expect('tid %d at %.2f s' % (line['tid'], t), got, CATEGORY[expected[line['tid']][t]])
    return problems


def timeline_sums(run, b):
    """Columns of a strip that are summed up, against the sums of the simulation; the coarsest and some finer views."""
    path, made = run.simulated(1, wait_n=6000, thread_n=3)
    b.open(run.picture('timeline', path))
    problems = b.complaints()
    got = b.evaluate('''(() => { const d = timeline.data; return d.actors.filter(a => a.thread).map(a => {
        const whole = new Float64Array(12), parts = new Float64Array(12); let from = 0;
        addStates(a, d.manners, 0, d.end, 0, whole);
        for (let i = 0; i < 997; i++) from = addStates(a, d.manners, d.end * i / 997, d.end * (i + 1) / 997, from, parts);
        return { tid: a.tid, whole: Array.from(whole), parts: Array.from(parts) }; }); })()''')
    for actor in got:
        t = [t for t in made.threads if t['tid'] == actor['tid']][0]
        runnable = sum(w.get('runnable_ns', 0) for w in t['waits'])
        blocked = sum(w.get('blocked_ns', 0) for w in t['waits'])
        problems += expect('running', round(actor['whole'][0]), t['oncpu'])
        problems += expect('runnable', round(actor['whole'][1]), runnable)
        problems += expect('blocked', round(sum(actor['whole'][2:])), blocked)
        for a, c in zip(actor['whole'], actor['parts']):
            problems += expect('in parts', abs(a - c) < 1, True)
    return problems


def timeline_path(run, b):
    """The critical path is a yellow line under the strips that it goes along, and nowhere once it is switched off."""
    path, _ = run.simulated(0)
    b.open(run.picture('timeline', path))
    problems = b.complaints()
    longest = b.evaluate('''(() => { const v = timeline.view, box = v.scroll.getBoundingClientRect(), p = timeline.data.path;
        return p.filter(s => s.actor >= 0 && v.x(s.end) - v.x(s.start) > 8).map(s => ({ x: box.left + v.x((s.start + s.end) / 2),
            y: box.top + v.actorY(timeline.data.actors[s.actor]) + STRIP / 2 - 4 })) })()''')
    rows = pixels(run.shot(b, 'path'))
    problems += expect('stretches', len(longest) > 5, True)
    for s in longest:
        problems += expect('at %s' % s, rows[round(s['y'])][round(s['x'])], (255, 240, 0))
    b.evaluate('document.getElementById("scroll").focus()')
    b.key('p')
    b.evaluate('new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)))')
    rows = pixels(run.shot(b, 'path-off'))
    # The legend keeps its patch.
    return problems + expect('off', sum(1 for row in rows[80:] for p in row if p == (255, 240, 0)), 0)


def timeline_moves(run, b):
    """Keys, wheel, drags, clicks and search do what the page says."""
    path, made = run.simulated(0)
    b.open(run.picture('timeline', path))
    problems = b.complaints()
    span = 'timeline.view.t1 - timeline.view.t0'
    whole = b.evaluate(span)
    b.evaluate('document.getElementById("scroll").focus()')
    b.key('w')
    problems += expect('w zooms in', abs(b.evaluate(span) - whole * 0.7) < 2, True)
    before = b.evaluate('timeline.view.t0')
    b.key('d')
    problems += expect('d moves on', b.evaluate('timeline.view.t0') > before, True)
    b.key('f')
    problems += expect('f shows all', b.evaluate(span), whole)
    b.call('Input.dispatchMouseEvent', type='mouseWheel', x=800, y=400, deltaX=0, deltaY=-200, modifiers=2)
    problems += expect('Ctrl+wheel zooms in', b.evaluate(span) < whole, True)
    b.key('f')
    b.mouse('Pressed', 600, 400, modifiers=8)
    b.mouse('Moved', 900, 400, modifiers=8)
    b.mouse('Released', 900, 400, modifiers=8)
    problems += expect('Shift+drag zooms into it', abs(b.evaluate(span) / whole - 300 / b.evaluate('timeline.view.width - LABELS')) < 0.01, True)
    b.key('f')
    wait = b.evaluate('''(() => { const v = timeline.view, box = v.scroll.getBoundingClientRect();
        const a = timeline.data.actors.find(a => a.waitN > 20); let i = 0;
        for (let k = 0; k < a.waitN; k++) if (a.end[k] - a.start[k] > a.end[i] - a.start[i]) i = k;
        return { x: box.left + v.x((a.start[i] + a.ready[i]) / 2), y: box.top + a.y - v.scroll.scrollTop + 5, i, ns: a.end[i] - a.start[i],
            kind: timeline.data.manners[a.manner[i]].kind }; })()''')
    b.click(wait['x'], wait['y'])
    problems += expect('a click selects', b.evaluate('timeline.view.selected && timeline.view.selected.wait'), wait['i'])
    details = b.evaluate('document.getElementById("details").innerText')
    problems += expect('details', wait['kind'] in details and 'blocked' in details, True)
    b.evaluate('(() => { const s = document.getElementById("search"); s.value = "mutex"; s.dispatchEvent(new Event("input")); })()')
    mutexes = sum(1 for t in made.threads for w in t['waits'] if made.string.list[w.get('wait_kind', 0)] == 'mutex')
    problems += expect('matches', b.evaluate('timeline.hits().length'), mutexes)
    b.key('n')
    problems += expect('n goes to the first', b.evaluate('document.getElementById("matches").textContent'), '1 of %d' % mutexes)
    run.shot(b, 'search')
    b.key('Escape')
    problems += expect('Esc forgets', b.evaluate('timeline.hits().length'), 0)
    return problems + b.complaints()


def timeline_hostile(run, b):
    """Names of the target are text, wherever they are shown."""
    problems = []
    for path in (os.path.join(GOLDEN, 'hostile.ndjson'), run.simulated(2)[0]):
        b.open(run.picture('timeline', path))
        b.evaluate('''for (const a of timeline.data.actors) for (let i = 0; i < Math.min(a.waitN, 20); i++)
            timeline.select({ actor: a, wait: i, start: a.start[i], end: a.end[i] })''')
        for words in ('<script>', '[', '\\\\', '&amp;'):
            b.evaluate('timeline.search(%r)' % words)
        problems += b.complaints() + expect('scripts', b.evaluate('document.scripts.length'), 1)
    return problems


def timeline_of_ops(run, b):
    """A dump without threads: what is counted, that no name is without a colour or reaches out of its box or of itself."""
    path = os.path.join(run.folder, 'ops.ndjson')
    names = ['Container.%s%d' % (w, i) for i in range(60) for w in ('withExec', 'from', 'WWW', 'lll')] + ['turn \u202eed']
    lines = [dict(schema_version=1, epoch_unix_nano=10 ** 18, dumped_unix_nano=10 ** 18 + 10 ** 9, dropped_events=0,
                  event_count=2 * len(names), strings=['', 'cli'] + names)]
    for i in range(len(names)):
        lines += [dict(e='op', k='call', id=i + 1, c=i + 2, cl=1, s=i * 10 ** 6, d=i * 10 ** 6 + 900000),
                  dict(e='wait', rs='lock', p=i + 1, i=i + 2, s=i * 10 ** 6, d=i * 10 ** 6 + 500000)]
    with open(path, 'w', encoding='utf-8') as f:
        f.writelines(json.dumps(line) + '\n' for line in lines)
    b.open(run.picture('timeline', path))
    problems = b.complaints()
    text = b.evaluate('document.getElementById("span").textContent')
    problems += expect('counts', text.split(' from ')[0], '0 threads, %d waits, %d ops, 1.000 s' % (len(names), len(names)))
    pale = b.evaluate("""timeline.data.sayings.filter((s) => { const c = opColor(s.name), v = [c & 255, c >> 8 & 255, c >> 16 & 255];
        return Math.max(...v) - Math.min(...v) < 40; }).map((s) => s.name)""")
    problems += expect('without a colour', pale, [])
    b.evaluate('timeline.view.setRange(0, 50e6); new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)))')
    run.shot(b, 'ops')
    wide = b.evaluate("""(() => { const c = document.createElement('canvas').getContext('2d'), v = timeline.view, bad = [];
        for (const bold of [false, true]) {
            c.font = (bold ? 'bold ' : '') + '11px system-ui, sans-serif';
            for (const s of timeline.data.sayings) for (let w = 10; w < 130; w += 7) {
                const t = v.fitting(s.name, w, bold);
                if (c.measureText(t).width > w + 1 || (t.length < 3 && w > 60)) bad.push([s.name, w, t]); } }
        return bad.slice(0, 3); })()""")
    problems += expect('too wide', wide, [])
    return problems + expect('turned', b.evaluate('timeline.data.sayings.filter((s) => s.name.includes("\\u202e")).length'), 0)


# What the page's thread may compute for a frame, ms. Its own time on the CPU is measured, so other load counts as far as
# it shares caches and cores' clocks; a machine half as fast as the slowest of today bears it.
FRAME_MS_MAX = 16
FRAME_N = 40
STEPS = {'all': 'v.changed()', 'zooming in': 'v.zoom(0.85, 700)', 'zooming out': 'v.zoom(1 / 0.85, 700)',
         'moving': 'v.setRange(v.t0 + (v.t1 - v.t0) * 0.05, v.t1 + (v.t1 - v.t0) * 0.05)'}


def frame_times(b):
    """ms of CPU a frame, by what is done."""
    b.call('Performance.enable', timeDomain='threadTicks')
    times = {}
    b.evaluate('timeline.view.setRange(0, timeline.data.end)')
    for name, step in STEPS.items():
        before = {m['name']: m['value'] for m in b.call('Performance.getMetrics')['metrics']}
        b.evaluate('''(async () => { const v = timeline.view; for (let i = 0; i < %d; i++) { %s;
            await new Promise(requestAnimationFrame); await new Promise((done) => setTimeout(done, 0)); } })()''' % (FRAME_N, step), 120)
        after = {m['name']: m['value'] for m in b.call('Performance.getMetrics')['metrics']}
        times[name] = (after['TaskDuration'] - before['TaskDuration']) * 1000 / FRAME_N
    b.call('Performance.disable')
    return times


def timeline_fluid(run, b):
    """100,000 intervals on 40 threads, and as many ops."""
    path = os.path.join(run.folder, 'many.ndjson')
    many(path, threads=40, waits=2500, ops=1250)
    b.open(run.picture('timeline', path))
    problems = b.complaints()
    count = b.evaluate('timeline.data.actors.reduce((n, a) => n + a.waitN + a.itemN, 0)')
    problems += expect('intervals', count >= 150000, True)
    rows = [row[240:] for row in pixels(run.shot(b, 'many'))[160:700]]
    yellow = sum(p == (255, 240, 0) for row in rows for p in row) / sum(map(len, rows))
    problems += expect('the path covers less than a twentieth', (0 < yellow < 0.05, yellow), (True, yellow))
    times = frame_times(b)
    if max(times.values()) > FRAME_MS_MAX:
        times = {k: min(v, times[k]) for k, v in frame_times(b).items()}
    print('# ms a frame: ' + ', '.join('%s %.1f' % x for x in times.items()))
    for name, ms in times.items():
        if ms > FRAME_MS_MAX:
            problems.append('%s: a frame takes %.1f ms' % (name, ms))
    return problems


def many(path, threads, waits, ops):
    """A dump of a given size, quickly."""
    import random
    r = random.Random(5)
    lines, end = [], 0
    for t in range(threads):
        now = 0
        for i in range(waits):
            now += r.randrange(1000, 400000)
            blocked, ready = r.randrange(1000, 800000), r.randrange(0, 50000)
            lines.append(dict(e='wait', rs=r.choice(['lock', 'io', 'sleep', 'sync']), s=now, d=now + blocked + ready, pid=1, tid=t + 1,
                              p=0, i=1 + i % 5, blocked_ns=blocked, runnable_ns=ready, wake_ns=now + blocked, waker_pid=1,
                              waker_tid=1 + r.randrange(threads)))
            now += blocked + ready
        end = max(end, now)
    step = end // ops
    for t in range(threads):
        for i in range(ops):
            a = i * step + r.randrange(step // 4)
            lines.append(dict(e='op', k='call', id=1 + t * ops + i, c=6 + i % 4, s=a, d=a + r.randrange(step // 2), pid=1, tid=t + 1))
    lines += [dict(e='thread', pid=1, tid=t + 1, comm='worker', begin_ns=0, end_ns=end) for t in range(threads)]
    with open(path, 'w', encoding='utf-8') as f:
        f.write(json.dumps(dict(schema_version=1, epoch_unix_nano=10 ** 18, dumped_unix_nano=10 ** 18 + end, dropped_events=0,
                                event_count=len(lines), strings=[''] + ['lock %d' % i for i in range(5)] + ['GET', 'PUT', 'LIST', 'DELETE'])) + '\n')
        f.writelines(json.dumps(line) + '\n' for line in lines)


def timeline_without_script(run, _):
    """The page says why nothing is drawn."""
    with browser.Browser(script=False) as b:
        b.open(run.picture('timeline', os.path.join(GOLDEN, 'app.ndjson')))
        document = b.call('DOM.getDocument', depth=-1)
        text = b.call('DOM.getOuterHTML', nodeId=document['root']['nodeId'])['outerHTML']
        return expect('noscript', '<noscript><p class="note">This page draws with JavaScript' in text, True)


def flamegraph_zooms(run, b):
    path, _ = run.simulated(0)
    b.open(run.picture('flamegraph', path, '--all', '--view', 'offcpu'))
    problems = b.complaints()
    run.shot(b, 'flamegraph')
    visible = 'flamegraph.frames.filter((f) => !f.g.classList.contains("hidden"))'
    n = b.evaluate(visible + '.length')
    frame = b.evaluate('''(() => { const f = flamegraph.frames.find((f) => f.d < flamegraph.frames[0].d && f.d > flamegraph.frames[0].d / 8);
        const r = f.rect.getBoundingClientRect(); return { x: r.x + r.width / 2, y: r.y + r.height / 2, t: f.t, d: f.d }; })()''')
    b.click(frame['x'], frame['y'])
    problems += expect('a click zooms', b.evaluate('(flamegraph.state().zoomed || {}).d'), frame['d'])
    inside = b.evaluate('''%s.every((f) => (f.t >= %d && f.t + f.d <= %d) || f.g.classList.contains("above"))''' % (
        visible, frame['t'], frame['t'] + frame['d']))
    problems += expect('only what lies in it', inside, True)
    width = b.evaluate('Number(flamegraph.state().zoomed.rect.getAttribute("width"))')
    problems += expect('as wide as the picture', width, 1180)
    run.shot(b, 'flamegraph-zoomed')
    b.key('Escape')
    problems += expect('Esc shows all', b.evaluate(visible + '.length'), n)
    return problems + b.complaints()


def flamegraph_searches(run, b):
    """app.ndjson: 390 of 3740 ms are in pthread_mutex_lock."""
    b.open(run.picture('flamegraph', os.path.join(GOLDEN, 'app.ndjson'), '--all', '--view', 'offcpu'))
    b.evaluate('flamegraph.search("mutex_lock$")')
    problems = b.complaints() + expect('found', b.evaluate('document.getElementById("found").textContent'), 'matched: 10.43%')
    # Within each other: pthread_mutex_lock is in work(), which counts once.
    b.evaluate('flamegraph.search("work\\\\(|_lock")')
    problems += expect('nested', b.evaluate('document.getElementById("found").textContent'), 'matched: 10.43%')
    b.evaluate('flamegraph.search("work(")')
    problems += expect('not a pattern', b.evaluate('document.querySelectorAll(".found").length'), 1)
    b.evaluate('flamegraph.search("")')
    return problems + expect('forgotten', b.evaluate('document.querySelectorAll(".found").length'), 0)


def flamegraph_without_script(run, _):
    """Boxes, names and titles are there, and where they belong."""
    with browser.Browser(script=False) as b:
        b.open(run.picture('flamegraph', os.path.join(GOLDEN, 'app.ndjson'), '--all', '--view', 'offcpu'))
        rows = pixels(run.shot(b, 'flamegraph-without-script'))
        dark = sum(1 for row in rows for p in row if sum(p) < 200)
        return b.complaints() + expect('letters are drawn', dark > 500, True)


TESTS = [timeline_draws, timeline_sums, timeline_path, timeline_moves, timeline_hostile, timeline_of_ops, timeline_fluid, timeline_without_script, flamegraph_zooms,
         flamegraph_searches, flamegraph_without_script]


def main():
    tap = Tap()
    keep = sys.argv[sys.argv.index('--keep') + 1] if '--keep' in sys.argv else None
    part = sys.argv[2] if len(sys.argv) > 2 and sys.argv[2] != '--keep' else ''
    tests = [t for t in TESTS if part in t.__name__]
    if not browser.find():
        for test in tests:
            tap.skip(test.__name__.replace('_', ' '), 'no Chromium: install chromium-headless-shell')
        tap.end()
    with browser.Browser() as b:
        for test in tests:
            with tempfile.TemporaryDirectory(prefix='wcbpf-pictures.') as folder:
                try:
                    problems = test(Run(os.path.abspath(sys.argv[1]), folder, keep), b)
                except Exception as e:  # one test's, the others go on
                    problems = ['%s: %s' % (type(e).__name__, e)]
            tap.result(test.__name__.replace('_', ' '), problems[:8])
    tap.end()


if __name__ == '__main__':
    main()
