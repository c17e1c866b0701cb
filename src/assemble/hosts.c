/* SPDX-License-Identifier: (LGPL-2.1 OR BSD-2-Clause) */
/*
 * An engine that runs a command in a container starts a runtime (runc), which
 * sets the container up and becomes, in a process further down, the container's
 * first program: an init of the engine's own (.init), or the command. The split
 * into these needs no help from any of them: programs are told apart by name.
 * The phases bear wcprof's names where they mean the same:
 *
 *   exec.containerStart   from the op's begin to the first program
 *   exec.runtimeStart     the runtime, until it becomes the container's first program
 *   exec.processRun       the rest; in it
 *     exec.initStart, exec.processSpawn   the init until its fork, then until the command
 *     exec.workload                       the command's process
 *     exec.processExit                    the rest; in it
 *       exec.reap         until the last of the processes is gone
 *       exec.stdioDrain   until the op is over
 *
 * An op may also start helpers before. The execution is then the process that
 * has a runtime, else the one that lived longest.
 */
#include "assemble/hosts.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "assemble/threads.h"
#include "util/vec.h"

/*
 * Phases are made anew for each dump. In all of them they have the same ids, which no op has that begins meanwhile;
 * still numbers that a double can hold.
 */
#define PHASE_IDS (1ull << 48)
#define PHASES_MAX 16

enum program_kind { PROGRAM_RUNTIME, PROGRAM_INIT, PROGRAM_COMMAND };

struct program {
	uint64_t exec_ns;
	uint32_t process;
	uint8_t kind; /* enum program_kind */
};

/* A process that the engine itself forked. */
struct root {
	uint64_t fork_ns;
	uint32_t process, from_op;
};

struct host {
	struct root *roots;
	struct program *programs; /* in the order of their begin */
	size_t root_n, root_cap, program_n, program_cap;
	uint32_t op;
};

/* Of a host whose phases are being made: relative times. */
struct run {
	const struct host *host;
	const struct root *root;
	const struct program *first, *init, *command;
	uint32_t parent; /* of its phases */
	uint32_t phase_n;
	int64_t end_ns, last_exit_ns;
	bool open, any_alive;
};

/* Sets of programs for which a shell script or a person would never use the same name. */
static const char *const runtimes[] = {
	"runc", "crun", "youki", "runsc", "kata-runtime", "buildkit-runc", "docker-runc", "nvidia-container-runtime",
	"conmon", "containerd-shim", "containerd-shim-runc-v2", "containerd-shim-runc-v1", NULL,
};
static const char *const inits[] = { ".init", "docker-init", "tini", "dumb-init", "catatonit", NULL };

static bool is_any(const char *const *names, const char *name)
{
	for (; *names; names++) {
		if (strcmp(*names, name) == 0)
			return true;
	}
	return false;
}

static const char *base_name(const char *path)
{
	const char *slash = strrchr(path, '/');

	return slash ? slash + 1 : path;
}

/* comm is cut to 15 bytes, and of a program run by its file descriptor no name at all: so argv is asked too. */
static enum program_kind program_kind(const struct wcbpf_exec *e)
{
	char comm[WCBPF_COMM_LEN + 1] = { 0 }, argv[256] = { 0 };
	size_t n = e->argv_len < sizeof(argv) - 2 ? e->argv_len : sizeof(argv) - 2;
	const char *name, *second;

	memcpy(comm, e->comm, WCBPF_COMM_LEN);
	memcpy(argv, e->argv, n);
	name = base_name(argv);
	second = argv + strlen(argv) + 1;
	if (is_any(runtimes, comm) || is_any(runtimes, name) || strncmp(comm, "runc:[", 6) == 0)
		return PROGRAM_RUNTIME;
	if (is_any(inits, comm) || is_any(inits, name))
		return PROGRAM_INIT;
	/* runc becomes its own "init" through /proc/self/exe, or a descriptor of a copy of itself. */
	if (strncmp(argv, "/proc/self/", 11) == 0 && second < argv + sizeof(argv) && strcmp(second, "init") == 0)
		return PROGRAM_RUNTIME;
	return PROGRAM_COMMAND;
}

