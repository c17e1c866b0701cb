/* SPDX-License-Identifier: (LGPL-2.1 OR BSD-2-Clause) */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "export/flame.h"
#include "fixture.h"

static uint32_t child(struct flame *f, uint32_t node, enum flame_kind kind, const char *name)
{
	uint32_t label, at;

	cr_assert_eq(flame_label(f, kind, name, &label), 0);
	cr_assert_eq(flame_child(f, node, label, &at), 0);
	return at;
}

/* "a b c": the names of a node and what it stands on, root first, without "all". */
static char *path_of(const struct flame *f, uint32_t node)
{
	char *text = strdup("");

	for (; node; node = f->nodes[node].parent) {
		char *longer;

		cr_assert_gt(asprintf(&longer, "%s%s%s", flame_text(f, node), *text ? " " : "", text), 0);
		free(text);
		text = longer;
	}
	return text;
}

static uint64_t self_of(const struct flame *f, const char *path)
{
	uint64_t ns = 0;

	for (uint32_t i = 0; i < f->node_n; i++) {
		char *text = path_of(f, i);

		if (strcmp(text, path) == 0)
			ns += f->nodes[i].self_ns;
		free(text);
	}
	return ns;
}

Test(flame, tree)
{
	struct flame f;
	uint32_t a, b;

	cr_assert_eq(flame_init(&f), 0);
	a = child(&f, 0, FLAME_USER, "a");
	b = child(&f, 0, FLAME_USER, "b");
	cr_assert_eq(child(&f, 0, FLAME_USER, "a"), a);
	/* A kernel's function is another one than the program's of the same name. */
	cr_assert_neq(child(&f, 0, FLAME_KERNEL, "a"), a);
	flame_add(&f, child(&f, a, FLAME_USER, "x"), 5);
	flame_add(&f, a, 1);
	flame_add(&f, b, 10);
	cr_assert_eq(flame_finish(&f), 0);
	cr_assert_eq(f.nodes[0].total_ns, 16);
	cr_assert_eq(f.nodes[a].total_ns, 6);
	cr_assert_eq(f.nodes[0].child, b);
	cr_assert_eq(f.nodes[b].next, a);
	cr_assert_eq(flame_next(&f, 0), b);
	cr_assert_eq(flame_next(&f, b), a);
	cr_assert_eq(f.depth_max, 2);
	flame_done(&f);
}

static struct flame make(const struct model *m, enum export_view view, struct export_told *told)
{
	struct export_job job = { .m = m, .view = view, .idle_too = true };
	struct flame f;

	cr_assert_eq(flame_make(&job, true, &f, told), 0);
	return f;
}

Test(flame, nothing)
{
	struct model *m = fixture_model(10);
	struct export_told told = { 0 };
	struct flame f;

	for (enum export_view v = 0; v < EXPORT_VIEW_MAX; v++) {
		struct export_job job = { .m = m, .view = v };

		cr_assert_eq(flame_make(&job, true, &f, &told), -ENODATA);
	}
	model_free(m);
}

/* Of the critical path: time on the CPU goes to what was sampled in it, on that thread. */
Test(flame, path)
{
	static const char *const hot[] = { "hot", "main", NULL }, *const cold[] = { "cold", "main", NULL };
	struct model *m = fixture_model(1000);
	uint32_t t = fixture_thread(m, 1, 1, "t", 0, 1000), u = fixture_thread(m, 1, 2, "u", 0, 1000);
	uint32_t request = fixture_op(m, OP_CALL, "request", 1, 1, 0, 1000), wait = fixture_wait(m, u, 600, 900, 1000);
	struct export_stretch path[] = {
		{ .start_ns = 0, .end_ns = 300, .thread = t, .op = request, .state = EXPORT_PATH_ONCPU },
		{ .start_ns = 300, .end_ns = 600, .thread = t, .op = request, .state = EXPORT_PATH_RUNNABLE },
		{ .start_ns = 600, .end_ns = 900, .thread = u, .wait = wait, .state = EXPORT_PATH_BLOCKED, .jumped = true },
		{ .start_ns = 900, .end_ns = 1000, .thread = u, .state = EXPORT_PATH_ONCPU },
	};
	struct export_job job = { .m = m, .view = EXPORT_PATH, .path = path, .path_n = 4 };
	struct export_told told = { 0 };
	uint32_t a, b;
	struct flame f;

	cr_assert_eq(model_sample_add(m, &a), 0);
	cr_assert_eq(model_sample_add(m, &b), 0);
	m->samples[a] = (struct model_sample){ .thread = t, .count = 2, .ustack = fixture_stack(m, hot) };
	m->samples[b] = (struct model_sample){ .thread = t, .count = 2, .ustack = fixture_stack(m, cold) };
	cr_assert_eq(model_sample_time_add(m, a, 10), 0);
	cr_assert_eq(model_sample_time_add(m, a, 20), 0);
	cr_assert_eq(model_sample_time_add(m, b, 299), 0);
	cr_assert_eq(model_sample_time_add(m, b, 300), 0);
	m->rows[m->waits[wait].row].ustack = fixture_stack(m, cold);
	cr_assert_eq(flame_make(&job, true, &f, &told), 0);
	cr_assert_eq(told.value_ns, 1000);
	cr_assert_eq(self_of(&f, "t request main hot [on-cpu]"), 200);
	cr_assert_eq(self_of(&f, "t request main cold [on-cpu]"), 100);
	cr_assert_eq(self_of(&f, "t request [runnable]"), 300);
	cr_assert_eq(self_of(&f, "u main cold [blocked]"), 300);
	cr_assert_eq(self_of(&f, "u [on-cpu]"), 100);
	flame_done(&f);
	model_free(m);
}

