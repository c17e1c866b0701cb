# SPDX-License-Identifier: (LGPL-2.1 OR BSD-2-Clause)
"""What is written, and where: names that break formats, folders, disk full, both modes, report. C34-C37, C69, C78."""
import json
import os
import re
import shutil
import subprocess

from live import Skip, check, close_to
from recording import FOLDED
from truth import MS, Truth

ODD_NAMES = [b'a;b c', b'[x 0]', b'n 12', b'new\nline', b'tab\tcr\r', 'файлфайл'.encode(), b'\xff\xfe', b'q"uo\\te',
             b'ctl\x01\x7f', b'a' * 15, b'\xe2\x82 cut', b'@offcpu_user[', b']: 7', b'$(touch x)', b'{"e":1}']


def test_odd_thread_names(live):
    """C34, C35: separators, control characters, broken UTF-8: formats hold, no time is lost, names stay apart."""
    words = ' '.join(n.hex() for n in ODD_NAMES)
    rec, truth, _ = live.truth('names ' + words)
    naps = [t for t in truth.waits if 'comm' in t]
    check(len(naps) == len(ODD_NAMES), '%d naps', len(naps))
    slept = {}
    for frames, value in rec.folded:
        slept[frames[0]] = slept.get(frames[0], 0) + value
    long_ones = [v for v in slept.values() if close_to(v, 50000, 0.1, live.slack_ns / 1000)]
    check(len(long_ones) == len(ODD_NAMES), '%d of %d names have their 50 ms in the folded file: %s', len(long_ones),
          len(ODD_NAMES), slept)
    jq = shutil.which('jq')
    if jq:
        rc, _, err = live.run([jq, '-e', '-c', '.e // .schema_version', rec.path('wcprof.ndjson')])
        check(rc == 0, 'jq: %s', err)


def test_odd_program_names(live):
    """C34: programs named `a;b c` and the like, also in argv, paths and the summary."""
    for name in ('a;b c', '[x 0]', 'n 12', 'new\nline', 'q"\\', b'\xffx'.decode('utf-8', 'surrogateescape')):
        program = os.path.join(live.tmp, name)
        shutil.copy(live.work('sleep')[0], program)
        rec = live.record([program, '2', '20000', '2', b'\xff\xc3('.decode('utf-8', 'surrogateescape')])
        truth = Truth(rec.out)
        total = sum(v for _, v in rec.folded)
        waits = sum(w.blocked for w in rec.waits) / 1000
        check(close_to(total, waits, 0.001, rec.folded_lines + 5), '%r: folded %d us, waits %d us', name, total, waits)
        op = rec.process_op(min(truth.threads))
        check(op and isinstance(json.loads(op.meta), list), '%r: argv %r', name, op and op.meta)
        check(len(json.loads(op.meta)) == 5, '%r: argv %r', name, op.meta)
        comm = name.encode('utf-8', 'surrogateescape')[:15].decode('utf-8', 'replace')
        check(any(t.comm == comm for t in rec.threads), '%r: thread names %s', name, {t.comm for t in rec.threads})


def test_name_of_its_time(live):
    """C37: a wait carries the name the thread had when it ended; after exec the new program's."""
    rec, _, _ = live.truth('names 6265666f7265 6166746572')
    for name in ('before', 'after'):
        us = sum(v for f, v in rec.folded if f[0] == name)
        check(close_to(us, 50000, 0.1, live.slack_ns / 1000), '%s: %d us', name, us)
    rec = live.record(['sh', '-c', 'exec sleep 0.3'])
    us = sum(v for f, v in rec.folded if f[0] == 'sleep')
    check(close_to(us, 300000, 0.1, live.slack_ns / 1000), 'sleep: %d us of %s', us, rec.folded)


