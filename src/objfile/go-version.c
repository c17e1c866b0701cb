/* SPDX-License-Identifier: (LGPL-2.1 OR BSD-2-Clause) */
/*
 * The build information that `go version` reads: 14 bytes of magic, pointer
 * size, flags; from 1.18 on (flag 2) strings with their length before them,
 * from byte 32 on. Before it was pointers; of those programs only the table's
 * format is known.
 */
#include <string.h>

#include "objfile/go.h"
#include "util/cleanup.h"

#define MAGIC "\xff Go buildinf:"
#define MAGIC_N 14
#define ALIGN 16
#define INLINE_STRINGS 2
#define CHUNK (1u << 20)
#define RECORD_MAX 256 /* version included */

static bool parse(const uint8_t *p, size_t n, char *ret, size_t ret_max)
{
	struct bytes b = bytes_init(p, n);
	const void *text;
	uint64_t text_n;
	uint8_t flags;

	if (n < MAGIC_N || memcmp(p, MAGIC, MAGIC_N) || bytes_seek(&b, MAGIC_N + 1) || bytes_u8(&b, &flags))
		return false;
	if (!(flags & INLINE_STRINGS) || bytes_seek(&b, 32) || bytes_uleb(&b, &text_n))
		return false;
	if (!text_n || text_n >= ret_max || bytes_mem(&b, text_n, &text) || memchr(text, '\0', text_n))
		return false;
	if (memcmp(text, "go", 2) && memcmp(text, "devel", text_n < 5 ? text_n : 5))
		return false;
	memcpy(ret, text, text_n);
	ret[text_n] = '\0';
	return true;
}

/* Looks at all of a segment; it has the information aligned. */
static bool look_in(const struct objfile *o, const GElf_Phdr *p, uint8_t *chunk, char *ret, size_t n)
{
	for (uint64_t at = 0; at < p->p_filesz; at += CHUNK - RECORD_MAX) {
		size_t have = p->p_filesz - at < CHUNK ? p->p_filesz - at : CHUNK;

		if (objfile_read(o, p->p_offset + at, chunk, have))
			return false;
		for (size_t i = -(p->p_vaddr + at) % ALIGN; i < have; i += ALIGN) {
			if (chunk[i] == 0xff && parse(chunk + i, have - i, ret, n))
				return true;
		}
	}
	return false;
}

void go_version_read(struct objfile *o, char *ret, size_t n)
{
	_cleanup_(freep) uint8_t *chunk = malloc(CHUNK);
	Elf *elf = objfile_elf(o);
	size_t phdr_n;

	if (!chunk || elf_getphdrnum(elf, &phdr_n))
		return;
	for (size_t i = 0; i < phdr_n && i < INT32_MAX; i++) {
		GElf_Phdr p;

		if (gelf_getphdr(elf, (int)i, &p) && p.p_type == PT_LOAD && p.p_flags & PF_W &&
		    look_in(o, &p, chunk, ret, n))
			return;
	}
}
