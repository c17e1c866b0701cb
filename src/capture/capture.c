/* SPDX-License-Identifier: (LGPL-2.1 OR BSD-2-Clause) */
/*
 * The life of a recording: load, learn, attach, seed; then drain and feed; then
 * detach, close, finish. Everything the kernel holds for us hangs on file
 * descriptors of this process, so nothing outlives it.
 */
#include <bpf/bpf.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <sys/timerfd.h>
#include <time.h>
#include <unistd.h>

#include "assemble/assemble.h"
#include "capture/owners.h"
#include "capture/programs.h"
#include "capture/skeletons.h"
#include "capture/tables.h"
#include "proc/proc.h"
#include "util/cleanup.h"
#include "util/log.h"
#include "util/map.h"

#define POLL_NS 50000000
#define RESOLVE_AGE_NS 300000000ull   /* by then the mapping records of that time have come */
#define LEAVE_NS 200000000ull	      /* a thread that exits has left the CPU for good by then */
#define SWEEP_POLLS 20			      /* about a second */
#define FILES_MIN 4096
#define NOWHERE 4096 /* an address where nobody has anything mapped, and a length */
#define PREPARE_NS 300000000ull
#define LINES_MAX 64

struct capture {
	struct capture_options options;
	struct programs *programs;
	struct rings *rings;
	struct mappings *mappings;
	struct proc_maps *maps;
	struct model *model;
	struct assemble *assemble;
	struct resolve *resolve;
	struct tables *tables; /* NULL: user stacks are not walked by tables */
	struct skeletons *skeletons; /* NULL: every kernel stack is walked */
	struct owners *owners;
	struct map *closed; /* tids whose last interval was cut by the recording's end */
	struct map *known; /* processes that are or were traced */
	struct map *leaving; /* threads between their exit and their last switch, which ends their times */
	uint64_t left_ns;    /* when the latest of them exited */
	struct map *alive; /* traced processes (TID scope: threads) that have not ended */
	int epoll_fd, timer_fd, wake_fd;
	int64_t clock_offset_ns; /* programs' clock - ours: time namespaces */
	uint64_t begin_ns;
	uint64_t bytes, polls;
	uint32_t held_pid; /* record's child that waits for its exec, 0: none */
	uint64_t held_start_ns;
	bool had_targets, stopped;
	char *lines[LINES_MAX + 1];
	size_t line_n;
};

uint64_t monotonic_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (uint64_t)t.tv_sec * 1000000000ull + t.tv_nsec;
}

/* The programs' clock. */
static uint64_t bpf_now(const struct capture *c)
{
	return monotonic_ns() + c->clock_offset_ns;
}

int capture_fail(struct capture_error *e, int err, bool missing, const char *kind, const char *fmt, ...)
{
	va_list args;

	e->missing = missing;
	e->kind = kind;
	va_start(args, fmt);
	vsnprintf(e->message, sizeof(e->message), fmt, args);
	va_end(args);
	return err;
}

/* A fact for the diagnostics, said once. */
static void line_add(struct capture *c, const char *text)
{
	if (text && c->line_n < LINES_MAX)
		c->lines[c->line_n++] = strdup(text);
}

static void mapping_take(void *arg, uint32_t pid, uint64_t time_ns, uint64_t start, uint64_t len, uint64_t pgoff,
			 uint32_t maj, uint32_t min, uint64_t ino, const char *path)
{
	struct capture *c = arg;

	if (proc_maps_add(c->maps, pid, time_ns, start, len, pgoff, maj, min, ino, path))
		c->model->integrity.lost_mappings++;
	if (c->tables)
		tables_changed(c->tables, pid);
}

static void exec_take(void *arg, uint32_t pid, uint64_t time_ns)
{
	struct capture *c = arg;

	proc_maps_exec(c->maps, pid, time_ns);
}

static bool mapping_wanted(void *arg, uint32_t pid)
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

static void tables_published(void *arg, uint32_t pid)
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

static int seed_take(void *arg, const struct wcbpf_head *e)
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

static void process_over(struct capture *c, uint32_t pid, uint64_t time_ns)
{
	proc_maps_exit(c->maps, pid, time_ns);
	if (c->tables)
		tables_exit(c->tables, pid, bpf_now(c));
}

