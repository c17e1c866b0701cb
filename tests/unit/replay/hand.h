/* SPDX-License-Identifier: (LGPL-2.1 OR BSD-2-Clause) */
#pragma once
/* Models of ops and waits made by hand, in ms. */
#include "rig.h"

/* Rows of hand_wait(). */
enum { HAND_JOIN = 1, HAND_LOCK, HAND_EXEC };

struct model *hand_model(void);
uint32_t hand_string(struct model *m, const char *s);
uint32_t hand_op(struct model *m, enum op_kind kind, const char *class, uint32_t parent, double from_ms, double to_ms);
/* ident may be NULL. */
uint32_t hand_wait(struct model *m, uint32_t row, uint32_t waiter, uint32_t target, const char *ident, double from_ms,
		   double to_ms);
