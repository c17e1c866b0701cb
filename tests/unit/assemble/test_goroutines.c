/* SPDX-License-Identifier: (LGPL-2.1 OR BSD-2-Clause) */
/* Goroutines: who they are, whose children, why they wait and who wakes them, on whatever thread and stack. */
#include <criterion/criterion.h>
#include <errno.h>
#include <string.h>

#include "hits.h"

static struct rig rig;

enum { OUTER = 1, INNER, DEEP };
enum { R_NONE, R_SELECT, R_RECEIVE, R_SLEEP, R_MUTEX, R_SEMA, R_IO, R_IDLE, R_NEW, R_N };
static const char *const reasons[R_N] = { "", "select", "chan receive", "sleep", "sync.Mutex.Lock", "semacquire",
					  "IO wait", "GC worker (idle)", "a word of tomorrow" };
#define PC_SERVE 0x1000
#define PC_MAIN 0x2000
#define PC_GC 0x3000

static void start(void)
{
	rig_start(&rig, 0);
	rig_seed(&rig, 100, 100, "server");
	rig_seed(&rig, 100, 101, "server");
	cr_assert_eq(assemble_go_set(rig.a, 100, reasons, R_N), 0);
	cr_assert_eq(assemble_go_function(rig.a, 100, PC_SERVE, "main.(*server).serve"), 0);
	POINT(&rig, OUTER, .kind = OP_CALL, .class = TEXT("outer"));
	POINT(&rig, INNER, .kind = OP_IO, .class = TEXT("inner"));
	POINT(&rig, DEEP, .kind = OP_INTERNAL, .class = TEXT("deep"));
}

static void stop(void)
{
	rig_stop(&rig);
}

TestSuite(goroutines, .init = start, .fini = stop);

static const struct model_thread *entry(uint64_t goid)
{
	cr_assert(entry_of(&rig, goid), "goroutine %lu has no entry", goid);
	return &rig.m->threads[entry_of(&rig, goid)];
}

static const struct model_op *op(const char *class, unsigned n)
{
	return &rig.m->ops[op_of_class(&rig, class, n)];
}

Test(goroutines, a_life)
{
	const struct model_thread *t;
	const struct model_wait *w;

	go_birth(&rig, MS(1), 100, 1, 7, PC_SERVE);
	GO_WAIT(&rig, 7, MS(1), MS(1), US(1500), .flags = WCBPF_GO_RUNNABLE_ONLY);
	GO_WAIT(&rig, 7, MS(2), MS(5), MS(6), .reason = R_SLEEP, .flags = WCBPF_GO_WAKER_KNOWN,
		.waker_ctx = WCBPF_WAKER_TIMER, .tid = 101, .ustack_id = 9);
	go_death(&rig, MS(8), 101, 7);
	rig_stack(&rig, STACK_USER, 9, "server:time.Sleep server:main.(*server).serve");
	rig_finish(&rig, MS(10));
	t = entry(7);
	cr_expect_eq(t->parent_goid, 1);
	cr_expect(t->pid == 100 && t->tid == 101, "the thread that ran it last");
	cr_expect_str_eq(rig_str(&rig, t->comm_id), "main.(*server).serve");
	cr_expect(t->begin_ns == 1000000 && t->end_ns == 8000000 && !t->clipped && !t->has_totals);
	cr_expect_eq(rig.m->ops[t->op].goid, 7);
	cr_expect_eq(rig.m->ops[t->op].parent, rig_op_of_process(&rig, 100));
	cr_expect_str_eq(rig_str(&rig, rig.m->ops[t->op].ident_id), "goid:7");
	cr_expect_str_eq(rig_str(&rig, rig.m->ops[t->op].class_id), "main.(*server).serve");
	cr_assert_eq(rig.m->wait_n, 3);
	rig_expect_kind(&rig, 1, REASON_CPU, "runqueue");
	rig_expect_kind(&rig, 2, REASON_SLEEP, "sleep");
	w = &rig.m->waits[2];
	cr_expect(w->start_ns == 2000000 && w->end_ns == 6000000 && w->blocked_ns == 3000000 && w->runnable_ns == 1000000);
	cr_expect(w->ctx == WAKER_TIMER && w->outcome == WAIT_TIMEOUT && w->wake_ns == 5000000);
	cr_expect(w->op == t->op && w->thread == entry_of(&rig, 7));
	cr_expect_eq(model_wait_words(rig.m, w).tid, 101);
	cr_expect(rig.m->rows[w->row].parked);
	cr_expect_str_eq(rig_str(&rig, rig.m->rows[w->row].comm_id), "main.(*server).serve");
	cr_expect_eq(rig.m->integrity.recorded, 0, "no thread left the CPU");
}

