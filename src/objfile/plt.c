/* SPDX-License-Identifier: (LGPL-2.1 OR BSD-2-Clause) */
/*
 * A stub is "jmp *slot(%rip)", maybe after endbr64 or with a bnd prefix; the
 * relocation of that slot names the function. So nothing is taken from the
 * order of stubs, which linkers and their options vary.
 */
#include "objfile/plt.h"

#include <errno.h>
#include <string.h>

#include "objfile/sections.h"
#include "util/cleanup.h"
#include "util/map.h"

#define STUB_MIN 8u

/* Adds slot -> name of the relocations in a section. */
static int add_slots(Elf *elf, Elf_Scn *scn, const GElf_Shdr *shdr, struct map *slots)
{
	Elf_Data *data = elf_getdata(scn, NULL), *symbols;
	Elf_Scn *table = elf_getscn(elf, shdr->sh_link);
	GElf_Shdr table_shdr;
	GElf_Rela rela;

	if (!data || !table || !gelf_getshdr(table, &table_shdr) || table_shdr.sh_type != SHT_DYNSYM)
		return 0;
	symbols = elf_getdata(table, NULL);
	for (int i = 0; symbols && gelf_getrela(data, i, &rela); i++) {
		uint32_t type = GELF_R_TYPE(rela.r_info);
		const char *name;
		GElf_Sym sym;

		if ((type != R_X86_64_JUMP_SLOT && type != R_X86_64_GLOB_DAT) ||
		    GELF_R_SYM(rela.r_info) > INT32_MAX || !gelf_getsym(symbols, (int)GELF_R_SYM(rela.r_info), &sym))
			continue;
		name = elf_strptr(elf, table_shdr.sh_link, sym.st_name);
		if (name && *name && map_put_ptr(slots, rela.r_offset, (char *)name))
			return -ENOMEM;
	}
	return 0;
}

static int read_slots(Elf *elf, struct map *slots)
{
	int err = 0;

	for (Elf_Scn *scn = NULL; !err && (scn = elf_nextscn(elf, scn));) {
		GElf_Shdr shdr;

		if (gelf_getshdr(scn, &shdr) && shdr.sh_type == SHT_RELA && shdr.sh_flags & SHF_ALLOC)
			err = add_slots(elf, scn, &shdr, slots);
	}
	return err;
}

/* The slot that the stub at addr jumps through; 0: it is none. */
static uint64_t slot_of(const uint8_t *code, size_t n, uint64_t addr)
{
	static const uint8_t endbr64[] = { 0xf3, 0x0f, 0x1e, 0xfa };
	size_t at = 0;
	int32_t to;

	if (n >= sizeof(endbr64) && !memcmp(code, endbr64, sizeof(endbr64)))
		at = sizeof(endbr64);
	if (at < n && code[at] == 0xf2)
		at++;
	if (n - at < 6 || code[at] != 0xff || code[at + 1] != 0x25)
		return 0;
	memcpy(&to, code + at + 2, sizeof(to));
	return addr + at + 6 + (uint64_t)to;
}

static int each_stub(Elf_Scn *scn, const GElf_Shdr *shdr, const struct map *slots,
		     int (*f)(void *arg, uint64_t start, uint64_t len, const char *name), void *arg)
{
	Elf_Data *data = elf_rawdata(scn, NULL);
	uint64_t step = shdr->sh_entsize >= STUB_MIN ? shdr->sh_entsize : 2 * STUB_MIN;
	int r = 0;

	for (uint64_t at = 0; !r && data && data->d_buf && at < data->d_size && step <= data->d_size - at; at += step) {
		uint64_t addr = shdr->sh_addr + at;
		const char *name =
			map_get_ptr(slots, slot_of((const uint8_t *)data->d_buf + at, (size_t)step, addr));

		if (name)
			r = f(arg, addr, step, name);
	}
	return r;
}

int plt_each(Elf *elf, int (*f)(void *arg, uint64_t start, uint64_t len, const char *name), void *arg)
{
	static const char *const names[] = { ".plt", ".plt.sec", ".plt.got" };
	_cleanup_(map_freep) struct map *slots = NULL;
	GElf_Ehdr ehdr;
	int r = 0;

	if (!gelf_getehdr(elf, &ehdr) || ehdr.e_machine != EM_X86_64)
		return 0;
	for (size_t i = 0; !r && i < sizeof(names) / sizeof(*names); i++) {
		GElf_Shdr shdr;
		Elf_Scn *scn = sections_find(elf, names[i], &shdr);

		if (!scn)
			continue;
		if (!slots) {
			r = map_new(&slots);
			if (!r)
				r = read_slots(elf, slots);
		}
		if (!r)
			r = each_stub(scn, &shdr, slots, f, arg);
	}
	return r;
}
