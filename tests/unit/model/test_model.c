/* SPDX-License-Identifier: (LGPL-2.1 OR BSD-2-Clause) */
#include "model/model.h"

#include <criterion/criterion.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>

Test(model, begins_with_blanks_only)
{
	_cleanup_(model_freep) struct model *m = NULL;

	cr_assert_eq(model_new(&m), 0);
	cr_assert_eq(m->op_n, 1);
	cr_assert_eq(m->wait_n, 1);
	cr_assert_eq(m->link_n, 1);
	cr_assert_eq(m->row_n, 1);
	cr_assert_eq(m->thread_n, 1);
	cr_assert_eq(m->process_n, 1);
	cr_assert_eq(m->waker_n, 1);
	cr_assert_eq(m->stack_n, 1);
	cr_assert_eq(m->module_n, 1);
	cr_assert_eq(m->rows[0].syscall, -1);
	cr_assert_eq(m->waits[0].wake_ns, -1);
	cr_assert_eq(m->stacks[0].frame_n, 0);
	cr_assert_eq(model_event_n(m), 0);
	cr_assert(model_is_complete(m));
	cr_assert_null(model_free(NULL));
}

typedef int add_func(struct model *m, uint32_t *ret);

static int kernel_stack_add(struct model *m, uint32_t *ret)
{
	return model_stack_add(m, STACK_KERNEL, ret);
}

Test(model, appends_in_order)
{
	static add_func *const adds[] = { model_op_add,	    model_wait_add,    model_link_add,	 model_row_add,
					  model_thread_add, model_process_add, kernel_stack_add, model_module_add };
	_cleanup_(model_freep) struct model *m = NULL;

	cr_assert_eq(model_new(&m), 0);
	for (size_t a = 0; a < sizeof(adds) / sizeof(adds[0]); a++) {
		for (uint32_t i = 1; i <= 1000; i++) {
			uint32_t index = 0;

			cr_assert_eq(adds[a](m, &index), 0);
			cr_assert_eq(index, i);
		}
	}
	cr_assert_eq(model_event_n(m), 3000);
}

/* Entries are zeroed although the memory was in use before. */
Test(model, appends_zeroed)
{
	static const struct model_op zero;
	_cleanup_(model_freep) struct model *m = NULL;
	uint32_t index;

	cr_assert_eq(model_new(&m), 0);
	for (int i = 0; i < 200; i++) {
		cr_assert_eq(model_op_add(m, &index), 0);
		cr_assert_eq(memcmp(&m->ops[index], &zero, sizeof(zero)), 0);
		memset(&m->ops[index], 0xa5, sizeof(zero));
	}
	cr_assert_eq(((unsigned char *)&m->ops[1])[0], 0xa5);
}

Test(model, the_cap_counts_ops_waits_and_links_together)
{
	_cleanup_(model_freep) struct model *m = NULL;
	uint32_t index = 0;

	cr_assert_eq(model_new(&m), 0);
	m->event_cap = 3;
	cr_assert_eq(model_op_add(m, &index), 0);
	cr_assert_eq(model_wait_add(m, &index), 0);
	cr_assert_eq(model_link_add(m, &index), 0);
	index = 77;
	cr_assert_eq(model_op_add(m, &index), -ENOSPC);
	cr_assert_eq(model_wait_add(m, &index), -ENOSPC);
	cr_assert_eq(model_link_add(m, &index), -ENOSPC);
	cr_assert_eq(index, 77);
	cr_assert_eq(m->integrity.dropped_events, 3);
	cr_assert_eq(model_event_n(m), 3);
	cr_assert_not(model_is_complete(m));
	/* What carries totals goes on. */
	cr_assert_eq(model_row_add(m, &index), 0);
	cr_assert_eq(model_thread_add(m, &index), 0);
	cr_assert_eq(model_process_add(m, &index), 0);
	cr_assert_eq(model_stack_add(m, STACK_USER, &index), 0);
	cr_assert_eq(m->integrity.dropped_events, 3);
}

