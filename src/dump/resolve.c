/* SPDX-License-Identifier: (LGPL-2.1 OR BSD-2-Clause) */
/*
 * When all lines are in: ids become indexes. Ops are put in the order of their
 * ids first, so that an op of wcbpf has its id as index again and a dump read
 * and written is the same file. A reference to nothing becomes "none"; in a
 * dump flushed from a longer run that is usual, what it meant is in another.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "dump/reader.h"
#include "util/cleanup.h"
#include "util/crew.h"
#include "util/vec.h"

/* Fewer waits are not worth a thread. */
enum { WAITS_APART = 50000 };

/* Of an op that is both open and ended the ended one counts; of other ended ones the first, of open ones the last. */
static uint32_t op_pick(const struct reader *r, size_t from, size_t to)
{
	if (to - from == 1)
		return r->op_ids.pairs[from].index;
	for (size_t i = from; i < to; i++) {
		if (!r->m->ops[r->op_ids.pairs[i].index].open)
			return r->op_ids.pairs[i].index;
	}
	return r->op_ids.pairs[to - 1].index;
}

/* In one dump an id is one op's; of several of a run each may tell of it. */
static bool ops_differ(const struct reader *r, uint32_t a, uint32_t b)
{
	const struct model_op *x = &r->m->ops[a], *y = &r->m->ops[b];

	return !r->merged && !x->open && !y->open &&
	       (x->start_ns != y->start_ns || x->end_ns != y->end_ns || x->kind != y->kind ||
		x->class_id != y->class_id || r->op_parents[a] != r->op_parents[b]);
}

/* Of each id one op, in their order; ops that are left out stay behind the others. Their number. */
static size_t ops_pick(struct reader *r)
{
	struct id_pair *pairs = r->op_ids.pairs;
	size_t n = r->op_ids.n, kept = 0;

	for (size_t i = 0, next; i < n; i = next) {
		uint64_t id = pairs[i].id;
		uint32_t index;

		for (next = i + 1; next < n && pairs[next].id == id; next++)
			;
		index = op_pick(r, i, next);
		for (size_t k = i; k < next; k++)
			r->same_id_n += ops_differ(r, index, pairs[k].index);
		/* kept <= i: pairs behind i are not touched. */
		pairs[kept++] = (struct id_pair){ .id = id, .index = index };
	}
	return kept;
}

/*
 * Brings op pairs[i].index to i + 1 without room for another array of ops, which is the largest after that of waits:
 * each op that is moved leaves a place for another one.
 */
static void ops_move(struct reader *r, size_t n)
{
	struct id_pair *pairs = r->op_ids.pairs;

	for (size_t i = 1; i <= n; i++) {
		size_t to = i, from;
		struct model_op op;
		uint64_t parent;

		if (pairs[i - 1].index == i)
			continue;
		op = r->m->ops[i];
		parent = r->op_parents[i];
		for (from = pairs[to - 1].index; from != i && from != to; from = pairs[to - 1].index) {
			r->m->ops[to] = r->m->ops[from];
			r->op_parents[to] = r->op_parents[from];
			pairs[to - 1].index = (uint32_t)to;
			to = from;
		}
		if (to == i)
			continue;
		r->m->ops[to] = op;
		r->op_parents[to] = parent;
		pairs[to - 1].index = (uint32_t)to;
	}
}

/* The same where some ops are left out, so that others have no place to be moved from. */
static int ops_copy(struct reader *r, size_t n)
{
	struct model_op *ops = reallocarray(NULL, n + 1, sizeof(*ops));
	uint64_t *parents = reallocarray(NULL, n + 1, sizeof(*parents));

	if (!ops || !parents) {
		free(ops);
		free(parents);
		return -ENOMEM;
	}
	ops[0] = r->m->ops[0];
	parents[0] = 0;
	for (size_t i = 0; i < n; i++) {
		ops[i + 1] = r->m->ops[r->op_ids.pairs[i].index];
		parents[i + 1] = r->op_parents[r->op_ids.pairs[i].index];
		r->op_ids.pairs[i].index = (uint32_t)i + 1;
	}
	free(r->m->ops);
	free(r->op_parents);
	r->m->ops = ops;
	r->m->op_cap = n + 1;
	r->op_parents = parents;
	return 0;
}

static int ops_order(struct reader *r)
{
	size_t n = r->op_ids.n, kept;

	ids_sort(&r->op_ids);
	kept = ops_pick(r);
	if (kept == n)
		ops_move(r, n);
	else if (ops_copy(r, kept) < 0)
		return -ENOMEM;
	r->op_ids.n = kept;
	r->m->op_n = kept + 1;
	return 0;
}

static void ops_resolve(struct reader *r)
{
	for (size_t i = 1; i < r->m->op_n; i++) {
		struct model_op *o = &r->m->ops[i];

		o->parent = ids_find(&r->op_ids, r->op_parents[i]);
		o->ustack = ids_find(&r->stack_ids, o->ustack);
		if (o->open)
			o->end_ns = r->m->end_ns > o->start_ns ? r->m->end_ns : o->start_ns;
	}
}