/* Like a thread's from its fork to its first run: it is somebody's doing. Who merely gave way was not woken. */
Test(goroutines, who_began_it)
{
	GO_WAIT(&rig, 6, MS(0), 0, US(500), .reason = R_SELECT, .flags = WCBPF_GO_WAKE_UNSEEN);
	go_birth(&rig, MS(1), 100, 6, 7, PC_SERVE);
	GO_WAIT(&rig, 7, MS(1), MS(1), US(1500), .flags = WCBPF_GO_RUNNABLE_ONLY | WCBPF_GO_WAKER_KNOWN, .waker_goid = 6,
		.waker_tid = 100, .waker_ctx = WCBPF_WAKER_TASK);
	GO_WAIT(&rig, 7, MS(2), MS(2), MS(3), .flags = WCBPF_GO_RUNNABLE_ONLY);
	GO_WAIT(&rig, 7, MS(4), MS(4), MS(5), .flags = WCBPF_GO_RUNNABLE_ONLY | WCBPF_GO_WAKER_KNOWN, .waker_goid = 6,
		.waker_tid = 100, .waker_ctx = WCBPF_WAKER_TASK);
	rig_finish(&rig, MS(10));
	cr_assert_eq(rig.m->wait_n - 1, 4);
	for (size_t i = 1; i < rig.m->wait_n; i++) {
		const struct model_wait *w = &rig.m->waits[i];
		bool first = w->start_ns == 1000000;

		if (w->thread != entry_of(&rig, 7))
			continue;
		cr_expect_eq(rig.m->rows[w->row].reason, REASON_CPU);
		cr_expect(!w->blocked_ns && w->runnable_ns);
		cr_expect_eq(w->waker, first ? entry_of(&rig, 6) : 0, "wait %zu", i);
		cr_expect_eq(w->ctx, first ? WAKER_TASK : WAKER_NONE);
		cr_expect_eq(w->wake_ns, first ? w->start_ns : -1);
	}
}

Test(goroutines, reasons_by_gos_words)
{
	static const struct {
		uint8_t number;
		const char *stack, *kind;
		enum wait_reason reason;
	} rows[] = {
		{ R_SELECT, "m:main.f", "chan_select", REASON_SYNC },
		{ R_RECEIVE, "m:main.f", "chan_receive", REASON_SYNC },
		{ R_MUTEX, "m:sync.(*Mutex).lockSlow m:main.f", "mutex", REASON_LOCK },
		{ R_SEMA, "m:main.f", "semaphore", REASON_SYNC },
		{ R_SEMA, "m:sync.runtime_SemacquireMutex m:sync.(*Mutex).lockSlow m:sync.(*Mutex).Lock m:main.f", "mutex",
		  REASON_LOCK },
		{ R_SEMA, "m:sync.runtime_SemacquireMutex m:sync.(*Mutex).lockSlow m:sync.(*RWMutex).Lock m:main.f",
		  "rwlock", REASON_LOCK },
		{ R_SEMA, "m:sync.runtime_Semacquire m:sync.(*WaitGroup).Wait m:main.f", "waitgroup", REASON_SYNC },
		{ R_IO, "m:internal/poll.(*FD).Accept m:net.(*netFD).accept m:main.f", "accept", REASON_IO },
		{ R_IO, "m:internal/poll.(*FD).Read m:net.(*netFD).Read m:net.(*conn).Read m:main.f", "socket", REASON_IO },
		{ R_IO, "m:internal/poll.(*FD).Read m:os.(*File).Read m:main.f", "netpoll", REASON_IO },
		{ R_IDLE, "m:main.f", "go_idle", REASON_SYNC },
		{ R_NEW, "m:main.f", "a word of tomorrow", REASON_OTHER },
		{ R_N + 5, "m:main.f", "", REASON_OTHER },
	};
	enum { N = sizeof(rows) / sizeof(rows[0]) };

	for (unsigned i = 0; i < N; i++)
		GO_WAIT(&rig, 7, MS(2 * i + 1), MS(2 * i + 2), MS(2 * i + 2), .reason = rows[i].number, .ustack_id = i + 1);
	for (unsigned i = 0; i < N; i++)
		rig_stack(&rig, STACK_USER, i + 1, rows[i].stack);
	rig_finish(&rig, MS(100));
	cr_assert_eq(rig.m->wait_n - 1, N);
	for (unsigned i = 0; i < N; i++)
		rig_expect_kind(&rig, i + 1, rows[i].reason, rows[i].kind);
}

