/* SPDX-License-Identifier: (LGPL-2.1 OR BSD-2-Clause) */
/*
 * Disks that are full, really: a tiny tmpfs in a mount namespace of the test's
 * own, and, where that takes privileges, a limit on the size of files.
 */
#include <criterion/criterion.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include "fixture.h"
#include "util/cleanup.h"

/* A model whose dump takes about 100 bytes for each op; its capture is one line. */
static struct model *model_with_ops(int n)
{
	struct model *m = fixture_model();
	uint32_t k = fixture_stack(m, STACK_KERNEL, "complete", (const char *const[]){"schedule", NULL});

	fixture_row(m, "bench", 0, k, 3, 4200000);
	for (int i = 0; i < n; i++) {
		uint32_t op;

		cr_assert_eq(model_op_add(m, &op), 0);
		m->ops[op].id = op;
		m->ops[op].kind = OP_INTERNAL;
		m->ops[op].work = WORK_USER;
		m->ops[op].start_ns = 1000 * i;
		m->ops[op].end_ns = 1000 * i + 999;
		m->ops[op].class_id = fixture_string(m, "thread");
	}
	return m;
}

static void expect_no_temporary_files(const char *dir)
{
	DIR *d = opendir(dir);

	cr_assert_not_null(d);
	for (struct dirent *e; (e = readdir(d));)
		cr_expect(!strstr(e->d_name, ".tmp"), "%s is left over", e->d_name);
	closedir(d);
}

static bool mount_tmpfs(const char *path, const char *options)
{
	return !unshare(CLONE_NEWNS) && !mount("none", "/", NULL, MS_REC | MS_PRIVATE, NULL) &&
	       !mount("tmpfs", path, "tmpfs", 0, options);
}

/* The dump is too big: it is named, the rest is complete, the part that fits is kept. */
static void expect_dump_failed(const char *dir, int err, const char *why, int expected)
{
	_cleanup_(freep) char *capture = fixture_read(dir, "offcpu.time.txt");
	_cleanup_(freep) char *diagnostics = fixture_read(dir, "offcpu.diagnostics.txt");
	_cleanup_(freep) char *partial = fixture_read(dir, "wcprof.ndjson.partial");
	struct json_object *o, *header;
	char *end;

	cr_expect_eq(err, expected);
	cr_assert_not_null(why);
	cr_expect(strstr(why, "wcprof.ndjson: ") && strstr(why, strerror(-expected)), "%s", why);
	cr_expect(strstr(why, "wcprof.ndjson.partial"), "%s", why);
	cr_expect(!strstr(why, "offcpu"), "%s", why);
	cr_assert(capture && diagnostics && partial);
	cr_expect_str_eq(capture, "bench;schedule 4200\n");
	cr_expect(strstr(diagnostics, "wcprof.ndjson could not be written: "));
	o = fixture_summary(dir);
	cr_expect_str_eq(fixture_get_string(o, "state"), "summary_written");
	cr_expect_str_eq(fixture_get_string(o, "caveat_kind"), "offcpu_capture_partial");
	cr_expect(strstr(fixture_get_string(o, "caveat_message"), "wcprof.ndjson"));
	json_object_put(o);
	cr_expect(!fixture_exists(dir, "wcprof.ndjson"));
	expect_no_temporary_files(dir);
	/* Its beginning is a dump's. */
	end = strchr(partial, '\n');
	cr_assert_not_null(end);
	*end = '\0';
	header = json_tokener_parse(partial);
	cr_assert_not_null(header);
	cr_expect_eq(fixture_get_int(header, "schema_version"), 1);
	json_object_put(header);
}

Test(output_disk_full, tmpfs_too_small_for_the_dump)
{
	_cleanup_(output_dir_freep) struct output_dir *d = NULL;
	_cleanup_(model_freep) struct model *m = model_with_ops(20000);
	_cleanup_(freep) char *why = NULL;
	struct output_facts f = fixture_facts(OUTPUT_TIME);
	char *dir = fixture_mkdtemp();
	int err;

	if (!mount_tmpfs(dir, "size=64k")) {
		fixture_rmdir(dir);
		cr_skip_test("needs root");
	}
	cr_assert_eq(output_dir_open(dir, (uid_t)-1, (gid_t)-1, &d, &why), 0, "%s", why);
	err = output_write(d, m, &f, &why);
	expect_dump_failed(dir, err, why, -ENOSPC);
	d = output_dir_free(d);
	umount(dir);
	fixture_rmdir(dir);
}

