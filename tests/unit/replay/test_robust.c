/* SPDX-License-Identifier: (LGPL-2.1 OR BSD-2-Clause) */
/* Recordings that are large, deep, empty or nonsense. */
#include <criterion/criterion.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "dump/dump.h"
#include "tests/bench/generate.h"
#include "rig.h"

/* Everything the door has, on one model. */
static void ask_everything(const struct model *m)
{
	struct replay_savings_options o = { .e2_top = 5, .wcprof = true };
	struct replay_change c = { .what = REPLAY_CPUS, .factor = 3 };
	struct replay_scenario s = { .changes = &c, .n = 1 };
	struct replay *r;
	struct replay_saving *savings;
	struct replay_runqueue *runqueues;
	struct replay_stretch *path;
	struct replay_blame *blames;
	struct replay_piece *pieces;
	struct replay_outcome outcome;
	struct replay_lock *locks;
	struct replay_span *spans;
	struct replay_facts f;
	int64_t *slacks, at_ns;
	size_t n;

	cr_assert(replay_new(m, NULL, &r) == 0);
	replay_facts(r, &f);
	cr_assert(replay_path(r, &path, &n) == 0);
	at_ns = f.begin_ns;
	for (size_t i = 0; i < n; i++) {
		cr_assert(path[i].start_ns == at_ns && path[i].end_ns > at_ns);
		at_ns = path[i].end_ns;
	}
	cr_assert(at_ns == f.end_ns, "path up to %ld, end %ld", (long)at_ns, (long)f.end_ns);
	cr_assert(replay_savings(r, &o, &savings, &n) == 0);
	free(savings);
	cr_assert(replay_blames(r, &blames, &n) == 0);
	free(blames);
	cr_assert(replay_locks(r, &locks, &n) == 0);
	replay_locks_free(locks, n);
	cr_assert(replay_runqueues(r, &runqueues, &n) == 0);
	free(runqueues);
	cr_assert(replay_op_slacks(r, &slacks) == 0);
	free(slacks);
	cr_assert(replay_evaluate(r, &s, 1, REPLAY_E1 | REPLAY_E2 | REPLAY_WCPROF, &outcome) == 0);
	cr_assert(replay_op_times(r, &s, REPLAY_E2, &spans) == 0);
	free(spans);
	for (uint32_t i = 1; i < m->wait_n && i < 50; i++) {
		cr_assert(replay_wait_blame(r, i, &pieces, &n) == 0);
		free(pieces);
	}
	free(path);
	replay_free(r);
}

Test(robust, empty)
{
	struct replay_facts f;
	struct replay *r;
	struct model *m;

	cr_assert(model_new(&m) == 0);
	cr_assert(replay_new(m, NULL, &r) == 0);
	replay_facts(r, &f);
	cr_expect(f.makespan_ns == 0 && f.e1_ns == 0 && f.e2_ns == 0 && replay_class_n(r) == 0);
	replay_free(r);
	ask_everything(m);
	model_free(m);
}

static struct world small_world(unsigned seed)
{
	struct world w = { .cpu_n = 2, .slice_ns = MS, .sample_ns = 500 * US };

	for (uint32_t t = 1; t <= 4; t++)
		world_add(&w, 0, STEP_SPAWN, t, 0, 0);
	for (uint32_t t = 1; t <= 4; t++) {
		for (int i = 0; i < 8; i++) {
			world_add(&w, t, STEP_LOCK, (uint32_t)rig_pick(&seed, 1, 2), 0, 0);
			world_add(&w, t, STEP_SLEEP, 0, rig_pick(&seed, 100 * US, MS), 'i');
			world_add(&w, t, STEP_UNLOCK, w.steps[t][w.step_n[t] - 2].object, 0, 0);
			world_add(&w, t, STEP_COMPUTE, 0, rig_pick(&seed, 100 * US, 2 * MS), 'o');
			world_add(&w, t, STEP_BARRIER, 3, 4, 0);
			world_add(&w, t, STEP_STRANGER, 0, rig_pick(&seed, 10 * US, MS), 's');
		}
	}
	for (uint32_t t = 1; t <= 4; t++)
		world_add(&w, 0, STEP_JOIN, t, 0, 0);
	return w;
}

