/* SPDX-License-Identifier: (LGPL-2.1 OR BSD-2-Clause) */
#include <criterion/criterion.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cmd/cgroup.h"
#include "util/cleanup.h"

/* A mount table of our own. */
static char *mountinfo_write(const char *text)
{
	char *path = strdup("/tmp/wcbpf-mountinfo-XXXXXX");
	int fd = mkstemp(path);

	cr_assert_geq(fd, 0);
	cr_assert_eq(write(fd, text, strlen(text)), (ssize_t)strlen(text));
	close(fd);
	return path;
}

static char *refusal(const char *mounts, const char *given)
{
	_cleanup_(freep) char *table = mountinfo_write(mounts), *path = NULL;
	char *why = NULL;
	uint64_t id = 77;

	cr_expect_eq(cgroup_find(table, given, &path, &id, &why), -EINVAL);
	cr_expect(!path && id == 77, "outputs stay untouched");
	cr_assert_not_null(why);
	unlink(table);
	return why;
}

Test(cgroup, tells_where_v2_is_mounted)
{
	_cleanup_(freep) char *why = refusal("41 31 0:38 / /sys/fs/cgroup/unified rw,relatime - cgroup2 cgroup2 rw\n"
					     "33 31 0:30 / /sys/fs/cgroup/memory rw shared:9 - cgroup cgroup rw,memory\n"
					     "50 31 0:38 / /mnt/a\\040b rw shared:7 master:3 - cgroup2 none rw\n",
					     "no-such-cgroup");

	cr_expect_str_eq(why, "no cgroup no-such-cgroup (looked there and below /sys/fs/cgroup/unified, /mnt/a b, where "
			      "cgroup v2 is mounted)");
}

Test(cgroup, no_v2_at_all)
{
	_cleanup_(freep) char *why = refusal("33 31 0:30 / /sys/fs/cgroup/memory rw - cgroup cgroup rw,memory\n"
					     "22 1 0:20 / /x/cgroup2 rw - tmpfs cgroup2 rw\n", "no-such-cgroup");

	cr_expect_not_null(strstr(why, "no cgroup v2 file system is mounted here"), "%s", why);
}

Test(cgroup, damaged_table)
{
	_cleanup_(freep) char *why = refusal(" - cgroup2 \n\n1 2 - cgroup2 x\nx", "no-such-cgroup");

	cr_expect_not_null(strstr(why, "no cgroup v2 file system"), "%s", why);
}

/* An ordinary folder below what the table calls a mount is found and is none of the file system. */
Test(cgroup, name_below_the_mount)
{
	_cleanup_(freep) char *why = refusal("41 31 0:38 / /usr rw - cgroup2 cgroup2 rw\n", "bin");

	cr_expect_not_null(strstr(why, "bin is not a folder of the cgroup v2 file system, which is mounted at /usr"), "%s",
			   why);
}

/* Where the host has a v2 tree anywhere, "/" names its root, by the host's own table. */
Test(cgroup, finds_the_hosts_tree)
{
	_cleanup_(fclosep) FILE *f = fopen("/proc/self/mountinfo", "r");
	_cleanup_(freep) char *path = NULL, *why = NULL;
	char line[4096], mount[256] = "";
	struct stat st;
	uint64_t id;

	cr_assert_not_null(f);
	while (!*mount && fgets(line, sizeof(line), f)) {
		if (strstr(line, " - cgroup2 "))
			cr_assert_eq(sscanf(line, "%*s %*s %*s %*s %255s", mount), 1);
	}
	if (!*mount)
		cr_skip_test("no cgroup v2 here");
	cr_assert_eq(cgroup_find("/proc/self/mountinfo", "//.", &path, &id, &why), 0, "%s", why);
	cr_assert_eq(stat(path, &st), 0);
	cr_expect_eq(strncmp(path, mount, strlen(mount)), 0, "%s", path);
	cr_expect_eq(id, st.st_ino);
}
