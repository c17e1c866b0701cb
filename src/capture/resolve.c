/* SPDX-License-Identifier: (LGPL-2.1 OR BSD-2-Clause) */
/*
 * Bodies of stacks become frames in the model while recording goes on, a
 * little at a time: so that stopping is quick and files are read while they
 * are there. A body waits until the mapping records of its time must have come.
 *
 * A user stack is what the programs walked, unless it came with a copy: then
 * that is unwound here.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/uio.h>
#include <unistd.h>

#include "assemble/assemble.h"
#include "capture/internal.h"
#include "proc/proc.h"
#include "sym/sym.h"
#include "unwind/unwind.h"
#include "util/cleanup.h"
#include "util/map.h"

#define FRAMES_MAX (2 * WCBPF_STACK_DEPTH_MAX)
#define SEED_STACK_BYTES_MAX (256 << 10)

struct body {
	struct body *next;
	uint8_t *seed_stack; /* a seed's memory, instead of wire.copy */
	size_t seed_stack_n;
	bool seed;
	struct wcbpf_stack wire; /* cut to its size */
};

struct resolve {
	struct assemble *assemble;
	struct model *model;
	const struct proc_maps *maps;
	struct ksyms *ksyms;
	int ksyms_error;
	uint64_t schedule; /* address of __schedule, 0: unknown */
	struct sym *sym;
	struct unwind *unwind;
	bool symbols;
	struct map *taken;   /* ids of bodies */
	struct map *modules; /* string id of path << 32 | of build id -> module index */
	struct body *first, **last;
};

int resolve_new(struct model *m, const struct proc_maps *maps, bool symbols, struct resolve **ret)
{
	struct resolve *r = calloc(1, sizeof(*r));
	int err;

	if (!r)
		return -ENOMEM;
	r->model = m;
	r->maps = maps;
	r->symbols = symbols;
	r->last = &r->first;
	r->ksyms_error = ksyms_new(NULL, &r->ksyms);
	if (r->ksyms && ksyms_find(r->ksyms, "__schedule", &r->schedule))
		r->schedule = 0;
	err = sym_new(maps, r->ksyms, &r->sym);
	if (!err)
		err = unwind_new(maps, &r->unwind);
	if (!err)
		err = map_new(&r->taken);
	if (!err)
		err = map_new(&r->modules);
	if (err) {
		resolve_free(r);
		return err;
	}
	*ret = r;
	return 0;
}

void resolve_set_assemble(struct resolve *r, struct assemble *a)
{
	r->assemble = a;
}

static struct body *body_free(struct body *b)
{
	free(b->seed_stack);
	free(b);
	return NULL;
}

struct resolve *resolve_free(struct resolve *r)
{
	if (!r)
		return NULL;
	while (r->first) {
		struct body *b = r->first;

		r->first = b->next;
		body_free(b);
	}
	unwind_free(r->unwind);
	sym_free(r->sym);
	ksyms_free(r->ksyms);
	map_free(r->taken);
	map_free(r->modules);
	free(r);
	return NULL;
}

static void enqueue(struct resolve *r, struct body *b)
{
	b->next = NULL;
	*r->last = b;
	r->last = &b->next;
}

int resolve_take(struct resolve *r, const struct wcbpf_stack *s)
{
	size_t fixed = offsetof(struct wcbpf_stack, copy);
	struct body *b;
	int err;

	if (s->head.size < fixed || s->head.size > sizeof(*s) || s->copy_len > s->head.size - fixed ||
	    s->frame_n > WCBPF_STACK_DEPTH_MAX)
		return -EBADMSG;
	if (map_get(r->taken, s->id, NULL))
		return 0;
	err = map_put(r->taken, s->id, 1);
	if (err)
		return err;
	b = calloc(1, offsetof(struct body, wire) + fixed + s->copy_len);
	if (!b)
		return -ENOMEM;
	memcpy(&b->wire, s, fixed + s->copy_len);
	enqueue(r, b);
	return 0;
}

