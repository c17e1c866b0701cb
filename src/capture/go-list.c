/* SPDX-License-Identifier: (LGPL-2.1 OR BSD-2-Clause) */
/*
 * The program runs on while it is read. So who takes up what is found has the
 * programs of the kernel say whether anything has happened to it, and asks then
 * whether it is still parked. And where the list is was found in code: before
 * anything is believed, some of what it leads to must look like goroutines in
 * every respect that is known.
 *
 * There may be a hundred thousand of them: they are read by the hundred, one
 * call each for their structures and for their stacks.
 */
#include "capture/go-list.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/uio.h>

#include "util/cleanup.h"
#include "util/vec.h"

#define G_BYTES 512	    /* of a g, all that is known of it lies there */
#define LIST_MAX (1u << 24) /* goroutines */
#define STACK_BYTES_MAX (64 << 10)
#define TRIES 3
#define STATUS_RUNNING 2 /* runtime2.go: _Grunning, _Gwaiting, _Gdead, the largest of all, and the bit for the collector */
#define STATUS_WAITING 4
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

/* Memory of the target. */
struct area {
	uint64_t at;
	size_t n;
};

struct desc {
	uint64_t words[DESC_WORDS_N];
};

struct go_list {
	struct go_list_target t;
	uint64_t *all, *again;
	size_t n, at, again_n, again_cap, again_at;
	size_t coroutine_n;
	size_t desc_word; /* of a stack: where the last pollDesc's address was */
	struct go_parked parked[GO_LIST_BATCH];
	size_t parked_n;
	struct g gs[GO_LIST_BATCH]; /* of those that were read last */
	bool read[GO_LIST_BATCH];
	uint8_t *stacks;
	size_t stacks_cap;
};

static int target_read(uint32_t pid, uint64_t at, void *ret, size_t n)
{
	struct iovec local = { ret, n }, remote = { (void *)(uintptr_t)at, n };
	ssize_t got = process_vm_readv((pid_t)pid, &local, 1, &remote, 1, 0);

	if (got < 0)
		return -errno;
	return (size_t)got == n ? 0 : -EFAULT;
}

