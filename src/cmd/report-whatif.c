/* SPDX-License-Identifier: (LGPL-2.1 OR BSD-2-Clause) */
/* What would help: each class at three factors, with its range and how far to believe it. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "cmd/report-advice.h"
#include "cmd/report-replay.h"
#include "cmd/report-sections.h"
#include "util/cleanup.h"

enum { E2_TOP = 20, E2_TOP_FUNCTIONS = 10, NUMBERS_COLUMNS = 65 };

static int64_t rank_ns(const struct replay_saving *s)
{
	return s->at[s->what == REPLAY_NO_LOCK ? 0 : 1].best_ns;
}

static int saving_compare(const void *a, const void *b)
{
	const struct replay_saving *x = a, *y = b;

	if (rank_ns(x) != rank_ns(y))
		return rank_ns(x) > rank_ns(y) ? -1 : 1;
	return x->class < y->class ? -1 : x->class > y->class;
}

static bool is_wait_class(const struct replay_class *c)
{
	return c->kind == REPLAY_CLASS_RESOURCE || c->kind == REPLAY_CLASS_LOCK;
}

/* A program, its only thread and that thread's op are one to a reader; so are all waits of a kind and its only one. */
static bool are_one(const struct replay_class *c, const struct replay_class *d)
{
	if (is_wait_class(c) || is_wait_class(d))
		return c->kind == d->kind && c->reason == d->reason && c->kind_id == d->kind_id &&
		       (!c->name_id || !d->name_id);
	return c->name_id == d->name_id && c->kind != d->kind;
}

/* One thing, and the same whatever is asked. */
static bool are_twins(const struct report *r, const struct replay_saving *x, const struct replay_saving *y)
{
	if (x->what != y->what || !are_one(replay_class(r->replay, x->class), replay_class(r->replay, y->class)))
		return false;
	for (size_t i = 0; i < REPLAY_FACTOR_N; i++) {
		if (x->at[i].best_ns != y->at[i].best_ns)
			return false;
	}
	return true;
}

/* They come sorted by what they save, so twins are near each other. */
static void twins_drop(struct report *r)
{
	size_t kept = 0;

	for (size_t i = 0; i < r->saving_n; i++) {
		bool told = false;

		for (size_t k = kept; k-- > 0 && !told && rank_ns(&r->savings[k]) == rank_ns(&r->savings[i]);)
			told = are_twins(r, &r->savings[k], &r->savings[i]);
		if (!told)
			r->savings[kept++] = r->savings[i];
	}
	r->saving_n = kept;
}

/* Functions are simulated apart: so many call each other that they would leave no turn to anything else. */
static int savings_make(struct report *r, size_t e2_top)
{
	const unsigned functions = 1u << REPLAY_CLASS_FUNCTION, all = (1u << REPLAY_CLASS_KIND_MAX) - 1;
	struct replay_savings_options o = { .e2_top = e2_top, .kinds = all & ~functions, .wcprof = r->o->json };
	_cleanup_(freep) struct replay_saving *others = NULL, *of_functions = NULL;
	size_t other_n = 0, function_n = 0;
	int e = replay_savings(r->replay, &o, &others, &other_n);

	o.kinds = functions;
	o.e2_top = e2_top < E2_TOP_FUNCTIONS ? e2_top : E2_TOP_FUNCTIONS;
	if (e == 0)
		e = replay_savings(r->replay, &o, &of_functions, &function_n);
	if (e < 0)
		return e;
	r->savings = calloc(other_n + function_n + 1, sizeof(*r->savings));
	if (!r->savings)
		return -ENOMEM;
	r->saving_n = other_n + function_n;
	if (other_n)
		memcpy(r->savings, others, other_n * sizeof(*others));
	if (function_n)
		memcpy(r->savings + other_n, of_functions, function_n * sizeof(*of_functions));
	if (r->saving_n)
		qsort(r->savings, r->saving_n, sizeof(*r->savings), saving_compare);
	twins_drop(r);
	return 0;
}

