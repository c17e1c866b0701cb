/* SPDX-License-Identifier: (LGPL-2.1 OR BSD-2-Clause) */
/* Build ids, segments and where an ELF file comes from, against readelf and the running process. */
#include <criterion/criterion.h>
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <link.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "build.h"
#include "objfile/objfile.h"
#include "util/cleanup.h"

DEFINE_CLEANUP(struct objfile *, objfile_free)

TestSuite(objfile, .init = build_begin, .fini = build_end);

static struct objfile *open_path(const char *path)
{
	_cleanup_(closep) int fd = open(path, O_RDONLY | O_CLOEXEC);
	struct objfile *o = NULL;

	cr_assert_geq(fd, 0, "%s", path);
	cr_assert_eq(objfile_open_fd(fd, &o), 0, "%s", path);
	return o;
}

Test(objfile, build_id)
{
	const char *path = build_compile("with", "-Wl,--build-id=0xDEADbeef0123456789abcdef0123456789abcdef",
					 "int main(void){return 0;}");
	_cleanup_(objfile_freep) struct objfile *with = open_path(path);
	_cleanup_(objfile_freep) struct objfile *without = NULL;
	_cleanup_(objfile_freep) struct objfile *stripped = NULL;

	cr_assert_str_eq(objfile_build_id(with), "deadbeef0123456789abcdef0123456789abcdef");
	/* Without section headers too. */
	build_run("strip -s %s && dd if=/dev/zero of=%s bs=1 seek=40 count=8 conv=notrunc status=none && "
		  "dd if=/dev/zero of=%s bs=1 seek=60 count=4 conv=notrunc status=none", path, path, path);
	stripped = open_path(path);
	cr_assert_str_eq(objfile_build_id(stripped), "deadbeef0123456789abcdef0123456789abcdef");
	without = open_path(build_compile("without", "-Wl,--build-id=none", "int main(void){return 0;}"));
	cr_assert_str_eq(objfile_build_id(without), "");
}

static void check_vaddr_of_symbol(const char *path, const char *symbol)
{
	_cleanup_(freep) char *headers = build_output("readelf -lW %s", path);
	_cleanup_(freep) char *value = build_output("nm %s | awk '$3 == \"%s\" {print $1}'", path, symbol);
	_cleanup_(objfile_freep) struct objfile *o = open_path(path);
	uint64_t want = strtoull(value, NULL, 16), got = 0;
	bool found = false;

	cr_assert_neq(want, 0);
	for (char *line = headers; line; line = strchr(line + 1, '\n')) {
		uint64_t offset, vaddr, size;

		if (sscanf(line, "\n LOAD %" SCNx64 " %" SCNx64 " %*x %" SCNx64, &offset, &vaddr, &size) != 3 ||
		    want < vaddr || want >= vaddr + size)
			continue;
		found = true;
		cr_assert_eq(objfile_vaddr_of_offset(o, want - vaddr + offset, &got), 0);
		cr_assert_eq(got, want, "%s: %" PRIx64 ", not %" PRIx64, path, got, want);
	}
	cr_assert(found);
	got = 7;
	cr_assert_eq(objfile_vaddr_of_offset(o, 1ull << 40, &got), -ENOENT);
	cr_assert_eq(got, 7);
}

Test(objfile, vaddr_of_offset)
{
	static const char source[] = "int f(int x){return x*3;} int main(void){return f(0);}";

	check_vaddr_of_symbol(build_compile("pie", "-O0 -fPIE -pie", source), "f");
	check_vaddr_of_symbol(build_compile("fixed", "-O0 -no-pie", source), "f");
	check_vaddr_of_symbol(build_compile("static", "-O0 -static", source), "f");
	/* Text at an address that is not its offset, and text and data in one page of the file. */
	check_vaddr_of_symbol(build_compile("joined", "-O0 -no-pie -Wl,-z,noseparate-code", source), "f");
	check_vaddr_of_symbol(build_compile("far", "-O0 -no-pie -Wl,-Ttext-segment=0x7000000", source), "f");
	check_vaddr_of_symbol(build_compile("pages", "-O0 -Wl,-z,max-page-size=0x200000", source), "f");
}

