/* SPDX-License-Identifier: (LGPL-2.1 OR BSD-2-Clause) */
#include <criterion/criterion.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zlib.h>

#include "fixture.h"

#define HEADER(count, more) \
	"{\"schema_version\":1,\"epoch_unix_nano\":5000,\"dumped_unix_nano\":6000,\"dropped_events\":0," \
	"\"event_count\":" #count ",\"strings\":[\"\",\"a\",\"b\",\"c\"]" more "}\n"

Test(read, write_read_write_is_the_same_file)
{
	struct model *m = fixture_model(), *again;
	char *first = fixture_write(m), *second;
	struct dump_problem problem;

	again = fixture_read(first, &problem);
	cr_expect(!problem.message[0] && !problem.line && !problem.bad_n, "%s", problem.message);
	second = fixture_write(again);
	cr_expect(strcmp(first, second) == 0, "first:\n%s\nsecond:\n%s", first, second);
	free(first);
	free(second);
	model_free(again);
	model_free(m);
}

static void check_waker(const struct model *m, const struct model_wait *a, const struct model *r,
			const struct model_wait *b)
{
	uint32_t pid[2] = { 0 }, tid[2] = { 0 }, comm_id[2] = { 0 };

	cr_expect(model_wait_waker(m, a, &pid[0], &tid[0], &comm_id[0]) ==
		  model_wait_waker(r, b, &pid[1], &tid[1], &comm_id[1]));
	cr_expect(pid[0] == pid[1] && tid[0] == tid[1]);
	cr_expect(strcmp(strtab_str(m->strings, comm_id[0]), strtab_str(r->strings, comm_id[1])) == 0);
}

/* An execution that an engine hosts has the engine's pid, and is no process of its own; some have no names. */
Test(read, a_process_is_its_own_client)
{
	struct model *m = fixture_read(
		HEADER(5, "")
		"{\"e\":\"op\",\"k\":\"exec\",\"id\":1,\"i\":1,\"cl\":1,\"s\":0,\"d\":900,\"pid\":5,\"tid\":5}\n"
		"{\"e\":\"op\",\"k\":\"call\",\"id\":2,\"cl\":2,\"s\":1,\"d\":800,\"pid\":5,\"tid\":5}\n"
		"{\"e\":\"op\",\"k\":\"exec\",\"id\":3,\"p\":2,\"i\":3,\"cl\":2,\"s\":2,\"d\":700,\"pid\":5,\"tid\":5}\n"
		"{\"e\":\"op\",\"k\":\"exec\",\"id\":4,\"p\":2,\"c\":3,\"s\":2,\"d\":700,\"pid\":5,\"tid\":5}\n"
		"{\"e\":\"thread\",\"pid\":5,\"tid\":6,\"comm\":\"t\",\"begin_ns\":3,\"end_ns\":900}\n", NULL);

	cr_assert(m->process_n == 2);
	cr_expect(m->processes[1].op == 1);
	cr_expect(m->threads[1].process == 1);
	model_free(m);
}

/* The numbers of a waker with a name are those of a recorded thread too, which lived at another time. */
Test(read, an_outside_waker_is_no_thread_of_that_number)
{
	struct model *m = fixture_read(
		HEADER(4, "")
		"{\"e\":\"thread\",\"pid\":5,\"tid\":6,\"comm\":\"t\",\"begin_ns\":0,\"end_ns\":900}\n"
		"{\"e\":\"wait\",\"rs\":\"io\",\"s\":1,\"d\":2,\"waker_pid\":5,\"waker_tid\":6,\"waker_comm\":1}\n"
		"{\"e\":\"wait\",\"rs\":\"io\",\"s\":1,\"d\":2,\"waker_pid\":5,\"waker_tid\":6}\n"
		"{\"e\":\"wait\",\"rs\":\"io\",\"s\":1,\"d\":2,\"waker_comm\":1,\"owner_unknown\":1}\n", NULL);
	uint32_t pid, tid, comm_id;

	cr_assert(m->wait_n == 4);
	cr_expect(!m->waits[1].waker && m->waits[1].outside_waker);
	cr_expect(m->waits[2].waker == 1 && !m->waits[2].outside_waker);
	cr_expect(model_wait_waker(m, &m->waits[3], &pid, &tid, &comm_id) && !pid && !tid && comm_id);
	cr_expect(m->waits[3].owner_unknown == OWNER_UNKNOWN_NONE, "a word of a later version");
	model_free(m);
}

static void check_words(const struct model *m, const struct model_wait *a, const struct model *r,
			const struct model_wait *b)
{
	struct model_wait_words x = model_wait_words(m, a), y = model_wait_words(r, b);

	cr_expect(x.owner_tid == y.owner_tid && x.has_futex_val == y.has_futex_val && x.futex_val == y.futex_val,
		  "owner %u and %u, value %u and %u", x.owner_tid, y.owner_tid, x.futex_val, y.futex_val);
}

