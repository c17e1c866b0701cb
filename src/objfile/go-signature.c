/* SPDX-License-Identifier: (LGPL-2.1 OR BSD-2-Clause) */
/*
 * A stripped program doesn't tell the types of arguments; its source does, and
 * whoever writes a profile has it. Of a type only its shape counts: what is
 * behind a pointer, in a map or a function's type is skipped. A name that isn't
 * Go's own says nothing, so it needs the shape behind a colon.
 *
 * Types are read where they stand, again whenever they are needed: they are
 * short, and there is nothing to free.
 */
#include <ctype.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "objfile/types.h"
#include "objfile/why.h"
#include "util/cleanup.h"

#define DEPTH_MAX 16
#define VALUES_MAX 32
#define ELEMENTS_MAX 4096

enum kind { NUMBER, SIGNED, FLOAT, COMPLEX, STRING, SLICE, INTERFACE, ARRAY, STRUCT };

struct type {
	enum kind kind;
	uint64_t size;
	uint32_t align;
	const char *inside; /* SLICE, ARRAY: the element; STRUCT: behind its { */
	uint64_t n;	    /* ARRAY */
};

static int type_read(const char **text, unsigned int depth, struct type *ret, struct objfile_why *ret_why);

static const char *skip_space(const char *p)
{
	while (isspace((unsigned char)*p))
		p++;
	return p;
}

/* To where the type that begins at p ends: brackets that it opens, it closes. */
static const char *skip_type(const char *p)
{
	int open = 0;

	for (; *p; p++) {
		if (strchr("([{", *p))
			open++;
		else if (strchr(")]}", *p) && !open--)
			break;
		else if (!open && strchr(",;", *p))
			break;
	}
	return p;
}

static bool is_word_char(char c)
{
	return isalnum((unsigned char)c) || c == '_' || c == '.' || c == '/' || c & 0x80;
}

static int read_word(const char **text, struct type *ret, struct objfile_why *ret_why)
{
	static const struct {
		const char *name;
		struct type type;
	} words[] = {
		{ "bool", { NUMBER, 1, 1 } },	  { "byte", { NUMBER, 1, 1 } },	    { "uint8", { NUMBER, 1, 1 } },
		{ "uint16", { NUMBER, 2, 2 } },	  { "uint32", { NUMBER, 4, 4 } },   { "uint64", { NUMBER, 8, 8 } },
		{ "uint", { NUMBER, 8, 8 } },	  { "uintptr", { NUMBER, 8, 8 } },  { "unsafe.Pointer", { NUMBER, 8, 8 } },
		{ "int8", { SIGNED, 1, 1 } },	  { "int16", { SIGNED, 2, 2 } },    { "int32", { SIGNED, 4, 4 } },
		{ "rune", { SIGNED, 4, 4 } },	  { "int64", { SIGNED, 8, 8 } },    { "int", { SIGNED, 8, 8 } },
		{ "float32", { FLOAT, 4, 4 } },	  { "float64", { FLOAT, 8, 8 } },   { "complex64", { COMPLEX, 8, 4 } },
		{ "complex128", { COMPLEX, 16, 8 } }, { "string", { STRING, 16, 8 } }, { "any", { INTERFACE, 16, 8 } },
		{ "error", { INTERFACE, 16, 8 } }, { "interface", { INTERFACE, 16, 8 } }, { "func", { NUMBER, 8, 8 } },
		{ "map", { NUMBER, 8, 8 } },	  { "chan", { NUMBER, 8, 8 } },
	};
	const char *p = *text;
	size_t n = 0;

	while (is_word_char(p[n]))
		n++;
	for (size_t i = 0; i < sizeof(words) / sizeof(*words); i++) {
		if (strlen(words[i].name) != n || strncmp(words[i].name, p, n))
			continue;
		*ret = words[i].type;
		*text = skip_type(p + n); /* of a func its arguments, of a map its key */
		return 0;
	}
	return why(ret_why, -EINVAL, "what \"%.*s\" is, its name doesn't tell (NAME:TYPE does)", n ? (int)n : 20, p);
}

