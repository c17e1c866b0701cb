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
				     .io_reason = 2, .stacks = true };
	return &t;
}

static struct go_parked seen[G_N];
static size_t seen_n;

static int see(void *arg, struct go_parked *p)
{
	(void)arg;
	cr_assert_lt(seen_n, G_N);
	cr_expect_eq(p->stack_n, (STACK_WORDS - 4) * 8);
	cr_expect_eq(memcmp(p->stack, (void *)(uintptr_t)p->sp, p->stack_n), 0);
	seen[seen_n++] = *p;
	return 0;
}

Test(go_list, those_that_are_parked)
{
	struct objfile_why why = { "" };
	size_t moved = 9;

	make();
	cr_assert_eq(go_list_each(target(), see, NULL, &moved, &why), 0, "%s", why.text);
	cr_expect_eq(moved, 0);
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
	cr_expect_eq(go_list_now(target(), &seen[0]), GO_NOW_PARKED);
	put(g[0], 144, 1);
	cr_expect_eq(go_list_now(target(), &seen[0]), GO_NOW_ELSE);
	put(g[0], 144, 6);
	cr_expect_eq(go_list_now(target(), &seen[0]), GO_NOW_GONE);
	put(g[0], 144, 4);
	put(g[0], 152, 777); /* another's by now */
	cr_expect_eq(go_list_now(target(), &seen[0]), GO_NOW_GONE);
}

static void refused(int err)
{
	struct objfile_why why = { "" };
	size_t moved;

	seen_n = 0;
	cr_expect_eq(go_list_each(target(), see, NULL, &moved, &why), err);
	cr_expect(err != -ENOTSUP || strstr(why.text, "list of goroutines"), "%s", why.text);
	cr_expect_eq(seen_n, 0);
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
