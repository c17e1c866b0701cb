/* SPDX-License-Identifier: (LGPL-2.1 OR BSD-2-Clause) */
/*
 * Every table is the same walk: a 64-bit key of a wait, a map from key to
 * entry, sums. What a table is about is two small functions of the registry
 * below, the key of a wait and, once an entry, its name. Names are made
 * afterwards, since most are new strings: the walk writes nothing that others
 * read.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "analyze/filter.h"
#include "analyze/stacks.h"
#include "analyze/waker.h"
#include "analyze/where.h"
#include "util/cleanup.h"
#include "util/map.h"
#include "util/text.h"
#include "util/vec.h"

struct grouping {
	const struct model *m;
	uint32_t *row_sorts; /* by row: dense number of its (reason, kind) */
	uint32_t *lock_functions; /* by row: string, as analyze_lock_function() */
	struct where where;
	uint32_t *stacks;    /* by stack: the first that reads the same */
};

#define KEY(high, low) ((uint64_t)(high) << 32 | (low))

uint32_t analyze_awaited_name(const struct model *m, const struct model_wait *w)
{
	const struct model_op *o = &m->ops[w->target];

	return w->ident_id ? w->ident_id : o->class_id ? o->class_id : o->ident_id;
}

/*
 * For a lock of its own making each process sleeps on something of its own, a descriptor or a word: what they have in
 * common is the function.
 */
static uint64_t resource_key(const struct grouping *g, const struct model_wait *w)
{
	if (g->lock_functions[w->row])
		return KEY(UINT32_MAX, g->lock_functions[w->row]);
	return KEY(g->row_sorts[w->row], analyze_awaited_name(g->m, w));
}

static int name_intern(struct model *m, uint32_t *ret, const char *fmt, ...) __attribute__((format(printf, 3, 4)));
static int name_intern(struct model *m, uint32_t *ret, const char *fmt, ...)
{
	_cleanup_(freep) char *text = NULL;
	va_list ap;

	va_start(ap, fmt);
	text = text_vformat(fmt, ap);
	va_end(ap);
	if (!text)
		return -ENOMEM;
	return strtab_intern(m->strings, text, ret);
}

static int resource_name(struct model *m, const struct model_wait *w, uint32_t *ret)
{
	uint32_t function = analyze_lock_function(m, w);

	if (function)
		return name_intern(m, ret, "in %s", strtab_str(m->strings, function));
	*ret = analyze_awaited_name(m, w);
	return 0;
}

static uint64_t kind_key(const struct grouping *g, const struct model_wait *w)
{
	return g->row_sorts[w->row];
}

static int kind_name(struct model *m, const struct model_wait *w, uint32_t *ret)
{
	*ret = m->rows[w->row].kind_id;
	return 0;
}

static uint64_t waker_key(const struct grouping *g, const struct model_wait *w)
{
	enum waker_sort sort = waker_sort(g->m, w);

	switch (sort) {
	case WAKER_IS_THREAD:
		return KEY(sort, w->waker);
	case WAKER_IS_OUTSIDE:
		return KEY(sort, w->outside_waker);
	case WAKER_IS_CTX:
		return KEY(sort, w->ctx);
	case WAKER_IS_OP:
		return KEY(sort, analyze_awaited_name(g->m, &(struct model_wait){ .target = w->target }));
	default:
		return KEY(sort, 0);
	}
}

static int thread_name_intern(struct model *m, uint32_t thread, uint32_t *ret)
{
	const struct model_thread *t = &m->threads[thread];

	if (t->goid)
		return name_intern(m, ret, "%s (goroutine %" PRIu64 ")", strtab_str(m->strings, t->comm_id), t->goid);
	return name_intern(m, ret, "%s (tid %" PRIu32 ")", strtab_str(m->strings, t->comm_id), t->tid);
}

/* One whose number is 0 is of a PID namespace that wcbpf does not see. */
static int outside_name_intern(struct model *m, const struct model_wait *w, uint32_t *ret)
{
	uint32_t pid = 0, tid = 0, comm_id = 0;

	model_wait_waker(m, w, &pid, &tid, &comm_id);
	if (!comm_id)
		return name_intern(m, ret, "tid %" PRIu32 " (not recorded)", tid);
	if (!tid)
		return name_intern(m, ret, "%s (not recorded)", strtab_str(m->strings, comm_id));
	return name_intern(m, ret, "%s (tid %" PRIu32 ", not recorded)", strtab_str(m->strings, comm_id), tid);
}