static int read_array(const char **text, unsigned int depth, struct type *ret, struct objfile_why *ret_why)
{
	struct type element;
	char *end;
	uint64_t n = strtoull(*text, &end, 10);
	int err;

	if (end == *text || *end != ']' || n > ELEMENTS_MAX)
		return why(ret_why, -EINVAL, "\"[%.20s\" is no array of a type", *text);
	*text = end + 1;
	ret->kind = ARRAY;
	ret->n = n;
	ret->inside = *text;
	err = type_read(text, depth + 1, &element, ret_why);
	if (!err && __builtin_mul_overflow(n, element.size, &ret->size))
		err = -EINVAL;
	ret->align = element.align;
	return err;
}

/* The next field of a structure, of which *off bytes have been read; -ENOENT: that was the last. */
static int next_field(const char **text, unsigned int depth, uint64_t *off, struct type *ret, struct objfile_why *ret_why)
{
	int err;

	*text = skip_space(*text);
	if (**text == '}')
		return -ENOENT;
	err = type_read(text, depth + 1, ret, ret_why);
	if (err)
		return err;
	*off = (*off + ret->align - 1) / ret->align * ret->align;
	*text = skip_space(*text);
	if (**text == ';')
		++*text;
	else if (**text != '}')
		return why(ret_why, -EINVAL, "\"%.20s\" is in a struct where ; or } should be", *text);
	return 0;
}

static int read_struct(const char **text, unsigned int depth, struct type *ret, struct objfile_why *ret_why)
{
	struct type field;
	int err;

	*ret = (struct type){ .kind = STRUCT, .inside = *text, .align = 1 };
	while (!(err = next_field(text, depth, &ret->size, &field, ret_why))) {
		ret->size += field.size;
		if (field.align > ret->align)
			ret->align = field.align;
	}
	if (err != -ENOENT)
		return err;
	++*text;
	ret->size = (ret->size + ret->align - 1) / ret->align * ret->align;
	return 0;
}

/* Past "NAME:", if that is there. */
static const char *skip_label(const char *p)
{
	const char *colon = p;
	int open = 0;

	for (; *colon && (open || !strchr(",;)}", *colon)); colon++) {
		if (*colon == ':' && !open)
			return skip_space(colon + 1);
		open += *colon == '[' || *colon == '(' || *colon == '{';
		open -= *colon == ']' || *colon == ')' || *colon == '}';
	}
	return p;
}

static int type_read(const char **text, unsigned int depth, struct type *ret, struct objfile_why *ret_why)
{
	const char *p = skip_label(skip_space(*text));
	struct type t = { .kind = NUMBER, .size = 8, .align = 8 };
	int err = 0;

	if (depth > DEPTH_MAX)
		return why(ret_why, -EINVAL, "types are more than %d levels deep", DEPTH_MAX);
	if (*p == '*' || !strncmp(p, "<-chan", 6)) {
		p = skip_type(p);
	} else if (!strncmp(p, "...", 3) || !strncmp(p, "[]", 2)) {
		t = (struct type){ .kind = SLICE, .size = 24, .align = 8, .inside = p + (*p == '.' ? 3 : 2) };
		p = skip_type(t.inside);
	} else if (*p == '[') {
		p++;
		err = read_array(&p, depth, &t, ret_why);
	} else if (!strncmp(p, "struct{", 7)) {
		p += 7;
		err = read_struct(&p, depth, &t, ret_why);
	} else {
		err = read_word(&p, &t, ret_why);
	}
	if (err)
		return err;
	*text = p;
	*ret = t;
	return 0;
}

static void add_words(struct layout *l, uint64_t off, unsigned int n)
{
	for (unsigned int i = 0; i < n; i++)
		layout_add(l, off + 8ull * i, 8, LEAF_INTEGER);
}

