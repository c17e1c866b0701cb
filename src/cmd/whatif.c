/* SPDX-License-Identifier: (LGPL-2.1 OR BSD-2-Clause) */
/* "What if that took half as long": expressions of the replay's own language, several at once compared. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "cmd/answer-json.h"
#include "cmd/answer.h"
#include "cmd/cmd.h"
#include "cmd/report-replay.h"
#include "cmd/report-sections.h"
#include "cmd/verb.h"
#include "util/cleanup.h"
#include "util/log.h"

enum { COLUMNS = 100 };

struct whatif {
	struct report r;
	struct report_options o;
	const char *expr;
	struct replay_scenario scenario;
	struct replay_outcome outcome;
};

static void whatif_done(struct whatif *x)
{
	replay_scenario_done(&x->scenario);
	report_done(&x->r);
	report_options_done(&x->o);
}

static void makespan_print(const struct page *p, const char *word, int64_t base_ns, int64_t ns)
{
	if (ns < 0) {
		fprintf(p->f, "  %-34s %10s\n", word, "can't tell");
		return;
	}
	fprintf(p->f, "  %-34s %10s   unchanged %s\n", word, page_signed_time(ns).text, page_signed_time(base_ns).text);
}

/* Of --engine: against its own baseline. */
static int64_t saved_of(const struct whatif *x)
{
	const struct replay_facts *f = &x->r.replay_facts;
	const struct replay_outcome *o = &x->outcome;

	if (!x->o.engine)
		return o->best_ns;
	if (strcmp(x->o.engine, "e1") == 0)
		return f->e1_ns - o->e1_ns;
	if (strcmp(x->o.engine, "e2") == 0)
		return f->e2_ns - o->e2_ns;
	return o->wcprof_ns < 0 ? 0 : x->r.wcprof_ns - o->wcprof_ns;
}

/* A call and its execution are of one class: which of them a name without its kind was taken for. */
static void taken_print(const struct page *p, const struct replay_change *change)
{
	const struct replay *r = p->r->replay;
	bool has_class = change->what < REPLAY_CPUS && change->class < replay_class_n(r);
	const struct replay_class *c = has_class ? replay_class(r, change->class) : NULL;
	size_t others = 0;

	for (size_t i = 0; c && c->kind == REPLAY_CLASS_OP && i < replay_class_n(r); i++)
		others += i != change->class && replay_class(r, i)->kind == REPLAY_CLASS_OP &&
			  replay_class(r, i)->name_id == c->name_id;
	if (!others)
		return;
	fputs("  taken for  ", p->f);
	report_subject_print(p, change->class, 60);
	fprintf(p->f, ", one of %zu kinds of that name\n", others + 1);
}

static void text_print(const struct whatif *x, FILE *f)
{
	const struct replay_facts *facts = &x->r.replay_facts;
	const struct replay_outcome *o = &x->outcome;
	struct page p;
	int64_t saved_ns = saved_of(x), then_ns = facts->makespan_ns - saved_ns;

	page_init(&p, &x->r, f, COLUMNS, options_color_for(&x->o.all, STDOUT_FILENO));
	fprintf(f, "%s%s%s  ", p.bold, x->expr, p.plain);
	fprintf(f, "%s", page_time((uint64_t)facts->makespan_ns).text);
	fprintf(f, " would be %s: ", page_time((uint64_t)(then_ns > 0 ? then_ns : 0)).text);
	if (saved_ns < 0)
		fprintf(f, "%s longer", page_time((uint64_t)-saved_ns).text);
	else
		fprintf(f, "%s saved", page_time((uint64_t)saved_ns).text);
	if (facts->makespan_ns)
		fprintf(f, " (%.1f%%)", 100.0 * (double)saved_ns / (double)facts->makespan_ns);
	if (x->o.engine)
		fprintf(f, ", by %s alone\n", x->o.engine);
	else
		fprintf(f, ", range %s, grade %c\n", report_range(o->low_ns, o->high_ns).text, o->grade);
	report_damage_print(&p);
	for (size_t i = 0; i < x->scenario.n; i++)
		taken_print(&p, &x->scenario.changes[i]);
	for (unsigned bit = 0; bit < 32; bit++) {
		if (o->why >> bit & 1)
			fprintf(f, "  %s\n", replay_why_text((enum replay_grade_why)(1u << bit)));
	}
	makespan_print(&p, "recorded order (E1)", facts->e1_ns, o->e1_ns);
	makespan_print(&p, "simulation of locks and CPUs (E2)", facts->e2_ns, o->e2_ns);
	makespan_print(&p, "by wcprof's own rules", x->r.wcprof_ns, o->wcprof_ns);
	if (o->next != UINT32_MAX) {
		fputs("  then most of the critical path is  ", f);
		report_subject_print(&p, o->next, 60);
		fputc('\n', f);
	}
	for (unsigned bit = 0; bit < 32; bit++) {
		if (report_missing_unsaid(&x->r, o->why) >> bit & 1)
			fprintf(f, "  %s\n", replay_missing_text((enum replay_missing)(1u << bit)));
	}
}

