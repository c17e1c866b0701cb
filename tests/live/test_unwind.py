# SPDX-License-Identifier: (LGPL-2.1 OR BSD-2-Clause)
"""User stacks without frame pointers, of programs whose every stack is known from their source. C17, C18, C25, C28.

Each program is attached to, and while it works libdwfl unwinds its threads, stopped by ptrace, some hundred times
(tests/workloads/dwflstacks.c): the stack that wcbpf recorded of the same stop has to be the same list of addresses.
Real programs are in test_unwind_real.py, processes and libraries that come and go in test_unwind_lives.py.
"""
import os
import re
import shutil
import subprocess
import time

from live import Skip, check
from oracle import Code, base_name
from unwinding import NAP, OUTER, WARM_NS, chains_hold, judge, own_frames, sleeps, watch


def deep(n):
    """The calls of `frames deep N`, innermost first: deep_fixed calls first, then they take turns."""
    return [('deep_fixed', 'deep_sized')[left % 2] for left in range(n)][::-1]


# name: (command, wait's reason, its stack, innermost first: the program's own functions as a regular expression)
CHAINS = {
    'mutex': ('frames mutex', 'lock', ['wait_mutex', *OUTER]),
    'condvar': ('frames condvar', 'sync', ['wait_condvar', *OUTER]),
    'poll': ('frames poll', 'poll', ['wait_poll', *OUTER]),
    'qsort_callback': ('frames qsort', 'sleep', [*NAP, 'compare', 'wait_qsort', *OUTER]),
    'deep_100': ('frames deep 100', 'sleep', [*NAP, *deep(100), 'wait_deep', *OUTER]),
    'signal_handler': ('frames signal', 'sleep', [*NAP, 'handler', '(busy )*(wait_signal )?(inner )?outer', 'main']),
    'debug_frame_only': ('frames-bare-debug', 'sleep', [*NAP, 'bare_inner', 'bare_middle', 'bare_outer', 'main']),
}


def chain_test(command, reason, chain):
    def test(live):
        p = live.spawn(live.work(command))
        rec, oracle = watch(live, p)
        judge(live, command, rec, oracle)
        waits = [w for w in rec.waits if w.pid == p.pid and w.tid == p.pid and w.reason == reason]
        chains_hold(rec, waits, chain)
    test.__doc__ = 'C17: %s, built without frame pointers.' % command
    return test


TESTS = {name: chain_test(*row) for name, row in CHAINS.items()}


# How a program is linked decides where its code lies, in memory and in the file: an address is not an offset.
LINKS = {
    'lld': ['-fuse-ld=lld'],
    'gold': ['-fuse-ld=gold'],
    'no_pie': ['-no-pie', '-fno-pie'],
    'static': ['-static'],
    'static_pie': ['-static-pie', '-fPIE'],
    'one_segment': ['-Wl,-z,noseparate-code'],
}


def link_test(options):
    def test(live):
        source = os.path.join(os.path.dirname(os.path.abspath(__file__)), '..', 'workloads', 'frames.c')
        compiler = shutil.which('cc') or shutil.which('gcc')
        if not compiler:
            raise Skip('no C compiler')
        rc, _, err = live.run([compiler, '-std=gnu11', '-D_GNU_SOURCE', '-O2', '-fno-optimize-sibling-calls', *options,
                               '-o', live.path('frames'), source, '-pthread'], timeout=60)
        if rc and re.search(r'cannot find .?ld|cannot find -l|rcrt1|libc\.a', err):
            raise Skip('cannot link with %s here: %s' % (' '.join(options), err[:200]))
        check(rc == 0, 'cc %s: %s', options, err)
        p = live.spawn([live.path('frames'), 'qsort'])
        rec, oracle = watch(live, p)
        judge(live, 'frames qsort, %s' % ' '.join(options), rec, oracle)
        chains_hold(rec, sleeps(rec, p.pid), [*NAP, 'compare', 'wait_qsort', *OUTER])
    test.__doc__ = 'C17, C46: a program linked with %s.' % ' '.join(options)
    return test


