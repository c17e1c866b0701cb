/* SPDX-License-Identifier: (LGPL-2.1 OR BSD-2-Clause) */
/* Names for a recording without, of a library compiled here; against nm and what its source says. */
#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../objfile/build.h"
#include "cmd/report-symbols.h"
#include "cmd/report.h"
#include "util/cleanup.h"

DEFINE_CLEANUP(struct sym *, sym_free)

static const char source[] =
	"volatile int sink;\n"
	"static inline __attribute__((always_inline)) int deepest(int n)\n"
	"{\n"
	"	return sink = n; /* line 4 */\n"
	"}\n"
	"__attribute__((noinline)) int whole(int n)\n"
	"{\n"
	"	return deepest(n + 1); /* line 8 */\n"
	"}\n"
	"__attribute__((noinline)) int caller(int n)\n"
	"{\n"
	"	return whole(n) + 1;\n"
	"}\n"
	"int caller_as_well(int n) __attribute__((alias(\"caller\")));\n"
	"int caller_once_more(int n) __attribute__((alias(\"caller\")));\n";

static uint64_t address_of(const char *path, const char *name)
{
	_cleanup_(freep) char *text = build_output("nm %s | awk '$3 == \"%s\" {print $1}'", path, name);

	cr_assert(*text, "no %s", name);
	return strtoull(text, NULL, 16);
}

static uint32_t str(struct model *m, const char *s)
{
	uint32_t id;

	cr_assert_eq(strtab_intern(m->strings, s, &id), 0);
	return id;
}

/* A module of the recording that lay at another path, and a stack: the ip at the store of deepest(), then caller(). */
static struct model *recording(const char *path)
{
	_cleanup_(freep) char *build_id = build_output("readelf -n %s | awk '/Build ID/ {printf \"%%s\", $3}'", path);
	_cleanup_(freep) char *store = build_output(
		"objdump -d --no-show-raw-insn %s | awk '/<whole>:/ {f = 1} f && /mov.*sink|mov.*,\\(/ {print $1; exit}'", path);
	struct model_frame frames[3] = { 0 };
	struct model *m;
	uint32_t i;

	cr_assert_eq(model_new(&m), 0);
	cr_assert_eq(model_module_add(m, &i), 0);
	m->modules[i].path_id = str(m, "/not/here/libx.so");
	m->modules[i].build_id_id = str(m, build_id);
	cr_assert(*store, "no store in whole()");
	frames[0] = (struct model_frame){ .module = i, .address = strtoull(store, NULL, 16) };
	/* behind its first instructions: the last of them is looked up, as of a caller */
	frames[1] = (struct model_frame){ .module = i, .address = address_of(path, "caller") + 5 };
	frames[2] = (struct model_frame){ .module = i, .address = 0x7fffffff };
	cr_assert_eq(model_stack_add(m, STACK_USER, &i), 0);
	cr_assert_eq(model_stack_set(m, i, "complete", frames, 3), 0);
	/* one that has a name keeps it, one in no file and the kernel's have none */
	frames[0].name_id = str(m, "kept");
	frames[1].module = 0;
	cr_assert_eq(model_stack_add(m, STACK_USER, &i), 0);
	cr_assert_eq(model_stack_set(m, i, "guessed", frames, 2), 0);
	cr_assert_eq(model_stack_add(m, STACK_KERNEL, &i), 0);
	cr_assert_eq(model_stack_set(m, i, "complete", frames + 2, 1), 0);
	return m;
}

/* "deepest@4 whole@8 caller@12 -" of a stack. */
static const char *told(const struct model *m, uint32_t stack)
{
	static char text[400];
	int n = 0;

	text[0] = 0;
	for (uint32_t i = 0; i < m->stacks[stack].frame_n; i++) {
		const struct model_frame *f = &m->stacks[stack].frames[i];
		const char *name = strtab_str(m->strings, f->name_id);

		n += snprintf(text + n, sizeof(text) - (size_t)n, "%s%s%s", i ? " " : "", *name ? name : "-",
			      f->inlined ? "^" : "");
		if (f->line)
			n += snprintf(text + n, sizeof(text) - (size_t)n, "@%u", f->line);
	}
	return text;
}

Test(symbols, from_a_folder)
{
	_cleanup_(sym_freep) struct sym *s = NULL;
	_cleanup_(model_freep) struct model *m = NULL;
	struct symbols_counts counts;
	const char *dir, *path;

	build_begin();
	build_run("mkdir -p %s", build_path("dir"));
	path = build_compile("dir/libx.so", "-shared -fPIC -g -O2 -Wl,--build-id", source);
	m = recording(path);
	dir = build_path("dir");
	cr_assert_eq(sym_open_later(&dir, 1, &s), 0);
	cr_assert_eq(report_symbols_apply(m, s, &counts), 0);
	cr_expect_str_eq(told(m, 1), "deepest^@4 whole@8 caller@12 -");
	cr_expect_str_eq(strtab_str(m->strings, m->stacks[1].ended_id), "complete");
	cr_expect_eq(m->stacks[1].frames[1].alias_n, 0);
	cr_expect_eq(m->stacks[1].frames[2].alias_n, 2);
	cr_expect_eq(m->stacks[1].frames[0].address, m->stacks[1].frames[1].address);
	cr_expect_str_eq(told(m, 2), "kept -");
	cr_expect_str_eq(told(m, 3), "-");
	cr_expect_eq(counts.nameless, 3);
	cr_expect_eq(counts.named, 2);
	cr_expect_eq(counts.kernel, 1);
	cr_expect_eq(counts.first_missing, 1);
	build_end();
}

/* Another build under the same name is not the recorded one. */
Test(symbols, only_of_the_recorded_build)
{
	_cleanup_(sym_freep) struct sym *s = NULL;
	_cleanup_(model_freep) struct model *m = NULL;
	struct symbols_counts counts;
	const char *dir;

	build_begin();
	build_run("mkdir -p %s", build_path("dir"));
	m = recording(build_compile("libx.so", "-shared -fPIC -g -O2 -Wl,--build-id", source));
	build_compile("dir/libx.so", "-shared -fPIC -g -O1 -Wl,--build-id", source);
	dir = build_path("dir");
	cr_assert_eq(sym_open_later(&dir, 1, &s), 0);
	cr_assert_eq(report_symbols_apply(m, s, &counts), 0);
	cr_expect_eq(counts.named, 0);
	cr_expect_eq(m->stacks[1].frame_n, 3);
	cr_expect_str_eq(told(m, 1), "- - -");
	build_end();
}
