/* SPDX-License-Identifier: (LGPL-2.1 OR BSD-2-Clause) */
/*
 * What would bring the slowest hundredth down. Not what would shorten the whole
 * run, which for a server is as long as somebody looked: the ops' own times are
 * asked for, with each thing gone that the slow ones wait for longer. In both
 * engines, whose answers are the range; against the engine's own base, since
 * only the difference is what it knows.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "cmd/report-replay.h"
#include "cmd/report-sections.h"
#include "util/cleanup.h"

enum { CANDIDATES_MAX = 3 };

/* A recording with more points would take too long, in both engines and for each of them. */
#define POINTS_MAX 1500000

static int ns_compare(const void *a, const void *b)
{
	int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;

	return x < y ? -1 : x > y;
}

/* Of the ops that the tail is of: those that began and ended in the recording. -errno, else the 99th of a hundred. */
static int64_t p99_ns(const struct report *r, const bool *ops, size_t n, const struct replay_scenario *s,
		      enum replay_engines engine)
{
	_cleanup_(freep) struct replay_span *spans = NULL;
	_cleanup_(freep) int64_t *list = calloc(n + 1, sizeof(*list));
	size_t at = 0;
	int e = list ? replay_op_times(r->replay, s, engine, &spans) : -ENOMEM;

	if (e < 0)
		return e;
	for (size_t i = 1; i < r->m->op_n && at < n; i++) {
		if (ops[i])
			list[at++] = spans[i].end_ns - spans[i].start_ns;
	}
	qsort(list, at, sizeof(*list), ns_compare);
	return at ? list[(at * 99 + 99) / 100 - 1] : 0;
}

/* malloc'd; NULL: no memory. */
static bool *ops_find(const struct report *r, size_t *ret_n)
{
	const struct analyze_tail *t = &r->tail;
	bool *ops = calloc(r->m->op_n, sizeof(*ops));

	*ret_n = 0;
	for (size_t i = 1; ops && i < r->m->op_n; i++) {
		const struct model_op *o = &r->m->ops[i];

		ops[i] = o->kind == t->kind && o->class_id == t->class_id && !o->open && !o->clipped &&
			 (!report_is_filtered(r) || r->picked.ops[i]);
		*ret_n += ops[i];
	}
	return ops;
}

/* What of the replay is that resource: first as a lock, which can go without what is done under it. */
static bool change_find(const struct report *r, const struct analyze_tail_resource *x, struct report_slow *ret)
{
	for (uint32_t i = 0; i < replay_class_n(r->replay); i++) {
		const struct replay_class *c = replay_class(r->replay, i);
		bool lock = c->kind == REPLAY_CLASS_LOCK;

		if ((!lock && c->kind != REPLAY_CLASS_RESOURCE) || c->name_id != x->name_id ||
		    c->kind_id != x->kind_id || c->reason != x->reason)
			continue;
		*ret = (struct report_slow){ .class = i, .what = lock ? REPLAY_NO_LOCK : REPLAY_TIME };
		if (lock)
			return true;
	}
	return ret->what != REPLAY_CHANGE_MAX;
}

static bool is_named(const struct report *r, const struct analyze_tail_resource *x)
{
	const char *name = strtab_str(r->m->strings, x->name_id), *kind = strtab_str(r->m->strings, x->kind_id);

	return x->reason == REASON_SLEEP || (*name && strcmp(name, kind) != 0);
}

static int candidates_find(struct report *r)
{
	const struct analyze_tail *t = &r->tail;

	r->slow = calloc(CANDIDATES_MAX + 1, sizeof(*r->slow));
	if (!r->slow)
		return -ENOMEM;
	for (size_t i = 0; i < t->resource_n && r->slow_n < CANDIDATES_MAX; i++) {
		struct report_slow x = { .what = REPLAY_CHANGE_MAX };
		uint64_t slow_ns = t->resources[i].slow_ns / (t->slow.n ? t->slow.n : 1);

		/* What is less than a twentieth of a slow op explains none; of what has no name nothing can be changed. */
		if (is_named(r, &t->resources[i]) && slow_ns * 20 >= t->p99_ns && change_find(r, &t->resources[i], &x))
			r->slow[r->slow_n++] = x;
	}
	if (t->slow.n && t->slow.ns[WHERE_RUNNABLE] / t->slow.n * 20 >= t->p99_ns)
		r->slow[r->slow_n++] = (struct report_slow){ .class = UINT32_MAX, .what = REPLAY_NO_RUNQUEUE };
	return 0;
}

