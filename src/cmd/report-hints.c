/* SPDX-License-Identifier: (LGPL-2.1 OR BSD-2-Clause) */
/*
 * The few lines of advice on a page. A class's time on the critical path bounds
 * what it can save, so that decides whom to ask about; all of those are
 * replayed in recorded order, the best simulated, as many as a large recording
 * leaves time for. Only what was simulated is advice: without queues some
 * savings are none.
 */
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "cmd/report-advice.h"
#include "cmd/report-replay.h"
#include "cmd/report-sections.h"
#include "util/cleanup.h"

enum { HINT_COLUMNS = 48, CANDIDATES_MAX = 48, FUNCTIONS_MAX = 16, SIMULATED_MIN = 4, SIMULATED_MAX = 16 };

/* So many points of a recording are simulated in all. */
#define SIMULATED_POINTS 8000000.0

static double path_ns(const struct replay_class *c)
{
	return (double)(c->path_cpu_ns + c->path_delay_ns);
}

/* Kinds that name who does something, not what. */
static bool is_who(const struct replay_class *c)
{
	return c->kind == REPLAY_CLASS_PROGRAM || c->kind == REPLAY_CLASS_THREAD ||
	       (c->kind == REPLAY_CLASS_OP && c->op_kind == OP_INTERNAL);
}

/* Of an op, a function, a lock half the time is a fair question; a wait for a file or a timer goes away or stays. */
static double factor_of(const struct report_hint *h, const struct replay_class *c)
{
	return h->what == REPLAY_NO_LOCK || c->kind == REPLAY_CLASS_RESOURCE ? 0 : 0.5;
}

/* Classes of several kinds about one thing often share a name: a program, its only thread, that thread's op. */
static bool is_told(const struct report *r, const struct report_hint *hints, size_t n, const struct report_hint *h)
{
	const struct replay_class *c = replay_class(r->replay, h->class);

	for (size_t i = 0; i < n; i++) {
		const struct replay_class *d = replay_class(r->replay, hints[i].class);
		/* A wait for something and who or what waits are two ways to look at it, each worth a line. */
		bool two_ways = (c->kind == REPLAY_CLASS_RESOURCE) != (d->kind == REPLAY_CLASS_RESOURCE);
		bool inside = c->kind != d->kind ? !two_ways :
						   c->kind == REPLAY_CLASS_RESOURCE && c->kind_id == d->kind_id;

		if (c->name_id && c->name_id == d->name_id)
			return true;
		/* A lock that is gone and what is done while it is held are two changes. */
		if ((h->what == REPLAY_NO_LOCK) != (hints[i].what == REPLAY_NO_LOCK))
			continue;
		/* As much of the path, nearly: it is the same time under another name. */
		if (inside && fabs(path_ns(c) - path_ns(d)) * 20 <= path_ns(d))
			return true;
	}
	return false;
}

/* ---- whom to ask about ---- */

struct candidates {
	struct report_hint *list;
	size_t n;
};

static void candidates_done(struct candidates *x)
{
	free(x->list);

}

static int bound_compare(const void *a, const void *b, void *arg)
{
	const double *bounds = arg, x = bounds[*(const uint32_t *)a], y = bounds[*(const uint32_t *)b];

	if (x > y || x < y)
		return x > y ? -1 : 1;
	return *(const uint32_t *)a < *(const uint32_t *)b ? -1 : 1;
}

/* By bound, largest first. NULL: no memory. */
static uint32_t *classes_order(const struct report *r, double *bounds, size_t *ret_n)
{
	uint32_t *order = calloc(replay_class_n(r->replay) + 1, sizeof(*order));
	size_t n = 0;

	for (uint32_t i = 0; order && i < replay_class_n(r->replay); i++) {
		const struct replay_class *c = replay_class(r->replay, i);
		struct report_hint h = { .class = i, .what = REPLAY_TIME };

		bounds[i] = (1 - factor_of(&h, c)) * path_ns(c);
		if (bounds[i] >= (double)report_worth_ns(r))
			order[n++] = i;
	}
	if (order && n)
		qsort_r(order, n, sizeof(*order), bound_compare, bounds);
	*ret_n = n;
	return order;
}

