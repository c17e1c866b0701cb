/* SPDX-License-Identifier: (LGPL-2.1 OR BSD-2-Clause) */
/* Function symbols, against nm and against the rules of the door. */
#include <criterion/criterion.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "build.h"
#include "nm.h"
#include "objfile/objfile.h"
#include "util/cleanup.h"

DEFINE_CLEANUP(struct objfile *, objfile_free)

TestSuite(symbols, .init = build_begin, .fini = build_end);

static struct objfile *open_path(const char *path)
{
	_cleanup_(closep) int fd = open(path, O_RDONLY | O_CLOEXEC);
	struct objfile *o = NULL;

	cr_assert_geq(fd, 0, "%s", path);
	cr_assert_eq(objfile_open_fd(fd, &o), 0, "%s", path);
	return o;
}

/* Every sized function of a file: its start, middle and last byte are in it or in one nested in it or the same. */
static size_t check_all(const char *path, const char *nm_flags)
{
	_cleanup_(objfile_freep) struct objfile *o = open_path(path);
	_cleanup_(freep) char *text =
		build_output("nm %s -S --defined-only --without-symbol-versions %s", nm_flags, path);
	struct objfile_symbol got;
	struct nm want;
	size_t n = 0, same_name = 0;

	for (char *at = text; (at = nm_next(at, &want));) {
		if (!strchr("TtWwi", want.type))
			continue;
		n++;
		cr_assert_eq(objfile_symbol(o, want.value, &got), 0, "%s", want.name);
		cr_assert_eq(got.value, want.value, "%s is at %" PRIx64 " in %s", want.name, want.value, got.name);
		cr_assert_geq(got.size, want.size, "%s", want.name);
		same_name += !strcmp(got.name, want.name);
		cr_assert_eq(objfile_symbol(o, want.value + want.size / 2, &got), 0);
		cr_assert_geq(got.value, want.value);
		cr_assert_eq(objfile_symbol(o, want.value + want.size - 1, &got), 0);
		cr_assert_geq(got.value, want.value);
	}
	cr_assert_geq(same_name, n / 2, "%zu of %zu names", same_name, n);
	return n;
}

Test(symbols, libc_dynamic)
{
	_cleanup_(freep) char *path = build_output("gcc -print-file-name=libc.so.6 | tr -d '\\n'");

	cr_assert_gt(check_all(path, "-D"), 2000);
}

Test(symbols, libc_names)
{
	static const char *const names[] = { "pthread_cond_wait", "pthread_cond_timedwait", "pthread_mutex_lock", "sem_wait",
					     "pthread_rwlock_rdlock", "pthread_join", "pthread_barrier_wait", "nanosleep",
					     "clock_nanosleep", "read", "write", "poll", "epoll_wait", "select", "accept",
					     "recvfrom", "fsync", "futimes", "wait4", "usleep", "sleep", "pause" };
	_cleanup_(freep) char *path = build_output("gcc -print-file-name=libc.so.6 | tr -d '\\n'");
	_cleanup_(objfile_freep) struct objfile *o = open_path(path);

	for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++) {
		_cleanup_(freep) char *values =
			build_output("nm -D --without-symbol-versions %s | awk '$3 == \"%s\" {print $1}'", path, names[i]);
		char *end = values;

		/* Two versions are two addresses. */
		for (uint64_t v; (v = strtoull(end, &end, 16));) {
			struct objfile_symbol s;

			cr_assert_eq(objfile_symbol(o, v + 1, &s), 0);
			cr_assert_str_eq(s.name, names[i]);
		}
		cr_assert_neq(end, values);
	}
}

Test(symbols, own_program_and_static_one)
{
	char self[4096] = "";

	cr_assert_gt(readlink("/proc/self/exe", self, sizeof(self) - 1), 0);
	cr_assert_gt(check_all(self, ""), 200);
	cr_assert_gt(check_all(build_compile("static", "-static", "int main(void){return 0;}"), ""), 500);
}

