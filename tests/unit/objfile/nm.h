/* SPDX-License-Identifier: (LGPL-2.1 OR BSD-2-Clause) */
#pragma once
/* The output of nm -S, line by line. */
#include <stdint.h>

struct nm {
	uint64_t value, size;
	char type, name[2000];
};

/* The next line of the text that has a size; where to go on, NULL: no more. Writes into the text. */
char *nm_next(char *text, struct nm *ret);