TESTS.update({'linked_' + name: link_test(options) for name, options in LINKS.items()})


def test_signal_stacks(live):
    """Handlers on stacks of their own, one above and one below the interrupted stack."""
    p = live.spawn(live.work('frames altsignal'))
    rec, oracle = watch(live, p)
    judge(live, 'frames altsignal', rec, oracle)
    main = [*NAP, 'handler', '(busy )*(wait_signal )?(inner )?outer']
    for tids, root in (({p.pid}, 'main'), ({w.tid for w in rec.waits} - {p.pid}, 'below')):
        chains_hold(rec, [w for w in rec.waits if w.tid in tids and w.reason == 'sleep'], [*main, root])


def test_order_without_frame_pointers(live):
    """C18: the folded line of such a stack: comm, from main to libc, then the kernel from the syscall on."""
    p = live.spawn(live.work('frames qsort'))
    rec, _ = watch(live, p)
    line, _ = max(rec.folded, key=lambda x: x[1])
    own = [line.index(f) for f in ('main', 'outer', 'inner', 'wait_qsort', 'compare', 'frames_nap')]
    check(line[0] == 'frames' and own == sorted(own), 'order %s', line)
    kernel = [i for i, f in enumerate(line) if re.search(r'do_syscall_64|entry_SYSCALL|el0_svc', f)]
    check(kernel and kernel[0] > own[-1] and 'sched' in line[-1] + line[-2], 'kernel side %s', line)
    check(any('qsort' in f for f in line[own[3] + 1:own[4]]), 'libc is missing below the comparison: %s', line)


def test_deep_300_is_cut(live):
    """Deeper than can be kept: the leaf side is right, it is called truncated and marked at the root."""
    p = live.spawn(live.work('frames deep 300'))
    rec, oracle = watch(live, p)
    judge(live, 'frames deep 300', rec, oracle, complete=None)
    leaf = [*NAP, *deep(300), 'wait_deep', *OUTER]
    waits = sleeps(rec, p.pid)
    check(len(waits) > 50, '%d sleeps', len(waits))
    for w in waits:
        stack, own = rec.stacks[w.ustack], own_frames(rec, w)
        check(stack.ended == 'truncated', 'ended %s: %s', stack.ended, stack.frames)
        check(len(own) >= 100 and own == leaf[:len(own)], '%d frames kept: %s', len(own), own)
    lines = [(f, v) for f, v in rec.folded if 'deep_fixed' in f]
    check(lines and all(f[1] == '[truncated]' for f, _ in lines), 'the root side: %s', [f[:4] for f, _ in lines])
    check(rec.summary['capture_integrity']['truncated_stacks'] > 0, 'truncated stacks are not counted')


def test_deep_300_copied(live):
    """The same of a copy, which has 8 KiB of its stack: that is a limit of ours, not memory that was not there."""
    p = live.spawn(live.work('frames deep 300'))
    rec, _ = watch(live, p, '--call-graph', 'copy', work=lambda: time.sleep(1))
    leaf = [*NAP, *deep(300), 'wait_deep', *OUTER]
    copied = [w for w in sleeps(rec, p.pid) if len(own_frames(rec, w)) > 1]
    check(len(copied) > 50, '%d sleeps with a copy', len(copied))
    for w in copied:
        stack, own = rec.stacks[w.ustack], own_frames(rec, w)
        check(stack.ended == 'truncated', 'ended %s: %s', stack.ended, stack.frames)
        check(own == leaf[:len(own)], '%d frames kept: %s', len(own), own)
    check(rec.summary['capture_integrity']['truncated_stacks'] > 0, 'truncated stacks are not counted')


