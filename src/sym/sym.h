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
 *
 * Names are those of the file's symbol tables, of its debug file (found by
 * build id or .gnu_debuglink, see objfile.h) and of .gnu_debugdata; inlined
 * functions and lines are known where there is debug information. One that
 * can't be named is left out.
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
	uint32_t offset;      /* from the symbol's start; of an inlined one 0 */
	bool hidden;	      /* kernel: the tracer's own (bpf_prog_*, bpf_trace_run*, __traceiter_*, trampolines) */
	const char *file;     /* as the debug information names it; NULL: unknown. Owned by sym */
	uint32_t line;	      /* of the address, of a frame with an inlined one before it: of that one's call. 0: unknown */
	bool inlined;	      /* into the frame that follows, which has the same address */
	uint32_t alias_n;     /* other names of functions with this start (identical code folded, aliases) */
};

/* ksyms may be NULL: kernel frames have no names then. Neither is owned. */
int sym_new(const struct proc_maps *maps, const struct ksyms *ksyms, struct sym **ret);
struct sym *sym_free(struct sym *s);

void sym_kernel(struct sym *s, uint64_t addr, struct sym_frame *ret);
/*
 * A user address of a process as of time_ns: its frames, innermost first, at
 * least one and at most ret_max (of more, the outermost). Gives their number. return_address: look up addr - 1
 * (a call may be its function's last instruction). For code that the
 * process made itself it reads the jit-PID.dump that the process has mapped, by the times in there, else perf-PID.map
 * (in /tmp and the target's root, by its innermost namespace's PID, which must be the target's user's or root's);
 * asked late it knows more: processes write these through buffers.
 */
size_t sym_user(struct sym *s, uint32_t pid, uint64_t time_ns, uint64_t addr, bool return_address, struct sym_frame *ret,
		size_t ret_max);
/*
 * Debug files that lie where one would be but belong to another file or are too big: a line each, without newline.
 * Owned by s, valid until it is next asked for something. Their number.
 */
size_t sym_notes(const struct sym *s, const char *const **ret);

/* ---- of a recording, later or elsewhere ---- */

/*
 * For sym_stored() only. dirs are folders with copies of the recorded files or their debug files, looked into before
 * this system; they are copied.
 */
int sym_open_later(const char *const *dirs, size_t dir_n, struct sym **ret);
/*
 * From now on debug files that neither dirs nor this system has are fetched by build id from the servers that
 * DEBUGINFOD_URLS names, which can take long; each failure is a note. -ENOENT: libdebuginfod isn't installed, -ENOMEM.
 */
int sym_fetch(struct sym *s);
/*
 * The frames of an address relative to a module, as sym_user() gave them: path and build id ("": none) are those of
 * the recording. A file is used only if it has the build id: DIR/.build-id/xx/yyyy.debug and DIR/.build-id/xx/yyyy, DIR
 * with the whole path, DIR/NAME, DIR/NAME.debug, then the path itself and the system's debug files; without a build id
 * only one of dirs that has none either. address is the stack's: of a caller with return_address. 0: nothing is known.
 */
size_t sym_stored(struct sym *s, const char *path, const char *build_id, uint64_t address, bool return_address,
		  struct sym_frame *ret, size_t ret_max);
