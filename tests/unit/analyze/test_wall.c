/* SPDX-License-Identifier: (LGPL-2.1 OR BSD-2-Clause) */
/* Lifetimes in pieces: by hand, and by what must hold of any model. */
#include <criterion/criterion.h>
#include <inttypes.h>
#include <stdlib.h>

#include "analyze/analyze.h"

static uint32_t add_thread(struct model *m, struct model_thread t)
{
	uint32_t i;

	cr_assert(model_thread_add(m, &i) == 0);
	m->threads[i] = t;
	return i;
}

static void add_row(struct model *m, uint32_t thread, uint32_t stack, uint64_t blocked_ns, uint64_t runnable_ns)
{
	uint32_t i;

	cr_assert(model_row_add(m, &i) == 0);
	m->rows[i] = (struct model_row){ .thread = thread, .kstack = stack, .count = 1, .blocked_ns = blocked_ns,
					 .runnable_ns = runnable_ns };
}

static void add_sample(struct model *m, uint32_t thread, uint32_t stack, uint64_t count)
{
	uint32_t i;

	cr_assert(model_sample_add(m, &i) == 0);
	m->samples[i] = (struct model_sample){ .thread = thread, .ustack = stack, .count = count };
}

static struct model *empty(void)
{
	struct model *m;

	cr_assert(model_new(&m) == 0);
	return m;
}

struct expected {
	uint32_t thread;
	enum analyze_state state;
	uint64_t ns, count;
	uint32_t kstack, ustack;
};

static void wall_is(const struct model *m, const struct expected *x, size_t n)
{
	_cleanup_(freep) struct analyze_piece *pieces = NULL;
	size_t piece_n;

	cr_assert(analyze_wall(m, &pieces, &piece_n) == 0);
	cr_assert_eq(piece_n, n, "%zu pieces", piece_n);
	for (size_t i = 0; i < n; i++) {
		const struct analyze_piece *p = &pieces[i];

		cr_expect(p->thread == x[i].thread && p->state == x[i].state && p->ns == x[i].ns && p->count == x[i].count &&
			  p->kstack == x[i].kstack && p->ustack == x[i].ustack,
			  "piece %zu: thread %u state %u %" PRIu64 " ns, count %" PRIu64, i, p->thread, p->state, p->ns,
			  p->count);
	}
}
#define WALL_IS(m, ...) \
	wall_is(m, (const struct expected[]){ __VA_ARGS__ }, sizeof((const struct expected[]){ __VA_ARGS__ }) / \
		sizeof(struct expected))

Test(wall, a_thread_closes)
{
	_cleanup_(model_freep) struct model *m = empty();
	uint32_t t = add_thread(m, (struct model_thread){ .begin_ns = 100, .end_ns = 1100, .oncpu_ns = 301, .runnable_ns = 60,
							   .blocked_ns = 619, .lost_ns = 20, .lost_n = 2, .has_totals = true });

	add_row(m, t, 5, 400, 10);
	add_row(m, t, 6, 219, 0);
	add_row(m, t, 7, 0, 50);
	add_sample(m, t, 8, 2);
	add_sample(m, t, 9, 1);
	WALL_IS(m, { t, ANALYZE_BLOCKED, 400, 1, 5, 0 }, { t, ANALYZE_BLOCKED, 219, 1, 6, 0 },
		{ t, ANALYZE_ONCPU, 200, 2, 0, 8 }, { t, ANALYZE_ONCPU, 101, 1, 0, 9 },
		{ t, ANALYZE_RUNNABLE, 50, 1, 7, 0 }, { t, ANALYZE_LOST, 20, 2, 0, 0 },
		{ t, ANALYZE_RUNNABLE, 10, 1, 5, 0 });
}

/* What --only left out is neither lost nor shorter than --min. */
Test(wall, what_was_left_out)
{
	_cleanup_(model_freep) struct model *m = empty();
	uint32_t t = add_thread(m, (struct model_thread){ .end_ns = 100, .oncpu_ns = 10, .blocked_ns = 80, .runnable_ns = 10,
							  .left_out_ns = 55, .below_min_n = 1, .has_totals = true });

	add_row(m, t, 1, 31, 0);
	WALL_IS(m, { t, ANALYZE_LEFT_OUT, 55, 0, 0, 0 }, { t, ANALYZE_BLOCKED, 31, 1, 1, 0 },
		{ t, ANALYZE_ONCPU_UNSAMPLED, 10, 0, 0, 0 }, { t, ANALYZE_BELOW_MIN, 4, 1, 0, 0 });
}

Test(wall, what_is_not_known_has_a_name)
{
	_cleanup_(model_freep) struct model *m = empty();
	uint32_t brief = add_thread(m, (struct model_thread){ .end_ns = 100, .oncpu_ns = 70, .blocked_ns = 20, .runnable_ns = 10,
							      .below_min_n = 3, .has_totals = true });
	uint32_t strange = add_thread(m, (struct model_thread){ .end_ns = 100, .oncpu_ns = 40, .blocked_ns = 35,
								.has_totals = true });
	uint32_t unended = add_thread(m, (struct model_thread){ .end_ns = 100 });
	uint32_t backward = add_thread(m, (struct model_thread){ .begin_ns = 50, .end_ns = 20, .oncpu_ns = 10, .has_totals = true });

	add_row(m, strange, 1, 30, 0);
	add_row(m, unended, 2, 25, 5);
	add_sample(m, unended, 3, 7);
	add_sample(m, backward, 3, 7);
	WALL_IS(m, { brief, ANALYZE_ONCPU_UNSAMPLED, 70, 0, 0, 0 }, { brief, ANALYZE_BELOW_MIN, 30, 3, 0, 0 },
		{ strange, ANALYZE_ONCPU_UNSAMPLED, 40, 0, 0, 0 }, { strange, ANALYZE_BLOCKED, 30, 1, 1, 0 },
		{ strange, ANALYZE_UNACCOUNTED, 25, 0, 0, 0 }, { strange, ANALYZE_LOST, 5, 0, 0, 0 },
		{ unended, ANALYZE_UNACCOUNTED, 70, 0, 0, 0 }, { unended, ANALYZE_BLOCKED, 25, 1, 2, 0 },
		{ unended, ANALYZE_RUNNABLE, 5, 1, 2, 0 });
}

