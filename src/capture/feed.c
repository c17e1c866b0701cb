/* SPDX-License-Identifier: (LGPL-2.1 OR BSD-2-Clause) */
/*
 * What comes in while recording: events, mappings, the threads that were there.
 * Each goes to who keeps it: assemble/, the mappings over time, the unwind
 * tables, the stacks' resolver.
 */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "assemble/assemble.h"
#include "capture/constants.h"
#include "capture/owners.h"
#include "capture/probing.h"
#include "capture/programs.h"
#include "capture/reread.h"
#include "capture/skeletons.h"
#include "capture/state.h"
#include "capture/tables.h"
#include "proc/proc.h"
#include "util/cleanup.h"
#include "util/log.h"
#include "util/map.h"
#include "util/vec.h"

void feed_mapping(void *arg, uint32_t pid, uint64_t time_ns, uint64_t start, uint64_t len, uint64_t pgoff,
			 uint32_t maj, uint32_t min, uint64_t ino, const char *path)
{
	struct capture *c = arg;

	if (proc_maps_add(c->maps, pid, time_ns, start, len, pgoff, maj, min, ino, path))
		c->model->integrity.lost_mappings++;
	if (c->tables)
		tables_changed(c->tables, pid);
	if (c->probing)
		probing_changed(c->probing, pid);
}

void feed_exec(void *arg, uint32_t pid, uint64_t time_ns)
{
	struct capture *c = arg;

	proc_maps_exec(c->maps, pid, time_ns);
	if (c->probing)
		probing_execed(c->probing, pid);
}

bool feed_is_wanted(void *arg, uint32_t pid)
{
	struct capture *c = arg;

	return c->options.scope == CAPTURE_ALL || c->options.scope == CAPTURE_CGROUP ||
	       map_get(c->known, pid, NULL) || programs_traces(c->programs, pid);
}

/* A process is traced, or has a new program. Without memory its stacks are taken without tables. */
static void tables_take(struct capture *c, uint32_t pid, uint64_t exec_id)
{
	if (c->tables && tables_process(c->tables, pid, exec_id))
		log_debug("no memory for the unwind tables of process %u", pid);
}

uint64_t feed_clock(void *arg)
{
	return bpf_now(arg);
}

void feed_amended(void *arg, uint32_t pid)
{
	struct capture *c = arg;

	if (c->tables)
		tables_changed(c->tables, pid);
}

int feed_maps_again(struct capture *c, uint64_t from_ns)
{
	/* of threads the processes, of which few are known; else those that live */
	const struct map *processes = c->options.scope == CAPTURE_TIDS ? c->known : c->alive;
	uint64_t pid, value;
	int err = 0;

	c->ended_unread |= c->ended_ns >= from_ns;
	for (size_t at = 0; !err && map_next(processes, &at, &pid, &value);)
		err = reread_process(c->reread, (uint32_t)pid, from_ns, false);
	return err;
}

/*
 * The mapping records tell of an exec before the programs do. If they did not (its CPU had only just come, their ring
 * was full), what it mapped is read.
 */
static int exec_note(struct capture *c, uint32_t pid, uint64_t time_ns)
{
	uint64_t before_ns = 0;
	int err;

	map_get(c->known, pid, &before_ns);
	err = map_put(c->known, pid, time_ns);
	if (err)
		return err;
	if (c->mappings)
		mappings_known(c->mappings, pid);
	if (proc_maps_began_ns(c->maps, pid, time_ns) > before_ns)
		return 0;
	log_debug("the mapping records did not tell of an exec of process %u", pid);
	proc_maps_exec(c->maps, pid, time_ns);
	return reread_process(c->reread, pid, time_ns, true);
}

void feed_published(void *arg, uint32_t pid)
{
	struct capture *c = arg;

	/* after the flip: who was walked until now was walked by the tables before */
	if (resolve_tables_published(c->resolve, pid, bpf_now(c)))
		log_debug("no memory to tell the stacks of process %u that were walked by old tables", pid);
}

/* ---- seeding ---- */

/* record's child at its gate: it becomes part of the recording with its exec. */
static int held_take(struct capture *c, const struct wcbpf_seed *s)
{
	int err = map_put(c->known, s->tgid, 1);

	c->held_pid = s->tgid;
	c->held_start_ns = s->start_ns;
	c->had_targets = true;
	return err ? err : map_put(c->alive, s->tgid, 1);
}

static int held_begin(struct capture *c, const struct wcbpf_exec *e)
{
	struct assemble_seed seed = { .pid = e->tgid, .tid = e->tid, .start_time_ns = c->held_start_ns,
				      .now_ns = e->head.time_ns };
	char comm[WCBPF_COMM_LEN + 1];

	snprintf(comm, sizeof(comm), "%.*s", WCBPF_COMM_LEN, e->comm);
	seed.comm = comm;
	c->held_pid = 0;
	return assemble_seed(c->assemble, &seed);
}

