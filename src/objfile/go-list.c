/* SPDX-License-Identifier: (LGPL-2.1 OR BSD-2-Clause) */
/*
 * All goroutines of a program are in a slice, runtime.allgs, which has no name
 * in a stripped program. allgadd() appends to it: nothing else of what it reads
 * and writes in place are three words in a row (address, length, capacity).
 * Where a goroutine's registers are while it doesn't run, mcall() says, which
 * stores there the program counter, the stack pointer and the frame pointer.
 * Neither is ever inlined: the one has a lock, the other is assembly.
 */
#include <errno.h>
#include <stdlib.h>

#include "objfile/go.h"
#include "objfile/insn.h"
#include "objfile/why.h"
#include "util/cleanup.h"

#define CODE_MAX 4096
#define WORDS_MAX 32
#define STORES_N 3

struct seen {
	uint64_t words[WORDS_MAX]; /* addresses of words that are read or written in place */
	size_t word_n;
	int64_t stores[STORES_N]; /* offsets in the goroutine that is in r14 */
	size_t store_n;
};

static void look_in_allgadd(const struct insn_full *i, struct seen *s)
{
	for (int k = 0; k < i->raw.operand_count_visible; k++) {
		const ZydisDecodedOperand *o = &i->operands[k];
		ZyanU64 address;

		if (i->raw.mnemonic == ZYDIS_MNEMONIC_LEA || o->type != ZYDIS_OPERAND_TYPE_MEMORY || o->size != 64 ||
		    o->mem.base != ZYDIS_REGISTER_RIP || s->word_n == WORDS_MAX ||
		    !ZYAN_SUCCESS(ZydisCalcAbsoluteAddress(&i->raw, o, i->brief.vaddr, &address)))
			continue;
		s->words[s->word_n++] = address;
	}
}

static void look_in_mcall(const struct insn_full *i, struct seen *s)
{
	const ZydisDecodedOperand *o = i->operands;

	if (i->raw.mnemonic == ZYDIS_MNEMONIC_MOV && o[0].type == ZYDIS_OPERAND_TYPE_MEMORY && o[0].size == 64 &&
	    o[0].mem.base == ZYDIS_REGISTER_R14 && o[0].mem.index == ZYDIS_REGISTER_NONE &&
	    o[1].type == ZYDIS_OPERAND_TYPE_REGISTER && s->store_n < STORES_N)
		s->stores[s->store_n++] = o[0].mem.disp.value;
}

static int each_insn(const struct objfile *o, const struct objfile_go *g, const char *name,
		     void (*look)(const struct insn_full *i, struct seen *s), struct seen *s)
{
	_cleanup_(freep) uint8_t *code = malloc(CODE_MAX);
	struct objfile_go_function f;
	struct insn_full i;
	size_t n;
	int err = objfile_go_function_named(g, name, &f);

	if (err)
		return err;
	if (!code)
		return -ENOMEM;
	n = f.end - f.start;
	if (n > CODE_MAX)
		return -EBADMSG;
	err = objfile_read_vaddr(o, f.start, code, n);
	for (size_t at = 0; !err && at < n && !insn_decode(code + at, n - at, f.start + at, &i); at += i.brief.len)
		look(&i, s);
	return err;
}

static bool has_word(const struct seen *s, uint64_t address)
{
	for (size_t i = 0; i < s->word_n; i++)
		if (s->words[i] == address)
			return true;
	return false;
}

/* The first of three words in a row, if there is one such. */
static bool find_slice(const struct seen *s, uint64_t *ret)
{
	uint64_t found = 0;

	for (size_t i = 0; i < s->word_n; i++) {
		uint64_t at = s->words[i];

		if (at % 8 || !has_word(s, at + 8) || !has_word(s, at + 16) || at == found)
			continue;
		if (found)
			return false;
		found = at;
	}
	*ret = found;
	return found;
}

int objfile_go_list(const struct objfile *o, const struct objfile_go *g, const struct objfile_go_runtime *r,
		    struct objfile_go_list *ret, struct objfile_why *ret_why)
{
	struct seen s = { .word_n = 0 };
	struct objfile_go_list list;
	int err = each_insn(o, g, "runtime.allgadd", look_in_allgadd, &s);

	if (!err)
		err = each_insn(o, g, "runtime.mcall", look_in_mcall, &s);
	if (err == -ENOENT)
		return why(ret_why, -ENOTSUP, "its runtime has no function that keeps the list of goroutines");
	if (err)
		return err;
	if (!find_slice(&s, &list.allgs))
		return why(ret_why, -ENOTSUP, "the list of goroutines isn't where its runtime is known to have it");
	/* runtime2.go: gobuf comes right behind g's pointer to its m, with sp first, then pc */
	if (s.store_n != STORES_N || s.stores[1] != r->layout.m + 8 || s.stores[0] != s.stores[1] + 8 ||
	    s.stores[2] <= s.stores[0] || s.stores[2] >= r->layout.status)
		return why(ret_why, -ENOTSUP, "where a goroutine's registers are kept isn't as its runtime is known to do");
	list.sp = (uint16_t)s.stores[1];
	list.pc = (uint16_t)s.stores[0];
	list.bp = (uint16_t)s.stores[2];
	*ret = list;
	return 0;
}
