/* SPDX-License-Identifier: (LGPL-2.1 OR BSD-2-Clause) */
/*
 * Sections are made one after the other, and some of what they are made of takes
 * long. What only reads the model and needs nothing of the rest is made before,
 * on all CPUs: what has nothing to do with the replay while that is compiled,
 * which often has work for one only, then what asks the replay. Whatever adds
 * strings to the model is left to the sections.
 */
#include "cmd/report-ahead.h"

#include "cmd/report-replay.h"
#include "cmd/report-sections.h"
#include "util/crew.h"

/* Fewer are done before it matters. */
enum { EVENTS_LARGE = 200000 };

static int classes_do(struct report *r)
{
	int e = report_section_make(r, SECTION_CLASSES);

	return e < 0 || r->o->json ? e : report_tail_find(r);
}

static int kinds_do(struct report *r)
{
	report_health_find(r);
	return report_group_count(r, ANALYZE_BY_KIND);
}

static int wall_do(struct report *r)
{
	return report_section_make(r, SECTION_WALL);
}

static int resources_do(struct report *r)
{
	return report_group_count(r, ANALYZE_BY_RESOURCE);
}

static int wakers_do(struct report *r)
{
	return report_wait_tables(r) & SECTION_BIT(SECTION_WAKERS) ? report_group_count(r, ANALYZE_BY_WAKER) : 0;
}

static int stacks_do(struct report *r)
{
	int e;

	if (!(report_wait_tables(r) & SECTION_BIT(SECTION_STACKS)))
		return 0;
	e = report_group_count(r, ANALYZE_BY_CALLER);
	return e < 0 ? e : report_group_count(r, ANALYZE_BY_STACK);
}

/* What takes longest first. Of JSON, which has every section, memory is the measure: it has the first three. */
static int (*const beside[])(struct report *r) = {
	report_replay_need, classes_do, kinds_do, wall_do, stacks_do, resources_do, wakers_do, report_actors_make,
};
enum { BESIDE_N = sizeof(beside) / sizeof(beside[0]), BESIDE_JSON_N = 3 };

static int beside_do(void *arg, size_t i)
{
	return beside[i](arg);
}

/* Sections for which it is compiled, and that need little else. */
#define SECTIONS_REPLAYED (SECTION_BIT(SECTION_WHATIF) | SECTION_BIT(SECTION_LOCKS) | SECTION_BIT(SECTION_PATH))

static int replayed_do(void *arg, size_t i)
{
	return i == 0 ? report_replay_need(arg) : report_group_count(arg, ANALYZE_BY_KIND);
}

int report_ahead_compile(struct report *r)
{
	if (r->profile || model_event_n(r->m) < EVENTS_LARGE)
		return 0;
	if (r->o->sections)
		return r->o->sections & SECTIONS_REPLAYED ? crew_run(2, replayed_do, r) : 0;
	return crew_run(r->o->json ? BESIDE_JSON_N : BESIDE_N, beside_do, r);
}

static int section_do(struct report *r, enum report_section section)
{
	return r->sections & SECTION_BIT(section) ? report_section_make(r, section) : 0;
}

static int runqueues_do(struct report *r)
{
	return section_do(r, SECTION_CPU);
}

static int stretches_do(struct report *r)
{
	int e = r->sections & (SECTION_BIT(SECTION_PATH) | SECTION_BIT(SECTION_WHATIF)) ? report_stretches_make(r) : 0;

	return e == 0 && r->sections & SECTION_BIT(SECTION_PATH) ? report_queued_make(r) : e;
}

static int locks_do(struct report *r)
{
	return section_do(r, SECTION_LOCKS);
}

/* It needs the wall time, which is no other's to make. */
static int open_do(struct report *r)
{
	int e = section_do(r, SECTION_WALL);

	return e < 0 ? e : section_do(r, SECTION_OPEN);
}

/* A page simulates few things, often one: on one CPU. */
static int hints_do(struct report *r)
{
	return r->sections & SECTION_BIT(SECTION_WHATIF) ? report_whatif_begin(r) : 0;
}

/* What takes longest first. */
static int (*const behind[])(struct report *r) = { hints_do, runqueues_do, stretches_do, locks_do, open_do };

static int behind_do(void *arg, size_t i)
{
	return behind[i](arg);
}

/* Of JSON: what takes long, and has nothing to do with each other. Dead air has most to remember: it stays alone. */
static const enum report_section apart[] = {
	SECTION_CHAINS, SECTION_CHILDREN, SECTION_CLIENTS, SECTION_INCLUSIVE, SECTION_SELF, SECTION_LIBRARY,
};

static int apart_do(void *arg, size_t i)
{
	return section_do(arg, apart[i]);
}

/* What is simulated is on all CPUs, and gone before the chains are there: together they would be most of a report. */
static int json_do(struct report *r)
{
	int e = section_do(r, SECTION_WHATIF);

	return e < 0 ? e : crew_run(sizeof(apart) / sizeof(apart[0]), apart_do, r);
}

int report_ahead_sections(struct report *r)
{
	int e;

	/* Without a replay each of them would begin to compile. */
	if (!r->replay || model_event_n(r->m) < EVENTS_LARGE)
		return 0;
	e = crew_run(sizeof(behind) / sizeof(behind[0]), behind_do, r);
	return e == 0 && r->o->json ? json_do(r) : e;
}
