/* SPDX-License-Identifier: (LGPL-2.1 OR BSD-2-Clause) */
/* User frames of real processes, against dladdr, nm and what the programs say of themselves. */
#include <criterion/criterion.h>
#include <dlfcn.h>
#include <fcntl.h>
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "../objfile/build.h"
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

TestSuite(user, .init = setup, .fini = teardown);

static struct sym_frame frame(uint32_t pid, uint64_t addr)
{
	struct sym_frame f;

	sym_user(sym, pid, 1, addr, false, &f, 1);
	cr_assert_eq(f.address + f.bias, addr);
	return f;
}

/*
 * Every function of libc that has a name, at the address at which this process would call it; but not those (memcpy)
 * for which libc chooses one of several at load time: the chosen one is static.
 */
Test(user, libc_functions_as_dlsym_finds_them)
{
	_cleanup_(freep) char *names =
		build_output("nm -D --defined-only --without-symbol-versions $(gcc -print-file-name=libc.so.6) | "
			     "awk '$2 == \"i\" {chosen[$3]} $2 ~ /[TW]/ {all[$3]} "
			     "END {for (n in all) if (!(n in chosen)) print n}'");
	uint32_t pid = (uint32_t)getpid();
	size_t n = 0, same = 0;
	char *save;

	cr_assert_eq(proc_maps_snapshot(maps, pid, 0), 0);
	for (char *name = strtok_r(names, "\n", &save); name; name = strtok_r(NULL, "\n", &save)) {
		void *handle = dlopen("libc.so.6", RTLD_LAZY | RTLD_NOLOAD);
		void *function = dlsym(handle, name);
		struct sym_frame f;
		Dl_info info;

		dlclose(handle);
		if (!function || !dladdr(function, &info) || !strstr(info.dli_fname, "libc.so.6"))
			continue;
		n++;
		f = frame(pid, (uint64_t)function);
		cr_assert_not_null(f.name, "%s", name);
		cr_assert_eq(f.offset, 0, "%s is %s+%u", name, f.name, f.offset);
		cr_assert_eq(f.bias, (uint64_t)info.dli_fbase);
		cr_assert_not_null(strstr(f.module, "/libc.so.6"));
		same += !strcmp(f.name, name);
	}
	cr_assert_gt(n, 1500);
	cr_assert_gt(same, n * 6 / 10); /* the rest are aliases */
}

Test(user, build_id_is_readelf_s)
{
	_cleanup_(freep) char *want =
		build_output("readelf -n $(gcc -print-file-name=libc.so.6) | awk '/Build ID/ {printf \"%%s\", $3}'");
	void *handle = dlopen("libc.so.6", RTLD_LAZY | RTLD_NOLOAD); /* not a sanitizer's puts */

	cr_assert_eq(proc_maps_snapshot(maps, (uint32_t)getpid(), 0), 0);
	cr_assert_str_eq(frame((uint32_t)getpid(), (uint64_t)dlsym(handle, "puts")).build_id, want);
	dlclose(handle);
}

