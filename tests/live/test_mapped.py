# SPDX-License-Identifier: (LGPL-2.1 OR BSD-2-Clause)
"""Names are those of what was mapped when a stack was taken, whatever became of it: C19, C20, C22, C27."""
import json
import os
import re
import shutil
import signal
import time

from live import Skip, check, close_to, tracer_programs
from truth import MS, Truth

OTHER = {'alpha': 'gamma', 'gamma': 'alpha'}


def swaps(live, line, *options):
    """The recording of a dlswap, and for each of its sleeps the library that it slept in."""
    rec = live.record(live.work(line), *options)
    truth = Truth(rec.out)
    offset, slept = truth.offset_ns(rec), []
    phases = truth.facts['phase']
    check(len({p['at'] for p in phases}) == 1, 'the libraries did not get the same addresses: %s', phases)
    for w in rec.waits:
        middle = (w.start + w.end) // 2 + offset
        found = [p for p in phases if p['tid'] == w.tid and p['start'] <= middle <= p['end']]
        if w.kind == 'sleep' and found:
            slept.append((w, found[0]['lib']))
    check(len(slept) == 3 * len(phases), '%d sleeps in %d phases', len(slept), len(phases))
    return rec, slept


def never_swapped(rec, slept, functions):
    for w, lib in slept:
        user, _ = rec.frames(w)
        check(not any(f.startswith(OTHER[lib] + '_') for f in user), 'a sleep in %s has the names of the other: %s', lib, user)
        for function in functions:
            check(lib + function in user, 'a sleep in %s: %s', lib, user)
        paths = {rec.modules[m].path for m in rec.stacks[w.ustack].modules if m}
        check(any(p.endswith('/libdlswap-%s.so' % lib) for p in paths) and
              not any(p.endswith('/libdlswap-%s.so' % OTHER[lib]) for p in paths), 'a sleep in %s: files %s', lib, paths)


def test_library_swapped(live):
    """C22: a library is unloaded and another build of it gets its addresses: the names are those of the time."""
    never_swapped(*swaps(live, 'dlswap 3 30000'), ('_inner', '_outer'))


def test_library_swapped_in_equal_stacks(live):
    """C22: the same where stacks are walked by the programs alone: both libraries' have the same addresses and one id."""
    rec, slept = swaps(live, 'dlswap 3 30000', '--call-graph', 'fp')
    never_swapped(rec, slept, ('_outer',))
    check(len({w.ustack for w, _ in slept}) == 2, 'stacks of two libraries: %s', {w.ustack for w, _ in slept})


def test_library_swapped_in_a_forked_child(live):
    """C22: parent and child, without an exec between, each have the other library at the same address."""
    for options in ((), ('--call-graph', 'fp')):
        rec, slept = swaps(live, 'dlswap 3 30000 fork', *options)
        check(len({w.pid for w, _ in slept}) == 2, 'sleeps of both: %s', {w.pid for w, _ in slept})
        never_swapped(rec, slept, ('_outer',))


def test_library_loaded_after_attach(live):
    """C22: libraries that the target loads when it is already recorded."""
    go = live.path('go')
    p = live.spawn(['sh', '-c', 'while [ ! -e "$1" ]; do sleep 0.1; done; exec "$0" 4 100000', live.work('dlswap')[0], go])
    before = tracer_programs()
    a = live.attach_start('-p', str(p.pid))
    live.started(a)
    open(go, 'w').close()
    rec = live.finish(a, before)
    for lib in ('alpha', 'gamma'):
        us = rec.folded_us('sleep_in', lib + '_outer', lib + '_inner')
        check(close_to(us, 4 * 3 * 100000, 0.1, live.slack_ns / 1000), '%d us in %s', us, lib)


def test_millisecond_programs(live):
    """C19: each of twenty programs that live for some milliseconds has its names."""
    rec = live.record(['sh', '-c', 'i=0; while [ $i -lt 20 ]; do "$0" 1 1000; i=$((i+1)); done', live.work('sleep')[0]])
    naps = [w for w in rec.waits if w.kind == 'sleep']
    check(len(naps) == 20 and len({w.pid for w in naps}) == 20, '%d sleeps', len(naps))
    for w in naps:
        user, _ = rec.frames(w)
        check('f' in user and user.index('f') < user.index('g') < user.index('main'), 'user %s', user)


