/* SPDX-License-Identifier: (LGPL-2.1 OR BSD-2-Clause) */
/* Which use of a stack means what: made-up maps; and when tables were current. */
#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "capture/eras.h"
#include "capture/published.h"

#define PID 0x7ff00000u /* above any pid_max: no file is opened */

static struct proc_maps *maps;
static struct published *tables;
static struct eras *eras;

static void setup(void)
{
	cr_assert_eq(proc_maps_new(&maps), 0);
	cr_assert_eq(published_new(&tables), 0);
	cr_assert_eq(eras_new(maps, tables, &eras), 0);
}

static void teardown(void)
{
	eras_free(eras);
	published_free(tables);
	proc_maps_free(maps);
}

TestSuite(eras, .init = setup, .fini = teardown);

static void map(uint64_t time_ns, uint64_t start, uint64_t pages, uint64_t ino)
{
	char path[32];

	snprintf(path, sizeof(path), "/lib%lu", ino);
	cr_assert_eq(proc_maps_add(maps, PID, time_ns, start, pages * 4096, 0, 8, 1, ino, path), 0);
}

static void add(uint64_t id, uint64_t time_ns, const uint64_t *frames, uint16_t n)
{
	struct wcbpf_stack s = { .head.time_ns = time_ns, .id = id, .tgid = PID, .tid = PID + 1, .side = WCBPF_STACK_USER,
				 .end = WCBPF_STACK_COMPLETE, .frame_n = n, .guessed = { 5, 1 } };

	memcpy(s.frames, frames, n * sizeof(*frames));
	cr_assert_eq(eras_add(eras, &s), 0);
}

static uint64_t find(uint64_t id, uint64_t time_ns, bool fresh)
{
	bool was_fresh = !fresh;
	uint64_t got = 0;

	cr_assert_eq(eras_find(eras, id, time_ns, &got, &was_fresh), 0);
	cr_assert_eq(was_fresh, fresh, "id %lx at %lu is %sfresh", id, time_ns, was_fresh ? "" : "not ");
	return got;
}

Test(eras, nothing_changes)
{
	const uint64_t frames[] = { 0x10100, 0x20200 };

	map(10, 0x10000, 4, 1);
	map(10, 0x20000, 4, 2);
	add(77, 20, frames, 2);
	cr_assert_eq(find(77, 20, false), 77);
	cr_assert_eq(find(77, 90, false), 77);
	cr_assert_eq(find(78, 90, false), 78, "one that was never added");
}

Test(eras, a_library_makes_way_for_another)
{
	const uint64_t both[] = { 0x10100, 0x20200 }, first[] = { 0x10100 };
	uint64_t second;

	map(10, 0x10000, 4, 1);
	map(10, 0x20000, 4, 2);
	add(77, 20, both, 2);
	add(88, 20, first, 1);
	map(50, 0x20000, 4, 3);
	/* began before, told after: the old library's */
	cr_assert_eq(find(77, 49, false), 77);
	second = find(77, 50, true);
	cr_assert_neq(second, 77);
	cr_assert_neq(second, 0);
	cr_assert_eq(find(77, 60, false), second);
	cr_assert_eq(find(77, 30, false), 77);
	cr_assert_eq(find(88, 60, false), 88, "what it touches is as it was");
	/* the old one comes back, and goes again */
	map(70, 0x20000, 4, 2);
	cr_assert_eq(find(77, 70, false), 77);
	map(80, 0x20000, 4, 3);
	cr_assert_eq(find(77, 80, false), second);
	cr_assert_eq(find(77, 75, false), 77);
	map(90, 0x20000, 4, 4);
	cr_assert_neq(find(77, 95, true), second);
}

Test(eras, mapped_only_later)
{
	const uint64_t frames[] = { 0x10100, 0x20200 };

	map(10, 0x10000, 4, 1);
	add(77, 20, frames, 2);
	map(50, 0x20000, 4, 2);
	cr_assert_neq(find(77, 60, true), 77);
	cr_assert_eq(find(77, 40, false), 77);
}

/* The last instruction of a mapping may be a call: its return address lies in the next one. */
Test(eras, a_call_at_the_end_of_a_mapping)
{
	const uint64_t frames[] = { 0x10100, 0x20000 };

	map(10, 0x10000, 16, 1);
	map(10, 0x20000, 4, 2);
	add(77, 20, frames, 2);
	map(50, 0x20000, 4, 3);
	cr_assert_eq(find(77, 60, false), 77);
	map(70, 0x1f000, 1, 4);
	cr_assert_neq(find(77, 80, true), 77);
}

static bool doubtful(uint64_t id)
{
	uint64_t found;

	for (size_t at = 0; eras_next_doubtful(eras, &at, &found);)
		if (found == id)
			return true;
	return false;
}

