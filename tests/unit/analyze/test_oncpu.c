/* SPDX-License-Identifier: (LGPL-2.1 OR BSD-2-Clause) */
/* Time on the CPU by function. */
#include <criterion/criterion.h>
#include <stdlib.h>
#include <string.h>

#include "analyze/analyze.h"

static uint32_t str(struct model *m, const char *s)
{
	uint32_t id;

	cr_assert(strtab_intern(m->strings, s, &id) == 0);
	return id;
}

/* "f main", innermost first; a word that begins with a digit is an address in module 1. */
static uint32_t stack(struct model *m, enum stack_side side, const char *words)
{
	_cleanup_(freep) char *copy = strdup(words);
	struct model_frame frames[8] = { 0 };
	char *rest = NULL;
	uint32_t s;
	size_t n = 0;

	for (char *w = strtok_r(copy, " ", &rest); w; w = strtok_r(NULL, " ", &rest), n++) {
		if (*w >= '0' && *w <= '9')
			frames[n] = (struct model_frame){ .module = 1, .address = strtoull(w, NULL, 0) };
		else
			frames[n] = (struct model_frame){ .name_id = str(m, w), .address = 1000 * (m->stack_n + n) };
	}
	cr_assert(model_stack_add(m, side, &s) == 0);
	cr_assert(model_stack_set(m, s, "complete", frames, n) == 0);
	return s;
}

static void sample(struct model *m, uint32_t thread, uint32_t kstack, uint32_t ustack, uint64_t count)
{
	uint32_t i;

	cr_assert(model_sample_add(m, &i) == 0);
	m->samples[i] = (struct model_sample){ .thread = thread, .kstack = kstack, .ustack = ustack, .count = count };
}

static struct model *model(void)
{
	struct model *m;
	uint32_t i;

	cr_assert(model_new(&m) == 0 && model_module_add(m, &i) == 0 && model_thread_add(m, &i) == 0 &&
		  model_thread_add(m, &i) == 0);
	m->threads[1] = (struct model_thread){ .pid = 1, .tid = 1, .comm_id = str(m, "a"), .oncpu_ns = 1000, .has_totals = true };
	m->threads[2] = (struct model_thread){ .pid = 1, .tid = 2, .comm_id = str(m, "b"), .oncpu_ns = 30, .has_totals = true };
	return m;
}

static const char *leaf(const struct model *m, const struct analyze_function *e)
{
	return strtab_str(m->strings, m->stacks[e->kstack ? e->kstack : e->ustack].frames[0].name_id);
}

/* A thread's samples weigh by its own time: ten of one that ran 30 ns are less than one of one that ran 1000. */
Test(oncpu, by_function_with_its_commonest_stack)
{
	_cleanup_(model_freep) struct model *m = model();
	_cleanup_(freep) struct analyze_function *list = NULL;
	uint32_t rare = stack(m, STACK_USER, "f rare main"), often = stack(m, STACK_USER, "f often main");
	uint32_t same = stack(m, STACK_USER, "f often main"), g = stack(m, STACK_USER, "g main");
	size_t n;

	sample(m, 1, 0, rare, 3);
	sample(m, 1, 0, often, 2);
	sample(m, 1, 0, same, 2);
	sample(m, 1, 0, g, 3);
	sample(m, 2, 0, g, 10);
	cr_assert(analyze_functions(m, NULL, &list, &n) == 0);
	cr_assert_eq(n, 2);
	cr_expect_str_eq(leaf(m, &list[0]), "f");
	cr_expect(list[0].ns == 700 && list[0].count == 7 && list[0].ustack == often && list[0].stack_n == 2);
	cr_expect_str_eq(leaf(m, &list[1]), "g");
	cr_expect(list[1].ns == 330 && list[1].count == 13);
	free(TAKE_PTR(list));
	cr_assert(analyze_functions(m, &(struct analyze_filter){ .comm = "b" }, &list, &n) == 0);
	cr_assert(n == 1 && list[0].ns == 30 && list[0].count == 10);
}

/* Kernel and user are told apart, as are files; what has no stack is a line too. */
Test(oncpu, functions_that_are_not_the_same)
{
	_cleanup_(model_freep) struct model *m = model();
	_cleanup_(freep) struct analyze_function *list = NULL;
	uint32_t user = stack(m, STACK_USER, "memcpy main"), kernel = stack(m, STACK_KERNEL, "memcpy sys_read");
	uint32_t nameless = stack(m, STACK_USER, "0x10 main"), other = stack(m, STACK_USER, "0x20 main"), lost;
	size_t n;

	cr_assert(model_stack_add(m, STACK_USER, &lost) == 0);
	sample(m, 1, 0, user, 500);
	sample(m, 1, kernel, user, 250);
	sample(m, 1, 0, nameless, 125);
	sample(m, 1, 0, other, 60);
	sample(m, 1, 0, lost, 35);
	sample(m, 1, 0, 0, 30);
	cr_assert(analyze_functions(m, NULL, &list, &n) == 0);
	cr_assert_eq(n, 6);
	cr_expect(list[0].ns == 500 && list[0].kstack == 0 && list[1].ns == 250 && list[1].kstack == kernel);
	cr_expect(list[2].ustack == nameless && list[3].ustack == other && list[4].ustack == lost && !list[5].ustack);
}

Test(oncpu, no_samples)
{
	_cleanup_(model_freep) struct model *m = model();
	_cleanup_(freep) struct analyze_function *list = NULL;
	size_t n = 9;

	cr_assert(analyze_functions(m, NULL, &list, &n) == 0);
	cr_expect(n == 0 && !list);
}
