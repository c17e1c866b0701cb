/* SPDX-License-Identifier: (LGPL-2.1 OR BSD-2-Clause) */
#pragma once
/* What the files of this folder share. The door is capture.h. */
#include <bpf/libbpf.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "bpf/wire.h"
#include "capture/capture.h"

struct wcbpf_bpf; /* the skeleton */

/* Fills *e with one line: what (printf-like). Gives back err. */
int capture_fail(struct capture_error *e, int err, bool missing, const char *kind, const char *fmt, ...)
	__attribute__((format(printf, 5, 6)));

uint64_t monotonic_ns(void);

/* ---- features.c: what the running kernel's BTF says ---- */
struct features {
	bool switch_has_prev_state;	  /* sched_switch's fourth argument (5.18+) */
	bool switch_prev_state_first;	  /* 5.18.0 and 5.18.1 alone had it second */
	int64_t preempt_count_distance;	  /* from run queue to preempt count, 0: unknown */
	bool attach_cookie;		  /* programs of probes can ask for one (5.15+) */
};
/* -ENOENT: the kernel has no BTF. */
int features_read(struct features *ret);

/* ---- syscalls.c ---- */
/* Fills the class table of the programs (WCBPF_SC_*) for this architecture. */
void syscall_classes_fill(uint16_t classes[WCBPF_SYSCALLS_MAX]);

/* ---- tracefs.c ---- */
/* A tracefs of our own, mounted nowhere; its folder's fd. -errno. */
int tracefs_open(void);
/* The id of an event ("syscalls/sys_exit_futex"). -ENOENT. */
int tracefs_event_id(int tracefs_fd, const char *event, uint32_t *ret);

/* ---- learn.c: what the programs find out about wcbpf itself ---- */
/* Namespace, kinds of anonymous files, clock. 0, -errno. */
int learn_self(struct wcbpf_bpf *skel);
/*
 * Which thread flags tell one system call from the next, which bit of the preempt count tells a hard interrupt
 * (wcbpf_rt.same_call_mask, hardirq_mask). Leaves 0 when it can't tell.
 */
void learn_contexts(struct wcbpf_bpf *skel);

/* ---- iterate.c ---- */
/* Runs an iterator program once, calling f for each event it wrote. 0, -errno. */
int iterate(struct bpf_program *prog, int map_fd, int (*f)(void *arg, const struct wcbpf_head *e), void *arg);

/* ---- online.c: which CPUs run ---- */
struct online;
/* Of cpu_n that may ever be. path NULL: sysfs's list. Where there is none, all of them are taken for online. */
int online_new(const char *path, uint32_t cpu_n, struct online **ret);
struct online *online_free(struct online *o);
/* Looks again. True: CPUs came, went, or were away meanwhile. */
bool online_look(struct online *o);
/* As of the last look: 0 while the CPU is offline, else a number that is another one each time it came. */
uint32_t online_turn(const struct online *o, uint32_t cpu);
uint32_t online_n(const struct online *o);
uint32_t online_cpu_n(const struct online *o);

/* ---- sampling.c: the timers that run the sample program ---- */
struct sampling;
/* A timer on each of the CPUs that are online. 0, -errno: none could be had. */
int sampling_new(struct bpf_program *prog, const struct online *online, uint32_t hz, struct sampling **ret);
struct sampling *sampling_free(struct sampling *s);
/* Follows CPUs that came or went, as of the last look at them. */
void sampling_refresh(struct sampling *s);
/* The rate that the kernel allowed. */
uint32_t sampling_hz(const struct sampling *s);
/* What is not as asked, one line; NULL: nothing. */
const char *sampling_problem(const struct sampling *s);

/* ---- rings.c: per-CPU rings, merged by time ---- */
struct rings;
/* Makes a ring for each CPU and puts it into the rings map; lifecycle_fd is the lifecycle ring. */
int rings_new(int rings_map_fd, int lifecycle_fd, uint32_t cpu_n, uint64_t (*bytes_of_cpu)(void *arg, uint32_t cpu),
	      void *arg, struct rings **ret);
/* Adds an event from elsewhere to those that are handed out in time order. 0, -ENOMEM. */
int rings_push(struct rings *r, const struct wcbpf_head *e);
struct rings *rings_free(struct rings *r);
/* A new ring for a CPU, of another size; what the old one has is read all the same. 0, -errno: it has the old one. */
int rings_replace(struct rings *r, int rings_map_fd, uint32_t cpu, uint64_t bytes);
int rings_fd(const struct rings *r);
/* From now on what is younger is not handed out (but if all is). 0: again all that can't be overtaken. */
void rings_hold(struct rings *r, uint64_t before_ns);
/* f sees each event as soon as it is read, in no order; before it is handed out. */
void rings_peek(struct rings *r, void (*f)(void *arg, const struct wcbpf_head *e), void *arg);
/* Reads what is in the rings. 0, -errno. */
int rings_read(struct rings *r);
/*
 * Hands out, in time order, what was read and can't be overtaken any more (everything if all): nothing that was read
 * in this round. So what another source told after the round's rings_read() comes before all that it is older than.
 * f's error ends the call and is given back.
 */