def test_vdso(live):
    """A program that reads the clock and nothing else: stopped within the vDSO, at any instruction."""
    p = live.spawn(live.work('frames vdso'))
    rec, oracle = watch(live, p)
    judge(live, 'frames vdso', rec, oracle, complete=None)
    places = {want[0] for want in oracle.distinct if want[0][0] == 'vdso'}
    check(len(places) >= 3, 'stopped at %d places of the vDSO: %s', len(places), oracle.text())
    stacks = [rec.stacks[w.ustack] for w in rec.waits if w.ustack and w.start > WARM_NS]
    whole = sum(s.ended == 'complete' for s in stacks)
    live.figure('frames vdso: %d of %d stacks at any instruction complete', whole, len(stacks))
    check(whole >= 0.98 * len(stacks), '%d of %d stacks complete', whole, len(stacks))


def test_fault(live):
    """C32: a page that comes from the disk: the innermost frame is the instruction itself, no return address."""
    p = live.spawn(live.work('frames fault {tmp}/mapped'))
    live.said(p, 'ready')
    rec, oracle = watch(live, p)
    judge(live, 'frames fault', rec, oracle)
    faults = [w for w in rec.waits if w.pid == p.pid and w.reason == 'fault' and w.blocked]
    chains_hold(rec, faults, ['wait_fault', *OUTER], 20)
    innermost = {rec.frames(w)[0][0] for w in faults}
    check(innermost == {'wait_fault'}, 'innermost %s', innermost)


def test_frame_pointers_only(live):
    """C17: no unwind table, but frame pointers: right, and said to be guessed."""
    p = live.spawn(live.work('frames-bare-fp'))
    rec, oracle = watch(live, p)
    judge(live, 'frames-bare-fp', rec, oracle, complete=None)
    waits = sleeps(rec, p.pid)
    chains_hold(rec, waits, [*NAP, 'bare_inner', 'bare_middle', 'bare_outer', 'main'])
    ends = {rec.stacks[w.ustack].ended for w in waits}
    check(ends == {'guessed'}, 'stacks without tables are called %s', ends)
    check(not oracle.guessed_wrong, '%d guesses are wrong: %s', len(oracle.guessed_wrong), oracle.guessed_wrong[:1])


def test_neither(live):
    """C17: no unwind table and no frame pointers: never complete, and no frame is invented."""
    if os.uname().machine != 'x86_64':
        raise Skip('the call instructions of %s are not known here' % os.uname().machine)
    p = live.spawn(live.work('frames-bare'))
    rec, _ = watch(live, p)
    waits = sleeps(rec, p.pid)
    check(len(waits) > 50, '%d sleeps', len(waits))
    files = {}
    for sid in {w.ustack for w in waits}:
        stack = rec.stacks[sid]
        check(stack.ended not in ('complete', 'fp'), 'called %s: %s', stack.ended, stack.frames)
        for i, (mid, address) in enumerate(zip(stack.modules, stack.addresses)):
            check(mid in rec.modules, 'frame %d of %s lies in no mapping', i, stack.frames)
            path = rec.modules[mid].path
            if base_name(path) == 'vdso':
                continue
            code = files.setdefault(path, Code(path))
            check(code.holds(address), 'frame %d, %s+0x%x, is not executable', i, path, address)
            check(i == 0 or code.after_call(address), 'frame %d, %s+0x%x (%s), follows no call', i, path, address,
                  stack.frames[i])
    lengths = sorted({len(rec.stacks[w.ustack].frames) for w in waits})
    ends = sorted({rec.stacks[w.ustack].ended for w in waits})
    live.figure('frames-bare: stacks of %s frames, called %s', lengths, ends)


def test_jit(live):
    """Code without a file: passed by its frame pointers, marked, and main is reached behind it."""
    p = live.spawn(live.work('frames-jit'))
    live.until('the code', lambda: p.poll() is not None or 'ready' in live.text(p))
    if p.poll() == 77:
        raise Skip('no machine code for %s' % os.uname().machine)
    begin, end = (int(x) for x in re.search(r'code begin=(\d+) end=(\d+)', live.text(p)).groups())
    rec, oracle = watch(live, p)
    judge(live, 'frames-jit', rec, oracle, complete=None)
    waits = sleeps(rec, p.pid)
    check(len(waits) > 50, '%d sleeps', len(waits))
    for w in waits:
        stack = rec.stacks[w.ustack]
        jit = [i for i, a in enumerate(stack.addresses) if begin <= a < end]
        check(len(jit) == 3 and jit[2] - jit[0] == 2, 'frames of the written code: %s of %s', jit, stack.frames)
        check(stack.frames[jit[2] + 1:jit[2] + 3] == ['jit_outer', 'main'], 'behind it: %s', stack.frames[jit[2] + 1:])
        check(stack.ended == 'guessed', 'called %s', stack.ended)
    check(not oracle.guessed_wrong, '%d guesses are wrong: %s', len(oracle.guessed_wrong), oracle.guessed_wrong[:1])


