/* SPDX-License-Identifier: (LGPL-2.1 OR BSD-2-Clause) */
/* The rules for the output folder: what is used, moved, removed, refused, and that refusal touches nothing. */
#include <criterion/criterion.h>
#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <unistd.h>

#include "fixture.h"
#include "util/cleanup.h"

static const uid_t uid_none = (uid_t)-1;
static const gid_t gid_none = (gid_t)-1;

static char *base; /* each test runs in a process of its own */

static void setup(void)
{
	base = fixture_mkdtemp();
}

static void teardown(void)
{
	fixture_rmdir(base);
}

TestSuite(output_dir, .init = setup, .fini = teardown);

static int open_at(const char *path, struct output_dir **ret)
{
	_cleanup_(freep) char *why = NULL;
	int err = output_dir_open(path, uid_none, gid_none, ret, &why);

	if (err) {
		cr_expect(why && *why && !strchr(why, '\n'), "no reason");
		cr_expect(!why || strstr(why, ": "), "no reason in: %s", why);
	} else {
		cr_expect_null(why);
	}
	return err;
}

static int open_named(const char *name, struct output_dir **ret)
{
	_cleanup_(freep) char *path = fixture_path(base, name);

	return open_at(path, ret);
}

static void expect_refused(const char *name, int err)
{
	_cleanup_(output_dir_freep) struct output_dir *d = NULL;

	cr_expect_eq(open_named(name, &d), err, "%s", name);
	cr_expect_null(d);
}

/* A finished recording whose dump's place holds text. */
static void record(const char *name, const char *text)
{
	_cleanup_(output_dir_freep) struct output_dir *d = NULL;
	_cleanup_(model_freep) struct model *m = fixture_model();
	_cleanup_(freep) char *why = NULL, *path = fixture_path(base, name);
	struct output_facts f = fixture_facts(OUTPUT_TIME);

	cr_assert_eq(open_at(path, &d), 0);
	cr_assert_eq(output_write(d, m, &f, &why), 0);
	fixture_write(path, "which", text);
}

static void expect_which(const char *name, const char *text)
{
	_cleanup_(freep) char *path = fixture_path(base, name);
	_cleanup_(freep) char *got = fixture_read(path, "which");

	cr_expect(got && !strcmp(got, text), "%s holds %s, not %s", name, got, text);
}

static void make_dir(const char *name)
{
	_cleanup_(freep) char *path = fixture_path(base, name);

	cr_assert_eq(mkdir(path, 0755), 0);
}

Test(output_dir, made_with_marker)
{
	_cleanup_(output_dir_freep) struct output_dir *d = NULL;
	_cleanup_(freep) char *path = fixture_path(base, "out"), *slashes = fixture_path(base, "out///");

	cr_assert_eq(open_at(slashes, &d), 0);
	cr_expect_str_eq(output_dir_path(d), path);
	cr_expect(fixture_exists(base, "out/.wcbpf"));
}

Test(output_dir, state_as_its_readers_see_it)
{
	struct output_dir *d = NULL;
	_cleanup_(freep) char *path = fixture_path(base, "out"), *other = fixture_path(base, "other");

	make_dir("other");
	cr_expect_eq(output_dir_state(path), OUTPUT_STATE_NONE);
	cr_expect_eq(output_dir_state(other), OUTPUT_STATE_NONE);
	cr_assert_eq(open_at(path, &d), 0);
	/* looking takes nothing away from the recorder */
	for (int i = 0; i < 2; i++)
		cr_expect_eq(output_dir_state(path), OUTPUT_STATE_RECORDING);
	output_keep(d);
	output_dir_free(d);
	cr_expect_eq(output_dir_state(path), OUTPUT_STATE_OVER);
}

Test(output_dir, relative_path)
{
	_cleanup_(output_dir_freep) struct output_dir *d = NULL;

	cr_assert_eq(chdir(base), 0);
	cr_assert_eq(open_at("wcbpf.out", &d), 0);
	cr_expect_str_eq(output_dir_path(d), "wcbpf.out");
	cr_expect(fixture_exists(base, "wcbpf.out/.wcbpf"));
}

