/* SPDX-License-Identifier: (LGPL-2.1 OR BSD-2-Clause) */
#pragma once
/* Texts with values in them, and choices by values, as a definition has them: values are its own, by index. */
#include "probe/expression.h"

/* What stands between the values of a text. */
enum chunk_kind {
	CHUNK_LITERAL,
	CHUNK_VALUE,
	CHUNK_SYMBOL, /* {$symbol}: the name of the function, known when it is found */
	CHUNK_NAME,   /* {$name}: of that the last part, "setupNetwork" */
	CHUNK_FILE,   /* {$file}: the last component of the file's path */
};
struct chunk {
	enum chunk_kind kind;
	enum probe_when when;
	const char *literal;
	uint32_t value;
};
struct template
{
	struct chunk *v;
	size_t n; /* 0: none */
	unsigned int line;
};

struct choice {
	uint8_t cmp; /* enum probe_cmp */
	uint8_t word;
	uint32_t value; /* if cmp isn't PROBE_ALWAYS */
	int64_t than;
};
struct choices {
	struct choice *v;
	size_t n;
	unsigned int line;
};

/* The values of one definition: each once. */
struct values {
	struct value *v;
	size_t n, cap;
};

/*
 * "exec:{$arg1:string}"; "{{" is a brace. In braces "A || B" is B where A is empty or can't be read, and
 * "A && \"text"" is followed by the text only if A is there. -EINVAL: told. -ENOMEM.
 */
int template_parse(struct source *s, const struct names *names, struct values *values, const char *text,
		   struct template *ret);
/* "error if $retval != 0, ok". word: 0 and the number of a word, or -EINVAL. */
int choices_parse(struct source *s, const struct names *names, struct values *values, const char *text,
		  int (*word)(const char *word, uint8_t *ret), const char *words, struct choices *ret);
/* "$arg2 != 0 or $arg3 == 1": choices of the words 1 and 0. */
int condition_parse(struct source *s, const struct names *names, struct values *values, const char *text,
		    struct choices *ret);
