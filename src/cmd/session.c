/* SPDX-License-Identifier: (LGPL-2.1 OR BSD-2-Clause) */
/*
 * The loop runs twice: until something ends the recording, and then, when the
 * files are written, until the workload has ended too. Before it and in between
 * (loading; resolving and writing) no loop runs; insist.h watches for an
 * impatient user.
 *
 *   DELAY (-D) -> [programs are loaded] -> RECORDING -> [files are written] -> WAITING
 */
#include "cmd/session.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/timerfd.h>
#include <time.h>

#include "cmd/cmd.h"
#include "cmd/command-files.h"
#include "cmd/ending.h"
#include "cmd/exitcode.h"
#include "cmd/facts.h"
#include "cmd/insist.h"
#include "cmd/live.h"
#include "cmd/owner.h"
#include "cmd/progress.h"
#include "cmd/signals.h"
#include "cmd/wording.h"
#include "util/log.h"
#include "util/text.h"

#define POLL_MS 100
/* A workload that got Ctrl-C or a TERM may end within this time and still have its status in the files. */
#define GRACE_NS 200000000ull

enum phase { PHASE_DELAY, PHASE_RECORDING, PHASE_WAITING };
enum stop { STOP_NONE, STOP_WORKLOAD, STOP_TARGETS, STOP_DURATION, STOP_SIGNAL, STOP_ERROR };
enum source { SOURCE_SIGNAL, SOURCE_TIMER, SOURCE_WORKLOAD, SOURCE_REPORT, SOURCE_CAPTURE, SOURCE_LIVE };

struct session {
	const struct session_options *o;
	struct output_dir *dir;
	struct capture *capture;
	struct live *live; /* NULL: no dumps while it goes on */
	struct signals signals;
	struct progress progress;
	int epoll_fd, timer_fd;
	enum phase phase;
	enum stop stop;
	uint64_t begin_ns;    /* CLOCK_MONOTONIC of the recording's begin */
	uint64_t deadline_ns; /* a signal came: recording ends then; 0: none */
	struct capture_error error; /* message empty: all is well */
	int start_error;      /* -errno: the workload could not be started */
	bool workload_ended;
	int workload_status;
	bool insisted;	      /* second signal */
	struct signals_event early; /* a first signal while programs were loaded, to be heard yet; signo 0: none */
};

static uint64_t now_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (uint64_t)t.tv_sec * 1000000000ull + (uint64_t)t.tv_nsec;
}

static void session_done(struct session *s)
{
	s->live = live_free(s->live);
	s->capture = capture_free(s->capture);
	s->dir = output_dir_free(s->dir);
	signals_done(&s->signals);
	closep(&s->timer_fd);
	closep(&s->epoll_fd);
}

static void error_set(struct session *s, const char *kind, const char *fmt, ...) __attribute__((format(printf, 3, 4)));

/* Keeps the first. */
static void error_set(struct session *s, const char *kind, const char *fmt, ...)
{
	va_list args;

	if (s->error.message[0])
		return;
	s->error.kind = kind;
	va_start(args, fmt);
	vsnprintf(s->error.message, sizeof(s->error.message), fmt, args);
	va_end(args);
}

/* ---- set-up ---- */

static int source_add(struct session *s, int fd, enum source source)
{
	struct epoll_event event = {.events = EPOLLIN, .data.u32 = source};

	return epoll_ctl(s->epoll_fd, EPOLL_CTL_ADD, fd, &event) < 0 ? -errno : 0;
}

static void source_remove(struct session *s, int fd)
{
	epoll_ctl(s->epoll_fd, EPOLL_CTL_DEL, fd, NULL);
}

static int timer_arm(struct session *s, uint64_t after_ns)
{
	struct itimerspec t = {.it_value = {.tv_sec = (time_t)(after_ns / 1000000000),
					    .tv_nsec = (long)(after_ns % 1000000000)}};

	return timerfd_settime(s->timer_fd, 0, &t, NULL) < 0 ? -errno : 0;
}

/*
 * Beside a workload wcbpf neither reads stdin nor writes stdout. Holding them
 * would keep pipes open which the workload has closed: its neighbours would
 * wait for an end of file or a SIGPIPE that never comes.
 */
