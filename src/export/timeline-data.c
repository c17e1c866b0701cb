/* SPDX-License-Identifier: (LGPL-2.1 OR BSD-2-Clause) */
/*
 * A page has to hold 100,000 intervals and more, so an interval is a few
 * bytes: times are differences to the one before, and what else there is to
 * say of a wait (reason, resource, waker, stacks) is a number, since most
 * waits say what others said. Texts and stacks are written behind all that
 * refers to them, once each.
 */
#include "export/timeline-data.h"

#include <errno.h>
#include <stdlib.h>

#include "analyze/analyze.h"
#include "export/label.h"
#include "export/pairs.h"
#include "export/proto.h"
#include "export/scene.h"
#include "util/cleanup.h"
#include "util/escape.h"
#include "util/strtab.h"

enum { DATA_VERSION = 1 };
enum { ACTOR_OWN, ACTOR_THREAD, ACTOR_GOROUTINE };
enum { OP_OPEN = 1, OP_CUT = 2, OP_UNWOUND = 4 };

struct data {
	const struct export_job *job;
	const struct model *m;
	struct scene scene;
	struct text body, manners, stacks, sayings, head;
	struct strtab *texts;
	struct pairs keys[5];	 /* of manners, one after another */
	struct pairs stack_numbers, saying_keys[5];
	uint32_t manner_n, stack_n, saying_n;
	struct text name;
};

static void data_done(struct data *d)
{
	scene_done(&d->scene);
	text_done(&d->body);
	text_done(&d->manners);
	text_done(&d->stacks);
	text_done(&d->sayings);
	text_done(&d->head);
	strtab_free(d->texts);
	for (size_t i = 0; i < sizeof(d->keys) / sizeof(d->keys[0]); i++)
		pairs_done(&d->keys[i]);
	for (size_t i = 0; i < sizeof(d->saying_keys) / sizeof(d->saying_keys[0]); i++)
		pairs_done(&d->saying_keys[i]);
	pairs_done(&d->stack_numbers);
	text_done(&d->name);
}

static void put(struct text *t, uint64_t v)
{
	proto_varint(t, v);
}

/* 0 -1 1 -2 2 ... as 0 1 2 3 4. */
static void put_signed(struct text *t, int64_t v)
{
	put(t, (uint64_t)v << 1 ^ (uint64_t)(v >> 63));
}

/* Appends the number of a text. */
static int put_text(struct data *d, struct text *t, const char *s)
{
	uint32_t id;

	if (strtab_intern(d->texts, s, &id) < 0)
		return -ENOMEM;
	put(t, id);
	return 0;
}

/* ---- stacks ---- */

static int stack_side_put(struct data *d, uint32_t stack)
{
	size_t n = model_stack_entry_n(d->m, stack);

	put(&d->stacks, n);
	for (size_t i = 0; i < n; i++) {
		text_clear(&d->name);
		model_stack_entry_append(&d->name, d->m, stack, i, ENTRY_EXACT);
		if (text_error(&d->name) < 0 || put_text(d, &d->stacks, text_str(&d->name)) < 0)
			return -ENOMEM;
	}
	return 0;
}

/* The number of a pair of stacks, 0: neither. */
static int stack_at(struct data *d, uint32_t ustack, uint32_t kstack, uint32_t *ret)
{
	bool is_new;

	if (!ustack && !kstack) {
		*ret = 0;
		return 0;
	}
	if (pairs_intern(&d->stack_numbers, ustack, kstack, ret, &is_new) < 0)
		return -ENOMEM;
	if (!is_new)
		return 0;
	d->stack_n++;
	return stack_side_put(d, kstack) < 0 || stack_side_put(d, ustack) < 0 ? -ENOMEM : 0;
}

/* ---- waits ---- */

/* Who ended it; without one what did. */
static const char *ended_by(const struct model *m, uint32_t wait)
{
	const char *waker = label_waker(m, wait);

	if (*waker || !m->waits[wait].target)
		return waker;
	return analyze_wait_is_given_up(m, &m->waits[wait]) ? "nobody: given up" : "that end";
}

static int manner_put(struct data *d, uint32_t wait, bool idle, uint32_t stack)
{
	const struct model_wait *w = &d->m->waits[wait];
	const struct model_row *r = &d->m->rows[w->row];
	struct text *t = &d->manners;

	put(t, r->reason);
	put(t, (idle ? 1 : 0) | (unsigned)w->clipped << 1);
	put(t, stack);
	if (put_text(d, t, label_wait(d->m, wait)) < 0 || put_text(d, t, strtab_str(d->m->strings, w->ident_id)) < 0 ||
	    put_text(d, t, ended_by(d->m, wait)) < 0 || put_text(d, t, wait_outcome_name(w->outcome)) < 0 ||
	    put_text(d, t, w->target ? label_op(d->m, w->target) : "") < 0)
		return -ENOMEM;
	return 0;
}

