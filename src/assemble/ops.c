/* SPDX-License-Identifier: (LGPL-2.1 OR BSD-2-Clause) */
/*
 * A hit puts the stack of its strand in order (strand.c), then does what its
 * point's role says. Every entry leaves a call on the strand, also one that is
 * of no more interest, so that its exit finds it and is not taken for another's.
 *
 * An op takes its place in the model when it begins. What is known of it only
 * at its exit (late texts, outcome) is filled in then; one that turns out not to
 * be wanted stays until the end, where compact.c takes it out.
 */
#include "assemble/ops.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "assemble/argv.h"
#include "assemble/goroutines.h"
#include "assemble/held.h"
#include "assemble/hosts.h"
#include "assemble/keys.h"
#include "assemble/links.h"
#include "assemble/scope.h"
#include "assemble/spans.h"
#include "assemble/threads.h"
#include "assemble/waits.h"

enum only { ONLY_NO, ONLY_YES, ONLY_LATER };

static enum only only_ask(const struct point *p, const struct hit_values *v, bool late)
{
	uint8_t word;

	if (!p->p.only.choice_n)
		return ONLY_YES;
	if (p->late_only && !late)
		return ONLY_LATER;
	return assemble_choice_find(&p->p.only, v, &word) && word ? ONLY_YES : ONLY_NO;
}

static int key_put(struct assemble *a, uint32_t process, const struct assemble_text *key, const struct hit_values *v,
		   uint32_t op)
{
	if (!key->piece_n || !op)
		return 0;
	if (assemble_text_make(a, key, v) < 0)
		return -ENOMEM;
	return a->text.n ? assemble_key_put(a, process, op) : 0;
}

/* Of an exec op the format has the argument vector there. */
static int meta_intern(struct assemble *a, enum op_kind kind, const struct assemble_text *t, const struct hit_values *v,
		       uint32_t *ret)
{
	if (kind != OP_EXEC || !t->piece_n)
		return assemble_text_intern(a, t, v, ret);
	*ret = 0;
	if (!a->o.keep_args)
		return 0;
	if (assemble_text_make(a, t, v) < 0)
		return -ENOMEM;
	return assemble_argv_intern(a->m->strings, a->text.text, a->text.n, a->text.n, ret);
}

/* Those of an op's texts that can be made now: at the entry all that need no value of the exit, then the others. */
static int texts_fill(struct assemble *a, uint32_t op, const struct point *p, const struct hit_values *v, bool late)
{
	const struct assemble_text *const texts[] = { &p->p.class, &p->p.ident, &p->p.client, &p->p.meta };
	uint32_t id;

	for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++) {
		struct model_op *o = &a->m->ops[op];
		uint32_t *const ids[] = { &o->class_id, &o->ident_id, &o->client_id, &o->meta_id };

		if (assemble_text_is_late(texts[i]) != late)
			continue;
		if ((texts[i] == &p->p.meta ? meta_intern(a, p->p.kind, texts[i], v, &id) :
					      assemble_text_intern(a, texts[i], v, &id)) < 0)
			return -ENOMEM;
		*ids[i] = id;
	}
	return 0;
}

/* The nearest op of a choke point, from this one outwards: those of processes, threads and goroutines are none. */
static uint32_t told_of(const struct assemble *a, uint32_t op)
{
	while (op && !a->ops[op].thread)
		op = a->m->ops[op].parent;
	return op;
}

/* Who asked, and for what, is often an argument further out only. */
static void names_inherit(struct assemble *a, uint32_t op, const struct point *p)
{
	struct model_op *o = &a->m->ops[op];
	const struct model_op *up = &a->m->ops[told_of(a, o->parent)];

	if (p->p.inherits_class && up->class_id)
		o->class_id = up->class_id;
	if (p->p.inherits_client && up->client_id)
		o->client_id = up->client_id;
}

static int nested_link(struct assemble *a, uint32_t op, const struct point *p, const struct hit_values *v,
		       uint64_t time_ns)
{
	uint32_t client_id;

	if (assemble_text_intern(a, &p->p.nested, v, &client_id) < 0)
		return -ENOMEM;
	return client_id ? assemble_link_nested(a, op, client_id, time_ns) : 0;
}

/* A class, or all that begin so: "engine.stop*". */
static bool class_meets(const struct strtab *strings, uint32_t class_id, uint32_t under_id)
{
	const char *under = strtab_str(strings, under_id);
	size_t n = strlen(under);

	return class_id == under_id ||
	       (n && under[n - 1] == '*' && !strncmp(strtab_str(strings, class_id), under, n - 1));
}

