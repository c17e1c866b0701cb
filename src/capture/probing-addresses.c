/* SPDX-License-Identifier: (LGPL-2.1 OR BSD-2-Clause) */
/*
 * Kernels before 5.15 give the programs of probes no cookie: what they know is
 * the process and the address. So these are told to them, for each process, and
 * again whenever it has mapped something.
 */
#include <bpf/bpf.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "capture/probing-state.h"
#include "proc/proc.h"
#include "util/cleanup.h"
#include "util/vec.h"

struct placing {
	const struct probed_process *process;
	struct place *v;
	size_t n, cap;
	int err;
};

/* The addresses of a file's sites that one of its mappings shows. */
static int mapping_place(void *arg, const struct proc_mapping *map)
{
	struct placing *g = arg;

	for (size_t k = 0; k < g->process->n && map->file; k++) {
		const struct probed_file *file = g->process->v[k].file;

		for (size_t i = 0; file->source == map->file && i < file->plan->site_n; i++) {
			uint64_t offset = file->plan->sites[i].file_offset;

			if (file->off[i] || offset < map->pgoff || offset - map->pgoff >= map->end - map->start)
				continue;
			if (VEC_RESERVE(g->v, g->cap, g->n + 1))
				return g->err = -ENOMEM;
			g->v[g->n++] = (struct place){ .address = map->start + offset - map->pgoff,
						       .at.site = { file->first_site + i } };
		}
	}
	return 0;
}

static int compare(const void *a, const void *b)
{
	const struct place *x = a, *y = b;

	if (x->address != y->address)
		return x->address < y->address ? -1 : 1;
	return x->at.site[0] < y->at.site[0] ? -1 : x->at.site[0] > y->at.site[0];
}

/* Sorted places, the sites of one address in one. False: some have too many. */
static bool places_unite(struct placing *g)
{
	size_t kept = 0, here = 0;
	bool all = true;

	for (size_t i = 0; i < g->n; i++) {
		if (!kept || g->v[kept - 1].address != g->v[i].address) {
			g->v[kept++] = g->v[i];
			here = 1;
		} else if (here < WCBPF_SITES_AT_MAX) {
			g->v[kept - 1].at.site[here++] = g->v[i].at.site[0];
		} else {
			all = false;
		}
	}
	g->n = kept;
	return all;
}

static void place_write(struct probing *p, const struct probed_process *process, const struct place *place, bool *full)
{
	struct wcbpf_address key = { .address = place->address, .tgid = process->pid };

	if (bpf_map_update_elem(p->fds.sites_at, &key, &place->at, BPF_ANY))
		*full = true;
}

static void place_delete(struct probing *p, const struct probed_process *process, const struct place *place)
{
	struct wcbpf_address key = { .address = place->address, .tgid = process->pid };

	bpf_map_delete_elem(p->fds.sites_at, &key);
}

static void full_tell(struct probing *p, bool full)
{
	if (full && !p->full_told)
		probing_tell(p, true, "more addresses to probe than there is room for: some are left out");
	p->full_told = p->full_told || full;
}

int addresses_refresh(struct probing *p, struct probed_process *process)
{
	struct placing g = { .process = process };
	bool full = false;
	int err;

	if (p->o.how != SITES_ADDRESS)
		return 0;
	err = proc_maps_each(p->o.maps, process->pid, UINT64_MAX - 1, mapping_place, &g);
	if (err == -ENOMEM) {
		free(g.v);
		return err;
	}
	if (g.n)
		qsort(g.v, g.n, sizeof(*g.v), compare);
	full = !places_unite(&g);
	for (size_t i = 0; i < g.n; i++)
		place_write(p, process, &g.v[i], &full);
	/* what is no more: both lists are sorted */
	for (size_t i = 0, k = 0; i < process->place_n; i++) {
		while (k < g.n && g.v[k].address < process->places[i].address)
			k++;
		if (k == g.n || g.v[k].address != process->places[i].address)
			place_delete(p, process, &process->places[i]);
	}
	free(process->places);
	process->places = g.v;
	process->place_n = g.n;
	full_tell(p, full);
	return 0;
}

void addresses_copy(struct probing *p, const struct probed_process *from, struct probed_process *to)
{
	bool full = false;

	if (p->o.how != SITES_ADDRESS || !from->place_n || to->place_n)
		return;
	to->places = calloc(from->place_n, sizeof(*to->places));
	if (!to->places)
		return; /* until they are refreshed */
	memcpy(to->places, from->places, from->place_n * sizeof(*to->places));
	to->place_n = from->place_n;
	for (size_t i = 0; i < to->place_n; i++)
		place_write(p, to, &to->places[i], &full);
	full_tell(p, full);
}

void addresses_forget(struct probing *p, struct probed_process *process)
{
	for (size_t i = 0; i < process->place_n; i++)
		place_delete(p, process, &process->places[i]);
	free(process->places);
	process->places = NULL;
	process->place_n = 0;
}