/* Frames of a later version, and numbers that are none. */
Test(read, frames_with_more_parts)
{
	static const char text[] =
		"{\"schema_version\":1,\"epoch_unix_nano\":0,\"dumped_unix_nano\":9,\"event_count\":1,"
		"\"strings\":[\"\",\"f\",\"f.c\"]}\n"
		"{\"e\":\"stack\",\"sid\":1,\"side\":\"user\",\"ended\":\"complete\","
		"\"frames\":[[0,1,1,2,3,1,4,{\"x\":[]},\"y\"],[0,1,1,99,4294967296,0,4294967296]]}\n";
	struct model *r = fixture_read(text, NULL);
	const struct model_frame *f;

	cr_assert(r->stack_n == 2 && r->stacks[1].frame_n == 2);
	f = r->stacks[1].frames;
	cr_expect(f[0].inlined && f[0].line == 3 && f[0].alias_n == 4);
	cr_expect_str_eq(strtab_str(r->strings, f[0].file_id), "f.c");
	cr_expect(!f[1].inlined && !f[1].line && !f[1].file_id && !f[1].alias_n);
	model_free(r);
}

Test(read, the_model_comes_back)
{
	struct model *m = fixture_model(), *r;
	char *text = fixture_write(m);
	const struct model_wait *x;

	r = fixture_read(text, NULL);
	cr_assert(r->op_n == m->op_n && r->wait_n == m->wait_n && r->link_n == m->link_n && r->row_n == m->row_n &&
		  r->thread_n == m->thread_n && r->stack_n == m->stack_n && r->module_n == m->module_n);
	cr_expect(r->process_n == 3); /* two exec ops and the blank */
	cr_expect(r->epoch_unix_ns == m->epoch_unix_ns && r->end_ns == m->end_ns);
	for (size_t i = 1; i < m->op_n; i++) {
		cr_expect(r->ops[i].id == i && r->ops[i].parent == m->ops[i].parent, "op %zu", i);
		cr_expect(r->ops[i].open == m->ops[i].open && r->ops[i].end_ns == m->ops[i].end_ns, "op %zu", i);
		cr_expect(r->ops[i].kind == m->ops[i].kind && r->ops[i].exit_status == m->ops[i].exit_status);
	}
	for (size_t i = 1; i < m->wait_n; i++) {
		struct model_wait a = m->waits[i], b = r->waits[i];
		struct model_row *p = &m->rows[a.row], *q = &r->rows[b.row];

		cr_expect(a.start_ns == b.start_ns && a.end_ns == b.end_ns && a.blocked_ns == b.blocked_ns &&
			  a.runnable_ns == b.runnable_ns && a.wake_ns == b.wake_ns && a.op == b.op &&
			  a.target == b.target && a.thread == b.thread && a.waker == b.waker &&
			  a.outcome == b.outcome && a.ctx == b.ctx && a.cpu_from == b.cpu_from && a.cpu_to == b.cpu_to &&
			  a.clipped == b.clipped && a.waker_stack == b.waker_stack, "wait %zu", i);
		cr_expect(a.owner_unknown == b.owner_unknown && a.has_timeout == b.has_timeout &&
			  a.timeout_ns == b.timeout_ns && p->has_futex_op == q->has_futex_op &&
			  p->futex_op == q->futex_op, "wait %zu", i);
		check_waker(m, &a, r, &b);
		check_words(m, &a, r, &b);
		cr_expect(p->kstack == q->kstack && p->ustack == q->ustack && p->syscall == q->syscall &&
			  p->reason == q->reason, "row of wait %zu", i);
		cr_expect(strcmp(strtab_str(m->strings, p->comm_id), strtab_str(r->strings, q->comm_id)) == 0 &&
			  strcmp(strtab_str(m->strings, p->kind_id), strtab_str(r->strings, q->kind_id)) == 0);
	}
	x = &r->waits[1];
	cr_expect(r->rows[x->row].count == 1 && r->rows[x->row].blocked_ns == 30);
	cr_assert(r->stacks[1].resolved && r->stacks[1].frame_n == 7);
	for (size_t i = 0; i < 7; i++) {
		const struct model_frame *f = &r->stacks[1].frames[i], *g = &m->stacks[1].frames[i];

		cr_expect(f->module == g->module && f->address == g->address && f->line == g->line &&
			  f->inlined == g->inlined && f->alias_n == g->alias_n, "frame %zu", i);
		cr_expect_str_eq(strtab_str(r->strings, f->name_id), strtab_str(m->strings, g->name_id), "frame %zu", i);
		cr_expect_str_eq(strtab_str(r->strings, f->file_id), strtab_str(m->strings, g->file_id), "frame %zu", i);
	}
	cr_expect(!r->stacks[2].resolved && r->stacks[2].frame_n == 0);
	cr_expect(r->modules[1].bias == UINT64_C(0xffff800000001000));
	cr_expect(r->threads[1].op == 2 && r->threads[1].process == 1 && r->threads[2].process == 2);
	cr_expect(r->threads[1].has_totals && !r->threads[2].has_totals && r->threads[1].involuntary_n == 3);
	cr_expect(r->processes[1].start_time_ns == 55 && r->processes[2].phase == 4 && r->processes[2].op == 3);
	cr_expect(r->links[1].from == 2 && r->links[1].to == 3 && r->links[1].kind == LINK_NESTED_CLIENT);
	cr_assert(r->sample_n == m->sample_n);
	for (size_t i = 1; i < m->sample_n; i++) {
		const struct model_sample *a = &m->samples[i], *b = &r->samples[i];

		cr_expect(a->count == b->count && a->thread == b->thread && a->kstack == b->kstack &&
			  a->ustack == b->ustack && a->syscall == b->syscall, "sample %zu", i);
		cr_expect_str_eq(strtab_str(m->strings, a->comm_id), strtab_str(r->strings, b->comm_id));
	}
	cr_expect(r->threads[1].sample_n == 40 && r->threads[2].sample_n == 2);
	cr_expect(r->threads[1].cpu_allowed_n == 2 && r->threads[2].cpu_allowed_n == 0);
	cr_assert(r->sample_time_n == m->sample_time_n);
	for (size_t i = 0; i < m->sample_time_n; i++)
		cr_expect(r->sample_times[i].at_ns == m->sample_times[i].at_ns &&
			  r->sample_times[i].sample == m->sample_times[i].sample, "moment %zu", i);
	free(text);
	model_free(r);
	model_free(m);
}

