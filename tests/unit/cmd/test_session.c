/* SPDX-License-Identifier: (LGPL-2.1 OR BSD-2-Clause) */
/* record and attach from the command line to the files and the exit code, with the fake capture. */
#include <criterion/criterion.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "rig.h"
#include "util/cleanup.h"

static void expect_summary(const struct rig *r, const char *key, const char *value)
{
	_cleanup_(freep) char *found = rig_summary(r, "wcbpf.out", key);

	cr_expect_str_eq(found, value, "%s: %s", key, found);
}

static void expect_holds(const char *text, const char *word)
{
	cr_expect_not_null(strstr(text, word), "\"%s\" is not in: %s", word, text);
}

static void expect_files_complete(const struct rig *r)
{
	_cleanup_(freep) char *wall = rig_read(r, "wcbpf.out/wall.folded.txt");

	cr_expect_eq(strncmp(wall, "worker", 6), 0, "%s", wall);
	cr_expect(rig_has(r, "wcbpf.out/wcprof.ndjson"));
	cr_expect(rig_has(r, "wcbpf.out/offcpu.diagnostics.txt"));
	expect_summary(r, "state", "summary_written");
}

Test(session, exit_codes_are_the_workloads)
{
	static const struct {
		const char *script;
		int code;
		const char *status;
	} cases[] = {{"exit 0", 0, "0"}, {"exit 7", 7, "1792"}, {"exit 255", 255, "65280"},
		     {"kill -KILL $$", 137, "9"}, {"kill -TERM $$", 143, "15"}};

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct rig r;

		rig_init(&r);
		RIG_SH(&r, cases[i].script);
		cr_expect_eq(r.code, cases[i].code, "%s: %d", cases[i].script, r.code);
		expect_summary(&r, "exit_status", cases[i].status);
		expect_files_complete(&r);
		rig_done(&r);
	}
}

Test(session, stdout_is_the_workloads_and_the_files_are_ours)
{
	struct rig r;

	rig_init(&r);
	RIG_SH(&r, "echo SAID; echo CRIED >&2; cat");
	cr_expect_str_eq(r.out, "SAID\n");
	expect_holds(r.err, "CRIED\n");
	expect_holds(r.err, "exit 0");
	expect_holds(r.err, "COMPLETE");
	expect_holds(r.err, "wcbpf report");
	_cleanup_(freep) char *diagnostics = rig_read(&r, "wcbpf.out/offcpu.diagnostics.txt");
	cr_expect_null(strstr(diagnostics, "CRIED"));
	/* tracing was on before the program was */
	expect_holds(diagnostics, "before_exec=1");
	RIG_SH(&r, "echo CRIED >&2", "-q");
	cr_expect_str_eq(r.err, "CRIED\n", "-q");
	rig_done(&r);
}

Test(session, options_reach_the_capture)
{
	struct rig r;

	rig_init(&r);
	RIG_SH(&r, "true", "-m", "10us", "--event-cap", "77", "--no-args", "--no-symbols", "--no-inherit",
	       "--call-graph", "none", "--gzip", "--mode", "stacks");
	_cleanup_(freep) char *diagnostics = rig_read(&r, "wcbpf.out/offcpu.diagnostics.txt");
	expect_holds(diagnostics, "scope=0 ids=1 inherit=0 min_ns=10000 event_cap=77 keep_args=0 symbols=0 "
				  "user_stacks=0 copies=0 sample_hz=0 rows_by_thread=0");
	cr_expect(rig_has(&r, "wcbpf.out/wcprof.ndjson.gz"));
	cr_expect(rig_has(&r, "wcbpf.out/offcpu.stacks.txt"));
	expect_summary(&r, "options", "-m 10us --event-cap 77 --no-args --no-symbols --no-inherit --call-graph none "
				      "--gzip --mode stacks");
	expect_summary(&r, "mode", "stacks");
	rig_done(&r);
}