/* Is the point meant inside that op? */
static int under_ask(struct assemble *a, const struct point *p, uint32_t op, const struct hit_values *v, bool *ret)
{
	uint32_t class_id;

	*ret = true;
	if (!p->p.under.piece_n)
		return 0;
	if (assemble_text_intern(a, &p->p.under, v, &class_id) < 0)
		return -ENOMEM;
	op = told_of(a, op);
	*ret = op && class_meets(a->m->strings, a->m->ops[op].class_id, class_id);
	return 0;
}

/* What the texts left without a class is called by its point. */
static int class_finish(struct assemble *a, uint32_t op, const struct point *p)
{
	return a->m->ops[op].class_id ? 0 : strtab_intern(a->m->strings, p->p.name, &a->m->ops[op].class_id);
}

/* A new op of the hit's strand. *ret 0: it has no place. 0, -ENOMEM. */
static int op_make(struct assemble *a, const struct hit *h, const struct place *place, const struct hit_values *v,
		   uint32_t *ret)
{
	uint32_t op, thread, ustack;
	struct model_op *o;

	*ret = 0;
	if (place->dropped) {
		a->m->integrity.dropped_events++;
		return 0;
	}
	if (assemble_strand_thread(a, h->strand, h->time_ns, &thread) < 0 ||
	    assemble_stack_index(a, STACK_USER, h->e->ustack_id, &ustack) < 0)
		return -ENOMEM;
	if (!thread) {
		a->m->integrity.dropped_events++;
		return 0;
	}
	if (assemble_op_begin(a, h->point->p.kind, h->time_ns, &op) < 0)
		return -ENOMEM;
	if (!op)
		return 0;
	a->ops[op].thread = thread;
	o = &a->m->ops[op];
	o->work = (uint8_t)h->point->p.work;
	o->parent = place->op;
	o->pid = a->m->threads[thread].pid;
	o->tid = h->e->tid;
	o->goid = a->m->threads[thread].goid;
	o->ustack = ustack;
	if (texts_fill(a, op, h->point, v, false) < 0 ||
	    (!assemble_text_is_late(&h->point->p.key) && key_put(a, h->strand->process, &h->point->p.key, v, op) < 0) ||
	    (!assemble_text_is_late(&h->point->p.nested) && nested_link(a, op, h->point, v, h->time_ns) < 0) ||
	    (h->point->p.hosts && assemble_host_begin(a, op) < 0))
		return -ENOMEM;
	names_inherit(a, op, h->point);
	*ret = op;
	return 0;
}

/* Texts of the exit, and what the outcome was. v NULL: there was none. */
static int op_close(struct assemble *a, uint32_t process, uint32_t op, const struct point *p, const struct hit_values *v,
		    uint64_t time_ns)
{
	if (v && (texts_fill(a, op, p, v, true) < 0 ||
		  (assemble_text_is_late(&p->p.key) && key_put(a, process, &p->p.key, v, op) < 0) ||
		  (assemble_text_is_late(&p->p.nested) && nested_link(a, op, p, v, time_ns) < 0)))
		return -ENOMEM;
	if (a->ops[op].flags & OP_UNDECIDED && class_finish(a, op, p) == 0 && v && assemble_scope_has(a, op))
		a->ops[op].flags |= OP_MATCHES;
	assemble_op_end(a, op, time_ns);
	return class_finish(a, op, p);
}

static void op_unwind(struct assemble *a, uint32_t op)
{
	a->m->ops[op].unwound = true;
	a->m->ops[op].outcome = OUTCOME_CANCELED;
	a->m->integrity.unwound_ops++;
}

/* Single flight shows in the waits of the caller, whatever its point says of hits; a failure stays one. */
static uint8_t outcome_of(const struct call *c, const struct point *by, const struct hit_values *v)
{
	uint8_t word = OUTCOME_NONE;

	assemble_choice_find(&by->p.outcome, v, &word);
	return c->joined && word != OUTCOME_ERROR && word != OUTCOME_CANCELED ? OUTCOME_JOINED : word;
}

