/* SPDX-License-Identifier: (LGPL-2.1 OR BSD-2-Clause) */
/*
 * Static markers (USDT) have no frame of their own. Two that make an op or a
 * wait lie in one function as a rule, where the stack pointer is the same: the
 * address just above it stands for the frame. It is above the frames of all
 * that is called from there and below the function's own.
 */
#include <errno.h>
#include <string.h>

#include "probe/plan.h"
#include "probe/set.h"

#define REG_SP 7
#define ABOVE_SP 1

struct marking {
	struct planning *p;
	const struct definition *d;
	size_t index;
	const struct objfile_marker *all;
	size_t n;
};

static bool is_marker(const struct objfile_marker *m, const char *provider, const char *name)
{
	return !strcmp(m->provider, provider) && !strcmp(m->name, name);
}

static int site_add(const struct marking *mk, const struct objfile_marker *marker, enum wcbpf_site_kind kind,
		    uint32_t point, const struct wcbpf_fetch *fetch, uint8_t fetch_n)
{
	struct probe_site s = {.vaddr = marker->vaddr,
			       .ref_offset = marker->semaphore_offset,
			       .point = point,
			       .condition = OBJFILE_ALWAYS,
			       .text = "nop",
			       .step = OBJFILE_STEP_EMULATED};

	s.symbol = pool_printf(mk->p->plan->pool, "%s:%s", marker->provider, marker->name);
	if (!s.symbol)
		return -ENOMEM;
	s.wire.kind = (uint8_t)kind;
	s.wire.flags = mk->d->takes_stack && kind != WCBPF_SITE_EXIT ? WCBPF_SITE_STACK : 0;
	s.wire.cfa_reg = REG_SP;
	s.wire.cfa_off = ABOVE_SP;
	s.wire.fetch_n = fetch_n;
	memcpy(s.wire.fetch, fetch, fetch_n * sizeof(*fetch));
	return plan_add_site(mk->p, &s);
}

/* The same values of another marker of that name, whose places differ. */
static int end_add(const struct marking *mk, const struct binding *b, const struct meaning *m, uint32_t point)
{
	struct wcbpf_fetch fetch[WCBPF_FETCHES_MAX] = {0};

	for (size_t i = 0; i < mk->d->values.n; i++) {
		struct objfile_why why;
		struct bound v;
		int r = m->slots[i] < WCBPF_FETCHES_MAX ? -ENOENT : bind_value(b, &mk->d->values.v[i], &v, &why);

		if (r == -ENOMEM)
			return r;
		if (m->slots[i] >= WCBPF_FETCHES_MAX)
			fetch[m->slots[i] - WCBPF_FETCHES_MAX] =
				r == 0 && !v.constant ? v.fetch
						      : (struct wcbpf_fetch){.from = WCBPF_FROM_NONE,
									     .type = WCBPF_VALUE_UINT,
									     .bytes = 8};
	}
	return site_add(mk, b->end, WCBPF_SITE_EXIT, point, fetch, m->fetch_n[1]);
}

/* The function that a marker lies in; 0: not known. */
static uint64_t function_of(const struct marking *mk, const struct objfile_marker *marker)
{
	struct objfile_symbol symbol;

	return objfile_symbol(mk->p->file.o->file, marker->vaddr, &symbol) < 0 ? 0 : symbol.value;
}

/* Is it an end for what starts there? One in the same function is, others only if there is none. */
static bool is_end_for(const struct marking *mk, const struct objfile_marker *end, const struct objfile_marker *start)
{
	uint64_t function = function_of(mk, start);
	bool near = false;

	if (!is_marker(end, mk->d->end_provider, mk->d->end_marker))
		return false;
	for (size_t i = 0; function && i < mk->n; i++)
		near |= is_marker(&mk->all[i], mk->d->end_provider, mk->d->end_marker) &&
			function_of(mk, &mk->all[i]) == function;
	return !near || function_of(mk, end) == function;
}

static int marker_plan(const struct marking *mk, const struct objfile_marker *start)
{
	struct binding b = {.d = mk->d, .file = &mk->p->file, .marker = start, .pool = mk->p->plan->pool};
	struct meaning m;
	uint32_t point;
	int r;

	for (size_t i = 0; mk->d->end_provider && !b.end && i < mk->n; i++)
		b.end = is_end_for(mk, &mk->all[i], start) ? &mk->all[i] : NULL;
	if (mk->d->end_provider && !b.end) {
		plan_found(mk->p, mk->index, PROBE_REFUSED);
		return plan_note(mk->p, PROBE_CAVEAT, mk->d->place, start->name,
				 "not probed: the file has no marker %s:%s that "
				 "would end it",
				 mk->d->end_provider, mk->d->end_marker);
	}
	r = meaning_make(mk->p, &b, mk->d->place, &m);
	if (r <= 0) {
		plan_found(mk->p, mk->index, PROBE_REFUSED);
		return r;
	}
	m.point.definition = (uint32_t)mk->index;
	plan_found(mk->p, mk->index, PROBE_FOUND);
	r = plan_add_point(mk->p, &m.point, &point);
	if (r == 0)
		r = site_add(mk, start, b.end ? WCBPF_SITE_ENTRY : WCBPF_SITE_MARK, point, m.fetch[0], m.fetch_n[0]);
	for (size_t i = 0; r == 0 && b.end && i < mk->n; i++) {
		struct binding other = b;

		other.end = &mk->all[i];
		if (is_end_for(mk, &mk->all[i], start))
			r = end_add(mk, &other, &m, point);
	}
	return r;
}

int markers_plan(struct planning *p, size_t index)
{
	struct marking mk = {.p = p, .d = &p->set->v[index], .index = index};
	int r = 0;

	if (!file_markers(&p->file))
		return 0;
	mk.n = objfile_markers_all(p->file.markers, &mk.all);
	for (size_t i = 0; r == 0 && i < mk.n; i++)
		if (is_marker(&mk.all[i], mk.d->provider, mk.d->marker))
			r = marker_plan(&mk, &mk.all[i]);
	return r;
}