Test(session, samples_are_asked_for_in_mode_wall_alone)
{
	static const struct {
		const char *mode, *freq, *says;
	} cases[] = {
		{NULL, NULL, "sample_hz=99 rows_by_thread=1"},
		{"--mode=wall", "-F250", "sample_hz=250 rows_by_thread=1"},
		{"--mode=time", NULL, "sample_hz=0 rows_by_thread=0"},
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct rig r;

		rig_init(&r);
		RIG_SH(&r, "true", cases[i].mode ? cases[i].mode : "-v", cases[i].freq ? cases[i].freq : "-v");
		_cleanup_(freep) char *diagnostics = rig_read(&r, "wcbpf.out/offcpu.diagnostics.txt");
		expect_holds(diagnostics, cases[i].says);
		cr_expect_eq(rig_has(&r, "wcbpf.out/wall.folded.txt"), i < 2);
		rig_done(&r);
	}
}

Test(session, program_that_is_not_there_leaves_no_trace)
{
	struct rig r;

	rig_init(&r);
	RIG_RUN(&r, "record", "--", "no-such-program-here");
	cr_expect_eq(r.code, 127);
	expect_holds(r.err, "can't run no-such-program-here: not found in PATH");
	cr_expect_not(rig_has(&r, "wcbpf.out"));
	RIG_RUN(&r, "record", "/etc/passwd");
	cr_expect_eq(r.code, 126);
	expect_holds(r.err, "can't run /etc/passwd: Permission denied");
	cr_expect_not(rig_has(&r, "wcbpf.out"));
	rig_done(&r);
}

/* Only the kernel finds out that the interpreter is missing. */
Test(session, exec_that_fails_late)
{
	struct rig r;
	char path[128];

	rig_init(&r);
	snprintf(path, sizeof(path), "%s/script", r.dir);
	int fd = open(path, O_WRONLY | O_CREAT, 0755);
	cr_assert_gt(write(fd, "#!/no/such/interpreter\n", 23), 0);
	close(fd);
	RIG_RUN(&r, "record", "./script");
	cr_expect_eq(r.code, 127);
	expect_holds(r.err, "can't run ./script: No such file or directory");
	expect_summary(&r, "state", "tool_failed");
	expect_summary(&r, "caveat_kind", "workload_not_started");
	cr_expect_not(rig_has(&r, "wcbpf.out/wcprof.ndjson"));
	rig_done(&r);
}

Test(session, folder_refused_before_the_workload_runs)
{
	struct rig r;

	rig_init(&r);
	RIG_SH(&r, "touch ran", "-o", ".");
	cr_expect_eq(r.code, 125);
	RIG_SH(&r, "touch ran", "-o", "/proc/nowhere");
	cr_expect_eq(r.code, 125);
	expect_holds(r.err, "/proc/nowhere");
	cr_expect_not(rig_has(&r, "ran"));
	rig_done(&r);
}

Test(session, host_that_cannot_trace)
{
	struct rig r;

	rig_init(&r);
	r.fake = "start=missing";
	RIG_SH(&r, "touch ran");
	cr_expect_eq(r.code, 125);
	cr_expect_not(rig_has(&r, "ran"), "without tracing the workload must not run");
	expect_holds(r.err, "the kernel has no BTF");
	expect_holds(r.err, "wcbpf doctor");
	expect_summary(&r, "state", "tool_missing");
	expect_summary(&r, "caveat_kind", "tool_unavailable");
	rig_done(&r);
}

Test(session, privilege_refused)
{
	struct rig r;

	rig_init(&r);
	r.fake = "start=denied";
	RIG_SH(&r, "touch ran");
	cr_expect_eq(r.code, 125);
	cr_expect_not(rig_has(&r, "ran"));
	expect_summary(&r, "state", "tool_failed");
	expect_summary(&r, "caveat_kind", "permission_denied");
	_cleanup_(freep) char *diagnostics = rig_read(&r, "wcbpf.out/offcpu.diagnostics.txt");
	expect_holds(diagnostics, "Operation not permitted");
	rig_done(&r);
}

Test(session, capture_fails_but_the_workload_ran)
{
	static const struct {
		const char *fake, *script;
		int code;
	} cases[] = {
		{"poll=12", "sleep 0.4; touch ran", 125},
		{"poll=12", "sleep 0.4; touch ran; exit 6", 6},
		{"stop=5", "touch ran", 125},
		{"stop=5", "touch ran; exit 9", 9},
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct rig r;

		rig_init(&r);
		r.fake = cases[i].fake;
		RIG_SH(&r, cases[i].script);
		cr_expect_eq(r.code, cases[i].code, "%s: %d", cases[i].fake, r.code);
		cr_expect(rig_has(&r, "ran"));
		expect_summary(&r, "state", "tool_failed");
		expect_summary(&r, "caveat_kind", "capture_failed");
		rig_done(&r);
	}
}

