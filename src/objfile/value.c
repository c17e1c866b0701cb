/* SPDX-License-Identifier: (LGPL-2.1 OR BSD-2-Clause) */
/*
 * A value is in registers, piece by piece, or at an address in memory. The
 * first pointer that is followed makes an address of what was in a register.
 * What a fetch can't do is refused here: parts of a register that don't begin
 * where it does, vector registers, more than WCBPF_DEREFS_MAX pointers.
 */
#include <dwarf.h>
#include <errno.h>
#include <inttypes.h>
#include <string.h>

#include "objfile/types.h"
#include "objfile/why.h"
#include "objfile/x86-registers.h"

int cursor_begin(const struct place *place, struct cursor *ret, struct objfile_why *ret_why)
{
	struct cursor c = { .fetch = { .from = WCBPF_FROM_REG, .memory = 1 } };

	if (place->sort != PLACE_NONE && (place->at < INT32_MIN || place->at > INT32_MAX) && place->sort != PLACE_CONST)
		return why(ret_why, -ENOTSUP, "it is too far away in memory");
	switch (place->sort) {
	case PLACE_NONE:
		return why(ret_why, -ENOTSUP, "it is in no place that is known (empty, in a vector register, or handed "
					       "over by rules that vary)");
	case PLACE_REGISTERS:
	case PLACE_CONST:
		c.place = place;
		break;
	case PLACE_CFA:
		c.fetch.from = WCBPF_FROM_CFA;
		c.fetch.at = place->at;
		break;
	case PLACE_POINTER:
		c.fetch.reg = place->reg;
		c.fetch.last = (int32_t)place->at;
		c.needs = OBJFILE_NEEDS(place->reg);
		break;
	case PLACE_STACK_POINTER:
		c.fetch.from = WCBPF_FROM_CFA;
		c.fetch.at = place->at;
		c.fetch.deref_n = 1;
		break;
	}
	*ret = c;
	return 0;
}

int cursor_move(struct cursor *c, int64_t off, struct objfile_why *ret_why)
{
	int64_t last;

	if (c->place) {
		if (off < 0 || __builtin_add_overflow(c->off, (uint64_t)off, &c->off))
			return why(ret_why, -ENOTSUP, "it is outside of the value");
		return 0;
	}
	if (__builtin_add_overflow((int64_t)c->fetch.last, off, &last) || last < INT32_MIN || last > INT32_MAX)
		return why(ret_why, -ENOTSUP, "it is too far away in memory");
	c->fetch.last = (int32_t)last;
	return 0;
}

/* The piece that has bytes of the value from off on, at its own beginning. */
static int find_piece(const struct cursor *c, uint64_t off, uint64_t bytes, const struct piece **ret,
		      struct objfile_why *ret_why)
{
	for (size_t i = 0; i < c->place->n; i++) {
		const struct piece *p = &c->place->v[i];

		if (off < p->off || off - p->off >= p->size)
			continue;
		if (p->lost)
			return why(ret_why, -ENOTSUP, "it is in no general register");
		if (off != p->off || bytes > p->size)
			return why(ret_why, -ENOTSUP, "it is only a part of register %s", x86_register_name(p->reg));
		*ret = p;
		return 0;
	}
	return why(ret_why, -ENOTSUP, "it has been optimized away");
}

/* The value that is here, of at most 8 bytes, alone in its register, or by a fetch from memory. */
static int take(struct cursor *c, uint64_t bytes, struct objfile_why *ret_why)
{
	const struct piece *p;
	int err;

	if (!c->place)
		return 0;
	if (c->place->sort == PLACE_CONST) {
		if (c->off)
			return why(ret_why, -ENOTSUP, "it has been optimized away");
		c->fetch = (struct wcbpf_fetch){ .from = WCBPF_FROM_CONST, .at = c->place->at };
		return 0;
	}
	err = find_piece(c, c->off, bytes, &p, ret_why);
	if (err)
		return err;
	c->fetch = (struct wcbpf_fetch){ .from = WCBPF_FROM_REG, .reg = p->reg };
	c->needs |= OBJFILE_NEEDS(p->reg);
	return 0;
}

