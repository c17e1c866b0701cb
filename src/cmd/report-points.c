/* SPDX-License-Identifier: (LGPL-2.1 OR BSD-2-Clause) */
/*
 * What the recording itself took, choke point by choke point, and which of them
 * were given up for that: from then on their calls are missing, so the numbers of
 * ops are those of the time before.
 */
#include "cmd/report-points.h"

#include <stdlib.h>
#include <string.h>

#include "cmd/wording.h"
#include "util/cleanup.h"

enum { LINES_DEFAULT = 12, NAME_COLUMNS = 34, INDENT = 14, NAMED_MAX = 3 };

static const char *file_name(const char *path)
{
	const char *slash = strrchr(path, '/');

	return slash ? slash + 1 : path;
}

static size_t detached_n(const struct dump_facts *x)
{
	size_t n = 0;

	for (size_t i = 0; i < x->point_n; i++)
		n += x->points[i].detached;
	return n;
}

static uint64_t detached_since_ns(const struct dump_point *x)
{
	return x->detached_ns > 0 ? (uint64_t)x->detached_ns : 0;
}

static void price_print(const struct page *p, const char *word, uint64_t ns)
{
	if (ns)
		fprintf(p->f, ", %s %s", word, page_time(ns).text);
}

static void sum_print(const struct page *p, const void *arg)
{
	const struct dump_facts *x = &p->r->facts;
	uint64_t cost_ns = 0;

	(void)arg;
	for (size_t i = 0; i < x->point_n; i++)
		cost_ns += x->points[i].cost_ns;
	fprintf(p->f, "%s cost %s of CPU", wording_counted(x->point_n, "choke point", NULL).text, page_time(cost_ns).text);
	price_print(p, "a hit", x->hit_ns);
	price_print(p, "single-stepped", x->stepped_hit_ns);
	price_print(p, "a value", x->value_ns);
	if (x->overhead_max > 0)
		fprintf(p->f, "; at most %.4g%% of a CPU allowed", 100 * x->overhead_max);
}

static void point_print(const struct page *p, const struct dump_point *x)
{
	fprintf(p->f, "  %-11s ", "");
	if (p->r->facts.points_are_priced)
		fprintf(p->f, "%11s x %6s ns = %9s  ", wording_count(x->hit_n).text,
			wording_count(x->hit_n ? x->cost_ns / x->hit_n : 0).text, page_time(x->cost_ns).text);
	report_name_print(p->f, x->name, NAME_COLUMNS);
	if (x->detached)
		fprintf(p->f, "  %sdetached at %s%s", p->bad, page_time(detached_since_ns(x)).text, p->plain);
	else if (*x->file) {
		fputs("  ", p->f);
		report_name_print(p->f, file_name(x->file), 14);
	}
	fputc('\n', p->f);
}

static void caveat_print(const struct page *p, const void *arg)
{
	report_name_print(p->f, arg, 0);
}

static void missing_print(const struct page *p, const void *arg)
{
	const struct dump_facts *x = &p->r->facts;

	(void)arg;
	report_name_print(p->f, x->point_caveats[0], 0);
	if (x->point_caveat_n > 1)
		fprintf(p->f, "; %s more such (--section health)", wording_count(x->point_caveat_n - 1).text);
}

void report_missing_points_print(const struct page *p)
{
	const struct dump_facts *x = &p->r->facts;

	/* That some were detached is told with the losses. */
	if (!x->point_caveat_n || detached_n(x))
		return;
	fprintf(p->f, "%s  PROBES%s ", p->bad, p->plain);
	page_wrapped(p, 9, missing_print, NULL);
}

void report_points_print(const struct page *p)
{
	const struct dump_facts *x = &p->r->facts;
	size_t max = p->r->o->everything ? SIZE_MAX : p->r->o->top ? p->r->o->top : LINES_DEFAULT, shown = 0, silent_n = 0;

	for (size_t i = 0; i < x->point_caveat_n; i++) {
		fprintf(p->f, "  %-11s ", i ? "" : "caveats");
		page_wrapped(p, INDENT, caveat_print, x->point_caveats[i]);
	}
	if (!x->point_n)
		return;
	fprintf(p->f, "  %-11s ", "probes");
	if (x->points_are_priced)
		page_wrapped(p, INDENT, sum_print, NULL);
	else
		fprintf(p->f, "%s detached for their cost\n", wording_counted(x->point_n, "choke point", NULL).text);
	for (size_t i = 0; i < x->point_n; i++) {
		bool silent = x->points_are_priced && !x->points[i].hit_n && !x->points[i].detached;

		silent_n += silent;
		if (silent && !p->r->o->everything)
			continue;
		/* What was detached is never left out. */
		if (shown >= max && !x->points[i].detached)
			continue;
		point_print(p, &x->points[i]);
		shown++;
	}
	if (silent_n && !p->r->o->everything)
		fprintf(p->f, "  %-11s %s never hit\n", "", wording_count(silent_n).text);
	page_more(p, x->point_n - (p->r->o->everything ? 0 : silent_n), shown, INDENT);
}

static void detached_print(const struct page *p, const void *arg)
{
	const struct dump_facts *x = &p->r->facts;
	size_t n = detached_n(x), named = 0;

	(void)arg;
	fputs("detached: ", p->f);
	for (size_t i = 0; i < x->point_n && named < NAMED_MAX; i++) {
		if (!x->points[i].detached)
			continue;
		fputs(named++ ? ", " : "", p->f);
		report_name_print(p->f, x->points[i].name, NAME_COLUMNS);
		fprintf(p->f, " at %s", page_time(detached_since_ns(&x->points[i])).text);
	}
	if (n > named)
		fprintf(p->f, ", %s more", wording_count(n - named).text);
	if (p->r->facts.points_are_priced)
		fputs("   --section health has what each cost", p->f);
}

void report_detached_print(const struct page *p)
{
	if (!detached_n(&p->r->facts))
		return;
	fputs("       ", p->f);
	page_wrapped(p, 7, detached_print, NULL);
}

void report_points_json(const struct report *r, struct json *j)
{
	json_key(j, "choke_points");
	json_begin_array(j);
	for (size_t i = 0; i < r->facts.point_n; i++) {
		const struct dump_point *x = &r->facts.points[i];

		json_begin_object(j);
		json_kv_string(j, "name", x->name);
		json_kv_string(j, "file", x->file);
		json_kv_uint(j, "hits", x->hit_n);
		json_kv_uint(j, "cost_ns", x->cost_ns);
		json_kv_int_or_null(j, "detached_ns", x->detached, x->detached_ns);
		json_end_object(j);
	}
	json_end_array(j);
	json_key(j, "choke_point_caveats");
	json_begin_array(j);
	for (size_t i = 0; i < r->facts.point_caveat_n; i++)
		json_string(j, r->facts.point_caveats[i]);
	json_end_array(j);
}
