/* SPDX-License-Identifier: (LGPL-2.1 OR BSD-2-Clause) */
/*
 * Go programs have no .eh_frame for Go code, and lose .debug_frame when they
 * are stripped; but the runtime must walk its own stacks, so where the stack
 * pointer is at each instruction is in its tables, exactly. What becomes of
 * rbp is in the code (objfile_go_frame). Go has no other register that a
 * function gives back unchanged, so rbx is lost in any of its frames.
 *
 * Where stacks end and change (asm_amd64.s, sys_linux_amd64.s of the runtime):
 *
 * - goexit, mstart, rt0_go, _rt0_*: the first frame of a goroutine, of a thread
 *   of the scheduler, of the process. In a program with C code, what is below
 *   mstart (pthread's start) isn't shown.
 * - mcall and morestack leave the goroutine for the thread's own stack and never
 *   return: the goroutine is resumed by what was saved of it, perhaps by another
 *   thread. From there on they are the first frame. clone in the child likewise.
 * - systemstack, asmcgocall and the functions that call the vDSO do return, and
 *   what they run is on behalf of their caller. From 1.21 on all, before that
 *   the last, have a frame that rbp points to, on the stack they came from. The
 *   rest can't be expressed.
 * - cgocallback (C calls Go) makes its frame on the goroutine's stack look like
 *   one called from systemstack_switch, and that like one called by the Go code
 *   that called C, so that the table holds all along; the C frames between are
 *   not seen.
 * - sigreturn is where a handler returns to: the kernel's frame lies there.
 */
#include <errno.h>
#include <string.h>

#include "objfile/objfile.h"
#include "unwind/rows.h"
#include "unwind/rule.h"
#include "util/cleanup.h"

#define WINDOW (1u << 20)
#define FUNCTION_MAX (16u << 20)
#define SIGCONTEXT 40 /* offset in the kernel's struct ucontext, which rsp points to */
#define PADDING 0xcc

DEFINE_CLEANUP(struct objfile_go *, objfile_go_free)

enum sort {
	ORDINARY,
	FIRST,		   /* never returns */
	FIRST_WHEN_SWITCHED,
	KEEPS_TABLE,	   /* sets the stack pointer so that the table stays true */
	RETURNS_TO_KERNEL, /* the signal trampoline */
};

static const struct {
	const char *name;
	enum sort sort;
} special[] = {
	{ "runtime.goexit", FIRST },
	{ "runtime.mstart", FIRST },
	{ "runtime.rt0_go", FIRST },
	{ "runtime.mcall", FIRST_WHEN_SWITCHED },
	{ "runtime.morestack", FIRST_WHEN_SWITCHED },
	{ "runtime.clone", FIRST_WHEN_SWITCHED },
	{ "runtime.cgocallback", KEEPS_TABLE },
	{ "runtime.sigreturn", RETURNS_TO_KERNEL },
	{ "runtime.sigreturn__sigaction", RETURNS_TO_KERNEL },
};

static enum sort function_sort(const char *name)
{
	if (!strncmp(name, "_rt0_", 5))
		return FIRST;
	if (strncmp(name, "runtime.", 8))
		return ORDINARY;
	for (size_t i = 0; i < sizeof(special) / sizeof(*special); i++) {
		if (!strcmp(name, special[i].name))
			return special[i].sort;
	}
	return ORDINARY;
}

/* A stretch of the file's code. */
struct window {
	const struct objfile *o;
	uint64_t start;
	uint8_t *code;
	size_t n, cap;
};

static void window_done(struct window *w)
{
	free(w->code);
}

