/* SPDX-License-Identifier: (LGPL-2.1 OR BSD-2-Clause) */
/*
 * libdw wants a whole file: mapped, it can be truncated under us (SIGBUS);
 * read by libelf, all its debug sections are read, half of which say where
 * variables are, which names and lines don't need. So the sections that count
 * are read into memory that is laid out as the file is. The rest of it is never
 * touched and costs nothing.
 */
#include "objfile/image.h"

#include <errno.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "objfile/sections.h"
#include "util/cleanup.h"

/* Sections that functions, their names and lines are told in. */
static bool is_needed(const struct image *image, const char *name)
{
	static const char *const names[] = {
		".debug_info", ".debug_abbrev", ".debug_aranges", ".debug_line", ".debug_line_str", ".debug_str",
		".debug_str_offsets", ".debug_addr", ".debug_ranges", ".debug_rnglists",
	};

	for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++)
		if (!strcmp(name, names[i]))
			return true;
	return image->places && (!strcmp(name, ".debug_loc") || !strcmp(name, ".debug_loclists"));
}

/* A part of the file into its place. */
static int read_part(const struct image *image, int fd, uint64_t at, uint64_t n)
{
	if (at > image->n || n > image->n - at)
		return -EBADMSG;
	while (n) {
		ssize_t got = pread(fd, (char *)image->bytes + at, n, (off_t)at);

		if (got < 0 && errno == EINTR)
			continue;
		if (got <= 0)
			return got ? -errno : -EBADMSG;
		at += (uint64_t)got;
		n -= (uint64_t)got;
	}
	return 0;
}

static int read_headers(struct image *image, Elf *elf, int fd, size_t strings)
{
	GElf_Ehdr ehdr;
	GElf_Shdr shdr;
	size_t section_n;
	int err;

	if (!gelf_getehdr(elf, &ehdr) || elf_getshdrnum(elf, &section_n) || section_n > UINT32_MAX ||
	    !gelf_getshdr(elf_getscn(elf, strings), &shdr))
		return -EBADMSG;
	err = read_part(image, fd, 0, ehdr.e_ehsize);
	if (!err)
		err = read_part(image, fd, ehdr.e_shoff, section_n * ehdr.e_shentsize);
	return err ? err : read_part(image, fd, shdr.sh_offset, shdr.sh_size);
}

/* Without a NUL it is no link: libdw would follow it, to a file of any build id. */
static void hide_link(struct image *image, const GElf_Shdr *shdr)
{
	if (shdr->sh_offset <= image->n && shdr->sh_size <= image->n - shdr->sh_offset)
		memset((char *)image->bytes + shdr->sh_offset, 0xff, shdr->sh_size);
}

/* Calls f for each section that counts until it gives an error. */
static int each_section(struct image *image, Elf *elf, int fd, size_t strings,
			int (*f)(struct image *image, Elf_Scn *scn, const GElf_Shdr *shdr, int fd))
{
	int err = 0;

	for (Elf_Scn *scn = NULL; !err && (scn = elf_nextscn(elf, scn));) {
		const char *name;
		GElf_Shdr shdr;

		if (!gelf_getshdr(scn, &shdr) || shdr.sh_type == SHT_NOBITS)
			continue;
		name = elf_strptr(elf, strings, shdr.sh_name);
		if (name && is_needed(image, name))
			err = f(image, scn, &shdr, fd);
	}
	return err;
}

static int count_section(struct image *image, Elf_Scn *scn, const GElf_Shdr *shdr, int fd)
{
	GElf_Chdr chdr = { 0 };

	(void)fd;
	if (shdr->sh_flags & SHF_COMPRESSED && !gelf_getchdr(scn, &chdr))
		return -EBADMSG;
	if (__builtin_add_overflow(image->read_n, shdr->sh_size, &image->read_n) ||
	    __builtin_add_overflow(image->read_n, chdr.ch_size, &image->read_n))
		return -EFBIG;
	return 0;
}

static int read_section(struct image *image, Elf_Scn *scn, const GElf_Shdr *shdr, int fd)
{
	(void)scn;
	return read_part(image, fd, shdr->sh_offset, shdr->sh_size);
}

int image_read(struct objfile *o, size_t bytes_max, bool places, struct image *ret)
{
	_cleanup_(image_done) struct image image = { .places = places };
	Elf *elf = objfile_elf(o);
	int fd = objfile_fd(o), err;
	struct stat st;
	size_t strings;
	GElf_Shdr shdr;

	if (!elf || fd < 0 || !sections_find(elf, ".debug_info", &shdr) || elf_getshdrstrndx(elf, &strings))
		return -ENOENT;
	err = each_section(&image, elf, fd, strings, count_section);
	if (!err && image.read_n > bytes_max)
		err = -EFBIG;
	if (err)
		return err;
	if (fstat(fd, &st))
		return -errno;
	image.bytes = mmap(NULL, (size_t)st.st_size, PROT_READ | PROT_WRITE,
			   MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	if (image.bytes == MAP_FAILED) {
		image.bytes = NULL;
		return -errno;
	}
	image.n = (size_t)st.st_size;
	err = read_headers(&image, elf, fd, strings);
	if (!err)
		err = each_section(&image, elf, fd, strings, read_section);
	if (err)
		return err;
	if (sections_find(elf, ".gnu_debugaltlink", &shdr))
		hide_link(&image, &shdr);
	image.elf = elf_memory(image.bytes, image.n);
	image.dwarf = image.elf ? dwarf_begin_elf(image.elf, DWARF_C_READ, NULL) : NULL;
	if (!image.dwarf)
		return -EBADMSG;
	*ret = image;
	image = (struct image){ 0 };
	return 0;
}

void image_done(struct image *image)
{
	if (image->dwarf)
		dwarf_end(image->dwarf);
	if (image->elf)
		elf_end(image->elf);
	if (image->bytes)
		munmap(image->bytes, image->n);
	*image = (struct image){ 0 };
}
