/* SPDX-License-Identifier: (LGPL-2.1 OR BSD-2-Clause) */
#pragma once
/*
 * What the assembler remembers beside the model: one state for each thread,
 * process and row of the model (same index), and what waits refer to.
 *
 * Times here are CLOCK_MONOTONIC as they came, so that events are compared
 * before they are clipped; the model's are relative and clipped.
 */
#include "assemble/assemble.h"
#include "assemble/buffer.h"
#include "util/map.h"

/* Two clocks' worth of events meet within this: an op that ended so close to a wake ended by it. */
#define ASSEMBLE_SLACK_NS 1000000ull

/* Bits of a task's state (include/linux/sched.h); TASK_FROZEN since 6.1. */
enum task_state {
	TASK_INTERRUPTIBLE = 0x1,
	TASK_UNINTERRUPTIBLE = 0x2,
	TASK_STOPPED = 0x4,
	TASK_TRACED = 0x8,
	TASK_WAKEKILL = 0x100,
	TASK_FROZEN = 0x8000,
};

struct strand;

/* How a thread or process came to be known. */
enum origin {
	ORIGIN_SEEN,   /* by an event of its own: it was there before */
	ORIGIN_SEEDED,
	ORIGIN_FORKED, /* its begin was seen */
};

/* The wait that may still grow: the thread's latest intervals, as long as they are of one system call. */
struct pending_wait {
	uint64_t start_ns, end_ns;
	uint64_t blocked_ns, runnable_ns;
	uint64_t wake_ns; /* 0: unknown */
	uint64_t longest_ns;
	uint32_t row, ident; /* of the longest interval */
	uint32_t op;	     /* whose wait it is, 0: of one without a place */
	int64_t timeout_ns; /* -1: none */
	uint32_t waker;	     /* thread, 0: none or not of the recording: then these say who */
	uint32_t waker_pid, waker_tid;
	uint32_t waker_stack; /* stack index, 0: none */
	struct model_wait_words words;
	uint32_t seq;	     /* of the last interval */
	uint16_t cpu_from;   /* of the first */
	uint16_t cpu_to;     /* of the last; both + 1, 0: unknown */
	int32_t syscall;
	uint8_t outcome, ctx, clipped, owner_unknown;
	bool blocked; /* one of its intervals was no mere preemption */
	bool stopped; /* by a signal or a tracer, not by what the call waits for */
	char waker_comm[WCBPF_COMM_LEN];
};

struct thread_state {
	struct pending_wait *pending; /* NULL: none */
	struct strand *strand;	      /* NULL: nothing was open on it yet; of a goroutine NULL when it has ended */
	uint64_t goid;		      /* of a thread: the goroutine that it ran last, 0: none or not known */
	uint64_t begin_ns;
	uint64_t death_ns; /* 0: alive */
	uint64_t first_wait_ns, last_wait_ns; /* its waits in the model lie between; 0, 0: it has none */
	uint64_t block_ns; /* when it last left the CPU to block, before its death */
	uint32_t prev;	   /* the thread that had this tid before, 0: none */
	uint32_t sibling;  /* next of its process's threads, 0: last */
	uint32_t wait;	   /* its latest wait in the model that is more than a preemption, 0: none */
	uint32_t wait_seq;
	uint8_t origin;
	bool seen;	   /* an event of its own came */
	bool exit_seen;
	char comm[WCBPF_COMM_LEN]; /* of threads.comm_id, to tell a new name without the string table */
};

struct process_state {
	struct go_runtime *go; /* NULL: none is known */
	uint64_t begin_ns;
	uint64_t death_ns; /* 0: alive */
	uint32_t parent;   /* process, 0: unknown */
	uint32_t link;	   /* that leads to it, 0: none; from 0 until its parent is known */
	uint32_t seed_parent_pid; /* as its seed named it, 0: no seed did */
	uint64_t seed_parent_start_ns;
	uint32_t thread;   /* first of its threads, 0: none */
	uint32_t prev;	   /* the process that had this pid before */
	uint32_t host;	   /* of a->hosts, by which it or its parent was begun, 0: none */
	uint8_t origin;
	bool in_scope;	   /* begun by an op in scope */
	bool exit_seen;
	bool killed;	   /* its exit status says: by a signal */
	bool named;	   /* comm_id is the process's own, not one of its threads' */
};