/* What the dynamic linker says of this process: load address + vaddr = address. */
static int check_phdr(struct dl_phdr_info *info, size_t size, void *arg)
{
	_cleanup_(objfile_freep) struct objfile *o = NULL;
	size_t *n = arg;

	(void)size;
	if (!strchr(info->dlpi_name, '/'))
		return 0;
	o = open_path(info->dlpi_name);
	for (size_t i = 0; i < info->dlpi_phnum; i++) {
		const ElfW(Phdr) *p = &info->dlpi_phdr[i];
		uint64_t vaddr = 0;

		if (p->p_type != PT_LOAD || !(p->p_flags & PF_X))
			continue;
		cr_assert_eq(objfile_vaddr_of_offset(o, p->p_offset + p->p_filesz / 2, &vaddr), 0);
		cr_assert_eq(vaddr, p->p_vaddr + p->p_filesz / 2);
		/* The page's first byte, before the segment states it. */
		cr_assert_eq(objfile_vaddr_of_offset(o, p->p_offset & ~4095ull, &vaddr), 0);
		cr_assert_eq(vaddr, p->p_vaddr & ~4095ull);
		++*n;
	}
	return 0;
}

Test(objfile, own_libraries)
{
	size_t n = 0;

	dl_iterate_phdr(check_phdr, &n);
	cr_assert_gt(n, 3);
}

Test(objfile, not_elf)
{
	struct objfile *o = NULL;
	_cleanup_(closep) int text = open("/proc/self/status", O_RDONLY | O_CLOEXEC);
	_cleanup_(closep) int dir = open("/tmp", O_RDONLY | O_CLOEXEC);

	cr_assert_eq(objfile_open_fd(text, &o), -ENOEXEC);
	cr_assert_lt(objfile_open_fd(dir, &o), 0);
	cr_assert_eq(objfile_open_fd(-1, &o), -EBADF);
	cr_assert_eq(objfile_open_memory("", 0, &o), -ENOEXEC);
	cr_assert_eq(objfile_open_memory("\177ELF", 4, &o), -ENOEXEC);
	cr_assert_eq(objfile_open_memory("!<arch>\n", 8, &o), -ENOEXEC);
	cr_assert_null(o);
}

/* The vDSO's clock_gettime is where this process calls it. */
Test(objfile, vdso)
{
	_cleanup_(objfile_freep) struct objfile *o = NULL;
	struct objfile_symbol s;
	void *lib = dlopen("linux-vdso.so.1", RTLD_LAZY | RTLD_NOLOAD);
	void *function = lib ? dlvsym(lib, "__vdso_clock_gettime", "LINUX_2.6") : NULL;
	Dl_info info;

	if (!function || !dladdr(function, &info))
		cr_skip_test("no vDSO");
	cr_assert_eq(objfile_open_vdso(&o), 0);
	cr_assert_neq(objfile_build_id(o)[0], '\0');
	cr_assert_eq(objfile_symbol(o, (uint64_t)function - (uint64_t)info.dli_fbase, &s), 0);
	cr_assert_eq(s.value, (uint64_t)function - (uint64_t)info.dli_fbase);
	cr_assert_not_null(strstr(s.name, "clock_gettime"));
}

static int open_fds(void)
{
	int n = 0;

	for (int fd = 0; fd < 1000; fd++)
		n += fcntl(fd, F_GETFD) >= 0;
	return n;
}

Test(objfile, detached_keeps_its_symbols)
{
	const char *path = build_compile("x", "-O0", "int f(int x){return x*3;} int main(void){return f(0);}");
	_cleanup_(objfile_freep) struct objfile *with = open_path(path);
	_cleanup_(objfile_freep) struct objfile *without = open_path(path);
	_cleanup_(freep) char *value = build_output("nm %s | awk '$3 == \"f\" {print $1}'", path);
	uint64_t f = strtoull(value, NULL, 16);
	int before = open_fds();
	struct objfile_symbol s;

	objfile_detach(with, true);
	objfile_detach(with, true);
	objfile_detach(without, false);
	cr_assert_eq(open_fds(), before - 2);
	cr_assert_eq(objfile_symbol(with, f + 1, &s), 0);
	cr_assert_str_eq(s.name, "f");
	cr_assert_neq(objfile_symbol(without, f + 1, &s), 0);
}
