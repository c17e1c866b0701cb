/* SPDX-License-Identifier: (LGPL-2.1 OR BSD-2-Clause) */
/*
 * The kernel begins at e_entry of the program and of its interpreter. Those are
 * files at a fixed address, files that ask for an interpreter, and files that
 * need no library (the dynamic linker itself, static position-independent
 * programs).
 */
#include "unwind/entry.h"

static bool needs_libraries(Elf *elf, const GElf_Phdr *dynamic)
{
	Elf_Data *data = elf_getdata_rawchunk(elf, (int64_t)dynamic->p_offset, dynamic->p_filesz, ELF_T_DYN);
	GElf_Dyn dyn;

	if (!data)
		return true;
	for (int i = 0; gelf_getdyn(data, i, &dyn) && dyn.d_tag != DT_NULL; i++)
		if (dyn.d_tag == DT_NEEDED)
			return true;
	return false;
}

static bool is_started(Elf *elf)
{
	bool needs = false;
	size_t n;

	if (elf_getphdrnum(elf, &n))
		return false;
	for (size_t i = 0; i < n && i < INT32_MAX; i++) {
		GElf_Phdr p;

		if (!gelf_getphdr(elf, (int)i, &p))
			return false;
		if (p.p_type == PT_INTERP)
			return true;
		needs = needs || (p.p_type == PT_DYNAMIC && needs_libraries(elf, &p));
	}
	return !needs;
}

bool entry_find(Elf *elf, uint64_t *ret_vaddr)
{
	GElf_Ehdr ehdr;

	if (!gelf_getehdr(elf, &ehdr) || !ehdr.e_entry || (ehdr.e_type != ET_EXEC && ehdr.e_type != ET_DYN))
		return false;
	if (ehdr.e_type == ET_DYN && !is_started(elf))
		return false;
	*ret_vaddr = ehdr.e_entry;
	return true;
}
