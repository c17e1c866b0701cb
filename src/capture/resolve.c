/* SPDX-License-Identifier: (LGPL-2.1 OR BSD-2-Clause) */
/*
 * Bodies of stacks become frames in the model while recording goes on: so that
 * stopping is quick and files are read while they are there. What takes long is
 * done by a thread (resolve-frames.c); here is what the model and the loop have
 * to do with it.
 *
 * A body waits until the mapping records of its time must have come, also those
 * of a process that was not known to be traced.
 */
#include <errno.h>
#include <string.h>
#include <sys/uio.h>

#include "assemble/assemble.h"
#include "capture/eras.h"
#include "capture/internal.h"
#include "capture/published.h"
#include "capture/resolve-frames.h"
#include "proc/proc.h"
#include "util/cleanup.h"
#include "util/map.h"

#define RESOLVE_NICE 10

struct resolve {
	struct assemble *assemble;
	struct model *model;
	const struct proc_maps *maps;
	struct framer *framer;
	struct worker *worker;
	struct eras *eras;
	struct published *published;
	bool symbols, at_once;
	struct map *taken;   /* ids of bodies */
	struct map *modules; /* string id of path << 32 | of build id -> module index */
	struct job *first, **last; /* bodies too young to be worked on */
	uint64_t taken_n, done_n;
};

DEFINE_CLEANUP(struct resolve *, resolve_free)

int resolve_new(struct model *m, const struct proc_maps *maps, bool symbols, struct resolve **ret)
{
	_cleanup_(resolve_freep) struct resolve *r = calloc(1, sizeof(*r));
	int err;

	if (!r)
		return -ENOMEM;
	r->model = m;
	r->maps = maps;
	r->symbols = symbols;
	r->last = &r->first;
	err = framer_new(maps, symbols, &r->framer);
	if (!err)
		err = published_new(&r->published);
	if (!err)
		err = eras_new(maps, r->published, &r->eras);
	if (!err)
		err = map_new(&r->taken);
	if (!err)
		err = map_new(&r->modules);
	if (err)
		return err;
	*ret = TAKE_PTR(r);
	return 0;
}

int resolve_start(struct resolve *r, struct assemble *a)
{
	r->assemble = a;
	return worker_new(framer_work, r->framer, RESOLVE_NICE, -1, &r->worker);
}

/* A job is the first member of its body. */
static struct body *body_of(struct job *job)
{
	return (struct body *)job;
}

static void job_free(struct job *job)
{
	body_free(body_of(job));
}

static void enqueue(struct resolve *r, struct body *b)
{
	r->taken_n++;
	if (r->at_once) {
		worker_give(r->worker, &b->job);
		return;
	}
	b->job.next = NULL;
	*r->last = &b->job;
	r->last = &b->job.next;
}

static struct job *dequeue(struct resolve *r)
{
	struct job *job = r->first;

	r->first = job->next;
	if (!r->first)
		r->last = &r->first;
	return job;
}

struct resolve *resolve_free(struct resolve *r)
{
	if (!r)
		return NULL;
	worker_free(r->worker, job_free);
	while (r->first)
		job_free(dequeue(r));
	framer_free(r->framer);
	eras_free(r->eras);
	published_free(r->published);
	map_free(r->taken);
	map_free(r->modules);
	free(r);
	return NULL;
}

/* ---- taking ---- */

/* A body of that size (head to the end of the copy), waiting. */
static int body_add(struct resolve *r, const struct wcbpf_stack *s)
{
	size_t n = offsetof(struct wcbpf_stack, copy) + s->copy_len;
	struct body *b = calloc(1, offsetof(struct body, wire) + n);

	if (!b)
		return -ENOMEM;
	memcpy(&b->wire, s, n);
	enqueue(r, b);
	return 0;
}

int resolve_take(struct resolve *r, const struct wcbpf_stack *s)
{
	size_t fixed = offsetof(struct wcbpf_stack, copy);
	int err;

	if (s->head.size < fixed || s->head.size > sizeof(*s) || s->copy_len > s->head.size - fixed ||
	    s->frame_n > WCBPF_STACK_DEPTH_MAX)
		return -EBADMSG;
	if (map_get(r->taken, s->id, NULL))
		return 0;
	err = map_put(r->taken, s->id, 1);
	/* one with a copy is of this moment alone */
	if (!err && s->side == WCBPF_STACK_USER && !s->copy_len)
		err = eras_add(r->eras, s);
	return err ? err : body_add(r, s);
}