Test(output_dir, a_recording_becomes_old_and_the_older_one_goes)
{
	record("out", "first");
	record("out", "second");
	expect_which("out", "second");
	expect_which("out.old", "first");
	make_dir("out.old/sub");
	fixture_write(base, "out.old/sub/file", "x");
	record("out", "third");
	expect_which("out", "third");
	expect_which("out.old", "second");
	cr_expect(!fixture_exists(base, "out.old.removed"));
}

/* A link in an old recording is removed, not followed. */
Test(output_dir, removal_follows_no_link)
{
	_cleanup_(freep) char *link = NULL, *precious = fixture_path(base, "precious");

	record("out", "first");
	record("out", "second");
	make_dir("precious");
	fixture_write(base, "precious/data", "keep");
	link = fixture_path(base, "out.old/link");
	cr_assert_eq(symlink(precious, link), 0);
	record("out", "third");
	expect_which("out.old", "second");
	cr_expect(!fixture_exists(base, "out.old.removed"));
	cr_expect(fixture_exists(base, "precious/data"));
}

Test(output_dir, empty_is_used)
{
	_cleanup_(output_dir_freep) struct output_dir *d = NULL;

	make_dir("out");
	cr_assert_eq(open_named("out", &d), 0);
	cr_expect(fixture_exists(base, "out/.wcbpf"));
	cr_expect(!fixture_exists(base, "out.old"));
}

Test(output_dir, others_are_refused_untouched)
{
	make_dir("docs");
	fixture_write(base, "docs/thesis", "years");
	expect_refused("docs", -ENOTEMPTY);
	cr_expect(fixture_exists(base, "docs/thesis"));
	cr_expect(!fixture_exists(base, "docs/.wcbpf"));
	cr_expect(!fixture_exists(base, "docs.old"));
}

/* The marker is a plain file: neither a folder nor a link of that name makes a recording. */
Test(output_dir, false_markers_are_refused)
{
	_cleanup_(freep) char *link = fixture_path(base, "b/.wcbpf");

	make_dir("a");
	make_dir("a/.wcbpf");
	make_dir("b");
	cr_assert_eq(symlink("/etc/hostname", link), 0);
	expect_refused("a", -ENOTEMPTY);
	expect_refused("b", -ENOTEMPTY);
}

Test(output_dir, old_that_is_no_recording_is_refused)
{
	record("out", "first");
	make_dir("out.old");
	fixture_write(base, "out.old/thesis", "years");
	expect_refused("out", -ENOTEMPTY);
	expect_which("out", "first");
	cr_expect(fixture_exists(base, "out.old/thesis"));
}

Test(output_dir, old_that_is_a_file_is_refused)
{
	record("out", "first");
	fixture_write(base, "out.old", "file");
	expect_refused("out", -ENOTDIR);
	expect_which("out", "first");
}

Test(output_dir, links_and_files_are_refused)
{
	_cleanup_(freep) char *path = fixture_path(base, "link"), *dangling = fixture_path(base, "dangling");

	make_dir("real");
	cr_assert_eq(symlink("real", path), 0);
	cr_assert_eq(symlink("nowhere", dangling), 0);
	fixture_write(base, "file", "x");
	expect_refused("link", -ELOOP);
	expect_refused("dangling", -ELOOP);
	expect_refused("file", -ENOTDIR);
	cr_expect(!fixture_exists(base, "real/.wcbpf"));
	cr_expect(!fixture_exists(base, "nowhere"));
}

Test(output_dir, dot_is_refused)
{
	static const char *const names[] = {".", "..", "./", "../.", "/", "//", "out/.."};

	make_dir("out");
	cr_assert_eq(chdir(base), 0);
	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		_cleanup_(output_dir_freep) struct output_dir *d = NULL;

		cr_expect_eq(open_at(names[i], &d), -ENOTEMPTY, "%s", names[i]);
	}
	cr_expect(!fixture_exists(base, ".wcbpf"));
}

Test(output_dir, no_name_is_refused)
{
	_cleanup_(output_dir_freep) struct output_dir *d = NULL;

	cr_expect_eq(open_at("", &d), -EINVAL);
}

/* Even when empty, and under any name. */
Test(output_dir, home_and_working_folder_are_refused)
{
	_cleanup_(freep) char *home = fixture_path(base, "home"), *cwd = fixture_path(base, "cwd");

	make_dir("home");
	make_dir("cwd");
	setenv("HOME", home, 1);
	cr_assert_eq(chdir(cwd), 0);
	expect_refused("home", -ENOTEMPTY);
	expect_refused("cwd", -ENOTEMPTY);
	cr_expect(!fixture_exists(base, "home/.wcbpf"));
}

