/* SPDX-License-Identifier: (LGPL-2.1 OR BSD-2-Clause) */
/* Rules from directives that an assembler turns into call frame information, against what they mean by the standard. */
#include <criterion/criterion.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>

#include "../objfile/build.h"
#include "twin.h"
#include "unwind/unwind.h"
#include "util/cleanup.h"

TestSuite(rule, .init = build_begin, .fini = build_end);

/* A function with a nop at each place that is looked at: labels NAME0, NAME1, ... */
#define BEGIN(name) ".type " name ", @function\n" name ":\n.cfi_startproc\n" name "0: nop\n"
#define AT(label) "\n" label ": nop\n"
#define END(name) "\n.cfi_endproc\n.size " name ", .-" name "\n.skip 32, 0x90\n"

/* Expressions, by opcode: 0x76 rbp + n, 0x77 rsp + n, 6 deref; 0x10 a register's, 0x0f the CFA's. */
static const char source[] =
	".text\n"
	BEGIN("usual") "push %rbp\n.cfi_adjust_cfa_offset 8\n.cfi_offset rbp,-16" AT("usual1")
	"mov %rsp,%rbp\n.cfi_def_cfa_register rbp\n.cfi_offset rbx,-24" AT("usual2")
	".cfi_remember_state\n.cfi_restore rbp\n.cfi_restore rbx\n.cfi_def_cfa rsp,8" AT("usual3")
	".cfi_restore_state" AT("usual4") END("usual")
	BEGIN("bx") ".cfi_def_cfa rbx,24\n.cfi_offset rbx,-32" AT("bx1")
	".cfi_undefined rbx" AT("bx2") ".cfi_same_value rbx" AT("bx3") END("bx")
	/* The offset's second byte and the long advance after it look like "undefined rbx". */
	BEGIN("alike") ".cfi_def_cfa_offset 952" AT("alike1") ".skip 600, 0x90\n.cfi_def_cfa_offset 8" AT("alike2")
	END("alike")
	BEGIN("stop") ".cfi_offset rbp,-16\n.cfi_undefined rip" AT("stop1") END("stop")
	BEGIN("drap") ".cfi_def_cfa r10,0" AT("drap1") ".cfi_escape 0x10,6,2,0x76,0\n.cfi_escape 0x10,3,2,0x76,0x68"
	AT("drap2")
	".cfi_escape 0x0f,3,0x76,0x78,6" AT("drap3") END("drap")
	BEGIN("deref") ".cfi_escape 0x0f,3,0x77,0x10,6" AT("deref1") ".cfi_escape 0x0f,5,0x77,0x10,6,0x23,8"
	AT("deref2") END("deref")
	BEGIN("plt") ".cfi_escape 0x0f,11,0x77,8,0x80,0,0x3f,0x1a,0x3b,0x2a,0x33,0x24,0x22" AT("plt1")
	".cfi_escape 0x0f,11,0x77,16,0x80,0,0x3f,0x1a,0x3a,0x2a,0x33,0x24,0x22" AT("plt2")
	".cfi_escape 0x0f,11,0x77,8,0x80,0,0x37,0x1a,0x3b,0x2a,0x33,0x24,0x22" AT("plt3")
	".cfi_escape 0x0f,11,0x77,8,0x80,4,0x3f,0x1a,0x3b,0x2a,0x33,0x24,0x22" AT("plt4")
	".cfi_escape 0x0f,11,0x76,8,0x80,0,0x3f,0x1a,0x3b,0x2a,0x33,0x24,0x22" AT("plt5")
	".cfi_escape 0x0f,11,0x77,8,0x80,0,0x3f,0x1a,0x3b,0x2a,0x33,0x24,0x22\n.cfi_offset rbp,-16" AT("plt6")
	END("plt")
	/* struct sigcontext at rsp + 40: rip 168, rsp 160, rbp 120, rbx 128. */
	BEGIN("sig") ".cfi_signal_frame" AT("sig1")
	".cfi_escape 0x0f,4,0x77,0xa0,1,6\n.cfi_escape 0x10,16,3,0x77,0xa8,1\n"
	".cfi_escape 0x10,6,3,0x77,0xf8,0\n.cfi_escape 0x10,3,3,0x77,0x80,1" AT("sig2")
	".cfi_escape 0x10,7,3,0x77,0xa0,1" AT("sig3") ".cfi_escape 0x10,3,3,0x77,0x88,1" AT("sig4") END("sig")
	BEGIN("sigfar") ".cfi_signal_frame\n.cfi_escape 0x0f,4,0x77,0xf8,5,6\n.cfi_escape 0x10,16,3,0x77,0x80,6\n"
	".cfi_escape 0x10,6,3,0x77,0xd0,5\n.cfi_escape 0x10,3,3,0x77,0xd8,5" AT("sigfar1") END("sigfar")
	BEGIN("fork") ".cfi_adjust_cfa_offset -8\n.cfi_register rip,rdi" AT("fork1") ".cfi_def_cfa rbp,16"
	AT("fork2")
	".cfi_def_cfa rsp,8\n.cfi_register rip,rcx" AT("fork3") END("fork")
	BEGIN("far") ".cfi_def_cfa_offset 0x7fffffff" AT("far1") ".cfi_def_cfa_offset 0x80000000" AT("far2")
	".cfi_def_cfa_offset 16\n.cfi_offset rbp,-32768" AT("far3") ".cfi_offset rbp,-32776\n.cfi_offset rbx,-40000"
	AT("far4")
	".cfi_escape 0x10,6,2,0x77,0\n.cfi_restore rbx" AT("far5") ".cfi_def_cfa rsp,-8\n.cfi_restore rbp"
	AT("far6") END("far")
	BEGIN("lost") ".cfi_undefined rbp" AT("lost1") ".cfi_register rbp,rcx" AT("lost2") ".cfi_val_offset rbp,-16"
	AT("lost3")
	".cfi_escape 0x10,6,2,0x70,0" AT("lost4") END("lost")
	BEGIN("odd") ".cfi_offset rip,-16" AT("odd1") ".cfi_same_value rip" AT("odd2")
	".cfi_offset rip,-8\n.cfi_same_value rsp" AT("odd3")
	".cfi_offset rsp,-32" AT("odd4") ".cfi_val_offset rsp,8" AT("odd5") ".cfi_val_offset rsp,0" AT("odd6")
	".cfi_def_cfa rcx,8" AT("odd7") ".cfi_escape 0x0f,2,0x77,8" AT("odd8") END("odd")
	BEGIN("column") ".cfi_return_column 3" AT("column1") END("column")
	"last: nop\n";

