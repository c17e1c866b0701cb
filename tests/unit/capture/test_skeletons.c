/* SPDX-License-Identifier: (LGPL-2.1 OR BSD-2-Clause) */
/*
 * Skeletons against a walker. The kernel here is made up: its functions have
 * frames of known sizes, the walker below goes by these alone, and stacks are
 * filled with the addresses of all functions wherever no frame has a word of its
 * own. So what a skeleton recognizes can be compared with what a walk finds.
 */
#include "capture/skeletons.h"

#include <criterion/criterion.h>
#include <errno.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#define TEXT 0xffffffff81000000ull
#define SCHED (TEXT + 0x100000)
#define LOCK (TEXT + 0x180000)
#define TEXT_END (TEXT + 0x200000)
#define TOP 0xffffc90000100000ull
#define STACK_N 512
#define TRAMPOLINE (TEXT + 0xf000)

/* What a return address says: whose it is, and how many words lie between it and the return address of its caller. */
struct call_site {
	uint64_t address;
	const char *name;
	unsigned int words; /* of that function's frame above this return address; 0: by its saved frame pointer */
};

enum site {
	SWITCH, SCHEDULE, SCHEDULE_TIMEOUT, SLEEP_ON, SLEEP_ON_2, SLEEP_LONG, READ_A, READ_B, BIG, ALIGNED, SYS, X64,
	DO_SYSCALL, ENTRY, FAULT, ASM_FAULT, MODULE, SITE_N,
};

static const struct call_site sites[SITE_N] = {
	[SWITCH] = { SCHED + 0x10, "__schedule", 12 },
	[SCHEDULE] = { SCHED + 0x210, "schedule", 2 },
	[SCHEDULE_TIMEOUT] = { SCHED + 0x410, "schedule_timeout", 9 },
	[SLEEP_ON] = { LOCK + 0x10, "sleep_on", 6 },
	[SLEEP_ON_2] = { LOCK + 0x30, "sleep_on", 6 },
	[SLEEP_LONG] = { LOCK + 0x110, "sleep_long", 14 },
	[READ_A] = { TEXT + 0x1010, "read_a", 8 },
	[READ_B] = { TEXT + 0x2010, "read_b", 8 },
	[BIG] = { TEXT + 0x3010, "big", 40 },
	[ALIGNED] = { TEXT + 0x3810, "aligned", 0 },
	[SYS] = { TEXT + 0x4010, "sys_read", 5 },
	[X64] = { TEXT + 0x5010, "x64_sys_call", 3 },
	[DO_SYSCALL] = { TEXT + 0x6010, "do_syscall_64", 7 },
	[ENTRY] = { TEXT + 0x7010, "entry_SYSCALL_64_after_hwframe", 0 },
	[FAULT] = { TEXT + 0x8010, "exc_page_fault", 7 },
	[ASM_FAULT] = { TEXT + 0x9010, "asm_exc_page_fault", 0 },
	[MODULE] = { 0xffffffffc0001010ull, NULL, 8 },
};

static const char *name(void *arg, uint64_t address)
{
	(void)arg;
	if (address == TRAMPOLINE)
		return "arch_rethook_trampoline";
	for (int i = 0; i < SITE_N; i++)
		if (address >= (sites[i].address & ~0xfull) && address < (sites[i].address & ~0xfull) + 0x40)
			return sites[i].name;
	return NULL;
}

static const struct skeletons_kernel kernel = {
	.text = { TEXT, TEXT_END }, .sched = { SCHED, LOCK }, .lock = { LOCK, TEXT_END }, .name = name,
};

/* ---- stacks ---- */

struct stack {
	uint64_t words[STACK_N]; /* up to the user's registers */
	size_t n;
	uint64_t sp;
};

static uint64_t random_next(uint64_t *state)
{
	*state ^= *state << 13;
	*state ^= *state >> 7;
	*state ^= *state << 17;
	return *state;
}

