/* SPDX-License-Identifier: (LGPL-2.1 OR BSD-2-Clause) */
/* indirect: a function that is only a resolver (IFUNC), called 1000 times; and memcpy, which is one of libc's. */
#include <stdio.h>
#include <string.h>

static volatile int sink;

static int scaled_generic(int i)
{
	sink += i;
	return i * 2;
}

static int (*scaled_resolve(void))(int)
{
	return scaled_generic;
}

int scaled(int i) __attribute__((ifunc("scaled_resolve")));

int main(void)
{
	char from[64] = "from", to[64];
	int (*volatile f)(int) = scaled;
	void *(*volatile copy)(void *, const void *, size_t) = memcpy;
	long sum = 0;

	for (int i = 0; i < 1000; i++) {
		sum += f(i);
		copy(to, from, sizeof(to));
	}
	printf("sum=%ld %s\n", sum, to);
	return 8;
}
