/* SPDX-License-Identifier: (LGPL-2.1 OR BSD-2-Clause) */
/*
 * The thread owns the store, as its only writer, and the shards of rows, which
 * it makes as they are needed; the loop owns the table of files. A file's job
 * is lent to the thread and comes back with the answer. Files with one build
 * id (a library in two containers) share one table.
 */
#include "capture/table-files.h"

#include <bpf/bpf.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>

#include "capture/worker.h"
#include "objfile/objfile.h"
#include "proc/proc.h"
#include "util/cleanup.h"
#include "util/map.h"
#include "util/strtab.h"

#define TABLES_NICE 2 /* a short burst, and stacks are incomplete until it is over */
#define SHARD_BYTES (WCBPF_SHARD_ROWS * sizeof(struct wcbpf_row))

DEFINE_CLEANUP(struct objfile *, objfile_free)
DEFINE_CLEANUP(struct unwind_rows *, unwind_rows_free)

struct file {
	struct job job;
	const struct proc_file *source; /* NULL: the vDSO */
	bool done;
	int err;	    /* 0: place holds; -ENOSPC: no room */
	struct unwind_place place;
	size_t unsupported_n;
	uint64_t build_ns;
	uint64_t store_bytes; /* of all files so far */
	uint32_t store_rule_n;
	struct objfile *objfile; /* detached: its segments only */
};

struct table_files {
	struct tables_maps fds;
	struct worker *worker;
	struct map *by_source; /* struct proc_file * (NULL: the vDSO) -> struct file */
	struct tables_stats stats;
	size_t asked_n; /* and not done */
	/* of the thread */
	struct unwind_store *store;
	struct strtab *build_ids;
	struct map *by_build_id; /* id of build_ids -> struct file that has the tables */
	void *rules, *dirs;
	struct wcbpf_row *shards[WCBPF_SHARDS_MAX];
};

/* ---- in the thread ---- */

static int shard_make(void *arg, uint32_t index, struct wcbpf_row **ret)
{
	LIBBPF_OPTS(bpf_map_create_opts, opts, .map_flags = BPF_F_MMAPABLE);
	struct table_files *f = arg;
	_cleanup_(closep) int fd = -1;
	void *memory;

	if (index >= WCBPF_SHARDS_MAX)
		return -ENOSPC;
	fd = bpf_map_create(BPF_MAP_TYPE_ARRAY, "wcbpf_rows", sizeof(uint32_t), SHARD_BYTES, 1, &opts);
	if (fd < 0)
		return -errno;
	memory = mmap(NULL, SHARD_BYTES, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	if (memory == MAP_FAILED)
		return -errno;
	if (bpf_map_update_elem(f->fds.shards, &index, &fd, BPF_ANY)) {
		munmap(memory, SHARD_BYTES);
		return -errno;
	}
	*ret = f->shards[index] = memory;
	return 0;
}

static uint64_t thread_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
	return (uint64_t)t.tv_sec * 1000000000ull + t.tv_nsec;
}

/* The file that has the same build id and is done, NULL: this is the first. *ret_id 0: it has none. */
static const struct file *twin_find(struct table_files *f, const struct file *file, uint32_t *ret_id)
{
	const char *build_id = objfile_build_id(file->objfile);

	*ret_id = 0;
	if (!*build_id || strtab_intern(f->build_ids, build_id, ret_id))
		return NULL;
	return map_get_ptr(f->by_build_id, *ret_id);
}

static int build(struct table_files *f, struct file *file)
{
	_cleanup_(unwind_rows_freep) struct unwind_rows *rows = NULL;
	_cleanup_(closep) int fd = -1;
	const struct file *twin;
	uint32_t build_id = 0;
	int err;

	if (file->source) {
		err = proc_file_open(file->source, &fd);
		if (!err)
			err = objfile_open_fd(fd, &file->objfile);
	} else {
		err = objfile_open_vdso(&file->objfile);
	}
	if (err)
		return err;
	objfile_detach(file->objfile, false);
	twin = twin_find(f, file, &build_id);
	if (twin) {
		file->place = twin->place;
		return 0;
	}
	err = file->source ? unwind_rows_read(fd, &rows) : unwind_rows_read_vdso(&rows);
	if (!err)
		err = unwind_store_add(f->store, rows, &file->place);
	if (err)
		return err;
	file->unsupported_n = rows->unsupported_n;
	return build_id ? map_put_ptr(f->by_build_id, build_id, file) : 0;
}

static void run(void *arg, struct job *job)
{
	struct file *file = (struct file *)job;
	struct table_files *f = arg;
	uint64_t before = thread_ns();

	file->err = build(f, file);
	unwind_store_size(f->store, &file->store_bytes, &file->store_rule_n);
	file->build_ns = thread_ns() - before;
}

