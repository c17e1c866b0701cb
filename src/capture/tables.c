/* SPDX-License-Identifier: (LGPL-2.1 OR BSD-2-Clause) */
/*
 * A process's mappings are a segment of one big array. A change writes a whole
 * new segment and then flips the process to it, so the programs see the one or
 * the other; the old one rests before its place is used again. Files are
 * another matter: their tables are written once and never change
 * (table-files.c).
 */
#include "capture/tables.h"

#include <bpf/bpf.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>

#include "bpf/wire.h"
#include "capture/slots.h"
#include "capture/table-files.h"
#include "proc/proc.h"
#include "util/cleanup.h"
#include "util/map.h"
#include "util/vec.h"

#define REST_NS 100000000ull /* no walk takes that long */
#define PREPARE_POLL_NS 1000000
#define NOW (UINT64_MAX - 1) /* what is mapped as far as is known */

struct process {
	uint64_t exec_id;
	uint32_t first, n; /* its segment, n 0: none */
	uint32_t pending;  /* mappings whose file's tables are being made */
	bool dirty;
};

struct tables {
	struct tables_maps fds;
	const struct proc_maps *maps;
	struct table_files *files;
	struct map *processes; /* pid -> struct process */
	struct slots *slots;
	struct wcbpf_mapent *mapents;
	struct wcbpf_mapent *next; /* the segment that is being made */
	size_t next_n, next_cap;
	uint32_t gen;
	size_t full_n;
	bool dirty; /* some process is */
};

int tables_new(const struct tables_maps *fds, const struct proc_maps *maps, int wake_fd, struct tables **ret)
{
	struct tables *t = calloc(1, sizeof(*t));
	int err;

	if (!t)
		return -ENOMEM;
	t->fds = *fds;
	t->maps = maps;
	t->mapents = mmap(NULL, WCBPF_MAPENTS_MAX * sizeof(*t->mapents), PROT_READ | PROT_WRITE, MAP_SHARED, fds->mapents, 0);
	err = t->mapents == MAP_FAILED ? -errno : 0;
	if (err)
		t->mapents = NULL;
	if (!err)
		err = map_new(&t->processes);
	if (!err)
		err = slots_new(WCBPF_MAPENTS_MAX, REST_NS, &t->slots);
	if (!err)
		err = table_files_new(fds, wake_fd, &t->files);
	if (err) {
		tables_free(t);
		return err;
	}
	*ret = t;
	return 0;
}

struct tables *tables_free(struct tables *t)
{
	uint64_t pid, p;

	if (!t)
		return NULL;
	table_files_free(t->files);
	for (size_t at = 0; t->processes && map_next(t->processes, &at, &pid, &p);)
		free((void *)(uintptr_t)p);
	map_free(t->processes);
	slots_free(t->slots);
	if (t->mapents)
		munmap(t->mapents, WCBPF_MAPENTS_MAX * sizeof(*t->mapents));
	free(t->next);
	free(t);
	return NULL;
}

static int mapping_ask(void *arg, const struct proc_mapping *map)
{
	struct tables *t = arg;
	struct table_place place;

	table_files_find(t->files, map, &place);
	return 0;
}

void tables_prepare(struct tables *t, uint32_t pid, uint64_t wait_ns)
{
	static const struct timespec pause = { .tv_nsec = PREPARE_POLL_NS };

	proc_maps_each(t->maps, pid, NOW, mapping_ask, t);
	for (uint64_t waited_ns = 0; waited_ns < wait_ns && table_files_busy(t->files); waited_ns += PREPARE_POLL_NS) {
		nanosleep(&pause, NULL);
		table_files_take(t->files);
	}
}

int tables_process(struct tables *t, uint32_t pid, uint64_t exec_id)
{
	struct process *p = map_get_ptr(t->processes, pid);

	if (!p) {
		p = calloc(1, sizeof(*p));
		if (!p || map_put_ptr(t->processes, pid, p)) {
			free(p);
			return -ENOMEM;
		}
	}
	p->exec_id = exec_id;
	p->dirty = t->dirty = true;
	return 0;
}

void tables_changed(struct tables *t, uint32_t pid)
{
	struct process *p = map_get_ptr(t->processes, pid);

	if (p)
		p->dirty = t->dirty = true;
}