Test(goroutines, what_they_wait_on)
{
	GO_WAIT(&rig, 7, MS(1), MS(2), MS(2), .reason = R_RECEIVE, .resource = 0xc000123);
	GO_WAIT(&rig, 7, MS(3), MS(4), MS(4), .reason = R_MUTEX, .resource = 0xc000456);
	rig_finish(&rig, MS(10));
	cr_expect_str_eq(rig_str(&rig, rig.m->waits[1].ident_id), "chan:100:1000000000:0xc000123");
	cr_expect_str_eq(rig_str(&rig, rig.m->waits[2].ident_id), "", "a table of semaphores is no lock's name");
}

/* The runtime's own goroutines are told by their function, whatever they wait for. */
Test(goroutines, system_goroutines)
{
	cr_assert_eq(assemble_go_function(rig.a, 100, PC_GC, "runtime.bgsweep"), 0);
	cr_assert_eq(assemble_go_function(rig.a, 100, PC_MAIN, "runtime.main"), 0);
	go_birth(&rig, MS(1), 100, 1, 7, PC_GC);
	go_birth(&rig, MS(1), 100, 0, 1, PC_MAIN);
	GO_WAIT(&rig, 7, MS(2), MS(5), MS(6), .reason = R_RECEIVE);
	GO_WAIT(&rig, 1, MS(2), MS(5), MS(6), .reason = R_RECEIVE);
	rig_finish(&rig, MS(10));
	rig_expect_kind(&rig, 1, REASON_SYNC, "go_idle");
	rig_expect_kind(&rig, 2, REASON_SYNC, "chan_receive");
}

Test(goroutines, children_of_the_go_statement)
{
	ENTER(&rig, MS(1), OUTER, GO_FRAME(100, 7, 0xc0001000, 64));
	go_birth(&rig, MS(2), 100, 7, 8, PC_SERVE);
	go_birth(&rig, MS(3), 101, 8, 9, PC_SERVE);
	LEAVE(&rig, MS(4), OUTER, GO_FRAME(100, 7, 0xc0001000, 64));
	go_birth(&rig, MS(5), 100, 7, 10, PC_SERVE);
	ENTER(&rig, MS(6), INNER, GO_FRAME(101, 9, 0xc0002000, 64));
	ENTER(&rig, MS(6), INNER, GO_FRAME(100, 10, 0xc0003000, 64));
	LEAVE(&rig, MS(7), INNER, GO_FRAME(101, 9, 0xc0002000, 64));
	LEAVE(&rig, MS(7), INNER, GO_FRAME(100, 10, 0xc0003000, 64));
	rig_finish(&rig, MS(10));
	cr_expect_eq(op("outer", 1)->goid, 7);
	cr_expect_eq(op("inner", 1)->parent, op_of_class(&rig, "outer", 1));
	cr_expect_eq(op("inner", 2)->parent, entry(10)->op);
	cr_expect_eq(rig.m->ops[entry(9)->op].parent, op_of_class(&rig, "outer", 1), "its own op too");
	cr_expect_eq(rig.m->ops[entry(10)->op].parent, rig_op_of_process(&rig, 100));
	cr_expect_eq(entry_of(&rig, 8), 0, "nothing is to be told of it");
}

/* Half of all exits are on another thread than the entry, and stacks move: only the depth stays. */
Test(goroutines, move_between_threads_and_stacks)
{
	ENTER(&rig, MS(1), OUTER, GO_FRAME(100, 7, 0xc0001000, 64));
	ENTER(&rig, MS(1), OUTER, GO_FRAME(101, 8, 0xc0101000, 64));
	ENTER(&rig, MS(2), INNER, GO_FRAME(100, 7, 0xc0001000, 4000));
	/* both are descheduled and change places; 7's stack has grown, to another address */
	ENTER(&rig, MS(3), DEEP, GO_FRAME(101, 7, 0xc0800000, 9000));
	ENTER(&rig, MS(3), INNER, GO_FRAME(100, 8, 0xc0101000, 128));
	LEAVE(&rig, MS(4), DEEP, GO_FRAME(100, 7, 0xc0800000, 9000));
	LEAVE(&rig, MS(5), INNER, GO_FRAME(101, 7, 0xc0800000, 4000));
	LEAVE(&rig, MS(6), INNER, GO_FRAME(101, 8, 0xc0101000, 128));
	/* and shrunk below where it was */
	LEAVE(&rig, MS(7), OUTER, GO_FRAME(100, 7, 0xc0000800, 64));
	LEAVE(&rig, MS(8), OUTER, GO_FRAME(100, 8, 0xc0101000, 64));
	rig_finish(&rig, MS(10));
	cr_expect_eq(rig.m->integrity.unmatched_exits + rig.m->integrity.unwound_ops, 0);
	cr_expect(op("outer", 1)->goid == 7 && op("outer", 1)->end_ns == 7000000);
	cr_expect(op("outer", 2)->goid == 8 && op("outer", 2)->end_ns == 8000000);
	cr_expect_eq(op("deep", 1)->parent, op_of_class(&rig, "inner", 1));
	cr_expect_eq(op("inner", 1)->parent, op_of_class(&rig, "outer", 1));
	cr_expect_eq(op("inner", 2)->parent, op_of_class(&rig, "outer", 2));
	cr_expect_eq(entry(7)->tid, 100);
}

