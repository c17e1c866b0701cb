/* SPDX-License-Identifier: (LGPL-2.1 OR BSD-2-Clause) */
/*
 * The program runs on while it is read. What is read of one goroutine counts
 * only if it was parked, with the same registers, before and after. And where
 * the list is was found in code: before anything is believed, some of what it
 * leads to must look like goroutines in every respect that is known.
 */
#include "capture/go-list.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/uio.h>

#include "util/cleanup.h"

#define G_BYTES 512	    /* of a g, all that is known of it lies there */
#define LIST_MAX (1u << 24) /* goroutines */
#define CHECKED_N 256
#define STACK_BYTES_MAX (64 << 10)
#define TRIES 3
#define STATUS_WAITING 4 /* runtime2.go: _Gwaiting, _Gdead, the largest of all, and the bit for the collector */
#define STATUS_DEAD 6
#define STATUS_MAX 10
#define STATUS_SCAN 0x1000
#define DESC_WORDS_FROM 2 /* of a pollDesc: where its two words for goroutines may be */
#define DESC_WORDS_N 7
#define STACK_WORDS_N 64  /* its caller's frames, in which the pollDesc's address is */
#define POINTER_MIN 4096

struct g {
	uint8_t bytes[G_BYTES];
};

static int target_read(uint32_t pid, uint64_t at, void *ret, size_t n)
{
	struct iovec local = { ret, n }, remote = { (void *)(uintptr_t)at, n };
	ssize_t got = process_vm_readv((pid_t)pid, &local, 1, &remote, 1, 0);

	if (got < 0)
		return -errno;
	return (size_t)got == n ? 0 : -EFAULT;
}

static uint64_t word_of(const struct g *g, size_t at)
{
	uint64_t v = 0;

	if (at + sizeof(v) <= sizeof(g->bytes))
		memcpy(&v, g->bytes + at, sizeof(v));
	return v;
}

static uint32_t status_of(const struct go_list_target *t, const struct g *g)
{
	return (uint32_t)word_of(g, t->layout->status) & ~STATUS_SCAN;
}

static void parked_fill(const struct go_list_target *t, const struct g *g, uint64_t at, struct go_parked *ret)
{
	const struct wcbpf_go_layout *l = t->layout;

	*ret = (struct go_parked){
		.g = at, .goid = word_of(g, l->goid), .parent_goid = l->parent_goid ? word_of(g, l->parent_goid) : 0,
		.start_pc = word_of(g, l->start_pc), .go_pc = word_of(g, l->gopc), .sp = word_of(g, t->where->sp),
		.pc = word_of(g, t->where->pc), .bp = word_of(g, t->where->bp), .stack_hi = word_of(g, l->stack_hi),
		.reason = (uint8_t)word_of(g, l->wait_reason),
	};
}

/* One that is parked has its registers in it: they lie in its stack, and name it. */
static bool is_consistent(const struct go_list_target *t, const struct g *g, uint64_t at)
{
	uint64_t sp = word_of(g, t->where->sp), lo = word_of(g, t->layout->stack_hi - 8);

	return word_of(g, t->where->pc + 8) == at && lo < word_of(g, t->layout->stack_hi) && sp > lo &&
	       sp < word_of(g, t->layout->stack_hi) && sp % 8 == 0 && word_of(g, t->layout->goid);
}

/* ---- is it one? ---- */

/* The thread that runs it says so too. */
static bool is_current(const struct go_list_target *t, const struct g *g, uint64_t at)
{
	uint64_t m = word_of(g, t->layout->m), curg = 0;

	return m && !target_read(t->pid, m + t->layout->curg, &curg, sizeof(curg)) && curg == at;
}

static int list_check(const struct go_list_target *t, const uint64_t *all, size_t n, struct objfile_why *ret_why)
{
	size_t wrong_n = 0, parked_n = 0, running_n = 0, not_current_n = 0;

	for (size_t i = 0; i < n && i < CHECKED_N; i++) {
		bool bad = true;
		struct g g;

		/* it may have changed while it was read: then it is another the next time */
		for (int k = 0; bad && k < TRIES; k++) {
			if (all[i] % 8 || all[i] < POINTER_MIN || target_read(t->pid, all[i], &g, sizeof(g)))
				continue;
			bad = status_of(t, &g) > STATUS_MAX ||
			      (status_of(t, &g) == STATUS_WAITING && !is_consistent(t, &g, all[i]));
		}
		wrong_n += bad;
		if (bad)
			continue;
		parked_n += status_of(t, &g) == STATUS_WAITING;
		running_n += status_of(t, &g) == 2;
		not_current_n += status_of(t, &g) == 2 && !is_current(t, &g, all[i]);
	}
	if (!wrong_n && (not_current_n < 2 || not_current_n < running_n))
		return 0;
	snprintf(ret_why->text, sizeof(ret_why->text), "what should be its list of goroutines is something else (%zu of %zu)",
		 wrong_n + not_current_n, wrong_n + parked_n + running_n);
	return -ENOTSUP;
}

