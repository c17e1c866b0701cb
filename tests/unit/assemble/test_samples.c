/* SPDX-License-Identifier: (LGPL-2.1 OR BSD-2-Clause) */
/* Samples of running threads, and rows that are of one thread. */
#include <criterion/criterion.h>
#include <criterion/new/assert.h>
#include <errno.h>
#include <string.h>

#include "rig.h"

static struct rig rig;

static void stop(void)
{
	rig_stop(&rig);
}

TestSuite(samples, .fini = stop);

static int sample(uint64_t time_ns, uint32_t tid, uint64_t kstack, uint64_t ustack, int syscall, uint32_t flags,
		  const char *comm)
{
	struct wcbpf_sample e = {
		.head = { .kind = WCBPF_EV_SAMPLE, .size = sizeof(e), .time_ns = time_ns },
		.kstack_id = kstack, .ustack_id = ustack, .tid = tid, .tgid = 100, .syscall = syscall, .flags = flags,
	};

	memcpy(e.comm, comm, strnlen(comm, sizeof(e.comm)));
	return assemble_event(rig.a, &e.head);
}

static const struct model_sample *find(uint32_t tid, const char *comm, uint32_t kstack, int syscall)
{
	const struct model *m = rig.m;

	for (size_t i = 1; i < m->sample_n; i++) {
		const struct model_sample *s = &m->samples[i];

		if (m->threads[s->thread].tid == tid && strcmp(rig_str(&rig, s->comm_id), comm) == 0 &&
		    s->kstack == kstack && s->syscall == syscall)
			return s;
	}
	return NULL;
}

/* Another thread has told that the process is over, and this one is still about to exit. */
Test(samples, a_thread_that_outlives_its_process)
{
	rig_start(&rig, 0);
	rig_seed(&rig, 100, 100, "app");
	rig_fork(&rig, MS(10), 100, 100, 101, 100);
	rig_exit(&rig, MS(50), 100, 100, 0, true);
	cr_assert_eq(sample(MS(51), 101, 0, 0, -1, 0, "app"), 0);
	rig_exit(&rig, MS(54), 101, 100, 0, false);
	rig_totals(&rig, &(struct wcbpf_thread_totals){ .tid = 101, .tgid = 100, .begin_ns = MS(10), .end_ns = MS(55),
							.oncpu_ns = 45000000 });
	rig_finish(&rig, MS(100));
	cr_expect_eq(rig.m->process_n, 2);
	cr_assert_eq(rig.m->thread_n, 3);
	cr_expect(rig.m->threads[2].has_totals && rig.m->threads[2].end_ns == 55000000);
	cr_assert_eq(rig.m->sample_n, 2);
	cr_expect_eq(rig.m->samples[1].thread, 2);
}

Test(samples, equal_ones_add_up)
{
	const struct model_sample *s;

	rig_start(&rig, 0);
	rig_seed(&rig, 100, 100, "app");
	rig_seed(&rig, 100, 101, "app");
	rig_stack(&rig, STACK_USER, 7, "app:f app:main");
	rig_stack(&rig, STACK_KERNEL, 8, "copy_page sys_read");
	for (int i = 1; i <= 5; i++)
		cr_assert_eq(sample(MS(i), 100, 0, 7, -1, WCBPF_SM_USER, "app"), 0);
	for (int i = 1; i <= 3; i++)
		cr_assert_eq(sample(MS(i), 101, 0, 7, -1, WCBPF_SM_USER, "app"), 0);
	cr_assert_eq(sample(MS(6), 100, 8, 7, 0, 0, "app"), 0);
	cr_assert_eq(sample(MS(7), 100, 8, 7, 1, 0, "app"), 0, "another call is another sample");
	cr_assert_eq(sample(MS(8), 100, 0, 7, -7, WCBPF_SM_USER, "other"), 0, "so is another name");
	rig_finish(&rig, MS(10));
	cr_expect_eq(rig.m->sample_n - 1, 5);
	cr_expect_eq(rig.m->integrity.recorded_samples, 11);
	cr_expect_eq(rig.m->integrity.failed_sample_stacks, 0);
	s = find(100, "app", 0, -1);
	cr_assert(s && s->count == 5 && rig.m->stacks[s->ustack].frame_n == 2);
	s = find(101, "app", 0, -1);
	cr_assert(s && s->count == 3);
	cr_assert(find(100, "app", 1, 0) || find(100, "app", 2, 0));
	s = find(100, "other", 0, -1);
	cr_assert(s && s->count == 1);
	cr_expect_eq(rig.m->threads[s->thread].sample_n, 8);
	cr_assert_eq(rig.m->sample_time_n, 11);
	for (size_t i = 0; i < 5; i++) {
		const struct model_sample_time *t = &rig.m->sample_times[i];

		cr_expect_eq((uint64_t)t->at_ns, MS((int64_t)i + 1) - MS(0));
		cr_expect_eq(rig.m->threads[rig.m->samples[t->sample].thread].tid, 100);
	}
}