static int stdio_release(void)
{
	_cleanup_(closep) int null_fd = open("/dev/null", O_RDWR | O_CLOEXEC);

	if (null_fd < 0)
		return -errno;
	for (int fd = STDIN_FILENO; fd <= STDOUT_FILENO; fd++)
		if (fd != null_fd && dup3(null_fd, fd, O_CLOEXEC) < 0)
			return -errno;
	return 0;
}

static int dir_open(struct session *s)
{
	_cleanup_(freep) char *why = NULL;
	uid_t uid;
	gid_t gid;

	owner_find(&uid, &gid);
	int r = output_dir_open(s->o->config->out_path, uid, gid, &s->dir, &why);
	if (r < 0)
		log_error("%s", why ? why : strerror(-r));
	return r;
}

static int loop_init(struct session *s)
{
	struct launch *l = s->o->launch;
	int r = signals_init(&s->signals);

	if (r < 0)
		return r;
	s->epoll_fd = epoll_create1(EPOLL_CLOEXEC);
	if (s->epoll_fd < 0)
		return -errno;
	s->timer_fd = timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC | TFD_NONBLOCK);
	if (s->timer_fd < 0)
		return -errno;
	r = source_add(s, s->signals.fd, SOURCE_SIGNAL);
	if (r == 0)
		r = source_add(s, s->timer_fd, SOURCE_TIMER);
	if (r == 0 && s->live)
		r = source_add(s, live_fd(s->live), SOURCE_LIVE);
	if (r == 0 && l)
		r = source_add(s, launch_pidfd(l), SOURCE_WORKLOAD);
	if (r == 0 && l)
		r = source_add(s, launch_report_fd(l), SOURCE_REPORT);
	return r;
}

/* ---- begin and end of recording ---- */

static void workload_go(struct session *s)
{
	int r = launch_go(s->o->launch);

	/* EPIPE: a signal of the terminal ended it while it waited; its pidfd says so */
	if (r < 0 && r != -EPIPE)
		error_set(s, "workload_not_started", "can't let the workload go: %s", strerror(-r));
}

static int recording_begin(struct session *s)
{
	_cleanup_(insist_freep) struct insist *insist = NULL;
	const struct capture_config *c = s->o->config;
	const struct target *t = s->o->target;
	uint32_t pid = s->o->launch ? (uint32_t)launch_pid(s->o->launch) : 0;
	_cleanup_(command_files_done) struct command_files files = {0};
	_cleanup_(freep) char *program = NULL;
	struct capture_options options = {
		.scope = t ? t->scope : CAPTURE_PIDS,
		.ids = t ? t->ids : &pid,
		.id_n = t ? t->id_n : 1,
		.cgroup_id = t ? t->cgroup_id : 0,
		.inherit = c->inherit,
		.hold_until_exec = s->o->launch && !t && !launch_gone(s->o->launch),
		.min_ns = c->min_ns,
		.event_cap = c->event_cap,
		.keep_args = c->keep_args,
		.symbols = c->symbols,
		.kernel_stacks = c->kernel_stacks,
		.user_stacks = c->user_stacks,
		.copies = c->copies,
		.waker_stacks = c->waker_stacks,
		.probes = c->probes && !probe_set_is_empty(c->probes) ? c->probes : NULL,
		.overhead_max = c->overhead_max,
		.only = c->only,
		.sample_hz = c->mode == OUTPUT_WALL ? c->sample_hz : 0,
		.rows_by_thread = c->mode == OUTPUT_WALL,
		.live = s->live,
		.starts_off = c->starts_off,
	};

	if (insist_new(&s->signals, s->o->launch, EXIT_OWN_FAILURE, "nothing was written", &insist) < 0)
		log_debug("no thread to watch for signals while loading");
	int r;

	if (options.hold_until_exec && !launch_find(s->o->command[0], &program) && !command_files_find(program, &files)) {
		options.files = (const char *const *)files.v;
		options.file_n = files.n;
	}
	r = capture_start(&options, &s->capture, &s->error);
	insist_stop(insist, &s->early);
	if (r < 0) {
		error_set(s, "capture_failed", "recording could not start: %s", strerror(-r));
		return r;
	}
	s->phase = PHASE_RECORDING;
	s->begin_ns = now_ns();
	if (s->live)
		live_begin(s->live, s->capture);
	r = source_add(s, capture_fd(s->capture), SOURCE_CAPTURE);
	if (r == 0 && c->duration_ns)
		r = timer_arm(s, c->duration_ns);
	if (r < 0)
		error_set(s, "capture_failed", "recording could not go on: %s", strerror(-r));
	return r;
}

