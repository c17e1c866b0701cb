/* SPDX-License-Identifier: (LGPL-2.1 OR BSD-2-Clause) */
#pragma once
/* Where each release of Go's runtime keeps what is needed of its structures g and m (runtime2.go), on amd64. */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "bpf/wire.h"

struct go_layout {
	uint32_t first, last; /* releases 1.first to 1.last */
	struct wcbpf_go_layout layout;
};

/*
 * The layouts that a release may have: its own, or, of one that lies between those that are known, that of either
 * neighbour. Their number, 0: none is known.
 */
size_t go_layouts_of(uint32_t minor, const struct go_layout **ret);
/* N of "go1.N.M", "go1.NrcM", "devel go1.N-..."; false: it is something else. */
bool go_minor_version(const char *version, uint32_t *ret);
