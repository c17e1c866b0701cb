/* SPDX-License-Identifier: (LGPL-2.1 OR BSD-2-Clause) */
#pragma once
/* One frame's registers and the copied memory, as far as they are known. */
#include <stdint.h>

#include "unwind/unwind.h"

#define REG_BP 6  /* DWARF numbers of x86_64 */
#define REG_SP 7
#define REG_IP 16

enum reg_state {
	REG_UNKNOWN, /* the callee may have changed it and did not save it */
	REG_KNOWN,
	REG_OUTSIDE, /* saved where the copy doesn't reach */
};

struct registers {
	uint64_t v[WCBPF_REGS_MAX];
	uint8_t state[WCBPF_REGS_MAX]; /* enum reg_state */
};

struct copy {
	uint64_t start; /* address of the first byte */
	const uint8_t *bytes;
	size_t n;
};

/* size bytes (1 to 8, little endian) of the target's memory at addr. -EFAULT: not in the copy. */
int copy_read(const struct copy *c, uint64_t addr, size_t size, uint64_t *ret);
