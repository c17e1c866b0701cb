/* SPDX-License-Identifier: (LGPL-2.1 OR BSD-2-Clause) */
/*
 * A recording of 1000 ns small enough to add up by hand:
 *
 *   thread 1 "main"   pid 10 tid 10  life 1000: cpu 100, runnable 20, blocked 870, lost 10
 *   thread 2 "worker" pid 10 tid 11  life  800: cpu 500, runnable 50, blocked 250, lost 0
 *   thread 3 "other"  pid 20 tid 20  no totals
 *
 *   wait  thread  reason kind     resource  blocked runnable  woken by
 *     1   main    sync   condvar  cv            600        5  worker        idle
 *     2   main    lock   mutex    m1            270       10  worker
 *     3   worker  lock   mutex    m1            100        0  tid 99
 *     4   worker  io     fsync    /log          150        5  disk
 *     5   worker  cpu    -        -               0       45  -
 *     6   other   exec   child    -              80        0  -             idle, target op "true"
 *     7   other   sleep  -        -              30        0  timer
 *     8   other   lock   mutex    m2             40        0  nobody: open at the end
 */
#include <criterion/criterion.h>
#include <stdlib.h>
#include <string.h>

#include "analyze/analyze.h"

static uint32_t str(struct model *m, const char *s)
{
	uint32_t id;

	cr_assert(strtab_intern(m->strings, s, &id) == 0);
	return id;
}

static uint32_t add_row(struct model *m, const char *comm, enum wait_reason reason, const char *kind, uint32_t stack)
{
	uint32_t i;

	cr_assert(model_row_add(m, &i) == 0);
	m->rows[i] = (struct model_row){ .comm_id = str(m, comm), .reason = reason, .kind_id = str(m, kind),
					 .ustack = stack, .syscall = -1 };
	return i;
}

static void add_wait(struct model *m, uint32_t row, struct model_wait w)
{
	uint32_t i;

	cr_assert(model_wait_add(m, &i) == 0);
	w.row = row;
	w.op = w.thread;
	m->waits[i] = w;
	m->rows[row].count++;
	m->rows[row].blocked_ns += (uint64_t)w.blocked_ns;
	m->rows[row].runnable_ns += (uint64_t)w.runnable_ns;
}

static void add_thread(struct model *m, struct model_thread t)
{
	uint32_t i;

	cr_assert(model_op_add(m, &i) == 0);
	m->ops[i] = (struct model_op){ .id = i, .kind = OP_INTERNAL, .pid = t.pid, .tid = t.tid, .class_id = t.comm_id };
	cr_assert(model_thread_add(m, &i) == 0);
	m->threads[i] = t;
}

static uint32_t outsider(struct model *m, uint32_t tid)
{
	uint32_t waker;

	cr_assert(model_waker_intern(m, 0, tid, 0, &waker) == 0);
	return waker;
}

static struct model *recording(void)
{
	uint32_t target, stack, mutex_row;
	struct model *m;

	cr_assert(model_new(&m) == 0);
	m->end_ns = 1000;
	add_thread(m, (struct model_thread){ .pid = 10, .tid = 10, .comm_id = str(m, "main"), .end_ns = 1000,
					     .oncpu_ns = 100, .runnable_ns = 20, .blocked_ns = 870, .lost_ns = 10,
					     .process = 1, .has_totals = true });
	add_thread(m, (struct model_thread){ .pid = 10, .tid = 11, .comm_id = str(m, "worker"), .begin_ns = 100,
					     .end_ns = 900, .oncpu_ns = 500, .runnable_ns = 50, .blocked_ns = 250,
					     .process = 1, .has_totals = true });
	add_thread(m, (struct model_thread){ .pid = 20, .tid = 20, .comm_id = str(m, "other"), .end_ns = 1000,
					     .process = 2 });
	cr_assert(model_process_add(m, &target) == 0 && model_process_add(m, &target) == 0);
	cr_assert(model_op_add(m, &target) == 0);
	m->ops[target] = (struct model_op){ .id = target, .kind = OP_EXEC, .class_id = str(m, "true") };
	cr_assert(model_stack_add(m, STACK_USER, &stack) == 0);
	cr_assert(model_stack_set(m, stack, "complete", &(struct model_frame){ .name_id = str(m, "lock") }, 1) == 0);

