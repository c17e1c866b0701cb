/* SPDX-License-Identifier: (LGPL-2.1 OR BSD-2-Clause) */
/*
 * The loop's side: which file is mapped where, and so what is to be attached.
 * Three threads do what takes long: reading files, attaching, detaching.
 */
#include "capture/probing.h"

#include <dirent.h>
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "capture/internal.h"
#include "capture/probing-state.h"
#include "proc/proc.h"
#include "util/cleanup.h"
#include "util/log.h"
#include "util/parse.h"

#define NOW (UINT64_MAX - 1) /* what is mapped as far as is known */
#define LATE_NS 50000000
#define EVERYONE 0u	     /* the pid that stands for all */
#define ANCESTORS_MAX 24
#define WAIT_POLL_NS 500000
#define LINKER_NICE 0 /* who appears is to be probed at once */
#define OTHERS_NICE 2

void probing_tell(struct probing *p, bool caveat, const char *fmt, ...)
{
	char line[400];
	va_list args;

	va_start(args, fmt);
	vsnprintf(line, sizeof(line), fmt, args);
	va_end(args);
	p->o.tell(p->o.arg, caveat ? PROBING_CAVEAT : PROBING_NOTE, line);
}

static void file_run(void *arg, struct job *job)
{
	(void)arg;
	probed_file_resolve((struct probed_file *)job);
}

static int start(struct probing *p)
{
	struct map **const maps[] = { &p->files, &p->processes, &p->replaced, &p->functions };
	int err = 0;

	for (size_t i = 0; !err && i < sizeof(maps) / sizeof(maps[0]); i++)
		err = map_new(maps[i]);
	p->points = calloc(1, sizeof(*p->points));
	if (!err && (!p->points || !process_get(p, EVERYONE))) /* made now: the map is walked later */
		err = -ENOMEM;
	p->point_n = p->point_cap = p->site_n = 1; /* [0] is none */
	if (!err)
		err = worker_new(file_run, NULL, OTHERS_NICE, p->o.wake_fd, &p->resolver);
	if (!err)
		err = worker_new(link_run, NULL, LINKER_NICE, p->o.wake_fd, &p->linker);
	if (!err)
		err = worker_new(link_run, NULL, OTHERS_NICE, -1, &p->closer);
	return err;
}

int probing_new(const struct probing_options *o, struct probing **ret)
{
	struct probing *p = calloc(1, sizeof(*p));
	int err;

	if (!p)
		return -ENOMEM;
	p->o = *o;
	p->fds = *o->fds;
	p->o.fds = NULL;
	p->park_stacks = o->stacks;
	p->spent_ns = -PROBING_SAVED_NS;
	err = start(p);
	if (err) {
		probing_free(p);
		return err;
	}
	*ret = p;
	return 0;
}

static void job_leave(struct job *job)
{
	(void)job; /* the map of files has it */
}

struct probing *probing_free(struct probing *p)
{
	uint64_t key, value;

	if (!p)
		return NULL;
	worker_free(p->linker, link_job_free);
	worker_free(p->closer, link_job_free);
	worker_free(p->resolver, job_leave);
	for (size_t at = 0; p->processes && map_next(p->processes, &at, &key, &value);)
		process_free((void *)(uintptr_t)value);
	for (size_t at = 0; p->files && map_next(p->files, &at, &key, &value);)
		probed_file_free((void *)(uintptr_t)value);
	map_free(p->files);
	map_free(p->processes);
	map_free(p->replaced);
	map_free(p->functions);
	free(p->points);
	free(p->ends);
	free(p);
	return NULL;
}

/* ---- files ---- */

/* NULL in the map: a file that no definition is meant for. */
static int file_get(struct probing *p, const struct proc_file *source, bool program, struct probed_file **ret)
{
	struct probed_file *file = NULL;
	uint64_t known;
	int err;

	if (map_get(p->files, (uintptr_t)source, &known)) {
		*ret = (void *)(uintptr_t)known;
		return 0;
	}
	if (probe_set_concerns(p->o.set, source->path, program)) {
		err = probed_file_new(p->o.set, source, program, &file);
		if (err)
			return err;
	}
	err = map_put_ptr(p->files, (uintptr_t)source, file);
	if (err) {
		probed_file_free(file);
		return err;
	}
	if (file) {
		p->resolving_n++;
		worker_give(p->resolver, &file->job);
	}
	*ret = file;
	return 0;
}

