/* SPDX-License-Identifier: (LGPL-2.1 OR BSD-2-Clause) */
/*
 * Every class is a list of tags with shares; what a tag contributes is written
 * down as it is met, and put in order by class at the end.
 */
#include "replay/classes.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "replay/functions.h"
#include "util/cleanup.h"
#include "util/map.h"
#include "util/vec.h"

struct member {
	uint32_t class;
	struct share share;
};

struct builder {
	struct replay *r;
	struct map *index; /* hash of a class's identity -> r->classes; chains by next */
	uint32_t *next;
	size_t next_cap;
	struct member *members;
	size_t n, cap;
};

static void builder_done(struct builder *b)
{
	map_free(b->index);
	free(b->next);
	free(b->members);
}

static bool class_is(const struct replay_class *a, const struct replay_class *b)
{
	return a->kind == b->kind && a->op_kind == b->op_kind && a->reason == b->reason && a->name_id == b->name_id &&
	       a->kind_id == b->kind_id && a->module_id == b->module_id;
}

static uint64_t class_hash(const struct replay_class *c)
{
	uint64_t h = ((uint64_t)c->name_id << 32 | c->kind_id) * UINT64_C(0xff51afd7ed558ccd);

	h ^= h >> 31;
	return (h ^ ((uint64_t)c->module_id << 24 | (uint64_t)c->kind << 16 | (uint64_t)c->op_kind << 8 | c->reason)) *
	       UINT64_C(0xc4ceb9fe1a85ec53);
}

static int class_index(struct builder *b, const struct replay_class *c, uint32_t *ret)
{
	struct replay *r = b->r;
	uint64_t hash = class_hash(c), first = NONE;

	map_get(b->index, hash, &first);
	for (uint32_t i = (uint32_t)first; i != NONE; i = b->next[i]) {
		if (class_is(&r->classes[i].c, c)) {
			*ret = i;
			return 0;
		}
	}
	if (VEC_RESERVE(r->classes, r->class_cap, r->class_n + 1) < 0 ||
	    VEC_RESERVE(b->next, b->next_cap, r->class_n + 1) < 0 || map_put(b->index, hash, r->class_n) < 0)
		return -ENOMEM;
	r->classes[r->class_n] = (struct class_entry){ .c = *c, .lock = NONE };
	b->next[r->class_n] = (uint32_t)first;
	*ret = (uint32_t)r->class_n++;
	return 0;
}

/*
 * Of a share that n samples gave; variances add up. With one more that met it and one more that did not: few that all
 * agree prove little.
 */
static double share_variance(double share, double n)
{
	double s = (share * n + 1) / (n + 2);

	return s * (1 - s) / (n + 2);
}

/* A tag's share in a class. */
static int member_add(struct builder *b, uint32_t class, uint32_t tag, float share)
{
	const struct tag *t = &b->r->tags[tag];
	struct class_entry *e = &b->r->classes[class];
	uint64_t ns = (uint64_t)((double)t->ns * (double)share);

	if (VEC_RESERVE(b->members, b->cap, b->n + 1) < 0)
		return -ENOMEM;
	b->members[b->n++] = (struct member){ .class = class, .share = { .tag = tag, .share = share } };
	if (t->row) {
		e->c.delay_ns += ns;
		e->c.count += t->count;
	} else {
		e->c.cpu_ns += ns;
		if (e->c.kind == REPLAY_CLASS_FUNCTION)
			e->sd_ns += (double)t->ns * (double)t->ns * share_variance((double)share, (double)t->samples);
	}
	return 0;
}

static int whole_add(struct builder *b, const struct replay_class *c, uint32_t tag)
{
	uint32_t class;

	return class_index(b, c, &class) < 0 ? -ENOMEM : member_add(b, class, tag, 1);
}

static int tag_classes(struct builder *b, uint32_t tag)
{
	const struct replay *r = b->r;
	const struct tag *t = &r->tags[tag];
	const struct op_key *op = &r->op_keys[t->op_key];
	const struct strand_key *s = &r->strand_keys[t->strand_key];
	const struct model_row *row = &r->m->rows[t->row < r->m->row_n ? t->row : 0];
	struct replay_class resource = { .kind = REPLAY_CLASS_RESOURCE, .reason = row->reason, .kind_id = row->kind_id };
	int e;

	e = whole_add(b, &(struct replay_class){ .kind = REPLAY_CLASS_OP, .op_kind = op->kind, .name_id = op->class_id }, tag);
	/* Dumps of ops alone know of neither. */
	if (e == 0 && s->comm_id)
		e = whole_add(b, &(struct replay_class){ .kind = REPLAY_CLASS_THREAD, .name_id = s->comm_id }, tag);
	if (e == 0 && s->program_id)
		e = whole_add(b, &(struct replay_class){ .kind = REPLAY_CLASS_PROGRAM, .name_id = s->program_id }, tag);
	if (e < 0 || !t->row || t->row == TAG_UNPLACED)
		return e;
	e = whole_add(b, &resource, tag);
	if (e < 0 || !t->ident_id)
		return e;
	resource.name_id = t->ident_id;
	return whole_add(b, &resource, tag);
}

static int lock_class(struct builder *b, uint32_t lock, uint32_t *ret)
{
	const struct replay *r = b->r;
	const struct lock *x = &r->locks[lock];
	const struct model_row *row = &r->m->rows[x->row];
	struct replay_class c = { .kind = REPLAY_CLASS_LOCK, .reason = row->reason, .name_id = x->ident_id,
				  .kind_id = row->kind_id };

	if (class_index(b, &c, ret) < 0)
		return -ENOMEM;
	b->r->classes[*ret].lock = lock;
	return 0;
}

