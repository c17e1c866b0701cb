/* SPDX-License-Identifier: (LGPL-2.1 OR BSD-2-Clause) */
/* Snapshots of real processes and the files behind them: deleted, replaced, oddly named, too many. */
#include <criterion/criterion.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/mount.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <sys/wait.h>
#include <unistd.h>

#include "proc/proc.h"
#include "util/cleanup.h"

#define PAGE 4096u

static struct proc_maps *maps;
static char folder[] = "/tmp/wcbpf-maps-XXXXXX";

static void setup(void)
{
	cr_assert_eq(proc_maps_new(&maps), 0);
	cr_assert_not_null(mkdtemp(folder));
}

static void teardown(void)
{
	char command[64];

	proc_maps_free(maps);
	snprintf(command, sizeof(command), "rm -rf %s", folder);
	cr_assert_eq(system(command), 0);
}

TestSuite(files, .init = setup, .fini = teardown);

/* A file of two pages whose first bytes are text. */
static void write_file(const char *path, const char *text)
{
	_cleanup_(closep) int fd = open(path, O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0755);

	cr_assert_geq(fd, 0);
	cr_assert_eq(dprintf(fd, "%s", text), (int)strlen(text));
	cr_assert_eq(ftruncate(fd, 2 * PAGE), 0);
}

/* Maps a page of it executable. */
static uint64_t map_exec(const char *path, off_t offset)
{
	_cleanup_(closep) int fd = open(path, O_RDONLY | O_CLOEXEC);
	void *p = mmap(NULL, PAGE, PROT_READ | PROT_EXEC, MAP_PRIVATE, fd, offset);

	cr_assert_neq(p, MAP_FAILED);
	return (uint64_t)p;
}

static void check_content(const struct proc_file *f, const char *text)
{
	char got[32] = "";
	int fd = -1;

	cr_assert_eq(proc_file_open(f, &fd), 0);
	cr_assert_geq(pread(fd, got, sizeof(got) - 1, 0), (ssize_t)strlen(text));
	cr_assert_str_eq(got, text);
	close(fd);
}

/* Every executable line of /proc/self/maps, read with sscanf. */
Test(files, own_snapshot)
{
	_cleanup_(fclosep) FILE *f = NULL;
	uint32_t pid = (uint32_t)getpid();
	char line[8192];
	size_t n = 0, files = 0, vdso = 0;

	cr_assert_eq(proc_maps_snapshot(maps, pid, 0), 0);
	f = fopen("/proc/self/maps", "re");
	while (fgets(line, sizeof(line), f)) {
		uint64_t start, end, off, ino;
		char perms[5], path[4096] = "";
		const struct proc_mapping *m;

		cr_assert_geq(sscanf(line, "%" SCNx64 "-%" SCNx64 " %4s %" SCNx64 " %*x:%*x %" SCNu64 " %4095[^\n]",
				     &start, &end, perms, &off, &ino, path), 5);
		m = proc_maps_find(maps, pid, 5, start);
		if (perms[2] != 'x') {
			cr_assert_null(m, "%s", line);
			continue;
		}
		n++;
		cr_assert_not_null(m, "%s", line);
		cr_assert(m->start == start && m->end == end && m->pgoff == off && m->from_ns == 0);
		cr_assert_eq(m, proc_maps_find(maps, pid, UINT64_MAX - 1, end - 1));
		cr_assert_str_eq(m->name, path);
		vdso += !strcmp(path, "[vdso]");
		cr_assert_eq(!!m->file, !!ino);
		if (m->file) {
			struct stat st;

			files++;
			cr_assert_eq(fstat(m->file->fd, &st), 0);
			cr_assert_eq(st.st_ino, ino);
			cr_assert_eq(fcntl(m->file->fd, F_GETFD), FD_CLOEXEC);
		}
	}
	cr_assert_gt(n, 5);
	cr_assert_gt(files, 3);
	cr_assert_eq(vdso, 1);
}

Test(files, snapshot_of_nobody)
{
	int status;
	pid_t child = fork();

	if (!child)
		_exit(0);
	siginfo_t info;
	waitid(P_PID, (id_t)child, &info, WEXITED | WNOWAIT);
	cr_assert_eq(proc_maps_snapshot(maps, (uint32_t)child, 0), -ESRCH); /* a zombie */
	waitpid(child, &status, 0);
	cr_assert_eq(proc_maps_snapshot(maps, (uint32_t)child, 0), -ESRCH);
}