Test(user, unmapped_and_other_mappings)
{
	uint32_t pid = (uint32_t)getpid();
	char *code = mmap(NULL, 4096, PROT_READ | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	_cleanup_(closep) int fd = open(build_path("text"), O_RDWR | O_CREAT | O_CLOEXEC, 0600);
	char *text;
	struct sym_frame f;

	cr_assert_eq(ftruncate(fd, 3 * 4096), 0);
	text = mmap(NULL, 4096, PROT_READ | PROT_EXEC, MAP_PRIVATE, fd, 2 * 4096);
	cr_assert_neq(text, MAP_FAILED);
	cr_assert_eq(proc_maps_snapshot(maps, pid, 0), 0);
	f = frame(pid, 0x10);
	cr_assert(!f.name && !f.module && f.address == 0x10 && f.build_id);
	f = frame(pid + 1, (uint64_t)code);
	cr_assert_null(f.module);
	f = frame(pid, (uint64_t)code + 8);
	cr_assert_null(f.name);
	cr_assert_str_eq(f.module, "//anon");
	f = frame(pid, (uint64_t)text + 8);
	cr_assert_null(f.name);
	cr_assert_str_eq(f.module, build_path("text"));
	cr_assert_eq(f.address, 2 * 4096 + 8);
}

Test(user, vdso)
{
	void *lib = dlopen("linux-vdso.so.1", RTLD_LAZY | RTLD_NOLOAD);
	void *function = lib ? dlvsym(lib, "__vdso_gettimeofday", "LINUX_2.6") : NULL;
	struct sym_frame f;

	if (!function)
		cr_skip_test("no vDSO");
	cr_assert_eq(proc_maps_snapshot(maps, (uint32_t)getpid(), 0), 0);
	f = frame((uint32_t)getpid(), (uint64_t)function + 1);
	cr_assert_str_eq(f.module, "[vdso]");
	cr_assert_str_eq(f.name, "gettimeofday");
	cr_assert_eq(f.offset, 1);
	cr_assert_neq(f.build_id[0], '\0');
}

struct child {
	pid_t pid;
	uint64_t addr[8]; /* as it prints them */
	size_t n;
};

/* Starts a program that prints addresses, one a line, then an empty line, and waits. */
static struct child start(const char *path)
{
	struct child c = { 0 };
	int out[2];
	char line[64];
	FILE *f;

	cr_assert_eq(pipe2(out, O_CLOEXEC), 0);
	c.pid = fork();
	if (!c.pid) {
		dup2(out[1], 1);
		execl(path, path, NULL);
		_exit(127);
	}
	close(out[1]);
	f = fdopen(out[0], "re");
	while (fgets(line, sizeof(line), f) && *line != '\n' && c.n < 8)
		c.addr[c.n++] = strtoull(line, NULL, 16);
	fclose(f);
	return c;
}

static void end(const struct child *c)
{
	kill(c->pid, SIGKILL);
	waitpid(c->pid, NULL, 0);
}

#define SAY(what) \
	"#include <stdio.h>\n#include <unistd.h>\nint main(void){" what "puts(\"\");fflush(stdout);for(;;)pause();}"

/* The program has ended and its file is deleted before anything is looked up. */
Test(user, program_gone_and_deleted)
{
	const char *path = build_compile("prog", "-O0", "int alpha(void){return 1;}\nstatic int beta(void){return 2;}\n"
					 SAY("printf(\"%p\\n%p\\n\",alpha,beta);"));
	struct child c = start(path);
	struct sym_frame f;

	cr_assert_eq(proc_maps_snapshot(maps, (uint32_t)c.pid, 0), 0);
	end(&c);
	cr_assert_eq(unlink(path), 0);
	f = frame((uint32_t)c.pid, c.addr[0] + 2);
	cr_assert_str_eq(f.name, "alpha");
	cr_assert_eq(f.offset, 2);
	cr_assert_str_eq(f.module, path);
	cr_assert_str_eq(frame((uint32_t)c.pid, c.addr[1]).name, "beta");
}

Test(user, readable_names)
{
	const char *path = build_compile("prog", "-O0 -xc++ -fPIC",
		"struct A { int operator()(int a, char b) { return a + b; } };\n"
		"namespace n { template <class T> T twice(T x) { return x + x; } }\n"
		"extern \"C\" { int v_real(void) { return 7; } }\n"
		SAY("auto call = &A::operator(); union { int (A::*f)(int, char); void *p; } u = { call };"
		    "printf(\"%p\\n%p\\n%p\\n\", u.p, (void *)&n::twice<long>, (void *)v_real);"));
	struct child c = start(path);

	cr_assert_eq(proc_maps_snapshot(maps, (uint32_t)c.pid, 0), 0);
	end(&c);
	cr_assert_str_eq(frame((uint32_t)c.pid, c.addr[0]).name, "A::operator()(int, char)");
	cr_assert_str_eq(frame((uint32_t)c.pid, c.addr[1]).name, "long n::twice<long>(long)");
	cr_assert_str_eq(frame((uint32_t)c.pid, c.addr[2]).name, "v_real");
}

/* Linkers write name@@VERSION into .symtab; with .dynsym gone nothing else has the name. */
Test(user, versions_are_no_part_of_the_name)
{
	const char *path = build_compile("prog", "-O0",
		"int shown_x40_x40V_2(void){return 1;}\n"
		SAY("printf(\"%p\\n\",shown_x40_x40V_2);"));
	struct child c;

	build_run("objcopy --redefine-sym shown_x40_x40V_2=shown@@V_2 %s", path);
	c = start(path);
	cr_assert_eq(proc_maps_snapshot(maps, (uint32_t)c.pid, 0), 0);
	end(&c);
	cr_assert_str_eq(frame((uint32_t)c.pid, c.addr[0]).name, "shown");
}

/* A call that never returns may be a function's last instruction. */
Test(user, return_address_behind_the_function)
{
	const char *path = build_compile("prog", "-O0",
		"void first(void);void second(void);extern char behind[];\n"
		"__asm__(\".text\\n.type first,@function\\n.globl first,second,behind\\nfirst: call abort\\nbehind:\\n"
		".size first,.-first\\n.type second,@function\\nsecond: ret\\n.size second,.-second\\n\");\n"
		SAY("printf(\"%p\\n\",behind);"));
	struct child c = start(path);
	struct sym_frame f;

	cr_assert_eq(proc_maps_snapshot(maps, (uint32_t)c.pid, 0), 0);
	end(&c);
	sym_user(sym, (uint32_t)c.pid, 1, c.addr[0], true, &f, 1);
	cr_assert_str_eq(f.name, "first");
	cr_assert_eq(f.offset, 5);
	cr_assert_eq(f.address + f.bias, c.addr[0]);
	cr_assert_str_eq(frame((uint32_t)c.pid, c.addr[0]).name, "second");
}

/* Two processes, one file, two load addresses: one module. */
Test(user, shared_by_processes)
{
	const char *path = build_compile("prog", "-O0 -fPIE -pie",
					 "int alpha(void){return 1;}\n" SAY("printf(\"%p\\n\",alpha);"));
	struct child a = start(path), b = start(path);
	struct sym_frame fa, fb;

	cr_assert_eq(proc_maps_snapshot(maps, (uint32_t)a.pid, 0), 0);
	cr_assert_eq(proc_maps_snapshot(maps, (uint32_t)b.pid, 0), 0);
	end(&a);
	end(&b);
	fa = frame((uint32_t)a.pid, a.addr[0]);
	fb = frame((uint32_t)b.pid, b.addr[0]);
	cr_assert_str_eq(fa.name, "alpha");
	cr_assert_eq(fa.name, fb.name);
	cr_assert_eq(fa.module, fb.module);
	cr_assert_eq(fa.address, fb.address);
}

/* The file was replaced while the program runs: names are the old file's. */
Test(user, replaced_file)
{
	const char *path = build_compile("prog", "-O0", "int old_name(void){return 1;}\n" SAY("printf(\"%p\\n\",old_name);"));
	struct child c = start(path);
	const char *other;

	other = build_compile("other", "-O0", "int new_name(void){return 1;}\n" SAY("printf(\"%p\\n\",new_name);"));
	cr_assert_eq(rename(other, path), 0);
	cr_assert_eq(proc_maps_snapshot(maps, (uint32_t)c.pid, 0), 0);
	end(&c);
	struct sym_frame f = frame((uint32_t)c.pid, c.addr[0]);

	cr_assert(!f.name || !strcmp(f.name, "old_name"), "%s", f.name);
	/* Without map_files there is no way to the old one. */
	if (geteuid() == 0)
		cr_assert_not_null(f.name);
}
