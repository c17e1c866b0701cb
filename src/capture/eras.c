/* SPDX-License-Identifier: (LGPL-2.1 OR BSD-2-Clause) */
/*
 * Asked for each interval, so the usual answer takes one comparison: as long as
 * the maps are as they were when this stack was last looked at, it means what it
 * meant then. After a change its addresses are compared with what they were at
 * the beginning of each era; after a change of another process not even that.
 *
 * Addresses are kept as differences in bytes of seven bits (LEB128, signed ones
 * folded): four bytes each, not eight.
 */
#include "capture/eras.h"

#include <errno.h>
#include <string.h>

#include "util/cleanup.h"
#include "util/map.h"
#include "util/vec.h"

#define ADDRESS_BYTES_MAX 10

struct known {
	uint64_t guessed[2]; /* as in the body */
	uint64_t version;    /* of the maps, when it was last looked at; 0: never */
	uint64_t changed_ns; /* of its process, as of then */
	size_t addresses;    /* where they begin in bytes */
	uint32_t latest;     /* index of the era since changed_ns; 0: not looked for */
	uint32_t eras;	     /* index of the newest era */
	uint32_t tgid, tid;
	uint8_t frame_n, end;
};

struct era {
	uint64_t id, time_ns;
	uint32_t older; /* index, 0: it is the first */
	bool doubtful;
};

struct eras {
	const struct proc_maps *maps;
	const struct published *published;
	struct map *ids; /* stack id -> index of known */
	struct known *known;
	size_t known_n, known_cap;
	struct era *eras; /* entry 0 is blank */
	size_t era_n, era_cap;
	uint8_t *bytes;
	size_t byte_n, byte_cap;
};

DEFINE_CLEANUP(struct eras *, eras_free)

int eras_new(const struct proc_maps *maps, const struct published *published, struct eras **ret)
{
	_cleanup_(eras_freep) struct eras *e = calloc(1, sizeof(*e));
	int err;

	if (!e)
		return -ENOMEM;
	e->maps = maps;
	e->published = published;
	err = map_new(&e->ids);
	if (!err)
		err = VEC_RESERVE(e->eras, e->era_cap, 1);
	if (err)
		return err;
	e->eras[e->era_n++] = (struct era){ 0 };
	*ret = TAKE_PTR(e);
	return 0;
}

struct eras *eras_free(struct eras *e)
{
	if (!e)
		return NULL;
	map_free(e->ids);
	free(e->known);
	free(e->eras);
	free(e->bytes);
	free(e);
	return NULL;
}

/* ---- addresses ---- */

static void address_put(struct eras *e, uint64_t address, uint64_t before)
{
	int64_t d = (int64_t)(address - before);
	uint64_t rest = (uint64_t)d << 1 ^ (uint64_t)(d >> 63);

	for (; rest >= 0x80; rest >>= 7)
		e->bytes[e->byte_n++] = (uint8_t)(rest | 0x80);
	e->bytes[e->byte_n++] = (uint8_t)rest;
}

static int addresses_put(struct eras *e, const __u64 *frames, uint32_t n)
{
	uint64_t before = 0;

	if (VEC_RESERVE(e->bytes, e->byte_cap, e->byte_n + n * ADDRESS_BYTES_MAX) < 0)
		return -ENOMEM;
	for (uint32_t i = 0; i < n; i++) {
		address_put(e, frames[i], before);
		before = frames[i];
	}
	return 0;
}

static void addresses_get(const struct eras *e, const struct known *k, __u64 *ret)
{
	const uint8_t *p = e->bytes + k->addresses;
	uint64_t before = 0;

	for (uint32_t i = 0; i < k->frame_n; i++) {
		uint64_t folded = 0;
		unsigned shift = 0;

		do
			folded |= (uint64_t)(*p & 0x7f) << shift;
		while (shift += 7, *p++ & 0x80);
		before += folded >> 1 ^ -(folded & 1);
		ret[i] = before;
	}
}

/* The addresses whose mappings count: a call may be the last of its mapping. */
static void places_get(const struct eras *e, const struct known *k, uint64_t *ret)
{
	__u64 frames[WCBPF_STACK_DEPTH_MAX];

	addresses_get(e, k, frames);
	for (uint32_t i = 0; i < k->frame_n; i++)
		ret[i] = frames[i] - (i > 0);
}

/* ---- stacks and their eras ---- */

/* May a walk at time_ns have gone by tables that were too old for what it touched? */
static bool is_doubtful(const struct eras *e, const struct known *k, const uint64_t *places, uint64_t time_ns)
{
	uint64_t mapped_ns = published_until(e->published, k->tgid, time_ns);

	return mapped_ns != UINT64_MAX && proc_maps_newest_ns(e->maps, k->tgid, time_ns, places, k->frame_n) > mapped_ns;
}

