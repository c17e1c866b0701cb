/* SPDX-License-Identifier: (LGPL-2.1 OR BSD-2-Clause) */
/*
 * Inlined functions and lines, against LLVM's addr2line (that of binutils mixes up names and files in C++) for every
 * address of every function.
 */
#include <criterion/criterion.h>
#include <ctype.h>
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "build.h"
#include "nm.h"
#include "objfile/objfile.h"
#include "util/cleanup.h"

DEFINE_CLEANUP(struct objfile *, objfile_free)
DEFINE_CLEANUP(struct objfile_source *, objfile_source_free)

TestSuite(source, .init = build_begin, .fini = build_end);

#define BYTES_MAX (64u << 20)
#define PLACES_MAX 64
#define CXX "-xc++ -Wl,--no-as-needed -lstdc++ "

static const char c_source[] =
	"#include <stdlib.h>\n"
	"extern int getppid(void);\n"
	"static inline __attribute__((always_inline)) int deep(int x)\n{\n\tint y = getppid();\n\treturn y*x;\n}\n"
	"static inline __attribute__((always_inline)) int middle(int x)\n{\n\tif (x>3) { int z=deep(x+1); return z*deep(x); }\n"
	"\treturn deep(x-1)+1;\n}\n"
	"__attribute__((noinline)) int outer(int x)\n{\n\tfor (int i=0;i<x;i++)\n\t\tx+=middle(i);\n\treturn deep(x)+\n"
	"\t\tmiddle(x);\n}\n"
	"__attribute__((noinline,cold)) static int rare(int x){ abort(); return x; }\n"
	"int main(int c,char**v){ if (c>100) rare(c); return outer(c)==77; }\n";

static const char cxx_source[] =
	"#include <algorithm>\n#include <map>\n#include <string>\n#include <vector>\n#include <cstdio>\n"
	"namespace ns { template<class T> struct box { T v; T get() const { return v+getpp(); }\n"
	" static int getpp() { return (int)v0.size(); } static std::vector<T> v0; };\n"
	"template<class T> std::vector<T> box<T>::v0; }\n"
	"__attribute__((noinline)) int sorted(std::vector<int> &v) {\n"
	"\tstd::sort(v.begin(), v.end(), [](int a, int b){ return ns::box<int>{a}.get() < ns::box<int>{b}.get(); });\n"
	"\treturn v.empty() ? 0 : v[0]; }\n"
	"int main(int c,char**v){ std::map<std::string,int> m; for(int i=0;i<c;i++) m[v[i]]+=i;\n"
	"\tstd::vector<int> all; for(auto &p:m) all.push_back(p.second); return sorted(all)+(int)m.count(\"x\"); }\n";

/* Of each function in nm's view of path: its addresses, in hexadecimal, a line each, to FOLDER/addresses. */
static size_t write_addresses(const char *path)
{
	_cleanup_(freep) char *text = build_output("nm -S --defined-only %s", path);
	_cleanup_(fclosep) FILE *f = fopen(build_path("addresses"), "we");
	struct nm symbol;
	size_t n = 0;

	for (char *at = text; (at = nm_next(at, &symbol));)
		for (uint64_t i = 0; strchr("TtWw", symbol.type) && i < symbol.size; i++, n++)
			fprintf(f, "%" PRIx64 "\n", symbol.value + i);
	return n;
}

/* a/./b//c/../d -> a/b/d, in place. */
static void normalize(char *path)
{
	char *to = path, *from = path;

	while (*from) {
		size_t n = strcspn(from, "/");

		if (n == 1 && *from == '.') {
			from += from[1] ? 2 : 1;
			continue;
		}
		if (n == 2 && !strncmp(from, "..", 2) && to > path + 1) {
			for (to--; to > path && to[-1] != '/'; to--)
				;
			from += from[2] ? 3 : 2;
			continue;
		}
		memmove(to, from, n);
		to += n;
		from += n;
		if (*from == '/') {
			if (to == path || to[-1] != '/')
				*to++ = '/';
			from++;
		}
	}
	*to = '\0';
}

/* What a place is for llvm-addr2line: name, newline, file:line. */
static void print_place(const struct objfile_place *p, char *ret, size_t size)
{
	char file[4096];

	snprintf(file, sizeof(file), "%s%s%s", p->file && p->dir && *p->file != '/' ? p->dir : "",
		 p->file && p->dir && *p->file != '/' ? "/" : "", p->file ? p->file : "??");
	normalize(file);
	snprintf(ret, size, "%s\n%s:%u", p->name ? p->name : "??", file, p->line);
}

/* Two lines of its output. */
static bool next_place(char **save, char *ret, size_t size)
{
	char *name = strtok_r(NULL, "\n", save), *place, *colon, file[4096];

	if (!name || !strncmp(name, "0x", 2)) {
		snprintf(ret, size, "%s", name ? name : "");
		return false;
	}
	place = strtok_r(NULL, "\n", save);
	colon = strrchr(place, ':');
	snprintf(file, sizeof(file), "%.*s", (int)(colon - place), place);
	normalize(file);
	snprintf(ret, size, "%s\n%s:%ld", name, file, strtol(colon + 1, NULL, 10));
	return true;
}