Test(samples, stacks_that_are_missing_are_counted)
{
	rig_start(&rig, 0);
	rig_seed(&rig, 100, 100, "app");
	cr_assert_eq(sample(MS(1), 100, 0, 55, -1, WCBPF_SM_USER, "app"), 0);
	cr_assert_eq(sample(MS(2), 100, 0, 55, -1, WCBPF_SM_USER, "app"), 0);
	cr_assert_eq(sample(MS(3), 100, 0, 0, -1, WCBPF_SM_KSTACK_FAILED, "app"), 0);
	cr_assert_eq(sample(MS(4), 100, 0, 0, -1, WCBPF_SM_EXITING, "app"), 0, "it has no user stack any more");
	rig_finish(&rig, MS(10));
	cr_expect_eq(rig.m->integrity.failed_sample_stacks, 3);
	cr_expect_not(model_is_complete(rig.m));
	cr_expect_eq(model_lost_stack_traces(rig.m), 0, "that counts intervals");
}

/* The last that a thread does comes after its exit event, and before another has its number. */
Test(samples, the_dying_and_the_next_of_that_number)
{
	const struct model_sample *s;
	uint64_t counts[3] = { 0 };

	rig_start(&rig, 0);
	rig_seed(&rig, 100, 100, "app");
	rig_fork(&rig, MS(1), 100, 100, 101, 100);
	cr_assert_eq(sample(MS(2), 101, 0, 0, -1, 0, "one"), 0);
	rig_exit(&rig, MS(3), 101, 100, 0, false);
	cr_assert_eq(sample(MS(4), 101, 0, 0, -1, WCBPF_SM_EXITING, "one"), 0);
	rig_fork(&rig, MS(5), 100, 100, 101, 100);
	cr_assert_eq(sample(MS(6), 101, 0, 0, -1, 0, "two"), 0);
	rig_finish(&rig, MS(10));
	cr_assert_eq(rig.m->thread_n, 4);
	for (size_t i = 1; i < rig.m->sample_n; i++) {
		s = &rig.m->samples[i];
		cr_assert(s->thread == 2 || s->thread == 3);
		counts[s->thread - 1] += s->count;
	}
	cr_expect_eq(counts[1], 2);
	cr_expect_eq(counts[2], 1);
}

Test(samples, of_nobody_known)
{
	rig_start(&rig, 0);
	cr_assert_eq(sample(MS(1), 100, 0, 0, -1, 0, "late"), 0);
	cr_assert_eq(sample(MS(1), 0, 0, 0, -1, 0, "none"), -EBADMSG);
	rig_finish(&rig, MS(10));
	cr_expect_eq(rig.m->thread_n, 2);
	cr_expect_eq(rig.m->threads[1].clipped & CLIPPED_BEFORE, CLIPPED_BEFORE);
	cr_expect_eq(rig.m->integrity.lost_samples, 1);
	cr_expect_eq(rig.m->integrity.recorded_samples, 1);
}

/* The same wait in two threads is one row, or two if rows are by thread; the sums are the same. */
Test(samples, rows_by_thread)
{
	for (int by_thread = 0; by_thread < 2; by_thread++) {
		if (by_thread)
			rig_stop(&rig);
		rig_start_with(&rig, &(struct assemble_options){ .begin_ns = RIG_BEGIN_NS, .rows_by_thread = by_thread });
		for (uint32_t tid = 100; tid < 103; tid++) {
			RIG_INTERVAL(&rig, MS(1), MS(2), MS(3), .tid = tid, .syscall = __NR_nanosleep, .seq = 1);
			RIG_INTERVAL(&rig, MS(4), MS(5), MS(6), .tid = tid, .syscall = __NR_nanosleep, .seq = 2);
		}
		rig_finish(&rig, MS(10));
		cr_assert_eq(rig.m->row_n - 1, by_thread ? 3 : 1);
		for (size_t i = 1; i < rig.m->row_n; i++) {
			cr_expect_eq(rig.m->rows[i].count, by_thread ? 2 : 6);
			cr_expect_eq(rig.m->rows[i].thread, by_thread ? i : 0);
		}
	}
}