/* Without a delay the workload goes when it is traced, else at once. */
static void session_begin(struct session *s)
{
	const struct session_options *o = s->o;

	if (o->config->delay_ns) {
		int r = timer_arm(s, o->config->delay_ns);

		if (r < 0)
			error_set(s, "capture_failed", "the delay could not be timed: %s", strerror(-r));
	} else {
		recording_begin(s);
	}
	if (!s->error.message[0] && o->launch)
		workload_go(s);
	if (s->error.message[0])
		s->stop = STOP_ERROR;
	else if (!o->launch && !s->progress.on)
		log_warning("%s %s; Ctrl-C ends it", s->capture ? "recording" : "waiting to record", o->target->text);
}

/* ---- events ---- */

static void signal_take(struct session *s, const struct signals_event *event)
{
	struct launch *l = s->o->launch;
	bool workload = l && launch_gone(l) && !s->workload_ended;

	if (workload && !event->from_terminal && !event->passed_on)
		launch_signal(l, event->signo);
	if (event->second)
		s->insisted = true;
	else if (s->phase == PHASE_RECORDING && workload)
		s->deadline_ns = now_ns() + GRACE_NS;
	else if (s->phase != PHASE_WAITING)
		s->stop = STOP_SIGNAL;
}

/* When the workload, if any, has been let go: so it gets the signal as if that had come now. */
static void early_signal_take(struct session *s)
{
	if (s->early.signo && s->stop == STOP_NONE)
		signal_take(s, &s->early);
	s->early.signo = 0;
}

static void on_signal(struct session *s)
{
	struct signals_event event;

	while (signals_next(&s->signals, &event) == 0)
		signal_take(s, &event);
}

static void on_timer(struct session *s)
{
	uint64_t expirations;

	if (read(s->timer_fd, &expirations, sizeof(expirations)) != sizeof(expirations))
		return;
	if (s->phase == PHASE_RECORDING)
		s->stop = STOP_DURATION;
	else if (s->phase == PHASE_DELAY && recording_begin(s) < 0)
		s->stop = STOP_ERROR;
	early_signal_take(s);
}

static void on_report(struct session *s)
{
	const char *what;
	int r;

	if (launch_report_fd(s->o->launch) < 0)
		return; /* asked already, when the workload ended */
	source_remove(s, launch_report_fd(s->o->launch));
	r = launch_started(s->o->launch, &what);
	if (r == 0 || r == -EAGAIN)
		return;
	s->start_error = r;
	error_set(s, "workload_not_started", "can't %s %s: %s", what,
		  strcmp(what, "run") == 0 ? s->o->command[0] : s->o->config->user, strerror(-r));
	s->stop = STOP_ERROR;
}

static void on_workload(struct session *s)
{
	int r;

	on_report(s);
	r = launch_status(s->o->launch, &s->workload_status);
	if (r == -EAGAIN)
		return;
	if (r < 0)
		error_set(s, "capture_failed", "the workload's exit status can't be had: %s", strerror(-r));
	source_remove(s, launch_pidfd(s->o->launch));
	s->workload_ended = true;
	if (s->stop == STOP_NONE)
		s->stop = STOP_WORKLOAD;
}

static void on_tick(struct session *s)
{
	uint64_t now = now_ns();
	int r;

	if (s->phase != PHASE_RECORDING)
		return;
	r = capture_poll(s->capture);
	if (r < 0) {
		error_set(s, "capture_failed", "recording broke off after %s: %s",
			  wording_duration(now - s->begin_ns).text, strerror(-r));
		s->stop = STOP_ERROR;
	}
	if (s->stop != STOP_NONE)
		return;
	if (s->deadline_ns && now >= s->deadline_ns)
		s->stop = STOP_SIGNAL;
	else if (s->o->target && capture_targets_gone(s->capture))
		s->stop = STOP_TARGETS;
	if (progress_due(&s->progress, now)) {
		struct capture_status status;

		capture_status(s->capture, &status);
		progress_draw(&s->progress, &status, now - s->begin_ns, now);
	}
}

