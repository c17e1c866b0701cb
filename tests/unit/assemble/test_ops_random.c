/* SPDX-License-Identifier: (LGPL-2.1 OR BSD-2-Clause) */
/*
 * Random programs: strands that call, return, throw, block, spawn and end, on
 * stacks that move and threads that change. The twin keeps what really
 * happens, call by call, and knows nothing of depths; the assembler sees hits.
 */
#include <criterion/criterion.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "dump/dump.h"
#include "hits.h"

enum { POINTS = 5, STRANDS_MAX = 12, DEPTH_MAX = 40, CALLS_MAX = 6000, WAITS_MAX = 4000 };

/* A call as it really was. */
struct truth {
	int strand, parent; /* call, -1: none */
	uint32_t point;
	int64_t start_us, gone_us; /* gone -1: still there */
	int64_t told_us;	   /* when an event could show it; -1: nothing has */
	bool unwound;
};

struct frame {
	int call;
	uint64_t depth;
};

struct strand {
	bool alive;
	uint64_t goid; /* 0: a thread */
	uint32_t tid;  /* of a goroutine the one it is on */
	uint64_t top;  /* address where its stack ends */
	struct frame frames[DEPTH_MAX];
	int n;
	int spawner; /* call that it was spawned in, -1 */
	int stale_n; /* frames that were left and not seen to be */
	int stale[CALLS_MAX];
	uint32_t seq;
};

struct program {
	struct rig rig;
	unsigned seed;
	int64_t now_us;
	struct strand strands[STRANDS_MAX];
	int strand_n;
	struct truth calls[CALLS_MAX];
	int call_n;
	struct {
		int64_t start_us;
		int strand, call; /* -1: its strand's own op */
	} waits[WAITS_MAX];
	int wait_n;
	bool loses; /* hits get lost */
	/* Dumps made while it goes on. */
	unsigned dump_every; /* steps; 0: none */
	unsigned seed_first;
	int dump_n, flushed_n;
	size_t op_n_max;     /* entries of the model's ops */
};

static unsigned pick(struct program *p, unsigned n)
{
	return (unsigned)rand_r(&p->seed) % n;
}

static struct where where(const struct strand *s, uint64_t depth)
{
	return (struct where){ .tid = s->tid, .tgid = 100, .goid = s->goid, .stack_hi = s->goid ? s->top : 0,
			       .cfa = s->top - depth };
}

static void tell(struct program *p, enum wcbpf_site_kind kind, const struct frame *f, const struct strand *s)
{
	char id[16];

	snprintf(id, sizeof(id), "u%d", f->call + 1);
	if (p->loses && pick(p, 10) == 0)
		return;
	cr_assert_eq(hit(&p->rig, kind, US(p->now_us), p->calls[f->call].point, where(s, f->depth), VALUES(id)), 0);
}

/* A hit shows that all that lies further in, or in its place, has been left. */
static void stale_told(struct program *p, struct strand *s)
{
	for (int i = 0; i < s->stale_n; i++)
		p->calls[s->stale[i]].told_us = p->now_us;
	s->stale_n = 0;
}

static void call(struct program *p, int strand)
{
	struct strand *s = &p->strands[strand];
	struct frame *f;

	if (s->n == DEPTH_MAX || p->call_n == CALLS_MAX)
		return;
	f = &s->frames[s->n];
	*f = (struct frame){ .call = p->call_n, .depth = 64 + 64u * (unsigned)s->n };
	p->calls[p->call_n++] = (struct truth){
		.strand = strand, .point = 1 + pick(p, POINTS), .start_us = p->now_us, .gone_us = -1, .told_us = -1,
		.parent = s->n ? s->frames[s->n - 1].call : s->spawner,
	};
	s->n++;
	stale_told(p, s);
	tell(p, WCBPF_SITE_ENTRY, f, s);
}

static void leave(struct program *p, struct strand *s)
{
	struct frame *f;

	if (!s->n)
		return;
	f = &s->frames[--s->n];
	p->calls[f->call].gone_us = p->calls[f->call].told_us = p->now_us;
	stale_told(p, s);
	tell(p, WCBPF_SITE_EXIT, f, s);
}

/* Back to a frame further out, or to none, without any exit. */
static void throw(struct program *p, struct strand *s)
{
	int to = s->n ? (int)pick(p, (unsigned)s->n) : 0;

	while (s->n > to) {
		struct truth *c = &p->calls[s->frames[--s->n].call];

		c->gone_us = p->now_us;
		c->unwound = true;
		s->stale[s->stale_n++] = s->frames[s->n].call;
	}
}

