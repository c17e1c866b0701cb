/* SPDX-License-Identifier: (LGPL-2.1 OR BSD-2-Clause) */
/*
 * The mapping that held the address at that time says which file; the file
 * says which symbol. Where no ELF file is behind a mapping, the process may
 * have written a perf-PID.map.
 */
#include <string.h>

#include "sym/module.h"
#include "sym/perf-map.h"
#include "sym/state.h"
#include "sym/sym.h"

/* In a file that can't be read, or in none: the offset in the file is the best that can be told. */
static void frame_without_elf(struct sym *s, uint32_t pid, const struct proc_mapping *map, uint64_t addr,
			      uint64_t lookup, struct sym_frame *ret)
{
	struct perf_map *perf_map;
	uint64_t start;
	const char *name;

	if (map->file) {
		ret->address = addr - map->start + map->pgoff;
		ret->bias = map->start - map->pgoff;
	}
	perf_map = map_get_ptr(s->perf_maps, pid);
	if (!perf_map) {
		if (perf_map_new(pid, &perf_map))
			return;
		if (map_put_ptr(s->perf_maps, pid, perf_map)) {
			perf_map_free(perf_map);
			return;
		}
	}
	name = perf_map_find(perf_map, lookup, &start);
	if (!name)
		return;
	ret->name = sym_keep(s, name);
	if (ret->name)
		ret->offset = (uint32_t)(addr - start);
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
		frame_without_elf(s, pid, &map, addr, lookup, ret);
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
