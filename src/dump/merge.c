/* SPDX-License-Identifier: (LGPL-2.1 OR BSD-2-Clause) */
/*
 * Several dumps of one run, read one after the other into one reader in the
 * order of their times. Ids keep ops, stacks and modules one; what has no id
 * may come again in a later dump, longer than it was: a recorder that doesn't
 * flush tells all of it each time. Of two waits that one thread (or op) began
 * at one moment the longer one is the whole.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "dump/reader.h"
#include "util/cleanup.h"
#include "util/map.h"

struct wait_key {
	uint64_t op, target;
	uint32_t pid, tid; /* of a goroutine 0: several threads may run it */
	uint32_t goid;	   /* as in struct wait_refs */
	uint32_t ident_id, reason;
	int64_t start_ns, end_ns;
	uint32_t index;
};

#define COMPARE(a, b)               \
	do {                        \
		if ((a) != (b))     \
			return (a) < (b) ? -1 : 1; \
	} while (0)

/* A thread or a goroutine waits for one thing at a time; ops of an engine may wait in several places at once. */
static int same_wait(const struct wait_key *x, const struct wait_key *y)
{
	COMPARE(x->pid, y->pid);
	COMPARE(x->tid, y->tid);
	COMPARE(x->goid, y->goid);
	COMPARE(x->start_ns, y->start_ns);
	COMPARE(x->op, y->op);
	if (x->tid || x->goid)
		return 0;
	COMPARE(x->target, y->target);
	COMPARE(x->ident_id, y->ident_id);
	COMPARE(x->reason, y->reason);
	return 0;
}

static int wait_compare(const void *a, const void *b)
{
	const struct wait_key *x = a, *y = b;
	int e = same_wait(x, y);

	if (e)
		return e;
	/* Longest first, of equals the one that came last: it knows most. */
	COMPARE(y->end_ns, x->end_ns);
	COMPARE(y->index, x->index);
	return 0;
}

static int waits_mark(const struct reader *r, bool *again)
{
	_cleanup_(freep) struct wait_key *keys = calloc(r->m->wait_n, sizeof(*keys));
	size_t n = 0;

	if (!keys)
		return -ENOMEM;
	for (uint32_t i = 1; i < r->m->wait_n; i++) {
		const struct wait_refs *refs = &r->wait_refs[i];
		const struct model_wait *w = &r->m->waits[i];

		keys[n++] = (struct wait_key){ .op = refs->op,
					       .target = refs->target,
					       .pid = refs->pid,
					       .tid = refs->goid ? 0 : refs->tid,
					       .goid = refs->goid,
					       .ident_id = w->ident_id,
					       .reason = r->rows.items[w->row].reason,
					       .start_ns = w->start_ns,
					       .end_ns = w->end_ns,
					       .index = i };
	}
	if (n)
		qsort(keys, n, sizeof(*keys), wait_compare);
	for (size_t i = 1; i < n; i++)
		again[keys[i].index] = same_wait(&keys[i - 1], &keys[i]) == 0;
	return 0;
}

static int waits_merge(struct reader *r)
{
	_cleanup_(freep) bool *again = calloc(r->m->wait_n, sizeof(*again));
	size_t kept = 1;

	if (!again || waits_mark(r, again) < 0)
		return -ENOMEM;
	for (size_t i = 1; i < r->m->wait_n; i++) {
		if (again[i])
			continue;
		r->m->waits[kept] = r->m->waits[i];
		r->wait_refs[kept++] = r->wait_refs[i];
	}
	r->m->wait_n = kept;
	return 0;
}

struct link_key {
	struct link_refs refs;
	uint32_t ident_id, kind, index;
	int64_t start_ns;
	uint64_t result;
};

static int same_link(const struct link_key *x, const struct link_key *y)
{
	COMPARE(x->refs.from, y->refs.from);
	COMPARE(x->refs.to, y->refs.to);
	COMPARE(x->ident_id, y->ident_id);
	COMPARE(x->kind, y->kind);
	COMPARE(x->start_ns, y->start_ns);
	COMPARE(x->result, y->result);
	return 0;
}

static int link_compare(const void *a, const void *b)
{
	const struct link_key *x = a, *y = b;
	int e = same_link(x, y);

	if (e)
		return e;
	COMPARE(x->index, y->index);
	return 0;
}

static int links_merge(struct reader *r)
{
	_cleanup_(freep) struct link_key *keys = calloc(r->m->link_n, sizeof(*keys));
	_cleanup_(freep) bool *again = calloc(r->m->link_n, sizeof(*again));
	size_t n = 0, kept = 1;

	if (!keys || !again)
		return -ENOMEM;
	for (uint32_t i = 1; i < r->m->link_n; i++) {
		const struct model_link *l = &r->m->links[i];

		keys[n++] = (struct link_key){ .refs = r->link_refs[i],
					       .ident_id = l->ident_id,
					       .kind = l->kind,
					       .index = i,
					       .start_ns = l->start_ns,
					       .result = l->result };
	}
	if (n)
		qsort(keys, n, sizeof(*keys), link_compare);
	for (size_t i = 1; i < n; i++)
		again[keys[i].index] = same_link(&keys[i - 1], &keys[i]) == 0;
	for (size_t i = 1; i < r->m->link_n; i++) {
		if (again[i])
			continue;
		r->m->links[kept] = r->m->links[i];
		r->link_refs[kept++] = r->link_refs[i];
	}
	r->m->link_n = kept;
	return 0;
}

struct span_key {
	uint64_t op;
	const struct model_span *span;
	uint32_t index;
};

