/* SPDX-License-Identifier: (LGPL-2.1 OR BSD-2-Clause) */
/* Goroutines, ops of choke points and spans in the dump, both directions. The lines are written by hand. */
#include <criterion/criterion.h>
#include <stdlib.h>
#include <string.h>

#include "fixture.h"

static const char expected[] =
	"{\"schema_version\":1,\"epoch_unix_nano\":1700000000000000000,\"dumped_unix_nano\":1700000000000001000,"
	"\"dropped_events\":0,\"event_count\":10,"
	"\"strings\":[\"\",\"engine\",\"main.serve\",\"call\",\"chan_select\",\"read\",\"task\"],"
	"\"open_ops\":[{\"op_id\":3,\"parent_id\":2,\"kind\":\"call\",\"class_id\":3,\"start_ns\":20,\"pid\":10,\"tid\":11,"
	"\"goid\":7,\"clipped\":2,\"ustack\":1}]}\n"
	"{\"e\":\"stack\",\"sid\":1,\"side\":\"user\",\"ended\":\"lost\",\"frames\":[]}\n"
	"{\"e\":\"thread\",\"pid\":10,\"tid\":11,\"comm\":\"engine\",\"op\":1,\"begin_ns\":0,\"end_ns\":1000}\n"
	"{\"e\":\"thread\",\"pid\":10,\"tid\":11,\"goid\":7,\"parent_goid\":1,\"comm\":\"main.serve\",\"op\":2,\"begin_ns\":10,"
	"\"end_ns\":1000}\n"
	"{\"e\":\"thread\",\"pid\":10,\"tid\":11,\"goid\":18446744073709551615,\"comm\":\"\",\"begin_ns\":10,\"end_ns\":1000}\n"
	"{\"e\":\"op\",\"k\":\"internal\",\"id\":1,\"s\":0,\"d\":1000,\"pid\":10,\"tid\":11}\n"
	"{\"e\":\"op\",\"k\":\"internal\",\"id\":2,\"s\":10,\"d\":1000,\"pid\":10,\"tid\":11,\"goid\":7}\n"
	"{\"e\":\"span\",\"id\":3,\"tr\":\"0af7651916cd43dd8448eb211c80319c\",\"sp\":\"b7ad6b7169203331\"}\n"
	"{\"e\":\"wait\",\"rs\":\"sync\",\"p\":3,\"s\":30,\"d\":60,\"pid\":10,\"tid\":12,\"goid\":7,\"parked\":1,\"wait_kind\":4,"
	"\"wake_ns\":50,\"blocked_ns\":20,\"runnable_ns\":10,\"waker_pid\":10,\"waker_goid\":18446744073709551615,"
	"\"waker_op\":3,\"waker_ctx\":6}\n"
	"{\"e\":\"wait\",\"rs\":\"io\",\"p\":3,\"s\":70,\"d\":80,\"pid\":10,\"tid\":11,\"goid\":7,\"wait_kind\":5,"
	"\"blocked_ns\":10,\"waker_pid\":10,\"waker_tid\":11,\"waker_op\":1,\"waker_ctx\":6,\"syscall\":0}\n"
	"{\"e\":\"wait\",\"rs\":\"io\",\"p\":1,\"s\":70,\"d\":80,\"pid\":10,\"tid\":11,\"wait_kind\":5,"
	"\"blocked_ns\":10,\"waker_pid\":10,\"waker_tid\":11,\"waker_op\":2,\"syscall\":0}\n";

static uint32_t thread_add(struct model *m, uint64_t goid, const char *comm, uint32_t op, int64_t begin_ns)
{
	uint32_t i;

	cr_assert((goid ? model_goroutine_add(m, goid, &i) : model_thread_add(m, &i)) == 0);
	m->threads[i].pid = 10;
	m->threads[i].tid = 11;
	m->threads[i].comm_id = str(m, comm);
	m->threads[i].op = op;
	m->threads[i].begin_ns = begin_ns;
	m->threads[i].end_ns = 1000;
	return i;
}

static uint32_t op_add(struct model *m, const struct model_op *op)
{
	uint32_t i;

	cr_assert(model_op_add(m, &i) == 0);
	m->ops[i] = *op;
	m->ops[i].id = i;
	m->ops[i].pid = 10;
	m->ops[i].tid = 11;
	return i;
}

static uint32_t wait_add(struct model *m, const struct model_row *row, const struct model_wait *w, uint32_t tid,
			 uint32_t waker_op)
{
	uint32_t i, r;

	cr_assert(model_row_add(m, &r) == 0 && model_wait_add(m, &i) == 0);
	m->rows[r] = *row;
	m->waits[i] = *w;
	m->waits[i].row = r & 0xffffff;
	model_wait_waker_op_set(m, &m->waits[i], waker_op);
	cr_assert(model_wait_words_set(m, &m->waits[i], &(struct model_wait_words){ .tid = tid }) == 0);
	return i;
}

static struct model *go_model(void)
{
	static const uint8_t trace[] = { 0x0a, 0xf7, 0x65, 0x19, 0x16, 0xcd, 0x43, 0xdd, 0x84, 0x48, 0xeb, 0x21, 0x1c, 0x80, 0x31, 0x9c };
	static const uint8_t span[] = { 0xb7, 0xad, 0x6b, 0x71, 0x69, 0x20, 0x33, 0x31 };
	uint32_t own, mine, call, i, thread, goroutine, other;
	struct model *m;

