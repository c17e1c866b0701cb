/* SPDX-License-Identifier: (LGPL-2.1 OR BSD-2-Clause) */
#include "fixture.h"

#include <criterion/criterion.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <zlib.h>

int text_sink(void *arg, const char *bytes, size_t n)
{
	struct text *t = arg;

	if (t->n + n + 1 > t->cap) {
		t->cap = 2 * (t->n + n + 1);
		t->s = realloc(t->s, t->cap);
	}
	memcpy(t->s + t->n, bytes, n);
	t->n += n;
	t->s[t->n] = 0;
	return 0;
}

uint32_t str(struct model *m, const char *s)
{
	uint32_t id;

	cr_assert(strtab_intern(m->strings, s, &id) == 0);
	return id;
}

static void add_ops(struct model *m)
{
	uint32_t i;

	cr_assert(model_op_add(m, &i) == 0);
	m->ops[i] = (struct model_op){ .id = 1, .kind = OP_EXEC, .work = WORK_USER, .start_ns = 0, .end_ns = 900,
				       .class_id = str(m, "sh"), .ident_id = str(m, "10:55"),
				       .client_id = str(m, "10:55"), .meta_id = str(m, "[\"sh\",\"-c\",\"x\"]"),
				       .pid = 10, .outcome = OUTCOME_OK, .has_exit_status = true };
	cr_assert(model_op_add(m, &i) == 0);
	m->ops[i] = (struct model_op){ .id = 2, .kind = OP_INTERNAL, .work = WORK_USER, .parent = 1, .start_ns = 0,
				       .end_ns = 1000, .class_id = str(m, "sh"), .pid = 10, .tid = 10, .open = true,
				       .clipped = CLIPPED_BEFORE | CLIPPED_AFTER };
	cr_assert(model_op_add(m, &i) == 0);
	m->ops[i] = (struct model_op){ .id = 3, .kind = OP_EXEC, .start_ns = 100, .end_ns = 700,
				       .client_id = str(m, "11:56"), .pid = 11, .outcome = OUTCOME_ERROR, .result = 7,
				       .exit_status = 139, .has_exit_status = true, .unwound = true };
	cr_assert(model_op_add(m, &i) == 0);
	m->ops[i] = (struct model_op){ .id = 4, .kind = OP_EXEC_PHASE, .start_ns = 120, .end_ns = 700, .parent = 3,
				       .class_id = str(m, "true"), .pid = 11 };
	cr_assert(model_link_add(m, &i) == 0);
	m->links[i] = (struct model_link){ .kind = LINK_NESTED_CLIENT, .from = 2, .to = 3, .start_ns = 100,
					   .end_ns = 100, .ident_id = str(m, "11:56") };
}