/* At most GO_LIST_BATCH areas, into ret one behind the other. ret_read: which of them could be read. 0: some could. */
static int areas_read(uint32_t pid, const struct area *v, size_t n, void *ret, bool *ret_read)
{
	struct iovec remote[GO_LIST_BATCH];
	uint8_t *to = ret;

	for (size_t i = 0; i < n; i++)
		remote[i] = (struct iovec){ (void *)(uintptr_t)v[i].at, v[i].n };
	for (size_t i = 0; i < n;) {
		struct iovec local = { to, 0 };
		ssize_t got;

		for (size_t k = i; k < n; k++)
			local.iov_len += v[k].n;
		got = local.iov_len ? process_vm_readv((pid_t)pid, &local, 1, remote + i, n - i, 0) : 0;
		if (got < 0 && errno != EFAULT)
			return -errno;
		for (size_t left = got < 0 ? 0 : (size_t)got; i < n && v[i].n <= left; i++) {
			ret_read[i] = v[i].n;
			left -= v[i].n;
			to += v[i].n;
		}
		if (i == n)
			break;
		ret_read[i] = false; /* it ended within this one */
		to += v[i++].n;
	}
	return 0;
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

/*
 * The status alone does not tell: one that stops the world, or whose stack is scanned, has it while it runs. Who was
 * parked has no thread any more (dropg() in proc.go).
 */
static bool is_parked(const struct go_list_target *t, const struct g *g)
{
	return status_of(t, g) == STATUS_WAITING && !word_of(g, t->layout->m);
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

static bool is_goroutine(const struct go_list_target *t, const struct g *g, uint64_t at)
{
	return status_of(t, g) <= STATUS_MAX && (status_of(t, g) != STATUS_WAITING || is_consistent(t, g, at));
}

static int list_check(const struct go_list_target *t, const uint64_t *all, size_t n, struct objfile_why *ret_why)
{
	size_t wrong_n = 0, right_n = 0, running_n = 0, not_current_n = 0;

	for (size_t i = 0; i < n && i < GO_LIST_BATCH; i++) {
		bool bad = true;
		struct g g;

		/* it may have changed while it was read: then it is another the next time */
		for (int k = 0; bad && k < TRIES; k++)
			bad = all[i] % 8 || all[i] < POINTER_MIN || target_read(t->pid, all[i], &g, sizeof(g)) ||
			      !is_goroutine(t, &g, all[i]);
		wrong_n += bad;
		right_n += !bad;
		if (bad || status_of(t, &g) != STATUS_RUNNING)
			continue;
		running_n++;
		not_current_n += !is_current(t, &g, all[i]);
	}
	if (!wrong_n && (not_current_n < 2 || not_current_n < running_n))
		return 0;
	snprintf(ret_why->text, sizeof(ret_why->text), "what should be its list of goroutines is something else (%zu of %zu)",
		 wrong_n + not_current_n, wrong_n + right_n);
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

int go_list_new(const struct go_list_target *t, struct go_list **ret, struct objfile_why *ret_why)
{
	struct go_list *l = calloc(1, sizeof(*l));
	int err;

	if (!l)
		return -ENOMEM;
	l->t = *t;
	err = list_read(t, &l->all, &l->n, ret_why);
	if (!err)
		err = list_check(t, l->all, l->n, ret_why);
	if (err) {
		go_list_free(l);
		return err;
	}
	*ret = l;
	return 0;
}

struct go_list *go_list_free(struct go_list *l)
{
	if (!l)
		return NULL;
	free(l->all);
	free(l->again);
	free(l->stacks);
	free(l);
	return NULL;
}

/* ---- what it waits in ---- */

static int stacks_read(struct go_list *l)
{
	struct area v[GO_LIST_BATCH];
	bool read[GO_LIST_BATCH];
	size_t bytes = 0, at = 0;
	int err;

	for (size_t i = 0; i < l->parked_n; i++) {
		const struct go_parked *p = &l->parked[i];

		v[i] = (struct area){ p->sp, p->stack_hi - p->sp };
		if (v[i].n > STACK_BYTES_MAX)
			v[i].n = STACK_BYTES_MAX;
		if (!l->t.stacks && p->reason != l->t.io_reason)
			v[i].n = 0;
		bytes += v[i].n;
	}
	if (VEC_RESERVE(l->stacks, l->stacks_cap, bytes) < 0)
		return -ENOMEM;
	err = areas_read(l->t.pid, v, l->parked_n, l->stacks, read);
	for (size_t i = 0; !err && i < l->parked_n; i++) {
		if (read[i]) {
			l->parked[i].stack = l->stacks + at;
			l->parked[i].stack_n = v[i].n;
		}
		at += v[i].n;
	}
	return err;
}

/* Could word i of its stack be a pollDesc's address? 0: no. */
static uint64_t desc_at(const struct go_parked *p, size_t i)
{
	uint64_t at;

	if ((i + 1) * 8 > p->stack_n)
		return 0;
	memcpy(&at, p->stack + i * 8, sizeof(at));
	if (at % 8 || at < POINTER_MIN || (at >= p->g - G_BYTES && at < p->g + G_BYTES) || (at >= p->sp && at < p->stack_hi))
		return 0;
	return at;
}

static void desc_match(struct go_parked *p, const struct desc *d, uint64_t at)
{
	for (size_t k = DESC_WORDS_FROM; k < DESC_WORDS_N && !p->resource; k++)
		if (d->words[k] == p->g)
			p->resource = at + k * 8;
}

/*
 * Who waits for a file was given the address of the word of its pollDesc that has the goroutine. The pollDesc's address
 * is in the frames that called; no other memory there has such a word.
 */
static void resource_search(struct go_list *l, struct go_parked *p)
{
	struct area v[STACK_WORDS_N];
	struct desc descs[STACK_WORDS_N];
	bool read[STACK_WORDS_N];
	size_t words[STACK_WORDS_N], n = 0;

	for (size_t i = 0; i < STACK_WORDS_N; i++) {
		uint64_t at = desc_at(p, i);

		if (!at)
			continue;
		v[n] = (struct area){ at, sizeof(descs[0]) };
		words[n++] = i;
	}
	if (areas_read(l->t.pid, v, n, descs, read))
		return;
	for (size_t i = 0; i < n && !p->resource; i++) {
		if (read[i])
			desc_match(p, &descs[i], v[i].at);
		if (p->resource)
			l->desc_word = words[i];
	}
}

/* It is where the last one's was if they called likewise: those are read at once. */
static void resources_find(struct go_list *l)
{
	struct area v[GO_LIST_BATCH];
	struct desc descs[GO_LIST_BATCH];
	bool read[GO_LIST_BATCH] = { false };
	int err;

	for (size_t i = 0; i < l->parked_n; i++) {
		const struct go_parked *p = &l->parked[i];
		uint64_t at = p->reason == l->t.io_reason ? desc_at(p, l->desc_word) : 0;

		v[i] = (struct area){ at, at ? sizeof(descs[0]) : 0 };
	}
	memset(descs, 0, sizeof(descs));
	err = areas_read(l->t.pid, v, l->parked_n, descs, read);
	for (size_t i = 0, k = 0; i < l->parked_n; i++) {
		struct go_parked *p = &l->parked[i];

		if (p->reason != l->t.io_reason)
			continue;
		if (v[i].n && !err && read[i])
			desc_match(p, &descs[k], v[i].at);
		k += v[i].n != 0;
		if (!p->resource)
			resource_search(l, p);
	}
}

/* ---- a batch ---- */

static size_t batch_take(struct go_list *l, struct area *ret)
{
	size_t n = 0;

	for (; n < GO_LIST_BATCH && l->at < l->n; n++)
		ret[n] = (struct area){ l->all[l->at++], G_BYTES };
	if (n)
		return n;
	for (; n < GO_LIST_BATCH && l->again_at < l->again_n; n++)
		ret[n] = (struct area){ l->again[l->again_at++], G_BYTES };
	return n;
}

int go_list_next(struct go_list *l, struct go_parked **ret, size_t *ret_n)
{
	struct area v[GO_LIST_BATCH];
	size_t n = batch_take(l, v);
	int err;

	l->parked_n = 0;
	if (!n)
		return -ENODATA;
	err = areas_read(l->t.pid, v, n, l->gs, l->read);
	if (err)
		return err;
	for (size_t i = 0; i < n; i++) {
		const struct g *g = &l->gs[i];

		if (!l->read[i] || !is_parked(&l->t, g) || !is_consistent(&l->t, g, v[i].at))
			continue;
		if ((uint8_t)word_of(g, l->t.layout->wait_reason) == l->t.coroutine_reason)
			l->coroutine_n++;
		else
			parked_fill(&l->t, g, v[i].at, &l->parked[l->parked_n++]);
	}
	err = stacks_read(l);
	if (err)
		return err;
	resources_find(l);
	*ret = l->parked;
	*ret_n = l->parked_n;
	return 0;
}

size_t go_list_left_n(const struct go_list *l)
{
	return l->n - l->at + l->again_n - l->again_at;
}

size_t go_list_coroutine_n(const struct go_list *l)
{
	return l->coroutine_n;
}

bool go_list_is_again(const struct go_list *l)
{
	return l->again_at;
}

int go_list_again(struct go_list *l, const struct go_parked *p)
{
	if (VEC_RESERVE(l->again, l->again_cap, l->again_n + 1) < 0)
		return -ENOMEM;
	l->again[l->again_n++] = p->g;
	return 0;
}

void go_list_now(struct go_list *l, enum go_now *ret)
{
	struct area v[GO_LIST_BATCH];
	int err;

	for (size_t i = 0; i < l->parked_n; i++)
		v[i] = (struct area){ l->parked[i].g, G_BYTES };
	err = areas_read(l->t.pid, v, l->parked_n, l->gs, l->read);
	for (size_t i = 0; i < l->parked_n; i++) {
		const struct g *g = &l->gs[i];

		if (err || !l->read[i] || word_of(g, l->t.layout->goid) != l->parked[i].goid ||
		    status_of(&l->t, g) == STATUS_DEAD)
			ret[i] = GO_NOW_GONE;
		else
			ret[i] = is_parked(&l->t, g) ? GO_NOW_PARKED : GO_NOW_ELSE;
	}
}
