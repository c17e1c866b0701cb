/* SPDX-License-Identifier: (LGPL-2.1 OR BSD-2-Clause) */
/* Static markers, written as <sys/sdt.h> writes them, with the assembler: that header need not be there. */
#include <criterion/criterion.h>
#include <stdlib.h>
#include <string.h>

#include "../objfile/build.h"
#include "plans.h"

TestSuite(markers, .init = build_begin, .fini = build_end, .timeout = 60);

#define NOTES                                                                                                          \
	"#define MARK(label, name, semaphore, args) __asm__ volatile(label \": nop\\n\\t"                              \
	".pushsection .note.stapsdt,\\\"\\\",\\\"note\\\"\\n\\t.balign 4\\n\\t.4byte 992f-991f, 994f-993f, 3\\n\\t"    \
	"991: .asciz \\\"stapsdt\\\"\\n992: .balign 4\\n993: .8byte \" label \", _.stapsdt.base, \" semaphore "        \
	"\"\\n\\t"                                                                                                     \
	".asciz \\\"shop\\\"\\n\\t.asciz \\\"\" name \"\\\"\\n\\t.asciz \\\"\" args \"\\\"\\n994: .balign 4\\n\\t"     \
	".popsection\")\n"                                                                                             \
	"__asm__(\".pushsection .stapsdt.base,\\\"aG\\\",\\\"progbits\\\",.stapsdt.base,comdat\\n.weak "               \
	"_.stapsdt.base\\n"                                                                                            \
	".hidden _.stapsdt.base\\n_.stapsdt.base: .space 1\\n.popsection\");\n"

static const char source[] = NOTES
	"unsigned short sem __attribute__((used, section(\".probes\")));\n"
	"__attribute__((noinline, noclone)) void sell(long n) { MARK(\"m1\", \"sell__start\", \"sem\", \"-8@%rdi 4@$7 "
	"8@16(%rsp)\");\n"
	"MARK(\"m2\", \"sell__done\", \"0\", \"8@%rax\"); }\n"
	"__attribute__((noinline, noclone)) void again(long n) { MARK(\"m3\", \"sell__start\", \"0\", \"8@%rsi\");\n"
	"MARK(\"m4\", \"sell__done\", \"0\", \"8@%rdx\"); }\n"
	"int main(int n, char **v) { sell(n); again(n); return 0; }\n";

static uint64_t address(const char *path, const char *name)
{
	_cleanup_(freep) char *text = build_output("nm %s | awk '$3 == \"%s\" {print $1}'", path, name);

	cr_assert(*text, "%s", name);
	return strtoull(text, NULL, 16);
}

Test(markers, moment)
{
	_cleanup_(probe_set_freep) struct probe_set *s = NULL;
	const char *path = build_compile("p", "-O1 -no-pie -fno-pie", source);
	_cleanup_(probe_plan_freep) struct probe_plan *p =
		plans_inline(path, "usdt:shop:sell__start role=key key={$arg1}:{$arg2}:{$arg3}", &s);
	const struct probe_site *site = plans_site(p, WCBPF_SITE_MARK, 0);

	/* The second of them has one argument only. */
	cr_assert_eq(plans_site_n(p, WCBPF_SITE_MARK), 1, "%s", plans_notes(p));
	cr_expect(plans_has_note(p, "{$arg2} is left out", "the marker has no argument 2"), "%s", plans_notes(p));
	cr_expect_eq(site->vaddr, address(path, "m1"));
	cr_expect_neq(site->ref_offset, 0);
	cr_assert_eq(site->wire.fetch_n, 3);
	cr_expect_eq(site->wire.fetch[0].type, WCBPF_VALUE_INT);
	cr_expect_eq(site->wire.fetch[0].reg, 5);
	cr_expect_eq(site->wire.fetch[0].bytes, 8);
	cr_expect_eq(site->wire.fetch[1].from, WCBPF_FROM_CONST);
	cr_expect_eq(site->wire.fetch[1].at, 7);
	cr_expect_eq(site->wire.fetch[2].reg, 7);
	cr_expect(site->wire.fetch[2].memory && site->wire.fetch[2].last == 16);
}

/* Two markers make an op; each pair in one function is its own. */
Test(markers, pairs)
{
	_cleanup_(probe_set_freep) struct probe_set *s = NULL;
	const char *path = build_compile("p", "-O1 -no-pie -fno-pie", source);
	_cleanup_(probe_plan_freep) struct probe_plan *p = plans_inline(
		path, "usdt:shop:sell__start usdt_end=shop:sell__done ident={$arg1} outcome='ok if $arg1@exit'", &s);
	static const char *const labels[2][2] = {{"m1", "m2"}, {"m3", "m4"}};
	static const uint8_t regs[2][2] = {{5, 0}, {4, 1}};

	cr_assert_eq(p->point_n, 2, "%s", plans_notes(p));
	for (uint32_t i = 0; i < 2; i++) {
		size_t n = 0;

		for (size_t k = 0; k < p->site_n; k++) {
			const struct probe_site *site = &p->sites[k];
			bool exit = site->wire.kind == WCBPF_SITE_EXIT;

			if (site->point != i)
				continue;
			n++;
			cr_expect_eq(site->vaddr, address(path, labels[i][exit]));
			cr_expect_eq(site->wire.fetch[0].reg, regs[i][exit]);
			/* Both stand for one frame, above those that are called from there. */
			cr_expect(site->wire.cfa_reg == 7 && site->wire.cfa_off > 0 && site->wire.cfa_off < 8);
		}
		cr_expect_eq(n, 2);
		cr_expect_eq(p->points[i].outcome.v[0].value, 8);
	}
}

Test(markers, no_end)
{
	_cleanup_(probe_set_freep) struct probe_set *s = NULL;
	_cleanup_(probe_plan_freep) struct probe_plan *p =
		plans_inline(build_compile("p", "-O1", source), "usdt:shop:sell__start usdt_end=shop:nope", &s);

	cr_expect_eq(p->site_n, 0);
	cr_expect(plans_has_note(p, "not probed", "shop:nope"), "%s", plans_notes(p));
}
