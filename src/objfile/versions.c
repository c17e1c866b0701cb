/* SPDX-License-Identifier: (LGPL-2.1 OR BSD-2-Clause) */
/*
 * .gnu.version has a number for each symbol; .gnu.version_d names those that
 * the file defines, .gnu.version_r those that it wants of others. Numbers 0 and
 * 1 are none.
 */
#include "objfile/versions.h"

#include <errno.h>
#include <stdint.h>
#include <stdlib.h>

#define FIRST 2
#define HIDDEN 0x8000
#define ENTRIES_MAX 0x8000

void versions_done(struct versions *v)
{
	free(v->names);
}

static void set_name(struct versions *v, Elf *elf, size_t strings, size_t index, size_t name)
{
	index &= HIDDEN - 1;
	if (index >= FIRST && index < v->n)
		v->names[index] = elf_strptr(elf, strings, name);
}

/* Entries lead to the next one by an offset; in a damaged table it may never end. */
static void read_defined(struct versions *v, Elf *elf, Elf_Data *data, size_t strings)
{
	GElf_Verdef def;
	GElf_Verdaux aux;
	size_t at = 0;

	for (unsigned int i = 0; i < ENTRIES_MAX && at < INT32_MAX && gelf_getverdef(data, (int)at, &def); i++) {
		if (gelf_getverdaux(data, (int)(at + def.vd_aux), &aux))
			set_name(v, elf, strings, def.vd_ndx, aux.vda_name);
		if (!def.vd_next)
			return;
		at += def.vd_next;
	}
}

static void read_wanted(struct versions *v, Elf *elf, Elf_Data *data, size_t strings)
{
	GElf_Verneed need;
	GElf_Vernaux aux;
	size_t at = 0;
	unsigned int left = ENTRIES_MAX;

	while (left-- && at < INT32_MAX && gelf_getverneed(data, (int)at, &need)) {
		size_t aux_at = at + need.vn_aux;

		for (; left && aux_at < INT32_MAX && gelf_getvernaux(data, (int)aux_at, &aux); left--) {
			set_name(v, elf, strings, aux.vna_other, aux.vna_name);
			if (!aux.vna_next)
				break;
			aux_at += aux.vna_next;
		}
		if (!need.vn_next)
			return;
		at += need.vn_next;
	}
}

int versions_read(Elf *elf, struct versions *ret)
{
	struct versions v = { .n = HIDDEN };

	v.names = calloc(v.n, sizeof(*v.names));
	if (!v.names)
		return -ENOMEM;
	for (Elf_Scn *scn = NULL; (scn = elf_nextscn(elf, scn));) {
		GElf_Shdr shdr;
		Elf_Data *data;

		if (!gelf_getshdr(scn, &shdr) || shdr.sh_type == SHT_NOBITS)
			continue;
		if (shdr.sh_type != SHT_GNU_versym && shdr.sh_type != SHT_GNU_verdef && shdr.sh_type != SHT_GNU_verneed)
			continue;
		data = elf_getdata(scn, NULL);
		if (!data || !data->d_buf)
			continue;
		if (shdr.sh_type == SHT_GNU_versym)
			v.of_symbols = data;
		else if (shdr.sh_type == SHT_GNU_verdef)
			read_defined(&v, elf, data, shdr.sh_link);
		else
			read_wanted(&v, elf, data, shdr.sh_link);
	}
	*ret = v;
	return 0;
}

void versions_of(const struct versions *v, size_t i, const char **ret, bool *ret_old)
{
	GElf_Versym number;

	if (!v->of_symbols || i > INT32_MAX || !gelf_getversym(v->of_symbols, (int)i, &number))
		return;
	if ((number & (HIDDEN - 1)) < FIRST || !v->names[number & (HIDDEN - 1)])
		return;
	*ret = v->names[number & (HIDDEN - 1)];
	*ret_old = number & HIDDEN;
}
