/* SPDX-License-Identifier: (LGPL-2.1 OR BSD-2-Clause) */
/* Who reaches functions without symbols: libraries with known calls, and libc against its debug symbols. */
#include <criterion/criterion.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "build.h"
#include "objfile/objfile.h"
#include "util/cleanup.h"
#include "util/vec.h"

DEFINE_CLEANUP(struct objfile *, objfile_free)
DEFINE_CLEANUP(struct objfile_callers *, objfile_callers_free)

TestSuite(callers, .init = build_begin, .fini = build_end);

static struct objfile *open_path(const char *path)
{
	_cleanup_(closep) int fd = open(path, O_RDONLY | O_CLOEXEC);
	struct objfile *o = NULL;

	cr_assert_geq(fd, 0, "%s", path);
	cr_assert_eq(objfile_open_fd(fd, &o), 0, "%s", path);
	return o;
}

/* The static functions' names are known before strip. */
static const char source[] =
	"#define HID static __attribute__((noinline,noclone))\n"
	"extern int out(int);\n"
	"HID int called(int x){return out(x)+1;}\n"
	"HID int jumped(int x){out(x);out(x);return out(x+1);}\n"
	"HID int both(int x){return out(x)*3;}\n"
	"HID int inner(int x){return out(x)*5;} HID int outer(int x){return inner(x)*7;}\n"
	"HID int ring2(int,int); HID int ring1(int x,int n){return n?ring2(x,n-1)+out(x):1;}\n"
	"HID int ring2(int x,int n){return n?ring1(x,n-1)*out(x):2;}\n"
	"HID int in_data(int x){return out(x)+9;} int (*table[])(int)={in_data};\n"
	"HID int below_data(int x){return out(x)+90;} HID int in_data2(int x){return below_data(x)+1;}\n"
	"int (*const table2[])(int)={in_data2};\n"
	"extern void give(int(*)(int)); HID int below_passed(int x){return out(x)+8;}\n"
	"HID int passed(int x){return below_passed(x)*out(3);}\n"
	"HID __attribute__((used)) int dead(int x){return out(x)+7;}\n"
	"HID __attribute__((used)) int of_dead(int x){return dead(x)+6;}\n"
	"HID int own_pointer(int x){give(own_pointer);return out(x);}\n"
	"int a_calls(int x){return called(x)+both(x)+ring1(x,x);}\n"
	"int b_jumps(int x){return jumped(x+3);}\n"
	"int c_calls(int x){return both(x)+outer(x);}\n"
	"int d_gives(void){give(passed);return own_pointer(1)+2;}\n"
	"int e_uses(int x){return table[x](x)+table2[x](x);}\n";

static const struct {
	const char *function, *names; /* NULL: no answer */
	bool passed;
} cases[] = {
	{ "called", "a_calls", false },
	{ "jumped", "b_jumps", false },
	{ "both", "a_calls c_calls", false },
	{ "inner", "c_calls", false },
	{ "outer", "c_calls", false },
	{ "ring1", "a_calls", false },
	{ "ring2", "a_calls", false },
	{ "in_data", NULL, false },
	{ "below_data", NULL, false },
	{ "passed", "d_gives", true },
	{ "below_passed", "d_gives", true },
	{ "dead", NULL, false },
	{ "of_dead", NULL, false },
	{ "own_pointer", NULL, false },
};

static uint64_t address_in(const char *nm, const char *function)
{
	char want[64], *at;

	snprintf(want, sizeof(want), " %s\n", function);
	at = strstr(nm, want);
	cr_assert_not_null(at, "%s", function);
	while (at > nm && at[-1] != '\n')
		at--;
	return strtoull(at, NULL, 16);
}

static void check_answer(const struct objfile_callers *c, uint64_t vaddr, size_t i)
{
	struct objfile_reached r = { .start = 77 };
	char got[256] = "";

	if (!cases[i].names) {
		cr_assert_eq(objfile_callers_find(c, vaddr, &r), -ENOENT, "%s", cases[i].function);
		cr_assert_eq(r.start, 77);
		return;
	}
	cr_assert_eq(objfile_callers_find(c, vaddr + 3, &r), 0, "%s", cases[i].function);
	for (size_t k = 0; k < r.n; k++)
		snprintf(got + strlen(got), sizeof(got) - strlen(got), "%s%s", k ? " " : "", r.names[k]);
	cr_assert_str_eq(got, cases[i].names, "%s: %s", cases[i].function, got);
	cr_assert_eq(r.passed, cases[i].passed, "%s", cases[i].function);
	cr_assert_eq(r.start, vaddr, "%s", cases[i].function);
}

