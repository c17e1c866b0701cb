/* SPDX-License-Identifier: (LGPL-2.1 OR BSD-2-Clause) */
#include "cmd/report-page.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include "util/cleanup.h"

void page_init(struct page *p, const struct report *r, FILE *f, unsigned columns, bool color)
{
	*p = (struct page){
		.r = r,
		.f = f,
		.columns = columns < 80 ? 80 : columns,
		.bold = color ? "\033[1m" : "",
		.good = color ? "\033[1;32m" : "",
		.bad = color ? "\033[1;31m" : "",
		.plain = color ? "\033[0m" : "",
	};
}

struct wording page_time(uint64_t ns)
{
	struct wording w = { "0" };

	if (ns >= 1000)
		return wording_duration(ns);
	if (ns)
		snprintf(w.text, sizeof(w.text), "%" PRIu64 " ns", ns);
	return w;
}

struct wording page_signed_time(int64_t ns)
{
	struct wording w;

	snprintf(w.text, sizeof(w.text), "%s%.40s", ns < 0 ? "-" : "",
		 page_time(ns < 0 ? -(uint64_t)ns : (uint64_t)ns).text);
	return w;
}

struct wording page_seconds(uint64_t ns)
{
	struct wording w;

	snprintf(w.text, sizeof(w.text), "%.*f", ns && ns < 10000000 ? 6 : 2, (double)ns / 1e9);
	return w;
}

struct wording page_longest(uint64_t ns, bool cut)
{
	struct wording w;

	snprintf(w.text, sizeof(w.text), "%s%.40s", cut && ns ? ">=" : "", page_time(ns).text);
	return w;
}

void page_percent(FILE *f, uint64_t part, uint64_t whole)
{
	if (whole)
		fprintf(f, " %5.1f%%", 100.0 * (double)part / (double)whole);
	else
		fprintf(f, "       ");
}

size_t page_lines_max(const struct page *p, enum report_section section)
{
	const struct report_options *o = p->r->o;

	return o->top ? o->top : o->sections || o->everything ? SIZE_MAX : p->lines[section];
}

size_t page_lines_shown(size_t count, size_t max)
{
	return count <= max || count - max == 1 ? count : max;
}

void page_title(const struct page *p, const char *fmt, ...)
{
	va_list ap;

	fprintf(p->f, "\n%s", p->bold);
	va_start(ap, fmt);
	vfprintf(p->f, fmt, ap);
	va_end(ap);
	fprintf(p->f, "%s", p->plain);
}

void page_more(const struct page *p, size_t count, size_t shown, unsigned indent)
{
	if (count > shown)
		fprintf(p->f, "%*s%s more\n", (int)indent, "", wording_count(count - shown).text);
}

void page_wrapped_print(const struct page *p, const char *text, unsigned indent)
{
	unsigned column = indent;

	while (*text) {
		size_t blanks = strspn(text, " "), n = blanks + strcspn(text + blanks, " \n");

		if (column > indent && column + n > p->columns) {
			fprintf(p->f, "\n%*s", (int)indent, "");
			column = indent;
			text += blanks;
			n -= blanks;
		}
		column += (unsigned)fprintf(p->f, "%.*s", (int)n, text);
		text += n;
		if (*text == '\n' && text[1])
			fprintf(p->f, "\n%*s", (int)indent, "");
		if (*text == '\n') {
			column = indent;
			text++;
		}
	}
	fputc('\n', p->f);
}

void page_wrapped(const struct page *p, unsigned indent, void (*print)(const struct page *p, const void *arg),
		  const void *arg)
{
	_cleanup_(freep) char *text = NULL;
	struct page inner = *p;
	size_t size;

	inner.f = open_memstream(&text, &size);
	if (!inner.f)
		return;
	print(&inner, arg);
	if (fclose(inner.f) == 0)
		page_wrapped_print(p, text, indent);
}

const char *page_string(const struct page *p, uint32_t id)
{
	return strtab_str(p->r->m->strings, id);
}

unsigned page_who_print(const struct page *p, const char *name, uint64_t goid, uint32_t tid)
{
	const char *slash = goid ? strrchr(name, '/') : NULL;
	unsigned used;

	/* Of "go.example.org/raft.(*node).run" what tells it apart is at the end. */
	used = report_name_print(p->f, slash && slash[1] ? slash + 1 : name, goid ? 28 : 16);
	return used + (unsigned)(goid ? fprintf(p->f, " (goroutine %" PRIu64 ")", goid) :
					fprintf(p->f, " (tid %" PRIu32 ")", tid));
}

