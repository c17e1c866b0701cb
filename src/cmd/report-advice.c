/* SPDX-License-Identifier: (LGPL-2.1 OR BSD-2-Clause) */
/*
 * A function is a class wherever it stands in a stack, so every stretch of time
 * has as many names as its stack has frames: main(), the loop of the thread,
 * what does the work, a wrapper that all use, the C library. One of them is
 * what a reader wants to be told.
 */
#include "cmd/report-advice.h"

#include <stdlib.h>
#include <string.h>

struct report_advice {
	const struct report *r;
	float *depths; /* by string: how far from the innermost frame the function lies, on average */
};

int64_t report_worth_ns(const struct report *r)
{
	return r->replay_facts.makespan_ns / 200 + 1;
}

static double all_ns(const struct replay_class *c)
{
	return (double)(c->cpu_ns + c->delay_ns);
}

static double path_ns(const struct replay_class *c)
{
	return (double)(c->path_cpu_ns + c->path_delay_ns);
}

static bool nearly(double a, double b)
{
	return b > 0 && a > 0.9 * b && a < 1.1 * b;
}

/* NULL: no memory. */
static float *depths_make(const struct model *m)
{
	size_t n = strtab_n(m->strings);
	float *sum = calloc(n, sizeof(*sum)), *count = calloc(n, sizeof(*count));

	for (size_t i = 1; sum && count && i < m->stack_n; i++) {
		for (uint32_t k = 0; k < m->stacks[i].frame_n; k++) {
			sum[m->stacks[i].frames[k].name_id] += (float)k;
			count[m->stacks[i].frames[k].name_id]++;
		}
	}
	for (size_t i = 0; sum && count && i < n; i++)
		sum[i] /= count[i] > 0 ? count[i] : 1;
	if (!count) {
		free(sum);
		sum = NULL;
	}
	free(count);
	return sum;
}

struct report_advice *report_advice_new(const struct report *r)
{
	_cleanup_(report_advice_freep) struct report_advice *a = calloc(1, sizeof(*a));

	if (!a)
		return NULL;
	a->r = r;
	a->depths = depths_make(r->m);
	return a->depths ? TAKE_PTR(a) : NULL;
}

void report_advice_free(struct report_advice *a)
{
	if (!a)
		return;
	free(a->depths);
	free(a);
}

/* What everybody calls to wait or to begin: nobody makes that faster. */
static bool is_system(const struct model *m, const struct replay_class *c)
{
	const char *path = strtab_str(m->strings, m->modules[c->module_id].path_id), *slash = strrchr(path, '/');
	const char *name = slash ? slash + 1 : path;

	return *path == '[' || strncmp(name, "libc.", 5) == 0 || strncmp(name, "libc-", 5) == 0 ||
	       strncmp(name, "libpthread", 10) == 0 || strncmp(name, "ld-", 3) == 0;
}

/* What begins a program, and what all of it goes through. */
static bool is_everything(const struct report *r, const struct replay_class *c)
{
	for (size_t i = 0; i < replay_class_n(r->replay); i++) {
		const struct replay_class *d = replay_class(r->replay, i);

		if (d->kind == REPLAY_CLASS_PROGRAM && nearly(all_ns(c), all_ns(d)))
			return true;
	}
	return false;
}

/* The one program that ran, or the one thread that did all of its work: to halve it is to halve everything. */
static bool is_all_there_is(const struct report *r, const struct replay_class *c)
{
	bool who = c->kind == REPLAY_CLASS_THREAD || (c->kind == REPLAY_CLASS_OP && c->op_kind == OP_INTERNAL);
	size_t n = 0;

	for (size_t i = 0; i < replay_class_n(r->replay); i++)
		n += replay_class(r->replay, i)->kind == REPLAY_CLASS_PROGRAM;
	return n == 1 && (c->kind == REPLAY_CLASS_PROGRAM || (who && is_everything(r, c)));
}

/*
 * Is d the better name for the time on the path that both are? One that does little else is: a wrapper that the whole
 * program waits in says less than its caller here. Of two that do as little else the one that is called: main() and a
 * thread's loop are true and of no use.
 */
static bool is_better(const struct report_advice *a, const struct replay_class *d, const struct replay_class *c)
{
	if (!nearly(path_ns(c), path_ns(d)))
		return false;
	if (!nearly(all_ns(c), all_ns(d)))
		return all_ns(d) < all_ns(c);
	return a->depths[d->name_id] < a->depths[c->name_id];
}

bool report_is_advice(const struct report_advice *a, const struct replay_class *c)
{
	const struct report *r = a->r;

	/* What has no name nobody can change: ops of a dump without threads are all one such thread's. */
	if (!c->name_id && c->kind != REPLAY_CLASS_RESOURCE)
		return false;
	if (c->kind != REPLAY_CLASS_FUNCTION)
		return !is_all_there_is(r, c);
	if (is_system(r->m, c) || is_everything(r, c))
		return false;
	for (size_t i = 0; i < replay_class_n(r->replay); i++) {
		const struct replay_class *d = replay_class(r->replay, i);

		if (d != c && d->kind == REPLAY_CLASS_FUNCTION && is_better(a, d, c) && !is_system(r->m, d) &&
		    !is_everything(r, d))
			return false;
	}
	return true;
}
