/* SPDX-License-Identifier: (LGPL-2.1 OR BSD-2-Clause) */
/*
 * Hands on strings that it has not touched, so that their pages are not in its memory.
 *
 *   untouched CALLS    calls constant_work(), data_work() and holder_work() so often each
 *
 *   present N                    how many of the pages were in memory at the calls' begins (pagemap): must be 0
 *   strings CONSTANT CHANGED     what they are
 */
#include <sys/mman.h>

#include "lib.h"

#define PAGE 4096

/* As Go has strings. */
struct slice {
	const char *bytes;
	uint64_t n;
};
struct holder {
	const char *name;
};

/* Far from all that is touched: a fault maps what lies around, too. */
#define APART (1 << 17)

static const struct {
	char before[APART], constant[PAGE], behind[APART];
} constants __attribute__((aligned(PAGE))) = { .constant = "never.touched.name" };
static struct {
	char before[APART], data[PAGE];
	struct holder holder;
	char behind[APART];
} changed __attribute__((aligned(PAGE))) = { .data = "changed.by.nobody", .holder = { constants.constant } };
static volatile uint64_t sink;

__attribute__((noinline, noclone)) uint64_t constant_work(const char *name, const struct slice *s);
__attribute__((noinline, noclone)) uint64_t constant_work(const char *name, const struct slice *s)
{
	sink += (uintptr_t)name + s->n;
	return sink;
}

__attribute__((noinline, noclone)) uint64_t data_work(const char *name);
__attribute__((noinline, noclone)) uint64_t data_work(const char *name)
{
	sink += (uintptr_t)name;
	return sink;
}

__attribute__((noinline, noclone)) uint64_t holder_work(const struct holder *h);
__attribute__((noinline, noclone)) uint64_t holder_work(const struct holder *h)
{
	sink += (uintptr_t)h + 1;
	return sink;
}

static bool is_present(int pagemap, const void *at)
{
	uint64_t entry = 0;

	if (pread(pagemap, &entry, sizeof(entry), (off_t)((uintptr_t)at / PAGE * sizeof(entry))) != sizeof(entry))
		die("pagemap");
	return entry >> 63;
}

static void forget(const void *at)
{
	if (madvise((void *)(uintptr_t)at, PAGE, MADV_DONTNEED))
		die("madvise");
}

int main(int argc, char **argv)
{
	unsigned int n = arg_number(argc, argv, 1, 1), present_n = 0;
	int pagemap = open("/proc/self/pagemap", O_RDONLY | O_CLOEXEC);

	if (pagemap < 0)
		die("pagemap");
	for (unsigned int i = 0; i < n; i++) {
		struct slice s = { constants.constant, 13 };

		forget(constants.constant);
		forget(changed.data);
		forget(&changed.holder);
		present_n += is_present(pagemap, constants.constant) + is_present(pagemap, changed.data) +
			     is_present(pagemap, &changed.holder);
		constant_work(constants.constant, &s);
		data_work(changed.data);
		holder_work(&changed.holder);
	}
	printf("present %u\nstrings %s %s\n", present_n, constants.constant, changed.data);
	return 0;
}