CXX = {
    'async': ('sync', 'async_waiter.*outer main', None),
    'condvar': ('sync', 'condvar_waiter.*outer main', None),
    'virtual': ('sleep', r'nap.*square::area.*apply.*virtual_caller.*outer main', None),
    'throw': ('sleep', r'nap.*catcher.*outer main', None),
    'inflight': ('sleep', r'nap.*~guard\S* (thrower\S* ){1,10}catcher.*outer main', 10),
}


def cxx_test(kind, reason, pattern, depths):
    def test(live):
        command = live.work('frames-cxx ' + kind)
        if not os.path.exists(command[0]):
            raise Skip('there was no C++ compiler for frames-cxx')
        p = live.spawn(command)
        rec, oracle = watch(live, p)
        judge(live, 'frames-cxx ' + kind, rec, oracle)
        waits = [w for w in rec.waits if w.tid == p.pid and w.reason == reason and w.start > WARM_NS]
        check(len(waits) > 50, '%d waits', len(waits))
        seen = set()
        for w in waits:
            text = ' '.join(re.sub(r'\(anonymous namespace\)::|\(.*\)| const', '', f).replace(' ', '')
                            for f in rec.frames(w)[0])
            in_catch = kind == 'inflight' and 'thrower' not in text       # the sleep of the handler itself
            check(re.search(r'nap.*catcher.*outer main' if in_catch else pattern, text), 'stack %s', text)
            seen.add(text.count('thrower'))
        check(depths is None or seen >= set(range(1, depths + 1)), 'caught in flight at depths %s', sorted(seen))
    test.__doc__ = 'C++: %s.' % kind
    return test


TESTS.update({'cxx_' + kind: cxx_test(kind, *row) for kind, row in CXX.items()})


def test_rust_symbols(live):
    """C25: symbols as Rust compilers write them, old and new, are shown as Rust."""
    p = live.spawn(live.work('frames-mangled'))
    rec, oracle = watch(live, p)
    judge(live, 'frames-mangled', rec, oracle)
    waits = sleeps(rec, p.pid)
    check(len(waits) > 50, '%d sleeps', len(waits))
    want = [r'frames_nap', r'mycrate(\[\w+\])?::example', r'<mycrate(\[\w+\])?::Foo>::bar',
            r'mycrate(\[\w+\])?::example::\{closure#0\}', r'std(\[\w+\])?::mem::align_of::<usize>',
            r'core::fmt::Formatter::pad(::h\w+)?', r'mycrate::example::\{\{closure\}\}(::h\w+)?', r'main']
    for w in waits:
        names = rec.frames(w)[0]
        check(not any(re.match(r'_R|_ZN', f) for f in names), 'mangled: %s', names)
        i = names.index('frames_nap')
        got = names[i:i + len(want)]
        check(len(got) == len(want) and all(re.fullmatch(a, b) for a, b in zip(want, got)), 'names: %s', got)


RUST = '''
use std::time::Duration;

/* So that what comes before is no tail call. */
fn kept<T: Copy>(x: T) { unsafe { std::ptr::read_volatile(&x); } }

struct Sleeper<T> { rounds: T }

trait Nap { fn nap(&self); }

impl<T: Copy + Into<u64>> Nap for Sleeper<T> {
    #[inline(never)]
    fn nap(&self) {
        with_closure(|ms| std::thread::sleep(Duration::from_millis(ms)), self.rounds.into());
        kept(self.rounds);
    }
}

#[inline(never)]
fn with_closure<F: Fn(u64)>(f: F, ms: u64) {
    f(ms);
    kept(ms);
}

fn main() {
    println!("ready");
    let s: Box<dyn Nap> = Box::new(Sleeper { rounds: 1u32 });
    for _ in 0..60000 {
        s.nap();
    }
}
'''


