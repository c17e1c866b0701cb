/* SPDX-License-Identifier: (LGPL-2.1 OR BSD-2-Clause) */
/* Many events, many ids, long lines: what a real recording has. */
#include <criterion/criterion.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "fixture.h"

enum { THREADS = 200, WAITS = 100000, ROWS = 3000 };

static unsigned pick(unsigned *seed, unsigned n)
{
	return (unsigned)rand_r(seed) % n;
}

static void add_rows(struct model *m, unsigned *seed)
{
	uint32_t i;

	for (int k = 0; k < ROWS; k++) {
		char name[32];

		cr_assert(model_row_add(m, &i) == 0);
		snprintf(name, sizeof(name), "worker/%u", pick(seed, 50));
		m->rows[i] = (struct model_row){ .comm_id = str(m, name), .reason = (uint8_t)pick(seed, REASON_MAX),
						 .syscall = (int32_t)pick(seed, 400) - 1, .state = pick(seed, 3),
						 .kstack = pick(seed, 40), .ustack = pick(seed, 40),
						 .has_futex_op = k % 3 == 0, .futex_op = k % 3 ? 0 : pick(seed, 4) };
	}
}

static struct model *large_model(void)
{
	struct model *m;
	unsigned seed = 7;
	uint32_t i;

	cr_assert(model_new(&m) == 0);
	m->end_ns = 1000000;
	for (uint32_t k = 1; k < 50; k++)
		cr_assert(model_stack_add(m, k % 2 ? STACK_USER : STACK_KERNEL, &i) == 0);
	for (uint32_t k = 1; k <= THREADS; k++) {
		cr_assert(model_op_add(m, &i) == 0);
		m->ops[i] = (struct model_op){ .id = i, .kind = OP_INTERNAL, .pid = 100, .tid = 100 + k, .open = k % 3 == 0,
					       .end_ns = 1000000, .clipped = k % 3 == 0 ? CLIPPED_AFTER : 0 };
		cr_assert(model_thread_add(m, &i) == 0);
		m->threads[i] = (struct model_thread){ .pid = 100, .tid = 100 + k, .op = k, .end_ns = 1000000,
						       .comm_id = str(m, "worker/0") };
	}
	add_rows(m, &seed);
	for (int k = 0; k < WAITS; k++) {
		int64_t start_ns = pick(&seed, 900000), length_ns = 10 + pick(&seed, 90000);

		cr_assert(model_wait_add(m, &i) == 0);
		m->waits[i] = (struct model_wait){ .start_ns = start_ns, .end_ns = start_ns + length_ns,
						   .blocked_ns = length_ns / 2, .runnable_ns = length_ns / 3,
						   .wake_ns = start_ns + length_ns / 2, .row = 1 + pick(&seed, ROWS),
						   .thread = 1 + pick(&seed, THREADS), .waker = pick(&seed, THREADS),
						   .outcome = (uint8_t)pick(&seed, WAIT_OUTCOME_MAX),
						   .ctx = (uint8_t)pick(&seed, WAKER_CTX_MAX) };
		if (!m->waits[i].waker && pick(&seed, 2)) {
			uint32_t pid = 900 + pick(&seed, 20), waker;

			cr_assert(model_waker_intern(m, pid, pid + pick(&seed, 3), str(m, pick(&seed, 2) ? "x" : "y"),
						     &waker) == 0);
			m->waits[i].outside_waker = waker;
		}
		m->waits[i].owner_unknown = (uint8_t)pick(&seed, OWNER_UNKNOWN_MAX);
		m->waits[i].has_timeout = pick(&seed, 2);
		m->waits[i].timeout_ns = m->waits[i].has_timeout ? pick(&seed, 1000) : 0;
		cr_assert(model_wait_words_set(m, &m->waits[i], &(struct model_wait_words){
					.owner_tid = pick(&seed, 2) ? pick(&seed, 100) : 0,
					.has_futex_val = true, .futex_val = pick(&seed, 5) }) == 0);
		m->waits[i].op = m->threads[m->waits[i].thread].op;
	}
	return m;
}

Test(scale, a_large_dump_comes_back_the_same, .timeout = 120)
{
	struct model *m = large_model(), *again;
	char *first = fixture_write(m), *second;
	struct dump_problem problem;

	again = fixture_read(first, &problem);
	cr_expect(!problem.message[0], "%s", problem.message);
	cr_expect(again->wait_n == WAITS + 1 && again->row_n <= ROWS + 1);
	second = fixture_write(again);
	cr_expect(strcmp(first, second) == 0);
	free(first);
	free(second);
	model_free(again);
	model_free(m);
}

Test(scale, a_header_of_many_megabytes, .timeout = 120)
{
	struct model *m, *again;
	char *long_name = malloc(8 << 20), *first, *second;
	uint32_t i;

	memset(long_name, 'x', (8 << 20) - 1);
	long_name[(8 << 20) - 1] = 0;
	cr_assert(model_new(&m) == 0);
	cr_assert(model_op_add(m, &i) == 0);
	m->ops[i] = (struct model_op){ .id = 1, .kind = OP_EXEC, .meta_id = str(m, long_name) };
	for (int k = 0; k < 50000; k++) {
		char name[32];

		snprintf(name, sizeof(name), "name %d", k);
		str(m, name);
	}
	first = fixture_write(m);
	again = fixture_read(first, NULL);
	cr_expect(strtab_n(again->strings) == 50002);
	cr_expect(strcmp(strtab_str(again->strings, again->ops[1].meta_id), long_name) == 0);
	second = fixture_write(again);
	cr_expect(strcmp(first, second) == 0);
	free(long_name);
	free(first);
	free(second);
	model_free(again);
	model_free(m);
}