static void check_library(const char *flags)
{
	const char *path = build_compile("lib.so", flags, source);
	_cleanup_(freep) char *nm = build_output("nm %s", path);
	_cleanup_(objfile_freep) struct objfile *o = NULL;
	_cleanup_(objfile_callers_freep) struct objfile_callers *c = NULL;
	struct objfile_reached r;

	build_run("strip %s", path);
	o = open_path(path);
	cr_assert_eq(objfile_callers_new(o, &c), 0);
	o = objfile_free(o); /* isn't needed afterwards */
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++)
		check_answer(c, address_in(nm, cases[i].function), i);
	/* What has a symbol is not asked for here, nor what is no function. */
	cr_assert_eq(objfile_callers_find(c, address_in(nm, "a_calls"), &r), -ENOENT);
	cr_assert_eq(objfile_callers_find(c, 0, &r), -ENOENT);
	cr_assert_eq(objfile_callers_find(c, UINT64_MAX, &r), -ENOENT);
}

Test(callers, known_calls)
{
	check_library("-shared -fPIC -O1");
	check_library("-shared -fPIC -O2");
	check_library("-shared -fPIC -Os"); /* jumps of two bytes */
	check_library("-shared -fPIC -O2 -fcf-protection -falign-functions=1");
	check_library("-shared -fPIC -O2 -Wl,-z,noseparate-code -ffunction-sections");
}

Test(callers, more_than_can_be_told)
{
	char text[4096] = "extern int out(int);\n"
			  "static __attribute__((noinline,noclone)) int hid(int x){return out(x)+1;}\n";
	const char *path;
	_cleanup_(freep) char *nm = NULL;
	_cleanup_(objfile_freep) struct objfile *o = NULL;
	_cleanup_(objfile_callers_freep) struct objfile_callers *c = NULL;
	struct objfile_reached r;

	for (int i = 0; i < OBJFILE_REACHED_MAX + 1; i++)
		sprintf(text + strlen(text), "int f%d(int x){return hid(x)+%d;}\n", i, i);
	path = build_compile("lib.so", "-shared -fPIC -O1", text);
	nm = build_output("nm %s", path);
	build_run("strip %s", path);
	o = open_path(path);
	cr_assert_eq(objfile_callers_new(o, &c), 0);
	cr_assert_eq(objfile_callers_find(c, address_in(nm, "hid"), &r), -ENOENT);
}

Test(callers, not_supported)
{
	_cleanup_(objfile_freep) struct objfile *fixed =
		open_path(build_compile("fixed", "-no-pie -O1", "int main(void){return 0;}"));
	_cleanup_(objfile_freep) struct objfile *other = NULL;
	_cleanup_(freep) unsigned char *bytes = NULL;
	struct objfile_callers *c = NULL;
	size_t n;

	cr_assert_eq(objfile_callers_new(fixed, &c), -ENOTSUP);
	bytes = build_read(build_compile("lib.so", "-shared -fPIC -O1", source), &n);
	bytes[18] = EM_AARCH64;
	cr_assert_eq(objfile_open_memory(bytes, n, &other), 0);
	cr_assert_eq(objfile_callers_new(other, &c), -ENOTSUP);
	cr_assert_null(c);
}

Test(callers, damaged)
{
	_cleanup_(freep) unsigned char *bytes = NULL;
	size_t n, answers = 0;

	bytes = build_read(build_compile("lib.so", "-shared -fPIC -O1 -s", source), &n);
	srand(1);
	for (int round = 0; round < 3000; round++) {
		_cleanup_(freep) unsigned char *copy = malloc(n);
		_cleanup_(objfile_freep) struct objfile *o = NULL;
		_cleanup_(objfile_callers_freep) struct objfile_callers *c = NULL;
		size_t size = round % 3 ? n : (size_t)rand() % n;
		struct objfile_reached r;

		memcpy(copy, bytes, n);
		for (int i = 0; i < round % 40; i++)
			copy[(size_t)rand() % n] = (unsigned char)rand();
		if (objfile_open_memory(copy, size, &o) || objfile_callers_new(o, &c))
			continue;
		for (uint64_t at = 0; at < n; at += 16)
			answers += !objfile_callers_find(c, at, &r) && r.n && strlen(r.names[0]);
	}
	cr_assert_gt(answers, 1000);
}

/* The truth about libc: functions of its debug symbols, branches and addresses that objdump shows. */
struct function {
	uint64_t start, end;
	char *exported; /* " a b ", the names in .dynsym; NULL: none */
	bool reached;
};
struct edge {
	size_t from, to;
};
static struct function *functions;
static size_t function_n, function_cap;
static struct edge *edges;
static size_t edge_n, edge_cap;

static struct function *function_of(uint64_t addr)
{
	size_t lo = 0, hi = function_n;

	while (lo < hi) {
		size_t mid = (lo + hi) / 2;

		if (functions[mid].start <= addr)
			lo = mid + 1;
		else
			hi = mid;
	}
	return lo && addr < functions[lo - 1].end ? &functions[lo - 1] : NULL;
}