Test(files, odd_names)
{
	static const char *const names[] = { "a b  c", "nl\nnl", "x (deleted)", "\xff\x01;", "[vdso]" };
	uint32_t pid = (uint32_t)getpid();
	uint64_t at[5];
	char path[128];

	for (size_t i = 0; i < 5; i++) {
		snprintf(path, sizeof(path), "%s/%s", folder, names[i]);
		write_file(path, names[i]);
		at[i] = map_exec(path, 0);
	}
	cr_assert_eq(proc_maps_snapshot(maps, pid, 7), 0);
	for (size_t i = 0; i < 5; i++) {
		const struct proc_mapping *m = proc_maps_find(maps, pid, 7, at[i]);

		cr_assert_not_null(m);
		cr_assert_not_null(m->file);
		snprintf(path, sizeof(path), "%s/%s", folder, i == 2 ? "x" : names[i]);
		cr_assert_str_eq(m->name, path);
		/* Cut off in error here, the mark leads to no file; map_files, which needs a privilege, doesn't need it. */
		if (i != 2 || geteuid() == 0)
			check_content(m->file, names[i]);
	}
}

Test(files, deleted_and_replaced)
{
	uint32_t pid = (uint32_t)getpid();
	const struct proc_mapping *old, *new;
	char path[64], other[64];
	uint64_t at_old, at_new;

	snprintf(path, sizeof(path), "%s/lib.so", folder);
	snprintf(other, sizeof(other), "%s/new.so", folder);
	write_file(path, "old bytes");
	at_old = map_exec(path, PAGE);
	cr_assert_eq(proc_maps_snapshot(maps, pid, 0), 0);
	write_file(other, "new bytes");
	cr_assert_eq(rename(other, path), 0);
	at_new = map_exec(path, PAGE);
	cr_assert_eq(proc_maps_snapshot(maps, pid, 10), 0);
	old = proc_maps_find(maps, pid, 20, at_old);
	new = proc_maps_find(maps, pid, 20, at_new);
	cr_assert_neq(old->file, new->file);
	cr_assert_eq(old->from_ns, 0);
	cr_assert_eq(new->from_ns, 10);
	cr_assert_str_eq(old->file->path, path);
	cr_assert_str_eq(new->file->path, path);
	check_content(old->file, "old bytes");
	check_content(new->file, "new bytes");
	cr_assert_eq(old->pgoff, PAGE);
}

/* First seen when its path leads to another file already: never that one. */
Test(files, replaced_before_it_was_seen)
{
	uint32_t pid = (uint32_t)getpid();
	const struct proc_mapping *m;
	char path[64], got[16] = "";
	uint64_t at;

	snprintf(path, sizeof(path), "%s/lib.so", folder);
	write_file(path, "old bytes");
	at = map_exec(path, 0);
	struct stat st;
	cr_assert_eq(stat(path, &st), 0);
	cr_assert_eq(unlink(path), 0);
	write_file(path, "new bytes");
	/* A record with wrong edges: the path is all there is to go by. */
	cr_assert_eq(proc_maps_add(maps, pid, 1, at + 64 * PAGE, PAGE, 0, major(st.st_dev), minor(st.st_dev), st.st_ino,
				   path), 0);
	cr_assert_eq(proc_maps_find(maps, pid, 1, at + 64 * PAGE)->file->fd, -1);
	cr_assert_lt(proc_file_open(proc_maps_find(maps, pid, 1, at + 64 * PAGE)->file, &(int){ -1 }), 0);
	cr_assert_eq(proc_maps_snapshot(maps, pid, 2), 0);
	m = proc_maps_find(maps, pid, 2, at);
	cr_assert_not_null(m->file);
	if (m->file->fd < 0)
		cr_skip_test("may not use map_files");
	cr_assert_geq(pread(m->file->fd, got, 9, 0), 9);
	cr_assert_str_eq(got, "old bytes");
}

