/* SPDX-License-Identifier: (LGPL-2.1 OR BSD-2-Clause) */
/*
 * A dump says where each frame lies in its file, and which build of the file
 * that was. So its names can be had at any time and on any machine that has the
 * file or its debug file. A frame that has a name keeps it.
 */
#include "cmd/report-symbols.h"

#include <errno.h>
#include <string.h>

#include "util/cleanup.h"
#include "util/log.h"
#include "util/vec.h"

struct frames {
	struct model_frame *v;
	size_t n, cap;
};

static void frames_done(struct frames *f)
{
	free(f->v);
}

DEFINE_CLEANUP(struct sym *, sym_free)

static int frame_put(struct model *m, const struct model_frame *was, const struct sym_frame *f, struct frames *to)
{
	struct model_frame frame = *was;
	int err = VEC_RESERVE(to->v, to->cap, to->n + 1);

	if (f && !err) {
		frame.offset = f->offset;
		frame.line = f->line & INT32_MAX;
		frame.inlined = f->inlined;
		frame.alias_n = f->alias_n;
		err = strtab_intern(m->strings, f->name, &frame.name_id);
		if (!err)
			err = strtab_intern(m->strings, f->file, &frame.file_id);
	}
	if (!err)
		to->v[to->n++] = frame;
	return err;
}

/* Frame i of a stack, as what it turns out to be. */
static int frame_name(struct model *m, struct sym *s, const struct model_stack *stack, uint32_t i,
		      struct symbols_counts *counts, struct frames *to)
{
	const struct model_frame *f = &stack->frames[i];
	const struct model_module *module = &m->modules[f->module < m->module_n ? f->module : 0];
	struct sym_frame found[SYM_FRAMES_MAX];
	size_t n;
	int err = 0;

	if (f->name_id || !f->module)
		return frame_put(m, f, NULL, to);
	if (stack->side == STACK_KERNEL) {
		counts->kernel++;
		return frame_put(m, f, NULL, to);
	}
	n = sym_stored(s, strtab_str(m->strings, module->path_id), strtab_str(m->strings, module->build_id_id), f->address,
		       i > 0, found, SYM_FRAMES_MAX);
	counts->nameless++;
	counts->named += n > 0;
	if (!n && !counts->first_missing)
		counts->first_missing = f->module;
	if (!n)
		return frame_put(m, f, NULL, to);
	for (size_t k = 0; k < n && !err; k++)
		err = frame_put(m, f, &found[k], to);
	return err;
}

int report_symbols_apply(struct model *m, struct sym *s, struct symbols_counts *ret)
{
	_cleanup_(frames_done) struct frames frames = { 0 };
	struct symbols_counts counts = { 0 };

	for (uint32_t at = 1; at < m->stack_n; at++) {
		const struct model_stack *stack = &m->stacks[at];
		size_t before = counts.named;
		int err = 0;

		frames.n = 0;
		for (uint32_t i = 0; i < stack->frame_n && !err; i++)
			err = frame_name(m, s, stack, i, &counts, &frames);
		if (!err && counts.named > before)
			err = model_stack_set(m, at, strtab_str(m->strings, stack->ended_id), frames.v, frames.n);
		if (err)
			return err;
	}
	*ret = counts;
	return 0;
}

int report_symbols_load(struct model *m, const char *const *dirs, size_t dir_n, bool fetch)
{
	_cleanup_(sym_freep) struct sym *s = NULL;
	struct symbols_counts counts;
	const char *const *notes;
	size_t note_n;
	int err = sym_open_later(dirs, dir_n, &s);

	if (!err && fetch)
		err = sym_fetch(s);
	if (err == -ENOENT) {
		log_warning("--debuginfod: libdebuginfod.so.1 can't be loaded, no server is asked; install libdebuginfod1");
		err = 0;
	}
	if (!err)
		err = report_symbols_apply(m, s, &counts);
	if (err)
		return err;
	note_n = sym_notes(s, &notes);
	for (size_t i = 0; i < note_n; i++)
		log_warning("%s", notes[i]);
	if (counts.named < counts.nameless)
		log_warning("%zu of %zu user frames without a name got one; for the others (the first in %s) there is no symbol, or "
			    "no file with the recorded build id",
			    counts.named, counts.nameless,
			    strtab_str(m->strings, m->modules[counts.first_missing].path_id));
	else
		log_info("%zu user frames without a name got one", counts.named);
	if (counts.kernel)
		log_info("%zu kernel frames have no names: they are looked up while recording only", counts.kernel);
	return 0;
}
