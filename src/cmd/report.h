/* SPDX-License-Identifier: (LGPL-2.1 OR BSD-2-Clause) */
#pragma once
/* wcbpf report in its stages: options, what is loaded, tables, page. Private to report*.c and the verbs beside it. */
#include <stdio.h>

#include "analyze/analyze.h"
#include "cmd/condition.h"
#include "cmd/options.h"
#include "dump/dump.h"
#include "replay/replay.h"

/* In the order of a report of all: the name for the enum, the one for --section and JSON. */
#define REPORT_SECTIONS(X)                                                                                         \
	X(HEALTH, "health") X(WALL, "wall") X(WHATIF, "whatif") X(CLASSES, "classes") X(PATH, "path")               \
	X(CHAINS, "chains") X(LOCKS, "locks") X(MATRIX, "matrix") X(GRAPH, "graph") X(CPU, "cpu") X(DEAD, "dead")   \
	X(TAIL, "tail")                                                                                             \
	X(ONCPU, "oncpu") X(REASONS, "reasons") X(RESOURCES, "resources") X(OPEN, "open") X(WAKERS, "wakers")       \
	X(STACKS, "stacks") X(THREADS, "threads") X(OPS, "ops") X(CHILDREN, "children") X(CLIENTS, "clients")       \
	X(LIBRARY, "library") X(SELF, "self") X(INCLUSIVE, "inclusive") X(OWN, "own") X(NEAREST, "nearest")         \
	X(BELOW, "below")
enum report_section {
#define X(id, name) SECTION_##id,
	REPORT_SECTIONS(X)
#undef X
	SECTION_MAX,
};
#define SECTION_BIT(section) (UINT64_C(1) << (section))
#define SECTIONS_ALL (SECTION_BIT(SECTION_MAX) - 1)

/* Strings point into argv. */
struct report_options {
	struct options_all all; /* first: its rows are shared */
	bool json, no_pager, events;
	bool everything;   /* --all: also what is idle by design */
	size_t top;	   /* 0: not given */
	uint64_t sections; /* SECTION_BIT()s; 0: not given */
	uint32_t *pids, *tids; /* owned */
	size_t pid_n, tid_n;
	const char *comm;
	const char **classes, **clients; /* owned arrays */
	size_t class_n, class_cap, client_n, client_cap;
	bool has_time;
	int64_t from_ns, to_ns; /* --time; to_ns INT64_MAX: the end */
	const char *binary, *below, *skip;
	const char *engine; /* of whatif: "e1", "e2", "wcprof"; NULL: what is known best */
	const char **symbols; /* folders of --symbols, owned */
	size_t symbols_n, symbols_cap;
	bool debuginfod;
	struct conditions conditions; /* --fail-if */
	const char **inputs; /* owned array; none: ./wcbpf.out */
	size_t input_n, input_cap;
};
/* 0; -EINVAL with *ret_why. Options may follow operands. */
int report_options_parse(struct report_options *o, const struct option_row *rows, int argc, char **argv,
			 char **ret_why);
void report_options_done(struct report_options *o);
/* --symbols and --debuginfod, of a struct report_options. */
int report_set_symbols(void *options, const char *value, char **ret_why);
int report_set_debuginfod(void *options, const char *value, char **ret_why);
/* "wall", ...; "" for none. */
const char *report_section_name(enum report_section section);

/* A change of one class that helps. */
struct report_hint {
	uint32_t class; /* of the replay's */
	uint8_t what;	/* enum replay_change_what */
	struct replay_outcome outcome;
};

/* A change that brings the slowest hundredth down. */
struct report_slow {
	uint32_t class; /* of the replay's; of NO_RUNQUEUE none */
	uint8_t what;	/* enum replay_change_what */
	int64_t ns[2];	/* p99 then, by recorded order and by simulation */
};

/* Changes of the machine, not of the program. */
enum report_machine { REPORT_MORE_CPUS, REPORT_NO_QUEUE, REPORT_MACHINES };

/* "waiter waited so long for by": of the matrix. Numbers: places among the actors, behind them the culprits. */
struct report_edge {
	uint32_t waiter, by;
	uint64_t count, ns, longest_ns;
	uint8_t reason; /* and kind: of most of its time, which is kind_ns */
	uint32_t kind_id;
	uint64_t kind_ns, kind_n;
};

/* A loaded recording and what its sections are made of. */
struct report {
	const struct report_options *o;
	char *path; /* of the dump, of several the first */
	const char *folder; /* it was looked for in; NULL: a file was named */
	bool partial; /* the dump is what a full disk left of it */
	bool dumpless; /* one folder was named, and there is no dump in it that has waits */
	bool profile; /* it is a sampling profiler's: nothing says what was waited for */
	struct model *m;
	struct dump_facts facts;
	struct dump_problem problem;
	struct analyze_filter filter; /* idle waits too */
	struct analyze_picked picked; /* what passes it; its arrays are NULL where everything does */
	int64_t whole_ns; /* the recording's length before --time cut it */
	uint64_t sections;
	uint64_t made;	  /* SECTION_BIT()s of those whose tables are there */

