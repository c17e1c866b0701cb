/* SPDX-License-Identifier: (LGPL-2.1 OR BSD-2-Clause) */
/*
 * On a host of cgroup v1 the v2 tree is beside the others, at
 * /sys/fs/cgroup/unified or elsewhere; the mount table knows. The usual place
 * is tried first, so that nothing depends on /proc where it is right.
 */
#include "cmd/cgroup.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "cmd/options.h"
#include "proc/proc.h"
#include "util/cleanup.h"
#include "util/text.h"

#define USUAL_ROOT "/sys/fs/cgroup"

struct search {
	const char *given;
	int worst;     /* -ENOENT, or what else stood in the way */
	char *path;    /* found; owned */
	uint64_t id;
	char *mounts;  /* "/a, /b": where v2 is mounted; owned */
};

static void search_done(struct search *s)
{
	free(s->path);
	free(s->mounts);
}

/* root NULL: as given. 1: found, 0: not there, -ENOMEM. */
static int try_below(struct search *s, const char *root)
{
	_cleanup_(freep) char *path = NULL;
	int r;

	/* "/system.slice/x", as /proc/PID/cgroup shows it, is below the root too */
	path = root ? text_format("%s/%s", root, s->given + strspn(s->given, "/")) : strdup(s->given);
	if (!path)
		return -ENOMEM;
	r = proc_cgroup_id(path, &s->id);
	if (r < 0) {
		if (r != -ENOENT)
			s->worst = r;
		return 0;
	}
	s->path = TAKE_PTR(path);
	return 1;
}

/* The mount table writes blank, tab, newline and backslash as three octal digits. */
static void octal_undo(char *s)
{
	char *to = s;

	while (*s) {
		if (s[0] == '\\' && s[1] >= '0' && s[1] <= '3' && s[2] >= '0' && s[2] <= '7' && s[3] >= '0' &&
		    s[3] <= '7') {
			*to++ = (char)((s[1] - '0') << 6 | (s[2] - '0') << 3 | (s[3] - '0'));
			s += 4;
		} else {
			*to++ = *s++;
		}
	}
	*to = '\0';
}

/* The mount point of a line for a cgroup v2, else NULL: "36 35 0:30 / /mnt opts [tags] - cgroup2 cgroup2 rw". */
static char *mount_point(char *line)
{
	char *type = strstr(line, " - "), *at = line, *end;

	if (!type || strncmp(type + 3, "cgroup2 ", 8) != 0)
		return NULL;
	*type = '\0';
	for (int field = 1; field < 5; field++) {
		at = strchr(at, ' ');
		if (!at)
			return NULL;
		at++;
	}
	end = strchr(at, ' ');
	if (end)
		*end = '\0';
	octal_undo(at);
	return at;
}

static int mount_note(struct search *s, const char *mount)
{
	char *all = text_format("%s%s%s", s->mounts ? s->mounts : "", s->mounts ? ", " : "", mount);

	if (!all)
		return -ENOMEM;
	free(s->mounts);
	s->mounts = all;
	return 0;
}

static int try_mounts(struct search *s, const char *mountinfo)
{
	_cleanup_(fclosep) FILE *f = fopen(mountinfo, "re");
	_cleanup_(freep) char *line = NULL;
	size_t size = 0;
	int r = 0;

	while (f && r == 0 && getline(&line, &size, f) > 0) {
		const char *mount = mount_point(line);

		if (!mount)
			continue;
		r = mount_note(s, mount);
		if (r == 0 && strcmp(mount, USUAL_ROOT) != 0)
			r = try_below(s, mount);
	}
	return r;
}

int cgroup_find(const char *mountinfo, const char *given, char **ret_path, uint64_t *ret_id, char **ret_why)
{
	_cleanup_(search_done) struct search s = {.given = given, .worst = -ENOENT};
	int r = try_below(&s, NULL);

	if (r == 0)
		r = try_below(&s, USUAL_ROOT);
	if (r == 0)
		r = try_mounts(&s, mountinfo);
	if (r < 0)
		return r;
	if (r > 0) {
		*ret_path = TAKE_PTR(s.path);
		*ret_id = s.id;
		return 0;
	}
	if (!s.mounts)
		return options_refuse(ret_why, "no cgroup %s: no cgroup v2 file system is mounted here", given);
	if (s.worst == -ENOENT)
		return options_refuse(ret_why, "no cgroup %s (looked there and below %s, where cgroup v2 is mounted)",
				      given, s.mounts);
	return options_refuse(ret_why, "%s is not a folder of the cgroup v2 file system, which is mounted at %s (%s)",
			      given, s.mounts, strerror(-s.worst));
}