int feed_seed(void *arg, const struct wcbpf_head *e)
{
	const struct wcbpf_seed *s = (const void *)e;
	struct capture *c = arg;
	_cleanup_(freep) char *argv = NULL;
	size_t argv_len = 0;
	struct assemble_seed seed = { .pid = s->tgid, .tid = s->tid, .start_time_ns = s->start_ns, .now_ns = c->begin_ns,
				      .parent_pid = s->parent_tgid, .parent_start_time_ns = s->parent_start_ns,
				      .before = true };
	char comm[WCBPF_COMM_LEN + 1];
	int err;

	if (e->kind != WCBPF_EV_SEED || e->size != sizeof(*s))
		return -EBADMSG;
	if (c->options.hold_until_exec)
		return held_take(c, s);
	if (!map_get(c->known, s->tgid, NULL)) {
		proc_maps_snapshot(c->maps, s->tgid, 0);
		tables_take(c, s->tgid, s->exec_id);
		proc_cmdline(s->tgid, &argv, &argv_len);
		if (c->probing) {
			probing_changed(c->probing, s->tgid);
			probing_ran(c->probing, s);
		}
	}
	snprintf(comm, sizeof(comm), "%.*s", WCBPF_COMM_LEN, s->comm);
	seed.comm = comm;
	seed.argv = argv;
	seed.argv_len = argv_len;
	err = assemble_seed(c->assemble, &seed);
	if (!err)
		err = map_put(c->known, s->tgid, 1);
	if (!err)
		err = map_put(c->alive, c->options.scope == CAPTURE_TIDS ? s->tid : s->tgid, 1);
	c->had_targets = true;
	if (!err)
		err = owners_note(c->owners, s);
	return err ? err : resolve_take_seed(c->resolve, s);
}

/* ---- feeding ---- */

void feed_process_over(struct capture *c, uint32_t pid, uint64_t time_ns)
{
	proc_maps_exit(c->maps, pid, time_ns);
	if (c->tables)
		tables_exit(c->tables, pid, bpf_now(c));
	if (c->probing)
		probing_exited(c->probing, pid);
}

void feed_peek(void *arg, const struct wcbpf_head *e)
{
	struct capture *c = arg;

	if (e->kind == WCBPF_EV_FORK && e->size >= sizeof(struct wcbpf_fork)) {
		const struct wcbpf_fork *f = (const void *)e;

		if (f->tid == f->tgid)
			probing_forked(c->probing, f->tgid, f->parent_tgid, e->time_ns);
	} else if (e->kind == WCBPF_EV_EXEC && e->size >= offsetof(struct wcbpf_exec, argv)) {
		const struct wcbpf_exec *x = (const void *)e;

		if (x->old_tid && x->old_tid != x->tid)
			probing_moved(c->probing, x->tgid);
	}
}

/* Goroutines that did not run when their process ended, or became another program with that exec (0: ended). */
static int goroutines_over(struct capture *c, uint32_t pid, uint64_t exec_id, uint64_t time_ns)
{
	int err;

	if (!c->probing || !probing_go_over(c->probing, pid))
		return 0;
	err = programs_goroutines_close(c->programs, pid, exec_id, time_ns, WCBPF_GO_EXITED, feed_goroutine, c);
	return err == -ENOMEM ? err : 0;
}

static int lifecycle_note(struct capture *c, const struct wcbpf_head *e)
{
	bool tids = c->options.scope == CAPTURE_TIDS;

	if (e->kind == WCBPF_EV_FORK && e->size >= sizeof(struct wcbpf_fork)) {
		const struct wcbpf_fork *f = (const void *)e;

		if (f->tid == f->tgid) {
			proc_maps_fork(c->maps, f->tgid, f->parent_tgid, e->time_ns);
			if (c->probing)
				probing_changed(c->probing, f->tgid);
			tables_take(c, f->tgid, f->exec_id);
			map_put(c->known, f->tgid, e->time_ns);
			map_put(c->alive, f->tgid, 1);
			if (c->mappings)
				mappings_known(c->mappings, f->tgid);
			if (reread_pending(c->reread, f->parent_tgid) &&
			    reread_process(c->reread, f->tgid, e->time_ns, false))
				return -ENOMEM;
			return resolve_forked(c->resolve, f->tgid, f->parent_tgid, e->time_ns);
		}
	} else if (e->kind == WCBPF_EV_EXEC && e->size >= offsetof(struct wcbpf_exec, argv)) {
		const struct wcbpf_exec *x = (const void *)e;
		int err = goroutines_over(c, x->tgid, x->exec_id, e->time_ns);

		if (err)
			return err;
		if (exec_note(c, x->tgid, e->time_ns))
			return -ENOMEM;
		tables_take(c, x->tgid, x->exec_id);
		if (tids && x->old_tid != x->tid && map_remove(c->alive, x->old_tid, NULL))
			map_put(c->alive, x->tid, 1);
		if (c->held_pid && x->tgid == c->held_pid)
			return held_begin(c, x);
	} else if (e->kind == WCBPF_EV_EXIT && e->size >= sizeof(struct wcbpf_exit)) {
		const struct wcbpf_exit *x = (const void *)e;
		int err = x->group_dead ? goroutines_over(c, x->tgid, 0, e->time_ns) : 0;

		if (err)
			return err;
		c->left_ns = e->time_ns;
		map_put(c->leaving, x->tid, 1);
		if (x->group_dead)
			c->ended_ns = e->time_ns;
		if (x->group_dead)
			feed_process_over(c, x->tgid, e->time_ns);
		if (tids)
			map_remove(c->alive, x->tid, NULL);
		else if (x->group_dead)
			map_remove(c->alive, x->tgid, NULL);
	} else if (e->kind == WCBPF_EV_THREAD && e->size >= sizeof(struct wcbpf_thread_totals)) {
		map_remove(c->leaving, ((const struct wcbpf_thread_totals *)e)->tid, NULL);
	}
	return 0;
}

