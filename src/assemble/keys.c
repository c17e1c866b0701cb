/* SPDX-License-Identifier: (LGPL-2.1 OR BSD-2-Clause) */
/*
 * Keys are many (one an op) and long (digests), and nobody reads them: so they
 * are kept as 96 bits of hash, 64 to find and 32 to tell. Two of millions that
 * are taken for one are less likely than a memory error.
 *
 * An op that has ended is asked for by those only that began to wait before, and
 * they go on when it ends. So its key is forgotten when so many others have come.
 */
#include "assemble/keys.h"

#include "util/vec.h"

#define LATE_MAX 65536

static uint64_t mix(uint64_t h)
{
	h = (h ^ h >> 32) * 0xd6e8feb86659fd93ull;
	return h ^ h >> 29;
}

static uint64_t key_hash(const struct assemble *a, uint32_t process, uint64_t seed)
{
	uint64_t h = mix(seed ^ process) + a->text.n, word;

	for (size_t i = 0; i < a->text.n; i += sizeof(word)) {
		size_t n = a->text.n - i < sizeof(word) ? a->text.n - i : sizeof(word);

		word = 0;
		memcpy(&word, a->text.text + i, n);
		h = mix(h * 0x9e3779b97f4a7c15ull ^ word);
	}
	return mix(h);
}

static uint32_t key_check(const struct assemble *a, uint32_t process)
{
	return (uint32_t)key_hash(a, process, 0x5851f42d4c957f2dull);
}

/* The key that is the oldest of the latest goes, unless its op goes on: then it stays as long as the recording. */
static int late_put(struct assemble *a, uint64_t hash)
{
	size_t at = a->late_key_n++ % LATE_MAX;
	uint64_t value;

	if (a->late_key_n <= LATE_MAX && VEC_RESERVE(a->late_keys, a->late_key_cap, at + 1) < 0)
		return -ENOMEM;
	if (a->late_key_n > LATE_MAX && map_get(a->keys, a->late_keys[at], &value) && !a->m->ops[(uint32_t)value].open)
		map_remove(a->keys, a->late_keys[at], NULL);
	a->late_keys[at] = hash;
	return 0;
}

int assemble_key_put(struct assemble *a, uint32_t process, uint32_t op)
{
	if (late_put(a, key_hash(a, process, 0)) < 0)
		return -ENOMEM;
	return map_put(a->keys, key_hash(a, process, 0), (uint64_t)key_check(a, process) << 32 | op);
}

uint32_t assemble_key_find(const struct assemble *a, uint32_t process)
{
	uint64_t value = 0;

	if (!map_get(a->keys, key_hash(a, process, 0), &value) || value >> 32 != key_check(a, process))
		return 0;
	return (uint32_t)value;
}
