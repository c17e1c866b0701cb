/* SPDX-License-Identifier: (LGPL-2.1 OR BSD-2-Clause) */
/*
 * Finding the table. Its section has a name only where the linker kept one:
 * in position-independent programs it lies amid other read-only data, and a
 * program may have no section headers at all. Then its first eight bytes are
 * looked for; that they are not something else is sure once a moduledata is
 * found that points to them.
 *
 * Layout of the header: pcHeader in the runtime's symtab.go.
 */
#include <errno.h>
#include <string.h>

#include "objfile/go.h"
#include "util/cleanup.h"

#define CHUNK (1u << 20)
#define TABLE_MAX (1u << 30)
#define HEADER_N 72
#define MODULE_RECORDS 13 /* words of the moduledata: pclntable */
#define MODULE_FILES 7
#define MODULE_TEXT 22
#define MODULE_TEXT_END 23

DEFINE_CLEANUP(struct objfile_go *, objfile_go_free)

struct objfile_go *objfile_go_free(struct objfile_go *g)
{
	if (!g)
		return NULL;
	free(g->table);
	free(g->trees);
	free(g);
	return NULL;
}

static bool magic_format(uint32_t magic, enum go_format *ret)
{
	switch (magic) {
	case 0xfffffffa:
		*ret = GO_FORMAT_1_16;
		return true;
	case 0xfffffff0:
		*ret = GO_FORMAT_1_18;
		return true;
	case 0xfffffff1:
		*ret = GO_FORMAT_1_20;
		return true;
	}
	return false;
}

/* The first 8 bytes: magic, two zeros, quantum, bytes of a pointer. */
static bool header_begins(const uint8_t *p, enum go_format *ret_format, uint8_t *ret_quantum)
{
	uint32_t magic;

	memcpy(&magic, p, sizeof(magic));
	if (p[4] || p[5] || (p[6] != 1 && p[6] != 4) || p[7] != 8)
		return false;
	*ret_quantum = p[6];
	return magic_format(magic, ret_format);
}

static bool header_parse(const uint8_t *p, uint64_t vaddr, struct go_header *ret)
{
	struct go_header h = { .vaddr = vaddr };
	uint64_t w[(HEADER_N - 8) / 8];
	const uint64_t *offsets;

	if (!header_begins(p, &h.format, &h.quantum))
		return false;
	memcpy(w, p + 8, sizeof(w));
	offsets = h.format == GO_FORMAT_1_16 ? w + 2 : w + 3; /* functions, files, (from 1.18 on) text */
	h.function_n = w[0];
	h.names = offsets[0];
	h.units = offsets[1];
	h.files = offsets[2];
	h.values = offsets[3];
	h.functions = offsets[4];
	if (!h.function_n || h.function_n > TABLE_MAX / 8 || h.names < HEADER_N - 8 || h.units < h.names ||
	    h.files < h.units || h.values < h.files || h.functions < h.values || h.functions >= TABLE_MAX)
		return false;
	*ret = h;
	return true;
}

static int part(const struct objfile_go *g, uint64_t from, uint64_t to, struct bytes *ret)
{
	if (from > to || to > g->table_n)
		return -EBADMSG;
	*ret = bytes_init(g->table + from, to - from);
	return 0;
}

/* The table in memory, with its parts. */
static int load_table(struct objfile *o, const struct go_header *h, const struct go_words *m, struct objfile_go *g)
{
	uint64_t n;
	int err;

	/* The last part, and its length. */
	if (__builtin_add_overflow(h->functions, m->v[MODULE_RECORDS + 1], &n) || n > TABLE_MAX)
		return -EBADMSG;
	g->table = malloc(n + 1);
	if (!g->table)
		return -ENOMEM;
	g->table_n = n;
	err = objfile_read_vaddr(o, h->vaddr, g->table, n);
	if (!err)
		err = part(g, h->names, h->units, &g->names);
	if (!err)
		err = part(g, h->units, h->files, &g->units);
	if (!err)
		err = part(g, h->files, h->values, &g->files);
	if (!err)
		err = part(g, h->values, h->functions, &g->values);
	if (!err)
		err = part(g, h->functions, n, &g->functions);
	return err;
}

/* Function ids are numbered by name, but for the wrappers', which is the last: after systemstack_switch. */
static void learn_wrapper_id(struct objfile_go *g)
{
	for (size_t i = 0; i < g->function_n; i++) {
		struct objfile_go_function f;
		struct go_record record;

		if (objfile_go_function_at(g, i, &f) || strcmp(f.name, "runtime.systemstack_switch"))
			continue;
		if (!go_record_read(g, f.record, &record) && record.id && record.id < UINT8_MAX)
			g->wrapper_id = record.id + 1;
		return;
	}
}