enum row_flags {
	ROW_PREEMPTED = 1 << 0,
	ROW_NEW_THREAD = 1 << 1,
	ROW_KTHREAD = 1 << 2,
	ROW_EXITING = 1 << 3,
	ROW_JOIN = 1 << 4,	/* futex: waits for the tid word of a thread of the same process */
	ROW_OWNER_KNOWN = 1 << 5, /* futex: looks like a glibc mutex held by a thread of the same process */
	ROW_NO_FILES = 1 << 6,	/* poll, select: only the timeout */
	ROW_LOCK_FILE = 1 << 7, /* fcntl: a lock that waits */
	ROW_VFORK = 1 << 8,
	ROW_DISK = 1 << 9,	/* a call of no sort of its own, woken by a disk */
	ROW_GO_THREAD = 1 << 10, /* a thread of a Go program with no goroutine on it */
	ROW_GO_RAN = 1 << 11,	/* which had run some before */
};

/* What makes intervals one row. No padding: compared and hashed as bytes. */
struct row_key {
	uint32_t comm_id;
	uint32_t kstack, ustack;
	uint32_t state;
	uint32_t flags;		 /* enum row_flags */
	uint32_t resource_class; /* assemble_resource_class() */
	uint32_t futex_op;	 /* as given to futex(); of other futex calls FUTEX_PRIVATE_FLAG and the like command */
	int32_t syscall;
	uint32_t thread;	 /* 0: whichever */
	uint32_t function;	 /* of a goroutine: of a->functions; 0: a thread's */
	uint32_t go_reason;	 /* of a goroutine that did not run: of a->go_reasons, and 1; 0: a thread's time */
	uint32_t point, reason;	 /* of a choke point's wait: its point, and enum wait_reason; point 0: none */
};

struct row_state {
	struct row_key key;
	uint32_t next;	   /* row of the same hash, 0: none */
	uint32_t resource; /* one of the row's resources, 0: none */
	uint64_t failed_n; /* intervals for which a stack was due and could not be read */
	bool condvar;	   /* its futexes are words inside condition variables, as glibc lays them out */
};

struct resource {
	uint64_t id, ino, file;
	uint32_t dev, class;
	uint32_t kind_id, name_id; /* as assemble_resource_name() gave them */
	uint32_t string_id;	   /* what waits show; made at the end */
	bool known;		   /* its event came */
};

enum ident_kind { IDENT_NONE, IDENT_FUTEX, IDENT_RESOURCE, IDENT_CHILD, IDENT_SLEEP, IDENT_CHANNEL, IDENT_NETPOLL };

/* What a wait was for. Named only at the end, when rows have kinds and resources have names. No padding. */
struct ident_key {
	uint64_t address; /* futex, Go's channel or poll descriptor */
	uint32_t kind;	  /* enum ident_kind */
	uint32_t process; /* of an address: whose it is, 0: shared; child: the one asked for, 0: any */
	uint32_t thread;  /* futex: whose tid is waited for, 0: none */
	uint32_t resource;
};

enum ident_name { IDENT_NAME_PLAIN, IDENT_NAME_CONDVAR, IDENT_NAME_JOIN, IDENT_NAME_MAX };

struct ident {
	struct ident_key key;
	uint32_t next;			   /* of the same hash */
	uint32_t string_id[IDENT_NAME_MAX]; /* 0: not made yet */
};

enum op_flags {
	OP_ASIDE = 1 << 0,     /* of no strand's stack: of a BEGIN with a key, or a phase of a hosted execution */
	OP_REMOVED = 1 << 1,   /* its point's `only` said no at the exit: what is under it is its parent's */
	OP_MATCHES = 1 << 2,   /* --only, or is in scope by its process */
	OP_UNDECIDED = 1 << 3, /* whether it matches shows at its exit */
};

