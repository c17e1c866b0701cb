/* SPDX-License-Identifier: (LGPL-2.1 OR BSD-2-Clause) */
/*
 * Exits against what objdump says of whole libraries and Go programs, against
 * the processor that runs them, and in functions written for one trait each.
 */
#include <criterion/criterion.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "build.h"
#include "go.h"
#include "objfile/objfile.h"
#include "steps.h"
#include "util/cleanup.h"
#include "util/map.h"

DEFINE_CLEANUP(struct objfile *, objfile_free)
DEFINE_CLEANUP(struct objfile_go *, objfile_go_free)
DEFINE_CLEANUP(struct objfile_names *, objfile_names_free)
DEFINE_CLEANUP(struct objfile_code *, objfile_code_free)

TestSuite(code, .init = build_begin, .fini = build_end, .timeout = 200);

/* ---- against objdump ---- */

struct listing {
	struct map *returns; /* address -> 1: not seen among exits, 2: seen */
	struct map *jumps;   /* address of an unconditional direct jump -> its target */
};

/* Instructions one a line: "  4010a0:\tret", "jmp    4010a0 <name+0x10>". */
static void read_listing(const char *path, struct listing *ret)
{
	_cleanup_(freep) char *text = build_output("objdump -d --no-show-raw-insn -w %s | grep -E ':.*\\b(ret|jmp)'", path);
	char *save = NULL;

	cr_assert_eq(map_new(&ret->returns), 0);
	cr_assert_eq(map_new(&ret->jumps), 0);
	for (char *line = strtok_r(text, "\n", &save); line; line = strtok_r(NULL, "\n", &save)) {
		uint64_t at, to;
		char word[16], *rest;
		int n = 0;

		if (sscanf(line, " %lx:%n", &at, &n) != 1 || !n)
			continue;
		rest = line + n;
		for (;; rest += n) {
			if (sscanf(rest, " %15s%n", word, &n) != 1)
				break;
			if (!strcmp(word, "ret") || !strcmp(word, "retq"))
				cr_assert_eq(map_put(ret->returns, at, 1), 0);
			else if (!strncmp(word, "jmp", 3) && sscanf(rest + n, " %lx <", &to) == 1)
				cr_assert_eq(map_put(ret->jumps, at, to), 0);
			else if (strcmp(word, "repz") && strcmp(word, "bnd") && strcmp(word, "cs") && strcmp(word, "data16"))
				break;
		}
	}
	cr_assert_gt(map_n(ret->returns), 0, "%s", path);
}

static void listing_done(struct listing *l)
{
	map_free(l->returns);
	map_free(l->jumps);
}

struct tally {
	size_t functions, known, returns, tails;
};

/* The exits of a function: each return is one, none is invented; a direct tail jump leads out of it. */
static void compare_exits(struct listing *l, const char *name, uint64_t vaddr, uint64_t size,
			  const struct objfile_scan *scan, struct tally *tally)
{
	for (size_t i = 0; i < scan->exit_n; i++) {
		const struct objfile_exit *e = &scan->exits[i];
		uint64_t value;

		if (!e->tail) {
			cr_expect(map_get(l->returns, e->at.vaddr, NULL), "%s: %#lx is no return: %s", name, e->at.vaddr,
				  e->at.text);
			cr_assert_eq(map_put(l->returns, e->at.vaddr, 2), 0);
			tally->returns++;
		} else if (e->target && e->condition == OBJFILE_ALWAYS) {
			cr_expect(map_get(l->jumps, e->at.vaddr, &value) && value == e->target &&
				  (value < vaddr || value >= vaddr + size), "%s: %#lx is no tail jump: %s", name,
				  e->at.vaddr, e->at.text);
			tally->tails++;
		}
		cr_expect(i == 0 || scan->exits[i - 1].at.vaddr < e->at.vaddr, "%s", name);
	}
}