Test(output_dir, missing_parent)
{
	expect_refused("nowhere/out", -ENOENT);
	cr_expect(!fixture_exists(base, "nowhere"));
}

Test(output_dir, in_use_is_refused)
{
	_cleanup_(output_dir_freep) struct output_dir *d = NULL, *again = NULL;

	cr_assert_eq(open_named("out", &d), 0);
	expect_refused("out", -EBUSY);
	cr_expect(fixture_exists(base, "out/.wcbpf"));
	d = output_dir_free(d);
	cr_assert_eq(open_named("out", &again), 0);
}

/* A recording that never came to be leaves all as it was. */
Test(output_dir, unused_is_undone)
{
	struct output_dir *d = NULL;

	cr_assert_eq(open_named("fresh", &d), 0);
	output_dir_free(d);
	cr_expect(!fixture_exists(base, "fresh"));

	make_dir("empty");
	cr_assert_eq(open_named("empty", &d), 0);
	output_dir_free(d);
	cr_expect(fixture_exists(base, "empty"));
	cr_expect(!fixture_exists(base, "empty/.wcbpf"));

	record("out", "first");
	record("out", "second");
	cr_assert_eq(open_named("out", &d), 0);
	expect_which("out.old", "second");
	output_dir_free(d);
	expect_which("out", "second");
	expect_which("out.old", "first");
	cr_expect(!fixture_exists(base, "out.old.removed"));
}

/* A recorder that was killed leaves only its marker; that is not worth the place of a recording. */
Test(output_dir, killed_recorder_leaves_the_old_recording)
{
	record("out", "first");
	record("out", "second");
	make_dir("killed");
	fixture_write(base, "killed/.wcbpf", "marker");
	make_dir("killed.old");
	fixture_write(base, "killed.old/.wcbpf", "marker");
	fixture_write(base, "killed.old/which", "good");
	record("killed", "new");
	expect_which("killed", "new");
	expect_which("killed.old", "good");
}

Test(output_dir, failure_is_kept_too)
{
	_cleanup_(output_dir_freep) struct output_dir *d = NULL;
	_cleanup_(freep) char *why = NULL;
	struct output_facts f = fixture_facts(OUTPUT_TIME);

	f.missing = "no BTF";
	cr_assert_eq(open_named("out", &d), 0);
	cr_assert_eq(output_write_failure(d, &f, true, &why), 0);
	d = output_dir_free(d);
	cr_expect(fixture_exists(base, "out/offcpu.summary.json"));
	cr_expect(fixture_exists(base, "out/.wcbpf"));
}

static void fail_to_record(const char *name)
{
	_cleanup_(output_dir_freep) struct output_dir *d = NULL;
	_cleanup_(freep) char *why = NULL;
	struct output_facts f = fixture_facts(OUTPUT_TIME);

	f.missing = "no root";
	cr_assert_eq(open_named(name, &d), 0);
	cr_assert_eq(output_write_failure(d, &f, true, &why), 0);
}

/* Forgetting sudo a few times must cost no recording, nor move one. */
Test(output_dir, failures_leave_the_recordings)
{
	struct output_facts f = fixture_facts(OUTPUT_TIME);

	f.missing = "no root";
	record("out", "first");
	record("out", "second");
	for (int i = 0; i < 3; i++) {
		_cleanup_(output_dir_freep) struct output_dir *d = NULL;
		_cleanup_(freep) char *why = NULL;

		cr_assert_eq(open_named("out", &d), 0);
		cr_expect_eq(output_write_failure(d, &f, false, &why), -EEXIST);
		cr_expect(why && strstr(why, "/out: "), "%s", why);
		d = output_dir_free(d);
		expect_which("out", "second");
		expect_which("out.old", "first");
		cr_expect(!fixture_exists(base, "out.old.removed"));
	}
}

/* Who named the folder finds there that it failed, and the recording before beside it. */
Test(output_dir, a_failure_is_told_where_it_is_looked_for)
{
	record("out", "first");
	fail_to_record("out");
	expect_which("out.old", "first");
	cr_expect(fixture_exists(base, "out/offcpu.summary.json"));
	cr_expect(!fixture_exists(base, "out/wcprof.ndjson"));
}

