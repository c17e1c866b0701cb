/* SPDX-License-Identifier: (LGPL-2.1 OR BSD-2-Clause) */
/*
 * frames-jit: code written at run time, as a JIT compiler writes it: no file,
 * no unwind table, a frame pointer. Three such functions call one another and
 * the innermost calls clock_nanosleep. Prints
 *
 *   code begin=ADDRESS end=ADDRESS
 *
 * and sleeps below main, jit_outer, the three and libc. Exits with 77 where
 * this file knows no machine code.
 */
#include <sys/mman.h>

#include "frames.h"

#define FUNCTIONS 3

#ifdef __x86_64__

static unsigned char *byte(unsigned char *at, unsigned char value)
{
	*at = value;
	return at + 1;
}

static unsigned char *bytes(unsigned char *at, const unsigned char *from, size_t n)
{
	memcpy(at, from, n);
	return at + n;
}

/* push rbp; mov rbp, rsp; sub rsp, 32 + 16 n; mov rax, func; call rax; leave; ret. Arguments pass through. */
static unsigned char *emit(unsigned char *at, const void *func, unsigned int n)
{
	static const unsigned char enter[] = { 0x55, 0x48, 0x89, 0xe5, 0x48, 0x83, 0xec };
	static const unsigned char leave[] = { 0xff, 0xd0, 0xc9, 0xc3 };

	at = bytes(at, enter, sizeof(enter));
	at = byte(at, (unsigned char)(32 + 16 * n));
	at = byte(byte(at, 0x48), 0xb8);
	at = bytes(at, (const unsigned char *)&func, sizeof(func));
	return bytes(at, leave, sizeof(leave));
}

#else

static unsigned char *emit(unsigned char *at, const void *func, unsigned int n)
{
	(void)at, (void)func, (void)n;
	exit(77);
}

#endif

static int (*jitted)(clockid_t, int, const struct timespec *, struct timespec *);

static FRAME int jit_outer(void)
{
	struct timespec t = frames_ms(1);

	ROOM(152);
	return LEAVE(jitted(CLOCK_MONOTONIC, 0, &t, NULL));
}

int main(void)
{
	unsigned char *code = mmap(NULL, 4096, PROT_READ | PROT_WRITE | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	unsigned char *at = code;
	const void *func = (const void *)(uintptr_t)clock_nanosleep;

	if (code == MAP_FAILED)
		die("mmap");
	for (unsigned int i = 0; i < FUNCTIONS; i++) {
		unsigned char *next = emit(at, func, i);

		func = at;
		at = next;
	}
	*(const void **)&jitted = func;
	printf("code begin=%llu end=%llu\n", (unsigned long long)(uintptr_t)code,
	       (unsigned long long)(uintptr_t)at);
	frames_ready();
	while (frames_go_on())
		jit_outer();
	return 0;
}