static uint64_t value_of(const char *path, const char *name)
{
	_cleanup_(freep) char *value = build_output("nm %s | awk '$3 == \"%s\" {print $1}'", path, name);

	cr_assert_neq(value[0], '\0', "%s", name);
	return strtoull(value, NULL, 16);
}

/* In [from, to) all addresses are in name (NULL: in none). */
static void check_range(struct objfile *o, uint64_t base, unsigned int from, unsigned int to, const char *name)
{
	for (uint64_t addr = base + from; addr < base + to; addr++) {
		struct objfile_symbol s = { .name = "none" };
		int r = objfile_symbol(o, addr, &s);

		cr_assert_eq(r, name ? 0 : -ENOENT, "%" PRIx64 " is in %s", addr - base, s.name);
		cr_assert_str_eq(s.name, name ? name : "none", "%" PRIx64, addr - base);
		if (name) {
			cr_assert_leq(s.value, addr);
			cr_assert_gt(s.value + s.size, addr);
		}
	}
}

Test(symbols, every_address)
{
	const char *path = build_compile("x", "-xassembler -nostdlib -no-pie",
		".text\n.globl _start\n.type _start,@function\n_start: .skip 16\n.size _start,16\n"
		/* two in another one */
		".type outer,@function\nouter: .skip 8\n.type inner,@function\ninner: .skip 4\n.size inner,4\n.skip 20\n"
		".type inner2,@function\ninner2: .skip 4\n.size inner2,4\n.skip 8\n.size outer,44\n"
		/* a gap that is nobody's */
		".skip 16,0xcc\n"
		/* without a size: up to the next one */
		".type nosize,@function\nnosize: .skip 24\n"
		/* half over the next one */
		".type half,@function\nhalf: .skip 8\n.type other,@function\nother: .skip 16\n.size half,16\n.size other,16\n"
		".skip 8\n"
		/* without a size, the last of its section; then what is no function */
		".section .last,\"ax\",@progbits\n.type last,@function\nlast: .skip 13\n"
		".section .zzz,\"ax\",@progbits\n.globl z\nz: .type data,@object\ndata: .skip 4\n.size data,4\nlabel: .skip 4\n");
	_cleanup_(objfile_freep) struct objfile *o = open_path(path);
	uint64_t base = value_of(path, "_start");

	check_range(o, base, 0, 16, "_start");
	check_range(o, base, 16, 24, "outer");
	check_range(o, base, 24, 28, "inner");
	check_range(o, base, 28, 48, "outer");
	check_range(o, base, 48, 52, "inner2");
	check_range(o, base, 52, 60, "outer");
	check_range(o, base, 60, 76, NULL);
	check_range(o, base, 76, 100, "nosize");
	check_range(o, base, 100, 108, "half");
	check_range(o, base, 108, 124, "other");
	check_range(o, base, 124, 132, NULL);
	check_range(o, value_of(path, "last"), 0, 13, "last");
	check_range(o, value_of(path, "last"), 13, 16, NULL);
	check_range(o, value_of(path, "z"), 0, 8, NULL);
	check_range(o, base - 16, 0, 16, NULL);
}

static uint32_t alias_n(struct objfile *o, uint64_t addr)
{
	struct objfile_symbol s;

	cr_assert_eq(objfile_symbol(o, addr, &s), 0);
	return s.alias_n;
}

/*
 * For each address in libc, nm's names of functions there, each once, without versions; those that are the preferred
 * one but for a prefix don't count.
 */
