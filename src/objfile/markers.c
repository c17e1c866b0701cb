/* SPDX-License-Identifier: (LGPL-2.1 OR BSD-2-Clause) */
/*
 * A note of SystemTap's user space probes (its sys/sdt.h, version 3): three
 * addresses, the marker's, that of section .stapsdt.base and the semaphore's,
 * then three strings. The section's address as noted is the one at link time:
 * if it has moved since (prelink), so has everything else. The notes are in a
 * section that isn't loaded.
 */
#include <errno.h>
#include <string.h>

#include "objfile/objfile.h"
#include "objfile/sections.h"
#include "util/bytes.h"
#include "util/cleanup.h"
#include "util/strtab.h"
#include "util/vec.h"

#define NOTE_TYPE 3
#define OWNER "stapsdt"

struct objfile_markers {
	struct objfile_marker *v;
	size_t n, cap;
	struct strtab *strings;
};

DEFINE_CLEANUP(struct objfile_markers *, objfile_markers_free)

struct objfile_markers *objfile_markers_free(struct objfile_markers *m)
{
	if (!m)
		return NULL;
	free(m->v);
	strtab_free(m->strings);
	free(m);
	return NULL;
}

static int read_string(struct objfile_markers *m, struct bytes *b, const char **ret)
{
	const char *s;
	uint32_t id;
	int err = bytes_str(b, &s);

	if (!err)
		err = strtab_intern(m->strings, s, &id);
	if (!err)
		*ret = strtab_str(m->strings, id);
	return err;
}

/* base: where .stapsdt.base is; 0: there is none. */
static int add_note(struct objfile_markers *m, const struct objfile *o, struct bytes *b, uint64_t base)
{
	struct objfile_marker e = { 0 };
	uint64_t noted = 0, moved;
	int err = bytes_u64(b, &e.vaddr);

	if (!err)
		err = bytes_u64(b, &noted);
	if (!err)
		err = bytes_u64(b, &e.semaphore);
	if (!err)
		err = read_string(m, b, &e.provider);
	if (!err)
		err = read_string(m, b, &e.name);
	if (!err)
		err = read_string(m, b, &e.arguments);
	if (err == -EBADMSG || (!err && !*e.name))
		return 0; /* damaged: it is left out */
	if (err)
		return err;
	moved = base && noted ? base - noted : 0;
	e.vaddr += moved;
	if (e.semaphore)
		e.semaphore += moved;
	if (e.semaphore && objfile_offset_of_vaddr(o, e.semaphore, &e.semaphore_offset))
		e.semaphore_offset = 0;
	if (VEC_RESERVE(m->v, m->cap, m->n + 1) < 0)
		return -ENOMEM;
	m->v[m->n++] = e;
	return 0;
}

static int add_notes(struct objfile_markers *m, const struct objfile *o, Elf_Data *data, uint64_t base)
{
	size_t at = 0, next, name, desc;
	GElf_Nhdr nhdr;
	int err = 0;

	for (; !err && (next = gelf_getnote(data, at, &nhdr, &name, &desc)) > 0; at = next) {
		struct bytes b = bytes_init((const char *)data->d_buf + desc, nhdr.n_descsz);

		if (nhdr.n_type == NOTE_TYPE && nhdr.n_namesz == sizeof(OWNER) &&
		    !memcmp((const char *)data->d_buf + name, OWNER, sizeof(OWNER)))
			err = add_note(m, o, &b, base);
	}
	return err;
}

static int by_vaddr(const void *pa, const void *pb)
{
	const struct objfile_marker *a = pa, *b = pb;

	if (a->vaddr != b->vaddr)
		return a->vaddr < b->vaddr ? -1 : 1;
	return strcmp(a->name, b->name);
}

int objfile_markers_new(struct objfile *o, struct objfile_markers **ret)
{
	_cleanup_(objfile_markers_freep) struct objfile_markers *m = calloc(1, sizeof(*m));
	Elf *elf = objfile_elf(o);
	uint64_t base = 0;
	GElf_Shdr shdr;
	int err = m ? strtab_new(&m->strings) : -ENOMEM;

	if (!err && !elf)
		err = -EBADF;
	if (!err && sections_find(elf, ".stapsdt.base", &shdr))
		base = shdr.sh_addr;
	for (Elf_Scn *scn = NULL; !err && (scn = elf_nextscn(elf, scn));) {
		Elf_Data *data;

		if (!gelf_getshdr(scn, &shdr) || shdr.sh_type != SHT_NOTE || gelf_getclass(elf) != ELFCLASS64)
			continue;
		data = elf_getdata(scn, NULL);
		if (data && data->d_buf)
			err = add_notes(m, o, data, base);
	}
	if (err)
		return err;
	if (m->n)
		qsort(m->v, m->n, sizeof(*m->v), by_vaddr);
	*ret = TAKE_PTR(m);
	return 0;
}

size_t objfile_markers_all(const struct objfile_markers *m, const struct objfile_marker **ret)
{
	*ret = m->v;
	return m->n;
}
