/* SPDX-License-Identifier: (LGPL-2.1 OR BSD-2-Clause) */
/* What can be decided once a row or once an op is, so that a wait costs a few loads. */
#include "analyze/filter.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "analyze/idle.h"
#include "analyze/parents.h"
#include "util/cleanup.h"

bool filter_wait_is_idle(const struct filter *x, const struct model_wait *w)
{
	return idle_wait(x->row_idle[w->row], w);
}

static bool op_matches(const struct model *m, const struct analyze_filter *f, uint32_t op, bool by_client)
{
	const char *const *words = by_client ? f->clients : f->classes;
	size_t n = by_client ? f->client_n : f->class_n;
	const char *own = strtab_str(m->strings, by_client ? m->ops[op].client_id : m->ops[op].class_id);

	for (size_t i = 0; i < n; i++) {
		if (strcmp(words[i], own) == 0)
			return true;
	}
	return false;
}

/* passes[op]: it or one above it matches. Each op is looked at once, however deep it lies. */
static int ops_mark(const struct model *m, const struct analyze_filter *f, const uint32_t *parents, bool by_client,
		    bool *passes)
{
	_cleanup_(freep) uint8_t *known = calloc(m->op_n, 1);

	if (!known)
		return -ENOMEM;
	known[0] = 1;
	for (uint32_t i = 1; i < m->op_n; i++) {
		uint32_t top = i;
		bool pass;

		while (!known[top] && !op_matches(m, f, top, by_client))
			top = parents[top];
		pass = known[top] ? passes[top] : true;
		passes[top] = pass;
		known[top] = 1;
		for (uint32_t at = i; !known[at]; at = parents[at]) {
			passes[at] = pass;
			known[at] = 1;
		}
	}
	return 0;
}

static int ops_select(struct filter *x)
{
	_cleanup_(freep) uint32_t *parents = NULL;
	_cleanup_(freep) bool *by_class = NULL, *by_client = NULL;
	const struct model *m = x->m;

	if (!filter_is_by_op(x->f))
		return 0;
	by_class = calloc(m->op_n, sizeof(*by_class));
	by_client = calloc(m->op_n, sizeof(*by_client));
	if (!by_class || !by_client || parents_make(m, &parents) < 0 ||
	    (x->f->class_n && ops_mark(m, x->f, parents, false, by_class) < 0) ||
	    (x->f->client_n && ops_mark(m, x->f, parents, true, by_client) < 0))
		return -ENOMEM;
	for (size_t i = 1; i < m->op_n; i++)
		by_class[i] = (by_class[i] || !x->f->class_n) && (by_client[i] || !x->f->client_n);
	x->ops = TAKE_PTR(by_class);
	return 0;
}

int filter_init(struct filter *x, const struct model *m, const struct analyze_filter *f)
{
	static const struct analyze_filter all;
	uint8_t *idle = calloc(m->row_n, sizeof(*idle));

	if (!idle)
		return -ENOMEM;
	for (size_t i = 1; i < m->row_n; i++)
		idle[i] = (uint8_t)idle_row(m, &m->rows[i]);
	*x = (struct filter){ .m = m, .f = f ? f : &all, .row_idle = idle };
	return ops_select(x);
}

void filter_done(struct filter *x)
{
	free(x->row_idle);
	free(x->ops);
	x->row_idle = NULL;
	x->ops = NULL;
}

static bool number_passes(const uint32_t *numbers, size_t n, uint32_t number)
{
	for (size_t i = 0; i < n; i++) {
		if (numbers[i] == number)
			return true;
	}
	return n == 0;
}

bool filter_thread(const struct filter *x, const struct model_thread *t)
{
	const struct analyze_filter *f = x->f;

	return number_passes(f->pids, f->pid_n, t->pid) && number_passes(f->tids, f->tid_n, t->tid) &&
	       (!f->comm || strcmp(f->comm, strtab_str(x->m->strings, t->comm_id)) == 0);
}

bool filter_op(const struct filter *x, uint32_t op)
{
	const struct model_op *o = &x->m->ops[op];
	const struct analyze_filter *f = x->f;

	return (!x->ops || x->ops[op]) && number_passes(f->pids, f->pid_n, o->pid) &&
	       number_passes(f->tids, f->tid_n, o->tid) &&
	       (!f->comm || (o->kind == OP_INTERNAL && strcmp(f->comm, strtab_str(x->m->strings, o->class_id)) == 0));
}

bool filter_wait(const struct filter *x, const struct model_wait *w)
{
	const struct model_thread *t = &x->m->threads[w->thread];
	const struct model_op *o = &x->m->ops[w->op];
	const struct analyze_filter *f = x->f;

	if (f->idle != ANALYZE_IDLE_TOO && filter_wait_is_idle(x, w) != (f->idle == ANALYZE_IDLE_ONLY))
		return false;
	if (x->ops && !x->ops[w->op])
		return false;
	/* A name is that of its time, so it is the row's, not the thread's last. */
	return number_passes(f->pids, f->pid_n, w->thread ? t->pid : o->pid) &&
	       number_passes(f->tids, f->tid_n, model_wait_words(x->m, w).tid ?: w->thread ? t->tid : o->tid) &&
	       (!f->comm || strcmp(f->comm, strtab_str(x->m->strings, x->m->rows[w->row].comm_id)) == 0);
}

bool filter_is_blank(const struct analyze_filter *f)
{
	return !f || (!f->pid_n && !f->tid_n && !f->comm && !filter_is_by_op(f));
}

bool filter_is_by_op(const struct analyze_filter *f)
{
	return f && (f->class_n || f->client_n);
}