def rust_test(mangling):
    def test(live):
        compiler = shutil.which('rustc')
        if not compiler:
            raise Skip('no rustc')
        source, program = live.path('sleeper.rs'), live.path('sleeper')
        with open(source, 'w') as f:
            f.write(RUST)
        options = ['-Z', 'unstable-options', '-C', 'symbol-mangling-version=' + mangling]
        rc, _, err = live.run([compiler, '-O', *options, '-o', program, source], timeout=100,
                              env=dict(os.environ, RUSTC_BOOTSTRAP='1'))
        check(rc == 0, 'rustc: %s', err)
        p = live.spawn([program])
        live.said(p, 'ready')
        rec, oracle = watch(live, p)
        judge(live, 'Rust, mangling ' + mangling, rec, oracle)
        waits = sleeps(rec, p.pid)
        check(len(waits) > 50, '%d sleeps', len(waits))
        for w in waits:
            names = rec.frames(w)[0]
            check(not any(re.match(r'_R|_?_ZN', f) for f in names), 'mangled: %s', names)
            text = ' '.join(names)
            check(re.search(r'nanosleep.*::sleep .*with_closure.*Sleeper.*nap.*sleeper\S*::main.* main', text),
                  'stack %s', names)
    test.__doc__ = 'C25: a generic closure that sleeps, as rustc compiles it, with %s names.' % mangling
    return test


TESTS.update({'rust_' + mangling: rust_test(mangling) for mangling in ('legacy', 'v0')})

PATHS, LEVELS = 20000, 15


def path_number(own):
    """The number that frames-paths had for this call path; None if it is none."""
    bits = [f for f in own if f in ('path_zero', 'path_one')][::-1]
    if len(bits) != LEVELS:
        return None
    return sum((f == 'path_one') << (LEVELS - 1 - i) for i, f in enumerate(bits))


def test_20000_paths(live):
    """C28: so many different stacks: each is there and is the right one, and no time is lost."""
    p = live.spawn(live.work('frames-paths %d' % PATHS), stdin=subprocess.PIPE)

    def go():
        p.stdin.write(b'x')
        p.stdin.close()
        live.said(p, 'done', timeout=60)
    rec, _ = watch(live, p, '--mode', 'time', work=go)
    slept = int(re.search(r'done slept=(\d+)', live.text(p)).group(1))
    total, folded = sum(w.blocked for w in rec.waits) / 1000, sum(v for _, v in rec.folded)
    check(abs(folded - total) <= total / 1000, 'folded %d us, the waits %d us', folded, total)
    lost = rec.summary['capture_integrity']['lost_stack_trace_count'] + rec.hidden_switches()
    naps, counts, broken = sleeps(rec, p.pid, 0), {}, 0
    for w in naps:
        number = path_number(own_frames(rec, w))
        if rec.stacks[w.ustack].ended == 'complete' and number is not None:
            counts[number] = counts.get(number, 0) + 1
        else:
            broken += 1
    live.figure('%d call paths, %d sleeps left the CPU: %d recorded, %d of them without the whole stack, %d lost and '
                'told; folded %d us of %d us', PATHS, slept, len(naps), broken, lost, folded, total)
    check(not set(counts) - set(range(PATHS)), 'paths that were never taken: %s', sorted(set(counts))[-3:])
    check(slept - lost <= len(naps) <= slept, '%d sleeps recorded, the kernel counts %d, %d told as lost',
          len(naps), slept, lost)
    check(broken <= PATHS // 1000, '%d stacks are not whole', broken)
    check(max(counts.values()) == 1, 'paths more than once: %s', [x for x in counts.items() if x[1] > 1][:3])