	add_wait(m, add_row(m, "main", REASON_SYNC, "condvar", 0),
		 (struct model_wait){ .thread = 1, .blocked_ns = 600, .runnable_ns = 5, .ident_id = str(m, "cv"),
				      .waker = 2, .ctx = WAKER_TASK });
	mutex_row = add_row(m, "main", REASON_LOCK, "mutex", stack);
	add_wait(m, mutex_row, (struct model_wait){ .thread = 1, .blocked_ns = 270, .runnable_ns = 10,
						    .ident_id = str(m, "m1"), .waker = 2 });
	add_wait(m, add_row(m, "worker", REASON_LOCK, "mutex", stack),
		 (struct model_wait){ .thread = 2, .blocked_ns = 100, .ident_id = str(m, "m1"), .outside_waker = outsider(m, 99),
				      .ctx = WAKER_TASK });
	add_wait(m, add_row(m, "worker", REASON_IO, "fsync", 0),
		 (struct model_wait){ .thread = 2, .blocked_ns = 150, .runnable_ns = 5, .ident_id = str(m, "/log"),
				      .ctx = WAKER_DISK, .outside_waker = outsider(m, 12345) });
	add_wait(m, add_row(m, "worker", REASON_CPU, "", 0), (struct model_wait){ .thread = 2, .runnable_ns = 45 });
	add_wait(m, add_row(m, "other", REASON_EXEC, "child", 0),
		 (struct model_wait){ .thread = 3, .blocked_ns = 80, .target = target });
	add_wait(m, add_row(m, "other", REASON_SLEEP, "", 0),
		 (struct model_wait){ .thread = 3, .blocked_ns = 30, .ctx = WAKER_TIMER });
	add_wait(m, add_row(m, "other", REASON_LOCK, "mutex", 0),
		 (struct model_wait){ .thread = 3, .blocked_ns = 40, .ident_id = str(m, "m2"), .wake_ns = -1,
				      .clipped = CLIPPED_AFTER });
	return m;
}

struct expected {
	const char *name;
	uint64_t count, blocked_ns, runnable_ns, longest_ns;
};

static void table_is(struct model *m, enum analyze_by by, const struct analyze_filter *f, const struct expected *x,
		     size_t n)
{
	struct analyze_table t;

	cr_assert(analyze_group_filtered(m, by, f, &t) == 0);
	cr_expect(t.n == n, "%zu lines, expected %zu", t.n, n);
	for (size_t i = 0; i < n && i < t.n; i++) {
		const struct analyze_entry *e = &t.entries[i];

		cr_expect(strcmp(strtab_str(m->strings, e->name_id), x[i].name) == 0, "line %zu: '%s', expected '%s'", i,
			  strtab_str(m->strings, e->name_id), x[i].name);
		cr_expect(e->count == x[i].count && e->blocked_ns == x[i].blocked_ns &&
			  e->runnable_ns == x[i].runnable_ns && e->longest_ns == x[i].longest_ns,
			  "line %zu '%s': %lu %lu %lu %lu", i, x[i].name, e->count, e->blocked_ns, e->runnable_ns,
			  e->longest_ns);
	}
	analyze_table_done(&t);
}
#define TABLE_IS(m, by, f, ...)                                                             \
	do {                                                                                \
		const struct expected x[] = { __VA_ARGS__ };                                \
		table_is(m, by, f, x, sizeof(x) / sizeof(x[0]));                            \
	} while (0)

Test(analyze, by_resource)
{
	struct model *m = recording();

	TABLE_IS(m, ANALYZE_BY_RESOURCE, NULL, { "cv", 1, 600, 5, 600 }, { "m1", 2, 370, 10, 270 },
		 { "/log", 1, 150, 5, 150 }, { "true", 1, 80, 0, 80 }, { "m2", 1, 40, 0, 40 }, { "", 1, 30, 0, 30 },
		 { "", 1, 0, 45, 45 });
	model_free(m);
}