static int json_print(const struct whatif *x, FILE *f)
{
	_cleanup_(json_freep) struct json *j = NULL;
	const struct replay_facts *facts = &x->r.replay_facts;

	if (answer_json_begin(f, "wcbpf_whatif", &j) < 0)
		return -ENOMEM;
	json_kv_string(j, "expression", x->expr);
	report_damage_json(&x->r, j);
	json_kv_int(j, "makespan_ns", facts->makespan_ns);
	json_kv_int(j, "e1_baseline_ns", facts->e1_ns);
	json_kv_int(j, "e2_baseline_ns", facts->e2_ns);
	json_kv_int(j, "wcprof_baseline_ns", x->r.wcprof_ns);
	json_kv_string(j, "engine", x->o.engine);
	json_kv_int(j, "saves_ns", saved_of(x));
	json_key(j, "outcome");
	report_outcome_json(j, &x->outcome);
	json_key(j, "next");
	json_begin_object(j);
	report_subject_json(&x->r, j, x->outcome.next);
	json_end_object(j);
	json_key(j, "missing");
	json_begin_array(j);
	for (unsigned bit = 0; bit < 32; bit++) {
		if (facts->missing >> bit & 1)
			json_string(j, replay_missing_text((enum replay_missing)(1u << bit)));
	}
	json_end_array(j);
	return answer_json_end(j);
}

static int evaluate(struct whatif *x, char **ret_why)
{
	_cleanup_(freep) char *problem = NULL;
	int e = report_replay_need(&x->r);

	if (e == -E2BIG)
		options_refuse(ret_why, "%s: too large to be replayed; cut it with --time", x->r.path);
	if (e == 0)
		e = replay_parse(x->r.replay, x->expr, &x->scenario, &problem);
	if (e < 0) {
		if (problem)
			options_refuse(ret_why, "%s", problem);
		return e;
	}
	e = report_wcprof_need(&x->r);
	return e < 0 ? e :
		       replay_evaluate(x->r.replay, &x->scenario, 1,
				       REPLAY_E1 | REPLAY_E2 | REPLAY_WCPROF | REPLAY_NEXT, &x->outcome);
}

static int whatif_run(struct whatif *x)
{
	static const struct answer_question question = {
		.missing = "whatif needs an expression: wcbpf whatif 'compress * 0.5'",
		.what = "what is to change",
		.example = "whatif 'compress * 0.5'",
	};
	_cleanup_(freep) char *why = NULL;
	int e = answer_begin(&question, &x->r, &x->o, &x->expr, &why);

	if (e == 0)
		e = evaluate(x, &why);
	if (e < 0) {
		log_error("%s", why ? why : strerror(-e));
		return EXIT_USAGE;
	}
	if (x->o.json)
		e = json_print(x, stdout);
	else
		text_print(x, stdout);
	return answer_end(e, "the answer");
}

int cmd_whatif(int argc, char **argv)
{
	_cleanup_(whatif_done) struct whatif x = { 0 };
	_cleanup_(freep) char *why = NULL;
	int status, e = report_options_parse(&x.o, options_whatif_rows, argc, argv, &why);

	if (verb_settle("whatif", e, why, &x.o.all, EXIT_USAGE, &status))
		return status;
	return whatif_run(&x);
}