static void dispatch(struct session *s, enum source source)
{
	switch (source) {
	case SOURCE_SIGNAL:
		on_signal(s);
		break;
	case SOURCE_TIMER:
		on_timer(s);
		break;
	case SOURCE_WORKLOAD:
		on_workload(s);
		break;
	case SOURCE_REPORT:
		on_report(s);
		break;
	case SOURCE_CAPTURE:
	case SOURCE_LIVE:
		break; /* on_tick() drains and serves */
	}
}

static bool loop_ends(const struct session *s)
{
	if (s->insisted)
		return true;
	return s->phase == PHASE_WAITING ? s->workload_ended : s->stop != STOP_NONE;
}

static void loop_run(struct session *s)
{
	while (!loop_ends(s)) {
		struct epoll_event events[8];
		int n = epoll_wait(s->epoll_fd, events, 8, s->phase == PHASE_RECORDING || s->live ? POLL_MS : -1);

		if (n < 0 && errno != EINTR) {
			error_set(s, "capture_failed", "waiting for events: %s", strerror(errno));
			s->stop = STOP_ERROR;
			s->insisted = s->phase == PHASE_WAITING;
		}
		for (int i = 0; i < n; i++)
			dispatch(s, events[i].data.u32);
		on_tick(s);
		if (s->live)
			live_run(s->live);
	}
}

/* ---- the files ---- */

static const char *stop_word(const struct session *s)
{
	switch (s->stop) {
	case STOP_DURATION:
		return "time is over";
	case STOP_SIGNAL:
		return "interrupted";
	case STOP_TARGETS:
		return "the target has ended";
	case STOP_ERROR:
		return "broken off";
	case STOP_WORKLOAD:
		return s->o->target ? "the command has ended" : NULL;
	default:
		return NULL;
	}
}

static bool workload_runs(const struct session *s)
{
	return s->o->launch && launch_gone(s->o->launch) && !s->workload_ended;
}

/* No recording: say why on stderr and in the summary. */
static void failure_write(struct session *s, struct facts *f)
{
	_cleanup_(freep) char *why = NULL;
	int r;

	if (!s->error.message[0])
		error_set(s, "not_started", "%s before recording began (--delay)",
			  s->stop == STOP_WORKLOAD ? "the workload ended" : "interrupted");
	facts_set_error(f, &s->error);
	log_error("%s", s->error.message);
	r = output_write_failure(s->dir, &f->output, s->o->config->out_named, &why);
	if (r == -EEXIST)
		log_warning("%s", why ? why : strerror(ENOMEM));
	else if (r < 0)
		log_error("%s", why ? why : "the summary could not be written");
	if (s->error.missing)
		log_warning("'wcbpf doctor' shows what is missing here%s%s%s", r == 0 ? "; " : "",
			    r == 0 ? output_dir_path(s->dir) : "", r == 0 ? "/offcpu.summary.json has the reason" : "");
}

/* True when all went well. */
static bool recording_write(struct session *s, struct facts *f, const char *what)
{
	_cleanup_(freep) char *why = NULL;
	const struct model *m = capture_model(s->capture);
	int r;

	if (s->error.message[0]) {
		facts_set_error(f, &s->error);
		log_error("%s", s->error.message);
	}
	r = output_write(s->dir, m, &f->output, &why);
	if (r < 0)
		log_error("%s", why ? why : strerror(-r));
	ending_print(&(struct ending){
		.model = m,
		.what = what,
		.reason = stop_word(s),
		.options = f->output.options,
		.no_rows_reason = f->output.no_rows_reason,
		.files_failed = r < 0,
		.color = options_color_for(&s->o->config->all, STDERR_FILENO),
		.out_path = output_dir_path(s->dir),
		/* A command beside a target says only how long: what has ended is it, not what was recorded. */
		.has_status = f->output.has_exit_status && !s->o->target,
		.status = s->workload_status,
		.waits = workload_runs(s),
		.workload_pid = s->o->launch ? launch_pid(s->o->launch) : 0,
	});
	if (s->o->config->strict && !model_is_complete(m)) {
		log_error("something was lost (--strict)");
		return false;
	}
	if (s->o->config->strict && f->output.point_caveats && *f->output.point_caveats) {
		log_error("%s (--strict)", *f->output.point_caveats);
		return false;
	}
	return r == 0 && !s->error.message[0];
}