/* The addresses of all: malloc'd. It grows meanwhile, by being copied. */
static int list_read(const struct go_list_target *t, uint64_t **ret, size_t *ret_n, struct objfile_why *ret_why)
{
	uint64_t slice[3], again[3], at = t->where->allgs + t->bias;
	int err = 0;

	for (int k = 0; k < TRIES; k++) {
		_cleanup_(freep) uint64_t *all = NULL;

		err = target_read(t->pid, at, slice, sizeof(slice));
		if (err)
			return err;
		if (!slice[1] || slice[1] > slice[2] || slice[1] > LIST_MAX || slice[0] < POINTER_MIN || slice[0] % 8) {
			snprintf(ret_why->text, sizeof(ret_why->text), "what should be its list of goroutines is none");
			err = -ENOTSUP;
			continue;
		}
		all = malloc(slice[1] * sizeof(*all));
		if (!all)
			return -ENOMEM;
		err = target_read(t->pid, slice[0], all, slice[1] * sizeof(*all));
		if (!err)
			err = target_read(t->pid, at, again, sizeof(again));
		if (!err && again[0] != slice[0])
			err = -EAGAIN;
		if (err)
			continue;
		*ret = TAKE_PTR(all);
		*ret_n = slice[1];
		return 0;
	}
	return err;
}

/* ---- what it waits in ---- */

static void stack_read(const struct go_list_target *t, struct go_parked *p)
{
	size_t n = p->stack_hi - p->sp < STACK_BYTES_MAX ? p->stack_hi - p->sp : STACK_BYTES_MAX;

	p->stack = t->stacks || p->reason == t->io_reason ? malloc(n) : NULL;
	p->stack_n = p->stack && !target_read(t->pid, p->sp, p->stack, n) ? n : 0;
}

/*
 * Who waits for a file was given the address of the word of its pollDesc that has the goroutine. The pollDesc's address
 * is in the frames that called; no other memory there has such a word.
 */
static void resource_find(const struct go_list_target *t, struct go_parked *p)
{
	for (size_t i = 0; i < STACK_WORDS_N && (i + 1) * 8 <= p->stack_n && !p->resource; i++) {
		uint64_t desc[DESC_WORDS_N] = { 0 }, at;

		memcpy(&at, p->stack + i * 8, sizeof(at));
		if (at % 8 || at < POINTER_MIN || (at >= p->g - G_BYTES && at < p->g + G_BYTES) ||
		    (at >= p->sp && at < p->stack_hi) || target_read(t->pid, at, desc, sizeof(desc)))
			continue;
		for (size_t k = DESC_WORDS_FROM; k < DESC_WORDS_N; k++)
			if (desc[k] == p->g)
				p->resource = at + k * 8;
	}
}

/* 1: it is parked. 0: it isn't. -EAGAIN: it was, and goes on. */
static int parked_read(const struct go_list_target *t, uint64_t at, struct go_parked *ret)
{
	struct go_parked p = { 0 };
	struct g before, after;

	for (int k = 0; k < TRIES; k++) {
		free(p.stack);
		p.stack = NULL;
		if (target_read(t->pid, at, &before, sizeof(before)) || status_of(t, &before) != STATUS_WAITING)
			return 0;
		if (!is_consistent(t, &before, at))
			continue;
		parked_fill(t, &before, at, &p);
		stack_read(t, &p);
		if (target_read(t->pid, at, &after, sizeof(after)) || status_of(t, &after) != STATUS_WAITING ||
		    word_of(&after, t->layout->goid) != p.goid || word_of(&after, t->where->sp) != p.sp ||
		    word_of(&after, t->where->pc) != p.pc || word_of(&after, t->layout->stack_hi) != p.stack_hi)
			continue;
		if (p.reason == t->io_reason)
			resource_find(t, &p);
		*ret = p;
		return 1;
	}
	free(p.stack);
	return -EAGAIN;
}

int go_list_each(const struct go_list_target *t, int (*f)(void *arg, struct go_parked *p), void *arg, size_t *ret_moved,
		 struct objfile_why *ret_why)
{
	_cleanup_(freep) uint64_t *all = NULL;
	size_t n = 0, moved_n = 0;
	int err = list_read(t, &all, &n, ret_why);

	if (!err)
		err = list_check(t, all, n, ret_why);
	for (size_t i = 0; !err && i < n; i++) {
		struct go_parked p = { 0 };
		int r = parked_read(t, all[i], &p);

		moved_n += r == -EAGAIN;
		if (r == 1)
			err = f(arg, &p);
		free(p.stack);
	}
	if (err)
		return err;
	*ret_moved = moved_n;
	return 0;
}

enum go_now go_list_now(const struct go_list_target *t, const struct go_parked *p)
{
	struct g g;

	if (target_read(t->pid, p->g, &g, sizeof(g)) || word_of(&g, t->layout->goid) != p->goid ||
	    status_of(t, &g) == STATUS_DEAD)
		return GO_NOW_GONE;
	return status_of(t, &g) == STATUS_WAITING ? GO_NOW_PARKED : GO_NOW_ELSE;
}
