/* SPDX-License-Identifier: (LGPL-2.1 OR BSD-2-Clause) */
/*
 * A capture without BPF, for tests of the command line: the same door, a small
 * model made of facts it can see itself. FAKE_CAPTURE="word=value,..." in the
 * environment says what goes wrong:
 *
 *   start=missing|denied|failed  poll=ERRNO  stop=ERRNO  lost=N  rows=0
 *   start_ms=N  stop_ms=N (how long the call takes)
 *
 * Its diagnostics tell what the session did: whether the target had already
 * become another program when recording began, and the options it was given.
 */
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/epoll.h>
#include <time.h>
#include <unistd.h>

#include "capture/capture.h"
#include "util/cleanup.h"

struct capture {
	int fd;
	struct capture_options o;
	uint32_t ids[8];
	uint64_t begin_ns;
	struct model *model;
	char line[3][256];
	const char *lines[4];
};

static uint64_t now_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (uint64_t)t.tv_sec * 1000000000ull + (uint64_t)t.tv_nsec;
}

/* The value of a word of FAKE_CAPTURE, "" if it isn't there. */
static const char *wish(const char *word, char *buffer, size_t size)
{
	const char *all = getenv("FAKE_CAPTURE");
	size_t n = strlen(word);

	buffer[0] = '\0';
	for (const char *p = all; p && *p; p += strcspn(p, ","), p += *p == ',')
		if (strncmp(p, word, n) == 0 && p[n] == '=')
			snprintf(buffer, size, "%.*s", (int)strcspn(p + n + 1, ","), p + n + 1);
	return buffer;
}

static long wish_number(const char *word)
{
	char buffer[32];

	return strtol(wish(word, buffer, sizeof(buffer)), NULL, 10);
}

static void wish_sleep(const char *word)
{
	long ms = wish_number(word);
	struct timespec t = {.tv_sec = ms / 1000, .tv_nsec = ms % 1000 * 1000000};

	nanosleep(&t, NULL);
}

static bool same_program(uint32_t pid)
{
	char path[64], own[512] = "", theirs[512] = "";

	snprintf(path, sizeof(path), "/proc/%u/exe", pid);
	return readlink("/proc/self/exe", own, sizeof(own) - 1) > 0 &&
	       readlink(path, theirs, sizeof(theirs) - 1) > 0 && strcmp(own, theirs) == 0;
}

static int start_refuse(const char *how, struct capture_error *ret)
{
	bool missing = strcmp(how, "missing") == 0;

	ret->missing = missing;
	ret->kind = strcmp(how, "denied") == 0 ? "permission_denied" : "load_failed";
	snprintf(ret->message, sizeof(ret->message), "fake: %s", missing ? "the kernel has no BTF" : "refused");
	return missing ? -EOPNOTSUPP : -EPERM;
}

int capture_start(const struct capture_options *o, struct capture **ret, struct capture_error *ret_error)
{
	char how[32];
	struct capture *c;

	wish_sleep("start_ms");
	if (*wish("start", how, sizeof(how)))
		return start_refuse(how, ret_error);
	c = calloc(1, sizeof(*c));
	if (!c || model_new(&c->model) < 0) {
		free(c);
		return -ENOMEM;
	}
	c->o = *o;
	for (size_t i = 0; i < o->id_n && i < 8; i++)
		c->ids[i] = o->ids[i];
	c->fd = epoll_create1(EPOLL_CLOEXEC);
	c->begin_ns = now_ns();
	snprintf(c->line[0], sizeof(c->line[0]), "before_exec=%d", o->id_n ? same_program(o->ids[0]) : -1);
	snprintf(c->line[1], sizeof(c->line[1]),
		 "scope=%d ids=%zu inherit=%d min_ns=%llu event_cap=%zu keep_args=%d symbols=%d user_stacks=%d "
		 "copies=%d sample_hz=%u rows_by_thread=%d",
		 o->scope, o->id_n, o->inherit, (unsigned long long)o->min_ns, o->event_cap, o->keep_args, o->symbols,
		 (int)o->user_stacks, o->copies, o->sample_hz, o->rows_by_thread);
	c->lines[0] = c->line[0];
	c->lines[1] = c->line[1];
	*ret = c;
	return 0;
}

int capture_fd(const struct capture *c)
{
	return c->fd;
}

int capture_poll(struct capture *c)
{
	(void)c;
	return -(int)wish_number("poll");
}

void capture_status(struct capture *c, struct capture_status *ret)
{
	*ret = (struct capture_status){.intervals = now_ns() - c->begin_ns, .threads = 1};
}

bool capture_targets_gone(const struct capture *c)
{
	if (c->o.scope != CAPTURE_PIDS && c->o.scope != CAPTURE_TIDS)
		return false;
	for (size_t i = 0; i < c->o.id_n && i < 8; i++)
		if (kill((pid_t)c->ids[i], 0) == 0)
			return false;
	return true;
}

