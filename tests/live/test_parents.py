# SPDX-License-Identifier: (LGPL-2.1 OR BSD-2-Clause)
"""Processes that run already hang below their parents: links of the dump against /proc/PID/stat. C51."""
import os

from live import check, children_of

TICK_NS = 1000000000 // os.sysconf('SC_CLK_TCK')

# A process that waits for orphans starts a child from its main thread, one from a thread that goes on, one from a
# thread that ends, and a shell with children and a grandchild of its own, which leaves an orphan and an heir behind.
FAMILY = '''
import ctypes, subprocess, sys, threading, time
ctypes.CDLL(None).prctl(36, 1, 0, 0, 0)
subprocess.Popen(['sleep', '60'])
for stays in (True, False):
    def run(stays=stays):
        subprocess.Popen(['sleep', '60'])
        while stays:
            time.sleep(60)
    t = threading.Thread(target=run, daemon=True)
    t.start()
    stays or t.join()
subprocess.Popen(['sh', '-c', 'sleep 60 & sh -c "sleep 60 & sleep 60 & wait" & (sleep 60 &); echo grown; wait'])
time.sleep(60)
'''


def stat(pid):
    """(parent's pid, start time in ticks) by the kernel's text; None: gone."""
    try:
        with open('/proc/%d/stat' % pid) as f:
            fields = f.read().rsplit(')', 1)[1].split()
    except OSError:
        return None
    return (int(fields[1]), int(fields[19])) if fields[0] != 'Z' else None


def exec_ops(rec):
    """Exec ops by (pid, start time in ticks)."""
    ops = {}
    for op in rec.ops.values():
        if op.kind == 'exec':
            pid, start_ns = op.client.split(':')
            ops[(int(pid), int(start_ns) // TICK_NS)] = op
    return ops


def compare(rec, stats):
    """Each process of stats ({pid: (parent, start)}) has one link, from its parent's op if that is there. How many."""
    ops, n = exec_ops(rec), 0
    for pid, (parent, start) in stats.items():
        op = ops.get((pid, start))
        if not op:
            continue
        above = ops.get((parent, stats[parent][1])) if parent in stats else None
        links = [x for x in rec.links if x.kind == 'nested_client' and x.ident == op.client]
        check(len(links) == bool(above), '%d links to %r, parent %d: %r', len(links), op, parent, above)
        if above:
            check(links[0].source == above.id and links[0].to == op.id, 'link %r, not from %r', links[0], above)
            n += 1
    return n


def test_descendants_hang_below_their_parents(live):
    """Children, grandchildren, an orphan at its reaper, children of threads; the target itself at nobody."""
    p = live.spawn(['python3', '-c', FAMILY])
    live.said(p, 'grown')
    live.until('nine descendants', lambda: len([x for x in children_of(p.pid) if stat(x)]) == 10)
    stats = {pid: stat(pid) for pid in children_of(p.pid)}
    orphans = [pid for pid, (parent, _) in stats.items() if parent == p.pid]
    check(len(orphans) == 5, 'children of the target: %s', stats)
    rec = live.attach('-p', str(p.pid), '-d', '400ms')
    check(len([op for op in rec.ops.values() if op.kind == 'exec']) == 10, 'exec ops: %s',
          [op for op in rec.ops.values() if op.kind == 'exec'])
    n = compare(rec, stats)
    check(n == 9 and len(rec.links) == 9, '%d of 9 descendants linked, %d links: %s', n, len(rec.links), rec.links)


def test_parents_of_the_whole_system(live):
    """-a: every process that was there before and stays, kernel threads too."""
    def snapshot():
        return {int(x): stat(int(x)) for x in os.listdir('/proc') if x.isdigit()}
    before = snapshot()
    rec = live.attach('-a', '-d', '300ms', lossy=True)
    after = snapshot()
    stats = {pid: s for pid, s in before.items() if s and after.get(pid) == s}
    n = compare(rec, {pid: s for pid, s in stats.items() if s[0] == 0 or s[0] in stats})
    check(n > 10, '%d processes linked', n)
    live.figure('%d processes compared with /proc', n)
