/* SPDX-License-Identifier: (LGPL-2.1 OR BSD-2-Clause) */
#include "steps.h"

#include <criterion/criterion.h>
#include <stdio.h>
#include <string.h>

#include "target.h"
#include "util/cleanup.h"
#include "util/map.h"

#define FILES_MAX 4
#define DEPTH_MAX 4096
#define RED_FLAGS_MAX 12 /* failures that are told one by one */

DEFINE_CLEANUP(struct objfile *, objfile_free)

struct function {
	const struct objfile_name *name;
	struct file *file;
	bool scanned, known, seen;
	struct objfile_scan scan;
};

struct file {
	struct objfile *o, *debug;
	struct objfile_names *names;
	struct objfile_code *code;
	uint64_t bias;
};

struct frame {
	uint64_t cfa;
	struct function *f; /* NULL: not looked at */
	const struct objfile_exit *exit; /* that it stands at */
	unsigned int entries;
};

struct run {
	struct target t;
	struct file files[FILES_MAX];
	size_t file_n;
	struct map *functions; /* address in memory -> struct function */
	struct frame frames[DEPTH_MAX];
	size_t depth;
	struct steps_result result;
};

static void add_file(struct run *r, const char *path, const char *part)
{
	struct file *file = &r->files[r->file_n++];
	struct objfile_search search = { .path = path, .root_fd = -1 };
	const struct objfile_name *names;
	size_t n;

	cr_assert_eq(objfile_open_path(-1, path, &file->o), 0, "%s", path);
	if (objfile_open_debug(file->o, &search, &file->debug))
		file->debug = NULL;
	cr_assert_eq(objfile_read_symbols(file->o, file->debug), 0);
	cr_assert_eq(objfile_names_new(file->o, file->debug, &file->names), 0);
	cr_assert_eq(objfile_code_new(file->o, NULL, &file->code), 0);
	file->bias = target_bias(&r->t, file->o, part);
	n = objfile_names_all(file->names, &names);
	for (size_t i = 0; i < n; i++) {
		struct function *f;

		if (names[i].imported || map_get(r->functions, names[i].vaddr + file->bias, NULL))
			continue;
		f = calloc(1, sizeof(*f));
		f->name = &names[i];
		f->file = file;
		cr_assert_eq(map_put_ptr(r->functions, names[i].vaddr + file->bias, f), 0);
	}
}

static void run_done(struct run *r)
{
	uint64_t key, value;

	for (size_t at = 0; map_next(r->functions, &at, &key, &value);) {
		struct function *f = (struct function *)(uintptr_t)value;

		objfile_scan_done(&f->scan);
		free(f);
	}
	map_free(r->functions);
	for (size_t i = 0; i < r->file_n; i++) {
		objfile_code_free(r->files[i].code);
		objfile_names_free(r->files[i].names);
		objfile_free(r->files[i].debug);
		objfile_free(r->files[i].o);
	}
}

static struct function *function_at(struct run *r, uint64_t at)
{
	struct function *f = map_get_ptr(r->functions, at);
	struct objfile_why why;

	if (f && !f->scanned) {
		f->scanned = true;
		f->known = !objfile_code_scan(f->file->code, f->name->vaddr, f->name->size, 0, &f->scan, &why) &&
			   f->scan.exits_known;
	}
	return f;
}

static void wrong(struct run *r, const struct frame *frame, const char *what, uint64_t rip)
{
	if (r->result.wrong++ < RED_FLAGS_MAX)
		cr_expect_fail("%s: %s at %#lx", frame->f->name->name, what, rip - frame->f->file->bias);
}

static void push(struct run *r, uint64_t cfa, uint64_t rip)
{
	struct function *f = function_at(r, rip);

	cr_assert_lt(r->depth, (size_t)DEPTH_MAX);
	if (f && !f->known) {
		r->result.unknown++;
		f = NULL;
	}
	r->frames[r->depth++] = (struct frame){ .cfa = cfa, .f = f };
}

static const struct objfile_exit *exit_at(const struct function *f, uint64_t rip)
{
	for (size_t i = 0; i < f->scan.exit_n; i++)
		if (f->scan.exits[i].at.vaddr + f->file->bias == rip)
			return &f->scan.exits[i];
	return NULL;
}