static void block(struct program *p, int strand)
{
	struct strand *s = &p->strands[strand];

	/* Until it is told that frames are gone, a wait would be theirs. */
	if (s->stale_n || p->wait_n == WAITS_MAX)
		return;
	p->waits[p->wait_n].start_us = p->now_us;
	p->waits[p->wait_n].strand = strand;
	p->waits[p->wait_n++].call = s->n ? s->frames[s->n - 1].call : -1;
	p->now_us += 5;
	if (s->goid && pick(p, 2))
		cr_assert_eq(GO_WAIT(&p->rig, s->goid, US(p->now_us - 5), US(p->now_us - 2), US(p->now_us), .reason = 1,
				     .tid = s->tid), 0);
	else
		cr_assert_eq(RIG_INTERVAL(&p->rig, US(p->now_us - 5), US(p->now_us - 2), US(p->now_us), .tid = s->tid,
					  .goid = s->goid, .seq = ++s->seq * 10), 0);
	p->now_us += 5;
}

static void spawn(struct program *p, int by)
{
	struct strand *parent = &p->strands[by], *s = &p->strands[p->strand_n];

	if (p->strand_n == STRANDS_MAX || parent->stale_n)
		return;
	*s = (struct strand){ .alive = true, .goid = parent->goid ? 1000 + (uint64_t)p->strand_n : 0,
			      .spawner = parent->n ? parent->frames[parent->n - 1].call : parent->spawner,
			      .top = 0x7000000000ull + 0x10000000ull * (unsigned)p->strand_n };
	s->tid = s->goid ? parent->tid : 200 + (uint32_t)p->strand_n;
	p->strand_n++;
	if (s->goid)
		cr_assert_eq(go_birth(&p->rig, US(p->now_us), parent->tid, parent->goid, s->goid, 0x1000), 0);
	else
		cr_assert_eq(rig_fork(&p->rig, US(p->now_us), parent->tid, 100, s->tid, 100), 0);
}

static void end(struct program *p, int strand)
{
	struct strand *s = &p->strands[strand];

	while (s->n) {
		struct truth *c = &p->calls[s->frames[--s->n].call];

		c->gone_us = c->told_us = p->now_us;
		c->unwound = true;
	}
	stale_told(p, s);
	s->alive = false;
	if (s->goid)
		cr_assert_eq(go_death(&p->rig, US(p->now_us), s->tid, s->goid), 0);
	else
		cr_assert_eq(rig_exit(&p->rig, US(p->now_us), s->tid, 100, 0, false), 0);
}

static void step(struct program *p)
{
	int strand = (int)pick(p, (unsigned)p->strand_n);
	struct strand *s = &p->strands[strand];
	unsigned what = pick(p, 100);

	p->now_us += 1 + (int64_t)pick(p, 20);
	if (!s->alive)
		return;
	if (s->goid && pick(p, 4) == 0) {
		s->tid = 100 + pick(p, 2); /* it goes on elsewhere, on another stack */
		s->top += (pick(p, 2) ? 1 : -1) * 0x8000ll;
	}
	if (what < 40)
		call(p, strand);
	else if (what < 75)
		leave(p, s);
	else if (what < 80)
		throw(p, s);
	else if (what < 94)
		block(p, strand);
	else if (what < 98)
		spawn(p, strand);
	else if (strand > 1)
		end(p, strand);
}

/* ---- dumps while it goes on ---- */

enum { DUMPS_MAX = 64 };
static char dump_paths[DUMPS_MAX][64];

static int file_sink(void *arg, const char *bytes, size_t n)
{
	return fwrite(bytes, 1, n, arg) == n ? 0 : -EIO;
}

/* texts: of the dumps before; what it adds is known to the next by their common file. */
static void dump_file_make(const struct model *m, const char *path, const char *texts_path)
{
	struct strtab *texts;
	char text[256];
	uint32_t id;
	size_t n;
	FILE *f = fopen(texts_path, "a+");

	cr_assert(f && strtab_new(&texts) == 0);
	rewind(f);
	while (fgets(text, sizeof(text), f)) {
		text[strcspn(text, "\n")] = 0;
		cr_assert_eq(strtab_intern(texts, text, &id), 0);
	}
	n = strtab_n(texts);
	FILE *out = fopen(path, "w");
	cr_assert(out && dump_write_next(m, texts, NULL, NULL, file_sink, out) == 0);
	cr_assert_eq(fclose(out), 0);
	for (size_t i = n; i < strtab_n(texts); i++)
		fprintf(f, "%s\n", strtab_str(texts, (uint32_t)i));
	cr_assert_eq(fclose(f), 0);
	strtab_free(texts);
}