Test(model, stacks_own_their_frames)
{
	_cleanup_(model_freep) struct model *m = NULL;
	struct model_frame frames[2] = { { .address = 1, .name_id = 5 }, { .address = 2, .offset = 9 } };
	uint32_t stack;

	cr_assert_eq(model_new(&m), 0);
	cr_assert_eq(model_stack_add(m, STACK_USER, &stack), 0);
	cr_assert_eq(m->stacks[stack].side, STACK_USER);
	cr_assert_not(m->stacks[stack].resolved);
	cr_assert_eq(model_stack_set(m, stack, "fp", frames, 2), 0);
	memset(frames, 0xff, sizeof(frames));
	cr_assert(m->stacks[stack].resolved);
	cr_assert_eq(m->stacks[stack].frame_n, 2);
	cr_assert_eq(m->stacks[stack].frames[0].name_id, 5);
	cr_assert_eq(m->stacks[stack].frames[1].offset, 9);
	cr_assert_str_eq(strtab_str(m->strings, m->stacks[stack].ended_id), "fp");
	/* A second body replaces the first; the sanitizer sees whether that one is freed. */
	cr_assert_eq(model_stack_set(m, stack, "unreadable", NULL, 0), 0);
	cr_assert_eq(m->stacks[stack].frame_n, 0);
	cr_assert_null(m->stacks[stack].frames);
	cr_assert_eq(model_stack_set(m, 0, "fp", frames, 2), -EINVAL);
	cr_assert_eq(model_stack_set(m, stack + 1, "fp", frames, 2), -EINVAL);
}

Test(model, four_mi_waits_fit_in_400_mb)
{
	enum { N = 4 << 20 };
	_cleanup_(model_freep) struct model *m = NULL;
	uint32_t index;

	cr_assert_eq(model_new(&m), 0);
	m->event_cap = N;
	for (size_t i = 0; i < N; i++)
		cr_assert_eq(model_wait_add(m, &index), 0);
	cr_assert_eq(model_wait_add(m, &index), -ENOSPC);
	/* Memory beyond the last entry is never touched, so it costs no page. */
	cr_assert_leq(m->wait_n * sizeof(*m->waits), 400u << 20);
	cr_assert_leq(m->wait_cap * sizeof(*m->waits), 450u << 20);
}

Test(model, a_stack_lost_twice_is_one)
{
	_cleanup_(model_freep) struct model *m = NULL;

	cr_assert_eq(model_new(&m), 0);
	m->integrity = (struct model_integrity){ .failed_kernel_stacks = 5, .failed_user_stacks = 4,
						 .lost_stack_bodies = 2, .repeated_stack_losses = 3,
						 .lost_ring_full = 10 };
	cr_expect_eq(model_lost_stack_traces(m), 18);
	/* As only a damaged file has it: still a loss. */
	m->integrity.repeated_stack_losses = UINT64_MAX;
	cr_expect_eq(model_lost_stack_traces(m), 21);
	cr_expect_not(model_is_complete(m));
}

Test(model, wakers_are_found_again)
{
	_cleanup_(model_freep) struct model *m = NULL;
	uint32_t first[300], again, pid = 7, tid = 7, comm_id = 7;
	struct model_wait none = { 0 }, beyond = { .waker = 9, .outside_waker = 4000 }, w = { 0 };

	cr_assert_eq(model_new(&m), 0);
	for (uint32_t i = 0; i < 300; i++)
		cr_assert_eq(model_waker_intern(m, 10 + i / 30, 20 + i / 3, i % 3, &first[i]), 0);
	cr_expect_eq(m->waker_n, 301);
	for (uint32_t i = 0; i < 300; i++) {
		cr_assert_eq(model_waker_intern(m, 10 + i / 30, 20 + i / 3, i % 3, &again), 0);
		cr_expect_eq(again, first[i]);
	}
	cr_expect_eq(m->waker_n, 301);
	cr_expect_not(model_wait_waker(m, &none, &pid, &tid, &comm_id));
	cr_expect_not(model_wait_waker(m, &beyond, &pid, &tid, &comm_id), "of a damaged file");
	cr_expect(pid == 7 && tid == 7 && comm_id == 7);
	w.outside_waker = first[299];
	cr_expect(model_wait_waker(m, &w, &pid, &tid, &comm_id) && pid == 19 && tid == 119 && comm_id == 2);
	cr_assert_eq(model_thread_add(m, &w.waker), 0);
	m->threads[w.waker] = (struct model_thread){ .pid = 1, .tid = 2, .comm_id = 3 };
	cr_expect(model_wait_waker(m, &w, &pid, &tid, &comm_id) && pid == 1 && tid == 2 && comm_id == 3);
}

