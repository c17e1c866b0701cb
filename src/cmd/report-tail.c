/* SPDX-License-Identifier: (LGPL-2.1 OR BSD-2-Clause) */
/* The slowest hundredth of a class beside its middle, by reason: means of one op each. */
#include <inttypes.h>
#include <string.h>

#include "cmd/report-sections.h"

enum { RESOURCE_LINES = 6, SLOW_LINES = 5, NUMBERS_COLUMNS = 38 };

/* The class is the one that --class names or, if that is none of such ops, the one with most time. */
int report_tail_make(struct report *r)
{
	size_t at;
	int e = report_section_make(r, SECTION_CLASSES);

	if (e < 0)
		return e;
	r->has_tail = analyze_tail_class(r->classes, r->class_n, &at);
	for (size_t i = 0; i < r->class_n && r->o->class_n; i++) {
		const struct analyze_class *c = &r->classes[i];

		if (strcmp(strtab_str(r->m->strings, c->class_id), r->o->classes[0]) == 0) {
			r->has_tail = true;
			at = i;
			break;
		}
	}
	return r->has_tail ? analyze_tail(r->m, &r->filter, r->classes[at].kind, r->classes[at].class_id, &r->tail) : 0;
}

static uint64_t mean(uint64_t sum, const struct analyze_tail_group *g)
{
	return g->n ? sum / g->n : 0;
}

static void row_print(const struct page *p, uint64_t median_ns, uint64_t slow_ns)
{
	fprintf(p->f, "%12s %12s %12s  ", page_time(median_ns).text, page_time(slow_ns).text,
		page_signed_time((int64_t)slow_ns - (int64_t)median_ns).text);
}

static void states_print(const struct page *p, const struct analyze_tail *t)
{
	bool done[WHERE_MAX] = { false };

	row_print(p, mean(t->median.total_ns, &t->median), mean(t->slow.total_ns, &t->slow));
	fputs("all\n", p->f);
	for (unsigned k = 0; k < WHERE_MAX; k++) {
		int64_t best = INT64_MIN;
		unsigned at = WHERE_MAX;

		/* What the slow ones have more of first. */
		for (unsigned i = 0; i < WHERE_MAX; i++) {
			int64_t more = (int64_t)mean(t->slow.ns[i], &t->slow) -
				       (int64_t)mean(t->median.ns[i], &t->median);

			if (!done[i] && (t->slow.ns[i] || t->median.ns[i]) && more > best) {
				best = more;
				at = i;
			}
		}
		if (at == WHERE_MAX)
			break;
		done[at] = true;
		row_print(p, mean(t->median.ns[at], &t->median), mean(t->slow.ns[at], &t->slow));
		fprintf(p->f, "%s\n", at == WHERE_UNKNOWN && t->slow.child_ns + t->median.child_ns ? "self" :
			analyze_where_name((enum analyze_where)at));
	}
	if (t->slow.child_ns || t->median.child_ns) {
		row_print(p, mean(t->median.child_ns, &t->median), mean(t->slow.child_ns, &t->slow));
		fputs("ops below\n", p->f);
	}
}

static void resources_print(const struct page *p, const struct analyze_tail *t, size_t max)
{
	for (size_t i = 0; i < t->resource_n && i < max; i++) {
		const struct analyze_tail_resource *x = &t->resources[i];
		uint64_t median_ns = mean(x->median_ns, &t->median), slow_ns = mean(x->slow_ns, &t->slow);

		if (slow_ns <= median_ns)
			break;
		row_print(p, median_ns, slow_ns);
		fputs("  ", p->f);
		report_awaited_print(p->r, p->f, x->reason, x->kind_id, x->name_id, p->columns - NUMBERS_COLUMNS - 5);
		fputc('\n', p->f);
	}
}

static void slow_print(const struct page *p, const struct analyze_tail *t, size_t max)
{
	size_t shown = page_lines_shown(t->slow.n, max);

	fprintf(p->f, "  slowest: ");
	for (size_t i = 0; i < shown; i++) {
		const struct model_op *o = &p->r->m->ops[t->slow_ops[i]];

		fprintf(p->f, "%sop %" PRIu64 " at %s (%s)", i ? ", " : "", o->id,
			page_time((uint64_t)o->start_ns).text, page_time((uint64_t)(o->end_ns - o->start_ns)).text);
	}
	fprintf(p->f, "%s   wcbpf explain OP\n", t->slow.n > shown ? ", .." : "");
}

void report_tail_text(const struct page *p)
{
	const struct analyze_tail *t = &p->r->tail;
	bool short_page = page_lines_max(p, SECTION_TAIL) != SIZE_MAX;

	if (!p->r->has_tail || !t->op_n)
		return;
	/* Of a build the path says more than its slowest compiler. */
	if (short_page && t->kind == OP_EXEC && p->r->sections & SECTION_BIT(SECTION_PATH))
		return;
	page_title(p, "      median     slowest   difference  Slow ops");
	fputs("  of ", p->f);
	page_class_print(p, t->kind, t->class_id, 40);
	fprintf(p->f, ", %s ops: p50 %s, p99 %s\n", wording_count(t->op_n).text, page_time(t->median_ns).text,
		page_time(t->p99_ns).text);
	states_print(p, t);
	resources_print(p, t, short_page ? 2 : RESOURCE_LINES);
	slow_print(p, t, short_page ? 1 : SLOW_LINES);
}

static void group_json(struct json *j, const char *key, const struct analyze_tail_group *g)
{
	json_key(j, key);
	json_begin_object(j);
	json_kv_uint(j, "ops", g->n);
	json_kv_uint(j, "total_ns", g->total_ns);
	report_where_json(j, "ns", g->ns);
	json_kv_uint(j, "children_ns", g->child_ns);
	json_end_object(j);
}

void report_tail_json(const struct report *r, struct json *j)
{
	const struct analyze_tail *t = &r->tail;

	if (!r->has_tail || !t->op_n) {
		json_null(j);
		return;
	}
	json_begin_object(j);
	report_class_json(r, j, t->kind, t->class_id);
	json_kv_uint(j, "ops", t->op_n);
	json_kv_uint(j, "p50_ns", t->median_ns);
	json_kv_uint(j, "p99_ns", t->p99_ns);
	group_json(j, "median", &t->median);
	group_json(j, "slowest", &t->slow);
	json_key(j, "resources");
	json_begin_array(j);
	for (size_t i = 0; i < report_rows_max(r, t->resource_n); i++) {
		const struct analyze_tail_resource *x = &t->resources[i];

		json_begin_object(j);
		json_kv_string(j, "reason", wait_reason_name(x->reason));
		report_string_json(r, j, "wait_kind", x->kind_id);
		report_string_json(r, j, "name", x->name_id);
		json_kv_uint(j, "median_waits", x->median_n);
		json_kv_uint(j, "median_ns", x->median_ns);
		json_kv_uint(j, "slowest_waits", x->slow_n);
		json_kv_uint(j, "slowest_ns", x->slow_ns);
		json_end_object(j);
	}
	json_end_array(j);
	json_key(j, "slowest_ops");
	json_begin_array(j);
	for (size_t i = 0; i < t->slow.n; i++)
		json_uint(j, r->m->ops[t->slow_ops[i]].id);
	json_end_array(j);
	json_end_object(j);
}
