/* SPDX-License-Identifier: (LGPL-2.1 OR BSD-2-Clause) */
#pragma once
/*
 * Turns the event stream of bpf/wire.h into the model. Pure: no I/O, no
 * clock; the caller feeds events in time order and answers what only the
 * outside knows (names of files, frames of stacks).
 *
 * - a process becomes an OP_EXEC with an OP_EXEC_PHASE for each execve below it, a thread an
 *   OP_INTERNAL below its process's op; a child process gets a LINK_NESTED_CLIENT from the forking thread's op, one
 *   whose fork was not seen from the op of the process that its seed names, if that is of the recording
 * - intervals of one system call (WCBPF_IV_SAME_CALL with consecutive seq) merge into one wait
 * - a wait for a child or a join whose waker's op ends within 1 ms of the wake targets that op; an op
 *   ends at min(its exit event, the end of the wait that it released)
 * - each interval adds to a row (by thread name, syscall, stacks, futex call, kind of resource, and thread if asked
 *   for), also beyond the event cap
 * - samples of one thread, system call and pair of stacks add up to one
 * - of model.integrity it counts recorded, lost_unprocessed, lost_clock_back, lost_stack_bodies (intervals with a
 *   stack that was never set), failed_kernel_stacks, failed_user_stacks (by the intervals' flags), recorded_samples,
 *   lost_samples (damaged ones), failed_sample_stacks and dropped_events; the rest is the caller's
 * - a hit of a choke point opens, closes or names ops and waits of its strand; what was left without an exit is
 *   found by the depth of frames and closed as unwound. integrity.recorded_ops, lost_ops (damaged ones),
 *   unmatched_exits and unwound_ops are counted here
 * - a goroutine is a thread of the model with a goid; the waits of its thread that happen with it on are its own
 * - assemble_finish() gives each row its reason and kind (classify.c), when stacks have names
 */
#include "bpf/wire.h"
#include "model/model.h"

struct assemble;

struct assemble_options {
	uint64_t begin_ns;	/* CLOCK_MONOTONIC of the recording's begin = relative time 0 */
	int64_t epoch_unix_ns;	/* wall clock of that moment */
	bool keep_args;		/* false: no argv in meta (--no-args) */
	size_t event_cap;	/* ops + waits + links kept */
	bool rows_by_thread;	/* a row is of one thread */
	bool live;		/* dumps are made while it goes on: what is made or moved at the end has ids that stay */
	/*
	 * --only: work under ops that match, with what they spawn; NULL: all. "kind:class" or "kind:class:NAME", NAME
	 * an ident or client; kind, class and NAME may be "*". Copied. A wait for an op outside is one without target.
	 */
	const char *only;
	/* The futex calls' and other system calls' numbers come from syscall.h of the build's architecture. */
};

/* model must outlive it. 0, -ENOMEM. */
int assemble_new(struct model *m, const struct assemble_options *o, struct assemble **ret);
struct assemble *assemble_free(struct assemble *a);

/*
 * A process or thread that was there when recording began, or is about to exec
 * (record's child): begin is now_ns, clipped if before. Also for threads seen
 * first by an event. Seeding a known one changes nothing. argv: bytes with NULs, as in /proc/PID/cmdline.
 */
struct assemble_seed {
	uint32_t pid, tid;
	uint64_t start_time_ns; /* boottime of the process, 0: unknown */
	uint32_t parent_pid;	/* of the process that waits for this one, 0: unknown; it need not be of the recording */
	uint64_t parent_start_time_ns;
	uint64_t now_ns;	/* CLOCK_MONOTONIC */
	bool before;		/* it ran before now_ns: clipped */
	const char *comm;
	const char *argv;
	size_t argv_len;
};
int assemble_seed(struct assemble *a, const struct assemble_seed *seed);

/*
 * One event, by head.kind (not WCBPF_EV_SEED: assemble_seed() is for those).
 * head.size bytes are there; what they hold is checked. 0, -ENOMEM, -EBADMSG
 * (damaged; counted in integrity.lost_unprocessed).
 */
int assemble_event(struct assemble *a, const struct wcbpf_head *e);

/* Model stack index of a wire id (made when first asked for; 0 for id 0). 0, -ENOMEM. */
int assemble_stack_index(struct assemble *a, enum stack_side side, uint64_t id, uint32_t *ret);

/*
 * The name of a resource: kind is a wait_kind word (file, fsync is decided by
 * the call, pipe, socket, eventfd, timerfd, epoll, tty, ...), name what the
 * dump shows ("/var/log/x", "tcp 127.0.0.1:6379", "pipe:[123]"). Waits that
 * refer to a resource never named are called by their numbers.
 */
