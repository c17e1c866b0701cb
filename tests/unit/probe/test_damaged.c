/* SPDX-License-Identifier: (LGPL-2.1 OR BSD-2-Clause) */
/* Cut and spoiled programs: a plan, perhaps an empty one, or a file that can't be opened, and nothing else. */
#include <criterion/criterion.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>

#include "../objfile/build.h"
#include "plans.h"

TestSuite(damaged, .init = build_begin, .fini = build_end, .timeout = 120);

static const char source[] =
	"int g; __attribute__((noinline)) int f(int n) { switch (n) { case 0: return 3; case 1: return g;\n"
	"case 2: return 7; case 3: return n * g; case 4: return 9; } return g / n; }\n"
	"int main(int n, char **v) { return f(n); }\n";

static void try_bytes(const struct probe_set *s, const unsigned char *bytes, size_t n)
{
	_cleanup_(objfile_freep) struct objfile *o = NULL;
	_cleanup_(objfile_go_freep) struct objfile_go *g = NULL;
	_cleanup_(probe_plan_freep) struct probe_plan *p = NULL;
	struct probe_object object = {.path = "/x", .is_program = true};

	if (objfile_open_memory(bytes, n, &o) < 0)
		return;
	if (objfile_go_open(o, &g) < 0)
		g = NULL;
	object.file = o;
	object.go = g;
	cr_assert_eq(probe_resolve(s, &object, &p), 0);
	for (size_t i = 0; i < p->site_n; i++)
		cr_expect(p->sites[i].symbol && memchr(p->sites[i].text, 0, sizeof(p->sites[i].text)));
}

Test(damaged, program)
{
	static const char profile[] =
		"[op f]\nsymbol = f\nsymbol = m*\nident = {n} {n->x.y[1]}\noutcome = error if $retval < 0, ok\n"
		"[op u]\nusdt = a:b\nusdt_end = a:c\nident = {$arg1}\n";
	_cleanup_(probe_set_freep) struct probe_set *s = plans_set(profile, NULL);
	size_t n;
	_cleanup_(freep) unsigned char *bytes = build_read(build_compile("p", "-O2 -g", source), &n);
	unsigned int seed = 1;

	for (size_t cut = 0; cut < n; cut += 1 + n / 150)
		try_bytes(s, bytes, cut);
	for (int round = 0; round < 150; round++) {
		_cleanup_(freep) unsigned char *copy = malloc(n);

		memcpy(copy, bytes, n);
		for (int k = 0; k < 12; k++)
			copy[(size_t)rand_r(&seed) % n] = (unsigned char)rand_r(&seed);
		try_bytes(s, copy, n);
	}
}
