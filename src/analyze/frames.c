/* SPDX-License-Identifier: (LGPL-2.1 OR BSD-2-Clause) */
/*
 * All these views ask of a stack which frames are credited with its time: the
 * innermost, each once, the first of the program itself, the one above an
 * allocator. So time is first gathered by stack, as it reads, and each view is
 * a small function that names frames.
 *
 * A sample's innermost frame is the kernel's if the thread was in the kernel.
 * A blocked thread is always in the scheduler; its place is the user's frame
 * that made the call.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "analyze/filter.h"
#include "analyze/spread.h"
#include "analyze/stacks.h"
#include "util/cleanup.h"
#include "util/map.h"
#include "util/vec.h"

#define KEY(high, low) ((uint64_t)(high) << 32 | (low))

struct pair {
	uint32_t kstack, ustack;
	uint64_t cpu_ns, cpu_n, blocked_ns, blocked_n;
};

struct frames {
	struct model *m;
	const struct analyze_frames_options *o;
	bool *target; /* by module: the program itself */
	uint32_t scheduler[2]; /* names that begin every blocked thread's kernel stack and say nothing */
	struct pair *pairs;
	size_t pair_n, pair_cap;
	struct map *places; /* by frame: place in list */
	uint32_t *credited; /* by entry: 1 + the pair that was credited last */
	size_t credited_cap, cap;
	struct analyze_frames x;
};

static void frames_free(struct frames *f)
{
	free(f->target);
	free(f->pairs);
	map_free(f->places);
	free(f->credited);
	analyze_frames_done(&f->x);
}

/* A program, not a library, not what the kernel maps; or the file that was asked for. */
static bool module_is_target(const char *path, const char *binary)
{
	const char *slash = strrchr(path, '/'), *name = slash ? slash + 1 : path;

	if (binary)
		return strcmp(name, binary) == 0 || strcmp(path, binary) == 0;
	return *path && *path != '[' && strncmp(path, "//", 2) != 0 && !strstr(name, ".so");
}

static int targets_find(struct frames *f)
{
	f->target = calloc(f->m->module_n, sizeof(*f->target));
	if (!f->target)
		return -ENOMEM;
	f->scheduler[0] = strtab_find(f->m->strings, "__schedule");
	f->scheduler[1] = strtab_find(f->m->strings, "schedule");
	for (size_t i = 1; i < f->m->module_n; i++)
		f->target[i] = module_is_target(strtab_str(f->m->strings, f->m->modules[i].path_id), f->o->binary);
	return 0;
}

static struct pair *pair_get(struct frames *f, struct map *known, const uint32_t *folded, uint32_t k, uint32_t u)
{
	uint64_t at;

	k = folded[k] ? folded[k] : k;
	u = folded[u] ? folded[u] : u;
	if (!map_get(known, KEY(k, u), &at)) {
		at = f->pair_n;
		if (VEC_RESERVE(f->pairs, f->pair_cap, at + 1) < 0 || map_put(known, KEY(k, u), at) < 0)
			return NULL;
		f->pairs[f->pair_n++] = (struct pair){ .kstack = k, .ustack = u };
	}
	return &f->pairs[at];
}

static int waits_gather(struct frames *f, const struct filter *filter, struct map *known, const uint32_t *folded)
{
	for (size_t i = 1; i < f->m->wait_n; i++) {
		const struct model_wait *w = &f->m->waits[i];
		const struct model_row *row = &f->m->rows[w->row];
		struct pair *p;

		if (row->reason == REASON_CPU || !filter_wait(filter, w))
			continue;
		p = pair_get(f, known, folded, row->kstack, row->ustack);
		if (!p)
			return -ENOMEM;
		p->blocked_ns += (uint64_t)w->blocked_ns;
		p->blocked_n++;
	}
	return 0;
}

static int samples_gather(struct frames *f, const struct filter *filter, struct map *known, const uint32_t *folded)
{
	const struct model *m = f->m;
	_cleanup_(freep) struct spread *spreads = calloc(m->thread_n, sizeof(*spreads));

	if (!spreads)
		return -ENOMEM;
	for (size_t i = 1; i < m->thread_n; i++)
		spreads[i].total_ns = m->threads[i].oncpu_ns;
	for (size_t i = 1; i < m->sample_n; i++)
		spreads[m->samples[i].thread].count += spread_weight(&m->samples[i]);
	for (size_t i = 1; i < m->sample_n; i++) {
		const struct model_sample *s = &m->samples[i];
		uint64_t ns = spread_next(&spreads[s->thread], spread_weight(s));
		struct pair *p;

		if (!s->count || !filter_thread(filter, &m->threads[s->thread]))
			continue;
		p = pair_get(f, known, folded, s->kstack, s->ustack);
		if (!p)
			return -ENOMEM;
		p->cpu_ns += ns;
		p->cpu_n += s->count;
	}
	return 0;
}

