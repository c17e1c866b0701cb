/* SPDX-License-Identifier: (LGPL-2.1 OR BSD-2-Clause) */
/* Frames of a library in this process with what its debug information says, against addr2line on the same file. */
#include <criterion/criterion.h>
#include <dlfcn.h>
#include <inttypes.h>
#include <link.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "../objfile/build.h"
#include "../objfile/nm.h"
#include "sym/module.h"
#include "sym/state.h"
#include "sym/sym.h"
#include "util/cleanup.h"

static struct proc_maps *maps;
static struct sym *sym;

static void setup(void)
{
	build_begin();
	cr_assert_eq(proc_maps_new(&maps), 0);
	cr_assert_eq(sym_new(maps, NULL, &sym), 0);
}

static void teardown(void)
{
	sym_free(sym);
	proc_maps_free(maps);
	build_end();
}

TestSuite(debug, .init = setup, .fini = teardown);

#define FLAGS "-g -O2 -shared -fPIC -Wl,--build-id=sha1 "

static const char source[] =
	"extern int getppid(void);\n"
	"static inline __attribute__((always_inline)) int deep(int x)\n{\n\tint y = getppid();\n\treturn y*x;\n}\n"
	"static inline __attribute__((always_inline)) int middle(int x)\n{\n"
	"\tif (x>3) { int z=deep(x+1); return z*deep(x); }\n\treturn deep(x-1)+1;\n}\n"
	"static __attribute__((noinline,noclone)) int outer(int x)\n{\n\tfor (int i=0;i<x;i++)\n\t\tx+=middle(i);\n"
	"\treturn deep(x)+\n\t\tmiddle(x);\n}\n"
	"int shown(int x){ return outer(x)+outer(x+1); }\n"
	"int other(int x) __attribute__((alias(\"shown\"))); int again(int x) __attribute__((alias(\"shown\")));\n";

/* Loads it; *ret_base is where. */
static void *load(const char *path, uint64_t *ret_base)
{
	void *handle = dlopen(path, RTLD_NOW);
	struct link_map *link;

	cr_assert_not_null(handle, "%s", dlerror());
	cr_assert_eq(dlinfo(handle, RTLD_DI_LINKMAP, &link), 0);
	cr_assert_eq(proc_maps_snapshot(maps, (uint32_t)getpid(), 0), 0);
	*ret_base = link->l_addr;
	return handle;
}

static uint64_t address_of_outer(const char *path)
{
	_cleanup_(freep) char *nm = build_output("nm %s | grep ' outer$'", path);

	return strtoull(nm, NULL, 16);
}

/* At all addresses of outer() of the file, frames are what addr2line says; the last is outer with its offset. */
static size_t check_frames(const char *full, uint64_t base)
{
	_cleanup_(freep) char *nm = build_output("nm -S %s | grep ' outer$'", full);
	struct nm outer;
	size_t deepest = 0;

	cr_assert_not_null(nm_next(nm, &outer));
	for (uint64_t vaddr = outer.value; vaddr < outer.value + outer.size; vaddr++) {
		_cleanup_(freep) char *want = build_output("addr2line -i -f -e %s %" PRIx64, full, vaddr);
		struct sym_frame f[SYM_FRAMES_MAX], last;
		size_t n = sym_user(sym, (uint32_t)getpid(), 1, base + vaddr + 1, true, f, SYM_FRAMES_MAX);
		char *save = NULL, *at = want;

		for (size_t i = 0; i < n; i++, at = NULL) {
			char *name = strtok_r(at, "\n", &save), *place = strtok_r(NULL, "\n", &save), got[4200];

			cr_assert_not_null(place, "%" PRIx64 ": %s", vaddr, f[i].name);
			place[strcspn(place, " ")] = '\0'; /* (discriminator 2) */
			cr_assert_str_eq(f[i].name, name);
			snprintf(got, sizeof(got), "%s:%u", f[i].file, f[i].line);
			cr_assert_str_eq(got, place);
			cr_assert_eq(f[i].inlined, i + 1 < n);
			cr_assert_eq(f[i].address, vaddr + 1);
			cr_assert_eq(f[i].bias, base);
			cr_assert_eq(f[i].offset, i + 1 < n ? 0 : vaddr + 1 - outer.value);
		}
		cr_assert_null(strtok_r(NULL, "\n", &save));
		cr_assert_str_eq(f[n - 1].name, "outer");
		/* With room for one it is the function itself. */
		cr_assert_eq(sym_user(sym, (uint32_t)getpid(), 1, base + vaddr + 1, true, &last, 1), 1);
		cr_assert(!last.inlined && !strcmp(last.name, "outer") && last.line == f[n - 1].line);
		deepest = n > deepest ? n : deepest;
	}
	return deepest;
}

static void check_no_notes(void)
{
	const char *const *notes;

	cr_assert_eq(sym_notes(sym, &notes), 0, "%s", notes[0]);
}

Test(debug, inlined_frames_and_lines)
{
	const char *path = build_compile("lib.so", FLAGS, source);
	uint64_t base;
	void *handle = load(path, &base);

	cr_assert_eq(check_frames(path, base), 3);
	check_no_notes();
	dlclose(handle);
}

