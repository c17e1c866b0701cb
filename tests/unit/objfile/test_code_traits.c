/* SPDX-License-Identifier: (LGPL-2.1 OR BSD-2-Clause) */
/* Functions written for one trait each, in assembly, where what is right is in the source. */
#include <criterion/criterion.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "build.h"
#include "objfile/objfile.h"
#include "util/cleanup.h"

TestSuite(code_traits, .init = build_begin, .fini = build_end, .timeout = 60);

#define RDI OBJFILE_NEEDS(5)
#define RSI OBJFILE_NEEDS(4)

/* Labels that begin with a dot and the function's name are where a test looks. */
#define FUNCTION(name, body)                                                                              \
	".globl " name "\\n.type " name ",@function\\n" name ": .cfi_startproc\\n" body "\\n.cfi_endproc\\n.size " name \
	",.-" name "\\n"
#define BARE(name, body) ".globl " name "\\n.type " name ",@function\\n" name ":\\n" body "\\n.size " name ",.-" name "\\n"
#define MARK(name) ".globl " name "\\n" name ":"

static const char source[] =
	"asm(\".text\\n"
	FUNCTION("simple", "mov %edi,%eax\\n" MARK("simple_entry") "push %rbx\\n.cfi_adjust_cfa_offset 8\\npop %rbx\\n"
		 ".cfi_adjust_cfa_offset -8\\n" MARK("simple_exit") "ret")
	FUNCTION("protected", "endbr64\\n" MARK("protected_entry") "mov %edi,%eax\\nret")
	FUNCTION("loses", MARK("loses_entry") "mov $1,%edi\\n" MARK("loses_cheap") "push %rbx\\n.cfi_adjust_cfa_offset 8\\npop %rbx\\n"
		 ".cfi_adjust_cfa_offset -8\\nret")
	FUNCTION("pushed", "sub $24,%rsp\\n.cfi_adjust_cfa_offset 24\\nmov %edi,(%rsp)\\n" MARK("pushed_entry") "nop\\n"
		 "add $24,%rsp\\n.cfi_adjust_cfa_offset -24\\nret")
	FUNCTION("again", "1: mov (%rdi),%al\\ninc %rdi\\n" "test %al,%al\\n" MARK("again_branch") "jne 1b\\nret")
	FUNCTION("locked", "lock incl (%rdi)\\n" MARK("locked_entry") "mov $3,%eax\\nret")
	FUNCTION("unprobed", "lock incl (%rdi)\\nlock incl (%rdi)\\nsyscall\\nhlt")
	FUNCTION("branches", "test %rdi,%rdi\\n" MARK("branches_entry") "je 1f\\npush %rbx\\n.cfi_adjust_cfa_offset 8\\npop %rbx\\n"
		 ".cfi_adjust_cfa_offset -8\\n" MARK("branches_a") "rep ret\\n1: xor %eax,%eax\\n" MARK("branches_b") "ret $8")
	FUNCTION("never", "push %rbx\\n.cfi_adjust_cfa_offset 8\\n1: call simple\\njmp 1b")
	FUNCTION("aborts", "push %rbx\\n.cfi_adjust_cfa_offset 8\\ncall abort")
	FUNCTION("stub", MARK("stub_exit") "jmp abort@plt")
	FUNCTION("tail", "mov %rsi,%rdi\\n" MARK("tail_exit") "jmp simple")
	FUNCTION("tail_pointer", MARK("tail_pointer_exit") "jmp *16(%rdi)")
	FUNCTION("tail_variable", MARK("tail_variable_exit") "jmp *variable(%rip)")
	FUNCTION("tail_if", "test %edi,%edi\\n" MARK("tail_if_a") "js simple\\n" MARK("tail_if_b") "ret")
	FUNCTION("framed_jump", "push %rbx\\n.cfi_adjust_cfa_offset 8\\nlea 1f(%rip),%rax\\njmp *%rax\\n1: pop %rbx\\n"
		 ".cfi_adjust_cfa_offset -8\\n" MARK("framed_jump_exit") "ret")
	FUNCTION("unclear", "lea (%rdi,%rsi,8),%rax\\njmp *(%rax,%rsi,8)")
	BARE("bare_unclear", "jmp *%rax")
	FUNCTION("runs_on", "test %rdi,%rdi\\nje simple\\ninc %rdi")
	FUNCTION("behind", "ret")
	FUNCTION("middle", "test %rdi,%rdi\\njmp simple_exit")
	FUNCTION("data", "jmp 1f+1\\n.byte 0xb8\\n1: .byte 0xb8,1,2,3,4\\nret")
	FUNCTION("nonsense", "xor %eax,%eax\\n.byte 6,6\\nret")
	/* Data that looks like a return, which nothing leads to. */
	FUNCTION("hidden", MARK("hidden_exit") "ret\\n.byte 0xc3,0x90,0xc3")
	FUNCTION("switched", "cmp $3,%edi\\nja 1f\\nlea table(%rip),%rax\\nmovslq (%rax,%rdi,4),%rdi\\nadd %rax,%rdi\\njmp *%rdi\\n"
		 "1: xor %eax,%eax\\n" MARK("switched_a") "ret\\n2: mov $2,%eax\\n" MARK("switched_b") "ret\\n"
		 ".pushsection .rodata\\n.balign 4\\ntable: .long 1b-table,2b-table,1b-table,2b-table\\n.popsection")
	FUNCTION("called", "cmp $3,%edi\\nlea pointers(%rip),%rax\\n" MARK("called_exit") "jmp *(%rax,%rdi,8)\\n"
		 ".pushsection .rodata\\n.balign 8\\npointers: .quad simple,simple\\n.popsection")
	BARE("endless", "nop")
	".size endless,0\\n"
	"\");\n"
	"long variable = 5;\n"
	"int main(void) { return 0; }\n";