static uint64_t frame_key(const struct frames *f, const struct model_frame *frame, bool kernel)
{
	if (!frame)
		return 0;
	if (f->o->view == ANALYZE_FRAMES_LIBRARY)
		return KEY(1u << 29, f->m->modules[frame->module].path_id);
	/*
	 * Bits that no index reaches tell names, files and plain addresses apart. A name is one function in one file
	 * only: every program has a main().
	 */
	if (frame->name_id)
		return KEY(1u << 31 | (kernel ? 1u << 30 : 0) | f->m->modules[frame->module].path_id, frame->name_id);
	return (frame->address ^ (uint64_t)f->m->modules[frame->module].path_id << 40) | UINT64_C(3) << 61;
}

/* NULL: the stack has no such frame. A frame is credited with a stack once. */
static int credit(struct frames *f, size_t pair, const struct model_frame *frame, bool kernel)
{
	const struct pair *p = &f->pairs[pair];
	uint64_t key = frame_key(f, frame, kernel), at;
	struct analyze_frame *e;

	if (!map_get(f->places, key, &at)) {
		at = f->x.n;
		if (VEC_RESERVE(f->x.list, f->cap, at + 1) < 0 ||
		    VEC_RESERVE(f->credited, f->credited_cap, at + 1) < 0 || map_put(f->places, key, at) < 0)
			return -ENOMEM;
		f->x.list[f->x.n++] = (struct analyze_frame){ .none = !frame, .kernel = kernel };
		if (frame)
			f->x.list[at].frame = *frame;
		f->credited[at] = 0;
	}
	if (f->credited[at] == pair + 1)
		return 0;
	f->credited[at] = (uint32_t)pair + 1;
	e = &f->x.list[at];
	if (p->cpu_ns + p->blocked_ns > e->most_ns || !e->stack_n) {
		e->most_ns = p->cpu_ns + p->blocked_ns;
		e->kstack = p->kstack;
		e->ustack = p->ustack;
	}
	e->stack_n++;
	e->cpu_ns += p->cpu_ns;
	e->cpu_n += p->cpu_n;
	e->blocked_ns += p->blocked_ns;
	e->blocked_n += p->blocked_n;
	return 0;
}

/* How many of the kernel's innermost frames are the scheduler's alone. */
static uint32_t scheduler_n(const struct frames *f, const struct model_stack *k)
{
	uint32_t n = 0;

	while (n + 1 < k->frame_n && k->frames[n].name_id &&
	       (k->frames[n].name_id == f->scheduler[0] || k->frames[n].name_id == f->scheduler[1]))
		n++;
	return n;
}

/* Frame i of both stacks, the kernel's first. NULL behind the last. */
static const struct model_frame *frame_at(const struct frames *f, const struct pair *p, uint32_t i, bool *ret_kernel)
{
	const struct model_stack *k = &f->m->stacks[p->kstack], *u = &f->m->stacks[p->ustack];

	i += scheduler_n(f, k);
	*ret_kernel = i < k->frame_n;
	if (*ret_kernel)
		return &k->frames[i];
	return i - k->frame_n < u->frame_n ? &u->frames[i - k->frame_n] : NULL;
}

static int self_credit(struct frames *f, size_t pair)
{
	const struct pair *p = &f->pairs[pair];
	const struct model_stack *u = &f->m->stacks[p->ustack];
	const struct model_frame *frame;
	bool kernel;

	if (!p->cpu_ns && !p->cpu_n && u->frame_n)
		return credit(f, pair, &u->frames[0], false);
	frame = frame_at(f, p, 0, &kernel);
	return credit(f, pair, frame, kernel);
}

static int each_credit(struct frames *f, size_t pair, bool own_only)
{
	const struct model_frame *frame;
	bool kernel;
	int e = 0;

	for (uint32_t i = 0; e == 0 && (frame = frame_at(f, &f->pairs[pair], i, &kernel)); i++) {
		if (!own_only || (!kernel && f->target[frame->module]))
			e = credit(f, pair, frame, kernel);
	}
	return e;
}

