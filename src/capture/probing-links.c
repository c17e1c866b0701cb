/* SPDX-License-Identifier: (LGPL-2.1 OR BSD-2-Clause) */
/*
 * Links, made and removed by threads: one waits for no RCU grace period, the
 * other does nothing else.
 *
 * A process has a link of its own for each file, for the kernel attaches to one
 * process or to all that map the file; all would trap strangers at every call of
 * a libc function. A link of a process holds on through its execs. But the
 * program's own file is probed in whoever runs it, as long as no stranger does:
 * so children that live for a few ms have their probes from their first
 * instruction, and forked ones keep them.
 *
 * A link can't lose single addresses: it is replaced, and while there are two,
 * generations say whose hits count (is_twin() of the programs).
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "capture/internal.h"
#include "capture/probing-state.h"
#include "proc/proc.h"
#include "util/cleanup.h"
#include "util/log.h"
#include "util/vec.h"

#include <bpf/bpf.h>

/* ---- in a thread ---- */

static void link_told(const struct link_job *l, uint64_t took_ns)
{
	if (l->what == LINK_MAKE && !l->err)
		log_debug("%zu addresses of pid %u attached in %llu us", l->n[0] + l->n[1], l->pid,
			  (unsigned long long)(took_ns / 1000));
	else if (l->what == LINK_REMOVE)
		log_debug("a link detached in %llu us", (unsigned long long)(took_ns / 1000));
}

void link_run(void *arg, struct job *job)
{
	struct link_job *l = (struct link_job *)job;
	const struct site_place *places = l->places;
	uint64_t begin_ns = monotonic_ns();

	(void)arg;
	for (int returning = 0; returning < 2; returning++) {
		if (l->what == LINK_DROP && l->links[returning])
			site_link_drop(l->links[returning], l->offsets, l->offset_n);
		else if (l->what == LINK_REMOVE)
			l->links[returning] = site_link_free(l->links[returning]);
		else if (l->what == LINK_MAKE && l->n[returning] && !l->err)
			l->err = site_link_new(l->how, l->program, l->fd, l->pid, returning, places, l->n[returning],
					       &l->links[returning]);
		places += l->n[returning];
	}
	l->done_ns = monotonic_ns();
	link_told(l, l->done_ns - begin_ns);
}

void link_job_free(struct job *job)
{
	struct link_job *l = (struct link_job *)job;

	if (l->what != LINK_DROP) {
		site_link_free(l->links[0]);
		site_link_free(l->links[1]);
	}
	free(l->offsets);
	free(l->places);
	free(l);
}

/* ---- processes ---- */

struct probed_process *process_get(struct probing *p, uint32_t pid)
{
	struct probed_process *process = map_get_ptr(p->processes, pid);

	if (process)
		return process;
	process = calloc(1, sizeof(*process));
	if (!process)
		return NULL;
	process->pid = pid;
	if (map_put_ptr(p->processes, pid, process)) {
		free(process);
		return NULL;
	}
	return process;
}

void process_free(struct probed_process *process)
{
	for (size_t i = 0; i < process->n; i++)
		for (int k = 0; k < 2; k++) {
			site_link_free(process->v[i].links[k]);
			site_link_free(process->v[i].next[k]);
		}
	free(process->v);
	free(process->places);
	free(process);
}

/* Without memory that is done here. */
void links_remove(struct probing *p, struct site_link *links[2])
{
	struct link_job *l;

	if (!links[0] && !links[1])
		return;
	l = calloc(1, sizeof(*l));
	if (!l) {
		links[0] = site_link_free(links[0]);
		links[1] = site_link_free(links[1]);
		return;
	}
	l->what = LINK_REMOVE;
	l->links[0] = TAKE_PTR(links[0]);
	l->links[1] = TAKE_PTR(links[1]);
	p->closing_n++;
	worker_give(p->closer, &l->job);
}

static bool process_is_busy(const struct probed_process *process)
{
	for (size_t i = 0; i < process->n; i++)
		if (process->v[i].asked_n)
			return true;
	return false;
}

