/* SPDX-License-Identifier: (LGPL-2.1 OR BSD-2-Clause) */
#pragma once
/*
 * Whose turn is it? Strands by time, least first; equal ones in the order they came. Private to replay/.
 *
 * Each strand has a place of its own, and the places play a knockout: whoever is
 * put, moved or taken out plays his matches once more. Whom he meets is known
 * from his place alone, so none of that waits for another, and nothing jumps on
 * who won, which is as good as random.
 */
#include <stddef.h>
#include <stdint.h>

struct turns {
	unsigned __int128 *v; /* [1]: the winner; i: of 2i and 2i + 1; from [n] by strand. Time's bits, 64; number, 32; strand, 32 */
	size_t n;	      /* places, a power of 2 */
	uint32_t seq;	      /* of the next that is put */
};

/* Strands are less than strand_n. 0, -ENOMEM. */
int turns_init(struct turns *t, size_t strand_n);
void turns_done(struct turns *t);

/* Of nobody: later than any time, and the strand is none. */
#define TURNS_NOBODY ((unsigned __int128)0x7ff0000000000000 << 64 | UINT64_MAX)
#define TURNS_NONE   UINT32_MAX

/* Places are counted in bytes: that is less to work out at each. */
static inline void turns_play(struct turns *t, uint32_t strand, unsigned __int128 x)
{
	const size_t one = sizeof(*t->v);
	char *base = (char *)t->v;

	for (size_t at = (t->n + strand) * one; at > one; at = at / 2 / one * one) {
		unsigned __int128 other = *(unsigned __int128 *)(base + (at ^ one));

		*(unsigned __int128 *)(base + at) = x;
		x = other < x ? other : x;
	}
	t->v[1] = x;
}

/* key is not negative. If the strand had a turn, it is this instead. No more than 2^32 times. */
static inline void turns_put(struct turns *t, uint32_t strand, double key)
{
	/* Bits of times that are not negative are in the same order, read as an integer; adding 0 makes a negative 0 positive. */
	union {
		double key;
		uint64_t bits;
	} x = { .key = key + 0.0 };

	turns_play(t, strand, (unsigned __int128)x.bits << 64 | (uint64_t)t->seq++ << 32 | strand);
}

static inline void turns_drop(struct turns *t, uint32_t strand)
{
	turns_play(t, strand, TURNS_NOBODY);
}

/* The first, TURNS_NONE; its time, of none infinite. */
static inline uint32_t turns_first(const struct turns *t)
{
	return (uint32_t)t->v[1];
}

static inline double turns_time(const struct turns *t)
{
	union {
		uint64_t bits;
		double key;
	} x = { .bits = (uint64_t)(t->v[1] >> 64) };

	return x.key;
}