/* Stops, resolves, writes. True when all went well. */
static bool session_finish(struct session *s)
{
	const struct session_options *o = s->o;
	_cleanup_(freep) char *left = NULL; /* the thread's, until that is ended */
	_cleanup_(insist_freep) struct insist *insist = NULL;
	_cleanup_(freep) char *command = o->command ? wording_command((const char *const *)o->command) : NULL;
	const char *what = o->target ? o->target->text : command;
	_cleanup_(facts_done) struct facts f = {0};

	/* Without it a second signal waits until the files are written: no reason not to write them. */
	left = text_format("of the files in %s those are whole that have their names, others may be missing",
			   output_dir_path(s->dir));
	if (insist_new(&s->signals, o->launch, EXIT_OWN_FAILURE, left ?: "not all files were written", &insist) < 0)
		log_debug("no thread to watch for signals while writing");
	if (s->live)
		live_end(s->live);
	int r = s->capture && !s->start_error ? capture_stop(s->capture) : -ENODATA;
	if (workload_runs(s))
		on_workload(s); /* it may have ended meanwhile: its status belongs into the summary */
	facts_init(&f, o->config, o->target ? o->target->text : "workload", o->options_text,
		   o->attach ? NULL : (const char *const *)o->command);
	f.output.has_exit_status = s->workload_ended && !s->start_error && !o->attach;
	f.output.exit_status = s->workload_status;
	if (r == 0) {
		facts_set_capture(&f, s->capture);
		if (s->live)
			live_facts(s->live, &f.output);
		if (s->live && !live_was_on(s->live))
			facts_set_never_on(&f);
		return recording_write(s, &f, what ? what : "?");
	}
	if (r != -ENODATA)
		error_set(s, "capture_failed", "the recording could not be completed: %s", strerror(-r));
	failure_write(s, &f);
	return false;
}

/* Before anything is attached: a port that is taken is told now. */
static int live_open(struct session *s)
{
	const struct session_options *o = s->o;
	_cleanup_(freep) char *why = NULL;
	struct live_options options = {
		.config = o->config,
		.target = o->target ? o->target->text : "workload",
		.options = o->options_text,
		.command = o->attach ? NULL : (const char *const *)o->command,
		.dir = s->dir,
	};
	int r;

	if (!capture_config_is_live(o->config))
		return 0;
	owner_find(&options.uid, &options.gid);
	r = live_new(&options, &s->live, &why);
	if (r < 0)
		log_error("%s", why ? why : strerror(-r));
	return r;
}

static int session_setup(struct session *s)
{
	int r;

	progress_init(&s->progress, s->o->launch != NULL);
	r = dir_open(s);
	if (r == 0)
		r = live_open(s);
	if (r < 0)
		return r;
	if (s->o->launch)
		r = stdio_release();
	if (r == 0)
		r = loop_init(s);
	if (r < 0)
		log_error("can't set up: %s", strerror(-r));
	return r;
}

int session_run(const struct session_options *o)
{
	_cleanup_(session_done) struct session s = {.o = o, .epoll_fd = -1, .timer_fd = -1, .signals.fd = -1};
	bool ok;

	if (session_setup(&s) < 0)
		return EXIT_OWN_FAILURE;
	session_begin(&s);
	early_signal_take(&s);
	loop_run(&s);
	progress_clear(&s.progress);
	if (s.insisted) {
		log_error("interrupted twice: nothing was written");
		return EXIT_OWN_FAILURE;
	}
	ok = session_finish(&s);
	if (s.live)
		live_drain(s.live);
	s.live = live_free(s.live);
	/* Links and maps go now, not when the workload has ended. */
	s.capture = capture_free(s.capture);
	s.phase = PHASE_WAITING;
	if (workload_runs(&s))
		loop_run(&s);
	return exitcode(&(struct exitcode_facts){
		.attach = o->attach,
		.start_error = s.start_error,
		.failed = !ok,
		.has_status = s.workload_ended,
		.status = s.workload_status,
		.left_on_signal = s.insisted ? s.signals.first_signo : 0,
	});
}