/* An era is doubtful until one use of it was walked by tables that knew all it touches. */
Test(eras, tables_of_before)
{
	const uint64_t both[] = { 0x10100, 0x20200 }, first[] = { 0x10100 };
	uint64_t second;

	map(10, 0x10000, 4, 1);
	map(10, 0x20000, 4, 2);
	add(66, 11, both, 2); /* nothing was ever told of the process */
	cr_assert_not(doubtful(66));
	cr_assert_eq(published_add(tables, PID, 15, 10), 0);
	add(77, 20, both, 2);
	add(88, 20, first, 1);
	cr_assert_not(doubtful(77));
	map(30, 0x20000, 4, 3);
	second = find(77, 31, true);
	cr_assert(doubtful(second));
	cr_assert_eq(find(88, 31, false), 88);
	cr_assert(!doubtful(77) && !doubtful(88));
	/* the next tables are in force from 40 on: what was before them stays in doubt, the first use after them decides */
	cr_assert_eq(published_add(tables, PID, 40, 30), 0);
	cr_assert_eq(find(77, 39, false), second);
	cr_assert(doubtful(second));
	cr_assert_eq(find(77, 41, false), second);
	cr_assert_not(doubtful(second));
	/* what is known for sure once stays so */
	map(50, 0x20000, 4, 2);
	cr_assert_eq(find(77, 51, false), 77);
	cr_assert_not(doubtful(77));
	/* a stack first seen by old tables */
	add(99, 52, both, 2);
	cr_assert(doubtful(99));
}

Test(eras, bodies_are_whole)
{
	struct wcbpf_stack s;
	uint64_t frames[WCBPF_STACK_DEPTH_MAX];

	srand(7);
	for (size_t i = 0; i < WCBPF_STACK_DEPTH_MAX; i++)
		frames[i] = i % 3 ? 0x7fff00000000 + (uint64_t)rand() : (uint64_t)rand() << 33 ^ (uint64_t)rand();
	frames[5] = 0;
	frames[6] = UINT64_MAX;
	frames[7] = INT64_MAX;
	frames[8] = (uint64_t)INT64_MIN;
	add(41, 20, frames, 3);
	add(42, 20, frames, WCBPF_STACK_DEPTH_MAX);
	add(43, 20, frames, 0);
	memset(&s, 0xff, sizeof(s));
	eras_body(eras, 42, 99, 60, &s);
	cr_assert_eq(s.id, 99);
	cr_assert_eq(s.head.time_ns, 60);
	cr_assert_eq(s.head.size, offsetof(struct wcbpf_stack, copy));
	cr_assert_eq(s.copy_len, 0);
	cr_assert(s.tgid == PID && s.tid == PID + 1 && s.side == WCBPF_STACK_USER && s.end == WCBPF_STACK_COMPLETE);
	cr_assert(s.guessed[0] == 5 && s.guessed[1] == 1);
	cr_assert_eq(s.frame_n, WCBPF_STACK_DEPTH_MAX);
	cr_assert_arr_eq(s.frames, frames, sizeof(frames));
	eras_body(eras, 41, 98, 60, &s);
	cr_assert_eq(s.frame_n, 3);
	cr_assert_arr_eq(s.frames, frames, 3 * sizeof(*frames));
	eras_body(eras, 43, 97, 60, &s);
	cr_assert_eq(s.frame_n, 0);
}

Test(published, times)
{
	struct published *p;

	cr_assert_eq(published_new(&p), 0);
	cr_assert_eq(published_until(p, 7, 100), UINT64_MAX);
	cr_assert_eq(published_add(p, 7, 50, 33), 0);
	cr_assert_eq(published_add(p, 7, 80, 66), 0);
	cr_assert_eq(published_until(p, 7, 49), 0);
	cr_assert_eq(published_until(p, 7, 50), 33);
	cr_assert_eq(published_until(p, 7, 79), 33);
	cr_assert_eq(published_until(p, 7, 99), 66);
	/* a number that is used again, with tables and without */
	cr_assert_eq(published_fork(p, 7, 190, 180), 0);
	cr_assert_eq(published_until(p, 7, 195), 180);
	cr_assert_eq(published_until(p, 7, 185), 0);
	cr_assert_eq(published_fork(p, 7, 200, UINT64_MAX), 0);
	cr_assert_eq(published_until(p, 7, 201), UINT64_MAX);
	/* of many only the newest are kept, and they are right */
	for (uint64_t t = 1000; t < 1500; t++)
		cr_assert_eq(published_add(p, 7, t, t - 1), 0);
	cr_assert_eq(published_until(p, 7, 9999), 1498);
	cr_assert_eq(published_until(p, 7, 1450), 1449);
	cr_assert_eq(published_until(p, 7, 1001), 0);
	published_free(p);
}
