/* SPDX-License-Identifier: (LGPL-2.1 OR BSD-2-Clause) */
/*
 * From entry to entry and within one from row to row: libdw says for an address
 * what holds there and until where. Only code is asked for: entries are cut to
 * the executable segments.
 *
 * Of entries that overlap, the one whose code begins first holds to its end
 * (libdw, 0.188, doesn't know the others then: their rest is unsupported). What
 * is beyond the first damage of the section has no rules; an entry that libdw
 * can't run, and the rest of a file whose look-ups take too long, is
 * unsupported: there are rules, so a frame pointer must not be tried instead.
 */
#include <errno.h>
#include <string.h>

#include "unwind/debug-frame.h"
#include "unwind/fdes.h"
#include "unwind/rows.h"
#include "unwind/rule.h"
#include "util/bytes.h"

/*
 * Each look-up runs an entry's instructions from its beginning, so an entry
 * made for that costs the square of its size. Measured in bytes of
 * instructions; a tenth of it does for the largest file seen, a Rust compiler.
 */
#define WORK_MAX (8ull << 30)
#define WORK_OF_LOOKUP 64
#define SEGMENTS_MAX 64

struct range {
	uint64_t start, end;
};

struct code {
	struct range v[SEGMENTS_MAX];
	size_t n;
};

struct walk {
	Dwarf_CFI *cfi;
	struct rows_builder *rows;
	uint64_t done; /* up to here all is put */
	uint64_t work;
};

static void read_code(Elf *elf, struct code *ret)
{
	size_t n;

	*ret = (struct code){ 0 };
	if (elf_getphdrnum(elf, &n))
		return;
	for (size_t i = 0; i < n && i < INT32_MAX && ret->n < SEGMENTS_MAX; i++) {
		GElf_Phdr p;

		if (!gelf_getphdr(elf, (int)i, &p))
			return;
		if (p.p_type == PT_LOAD && p.p_flags & PF_X && p.p_vaddr + p.p_filesz > p.p_vaddr)
			ret->v[ret->n++] = (struct range){ p.p_vaddr, p.p_vaddr + p.p_filesz };
	}
}

/* The part of an entry that lies in the segment it begins in. */
static bool cut_to_code(const struct code *code, const struct fde *fde, struct range *ret)
{
	for (size_t i = 0; i < code->n; i++) {
		const struct range *c = &code->v[i];

		if (fde->start < c->start || fde->start >= c->end)
			continue;
		*ret = (struct range){ fde->start, fde->end < c->end ? fde->end : c->end };
		return true;
	}
	return false;
}

/* The row at an address: its rule, and where it ends. */
static void read_row(struct walk *w, const struct fde *fde, uint64_t vaddr, struct wcbpf_rule *ret, uint64_t *ret_end)
{
	_cleanup_(freep) Dwarf_Frame *frame = NULL;
	Dwarf_Addr start, end;

	*ret = rule_unsupported;
	*ret_end = UINT64_MAX;
	w->work += fde->bytes + WORK_OF_LOOKUP;
	if (fde->is_harmful || w->work > WORK_MAX || dwarf_cfi_addrframe(w->cfi, vaddr, &frame))
		return;
	/* Through a damaged search table libdw may find another entry. */
	if (dwarf_frame_info(frame, &start, &end, NULL) < 0 || start < fde->start || end <= vaddr)
		return;
	rule_read(frame, fde->bx_undefined, ret);
	*ret_end = end;
}

static int put_fde(struct walk *w, const struct fde *fde, struct range range)
{
	static const struct wcbpf_rule none;
	uint64_t at = range.start > w->done ? range.start : w->done, end;
	int err = 0;

	for (; at < range.end && !err; at = end < range.end ? end : range.end) {
		struct wcbpf_rule rule;

		read_row(w, fde, at, &rule, &end);
		err = rows_put(w->rows, at, &rule);
	}
	if (err || range.end <= w->done)
		return err;
	w->done = range.end;
	return rows_put(w->rows, range.end, &none);
}

static int rows_of_section(Elf *elf, Dwarf_CFI *cfi, const struct fdes_section *s, struct unwind_rows **ret)
{
	_cleanup_(fdes_freep) struct fdes *fdes = NULL;
	_cleanup_(unwind_rows_freep) struct unwind_rows *rows = NULL;
	struct rows_builder b;
	struct walk w = { .cfi = cfi, .rows = &b };
	struct code code;
	int err = fdes_read(s, &fdes);

	if (!err)
		err = rows_begin(&b);
	if (err)
		return err;
	read_code(elf, &code);
	for (size_t i = 0; i < fdes->n && !err; i++) {
		struct range range;

		if (cut_to_code(&code, &fdes->v[i], &range))
			err = put_fde(&w, &fdes->v[i], range);
	}
	if (!err)
		err = rows_end(&b, ret);
	rows = b.rows;
	return err;
}