void tables_exit(struct tables *t, uint32_t pid, uint64_t now_ns)
{
	struct process *p = map_remove_ptr(t->processes, pid);

	if (!p)
		return;
	bpf_map_delete_elem(t->fds.procs, &pid);
	slots_give(t->slots, p->first, p->n, now_ns);
	free(p);
}

/* One mapping of the segment that is being made. */
static int mapping_put(void *arg, const struct proc_mapping *map)
{
	struct tables *t = arg;
	struct wcbpf_mapent e = { .start = map->start, .end = map->end, .kind = WCBPF_MAP_NO_ROWS };
	struct table_place place;

	/* [vsyscall] is the kernel's, and the programs' search compares addresses by their difference's sign. */
	if (map->start > INT64_MAX)
		return 0;
	if (t->next_n == WCBPF_PROC_MAPENTS_MAX)
		return -ENOSPC;
	switch (table_files_find(t->files, map, &place)) {
	case TABLE_READY:
		e.kind = WCBPF_MAP_ROWS;
		e.bias = place.bias;
		e.dir0 = place.place.dir0;
		e.page0 = place.place.page0;
		e.page_n = place.place.page_n;
		break;
	case TABLE_PENDING:
		e.kind = WCBPF_MAP_PENDING;
		break;
	case TABLE_NONE:
		break;
	}
	if (VEC_RESERVE(t->next, t->next_cap, t->next_n + 1) < 0)
		return -ENOMEM;
	t->next[t->next_n++] = e;
	return 0;
}

/* Writes the segment; its generation last, so that a stale reader of this place sees that it is not its own. */
static void segment_write(struct tables *t, uint32_t first, uint32_t gen)
{
	struct wcbpf_mapent *at = t->mapents + first;

	for (size_t i = 0; i < t->next_n; i++)
		__atomic_store_n(&at[i].gen, 0, __ATOMIC_RELAXED);
	__atomic_thread_fence(__ATOMIC_SEQ_CST);
	memcpy(at, t->next, t->next_n * sizeof(*at)); /* gen is 0 there too */
	__atomic_thread_fence(__ATOMIC_SEQ_CST);
	for (size_t i = 0; i < t->next_n; i++)
		__atomic_store_n(&at[i].gen, gen, __ATOMIC_RELEASE);
}

static uint32_t pending_count(const struct tables *t)
{
	uint32_t n = 0;

	for (size_t i = 0; i < t->next_n; i++)
		n += t->next[i].kind == WCBPF_MAP_PENDING;
	return n;
}

/* A new segment for a process. -ENOSPC: too many mappings, of it or of all. */
static int publish(struct tables *t, uint32_t pid, struct process *p, uint64_t now_ns)
{
	struct wcbpf_proc value = { .exec_id = p->exec_id };
	int err;

	t->next_n = 0;
	err = proc_maps_each(t->maps, pid, NOW, mapping_put, t);
	if (err)
		return err;
	p->pending = pending_count(t);
	value.n = t->next_n;
	value.gen = ++t->gen ? t->gen : ++t->gen;
	err = value.n ? slots_take(t->slots, value.n, now_ns, &value.first) : 0;
	if (err)
		return err;
	segment_write(t, value.first, value.gen);
	if (bpf_map_update_elem(t->fds.procs, &pid, &value, BPF_ANY)) {
		slots_give(t->slots, value.first, value.n, now_ns);
		return -ENOSPC;
	}
	slots_give(t->slots, p->first, p->n, now_ns);
	p->first = value.first;
	p->n = value.n;
	return 0;
}

void tables_update(struct tables *t, uint64_t now_ns, void (*published)(void *arg, uint32_t pid), void *arg)
{
	bool news = table_files_take(t->files);
	uint64_t pid, value;

	if (!t->dirty && !news)
		return;
	t->dirty = false;
	for (size_t at = 0; map_next(t->processes, &at, &pid, &value);) {
		struct process *p = (struct process *)(uintptr_t)value;

		if (!p->dirty && !(news && p->pending))
			continue;
		p->dirty = false;
		if (publish(t, pid, p, now_ns)) {
			/* what it had is not true any more */
			bpf_map_delete_elem(t->fds.procs, &(uint32_t){ pid });
			t->full_n++;
		} else {
			published(arg, pid); /* what is pending ends a walk: no tables are taken for others */
		}
	}
}

void tables_stats(const struct tables *t, struct tables_stats *ret)
{
	table_files_stats(t->files, ret);
	ret->full_n += t->full_n;
}