Test(session, loss_and_strict)
{
	struct rig r;

	rig_init(&r);
	r.fake = "lost=5";
	RIG_SH(&r, "true");
	cr_expect_eq(r.code, 0);
	expect_holds(r.err, "PARTIAL: 5 interval(s) lost (ring full), of 6 intervals");
	expect_summary(&r, "caveat_kind", "offcpu_capture_partial");
	RIG_SH(&r, "true", "--strict");
	cr_expect_eq(r.code, 125);
	RIG_SH(&r, "exit 4", "--strict");
	cr_expect_eq(r.code, 4);
	r.fake = "lost=0";
	RIG_SH(&r, "true", "--strict");
	cr_expect_eq(r.code, 0);
	rig_done(&r);
}

Test(session, call_graph_reaches_the_capture)
{
	struct rig r;

	rig_init(&r);
	RIG_SH(&r, "true", "--call-graph", "dwarf");
	expect_holds(r.err, "wcbpf: --call-graph dwarf: taken as ehframe");
	_cleanup_(freep) char *with = rig_read(&r, "wcbpf.out/offcpu.diagnostics.txt");
	expect_holds(with, "user_stacks=2 copies=0");
	RIG_SH(&r, "true", "--call-graph", "fp");
	cr_expect_null(strstr(r.err, "eh_frame"), "%s", r.err);
	_cleanup_(freep) char *without = rig_read(&r, "wcbpf.out/offcpu.diagnostics.txt");
	expect_holds(without, "user_stacks=1 copies=0");
	rig_done(&r);
}

static void files_limit(void *arg)
{
	struct rlimit limit = {.rlim_cur = *(const rlim_t *)arg, .rlim_max = RLIM_INFINITY};

	signal(SIGXFSZ, SIG_IGN);
	setrlimit(RLIMIT_FSIZE, &limit);
}

/* Nothing was lost while recording; still it is no complete capture, and nobody must read that it is. */
Test(session, files_that_do_not_fit_are_no_complete_capture)
{
	rlim_t bytes = 600;
	struct rig r;

	rig_init(&r);
	r.prepare = files_limit;
	r.arg = &bytes;
	RIG_SH(&r, "true", "-o", "x");
	cr_expect_eq(r.code, 125);
	expect_holds(r.err, "x/wcprof.ndjson: File too large");
	expect_holds(r.err, "files INCOMPLETE");
	cr_expect_null(strstr(r.err, "capture COMPLETE"), "%s", r.err);
	rig_done(&r);
}

Test(session, color_of_the_verdict)
{
	struct rig r;

	rig_init(&r);
	RIG_SH(&r, "true");
	cr_expect_null(strchr(r.err, '\033'), "%s", r.err);
	RIG_SH(&r, "true", "--color", "always");
	expect_holds(r.err, "capture \033[1;32mCOMPLETE\033[0m: ");
	r.fake = "lost=5";
	RIG_SH(&r, "true", "--color=always");
	expect_holds(r.err, "capture \033[1;31mPARTIAL\033[0m: ");
	rig_done(&r);
}

Test(session, nothing_blocked_is_no_failure_of_the_run)
{
	struct rig r;

	rig_init(&r);
	r.fake = "rows=0";
	RIG_SH(&r, "true");
	cr_expect_eq(r.code, 0);
	expect_holds(r.err, "wcbpf: nothing blocked: ");
	expect_summary(&r, "state", "tool_failed");
	expect_summary(&r, "caveat_kind", "no_rows");
	rig_done(&r);
}

Test(session, duration_ends_the_recording_not_the_workload)
{
	struct rig r;

	rig_init(&r);
	RIG_SH(&r, "sleep 0.2; test -e wcbpf.out/offcpu.summary.json && exit 9; sleep 0.8; "
		   "test -e wcbpf.out/offcpu.summary.json && exit 4", "-d", "500ms");
	cr_expect_eq(r.code, 4);
	cr_expect_geq(r.seconds, 1.0);
	expect_summary(&r, "exit_status", "null");
	expect_files_complete(&r);
	rig_done(&r);
}