/* The number of what a wait says. */
static int manner_at(struct data *d, uint32_t wait, uint32_t *ret)
{
	const struct model_wait *w = &d->m->waits[wait];
	const struct model_row *r = &d->m->rows[w->row];
	bool idle = analyze_wait_is_idle(d->m, w), is_new;
	uint32_t stack, waker, target, key;

	if (stack_at(d, r->ustack, r->kstack, &stack) < 0 ||
	    strtab_intern(d->texts, ended_by(d->m, wait), &waker) < 0 ||
	    strtab_intern(d->texts, w->target ? label_op(d->m, w->target) : "", &target) < 0 ||
	    pairs_intern(&d->keys[0], (uint32_t)r->reason << 8 | (uint32_t)idle << 6 | (uint32_t)w->clipped << 4 | w->outcome,
			 r->kind_id, &key, NULL) < 0 ||
	    pairs_intern(&d->keys[1], key, w->ident_id, &key, NULL) < 0 ||
	    pairs_intern(&d->keys[2], key, waker, &key, NULL) < 0 ||
	    pairs_intern(&d->keys[3], key, target, &key, NULL) < 0 ||
	    pairs_intern(&d->keys[4], key, stack, ret, &is_new) < 0)
		return -ENOMEM;
	--*ret;
	if (!is_new)
		return 0;
	d->manner_n++;
	return manner_put(d, wait, idle, stack);
}

/* Actor + 1 of a thread, 0: none that is shown. */
static uint32_t actor_of(const struct data *d, uint32_t thread)
{
	return thread && thread < d->m->thread_n ? d->scene.actor_of_thread[thread] : 0;
}

/* Who woke it, and when; that is nearly always when it was ready. */
static void waker_put(struct data *d, const struct model_wait *w, int64_t ready_ns)
{
	uint32_t actor = w->wake_ns >= 0 ? actor_of(d, w->waker) : 0;

	put(&d->body, actor);
	if (actor)
		put_signed(&d->body, w->wake_ns - ready_ns);
}

static int waits_put(struct data *d, const struct scene_actor *a)
{
	int64_t at_ns = 0;

	put(&d->body, a->wait_n);
	for (size_t i = 0; i < a->wait_n; i++) {
		uint32_t wait = d->scene.waits[a->wait_first + i], manner;
		const struct model_wait *w = &d->m->waits[wait];
		int64_t ready_ns = scene_wait_ready_ns(d->m, wait), run_ns = scene_wait_run_ns(d->m, wait);

		if (manner_at(d, wait, &manner) < 0)
			return -ENOMEM;
		put(&d->body, (uint64_t)(w->start_ns - at_ns));
		put(&d->body, (uint64_t)(ready_ns - w->start_ns));
		put(&d->body, (uint64_t)(run_ns - ready_ns));
		put(&d->body, (uint64_t)(w->end_ns - run_ns));
		put(&d->body, manner);
		waker_put(d, w, ready_ns);
		at_ns = w->start_ns;
	}
	return 0;
}

/* ---- ops ---- */

static int saying_put(struct data *d, uint32_t op, unsigned flags, uint32_t stack)
{
	const struct model_op *o = &d->m->ops[op];
	const struct strtab *s = d->m->strings;
	struct text *t = &d->sayings;

	put(t, flags);
	put(t, stack);
	if (put_text(d, t, label_op(d->m, op)) < 0 || put_text(d, t, op_kind_name(o->kind)) < 0 ||
	    put_text(d, t, work_type_name(o->work)) < 0 || put_text(d, t, op_outcome_name(o->outcome)) < 0 ||
	    put_text(d, t, strtab_str(s, o->ident_id)) < 0 || put_text(d, t, strtab_str(s, o->client_id)) < 0 ||
	    put_text(d, t, strtab_str(s, o->meta_id)) < 0)
		return -ENOMEM;
	return 0;
}

/* The number of what an op says beside when. */
static int saying_at(struct data *d, uint32_t op, uint32_t *ret)
{
	const struct model_op *o = &d->m->ops[op];
	unsigned flags = (o->open ? OP_OPEN : 0) | (o->clipped ? OP_CUT : 0) | (o->unwound ? OP_UNWOUND : 0);
	uint32_t key, stack;
	bool is_new;

	if (stack_at(d, o->ustack, 0, &stack) < 0 ||
	    pairs_intern(&d->saying_keys[0],
			 (uint32_t)o->kind << 16 | (uint32_t)o->work << 12 | (uint32_t)o->outcome << 4 | flags,
			 o->class_id, &key, NULL) < 0 ||
	    pairs_intern(&d->saying_keys[1], key, o->ident_id, &key, NULL) < 0 ||
	    pairs_intern(&d->saying_keys[2], key, o->client_id, &key, NULL) < 0 ||
	    pairs_intern(&d->saying_keys[3], key, o->meta_id, &key, NULL) < 0 ||
	    pairs_intern(&d->saying_keys[4], key, stack, ret, &is_new) < 0)
		return -ENOMEM;
	--*ret;
	if (!is_new)
		return 0;
	d->saying_n++;
	return saying_put(d, op, flags, stack);
}