int resolve_take_seed(struct resolve *r, const struct wcbpf_seed *seed)
{
	uint64_t sp = seed->regs[7], voluntary, involuntary;
	struct body *b;
	size_t got = 0;
	int err;

	if (!seed->ustack_id || map_get(r->taken, seed->ustack_id, NULL))
		return 0;
	err = map_put(r->taken, seed->ustack_id, 1);
	if (err)
		return err;
	b = calloc(1, sizeof(*b));
	if (!b)
		return -ENOMEM;
	b->seed = true;
	b->seed_stack = malloc(SEED_STACK_BYTES_MAX);
	/* a page at a time: a read that meets the stack's end fails whole */
	while (b->seed_stack && got < SEED_STACK_BYTES_MAX) {
		size_t n = 4096 - ((sp + got) & 4095);
		struct iovec local = { b->seed_stack + got, n }, remote = { (void *)(uintptr_t)(sp + got), n };

		if (n > SEED_STACK_BYTES_MAX - got || process_vm_readv(seed->tgid, &local, 1, &remote, 1, 0) != (ssize_t)n)
			break;
		got += n;
	}
	/* it has run meanwhile: that was another stack, or none */
	if (proc_switches(seed->tgid, seed->tid, &voluntary, &involuntary) || voluntary + involuntary != seed->switch_n)
		got = 0;
	b->seed_stack_n = got;
	b->wire.head.time_ns = seed->head.time_ns;
	b->wire.id = seed->ustack_id;
	b->wire.tgid = seed->tgid;
	b->wire.side = WCBPF_STACK_USER;
	memcpy(b->wire.regs, seed->regs, sizeof(seed->regs));
	enqueue(r, b);
	return 0;
}

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
	*ret = (struct model_frame){ .address = f->address, .offset = f->offset };
	if (f->module) {
		int err = module_index(r, f, &ret->module);

		if (err)
			return err;
	}
	return f->name && r->symbols ? strtab_intern(r->model->strings, f->name, &ret->name_id) : 0;
}

/* The word for how a walk ended. */
static const char *end_word(const struct wcbpf_stack *s)
{
	static const char *const words[] = {
		[WCBPF_STACK_FP] = "fp",		   [WCBPF_STACK_COMPLETE] = "complete",
		[WCBPF_STACK_TRUNCATED] = "truncated",	   [WCBPF_STACK_NO_TABLES] = "fp",
		[WCBPF_STACK_NO_MAPPING] = "no_mapping",   [WCBPF_STACK_PENDING] = "pending",
		[WCBPF_STACK_NO_FRAME] = "no_frame",	   [WCBPF_STACK_UNSUPPORTED] = "unsupported",
		[WCBPF_STACK_UNREADABLE] = "unreadable",   [WCBPF_STACK_BAD_CFA] = "bad_cfa",
		[WCBPF_STACK_ZERO] = "zero_address",
	};

	if (s->end >= sizeof(words) / sizeof(words[0]))
		return "unknown";
	if ((s->guessed[0] || s->guessed[1]) && (s->end == WCBPF_STACK_COMPLETE || s->end == WCBPF_STACK_FP))
		return "guessed";
	return words[s->end];
}

/* The frames that the copy gives, innermost first. */
static size_t copied_addresses(struct resolve *r, const struct body *b, uint64_t *ret, enum unwind_end *ret_end)
{
	struct unwind_input in = { .pid = b->wire.tgid, .time_ns = b->wire.head.time_ns,
				   .regs = (const uint64_t *)b->wire.regs, .stack = b->wire.copy, .stack_n = b->wire.copy_len };
	size_t n = 0;

	if (!b->wire.copy_len || unwind_copy(r->unwind, &in, ret, WCBPF_STACK_DEPTH_MAX, &n, ret_end))
		return 0;
	return n;
}

/*
 * The addresses of a user stack, innermost first; *ret_ended is how it ended.
 * A copy gives the whole stack, or as much as it reaches; then the walk of the
 * programs goes on behind the last of its frames that is already there.
 */
static size_t user_addresses(struct resolve *r, const struct body *b, uint64_t *ret, const char **ret_ended)
{
	enum unwind_end end = UNWIND_NO_RULE;
	size_t n = copied_addresses(r, b, ret, &end), from = 1;

	*ret_ended = "complete";
	if (n && end == UNWIND_COMPLETE)
		return n;
	*ret_ended = n && end == UNWIND_LIMIT ? "truncated" : end_word(&b->wire);
	if (!n && b->wire.frame_n) {
		ret[0] = b->wire.frames[0];
		n = 1;
	}
	for (size_t i = 1; i < b->wire.frame_n; i++)
		for (size_t j = 0; j < n; j++)
			if (b->wire.frames[i] == ret[j])
				from = i + 1;
	for (size_t i = from; i < b->wire.frame_n && n < FRAMES_MAX; i++)
		ret[n++] = b->wire.frames[i];
	return n;
}