Test(session, delay)
{
	struct rig r;

	rig_init(&r);
	RIG_SH(&r, "sleep 0.6; exit 3", "-D", "0.3");
	cr_expect_eq(r.code, 3);
	expect_files_complete(&r);
	/* it ran before recording began */
	_cleanup_(freep) char *diagnostics = rig_read(&r, "wcbpf.out/offcpu.diagnostics.txt");
	expect_holds(diagnostics, "before_exec=0");
	RIG_SH(&r, "exit 0", "-D", "30");
	cr_expect_eq(r.code, 125, "recorded nothing");
	cr_expect_lt(r.seconds, 5);
	expect_holds(r.err, "ended before recording began");
	RIG_SH(&r, "exit 3", "-D", "30");
	cr_expect_eq(r.code, 3);
	rig_done(&r);
}

#define TRAPPED "trap 'exit 9' TERM INT HUP QUIT; echo $$ > pid; while :; do sleep 0.05; done"

Test(session, kill_is_passed_on)
{
	static const int signals[] = {SIGTERM, SIGINT, SIGHUP, SIGQUIT};

	for (size_t i = 0; i < sizeof(signals) / sizeof(signals[0]); i++) {
		struct rig r;

		rig_init(&r);
		RIG_START(&r, "record", "--", "sh", "-c", TRAPPED);
		cr_assert(rig_await(&r, "pid"));
		kill(r.pid, signals[i]); /* wcbpf alone */
		double sent = rig_now();
		rig_wait(&r);
		cr_expect_lt(rig_now() - sent, 3);
		cr_expect_eq(r.code, 9, "signal %d: %d", signals[i], r.code);
		expect_files_complete(&r);
		expect_summary(&r, "exit_status", "2304");
		rig_done(&r);
	}
}

/* timeout(1) signals its child and then the group: one request, not two. */
Test(session, timeout_signals_twice)
{
	struct rig r;

	rig_init(&r);
	RIG_START(&r, "attach", "-a");
	rig_sleep(0.5);
	kill(r.pid, SIGINT);
	rig_sleep(0.02);
	kill(-r.pid, SIGINT);
	rig_wait(&r);
	cr_expect_eq(r.code, 0, "%s", r.err);
	expect_files_complete(&r);
	rig_done(&r);
}

Test(session, second_signal_while_writing)
{
	struct rig r;

	rig_init(&r);
	r.fake = "stop_ms=20000";
	RIG_START(&r, "record", "--", "sh", "-c", TRAPPED);
	cr_assert(rig_await(&r, "pid"));
	kill(r.pid, SIGTERM);
	rig_sleep(0.6);
	kill(r.pid, SIGTERM);
	double sent = rig_now();
	rig_wait(&r);
	cr_expect_lt(rig_now() - sent, 1);
	cr_expect_eq(r.code, 125);
	cr_expect_not(rig_has(&r, "wcbpf.out/wcprof.ndjson"));
	cr_expect_not(rig_has(&r, "wcbpf.out/offcpu.summary.json"));
	rig_done(&r);
}

/* Nothing has been let go yet, so nothing is left behind and nothing has run. */
Test(session, second_signal_while_loading)
{
	struct rig r;
	int status;

	rig_init(&r);
	cr_assert_eq(prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0), 0);
	r.fake = "start_ms=20000";
	for (int attach = 0; attach < 2; attach++) {
		pid_t target = fork();

		if (target == 0)
			for (;;)
				pause();
		char pid[16];
		snprintf(pid, sizeof(pid), "%d", target);
		if (attach)
			RIG_START(&r, "attach", "-p", pid);
		else
			RIG_START(&r, "record", "--", "touch", "ran");
		rig_sleep(0.5);
		kill(r.pid, SIGINT);
		rig_sleep(0.6);
		cr_expect_eq(waitpid(r.pid, NULL, WNOHANG), 0, "the first one waits for the programs");
		kill(r.pid, SIGINT);
		double sent = rig_now();
		rig_wait(&r);
		cr_expect_lt(rig_now() - sent, 1);
		cr_expect_eq(r.code, 125);
		expect_holds(r.err, "interrupted twice: nothing was written");
		cr_expect_not(rig_has(&r, "wcbpf.out/offcpu.summary.json"));
		/* the workload to be is ours now, and has ended without being one */
		if (!attach)
			cr_expect(waitpid(-r.pid, &status, 0) > 0 && WIFEXITED(status) && WEXITSTATUS(status) == 1);
		cr_expect_eq(waitpid(-r.pid, NULL, WNOHANG), -1, "nobody is left");
		cr_expect_not(rig_has(&r, "ran"));
		cr_expect_eq(waitpid(target, NULL, WNOHANG), 0, "the target runs on");
		kill(target, SIGKILL);
		waitpid(target, NULL, 0);
	}
	rig_done(&r);
}