static void wait_spoil(struct model *m, unsigned *seed, struct model_wait *w)
{
	switch (rig_pick(seed, 0, 12)) {
	case 0:
		w->start_ns = rig_pick(seed, 0, w->end_ns);
		break;
	case 1:
		w->end_ns = rig_pick(seed, w->start_ns, m->end_ns);
		break;
	case 2:
		w->wake_ns = rig_pick(seed, -1, m->end_ns);
		break;
	case 3:
		w->waker = (uint32_t)rig_pick(seed, 0, (int64_t)m->thread_n - 1);
		break;
	case 4:
		w->thread = (uint32_t)rig_pick(seed, 0, (int64_t)m->thread_n - 1);
		break;
	case 5:
		w->row = (uint32_t)rig_pick(seed, 0, (int64_t)m->row_n - 1) & 0xffffff;
		break;
	case 6:
		w->ident_id = (uint32_t)rig_pick(seed, 0, (int64_t)strtab_n(m->strings) - 1);
		break;
	case 7:
		w->clipped = (uint32_t)rig_pick(seed, 0, 3) & 3;
		break;
	case 8:
		w->outcome = (uint32_t)rig_pick(seed, 0, WAIT_OUTCOME_MAX - 1) & 15;
		w->ctx = (uint32_t)rig_pick(seed, 0, WAKER_CTX_MAX - 1) & 15;
		break;
	case 9:
		w->blocked_ns = rig_pick(seed, 0, w->end_ns - w->start_ns);
		w->runnable_ns = w->end_ns - w->start_ns - w->blocked_ns;
		break;
	case 10:
		w->cpu_to = (uint16_t)rig_pick(seed, 0, UINT16_MAX);
		w->cpu_from = (uint16_t)rig_pick(seed, 0, 3);
		break;
	case 11:
		w->target = (uint32_t)rig_pick(seed, 0, (int64_t)m->op_n - 1);
		break;
	default:
		w->has_timeout = 1;
		w->timeout_ns = rig_pick(seed, 0, 3) ? rig_pick(seed, 0, m->end_ns) : INT64_MAX - rig_pick(seed, 0, 1000);
	}
}

static void model_spoil(struct model *m, unsigned *seed, int64_t times)
{
	for (int64_t i = 0; i < times; i++) {
		struct model_thread *t = &m->threads[rig_pick(seed, 1, (int64_t)m->thread_n - 1)];
		struct model_op *o = &m->ops[rig_pick(seed, 1, (int64_t)m->op_n - 1)];

		wait_spoil(m, seed, &m->waits[rig_pick(seed, 1, (int64_t)m->wait_n - 1)]);
		switch (rig_pick(seed, 0, 19)) {
		case 0:
			t->begin_ns = rig_pick(seed, 0, t->end_ns);
			break;
		case 1:
			t->end_ns = rig_pick(seed, t->begin_ns, m->end_ns);
			break;
		case 2:
			t->clipped = (uint8_t)rig_pick(seed, 0, 3);
			break;
		case 3:
			t->cpu_allowed_n = (uint32_t)rig_pick(seed, 0, 3);
			break;
		case 4:
			o->start_ns = rig_pick(seed, 0, o->end_ns);
			break;
		case 5:
			o->kind = (uint8_t)rig_pick(seed, 0, OP_KIND_MAX - 1);
			break;
		case 6:
			o->open = !o->open;
			break;
		default:
			break;
		}
	}
}

/* Whatever a dump may hold that its reader lets pass. */
Test(robust, nonsense)
{
	for (unsigned seed = 1; seed <= 150; seed++) {
		struct world w = small_world(seed);
		unsigned pick = seed;
		struct model *m;

		world_run(&w, &m);
		model_spoil(m, &pick, rig_pick(&pick, 1, 200));
		ask_everything(m);
		model_free(m);
		world_done(&w);
	}
}

/* Ops without threads: parents, waits and targets at random, most of them impossible. */
Test(robust, nonsense_of_ops)
{
	for (unsigned seed = 1; seed <= 150; seed++) {
		unsigned pick = seed;
		uint32_t i, row;
		struct model *m;

		cr_assert(model_new(&m) == 0 && model_row_add(m, &row) == 0);
		m->rows[row] = (struct model_row){ .reason = (uint8_t)rig_pick(&pick, 0, REASON_MAX - 1), .syscall = -1 };
		m->end_ns = 100000;
		for (int k = 0; k < 60; k++) {
			cr_assert(model_op_add(m, &i) == 0);
			m->ops[i] = (struct model_op){ .id = i, .kind = (uint8_t)rig_pick(&pick, 0, OP_KIND_MAX - 1),
						       .start_ns = rig_pick(&pick, 0, 90000), .open = !rig_pick(&pick, 0, 9),
						       .parent = (uint32_t)rig_pick(&pick, 0, 60) };
			m->ops[i].end_ns = rig_pick(&pick, m->ops[i].start_ns, 100000);
		}
		for (int k = 0; k < 100; k++) {
			cr_assert(model_wait_add(m, &i) == 0);
			m->waits[i] = (struct model_wait){ .start_ns = rig_pick(&pick, 0, 90000), .wake_ns = -1, .row = row,
							   .op = (uint32_t)rig_pick(&pick, 0, 60),
							   .target = (uint32_t)rig_pick(&pick, 0, 60) };
			m->waits[i].end_ns = rig_pick(&pick, m->waits[i].start_ns, 100000);
			m->waits[i].blocked_ns = m->waits[i].end_ns - m->waits[i].start_ns;
		}
		ask_everything(m);
		model_free(m);
	}
}

