/* SPDX-License-Identifier: (LGPL-2.1 OR BSD-2-Clause) */
/*
 * Thread names, paths and symbols are the target's to choose. On a terminal
 * an escape sequence in one would act, so nothing but printable characters
 * gets out.
 */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "cmd/report.h"
#include "util/cleanup.h"
#include "util/text.h"

enum { FRAME_COLUMNS_MAX = 44 };

/* Ends of lines and paragraphs, and what turns the direction of text that stands beside it: U+200E-F, 2028-E, 2066-9. */
static bool turns_text(const unsigned char *s)
{
	if (s[0] != 0xe2)
		return false;
	return (s[1] == 0x80 && (s[2] == 0x8e || s[2] == 0x8f || (s[2] >= 0xa8 && s[2] <= 0xae))) ||
	       (s[1] == 0x81 && s[2] >= 0xa6 && s[2] <= 0xa9);
}

/* Bytes of the character at s, 0 if it is none or is not printable (C0, DELETE, C1, other than well-formed UTF-8). */
static size_t printable_len(const unsigned char *s)
{
	size_t len = s[0] < 0x80 ? 1 : s[0] < 0xc2 ? 0 : s[0] < 0xe0 ? 2 : s[0] < 0xf0 ? 3 : s[0] < 0xf5 ? 4 : 0;

	if (len == 1)
		return s[0] >= 0x20 && s[0] != 0x7f ? 1 : 0;
	for (size_t i = 1; i < len; i++) {
		if ((s[i] & 0xc0) != 0x80)
			return 0;
	}
	/* C1 controls; shorter forms, surrogates and what lies above Unicode. */
	if ((s[0] == 0xc2 && s[1] < 0xa0) || (s[0] == 0xe0 && s[1] < 0xa0) || (s[0] == 0xed && s[1] > 0x9f) ||
	    (s[0] == 0xf0 && s[1] < 0x90) || (s[0] == 0xf4 && s[1] > 0x8f) || turns_text(s))
		return 0;
	return len;
}

static unsigned characters(const char *name)
{
	const unsigned char *s = (const unsigned char *)name;
	unsigned n = 0;

	while (*s) {
		size_t len = printable_len(s);

		s += len ? len : 1;
		n++;
	}
	return n;
}

/*
 * Of "github.com/org/repo/pkg.(*Type).Method" what is behind the directories: the end of such a name tells it from its
 * like, and a part of it is enough wherever one is asked for.
 */
static const char *without_directories(const char *name)
{
	const char *end = name + strcspn(name, "([{ :"), *last = NULL;

	for (const char *s = name; s < end; s++)
		last = *s == '/' ? s : last;
	return *name != '/' && last && memchr(last, '.', (size_t)(end - last)) ? last + 1 : name;
}

unsigned report_name_print(FILE *f, const char *name, unsigned columns)
{
	bool cut = columns && characters(name) > columns;
	const unsigned char *s = (const unsigned char *)(cut ? name = without_directories(name) : name);
	unsigned n = 0, room;

	cut = cut && characters(name) > columns;
	room = cut && columns > 2 ? columns - 2 : columns;
	for (; *s && (!columns || n < room); n++) {
		size_t len = printable_len(s);

		if (len)
			fwrite(s, 1, len, f);
		else
			fputc('?', f);
		s += len ? len : 1;
	}
	if (!cut || columns <= 2)
		return n;
	fputs("..", f);
	return n + 2;
}

unsigned report_path_print(FILE *f, const char *path, unsigned columns)
{
	unsigned n = characters(path);

	if ((*path != '/' && strncmp(path, "futex:", 6) != 0) || n <= columns || columns <= 2)
		return report_name_print(f, path, columns);
	for (; n > columns - 2; n--) {
		size_t len = printable_len((const unsigned char *)path);

		path += len ? len : 1;
	}
	fputs("..", f);
	return report_name_print(f, path, 0) + 2;
}

/* Where a C++ name's parameter list begins, or its length: "ns::f(int, char) const" is cut behind f. */
static size_t name_without_parameters(const char *name)
{
	size_t n = strlen(name), at;
	int depth = 0;

	at = n;
	if (at > 6 && strcmp(name + at - 6, " const") == 0)
		at -= 6;
	if (!at || name[at - 1] != ')')
		return n;
	while (at--) {
		depth += name[at] == ')' ? 1 : name[at] == '(' ? -1 : 0;
		if (!depth)
			return at && strncmp(name + (at >= 8 ? at - 8 : 0), "operator", 8) != 0 ? at : n;
	}
	return n;
}

