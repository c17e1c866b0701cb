/* SPDX-License-Identifier: (LGPL-2.1 OR BSD-2-Clause) */
/*
 * A debug file speaks for a file only if it is that file's: it has its build
 * id, or, where there is none to compare, the checksum that .gnu_debuglink
 * states. What lies at a likely place and is something else is not used and
 * told: it is what somebody meant to be used, an older or newer build. Names
 * taken from it would be wrong ones.
 *
 * Places and their order are those of gdb. Names in a file are of whoever
 * made it: a link names a file of one folder, and no path.
 */
#include <elfutils/libdwelf.h>
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <zlib.h>

#include "objfile/objfile.h"
#include "util/cleanup.h"

#define SYSTEM_DIR "/usr/lib/debug"
#define BUILD_ID_MIN 4 /* hex digits */

DEFINE_CLEANUP(struct objfile *, objfile_free)

/* What is looked for. */
struct wanted {
	const struct objfile_search *where;
	const char *build_id; /* "" if it has none to go by */
	bool has_crc;
	uint32_t crc;
	struct stat self; /* the file itself is not its own debug file; st_ino 0: not known */
	struct objfile *found;
};

static void refuse(const struct wanted *w, const char *path, const char *why)
{
	if (w->where->refused)
		w->where->refused(w->where->arg, path, why);
}

static int checksum(int fd, uint32_t *ret)
{
	_cleanup_(freep) uint8_t *block = malloc(1 << 18);
	uLong crc = crc32(0, NULL, 0);
	ssize_t n;

	if (!block)
		return -ENOMEM;
	for (off_t at = 0; (n = pread(fd, block, 1 << 18, at)); at += n) {
		if (n < 0 && errno != EINTR)
			return -errno;
		if (n < 0)
			n = 0;
		crc = crc32(crc, block, (uInt)n);
	}
	*ret = (uint32_t)crc;
	return 0;
}

/* NULL: it is the one. Else why not. */
static const char *unfit(const struct wanted *w, const struct objfile *o)
{
	uint32_t crc = 0;

	if (*w->build_id && *objfile_build_id(o))
		return strcmp(w->build_id, objfile_build_id(o)) ? "has another build id" : NULL;
	if (!w->has_crc)
		return "has no build id";
	return checksum(objfile_fd(o), &crc) || crc != w->crc ? "has another checksum" : NULL;
}

/* Takes the file at path if it is the one. beneath: path is in the target's root. */
static void consider(struct wanted *w, const char *path, bool beneath)
{
	_cleanup_(objfile_freep) struct objfile *o = NULL;
	const char *why = NULL;
	struct stat st;
	int err;

	if (w->found)
		return;
	err = objfile_open_path(beneath ? w->where->root_fd : -1, path, &o);
	if (err == -ENOEXEC)
		why = "is no ELF file";
	else if (err || fstat(objfile_fd(o), &st) || (w->self.st_ino == st.st_ino && w->self.st_dev == st.st_dev))
		return;
	if (!why)
		why = unfit(w, o);
	if (why)
		refuse(w, path, why);
	else
		w->found = TAKE_PTR(o);
}

/* dir may be NULL: path is whole. */
static void consider_in(struct wanted *w, const char *dir, const char *path, bool beneath)
{
	char full[PATH_MAX];

	if (snprintf(full, sizeof(full), "%s%s%s", dir ? dir : "", dir ? "/" : "", path) < (int)sizeof(full))
		consider(w, full, beneath);
}

/* In the user's folders, and below the system's of our root and of the target's. */
static void consider_everywhere(struct wanted *w, const char *path)
{
	for (size_t i = 0; i < w->where->dir_n; i++)
		consider_in(w, w->where->dirs[i], path, false);
	consider_in(w, SYSTEM_DIR, path, false);
	if (w->where->root_fd >= 0)
		consider_in(w, SYSTEM_DIR, path, true);
}

static void by_build_id(struct wanted *w)
{
	char path[PATH_MAX];

	if (strlen(w->build_id) < BUILD_ID_MIN)
		return;
	snprintf(path, sizeof(path), ".build-id/%.2s/%s.debug", w->build_id, w->build_id + 2);
	consider_everywhere(w, path);
}

/* The folder of path into ret, "" for none. */
static void folder_of(const char *path, char *ret, size_t size)
{
	const char *slash = path ? strrchr(path, '/') : NULL;

	snprintf(ret, size, "%.*s", slash ? (int)(slash - path) : 0, path ? path : "");
}

static void by_link(struct wanted *w, const char *name)
{
	char folder[PATH_MAX], path[PATH_MAX];

	if (!*name || strchr(name, '/') || !strcmp(name, ".") || !strcmp(name, ".."))
		return;
	for (size_t i = 0; i < w->where->dir_n; i++)
		consider_in(w, w->where->dirs[i], name, false);
	if (!w->where->path || *w->where->path != '/')
		return;
	folder_of(w->where->path, folder, sizeof(folder));
	for (int beneath = 0; beneath <= (w->where->root_fd >= 0); beneath++) {
		consider_in(w, folder, name, beneath);
		if (snprintf(path, sizeof(path), ".debug/%s", name) < (int)sizeof(path))
			consider_in(w, folder, path, beneath);
	}
	/* folder begins with a slash, or is the root's "" */
	if (snprintf(path, sizeof(path), "%s/%s", folder + (*folder == '/'), name) < (int)sizeof(path))
		consider_everywhere(w, path + (*path == '/'));
}

/* What comes is held to the same as what lies here. */
static void by_asking(struct wanted *w)
{
	const char *path = NULL;

	if (!w->found && w->where->fetch && strlen(w->build_id) >= BUILD_ID_MIN)
		path = w->where->fetch(w->where->arg, w->where->path, w->build_id);
	if (path)
		consider(w, path, false);
}

int objfile_open_debug(struct objfile *o, const struct objfile_search *where, struct objfile **ret)
{
	struct wanted w = { .where = where, .build_id = objfile_build_id(o) };
	Elf *elf = objfile_elf(o);
	const char *link;
	GElf_Word crc;

	if (objfile_fd(o) < 0 || fstat(objfile_fd(o), &w.self))
		w.self.st_ino = 0;
	by_build_id(&w);
	link = w.found || !elf ? NULL : dwelf_elf_gnu_debuglink(elf, &crc);
	if (link) {
		w.has_crc = true;
		w.crc = crc;
		by_link(&w, link);
	}
	by_asking(&w);
	if (!w.found)
		return -ENOENT;
	*ret = w.found;
	return 0;
}

int objfile_open_shared(const char *name, const char *build_id, const struct objfile_search *where, struct objfile **ret)
{
	struct wanted w = { .where = where, .build_id = build_id };
	char folder[PATH_MAX];

	if (strlen(build_id) < BUILD_ID_MIN)
		return -ENOENT;
	by_build_id(&w);
	for (size_t i = 0; i < where->dir_n; i++)
		consider_in(&w, where->dirs[i], name + (*name == '/'), false);
	folder_of(where->path, folder, sizeof(folder));
	for (int beneath = 0; beneath <= (where->root_fd >= 0); beneath++)
		consider_in(&w, *name == '/' ? NULL : folder, name, beneath);
	by_asking(&w);
	if (!w.found)
		return -ENOENT;
	*ret = w.found;
	return 0;
}
