/* SPDX-License-Identifier: (LGPL-2.1 OR BSD-2-Clause) */
#include "util/files.h"

#include <criterion/criterion.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <zlib.h>

static char folder[64];
static int folder_fd;

static void folder_make(void)
{
	strcpy(folder, "/tmp/wcbpf-test-XXXXXX");
	cr_assert_not_null(mkdtemp(folder));
	folder_fd = open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	cr_assert_geq(folder_fd, 0);
}

static void folder_remove(void)
{
	DIR *d = fdopendir(folder_fd);

	for (struct dirent *e; (e = readdir(d));)
		if (e->d_name[0] != '.')
			unlinkat(dirfd(d), e->d_name, 0);
	closedir(d);
	rmdir(folder);
}

TestSuite(files, .init = folder_make, .fini = folder_remove);

static int entry_n(void)
{
	DIR *d = opendir(folder);
	int n = 0;

	for (struct dirent *e; (e = readdir(d));)
		n += e->d_name[0] != '.';
	closedir(d);
	return n;
}

static void put_file(const char *name, const char *text)
{
	_cleanup_(closep) int fd = openat(folder_fd, name, O_WRONLY | O_CREAT | O_TRUNC, 0644);

	cr_assert_eq(write(fd, text, strlen(text)), (ssize_t)strlen(text));
}

static void check_file(const char *name, const char *want)
{
	_cleanup_(closep) int fd = openat(folder_fd, name, O_RDONLY);
	char got[4096];
	ssize_t n = read(fd, got, sizeof(got) - 1);

	cr_assert_geq(n, 0, "%s", name);
	got[n] = '\0';
	cr_assert_str_eq(got, want, "%s", name);
}

Test(files, reads_up_to_the_limit)
{
	_cleanup_(freep) char *text = NULL, *whole = NULL;
	size_t n = 77;

	put_file("f", "12345");
	cr_assert_eq(files_read(folder_fd, "f", 4, &text, &n), -EFBIG);
	cr_assert_null(text);
	cr_assert_eq(n, 77);
	cr_assert_eq(files_read(folder_fd, "f", 5, &whole, &n), 0);
	cr_assert_eq(n, 5);
	cr_assert_str_eq(whole, "12345");
	cr_assert_eq(files_read(folder_fd, "none", 5, &text, NULL), -ENOENT);
	cr_assert_eq(files_read(folder_fd, ".", 5, &text, NULL), -EISDIR);
	cr_assert_null(text);
}

Test(files, reads_empty_large_and_proc_files)
{
	enum { BIG = 300000 };
	_cleanup_(freep) char *empty = NULL, *big = NULL, *stat = NULL;
	_cleanup_(freep) char *want = malloc(BIG + 1);
	size_t n;

	put_file("empty", "");
	cr_assert_eq(files_read(folder_fd, "empty", 0, &empty, &n), 0);
	cr_assert_eq(n, 0);
	cr_assert_str_eq(empty, "");
	memset(want, 'b', BIG);
	want[BIG] = '\0';
	put_file("big", want);
	cr_assert_eq(files_read(folder_fd, "big", SIZE_MAX, &big, &n), 0);
	cr_assert_eq(n, BIG);
	cr_assert_str_eq(big, want);
	cr_assert_eq(files_read(AT_FDCWD, "/proc/self/stat", 4096, &stat, &n), 0);
	cr_assert_eq(atoi(stat), getpid());
}

Test(files, is_there_only_after_commit)
{
	_cleanup_(files_writer_freep) struct files_writer *w = NULL;
	struct stat st;

	put_file("f", "old");
	cr_assert_eq(files_writer_new(folder_fd, "f", NULL, &w), 0);
	cr_assert_eq(files_writer_write(w, "new ", 4), 0);
	cr_assert_eq(files_writer_printf(w, "%d\n", 7), 0);
	cr_assert_eq(files_writer_bytes(w), 6);
	check_file("f", "old");
	cr_assert_eq(files_writer_commit(w), 0);
	check_file("f", "new 7\n");
	w = files_writer_free(w);
	check_file("f", "new 7\n");
	cr_assert_eq(entry_n(), 1);
	cr_assert_eq(fstatat(folder_fd, "f", &st, 0), 0);
	cr_assert_eq(st.st_mode & 0777, 0644);
}

Test(files, abandoned_leaves_nothing)
{
	struct files_writer *w = NULL;

	put_file("f", "old");
	cr_assert_eq(files_writer_new(folder_fd, "f", NULL, &w), 0);
	cr_assert_eq(files_writer_write(w, "new", 3), 0);
	cr_assert_eq(entry_n(), 2);
	files_writer_free(w);
	cr_assert_eq(entry_n(), 1);
	check_file("f", "old");
}

Test(files, takes_whole_paths_and_modes)
{
	static const struct files_writer_options o = { .mode = 0600 };
	_cleanup_(files_writer_freep) struct files_writer *w = NULL;
	char path[128];
	struct stat st;

	snprintf(path, sizeof(path), "%s/f", folder);
	cr_assert_eq(files_writer_new(AT_FDCWD, path, &o, &w), 0);
	cr_assert_eq(files_writer_commit(w), 0);
	cr_assert_eq(stat(path, &st), 0);
	cr_assert_eq(st.st_mode & 0777, 0600);
	cr_assert_eq(st.st_size, 0);
	w = files_writer_free(w);
	snprintf(path, sizeof(path), "%s/none/f", folder);
	cr_assert_eq(files_writer_new(AT_FDCWD, path, NULL, &w), -ENOENT);
	cr_assert_null(w);
}