struct fixture {
	struct objfile *o;
	struct objfile_code *code;
	struct objfile_names *names;
	char *symbols; /* nm */
};

static void fixture_begin(struct fixture *f)
{
	const char *path = build_compile("traits", "-O1 -no-pie", source);

	cr_assert_eq(objfile_open_path(-1, path, &f->o), 0);
	cr_assert_eq(objfile_names_new(f->o, NULL, &f->names), 0);
	cr_assert_eq(objfile_code_new(f->o, NULL, &f->code), 0);
	f->symbols = build_output("nm %s", path);
}

static void fixture_done(struct fixture *f)
{
	objfile_code_free(f->code);
	objfile_names_free(f->names);
	objfile_free(f->o);
	free(f->symbols);
}

static uint64_t mark(const struct fixture *f, const char *name)
{
	char wanted[64];
	const char *at;

	snprintf(wanted, sizeof(wanted), " %s\n", name);
	at = strstr(f->symbols, wanted);
	cr_assert_not_null(at, "%s", name);
	while (at > f->symbols && at[-1] != '\n')
		at--;
	return strtoull(at, NULL, 16);
}

static int scan(const struct fixture *f, const char *name, uint32_t needs, struct objfile_scan *ret, struct objfile_why *why)
{
	const struct objfile_name *found;

	cr_assert_eq(objfile_names_find(f->names, name, &found), 1, "%s", name);
	return objfile_code_scan(f->code, found->vaddr, found->size, needs, ret, why);
}

struct entry_case {
	const char *function;
	uint32_t needs;
	const char *entry; /* a mark */
	int32_t cfa_off;
	enum objfile_step step;
	bool repeats;
};

static const struct entry_case entry_cases[] = {
	{ "simple", RDI, "simple_entry", 8, OBJFILE_STEP_EMULATED, false },
	{ "protected", RDI, "protected_entry", 8, OBJFILE_STEP_SINGLE, false },
	{ "loses", RDI, "loses_entry", 8, OBJFILE_STEP_SINGLE, false },
	{ "loses", RSI, "loses_cheap", 8, OBJFILE_STEP_EMULATED, false },
	{ "pushed", RDI, "pushed_entry", 32, OBJFILE_STEP_EMULATED, false },
	{ "again", RSI, "again_branch", 8, OBJFILE_STEP_EMULATED, true },
	{ "locked", RDI, "locked_entry", 8, OBJFILE_STEP_SINGLE, false },
	{ "branches", RDI, "branches_entry", 8, OBJFILE_STEP_EMULATED, false },
	{ "tail", RDI, "tail", 8, OBJFILE_STEP_SINGLE, false },
	{ "nonsense", RDI, "nonsense", 8, OBJFILE_STEP_SINGLE, false },
	/* not where it is left, cheap as that is */
	{ "tail", RSI, "tail", 8, OBJFILE_STEP_SINGLE, false },
};

Test(code_traits, entries)
{
	_cleanup_(fixture_done) struct fixture f;

	fixture_begin(&f);
	for (size_t i = 0; i < sizeof(entry_cases) / sizeof(*entry_cases); i++) {
		const struct entry_case *c = &entry_cases[i];
		struct objfile_scan s;
		struct objfile_why why = { "" };

		cr_assert_eq(scan(&f, c->function, c->needs, &s, &why), 0, "%s: %s", c->function, why.text);
		cr_expect_eq(s.entry.vaddr, mark(&f, c->entry), "%s: %#lx %s", c->function, s.entry.vaddr, s.entry.text);
		cr_expect_eq(s.entry.cfa_reg, 7);
		cr_expect_eq(s.entry.cfa_off, c->cfa_off, "%s: %d", c->function, s.entry.cfa_off);
		cr_expect_eq(s.entry.step, c->step, "%s: %s", c->function, s.entry.text);
		cr_expect_eq(s.entry.repeats, c->repeats, "%s: %s", c->function, s.entry.text);
		cr_expect_gt(strlen(s.entry.text), 2);
		objfile_scan_done(&s);
	}
}