Test(read, gzip_and_plain_by_content)
{
	struct model *m = fixture_model(), *r = NULL;
	char *text = fixture_write(m);
	struct dump_problem problem;

	cr_assert(dump_read(fixture_file(text, strlen(text), true), &r, &problem) == 0);
	cr_expect(r->wait_n == m->wait_n && !problem.message[0]);
	free(text);
	model_free(r);
	model_free(m);
}

/* As the engine writes them: ids from anywhere, events in the order of their ends, keys we don't know. */
Test(read, a_dump_of_the_engine)
{
	struct dump_problem problem;
	struct model *m = fixture_read(
		HEADER(7, ",\"open_ops\":[{\"op_id\":18446744073709551615,\"kind\":\"call\",\"class_id\":3,\"start_ns\":900},"
			  "{\"op_id\":500,\"kind\":\"lazy\",\"start_ns\":100}]")
		"{\"e\":\"wait\",\"p\":900,\"t\":500,\"rs\":\"singleflight\",\"s\":100,\"d\":300}\n"
		"{\"e\":\"op\",\"k\":\"lazy\",\"w\":\"engine\",\"id\":500,\"p\":900,\"c\":1,\"s\":100,\"d\":300,\"o\":\"executed\"}\n"
		"{\"e\":\"span\",\"id\":500,\"tr\":\"00112233445566778899aabbccddeeff\",\"sp\":\"0011223344556677\"}\n"
		"{\"e\":\"op\",\"k\":\"call\",\"id\":900,\"p\":12345,\"c\":2,\"s\":50,\"d\":400,\"new\":{\"x\":[1,2.5]}}\n"
		"{\"e\":\"wait\",\"p\":900,\"i\":2,\"rs\":\"brand_new\",\"s\":300,\"d\":310}\n"
		"{\"e\":\"wait\",\"p\":900,\"rs\":\"cpu\",\"s\":320,\"d\":330}\n"
		"{\"e\":\"future\",\"z\":1}\n", &problem);

	cr_expect(!problem.message[0], "%s", problem.message);
	cr_assert(m->op_n == 4 && m->wait_n == 4);
	/* Ordered by id; the op that is both open and ended is ended. */
	cr_expect(m->ops[1].id == 500 && !m->ops[1].open && m->ops[1].end_ns == 300 && m->ops[1].parent == 2);
	cr_expect(m->ops[2].id == 900 && m->ops[2].parent == 0); /* 12345 is in no dump */
	cr_expect(m->ops[3].id == UINT64_MAX && m->ops[3].open && m->ops[3].start_ns == 900 &&
		  m->ops[3].end_ns == 1000);
	cr_expect(m->waits[1].op == 2 && m->waits[1].target == 1 && m->waits[1].blocked_ns == 200 &&
		  m->waits[1].wake_ns == -1);
	cr_expect(m->rows[m->waits[1].row].reason == REASON_SINGLEFLIGHT);
	cr_expect(m->rows[m->waits[2].row].reason == REASON_OTHER);
	cr_expect(strcmp(strtab_str(m->strings, m->rows[m->waits[2].row].kind_id), "brand_new") == 0);
	cr_expect(strcmp(strtab_str(m->strings, m->waits[2].ident_id), "b") == 0);
	cr_expect(m->waits[3].blocked_ns == 0 && m->waits[3].runnable_ns == 10);
	cr_expect(m->rows[m->waits[1].row].syscall == -1);
	model_free(m);
}

Test(read, keys_match_without_regard_to_case_and_the_last_counts)
{
	struct model *m = fixture_read(
		"{\"Schema_Version\":1,\"EPOCH_UNIX_NANO\":1,\"Dumped_Unix_Nano\":1001,\"event_count\":1,"
		"\"Strings\":[\"\",\"a\",\"b\"]}\n"
		"{\"E\":\"op\",\"K\":\"call\",\"ID\":9,\"C\":1,\"c\":2,\"S\":5,\"D\":7,\"p\":null}\n", NULL);

	cr_assert(m->op_n == 2);
	cr_expect(m->ops[1].id == 9 && m->ops[1].start_ns == 5 && m->ops[1].end_ns == 7);
	cr_expect(strcmp(strtab_str(m->strings, m->ops[1].class_id), "b") == 0);
	model_free(m);
}

/* The quick scanner and json-c must agree on what a line means: the same lines, one with an escape in a key. */
Test(read, escapes_and_blanks)
{
	struct model *m = fixture_read(
		HEADER(3, "")
		" { \"e\" : \"op\" , \"k\" : \"call\" , \"id\" : 1 , \"s\" : 5 , \"d\" : 7 } \r\n"
		"{\"\\u0065\":\"\\u006fp\",\"k\":\"call\",\"id\":2,\"s\":5,\"d\":7}\n"
		"{\"e\":\"thread\",\"pid\":1,\"tid\":2,\"comm\":\"q\\\"\\u00e9\\n\",\"begin_ns\":0,\"end_ns\":9}\n", NULL);

	cr_assert(m->op_n == 3 && m->thread_n == 2);
	cr_expect(m->ops[2].id == 2 && m->ops[2].end_ns == 7);
	cr_expect(strcmp(strtab_str(m->strings, m->threads[1].comm_id), "q\"\xc3\xa9\n") == 0);
	model_free(m);
}