/* panic and recover; Goexit. */
Test(goroutines, unwinding)
{
	ENTER(&rig, MS(1), OUTER, GO_FRAME(100, 7, 0xc0001000, 64));
	ENTER(&rig, MS(2), INNER, GO_FRAME(100, 7, 0xc0001000, 128));
	ENTER(&rig, MS(3), DEEP, GO_FRAME(100, 7, 0xc0001000, 256));
	LEAVE(&rig, MS(4), OUTER, GO_FRAME(100, 7, 0xc0001000, 64));
	ENTER(&rig, MS(5), OUTER, GO_FRAME(100, 7, 0xc0001000, 64));
	go_death(&rig, MS(6), 100, 7);
	rig_finish(&rig, MS(10));
	cr_expect(op("inner", 1)->unwound && op("deep", 1)->unwound && !op("outer", 1)->unwound);
	cr_expect(op("outer", 2)->unwound && op("outer", 2)->end_ns == 6000000 && op("outer", 2)->outcome == OUTCOME_CANCELED);
	cr_expect_eq(rig.m->integrity.unwound_ops, 3);
	cr_expect_eq(entry(7)->end_ns, 6000000);
}

/* A thread off the CPU with a goroutine on it: it is the goroutine that waits. Without one the thread is idle. */
Test(goroutines, waits_of_their_threads)
{
	const struct model_wait *w;

	ENTER(&rig, MS(1), OUTER, GO_FRAME(100, 7, 0xc0001000, 64));
	RIG_INTERVAL(&rig, MS(2), MS(3), MS(3), .seq = 1, .goid = 7, .syscall = __NR_read);
	RIG_INTERVAL(&rig, MS(4), MS(4), MS(5), .seq = 2, .goid = 7, .syscall = -1, .flags = WCBPF_IV_PREEMPTED);
	RIG_INTERVAL(&rig, MS(6), MS(7), MS(7), .seq = 3);
	RIG_INTERVAL(&rig, MS(6), MS(7), MS(7), .seq = 1, .tid = 101, .syscall = __NR_epoll_wait, .ustack_id = 5);
	RIG_INTERVAL(&rig, MS(6), MS(7), MS(7), .seq = 1, .tid = 102, .syscall = __NR_futex, .ustack_id = 6);
	rig_stack(&rig, STACK_USER, 5, "server:runtime/internal/syscall.EpollWait server:runtime.netpoll");
	rig_stack(&rig, STACK_USER, 6, "libfoo.so:wait_for_it libfoo.so:thread_main");
	rig_finish(&rig, MS(20));
	cr_assert_eq(rig.m->wait_n, 6);
	for (size_t i = 1; i < rig.m->wait_n; i++) {
		w = &rig.m->waits[i];
		if (rig.m->threads[w->thread].goid) {
			cr_expect_eq(w->op, op_of_class(&rig, "outer", 1));
			cr_expect_not(rig.m->rows[w->row].parked);
			cr_expect_eq(model_wait_words(rig.m, w).tid, 100);
			cr_expect_str_eq(rig_str(&rig, rig.m->rows[w->row].kind_id),
					 w->runnable_ns ? "preempted" : "read");
		} else {
			cr_expect_eq(w->op, rig.m->threads[w->thread].op);
			cr_expect_str_eq(rig_str(&rig, rig.m->rows[w->row].kind_id),
					 rig.m->threads[w->thread].tid == 102 ? "futex" : "go_scheduler");
		}
	}
	cr_expect_eq(rig.m->integrity.recorded, 5);
}