Test(code_traits, no_entry)
{
	_cleanup_(fixture_done) struct fixture f;
	struct objfile_scan s;
	struct objfile_why why = { "" };

	fixture_begin(&f);
	cr_expect_eq(scan(&f, "unprobed", 0, &s, &why), -ENOTSUP);
	cr_expect(strstr(why.text, "can't probe any"), "%s", why.text);
	cr_expect_eq(scan(&f, "endless", 0, &s, &why), -ENOTSUP);
	cr_expect(strstr(why.text, "nothing tells where it ends"), "%s", why.text);
	cr_expect_lt(objfile_code_scan(f.code, 1ull << 40, 16, 0, &s, &why), 0);
}

struct exit_case {
	const char *function;
	const char *exits[4]; /* marks */
	int tails;	      /* how many of them are tail jumps */
};

static const struct exit_case exit_cases[] = {
	{ "simple", { "simple_exit" }, 0 },
	{ "branches", { "branches_a", "branches_b" }, 0 },
	{ "never", { NULL }, 0 },
	{ "aborts", { NULL }, 0 },
	{ "stub", { "stub_exit" }, 1 },
	{ "tail", { "tail_exit" }, 1 },
	{ "tail_pointer", { "tail_pointer_exit" }, 1 },
	{ "tail_variable", { "tail_variable_exit" }, 1 },
	{ "tail_if", { "tail_if_a", "tail_if_b" }, 1 },
	{ "framed_jump", { "framed_jump_exit" }, 0 },
	{ "hidden", { "hidden_exit" }, 0 },
	{ "switched", { "switched_a", "switched_b" }, 0 },
	{ "called", { "called_exit" }, 1 },
};

Test(code_traits, exits)
{
	_cleanup_(fixture_done) struct fixture f;

	fixture_begin(&f);
	for (size_t i = 0; i < sizeof(exit_cases) / sizeof(*exit_cases); i++) {
		const struct exit_case *c = &exit_cases[i];
		struct objfile_scan s;
		struct objfile_why why = { "" };
		size_t n = 0;
		int tails = 0;

		cr_assert_eq(scan(&f, c->function, 0, &s, &why), 0, "%s: %s", c->function, why.text);
		cr_expect(s.exits_known, "%s: %s", c->function, s.why_not.text);
		for (; c->exits[n] && n < s.exit_n; n++) {
			cr_expect_eq(s.exits[n].at.vaddr, mark(&f, c->exits[n]), "%s: %s", c->function, s.exits[n].at.text);
			cr_expect_eq(s.exits[n].at.cfa_off, 8);
			tails += s.exits[n].tail;
		}
		cr_expect(n == s.exit_n && !c->exits[n], "%s: %zu exits", c->function, s.exit_n);
		cr_expect_eq(tails, c->tails, "%s", c->function);
		objfile_scan_done(&s);
	}
}

Test(code_traits, conditions_and_targets)
{
	_cleanup_(fixture_done) struct fixture f;
	struct objfile_scan s;
	struct objfile_why why;

	fixture_begin(&f);
	cr_assert_eq(scan(&f, "tail_if", 0, &s, &why), 0);
	cr_expect_eq(s.exits[0].condition, 8); /* sign */
	cr_expect_eq(s.exits[0].at.branch, 8);
	cr_expect_eq(s.exits[1].at.branch, OBJFILE_ALWAYS);
	cr_expect_eq(s.exits[0].target, mark(&f, "simple"));
	cr_expect_eq(s.exits[1].condition, OBJFILE_ALWAYS);
	objfile_scan_done(&s);
}

/* Told rather than guessed. */
Test(code_traits, exits_that_are_not_known)
{
	static const char *const cases[][2] = {
		{ "unclear", "may leave it or not" },
		{ "bare_unclear", "may leave it or not" },
		{ "runs_on", "into what lies behind it" },
		{ "middle", "to the middle of simple" },
		{ "data", "to the middle of one" },
		{ "nonsense", "no instruction" },
	};
	_cleanup_(fixture_done) struct fixture f;

	fixture_begin(&f);
	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		struct objfile_scan s;
		struct objfile_why why = { "" };
		int err = scan(&f, cases[i][0], 0, &s, &why);
		const char *text = err ? why.text : s.why_not.text;

		cr_expect(err || !s.exits_known, "%s", cases[i][0]);
		cr_expect(strstr(text, cases[i][1]), "%s: \"%s\"", cases[i][0], text);
		if (!err)
			objfile_scan_done(&s);
	}
}