struct bad_case {
	const char *line, *message;
};

Test(read, a_damaged_line_ends_nothing)
{
	static const struct bad_case cases[] = {
		{ "{\"e\":\"op\",\"id\":1.5,\"s\":1,\"d\":2}", "line 3: a key has a value of the wrong type" },
		{ "{\"e\":\"op\",\"id\":\"1\",\"s\":1,\"d\":2}", "line 3: a key has a value of the wrong type" },
		{ "{\"e\":\"op\",\"id\":-1,\"s\":1,\"d\":2}", "line 3: a key has a value of the wrong type" },
		{ "{\"e\":\"op\",\"id\":1e3,\"s\":1,\"d\":2}", "line 3: a key has a value of the wrong type" },
		{ "{\"e\":\"op\",\"id\":8,\"c\":4294967296,\"s\":1,\"d\":2}", "line 3: a key has a value of the wrong type" },
		{ "{\"e\":1,\"id\":8,\"s\":1,\"d\":2}", "line 3: a key has a value of the wrong type" },
		{ "{\"e\":\"op\",\"s\":1,\"d\":2}", "line 3: an op has no id" },
		{ "{\"e\":\"op\",\"id\":8,\"s\":3,\"d\":2}", "line 3: an op ends before it starts" },
		{ "{\"e\":\"wait\",\"p\":8,\"s\":3,\"d\":2}", "line 3: a wait ends before it starts" },
		{ "{\"e\":\"op\",\"id\":8,\"s\":1,\"d\":2", "line 3: the line is cut short" },
		{ "{\"e\":\"op\",\"id\":8,\"s\":1,\"d\":2} x", "line 3: the line is no JSON" },
		{ "{'e':'op','id':8,'s':1,'d':2}", "line 3: the line is no JSON" },
		{ "[1,2]", "line 3: the line is no JSON object" },
		{ "garbage", "line 3: the line is no JSON" },
		{ "{\"e\":\"stack\",\"sid\":1,\"side\":\"user\",\"frames\":[[1,2]]}", "line 3: a stack's frame is malformed" },
		{ "{\"e\":\"stack\",\"sid\":1,\"side\":\"user\",\"frames\":[[1,2,0,0,\"x\"]]}",
		  "line 3: a stack's frame is malformed" },
		{ "{\"e\":\"thread\",\"pid\":1,\"tid\":1,\"begin_ns\":9,\"end_ns\":8}",
		  "line 3: a thread's lifetime is not within the recording" },
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct dump_problem problem;
		struct model *m;
		char *text;

		cr_assert(asprintf(&text, "%s%s%s\n%s", HEADER(3, ""),
				   "{\"e\":\"op\",\"k\":\"call\",\"id\":5,\"s\":1,\"d\":2}\n", cases[i].line,
				   "{\"e\":\"op\",\"k\":\"call\",\"id\":6,\"s\":1,\"d\":2}\n") > 0);
		m = fixture_read(text, &problem);
		cr_expect(m->op_n == 3 && m->ops[1].id == 5 && m->ops[2].id == 6, "%s", cases[i].line);
		cr_expect(problem.line == 3 && problem.bad_n == 1, "%s", cases[i].line);
		cr_expect(strcmp(problem.message, cases[i].message) == 0, "%s: %s", cases[i].line, problem.message);
		free(text);
		model_free(m);
	}
}

/* Our keys with a strange type are another producer's: no damage. */
Test(read, foreign_types_of_added_keys)
{
	struct dump_problem problem;
	struct model *m = fixture_read(
		HEADER(1, "") "{\"e\":\"wait\",\"rs\":\"io\",\"pid\":\"x\",\"tid\":[1],\"syscall\":1.5,\"s\":1,\"d\":2}\n",
		&problem);

	cr_expect(!problem.message[0] && m->wait_n == 2 && m->rows[m->waits[1].row].syscall == -1);
	model_free(m);
}

Test(read, fewer_or_more_lines_than_announced)
{
	struct dump_problem problem;

	model_free(fixture_read(HEADER(3, "") "{\"e\":\"op\",\"id\":5,\"s\":1,\"d\":2}\n", &problem));
	cr_expect(strcmp(problem.message, "the header announces 3 events, the file has 1") == 0, "%s", problem.message);
	cr_expect(problem.line == 0 && problem.bad_n == 0);
	model_free(fixture_read(HEADER(0, "") "\n{\"e\":\"op\",\"id\":5,\"s\":1,\"d\":2}\n\n", &problem));
	cr_expect(strcmp(problem.message, "the header announces 0 events, the file has 1") == 0, "%s", problem.message);
}

Test(read, string_ids_outside_the_table)
{
	struct dump_problem problem;
	struct model *m = fixture_read(HEADER(1, "") "{\"e\":\"op\",\"id\":5,\"c\":4,\"i\":3,\"s\":1,\"d\":2}\n", &problem);

	cr_expect(strcmp(problem.message, "1 string ids are outside the table") == 0, "%s", problem.message);
	cr_expect(m->ops[1].class_id == 0 && strcmp(strtab_str(m->strings, m->ops[1].ident_id), "c") == 0);
	model_free(m);
}

