/* SPDX-License-Identifier: (LGPL-2.1 OR BSD-2-Clause) */
#pragma once
/* Which compilation unit and which function of it an address belongs to, by DWARF. */
#include <elfutils/libdw.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct units;

/* dwarf must outlive it. Reads nothing yet. 0, -ENOMEM. */
int units_new(Dwarf *dwarf, struct units **ret);
struct units *units_free(struct units *u);
/*
 * The unit that has code at vaddr, and the function in it: the innermost whose code that is, of several whose code is
 * the same (folded, aliases) the one with the linkage name prefer, if one has it. *ret_has_function false: none.
 * -ENOENT: no unit; -ENOMEM.
 */
int units_find(struct units *u, uint64_t vaddr, const char *prefer, Dwarf_Die *ret_unit, Dwarf_Die *ret_function,
	       bool *ret_has_function);
/* The name of a function's entry, or of what it is an instance of: linkage name, else name. NULL: none. */
const char *units_function_name(Dwarf_Die *die);
/* What has been read so far, an estimate. */
size_t units_bytes(const struct units *u);
