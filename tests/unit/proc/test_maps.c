/* SPDX-License-Identifier: (LGPL-2.1 OR BSD-2-Clause) */
/* The timeline: what is mapped where, for whom and when. Records of processes that don't exist, so no file opens. */
#include <criterion/criterion.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "proc/proc.h"

#define PID 0x7ff00000u /* above any pid_max */
#define PAGE 0x1000ull

static struct proc_maps *maps;

static void setup(void)
{
	cr_assert_eq(proc_maps_new(&maps), 0);
}

static void teardown(void)
{
	proc_maps_free(maps);
}

TestSuite(maps, .init = setup, .fini = teardown);

static void add(uint32_t pid, uint64_t time, uint64_t start, uint64_t pages, uint64_t pgoff, const char *path)
{
	uint64_t ino = path[0] == '/' && path[1] != '/' ? 1000 + (uint64_t)path[1] : 0;

	cr_assert_eq(proc_maps_add(maps, pid, time, start, pages * PAGE, pgoff, 8, 1, ino, path), 0);
}

/* Path NULL: nothing is mapped there then. */
static void check(uint32_t pid, uint64_t time, uint64_t addr, const char *path, uint64_t offset)
{
	const struct proc_mapping *m = proc_maps_find(maps, pid, time, addr);

	if (!path) {
		cr_assert_null(m, "%s at %lx, time %lu", m ? m->name : "", addr, time);
		return;
	}
	cr_assert_not_null(m, "no %s at %lx, time %lu", path, addr, time);
	cr_assert_str_eq(m->name, path, "%s, not %s, at %lx, time %lu", m->name, path, addr, time);
	cr_assert_leq(m->start, addr);
	cr_assert_gt(m->end, addr);
	cr_assert_leq(m->from_ns, time);
	cr_assert_gt(m->until_ns, time);
	if (m->file)
		cr_assert_eq(addr - m->start + m->pgoff, offset);
}

Test(maps, overlap_cuts_the_middle)
{
	add(PID, 10, 0x10000, 10, 0x2000, "/a");
	add(PID, 20, 0x14000, 2, 0, "/b");
	check(PID, 9, 0x10000, NULL, 0);
	check(PID, 10, 0x14000, "/a", 0x6000);
	check(PID, 19, 0x15fff, "/a", 0x7fff);
	check(PID, 20, 0x13fff, "/a", 0x5fff);
	check(PID, 20, 0x14000, "/b", 0);
	check(PID, 99, 0x15fff, "/b", 0x1fff);
	check(PID, 99, 0x16000, "/a", 0x8000);
	check(PID, 99, 0x19fff, "/a", 0xbfff);
	check(PID, 99, 0x1a000, NULL, 0);
	check(PID + 1, 99, 0x14000, NULL, 0);
}

Test(maps, one_covers_many)
{
	for (uint64_t i = 0; i < 20; i++)
		add(PID, i, 0x100000 + i * 2 * PAGE, 1, i * PAGE, "/a");
	add(PID, 100, 0x100000 + PAGE, 17, 0, "/b");
	check(PID, 100, 0x100000, "/a", 0);
	check(PID, 100, 0x101000, "/b", 0);
	check(PID, 100, 0x111fff, "/b", 0x10fff);
	check(PID, 100, 0x112000, "/a", 9 * PAGE);
	check(PID, 99, 0x102000, "/a", PAGE);
	check(PID, 99, 0x103000, NULL, 0);
}

Test(maps, same_again_changes_nothing)
{
	add(PID, 10, 0x10000, 4, 0, "/a");
	add(PID, 20, 0x11000, 2, 0x1000, "/a");
	cr_assert_eq(proc_maps_find(maps, PID, 30, 0x11000)->from_ns, 10);
	/* Another offset of the same file is another mapping. */
	add(PID, 30, 0x11000, 2, 0, "/a");
	check(PID, 29, 0x11000, "/a", 0x1000);
	check(PID, 30, 0x11000, "/a", 0);
	check(PID, 30, 0x13000, "/a", 0x3000);
}

Test(maps, late_records)
{
	add(PID, 10, 0x10000, 4, 0, "/a");
	add(PID, 30, 0x10000, 4, 0, "/c");
	add(PID, 20, 0x11000, 2, 0, "/b");
	check(PID, 15, 0x11000, "/a", 0x1000);
	check(PID, 25, 0x10000, "/a", 0);
	check(PID, 25, 0x11000, "/b", 0);
	check(PID, 25, 0x13000, "/a", 0x3000);
	check(PID, 30, 0x11000, "/c", 0x1000);
	/* what only a part of it is known to have been replaced of, stays in the rest */
	add(PID, 12, 0xf000, 16, 0, "/e");
	check(PID, 12, 0x11000, "/e", 0x2000);
	check(PID, 20, 0x10000, "/e", 0x1000);
	check(PID, 20, 0x11000, "/b", 0);
	check(PID, 39, 0xf000, "/e", 0);
	check(PID, 39, 0x10000, "/c", 0);
	check(PID, 39, 0x14000, "/e", 0x5000);
	proc_maps_exit(maps, PID, 40);
	add(PID, 35, 0x50000, 1, 0, "/d");
	check(PID, 34, 0x50000, NULL, 0);
	check(PID, 39, 0x50000, "/d", 0);
	check(PID, 40, 0x50000, NULL, 0);
}