Test(files, gzip_is_read_by_zlib)
{
	enum { LINES = 60000 };
	static const struct files_writer_options o = { .gzip_level = 1 };
	_cleanup_(files_writer_freep) struct files_writer *w = NULL;
	char path[128], line[64], want[64];
	struct stat st;
	gzFile in;

	cr_assert_eq(files_writer_new(folder_fd, "f.gz", &o, &w), 0);
	for (int i = 0; i < LINES; i++)
		cr_assert_eq(files_writer_printf(w, "line %d\n", i), 0);
	cr_assert_eq(files_writer_commit(w), 0);
	snprintf(path, sizeof(path), "%s/f.gz", folder);
	cr_assert_eq(stat(path, &st), 0);
	cr_assert_lt(st.st_size, (off_t)files_writer_bytes(w) / 2);
	in = gzopen(path, "rb");
	for (int i = 0; i < LINES; i++) {
		snprintf(want, sizeof(want), "line %d\n", i);
		cr_assert_not_null(gzgets(in, line, sizeof(line)));
		cr_assert_str_eq(line, want);
	}
	cr_assert_null(gzgets(in, line, sizeof(line)));
	cr_assert(gzeof(in));
	cr_assert_eq(gzdirect(in), 0);
	cr_assert_eq(gzclose(in), Z_OK, "the trailer's CRC or length is wrong");
}

/* A limit on the size of files stands for the full disk. */
static void disk_full_at(rlim_t bytes)
{
	struct rlimit limit = { .rlim_cur = bytes, .rlim_max = RLIM_INFINITY };

	signal(SIGXFSZ, SIG_IGN);
	cr_assert_eq(setrlimit(RLIMIT_FSIZE, &limit), 0);
}

static int write_kib(struct files_writer *w, int kib)
{
	char block[1024];
	int r = 0;

	memset(block, 'x', sizeof(block));
	for (int i = 0; i < kib; i++)
		r = files_writer_write(w, block, sizeof(block));
	return r;
}

Test(files, a_full_disk_sticks_and_keeps_the_old_file)
{
	_cleanup_(files_writer_freep) struct files_writer *w = NULL;

	put_file("f", "old");
	cr_assert_eq(files_writer_new(folder_fd, "f", NULL, &w), 0);
	disk_full_at(200 << 10);
	cr_assert_eq(write_kib(w, 1024), -EFBIG);
	disk_full_at(RLIM_INFINITY);
	cr_assert_eq(write_kib(w, 1), -EFBIG, "room again, but a piece is missing");
	cr_assert_eq(files_writer_commit(w), -EFBIG);
	check_file("f", "old");
	w = files_writer_free(w);
	cr_assert_eq(entry_n(), 1);
}

Test(files, what_fitted_can_be_kept)
{
	_cleanup_(files_writer_freep) struct files_writer *w = NULL;
	struct stat st;

	cr_assert_eq(files_writer_new(folder_fd, "f", NULL, &w), 0);
	disk_full_at(200 << 10);
	cr_assert_eq(write_kib(w, 1024), -EFBIG);
	cr_assert_eq(files_writer_commit(w), -EFBIG);
	cr_assert_eq(files_writer_salvage(w), 0);
	w = files_writer_free(w);
	cr_assert_eq(fstatat(folder_fd, "f.partial", &st, 0), 0);
	cr_assert_eq(st.st_size, 200 << 10);
	cr_assert_eq(entry_n(), 1);
}

Test(files, follows_no_planted_link)
{
	_cleanup_(files_writer_freep) struct files_writer *w = NULL;

	put_file("victim", "precious");
	cr_assert_eq(symlinkat("victim", folder_fd, "f.tmp"), 0);
	cr_assert_eq(files_writer_new(folder_fd, "f", NULL, &w), 0);
	cr_assert_eq(files_writer_write(w, "new", 3), 0);
	cr_assert_eq(files_writer_commit(w), 0);
	check_file("victim", "precious");
	check_file("f", "new");
	cr_assert_eq(entry_n(), 2);
}

Test(files, owner_is_set_if_asked)
{
	static const struct files_writer_options o = { .set_owner = true, .uid = 12345, .gid = 23456 };
	_cleanup_(files_writer_freep) struct files_writer *w = NULL;
	struct stat st;

	if (geteuid() != 0) {
		/* Giving files away needs root; asking for it without must fail, not be passed over. */
		cr_assert_eq(files_writer_new(folder_fd, "f", &o, &w), -EPERM);
		cr_assert_eq(entry_n(), 0);
		return;
	}
	cr_assert_eq(files_writer_new(folder_fd, "f", &o, &w), 0);
	cr_assert_eq(files_writer_commit(w), 0);
	cr_assert_eq(fstatat(folder_fd, "f", &st, 0), 0);
	cr_assert_eq(st.st_uid, 12345);
	cr_assert_eq(st.st_gid, 23456);
}