/* What the linker makes no search table for, and libdw can't run or should not. */
static const char bad_source[] =
	".text\n"
	BEGIN("bad") ".cfi_def_cfa_offset 16" AT("bad1") ".cfi_escape 0x3f" AT("bad2") END("bad")
	BEGIN("large") ".cfi_escape 8,0xff,0xff,0xff,0x7f" AT("large1") END("large")
	BEGIN("deep") ".rept 300\n.cfi_remember_state\n.endr" AT("deep1") END("deep")
	"end: nop\n";

struct expected {
	const char *label;
	struct wcbpf_rule rule;
};

#define R(kind, off, ...) { .cfa = WCBPF_CFA_##kind, .cfa_off = off, __VA_ARGS__ }
#define BP(kind, off) .bp = WCBPF_SAVED_##kind, .bp_off = off
#define BX(kind, off) .bx = WCBPF_SAVED_##kind, .bx_off = off
#define UNSUPPORTED { .cfa = WCBPF_CFA_UNSUPPORTED }
#define PLAIN R(SP, 8)

static const struct expected expected[] = {
	{ "usual0", PLAIN },
	{ "usual1", R(SP, 16, BP(CFA, -16)) },
	{ "usual2", R(BP, 16, BP(CFA, -16), BX(CFA, -24)) },
	{ "usual3", PLAIN },
	{ "usual4", R(BP, 16, BP(CFA, -16), BX(CFA, -24)) },
	{ "bx1", R(BX, 24, BX(CFA, -32)) },
	{ "bx2", R(BX, 24, BX(LOST, 0)) },
	{ "bx3", R(BX, 24) },
	{ "alike1", R(SP, 952) },
	{ "alike2", PLAIN },
	{ "stop1", { .cfa = WCBPF_CFA_STOP } },
	{ "drap1", UNSUPPORTED },
	{ "drap2", UNSUPPORTED },
	{ "drap3", R(BP_DEREF, -8, BP(BP, 0), BX(BP, -24)) },
	{ "deref1", R(SP_DEREF, 16) },
	{ "deref2", UNSUPPORTED },
	{ "plt1", R(PLT, 8, .bp_off = 11) },
	{ "plt2", R(PLT, 16, .bp_off = 10) },
	{ "plt3", UNSUPPORTED },
	{ "plt4", UNSUPPORTED },
	{ "plt5", UNSUPPORTED },
	{ "plt6", UNSUPPORTED },
	{ "sig1", UNSUPPORTED },
	{ "sig2", R(SIGNAL, 40) },
	{ "sig3", R(SIGNAL, 40) },
	{ "sig4", UNSUPPORTED },
	{ "sigfar1", R(SIGNAL, 640) },
	{ "fork1", R(SP_RA_DI, 0) },
	{ "fork2", UNSUPPORTED },
	{ "fork3", UNSUPPORTED },
	{ "far1", R(SP, 0x7fffffff) },
	{ "far2", UNSUPPORTED },
	{ "far3", R(SP, 16, BP(CFA, -32768)) },
	{ "far4", R(SP, 16, BP(LOST, 0), BX(LOST, 0)) },
	{ "far5", R(SP, 16, BP(CFA, -16)) },
	{ "far6", R(SP, -8) },
	{ "lost0", PLAIN },
	{ "lost1", R(SP, 8, BP(LOST, 0)) },
	{ "lost2", R(SP, 8, BP(LOST, 0)) },
	{ "lost3", R(SP, 8, BP(LOST, 0)) },
	{ "lost4", R(SP, 8, BP(LOST, 0)) },
	{ "odd1", UNSUPPORTED },
	{ "odd2", UNSUPPORTED },
	{ "odd3", UNSUPPORTED },
	{ "odd4", UNSUPPORTED },
	{ "odd5", UNSUPPORTED },
	{ "odd6", PLAIN },
	{ "odd7", UNSUPPORTED },
	{ "odd8", PLAIN },
	{ "column1", UNSUPPORTED },
	{ "last", { 0 } },
};
/* Nobody knows what an instruction that libdw doesn't know may say of rbx. */
static const struct expected bad_expected[] = {
	{ "bad0", R(SP, 8, BX(LOST, 0)) },
	{ "bad1", R(SP, 16, BX(LOST, 0)) },
	{ "bad2", UNSUPPORTED },
	{ "large0", UNSUPPORTED },
	{ "large1", UNSUPPORTED },
	{ "deep1", UNSUPPORTED },
	{ "end", { 0 } },
};
#define N(array) (sizeof(array) / sizeof(*(array)))