Test(maps, fork_copies_what_held)
{
	add(PID, 10, 0x10000, 4, 0, "/a");
	add(PID, 20, 0x11000, 1, 0, "/b");
	cr_assert_eq(proc_maps_fork(maps, PID + 1, PID, 30), 0);
	add(PID, 40, 0x10000, 4, 0, "/c");
	add(PID + 1, 50, 0x20000, 1, 0, "/d");
	check(PID + 1, 29, 0x10000, NULL, 0);
	check(PID + 1, 30, 0x10000, "/a", 0);
	check(PID + 1, 99, 0x11000, "/b", 0);
	check(PID + 1, 99, 0x12000, "/a", 0x2000);
	check(PID + 1, 99, 0x20000, "/d", 0);
	check(PID, 99, 0x20000, NULL, 0);
	check(PID, 99, 0x11000, "/c", 0x1000);
	/* A fork record that comes late gets what the parent had then. */
	cr_assert_eq(proc_maps_fork(maps, PID + 2, PID, 15), 0);
	check(PID + 2, 99, 0x11000, "/a", 0x1000);
	cr_assert_eq(proc_maps_fork(maps, PID + 3, PID + 77, 15), 0);
	check(PID + 3, 99, 0x11000, NULL, 0);
	cr_assert_eq(proc_maps_fork(maps, PID, PID, 15), -EINVAL);
}

Test(maps, exec_ends_everything)
{
	add(PID, 10, 0x10000, 4, 0, "/a");
	proc_maps_exec(maps, PID, 20);
	add(PID, 21, 0x20000, 4, 0, "/b");
	check(PID, 19, 0x10000, "/a", 0);
	check(PID, 20, 0x10000, NULL, 0);
	check(PID, 21, 0x20000, "/b", 0);
	check(PID, 19, 0x20000, NULL, 0);
	/* An exec record that comes after the new program's first mappings. */
	add(PID, 32, 0x30000, 1, 0, "/c");
	add(PID, 33, 0x20000, 1, 0, "/d");
	proc_maps_exec(maps, PID, 31);
	check(PID, 30, 0x20000, "/b", 0);
	check(PID, 32, 0x21000, NULL, 0);
	check(PID, 32, 0x30000, "/c", 0);
	check(PID, 33, 0x20000, "/d", 0);
	check(PID, 32, 0x20000, NULL, 0);
}

/* The first records of a forked process may be read before its fork is. */
Test(maps, records_before_the_fork)
{
	add(PID, 5, 0x20000, 4, 0, "/p");
	add(PID, 5, 0x30000, 1, 0, "/q");
	add(PID + 1, 32, 0x40000, 1, 0, "/own");
	add(PID + 1, 33, 0x21000, 1, 0, "/over");
	cr_assert_eq(proc_maps_fork(maps, PID + 1, PID, 30), 0);
	check(PID + 1, 29, 0x20000, NULL, 0);
	check(PID + 1, 30, 0x21000, "/p", 0x1000);
	check(PID + 1, 31, 0x40000, NULL, 0);
	check(PID + 1, 40, 0x40000, "/own", 0);
	check(PID + 1, 40, 0x20000, "/p", 0);
	check(PID + 1, 40, 0x30000, "/q", 0);
	check(PID + 1, 40, 0x21000, "/over", 0);
	/* With an exec between, what came first belongs to the new program. */
	add(PID + 2, 53, 0x40000, 1, 0, "/own");
	proc_maps_exec(maps, PID + 2, 52);
	cr_assert_eq(proc_maps_fork(maps, PID + 2, PID, 50), 0);
	check(PID + 2, 51, 0x20000, "/p", 0);
	check(PID + 2, 52, 0x20000, NULL, 0);
	check(PID + 2, 60, 0x20000, NULL, 0);
	check(PID + 2, 60, 0x40000, "/own", 0);
}