/* What is here is a word, and becomes what derefs start from. */
static int load(struct cursor *c, struct objfile_why *ret_why)
{
	int err;

	if (c->place) {
		err = take(c, 8, ret_why);
		c->place = NULL;
		return err;
	}
	if (c->fetch.deref_n == WCBPF_DEREFS_MAX)
		return why(ret_why, -ENOTSUP, "there are more than %d pointers on the way", WCBPF_DEREFS_MAX);
	c->fetch.deref[c->fetch.deref_n++] = c->fetch.last;
	return 0;
}

int cursor_follow(struct cursor *c, struct objfile_why *ret_why)
{
	int err = load(c, ret_why);

	c->fetch.memory = 1;
	c->fetch.last = 0;
	return err;
}

int cursor_refer(struct cursor *c, Dwarf_Die *type, struct objfile_why *ret_why)
{
	Dwarf_Die peeled, of;

	if (!type_peel(type, &peeled) || dwarf_tag(&peeled) == DW_TAG_pointer_type || !type_is_pointer(&peeled))
		return 0;
	if (!type_of(&peeled, &of))
		return why(ret_why, -ENOTSUP, "it is a reference to nothing");
	*type = of;
	return cursor_follow(c, ret_why);
}

/* Bits of a register are had wherever in it they are. */
static int take_bits(struct cursor *c, struct objfile_why *ret_why)
{
	if (c->place && c->place->sort == PLACE_CONST)
		return why(ret_why, -ENOTSUP, "it has been optimized away");
	for (size_t i = 0; c->place && i < c->place->n; i++) {
		const struct piece *p = &c->place->v[i];

		if (c->off < p->off || c->off - p->off + c->bits.bytes > p->size || p->size > 8 || p->lost)
			continue;
		c->bits.at += (uint8_t)((c->off - p->off) * 8);
		c->bits.bytes = 8;
		c->off = p->off;
		break;
	}
	return take(c, c->bits.bytes, ret_why);
}

static int number_of_bits(struct cursor *c, bool is_signed, struct objfile_why *ret_why)
{
	int err = take_bits(c, ret_why);

	c->fetch.type = is_signed ? WCBPF_VALUE_INT : WCBPF_VALUE_UINT;
	c->fetch.bytes = c->bits.bytes;
	c->fetch.bit_n = c->bits.n;
	c->fetch.bit_at = c->bits.at;
	return err;
}

int cursor_number(struct cursor *c, uint32_t bytes, bool is_signed, struct objfile_why *ret_why)
{
	int err;

	if (c->bits.n)
		return number_of_bits(c, is_signed, ret_why);
	err = take(c, bytes, ret_why);
	if (!err && bytes != 1 && bytes != 2 && bytes != 4 && bytes != 8)
		err = why(ret_why, -ENOTSUP, "it is a number of %u bytes", bytes);
	c->fetch.type = is_signed ? WCBPF_VALUE_INT : WCBPF_VALUE_UINT;
	c->fetch.bytes = (__u16)bytes;
	return err;
}

int cursor_c_string(struct cursor *c, struct objfile_why *ret_why)
{
	int err = load(c, ret_why);

	c->fetch.type = WCBPF_VALUE_STRING;
	c->fetch.memory = 0;
	c->fetch.last = 0;
	c->fetch.bytes = WCBPF_VALUE_BYTES_MAX;
	return err;
}

int cursor_counted_string(struct cursor *c, uint64_t length_off, struct objfile_why *ret_why)
{
	const struct piece *text, *len;
	int err = 0;

	if (length_off % 8 || !length_off || length_off / 8 > UINT8_MAX)
		return why(ret_why, -ENOTSUP, "its length is %" PRIu64 " bytes behind its address", length_off);
	if (c->place) {
		err = find_piece(c, c->off, 8, &text, ret_why);
		if (!err)
			err = find_piece(c, c->off + length_off, 8, &len, ret_why);
		if (err)
			return err;
		c->fetch = (struct wcbpf_fetch){ .from = WCBPF_FROM_REG, .reg = text->reg, .reg2 = len->reg };
		c->needs |= OBJFILE_NEEDS(text->reg) | OBJFILE_NEEDS(len->reg);
	}
	c->fetch.type = WCBPF_VALUE_GO_STRING;
	c->fetch.bytes = WCBPF_VALUE_BYTES_MAX;
	c->fetch.length_at = c->place || length_off == 8 ? 0 : (__u8)(length_off / 8);
	return 0;
}