struct tally {
	size_t addresses, inlined, deepest;
};

static struct objfile_source *open_source(const char *path)
{
	_cleanup_(objfile_freep) struct objfile *o = NULL;
	struct objfile_search where = { .path = path, .root_fd = -1 };
	struct objfile_source *s = NULL;

	cr_assert_eq(objfile_open_path(-1, path, &o), 0);
	cr_assert(objfile_has_source(o));
	cr_assert_eq(objfile_source_new(o, &where, BYTES_MAX, &s), 0);
	return s;
}

/* What path says is what LLVM finds with full, at all addresses of its functions. */
static struct tally check_as_addr2line(const char *its_path, const char *its_full)
{
	_cleanup_(freep) char *path = strdup(its_path);
	_cleanup_(freep) char *full = strdup(its_full);
	_cleanup_(objfile_source_freep) struct objfile_source *s = open_source(path);
	size_t address_n = write_addresses(full);
	_cleanup_(freep) char *text = build_output("llvm-addr2line -a -i -f -e %s <%s", full, build_path("addresses"));
	struct tally t = { 0 };
	char *save, want[8192], got[8192];

	snprintf(want, sizeof(want), "%s", strtok_r(text, "\n", &save));
	while (!strncmp(want, "0x", 2)) {
		uint64_t addr = strtoull(want, NULL, 16);
		struct objfile_place places[PLACES_MAX];
		size_t n = objfile_source_find(s, addr, NULL, places, PLACES_MAX), i = 0;

		for (; next_place(&save, want, sizeof(want)); i++) {
			/* Without debug information (start code): it falls back to the symbol. */
			if (!n && strstr(want, ":0"))
				continue;
			cr_assert_lt(i, n, "%" PRIx64 ": %s", addr, want);
			/* The function itself it calls by its symbol, which is not told here. */
			if (i + 1 == n)
				places[i].name = strndup(want, strcspn(want, "\n"));
			print_place(&places[i], got, sizeof(got));
			if (i + 1 == n)
				free((char *)places[i].name);
			cr_assert_str_eq(got, want, "%s %" PRIx64 " place %zu: %s, not %s", path, addr, i, got, want);
		}
		cr_assert(i == n || !n, "%" PRIx64, addr);
		t.addresses++;
		t.inlined += n > 1;
		t.deepest = n > t.deepest ? n : t.deepest;
	}
	cr_assert_eq(t.addresses, address_n);
	return t;
}

static void check(const char *args, const char *text, size_t addresses_min, size_t deepest_min)
{
	const char *path = build_compile("app", args, text);
	struct tally t = check_as_addr2line(path, path);

	cr_assert(t.addresses >= addresses_min && t.inlined * 5 >= t.addresses && t.deepest >= deepest_min,
		  "%s: %zu addresses, %zu inlined, depth %zu", args, t.addresses, t.inlined, t.deepest);
}

Test(source, c)
{
	check("-xc -g -O2", c_source, 100, 3);
	check("-xc -g -O2 -gdwarf-4", c_source, 100, 3);
	check("-xc -g -O2 -gz", c_source, 100, 3);
	check("-xc -g -O2 -no-pie", c_source, 100, 3);
}

Test(source, cxx)
{
	check(CXX "-g -O1 -gdwarf-4 -no-pie", cxx_source, 2000, 5);
}

/* Without .debug_aranges, as clang and rustc write it. */
Test(source, without_aranges)
{
	const char *path = build_compile("app", CXX "-g -O2", cxx_source);
	struct tally t;

	build_run("objcopy --remove-section .debug_aranges %s %s", path, build_path("none"));
	t = check_as_addr2line(build_path("none"), path);
	cr_assert_geq(t.deepest, 5);
}

/* Functions that the linker has thrown away are described at address 0, as long as they were. */
Test(source, thrown_away)
{
	const char *path = build_compile("app.so", "-xc -g -O1 -shared -fPIC -ffunction-sections -Wl,--gc-sections "
					 "-fvisibility=hidden -Wl,-z,noseparate-code",
		"extern int getppid(void);\n"
		"#define R getppid(); getppid(); getppid(); getppid(); getppid(); getppid(); getppid(); getppid();\n"
		"#define S R R R R R R R R\n"
		"int gone(void){ S S S S S S S S S S S S return getppid(); }\n"
		"__attribute__((visibility(\"default\"))) int kept(int x){ return x*3+getppid(); }\n");
	_cleanup_(objfile_source_freep) struct objfile_source *s = open_source(path);
	_cleanup_(freep) char *nm = build_output("nm %s | awk '$3 == \"kept\" {print $1}'", path);
	uint64_t kept = strtoull(nm, NULL, 16);
	struct objfile_place places[4];

	/* 769 calls of 5 bytes reach beyond it from 0. */
	cr_assert_lt(kept, 3800, "%" PRIx64, kept);
	cr_assert_eq(objfile_source_find(s, kept + 1, NULL, places, 4), 1);
	cr_assert_str_eq(places[0].name, "kept");
	cr_assert_eq(places[0].start, kept);
}

