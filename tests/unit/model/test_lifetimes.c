/* SPDX-License-Identifier: (LGPL-2.1 OR BSD-2-Clause) */
/* Who had a number when, against a look at all of them. */
#include <criterion/criterion.h>
#include <stdlib.h>

#include "model/model.h"

enum { THREADS = 300, TIMES = 1000 };

/* The last that began until then, of several at one time the last; else the first of all. */
static uint32_t look(const struct model *m, uint32_t pid, uint32_t tid, uint64_t goid, int64_t ns)
{
	uint32_t last = 0, first = 0;

	for (uint32_t i = 1; i < m->thread_n; i++) {
		const struct model_thread *t = &m->threads[i];

		if (t->pid != pid || t->goid != goid || (!goid && t->tid != tid))
			continue;
		if (!first || t->begin_ns < m->threads[first].begin_ns)
			first = i;
		if (t->begin_ns <= ns && (!last || t->begin_ns >= m->threads[last].begin_ns))
			last = i;
	}
	return last ? last : first;
}

Test(lifetimes, threads_and_goroutines)
{
	_cleanup_(model_lifetimes_done) struct model_lifetimes threads = { 0 }, goroutines = { 0 };
	_cleanup_(model_freep) struct model *m = NULL;
	unsigned seed = 7, found = 0;
	uint32_t i;

	cr_assert(model_new(&m) == 0);
	for (int k = 0; k < THREADS; k++) {
		uint32_t pid = 10 + (uint32_t)rand_r(&seed) % 3;

		cr_assert(model_thread_add(m, &i) == 0);
		m->threads[i] = (struct model_thread){ .pid = pid, .tid = 20 + (uint32_t)rand_r(&seed) % 9,
						       .goid = rand_r(&seed) % 3 ? 0 : 1 + (uint64_t)rand_r(&seed) % 9,
						       .begin_ns = rand_r(&seed) % TIMES };
	}
	cr_assert(model_lifetimes_of_threads(m, &threads) == 0 && model_lifetimes_of_goroutines(m, &goroutines) == 0);
	cr_assert(threads.n + goroutines.n == THREADS && threads.n && goroutines.n);
	for (uint32_t pid = 9; pid <= 13; pid++) {
		for (uint32_t number = 0; number < 32; number++) {
			for (int64_t ns = -1; ns <= TIMES; ns += 13) {
				uint32_t thread = model_lifetimes_find(&threads, pid, number, ns);
				uint32_t goroutine = model_lifetimes_find(&goroutines, pid, number, ns);

				cr_expect(thread == look(m, pid, number, 0, ns), "%u/%u at %ld: %u", pid, number, (long)ns, thread);
				cr_expect(goroutine == (number ? look(m, pid, 0, number, ns) : 0), "%u, goroutine %u at %ld: %u",
					  pid, number, (long)ns, goroutine);
				found += thread || goroutine;
			}
		}
	}
	cr_expect(found > 100, "%u", found);
}

/* By the begins of their ops. */
Test(lifetimes, processes)
{
	_cleanup_(model_lifetimes_done) struct model_lifetimes l = { 0 };
	_cleanup_(model_freep) struct model *m = NULL;
	static const int64_t begins_ns[] = { 500, 100, 300 };
	uint32_t op, process;

	cr_assert(model_new(&m) == 0);
	for (size_t k = 0; k < 3; k++) {
		cr_assert(model_op_add(m, &op) == 0 && model_process_add(m, &process) == 0);
		m->ops[op].start_ns = begins_ns[k];
		m->processes[process] = (struct model_process){ .pid = 7, .op = op };
	}
	cr_assert(model_lifetimes_of_processes(m, &l) == 0);
	cr_expect(model_lifetimes_find(&l, 7, 0, 50) == 2, "before all: the first");
	cr_expect(model_lifetimes_find(&l, 7, 0, 100) == 2 && model_lifetimes_find(&l, 7, 0, 299) == 2);
	cr_expect(model_lifetimes_find(&l, 7, 0, 300) == 3 && model_lifetimes_find(&l, 7, 0, 9999) == 1);
	cr_expect(model_lifetimes_find(&l, 8, 0, 300) == 0);
}
