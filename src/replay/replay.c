/* SPDX-License-Identifier: (LGPL-2.1 OR BSD-2-Clause) */
/* Compiling, step by step; what is known of the whole. */
#include <errno.h>
#include <stdlib.h>

#include "replay/classes.h"
#include "util/crew.h"
#include "replay/e2.h"
#include "replay/path.h"
#include "replay/steps.h"
#include "replay/wcprof.h"
#include "util/cleanup.h"

/* Waiting for locks of which holds are not known, as a part of the whole. */
#define UNSEEN_MAX 0.01

void draft_done(struct draft *d)
{
	free(d->waits);
	free(d->wait_first);
	free(d->use);
	free(d->site);
	free(d->token);
	free(d->lock);
	free(d->items);
	free(d->item_first);
	free(d->own_runq_ns);
	free(d->frame);
	free(d->is_go);
	free(d->go_runs);
	free(d->gaps);
	free(d->ticks);
	map_free(d->execs);
}

void points_free(struct points *p)
{
	free(p->what);
	free(p->cpu_ns);
	free(p->cpu_tag);
	free(p->wait_ns);
	free(p->run_ns);
	free(p->lat_ns);
	free(p->object);
	free(p->ref);
}

struct replay *replay_free(struct replay *r)
{
	if (!r)
		return NULL;
	points_free(&r->points);
	if (r->path)
		path_done(r->path);
	free(r->path);
	free(r->waits);
	free(r->wait_first);
	free(r->longs);
	wcprof_free(r->wcprof);
	steps_done(&r->steps);
	free(r->strands);
	free(r->runs);
	free(r->token_lock);
	free(r->token_need);
	free(r->tags);
	free(r->locks);
	free(r->holds);
	free(r->op_keys);
	free(r->strand_keys);
	free(r->groups);
	free(r->classes);
	free(r->shares);
	free(r->strand_of_thread);
	free(r->strand_of_op);
	free(r);
	return NULL;
}

static void extent_find(struct replay *r)
{
	int64_t begin_ns = INT64_MAX, end_ns = 0;

	for (size_t s = 0; s < r->strand_n; s++) {
		const struct strand *x = &r->strands[s];

		if (x->sink && x->begin_ns < begin_ns)
			begin_ns = x->begin_ns;
		if (x->sink && x->end_ns >= end_ns) {
			end_ns = x->end_ns;
			r->facts.end_thread = x->thread;
		}
	}
	r->facts.begin_ns = begin_ns < end_ns ? begin_ns : end_ns;
	r->facts.end_ns = end_ns;
	r->facts.makespan_ns = end_ns - r->facts.begin_ns;
}

/*
 * Locks that were waited for and of which it is not known when they were held: threads that come closer together may meet
 * there, and the recording has no trace of their having been there. A wait now and then tells of no such lock.
 */
static bool has_unseen_locks(const struct draft *d)
{
	const struct replay *r = d->r;
	const struct model *m = d->m;
	int64_t begin_ns = INT64_MAX, end_ns = 0;
	double ns = 0;

	for (size_t s = 0; s < r->strand_n; s++) {
		begin_ns = r->strands[s].begin_ns < begin_ns ? r->strands[s].begin_ns : begin_ns;
		end_ns = r->strands[s].end_ns > end_ns ? r->strands[s].end_ns : end_ns;
	}
	for (size_t i = 1; i < m->wait_n; i++) {
		const struct model_wait *w = &m->waits[i];

		if (d->use[i] == USE_SKIP || m->rows[w->row].reason != REASON_LOCK ||
		    (d->lock[i] != NONE && r->locks[d->lock[i]].simulated))
			continue;
		ns += (double)(w->end_ns - w->start_ns);
	}
	return ns > UNSEEN_MAX * (double)(end_ns - begin_ns);
}

static void wakers_count(struct replay *r, const struct draft *d)
{
	const struct model *m = d->m;
	bool any_waker = false, any_runnable = false;

	for (size_t i = 1; i < m->wait_n; i++) {
		const struct model_wait *w = &m->waits[i];

		any_waker |= w->waker || w->outside_waker || w->ctx != WAKER_NONE;
		any_runnable |= w->runnable_ns > 0 || w->wake_ns >= 0;
		r->facts.wait_n += d->use[i] != USE_SKIP;
		if (d->use[i] != USE_DELAY || wait_is_explained(m, w))
			continue;
		r->facts.unknown_waker_n++;
		r->facts.unknown_waker_ns += (uint64_t)w->blocked_ns;
	}
	if (m->wait_n > 1 && !any_waker)
		r->facts.missing |= REPLAY_NO_WAKERS;
	if (m->thread_n <= 1 ? m->op_n > 1 : m->wait_n > 1 && !any_runnable)
		r->facts.missing |= REPLAY_NO_RUNNABLE;
}

