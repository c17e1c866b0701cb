/* SPDX-License-Identifier: (LGPL-2.1 OR BSD-2-Clause) */
#pragma once
/*
 * Unwinding of user stacks by the files' call frame information, which libdw
 * reads. Offline: registers, some bytes of memory above the stack pointer, and
 * what was mapped then; nothing is guessed: no frame pointers, no scanning.
 * And the tables by which the BPF programs unwind.
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
	UNWIND_COMPLETE,   /* reached a frame whose return address is undefined, or a file's entry point */
	UNWIND_OUT_OF_COPY, /* needed memory beyond the copy */
	UNWIND_NO_RULE,	   /* no unwind data for an address */
	UNWIND_LIMIT,	   /* ret_max frames */
	UNWIND_MARKED,	   /* code without rules whose frame pointer is 0: by convention the outermost frame, yet a guess */
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

/* ---- tables for the BPF programs (bpf/wire.h) ---- */

/* From this address (vaddr, as st_value counts) to the next row's. */
struct unwind_row {
	uint64_t vaddr;
	struct wcbpf_rule rule; /* WCBPF_CFA_NONE: no rules from here on */
};

/* All rules of a file, by address, no two neighbours with the same rule; the last row has WCBPF_CFA_NONE. */
struct unwind_rows {
	struct unwind_row *v;
	size_t n;
	size_t unsupported_n; /* of them, rules that the tables can't express */
};

/*
 * The rules of an open ELF file's code. For any thread: nothing is shared.
 * -ENOENT: it has none. -ENOEXEC, -ENOTSUP (another machine), -ENOMEM.
 */
int unwind_rows_read(int fd, struct unwind_rows **ret);
int unwind_rows_read_vdso(struct unwind_rows **ret);
struct unwind_rows *unwind_rows_free(struct unwind_rows *r);

/* Where the tables are kept: arrays of WCBPF_RULES_MAX and WCBPF_DIRS_MAX, all zero, and shards made when needed. */
struct unwind_store_memory {
	struct wcbpf_rule *rules;
	struct wcbpf_dir *dirs;
	/* The index-th shard, WCBPF_SHARD_ROWS rows, asked for in rising order, each once. -errno. */
	int (*shard)(void *arg, uint32_t index, struct wcbpf_row **ret);
	void *arg;
};

/* Where a file's tables are: page p of it has dirs[dir0 + p - page0] if p is in [page0, page0 + page_n). */
struct unwind_place {
	uint32_t dir0, page0, page_n;
};

struct unwind_store;
int unwind_store_new(const struct unwind_store_memory *memory, struct unwind_store **ret);
struct unwind_store *unwind_store_free(struct unwind_store *s);
/*
 * Writes a file's rows behind all that was written before: what is in use is
 * never touched. -ENOSPC: no room (nothing can be seen of the try).
 */
int unwind_store_add(struct unwind_store *s, const struct unwind_rows *rows, struct unwind_place *ret);
/* Bytes of rows and directory entries, and rules, so far. */
void unwind_store_size(const struct unwind_store *s, uint64_t *ret_bytes, uint32_t *ret_rule_n);
/* Rows that became WCBPF_CFA_UNSUPPORTED because all WCBPF_RULES_MAX rules were taken. */
uint64_t unwind_store_refused_n(const struct unwind_store *s);