/* What earlier calls have left there. How much of it looks like code: share of 16. */
static uint64_t stale_word(uint64_t *seed, unsigned int share)
{
	uint64_t r = random_next(seed);

	if (r % 16 >= share)
		return r >> 20;
	if (r & 0x1000)
		return TOP - (r >> 32) % 4096 / 8 * 8;
	return sites[(r >> 32) % SITE_N].address;
}

/*
 * A stack with this chain of calls, innermost first: the frame pointer of an
 * aligned function was saved in its callee's frame, and its own return address
 * lies above that. gap: words between do_syscall_64's frame and the entry's.
 */
static struct stack stack_make(const enum site *chain, size_t n, unsigned int gap, unsigned int pad, unsigned int share,
			       uint64_t *seed)
{
	struct stack s = { .n = 6 };
	size_t at[32];

	for (size_t i = 0; i < n; i++) {
		at[i] = s.n++;
		s.n += chain[i] == ALIGNED ? 10 + pad : sites[chain[i]].words;
		s.n += chain[i] == DO_SYSCALL ? gap : 0;
	}
	s.n = at[n - 1] + 1; /* the outermost's caller is the user */
	cr_assert_lt(s.n, STACK_N);
	s.sp = TOP - s.n * 8;
	for (size_t i = 0; i < s.n; i++)
		s.words[i] = stale_word(seed, share);
	for (size_t i = 0; i < n; i++) {
		s.words[at[i]] = sites[chain[i]].address;
		if (chain[i] == ALIGNED) /* below its return address, where its callee saved it */
			s.words[at[i] - 1] = s.sp + at[i + 1] * 8;
	}
	return s;
}

/* The truth: the return addresses by the sizes of frames alone, and where they lie. */
static size_t walk(const struct stack *s, uint64_t ret[64])
{
	size_t at = 6, n = 0, site;

	while (at < s->n && n < 64) {
		for (site = 0; site < SITE_N && sites[site].address != s->words[at]; site++)
			;
		if (site == SITE_N)
			break;
		ret[n++] = s->words[at];
		if (site == ENTRY || site == ASM_FAULT)
			break;
		if (site == DO_SYSCALL) { /* what follows is above the gap, where registers tell */
			ret[n++] = s->words[s->n - 1];
			break;
		}
		at = site == ALIGNED ? (s->words[at - 1] - s->sp) / 8 : at + 1 + sites[site].words;
	}
	return n;
}

/* As the kernel gives it: without the scheduler's functions. */
static struct wcbpf_stack *specimen_make(const struct stack *s, int syscall)
{
	struct wcbpf_stack *w = calloc(1, sizeof(*w));
	uint64_t frames[64], h = 1469598103934665603ull;
	size_t n = walk(s, frames);

	cr_assert(w);
	for (size_t i = 0; i < n; i++)
		if (frames[i] < SCHED || frames[i] >= TEXT_END) {
			w->frames[w->frame_n++] = frames[i];
			h = (h ^ frames[i]) * 1099511628211ull;
		}
	w->side = WCBPF_STACK_KERNEL;
	w->id = h | 1;
	w->copy_len = s->n * 8;
	w->head.size = offsetof(struct wcbpf_stack, copy) + w->copy_len;
	memcpy(w->copy, s->words, w->copy_len);
	w->regs[0] = (uint64_t)(int64_t)syscall;
	w->regs[7] = s->sp;
	return w;
}

/* ---- what the programs do with skeletons, as wire.h says it ---- */

struct table {
	struct wcbpf_skeleton all[WCBPF_SKELETONS_MAX];
	struct wcbpf_skeleton_key keys[256];
	struct wcbpf_variants variants[256];
	size_t n;
	int publish_n;
};

static int publish(void *arg, const struct wcbpf_skeleton_key *key, const struct wcbpf_variants *variants)
{
	struct table *t = arg;
	size_t i;

	t->publish_n++;
	for (i = 0; i < t->n && memcmp(&t->keys[i], key, sizeof(*key)); i++)
		;
	cr_assert_lt(i, 256);
	t->n += i == t->n;
	t->keys[i] = *key;
	t->variants[i] = *variants;
	return 0;
}