Test(symbols, alias_numbers)
{
	_cleanup_(freep) char *path = build_output("gcc -print-file-name=libc.so.6 | tr -d '\\n'");
	_cleanup_(freep) char *names =
		build_output("nm -D --defined-only --without-symbol-versions %s | awk '$2 ~ /[TtWwi]/ {print $1, $3}' | "
			     "sort -u | sed -E 's/ (_+(GI_+)?(IO_+)?(libc_+)?(new_+)?)?(.*)/& \\6/'", path);
	_cleanup_(objfile_freep) struct objfile *o = open_path(path);
	size_t several = 0, spelled = 0, n = 0;

	for (const char *at = names, *next; *at; at = next) {
		uint64_t addr = strtoull(at, NULL, 16), same;
		char name[200], bare[200], own[200] = "";
		struct objfile_symbol s;
		uint32_t want = 0, all = 0;

		cr_assert_eq(objfile_symbol(o, addr, &s), 0);
		for (int pass = 0; pass < 2; pass++) {
			for (next = at; sscanf(next, "%" SCNx64 " %199s %199s", &same, name, bare) == 3 && same == addr;
			     next = strchr(next, '\n') + 1) {
				if (!pass && !strcmp(name, s.name))
					strcpy(own, bare);
				all += pass;
				want += pass && strcmp(bare, own);
			}
		}
		cr_assert(*own, "%s is not nm's", s.name);
		cr_assert_eq(s.alias_n, want, "%s: %u, not %u", s.name, s.alias_n, want);
		several += want > 0;
		spelled += all - 1 > want;
		n++;
	}
	cr_assert(n > 1500 && several > 50 && spelled > 200, "%zu, %zu, %zu", n, several, spelled);
}

Test(symbols, one_name_an_address)
{
	const char *path = build_compile("x", "-xassembler -nostdlib -no-pie",
		".text\n.globl _start\n.type _start,@function\n_start: .skip 16\n.size _start,16\n"
		".globl __glob,globlong,globa,wea\n.weak wea\n"
		"loc: __glob: globlong: globa: wea: .skip 16\n"
		".irp f,loc,__glob,globlong,globa,wea\n.type \\f,@function\n.endr\n.size __glob,16\n.size wea,8\n"
		".globl __y,_xlong\n__y: _xlong: yy: .skip 16\n"
		".irp f,__y,_xlong,yy\n.type \\f,@function\n.size \\f,16\n.endr\n"
		"abd: abc: .skip 16\n.irp f,abd,abc\n.type \\f,@function\n.size \\f,16\n.endr\n");
	_cleanup_(objfile_freep) struct objfile *o = open_path(path);
	uint64_t base = value_of(path, "_start");

	cr_assert_eq(alias_n(o, base), 0);
	cr_assert_eq(alias_n(o, base + 16), 4);
	cr_assert_eq(alias_n(o, base + 40), 2);
	cr_assert_eq(alias_n(o, base + 48), 1);
	/* Weak is not local; the longest stated size holds for all. */
	check_range(o, base, 16, 32, "wea");
	check_range(o, base, 32, 48, "_xlong");
	check_range(o, base, 48, 64, "abc");
}

/* Identical functions folded into one, as gold and lld do: one address, one of its names. */
Test(symbols, folded_functions)
{
	const char *path = build_compile("x", "-O1 -ffunction-sections -fuse-ld=gold -Wl,--icf=all",
		"__attribute__((noinline)) int second(int x){return x*77+x/3;}\n"
		"__attribute__((noinline)) int fst(int x){return x*77+x/3;}\n"
		"int main(int c,char**v){return second(c)+fst(c+1);}");
	_cleanup_(objfile_freep) struct objfile *o = open_path(path);

	cr_assert_eq(value_of(path, "fst"), value_of(path, "second"), "gold has not folded them");
	check_range(o, value_of(path, "second"), 0, 4, "fst");
	cr_assert_eq(alias_n(o, value_of(path, "second")), 1);
}

