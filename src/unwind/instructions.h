/* SPDX-License-Identifier: (LGPL-2.1 OR BSD-2-Clause) */
#pragma once
/* A look at call frame instructions before libdw runs them. */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct instructions {
	bool undefines_bx; /* says that the caller's rbx is lost */
	bool is_harmless;  /* running them takes no more memory than compilers' ones do */
};

/* Of those from a CIE or FDE. What can't be read is libdw's to judge: it counts as undefining rbx. */
struct instructions instructions_scan(const uint8_t *from, size_t n);
