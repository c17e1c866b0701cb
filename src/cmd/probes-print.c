/* SPDX-License-Identifier: (LGPL-2.1 OR BSD-2-Clause) */
/*
 * A point is a paragraph: what it is called, its function, then a line for each
 * address. Sites lie by address in a plan, so each point gathers its own.
 */
#include <errno.h>
#include <inttypes.h>
#include <string.h>

#include "cmd/answer-json.h"
#include "cmd/probes.h"
#include "util/json.h"

#define EXITS_SHOWN_MAX 12

const char *probes_role_word(enum probe_role role)
{
	static const char *const words[] = {
		[PROBE_OP] = "op",     [PROBE_BEGIN] = "begin", [PROBE_END] = "end",   [PROBE_WAIT] = "wait",
		[PROBE_LOCK] = "lock", [PROBE_KEY] = "key",	[PROBE_SPAN] = "span", [PROBE_SPAN_END] = "span end",
	};

	return words[role];
}

static const char *site_kind_word(const struct probe_site *s)
{
	switch (s->wire.kind) {
	case WCBPF_SITE_ENTRY:
		return "entry";
	case WCBPF_SITE_EXIT:
		return s->return_probe ? "return" : s->tail ? "exit, to another function" : "exit";
	case WCBPF_SITE_MARK:
		return "mark";
	default:
		return "runtime";
	}
}

static const char *step_word(const struct probe_site *s)
{
	return s->return_probe			  ? "return probe"
	       : s->step == OBJFILE_STEP_EMULATED ? "emulated"
	       : s->step == OBJFILE_STEP_NOP	  ? "nop"
						  : "single step";
}

/* What one call is expected to cost: one entry, and one of the exits. */
static struct probe_cost call_cost(const struct probe_plan *p, uint32_t point)
{
	struct probe_cost sum = {0}, exits = {0};

	for (size_t i = 0; i < p->site_n; i++) {
		struct probe_cost c = probe_site_cost(&p->sites[i]);

		if (p->sites[i].point != point)
			continue;
		if (p->sites[i].wire.kind != WCBPF_SITE_EXIT) {
			sum.min_ns += c.min_ns;
			sum.max_ns += c.max_ns;
		} else {
			exits.min_ns = !exits.min_ns || c.min_ns < exits.min_ns ? c.min_ns : exits.min_ns;
			exits.max_ns = c.max_ns > exits.max_ns ? c.max_ns : exits.max_ns;
		}
	}
	return (struct probe_cost){.min_ns = sum.min_ns + exits.min_ns, .max_ns = sum.max_ns + exits.max_ns};
}

static const struct probe_site *first_site(const struct probe_plan *p, uint32_t point)
{
	for (size_t i = 0; i < p->site_n; i++)
		if (p->sites[i].point == point)
			return &p->sites[i];
	return NULL;
}

static void site_print(FILE *f, const struct probe_site *s)
{
	char text[sizeof(s->text)];
	size_t n = strlen(s->text);

	memcpy(text, s->text, sizeof(text));
	while (n && text[n - 1] == ' ')
		text[--n] = 0;
	fprintf(f, "    %-7s %#-12" PRIx64 "  %-28s  %s%s%s\n",
		s->wire.kind == WCBPF_SITE_EXIT ? (s->return_probe ? "return" : "exit") : site_kind_word(s), s->vaddr,
		text, step_word(s), s->tail ? ", to another function" : "",
		s->repeats && s->condition < 0 ? ", may be hit twice" : "");
}

static void point_print(FILE *f, const struct probe_plan *p, uint32_t point, bool color)
{
	const struct probe_point *pt = &p->points[point];
	const struct probe_site *first = first_site(p, point);
	struct probe_cost cost = call_cost(p, point);
	size_t exits = 0;

	fprintf(f, "  %s%s%s  %s%s%s\n", color ? "\033[1m" : "", pt->name, color ? "\033[0m" : "",
		probes_role_word(pt->role), pt->role == PROBE_OP || pt->role == PROBE_BEGIN ? " " : "",
		pt->role == PROBE_OP || pt->role == PROBE_BEGIN ? op_kind_name(pt->kind) : "");
	if (first)
		fprintf(f, "    %s\n", first->symbol);
	for (size_t i = 0; i < p->site_n; i++) {
		const struct probe_site *s = &p->sites[i];

		if (s->point != point)
			continue;
		if (s->wire.kind != WCBPF_SITE_EXIT || exits < EXITS_SHOWN_MAX)
			site_print(f, s);
		exits += s->wire.kind == WCBPF_SITE_EXIT;
	}
	if (exits > EXITS_SHOWN_MAX)
		fprintf(f, "    and %zu more exits\n", exits - EXITS_SHOWN_MAX);
	fprintf(f, "    expected to cost %.1f to %.1f us a %s\n", cost.min_ns / 1e3, cost.max_ns / 1e3,
		pt->role == PROBE_OP || pt->role == PROBE_WAIT || pt->role == PROBE_LOCK ? "call" : "hit");
}

static void runtime_print(FILE *f, const struct probe_plan *p)
{
	if (!p->follows_go)
		return;
	fprintf(f, "  the Go runtime: goroutines, their waits and who ends them\n");
	for (size_t i = 0; i < p->site_n; i++)
		if (p->sites[i].point == PROBE_NO_POINT) {
			fprintf(f, "    %s\n", p->sites[i].symbol);
			site_print(f, &p->sites[i]);
		}
}

static bool has_something(const struct probe_plan *p)
{
	return p->site_n || p->note_n;
}

