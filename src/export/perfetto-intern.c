/* SPDX-License-Identifier: (LGPL-2.1 OR BSD-2-Clause) */
/*
 * Names and stacks are written once, in the packet that first refers to them,
 * and are numbers from then on (perfetto's interned_data.proto).
 */
#include "export/perfetto.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "util/cleanup.h"

/* Fields of InternedData. */
enum { DATA_CATEGORY = 1, DATA_NAME = 2, DATA_ANNOTATION = 3, DATA_FUNCTION = 5, DATA_FRAME = 6, DATA_STACK = 7,
       DATA_BUILD_ID = 16, DATA_PATH = 17, DATA_MAPPING = 19, DATA_VALUE = 29 };
enum { ENTRY_NUMBER = 1, ENTRY_TEXT = 2 };
enum { MAPPING_BUILD_ID = 2, MAPPING_PATH = 7 };
enum { FRAME_FUNCTION = 2, FRAME_MAPPING = 3, FRAME_PC = 4, FRAME_LINE = 6 };
enum { STACK_FRAME = 2 };

int perfetto_string(struct trace *t, enum perfetto_strings kind, const char *s, uint32_t *ret)
{
	static const unsigned fields[PERFETTO_STRINGS_MAX] = {
		[PERFETTO_CATEGORY] = DATA_CATEGORY, [PERFETTO_NAME] = DATA_NAME,	  [PERFETTO_ANNOTATION] = DATA_ANNOTATION,
		[PERFETTO_VALUE] = DATA_VALUE,	     [PERFETTO_FUNCTION] = DATA_FUNCTION, [PERFETTO_PATH] = DATA_PATH,
	};
	uint32_t text;
	bool is_new;
	size_t at;

	if (strtab_intern(t->texts, s, &text) < 0 || pairs_intern(&t->strings[kind], text, 0, ret, &is_new) < 0)
		return -ENOMEM;
	if (!is_new)
		return 0;
	at = proto_begin(&t->interned, fields[kind]);
	proto_uint(&t->interned, ENTRY_NUMBER, *ret);
	proto_string(&t->interned, ENTRY_TEXT, s);
	proto_end(&t->interned, at);
	return 0;
}

/* The build id as bytes. */
static void build_id_put(struct trace *t, uint32_t number, const char *hex)
{
	size_t at = proto_begin(&t->interned, DATA_BUILD_ID), bytes;
	unsigned byte;

	proto_uint(&t->interned, ENTRY_NUMBER, number);
	bytes = proto_begin(&t->interned, ENTRY_TEXT);
	for (; sscanf(hex, "%2x", &byte) == 1 && hex[1]; hex += 2)
		text_append_n(&t->interned, (const char[]){ (char)byte }, 1);
	proto_end(&t->interned, bytes);
	proto_end(&t->interned, at);
}

/* Of no file: a mapping of our own, since readers drop stacks with a frame that has none. */
static int mapping_at(struct trace *t, uint32_t module, uint32_t *ret)
{
	const struct model_module *o = &t->m->modules[module];
	const char *path = module ? strtab_str(t->m->strings, o->path_id) : "";
	const char *build_id = module ? strtab_str(t->m->strings, o->build_id_id) : "";
	uint32_t path_number;
	size_t at;

	*ret = t->mappings[module];
	if (*ret)
		return 0;
	if (perfetto_string(t, PERFETTO_PATH, *path ? path : "[unknown]", &path_number) < 0)
		return -ENOMEM;
	*ret = t->mappings[module] = ++t->mapping_n;
	if (*build_id)
		build_id_put(t, *ret, build_id);
	at = proto_begin(&t->interned, DATA_MAPPING);
	proto_uint(&t->interned, ENTRY_NUMBER, *ret);
	if (*build_id)
		proto_uint(&t->interned, MAPPING_BUILD_ID, *ret);
	proto_uint(&t->interned, MAPPING_PATH, path_number);
	proto_end(&t->interned, at);
	return 0;
}