int cursor_bytes(struct cursor *c, uint64_t bytes, bool is_text, struct objfile_why *ret_why)
{
	if (c->place)
		return why(ret_why, -ENOTSUP, "it is an array in registers: name one of its elements");
	c->fetch.type = is_text ? WCBPF_VALUE_STRING : WCBPF_VALUE_BYTES;
	c->fetch.bytes = (__u16)(bytes < WCBPF_VALUE_BYTES_MAX ? bytes : WCBPF_VALUE_BYTES_MAX);
	return 0;
}

static bool is_char(Dwarf_Die *type)
{
	Dwarf_Die peeled;
	uint64_t encoding, size;

	return type_peel(type, &peeled) && dwarf_tag(&peeled) == DW_TAG_base_type && type_size(&peeled, &size) &&
	       size == 1 && die_number(&peeled, DW_AT_encoding, &encoding) && encoding == DW_ATE_signed_char;
}

static bool is_text_pointer(Dwarf_Die *pointer)
{
	Dwarf_Die of;

	return type_of(pointer, &of) && is_char(&of);
}

static int finish_base(struct cursor *c, Dwarf_Die *type, uint64_t size, struct objfile_why *ret_why)
{
	uint64_t encoding = 0;

	die_number(type, DW_AT_encoding, &encoding);
	switch (encoding) {
	case DW_ATE_float: case DW_ATE_complex_float: case DW_ATE_imaginary_float: case DW_ATE_decimal_float:
		return why(ret_why, -ENOTSUP, "it is a floating point number");
	}
	return cursor_number(c, size > 16 ? 16 : (uint32_t)size,
			     encoding == DW_ATE_signed || encoding == DW_ATE_signed_char, ret_why);
}

/* Two members side by side that are address and length: strings of Go and Rust, and their slices of bytes. */
static bool is_counted(struct objfile_types *t, Dwarf_Die *type)
{
	static const char *const pairs[][2] = { { "str", "len" }, { "data_ptr", "length" }, { "array", "len" } };

	for (size_t i = 0; i < sizeof(pairs) / sizeof(*pairs); i++) {
		struct steps text, len;
		Dwarf_Die pointer, of, unused;
		uint64_t size;

		if (!member_find(t, type, pairs[i][0], &text, &pointer) &&
		    !member_find(t, type, pairs[i][1], &len, &unused) && text.n == 1 && len.n == 1 &&
		    !text.v[0].off && len.v[0].off == 8 && type_peel(&pointer, &pointer) &&
		    dwarf_tag(&pointer) == DW_TAG_pointer_type && type_of(&pointer, &of) && type_size(&of, &size) &&
		    size == 1)
			return true;
	}
	return false;
}

/* What a chain of members leads to. */
static bool find_chain(struct objfile_types *t, Dwarf_Die type, const char *const *names, uint64_t *ret_off,
		       Dwarf_Die *ret_type)
{
	uint64_t off = 0;

	for (; *names; names++) {
		struct steps steps;
		Dwarf_Die peeled;

		if (!type_peel(&type, &peeled) || types_complete(t, &peeled) ||
		    member_find(t, &peeled, *names, &steps, &type))
			return false;
		for (size_t i = 0; i < steps.n; i++) {
			if (steps.v[i].follow)
				return false;
			off += steps.v[i].off;
		}
	}
	*ret_off = off;
	*ret_type = type;
	return true;
}