Test(goroutines, who_wakes_whom)
{
	const struct model_wait *w;

	ENTER(&rig, MS(1), OUTER, GO_FRAME(100, 7, 0xc0001000, 64));
	ENTER(&rig, MS(2), INNER, GO_FRAME(101, 8, 0xc0002000, 64));
	LEAVE(&rig, US(5100), INNER, GO_FRAME(101, 8, 0xc0002000, 64));
	ENTER(&rig, US(5200), DEEP, GO_FRAME(101, 8, 0xc0002000, 64));
	/* 8 ends before 7 is seen to run again */
	LEAVE(&rig, MS(6), DEEP, GO_FRAME(101, 8, 0xc0002000, 64));
	go_death(&rig, MS(7), 101, 8);
	GO_WAIT(&rig, 7, MS(3), MS(5), MS(8), .reason = R_RECEIVE, .waker_goid = 8, .waker_tid = 101,
		.flags = WCBPF_GO_WAKER_KNOWN, .waker_ctx = WCBPF_WAKER_TASK);
	GO_WAIT(&rig, 7, MS(9), MS(10), MS(11), .reason = R_IO, .flags = WCBPF_GO_WAKER_KNOWN,
		.waker_ctx = WCBPF_WAKER_NET);
	rig_finish(&rig, MS(20));
	w = &rig.m->waits[1];
	cr_expect(w->ctx == WAKER_TASK && w->outcome == WAIT_WOKEN);
	cr_expect_eq(w->waker, entry_of(&rig, 8));
	cr_expect_eq(model_wait_waker_op(rig.m, w), op_of_class(&rig, "inner", 1));
	cr_expect_eq(w->target, op_of_class(&rig, "inner", 1), "it ended 0.1 ms after the wake");
	cr_expect_eq(w->op, op_of_class(&rig, "outer", 1));
	cr_expect(rig.m->waits[2].ctx == WAKER_NET && !rig.m->waits[2].waker && !rig.m->waits[2].target);
}

/* A choke point's wait is that of the work, which the spawner's op stands for as long as it lasts. */
Test(goroutines, waits_of_spawned_work)
{
	POINT(&rig, DEEP, .role = ASSEMBLE_ROLE_WAIT, .resource = TEXT("r"));
	ENTER(&rig, MS(1), OUTER, GO_FRAME(100, 7, 0xc0001000, 64));
	go_birth(&rig, MS(2), 100, 7, 8, PC_SERVE);
	ENTER(&rig, MS(3), DEEP, GO_FRAME(101, 8, 0xc0002000, 64));
	GO_WAIT(&rig, 8, MS(3), MS(4), MS(4), .reason = R_SELECT);
	LEAVE(&rig, MS(5), DEEP, GO_FRAME(101, 8, 0xc0002000, 64));
	GO_WAIT(&rig, 8, MS(6), MS(7), MS(7), .reason = R_SELECT);
	ENTER(&rig, MS(8), DEEP, GO_FRAME(101, 8, 0xc0002000, 64));
	LEAVE(&rig, MS(9), OUTER, GO_FRAME(100, 7, 0xc0001000, 64));
	LEAVE(&rig, MS(10), DEEP, GO_FRAME(101, 8, 0xc0002000, 64));
	rig_finish(&rig, MS(20));
	cr_assert_eq(rig.m->wait_n, 4);
	for (size_t i = 1; i < rig.m->wait_n; i++)
		cr_expect_eq(rig.m->waits[i].op, rig.m->waits[i].start_ns == 3000000 ? op_of_class(&rig, "outer", 1) :
							 entry(8)->op);
}

/* Whoever began an execution waits for it; the others have joined it. No profile need tell. */
Test(goroutines, single_flight_without_a_word_of_it)
{
	POINT(&rig, DEEP, .kind = OP_CALL_EXEC, .class = TEXT("run"), .key = TEXT("k"));
	POINT(&rig, INNER, .role = ASSEMBLE_ROLE_WAIT, .target = TEXT("k"));
	ENTER(&rig, MS(1), OUTER, GO_FRAME(100, 7, 0xc0001000, 64));
	ENTER(&rig, MS(1), OUTER, GO_FRAME(101, 8, 0xc0002000, 64));
	go_birth(&rig, MS(2), 100, 7, 9, PC_SERVE);
	ENTER(&rig, MS(3), DEEP, GO_FRAME(100, 9, 0xc0003000, 64));
	ENTER(&rig, MS(4), INNER, GO_FRAME(101, 7, 0xc0001000, 128));
	ENTER(&rig, MS(4), INNER, GO_FRAME(101, 8, 0xc0002000, 128));
	/* one that is in no op, as if at first sight */
	ENTER(&rig, MS(4), INNER, GO_FRAME(101, 10, 0xc0004000, 128));
	LEAVE(&rig, MS(5), DEEP, GO_FRAME(100, 9, 0xc0003000, 64));
	LEAVE(&rig, MS(6), INNER, GO_FRAME(101, 10, 0xc0004000, 128));
	LEAVE(&rig, MS(6), INNER, GO_FRAME(101, 8, 0xc0002000, 128));
	LEAVE(&rig, MS(6), INNER, GO_FRAME(101, 7, 0xc0001000, 128));
	LEAVE(&rig, MS(7), OUTER, GO_FRAME(101, 8, 0xc0002000, 64));
	LEAVE(&rig, MS(7), OUTER, GO_FRAME(101, 7, 0xc0001000, 64));
	rig_finish(&rig, MS(20));
	cr_assert_eq(rig.m->wait_n, 4);
	for (size_t i = 1; i < rig.m->wait_n; i++) {
		const struct model_wait *w = &rig.m->waits[i];
		uint64_t goid = rig.m->threads[w->thread].goid;

		cr_expect_eq(w->target, op_of_class(&rig, "run", 1));
		cr_expect_eq(rig.m->rows[w->row].reason, goid == 7 ? REASON_CALL_EXEC : REASON_SINGLEFLIGHT, "goroutine %lu",
			     goid);
	}
	cr_expect_eq(op("outer", 1)->outcome, OUTCOME_NONE);
	cr_expect_eq(op("outer", 2)->outcome, OUTCOME_JOINED);
}

