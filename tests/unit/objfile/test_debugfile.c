/* SPDX-License-Identifier: (LGPL-2.1 OR BSD-2-Clause) */
/* Symbols of stripped files from each of their other sources, against nm on the file before it was stripped. */
#include <criterion/criterion.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>

#include "build.h"
#include "nm.h"
#include "objfile/objfile.h"
#include "util/cleanup.h"

DEFINE_CLEANUP(struct objfile *, objfile_free)

TestSuite(debugfile, .init = build_begin, .fini = build_end);

#define CXX "-xc++ -Wl,--no-as-needed -lstdc++ "

static const char source[] =
	"#define HID static __attribute__((noinline,noclone))\n"
	"extern \"C\" int getppid();\n"
	"HID int one(int x){return getppid()+x;} HID int two(int x){return getppid()*x;}\n"
	"namespace { struct local { HID int f(int x){return one(x)*3;} }; }\n"
	"namespace ns { template <class T> __attribute__((noinline)) T three(T x){return two((int)x)+local::f((int)x);}\n"
	"struct A{int g(int); virtual ~A();}; int A::g(int x){return (int)three<long>(x)+three<char>((char)x);}\n"
	"A::~A(){one(1);} }\n"
	"extern \"C\" int shown(int x){ns::A a; return a.g(x)+2;}\n"
	"int main(int c,char**){return shown(c)==77;}\n";

/* What was told of files that were not used. */
static char told[4096];

static void tell(void *arg, const char *path, const char *why)
{
	(void)arg;
	snprintf(told + strlen(told), sizeof(told) - strlen(told), "%s %s\n", path, why);
}

static struct objfile *open_path(const char *path)
{
	struct objfile *o = NULL;

	cr_assert_eq(objfile_open_path(-1, path, &o), 0, "%s", path);
	return o;
}

/* Builds FOLDER/app and FOLDER/full, the same with all it had; app is stripped, its debug file is FOLDER/app.debug. */
static const char *build_stripped(const char *args)
{
	static char path[128]; /* build_path's are valid for a while only */

	snprintf(path, sizeof(path), "%s", build_compile("app", args, source));
	build_run("cd %s && cp app full && objcopy --only-keep-debug app app.debug && strip -s app", build_path(""));
	return path;
}

/* Is one of the functions in nm's list at value called that? */
static bool nm_has(const char *nm, uint64_t value, const char *name)
{
	char line[3000];

	for (const char *type = "TtWwi"; *type; type++) {
		snprintf(line, sizeof(line), "%016lx", value);
		for (const char *at = nm; (at = strstr(at, line)); at++) {
			char word[2000];

			if (sscanf(at, "%*x %*x %*c %1999s", word) == 1 && !strcmp(word, name))
				return true;
		}
	}
	return false;
}

/* With debug, o's functions have at their first, middle and last byte the names that nm gives for the full file. */
static void check_symbols(struct objfile *o, struct objfile *debug)
{
	_cleanup_(freep) char *text =
		build_output("nm -S --defined-only --without-symbol-versions %s", build_path("full"));
	_cleanup_(freep) char *walked = strdup(text);
	struct nm want;
	size_t n = 0, local_n = 0;

	cr_assert_eq(objfile_read_symbols(o, debug), 0);
	objfile_detach(o, true);
	for (char *at = walked; (at = nm_next(at, &want));) {
		uint64_t sites[] = { want.value, want.value + want.size / 2, want.value + want.size - 1 };

		if (!strchr("TtWwi", want.type))
			continue;
		n++;
		local_n += want.type == 't';
		for (size_t i = 0; i < sizeof(sites) / sizeof(*sites); i++) {
			struct objfile_symbol got;

			cr_assert_eq(objfile_symbol(o, sites[i], &got), 0, "%s", want.name);
			cr_assert_eq(got.value, want.value, "%s", want.name);
			cr_assert_eq(got.size, want.size, "%s", want.name);
			cr_assert(nm_has(text, want.value, got.name), "%s for %s", got.name, want.name);
		}
	}
	cr_assert(n >= 9 && local_n >= 3, "%zu %zu", n, local_n);
	cr_assert(objfile_static_known(o));
}