/*
 * The recorded one less what an engine saves. Of an engine whose unchanged one is longer than the recorded, only the same
 * part: else it could save more than there is.
 */
int64_t report_slow_then(int64_t recorded_ns, int64_t base_ns, int64_t then_ns)
{
	if (then_ns < base_ns && base_ns > recorded_ns)
		return (int64_t)((double)recorded_ns * ((double)then_ns / (double)base_ns));
	return recorded_ns + then_ns - base_ns > 0 ? recorded_ns + then_ns - base_ns : 0;
}

static int slow_evaluate(struct report *r, const bool *ops, size_t n)
{
	static const enum replay_engines engines[] = { REPLAY_E1, REPLAY_E2 };
	static const struct replay_scenario unchanged;

	for (size_t k = 0; k < 2; k++) {
		int64_t base_ns = p99_ns(r, ops, n, &unchanged, engines[k]);

		if (base_ns < 0)
			return (int)base_ns;
		for (size_t i = 0; i < r->slow_n; i++) {
			struct replay_change change = { .what = r->slow[i].what, .class = r->slow[i].class };
			int64_t then_ns = p99_ns(r, ops, n, &(struct replay_scenario){ &change, 1 }, engines[k]);

			if (then_ns < 0)
				return (int)then_ns;
			r->slow[i].ns[k] = report_slow_then((int64_t)r->tail.p99_ns, base_ns, then_ns);
		}
	}
	return 0;
}

static int slow_compare(const void *a, const void *b)
{
	const struct report_slow *x = a, *y = b;

	if (x->ns[1] != y->ns[1])
		return x->ns[1] < y->ns[1] ? -1 : 1;
	return x->class < y->class ? -1 : x->class > y->class;
}

int report_slow_make(struct report *r)
{
	_cleanup_(freep) bool *ops = NULL;
	size_t n, kept = 0;
	int e;

	if (!r->has_tail || r->tail.op_n < ANALYZE_TAIL_OPS_MIN)
		return 0;
	e = report_replay_need(r);
	if (e == -E2BIG || r->replay_facts.point_n > POINTS_MAX)
		return 0;
	if (e == 0)
		e = candidates_find(r);
	if (e < 0 || !r->slow_n)
		return e;
	ops = ops_find(r, &n);
	e = ops ? slow_evaluate(r, ops, n) : -ENOMEM;
	if (e < 0)
		return e;
	qsort(r->slow, r->slow_n, sizeof(*r->slow), slow_compare);
	/* What brings it down by less than a hundredth is no advice. */
	while (kept < r->slow_n && (uint64_t)r->slow[kept].ns[1] * 100 < r->tail.p99_ns * 99)
		kept++;
	r->slow_n = kept;
	return 0;
}

void report_slow_text(const struct page *p, size_t max)
{
	const struct report *r = p->r;

	for (size_t i = 0; i < r->slow_n && i < max; i++) {
		const struct report_slow *x = &r->slow[i];
		int64_t low_ns = x->ns[0] < x->ns[1] ? x->ns[0] : x->ns[1];

		fprintf(p->f, "  p99 would be %s (%s) ", page_time((uint64_t)x->ns[1]).text,
			report_range(low_ns, low_ns == x->ns[0] ? x->ns[1] : x->ns[0]).text);
		if (x->what == REPLAY_NO_RUNQUEUE) {
			fputs("without waiting for a CPU\n", p->f);
			continue;
		}
		fputs(replay_class(r->replay, x->class)->reason == REASON_SLEEP ? "without " : "without waiting for ",
		      p->f);
		report_subject_print(p, x->class, 44);
		fputc('\n', p->f);
	}
}

void report_slow_json(const struct report *r, struct json *j)
{
	json_begin_array(j);
	for (size_t i = 0; i < r->slow_n; i++) {
		const struct report_slow *x = &r->slow[i];

		json_begin_object(j);
		json_kv_string(j, "change", x->what == REPLAY_NO_RUNQUEUE ? "no_run_queue" :
			       x->what == REPLAY_NO_LOCK		  ? "no_wait_for_lock" :
									    "gone");
		if (x->what != REPLAY_NO_RUNQUEUE)
			report_subject_json(r, j, x->class);
		json_kv_int(j, "p99_e1_ns", x->ns[0]);
		json_kv_int(j, "p99_e2_ns", x->ns[1]);
		json_end_object(j);
	}
	json_end_array(j);
}