/* Stripped, with the debug file beside it: static functions have their names, unmarked. */
Test(debug, of_a_separate_file)
{
	const char *path = build_compile("lib.so", FLAGS, source);
	uint64_t base;
	void *handle;

	build_run("cd %s && cp lib.so full && objcopy --only-keep-debug lib.so lib.debug && strip -s lib.so && "
		  "objcopy --add-gnu-debuglink=lib.debug lib.so", build_path(""));
	handle = load(path, &base);
	cr_assert_eq(check_frames(build_path("full"), base), 3);
	check_no_notes();
	dlclose(handle);
}

Test(debug, another_build_is_told)
{
	const char *path = build_compile("lib.so", FLAGS, source);
	const char *const *notes;
	uint64_t base, outer;
	struct sym_frame f[2];
	char want[300];
	void *handle;

	build_run("cd %s && cp lib.so full && objcopy --only-keep-debug lib.so lib.debug && strip -s lib.so && "
		  "objcopy --add-gnu-debuglink=lib.debug lib.so", build_path(""));
	build_compile("lib.debug", FLAGS "-DX -O0", source);
	handle = load(path, &base);
	outer = address_of_outer(build_path("full"));
	for (int i = 0; i < 3; i++)
		cr_assert_eq(sym_user(sym, (uint32_t)getpid(), 1, base + outer + (uint64_t)i, false, f, 2), 1);
	/* Only shown() calls it; that is what can be told without. */
	cr_assert(!f->name || strchr(f->name, '~'), "%s", f->name);
	cr_assert_null(f->file);
	cr_assert_eq(sym_notes(sym, &notes), 1);
	snprintf(want, sizeof(want), "debug file %s has another build id: not used", build_path("lib.debug"));
	cr_assert_str_eq(notes[0], want);
	dlclose(handle);
}

Test(debug, aliases_are_counted)
{
	const char *path = build_compile("lib.so", FLAGS, source);
	uint64_t base;
	void *handle = load(path, &base);
	struct sym_frame f;

	sym_user(sym, (uint32_t)getpid(), 1, (uint64_t)dlsym(handle, "other") + 1, false, &f, 1);
	cr_assert_str_eq(f.name, "again"); /* of three as short the first */
	cr_assert_eq(f.alias_n, 2);
	dlclose(handle);
}

/* Only one file's debug information may be open: it goes and comes back, and answers stay right. */
Test(debug, bounded_memory)
{
	const char *a_path = build_compile("a.so", FLAGS, source);
	const char *b_path = build_compile("b.so", FLAGS "-DB", source);
	uint64_t a, b;
	void *a_handle = load(a_path, &a), *b_handle = load(b_path, &b);
	struct sym_frame f[SYM_FRAMES_MAX];
	size_t two, n = 0;

	/* What both take. */
	check_frames(a_path, a);
	check_frames(b_path, b);
	two = module_source_bytes(sym);
	sym_free(sym);
	cr_assert_eq(sym_new(maps, NULL, &sym), 0);
	sym->source_bytes_max = two / 2 + 100;
	for (int i = 0; i < 10; i++) {
		uint64_t outer = address_of_outer(a_path) + (uint64_t)i * 3;

		n += sym_user(sym, (uint32_t)getpid(), 1, a + outer, false, f, SYM_FRAMES_MAX);
		cr_assert_neq(f[0].line, 0);
		n += sym_user(sym, (uint32_t)getpid(), 1, b + outer, false, f, SYM_FRAMES_MAX);
		cr_assert_neq(f[0].line, 0);
		cr_assert_lt(module_source_bytes(sym), two);
	}
	cr_assert_geq(n, 20);
	check_frames(a_path, a);
	check_frames(b_path, b);
	check_no_notes();
	dlclose(a_handle);
	dlclose(b_handle);
}

/* More than may be open at all: names stay, that there is more is told. */
Test(debug, too_big)
{
	const char *path = build_compile("lib.so", FLAGS, source);
	uint64_t base, outer = address_of_outer(path);
	void *handle = load(path, &base);
	const char *const *notes;
	struct sym_frame f[2];

	sym->source_bytes_max = 100;
	for (int i = 0; i < 3; i++)
		cr_assert_eq(sym_user(sym, (uint32_t)getpid(), 1, base + outer + (uint64_t)i, false, f, 2), 1);
	cr_assert_str_eq(f->name, "outer");
	cr_assert_null(f->file);
	cr_assert_eq(sym_notes(sym, &notes), 1);
	cr_assert_not_null(strstr(notes[0], "lib.so has more than 0 MB of debug information"));
	dlclose(handle);
}

Test(debug, stubs)
{
	const char *path = build_compile("lib.so", "-xc++ -O0 -shared -fPIC -Wl,-z,lazy",
					 "void elsewhere(int); namespace n { int calls(int x) { elsewhere(x); return x; } }");
	_cleanup_(freep) char *stub = build_output("objdump -d -j .plt %s | grep 'elsewherei@plt>:'", path);
	void *handle = dlopen(path, RTLD_LAZY);
	struct link_map *link;
	struct sym_frame f;

	cr_assert_not_null(handle, "%s", dlerror());
	cr_assert_eq(dlinfo(handle, RTLD_DI_LINKMAP, &link), 0);
	cr_assert_eq(proc_maps_snapshot(maps, (uint32_t)getpid(), 0), 0);
	sym_user(sym, (uint32_t)getpid(), 1, link->l_addr + strtoull(stub, NULL, 16) + 6, false, &f, 1);
	cr_assert_str_eq(f.name, "elsewhere(int)@plt");
	cr_assert_eq(f.offset, 6);
	dlclose(handle);
}