/*
 * Intervals that end with the recording, from the iterator or from the thread's
 * coming back, whichever was first; both may be when they meet. They are
 * attempted like all others, but counted here.
 */
static bool is_closed_twice(struct capture *c, const struct wcbpf_interval *e)
{
	if (map_get(c->closed, e->tid, NULL))
		return true;
	map_put(c->closed, e->tid, 1);
	c->model->integrity.attempted++;
	return false;
}

/* Its owner if that is only known from outside, and its stacks as the model has them. */
static int interval_complete(struct capture *c, struct wcbpf_interval *interval, bool over)
{
	int err;

	if (interval->flags & WCBPF_IV_BEGAN_BEFORE)
		owners_fill(c->owners, interval, over);
	err = resolve_use(c->resolve, interval->out_ns, &interval->ustack_id);
	return err ? err : resolve_use(c->resolve, interval->wake_ns, &interval->waker_ustack_id);
}

static int interval_take(struct capture *c, const struct wcbpf_head *e)
{
	struct wcbpf_interval interval;
	int err;

	if (e->size != sizeof(interval))
		return assemble_event(c->assemble, e) == -ENOMEM ? -ENOMEM : 0;
	memcpy(&interval, e, sizeof(interval));
	if (interval.flags & WCBPF_IV_OPEN_AT_END && is_closed_twice(c, &interval))
		return 0;
	err = interval_complete(c, &interval, true);
	if (err)
		return err;
	return assemble_event(c->assemble, &interval.head) == -ENOMEM ? -ENOMEM : 0;
}

static int sample_take(struct capture *c, const struct wcbpf_head *e)
{
	struct wcbpf_sample sample;
	int err;

	if (e->size != sizeof(sample))
		return assemble_event(c->assemble, e) == -ENOMEM ? -ENOMEM : 0;
	memcpy(&sample, e, sizeof(sample));
	err = resolve_use(c->resolve, sample.head.time_ns, &sample.ustack_id);
	if (err)
		return err;
	return assemble_event(c->assemble, &sample.head) == -ENOMEM ? -ENOMEM : 0;
}

static int op_take(struct capture *c, const struct wcbpf_head *e)
{
	struct wcbpf_op op;
	size_t lost_n = 0;
	int err;

	if (e->size < offsetof(struct wcbpf_op, data) || e->size > sizeof(op))
		return assemble_event(c->assemble, e) == -ENOMEM ? -ENOMEM : 0;
	memcpy(&op, e, e->size);
	if (c->constants && constants_fill(c->constants, &op, &lost_n) == -ENOMEM)
		return -ENOMEM;
	c->model->integrity.lost_values += lost_n;
	err = resolve_use(c->resolve, op.head.time_ns, &op.ustack_id);
	if (err)
		return err;
	return assemble_event(c->assemble, &op.head) == -ENOMEM ? -ENOMEM : 0;
}

static int goroutine_complete(struct capture *c, struct wcbpf_go_interval *interval)
{
	int err = resolve_use(c->resolve, interval->park_ns, &interval->ustack_id);

	return err ? err : resolve_use(c->resolve, interval->wake_ns, &interval->waker_ustack_id);
}

int feed_goroutine(void *arg, const struct wcbpf_head *e)
{
	struct capture *c = arg;
	struct wcbpf_go_interval interval;
	int err;

	if (e->size != sizeof(interval))
		return assemble_event(c->assemble, e) == -ENOMEM ? -ENOMEM : 0;
	memcpy(&interval, e, sizeof(interval));
	err = goroutine_complete(c, &interval);
	if (err)
		return err;
	/* No interval of a thread: not among those attempted. One that can't be used is in lost_go_events. */
	return assemble_event(c->assemble, &interval.head) == -ENOMEM ? -ENOMEM : 0;
}

