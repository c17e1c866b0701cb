/* SPDX-License-Identifier: (LGPL-2.1 OR BSD-2-Clause) */
/*
 * Paths are written as in the language that the program is in, or nearly: . and
 * -> are the same, and follow a pointer if there is one. See objfile.h for the
 * notation.
 */
#include <ctype.h>
#include <dwarf.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "objfile/types.h"
#include "objfile/why.h"

/* Bytes of UTF-8 too: Go's names may have them. */
static bool is_name_char(char c)
{
	return isalnum((unsigned char)c) || c == '_' || c == '~' || c & 0x80;
}

static bool read_name(const char **text, char ret[static PATH_NAME_MAX])
{
	size_t n = 0;

	while (is_name_char((*text)[n]))
		n++;
	if (!n || n >= PATH_NAME_MAX)
		return false;
	snprintf(ret, PATH_NAME_MAX, "%.*s", (int)n, *text);
	*text += n;
	return true;
}

/* A number behind a word; none is 0. False: too big. */
static bool read_number(const char **text, unsigned int *ret)
{
	char *end;
	unsigned long n;

	*ret = 0;
	if (!isdigit((unsigned char)**text))
		return true;
	n = strtoul(*text, &end, 10);
	*text = end;
	*ret = (unsigned int)n;
	return n && n <= 255;
}

int path_begin(const char *text, struct path *ret, struct objfile_why *ret_why)
{
	struct path p = { 0 };
	const char *at = text;
	bool ok;

	if (!strncmp(text, "$arg", 4)) {
		at += 4;
		ok = read_number(&at, &p.number) && p.number;
	} else if (!strncmp(text, "$retval", 7)) {
		at += 7;
		p.head = PATH_RESULT;
		ok = read_number(&at, &p.number);
		if (!p.number)
			p.number = 1;
	} else {
		p.head = PATH_NAMED;
		ok = read_name(&at, p.name);
	}
	if (!ok || is_name_char(*at))
		return why(ret_why, -EINVAL, "\"%s\" doesn't begin with $argN, $retval or an argument's name", text);
	p.rest = at;
	*ret = p;
	return 0;
}

static int next_index(const char **text, uint64_t *ret)
{
	char *end;

	if (!isdigit((unsigned char)(*text)[1]))
		return -EINVAL;
	errno = 0;
	*ret = strtoull(*text + 1, &end, 0);
	if (errno || *end != ']')
		return -EINVAL;
	*text = end + 1;
	return 0;
}

static int next_cast(const char **text, char ret_name[static PATH_NAME_MAX])
{
	const char *end = strchr(*text, '}');

	if (!end || end == *text + 1 || end - *text - 1 >= PATH_NAME_MAX)
		return -EINVAL;
	snprintf(ret_name, PATH_NAME_MAX, "%.*s", (int)(end - *text - 1), *text + 1);
	*text = end + 1;
	return 0;
}

int path_next(const char **text, enum path_step *ret, char ret_name[static PATH_NAME_MAX], uint64_t *ret_index,
	      struct objfile_why *ret_why)
{
	const char *at = *text;
	int err = 0;

	if (!*at) {
		*ret = PATH_END;
	} else if (*at == '.' || !strncmp(at, "->", 2)) {
		at += *at == '.' ? 1 : 2;
		err = read_name(&at, ret_name) ? 0 : -EINVAL;
		*ret = PATH_MEMBER;
	} else if (*at == '[') {
		err = next_index(&at, ret_index);
		*ret = PATH_INDEX;
	} else if (*at == '{') {
		err = next_cast(&at, ret_name);
		*ret = PATH_CAST;
	} else {
		err = -EINVAL;
	}
	if (err)
		return why(ret_why, err, "\"%s\" is no .FIELD, ->FIELD, [NUMBER] or {TYPE}", *text);
	*text = at;
	return 0;
}

/* What a pointer leads to is of this type now, if what is here is one. */
static int follow_pointer(struct cursor *c, Dwarf_Die *type, struct objfile_why *ret_why)
{
	Dwarf_Die peeled, of;
	int err = cursor_refer(c, type, ret_why);

	if (err || !type_peel(type, &peeled) || !type_is_pointer(&peeled))
		return err;
	if (!type_of(&peeled, &of))
		return why(ret_why, -ENOTSUP, "what void * leads to has no fields: {TYPE} says what it is");
	*type = of;
	return cursor_follow(c, ret_why);
}

