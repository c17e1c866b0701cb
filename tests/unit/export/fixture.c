/* SPDX-License-Identifier: (LGPL-2.1 OR BSD-2-Clause) */
#include "fixture.h"

struct model *fixture_model(int64_t end_ns)
{
	struct model *m;

	cr_assert_eq(model_new(&m), 0);
	m->epoch_unix_ns = 1700000000000000000;
	m->end_ns = end_ns;
	return m;
}

uint32_t fixture_string(struct model *m, const char *s)
{
	uint32_t id;

	cr_assert_eq(strtab_intern(m->strings, s, &id), 0);
	return id;
}

uint32_t fixture_thread(struct model *m, uint32_t pid, uint32_t tid, const char *name, int64_t begin_ns, int64_t end_ns)
{
	uint32_t t;

	cr_assert_eq(model_thread_add(m, &t), 0);
	m->threads[t] = (struct model_thread){ .pid = pid, .tid = tid, .comm_id = fixture_string(m, name),
					       .begin_ns = begin_ns, .end_ns = end_ns };
	return t;
}

uint32_t fixture_op(struct model *m, enum op_kind kind, const char *class, uint32_t pid, uint32_t tid, int64_t start_ns,
		    int64_t end_ns)
{
	uint32_t op;

	cr_assert_eq(model_op_add(m, &op), 0);
	m->ops[op] = (struct model_op){ .id = op, .kind = (uint8_t)kind, .class_id = fixture_string(m, class), .pid = pid,
					.tid = tid, .start_ns = start_ns, .end_ns = end_ns };
	return op;
}

uint32_t fixture_process(struct model *m, uint32_t pid, const char *program, int64_t start_ns, int64_t end_ns)
{
	uint32_t op = fixture_op(m, OP_EXEC, program, pid, 0, start_ns, end_ns), p;

	cr_assert_eq(model_process_add(m, &p), 0);
	m->processes[p] = (struct model_process){ .pid = pid, .op = op };
	return p;
}

uint32_t fixture_wait(struct model *m, uint32_t thread, int64_t start_ns, int64_t ready_ns, int64_t end_ns)
{
	uint32_t w;

	cr_assert_eq(model_wait_add(m, &w), 0);
	m->waits[w] = (struct model_wait){ .thread = thread, .start_ns = start_ns, .end_ns = end_ns, .wake_ns = ready_ns,
					   .blocked_ns = ready_ns - start_ns, .runnable_ns = end_ns - ready_ns };
	fixture_row(m, w, REASON_LOCK);
	return w;
}

uint32_t fixture_stack(struct model *m, const char *const *names)
{
	struct model_frame frames[16] = { 0 };
	uint32_t stack;
	size_t n = 0;

	for (; names[n]; n++)
		frames[n].name_id = fixture_string(m, names[n]);
	cr_assert_eq(model_stack_add(m, STACK_USER, &stack), 0);
	cr_assert_eq(model_stack_set(m, stack, "complete", frames, n), 0);
	return stack;
}

struct model_row *fixture_row(struct model *m, uint32_t wait, enum wait_reason reason)
{
	uint32_t row;

	cr_assert_eq(model_row_add(m, &row), 0);
	m->rows[row] = (struct model_row){ .reason = (uint8_t)reason, .syscall = -1,
					   .comm_id = m->threads[m->waits[wait].thread].comm_id };
	m->waits[wait].row = row & 0xffffff;
	return &m->rows[row];
}