/* The stack of a thread that doesn't run, out of its memory; *ret_n 0: it has run meanwhile. */
static int seed_stack_read(const struct wcbpf_seed *seed, uint8_t **ret, size_t *ret_n)
{
	uint64_t sp = seed->regs[7], voluntary, involuntary;
	uint8_t *bytes = malloc(SEED_STACK_BYTES_MAX);
	size_t got = 0;

	if (!bytes)
		return -ENOMEM;
	/* a page at a time: a read that meets the stack's end fails whole */
	while (got < SEED_STACK_BYTES_MAX) {
		size_t n = 4096 - ((sp + got) & 4095);
		struct iovec local = { bytes + got, n }, remote = { (void *)(uintptr_t)(sp + got), n };

		if (n > SEED_STACK_BYTES_MAX - got || process_vm_readv(seed->tgid, &local, 1, &remote, 1, 0) != (ssize_t)n)
			break;
		got += n;
	}
	/* it has run meanwhile: that was another stack, or none */
	if (proc_switches(seed->tgid, seed->tid, &voluntary, &involuntary) || voluntary + involuntary != seed->switch_n)
		got = 0;
	*ret = bytes;
	*ret_n = got;
	return 0;
}

int resolve_take_seed(struct resolve *r, const struct wcbpf_seed *seed)
{
	_cleanup_(freep) uint8_t *stack = NULL;
	size_t n = 0;
	int err;

	if (!seed->ustack_id || map_get(r->taken, seed->ustack_id, NULL))
		return 0;
	err = seed_stack_read(seed, &stack, &n);
	return err ? err : resolve_take_memory(r, seed, &stack, n);
}

bool resolve_has(const struct resolve *r, uint64_t id)
{
	return map_get(r->taken, id, NULL);
}

int resolve_take_memory(struct resolve *r, const struct wcbpf_seed *seed, uint8_t **stack, size_t n)
{
	struct body *b;
	int err = map_put(r->taken, seed->ustack_id, 1);

	if (err)
		return err;
	b = calloc(1, sizeof(*b));
	if (!b)
		return -ENOMEM;
	b->seed_stack = TAKE_PTR(*stack);
	b->seed_stack_n = n;
	b->seed = true;
	b->wire.head.time_ns = seed->head.time_ns;
	b->wire.id = seed->ustack_id;
	b->wire.tgid = seed->tgid;
	b->wire.side = WCBPF_STACK_USER;
	memcpy(b->wire.regs, seed->regs, sizeof(seed->regs));
	enqueue(r, b);
	return 0;
}

int resolve_use(struct resolve *r, uint64_t time_ns, __u64 *ustack_id)
{
	struct wcbpf_stack s;
	uint64_t id;
	bool fresh;
	int err;

	if (!*ustack_id)
		return 0;
	err = eras_find(r->eras, *ustack_id, time_ns, &id, &fresh);
	if (!err && fresh) {
		eras_body(r->eras, *ustack_id, id, time_ns, &s);
		err = body_add(r, &s);
	}
	if (!err)
		*ustack_id = id;
	return err;
}

int resolve_forked(struct resolve *r, uint32_t pid, uint32_t parent, uint64_t time_ns)
{
	uint64_t mapped_ns = published_until(r->published, parent, time_ns);

	/* what the parent's tables lacked, its child's lack too */
	if (mapped_ns != UINT64_MAX)
		mapped_ns = proc_maps_changed_ns(r->maps, parent) <= mapped_ns ? time_ns : 0;
	return published_fork(r->published, pid, time_ns, mapped_ns);
}

int resolve_tables_published(struct resolve *r, uint32_t pid, uint64_t time_ns)
{
	return published_add(r->published, pid, time_ns, proc_maps_changed_ns(r->maps, pid));
}

/* ---- into the model ---- */

