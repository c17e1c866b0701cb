/* SPDX-License-Identifier: (LGPL-2.1 OR BSD-2-Clause) */
/* Time on the CPU, by function. */
#include <string.h>

#include "cmd/report-page.h"
#include "cmd/report-sections.h"
#include "util/cleanup.h"

enum { ONCPU_COLUMNS = 30, UNSAMPLED_SHARE = 20 };

/* "copy_page [kernel] < main": of a thread interrupted in the kernel its innermost function, then the user's. */
static void function_print(const struct page *p, const struct analyze_function *e, unsigned columns)
{
	const struct model *m = p->r->m;
	const struct model_stack *kernel = &m->stacks[e->kstack];
	_cleanup_(freep) char *name = kernel->frame_n ? report_frame_name(m, &kernel->frames[0], true) : NULL;
	unsigned used;

	if (!name) {
		report_stack_print(p->f, p->r, e->kstack, e->ustack, columns);
		return;
	}
	used = report_name_print(p->f, name, columns / 2);
	used += (unsigned)fprintf(p->f, " [kernel]");
	if (!m->stacks[e->ustack].frame_n)
		return;
	used += (unsigned)fprintf(p->f, " < ");
	report_stack_print(p->f, p->r, 0, e->ustack, columns > used + 8 ? columns - used : 8);
}

static void oncpu_line_print(const struct page *p, uint64_t ns, uint64_t count)
{
	fprintf(p->f, "%10s", page_time(ns).text);
	page_percent(p->f, ns, p->r->time.oncpu_ns);
	fprintf(p->f, " %9s   ", wording_count(count).text);
}

static bool is_by_op(const struct report *r)
{
	return r->filter.class_n || r->filter.client_n;
}

uint64_t report_unsampled_ns(const struct report *r)
{
	return !is_by_op(r) && r->time.oncpu_ns > r->sampled_ns ? r->time.oncpu_ns - r->sampled_ns : 0;
}

/* Short threads and processes are rarely met. On a page they are crumbs, unless they are much of it all. */
static bool unsampled_is_told(const struct page *p)
{
	const struct report *r = p->r;
	uint64_t rest_ns = report_unsampled_ns(r);

	return rest_ns && (r->o->sections || r->o->everything || rest_ns * UNSAMPLED_SHARE >= r->time.oncpu_ns);
}

void report_oncpu_text(const struct page *p)
{
	const struct report *r = p->r;
	uint64_t rest_ns = r->sampled_ns, rest_n = r->sample_n;
	size_t shown = page_lines_shown(r->function_n, page_lines_max(p, SECTION_ONCPU));

	if (!r->function_n && !r->m->sample_hz) {
		fprintf(p->f, "\n%sOn CPU%s  no samples in this dump (wcbpf record --mode wall takes them)\n", p->bold,
			p->plain);
		return;
	}
	if (is_by_op(r) || (!r->function_n && !report_unsampled_ns(r))) {
		/* A page says nothing of what it has nothing of. */
		if (r->o->sections || r->o->everything)
			fprintf(p->f, "\n%sOn CPU%s  %s\n", p->bold, p->plain,
				is_by_op(r) ? "samples know their thread, not its op: none with --class or --client" :
					      "no sample of what was asked for");
		return;
	}
	fprintf(p->f,
		"\n%s     total      %%   samples   On CPU by function%s"
		"  innermost, < its caller (%u Hz)\n",
		p->bold, p->plain, r->m->sample_hz);
	for (size_t i = 0; i < shown; i++) {
		const struct analyze_function *e = &r->functions[i];

		oncpu_line_print(p, e->ns, e->count);
		function_print(p, e, p->columns - ONCPU_COLUMNS);
		fputc('\n', p->f);
		rest_ns -= e->ns;
		rest_n -= e->count;
	}
	if (r->function_n > shown) {
		oncpu_line_print(p, rest_ns, rest_n);
		fprintf(p->f, "in %s more\n", wording_count(r->function_n - shown).text);
	}
	if (unsampled_is_told(p)) {
		oncpu_line_print(p, report_unsampled_ns(r), 0);
		fputs("in threads that no sample met\n", p->f);
	}
}