/* The n bytes at vaddr, valid until the next call. -EBADMSG. -ENOMEM. */
static int window_get(struct window *w, uint64_t vaddr, size_t n, uint64_t end, const uint8_t **ret)
{
	size_t want = end - vaddr < WINDOW ? end - vaddr : WINDOW;
	int err;

	if (vaddr >= w->start && n <= w->n && vaddr - w->start <= w->n - n) {
		*ret = w->code + (vaddr - w->start);
		return 0;
	}
	if (want < n)
		want = n;
	if (want > FUNCTION_MAX)
		return -EBADMSG;
	if (want > w->cap) {
		uint8_t *code = realloc(w->code, want);

		if (!code)
			return -ENOMEM;
		w->code = code;
		w->cap = want;
	}
	w->n = 0;
	err = objfile_read_vaddr(w->o, vaddr, w->code, want);
	if (err)
		return err;
	w->start = vaddr;
	w->n = want;
	*ret = w->code;
	return 0;
}

/* While the rows are made. */
struct build {
	const struct objfile_go *go;
	struct window window;
	struct rows_builder rows;
	uint64_t start, end; /* of the Go code */
};

static void build_done(struct build *b)
{
	window_done(&b->window);
	unwind_rows_free(b->rows.rows);
}

struct function {
	struct objfile_go_function f;
	struct objfile_go_frame frame;
	enum sort sort;
	bool frame_known;
};


static const struct wcbpf_rule stop = { .cfa = WCBPF_CFA_STOP };

/* Where the caller's rbp is at pc, so far below the function's begin. */
static void rule_bp(const struct function *fn, uint64_t pc, int32_t delta, struct wcbpf_rule *rule)
{
	const struct objfile_go_frame *frame = &fn->frame;

	rule->bp = WCBPF_SAVED_SAME;
	if (!frame->saved_from) {
		/* Without a frame it is nobody's to change; with one it may have become anything. */
		if (delta)
			rule->bp = WCBPF_SAVED_LOST;
	} else if (pc >= frame->saved_from && delta > frame->saved_above) {
		rule->bp = WCBPF_SAVED_CFA;
		rule->bp_off = (int16_t)frame->saved_off;
		if (rule->bp_off != frame->saved_off) {
			rule->bp = WCBPF_SAVED_LOST;
			rule->bp_off = 0;
		}
	}
}

/* Has rbp been given back already, with the frame still there? */
static bool is_restored(const struct objfile_go_frame *frame, uint64_t pc, uint64_t range_start)
{
	for (size_t i = 0; i < frame->restored_n; i++) {
		if (frame->restored_from[i] > range_start && frame->restored_from[i] <= pc)
			return true;
	}
	return false;
}

/* range_start: since where delta is that. */
static struct wcbpf_rule rule_at(const struct function *fn, uint64_t pc, int32_t delta, uint64_t range_start)
{
	const struct objfile_go_frame *frame = &fn->frame;
	struct wcbpf_rule rule = { .cfa = WCBPF_CFA_SP, .cfa_off = delta + 8, .bx = WCBPF_SAVED_LOST };
	bool switched = frame->switch_from && pc >= frame->switch_from;

	if (fn->sort == FIRST)
		return stop;
	if (fn->sort == RETURNS_TO_KERNEL)
		return (struct wcbpf_rule){ .cfa = WCBPF_CFA_SIGNAL, .cfa_off = SIGCONTEXT };
	if (delta < 0 || (fn->f.sp_write && !fn->frame_known))
		return rule_unsupported;
	rule_bp(fn, pc, delta, &rule);
	if (!switched)
		return rule;
	if (fn->sort == FIRST_WHEN_SWITCHED)
		return stop;
	if (fn->sort == KEEPS_TABLE) {
		rule.bp = WCBPF_SAVED_LOST;
		rule.bp_off = 0;
		return rule;
	}
	if (!frame->pointer_from || pc < frame->pointer_from)
		return rule_unsupported;
	/* The frame is being taken down: back on the stack that it came from. */
	if (delta <= frame->saved_above || is_restored(frame, pc, range_start))
		return rule;
	rule.cfa = WCBPF_CFA_BP_SWITCH;
	rule.cfa_off = frame->pointer_off;
	return rule;
}