/* What begins before the recording is cut there; what a foreign recorder measured of a wait lies within it. */
Test(read, times_outside_the_recording)
{
	struct dump_problem problem;
	struct model *m = fixture_read(HEADER(2, "") "{\"e\":\"op\",\"id\":5,\"s\":-9,\"d\":900}\n"
				       "{\"e\":\"wait\",\"rs\":\"io\",\"s\":10,\"d\":20,\"blocked_ns\":50,\"wake_ns\":99}\n",
				       &problem);

	cr_expect(m->end_ns == 1000 && m->ops[1].start_ns == 0 && m->ops[1].end_ns == 900);
	cr_expect(m->waits[1].blocked_ns == 10 && m->waits[1].wake_ns == 20);
	cr_expect(strcmp(problem.message, "1 events begin before the recording and were cut there") == 0, "%s", problem.message);
	cr_expect(problem.late_ns == 0);
	model_free(m);
}

/*
 * The dump's time is the wall clock's, events' times are of a clock that goes on evenly: set back meanwhile, they lie
 * behind it, and are as long as they were.
 */
Test(read, a_wall_clock_that_was_set_back)
{
	struct dump_problem problem;
	struct model *m = fixture_read(
		HEADER(3, ",\"open_ops\":[{\"op_id\":9,\"kind\":\"call\",\"start_ns\":1500},"
			  "{\"op_id\":10,\"kind\":\"call\",\"start_ns\":5000}]")
		"{\"e\":\"op\",\"id\":1,\"s\":900,\"d\":2000}\n"
		"{\"e\":\"op\",\"id\":2,\"s\":1200,\"d\":1900}\n"
		"{\"e\":\"wait\",\"rs\":\"io\",\"p\":2,\"s\":1300,\"d\":1800}\n", &problem);

	cr_expect(!problem.message[0], "%s", problem.message);
	cr_expect(problem.late_ns == 4000 && m->end_ns == 5000);
	cr_expect(m->ops[1].start_ns == 900 && m->ops[1].end_ns == 2000);
	cr_expect(m->ops[2].start_ns == 1200 && m->ops[2].end_ns == 1900);
	cr_expect(m->waits[1].start_ns == 1300 && m->waits[1].blocked_ns == 500);
	cr_expect(m->ops[3].open && m->ops[3].start_ns == 1500 && m->ops[3].end_ns == 5000);
	model_free(m);
}

/* Nobody knows which of two ops of one id others mean: the first is used, and that is told. Told twice it is one. */
Test(read, two_ops_of_one_id)
{
	struct dump_problem problem;
	struct model *m = fixture_read(HEADER(4, "") "{\"e\":\"op\",\"id\":1,\"s\":0,\"d\":900}\n"
				       "{\"e\":\"op\",\"id\":2,\"s\":5,\"d\":9}\n"
				       "{\"e\":\"op\",\"id\":1,\"s\":0,\"d\":900}\n"
				       "{\"e\":\"op\",\"id\":1,\"s\":100,\"d\":200}\n", &problem);

	cr_expect(m->op_n == 3 && m->ops[1].end_ns == 900);
	cr_expect(strcmp(problem.message, "1 ops have the id of another op and were left out") == 0, "%s", problem.message);
	model_free(m);
}

/* The nearest number that fits would be another op's id, or another time. */
Test(read, numbers_that_do_not_fit)
{
	struct dump_problem problem;
	struct model *m = fixture_read(HEADER(4, "") "{\"e\":\"op\",\"id\":18446744073709551616,\"s\":0,\"d\":900}\n"
				       "{\"e\":\"op\",\"id\":5,\"s\":-9223372036854775809,\"d\":900}\n"
				       "{\"e\":\"op\",\"x\":\"\\u0041\",\"id\":18446744073709551615,\"s\":0,\"d\":900}\n"
				       "{\"e\":\"op\",\"id\":6,\"s\":0,\"d\":900,\"x\":99999999999999999999}\n", &problem);

	cr_expect(problem.line == 2 && problem.bad_n == 2, "%zu %zu", problem.line, problem.bad_n);
	cr_expect(m->op_n == 3 && m->ops[1].id == 6 && m->ops[2].id == UINT64_MAX);
	model_free(m);
}

/* Index 0 is "none", even if a header has a name there. */
Test(read, the_first_string_is_none)
{
	struct model *m = fixture_read("{\"schema_version\":1,\"epoch_unix_nano\":5,\"strings\":[\"woken\",\"a\"]}\n"
				       "{\"e\":\"op\",\"id\":1,\"c\":0,\"i\":1,\"s\":0,\"d\":900}\n", NULL);

	cr_expect(m->ops[1].class_id == 0 && strcmp(strtab_str(m->strings, m->ops[1].ident_id), "a") == 0);
	model_free(m);
}

