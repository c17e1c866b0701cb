/* SPDX-License-Identifier: (LGPL-2.1 OR BSD-2-Clause) */
/*
 * A switch becomes an indirect jump in one of these ways:
 *
 *   jmp *table(,%idx,8)                                    addresses, at a fixed place
 *   jmp *(%table,%idx,8)                                   the same, Go's and some of C
 *   movslq (%table,%idx,4),%r; add %table,%r; jmp *%r      distances from the table (or lea (%table,%r),%r)
 *   mov (%table,%idx,8),%r; jmp *%r                        addresses
 *
 * A call through an array of pointers to functions looks like those with
 * addresses; then what the array has tells which it is. One way to get to the
 * jump is looked at, not all: a jump is of one kind, however it is reached.
 */
#include <errno.h>
#include <string.h>

#include "objfile/flow.h"

#define BACK_MAX 16
#define ENTRIES_LOOK 4
#define MOVES_MAX 4
#define ENTRIES_MAX 4096

static bool goes_on(const struct insn *i)
{
	return i->flow == FLOW_NEXT || i->flow == FLOW_CALL || i->flow == FLOW_BRANCH;
}

/* The instruction that is run before index: the one in front of it, or where that leads elsewhere one that jumps here. */
static bool find_before(const struct flow *f, size_t index, size_t *ret)
{
	const struct flow_part *part = flow_part_of(f, f->v[index].vaddr);

	if (index > part->first && goes_on(&f->v[index - 1]) && !f->v[index - 1].filler) {
		*ret = index - 1;
		return true;
	}
	for (size_t i = 0; i < f->n; i++) {
		if ((f->v[i].flow != FLOW_JUMP && f->v[i].flow != FLOW_BRANCH) || f->v[i].target != f->v[index].vaddr)
			continue;
		*ret = i;
		return true;
	}
	if (index == part->first || !goes_on(&f->v[index - 1]))
		return false;
	*ret = index - 1;
	return true;
}

/* The instruction that sets a register last before index. */
static bool find_setter(const struct flow *f, size_t index, ZydisRegister reg, struct insn_full *ret, size_t *ret_index)
{
	uint8_t wanted, left = BACK_MAX;

	if (!insn_register(reg, &wanted))
		return false;
	while (left-- && find_before(f, index, &index)) {
		if (f->v[index].flow == FLOW_CALL || flow_full(f, index, ret))
			return false;
		if (!(insn_writes(ret) & 1u << wanted))
			continue;
		*ret_index = index;
		return true;
	}
	return false;
}

/* The address that a register has before index, if a lea or mov of a number sets it. */
static bool find_address(const struct flow *f, size_t index, ZydisRegister reg, uint64_t *ret)
{
	struct insn_full i;
	ZyanU64 address;

	if (!find_setter(f, index, reg, &i, &index))
		return false;
	if (i.raw.mnemonic == ZYDIS_MNEMONIC_MOV && i.operands[1].type == ZYDIS_OPERAND_TYPE_IMMEDIATE) {
		*ret = i.operands[1].imm.value.u;
		return true;
	}
	if (i.raw.mnemonic != ZYDIS_MNEMONIC_LEA || i.operands[1].mem.base != ZYDIS_REGISTER_RIP ||
	    !ZYAN_SUCCESS(ZydisCalcAbsoluteAddress(&i.raw, &i.operands[1], i.brief.vaddr, &address)))
		return false;
	*ret = address;
	return true;
}

/* What an array of addresses has, by its first entries. */
static enum table_sort look_at_addresses(const struct flow *f, uint64_t table)
{
	uint64_t entries[ENTRIES_LOOK];

	for (size_t n = ENTRIES_LOOK; n; n--) {
		if (objfile_read_vaddr(f->c->o, table, entries, n * sizeof(*entries)))
			continue;
		if (!entries[0])
			return TABLE_UNKNOWN; /* filled in when the program is loaded */
		return flow_part_of(f, entries[0]) ? TABLE_INSIDE : TABLE_OUTSIDE;
	}
	return TABLE_UNKNOWN;
}

static enum table_sort look_at_memory(const struct flow *f, size_t index, const ZydisDecodedOperand *o)
{
	uint64_t table = (uint64_t)o->mem.disp.value, base;

	if (o->mem.index == ZYDIS_REGISTER_NONE)
		return TABLE_NONE;
	if (o->mem.scale != 8)
		return TABLE_UNKNOWN;
	if (o->mem.base == ZYDIS_REGISTER_NONE)
		return look_at_addresses(f, table);
	if (!find_address(f, index, o->mem.base, &base))
		return TABLE_UNKNOWN;
	return look_at_addresses(f, base + table);
}

/* movslq (%table,%idx,4): nothing but a table of distances is read like this. */
static bool reads_distance(const struct insn_full *i)
{
	return i->raw.mnemonic == ZYDIS_MNEMONIC_MOVSXD && i->operands[1].type == ZYDIS_OPERAND_TYPE_MEMORY &&
	       i->operands[1].mem.index != ZYDIS_REGISTER_NONE && i->operands[1].mem.scale == 4;
}