def test_program_replaced_while_it_runs(live):
    """C19: another program is renamed over the one that runs, before the attach: the names are the old one's."""
    program, other = live.path('program'), live.path('other')
    shutil.copy(live.work('sleep')[0], program)
    shutil.copy(live.work('pipe')[0], other)
    p = live.spawn([program, '400', '20000'])
    live.until('the program', lambda: os.readlink('/proc/%d/exe' % p.pid) == program)
    os.rename(other, program)
    before = tracer_programs()
    a = live.attach_start('-p', str(p.pid))
    live.started(a)
    a.send_signal(signal.SIGINT)
    rec = live.finish(a, before)
    total = sum(v for _, v in rec.folded)
    check(rec.folded_us('main', 'g', 'f') >= 0.95 * total > 0, 'names: %s', rec.folded[:3])
    check(program in {m.path for m in rec.modules.values()}, 'modules %s', [m.path for m in rec.modules.values()])


def test_program_replaced_while_recorded(live):
    """C19: two programs one after another under one path, of which the first is replaced while it runs."""
    program, other = live.path('program'), live.path('other')
    shutil.copy(live.work('sleep')[0], program)
    shutil.copy(live.work('nofp')[0], other)
    script = '"$0" 6 50000 & sleep 0.15; mv "$1" "$0"; wait; "$0" 3 50'
    rec = live.record(['sh', '-c', script, program, other])
    us = rec.folded_us('main', 'g', 'f')
    check(close_to(us, 300000, 0.1, live.slack_ns / 1000), '%d us of the first: %s', us, rec.folded[:4])
    us = rec.folded_us('main', 'outer', 'direct_caller')
    check(close_to(us, 150000, 0.1, live.slack_ns / 1000), '%d us of the second: %s', us, rec.folded[:4])
    builds = {m.build_id for m in rec.modules.values() if m.path == program}
    check(len(builds) == 2, 'build ids under one path: %s', builds)


OVERLAY = 'mkdir -p lower upper work merged && cp "$1" lower/lk && mount -t tmpfs none upper && mkdir upper/u upper/w && ' \
          'mount -t overlay overlay -o lowerdir=lower,upperdir=upper/u,workdir=upper/w merged && '


def overlay_ok(live):
    rc, _, err = live.run(['unshare', '-m', 'sh', '-c', OVERLAY + 'true', 'sh', live.work('sleep')[0]], cwd=live.tmp)
    if rc:
        raise Skip('no overlay here: %s' % err.strip())


def test_program_on_an_overlay(live):
    """C20: recorded from its start and attached to, a program in the merged folder of an overlay."""
    overlay_ok(live)
    script = OVERLAY + 'cd merged && ./lk %s; exit $?'
    rec = live.record(['unshare', '-m', 'sh', '-c', script % '4 50000', 'sh', live.work('sleep')[0]], cwd=live.tmp)
    us = rec.folded_us('main', 'g', 'f')
    check(close_to(us, 200000, 0.05, live.slack_ns / 1000), '%d us under main;g;f: %s', us, rec.folded[:4])
    script = OVERLAY + 'cd merged && exec ./lk 200 50000'
    p = live.spawn(['unshare', '-m', 'sh', '-c', script, 'sh', live.work('sleep')[0]], cwd=live.tmp)
    live.until('the program', lambda: os.readlink('/proc/%d/exe' % p.pid).endswith('/merged/lk'))
    before = tracer_programs()
    a = live.attach_start('-p', str(p.pid))
    live.started(a)
    a.send_signal(signal.SIGINT)
    rec = live.finish(a, before)
    total = sum(v for _, v in rec.folded)
    check(rec.folded_us('main', 'g', 'f') >= 0.95 * total > 0, 'names: %s', rec.folded[:3])
    check(any(m.path.endswith('/merged/lk') for m in rec.modules.values()), 'modules %s',
          [m.path for m in rec.modules.values()])