static int frame_at(struct trace *t, uint32_t stack, size_t i, uint32_t *ret)
{
	const struct model_frame *f = model_stack_entry_frame(t->m, stack, i);
	uint32_t module = f && f->module < t->m->module_n ? f->module : 0;
	uint64_t address = f ? f->address : 0;
	_cleanup_(text_done) struct text name = { 0 };
	uint32_t function, mapping, spot, place;
	bool is_new;
	size_t at;

	model_stack_entry_append(&name, t->m, stack, i, ENTRY_EXACT);
	if (text_error(&name) < 0 || perfetto_string(t, PERFETTO_FUNCTION, text_str(&name), &function) < 0 ||
	    mapping_at(t, module, &mapping) < 0 ||
	    pairs_intern(&t->frame_spots, (uint32_t)(address >> 32), (uint32_t)address, &spot, NULL) < 0 ||
	    pairs_intern(&t->frame_places, mapping, spot, &place, NULL) < 0 ||
	    pairs_intern(&t->frames, place, function, ret, &is_new) < 0)
		return -ENOMEM;
	if (!is_new)
		return 0;
	at = proto_begin(&t->interned, DATA_FRAME);
	proto_uint(&t->interned, ENTRY_NUMBER, *ret);
	proto_uint(&t->interned, FRAME_FUNCTION, function);
	proto_uint(&t->interned, FRAME_MAPPING, mapping);
	proto_uint(&t->interned, FRAME_PC, address);
	if (f && f->line)
		proto_uint(&t->interned, FRAME_LINE, f->line);
	proto_end(&t->interned, at);
	return 0;
}

/* Appends the numbers of a stack's frames, outermost first. */
static int frames_put(struct trace *t, uint32_t stack, struct text *to)
{
	uint32_t frame;

	for (size_t i = model_stack_entry_n(t->m, stack); i-- > 0;) {
		if (frame_at(t, stack, i, &frame) < 0)
			return -ENOMEM;
		proto_uint(to, STACK_FRAME, frame);
	}
	return 0;
}

int perfetto_stack(struct trace *t, uint32_t ustack, uint32_t kstack, uint32_t *ret)
{
	_cleanup_(text_done) struct text frames = { 0 };
	uint32_t number;
	bool is_new;
	size_t at;

	if (!model_stack_entry_n(t->m, ustack) && !model_stack_entry_n(t->m, kstack)) {
		*ret = 0;
		return 0;
	}
	if (pairs_intern(&t->stacks, ustack, kstack, &number, &is_new) < 0)
		return -ENOMEM;
	if (is_new) {
		if (frames_put(t, ustack, &frames) < 0 || frames_put(t, kstack, &frames) < 0 || text_error(&frames) < 0)
			return -ENOMEM;
		at = proto_begin(&t->interned, DATA_STACK);
		proto_uint(&t->interned, ENTRY_NUMBER, number);
		text_append_n(&t->interned, text_str(&frames), frames.n);
		proto_end(&t->interned, at);
	}
	*ret = number;
	return 0;
}

enum { ANNOTATION_NAME = 1, ANNOTATION_INT = 4, ANNOTATION_STRING_NUMBER = 17 };

int perfetto_annotate(struct trace *t, const char *key, const char *value)
{
	uint32_t name, text;
	size_t at;

	if (!*value)
		return 0;
	if (perfetto_string(t, PERFETTO_ANNOTATION, key, &name) < 0 ||
	    perfetto_string(t, PERFETTO_VALUE, value, &text) < 0)
		return -ENOMEM;
	at = proto_begin(&t->packet, EVENT_ANNOTATION);
	proto_uint(&t->packet, ANNOTATION_NAME, name);
	proto_uint(&t->packet, ANNOTATION_STRING_NUMBER, text);
	proto_end(&t->packet, at);
	return 0;
}

int perfetto_annotate_int(struct trace *t, const char *key, int64_t value)
{
	uint32_t name;
	size_t at;

	if (perfetto_string(t, PERFETTO_ANNOTATION, key, &name) < 0)
		return -ENOMEM;
	at = proto_begin(&t->packet, EVENT_ANNOTATION);
	proto_uint(&t->packet, ANNOTATION_NAME, name);
	proto_int(&t->packet, ANNOTATION_INT, value);
	proto_end(&t->packet, at);
	return 0;
}
