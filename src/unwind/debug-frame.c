/* SPDX-License-Identifier: (LGPL-2.1 OR BSD-2-Clause) */
/*
 * libdw reaches .debug_frame only through a Dwarf handle, and opening one reads
 * and decompresses every debug section: of a big Go program that takes seconds
 * and hundreds of megabytes. So the one section is put into an ELF image of
 * its own, header and two section headers around it, and that is opened. The
 * section has no references to others.
 */
#include "unwind/debug-frame.h"

#include <errno.h>
#include <string.h>

#include "util/cleanup.h"

#define SECTION_MAX (256u << 20)

struct debug_frame {
	char *image;
	size_t section_at, section_n; /* in the image */
	Elf *elf;
	Dwarf *dwarf;
};

DEFINE_CLEANUP(struct debug_frame *, debug_frame_free)

static const char names[] = "\0.debug_frame\0.shstrtab";

static bool is_debug_frame(Elf *elf, size_t strings, Elf_Scn *scn, GElf_Shdr *ret)
{
	const char *name;

	if (!gelf_getshdr(scn, ret) || ret->sh_type == SHT_NOBITS)
		return false;
	name = elf_strptr(elf, strings, ret->sh_name);
	return name && (!strcmp(name, ".debug_frame") || !strcmp(name, ".zdebug_frame"));
}

/* The section's bytes, decompressed; NULL: unreadable. */
static Elf_Data *section_data(Elf_Scn *scn, const GElf_Shdr *shdr)
{
	GElf_Chdr chdr;

	if (shdr->sh_flags & SHF_COMPRESSED) {
		if (!gelf_getchdr(scn, &chdr) || chdr.ch_size > SECTION_MAX || elf_compress(scn, 0, 0) < 0)
			return NULL;
	}
	return elf_rawdata(scn, NULL);
}

/* GNU's older way: "ZLIB" and the size in the section itself. */
static Elf_Data *section_data_gnu(Elf_Scn *scn)
{
	Elf_Data *data = elf_rawdata(scn, NULL);
	uint64_t size;

	if (!data || data->d_size < 12 || memcmp(data->d_buf, "ZLIB", 4))
		return NULL;
	memcpy(&size, (const char *)data->d_buf + 4, sizeof(size));
	if (__builtin_bswap64(size) > SECTION_MAX || elf_compress_gnu(scn, 0, 0) < 0)
		return NULL;
	return elf_rawdata(scn, NULL);
}

static int find_section(Elf *elf, Elf_Data **ret)
{
	size_t strings;

	if (elf_getshdrstrndx(elf, &strings))
		return -ENOENT;
	for (Elf_Scn *scn = NULL; (scn = elf_nextscn(elf, scn));) {
		GElf_Shdr shdr;
		const char *name;
		Elf_Data *data;

		if (!is_debug_frame(elf, strings, scn, &shdr))
			continue;
		name = elf_strptr(elf, strings, shdr.sh_name);
		data = name[1] == 'z' ? section_data_gnu(scn) : section_data(scn, &shdr);
		if (!data || !data->d_buf || data->d_size > SECTION_MAX)
			return -EBADMSG;
		*ret = data;
		return 0;
	}
	return -ENOENT;
}

/* Elf header, section headers, names, section: in this order. */
static int build_image(const GElf_Ehdr *of, const Elf_Data *data, char **ret, size_t *ret_n)
{
	Elf64_Ehdr ehdr = {
		.e_type = ET_DYN,
		.e_machine = of->e_machine,
		.e_version = EV_CURRENT,
		.e_shoff = sizeof(ehdr),
		.e_ehsize = sizeof(ehdr),
		.e_shentsize = sizeof(Elf64_Shdr),
		.e_shnum = 3,
		.e_shstrndx = 2,
	};
	Elf64_Shdr shdr[3] = { 0 };
	size_t at = sizeof(ehdr) + sizeof(shdr), n = at + sizeof(names) + data->d_size;
	char *image = malloc(n);

	if (!image)
		return -ENOMEM;
	memcpy(ehdr.e_ident, of->e_ident, EI_NIDENT);
	shdr[2] = (Elf64_Shdr){ .sh_name = strlen(".debug_frame") + 2, .sh_type = SHT_STRTAB, .sh_offset = at,
				.sh_size = sizeof(names), .sh_addralign = 1 };
	shdr[1] = (Elf64_Shdr){ .sh_name = 1, .sh_type = SHT_PROGBITS, .sh_offset = at + sizeof(names),
				.sh_size = data->d_size, .sh_addralign = 1 };
	memcpy(image, &ehdr, sizeof(ehdr));
	memcpy(image + sizeof(ehdr), shdr, sizeof(shdr));
	memcpy(image + at, names, sizeof(names));
	memcpy(image + at + sizeof(names), data->d_buf, data->d_size);
	*ret = image;
	*ret_n = n;
	return 0;
}

int debug_frame_new(Elf *elf, struct debug_frame **ret)
{
	_cleanup_(debug_frame_freep) struct debug_frame *d = calloc(1, sizeof(*d));
	GElf_Ehdr ehdr;
	Elf_Data *data;
	size_t n;
	int err;

	if (!d)
		return -ENOMEM;
	if (!gelf_getehdr(elf, &ehdr) || ehdr.e_ident[EI_CLASS] != ELFCLASS64)
		return -ENOENT;
	err = find_section(elf, &data);
	if (!err)
		err = build_image(&ehdr, data, &d->image, &n);
	if (err)
		return err;
	d->section_n = data->d_size;
	d->section_at = n - d->section_n;
	d->elf = elf_memory(d->image, n);
	d->dwarf = d->elf ? dwarf_begin_elf(d->elf, DWARF_C_READ, NULL) : NULL;
	if (!d->dwarf || !dwarf_getcfi(d->dwarf))
		return -EBADMSG;
	*ret = TAKE_PTR(d);
	return 0;
}

struct debug_frame *debug_frame_free(struct debug_frame *d)
{
	if (!d)
		return NULL;
	if (d->dwarf)
		dwarf_end(d->dwarf);
	if (d->elf)
		elf_end(d->elf);
	free(d->image);
	free(d);
	return NULL;
}

Dwarf_CFI *debug_frame_cfi(struct debug_frame *d)
{
	return dwarf_getcfi(d->dwarf);
}

void debug_frame_section(const struct debug_frame *d, Elf_Data *ret)
{
	*ret = (Elf_Data){ .d_buf = d->image + d->section_at, .d_size = d->section_n, .d_type = ELF_T_BYTE };
}
