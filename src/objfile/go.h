/* SPDX-License-Identifier: (LGPL-2.1 OR BSD-2-Clause) */
#pragma once
/* What the readers of Go's tables share: the tables, in memory, and where their parts are. */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "objfile/objfile.h"
#include "util/bytes.h"

/* By the table's magic number; see the runtime's symtab.go (pcHeader, moduledata) and runtime2.go (_func). */
enum go_format {
	GO_FORMAT_1_16, /* 1.16, 1.17: addresses, not offsets */
	GO_FORMAT_1_18, /* 1.18, 1.19 */
	GO_FORMAT_1_20,
};

struct objfile_go {
	enum go_format format;
	uint8_t quantum;    /* addresses advance by multiples of it */
	uint8_t wrapper_id; /* the function id of wrappers; 0: not known */
	uint8_t *table;	    /* .gopclntab, all of it; the readers below lie in it */
	size_t table_n;
	struct bytes names, units, files, values, functions;
	size_t function_n;
	uint64_t text, text_end;
	uint8_t *trees;	  /* NULL: inlined functions aren't known */
	size_t trees_n;
	uint64_t trees_vaddr; /* of the first byte of trees */
	uint64_t trees_base;  /* what offsets of trees count from */
	char version[64];
};

/* The fields of a function's record that are needed. */
struct go_record {
	uint32_t name, sp, file, line, unit;
	uint32_t after_panic; /* where it goes on when it has recovered, from its start; 0: it can't */
	uint8_t id, flags;
	uint32_t pcdata_n, funcdata_n;
	size_t pcdata_at, funcdata_at; /* in g->functions */
};

/* go-functions.c */
int go_record_read(const struct objfile_go *g, uint32_t record, struct go_record *ret);
/* A name by its offset; NULL: there is none. */
const char *go_name(const struct objfile_go *g, uint32_t offset);
/* Where a function goes on when it has recovered from a panic: no instruction leads there. 0: it can't. */
uint64_t go_after_panic(const struct objfile_go *g, const struct objfile_go_function *f);
/* Are the addresses in order, and does the first record make sense? Makes text_end what they reach to. */
int go_functions_check(struct objfile_go *g);

/* go-values.c: tables that give a number for each address of a function. */
struct go_values {
	struct bytes b;
	uint64_t pc, end; /* of the function */
	uint32_t value;
	bool begun;
};
struct go_range {
	uint64_t start, end;
	int32_t value;
};
/* offset 0: no table, and nothing is walked. -EBADMSG. */
int go_values_begin(const struct objfile_go *g, const struct objfile_go_function *f, uint32_t offset,
		    struct go_values *ret);
/* 1: one more. 0: that was all. -EBADMSG. */
int go_values_next(const struct objfile_go *g, struct go_values *v, struct go_range *ret);
/* The value at pc; -1: none. -EBADMSG. */
int go_value_at(const struct objfile_go *g, const struct objfile_go_function *f, uint32_t offset, uint64_t pc,
		int32_t *ret);

/* go-inline.c: reads the trees into g; leaves them NULL where there are none that make sense. -ENOMEM. */
struct go_words {
	uint64_t v[64]; /* the moduledata, relocated */
};
int go_trees_read(struct objfile_go *g, const struct objfile *o, const struct go_words *module);

/* Calls f with the name of each inlined call, until it gives an error, which is given back. */
int go_trees_each(const struct objfile_go *g, int (*f)(void *arg, const char *name), void *arg);

/* go-module.c: finds the moduledata of the table at vaddr. -ENOENT. */
struct go_header {
	enum go_format format;
	uint8_t quantum;
	uint64_t vaddr, function_n, names, units, files, values, functions; /* offsets from vaddr */
};
int go_module_find(struct objfile *o, const struct go_header *h, struct go_words *ret);
/* Words of data, as they are when the program is loaded at the addresses of the file. -EBADMSG, -errno. */
int go_words_read(struct objfile *o, uint64_t vaddr, uint64_t *ret, size_t n);

/* go-version.c: "" if it is not to be found. */
void go_version_read(struct objfile *o, char *ret, size_t n);