char *report_frame_name(const struct model *m, const struct model_frame *frame, bool shortened)
{
	const char *name = strtab_str(m->strings, frame->name_id), *path, *slash;

	if (*name)
		return shortened ? strndup(name, name_without_parameters(name)) : strdup(name);
	path = strtab_str(m->strings, m->modules[frame->module].path_id);
	slash = strrchr(path, '/');
	return *path ? text_format("%s+0x%" PRIx64, slash && slash[1] ? slash + 1 : path, frame->address)
		     : text_format("0x%" PRIx64, frame->address);
}

/* Every kernel stack of a switched-out thread begins so. */
static bool frame_says_nothing(const char *name)
{
	return strcmp(name, "__schedule") == 0 || strcmp(name, "schedule") == 0;
}

struct name_suffix {
	char text[24];
};

/* On the one page it would cost a caller. */
static struct name_suffix aliases_of(const struct report *r, const struct model_frame *frame)
{
	struct name_suffix s = { "" };

	if (frame->alias_n && (r->o->sections || r->o->everything))
		snprintf(s.text, sizeof(s.text), " (+%u name%s)", frame->alias_n, frame->alias_n == 1 ? "" : "s");
	return s;
}

static bool is_libc(const struct model *m, const struct model_frame *frame)
{
	const char *path = strtab_str(m->strings, m->modules[frame->module].path_id), *slash = strrchr(path, '/');
	const char *name = slash ? slash + 1 : path;

	return strncmp(name, "libc.so", 7) == 0 || strncmp(name, "libc-2.", 7) == 0 ||
	       strncmp(name, "libpthread", 10) == 0 || strncmp(name, "ld-musl", 7) == 0;
}

/* The place of the last of libc's functions before the program's first; 0 if there are none. */
static uint32_t libc_entry(const struct model *m, const struct model_stack *s)
{
	uint32_t n = 0;

	while (n < s->frame_n && is_libc(m, &s->frames[n]))
		n++;
	return n && n < s->frame_n ? n - 1 : 0;
}

static void frames_print(FILE *f, const struct report *r, const struct model_stack *s, uint32_t first, bool kernel,
			 unsigned columns);

void report_stack_print(FILE *f, const struct report *r, uint32_t kstack, uint32_t ustack, unsigned columns)
{
	bool kernel = !r->m->stacks[ustack].frame_n;

	frames_print(f, r, &r->m->stacks[kernel ? kstack : ustack], 0, kernel && (kstack || ustack), columns);
}

void report_caller_print(FILE *f, const struct report *r, uint32_t kstack, uint32_t ustack, unsigned columns)
{
	const struct model_stack *u = &r->m->stacks[ustack];

	if (u->frame_n)
		frames_print(f, r, u, libc_entry(r->m, u), false, columns);
	else
		report_stack_print(f, r, kstack, ustack, columns);
}

/* The innermost is told however little room there is, if need be cut. */
static unsigned first_columns(unsigned columns, unsigned taken)
{
	unsigned room = columns > taken + 8 ? columns - taken : 8;

	return room < FRAME_COLUMNS_MAX ? room : FRAME_COLUMNS_MAX;
}

/* From a frame on; kernel: of the kernel's, or, without frames, lost. */
static void frames_print(FILE *f, const struct report *r, const struct model_stack *s, uint32_t first, bool kernel,
			 unsigned columns)
{
	const struct model *m = r->m;
	unsigned used = 0;
	bool any = false;

	if (!s->frame_n) {
		fputs(kernel ? "[stack lost]" : "[no stack]", f);
		return;
	}
	if (kernel)
		used += (unsigned)fprintf(f, "[kernel] ");
	for (uint32_t i = first; i < s->frame_n; i++) {
		_cleanup_(freep) char *name = report_frame_name(m, &s->frames[i], true);
		struct name_suffix aliases = aliases_of(r, &s->frames[i]);
		unsigned width, more = i + 1 < s->frame_n ? 5 : 0; /* room for " < .." */

		if (!name || (kernel && i + 1 < s->frame_n && frame_says_nothing(name)))
			continue;
		width = characters(name);
		width = (width < FRAME_COLUMNS_MAX ? width : FRAME_COLUMNS_MAX) + (unsigned)strlen(aliases.text);
		if (any && used + 3 + width + more > columns) {
			fputs(" < ..", f);
			return;
		}
		if (any)
			used += (unsigned)fprintf(f, " < ");
		used += report_name_print(f, name, any ? FRAME_COLUMNS_MAX : first_columns(columns, used + more));
		any = true;
		used += (unsigned)fprintf(f, "%s", aliases.text);
	}
}