/* Libraries' strings: libstdc++'s has a pointer to text that ends in NUL; Rust's an address with the length behind it. */
static int finish_string_class(struct cursor *c, struct objfile_types *t, Dwarf_Die *type, struct objfile_why *ret_why)
{
	static const char *const cxx[] = { "_M_dataplus", "_M_p", NULL };
	static const char *const rust_len[] = { "vec", "len", NULL };
	static const char *const rust_text[][6] = {
		{ "vec", "buf", "inner", "ptr", "pointer", NULL },
		{ "vec", "buf", "ptr", "pointer", NULL },
	};
	const char *name = die_name(type);
	uint64_t off, len;
	Dwarf_Die found, peeled;
	int err;

	if (name && !strncmp(name, "basic_string<char", 17) && find_chain(t, *type, cxx, &off, &found)) {
		err = cursor_move(c, (int64_t)off, ret_why);
		return err ? err : cursor_c_string(c, ret_why);
	}
	for (size_t i = 0; i < 2 && name && !strcmp(name, "String"); i++) {
		if (!find_chain(t, *type, rust_len, &len, &found) || !find_chain(t, *type, rust_text[i], &off, &found) ||
		    !type_peel(&found, &peeled) || len <= off)
			continue;
		err = cursor_move(c, (int64_t)off, ret_why);
		return err ? err : cursor_counted_string(c, len - off, ret_why);
	}
	return why(ret_why, -ENOTSUP, "it is a structure (%s): name one of its fields", name ? name : "without a name");
}

static int finish_array(struct cursor *c, Dwarf_Die *type, struct objfile_why *ret_why)
{
	Dwarf_Die element;
	uint64_t n, size;

	if (!type_size(type, &size) || !type_of(type, &element) || !type_element_n(type, &n))
		return why(ret_why, -ENOTSUP, "it is an array of unknown size");
	return cursor_bytes(c, size, is_char(&element), ret_why);
}

static bool is_signed(Dwarf_Die *enumeration)
{
	Dwarf_Die of, peeled;
	uint64_t encoding;

	if (die_number(enumeration, DW_AT_encoding, &encoding))
		return encoding == DW_ATE_signed;
	return !type_of(enumeration, &of) || !type_peel(&of, &peeled) ||
	       !die_number(&peeled, DW_AT_encoding, &encoding) || encoding == DW_ATE_signed;
}

/* By a peeled type. */
static int finish(struct cursor *c, struct objfile_types *t, Dwarf_Die peeled, struct objfile_why *ret_why)
{
	uint64_t size;

	if (type_is_structure(&peeled))
		return types_complete(t, &peeled) ? why(ret_why, -ENOTSUP, "its structure is only declared") :
		       is_counted(t, &peeled)	  ? cursor_counted_string(c, 8, ret_why) :
						    finish_string_class(c, t, &peeled, ret_why);
	if (dwarf_tag(&peeled) == DW_TAG_array_type)
		return finish_array(c, &peeled, ret_why);
	if (type_is_pointer(&peeled) && is_text_pointer(&peeled))
		return cursor_c_string(c, ret_why);
	if (!type_size(&peeled, &size))
		return why(ret_why, -ENOTSUP, "its size isn't known");
	if (dwarf_tag(&peeled) == DW_TAG_base_type)
		return finish_base(c, &peeled, size, ret_why);
	return cursor_number(c, size > 16 ? 16 : (uint32_t)size,
			     dwarf_tag(&peeled) == DW_TAG_enumeration_type && is_signed(&peeled), ret_why);
}

int cursor_finish(struct cursor *c, struct objfile_types *t, Dwarf_Die *type, struct objfile_value *ret,
		  struct objfile_why *ret_why)
{
	struct objfile_value v = { 0 };
	Dwarf_Die at = *type;
	int err = cursor_refer(c, &at, ret_why);

	if (!err && !type_peel(&at, &at))
		err = why(ret_why, -ENOTSUP, "it has no type");
	if (!err)
		err = finish(c, t, at, ret_why);
	if (err)
		return err;
	v.fetch = c->fetch;
	v.needs = c->needs;
	type_text(type, v.type, sizeof(v.type));
	*ret = v;
	return 0;
}
