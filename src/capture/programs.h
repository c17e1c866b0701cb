/* SPDX-License-Identifier: (LGPL-2.1 OR BSD-2-Clause) */
#pragma once
/* The BPF object: loaded, attached, asked, detached. The only file that touches the skeleton is programs.c (and learn.c). */
#include "capture/internal.h"
#include "capture/sites.h"

struct programs;

/* Opens and loads. online must outlive it. -errno with *e filled. */
int programs_new(const struct capture_options *o, const struct online *online, struct programs **ret,
		 struct capture_error *e);
struct programs *programs_free(struct programs *p);

struct tables_maps;
/* For user stacks by tables; false: this recording has none. */
bool programs_tables(const struct programs *p, struct tables_maps *ret);
/* How choke points can be attached here, and with what. */
enum site_how programs_sites(const struct programs *p, struct site_fds *ret);
/*
 * Tells of the goroutines that don't run, as ended at time_ns: of the process (0: all), of its programs before that exec
 * (0: any). flags: why, WCBPF_GO_*.
 */
int programs_goroutines_close(struct programs *p, uint32_t tgid, uint64_t before_exec_id, uint64_t time_ns, uint32_t flags,
			      int (*f)(void *arg, const struct wcbpf_head *e), void *arg);
int programs_rings(struct programs *p, uint64_t bytes, struct rings **ret);
/* Attaches everything, learns what is to be learned. Recording is not on yet. */
int programs_attach(struct programs *p, int64_t *ret_clock_offset_ns, struct capture_error *e);
struct skeletons;
struct skeletons_kernel;
/*
 * From now on kernel stacks are known by skeletons; those are made by who is given back, freed before the programs. Says
 * which frames of threads that are off the CPU are left out as well. Before the switch-on. -ENOENT: not on this kernel.
 */
int programs_learn_stacks(struct programs *p, const struct skeletons_kernel *k, struct skeletons **ret);
/* Adds a goroutine that the programs don't know. -EEXIST: they do. -E2BIG: no room; -errno. */
int programs_goroutine_add(struct programs *p, const struct wcbpf_goroutine_key *key, const struct wcbpf_goroutine *g);
/* -ENOENT: they don't know it. */
int programs_goroutine_read(const struct programs *p, const struct wcbpf_goroutine_key *key, struct wcbpf_goroutine *ret);
void programs_goroutine_remove(struct programs *p, const struct wcbpf_goroutine_key *key);
void programs_switch_on(struct programs *p, uint64_t begin_ns);
/* Takes up the running threads in scope: a struct wcbpf_seed each. Can be repeated. */
int programs_seed(struct programs *p, int (*f)(void *arg, const struct wcbpf_head *e), void *arg);
/* What is open at that time, just now: stacks and intervals, cut there. Nothing changes by it. */
int programs_look(struct programs *p, uint64_t at_ns, int (*f)(void *arg, const struct wcbpf_head *e), void *arg);
/* Recording ends at end_ns: from now on the programs only close intervals that are open. */
void programs_end(struct programs *p, uint64_t end_ns);
/* What is open at the end: stacks, intervals, thread totals. An interval may come from the rings as well. */
int programs_close(struct programs *p, int (*f)(void *arg, const struct wcbpf_head *e), void *arg);
void programs_detach(struct programs *p);

/* Is this process (kernel-wide tgid) in scope right now? PID scope only. */
bool programs_traces(const struct programs *p, uint32_t tgid);

/* Sums over the CPUs, by enum wcbpf_counter. */
void programs_counts(const struct programs *p, uint64_t ret[WCBPF_CNT_MAX]);
/* One CPU's; false behind the last. */
bool programs_counts_of_cpu(const struct programs *p, uint32_t cpu, uint64_t ret[WCBPF_CNT_MAX]);
/* Program runs that the kernel skipped. */
uint64_t programs_misses(const struct programs *p);
void programs_cost(const struct programs *p, uint64_t *ret_run_n, uint64_t *ret_run_ns);
void programs_sample_cost(const struct programs *p, uint64_t *ret_run_n, uint64_t *ret_run_ns);
/* Likewise those of choke points. */
void programs_site_cost(const struct programs *p, uint64_t *ret_run_n, uint64_t *ret_run_ns);
/* How often threads are sampled; 0: they are not. */
uint32_t programs_sample_hz(const struct programs *p);
/* Follows CPUs that came or went, as of the last look at them. */
void programs_refresh(struct programs *p, struct rings *rings);
/* BTF tracing programs, not the raw tracepoints that stand in for them (a problem, too). */
bool programs_are_typed(const struct programs *p);
/* What is missing on this host though recording works; the i-th line, NULL behind the last. */
const char *programs_problem(const struct programs *p, size_t i);