Test(maps, what_means_the_same)
{
	const uint64_t both[] = { 0x10000, 0x20010 }, first[] = { 0x10000 }, none[] = { 0x90000 };
	uint64_t version;

	add(PID, 10, 0x10000, 4, 0, "/a");
	add(PID, 10, 0x20000, 4, 0, "/b");
	add(PID, 10, 0x50000, 4, 0, "//anon");
	version = proc_maps_version(maps);
	cr_assert(proc_maps_same(maps, PID, 10, 19, both, 2));
	cr_assert(proc_maps_same(maps, PID, 10, 99, none, 1), "nothing known at either time");
	cr_assert_eq(proc_maps_version(maps), version, "asking changed something");
	add(PID, 20, 0x20000, 4, 0, "/c");
	cr_assert_neq(proc_maps_version(maps), version);
	cr_assert_eq(proc_maps_changed_ns(maps, PID), 20);
	cr_assert_not(proc_maps_same(maps, PID, 19, 20, both, 2));
	cr_assert_not(proc_maps_same(maps, PID, 20, 19, both, 2));
	cr_assert(proc_maps_same(maps, PID, 19, 20, first, 1));
	cr_assert(proc_maps_same(maps, PID, 20, 99, both, 2));
	cr_assert_eq(proc_maps_newest_ns(maps, PID, 19, both, 2), 10);
	cr_assert_eq(proc_maps_newest_ns(maps, PID, 20, both, 2), 20);
	cr_assert_eq(proc_maps_newest_ns(maps, PID, 20, first, 1), 10);
	cr_assert_eq(proc_maps_newest_ns(maps, PID, 20, none, 1), 0);
	cr_assert_eq(proc_maps_newest_ns(maps, PID + 9, 20, both, 2), 0);
	/* the first one back: then it means what it meant */
	add(PID, 30, 0x20000, 4, 0, "/b");
	cr_assert(proc_maps_same(maps, PID, 19, 30, both, 2));
	/* the same file elsewhere in it, part of a longer mapping, moved to another address */
	add(PID, 40, 0x20000, 4, 0x1000, "/b");
	cr_assert_not(proc_maps_same(maps, PID, 39, 40, both, 2));
	add(PID, 50, 0x1f000, 8, 0, "/b");
	cr_assert(proc_maps_same(maps, PID, 49, 50, both, 2));
	add(PID, 60, 0x50000, 4, 0, "/a");
	cr_assert_not(proc_maps_same(maps, PID, 59, 60, &(uint64_t){ 0x50000 }, 1));
	/* gone with an exec, and for a process that is not known at all */
	proc_maps_exec(maps, PID, 70);
	cr_assert_not(proc_maps_same(maps, PID, 69, 70, both, 2));
	cr_assert(proc_maps_same(maps, PID, 71, 72, both, 2));
	cr_assert(proc_maps_same(maps, PID + 9, 1, 2, both, 2));
}

Test(maps, pid_reuse)
{
	add(PID, 10, 0x10000, 1, 0, "/a");
	proc_maps_exit(maps, PID, 20);
	check(PID, 19, 0x10000, "/a", 0);
	check(PID, 20, 0x10000, NULL, 0);
	add(PID + 1, 5, 0x20000, 1, 0, "/p");
	cr_assert_eq(proc_maps_fork(maps, PID, PID + 1, 30), 0);
	check(PID, 25, 0x20000, NULL, 0);
	check(PID, 30, 0x10000, NULL, 0);
	check(PID, 30, 0x20000, "/p", 0);
	check(PID, 15, 0x10000, "/a", 0);
	/* The exit was lost: the next life still sees nothing of this one. */
	cr_assert_eq(proc_maps_fork(maps, PID, PID + 77, 40), 0);
	check(PID, 39, 0x20000, "/p", 0);
	check(PID, 40, 0x20000, NULL, 0);
	proc_maps_exit(maps, PID, 50);
	/* A record after the end is a new process's. */
	add(PID, 60, 0x60000, 1, 0, "/z");
	check(PID, 60, 0x60000, "/z", 0);
	check(PID, 59, 0x60000, NULL, 0);
	check(PID, 15, 0x10000, "/a", 0);
}

Test(maps, names)
{
	const struct proc_mapping *m;

	cr_assert_eq(proc_maps_add(maps, PID, 1, 0x1000, PAGE, 0, 8, 1, 5, "/x/y (deleted)"), 0);
	cr_assert_eq(proc_maps_add(maps, PID, 1, 0x2000, PAGE, 0, 8, 1, 6, "/x/\xff\n;(deleted)"), 0);
	cr_assert_eq(proc_maps_add(maps, PID, 1, 0x3000, PAGE, 0, 0, 0, 0, "//anon"), 0);
	cr_assert_eq(proc_maps_add(maps, PID, 1, 0x4000, PAGE, 0, 0, 0, 0, ""), 0);
	m = proc_maps_find(maps, PID, 1, 0x1000);
	cr_assert_str_eq(m->file->path, "/x/y");
	cr_assert_eq(m->name, m->file->path);
	cr_assert_eq(m->file->fd, -1);
	cr_assert_str_eq(proc_maps_find(maps, PID, 1, 0x2000)->name, "/x/\xff\n;(deleted)");
	cr_assert_str_eq(proc_maps_find(maps, PID, 1, 0x3000)->name, "//anon");
	cr_assert_null(proc_maps_find(maps, PID, 1, 0x3000)->file);
	cr_assert_str_eq(proc_maps_find(maps, PID, 1, 0x4000)->name, "//anon");
	cr_assert_eq(proc_maps_add(maps, PID, 1, 0x4000, 0, 0, 0, 0, 0, ""), -EINVAL);
	cr_assert_eq(proc_maps_add(maps, PID, 1, UINT64_MAX - 10, 100, 0, 0, 0, 0, ""), -EINVAL);
}

