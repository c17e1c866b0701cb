/* SPDX-License-Identifier: (LGPL-2.1 OR BSD-2-Clause) */
#pragma once
/*
 * A stack as its readers see it: its frames innermost first, then, where the
 * root side or all of it is missing, one word of our own in brackets.
 */
#include "model/model.h"
#include "output/text.h"

enum frames_style {
	FRAMES_FOLDED, /* name, escaped */
	FRAMES_MAP,    /* name+offset, escaped */
	FRAMES_EXACT,  /* name as it is, for JSON */
};

/* Entries of a stack, the bracketed word included; 0 for stack 0. */
size_t frames_n(const struct model *m, uint32_t stack);
/* Appends entry i, 0 the innermost. */
void frames_append(struct text *t, const struct model *m, uint32_t stack, size_t i, enum frames_style style);