/* A process that is traced, or will be for its parents' sake. */
static bool is_ours(const struct probing *p, uint32_t pid)
{
	struct proc_stat stat;

	for (int i = 0; i < ANCESTORS_MAX; i++) {
		if (p->o.is_traced(p->o.arg, pid) || map_get(p->processes, pid, NULL))
			return true;
		if (!p->o.inherit || proc_stat_read(pid, &stat) || stat.ppid <= 1)
			return false;
		pid = stat.ppid;
	}
	return false;
}

/* Does somebody run that file who is not traced? */
static bool strangers_run(const struct probing *p, const struct probed_file *file)
{
	struct stat ours, theirs;
	struct dirent *d;
	bool found = false;
	DIR *proc;

	if (fstat(file->fd, &ours))
		return true;
	proc = opendir("/proc");
	if (!proc)
		return true;
	while (!found && (d = readdir(proc))) {
		char path[64];
		uint32_t pid;

		if (parse_u32(d->d_name, &pid))
			continue;
		snprintf(path, sizeof(path), "/proc/%u/exe", pid);
		found = !stat(path, &theirs) && theirs.st_dev == ours.st_dev && theirs.st_ino == ours.st_ino && !is_ours(p, pid);
	}
	closedir(proc);
	return found;
}

static int file_take(struct probing *p, struct probed_file *file)
{
	uint64_t key, value;
	int err;

	file->done = true;
	if (file->err) {
		probing_tell(p, true, "%s: its choke points can't be found: %s", file->path, strerror(-file->err));
		return 0;
	}
	err = sites_number(p, file);
	if (err)
		return err;
	file->everyone = p->filter_drops_threads || p->o.all ||
			 (file->program && p->o.how != SITES_ADDRESS && !strangers_run(p, file));
	if (file->plan->site_n)
		log_debug("%s: %zu choke points at %zu addresses, probed in %s", file->path, file->plan->point_n, file->plan->site_n,
		  file->everyone ? "whoever runs it" : "each process");
	for (size_t at = 0; map_next(p->processes, &at, &key, &value);)
		((struct probed_process *)(uintptr_t)value)->dirty = true;
	p->dirty = true;
	if (!file->everyone && !probed_file_is_empty(file))
		p->fds.rt->fork_wakes = 1;
	return 0;
}

static int files_take(struct probing *p)
{
	struct job *job;
	int err = 0;

	while (!err && (job = worker_take(p->resolver))) {
		p->resolving_n--;
		err = file_take(p, (struct probed_file *)job);
	}
	return err;
}

/* ---- processes ---- */

static bool is_program_of(uint32_t pid, const char *path)
{
	char link[64], target[4096];
	ssize_t n;

	snprintf(link, sizeof(link), "/proc/%u/exe", pid);
	n = readlink(link, target, sizeof(target) - 1);
	if (n < 0)
		return false;
	target[n] = 0;
	if (n > 10 && !strcmp(target + n - 10, " (deleted)"))
		target[n - 10] = 0;
	return !strcmp(target, path);
}

static int go_tell(struct probing *p, struct probed_process *process)
{
	const struct probe_plan *plan = process->go->plan;

	process->had_go = true;
	return p->go_off ? 0 : p->o.go(p->o.arg, process->pid, plan->go_reasons, plan->go_reason_n);
}

/* The process runs a Go program that is followed. */
static int go_note(struct probing *p, struct probed_process *process, const struct probed_file *file,
		   const struct proc_mapping *map)
{
	uint64_t vaddr;

	if (!file->layout || !file->plan->follows_go || process->go == file || p->go_off || objfile_vaddr_of_offset(file->objfile, map->pgoff, &vaddr))
		return 0;
	process->go = file;
	process->go_bias = map->start - vaddr;
	return go_tell(p, process);
}