static int call_op_close(struct assemble *a, struct strand *s, struct call *c, const struct call_end *end)
{
	struct hit_values v = { .entry = c->entry, .exit = end->exit };
	struct hit_values by = { .entry = end->by ? end->entry : c->entry, .exit = end->exit };
	bool left = end->how == END_EXIT;

	if (end->how == END_OPEN)
		return class_finish(a, c->op, c->point);
	if (op_close(a, s->process, c->op, c->point, left && !end->by ? &v : NULL, end->time_ns) < 0)
		return -ENOMEM;
	if (!left)
		op_unwind(a, c->op);
	else if (a->m->ops[c->op].outcome == OUTCOME_NONE) /* else a KEY has told */
		a->m->ops[c->op].outcome = outcome_of(c, end->by ?: c->point, &by);
	if (c->point->late_only && !(left && only_ask(c->point, &v, true) == ONLY_YES))
		a->ops[c->op].flags |= OP_REMOVED;
	return 0;
}

/* ---- what points do ---- */

/* Where an op that begins now hangs; root ones are in scope by their own right only, or their process's. */
static struct place place_of(const struct assemble *a, const struct hit *h)
{
	if (h->point->p.root)
		return (struct place){ .in_scope = a->processes[h->strand->process].in_scope };
	return assemble_strand_place(a, h->strand, h->depth);
}

/* An op that begins now, if it is to be recorded: *ret_kind says what became of it. */
static int op_begin(struct assemble *a, struct hit *h, const struct hit_values *v, struct call *ret)
{
	enum scope_verdict verdict = SCOPE_YES;
	bool in_scope = place_of(a, h).in_scope;
	struct place place;
	uint32_t op, thread;
	bool meant;

	ret->kind = CALL_LEFT_OUT;
	if (only_ask(h->point, v, h->point->acts_at_exit) == ONLY_NO || assemble_is_off(a, h->time_ns))
		return 0;
	if (under_ask(a, h->point, assemble_strand_place(a, h->strand, h->depth).op, v, &meant) < 0)
		return -ENOMEM;
	if (!meant)
		return 0;
	if (a->scope && assemble_scope_ask(a, h->point, v, &verdict) < 0)
		return -ENOMEM;
	if (verdict == SCOPE_NO && !in_scope)
		return 0;
	/* A goroutine's entry first: then it has an op of its own to hang below. */
	if (assemble_strand_thread(a, h->strand, h->time_ns, &thread) < 0)
		return -ENOMEM;
	place = place_of(a, h);
	if (op_make(a, h, &place, v, &op) < 0)
		return -ENOMEM;
	ret->kind = op ? CALL_OP : CALL_DROPPED;
	ret->op = op;
	ret->in_scope = true;
	/* Not below an op that is in scope, but in scope: by its process. */
	if (op && a->scope && (verdict == SCOPE_YES || (in_scope && !a->ops[place.op].thread)))
		a->ops[op].flags |= OP_MATCHES;
	else if (op && verdict == SCOPE_LATER)
		a->ops[op].flags |= OP_UNDECIDED;
	return 0;
}

static int begin_act(struct assemble *a, struct hit *h, const struct hit_values *v)
{
	struct call made = { 0 }, *c;

	if (op_begin(a, h, v, &made) < 0)
		return -ENOMEM;
	if (made.kind == CALL_OP) {
		a->ops[made.op].flags |= h->point->p.key.piece_n ? OP_ASIDE : 0;
		/* A BEGIN has no exit of its own: all that it says of its op is known now. */
		if (texts_fill(a, made.op, h->point, v, true) < 0 || class_finish(a, made.op, h->point) < 0 ||
		    (assemble_text_is_late(&h->point->p.key) &&
		     key_put(a, h->strand->process, &h->point->p.key, v, made.op) < 0))
			return -ENOMEM;
		if (a->ops[made.op].flags & OP_UNDECIDED && assemble_scope_has(a, made.op))
			a->ops[made.op].flags |= OP_MATCHES;
	}
	if (h->point->p.key.piece_n)
		return made.kind == CALL_OP ? map_put(a->begun, made.op, h->strand->process) : 0;
	if (assemble_strand_push(h, made.kind, &c) < 0)
		return -ENOMEM;
	c->op = made.op;
	c->in_scope = made.in_scope;
	c->tied = true;
	return 0;
}

/* The innermost BEGIN of the strand that an END without a key may mean. */
static struct call *tied_find(struct assemble *a, struct hit *h, const struct hit_values *v)
{
	uint32_t class_id = 0;

	if (assemble_text_intern(a, &h->point->p.class, v, &class_id) < 0)
		return NULL;
	for (size_t i = h->strand->call_n; i; i--) {
		struct call *c = &h->strand->calls[i - 1];

		if (c->tied && c->point->p.kind == h->point->p.kind &&
		    (!class_id || c->kind != CALL_OP || a->m->ops[c->op].class_id == class_id))
			return c;
	}
	return NULL;
}

