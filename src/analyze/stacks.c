/* SPDX-License-Identifier: (LGPL-2.1 OR BSD-2-Clause) */
/*
 * A stack of the recording belongs to one process and to exact addresses. A
 * build with thousands of compilers would have each stack thousands of times,
 * and two calls of one function in a loop body are one to the reader.
 */
#include "analyze/stacks.h"

#include <errno.h>
#include <stdlib.h>

#include "util/cleanup.h"
#include "util/map.h"

static uint64_t mix(uint64_t h, uint64_t v)
{
	h = (h ^ v) * UINT64_C(0x9e3779b97f4a7c15);
	return h ^ h >> 32;
}

/* Two modules are one file when their paths are; every process has its own. */
static uint32_t frame_path(const struct model *m, const struct model_frame *f)
{
	return f->module < m->module_n ? m->modules[f->module].path_id : 0;
}

static bool frame_same(const struct model *m, const struct model_frame *a, const struct model_frame *b)
{
	if (a->name_id || b->name_id)
		return a->name_id == b->name_id;
	return a->address == b->address && frame_path(m, a) == frame_path(m, b);
}

static uint64_t stack_hash(const struct model *m, const struct model_stack *s)
{
	uint64_t h = s->side;

	for (uint32_t i = 0; i < s->frame_n; i++) {
		const struct model_frame *f = &s->frames[i];

		h = mix(h, f->name_id ? f->name_id : mix(f->address, frame_path(m, f)));
	}
	return h;
}

static bool stack_same(const struct model *m, const struct model_stack *a, const struct model_stack *b)
{
	if (a->side != b->side || a->frame_n != b->frame_n)
		return false;
	for (uint32_t i = 0; i < a->frame_n; i++) {
		if (!frame_same(m, &a->frames[i], &b->frames[i]))
			return false;
	}
	return true;
}

int stacks_fold(const struct model *m, uint32_t **ret)
{
	_cleanup_(map_freep) struct map *firsts = NULL;
	_cleanup_(freep) uint32_t *folded = calloc(m->stack_n, sizeof(*folded));

	if (!folded || map_new(&firsts) < 0)
		return -ENOMEM;
	for (size_t i = 1; i < m->stack_n; i++) {
		uint64_t hash = stack_hash(m, &m->stacks[i]), first;

		if (!m->stacks[i].frame_n)
			continue;
		/* Another stack under this hash: the next number is as good as any. */
		while (map_get(firsts, hash, &first) && !stack_same(m, &m->stacks[first], &m->stacks[i]))
			hash++;
		if (!map_get(firsts, hash, &first)) {
			first = i;
			if (map_put(firsts, hash, i) < 0)
				return -ENOMEM;
		}
		folded[i] = (uint32_t)first;
	}
	*ret = TAKE_PTR(folded);
	return 0;
}
