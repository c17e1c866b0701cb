/* SPDX-License-Identifier: (LGPL-2.1 OR BSD-2-Clause) */
/*
 * One object a file for all processes that map it. libdw keeps what it has
 * parsed (CIEs, FDEs), so the second unwind through a function is quick. What
 * is needed is read when the object is made, and the file is closed again.
 */
#include "unwind/object.h"

#include <errno.h>
#include <string.h>

#include "objfile/objfile.h"
#include "unwind/debug-frame.h"
#include "unwind/entry.h"
#include "unwind/rows.h"
#include "util/cleanup.h"
#include "util/map.h"

struct object {
	struct objfile *objfile;	 /* NULL: can't be read, not ELF, or not of this machine */
	Dwarf_CFI *eh;			 /* or NULL */
	struct debug_frame *debug_frame; /* or NULL */
	struct unwind_rows *go;		 /* of Go code; or NULL */
	uint64_t entry;			 /* vaddr */
};

struct objects {
	struct map *by_file; /* struct proc_file * (NULL: the vDSO) -> struct object */
};

DEFINE_CLEANUP(struct objects *, objects_free)

static struct object *object_free(struct object *o)
{
	if (!o)
		return NULL;
	if (o->eh)
		dwarf_cfi_end(o->eh);
	debug_frame_free(o->debug_frame);
	unwind_rows_free(o->go);
	objfile_free(o->objfile);
	free(o);
	return NULL;
}
DEFINE_CLEANUP(struct object *, object_free)

int objects_new(struct objects **ret)
{
	_cleanup_(objects_freep) struct objects *o = calloc(1, sizeof(*o));
	int err;

	if (!o)
		return -ENOMEM;
	err = map_new(&o->by_file);
	if (err)
		return err;
	*ret = TAKE_PTR(o);
	return 0;
}

struct objects *objects_free(struct objects *o)
{
	uint64_t key, object;

	if (!o)
		return NULL;
	for (size_t at = 0; o->by_file && map_next(o->by_file, &at, &key, &object);)
		object_free((struct object *)(uintptr_t)object);
	map_free(o->by_file);
	free(o);
	return NULL;
}

static int open_file(const struct proc_file *file, struct objfile **ret)
{
	_cleanup_(closep) int fd = -1;
	int err = proc_file_open(file, &fd);

	return err ? err : objfile_open_fd(fd, ret);
}

bool object_is_of_our_machine(Elf *elf)
{
	GElf_Ehdr ehdr;

	return gelf_getehdr(elf, &ehdr) && ehdr.e_machine == EM_X86_64 && ehdr.e_ident[EI_CLASS] == ELFCLASS64;
}

static int object_new(const struct proc_file *file, struct object **ret)
{
	_cleanup_(object_freep) struct object *o = calloc(1, sizeof(*o));
	Elf *elf;
	int err;

	if (!o)
		return -ENOMEM;
	err = file ? open_file(file, &o->objfile) : objfile_open_vdso(&o->objfile);
	if (err == -ENOMEM)
		return err;
	if (!err && !object_is_of_our_machine(objfile_elf(o->objfile)))
		o->objfile = objfile_free(o->objfile);
	if (o->objfile) {
		elf = objfile_elf(o->objfile);
		entry_find(elf, &o->entry);
		o->eh = dwarf_getcfi_elf(elf);
		if (debug_frame_new(elf, &o->debug_frame) == -ENOMEM || go_rows(o->objfile, &o->go) == -ENOMEM)
			return -ENOMEM;
		objfile_detach(o->objfile, false);
	}
	*ret = TAKE_PTR(o);
	return 0;
}

static int object_get(struct objects *objects, const struct proc_file *file, struct object **ret)
{
	uint64_t key = (uintptr_t)file;
	_cleanup_(object_freep) struct object *fresh = NULL;
	struct object *o = map_get_ptr(objects->by_file, key);
	int err;

	if (!o) {
		err = object_new(file, &fresh);
		if (!err)
			err = map_put_ptr(objects->by_file, key, fresh);
		if (err)
			return err;
		o = TAKE_PTR(fresh);
	}
	*ret = o;
	return 0;
}

static int rules_find(const struct object *o, uint64_t vaddr, Dwarf_Frame **ret)
{
	if (o->eh && !dwarf_cfi_addrframe(o->eh, vaddr, ret))
		return 0;
	if (o->debug_frame && !dwarf_cfi_addrframe(debug_frame_cfi(o->debug_frame), vaddr, ret))
		return 0;
	return -ENOENT;
}

/* Is there nothing but code without rules from the entry point to here? */
static bool is_entry(const struct object *o, uint64_t vaddr)
{
	if (!o->entry || vaddr < o->entry || vaddr - o->entry >= ENTRY_BYTES_MAX)
		return false;
	for (uint64_t at = o->entry; at <= vaddr; at++) {
		_cleanup_(freep) Dwarf_Frame *frame = NULL;

		if (!rules_find(o, at, &frame))
			return false;
	}
	return true;
}

int objects_frame(struct objects *objects, const struct proc_mapping *map, uint64_t addr, Dwarf_Frame **ret,
		  const struct wcbpf_rule **ret_row)
{
	const struct wcbpf_rule *row;
	struct object *o;
	uint64_t vaddr;
	int err;

	if (!map->file && strcmp(map->name, "[vdso]"))
		return -ENOENT;
	err = object_get(objects, map->file, &o);
	if (err)
		return err;
	if (!o->objfile || objfile_vaddr_of_offset(o->objfile, addr - map->start + map->pgoff, &vaddr))
		return -ENOENT;
	row = o->go ? rows_find(o->go, vaddr) : NULL;
	if (!row && rules_find(o, vaddr, ret))
		return is_entry(o, vaddr) ? -ECHILD : -ENOENT;
	*ret_row = row;
	return 0;
}
