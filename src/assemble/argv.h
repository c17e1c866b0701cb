/* SPDX-License-Identifier: (LGPL-2.1 OR BSD-2-Clause) */
#pragma once
/* A command line as the dump's meta: one JSON array of strings in one string. */
#include <stddef.h>
#include <stdint.h>

#include "util/strtab.h"

/*
 * argv holds n bytes, each argument ended by a NUL (the last one may lack it);
 * total is how many there were, more than n if they were cut: then a last
 * element says how many are missing. *ret is 0 for no arguments. 0, -ENOMEM.
 */
int assemble_argv_intern(struct strtab *strings, const char *argv, size_t n, size_t total, uint32_t *ret);