struct looking {
	struct probing *p;
	struct probed_process *process;
	int err;
};

/* Asks for what a mapping's file has, or attaches it. */
static int mapping_look(void *arg, const struct proc_mapping *map)
{
	struct looking *g = arg;
	struct probing *p = g->p;
	struct probed_process *to = g->process;
	struct probed_file *file = NULL;
	uint64_t since_ns = map->from_ns;

	if (!map->file)
		return 0;
	if (!map_get(p->files, (uintptr_t)map->file, NULL))
		g->err = file_get(p, map->file, is_program_of(to->pid, map->file->path), &file);
	else
		file = map_get_ptr(p->files, (uintptr_t)map->file);
	if (g->err || !file || !file->done || file->err)
		return g->err;
	g->err = go_note(p, to, file, map);
	if (file->everyone)
		to = map_get_ptr(p->processes, EVERYONE);
	if (since_ns < p->begin_ns)
		since_ns = p->begin_ns;
	if (!g->err)
		g->err = link_ask(p, to, file, since_ns);
	return g->err;
}

static int process_look(struct probing *p, struct probed_process *process)
{
	struct looking g = { p, process, 0 };
	int err;

	process->dirty = false;
	if (process->pid == EVERYONE)
		return 0;
	err = proc_maps_each(p->o.maps, process->pid, NOW, mapping_look, &g);
	if (!g.err && !err)
		err = addresses_refresh(p, process);
	return g.err ? g.err : err == -ENOMEM ? err : 0;
}

void probing_changed(struct probing *p, uint32_t pid)
{
	struct probed_process *process = process_get(p, pid);

	if (process)
		p->dirty = process->dirty = true;
}

void probing_forked(struct probing *p, uint32_t pid, uint32_t parent, uint64_t time_ns)
{
	const struct probed_process *from = map_get_ptr(p->processes, parent);
	struct probed_process *process = process_get(p, pid);

	if (process && from)
		addresses_copy(p, from, process);
	for (size_t i = 0; process && from && i < from->n; i++)
		if (link_ask(p, process, from->v[i].file, time_ns))
			return;
	if (process)
		p->dirty = process->dirty = true;
}

void probing_moved(struct probing *p, uint32_t pid)
{
	struct probed_process *process = map_get_ptr(p->processes, pid);

	if (process)
		process_remove(p, process);
	probing_changed(p, pid);
}

void probing_exited(struct probing *p, uint32_t pid)
{
	struct probed_process *process = map_get_ptr(p->processes, pid);

	if (process)
		process_remove(p, process);
}

void probing_expect(struct probing *p, uint32_t pid, const struct proc_file *source, bool program)
{
	struct probed_process *process = process_get(p, pid), *to;
	struct probed_file *file = NULL;

	if (!process || file_get(p, source, program, &file) || !file)
		return;
	while (!file->done && p->resolving_n) {
		struct job *job = worker_wait(p->resolver);

		if (!job)
			return;
		p->resolving_n--;
		if (file_take(p, (struct probed_file *)job))
			return;
	}
	if (file->err)
		return;
	to = file->everyone ? map_get_ptr(p->processes, EVERYONE) : process;
	link_ask(p, to, file, 0);
}

/* ---- while recording ---- */

static int dirty_look(struct probing *p)
{
	uint64_t key, value;
	int err = 0;

	if (!p->dirty)
		return 0;
	p->dirty = false;
	for (size_t at = 0; !err && map_next(p->processes, &at, &key, &value);) {
		struct probed_process *process = (void *)(uintptr_t)value;

		if (process->dirty)
			err = process_look(p, process);
	}
	return err;
}

void probing_ran(struct probing *p, const struct wcbpf_seed *s)
{
	struct probed_process *process = process_get(p, s->tgid);

	if (!process)
		return;
	process->list_due = true;
	process->kernel_tgid = s->kernel_tgid;
	process->life = s->life;
	process->exec_id = s->exec_id;
}

