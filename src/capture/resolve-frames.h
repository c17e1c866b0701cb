/* SPDX-License-Identifier: (LGPL-2.1 OR BSD-2-Clause) */
#pragma once
/* From a stack as the programs sent it to named frames: the part of resolving that takes long. Private to resolve*.c. */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "bpf/wire.h"
#include "capture/worker.h"
#include "sym/sym.h"

#define SEED_STACK_BYTES_MAX (256 << 10) /* as much of a seed's stack is read */

/* A stack on its way. */
struct body {
	struct job job;
	uint8_t *seed_stack; /* a seed's memory, instead of wire.copy */
	size_t seed_stack_n;
	bool seed;
	/* what is made of it */
	int err; /* -ENOMEM: nothing was */
	const char *ended; /* a word of wcbpf-dump(5) */
	struct sym_frame *frames; /* innermost first */
	size_t frame_n, frame_cap;
	struct wcbpf_stack wire; /* cut to its size */
};
void body_free(struct body *b);

struct framer;
/* Reads the kernel's symbols: takes some ten ms. symbols: false: one frame an address. */
int framer_new(const struct proc_maps *maps, bool symbols, struct framer **ret);
struct framer *framer_free(struct framer *f);
/* Makes frames of the job's body, as worker_new() calls it: arg is the framer. Names live as long as it. */
void framer_work(void *arg, struct job *job);
/* Where the kernel's code and its scheduler and lock functions lie, and their names, valid while f is. -ENOENT. */
struct skeletons_kernel;
int framer_kernel_code(const struct framer *f, struct skeletons_kernel *ret);
/* Files with names that were not used: lines for people. After the thread's end. */
size_t framer_notes(const struct framer *f, const char *const **ret);
/* Why kernel names are missing, NULL if they are not. */
const char *framer_kernel_problem(const struct framer *f);
