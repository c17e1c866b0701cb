/* SPDX-License-Identifier: (LGPL-2.1 OR BSD-2-Clause) */
/*
 * System V ABI, AMD64 supplement, 3.2.3: a value of up to 16 bytes is looked at
 * by eights. Each eight goes to the next general register if it has an integer
 * or pointer in it, else to the next vector register; if there are not enough
 * left for all of them, or the value is longer, it goes to the stack. C++
 * objects that can't be copied byte by byte are handed over by their address.
 */
#include "objfile/types.h"
#include "objfile/x86-registers.h"

#define EIGHTS_MAX 2
#define VECTOR_REGISTERS 8

static const uint8_t arg_registers[] = { X86_RDI, X86_RSI, X86_RDX, X86_RCX, X86_R8, X86_R9 };
static const uint8_t result_registers[] = { X86_RAX, X86_RDX };

struct state {
	const uint8_t *registers;
	size_t register_n;
	size_t used, vector_used;
	int64_t stack;
};

/* Which eights have an integer in them. False: it is handed over in memory. */
static bool look_at_eights(const struct layout *l, bool integer[static EIGHTS_MAX], size_t *ret_n)
{
	if (l->too_many || l->size > 8 * EIGHTS_MAX)
		return false;
	integer[0] = integer[1] = false;
	for (size_t i = 0; i < l->n; i++) {
		const struct leaf *leaf = &l->v[i];

		if (leaf->kind == LEAF_LONG_DOUBLE || !leaf->size || leaf->off % leaf->size || leaf->off >= 16)
			return false;
		if (leaf->kind == LEAF_INTEGER)
			integer[leaf->off / 8] = true;
	}
	*ret_n = (l->size + 7) / 8;
	return true;
}

static bool to_registers(struct state *s, const struct layout *l, struct place *ret)
{
	struct place p = { .sort = PLACE_REGISTERS };
	bool integer[EIGHTS_MAX];
	size_t n, integer_n = 0;

	if (!look_at_eights(l, integer, &n))
		return false;
	for (size_t i = 0; i < n; i++)
		integer_n += integer[i];
	if (s->used + integer_n > s->register_n || s->vector_used + n - integer_n > VECTOR_REGISTERS)
		return false;
	for (size_t i = 0; i < n; i++) {
		uint32_t left = (uint32_t)l->size - (uint32_t)i * 8;

		p.v[p.n++] = (struct piece){ .off = (uint32_t)i * 8, .size = left < 8 ? left : 8, .lost = !integer[i],
					     .reg = integer[i] ? s->registers[s->used] : 0 };
		s->used += integer[i];
		s->vector_used += !integer[i];
	}
	*ret = p;
	return true;
}

static void assign(struct state *s, const struct layout *l, struct place *ret)
{
	int64_t align = l->align > 8 ? 16 : 8;

	/* An empty structure of C++ has a size and no contents. */
	if (!l->n && !l->too_many) {
		*ret = (struct place){ .sort = PLACE_NONE };
		return;
	}
	if (l->by_reference) {
		if (s->used < s->register_n) {
			*ret = (struct place){ .sort = PLACE_POINTER, .reg = s->registers[s->used++] };
			return;
		}
		*ret = (struct place){ .sort = PLACE_STACK_POINTER, .at = s->stack };
		s->stack += 8;
		return;
	}
	if (to_registers(s, l, ret))
		return;
	s->stack = (s->stack + align - 1) & -align;
	*ret = (struct place){ .sort = PLACE_CFA, .at = s->stack };
	s->stack += ((int64_t)l->size + 7) & -8;
}

void abi_sysv(const struct signature *s, struct place *ret_args, struct place *ret_results)
{
	struct state args = { .registers = arg_registers, .register_n = sizeof(arg_registers) };
	struct state result = { .registers = result_registers, .register_n = sizeof(result_registers) };

	if (s->result_n) {
		const struct layout *l = &s->results[0];
		bool long_double = l->n && l->v[0].kind == LEAF_LONG_DOUBLE;

		/* Where it is to be put is the first argument then, and given back. */
		if (!long_double && (l->by_reference || (l->n && !to_registers(&result, l, &ret_results[0])))) {
			ret_results[0] = (struct place){ .sort = PLACE_POINTER, .reg = X86_RAX };
			args.used = 1;
		} else if (long_double || !l->n) {
			ret_results[0] = (struct place){ .sort = PLACE_NONE };
		}
	}
	for (size_t i = 0; i < s->arg_n; i++)
		assign(&args, &s->args[i], &ret_args[i]);
}