/* Once its runtime is probed: what happens to its goroutines while they are listed is told then. */
static int process_list(struct probing *p, struct probed_process *process)
{
	const struct probed_process *has = process->go->everyone ? map_get_ptr(p->processes, EVERYONE) : process;
	const struct attached *a = attached_find(has, process->go);
	struct probing_listed l = { .pid = process->pid, .kernel_tgid = process->kernel_tgid, .life = process->life,
				    .exec_id = process->exec_id, .bias = process->go_bias, .plan = process->go->plan };
	uint64_t text_end;
	int err;

	if (!a || !a->links[0])
		return 0;
	objfile_go_text(process->go->go, &l.text, &text_end);
	l.text_n = text_end - l.text;
	l.since_ns = a->done_ns + p->clock_offset_ns;
	if (l.since_ns < p->begin_ns)
		l.since_ns = p->begin_ns;
	err = p->o.list(p->o.arg, &l);
	process->list_due = err == -EAGAIN;
	return err;
}

static int lists_look(struct probing *p)
{
	static const uint64_t one = 1;
	uint64_t key, value;
	int err = 0;

	for (size_t at = 0; !err && !p->go_off && map_next(p->processes, &at, &key, &value);) {
		struct probed_process *process = (void *)(uintptr_t)value;

		if (process->list_due && process->go)
			err = process_list(p, process);
	}
	if (err != -EAGAIN)
		return err;
	return write(p->o.wake_fd, &one, sizeof(one)) < 0 && errno != EAGAIN ? -errno : 0;
}

int probing_update(struct probing *p, uint64_t now_ns, uint64_t begin_ns)
{
	int err;

	p->begin_ns = begin_ns;
	if (!p->looked_ns)
		p->looked_ns = begin_ns;
	p->clock_offset_ns = (int64_t)(now_ns - monotonic_ns());
	err = files_take(p);
	if (!err)
		err = dirty_look(p);
	if (!err)
		err = links_take(p);
	if (!err && begin_ns)
		err = lists_look(p);
	if (!err && begin_ns)
		err = budget_look(p, now_ns, true);
	return err == -ENOMEM ? err : 0;
}

/* Definitions that no file had anything for. */
static void missing_tell(struct probing *p, bool ahead)
{
	_cleanup_(freep) const struct probe_plan **plans = calloc(map_n(p->files) + 1, sizeof(*plans));
	struct probe_note *notes = NULL;
	uint64_t key, value;
	size_t n = 0, note_n = 0;

	for (size_t at = 0; plans && map_next(p->files, &at, &key, &value);) {
		const struct probed_file *file = (void *)(uintptr_t)value;

		if (file && file->done && file->plan)
			plans[n++] = file->plan;
	}
	if (!plans || probe_set_missing(p->o.set, plans, n, &notes, &note_n))
		return;
	for (size_t i = 0; i < note_n; i++) {
		if (notes[i].severity == PROBE_CAVEAT)
			p->o.tell(p->o.arg, ahead ? PROBING_AHEAD : PROBING_CAVEAT, notes[i].text);
		else if (!ahead)
			p->o.tell(p->o.arg, PROBING_NOTE, notes[i].text);
	}
	probe_notes_free(notes, note_n);
}

int probing_wait(struct probing *p, uint64_t wait_ns)
{
	static const struct timespec pause = { .tv_nsec = WAIT_POLL_NS };
	uint64_t until_ns = monotonic_ns() + wait_ns;
	int err = 0;

	while (!err && monotonic_ns() < until_ns) {
		err = files_take(p);
		if (!err)
			err = dirty_look(p);
		if (!err)
			err = links_take(p);
		if (!p->resolving_n && !p->linking_n)
			break;
		nanosleep(&pause, NULL);
	}
	if (!err && !p->resolving_n && map_n(p->files))
		missing_tell(p, true);
	return err == -ENOMEM ? err : 0;
}

void probing_execed(struct probing *p, uint32_t pid)
{
	struct probed_process *process = map_get_ptr(p->processes, pid);

	if (!process)
		return;
	process->go = NULL;
	process->list_due = false;
	addresses_forget(p, process);
}

