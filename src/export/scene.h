/* SPDX-License-Identifier: (LGPL-2.1 OR BSD-2-Clause) */
#pragma once
/*
 * A recording as tracks show it: processes, in them threads, on each what it
 * waited for in time order, and its ops side by side where they overlap.
 * Private to export/.
 */
#include "export/export.h"
#include "export/lanes.h"

/* A process, or where none is known all that has one client. */
struct scene_group {
	uint32_t process;   /* process index, 0: none */
	uint32_t pid;	    /* 0: none */
	uint32_t client_id; /* string, of a group without a pid */
	int64_t start_ns;   /* of its first actor */
	size_t actor_first, actor_n;
};

/* An op, or a wait where waits are items. */
struct scene_item {
	struct lanes_item at; /* parent counts from the actor's first item */
	uint32_t op;   /* op index, of a wait: 0 */
	uint32_t wait; /* wait index, of an op: 0 */
};

/* Who does something: a thread, a goroutine; or a group itself, whose ops are no thread's. */
struct scene_actor {
	uint32_t thread; /* thread index (of a goroutine too), 0: the group's own */
	uint32_t group;
	/*
	 * In scene.waits; of threads and goroutines only. What a goroutine's thread waited in with it, a system call, is both
	 * theirs; where the goroutine alone was parked it is not the thread's.
	 */
	size_t wait_first, wait_n;
	size_t item_first, item_n;
	uint32_t lane_n;
};

struct scene {
	struct scene_group *groups; /* by start */
	struct scene_actor *actors; /* by group; its own first, then threads, then goroutines, the main thread first */
	struct scene_item *items;   /* by actor, in the order of lanes_pack() */
	uint32_t *waits;	    /* by actor, by start */
	uint32_t *actor_of_thread;  /* by thread index: actor + 1, 0: not shown */
	uint32_t *actor_of_op;	    /* by op index, also of those that stand for a thread: actor + 1, 0: not shown */
	size_t group_n, actor_n, item_n, wait_n;
};

/*
 * all_waits: waits of threads are items too (of goroutines, not again of their threads); else only those of no thread.
 * An op that stands for a thread as a whole is no item. 0, -ENOMEM.
 */
int scene_make(const struct export_job *job, bool all_waits, struct scene *ret);
void scene_done(struct scene *s);

/*
 * A wait in three: blocked, ready, and on the CPU where it was woken in vain meanwhile, which most were not. Of one
 * that was, the lengths are measured, the order is not. Between start and end.
 */
int64_t scene_wait_ready_ns(const struct model *m, uint32_t wait);
int64_t scene_wait_run_ns(const struct model *m, uint32_t wait);
/* The program of a process; else the name of its first thread, or the client. */
const char *scene_group_name(const struct scene *s, const struct model *m, uint32_t group);
