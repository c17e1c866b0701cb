/* SPDX-License-Identifier: (LGPL-2.1 OR BSD-2-Clause) */
#pragma once
/*
 * Arguments or results as a profile states them: names and types, for programs
 * that no debug information describes. Which register has which follows from
 * the types and the language's calling convention.
 */
#include <stdbool.h>
#include <stddef.h>

#include "probe/source.h"

#define PARAMETERS_MAX 32

struct parameter {
	const char *name; /* NULL: none */
	const char *type; /* as written */
};
struct signature {
	struct parameter *v;
	size_t n;
	bool stated; /* though it may say that there are none */
};

/* "ctx iface, sessionID string, *Cache". -EINVAL: told. -ENOMEM. */
int signature_parse(struct source *s, const char *text, struct signature *ret);
/* As objfile_go_value() takes it: "(any, *x) (error)"; malloc'd. -ENOTSUP: a type that Go has not, named in *ret_type. */
int signature_go(const struct signature *args, const struct signature *results, char **ret, const char **ret_type);

/* Where System V's convention for x86_64 puts a value. */
enum place_kind { PLACE_REG, PLACE_STACK, PLACE_FLOAT };
struct place {
	enum place_kind kind;
	unsigned char regs[2]; /* DWARF numbers */
	unsigned char words;   /* 2: address and length */
	unsigned char bytes;   /* of a number */
	bool is_signed, is_string;
	int offset; /* of PLACE_STACK, from the CFA */
};
/* The index-th argument (results: of two words at most). -ENOENT: it isn't stated. -ENOTSUP: it depends on more than types. */
int signature_native(const struct signature *g, bool results, size_t index, struct place *ret);