int rings_hand_out(struct rings *r, bool all, int (*f)(void *arg, const struct wcbpf_head *e), void *arg);
/* Events with an impossible size, passed over. */
uint64_t rings_damaged(const struct rings *r);

/* ---- mappings.c: mmap and exec records of all processes ---- */
struct mappings;
typedef void (*mapping_fn)(void *arg, uint32_t pid, uint64_t time_ns, uint64_t start, uint64_t len, uint64_t pgoff,
			   uint32_t maj, uint32_t min, uint64_t ino, const char *path);
/* An exec: what the process had mapped before is gone. Comes before the new program's own mappings (perf's comm record). */
typedef void (*mapping_exec_fn)(void *arg, uint32_t pid, uint64_t time_ns);
/*
 * wanted: is this process traced, as far as is known now? Records of others are kept until mappings_known() tells it,
 * and asked about once more RETRY_NS later.
 */
int mappings_new(const struct online *online, mapping_fn f, mapping_exec_fn exec,
		 bool (*wanted)(void *arg, uint32_t pid), void *arg, struct mappings **ret);
struct mappings *mappings_free(struct mappings *m);
/*
 * Follows CPUs that came or went, as of the last look at them; looked_ns: when the look before that was. True: what was
 * mapped on one of them from *ret_from_ns until now can't have been told.
 */
bool mappings_refresh(struct mappings *m, uint64_t looked_ns, uint64_t *ret_from_ns);
int mappings_fd(const struct mappings *m);
/* Hands out what was kept of a process: its fork was told. */
void mappings_known(struct mappings *m, uint32_t pid);
/* now_ns: the programs' clock, which is perf's as well. all: nothing comes later, decide now. */
void mappings_drain(struct mappings *m, uint64_t now_ns, bool all);
uint64_t mappings_lost(const struct mappings *m);

/* ---- resources.c: names for files ---- */
struct resource_name {
	const char *kind; /* a wait_kind word */
	char name[400];
};
void resource_name(const struct wcbpf_resource *r, struct resource_name *ret);

/* ---- resolve.c: bodies of stacks -> frames in the model ---- */
struct resolve;
struct assemble;
struct proc_maps;
/* Reads the kernel's symbols: takes some ten ms. */
int resolve_new(struct model *m, const struct proc_maps *maps, bool symbols, struct resolve **ret);
/* Starts its thread. Who knows the model's index of a stack; before the first body. 0, -errno. */
int resolve_start(struct resolve *r, struct assemble *a);
struct resolve *resolve_free(struct resolve *r);
/* Takes a body (copied). Duplicates are passed over. */
int resolve_take(struct resolve *r, const struct wcbpf_stack *s);
/* A thread that was blocked when recording began: reads its stack from its memory now. */
int resolve_take_seed(struct resolve *r, const struct wcbpf_seed *seed);
/* Likewise where what is in memory from the stack pointer on was read by the caller; taken over, NULL then. 0, -ENOMEM. */
int resolve_take_memory(struct resolve *r, const struct wcbpf_seed *seed, uint8_t **stack, size_t n);
/* Was a stack of that id taken? */
bool resolve_has(const struct resolve *r, uint64_t id);
/*
 * Before an interval or a sample goes on: if its user stack's addresses meant something else when it was taken, at
 * time_ns, than when the stack was first seen, it gets another id. All mapping records up to then must have come. 0,
 * -ENOMEM.
 */
int resolve_use(struct resolve *r, uint64_t time_ns, __u64 *ustack_id);
/* A process was forked: it has its parent's unwind tables. In the order of events. 0, -ENOMEM. */
int resolve_forked(struct resolve *r, uint32_t pid, uint32_t parent, uint64_t time_ns);
/*
 * The unwind tables in force for pid from time_ns on show all mappings that were told until this call. A stack all of
 * whose uses were walked by tables that did not show a mapping it has a frame in, ends as guessed. A process for which
 * this is never called is not judged. 0, -ENOMEM.
 */
int resolve_tables_published(struct resolve *r, uint32_t pid, uint64_t time_ns);
/* Lets its thread work on bodies older than before_ns, and puts into the model what that has done. 0, -ENOMEM. */
int resolve_some(struct resolve *r, uint64_t before_ns);
/* Bodies that were taken, and those whose frames are in the model; in the same order. */
void resolve_progress(const struct resolve *r, uint64_t *ret_taken_n, uint64_t *ret_done_n);
/* All mapping records have come: from now on bodies are worked on as they come, while the rest is being read. */
void resolve_hurry(struct resolve *r);
/* Works on all that there is, to the end, and puts it into the model. 0, -ENOMEM. */
int resolve_finish(struct resolve *r);
/* Where the kernel's code and its scheduler and lock functions lie, and their names, valid while r is. -ENOENT. */
struct skeletons_kernel;
int resolve_kernel_code(const struct resolve *r, struct skeletons_kernel *ret);
/* Why kernel names are missing, NULL if they are not. */
const char *resolve_kernel_problem(const struct resolve *r);
/* Files that could have given names but were not used, a line each; for when all stacks are resolved. Their number. */
size_t resolve_notes(const struct resolve *r, const char *const **ret);
