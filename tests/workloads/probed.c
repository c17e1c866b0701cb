/* SPDX-License-Identifier: (LGPL-2.1 OR BSD-2-Clause) */
/*
 * Calls functions a known number of times, for probes to count.
 *
 *   probed threads N CALLS [MS]     N threads, made after MS, call probed_work() CALLS times each
 *   probed forks N CALLS [MS]       so do N children, forked from here, MS after their fork
 *   probed execs N CALLS            so do N children that exec this program
 *   probed moved N CALLS [MS]       a thread that is not the first execs "probed threads N CALLS MS"
 *   probed library N CALLS [MS]     the same of a library's function, loaded MS before; then N forked children do it
 *   probed two N ROUNDS             N threads, each round 60 calls of probed_work(), in every fourth one of probed_rare(),
 *                              and 2 ms of rest
 *   probed until                    it calls on until SIGTERM, from four threads, each line of output a number
 *
 *   calls probed_work=N probed_library=N probed_rare=N
 */
#include <dlfcn.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/wait.h>

#include "lib.h"

/* Shared with forked children. */
struct counts {
	uint64_t work, library, rare;
};
static struct counts *counts;
static volatile sig_atomic_t over;
static volatile uint64_t sink;

__attribute__((noinline, noclone)) uint64_t probed_work(uint64_t i, const char *name);
__attribute__((noinline, noclone)) uint64_t probed_work(uint64_t i, const char *name)
{
	sink += i ^ (uint64_t)name[0];
	if (i % 7 == 3)
		return sink;
	return sink + i;
}

static void work(uint64_t n)
{
	for (uint64_t i = 0; i < n; i++)
		probed_work(i, "a name");
	__atomic_add_fetch(&counts->work, n, __ATOMIC_RELAXED);
}

__attribute__((noinline, noclone)) uint64_t probed_rare(uint64_t i);
__attribute__((noinline, noclone)) uint64_t probed_rare(uint64_t i)
{
	sink -= i;
	return sink;
}

static void *two_thread(void *arg)
{
	uint64_t n = (uint64_t)(uintptr_t)arg;

	for (uint64_t i = 0; i < n; i++) {
		for (uint64_t k = 0; k < 60; k++)
			probed_work(k, "often");
		if (i % 4 == 0)
			probed_rare(i);
		usleep(2000);
	}
	__atomic_add_fetch(&counts->work, 60 * n, __ATOMIC_RELAXED);
	__atomic_add_fetch(&counts->rare, (n + 3) / 4, __ATOMIC_RELAXED);
	return NULL;
}

static void *work_thread(void *arg)
{
	work((uint64_t)(uintptr_t)arg);
	return NULL;
}

static void threads(unsigned int n, void *(*f)(void *arg), uint64_t calls)
{
	pthread_t t[64];

	for (unsigned int i = 0; i < n && i < 64; i++)
		pthread_create(&t[i], NULL, f, (void *)(uintptr_t)calls);
	for (unsigned int i = 0; i < n && i < 64; i++)
		pthread_join(t[i], NULL);
}

static void pause_ms(unsigned int ms)
{
	usleep(ms * 1000);
}

static void children(unsigned int n, void (*f)(uint64_t calls), uint64_t calls, unsigned int ms)
{
	for (unsigned int i = 0; i < n; i++) {
		pid_t pid = fork();

		if (pid < 0)
			die("fork");
		if (!pid) {
			pause_ms(ms);
			f(calls);
			_exit(0);
		}
	}
	while (wait(NULL) > 0)
		;
}

static const char *self;

static void exec_self(uint64_t calls)
{
	char text[32];

	snprintf(text, sizeof(text), "%llu", (unsigned long long)calls);
	execl(self, self, "threads", "1", text, NULL);
	die("exec");
}

static void *exec_thread(void *arg)
{
	execv(self, arg);
	die("exec");
	return NULL;
}

/* The thread takes over the number of the process's first one. */
static void moved(char **argv)
{
	static char word[] = "threads";
	pthread_t t;

	argv[1] = word;
	pthread_create(&t, NULL, exec_thread, argv);
	pthread_join(t, NULL);
}

/* ---- a library ---- */

static uint64_t (*library_work)(uint64_t i);

static void library(uint64_t n)
{
	for (uint64_t i = 0; i < n; i++)
		library_work(i);
	__atomic_add_fetch(&counts->library, n, __ATOMIC_RELAXED);
}

static void library_load(void)
{
	char path[4096];
	void *handle;

	snprintf(path, sizeof(path), "%.*s/libprobed-lib.so", (int)(strrchr(self, '/') - self), self);
	handle = dlopen(path, RTLD_NOW);
	library_work = handle ? (uint64_t(*)(uint64_t))dlsym(handle, "probed_library") : NULL;
	if (!library_work) {
		fprintf(stderr, "workload: %s\n", dlerror());
		_exit(99);
	}
}

/* ---- for as long as it is let ---- */

static void on_term(int sig)
{
	(void)sig;
	over = 1;
}

static void *until_thread(void *arg)
{
	uint64_t n = 0;

	(void)arg;
	while (!over) {
		for (int i = 0; i < 50; i++)
			probed_work(i, "until");
		n += 50;
		usleep(200);
	}
	__atomic_add_fetch(&counts->work, n, __ATOMIC_RELAXED);
	return NULL;
}

static void until(void)
{
	pthread_t t[4];
	unsigned int line = 0;

	signal(SIGTERM, on_term);
	for (int i = 0; i < 4; i++)
		pthread_create(&t[i], NULL, until_thread, NULL);
	while (!over) {
		printf("%u\n", line++);
		fflush(stdout);
		usleep(20000);
	}
	for (int i = 0; i < 4; i++)
		pthread_join(t[i], NULL);
	printf("end %u\n", line);
}

int main(int argc, char **argv)
{
	const char *what = argc > 1 ? argv[1] : "";
	unsigned int n = arg_number(argc, argv, 2, 1), ms = arg_number(argc, argv, 4, 0);
	uint64_t calls = arg_number(argc, argv, 3, 1);

	self = argv[0];
	counts = mmap(NULL, sizeof(*counts), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	if (counts == MAP_FAILED)
		die("mmap");
	if (!strcmp(what, "threads")) {
		pause_ms(ms);
		threads(n, work_thread, calls);
	} else if (!strcmp(what, "two")) {
		threads(n, two_thread, calls);
	} else if (!strcmp(what, "forks")) {
		children(n, work, calls, ms);
	} else if (!strcmp(what, "execs")) {
		children(n, exec_self, calls, 0);
		return 0; /* they tell themselves */
	} else if (!strcmp(what, "moved")) {
		moved(argv);
	} else if (!strcmp(what, "library")) {
		library_load();
		pause_ms(ms);
		library(calls);
		children(n, library, calls, ms);
	} else if (!strcmp(what, "until")) {
		until();
	} else {
		die("what?");
	}
	printf("calls probed_work=%llu probed_library=%llu probed_rare=%llu\n", (unsigned long long)counts->work,
	       (unsigned long long)counts->library, (unsigned long long)counts->rare);
	return 0;
}