Test(source, at_most_the_outermost)
{
	_cleanup_(objfile_source_freep) struct objfile_source *s =
		open_source(build_compile("app", CXX "-g -O2", cxx_source));
	_cleanup_(fclosep) FILE *f = NULL;
	char line[64];
	size_t deep = 0;

	write_addresses(build_path("app"));
	f = fopen(build_path("addresses"), "re");
	while (fgets(line, sizeof(line), f)) {
		uint64_t addr = strtoull(line, NULL, 16);
		struct objfile_place all[PLACES_MAX], some[2];
		size_t n = objfile_source_find(s, addr, NULL, all, PLACES_MAX);

		cr_assert_eq(objfile_source_find(s, addr, NULL, some, 0), 0);
		if (n < 3)
			continue;
		deep++;
		cr_assert_eq(objfile_source_find(s, addr, NULL, some, 2), 2);
		for (size_t i = 0; i < 2; i++) {
			cr_assert_eq(some[i].name, all[n - 2 + i].name);
			cr_assert_eq(some[i].line, all[n - 2 + i].line);
			cr_assert_eq(some[i].start, all[n - 2 + i].start);
		}
	}
	cr_assert_gt(deep, 100);
}

Test(source, separate_and_shared)
{
	struct tally t;

	build_compile("app", CXX "-g -O2 -Wl,--build-id=sha1", cxx_source);
	build_run("cd %s && cp app full && objcopy --only-keep-debug app a.debug && g++ -xc++ -g -O1 source -o two && "
		  "objcopy --only-keep-debug two b.debug", build_path(""));
	t = check_as_addr2line(build_path("a.debug"), build_path("full"));
	cr_assert_geq(t.deepest, 5);
	/* dwz puts what both have into a third file. */
	build_run("cd %s && dwz -m shared -M shared a.debug b.debug", build_path(""));
	t = check_as_addr2line(build_path("a.debug"), build_path("full"));
	cr_assert_geq(t.deepest, 5);
}

/* With another file in the shared one's place names are missing; none is wrong. */
Test(source, another_shared_file_is_refused)
{
	_cleanup_(objfile_source_freep) struct objfile_source *s = NULL, *full = NULL;
	_cleanup_(fclosep) FILE *f = NULL;
	size_t missing = 0;
	char line[64];

	build_compile("app", CXX "-g -O2", cxx_source);
	build_run("cd %s && cp app full && g++ -xc++ -g -O1 source -o two -Wl,--build-id=sha1 && "
		  "dwz -m shared -M shared app two && cp two shared", build_path(""));
	full = open_source(build_path("full"));
	s = open_source(build_path("app"));
	write_addresses(build_path("full"));
	f = fopen(build_path("addresses"), "re");
	while (fgets(line, sizeof(line), f)) {
		struct objfile_place all[PLACES_MAX], got[PLACES_MAX];
		uint64_t addr = strtoull(line, NULL, 16);
		size_t n = objfile_source_find(full, addr, NULL, all, PLACES_MAX);

		cr_assert_eq(objfile_source_find(s, addr, NULL, got, PLACES_MAX), n);
		for (size_t i = 0; i < n; i++) {
			missing += !got[i].name;
			cr_assert(!got[i].name || !strcmp(got[i].name, all[i].name), "%s", got[i].name);
			cr_assert_eq(got[i].line, all[i].line);
		}
	}
	cr_assert_gt(missing, 100);
}

Test(source, none_or_too_much)
{
	_cleanup_(objfile_freep) struct objfile *plain = NULL;
	_cleanup_(objfile_freep) struct objfile *o = NULL;
	struct objfile_search where = { .root_fd = -1 };
	struct objfile_source *s = NULL;

	cr_assert_eq(objfile_open_path(-1, build_compile("plain", "-xc -O2", c_source), &plain), 0);
	cr_assert_not(objfile_has_source(plain));
	cr_assert_eq(objfile_source_new(plain, &where, BYTES_MAX, &s), -ENOENT);
	cr_assert_eq(objfile_open_path(-1, build_compile("app", CXX "-g -O2 -gz", cxx_source), &o), 0);
	cr_assert_eq(objfile_source_new(o, &where, 100000, &s), -EFBIG);
	cr_assert_null(s);
	cr_assert_eq(objfile_source_new(o, &where, BYTES_MAX, &s), 0);
	cr_assert_gt(objfile_source_bytes(s), 100000);
	objfile_source_free(s);
}