static int lifecycle_note(struct capture *c, const struct wcbpf_head *e)
{
	bool tids = c->options.scope == CAPTURE_TIDS;

	if (e->kind == WCBPF_EV_FORK && e->size >= sizeof(struct wcbpf_fork)) {
		const struct wcbpf_fork *f = (const void *)e;

		if (f->tid == f->tgid) {
			proc_maps_fork(c->maps, f->tgid, f->parent_tgid, e->time_ns);
			tables_take(c, f->tgid, f->exec_id);
			map_put(c->known, f->tgid, 1);
			map_put(c->alive, f->tgid, 1);
			if (c->mappings)
				mappings_known(c->mappings, f->tgid);
			return resolve_forked(c->resolve, f->tgid, f->parent_tgid, e->time_ns);
		}
	} else if (e->kind == WCBPF_EV_EXEC && e->size >= offsetof(struct wcbpf_exec, argv)) {
		const struct wcbpf_exec *x = (const void *)e;

		tables_take(c, x->tgid, x->exec_id);
		if (tids && x->old_tid != x->tid && map_remove(c->alive, x->old_tid, NULL))
			map_put(c->alive, x->tid, 1);
		if (c->held_pid && x->tgid == c->held_pid)
			return held_begin(c, x);
	} else if (e->kind == WCBPF_EV_EXIT && e->size >= sizeof(struct wcbpf_exit)) {
		const struct wcbpf_exit *x = (const void *)e;

		c->left_ns = e->time_ns;
		map_put(c->leaving, x->tid, 1);
		if (x->group_dead)
			process_over(c, x->tgid, e->time_ns);
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

static int interval_take(struct capture *c, const struct wcbpf_head *e)
{
	struct wcbpf_interval interval;
	int err;

	if (e->size != sizeof(interval))
		return assemble_event(c->assemble, e) == -ENOMEM ? -ENOMEM : 0;
	memcpy(&interval, e, sizeof(interval));
	if (interval.flags & WCBPF_IV_OPEN_AT_END && is_closed_twice(c, &interval))
		return 0;
	if (interval.flags & WCBPF_IV_BEGAN_BEFORE)
		owners_fill(c->owners, &interval);
	err = resolve_use(c->resolve, interval.out_ns, &interval.ustack_id);
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

static int stack_take(struct capture *c, const struct wcbpf_stack *s)
{
	bool frames = s->side == WCBPF_STACK_USER || s->frame_n || !s->copy_len;
	int err = frames ? resolve_take(c->resolve, s) : 0;

	if (err || s->side != WCBPF_STACK_KERNEL || !c->skeletons)
		return err;
	return skeletons_learn(c->skeletons, s, bpf_now(c));
}

static int event_take(void *arg, const struct wcbpf_head *e)
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
	default:
		err = lifecycle_note(c, e);
		if (!err && assemble_event(c->assemble, e) == -ENOMEM)
			err = -ENOMEM;
		return err;
	}
	if (err == -EBADMSG) {
		c->model->integrity.lost_unprocessed++;
		return 0;
	}
	return err;
}

/* ---- start ---- */

static int loop_open(struct capture *c)
{
	struct itimerspec tick = { .it_interval.tv_nsec = POLL_NS, .it_value.tv_nsec = POLL_NS };
	struct epoll_event ev = { .events = EPOLLIN };

	c->epoll_fd = epoll_create1(EPOLL_CLOEXEC);
	c->timer_fd = timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC | TFD_NONBLOCK);
	if (c->epoll_fd < 0 || c->timer_fd < 0 || timerfd_settime(c->timer_fd, 0, &tick, NULL) ||
	    epoll_ctl(c->epoll_fd, EPOLL_CTL_ADD, c->timer_fd, &ev) ||
	    epoll_ctl(c->epoll_fd, EPOLL_CTL_ADD, c->wake_fd, &ev) ||
	    epoll_ctl(c->epoll_fd, EPOLL_CTL_ADD, rings_fd(c->rings), &ev))
		return -errno;
	if (c->mappings && epoll_ctl(c->epoll_fd, EPOLL_CTL_ADD, mappings_fd(c->mappings), &ev))
		return -errno;
	return 0;
}

/* Walks by tables; without them (no memory, a limit on maps) auto copies. */
static void tables_open(struct capture *c)
{
	struct tables_maps fds;
	int err;

	if (!programs_tables(c->programs, &fds))
		return;
	err = tables_new(&fds, c->maps, c->wake_fd, &c->tables);
	if (err)
		line_add(c, "the unwind tables can't be made: user stacks are copied, and of many only the frame pointers are followed");
}

