/* SPDX-License-Identifier: (LGPL-2.1 OR BSD-2-Clause) */
/*
 * The critical path as the replay finds it, put where it lay in the recording.
 * The replay's times are computed: its stretches follow each other, each as
 * long as it was, and drift from the clock by what the model leaves out. Waits
 * and wakes have their moments in the recording, so the path is hung up at
 * those; what lies between two such moments is divided as the replay has it.
 */
#include <errno.h>

#include "cmd/picture.h"
#include "replay/replay.h"
#include "util/cleanup.h"

#define MOMENT_UNKNOWN INT64_MIN

static enum export_path_state state_of(uint8_t state)
{
	switch (state) {
	case REPLAY_ONCPU:
		return EXPORT_PATH_ONCPU;
	case REPLAY_RUNNABLE:
		return EXPORT_PATH_RUNNABLE;
	case REPLAY_DELAYED:
	case REPLAY_BLOCKED:
		return EXPORT_PATH_BLOCKED;
	default:
		return EXPORT_PATH_UNKNOWN;
	}
}

/* Where stretch i begins and ends in the recording, as far as something in it says so. */
static void moments_set(const struct model *m, const struct replay_stretch *x, int64_t *begin_ns, int64_t *end_ns)
{
	const struct model_wait *w = &m->waits[x->wait];
	int64_t ready_ns = w->start_ns + w->blocked_ns;

	if (x->jumped && x->from_wait && m->waits[x->from_wait].wake_ns >= 0)
		*begin_ns = m->waits[x->from_wait].wake_ns;
	else if (x->jumped && !x->from_wait && x->thread)
		*begin_ns = m->threads[x->thread].begin_ns;
	if (!x->wait)
		return;
	if (x->state == REPLAY_DELAYED || x->state == REPLAY_BLOCKED) {
		*begin_ns = w->start_ns;
		*end_ns = ready_ns;
	} else if (x->state == REPLAY_RUNNABLE) {
		*begin_ns = ready_ns;
		*end_ns = ready_ns + w->runnable_ns;
	}
}

/* Moments between two known ones, from and to, in the proportion of the replay's times. */
static void moments_divide(const struct replay_stretch *path, int64_t *moments, size_t from, size_t to)
{
	int64_t begin_ns = path[from].start_ns, length_ns = path[to - 1].end_ns - begin_ns;
	double scale = length_ns > 0 ? (double)(moments[to] - moments[from]) / (double)length_ns : 0;

	for (size_t i = from + 1; i < to; i++)
		moments[i] = moments[from] + (int64_t)((double)(path[i].start_ns - begin_ns) * scale);
}

/* moments[i]: where stretch i begins; one more for the end of the last. */
static void moments_make(const struct model *m, const struct replay_facts *facts, const struct replay_stretch *path,
			 size_t n, int64_t *moments)
{
	size_t known = 0;

	for (size_t i = 0; i <= n; i++)
		moments[i] = MOMENT_UNKNOWN;
	for (size_t i = 0; i < n; i++)
		moments_set(m, &path[i], &moments[i], &moments[i + 1]);
	moments[0] = facts->begin_ns;
	moments[n] = facts->begin_ns + facts->makespan_ns;
	for (size_t i = 1; i <= n; i++) {
		/* One that would lead back in time, or behind the end, is none. */
		if (moments[i] == MOMENT_UNKNOWN || (i < n && (moments[i] < moments[known] || moments[i] > moments[n])))
			continue;
		moments_divide(path, moments, known, i);
		known = i;
	}
}

int picture_path_make(const struct model *m, struct export_stretch **ret, size_t *ret_n)
{
	_cleanup_(replay_freep) struct replay *r = NULL;
	_cleanup_(freep) struct replay_stretch *path = NULL;
	_cleanup_(freep) struct export_stretch *out = NULL;
	_cleanup_(freep) int64_t *moments = NULL;
	struct replay_facts facts;
	size_t n;
	int err = replay_new(m, NULL, &r);

	if (!err)
		err = replay_path(r, &path, &n);
	if (err)
		return err;
	out = calloc(n + 1, sizeof(*out));
	moments = calloc(n + 1, sizeof(*moments));
	if (!out || !moments)
		return -ENOMEM;
	replay_facts(r, &facts);
	if (n)
		moments_make(m, &facts, path, n, moments);
	for (size_t i = 0; i < n; i++)
		out[i] = (struct export_stretch){
			.start_ns = moments[i], .end_ns = moments[i + 1], .thread = path[i].thread, .op = path[i].op,
			.wait = path[i].state == REPLAY_ONCPU ? 0 : path[i].wait,
			.state = (uint8_t)state_of(path[i].state), .jumped = path[i].jumped,
		};
	*ret = TAKE_PTR(out);
	*ret_n = n;
	return 0;
}
