/* SPDX-License-Identifier: (LGPL-2.1 OR BSD-2-Clause) */
/* A list of goroutines is read out of a process: this one, that has made one of its own. */
#include <criterion/criterion.h>
#include <errno.h>
#include <string.h>
#include <unistd.h>

#include "capture/go-list.h"

TestSuite(go_list, .timeout = 20);

#define G_N 6
#define STACK_WORDS 32

/* As Go 1.26 has them. */
static const struct wcbpf_go_layout layout = { .stack_hi = 8, .m = 48, .status = 144, .goid = 152, .wait_reason = 176,
					       .gopc = 288, .start_pc = 304, .parent_goid = 280, .curg = 184 };
static _Alignas(8) uint8_t g[G_N][512], m[512];
static uint64_t stacks[G_N][STACK_WORDS], desc[6];
static uint64_t *all[G_N], slice[3];
static struct objfile_go_list where;

static void put(void *at, size_t offset, uint64_t v)
{
	memcpy((uint8_t *)at + offset, &v, sizeof(v));
}

static void make(void)
{
	/* waiting, running, dead, waiting while the collector looks at it, runnable, waiting for a file */
	static const uint32_t status[G_N] = { 4, 2, 6, 0x1004, 1, 4 };

	for (size_t i = 0; i < G_N; i++) {
		all[i] = (uint64_t *)g[i];
		put(g[i], 0, (uintptr_t)stacks[i]);
		put(g[i], 8, (uintptr_t)(stacks[i] + STACK_WORDS));
		put(g[i], 56, (uintptr_t)(stacks[i] + 4));
		put(g[i], 64, 0x400000 + i);
		put(g[i], 72, (uintptr_t)g[i]);
		put(g[i], 96, 0x500000 + i);
		put(g[i], 144, status[i]);
		put(g[i], 152, 100 + i);
		put(g[i], 176, i == 5 ? 2 : 9);
		put(g[i], 280, 1);
		put(g[i], 304, 0x600000 + i);
		stacks[i][4] = 0xabc0 + i;
	}
	put(g[1], 48, (uintptr_t)m);
	put(m, 184, (uintptr_t)g[1]);
	desc[4] = (uintptr_t)g[5];
	stacks[5][10] = (uintptr_t)desc;
	slice[0] = (uintptr_t)all;
	slice[1] = slice[2] = G_N;
	where = (struct objfile_go_list){ .allgs = (uintptr_t)slice - 0x1000, .sp = 56, .pc = 64, .bp = 96 };
}

static const struct go_list_target *target(void)
{
	static struct go_list_target t;

	t = (struct go_list_target){ .pid = (uint32_t)getpid(), .bias = 0x1000, .layout = &layout, .where = &where,
				     .io_reason = 2, .coroutine_reason = -1, .stacks = true };
	return &t;
}

static struct go_parked seen[G_N];
static size_t seen_n;

static struct go_list *list(void)
{
	struct objfile_why why = { "" };
	struct go_list *l = NULL;

	cr_assert_eq(go_list_new(target(), &l, &why), 0, "%s", why.text);
	return l;
}

static void next(struct go_list *l)
{
	struct go_parked *v;

	cr_assert_eq(go_list_next(l, &v, &seen_n), 0);
	cr_assert_leq(seen_n, G_N);
	for (size_t i = 0; i < seen_n; i++) {
		cr_expect_eq(v[i].stack_n, (STACK_WORDS - 4) * 8);
		cr_expect_eq(memcmp(v[i].stack, (void *)(uintptr_t)v[i].sp, v[i].stack_n), 0);
		seen[i] = v[i];
	}
}

Test(go_list, those_that_are_parked)
{
	enum go_now now[GO_LIST_BATCH];
	struct go_list *l;
	struct go_parked *v;
	size_t n;

	make();
	l = list();
	cr_expect_eq(go_list_left_n(l), G_N);
	next(l);
	cr_expect_eq(go_list_left_n(l), 0);
	cr_assert_eq(seen_n, 3);
	cr_expect_eq(seen[0].goid, 100);
	cr_expect_eq(seen[1].goid, 103);
	cr_expect_eq(seen[2].goid, 105);
	cr_expect_eq(seen[1].pc, 0x400003);
	cr_expect_eq(seen[1].bp, 0x500003);
	cr_expect_eq(seen[1].start_pc, 0x600003);
	cr_expect_eq(seen[1].parent_goid, 1);
	cr_expect_eq(seen[1].reason, 9);
	cr_expect_eq(seen[1].resource, 0);
	cr_expect_eq(seen[2].resource, (uintptr_t)&desc[4]);
	go_list_now(l, now);
	cr_expect(now[0] == GO_NOW_PARKED && now[1] == GO_NOW_PARKED && now[2] == GO_NOW_PARKED);
	put(g[0], 144, 1);
	put(g[3], 144, 6);
	put(g[5], 152, 777); /* another's by now */
	go_list_now(l, now);
	cr_expect(now[0] == GO_NOW_ELSE && now[1] == GO_NOW_GONE && now[2] == GO_NOW_GONE);
	put(g[0], 144, 4);
	put(g[0], 48, (uintptr_t)m); /* as one that has the world stopped: it runs */
	go_list_now(l, now);
	cr_expect_eq(now[0], GO_NOW_ELSE);
	cr_expect_eq(go_list_next(l, &v, &n), -ENODATA);
	go_list_free(l);
}

