/* SPDX-License-Identifier: (LGPL-2.1 OR BSD-2-Clause) */
/* A library of dlswap: built twice, with other names (of the same length) for the same code at the same addresses. */
#include <unistd.h>

#define GLUE(a, b) a##b
#define NAME(word, what) GLUE(word, what)
#define inner NAME(WORD, _inner)
#define outer NAME(WORD, _outer)

void inner(unsigned int us);
void outer(unsigned int us);

__attribute__((noinline)) void inner(unsigned int us)
{
	usleep(us);
	__asm__ volatile("");
}

__attribute__((noinline)) void outer(unsigned int us)
{
	inner(us);
	__asm__ volatile("");
}

/* The one name that both have. */
void (*const dlswap_entry)(unsigned int us) = outer;
