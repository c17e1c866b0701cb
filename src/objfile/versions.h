/* SPDX-License-Identifier: (LGPL-2.1 OR BSD-2-Clause) */
#pragma once
/* Versions of the symbols in .dynsym. */
#include <gelf.h>
#include <stdbool.h>
#include <stddef.h>

struct versions {
	Elf_Data *of_symbols; /* of the Elf; NULL: there are none */
	const char **names;   /* by version index, of the Elf; NULL: none */
	size_t n;
};

/* A file without versions, or with damaged ones, has none. -ENOMEM. */
int versions_read(Elf *elf, struct versions *ret);
void versions_done(struct versions *v);
/* Of the i-th symbol; *ret NULL: none. *ret_old: another one is the default. Both stay as they are if there is none. */
void versions_of(const struct versions *v, size_t i, const char **ret, bool *ret_old);
