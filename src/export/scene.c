/* SPDX-License-Identifier: (LGPL-2.1 OR BSD-2-Clause) */
/*
 * Entries are sorted by what they belong to instead of being kept in
 * a list each: a recording has 100,000 threads or one with a million waits.
 */
#include "export/scene.h"

#include <errno.h>
#include <stdlib.h>

#include "export/label.h"
#include "export/lives.h"
#include "export/pairs.h"
#include "util/cleanup.h"
#include "util/vec.h"

enum group_kind { GROUP_PROCESS = 1, GROUP_PID, GROUP_CLIENT };

/* Whose a wait is; one may be a goroutine's and its thread's. */
struct belonging {
	uint32_t actor, wait;
};

struct building {
	const struct export_job *job;
	const struct model *m;
	bool all_waits;
	struct lives lives;
	struct belonging *belongings;
	size_t belonging_n, belonging_cap;
	struct pairs group_numbers;
	uint32_t *thread_of_op; /* of ops that stand for a thread */
	size_t group_cap, actor_cap, item_cap;
	uint32_t *own_actor;	/* by group: actor + 1 */
	size_t own_cap;
	struct scene s;
};

static void building_done(struct building *b)
{
	lives_done(&b->lives);
	free(b->belongings);
	pairs_done(&b->group_numbers);
	free(b->thread_of_op);
	free(b->own_actor);
	scene_done(&b->s);
}

void scene_done(struct scene *s)
{
	free(s->groups);
	free(s->actors);
	free(s->items);
	free(s->waits);
	free(s->actor_of_thread);
	free(s->actor_of_op);
	*s = (struct scene){ 0 };
}

/* A group by what it is; new ones are appended. */
static int group_at(struct building *b, enum group_kind kind, uint32_t id, uint32_t *ret)
{
	struct scene *s = &b->s;
	uint32_t number;
	bool is_new;

	if (pairs_intern(&b->group_numbers, kind, id, &number, &is_new) < 0)
		return -ENOMEM;
	*ret = number - 1;
	if (!is_new)
		return 0;
	if (VEC_RESERVE(s->groups, b->group_cap, s->group_n + 1) < 0 ||
	    VEC_RESERVE(b->own_actor, b->own_cap, s->group_n + 1) < 0)
		return -ENOMEM;
	b->own_actor[s->group_n] = 0;
	s->groups[s->group_n++] = (struct scene_group){
		.process = kind == GROUP_PROCESS ? id : 0,
		.pid = kind == GROUP_PROCESS ? b->m->processes[id].pid : kind == GROUP_PID ? id : 0,
		.client_id = kind == GROUP_CLIENT ? id : 0,
		.start_ns = INT64_MAX,
	};
	return 0;
}

static int actor_add(struct building *b, uint32_t thread, uint32_t group, uint32_t *ret)
{
	struct scene *s = &b->s;

	if (s->actor_n >= UINT32_MAX - 1 || VEC_RESERVE(s->actors, b->actor_cap, s->actor_n + 1) < 0)
		return -ENOMEM;
	*ret = (uint32_t)s->actor_n;
	s->actors[s->actor_n++] = (struct scene_actor){ .thread = thread, .group = group };
	return 0;
}

static void group_reaches(struct building *b, uint32_t group, int64_t start_ns)
{
	if (start_ns < b->s.groups[group].start_ns)
		b->s.groups[group].start_ns = start_ns;
}

static int threads_add(struct building *b)
{
	const struct model *m = b->m;
	uint32_t group, actor;

	b->s.actor_of_thread = calloc(m->thread_n, sizeof(*b->s.actor_of_thread));
	if (!b->s.actor_of_thread)
		return -ENOMEM;
	for (uint32_t i = 1; i < m->thread_n; i++) {
		const struct model_thread *t = &m->threads[i];

		if (t->op && t->op < m->op_n)
			b->thread_of_op[t->op] = i;
		if (b->job->threads && !b->job->threads[i])
			continue;
		if (group_at(b, t->process ? GROUP_PROCESS : GROUP_PID, t->process ? t->process : t->pid, &group) < 0 ||
		    actor_add(b, i, group, &actor) < 0)
			return -ENOMEM;
		group_reaches(b, group, t->begin_ns);
		b->s.actor_of_thread[i] = actor + 1;
	}
	return 0;
}

