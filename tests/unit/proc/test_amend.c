/* SPDX-License-Identifier: (LGPL-2.1 OR BSD-2-Clause) */
/* What records have not told, put right from our own maps. Times are made up, mappings are real. */
#include <criterion/criterion.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <sys/wait.h>
#include <unistd.h>

#include "proc/proc.h"
#include "util/cleanup.h"

#define PAGE 4096u

static struct proc_maps *maps;
static uint32_t self;
static char path[] = "/tmp/wcbpf-amend-XXXXXX";
static int file_fd;
static struct stat st;

static const struct proc_amendment times = { .from_ns = 50, .read_ns = 100, .read_over_ns = 110, .told_ns = 120 };

static void setup(void)
{
	self = (uint32_t)getpid();
	cr_assert_eq(proc_maps_new(&maps), 0);
	file_fd = mkostemp(path, O_CLOEXEC);
	cr_assert_geq(file_fd, 0);
	cr_assert_eq(ftruncate(file_fd, (off_t)4 * PAGE), 0);
	cr_assert_eq(fstat(file_fd, &st), 0);
	cr_assert_eq(proc_maps_snapshot(maps, self, 0), 0);
}

static void teardown(void)
{
	close(file_fd);
	unlink(path);
	proc_maps_free(maps);
}

TestSuite(amend, .init = setup, .fini = teardown);

/* Maps a page of the file that no record tells of. */
static uint64_t map_page(int prot)
{
	void *p = mmap(NULL, PAGE, prot, MAP_PRIVATE, file_fd, PAGE);

	cr_assert_neq(p, MAP_FAILED);
	return (uint64_t)(uintptr_t)p;
}

/* A record of another file at that address. */
static void tell_other(uint64_t time_ns, uint64_t at)
{
	cr_assert_eq(proc_maps_add(maps, self, time_ns, at, PAGE, 0, 8, 1, 7777, "/other"), 0);
}

static int amend(const struct proc_amendment *a, bool *ret_changed)
{
	struct proc_reading *r = NULL;
	int err;

	cr_assert_eq(proc_maps_read(maps, self, &r), 0);
	err = proc_maps_amend(maps, r, a, ret_changed);
	proc_reading_free(r);
	return err;
}

/* NULL: nothing is known there then. */
static void check(uint64_t time_ns, uint64_t at, const char *name)
{
	const struct proc_mapping *m = proc_maps_find(maps, self, time_ns, at);

	if (!name) {
		cr_assert_null(m, "%s at time %lu", m ? m->name : "", time_ns);
		return;
	}
	cr_assert_not_null(m, "nothing at time %lu", time_ns);
	cr_assert_str_eq(m->name, name, "%s at time %lu", m->name, time_ns);
	if (!strcmp(name, path))
		cr_assert_eq(m->pgoff, PAGE);
}

Test(amend, where_nothing_was)
{
	uint64_t at = map_page(PROT_READ | PROT_EXEC);
	bool changed = false;

	check(UINT64_MAX - 1, at, NULL);
	cr_assert_eq(amend(&times, &changed), 0);
	cr_assert(changed);
	check(49, at, NULL);
	check(50, at, path);
	check(UINT64_MAX - 1, at, path);
	/* stacks of before are looked at again */
	cr_assert_eq(proc_maps_changed_ns(maps, self), 120);
}

Test(amend, where_another_was)
{
	uint64_t at = map_page(PROT_READ | PROT_EXEC);
	bool changed = false;

	tell_other(10, at);
	cr_assert_eq(amend(&times, &changed), 0);
	cr_assert(changed);
	check(49, at, "/other");
	check(50, at, NULL);
	check(119, at, NULL);
	check(120, at, path);
}

/* The other one was told of in the doubtful time: it was there then, and for how long nobody knows. */
Test(amend, where_another_came_and_went)
{
	uint64_t at = map_page(PROT_READ | PROT_EXEC);
	bool changed = false;

	tell_other(70, at);
	cr_assert_eq(amend(&times, &changed), 0);
	for (uint64_t t = 50; t < 120; t++)
		check(t, at, NULL);
	check(120, at, path);
}

