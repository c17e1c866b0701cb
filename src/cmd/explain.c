/* SPDX-License-Identifier: (LGPL-2.1 OR BSD-2-Clause) */
/*
 * One op: what it is, where it hangs, what its time went to, what it waited
 * for and who ended that, what lies below it, who waited for it. Named by its
 * id in the dump, or by its class: then it is the longest of that class.
 */
#include <errno.h>
#include <inttypes.h>
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
#include "util/parse.h"

enum {
	COLUMNS = 100,
	WAITS_DEFAULT = 12,
	TREE_DEFAULT = 20,
	WAITERS_DEFAULT = 5,
	DEPTH_SHOWN = 20
};

struct explain {
	struct report r;
	struct report_options o;
	const char *wanted; /* the first operand */
	uint32_t op;
	struct analyze_subtree tree;
	size_t class_n, shorter_n; /* ops of its class; of them the shorter ones */
	int64_t slack_ns;	   /* of its end, -1: not known */
	uint64_t path_ns;	   /* of the critical path in it and below it */
};

static void explain_done(struct explain *x)
{
	analyze_subtree_done(&x->tree);
	report_done(&x->r);
	report_options_done(&x->o);
}

static int64_t duration_of(const struct model_op *o)
{
	return o->end_ns - o->start_ns;
}

static bool has_kind(const char *wanted, const char *kind, const char *class)
{
	size_t n = strlen(kind);

	return strncmp(wanted, kind, n) == 0 && wanted[n] == ':' && strcmp(wanted + n + 1, class) == 0;
}

/* "KIND:CLASS", or the class alone; "thread:" and "goroutine:" are for ops of kind internal that are one. */
static bool class_matches(const struct model *m, const struct model_op *o, const char *wanted)
{
	const char *class = strtab_str(m->strings, o->class_id);

	return *class && (strcmp(class, wanted) == 0 || has_kind(wanted, op_kind_name(o->kind), class) ||
			  (o->kind == OP_INTERNAL && m->thread_n > 1 &&
			   has_kind(wanted, o->goid ? "goroutine" : "thread", class)));
}

/* 0; -ENOENT with *ret_why. */
static int op_find(struct explain *x, char **ret_why)
{
	const struct model *m = x->r.m;
	uint64_t id;
	bool by_id = parse_u64(x->wanted, &id) == 0;

	for (uint32_t i = 1; i < m->op_n; i++) {
		const struct model_op *o = &m->ops[i];

		if (by_id ? o->id == id : class_matches(m, o, x->wanted) &&
		    (!x->op || duration_of(o) > duration_of(&m->ops[x->op])))
			x->op = i;
	}
	if (x->op)
		return 0;
	options_refuse(ret_why,
		       by_id ? "there is no op %s in %s" :
			       "there is no op of class %s in %s "
			       "(wcbpf report --section classes lists them)",
		       x->wanted, x->r.path);
	return -ENOENT;
}

static void rank_find(struct explain *x)
{
	const struct model *m = x->r.m;
	const struct model_op *me = &m->ops[x->op];

	for (size_t i = 1; i < m->op_n; i++) {
		if (m->ops[i].kind != me->kind || m->ops[i].class_id != me->class_id)
			continue;
		x->class_n++;
		x->shorter_n += duration_of(&m->ops[i]) < duration_of(me);
	}
}

/* What it is to the whole: 0, -ENOMEM; a recording too large for a replay has no path. */
static int path_find(struct explain *x)
{
	_cleanup_(freep) int64_t *slacks = NULL;
	_cleanup_(freep) bool *below = calloc(x->r.m->op_n, sizeof(*below));
	int e = report_section_make(&x->r, SECTION_PATH);

	x->slack_ns = -1;
	if (e == -E2BIG)
		return 0;
	if (e == 0)
		e = replay_op_slacks(x->r.replay, &slacks);
	if (e < 0 || !below)
		return e < 0 ? e : -ENOMEM;
	/* More than there is: nothing ever waits for its end. */
	x->slack_ns = slacks[x->op] <= x->r.replay_facts.makespan_ns ? slacks[x->op] : -1;
	for (size_t i = 0; i < x->tree.op_n; i++)
		below[x->tree.ops[i].op] = true;
	for (size_t i = 0; i < x->r.stretch_n; i++) {
		const struct replay_stretch *s = &x->r.stretches[i];

		x->path_ns += below[s->op] ? (uint64_t)(s->end_ns - s->start_ns) : 0;
	}
	return 0;
}

