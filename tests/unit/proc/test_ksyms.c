/* SPDX-License-Identifier: (LGPL-2.1 OR BSD-2-Clause) */
/* kallsyms: small made-up ones for the edges, the running kernel's against a plain reading of the same text. */
#include <criterion/criterion.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "proc/proc.h"
#include "util/cleanup.h"

static char path[] = "/tmp/wcbpf-ksyms-XXXXXX";

static int load(const char *text, struct ksyms **ret)
{
	int fd, r;

	memcpy(path + sizeof(path) - 7, "XXXXXX", 6);
	fd = mkstemp(path);
	cr_assert_geq(fd, 0);
	cr_assert_eq(write(fd, text, strlen(text)), (ssize_t)strlen(text));
	close(fd);
	r = ksyms_new(path, ret);
	unlink(path);
	return r;
}

static void check(const struct ksyms *k, uint64_t addr, const char *name, const char *module)
{
	struct ksym s = { .name = "untouched" };
	int r = ksyms_lookup(k, addr, &s);

	if (!name) {
		cr_assert_eq(r, -ENOENT, "%" PRIx64 " is in %s", addr, s.name);
		cr_assert_str_eq(s.name, "untouched");
		return;
	}
	cr_assert_eq(r, 0, "%" PRIx64 " should be in %s", addr, name);
	cr_assert_str_eq(s.name, name);
	cr_assert_str_eq(s.module, module);
}

Test(ksyms, extents_and_edges)
{
	struct ksyms *k = NULL;
	struct ksym s;

	cr_assert_eq(load("0000000000000000 A fixed_percpu_data\n"
			  "0000000000001000 t percpu_text\n"
			  "ffffffff81000000 T _text\n"
			  "ffffffff81000000 T _stext\n"
			  "ffffffff81000100 T __pfx_one\n"
			  "ffffffff81000110 t local_alias\n"
			  "ffffffff81000110 T __one\n"
			  "ffffffff81000110 T one\n"
			  "ffffffff81000200 t two.cold\n"
			  "ffffffff81000280 d data_in_text\n"
			  "ffffffff81000300 T _etext\n"
			  "ffffffff81900000 T _sinittext\n"
			  "ffffffff81900000 t boot\n"
			  "ffffffff81900100 T _einittext\n"
			  "ffffffff81a00000 B _end\n"
			  "ffffffffc0002000 t m_second\t[ext4]\n"
			  "ffffffffc0001000 t m_first\t[ext4]\n"
			  "ffffffffc0002f80 t other\t[nf_tables]\n"
			  "ffffffffc0004010 t bpf_prog_6deef7357e7b4530_x\t[bpf]\n"
			  "ffffffffc0200000 t bpf_trampoline_123\t[bpf]\n",
			  &k), 0);
	check(k, 0x1000, NULL, "");
	check(k, 0xffffffff80ffffff, NULL, "");
	check(k, 0xffffffff81000000, "_stext", "");
	/* Padding belongs to what is before it: only a return address can point there. */
	check(k, 0xffffffff81000105, "_stext", "");
	check(k, 0xffffffff81000110, "one", "");
	check(k, 0xffffffff810001ff, "one", "");
	check(k, 0xffffffff810002ff, "two.cold", "");
	check(k, 0xffffffff81000300, NULL, "");
	check(k, 0xffffffff818fffff, NULL, "");
	check(k, 0xffffffff81900000, "_sinittext", "");
	check(k, 0xffffffff81900100, NULL, "");
	check(k, 0xffffffffc0000fff, NULL, "");
	check(k, 0xffffffffc0001fff, "m_first", "ext4");
	check(k, 0xffffffffc0002f7f, "m_second", "ext4");
	check(k, 0xffffffffc0002f80, "other", "nf_tables");
	check(k, 0xffffffffc0003000, NULL, "");
	check(k, 0xffffffffc0008000, "bpf_prog_6deef7357e7b4530_x", "bpf");
	check(k, 0xffffffffc0004010 + (1 << 20), NULL, "");
	check(k, UINT64_MAX, NULL, "");
	cr_assert_eq(ksyms_lookup(k, 0xffffffffc0200010, &s), 0);
	cr_assert(s.bpf);
	cr_assert_eq(ksyms_lookup(k, 0xffffffff81000120, &s), 0);
	cr_assert_not(s.bpf);
	cr_assert_eq(s.start, 0xffffffff81000110);

	uint64_t at = 1;

	cr_assert_eq(ksyms_find(k, "one", &at), 0);
	cr_assert_eq(at, 0xffffffff81000110);
	cr_assert_eq(ksyms_find(k, "m_first", &at), -ENOENT, "a module's symbol is not the kernel's");
	cr_assert_eq(ksyms_find(k, "two.col", &at), -ENOENT);
	cr_assert_eq(at, 0xffffffff81000110);
	ksyms_free(k);
}

