/* SPDX-License-Identifier: (LGPL-2.1 OR BSD-2-Clause) */
/* How an unwind ends when it can't go on: what was found until then is right. */
#include <criterion/criterion.h>
#include <string.h>

#include "../objfile/build.h"
#include "target.h"
#include "unwind/unwind.h"

static struct proc_maps *maps;
static struct unwind *unwind;
static struct target target;
static uint64_t all[TARGET_FRAMES_MAX];
static size_t all_n;

static const char source[] =
	"#include <time.h>\nvolatile int sink; struct timespec t = {100,0};\n#define FN __attribute__((noinline,noipa))\n"
	"FN int one(int n) { char b[600]; for (int i = 0; i < 600; i++) b[i] = n; sink = b[n]; nanosleep(&t, 0);"
	" return b[sink % 600]; }\n"
	"FN int two(int n) { return one(n) + (sink = 2); }\nFN int three(int n) { return two(n) + (sink = 3); }\n"
	"int main(int n, char **v) { return three(n) + (sink = 4); }";

static void setup_with(const char *flags)
{
	build_begin();
	cr_assert_eq(proc_maps_new(&maps), 0);
	cr_assert_eq(unwind_new(maps, &unwind), 0);
	target = target_start(build_compile("prog", flags, source), "x", 0);
	cr_assert_eq(proc_maps_snapshot(maps, (uint32_t)target.pid, 0), 0);
	all_n = target_dwfl(&target, all);
}

static void setup(void)
{
	setup_with("-O1 -fomit-frame-pointer");
}

static void teardown(void)
{
	target_end(&target);
	unwind_free(unwind);
	proc_maps_free(maps);
	build_end();
}

TestSuite(ends, .init = setup, .fini = teardown);

static enum unwind_end run(uint64_t time_ns, const uint64_t *regs, size_t stack_n, size_t max, uint64_t *ret,
			   size_t *ret_n)
{
	struct unwind_input in = { (uint32_t)target.pid, time_ns, regs, target.stack, stack_n };
	enum unwind_end end;

	cr_assert_eq(unwind_copy(unwind, &in, ret, max, ret_n, &end), 0);
	return end;
}

Test(ends, copy_of_every_length)
{
	uint64_t frames[TARGET_FRAMES_MAX];
	size_t n, before = 0, out = 0;

	for (size_t stack_n = 0; stack_n <= 4096 && stack_n <= target.stack_n; stack_n++) {
		enum unwind_end end = run(1, target.regs, stack_n, TARGET_FRAMES_MAX, frames, &n);

		cr_assert_geq(n, 1);
		cr_assert_geq(n, before, "%zu bytes give fewer frames than %zu", stack_n, stack_n - 1);
		cr_assert_leq(n, all_n);
		cr_assert_eq(memcmp(frames, all, n * sizeof(*frames)), 0);
		cr_assert_eq(end, n == all_n && end == UNWIND_COMPLETE ? UNWIND_COMPLETE : UNWIND_OUT_OF_COPY);
		out += end == UNWIND_OUT_OF_COPY;
		before = n;
	}
	cr_assert_eq(before, all_n);
	cr_assert_gt(out, 600);
}

Test(ends, limit)
{
	uint64_t frames[TARGET_FRAMES_MAX];
	size_t n;

	for (size_t max = 0; max < all_n; max++) {
		memset(frames, 0xee, sizeof(frames));
		cr_assert_eq(run(1, target.regs, target.stack_n, max, frames, &n), UNWIND_LIMIT);
		cr_assert_eq(n, max);
		cr_assert_eq(memcmp(frames, all, n * sizeof(*frames)), 0);
		cr_assert_eq(frames[max], 0xeeeeeeeeeeeeeeee);
	}
	cr_assert_eq(run(1, target.regs, target.stack_n, all_n, frames, &n), UNWIND_COMPLETE);
	cr_assert_eq(n, all_n);
}

Test(ends, no_rule)
{
	uint64_t frames[TARGET_FRAMES_MAX], regs[WCBPF_REGS_MAX];
	size_t n;

	memcpy(regs, target.regs, sizeof(regs));
	regs[16] = 0;
	cr_assert_eq(run(1, regs, target.stack_n, 99, frames, &n), UNWIND_NO_RULE);
	cr_assert(n == 1 && frames[0] == 0);
	/* Generated code. */
	regs[16] = 0x7e0000000010;
	cr_assert_eq(proc_maps_add(maps, (uint32_t)target.pid, 0, 0x7e0000000000, 4096, 0, 0, 0, 0, "//anon"), 0);
	cr_assert_eq(run(1, regs, target.stack_n, 99, frames, &n), UNWIND_NO_RULE);
	cr_assert(n == 1 && frames[0] == 0x7e0000000010);
	/* Nothing was mapped after its exit, and another process has nothing. */
	proc_maps_exit(maps, (uint32_t)target.pid, 50);
	cr_assert_eq(run(50, target.regs, target.stack_n, 99, frames, &n), UNWIND_NO_RULE);
	cr_assert(n == 1 && frames[0] == target.regs[16]);
	cr_assert_eq(run(49, target.regs, target.stack_n, 99, frames, &n), UNWIND_COMPLETE);
}

Test(ends, garbage_registers_and_stack)
{
	uint64_t frames[64], regs[WCBPF_REGS_MAX];
	size_t n;

	srand(5);
	for (int i = 0; i < 3000; i++) {
		memcpy(regs, target.regs, sizeof(regs));
		for (int hits = rand() % 4; hits; hits--)
			regs[rand() % 16] = (uint64_t)rand() << (rand() % 40);
		regs[16] = all[(size_t)rand() % all_n] + (uint64_t)(rand() % 200);
		for (int hits = rand() % 8; hits; hits--)
			memcpy(target.stack + rand() % 1024 / 8 * 8, &all[(size_t)rand() % all_n], 8);
		run(1, regs, (size_t)rand() % target.stack_n, 64, frames, &n);
		cr_assert(n >= 1 && n <= 64);
		cr_assert_eq(frames[0], regs[16]);
	}
}

/* A program without unwind data: its own frames can't be passed, and no frame pointer is tried for it. */
Test(no_tables, frames_of_its_own)
{
	uint64_t frames[TARGET_FRAMES_MAX];
	const struct proc_mapping *last;
	size_t n;

	setup_with("-O1 -fno-omit-frame-pointer -fno-asynchronous-unwind-tables -fno-unwind-tables");
	cr_assert_eq(run(1, target.regs, target.stack_n, TARGET_FRAMES_MAX, frames, &n), UNWIND_NO_RULE);
	cr_assert_geq(n, 2);
	last = proc_maps_find(maps, (uint32_t)target.pid, 1, frames[n - 1]);
	cr_assert_str_eq(last->name, build_path("prog"));
	last = proc_maps_find(maps, (uint32_t)target.pid, 1, frames[n - 2]);
	cr_assert_not_null(strstr(last->name, "libc.so.6"));
	teardown();
}