static int waker_name(struct model *m, const struct model_wait *w, uint32_t *ret)
{
	static const char *const ctx_words[WAKER_CTX_MAX] = {
		[WAKER_TASK] = "a thread, not known which",
		[WAKER_TIMER] = "timer",
		[WAKER_DISK] = "disk interrupt",
		[WAKER_NET] = "network interrupt",
		[WAKER_IRQ] = "interrupt",
	};

	switch (waker_sort(m, w)) {
	case WAKER_IS_THREAD:
		return thread_name_intern(m, w->waker, ret);
	case WAKER_IS_OUTSIDE:
		return outside_name_intern(m, w, ret);
	case WAKER_IS_CTX:
		return strtab_intern(m->strings, w->ctx < WAKER_CTX_MAX ? ctx_words[w->ctx] : "", ret);
	case WAKER_IS_OP:
		return name_intern(m, ret, "end of %s",
				   strtab_str(m->strings,
					      analyze_awaited_name(m, &(struct model_wait){ .target = w->target })));
	case WAKER_GAVE_UP:
		return strtab_intern(m->strings, "given up before what it was for ended", ret);
	case WAKER_STILL_OPEN:
		return strtab_intern(m->strings, "nobody yet (open at the end)", ret);
	default:
		return strtab_intern(m->strings, "unknown", ret);
	}
}

static uint64_t stack_key(const struct grouping *g, const struct model_wait *w)
{
	const struct model_row *row = &g->m->rows[w->row];

	return KEY(g->stacks[row->kstack], g->stacks[row->ustack]);
}

static uint64_t caller_key(const struct grouping *g, const struct model_wait *w)
{
	const struct model_row *row = &g->m->rows[w->row];

	return g->stacks[row->ustack] ? KEY(1, g->stacks[row->ustack]) : KEY(0, g->stacks[row->kstack]);
}

static int no_name(struct model *m, const struct model_wait *w, uint32_t *ret)
{
	(void)m;
	(void)w;
	*ret = 0;
	return 0;
}

/* Without thread records (a dump of the engine) the waiting op stands for it. */
static uint64_t thread_key(const struct grouping *g, const struct model_wait *w)
{
	(void)g;
	return w->thread ? KEY(1, w->thread) : KEY(0, w->op);
}

static int op_name(struct model *m, const struct model_wait *w, uint32_t *ret)
{
	const struct model_op *o = &m->ops[w->op];

	if (!w->op)
		return strtab_intern(m->strings, "no op", ret);
	if (!o->class_id)
		return strtab_intern(m->strings, op_kind_name(o->kind), ret);
	*ret = o->class_id;
	return 0;
}

static int thread_name(struct model *m, const struct model_wait *w, uint32_t *ret)
{
	return w->thread ? thread_name_intern(m, w->thread, ret) : op_name(m, w, ret);
}

static uint64_t op_class_key(const struct grouping *g, const struct model_wait *w)
{
	const struct model_op *o = &g->m->ops[w->op];

	return KEY(w->op ? 1 + o->kind : 0, o->class_id);
}

/* As elsewhere: a thread's own op, a goroutine's. */
static const char *kind_name_of(const struct model *m, const struct model_wait *w)
{
	const struct model_thread *t = &m->threads[w->thread];

	return m->ops[w->op].kind != OP_INTERNAL || !w->thread || t->op != w->op ? op_kind_name(m->ops[w->op].kind) :
	       t->goid ? "goroutine" : "thread";
}

/* "call_exec Container.withExec": the call and its execution have one class. */
static int op_class_name(struct model *m, const struct model_wait *w, uint32_t *ret)
{
	const struct model_op *o = &m->ops[w->op];

	if (!w->op || !o->class_id)
		return op_name(m, w, ret);
	return name_intern(m, ret, "%s %s", kind_name_of(m, w), strtab_str(m->strings, o->class_id));
}

static const struct group_row {
	uint64_t (*key)(const struct grouping *g, const struct model_wait *w);
	int (*name)(struct model *m, const struct model_wait *w, uint32_t *ret);
	bool with_cpu; /* its lines have one reason each, so that preempted stretches can't mix with waits */
} groups[] = {
	[ANALYZE_BY_RESOURCE] = { resource_key, resource_name, true },
	[ANALYZE_BY_WAKER] = { waker_key, waker_name, false },
	[ANALYZE_BY_STACK] = { stack_key, no_name, false },
	[ANALYZE_BY_CALLER] = { caller_key, no_name, false },
	[ANALYZE_BY_THREAD] = { thread_key, thread_name, false },
	[ANALYZE_BY_OP_CLASS] = { op_class_key, op_class_name, false },
	[ANALYZE_BY_KIND] = { kind_key, kind_name, true },
};

static int row_sorts_make(struct grouping *g)
{
	_cleanup_(map_freep) struct map *sorts = NULL;

	g->row_sorts = calloc(g->m->row_n, sizeof(*g->row_sorts));
	if (!g->row_sorts || map_new(&sorts) < 0)
		return -ENOMEM;
	for (size_t i = 1; i < g->m->row_n; i++) {
		uint64_t key = KEY(g->m->rows[i].reason, g->m->rows[i].kind_id), sort;

		if (!map_get(sorts, key, &sort)) {
			sort = map_n(sorts) + 1;
			if (map_put(sorts, key, sort) < 0)
				return -ENOMEM;
		}
		g->row_sorts[i] = (uint32_t)sort;
	}
	return 0;
}