/* A name with two kinds of wait is two lines: reading and syncing one file are not one trouble. */
Test(analyze, by_resource_keeps_kinds_apart)
{
	struct model *m = recording();

	add_wait(m, add_row(m, "other", REASON_IO, "file", 0),
		 (struct model_wait){ .thread = 3, .blocked_ns = 149, .ident_id = str(m, "/log") });
	TABLE_IS(m, ANALYZE_BY_RESOURCE, (&(struct analyze_filter){ .idle = ANALYZE_IDLE_NOT }), { "m1", 2, 370, 10, 270 },
		 { "/log", 1, 150, 5, 150 }, { "/log", 1, 149, 0, 149 }, { "m2", 1, 40, 0, 40 }, { "", 1, 30, 0, 30 },
		 { "", 1, 0, 45, 45 });
	model_free(m);
}

Test(analyze, by_waker)
{
	struct model *m = recording();

	TABLE_IS(m, ANALYZE_BY_WAKER, NULL, { "worker (tid 11)", 2, 870, 15, 600 }, { "disk interrupt", 1, 150, 5, 150 },
		 { "tid 99 (not recorded)", 1, 100, 0, 100 }, { "end of true", 1, 80, 0, 80 },
		 { "nobody yet (open at the end)", 1, 40, 0, 40 }, { "timer", 1, 30, 0, 30 });
	model_free(m);
}

/* Those who are no threads of the recording are told by name and number, as far as these are known. */
Test(analyze, by_waker_from_outside)
{
	struct model *m = recording();
	uint32_t row = add_row(m, "other", REASON_IO, "socket", 0), waker[3];

	cr_assert(model_waker_intern(m, 70, 71, str(m, "client"), &waker[0]) == 0);
	cr_assert(model_waker_intern(m, 0, 0, str(m, "client"), &waker[1]) == 0);
	cr_assert(model_waker_intern(m, 70, 72, str(m, "client"), &waker[2]) == 0);
	for (unsigned i = 0; i < 4; i++)
		add_wait(m, row, (struct model_wait){ .thread = 3, .blocked_ns = 5000 >> i, .ctx = WAKER_TASK,
						      .outside_waker = waker[i % 3] });
	TABLE_IS(m, ANALYZE_BY_WAKER, NULL, { "client (tid 71, not recorded)", 2, 5625, 0, 5000 },
		 { "client (not recorded)", 1, 2500, 0, 2500 }, { "client (tid 72, not recorded)", 1, 1250, 0, 1250 },
		 { "worker (tid 11)", 2, 870, 15, 600 }, { "disk interrupt", 1, 150, 5, 150 },
		 { "tid 99 (not recorded)", 1, 100, 0, 100 }, { "end of true", 1, 80, 0, 80 },
		 { "nobody yet (open at the end)", 1, 40, 0, 40 }, { "timer", 1, 30, 0, 30 });
	model_free(m);
}

/* In two steps: the first leaves the model's strings alone, for others read them meanwhile. */
Test(analyze, counted_before_it_is_named)
{
	struct model *m = recording();
	size_t string_n = strtab_n(m->strings);
	struct analyze_table t, whole;

	cr_assert(analyze_group_count(m, ANALYZE_BY_WAKER, NULL, &t) == 0);
	cr_assert(t.n > 3 && strtab_n(m->strings) == string_n);
	cr_assert(analyze_group_name(m, ANALYZE_BY_WAKER, &t) == 0);
	cr_assert(strtab_n(m->strings) > string_n);
	cr_expect_str_eq(strtab_str(m->strings, t.entries[0].name_id), "worker (tid 11)");
	cr_assert(analyze_group(m, ANALYZE_BY_WAKER, &whole) == 0 && whole.n == t.n);
	for (size_t i = 0; i < t.n; i++)
		cr_expect(t.entries[i].name_id == whole.entries[i].name_id && t.entries[i].count == whole.entries[i].count &&
			  t.entries[i].blocked_ns == whole.entries[i].blocked_ns, "entry %zu", i);
	analyze_table_done(&t);
	analyze_table_done(&whole);
	model_free(m);
}

