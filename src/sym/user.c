/* SPDX-License-Identifier: (LGPL-2.1 OR BSD-2-Clause) */
/*
 * The mapping that held the address at that time says which file; the file
 * says which symbol. Where no ELF file is behind a mapping, the process may
 * have told what it made there.
 */
#include <string.h>

#include "sym/jit.h"
#include "sym/module.h"
#include "sym/state.h"
#include "sym/sym.h"

/* In a file that can't be read, or in none: the offset in the file is the best that can be told. */
static void frame_without_elf(struct sym *s, uint32_t pid, uint64_t time_ns, const struct proc_mapping *map,
			      uint64_t addr, uint64_t lookup, struct sym_frame *ret)
{
	if (map->file) {
		ret->address = addr - map->start + map->pgoff;
		ret->bias = map->start - map->pgoff;
	}
	jit_name(s, pid, time_ns, addr, lookup, ret);
}

size_t sym_user(struct sym *s, uint32_t pid, uint64_t time_ns, uint64_t addr, bool return_address, struct sym_frame *ret,
		size_t ret_max)
{
	uint64_t lookup = addr - return_address, vaddr;
	const struct answer *answer;
	struct proc_mapping map;
	struct sym_frame frame;
	struct module *m;

	if (!ret_max)
		return 0;
	*ret = (struct sym_frame){ .build_id = "", .address = addr };
	if (!s->maps || !proc_maps_lookup(s->maps, pid, time_ns, lookup, &map))
		return 1;
	ret->module = map.name; /* lives as long as the maps */
	m = module_get(s, pid, &map);
	if (!m || !m->objfile || objfile_vaddr_of_offset(m->objfile, lookup - map.start + map.pgoff, &vaddr)) {
		frame_without_elf(s, pid, time_ns, &map, addr, lookup, ret);
		return 1;
	}
	ret->build_id = objfile_build_id(m->objfile);
	ret->bias = lookup - vaddr;
	ret->address = addr - ret->bias;
	answer = module_lookup(s, m, vaddr);
	if (!answer)
		return 1;
	frame = *ret;
	return sym_answer_frames(answer, &frame, ret, ret_max);
}
