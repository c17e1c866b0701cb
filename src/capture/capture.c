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
#include <stdlib.h>
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

#define POLL_NS 50000000
#define POLL_SOON_NS 5000000 /* while there are maps that were read again: the next rounds tell whose they are */
#define RESOLVE_AGE_NS 300000000ull   /* by then the mapping records of that time have come */
#define HOLD_NS 20000000ull	      /* for so long a program of a probe may be preempted */
#define LEAVE_NS 200000000ull	      /* a thread that exits has left the CPU for good by then */
#define SWEEP_NS 1000000000ull
#define FILES_MIN 4096
#define NOWHERE (1ull << 56) /* an address where nobody has anything mapped */
#define PAGE 4096
#define PREPARE_NS 300000000ull

uint64_t monotonic_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (uint64_t)t.tv_sec * 1000000000ull + t.tv_nsec;
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

void capture_line_add(struct capture *c, const char *text)
{
	if (text && c->line_n < CAPTURE_LINES_MAX)
		c->lines[c->line_n++] = strdup(text);
}

/* ---- start ---- */

static int tick_set(struct capture *c, long ns)
{
	struct itimerspec tick = { .it_interval.tv_nsec = ns, .it_value.tv_nsec = ns };

	if (c->tick_ns == ns)
		return 0;
	c->tick_ns = ns;
	return timerfd_settime(c->timer_fd, 0, &tick, NULL) ? -errno : 0;
}

static int loop_open(struct capture *c)
{
	struct epoll_event ev = { .events = EPOLLIN };

	c->epoll_fd = epoll_create1(EPOLL_CLOEXEC);
	c->timer_fd = timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC | TFD_NONBLOCK);
	if (c->epoll_fd < 0 || c->timer_fd < 0 || tick_set(c, POLL_NS) ||
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
		capture_line_add(c, "the unwind tables can't be made: user stacks are copied, and of many only the frame pointers are followed");
}

/* As if we had mapped what the command will. */
static void files_pretend(struct capture *c)
{
	struct stat st;

	for (size_t i = 0; i < c->options.file_n; i++)
		if (!stat(c->options.files[i], &st))
			proc_maps_add(c->maps, (uint32_t)getpid(), 0, NOWHERE + i * PAGE, PAGE, 0, major(st.st_dev),
				      minor(st.st_dev), st.st_ino, c->options.files[i]);
}

/*
 * The tables of what is about to be recorded; of a command: of the files that it
 * will map. The wait is bounded: a big process begins without.
 */
static void tables_prepare_all(struct capture *c)
{
	const struct capture_options *o = &c->options;
	bool named = o->scope == CAPTURE_PIDS && !o->hold_until_exec;
	uint32_t self = (uint32_t)getpid();

	for (size_t i = 0; named && i < o->id_n; i++)
		if (!proc_maps_snapshot(c->maps, o->ids[i], 0) && c->tables)
			tables_prepare(c->tables, o->ids[i], i ? 0 : PREPARE_NS);
	if (named || proc_maps_snapshot(c->maps, self, 0))
		return;
	files_pretend(c);
	if (c->tables)
		tables_prepare(c->tables, self, PREPARE_NS);
}

static int model_open(struct capture *c)
{
	struct assemble_options o = { .begin_ns = c->begin_ns, .keep_args = c->options.keep_args,
				      .event_cap = c->options.event_cap, 
				      .rows_by_thread = c->options.rows_by_thread, .live = c->options.live, .only = c->options.only };
	struct timespec wall;
	int err;

	clock_gettime(CLOCK_REALTIME, &wall);
	o.epoch_unix_ns = (int64_t)wall.tv_sec * 1000000000ll + wall.tv_nsec;
	o.epoch_unix_ns -= (int64_t)(bpf_now(c) - c->begin_ns);
	err = assemble_new(c->model, &o, &c->assemble);
	/* What was going on before that is what began while it was off. */
	return err || !c->options.starts_off ? err : assemble_switch(c->assemble, false, 0);
}