/* It is the workload's as soon as there is one, and is given once. */
Test(session, first_signal_while_loading)
{
	struct rig r;

	rig_init(&r);
	r.fake = "start_ms=1000";
	RIG_START(&r, "record", "--", "sh", "-c", "sleep 30");
	rig_sleep(0.5);
	kill(r.pid, SIGTERM);
	rig_wait(&r);
	cr_expect_eq(r.code, 128 + SIGTERM, "%s", r.err);
	expect_files_complete(&r);

	RIG_START(&r, "record", "-D", "500ms", "--", "sh", "-c",
		  "n=0; trap 'n=$((n+1)); echo $n > got' TERM; echo $$ > pid; while [ $n = 0 ]; do sleep 0.05; done; "
		  "sleep 2; exit $n");
	cr_assert(rig_await(&r, "pid"));
	rig_sleep(0.9);
	kill(r.pid, SIGTERM);
	rig_sleep(0.3);
	cr_expect(rig_has(&r, "got"), "while the programs are loaded");
	rig_wait(&r);
	cr_expect_eq(r.code, 1, "%d: %s", r.code, r.err);
	expect_files_complete(&r);

	RIG_START(&r, "attach", "-a");
	rig_sleep(0.5);
	kill(r.pid, SIGINT);
	rig_wait(&r);
	cr_expect_eq(r.code, 0, "%s", r.err);
	expect_holds(r.err, "interrupted");
	expect_files_complete(&r);
	rig_done(&r);
}

Test(session, second_signal_while_waiting_for_a_stubborn_workload)
{
	struct rig r;

	rig_init(&r);
	RIG_START(&r, "record", "--", "sh", "-c", "trap '' TERM; echo $$ > pid; exec sleep 30");
	pid_t workload = rig_read_pid(&r, "pid");
	cr_assert_gt(workload, 0);
	kill(r.pid, SIGTERM);
	cr_assert(rig_await(&r, "wcbpf.out/offcpu.summary.json"));
	rig_sleep(0.3);
	cr_expect_eq(waitpid(r.pid, NULL, WNOHANG), 0, "waits for the workload");
	kill(r.pid, SIGTERM);
	rig_wait(&r);
	cr_expect_eq(r.code, 128 + SIGTERM);
	cr_expect_eq(kill(workload, SIGKILL), 0, "the workload runs on");
	expect_files_complete(&r);
	expect_holds(r.err, "runs on and is waited for");
	rig_done(&r);
}

Test(session, sigkill_leaves_the_workload)
{
	struct rig r;

	rig_init(&r);
	RIG_START(&r, "record", "--", "sh", "-c", "echo $$ > pid; sleep 0.5; echo done > done");
	cr_assert(rig_await(&r, "pid"));
	kill(r.pid, SIGKILL);
	rig_wait(&r);
	cr_expect_eq(r.code, 137);
	cr_expect(rig_await(&r, "done"));
	rig_done(&r);
}

Test(session, sigkill_before_the_workload_went)
{
	struct rig r;

	rig_init(&r);
	r.fake = "start_ms=10000";
	RIG_START(&r, "record", "--", "touch", "ran");
	rig_sleep(0.3);
	kill(r.pid, SIGKILL);
	rig_wait(&r);
	rig_sleep(0.3);
	cr_expect_not(rig_has(&r, "ran"));
	rig_done(&r);
}

