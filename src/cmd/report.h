/* SPDX-License-Identifier: (LGPL-2.1 OR BSD-2-Clause) */
#pragma once
/* wcbpf report in its stages: options, what is loaded, the tables, the page. Private to report*.c. */
#include <stdio.h>

#include "analyze/analyze.h"
#include "cmd/options.h"
#include "dump/dump.h"

/* In the order of the page. */
enum report_section {
	SECTION_WALL, SECTION_ONCPU, SECTION_REASONS, SECTION_RESOURCES, SECTION_OPEN, SECTION_WAKERS, SECTION_STACKS, SECTION_THREADS,
	SECTION_OPS, SECTION_MAX,
};

/* Strings point into argv. */
struct report_options {
	struct options_all all; /* first: its rows are shared */
	bool json, no_pager;
	bool everything;   /* --all: also what is idle by design */
	size_t top;	   /* 0: not given */
	unsigned sections; /* bits by enum report_section; 0: not given */
	uint32_t *pids, *tids; /* owned */
	size_t pid_n, tid_n;
	const char *comm;
	const char **symbols; /* folders of --symbols, owned */
	size_t symbols_n, symbols_cap;
	bool debuginfod;
	const char *input;   /* NULL: ./wcbpf.out */
	const char *another; /* a second input */
};
extern const struct option_row options_report_rows[];
/* 0; -EINVAL with *ret_why. Options may follow operands. */
int report_options_parse(struct report_options *o, int argc, char **argv, char **ret_why);
void report_options_done(struct report_options *o);

/* A loaded recording and what the page is made of. */
struct report {
	const struct report_options *o;
	char *path; /* of the dump */
	const char *folder; /* it was looked for in; NULL: a file was named */
	bool partial; /* the dump is what a full disk left of it */
	struct model *m;
	struct dump_facts facts;
	struct dump_problem problem;
	unsigned sections;
	struct analyze_time time;
	struct analyze_table kinds; /* idle ones too, whatever the options say */
	struct analyze_table resources, wakers, callers, stacks, ops;
	/* Nearly all blocked time is idle by design: the page lists that too, from the idle_ tables. */
	bool idle_listed;
	struct analyze_table idle_resources, idle_wakers, idle_callers, idle_ops;
	struct analyze_function *functions; /* on the CPU, most time first */
	size_t function_n;
	uint64_t sampled_ns, sample_n; /* of all functions */
	uint32_t *open; /* waits without an end, longest first */
	size_t open_n;
	uint32_t *threads; /* indexes of those that pass the filter, most on the CPU first */
	size_t thread_n;
};
/* 0; -errno with *ret_why, one malloc'd line. */
int report_load(struct report *r, const struct report_options *o, char **ret_why);
int report_tables_make(struct report *r); /* 0, -ENOMEM */
void report_done(struct report *r);

/* Whether a wait's kind is idle by design is a question to entries; times of an entry to rank and show it by. */
static inline uint64_t report_entry_ns(const struct analyze_entry *e)
{
	return e->reason == REASON_CPU ? e->runnable_ns : e->blocked_ns;
}

/* Lines of a table as they are printed: entries whose labels read the same are one. */
struct report_line {
	struct analyze_entry entry; /* sums of all */
	char *label;
	size_t alike_n; /* entries it stands for */
};
struct report_lines {
	struct report_line *lines; /* most blocked time first */
	size_t n;
};
typedef void (*report_label_fn)(const struct report *r, const struct analyze_entry *e, unsigned columns, FILE *f);
/* 0, -ENOMEM. */
int report_lines_make(const struct report *r, const struct analyze_table *t, report_label_fn label, unsigned columns,
		      struct report_lines *ret);
void report_lines_done(struct report_lines *l);

/* A counter of losses that isn't zero; words follow the number. */
struct report_loss {
	const char *key, *words;
	uint64_t n;
};
enum { REPORT_LOSSES_MAX = 20 };
size_t report_losses(const struct model *m, struct report_loss ret[REPORT_LOSSES_MAX]);
bool report_is_complete(const struct report *r);

/* Text of the page: columns of the terminal, colour. */
void report_text_print(const struct report *r, FILE *f, unsigned columns, bool color);
/*
 * A page of what a recording's summary tells, for a folder without a usable dump. 1: printed; 0: there is no summary
 * with rows, nothing was printed; -ENOMEM.
 */
int report_summary_print(const char *folder, FILE *f, unsigned columns, size_t row_n_max);
int report_json_print(const struct report *r, FILE *f);

/*
 * Names come from the target: printed so that they can't steer a terminal, in
 * at most columns (0: any), a cut shown by "..". Gives the columns used.
 */
unsigned report_name_print(FILE *f, const char *name, unsigned columns);
/* The same; of a path or a futex that is too long the end is kept, which tells them apart. */
unsigned report_path_print(FILE *f, const char *path, unsigned columns);
/*
 * "pthread_mutex_lock < work < main": the user stack, else the kernel's, innermost first. Where more than one page is
 * asked for, a function with several names says so: "work (+2 names)".
 */
void report_stack_print(FILE *f, const struct report *r, uint32_t kstack, uint32_t ustack, unsigned columns);
/* Name of a frame: symbol, module+0xaddress or 0xaddress. malloc'd, NULL: no memory. */
char *report_frame_name(const struct model *m, const struct model_frame *frame, bool shortened);
