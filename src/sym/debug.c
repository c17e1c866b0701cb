/* SPDX-License-Identifier: (LGPL-2.1 OR BSD-2-Clause) */
/*
 * Debug information of one program can be bigger than all else that a recorder
 * holds, and there may be some for each library. So it is open for a few files
 * at a time, within one bound for all; who was used longest ago goes first. An
 * answer is asked for once an address, so that is rare.
 *
 * A target in another mount namespace may have debug files that we have not:
 * its /usr/lib/debug is looked into after ours. Links in it are its own, so it
 * is taken as the root of all paths.
 */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "sym/fetch.h"
#include "sym/module.h"
#include "util/cleanup.h"

DEFINE_CLEANUP(struct objfile *, objfile_free)

static void note_refused(void *arg, const char *path, const char *why)
{
	sym_note(arg, "debug file %s %s: not used", path, why);
}

static const char *fetch(void *arg, const char *path, const char *build_id)
{
	return fetch_debug_file(arg, path, build_id);
}

/* -1: the process has gone, or sees the same files as we do. */
static int open_other_root(uint32_t pid)
{
	struct stat ours, its;
	char path[40];

	snprintf(path, sizeof(path), "/proc/%" PRIu32 "/ns/mnt", pid);
	if (stat("/proc/self/ns/mnt", &ours) || stat(path, &its))
		return -1;
	snprintf(path, sizeof(path), "/proc/%" PRIu32 "/root", pid);
	if (ours.st_ino == its.st_ino && (stat("/", &ours) || stat(path, &its) ||
					  (ours.st_ino == its.st_ino && ours.st_dev == its.st_dev)))
		return -1;
	return open(path, O_PATH | O_DIRECTORY | O_CLOEXEC);
}

void module_search_init(struct sym *s, const struct module *m, struct objfile_search *ret)
{
	*ret = (struct objfile_search){
		.path = m->path ? m->path : m->file ? m->file->path : NULL,
		.dirs = (const char *const *)s->dirs,
		.dir_n = s->dir_n,
		.root_fd = m->pid ? open_other_root(m->pid) : -1,
		.refused = note_refused,
		.fetch = s->fetch ? fetch : NULL,
		.arg = s,
	};
}

void module_search_done(struct objfile_search *search)
{
	closep(&search->root_fd);
}

size_t module_source_bytes(const struct sym *s)
{
	size_t n = 0;

	for (const struct module *m = s->modules; m; m = m->next)
		n += m->source ? objfile_source_bytes(m->source) : 0;
	return n;
}

/* Closes the one that was used longest ago. False: there is none. */
static bool close_oldest(struct sym *s)
{
	struct module *oldest = NULL;

	for (struct module *m = s->modules; m; m = m->next)
		if (m->source && (!oldest || m->source_used < oldest->source_used))
			oldest = m;
	if (!oldest)
		return false;
	oldest->source = objfile_source_free(oldest->source);
	return true;
}

/* The file that has the debug information: the module's own or its debug file. */
static int open_debug_file(const struct module *m, const struct objfile_search *search, struct objfile **ret)
{
	_cleanup_(objfile_freep) struct objfile *o = NULL;
	int err = module_open_file(m, &o);

	if (!err && !objfile_has_source(o)) {
		struct objfile *debug;

		err = objfile_open_debug(o, search, &debug);
		if (!err) {
			*ret = debug;
			return 0;
		}
	}
	if (!err)
		*ret = TAKE_PTR(o);
	return err;
}

static int open_source(struct sym *s, struct module *m)
{
	_cleanup_(module_search_done) struct objfile_search search;
	_cleanup_(objfile_freep) struct objfile *o = NULL;
	int err;

	module_search_init(s, m, &search);
	err = open_debug_file(m, &search, &o);
	while (!err) {
		size_t used = module_source_bytes(s);
		size_t left = used < s->source_bytes_max ? s->source_bytes_max - used : 0;

		err = objfile_source_new(o, &search, left, &m->source);
		if (err != -EFBIG || !close_oldest(s))
			break;
		err = 0;
	}
	if (err == -EFBIG)
		sym_note(s, "%s has more than %zu MB of debug information: not used for inlined functions and lines",
			 objfile_path(o) ? objfile_path(o) : search.path, s->source_bytes_max >> 20);
	return err;
}

size_t module_source_find(struct sym *s, struct module *m, uint64_t vaddr, const char *prefer,
			  struct objfile_place *ret, size_t ret_max)
{
	if (!m->has_debug)
		return 0;
	/* What it took for earlier questions counts too; anew it begins small. */
	while (module_source_bytes(s) > s->source_bytes_max && close_oldest(s))
		;
	if (!m->source && open_source(s, m)) {
		m->has_debug = false;
		return 0;
	}
	m->source_used = ++s->clock;
	return objfile_source_find(m->source, vaddr, prefer, ret, ret_max);
}
