/* SPDX-License-Identifier: (LGPL-2.1 OR BSD-2-Clause) */
/*
 * Go's ABIInternal on amd64 (its document abi-internal.md): a value goes to
 * registers if each number and pointer that it consists of gets one and it has
 * no array of more than one element; else all of it goes to the stack, in order,
 * results behind arguments. Results use the same registers anew.
 */
#include "objfile/types.h"
#include "objfile/x86-registers.h"

#define VECTOR_REGISTERS 15

static const uint8_t registers[] = { X86_RAX, X86_RBX, X86_RCX, X86_RDI, X86_RSI, X86_R8, X86_R9, X86_R10, X86_R11 };

struct state {
	size_t used, vector_used;
	int64_t stack;
};

static bool to_registers(struct state *s, const struct layout *l, struct place *ret)
{
	struct place p = { .sort = PLACE_REGISTERS };
	struct state after = *s;

	if (l->array || l->too_many || !l->size)
		return false;
	for (size_t i = 0; i < l->n; i++) {
		const struct leaf *leaf = &l->v[i];
		bool integer = leaf->kind == LEAF_INTEGER;

		if (integer ? after.used == sizeof(registers) : after.vector_used == VECTOR_REGISTERS)
			return false;
		p.v[p.n++] = (struct piece){ .off = leaf->off, .size = leaf->size, .lost = !integer,
					     .reg = integer ? registers[after.used] : 0 };
		after.used += integer;
		after.vector_used += !integer;
	}
	*s = after;
	*ret = p;
	return true;
}

static void assign(struct state *s, const struct layout *l, struct place *ret)
{
	int64_t align = l->align ? l->align : 1;

	if (to_registers(s, l, ret))
		return;
	s->stack = (s->stack + align - 1) / align * align;
	*ret = (struct place){ .sort = l->size ? PLACE_CFA : PLACE_NONE, .at = s->stack };
	s->stack += (int64_t)l->size;
}

void abi_go(const struct signature *s, struct place *ret_args, struct place *ret_results)
{
	struct state state = { 0 };

	for (size_t i = 0; i < s->arg_n; i++)
		assign(&state, &s->args[i], &ret_args[i]);
	state = (struct state){ .stack = (state.stack + 7) & -8 };
	for (size_t i = 0; i < s->result_n; i++)
		assign(&state, &s->results[i], &ret_results[i]);
}