static int lock_functions_make(struct grouping *g)
{
	g->lock_functions = calloc(g->m->row_n, sizeof(*g->lock_functions));
	if (!g->lock_functions)
		return -ENOMEM;
	for (size_t i = 1; i < g->m->row_n; i++)
		g->lock_functions[i] = analyze_lock_function(g->m, &(struct model_wait){ .row = i & 0xffffff });
	return 0;
}

static void grouping_done(struct grouping *g)
{
	free(g->row_sorts);
	free(g->lock_functions);
	free(g->stacks);
	where_done(&g->where);
}

static void entry_add(struct analyze_entry *e, const struct model_row *row, const struct model_wait *w, bool idle)
{
	uint64_t ns = (uint64_t)(row->reason == REASON_CPU ? w->runnable_ns : w->blocked_ns);

	e->count++;
	e->blocked_ns += (uint64_t)w->blocked_ns;
	e->runnable_ns += (uint64_t)w->runnable_ns;
	e->squares += (double)ns * (double)ns;
	e->idle &= idle;
	if (idle) {
		e->idle_count++;
		e->idle_ns += (uint64_t)w->blocked_ns;
	}
	if (ns > e->longest_ns) {
		e->longest_ns = ns;
		e->longest_cut = w->clipped != 0;
	}
}

static int entry_compare(const void *a, const void *b)
{
	const struct analyze_entry *x = a, *y = b;

	if (x->blocked_ns != y->blocked_ns)
		return x->blocked_ns > y->blocked_ns ? -1 : 1;
	if (x->runnable_ns != y->runnable_ns)
		return x->runnable_ns > y->runnable_ns ? -1 : 1;
	if (x->count != y->count)
		return x->count > y->count ? -1 : 1;
	/* The same order on every run. */
	return x->name_id < y->name_id ? -1 : x->name_id > y->name_id;
}

static int waits_group(struct grouping *g, const struct group_row *by, const struct filter *filter,
		       struct analyze_table *t)
{
	_cleanup_(map_freep) struct map *index = NULL;
	const struct model *m = g->m;
	size_t cap = 0;

	if (map_new(&index) < 0)
		return -ENOMEM;
	for (size_t i = 1; i < m->wait_n; i++) {
		const struct model_wait *w = &m->waits[i];
		const struct model_row *row = &m->rows[w->row];
		uint64_t key, at;

		if ((!by->with_cpu && row->reason == REASON_CPU) || !filter_wait(filter, w))
			continue;
		key = by->key(g, w);
		if (!map_get(index, key, &at)) {
			if (VEC_RESERVE(t->entries, cap, t->n + 1) < 0 || map_put(index, key, t->n) < 0)
				return -ENOMEM;
			at = t->n++;
			t->entries[at] = (struct analyze_entry){ .first = (uint32_t)i, .kind_id = row->kind_id,
								 .stack_k = row->kstack, .stack_u = row->ustack,
								 .where = (uint8_t)where_of(&g->where, w),
								 .reason = row->reason, .idle = true };
		}
		entry_add(&t->entries[at], row, w, filter_wait_is_idle(filter, w));
	}
	return 0;
}

int analyze_group_count(const struct model *m, enum analyze_by by, const struct analyze_filter *f,
			struct analyze_table *ret)
{
	_cleanup_(filter_done) struct filter filter = { 0 };
	_cleanup_(grouping_done) struct grouping g = { .m = m };
	_cleanup_(analyze_table_done) struct analyze_table t = { 0 };

	if (filter_init(&filter, m, f) < 0 || row_sorts_make(&g) < 0 || stacks_fold(m, &g.stacks) < 0 ||
	    where_init(&g.where, m) < 0 || lock_functions_make(&g) < 0 ||
	    waits_group(&g, &groups[by], &filter, &t) < 0)
		return -ENOMEM;
	*ret = t;
	t = (struct analyze_table){ 0 };
	return 0;
}

int analyze_group_name(struct model *m, enum analyze_by by, struct analyze_table *t)
{
	for (size_t i = 0; i < t->n; i++) {
		if (groups[by].name(m, &m->waits[t->entries[i].first], &t->entries[i].name_id) < 0)
			return -ENOMEM;
	}
	if (t->n)
		qsort(t->entries, t->n, sizeof(*t->entries), entry_compare);
	return 0;
}

int analyze_group_filtered(struct model *m, enum analyze_by by, const struct analyze_filter *f,
			   struct analyze_table *ret)
{
	_cleanup_(analyze_table_done) struct analyze_table t = { 0 };

	if (analyze_group_count(m, by, f, &t) < 0 || analyze_group_name(m, by, &t) < 0)
		return -ENOMEM;
	*ret = t;
	t = (struct analyze_table){ 0 };
	return 0;
}

int analyze_group(struct model *m, enum analyze_by by, struct analyze_table *ret)
{
	return analyze_group_filtered(m, by, NULL, ret);
}

void analyze_table_done(struct analyze_table *t)
{
	free(t->entries);
	*t = (struct analyze_table){ 0 };
}