int assemble_resource_name(struct assemble *a, uint64_t id, const char *kind, const char *name);

/*
 * Futex calls are told apart by the function names of their user stacks
 * (pthread_mutex_lock, pthread_cond_wait, sem_wait, ...), set with
 * model_stack_set(): nothing to call here.
 */

/*
 * ---- choke points ----
 *
 * What the hits of a point (WCBPF_EV_OP, by wcbpf_op.point) mean. A strand is a
 * thread or, where a process has a known Go runtime, a goroutine.
 */
enum assemble_role {
	ASSEMBLE_ROLE_OP,	/* an op from entry to exit; of a MARK: of no length */
	ASSEMBLE_ROLE_BEGIN,	/* an op begins: at the exit, or the mark */
	ASSEMBLE_ROLE_END,	/* it ends, on any strand: at the entry or the mark; at the exit if a value of it is asked for */
	ASSEMBLE_ROLE_WAIT,	/* one wait from entry to exit, for the op that has the key `target` or for `resource` */
	ASSEMBLE_ROLE_LOCK,	/* likewise for `resource`, from the first blocking to the exit, only if it blocked */
	/*
	 * The open op that has the key `target`, else the innermost of the strand, has the key `key` too, and the texts
	 * and the outcome that are made here
	 */
	ASSEMBLE_ROLE_KEY,
	ASSEMBLE_ROLE_SPAN,	/* an OTel span begins (at the exit, or the mark): texts trace and span */
	ASSEMBLE_ROLE_SPAN_END, /* it ends (at the entry or the mark): likewise */
};

/* How a value is written: strings as they are, numbers in decimal, bytes as hex; or as said. */
enum assemble_format {
	ASSEMBLE_FORMAT_TYPED,
	ASSEMBLE_FORMAT_HEX,	 /* a number, no 0x; bytes, a string: each byte */
	ASSEMBLE_FORMAT_POINTER, /* a number, with 0x */
};

/* Values by number: 0.. those of the entry (or the mark), ASSEMBLE_EXIT_VALUE.. those of the exit. */
enum { ASSEMBLE_EXIT_VALUE = WCBPF_FETCHES_MAX, ASSEMBLE_VALUES_MAX = 2 * WCBPF_FETCHES_MAX };

/* When a piece is written: a group begins with one that always is. */
enum assemble_when {
	ASSEMBLE_WHEN_ALWAYS,
	ASSEMBLE_WHEN_NONE, /* nothing was written of its group so far */
	ASSEMBLE_WHEN_SOME, /* something was of the piece right before it */
};

/* Words and values in order: "exec:{0}". A value that could not be read leaves its place empty. */
struct assemble_piece {
	const char *literal; /* of value -1 */
	int8_t value;	     /* -1: none */
	uint8_t format;	     /* enum assemble_format */
	uint8_t when;	     /* enum assemble_when */
};
struct assemble_text {
	const struct assemble_piece *pieces;
	size_t piece_n; /* 0: no text */
};

enum assemble_cmp {
	ASSEMBLE_ALWAYS, ASSEMBLE_EQ, ASSEMBLE_NE, ASSEMBLE_LT, ASSEMBLE_GT, ASSEMBLE_LE, ASSEMBLE_GE,
};
/* The first that holds gives the word. A value that is not there or no number (a string counts as its length) holds none but ALWAYS. */
struct assemble_choice {
	int8_t value;
	uint8_t cmp; /* enum assemble_cmp */
	uint8_t word;
	int64_t than;
};
struct assemble_choices {
	const struct assemble_choice *choices;
	size_t choice_n;
};

