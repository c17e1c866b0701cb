/* SPDX-License-Identifier: (LGPL-2.1 OR BSD-2-Clause) */
/*
 * A function that ends in a jump to another has not ended: glibc's
 * pthread_mutex_lock waits in one that it jumps to. The other one leaves with
 * the caller's frame, so its exits are exits of the first, told by the frame
 * from those of its other callers. The first ends at the jump where the other is
 * a choke point itself, for its frame then is the other's; and where the other is
 * no part of it but a function for all, whose every call would be probed: one that
 * is visible outside its source file, as LWLockRelease at the end of XLogFlush.
 */
#include <errno.h>
#include <string.h>

#include "probe/plan.h"
#include "util/vec.h"

#define LEVELS_MAX 4
#define FOLLOWED_MAX 16

struct following {
	struct planning *p;
	const struct tail *tail;
	uint64_t functions[FOLLOWED_MAX]; /* that its exits were taken of */
	size_t function_n;
	/* What will be added if all goes well. */
	struct probe_site *sites; /* owned */
	size_t n, cap;
};

static bool is_choke_point(const struct planning *p, uint64_t function)
{
	for (size_t i = 0; i < p->plan->site_n; i++) {
		const struct probe_site *s = &p->plan->sites[i];

		if (s->function == function && (s->wire.kind == WCBPF_SITE_ENTRY || s->wire.kind == WCBPF_SITE_MARK))
			return true;
	}
	return false;
}

static bool is_for_all(struct planning *p, uint64_t function)
{
	const struct objfile_names *names = p->file.o->go ? NULL : file_names(&p->file);
	const struct objfile_name *name;

	for (size_t i = 0; names && (name = objfile_names_at(names, function, i)); i++)
		if (!name->local)
			return true;
	return false;
}

/* The function that a jump leads to has yet to make the results. */
static void end_at_jump(struct probe_site *s)
{
	s->tail = true;
	for (size_t i = 0; i < s->wire.fetch_n; i++)
		s->wire.fetch[i] =
			(struct wcbpf_fetch){.from = WCBPF_FROM_NONE, .type = WCBPF_VALUE_UINT, .bytes = 8};
}

static int site_keep(struct following *f, const struct objfile_exit *e)
{
	if (VEC_RESERVE(f->sites, f->cap, f->n + 1) < 0)
		return -ENOMEM;
	f->sites[f->n] = plan_exit_site(&f->tail->site, e);
	if (e->tail)
		end_at_jump(&f->sites[f->n]);
	f->n++;
	return 0;
}

/* 1: its exits are kept, of further jumps those that can be followed. 0: they can't be had. -ENOMEM. */
static int follow(struct following *f, uint64_t target, unsigned int level)
{
	_cleanup_(objfile_scan_done) struct objfile_scan scan = {0};
	struct objfile_why why;
	int r;

	for (size_t i = 0; i < f->function_n; i++)
		if (f->functions[i] == target)
			return 1;
	if (!target || level == LEVELS_MAX || f->function_n == FOLLOWED_MAX || is_choke_point(f->p, target) ||
	    is_for_all(f->p, target))
		return 0;
	f->functions[f->function_n++] = target;
	r = objfile_code_scan(f->p->file.code, target, 0, 0, &scan, &why);
	if (r < 0 || !scan.exits_known)
		return r == -ENOMEM ? r : 0;
	for (size_t i = 0; i < scan.exit_n; i++) {
		r = scan.exits[i].tail ? follow(f, scan.exits[i].target, level + 1) : 0;
		if (r == 0)
			r = site_keep(f, &scan.exits[i]);
		if (r < 0)
			return r;
	}
	return 1;
}

static bool is_there(const struct planning *p, const struct probe_site *s)
{
	for (size_t i = 0; i < p->plan->site_n; i++)
		if (p->plan->sites[i].vaddr == s->vaddr && p->plan->sites[i].point == s->point)
			return true;
	return false;
}

static int followed_add(const struct following *f)
{
	for (size_t i = 0; i < f->n; i++) {
		int r = is_there(f->p, &f->sites[i]) ? 0 : plan_add_site(f->p, &f->sites[i]);

		if (r < 0)
			return r;
	}
	f->p->plan->points[f->tail->site.point].shared_exits = true;
	return 0;
}

static int jump_add(struct planning *p, const struct tail *t)
{
	const struct probe_point *point = &p->plan->points[t->site.point];
	struct probe_site s = t->site;
	int r;

	end_at_jump(&s);
	if (plan_entry_leaves(p, &s))
		return plan_note(p, PROBE_NOTE, point->place, s.symbol, "it only jumps to another function: of its calls the "
				 "number is known, not the time");
	r = plan_add_site(p, &s);
	if (r < 0 || (t->target && is_choke_point(p, t->target)))
		return r;
	return plan_note(p, PROBE_NOTE, point->place, s.symbol,
			 "it ends where it jumps to another function, at %#llx: %s%s", (unsigned long long)s.vaddr,
			 t->target && is_for_all(p, t->target) ? "that one is called by others too" :
								 "the exits of that one can't be found",
			 s.wire.fetch_n ? "; there its results aren't known" : "");
}

int tails_plan(struct planning *p)
{
	int r = 0;

	for (size_t i = 0; r == 0 && i < p->tail_n; i++) {
		_cleanup_(freep) struct probe_site *sites = NULL;
		struct following f = {.p = p, .tail = &p->tails[i]};

		r = follow(&f, p->tails[i].target, 0);
		sites = f.sites;
		if (r >= 0)
			r = r ? followed_add(&f) : jump_add(p, &p->tails[i]);
	}
	return r;
}