/*
 * The tables of what is about to be recorded; of a command: of the libraries it
 * shares with us (libc). The wait is bounded: a big process begins without.
 */
static void tables_prepare_all(struct capture *c)
{
	const struct capture_options *o = &c->options;
	bool named = o->scope == CAPTURE_PIDS && !o->hold_until_exec;
	uint32_t self = (uint32_t)getpid();
	struct stat st;

	if (!c->tables)
		return;
	for (size_t i = 0; named && i < o->id_n; i++)
		if (!proc_maps_snapshot(c->maps, o->ids[i], 0))
			tables_prepare(c->tables, o->ids[i], i ? 0 : PREPARE_NS);
	if (named || proc_maps_snapshot(c->maps, self, 0))
		return;
	if (o->program && !stat(o->program, &st)) /* as if we had mapped it: what is made is the file's, not ours */
		proc_maps_add(c->maps, self, 0, NOWHERE, NOWHERE, 0, major(st.st_dev), minor(st.st_dev), st.st_ino, o->program);
	tables_prepare(c->tables, self, PREPARE_NS);
}

static int model_open(struct capture *c)
{
	struct assemble_options o = { .begin_ns = c->begin_ns, .keep_args = c->options.keep_args,
				      .event_cap = c->options.event_cap, .rows_by_thread = c->options.rows_by_thread };
	struct timespec wall;

	clock_gettime(CLOCK_REALTIME, &wall);
	o.epoch_unix_ns = (int64_t)wall.tv_sec * 1000000000ll + wall.tv_nsec;
	o.epoch_unix_ns -= (int64_t)(bpf_now(c) - c->begin_ns);
	return assemble_new(c->model, &o, &c->assemble);
}

static int seed_all(struct capture *c, struct capture_error *e)
{
	/* twice: a thread made during the first pass behind its cursor is there in the second */
	for (int pass = 0; pass < 2; pass++) {
		int err = programs_seed(c->programs, seed_take, c);

		if (err)
			return capture_fail(e, err, false, "seed_failed",
					    "the running threads can't be listed (task iterator): %s", strerror(-err));
	}
	if ((c->options.scope == CAPTURE_PIDS || c->options.scope == CAPTURE_TIDS) && !c->had_targets)
		return capture_fail(e, -ESRCH, false, "no_target", "the target has gone before tracing began");
	return 0;
}

/* A ring a CPU, a file a mapped library: the usual soft limit of 1,024 is soon reached. The workload was forked before. */
static void files_limit_raise(void)
{
	struct rlimit limit;

	if (getrlimit(RLIMIT_NOFILE, &limit))
		return;
	limit.rlim_cur = limit.rlim_max;
	if (limit.rlim_max < FILES_MIN && limit.rlim_max != RLIM_INFINITY)
		limit.rlim_cur = limit.rlim_max = FILES_MIN; /* for those who may */
	setrlimit(RLIMIT_NOFILE, &limit);
}

static int start(struct capture *c, struct capture_error *e)
{
	struct skeletons_kernel kernel;
	int err;

	files_limit_raise();
	err = programs_new(&c->options, &c->programs, e);

	if (err)
		return err;
	err = model_new(&c->model);
	if (!err)
		err = map_new(&c->alive);
	if (!err)
		err = map_new(&c->known);
	if (!err)
		err = map_new(&c->leaving);
	if (!err)
		err = owners_new(&c->owners);
	if (!err)
		err = map_new(&c->closed);
	if (!err)
		err = proc_maps_new(&c->maps);
	if (!err)
		err = programs_rings(c->programs, c->options.ring_bytes, &c->rings);
	if (err)
		return capture_fail(e, err, false, "no_memory", "recording can't be set up: %s", strerror(-err));
	c->model->event_cap = c->options.event_cap;
	c->wake_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	tables_open(c);
	err = mappings_new(mapping_take, exec_take, mapping_wanted, c, &c->mappings);
	if (err)
	{
		c->model->integrity.lost_mappings++;
		line_add(c, "mapping records can't be read (perf_event_open): names of what is mapped later are missing");
	}
	err = loop_open(c);
	if (!err)
		err = resolve_new(c->model, c->maps, c->options.symbols, &c->resolve);
	if (err)
		return capture_fail(e, err, false, "no_memory", "recording can't be set up: %s", strerror(-err));
	err = programs_attach(c->programs, &c->clock_offset_ns, e);
	if (err)
		return err;
	tables_prepare_all(c);
	c->begin_ns = bpf_now(c);
	err = model_open(c);
	if (err)
		return capture_fail(e, err, false, "no_memory", "recording can't be set up: %s", strerror(-err));
	err = resolve_start(c->resolve, c->assemble);
	if (err)
		return capture_fail(e, err, false, "no_memory", "the thread that resolves stacks can't be started: %s",
				    strerror(-err));
	if (!resolve_kernel_code(c->resolve, &kernel) &&
	    programs_learn_stacks(c->programs, &kernel, &c->skeletons) == -ENOMEM)
		return capture_fail(e, -ENOMEM, false, "no_memory", "out of memory");
	c->model->sample_hz = programs_sample_hz(c->programs);
	programs_switch_on(c->programs, c->begin_ns);
	err = seed_all(c, e);
	if (!err && c->tables)
		tables_update(c->tables, bpf_now(c), tables_published, c);
	return err;
}

