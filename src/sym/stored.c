/* SPDX-License-Identifier: (LGPL-2.1 OR BSD-2-Clause) */
/*
 * A recording says of each address which file it is in, by path and build id.
 * Of the two only the build id is sure: the path may have another build by now,
 * or be another machine's. A file found is a module as those of processes are,
 * so names come the same way.
 */
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>

#include "sym/fetch.h"
#include "sym/module.h"
#include "sym/state.h"
#include "sym/sym.h"
#include "util/cleanup.h"

#define BUILD_ID_MIN 4 /* hex digits */
#define SYSTEM_DIR "/usr/lib/debug"

DEFINE_CLEANUP(struct objfile *, objfile_free)
DEFINE_CLEANUP(struct sym *, sym_free)

int sym_open_later(const char *const *dirs, size_t dir_n, struct sym **ret)
{
	_cleanup_(sym_freep) struct sym *s = NULL;
	int err = sym_new(NULL, NULL, &s);

	if (!err)
		err = map_new(&s->stored);
	if (err)
		return err;
	s->dirs = calloc(dir_n + 1, sizeof(*s->dirs));
	if (!s->dirs)
		return -ENOMEM;
	for (; s->dir_n < dir_n; s->dir_n++) {
		s->dirs[s->dir_n] = strdup(dirs[s->dir_n]);
		if (!s->dirs[s->dir_n])
			return -ENOMEM;
	}
	*ret = TAKE_PTR(s);
	return 0;
}

int sym_fetch(struct sym *s)
{
	return s->fetch ? 0 : fetch_new(&s->fetch);
}

/* Opens dir/name if it is the file; dir NULL: name is whole. */
static struct objfile *consider(struct sym *s, const char *dir, const char *name, const char *build_id)
{
	_cleanup_(objfile_freep) struct objfile *o = NULL;
	char path[PATH_MAX];

	if (snprintf(path, sizeof(path), "%s%s%s", dir ? dir : "", dir ? "/" : "", name) >= (int)sizeof(path) ||
	    objfile_open_path(-1, path, &o))
		return NULL;
	if (strcmp(objfile_build_id(o), build_id)) {
		sym_note(s, "%s has %s build id: not used", path,
			 !*objfile_build_id(o) ? "no" : *build_id ? "another" : "a");
		return NULL;
	}
	return TAKE_PTR(o);
}

static struct objfile *find_in(struct sym *s, const char *dir, const char *path, const char *build_id)
{
	const char *base = strrchr(path, '/');
	char name[PATH_MAX];
	struct objfile *o = NULL;

	base = base ? base + 1 : path;
	if (strlen(build_id) >= BUILD_ID_MIN) {
		snprintf(name, sizeof(name), ".build-id/%.2s/%s.debug", build_id, build_id + 2);
		o = consider(s, dir, name, build_id);
		if (!o) {
			name[strlen(name) - strlen(".debug")] = '\0';
			o = consider(s, dir, name, build_id);
		}
	}
	if (!o)
		o = consider(s, dir, path + strspn(path, "/"), build_id);
	if (!o)
		o = consider(s, dir, base, build_id);
	if (!o && snprintf(name, sizeof(name), "%s.debug", base) < (int)sizeof(name))
		o = consider(s, dir, name, build_id);
	return o;
}

static struct objfile *find_on_system(struct sym *s, const char *path, const char *build_id)
{
	char name[PATH_MAX];
	struct objfile *o;

	if (strlen(build_id) < BUILD_ID_MIN)
		return NULL;
	o = consider(s, NULL, path, build_id);
	if (o)
		return o;
	snprintf(name, sizeof(name), ".build-id/%.2s/%s.debug", build_id, build_id + 2);
	return consider(s, SYSTEM_DIR, name, build_id);
}

static struct objfile *find_on_servers(struct sym *s, const char *path, const char *build_id)
{
	const char *fetched = fetch_debug_file(s, path, build_id);

	return fetched ? consider(s, NULL, fetched, build_id) : NULL;
}

static struct module *module_find(struct sym *s, const char *path, const char *build_id)
{
	_cleanup_(objfile_freep) struct objfile *o = NULL;
	struct module *m = NULL;
	uint32_t path_id, build_id_id;
	uint64_t key, known;

	if (!s->stored || strtab_intern(s->names, path, &path_id) || strtab_intern(s->names, build_id, &build_id_id))
		return NULL;
	key = (uint64_t)path_id << 32 | build_id_id;
	if (map_get(s->stored, key, &known))
		return (struct module *)(uintptr_t)known;
	/* "[kernel]", "//anon" and the like are no files; nor is what climbs out of a folder. */
	if (*path == '/' && path[1] != '/' && !strstr(path, "/../")) {
		for (size_t i = 0; !o && i < s->dir_n; i++)
			o = find_in(s, s->dirs[i], path, build_id);
		if (!o)
			o = find_on_system(s, path, build_id);
		if (!o)
			o = find_on_servers(s, path, build_id);
	}
	if (o)
		m = module_new_stored(s, o);
	if (m)
		o = NULL; /* the module's now */
	map_put_ptr(s->stored, key, m); /* fails: it is looked for again */
	return m;
}

size_t sym_stored(struct sym *s, const char *path, const char *build_id, uint64_t address, bool return_address,
		  struct sym_frame *ret, size_t ret_max)
{
	struct sym_frame frame = { .address = address };
	struct module *m = module_find(s, path, build_id);
	const struct answer *answer = m ? module_lookup(s, m, address - return_address) : NULL;

	if (!ret_max || !answer || !answer->own.name)
		return 0;
	frame.module = sym_keep(s, path);
	frame.build_id = sym_keep(s, build_id);
	if (!frame.build_id)
		frame.build_id = "";
	return sym_answer_frames(answer, &frame, ret, ret_max);
}