/* All functions of a file: not one return within them is missed. */
static void compare_file(const char *path, struct tally *ret)
{
	_cleanup_(objfile_freep) struct objfile *o = NULL, *debug = NULL;
	_cleanup_(objfile_names_freep) struct objfile_names *names = NULL;
	_cleanup_(objfile_code_freep) struct objfile_code *code = NULL;
	_cleanup_(listing_done) struct listing l = { 0 };
	struct objfile_search search = { .path = path, .root_fd = -1 };
	const struct objfile_name *all;
	size_t n, missed = 0;

	*ret = (struct tally){ 0 };
	read_listing(path, &l);
	cr_assert_eq(objfile_open_path(-1, path, &o), 0);
	if (objfile_open_debug(o, &search, &debug))
		debug = NULL;
	cr_assert_eq(objfile_read_symbols(o, debug), 0);
	cr_assert_eq(objfile_names_new(o, debug, &names), 0);
	cr_assert_eq(objfile_code_new(o, NULL, &code), 0);
	n = objfile_names_all(names, &all);
	for (size_t i = 0; i < n; i++) {
		struct objfile_scan scan;
		struct objfile_why why;

		if (all[i].imported || !all[i].size || objfile_code_scan(code, all[i].vaddr, all[i].size, 0, &scan, &why))
			continue;
		ret->functions++;
		ret->known += scan.exits_known;
		if (scan.exits_known) {
			compare_exits(&l, all[i].name, all[i].vaddr, all[i].size, &scan, ret);
			for (uint64_t at = all[i].vaddr; at < all[i].vaddr + all[i].size; at++) {
				uint64_t seen;

				/* Nothing leads to one that strstr() has. */
				if (map_get(l.returns, at, &seen) && seen != 2 && !strstr(all[i].name, "strstr_sse2") &&
				    missed++ < 10)
					cr_expect_fail("%s: the return at %#lx is missed", all[i].name, at);
			}
		}
		objfile_scan_done(&scan);
	}
	cr_expect_eq(missed, 0, "%zu in %s", missed, path);
}

Test(code, libc)
{
	struct tally t;

	compare_file("/lib/x86_64-linux-gnu/libc.so.6", &t);
	/* What isn't known is written by hand in assembly: a function that runs on into the next one, and the like. */
	cr_expect_geq(t.known * 100, t.functions * 97, "%zu of %zu", t.known, t.functions);
	cr_expect_gt(t.returns, 5000);
	cr_expect_gt(t.tails, 500);
}

/* Stripped: parts of functions have no names. Exceptions land in its functions. */
Test(code, cxx_library)
{
	struct tally t;

	compare_file("/usr/lib/x86_64-linux-gnu/libstdc++.so.6", &t);
	cr_expect_geq(t.known * 1000, t.functions * 999, "%zu of %zu", t.known, t.functions);
	cr_expect_gt(t.returns, 3000);
	cr_expect_gt(t.tails, 1000);
}

static void compare_go(const char *path, const char *twin)
{
	_cleanup_(objfile_freep) struct objfile *o = NULL;
	_cleanup_(objfile_go_freep) struct objfile_go *go = NULL;
	_cleanup_(objfile_code_freep) struct objfile_code *code = NULL;
	_cleanup_(listing_done) struct listing l = { 0 };
	size_t known = 0, n, repeats = 0;
	struct tally tally = { 0 };

	read_listing(go_program(twin), &l);
	cr_assert_eq(objfile_open_path(-1, go_program(path), &o), 0);
	cr_assert_eq(objfile_go_open(o, &go), 0);
	cr_assert_eq(objfile_code_new(o, go, &code), 0);
	n = objfile_go_function_n(go);
	for (size_t i = 0; i < n; i++) {
		struct objfile_go_function f;
		struct objfile_scan scan;
		struct objfile_why why;

		cr_assert_eq(objfile_go_function_at(go, i, &f), 0);
		/* Marks of the linker are no functions. */
		if (f.end == f.start || objfile_code_scan(code, f.start, 0, 0, &scan, &why))
			continue;
		known += scan.exits_known;
		repeats += scan.entry.repeats;
		compare_exits(&l, f.name, f.start, f.end - f.start, &scan, &tally);
		for (uint64_t at = f.start; scan.exits_known && at < f.end; at++) {
			uint64_t seen;

			/* What debuggers make a program run: it isn't called. */
			if (map_get(l.returns, at, &seen) && seen != 2)
				cr_expect(!strncmp(f.name, "debugCall", 9) || !strncmp(f.name, "runtime.debugCall", 17) ||
					  !strcmp(f.name, "runtime.systemstack_switch"), "%s: the return at %#lx is missed",
					  f.name, at);
		}
		objfile_scan_done(&scan);
	}
	cr_expect_geq(known * 100, n * 98, "%zu of %zu", known, n);
}