int assemble_host_begin(struct assemble *a, uint32_t op)
{
	if (!a->host_n) {
		if (VEC_RESERVE(a->hosts, a->host_cap, 1) < 0)
			return -ENOMEM;
		a->hosts[a->host_n++] = (struct host){ 0 };
	}
	if (VEC_RESERVE(a->hosts, a->host_cap, a->host_n + 1) < 0 || map_put(a->host_ops, op, a->host_n) < 0)
		return -ENOMEM;
	a->hosts[a->host_n++] = (struct host){ .op = op };
	return 0;
}

/* The nearest op that hosts, from this one outwards. 0: none. */
static uint32_t host_of(const struct assemble *a, uint32_t op)
{
	uint64_t host = 0;

	for (; op && a->ops[op].thread; op = a->m->ops[op].parent) {
		if (map_get(a->host_ops, op, &host))
			return (uint32_t)host;
	}
	return 0;
}

int assemble_host_fork(struct assemble *a, uint32_t process, uint32_t from_op, uint64_t time_ns)
{
	uint32_t host = map_n(a->host_ops) ? host_of(a, from_op) : 0;
	struct host *h;

	if (!host) {
		a->processes[process].host = a->processes[a->processes[process].parent].host;
		return 0;
	}
	a->processes[process].host = host;
	h = &a->hosts[host];
	if (VEC_RESERVE(h->roots, h->root_cap, h->root_n + 1) < 0)
		return -ENOMEM;
	h->roots[h->root_n++] = (struct root){ .process = process, .from_op = from_op, .fork_ns = time_ns };
	return 0;
}

int assemble_host_exec(struct assemble *a, uint32_t process, const struct wcbpf_exec *e)
{
	uint32_t host = a->processes[process].host;
	struct host *h;

	if (!host)
		return 0;
	h = &a->hosts[host];
	if (VEC_RESERVE(h->programs, h->program_cap, h->program_n + 1) < 0)
		return -ENOMEM;
	h->programs[h->program_n++] = (struct program){ .process = process, .exec_ns = e->head.time_ns,
							.kind = (uint8_t)program_kind(e) };
	return 0;
}

/* ---- phases ---- */

/* Is the process the root's, or one that descends from it? */
static bool is_under(const struct assemble *a, uint32_t process, uint32_t root)
{
	/* Parents were there before, so no chain comes back; and none is longer than all. */
	for (size_t i = 0; process && process != root && i < a->m->process_n; i++)
		process = a->processes[process].parent;
	return process == root;
}

/*
 * A runtime starts itself again ("runc init") for what becomes the container's first program. Its hooks and helpers are
 * its own children.
 */
static bool is_released(const struct assemble *a, const struct run *r, const struct program *p)
{
	for (const struct program *before = r->host->programs; before < p; before++) {
		if (before != r->first && before->kind == PROGRAM_RUNTIME && is_under(a, p->process, before->process) &&
		    is_under(a, before->process, r->root->process))
			return true;
	}
	return false;
}

/* The next program from p on, but runtimes, in that process or one that descends from it. NULL: none. */
static const struct program *program_next(const struct assemble *a, const struct run *r, const struct program *p,
					  uint32_t process, bool released)
{
	for (; p < r->host->programs + r->host->program_n; p++) {
		if (p->kind != PROGRAM_RUNTIME && is_under(a, p->process, process) &&
		    (!released || is_released(a, r, p)))
			return p;
	}
	return NULL;
}

static void run_programs(const struct assemble *a, struct run *r)
{
	const struct host *h = r->host;
	const struct program *released;

	for (size_t i = 0; i < h->program_n && !r->first; i++)
		r->first = is_under(a, h->programs[i].process, r->root->process) ? &h->programs[i] : NULL;
	if (!r->first)
		return;
	/* Not all runtimes do so. */
	released = program_next(a, r, r->first, r->root->process, true) ?:
		   program_next(a, r, r->first, r->root->process, false);
	if (released && released->kind == PROGRAM_INIT)
		r->init = released;
	r->command = r->init ? program_next(a, r, released + 1, released->process, false) : released;
}

