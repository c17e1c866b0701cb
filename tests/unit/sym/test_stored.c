/* SPDX-License-Identifier: (LGPL-2.1 OR BSD-2-Clause) */
/* Addresses of a recording, named with nothing but files: as nm and addr2line name them. */
#include <criterion/criterion.h>
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "../objfile/build.h"
#include "../objfile/nm.h"
#include "sym/sym.h"
#include "util/cleanup.h"

DEFINE_CLEANUP(struct sym *, sym_free)

TestSuite(stored, .init = build_begin, .fini = build_end);

static const char source[] =
	"extern int getppid(void);\n"
	"static inline __attribute__((always_inline)) int deep(int x)\n{\n\treturn getppid()*x;\n}\n"
	"static __attribute__((noinline,noclone)) int hid(int x)\n{\n\treturn deep(x)+\n\t\tdeep(x+1);\n}\n"
	"int main(int c,char**v){ return hid(c)+hid(c+1)==77; }\n";

#define ID "00112233445566778899aabbccddeeff00112233"
#define RECORDED "/srv/app/bin/prog" /* where it was; not here */

/* FOLDER/prog with debug information, and dir/, empty. */
static void build(const char *args)
{
	char all[256];

	snprintf(all, sizeof(all), "-g -O2 %s", args);
	build_compile("prog", all, source);
	build_run("cd %s && objcopy --only-keep-debug prog prog.debug && strip -s -o stripped prog && mkdir -p dir",
		  build_path(""));
}

static struct sym *open_dir(void)
{
	const char *dirs[] = { "/nowhere", build_path("dir") };
	struct sym *s = NULL;

	cr_assert_eq(sym_open_later(dirs, 2, &s), 0);
	return s;
}

/* All addresses of hid(), as return addresses, are in it, inlined calls as addr2line finds them. */
static void check_named(struct sym *s, const char *path, const char *build_id)
{
	_cleanup_(freep) char *nm = build_output("nm -S %s | grep ' hid$'", build_path("prog"));
	size_t deepest = 0;
	struct nm hid;

	cr_assert_not_null(nm_next(nm, &hid));
	for (uint64_t vaddr = hid.value; vaddr < hid.value + hid.size; vaddr++) {
		_cleanup_(freep) char *want = build_output("addr2line -i -f -e %s %" PRIx64, build_path("prog"), vaddr);
		struct sym_frame f[SYM_FRAMES_MAX];
		size_t n = sym_stored(s, path, build_id, vaddr + 1, true, f, SYM_FRAMES_MAX);
		char *save = NULL, *at = want;

		cr_assert_gt(n, 0);
		for (size_t i = 0; i < n; i++, at = NULL) {
			char *name = strtok_r(at, "\n", &save), *place = strtok_r(NULL, "\n", &save);

			cr_assert_str_eq(f[i].name, name);
			cr_assert_eq(f[i].line, strtoul(strrchr(place, ':') + 1, NULL, 10));
			cr_assert_eq(f[i].address, vaddr + 1);
			cr_assert_str_eq(f[i].module, path);
			cr_assert_str_eq(f[i].build_id, build_id);
		}
		cr_assert_eq(f[n - 1].offset, vaddr + 1 - hid.value);
		deepest = n > deepest ? n : deepest;
	}
	cr_assert_eq(deepest, 2);
}

static uint64_t address_of_main(void)
{
	_cleanup_(freep) char *nm = build_output("nm %s | grep ' main$'", build_path("prog"));

	return strtoull(nm, NULL, 16);
}