Test(analyze, by_stack)
{
	struct model *m = recording();
	struct analyze_table t;

	cr_assert(analyze_group(m, ANALYZE_BY_STACK, &t) == 0);
	cr_assert(t.n == 2);
	/* No stack: 600 + 150 + 80 + 30 + 40; the one stack: 270 + 100. */
	cr_expect(t.entries[0].stack_u == 0 && t.entries[0].blocked_ns == 900 && t.entries[0].count == 5);
	cr_expect(t.entries[1].stack_u == 1 && t.entries[1].blocked_ns == 370 && t.entries[1].count == 2);
	analyze_table_done(&t);
	model_free(m);
}

static uint32_t add_stack(struct model *m, enum stack_side side, const char *const *names, size_t n, uint32_t module)
{
	struct model_frame frames[4];
	uint32_t i;

	for (size_t k = 0; k < n; k++)
		frames[k] = (struct model_frame){ .name_id = str(m, names[k]), .module = module, .address = 100 * module + k };
	cr_assert(model_stack_add(m, side, &i) == 0 && model_stack_set(m, i, "complete", frames, n) == 0);
	return i;
}

/* One program in two processes: other modules and addresses, the same names. */
Test(analyze, stacks_that_read_the_same_are_one)
{
	static const char *const reading[] = { "read", "main" }, *const writing[] = { "write", "main" };
	static const char *const kernel_a[] = { "schedule", "pipe_read" }, *const kernel_b[] = { "schedule", "sock_read" };
	static const char *const nameless[] = { "" };
	uint32_t module, kstacks[2], ustacks[5];
	struct analyze_table t;
	struct model *m;

	cr_assert(model_new(&m) == 0);
	for (int i = 0; i < 3; i++) {
		cr_assert(model_module_add(m, &module) == 0);
		m->modules[module].path_id = str(m, module == 3 ? "/bin/b" : "/bin/a");
	}
	kstacks[0] = add_stack(m, STACK_KERNEL, kernel_a, 2, 0);
	kstacks[1] = add_stack(m, STACK_KERNEL, kernel_b, 2, 0);
	ustacks[0] = add_stack(m, STACK_USER, reading, 2, 1);
	ustacks[1] = add_stack(m, STACK_USER, reading, 2, 2);
	ustacks[2] = add_stack(m, STACK_USER, writing, 2, 1);
	ustacks[3] = add_stack(m, STACK_USER, nameless, 1, 1);
	ustacks[4] = add_stack(m, STACK_USER, nameless, 1, 3);
	for (uint32_t i = 0; i < 5; i++) {
		uint32_t row = add_row(m, "x", REASON_IO, "pipe", ustacks[i]);

		m->rows[row].kstack = kstacks[i == 1];
		add_wait(m, row, (struct model_wait){ .blocked_ns = 1 << i });
	}
	/* By caller: reading 1 + 2, writing 4, the two without names apart: 8, 16. */
	cr_assert(analyze_group(m, ANALYZE_BY_CALLER, &t) == 0);
	cr_assert(t.n == 4);
	cr_expect(t.entries[0].blocked_ns == 16 && t.entries[1].blocked_ns == 8 && t.entries[2].blocked_ns == 4 &&
		  t.entries[3].blocked_ns == 3 && t.entries[3].count == 2);
	analyze_table_done(&t);
	/* With the kernel's side the two reads differ. */
	cr_assert(analyze_group(m, ANALYZE_BY_STACK, &t) == 0);
	cr_expect(t.n == 5);
	analyze_table_done(&t);
	model_free(m);
}