Test(read, tid_reuse_follows_time)
{
	struct model *m = fixture_read(
		HEADER(5, "")
		"{\"e\":\"thread\",\"pid\":1,\"tid\":7,\"comm\":\"late\",\"begin_ns\":500,\"end_ns\":900}\n"
		"{\"e\":\"thread\",\"pid\":1,\"tid\":7,\"comm\":\"early\",\"begin_ns\":0,\"end_ns\":400}\n"
		"{\"e\":\"wait\",\"rs\":\"io\",\"s\":10,\"d\":20,\"pid\":1,\"tid\":7}\n"
		"{\"e\":\"wait\",\"rs\":\"io\",\"s\":600,\"d\":700,\"pid\":1,\"tid\":7}\n"
		"{\"e\":\"wait\",\"rs\":\"io\",\"s\":600,\"d\":700,\"pid\":2,\"tid\":7}\n", NULL);

	cr_expect(strcmp(strtab_str(m->strings, m->rows[m->waits[1].row].comm_id), "early") == 0);
	cr_expect(strcmp(strtab_str(m->strings, m->rows[m->waits[2].row].comm_id), "late") == 0);
	cr_expect(m->waits[1].thread == 2 && m->waits[2].thread == 1 && m->waits[3].thread == 0);
	model_free(m);
}

/* Of two threads of one number the begin tells; what is of neither has no time to divide. */
/* Moments that are none, too many of them, in no order. */
Test(read, sample_times_are_checked)
{
	static const char text[] =
		"{\"schema_version\":1,\"epoch_unix_nano\":0,\"dumped_unix_nano\":1000,\"event_count\":3,\"strings\":[\"\"],"
		"\"wcbpf\":{\"cpus\":6}}\n"
		"{\"e\":\"sample\",\"pid\":1,\"tid\":7,\"begin_ns\":0,\"samples\":5,\"at\":[900,3,-1,\"x\",1001]}\n"
		"{\"e\":\"sample\",\"pid\":1,\"tid\":7,\"begin_ns\":0,\"samples\":1,\"syscall\":1,\"at\":[5,6]}\n"
		"{\"e\":\"sample\",\"pid\":1,\"tid\":7,\"begin_ns\":0,\"samples\":1,\"syscall\":2,\"at\":9}\n";
	struct model *m = fixture_read(text, NULL);

	cr_assert(m->sample_n == 4 && m->sample_time_n == 3);
	cr_expect(m->cpu_n == 6);
	cr_expect(m->sample_times[0].at_ns == 3 && m->sample_times[0].sample == 1);
	cr_expect(m->sample_times[1].at_ns == 5 && m->sample_times[1].sample == 2);
	cr_expect(m->sample_times[2].at_ns == 900 && m->sample_times[2].sample == 1);
	model_free(m);
}

Test(read, samples_find_their_thread)
{
	struct dump_problem problem;
	struct model *m = fixture_read(
		HEADER(8, "")
		"{\"e\":\"sample\",\"pid\":1,\"tid\":7,\"begin_ns\":500,\"samples\":5}\n"
		"{\"e\":\"sample\",\"pid\":1,\"tid\":7,\"begin_ns\":0,\"samples\":6,\"syscall\":3}\n"
		"{\"e\":\"sample\",\"pid\":2,\"tid\":7,\"begin_ns\":0,\"samples\":7,\"kstack\":99}\n"
		"{\"e\":\"sample\",\"pid\":1,\"tid\":7,\"begin_ns\":0}\n"
		"{\"e\":\"sample\",\"pid\":1,\"tid\":7,\"begin_ns\":0,\"samples\":99999999999}\n"
		"{\"e\":\"sample\",\"pid\":1,\"tid\":7,\"begin_ns\":0,\"samples\":\"8\"}\n"
		"{\"e\":\"thread\",\"pid\":1,\"tid\":7,\"comm\":\"late\",\"begin_ns\":500,\"end_ns\":900}\n"
		"{\"e\":\"thread\",\"pid\":1,\"tid\":7,\"comm\":\"early\",\"begin_ns\":0,\"end_ns\":400}\n", &problem);

	cr_assert(m->sample_n == 4);
	cr_expect(m->samples[1].thread == 1 && m->samples[2].thread == 2 && m->samples[3].thread == 0);
	cr_expect_str_eq(strtab_str(m->strings, m->samples[1].comm_id), "late");
	cr_expect(m->samples[1].syscall == -1 && m->samples[2].syscall == 3 && m->samples[3].kstack == 0);
	cr_expect(problem.bad_n == 3, "%zu", problem.bad_n);
	model_free(m);
}

static void header_refused(const char *text, int error, const char *message)
{
	struct dump_problem problem = { 0 };
	struct model *m = NULL;
	int r = dump_read(fixture_file(text, strlen(text), false), &m, &problem);

	cr_expect(r == error && !m, "%s: %d", text, r);
	cr_expect(problem.line == 1 && strcmp(problem.message, message) == 0, "%s: %s", text, problem.message);
}

Test(read, headers_that_are_none)
{
	header_refused("", -EINVAL, "the file is empty");
	header_refused("hello\n", -EINVAL, "line 1 is no wcprof dump header");
	header_refused("\n", -EINVAL, "line 1 is no wcprof dump header");
	header_refused("[]\n", -EINVAL, "line 1 is no wcprof dump header");
	header_refused("{\"e\":\"op\"}\n", -EINVAL, "line 1 is no wcprof dump header");
	header_refused("{\"schema_version\":2}\n", -EINVAL, "schema_version is 2, only 1 can be read");
	header_refused("{\"schema_version\":\"1\"}\n", -EINVAL, "schema_version is 1, only 1 can be read");
	header_refused("{\"schema_version\":1,\"strings\":[\"a", -EINVAL, "the header (line 1) is cut short");
}