/* The process is gone when its record is read: the same path, if it still is that file. */
Test(files, process_gone)
{
	char path[64];
	struct stat st;

	snprintf(path, sizeof(path), "%s/lib.so", folder);
	write_file(path, "bytes");
	cr_assert_eq(stat(path, &st), 0);
	cr_assert_eq(proc_maps_add(maps, 0x7ff00000, 1, 0x10000, PAGE, 0, major(st.st_dev), minor(st.st_dev),
				   st.st_ino, path), 0);
	check_content(proc_maps_find(maps, 0x7ff00000, 1, 0x10000)->file, "bytes");
	cr_assert_eq(proc_maps_add(maps, 0x7ff00000, 1, 0x20000, PAGE, 0, 0xfff, minor(st.st_dev), st.st_ino, path), 0);
	cr_assert_eq(proc_maps_find(maps, 0x7ff00000, 1, 0x20000)->file->fd, -1);
	cr_assert_eq(proc_maps_add(maps, 0x7ff00000, 1, 0x30000, PAGE, 0, major(st.st_dev), minor(st.st_dev),
				   st.st_ino + 1, path), 0);
	cr_assert_eq(proc_maps_find(maps, 0x7ff00000, 1, 0x30000)->file->fd, -1);
}

/* Devices and FIFOs are not opened, also when the numbers fit. */
Test(files, not_a_file)
{
	char path[64];
	struct stat st;

	snprintf(path, sizeof(path), "%s/fifo", folder);
	cr_assert_eq(mkfifo(path, 0700), 0);
	cr_assert_eq(stat(path, &st), 0);
	cr_assert_eq(proc_maps_add(maps, (uint32_t)getpid(), 1, 0x10000, PAGE, 0, major(st.st_dev), minor(st.st_dev),
				   st.st_ino, path), 0);
	cr_assert_eq(proc_maps_find(maps, (uint32_t)getpid(), 1, 0x10000)->file->fd, -1);
}

/* A file that only the target's mount namespace shows, read when the target is dead. */
Test(files, other_mount_namespace)
{
	int ready[2], end[2];
	char path[64];
	uint64_t at = 0;
	pid_t child;

	snprintf(path, sizeof(path), "%s/hidden.so", folder);
	cr_assert_eq(pipe(ready), 0);
	cr_assert_eq(pipe(end), 0);
	child = fork();
	if (!child) {
		close(end[1]);
		if (!unshare(CLONE_NEWNS) && !mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) &&
		    !mount("none", folder, "tmpfs", 0, NULL)) {
			write_file(path, "inside");
			at = map_exec(path, 0);
		}
		if (write(ready[1], &at, sizeof(at)) < 0 || read(end[0], &at, 1) < 0)
			_exit(1);
		_exit(0);
	}
	close(end[0]);
	cr_assert_eq(read(ready[0], &at, sizeof(at)), (ssize_t)sizeof(at));
	if (at) {
		cr_assert_neq(access(path, F_OK), 0);
		cr_assert_eq(proc_maps_snapshot(maps, (uint32_t)child, 0), 0);
		/* And one that map_files can't give: the path in its root. */
		const struct proc_file *f = proc_maps_find(maps, (uint32_t)child, 1, at)->file;

		cr_assert_eq(proc_maps_add(maps, (uint32_t)child, 2, 0x10000, PAGE, 0, 0xffe, 1, f->ino, path), 0);
	}
	close(end[1]);
	waitpid(child, NULL, 0);
	if (!at)
		cr_skip_test("may not make a mount namespace");
	cr_assert_str_eq(proc_maps_find(maps, (uint32_t)child, 1, at)->file->path, path);
	check_content(proc_maps_find(maps, (uint32_t)child, 1, at)->file, "inside");
	check_content(proc_maps_find(maps, (uint32_t)child, 2, 0x10000)->file, "inside");
}