Test(goroutines, there_before_and_after)
{
	GO_WAIT(&rig, 7, MS(0) - 5000, MS(3), MS(3), .reason = R_SELECT, .flags = WCBPF_GO_BEGAN_BEFORE);
	GO_WAIT(&rig, 7, MS(5), 0, MS(20), .reason = R_SELECT, .flags = WCBPF_GO_OPEN_AT_END);
	rig_finish(&rig, MS(20));
	cr_assert_eq(rig.m->wait_n, 3);
	cr_expect(rig.m->waits[1].clipped == CLIPPED_BEFORE && rig.m->waits[1].start_ns == 0);
	cr_expect(rig.m->waits[2].clipped == CLIPPED_AFTER && rig.m->waits[2].end_ns == 20000000);
	cr_expect(rig.m->waits[2].outcome == WAIT_OUTCOME_NONE && rig.m->waits[2].ctx == WAKER_NONE);
	cr_expect_eq(entry(7)->clipped, CLIPPED_BEFORE | CLIPPED_AFTER);
	cr_expect(rig.m->ops[entry(7)->op].open);
}

Test(goroutines, waits_that_the_process_did_not_outlive)
{
	go_birth(&rig, MS(1), 100, 1, 7, PC_SERVE);
	GO_WAIT(&rig, 7, MS(2), 0, MS(5), .reason = R_SELECT, .flags = WCBPF_GO_EXITED);
	rig_exit(&rig, MS(5), 100, 100, 9, true);
	/* when recording ended it was still among those that wait */
	GO_WAIT(&rig, 7, MS(2), 0, MS(20), .reason = R_SELECT, .flags = WCBPF_GO_OPEN_AT_END);
	rig_finish(&rig, MS(20));
	cr_assert_eq(rig.m->wait_n, 2);
	cr_expect_eq(rig.m->process_n, 2, "another process is made up");
	cr_expect(rig.m->waits[1].outcome == WAIT_KILLED && rig.m->waits[1].ctx == WAKER_NONE && !rig.m->waits[1].clipped);
	cr_expect_eq(rig.m->waits[1].end_ns, 5000000);
	cr_expect_eq(entry(7)->end_ns, 5000000);
}

/* A thread that the process's exit ended a moment before the process is no other one in that moment. */
Test(goroutines, what_waits_when_threads_end_one_by_one)
{
	go_birth(&rig, MS(1), 100, 1, 7, PC_SERVE);
	go_birth(&rig, MS(1), 101, 1, 8, PC_SERVE);
	GO_WAIT(&rig, 8, MS(2), MS(3), MS(3), .reason = R_SELECT, .tid = 101, .park_tid = 101);
	rig_exit(&rig, MS(5) - 40000, 101, 100, 0, false);
	rig_exit(&rig, MS(5) - 20000, 102, 100, 0, false);
	GO_WAIT(&rig, 7, MS(2), 0, MS(5), .reason = R_SELECT, .tid = 101, .park_tid = 101, .flags = WCBPF_GO_EXITED);
	GO_WAIT(&rig, 8, MS(4), 0, MS(5), .reason = R_SELECT, .tid = 102, .park_tid = 102, .flags = WCBPF_GO_EXITED);
	rig_exit(&rig, MS(5), 100, 100, 0, true);
	rig_finish(&rig, MS(20));
	cr_expect_eq(rig.m->wait_n - 1, 3);
	cr_expect_eq(rig.m->process_n, 2);
	cr_expect_eq(rig.m->thread_n - 1, 3 + 2, "its threads and the two, not more: %zu", rig.m->thread_n - 1);
	for (size_t i = 1; i < rig.m->thread_n; i++)
		cr_expect_leq(rig.m->threads[i].end_ns, 5000000, "tid %u", rig.m->threads[i].tid);
}