Test(read, files_that_are_none)
{
	struct dump_problem problem = { 0 };
	struct model *m = NULL;

	cr_expect(dump_read("/nonexistent/x", &m, &problem) == -ENOENT);
	cr_expect(dump_read("/tmp", &m, &problem) == -EISDIR);
}

/* Cut anywhere, a dump gives what came before the cut, and says so. */
Test(read, cut_at_every_byte)
{
	struct model *m = fixture_model();
	char *text = fixture_write(m);
	size_t n = strlen(text), header_n = (size_t)(strchr(text, '\n') - text);
	size_t lines = 0;

	for (size_t cut = 1; cut < n; cut++) {
		struct dump_problem problem = { 0 };
		struct model *r = NULL;
		int e = dump_read(fixture_file(text, cut, false), &r, &problem);
		size_t whole = cut > header_n ? (size_t)(text[cut] == '\n') : 0;

		for (size_t i = header_n + 1; i < cut; i++)
			whole += text[i] == '\n';
		if (cut < header_n) {
			cr_assert(e == -EINVAL && problem.message[0], "cut at %zu: %d", cut, e);
			continue;
		}
		if (cut == header_n)
			whole = 0;
		/* Without its last newline the file is still whole. */
		cr_assert(e == 0 && (problem.message[0] || whole == 18), "cut at %zu: %d", cut, e);
		lines = r->module_n + r->stack_n + r->thread_n + r->sample_n + model_event_n(r) - 4 - 1; /* one op is open */
		cr_assert(lines == whole, "cut at %zu: %zu of %zu events", cut, lines, whole);
		model_free(r);
	}
	cr_expect(lines == 18, "the last cut leaves all: %zu", lines);
	free(text);
	model_free(m);
}

Test(read, a_cut_gzip_stream_gives_what_it_held)
{
	char *text = NULL, *gz;
	struct dump_problem problem = { 0 };
	struct model *m = NULL;
	struct stat st;
	size_t n;
	const char *path;
	FILE *f = open_memstream(&text, &n);
	int fd;

	fprintf(f, HEADER(20000, ""));
	for (int i = 1; i <= 20000; i++)
		fprintf(f, "{\"e\":\"op\",\"k\":\"call\",\"id\":%d,\"s\":%d,\"d\":%d}\n", i, i % 7, i * 7919 % 997 + 10);
	fclose(f);
	path = fixture_file(text, n, true);
	cr_assert(stat(path, &st) == 0);
	cr_assert(truncate(path, st.st_size / 2) == 0);
	cr_assert(dump_read(path, &m, &problem) == 0);
	cr_expect(m->op_n > 5000 && m->op_n < 15000, "%zu", m->op_n);
	cr_expect(strstr(problem.message, "the gzip stream is cut short after ") != NULL, "%s", problem.message);
	model_free(m);
	/* A flipped byte in the middle. */
	path = fixture_file(text, n, true);
	fd = open(path, O_RDWR | O_CLOEXEC);
	gz = malloc((size_t)st.st_size);
	cr_assert(pread(fd, gz, (size_t)st.st_size, 0) == st.st_size);
	for (off_t i = st.st_size / 2; i < st.st_size / 2 + 64; i++)
		gz[i] = (char)~gz[i];
	cr_assert(pwrite(fd, gz, (size_t)st.st_size, 0) == st.st_size);
	close(fd);
	cr_assert(dump_read(path, &m, &problem) == 0);
	cr_expect(problem.message[0] && m->op_n > 1000, "%s, %zu ops", problem.message, m->op_n);
	model_free(m);
	free(gz);
	free(text);
}

static void byte_flip(const char *path, off_t at)
{
	int fd = open(path, O_RDWR | O_CLOEXEC);
	unsigned char c;

	cr_assert(fd >= 0 && pread(fd, &c, 1, at) == 1);
	c ^= 0x55;
	cr_assert(pwrite(fd, &c, 1, at) == 1);
	close(fd);
}

/* All that zlib's inflate() gives before its fault, down to the last line; a sum that doesn't match leaves everything. */
Test(read, a_damaged_gzip_stream_gives_what_it_held)
{
	char *text = NULL;
	struct dump_problem problem = { 0 };
	struct model *m = NULL;
	struct stat st;
	size_t n;
	const char *path;
	FILE *f = open_memstream(&text, &n);

	fprintf(f, HEADER(300, ""));
	for (int i = 1; i <= 300; i++)
		fprintf(f, "{\"e\":\"op\",\"k\":\"call\",\"id\":%d,\"s\":%d,\"d\":%d}\n", i, i % 7, i * 7919 % 997 + 10);
	fclose(f);
	path = fixture_file(text, n, true);
	cr_assert(stat(path, &st) == 0);
	byte_flip(path, st.st_size - 6); /* of the sum: CRC and length are last */
	cr_assert(dump_read(path, &m, &problem) == 0 && m->op_n == 301);
	cr_expect(strcmp(problem.message, "the gzip stream is damaged (incorrect data check) after 300 events") == 0, "%s",
		  problem.message);
	m = model_free(m);
	for (off_t at = st.st_size / 4; at < st.st_size - 8; at += 7) {
		char *out = malloc(4 * n);
		size_t good = 0;
		gzFile one;

		path = fixture_file(text, n, true);
		byte_flip(path, at);
		/* Byte by byte zlib's own reader keeps nothing back. */
		one = gzopen(path, "rb");
		gzbuffer(one, 8);
		while (good < 4 * n && gzread(one, out + good, 1) == 1)
			good++;
		gzclose(one);
		problem = (struct dump_problem){ 0 };
		if (dump_read(path, &m, &problem) == 0) {
			const char *after = strstr(problem.message, " after ");
			size_t lines = 0, events = after ? strtoul(after + strlen(" after "), NULL, 10) : 0;

			for (size_t i = 0; i < good; i++)
				lines += out[i] == '\n';
			/* The header is none; the last may be cut; a blank one is no event; zlib kept a few bytes back. */
			cr_expect(events + 3 >= lines && events <= lines + 3, "%zu: %zu lines: %s", (size_t)at, lines,
				  problem.message);
			m = model_free(m);
		}
		free(out);
	}
	free(text);
}

