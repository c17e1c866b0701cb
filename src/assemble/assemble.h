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
 * Name of one libc-internal caller of a user stack, for futex calls: the
 * function names from the innermost on, as the classifier looks for
 * pthread_mutex_lock, pthread_cond_wait, sem_wait, ... in user stacks' frames
 * (model_stack). Nothing to call here; stacks are set with model_stack_set().
 */

/*
 * End of recording at end_ns (CLOCK_MONOTONIC): closes what is open, resolves
 * targets, classifies rows, sets model.end_ns. Call once, after the last event
 * and the last model_stack_set(). 0, -ENOMEM.
 */
int assemble_finish(struct assemble *a, uint64_t end_ns);
