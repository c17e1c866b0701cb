/* SPDX-License-Identifier: (LGPL-2.1 OR BSD-2-Clause) */
/*
 * Programs without frame pointers that block in many ways: our frames are libdwfl's frames of the same stopped
 * thread, and the functions are those of the program's text.
 */
#include <criterion/criterion.h>
#include <stdio.h>
#include <string.h>

#include "../objfile/build.h"
#include "sym/sym.h"
#include "target.h"
#include "unwind/unwind.h"
#include "util/cleanup.h"

static struct proc_maps *maps;
static struct sym *sym;
static struct unwind *unwind;

static void setup(void)
{
	build_begin();
	cr_assert_eq(proc_maps_new(&maps), 0);
	cr_assert_eq(sym_new(maps, NULL, &sym), 0);
	cr_assert_eq(unwind_new(maps, &unwind), 0);
}

static void teardown(void)
{
	unwind_free(unwind);
	sym_free(sym);
	proc_maps_free(maps);
	build_end();
}

TestSuite(blocked, .init = setup, .fini = teardown);

static const char source[] =
	"#define _GNU_SOURCE\n#include <pthread.h>\n#include <semaphore.h>\n#include <signal.h>\n#include <stdlib.h>\n"
	"#include <string.h>\n#include <time.h>\n#include <unistd.h>\n#include <poll.h>\n#include <alloca.h>\n"
	"#define FN __attribute__((noinline,noipa))\n"
	"static pthread_mutex_t m = PTHREAD_MUTEX_INITIALIZER; static pthread_cond_t c = PTHREAD_COND_INITIALIZER;\n"
	"static sem_t s; volatile int sink; static const char *how; static char alt[65536];\n"
	"static void handler(int n) { struct timespec t = {100,0}; sink = n; nanosleep(&t, 0); sink = n; }\n"
	"FN int inner(void) {\n"
	"  struct timespec t = {100,0};\n"
	"  if (!strcmp(how, \"nanosleep\")) nanosleep(&t, 0);\n"
	"  if (!strcmp(how, \"mutex\")) { pthread_mutex_lock(&m); pthread_mutex_lock(&m); }\n"
	"  if (!strcmp(how, \"cond\")) { pthread_mutex_lock(&m); pthread_cond_wait(&c, &m); }\n"
	"  if (!strcmp(how, \"sem\")) { sem_init(&s, 0, 0); sem_wait(&s); }\n"
	"  if (!strcmp(how, \"poll\")) poll(0, 0, 100000);\n"
	"  if (!strcmp(how, \"read\")) { int p[2]; if (pipe(p)) return 1; char b; sink = read(p[0], &b, 1); }\n"
	"  if (!strcmp(how, \"signal\")) { signal(SIGUSR1, handler); raise(SIGUSR1); }\n"
	"  if (!strcmp(how, \"fault\")) { signal(SIGSEGV, handler); *(volatile int *)8 = 1; }\n"
	"  return sink = 1;\n}\n"
	"FN int dynamic(int n) { char *p = alloca(n); memset(p, 1, n); int r = inner(); sink = p[r]; return r + 1; }\n"
	"FN int deep(int n) { if (!n) return inner() + 1; return deep(n - 1) + (sink = n); }\n"
	"static int compare(const void *a, const void *b) { inner(); sink = 1; return a < b; }\n"
	"FN int middle(int kind) {\n"
	"  int v[4] = {3,1,2,0};\n"
	"  if (kind == 'd') return deep(300) + sink;\n"
	"  if (kind == 'a') return dynamic(1000 + sink) + sink;\n"
	"  if (kind == 'q') { qsort(v, 4, sizeof *v, compare); return v[1] + sink; }\n"
	"  return inner() + sink;\n}\n"
	"FN int outer(int kind) { return middle(kind) + (sink = 3); }\n"
	"static int kind; static void *thread(void *a) { sink = outer(kind); return a; }\n"
	"int main(int n, char **v) {\n"
	"  kind = v[1][0]; how = v[1] + 2; sink = 0;\n"
	"  if (kind == 't') { pthread_t t; pthread_create(&t, 0, thread, 0); pthread_join(t, 0); }\n"
	"  return outer(kind) + (sink = 4);\n}\n";

/* The names from inner outwards, separated by blanks; "?" where there is none. With no blank at the end. */
static void names_of(const struct target *t, const uint64_t *frames, size_t n, char *ret, size_t ret_n)
{
	size_t at = 0;

	*ret = '\0';
	for (size_t i = 0; i < n && at < ret_n; i++) {
		struct sym_frame f;

		sym_user(sym, (uint32_t)t->pid, 1, frames[i], i > 0, &f, 1);
		at += (size_t)snprintf(ret + at, ret_n - at, "%s%s", i ? " " : "", f.name && !strchr(f.name, '~') ? f.name : "?");
	}
}