/* ---- text ---- */

static void word_print(const struct page *p, const char *word, uint32_t id)
{
	if (!id)
		return;
	fprintf(p->f, "  %s ", word);
	report_name_print(p->f, page_string(p, id), 60);
}

static void identity_print(const struct page *p, const struct explain *x)
{
	const struct model_op *o = &x->r.m->ops[x->op];

	fprintf(p->f, "%sop %" PRIu64 "%s  ", p->bold, o->id, p->plain);
	page_class_print(p, o->kind, o->class_id, 60);
	fprintf(p->f, "  %s", page_time((uint64_t)duration_of(o)).text);
	if (o->outcome)
		fprintf(p->f, ", %s", op_outcome_name(o->outcome));
	if (o->has_exit_status)
		fprintf(p->f, ", %s", wording_status(o->exit_status).text);
	fprintf(p->f, "%s%s\n", o->open ? ", not ended" : "", o->unwound ? ", unwound" : "");
	fprintf(p->f, "  from %s to %s", page_time((uint64_t)o->start_ns).text, page_time((uint64_t)o->end_ns).text);
	if (o->pid)
		fprintf(p->f, "  pid %" PRIu32, o->pid);
	if (o->goid)
		fprintf(p->f, " goroutine %" PRIu64, o->goid);
	else if (o->tid)
		fprintf(p->f, " tid %" PRIu32, o->tid);
	word_print(p, "ident", o->ident_id);
	word_print(p, "client", o->client_id);
	fputc('\n', p->f);
	if (o->meta_id) {
		fputs("  ", p->f);
		report_name_print(p->f, page_string(p, o->meta_id), COLUMNS - 2);
		fputc('\n', p->f);
	}
	if (x->class_n > 1)
		fprintf(p->f, "  one of %s of its class, longer than %.1f%% of them\n", wording_count(x->class_n).text,
			100.0 * (double)x->shorter_n / (double)x->class_n);
}

static void path_print(const struct page *p, const struct explain *x)
{
	uint64_t makespan_ns = (uint64_t)x->r.replay_facts.makespan_ns;

	if (!makespan_ns)
		return;
	fprintf(p->f, "  on the critical path: %s with what is below it (%.1f%% of it)", page_time(x->path_ns).text,
		100.0 * (double)x->path_ns / (double)makespan_ns);
	if (x->slack_ns > 0)
		fprintf(p->f, "\n  could end %s later and delay nothing", page_time((uint64_t)x->slack_ns).text);
	fputc('\n', p->f);
}

/* Outermost first; of many the ends. */
static void parents_text(const struct page *p, const void *arg)
{
	enum { OUTER = 2, INNER = 8 };
	const struct explain *x = arg;

	fputs("below ", p->f);
	for (size_t i = x->tree.parent_n; i-- > 0;) {
		const struct model_op *o = &x->r.m->ops[x->tree.parents[i]];

		if (x->tree.parent_n > OUTER + INNER + 1 && i == x->tree.parent_n - OUTER - 1) {
			fprintf(p->f, "%s more > ", wording_count(i + 1 - INNER).text);
			i = INNER;
			continue;
		}
		page_class_print(p, o->kind, o->class_id, 30);
		fputs(i ? " > " : "\n", p->f);
	}
}

static void parents_print(const struct page *p, const struct explain *x)
{
	if (!x->tree.parent_n)
		return;
	fputs("  ", p->f);
	page_wrapped(p, 2, parents_text, x);
}

static void states_print(const struct page *p, const struct explain *x)
{
	const struct analyze_subtree *t = &x->tree;
	bool done[WHERE_MAX] = { false };

	page_title(p, "Its time");
	fputs(t->of_threads	     ? "  of all its threads\n" :
	      x->r.m->ops[x->op].tid ? "  with what its thread did below it\n" :
				       "\n",
	      p->f);
	for (unsigned n = 0; n < WHERE_MAX; n++) {
		unsigned most = WHERE_MAX;

		for (unsigned i = 0; i < WHERE_MAX; i++) {
			if (!done[i] && t->ns[i] && (most == WHERE_MAX || t->ns[i] > t->ns[most]))
				most = i;
		}
		if (most == WHERE_MAX)
			break;
		done[most] = true;
		fprintf(p->f, "%10s", page_time(t->ns[most]).text);
		page_percent(p->f, t->ns[most], t->total_ns);
		fprintf(p->f, "   %s\n", most == WHERE_UNKNOWN && !x->r.m->ops[x->op].tid && !t->of_threads ? "self" :
			analyze_where_name((enum analyze_where)most));
	}
	if (t->child_ns) {
		fprintf(p->f, "%10s", page_time(t->child_ns).text);
		page_percent(p->f, t->child_ns, t->total_ns);
		fputs("   in ops below\n", p->f);
	}
}