void process_remove(struct probing *p, struct probed_process *process)
{
	addresses_forget(p, process);
	for (size_t i = 0; i < process->n; i++) {
		links_remove(p, process->v[i].links);
		links_remove(p, process->v[i].next);
	}
	/* its number may be another's next */
	if (map_get_ptr(p->processes, process->pid) == process)
		map_remove(p->processes, process->pid, NULL);
	process->gone = true;
	if (!process_is_busy(process))
		process_free(process);
}

/* ---- asking ---- */

struct attached *attached_find(const struct probed_process *process, const struct probed_file *file)
{
	for (size_t i = 0; i < process->n; i++)
		if (process->v[i].file == file)
			return &process->v[i];
	return NULL;
}

/* Of several sites at one address, one event will do where programs find sites by address. */
static size_t places_unite(struct site_place *places, size_t n)
{
	size_t kept = 0;

	for (size_t i = 0; i < n; i++)
		if (!kept || places[kept - 1].offset != places[i].offset)
			places[kept++] = places[i];
	return kept;
}

static struct link_job *job_make(struct probing *p, struct probed_process *process, struct probed_file *file,
				 uint32_t generation)
{
	struct link_job *l = calloc(1, sizeof(*l));

	if (!l)
		return NULL;
	l->places = calloc(file->plan->site_n, sizeof(*l->places));
	if (!l->places) {
		free(l);
		return NULL;
	}
	l->how = p->o.how;
	l->program = p->fds.program;
	l->fd = file->fd;
	l->pid = process->pid;
	l->process = process;
	l->file = file;
	l->n[0] = probed_file_places(file, false, generation, l->places);
	if (p->o.how == SITES_ADDRESS)
		l->n[0] = places_unite(l->places, l->n[0]);
	l->n[1] = probed_file_places(file, true, generation, l->places + l->n[0]);
	return l;
}

static int job_give(struct probing *p, struct attached *a, struct link_job *l)
{
	uint64_t under_way = 0;

	if (l->replaces) {
		map_get(p->replaced, (uintptr_t)l->file, &under_way);
		if (map_put(p->replaced, (uintptr_t)l->file, under_way + 1)) {
			link_job_free(&l->job);
			return -ENOMEM;
		}
	}
	a->asked_n++;
	p->linking_n++;
	worker_give(p->linker, &l->job);
	return 0;
}

int link_ask(struct probing *p, struct probed_process *process, struct probed_file *file, uint64_t since_ns)
{
	bool replacing = map_get(p->replaced, (uintptr_t)file, NULL);
	struct link_job *l;

	if (probed_file_is_empty(file) || attached_find(process, file))
		return 0;
	if (VEC_RESERVE(process->v, process->cap, process->n + 1))
		return -ENOMEM;
	process->v[process->n] = (struct attached){ .file = file };
	l = job_make(p, process, file, file->generation + replacing);
	if (!l)
		return -ENOMEM;
	l->replaces = replacing;
	l->since_ns = since_ns;
	return job_give(p, &process->v[process->n++], l);
}

/* ---- replacing ---- */

/* The offsets at which nothing is to be probed any more. */
static size_t offsets_off(const struct probed_file *file, uint64_t *ret)
{
	const struct probe_plan *plan = file->plan;
	size_t n = 0;

	for (size_t i = 0; i < plan->site_n;) {
		uint64_t offset = plan->sites[i].file_offset;
		bool off = true;

		for (; i < plan->site_n && plan->sites[i].file_offset == offset; i++)
			off = off && file->off[i];
		if (off)
			ret[n++] = offset;
	}
	return n;
}

/* Perf events go one by one. */
static int events_drop(struct probing *p, struct attached *a)
{
	struct link_job *l = calloc(1, sizeof(*l));

	if (l)
		l->offsets = calloc(a->file->plan->site_n, sizeof(*l->offsets));
	if (!l || !l->offsets) {
		free(l);
		return -ENOMEM;
	}
	l->what = LINK_DROP;
	memcpy(l->links, a->links, sizeof(l->links));
	l->offset_n = offsets_off(a->file, l->offsets);
	p->closing_n++;
	worker_give(p->closer, &l->job);
	return 0;
}

