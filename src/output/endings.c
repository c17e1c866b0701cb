/* SPDX-License-Identifier: (LGPL-2.1 OR BSD-2-Clause) */
/* A reader asks one thing first: which share of the time has a stack that is whole. So each ending has its share. */
#include "output/endings.h"

#include <string.h>

#include "analyze/analyze.h"
#include "util/cleanup.h"

/* Endings that are no failures, those of user stacks first. */
static const char *const words[] = { "complete", "truncated", "guessed", "fp" };
enum { WORD_N = sizeof(words) / sizeof(words[0]), KERNEL_WORD_N = 2 };

static bool is_failure(const char *word)
{
	for (size_t i = 0; i < WORD_N; i++)
		if (!strcmp(word, words[i]))
			return false;
	return true;
}

static void write_counts(struct json *j, const struct analyze_endings *all, const struct analyze_ending *e)
{
	json_kv_uint(j, "count", e->count);
	json_kv_uint(j, "blocked_ns", e->blocked_ns);
	json_key(j, "share");
	json_double(j, all->blocked_ns ? (double)e->blocked_ns / (double)all->blocked_ns : 0, 6);
}

static void write_ending(struct json *j, const struct analyze_endings *all, const struct analyze_ending *e)
{
	json_key(j, e->word);
	json_begin_object(j);
	write_counts(j, all, e);
	json_end_object(j);
}

static void write_failures(struct json *j, const struct analyze_endings *all)
{
	struct analyze_ending sum = { .word = "failed" };

	for (size_t i = 0; i < all->n; i++) {
		if (!is_failure(all->v[i].word))
			continue;
		sum.count += all->v[i].count;
		sum.blocked_ns += all->v[i].blocked_ns;
	}
	json_key(j, "failed");
	json_begin_object(j);
	write_counts(j, all, &sum);
	json_key(j, "by_ending");
	json_begin_object(j);
	for (size_t i = 0; i < all->n; i++)
		if (is_failure(all->v[i].word))
			write_ending(j, all, &all->v[i]);
	json_end_object(j);
	json_end_object(j);
}

static int write_side(struct json *j, const struct model *m, enum stack_side side)
{
	_cleanup_(analyze_endings_done) struct analyze_endings all = { 0 };
	int err = analyze_endings(m, side, &all);

	if (err)
		return err;
	json_key(j, side == STACK_USER ? "user" : "kernel");
	json_begin_object(j);
	json_kv_uint(j, "count", all.count);
	json_kv_uint(j, "blocked_ns", all.blocked_ns);
	for (size_t i = 0; i < (side == STACK_USER ? WORD_N : KERNEL_WORD_N); i++) {
		struct analyze_ending e = analyze_ending_of(&all, words[i]);

		write_ending(j, &all, &e);
	}
	write_failures(j, &all);
	json_end_object(j);
	return 0;
}

int endings_write(struct json *j, const struct model *m)
{
	int err;

	json_key(j, "stacks");
	json_begin_object(j);
	err = write_side(j, m, STACK_USER);
	if (!err)
		err = write_side(j, m, STACK_KERNEL);
	json_end_object(j);
	return err;
}