static void waker_print(const struct page *p, const struct model_wait *w)
{
	const struct model *m = p->r->m;
	uint32_t pid, tid, comm_id;

	if (w->ctx == WAKER_NONE || w->ctx == WAKER_TASK || w->ctx == WAKER_UNKNOWN) {
		if (model_wait_waker(m, w, &pid, &tid, &comm_id)) {
			page_who_print(p, *page_string(p, comm_id) ? page_string(p, comm_id) : "?",
				       m->threads[w->waker].goid, tid);
		} else if (w->target) {
			fprintf(p->f, "%sop %" PRIu64, analyze_wait_is_given_up(m, w) ? "nobody: given up before " : "",
				m->ops[w->target].id);
		} else {
			fputs(w->clipped & CLIPPED_AFTER && w->wake_ns < 0 ? "nobody yet" : "unknown", p->f);
		}
		return;
	}
	fputs(waker_ctx_name(w->ctx), p->f);
}

static int longest_compare(const void *a, const void *b, void *arg)
{
	const struct model *m = arg;
	const struct model_wait *x = &m->waits[*(const uint32_t *)a], *y = &m->waits[*(const uint32_t *)b];
	int64_t x_ns = x->blocked_ns + x->runnable_ns, y_ns = y->blocked_ns + y->runnable_ns;

	if (x_ns != y_ns)
		return x_ns > y_ns ? -1 : 1;
	return x->start_ns < y->start_ns ? -1 : x->start_ns > y->start_ns;
}

static void wait_print(const struct page *p, const struct model_wait *w)
{
	const struct model_row *row = &p->r->m->rows[w->row];

	fprintf(p->f, "%10s %10s %9s   ", page_time((uint64_t)w->start_ns).text,
		page_longest((uint64_t)w->blocked_ns, w->clipped != 0).text, page_time((uint64_t)w->runnable_ns).text);
	page_thing_print(p, row->reason, row->kind_id, analyze_awaited_name(p->r->m, w), 36);
	if (row->reason != REASON_CPU) {
		fputs("  ended by ", p->f);
		waker_print(p, w);
	}
	fputc('\n', p->f);
	if (!p->r->o->everything || (!row->ustack && !row->kstack))
		return;
	fprintf(p->f, "%34s", "");
	report_stack_print(p->f, p->r, row->kstack, row->ustack, COLUMNS - 34);
	fputc('\n', p->f);
}

/* The longest, in time order. */
static void waits_print(const struct page *p, const char *title, uint32_t *waits, size_t n, size_t lines)
{
	const struct model *m = p->r->m;
	size_t shown = page_lines_shown(n, p->r->o->top ? p->r->o->top : p->r->o->everything ? SIZE_MAX : lines);
	uint64_t rest_ns = 0;

	if (!n)
		return;
	page_title(p, "        at    blocked     ready   %s", title);
	fprintf(p->f, "%s\n", shown < n ? "  the longest" : "");
	if (shown < n) {
		/* Time order within those: they are sorted by length, and counted off by it. */
		qsort_r(waits, n, sizeof(*waits), longest_compare, (void *)(uintptr_t)m);
		for (size_t i = shown; i < n; i++)
			rest_ns += (uint64_t)m->waits[waits[i]].blocked_ns;
	}
	for (size_t i = 0; i < shown; i++)
		wait_print(p, &m->waits[waits[i]]);
	if (shown < n)
		fprintf(p->f, "%10s %10s %9s   in %s more\n", "", page_time(rest_ns).text, "",
			wording_count(n - shown).text);
}

static void tree_print(const struct page *p, const struct explain *x)
{
	const struct model *m = p->r->m;
	size_t shown = page_lines_shown(x->tree.op_n, x->o.top ? x->o.top : x->o.everything ? SIZE_MAX : TREE_DEFAULT);

	if (x->tree.op_n < 2)
		return;
	page_title(p, "        at   duration   Below it");
	fputc('\n', p->f);
	for (size_t i = 0; i < shown; i++) {
		const struct analyze_below *b = &x->tree.ops[i];
		const struct model_op *o = &m->ops[b->op];
		int depth = (int)(b->depth < DEPTH_SHOWN ? b->depth : DEPTH_SHOWN);

		fprintf(p->f, "%10s %10s   %*s", page_time((uint64_t)o->start_ns).text,
			page_longest((uint64_t)duration_of(o), o->clipped || o->open).text, 2 * depth, "");
		page_class_print(p, o->kind, o->class_id,
				 (unsigned)(COLUMNS - 40 - 2 * depth > 16 ? COLUMNS - 40 - 2 * depth : 16));
		fprintf(p->f, "  (op %" PRIu64 "%s%s)\n", o->id, o->outcome ? ", " : "", op_outcome_name(o->outcome));
	}
	page_more(p, x->tree.op_n, shown, 24);
}