/* Random damage never crashes the reader (the sanitizers watch) and never ends it behind a good header. */
Test(read, flipped_bytes)
{
	struct model *m = fixture_model();
	char *text = fixture_write(m);
	size_t n = strlen(text), header_n = (size_t)(strchr(text, '\n') - text);
	unsigned seed = 12345;

	for (int i = 0; i < 800; i++) {
		struct dump_problem problem = { 0 };
		struct model *r = NULL;
		char *copy = malloc(n);
		bool in_header = false;
		int e;

		memcpy(copy, text, n);
		for (int k = 0; k < 3; k++) {
			size_t at = (size_t)rand_r(&seed) % n;

			copy[at] = (char)rand_r(&seed);
			in_header |= at <= header_n;
		}
		e = dump_read(fixture_file(copy, n, false), &r, &problem);
		cr_assert(e == 0 || (in_header && e == -EINVAL), "gave %d", e);
		if (r)
			free(fixture_write(r));
		model_free(r);
		free(copy);
	}
	free(text);
	model_free(m);
}

Test(read, facts_and_integrity_of_the_header)
{
	const char *text = HEADER(0, ",\"wcbpf\":{\"version\":\"1.2\",\"host\":\"h\",\"kernel\":7,\"command\":[\"a\",\"b c\","
				     "\"it's\",\"\"],\"exit_status\":256,\"capture_integrity\":{\"lost_ring_full\":7,"
				     "\"attempted\":30,\"recorded\":23,\"lost_samples\":4},\"sample_hz\":99}");
	struct dump_problem problem;
	struct dump_facts facts;
	struct model *m;

	cr_assert(dump_read_with(fixture_file(text, strlen(text), false), &m, &facts, &problem) == 0);
	cr_expect(facts.is_wcbpf && strcmp(facts.version, "1.2") == 0 && strcmp(facts.host, "h") == 0);
	cr_expect(!facts.kernel && !facts.target);
	cr_expect(strcmp(facts.command, "a 'b c' 'it'\\''s' ''") == 0, "%s", facts.command);
	cr_expect(facts.has_exit_status && facts.exit_status == 256);
	cr_expect(m->integrity.lost_ring_full == 7 && m->integrity.attempted == 30 && m->integrity.recorded == 23);
	cr_expect(m->integrity.dropped_events == 0);
	cr_expect(m->integrity.lost_samples == 4 && m->sample_hz == 99);
	dump_facts_done(&facts);
	model_free(m);
	text = "{\"schema_version\":1,\"dropped_events\":12,\"wcbpf\":{\"lost_ring_full\":5}}\n";
	cr_assert(dump_read_with(fixture_file(text, strlen(text), false), &m, &facts, &problem) == 0);
	/* 12 in all: 5 lost in the ring, so 7 over the cap. Written again it is 12 again. */
	cr_expect(m->integrity.dropped_events == 7 && dump_dropped_events(m) == 12);
	dump_facts_done(&facts);
	model_free(m);
}

/* Sums of times must fit: what is later than any recording is damage, an epoch that leaves no room is none. */
Test(read, times_that_no_recording_has)
{
	struct dump_problem problem;
	struct model *m = fixture_read(
		"{\"schema_version\":1,\"epoch_unix_nano\":9223372036854775807,\"strings\":[\"\"]}\n"
		"{\"e\":\"op\",\"id\":1,\"s\":5,\"d\":9223372036854775807}\n"
		"{\"e\":\"op\",\"id\":2,\"s\":5,\"d\":36028797018963968}\n"
		"{\"e\":\"wait\",\"rs\":\"io\",\"s\":9223372036854775806,\"d\":9223372036854775807}\n"
		"{\"e\":\"wait\",\"rs\":\"io\",\"s\":7,\"d\":9,\"timeout_ns\":-9223372036854775808}\n",
		&problem), *again;
	char *text;

	cr_expect(strcmp(problem.message, "epoch_unix_nano is no time; line 2: a time is beyond any recording's (2 bad lines)") == 0,
		  "%s", problem.message);
	cr_assert(m->op_n == 2 && m->wait_n == 2 && !m->epoch_unix_ns && problem.bad_n == 2);
	cr_expect(m->end_ns == INT64_C(1) << 55 && m->ops[1].start_ns == 5 && m->ops[1].end_ns == m->end_ns);
	cr_expect(m->waits[1].start_ns == 7 && m->waits[1].end_ns == 9 && !m->waits[1].has_timeout);
	text = fixture_write(m);
	again = fixture_read(text, &problem);
	cr_expect(!problem.message[0] && again->ops[1].end_ns == m->end_ns, "%s", problem.message);
	free(text);
	model_free(again);
	model_free(m);
}