/* The linker's names share their addresses with functions and with each other, by kernel and compiler. */
Test(ksyms, code_by_the_linkers_names)
{
	static const char text[] = "ffffffff81000000 T startup\n"
				   "ffffffff81000000 T _stext\n"
				   "ffffffff81000000 T _text\n"
				   "ffffffff81000100 T io_schedule_timeout\n"
				   "ffffffff81000100 T __sched_text_start\n"
				   "ffffffff81000200 T __sched_text_end\n"
				   "ffffffff81000200 T __pfx_lock\n"
				   "ffffffff81000200 T __lock_text_start\n"
				   "ffffffff81000300 T __lock_text_end\n"
				   "ffffffff81000400 T _etext\n"
				   "ffffffff81000400 T __indirect_thunk_end\n"
				   "ffffffffc0000000 T _etext\t[module]\n";
	struct ksyms *k, *without;
	struct ksyms_code c = { .text = { 1, 2 } };
	char cut[sizeof(text)];

	cr_assert_eq(load(text, &k), 0);
	cr_assert_eq(ksyms_code(k, &c), 0);
	cr_assert_eq(c.text[0], 0xffffffff81000000);
	cr_assert_eq(c.text[1], 0xffffffff81000400);
	cr_assert_eq(c.sched[0], 0xffffffff81000100);
	cr_assert_eq(c.sched[1], 0xffffffff81000200);
	cr_assert_eq(c.lock[0], 0xffffffff81000200);
	cr_assert_eq(c.lock[1], 0xffffffff81000300);

	strcpy(cut, text);
	memcpy(strstr(cut, "__sched_text_end"), "__other", 7);
	cr_assert_eq(load(cut, &without), 0);
	cr_assert_eq(ksyms_code(without, &c), -ENOENT);
	ksyms_free(without);
	ksyms_free(k);
}

Test(ksyms, hidden_empty_missing_garbage)
{
	struct ksyms *k = NULL;

	cr_assert_eq(load("0000000000000000 T _text\n0000000000000000 T one\n0000000000000000 t m\t[ext4]\n", &k), -EPERM);
	cr_assert_eq(load("", &k), -ENODATA);
	cr_assert_eq(ksyms_new("/no/such/file", &k), -ENOENT);
	cr_assert_eq(ksyms_new("/proc", &k), -EISDIR);
	cr_assert_null(k);
	/* Lines of another shape are passed over. */
	cr_assert_eq(load("\n \nzz T x\nffffffff81000000\nffffffff81000000 T\nffffffff81000000 T \n"
			  "ffffffff81000040 T good\n", &k), 0);
	check(k, 0xffffffff81000041, "good", "");
	check(k, 0xffffffff81000001, NULL, "");
	ksyms_free(k);
}

Test(ksyms, long_line_without_end)
{
	struct ksyms *k = NULL;
	_cleanup_(freep) char *text = malloc(1 << 20);

	memset(text, 'a', (1 << 20) - 1);
	text[(1 << 20) - 1] = '\0';
	cr_assert_eq(load(text, &k), -EBADMSG);
}

Test(ksyms, running_kernel)
{
	struct ksyms *k = NULL;
	_cleanup_(fclosep) FILE *f = NULL;
	char line[1024];
	size_t n = 0, named = 0;
	uint64_t text = 0, end = 0;
	int r = ksyms_new(NULL, &k);

	if (r == -EPERM || r == -ENOENT)
		cr_skip_test("kernel addresses are hidden from this user");
	cr_assert_eq(r, 0);
	f = fopen("/proc/kallsyms", "re");
	while (fgets(line, sizeof(line), f)) {
		char type, name[600], module[100] = "";
		uint64_t addr;
		struct ksym s;
		int fields = sscanf(line, "%" SCNx64 " %c %599s [%99[^]]", &addr, &type, name, module);

		cr_assert_geq(fields, 3);
		if (!strcmp(name, "_text"))
			text = addr;
		if (!strcmp(name, "_etext"))
			end = addr;
		if (!strchr("tT", type) || *module || !strncmp(name, "__pfx_", 6) || !text || end ||
		    !strcmp(name, "__entry_text_end"))
			continue;
		n++;
		cr_assert_eq(ksyms_lookup(k, addr, &s), 0, "%s", name);
		cr_assert_eq(s.start, addr, "%s is in %s", name, s.name);
		named += !strcmp(s.name, name);
	}
	cr_assert_gt(n, 10000);
	/* The rest are aliases. */
	cr_assert_gt(named, n * 8 / 10);
	ksyms_free(k);
}