static int seed_all(struct capture *c, struct capture_error *e)
{
	/* twice: a thread made during the first pass behind its cursor is there in the second */
	for (int pass = 0; pass < 2; pass++) {
		int err = programs_seed(c->programs, feed_seed, c);

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

/* 0: not known. */
static uint32_t cpus_online(void)
{
	long n = sysconf(_SC_NPROCESSORS_ONLN);

	return n > 0 ? (uint32_t)n : 0;
}

static int start(struct capture *c, struct capture_error *e)
{
	struct skeletons_kernel kernel;
	int cpu_n = libbpf_num_possible_cpus(), err;

	files_limit_raise();
	err = cpu_n < 1 ? -ENOSYS : online_new(NULL, (uint32_t)cpu_n, &c->online);
	if (err)
		return capture_fail(e, err, false, "no_cpus", "the CPUs can't be listed: %s", strerror(-err));
	err = programs_new(&c->options, c->online, &c->programs, e);
	if (err)
		return err;
	err = model_new(&c->model);
	if (!err)
		c->model->cpu_n = cpus_online();
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
		err = reread_new(c->maps, feed_clock, feed_amended, c, &c->reread);
	if (!err)
		err = programs_rings(c->programs, c->options.ring_bytes, &c->rings);
	if (err)
		return capture_fail(e, err, false, "no_memory", "recording can't be set up: %s", strerror(-err));
	c->model->event_cap = c->options.event_cap;
	c->wake_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	tables_open(c);
	err = mappings_new(c->online, feed_mapping, feed_exec, feed_is_wanted, c, &c->mappings);
	if (err) {
		c->model->integrity.lost_mappings++;
		capture_line_add(c, "mapping records can't be read (perf_event_open): names of what is mapped later are missing");
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
	err = choke_open(c);
	if (!err)
		err = choke_prepare(c);
	if (err)
		return capture_fail(e, err, false, "no_memory", "choke points can't be set up: %s", strerror(-err));
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
	c->looked_ns = c->begin_ns;
	c->model->sample_hz = programs_sample_hz(c->programs);
	programs_switch_on(c->programs, c->begin_ns);
	err = seed_all(c, e);
	if (!err && c->tables)
		tables_update(c->tables, bpf_now(c), feed_published, c);
	if (!err && c->probing)
		err = probing_tell_again(c->probing);
	if (!err && c->probing)
		err = probing_update(c->probing, bpf_now(c), c->begin_ns);
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
	capture_line_add(c, resolve_kernel_problem(c->resolve));
	for (size_t i = 0; programs_problem(c->programs, i); i++)
		capture_line_add(c, programs_problem(c->programs, i));
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
		tables_update(c->tables, bpf_now(c), feed_published, c);
	if (c->probing && !all && !err)
		err = probing_update(c->probing, bpf_now(c), c->begin_ns);
	if (c->probing)
		rings_hold(c->rings, bpf_now(c) - HOLD_NS);
	if (all) {
		reread_finish(c->reread);
		resolve_hurry(c->resolve);
	}
	if (!err)
		err = rings_hand_out(c->rings, all, feed_event, c);
	reread_round(c->reread);
	tick_set(c, reread_n(c->reread) ? POLL_SOON_NS : POLL_NS);
	/* of new processes and programs: their tables can't wait for the next round */
	if (c->tables && !all)
		tables_update(c->tables, bpf_now(c), feed_published, c);
	if (c->probing && !all && !err)
		err = probing_update(c->probing, bpf_now(c), c->begin_ns);
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

	feed_process_over(c, pid, e.head.time_ns);
	assemble_event(c->assemble, &e.head);
}

/* CPUs that came or went. A look takes microseconds, and what happens on a CPU before it is noticed is hard to know. */
static int cpus_follow(struct capture *c)
{
	uint64_t before_ns = c->looked_ns, from_ns;
	bool again;

	if (bpf_now(c) - before_ns < POLL_NS)
		return 0;
	c->looked_ns = bpf_now(c);
	online_look(c->online);
	again = c->mappings && mappings_refresh(c->mappings, before_ns, &from_ns);
	programs_refresh(c->programs, c->rings); /* takes longer */
	if (!again)
		return 0;
	c->cpu_came = true;
	return feed_maps_again(c, from_ns);
}

/*
 * Every second: ends of processes that the lifecycle ring had no room for, asked from the system, or an attach would
 * never end.
 */
static void gone_sweep(struct capture *c)
{
	uint64_t counts[WCBPF_CNT_MAX], id;

	if (monotonic_ns() - c->swept_ns < SWEEP_NS)
		return;
	c->swept_ns = monotonic_ns();
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
	int err;

	if (read(c->timer_fd, &ticks, sizeof(ticks)) < 0 && errno != EAGAIN)
		return -errno;
	if (read(c->wake_fd, &ticks, sizeof(ticks)) < 0 && errno != EAGAIN)
		return -errno;
	gone_sweep(c);
	err = cpus_follow(c);
	return err ? err : drain(c, false);
}

void capture_status(struct capture *c, struct capture_status *ret)
{
	uint64_t counts[WCBPF_CNT_MAX];

	programs_counts(c->programs, counts);
	*ret = (struct capture_status){ .intervals = counts[WCBPF_CNT_INTERVALS], .lost = counts[WCBPF_CNT_LOST_RING_FULL],
					.events = model_event_n(c->model), .bytes = c->bytes,
					.threads = assemble_threads_alive(c->assemble),
					.cap_reached = c->model->integrity.dropped_events > 0 };
}

bool capture_targets_gone(const struct capture *c)
{
	if (c->options.scope != CAPTURE_PIDS && c->options.scope != CAPTURE_TIDS)
		return false;
	return !map_n(c->alive) && (!map_n(c->leaving) || bpf_now(c) - c->left_ns > LEAVE_NS);
}

/* ---- stop ---- */

static int close_take(void *arg, const struct wcbpf_head *e)
{
	struct capture *c = arg;

	return rings_push(c->rings, e);
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
		capture_line_add(c, "threads that were off the CPU at the end are missing (task iterator failed)");
	if (c->probing) {
		if (!probing_go_is_off(c->probing) &&
		    programs_goroutines_close(c->programs, 0, 0, end, WCBPF_GO_OPEN_AT_END, close_take, c))
			capture_line_add(c, "goroutines that waited at the end are missing (map iterator failed)");
		before_end(c);
		probing_end(c->probing, end);
	}
	programs_detach(c->programs);
	account_close(c);
	err = drain(c, true);
	account_names(c);
	closed = assemble_finish(c->assemble, end);
	c->model->integrity.lost_unprocessed += rings_damaged(c->rings);
	account_untold(c);
	model_integrity_balance(&c->model->integrity);
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
	before_free(c);
	probing_free(c->probing); /* likewise */
	if (c->wake_fd >= 0)
		close(c->wake_fd);
	mappings_free(c->mappings);
	rings_free(c->rings);
	constants_free(c->constants);
	skeletons_free(c->skeletons);
	programs_free(c->programs);
	online_free(c->online);
	resolve_free(c->resolve);
	map_free(c->go_functions);
	assemble_free(c->assemble);
	reread_free(c->reread);
	proc_maps_free(c->maps);
	map_free(c->alive);
	map_free(c->known);
	owners_free(c->owners);
	map_free(c->closed);
	map_free(c->leaving);
	model_free(c->model);
	free(c->open);
	for (size_t i = 0; i < c->line_n; i++)
		free(c->lines[i]);
	for (size_t i = 0; i < c->ahead_n; i++)
		free(c->ahead[i]);
	for (size_t i = 0; i < c->caveat_n; i++)
		free(c->caveats[i]);
	for (size_t i = 0; i < c->note_n; i++)
		free(c->notes[i]);
	free(c);
	return NULL;
}