static void add_leaves(struct layout *l, const struct type *t, uint64_t off, unsigned int depth)
{
	const char *inside = t->inside;
	struct type inner;
	uint64_t at = 0;

	switch (t->kind) {
	case NUMBER:
	case SIGNED:
		layout_add(l, off, (uint32_t)t->size, LEAF_INTEGER);
		break;
	case FLOAT:
		layout_add(l, off, (uint32_t)t->size, LEAF_FLOAT);
		break;
	case COMPLEX:
		layout_add(l, off, (uint32_t)t->size / 2, LEAF_FLOAT);
		layout_add(l, off + t->size / 2, (uint32_t)t->size / 2, LEAF_FLOAT);
		break;
	case STRING:
	case INTERFACE:
		add_words(l, off, 2);
		break;
	case SLICE:
		add_words(l, off, 3);
		break;
	case ARRAY:
		l->array |= t->n > 1;
		if (t->n == 1 && !type_read(&inside, depth + 1, &inner, NULL))
			add_leaves(l, &inner, off, depth + 1);
		break;
	case STRUCT:
		for (; !next_field(&inside, depth, &at, &inner, NULL); at += inner.size)
			add_leaves(l, &inner, off + at, depth + 1);
		break;
	}
}

struct list {
	struct type types[VALUES_MAX];
	struct layout layouts[VALUES_MAX];
	struct place places[VALUES_MAX];
	size_t n;
};

static int add_value(struct list *list, const char **text, struct objfile_why *ret_why)
{
	struct type *t = &list->types[list->n];
	struct layout *l = &list->layouts[list->n];
	int err;

	if (list->n == VALUES_MAX)
		return why(ret_why, -EINVAL, "more than %d types", VALUES_MAX);
	err = type_read(text, 0, t, ret_why);
	if (err)
		return err;
	*l = (struct layout){ .size = t->size, .align = t->align };
	add_leaves(l, t, 0, 0);
	l->align = t->align;
	list->n++;
	return 0;
}

/* "(T, T)" */
static int read_list(const char **text, struct list *ret, struct objfile_why *ret_why)
{
	const char *p = skip_space(*text + 1);

	while (*p != ')') {
		int err = add_value(ret, &p, ret_why);

		if (err)
			return err;
		p = skip_space(p);
		if (*p == ',')
			p = skip_space(p + 1);
		else if (*p != ')')
			return why(ret_why, -EINVAL, "\"%.20s\" is where , or ) should be", p);
	}
	*text = skip_space(p + 1);
	return 0;
}

static int read_signature(const char *text, struct list *args, struct list *results, struct objfile_why *ret_why)
{
	const char *p = skip_space(text);
	int err;

	if (*p != '(')
		return why(ret_why, -EINVAL, "\"%.20s\" doesn't begin with the types of the arguments in ()", text);
	err = read_list(&p, args, ret_why);
	if (!err && *p == '(')
		err = read_list(&p, results, ret_why);
	else if (!err && *p)
		err = add_value(results, &p, ret_why);
	if (!err && *skip_space(p))
		err = why(ret_why, -EINVAL, "\"%.20s\" is behind the result's type", p);
	return err;
}

static int word_at(const struct type *t, const char *name, int64_t *ret)
{
	static const struct {
		enum kind kind;
		const char *name;
		int64_t off;
	} words[] = {
		{ STRING, "ptr", 0 }, { STRING, "len", 8 }, { SLICE, "ptr", 0 }, { SLICE, "len", 8 }, { SLICE, "cap", 16 },
		{ INTERFACE, "type", 0 }, { INTERFACE, "data", 8 },
	};

	for (size_t i = 0; i < sizeof(words) / sizeof(*words); i++) {
		if (words[i].kind != t->kind || strcmp(words[i].name, name))
			continue;
		*ret = words[i].off;
		return 0;
	}
	return -ENOENT;
}

static int walk_member(const char *name, struct cursor *c, struct type *t, struct objfile_why *ret_why)
{
	const char *inside = t->inside;
	uint64_t at = 0, wanted;
	struct type field;
	int64_t off;
	char *end;

	if (!word_at(t, name, &off)) {
		*t = (struct type){ .kind = strcmp(name, "len") && strcmp(name, "cap") ? NUMBER : SIGNED, .size = 8, .align = 8 };
		return cursor_move(c, off, ret_why);
	}
	wanted = strtoull(name, &end, 10);
	if (t->kind != STRUCT || *end)
		return why(ret_why, -ENOENT, "it has no field %s", name);
	for (; !next_field(&inside, 0, &at, &field, ret_why); at += field.size) {
		if (wanted--)
			continue;
		*t = field;
		return cursor_move(c, (int64_t)at, ret_why);
	}
	return why(ret_why, -ENOENT, "it has no field %s", name);
}

