/* SPDX-License-Identifier: (LGPL-2.1 OR BSD-2-Clause) */
/*
 * A fork event names the thread that forked. A seed names only the process
 * that waits for the child when recording begins: who started it or, when that
 * one has ended, a reaper. It may come before its parent's, and the parent may
 * be known by a later event alone or not be of the recording. So a seed only
 * reserves the link's place in the event cap, and at the end the link is tied
 * to that holder of the parent's pid which started when the seed says, or goes.
 */
#include "assemble/links.h"

#include <errno.h>

#include "assemble/hosts.h"
#include "assemble/strand.h"
#include "assemble/threads.h"

/* from: 0 if not known yet. The link's index goes to the process. 0, also if there is no place; -ENOMEM. */
static int link_make(struct assemble *a, uint32_t from, uint32_t process, uint64_t time_ns)
{
	struct model *m = a->m;
	uint32_t *link = &a->processes[process].link;
	int r = *link ? 0 : model_link_add(m, link);

	if (r < 0)
		return r == -ENOSPC ? 0 : r;
	m->links[*link] = (struct model_link){
		.kind = LINK_NESTED_CLIENT,
		.from = from,
		.to = m->processes[process].op,
		.ident_id = process, /* an index until its key is known: assemble.c */
		.start_ns = assemble_relative(a, time_ns),
		.end_ns = assemble_relative(a, time_ns),
	};
	return 0;
}

int assemble_link_fork(struct assemble *a, uint32_t parent_thread, uint32_t process, uint64_t time_ns)
{
	const struct strand *s = assemble_strand_working(a, parent_thread);
	struct place place = { .op = a->m->threads[parent_thread].op };
	uint32_t from;

	if (s)
		place = assemble_strand_place(a, s, 0);
	from = place.dropped ? 0 : place.op;
	a->processes[process].in_scope |= place.in_scope || a->processes[a->m->threads[parent_thread].process].in_scope;
	if (assemble_host_fork(a, process, from, time_ns) < 0)
		return -ENOMEM;

	a->processes[process].seed_parent_pid = 0;
	if (from && a->m->processes[process].op)
		return link_make(a, from, process, time_ns);
	a->m->integrity.dropped_events++;
	return 0;
}

/*
 * Who came no earlier is no parent: so no chain of links comes back to its
 * beginning. While a machine boots its clock may stand still; pids don't.
 */
static bool may_be_parent(const struct assemble_seed *seed)
{
	if (!seed->parent_pid || !seed->parent_start_time_ns)
		return false;
	if (seed->parent_start_time_ns != seed->start_time_ns)
		return seed->parent_start_time_ns < seed->start_time_ns;
	return seed->parent_pid < seed->pid;
}

int assemble_link_seed(struct assemble *a, uint32_t process, const struct assemble_seed *seed)
{
	struct process_state *s = &a->processes[process];
	uint64_t start_ns = a->m->processes[process].start_time_ns;

	if (!may_be_parent(seed) || seed->start_time_ns != start_ns || s->parent || s->seed_parent_pid)
		return 0;
	s->seed_parent_pid = seed->parent_pid;
	s->seed_parent_start_ns = seed->parent_start_time_ns;
	/* Nothing is dropped yet: the parent may not be of the recording. */
	if (!a->m->processes[process].op || !model_has_places(a->m, 1))
		return 0;
	return link_make(a, 0, process, seed->now_ns);
}

/* It leads to no op: who the client is shows by its ops. */
int assemble_link_nested(struct assemble *a, uint32_t op, uint32_t client_id, uint64_t time_ns)
{
	struct model *m = a->m;
	uint32_t link;
	int r = model_link_add(m, &link);

	if (r < 0)
		return r == -ENOSPC ? 0 : r;
	m->links[link] = (struct model_link){
		.kind = LINK_NESTED_CLIENT,
		.from = op,
		.ident_id = client_id,
		.start_ns = assemble_relative(a, time_ns),
		.end_ns = assemble_relative(a, time_ns),
	};
	return 0;
}

static int seed_tie(struct assemble *a, uint32_t process)
{
	struct process_state *s = &a->processes[process];
	uint32_t parent, from;

	if (!s->seed_parent_pid)
		return 0;
	parent = assemble_process_started(a, s->seed_parent_pid, s->seed_parent_start_ns);
	if (!parent)
		return 0;
	s->parent = parent;
	from = a->m->processes[parent].op;
	if (from && a->m->processes[process].op)
		return link_make(a, from, process, s->begin_ns);
	a->m->integrity.dropped_events++;
	return 0;
}

int assemble_links_settle(struct assemble *a)
{
	for (uint32_t i = 1; i < a->m->process_n; i++) {
		uint32_t parent_pid = a->processes[i].seed_parent_pid;

		if (!parent_pid || !assemble_process_started(a, parent_pid, a->processes[i].seed_parent_start_ns))
			continue;
		if (seed_tie(a, i) < 0)
			return -ENOMEM;
		a->processes[i].seed_parent_pid = 0;
	}
	return 0;
}

void assemble_links_flush(struct assemble *a, size_t n)
{
	struct model *m = a->m;
	size_t kept = 1;

	/* The ident of one that leads to a process is that process: so that one is told where it is now. */
	for (size_t i = 1; i < m->link_n; i++) {
		struct model_link link = m->links[i];
		uint32_t *place = link.to ? &a->processes[link.ident_id].link : NULL;
		bool stays = i >= n || !link.from;

		if (place && *place == i)
			*place = stays ? (uint32_t)kept : 0;
		if (stays)
			m->links[kept++] = link;
	}
	m->link_n = kept;
}

int assemble_links_finish(struct assemble *a)
{
	struct model *m = a->m;
	size_t kept = 1;

	for (uint32_t i = 1; i < m->process_n; i++) {
		if (seed_tie(a, i) < 0)
			return -ENOMEM;
	}
	/* Nothing refers to a link: those that led nowhere go. */
	for (size_t i = 1; i < m->link_n; i++) {
		if (m->links[i].from)
			m->links[kept++] = m->links[i];
	}
	m->link_n = kept;
	return 0;
}
