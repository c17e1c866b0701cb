/* SPDX-License-Identifier: (LGPL-2.1 OR BSD-2-Clause) */
/*
 * The reader of dumps, one or several of a run. Whatever could be read can be
 * written, and what was written is a dump without a fault.
 */
#include <stdio.h>
#include <stdlib.h>

#include "dump/dump.h"
#include "input.h"
#include "util/vec.h"

struct text {
	char *s;
	size_t n, cap;
};

static int text_add(void *arg, const char *bytes, size_t n)
{
	struct text *t = arg;

	if (VEC_RESERVE(t->s, t->cap, t->n + n) < 0)
		return -ENOMEM;
	for (size_t i = 0; i < n; i++)
		t->s[t->n++] = bytes[i];
	return 0;
}

static void again(const struct model *m)
{
	struct dump_problem problem = { 0 };
	struct model *read = NULL;
	struct text t = { 0 };
	struct input x;

	if (dump_write(m, NULL, NULL, text_add, &t) < 0)
		abort();
	input_init(&x, (const uint8_t *)t.s, t.n);
	if (dump_read(x.paths[0], &read, &problem) < 0 || problem.bad_n || read->wait_n != m->wait_n ||
	    read->op_n != m->op_n || read->link_n != m->link_n) {
		fprintf(stderr, "what was written can't be read: %s\n%.*s\n", problem.message, (int)t.n, t.s);
		abort();
	}
	model_free(read);
	input_done(&x);
	free(t.s);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
	struct dump_problem problem = { 0 };
	struct dump_facts facts = { 0 };
	struct model *m = NULL;
	struct input x;

	input_init(&x, data, n);
	if (dump_read_merged(x.paths, x.n, &m, &facts, &problem) == 0) {
		again(m);
		model_free(m);
		dump_facts_done(&facts);
	}
	input_done(&x);
	return 0;
}