/* Whose the op is: a thread or goroutine, else 0 and *ret_group. Of one that isn't shown too. */
static int op_owner(struct building *b, uint32_t op, uint32_t *ret_thread, uint32_t *ret_group)
{
	const struct model_op *o = &b->m->ops[op];
	bool of_process = lives_op_is_process(b->m, op);
	uint32_t process;

	*ret_thread = of_process ? 0 :
		      o->goid	 ? lives_goroutine(&b->lives, o->pid, o->goid, o->start_ns) :
		      o->tid	 ? lives_thread(&b->lives, o->pid, o->tid, o->start_ns) : 0;
	if (*ret_thread)
		return 0;
	if (!o->pid)
		return group_at(b, GROUP_CLIENT, o->client_id, ret_group);
	process = lives_process(&b->lives, o->pid, o->start_ns);
	return group_at(b, process ? GROUP_PROCESS : GROUP_PID, process ? process : o->pid, ret_group);
}

static int item_add(struct building *b, uint32_t actor, uint32_t op, uint32_t wait, int64_t start_ns, int64_t end_ns)
{
	struct scene *s = &b->s;

	if (s->item_n >= UINT32_MAX || VEC_RESERVE(s->items, b->item_cap, s->item_n + 1) < 0)
		return -ENOMEM;
	/* Until all are sorted, lane is the actor. */
	s->items[s->item_n++] = (struct scene_item){
		.at = { .start_ns = start_ns, .end_ns = end_ns, .lane = actor }, .op = op, .wait = wait,
	};
	return 0;
}

static int op_add(struct building *b, uint32_t op)
{
	const struct model_op *o = &b->m->ops[op];
	uint32_t thread, group, actor;

	if (op_owner(b, op, &thread, &group) < 0)
		return -ENOMEM;
	if (thread) {
		if (!b->s.actor_of_thread[thread])
			return 0;
		actor = b->s.actor_of_thread[thread] - 1;
	} else {
		if (!b->own_actor[group]) {
			if (actor_add(b, 0, group, &actor) < 0)
				return -ENOMEM;
			b->own_actor[group] = actor + 1;
		}
		actor = b->own_actor[group] - 1;
		group_reaches(b, group, o->start_ns);
	}
	b->s.actor_of_op[op] = actor + 1;
	return item_add(b, actor, op, 0, o->start_ns, o->end_ns);
}

static int ops_add(struct building *b)
{
	for (uint32_t i = 1; i < b->m->op_n; i++) {
		uint32_t thread = b->thread_of_op[i];

		if (thread)
			b->s.actor_of_op[i] = b->s.actor_of_thread[thread];
		else if ((!b->job->ops || b->job->ops[i]) && op_add(b, i) < 0)
			return -ENOMEM;
	}
	return 0;
}

static int belonging_add(struct building *b, uint32_t thread, uint32_t wait)
{
	uint32_t actor = b->s.actor_of_thread[thread];

	if (!actor)
		return 0;
	if (VEC_RESERVE(b->belongings, b->belonging_cap, b->belonging_n + 1) < 0)
		return -ENOMEM;
	b->belongings[b->belonging_n++] = (struct belonging){ actor - 1, wait };
	return 0;
}

static int waits_add(struct building *b)
{
	const struct model *m = b->m;

	for (uint32_t i = 1; i < m->wait_n; i++) {
		const struct model_wait *w = &m->waits[i];
		uint32_t actor = w->thread ? b->s.actor_of_thread[w->thread] : b->s.actor_of_op[w->op];
		uint32_t thread = lives_thread_of_wait(&b->lives, m, i);

		if (b->job->waits && !b->job->waits[i])
			continue;
		if ((w->thread && belonging_add(b, w->thread, i) < 0) ||
		    (thread && thread != w->thread && belonging_add(b, thread, i) < 0) ||
		    (actor && (!w->thread || b->all_waits) && item_add(b, actor - 1, 0, i, w->start_ns, w->end_ns) < 0))
			return -ENOMEM;
	}
	return 0;
}

static int group_compare(const struct scene_group *x, const struct scene_group *y)
{
	if (x->start_ns != y->start_ns)
		return x->start_ns < y->start_ns ? -1 : 1;
	if (x->pid != y->pid)
		return x->pid < y->pid ? -1 : 1;
	return x < y ? -1 : x > y;
}

static int thread_compare(const struct model *m, uint32_t a, uint32_t b)
{
	const struct model_thread *x = &m->threads[a], *y = &m->threads[b];
	bool x_main = x->tid == x->pid, y_main = y->tid == y->pid;

	if (!x->goid != !y->goid)
		return x->goid ? 1 : -1;
	if (x->goid)
		x_main = y_main = false;
	if (x_main != y_main)
		return x_main ? -1 : 1;
	if (x->begin_ns != y->begin_ns)
		return x->begin_ns < y->begin_ns ? -1 : 1;
	if (x->tid != y->tid)
		return x->tid < y->tid ? -1 : 1;
	return a < b ? -1 : a > b;
}