static bool section_of_name(Elf *elf, const char *name, Elf_Scn **ret, GElf_Shdr *ret_shdr)
{
	size_t strings;

	if (elf_getshdrstrndx(elf, &strings))
		return false;
	for (Elf_Scn *scn = NULL; (scn = elf_nextscn(elf, scn));) {
		const char *is = gelf_getshdr(scn, ret_shdr) ? elf_strptr(elf, strings, ret_shdr->sh_name) : NULL;

		if (is && !strcmp(is, name)) {
			*ret = scn;
			return ret_shdr->sh_type != SHT_NOBITS;
		}
	}
	return false;
}

/*
 * A file without section headers: PT_GNU_EH_FRAME is .eh_frame_hdr, whose
 * first address is that of .eh_frame; as compilers write it, relative to its
 * own place, in four bytes (0x1b). How long .eh_frame is, only its end tells.
 */
static bool find_by_segment(Elf *elf, struct fdes_section *s)
{
	GElf_Phdr hdr = { 0 }, p;
	struct bytes b;
	Elf_Data *data;
	uint32_t head, rel;
	size_t n;

	if (elf_getphdrnum(elf, &n))
		return false;
	for (size_t i = 0; i < n && gelf_getphdr(elf, (int)i, &p); i++)
		if (p.p_type == PT_GNU_EH_FRAME)
			hdr = p;
	data = hdr.p_filesz ? elf_getdata_rawchunk(elf, (int64_t)hdr.p_offset, hdr.p_filesz, ELF_T_BYTE) : NULL;
	b = bytes_init(data ? data->d_buf : NULL, data ? data->d_size : 0);
	if (bytes_u32(&b, &head) || bytes_u32(&b, &rel) || (head & 0xffff) != 0x1b01)
		return false;
	s->vaddr = hdr.p_vaddr + 4 + (uint64_t)(int32_t)rel;
	for (size_t i = 0; i < n && gelf_getphdr(elf, (int)i, &p); i++) {
		if (p.p_type != PT_LOAD || s->vaddr < p.p_vaddr || s->vaddr - p.p_vaddr >= p.p_filesz)
			continue;
		data = elf_getdata_rawchunk(elf, (int64_t)(p.p_offset + (s->vaddr - p.p_vaddr)),
					    p.p_filesz - (s->vaddr - p.p_vaddr), ELF_T_BYTE);
		if (data)
			s->data = *data;
		return data;
	}
	return false;
}

static bool find_eh_frame(Elf *elf, struct fdes_section *s)
{
	GElf_Shdr shdr;
	Elf_Scn *scn;
	Elf_Data *data;

	if (!section_of_name(elf, ".eh_frame", &scn, &shdr))
		return find_by_segment(elf, s);
	data = elf_rawdata(scn, NULL);
	if (!data || !data->d_buf)
		return false;
	s->data = *data;
	s->vaddr = shdr.sh_addr;
	return true;
}

int frame_rows_eh(struct objfile *o, struct unwind_rows **ret)
{
	Elf *elf = objfile_elf(o);
	struct fdes_section s = { .ident = (const unsigned char *)elf_getident(elf, NULL), .is_eh = true };
	Dwarf_CFI *cfi;
	int err;

	if (!s.ident || !find_eh_frame(elf, &s))
		return -ENOENT;
	cfi = dwarf_getcfi_elf(elf);
	if (!cfi)
		return -ENOENT;
	err = rows_of_section(elf, cfi, &s, ret);
	dwarf_cfi_end(cfi);
	return err;
}

DEFINE_CLEANUP(struct debug_frame *, debug_frame_free)

int frame_rows_debug(struct objfile *o, struct unwind_rows **ret)
{
	_cleanup_(debug_frame_freep) struct debug_frame *d = NULL;
	Elf *elf = objfile_elf(o);
	struct fdes_section s = { .ident = (const unsigned char *)elf_getident(elf, NULL) };
	int err = debug_frame_new(elf, &d);

	if (err || !s.ident)
		return err ? err : -ENOENT;
	debug_frame_section(d, &s.data);
	return rows_of_section(elf, debug_frame_cfi(d), &s, ret);
}
