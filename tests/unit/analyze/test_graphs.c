/* SPDX-License-Identifier: (LGPL-2.1 OR BSD-2-Clause) */
/* Knots against reachability by all paths, chains and deadlocks against walks by hand. */
#include <criterion/criterion.h>
#include <stdlib.h>
#include <string.h>

#include "rig.h"

enum { NODES = 9 };

/* reach[i][k]: there is a way from i to k, by Warshall. */
static void reach_make(const struct analyze_edge *edges, size_t n, uint64_t min, bool reach[NODES][NODES])
{
	memset(reach, 0, NODES * sizeof(reach[0]));
	for (size_t i = 0; i < n; i++) {
		if (edges[i].ns >= min)
			reach[edges[i].from][edges[i].to] = true;
	}
	for (int k = 0; k < NODES; k++) {
		for (int i = 0; i < NODES; i++) {
			for (int j = 0; j < NODES; j++)
				reach[i][j] |= reach[i][k] && reach[k][j];
		}
	}
}

static bool together(bool reach[NODES][NODES], uint32_t a, uint32_t b)
{
	return a == b || (reach[a][b] && reach[b][a]);
}

static void knots_check(const struct analyze_edge *edges, size_t n, uint64_t min, const struct analyze_knots *k)
{
	bool reach[NODES][NODES], counted[NODES] = { false };
	size_t knots = 0;

	reach_make(edges, n, min, reach);
	for (uint32_t i = 0; i < NODES; i++) {
		uint64_t inside = 0, for_it = 0;
		bool leaves = false;
		size_t members = 0;

		for (uint32_t j = 0; j < NODES; j++)
			cr_assert((k->of_node[i] == k->of_node[j]) == together(reach, i, j));
		if (counted[i])
			continue;
		for (uint32_t j = 0; j < NODES; j++) {
			members += together(reach, i, j);
			counted[j] |= together(reach, i, j);
		}
		for (size_t e = 0; e < n; e++) {
			bool from = together(reach, i, edges[e].from), to = together(reach, i, edges[e].to);

			if (edges[e].ns < min)
				continue;
			inside += from && to ? edges[e].ns : 0;
			for_it += !from && to ? edges[e].ns : 0;
			leaves |= from && !to;
		}
		if (leaves || !(inside + for_it))
			continue;
		knots++;
		for (size_t j = 0; j < k->n; j++) {
			if (k->list[j].component == k->of_node[i])
				cr_assert(k->list[j].node_n == members && k->list[j].inside_ns == inside &&
					  k->list[j].for_it_ns == for_it);
		}
	}
	cr_assert(k->n == knots, "%zu knots, by hand %zu", k->n, knots);
}

Test(knots, are_components_without_a_way_out)
{
	for (uint64_t seed = 1; seed <= 500; seed++) {
		struct rig r = { .seed = seed };
		struct analyze_edge edges[24];
		struct analyze_knots k;
		size_t n = rig_random(&r, 24);

		for (size_t i = 0; i < n; i++)
			edges[i] = (struct analyze_edge){ rig_random(&r, NODES), rig_random(&r, NODES),
							  1 + rig_random(&r, 10) };
		cr_assert(analyze_knots(edges, n, NODES, seed % 5, &k) == 0);
		knots_check(edges, n, seed % 5, &k);
		for (size_t i = 1; i < k.n; i++)
			cr_assert(k.list[i - 1].inside_ns + k.list[i - 1].for_it_ns >=
				  k.list[i].inside_ns + k.list[i].for_it_ns);
		analyze_knots_done(&k);
	}
}

Test(knots, a_chain_of_a_hundred_thousand_is_no_deep_recursion)
{
	enum { N = 100000 };
	struct analyze_edge *edges = calloc(N, sizeof(*edges));
	struct analyze_knots k;

	for (uint32_t i = 0; i < N; i++)
		edges[i] = (struct analyze_edge){ i, (i + 1) % N, 1 };
	cr_assert(analyze_knots(edges, N, N, 0, &k) == 0);
	cr_assert(k.n == 1 && k.list[0].node_n == N && k.list[0].inside_ns == N);
	analyze_knots_done(&k);
	free(edges);
}

struct wait_spec {
	uint32_t thread, owner, age;
	const char *kind, *name;
};