Test(amend, what_is_gone)
{
	uint64_t at = map_page(PROT_READ); /* no code: not shown */
	bool changed = false;

	tell_other(10, at);
	cr_assert_eq(amend(&times, &changed), 0);
	cr_assert(changed);
	check(99, at, "/other");
	check(100, at, NULL);
}

Test(amend, what_came_while_it_was_read)
{
	uint64_t at = map_page(PROT_READ);
	bool changed = true;

	tell_other(105, at);
	cr_assert_eq(amend(&times, &changed), 0);
	cr_assert_not(changed);
	check(104, at, NULL);
	check(105, at, "/other");
	check(UINT64_MAX - 1, at, "/other");
}

Test(amend, what_was_told_stays)
{
	uint64_t at = map_page(PROT_READ | PROT_EXEC), version;
	bool changed = true;

	cr_assert_eq(proc_maps_add(maps, self, 80, at, PAGE, PAGE, major(st.st_dev), minor(st.st_dev), st.st_ino, path), 0);
	version = proc_maps_version(maps);
	cr_assert_eq(amend(&times, &changed), 0);
	cr_assert_not(changed);
	cr_assert_eq(proc_maps_version(maps), version);
	check(79, at, NULL);
	check(80, at, path);
}

Test(amend, no_longer_than_the_program)
{
	uint64_t at = map_page(PROT_READ | PROT_EXEC);
	bool changed = false;

	proc_maps_exec(maps, self, 60);
	cr_assert_eq(proc_maps_began_ns(maps, self, 59), 0);
	cr_assert_eq(proc_maps_began_ns(maps, self, 60), 60);
	cr_assert_eq(amend(&times, &changed), 0);
	check(59, at, NULL);
	check(60, at, path);
}

Test(amend, an_exec_while_it_was_read)
{
	uint64_t at = map_page(PROT_READ | PROT_EXEC), version;
	bool changed = true;

	proc_maps_exec(maps, self, 105);
	version = proc_maps_version(maps);
	cr_assert_eq(amend(&times, &changed), -ESTALE);
	cr_assert(changed);
	cr_assert_eq(proc_maps_version(maps), version);
	check(UINT64_MAX - 1, at, NULL);
}

Test(amend, an_exec_after_it_was_read)
{
	uint64_t at = map_page(PROT_READ | PROT_EXEC);
	bool changed = false;

	proc_maps_exec(maps, self, 115);
	cr_assert_eq(amend(&times, &changed), 0);
	check(50, at, path);
	check(114, at, path);
	check(115, at, NULL);
	check(UINT64_MAX - 1, at, NULL);
}

Test(amend, who_is_over)
{
	bool changed = true;

	proc_maps_exit(maps, self, 90);
	cr_assert_eq(amend(&times, &changed), -ESTALE);
	cr_assert(changed);
}

Test(amend, who_was_not_known)
{
	uint64_t at = map_page(PROT_READ | PROT_EXEC);
	struct proc_maps *others = maps;
	bool changed = false;

	cr_assert_eq(proc_maps_new(&maps), 0);
	cr_assert_eq(proc_maps_began_ns(maps, self, 100), 0);
	cr_assert_eq(amend(&times, &changed), 0);
	cr_assert(changed);
	check(49, at, NULL);
	check(50, at, path);
	proc_maps_free(others);
}

Test(amend, who_can_not_be_read)
{
	struct proc_reading *r = NULL;
	pid_t child = fork();

	cr_assert_geq(child, 0);
	if (!child)
		_exit(0);
	cr_assert_eq(waitpid(child, NULL, 0), child);
	cr_assert_eq(proc_maps_read(maps, (uint32_t)child, &r), -ESRCH);
	cr_assert_null(r);
}