Test(model, owner_and_expected_value)
{
	static const struct model_wait_words all[] = {
		{ 0 }, { .owner_tid = 7 }, { .owner_tid = UINT32_MAX }, { .has_futex_val = true },
		{ .has_futex_val = true, .futex_val = UINT32_MAX }, { .has_futex_val = true, .futex_val = 2 },
		{ 7, true, 2, 0 }, { 7, true, 0, 0 }, { 7, true, 3, 0 }, { UINT32_MAX, true, UINT32_MAX, 0 },
		{ .tid = 9 }, { 7, true, 2, 9 },
	};
	_cleanup_(model_freep) struct model *m = NULL;
	struct model_wait w = { .word_kind = 3, .word = 4000 };

	cr_assert_eq(model_new(&m), 0);
	cr_expect_eq(model_wait_words(m, &w).owner_tid, 0, "of nowhere");
	for (size_t i = 0; i < sizeof(all) / sizeof(all[0]); i++) {
		for (size_t k = 0; k < sizeof(all) / sizeof(all[0]); k++) {
			struct model_wait_words got;

			cr_assert_eq(model_wait_words_set(m, &w, &all[i]), 0);
			cr_assert_eq(model_wait_words_set(m, &w, &all[k]), 0);
			got = model_wait_words(m, &w);
			cr_expect(got.owner_tid == all[k].owner_tid && got.has_futex_val == all[k].has_futex_val &&
				  got.futex_val == all[k].futex_val && got.tid == all[k].tid, "%zu after %zu", k, i);
		}
	}
	/*
	 * Beside the waits only those that have both, and no glibc mutex's value, or a thread's number: of 12 kinds, each
	 * set 24 times, 3 and 1 an entry each time; a number alone only once.
	 */
	cr_expect_eq(m->aside_n, 1 + 4 * 24 + 1);
}

/* One counter each: what is a loss, and what the lane's WARNING line counts. */
Test(model, tells_losses_from_facts)
{
	static const struct {
		size_t offset;
		bool is_loss, is_stack_trace;
	} rows[] = {
#define ROW(name, loss, trace) { offsetof(struct model_integrity, name), loss, trace }
		ROW(attempted, false, false),
		ROW(recorded, false, false),
		ROW(below_min, false, false),
		ROW(lost_ring_full, true, true),
		ROW(lost_unprocessed, true, true),
		ROW(lost_clock_back, true, true),
		ROW(lost_stack_bodies, true, true),
		ROW(failed_kernel_stacks, true, true),
		ROW(failed_user_stacks, true, true),
		ROW(mismatched_kernel_stacks, true, false),
		ROW(lost_lifecycle, true, false),
		ROW(lost_futex_results, true, false),
		ROW(lost_resources, true, false),
		ROW(lost_map_full, true, false),
		ROW(lost_recursion, true, false),
		ROW(lost_mappings, true, false),
		ROW(unmatched_wakes, false, false),
		ROW(inferred_switches, false, false),
		ROW(unbalanced, true, false),
		ROW(dropped_events, true, false),
		ROW(truncated_stacks, false, false),
		ROW(repeated_stack_losses, false, false),
		ROW(samples, false, false),
		ROW(recorded_samples, false, false),
		ROW(lost_samples, true, false),
		ROW(failed_sample_stacks, true, false),
		ROW(out_of_scope, false, false),
		ROW(ops, false, false),
		ROW(recorded_ops, false, false),
		ROW(lost_ops, true, false),
		ROW(unmatched_exits, false, false),
		ROW(unwound_ops, false, false),
		ROW(lost_go_events, true, false),
		ROW(lost_goroutines, true, false),
		ROW(detached_probes, true, false),
		ROW(lost_waker_stacks, true, false),
		ROW(lost_values, true, false),
		ROW(unlisted_goroutines, true, false),
#undef ROW
	};
	_cleanup_(model_freep) struct model *m = NULL;

	/* A counter added to the struct must be given a row here. */
	cr_assert_eq(sizeof(rows) / sizeof(rows[0]), sizeof(struct model_integrity) / sizeof(uint64_t));
	cr_assert_eq(model_new(&m), 0);
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		memset(&m->integrity, 0, sizeof(m->integrity));
		*(uint64_t *)((char *)&m->integrity + rows[i].offset) = 2;
		cr_expect_eq(model_is_complete(m), !rows[i].is_loss, "row %zu", i);
		cr_expect_eq(model_lost_stack_traces(m), rows[i].is_stack_trace ? 2 : 0, "row %zu", i);
	}
}

/* "1,410 of 2,421 recorded", and nothing lost, is no verdict. */
Test(model, what_was_measured_is_somewhere)
{
	_cleanup_(model_freep) struct model *m = NULL;

	cr_assert_eq(model_new(&m), 0);
	m->integrity = (struct model_integrity){ .attempted = 100, .recorded = 60, .below_min = 20, .out_of_scope = 10,
						 .lost_ring_full = 4, .lost_unprocessed = 1, .lost_clock_back = 2 };
	model_integrity_balance(&m->integrity);
	cr_expect_eq(m->integrity.lost_unprocessed, 4);
	m->integrity = (struct model_integrity){ .attempted = 100, .recorded = 70, .below_min = 20, .out_of_scope = 10 };
	model_integrity_balance(&m->integrity);
	cr_expect(!m->integrity.lost_unprocessed && model_is_complete(m));
	m->integrity.recorded = 69;
	model_integrity_balance(&m->integrity);
	cr_expect(m->integrity.lost_unprocessed == 1 && !model_is_complete(m));
}