static int walk_index(uint64_t index, struct cursor *c, struct type *t, struct objfile_why *ret_why)
{
	const char *inside = t->inside;
	struct type element;
	int err;

	if (t->kind != ARRAY && t->kind != SLICE)
		return why(ret_why, -ENOENT, "it has no elements");
	if (t->kind == ARRAY && index >= t->n)
		return why(ret_why, -ENOENT, "it has only %llu elements", (unsigned long long)t->n);
	err = type_read(&inside, 0, &element, ret_why);
	if (!err && t->kind == SLICE)
		err = cursor_follow(c, ret_why);
	if (!err && index > INT32_MAX)
		err = why(ret_why, -ENOTSUP, "it is too far away in memory");
	if (!err)
		err = cursor_move(c, (int64_t)(index * element.size), ret_why);
	*t = element;
	return err;
}

static int walk(const char *text, struct cursor *c, struct type *t, struct objfile_why *ret_why)
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
			err = walk_member(name, c, t, ret_why);
		else if (step == PATH_INDEX)
			err = walk_index(index, c, t, ret_why);
		else
			err = why(ret_why, -ENOENT, "no structure %s is known", name);
		if (err)
			return err;
	}
}

static bool is_bytes(const struct type *slice)
{
	const char *inside = slice->inside;
	struct type element;

	return !type_read(&inside, 0, &element, NULL) && element.kind == NUMBER && element.size == 1;
}

static int finish(struct cursor *c, const struct type *t, struct objfile_why *ret_why)
{
	switch (t->kind) {
	case NUMBER:
	case SIGNED:
		return cursor_number(c, (uint32_t)t->size, t->kind == SIGNED, ret_why);
	case STRING:
		return cursor_counted_string(c, 8, ret_why);
	case SLICE:
		if (is_bytes(t))
			return cursor_counted_string(c, 8, ret_why);
		return why(ret_why, -ENOTSUP, "it is a slice: name .ptr, .len or an element");
	case ARRAY:
		return cursor_bytes(c, t->size, false, ret_why);
	case INTERFACE:
		return why(ret_why, -ENOTSUP, "it is an interface: name .type or .data");
	case STRUCT:
		return why(ret_why, -ENOTSUP, "it is a structure: name one of its fields, .0 and so on");
	case FLOAT:
	case COMPLEX:
		break;
	}
	return why(ret_why, -ENOTSUP, "it is a floating point number");
}

static int find(struct list *args, struct list *results, const char *text, struct objfile_value *ret,
		struct objfile_why *ret_why)
{
	const struct list *list;
	struct objfile_value v = { 0 };
	struct path path;
	struct cursor c;
	struct type t;
	int err = path_begin(text, &path, ret_why);

	if (err)
		return err;
	if (path.head == PATH_NAMED)
		return why(ret_why, -ENOENT, "it has no argument named %s: types alone are known", path.name);
	list = path.head == PATH_RESULT ? results : args;
	if (path.number > list->n)
		return why(ret_why, -ENOENT, "it has only %zu %s", list->n, list == args ? "arguments" : "results");
	t = list->types[path.number - 1];
	err = cursor_begin(&list->places[path.number - 1], &c, ret_why);
	if (!err)
		err = walk(path.rest, &c, &t, ret_why);
	if (!err)
		err = finish(&c, &t, ret_why);
	if (err)
		return err;
	v.fetch = c.fetch;
	v.needs = c.needs;
	*ret = v;
	return 0;
}

int objfile_go_value(const char *signature, const char *path, struct objfile_value *ret, struct objfile_why *ret_why)
{
	_cleanup_(freep) struct list *args = calloc(1, sizeof(*args));
	_cleanup_(freep) struct list *results = calloc(1, sizeof(*results));
	struct signature s;
	int err = args && results ? read_signature(signature, args, results, ret_why) : -ENOMEM;

	if (err)
		return err;
	s = (struct signature){ args->layouts, results->layouts, args->n, results->n };
	abi_go(&s, args->places, results->places);
	return find(args, results, path, ret, ret_why);
}
