/* SPDX-License-Identifier: (LGPL-2.1 OR BSD-2-Clause) */
#pragma once
/*
 * Choke points: which functions of a program are operations, waits and locks,
 * and what their arguments tell. Profiles (text, wcbpf-profile(5)) are read
 * into a set; the set and one ELF file give a plan: addresses to probe with
 * what to fetch there, what that means, and notes on all that can't be.
 * Attaches nothing and knows of no process.
 */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "bpf/wire.h"
#include "model/model.h"
#include "objfile/objfile.h"
#include "util/cleanup.h"

/* ---- what was asked for ---- */

struct probe_set;

int probe_set_new(struct probe_set **ret); /* 0, -ENOMEM */
struct probe_set *probe_set_free(struct probe_set *s);
DEFINE_CLEANUP(struct probe_set *, probe_set_free)
/*
 * A built-in profile by its name, or a file (what has a slash, or is no built-in's name). "none": no probes but those
 * that are asked for otherwise, not even those of the Go runtime. A profile that is there already is not added twice.
 * -EINVAL with *ret_why: one malloc'd line each error, "FILE:LINE: ...", joined by newlines; nothing was added.
 * -errno with *ret_why when the file can't be read; -ENOMEM.
 */
int probe_set_add(struct probe_set *s, const char *name_or_path, char **ret_why);
/* -e: "[FILE:]SYMBOL [key=value ...]", "usdt:[FILE:]PROVIDER:NAME [...]". -EINVAL with *ret_why, one line; -ENOMEM. */
int probe_set_add_inline(struct probe_set *s, const char *text, char **ret_why);
/* From memory; name is what messages call it. */
int probe_set_add_text(struct probe_set *s, const char *name, const char *text, size_t n, char **ret_why);
/* Has it any definition? */
bool probe_set_is_empty(const struct probe_set *s);
/*
 * Is the Go runtime to be probed in Go programs? Not without any definition, nor with the profile "none"; with the
 * profile "go" always.
 */
bool probe_set_wants_go(const struct probe_set *s);
/* Can it say anything of a file of that path, as seen in the process? is_program: its executable. Cheap. */
bool probe_set_concerns(const struct probe_set *s, const char *path, bool is_program);

struct probe_builtin {
	const char *name;
	const char *about; /* one line, no full stop */
	const char *tried; /* what it was tried on; says so when it was not */
};
/* The built-in profiles, by name. Static. */
const struct probe_builtin *probe_builtins(size_t *ret_n);

/* ---- meaning ---- */

enum probe_role {
	PROBE_OP,    /* an op from entry to exit */
	PROBE_BEGIN, /* an op begins: at the exit, or the mark */
	PROBE_END,   /* it ends, by its key on any strand: at the entry or mark; at the exit if it has a value of it */
	PROBE_WAIT,  /* from entry to exit is one wait */
	PROBE_LOCK,  /* likewise for a lock; only if it blocked, from then on */
	PROBE_KEY,   /* the op that has the key `target`, else the innermost of the strand, is told more of: when, as END */
	PROBE_SPAN,  /* an OTel span begins: when, as BEGIN */
	PROBE_SPAN_END, /* it ends: when, as END */
};

/* How a value becomes text. */
enum probe_format {
	PROBE_FORMAT_TYPE,    /* as its wire type says: a string as it is, a number in decimal, BYTES as hex digits */
	PROBE_FORMAT_HEX,     /* 1f; of a string each byte */
	PROBE_FORMAT_POINTER, /* 0x1f */
};

/* When a piece is written: a group begins with one that always is. */
enum probe_when {
	PROBE_WHEN_ALWAYS,
	PROBE_WHEN_NONE, /* nothing was written of its group so far */
	PROBE_WHEN_SOME, /* something was of the piece right before it */
};