static int candidates_make(const struct report *r, struct candidates *x)
{
	_cleanup_(freep) double *bounds = calloc(replay_class_n(r->replay) + 1, sizeof(*bounds));
	_cleanup_(report_advice_freep) struct report_advice *advice = report_advice_new(r);
	_cleanup_(freep) uint32_t *order = NULL;
	size_t n, functions = 0;

	x->list = calloc(2 * CANDIDATES_MAX, sizeof(*x->list));
	if (!bounds || !advice || !x->list)
		return -ENOMEM;
	order = classes_order(r, bounds, &n);
	if (!order)
		return -ENOMEM;
	for (size_t i = 0; i < n && x->n < CANDIDATES_MAX; i++) {
		const struct replay_class *c = replay_class(r->replay, order[i]);
		bool function = c->kind == REPLAY_CLASS_FUNCTION;

		if ((function && functions == FUNCTIONS_MAX) || !report_is_advice(advice, order[i]))
			continue;
		functions += function;
		x->list[x->n++] = (struct report_hint){ .class = order[i], .what = REPLAY_TIME };
		if (c->kind == REPLAY_CLASS_LOCK)
			x->list[x->n++] = (struct report_hint){ .class = order[i], .what = REPLAY_NO_LOCK };
	}
	return 0;
}

/* ---- asking ---- */

/* The first n entries. 0, -errno. */
static int hints_evaluate(const struct report *r, struct report_hint *list, size_t n, unsigned engines)
{
	_cleanup_(freep) struct replay_change *changes = calloc(n + 1, sizeof(*changes));
	_cleanup_(freep) struct replay_scenario *scenarios = calloc(n + 1, sizeof(*scenarios));
	_cleanup_(freep) struct replay_outcome *outcomes = calloc(n + 1, sizeof(*outcomes));
	int e;

	if (!changes || !scenarios || !outcomes)
		return -ENOMEM;
	for (size_t i = 0; i < n; i++) {
		changes[i] = (struct replay_change){ .what = list[i].what,
						     .class = list[i].class,
						     .factor = factor_of(&list[i],
									 replay_class(r->replay, list[i].class)) };
		scenarios[i] = (struct replay_scenario){ .changes = &changes[i], .n = 1 };
		outcomes[i] = list[i].outcome;
	}
	e = n ? replay_evaluate(r->replay, scenarios, n, engines, outcomes) : 0;
	for (size_t i = 0; e == 0 && i < n; i++)
		list[i].outcome = outcomes[i];
	return e;
}

/* Of the same thing under several names first what people can change: the op, the function; last who does it. */
static int order_of(const struct replay_class *c)
{
	static const int order[REPLAY_CLASS_KIND_MAX] = {
		[REPLAY_CLASS_OP] = 0,
		[REPLAY_CLASS_FUNCTION] = 1,
		[REPLAY_CLASS_LOCK] = 2,
		[REPLAY_CLASS_RESOURCE] = 3,
	};

	return is_who(c) ? 4 : order[c->kind];
}

static int hint_compare(const void *a, const void *b, void *arg)
{
	const struct report *r = arg;
	const struct report_hint *x = a, *y = b;
	/* What differs by less than a five-hundredth of the whole is equal. */
	int64_t step_ns = r->replay_facts.makespan_ns / 500 + 1;
	int64_t x_ns = x->outcome.best_ns / step_ns, y_ns = y->outcome.best_ns / step_ns;
	int x_order = order_of(replay_class(r->replay, x->class)),
	    y_order = order_of(replay_class(r->replay, y->class));

	if (x_ns != y_ns)
		return x_ns > y_ns ? -1 : 1;
	if (x_order != y_order)
		return x_order < y_order ? -1 : 1;
	return x->class < y->class ? -1 : x->class > y->class;
}

static size_t told_drop(const struct report *r, struct report_hint *list, size_t n)
{
	size_t kept = 0;

	for (size_t i = 0; i < n; i++) {
		if (list[i].outcome.best_ns >= report_worth_ns(r) && !is_told(r, list, kept, &list[i]))
			list[kept++] = list[i];
	}
	return kept;
}

static size_t simulated_max(const struct report *r)
{
	double n = SIMULATED_POINTS / (double)(r->replay_facts.point_n + 1);

	return n < SIMULATED_MIN ? SIMULATED_MIN : n > SIMULATED_MAX ? SIMULATED_MAX : (size_t)n;
}

int report_hints_find(struct report *r)
{
	_cleanup_(candidates_done) struct candidates x = { 0 };
	int e;

	if (r->hints)
		return 0;
	e = candidates_make(r, &x);
	if (e == 0)
		e = hints_evaluate(r, x.list, x.n, REPLAY_E1);
	if (e < 0)
		return e;
	if (x.n)
		qsort_r(x.list, x.n, sizeof(*x.list), hint_compare, r);
	/* In recorded order a lock that is gone saves what it made others wait, all of it: it keeps its turn. */
	x.n = told_drop(r, x.list, x.n);
	if (x.n > simulated_max(r))
		x.n = simulated_max(r);
	e = hints_evaluate(r, x.list, x.n, REPLAY_E1_KNOWN | REPLAY_E2);
	if (e < 0)
		return e;
	if (x.n)
		qsort_r(x.list, x.n, sizeof(*x.list), hint_compare, r);
	r->hint_n = told_drop(r, x.list, x.n);
	r->hints = TAKE_PTR(x.list);
	return 0;
}