/* Which skeleton fits; all are tried, whatever their key: that only steers. */
static const struct wcbpf_skeleton *recognize(const struct table *t, const struct stack *s)
{
	for (size_t f = 0; f < t->n; f++)
		for (size_t v = 0; v < WCBPF_VARIANTS_MAX && t->variants[f].index[v]; v++) {
			const struct wcbpf_skeleton *k = &t->all[t->variants[f].index[v]];
			bool all = !k->dead && k->depth <= s->n * 8 && (!k->at_top || k->depth == s->n * 8);

			for (size_t i = 0; i < k->slot_n && all; i++)
				all = s->words[k->at[i] / 8] == k->word[i] + (k->at[i] & WCBPF_SLOT_RELATIVE ? s->sp : 0);
			if (all)
				return k;
		}
	return NULL;
}

struct bench {
	struct table *table;
	struct skeletons *skeletons;
	uint64_t seed, now_ns;
};

static struct bench bench_new(uint64_t seed)
{
	/* below which the inner frames of schedule() end */
	static const uint32_t key_at[2] = { (6 + 13) * 8, (6 + 13 + 3) * 8 };
	struct bench b = { .table = calloc(1, sizeof(*b.table)), .seed = seed };
	struct skeletons_place place = { .all = b.table->all, .publish = publish, .arg = b.table };

	cr_assert_eq(skeletons_new(&kernel, &place, key_at, &b.skeletons), 0);
	return b;
}

static void bench_free(struct bench *b)
{
	skeletons_free(b->skeletons);
	free(b->table);
}

#define CHAIN(...) ((const enum site[]){ __VA_ARGS__ }), sizeof((const enum site[]){ __VA_ARGS__ }) / sizeof(enum site)
#define TAIL SYS, X64, DO_SYSCALL, ENTRY

/* A stack comes: is it recognized, and rightly? If not it is a specimen. */
static bool come(struct bench *b, const enum site *chain, size_t n, unsigned int pad, unsigned int share, int syscall)
{
	struct stack s = stack_make(chain, n, random_next(&b->seed) % 64, pad, share, &b->seed);
	struct wcbpf_stack *w = specimen_make(&s, syscall);
	const struct wcbpf_skeleton *k = recognize(b->table, &s);
	bool known = k;

	cr_assert(!k || k->stack_id == w->id, "recognized as another stack");
	if (!k)
		cr_assert_eq(skeletons_learn(b->skeletons, w, b->now_ns += 1000000), 0);
	free(w);
	return known;
}

static size_t come_often(struct bench *b, size_t times, const enum site *chain, size_t n, unsigned int pad, unsigned int share)
{
	size_t known = 0;

	for (size_t i = 0; i < times; i++)
		known += come(b, chain, n, pad, share, 0);
	return known;
}

Test(skeletons, a_stack_that_comes_again_is_recognized)
{
	struct bench b = bench_new(1);

	cr_assert_eq(come_often(&b, 3, CHAIN(SWITCH, SCHEDULE, SCHEDULE_TIMEOUT, READ_A, TAIL), 0, 0), 0);
	cr_assert_eq(skeletons_n(b.skeletons), 1);
	cr_assert_eq(come_often(&b, 100, CHAIN(SWITCH, SCHEDULE, SCHEDULE_TIMEOUT, READ_A, TAIL), 0, 0), 100);
	bench_free(&b);
}

Test(skeletons, stale_words_are_learned_away)
{
	struct bench b = bench_new(2);

	come_often(&b, 40, CHAIN(SWITCH, SCHEDULE, READ_A, BIG, TAIL), 0, 8);
	cr_assert_gt(come_often(&b, 1000, CHAIN(SWITCH, SCHEDULE, READ_A, BIG, TAIL), 0, 8), 990);
	bench_free(&b);
}

