/* SPDX-License-Identifier: (LGPL-2.1 OR BSD-2-Clause) */
/* The views of stacks that sampling profilers have, with blocked time beside the CPU's. */
#include <errno.h>
#include <regex.h>
#include <stdlib.h>
#include <string.h>

#include "cmd/report-sections.h"
#include "util/cleanup.h"

enum { NUMBERS_COLUMNS = 50 };

static int frames_make(struct report *r, enum analyze_frames_view view, const bool *below, const bool *skip)
{
	struct analyze_filter filter = r->filter;
	struct analyze_frames_options o = { .view = view, .filter = &filter, .binary = r->o->binary, .below = below,
					    .skip = skip };

	filter.idle = r->o->everything ? ANALYZE_IDLE_TOO : ANALYZE_IDLE_NOT;
	return analyze_frames(r->m, &o, &r->frames[view]);
}

int report_library_make(struct report *r)
{
	return frames_make(r, ANALYZE_FRAMES_LIBRARY, NULL, NULL);
}

int report_self_make(struct report *r)
{
	return frames_make(r, ANALYZE_FRAMES_SELF, NULL, NULL);
}

int report_inclusive_make(struct report *r)
{
	return frames_make(r, ANALYZE_FRAMES_INCLUSIVE, NULL, NULL);
}

int report_own_make(struct report *r)
{
	int e = frames_make(r, ANALYZE_FRAMES_OWN_SELF, NULL, NULL);

	return e < 0 ? e : frames_make(r, ANALYZE_FRAMES_OWN_INCLUSIVE, NULL, NULL);
}

int report_nearest_make(struct report *r)
{
	return frames_make(r, ANALYZE_FRAMES_NEAREST, NULL, NULL);
}

/* By string of the model: it matches. NULL pattern: none does, *ret is NULL. 0, -ENOMEM. */
static int matches_make(const struct model *m, const char *pattern, bool **ret)
{
	regex_t re;

	if (!pattern)
		return 0;
	/* It was compiled when the options were read. */
	if (regcomp(&re, pattern, REG_EXTENDED | REG_NOSUB) != 0)
		return -ENOMEM;
	*ret = calloc(strtab_n(m->strings), sizeof(**ret));
	for (uint32_t i = 1; *ret && i < strtab_n(m->strings); i++)
		(*ret)[i] = regexec(&re, strtab_str(m->strings, i), 0, NULL, 0) == 0;
	regfree(&re);
	return *ret ? 0 : -ENOMEM;
}

int report_below_make(struct report *r)
{
	_cleanup_(freep) bool *below = NULL, *skip = NULL;

	if (!r->o->below)
		return 0;
	if (matches_make(r->m, r->o->below, &below) < 0 || matches_make(r->m, r->o->skip, &skip) < 0)
		return -ENOMEM;
	return frames_make(r, ANALYZE_FRAMES_BELOW, below, skip);
}

static void name_print(const struct page *p, const struct analyze_frame *f, bool library, const char *none,
		       unsigned columns)
{
	const struct model *m = p->r->m;
	const char *path = page_string(p, m->modules[f->frame.module].path_id);
	_cleanup_(freep) char *name = library ? strdup(*path ? path : "unknown") :
						report_frame_name(m, &f->frame, true);
	const char *slash = strrchr(path, '/');
	unsigned used;

	if (f->none || !name) {
		fputs(f->none ? none : "?", p->f);
		return;
	}
	if (library) {
		report_path_print(p->f, name, columns);
		return;
	}
	used = report_name_print(p->f, name, columns > 24 ? columns - 16 : columns);
	if (f->frame.name_id && *path && used + 12 < columns) {
		fputs("  ", p->f);
		report_name_print(p->f, slash && slash[1] ? slash + 1 : path, columns - used - 2);
	}
}

static const char *none_of(enum analyze_frames_view view)
{
	return view == ANALYZE_FRAMES_NEAREST ? "[none on the stack]" :
	       view == ANALYZE_FRAMES_BELOW   ? "[outermost]" :
						"[no stack]";
}

static void frames_print(const struct page *p, enum analyze_frames_view view, enum report_section section,
			 const char *title, const char *last)
{
	const struct analyze_frames *x = &p->r->frames[view];
	size_t shown = page_lines_shown(x->n, page_lines_max(p, section));

	if (!x->n)
		return;
	page_title(p, "      CPU      %%  samples   blocked      %%    waits   %s", title);
	fprintf(p->f, "%s%s\n", *last ? "  " : "", last);
	for (size_t i = 0; i < shown; i++) {
		const struct analyze_frame *f = &x->list[i];

		fprintf(p->f, "%9s", page_time(f->cpu_ns).text);
		page_percent(p->f, f->cpu_ns, x->all_cpu_ns);
		fprintf(p->f, " %8s %9s", wording_count(f->cpu_n).text, page_time(f->blocked_ns).text);
		page_percent(p->f, f->blocked_ns, x->all_blocked_ns);
		fprintf(p->f, " %8s   ", wording_count(f->blocked_n).text);
		name_print(p, f, view == ANALYZE_FRAMES_LIBRARY, none_of(view), p->columns - NUMBERS_COLUMNS - 4);
		fputc('\n', p->f);
	}
	page_more(p, x->n, shown, NUMBERS_COLUMNS + 4);
}

