/* SPDX-License-Identifier: (LGPL-2.1 OR BSD-2-Clause) */
/*
 * What is read belongs to the program that the process ran at that moment. Which
 * one that was is known only when the events of that moment have come: so it is
 * kept for some rounds. The next round reads all events of that time, the round
 * after that hands them out (rings.c).
 */
#include "capture/reread.h"

#include <errno.h>

#include "util/cleanup.h"
#include "util/log.h"
#include "util/vec.h"

#define ROUNDS 3 /* the round under way counts, and it may have read its events already */

struct read {
	struct proc_reading *reading;
	struct proc_amendment times; /* without told_ns */
	uint32_t pid, rounds;
	bool is_exec;
};

struct reread {
	struct proc_maps *maps;
	uint64_t (*clock)(void *arg);
	void (*amended)(void *arg, uint32_t pid);
	void *arg;
	struct read *reads; /* oldest first */
	size_t n, cap, gone_n;
	uint64_t lost_n;
	bool at_once;
};

int reread_new(struct proc_maps *maps, uint64_t (*clock)(void *arg), void (*amended)(void *arg, uint32_t pid),
	       void *arg, struct reread **ret)
{
	struct reread *r = calloc(1, sizeof(*r));

	if (!r)
		return -ENOMEM;
	r->maps = maps;
	r->clock = clock;
	r->amended = amended;
	r->arg = arg;
	*ret = r;
	return 0;
}

struct reread *reread_free(struct reread *r)
{
	if (!r)
		return NULL;
	for (size_t i = 0; i < r->n; i++)
		proc_reading_free(r->reads[i].reading);
	free(r->reads);
	free(r);
	return NULL;
}

static void failed(struct reread *r, const struct read *read, int err)
{
	log_debug("the maps of process %u could not be read again: error %d", read->pid, -err);
	if (read->is_exec)
		r->lost_n++;
	else if (err != -ESTALE) /* else its exec told all about what it has now */
		r->gone_n++;
}

static void apply(struct reread *r, struct read *read)
{
	bool changed = false;
	int err;

	read->times.told_ns = r->clock(r->arg);
	err = proc_maps_amend(r->maps, read->reading, &read->times, &changed);
	read->reading = proc_reading_free(read->reading);
	if (err)
		failed(r, read, err);
	else if (changed)
		r->amended(r->arg, read->pid);
}

int reread_process(struct reread *r, uint32_t pid, uint64_t from_ns, bool is_exec)
{
	struct read read = { .pid = pid, .is_exec = is_exec, .rounds = ROUNDS, .times.from_ns = from_ns };
	int err;

	if (VEC_RESERVE(r->reads, r->cap, r->n + 1) < 0)
		return -ENOMEM;
	read.times.read_ns = r->clock(r->arg);
	err = proc_maps_read(r->maps, pid, &read.reading);
	read.times.read_over_ns = r->clock(r->arg);
	if (err == -ENOMEM)
		return err;
	if (err)
		failed(r, &read, err);
	else if (r->at_once)
		apply(r, &read);
	else
		r->reads[r->n++] = read;
	return 0;
}

bool reread_pending(const struct reread *r, uint32_t pid)
{
	for (size_t i = 0; i < r->n; i++)
		if (r->reads[i].pid == pid)
			return true;
	return false;
}

size_t reread_n(const struct reread *r)
{
	return r->n;
}

/* Of each that waits one round less, or none. */
static void rounds_pass(struct reread *r, bool all)
{
	size_t kept = 0;

	for (size_t i = 0; i < r->n; i++) {
		struct read *read = &r->reads[i];

		if (--read->rounds && !all)
			r->reads[kept++] = *read;
		else
			apply(r, read);
	}
	r->n = kept;
}

void reread_round(struct reread *r)
{
	rounds_pass(r, false);
}

void reread_finish(struct reread *r)
{
	rounds_pass(r, true);
	r->at_once = true;
}

uint64_t reread_lost(const struct reread *r)
{
	return r->lost_n;
}

size_t reread_gone(const struct reread *r)
{
	return r->gone_n;
}