Test(skeletons, two_paths_with_one_key)
{
	struct bench b = bench_new(3);

	for (int i = 0; i < 500; i++) {
		come(&b, CHAIN(SWITCH, SCHEDULE, SCHEDULE_TIMEOUT, READ_A, BIG, TAIL), 0, 1, 0);
		come(&b, CHAIN(SWITCH, SCHEDULE, SCHEDULE_TIMEOUT, READ_B, BIG, TAIL), 0, 1, 0);
		/* the same functions, called from elsewhere */
		come(&b, CHAIN(SWITCH, SCHEDULE, SCHEDULE_TIMEOUT, READ_A, READ_B, BIG, TAIL), 0, 1, 0);
	}
	cr_assert_eq(b.table->n, 1);
	cr_assert_gt(come_often(&b, 100, CHAIN(SWITCH, SCHEDULE, SCHEDULE_TIMEOUT, READ_A, BIG, TAIL), 0, 8), 90);
	cr_assert_gt(come_often(&b, 100, CHAIN(SWITCH, SCHEDULE, SCHEDULE_TIMEOUT, READ_B, BIG, TAIL), 0, 8), 90);
	cr_assert_gt(come_often(&b, 100, CHAIN(SWITCH, SCHEDULE, SCHEDULE_TIMEOUT, READ_A, READ_B, BIG, TAIL), 0, 8), 90);
	bench_free(&b);
}

/* The walk does not show scheduler functions: frames are equal, places are not. */
Test(skeletons, frames_that_a_walk_leaves_out)
{
	struct bench b = bench_new(4);

	for (int i = 0; i < 300; i++) {
		come(&b, CHAIN(SWITCH, SCHEDULE, SCHEDULE_TIMEOUT, SLEEP_ON, READ_A, TAIL), 0, 1, 0);
		come(&b, CHAIN(SWITCH, SCHEDULE, SCHEDULE_TIMEOUT, SLEEP_ON_2, READ_A, TAIL), 0, 1, 0);
		come(&b, CHAIN(SWITCH, SCHEDULE, SCHEDULE_TIMEOUT, SLEEP_LONG, READ_A, TAIL), 0, 1, 0);
	}
	/* each skeleton has the scheduler's true words: no stack with others there is ever taken for it */
	cr_assert_geq(skeletons_n(b.skeletons), 3);
	for (size_t f = 0; f < b.table->n; f++)
		for (size_t v = 0; v < WCBPF_VARIANTS_MAX && b.table->variants[f].index[v]; v++) {
			const struct wcbpf_skeleton *k = &b.table->all[b.table->variants[f].index[v]];
			size_t sleeps = 0;

			for (size_t i = 0; i < k->slot_n; i++)
				sleeps += k->at[i] == (6 + 13 + 3 + 10) * 8 && k->word[i] >= sites[SLEEP_ON].address &&
					  k->word[i] <= sites[SLEEP_LONG].address;
			cr_assert_eq(sleeps, 1);
		}
	bench_free(&b);
}

/* A function that aligns its frame: its place varies, and is found by the frame pointer that its callee saved. */
Test(skeletons, frame_pointers_are_compared)
{
	struct bench b = bench_new(5);
	size_t relative = 0;

	for (int i = 0; i < 300; i++)
		come(&b, CHAIN(SWITCH, SCHEDULE, READ_A, ALIGNED, BIG, TAIL), i % 3 * 2, 3, 0);
	cr_assert_gt(skeletons_n(b.skeletons), 1);
	for (unsigned int pad = 0; pad < 6; pad += 2)
		cr_assert_gt(come_often(&b, 100, CHAIN(SWITCH, SCHEDULE, READ_A, ALIGNED, BIG, TAIL), pad, 3), 80);
	for (size_t v = 0; b.table->variants[0].index[v]; v++) {
		const struct wcbpf_skeleton *k = &b.table->all[b.table->variants[0].index[v]];

		for (size_t i = 0; i < k->slot_n; i++)
			relative += k->at[i] & WCBPF_SLOT_RELATIVE;
		cr_assert_geq(relative, v + 1);
	}
	bench_free(&b);
}