/* It stands in front of an instruction. */
static void look_before(struct run *r, uint64_t rip)
{
	struct frame *top = &r->frames[r->depth - 1];

	if (!top->f)
		return;
	if (rip == top->f->scan.entry.vaddr + top->f->file->bias) {
		top->entries++;
		if (target_cfa(&r->t, &top->f->scan.entry) != top->cfa)
			wrong(r, top, "another CFA than told at the entry", rip);
	}
	top->exit = exit_at(top->f, rip);
	if (!top->exit)
		return;
	if (top->exit->condition != OBJFILE_ALWAYS && !target_condition(&r->t, top->exit->condition))
		top->exit = NULL;
	else if (target_cfa(&r->t, &top->exit->at) != top->cfa)
		wrong(r, top, "another CFA than told at the exit", rip);
}

static void check_frame(struct run *r, const struct frame *frame, uint64_t rip)
{
	struct function *f = frame->f;

	r->result.calls++;
	r->result.functions += !f->seen;
	f->seen = true;
	r->result.tails += frame->exit->tail;
	r->result.conditional += frame->exit->condition != OBJFILE_ALWAYS;
	if (!frame->entries || (frame->entries > 1 && !f->scan.entry.repeats))
		wrong(r, frame, frame->entries ? "more than one entry" : "no entry", rip);
}

static bool is_call(const struct run *r, const struct target_state *was, const struct target_state *is)
{
	uint64_t back = target_word(&r->t, is->reg[7]);

	return is->reg[7] == was->reg[7] - 8 && back > was->rip && back <= was->rip + 15 &&
	       (is->rip < was->rip || is->rip > was->rip + 15);
}

/* It has run one. */
static void look_after(struct run *r, const struct target_state *was, const struct target_state *is)
{
	struct frame *top = &r->frames[r->depth - 1];

	if (is_call(r, was, is)) {
		push(r, is->reg[7] + 8, is->rip);
		return;
	}
	if (top->f && top->exit) {
		struct frame left = *top;

		check_frame(r, &left, was->rip);
		r->depth--;
		if (left.exit->tail)
			push(r, is->reg[7] + 8, is->rip);
		return;
	}
	/* The return address is gone. */
	if (is->reg[7] >= top->cfa) {
		if (top->f && is->reg[7] == top->cfa)
			wrong(r, top, "returned where there is no exit", was->rip);
		while (r->depth && r->frames[r->depth - 1].cfa <= is->reg[7]) {
			r->result.unwound += is->reg[7] > r->frames[r->depth - 1].cfa;
			r->depth--;
		}
		return;
	}
	if (is->reg[7] + 8 != top->cfa || !function_at(r, is->rip) || function_at(r, is->rip) == top->f)
		return;
	if (top->f) {
		/* An alias of it, or a loop to its first instruction. */
		if (is->rip != top->f->name->vaddr + top->f->file->bias)
			wrong(r, top, "went to another function where there is no exit", was->rip);
		return;
	}
	/* A stub, or code that isn't known, has led to a function. */
	r->depth--;
	push(r, is->reg[7] + 8, is->rip);
}

void steps_run(const char *program, const char *const *libraries, struct steps_result *ret)
{
	static struct run r;
	struct target_state was, is;
	const struct objfile_name *main_name;
	char path[256];

	memset(&r, 0, sizeof(r));
	cr_assert_eq(map_new(&r.functions), 0);
	target_start(&r.t, program, NULL);
	add_file(&r, program, program);
	cr_assert_eq(objfile_names_find(r.files[0].names, "main", &main_name), 1);
	target_break(&r.t, main_name->vaddr + r.files[0].bias);
	cr_assert_eq(target_run(&r.t), 0);
	for (; *libraries; libraries++) {
		snprintf(path, sizeof(path), "/usr/lib/x86_64-linux-gnu/%s", *libraries);
		add_file(&r, path, *libraries);
	}
	target_state(&r.t, &was);
	push(&r, was.reg[7] + 8, was.rip);
	while (r.depth) {
		look_before(&r, was.rip);
		cr_assert(target_step(&r.t), "%s has ended in main", program);
		target_state(&r.t, &is);
		look_after(&r, &was, &is);
		was = is;
		r.result.instructions++;
	}
	target_end(&r.t);
	*ret = r.result;
	run_done(&r);
}