static void prepare_nohup(void *arg)
{
	(void)arg;
	signal(SIGHUP, SIG_IGN);
	signal(SIGINT, SIG_IGN);
}

Test(session, nohup_and_background_jobs)
{
	struct rig r;

	rig_init(&r);
	r.prepare = prepare_nohup;
	RIG_START(&r, "attach", "-a");
	rig_sleep(0.4);
	kill(r.pid, SIGHUP);
	rig_sleep(0.4);
	cr_expect_eq(waitpid(r.pid, NULL, WNOHANG), 0, "HUP was to be ignored");
	kill(r.pid, SIGINT); /* by name and number: meant */
	rig_wait(&r);
	cr_expect_eq(r.code, 0);
	expect_files_complete(&r);
	rig_done(&r);
}

struct pipes {
	int in, out;
};

static void prepare_pipes(void *arg)
{
	const struct pipes *p = arg;

	/* by path: the rig closes what it doesn't know */
	char in[32], out[32];
	snprintf(in, sizeof(in), "/proc/%d/fd/%d", getppid(), p->in);
	snprintf(out, sizeof(out), "/proc/%d/fd/%d", getppid(), p->out);
	if (dup2(open(in, O_RDONLY), 0) < 0 || dup2(open(out, O_WRONLY), 1) < 0)
		_exit(98);
	for (int fd = 3; fd < 16; fd++)
		close(fd);
}

/* A workload that closes stdin and stdout ends its pipes, though wcbpf lives on. */
Test(session, pipes_are_not_held)
{
	int in[2], out[2];
	struct pipes pipes;
	char byte;
	struct rig r;

	rig_init(&r);
	cr_assert_eq(pipe2(in, O_CLOEXEC), 0);
	cr_assert_eq(pipe2(out, O_CLOEXEC), 0);
	pipes = (struct pipes){in[0], out[1]};
	r.prepare = prepare_pipes;
	r.arg = &pipes;
	RIG_START(&r, "record", "--", "sh", "-c", "exec <&- >&-; echo $$ > pid; exec sleep 1.5");
	cr_assert(rig_await(&r, "pid"));
	close(in[0]);
	close(out[1]);
	cr_expect_eq(read(out[0], &byte, 1), 0, "end of file");
	signal(SIGPIPE, SIG_IGN);
	cr_expect(write(in[1], "x", 1) < 0 && errno == EPIPE, "no reader is left");
	cr_expect_lt(rig_now() - r.began, 1.4, "while the workload and wcbpf run");
	rig_wait(&r);
	cr_expect_eq(r.code, 0);
	rig_done(&r);
}

static pid_t sleeper_new(void)
{
	pid_t pid = fork();

	if (pid == 0) {
		rig_sleep(30);
		_exit(0);
	}
	return pid;
}

static const char *number(char *buffer, pid_t pid)
{
	sprintf(buffer, "%d", pid);
	return buffer;
}

Test(session, attach_ends_by_signal_duration_target_and_command)
{
	pid_t target = sleeper_new();
	char pid[16];
	struct rig r;

	number(pid, target);
	rig_init(&r);
	RIG_RUN(&r, "attach", "-p", pid, "-d", "0.3");
	cr_expect_eq(r.code, 0);
	cr_expect(r.seconds >= 0.3 && r.seconds < 5, "%f", r.seconds);
	expect_files_complete(&r);
	expect_summary(&r, "exit_status", "null");
	expect_holds(r.err, "time is over");

	RIG_RUN(&r, "attach", "-p", pid, "--", "sh", "-c", "sleep 0.3; exit 3");
	cr_expect_eq(r.code, 0);
	cr_expect(r.seconds >= 0.3 && r.seconds < 5, "%f", r.seconds);
	expect_holds(r.err, "the command has ended");

	RIG_RUN(&r, "record", "-p", pid, "--", "sh", "-c", "exit 3");
	cr_expect_eq(r.code, 3, "under record it is a workload");
	/* but not what was recorded */
	expect_holds(r.err, "(the command has ended)");
	cr_expect(!strstr(r.err, "exit 3"), "%s", r.err);
	cr_expect(!strstr(r.err, "live on"), "%s", r.err);

	RIG_START(&r, "attach", "-p", pid);
	rig_sleep(0.4);
	kill(r.pid, SIGINT);
	rig_wait(&r);
	cr_expect_eq(r.code, 0);
	expect_files_complete(&r);
	expect_holds(r.err, "interrupted");

	RIG_START(&r, "attach", "-p", pid);
	rig_sleep(0.4);
	kill(target, SIGKILL);
	waitpid(target, NULL, 0);
	rig_wait(&r);
	cr_expect_eq(r.code, 0);
	cr_expect_lt(r.seconds, 5);
	expect_files_complete(&r);
	expect_holds(r.err, "the target has ended");
	rig_done(&r);
}

