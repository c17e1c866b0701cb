/* SPDX-License-Identifier: (LGPL-2.1 OR BSD-2-Clause) */
#pragma once
/*
 * Values as profiles write them: the fetch arguments of the kernel's uprobe
 * events (Documentation/trace/uprobetracer.rst) with names of arguments, field
 * paths and Go strings added. Parsed, not yet bound to any function.
 */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "probe/probe.h"
#include "probe/source.h"

enum expr_base {
	EXPR_REG,    /* %di: number is its DWARF number */
	EXPR_SP,     /* $stack: the stack pointer at the function's first instruction */
	EXPR_ARG,    /* $arg2 or a name in args: index from 0 */
	EXPR_RESULT, /* $retval, $ret2 or a name in results: index from 0 */
	EXPR_NAME,   /* literal: the name of an argument that only debug information can know */
	EXPR_CONST,  /* \5: number */
	EXPR_WORD,   /* \"text": literal */
	EXPR_ADDR,   /* @0x4000: number, an address of the file */
	EXPR_LET,    /* a name that was given by let: literal is it, until it is replaced */
};

enum expr_step_kind {
	EXPR_DEREF, /* the word at it + offset */
	EXPR_ARROW, /* ->name */
	EXPR_DOT,   /* .name */
	EXPR_INDEX, /* [offset] */
	EXPR_CAST,  /* {name}: a type */
};

struct expr_step {
	enum expr_step_kind kind;
	int32_t offset;
	const char *name;
};

enum expr_type {
	EXPR_UNTYPED, /* by what is known of the value; else a word, shown in hex */
	EXPR_UINT,
	EXPR_INT,
	EXPR_STRING,	/* up to a NUL; the value is its address */
	EXPR_TWO_WORDS, /* address and length */
	EXPR_BYTES,
};

enum expr_moment { EXPR_ANY, EXPR_ENTRY, EXPR_EXIT };

#define EXPR_STEPS_MAX 12

struct expr {
	enum expr_base base;
	enum expr_moment moment;
	int64_t number;
	uint32_t index;
	uint8_t bytes; /* of a register's part, %edi: 4; else 8 */
	const char *literal;
	struct expr_step steps[EXPR_STEPS_MAX]; /* the innermost first */
	size_t step_n;
	enum expr_type type;
	uint16_t type_bytes; /* of a number, of BYTES; at most, of a string */
	uint8_t bit_n;	     /* of a number: only so many bits of it; 0: all */
	uint8_t bit_at;	     /* from this one on, 0 the lowest */
	enum probe_format format;
};

/* Alternatives: the first that can be bound is taken. */
#define EXPR_ALTERNATIVES_MAX 4
struct value {
	const char *text; /* as written */
	struct expr alternatives[EXPR_ALTERNATIVES_MAX];
	size_t alternative_n;
	bool at_exit;
	bool as_number; /* of a string or slice its length, of an interface its type: for conditions */
};

/* The names that a value may use. */
struct names {
	const char *const *args, *const *results; /* NULL entries: no name */
	size_t arg_n, result_n;
	const char *const *lets;
	const struct value *let_values;
	size_t let_n;
	bool stated; /* the profile says what there is: another name is a mistake */
};

/*
 * Reads alternatives, "A | B", from *at up to what can't belong to them; *at goes there, past blanks. text isn't set.
 * -EINVAL: told. -ENOMEM.
 */
int value_parse(struct source *s, const struct names *names, const char **at, struct value *ret);
/* What can be in a name: letters, digits, _. The number of them at s. */
size_t expr_word_len(const char *s);
/* The register's DWARF number and its part's bytes, by a name without %. -ENOENT. */
int expr_register(const char *name, size_t n, uint8_t *ret, uint8_t *ret_bytes);
/* "%di" of a DWARF number; NULL: none. */
const char *expr_register_name(uint8_t number);
