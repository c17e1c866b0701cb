/* SPDX-License-Identifier: (LGPL-2.1 OR BSD-2-Clause) */
/*
 * Runs beside the loop (worker.h): reading the symbols of a 100 MB binary takes
 * a second. So sym/, unwind/ and the kernel's symbols are the framer's alone;
 * only the maps are shared, by the calls that are for any thread.
 *
 * A user stack is what the programs walked, unless it came with a copy: then
 * that is unwound here.
 */
#include "capture/resolve-frames.h"

#include <errno.h>
#include <string.h>

#include "capture/skeletons.h"
#include "proc/proc.h"
#include "unwind/unwind.h"
#include "util/cleanup.h"
#include "util/vec.h"

#define ADDRESSES_MAX (2 * WCBPF_STACK_DEPTH_MAX)

struct framer {
	struct ksyms *ksyms;
	int ksyms_error;
	uint64_t schedule; /* address of __schedule, 0: unknown */
	struct sym *sym;
	struct unwind *unwind;
	bool symbols;
};

DEFINE_CLEANUP(struct framer *, framer_free)

int framer_new(const struct proc_maps *maps, bool symbols, struct framer **ret)
{
	_cleanup_(framer_freep) struct framer *f = calloc(1, sizeof(*f));
	int err;

	if (!f)
		return -ENOMEM;
	f->symbols = symbols;
	f->ksyms_error = ksyms_new(NULL, &f->ksyms);
	if (f->ksyms && ksyms_find(f->ksyms, "__schedule", &f->schedule))
		f->schedule = 0;
	err = sym_new(maps, f->ksyms, &f->sym);
	if (!err)
		err = unwind_new(maps, &f->unwind);
	if (err)
		return err;
	*ret = TAKE_PTR(f);
	return 0;
}

struct framer *framer_free(struct framer *f)
{
	if (!f)
		return NULL;
	unwind_free(f->unwind);
	sym_free(f->sym);
	ksyms_free(f->ksyms);
	free(f);
	return NULL;
}

size_t framer_notes(const struct framer *f, const char *const **ret)
{
	return sym_notes(f->sym, ret);
}

const char *framer_kernel_problem(const struct framer *f)
{
	if (f->ksyms)
		return NULL;
	return f->ksyms_error == -EPERM ?
		       "kernel addresses are hidden (kernel.kptr_restrict): kernel frames have no names" :
		       "/proc/kallsyms can't be read: kernel frames have no names";
}

static const char *kernel_name(void *arg, uint64_t address)
{
	struct ksym found;

	return ksyms_lookup(arg, address, &found) ? NULL : found.name;
}

int framer_kernel_code(const struct framer *f, struct skeletons_kernel *ret)
{
	struct ksyms_code code;
	int err = f->ksyms ? ksyms_code(f->ksyms, &code) : -ENOENT;

	if (err)
		return err;
	*ret = (struct skeletons_kernel){ .text = { code.text[0], code.text[1] }, .sched = { code.sched[0], code.sched[1] },
					  .lock = { code.lock[0], code.lock[1] }, .name = kernel_name, .arg = f->ksyms };
	return 0;
}

void body_free(struct body *b)
{
	free(b->seed_stack);
	free(b->frames);
	free(b);
}

/* ---- how it ended ---- */

/* The word for how the programs' walk ended. */
static const char *walk_word(const struct wcbpf_stack *s)
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

/* Is there more of its stack than may be copied? */
static bool copy_is_cut(const struct body *b)
{
	return b->seed ? b->seed_stack_n >= SEED_STACK_BYTES_MAX : b->wire.copy_len >= WCBPF_STACK_COPY_MAX;
}

/* The same for memory that was unwound here. */
static const char *copy_word(const struct body *b, enum unwind_end end)
{
	switch (end) {
	case UNWIND_COMPLETE:
		return "complete";
	case UNWIND_LIMIT:
		return "truncated";
	case UNWIND_OUT_OF_COPY:
		return copy_is_cut(b) ? "truncated" : "unreadable";
	case UNWIND_NO_RULE:
		return "no_frame";
	case UNWIND_MARKED:
		return "guessed";
	}
	return "unknown";
}

/* ---- user stacks ---- */