bool probing_go_over(struct probing *p, uint32_t pid)
{
	struct probed_process *process = map_get_ptr(p->processes, pid);
	bool had = process && process->had_go;

	if (process)
		process->had_go = process->go; /* a program that it has by now */
	return had;
}

int probing_go_again(struct probing *p, uint32_t pid)
{
	struct probed_process *process = map_get_ptr(p->processes, pid);

	return process && process->go ? go_tell(p, process) : 0;
}

bool probing_go_is_off(const struct probing *p)
{
	return p->go_off;
}

int probing_tell_again(struct probing *p)
{
	uint64_t key, value;
	int err = 0;

	for (size_t i = 1; i < p->point_n && !err; i++)
		if (p->points[i].meaning)
			err = p->o.point(p->o.arg, i, p->points[i].meaning);
	for (size_t at = 0; !err && map_next(p->processes, &at, &key, &value);) {
		struct probed_process *process = (void *)(uintptr_t)value;

		if (process->go)
			err = go_tell(p, process);
	}
	return err;
}

const char *probing_go_function(struct probing *p, uint32_t pid, uint64_t start_pc)
{
	const struct probed_process *process = map_get_ptr(p->processes, pid);
	struct objfile_go_function f;

	if (!process || !process->go || objfile_go_function(process->go->go, start_pc - process->go_bias, &f))
		return NULL;
	return f.name;
}

/* ---- the end ---- */

static int ends_fill(struct probing *p)
{
	p->ends = calloc(p->point_n, sizeof(*p->ends));
	if (!p->ends)
		return -ENOMEM;
	for (size_t i = 1; i < p->point_n; i++) {
		const struct point *point = &p->points[i];

		p->ends[i] = (struct probing_point){ .name = point->name, .path = point->file->path,
						     .entry_n = point->last.entry_n, .exit_n = point->last.exit_n,
						     .other_n = point->last.other_n, .stepped_n = point->last.stepped_n,
						     .value_n = point->value_n, .cost_ns = point->cost_ns,
						     .detached_ns = point->detached_ns };
		log_debug("%s: %llu entries, %llu exits, %llu by others, %llu ns", point->name,
			  (unsigned long long)point->last.entry_n, (unsigned long long)point->last.exit_n,
			  (unsigned long long)point->last.other_n, (unsigned long long)point->cost_ns);
	}
	return 0;
}

/* Some ms are what it takes; more may hide what was asked for. */
static void late_tell(struct probing *p)
{
	if (p->late_n)
		probing_tell(p, p->late_max_ns > LATE_NS, "choke points were attached to %zu files of processes that ran already, up to %llu us after "
			     "they had been mapped: what was called before is not seen", p->late_n,
			     (unsigned long long)(p->late_max_ns / 1000));
}

void probing_end(struct probing *p, uint64_t now_ns)
{
	uint64_t key, value;

	files_take(p);
	budget_look(p, now_ns, false);
	ends_fill(p);
	late_tell(p);
	/* what is not found by now is of no use any more */
	p->resolver = worker_free(p->resolver, job_leave);
	if (p->resolving_n)
		probing_tell(p, true, "%zu files had not been searched for choke points when recording ended", p->resolving_n);
	else
		missing_tell(p, false);
	worker_finish(p->linker);
	links_take(p);
	/* all at once, in this thread and the other's: each waits for grace periods */
	for (size_t at = 0; map_next(p->processes, &at, &key, &value);) {
		struct probed_process *process = (void *)(uintptr_t)value;

		for (size_t i = 0; i < process->n; i++) {
			links_remove(p, process->v[i].links);
			links_remove(p, process->v[i].next);
		}
	}
	worker_finish(p->closer);
	links_take(p);
}

const struct probing_point *probing_points(const struct probing *p, size_t *ret_n)
{
	*ret_n = p->ends ? p->point_n - 1 : 0;
	return p->ends ? p->ends + 1 : NULL;
}