/* The era begins now, as the newest of k. */
static int era_begin(struct eras *e, struct known *k, uint64_t id, uint64_t time_ns, const uint64_t *places)
{
	if (e->era_n >= UINT32_MAX || VEC_RESERVE(e->eras, e->era_cap, e->era_n + 1) < 0)
		return -ENOMEM;
	e->eras[e->era_n] = (struct era){ .id = id, .time_ns = time_ns, .older = k->eras,
					  .doubtful = is_doubtful(e, k, places, time_ns) };
	k->eras = (uint32_t)e->era_n++;
	return 0;
}

int eras_add(struct eras *e, const struct wcbpf_stack *s)
{
	struct known k = { .guessed = { s->guessed[0], s->guessed[1] }, .tgid = s->tgid, .tid = s->tid,
			   .frame_n = (uint8_t)s->frame_n, .end = s->end, .addresses = e->byte_n };
	uint64_t places[WCBPF_STACK_DEPTH_MAX];
	int err;

	if (s->frame_n > WCBPF_STACK_DEPTH_MAX)
		return -EINVAL;
	if (VEC_RESERVE(e->known, e->known_cap, e->known_n + 1) < 0)
		return -ENOMEM;
	err = addresses_put(e, s->frames, s->frame_n);
	if (err)
		return err;
	places_get(e, &k, places);
	err = era_begin(e, &k, s->id, s->head.time_ns, places);
	if (!err)
		err = map_put(e->ids, s->id, e->known_n);
	if (err)
		return err;
	e->known[e->known_n++] = k;
	return 0;
}

/* The era in which the places mean what they meant at time_ns, 0: none. */
static uint32_t era_find(const struct eras *e, const struct known *k, const uint64_t *places, uint64_t time_ns)
{
	uint32_t at = k->eras;

	while (at && !proc_maps_same(e->maps, k->tgid, e->eras[at].time_ns, time_ns, places, k->frame_n))
		at = e->eras[at].older;
	return at;
}

/* What was known as of the maps' last version may not hold any more. */
static void renew(const struct eras *e, struct known *k)
{
	uint64_t version = proc_maps_version(e->maps), changed_ns;

	if (k->version == version)
		return;
	changed_ns = proc_maps_changed_ns(e->maps, k->tgid);
	if (k->changed_ns != changed_ns)
		k->latest = 0;
	k->changed_ns = changed_ns;
	k->version = version;
}

/* The era of a use at time_ns, when it isn't plain. */
static int era_get(struct eras *e, struct known *k, uint64_t id, uint64_t time_ns, uint32_t *ret, bool *ret_fresh)
{
	uint64_t places[WCBPF_STACK_DEPTH_MAX];
	uint32_t at;
	int err;

	places_get(e, k, places);
	at = era_find(e, k, places, time_ns);
	if (!at) {
		err = era_begin(e, k, (id ^ time_ns * 0x9e3779b97f4a7c15ull) | 1, time_ns, places);
		if (err)
			return err;
		*ret = k->eras;
		*ret_fresh = true;
		return 0;
	}
	if (e->eras[at].doubtful)
		e->eras[at].doubtful = is_doubtful(e, k, places, time_ns);
	*ret = at;
	*ret_fresh = false;
	return 0;
}

int eras_find(struct eras *e, uint64_t id, uint64_t time_ns, uint64_t *ret, bool *ret_fresh)
{
	bool fresh = false;
	struct known *k;
	uint64_t index;
	uint32_t at;
	int err = 0;

	if (!map_get(e->ids, id, &index)) {
		*ret = id;
		*ret_fresh = false;
		return 0;
	}
	k = &e->known[index];
	renew(e, k);
	at = time_ns >= k->changed_ns ? k->latest : 0;
	if (!at || e->eras[at].doubtful)
		err = era_get(e, k, id, time_ns, &at, &fresh);
	if (err)
		return err;
	if (time_ns >= k->changed_ns)
		k->latest = at;
	*ret = e->eras[at].id;
	*ret_fresh = fresh;
	return 0;
}

bool eras_next_doubtful(const struct eras *e, size_t *at, uint64_t *ret)
{
	for (size_t i = *at + 1; i < e->era_n; i++) {
		if (!e->eras[i].doubtful)
			continue;
		*ret = e->eras[i].id;
		*at = i;
		return true;
	}
	return false;
}

void eras_body(const struct eras *e, uint64_t id, uint64_t era_id, uint64_t time_ns, struct wcbpf_stack *ret)
{
	const struct known *k;
	uint64_t index;

	memset(ret, 0, offsetof(struct wcbpf_stack, copy));
	if (!map_get(e->ids, id, &index))
		return;
	k = &e->known[index];
	ret->head = (struct wcbpf_head){ .kind = WCBPF_EV_STACK, .size = offsetof(struct wcbpf_stack, copy), .time_ns = time_ns };
	ret->id = era_id;
	ret->tgid = k->tgid;
	ret->tid = k->tid;
	ret->side = WCBPF_STACK_USER;
	ret->end = k->end;
	ret->frame_n = k->frame_n;
	ret->guessed[0] = k->guessed[0];
	ret->guessed[1] = k->guessed[1];
	addresses_get(e, k, ret->frames);
}