Test(goroutines, processes_they_start)
{
	struct wcbpf_fork moved = {
		.head = { .kind = WCBPF_EV_FORK, .size = sizeof(moved), .time_ns = MS(4) },
		.parent_tid = 102, .parent_tgid = 100, .tid = 152, .tgid = 152, .start_ns = MS(4), .goid = 7,
	};
	uint32_t child;

	ENTER(&rig, MS(1), OUTER, GO_FRAME(100, 7, 0xc0001000, 64));
	rig_fork(&rig, MS(2), 100, 100, 150, 150);
	rig_fork(&rig, MS(3), 101, 100, 151, 151);
	cr_assert_eq(assemble_event(rig.a, &moved.head), 0);
	LEAVE(&rig, MS(5), OUTER, GO_FRAME(101, 7, 0xc0001000, 64));
	rig_finish(&rig, MS(20));
	child = rig_op_of_process(&rig, 150);
	cr_assert_eq(rig.m->link_n, 4);
	cr_expect(rig.m->links[1].to == child && rig.m->links[1].from == op_of_class(&rig, "outer", 1));
	cr_expect_eq(rig.m->links[2].from, rig_op_of_thread(&rig, 101), "no goroutine is known to run there");
	cr_expect_eq(rig.m->links[3].from, op_of_class(&rig, "outer", 1), "the kernel's side knew");
}

/* New threads are the runtime's doing, not that of whoever happened to be running. */
Test(goroutines, their_threads_are_nobodys)
{
	struct where c = { .tid = 110, .tgid = 100, .cfa = 5000 };

	ENTER(&rig, MS(1), OUTER, GO_FRAME(100, 7, 0xc0001000, 64));
	rig_fork(&rig, MS(2), 100, 100, 110, 100);
	ENTER(&rig, MS(3), INNER, c);
	LEAVE(&rig, MS(4), INNER, c);
	/* but C code that a goroutine calls is the goroutine's */
	c = (struct where){ .tid = 100, .tgid = 100, .cfa = 9000 };
	ENTER(&rig, MS(5), DEEP, c);
	LEAVE(&rig, MS(6), DEEP, c);
	LEAVE(&rig, MS(7), OUTER, GO_FRAME(100, 7, 0xc0001000, 64));
	rig_finish(&rig, MS(20));
	cr_expect_eq(op("inner", 1)->parent, rig_op_of_thread(&rig, 110));
	cr_expect_eq(op("deep", 1)->parent, op_of_class(&rig, "outer", 1));
}

Test(goroutines, exec_and_exit_end_them)
{
	ENTER(&rig, MS(1), OUTER, GO_FRAME(100, 7, 0xc0001000, 64));
	rig_exec(&rig, MS(2), 100, 100, "next", "next", 5);
	/* the same number is another goroutine now */
	cr_assert_eq(assemble_go_set(rig.a, 100, reasons, R_N), 0);
	ENTER(&rig, MS(3), INNER, GO_FRAME(100, 7, 0xc0001000, 128));
	rig_exit(&rig, MS(4), 100, 100, 0, true);
	rig_finish(&rig, MS(20));
	cr_expect(op("outer", 1)->unwound && op("outer", 1)->end_ns == 2000000);
	cr_expect(op("inner", 1)->unwound && op("inner", 1)->end_ns == 4000000);
	cr_expect_neq(op("inner", 1)->parent, op_of_class(&rig, "outer", 1));
}

/* No goroutine and no file did it: a timer, if it is such a wait. */
Test(goroutines, woken_by_nobody)
{
	static const struct {
		uint8_t reason;
		uint32_t flags;
		enum waker_ctx ctx;
	} cases[] = {
		{ R_SLEEP, 0, WAKER_TIMER },	{ R_RECEIVE, 0, WAKER_TIMER },
		{ R_SELECT, 0, WAKER_TIMER },	{ R_IO, 0, WAKER_TIMER }, /* a deadline */
		{ R_IDLE, 0, WAKER_UNKNOWN },	{ R_MUTEX, 0, WAKER_UNKNOWN },
		{ R_NEW, 0, WAKER_UNKNOWN },
		{ R_IO, WCBPF_GO_BEGAN_BEFORE, WAKER_UNKNOWN }, /* whose file isn't known */
		{ R_SLEEP, WCBPF_GO_BEGAN_BEFORE, WAKER_TIMER },
	};
	const size_t n = sizeof(cases) / sizeof(cases[0]);

	for (size_t i = 0; i < n; i++)
		GO_WAIT(&rig, 10 + i, MS(1), MS(2 + i), MS(3 + i), .reason = cases[i].reason,
			.flags = WCBPF_GO_WAKER_KNOWN | cases[i].flags, .waker_ctx = WCBPF_WAKER_TIMER);
	rig_finish(&rig, MS(50));
	cr_assert_eq(rig.m->wait_n, n + 1);
	for (size_t i = 0; i < n; i++)
		cr_expect_eq(rig.m->waits[i + 1].ctx, cases[i].ctx, "%zu", i);
}