/* As come(), with words of rubbish in the hole of a BIG frame at place 6 + 13 + 3 of the chain. */
static bool come_with(struct bench *b, const enum site *chain, size_t n, const uint64_t *hole, size_t hole_n)
{
	struct stack s = stack_make(chain, n, random_next(&b->seed) % 64, 0, 0, &b->seed);
	const struct wcbpf_skeleton *k;
	struct wcbpf_stack *w;

	memcpy(&s.words[6 + 13 + 3 + 2], hole, hole_n * sizeof(*hole));
	w = specimen_make(&s, 0);
	k = recognize(b->table, &s);
	cr_assert(!k || k->stack_id == w->id, "recognized as another stack");
	if (!k)
		cr_assert_eq(skeletons_learn(b->skeletons, w, b->now_ns += 1000000), 0);
	free(w);
	return k;
}

/* An earlier call has left all its addresses, in order, in a frame's hole: two stacks that differ above that only. */
Test(skeletons, the_ruins_of_another_call)
{
	const uint64_t hole[] = { sites[READ_A].address, sites[READ_B].address, sites[SYS].address, sites[X64].address,
				  sites[DO_SYSCALL].address };
	struct bench b = bench_new(11);
	size_t known = 0;

	for (int i = 0; i < 100; i++) {
		known += come_with(&b, CHAIN(SWITCH, SCHEDULE, BIG, READ_A, TAIL), hole, 5);
		known += come_with(&b, CHAIN(SWITCH, SCHEDULE, BIG, READ_B, TAIL), hole, 5);
	}
	cr_assert_gt(known, 150);
	bench_free(&b);
}

/* All true slots stay, whatever lies around them: by brute force over chains, sizes and rubbish. */
Test(skeletons, never_another_stack)
{
	size_t known = 0, all = 0;

	for (uint64_t seed = 10; seed < 18; seed++) {
		struct bench b = bench_new(seed);

		for (int i = 0; i < 4000; i++) {
			static const enum site inner[] = { READ_A, READ_B, BIG, ALIGNED };
			enum site chain[16] = { SWITCH, SCHEDULE };
			size_t n = 2, depth = 1 + random_next(&b.seed) % 3;

			if (random_next(&b.seed) % 2)
				chain[n++] = random_next(&b.seed) % 2 ? SCHEDULE_TIMEOUT : SLEEP_ON;
			for (size_t k = 0; k < depth; k++)
				chain[n++] = inner[random_next(&b.seed) % 3 + (k == 1)];
			memcpy(&chain[n], (const enum site[]){ TAIL }, 4 * sizeof(chain[0]));
			known += come(&b, chain, n + 4, random_next(&b.seed) % 2 * 2, random_next(&b.seed) % 12, 0);
			all++;
		}
		bench_free(&b);
	}
	cr_assert_gt(known * 5, all, "%zu of %zu", known, all); /* it was not for want of skeletons */
}

Test(skeletons, an_exception_ends_at_the_users_registers)
{
	struct bench b = bench_new(6);

	for (int i = 0; i < 20; i++)
		come(&b, CHAIN(SWITCH, SCHEDULE, READ_A, FAULT, ASM_FAULT), 0, 4, -1);
	cr_assert_eq(skeletons_n(b.skeletons), 1);
	cr_assert(b.table->all[b.table->variants[0].index[0]].at_top);
	cr_assert_gt(come_often(&b, 100, CHAIN(SWITCH, SCHEDULE, READ_A, FAULT, ASM_FAULT), 0, 4), 90);
	bench_free(&b);
}

/* Learns what `change` makes of a good specimen, often: no skeleton may come of it. */
static void refused(void (*change)(struct wcbpf_stack *w))
{
	struct bench b = bench_new(7);

	for (int i = 0; i < 10; i++) {
		static const enum site chain[] = { SWITCH, SCHEDULE, READ_A, BIG, TAIL };
		struct stack s = stack_make(chain, sizeof(chain) / sizeof(chain[0]), 3, 0, 0, &b.seed);
		struct wcbpf_stack *w = specimen_make(&s, 0);

		if (change)
			change(w);
		cr_assert_eq(skeletons_learn(b.skeletons, w, ++b.now_ns), 0);
		free(w);
	}
	cr_assert_eq(skeletons_n(b.skeletons), change ? 0 : 1);
	bench_free(&b);
}

