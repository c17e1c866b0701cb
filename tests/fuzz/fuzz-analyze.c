/* SPDX-License-Identifier: (LGPL-2.1 OR BSD-2-Clause) */
/* What report does with a dump that its reader lets pass: the engines, and each analysis once. */
#include <stdlib.h>

#include "analyze/analyze.h"
#include "dump/dump.h"
#include "input.h"
#include "replay/replay.h"

static void replay_ask(const struct model *m)
{
	struct replay_savings_options o = { .e2_top = 3, .wcprof = true };
	struct replay_stretch *path = NULL;
	struct replay_saving *savings = NULL;
	struct replay_blame *blames = NULL;
	struct replay_lock *locks = NULL;
	struct replay_runqueue *queues = NULL;
	struct replay *r = NULL;
	int64_t *slacks = NULL;
	size_t n;

	if (replay_new(m, NULL, &r) < 0)
		return;
	if (replay_path(r, &path, &n) == 0)
		free(path);
	if (replay_savings(r, &o, &savings, &n) == 0)
		free(savings);
	if (replay_blames(r, &blames, &n) == 0)
		free(blames);
	if (replay_locks(r, &locks, &n) == 0)
		replay_locks_free(locks, n);
	if (replay_runqueues(r, &queues, &n) == 0)
		free(queues);
	if (replay_op_slacks(r, &slacks) == 0)
		free(slacks);
	replay_free(r);
}

static void tables_ask(struct model *m)
{
	for (int by = ANALYZE_BY_RESOURCE; by <= ANALYZE_BY_KIND; by++) {
		struct analyze_table t = { 0 };

		if (analyze_group(m, (enum analyze_by)by, &t) == 0)
			analyze_table_done(&t);
	}
	for (int view = ANALYZE_FRAMES_LIBRARY; view < ANALYZE_FRAMES_BELOW; view++) {
		struct analyze_frames f = { 0 };

		if (analyze_frames(m, &(struct analyze_frames_options){ .view = (enum analyze_frames_view)view }, &f) == 0)
			analyze_frames_done(&f);
	}
}

static void waits_ask(const struct model *m)
{
	struct analyze_function *functions = NULL;
	struct analyze_chain *chains = NULL;
	struct analyze_queues queues = { 0 };
	struct analyze_actors actors = { 0 };
	struct analyze_stuck *stuck = NULL;
	struct analyze_states states;
	struct analyze_health health;
	struct analyze_dead *dead = NULL;
	size_t n;

	analyze_health(m, &health);
	if (analyze_states(m, NULL, &states) < 0 || analyze_actors(m, &actors) < 0)
		return;
	if (analyze_chains(m, NULL, &actors, &chains, &n) == 0)
		free(chains);
	if (analyze_queues(m, NULL, &actors, &queues) == 0)
		analyze_queues_done(&queues);
	if (analyze_stuck(m, NULL, &stuck, &n) == 0)
		free(stuck);
	if (analyze_dead_air(m, NULL, &dead, &n) == 0)
		free(dead);
	if (analyze_functions(m, NULL, &functions, &n) == 0)
		free(functions);
	analyze_actors_done(&actors);
}

static void ops_ask(const struct model *m)
{
	struct analyze_child *children = NULL;
	struct analyze_client *clients = NULL;
	struct analyze_class *classes = NULL;
	size_t n;

	if (analyze_children(m, NULL, &children, &n) == 0)
		free(children);
	if (analyze_clients(m, NULL, &clients, &n) == 0)
		free(clients);
	if (analyze_classes(m, NULL, &classes, &n) == 0) {
		for (size_t i = 0; i < n && i < 3; i++) {
			struct analyze_tail tail = { 0 };

			if (analyze_tail(m, NULL, classes[i].kind, classes[i].class_id, &tail) == 0)
				analyze_tail_done(&tail);
		}
		free(classes);
	}
	for (uint32_t i = 1; i < m->op_n && i < 4; i++) {
		struct analyze_subtree t = { 0 };

		if (analyze_subtree(m, i, &t) == 0)
			analyze_subtree_done(&t);
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
	struct dump_problem problem = { 0 };
	struct dump_facts facts = { 0 };
	struct model *m = NULL;
	struct input x;

	input_init(&x, data, n);
	if (dump_read_merged(x.paths, x.n, &m, &facts, &problem) == 0) {
		replay_ask(m);
		tables_ask(m);
		waits_ask(m);
		ops_ask(m);
		if (analyze_window(m, m->end_ns / 4, m->end_ns / 2) == 0)
			replay_ask(m);
		model_free(m);
		dump_facts_done(&facts);
	}
	input_done(&x);
	return 0;
}
