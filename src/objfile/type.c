/* SPDX-License-Identifier: (LGPL-2.1 OR BSD-2-Clause) */
/*
 * libdw has functions for some of this that follow references for as long as
 * there are some; in a damaged file that is for ever. Here each chain has an end.
 */
#include <dwarf.h>
#include <stdio.h>
#include <string.h>

#include "objfile/types.h"

#define CHAIN_MAX 32

bool die_number(Dwarf_Die *die, unsigned int attribute, uint64_t *ret)
{
	Dwarf_Attribute attr;
	Dwarf_Word value;

	if (!dwarf_attr_integrate(die, attribute, &attr) || dwarf_formudata(&attr, &value))
		return false;
	*ret = value;
	return true;
}

bool die_flag(Dwarf_Die *die, unsigned int attribute)
{
	Dwarf_Attribute attr;
	bool flag;

	return dwarf_attr_integrate(die, attribute, &attr) && !dwarf_formflag(&attr, &flag) && flag;
}

const char *die_name(Dwarf_Die *die)
{
	Dwarf_Attribute attr;
	const char *name = dwarf_formstring(dwarf_attr_integrate(die, DW_AT_name, &attr));

	return name && *name ? name : NULL;
}

bool type_of(Dwarf_Die *die, Dwarf_Die *ret)
{
	Dwarf_Attribute attr;

	return dwarf_attr_integrate(die, DW_AT_type, &attr) && dwarf_formref_die(&attr, ret);
}

bool type_peel(Dwarf_Die *type, Dwarf_Die *ret)
{
	Dwarf_Die at = *type;

	for (int i = 0; i < CHAIN_MAX; i++) {
		Dwarf_Die next;

		switch (dwarf_tag(&at)) {
		case DW_TAG_typedef: case DW_TAG_const_type: case DW_TAG_volatile_type: case DW_TAG_restrict_type:
		case DW_TAG_atomic_type: case DW_TAG_immutable_type: case DW_TAG_shared_type: case DW_TAG_packed_type:
			if (!type_of(&at, &next))
				return false;
			at = next;
			continue;
		case DW_TAG_invalid: case DW_TAG_unspecified_type:
			return false;
		}
		*ret = at;
		return true;
	}
	return false;
}

bool type_is_structure(Dwarf_Die *type)
{
	int tag = dwarf_tag(type);

	return tag == DW_TAG_structure_type || tag == DW_TAG_class_type || tag == DW_TAG_union_type;
}

bool type_is_pointer(Dwarf_Die *type)
{
	int tag = dwarf_tag(type);

	return tag == DW_TAG_pointer_type || tag == DW_TAG_reference_type || tag == DW_TAG_rvalue_reference_type;
}

static bool each_dimension(void *arg, Dwarf_Die *child)
{
	uint64_t *n = arg, count, upper;

	if (dwarf_tag(child) != DW_TAG_subrange_type)
		return false;
	if (!die_number(child, DW_AT_count, &count)) {
		if (!die_number(child, DW_AT_upper_bound, &upper))
			return true;
		count = upper + 1;
	}
	return __builtin_mul_overflow(*n, count, n) || *n > UINT32_MAX;
}

bool type_element_n(Dwarf_Die *array, uint64_t *ret)
{
	uint64_t n = 1;

	if (!dwarf_haschildren(array) || die_each_child(array, each_dimension, &n))
		return false;
	*ret = n;
	return true;
}

static bool sized(Dwarf_Die *type, unsigned int depth, uint64_t *ret)
{
	Dwarf_Die peeled, element;
	uint64_t n, size;

	if (depth > CHAIN_MAX || !type_peel(type, &peeled))
		return false;
	if (die_number(&peeled, DW_AT_byte_size, &size)) {
		*ret = size;
		return true;
	}
	switch (dwarf_tag(&peeled)) {
	case DW_TAG_pointer_type: case DW_TAG_reference_type: case DW_TAG_rvalue_reference_type:
	case DW_TAG_subroutine_type: /* Go's; in C one has no size */
		*ret = 8;
		return true;
	case DW_TAG_ptr_to_member_type: /* of a function: with what to add to this */
		*ret = type_of(&peeled, &element) && dwarf_tag(&element) == DW_TAG_subroutine_type ? 16 : 8;
		return true;
	case DW_TAG_array_type:
		return type_of(&peeled, &element) && type_element_n(&peeled, &n) && sized(&element, depth + 1, &size) &&
		       !__builtin_mul_overflow(n, size, ret);
	case DW_TAG_enumeration_type:
		return type_of(&peeled, &element) && sized(&element, depth + 1, ret);
	}
	return false;
}