/* Of failures the last is told of; they make no recording old. */
Test(output_dir, failures_leave_the_old_recording)
{
	struct output_dir *d = NULL;
	_cleanup_(freep) char *path = fixture_path(base, "out"), *old = fixture_path(base, "out.old");

	record("out", "second");
	cr_assert_eq(rename(path, old), 0);
	for (int i = 0; i < 3; i++) {
		fail_to_record("out");
		expect_which("out.old", "second");
		cr_expect(!fixture_exists(base, "out/which"));
		cr_expect(!fixture_exists(base, "out.old.removed"));
	}
	cr_assert_eq(open_named("out", &d), 0);
	cr_expect(!fixture_exists(base, "out/offcpu.summary.json"));
	output_dir_free(d);
	cr_expect(fixture_exists(base, "out/offcpu.summary.json"), "opening was not undone");
	expect_which("out.old", "second");
	record("out", "third");
	expect_which("out", "third");
	expect_which("out.old", "second");
}

/* With a file of anybody else's in it, it is no mere failure. */
Test(output_dir, failure_with_notes_becomes_old)
{
	fail_to_record("out");
	fixture_write(base, "out/which", "notes");
	record("out", "new");
	expect_which("out", "new");
	expect_which("out.old", "notes");
}

static void expect_owner(const char *name, uid_t uid, gid_t gid)
{
	_cleanup_(freep) char *path = fixture_path(base, name);
	struct stat st;

	cr_assert_eq(stat(path, &st), 0, "%s", name);
	cr_expect_eq(st.st_uid, uid, "%s", name);
	cr_expect_eq(st.st_gid, gid, "%s", name);
}

Test(output_dir, files_belong_to_the_user)
{
	uid_t uid = geteuid() ? geteuid() : 12345;
	gid_t gid = geteuid() ? getegid() : 12346;
	_cleanup_(output_dir_freep) struct output_dir *d = NULL;
	_cleanup_(model_freep) struct model *m = fixture_model();
	_cleanup_(freep) char *path = fixture_path(base, "out"), *why = NULL;
	struct output_facts f = fixture_facts(OUTPUT_TIME);

	cr_assert_eq(output_dir_open(path, uid, gid, &d, &why), 0);
	cr_assert_eq(output_write(d, m, &f, &why), 0);
	expect_owner("out", uid, gid);
	expect_owner("out/.wcbpf", uid, gid);
	expect_owner("out/wcprof.ndjson", uid, gid);
	expect_owner("out/offcpu.time.txt", uid, gid);
	expect_owner("out/offcpu.diagnostics.txt", uid, gid);
	expect_owner("out/offcpu.summary.json", uid, gid);
}

/* Someone's empty folder is used, not given away. */
Test(output_dir, a_folder_that_exists_keeps_its_owner)
{
	_cleanup_(output_dir_freep) struct output_dir *d = NULL;
	_cleanup_(freep) char *path = fixture_path(base, "out"), *why = NULL;
	uid_t uid = geteuid() ? geteuid() : 12345;
	gid_t gid = geteuid() ? getegid() : 12346;

	make_dir("out");
	cr_assert_eq(output_dir_open(path, uid, gid, &d, &why), 0);
	expect_owner("out", geteuid(), getegid());
	expect_owner("out/.wcbpf", uid, gid);
}

/* Found before any workload starts: a file system that takes no files. */
Test(output_dir, unwritable_is_found_at_once)
{
	_cleanup_(freep) char *path = fixture_path(base, "ro");

	make_dir("ro");
	if (geteuid()) {
		cr_assert_eq(chmod(path, 0500), 0);
		expect_refused("ro", -EACCES);
		expect_refused("ro/out", -EACCES);
		return;
	}
	if (unshare(CLONE_NEWNS) || mount("none", "/", NULL, MS_REC | MS_PRIVATE, NULL) ||
	    mount("tmpfs", path, "tmpfs", MS_RDONLY, NULL))
		cr_skip_test("can't mount here");
	expect_refused("ro", -EROFS);
	expect_refused("ro/out", -EROFS);
	umount(path);
}