Test(go_list, again)
{
	struct go_list *l;
	struct go_parked *v;
	size_t n;

	make();
	l = list();
	next(l);
	cr_expect_not(go_list_is_again(l));
	cr_assert_eq(go_list_again(l, &seen[1]), 0);
	cr_expect_eq(go_list_left_n(l), 1);
	next(l);
	cr_expect(go_list_is_again(l));
	cr_assert_eq(seen_n, 1);
	cr_expect_eq(seen[0].goid, 103);
	cr_expect_eq(go_list_next(l, &v, &n), -ENODATA);
	go_list_free(l);
}

/* What runs though its status is that of one that waits, and what is switched to without a word. */
Test(go_list, not_parked)
{
	struct go_list_target t;
	struct objfile_why why = { "" };
	struct go_list *l = NULL;

	make();
	put(g[0], 48, (uintptr_t)m);
	put(g[3], 176, 33);
	t = *target();
	t.coroutine_reason = 33;
	cr_assert_eq(go_list_new(&t, &l, &why), 0);
	next(l);
	cr_assert_eq(seen_n, 1);
	cr_expect_eq(seen[0].goid, 105);
	cr_expect_eq(go_list_coroutine_n(l), 1);
	go_list_free(l);
}

#define MANY_N 700

/* More than a batch, among them some whose memory or stack can't be read. */
Test(go_list, batches)
{
	static uint64_t *many[MANY_N];
	size_t parked_n = 0, no_stack_n = 0, round_n = 0;
	struct go_list *l;
	struct go_parked *v;
	size_t n;
	int err;

	make();
	for (size_t i = 0; i < MANY_N; i++)
		many[i] = (uint64_t *)g[i % 50 == 49 ? 5 : i % 2 ? 3 : 0];
	slice[0] = (uintptr_t)many;
	slice[1] = slice[2] = MANY_N;
	l = list();
	many[300] = NULL; /* too late to be noticed */
	put(g[3], 0, 0x10000);
	put(g[3], 8, 0x20000);
	put(g[3], 56, 0x18000);
	while (!(err = go_list_next(l, &v, &n))) {
		round_n++;
		for (size_t i = 0; i < n; i++) {
			parked_n++;
			no_stack_n += !v[i].stack;
			cr_expect_eq(v[i].stack != NULL, v[i].goid != 103);
			if (v[i].stack)
				cr_expect_eq(memcmp(v[i].stack, (void *)(uintptr_t)v[i].sp, v[i].stack_n), 0);
			cr_expect_eq(v[i].resource, v[i].goid == 105 ? (uintptr_t)&desc[4] : 0);
		}
	}
	cr_expect_eq(err, -ENODATA);
	cr_expect_eq(round_n, 3);
	cr_expect_eq(parked_n, MANY_N);
	cr_expect_eq(no_stack_n, MANY_N / 2 - MANY_N / 50);
	go_list_free(l);
}

Test(go_list, memory_that_is_gone)
{
	static uint64_t *many[4];
	struct go_list *l;

	make();
	for (size_t i = 0; i < 4; i++)
		many[i] = (uint64_t *)g[0];
	slice[0] = (uintptr_t)many;
	slice[1] = slice[2] = 4;
	l = list();
	go_list_again(l, &(struct go_parked){ .g = 0x10000 });
	go_list_again(l, &(struct go_parked){ .g = (uintptr_t)g[3] });
	go_list_again(l, &(struct go_parked){ .g = UINT64_MAX - 4096 });
	next(l);
	cr_expect_eq(seen_n, 4);
	next(l);
	cr_assert_eq(seen_n, 1);
	cr_expect_eq(seen[0].goid, 103);
	go_list_free(l);
}

static void refused(int err)
{
	struct objfile_why why = { "" };
	struct go_list *l = NULL;

	cr_expect_eq(go_list_new(target(), &l, &why), err);
	cr_expect(err != -ENOTSUP || strstr(why.text, "list of goroutines"), "%s", why.text);
	cr_expect_null(l);
	make();
}

Test(go_list, what_is_none)
{
	make();
	slice[1] = 0;
	refused(-ENOTSUP);
	slice[1] = 7; /* more than there is room for */
	refused(-ENOTSUP);
	slice[0]++;
	refused(-ENOTSUP);
	slice[0] = 0x10000; /* where nothing is */
	refused(-EFAULT);
	put(g[3], 144, 77); /* no status */
	refused(-ENOTSUP);
	put(g[0], 72, 0); /* registers of another */
	refused(-ENOTSUP);
	put(g[0], 56, (uintptr_t)stacks[3]); /* on another's stack */
	refused(-ENOTSUP);
	all[2] = NULL;
	refused(-ENOTSUP);
	where.allgs = 0;
	refused(-EFAULT);
}
