/* SPDX-License-Identifier: (LGPL-2.1 OR BSD-2-Clause) */
#pragma once
/*
 * The tables by which the programs unwind user stacks (bpf/wire.h): which
 * process has what mapped, and the rules of each file, made by a thread of
 * their own. Until a process's tables are there its stacks are taken otherwise.
 */
#include <stddef.h>
#include <stdint.h>

struct tables;
struct proc_maps;

/* The maps of the BPF object, by descriptor. Not owned. */
struct tables_maps {
	int procs, mapents, dirs, rules, shards;
};

/* maps must outlive it. wake_fd: see worker.h. -errno: stacks can't be walked by tables. */
int tables_new(const struct tables_maps *fds, const struct proc_maps *maps, int wake_fd, struct tables **ret);
struct tables *tables_free(struct tables *t);
/*
 * Makes the tables of the files that a process (known to maps) has mapped now, waiting for at most wait_ns: what
 * recording begins with has them from its first moment.
 */
void tables_prepare(struct tables *t, uint32_t pid, uint64_t wait_ns);
/* A process is traced, or has a new program: its mappings are known, exec_id is its task->self_exec_id. 0, -ENOMEM. */
int tables_process(struct tables *t, uint32_t pid, uint64_t exec_id);
/* A mapping was made in it. One that is not known is none of ours. */
void tables_changed(struct tables *t, uint32_t pid);
void tables_exit(struct tables *t, uint32_t pid, uint64_t now_ns);
/*
 * Tells the programs what has changed since the last call. published is called
 * for each process whose tables now are those of the mappings that are known,
 * made or still pending.
 */
void tables_update(struct tables *t, uint64_t now_ns, void (*published)(void *arg, uint32_t pid), void *arg);

struct tables_stats {
	size_t file_n;	     /* that have rules */
	uint64_t bytes;	     /* of their tables */
	uint32_t rule_n;
	size_t unsupported_n; /* rows that the tables can't express */
	size_t full_n;	     /* processes or files that found no room */
	uint64_t build_ns;   /* the thread's time */
};
void tables_stats(const struct tables *t, struct tables_stats *ret);