/* Purses of a life: what is known, what was too short, what was lost. */
Test(flame, wall)
{
	struct model *m = fixture_model(1000);
	uint32_t t = fixture_thread(m, 1, 1, "t", 0, 1000), w = fixture_wait(m, t, 100, 300, 350);
	struct export_told told = { 0 };
	struct model_thread *x = &m->threads[t];
	struct flame f;

	(void)w;
	x->has_totals = true;
	x->oncpu_ns = 600;
	x->blocked_ns = 260; /* 60 more than the wait's */
	x->runnable_ns = 50;
	x->lost_ns = 90;
	x->below_min_n = 3;
	f = make(m, EXPORT_WALL, &told);
	cr_assert_eq(told.value_ns, 1000);
	cr_assert_eq(self_of(&f, "t [no stack] [blocked]"), 200);
	cr_assert_eq(self_of(&f, "t [no stack] [runnable]"), 50);
	cr_assert_eq(self_of(&f, "t [on-cpu, not sampled]"), 600);
	cr_assert_eq(self_of(&f, "t [shorter than --min]"), 60);
	cr_assert_eq(self_of(&f, "t [lost]"), 90);
	flame_done(&f);
	model_free(m);
}

/* Time that a goroutine was parked is no thread's: it is in a view of its own, and in no other. */
Test(flame, goroutines)
{
	struct model *m = fixture_model(1000);
	struct export_told told = { 0 };
	uint32_t g, parked;
	struct flame f;

	fixture_thread(m, 1, 5, "m", 0, 1000);
	cr_assert_eq(model_goroutine_add(m, 12, &g), 0);
	m->threads[g] = (struct model_thread){ .goid = 12, .pid = 1, .tid = 5, .comm_id = fixture_string(m, "main.serve"),
					       .begin_ns = 0, .end_ns = 1000 };
	parked = fixture_wait(m, g, 100, 200, 300);
	m->rows[m->waits[parked].row].parked = true;
	fixture_wait(m, g, 400, 550, 600);
	f = make(m, EXPORT_GOROUTINES, &told);
	cr_assert_eq(told.value_ns, 100);
	flame_done(&f);
	f = make(m, EXPORT_OFFCPU, &told);
	cr_assert_eq(told.value_ns, 150);
	flame_done(&f);
	f = make(m, EXPORT_WALL, &told);
	cr_assert_eq(told.value_ns, 1000);
	cr_assert_eq(self_of(&f, "m [not accounted]"), 800);
	flame_done(&f);
	model_free(m);
}

/* The ops that a waker was in, the innermost next to the break. */
Test(flame, wakers_ops)
{
	struct model *m = fixture_model(1000);
	uint32_t t = fixture_thread(m, 1, 1, "t", 0, 1000), u = fixture_thread(m, 1, 2, "u", 0, 1000);
	uint32_t outer = fixture_op(m, OP_CALL, "request", 1, 2, 0, 1000);
	uint32_t inner = fixture_op(m, OP_CALL, "commit", 1, 2, 0, 1000);
	uint32_t w = fixture_wait(m, t, 0, 10, 20);
	struct export_told told = { 0 };
	struct flame f;

	m->ops[inner].parent = outer;
	m->waits[w].waker = u;
	m->waits[w].ctx = WAKER_TASK;
	model_wait_waker_op_set(m, &m->waits[w], inner);
	f = make(m, EXPORT_OFFWAKE, &told);
	cr_assert_eq(self_of(&f, "t [no stack] -- commit request u"), 10);
	flame_done(&f);
	model_free(m);
}

/* Who ended a wait: a thread, an interrupt, nobody yet, nobody knows. */
Test(flame, wakers)
{
	struct model *m = fixture_model(1000);
	uint32_t t = fixture_thread(m, 1, 1, "t", 0, 1000), u = fixture_thread(m, 1, 2, "u", 0, 1000);
	struct export_told told = { 0 };
	uint32_t w[4];
	struct flame f;

	for (int i = 0; i < 4; i++)
		w[i] = fixture_wait(m, t, 100 * i, 100 * i + 10 * (i + 1), 100 * i + 50);
	m->waits[w[0]].waker = u;
	m->waits[w[0]].ctx = WAKER_TASK;
	m->waits[w[1]].ctx = WAKER_DISK;
	m->waits[w[2]].clipped = CLIPPED_AFTER;
	m->waits[w[3]].ctx = WAKER_UNKNOWN;
	f = make(m, EXPORT_OFFWAKE, &told);
	cr_assert_eq(self_of(&f, "t [no stack] -- u"), 10);
	cr_assert_eq(self_of(&f, "t [no stack] -- disk interrupt"), 20);
	cr_assert_eq(self_of(&f, "t [no stack] -- [not ended]"), 30);
	cr_assert_eq(self_of(&f, "t [no stack] -- [waker unknown]"), 40);
	flame_done(&f);
	model_free(m);
}
