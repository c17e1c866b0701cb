/* SPDX-License-Identifier: (LGPL-2.1 OR BSD-2-Clause) */
/*
 * bits [N]: calls handled() and narrow() N times each with fields of a few bits,
 * which the compiler takes apart here, and prints what it found in them:
 * "handled VERSION KIND URGENT LENGTH WIDE TAIL TOP", "narrow LOW HIGH MIDDLE".
 */
#include <inttypes.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#define NOINLINE __attribute__((noipa))

struct packet {
	uint32_t version : 4, kind : 5, urgent : 1, length : 22;
	uint64_t wide : 40, tail : 24;
};

struct bytes {
	uint8_t low : 3, high : 5, other;
	uint16_t skipped : 6, middle : 7, rest : 3;
};

static volatile uint64_t sink;
static uint64_t state = 88172645463325252u;

NOINLINE uint32_t handled(const struct packet *p, uint64_t word);
NOINLINE int narrow(const struct bytes *b);

/* Marsaglia's xorshift64: bits of all kinds, the same each time. */
static uint64_t any(void)
{
	state ^= state << 13;
	state ^= state >> 7;
	return state ^= state << 17;
}

uint32_t handled(const struct packet *p, uint64_t word)
{
	sink += p->length + word;
	return (uint32_t)p->kind << 3 | 1u << 31;
}

int narrow(const struct bytes *b)
{
	sink += b->middle;
	return b->high;
}

int main(int argc, char **argv)
{
	int n = argc > 1 ? atoi(argv[1]) : 100;

	for (int i = 0; i < n; i++) {
		uint64_t r = any(), word = any();
		struct packet p = {.version = r & 15, .kind = r >> 4 & 31, .urgent = r >> 9 & 1,
				   .length = r >> 10 & 0x3fffff, .wide = any() & 0xffffffffff, .tail = any() & 0xffffff};
		struct bytes b = {.low = r & 7, .high = r >> 3 & 31, .skipped = 63, .middle = word & 127, .rest = 7};

		handled(&p, word);
		narrow(&b);
		printf("handled %u %u %u %u %" PRIu64 " %" PRIu64 " %" PRIu64 "\n", p.version, p.kind, p.urgent, p.length,
		       (uint64_t)p.wide, (uint64_t)p.tail, word >> 57);
		printf("narrow %u %u %u\n", b.low, b.high, b.middle);
	}
	return 0;
}
