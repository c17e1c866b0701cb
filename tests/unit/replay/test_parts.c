/* SPDX-License-Identifier: (LGPL-2.1 OR BSD-2-Clause) */
/* In how many parts a recording is compiled changes nothing that anybody sees of it. */
#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "rig.h"
#include "tests/bench/generate.h"

/* What is seen of one recording. */
struct seen {
	struct replay *r;
	struct replay_facts f;
	struct replay_saving *savings;
	struct replay_stretch *path;
	struct replay_span *spans;
	size_t saving_n, stretch_n;
};

static void look(const struct model *m, size_t part_n, struct seen *ret)
{
	struct replay_savings_options o = { .e2_top = 3, .wcprof = true };
	struct replay_change c = { .what = REPLAY_NO_RUNQUEUE };
	struct replay_scenario s = { .changes = &c, .n = 1 };

	cr_assert(replay_new(m, &(struct replay_options){ .part_n = part_n }, &ret->r) == 0);
	replay_facts(ret->r, &ret->f);
	cr_assert(replay_savings(ret->r, &o, &ret->savings, &ret->saving_n) == 0);
	cr_assert(replay_path(ret->r, &ret->path, &ret->stretch_n) == 0);
	cr_assert(replay_op_times(ret->r, &s, REPLAY_E2, &ret->spans) == 0);
}

static void seen_done(struct seen *x)
{
	replay_free(x->r);
	free(x->savings);
	free(x->path);
	free(x->spans);
}

static void classes_compare(const struct seen *a, const struct seen *b)
{
	cr_assert(replay_class_n(a->r) == replay_class_n(b->r));
	for (size_t i = 0; i < replay_class_n(a->r); i++) {
		const struct replay_class *x = replay_class(a->r, i), *y = replay_class(b->r, i);

		cr_assert(x->kind == y->kind && x->name_id == y->name_id && x->kind_id == y->kind_id &&
			  x->module_id == y->module_id && x->count == y->count && x->cpu_ns == y->cpu_ns &&
			  x->delay_ns == y->delay_ns && x->path_cpu_ns == y->path_cpu_ns &&
			  x->path_delay_ns == y->path_delay_ns, "class %zu", i);
	}
}

static void savings_compare(const struct seen *a, const struct seen *b)
{
	cr_assert(a->saving_n == b->saving_n);
	for (size_t i = 0; i < a->saving_n; i++) {
		const struct replay_saving *x = &a->savings[i], *y = &b->savings[i];

		cr_assert(x->class == y->class && x->what == y->what && x->simulated == y->simulated &&
			  memcmp(&x->shift, &y->shift, sizeof(x->shift)) == 0, "saving %zu", i);
		for (size_t k = 0; k < REPLAY_FACTOR_N; k++)
			cr_assert(x->at[k].e1_ns == y->at[k].e1_ns && x->at[k].e2_ns == y->at[k].e2_ns &&
				  x->at[k].wcprof_ns == y->at[k].wcprof_ns && x->at[k].why == y->at[k].why &&
				  x->at[k].next == y->at[k].next, "saving %zu at %zu", i, k);
	}
}

static void compare(const struct model *m, const struct seen *a, const struct seen *b)
{
	cr_assert(memcmp(&a->f, &b->f, sizeof(a->f)) == 0);
	classes_compare(a, b);
	savings_compare(a, b);
	cr_assert(a->stretch_n == b->stretch_n);
	for (size_t i = 0; i < a->stretch_n; i++)
		cr_assert(a->path[i].start_ns == b->path[i].start_ns && a->path[i].wait == b->path[i].wait &&
			  a->path[i].class == b->path[i].class && a->path[i].thread == b->path[i].thread &&
			  a->path[i].slack_ns == b->path[i].slack_ns, "stretch %zu", i);
	cr_assert(memcmp(a->spans, b->spans, m->op_n * sizeof(*a->spans)) == 0);
}

/* More parts than threads, too: some are empty then. */
static void in_parts(const struct model *m)
{
	struct seen one;

	look(m, 1, &one);
	for (size_t part_n = 2; part_n <= 8; part_n += 3) {
		struct seen several;

		look(m, part_n, &several);
		compare(m, &one, &several);
		seen_done(&several);
	}
	seen_done(&one);
}

/* Sleeps, some beyond 32 bits, locks, barriers, strangers, and samples enough for tags of their own. */
static struct world parts_world(unsigned seed)
{
	struct world w = { .cpu_n = 2, .slice_ns = MS, .sample_ns = 100 * US };

	for (uint32_t t = 1; t <= 5; t++)
		world_add(&w, 0, STEP_SPAWN, t, 0, 0);
	for (uint32_t t = 1; t <= 5; t++) {
		for (int i = 0; i < 10; i++) {
			world_add(&w, t, STEP_LOCK, (uint32_t)rig_pick(&seed, 1, 2), 0, 0);
			world_add(&w, t, STEP_SLEEP, 0, rig_pick(&seed, 100 * US, MS), (uint8_t)rig_pick(&seed, 'a', 'd'));
			world_add(&w, t, STEP_UNLOCK, w.steps[t][w.step_n[t] - 2].object, 0, 0);
			world_add(&w, t, STEP_COMPUTE, 0, rig_pick(&seed, 10 * US, 3 * MS), (uint8_t)rig_pick(&seed, 'e', 'h'));
			world_add(&w, t, STEP_BARRIER, 3, 5, 0);
			world_add(&w, t, STEP_STRANGER, 0, rig_pick(&seed, 10 * US, MS), 's');
		}
		if (t % 2 == seed % 2)
			world_add(&w, t, STEP_SLEEP, 0, 3000 * MS, 'l');
	}
	for (uint32_t t = 1; t <= 5; t++)
		world_add(&w, 0, STEP_JOIN, t, 0, 0);
	return w;
}