Test(output_disk_full, file_size_limit)
{
	_cleanup_(output_dir_freep) struct output_dir *d = NULL;
	_cleanup_(model_freep) struct model *m = model_with_ops(20000);
	_cleanup_(freep) char *why = NULL, *out = NULL;
	struct output_facts f = fixture_facts(OUTPUT_TIME);
	char *dir = fixture_mkdtemp();
	struct rlimit limit, small;
	int err;

	out = fixture_path(dir, "out");
	cr_assert_eq(output_dir_open(out, (uid_t)-1, (gid_t)-1, &d, &why), 0, "%s", why);
	signal(SIGXFSZ, SIG_IGN);
	cr_assert_eq(getrlimit(RLIMIT_FSIZE, &limit), 0);
	small = (struct rlimit){.rlim_cur = 64 << 10, .rlim_max = limit.rlim_max};
	cr_assert_eq(setrlimit(RLIMIT_FSIZE, &small), 0);
	err = output_write(d, m, &f, &why);
	cr_assert_eq(setrlimit(RLIMIT_FSIZE, &limit), 0);
	expect_dump_failed(out, err, why, -EFBIG);
	fixture_rmdir(dir);
}

/* Of a recording of many stacks the summary alone would fill the disk: its lists are cut short for the dump's sake. */
Test(output_disk_full, summary_leaves_room_for_the_dump)
{
	_cleanup_(output_dir_freep) struct output_dir *d = NULL;
	_cleanup_(model_freep) struct model *m = model_with_ops(20000);
	_cleanup_(freep) char *why = NULL;
	struct output_facts f = fixture_facts(OUTPUT_TIME);
	char *dir = fixture_mkdtemp();
	struct json_object *o;
	struct stat st;

	for (int i = 0; i < 150; i++) {
		char name[64];

		snprintf(name, sizeof(name), "function_number_%d", i);
		fixture_row(m, "bench", 0, fixture_stack(m, STACK_KERNEL, "complete", (const char *const[]){name, NULL}), 1,
			    1000000);
	}
	if (!mount_tmpfs(dir, "size=64k")) {
		fixture_rmdir(dir);
		cr_skip_test("needs root");
	}
	cr_assert_eq(output_dir_open(dir, (uid_t)-1, (gid_t)-1, &d, &why), 0, "%s", why);
	cr_expect_eq(output_write(d, m, &f, &why), -ENOSPC);
	o = fixture_summary(dir);
	cr_expect_eq(json_object_array_length(fixture_get(o, "rows")), 10);
	cr_expect_eq(fixture_get_int(o, "row_count"), 151);
	json_object_put(o);
	_cleanup_(freep) char *partial = fixture_path(dir, "wcprof.ndjson.partial");
	cr_assert_eq(stat(partial, &st), 0, "%s", why);
	cr_expect_geq(st.st_size, 24 << 10);
	d = output_dir_free(d);
	umount(dir);
	fixture_rmdir(dir);
}

/* A capture that would take the room of all others: the dump goes first, and the summary has its room. */
Test(output_disk_full, large_capture_leaves_room_for_dump_and_summary)
{
	_cleanup_(output_dir_freep) struct output_dir *d = NULL;
	_cleanup_(model_freep) struct model *m = model_with_ops(20000);
	_cleanup_(freep) char *why = NULL;
	struct output_facts f = fixture_facts(OUTPUT_TIME);
	char *dir = fixture_mkdtemp(), frames[24][48];
	const char *names[25] = {NULL};
	struct json_object *o;
	struct stat st;

	for (int i = 0; i < 60; i++) {
		for (int k = 0; k < 24; k++) {
			snprintf(frames[k], sizeof(frames[k]), "function_number_%d_of_the_stack_number_%d", k, i);
			names[k] = frames[k];
		}
		fixture_row(m, "bench", 0, fixture_stack(m, STACK_KERNEL, "complete", names), 1, 1000000);
	}
	if (!mount_tmpfs(dir, "size=64k")) {
		fixture_rmdir(dir);
		cr_skip_test("needs root");
	}
	cr_assert_eq(output_dir_open(dir, (uid_t)-1, (gid_t)-1, &d, &why), 0, "%s", why);
	cr_expect_eq(output_write(d, m, &f, &why), -ENOSPC);
	cr_assert(fixture_exists(dir, "offcpu.summary.json"), "%s", why);
	o = fixture_summary(dir);
	cr_expect_eq(json_object_array_length(fixture_get(o, "rows")), 10);
	json_object_put(o);
	_cleanup_(freep) char *partial = fixture_path(dir, "wcprof.ndjson.partial");
	cr_assert_eq(stat(partial, &st), 0, "%s", why);
	cr_expect_geq(st.st_size, 16 << 10);
	expect_no_temporary_files(dir);
	d = output_dir_free(d);
	umount(dir);
	fixture_rmdir(dir);
}