static void file_print(FILE *f, const struct probes_file *file, bool color)
{
	const char *version = file->go ? objfile_go_version(file->go) : "";

	fprintf(f, "%s%s%s%s%s\n", color ? "\033[1m" : "", file->path, color ? "\033[0m" : "", *version ? "  " : "",
		version);
	for (uint32_t i = 0; i < file->plan->point_n; i++)
		point_print(f, file->plan, i, color);
	runtime_print(f, file->plan);
	if (file->plan->duplicates)
		fprintf(f, "  %zu more name%s of addresses that are probed already\n", file->plan->duplicates,
			file->plan->duplicates == 1 ? "" : "s");
	fputc('\n', f);
}

static size_t notes_print(FILE *f, const struct probe_note *v, size_t n, size_t before, bool color)
{
	for (size_t i = 0; i < n; i++) {
		if (!before++)
			fprintf(f, "What can't be, and what to know\n");
		fprintf(f, "  %s%s%s  %s\n", color && v[i].severity == PROBE_CAVEAT ? "\033[33m" : "",
			v[i].severity == PROBE_CAVEAT ? "caveat" : "note  ",
			color && v[i].severity == PROBE_CAVEAT ? "\033[0m" : "", v[i].text);
	}
	return before;
}

void probes_print(FILE *f, const struct probes_found *found, bool color)
{
	size_t points = 0, sites = 0, notes = 0;

	for (size_t i = 0; i < found->file_n; i++) {
		const struct probe_plan *p = found->files[i].plan;

		points += p->point_n;
		sites += p->site_n;
		if (has_something(p))
			file_print(f, &found->files[i], color);
	}
	for (size_t i = 0; i < found->file_n; i++)
		notes = notes_print(f, found->files[i].plan->notes, found->files[i].plan->note_n, notes, color);
	notes = notes_print(f, found->missing, found->missing_n, notes, color);
	fprintf(f, "%s%zu point%s, %zu address%s\n", notes ? "\n" : "", points, points == 1 ? "" : "s", sites,
		sites == 1 ? "" : "es");
}

/* ---- JSON ---- */

static void site_json(struct json *j, const struct probe_site *s)
{
	struct probe_cost c = probe_site_cost(s);

	json_begin_object(j);
	json_kv_string(j, "kind", s->wire.kind == WCBPF_SITE_EXIT ? "exit" : site_kind_word(s));
	json_kv_string(j, "symbol", s->symbol);
	json_kv_uint(j, "address", s->vaddr);
	json_kv_uint(j, "file_offset", s->file_offset);
	json_kv_uint(j, "function", s->function);
	json_kv_string(j, "instruction", s->text);
	json_kv_string(j, "step", step_word(s));
	json_kv_bool(j, "tail", s->tail);
	json_kv_bool(j, "return_probe", s->return_probe);
	json_kv_uint(j, "values", s->wire.fetch_n);
	json_kv_uint(j, "cost_min_ns", c.min_ns);
	json_kv_uint(j, "cost_max_ns", c.max_ns);
	json_end_object(j);
}

static void sites_json(struct json *j, const struct probe_plan *p, uint32_t point)
{
	json_begin_array(j);
	for (size_t i = 0; i < p->site_n; i++)
		if (p->sites[i].point == point)
			site_json(j, &p->sites[i]);
	json_end_array(j);
}

static void point_json(struct json *j, const struct probe_plan *p, uint32_t point)
{
	const struct probe_point *pt = &p->points[point];
	struct probe_cost cost = call_cost(p, point);

	json_begin_object(j);
	json_kv_string(j, "name", pt->name);
	json_kv_string(j, "place", pt->place);
	json_kv_string(j, "role", probes_role_word(pt->role));
	if (pt->role == PROBE_OP || pt->role == PROBE_BEGIN)
		json_kv_string(j, "kind", op_kind_name(pt->kind));
	json_kv_uint(j, "cost_min_ns", cost.min_ns);
	json_kv_uint(j, "cost_max_ns", cost.max_ns);
	json_key(j, "sites");
	sites_json(j, p, point);
	json_end_object(j);
}

static void notes_json(struct json *j, const struct probe_note *v, size_t n)
{
	json_begin_array(j);
	for (size_t i = 0; i < n; i++) {
		json_begin_object(j);
		json_kv_string(j, "severity", v[i].severity == PROBE_CAVEAT ? "caveat" : "note");
		json_kv_string(j, "text", v[i].text);
		json_end_object(j);
	}
	json_end_array(j);
}

static void file_json(struct json *j, const struct probes_file *file)
{
	json_begin_object(j);
	json_kv_string(j, "path", file->path);
	json_kv_string(j, "build_id", objfile_build_id(file->file));
	json_kv_bool(j, "program", file->is_program);
	json_kv_string(j, "go", file->go ? objfile_go_version(file->go) : "");
	json_kv_uint(j, "duplicates", file->plan->duplicates);
	json_key(j, "points");
	json_begin_array(j);
	for (uint32_t i = 0; i < file->plan->point_n; i++)
		point_json(j, file->plan, i);
	json_end_array(j);
	json_key(j, "go_runtime");
	sites_json(j, file->plan, PROBE_NO_POINT);
	json_key(j, "notes");
	notes_json(j, file->plan->notes, file->plan->note_n);
	json_end_object(j);
}

int probes_print_json(FILE *f, const char *target, const struct probes_found *found)
{
	_cleanup_(json_freep) struct json *j = NULL;
	int r = answer_json_begin(f, "wcbpf_probes", &j);

	if (r < 0)
		return r;
	json_kv_string(j, "version", WCBPF_VERSION);
	json_kv_string(j, "target", target);
	json_key(j, "files");
	json_begin_array(j);
	for (size_t i = 0; i < found->file_n; i++)
		file_json(j, &found->files[i]);
	json_end_array(j);
	json_key(j, "missing");
	notes_json(j, found->missing, found->missing_n);
	return answer_json_end(j);
}