static const char *assemble(const char *name, const char *flags, const char *text)
{
	char args[200];

	snprintf(args, sizeof(args), "-xassembler -shared -nostdlib %s", flags);
	return build_compile(name, args, text);
}

static struct unwind_rows *read_rows(const char *path)
{
	_cleanup_(closep) int fd = open(path, O_RDONLY | O_CLOEXEC);
	struct unwind_rows *rows;

	cr_assert_eq(unwind_rows_read(fd, &rows), 0, "%s", path);
	return rows;
}

/* nm's lines are kept: a process for each label takes seconds. */
static uint64_t address(const char *path, const char *label)
{
	static char *text, of[256];
	char pattern[64];
	unsigned long vaddr;
	const char *at;

	if (strcmp(path, of)) {
		free(text);
		text = build_output("nm %s", path);
		snprintf(of, sizeof(of), "%s", path);
	}
	snprintf(pattern, sizeof(pattern), " t %s\n", label);
	at = strstr(text, pattern);
	cr_assert(at && at - text >= 16, "%s", label);
	cr_assert_eq(sscanf(at - 16, "%lx", &vaddr), 1, "%s", label);
	return vaddr;
}

static void check(const struct unwind_rows *rows, const char *label, uint64_t vaddr, struct wcbpf_rule want)
{
	struct wcbpf_rule is = twin_rule(rows, vaddr);

	cr_assert_eq(memcmp(&is, &want, sizeof(is)), 0,
		     "%s: kind %u %+d, rbp %u %+d, rbx %u %+d; expected %u %+d, %u %+d, %u %+d", label, is.cfa,
		     is.cfa_off, is.bp, is.bp_off, is.bx, is.bx_off, want.cfa, want.cfa_off, want.bp, want.bp_off,
		     want.bx, want.bx_off);
}