static void waits_make(struct model *m, size_t thread_n, const struct wait_spec *specs, size_t n)
{
	uint32_t i;

	m->end_ns = 1000;
	for (uint32_t k = 1; k <= thread_n; k++) {
		cr_assert(model_thread_add(m, &i) == 0);
		m->threads[i] = (struct model_thread){ .pid = 7, .tid = 100 + k, .end_ns = 1000 };
	}
	for (size_t k = 0; k < n; k++) {
		struct model_wait_words words = { .owner_tid = specs[k].owner ? 100 + specs[k].owner : 0 };
		struct model_wait w = { .thread = specs[k].thread, .start_ns = 1000 - specs[k].age, .end_ns = 1000,
					.blocked_ns = specs[k].age, .wake_ns = -1, .clipped = CLIPPED_AFTER };

		cr_assert(model_row_add(m, &i) == 0);
		m->rows[i] = (struct model_row){ .reason = REASON_LOCK,
						 .kind_id = rig_string(m, specs[k].kind),
						 .syscall = -1 };
		w.row = i;
		w.ident_id = rig_string(m, specs[k].name);
		cr_assert(model_wait_words_set(m, &w, &words) == 0 && model_wait_add(m, &i) == 0);
		m->waits[i] = w;
	}
}

Test(stuck, chains_end_at_a_root_and_circles_are_deadlocks)
{
	/* 1 -> 2 -> 3, which runs. 4 -> 5 -> 6 -> 4. 7 joins 4. 8 waits for nobody known. 9 has what it waits for. */
	static const struct wait_spec specs[] = {
		{ 1, 2, 90, "mutex", "a" }, { 2, 3, 80, "mutex", "b" },	  { 4, 5, 70, "mutex", "c" },
		{ 5, 6, 60, "mutex", "d" }, { 6, 4, 50, "mutex", "e" },	  { 7, 0, 40, "join", "tid:104" },
		{ 8, 0, 30, "pipe", "p" },  { 9, 9, 20, "mutex", "self" }, { 10, 77, 10, "mutex", "gone" },
	};
	static const struct analyze_stuck expected[] = {
		{ .wait = 1, .thread = 1, .holder = 2, .root = 3, .hops = 2 },
		{ .wait = 2, .thread = 2, .holder = 3, .root = 3, .hops = 1 },
		{ .wait = 3, .thread = 4, .holder = 5, .circle = 1 },
		{ .wait = 4, .thread = 5, .holder = 6, .circle = 1 },
		{ .wait = 5, .thread = 6, .holder = 4, .circle = 1 },
		{ .wait = 6, .thread = 7, .holder = 4, .leads_to_circle = 1, .root = 4, .root_wait = 3 },
		{ .wait = 7, .thread = 8 },
		{ .wait = 8, .thread = 9, .holder = 9, .circle = 2 },
		{ .wait = 9, .thread = 10 },
	};
	struct analyze_stuck *list;
	struct model *m;
	size_t n;

	cr_assert(model_new(&m) == 0);
	waits_make(m, 10, specs, sizeof(specs) / sizeof(specs[0]));
	cr_assert(analyze_stuck(m, NULL, &list, &n) == 0);
	cr_assert(n == sizeof(expected) / sizeof(expected[0]));
	for (size_t i = 0; i < n; i++)
		cr_assert(memcmp(&list[i], &expected[i], sizeof(list[i])) == 0, "entry %zu", i);
	free(list);
	model_free(m);
}

Test(stuck, a_filter_leaves_the_chain_whole)
{
	static const struct wait_spec specs[] = { { 1, 2, 90, "mutex", "a" }, { 2, 3, 80, "mutex", "b" } };
	struct analyze_filter f = { .tids = (const uint32_t[]){ 101 }, .tid_n = 1 };
	struct analyze_stuck *list;
	struct model *m;
	size_t n;

	cr_assert(model_new(&m) == 0);
	waits_make(m, 3, specs, 2);
	cr_assert(analyze_stuck(m, &f, &list, &n) == 0);
	cr_assert(n == 1 && list[0].thread == 1 && list[0].root == 3);
	free(list);
	model_free(m);
}

/* ---- chains ---- */

static void chain_wait(struct model *m, uint32_t thread, uint32_t row, int64_t from, int64_t to, uint32_t waker,
		       uint8_t ctx)
{
	uint32_t i;

	cr_assert(model_wait_add(m, &i) == 0);
	m->waits[i] = (struct model_wait){ .thread = thread,
					   .row = row,
					   .start_ns = from,
					   .end_ns = to,
					   .blocked_ns = to - from,
					   .wake_ns = to,
					   .waker = waker,
					   .ctx = ctx,
					   .ident_id = rig_string(m, "/log") };
}

