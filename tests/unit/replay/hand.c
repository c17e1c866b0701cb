/* SPDX-License-Identifier: (LGPL-2.1 OR BSD-2-Clause) */
#include "hand.h"

#include <criterion/criterion.h>
#include <math.h>

struct model *hand_model(void)
{
	static const uint8_t reasons[] = { REASON_SINGLEFLIGHT, REASON_LOCK, REASON_EXEC };
	struct model *m;
	uint32_t row;

	cr_assert(model_new(&m) == 0);
	m->end_ns = 1000 * MS;
	for (int i = 0; i < 3; i++) {
		cr_assert(model_row_add(m, &row) == 0);
		m->rows[row] = (struct model_row){ .reason = reasons[i], .syscall = -1 };
	}
	return m;
}

uint32_t hand_string(struct model *m, const char *s)
{
	uint32_t id;

	cr_assert(strtab_intern(m->strings, s, &id) == 0);
	return id;
}

uint32_t hand_op(struct model *m, enum op_kind kind, const char *class, uint32_t parent, double from_ms, double to_ms)
{
	uint32_t i;

	cr_assert(model_op_add(m, &i) == 0);
	m->ops[i] = (struct model_op){ .id = i, .kind = (uint8_t)kind, .class_id = hand_string(m, class), .parent = parent,
				       .start_ns = llround(from_ms * MS), .end_ns = llround(to_ms * MS) };
	return i;
}

uint32_t hand_wait(struct model *m, uint32_t row, uint32_t waiter, uint32_t target, const char *ident, double from_ms,
		   double to_ms)
{
	uint32_t i;

	cr_assert(model_wait_add(m, &i) == 0);
	m->waits[i] = (struct model_wait){
		.start_ns = llround(from_ms * MS), .end_ns = llround(to_ms * MS), .wake_ns = -1, .row = row & 0xff, .op = waiter,
		.target = target, .ident_id = ident ? hand_string(m, ident) : 0,
	};
	m->waits[i].blocked_ns = m->waits[i].end_ns - m->waits[i].start_ns;
	return i;
}