Test(analyze, by_thread_and_by_op)
{
	struct model *m = recording();

	TABLE_IS(m, ANALYZE_BY_THREAD, NULL, { "main (tid 10)", 2, 870, 15, 600 }, { "worker (tid 11)", 2, 250, 5, 150 },
		 { "other (tid 20)", 3, 150, 0, 80 });
	TABLE_IS(m, ANALYZE_BY_OP_CLASS, NULL, { "internal main", 2, 870, 15, 600 },
		 { "internal worker", 2, 250, 5, 150 }, { "internal other", 3, 150, 0, 80 });
	model_free(m);
}

Test(analyze, by_kind)
{
	struct model *m = recording();

	TABLE_IS(m, ANALYZE_BY_KIND, NULL, { "condvar", 1, 600, 5, 600 }, { "mutex", 3, 410, 10, 270 },
		 { "fsync", 1, 150, 5, 150 }, { "child", 1, 80, 0, 80 }, { "", 1, 30, 0, 30 }, { "", 1, 0, 45, 45 });
	model_free(m);
}

Test(analyze, idle_by_design)
{
	struct model *m = recording();

	TABLE_IS(m, ANALYZE_BY_KIND, (&(struct analyze_filter){ .idle = ANALYZE_IDLE_ONLY }), { "condvar", 1, 600, 5, 600 },
		 { "child", 1, 80, 0, 80 });
	TABLE_IS(m, ANALYZE_BY_KIND, (&(struct analyze_filter){ .idle = ANALYZE_IDLE_NOT }), { "mutex", 3, 410, 10, 270 },
		 { "fsync", 1, 150, 5, 150 }, { "", 1, 30, 0, 30 }, { "", 1, 0, 45, 45 });
	model_free(m);
}

struct idle_case {
	enum wait_reason reason;
	const char *kind;
	bool idle, idle_if_timed_out;
};

Test(analyze, what_is_idle)
{
	static const struct idle_case cases[] = {
		{ REASON_SYNC, "condvar", true, true },	    { REASON_SYNC, "join", true, true },
		{ REASON_SYNC, "barrier", false, false },   { REASON_SYNC, "semaphore", false, false },
		{ REASON_SYNC, "futex", false, false },	    { REASON_POLL, "epoll", true, true },
		{ REASON_POLL, "poll", true, false },	    { REASON_POLL, "select", true, false },
		{ REASON_POLL, "", true, true },	    { REASON_SLEEP, "sleep", false, false },
		{ REASON_SLEEP, "", false, false },	    { REASON_EXEC, "child", true, true },
		{ REASON_EXEC, "", false, false },	    { REASON_LOCK, "mutex", false, false },
		{ REASON_IO, "socket", false, false },	    { REASON_IO, "accept", true, true },
		{ REASON_IO, "timerfd", false, false },	    { REASON_CPU, "", false, false },
		{ REASON_CPU, "condvar", false, false },    { REASON_CALL_EXEC, "", false, false },
		{ REASON_STOPPED, "stopped", true, true },  { REASON_SIGNAL, "", true, true },
		{ REASON_FAULT, "page_fault", false, false },
	};
	struct model *m;

	cr_assert(model_new(&m) == 0);
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct model_wait w = { .row = add_row(m, "x", cases[i].reason, cases[i].kind, 0), .outcome = WAIT_WOKEN };

		cr_expect(analyze_wait_is_idle(m, &w) == cases[i].idle, "%s %s", wait_reason_name(cases[i].reason),
			  cases[i].kind);
		w.outcome = WAIT_TIMEOUT;
		cr_expect(analyze_wait_is_idle(m, &w) == cases[i].idle_if_timed_out, "%s %s, timed out",
			  wait_reason_name(cases[i].reason), cases[i].kind);
	}
	model_free(m);
}