static void add_threads_and_stacks(struct model *m)
{
	struct model_frame frames[7];
	uint32_t i;

	cr_assert(model_thread_add(m, &i) == 0);
	m->threads[i] = (struct model_thread){ .pid = 10, .tid = 10, .comm_id = str(m, "sh"), .op = 2, .begin_ns = 0,
					       .end_ns = 1000, .oncpu_ns = 300, .runnable_ns = 100, .blocked_ns = 550,
					       .lost_ns = 50, .cpu_allowed_n = 2, .interval_n = 9, .lost_n = 1, .voluntary_n = 5,
					       .involuntary_n = 3, .has_totals = true, .clipped = CLIPPED_BEFORE };
	cr_assert(model_thread_add(m, &i) == 0);
	m->threads[i] = (struct model_thread){ .pid = 11, .tid = 11, .comm_id = str(m, "true"), .begin_ns = 100,
					       .end_ns = 700 };
	cr_assert(model_module_add(m, &i) == 0);
	m->modules[i] = (struct model_module){ .path_id = str(m, "/lib/libc.so.6"), .build_id_id = str(m, "ab12"),
					       .bias = UINT64_C(0xffff800000001000) };
	cr_assert(model_stack_add(m, STACK_USER, &i) == 0);
	frames[0] = (struct model_frame){ .module = 1, .address = 0x1234, .name_id = str(m, "read") };
	frames[1] = (struct model_frame){ .module = 0, .address = UINT64_MAX, .name_id = 0 };
	/* with a source file and line, inlined; with a line only; with a file only; with other names, with all */
	frames[2] = (struct model_frame){ .module = 1, .address = 0x1235, .name_id = str(m, "read"), .file_id = str(m, "sh"),
					  .line = 77, .inlined = true };
	frames[3] = (struct model_frame){ .module = 1, .address = 0x1235, .name_id = str(m, "read"), .line = INT32_MAX };
	frames[4] = (struct model_frame){ .module = 1, .address = 0x1236, .file_id = str(m, "sh") };
	frames[5] = (struct model_frame){ .module = 1, .address = 0x1237, .name_id = str(m, "read"), .alias_n = 2 };
	frames[6] = (struct model_frame){ .module = 1, .address = 0x1238, .name_id = str(m, "read"), .file_id = str(m, "sh"),
					  .line = 78, .inlined = true, .alias_n = UINT32_MAX };
	cr_assert(model_stack_set(m, i, "fp", frames, 7) == 0);
	cr_assert(model_stack_add(m, STACK_KERNEL, &i) == 0); /* its body never came */
	cr_assert(model_sample_add(m, &i) == 0);
	m->samples[i] = (struct model_sample){ .count = 40, .thread = 1, .ustack = 1, .comm_id = str(m, "sh"),
					       .syscall = -1 };
	cr_assert(model_sample_add(m, &i) == 0);
	m->samples[i] = (struct model_sample){ .count = 2, .thread = 2, .kstack = 2, .ustack = 1,
					       .comm_id = str(m, "old name"), .syscall = 0 };
	m->threads[1].sample_n = 40;
	m->threads[2].sample_n = 2;
	/* not all of the first */
	cr_assert(model_sample_time_add(m, 1, 7) == 0 && model_sample_time_add(m, 2, 150) == 0 &&
		  model_sample_time_add(m, 1, 200) == 0 && model_sample_time_add(m, 2, 200) == 0);
}

static void words_set(struct model *m, uint32_t wait, const struct model_wait_words *words)
{
	cr_assert(model_wait_words_set(m, &m->waits[wait], words) == 0);
}

