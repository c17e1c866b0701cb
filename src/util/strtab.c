/* SPDX-License-Identifier: (LGPL-2.1 OR BSD-2-Clause) */
/*
 * Strings lie in chunks that never move, so that a pointer stays valid while
 * the table grows. The hash table holds {hash, id} in 8 bytes: a probe that
 * misses is told from the hash alone and touches no string. Recording interns
 * a few names an event, nearly always known ones, so hits are what is fast here.
 */
#include "util/strtab.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "util/vec.h"

enum { CHUNK_BYTES = 64 << 10, FIRST_SLOTS = 256 };

struct slot {
	uint32_t hash;
	uint32_t id; /* 0: free */
};

struct strtab {
	const char **strs; /* by id */
	size_t n, cap;
	struct slot *slots;
	size_t slot_n; /* a power of two, at most 3/4 used */
	char **chunks;
	size_t chunk_n, chunk_cap;
	char *room; /* free bytes of the newest shared chunk */
	size_t room_n;
};

static uint64_t mix(uint64_t h, uint64_t word)
{
	__uint128_t p = (__uint128_t)(h ^ word) * 0x9e3779b97f4a7c15u;

	return (uint64_t)p ^ (uint64_t)(p >> 64);
}

static uint32_t hash_bytes(const char *s, size_t n)
{
	uint64_t h = mix(0x243f6a8885a308d3u, n), word = 0;

	for (; n >= 8; s += 8, n -= 8) {
		memcpy(&word, s, 8);
		h = mix(h, word);
	}
	word = 0;
	memcpy(&word, s, n);
	return (uint32_t)mix(h, word);
}

/* Strings hold no NUL, so strncmp never reads past the shorter one. */
static bool equals(const char *have, const char *s, size_t n)
{
	return strncmp(have, s, n) == 0 && have[n] == '\0';
}

/* The slot of s, or the free slot where it belongs. */
static struct slot *slot_find(const struct strtab *t, uint32_t hash, const char *s, size_t n)
{
	size_t mask = t->slot_n - 1;

	for (size_t i = hash & mask;; i = (i + 1) & mask) {
		struct slot *slot = &t->slots[i];

		if (!slot->id || (slot->hash == hash && equals(t->strs[slot->id], s, n)))
			return slot;
	}
}

static int slots_grow(struct strtab *t)
{
	size_t slot_n = t->slot_n * 2;
	struct slot *slots = calloc(slot_n, sizeof(*slots));

	if (!slots)
		return -ENOMEM;
	for (size_t i = 0; i < t->slot_n; i++) {
		size_t at = t->slots[i].hash & (slot_n - 1);

		if (!t->slots[i].id)
			continue;
		while (slots[at].id)
			at = (at + 1) & (slot_n - 1);
		slots[at] = t->slots[i];
	}
	free(t->slots);
	t->slots = slots;
	t->slot_n = slot_n;
	return 0;
}

/* Bytes that live as long as the table. Long strings get a chunk of their own, not to waste the shared one's rest. */
static char *arena_take(struct strtab *t, size_t n)
{
	size_t chunk_bytes = n > CHUNK_BYTES / 8 ? n : CHUNK_BYTES;
	char *p;

	if (n <= t->room_n) {
		p = t->room;
		t->room += n;
		t->room_n -= n;
		return p;
	}
	if (VEC_RESERVE(t->chunks, t->chunk_cap, t->chunk_n + 1) < 0)
		return NULL;
	p = malloc(chunk_bytes);
	if (!p)
		return NULL;
	t->chunks[t->chunk_n++] = p;
	if (chunk_bytes == CHUNK_BYTES) {
		t->room = p + n;
		t->room_n = chunk_bytes - n;
	}
	return p;
}

int strtab_new(struct strtab **ret)
{
	_cleanup_(strtab_freep) struct strtab *t = calloc(1, sizeof(*t));

	if (!t)
		return -ENOMEM;
	t->slots = calloc(FIRST_SLOTS, sizeof(*t->slots));
	if (!t->slots || VEC_RESERVE(t->strs, t->cap, 1) < 0)
		return -ENOMEM;
	t->slot_n = FIRST_SLOTS;
	t->strs[0] = "";
	t->n = 1;
	*ret = TAKE_PTR(t);
	return 0;
}

struct strtab *strtab_free(struct strtab *t)
{
	if (!t)
		return NULL;
	for (size_t i = 0; i < t->chunk_n; i++)
		free(t->chunks[i]);
	free(t->chunks);
	free(t->strs);
	free(t->slots);
	free(t);
	return NULL;
}

int strtab_intern_n(struct strtab *t, const char *s, size_t n, uint32_t *ret)
{
	struct slot *slot;
	uint32_t hash;
	char *copy;

	n = s ? strnlen(s, n) : 0;
	if (!n) {
		*ret = 0;
		return 0;
	}
	hash = hash_bytes(s, n);
	slot = slot_find(t, hash, s, n);
	if (slot->id) {
		*ret = slot->id;
		return 0;
	}
	if (t->n >= UINT32_MAX || VEC_RESERVE(t->strs, t->cap, t->n + 1) < 0)
		return -ENOMEM;
	if (t->n > t->slot_n / 4 * 3) {
		if (slots_grow(t) < 0)
			return -ENOMEM;
		slot = slot_find(t, hash, s, n);
	}
	copy = arena_take(t, n + 1);
	if (!copy)
		return -ENOMEM;
	memcpy(copy, s, n);
	copy[n] = '\0';
	t->strs[t->n] = copy;
	*slot = (struct slot){ .hash = hash, .id = (uint32_t)t->n };
	*ret = (uint32_t)t->n++;
	return 0;
}

int strtab_intern(struct strtab *t, const char *s, uint32_t *ret)
{
	return strtab_intern_n(t, s, s ? strlen(s) : 0, ret);
}

uint32_t strtab_find(const struct strtab *t, const char *s)
{
	size_t n = s ? strlen(s) : 0;

	return n ? slot_find(t, hash_bytes(s, n), s, n)->id : 0;
}

const char *strtab_str(const struct strtab *t, uint32_t id)
{
	return id < t->n ? t->strs[id] : "";
}

size_t strtab_n(const struct strtab *t)
{
	return t->n;
}