int capture_start(const struct capture_options *o, struct capture **ret, struct capture_error *ret_error)
{
	struct capture *c = calloc(1, sizeof(*c));
	int err;

	if (!c)
		return capture_fail(ret_error, -ENOMEM, false, "no_memory", "out of memory");
	c->options = *o;
	c->epoll_fd = c->timer_fd = c->wake_fd = -1;
	err = start(c, ret_error);
	if (err) {
		capture_free(c);
		return err;
	}
	line_add(c, resolve_kernel_problem(c->resolve));
	for (size_t i = 0; programs_problem(c->programs, i); i++)
		line_add(c, programs_problem(c->programs, i));
	*ret = c;
	return 0;
}

/* ---- while recording ---- */

int capture_fd(const struct capture *c)
{
	return c->epoll_fd;
}

/* Mappings are told before the events that came after them: whose frames lie in which file depends on it. */
static int events_drain(struct capture *c, bool all)
{
	int err = rings_read(c->rings);

	if (c->mappings)
		mappings_drain(c->mappings, bpf_now(c), all);
	if (c->tables && !all)
		tables_update(c->tables, bpf_now(c), tables_published, c);
	if (all)
		resolve_hurry(c->resolve);
	if (!err)
		err = rings_hand_out(c->rings, all, event_take, c);
	/* of new processes and programs: their tables can't wait for the next round */
	if (c->tables && !all)
		tables_update(c->tables, bpf_now(c), tables_published, c);
	return err;
}

static int drain(struct capture *c, bool all)
{
	int err = events_drain(c, all);

	if (!err)
		err = all ? resolve_finish(c->resolve) : resolve_some(c->resolve, bpf_now(c) - RESOLVE_AGE_NS);
	return err;
}

static int gone_find(struct capture *c, uint64_t *ret)
{
	uint64_t id, one;

	for (size_t at = 0; map_next(c->alive, &at, &id, &one);) {
		if (kill((pid_t)id, 0) && errno == ESRCH) {
			*ret = id;
			return 0;
		}
	}
	return -ENOENT;
}

/* The process's op ends when its end was noticed. */
static void gone_tell(struct capture *c, uint32_t pid)
{
	struct wcbpf_exit e = { .head = { .kind = WCBPF_EV_EXIT, .size = sizeof(e), .time_ns = bpf_now(c) },
				.tid = pid, .tgid = pid, .exit_code = WCBPF_EXIT_UNKNOWN, .group_dead = 1 };

	process_over(c, pid, e.head.time_ns);
	assemble_event(c->assemble, &e.head);
}

/*
 * Every second or so: CPUs that came or went; and ends of processes that the lifecycle ring had no room for, asked from
 * the system, or an attach would never end.
 */
static void gone_sweep(struct capture *c)
{
	uint64_t counts[WCBPF_CNT_MAX], id;

	if (++c->polls % SWEEP_POLLS)
		return;
	programs_refresh(c->programs);
	programs_counts(c->programs, counts);
	if (!counts[WCBPF_CNT_LOST_LIFECYCLE])
		return;
	while (!gone_find(c, &id)) {
		map_remove(c->alive, id, NULL);
		if (c->options.scope != CAPTURE_TIDS)
			gone_tell(c, id);
	}
}