bool type_size(Dwarf_Die *type, uint64_t *ret)
{
	return sized(type, 0, ret);
}

bool member_offset(Dwarf_Die *member, uint64_t *ret)
{
	Dwarf_Attribute attr;
	Dwarf_Word bits;
	Dwarf_Op *ops;
	size_t n;

	if (!dwarf_attr_integrate(member, DW_AT_data_member_location, &attr)) {
		if (!dwarf_attr_integrate(member, DW_AT_data_bit_offset, &attr)) {
			*ret = 0; /* of unions */
			return true;
		}
		if (dwarf_formudata(&attr, &bits))
			return false;
		*ret = bits / 8;
		return true;
	}
	if (!dwarf_formudata(&attr, &bits)) {
		*ret = bits;
		return true;
	}
	if (dwarf_getlocation(&attr, &ops, &n) || n != 1 || ops->atom != DW_OP_plus_uconst)
		return false;
	*ret = ops->number;
	return true;
}

/*
 * Before DWARF 5 bits are counted from the highest one of the number that has them, whose place and size are said; that
 * can be negative, where it reaches over the next.
 */
bool member_bits(Dwarf_Die *member, Dwarf_Die *type, int64_t *ret_begin, uint64_t *ret_n)
{
	Dwarf_Attribute attr;
	Dwarf_Sword from;
	uint64_t n, bits, bytes, off;

	if (!die_number(member, DW_AT_bit_size, &n))
		return false;
	*ret_n = n;
	*ret_begin = -1;
	if (die_number(member, DW_AT_data_bit_offset, &bits)) {
		if (bits < INT32_MAX)
			*ret_begin = (int64_t)bits;
		return true;
	}
	if (!member_offset(member, &off) || off > INT32_MAX || n > 128)
		return true;
	if (!die_number(member, DW_AT_byte_size, &bytes) && !type_size(type, &bytes))
		return true;
	if (!dwarf_attr_integrate(member, DW_AT_bit_offset, &attr) || dwarf_formsdata(&attr, &from) || bytes > 16 ||
	    from > 128 || from < -128)
		return true;
	*ret_begin = (int64_t)(off * 8 + bytes * 8) - from - (int64_t)n;
	if (*ret_begin < 0)
		*ret_begin = -1;
	return true;
}

bool die_each_child(Dwarf_Die *die, bool (*f)(void *arg, Dwarf_Die *child), void *arg)
{
	Dwarf_Off last = dwarf_dieoffset(die);
	Dwarf_Die child;

	if (dwarf_child(die, &child))
		return false;
	do {
		/* In a damaged file one that comes next may lie before. */
		if (dwarf_dieoffset(&child) <= last)
			return false;
		last = dwarf_dieoffset(&child);
		if (f(arg, &child))
			return true;
	} while (!dwarf_siblingof(&child, &child));
	return false;
}

static void add_text(char *ret, size_t n, const char *text)
{
	size_t have = strlen(ret);

	snprintf(ret + have, n - have, "%s", text);
}

static void text_at(Dwarf_Die *type, char *ret, size_t n, unsigned int depth)
{
	const char *name = die_name(type);
	Dwarf_Die of;
	bool has_type = type_of(type, &of);
	char count[32];
	uint64_t elements;

	if (name || depth > 8) {
		add_text(ret, n, name ? name : "...");
		return;
	}
	switch (dwarf_tag(type)) {
	case DW_TAG_const_type:
		add_text(ret, n, "const ");
		break;
	case DW_TAG_structure_type: case DW_TAG_class_type: case DW_TAG_union_type: case DW_TAG_enumeration_type:
		add_text(ret, n, "(unnamed)");
		return;
	case DW_TAG_subroutine_type:
		add_text(ret, n, "function");
		return;
	}
	if (has_type)
		text_at(&of, ret, n, depth + 1);
	else
		add_text(ret, n, "void");
	switch (dwarf_tag(type)) {
	case DW_TAG_pointer_type:
		add_text(ret, n, " *");
		break;
	case DW_TAG_reference_type:
		add_text(ret, n, " &");
		break;
	case DW_TAG_rvalue_reference_type:
		add_text(ret, n, " &&");
		break;
	case DW_TAG_array_type:
		snprintf(count, sizeof(count), " [%llu]",
			 type_element_n(type, &elements) ? (unsigned long long)elements : 0ull);
		add_text(ret, n, count);
		break;
	}
}

void type_text(Dwarf_Die *type, char *ret, size_t n)
{
	ret[0] = '\0';
	text_at(type, ret, n, 0);
}
