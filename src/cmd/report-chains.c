/* SPDX-License-Identifier: (LGPL-2.1 OR BSD-2-Clause) */
/* Blocking chains, root cause last, with the stacks of both ends. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "cmd/report-sections.h"
#include "util/cleanup.h"
#include "util/strtab.h"
#include "util/vec.h"

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

static void label_print(const struct page *p, const struct analyze_chain *c, bool stacks)
{
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

/* Chains that read the same are one line. */
struct line {
	uint32_t label; /* of lines.labels */
	uint64_t ns, longest_ns, count, n;
};
struct lines {
	struct strtab *labels;
	struct line *v; /* by label, then most time first */
	size_t n, cap;
};

static void lines_done(struct lines *x)
{
	strtab_free(x->labels);
	free(x->v);
}

static int line_compare(const void *a, const void *b)
{
	const struct line *x = a, *y = b;

	if (x->ns != y->ns)
		return x->ns > y->ns ? -1 : 1;
	return x->label < y->label ? -1 : x->label > y->label;
}

static int line_add(const struct page *p, struct lines *x, const struct analyze_chain *c, bool stacks)
{
	_cleanup_(freep) char *text = NULL;
	struct page inner = *p;
	uint32_t label;
	size_t size;

	inner.f = open_memstream(&text, &size);
	if (!inner.f)
		return -ENOMEM;
	label_print(&inner, c, stacks);
	if (fclose(inner.f) != 0 || strtab_intern(x->labels, text, &label) < 0 || VEC_RESERVE(x->v, x->cap, label + 1) < 0)
		return -ENOMEM;
	for (; x->n <= label; x->n++)
		x->v[x->n] = (struct line){ .label = (uint32_t)x->n };
	x->v[label].ns += c->ns;
	x->v[label].count += c->count;
	x->v[label].n++;
	x->v[label].longest_ns = c->longest_ns > x->v[label].longest_ns ? c->longest_ns : x->v[label].longest_ns;
	return 0;
}

static void line_print(const struct page *p, const struct lines *x, const struct line *l)
{
	const char *label = strtab_str(x->labels, l->label), *rest = strchr(label, '\n');

	fprintf(p->f, "%10s %10s %9s   %.*s", page_time(l->ns).text, page_time(l->longest_ns).text,
		wording_count(l->count).text, (int)(rest - label), label);
	if (l->n > 1)
		fprintf(p->f, " (%s alike)", wording_count(l->n).text);
	fputs(rest, p->f);
}

void report_chains_text(const struct page *p)
{
	_cleanup_(lines_done) struct lines x = { 0 };
	const struct report *r = p->r;
	size_t shown;

	if (!r->chain_n || strtab_new(&x.labels) < 0)
		return;
	for (size_t i = 0; i < r->chain_n; i++) {
		if (line_add(p, &x, &r->chains[i], r->o->sections || r->o->everything) < 0)
			return;
	}
	qsort(x.v, x.n, sizeof(*x.v), line_compare);
	/* Label 0 is of none: it is the last. */
	x.n--;
	shown = page_lines_shown(x.n, page_lines_max(p, SECTION_CHAINS));
	page_title(p, "   blocked    longest     count   Blocking chains");
	fputs("  waiter <- why it lasted .. <- root\n", p->f);
	for (size_t i = 0; i < shown; i++)
		line_print(p, &x, &x.v[i]);
	page_more(p, x.n, shown, NUMBERS_COLUMNS);
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