static int locks_add(struct builder *b)
{
	struct replay *r = b->r;
	uint32_t class;

	for (size_t i = 0; i < r->lock_n; i++) {
		if (!r->locks[i].simulated)
			continue;
		if (lock_class(b, (uint32_t)i, &class) < 0)
			return -ENOMEM;
		r->locks[i].class = class;
		r->classes[class].c.count = r->locks[i].hold_n;
	}
	for (size_t i = 0; i < r->tag_n; i++) {
		uint32_t lock = r->tags[i].lock;
		uint64_t count = lock != NONE ? r->classes[r->locks[lock].class].c.count : 0;

		if (lock == NONE)
			continue;
		if (member_add(b, r->locks[lock].class, (uint32_t)i, 1) < 0)
			return -ENOMEM;
		r->classes[r->locks[lock].class].c.count = count; /* holds, not delays in them */
	}
	return 0;
}

static int functions_add(struct builder *b, struct emit_samples *samples)
{
	struct functions f = { 0 };
	struct function_shares shares = { 0 };
	int e = functions_share(b->r, samples, &f, &shares);
	uint32_t class;

	for (size_t i = 0; i < shares.n && e == 0; i++) {
		const struct function *x = &f.v[shares.v[i].function];

		e = class_index(b, &(struct replay_class){ .kind = REPLAY_CLASS_FUNCTION, .name_id = x->name_id,
							    .module_id = x->module }, &class);
		if (e == 0)
			e = member_add(b, class, shares.v[i].tag, shares.v[i].share);
	}
	free(shares.v);
	replay_functions_done(&f);
	return e;
}

static int members_lay(struct builder *b)
{
	struct replay *r = b->r;
	size_t at = 0;

	r->shares = malloc((b->n + 1) * sizeof(*r->shares));
	if (!r->shares)
		return -ENOMEM;
	r->share_n = b->n;
	for (size_t i = 0; i < b->n; i++)
		r->classes[b->members[i].class].n++;
	for (size_t i = 0; i < r->class_n; i++) {
		r->classes[i].first = at;
		at += r->classes[i].n;
		r->classes[i].n = 0;
	}
	for (size_t i = 0; i < b->n; i++) {
		struct class_entry *e = &r->classes[b->members[i].class];

		r->shares[e->first + e->n++] = b->members[i].share;
	}
	return 0;
}

int classes_make(struct replay *r, struct emit_samples *samples)
{
	_cleanup_(builder_done) struct builder b = { .r = r };

	if (map_new(&b.index) < 0)
		return -ENOMEM;
	for (size_t i = 0; i < r->tag_n; i++) {
		if (tag_classes(&b, (uint32_t)i) < 0)
			return -ENOMEM;
	}
	if (locks_add(&b) < 0 || functions_add(&b, samples) < 0)
		return -ENOMEM;
	return members_lay(&b);
}

static int by_weight(const void *a, const void *b)
{
	const struct replay_class *x = &((const struct class_entry *)a)->c, *y = &((const struct class_entry *)b)->c;
	uint64_t p = x->path_cpu_ns + x->path_delay_ns, q = y->path_cpu_ns + y->path_delay_ns;

	if (x->kind != y->kind)
		return x->kind < y->kind ? -1 : 1;
	if (p != q)
		return p > q ? -1 : 1;
	p = x->cpu_ns + x->delay_ns;
	q = y->cpu_ns + y->delay_ns;
	if (p != q)
		return p > q ? -1 : 1;
	if (x->name_id != y->name_id)
		return x->name_id < y->name_id ? -1 : 1;
	if (x->kind_id != y->kind_id)
		return x->kind_id < y->kind_id ? -1 : 1;
	if (x->module_id != y->module_id)
		return x->module_id < y->module_id ? -1 : 1;
	return x->reason * 256 + x->op_kind - (y->reason * 256 + y->op_kind);
}

void classes_path(struct replay *r, const double *tag_ns)
{
	for (size_t i = 0; i < r->class_n; i++) {
		struct class_entry *e = &r->classes[i];
		double cpu_ns = 0, delay_ns = 0;

		for (size_t k = e->first; k < e->first + e->n; k++) {
			double ns = tag_ns[r->shares[k].tag] * (double)r->shares[k].share;

			if (r->tags[r->shares[k].tag].row)
				delay_ns += ns;
			else
				cpu_ns += ns;
		}
		e->c.path_cpu_ns = (uint64_t)cpu_ns;
		e->c.path_delay_ns = (uint64_t)delay_ns;
		e->sd_ns = sqrt(e->sd_ns) * (e->c.cpu_ns ? cpu_ns / (double)e->c.cpu_ns : 0);
	}
	if (r->class_n)
		qsort(r->classes, r->class_n, sizeof(*r->classes), by_weight);
	for (size_t i = 0; i < r->class_n; i++) {
		if (r->classes[i].lock != NONE)
			r->locks[r->classes[i].lock].class = (uint32_t)i;
	}
}

size_t replay_class_n(const struct replay *r)
{
	return r->class_n;
}

const struct replay_class *replay_class(const struct replay *r, size_t i)
{
	return i < r->class_n ? &r->classes[i].c : NULL;
}

bool replay_class_find(const struct replay *r, enum replay_class_kind kind, const char *name, size_t *ret)
{
	uint32_t name_id = strtab_find(r->m->strings, name);

	for (size_t i = 0; i < r->class_n && name_id; i++) {
		if (r->classes[i].c.name_id == name_id &&
		    (kind == REPLAY_CLASS_KIND_MAX || r->classes[i].c.kind == (uint8_t)kind)) {
			*ret = i;
			return true;
		}
	}
	return false;
}