struct assemble_point {
	const char *name; /* "dagger/getOrInitCall", for messages */
	enum assemble_role role;
	enum op_kind kind;
	enum work_type work;
	struct assemble_text class, ident, client;
	struct assemble_text meta; /* of an OP_EXEC its arguments, separated by NULs: shown as the format has them */
	/*
	 * By which waits and other points of the same process name the op. BEGIN
	 * and END meet by it; without one they meet on their strand. A key is
	 * its last holder's.
	 */
	struct assemble_text key;
	struct assemble_text target;   /* WAIT: key of the op that is waited for; KEY: of the op that is meant */
	struct assemble_text resource; /* LOCK, WAIT without target: what the wait shows as its ident */
	struct assemble_text trace, span; /* SPAN, SPAN_END: 32 and 16 hex digits */
	struct assemble_text under; /* OP, WAIT, LOCK, KEY: meant only if the op around it has this class; none: always */
	/* OP, BEGIN, KEY: a client: ops without parent that have it hang below the op (a LINK_NESTED_CLIENT) */
	struct assemble_text nested;
	struct assemble_choices outcome; /* OP, END: enum op_outcome; none: OUTCOME_NONE */
	/*
	 * WAIT: enum wait_reason. None: by the target's kind (call_exec, or singleflight if another is seen to have begun
	 * it; lazy, service, exec), else REASON_OTHER.
	 */
	struct assemble_choices reason;
	struct assemble_choices only;	 /* recorded only if its word is not 0; none: always */
	const char *wait_kind; /* WAIT, LOCK: wait_kind of the wait, NULL: mutex for LOCK, else none */
	bool contended; /* WAIT: recorded only if its strand blocked inside; LOCK always is so */
	bool hosts;	/* OP, BEGIN: an engine's execution of processes: those that are started inside make phases below it */
	bool root;	/* OP, BEGIN: its parent is 0, whatever its strand does */
	/*
	 * WAIT: it is over when its strand goes on after having blocked for the first time; if it never did, as it
	 * began. The rest of the function does other things.
	 */
	bool once;
	bool inherits_class, inherits_client; /* OP, BEGIN: of the op that it hangs below, if that has one */
	bool entry_repeats; /* its entry may be hit again within one call: by a loop that begins there */
	bool shared_exits; /* some of its exits are other functions' too: one without an entry is none of its own */
};

/* Copied. point in [1, WCBPF_POINTS_MAX); replaces what it was. 0, -EINVAL (a number, word or value out of range), -ENOMEM. */
int assemble_point_set(struct assemble *a, uint32_t point, const struct assemble_point *p);

/*
 * The process has a Go runtime whose goroutines are told of. reasons: the names
 * of its wait reasons by number, as the runtime prints them ("chan receive"),
 * NULL or "" for a number that is not known. Copied. From now on until its next
 * exec its goroutines are strands. 0, -ENOMEM.
 */
int assemble_go_set(struct assemble *a, uint32_t tgid, const char *const *reasons, size_t n);
/* From now on no runtime tells of its goroutines any more: ops still say which goroutine's they are. */
void assemble_go_unfollow(struct assemble *a);

/* The name of the function at a start_pc of goroutines of that process, "main.(*server).serve". At any time. 0, -ENOMEM. */
int assemble_go_function(struct assemble *a, uint32_t tgid, uint64_t start_pc, const char *name);

/*
 * ---- while recording goes on (option live) ----
 *
 * Work that begins while recording is off is left out: intervals by their begin (counted in integrity.out_of_scope),
 * ops and waits of choke points by their entry. What is in flight then ends as it would. Processes and threads are
 * told of all the same: what comes later is theirs. Times ascend. 0, -ENOMEM.
 */
int assemble_switch(struct assemble *a, bool on, uint64_t time_ns);
/* Threads that have not ended: no goroutines. */
size_t assemble_threads_alive(const struct assemble *a);
/* Threads whose begin was seen, or found, and whose times never came: after the end, each is a loss. */
size_t assemble_threads_untold(const struct assemble *a);
/* Samples that were left out so. */
uint64_t assemble_samples_off(const struct assemble *a);

/*
 * A dump that flushes: settle before it is made (waits that may still grow are cut off: they are in it), made of a
 * copy of the whole (assemble_snapshot() in a forked process), and then either taken out (flush) or not (dropped).
 * In between recording goes on. What is taken out leaves its place in the event cap; ops that are still open stay, and
 * so does whatever is referred to, without being an event. 0, -ENOMEM.
 */
int assemble_settle(struct assemble *a);
int assemble_flush(struct assemble *a, uint64_t now_ns);
void assemble_flush_drop(struct assemble *a);
/*
 * Makes the model what a dump of this moment shows: as assemble_finish(), but ops that are open stay open. Waits of choke
 * points that are not over are cut there.
 * Nothing can be added afterwards. 0, -ENOMEM.
 */
int assemble_snapshot(struct assemble *a, uint64_t now_ns);

/*
 * End of recording at end_ns (CLOCK_MONOTONIC): closes what is open, resolves
 * targets, classifies rows, sets model.end_ns. Call once, after the last event
 * and the last model_stack_set(). 0, -ENOMEM.
 */
int assemble_finish(struct assemble *a, uint64_t end_ns);