/* The frames that the copied memory gives, innermost first. */
static int copied_addresses(struct framer *f, const struct body *b, uint64_t *ret, size_t *ret_n, enum unwind_end *ret_end)
{
	struct unwind_input in = { .pid = b->wire.tgid, .time_ns = b->wire.head.time_ns,
				   .regs = (const uint64_t *)b->wire.regs, .stack = b->wire.copy, .stack_n = b->wire.copy_len };

	if (b->seed) {
		in.stack = b->seed_stack;
		in.stack_n = b->seed_stack_n;
	}
	return unwind_copy(f->unwind, &in, ret, b->seed ? ADDRESSES_MAX : WCBPF_STACK_DEPTH_MAX, ret_n, ret_end);
}

/*
 * The addresses of a user stack, innermost first; *ret_ended is how it ended.
 * A copy gives the whole stack, or as much as it reaches; then the walk of the
 * programs goes on behind the last of its frames that is already there.
 */
static int user_addresses(struct framer *f, const struct body *b, uint64_t *ret, size_t *ret_n, const char **ret_ended)
{
	enum unwind_end end = UNWIND_NO_RULE;
	size_t n = 0, from = 1;
	int err = 0;

	if (b->seed || b->wire.copy_len)
		err = copied_addresses(f, b, ret, &n, &end);
	if (err)
		return err;
	*ret_n = n;
	*ret_ended = copy_word(b, end);
	if (b->seed || (n && (end == UNWIND_COMPLETE || end == UNWIND_MARKED)))
		return 0;
	if (!n) {
		*ret_ended = walk_word(&b->wire);
		ret[n] = b->wire.frames[0];
		n += b->wire.frame_n > 0;
	}
	for (size_t i = 1; i < b->wire.frame_n; i++)
		for (size_t j = 0; j < n; j++)
			if (b->wire.frames[i] == ret[j])
				from = i + 1;
	if (from < b->wire.frame_n && end != UNWIND_LIMIT)
		*ret_ended = walk_word(&b->wire);
	for (size_t i = from; i < b->wire.frame_n && n < ADDRESSES_MAX; i++)
		ret[n++] = b->wire.frames[i];
	*ret_n = n;
	return 0;
}

static int work_user(struct framer *f, struct body *b)
{
	uint64_t addresses[ADDRESSES_MAX];
	size_t n, frames_max = f->symbols ? SYM_FRAMES_MAX : 1;
	int err = user_addresses(f, b, addresses, &n, &b->ended);

	for (size_t i = 0; !err && i < n; i++) {
		struct sym_frame *at;

		err = VEC_RESERVE(b->frames, b->frame_cap, b->frame_n + frames_max);
		if (err)
			break;
		at = b->frames + b->frame_n;
		b->frame_n += sym_user(f->sym, b->wire.tgid, b->wire.head.time_ns, addresses[i], i > 0, at, frames_max);
		if (at->module || !i)
			continue;
		/* a walk that strayed: nothing is mapped there */
		b->frame_n--;
		if (!strcmp(b->ended, "complete") || !strcmp(b->ended, "guessed"))
			b->ended = "no_mapping";
		break;
	}
	return err;
}

/* ---- kernel stacks ---- */

/*
 * Stack traces of tasks that are off the CPU leave out the scheduler's own
 * functions. Of these the innermost is known: who left the CPU did it in
 * __schedule.
 */
static int work_kernel(struct framer *f, struct body *b)
{
	bool schedule = f->schedule && b->wire.side == WCBPF_STACK_KERNEL;

	b->ended = b->wire.end == WCBPF_STACK_TRUNCATED ? "truncated" : "complete";
	if (VEC_RESERVE(b->frames, b->frame_cap, b->wire.frame_n + 1u) < 0)
		return -ENOMEM;
	if (schedule)
		sym_kernel(f->sym, f->schedule, &b->frames[b->frame_n++]);
	for (size_t i = 0; i < b->wire.frame_n; i++) {
		struct sym_frame frame;

		sym_kernel(f->sym, b->wire.frames[i], &frame);
		if (frame.hidden || (schedule && frame.name && !strcmp(frame.name, "__schedule")))
			continue;
		b->frames[b->frame_n++] = frame;
	}
	return 0;
}

void framer_work(void *arg, struct job *job)
{
	struct body *b = (struct body *)job; /* its first member */
	struct framer *f = arg;

	b->err = b->wire.side == WCBPF_STACK_USER ? work_user(f, b) : work_kernel(f, b);
}
