/* SPDX-License-Identifier: (LGPL-2.1 OR BSD-2-Clause) */
/*
 * Thousands of stacks share their frames, so each distinct address is looked
 * up and demangled once: in the kernel by address, in files by the address
 * within the file, whatever process and bias it came from.
 */
#include "sym/sym.h"

#include <errno.h>

#include "sym/module.h"
#include "sym/perf-map.h"
#include "sym/state.h"
#include "util/cleanup.h"

DEFINE_CLEANUP(struct sym *, sym_free)

int sym_new(const struct proc_maps *maps, const struct ksyms *ksyms, struct sym **ret)
{
	_cleanup_(sym_freep) struct sym *s = calloc(1, sizeof(*s));
	int err;

	if (!s)
		return -ENOMEM;
	s->maps = maps;
	s->ksyms = ksyms;
	err = strtab_new(&s->names);
	if (!err)
		err = map_new(&s->kernel);
	if (!err)
		err = map_new(&s->perf_maps);
	if (err)
		return err;
	*ret = TAKE_PTR(s);
	return 0;
}

struct sym *sym_free(struct sym *s)
{
	uint64_t pid, p;

	if (!s)
		return NULL;
	for (size_t at = 0; s->perf_maps && map_next(s->perf_maps, &at, &pid, &p);)
		perf_map_free((struct perf_map *)(uintptr_t)p);
	map_free(s->perf_maps);
	sym_answers_free(s->kernel);
	module_free_all(s);
	strtab_free(s->names);
	free(s);
	return NULL;
}

const char *sym_keep(struct sym *s, const char *name)
{
	uint32_t id;

	return strtab_intern(s->names, name, &id) ? NULL : strtab_str(s->names, id);
}

struct answer *sym_answer_add(struct map *answers, uint64_t key)
{
	_cleanup_(freep) struct answer *a = calloc(1, sizeof(*a));

	if (!a || map_put_ptr(answers, key, a))
		return NULL;
	return TAKE_PTR(a);
}

struct map *sym_answers_free(struct map *answers)
{
	uint64_t key, a;

	for (size_t at = 0; answers && map_next(answers, &at, &key, &a);)
		free((void *)(uintptr_t)a);
	return map_free(answers);
}
