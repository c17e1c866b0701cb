/* SPDX-License-Identifier: (LGPL-2.1 OR BSD-2-Clause) */
/*
 * catch [SECONDS]: reports SIGINT and SIGTERM as they come and exits with 42
 * half a second after the first; with 43 if none came.
 */
#include <signal.h>

#include "lib.h"

static volatile sig_atomic_t got;

static void handler(int sig)
{
	got = sig;
}

int main(int argc, char **argv)
{
	struct sigaction sa = { .sa_handler = handler };
	struct timespec t = { .tv_sec = (time_t)arg_number(argc, argv, 1, 10) };
	char line[64];
	int n;

	sigaction(SIGINT, &sa, NULL);
	sigaction(SIGTERM, &sa, NULL);
	n = snprintf(line, sizeof(line), "ready pid=%d\n", getpid());
	if (write(1, line, (size_t)n) < 0)
		die("write");
	nanosleep(&t, NULL);
	if (!got)
		return 43;
	n = snprintf(line, sizeof(line), "got signal=%d\n", (int)got);
	if (write(1, line, (size_t)n) < 0)
		die("write");
	usleep(500000);
	return 42;
}
