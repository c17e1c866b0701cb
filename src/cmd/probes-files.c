/* SPDX-License-Identifier: (LGPL-2.1 OR BSD-2-Clause) */
/* Files are opened as the target sees them: through its mappings, whatever lies at their paths now or in our root. */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>

#include "cmd/options.h"
#include "cmd/probes.h"
#include "proc/proc.h"
#include "util/files.h"
#include "util/log.h"
#include "util/vec.h"

DEFINE_CLEANUP(struct proc_maps *, proc_maps_free)
DEFINE_CLEANUP(struct objfile *, objfile_free)

static void probes_file_done(struct probes_file *f)
{
	free(f->path);
	objfile_free(f->file);
	objfile_free(f->debug);
	objfile_go_free(f->go);
	probe_plan_free(f->plan);
}

void probes_found_done(struct probes_found *f)
{
	for (size_t i = 0; i < f->file_n; i++)
		probes_file_done(&f->files[i]);
	free(f->files);
	probe_notes_free(f->missing, f->missing_n);
	*f = (struct probes_found){0};
}

static const char *go_refusal(int r)
{
	return r == -ENOTSUP   ? "its tables are of a later version of Go than is known"
	       : r == -EBADMSG ? "its tables are damaged"
			       : NULL;
}

/* Takes the file over. */
static int file_add(const struct probe_set *s, struct objfile *o, const char *path, bool is_program, int root_fd,
		    struct probes_found *found)
{
	_cleanup_(probes_file_done) struct probes_file f = {.file = o, .is_program = is_program};
	struct objfile_search where = {.path = path, .root_fd = root_fd};
	struct probe_object object = {.file = o, .where = &where, .path = path, .is_program = is_program};
	int r = objfile_go_open(o, &f.go);

	if (r == -ENOMEM)
		return r;
	object.go = f.go;
	object.go_why = go_refusal(r);
	if (objfile_open_debug(o, &where, &f.debug) == 0)
		object.debug = f.debug;
	f.path = strdup(path);
	if (!f.path)
		return -ENOMEM;
	r = probe_resolve(s, &object, &f.plan);
	if (r < 0)
		return r;
	if (VEC_RESERVE(found->files, found->file_cap, found->file_n + 1) < 0)
		return -ENOMEM;
	found->files[found->file_n++] = f;
	f = (struct probes_file){0};
	return 0;
}

static int missing_find(const struct probe_set *s, struct probes_found *found)
{
	_cleanup_(freep) const struct probe_plan **plans = calloc(found->file_n + 1, sizeof(*plans));

	if (!plans)
		return -ENOMEM;
	for (size_t i = 0; i < found->file_n; i++)
		plans[i] = found->files[i].plan;
	return probe_set_missing(s, plans, found->file_n, &found->missing, &found->missing_n);
}

/* ---- a process ---- */

struct gathering {
	const struct proc_file **v;
	size_t n, cap;
};

static int mapping_gather(void *arg, const struct proc_mapping *map)
{
	struct gathering *g = arg;

	if (!map->file)
		return 0;
	for (size_t i = 0; i < g->n; i++)
		if (g->v[i] == map->file)
			return 0;
	if (VEC_RESERVE(g->v, g->cap, g->n + 1) < 0)
		return -ENOMEM;
	g->v[g->n++] = map->file;
	return 0;
}

static void gathering_done(struct gathering *g)
{
	free(g->v);
}

/* Is it the file that the process was started from? */
static bool is_executable_of(const struct proc_file *f, const struct stat *exe)
{
	return exe->st_ino && f->ino == exe->st_ino && f->maj == major(exe->st_dev) && f->min == minor(exe->st_dev);
}

static int mapped_add(const struct probe_set *s, const struct proc_file *f, bool is_program, int root_fd,
		      struct probes_found *found)
{
	_cleanup_(closep) int fd = -1;
	struct objfile *o;
	int r;

	if (!probe_set_concerns(s, f->path, is_program))
		return 0;
	r = proc_file_open(f, &fd);
	if (r == 0)
		r = objfile_open_fd(fd, &o);
	if (r == -ENOEXEC)
		return 0;
	if (r < 0) {
		log_warning("%s can't be read (%s): nothing of it would be probed", f->path, strerror(-r));
		return r == -ENOMEM ? r : 0;
	}
	return file_add(s, o, f->path, is_program, root_fd, found);
}

int probes_find_process(const struct probe_set *s, uint32_t pid, struct probes_found *ret, char **ret_why)
{
	_cleanup_(proc_maps_freep) struct proc_maps *maps = NULL;
	_cleanup_(gathering_done) struct gathering g = {0};
	_cleanup_(probes_found_done) struct probes_found found = {0};
	_cleanup_(closep) int root_fd = -1;
	struct stat exe = {0};
	char path[64];
	int r = proc_maps_new(&maps);

	if (r == 0)
		r = proc_maps_snapshot(maps, pid, 0);
	if (r == -EACCES || r == -EPERM)
		return options_refuse(
			ret_why, "what pid %" PRIu32 " has mapped can't be read: run as root or as its owner", pid);
	if (r == 0)
		r = proc_maps_each(maps, pid, 1, mapping_gather, &g);
	if (r == -ENOMEM)
		return r;
	if (r < 0)
		return options_refuse(ret_why, "what pid %" PRIu32 " has mapped can't be read: %s", pid, strerror(-r));
	snprintf(path, sizeof(path), "/proc/%" PRIu32 "/exe", pid);
	if (stat(path, &exe) < 0)
		exe.st_ino = 0;
	snprintf(path, sizeof(path), "/proc/%" PRIu32 "/root", pid);
	root_fd = open(path, O_PATH | O_DIRECTORY | O_CLOEXEC);
	for (size_t i = 0; i < g.n && r == 0; i++)
		r = mapped_add(s, g.v[i], is_executable_of(g.v[i], &exe), root_fd, &found);
	if (r == 0)
		r = missing_find(s, &found);
	if (r < 0)
		return r;
	*ret = found;
	found = (struct probes_found){0};
	return 0;
}

/* ---- files ---- */

static int path_add(const struct probe_set *s, const char *path, bool program, struct probes_found *found, char **ret_why)
{
	_cleanup_(closep) int fd = -1;
	struct objfile *o;
	struct stat st;
	int r;

	if (!program && !probe_set_concerns(s, path, false))
		return 0;
	r = files_open_regular(AT_FDCWD, path, false, &fd, &st);
	if (r == 0)
		r = objfile_open_fd(fd, &o);
	if (r == -ENOEXEC)
		return options_refuse(ret_why, "%s: no program or library (ELF file)", path);
	if (r < 0 && r != -ENOMEM)
		return options_refuse(ret_why, "%s: %s", path, r == -EINVAL ? "not a regular file" : strerror(-r));
	return r < 0 ? r : file_add(s, o, path, program, -1, found);
}

int probes_find_files(const struct probe_set *s, const char *const *paths, size_t n, struct probes_found *ret,
		      char **ret_why)
{
	_cleanup_(probes_found_done) struct probes_found found = {0};
	int r = 0;

	for (size_t i = 0; i < n && r == 0; i++)
		r = path_add(s, paths[i], i == 0, &found, ret_why);
	if (r == 0)
		r = missing_find(s, &found);
	if (r < 0)
		return r;
	*ret = found;
	found = (struct probes_found){0};
	return 0;
}