/* Digits become others or many more, here and there any byte: what the reader lets pass must not stop a replay. */
static void text_spoil(char *text, size_t *n, size_t room, unsigned *seed)
{
	for (int64_t k = rig_pick(seed, 1, 4); k > 0; k--) {
		size_t at = (size_t)rig_pick(seed, 0, (int64_t)*n - 1), more = (size_t)rig_pick(seed, 1, 16);

		if (rig_pick(seed, 0, 3) == 0) {
			text[at] = (char)rig_pick(seed, 0, 255);
			continue;
		}
		while (at < *n && (text[at] < '0' || text[at] > '9'))
			at++;
		if (at == *n)
			continue;
		text[at] = (char)rig_pick(seed, '0', '9');
		if (rig_pick(seed, 0, 2) || *n + more >= room)
			continue;
		memmove(text + at + more, text + at, *n - at);
		memset(text + at, '9', more);
		*n += more;
	}
}

static void spoilt_read(const char *text, size_t n)
{
	char path[] = "/tmp/wcbpf-spoilt-XXXXXX";
	struct dump_problem problem;
	int fd = mkstemp(path);
	struct model *m = NULL;

	cr_assert(fd >= 0 && write(fd, text, n) == (ssize_t)n);
	close(fd);
	if (dump_read(path, &m, &problem) == 0)
		ask_everything(m);
	model_free(m);
	unlink(path);
}

Test(robust, spoilt_dumps, .timeout = 120)
{
	static const char *const names[] = { "path", "app", "engine", "calls", "stuck", "hostile" };
	enum { ROOM = 1 << 20 };
	char *text = malloc(ROOM), *copy = malloc(ROOM);

	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		char path[512];
		size_t n;
		FILE *f;

		snprintf(path, sizeof(path), "%s/tests/golden/%s.ndjson", WCBPF_SOURCE_ROOT, names[i]);
		f = fopen(path, "re");
		cr_assert(f, "%s", path);
		n = fread(text, 1, ROOM, f);
		fclose(f);
		cr_assert(n && n < ROOM / 2);
		for (unsigned seed = 1; seed <= 60; seed++) {
			unsigned pick = seed;
			size_t copy_n = n;

			memcpy(copy, text, n);
			text_spoil(copy, &copy_n, ROOM, &pick);
			spoilt_read(copy, copy_n);
		}
	}
	free(text);
	free(copy);
}

/* One op of three centuries, one wait of half of it, a thread that was never ready: a few points, not one for every two seconds. */
Test(robust, centuries, .timeout = 20)
{
	struct replay_facts f;
	struct replay *r;
	struct model *m;
	uint32_t i, row;

	for (unsigned what = 0; what < 4; what++) {
		cr_assert(model_new(&m) == 0 && model_row_add(m, &row) == 0 && model_op_add(m, &i) == 0);
		m->end_ns = INT64_MAX;
		m->rows[row] = (struct model_row){ .reason = what == 2 ? REASON_CPU : REASON_IO, .syscall = -1 };
		m->ops[i] = (struct model_op){ .id = i, .kind = OP_CALL, .class_id = 0, .end_ns = INT64_MAX };
		if (what) {
			cr_assert(model_thread_add(m, &i) == 0 && model_wait_add(m, &i) == 0);
			m->threads[1] = (struct model_thread){ .pid = 1, .tid = 1, .end_ns = INT64_MAX, .op = 1 };
			m->waits[i] = (struct model_wait){ .start_ns = 1000, .end_ns = INT64_MAX - 1000, .row = row, .op = 1,
							   .thread = 1, .wake_ns = what == 3 ? 2000 : -1 };
		}
		cr_assert(replay_new(m, NULL, &r) == 0);
		replay_facts(r, &f);
		cr_expect(f.point_n < 20, "%zu points", f.point_n);
		/* To the precision of a double: 1 us in 292 years. */
		cr_expect(f.makespan_ns == INT64_MAX && INT64_MAX - f.e1_ns < 10000 && INT64_MAX - f.e2_ns < 10000, "%u: %ld %ld",
			  what, (long)f.e1_ns, (long)f.e2_ns);
		replay_free(r);
		ask_everything(m);
		model_free(m);
	}
}