static int links_replace(struct probing *p, struct probed_file *file)
{
	uint64_t key, value;
	int err = 0;

	for (size_t at = 0; !err && map_next(p->processes, &at, &key, &value);) {
		struct probed_process *process = (void *)(uintptr_t)value;
		struct attached *a = attached_find(process, file);
		struct link_job *l;

		if (!a || a->refused)
			continue;
		if (p->o.how != SITES_MULTI) {
			err = events_drop(p, a);
			continue;
		}
		l = job_make(p, process, file, file->generation + 1);
		if (!l)
			return -ENOMEM;
		l->replaces = true;
		err = job_give(p, a, l);
	}
	return err;
}

int links_replace_due(struct probing *p)
{
	uint64_t key, value;
	int err = 0;

	for (size_t at = 0; !err && map_next(p->files, &at, &key, &value);) {
		struct probed_file *file = (void *)(uintptr_t)value;

		if (!file || !file->replace_due || map_get(p->replaced, (uintptr_t)file, NULL))
			continue;
		file->replace_due = false;
		err = links_replace(p, file);
	}
	return err;
}

/* All links of a file have their successors: from now on those count, and the old ones go. */
static int replaced_flip(struct probing *p, struct probed_file *file)
{
	uint64_t key, value;
	int err = 0;

	map_remove(p->replaced, (uintptr_t)file, NULL);
	file->generation++;
	for (size_t i = 0; i < file->plan->site_n; i++)
		if (!file->off[i] && site_write(p, file, i, file->generation))
			err = -EIO;
	for (size_t at = 0; map_next(p->processes, &at, &key, &value);) {
		struct attached *a = attached_find((void *)(uintptr_t)value, file);

		if (!a || (!a->refused && !a->next[0] && !a->next[1] && !probed_file_is_empty(file)))
			continue;
		links_remove(p, a->links);
		memcpy(a->links, a->next, sizeof(a->links));
		memset(a->next, 0, sizeof(a->next));
	}
	return err;
}

/* ---- taking ---- */

static void refused_tell(struct probing *p, struct probed_file *file, int err)
{
	p->refused_n++;
	if (file->refused)
		return;
	file->refused = true;
	if (err == -EMFILE || err == -ENFILE)
		probing_tell(p, true, "%s: choke points not attached: too many open files: raise the limit (ulimit -n) and try again",
			     file->path);
	else if (p->o.how == SITES_MULTI && err == -ENOENT)
		probing_tell(p, true, "%s: choke points not attached: the file can't be found any more", file->path);
	else
		probing_tell(p, true, "%s: choke points not attached: the kernel refused (%s)", file->path, strerror(-err));
}

static void late_note(struct probing *p, const struct link_job *l)
{
	uint64_t done_ns = l->done_ns + p->clock_offset_ns;

	if (!l->since_ns || done_ns <= l->since_ns)
		return;
	p->late_n++;
	if (done_ns - l->since_ns > p->late_max_ns)
		p->late_max_ns = done_ns - l->since_ns;
}

static void made_take(struct probing *p, struct link_job *l)
{
	struct attached *a = attached_find(l->process, l->file);
	struct site_link **to;

	if (!a)
		return;
	a->asked_n--;
	if (l->process->gone) {
		links_remove(p, l->links);
		if (!process_is_busy(l->process))
			process_free(l->process);
		return;
	}
	if (l->err) {
		a->refused = true;
		if (l->err != -ESRCH) /* it has ended meanwhile */
			refused_tell(p, l->file, l->err);
		return;
	}
	to = l->replaces ? a->next : a->links;
	to[0] = TAKE_PTR(l->links[0]);
	to[1] = TAKE_PTR(l->links[1]);
	a->done_ns = l->done_ns;
	late_note(p, l);
}

int links_take(struct probing *p)
{
	struct job *job;
	int err = 0;

	while ((job = worker_take(p->linker))) {
		struct link_job *l = (struct link_job *)job;
		uint64_t under_way = 0;

		p->linking_n--;
		made_take(p, l);
		if (l->replaces && map_get(p->replaced, (uintptr_t)l->file, &under_way)) {
			if (under_way > 1)
				map_put(p->replaced, (uintptr_t)l->file, under_way - 1);
			else if (replaced_flip(p, l->file))
				err = -EIO;
		}
		link_job_free(job);
	}
	while ((job = worker_take(p->closer))) {
		p->closing_n--;
		link_job_free(job);
	}
	return err;
}
