/* SPDX-License-Identifier: (LGPL-2.1 OR BSD-2-Clause) */
#pragma once
/* One rule of call frame information in the form that the BPF programs walk by. */
#include <elfutils/libdw.h>
#include <stdbool.h>

#include "bpf/wire.h"

extern const struct wcbpf_rule rule_unsupported;

/*
 * WCBPF_CFA_UNSUPPORTED if it can't be said in that form; a rule without effect
 * is never given (WCBPF_CFA_NONE). Fields that a kind doesn't use are 0, so
 * equal rules are equal bytes. bx_undefined: the code may say so of rbx; else
 * what libdw calls undefined is a register that the code doesn't speak of.
 */
void rule_read(Dwarf_Frame *frame, bool bx_undefined, struct wcbpf_rule *ret);
bool rule_is_equal(const struct wcbpf_rule *a, const struct wcbpf_rule *b);