/* Each place in the folder by itself; with a stripped file in one and its debug file in another too. */
Test(stored, places_in_a_folder)
{
	static const char *const places[] = {
		"mkdir -p dir/.build-id/00 && cp prog.debug dir/.build-id/00/" "112233445566778899aabbccddeeff00112233.debug",
		"mkdir -p dir/.build-id/00 && cp prog dir/.build-id/00/" "112233445566778899aabbccddeeff00112233",
		"mkdir -p dir/srv/app/bin && cp prog dir" RECORDED,
		"cp prog dir/prog",
		"cp prog.debug dir/prog.debug",
		"cp stripped dir/prog && mkdir -p dir/.build-id/00 && "
		"cp prog.debug dir/.build-id/00/112233445566778899aabbccddeeff00112233.debug",
		"objcopy --add-gnu-debuglink=prog.debug stripped linked && mkdir -p dir/srv/app/bin && "
		"cp linked dir" RECORDED " && cp prog.debug dir/srv/app/bin/prog.debug",
		"objcopy --add-gnu-debuglink=prog.debug stripped linked2 && cp linked2 dir/prog && cp prog.debug dir/",
	};
	struct sym_frame f;

	build("-Wl,--build-id=0x" ID);
	for (size_t i = 0; i < sizeof(places) / sizeof(*places); i++) {
		_cleanup_(sym_freep) struct sym *s = NULL;
		_cleanup_(sym_freep) struct sym *before = open_dir();

		cr_assert_eq(sym_stored(before, RECORDED, ID, address_of_main(), false, &f, 1), 0);
		build_run("cd %s && %s", build_path(""), places[i]);
		s = open_dir();
		check_named(s, RECORDED, ID);
		/* What was not there is not looked for again. */
		cr_assert_eq(sym_stored(before, RECORDED, ID, address_of_main(), false, &f, 1), 0);
		build_run("rm -rf %s && mkdir %s", build_path("dir"), build_path("dir"));
	}
}

Test(stored, another_build_is_not_used)
{
	_cleanup_(sym_freep) struct sym *s = NULL;
	const char *const *notes;
	struct sym_frame f;
	char want[300];

	build("-Wl,--build-id=0x" ID);
	build_run("cp %s %s", build_path("prog"), build_path("dir/prog"));
	s = open_dir();
	cr_assert_eq(sym_stored(s, RECORDED, "ff" ID, address_of_main(), false, &f, 1), 0);
	cr_assert_eq(sym_notes(s, &notes), 1);
	snprintf(want, sizeof(want), "%s has another build id: not used", build_path("dir/prog"));
	cr_assert_str_eq(notes[0], want);
	/* It was recorded without one. */
	cr_assert_eq(sym_stored(s, RECORDED, "", address_of_main(), false, &f, 1), 0);
	check_named(s, RECORDED, ID);
}

Test(stored, without_a_build_id)
{
	_cleanup_(sym_freep) struct sym *s = NULL;
	_cleanup_(sym_freep) struct sym *bare = NULL;
	struct sym_frame f;

	build("-Wl,--build-id=none");
	build_run("cp %s %s", build_path("prog"), build_path("dir/prog"));
	s = open_dir();
	check_named(s, RECORDED, "");
	cr_assert_eq(sym_stored(s, RECORDED, ID, address_of_main(), false, &f, 1), 0);
	/* On the system itself nothing says that it is the one. */
	cr_assert_eq(sym_open_later(NULL, 0, &bare), 0);
	cr_assert_eq(sym_stored(bare, build_path("prog"), "", address_of_main(), false, &f, 1), 0);
}

Test(stored, where_it_was)
{
	_cleanup_(sym_freep) struct sym *s = NULL;
	struct sym_frame f;

	build("-Wl,--build-id=0x" ID);
	cr_assert_eq(sym_open_later(NULL, 0, &s), 0);
	check_named(s, build_path("prog"), ID);
	cr_assert_eq(sym_stored(s, RECORDED, ID, address_of_main(), false, &f, 1), 0);
}

Test(stored, what_is_no_file)
{
	static const char *const paths[] = { "[kernel]", "[vdso]", "//anon", "", "prog", "/../dir/prog", "/proc/self/mem" };
	_cleanup_(sym_freep) struct sym *s = NULL;
	struct sym_frame f = { .line = 7 };

	build("-Wl,--build-id=0x" ID);
	build_run("cp %s %s", build_path("prog"), build_path("dir/prog"));
	s = open_dir();
	for (size_t i = 0; i < sizeof(paths) / sizeof(*paths); i++)
		cr_assert_eq(sym_stored(s, paths[i], ID, address_of_main(), false, &f, 1), 0, "%s", paths[i]);
	cr_assert_eq(f.line, 7);
	cr_assert_eq(sym_stored(s, RECORDED, ID, address_of_main(), false, &f, 0), 0);
	/* It knows no processes. */
	cr_assert_eq(sym_user(s, (uint32_t)getpid(), 1, (uint64_t)(uintptr_t)open_dir, false, &f, 1), 1);
	cr_assert(!f.name && !f.module);
}