static int end_act(struct assemble *a, struct hit *h, const struct hit_values *v)
{
	struct call none = { 0 }, *c;
	uint32_t op;

	if (!h->point->p.key.piece_n) {
		struct call_end end = { .how = END_EXIT, .by = h->point, .entry = v->entry, .exit = v->exit,
					.time_ns = h->time_ns };

		c = tied_find(a, h, v);
		if (!c) {
			a->m->integrity.unmatched_exits += !a->off_n;
			return 0;
		}
		return assemble_call_close(a, h->strand, c, &end);
	}
	if (assemble_text_make(a, &h->point->p.key, v) < 0)
		return -ENOMEM;
	op = assemble_key_find(a, h->strand->process);
	/* Whoever has the key now may be no BEGIN's, or over. */
	if (!op || !map_remove(a->begun, op, NULL)) {
		a->m->integrity.unmatched_exits += !a->scope && !a->off_n;
		return 0;
	}
	a->m->ops[op].outcome = outcome_of(&none, h->point, v);
	assemble_op_end(a, op, h->time_ns);
	return 0;
}

static int span_act(struct assemble *a, struct hit *h, const struct hit_values *v, bool end)
{
	struct place place = assemble_strand_place(a, h->strand, h->depth);
	struct span_ids ids;
	int r;

	r = assemble_text_make(a, &h->point->p.trace, v);
	if (r < 0 || !assemble_span_hex(&a->text, ids.trace, sizeof(ids.trace)))
		return r;
	r = assemble_text_make(a, &h->point->p.span, v);
	if (r < 0 || !assemble_span_hex(&a->text, ids.span, sizeof(ids.span)))
		return r;
	if (end)
		return assemble_span_end(a, &ids, h->time_ns);
	if (place.dropped || !a->ops[place.op].thread || !a->m->ops[place.op].open)
		return 0;
	return assemble_span_begin(a, &ids, place.op, h->time_ns);
}

/* What it has texts for; one that could not be made leaves what there is. */
static int texts_tell(struct assemble *a, uint32_t op, const struct point *p, const struct hit_values *v)
{
	struct model_op *o = &a->m->ops[op];
	const struct {
		const struct assemble_text *text;
		uint32_t *id;
	} texts[] = { { &p->p.class, &o->class_id }, { &p->p.ident, &o->ident_id }, { &p->p.client, &o->client_id } };
	uint32_t id;

	for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++) {
		if (assemble_text_intern(a, texts[i].text, v, &id) < 0)
			return -ENOMEM;
		*texts[i].id = id ?: *texts[i].id;
	}
	if (meta_intern(a, o->kind, &p->p.meta, v, &id) < 0)
		return -ENOMEM;
	o->meta_id = id ?: o->meta_id;
	return 0;
}

static int key_act(struct assemble *a, struct hit *h, const struct hit_values *v)
{
	struct place place = assemble_strand_place(a, h->strand, h->depth);
	uint32_t op = place.dropped ? 0 : place.op;
	uint8_t word;
	bool meant;

	if (under_ask(a, h->point, op, v, &meant) < 0)
		return -ENOMEM;
	if (meant && h->point->p.target.piece_n) {
		if (assemble_text_make(a, &h->point->p.target, v) < 0)
			return -ENOMEM;
		op = assemble_key_find(a, h->strand->process);
	}
	if (!meant || !op || !a->ops[op].thread || !a->m->ops[op].open)
		return 0;
	if (assemble_choice_find(&h->point->p.outcome, v, &word))
		a->m->ops[op].outcome = word;
	if (texts_tell(a, op, h->point, v) < 0 || nested_link(a, op, h->point, v, h->time_ns) < 0)
		return -ENOMEM;
	return key_put(a, h->strand->process, &h->point->p.key, v, op);
}

/* What a point does at one moment. */
static int act(struct assemble *a, struct hit *h, const struct hit_values *v)
{
	switch (h->point->p.role) {
	case ASSEMBLE_ROLE_BEGIN:
		return begin_act(a, h, v);
	case ASSEMBLE_ROLE_OP:
	case ASSEMBLE_ROLE_WAIT:
	case ASSEMBLE_ROLE_LOCK:
		return 0;
	default:
		break;
	}
	if (only_ask(h->point, v, true) != ONLY_YES)
		return 0;
	switch (h->point->p.role) {
	case ASSEMBLE_ROLE_END:
		return end_act(a, h, v);
	case ASSEMBLE_ROLE_KEY:
		return key_act(a, h, v);
	default:
		return span_act(a, h, v, h->point->p.role == ASSEMBLE_ROLE_SPAN_END);
	}
}