/* A goroutine comes: its function has a name, told once. */
static int birth_take(struct capture *c, const struct wcbpf_head *e)
{
	const struct wcbpf_go_birth *b = (const void *)e;
	const char *name;
	uint64_t key;
	int err = 0;

	if (e->size == sizeof(*b) && b->start_pc && c->probing) {
		key = b->start_pc ^ (uint64_t)b->tgid << 44;
		name = map_get(c->go_functions, key, NULL) ? NULL : probing_go_function(c->probing, b->tgid, b->start_pc);
		if (name)
			err = assemble_go_function(c->assemble, b->tgid, b->start_pc, name);
		if (name && !err)
			err = map_put(c->go_functions, key, 1);
	}
	if (err)
		return err;
	return assemble_event(c->assemble, e) == -ENOMEM ? -ENOMEM : 0;
}

/* Who assembles forgets a process's goroutines with its exec; if it runs a Go program by now, it has them again. */
static int go_again(struct capture *c, const struct wcbpf_head *e)
{
	if (!c->probing)
		return 0;
	if (e->kind == WCBPF_EV_FORK && e->size >= sizeof(struct wcbpf_fork)) {
		const struct wcbpf_fork *f = (const void *)e;

		return f->tid == f->tgid ? probing_go_again(c->probing, f->tgid) : 0;
	}
	if (e->kind == WCBPF_EV_EXEC && e->size >= offsetof(struct wcbpf_exec, argv))
		return probing_go_again(c->probing, ((const struct wcbpf_exec *)e)->tgid);
	return 0;
}

static int stack_take(struct capture *c, const struct wcbpf_stack *s)
{
	bool frames = s->side == WCBPF_STACK_USER || s->frame_n || !s->copy_len;
	int err = frames ? resolve_take(c->resolve, s) : 0;

	if (err || s->side != WCBPF_STACK_KERNEL || !c->skeletons)
		return err;
	return skeletons_learn(c->skeletons, s, bpf_now(c));
}

int feed_event(void *arg, const struct wcbpf_head *e)
{
	struct capture *c = arg;
	struct resource_name name;
	int err;

	c->bytes += e->size;
	switch (e->kind) {
	case WCBPF_EV_STACK:
		err = stack_take(c, (const void *)e);
		break;
	case WCBPF_EV_RESOURCE:
		if (e->size < sizeof(struct wcbpf_resource)) {
			err = -EBADMSG;
			break;
		}
		resource_name((const void *)e, &name);
		return assemble_resource_name(c->assemble, ((const struct wcbpf_resource *)e)->id, name.kind, name.name);
	case WCBPF_EV_INTERVAL:
		return interval_take(c, e);
	case WCBPF_EV_SAMPLE:
		return sample_take(c, e);
	case WCBPF_EV_OP:
		return op_take(c, e);
	case WCBPF_EV_GO_BIRTH:
		return birth_take(c, e);
	case WCBPF_EV_GO_INTERVAL:
		return feed_goroutine(c, e);
	default:
		err = lifecycle_note(c, e);
		if (!err && assemble_event(c->assemble, e) == -ENOMEM)
			err = -ENOMEM;
		return err ? err : go_again(c, e);
	}
	if (err == -EBADMSG) {
		c->model->integrity.lost_unprocessed++;
		return 0;
	}
	return err;
}

static int open_keep(struct capture *c, const void *e, size_t n)
{
	if (VEC_RESERVE(c->open, c->open_cap, c->open_n + n) < 0)
		return -ENOMEM;
	memcpy(c->open + c->open_n, e, n);
	c->open_n += n;
	return 0;
}

int feed_open(void *arg, const struct wcbpf_head *e)
{
	struct capture *c = arg;
	struct wcbpf_interval interval;
	struct wcbpf_go_interval goroutine;
	int err;

	if (e->kind == WCBPF_EV_STACK)
		return feed_event(c, e);
	if (e->kind == WCBPF_EV_INTERVAL && e->size == sizeof(interval)) {
		memcpy(&interval, e, sizeof(interval));
		err = interval_complete(c, &interval, false);
		return err ? err : open_keep(c, &interval, sizeof(interval));
	}
	if (e->kind == WCBPF_EV_GO_INTERVAL && e->size == sizeof(goroutine)) {
		memcpy(&goroutine, e, sizeof(goroutine));
		err = goroutine_complete(c, &goroutine);
		return err ? err : open_keep(c, &goroutine, sizeof(goroutine));
	}
	return 0;
}