/* What a header leads to. -ENOENT: it wasn't one. */
static int open_header(struct objfile *o, const struct go_header *h, struct objfile_go **ret)
{
	_cleanup_(objfile_go_freep) struct objfile_go *g = NULL;
	struct go_words module;
	int err = go_module_find(o, h, &module);

	if (err)
		return err;
	g = calloc(1, sizeof(*g));
	if (!g)
		return -ENOMEM;
	g->format = h->format;
	g->quantum = h->quantum;
	g->function_n = h->function_n;
	g->text = module.v[MODULE_TEXT];
	g->text_end = module.v[MODULE_TEXT_END];
	if (g->text >= g->text_end)
		return -EBADMSG;
	err = load_table(o, h, &module, g);
	if (!err)
		err = go_functions_check(g);
	if (!err) {
		learn_wrapper_id(g);
		err = go_trees_read(g, o, &module);
	}
	if (err)
		return err;
	go_version_read(o, g->version, sizeof(g->version));
	*ret = TAKE_PTR(g);
	return 0;
}

/* Headers among the n bytes at vaddr, of which the last HEADER_N are looked at with the next ones. */
static int scan_chunk(struct objfile *o, const uint8_t *p, size_t n, uint64_t vaddr, struct objfile_go **ret)
{
	enum go_format format;
	uint8_t quantum;

	for (size_t at = 0; at + HEADER_N <= n; at += 8) {
		struct go_header h;
		int err;

		if (!header_begins(p + at, &format, &quantum) || !header_parse(p + at, vaddr + at, &h))
			continue;
		err = open_header(o, &h, ret);
		if (err != -ENOENT)
			return err;
	}
	return -ENOENT;
}

static int scan(struct objfile *o, struct objfile_go **ret)
{
	_cleanup_(freep) uint8_t *chunk = malloc(CHUNK);
	Elf *elf = objfile_elf(o);
	size_t phdr_n;

	if (!chunk)
		return -ENOMEM;
	if (elf_getphdrnum(elf, &phdr_n))
		return -ENOENT;
	for (size_t i = 0; i < phdr_n && i < INT32_MAX; i++) {
		GElf_Phdr p;

		if (!gelf_getphdr(elf, (int)i, &p) || p.p_type != PT_LOAD || p.p_flags & PF_X || p.p_vaddr % 8)
			continue;
		for (uint64_t at = 0; at < p.p_filesz; at += CHUNK - HEADER_N) {
			uint64_t n = p.p_filesz - at < CHUNK ? p.p_filesz - at : CHUNK;
			int err = objfile_read(o, p.p_offset + at, chunk, n);

			if (err)
				break;
			err = scan_chunk(o, chunk, n, p.p_vaddr + at, ret);
			if (err != -ENOENT)
				return err;
		}
	}
	return -ENOENT;
}

/* What the section headers tell without reading anything else. */
struct sections {
	bool any, go; /* is one of them only found in Go programs? */
	uint64_t table; /* vaddr; 0: no such section */
};

static void sections_look(Elf *elf, struct sections *ret)
{
	struct sections s = { 0 };
	size_t strings;

	*ret = s;
	if (elf_getshdrstrndx(elf, &strings))
		return;
	for (Elf_Scn *scn = NULL; (scn = elf_nextscn(elf, scn));) {
		GElf_Shdr shdr;
		const char *name;

		if (!gelf_getshdr(scn, &shdr) || !(name = elf_strptr(elf, strings, shdr.sh_name)))
			continue;
		s.any = true;
		if (!strcmp(name, ".gopclntab") || !strcmp(name, ".data.rel.ro.gopclntab")) {
			s.go = true;
			s.table = shdr.sh_addr;
		}
		if (!strncmp(name, ".go.", 4) || !strcmp(name, ".note.go.buildid"))
			s.go = true;
	}
	*ret = s;
}

/* Without section headers: does it have what `go version` reads? */
static bool has_version(struct objfile *o, const struct sections *s)
{
	char version[64] = "";

	if (!s->any)
		go_version_read(o, version, sizeof(version));
	return version[0] != 0;
}

int objfile_go_open(struct objfile *o, struct objfile_go **ret)
{
	uint8_t header[HEADER_N];
	struct sections s;
	GElf_Ehdr ehdr;
	struct go_header h;
	int err;

	if (!gelf_getehdr(objfile_elf(o), &ehdr))
		return -EBADMSG;
	/* Tables of another byte order or width are not read here. */
	if (ehdr.e_ident[EI_CLASS] != ELFCLASS64 || ehdr.e_ident[EI_DATA] != ELFDATA2LSB)
		return -ENOENT;
	sections_look(objfile_elf(o), &s);
	if (s.any && !s.go)
		return -ENOENT;
	if (s.table && !objfile_read_vaddr(o, s.table, header, sizeof(header)) && header_parse(header, s.table, &h)) {
		err = open_header(o, &h, ret);
		if (err != -ENOENT)
			return err;
	}
	err = scan(o, ret);
	/* It says that it is Go: what must not be done to one must not be done to it. */
	return err == -ENOENT && (s.go || has_version(o, &s)) ? -EBADMSG : err;
}