int capture_poll(struct capture *c)
{
	uint64_t ticks;

	if (read(c->timer_fd, &ticks, sizeof(ticks)) < 0 && errno != EAGAIN)
		return -errno;
	if (read(c->wake_fd, &ticks, sizeof(ticks)) < 0 && errno != EAGAIN)
		return -errno;
	gone_sweep(c);
	return drain(c, false);
}

void capture_status(struct capture *c, struct capture_status *ret)
{
	uint64_t counts[WCBPF_CNT_MAX];

	programs_counts(c->programs, counts);
	*ret = (struct capture_status){ .intervals = counts[WCBPF_CNT_INTERVALS], .lost = counts[WCBPF_CNT_LOST_RING_FULL],
					.events = model_event_n(c->model), .bytes = c->bytes,
					.threads = map_n(c->alive),
					.cap_reached = c->model->integrity.dropped_events > 0 };
}

bool capture_targets_gone(const struct capture *c)
{
	if (c->options.scope != CAPTURE_PIDS && c->options.scope != CAPTURE_TIDS)
		return false;
	return !map_n(c->alive) && (!map_n(c->leaving) || bpf_now(c) - c->left_ns > LEAVE_NS);
}

/* ---- stop ---- */

static void integrity_fill(struct capture *c)
{
	struct model_integrity *i = &c->model->integrity;
	uint64_t n[WCBPF_CNT_MAX];

	programs_counts(c->programs, n);
	i->attempted = n[WCBPF_CNT_INTERVALS];
	i->below_min = n[WCBPF_CNT_BELOW_MIN];
	i->lost_ring_full = n[WCBPF_CNT_LOST_RING_FULL];
	i->lost_clock_back += n[WCBPF_CNT_CLOCK_BACK];
	i->lost_lifecycle = n[WCBPF_CNT_LOST_LIFECYCLE];
	i->lost_futex_results = n[WCBPF_CNT_LOST_FUTEX_RESULT];
	i->lost_resources = n[WCBPF_CNT_LOST_RESOURCE_BODY];
	i->lost_map_full = n[WCBPF_CNT_THREADS_FULL];
	i->lost_recursion = programs_misses(c->programs);
	i->lost_mappings += c->mappings ? mappings_lost(c->mappings) : 0;
	i->unmatched_wakes = n[WCBPF_CNT_WAKE_UNSEEN];
	i->inferred_switches = n[WCBPF_CNT_INFERRED];
	i->unbalanced = n[WCBPF_CNT_UNBALANCED];
	i->samples = n[WCBPF_CNT_SAMPLES];
	i->lost_samples += n[WCBPF_CNT_LOST_SAMPLES];
	i->mismatched_kernel_stacks = n[WCBPF_CNT_SKELETON_WRONG];
}

/* Which CPU lost what: a line for each that did. */
static void losses_by_cpu(struct capture *c)
{
	static const struct {
		enum wcbpf_counter counter;
		const char *what;
	} losses[] = {
		{ WCBPF_CNT_LOST_RING_FULL, "intervals (ring full)" },
		{ WCBPF_CNT_LOST_STACK_BODY, "stack bodies (ring full)" },
		{ WCBPF_CNT_LOST_RESOURCE_BODY, "names of files (ring full)" },
		{ WCBPF_CNT_LOST_LIFECYCLE, "fork, exec or exit events (ring full)" },
		{ WCBPF_CNT_LOST_FUTEX_RESULT, "results of futex calls (ring full)" },
		{ WCBPF_CNT_THREADS_FULL, "threads (map full)" },
		{ WCBPF_CNT_CLOCK_BACK, "intervals (clock gone back)" },
		{ WCBPF_CNT_UNBALANCED, "intervals (switch-out not seen)" },
		{ WCBPF_CNT_LOST_SAMPLES, "samples (ring full)" },
		{ WCBPF_CNT_SKELETON_WRONG, "kernel stacks to others (--kernel-stacks walk avoids that)" },
	};
	uint64_t n[WCBPF_CNT_MAX];
	char line[200];

	for (uint32_t cpu = 0; programs_counts_of_cpu(c->programs, cpu, n); cpu++)
		for (size_t i = 0; i < sizeof(losses) / sizeof(losses[0]); i++) {
			if (!n[losses[i].counter])
				continue;
			snprintf(line, sizeof(line), "CPU %u lost %llu %s", cpu,
				 (unsigned long long)n[losses[i].counter], losses[i].what);
			line_add(c, line);
		}
}