unsigned page_thread_print(const struct page *p, uint32_t thread)
{
	const struct model_thread *t = &p->r->m->threads[thread];

	return page_who_print(p, page_string(p, t->comm_id), t->goid, t->tid);
}

/* A thread's own ops are named after it, a goroutine's after its function. Others of that kind are what the dump says. */
static const char *kind_word(const struct model *m, enum op_kind kind, uint32_t class_id)
{
	if (kind != OP_INTERNAL)
		return op_kind_name(kind);
	for (size_t i = 1; i < m->thread_n; i++) {
		if (m->threads[i].comm_id == class_id)
			return m->threads[i].goid ? "goroutine" : "thread";
	}
	return op_kind_name(kind);
}

unsigned page_class_print(const struct page *p, enum op_kind kind, uint32_t class_id, unsigned columns)
{
	const char *class = page_string(p, class_id);
	unsigned used;

	if (!*class)
		return report_name_print(p->f, op_kind_name(kind), columns);
	used = (unsigned)fprintf(p->f, "%s ", kind_word(p->r->m, kind, class_id));
	return used + report_name_print(p->f, class, columns > used + 8 ? columns - used : 8);
}

unsigned page_actor_print(const struct page *p, const struct analyze_actor *a, unsigned columns)
{
	const char *program = page_string(p, a->program_id), *name = page_string(p, a->name_id);
	unsigned used = 0;

	if (a->outside)
		return report_name_print(p->f, *name ? name : "?", columns > 6 ? columns - 6 : columns) +
		       (unsigned)fprintf(p->f, " (not recorded)");
	if (!*name && !*program)
		return report_name_print(p->f, "unknown", columns);
	if (*program && strcmp(program, name) != 0) {
		used = report_name_print(p->f, program, columns / 2);
		used += (unsigned)fprintf(p->f, "/");
	}
	return used + report_name_print(p->f, name, columns > used + 4 ? columns - used : 4);
}

unsigned report_awaited_print(const struct report *r, FILE *f, enum wait_reason reason, uint32_t kind_id,
			      uint32_t name_id, unsigned columns)
{
	const char *kind = strtab_str(r->m->strings, kind_id), *name = strtab_str(r->m->strings, name_id);
	unsigned used = (unsigned)fprintf(f, "%-7s ", wait_reason_name(reason));

	used += report_name_print(f, *kind ? kind : "-", 24);
	used += (unsigned)fprintf(f, "%*s", used < 18 ? (int)(18 - used) : 1, "");
	return used + report_path_print(f, *name ? name : "-", columns > used + 8 ? columns - used : 8);
}

/* Of "futex:PID:ADDRESS" the address alone, if there is one process: in a sentence the rest says nothing. */
static const char *address_of(const struct report *r, const char *name)
{
	static const char *const prefixes[] = { "futex:", "condvar:", "chan:" };
	const char *last = strrchr(name, ':');
	bool is_of_process = false;

	for (size_t i = 0; i < sizeof(prefixes) / sizeof(prefixes[0]); i++)
		is_of_process |= strncmp(name, prefixes[i], strlen(prefixes[i])) == 0;
	return is_of_process && r->m->process_n == 2 && last && strncmp(last, ":0x", 3) == 0 ? last + 1 : name;
}

unsigned page_thing_print(const struct page *p, enum wait_reason reason, uint32_t kind_id, uint32_t name_id,
			  unsigned columns)
{
	const char *kind = page_string(p, kind_id), *name = page_string(p, name_id);
	unsigned used = report_name_print(p->f, *kind ? kind : wait_reason_name(reason), 16);

	if (!*name || strcmp(name, kind) == 0)
		return used;
	/* "epoll", then "epoll fd 5 of pid 7"; "lwlock", then "lwlock:WALWrite". */
	if (*kind && strncmp(name, kind, strlen(kind)) == 0 && strchr(" :", name[strlen(kind)]))
		name += strlen(kind) + 1;
	fputc(' ', p->f);
	used++;
	name = address_of(p->r, name);
	return used + report_path_print(p->f, name, columns > used + 8 ? columns - used : 8);
}
