/* SPDX-License-Identifier: (LGPL-2.1 OR BSD-2-Clause) */
#pragma once
/* Names with wildcards: of files and of functions in all the forms that languages give them. */
#include <stdbool.h>
#include <stddef.h>

#include "probe/source.h"

/* ---- files ---- */

enum file_pattern_kind {
	FILE_ANY,     /* "*" */
	FILE_PROGRAM, /* "program": the process's executable */
	FILE_NAME,    /* the last component: "libc" also for libc.so.6 and libc-2.31.so; with wildcards */
	FILE_PATH,    /* has a slash: the whole path, with wildcards, or one that leads to the same file */
};
struct file_pattern {
	enum file_pattern_kind kind;
	const char *text;
	const char *real; /* where the path leads, from here and through links; NULL: nowhere */
};
struct file_patterns {
	struct file_pattern *v;
	size_t n;
};
/* "libc | libpthread | program". -EINVAL: told. -ENOMEM. */
int file_patterns_parse(struct source *s, const char *text, struct file_patterns *ret);
bool file_patterns_match(const struct file_patterns *p, const char *path, bool is_program);

/* ---- functions ---- */

/*
 * `*` stands for any characters and `?` for one, but for the star of Go's
 * receivers, "(*T)", and of operators, "\*": these are themselves.
 */
struct symbol_pattern {
	const char *text;    /* without version */
	const char *version; /* NULL: any */
	bool wildcards;
	const char *needle; /* occurs in every mangled name of what it matches; NULL: none known */
	unsigned int line;
};
int symbol_pattern_parse(struct source *s, const char *text, struct symbol_pattern *ret);
/*
 * A name as the symbol table has it. Of Go functions the same package below a vendor/ folder is the same.
 */
bool symbol_pattern_match(const struct symbol_pattern *p, const char *name, bool go);
/*
 * What compilers put behind the name of a function that they made another one of: "f.constprop.0", "f.cold". A copy for
 * some of its calls is the function too, though its arguments may be others; a part of it is not.
 */
enum symbol_clone { CLONE_NONE, CLONE_COPY, CLONE_PART };
enum symbol_clone symbol_clone(const char *name, size_t *ret_plain_n);
/* The same for a demangled C++ or Rust name: with its parameters, or without if the pattern has none; Rust's hash apart. */
bool symbol_pattern_match_readable(const struct symbol_pattern *p, const char *demangled);
/* How a demangled name is shown: without parameters and hash. malloc'd, NULL: no memory. */
char *symbol_plain(const char *demangled);