static void in_a_module(struct wcbpf_stack *w)
{
	w->frames[0] = sites[MODULE].address;
	for (size_t i = 0; i < w->copy_len / 8; i++)
		if (((uint64_t *)(void *)w->copy)[i] == sites[READ_A].address)
			((uint64_t *)(void *)w->copy)[i] = sites[MODULE].address;
}

/* A tracer has put its own address in place of the return address; the walk gives the true one. */
static void traced_return(struct wcbpf_stack *w)
{
	for (size_t i = 0; i < w->copy_len / 8; i++)
		if (((uint64_t *)(void *)w->copy)[i] == sites[BIG].address)
			((uint64_t *)(void *)w->copy)[i] = TRAMPOLINE;
}

/* And the true one lies about somewhere. */
static void traced_return_and_stale(struct wcbpf_stack *w)
{
	traced_return(w);
	for (size_t i = 0; i < w->copy_len / 8; i++)
		if (((uint64_t *)(void *)w->copy)[i] == TRAMPOLINE)
			((uint64_t *)(void *)w->copy)[i + 1] = sites[BIG].address;
}

static void longer_than_the_event(struct wcbpf_stack *w)
{
	w->head.size -= 8;
}

/* The frames were to come before, and were lost. */
static void frames_lost(struct wcbpf_stack *w)
{
	w->id += 2;
	w->frame_n = 0;
}

static void cut_above(struct wcbpf_stack *w)
{
	w->copy_len -= 8;
}

static void no_frames(struct wcbpf_stack *w)
{
	w->frame_n = 0;
}

static void no_copy(struct wcbpf_stack *w)
{
	w->copy_len = 0;
}

static void crooked_copy(struct wcbpf_stack *w)
{
	w->copy_len -= 3;
}

static void another_root(struct wcbpf_stack *w)
{
	w->frames[w->frame_n - 2] = w->frames[w->frame_n - 1];
	w->frame_n--;
}

static void walk_ended_early(struct wcbpf_stack *w)
{
	w->frame_n -= 2;
}

Test(skeletons, what_cant_be_proved_is_not_learned)
{
	refused(NULL);
	refused(in_a_module);
	refused(traced_return);
	refused(traced_return_and_stale);
	refused(cut_above);
	refused(no_frames);
	refused(frames_lost);
	refused(longer_than_the_event);
	refused(no_copy);
	refused(crooked_copy);
	refused(another_root);
	refused(walk_ended_early);
}

/* As it is with a stack that was walked before: the walk's body first, then what lies on the stack. */
Test(skeletons, frames_that_came_before)
{
	static const enum site chain[] = { SWITCH, SCHEDULE, READ_A, BIG, TAIL };
	struct bench b = bench_new(12);

	for (int i = 0; i < 5; i++) {
		struct stack s = stack_make(chain, sizeof(chain) / sizeof(chain[0]), 3, 0, 0, &b.seed);
		struct wcbpf_stack *w = specimen_make(&s, 0), *body = specimen_make(&s, 0);

		body->copy_len = 0;
		w->frame_n = 0;
		memset(w->frames, 0, sizeof(w->frames));
		if (!i)
			cr_assert_eq(skeletons_learn(b.skeletons, body, ++b.now_ns), 0);
		cr_assert_eq(skeletons_learn(b.skeletons, w, ++b.now_ns), 0);
		free(body);
		free(w);
	}
	cr_assert_eq(skeletons_n(b.skeletons), 1);
	cr_assert_eq(come_often(&b, 50, CHAIN(SWITCH, SCHEDULE, READ_A, BIG, TAIL), 0, 0), 50);
	bench_free(&b);
}