def test_stacks_mode(live):
    """Mode stacks: counts of intervals in bpftrace map text, innermost first, with offsets; no time file."""
    rec = live.record(live.work('sleep 40 3000'), '--mode', 'stacks')
    check(not os.path.exists(rec.path('offcpu.time.txt')), 'a time file in mode stacks')
    check(rec.summary['mode'] == 'stacks', 'mode %s', rec.summary['mode'])
    user = [(f, n) for side, f, n in rec.maps if side == 'user' and any(x.startswith('f+') for x in f)]
    check(sum(n for _, n in user) == 40, 'f sleeps %d times: %s', sum(n for _, n in user), user)
    names = [re.sub(r'\+\d+$', '', x) for x in user[0][0]]
    check(names.index('f') < names.index('g') < names.index('main'), 'not innermost first: %s', names)
    # not all at one address, if one was preempted on its way to sleep
    kernel = [(f, n) for side, f, n in rec.maps if side == 'kernel' and any('nanosleep' in x for x in f)]
    missed = rec.summary['capture_integrity']['failed_kernel_stacks']   # of a switch that the host hid
    check(sum(n for _, n in kernel) >= 40 - missed, 'kernel stacks of %d sleeps: %s', sum(n for _, n in kernel), kernel)
    check(all(re.fullmatch(r'\S+\+\d+', x) for x in kernel[0][0]), 'kernel frames %s', kernel[:1])


def test_time_mode_text(live):
    """Mode time: comm first, microseconds last; the summary points at the file and has its rows."""
    rec = live.record(live.work('sleep 3 100000'), '--mode', 'time')
    us = sum(v for f, v in rec.folded if f[0] == 'sleep' and 'f' in f)
    check(close_to(us, 300000, 0.02, live.slack_ns / 1000), '%d us under f: %s', us, rec.folded)
    s = rec.summary
    check(s['kind'] == 'offcpu_time' and s['mode'] == 'time' and 'wcbpf' in s['tool'], '%s %s %s', s['kind'], s['mode'],
          s['tool'])
    for key, name in (('capture_path', 'offcpu.time.txt'), ('diagnostics_path', 'offcpu.diagnostics.txt'),
                      ('summary_path', 'offcpu.summary.json')):
        check(s[key] and os.path.basename(s[key]) == name, '%s is %s', key, s[key])
    check(s['rows'] and isinstance(s['rows'], list), 'no rows')
    check(s['state'] == 'summary_written' and s['caveat_kind'] is None and s['caveat_message'] is None, '%s',
          s['state'])
    check('"kind": "offcpu_time"' in rec.summary_text and '\n  "mode": "time"' in rec.summary_text, 'indent, colons')
    with open(rec.path('offcpu.time.txt'), 'rb') as f:
        check(all(FOLDED.match(x) for x in f.read().splitlines()), 'folded lines')


def test_no_args(live):
    """--no-args: no argument of the workload in any file."""
    rec = live.record(live.work('sleep 2 1000 1 hunter2'), '--no-args')
    for name in os.listdir(rec.dir):
        with open(rec.path(name), 'rb') as f:
            data = f.read()
        check(b'hunter2' not in data, '%s holds an argument', name)
    rec = live.record(live.work('sleep 2 1000 1 hunter2'))
    with open(rec.path('wcprof.ndjson'), 'rb') as f:
        check(b'hunter2' in f.read(), 'without --no-args argv is missing')


def test_folder_becomes_old(live):
    """wcbpf.out is the default, moves to wcbpf.out.old; a folder not ours is refused before the workload runs."""
    def run(*words):
        return live.run([live.wcbpf, 'record', *words, '--', 'sh', '-c', 'sleep 0.01; touch ran'], cwd=live.tmp)

    for _ in range(3):
        rc, _, err = run()
        check(rc == 0, 'status %d: %s', rc, err)
    check(sorted(n for n in os.listdir(live.tmp) if n.startswith('wcbpf')) == ['wcbpf.out', 'wcbpf.out.old'],
          'folders: %s', os.listdir(live.tmp))
    os.unlink(live.path('ran'))
    os.mkdir(live.path('mine'))
    with open(live.path('mine/precious'), 'w') as f:
        f.write('x')
    for folder in ('mine', '.'):
        rc, _, err = run('-o', folder)
        check(rc == 125 and err.strip(), '-o %s: status %d', folder, rc)
        check(not os.path.exists(live.path('ran')), '-o %s: the workload ran', folder)
    check(os.listdir(live.path('mine')) == ['precious'], 'mine: %s', os.listdir(live.path('mine')))
    os.mkdir(live.path('empty'))
    rc, _, err = run('-o', 'empty')
    check(rc == 0 and os.path.exists(live.path('empty/wcprof.ndjson')), 'an empty folder: status %d: %s', rc, err)


