/* SPDX-License-Identifier: (LGPL-2.1 OR BSD-2-Clause) */
#pragma once
/* Who a tid or a pid was at a time. All times CLOCK_MONOTONIC. */
#include "assemble/state.h"

/* The thread or process that has the number at that time (dead ones keep it until another takes it); 0: none known. */
uint32_t assemble_thread_at(const struct assemble *a, uint32_t tid, uint64_t time_ns);
uint32_t assemble_process_at(const struct assemble *a, uint32_t pid, uint64_t time_ns);
/* The process of that number that started then (boottime); 0: none known. */
uint32_t assemble_process_started(const struct assemble *a, uint32_t pid, uint64_t start_time_ns);
/* The holder of the number whose life that is, as far as is known; it may be another's. 0: none known. */
uint32_t assemble_thread_living(const struct assemble *a, uint32_t tid, uint64_t begin_ns, uint64_t end_ns);
/*
 * On kernels before 6.16 a thread counts as gone to its process some time before its own exit event, and may run, or wait
 * for a CPU, in between: the process's end can be told first. Is the holder of the number then one that goes on so?
 */
bool assemble_outlives_process(const struct assemble *a, uint32_t tid, uint32_t pid, uint64_t time_ns);
/* The one at a time, if it is a thread of that process. */
uint32_t assemble_thread_in(const struct assemble *a, uint32_t tid, uint32_t process, uint64_t time_ns);

struct assemble_birth {
	uint32_t number;  /* tid or pid */
	uint32_t process; /* of a thread: its process; of a process: its parent, 0: unknown */
	uint64_t begin_ns;
	uint64_t start_time_ns; /* of a process, boottime, 0: unknown */
	const char *comm;	/* ends in NUL, or NULL */
	enum origin origin;
	bool before; /* began before begin_ns */
};
/* Adds one, with its op. Whoever has the number is ended. 0, -ENOMEM. */
int assemble_thread_make(struct assemble *a, const struct assemble_birth *birth, uint32_t *ret);
int assemble_process_make(struct assemble *a, const struct assemble_birth *birth, uint32_t *ret);

/* The owner of something that lasted from from_ns to to_ns; made if it isn't known. 0, -ENOMEM. */
struct assemble_span {
	uint64_t from_ns, to_ns;
	bool dying; /* may be after its exit event */
	const char *comm;
};
int assemble_thread_for(struct assemble *a, uint32_t tid, uint32_t tgid, const struct assemble_span *span,
			uint32_t *ret);
int assemble_process_for(struct assemble *a, uint32_t pid, const struct assemble_span *span, uint32_t *ret);

/* comm holds up to WCBPF_COMM_LEN bytes. 0, -ENOMEM. */
int assemble_thread_name(struct assemble *a, uint32_t thread, const char *comm);
/* It began earlier than it was known to. */
void assemble_thread_extend(struct assemble *a, uint32_t thread, uint64_t begin_ns);

/* Ends a thread, or a process with all its threads and its phase. Nothing happens to the dead. */
void assemble_thread_end(struct assemble *a, uint32_t thread, uint64_t time_ns);
void assemble_process_end(struct assemble *a, uint32_t process, uint64_t time_ns);

/* A new op with its place in the event cap. *ret is 0 if there was none left. 0, -ENOMEM. */
int assemble_op_begin(struct assemble *a, enum op_kind kind, uint64_t begin_ns, uint32_t *ret);
void assemble_op_end(struct assemble *a, uint32_t op, uint64_t time_ns);