static void check_each(const char *path, const struct unwind_rows *rows, const struct expected *want, size_t n)
{
	size_t unsupported = 0;

	for (size_t i = 0; i < n; i++)
		check(rows, want[i].label, address(path, want[i].label), want[i].rule);
	for (size_t i = 0; i < rows->n; i++) {
		unsupported += rows->v[i].rule.cfa == WCBPF_CFA_UNSUPPORTED;
		cr_assert(!i || rows->v[i].vaddr > rows->v[i - 1].vaddr);
		cr_assert(!i || memcmp(&rows->v[i].rule, &rows->v[i - 1].rule, sizeof(rows->v[i].rule)), "not merged");
	}
	cr_assert_eq(rows->unsupported_n, unsupported);
	cr_assert_eq(rows->v[rows->n - 1].rule.cfa, WCBPF_CFA_NONE);
	cr_assert_neq(rows->v[0].rule.cfa, WCBPF_CFA_NONE);
}

Test(rule, each_form)
{
	const char *path = assemble("forms.so", "", source);
	struct unwind_rows *rows = read_rows(path);

	check_each(path, rows, expected, N(expected));
	unwind_rows_free(rows);
}

Test(rule, each_form_without_search_table)
{
	const char *path = assemble("forms.so", "-Wl,--no-eh-frame-hdr", source);
	struct unwind_rows *rows = read_rows(path);

	check_each(path, rows, expected, N(expected));
	unwind_rows_free(rows);
}

Test(rule, each_form_in_debug_frame)
{
	char text[sizeof(source) + 64];
	const char *path;
	struct unwind_rows *rows;

	snprintf(text, sizeof(text), ".cfi_sections .debug_frame\n%s", source);
	path = assemble("forms.so", "", text);
	rows = read_rows(path);
	check_each(path, rows, expected, N(expected));
	unwind_rows_free(rows);
}

Test(rule, instructions_not_to_be_run)
{
	const char *path = assemble("bad.so", "-Wl,--no-eh-frame-hdr", bad_source);
	struct unwind_rows *rows = read_rows(path);

	check_each(path, rows, bad_expected, N(bad_expected));
	unwind_rows_free(rows);
}

/* As "strip --strip-section-headers" of newer binutils leaves it. */
Test(rule, each_form_without_section_headers)
{
	const char *path = assemble("forms.so", "", source), *bare = build_path("bare.so");
	struct unwind_rows *rows;

	build_run("cp %s %s", path, bare);
	/* e_shoff; e_shnum and e_shstrndx */
	build_run("printf '\\0\\0\\0\\0\\0\\0\\0\\0' | dd of=%s bs=1 seek=40 conv=notrunc status=none", bare);
	build_run("printf '\\0\\0\\0\\0' | dd of=%s bs=1 seek=60 conv=notrunc status=none", bare);
	rows = read_rows(bare);
	check_each(path, rows, expected, N(expected));
	unwind_rows_free(rows);
}

