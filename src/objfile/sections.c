/* SPDX-License-Identifier: (LGPL-2.1 OR BSD-2-Clause) */
/* Names are asked of libelf, which checks that they lie inside their table. */
#include "objfile/sections.h"

#include <string.h>

Elf_Scn *sections_find(Elf *elf, const char *name, GElf_Shdr *ret)
{
	size_t strings;

	if (elf_getshdrstrndx(elf, &strings))
		return NULL;
	for (Elf_Scn *scn = NULL; (scn = elf_nextscn(elf, scn));) {
		const char *its_name;
		GElf_Shdr shdr;

		if (!gelf_getshdr(scn, &shdr) || shdr.sh_type == SHT_NOBITS)
			continue;
		its_name = elf_strptr(elf, strings, shdr.sh_name);
		if (its_name && !strcmp(its_name, name)) {
			*ret = shdr;
			return scn;
		}
	}
	return NULL;
}
