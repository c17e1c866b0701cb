/* SPDX-License-Identifier: (LGPL-2.1 OR BSD-2-Clause) */
/* Blocking chains, root cause last, with the stacks of both ends. */
#include <stdlib.h>

#include "cmd/report-sections.h"

enum { NUMBERS_COLUMNS = 34, ACTOR_COLUMNS = 24 };

int report_chains_make(struct report *r)
{
	struct analyze_filter f = r->filter;
	int e = report_actors_make(r);

	f.idle = r->o->everything ? ANALYZE_IDLE_TOO : ANALYZE_IDLE_NOT;
	return e < 0 ? e : analyze_chains(r->m, &f, &r->actors, &r->chains, &r->chain_n);
}

static const char *step_word(const struct page *p, const struct analyze_chain_step *s)
{
	const char *kind = page_string(p, s->kind_id);

	return *kind ? kind : wait_reason_name((enum wait_reason)s->reason);
}

static void root_print(const struct page *p, const struct analyze_chain *c)
{
	const char *name = page_string(p, c->root_name_id);

	switch ((enum analyze_chain_root)c->root) {
	case ANALYZE_ROOT_RAN:
		page_actor_print(p, &p->r->actors.list[c->root_actor], ACTOR_COLUMNS);
		fputs(" running", p->f);
		return;
	case ANALYZE_ROOT_OUTSIDE:
		page_actor_print(p, &p->r->actors.list[c->root_actor], ACTOR_COLUMNS + 16);
		return;
	case ANALYZE_ROOT_DEVICE:
		fputs(waker_ctx_name(c->root_ctx), p->f);
		if (*name && c->root_ctx != WAKER_TIMER) {
			fputc(' ', p->f);
			report_path_print(p->f, name, 40);
		}
		return;
	case ANALYZE_ROOT_OPEN:
		fputs("nobody yet", p->f);
		return;
	case ANALYZE_ROOT_UNKNOWN:
		fputs("unknown", p->f);
		return;
	}
}

static void chain_print(const struct page *p, const struct analyze_chain *c, bool stacks)
{
	fprintf(p->f, "%10s %10s %9s   ", page_time(c->ns).text, page_time(c->longest_ns).text,
		wording_count(c->count).text);
	for (unsigned i = 0; i < c->step_n; i++) {
		fputs(i ? " <- " : "", p->f);
		page_actor_print(p, &p->r->actors.list[c->steps[i].actor], ACTOR_COLUMNS);
		fputs(" in ", p->f);
		report_name_print(p->f, step_word(p, &c->steps[i]), 16);
	}
	fputs(" <- ", p->f);
	root_print(p, c);
	fputc('\n', p->f);
	if (!stacks)
		return;
	if (c->kstack || c->ustack) {
		fprintf(p->f, "%*s", NUMBERS_COLUMNS, "");
		report_caller_print(p->f, p->r, c->kstack, c->ustack, p->columns - NUMBERS_COLUMNS);
		fputc('\n', p->f);
	}
	if ((c->root_kstack || c->root_ustack) && (c->root_ustack != c->ustack || c->root_kstack != c->kstack)) {
		fprintf(p->f, "%*s<- ", NUMBERS_COLUMNS, "");
		report_caller_print(p->f, p->r, c->root_kstack, c->root_ustack, p->columns - NUMBERS_COLUMNS - 3);
		fputc('\n', p->f);
	}
}

void report_chains_text(const struct page *p)
{
	const struct report *r = p->r;
	size_t max = page_lines_max(p, SECTION_CHAINS), shown = page_lines_shown(r->chain_n, max);

	if (!r->chain_n)
		return;
	page_title(p, "   blocked    longest     count   Blocking chains");
	fputs("  waiter <- why it lasted .. <- root\n", p->f);
	for (size_t i = 0; i < shown; i++)
		chain_print(p, &r->chains[i], r->o->sections || r->o->everything);
	page_more(p, r->chain_n, shown, NUMBERS_COLUMNS);
}

static void chain_json(const struct report *r, struct json *j, const struct analyze_chain *c)
{
	static const char *const roots[] = { "ran", "outside", "device", "open", "unknown" };

	json_begin_object(j);
	json_kv_uint(j, "count", c->count);
	json_kv_uint(j, "blocked_ns", c->ns);
	json_kv_uint(j, "longest_ns", c->longest_ns);
	json_key(j, "steps");
	json_begin_array(j);
	for (unsigned i = 0; i < c->step_n; i++) {
		const struct analyze_actor *a = &r->actors.list[c->steps[i].actor];

		json_begin_object(j);
		report_string_json(r, j, "program", a->program_id);
		report_string_json(r, j, "thread_name", a->name_id);
		json_kv_string(j, "reason", wait_reason_name((enum wait_reason)c->steps[i].reason));
		report_string_json(r, j, "wait_kind", c->steps[i].kind_id);
		json_end_object(j);
	}
	json_end_array(j);
	json_kv_string(j, "root", roots[c->root]);
	json_kv_string(j, "root_device", c->root == ANALYZE_ROOT_DEVICE ? waker_ctx_name(c->root_ctx) : NULL);
	report_string_json(r, j, "root_thread_name", r->actors.list[c->root_actor].name_id);
	report_string_json(r, j, "root_name", c->root_name_id);
	report_frames_json(r, j, "user_frames", c->ustack);
	report_frames_json(r, j, "kernel_frames", c->kstack);
	report_frames_json(r, j, "root_user_frames", c->root_ustack);
	report_frames_json(r, j, "root_kernel_frames", c->root_kstack);
	json_end_object(j);
}

void report_chains_json(const struct report *r, struct json *j)
{
	json_begin_array(j);
	for (size_t i = 0; i < report_rows_max(r, r->chain_n); i++)
		chain_json(r, j, &r->chains[i]);
	json_end_array(j);
}