NODE = '''
const fs = require('fs'), zlib = require('zlib'), crypto = require('crypto');
function later(n) {
  if (!n) return;
  fs.stat(process.execPath, () => {});
  crypto.pbkdf2('a', 'b', 20000, 64, 'sha512', () => zlib.gzip(Buffer.alloc(1 << 20), () => setTimeout(() => later(n - 1), 20)));
}
later(20);
'''


def peak_kb(pid):
    """The most memory a process has had, without its children."""
    try:
        with open('/proc/%d/status' % pid) as f:
            return int(re.search(r'VmHWM:\s*(\d+)', f.read()).group(1))
    except (OSError, AttributeError):        # it has just gone
        return 0


def test_big_binary(live):
    """C27: node, 50 MB or more of code: nothing is lost while its symbols are read; the report takes < 5 s and < 300 MB."""
    node = shutil.which('node') or shutil.which('nodejs')
    if not node:
        raise Skip('no node')
    script = live.path('script.js')
    with open(script, 'w') as f:
        f.write(NODE)
    before = tracer_programs()
    begin = time.monotonic()
    p = live.record_start([node, script])
    peak = 0
    while p.poll() is None:
        peak = max(peak, peak_kb(p.pid))
        time.sleep(0.01)
    took = time.monotonic() - begin
    rec = live.finish(p, before)
    named = sum(v for f, v in rec.folded if any('node::' in x or 'uv__' in x or 'uv_' in x for x in f))
    total = sum(v for _, v in rec.folded)
    check(named >= 0.5 * total > 0, 'node\'s own names on %d of %d us: %s', named, total, rec.folded[:3])
    # a limit, as the peak that wait4() tells holds what this very process has had
    begin = time.monotonic()
    rc, _, err = live.run(['prlimit', '--data=%d' % (300 << 20), live.wcbpf, 'report', rec.dir])
    report_s = time.monotonic() - begin
    check(rc == 0, 'a report within 300 MB: status %d, %s', rc, err)
    check(report_s < live.seconds(5), 'the report took %.1f s', report_s)
    check(0 < peak < 300 << 10, 'the recorder took %d MB', peak >> 10)
    biggest = max(os.path.getsize(m.path) for m in rec.modules.values() if os.path.isfile(m.path))
    live.figure('node (%d MB): recorded in %.1f s with %d MB, report in %.2f s', biggest >> 20, took, peak >> 10,
                report_s)


def functions(live, rec, *options):
    """The stacks of a report that sleep in f, by name."""
    rc, out, err = live.run([live.wcbpf, 'report', '--json', '--section', 'stacks', *options, rec.dir])
    check(rc == 0, 'report: %s', err)
    return {tuple(s['user_frames']) for s in json.loads(out)['stacks'] if 'f' in s['user_frames']}


def test_symbols_later(live):
    """A recording without symbols gets, from copies of the files, the names that one with symbols has."""
    program, copies = live.path('program'), live.path('copies')
    shutil.copy(live.work('sleep')[0], program)
    named = live.record([program, '3', '50000'])
    bare = live.record([program, '3', '50000'], '--no-symbols')
    check(not any(n for s in bare.stacks.values() for n in s.frames), 'names in spite of --no-symbols')
    for m in (m for m in bare.modules.values() if m.path.startswith('/') and m.path[1] != '/'):
        check(m.build_id, 'no build id of %s', m.path)
        os.makedirs(copies, exist_ok=True)
        shutil.copy(m.path, copies)
    os.unlink(program)
    want = functions(live, named)
    check(any('main' in f and 'g' in f for f in want), 'the recording with symbols: %s', want)
    check(functions(live, bare, '--symbols', copies) == want, 'named later: %s, not %s',
          functions(live, bare, '--symbols', copies), want)
    check(not functions(live, bare), 'names without symbols')
    # another program under the same name is none
    shutil.copy(live.work('pipe')[0], os.path.join(copies, 'program'))
    rc, out, err = live.run([live.wcbpf, 'report', '--json', '--section', 'stacks', '--symbols', copies, bare.dir])
    check(rc == 0 and '"main"' not in out and 'program' in err, 'with another build: %s %s', err, out[-300:])
