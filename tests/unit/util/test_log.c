/* SPDX-License-Identifier: (LGPL-2.1 OR BSD-2-Clause) */
#include "util/log.h"

#include <criterion/criterion.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

/* stderr becomes a socket that keeps writes apart: one message read is one write(2). */
static int stderr_watch(void)
{
	int fds[2];

	cr_assert_eq(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_NONBLOCK, 0, fds), 0);
	cr_assert_eq(dup2(fds[1], STDERR_FILENO), STDERR_FILENO);
	close(fds[1]);
	return fds[0];
}

static void check_line(int fd, const char *want)
{
	char got[8192];
	ssize_t n = recv(fd, got, sizeof(got) - 1, 0);

	if (!want) {
		cr_assert_lt(n, 0);
		return;
	}
	cr_assert_geq(n, 0);
	got[n] = '\0';
	cr_assert_str_eq(got, want);
}

Test(log, writes_a_line_with_one_write)
{
	int fd = stderr_watch();

	log_error("no such %s: %d", "process", 42);
	check_line(fd, "wcbpf: no such process: 42\n");
	check_line(fd, NULL);
}

Test(log, obeys_the_level)
{
	int fd = stderr_watch();

	cr_assert_eq(log_level(), LOG_WARNING);
	log_info("not yet");
	check_line(fd, NULL);
	log_warning("w");
	check_line(fd, "wcbpf: w\n");
	log_set_level(LOG_DEBUG);
	cr_assert_eq(log_level(), LOG_DEBUG);
	log_debug("d");
	check_line(fd, "wcbpf: d\n");
	log_set_level(LOG_ERROR);
	log_warning("no more");
	check_line(fd, NULL);
	log_error("e");
	check_line(fd, "wcbpf: e\n");
}

Test(log, stays_one_line_whatever_is_quoted)
{
	int fd = stderr_watch();

	log_error("comm %s", "a\nwcbpf: forged\x1b[2J\x7f");
	check_line(fd, "wcbpf: comm a?wcbpf: forged?[2J?\n");
}

Test(log, marks_a_cut)
{
	int fd = stderr_watch();
	char text[6000], got[8192];
	ssize_t n;

	memset(text, 'x', sizeof(text) - 1);
	text[sizeof(text) - 1] = '\0';
	log_error("%s", text);
	n = recv(fd, got, sizeof(got), 0);
	cr_assert_gt(n, 1000);
	cr_assert_leq(n, 4096);
	cr_assert_eq(memcmp(got + n - 5, "x...\n", 5), 0);
}
