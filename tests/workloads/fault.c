/* SPDX-License-Identifier: (LGPL-2.1 OR BSD-2-Clause) */
/*
 * fault FILE [PAGES]: writes FILE, throws its pages out of the cache and
 * touches a mapping of it in big strides. A touch that the kernel counted as a
 * major fault and as a voluntary switch is a line of truth: a quick disk may be
 * done before anyone sleeps.
 */
#include <sys/mman.h>
#include <sys/resource.h>

#include "lib.h"

#define STRIDE (256 << 10)

/* Major faults, and voluntary switches, of this thread so far. */
static void counts(long *ret_faults, long *ret_switches)
{
	struct rusage ru;

	getrusage(RUSAGE_THREAD, &ru);
	*ret_faults = ru.ru_majflt;
	*ret_switches = ru.ru_nvcsw;
}

static __attribute__((noinline)) int touch_page(const volatile char *at)
{
	return *at;
}

int main(int argc, char **argv)
{
	unsigned int pages = arg_number(argc, argv, 2, 40);
	static char block[STRIDE];
	volatile int sum = 0;
	uint64_t start;
	char *map;
	int fd;

	truth_begin();
	fd = argc > 1 ? open(argv[1], O_CREAT | O_RDWR | O_TRUNC, 0600) : -1;
	if (fd < 0)
		die("open");
	memset(block, 1, sizeof(block));
	for (unsigned int i = 0; i < pages; i++)
		if (write(fd, block, sizeof(block)) != sizeof(block))
			die("write");
	map = mmap(NULL, (size_t)pages * STRIDE, PROT_READ, MAP_SHARED, fd, 0);
	start = now_ns();
	if (fsync(fd))
		die("fsync");
	truth_wait("fsync", start, now_ns(), "path=%s", argv[1]);
	if (map == MAP_FAILED || posix_fadvise(fd, 0, 0, POSIX_FADV_DONTNEED) ||
	    madvise(map, (size_t)pages * STRIDE, MADV_RANDOM))
		die("mmap");
	for (unsigned int i = 0; i < pages; i++) {
		long faults, switches, faults_before, switches_before;
		uint64_t end;

		counts(&faults_before, &switches_before);
		start = now_ns();
		sum += touch_page(map + (size_t)i * STRIDE);
		end = now_ns();
		counts(&faults, &switches);
		if (faults > faults_before && switches > switches_before)
			truth_wait("fault", start, end, "path=%s", argv[1]);
	}
	unlink(argv[1]);
	truth_end();
	return 0;
}
