/* SPDX-License-Identifier: (LGPL-2.1 OR BSD-2-Clause) */
/*
 * Linear probing over one array of entries, with a byte each that tells used
 * from free (every u64 is a possible key). Removal moves later entries back
 * instead of leaving tombstones: maps of live threads see millions of
 * additions and removals and must not grow by them.
 */
#include "util/map.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

enum { FIRST_SLOTS = 16 };

struct entry {
	uint64_t key, value;
};

struct map {
	struct entry *entries;
	uint8_t *used;
	size_t slot_n; /* a power of two, at most 3/4 used */
	size_t n;
};

/* The finalizer of MurmurHash3: pids and addresses differ in few bits. */
static size_t key_home(const struct map *m, uint64_t key)
{
	key ^= key >> 33;
	key *= 0xff51afd7ed558ccdu;
	key ^= key >> 33;
	key *= 0xc4ceb9fe1a85ec53u;
	key ^= key >> 33;
	return key & (m->slot_n - 1);
}

static int slots_alloc(struct map *m, size_t slot_n)
{
	_cleanup_(freep) struct entry *entries = reallocarray(NULL, slot_n, sizeof(*entries));
	uint8_t *used = calloc(slot_n, 1);

	if (!entries || !used) {
		free(used);
		return -ENOMEM;
	}
	m->entries = TAKE_PTR(entries);
	m->used = used;
	m->slot_n = slot_n;
	return 0;
}

int map_new(struct map **ret)
{
	_cleanup_(map_freep) struct map *m = calloc(1, sizeof(*m));

	if (!m || slots_alloc(m, FIRST_SLOTS) < 0)
		return -ENOMEM;
	*ret = TAKE_PTR(m);
	return 0;
}

struct map *map_free(struct map *m)
{
	if (!m)
		return NULL;
	free(m->entries);
	free(m->used);
	free(m);
	return NULL;
}

/* The slot of key, or the free slot where it belongs. */
static size_t slot_find(const struct map *m, uint64_t key)
{
	size_t at = key_home(m, key);

	while (m->used[at] && m->entries[at].key != key)
		at = (at + 1) & (m->slot_n - 1);
	return at;
}

bool map_get(const struct map *m, uint64_t key, uint64_t *ret)
{
	size_t at = slot_find(m, key);

	if (!m->used[at])
		return false;
	if (ret)
		*ret = m->entries[at].value;
	return true;
}

static int map_grow(struct map *m)
{
	struct map old = *m;

	if (slots_alloc(m, old.slot_n * 2) < 0)
		return -ENOMEM;
	for (size_t i = 0; i < old.slot_n; i++) {
		size_t at;

		if (!old.used[i])
			continue;
		at = slot_find(m, old.entries[i].key);
		m->entries[at] = old.entries[i];
		m->used[at] = 1;
	}
	free(old.entries);
	free(old.used);
	return 0;
}

int map_put(struct map *m, uint64_t key, uint64_t value)
{
	size_t at = slot_find(m, key);

	if (m->used[at]) {
		m->entries[at].value = value;
		return 0;
	}
	if (m->n + 1 > m->slot_n / 4 * 3) {
		if (map_grow(m) < 0)
			return -ENOMEM;
		at = slot_find(m, key);
	}
	m->entries[at] = (struct entry){ .key = key, .value = value };
	m->used[at] = 1;
	m->n++;
	return 0;
}

bool map_remove(struct map *m, uint64_t key, uint64_t *ret)
{
	size_t mask = m->slot_n - 1, hole = slot_find(m, key);

	if (!m->used[hole])
		return false;
	if (ret)
		*ret = m->entries[hole].value;
	for (size_t at = (hole + 1) & mask; m->used[at]; at = (at + 1) & mask) {
		size_t home = key_home(m, m->entries[at].key);

		/* An entry may move back into the hole only if its home isn't behind the hole. */
		if (((at - home) & mask) >= ((at - hole) & mask)) {
			m->entries[hole] = m->entries[at];
			hole = at;
		}
	}
	m->used[hole] = 0;
	m->n--;
	return true;
}

size_t map_n(const struct map *m)
{
	return m->n;
}

void map_clear(struct map *m)
{
	memset(m->used, 0, m->slot_n);
	m->n = 0;
}

void *map_get_ptr(const struct map *m, uint64_t key)
{
	uint64_t value;

	return map_get(m, key, &value) ? (void *)(uintptr_t)value : NULL;
}

int map_put_ptr(struct map *m, uint64_t key, void *value)
{
	return map_put(m, key, (uintptr_t)value);
}

void *map_remove_ptr(struct map *m, uint64_t key)
{
	uint64_t value;

	return map_remove(m, key, &value) ? (void *)(uintptr_t)value : NULL;
}

bool map_next(const struct map *m, size_t *at, uint64_t *ret_key, uint64_t *ret_value)
{
	while (*at < m->slot_n) {
		size_t i = (*at)++;

		if (!m->used[i])
			continue;
		*ret_key = m->entries[i].key;
		*ret_value = m->entries[i].value;
		return true;
	}
	return false;
}