/* ---- in the loop ---- */

static void file_free(struct file *file)
{
	objfile_free(file->objfile);
	free(file);
}

static int memory_map(int fd, size_t bytes, void **ret)
{
	void *p = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);

	if (p == MAP_FAILED)
		return -errno;
	*ret = p;
	return 0;
}

static int start(struct table_files *f, int wake_fd)
{
	struct unwind_store_memory memory = { .shard = shard_make, .arg = f };
	int err = map_new(&f->by_source);

	if (!err)
		err = map_new(&f->by_build_id);
	if (!err)
		err = strtab_new(&f->build_ids);
	if (!err)
		err = memory_map(f->fds.rules, WCBPF_RULES_MAX * sizeof(struct wcbpf_rule), &f->rules);
	if (!err)
		err = memory_map(f->fds.dirs, WCBPF_DIRS_MAX * sizeof(struct wcbpf_dir), &f->dirs);
	memory.rules = f->rules;
	memory.dirs = f->dirs;
	if (!err)
		err = unwind_store_new(&memory, &f->store);
	if (!err)
		err = worker_new(run, f, TABLES_NICE, wake_fd, &f->worker);
	return err;
}

int table_files_new(const struct tables_maps *fds, int wake_fd, struct table_files **ret)
{
	struct table_files *f = calloc(1, sizeof(*f));
	int err;

	if (!f)
		return -ENOMEM;
	f->fds = *fds;
	err = start(f, wake_fd);
	if (err) {
		table_files_free(f);
		return err;
	}
	*ret = f;
	return 0;
}

static void job_drop(struct job *job)
{
	(void)job; /* the table of files has it too */
}

struct table_files *table_files_free(struct table_files *f)
{
	uint64_t key, file;

	if (!f)
		return NULL;
	worker_free(f->worker, job_drop);
	for (size_t at = 0; f->by_source && map_next(f->by_source, &at, &key, &file);)
		file_free((struct file *)(uintptr_t)file);
	map_free(f->by_source);
	map_free(f->by_build_id);
	strtab_free(f->build_ids);
	unwind_store_free(f->store);
	if (f->rules)
		munmap(f->rules, WCBPF_RULES_MAX * sizeof(struct wcbpf_rule));
	if (f->dirs)
		munmap(f->dirs, WCBPF_DIRS_MAX * sizeof(struct wcbpf_dir));
	for (size_t i = 0; i < WCBPF_SHARDS_MAX; i++)
		if (f->shards[i])
			munmap(f->shards[i], SHARD_BYTES);
	free(f);
	return NULL;
}

/* Asks for a file's tables. NULL: no memory. */
static struct file *file_ask(struct table_files *f, const struct proc_file *source)
{
	struct file *file = calloc(1, sizeof(*file));

	if (!file || map_put_ptr(f->by_source, (uintptr_t)source, file)) {
		free(file);
		return NULL;
	}
	file->source = source;
	f->asked_n++;
	worker_give(f->worker, &file->job);
	return file;
}

enum table_state table_files_find(struct table_files *f, const struct proc_mapping *map, struct table_place *ret)
{
	struct file *file;
	uint64_t vaddr;

	if (!map->file && strcmp(map->name, "[vdso]"))
		return TABLE_NONE;
	file = map_get_ptr(f->by_source, (uintptr_t)map->file);
	if (!file)
		file = file_ask(f, map->file);
	if (!file)
		return TABLE_NONE;
	if (!file->done)
		return TABLE_PENDING;
	if (file->err || objfile_vaddr_of_offset(file->objfile, map->pgoff, &vaddr))
		return TABLE_NONE;
	ret->place = file->place;
	ret->bias = map->start - vaddr;
	return TABLE_READY;
}

bool table_files_busy(const struct table_files *f)
{
	return f->asked_n;
}

bool table_files_take(struct table_files *f)
{
	struct job *job;
	bool news = false;

	while ((job = worker_take(f->worker))) {
		struct file *file = (struct file *)job;

		file->done = news = true;
		f->asked_n--;
		f->stats.build_ns += file->build_ns;
		f->stats.bytes = file->store_bytes;
		f->stats.rule_n = file->store_rule_n;
		f->stats.unsupported_n += file->unsupported_n;
		if (!file->err)
			f->stats.file_n++;
		else if (file->err == -ENOSPC || file->err == -ENOMEM)
			f->stats.full_n++;
	}
	return news;
}

void table_files_stats(const struct table_files *f, struct tables_stats *ret)
{
	*ret = f->stats;
}