/* What is longer than 32 bits of ns can tell is scaled like all else: sleeps and computing of 10 s. */
Test(robust, long_times)
{
	struct world w = { .sample_ns = 100 * MS };
	struct replay_outcome o;
	struct rig x;

	world_add(&w, 0, STEP_COMPUTE, 0, 10000 * MS, 'c');
	world_add(&w, 0, STEP_SLEEP, 0, 12000 * MS, 's');
	rig_start(&x, &w);
	o = rig_ask(&x, 'c', 0.5);
	cr_expect(o.best_ns == 5000 * MS && o.low_ns == o.high_ns, "%ld", (long)o.best_ns);
	o = rig_ask(&x, 's', 0.25);
	cr_expect(o.best_ns == 9000 * MS && o.low_ns == o.high_ns, "%ld", (long)o.best_ns);
	rig_stop(&x);
}

/* Two threads that wake each other a million times, and a hundred thousand that each start the next. */
static void deep_models(struct model **ret_wakes, struct model **ret_threads)
{
	struct model *m;
	uint32_t row, i;

	cr_assert(model_new(&m) == 0 && model_row_add(m, &row) == 0);
	m->rows[row] = (struct model_row){ .reason = REASON_SYNC, .syscall = -1 };
	for (int t = 0; t < 2; t++) {
		cr_assert(model_thread_add(m, &i) == 0);
		m->threads[i] = (struct model_thread){ .pid = 1, .tid = i, .end_ns = 10000001 };
	}
	m->end_ns = 10000001;
	for (int64_t k = 0; k < 1000000; k++) {
		cr_assert(model_wait_add(m, &i) == 0);
		m->waits[i] = (struct model_wait){ .start_ns = k * 10 + 1, .end_ns = k * 10 + 11, .blocked_ns = 9, .runnable_ns = 1,
						   .wake_ns = k * 10 + 10, .row = row, .thread = 1 + k % 2, .waker = 2 - k % 2,
						   .ctx = WAKER_TASK, .outcome = WAIT_WOKEN };
	}
	*ret_wakes = m;
	cr_assert(model_new(&m) == 0 && model_row_add(m, &row) == 0);
	m->rows[row] = (struct model_row){ .reason = REASON_CPU, .syscall = -1 };
	for (uint32_t t = 1; t <= 100000; t++) {
		cr_assert(model_thread_add(m, &i) == 0 && model_wait_add(m, &i) == 0);
		m->threads[t] = (struct model_thread){ .pid = 1, .tid = t, .begin_ns = t * 10, .end_ns = t * 10 + 20 };
		m->waits[i] = (struct model_wait){ .start_ns = t * 10, .end_ns = t * 10 + 1, .runnable_ns = 1, .wake_ns = t * 10,
						   .row = row, .thread = t, .waker = t - 1, .ctx = WAKER_TASK };
		m->end_ns = t * 10 + 20;
	}
	*ret_threads = m;
}

static void *deep_run(void *arg)
{
	struct model *wakes, *threads;
	struct replay_facts f;
	struct replay *r;

	deep_models(&wakes, &threads);
	cr_assert(replay_new(wakes, NULL, &r) == 0);
	replay_facts(r, &f);
	cr_expect(f.e1_ns == 10000001 && f.makespan_ns == 10000001, "%ld", (long)f.e1_ns);
	replay_free(r);
	cr_assert(replay_new(threads, NULL, &r) == 0);
	replay_facts(r, &f);
	cr_expect(f.e1_ns == f.makespan_ns && f.strand_n == 100000);
	replay_free(r);
	ask_everything(threads);
	model_free(wakes);
	model_free(threads);
	return arg;
}

/* On a stack that a recursion over them would not fit. */
Test(robust, deep_chains)
{
	pthread_attr_t attr;
	pthread_t t;

	pthread_attr_init(&attr);
	cr_assert(pthread_attr_setstacksize(&attr, 512 << 10) == 0);
	cr_assert(pthread_create(&t, &attr, deep_run, NULL) == 0);
	pthread_join(t, NULL);
}

static double seconds_of(size_t events)
{
	double best = 1e9;

	for (int i = 0; i < 3; i++) {
		struct timespec a, b;
		struct replay *r;
		struct model *m;
		double s;

		cr_assert(generate(events, 1, &m) == 0);
		clock_gettime(CLOCK_THREAD_CPUTIME_ID, &a);
		cr_assert(replay_new(m, NULL, &r) == 0);
		clock_gettime(CLOCK_THREAD_CPUTIME_ID, &b);
		s = (double)(b.tv_sec - a.tv_sec) + (double)(b.tv_nsec - a.tv_nsec) / 1e9;
		best = s < best ? s : best;
		replay_free(r);
		model_free(m);
	}
	return best;
}

/* Eight times as much takes about eight times as long; what is quadratic takes 64 times. CPU time, the best of three. */
Test(robust, linear_in_events)
{
	double few = seconds_of(20000), many = seconds_of(160000);

	cr_expect(many < 20 * few, "%.3f s, %.3f s", few, many);
}
