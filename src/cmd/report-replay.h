/* SPDX-License-Identifier: (LGPL-2.1 OR BSD-2-Clause) */
#pragma once
/* What sections and verbs that ask the replay share. Private to report*.c and such verbs. */
#include "cmd/report-page.h"
#include "replay/replay.h"
#include "util/json.h"

/* Compiles the recording, once; of all of it, whatever the filters. 0, -ENOMEM, -E2BIG. */
int report_replay_need(struct report *r);
/* The same to wcprof's rules, once: r->wcprof_ns; 0 without a replay. 0, -ENOMEM. */
int report_wcprof_need(struct report *r);
/* Of what the dump does not tell (enum replay_missing) what the reasons of a grade don't say already. */
uint32_t report_missing_unsaid(const struct report *r, uint32_t why);

/* "cc1plus -c parser.cc", "parser.cc": which run of its program an op belongs to. Columns used, 0: nothing to tell. */
unsigned report_run_print(const struct page *p, uint32_t op, unsigned columns);

/* "cc1plus", "thread worker", "fsync /data/log", "lock mutex futex:..": what a change can be about. */
unsigned report_subject_print(const struct page *p, size_t class, unsigned columns);
/* kind, name and the like of a class, as keys of an object that is open. */
void report_subject_json(const struct report *r, struct json *j, size_t class);
/* "3.5-3.6 s": lowest and highest. */
struct wording report_range(int64_t low_ns, int64_t high_ns);
void report_outcome_json(struct json *j, const struct replay_outcome *o);

/* Where the time of a stretch of the path went: the word for it. */
enum analyze_where report_stretch_where(const struct report *r, const struct replay_stretch *s);

/* The few changes that help most, each thing once: makes r->hints, if they aren't there; and r->machines. 0, -errno. */
int report_hints_find(struct report *r);
int report_hints_make(struct report *r);
/* What of section WHATIF needs no other section. 0, -errno. */
int report_whatif_begin(struct report *r);
int report_machines_make(struct report *r);
const char *report_machine_word(enum report_machine machine);
/* What would bring down the p99 of the class that the tail is about: makes r->slow. 0, -errno. */
int report_slow_make(struct report *r);
/* What a recorded time would be by an engine that makes base_ns of it unchanged, then_ns when something is. */
int64_t report_slow_then(int64_t recorded_ns, int64_t base_ns, int64_t then_ns);
void report_slow_text(const struct page *p, size_t max);
void report_slow_json(const struct report *r, struct json *j);
/* So many of them as lines of a page. */
void report_hints_text(const struct page *p, size_t max);