static const char *dump_path(struct program *p)
{
	cr_assert_lt(p->dump_n, DUMPS_MAX);
	snprintf(dump_paths[p->dump_n], sizeof(dump_paths[0]), "/tmp/wcbpf-flush.%d.%d", getpid(), p->dump_n);
	return dump_paths[p->dump_n++];
}

static const char *texts_path(void)
{
	static char path[64];

	snprintf(path, sizeof(path), "/tmp/wcbpf-flush.%d.texts", getpid());
	return path;
}

/* Made by a forked copy, while the program goes on; some of them flush, some of these fail. */
static void dump_now(struct program *p)
{
	bool flush = p->seed_first % 3 || pick(p, 4) != 0, fails = flush && pick(p, 4) == 0;
	const char *path = dump_path(p), *texts = texts_path();
	int status;
	pid_t pid;

	if (flush)
		cr_assert_eq(assemble_settle(p->rig.a), 0);
	pid = fork();
	if (pid == 0) {
		if (assemble_snapshot(p->rig.a, US(p->now_us)) == 0 && !fails)
			dump_file_make(p->rig.m, path, texts);
		_exit(0);
	}
	for (unsigned n = pick(p, 40); n; n--)
		step(p);
	cr_assert(waitpid(pid, &status, 0) == pid && status == 0, "the copy ended with %d", status);
	p->dump_n -= fails;
	if (fails)
		assemble_flush_drop(p->rig.a);
	else if (flush)
		cr_assert_eq(assemble_flush(p->rig.a, US(p->now_us)), 0);
	p->flushed_n += flush && !fails;
	p->op_n_max = p->rig.m->op_n > p->op_n_max ? p->rig.m->op_n : p->op_n_max;
}

static void program_begin(struct program *p, bool live)
{
	struct assemble_options o = { .begin_ns = RIG_BEGIN_NS, .epoch_unix_ns = 1700000000000000000, .keep_args = true,
				      .live = live };

	rig_start_with(&p->rig, &o);
}

static void program_run_with(struct program *p, unsigned seed, int steps, bool loses, unsigned dump_every)
{
	static const char *const reasons[] = { "", "select" };
	static const char *const classes[] = { "", "a", "b", "c", "d", "e" };

	*p = (struct program){ .seed = seed, .now_us = 10, .loses = loses, .dump_every = dump_every, .seed_first = seed };
	program_begin(p, dump_every != 0);
	rig_seed(&p->rig, 100, 100, "app");
	rig_seed(&p->rig, 100, 101, "app");
	for (uint32_t i = 1; i <= POINTS; i++)
		POINT(&p->rig, i, .kind = OP_CALL, .class = TEXT(classes[i]), .ident = TEXT("{0}"),
		      .outcome = CHOICES({ .cmp = ASSEMBLE_ALWAYS, .word = OUTCOME_OK }));
	/* Threads and goroutines spawn their like: a Go program's threads are nobody's. */
	for (int i = 0; i < 2; i++)
		p->strands[i] = (struct strand){ .alive = true, .tid = 100 + (uint32_t)i, .spawner = -1,
						 .top = 0x7f0000000000ull + 0x10000000ull * (unsigned)i };
	if (seed % 2) {
		cr_assert_eq(assemble_go_set(p->rig.a, 100, reasons, 2), 0);
		p->strands[0].goid = 7;
		p->strands[1].goid = 8;
	}
	p->strand_n = 2;
	for (int i = 0; i < steps; i++) {
		step(p);
		if (dump_every && pick(p, dump_every) == 0)
			dump_now(p);
	}
	p->now_us += 100;
	if (dump_every)
		cr_assert_eq(assemble_finish(p->rig.a, US(p->now_us)), 0);
	else
		rig_finish(&p->rig, US(p->now_us));
}

static void program_run(struct program *p, unsigned seed, int steps, bool loses)
{
	program_run_with(p, seed, steps, loses, 0);
}