/* Of each op of the model, same index. */
struct op_state {
	uint32_t thread : 28; /* entry whose strand it is of; 0: the op of a process, thread or goroutine itself */
	uint32_t flags : 4;   /* enum op_flags */
};

/* From off_ns on until on_ns; UINT64_MAX: still. */
struct off_time {
	uint64_t off_ns, on_ns;
};

struct assemble {
	struct model *m; /* not owned */
	struct assemble_options o;
	struct map *tids, *pids;     /* -> newest thread, process */
	struct map *kstacks, *ustacks; /* wire id -> stack */
	struct map *resource_ids;    /* wire id -> resource */
	struct map *row_hashes, *ident_hashes, *sample_hashes; /* -> first of a chain */
	struct thread_state *threads;
	struct process_state *processes;
	struct row_state *rows;
	struct resource *resources; /* entry 0 is blank, as in the model */
	struct ident *idents;
	uint32_t *sample_next; /* sample of the same hash, 0: none */
	size_t thread_cap, process_cap, row_cap, sample_cap;
	size_t resource_n, resource_cap, ident_n, ident_cap;
	struct point **points; /* by number, NULL: never set */
	size_t point_n, point_cap;
	struct op_state *ops;
	size_t op_cap;
	struct map *keys;  /* hash of process and key -> another hash << 32 | op */
	uint64_t *late_keys; /* ring of their hashes: the latest */
	size_t late_key_n, late_key_cap;
	struct map *begun; /* open ops of BEGINs -> process */
	struct function *functions; /* of goroutines; entry 0 is blank */
	size_t function_n, function_cap;
	struct strtab *go_reasons;
	struct scope *scope; /* NULL: all is in scope */
	struct host *hosts;  /* entry 0 is blank */
	size_t host_n, host_cap;
	struct map *host_ops; /* op -> host */
	struct spans *spans;
	struct buffer text; /* for texts being made */
	uint64_t op_id;	    /* of the op that began last */
	struct off_time *offs; /* when recording was off, in time order */
	size_t off_n, off_cap;
	uint64_t off_sample_n; /* samples that came meanwhile */
	bool marked;	    /* a dump is being written, and then flushed */
	size_t mark_wait_n, mark_link_n; /* of the model then */
	uint8_t *op_marks, *thread_marks; /* while a flush looks what is referred to; else NULL */
	bool ops_seen;	    /* a choke point was hit */
	bool no_memory;	    /* where it could not be told: assemble_event() does */
};

/* Not before the recording's begin, and not so far after it that sums of times could overflow: clocks may lie. */
static inline uint64_t assemble_clip(const struct assemble *a, uint64_t time_ns)
{
	uint64_t most_ns = a->o.begin_ns + INT64_MAX / 2;

	return time_ns < a->o.begin_ns ? a->o.begin_ns : time_ns > most_ns ? most_ns : time_ns;
}

/* Since the recording's begin, 0 if before. */
static inline int64_t assemble_relative(const struct assemble *a, uint64_t time_ns)
{
	return (int64_t)(assemble_clip(a, time_ns) - a->o.begin_ns);
}

/* Was recording off at that moment? */
static inline bool assemble_is_off(const struct assemble *a, uint64_t time_ns)
{
	for (size_t i = a->off_n; i; i--) {
		if (time_ns >= a->offs[i - 1].on_ns)
			return false;
		if (time_ns >= a->offs[i - 1].off_ns)
			return true;
	}
	return false;
}

/* For keys of 32-bit words. Hashes of different keys may be equal: chains are compared. */
static inline uint64_t assemble_hash(const void *key, size_t size)
{
	const unsigned char *p = key;
	uint64_t h = 0x9e3779b97f4a7c15ull;

	for (size_t i = 0; i + 4 <= size; i += 4) {
		uint32_t word;

		__builtin_memcpy(&word, p + i, sizeof(word));
		h = (h ^ word) * 0xff51afd7ed558ccdull;
		h ^= h >> 32;
	}
	return h;
}