/* dlclose, then another library at the same address. */
Test(files, address_used_again)
{
	uint32_t pid = (uint32_t)getpid();
	char one[64], two[64];
	uint64_t at;

	snprintf(one, sizeof(one), "%s/one.so", folder);
	snprintf(two, sizeof(two), "%s/two.so", folder);
	write_file(one, "one");
	write_file(two, "two");
	at = map_exec(one, 0);
	cr_assert_eq(proc_maps_snapshot(maps, pid, 0), 0);
	munmap((void *)at, PAGE);
	cr_assert_eq(proc_maps_snapshot(maps, pid, 10), 0);
	{
		_cleanup_(closep) int fd = open(two, O_RDONLY | O_CLOEXEC);

		cr_assert_eq(mmap((void *)at, PAGE, PROT_READ | PROT_EXEC, MAP_PRIVATE | MAP_FIXED, fd, 0), (void *)at);
	}
	cr_assert_eq(proc_maps_snapshot(maps, pid, 20), 0);
	cr_assert_str_eq(proc_maps_find(maps, pid, 9, at)->name, one);
	cr_assert_null(proc_maps_find(maps, pid, 10, at));
	cr_assert_null(proc_maps_find(maps, pid, 19, at));
	cr_assert_str_eq(proc_maps_find(maps, pid, 20, at)->name, two);
	check_content(proc_maps_find(maps, pid, 9, at)->file, "one");
}

/* A snapshot of a PID whose process has ended is a new process's, whatever time was asked for. */
Test(files, snapshot_after_exit)
{
	uint32_t pid = (uint32_t)getpid();
	uint64_t here = (uint64_t)(void *)&proc_maps_new;

	cr_assert_eq(proc_maps_add(maps, pid, 0, 0x10000, PAGE, 0, 0, 0, 0, "//anon"), 0);
	proc_maps_exit(maps, pid, 100);
	cr_assert_eq(proc_maps_snapshot(maps, pid, 0), 0);
	cr_assert_null(proc_maps_find(maps, pid, 99, here));
	cr_assert_not_null(proc_maps_find(maps, pid, 100, here));
	cr_assert_not_null(proc_maps_find(maps, pid, 99, 0x10000));
	cr_assert_null(proc_maps_find(maps, pid, 100, 0x10000));
}

/* Near the limit of descriptors none is kept, but the file can be opened again while it is the same. */
Test(files, few_descriptors)
{
	uint32_t pid = (uint32_t)getpid();
	uint64_t at[40];
	size_t kept = 0;
	char path[64];

	for (size_t i = 0; i < 40; i++) {
		snprintf(path, sizeof(path), "%s/%zu", folder, i);
		write_file(path, path);
		at[i] = map_exec(path, 0);
	}
	cr_assert_eq(setrlimit(RLIMIT_NOFILE, &(struct rlimit){ 40, 40 }), 0);
	cr_assert_eq(proc_maps_snapshot(maps, pid, 0), 0);
	for (size_t i = 0; i < 40; i++) {
		const struct proc_file *f = proc_maps_find(maps, pid, 0, at[i])->file;

		snprintf(path, sizeof(path), "%s/%zu", folder, i);
		kept += f->fd >= 0;
		cr_assert_lt(f->fd, 32);
		check_content(f, path);
		if (f->fd < 0) {
			/* Another file of that name is not it. */
			char other[64];
			int fd = -1;

			snprintf(other, sizeof(other), "%s/other", folder);
			write_file(other, "other");
			cr_assert_eq(rename(other, path), 0);
			cr_assert_eq(proc_file_open(f, &fd), -ESTALE);
			cr_assert_eq(fd, -1);
		}
	}
	cr_assert_gt(kept, 0);
	cr_assert_lt(kept, 32);
}

/* In time order everything a process ever mapped can still be read after 2000 short processes. */
Test(files, many_processes)
{
	uint32_t pid = (uint32_t)getpid();
	uint64_t here = (uint64_t)(void *)&proc_maps_new;
	const struct proc_file *f;

	cr_assert_eq(proc_maps_snapshot(maps, pid, 0), 0);
	f = proc_maps_find(maps, pid, 0, here)->file;
	for (uint32_t i = 1; i <= 2000; i++) {
		cr_assert_eq(proc_maps_fork(maps, 0x7ff00000 + i, pid, i * 10), 0);
		proc_maps_exit(maps, 0x7ff00000 + i, i * 10 + 5);
	}
	for (uint32_t i = 1; i <= 2000; i++) {
		cr_assert_eq(proc_maps_find(maps, 0x7ff00000 + i, i * 10 + 4, here)->file, f);
		cr_assert_null(proc_maps_find(maps, 0x7ff00000 + i, i * 10 + 5, here));
		cr_assert_null(proc_maps_find(maps, 0x7ff00000 + i, i * 10 - 1, here));
	}
}
