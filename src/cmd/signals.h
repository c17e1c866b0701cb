/* SPDX-License-Identifier: (LGPL-2.1 OR BSD-2-Clause) */
#pragma once
/*
 * INT, QUIT, TERM and HUP as events of an fd: the first asks for an end, a
 * second one (not the echo of the first) for a prompt exit.
 */
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>

struct signals {
	int fd;		   /* readable: ask signals_next() */
	sigset_t ignored;  /* by whoever started wcbpf */
	uint64_t first_ns; /* CLOCK_MONOTONIC of the first request, 0: none yet */
	int first_signo;
};

/* One signal that counts. */
struct signals_event {
	int signo;
	bool from_terminal; /* the kernel sent it to the whole group: the workload has it too */
	bool second;	    /* the user insists: exit now */
	bool passed_on;	    /* the workload has been given it by now */
};

/* Blocks the signals for good; call after the workload's fork. SIGPIPE is ignored from here on. */
int signals_init(struct signals *s);
void signals_done(struct signals *s);
/* 0 and the next signal that counts; -EAGAIN: none waits. */
int signals_next(struct signals *s, struct signals_event *ret);
