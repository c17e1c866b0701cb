/* SPDX-License-Identifier: (LGPL-2.1 OR BSD-2-Clause) */
#pragma once
/* What the printers of sections share. Private to report*.c and the verbs that print such pages. */
#include "cmd/report.h"
#include "cmd/wording.h"

struct page {
	const struct report *r;
	FILE *f;
	unsigned columns;
	size_t lines[SECTION_MAX]; /* of the first page: lines of the section's table at most */
	const char *bold, *good, *bad, *plain; /* colour, or "" */
};
void page_init(struct page *p, const struct report *r, FILE *f, unsigned columns, bool color);

/* "12.3 s"; the few that are below a microsecond in full, 0 without a unit. */
struct wording page_time(uint64_t ns);
/* The same with a sign where it is negative. */
struct wording page_signed_time(int64_t ns);
/* "8.00": sums over threads stay in seconds, so that they can be set beside the wall time. */
struct wording page_seconds(uint64_t ns);
/* What was cut off by the recording's begin or end lasted longer than that: ">=1.20 s". */
struct wording page_longest(uint64_t ns, bool cut);
/* " 52.8%", as wide where there is no whole. */
void page_percent(FILE *f, uint64_t part, uint64_t whole);

/* Lines of a section's table: few on the first page, all where it is asked for, unless --top says. */
size_t page_lines_max(const struct page *p, enum report_section section);
/* How many of count lines are shown: a last line "in 1 more" would be no shorter than that one. */
size_t page_lines_shown(size_t count, size_t max);
/* A blank line and a title. */
void page_title(const struct page *p, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
/* "12 more" behind the columns given, if there are any. */
void page_more(const struct page *p, size_t count, size_t shown, unsigned indent);

/* What print writes, as text that stands behind so many columns. */
void page_wrapped(const struct page *p, unsigned indent, void (*print)(const struct page *p, const void *arg),
		  const void *arg);
/* Text that stands behind so many columns, broken at blanks so that no line is longer than the page. */
void page_wrapped_print(const struct page *p, const char *text, unsigned indent);

const char *page_string(const struct page *p, uint32_t id);
/* "worker (tid 12)", "main.serve (goroutine 7)"; goid 0: a thread. Give the columns used. */
unsigned page_who_print(const struct page *p, const char *name, uint64_t goid, uint32_t tid);
unsigned page_thread_print(const struct page *p, uint32_t thread);
/* "exec cc1plus", "worker": kind where the class alone says too little. */
unsigned page_class_print(const struct page *p, enum op_kind kind, uint32_t class_id, unsigned columns);
/* "server/worker", "worker". */
unsigned page_actor_print(const struct page *p, const struct analyze_actor *a, unsigned columns);
/* "mutex futex:100:0x10", "sleep": what was waited for, in a sentence. */
unsigned page_thing_print(const struct page *p, enum wait_reason reason, uint32_t kind_id, uint32_t name_id,
			  unsigned columns);