/* Words and values in order: "exec:{0}". value -1: the literal; 0..7 that value of the entry, 8..15 of the exit. */
struct probe_piece {
	const char *literal; /* NULL for a value */
	int8_t value;
	uint8_t format; /* enum probe_format */
	uint8_t when;	/* enum probe_when */
};
struct probe_text {
	const struct probe_piece *v;
	size_t n; /* 0: none */
};

enum probe_cmp { PROBE_ALWAYS, PROBE_EQ, PROBE_NE, PROBE_LT, PROBE_GT, PROBE_LE, PROBE_GE };

/* The first that holds gives the word. A value that could not be read holds none but PROBE_ALWAYS. */
struct probe_choice {
	int8_t value; /* as in struct probe_piece; -1 with PROBE_ALWAYS. */
	uint8_t cmp;  /* enum probe_cmp */
	uint8_t word; /* enum op_outcome, enum wait_reason, or bool */
	int64_t than;
};
struct probe_choices {
	const struct probe_choice *v;
	size_t n;
};

struct probe_point {
	const char *name;  /* "dagger/call": profile and op; of -e the symbol */
	const char *place; /* "FILE:LINE" of its definition; "-e" */
	enum probe_role role;
	enum op_kind kind;
	enum work_type work;
	struct probe_text class, ident, client, meta;
	struct probe_text key;	       /* OP: what waits name it by; BEGIN, END: what ties them, else their strand */
	struct probe_text target;      /* WAIT: key of the op waited for; KEY: of the op that is meant */
	struct probe_text resource;    /* WAIT without target, LOCK: what is waited for, as the wait shows it */
	struct probe_text trace, span; /* SPAN, SPAN_END: 32 and 16 hex digits */
	struct probe_text under;       /* meant only if the op that is open around it has this class; none: always */
	struct probe_text nested;      /* OP, BEGIN, KEY: client whose ops without parent hang below it */
	struct probe_choices outcome;  /* enum op_outcome */
	struct probe_choices reason;   /* enum wait_reason; none: by the target's kind */
	struct probe_choices only;     /* recorded only if the word is not 0; none: always */
	const char *wait_kind;	       /* NULL: none */
	bool contended;		       /* WAIT, LOCK: recorded only if the strand blocked inside */
	bool hosts;		       /* processes started inside hang below it */
	bool root;		       /* its parent is 0 */
	bool once;		       /* WAIT: over when the strand goes on after having blocked first */
	bool inherits_class;	       /* OP, BEGIN: of the op that it hangs below, if that has one */
	bool inherits_client;
	/*
	 * Exits of it lie in functions that it jumps to, which others call as well: such an exit without an entry is
	 * none of this point and no oddity.
	 */
	bool shared_exits;
	bool entry_repeats; /* a loop comes back to the probed instruction of its entry: in one frame that is one call */
	uint32_t definition; /* of the set */
};

/* ---- plan ---- */

#define PROBE_NO_POINT UINT32_MAX

struct probe_site {
	uint64_t file_offset, vaddr; /* of the probed instruction; of a return probe: of the function */
	uint64_t ref_offset;	     /* file offset of the semaphore that must be raised while probed (USDT); 0: none */
	uint32_t point;		     /* index of plan->points; PROBE_NO_POINT for those of the Go runtime */
	struct wcbpf_site wire;	     /* point and layout left 0: numbers that its user gives */
	const char *symbol;	     /* as its file has it, C++ and Rust made readable */
	uint64_t function;	     /* address of the function; 0: a static marker */
	char text[64];		     /* the instruction */
	uint8_t step;		     /* enum objfile_step: what it takes the kernel to go on behind it */
	bool repeats;		     /* some calls come by more than once, each time with the same CFA */
	bool return_probe;	     /* wants a uretprobe; never of Go */
	bool go;		     /* in code of Go: a register has the goroutine */
	/*
	 * EXIT: a jump to another function whose exits can't be taken in its place; results aren't there yet: their
	 * fetches are WCBPF_FROM_NONE
	 */
	bool tail;
	/*
	 * OBJFILE_ALWAYS, else the x86 condition that the flags must meet for a hit to count: at a conditional tail
	 * jump, and at Go's jump to where the stack grows, from which the function begins again.
	 */
	int8_t condition;
};

