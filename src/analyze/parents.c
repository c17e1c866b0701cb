/* SPDX-License-Identifier: (LGPL-2.1 OR BSD-2-Clause) */
/*
 * A damaged or foreign dump may have circles of parents, by links too. Each op
 * is walked up once; a step that meets the walk's own track is the one that
 * closes a circle, and is cut.
 */
#include "analyze/parents.h"

#include <errno.h>
#include <stdlib.h>

#include "util/cleanup.h"
#include "util/map.h"

static int hosts_of_clients(const struct model *m, struct map **ret)
{
	_cleanup_(map_freep) struct map *hosts = NULL;

	if (map_new(&hosts) < 0)
		return -ENOMEM;
	for (size_t i = 1; i < m->link_n; i++) {
		const struct model_link *l = &m->links[i];

		/* Of several hosts the first. */
		if (l->kind == LINK_NESTED_CLIENT && l->from && l->ident_id && !map_get(hosts, l->ident_id, NULL) &&
		    map_put(hosts, l->ident_id, l->from) < 0)
			return -ENOMEM;
	}
	*ret = TAKE_PTR(hosts);
	return 0;
}

static void circles_cut(uint32_t *parents, uint32_t *track, size_t n)
{
	for (uint32_t i = 1; i < n; i++) {
		for (uint32_t at = i; at && !track[at]; at = parents[at]) {
			track[at] = i;
			if (track[parents[at]] == i)
				parents[at] = 0;
		}
	}
}

int parents_make(const struct model *m, uint32_t **ret)
{
	_cleanup_(map_freep) struct map *hosts = NULL;
	_cleanup_(freep) uint32_t *parents = calloc(m->op_n, sizeof(*parents));
	_cleanup_(freep) uint32_t *track = calloc(m->op_n, sizeof(*track));
	uint64_t host;

	if (!parents || !track || hosts_of_clients(m, &hosts) < 0)
		return -ENOMEM;
	for (size_t i = 1; i < m->op_n; i++) {
		const struct model_op *o = &m->ops[i];

		parents[i] = o->parent < m->op_n ? o->parent : 0;
		if (!parents[i] && o->client_id && map_get(hosts, o->client_id, &host))
			parents[i] = (uint32_t)host;
	}
	circles_cut(parents, track, m->op_n);
	*ret = TAKE_PTR(parents);
	return 0;
}