static uint32_t own_op(const struct program *p, int strand)
{
	const struct strand *s = &p->strands[strand];

	for (uint32_t i = 1; i < p->rig.m->thread_n; i++) {
		const struct model_thread *t = &p->rig.m->threads[i];

		if (s->goid ? t->goid == s->goid : !t->goid && t->tid == s->tid)
			return t->op;
	}
	return 0;
}

/* Ops by the number of their call, which they have as ident. */
static void ops_find(const struct program *p, uint32_t *ops)
{
	memset(ops, 0, CALLS_MAX * sizeof(*ops));
	for (uint32_t i = 1; i < p->rig.m->op_n; i++) {
		const struct model_op *o = &p->rig.m->ops[i];

		if (o->kind == OP_CALL)
			ops[atoi(rig_str(&p->rig, o->ident_id)) - 1] = i;
	}
}

static void expect_call(const struct program *p, const uint32_t *ops, int i)
{
	const struct truth *c = &p->calls[i];
	const struct model_op *o = &p->rig.m->ops[ops[i]];

	cr_assert(ops[i], "call %d has no op", i);
	cr_assert_eq(o->start_ns, c->start_us * 1000, "call %d", i);
	cr_assert_eq(o->parent, c->parent >= 0 ? ops[c->parent] : own_op(p, c->strand), "parent of call %d", i);
	cr_assert_eq(*rig_str(&p->rig, o->class_id), (char)('a' + c->point - 1), "call %d", i);
	cr_assert_eq(o->goid, p->strands[c->strand].goid);
	if (c->told_us < 0) {
		cr_assert(o->open, "call %d: nothing shows its end", i);
		return;
	}
	cr_assert_not(o->open, "call %d", i);
	cr_assert_eq(o->unwound, c->unwound, "call %d", i);
	cr_assert_eq(o->outcome, c->unwound ? OUTCOME_CANCELED : OUTCOME_OK, "call %d", i);
	cr_assert_eq(o->end_ns, c->told_us * 1000, "call %d", i);
	cr_assert_geq(o->end_ns, c->gone_us * 1000);
}

static void expect_truth(const struct program *p)
{
	static uint32_t ops[CALLS_MAX];
	const struct model *m = p->rig.m;
	uint64_t unwound = 0;

	ops_find(p, ops);
	for (int i = 0; i < p->call_n; i++) {
		expect_call(p, ops, i);
		unwound += p->calls[i].unwound && p->calls[i].told_us >= 0;
	}
	cr_assert_eq(m->integrity.unwound_ops, unwound);
	cr_assert_eq(m->integrity.unmatched_exits, 0);
	cr_assert_eq(m->wait_n - 1, p->wait_n);
	for (int i = 0; i < p->wait_n; i++) {
		uint32_t expected = p->waits[i].call >= 0 ? ops[p->waits[i].call] : own_op(p, p->waits[i].strand);
		size_t k;

		for (k = 1; k < m->wait_n && m->waits[k].start_ns != p->waits[i].start_us * 1000; k++)
			;
		cr_assert_lt(k, m->wait_n, "wait %d is missing", i);
		cr_assert_eq(m->waits[k].op, expected, "wait %d", i);
	}
}

static struct program program;

/* No time limits here: Criterion 2.4.1 loses some memory of several tests that have one and end at a time. */
Test(random, programs_and_their_twins)
{
	unsigned throws = 0, calls = 0;

	for (unsigned seed = 1; seed <= 200; seed++) {
		program_run(&program, seed, 300, false);
		expect_truth(&program);
		throws += (unsigned)program.rig.m->integrity.unwound_ops;
		calls += (unsigned)program.call_n;
		rig_stop(&program.rig);
	}
	/* or else nothing was tried */
	cr_expect_gt(calls, 15000);
	cr_expect_gt(throws, 2000);
}

/* With hits missing nesting is uncertain, but nothing else: the rig checks what holds of all recordings. */
Test(random, hits_that_are_lost)
{
	for (unsigned seed = 1; seed <= 100; seed++) {
		program_run(&program, seed, 300, true);
		for (size_t i = 1; i < program.rig.m->op_n; i++)
			cr_assert(program.rig.m->ops[i].class_id || program.rig.m->ops[i].kind != OP_CALL);
		cr_assert_eq(program.rig.m->wait_n - 1, program.wait_n);
		rig_stop(&program.rig);
	}
}