static void missing_find(struct replay *r)
{
	const struct model *m = r->m;
	const struct model_integrity *x = &m->integrity;

	if (m->sample_n <= 1)
		r->facts.missing |= REPLAY_NO_SAMPLES;
	else if (!m->sample_time_n)
		r->facts.missing |= REPLAY_NO_SAMPLE_TIMES;
	if (m->stack_n <= 1)
		r->facts.missing |= REPLAY_NO_STACKS;
	if (x->dropped_events || x->lost_ring_full || x->lost_unprocessed || x->lost_lifecycle || x->lost_map_full ||
	    x->lost_recursion || x->lost_clock_back || x->lost_ops || x->lost_go_events || x->lost_goroutines ||
	    x->unlisted_goroutines)
		r->facts.missing |= REPLAY_EVENTS_LOST;
}

static void cpus_find(struct replay *r, const struct replay_options *o)
{
	const struct model *m = r->m;
	uint32_t most = 0;

	/* Without threads nothing is known of CPUs, nor of who needs one. */
	if (m->thread_n <= 1)
		return;
	r->facts.cpu_n = o && o->cpu_n ? o->cpu_n : m->cpu_n;
	if (r->facts.cpu_n)
		return;
	r->facts.missing |= REPLAY_NO_CPUS;
	for (size_t i = 1; i < m->wait_n; i++)
		most = m->waits[i].cpu_to > most ? m->waits[i].cpu_to : most;
	r->facts.cpu_n = most;
}

static bool wait_is_unexplained(const struct model *m, const struct model_wait *w)
{
	return !wait_is_explained(m, w);
}

/* Go's runtime tells that a connection can be read, not who wrote to it: that may be a goroutine of this recording. */
static bool wait_is_for_anybody(const struct model *m, const struct model_wait *w)
{
	return m->rows[w->row].parked && w->ctx == WAKER_NET;
}

/* Does more than a hundredth of the critical path hang on such waits? */
static bool path_hangs_on(const struct replay *r, const struct path *p,
			  bool (*is_such)(const struct model *m, const struct model_wait *w))
{
	double such_ns = 0;

	for (size_t k = 0; k < p->n; k++) {
		for (size_t i = p->legs[k].first; i <= p->legs[k].last; i++) {
			const struct model_wait *w = &r->m->waits[r->points.ref[i]];
			uint32_t tag;
			double ns;

			if (point_delay(r, i, &ns, &tag) && r->points.ref[i] && is_such(r->m, w))
				such_ns += ns;
		}
	}
	return such_ns * 100 > (double)r->facts.makespan_ns;
}

/* What of the path is in a lock's holds, or between a release and the next one's running. */
static void locks_path(struct replay *r, const struct path *path, const double *tag_ns)
{
	for (size_t i = 0; i < r->tag_n; i++) {
		if (r->tags[i].lock != NONE)
			r->locks[r->tags[i].lock].path_ns += (uint64_t)tag_ns[i];
	}
	for (size_t i = 0; i < path->n; i++) {
		size_t p = path->legs[i].first;
		uint32_t lock = r->points.what[p] == POINT_ACQUIRE ? r->token_lock[r->points.object[p]] : NONE;

		if (path->legs[i].jumped && lock != NONE)
			r->locks[lock].path_ns += r->points.run_ns[p];
	}
}

/* Of more pieces than these a path is found once more rather than kept. */
#define LEGS_KEPT_MAX 1000000

static int path_keep(struct replay *r, struct path *path, uint32_t last)
{
	if (path->n > LEGS_KEPT_MAX)
		return 0;
	r->path = malloc(sizeof(*r->path));
	if (!r->path)
		return -ENOMEM;
	*r->path = *path;
	r->path_last = last;
	*path = (struct path){ 0 };
	return 0;
}

static int recorded_find(struct replay *r)
{
	static const struct weights unchanged;
	_cleanup_(e1_detail_done) struct e1_detail d = { 0 };
	_cleanup_(path_done) struct path path = { 0 };
	_cleanup_(freep) double *tag_ns = calloc(r->tag_n + 1, sizeof(*tag_ns));
	int e;

	if (!tag_ns)
		return -ENOMEM;
	e = e1_detail(r, &unchanged, E1_TIMES | E1_SOURCES, &d);
	if (e == 0)
		e = path_find(r, &unchanged, &d, &path);
	if (e < 0)
		return e;
	r->facts.e1_ns = d.makespan_ns;
	path_tags(r, &path, &unchanged, d.times, tag_ns);
	classes_path(r, tag_ns);
	locks_path(r, &path, tag_ns);
	if (path_hangs_on(r, &path, wait_is_unexplained))
		r->facts.missing |= REPLAY_WAKERS_UNKNOWN;
	if (path_hangs_on(r, &path, wait_is_for_anybody))
		r->facts.missing |= REPLAY_ANSWERS_UNKNOWN;
	return path_keep(r, &path, d.last);
}

