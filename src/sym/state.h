/* SPDX-License-Identifier: (LGPL-2.1 OR BSD-2-Clause) */
#pragma once
/* What the parts of sym/ share: the state behind the door, and cached answers. */
#include <stdbool.h>
#include <stdint.h>

#include "sym/sym.h"
#include "util/map.h"
#include "util/strtab.h"

struct fetch;
struct module;

/* One function at an address of a file; strings are sym's. */
struct sym_function {
	const char *name; /* NULL: unknown */
	const char *file; /* NULL: unknown */
	uint32_t line;
	uint32_t alias_n;
	uint64_t start; /* its first address */
};

/* A cached answer for one address. */
struct answer {
	const char *module;	 /* kernel only */
	struct sym_function own; /* who has the code */
	bool hidden;
	uint32_t inlined_n; /* there, innermost first */
	struct sym_function *inlined;
};

struct sym {
	const struct proc_maps *maps; /* NULL: opened for later */
	const struct ksyms *ksyms;    /* or NULL */
	struct strtab *names;	      /* owns every string that is given out */
	struct map *kernel;	      /* address -> struct answer */
	struct module *modules;	      /* all of them, newest first */
	struct module *vdso;	      /* NULL until asked for */
	struct map *jits;	      /* PID -> struct jit */
	struct map *stored;	      /* of later: id of path << 32 | of build id -> struct module */
	char **dirs;		      /* of later */
	size_t dir_n;
	struct fetch *fetch;	      /* of later; NULL: no server is asked */
	char **notes;
	size_t note_n, note_cap;
	uint64_t clock;		 /* counts uses of debug information */
	size_t source_bytes_max; /* of debug information that is open, of all files */
};

/* The same bytes, owned by s; NULL when there is no memory. */
const char *sym_keep(struct sym *s, const char *name);
/* A name for people: demangled, else as it is. NULL when there is no memory. */
const char *sym_readable(struct sym *s, const char *raw);
/* Adds a line to the notes, unless it is there. */
void sym_note(struct sym *s, const char *format, ...) __attribute__((format(printf, 2, 3)));
/* Adds an answer to a cache that frees it with sym_answers_free(). NULL: no memory. */
struct answer *sym_answer_add(struct map *answers, uint64_t key);
struct map *sym_answers_free(struct map *answers);
/* The answer's functions as frames; frame has what they share. Their number, of more than ret_max the outermost. */
size_t sym_answer_frames(const struct answer *a, const struct sym_frame *frame, struct sym_frame *ret, size_t ret_max);