Test(code, go)
{
	compare_go("stripped", "plain");
}

Test(code, go_position_independent)
{
	compare_go("pie-stripped", "pie");
}

/* ---- against the processor ---- */

static const char steps_source[] =
	"#include <setjmp.h>\n#include <stdio.h>\n#include <stdlib.h>\n#include <string.h>\n"
	"volatile int sink; volatile long two = 2;\n"
	"#define KEEP __attribute__((noipa))\n"
	"KEEP int leaf(int x) { return x + 1; }\n"
	"KEEP int tail(int x) { sink++; return leaf(x * 3); }\n"
	"KEEP int tail_if(int x) { if (x > 3) return leaf(x); return tail(x + 1); }\n"
	"KEEP int by_pointer(int (*f)(int), int x) { sink += x; return f(x); }\n"
	"struct ops { int (*f[4])(int); };\n"
	"KEEP int by_array(struct ops *o, int i) { return o->f[i](i); }\n"
	"KEEP size_t to_library(const char *s) { sink++; return strlen(s); }\n"
	"KEEP int table(int x, char *p) {\n"
	"  switch (x) { case 0: p[0] = 1; return 9; case 1: p[1] = 5; break; case 2: return leaf(x); case 3: p[2]++; return 7;\n"
	"  case 4: p[3] = 4; break; case 5: return p[5] + 2; case 6: sink = 4; break; case 7: return 1; }\n"
	"  return 0; }\n"
	"KEEP int computed(int x) {\n"
	"  static void *const places[] = { &&a, &&b, &&c }; int n = 0;\n"
	"  a: n += x; if (n < 20) goto *places[n % 3]; return n;\n"
	"  b: n += 2 * x + 1; if (n < 20) goto *places[n % 3]; return -n;\n"
	"  c: n += 4; if (n < 20) goto *places[n % 3]; return n + 1; }\n"
	"KEEP int loop(const char *s) { int n = 0; while (*s++) n++; return n; }\n"
	"KEEP int recursive(int n) { char pad[100]; memset(pad, n, 100); sink += pad[n % 100]; return n ? recursive(n - 1) + pad[1] : 0; }\n"
	"KEEP int again(int n, int m) { if (n == 0) return m; sink++; return again(n - 1, m * 3); }\n"
	"__attribute__((cold, noipa)) void rare(int x) { sink = x; }\n"
	"KEEP int cold(int x, int *p) { int a[10]; for (int i = 0; i < 10; i++) a[i] = x * i; if (__builtin_expect(x == 5, 0)) { rare(a[3]);\n"
	"  if (p[1] == 3) return 12; rare(a[4] + p[0]); if (p[0]) return a[2]; } return a[p[0] & 7]; }\n"
	"KEEP int early(int *p) { if (!p) return 0; return leaf(*p) + tail(*p); }\n"
	"KEEP int aligned(int n) { char buffer[64] __attribute__((aligned(64))); memset(buffer, n, 64); return buffer[leaf(n) & 63]; }\n"
	"KEEP int variable(int n) { char buffer[n]; memset(buffer, n, n); return buffer[leaf(0)]; }\n"
	"KEEP long seven(long a, long b, long c, long d, long e, long f, long g) { return a + g; }\n"
	/* A conditional jump to another function, and one past a prefix. */
	"asm(\".text\\n.type when,@function\\nwhen: .cfi_startproc\\ncmp $3,%edi\\njg leaf\\nlea 2(%rdi),%eax\\ntest %eax,%eax\\n\"\n"
	"    \"js 1f\\n.byte 0xf0\\n1: incl sink(%rip)\\nret\\n.cfi_endproc\\n.size when,.-when\");\n"
	"int when(int);\n"
	"static jmp_buf back;\n"
	"KEEP int jumps(int n) { if (n == 0) longjmp(back, 3); return jumps(n - 1) + 1; }\n"
	"static int order(const void *a, const void *b) { return *(const int *)a - *(const int *)b; }\n"
	"int main(void) {\n"
	"  int v[50]; char buffer[200]; struct ops ops = { { leaf, tail, tail_if, leaf } };\n"
	"  for (int i = 0; i < 8; i++) { sink += when(i) + tail_if(i) + by_pointer(i & 1 ? leaf : tail, i) + table(i, buffer); }\n"
	"  for (int i = 0; i < 4; i++) sink += by_array(&ops, i);\n"
	"  for (int i = 0; i < 50; i++) v[i] = i * 7919 % 101;\n"
	"  qsort(v, 50, sizeof(int), order);\n"
	"  sink += computed(2) + computed(5) + loop(\"twelve chars\") + recursive(20) + again(5, 2) + to_library(\"library\");\n"
	"  v[0] = 0; v[1] = 3; sink += cold(5, v); v[1] = 4; sink += cold(5, v); v[0] = 1; sink += cold(5, v) + cold(6, v);\n"
	"  sink += early(v) + early(0) + aligned(3) + variable(two * 10) + seven(1, 2, 3, 4, 5, 6, 7);\n"
	"  if (!setjmp(back)) sink += jumps(5);\n"
	"  snprintf(buffer, sizeof(buffer), \"%d %s %5.2f %lx\", sink, \"text\", 1.5, two);\n"
	"  sink += strtol(buffer, NULL, 10) + atoi(\"12\");\n"
	"  free(malloc(100)); free(strdup(buffer));\n"
	"  return 0; }\n";