static void check_found(const struct objfile_search *where, const char *want)
{
	_cleanup_(objfile_freep) struct objfile *o = open_path(build_path("app"));
	_cleanup_(objfile_freep) struct objfile *debug = NULL;

	told[0] = '\0';
	cr_assert_eq(objfile_open_debug(o, where, &debug), 0, "%s", told);
	cr_assert_str_eq(objfile_path(debug), want);
	cr_assert_str_eq(told, "");
	check_symbols(o, debug);
}

static void check_none(const struct objfile_search *where, const char *want_told)
{
	_cleanup_(objfile_freep) struct objfile *o = open_path(build_path("app"));
	struct objfile *debug = NULL;

	told[0] = '\0';
	cr_assert_eq(objfile_open_debug(o, where, &debug), -ENOENT);
	cr_assert_null(debug);
	cr_assert(want_told ? strstr(told, want_told) != NULL : !*told, "%s", told);
}

static uint64_t value_of_one(void)
{
	_cleanup_(freep) char *nm = build_output("nm %s | awk '$3 == \"_ZL3onei\" {print $1}'", build_path("full"));

	return strtoull(nm, NULL, 16);
}

/* The stripped file alone has names of what it exports only. */
static void check_needs_it(void)
{
	_cleanup_(objfile_freep) struct objfile *o = open_path(build_path("app"));
	struct objfile_symbol got;

	cr_assert_eq(objfile_symbol(o, value_of_one(), &got), -ENOENT);
	cr_assert_not(objfile_static_known(o));
	cr_assert_not(objfile_has_symtab(o));
}

Test(debugfile, by_link)
{
	const char *path = build_stripped(CXX "-O1 -Wl,--build-id=sha1");
	struct objfile_search where = { .path = path, .root_fd = -1, .refused = tell };
	char below[256], dir[128];

	check_needs_it();
	check_none(&where, NULL);
	build_run("cd %s && objcopy --add-gnu-debuglink=app.debug app", build_path(""));
	check_found(&where, build_path("app.debug"));
	build_run("cd %s && mkdir .debug && mv app.debug .debug", build_path(""));
	check_found(&where, build_path(".debug/app.debug"));
	/* In a folder that the user names: by the link's name, and below it as in the system's folder. */
	build_run("cd %s && mkdir -p dir && mv .debug/app.debug dir/app.debug", build_path(""));
	check_none(&where, NULL);
	snprintf(dir, sizeof(dir), "%s", build_path("dir"));
	where.dirs = (const char *[]){ dir };
	where.dir_n = 1;
	check_found(&where, build_path("dir/app.debug"));
	build_run("mkdir -p %s%s && mv %s %s%s", build_path("dir"), build_path(""), build_path("dir/app.debug"),
		  build_path("dir"), build_path(""));
	snprintf(below, sizeof(below), "%s%s", build_path("dir"), build_path("app.debug"));
	check_found(&where, below);
}

Test(debugfile, by_build_id)
{
	static const char id[] = "0123456789abcdef0123456789abcdef01234567";
	const char *path = build_stripped(CXX "-O1 -Wl,--build-id=0x0123456789abcdef0123456789abcdef01234567");
	struct objfile_search where = { .path = path, .root_fd = -1, .refused = tell };
	_cleanup_(closep) int root = -1;
	char inside[256], dir[128];

	build_run("cd %s && mkdir -p dir/.build-id/01 && mv app.debug dir/.build-id/01/%s.debug", build_path(""), id + 2);
	check_none(&where, NULL);
	snprintf(dir, sizeof(dir), "%s", build_path("dir"));
	where.dirs = (const char *[]){ "/nowhere", dir };
	where.dir_n = 2;
	snprintf(inside, sizeof(inside), "%s/.build-id/01/%s.debug", build_path("dir"), id + 2);
	check_found(&where, inside);
	/* In the root of another mount namespace, where links are that root's. */
	build_run("cd %s && mkdir -p root/usr/lib/debug/.build-id/01 root/files && mv %s root/files/x && "
		  "ln -s /files/x root/usr/lib/debug/.build-id/01/%s.debug", build_path(""), inside, id + 2);
	where.dir_n = 0;
	check_none(&where, NULL);
	root = open(build_path("root"), O_PATH | O_CLOEXEC);
	where.root_fd = root;
	snprintf(inside, sizeof(inside), "/usr/lib/debug/.build-id/01/%s.debug", id + 2);
	check_found(&where, inside);
}

