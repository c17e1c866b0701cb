/* SPDX-License-Identifier: (LGPL-2.1 OR BSD-2-Clause) */
/* The registry of sections. A new one is a line of REPORT_SECTIONS, a row here and a file. */
#include "cmd/report-sections.h"

#include <errno.h>

#define ROW(name) { report_##name##_make, report_##name##_text, report_##name##_json }

const struct report_section_row report_section_rows[SECTION_MAX] = {
	[SECTION_HEALTH] = ROW(health),
	[SECTION_WALL] = ROW(wall),
	[SECTION_WHATIF] = ROW(whatif),
	[SECTION_CLASSES] = ROW(classes),
	[SECTION_PATH] = ROW(path),
	[SECTION_CHAINS] = ROW(chains),
	[SECTION_LOCKS] = ROW(locks),
	[SECTION_MATRIX] = ROW(matrix),
	[SECTION_GRAPH] = ROW(graph),
	[SECTION_CPU] = ROW(cpu),
	[SECTION_DEAD] = ROW(dead),
	[SECTION_TAIL] = ROW(tail),
	[SECTION_ONCPU] = ROW(oncpu),
	[SECTION_REASONS] = { NULL, report_reasons_text, report_reasons_json },
	[SECTION_RESOURCES] = ROW(resources),
	[SECTION_OPEN] = ROW(open),
	[SECTION_WAKERS] = ROW(wakers),
	[SECTION_STACKS] = ROW(stacks),
	[SECTION_THREADS] = ROW(threads),
	[SECTION_OPS] = ROW(ops),
	[SECTION_CHILDREN] = ROW(children),
	[SECTION_CLIENTS] = ROW(clients),
	[SECTION_LIBRARY] = ROW(library),
	[SECTION_SELF] = ROW(self),
	[SECTION_INCLUSIVE] = ROW(inclusive),
	[SECTION_OWN] = ROW(own),
	[SECTION_NEAREST] = ROW(nearest),
	[SECTION_BELOW] = ROW(below),
};

const char *report_section_name(enum report_section section)
{
	static const char *const names[SECTION_MAX] = {
#define X(id, name) [SECTION_##id] = name,
		REPORT_SECTIONS(X)
#undef X
	};

	return section < SECTION_MAX ? names[section] : "";
}

int report_section_make(struct report *r, enum report_section section)
{
	int e = 0;

	/* Several are made at once by report-ahead.c. */
	if (__atomic_load_n(&r->made, __ATOMIC_RELAXED) & SECTION_BIT(section))
		return 0;
	if (report_section_rows[section].make)
		e = report_section_rows[section].make(r);
	if (e == 0)
		__atomic_fetch_or(&r->made, SECTION_BIT(section), __ATOMIC_RELAXED);
	return e;
}

size_t report_rows_max(const struct report *r, size_t n)
{
	return r->o->top && r->o->top < n ? r->o->top : n;
}