/* Between functions there is nothing, and nothing before the first. */
Test(rule, gaps)
{
	const char *path = assemble("forms.so", "", source);
	struct unwind_rows *rows = read_rows(path);
	static const char *const pairs[][2] = {
		{ "usual", "bx" }, { "stop", "drap" }, { "sig", "sigfar" }, { "odd", "column" },
	};

	check(rows, "first", address(path, "usual0") - 1, (struct wcbpf_rule){ 0 });
	for (size_t i = 0; i < sizeof(pairs) / sizeof(*pairs); i++) {
		uint64_t next = address(path, pairs[i][1]), end = next - 32;

		for (uint64_t at = end; at < next; at++)
			check(rows, pairs[i][0], at, (struct wcbpf_rule){ 0 });
		cr_assert_neq(twin_rule(rows, end - 1).cfa, WCBPF_CFA_NONE);
	}
	unwind_rows_free(rows);
}

/* Of two that begin one after the other and say the same, there is one row. */
Test(rule, neighbours_are_one)
{
	const char *path = assemble("n.so", "",
				    "a:\n.cfi_startproc\n.skip 16, 0x90\n.cfi_endproc\n"
				    "b:\n.cfi_startproc\n.skip 16, 0x90\n.cfi_endproc\nc: nop\n");
	struct unwind_rows *rows = read_rows(path);

	cr_assert_eq(rows->n, 2);
	cr_assert_eq(rows->v[0].vaddr, address(path, "a"));
	cr_assert_eq(rows->v[1].vaddr, address(path, "c"));
	unwind_rows_free(rows);
}

/* Entries that overlap: the one whose code begins first holds to its end. And what is behind the end mark. */
Test(rule, hand_made_section)
{
	static const char text[] =
		".text\n.skip 16, 0x90\na: .skip 64, 0x90\nb: .skip 64, 0x90\nc: .skip 64, 0x90\nd: nop\n"
		".section .eh_frame,\"a\",@progbits\ncie: .long cie_end-cie_id\ncie_id: .long 0\n"
		".byte 1\n.string \"zR\"\n"
		".byte 1,0x78,16,1,0x1b,0x0c,7,8,0x90,1,0,0\ncie_end:\n"
		".macro fde name start end offset\n\\name: .long \\name\\()_end-\\name\\()_id\n"
		"\\name\\()_id: .long \\name\\()_id-cie\n"
		".long \\start-.\n.long \\end-\\start\n.byte 0,0x0e,\\offset\n.balign 4,0\n\\name\\()_end:\n.endm\n"
		"fde f3 c d 48\nfde f1 a b+32 16\nfde f2 b c+8 32\nfde f4 b+4 b+8 64\n"
		".long 0\nfde f5 d d+1 80\n.long 0\n";
	const char *path = assemble("hand.so", "-Wl,--no-eh-frame-hdr", text);
	struct unwind_rows *rows = read_rows(path);
	uint64_t a = address(path, "a");
	struct wcbpf_rule rest;

	cr_assert_eq(rows->n, 4);
	check(rows, "before", a - 1, (struct wcbpf_rule){ 0 });
	check(rows, "first", a, (struct wcbpf_rule)R(SP, 16));
	check(rows, "both, and the small one", a + 64 + 5, (struct wcbpf_rule)R(SP, 16));
	check(rows, "first's last", a + 64 + 31, (struct wcbpf_rule)R(SP, 16));
	/* Right, or not known: that is libdw's. */
	rest = twin_rule(rows, a + 64 + 32);
	if (rest.cfa != WCBPF_CFA_UNSUPPORTED)
		check(rows, "second's rest", a + 64 + 32, (struct wcbpf_rule)R(SP, 32));
	check(rows, "both", a + 128 + 7, rest);
	check(rows, "third's rest", a + 128 + 8, (struct wcbpf_rule)R(SP, 48));
	check(rows, "behind", a + 192, (struct wcbpf_rule){ 0 });
	unwind_rows_free(rows);
}