/* Every stub of a program, stripped too, as objdump finds them. */
static void check_stubs(const char *args)
{
	const char *path = build_compile("x", args,
		"#include <stdio.h>\n#include <stdlib.h>\n#include <string.h>\n"
		"int main(int c,char**v){ puts(v[0]); void *p = (void*)malloc; char *q=((char*(*)(size_t))p)(10);"
		" memset(q,c,10); srand(c); qsort(q,10,1,(int(*)(const void*,const void*))strcmp); free(q);"
		" return rand()+(int)strlen(v[0])+(malloc(c)!=0)+atoi(v[0]);}\n");
	_cleanup_(freep) char *stubs =
		build_output("objdump -d -j .plt -j .plt.sec -j .plt.got %s 2>/dev/null | sed -n "
			     "'s/^\\([0-9a-f]*\\) <\\([a-z]*\\)@plt>:/\\1 \\2@plt/p'", path);
	_cleanup_(objfile_freep) struct objfile *o = NULL;
	size_t n = 0;
	char *save;

	build_run("strip -s %s", path);
	o = open_path(path);
	for (char *line = strtok_r(stubs, "\n", &save); line; line = strtok_r(NULL, "\n", &save), n++) {
		uint64_t addr = strtoull(line, NULL, 16);

		check_range(o, addr, 0, 8, strchr(line, ' ') + 1);
		cr_assert_eq(alias_n(o, addr), 0);
	}
	cr_assert_geq(n, 8, "%s: %zu", args, n);
}

Test(symbols, stubs)
{
	check_stubs("-O0 -fno-builtin -Wl,-z,lazy");
	check_stubs("-O0 -fno-builtin -Wl,-z,now -no-pie");
	check_stubs("-O0 -fno-builtin -fcf-protection -Wl,-z,ibtplt -Wl,-z,lazy");
	check_stubs("-O0 -fno-builtin -fuse-ld=gold");
}

/* Stripped: what is exported has a name, what was static has none, not its neighbour's. */
Test(symbols, stripped_library)
{
	const char *path = build_compile("x.so", "-O0 -shared -fPIC",
		"int shown(int x){return x+1;}\nstatic __attribute__((noinline,used)) int hid(int x){return x*2;}\n"
		"int shown2(int x){return hid(x)+3;}");
	uint64_t shown = value_of(path, "shown"), hid = value_of(path, "hid"), shown2 = value_of(path, "shown2");
	_cleanup_(objfile_freep) struct objfile *o = NULL;

	cr_assert(shown < hid && hid < shown2);
	build_run("strip -s %s", path);
	o = open_path(path);
	check_range(o, shown, 0, 8, "shown");
	check_range(o, hid, 0, (unsigned int)(shown2 - hid), NULL);
	check_range(o, shown2, 0, 8, "shown2");
}

Test(symbols, no_symbols_at_all)
{
	const char *path = build_compile("x", "-O0 -static-pie -nostdlib -nostartfiles", "void _start(void){for(;;);}");
	_cleanup_(objfile_freep) struct objfile *o = NULL;
	struct objfile_symbol s;

	build_run("strip -s %s", path);
	o = open_path(path);
	for (uint64_t addr = 0; addr < 0x4000; addr += 16)
		cr_assert_eq(objfile_symbol(o, addr, &s), -ENOENT);
}

/* More than 65280 sections: section numbers are in a table of their own. */
Test(symbols, very_many_sections)
{
	const char *path;
	_cleanup_(objfile_freep) struct objfile *o = NULL;

	path = build_compile("x.o", "-xassembler -c",
		".altmacro\n.macro one n\n.section .text.f\\n,\"ax\",@progbits\n"
		".type f\\n,@function\nf\\n: .skip 4\n.size f\\n,4\n.endm\n"
		".macro many from,n\n.set i,\\from\n.rept \\n\none %i\n.set i,i+1\n.endr\n.endm\nmany 0,66000\n"
		".section .text.zz,\"ax\",@progbits\n.skip 100\n.type lone,@function\nlone: .skip 8\n.size lone,8\n");
	o = open_path(path);
	/* Relocatable: each section begins at 0, so only this one reaches there. */
	check_range(o, 100, 0, 8, "lone");
}
