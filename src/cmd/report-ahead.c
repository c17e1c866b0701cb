/* SPDX-License-Identifier: (LGPL-2.1 OR BSD-2-Clause) */
/*
 * Sections are made one after the other. Those that take longest only read the
 * model and need nothing of each other; the others may add strings to it, so
 * they are not made here.
 */
#include "cmd/report-ahead.h"

#include "cmd/report-replay.h"
#include "cmd/report-sections.h"
#include "util/crew.h"

/* Fewer are done before it matters. */
enum { EVENTS_LARGE = 200000 };

static int compile_do(void *arg, size_t i)
{
	struct report *r = arg;

	return i == 0 ? report_replay_need(r) : report_section_make(r, SECTION_CLASSES);
}

int report_ahead_compile(struct report *r)
{
	if (r->o->sections || r->profile || model_event_n(r->m) < EVENTS_LARGE)
		return 0;
	return crew_run(2, compile_do, r);
}

static int section_do(struct report *r, enum report_section section)
{
	return r->sections & SECTION_BIT(section) ? report_section_make(r, section) : 0;
}

static int sections_do(void *arg, size_t i)
{
	struct report *r = arg;
	int e;

	if (i == 0)
		return section_do(r, SECTION_PATH);
	e = section_do(r, SECTION_LOCKS);
	return e < 0 ? e : section_do(r, SECTION_WALL);
}

int report_ahead_sections(struct report *r)
{
	/* Else each of them would begin to compile. */
	return r->replay && model_event_n(r->m) >= EVENTS_LARGE ? crew_run(2, sections_do, r) : 0;
}
