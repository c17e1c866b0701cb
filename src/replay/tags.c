/* SPDX-License-Identifier: (LGPL-2.1 OR BSD-2-Clause) */
#include "replay/tags.h"

#include <errno.h>
#include <string.h>

#include "util/vec.h"

int tags_init(struct tags *t, struct replay *r)
{
	*t = (struct tags){ .r = r };
	if (map_new(&t->tag_hashes) < 0 || map_new(&t->op_keys) < 0 || map_new(&t->strand_keys) < 0) {
		tags_done(t);
		return -ENOMEM;
	}
	return 0;
}

void tags_done(struct tags *t)
{
	map_free(t->tag_hashes);
	map_free(t->op_keys);
	map_free(t->strand_keys);
}

static uint64_t mix(uint64_t h, uint64_t v)
{
	h = (h ^ v) * UINT64_C(0xff51afd7ed558ccd);
	return h ^ h >> 32;
}

static uint64_t tag_hash(const struct tag *k)
{
	uint64_t h = mix(UINT64_C(0x9e3779b97f4a7c15), (uint64_t)k->op_key << 32 | k->strand_key);

	h = mix(h, (uint64_t)k->lock << 32 | k->row);
	h = mix(h, (uint64_t)k->ident_id << 32 | k->own);
	return mix(h, (uint64_t)k->before << 32 | k->after);
}

static bool tag_is(const struct tag *a, const struct tag *b)
{
	return a->op_key == b->op_key && a->strand_key == b->strand_key && a->lock == b->lock && a->row == b->row &&
	       a->ident_id == b->ident_id && a->own == b->own && a->before == b->before && a->after == b->after;
}

int tags_intern(struct tags *t, const struct tag *key, uint32_t *ret)
{
	struct replay *r = t->r;
	uint64_t hash = tag_hash(key), first = NONE;

	map_get(t->tag_hashes, hash, &first);
	for (uint32_t i = (uint32_t)first; i != NONE; i = r->tags[i].next) {
		if (tag_is(&r->tags[i], key)) {
			*ret = i;
			return 0;
		}
	}
	if (VEC_RESERVE(r->tags, r->tag_cap, r->tag_n + 1) < 0 || map_put(t->tag_hashes, hash, r->tag_n) < 0)
		return -ENOMEM;
	r->tags[r->tag_n] = *key;
	r->tags[r->tag_n].next = (uint32_t)first;
	*ret = (uint32_t)r->tag_n++;
	return 0;
}

int tags_op_key(struct tags *t, uint8_t kind, uint32_t class_id, uint32_t *ret)
{
	struct replay *r = t->r;
	struct op_key k = { .class_id = class_id, .kind = kind };
	uint64_t key = (uint64_t)k.kind << 32 | k.class_id, at;

	if (!map_get(t->op_keys, key, &at)) {
		if (VEC_RESERVE(r->op_keys, r->op_key_cap, r->op_key_n + 1) < 0 ||
		    map_put(t->op_keys, key, r->op_key_n) < 0)
			return -ENOMEM;
		at = r->op_key_n;
		r->op_keys[r->op_key_n++] = k;
	}
	*ret = (uint32_t)at;
	return 0;
}

/* A process's program is its exec op's class; without one the name that its thread has. */
static uint32_t program_of(const struct model *m, const struct strand *s)
{
	const struct model_process *p = &m->processes[s->process < m->process_n ? s->process : 0];

	if (p->op && p->op < m->op_n && m->ops[p->op].class_id)
		return m->ops[p->op].class_id;
	return p->comm_id;
}

int tags_strand_key(struct tags *t, const struct strand *s, uint32_t *ret)
{
	struct replay *r = t->r;
	struct strand_key k = {
		.comm_id = s->thread < r->m->thread_n ? r->m->threads[s->thread].comm_id : 0,
		.program_id = program_of(r->m, s),
	};
	uint64_t key = (uint64_t)k.comm_id << 32 | k.program_id, at;

	if (!map_get(t->strand_keys, key, &at)) {
		if (VEC_RESERVE(r->strand_keys, r->strand_key_cap, r->strand_key_n + 1) < 0 ||
		    map_put(t->strand_keys, key, r->strand_key_n) < 0)
			return -ENOMEM;
		at = r->strand_key_n;
		r->strand_keys[r->strand_key_n++] = k;
	}
	*ret = (uint32_t)at;
	return 0;
}