/* Both sections: .eh_frame is believed, .debug_frame fills in. */
Test(rule, two_sections)
{
	const char *both;
	struct unwind_rows *rows;

	assemble("eh.o", "-c", ".text\na:\n.cfi_startproc\n.skip 16, 0x90\n.cfi_endproc\n");
	assemble("debug.o", "-c",
		 ".cfi_sections .debug_frame\n.text\nb:\n.cfi_startproc\n.cfi_def_cfa_offset 32\n.skip 16, 0x90\n"
		 ".cfi_endproc\nc: nop\n");
	both = build_path("both.so");
	build_run("gcc -shared -nostdlib -o %s %s %s", both, build_path("eh.o"), build_path("debug.o"));
	rows = read_rows(both);
	cr_assert_eq(rows->n, 3 + (address(both, "b") > address(both, "a") + 16));
	check(rows, "a", address(both, "a") + 15, (struct wcbpf_rule)PLAIN);
	check(rows, "b", address(both, "b"), (struct wcbpf_rule)R(SP, 32));
	check(rows, "c", address(both, "c"), (struct wcbpf_rule){ 0 });
	unwind_rows_free(rows);
}

/* Where a program begins without rules it ends, up to the next rules; where a library begins there is a caller. */
Test(rule, entry_point)
{
	static const char text[] = ".globl begin\n.text\n.skip 16, 0x90\nbegin: .skip 48, 0x90\n"
				   "f:\n.cfi_startproc\n.skip 16, 0x90\n.cfi_endproc\ng: .skip 500, 0x90\n";
	static const struct {
		const char *flags;
		bool is_started;
	} kinds[] = {
		{ "-xassembler -nostdlib -pie -Wl,-e,begin", true },
		{ "-xassembler -nostdlib -static -Wl,-e,begin", true },
		{ "-xassembler -nostdlib -static-pie -Wl,-e,begin", true },
		{ "-xassembler -shared -nostdlib -Wl,-e,begin -Wl,--no-as-needed -lc", false },
	};

	for (size_t i = 0; i < N(kinds); i++) {
		char name[] = { 'e', (char)('0' + i), '\0' };
		const char *path = build_compile(name, kinds[i].flags, text);
		struct unwind_rows *rows = read_rows(path);
		struct wcbpf_rule at_entry = { .cfa = kinds[i].is_started ? WCBPF_CFA_STOP : WCBPF_CFA_NONE };
		uint64_t f = address(path, "f");

		check(rows, "before", f - 49, (struct wcbpf_rule){ 0 });
		check(rows, "entry", f - 48, at_entry);
		check(rows, "end of entry", f - 1, at_entry);
		check(rows, "f", f, (struct wcbpf_rule)PLAIN);
		check(rows, "g", f + 16, (struct wcbpf_rule){ 0 });
		unwind_rows_free(rows);
	}
}

/* And not longer than such code is. */
Test(rule, entry_point_is_short)
{
	static const char text[] = ".globl begin\n.text\nf:\n.cfi_startproc\n.skip 16, 0x90\n.cfi_endproc\n"
				   "begin: .skip 500, 0x90\n";
	const char *path = build_compile("entry", "-xassembler -nostdlib -pie -Wl,-e,begin", text);
	struct unwind_rows *rows = read_rows(path);
	uint64_t f = address(path, "f");

	check(rows, "entry", f + 16, (struct wcbpf_rule){ .cfa = WCBPF_CFA_STOP });
	check(rows, "its last", f + 16 + 127, (struct wcbpf_rule){ .cfa = WCBPF_CFA_STOP });
	check(rows, "behind", f + 16 + 128, (struct wcbpf_rule){ 0 });
	unwind_rows_free(rows);
}

Test(rule, no_rows)
{
	const char *path = build_compile("x.so", "-O1 -shared -fPIC -nostdlib -fno-asynchronous-unwind-tables",
					 "int f(int x) { return x + 1; }");
	_cleanup_(closep) int fd = open(path, O_RDWR | O_CLOEXEC);
	_cleanup_(closep) int text = open(build_path("source"), O_RDONLY | O_CLOEXEC);
	struct unwind_rows *rows = NULL;

	cr_assert_eq(unwind_rows_read(fd, &rows), -ENOENT);
	cr_assert_eq(unwind_rows_read(text, &rows), -ENOEXEC);
	/* e_machine: AArch64 */
	cr_assert_eq(pwrite(fd, "\xb7", 1, 18), 1);
	cr_assert_eq(unwind_rows_read(fd, &rows), -ENOTSUP);
	cr_assert_null(rows);
}
