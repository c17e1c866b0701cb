/* SPDX-License-Identifier: (LGPL-2.1 OR BSD-2-Clause) */
/*
 * A function's entry is to be had even if its exits aren't: who only counts
 * calls needs no more. So the first part is read for the entry, and what then
 * fails is told beside it.
 */
#include <errno.h>
#include <string.h>

#include "objfile/flow.h"
#include "objfile/go.h"
#include "objfile/sections.h"
#include "objfile/why.h"
#include "util/cleanup.h"

DEFINE_CLEANUP(struct objfile_code *, objfile_code_free)

struct objfile_code *objfile_code_free(struct objfile_code *c)
{
	if (!c)
		return NULL;
	cfa_rules_free(c->rules);
	free(c);
	return NULL;
}

int objfile_code_new(struct objfile *o, const struct objfile_go *go, struct objfile_code **ret)
{
	_cleanup_(objfile_code_freep) struct objfile_code *c = calloc(1, sizeof(*c));
	Elf *elf = objfile_elf(o);
	GElf_Ehdr ehdr;
	GElf_Shdr shdr;
	int err;

	if (!c)
		return -ENOMEM;
	if (!elf || !gelf_getehdr(elf, &ehdr) || ehdr.e_machine != EM_X86_64 || ehdr.e_ident[EI_CLASS] != ELFCLASS64)
		return -ENOTSUP;
	c->o = o;
	c->go = go;
	c->lands = sections_find(elf, ".gcc_except_table", &shdr);
	err = cfa_rules_new(o, go, &c->rules);
	if (err)
		return err;
	*ret = TAKE_PTR(c);
	return 0;
}

/* Where the function that begins at vaddr ends. */
static int find_end(struct objfile_code *c, uint64_t vaddr, uint64_t size, uint64_t *ret, struct objfile_why *ret_why)
{
	struct objfile_go_function f;
	uint64_t start, end;

	if (c->go && !objfile_go_function(c->go, vaddr, &f) && f.start == vaddr)
		*ret = f.end;
	else if (size && !__builtin_add_overflow(vaddr, size, &end))
		*ret = end;
	else if (cfa_extent(c->rules, vaddr, &start, &end) && start == vaddr)
		*ret = end;
	else
		return why(ret_why, -ENOTSUP, "nothing tells where it ends (no size, no .eh_frame)");
	return 0;
}

void objfile_scan_done(struct objfile_scan *scan)
{
	free(scan->exits);
	*scan = (struct objfile_scan){ 0 };
}

/* What only Go's tables know. */
static int find_exits(struct flow *f, uint64_t vaddr, struct objfile_scan *scan)
{
	const struct objfile_go *go = f->c->go;
	struct objfile_go_function function;

	if (go && !objfile_go_function(go, vaddr, &function)) {
		/* Nothing is where they say then. */
		if (function.sp_write)
			return why(&scan->why_not, -ENOTSUP, "it changes the stack that it runs on");
		f->landing = go_after_panic(go, &function);
	}
	return exits_find(f, &scan->exits, &scan->exit_n, &scan->why_not);
}

int objfile_code_scan(struct objfile_code *c, uint64_t vaddr, uint64_t size, uint32_t needs, struct objfile_scan *ret,
		      struct objfile_why *ret_why)
{
	_cleanup_(flow_done) struct flow f = { .c = c };
	_cleanup_(objfile_scan_done) struct objfile_scan scan = { 0 };
	uint64_t end = 0;
	int err = find_end(c, vaddr, size, &end, ret_why);

	if (err)
		return err;
	err = flow_add_part(&f, vaddr, end, &scan.why_not);
	if (!err)
		err = find_exits(&f, vaddr, &scan);
	else if (!f.part_n)
		return why(ret_why, err, "%s", scan.why_not.text);
	if (err && err != -ENOTSUP && err != -EBADMSG)
		return err;
	scan.exits_known = !err;
	err = entry_choose(&f, needs, &scan.entry, ret_why);
	if (err)
		return err;
	*ret = scan;
	scan.exits = NULL;
	return 0;
}
