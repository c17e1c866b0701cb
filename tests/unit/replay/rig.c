/* SPDX-License-Identifier: (LGPL-2.1 OR BSD-2-Clause) */
#include "rig.h"

#include <criterion/criterion.h>
#include <stdlib.h>

void rig_start(struct rig *x, const struct world *w)
{
	*x = (struct rig){ .w = *w };
	if (!x->w.slice_ns)
		x->w.slice_ns = MS;
	x->makespan_ns = world_run(&x->w, &x->m);
	cr_assert(replay_new(x->m, NULL, &x->r) == 0);
}

void rig_stop(struct rig *x)
{
	replay_free(x->r);
	model_free(x->m);
	world_done(&x->w);
}

struct replay_outcome rig_ask(const struct rig *x, char function, double factor)
{
	char name[2] = { function, 0 };
	struct replay_change c = { .what = REPLAY_TIME, .factor = factor };
	struct replay_scenario s = { .changes = &c, .n = 1 };
	struct replay_outcome o;
	size_t class;

	cr_assert(replay_class_find(x->r, REPLAY_CLASS_FUNCTION, name, &class), "no class for function %s", name);
	c.class = (uint32_t)class;
	cr_assert(replay_evaluate(x->r, &s, 1, REPLAY_E1 | REPLAY_E2 | REPLAY_WCPROF, &o) == 0);
	return o;
}

int64_t rig_truth(const struct rig *x, char function, double factor)
{
	struct world w = world_scaled(&x->w, (uint8_t)function, factor);
	int64_t ns = world_run(&w, NULL);

	world_done(&w);
	return ns;
}

int64_t rig_pick(unsigned *seed, int64_t low, int64_t high)
{
	return low + ((int64_t)rand_r(seed) << 16 ^ rand_r(seed)) % (high - low + 1);
}