int report_hints_make(struct report *r)
{
	int e = report_hints_find(r);

	return e < 0 ? e : report_machines_make(r);
}

/* ---- the machine ---- */

/* Time of the path in run queues: if there is little, no CPU helps. */
static uint64_t queued_ns(const struct report *r)
{
	uint64_t ns = 0;

	for (size_t i = 0; i < r->stretch_n; i++) {
		const struct replay_stretch *s = &r->stretches[i];

		ns += s->state == REPLAY_RUNNABLE ? (uint64_t)(s->end_ns - s->start_ns) : 0;
	}
	return ns;
}

/* No class's: more CPUs, and so many that nobody stands in a queue. */
int report_machines_make(struct report *r)
{
	struct replay_change more = { .what = REPLAY_CPUS, .factor = 2.0 * r->replay_facts.cpu_n };
	struct replay_change none = { .what = REPLAY_NO_RUNQUEUE };
	const struct replay_scenario scenarios[REPORT_MACHINES] = {
		[REPORT_MORE_CPUS] = { &more, 1 }, [REPORT_NO_QUEUE] = { &none, 1 },
	};
	int e = report_stretches_make(r);

	/* Without a number of CPUs there is nothing to double. */
	r->has_machines = e == 0 && r->replay_facts.cpu_n && queued_ns(r) >= (uint64_t)report_worth_ns(r);
	return r->has_machines ?
		       replay_evaluate(r->replay, scenarios, REPORT_MACHINES, REPLAY_E1 | REPLAY_E2, r->machines) :
		       e;
}

const char *report_machine_word(enum report_machine machine)
{
	return machine == REPORT_MORE_CPUS ? "twice the CPUs" : "no waiting for a CPU";
}

/* The better of the two, if it is worth a line; REPORT_MACHINES: neither is. */
static unsigned machine_best(const struct report *r)
{
	unsigned best = REPORT_MORE_CPUS;

	if (!r->has_machines)
		return REPORT_MACHINES;
	if (r->machines[REPORT_NO_QUEUE].best_ns * 10 > r->machines[REPORT_MORE_CPUS].best_ns * 11)
		best = REPORT_NO_QUEUE;
	return r->machines[best].best_ns < report_worth_ns(r) ? REPORT_MACHINES : best;
}

/* ---- the lines ---- */

static unsigned hint_print(const struct page *p, const struct report_hint *h, unsigned columns)
{
	const struct replay_class *c = replay_class(p->r->replay, h->class);
	const char *before = "", *behind = "";
	unsigned used;

	if (c->kind == REPLAY_CLASS_RESOURCE)
		before = c->reason == REASON_SLEEP ? "without " : "no wait for ";
	else if (h->what == REPLAY_NO_LOCK)
		before = "no waiting for ";
	else
		behind = c->kind == REPLAY_CLASS_LOCK ? " held half as long" : " in half the time";
	used = (unsigned)fprintf(p->f, "%s", before);
	used += report_subject_print(p, h->class, columns - used - (unsigned)strlen(behind));
	return used + (unsigned)fprintf(p->f, "%s", behind);
}

static void outcome_print(const struct page *p, const struct replay_outcome *o, unsigned used)
{
	fprintf(p->f, "%*s%10s  %-18s %c\n", used < HINT_COLUMNS + 2 ? (int)(HINT_COLUMNS + 2 - used) : 1, "",
		page_signed_time(o->best_ns).text, report_range(o->low_ns, o->high_ns).text, o->grade);
}

static void machine_print(const struct page *p, unsigned machine)
{
	outcome_print(p, &p->r->machines[machine],
		      (unsigned)fprintf(p->f, "  %s", report_machine_word((enum report_machine)machine)));
}

void report_hints_text(const struct page *p, size_t max)
{
	const struct report *r = p->r;
	unsigned machine = machine_best(r);

	if (!r->hint_n && machine == REPORT_MACHINES)
		return;
	page_title(p, "What would help");
	fprintf(p->f, "%*s%10s  %-18s grade\n", HINT_COLUMNS - 13, "", "saves", "range");
	for (size_t i = 0; i < r->hint_n && i < max; i++) {
		const struct replay_outcome *o = &r->hints[i].outcome;

		if (machine < REPORT_MACHINES && r->machines[machine].best_ns > o->best_ns) {
			machine_print(p, machine);
			machine = REPORT_MACHINES;
		}
		fputs("  ", p->f);
		outcome_print(p, o, 2 + hint_print(p, &r->hints[i], HINT_COLUMNS - 2));
	}
	if (machine < REPORT_MACHINES)
		machine_print(p, machine);
}