/* The dump as an independent reader wants it, and the same again when it has been read. */
Test(random, their_dumps)
{
	char path[] = "/tmp/wcbpf-random-dump.XXXXXX", command[512];
	struct dump_problem problem;
	struct model *again;
	char *first = NULL, *second = NULL;
	size_t n;
	FILE *f;
	int fd = mkstemp(path);

	cr_assert_geq(fd, 0);
	program_run(&program, 77, 2000, false);
	for (int i = 0; i < 2; i++) {
		f = open_memstream(i ? &second : &first, &n);
		if (i)
			cr_assert_eq(dump_read(path, &again, &problem), 0);
		cr_assert_eq(dump_write(i ? again : program.rig.m, NULL, NULL, file_sink, f), 0);
		cr_assert_eq(fclose(f), 0);
		if (i)
			break;
		cr_assert_eq(write(fd, first, n), (ssize_t)n);
		close(fd);
	}
	cr_expect_str_eq(problem.message, "");
	cr_expect(strcmp(first, second) == 0, "a dump that was read is written as it was");
	snprintf(command, sizeof(command), "python3 -B %s/tests/lib/check_dump.py %s >&2", WCBPF_SOURCE_ROOT, path);
	cr_expect_eq(system(command), 0);
	unlink(path);
	free(first);
	free(second);
	model_free(again);
	rig_stop(&program.rig);
}

/* Its waits; its ended ops are noted. */
static size_t events_of(const char *path, bool *seen)
{
	struct dump_problem problem;
	struct model *m;
	size_t n;

	cr_assert_eq(dump_read(path, &m, &problem), 0, "%s", problem.message);
	cr_assert_str_eq(problem.message, "");
	n = m->wait_n - 1;
	for (uint32_t i = 1; i < m->op_n; i++) {
		const char *ident = strtab_str(m->strings, m->ops[i].ident_id);

		if (m->ops[i].kind != OP_CALL || m->ops[i].open)
			continue;
		cr_assert_not(seen[atoi(ident)], "op %s is in two dumps", ident);
		seen[atoi(ident)] = true;
	}
	model_free(m);
	return n;
}

/* Where each dump has flushed, each event is in one. */
static void expect_once(const struct program *p)
{
	static bool seen[CALLS_MAX + 1];
	size_t waits = 0;

	memset(seen, 0, sizeof(seen));
	for (int i = 0; i < p->dump_n; i++)
		waits += events_of(dump_paths[i], seen);
	cr_assert_eq(waits, p->wait_n, "%zu waits of %d", waits, p->wait_n);
	for (int i = 0; i < p->call_n; i++)
		cr_assert_eq(seen[i + 1], p->calls[i].told_us >= 0, "call %d", i);
}

/* Read as one they are the truth. */
static void expect_dumps(struct program *p)
{
	const char *paths[DUMPS_MAX];
	struct dump_problem problem;
	struct dump_facts facts;
	struct model *own = p->rig.m, *merged;

	dump_file_make(own, dump_path(p), texts_path());
	for (int i = 0; i < p->dump_n; i++)
		paths[i] = dump_paths[i];
	cr_assert_eq(dump_read_merged(paths, (size_t)p->dump_n, &merged, &facts, &problem), 0, "%s", problem.message);
	cr_assert_str_eq(problem.message, "");
	merged->integrity = own->integrity;
	p->rig.m = merged;
	expect_truth(p);
	p->rig.m = own;
	dump_facts_done(&facts);
	model_free(merged);
}

static void dumps_remove(const struct program *p)
{
	for (int i = 0; i < p->dump_n; i++)
		unlink(dump_paths[i]);
	unlink(texts_path());
}

Test(random, dumps_while_it_goes_on)
{
	int flushed = 0;

	for (unsigned seed = 1; seed <= 60; seed++) {
		program_run_with(&program, seed, 400, false, 40);
		expect_dumps(&program);
		if (program.seed_first % 3)
			expect_once(&program);
		dumps_remove(&program);
		flushed += program.flushed_n;
		rig_stop(&program.rig);
	}
	cr_expect_gt(flushed, 200);
}

/* However long it goes on: what was flushed takes no room, in memory and under the cap. */
Test(random, room_after_a_flush)
{
	program_run_with(&program, 5, 6000, false, 200);
	cr_expect_gt(program.call_n, 500, "only %d calls", program.call_n);
	cr_expect_lt(program.op_n_max, 250, "%zu entries for %d calls", program.op_n_max, program.call_n);
	cr_expect_lt(model_event_n(program.rig.m), 250);
	expect_dumps(&program);
	dumps_remove(&program);
	rig_stop(&program.rig);
}