static int close_take(void *arg, const struct wcbpf_head *e)
{
	struct capture *c = arg;

	return rings_push(c->rings, e);
}

static void skeletons_tell(struct capture *c)
{
	uint64_t n[WCBPF_CNT_MAX];

	if (!c->skeletons)
		return;
	programs_counts(c->programs, n);
	log_debug("kernel stacks: %zu skeletons gave %llu, of which %llu were walked as well, %llu of them others",
		  skeletons_n(c->skeletons), (unsigned long long)n[WCBPF_CNT_SKELETON_HITS],
		  (unsigned long long)n[WCBPF_CNT_SKELETON_CHECKS], (unsigned long long)n[WCBPF_CNT_SKELETON_WRONG]);
}

static void tables_tell(struct capture *c)
{
	struct tables_stats s;

	if (!c->tables)
		return;
	tables_stats(c->tables, &s);
	log_debug("unwind tables: %zu files, %llu bytes, %u rules, %zu rows can't be expressed, made in %llu ms", s.file_n,
		  (unsigned long long)s.bytes, s.rule_n, s.unsupported_n, (unsigned long long)s.build_ns / 1000000);
	if (s.full_n)
		line_add(c, "the unwind tables were full: some user stacks are copied, or follow frame pointers alone");
}

/* The workload's end is known before its last thread's last switch: gives that a moment. */
static void leave_wait(struct capture *c)
{
	static const struct timespec pause = { .tv_nsec = 2000000 };

	for (int i = 0; i < 10; i++) {
		nanosleep(&pause, NULL);
		if (events_drain(c, false) || (i > 1 && !map_n(c->leaving)))
			return;
	}
}

static void notes_tell(struct capture *c)
{
	const char *const *notes;
	size_t n = resolve_notes(c->resolve, &notes);

	for (size_t i = 0; i < n; i++)
		line_add(c, notes[i]);
}

int capture_stop(struct capture *c)
{
	uint64_t end;
	int err, closed;

	if (c->stopped)
		return 0;
	c->stopped = true;
	leave_wait(c);
	end = bpf_now(c);
	programs_end(c->programs, end);
	closed = programs_close(c->programs, close_take, c);
	if (closed)
		line_add(c, "threads that were off the CPU at the end are missing (task iterator failed)");
	programs_detach(c->programs);
	integrity_fill(c);
	losses_by_cpu(c);
	tables_tell(c);
	skeletons_tell(c);
	err = drain(c, true);
	notes_tell(c);
	closed = assemble_finish(c->assemble, end);
	c->model->integrity.lost_unprocessed += rings_damaged(c->rings);
	return err ? err : closed;
}

struct model *capture_model(struct capture *c)
{
	return c->model;
}

const char *const *capture_diagnostics(const struct capture *c)
{
	return (const char *const *)c->lines;
}

void capture_cost(const struct capture *c, uint64_t *ret_run_n, uint64_t *ret_run_ns)
{
	programs_cost(c->programs, ret_run_n, ret_run_ns);
}

void capture_sample_cost(const struct capture *c, uint64_t *ret_run_n, uint64_t *ret_run_ns)
{
	programs_sample_cost(c->programs, ret_run_n, ret_run_ns);
}

struct capture *capture_free(struct capture *c)
{
	if (!c)
		return NULL;
	if (c->epoll_fd >= 0)
		close(c->epoll_fd);
	if (c->timer_fd >= 0)
		close(c->timer_fd);
	tables_free(c->tables); /* its thread writes to wake_fd */
	if (c->wake_fd >= 0)
		close(c->wake_fd);
	mappings_free(c->mappings);
	rings_free(c->rings);
	skeletons_free(c->skeletons);
	programs_free(c->programs);
	resolve_free(c->resolve);
	assemble_free(c->assemble);
	proc_maps_free(c->maps);
	map_free(c->alive);
	map_free(c->known);
	owners_free(c->owners);
	map_free(c->closed);
	map_free(c->leaving);
	model_free(c->model);
	for (size_t i = 0; i < c->line_n; i++)
		free(c->lines[i]);
	free(c);
	return NULL;
}
