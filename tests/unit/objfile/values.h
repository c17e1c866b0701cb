/* SPDX-License-Identifier: (LGPL-2.1 OR BSD-2-Clause) */
#pragma once
/* Values that programs hand over and give back, fetched when they do and compared with what their source says. */
#include <stddef.h>

struct value_case {
	const char *function; /* symbol */
	const char *path;     /* see objfile_types_value() */
	const char *text;     /* as target_value() has it; or "!" and a part of the reason why it can't be had */
};

/* signature: for objfile_go_value() instead of debug information; else NULL. */
void values_check(const char *program, const struct value_case *cases, size_t n, const char *signature);