/* A page has the few that help most; a table of all is worth waiting for. */
static bool is_on_page(const struct report *r)
{
	return !r->o->sections && !r->o->everything && !r->o->top && !r->o->json;
}

int report_whatif_begin(struct report *r)
{
	return is_on_page(r) ? report_hints_find(r) : 0;
}

int report_whatif_make(struct report *r)
{
	int e = report_replay_need(r);

	if (e < 0)
		return e;
	if (is_on_page(r))
		return report_hints_make(r);
	e = savings_make(r, E2_TOP);
	/* Only programs are told what that engine says. */
	if (e == 0 && r->o->json)
		e = report_wcprof_need(r);
	return e < 0 ? e : report_machines_make(r);
}

/* A thread that did nothing in ops is one thing, whether as a thread or as an op. */
static bool is_repeated(const struct report *r, const struct replay_saving *s)
{
	const struct replay_class *c = replay_class(r->replay, s->class);

	for (size_t i = 0; c->kind == REPLAY_CLASS_THREAD && i < r->saving_n; i++) {
		const struct replay_class *x = replay_class(r->replay, r->savings[i].class);

		if (x->kind == REPLAY_CLASS_OP && x->op_kind == OP_INTERNAL && x->name_id == c->name_id &&
		    x->cpu_ns == c->cpu_ns && x->delay_ns == c->delay_ns)
			return true;
	}
	return false;
}

/* Functions that say what another says better. NULL: no memory. */
static bool *unsaid_make(const struct report *r, size_t *ret_n)
{
	_cleanup_(report_advice_freep) struct report_advice *advice = report_advice_new(r);
	bool *unsaid = calloc(r->saving_n + 1, sizeof(*unsaid));

	*ret_n = 0;
	for (size_t i = 0; advice && unsaid && i < r->saving_n && !r->o->everything; i++) {
		const struct replay_class *c = replay_class(r->replay, r->savings[i].class);

		unsaid[i] = c->kind == REPLAY_CLASS_FUNCTION && rank_ns(&r->savings[i]) >= report_worth_ns(r) / 5 &&
			    !report_is_advice(advice, r->savings[i].class);
		*ret_n += unsaid[i];
	}
	return unsaid;
}

/* Of a large recording only the middle factor is simulated: the others are marked, if the line is not. */
static void factor_print(const struct page *p, const struct replay_saving *s, size_t k)
{
	const struct replay_outcome *o = &s->at[k];
	char text[80] = "";

	if (k == 0 || s->what != REPLAY_NO_LOCK)
		snprintf(text, sizeof(text), "%s%s", s->simulated && o->e2_ns < 0 ? "~" : "", page_signed_time(o->best_ns).text);
	fprintf(p->f, "%9s ", text);
}

static void saving_print(const struct page *p, const struct replay_saving *s)
{
	bool whole = s->what == REPLAY_NO_LOCK;
	const struct replay_outcome *o = &s->at[whole ? 0 : 1];
	char shift[16] = "";

	if (s->shift > 0)
		snprintf(shift, sizeof(shift), "%.2f", s->shift);
	for (size_t k = 0; k < REPLAY_FACTOR_N; k++)
		factor_print(p, s, k);
	fprintf(p->f, " %-15s %c%c %5s  ", report_range(o->low_ns, o->high_ns).text, o->grade, s->simulated ? ' ' : '~', shift);
	report_subject_print(p, s->class, 24);
	if (whole)
		fputs(" removed", p->f);
	if (o->next != UINT32_MAX && o->next != s->class) {
		fputs(" > ", p->f);
		report_subject_print(p, o->next, 16);
	}
	fputc('\n', p->f);
}

static void missing_print(const struct page *p)
{
	const struct replay_facts *f = &p->r->replay_facts;

	for (unsigned bit = 0; bit < 32; bit++) {
		if (f->missing >> bit & 1)
			fprintf(p->f, "  %s\n", replay_missing_text((enum replay_missing)(1u << bit)));
	}
}

