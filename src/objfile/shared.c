/* SPDX-License-Identifier: (LGPL-2.1 OR BSD-2-Clause) */
/*
 * libdw would find it by itself, by its path alone, wherever that leads. Here it
 * is looked for like any debug file and must have the build id that is stated.
 */
#include "objfile/shared.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "objfile/sections.h"
#include "util/bytes.h"
#include "util/cleanup.h"

#define BUILD_ID_MAX 64

DEFINE_CLEANUP(struct objfile *, objfile_free)

/* What .gnu_debugaltlink says: the name, owned by o, and the build id in hex. -ENOENT. */
static int shared_link(struct objfile *o, const char **ret_name, char ret_build_id[static 2 * BUILD_ID_MAX + 1])
{
	GElf_Shdr shdr;
	Elf_Scn *scn = sections_find(objfile_elf(o), ".gnu_debugaltlink", &shdr);
	Elf_Data *data = scn ? elf_rawdata(scn, NULL) : NULL;
	struct bytes b;
	uint8_t byte;
	size_t n = 0;

	if (!data || !data->d_buf)
		return -ENOENT;
	b = bytes_init(data->d_buf, data->d_size);
	if (bytes_str(&b, ret_name) || bytes_left(&b) > BUILD_ID_MAX)
		return -ENOENT;
	for (; !bytes_u8(&b, &byte); n++)
		sprintf(ret_build_id + 2 * n, "%02x", byte);
	return n ? 0 : -ENOENT;
}

int shared_read(struct objfile *o, const struct objfile_search *where, size_t bytes_max, const struct image *of,
		struct image *ret)
{
	_cleanup_(objfile_freep) struct objfile *shared = NULL;
	struct objfile_search search = *where;
	char build_id[2 * BUILD_ID_MAX + 1];
	const char *name;
	int err;

	if (shared_link(o, &name, build_id))
		return 0;
	if (objfile_path(o))
		search.path = objfile_path(o);
	if (objfile_open_shared(name, build_id, &search, &shared))
		return 0;
	err = image_read(shared, bytes_max, false, ret);
	if (!err)
		dwarf_setalt(of->dwarf, ret->dwarf);
	return err == -ENOMEM || err == -EFBIG ? err : 0;
}