	cr_assert(model_new(&m) == 0);
	m->epoch_unix_ns = INT64_C(1700000000000000000);
	m->end_ns = 1000;
	cr_assert(model_stack_add(m, STACK_USER, &i) == 0);
	own = op_add(m, &(struct model_op){ .kind = OP_INTERNAL, .end_ns = 1000 });
	mine = op_add(m, &(struct model_op){ .kind = OP_INTERNAL, .start_ns = 10, .end_ns = 1000, .goid = 7 });
	call = op_add(m, &(struct model_op){ .kind = OP_CALL, .parent = mine, .start_ns = 20, .end_ns = 1000, .goid = 7,
					     .open = true, .clipped = CLIPPED_AFTER, .ustack = 1 });
	thread = thread_add(m, 0, "engine", own, 0);
	goroutine = thread_add(m, 7, "main.serve", mine, 10);
	m->threads[goroutine].parent_goid = 1;
	other = thread_add(m, UINT64_MAX, "", 0, 10);
	m->ops[call].class_id = str(m, "call");
	cr_assert(model_span_add(m, &i) == 0);
	m->spans[i].op = call;
	memcpy(m->spans[i].trace, trace, sizeof(trace));
	memcpy(m->spans[i].span, span, sizeof(span));
	wait_add(m, &(struct model_row){ .reason = REASON_SYNC, .kind_id = str(m, "chan_select"), .syscall = -1, .state = 1,
					 .parked = true, .comm_id = str(m, "main.serve") },
		 &(struct model_wait){ .start_ns = 30, .end_ns = 60, .blocked_ns = 20, .runnable_ns = 10, .wake_ns = 50,
				       .op = call, .thread = goroutine, .waker = other, .ctx = WAKER_TASK }, 12, call);
	wait_add(m, &(struct model_row){ .reason = REASON_IO, .kind_id = str(m, "read"), .state = 1,
					 .comm_id = str(m, "main.serve") },
		 &(struct model_wait){ .start_ns = 70, .end_ns = 80, .blocked_ns = 10, .wake_ns = -1, .op = call,
				       .thread = goroutine, .waker = thread, .ctx = WAKER_TASK }, 0, own);
	wait_add(m, &(struct model_row){ .reason = REASON_IO, .kind_id = str(m, "read"), .state = 1,
					 .comm_id = str(m, "engine") },
		 &(struct model_wait){ .start_ns = 70, .end_ns = 80, .blocked_ns = 10, .wake_ns = -1, .op = own,
				       .thread = thread, .waker = thread }, 0, mine);
	return m;
}

Test(goroutines, as_the_format_has_them)
{
	struct model *m = go_model();
	char *text = fixture_write(m);

	cr_expect_str_eq(text, expected);
	free(text);
	model_free(m);
}

Test(goroutines, come_back_as_they_were)
{
	struct dump_problem problem;
	struct model *m = fixture_read(expected, &problem);
	char *again = fixture_write(m);

	cr_expect_str_eq(problem.message, "");
	cr_expect_str_eq(again, expected);
	cr_assert(m->thread_n == 4 && m->wait_n == 4 && m->op_n == 4 && m->span_n == 2);
	cr_expect(m->goroutine_n == 2 && m->threads[2].goid == 7 && m->threads[2].parent_goid == 1);
	cr_expect(m->ops[3].goid == 7 && m->ops[3].ustack == 1 && m->ops[3].open);
	cr_expect(m->waits[1].thread == 2 && m->waits[1].waker == 3 && model_wait_waker_op(m, &m->waits[1]) == 3);
	cr_expect(m->waits[2].thread == 2 && m->waits[2].waker == 1 && model_wait_waker_op(m, &m->waits[2]) == 1);
	cr_expect(m->waits[3].thread == 1 && model_wait_waker_op(m, &m->waits[3]) == 2);
	cr_expect(model_wait_words(m, &m->waits[1]).tid == 12 && model_wait_words(m, &m->waits[2]).tid == 0);
	cr_expect(m->rows[m->waits[1].row].parked && !m->rows[m->waits[2].row].parked);
	cr_expect_eq(m->spans[1].op, 3);
	free(again);
	model_free(m);
}

/* A dump of the engine has spans too, of ops that may be in another dump of the run. */
Test(goroutines, spans_of_other_ops)
{
	static const char text[] =
		"{\"schema_version\":1,\"epoch_unix_nano\":1,\"dumped_unix_nano\":100,\"dropped_events\":0,\"event_count\":4,"
		"\"strings\":[\"\"]}\n"
		"{\"e\":\"span\",\"id\":9,\"tr\":\"0af7651916cd43dd8448eb211c80319c\",\"sp\":\"b7ad6b7169203331\"}\n"
		"{\"e\":\"span\",\"id\":5,\"tr\":\"0AF7651916CD43DD8448EB211C80319C\",\"sp\":\"b7ad6b7169203331\"}\n"
		"{\"e\":\"span\",\"id\":5,\"tr\":\"0af7651916cd43dd8448eb211c80319\",\"sp\":\"b7ad6b7169203331\"}\n"
		"{\"e\":\"op\",\"k\":\"call\",\"id\":5,\"s\":1,\"d\":2}\n";
	struct dump_problem problem;
	struct model *m = fixture_read(text, &problem);

	cr_assert_eq(m->span_n, 2);
	cr_expect_eq(m->ops[m->spans[1].op].id, 5);
	cr_expect_eq(m->spans[1].trace[0], 0x0a);
	cr_expect_eq(problem.line, 4);
	cr_expect(strstr(problem.message, "32 and 16 hex digits"), "%s", problem.message);
	model_free(m);
}
