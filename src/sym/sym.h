/* SPDX-License-Identifier: (LGPL-2.1 OR BSD-2-Clause) */
#pragma once
/*
 * Address -> frame: module, address relative to it, symbol, all with the
 * target's view of the time the stack was taken. A name is given only when a
 * symbol covers the address, or in one more case, marked by a ~ at its end:
 * "sem_wait~" is a function without a symbol that only sem_wait() reaches, or
 * only functions of one family (sem_wait(), sem_timedwait(), ...; of mutexes
 * also those of condition variables, which lock their mutex again), named by
 * the shortest. All else has the module and address alone.
 */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "proc/proc.h"

struct sym;

#define SYM_FRAMES_MAX 32 /* one address can stand for this many, inlined ones included */

struct sym_frame {
	const char *name;     /* demangled; NULL: unknown. Owned by sym until sym_free */
	const char *module;   /* path, "[kernel]", "[module]", "[vdso]", "//anon"; NULL: nothing mapped there */
	const char *build_id; /* hex, "" if none */
	uint64_t address;     /* relative to the module as st_value counts; kernel: from _text on; absolute when module is NULL */
	uint64_t bias;	      /* absolute - address */
	uint32_t offset;      /* from the symbol's start */
	bool hidden;	      /* kernel: the tracer's own (bpf_prog_*, bpf_trace_run*, __traceiter_*, trampolines) */
	const char *file;     /* source of the address, as the debug information names it; NULL: unknown. Owned by sym */
	uint32_t line;	      /* 0: unknown */
	bool inlined;	      /* into the frame that follows, which has the same address */
	uint32_t alias_n;     /* other function symbols with this start (identical code folded, aliases) */
};

/* ksyms may be NULL: kernel frames have no names then. Neither is owned. */
int sym_new(const struct proc_maps *maps, const struct ksyms *ksyms, struct sym **ret);
struct sym *sym_free(struct sym *s);

void sym_kernel(struct sym *s, uint64_t addr, struct sym_frame *ret);
/*
 * A user address of a process as of time_ns: its frames, innermost first, at
 * least one and at most ret_max (of more, the outermost). Gives their number. return_address: look up addr - 1
 * (a call may be its function's last instruction). Reads perf-PID.map
 * (/tmp and the target's root, by its innermost namespace's PID) for anonymous mappings.
 */
size_t sym_user(struct sym *s, uint32_t pid, uint64_t time_ns, uint64_t addr, bool return_address, struct sym_frame *ret,
		size_t ret_max);
