/* SPDX-License-Identifier: (LGPL-2.1 OR BSD-2-Clause) */
#pragma once
/*
 * A recording made by hand: events in, model out. Times of events are given in
 * microseconds from the recording's begin by US() and MS().
 */
#include <asm/unistd.h>

#include "assemble/assemble.h"

#define RIG_BEGIN_NS 1000000000000ull
#define US(n) ((uint64_t)((int64_t)RIG_BEGIN_NS + (n) * 1000ll))
#define MS(n) US((n) * 1000ll)

struct rig {
	struct model *m;
	struct assemble *a;
	uint64_t row_count, row_blocked_ns, row_runnable_ns; /* of all intervals fed, clipped to the begin */
	uint64_t end_ns; /* of the latest interval */
};

void rig_start(struct rig *r, size_t event_cap);
void rig_start_with(struct rig *r, const struct assemble_options *o);
void rig_stop(struct rig *r);

/* Tests override some of these fields. */
#pragma GCC diagnostic ignored "-Woverride-init"
/* What a blocked interval is unless the test says otherwise: tid and tgid 100, in futex(), woken, comm "app". */
#define RIG_INTERVAL(r, out, wake, in, ...)                                                      \
	rig_interval((r), &(struct wcbpf_interval){                                              \
				  .head.time_ns = (in), .out_ns = (out), .wake_ns = (wake), .tid = 100, .tgid = 100, \
				  .state = 1, .syscall = __NR_futex, .timeout_ns = -1, .comm = "app", __VA_ARGS__ })
int rig_interval(struct rig *r, const struct wcbpf_interval *e);
int rig_fork(struct rig *r, uint64_t time_ns, uint32_t parent_tid, uint32_t parent_tgid, uint32_t tid, uint32_t tgid);
int rig_exec(struct rig *r, uint64_t time_ns, uint32_t tgid, uint32_t old_tid, const char *comm, const char *argv,
	     size_t argv_len);
int rig_exit(struct rig *r, uint64_t time_ns, uint32_t tid, uint32_t tgid, int code, bool group_dead);
int rig_totals(struct rig *r, const struct wcbpf_thread_totals *e);
int rig_result(struct rig *r, uint64_t time_ns, uint32_t tid, uint32_t tgid, uint32_t seq, int64_t result);
int rig_file(struct rig *r, uint64_t id, uint32_t mode, uint32_t rdev);
int rig_anon(struct rig *r, uint64_t id, enum wcbpf_fop_kind kind);
int rig_socket(struct rig *r, uint64_t id);
int rig_seed(struct rig *r, uint32_t pid, uint32_t tid, const char *comm);
/* A seed that names its process's parent (0: none), both with their start times. */
int rig_seed_child(struct rig *r, uint32_t pid, uint32_t tid, uint64_t start_ns, uint32_t parent,
		   uint64_t parent_start_ns);
/* A stack by wire id: "libc.so.6:pthread_mutex_lock app:main", innermost first; "-" is no module, no name. */
void rig_stack(struct rig *r, enum stack_side side, uint64_t id, const char *frames);

/* Ends the recording and checks what holds of every model: see invariants in rig.c. */
void rig_finish(struct rig *r, uint64_t end_ns);

const char *rig_str(const struct rig *r, uint32_t id);
/* Checks that wait n (from 1, in order of being closed) has this reason and kind. */
void rig_expect_kind(const struct rig *r, uint32_t wait, enum wait_reason reason, const char *kind);
/* The first op, thread or process that is that, 0: none. */
uint32_t rig_op_of_process(const struct rig *r, uint32_t pid);
uint32_t rig_op_of_thread(const struct rig *r, uint32_t tid);
