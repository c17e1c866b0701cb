/* SPDX-License-Identifier: (LGPL-2.1 OR BSD-2-Clause) */
/*
 * A stripped Go program is stopped at entries and exits that were found in it:
 * each call is seen once, and its exit in the same frame, though stacks grow
 * and move, functions panic and recover, and wrappers jump.
 */
#include <criterion/criterion.h>
#include <string.h>

#include "build.h"
#include "go.h"
#include "objfile/objfile.h"
#include "target.h"
#include "util/cleanup.h"

DEFINE_CLEANUP(struct objfile *, objfile_free)
DEFINE_CLEANUP(struct objfile_go *, objfile_go_free)
DEFINE_CLEANUP(struct objfile_code *, objfile_code_free)

TestSuite(go_calls, .init = build_begin, .fini = build_end, .timeout = 100);

#define R14 14
#define STACK_HI 8
#define DEPTH_MAX 1024

struct calls {
	size_t entries, again, exits, unmatched, open;
};

/* Frames are known by how far they are from where the goroutine's stack ends, which moves do not change. */
static void count_calls(const char *program, const char *function, struct calls *ret)
{
	_cleanup_(objfile_freep) struct objfile *o = NULL;
	_cleanup_(objfile_go_freep) struct objfile_go *go = NULL;
	_cleanup_(objfile_code_freep) struct objfile_code *code = NULL;
	uint64_t stack[DEPTH_MAX], bias;
	struct objfile_go_function f;
	struct objfile_scan scan;
	struct objfile_why why = { "" };
	struct target t;
	size_t i = 0;
	int hit;

	*ret = (struct calls){ 0 };
	cr_assert_eq(objfile_open_path(-1, go_program(program), &o), 0);
	cr_assert_eq(objfile_go_open(o, &go), 0);
	cr_assert_eq(objfile_code_new(o, go, &code), 0);
	/* Wrappers too, by name. */
	while (!objfile_go_function_at(go, i, &f) && strcmp(f.name, function))
		i++;
	cr_assert_lt(i, objfile_go_function_n(go), "%s", function);
	cr_assert_eq(objfile_code_scan(code, f.start, 0, OBJFILE_NEEDS(0) | OBJFILE_NEEDS(R14), &scan, &why), 0, "%s", why.text);
	cr_assert(scan.exits_known, "%s: %s", function, scan.why_not.text);
	target_start(&t, go_program(program), NULL);
	bias = target_bias(&t, o, go_program(program));
	target_break(&t, scan.entry.vaddr + bias);
	for (i = 0; i < scan.exit_n; i++)
		target_break(&t, scan.exits[i].at.vaddr + bias);
	while ((hit = target_run(&t)) >= 0) {
		const struct objfile_spot *spot = hit ? &scan.exits[hit - 1].at : &scan.entry;
		struct target_state s;
		uint64_t depth;

		target_state(&t, &s);
		depth = target_word(&t, s.reg[R14] + STACK_HI) - target_cfa(&t, spot);
		if (hit) {
			ret->exits++;
			ret->unmatched += !ret->open || stack[ret->open - 1] != depth;
			ret->open -= ret->open > 0;
		} else if (ret->open && stack[ret->open - 1] == depth) {
			ret->again++;
			cr_expect(scan.entry.repeats, "%s", function);
			/* The first time it led to where the stack is grown. */
			cr_expect(scan.entry.branch != OBJFILE_ALWAYS && !target_condition(&t, scan.entry.branch), "%s: %s",
				  function, scan.entry.text);
		} else {
			cr_assert_lt(ret->open, (size_t)DEPTH_MAX);
			stack[ret->open++] = depth;
			ret->entries++;
		}
	}
	cr_expect(WIFEXITED(t.status) && !WEXITSTATUS(t.status), "%s: status %#x", function, t.status);
	target_end(&t);
	objfile_scan_done(&scan);
}

static void check(const char *program, const char *function, size_t calls)
{
	struct calls c;

	count_calls(program, function, &c);
	cr_expect_eq(c.entries, calls, "%s: %zu entries", function, c.entries);
	cr_expect_eq(c.exits, calls, "%s: %zu exits", function, c.exits);
	cr_expect_eq(c.unmatched + c.open, 0, "%s: %zu unmatched, %zu open", function, c.unmatched, c.open);
}

Test(go_calls, while_the_stack_grows)
{
	check("values-stripped", "main.deep", 401);
	check("values-debug", "main.deep", 401);
}

/* Half of them return from where only the runtime leads. */
Test(go_calls, panic_and_recover)
{
	check("values-stripped", "main.recovers", 10);
	check("values-debug", "main.recovers", 10);
}

Test(go_calls, several_returns)
{
	check("values-stripped", "main.several", 6);
}

Test(go_calls, wrapper)
{
	check("values-stripped", "main.(*closer).close", 3);
	check("values-stripped", "main.wrapped.close", 3);
}