/* One kind of which some waits are idle and some are not: the sums keep them apart. */
Test(analyze, partly_idle)
{
	struct model *m = recording();
	uint32_t row = add_row(m, "other", REASON_POLL, "poll", 0);
	struct analyze_table t;
	bool found = false;

	add_wait(m, row, (struct model_wait){ .thread = 3, .blocked_ns = 7, .outcome = WAIT_WOKEN });
	add_wait(m, row, (struct model_wait){ .thread = 3, .blocked_ns = 11, .outcome = WAIT_TIMEOUT });
	cr_assert(analyze_group(m, ANALYZE_BY_KIND, &t) == 0);
	for (size_t i = 0; i < t.n; i++) {
		if (t.entries[i].reason != REASON_POLL)
			continue;
		found = true;
		cr_expect(!t.entries[i].idle && t.entries[i].idle_count == 1 && t.entries[i].idle_ns == 7 &&
			  t.entries[i].count == 2 && t.entries[i].blocked_ns == 18);
	}
	cr_expect(found);
	analyze_table_done(&t);
	model_free(m);
}

/* The longest is known to be cut, or known to be whole, whichever of several waits it is. */
Test(analyze, longest_is_cut)
{
	static const struct {
		uint8_t clipped[2];
		bool cut;
	} cases[] = { { { 0, 0 }, false }, { { 0, CLIPPED_BEFORE }, true }, { { 0, CLIPPED_AFTER }, true },
		      { { CLIPPED_AFTER, 0 }, false } };

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct analyze_table t;
		struct model *m;
		uint32_t row;

		cr_assert(model_new(&m) == 0);
		row = add_row(m, "x", REASON_LOCK, "mutex", 0);
		add_wait(m, row, (struct model_wait){ .blocked_ns = 10, .clipped = cases[i].clipped[0] });
		add_wait(m, row, (struct model_wait){ .blocked_ns = 20, .clipped = cases[i].clipped[1] });
		cr_assert(analyze_group(m, ANALYZE_BY_KIND, &t) == 0);
		cr_expect(t.n == 1 && t.entries[0].longest_ns == 20 && t.entries[0].longest_cut == cases[i].cut, "%zu", i);
		analyze_table_done(&t);
		model_free(m);
	}
}

/* Wait 8 and, longer, an idle one; not the one that was woken and had not run yet, nor what is merely preempted. */
Test(analyze, open_waits)
{
	struct model *m = recording();
	const uint32_t tid = 20;
	uint32_t *waits = NULL;
	size_t n = 0;

	add_wait(m, add_row(m, "main", REASON_SYNC, "condvar", 0),
		 (struct model_wait){ .thread = 1, .blocked_ns = 90, .wake_ns = -1, .clipped = CLIPPED_AFTER });
	add_wait(m, add_row(m, "worker", REASON_LOCK, "mutex", 0),
		 (struct model_wait){ .thread = 2, .blocked_ns = 95, .wake_ns = 990, .clipped = CLIPPED_AFTER });
	add_wait(m, add_row(m, "worker", REASON_CPU, "", 0),
		 (struct model_wait){ .thread = 2, .runnable_ns = 10, .wake_ns = -1, .clipped = CLIPPED_AFTER });
	cr_assert(analyze_open_waits(m, NULL, &waits, &n) == 0);
	cr_expect(n == 2 && waits[0] == 9 && waits[1] == 8);
	free(waits);
	cr_assert(analyze_open_waits(m, &(struct analyze_filter){ .idle = ANALYZE_IDLE_NOT }, &waits, &n) == 0);
	cr_expect(n == 1 && waits[0] == 8);
	free(waits);
	cr_assert(analyze_open_waits(m, &(struct analyze_filter){ .tids = &tid, .tid_n = 1 }, &waits, &n) == 0);
	cr_expect(n == 1 && waits[0] == 8);
	free(waits);
	model_free(m);
}

Test(analyze, filters)
{
	struct model *m = recording();
	const uint32_t tid = 11, pids[] = { 7, 10 };

	TABLE_IS(m, ANALYZE_BY_KIND, (&(struct analyze_filter){ .tids = &tid, .tid_n = 1 }), { "fsync", 1, 150, 5, 150 },
		 { "mutex", 1, 100, 0, 100 }, { "", 1, 0, 45, 45 });
	TABLE_IS(m, ANALYZE_BY_THREAD, (&(struct analyze_filter){ .pids = pids, .pid_n = 2 }),
		 { "main (tid 10)", 2, 870, 15, 600 }, { "worker (tid 11)", 2, 250, 5, 150 });
	TABLE_IS(m, ANALYZE_BY_THREAD, (&(struct analyze_filter){ .comm = "other" }), { "other (tid 20)", 3, 150, 0, 80 });
	table_is(m, ANALYZE_BY_THREAD, &(struct analyze_filter){ .comm = "main", .pids = pids, .pid_n = 1 }, NULL, 0);
	model_free(m);
}