struct list {
	const struct proc_mapping *v[16];
	size_t n, stop_after;
};

static int collect(void *arg, const struct proc_mapping *m)
{
	struct list *l = arg;

	l->v[l->n++] = m;
	return l->n == l->stop_after ? 42 : 0;
}

Test(maps, each_by_address)
{
	struct list l = { .n = 0 };

	add(PID, 10, 0x30000, 1, 0, "/a");
	add(PID, 11, 0x10000, 4, 0, "/b");
	add(PID, 12, 0x11000, 1, 0, "/c");
	cr_assert_eq(proc_maps_each(maps, PID, 11, collect, &l), 0);
	/* /b in the three parts that it came to have, each for its own time. */
	cr_assert_eq(l.n, 4);
	for (size_t i = 0; i < 3; i++) {
		cr_assert_str_eq(l.v[i]->name, "/b");
		cr_assert_eq(l.v[i]->end, l.v[i + 1]->start < 0x14000 ? l.v[i + 1]->start : 0x14000);
	}
	cr_assert_eq(l.v[0]->start, 0x10000);
	cr_assert_str_eq(l.v[3]->name, "/a");
	l = (struct list){ .n = 0 };
	cr_assert_eq(proc_maps_each(maps, PID, 12, collect, &l), 0);
	cr_assert_eq(l.n, 4);
	for (size_t i = 1; i < l.n; i++)
		cr_assert_geq(l.v[i]->start, l.v[i - 1]->end);
	l = (struct list){ .stop_after = 2 };
	cr_assert_eq(proc_maps_each(maps, PID, 12, collect, &l), 42);
	cr_assert_eq(l.n, 2);
	cr_assert_eq(proc_maps_each(maps, PID + 9, 12, collect, &l), 0);
	cr_assert_eq(l.n, 2);
}

/* A model that is too simple to be wrong: for each page and tick, which of the files. */
#define PAGES 12
#define TICKS 60

static void random_timeline(unsigned int seed, bool shuffled)
{
	static const char *const paths[] = { "/a", "/b", "/c", "/d", "/e", "//anon" };
	struct record {
		uint64_t time, page, n;
		unsigned int path;
	} r[TICKS];
	int model[TICKS][PAGES];
	uint32_t pid = PID + seed;

	memset(model, -1, sizeof(model));
	srand(seed);
	for (uint64_t t = 0; t < TICKS; t++) {
		r[t] = (struct record){ t, (uint64_t)rand() % (PAGES - 1), 1, (unsigned int)rand() % (shuffled ? 5 : 6) };
		/*
		 * One page each: over several newer ones a late record loses some of its span. And no record
		 * that repeats an older one's content: what only confirms is not kept.
		 */
		if (!shuffled)
			r[t].n += (uint64_t)rand() % (PAGES - r[t].page - 1);
		for (uint64_t later = t; later < TICKS; later++)
			for (uint64_t p = r[t].page; p < r[t].page + r[t].n; p++)
				model[later][p] = (int)t;
	}
	if (shuffled) {
		for (size_t i = TICKS - 1; i > 1; i--) {
			size_t j = 1 + (size_t)rand() % i;
			struct record x = r[i];

			r[i] = r[j];
			r[j] = x;
		}
	}
	for (size_t i = 0; i < TICKS; i++)
		add(pid, r[i].time, 0x100000 + r[i].page * PAGE, r[i].n, r[i].time * 0x100000, paths[r[i].path]);
	for (uint64_t t = 0; t < TICKS; t++) {
		for (uint64_t p = 0; p < PAGES; p++) {
			const struct record *want = NULL;

			for (size_t i = 0; i < TICKS; i++)
				if ((int)r[i].time == model[t][p])
					want = &r[i];
			check(pid, t, 0x100000 + p * PAGE, want ? paths[want->path] : NULL,
			      want ? want->time * 0x100000 + (p - want->page) * PAGE : 0);
		}
	}
}

Test(maps, random_in_order)
{
	for (unsigned int seed = 1; seed <= 40; seed++)
		random_timeline(seed, false);
}

Test(maps, random_out_of_order)
{
	for (unsigned int seed = 1; seed <= 40; seed++)
		random_timeline(seed, true);
}