static int actor_compare(const void *a, const void *b, void *arg)
{
	const struct building *building = arg;
	const struct scene_actor *x = a, *y = b;

	if (x->group != y->group)
		return group_compare(&building->s.groups[x->group], &building->s.groups[y->group]);
	if (!x->thread || !y->thread)
		return x->thread ? 1 : y->thread ? -1 : 0;
	return thread_compare(building->m, x->thread, y->thread);
}

/* Puts actors and groups in order and renumbers all that refers to them; *ret_moved: by old actor the new one. */
static int actors_order(struct building *b, uint32_t **ret_moved)
{
	struct scene *s = &b->s;
	_cleanup_(freep) uint32_t *moved = calloc(s->actor_n + 1, sizeof(*moved));
	_cleanup_(freep) struct scene_group *groups = calloc(s->group_n + 1, sizeof(*groups));
	size_t group_n = 0;

	if (!moved || !groups)
		return -ENOMEM;
	/* Each remembers its old number in item_first while it is sorted. */
	for (size_t i = 0; i < s->actor_n; i++)
		s->actors[i].item_first = i;
	if (s->actor_n)
		qsort_r(s->actors, s->actor_n, sizeof(*s->actors), actor_compare, b);
	for (size_t i = 0; i < s->actor_n; i++) {
		struct scene_actor *a = &s->actors[i];

		moved[a->item_first] = (uint32_t)i;
		a->item_first = 0;
		if (!s->groups[a->group].actor_n++)
			s->groups[a->group].actor_first = i;
	}
	/* A group's place is that of its first actor; groups without any (filtered) are left out. */
	for (size_t i = 0; i < s->actor_n; i += groups[group_n - 1].actor_n)
		groups[group_n++] = s->groups[s->actors[i].group];
	for (size_t g = 0; g < group_n; g++)
		for (size_t i = 0; i < groups[g].actor_n; i++)
			s->actors[groups[g].actor_first + i].group = (uint32_t)g;
	free(s->groups);
	s->groups = TAKE_PTR(groups);
	s->group_n = group_n;
	*ret_moved = TAKE_PTR(moved);
	return 0;
}

static int item_compare(const void *a, const void *b)
{
	const struct scene_item *x = a, *y = b;

	if (x->at.lane != y->at.lane)
		return x->at.lane < y->at.lane ? -1 : 1;
	if (x->at.start_ns != y->at.start_ns)
		return x->at.start_ns < y->at.start_ns ? -1 : 1;
	if (x->at.end_ns != y->at.end_ns)
		return x->at.end_ns > y->at.end_ns ? -1 : 1;
	/* A wait is in the op; a parent's number is less than its children's. */
	if (!x->wait != !y->wait)
		return x->wait ? 1 : -1;
	if (x->op != y->op)
		return x->op < y->op ? -1 : 1;
	return x->wait < y->wait ? -1 : x->wait > y->wait;
}

static int belonging_compare(const void *a, const void *b, void *arg)
{
	const struct model_wait *waits = arg;
	const struct belonging *x = a, *y = b;

	if (x->actor != y->actor)
		return x->actor < y->actor ? -1 : 1;
	if (waits[x->wait].start_ns != waits[y->wait].start_ns)
		return waits[x->wait].start_ns < waits[y->wait].start_ns ? -1 : 1;
	return x->wait < y->wait ? -1 : x->wait > y->wait;
}

/* Parents as numbers among the actor's items, then lanes. item_of_op: item + 1. */
static int actor_pack(struct building *b, struct scene_actor *a, uint32_t *item_of_op)
{
	struct scene_item *items = b->s.items + a->item_first;
	_cleanup_(freep) struct lanes_item *at = calloc(a->item_n + 1, sizeof(*at));
	int err;

	if (!at)
		return -ENOMEM;
	for (size_t i = 0; i < a->item_n; i++)
		if (items[i].op)
			item_of_op[items[i].op] = (uint32_t)i + 1;
	for (size_t i = 0; i < a->item_n; i++) {
		uint32_t over = items[i].op ? b->m->ops[items[i].op].parent : b->m->waits[items[i].wait].op;
		uint32_t parent = over < b->m->op_n ? item_of_op[over] : 0;

		/* What is left of another actor's numbers does not count. */
		if (parent > a->item_n || (parent && items[parent - 1].op != over))
			parent = 0;
		at[i] = (struct lanes_item){ .start_ns = items[i].at.start_ns, .end_ns = items[i].at.end_ns,
					     .parent = parent };
	}
	err = lanes_pack(at, a->item_n, a->thread != 0, &a->lane_n);
	for (size_t i = 0; i < a->item_n; i++)
		items[i].at = at[i];
	return err;
}