/* No room for anything: every file is named, none is half there. */
Test(output_disk_full, nothing_fits)
{
	_cleanup_(output_dir_freep) struct output_dir *d = NULL;
	_cleanup_(model_freep) struct model *m = model_with_ops(20000);
	_cleanup_(freep) char *why = NULL, *out = NULL;
	struct output_facts f = fixture_facts(OUTPUT_TIME);
	char *dir = fixture_mkdtemp();
	struct rlimit limit, none;
	int err;

	out = fixture_path(dir, "out");
	cr_assert_eq(output_dir_open(out, (uid_t)-1, (gid_t)-1, &d, &why), 0, "%s", why);
	signal(SIGXFSZ, SIG_IGN);
	cr_assert_eq(getrlimit(RLIMIT_FSIZE, &limit), 0);
	none = (struct rlimit){.rlim_cur = 0, .rlim_max = limit.rlim_max};
	cr_assert_eq(setrlimit(RLIMIT_FSIZE, &none), 0);
	err = output_write(d, m, &f, &why);
	cr_assert_eq(setrlimit(RLIMIT_FSIZE, &limit), 0);
	cr_expect_eq(err, -EFBIG);
	cr_assert_not_null(why);
	cr_expect(strstr(why, "offcpu.time.txt: "), "%s", why);
	cr_expect(strstr(why, "wcprof.ndjson: "), "%s", why);
	cr_expect(strstr(why, "offcpu.diagnostics.txt: "), "%s", why);
	cr_expect(strstr(why, "offcpu.summary.json: "), "%s", why);
	cr_expect(!fixture_exists(out, "offcpu.time.txt"));
	cr_expect(!fixture_exists(out, "offcpu.summary.json"));
	expect_no_temporary_files(out);
	fixture_rmdir(dir);
}

/* A name that can't be replaced stands for any file that fails alone. */
static struct json_object *summary_without(const char *name, int *ret_err, char **ret_why)
{
	_cleanup_(output_dir_freep) struct output_dir *d = NULL;
	_cleanup_(model_freep) struct model *m = model_with_ops(1);
	_cleanup_(freep) char *out = NULL, *blocker = NULL;
	struct output_facts f = fixture_facts(OUTPUT_TIME);
	char *dir = fixture_mkdtemp();
	struct json_object *o;

	out = fixture_path(dir, "out");
	blocker = fixture_path(out, name);
	cr_assert_eq(output_dir_open(out, (uid_t)-1, (gid_t)-1, &d, ret_why), 0);
	cr_assert_eq(mkdir(blocker, 0755), 0);
	*ret_err = output_write(d, m, &f, ret_why);
	expect_no_temporary_files(out);
	cr_expect(fixture_exists(out, "wcprof.ndjson"));
	o = fixture_summary(out);
	fixture_rmdir(dir);
	return o;
}

Test(output_disk_full, capture_fails_alone)
{
	_cleanup_(freep) char *why = NULL;
	int err;
	struct json_object *o = summary_without("offcpu.time.txt", &err, &why);

	cr_expect_lt(err, 0);
	cr_expect(why && strstr(why, "/offcpu.time.txt: "), "%s", why);
	cr_expect_str_eq(fixture_get_string(o, "state"), "tool_failed");
	cr_expect_str_eq(fixture_get_string(o, "caveat_kind"), "write_failed");
	cr_expect(strstr(fixture_get_string(o, "caveat_message"), "offcpu.time.txt could not be written: "));
	json_object_put(o);
}

/* The harness's third state: rows are there, the diagnostics are not. */
Test(output_disk_full, diagnostics_fail_alone)
{
	_cleanup_(freep) char *why = NULL;
	int err;
	struct json_object *o = summary_without("offcpu.diagnostics.txt", &err, &why);

	cr_expect_lt(err, 0);
	cr_expect_str_eq(fixture_get_string(o, "state"), "summary_written");
	cr_expect_str_eq(fixture_get_string(o, "caveat_kind"), "offcpu_capture_integrity_unknown");
	cr_expect(strstr(fixture_get_string(o, "caveat_message"), "offcpu.diagnostics.txt could not be written: "));
	cr_expect_str_eq(fixture_get_string(o, "capture_integrity.status"), "unknown");
	json_object_put(o);
}
