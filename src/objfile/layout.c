/* SPDX-License-Identifier: (LGPL-2.1 OR BSD-2-Clause) */
/*
 * How a value is handed over depends on the numbers and pointers that it
 * consists of in the end, however they are packed into structures. What unions
 * and variants have at the same place counts once.
 */
#include <dwarf.h>
#include <errno.h>
#include <string.h>

#include "objfile/types.h"

#define DEPTH_MAX 24

struct flatten {
	struct objfile_types *t;
	struct layout *layout;
	uint64_t base;
	unsigned int depth;
	int err;
};

void layout_add(struct layout *l, uint64_t off, uint32_t size, enum leaf_kind kind)
{
	size_t at = l->n;

	for (size_t i = 0; i < l->n; i++) {
		if (l->v[i].off != off || l->v[i].size != size)
			continue;
		/* Of a union: what is a number in one case is no floating point number. */
		if (kind == LEAF_INTEGER)
			l->v[i].kind = kind;
		return;
	}
	if (l->n == LEAVES_MAX || off > UINT32_MAX) {
		l->too_many = true;
		return;
	}
	while (at && l->v[at - 1].off > off) {
		l->v[at] = l->v[at - 1];
		at--;
	}
	l->v[at] = (struct leaf){ (uint32_t)off, size, (uint8_t)kind };
	l->n++;
	if (size > l->align)
		l->align = size;
}

static int flatten(struct flatten *f, Dwarf_Die *type);

/* At off of what f is at. */
static int flatten_at(struct flatten *f, Dwarf_Die *type, uint64_t off)
{
	uint64_t base = f->base;
	int err;

	if (f->depth > DEPTH_MAX || __builtin_add_overflow(f->base, off, &f->base))
		return -ENOTSUP;
	f->depth++;
	err = flatten(f, type);
	f->depth--;
	f->base = base;
	return err;
}

static int flatten_base(struct flatten *f, Dwarf_Die *type, uint64_t size)
{
	uint64_t encoding = 0;
	enum leaf_kind kind = LEAF_INTEGER;
	bool complex;

	die_number(type, DW_AT_encoding, &encoding);
	complex = encoding == DW_ATE_complex_float;
	if (complex)
		size /= 2;
	if (complex || encoding == DW_ATE_float || encoding == DW_ATE_imaginary_float)
		kind = size > 8 ? LEAF_LONG_DOUBLE : LEAF_FLOAT;
	else if (size > 8) {
		/* A wide number is as two. */
		f->layout->align = 16;
		layout_add(f->layout, f->base, 8, kind);
		layout_add(f->layout, f->base + 8, 8, kind);
		return 0;
	}
	layout_add(f->layout, f->base, (uint32_t)size, kind);
	if (complex)
		layout_add(f->layout, f->base + size, (uint32_t)size, kind);
	return 0;
}

static int flatten_array(struct flatten *f, Dwarf_Die *type)
{
	Dwarf_Die element;
	uint64_t n, size;
	int err = 0;

	if (!type_of(type, &element) || !type_element_n(type, &n) || !type_size(&element, &size))
		return -ENOTSUP;
	f->layout->array |= n > 1;
	if (n > LEAVES_MAX && size) {
		f->layout->too_many = true;
		n = LEAVES_MAX;
	}
	for (uint64_t i = 0; !err && i < n && size; i++)
		err = flatten_at(f, &element, i * size);
	return err;
}

/* However packed: a number in each of the words that they are in. */
static int flatten_bits(struct flatten *f, Dwarf_Die *type, int64_t begin, uint64_t n)
{
	uint64_t size, at, end;

	if (begin < 0 || !n || n > 128 || !type_size(type, &size) || size > 16)
		return -ENOTSUP;
	at = f->base + (uint64_t)begin / 8;
	end = f->base + ((uint64_t)begin + n - 1) / 8;
	layout_add(f->layout, at, 1, LEAF_INTEGER);
	for (at = (at / 8 + 1) * 8; at <= end; at += 8)
		layout_add(f->layout, at, 1, LEAF_INTEGER);
	if (size > f->layout->align)
		f->layout->align = (uint32_t)size;
	return 0;
}

static bool flatten_member(void *arg, Dwarf_Die *child)
{
	struct flatten *f = arg;
	Dwarf_Die type;
	uint64_t off, n;
	int64_t begin;

	switch (dwarf_tag(child)) {
	case DW_TAG_member:
		/* static members, of which some compilers tell here */
		if (die_flag(child, DW_AT_external) || die_flag(child, DW_AT_declaration))
			return false;
		break;
	case DW_TAG_inheritance:
		break;
	case DW_TAG_variant_part: case DW_TAG_variant:
		if (f->depth > DEPTH_MAX)
			return true;
		f->depth++;
		die_each_child(child, flatten_member, f);
		f->depth--;
		return f->err != 0;
	default:
		return false;
	}
	if (!member_offset(child, &off) || !type_of(child, &type))
		f->err = -ENOTSUP;
	else if (member_bits(child, &type, &begin, &n))
		f->err = flatten_bits(f, &type, begin, n);
	else
		f->err = flatten_at(f, &type, off);
	return f->err != 0;
}

static int flatten_structure(struct flatten *f, Dwarf_Die *type)
{
	if (types_complete(f->t, type))
		return -ENOTSUP;
	if (!f->depth)
		f->layout->by_reference = class_by_reference(f->t, type);
	f->err = 0;
	die_each_child(type, flatten_member, f);
	return f->err;
}

static int flatten(struct flatten *f, Dwarf_Die *type)
{
	Dwarf_Die peeled;
	uint64_t size;

	if (!type_peel(type, &peeled))
		return -ENOTSUP;
	if (type_is_structure(&peeled))
		return flatten_structure(f, &peeled);
	if (!type_size(&peeled, &size) || size > UINT32_MAX)
		return -ENOTSUP;
	switch (dwarf_tag(&peeled)) {
	case DW_TAG_base_type:
		return flatten_base(f, &peeled, size);
	case DW_TAG_array_type:
		return flatten_array(f, &peeled);
	case DW_TAG_ptr_to_member_type:
		for (uint64_t at = 0; at < size && at < 16; at += 8)
			layout_add(f->layout, f->base + at, 8, LEAF_INTEGER);
		return 0;
	}
	layout_add(f->layout, f->base, (uint32_t)size, LEAF_INTEGER);
	return 0;
}

int layout_of(struct objfile_types *t, Dwarf_Die *type, struct layout *ret)
{
	struct layout l = { .align = 1 };
	struct flatten f = { .t = t, .layout = &l };
	Dwarf_Die peeled;
	uint64_t align;
	int err;

	if (!type_peel(type, &peeled) || types_complete(t, &peeled) || !type_size(&peeled, &l.size))
		return -ENOTSUP;
	err = flatten(&f, type);
	if (err)
		return err;
	if (die_number(&peeled, DW_AT_alignment, &align) && align <= 4096 && align > l.align)
		l.align = (uint32_t)align;
	*ret = l;
	return 0;
}