/* Do names begin with those wanted? A "?" is any name: libc's static functions have one where its debug file is. */
static bool begins(const char *names, const char *want)
{
	for (; *want; want++, names++) {
		if (*want == '?')
			names += strcspn(names, " ") - 1;
		else if (*want != *names)
			return false;
	}
	return true;
}

static bool contains(const char *names, const char *want)
{
	while (!begins(names, want)) {
		names = strchr(names, ' ');
		if (!names++)
			return false;
	}
	return true;
}

static void check(const char *flags, const char *arg, int other_thread, const char *want_names)
{
	const char *path = build_compile("prog", flags, source);
	struct target t = target_start(path, arg, other_thread);
	uint64_t want[TARGET_FRAMES_MAX], got[TARGET_FRAMES_MAX];
	struct unwind_input in = { (uint32_t)t.pid, 1, t.regs, t.stack, t.stack_n };
	enum unwind_end end;
	size_t want_n, n = 0;
	char names[16384];

	cr_assert_eq(proc_maps_snapshot(maps, (uint32_t)t.pid, 0), 0);
	want_n = target_dwfl(&t, want);
	cr_assert_eq(unwind_copy(unwind, &in, got, TARGET_FRAMES_MAX, &n, &end), 0);
	names_of(&t, got, n, names, sizeof(names));
	target_end(&t);
	cr_assert_eq(end, UNWIND_COMPLETE, "%s: end %d: %s", arg, end, names);
	cr_assert_eq(n, want_n, "%s: %zu frames, libdwfl has %zu: %s", arg, n, want_n, names);
	for (size_t i = 0; i < n; i++)
		cr_assert_eq(got[i], want[i], "%s: frame %zu: %s", arg, i, names);
	cr_assert(contains(names, want_names), "%s: no \"%s\" in: %s", arg, want_names, names);
}

#define FLAGS "-O2 -fomit-frame-pointer -pthread"

Test(blocked, sleep)
{
	check(FLAGS, "m nanosleep", 0, "clock_nanosleep nanosleep inner middle outer main ? __libc_start_main _start");
}

Test(blocked, mutex)
{
	check(FLAGS, "m mutex", 0, "pthread_mutex_lock inner middle outer main");
}

Test(blocked, condition)
{
	check(FLAGS, "m cond", 0, "pthread_cond_wait inner middle outer main");
}

Test(blocked, semaphore)
{
	check(FLAGS, "m sem", 0, "inner middle outer main");
}

Test(blocked, poll)
{
	check(FLAGS, "m poll", 0, "poll inner middle outer main");
}

Test(blocked, read)
{
	check(FLAGS, "m read", 0, "read inner middle outer main");
}

Test(blocked, second_thread)
{
	check(FLAGS, "t nanosleep", 1, "nanosleep inner middle outer thread");
}

Test(blocked, join)
{
	check(FLAGS, "t nanosleep", 0, "main ? __libc_start_main _start");
}

Test(blocked, signal_handler)
{
	check(FLAGS, "m signal", 0, "nanosleep handler ? ");
}

/* The interrupted instruction is its function's own, not the one before: no call was made. */
Test(blocked, fault_handler)
{
	check(FLAGS, "m fault", 0, "nanosleep handler ? inner middle outer main");
}

Test(blocked, deep_recursion)
{
	char want[4096] = "inner";

	for (int i = 0; i <= 300; i++)
		strcat(want, " deep");
	strcat(want, " middle outer main");
	/* Tail calls and recursion unrolled would leave other frames. */
	check("-O1 -fomit-frame-pointer -fno-optimize-sibling-calls -pthread", "d nanosleep", 0, want);
}

Test(blocked, alloca_frame)
{
	check(FLAGS, "a nanosleep", 0, "inner dynamic middle outer main");
}

Test(blocked, qsort_callback)
{
	check(FLAGS, "q nanosleep", 0, "inner compare");
	check(FLAGS, "q nanosleep", 0, "middle outer main");
}

Test(blocked, static_program)
{
	check(FLAGS " -static", "m nanosleep", 0, "inner middle outer main");
}

/* Lazy binding: not every object has a table for binary search. */
Test(blocked, without_eh_frame_hdr)
{
	check(FLAGS " -Wl,--no-eh-frame-hdr", "m nanosleep", 0, "inner middle outer main");
}

static const char debug_frame[] = FLAGS " -g -fno-asynchronous-unwind-tables -fno-unwind-tables";

/* Rules in .debug_frame alone: as it is, and compressed in both ways. */
Test(blocked, debug_frame)
{
	check(debug_frame, "m nanosleep", 0, "inner middle outer main");
}

Test(blocked, debug_frame_compressed)
{
	char flags[256];

	snprintf(flags, sizeof(flags), "%s -gz=zlib", debug_frame);
	check(flags, "m nanosleep", 0, "inner middle outer main");
	snprintf(flags, sizeof(flags), "%s -gz=zlib-gnu", debug_frame);
	check(flags, "m nanosleep", 0, "inner middle outer main");
}
