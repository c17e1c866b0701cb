/* SPDX-License-Identifier: (LGPL-2.1 OR BSD-2-Clause) */
#include "values.h"

#include <criterion/criterion.h>
#include <errno.h>
#include <string.h>

#include "target.h"
#include "util/cleanup.h"

DEFINE_CLEANUP(struct objfile *, objfile_free)
DEFINE_CLEANUP(struct objfile_go *, objfile_go_free)
DEFINE_CLEANUP(struct objfile_names *, objfile_names_free)
DEFINE_CLEANUP(struct objfile_types *, objfile_types_free)
DEFINE_CLEANUP(struct objfile_code *, objfile_code_free)

struct program {
	const char *path, *signature;
	struct objfile *o;
	struct objfile_go *go;
	struct objfile_names *names;
	struct objfile_types *types;
	struct objfile_code *code;
};

static void open_program(struct program *p)
{
	struct objfile_search search = { .path = p->path, .root_fd = -1 };

	cr_assert_eq(objfile_open_path(-1, p->path, &p->o), 0, "%s", p->path);
	if (objfile_go_open(p->o, &p->go))
		p->go = NULL;
	cr_assert_eq(objfile_names_new(p->o, NULL, &p->names), 0);
	if (!p->signature)
		cr_assert_eq(objfile_types_new(p->o, &search, 1u << 30, &p->types), 0);
	cr_assert_eq(objfile_code_new(p->o, p->go, &p->code), 0);
}

static void close_program(struct program *p)
{
	objfile_code_free(p->code);
	objfile_types_free(p->types);
	objfile_names_free(p->names);
	objfile_go_free(p->go);
	objfile_free(p->o);
}

static void find(const struct program *p, const char *name, uint64_t *ret_vaddr, uint64_t *ret_size)
{
	const struct objfile_name *found;

	cr_assert_gt(objfile_names_find(p->names, name, &found), 0, "%s in %s", name, p->path);
	*ret_vaddr = found->vaddr;
	*ret_size = found->size;
}

/* Runs the program anew up to where the value is. */
static void compare(const struct program *p, const struct value_case *c, const struct objfile_value *value,
		    const struct objfile_scan *scan, bool at_exit)
{
	struct target t;
	const struct objfile_spot *spot = &scan->entry;
	uint64_t bias;
	int hit;

	target_start(&t, p->path, NULL);
	bias = target_bias(&t, p->o, p->path);
	if (at_exit) {
		cr_assert(scan->exits_known, "%s: %s", c->function, scan->why_not.text);
		for (size_t i = 0; i < scan->exit_n; i++)
			target_break(&t, scan->exits[i].at.vaddr + bias);
	} else {
		target_break(&t, spot->vaddr + bias);
	}
	hit = target_run(&t);
	cr_assert_geq(hit, 0, "%s in %s isn't reached", c->function, p->path);
	if (at_exit)
		spot = &scan->exits[hit].at;
	cr_expect_str_eq(target_value(&t, &value->fetch, target_cfa(&t, spot)), c->text, "%s %s in %s at %s: %s",
			 c->function, c->path, p->path, spot->text,
			 target_value(&t, &value->fetch, target_cfa(&t, spot)));
	target_end(&t);
}

static void check(const struct program *p, const struct value_case *c)
{
	struct objfile_value value;
	struct objfile_scan scan;
	struct objfile_why why = { "" };
	uint64_t vaddr, size;
	int err;

	find(p, c->function, &vaddr, &size);
	err = p->signature ? objfile_go_value(p->signature, c->path, &value, &why) :
			     objfile_types_value(p->types, vaddr, c->function, c->path, &value, &why);
	if (*c->text == '!') {
		cr_expect_neq(err, 0, "%s %s in %s", c->function, c->path, p->path);
		cr_expect(strstr(why.text, c->text + 1), "%s %s in %s: \"%s\"", c->function, c->path, p->path, why.text);
		return;
	}
	cr_expect_eq(err, 0, "%s %s in %s: %s", c->function, c->path, p->path, why.text);
	if (err)
		return;
	cr_assert_eq(objfile_code_scan(p->code, vaddr, size, value.needs, &scan, &why), 0, "%s: %s", c->function,
		     why.text);
	compare(p, c, &value, &scan, !strncmp(c->path, "$retval", 7));
	objfile_scan_done(&scan);
}

void values_check(const char *path, const struct value_case *cases, size_t n, const char *signature)
{
	struct program p = { .path = path, .signature = signature };

	open_program(&p);
	for (size_t i = 0; i < n; i++)
		check(&p, &cases[i]);
	close_program(&p);
}
