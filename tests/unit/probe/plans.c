/* SPDX-License-Identifier: (LGPL-2.1 OR BSD-2-Clause) */
#include "plans.h"

#include <criterion/criterion.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>

struct probe_set *plans_set(const char *profile, const char *inline_text)
{
	_cleanup_(freep) char *why = NULL;
	struct probe_set *s;
	int r;

	cr_assert_eq(probe_set_new(&s), 0);
	if (profile) {
		r = probe_set_add_text(s, "test", profile, strlen(profile), &why);
		cr_assert_eq(r, 0, "%s", why ? why : "");
	}
	if (inline_text) {
		r = probe_set_add_inline(s, inline_text, &why);
		cr_assert_eq(r, 0, "%s: %s", inline_text, why ? why : "");
	}
	return s;
}

struct probe_plan *plans_resolve_as(const struct probe_set *s, const char *path, const char *seen, bool is_program)
{
	_cleanup_(objfile_freep) struct objfile *o = NULL;
	_cleanup_(objfile_go_freep) struct objfile_go *g = NULL;
	struct probe_object object = {.path = seen, .is_program = is_program};
	struct probe_plan *plan;
	int r;

	cr_assert_eq(objfile_open_path(-1, path, &o), 0, "%s", path);
	r = objfile_go_open(o, &g);
	cr_assert(r == 0 || r == -ENOENT, "%s: %d", path, r);
	object.file = o;
	object.go = g;
	cr_assert_eq(probe_resolve(s, &object, &plan), 0);
	return plan;
}

struct probe_plan *plans_resolve(const struct probe_set *s, const char *path)
{
	return plans_resolve_as(s, path, path, true);
}

struct probe_plan *plans_inline(const char *path, const char *inline_text, struct probe_set **ret_set)
{
	*ret_set = plans_set(NULL, inline_text);
	return plans_resolve(*ret_set, path);
}

const struct probe_site *plans_site(const struct probe_plan *p, enum wcbpf_site_kind kind, size_t i)
{
	for (size_t k = 0; k < p->site_n; k++)
		if (p->sites[k].wire.kind == kind && i-- == 0)
			return &p->sites[k];
	return NULL;
}

size_t plans_site_n(const struct probe_plan *p, enum wcbpf_site_kind kind)
{
	size_t n = 0;

	for (size_t k = 0; k < p->site_n; k++)
		n += p->sites[k].wire.kind == kind;
	return n;
}

bool plans_has_note(const struct probe_plan *p, const char *a, const char *b)
{
	for (size_t i = 0; i < p->note_n; i++)
		if (strstr(p->notes[i].text, a) && strstr(p->notes[i].text, b))
			return true;
	return false;
}

const char *plans_notes(const struct probe_plan *p)
{
	static char text[8192];
	size_t n = 0;

	text[0] = 0;
	for (size_t i = 0; i < p->note_n && n < sizeof(text); i++)
		n += (size_t)snprintf(text + n, sizeof(text) - n, "%s\n", p->notes[i].text);
	return text;
}