static void text_print(struct explain *x, FILE *f)
{
	struct page p;

	page_init(&p, &x->r, f, COLUMNS, options_color_for(&x->o.all, STDOUT_FILENO));
	identity_print(&p, x);
	report_damage_print(&p);
	parents_print(&p, x);
	path_print(&p, x);
	states_print(&p, x);
	waits_print(&p, "Its waits", x->tree.waits, x->tree.wait_n, WAITS_DEFAULT);
	tree_print(&p, x);
	waits_print(&p, "Waits for it", x->tree.waiters, x->tree.waiter_n, WAITERS_DEFAULT);
}

/* ---- JSON ---- */

static void waits_json(const struct explain *x, struct json *j, const char *key, const uint32_t *waits, size_t n)
{
	json_key(j, key);
	json_begin_array(j);
	for (size_t i = 0; i < report_rows_max(&x->r, n); i++)
		report_wait_json(&x->r, j, waits[i]);
	json_end_array(j);
}

static int json_print(const struct explain *x, FILE *f)
{
	_cleanup_(json_freep) struct json *j = NULL;
	const struct model *m = x->r.m;

	if (answer_json_begin(f, "wcbpf_explain", &j) < 0)
		return -ENOMEM;
	report_damage_json(&x->r, j);
	json_key(j, "op");
	report_op_json(&x->r, j, x->op);
	json_kv_uint(j, "ops_of_class", x->class_n);
	json_kv_uint(j, "shorter_ones", x->shorter_n);
	json_kv_bool(j, "times_are_of_threads", x->tree.of_threads);
	json_kv_uint(j, "total_ns", x->tree.total_ns);
	report_where_json(j, "ns", x->tree.ns);
	json_kv_uint(j, "children_ns", x->tree.child_ns);
	json_kv_uint(j, "path_ns", x->path_ns);
	json_kv_int_or_null(j, "slack_ns", x->slack_ns >= 0, x->slack_ns);
	json_key(j, "parents");
	json_begin_array(j);
	for (size_t i = 0; i < x->tree.parent_n; i++)
		json_uint(j, m->ops[x->tree.parents[i]].id);
	json_end_array(j);
	waits_json(x, j, "waits", x->tree.waits, x->tree.wait_n);
	json_key(j, "tree");
	json_begin_array(j);
	for (size_t i = 0; i < report_rows_max(&x->r, x->tree.op_n); i++)
		report_op_json(&x->r, j, x->tree.ops[i].op);
	json_end_array(j);
	waits_json(x, j, "waits_for_it", x->tree.waiters, x->tree.waiter_n);
	return answer_json_end(j);
}

static int explain_run(struct explain *x)
{
	static const struct answer_question question = {
		.missing = "explain needs an op: its id or its class (wcbpf explain exec:ld)",
		.what = "the op",
		.example = "explain exec:ld",
	};
	_cleanup_(freep) char *why = NULL;
	int e = answer_begin(&question, &x->r, &x->o, &x->wanted, &why);

	if (e == 0)
		e = op_find(x, &why);
	if (e == 0)
		e = analyze_subtree(x->r.m, x->op, &x->tree);
	if (e == 0)
		e = path_find(x);
	if (e < 0) {
		log_error("%s", why ? why : strerror(-e));
		return EXIT_USAGE;
	}
	rank_find(x);
	if (x->o.json)
		e = json_print(x, stdout);
	else
		text_print(x, stdout);
	return answer_end(e, "the explanation");
}

int cmd_explain(int argc, char **argv)
{
	_cleanup_(explain_done) struct explain x = { 0 };
	_cleanup_(freep) char *why = NULL;
	int status, e = report_options_parse(&x.o, options_explain_rows, argc, argv, &why);

	if (verb_settle("explain", e, why, &x.o.all, EXIT_USAGE, &status))
		return status;
	return explain_run(&x);
}