static int resolve_user(struct resolve *r, const struct body *b, uint32_t stack)
{
	const char *ended;
	struct model_frame frames[FRAMES_MAX];
	uint64_t addresses[FRAMES_MAX];
	size_t n = 0, kept = 0;
	int err;

	if (b->seed) {
		struct unwind_input in = { .pid = b->wire.tgid, .time_ns = b->wire.head.time_ns, .regs = (const uint64_t *)b->wire.regs,
					   .stack = b->seed_stack, .stack_n = b->seed_stack_n };
		enum unwind_end end = UNWIND_NO_RULE;

		err = unwind_copy(r->unwind, &in, addresses, FRAMES_MAX, &n, &end);
		if (err)
			return err;
		ended = end == UNWIND_COMPLETE ? "complete" : "truncated";
	} else {
		n = user_addresses(r, b, addresses, &ended);
	}
	for (size_t i = 0; i < n; i++) {
		struct sym_frame f;

		sym_user(r->sym, b->wire.tgid, b->wire.head.time_ns, addresses[i], i > 0, &f, 1);
		if (!f.module && i > 0) /* a walk that strayed: nothing is mapped there */
			break;
		err = frame_make(r, &f, &frames[kept++]);
		if (err)
			return err;
	}
	return model_stack_set(r->model, stack, ended, frames, kept);
}

/*
 * Stack traces of tasks that are off the CPU leave out the scheduler's own
 * functions. Of these the innermost is known: who left the CPU did it in
 * __schedule.
 */
static int resolve_kernel(struct resolve *r, const struct body *b, uint32_t stack)
{
	struct model_frame frames[WCBPF_STACK_DEPTH_MAX + 1];
	size_t kept = 0;

	if (r->schedule) {
		struct sym_frame f;
		int err;

		sym_kernel(r->sym, r->schedule, &f);
		err = frame_make(r, &f, &frames[kept++]);
		if (err)
			return err;
	}

	for (size_t i = 0; i < b->wire.frame_n; i++) {
		struct sym_frame f;
		int err;

		sym_kernel(r->sym, b->wire.frames[i], &f);
		if (f.hidden || (r->schedule && f.name && !strcmp(f.name, "__schedule")))
			continue;
		err = frame_make(r, &f, &frames[kept++]);
		if (err)
			return err;
	}
	return model_stack_set(r->model, stack, b->wire.end == WCBPF_STACK_TRUNCATED ? "truncated" : "complete", frames,
			       kept);
}

static int resolve_one(struct resolve *r, const struct body *b)
{
	enum stack_side side = b->wire.side == WCBPF_STACK_USER ? STACK_USER : STACK_KERNEL;
	uint32_t stack;
	int err = assemble_stack_index(r->assemble, side, b->wire.id, &stack);

	if (err)
		return err;
	if (b->wire.end == WCBPF_STACK_TRUNCATED)
		r->model->integrity.truncated_stacks++;
	return side == STACK_USER ? resolve_user(r, b, stack) : resolve_kernel(r, b, stack);
}

int resolve_some(struct resolve *r, uint64_t before_ns, uint64_t budget_ns)
{
	uint64_t start = monotonic_ns();

	while (r->first && r->first->wire.head.time_ns < before_ns) {
		struct body *b = r->first;
		int err = resolve_one(r, b);

		r->first = b->next;
		if (!r->first)
			r->last = &r->first;
		body_free(b);
		if (err)
			return err;
		if (budget_ns && monotonic_ns() - start > budget_ns)
			break;
	}
	return 0;
}

int resolve_scheduler(const struct resolve *r, uint64_t ret_sched[2], uint64_t ret_lock[2])
{
	static const char *const names[] = { "__sched_text_start", "__sched_text_end", "__lock_text_start",
					     "__lock_text_end" };
	uint64_t at[4];

	if (!r->ksyms)
		return -ENOENT;
	for (int i = 0; i < 4; i++)
		if (ksyms_find(r->ksyms, names[i], &at[i]))
			return -ENOENT;
	if (at[0] >= at[1] || at[2] > at[3])
		return -ENOENT;
	memcpy(ret_sched, &at[0], 2 * sizeof(at[0]));
	memcpy(ret_lock, &at[2], 2 * sizeof(at[0]));
	return 0;
}

const char *resolve_kernel_problem(const struct resolve *r)
{
	if (r->ksyms)
		return NULL;
	return r->ksyms_error == -EPERM ?
		       "kernel addresses are hidden (kernel.kptr_restrict): kernel frames have no names" :
		       "/proc/kallsyms can't be read: kernel frames have no names";
}

size_t resolve_notes(const struct resolve *r, const char *const **ret)
{
	return sym_notes(r->sym, ret);
}
