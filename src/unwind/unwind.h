/* SPDX-License-Identifier: (LGPL-2.1 OR BSD-2-Clause) */
#pragma once
/*
 * Unwinds copied user stacks offline by the files' call frame information, which
 * libdw reads: registers, some bytes of memory above the stack pointer, and
 * what was mapped then. Nothing is guessed: no frame pointers, no scanning.
 */
#include <stdint.h>

#include "bpf/wire.h"
#include "proc/proc.h"

struct unwind_input {
	uint32_t pid;
	uint64_t time_ns;
	const uint64_t *regs;	/* WCBPF_REGS_MAX, DWARF numbering, [16] = ip */
	const uint8_t *stack;	/* memory from the stack pointer (regs[7]) upwards */
	size_t stack_n;
};

enum unwind_end {
	UNWIND_COMPLETE,   /* reached a frame whose return address is undefined */
	UNWIND_OUT_OF_COPY, /* needed memory beyond the copy */
	UNWIND_NO_RULE,	   /* no unwind data for an address */
	UNWIND_LIMIT,	   /* ret_max frames */
};

struct unwind;
int unwind_new(const struct proc_maps *maps, struct unwind **ret);
struct unwind *unwind_free(struct unwind *u);
/*
 * Fills ret with addresses, innermost first: [0] is the ip itself, the rest
 * are return addresses. *ret_n frames are right whatever the end is. 0, -ENOMEM.
 */
int unwind_copy(struct unwind *u, const struct unwind_input *in, uint64_t *ret, size_t ret_max, size_t *ret_n,
		enum unwind_end *ret_end);
