/* SPDX-License-Identifier: (LGPL-2.1 OR BSD-2-Clause) */
#pragma once
/* What the parts of sym/ share: the state behind the door, and cached answers. */
#include <stdbool.h>
#include <stdint.h>

#include "sym/sym.h"
#include "util/map.h"
#include "util/strtab.h"

struct module;
struct perf_map;

/* A cached answer for one address; name and module as in struct sym_frame. */
struct answer {
	const char *name, *module;
	uint64_t start; /* of the symbol */
	bool hidden;
};

struct sym {
	const struct proc_maps *maps;
	const struct ksyms *ksyms;  /* or NULL */
	struct strtab *names;	    /* owns every name that is given out */
	struct map *kernel;	    /* address -> struct answer */
	struct module *modules;	    /* all of them, newest first */
	struct module *vdso;	    /* NULL until asked for */
	struct map *perf_maps;	    /* PID -> struct perf_map */
};

/* The same bytes, owned by s; NULL when there is no memory. */
const char *sym_keep(struct sym *s, const char *name);
/* Adds an answer to a cache that frees it with sym_answers_free(). NULL: no memory. */
struct answer *sym_answer_add(struct map *answers, uint64_t key);
struct map *sym_answers_free(struct map *answers);