void report_whatif_text(const struct page *p)
{
	const struct report *r = p->r;
	size_t max = page_lines_max(p, SECTION_WHATIF), n = 0, at = 0, shown, unsaid_n;
	_cleanup_(freep) bool *unsaid = NULL;

	if (is_on_page(r)) {
		report_hints_text(p, max);
		return;
	}
	if (!r->saving_n)
		return;
	page_title(p, "      x 0     x 0.5     x 0.9  range at 0.5   grade shift  What if");
	fputs("  saves; ~ not simulated; > next\n", p->f);
	report_unfiltered_print(p, "savings are");
	unsaid = unsaid_make(r, &unsaid_n);
	for (size_t i = 0; unsaid && i < r->saving_n; i++)
		n += !unsaid[i] && !is_repeated(r, &r->savings[i]);
	shown = page_lines_shown(n, max);
	for (size_t i = 0; i < r->saving_n && at < shown; i++) {
		if (unsaid[i] || is_repeated(r, &r->savings[i]))
			continue;
		saving_print(p, &r->savings[i]);
		at++;
	}
	page_more(p, n, shown, NUMBERS_COLUMNS - 8);
	if (unsaid_n)
		fprintf(p->f, "%*s%s callers, callees left out   --all\n", NUMBERS_COLUMNS - 8, "",
			wording_count(unsaid_n).text);
	for (unsigned i = 0; r->has_machines && i < REPORT_MACHINES; i++) {
		const struct replay_outcome *o = &r->machines[i];

		fprintf(p->f, "%9s %9s %9s  %-15s %c  %5s  %s\n", page_signed_time(o->best_ns).text, "", "",
			report_range(o->low_ns, o->high_ns).text, o->grade, "",
			report_machine_word((enum report_machine)i));
	}
	missing_print(p);
}

void report_whatif_json(const struct report *r, struct json *j)
{
	const struct replay_facts *f = &r->replay_facts;

	json_begin_object(j);
	json_kv_int(j, "makespan_ns", f->makespan_ns);
	json_kv_int(j, "e1_baseline_ns", f->e1_ns);
	json_kv_int(j, "e2_baseline_ns", f->e2_ns);
	json_kv_int(j, "wcprof_baseline_ns", r->wcprof_ns);
	json_key(j, "missing");
	json_begin_array(j);
	for (unsigned bit = 0; bit < 32; bit++) {
		if (f->missing >> bit & 1)
			json_string(j, replay_missing_text((enum replay_missing)(1u << bit)));
	}
	json_end_array(j);
	for (unsigned i = 0; r->has_machines && i < REPORT_MACHINES; i++) {
		json_key(j, i == REPORT_MORE_CPUS ? "twice_the_cpus" : "no_run_queue");
		report_outcome_json(j, &r->machines[i]);
	}
	json_key(j, "savings");
	json_begin_array(j);
	for (size_t i = 0; i < report_rows_max(r, r->saving_n); i++) {
		const struct replay_saving *s = &r->savings[i];

		json_begin_object(j);
		report_subject_json(r, j, s->class);
		json_kv_string(j, "change", s->what == REPLAY_NO_LOCK ? "removed" : "scaled");
		json_key(j, "factors");
		json_begin_array(j);
		for (unsigned k = 0; k < (s->what == REPLAY_NO_LOCK ? 1u : REPLAY_FACTOR_N); k++)
			report_outcome_json(j, &s->at[k]);
		json_end_array(j);
		json_key(j, "shift");
		json_double(j, s->shift, 3);
		json_kv_bool(j, "simulated", s->simulated);
		json_key(j, "next");
		json_begin_object(j);
		report_subject_json(r, j, s->at[s->what == REPLAY_NO_LOCK ? 0 : 1].next);
		json_end_object(j);
		json_end_object(j);
	}
	json_end_array(j);
	json_end_object(j);
}
