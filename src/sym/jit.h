/* SPDX-License-Identifier: (LGPL-2.1 OR BSD-2-Clause) */
#pragma once
/* Names of code that processes make themselves: what they leave in jit-PID.dump or perf-PID.map. */
#include "sym/state.h"

/* Fills in name, offset, file and line for what lay at lookup, if that is known; addr is where the frame is. */
void jit_name(struct sym *s, uint32_t pid, uint64_t time_ns, uint64_t addr, uint64_t lookup, struct sym_frame *frame);
void jit_free_all(struct sym *s);
