/* SPDX-License-Identifier: (LGPL-2.1 OR BSD-2-Clause) */
/*
 * A dump is asked for now and made a little later: when what had happened by
 * now has come through the kernel's buffers, and its stacks have their frames.
 * One at a time, by a copy of the process (live-job.c); recording goes on.
 *
 * A checkpoint is the dump at stop, written early and again, so that whoever
 * kills us finds the last one whole.
 */
#include "cmd/live.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

#include "cmd/live-job.h"
#include "serve/serve.h"
#include "util/log.h"
#include "util/strtab.h"

#define MS 1000000ull
/* Two rounds of the rings, and what a round may take. */
#define COME_NS (150 * MS)
/* For names that take longer a dump doesn't wait: they are in the next. */
#define STACKS_NS (3000 * MS)
/* Checkpoints of large recordings take no more than a twentieth of a CPU. */
enum { CHECKPOINT_REST = 19 };
#define DRAIN_NS (10000 * MS)

/* The next dump. */
struct want {
	bool is, checkpoint, flush;
	uint64_t since_ns;
	bool has_target;
	uint64_t target; /* stacks that are waited for */
};

struct live {
	struct live_options o;
	struct facts facts;
	struct serve *serve; /* NULL: no endpoint */
	struct capture *capture;
	struct want dump, checkpoint;
	struct live_job job;
	uint64_t checkpoint_due_ns;
	struct strtab *texts; /* of all dumps, at the end */
	int epoll_fd, texts_fd;
	bool on, active, open_failed;
};

static uint64_t now_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (uint64_t)t.tv_sec * 1000000000ull + (uint64_t)t.tv_nsec;
}

/* ---- what requests ask ---- */

static void host_state(void *arg, bool *ret_enabled, bool *ret_active)
{
	const struct live *l = arg;

	*ret_enabled = l->on;
	*ret_active = l->active && l->capture;
}

static int host_set(void *arg, bool on)
{
	struct live *l = arg;
	int r = l->capture ? capture_switch(l->capture, on) : 0;

	if (r < 0)
		return r;
	if (l->on && !on && l->o.config->checkpoint_ns)
		l->checkpoint_due_ns = 0;
	l->on = on;
	l->active |= on;
	return 0;
}

static void host_dump(void *arg, bool flush)
{
	struct live *l = arg;

	l->dump = (struct want){.is = true, .flush = flush, .since_ns = now_ns()};
}

/* ---- its life ---- */

static int epoll_add(struct live *l, int fd)
{
	struct epoll_event event = {.events = EPOLLIN};

	return epoll_ctl(l->epoll_fd, EPOLL_CTL_ADD, fd, &event) < 0 ? -errno : 0;
}

static int live_listen(struct live *l, char **ret_why)
{
	struct serve_host host = {.arg = l, .state = host_state, .set = host_set, .dump = host_dump};
	int r = serve_new(l->o.config->listen, l->o.uid, l->o.gid, &host, &l->serve, ret_why);

	return r < 0 ? r : epoll_add(l, serve_fd(l->serve));
}

int live_new(const struct live_options *o, struct live **ret, char **ret_why)
{
	_cleanup_(live_freep) struct live *l = calloc(1, sizeof(*l));
	int r;

	if (!l)
		return -ENOMEM;
	l->o = *o;
	l->job.result_fd = l->job.file_fd = -1;
	l->on = l->active = !o->config->starts_off;
	l->texts_fd = -1;
	l->epoll_fd = epoll_create1(EPOLL_CLOEXEC);
	if (l->epoll_fd < 0)
		return -errno;
	l->texts_fd = memfd_create("wcbpf-texts", MFD_CLOEXEC);
	if (l->texts_fd < 0)
		return -errno;
	facts_init(&l->facts, o->config, o->target, o->options, o->command);
	r = o->config->listen ? live_listen(l, ret_why) : 0;
	if (r < 0)
		return r;
	*ret = TAKE_PTR(l);
	return 0;
}

struct live *live_free(struct live *l)
{
	if (!l)
		return NULL;
	live_job_kill(&l->job);
	serve_free(l->serve);
	facts_done(&l->facts);
	strtab_free(l->texts);
	closep(&l->epoll_fd);
	closep(&l->texts_fd);
	free(l);
	return NULL;
}

int live_fd(const struct live *l)
{
	return l->epoll_fd;
}

void live_begin(struct live *l, struct capture *c)
{
	l->capture = c;
	l->checkpoint_due_ns = now_ns() + l->o.config->checkpoint_ns;
	/* As it was switched while there was nothing to switch. */
	if (l->on == l->o.config->starts_off && capture_switch(c, l->on) < 0)
		log_warning("recording can't be switched: %s", strerror(ENOMEM));
}

/* ---- dumps ---- */

static void open_look(struct live *l)
{
	int r = capture_open_look(l->capture);

	if (r < 0 && !l->open_failed)
		log_warning("dumps lack the waits that go on (task iterator): %s", strerror(-r));
	l->open_failed |= r < 0;
}

