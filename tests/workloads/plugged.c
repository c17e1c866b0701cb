/* SPDX-License-Identifier: (LGPL-2.1 OR BSD-2-Clause) */
/*
 * plugged HOW WHAT CPU: code that is first mapped on a CPU that has only just come.
 *
 *   HOW   at-once: brings the CPU online itself and goes there; no recorder can have noticed it
 *         later:   the same when its parent, who records, holds more perf events than before
 *         flip:    takes the CPU away and brings it back, and goes there a second later
 *   WHAT  load: loads a library there and computes in it, 600 ms. exec: executes itself, which computes in f
 *
 *   spent tid=N function=NAME ns=NS
 */
#include <dirent.h>
#include <dlfcn.h>
#include <sched.h>

#include "lib.h"
#include "plugged.h"

#define COMPUTE_NS 600000000
#define EVENTS_WAIT_MS 60000 /* an emulated CPU is slow */

static __attribute__((noinline)) void f(uint64_t ns)
{
	compute(ns);
	__asm__ volatile("");
}

static void spent(void (*work)(uint64_t ns), const char *name)
{
	uint64_t before = clock_ns(CLOCK_THREAD_CPUTIME_ID);

	work(COMPUTE_NS);
	truth("spent tid=%d function=%s ns=%llu", own_tid(), name,
	      (unsigned long long)(clock_ns(CLOCK_THREAD_CPUTIME_ID) - before));
}

/* How many perf events the parent holds. */
static unsigned int events_n(void)
{
	char folder[64], link[64];
	const struct dirent *e;
	unsigned int n = 0;
	ssize_t len;
	DIR *d;

	snprintf(folder, sizeof(folder), "/proc/%d/fd", (int)getppid());
	d = opendir(folder);
	if (!d)
		die(folder);
	while ((e = readdir(d))) {
		len = readlinkat(dirfd(d), e->d_name, link, sizeof(link) - 1);
		link[len > 0 ? len : 0] = '\0';
		n += !strcmp(link, "anon_inode:[perf_event]");
	}
	closedir(d);
	return n;
}

static void cpu_set_online(unsigned int cpu, const char *value)
{
	char path[64];
	int fd;

	snprintf(path, sizeof(path), "/sys/devices/system/cpu/cpu%u/online", cpu);
	fd = open(path, O_WRONLY | O_CLOEXEC);
	if (fd < 0 || write(fd, value, 1) != 1)
		die(path);
	close(fd);
}

static void cpu_come(const char *how, unsigned int cpu)
{
	unsigned int before = events_n();
	cpu_set_t one;

	if (!strcmp(how, "flip"))
		cpu_set_online(cpu, "0");
	cpu_set_online(cpu, "1");
	for (int i = 0; !strcmp(how, "later") && events_n() == before; i++) {
		if (i == EVENTS_WAIT_MS / 10)
			die("the recorder did not notice the CPU");
		nap_ms(10);
	}
	if (strcmp(how, "at-once"))
		nap_ms(1000);
	CPU_ZERO(&one);
	CPU_SET(cpu, &one);
	if (sched_setaffinity(0, sizeof(one), &one))
		die("sched_setaffinity");
}

/* The library lies where the program does. */
static void load(char *program)
{
	char *slash = strrchr(program, '/'), path[4096];
	void (*work)(uint64_t ns);
	void *library;

	if (!slash)
		die("call it by path");
	snprintf(path, sizeof(path), "%.*s/libplugged-lib.so", (int)(slash - program), program);
	library = dlopen(path, RTLD_NOW);
	work = library ? (void (*)(uint64_t))dlsym(library, "plugged_in") : NULL;
	if (!work) {
		fprintf(stderr, "workload: %s\n", dlerror());
		_exit(99);
	}
	spent(work, "plugged_in");
}

int main(int argc, char **argv)
{
	truth_begin();
	if (argc == 2 && !strcmp(argv[1], "f")) {
		spent(f, "f");
	} else if (argc == 4) {
		cpu_come(argv[1], arg_number(argc, argv, 3, 1));
		if (!strcmp(argv[2], "exec")) {
			execl(argv[0], argv[0], "f", (char *)NULL);
			die("execl");
		}
		load(argv[0]);
	} else {
		errno = EINVAL;
		die("plugged HOW WHAT CPU");
	}
	truth_end();
	return 0;
}
