/* SPDX-License-Identifier: (LGPL-2.1 OR BSD-2-Clause) */
/*
 * jumps: of 200 calls 100 are left by longjmp, from two frames down; then a
 * recursion 100 deep, which ends in a function that naps. At last a signal
 * handler, on a stack of its own, interrupts a call and calls itself.
 */
#include <setjmp.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define NOINLINE __attribute__((noinline, noclone))

NOINLINE int leaves(int i);
NOINLINE int enters(int i);
NOINLINE int bottom(int i);
NOINLINE int down(int n);
NOINLINE int in_handler(int i);
NOINLINE int interrupted(int i);

static jmp_buf back;
static volatile int sink;

int leaves(int i)
{
	sink++;
	if (i % 2)
		longjmp(back, 1);
	return i;
}

int enters(int i)
{
	int r = leaves(i);

	sink++;
	return r + 1;
}

int bottom(int i)
{
	usleep(1000);
	sink++;
	return i;
}

int down(int n)
{
	int r = n > 1 ? down(n - 1) : bottom(n);

	sink++;
	return r + 1;
}

int in_handler(int i)
{
	sink++;
	return i;
}

static void handler(int signo)
{
	in_handler(signo);
}

int interrupted(int i)
{
	raise(SIGUSR1);
	sink++;
	return i;
}

int main(void)
{
	static char room[65536];
	stack_t stack = {.ss_sp = room, .ss_size = sizeof(room)};
	struct sigaction sa = {.sa_handler = handler, .sa_flags = SA_ONSTACK};
	volatile int returned = 0, jumped = 0;
	int depth = 0;

	for (volatile int i = 0; i < 200; i++) {
		if (setjmp(back)) {
			jumped++;
			continue;
		}
		enters(i);
		returned++;
	}
	depth = down(100);
	sigaltstack(&stack, NULL);
	sigaction(SIGUSR1, &sa, NULL);
	for (int i = 0; i < 10; i++)
		interrupted(i);
	printf("returned=%d jumped=%d depth=%d\n", returned, jumped, depth);
	return 6;
}