/* One process, one thread, one wait of half the recording. */
static int model_fill(struct capture *c)
{
	struct model *m = c->model;
	char rows[8];
	uint32_t op, thread, process, row, wait, name;

	m->end_ns = (int64_t)(now_ns() - c->begin_ns);
	m->event_cap = c->o.event_cap;
	m->integrity.attempted = m->integrity.recorded = 1;
	m->integrity.lost_ring_full = (uint64_t)wish_number("lost");
	m->integrity.attempted += m->integrity.lost_ring_full;
	if (strcmp(wish("rows", rows, sizeof(rows)), "0") == 0)
		return 0;
	if (strtab_intern(m->strings, "worker", &name) < 0 || model_process_add(m, &process) < 0 ||
	    model_thread_add(m, &thread) < 0 || model_op_add(m, &op) < 0 || model_row_add(m, &row) < 0 ||
	    model_wait_add(m, &wait) < 0)
		return -ENOMEM;
	m->processes[process] = (struct model_process){.pid = c->ids[0], .comm_id = name, .op = op};
	m->threads[thread] = (struct model_thread){.pid = c->ids[0], .tid = c->ids[0], .process = process,
		.comm_id = name, .op = op, .end_ns = m->end_ns, .blocked_ns = (uint64_t)m->end_ns, .interval_n = 1,
		.has_totals = true};
	m->ops[op] = (struct model_op){.id = op, .end_ns = m->end_ns, .class_id = name, .pid = c->ids[0],
		.tid = c->ids[0], .kind = OP_EXEC, .work = WORK_USER};
	m->rows[row] = (struct model_row){.count = 1, .blocked_ns = (uint64_t)m->end_ns, .comm_id = name,
		.syscall = -1, .reason = REASON_SLEEP, .thread = c->o.rows_by_thread ? thread : 0};
	m->waits[wait] = (struct model_wait){.end_ns = m->end_ns, .blocked_ns = m->end_ns, .wake_ns = -1,
		.row = row, .op = op, .thread = thread};
	return 0;
}

int capture_stop(struct capture *c)
{
	wish_sleep("stop_ms");
	if (wish_number("stop"))
		return -(int)wish_number("stop");
	return model_fill(c);
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
	(void)c;
	*ret_run_n = 10;
	*ret_run_ns = 4000;
}

void capture_sample_cost(const struct capture *c, uint64_t *ret_run_n, uint64_t *ret_run_ns)
{
	(void)c;
	*ret_run_n = 2;
	*ret_run_ns = 1500;
}

int capture_switch(struct capture *c, bool on)
{
	(void)c, (void)on;
	return 0;
}

void capture_stacks(const struct capture *c, uint64_t *ret_taken_n, uint64_t *ret_done_n)
{
	(void)c;
	*ret_taken_n = *ret_done_n = 0;
}

int capture_open_look(struct capture *c)
{
	(void)c;
	return 0;
}

int capture_account(struct capture *c)
{
	(void)c;
	return 0;
}

int capture_snapshot(struct capture *c)
{
	(void)c;
	return 0;
}

int capture_settle(struct capture *c)
{
	(void)c;
	return 0;
}

int capture_flush(struct capture *c)
{
	(void)c;
	return 0;
}

void capture_flush_drop(struct capture *c)
{
	(void)c;
}

struct capture *capture_free(struct capture *c)
{
	if (!c)
		return NULL;
	closep(&c->fd);
	model_free(c->model);
	free(c);
	return NULL;
}

int capture_doctor(uint32_t pid, struct capture_check **ret, size_t *ret_n)
{
	struct capture_check *checks = calloc(3, sizeof(*checks));
	char how[32];

	if (!checks)
		return -ENOMEM;
	checks[0] = (struct capture_check){CHECK_OK, "BTF", "found"};
	checks[1] = (struct capture_check){CHECK_DEGRADED, "tracefs", "not mounted: \"results\" unknown"};
	snprintf(checks[2].what, sizeof(checks[2].what), "process %u", pid);
	checks[2].state = *wish("start", how, sizeof(how)) ? CHECK_MISSING : CHECK_OK;
	*ret = checks;
	*ret_n = pid ? 3 : 2;
	return 0;
}

const char *const *capture_caveats(const struct capture *c)
{
	static const char *const none[] = { NULL };

	(void)c;
	return none;
}

const char *const *capture_notes(const struct capture *c)
{
	return capture_caveats(c);
}

int capture_points(const struct capture *c, struct capture_point **ret, size_t *ret_n)
{
	(void)c, (void)ret, (void)ret_n;
	return -ENOENT;
}

void capture_point_costs(const struct capture *c, uint64_t *ret_hit_ns, uint64_t *ret_stepped_ns, uint64_t *ret_value_ns)
{
	(void)c;
	*ret_hit_ns = *ret_stepped_ns = *ret_value_ns = 0;
}