void report_library_text(const struct page *p)
{
	frames_print(p, ANALYZE_FRAMES_LIBRARY, SECTION_LIBRARY, "By library", "of the innermost frame");
}

void report_self_text(const struct page *p)
{
	frames_print(p, ANALYZE_FRAMES_SELF, SECTION_SELF, "Functions, self", "the innermost frame");
}

void report_inclusive_text(const struct page *p)
{
	frames_print(p, ANALYZE_FRAMES_INCLUSIVE, SECTION_INCLUSIVE, "Functions, inclusive", "with all they call");
}

void report_own_text(const struct page *p)
{
	frames_print(p, ANALYZE_FRAMES_OWN_SELF, SECTION_OWN, "The program's functions, self", "");
	frames_print(p, ANALYZE_FRAMES_OWN_INCLUSIVE, SECTION_OWN, "The program's functions, inclusive", "");
}

void report_nearest_text(const struct page *p)
{
	frames_print(p, ANALYZE_FRAMES_NEAREST, SECTION_NEAREST, "By nearest own function",
		     "with all below it");
}

void report_below_text(const struct page *p)
{
	const struct analyze_frames *x = &p->r->frames[ANALYZE_FRAMES_BELOW];

	if (!p->r->o->below) {
		if (p->r->o->sections != SECTIONS_ALL)
			fputs("\nBelow: --below REGEX names the functions\n", p->f);
		return;
	}
	page_title(p, "Below /");
	report_name_print(p->f, p->r->o->below, 40);
	fprintf(p->f, "/: CPU %s", page_time(x->cpu_ns).text);
	page_percent(p->f, x->cpu_ns, x->all_cpu_ns);
	fprintf(p->f, " of %s, blocked %s", page_time(x->all_cpu_ns).text, page_time(x->blocked_ns).text);
	page_percent(p->f, x->blocked_ns, x->all_blocked_ns);
	fprintf(p->f, " of %s\n", page_time(x->all_blocked_ns).text);
	frames_print(p, ANALYZE_FRAMES_BELOW, SECTION_BELOW, "By who asked", "the caller of the outermost match");
}

static void frames_list_json(const struct report *r, struct json *j, enum analyze_frames_view view)
{
	const struct analyze_frames *x = &r->frames[view];

	json_begin_array(j);
	for (size_t i = 0; i < report_rows_max(r, x->n); i++) {
		const struct analyze_frame *f = &x->list[i];
		bool library = view == ANALYZE_FRAMES_LIBRARY;
		_cleanup_(freep) char *name = f->none || library ? NULL : report_frame_name(r->m, &f->frame, false);

		json_begin_object(j);
		if (!library)
			json_kv_string(j, "function", name);
		report_string_json(r, j, "file", r->m->modules[f->frame.module].path_id);
		json_kv_bool(j, "in_kernel", f->kernel);
		json_kv_uint(j, "oncpu_ns", f->cpu_ns);
		json_kv_uint(j, "samples", f->cpu_n);
		json_kv_uint(j, "blocked_ns", f->blocked_ns);
		json_kv_uint(j, "waits", f->blocked_n);
		json_kv_uint(j, "stack_count", f->stack_n);
		json_end_object(j);
	}
	json_end_array(j);
}

static void frames_json(const struct report *r, struct json *j, enum analyze_frames_view view)
{
	const struct analyze_frames *x = &r->frames[view];

	json_begin_object(j);
	json_kv_uint(j, "all_oncpu_ns", x->all_cpu_ns);
	json_kv_uint(j, "all_blocked_ns", x->all_blocked_ns);
	if (view == ANALYZE_FRAMES_BELOW) {
		json_kv_string(j, "below", r->o->below);
		json_kv_uint(j, "oncpu_ns", x->cpu_ns);
		json_kv_uint(j, "blocked_ns", x->blocked_ns);
	}
	json_key(j, "list");
	frames_list_json(r, j, view);
	json_end_object(j);
}

void report_library_json(const struct report *r, struct json *j)
{
	frames_json(r, j, ANALYZE_FRAMES_LIBRARY);
}

void report_self_json(const struct report *r, struct json *j)
{
	frames_json(r, j, ANALYZE_FRAMES_SELF);
}

void report_inclusive_json(const struct report *r, struct json *j)
{
	frames_json(r, j, ANALYZE_FRAMES_INCLUSIVE);
}

void report_own_json(const struct report *r, struct json *j)
{
	json_begin_object(j);
	json_key(j, "self");
	frames_json(r, j, ANALYZE_FRAMES_OWN_SELF);
	json_key(j, "inclusive");
	frames_json(r, j, ANALYZE_FRAMES_OWN_INCLUSIVE);
	json_end_object(j);
}

void report_nearest_json(const struct report *r, struct json *j)
{
	frames_json(r, j, ANALYZE_FRAMES_NEAREST);
}

void report_below_json(const struct report *r, struct json *j)
{
	if (r->o->below)
		frames_json(r, j, ANALYZE_FRAMES_BELOW);
	else
		json_null(j);
}
