/* SPDX-License-Identifier: (LGPL-2.1 OR BSD-2-Clause) */
/* When what was read becomes known, and what is said of who can't be read. Our own maps, a clock of our own. */
#include "capture/reread.h"

#include <criterion/criterion.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

static struct proc_maps *maps;
static struct reread *r;
static uint64_t now_ns = 1000;
static uint32_t self, amended_pid, amended_n;
static uint64_t code; /* a page that no record has told of */

static uint64_t clock_read(void *arg)
{
	(void)arg;
	return now_ns++;
}

static void amended(void *arg, uint32_t pid)
{
	(void)arg;
	amended_pid = pid;
	amended_n++;
}

static void setup(void)
{
	void *p;

	self = (uint32_t)getpid();
	cr_assert_eq(proc_maps_new(&maps), 0);
	cr_assert_eq(proc_maps_snapshot(maps, self, 0), 0);
	cr_assert_eq(reread_new(maps, clock_read, amended, NULL, &r), 0);
	p = mmap(NULL, 4096, PROT_READ | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	cr_assert_neq(p, MAP_FAILED);
	code = (uint64_t)(uintptr_t)p;
}

static void teardown(void)
{
	reread_free(r);
	proc_maps_free(maps);
}

TestSuite(reread, .init = setup, .fini = teardown);

static bool is_known(void)
{
	return proc_maps_find(maps, self, now_ns, code);
}

static uint32_t gone(void)
{
	pid_t child = fork();

	cr_assert_geq(child, 0);
	if (!child)
		_exit(0);
	cr_assert_eq(waitpid(child, NULL, 0), child);
	return (uint32_t)child;
}

/* The events of the moment of reading are read in the next round and handed out in the one after that. */
Test(reread, known_after_the_events_of_its_time)
{
	cr_assert_eq(reread_process(r, self, 900, false), 0);
	cr_assert_eq(reread_n(r), 1);
	reread_round(r);
	reread_round(r);
	cr_assert(reread_pending(r, self));
	cr_assert_not(reread_pending(r, self + 1));
	cr_assert_not(is_known());
	reread_round(r);
	cr_assert_eq(reread_n(r), 0);
	cr_assert_not(reread_pending(r, self));
	cr_assert(is_known());
	cr_assert_eq(amended_n, 1);
	cr_assert_eq(amended_pid, self);
	/* nothing new: nobody is told */
	cr_assert_eq(reread_process(r, self, 900, false), 0);
	reread_finish(r);
	cr_assert_eq(amended_n, 1);
	cr_assert_eq(reread_lost(r), 0);
	cr_assert_eq(reread_gone(r), 0);
}

Test(reread, known_at_the_end)
{
	cr_assert_eq(reread_process(r, self, 900, false), 0);
	reread_finish(r);
	cr_assert(is_known());
}

Test(reread, known_at_once_after_the_end)
{
	reread_finish(r);
	cr_assert_eq(reread_process(r, self, 900, true), 0);
	cr_assert(is_known());
	cr_assert_eq(reread_n(r), 0);
}

Test(reread, who_is_gone_is_told)
{
	uint32_t pid = gone();

	cr_assert_eq(reread_process(r, pid, 900, false), 0);
	cr_assert_eq(reread_gone(r), 1);
	cr_assert_eq(reread_lost(r), 0);
	cr_assert_eq(reread_process(r, pid, 900, true), 0);
	cr_assert_eq(reread_gone(r), 1);
	cr_assert_eq(reread_lost(r), 1);
	cr_assert_eq(reread_n(r), 0);
}

/* The next exec came so soon that what was read may be the one's or the other's. */
Test(reread, an_exec_too_soon_is_lost)
{
	cr_assert_eq(reread_process(r, self, 900, true), 0);
	proc_maps_exec(maps, self, 1001); /* read_ns is 1000 */
	cr_assert_eq(reread_process(r, self, 1001, true), 0);
	reread_finish(r);
	cr_assert_eq(reread_lost(r), 1);
	cr_assert(is_known());
	cr_assert_null(proc_maps_find(maps, self, 1000, code));
}