/* ---- hits ---- */

static int wait_begin(struct assemble *a, struct hit *h, const struct hit_values *v)
{
	struct place place = assemble_strand_place(a, h->strand, h->depth);
	bool wanted = only_ask(h->point, v, false) != ONLY_NO && (!a->scope || place.in_scope) &&
		      !assemble_is_off(a, h->time_ns);
	struct call *c;
	uint32_t thread;
	bool meant;

	if (under_ask(a, h->point, place.op, v, &meant) < 0)
		return -ENOMEM;
	wanted = wanted && meant;
	if (wanted && assemble_strand_thread(a, h->strand, h->time_ns, &thread) < 0)
		return -ENOMEM;
	place = assemble_strand_place(a, h->strand, h->depth);
	if (assemble_strand_push(h, wanted ? CALL_WAIT : CALL_LEFT_OUT, &c) < 0)
		return -ENOMEM;
	c->in_scope = place.in_scope;
	return wanted ? assemble_held_begin(a, h, c, &place) : 0;
}

/* A loop has come back to where its function begins. */
static bool is_again(const struct hit *h)
{
	const struct strand *s = h->strand;
	const struct call *last = s->call_n ? &s->calls[s->call_n - 1] : NULL;

	return h->point->p.entry_repeats && last && last->point == h->point && last->depth == h->depth;
}

static int entry(struct assemble *a, struct hit *h)
{
	struct hit_values v = { .entry = &h->values };
	struct call made = { 0 }, *c;

	if (is_again(h))
		return 0;
	if (assemble_strand_enter(a, h, true) < 0)
		return -ENOMEM;
	switch (h->point->p.role) {
	case ASSEMBLE_ROLE_OP:
		if (op_begin(a, h, &v, &made) < 0 || assemble_strand_push(h, made.kind, &c) < 0)
			return -ENOMEM;
		c->op = made.op;
		c->in_scope = made.in_scope;
		return 0;
	case ASSEMBLE_ROLE_WAIT:
	case ASSEMBLE_ROLE_LOCK:
		return wait_begin(a, h, &v);
	default:
		if (!h->point->acts_at_exit && act(a, h, &v) < 0)
			return -ENOMEM;
		return assemble_strand_push(h, h->point->acts_at_exit ? CALL_PENDING : CALL_LEFT_OUT, &c);
	}
}

static int exit_(struct assemble *a, struct hit *h)
{
	struct call_end end = { .how = END_EXIT, .exit = &h->values, .time_ns = h->time_ns };
	struct values *kept = NULL;
	struct hit_values v = { .exit = &h->values };
	struct call *c;
	bool pending;
	int r;

	if (assemble_strand_leave(a, h, &c) < 0)
		return -ENOMEM;
	if (!c) {
		a->m->integrity.unmatched_exits += !h->point->p.shared_exits;
		return 0;
	}
	pending = c->kind == CALL_PENDING;
	if (pending) {
		kept = TAKE_PTR(c->entry);
		v.entry = kept;
	}
	r = assemble_call_close(a, h->strand, c, &end);
	if (r == 0 && pending)
		r = act(a, h, &v);
	free(kept);
	return r;
}

/* A mark has one moment; its values are those of an entry. */
static int mark(struct assemble *a, struct hit *h)
{
	struct hit_values v = { .entry = &h->values };
	struct call made = { 0 };

	if (assemble_strand_enter(a, h, false) < 0)
		return -ENOMEM;
	if (h->point->p.role != ASSEMBLE_ROLE_OP)
		return act(a, h, &v);
	if (op_begin(a, h, &v, &made) < 0)
		return -ENOMEM;
	if (made.kind != CALL_OP)
		return 0;
	made.point = h->point;
	a->m->ops[made.op].outcome = outcome_of(&made, h->point, &v);
	return op_close(a, h->strand->process, made.op, h->point, &v, h->time_ns);
}