Test(skeletons, one_that_was_wrong_is_dropped_for_good)
{
	struct bench b = bench_new(8);

	come_often(&b, 5, CHAIN(SWITCH, SCHEDULE, READ_A, BIG, TAIL), 0, 0);
	cr_assert_eq(skeletons_n(b.skeletons), 1);
	b.table->all[b.table->variants[0].index[0]].dead = 1;
	cr_assert_eq(come_often(&b, 50, CHAIN(SWITCH, SCHEDULE, READ_A, BIG, TAIL), 0, 0), 0);
	cr_assert_eq(skeletons_n(b.skeletons), 0);
	cr_assert_eq(b.table->variants[0].index[0], 0);
	/* the others are not touched */
	come_often(&b, 5, CHAIN(SWITCH, SCHEDULE, READ_B, BIG, TAIL), 0, 0);
	cr_assert_eq(come_often(&b, 50, CHAIN(SWITCH, SCHEDULE, READ_B, BIG, TAIL), 0, 0), 50);
	bench_free(&b);
}

/*
 * What can be found never changes: a new one takes another's place only when
 * nobody can be looking at it. Rubbish that is the same for a while gets into
 * skeletons, which are replaced as it goes.
 */
Test(skeletons, a_skeleton_does_not_change_while_it_may_be_read)
{
	struct bench b = bench_new(9);
	struct wcbpf_skeleton *before = malloc(sizeof(b.table->all));
	uint64_t since[WCBPF_SKELETONS_MAX] = { 0 }, hole[30];
	size_t changes = 0;

	for (int round = 0; round < 100; round++) {
		for (int i = 0; i < 30; i++)
			hole[i] = sites[random_next(&b.seed) % 2 ? READ_A : READ_B].address + round % 16;
		for (int i = 0; i < 30; i++) {
			memcpy(before, b.table->all, sizeof(b.table->all));
			hole[i] = 0;
			come_with(&b, CHAIN(SWITCH, SCHEDULE, BIG, READ_A, READ_A, TAIL), hole, 30);
			come_with(&b, CHAIN(SWITCH, SCHEDULE, BIG, round % 2 ? READ_B : BIG, TAIL), hole, 30);
			b.now_ns += 10000000;
			for (size_t k = 0; k < WCBPF_SKELETONS_MAX; k++) {
				if (!memcmp(&before[k], &b.table->all[k], sizeof(before[k])))
					continue;
				cr_assert_neq(k, 0);
				cr_assert(!since[k] || b.now_ns - since[k] >= 1000000000ull, "after %llu ns",
					  (unsigned long long)(b.now_ns - since[k]));
				since[k] = b.now_ns;
				changes++;
			}
		}
	}
	cr_assert_gt(changes, 20, "%zu", changes);
	free(before);
	bench_free(&b);
}

Test(skeletons, places_of_the_key)
{
	uint64_t stacks[4][WCBPF_CALIBRATION_WORDS], seed = 77;
	uint32_t at[2] = { 1, 2 };

	for (int i = 0; i < 4; i++) {
		static const enum site chain[] = { SWITCH, SCHEDULE, SCHEDULE_TIMEOUT, READ_A, TAIL };
		struct stack s = stack_make(chain, sizeof(chain) / sizeof(chain[0]), 9, 0, 0, &seed);

		memset(stacks[i], 0, sizeof(stacks[i]));
		memcpy(stacks[i], s.words, (s.n < WCBPF_CALIBRATION_WORDS ? s.n : WCBPF_CALIBRATION_WORDS) * 8);
	}
	memset(stacks[2], 0, sizeof(stacks[2])); /* another switch */
	cr_assert_eq(skeletons_key_places(&kernel, (const void *)stacks, 4, at), 0);
	cr_assert_eq(at[0], (6 + 13) * 8);
	cr_assert_eq(at[1], (6 + 13 + 3) * 8);
	cr_assert_eq(skeletons_key_places(&kernel, (const void *)stacks, 0, at), -ENOENT);
	memset(stacks, 0, sizeof(stacks));
	cr_assert_eq(skeletons_key_places(&kernel, (const void *)stacks, 4, at), -ENOENT);
}
