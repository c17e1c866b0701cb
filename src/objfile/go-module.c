/* SPDX-License-Identifier: (LGPL-2.1 OR BSD-2-Clause) */
/*
 * The table doesn't say where the code is that it describes; the runtime's
 * moduledata does. That is a variable without a symbol in a stripped program:
 * the only place in its data that points at the table, and next to it at the
 * parts of the table. In a position-independent program these pointers are
 * relative relocations, and the words in the file may be 0.
 */
#include <errno.h>
#include <string.h>

#include "objfile/go.h"
#include "util/cleanup.h"

#define CHUNK (1u << 20)
#define WORDS_N (sizeof(((struct go_words *)NULL)->v) / 8)
#define CANDIDATES_MAX 64

/* Of the moduledata's words, the same in all releases since 1.16. */
enum { TABLE = 0, NAMES = 1, UNITS = 4, FILES = 7, VALUES = 10, RECORDS = 13, FUNCTIONS = 16 };

struct relocations {
	uint64_t vaddr, n; /* Elf64_Rela; n 0: none */
};

/* Its address is its offset as far as the file goes: they lie in the first segment. */
static void relocations_find(struct objfile *o, struct relocations *ret)
{
	Elf *elf = objfile_elf(o);
	size_t phdr_n;
	uint64_t rela = 0, size = 0;

	*ret = (struct relocations){ 0 };
	if (elf_getphdrnum(elf, &phdr_n))
		return;
	for (size_t i = 0; i < phdr_n && i < INT32_MAX; i++) {
		GElf_Phdr p;

		if (!gelf_getphdr(elf, (int)i, &p) || p.p_type != PT_DYNAMIC)
			continue;
		for (uint64_t at = 0; at + sizeof(Elf64_Dyn) <= p.p_filesz; at += sizeof(Elf64_Dyn)) {
			Elf64_Dyn dyn;

			if (objfile_read(o, p.p_offset + at, &dyn, sizeof(dyn)) || dyn.d_tag == DT_NULL)
				break;
			if (dyn.d_tag == DT_RELA)
				rela = dyn.d_un.d_ptr;
			else if (dyn.d_tag == DT_RELASZ)
				size = dyn.d_un.d_val;
		}
	}
	*ret = (struct relocations){ rela, size / sizeof(Elf64_Rela) };
}

static bool is_relative(const Elf64_Rela *r)
{
	uint32_t type = ELF64_R_TYPE(r->r_info);

	return type == R_X86_64_RELATIVE || type == R_AARCH64_RELATIVE;
}

/* Calls f for each relative relocation until it gives non-zero, which is given back. */
static int relocations_each(const struct objfile *o, const struct relocations *all,
			    int (*f)(void *arg, uint64_t place, uint64_t value), void *arg)
{
	_cleanup_(freep) Elf64_Rela *chunk = malloc(CHUNK);
	const uint64_t step = CHUNK / sizeof(*chunk);

	if (!chunk)
		return -ENOMEM;
	for (uint64_t at = 0; at < all->n; at += step) {
		uint64_t n = all->n - at < step ? all->n - at : step;

		if (objfile_read_vaddr(o, all->vaddr + at * sizeof(*chunk), chunk, n * sizeof(*chunk)))
			return 0;
		for (uint64_t i = 0; i < n; i++) {
			int r = is_relative(&chunk[i]) ? f(arg, chunk[i].r_offset, (uint64_t)chunk[i].r_addend) : 0;

			if (r)
				return r;
		}
	}
	return 0;
}

/* Where the table's address is kept. */
struct candidates {
	uint64_t wanted;
	uint64_t v[CANDIDATES_MAX];
	size_t n;
};

static int candidate(void *arg, uint64_t place, uint64_t value)
{
	struct candidates *c = arg;

	if (value == c->wanted && place % 8 == 0 && c->n < CANDIDATES_MAX)
		c->v[c->n++] = place;
	return c->n == CANDIDATES_MAX;
}

static int candidates_in_data(struct objfile *o, struct candidates *c)
{
	_cleanup_(freep) uint64_t *chunk = malloc(CHUNK);
	Elf *elf = objfile_elf(o);
	size_t phdr_n;

	if (!chunk)
		return -ENOMEM;
	if (elf_getphdrnum(elf, &phdr_n))
		return 0;
	for (size_t i = 0; i < phdr_n && i < INT32_MAX; i++) {
		GElf_Phdr p;

		/* Read-only when the program runs, it is written by relocation: its segment is writable in any case. */
		if (!gelf_getphdr(elf, (int)i, &p) || p.p_type != PT_LOAD || !(p.p_flags & PF_W) || p.p_vaddr % 8)
			continue;
		for (uint64_t at = 0; at < p.p_filesz; at += CHUNK) {
			uint64_t n = p.p_filesz - at < CHUNK ? p.p_filesz - at : CHUNK;

			if (objfile_read(o, p.p_offset + at, chunk, n))
				break;
			for (size_t w = 0; w < n / 8; w++)
				candidate(c, p.p_vaddr + at + w * 8, chunk[w]);
		}
	}
	return 0;
}

struct overlay {
	uint64_t at;
	uint64_t *words;
	size_t n;
};

static int relocate_word(void *arg, uint64_t place, uint64_t value)
{
	const struct overlay *o = arg;

	if (place >= o->at && place - o->at < o->n * 8 && (place - o->at) % 8 == 0)
		o->words[(place - o->at) / 8] = value;
	return 0;
}

int go_words_read(struct objfile *o, uint64_t vaddr, uint64_t *ret, size_t n)
{
	struct relocations relocations;
	struct overlay overlay = { vaddr, ret, n };
	int err = objfile_read_vaddr(o, vaddr, ret, n * 8);

	if (err)
		return err;
	relocations_find(o, &relocations);
	return relocations_each(o, &relocations, relocate_word, &overlay);
}

static bool is_module(const struct go_words *m, const struct go_header *h)
{
	return m->v[TABLE] == h->vaddr && m->v[NAMES] == h->vaddr + h->names && m->v[UNITS] == h->vaddr + h->units &&
	       m->v[FILES] == h->vaddr + h->files && m->v[VALUES] == h->vaddr + h->values &&
	       m->v[RECORDS] == h->vaddr + h->functions && m->v[FUNCTIONS] == h->vaddr + h->functions;
}

int go_module_find(struct objfile *o, const struct go_header *h, struct go_words *ret)
{
	struct candidates c = { .wanted = h->vaddr };
	struct relocations relocations;
	int err;

	relocations_find(o, &relocations);
	err = relocations_each(o, &relocations, candidate, &c);
	if (err >= 0 && c.n < CANDIDATES_MAX)
		err = candidates_in_data(o, &c);
	if (err < 0)
		return err;
	for (size_t i = 0; i < c.n; i++) {
		struct go_words words = { { 0 } };
		struct overlay overlay = { c.v[i], words.v, WORDS_N };
		size_t n = WORDS_N;

		/* Less, if it is the last thing in its segment: the words that everybody needs come first. */
		while (n > 24 && objfile_read_vaddr(o, c.v[i], words.v, n * 8))
			n--;
		if (n == 24 && objfile_read_vaddr(o, c.v[i], words.v, n * 8))
			continue;
		err = relocations_each(o, &relocations, relocate_word, &overlay);
		if (err)
			return err;
		if (is_module(&words, h)) {
			*ret = words;
			return 0;
		}
	}
	return -ENOENT;
}
