/* SPDX-License-Identifier: (LGPL-2.1 OR BSD-2-Clause) */
/* The slowest hundredth of a class beside its middle, by reason: means of one op each. */
#include <errno.h>
#include <inttypes.h>
#include <string.h>

#include "cmd/report-replay.h"
#include "cmd/report-sections.h"

enum { RESOURCE_LINES = 6, SLOW_LINES = 5, SPIKES_MAX = 4, SPIKE_MIN = 3, STATES_ON_PAGE = 4, NUMBERS_COLUMNS = 38 };

/* Processes and threads are none: what the slowest of them did is a matter of which it was. */
bool report_tail_is_of_requests(const struct report *r)
{
	const struct analyze_tail *t = &r->tail;

	return r->has_tail && t->op_n && t->kind != OP_EXEC && t->kind != OP_EXEC_PHASE && t->kind != OP_INTERNAL;
}

/* The class is the one that --class names or, if that is none of such ops, the one with most time. */
int report_tail_find(struct report *r)
{
	size_t at;

	if (r->is_tail_found)
		return 0;
	r->has_tail = analyze_tail_class(r->classes, r->class_n, &at);
	for (size_t i = 0; i < r->class_n && r->o->class_n; i++) {
		const struct analyze_class *c = &r->classes[i];

		if (strcmp(strtab_str(r->m->strings, c->class_id), r->o->classes[0]) == 0) {
			r->has_tail = true;
			at = i;
			break;
		}
	}
	if (r->has_tail && analyze_tail(r->m, &r->filter, r->classes[at].kind, r->classes[at].class_id, &r->tail) < 0)
		return -ENOMEM;
	r->is_tail_found = true;
	return 0;
}

int report_tail_make(struct report *r)
{
	int e = report_section_make(r, SECTION_CLASSES);

	if (e == 0)
		e = report_tail_find(r);
	return e == 0 && r->has_tail && report_tail_is_of_requests(r) ? report_slow_make(r) : e;
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

static void states_print(const struct page *p, const struct analyze_tail *t, unsigned max)
{
	bool done[WHERE_MAX] = { false };

	row_print(p, mean(t->median.total_ns, &t->median), mean(t->slow.total_ns, &t->slow));
	fputs("all\n", p->f);
	for (unsigned k = 0; k < max; k++) {
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
			at == WHERE_WORK ? "work of others" : analyze_where_name((enum analyze_where)at));
	}
	if (t->slow.child_ns || t->median.child_ns) {
		row_print(p, mean(t->median.child_ns, &t->median), mean(t->slow.child_ns, &t->slow));
		fputs("ops below\n", p->f);
	}
}

/* By how much more slow ops waited for all things of one kind, and how many those are. */
static int64_t kind_more_ns(const struct analyze_tail *t, const struct analyze_tail_resource *of, size_t *ret_n,
			    uint64_t *ret_median_ns, uint64_t *ret_slow_ns)
{
	uint64_t median_ns = 0, slow_ns = 0;

	*ret_n = 0;
	for (size_t i = 0; i < t->resource_n; i++) {
		const struct analyze_tail_resource *x = &t->resources[i];

		if (x->reason != of->reason || x->kind_id != of->kind_id)
			continue;
		median_ns += x->median_ns;
		slow_ns += x->slow_ns;
		++*ret_n;
	}
	*ret_median_ns = mean(median_ns, &t->median);
	*ret_slow_ns = mean(slow_ns, &t->slow);
	return (int64_t)*ret_slow_ns - (int64_t)*ret_median_ns;
}