static uint64_t lived_ns(const struct assemble *a, const struct root *r)
{
	uint64_t death_ns = a->processes[r->process].death_ns;

	return (death_ns ?: UINT64_MAX) - r->fork_ns;
}

/* The root that is the execution; *ret blank if nothing was executed. */
static void run_find(const struct assemble *a, const struct host *h, struct run *ret)
{
	*ret = (struct run){ .host = h };
	for (size_t i = 0; i < h->root_n; i++) {
		struct run r = { .host = h, .root = &h->roots[i] };
		bool runtime, best_runtime = ret->first && ret->first->kind == PROGRAM_RUNTIME;

		run_programs(a, &r);
		if (!r.first)
			continue;
		runtime = r.first->kind == PROGRAM_RUNTIME;
		if (!ret->first || (runtime && !best_runtime) ||
		    (runtime == best_runtime && lived_ns(a, r.root) > lived_ns(a, ret->root)))
			*ret = r;
	}
}

static void run_end_find(const struct assemble *a, struct run *r)
{
	const struct model_op *o = &a->m->ops[r->parent];
	uint32_t host = (uint32_t)(r->host - a->hosts);

	r->open = o->open;
	r->end_ns = o->end_ns;
	r->last_exit_ns = o->start_ns;
	for (uint32_t p = 1; p < a->m->process_n; p++) {
		int64_t death_ns = assemble_relative(a, a->processes[p].death_ns);

		if (a->processes[p].host != host || !is_under(a, p, r->root->process))
			continue;
		if (!a->processes[p].death_ns)
			r->any_alive = true;
		else if (death_ns > r->last_exit_ns)
			r->last_exit_ns = death_ns;
	}
}

/* From start to end, 0: to the op's. What would begin after that is none. *ret: its op, 0: none or no place. */
static int phase_add(struct assemble *a, struct run *r, uint32_t parent, const char *class, enum work_type work,
		     int64_t start_ns, int64_t end_ns, uint32_t *ret)
{
	uint32_t op, class_id;
	struct model_op *o;

	*ret = 0;
	if (!parent || start_ns > r->end_ns)
		return 0;
	if (strtab_intern(a->m->strings, class, &class_id) < 0 ||
	    assemble_op_begin(a, OP_EXEC_PHASE, a->o.begin_ns + (uint64_t)start_ns, &op) < 0)
		return -ENOMEM;
	if (!op)
		return 0;
	a->ops[op] = (struct op_state){ .thread = a->ops[r->parent].thread, .flags = OP_ASIDE };
	o = &a->m->ops[op];
	if (a->o.live)
		o->id = PHASE_IDS + (uint64_t)(r->host - a->hosts) * PHASES_MAX + r->phase_n++;
	o->parent = parent;
	o->class_id = class_id;
	o->work = (uint8_t)work;
	o->pid = a->m->ops[r->parent].pid;
	o->open = !end_ns && r->open;
	o->clipped = o->open ? CLIPPED_AFTER : 0;
	o->end_ns = end_ns && end_ns < r->end_ns ? end_ns : r->end_ns;
	o->end_ns = o->end_ns > start_ns ? o->end_ns : start_ns;
	*ret = op;
	return 0;
}

/* When an init forked the process that became the command; its exec, if that is not known. */
static int64_t spawn_ns(const struct assemble *a, const struct run *r)
{
	int64_t exec_ns = assemble_relative(a, r->command->exec_ns);
	int64_t fork_ns = assemble_relative(a, a->processes[r->command->process].begin_ns);

	return r->command->process != r->init->process && fork_ns < exec_ns ? fork_ns : exec_ns;
}

static int exit_add(struct assemble *a, struct run *r, uint32_t parent, int64_t exit_ns)
{
	int64_t last_ns = r->last_exit_ns > exit_ns ? r->last_exit_ns : exit_ns;
	uint32_t op, none;

	if (phase_add(a, r, parent, "exec.processExit", WORK_ENGINE, exit_ns, 0, &op) < 0 ||
	    phase_add(a, r, op, "exec.reap", WORK_ENGINE, exit_ns, r->any_alive ? 0 : last_ns, &none) < 0)
		return -ENOMEM;
	return r->any_alive ? 0 : phase_add(a, r, op, "exec.stdioDrain", WORK_ENGINE, last_ns, 0, &none);
}

