/* SPDX-License-Identifier: (LGPL-2.1 OR BSD-2-Clause) */
#pragma once
/*
 * A section in three functions of one file: what it is computed from, its
 * text, its JSON. The two show the same numbers. Private to report*.c.
 */
#include "cmd/report-page.h"
#include "util/json.h"

struct report_section_row {
	int (*make)(struct report *r); /* 0, -ENOMEM; NULL: nothing to compute */
	void (*text)(const struct page *p); /* begins with a blank line; nothing at all if there is nothing to tell */
	void (*json)(const struct report *r, struct json *j); /* the value of its key */
};
extern const struct report_section_row report_section_rows[SECTION_MAX];

#define DECLARE_SECTION(name)                                \
	int report_##name##_make(struct report *r);          \
	void report_##name##_text(const struct page *p);     \
	void report_##name##_json(const struct report *r, struct json *j)

DECLARE_SECTION(health);
DECLARE_SECTION(wall);
DECLARE_SECTION(whatif);
DECLARE_SECTION(classes);
DECLARE_SECTION(path);
DECLARE_SECTION(chains);
DECLARE_SECTION(locks);
DECLARE_SECTION(matrix);
DECLARE_SECTION(graph);
DECLARE_SECTION(cpu);
DECLARE_SECTION(dead);
DECLARE_SECTION(tail);
DECLARE_SECTION(oncpu);
DECLARE_SECTION(resources);
DECLARE_SECTION(open);
DECLARE_SECTION(wakers);
DECLARE_SECTION(stacks);
DECLARE_SECTION(threads);
DECLARE_SECTION(ops);
DECLARE_SECTION(children);
DECLARE_SECTION(clients);
DECLARE_SECTION(library);
DECLARE_SECTION(self);
DECLARE_SECTION(inclusive);
DECLARE_SECTION(own);
DECLARE_SECTION(nearest);
DECLARE_SECTION(below);
void report_reasons_text(const struct page *p);
void report_reasons_json(const struct report *r, struct json *j);

/* What the replay tells is of the whole recording; these say which of it was asked for. */
bool report_is_filtered(const struct report *r);
bool report_thread_passes(const struct report *r, uint32_t thread);
bool report_stretch_passes(const struct report *r, const struct replay_stretch *s);
/* A line that says so, of a section that can't be cut to the filter. */
void report_unfiltered_print(const struct page *p, const char *what);

/*
 * Parts of sections that read the model only, each once: r->actors with the queues; r->health; the tail without what
 * would bring it down (needs classes); the waits of a table (report_group() gives them names); of the replay, which must
 * be there, the stretches of the path. 0, -ENOMEM.
 */
int report_actors_make(struct report *r);
void report_health_find(struct report *r);
int report_tail_find(struct report *r);
int report_group_count(struct report *r, enum analyze_by by);
/* The tables of waits that a page asks for: SECTION_BIT()s. */
uint64_t report_wait_tables(const struct report *r);
/* On the CPU, in threads that no sample met. */
uint64_t report_unsampled_ns(const struct report *r);
int report_stretches_make(struct report *r);
/* Who had the CPU in each of them; after report_stretches_make(). */
int report_queued_make(struct report *r);
/* How many of a section's n lines --top leaves. */
size_t report_rows_max(const struct report *r, size_t n);
/* Lines of a page's head and foot. */
void report_head_print(const struct page *p);
void report_filter_print(const struct page *p);
/* The verdict on a file of which little is left, or nothing. False: it is another, nothing was printed. */
bool report_missing_print(const struct page *p);
/* Why intervals were left out, as far as the options tell: "by --only". */
const char *report_left_out_word(const struct report *r);
/* In place of the verdict, where recording was never on. False: nothing printed, it was. */
bool report_off_print(const struct page *p);
/* Of a file that is damaged one line, which names it; its members in JSON. */
void report_damage_print(const struct page *p);
void report_damage_json(const struct report *r, struct json *j);
void report_idle_print(const struct page *p);
/* What tracing cost, the files, what to ask next. */
void report_foot_print(const struct page *p);
/* One or two lines: what it comes to. */
void report_verdict_print(const struct page *p);

/* "thread-s": what the wall table's time is of. */
const char *report_states_unit(const struct analyze_states *s);

/* JSON that several sections have. */
void report_frames_json(const struct report *r, struct json *j, const char *key, uint32_t stack);
/* Beside it, in the same order: how many other names each one's function has. */
void report_aliases_json(const struct report *r, struct json *j, const char *key, uint32_t stack);
/* An object of ns by state: "running": 5, ... */
void report_where_json(struct json *j, const char *key, const uint64_t ns[WHERE_MAX]);
/* kind, class */
void report_class_json(const struct report *r, struct json *j, enum op_kind kind, uint32_t class_id);
void report_string_json(const struct report *r, struct json *j, const char *key, uint32_t id);
/* Deadlocks among those that were waiting at the end: a line each. */
void report_deadlocks_text(const struct page *p);
uint32_t report_deadlock_n(const struct report *r);
/* A sentence if threads hang that should not. False: none do, nothing printed. */
bool report_stuck_verdict_print(const struct page *p);
bool report_is_parked_goroutine(const struct report *r, const struct model_wait *w);
/* The tail is about what is done over and over, so that a page has a place for it. */
bool report_tail_is_of_requests(const struct report *r);
/* As --events has them. */
void report_op_json(const struct report *r, struct json *j, uint32_t op);
void report_wait_json(const struct report *r, struct json *j, uint32_t wait);
