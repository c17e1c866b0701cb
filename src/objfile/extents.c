/* SPDX-License-Identifier: (LGPL-2.1 OR BSD-2-Clause) */
/*
 * libdw walks the entries; the addresses in them it hands out as they are
 * encoded. Of the encodings (LSB core specification, 10.5) only those without
 * a base other than the place itself can be, in a file, known to mean code.
 */
#include "objfile/extents.h"

#include <dwarf.h>
#include <elfutils/libdw.h>
#include <errno.h>

#include "objfile/sections.h"
#include "util/bytes.h"
#include "util/cleanup.h"
#include "util/vec.h"

struct extents {
	struct extent *v;
	size_t n, cap;
};

static void extents_done(struct extents *e)
{
	free(e->v);
}

/* In bytes; 0: none of fixed size. */
static size_t encoded_len(uint8_t encoding)
{
	switch (encoding & 0xf) {
	case DW_EH_PE_absptr: case DW_EH_PE_udata8: case DW_EH_PE_sdata8:
		return 8;
	case DW_EH_PE_udata4: case DW_EH_PE_sdata4:
		return 4;
	}
	return 0;
}

/* The encodings in a CIE's FDEs: of addresses, and of where landing places are told (DW_EH_PE_omit: they aren't). */
struct encodings {
	uint8_t address, landing;
};

static int cie_encodings(const Dwarf_CIE *cie, struct encodings *ret)
{
	const char *augmentation = cie->augmentation;
	struct encodings e = { DW_EH_PE_absptr, DW_EH_PE_omit };
	uint8_t skipped;
	struct bytes b;
	int err = 0;

	if (!augmentation || (*augmentation && (*augmentation != 'z' || !cie->augmentation_data)))
		return -EBADMSG;
	b = bytes_init(cie->augmentation_data, *augmentation ? cie->augmentation_data_size : 0);
	for (; !err && *augmentation; augmentation++) {
		switch (*augmentation) {
		case 'z': case 'S': case 'B':
			break;
		case 'L':
			err = bytes_u8(&b, &e.landing);
			break;
		case 'P':
			err = bytes_u8(&b, &skipped);
			if (!err)
				err = encoded_len(skipped) ? bytes_skip(&b, encoded_len(skipped)) : -EBADMSG;
			break;
		case 'R':
			err = bytes_u8(&b, &e.address);
			break;
		default:
			return -EBADMSG;
		}
	}
	if (!err)
		*ret = e;
	return err;
}

static int read_encoded(struct bytes *b, uint8_t encoding, uint64_t *ret)
{
	uint32_t half;
	int err;

	if (encoded_len(encoding) == 8)
		return bytes_u64(b, ret);
	err = bytes_u32(b, &half);
	if (!err)
		*ret = (encoding & 0xf) == DW_EH_PE_sdata4 ? (uint64_t)(int32_t)half : half;
	return err;
}

/* Behind the addresses of an FDE: the length of what follows, and where its landing places are told; 0: it has none. */
static bool fde_lands(struct bytes *b, const struct encodings *e)
{
	uint64_t n, at;

	return e->landing != DW_EH_PE_omit && encoded_len(e->landing) && !bytes_uleb(b, &n) &&
	       n >= encoded_len(e->landing) && !read_encoded(b, e->landing, &at) && at;
}

/* place: the address of fde->start. */
static int fde_extent(const Dwarf_FDE *fde, const struct encodings *encodings, uint64_t place, struct extent *ret)
{
	struct bytes b = bytes_init(fde->start, (size_t)(fde->end - fde->start));
	uint8_t encoding = encodings->address, base = encoding & 0x70;
	uint64_t start, len;
	int err;

	if (!encoded_len(encoding) || encoding & DW_EH_PE_indirect ||
	    (base != DW_EH_PE_absptr && base != DW_EH_PE_pcrel))
		return -EBADMSG;
	err = read_encoded(&b, encoding, &start);
	if (!err)
		err = read_encoded(&b, encoding, &len);
	if (err)
		return err;
	if (base == DW_EH_PE_pcrel)
		start += place;
	if (!len || len > INT64_MAX || __builtin_add_overflow(start, len, &ret->end))
		return -EBADMSG;
	ret->start = start;
	ret->lands = fde_lands(&b, encodings);
	return 0;
}

static int read_entries(const GElf_Ehdr *ehdr, Elf_Data *data, uint64_t addr, struct extents *all)
{
	const unsigned char *ident = ehdr->e_ident;
	Dwarf_Off offset = 0, next = 0, cie_offset = (Dwarf_Off)-1;
	Dwarf_CFI_Entry entry, cie;
	struct encodings encodings = { DW_EH_PE_omit, DW_EH_PE_omit };
	int r;

	for (; (r = dwarf_next_cfi(ident, data, true, offset, &next, &entry)) != 1 && next > offset; offset = next) {
		struct extent e;
		Dwarf_Off unused;

		if (r || dwarf_cfi_cie_p(&entry))
			continue;
		if (entry.fde.CIE_pointer != cie_offset) {
			cie_offset = entry.fde.CIE_pointer;
			encodings.address = DW_EH_PE_omit;
			if (cie_offset >= data->d_size ||
			    dwarf_next_cfi(ident, data, true, cie_offset, &unused, &cie) ||
			    !dwarf_cfi_cie_p(&cie) || cie_encodings(&cie.cie, &encodings))
				encodings.address = DW_EH_PE_omit;
		}
		if (encodings.address == DW_EH_PE_omit ||
		    fde_extent(&entry.fde, &encodings, addr + (uint64_t)(entry.fde.start - (uint8_t *)data->d_buf), &e))
			continue;
		if (VEC_RESERVE(all->v, all->cap, all->n + 1) < 0)
			return -ENOMEM;
		all->v[all->n++] = e;
	}
	return 0;
}

static int by_start(const void *pa, const void *pb)
{
	const struct extent *a = pa, *b = pb;

	if (a->start != b->start)
		return a->start < b->start ? -1 : 1;
	return a->end < b->end ? -1 : a->end > b->end;
}

int extents_read(Elf *elf, struct extent **ret, size_t *ret_n)
{
	_cleanup_(extents_done) struct extents all = { 0 };
	GElf_Shdr shdr;
	Elf_Scn *scn = sections_find(elf, ".eh_frame", &shdr);
	Elf_Data *data = scn && shdr.sh_flags & SHF_ALLOC ? elf_rawdata(scn, NULL) : NULL;
	GElf_Ehdr ehdr;
	size_t n = 0;
	int err = 0;

	if (data && data->d_buf && gelf_getehdr(elf, &ehdr))
		err = read_entries(&ehdr, data, shdr.sh_addr, &all);
	if (err)
		return err;
	if (all.n)
		qsort(all.v, all.n, sizeof(*all.v), by_start);
	for (size_t i = 0; i < all.n; i++) {
		if (!n || all.v[i].start >= all.v[n - 1].end)
			all.v[n++] = all.v[i];
	}
	*ret = TAKE_PTR(all.v);
	*ret_n = n;
	return 0;
}