static const char *const libc[] = { "libc.so.6", NULL };

static void run_steps(const char *compiler, const char *options, struct steps_result *ret)
{
	const char *program = build_path("steps"), *source = build_path("steps.c");
	FILE *f = fopen(source, "we");

	cr_assert_not_null(f);
	fputs(steps_source, f);
	fclose(f);
	build_run("%s -w -Wl,-z,now %s -o %s %s", compiler, options, program, source);
	steps_run(program, libc, ret);
	cr_expect_eq(ret->wrong, 0, "%zu of %zu calls", ret->wrong, ret->calls);
	cr_expect_gt(ret->calls, 200);
	cr_expect_gt(ret->functions, 40);
	cr_expect_eq(ret->conditional, 4); /* when(4) to when(7) */
	cr_expect_geq(ret->unwound, 2); /* jumps() by longjmp, and that itself */
	cr_expect_leq(ret->unknown, ret->calls / 10, "%zu of %zu", ret->unknown, ret->calls);
}

Test(code, steps)
{
	struct steps_result r;

	run_steps("gcc", "-O2", &r);
	cr_expect_gt(r.tails, 20);
}

Test(code, steps_protected_without_plt)
{
	struct steps_result r;

	run_steps("gcc", "-O2 -fcf-protection -fno-plt -fno-omit-frame-pointer", &r);
	cr_expect_gt(r.tails, 20);
}

Test(code, steps_fixed_address)
{
	struct steps_result r;

	run_steps("gcc", "-O3 -no-pie -fno-pic -fpatchable-function-entry=5", &r);
	cr_expect_gt(r.tails, 20);
}

Test(code, steps_not_optimized)
{
	struct steps_result r;

	run_steps("gcc", "-O0", &r);
}

Test(code, steps_clang)
{
	struct steps_result r;

	run_steps("clang", "-O2 -D'noipa=noinline'", &r);
	cr_expect_gt(r.tails, 10);
}

Test(code, steps_clang_small)
{
	struct steps_result r;

	run_steps("clang", "-Oz -D'noipa=noinline' -fcf-protection", &r);
}
