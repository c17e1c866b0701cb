/* SPDX-License-Identifier: (LGPL-2.1 OR BSD-2-Clause) */
/*
 * Folded lines, map text, the summary and exports show the same stacks in another
 * order and dress. What a frame is called, and which word stands for frames
 * that are missing, is decided here once.
 */
#include <inttypes.h>
#include <string.h>

#include "model/model.h"
#include "util/cleanup.h"
#include "util/escape.h"
#include "util/text.h"

/*
 * The word at the root side, NULL: the walk came to an end there. A guess at a frame, or a walk by frame pointers
 * alone, has no word here: that would be on every line of some recordings, and no frame is missing for sure.
 */
static const char *marker(const struct model *m, uint32_t stack)
{
	static const char *const ends[] = { "complete", "guessed", "fp" };
	const struct model_stack *s;
	const char *ended;

	if (stack >= m->stack_n || !m->stacks[stack].resolved)
		return "[lost stack]";
	s = &m->stacks[stack];
	ended = strtab_str(m->strings, s->ended_id);
	if (!strcmp(ended, "truncated"))
		return "[truncated]";
	if (!s->frame_n)
		return "[unknown]";
	for (size_t i = 0; i < sizeof(ends) / sizeof(ends[0]); i++)
		if (!strcmp(ended, ends[i]))
			return NULL;
	return "[incomplete]";
}

/* Frames that have a body; an unresolved stack's are not looked at. */
static size_t body_n(const struct model *m, uint32_t stack)
{
	return stack < m->stack_n && m->stacks[stack].resolved ? m->stacks[stack].frame_n : 0;
}

size_t model_stack_entry_n(const struct model *m, uint32_t stack)
{
	if (!stack)
		return 0;
	return body_n(m, stack) + (marker(m, stack) ? 1 : 0);
}

/* "libc.so.6" of "/usr/lib/libc.so.6", "vdso" of "[vdso]", "anon" of "//anon". */
static void append_module(struct text *t, const char *path, enum model_entry_style style)
{
	_cleanup_(text_done) struct text name = {0};
	const char *slash = strrchr(path, '/');
	const char *base = slash ? slash + 1 : path;
	size_t n = strlen(base);

	if (n > 2 && base[0] == '[' && base[n - 1] == ']') {
		base++;
		n -= 2;
	}
	text_append_n(&name, base, n);
	if (style == ENTRY_EXACT)
		text_append(t, text_str(&name));
	else
		escape_frame(t, text_str(&name));
	t->failed |= name.failed;
}

void model_stack_entry_append(struct text *t, const struct model *m, uint32_t stack, size_t i, enum model_entry_style style)
{
	const struct model_frame *f;

	if (i >= body_n(m, stack)) {
		const char *word = marker(m, stack);

		text_append(t, word ? word : "[unknown]");
		return;
	}
	f = &m->stacks[stack].frames[i];
	if (f->name_id) {
		const char *name = strtab_str(m->strings, f->name_id);

		if (style == ENTRY_EXACT)
			text_append(t, name);
		else
			escape_frame(t, name);
		if (style == ENTRY_MAP)
			text_appendf(t, "+%" PRIu32, f->offset);
	} else if (f->module && f->module < m->module_n) {
		text_append(t, "[");
		append_module(t, strtab_str(m->strings, m->modules[f->module].path_id), style);
		text_appendf(t, "+0x%" PRIx64 "]", f->address);
	} else {
		text_append(t, "[unknown]");
	}
}

const struct model_frame *model_stack_entry_frame(const struct model *m, uint32_t stack, size_t i)
{
	return i < body_n(m, stack) ? &m->stacks[stack].frames[i] : NULL;
}