/* Names for the words of strings, slices, interfaces, whatever their language calls them. */
static int find_member(struct objfile_types *t, Dwarf_Die *type, const char *name, struct steps *ret, Dwarf_Die *ret_type)
{
	static const char *const others[][2] = {
		{ "ptr", "str" }, { "ptr", "array" }, { "ptr", "data_ptr" }, { "len", "length" }, { "type", "tab" },
		{ "type", "_type" }, { "data", "pointer" }, { "type", "vtable" },
	};
	int err = member_find(t, type, name, ret, ret_type);

	for (size_t i = 0; err == -ENOENT && i < sizeof(others) / sizeof(*others); i++)
		if (!strcmp(others[i][0], name))
			err = member_find(t, type, others[i][1], ret, ret_type);
	return err;
}

static int walk_member(struct objfile_types *t, const char *name, struct cursor *c, Dwarf_Die *type,
		       struct objfile_why *ret_why)
{
	char text[128];
	struct steps steps;
	Dwarf_Die peeled;
	int err = follow_pointer(c, type, ret_why);

	if (err)
		return err;
	type_text(type, text, sizeof(text));
	if (!type_peel(type, &peeled) || !type_is_structure(&peeled))
		return why(ret_why, -ENOENT, "%s has no fields", text);
	if (types_complete(t, &peeled))
		return why(ret_why, -ENOENT, "%s is only declared in this file: its fields aren't known", text);
	err = find_member(t, &peeled, name, &steps, type);
	if (err == -ENOTSUP)
		return why(ret_why, err, "%s is a bit field that is in no number of up to 8 bytes", name);
	if (err)
		return why(ret_why, err, "%s has no field %s", text, name);
	for (size_t i = 0; !err && i < steps.n; i++) {
		err = cursor_move(c, (int64_t)steps.v[i].off, ret_why);
		if (!err && steps.v[i].follow)
			err = cursor_follow(c, ret_why);
	}
	c->bits = steps.bits;
	return err;
}

/* A slice's words are told by its first member, the pointer. */
static bool is_slice(struct objfile_types *t, Dwarf_Die *peeled)
{
	struct steps steps;
	Dwarf_Die unused;

	return type_is_structure(peeled) && ((!member_find(t, peeled, "array", &steps, &unused) &&
					      !member_find(t, peeled, "cap", &steps, &unused)) ||
					     (!member_find(t, peeled, "data_ptr", &steps, &unused) &&
					      !member_find(t, peeled, "length", &steps, &unused)));
}

static int walk_index(struct objfile_types *t, uint64_t index, struct cursor *c, Dwarf_Die *type,
		      struct objfile_why *ret_why)
{
	Dwarf_Die peeled, element;
	uint64_t size, n, off;
	int err = cursor_refer(c, type, ret_why);

	if (!err && type_peel(type, &peeled) && is_slice(t, &peeled))
		err = walk_member(t, "ptr", c, type, ret_why);
	if (err)
		return err;
	if (!type_peel(type, &peeled) || !type_of(&peeled, &element) ||
	    (dwarf_tag(&peeled) != DW_TAG_array_type && dwarf_tag(&peeled) != DW_TAG_pointer_type) ||
	    !type_size(&element, &size))
		return why(ret_why, -ENOTSUP, "it has no elements that [%llu] could be one of", (unsigned long long)index);
	if (dwarf_tag(&peeled) == DW_TAG_pointer_type)
		err = cursor_follow(c, ret_why);
	else if (type_element_n(&peeled, &n) && n && index >= n)
		err = why(ret_why, -ENOENT, "it has only %llu elements", (unsigned long long)n);
	if (!err && (__builtin_mul_overflow(index, size, &off) || off > INT32_MAX))
		err = why(ret_why, -ENOTSUP, "element %llu is too far away", (unsigned long long)index);
	*type = element;
	return err ? err : cursor_move(c, (int64_t)off, ret_why);
}

static int walk_cast(struct objfile_types *t, const char *name, struct cursor *c, Dwarf_Die *type,
		     struct objfile_why *ret_why)
{
	int err = types_definition(t, name, type);

	if (err == -ENOENT)
		return why(ret_why, err, "no structure %s is known in this file", name);
	return err ? err : cursor_follow(c, ret_why);
}

int path_walk(struct objfile_types *t, const char *text, struct cursor *c, Dwarf_Die *type, struct objfile_why *ret_why)
{
	char name[PATH_NAME_MAX];
	enum path_step step;
	uint64_t index;
	int err;

	for (;;) {
		err = path_next(&text, &step, name, &index, ret_why);
		if (err || step == PATH_END)
			return err;
		if (step == PATH_MEMBER)
			err = walk_member(t, name, c, type, ret_why);
		else if (step == PATH_INDEX)
			err = walk_index(t, index, c, type, ret_why);
		else
			err = walk_cast(t, name, c, type, ret_why);
		if (err)
			return err;
	}
}
