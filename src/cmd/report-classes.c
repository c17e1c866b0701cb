/* SPDX-License-Identifier: (LGPL-2.1 OR BSD-2-Clause) */
/* Classes of ops: how many, how long, on what, how they ended; and the tail of one of them. */
#include <string.h>

#include "cmd/report-sections.h"

enum { NUMBERS_COLUMNS = 73, DETAIL_INDENT = 19 };

int report_classes_make(struct report *r)
{
	return analyze_classes(r->m, &r->filter, &r->classes, &r->class_n);
}

/* "lock 1.20 s, disk 30.0 ms": what the ops waited for, most first. */
static size_t waits_print(const struct page *p, const struct analyze_class *c, const char *before)
{
	bool done[WHERE_MAX] = { [WHERE_RUNNING] = true, [WHERE_RUNNABLE] = true };
	uint64_t ns[WHERE_MAX];
	size_t n = 0;

	memcpy(ns, c->ns, sizeof(ns));
	ns[WHERE_UNKNOWN] -= c->unmeasured_ns;
	for (;;) {
		unsigned most = WHERE_RUNNING;

		for (unsigned i = 0; i < WHERE_MAX; i++) {
			if (!done[i] && ns[i] && (done[most] || ns[i] > ns[most]))
				most = i;
		}
		if (done[most])
			return n;
		done[most] = true;
		fprintf(p->f, "%s%s %s", n++ ? ", " : before, analyze_where_name((enum analyze_where)most),
			page_time(ns[most]).text);
	}
}

static bool class_has_detail(const struct analyze_class *c)
{
	return analyze_class_blocked_ns(c) || c->outcomes[OUTCOME_NONE] != c->count || c->duplicate_n || c->open_n || c->child_ns;
}

static void class_detail_print(const struct page *p, const void *arg)
{
	const struct analyze_class *c = arg;
	bool any;

	any = waits_print(p, c, c->of_threads ? "its threads: " : "");
	if (c->child_ns)
		fprintf(p->f, "%schildren %s", any ? ", " : "", page_time(c->child_ns).text);
	any |= c->child_ns != 0;
	for (unsigned i = OUTCOME_NONE + 1; i < OP_OUTCOME_MAX; i++) {
		if (!c->outcomes[i])
			continue;
		fprintf(p->f, "%s%s %s", any ? "; " : "", wording_count(c->outcomes[i]).text,
			op_outcome_name((enum op_outcome)i));
		any = true;
	}
	if (c->open_n)
		fprintf(p->f, "%s%s open", any ? "; " : "", wording_count(c->open_n).text);
	any |= c->open_n != 0;
	if (c->duplicate_n)
		fprintf(p->f, "%s%s repeated: %s", any ? "; " : "", wording_count(c->duplicate_n).text,
			page_time(c->duplicate_ns).text);
}

static void class_print(const struct page *p, const struct analyze_class *c)
{
	fprintf(p->f, "%9s %7s %8s %8s %8s %8s %8s %8s  ", page_time(c->total_ns).text, wording_count(c->count).text,
		page_time(c->p50_ns).text, page_time(c->p95_ns).text, page_time(c->max_ns).text,
		page_time(analyze_class_self_ns(c)).text, page_time(analyze_class_blocked_ns(c)).text, page_time(c->ns[WHERE_RUNNABLE]).text);
	page_class_print(p, c->kind, c->class_id,
			 p->columns > NUMBERS_COLUMNS + 20 ? p->columns - NUMBERS_COLUMNS : 20);
	fputc('\n', p->f);
	if (class_has_detail(c)) {
		fprintf(p->f, "%*s", DETAIL_INDENT, "");
		page_wrapped(p, DETAIL_INDENT, class_detail_print, c);
	}
}

void report_classes_text(const struct page *p)
{
	const struct report *r = p->r;
	size_t shown = page_lines_shown(r->class_n, page_lines_max(p, SECTION_CLASSES));

	if (!r->class_n)
		return;
	page_title(p, "    total   count      p50      p95  longest     self  blocked    ready  Ops by class");
	fputc('\n', p->f);
	for (size_t i = 0; i < shown; i++)
		class_print(p, &r->classes[i]);
	page_more(p, r->class_n, shown, 0);
}

static void class_json(const struct report *r, struct json *j, const struct analyze_class *c)
{
	json_begin_object(j);
	report_class_json(r, j, c->kind, c->class_id);
	json_kv_uint(j, "count", c->count);
	json_kv_uint(j, "open", c->open_n);
	json_kv_uint(j, "total_ns", c->total_ns);
	json_kv_uint(j, "p50_ns", c->p50_ns);
	json_kv_uint(j, "p95_ns", c->p95_ns);
	json_kv_uint(j, "p99_ns", c->p99_ns);
	json_kv_uint(j, "longest_ns", c->max_ns);
	json_kv_bool(j, "times_are_of_threads", c->of_threads);
	report_where_json(j, "own_ns", c->ns);
	json_kv_uint(j, "self_ns", analyze_class_self_ns(c));
	json_kv_uint(j, "blocked_ns", analyze_class_blocked_ns(c));
	json_kv_uint(j, "children_ns", c->child_ns);
	json_kv_uint(j, "waits_outside_ns", c->outside_ns);
	json_key(j, "outcomes");
	json_begin_object(j);
	for (unsigned i = OUTCOME_NONE + 1; i < OP_OUTCOME_MAX; i++)
		json_kv_uint_nz(j, op_outcome_name((enum op_outcome)i), c->outcomes[i]);
	json_end_object(j);
	json_kv_uint(j, "duplicates", c->duplicate_n);
	json_kv_uint(j, "duplicates_ns", c->duplicate_ns);
	json_end_object(j);
}

void report_classes_json(const struct report *r, struct json *j)
{
	json_begin_array(j);
	for (size_t i = 0; i < report_rows_max(r, r->class_n); i++)
		class_json(r, j, &r->classes[i]);
	json_end_array(j);
}
