/* SPDX-License-Identifier: (LGPL-2.1 OR BSD-2-Clause) */
/*
 * A process that writes a jit-PID.dump maps its first page executable, for no
 * other reason than to tell who traces it where the file is; so the mappings
 * know it, and hold it open. It has times, so it is asked before perf-PID.map,
 * which has none. Only a file with the process's own number counts: a child has
 * its parent's mappings, but what the parent says after the fork isn't the
 * child's.
 *
 * Either may be written through a buffer (V8 does it with the dump): what runs
 * now may be told only when the process ends. So nothing that is not known is
 * remembered, and who asks late gets more names.
 */
#include "sym/jit.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "sym/jitdump.h"
#include "sym/perf-map.h"
#include "util/cleanup.h"

/* What is known of one process. */
struct jit {
	struct perf_map *map;
	uint32_t ns_pid;	/* its own number */
	const struct proc_file *file; /* the dump, NULL: none yet */
	uint64_t changed_ns;	/* of the mappings in which it was found */
	struct jitdump *dump;	/* NULL: can't be read */
};

static struct jit *jit_free(struct jit *j)
{
	if (!j)
		return NULL;
	perf_map_free(j->map);
	jitdump_free(j->dump);
	free(j);
	return NULL;
}
DEFINE_CLEANUP(struct jit *, jit_free)

void jit_free_all(struct sym *s)
{
	uint64_t pid, p;

	for (size_t at = 0; s->jits && map_next(s->jits, &at, &pid, &p);)
		jit_free((struct jit *)(uintptr_t)p);
	s->jits = map_free(s->jits);
}

static struct jit *jit_of(struct sym *s, uint32_t pid)
{
	_cleanup_(jit_freep) struct jit *j = map_get_ptr(s->jits, pid);

	if (j)
		return TAKE_PTR(j);
	j = calloc(1, sizeof(*j));
	if (!j || perf_map_new(pid, &j->map) || map_put_ptr(s->jits, pid, j))
		return NULL;
	if (proc_ns_pid(pid, &j->ns_pid))
		j->ns_pid = pid;
	return TAKE_PTR(j);
}

struct search {
	char name[32];
	const struct proc_file *found;
};

static int is_dump(void *arg, const struct proc_mapping *map)
{
	struct search *search = arg;
	const char *slash = map->file ? strrchr(map->file->path, '/') : NULL;

	if (!slash || strcmp(slash + 1, search->name))
		return 0;
	search->found = map->file;
	return 1;
}

/* The dump that was mapped at the time; NULL: none. */
static struct jitdump *dump_at(struct sym *s, struct jit *j, uint32_t pid, uint64_t time_ns)
{
	_cleanup_(closep) int fd = -1;
	struct search search = { .found = NULL };
	uint64_t changed_ns = proc_maps_changed_ns(s->maps, pid);

	if (j->file && j->changed_ns == changed_ns)
		return j->dump;
	snprintf(search.name, sizeof(search.name), "jit-%" PRIu32 ".dump", j->ns_pid);
	proc_maps_each(s->maps, pid, time_ns, is_dump, &search);
	if (!search.found)
		return NULL;
	j->changed_ns = changed_ns;
	if (search.found != j->file) {
		j->dump = jitdump_free(j->dump);
		j->file = search.found;
		if (!proc_file_open(search.found, &fd))
			jitdump_new(fd, &j->dump); /* fails: as if it couldn't be opened */
	}
	return j->dump;
}

void jit_name(struct sym *s, uint32_t pid, uint64_t time_ns, uint64_t addr, uint64_t lookup, struct sym_frame *frame)
{
	struct jit *j = jit_of(s, pid);
	struct jitdump *dump = j ? dump_at(s, j, pid, time_ns) : NULL;
	struct jitdump_code code = { 0 };

	if (!j)
		return;
	if (!dump || jitdump_find(dump, lookup, time_ns, &code))
		code.name = perf_map_find(j->map, lookup, &code.start);
	if (!code.name)
		return;
	frame->name = sym_keep(s, code.name);
	if (!frame->name)
		return;
	frame->offset = (uint32_t)(addr - code.start);
	frame->file = code.file ? sym_keep(s, code.file) : NULL;
	frame->line = frame->file ? code.line : 0;
}