static int same_span(const struct span_key *x, const struct span_key *y)
{
	int e;

	COMPARE(x->op, y->op);
	e = memcmp(x->span->trace, y->span->trace, sizeof(x->span->trace));
	return e ? e : memcmp(x->span->span, y->span->span, sizeof(x->span->span));
}

static int span_compare(const void *a, const void *b)
{
	const struct span_key *x = a, *y = b;
	int e = same_span(x, y);

	if (e)
		return e;
	COMPARE(x->index, y->index);
	return 0;
}

static int spans_merge(struct reader *r)
{
	_cleanup_(freep) struct span_key *keys = calloc(r->m->span_n, sizeof(*keys));
	_cleanup_(freep) bool *again = calloc(r->m->span_n, sizeof(*again));
	size_t n = 0, kept = 1;

	if (!keys || !again)
		return -ENOMEM;
	for (uint32_t i = 1; i < r->m->span_n; i++)
		keys[n++] = (struct span_key){ .op = r->span_refs[i], .span = &r->m->spans[i], .index = i };
	if (n)
		qsort(keys, n, sizeof(*keys), span_compare);
	for (size_t i = 1; i < n; i++)
		again[keys[i].index] = same_span(&keys[i - 1], &keys[i]) == 0;
	for (size_t i = 1; i < r->m->span_n; i++) {
		if (again[i])
			continue;
		r->m->spans[kept] = r->m->spans[i];
		r->span_refs[kept++] = r->span_refs[i];
	}
	r->m->span_n = kept;
	return 0;
}

/* Of a goroutine its own number: several threads may run it. What two share by chance is compared in full. */
static uint64_t life_key(const struct model_thread *t)
{
	return t->goid ? ~((uint64_t)t->pid << 40 ^ t->goid) : (uint64_t)t->pid << 32 | t->tid;
}

/* Numbers are reused: only the same begin is the same thread. */
static bool same_life(const struct model_thread *a, const struct model_thread *b)
{
	return a->pid == b->pid && a->goid == b->goid && (a->goid || a->tid == b->tid) && a->begin_ns == b->begin_ns;
}

/* A thread is told of by each dump from its begin on; the last one knows its whole life. */
static int threads_merge(struct reader *r)
{
	_cleanup_(map_freep) struct map *later = NULL;
	_cleanup_(freep) bool *again = calloc(r->m->thread_n, sizeof(*again));
	size_t kept = 1, goroutines = 0;

	if (!again || map_new(&later) < 0)
		return -ENOMEM;
	for (size_t i = r->m->thread_n; i-- > 1;) {
		const struct model_thread *t = &r->m->threads[i];
		uint64_t next;

		/* What the dumps tell of one thread comes without another of its number in between. */
		again[i] = map_get(later, life_key(t), &next) && same_life(&r->m->threads[next], t);
		if (map_put(later, life_key(t), i) < 0)
			return -ENOMEM;
	}
	for (size_t i = 1; i < r->m->thread_n; i++) {
		if (again[i])
			continue;
		r->m->threads[kept] = r->m->threads[i];
		r->thread_ops[kept++] = r->thread_ops[i];
		goroutines += r->m->threads[i].goid != 0;
	}
	r->m->thread_n = kept;
	r->m->goroutine_n = goroutines;
	return 0;
}

/* By thread: samples of the last dump alone, and the thread's own count of all. */
static uint64_t thread_key(const struct sample_refs *refs)
{
	return ((uint64_t)refs->pid << 32 | refs->tid) ^ (uint64_t)refs->begin_ns << 17;
}

/*
 * Whether a dump's samples are all of the run's or only the new ones is not said; the thread's own count tells: if the
 * last dump has as many as that, the earlier dumps only had some of them.
 */
static int samples_merge(struct reader *r, size_t last_first)
{
	_cleanup_(map_freep) struct map *counts = NULL, *told = NULL;
	_cleanup_(freep) uint32_t *places = calloc(r->m->sample_n, sizeof(*places));
	size_t kept = 1, times = 0;

	if (!places || map_new(&counts) < 0 || map_new(&told) < 0)
		return -ENOMEM;
	for (size_t i = last_first; i < r->m->sample_n; i++) {
		uint64_t key = thread_key(&r->sample_refs[i]), n = 0;

		map_get(counts, key, &n);
		if (map_put(counts, key, n + r->m->samples[i].count) < 0)
			return -ENOMEM;
	}
	for (size_t i = 1; i < r->m->thread_n; i++) {
		const struct model_thread *t = &r->m->threads[i];
		struct sample_refs refs = { .pid = t->pid, .tid = t->tid, .begin_ns = t->begin_ns };

		/* Samples are of threads. */
		if (!t->goid && map_put(told, thread_key(&refs), t->sample_n) < 0)
			return -ENOMEM;
	}
	for (size_t i = 1; i < r->m->sample_n; i++) {
		uint64_t key = thread_key(&r->sample_refs[i]), n = 0, all = 0;

		if (i < last_first && map_get(counts, key, &n) && map_get(told, key, &all) && n == all)
			continue;
		places[i] = (uint32_t)kept;
		r->m->samples[kept] = r->m->samples[i];
		r->sample_refs[kept++] = r->sample_refs[i];
	}
	for (size_t i = 0; i < r->m->sample_time_n; i++) {
		struct model_sample_time t = r->m->sample_times[i];

		t.sample = places[t.sample];
		if (t.sample)
			r->m->sample_times[times++] = t;
	}
	r->m->sample_n = kept;
	r->m->sample_time_n = times;
	return 0;
}

int reader_merge(struct reader *r, size_t last_sample_first)
{
	if (waits_merge(r) < 0 || links_merge(r) < 0 || spans_merge(r) < 0 || threads_merge(r) < 0)
		return -ENOMEM;
	return samples_merge(r, last_sample_first);
}