/*
 * c waits for a lock 100..200, woken by b, which waits 110..190 for another, woken by a, which is in fsync 100..180.
 * Twice, the second time ten times as long. d waits 100..200 for b, too, but b only waited a fifth of d's second wait.
 */
Test(chains, lead_to_the_root)
{
	static const char *const names[] = { "a", "b", "c", "d" };
	struct analyze_actors actors;
	struct analyze_chain *list;
	struct model *m;
	uint32_t i, lock, fsync;
	size_t n;

	cr_assert(model_new(&m) == 0);
	m->end_ns = 10000;
	for (int k = 0; k < 4; k++) {
		cr_assert(model_thread_add(m, &i) == 0);
		m->threads[i] = (struct model_thread){
			.pid = 1, .tid = i, .comm_id = rig_string(m, names[k]), .end_ns = 10000
		};
	}
	cr_assert(model_row_add(m, &lock) == 0 && model_row_add(m, &fsync) == 0);
	m->rows[lock] = (struct model_row){ .reason = REASON_LOCK, .kind_id = rig_string(m, "mutex"), .syscall = -1 };
	m->rows[fsync] = (struct model_row){ .reason = REASON_IO, .kind_id = rig_string(m, "fsync"), .syscall = -1 };
	for (int64_t k = 1; k <= 10; k += 9) {
		chain_wait(m, 1, fsync, 1000 * k, 1000 * k + 80 * k - 1, 0, WAKER_DISK);
		chain_wait(m, 2, lock, 1000 * k + 10, 1000 * k + 90 * k - 1, 1, WAKER_TASK);
		chain_wait(m, 3, lock, 1000 * k, 1000 * k + 100 * k - 1, 2, WAKER_TASK);
	}
	m->end_ns = 20000;
	chain_wait(m, 2, lock, 5000, 5100, 1, WAKER_TASK);
	chain_wait(m, 4, lock, 4600, 5120, 2, WAKER_TASK);
	cr_assert(analyze_actors(m, &actors) == 0 && analyze_chains(m, NULL, &actors, &list, &n) == 0);
	cr_assert(n == 5, "%zu", n);
	/* c's two: 99 + 999. */
	cr_assert(list[0].count == 2 && list[0].ns == 99 + 999 && list[0].longest_ns == 999 && list[0].step_n == 3);
	cr_assert(list[0].root == ANALYZE_ROOT_DEVICE && list[0].root_ctx == WAKER_DISK);
	for (int k = 0; k < 3; k++)
		cr_assert(list[0].steps[k].actor == actors.of_thread[3 - k]);
	cr_assert(list[0].steps[0].reason == REASON_LOCK && list[0].steps[2].reason == REASON_IO);
	/* b's two behind a's, a's two, then d's, whose waker waited too little of it, and b's with nobody behind. */
	cr_assert(list[1].count == 2 && list[1].ns == 79 + 889 && list[1].step_n == 2);
	cr_assert(list[2].count == 2 && list[2].step_n == 1 && list[2].root == ANALYZE_ROOT_DEVICE);
	cr_assert(list[3].ns == 520 && list[3].step_n == 1 && list[3].root == ANALYZE_ROOT_RAN &&
		  list[3].root_actor == actors.of_thread[2]);
	cr_assert(list[4].ns == 100 && list[4].root == ANALYZE_ROOT_RAN);
	free(list);
	analyze_actors_done(&actors);
	model_free(m);
}

/* Whatever wakes whom: every blocked ns of every wait is in one chain, and walks end. */
Test(chains, hold_all_blocked_time)
{
	for (uint64_t seed = 1; seed <= 200; seed++) {
		struct analyze_actors actors;
		struct analyze_chain *list;
		uint64_t waits_ns = 0, chains_ns = 0;
		struct rig r;
		size_t n;

		rig_make(&r, seed, false);
		for (size_t i = 1; i < r.m->wait_n; i++) {
			struct model_wait *w = &r.m->waits[i];

			w->waker = rig_random(&r, RIG_THREADS + 1);
			waits_ns += w->row == r.cpu_row ? 0 : (uint64_t)w->blocked_ns;
		}
		cr_assert(analyze_actors(r.m, &actors) == 0 && analyze_chains(r.m, NULL, &actors, &list, &n) == 0);
		for (size_t i = 0; i < n; i++) {
			chains_ns += list[i].ns;
			cr_assert(list[i].step_n >= 1 && list[i].step_n <= ANALYZE_CHAIN_STEPS);
		}
		cr_assert(chains_ns == waits_ns);
		free(list);
		analyze_actors_done(&actors);
		rig_done(&r);
	}
}
