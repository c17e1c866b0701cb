/* SPDX-License-Identifier: (LGPL-2.1 OR BSD-2-Clause) */
/* The expected lines are written by hand from the format's description. */
#include <criterion/criterion.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "fixture.h"

static const char expected[] =
	"{\"schema_version\":1,\"epoch_unix_nano\":1700000000000000000,\"dumped_unix_nano\":1700000000000001000,"
	"\"dropped_events\":0,\"event_count\":18,"
	"\"strings\":[\"\",\"sh\",\"10:55\",\"[\\\"sh\\\",\\\"-c\\\",\\\"x\\\"]\",\"11:56\",\"true\",\"/lib/libc.so.6\","
	"\"ab12\",\"read\",\"fp\",\"old name\",\"pipe\",\"outsider\",\"pipe:[77]\",\"child\",\"mutex\",\"woken\",\"task\",\"timer\","
	"\"fault\",\"no thread of the process\"],"
	"\"open_ops\":[{\"op_id\":2,\"parent_id\":1,\"kind\":\"internal\",\"work_type\":\"user\",\"class_id\":1,"
	"\"start_ns\":0,\"pid\":10,\"tid\":10,\"clipped\":3}]}\n"
	"{\"e\":\"module\",\"mid\":1,\"path\":\"/lib/libc.so.6\",\"build_id\":\"ab12\",\"bias\":18446603336221200384}\n"
	"{\"e\":\"stack\",\"sid\":1,\"side\":\"user\",\"ended\":\"fp\",\"frames\":[[1,4660,8],[0,18446744073709551615,0],"
	"[1,4661,8,1,77,1],[1,4661,8,0,2147483647],[1,4662,0,1,0],[1,4663,8,0,0,0,2],[1,4664,8,1,78,1,4294967295]]}\n"
	"{\"e\":\"stack\",\"sid\":2,\"side\":\"kernel\",\"ended\":\"lost\",\"frames\":[]}\n"
	"{\"e\":\"thread\",\"pid\":10,\"tid\":10,\"comm\":\"sh\",\"op\":2,\"clipped\":1,\"begin_ns\":0,\"end_ns\":1000,"
	"\"oncpu_ns\":300,\"runnable_ns\":100,\"blocked_ns\":550,\"lost_ns\":50,\"intervals\":9,\"lost\":1,"
	"\"voluntary\":5,\"involuntary\":3,\"cpus_allowed\":2,\"samples\":40}\n"
	"{\"e\":\"thread\",\"pid\":11,\"tid\":11,\"comm\":\"true\",\"begin_ns\":100,\"end_ns\":700,\"samples\":2}\n"
	"{\"e\":\"sample\",\"pid\":10,\"tid\":10,\"begin_ns\":0,\"ustack\":1,\"samples\":40,\"at\":[7,200]}\n"
	"{\"e\":\"sample\",\"pid\":11,\"tid\":11,\"begin_ns\":100,\"thread_name\":10,\"syscall\":0,\"kstack\":2,"
	"\"ustack\":1,\"samples\":2,\"at\":[150,200]}\n"
	"{\"e\":\"op\",\"k\":\"exec\",\"w\":\"user\",\"o\":\"ok\",\"id\":1,\"c\":1,\"i\":2,\"cl\":2,\"m\":3,\"s\":0,\"d\":900,"
	"\"pid\":10,\"exit_status\":0}\n"
	"{\"e\":\"op\",\"k\":\"exec\",\"o\":\"error\",\"id\":3,\"r\":7,\"cl\":4,\"s\":100,\"d\":700,\"pid\":11,"
	"\"exit_status\":139,\"unwound\":1}\n"
	"{\"e\":\"op\",\"k\":\"exec_phase\",\"id\":4,\"p\":3,\"c\":5,\"s\":120,\"d\":700,\"pid\":11}\n"
	"{\"e\":\"link\",\"lk\":\"nested_client\",\"p\":2,\"t\":3,\"i\":4,\"s\":100,\"d\":100}\n"
	"{\"e\":\"wait\",\"rs\":\"io\",\"p\":2,\"i\":13,\"s\":10,\"d\":60,\"pid\":10,\"tid\":10,\"wait_kind\":11,"
	"\"outcome\":16,\"wake_ns\":40,\"blocked_ns\":30,\"runnable_ns\":15,\"oncpu_ns\":5,\"cpu_from\":0,\"cpu_to\":299,\"waker_pid\":11,"
	"\"waker_tid\":11,\"waker_ctx\":17,\"waker_stack\":1,\"syscall\":0,\"kstack\":2,\"ustack\":1}\n"
	"{\"e\":\"wait\",\"rs\":\"exec\",\"p\":2,\"t\":3,\"s\":200,\"d\":1000,\"pid\":10,\"tid\":10,\"wait_kind\":14,"
	"\"clipped\":2,\"blocked_ns\":800,\"waker_pid\":98,\"waker_tid\":99,\"waker_comm\":12,\"waker_ctx\":18,"
	"\"owner_tid\":12,\"thread_name\":10,"
	"\"task_state\":2,\"syscall\":61}\n"
	"{\"e\":\"wait\",\"rs\":\"cpu\",\"p\":3,\"s\":300,\"d\":310,\"pid\":11,\"tid\":11,\"wake_ns\":300,"
	"\"runnable_ns\":10}\n"
	"{\"e\":\"wait\",\"rs\":\"lock\",\"p\":2,\"s\":400,\"d\":420,\"pid\":10,\"tid\":10,\"wait_kind\":15,"
	"\"blocked_ns\":20,\"waker_tid\":99,\"owner_unknown\":19,\"timeout_ns\":250000000000,\"futex_val\":4294967295,"
	"\"syscall\":202,\"futex_op\":393}\n"
	"{\"e\":\"wait\",\"rs\":\"lock\",\"p\":2,\"s\":430,\"d\":440,\"pid\":10,\"tid\":10,\"wait_kind\":15,"
	"\"blocked_ns\":10,\"owner_unknown\":20,\"timeout_ns\":0,\"futex_val\":0,\"syscall\":202,"
	"\"futex_op\":0}\n"
	"{\"e\":\"wait\",\"rs\":\"lock\",\"p\":2,\"s\":450,\"d\":460,\"pid\":10,\"tid\":10,\"wait_kind\":15,"
	"\"blocked_ns\":10,\"owner_tid\":12,\"futex_val\":2,\"syscall\":202,\"futex_op\":0}\n"
	"{\"e\":\"wait\",\"rs\":\"lock\",\"p\":2,\"s\":450,\"d\":460,\"pid\":10,\"tid\":10,\"wait_kind\":15,"
	"\"blocked_ns\":10,\"owner_tid\":12,\"futex_val\":3,\"syscall\":202,\"futex_op\":0}\n";