def mounted(live, options):
    folder = live.path('mnt')
    os.mkdir(folder)
    if subprocess.run(['mount', '-t', 'tmpfs', '-o', options, 'wcbpf-test', folder]).returncode:
        raise Skip('cannot mount a tmpfs here')
    return folder


def test_unwritable_folders(live):
    """C69: what can't be written is refused with its reason before the workload starts."""
    folder = mounted(live, 'ro')
    try:
        for out in (os.path.join(folder, 'out'), '/dev/full', '/dev/null/x', '/proc/x',
                    live.path('no/such/parent/x\0')[:-1]):
            rc, _, err = live.run([live.wcbpf, 'record', '-o', out, '--', 'touch', live.path('ran')])
            if out.endswith('parent/x') and rc == 0:        # making parents is as good
                os.unlink(live.path('ran'))
                continue
            check(rc == 125, '%s: status %s: %s', out, rc, err)
            check(os.path.basename(out) in err and err.strip(), '%s: said %s', out, err)
            check(not os.path.exists(live.path('ran')), '%s: the workload ran', out)
    finally:
        subprocess.run(['umount', folder])


def test_disk_full(live):
    """C69: 64 KiB of room: not success, the errno is said, no half file under a final name."""
    folder = mounted(live, 'size=64k')
    try:
        rc, _, err = live.run([live.wcbpf, 'record', '-o', os.path.join(folder, 'out'), '--',
                               *live.work('switches 5000')],
                              timeout=60)
        check(rc == 125, 'status %s: %s', rc, err)
        check('No space left' in err, 'said %s', err[-300:])
        for name in os.listdir(os.path.join(folder, 'out')):
            path = os.path.join(folder, 'out', name)
            if name.endswith('.json') and os.path.getsize(path):
                with open(path) as f:
                    json.load(f)
            if name == 'wall.folded.txt':
                with open(path, 'rb') as f:
                    check(all(FOLDED.match(x) for x in f.read().splitlines()), 'a broken %s', name)
    finally:
        subprocess.run(['umount', folder])