/* The two registers that an instruction adds up: add %b,%a, or lea (%a,%b),%c. */
static bool adds(const struct insn_full *i, ZydisRegister ret[static 2])
{
	if (i->raw.mnemonic == ZYDIS_MNEMONIC_ADD && i->operands[1].type == ZYDIS_OPERAND_TYPE_REGISTER) {
		ret[0] = i->operands[0].reg.value;
		ret[1] = i->operands[1].reg.value;
		return true;
	}
	if (i->raw.mnemonic != ZYDIS_MNEMONIC_LEA || i->operands[1].mem.scale != 1 || i->operands[1].mem.disp.value)
		return false;
	ret[0] = i->operands[1].mem.base;
	ret[1] = i->operands[1].mem.index;
	return ret[0] != ZYDIS_REGISTER_NONE && ret[1] != ZYDIS_REGISTER_NONE;
}

static enum table_sort look_at_register(const struct flow *f, size_t index, ZydisRegister reg)
{
	ZydisRegister parts[2];
	struct insn_full i, load;
	size_t at, unused;

	for (unsigned int moves = 0; moves < MOVES_MAX; moves++) {
		/* What it was called with, or what a call has given back. */
		if (!find_setter(f, index, reg, &i, &at))
			return TABLE_NONE;
		if (i.raw.mnemonic != ZYDIS_MNEMONIC_MOV || i.operands[1].type != ZYDIS_OPERAND_TYPE_REGISTER)
			break;
		reg = i.operands[1].reg.value;
		index = at;
	}
	if (adds(&i, parts)) {
		for (size_t k = 0; k < 2; k++)
			if (find_setter(f, at, parts[k], &load, &unused) && reads_distance(&load))
				return TABLE_INSIDE;
		return TABLE_UNKNOWN;
	}
	/* glibc keeps pointers to functions so that nobody can put others in their place. */
	if (i.raw.mnemonic == ZYDIS_MNEMONIC_XOR && i.operands[1].type == ZYDIS_OPERAND_TYPE_MEMORY &&
	    i.operands[1].mem.segment == ZYDIS_REGISTER_FS)
		return TABLE_NONE;
	if (i.raw.mnemonic != ZYDIS_MNEMONIC_MOV)
		return TABLE_UNKNOWN;
	return i.operands[1].type == ZYDIS_OPERAND_TYPE_MEMORY ? look_at_memory(f, at, &i.operands[1]) : TABLE_NONE;
}

enum table_sort table_look(const struct flow *f, size_t index)
{
	struct insn_full i;

	if (flow_full(f, index, &i))
		return TABLE_UNKNOWN;
	if (i.operands[0].type == ZYDIS_OPERAND_TYPE_MEMORY)
		return look_at_memory(f, index, &i.operands[0]);
	if (i.operands[0].type == ZYDIS_OPERAND_TYPE_REGISTER)
		return look_at_register(f, index, i.operands[0].reg.value);
	return TABLE_UNKNOWN;
}

/* An array of addresses that an operand indexes: where it is. */
static bool array_of(const struct flow *f, size_t index, const ZydisDecodedOperand *o, uint64_t *ret)
{
	uint64_t base = 0;

	if (o->mem.index == ZYDIS_REGISTER_NONE || o->mem.scale != 8 ||
	    (o->mem.base != ZYDIS_REGISTER_NONE && !find_address(f, index, o->mem.base, &base)))
		return false;
	*ret = base + (uint64_t)o->mem.disp.value;
	return true;
}

struct table {
	uint64_t at;
	bool distances; /* of 4 bytes, from where it is; else addresses */
};

static bool find_table(const struct flow *f, size_t index, struct table *ret)
{
	ZydisRegister parts[2];
	struct insn_full i, load;
	size_t at, unused;

	if (flow_full(f, index, &i))
		return false;
	ret->distances = false;
	if (i.operands[0].type == ZYDIS_OPERAND_TYPE_MEMORY)
		return array_of(f, index, &i.operands[0], &ret->at);
	if (i.operands[0].type != ZYDIS_OPERAND_TYPE_REGISTER ||
	    !find_setter(f, index, i.operands[0].reg.value, &i, &at))
		return false;
	if (i.raw.mnemonic == ZYDIS_MNEMONIC_MOV && i.operands[1].type == ZYDIS_OPERAND_TYPE_MEMORY)
		return array_of(f, at, &i.operands[1], &ret->at);
	if (!adds(&i, parts))
		return false;
	ret->distances = true;
	/* One of the two has the table's address, the other the distance. */
	for (size_t k = 0; k < 2; k++)
		if (find_setter(f, at, parts[k], &load, &unused) && reads_distance(&load) &&
		    find_address(f, at, parts[1 - k], &ret->at))
			return true;
	return false;
}

int table_targets(const struct flow *f, size_t index, void (*add)(void *arg, size_t to), void *arg)
{
	struct table table;
	size_t n = 0;

	if (!find_table(f, index, &table))
		return -ENOENT;
	for (; n < ENTRIES_MAX; n++) {
		uint64_t target;
		int32_t distance;
		size_t to;

		if (table.distances ? objfile_read_vaddr(f->c->o, table.at + n * 4, &distance, 4) :
				      objfile_read_vaddr(f->c->o, table.at + n * 8, &target, 8))
			break;
		if (table.distances)
			target = table.at + (uint64_t)(int64_t)distance;
		if (!flow_index(f, target, &to))
			break;
		add(arg, to);
	}
	return n ? 0 : -ENOENT;
}