static void read_functions(const char *debug, const char *libc)
{
	_cleanup_(freep) char *all =
		build_output("nm -S %s | awk 'NF == 4 && $3 ~ /[tTwWi]/ {print $1, $2}' | sort -u", debug);
	_cleanup_(freep) char *exported =
		build_output("nm -D --defined-only --without-symbol-versions %s | "
			     "awk '$2 ~ /[TWi]/ {print $1, $3}'", libc);
	uint64_t start, size;
	char *save, name[256];

	for (char *s = strtok_r(all, "\n", &save); s; s = strtok_r(NULL, "\n", &save)) {
		cr_assert_eq(sscanf(s, "%" SCNx64 " %" SCNx64, &start, &size), 2);
		if (function_n && functions[function_n - 1].start == start)
			function_n--; /* the longest comes last */
		cr_assert_eq(VEC_RESERVE(functions, function_cap, function_n + 1), 0);
		functions[function_n++] = (struct function){ .start = start, .end = start + size };
	}
	for (char *s = strtok_r(exported, "\n", &save); s; s = strtok_r(NULL, "\n", &save)) {
		struct function *f;
		char *names;

		cr_assert_eq(sscanf(s, "%" SCNx64 " %255s", &start, name), 2);
		f = function_of(start);
		if (!f || f->start != start)
			continue;
		cr_assert_geq(asprintf(&names, "%s%s ", f->exported ?: " ", name), 0);
		free(f->exported);
		f->exported = names;
	}
}

static void read_edges(const char *libc)
{
	_cleanup_(freep) char *text = build_output("objdump -d --no-show-raw-insn %s | sed -nE "
		"'s/^ *([0-9a-f]+):.*(call|j[a-z]+) +([0-9a-f]+) <.*/\\1 \\3/p; "
		"s/^ *([0-9a-f]+):.*lea .*# ([0-9a-f]+) .*/\\1 \\2/p'", libc);
	char *save;

	for (char *s = strtok_r(text, "\n", &save); s; s = strtok_r(NULL, "\n", &save)) {
		uint64_t from, to;
		struct function *f, *t;

		cr_assert_eq(sscanf(s, "%" SCNx64 " %" SCNx64, &from, &to), 2);
		f = function_of(from);
		t = function_of(to);
		if (!f || !t || f == t)
			continue;
		cr_assert_eq(VEC_RESERVE(edges, edge_cap, edge_n + 1), 0);
		edges[edge_n++] = (struct edge){ (size_t)(f - functions), (size_t)(t - functions) };
	}
}

/* Marks what leads to f, up to the first exported function on each way. */
static void mark_reaching(struct function *f)
{
	bool more = true;

	for (size_t i = 0; i < function_n; i++)
		functions[i].reached = false;
	f->reached = true;
	while (more) {
		more = false;
		for (size_t i = 0; i < edge_n; i++) {
			struct function *from = &functions[edges[i].from], *to = &functions[edges[i].to];

			if (!to->reached || from->reached || (to->exported && to != f))
				continue;
			from->reached = true;
			more = true;
		}
	}
}

static void check_truth(const struct function *f, const struct objfile_reached *r)
{
	bool used[OBJFILE_REACHED_MAX] = { false };

	for (size_t i = 0; i < function_n; i++) {
		const struct function *from = &functions[i];
		bool found = false;

		if (!from->reached || !from->exported)
			continue;
		for (size_t k = 0; k < r->n; k++) {
			char want[256];

			snprintf(want, sizeof(want), " %s ", r->names[k]);
			if (strstr(from->exported, want))
				used[k] = found = true;
		}
		cr_assert(found, "%" PRIx64 " is also reached from%s", f->start, from->exported);
	}
	for (size_t k = 0; k < r->n; k++)
		cr_assert(used[k], "%" PRIx64 " is not reached from %s", f->start, r->names[k]);
}

Test(callers, libc_against_its_debug_symbols, .timeout = 250)
{
	_cleanup_(freep) char *libc = build_output("gcc -print-file-name=libc.so.6 | tr -d '\\n'");
	_cleanup_(objfile_freep) struct objfile *o = open_path(libc);
	_cleanup_(objfile_callers_freep) struct objfile_callers *c = NULL;
	const char *id = objfile_build_id(o);
	struct timespec a, b;
	char debug[256];
	size_t n = 0;

	snprintf(debug, sizeof(debug), "/usr/lib/debug/.build-id/%.2s/%s.debug", id, id + 2);
	if (access(debug, R_OK))
		cr_skip_test("no %s: install libc6-dbg", debug);
	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &a);
	cr_assert_eq(objfile_callers_new(o, &c), 0);
	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &b);
	/* 12 ms without sanitizers. */
	cr_assert_lt((b.tv_sec - a.tv_sec) * 1000 + (b.tv_nsec - a.tv_nsec) / 1000000, 500);
	read_functions(debug, libc);
	read_edges(libc);
	cr_assert_gt(edge_n, 10000);
	for (size_t i = 0; i < function_n; i++) {
		struct objfile_reached r;

		if (objfile_callers_find(c, functions[i].start, &r))
			continue;
		cr_assert_eq(r.start, functions[i].start);
		mark_reaching(&functions[i]);
		check_truth(&functions[i], &r);
		n++;
	}
	cr_assert_gt(n, 500);
	cr_log_info("%zu functions", n);
	for (size_t i = 0; i < function_n; i++)
		free(functions[i].exported);
	free(functions);
	free(edges);
}