/* What an op of another dump owns is in that one too. */
static void spans_resolve(struct reader *r)
{
	size_t kept = 1;

	for (size_t i = 1; i < r->m->span_n; i++) {
		struct model_span x = r->m->spans[i];

		x.op = ids_find(&r->op_ids, r->span_refs[i]);
		if (x.op)
			r->m->spans[kept++] = x;
	}
	r->m->span_n = kept;
}

static void links_resolve(struct reader *r)
{
	for (size_t i = 1; i < r->m->link_n; i++) {
		r->m->links[i].from = ids_find(&r->op_ids, r->link_refs[i].from);
		r->m->links[i].to = ids_find(&r->op_ids, r->link_refs[i].to);
	}
}

static void stacks_resolve(struct reader *r)
{
	ids_sort(&r->stack_ids);
	ids_sort(&r->module_ids);
	for (size_t i = 1; i < r->m->stack_n; i++) {
		struct model_stack *s = &r->m->stacks[i];

		for (uint32_t k = 0; k < s->frame_n; k++)
			s->frames[k].module = ids_find(&r->module_ids, s->frames[k].module);
	}
	for (size_t i = 1; i < r->m->sample_n; i++) {
		r->m->samples[i].kstack = ids_find(&r->stack_ids, r->m->samples[i].kstack);
		r->m->samples[i].ustack = ids_find(&r->stack_ids, r->m->samples[i].ustack);
	}
	for (size_t i = 0; i < r->rows.n; i++) {
		r->rows.items[i].kstack = ids_find(&r->stack_ids, r->rows.items[i].kstack);
		r->rows.items[i].ustack = ids_find(&r->stack_ids, r->rows.items[i].ustack);
	}
}

/* Processes are not lines of their own: each is an exec op with a pid. */
static int processes_resolve(struct reader *r)
{
	struct model *m = r->m;

	for (size_t i = 1; i < m->op_n; i++) {
		const struct model_op *o = &m->ops[i];
		const char *colon;
		uint32_t index;

		if (!model_op_is_process(o))
			continue;
		colon = strchr(strtab_str(m->strings, o->client_id), ':');
		if (model_process_add(m, &index) < 0)
			return -ENOMEM;
		m->processes[index] = (struct model_process){
			.pid = o->pid,
			.start_time_ns = colon ? strtoull(colon + 1, NULL, 10) : 0,
			.key_id = o->client_id,
			.op = (uint32_t)i,
		};
	}
	return 0;
}

static int threads_resolve(struct reader *r)
{
	_cleanup_(model_lifetimes_done) struct model_lifetimes processes = { 0 };
	struct model *m = r->m;

	if (model_lifetimes_of_processes(m, &processes) < 0)
		return -ENOMEM;
	for (size_t i = 1; i < m->thread_n; i++) {
		struct model_thread *t = &m->threads[i];
		struct model_process *p;

		t->op = ids_find(&r->op_ids, r->thread_ops[i]);
		t->process = model_lifetimes_find(&processes, t->pid, 0, t->begin_ns);
		p = &m->processes[t->process];
		if (t->process && !t->goid && (t->tid == t->pid || !p->comm_id))
			p->comm_id = t->comm_id;
	}
	for (size_t i = 1; i < m->op_n; i++) {
		const struct model_op *o = &m->ops[i];
		uint32_t p = o->kind == OP_EXEC_PHASE ? model_lifetimes_find(&processes, o->pid, 0, o->start_ns) : 0;

		if (p && m->processes[p].op == o->parent)
			m->processes[p].phase = (uint32_t)i;
	}
	return 0;
}

/* Rows by what they were before: most waits of one have threads of one name. */
struct row_memo {
	uint32_t comm_id, index;
	bool known;
};

static int wait_row_resolve(struct reader *r, struct rows *rows, struct row_memo *memos, struct model_wait *x)
{
	const struct model_row *row = &r->rows.items[x->row];
	uint32_t comm_id = row->comm_id == UINT32_MAX ? r->m->threads[x->thread].comm_id : row->comm_id;
	struct row_memo *memo = &memos[x->row];

	if (!memo->known || memo->comm_id != comm_id) {
		struct model_row key = *row;

		key.comm_id = comm_id;
		if (rows_intern(rows, &key, &memo->index) < 0)
			return -ENOMEM;
		memo->comm_id = comm_id;
		memo->known = true;
	}
	rows->items[memo->index].count++;
	rows->items[memo->index].blocked_ns += (uint64_t)x->blocked_ns;
	rows->items[memo->index].runnable_ns += (uint64_t)x->runnable_ns;
	x->row = (memo->index + 1) & 0xffffff; /* the model's row 0 is blank */
	return 0;
}

struct wait_lives {
	struct model_lifetimes threads, goroutines;
};

static void wait_lives_done(struct wait_lives *l)
{
	model_lifetimes_done(&l->threads);
	model_lifetimes_done(&l->goroutines);
}

/*
 * What it refers to. A waker whose own name is given is no thread of the recording, though one may have its numbers at
 * another time.
 */
static void wait_lookup(const struct reader *r, const struct wait_lives *lives, const struct wait_refs *refs,
			struct model_wait *x)
{
	int64_t wake_ns = x->wake_ns >= 0 ? x->wake_ns : x->end_ns;

