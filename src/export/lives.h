/* SPDX-License-Identifier: (LGPL-2.1 OR BSD-2-Clause) */
#pragma once
/*
 * Whose something is: numbers of threads, goroutines and processes are reused, so they are asked for with a time.
 * Private to export/.
 */
#include "model/model.h"

struct lives {
	struct model_lifetimes threads, goroutines, processes;
};

int lives_make(const struct model *m, struct lives *ret); /* 0, -ENOMEM */
void lives_done(struct lives *l);

/* Indexes of who bore the numbers at ns, or first if all began later; 0: nobody. */
uint32_t lives_thread(const struct lives *l, uint32_t pid, uint32_t tid, int64_t ns);
uint32_t lives_goroutine(const struct lives *l, uint32_t pid, uint64_t goid, int64_t ns);
uint32_t lives_process(const struct lives *l, uint32_t pid, int64_t ns);

/* Is it a process as a whole, or a program in one? (An execution that an engine hosts is its thread's, or goroutine's.) */
bool lives_op_is_process(const struct model *m, uint32_t op);

/*
 * The thread whose time a wait is: of one of a goroutine that its thread waited with, that thread; 0: of none, or not
 * known. (wait.thread is the goroutine then.)
 */
uint32_t lives_thread_of_wait(const struct lives *l, const struct model *m, uint32_t wait);