def test_truncated_dump(live):
    """C69: report on a cut dump names the line and uses the rest; on none of it, status 2."""
    rec = live.record(live.work('mutex plain 3 40'))
    with open(rec.path('wcprof.ndjson'), 'rb') as f:
        data = f.read()
    cut = live.path('cut.ndjson')
    with open(cut, 'wb') as f:
        f.write(data[:len(data) * 3 // 4])
    lines = data[:len(data) * 3 // 4].count(b'\n') + 1
    rc, out, err = live.run([live.wcbpf, 'report', cut])
    check(str(lines) in err + out and out.strip(), 'report of a cut dump: status %s, %s', rc, err)
    with open(cut, 'wb') as f:
        f.write(b'not a dump\n')
    rc, out, err = live.run([live.wcbpf, 'report', cut])
    check(rc == 2 and err.strip(), 'report of no dump: status %s, %s', rc, err)
    rc, out, err = live.run([live.wcbpf, 'report', live.path('absent')])
    check(rc == 2 and 'absent' in err, 'report of nothing: status %s, %s', rc, err)


def test_event_cap(live):
    """C78: at the cap the dump stops growing and says so in every place; the totals stay right."""
    full = live.record(live.work('sleep 3000 50'))
    rec = live.record(live.work('sleep 3000 50'), '--event-cap', '1000', lossy=True)
    events = len(rec.waits) + len(rec.ops) + len(rec.links)
    check(events <= 1000, '%d events', events)
    dropped = rec.header['dropped_events']
    check(close_to(dropped + events, len(full.waits) + len(full.ops) + len(full.links), 0.05, 20),
          '%d + %d dropped, not %d',
          events, dropped, len(full.waits))
    check(rec.summary['capture_integrity']['dropped_events'] == dropped, 'the summary: %s', rec.lost_text())
    check(rec.summary['caveat_kind'] == 'offcpu_capture_partial', 'caveat %s', rec.summary['caveat_kind'])
    truth = Truth(rec.out)
    thread = rec.thread(list(truth.threads)[0])
    folded = sum(v for _, v in rec.folded)
    check(close_to(folded, thread.blocked / 1000, 0.02, 3000), 'folded %d us, the thread was blocked %d us', folded,
          thread.blocked / 1000)
    rc, out, err = live.run([live.wcbpf, 'report', rec.dir])
    check(rc == 0 and str(dropped) in re.sub(r'[,_ ](?=\d{3})', '', out), 'report does not say %d dropped: %s', dropped,
          out[:500])


def test_report_page(live):
    """report: integrity first, at most a page, where the time went; default folder; no root needed."""
    rec = live.record(live.work('mutex plain 3 100'))
    rc, out, err = live.run([live.wcbpf, 'report', rec.dir])
    check(rc == 0, 'status %d: %s', rc, err)
    check(re.search(r'complete|partial', out[:600], re.I), 'no word on integrity at the top: %s', out[:300])
    for word in ('lock', 'sleep'):
        check(word in out, '%s is not in the report', word)
    check(len(out.splitlines()) <= 100 and '\x1b' not in out, '%d lines', len(out.splitlines()))
    os.chmod(live.tmp, 0o755)
    os.chmod(rec.dir, 0o755)
    for name in os.listdir(rec.dir):
        os.chmod(rec.path(name), 0o644)
    rc, out, err = live.run(['setpriv', '--reuid=65534', '--regid=65534', '--clear-groups', live.wcbpf, 'report',
                             rec.dir])
    check(rc == 0 and 'lock' in out, 'as nobody: status %d: %s', rc, err)
    rc, out, err = live.run([live.wcbpf, 'report', '-i', rec.path('wcprof.ndjson')])
    check(rc == 0 and 'lock' in out, 'report -i: status %d: %s', rc, err)


def test_foreign_dump(live):
    """report reads a wcprof dump that wcbpf did not write."""
    path = live.path('engine.ndjson')
    with open(path, 'w') as f:
        for o in ({'schema_version': 1, 'epoch_unix_nano': 10**18, 'dumped_unix_nano': 10**18 + 5 * 10**9,
                   'dropped_events': 0, 'event_count': 3, 'strings': ['', 'Container.from', 'cache-key']},
                  {'e': 'op', 'k': 'call', 'id': 1, 'c': 1, 's': 0, 'd': 4 * 10**9, 'o': 'executed'},
                  {'e': 'wait', 'rs': 'singleflight', 'p': 1, 'i': 2, 's': 10**9, 'd': 3 * 10**9},
                  {'e': 'span', 'id': 1, 'tr': '0' * 31 + '1', 'sp': '0' * 15 + '1'}):
            f.write(json.dumps(o) + '\n')
    rc, out, err = live.run([live.wcbpf, 'report', path])
    check(rc == 0 and 'singleflight' in out, 'status %d: %s', rc, err + out[:300])


def test_truth_is_not_rounded(live):
    """Times of the dump are ns of the clock named in its header, from the epoch on."""
    rec, truth, _ = live.truth('sleep 20 1000')
    lengths = {w.end - w.start for w in rec.waits if w.kind == 'sleep'}
    check(len(lengths) > 10 and any(x % 1000 for x in lengths), 'rounded: %s', sorted(lengths)[:5])
    check(all(w.start >= 0 and w.end <= rec.end_ns for w in rec.waits), 'outside of the recording')
    check(min(x for x in lengths) >= MS, 'a sleep of 1 ms took %d ns', min(lengths))