/* What both engines make of the unchanged recording; none of them looks at what another writes. */
static int baseline_find(void *arg, size_t i)
{
	struct replay *r = arg;
	struct e2_result two;
	int e;

	switch (i) {
	case 0:
		e = steps_make(r, false, false, &r->steps);
		if (e == 0)
			e = e2_run(r, &(struct weights){ .cpu_n = r->facts.cpu_n }, NULL, NULL, &two);
		if (e == 0) {
			r->facts.e2_ns = two.makespan_ns;
			r->facts.forced_n = two.forced_n;
		}
		return e;
	default:
		return recorded_find(r);
	}
}

/* Two things that read the same and write each its own. */
static int draft_half(void *arg, size_t i)
{
	struct draft *d = arg;
	int e;

	if (i == 0)
		return draft_runqueues(d);
	e = draft_gather(d);
	if (e == 0)
		e = draft_holds(d);
	return e == 0 ? draft_items(d) : e;
}

struct points_asked {
	struct draft *d;
	struct emit_samples *samples;
};

/* Likewise, of points that are in their order. */
static int points_half(void *arg, size_t i)
{
	const struct points_asked *x = arg;
	struct replay *r = x->d->r;

	if (i == 0)
		return classes_make(r, x->samples);
	wakers_count(r, x->d);
	r->unseen_locks = has_unseen_locks(x->d);
	return 0;
}

static int compile(struct replay *r, struct draft *d, struct emit_samples *samples)
{
	int e = draft_go_processes(d);

	if (e == 0)
		e = draft_strands(d);
	if (e == 0)
		e = draft_ops(d);
	if (e == 0)
		e = draft_waits(d);
	if (e == 0)
		e = draft_clocks(d);
	if (e == 0)
		e = crew_run(2, draft_half, d);
	if (e == 0)
		e = draft_latencies(d);
	if (e == 0)
		e = emit_samples_init(d, samples);
	if (e == 0)
		e = draft_emit(d, samples);
	if (e == 0)
		e = draft_order(d);
	if (e == 0)
		e = crew_run(2, points_half, &(struct points_asked){ .d = d, .samples = samples });
	if (e == 0) {
		r->waits = TAKE_PTR(d->waits);
		r->wait_first = TAKE_PTR(d->wait_first);
	}
	return e;
}

int replay_new(const struct model *m, const struct replay_options *o, struct replay **ret)
{
	_cleanup_(replay_freep) struct replay *r = calloc(1, sizeof(*r));
	struct emit_samples samples = { 0 };
	struct draft d = { .m = m, .r = r, .part_n = o ? o->part_n : 0 };
	int e;

	if (!r)
		return -ENOMEM;
	r->m = m;
	cpus_find(r, o);
	r->facts.missing |= o && o->damaged ? REPLAY_DAMAGED : 0;
	e = compile(r, &d, &samples);
	draft_done(&d);
	emit_samples_done(&samples);
	if (e < 0)
		return e;
	extent_find(r);
	missing_find(r);
	for (size_t s = 0; s < r->strand_n; s++)
		r->facts.strand_n += !r->strands[s].clock;
	r->facts.point_n = r->points.n;
	e = wcprof_new(&r->wcprof);
	if (e == 0)
		e = crew_run(2, baseline_find, r);
	if (e < 0)
		return e;
	*ret = TAKE_PTR(r);
	return 0;
}

void replay_facts(const struct replay *r, struct replay_facts *ret)
{
	*ret = r->facts;
}

const char *replay_missing_text(enum replay_missing bit)
{
	switch (bit) {
	case REPLAY_NO_THREADS:
		return "the dump has no threads: each chain of operations that don't overlap counts as one";
	case REPLAY_NO_WAKERS:
		return "the dump does not say who ended a wait: waits without a target keep their length";
	case REPLAY_NO_RUNNABLE:
		return "the dump does not tell waiting for a CPU from other time: CPUs count as unlimited";
	case REPLAY_NO_SAMPLES:
		return "no samples (record with --mode wall): functions have their delays only, no time on the CPU";
	case REPLAY_NO_SAMPLE_TIMES:
		return "samples have no times: CPU time of functions is spread evenly over their thread";
	case REPLAY_NO_STACKS:
		return "the dump has no stacks: nothing is known of functions";
	case REPLAY_NO_CPUS:
		return "the dump does not say how many CPUs there were";
	case REPLAY_EVENTS_LOST:
		return "events were lost: parts of the graph are missing";
	case REPLAY_WAKERS_UNKNOWN:
		return "who ended some waits on the critical path is not known";
	case REPLAY_ANSWERS_UNKNOWN:
		return "goroutines on the critical path waited for the network: whether who answered is recorded is not known";
	case REPLAY_OPEN:
		return "the target went on when the recording ended";
	case REPLAY_DAMAGED:
		return "the file is damaged: what its bad lines told is missing";
	}
	return "";
}
