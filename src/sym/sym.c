/* SPDX-License-Identifier: (LGPL-2.1 OR BSD-2-Clause) */
/*
 * Thousands of stacks share their frames, so each distinct address is looked
 * up and demangled once: in the kernel by address, in files by the address
 * within the file, whatever process and bias it came from.
 */
#include "sym/sym.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "objfile/objfile.h"
#include "sym/fetch.h"
#include "sym/jit.h"
#include "sym/module.h"
#include "sym/state.h"
#include "util/cleanup.h"
#include "util/text.h"
#include "util/vec.h"

#define NOTES_MAX 64
#define STUB "@plt" /* at the end of a stub's name */
#define SOURCE_BYTES_MAX (192u << 20)

DEFINE_CLEANUP(struct sym *, sym_free)

int sym_new(const struct proc_maps *maps, const struct ksyms *ksyms, struct sym **ret)
{
	_cleanup_(sym_freep) struct sym *s = calloc(1, sizeof(*s));
	int err;

	if (!s)
		return -ENOMEM;
	s->maps = maps;
	s->ksyms = ksyms;
	s->source_bytes_max = SOURCE_BYTES_MAX;
	err = strtab_new(&s->names);
	if (!err)
		err = map_new(&s->kernel);
	if (!err)
		err = map_new(&s->jits);
	if (err)
		return err;
	*ret = TAKE_PTR(s);
	return 0;
}

struct sym *sym_free(struct sym *s)
{
	if (!s)
		return NULL;
	jit_free_all(s);
	map_free(s->stored);
	fetch_free(s->fetch);
	for (size_t i = 0; i < s->dir_n; i++)
		free(s->dirs[i]);
	free(s->dirs);
	for (size_t i = 0; i < s->note_n; i++)
		free(s->notes[i]);
	free(s->notes);
	sym_answers_free(s->kernel);
	module_free_all(s);
	strtab_free(s->names);
	free(s);
	return NULL;
}

const char *sym_keep(struct sym *s, const char *name)
{
	uint32_t id;

	return strtab_intern(s->names, name, &id) ? NULL : strtab_str(s->names, id);
}

const char *sym_readable(struct sym *s, const char *raw)
{
	size_t n = strlen(raw), function_n = n > strlen(STUB) && !strcmp(raw + n - strlen(STUB), STUB) ? n - strlen(STUB) : n;
	_cleanup_(freep) char *function = strndup(raw, function_n);
	_cleanup_(freep) char *demangled = function ? objfile_demangle(function) : NULL;
	_cleanup_(freep) char *whole = NULL;

	if (!demangled)
		return sym_keep(s, raw);
	whole = text_format("%s%s", demangled, raw + function_n);
	return whole ? sym_keep(s, whole) : NULL;
}

void sym_note(struct sym *s, const char *format, ...)
{
	_cleanup_(freep) char *line = NULL;
	va_list args;

	va_start(args, format);
	line = text_vformat(format, args);
	va_end(args);
	if (!line)
		return;
	for (size_t i = 0; i < s->note_n; i++)
		if (!strcmp(s->notes[i], line))
			return;
	if (s->note_n == NOTES_MAX || VEC_RESERVE(s->notes, s->note_cap, s->note_n + 1) < 0)
		return;
	s->notes[s->note_n++] = TAKE_PTR(line);
}

size_t sym_notes(const struct sym *s, const char *const **ret)
{
	*ret = (const char *const *)s->notes;
	return s->note_n;
}

struct answer *sym_answer_add(struct map *answers, uint64_t key)
{
	_cleanup_(freep) struct answer *a = calloc(1, sizeof(*a));

	if (!a || map_put_ptr(answers, key, a))
		return NULL;
	return TAKE_PTR(a);
}

struct map *sym_answers_free(struct map *answers)
{
	uint64_t key, p;

	for (size_t at = 0; answers && map_next(answers, &at, &key, &p);) {
		struct answer *a = (struct answer *)(uintptr_t)p;

		free(a->inlined);
		free(a);
	}
	return map_free(answers);
}

size_t sym_answer_frames(const struct answer *a, const struct sym_frame *frame, struct sym_frame *ret, size_t ret_max)
{
	size_t n = 1 + (size_t)a->inlined_n, skip = n > ret_max ? n - ret_max : 0;

	for (size_t i = skip; i < n; i++) {
		bool inlined = i < a->inlined_n;
		const struct sym_function *f = inlined ? &a->inlined[i] : &a->own;
		struct sym_frame one = *frame;

		one.name = f->name;
		one.file = f->file;
		one.line = f->line;
		one.inlined = inlined;
		one.alias_n = f->alias_n;
		one.offset = f->name && f->start ? (uint32_t)(frame->address - f->start) : 0;
		ret[i - skip] = one;
	}
	return n - skip;
}