/* As gdb's manual makes it: what .dynsym hasn't, packed. */
Test(debugfile, mini_debug_information)
{
	_cleanup_(objfile_freep) struct objfile *o = NULL;
	struct objfile_symbol s;

	build_stripped(CXX "-O1 -rdynamic");
	build_run("cd %s && nm -D app --format=posix --defined-only | awk '{print $1}' | sort >dynsyms && "
		  "nm full --format=posix --defined-only | awk '$2 ~ /[TtDd]/ {print $1}' | sort >funcsyms && "
		  "comm -13 dynsyms funcsyms >keep && "
		  "objcopy -S --remove-section .comment --keep-symbols=keep full mini && xz mini && "
		  "objcopy --add-section .gnu_debugdata=mini.xz app", build_path(""));
	o = open_path(build_path("app"));
	check_symbols(o, NULL);
	/* Damaged, it is as if it were not there. */
	build_run("cd %s && head -c 200 mini.xz >cut && objcopy --update-section .gnu_debugdata=cut app", build_path(""));
	objfile_free(TAKE_PTR(o));
	o = open_path(build_path("app"));
	cr_assert_eq(objfile_read_symbols(o, NULL), 0);
	cr_assert_eq(objfile_symbol(o, value_of_one(), &s), -ENOENT);
	cr_assert_not(objfile_static_known(o));
}

Test(debugfile, another_build_is_refused)
{
	const char *path = build_stripped(CXX "-O1 -Wl,--build-id=sha1");
	struct objfile_search where = { .path = path, .root_fd = -1, .refused = tell };

	/* The link and its checksum fit; the build id is another one's. */
	build_compile("other", CXX "-O2 -Wl,--build-id=sha1", source);
	build_run("cd %s && objcopy --only-keep-debug other app.debug && objcopy --add-gnu-debuglink=app.debug app",
		  build_path(""));
	check_none(&where, "app.debug has another build id");
	build_run("cd %s && echo text >app.debug", build_path(""));
	check_none(&where, "app.debug is no ELF file");
	/* What is no file is not even opened. */
	build_run("cd %s && rm app.debug && mkfifo app.debug", build_path(""));
	check_none(&where, NULL);
}

Test(debugfile, another_checksum_is_refused)
{
	const char *path = build_stripped(CXX "-O1 -Wl,--build-id=none");
	struct objfile_search where = { .path = path, .root_fd = -1, .refused = tell };

	build_run("cd %s && objcopy --add-gnu-debuglink=app.debug app", build_path(""));
	check_found(&where, build_path("app.debug"));
	build_run("cd %s && printf x >>app.debug", build_path(""));
	check_none(&where, "app.debug has another checksum");
	/* Nor one that has a build id, for a file that has none. */
	build_compile("app.debug", CXX "-O1 -Wl,--build-id=sha1", source);
	check_none(&where, "app.debug has another checksum");
}

Test(debugfile, links_lead_to_no_other_folder)
{
	const char *path = build_stripped(CXX "-O1 -Wl,--build-id=none");
	struct objfile_search where = { .path = path, .root_fd = -1, .refused = tell };
	char x[128];

	/* ../x/app.debug, 14 bytes, padded to 16, and the checksum. */
	build_run("cd %s && mkdir x && mv app.debug x && objcopy --add-gnu-debuglink=x/app.debug app && "
		  "objcopy -O binary --set-section-flags .gnu_debuglink=alloc -j .gnu_debuglink app link && "
		  "(printf '../x/app.debug\\0\\0'; tail -c 4 link) >long && "
		  "objcopy --update-section .gnu_debuglink=long app", build_path(""));
	snprintf(x, sizeof(x), "%s", build_path("x/app"));
	where.path = x;
	check_none(&where, NULL);
	/* It is not its own debug file. */
	build_run("cd %s && cp full app && objcopy --add-gnu-debuglink=full app && mv app app2 && mv full app && "
		  "objcopy --remove-section .gnu_debuglink app2 && objcopy --add-gnu-debuglink=app app2 && mv app2 app",
		  build_path(""));
	where.path = path;
	check_none(&where, NULL);
}