static int strand_of(struct assemble *a, const struct wcbpf_op *e, struct hit *h)
{
	struct assemble_span span = { .from_ns = e->head.time_ns, .to_ns = e->head.time_ns };
	struct goroutine *g;

	if (assemble_thread_for(a, e->tid, e->tgid, &span, &h->thread) < 0)
		return -ENOMEM;
	if (!e->goid)
		return assemble_strand_of_thread(a, h->thread, &h->strand);
	if (assemble_goroutine_at(a, h->thread, e->goid, e->head.time_ns, &g) < 0)
		return -ENOMEM;
	h->strand = assemble_goroutine_strand(g);
	return 0;
}

int assemble_op(struct assemble *a, const struct wcbpf_op *e)
{
	struct hit h = { .e = e, .time_ns = e->head.time_ns, .point = assemble_point_at(a, e->point) };
	int r;

	if (!e->tid || !e->tgid || !h.point || e->kind < WCBPF_SITE_ENTRY || e->kind > WCBPF_SITE_MARK ||
	    assemble_values_read(e, &h.values) < 0)
		return -EBADMSG;
	a->ops_seen = true;
	r = strand_of(a, e, &h);
	if (r < 0)
		return r;
	h.depth = assemble_strand_depth(h.strand, e);
	r = e->kind == WCBPF_SITE_ENTRY ? entry(a, &h) : e->kind == WCBPF_SITE_EXIT ? exit_(a, &h) : mark(a, &h);
	if (r == 0)
		a->m->integrity.recorded_ops++;
	return r;
}

/* ---- ends ---- */

int assemble_call_close(struct assemble *a, struct strand *s, struct call *c, const struct call_end *end)
{
	struct call closed = *c;
	int r = 0;

	/* What is made of it is no more within it. */
	c->entry = NULL;
	c->held = NULL;
	assemble_strand_pop(s, c);
	if (closed.kind == CALL_OP)
		r = call_op_close(a, s, &closed, end);
	else if (closed.kind == CALL_WAIT)
		r = assemble_held_close(a, s, &closed, end);
	free(closed.entry);
	return r;
}

void assemble_begun_end(struct assemble *a, uint32_t process, uint64_t time_ns)
{
	uint64_t op, owner;
	bool found = true;

	/* An entry goes in each round: the walk must not see the map change. */
	while (found) {
		found = false;
		for (size_t at = 0; !found && map_next(a->begun, &at, &op, &owner);)
			found = owner == process;
		if (!found)
			return;
		map_remove(a->begun, op, NULL);
		assemble_op_end(a, (uint32_t)op, time_ns);
		op_unwind(a, (uint32_t)op);
	}
}

static int strand_finish(struct assemble *a, struct strand *s, uint64_t end_ns)
{
	struct call_end end = { .how = END_OPEN, .time_ns = end_ns };

	while (s && s->call_n) {
		if (assemble_call_close(a, s, &s->calls[s->call_n - 1], &end) < 0)
			return -ENOMEM;
	}
	return 0;
}

static int strands_each(struct assemble *a, int (*visit)(struct assemble *a, struct strand *s, uint64_t ns), uint64_t ns)
{
	/* Entries may be made meanwhile, of goroutines that have nothing open. */
	for (uint32_t i = 1; i < a->m->thread_n; i++) {
		if (visit(a, a->threads[i].strand, ns) < 0)
			return -ENOMEM;
	}
	for (uint32_t i = 1; i < a->m->process_n; i++) {
		if (assemble_go_each(a, i, visit, ns) < 0)
			return -ENOMEM;
	}
	return 0;
}

int assemble_ops_finish(struct assemble *a, uint64_t end_ns)
{
	return strands_each(a, strand_finish, end_ns);
}

/* The ops stay open; the waits are told as far as they go, those further in first. */
static int strand_show(struct assemble *a, struct strand *s, uint64_t now_ns)
{
	struct call_end end = { .how = END_OPEN, .time_ns = now_ns };
	size_t n = s ? s->call_n : 0;

	for (size_t i = n; i--;) {
		struct call *c = &s->calls[i];
		int err = 0;

		s->call_n = i; /* what lies around it is what it is in */
		if (c->kind == CALL_OP)
			err = class_finish(a, c->op, c->point);
		else if (c->kind == CALL_WAIT && c->begin_ns < now_ns)
			err = assemble_held_close(a, s, c, &end);
		if (c->kind == CALL_WAIT && c->begin_ns < now_ns)
			c->held = NULL;
		if (err < 0)
			return err;
	}
	if (s)
		s->call_n = n;
	return 0;
}

int assemble_ops_show(struct assemble *a, uint64_t now_ns)
{
	return strands_each(a, strand_show, now_ns);
}