Test(write, every_key_as_the_format_has_it)
{
	struct model *m = fixture_model();
	char *text = fixture_write(m), *a, *b;
	const char *x = expected;

	/* Line by line, so that a difference is shown where it is. */
	for (a = text; *a && *x; a = b) {
		const char *y = strchr(x, '\n') + 1;

		b = strchr(a, '\n') + 1;
		cr_expect((size_t)(b - a) == (size_t)(y - x) && memcmp(a, x, (size_t)(b - a)) == 0,
			  "got      %.*sexpected %.*s", (int)(b - a), a, (int)(y - x), x);
		x = y;
	}
	cr_expect(!*a && !*x, "number of lines differs");
	free(text);
	model_free(m);
}

static void facts_fill(void *arg, struct json *j)
{
	json_kv_string(j, "version", arg);
}

Test(write, added_header_object)
{
	struct text t = { 0 };
	struct model *m;

	cr_assert(model_new(&m) == 0);
	cr_assert(dump_write(m, facts_fill, (void *)"9.9", text_sink, &t) == 0);
	cr_expect(strcmp(t.s, "{\"schema_version\":1,\"epoch_unix_nano\":0,\"dumped_unix_nano\":0,"
			      "\"dropped_events\":0,\"event_count\":0,\"strings\":[\"\"],"
			      "\"wcbpf\":{\"version\":\"9.9\"}}\n") == 0, "got %s", t.s);
	free(t.s);
	model_free(m);
}