Test(parts, worlds)
{
	for (unsigned seed = 1; seed <= 40; seed++) {
		struct world w = parts_world(seed);
		struct model *m;

		world_run(&w, &m);
		in_parts(m);
		model_free(m);
		world_done(&w);
	}
}

/* A server of many threads, ops in each. */
Test(parts, server, .timeout = 120)
{
	struct model *m;

	cr_assert(generate(20000, 1, &m) == 0);
	in_parts(m);
	model_free(m);
}

/* Ops without threads are strands too: one below the other, and waits for them that were given up. */
Test(parts, ops)
{
	for (unsigned seed = 1; seed <= 40; seed++) {
		unsigned pick = seed;
		uint32_t i, row;
		struct model *m;

		cr_assert(model_new(&m) == 0 && model_row_add(m, &row) == 0);
		m->rows[row] = (struct model_row){ .reason = REASON_SYNC, .syscall = -1 };
		m->end_ns = 10000 * MS;
		for (int k = 0; k < 80; k++) {
			cr_assert(model_op_add(m, &i) == 0);
			m->ops[i] = (struct model_op){ .id = i, .kind = (uint8_t)rig_pick(&pick, 0, OP_KIND_MAX - 1),
						       .start_ns = rig_pick(&pick, 0, 9000 * MS),
						       .parent = (uint32_t)rig_pick(&pick, 0, k) };
			m->ops[i].end_ns = rig_pick(&pick, m->ops[i].start_ns, 10000 * MS);
		}
		for (int k = 0; k < 150; k++) {
			cr_assert(model_wait_add(m, &i) == 0);
			m->waits[i] = (struct model_wait){ .start_ns = rig_pick(&pick, 0, 9000 * MS), .wake_ns = -1, .row = row,
							   .op = (uint32_t)rig_pick(&pick, 0, 80),
							   .target = (uint32_t)rig_pick(&pick, 0, 80) };
			m->waits[i].end_ns = rig_pick(&pick, m->waits[i].start_ns, 10000 * MS);
			m->waits[i].blocked_ns = m->waits[i].end_ns - m->waits[i].start_ns;
		}
		in_parts(m);
		model_free(m);
	}
}

/*
 * So many classes of ops that details are left out from some op on: delays have no resource any more. Which those are
 * must not depend on where a part begins.
 */
Test(parts, details_left_out, .timeout = 60)
{
	enum { THREADS = 3, OPS = 25000 };
	struct seen one = { 0 }, several = { 0 };
	uint32_t op, thread, wait, row, ident_id;
	struct model *m;
	char name[32];

	cr_assert(model_new(&m) == 0 && model_row_add(m, &row) == 0);
	m->rows[row] = (struct model_row){ .reason = REASON_IO, .syscall = -1 };
	cr_assert(strtab_intern(m->strings, "disk", &ident_id) == 0);
	m->end_ns = OPS * MS;
	for (uint32_t t = 0; t < THREADS; t++) {
		cr_assert(model_thread_add(m, &thread) == 0);
		m->threads[thread] = (struct model_thread){ .pid = 1, .tid = t + 1, .end_ns = m->end_ns };
		for (int64_t k = 0; k < OPS; k++) {
			cr_assert(model_op_add(m, &op) == 0 && model_wait_add(m, &wait) == 0);
			m->ops[op] = (struct model_op){ .id = op, .kind = OP_CALL, .pid = 1, .tid = t + 1, .start_ns = k * MS,
							.end_ns = k * MS + MS / 2 };
			snprintf(name, sizeof(name), "op%u", op);
			cr_assert(strtab_intern(m->strings, name, &m->ops[op].class_id) == 0);
			m->waits[wait] = (struct model_wait){ .start_ns = k * MS + 1000, .end_ns = k * MS + 2000,
							      .blocked_ns = 1000, .wake_ns = -1, .row = row, .op = op,
							      .thread = thread, .ident_id = ident_id };
		}
	}
	cr_assert(replay_new(m, &(struct replay_options){ .part_n = 1 }, &one.r) == 0);
	cr_assert(replay_new(m, &(struct replay_options){ .part_n = 3 }, &several.r) == 0);
	classes_compare(&one, &several);
	for (size_t i = 0; i < replay_class_n(one.r); i++) {
		const struct replay_class *c = replay_class(one.r, i);

		/* Else no detail was left out, and this shows nothing. */
		if (c->kind == REPLAY_CLASS_RESOURCE && c->name_id == ident_id)
			cr_expect(c->count > 1000 && c->count < THREADS * OPS);
	}
	seen_done(&one);
	seen_done(&several);
	model_free(m);
}