/* On a page where no one thing is most of its kind, the kind as a whole: locks of a thousand rows. */
static void kinds_print(const struct page *p, const struct analyze_tail *t, size_t max)
{
	size_t shown = 0;

	for (size_t i = 0; i < t->resource_n && shown < max; i++) {
		const struct analyze_tail_resource *x = &t->resources[i];
		uint64_t median_ns, slow_ns, own_median_ns = mean(x->median_ns, &t->median),
					 own_slow_ns = mean(x->slow_ns, &t->slow);
		size_t n, before = 0;
		int64_t more_ns = kind_more_ns(t, x, &n, &median_ns, &slow_ns);

		while (before < i && (t->resources[before].reason != x->reason ||
				      t->resources[before].kind_id != x->kind_id))
			before++;
		if (before < i || more_ns <= 0)
			continue;
		if (own_slow_ns > own_median_ns && (int64_t)(own_slow_ns - own_median_ns) * 2 >= more_ns) {
			row_print(p, own_median_ns, own_slow_ns);
			fputs("  ", p->f);
			report_awaited_print(p->r, p->f, x->reason, x->kind_id, x->name_id,
					     p->columns - NUMBERS_COLUMNS - 5);
			fputc('\n', p->f);
		} else {
			row_print(p, median_ns, slow_ns);
			fprintf(p->f, "  %-7s ", wait_reason_name(x->reason));
			report_name_print(p->f, page_string(p, x->kind_id), 24);
			fprintf(p->f, ", %s\n", wording_counted(n, "of them", "of them").text);
		}
		shown++;
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

/* "spikes: 14 in 80.0 ms at 3.21 s, 9 in 75.0 ms at 13.2 s, 4 elsewhere" */
static void spikes_print(const struct page *p, const struct analyze_tail *t, size_t max)
{
	size_t told = 0, left = t->slow.n;

	/* A few that met by chance are none. */
	for (size_t i = 0; i < t->spike_n && told < max; i++) {
		const struct analyze_tail_spike *s = &t->spikes[i];

		if (s->n < SPIKE_MIN || s->n * 10 < t->slow.n)
			break;
		fprintf(p->f, "%s%s in %s at %s", told++ ? ", " : "  spikes: ", wording_count(s->n).text,
			page_time((uint64_t)(s->to_ns - s->from_ns)).text, page_time((uint64_t)s->from_ns).text);
		left -= s->n;
	}
	if (told && left)
		fprintf(p->f, ", %s elsewhere", wording_count(left).text);
	if (told)
		fputc('\n', p->f);
}

static void slow_print(const struct page *p, const void *arg)
{
	const struct analyze_tail *t = &p->r->tail;
	size_t shown = page_lines_shown(t->slow.n, *(const size_t *)arg);

	for (size_t i = 0; i < shown; i++) {
		const struct model_op *o = &p->r->m->ops[t->slow_ops[i]];

		fprintf(p->f, "%sop %" PRIu64 " at %s (%s)", i ? ", " : "", o->id,
			page_time((uint64_t)o->start_ns).text, page_time((uint64_t)(o->end_ns - o->start_ns)).text);
	}
	fprintf(p->f, "%s   wcbpf explain %" PRIu64, t->slow.n > shown ? ", .." : "",
		t->slow.n ? p->r->m->ops[t->slow_ops[0]].id : 0);
}

void report_tail_text(const struct page *p)
{
	const struct analyze_tail *t = &p->r->tail;
	bool short_page = page_lines_max(p, SECTION_TAIL) != SIZE_MAX;
	const size_t slow_lines = short_page ? 1 : SLOW_LINES;

	if (!p->r->has_tail || !t->op_n)
		return;
	if (short_page && !report_tail_is_of_requests(p->r))
		return;
	page_title(p, "      median     slowest   difference  Slow ops");
	fputs("  ", p->f);
	page_class_print(p, t->kind, t->class_id, 19);
	fprintf(p->f, ", %s: p50 %s, p99 %s\n", wording_count(t->op_n).text, page_time(t->median_ns).text,
		page_time(t->p99_ns).text);
	states_print(p, t, short_page ? STATES_ON_PAGE : WHERE_MAX);
	if (short_page)
		kinds_print(p, t, 2);
	else
		resources_print(p, t, RESOURCE_LINES);
	spikes_print(p, t, short_page ? 3 : SPIKES_MAX);
	fputs("  slowest: ", p->f);
	page_wrapped(p, 11, slow_print, &slow_lines);
	report_slow_text(p, short_page ? 2 : SIZE_MAX);
}

static void group_json(struct json *j, const char *key, const struct analyze_tail_group *g)
{
	uint64_t means[WHERE_MAX];

	for (unsigned i = 0; i < WHERE_MAX; i++)
		means[i] = mean(g->ns[i], g);
	json_key(j, key);
	json_begin_object(j);
	json_kv_uint(j, "ops", g->n);
	json_kv_uint(j, "total_ns", mean(g->total_ns, g));
	report_where_json(j, "ns", means);
	json_kv_uint(j, "children_ns", mean(g->child_ns, g));
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
		json_kv_uint(j, "median_ns", mean(x->median_ns, &t->median));
		json_kv_uint(j, "slowest_waits", x->slow_n);
		json_kv_uint(j, "slowest_ns", mean(x->slow_ns, &t->slow));
		json_end_object(j);
	}
	json_end_array(j);
	json_key(j, "slowest_ops");
	json_begin_array(j);
	for (size_t i = 0; i < t->slow.n; i++)
		json_uint(j, r->m->ops[t->slow_ops[i]].id);
	json_end_array(j);
	json_key(j, "spikes");
	json_begin_array(j);
	for (size_t i = 0; i < t->spike_n; i++) {
		json_begin_object(j);
		json_kv_int(j, "from_ns", t->spikes[i].from_ns);
		json_kv_int(j, "to_ns", t->spikes[i].to_ns);
		json_kv_uint(j, "ops", t->spikes[i].n);
		json_end_object(j);
	}
	json_end_array(j);
	json_key(j, "p99_would_be");
	report_slow_json(r, j);
	json_end_object(j);
}