/* Whatever the model holds, the file keeps the format's promises. */
Test(write, nothing_points_outside)
{
	struct model *m;
	uint32_t i;
	char *text;

	cr_assert(model_new(&m) == 0);
	m->end_ns = 100;
	cr_assert(model_op_add(m, &i) == 0);
	m->ops[i] = (struct model_op){ .kind = OP_CALL, .parent = 77, .class_id = 4000, .start_ns = -5, .end_ns = 900 };
	cr_assert(model_wait_add(m, &i) == 0);
	m->waits[i] = (struct model_wait){ .start_ns = 90, .end_ns = 80, .blocked_ns = 50, .wake_ns = 3, .row = 9,
					   .op = 2, .target = 5, .ident_id = 44, .thread = 3, .waker = 8,
					   .outcome = 15, .ctx = 15 };
	text = fixture_write(m);
	cr_expect(strstr(text, "\n{\"e\":\"op\",\"k\":\"call\",\"id\":1,\"s\":0,\"d\":100}\n") != NULL, "%s", text);
	cr_expect(strstr(text, "\n{\"e\":\"wait\",\"rs\":\"call_exec\",\"s\":90,\"d\":90,\"wake_ns\":90}\n") != NULL,
		  "%s", text);
	free(text);
	model_free(m);
}

Test(write, dropped_events_count_what_never_became_an_event)
{
	struct model *m;
	char *text;

	cr_assert(model_new(&m) == 0);
	m->integrity = (struct model_integrity){ .dropped_events = 3, .lost_ring_full = 20, .lost_unprocessed = 100,
						 .lost_clock_back = 1000, .below_min = 50000, .truncated_stacks = 9 };
	text = fixture_write(m);
	cr_expect(strstr(text, "\"dropped_events\":1123,") != NULL, "%s", text);
	free(text);
	model_free(m);
}

/* Two names that differ in bytes no dump can hold become one string; ids behind them move up. */
Test(write, names_that_are_not_utf8)
{
	struct model *m;
	uint32_t i, a, b, c;
	char *text;

	cr_assert(model_new(&m) == 0);
	a = str(m, "n\xff");
	b = str(m, "n\xfe");
	c = str(m, "\xd0\x9f\"\\\x01\xed\xa0\x80");
	for (uint32_t k = 0; k < 3; k++) {
		cr_assert(model_op_add(m, &i) == 0);
		m->ops[i] = (struct model_op){ .kind = OP_CALL, .class_id = k == 0 ? a : k == 1 ? b : c };
	}
	text = fixture_write(m);
	cr_expect(strstr(text, "\"strings\":[\"\",\"n\xef\xbf\xbd\",\"\xd0\x9f\\\"\\\\\\u0001"
			       "\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd\"]") != NULL, "%s", text);
	cr_expect(strstr(text, "\"id\":1,\"c\":1,") && strstr(text, "\"id\":2,\"c\":1,") &&
		  strstr(text, "\"id\":3,\"c\":2,"), "%s", text);
	free(text);
	model_free(m);
}

static int full_disk(void *arg, const char *bytes, size_t n)
{
	(void)bytes;
	(void)n;
	++*(int *)arg;
	return -ENOSPC;
}

Test(write, a_failing_sink_is_told_and_not_asked_again)
{
	struct model *m = fixture_model();
	int calls = 0;

	cr_expect(dump_write(m, NULL, NULL, full_disk, &calls) == -ENOSPC);
	cr_expect(calls == 1, "%d calls", calls);
	model_free(m);
}
