/* SPDX-License-Identifier: (LGPL-2.1 OR BSD-2-Clause) */
/*
 * Parts of the file go round in a ring: whoever has nothing better to do takes
 * the next part from the file (inflated there if need be) and reads it apart;
 * the caller's thread puts them to the model in the order of the file. A small
 * file is one part, for which no thread is started.
 */
#include "dump/pipeline.h"

#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <unistd.h>

#include "dump/apart.h"
#include "util/cleanup.h"

enum { HELPERS_MAX = 7, RING_MAX = 2 * (HELPERS_MAX + 1) + 2 };

struct pipeline {
	struct reader *r;
	struct lines *lines;
	pthread_mutex_t lock; /* of what follows, and of lines */
	pthread_cond_t changed;
	struct apart ring[RING_MAX]; /* part n is at n modulo ring_n */
	bool is_read[RING_MAX];
	size_t ring_n;
	size_t taken, merged; /* parts */
	bool at_end;	      /* of the file, or of all for an error */
	int error;
	pthread_t helpers[HELPERS_MAX];
	size_t helper_n;
};

/* Takes the next part, with the lock held; false: there is none, or no room. */
static bool part_take(struct pipeline *p, size_t *ret)
{
	struct apart *a;
	int e;

	if (p->at_end || p->taken - p->merged == p->ring_n)
		return false;
	a = &p->ring[p->taken % p->ring_n];
	e = a->r.m ? 0 : apart_init(a);
	if (e == 0)
		e = lines_part_next(p->lines, &a->part);
	if (e <= 0) {
		p->error = e;
		p->at_end = true;
		pthread_cond_broadcast(&p->changed);
		return false;
	}
	p->is_read[p->taken % p->ring_n] = false;
	*ret = p->taken++;
	return true;
}

/* Reads a part that was taken; the lock is held before and behind it. */
static void part_read(struct pipeline *p, size_t part, struct fields *f)
{
	int e;

	pthread_mutex_unlock(&p->lock);
	e = apart_read(&p->ring[part % p->ring_n], p->r, f);
	pthread_mutex_lock(&p->lock);
	if (e < 0) {
		p->error = e;
		p->at_end = true;
	}
	p->is_read[part % p->ring_n] = true;
	pthread_cond_broadcast(&p->changed);
}

static void *help(void *arg)
{
	struct fields *f = calloc(1, sizeof(*f));
	struct pipeline *p = arg;
	size_t part;

	/* Without memory for that the others do it. */
	if (!f)
		return NULL;
	pthread_mutex_lock(&p->lock);
	while (!p->at_end) {
		if (part_take(p, &part))
			part_read(p, part, f);
		else if (!p->at_end)
			pthread_cond_wait(&p->changed, &p->lock);
	}
	pthread_mutex_unlock(&p->lock);
	fields_free(f);
	free(f);
	return NULL;
}

static void helpers_start(struct pipeline *p)
{
	long n = sysconf(_SC_NPROCESSORS_ONLN);

	while (p->helper_n < HELPERS_MAX && (long)p->helper_n + 1 < n &&
	       pthread_create(&p->helpers[p->helper_n], NULL, help, p) == 0)
		p->helper_n++;
}

/* Until all is merged. The lock is held. */
static int all_merge(struct pipeline *p, struct fields *f)
{
	size_t part, number = 2, now;

	while (!p->error) {
		now = p->merged % p->ring_n;
		if (p->merged < p->taken && p->is_read[now]) {
			int e;

			pthread_mutex_unlock(&p->lock);
			e = apart_merge(&p->ring[now], p->r, f, number);
			number += p->ring[now].line_n;
			pthread_mutex_lock(&p->lock);
			p->error = p->error ? p->error : e;
			p->merged++;
			pthread_cond_broadcast(&p->changed);
		} else if (part_take(p, &part)) {
			part_read(p, part, f);
			/* There are more: others may read them meanwhile. */
			if (!p->helper_n && part == 0)
				helpers_start(p);
		} else if (p->merged == p->taken && p->at_end) {
			break;
		} else if (p->merged < p->taken) {
			pthread_cond_wait(&p->changed, &p->lock);
		}
	}
	p->at_end = true;
	pthread_cond_broadcast(&p->changed);
	return p->error;
}

int pipeline_read(struct reader *r, struct lines *lines)
{
	struct pipeline *p = calloc(1, sizeof(*p));
	struct fields *f = calloc(1, sizeof(*f));
	int e = -ENOMEM;

	if (p && f) {
		long cpus = sysconf(_SC_NPROCESSORS_ONLN);

		p->r = r;
		p->lines = lines;
		p->ring_n = cpus > 0 && 2 * cpus + 2 < RING_MAX ? (size_t)(2 * cpus + 2) : RING_MAX;
		pthread_mutex_init(&p->lock, NULL);
		pthread_cond_init(&p->changed, NULL);
		pthread_mutex_lock(&p->lock);
		e = all_merge(p, f);
		pthread_mutex_unlock(&p->lock);
		for (size_t i = 0; i < p->helper_n; i++)
			pthread_join(p->helpers[i], NULL);
		for (size_t i = 0; i < p->ring_n; i++) {
			if (p->ring[i].r.m)
				apart_done(&p->ring[i]);
		}
		pthread_cond_destroy(&p->changed);
		pthread_mutex_destroy(&p->lock);
	}
	if (f)
		fields_free(f);
	free(f);
	free(p);
	return e;
}