static void add_waits(struct model *m)
{
	uint32_t i, row, outsider;

	cr_assert(model_row_add(m, &row) == 0);
	m->rows[row] = (struct model_row){ .kstack = 2, .ustack = 1, .comm_id = str(m, "sh"), .syscall = 0,
					   .kind_id = str(m, "pipe"), .state = 1, .reason = REASON_IO };
	cr_assert(model_wait_add(m, &i) == 0);
	cr_assert(model_waker_intern(m, 98, 99, str(m, "outsider"), &outsider) == 0);
	m->waits[i] = (struct model_wait){ .start_ns = 10, .end_ns = 60, .blocked_ns = 30, .runnable_ns = 15,
					   .wake_ns = 40, .row = row, .op = 2, .ident_id = str(m, "pipe:[77]"),
					   .thread = 1, .waker = 2, .waker_stack = 1, .cpu_from = 1, .cpu_to = 300,
					   .outcome = WAIT_WOKEN, .ctx = WAKER_TASK };
	cr_assert(model_row_add(m, &row) == 0);
	m->rows[row] = (struct model_row){ .comm_id = str(m, "old name"), .syscall = 61, .kind_id = str(m, "child"),
					   .state = 2, .reason = REASON_EXEC };
	cr_assert(model_wait_add(m, &i) == 0);
	m->waits[i] = (struct model_wait){ .start_ns = 200, .end_ns = 1000, .blocked_ns = 800, .wake_ns = -1,
					   .row = row, .op = 2, .target = 3, .thread = 1, .outside_waker = outsider,
					   .clipped = CLIPPED_AFTER, .ctx = WAKER_TIMER };
	words_set(m, i, &(struct model_wait_words){ .owner_tid = 12 });
	cr_assert(model_row_add(m, &row) == 0);
	m->rows[row] = (struct model_row){ .comm_id = str(m, "true"), .syscall = -1, .reason = REASON_CPU };
	cr_assert(model_wait_add(m, &i) == 0);
	m->waits[i] = (struct model_wait){ .start_ns = 300, .end_ns = 310, .runnable_ns = 10, .wake_ns = 300,
					   .row = row, .op = 3, .thread = 2 };
	cr_assert(model_row_add(m, &row) == 0);
	m->rows[row] = (struct model_row){ .comm_id = str(m, "sh"), .syscall = 202, .state = 1, .reason = REASON_LOCK,
					   .has_futex_op = true, .futex_op = 393, .kind_id = str(m, "mutex") };
	cr_assert(model_waker_intern(m, 0, 99, 0, &outsider) == 0);
	cr_assert(model_wait_add(m, &i) == 0);
	m->waits[i] = (struct model_wait){ .start_ns = 400, .end_ns = 420, .blocked_ns = 20, .wake_ns = -1,
					   .row = row, .op = 2, .thread = 1, .outside_waker = outsider,
					   .owner_unknown = OWNER_UNKNOWN_FAULT, .has_timeout = true,
					   .timeout_ns = INT64_C(250000000000) };
	words_set(m, i, &(struct model_wait_words){ .has_futex_val = true, .futex_val = UINT32_MAX });
	cr_assert(model_row_add(m, &row) == 0);
	m->rows[row] = (struct model_row){ .comm_id = str(m, "sh"), .syscall = 202, .state = 1, .reason = REASON_LOCK,
					   .has_futex_op = true, .kind_id = str(m, "mutex") };
	cr_assert(model_wait_add(m, &i) == 0);
	m->waits[i] = (struct model_wait){ .start_ns = 430, .end_ns = 440, .blocked_ns = 10, .wake_ns = -1,
					   .row = row, .op = 2, .thread = 1, .has_timeout = true,
					   .owner_unknown = OWNER_UNKNOWN_NO_THREAD };
	words_set(m, i, &(struct model_wait_words){ .has_futex_val = true, .futex_val = 0 });
	for (uint32_t val = 2; val < 4; val++) { /* as of glibc's mutex, and another */
		cr_assert(model_wait_add(m, &i) == 0);
		m->waits[i] = (struct model_wait){ .start_ns = 450, .end_ns = 460, .blocked_ns = 10, .wake_ns = -1,
						   .row = row, .op = 2, .thread = 1 };
		words_set(m, i, &(struct model_wait_words){ .owner_tid = 12, .has_futex_val = true, .futex_val = val });
	}
}

struct model *fixture_model(void)
{
	struct model *m;

	cr_assert(model_new(&m) == 0);
	m->epoch_unix_ns = INT64_C(1700000000000000000);
	m->end_ns = 1000;
	add_ops(m);
	add_threads_and_stacks(m);
	add_waits(m);
	return m;
}

char *fixture_write(const struct model *m)
{
	struct text t = { 0 };

	cr_assert(dump_write(m, NULL, NULL, text_sink, &t) == 0);
	return t.s;
}

const char *fixture_file(const char *text, size_t n, bool gzip)
{
	static char path[64];
	gzFile gz;
	int fd;

	if (path[0])
		unlink(path);
	strcpy(path, "/tmp/wcbpf-dump-test.XXXXXX");
	fd = mkstemp(path);
	cr_assert(fd >= 0);
	gz = gzdopen(fd, gzip ? "wb" : "wbT");
	cr_assert(gz != NULL);
	if (n)
		cr_assert(gzwrite(gz, text, (unsigned)n) == (int)n);
	cr_assert(gzclose(gz) == Z_OK);
	return path;
}

struct model *fixture_read(const char *text, struct dump_problem *ret_problem)
{
	const char *path = fixture_file(text, strlen(text), false);
	struct dump_problem ignored;
	struct model *m = NULL;
	int r = dump_read(path, &m, ret_problem ? ret_problem : &ignored);

	unlink(path);
	cr_assert(r == 0, "reading gave %d", r);
	return m;
}
