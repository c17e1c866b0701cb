/* SPDX-License-Identifier: (LGPL-2.1 OR BSD-2-Clause) */
/* Keys of a real terminal: a pseudo terminal with wcbpf in its foreground group. */
#include <criterion/criterion.h>
#include <errno.h>
#include <fcntl.h>
#include <pty.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "cmd/cmd.h"
#include "rig.h"
#include "util/cleanup.h"

struct terminal {
	struct rig rig; /* its folder and files only */
	int fd;
	pid_t pid;
	char text[1 << 14]; /* what was written to the terminal */
	size_t n;
};

static void terminal_start(struct terminal *t, int (*run)(int argc, char **argv), int argc,
			   const char *const *argv, bool stdout_elsewhere)
{
	char *words[16];

	rig_init(&t->rig);
	t->n = 0;
	fflush(NULL);
	t->pid = forkpty(&t->fd, NULL, NULL, NULL);
	cr_assert_geq(t->pid, 0);
	if (t->pid == 0) {
		sigset_t none;

		sigemptyset(&none);
		sigprocmask(SIG_SETMASK, &none, NULL);
		signal(SIGINT, SIG_DFL);
		signal(SIGQUIT, SIG_DFL);
		if (chdir(t->rig.dir) < 0)
			_exit(99);
		if (stdout_elsewhere && dup2(open("out", O_WRONLY | O_CREAT, 0600), 1) < 0)
			_exit(99);
		for (int i = 0; i < argc; i++)
			words[i] = (char *)(uintptr_t)argv[i];
		words[argc] = NULL;
		_exit(run(argc, words));
	}
}
#define WORDS(...) sizeof((const char *[]){__VA_ARGS__}) / sizeof(char *), (const char *const[]){__VA_ARGS__}

static void terminal_key(struct terminal *t, char key)
{
	cr_assert_eq(write(t->fd, &key, 1), 1);
}

/* Reads until all who had the terminal are gone. Exit code as a shell shows it. */
static int terminal_end(struct terminal *t)
{
	int status;
	ssize_t n;

	while ((n = read(t->fd, t->text + t->n, sizeof(t->text) - 1 - t->n)) > 0)
		t->n += (size_t)n;
	t->text[t->n] = '\0';
	cr_assert_eq(waitpid(t->pid, &status, 0), t->pid);
	close(t->fd);
	return WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
}

/*
 * The kernel sent Ctrl-C to the whole group, so wcbpf must not send it again. A
 * workload that has left the group shows it: it gets none at all. (Counting
 * wouldn't: two in a row can be one to a process.)
 */
Test(terminal, ctrl_c_is_not_passed_on)
{
	struct terminal t;

	terminal_start(&t, cmd_main, WORDS("wcbpf", "record", "--", "setsid", "sh", "-c",
		       "trap 'echo got > got' INT; echo $$ > pid; for i in 1 2 3 4 5 6 7 8; do sleep 0.1; done; exit 4"),
		       false);
	cr_assert(rig_await(&t.rig, "pid"));
	terminal_key(&t, '\003');
	/* files are there while the workload runs on */
	cr_expect(rig_await(&t.rig, "wcbpf.out/offcpu.summary.json"));
	cr_expect_eq(waitpid(t.pid, NULL, WNOHANG), 0);
	cr_expect_eq(terminal_end(&t), 4, "%s", t.text);
	cr_expect_not(rig_has(&t.rig, "got"));
	cr_expect_not_null(strstr(t.text, "interrupted"), "%s", t.text);
	rig_done(&t.rig);
}

Test(terminal, workload_that_dies_of_ctrl_c_has_its_status_in_the_files)
{
	struct terminal t;

	terminal_start(&t, cmd_main, WORDS("wcbpf", "record", "--", "sh", "-c", "echo $$ > pid; exec sleep 20"), false);
	cr_assert(rig_await(&t.rig, "pid"));
	terminal_key(&t, '\003');
	cr_expect_eq(terminal_end(&t), 130);
	_cleanup_(freep) char *status = rig_summary(&t.rig, "wcbpf.out", "exit_status");
	cr_expect_str_eq(status, "2");
	cr_expect_not_null(strstr(t.text, "killed by SIGINT"), "%s", t.text);
	rig_done(&t.rig);
}

Test(terminal, status_line)
{
	struct terminal t;

	terminal_start(&t, cmd_main, WORDS("wcbpf", "attach", "-a", "-d", "0.5"), false);
	cr_expect_eq(terminal_end(&t), 0);
	cr_expect_not_null(strstr(t.text, "Ctrl-C ends it"), "attach has one: %s", t.text);
	cr_expect_not_null(strstr(t.text, " intervals  1 thread  lost 0"), "%s", t.text);
	rig_done(&t.rig);

	terminal_start(&t, cmd_main, WORDS("wcbpf", "record", "sleep", "0.5"), false);
	cr_expect_eq(terminal_end(&t), 0);
	cr_expect_null(strstr(t.text, "Ctrl-C"), "the terminal is the workload's: %s", t.text);
	rig_done(&t.rig);

	terminal_start(&t, cmd_main, WORDS("wcbpf", "record", "sleep", "0.5"), true);
	cr_expect_eq(terminal_end(&t), 0);
	cr_expect_not_null(strstr(t.text, "Ctrl-C"), "its output goes elsewhere: %s", t.text);
	rig_done(&t.rig);

	terminal_start(&t, cmd_main, WORDS("wcbpf", "attach", "-q", "-a", "-d", "0.5"), false);
	cr_expect_eq(terminal_end(&t), 0);
	cr_expect_str_eq(t.text, "");
	rig_done(&t.rig);
}

/* What a shell does with a job: its own group in the foreground. Exit code: 100 + the job's if Ctrl-Z stopped it. */
static int job_run(int argc, char **words)
{
	int status, stopped = 0;
	pid_t job = fork();

	if (job == 0) {
		setpgid(0, 0);
		signal(SIGTTOU, SIG_IGN);
		tcsetpgrp(0, getpid());
		signal(SIGTTOU, SIG_DFL);
		signal(SIGTSTP, SIG_DFL);
		_exit(cmd_main(argc, words));
	}
	while (waitpid(job, &status, WUNTRACED) == job) {
		char path[64], state = 0;

		if (!WIFSTOPPED(status))
			return WIFEXITED(status) ? stopped + WEXITSTATUS(status) : 99;
		rig_sleep(0.2);
		_cleanup_(fclosep) FILE *pid = fopen("pid", "r");
		int workload = 0;
		if (!pid || fscanf(pid, "%d", &workload) != 1)
			return 98;
		snprintf(path, sizeof(path), "/proc/%d/stat", workload);
		_cleanup_(fclosep) FILE *stat = fopen(path, "r");
		if (!stat || fscanf(stat, "%*d (%*[^)]) %c", &state) != 1 || state != 'T')
			return 97; /* the workload should have stopped too */
		stopped = 100;
		kill(-job, SIGCONT);
	}
	return 96;
}

/* Ctrl-Z stops wcbpf and the workload, fg lets both go on. */
Test(terminal, job_control)
{
	struct terminal t;

	terminal_start(&t, job_run,
		       WORDS("wcbpf", "record", "--", "sh", "-c", "echo $$ > pid; exec sleep 0.5"), false);
	cr_assert(rig_await(&t.rig, "pid"));
	terminal_key(&t, '\032');
	cr_expect_eq(terminal_end(&t), 100, "%s", t.text);
	rig_done(&t.rig);
}