static int items_put(struct data *d, const struct scene_actor *a)
{
	int64_t at_ns = 0;

	put(&d->body, a->item_n);
	for (size_t i = 0; i < a->item_n; i++) {
		const struct scene_item *item = &d->scene.items[a->item_first + i];
		uint32_t number;

		if (item->wait ? manner_at(d, item->wait, &number) < 0 : saying_at(d, item->op, &number) < 0)
			return -ENOMEM;
		put(&d->body, (uint64_t)(item->at.start_ns - at_ns));
		put(&d->body, (uint64_t)(item->at.end_ns - item->at.start_ns));
		put(&d->body, item->at.lane);
		put(&d->body, item->at.depth);
		put(&d->body, (uint64_t)number << 1 | (item->wait ? 1 : 0));
		at_ns = item->at.start_ns;
	}
	return 0;
}

/* ---- all ---- */

static int actor_put(struct data *d, const struct scene_actor *a)
{
	const struct model_thread *t = &d->m->threads[a->thread];
	struct text *b = &d->body;

	put(b, t->goid ? ACTOR_GOROUTINE : a->thread ? ACTOR_THREAD : ACTOR_OWN);
	if (put_text(d, b, a->thread ? label_thread(d->m, a->thread) : "ops") < 0)
		return -ENOMEM;
	put(b, t->goid ? t->goid : a->thread ? t->tid : 0);
	put(b, (uint64_t)(a->thread ? t->begin_ns : 0));
	put(b, (uint64_t)(a->thread ? t->end_ns - t->begin_ns : 0));
	put(b, a->lane_n);
	return waits_put(d, a) < 0 || items_put(d, a) < 0 ? -ENOMEM : 0;
}

static int groups_put(struct data *d)
{
	put(&d->body, d->scene.group_n);
	for (uint32_t i = 0; i < d->scene.group_n; i++) {
		const struct scene_group *g = &d->scene.groups[i];

		if (put_text(d, &d->body, scene_group_name(&d->scene, d->m, i)) < 0)
			return -ENOMEM;
		put(&d->body, g->pid);
		put(&d->body, g->actor_n);
		for (size_t k = 0; k < g->actor_n; k++)
			if (actor_put(d, &d->scene.actors[g->actor_first + k]) < 0)
				return -ENOMEM;
	}
	return 0;
}

static int path_put(struct data *d)
{
	int64_t at_ns = 0;

	put(&d->body, d->job->path_n);
	for (size_t i = 0; i < d->job->path_n; i++) {
		const struct export_stretch *x = &d->job->path[i];

		put(&d->body, (uint64_t)(x->start_ns - at_ns));
		put(&d->body, (uint64_t)(x->end_ns - x->start_ns));
		put(&d->body, actor_of(d, x->thread) ? actor_of(d, x->thread) : d->scene.actor_of_op[x->op]);
		put(&d->body, (uint64_t)x->state << 1 | x->jumped);
		if (put_text(d, &d->body, x->op ? label_op(d->m, x->op) : "") < 0 ||
		    put_text(d, &d->body, x->wait ? label_wait(d->m, x->wait) : "") < 0)
			return -ENOMEM;
		at_ns = x->start_ns;
	}
	return 0;
}

static int head_put(struct data *d)
{
	struct text *t = &d->head;

	put(t, DATA_VERSION);
	put(t, (uint64_t)d->m->end_ns);
	put(t, (uint64_t)d->m->epoch_unix_ns / 1000000);
	put(t, REASON_MAX);
	for (unsigned i = 0; i < REASON_MAX; i++)
		if (put_text(d, t, wait_reason_name(i)) < 0)
			return -ENOMEM;
	return 0;
}

static void texts_put(struct data *d, struct text *to)
{
	put(to, strtab_n(d->texts));
	for (uint32_t i = 0; i < strtab_n(d->texts); i++) {
		text_clear(&d->name);
		escape_utf8(&d->name, strtab_str(d->texts, i));
		to->failed |= d->name.failed;
		put(to, d->name.n);
		text_append_n(to, text_str(&d->name), d->name.n);
	}
}

static void section_put(struct text *to, uint32_t n, const struct text *t)
{
	put(to, n);
	text_append_n(to, text_str(t), t->n);
	to->failed |= t->failed;
}

int timeline_data_make(const struct export_job *job, struct text *ret, struct export_told *told)
{
	_cleanup_(data_done) struct data d = { .job = job, .m = job->m };

	(void)told;
	if (strtab_new(&d.texts) < 0 || scene_make(job, false, &d.scene) < 0 || head_put(&d) < 0 || groups_put(&d) < 0 ||
	    path_put(&d) < 0)
		return -ENOMEM;
	/* Readers know what is referred to before they meet a reference. */
	texts_put(&d, ret);
	text_append_n(ret, text_str(&d.head), d.head.n);
	section_put(ret, d.stack_n, &d.stacks);
	section_put(ret, d.manner_n, &d.manners);
	section_put(ret, d.saying_n, &d.sayings);
	text_append_n(ret, text_str(&d.body), d.body.n);
	ret->failed |= d.head.failed || d.body.failed;
	return text_error(ret);
}