	x->waker_stack = ids_find(&r->stack_ids, x->waker_stack);
	x->op = ids_find(&r->op_ids, refs->op);
	x->target = ids_find(&r->op_ids, refs->target);
	if (refs->goid)
		x->thread = model_lifetimes_find(&lives->goroutines, refs->pid, r->goids[refs->goid], x->start_ns);
	else if (refs->tid)
		x->thread = model_lifetimes_find(&lives->threads, refs->pid, refs->tid, x->start_ns);
	if (refs->waker_goid && refs->waker_pid)
		x->waker = model_lifetimes_find(&lives->goroutines, refs->waker_pid, r->goids[refs->waker_goid], wake_ns);
	else if (refs->waker_tid && refs->waker_pid && !refs->waker_comm)
		x->waker = model_lifetimes_find(&lives->threads, refs->waker_pid, refs->waker_tid, wake_ns);
}

struct lookup {
	struct reader *r;
	const struct wait_lives *lives;
	size_t part_n;
};

static int part_lookup(void *arg, size_t i)
{
	struct lookup *l = arg;
	struct model *m = l->r->m;

	for (size_t k = m->wait_n * i / l->part_n; k < m->wait_n * (i + 1) / l->part_n; k++) {
		if (k)
			wait_lookup(l->r, l->lives, &l->r->wait_refs[k], &m->waits[k]);
	}
	return 0;
}

/* On which thread it was, of a goroutine's. 0, -ENOMEM. */
static int wait_thread_resolve(struct reader *r, const struct wait_refs *refs, struct model_wait *x)
{
	struct model_wait_words words;

	if (!refs->goid || refs->tid == r->m->threads[x->thread].tid)
		return 0;
	words = model_wait_words(r->m, x);
	words.tid = refs->tid;
	return model_wait_words_set(r->m, x, &words);
}

static int wait_waker_resolve(struct reader *r, const struct wait_refs *refs, struct model_wait *x)
{
	struct model *m = r->m;
	uint32_t waker;
	int err;

	if (x->waker)
		model_wait_waker_op_set(m, x, ids_find(&r->op_ids, refs->waker_op));
	if (x->waker || (!refs->waker_pid && !refs->waker_tid && !refs->waker_comm))
		return 0;
	err = model_waker_intern(m, refs->waker_pid, refs->waker_tid, refs->waker_comm, &waker);
	if (err < 0)
		return err;
	x->outside_waker = waker;
	return 0;
}

/* A sample of a thread that is not in the dump keeps thread 0, which has no time to divide. */
static void samples_resolve(struct reader *r, const struct model_lifetimes *threads)
{
	for (size_t i = 1; i < r->m->sample_n; i++) {
		const struct sample_refs *refs = &r->sample_refs[i];
		struct model_sample *s = &r->m->samples[i];

		s->thread = model_lifetimes_find(threads, refs->pid, refs->tid, refs->begin_ns);
		if (s->comm_id == UINT32_MAX)
			s->comm_id = r->m->threads[s->thread].comm_id;
	}
	model_sample_times_sort(r->m);
}

static int waits_resolve(struct reader *r)
{
	_cleanup_(freep) struct row_memo *memos = calloc(r->rows.n + 1, sizeof(*memos));
	_cleanup_(wait_lives_done) struct wait_lives lives = { 0 };
	_cleanup_(rows_done) struct rows rows = { 0 };
	struct lookup lookup = { .r = r, .lives = &lives, .part_n = r->m->wait_n < WAITS_APART ? 1 : crew_size() };
	struct model *m = r->m;
	uint32_t index;

	if (!memos || model_lifetimes_of_threads(m, &lives.threads) < 0 ||
	    model_lifetimes_of_goroutines(m, &lives.goroutines) < 0)
		return -ENOMEM;
	samples_resolve(r, &lives.threads);
	crew_run(lookup.part_n, part_lookup, &lookup);
	for (size_t i = 1; i < m->wait_n; i++) {
		const struct wait_refs *refs = &r->wait_refs[i];
		struct model_wait *x = &m->waits[i];

		if (wait_thread_resolve(r, refs, x) < 0 || wait_waker_resolve(r, refs, x) < 0 ||
		    wait_row_resolve(r, &rows, memos, x) < 0)
			return -ENOMEM;
	}
	for (size_t i = 0; i < rows.n; i++) {
		if (model_row_add(m, &index) < 0)
			return -ENOMEM;
		m->rows[index] = rows.items[i];
	}
	return 0;
}

int reader_resolve(struct reader *r)
{
	if (r->last_ns > r->m->end_ns) {
		r->problem.late_ns = r->end_known ? r->last_ns - r->m->end_ns : 0;
		r->m->end_ns = r->last_ns;
	}
	if (ops_order(r) < 0)
		return -ENOMEM;
	stacks_resolve(r);
	ops_resolve(r);
	links_resolve(r);
	spans_resolve(r);
	if (processes_resolve(r) < 0 || threads_resolve(r) < 0)
		return -ENOMEM;
	return waits_resolve(r);
}
