/* SPDX-License-Identifier: (LGPL-2.1 OR BSD-2-Clause) */
#pragma once
/* A program that is stopped somewhere: its registers, a copy of its stack, and libdwfl's opinion of it. */
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "unwind/unwind.h"

#define TARGET_FRAMES_MAX 1024
#define TARGET_STACK_MAX (512u << 10)

struct target {
	pid_t pid, tid; /* tid: the thread that is looked at */
	uint64_t regs[WCBPF_REGS_MAX];
	uint8_t *stack; /* from the stack pointer to the mapping's end, at most TARGET_STACK_MAX */
	size_t stack_n;
};

/* Starts "path arg", waits until it (or with other_thread its second thread) blocks in a system call, stops it. */
struct target target_start(const char *path, const char *arg, int other_thread);
/* Its return addresses as libdwfl finds them in the stopped thread itself, [0] the ip. */
size_t target_dwfl(const struct target *t, uint64_t *frames);
void target_end(struct target *t);