Test(session, attach_to_nothing_leaves_no_folder)
{
	static const struct {
		const char *words[6], *says;
	} cases[] = {
		{{"attach", "-p", "2147483647"}, "no process 2147483647"},
		{{"attach", "-p", "abc"}, "not a process id"},
		{{"attach", "-p", "0"}, "no process id"},
		{{"attach", "-p", "-1"}, "not a process id"},
		{{"attach", "-t", "2147483646"}, "no thread 2147483646"},
		{{"attach"}, "attach to what?"},
		{{"attach", "1"}, "with -p"},
		{{"attach", "-G", "no-such-group"}, "no cgroup no-such-group"},
		{{"attach", "-p1", "--user", "root"}, "--user is for the command"},
		{{"record"}, "record what?"},
		{{"record", "--frequency", "99", "true"}, "--frequency: no such option"},
		{{"record", "--user", "no-such-user", "true"}, "no such user"},
		{{"record", "--mode=time", "-F99", "true"}, "-F is for mode wall"},
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct rig r;

		rig_init(&r);
		rig_run(&r, cases[i].words);
		cr_expect_eq(r.code, 125, "case %zu: %d", i, r.code);
		cr_expect_lt(r.seconds, 1);
		expect_holds(r.err, cases[i].says);
		cr_expect_eq(strchr(r.err, '\n') - r.err, (ptrdiff_t)strlen(r.err) - 1, "one line: %s", r.err);
		cr_expect_str_eq(r.out, "");
		cr_expect_not(rig_has(&r, "wcbpf.out"));
		rig_done(&r);
	}
}

static void prepare_sudo(void *arg)
{
	(void)arg;
	setenv("SUDO_UID", "4242", 1);
	setenv("SUDO_GID", "4343", 1);
}

Test(session, files_belong_to_who_called_sudo)
{
	static const char *const names[] = {"wcbpf.out", "wcbpf.out/wcprof.ndjson", "wcbpf.out/offcpu.summary.json"};
	struct rig r;

	if (geteuid() != 0)
		cr_skip_test("needs root");
	rig_init(&r);
	r.prepare = prepare_sudo;
	RIG_SH(&r, "id -u");
	cr_expect_str_eq(r.out, "0\n", "the workload runs as wcbpf does");
	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		char path[128];
		struct stat st;

		snprintf(path, sizeof(path), "%s/%s", r.dir, names[i]);
		cr_assert_eq(stat(path, &st), 0, "%s", path);
		cr_expect_eq(st.st_uid, 4242, "%s", path);
		cr_expect_eq(st.st_gid, 4343, "%s", path);
	}
	rig_done(&r);
}

Test(session, report_reads_what_record_wrote)
{
	struct rig r;

	rig_init(&r);
	RIG_SH(&r, "exit 3", "-o", "x y");
	RIG_RUN(&r, "report", "x y");
	cr_expect_eq(r.code, 0, "%s", r.err);
	expect_holds(r.out, "sh -c 'exit 3'");
	expect_holds(r.out, "COMPLETE");
	rig_done(&r);
}

/* Run in turns, so the older recording is kept beside. */
Test(session, older_recording_is_kept_beside)
{
	struct rig r;

	rig_init(&r);
	RIG_SH(&r, "exit 0");
	RIG_SH(&r, "exit 1");
	expect_summary(&r, "exit_status", "256");
	_cleanup_(freep) char *old = rig_summary(&r, "wcbpf.out.old", "exit_status");
	cr_expect_str_eq(old, "0");
	rig_done(&r);
}