/* The first address after at where another rule may begin, at most end. */
static uint64_t next_change(const struct objfile_go_frame *frame, uint64_t at, uint64_t end)
{
	const uint64_t points[] = { frame->saved_from, frame->pointer_from, frame->switch_from };

	for (size_t i = 0; i < sizeof(points) / sizeof(*points); i++) {
		if (points[i] > at && points[i] < end)
			end = points[i];
	}
	for (size_t i = 0; i < frame->restored_n; i++) {
		if (frame->restored_from[i] > at && frame->restored_from[i] < end)
			end = frame->restored_from[i];
	}
	return end;
}

/* The rules from start on, up to end, where the stack pointer is delta below the function's begin. */
static int put_range(struct build *b, const struct function *fn, const struct objfile_go_sp *sp)
{
	uint64_t at = sp->start;

	while (at < sp->end) {
		struct wcbpf_rule rule = rule_at(fn, at, sp->delta, sp->start);
		int err = rows_put(&b->rows, at, &rule);

		if (err)
			return err;
		at = next_change(&fn->frame, at, sp->end);
	}
	return 0;
}

/*
 * The return address of a handler is the trampoline's first instruction, and is
 * looked up like any other, one byte before: so its rule begins there, if that
 * byte is no instruction's.
 */
static int put_trampoline(struct build *b, const struct function *fn)
{
	struct wcbpf_rule rule = rule_at(fn, fn->f.start, 0, fn->f.start);
	const uint8_t *before;

	if (fn->f.start == b->start || window_get(&b->window, fn->f.start - 1, 1, b->end, &before) || *before != PADDING)
		return rows_put(&b->rows, fn->f.start, &rule);
	return rows_put(&b->rows, fn->f.start - 1, &rule);
}

/* A function that can't be read has no rules; that goes for damaged tables too. */
static int put_function(struct build *b, size_t i)
{
	static const struct wcbpf_rule none;
	struct function fn = { 0 };
	struct objfile_go_sp_walk walk;
	struct objfile_go_sp sp;
	const uint8_t *code;
	size_t n;
	int r;

	if (objfile_go_function_at(b->go, i, &fn.f) || fn.f.start == fn.f.end)
		return 0;
	n = fn.f.end - fn.f.start;
	fn.sort = function_sort(fn.f.name);
	if (fn.sort == RETURNS_TO_KERNEL)
		return put_trampoline(b, &fn);
	r = window_get(&b->window, fn.f.start, n, b->end, &code);
	if (r == -ENOMEM)
		return r;
	fn.frame_known = !r && !objfile_go_frame(b->go, &fn.f, code, n, &fn.frame);
	r = objfile_go_sp_begin(b->go, &fn.f, &walk);
	if (!r)
		r = objfile_go_sp_next(&walk, &sp);
	if (r != 1)
		return rows_put(&b->rows, fn.f.start, &none);
	for (; r == 1; r = objfile_go_sp_next(&walk, &sp)) {
		int err = put_range(b, &fn, &sp);

		if (err)
			return err;
	}
	/* What follows up to the next function is padding, never run. */
	return r ? rows_put(&b->rows, walk.pc, &none) : 0;
}

int go_rows(struct objfile *o, struct unwind_rows **ret)
{
	_cleanup_(objfile_go_freep) struct objfile_go *go = NULL;
	_cleanup_(build_done) struct build b = { 0 };
	static const struct wcbpf_rule none;
	int err = objfile_go_open(o, &go);

	if (err)
		return err == -ENOMEM ? err : -ENOENT;
	b.go = go;
	b.window.o = o;
	objfile_go_text(go, &b.start, &b.end);
	err = rows_begin(&b.rows);
	for (size_t i = 0; !err && i < objfile_go_function_n(go); i++)
		err = put_function(&b, i);
	if (!err)
		err = rows_put(&b.rows, b.end, &none);
	return err ? err : rows_end(&b.rows, ret);
}
