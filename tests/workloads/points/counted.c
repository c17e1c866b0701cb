/* SPDX-License-Identifier: (LGPL-2.1 OR BSD-2-Clause) */
/*
 * counted [N [MS]]: after MS ms it calls functions of many shapes N times each,
 * and prints a line for each, "called NAME times=N", and the sum of what they
 * returned; then the totals of those that others call too. How it is linked and
 * compiled differs (meson.build): where a function lies in its file, what it
 * begins with, and how it returns.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define NOINLINE __attribute__((noinline, noclone))

NOINLINE int plain(int i);
NOINLINE int several_returns(int i);
NOINLINE int tail_calls(int i);
NOINLINE int tail_target(int i);
NOINLINE int maybe_tail(int i);
NOINLINE int by_table(int i);
NOINLINE int recursive(int n);
NOINLINE long many_arguments(int a, int b, int c, int d, int e, int f, int g, int h);
NOINLINE void no_frame(int *p);
NOINLINE double floats(double x, int i);
NOINLINE int deep_frame(int i);
NOINLINE void only_returns(void);

static volatile int sink;
static int plain_n, target_n, recursive_n;

int plain(int i)
{
	plain_n++;
	sink += i;
	return i + 1;
}

int several_returns(int i)
{
	if (i % 5 == 0)
		return 1;
	sink++;
	if (i % 5 == 1) {
		sink += 2;
		return 2;
	}
	if (i % 5 == 2)
		return plain(i) ? 3 : 4;
	for (int k = 0; k < i % 7; k++)
		if (sink == k - 1000)
			return k;
	return 5;
}

int tail_target(int i)
{
	target_n++;
	sink ^= i;
	return i * 3;
}

int tail_calls(int i)
{
	sink++;
	return tail_target(i + 1);
}

int maybe_tail(int i)
{
	if (i & 1)
		return tail_target(i);
	return sink & 0;
}

int by_table(int i)
{
	switch (i % 10) {
	case 0: sink += 1; return 7;
	case 1: sink += 20; return plain(i);
	case 2: sink -= 3; return 11;
	case 3: sink ^= 4; return tail_target(i);
	case 4: sink += 50; break;
	case 5: sink |= 6; return 13;
	case 6: sink &= 0xffff; return 17;
	case 7: sink += 8; break;
	case 8: sink -= 90; return plain(3);
	case 9: sink += 10; return 19;
	}
	return sink & 1;
}

int recursive(int n)
{
	char room[64];

	recursive_n++;
	if (n == 0)
		return 1;
	memset(room, n, sizeof(room));
	__asm__ volatile("" : : "r"(room) : "memory");
	return recursive(n - 1) + room[n % 64] - n;
}

long many_arguments(int a, int b, int c, int d, int e, int f, int g, int h)
{
	sink += a;
	return a + 2L * b + 3L * c + 4L * d + 5L * e + 6L * f + 7L * g + 8L * h;
}

void no_frame(int *p)
{
	*p += 1;
}

double floats(double x, int i)
{
	sink++;
	return x * i;
}

int deep_frame(int i)
{
	volatile char room[9000];

	room[0] = (char)i;
	room[8999] = (char)i;
	return room[0] + room[8999];
}

void only_returns(void)
{
	__asm__ volatile("");
}

#ifdef __x86_64__
/* Jumps back to its first instruction: each turn passes an entry probe that is there. */
__asm__(".text\n.globl loops_at_entry\n.type loops_at_entry,@function\nloops_at_entry:\n"
	"	dec %edi\n	jg loops_at_entry\n	mov %edi,%eax\n	ret\n.size loops_at_entry,.-loops_at_entry\n");
/* Another function lies behind its last instruction, a jump. */
__asm__(".globl jumps_away\n.type jumps_away,@function\njumps_away:\n"
	"	push %rbx\n	mov %edi,%ebx\n	test %ebx,%ebx\n	pop %rbx\n	js 1f\n	jmp plain\n"
	"1:	xor %eax,%eax\n	ret\n.size jumps_away,.-jumps_away\n");
int loops_at_entry(int n);
int jumps_away(int n);
#endif

#define TIMES(name, call) \
	do { \
		long sum = 0; \
		for (int i = 0; i < n; i++) \
			sum += (long)(call); \
		printf("called %s times=%d sum=%ld\n", name, n, sum); \
	} while (0)

int main(int argc, char **argv)
{
	int n = argc > 1 ? atoi(argv[1]) : 1000, x = 0;

	if (argc > 2)
		usleep((useconds_t)atoi(argv[2]) * 1000);
	TIMES("plain_itself", plain(i));
	TIMES("several_returns", several_returns(i));
	TIMES("tail_calls", tail_calls(i));
	TIMES("maybe_tail", maybe_tail(i));
	TIMES("by_table", by_table(i));
	TIMES("recursive_itself", recursive(3));
	TIMES("many_arguments", many_arguments(i, 2, 3, 4, 5, 6, 7, i));
	TIMES("no_frame", (no_frame(&x), x));
	TIMES("floats", floats(1.5, i));
	TIMES("deep_frame", deep_frame(i));
	TIMES("only_returns", (only_returns(), 1));
#ifdef __x86_64__
	TIMES("loops_at_entry", loops_at_entry(i % 5 + 1));
	TIMES("jumps_away", jumps_away(i - 10));
#endif
	printf("called plain times=%d\ncalled tail_target times=%d\ncalled recursive times=%d\n", plain_n, target_n,
	       recursive_n);
	return 3;
}