static int process_run_add(struct assemble *a, struct run *r, int64_t begin_ns)
{
	uint64_t death_ns = r->command ? a->processes[r->command->process].death_ns : 0;
	int64_t exec_ns = r->command ? assemble_relative(a, r->command->exec_ns) : 0;
	int64_t spawned_ns = r->init && r->command ? spawn_ns(a, r) : 0;
	uint32_t op, none;

	if (phase_add(a, r, r->parent, "exec.processRun", WORK_USER, begin_ns, 0, &op) < 0)
		return -ENOMEM;
	if (r->init && phase_add(a, r, op, "exec.initStart", WORK_ENGINE, begin_ns, spawned_ns, &none) < 0)
		return -ENOMEM;
	if (!r->command)
		return 0;
	if (r->init && phase_add(a, r, op, "exec.processSpawn", WORK_ENGINE, spawned_ns, exec_ns, &none) < 0)
		return -ENOMEM;
	if (phase_add(a, r, op, "exec.workload", WORK_USER, exec_ns, death_ns ? assemble_relative(a, death_ns) : 0,
		      &none) < 0)
		return -ENOMEM;
	return death_ns ? exit_add(a, r, op, assemble_relative(a, death_ns)) : 0;
}

static int host_finish(struct assemble *a, const struct host *h)
{
	const struct program *released;
	int64_t first_ns;
	struct run r;
	uint32_t none;

	run_find(a, h, &r);
	if (!r.first)
		return 0;
	/* An op within the host, as the engine's own phase of running the container, is the one that the phases split. */
	r.parent = a->m->ops[r.root->from_op].kind == OP_EXEC_PHASE ? r.root->from_op : h->op;
	run_end_find(a, &r);
	first_ns = assemble_relative(a, r.first->exec_ns);
	released = r.init ?: r.command;
	if (phase_add(a, &r, r.parent, "exec.containerStart", WORK_ENGINE, a->m->ops[r.parent].start_ns, first_ns,
		      &none) < 0)
		return -ENOMEM;
	if (r.first->kind == PROGRAM_RUNTIME &&
	    phase_add(a, &r, r.parent, "exec.runtimeStart", WORK_ENGINE, first_ns,
		      released ? assemble_relative(a, released->exec_ns) : 0, &none) < 0)
		return -ENOMEM;
	return released ? process_run_add(a, &r, assemble_relative(a, released->exec_ns)) : 0;
}

int assemble_hosts_finish(struct assemble *a, bool over)
{
	for (size_t i = 1; i < a->host_n; i++) {
		if ((!over && a->m->ops[a->hosts[i].op].open) || !a->hosts[i].op)
			continue;
		if (host_finish(a, &a->hosts[i]) < 0)
			return -ENOMEM;
	}
	return 0;
}

static void host_done(struct host *h)
{
	free(h->roots);
	free(h->programs);
	*h = (struct host){ 0 };
}

void assemble_hosts_flush(struct assemble *a)
{
	for (size_t i = 1; i < a->host_n; i++) {
		struct host *h = &a->hosts[i];

		if (!h->op || a->m->ops[h->op].open || a->m->ops[h->op].late)
			continue;
		map_remove(a->host_ops, h->op, NULL);
		host_done(h);
	}
	/* What its processes do from now on is nobody's. */
	for (size_t i = 1; i < a->m->process_n; i++) {
		if (a->processes[i].host && !a->hosts[a->processes[i].host].op)
			a->processes[i].host = 0;
	}
}

void assemble_hosts_mark(const struct assemble *a)
{
	for (size_t i = 1; i < a->host_n; i++) {
		a->op_marks[a->hosts[i].op] = 1;
		for (size_t k = 0; k < a->hosts[i].root_n; k++)
			a->op_marks[a->hosts[i].roots[k].from_op] = 1;
	}
}

void assemble_hosts_free(struct assemble *a)
{
	for (size_t i = 0; i < a->host_n; i++)
		host_done(&a->hosts[i]);
	free(a->hosts);
	map_free(a->host_ops);
}