	/* Always there. */
	struct analyze_time time;
	struct analyze_table kinds; /* idle ones too, whatever the options say */
	/* Nearly all blocked time is idle by design: the page lists that too, from the idle_ tables. */
	bool idle_listed;

	/* Made ahead, and not yet asked for by whom they are for. */
	struct {
		bool is_there;
		struct analyze_table table; /* without names */
	} counted[ANALYZE_BY_MAX];
	bool has_health, has_stretches, is_tail_found;

	/* By section, blank until that is made. */
	struct analyze_health health; /* report_health_find() */
	struct analyze_endings user_endings, kernel_endings;
	struct analyze_states states;
	struct analyze_table resources, wakers, callers, stacks, ops;
	struct analyze_table idle_resources, idle_wakers, idle_callers, idle_ops;
	struct analyze_function *functions; /* on the CPU, most time first */
	size_t function_n;
	uint64_t sampled_ns, sample_n; /* of all functions */
	struct analyze_stuck *stuck;   /* waits without an end, longest first */
	size_t stuck_n;
	uint32_t *open; /* the same waits, and those of no thread */
	size_t open_n;
	uint32_t *threads; /* indexes of those that pass the filter, most on the CPU first */
	size_t thread_n;
	struct analyze_class *classes;
	size_t class_n;
	bool has_classes;
	struct analyze_actors actors;
	struct analyze_queues queues;
	struct analyze_dead *dead;
	size_t dead_n;
	bool has_tail;
	struct analyze_tail tail;
	struct report_slow *slow; /* of the tail's class, what helps most first */
	size_t slow_n;
	struct analyze_child *children;
	size_t child_n;
	struct analyze_client *clients;
	size_t client_n;
	struct replay *replay; /* NULL until needed */
	struct replay_facts replay_facts;
	bool has_wcprof;
	int64_t wcprof_ns; /* of the unchanged recording by wcprof's rules, for sections that say so */
	struct replay_stretch *stretches; /* of the critical path */
	size_t stretch_n;
	struct replay_saving *savings;
	size_t saving_n;
	struct report_hint *hints; /* of a page: what helps most first */
	size_t hint_n;
	bool has_machines;
	struct replay_outcome machines[REPORT_MACHINES];
	struct replay_lock *locks;
	size_t lock_n;
	uint32_t *lock_waits, *lock_waits_before; /* by string the last wait for it, by wait the one before */
	struct report_edge *edges; /* who waits for whom, most time first */
	size_t edge_n;
	struct analyze_knots knots;
	struct replay_queued *queued; /* by stretch */
	struct replay_runqueue *runqueues;
	size_t runqueue_n;
	struct analyze_chain *chains;
	size_t chain_n;
	struct analyze_frames frames[ANALYZE_FRAMES_BELOW + 1];
};
/* Of a verb whose only operand it is: a recording, where there is no default one? */
bool report_is_input(const char *operand);
/* 0; -errno with *ret_why, one malloc'd line. */
int report_load(struct report *r, const struct report_options *o, char **ret_why);
/* What is always there, and the tables of the sections asked for. 0, -ENOMEM. */
int report_tables_make(struct report *r);
/* Of one section, unless it is there already. */
int report_section_make(struct report *r, enum report_section section);
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
enum { REPORT_LOSSES_MAX = 24 };
size_t report_losses(const struct model *m, struct report_loss ret[REPORT_LOSSES_MAX]);
bool report_is_complete(const struct report *r);
/* Was the file not read in full? */
bool report_is_damaged(const struct report *r);
/* In words; NULL: it was. */
const char *report_damage(const struct report *r);

/* Text of the page: columns of the terminal, colour. 0, -ENOMEM. */
int report_text_print(struct report *r, FILE *f, unsigned columns, bool color);
/*
 * A page of what a recording's summary tells, for a folder without a usable dump. 1: printed; 0: there is no summary
 * with rows, nothing was printed; -ENOMEM.
 */
int report_summary_print(const char *folder, FILE *f, unsigned columns, size_t row_n_max);
int report_json_print(const struct report *r, FILE *f);
/* --events: each event that passes the filter as a line of JSON, ids resolved. 0, -ENOMEM, -EIO. */
int report_events_print(const struct report *r, FILE *f);

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
/*
 * The same from the last of libc's own functions on, "pthread_mutex_lock < work < main": what the program called, not
 * how libc waits.
 */
void report_caller_print(FILE *f, const struct report *r, uint32_t kstack, uint32_t ustack, unsigned columns);
/* "lock    mutex     futex:100:0x10": reason, kind and name of what was waited for. */
unsigned report_awaited_print(const struct report *r, FILE *f, enum wait_reason reason, uint32_t kind_id,
			      uint32_t name_id, unsigned columns);
/* Name of a frame: symbol, module+0xaddress or 0xaddress. malloc'd, NULL: no memory. */
char *report_frame_name(const struct model *m, const struct model_frame *frame, bool shortened);