/* More than there was, by clocks that differ: cut, the time on the CPU first. */
Test(wall, never_more_than_the_lifetime)
{
	_cleanup_(model_freep) struct model *m = empty();
	uint32_t t = add_thread(m, (struct model_thread){ .end_ns = 100, .oncpu_ns = 60, .blocked_ns = 55, .has_totals = true });
	uint32_t u = add_thread(m, (struct model_thread){ .end_ns = 100, .oncpu_ns = 60, .blocked_ns = 155, .has_totals = true });

	add_row(m, t, 1, 55, 0);
	add_sample(m, t, 2, 1);
	add_sample(m, t, 3, 2);
	add_row(m, u, 1, 155, 0);
	WALL_IS(m, { t, ANALYZE_BLOCKED, 55, 1, 1, 0 }, { t, ANALYZE_ONCPU, 30, 2, 0, 3 }, { t, ANALYZE_ONCPU, 15, 1, 0, 2 },
		{ u, ANALYZE_BLOCKED, 100, 1, 1, 0 });
}

static uint64_t random_ns(unsigned *seed, uint64_t max)
{
	return ((uint64_t)rand_r(seed) << 31 | (uint64_t)rand_r(seed)) % (max + 1);
}

/* Any model, also one that contradicts itself; sums that reach the size of days. */
Test(wall, sums_of_any_model)
{
	unsigned seed = 7;

	for (int round = 0; round < 300; round++) {
		_cleanup_(model_freep) struct model *m = empty();
		_cleanup_(freep) struct analyze_piece *pieces = NULL;
		uint64_t max_ns = round % 3 ? 1000 : 100000000000000ull, sums[8] = { 0 }, oncpu[8] = { 0 }, count[8] = { 0 };
		bool honest = round % 2;
		size_t n;

		for (int t = 1; t < 8; t++) {
			struct model_thread x = { .has_totals = honest || rand_r(&seed) % 4, .oncpu_ns = random_ns(&seed, max_ns),
						  .lost_ns = random_ns(&seed, max_ns), .below_min_n = rand_r(&seed) % 2,
						  .begin_ns = (int64_t)random_ns(&seed, max_ns) };
			uint64_t blocked_ns = 0, runnable_ns = 0;

			for (int i = rand_r(&seed) % 5; i > 0; i--) {
				uint64_t b = random_ns(&seed, max_ns), r = random_ns(&seed, max_ns);

				add_row(m, (uint32_t)t, 0, b, r);
				blocked_ns += b;
				runnable_ns += r;
			}
			for (int i = rand_r(&seed) % 5; i > 0; i--) {
				add_sample(m, (uint32_t)t, (uint32_t)i, 1 + random_ns(&seed, 1000000));
				count[t] += m->samples[m->sample_n - 1].count;
			}
			x.blocked_ns = blocked_ns + random_ns(&seed, max_ns);
			x.runnable_ns = runnable_ns + random_ns(&seed, max_ns);
			x.end_ns = x.begin_ns + (int64_t)(x.oncpu_ns + x.lost_ns + x.blocked_ns + x.runnable_ns);
			if (!honest)
				x.end_ns = (int64_t)random_ns(&seed, 5 * max_ns);
			add_thread(m, x);
		}
		cr_assert(analyze_wall(m, &pieces, &n) == 0);
		for (size_t i = 0; i < n; i++) {
			const struct analyze_piece *p = &pieces[i];
			const struct model_thread *t = &m->threads[p->thread];

			cr_assert(p->ns > 0 && (i == 0 || p->thread >= pieces[i - 1].thread));
			sums[p->thread] += p->ns;
			if (p->state == ANALYZE_ONCPU || p->state == ANALYZE_ONCPU_UNSAMPLED)
				oncpu[p->thread] += p->ns;
			cr_assert(!honest || p->state != ANALYZE_UNACCOUNTED);
			if (honest && p->state == ANALYZE_ONCPU) {
				double share = (double)t->oncpu_ns * (double)p->count / (double)count[p->thread];
				double slack = 1 + share * 1e-12;

				cr_assert((double)p->ns >= share - slack && (double)p->ns <= share + slack);
			}
		}
		for (int t = 1; t < 8; t++) {
			const struct model_thread *x = &m->threads[t];
			uint64_t life_ns = x->end_ns > x->begin_ns ? (uint64_t)(x->end_ns - x->begin_ns) : 0;

			cr_assert_eq(sums[t], life_ns, "round %d thread %d: %" PRIu64 " of %" PRIu64, round, t, sums[t], life_ns);
			cr_assert(!honest || oncpu[t] == x->oncpu_ns);
		}
	}
}
