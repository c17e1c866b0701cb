/* SPDX-License-Identifier: (LGPL-2.1 OR BSD-2-Clause) */
/*
 * Rust promises nothing for functions that are not extern "C". What its
 * compiler has done on x86_64 all the time: a number or pointer goes to one
 * register, two of them (slices, &str, &dyn T, (a, b)) to two, other values of
 * up to 8 bytes to one, those of more than 16 to memory of the caller whose
 * address is handed over. What lies between was changed in 1.79 or so, and with
 * it where later arguments are: from there on nothing is known.
 */
#include "objfile/types.h"
#include "objfile/x86-registers.h"

static const uint8_t arg_registers[] = { X86_RDI, X86_RSI, X86_RDX, X86_RCX, X86_R8, X86_R9 };
static const uint8_t result_registers[] = { X86_RAX, X86_RDX };

struct state {
	const uint8_t *registers;
	size_t register_n;
	size_t used;
	int64_t stack;
	bool unknown;
};

static bool has_floats(const struct layout *l)
{
	for (size_t i = 0; i < l->n; i++)
		if (l->v[i].kind != LEAF_INTEGER)
			return true;
	return false;
}

/* One word of a value. On the stack the pieces of one value need not lie side by side: it is told only if it is one. */
static void add_word(struct state *s, struct place *p, uint32_t off, uint32_t size, bool alone)
{
	if (s->used < s->register_n) {
		p->sort = PLACE_REGISTERS;
		p->v[p->n++] = (struct piece){ .off = off, .size = size, .reg = s->registers[s->used++] };
		return;
	}
	if (alone) {
		p->sort = PLACE_CFA;
		p->at = s->stack;
	} else {
		p->v[p->n++] = (struct piece){ .off = off, .size = size, .lost = true };
	}
	s->stack += 8;
}

static void assign(struct state *s, const struct layout *l, struct place *ret)
{
	*ret = (struct place){ .sort = PLACE_NONE };
	if (!l->size || s->unknown)
		return;
	if (l->n == 1 && l->v[0].kind == LEAF_FLOAT)
		return; /* in a vector register */
	if (has_floats(l) && l->size <= 16) {
		s->unknown = true;
	} else if (l->n <= 2 && l->size <= 16 && !l->array) {
		for (size_t i = 0; i < l->n; i++)
			add_word(s, ret, l->v[i].off, l->v[i].size, l->n == 1);
	} else if (l->size <= 8) {
		add_word(s, ret, 0, (uint32_t)l->size, true);
	} else if (l->size <= 16) {
		s->unknown = true;
	} else if (s->used < s->register_n) {
		*ret = (struct place){ .sort = PLACE_POINTER, .reg = s->registers[s->used++] };
	} else {
		*ret = (struct place){ .sort = PLACE_STACK_POINTER, .at = s->stack };
		s->stack += 8;
	}
}

void abi_rust(const struct signature *s, struct place *ret_args, struct place *ret_results)
{
	struct state args = { .registers = arg_registers, .register_n = sizeof(arg_registers) };
	struct state result = { .registers = result_registers, .register_n = sizeof(result_registers) };

	if (s->result_n) {
		if (s->results[0].size > 16) {
			ret_results[0] = (struct place){ .sort = PLACE_POINTER, .reg = X86_RAX };
			args.used = 1;
		} else {
			assign(&result, &s->results[0], &ret_results[0]);
			args.unknown = result.unknown;
		}
	}
	for (size_t i = 0; i < s->arg_n; i++)
		assign(&args, &s->args[i], &ret_args[i]);
}