enum probe_severity {
	PROBE_NOTE,   /* good to know */
	PROBE_CAVEAT, /* something that was asked for is missing or incomplete: counts as a caveat of the recording */
};
struct probe_note {
	enum probe_severity severity;
	const char *text; /* "FILE:LINE: SYMBOL: reason", no newline */
};

/* What came of one definition in one file; of several the greatest holds. */
enum probe_finding {
	PROBE_NOT_MEANT,    /* it isn't for this file */
	PROBE_MISSING,	    /* no such symbol here */
	PROBE_IMPORTED,	    /* only imported */
	PROBE_ONLY_INLINED, /* only inlined into others */
	PROBE_REFUSED,	    /* there, but can't be probed: a note says why */
	PROBE_FOUND,
};

struct probe_plan {
	struct probe_point *points;
	size_t point_n;
	struct probe_site *sites; /* by address; of one address by definition */
	size_t site_n;
	bool has_layout; /* of a Go program: functions of Go are probed only then, for each call is a goroutine's */
	bool follows_go; /* the Go runtime's sites are there too; else layout says so */
	struct wcbpf_go_layout layout;
	const char **go_reasons; /* names of the runtime's wait reasons by number; "" for one that has none */
	size_t go_reason_n;
	struct objfile_go_list go_list; /* if follows_go, unless: */
	const char *go_list_why;	/* why goroutines can't be listed; NULL: they can */
	struct probe_note *notes;
	size_t note_n;
	uint8_t *findings; /* enum probe_finding, one for each definition of the set */
	size_t finding_n;
	uint32_t *inlined;	 /* for each definition: places where its functions are inlined, as far as known */
	size_t duplicates;	 /* addresses that several names of one definition share, dropped */
	struct probe_pool *pool; /* private: owns all strings */
};

/* By which functions of the Go runtime wakes are seen; both ways work with all releases. */
enum probe_go_wakes {
	PROBE_GO_WAKES_CHEAPEST,  /* with the file's release */
	PROBE_GO_WAKES_BY_STATUS, /* casgstatus */
	PROBE_GO_WAKES_BY_READY,  /* ready, netpollready */
};

struct probe_object {
	struct objfile *file;		    /* not detached */
	struct objfile *debug;		    /* its separate debug file; NULL: none */
	const struct objfile_search *where; /* for what its debug information refers to; NULL: nowhere */
	struct objfile_go *go;		    /* NULL: no Go program, or one whose tables can't be used */
	const char *go_why;		    /* why they can't; NULL: it is none */
	const char *path;		    /* as seen in the process, for matching and messages */
	bool is_program;		    /* the process's executable */
	enum probe_go_wakes go_wakes;
};

/*
 * The plan of one file. s is only read, so any thread may do it, and must outlive the plan; o need not. What can't be
 * is a note of the plan, never an error; a plan may have no sites. -ENOMEM.
 */
int probe_resolve(const struct probe_set *s, const struct probe_object *o, struct probe_plan **ret);
struct probe_plan *probe_plan_free(struct probe_plan *p);
DEFINE_CLEANUP(struct probe_plan *, probe_plan_free)

/*
 * Definitions that none of the plans (of all files of a target) has a site for: a note each, that names the symbol and
 * the best reason there is. ret: malloc'd, free with probe_notes_free(). 0, -ENOMEM.
 */
int probe_set_missing(const struct probe_set *s, const struct probe_plan *const *plans, size_t n,
		      struct probe_note **ret, size_t *ret_n);
void probe_notes_free(struct probe_note *notes, size_t n);

/* What a hit is expected to cost in ns, on this kind of machine: a range to show before anything is measured. */
struct probe_cost {
	uint32_t min_ns, max_ns;
};
struct probe_cost probe_site_cost(const struct probe_site *s);