/* The innermost frame of the program itself; only_self: if it is the stack's innermost of all. */
static int nearest_credit(struct frames *f, size_t pair, bool only_self)
{
	const struct model_frame *frame;
	bool kernel;

	for (uint32_t i = 0; (frame = frame_at(f, &f->pairs[pair], i, &kernel)); i++) {
		if (!kernel && f->target[frame->module])
			return only_self && i ? 0 : credit(f, pair, frame, false);
		if (only_self)
			return 0;
	}
	return only_self ? 0 : credit(f, pair, NULL, false);
}

static int below_credit(struct frames *f, size_t pair)
{
	const struct model_frame *frame, *asked = NULL;
	uint32_t outermost = UINT32_MAX;
	bool kernel, asked_kernel = false;

	for (uint32_t i = 0; (frame = frame_at(f, &f->pairs[pair], i, &kernel)); i++) {
		if (f->o->below[frame->name_id])
			outermost = i;
	}
	if (outermost == UINT32_MAX)
		return 0;
	for (uint32_t i = outermost + 1; !asked && (frame = frame_at(f, &f->pairs[pair], i, &kernel)); i++) {
		if (f->o->skip && f->o->skip[frame->name_id])
			continue;
		asked = frame;
		asked_kernel = kernel;
	}
	f->x.cpu_ns += f->pairs[pair].cpu_ns;
	f->x.blocked_ns += f->pairs[pair].blocked_ns;
	return credit(f, pair, asked, asked_kernel);
}

static int pair_credit(struct frames *f, size_t pair)
{
	switch (f->o->view) {
	case ANALYZE_FRAMES_LIBRARY:
	case ANALYZE_FRAMES_SELF:
		return self_credit(f, pair);
	case ANALYZE_FRAMES_INCLUSIVE:
		return each_credit(f, pair, false);
	case ANALYZE_FRAMES_OWN_SELF:
		return nearest_credit(f, pair, true);
	case ANALYZE_FRAMES_OWN_INCLUSIVE:
		return each_credit(f, pair, true);
	case ANALYZE_FRAMES_NEAREST:
		return nearest_credit(f, pair, false);
	case ANALYZE_FRAMES_BELOW:
		return below_credit(f, pair);
	}
	return 0;
}

static int frame_compare(const void *a, const void *b)
{
	const struct analyze_frame *x = a, *y = b;
	uint64_t x_ns = x->cpu_ns + x->blocked_ns, y_ns = y->cpu_ns + y->blocked_ns;

	if (x_ns != y_ns)
		return x_ns > y_ns ? -1 : 1;
	if (x->frame.name_id != y->frame.name_id)
		return x->frame.name_id < y->frame.name_id ? -1 : 1;
	return x->frame.address < y->frame.address ? -1 : x->frame.address > y->frame.address;
}

static int pairs_gather(struct frames *f)
{
	_cleanup_(filter_done) struct filter filter = { 0 };
	_cleanup_(map_freep) struct map *known = NULL;
	_cleanup_(freep) uint32_t *folded = NULL;

	if (filter_init(&filter, f->m, f->o->filter) < 0 || map_new(&known) < 0 || stacks_fold(f->m, &folded) < 0 ||
	    waits_gather(f, &filter, known, folded) < 0)
		return -ENOMEM;
	/* Samples know their thread, not the op that it was in. */
	return filter_is_by_op(f->o->filter) ? 0 : samples_gather(f, &filter, known, folded);
}

int analyze_frames(struct model *m, const struct analyze_frames_options *o, struct analyze_frames *ret)
{
	_cleanup_(frames_free) struct frames f = { .m = m, .o = o };

	if (targets_find(&f) < 0 || pairs_gather(&f) < 0 || map_new(&f.places) < 0)
		return -ENOMEM;
	for (size_t i = 0; i < f.pair_n; i++) {
		f.x.all_cpu_ns += f.pairs[i].cpu_ns;
		f.x.all_blocked_ns += f.pairs[i].blocked_ns;
		if (pair_credit(&f, i) < 0)
			return -ENOMEM;
	}
	if (f.x.n)
		qsort(f.x.list, f.x.n, sizeof(*f.x.list), frame_compare);
	*ret = f.x;
	f.x = (struct analyze_frames){ 0 };
	return 0;
}

void analyze_frames_done(struct analyze_frames *f)
{
	free(f->list);
	*f = (struct analyze_frames){ 0 };
}