/* Where only ops tell of goroutines, a thread's own doings are nobody's: it may run any other by now. */
Test(goroutines, not_followed)
{
	assemble_go_unfollow(rig.a);
	ENTER(&rig, MS(1), OUTER, GO_FRAME(100, 7, 0xc0001000, 64));
	ENTER(&rig, MS(2), INNER, GO_FRAME(101, 8, 0xc0009000, 64));
	LEAVE(&rig, MS(3), INNER, GO_FRAME(101, 8, 0xc0009000, 64));
	rig_fork(&rig, MS(4), 100, 100, 200, 200);
	LEAVE(&rig, MS(5), OUTER, GO_FRAME(101, 7, 0xc0001000, 64));
	rig_finish(&rig, MS(20));
	cr_expect(op("outer", 1)->goid == 7 && op("outer", 1)->end_ns == 5000000 && !op("outer", 1)->unwound);
	cr_expect(op("inner", 1)->goid == 8 && op("inner", 1)->end_ns == 3000000 && !op("inner", 1)->unwound);
	cr_expect_eq(op("inner", 1)->parent, rig.m->threads[entry_of(&rig, 8)].op);
	cr_expect_gt(rig.m->link_n, 1);
	for (size_t i = 1; i < rig.m->link_n; i++)
		cr_expect_neq(rig.m->links[i].from, op_of_class(&rig, "outer", 1), "a process that it did not start");
}

Test(goroutines, more_than_have_a_place)
{
	rig_stop(&rig);
	rig_start(&rig, 100);
	rig_seed(&rig, 100, 100, "server");
	assemble_go_set(rig.a, 100, reasons, R_N);
	for (uint64_t g = 1; g <= 1000; g++) {
		go_birth(&rig, MS(g), 100, 1, g + 1, PC_SERVE);
		GO_WAIT(&rig, g + 1, MS(g), MS(g + 1), MS(g + 1), .reason = R_SELECT);
		go_death(&rig, MS(g + 1), 100, g + 1);
	}
	rig_finish(&rig, MS(2000));
	cr_expect_eq(rig.m->goroutine_n, (100 - 2) / 5, "three places, one of its op, one of its wait");
	cr_expect_eq(rig.m->thread_n - 1, rig.m->goroutine_n + 1);
	cr_expect_gt(rig.m->integrity.dropped_events, 900);
	for (size_t i = 1; i < rig.m->row_n; i++)
		cr_expect_eq(rig.m->rows[i].count, 1000, "totals go on");
}

/* Those that ended are forgotten in time; who woke whom is then not known, never wrong. */
Test(goroutines, many_that_end)
{
	for (uint64_t g = 10; g < 40000; g++)
		go_birth(&rig, US(g), 100, 1, g, PC_SERVE), go_death(&rig, US(g), 100, g);
	ENTER(&rig, MS(50), OUTER, GO_FRAME(100, 50000, 0xc0001000, 64));
	go_death(&rig, MS(51), 100, 50000);
	GO_WAIT(&rig, 50001, MS(50), MS(51), MS(52), .reason = R_SELECT, .waker_goid = 50000, .waker_tid = 100,
		.flags = WCBPF_GO_WAKER_KNOWN, .waker_ctx = WCBPF_WAKER_TASK);
	GO_WAIT(&rig, 50001, MS(53), MS(54), MS(55), .reason = R_SELECT, .waker_goid = 12, .waker_tid = 100,
		.flags = WCBPF_GO_WAKER_KNOWN, .waker_ctx = WCBPF_WAKER_TASK);
	rig_finish(&rig, MS(60));
	cr_expect_eq(rig.m->waits[1].waker, entry_of(&rig, 50000));
	cr_expect_eq(rig.m->waits[2].waker, 0);
	cr_expect_eq(rig.m->goroutine_n, 2);
}

Test(goroutines, events_that_make_no_sense)
{
	cr_expect_eq(go_birth(&rig, MS(1), 100, 1, 0, PC_SERVE), -EBADMSG);
	cr_expect_eq(go_death(&rig, MS(1), 0, 7), -EBADMSG);
	cr_expect_eq(GO_WAIT(&rig, 0, MS(1), MS(2), MS(2)), -EBADMSG);
	cr_expect_eq(GO_WAIT(&rig, 7, MS(3), MS(2), MS(2)), 0, "ends before it begins");
	cr_expect_eq(go_death(&rig, MS(1), 100, 99), 0, "never seen");
	rig_finish(&rig, MS(10));
	cr_expect_eq(rig.m->integrity.lost_go_events, 4);
	cr_expect_eq(rig.m->wait_n, 1);
}