static int items_order(struct building *b, const uint32_t *moved)
{
	struct scene *s = &b->s;
	_cleanup_(freep) uint32_t *item_of_op = calloc(b->m->op_n, sizeof(*item_of_op));

	if (!item_of_op)
		return -ENOMEM;
	for (size_t i = 0; i < s->item_n; i++)
		s->items[i].at.lane = moved[s->items[i].at.lane];
	if (s->item_n)
		qsort(s->items, s->item_n, sizeof(*s->items), item_compare);
	for (size_t i = 0; i < s->item_n; i++)
		if (!s->actors[s->items[i].at.lane].item_n++)
			s->actors[s->items[i].at.lane].item_first = i;
	for (size_t i = 0; i < s->actor_n; i++)
		if (actor_pack(b, &s->actors[i], item_of_op) < 0)
			return -ENOMEM;
	return 0;
}

static int waits_order(struct building *b, const uint32_t *moved)
{
	struct scene *s = &b->s;

	s->waits = calloc(b->belonging_n + 1, sizeof(*s->waits));
	if (!s->waits)
		return -ENOMEM;
	for (size_t i = 0; i < b->belonging_n; i++)
		b->belongings[i].actor = moved[b->belongings[i].actor];
	if (b->belonging_n)
		qsort_r(b->belongings, b->belonging_n, sizeof(*b->belongings), belonging_compare, b->m->waits);
	for (size_t i = 0; i < b->belonging_n; i++) {
		struct scene_actor *a = &s->actors[b->belongings[i].actor];

		if (!a->wait_n++)
			a->wait_first = i;
		s->waits[s->wait_n++] = b->belongings[i].wait;
	}
	return 0;
}

int scene_make(const struct export_job *job, bool all_waits, struct scene *ret)
{
	_cleanup_(building_done) struct building b = { .job = job, .m = job->m, .all_waits = all_waits };
	_cleanup_(freep) uint32_t *moved = NULL;

	b.thread_of_op = calloc(b.m->op_n, sizeof(*b.thread_of_op));
	b.s.actor_of_op = calloc(b.m->op_n, sizeof(*b.s.actor_of_op));
	/* Nobody may have an item: places in none are asked for nevertheless. */
	if (!b.thread_of_op || !b.s.actor_of_op || VEC_RESERVE(b.s.items, b.item_cap, 1) < 0 ||
	    lives_make(b.m, &b.lives) < 0 || threads_add(&b) < 0 || ops_add(&b) < 0 || waits_add(&b) < 0 || actors_order(&b, &moved) < 0)
		return -ENOMEM;
	for (size_t i = 1; i < b.m->thread_n; i++)
		if (b.s.actor_of_thread[i])
			b.s.actor_of_thread[i] = moved[b.s.actor_of_thread[i] - 1] + 1;
	for (size_t i = 1; i < b.m->op_n; i++)
		if (b.s.actor_of_op[i])
			b.s.actor_of_op[i] = moved[b.s.actor_of_op[i] - 1] + 1;
	if (items_order(&b, moved) < 0 || waits_order(&b, moved) < 0)
		return -ENOMEM;
	*ret = b.s;
	b.s = (struct scene){ 0 };
	return 0;
}

static int64_t later(int64_t from_ns, int64_t by_ns, int64_t end_ns)
{
	return by_ns < 0 ? from_ns : by_ns > end_ns - from_ns ? end_ns : from_ns + by_ns;
}

int64_t scene_wait_ready_ns(const struct model *m, uint32_t wait)
{
	const struct model_wait *w = &m->waits[wait];

	return later(w->start_ns, w->blocked_ns, w->end_ns);
}

int64_t scene_wait_run_ns(const struct model *m, uint32_t wait)
{
	const struct model_wait *w = &m->waits[wait];

	return later(scene_wait_ready_ns(m, wait), w->runnable_ns, w->end_ns);
}

const char *scene_group_name(const struct scene *s, const struct model *m, uint32_t group)
{
	const struct scene_group *g = &s->groups[group];
	const char *client = strtab_str(m->strings, g->client_id);

	if (g->process && m->processes[g->process].op)
		return label_op(m, m->processes[g->process].op);
	for (size_t i = 0; i < g->actor_n; i++)
		if (s->actors[g->actor_first + i].thread)
			return label_thread(m, s->actors[g->actor_first + i].thread);
	return *client ? client : "ops";
}