Test(analyze, time_of_all)
{
	struct model *m = recording();
	struct analyze_time t;

	analyze_time(m, &t);
	cr_expect(t.known && t.thread_n == 3 && t.process_n == 2);
	cr_expect(t.lifetime_ns == 1800 && t.oncpu_ns == 600 && t.runnable_ns == 70 && t.blocked_ns == 1120 &&
		  t.lost_ns == 10);
	cr_expect(t.by_reason_ns[REASON_SYNC] == 600 && t.by_reason_ns[REASON_LOCK] == 410 &&
		  t.by_reason_ns[REASON_IO] == 150 && t.by_reason_ns[REASON_CPU] == 45 &&
		  t.by_reason_ns[REASON_EXEC] == 80 && t.by_reason_ns[REASON_SLEEP] == 30 &&
		  t.by_reason_ns[REASON_POLL] == 0);
	cr_expect(t.count_by_reason[REASON_LOCK] == 3 && t.count_by_reason[REASON_CPU] == 1);
	model_free(m);
}

/* Totals go beyond the events: rows count what found no place in waits. */
Test(analyze, reasons_count_beyond_the_event_cap)
{
	struct model *m = recording();
	struct analyze_time t;

	m->rows[m->waits[4].row].count += 1000;
	m->rows[m->waits[4].row].blocked_ns += 50000;
	analyze_time(m, &t);
	cr_expect(t.by_reason_ns[REASON_IO] == 50150 && t.count_by_reason[REASON_IO] == 1001);
	model_free(m);
}

Test(analyze, time_filtered)
{
	struct model *m = recording();
	const uint32_t tid = 11;
	struct analyze_time t;

	cr_assert(analyze_time_filtered(m, (&(struct analyze_filter){ .tids = &tid, .tid_n = 1,
								      .idle = ANALYZE_IDLE_ONLY }), &t) == 0);
	cr_expect(t.known && t.thread_n == 1 && t.process_n == 1 && t.lifetime_ns == 800 && t.oncpu_ns == 500);
	cr_expect(t.by_reason_ns[REASON_IO] == 150 && t.by_reason_ns[REASON_LOCK] == 100 &&
		  t.by_reason_ns[REASON_CPU] == 45 && t.by_reason_ns[REASON_SYNC] == 0);
	model_free(m);
}

/* A dump without thread records: the waits are all there is. */
Test(analyze, time_without_threads)
{
	struct model *m = recording();
	struct analyze_time t;

	m->thread_n = m->process_n = 1;
	for (size_t i = 1; i < m->wait_n; i++)
		m->waits[i].thread = 0;
	analyze_time(m, &t);
	cr_expect(!t.known && t.thread_n == 0 && t.process_n == 0);
	cr_expect(t.blocked_ns == 600 + 270 + 100 + 150 + 80 + 30 + 40 && t.runnable_ns == 5 + 10 + 5 + 45);
	TABLE_IS(m, ANALYZE_BY_THREAD, NULL, { "main", 2, 870, 15, 600 }, { "worker", 2, 250, 5, 150 },
		 { "other", 3, 150, 0, 80 });
	model_free(m);
}

Test(analyze, an_empty_model)
{
	struct analyze_table t;
	struct analyze_time time;
	struct model *m;

	cr_assert(model_new(&m) == 0);
	for (int by = ANALYZE_BY_RESOURCE; by <= ANALYZE_BY_KIND; by++) {
		cr_assert(analyze_group(m, by, &t) == 0);
		cr_expect(t.n == 0);
		analyze_table_done(&t);
	}
	analyze_time(m, &time);
	cr_expect(!time.known && !time.lifetime_ns);
	model_free(m);
}