/* Index of a module in the model, made when new. */
static int module_index(struct resolve *r, const struct sym_frame *f, uint32_t *ret)
{
	struct strtab *strings = r->model->strings;
	uint32_t path, build_id;
	uint64_t index;
	int err = strtab_intern(strings, f->module, &path);

	if (!err)
		err = strtab_intern(strings, f->build_id, &build_id);
	if (err)
		return err;
	if (map_get(r->modules, (uint64_t)path << 32 | build_id, &index)) {
		*ret = index;
		return 0;
	}
	err = model_module_add(r->model, ret);
	if (err)
		return err;
	r->model->modules[*ret].path_id = path;
	r->model->modules[*ret].build_id_id = build_id;
	/* where the kernel lies in this boot is nobody's business */
	r->model->modules[*ret].bias = f->bias >> 63 ? 0 : f->bias;
	return map_put(r->modules, (uint64_t)path << 32 | build_id, *ret);
}

static int frame_make(struct resolve *r, const struct sym_frame *f, struct model_frame *ret)
{
	struct model_frame frame = { .address = f->address, .offset = f->offset };
	int err = f->module ? module_index(r, f, &frame.module) : 0;

	if (!err && r->symbols) {
		frame.line = f->line & INT32_MAX;
		frame.inlined = f->inlined;
		frame.alias_n = f->alias_n;
		err = strtab_intern(r->model->strings, f->name, &frame.name_id);
		if (!err)
			err = strtab_intern(r->model->strings, f->file, &frame.file_id);
	}
	if (!err)
		*ret = frame;
	return err;
}

static int stack_set(struct resolve *r, const struct body *b)
{
	enum stack_side side = b->wire.side == WCBPF_STACK_USER ? STACK_USER : STACK_KERNEL;
	_cleanup_(freep) struct model_frame *frames = calloc(b->frame_n + 1, sizeof(*frames));
	uint32_t stack;
	int err = b->err;

	if (err || !frames)
		return err ? err : -ENOMEM;
	for (size_t i = 0; i < b->frame_n && !err; i++)
		err = frame_make(r, &b->frames[i], &frames[i]);
	if (!err)
		err = assemble_stack_index(r->assemble, side, b->wire.id, &stack);
	if (err)
		return err;
	r->model->integrity.truncated_stacks += !strcmp(b->ended, "truncated");
	return model_stack_set(r->model, stack, b->ended, frames, b->frame_n);
}

/* What is done goes into the model. */
static int take_done(struct resolve *r)
{
	struct job *job;
	int err = 0;

	while (!err && (job = worker_take(r->worker))) {
		err = stack_set(r, body_of(job));
		job_free(job);
		r->done_n++;
	}
	return err;
}

void resolve_progress(const struct resolve *r, uint64_t *ret_taken_n, uint64_t *ret_done_n)
{
	*ret_taken_n = r->taken_n;
	*ret_done_n = r->done_n;
}

void resolve_hurry(struct resolve *r)
{
	while (r->first)
		worker_give(r->worker, dequeue(r));
	r->at_once = true;
}

int resolve_some(struct resolve *r, uint64_t before_ns)
{
	while (r->first && body_of(r->first)->wire.head.time_ns < before_ns)
		worker_give(r->worker, dequeue(r));
	return take_done(r);
}

/* Stacks of which no use is known to have been walked by tables that knew what it touched. */
static int doubts_tell(struct resolve *r)
{
	uint32_t complete, guessed, stack;
	uint64_t id;
	int err = strtab_intern(r->model->strings, "complete", &complete);

	if (!err)
		err = strtab_intern(r->model->strings, "guessed", &guessed);
	for (size_t at = 0; !err && eras_next_doubtful(r->eras, &at, &id);) {
		err = assemble_stack_index(r->assemble, STACK_USER, id, &stack);
		if (!err && r->model->stacks[stack].ended_id == complete)
			r->model->stacks[stack].ended_id = guessed;
	}
	return err;
}

int resolve_finish(struct resolve *r)
{
	int err;

	resolve_hurry(r);
	worker_finish(r->worker);
	err = take_done(r);
	return err ? err : doubts_tell(r);
}

int resolve_kernel_code(const struct resolve *r, struct skeletons_kernel *ret)
{
	return framer_kernel_code(r->framer, ret);
}

const char *resolve_kernel_problem(const struct resolve *r)
{
	return framer_kernel_problem(r->framer);
}

size_t resolve_notes(const struct resolve *r, const char *const **ret)
{
	return framer_notes(r->framer, ret);
}