/* Has all come that there was when it was asked for? */
static bool is_ready(struct live *l, struct want *w, uint64_t now)
{
	uint64_t taken, done;

	if (now - w->since_ns < COME_NS)
		return false;
	if (!w->has_target)
		open_look(l);
	capture_stacks(l->capture, &taken, &done);
	if (!w->has_target)
		w->target = taken;
	w->has_target = true;
	return done >= w->target || now - w->since_ns > STACKS_NS;
}

/* The last one took that long. */
static void checkpoint_later(struct live *l, uint64_t took_ns)
{
	uint64_t rest_ns = took_ns * CHECKPOINT_REST, least_ns = l->o.config->checkpoint_ns;

	l->checkpoint.is = false;
	l->checkpoint_due_ns = now_ns() + (rest_ns > least_ns ? rest_ns : least_ns);
}

static void job_failed(struct live *l, bool checkpoint, int err)
{
	if (!checkpoint) {
		serve_dump_done(l->serve, err, -1, 0);
		return;
	}
	log_warning("%s/stop.ndjson.gz could not be written: %s; the one before stays", output_dir_path(l->o.dir),
		    strerror(-err));
	checkpoint_later(l, 0);
}

static void job_begin(struct live *l, const struct want *w)
{
	struct live_job_request q = {
		.capture = l->capture,
		.dir = l->o.dir,
		.facts = &l->facts.output,
		.texts_fd = l->texts_fd,
		.checkpoint = w->checkpoint,
		.flush = w->flush,
	};
	uint64_t begin_ns = now_ns();
	int r;

	output_keep(l->o.dir);
	open_look(l);
	r = live_job_begin(&q, &l->job);
	if (r < 0) {
		job_failed(l, w->checkpoint, r);
		return;
	}
	l->job.begin_ns = begin_ns;
	epoll_add(l, l->job.result_fd);
	log_debug("dump: recording stood still for %llu us", (unsigned long long)(now_ns() - begin_ns) / 1000);
}

/* What is taken out of the model, that took how long. */
static void flush_end(struct live *l, int err)
{
	uint64_t begin_ns = now_ns();
	int r = 0;

	if (err)
		capture_flush_drop(l->capture);
	else
		r = capture_flush(l->capture);
	if (r < 0)
		log_warning("what was dumped could not all be taken out: %s", strerror(-r));
	log_debug("flush: recording stood still for %llu us", (unsigned long long)(now_ns() - begin_ns) / 1000);
}

static void job_poll(struct live *l)
{
	bool checkpoint = l->job.file_fd < 0;
	uint64_t size;
	int r = live_job_poll(&l->job, &size);

	if (r == -EAGAIN)
		return;
	if (l->job.flush)
		flush_end(l, r);
	if (checkpoint)
		checkpoint_later(l, now_ns() - l->job.begin_ns);
	if (r < 0)
		job_failed(l, checkpoint, r);
	else if (!checkpoint)
		serve_dump_done(l->serve, 0, TAKE_FD(l->job.file_fd), size);
	closep(&l->job.file_fd);
	l->job.file_fd = -1;
}

static void checkpoint_ask(struct live *l, uint64_t now)
{
	if (!l->o.config->checkpoint_ns || l->checkpoint.is || now < l->checkpoint_due_ns || !l->active)
		return;
	l->checkpoint = (struct want){.is = true, .checkpoint = true, .since_ns = now};
}

void live_run(struct live *l)
{
	uint64_t now;

	if (l->serve)
		serve_run(l->serve);
	if (!l->capture)
		return;
	if (l->job.pid)
		job_poll(l);
	now = now_ns();
	checkpoint_ask(l, now);
	if (l->job.pid)
		return;
	if (l->dump.is && is_ready(l, &l->dump, now)) {
		l->dump.is = false;
		job_begin(l, &l->dump);
	} else if (l->checkpoint.is && is_ready(l, &l->checkpoint, now)) {
		l->checkpoint.is = false;
		job_begin(l, &l->checkpoint);
	}
}

/* ---- the end ---- */

void live_end(struct live *l)
{
	if (!l->capture)
		return;
	if (l->job.pid) {
		live_job_kill(&l->job);
		if (l->job.flush)
			capture_flush_drop(l->capture);
	}
	l->capture = NULL;
	if (l->serve)
		serve_close_dumps(l->serve);
}

bool live_was_on(const struct live *l)
{
	return l->active;
}

void live_facts(struct live *l, struct output_facts *f)
{
	int r = live_texts_read(l->texts_fd, &l->texts);

	if (r < 0)
		log_warning("the strings of the last dump are numbered anew: %s", strerror(-r));
	f->live = true;
	f->texts = l->texts;
}

void live_drain(struct live *l)
{
	uint64_t until_ns = now_ns() + DRAIN_NS;

	while (l->serve && serve_is_busy(l->serve) && now_ns() < until_ns) {
		struct pollfd p = {.fd = serve_fd(l->serve), .events = POLLIN};

		poll(&p, 1, 50);
		serve_run(l->serve);
	}
}
