/* SPDX-License-Identifier: (LGPL-2.1 OR BSD-2-Clause) */
#pragma once
/* The tables of one thread in a Firefox profile: strings, functions, frames, stacks. Private to export/firefox*.c. */
#include "export/export.h"
#include "export/pairs.h"
#include "util/json.h"
#include "util/strtab.h"

/* meta.categories, in this order. The first, which is grey, is the default one. */
#define FIREFOX_CATEGORIES(X)                                                                                        \
	X(OTHER, "Other", "grey") X(USER, "User", "yellow") X(KERNEL, "Kernel", "orange") X(RUNNABLE, "Runnable", "red") \
	X(LOCK, "Lock", "purple") X(IO, "I/O", "blue") X(SYNC, "Sync", "magenta") X(SLEEP, "Sleep", "lightblue")	  \
	X(POLL, "Poll", "green") X(CHILD, "Child process", "brown") X(WAIT, "Other wait", "darkgrey")
enum firefox_category {
#define X(id, name, color) FIREFOX_##id,
	FIREFOX_CATEGORIES(X)
#undef X
	FIREFOX_CATEGORY_MAX,
};
enum firefox_category firefox_category_of_wait(enum wait_reason reason);

/* A file, once however many processes have mapped it. */
struct firefox_libs {
	uint32_t *of_module; /* by module index: number + 1, 0: it is no file */
	uint32_t *modules;   /* by number: one of its modules */
	size_t n;
};
int firefox_libs_make(const struct model *m, struct firefox_libs *ret); /* 0, -ENOMEM */
void firefox_libs_done(struct firefox_libs *l);
void firefox_libs_write(const struct firefox_libs *l, const struct model *m, struct json *j);

struct firefox_tables;

/* m and libs must outlive it. 0, -ENOMEM. */
int firefox_tables_new(const struct model *m, const struct firefox_libs *libs, struct firefox_tables **ret);
struct firefox_tables *firefox_tables_free(struct firefox_tables *t); /* NULL-safe, gives NULL */
DEFINE_CLEANUP(struct firefox_tables *, firefox_tables_free)

int firefox_string(struct firefox_tables *t, const char *s, uint32_t *ret); /* 0, -ENOMEM */
/*
 * The stack of both sides, its innermost frame of that category; word: the only frame where there is neither.
 * *ret counts from 0. 0, -ENOMEM.
 */
int firefox_stack(struct firefox_tables *t, uint32_t ustack, uint32_t kstack, const char *word,
		  enum firefox_category category, uint32_t *ret);
/* The keys stringArray, funcTable, resourceTable, nativeSymbols, frameTable, stackTable. */
void firefox_tables_write(const struct firefox_tables *t, struct json *j);
