/* SPDX-License-Identifier: (LGPL-2.1 OR BSD-2-Clause) */
/* Where a plan puts its probes, against what nm and objdump say of the same program. */
#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../objfile/build.h"
#include "plans.h"

TestSuite(sites, .init = build_begin, .fini = build_end, .timeout = 60);

static const char source[] =
	"#include <stdio.h>\n#include <stdlib.h>\n"
	"__attribute__((noinline)) int leaf(int n) { __asm__ volatile(\"\" : \"+r\"(n)); return n * 3; }\n"
	"__attribute__((noinline)) int many(int n) { if (n == 1) { puts(\"x\"); return leaf(4) + 1; }\n"
	"  if (n > 7) return 5; for (int i = 0; i < n; i++) n += leaf(i); return n; }\n"
	"static __attribute__((noinline)) int part(int n) { if (n & 1) puts(\"z\"); return leaf(n) * leaf(n + 2); }\n"
	"__attribute__((noinline)) int tail(int n) { puts(\"y\"); return part(n + 1); }\n"
	"__attribute__((noinline)) int other(int n) { puts(\"o\"); return many(n + 1); }\n"
	"__attribute__((noinline, noreturn)) void leave(int n) { exit(n); }\n"
	"int main(int argc, char **argv) { if (argc > 5) leave(3); return tail(argc) + other(argc) + part(argc); }\n";

/* A function's extent, by nm. */
static void extent(const char *path, const char *name, uint64_t *start, uint64_t *end)
{
	_cleanup_(freep) char *text = build_output("nm -S %s | awk '$4 == \"%s\" {print $1, $2}'", path, name);
	unsigned long long v, size;

	cr_assert_eq(sscanf(text, "%llx %llx", &v, &size), 2, "%s", name);
	*start = v;
	*end = v + size;
}

/* Addresses of the function's instructions whose mnemonic begins so, by objdump; how many. */
static size_t instructions(const char *path, const char *name, const char *mnemonic, uint64_t *ret, size_t max)
{
	_cleanup_(freep) char *text =
		build_output("objdump -d --no-show-raw-insn --disassemble=%s %s | awk '$2 ~ /^%s/ {print $1}'", name,
			     path, mnemonic);
	size_t n = 0;

	for (char *at = text; *at && n < max; at = strchr(at, '\n') + 1)
		ret[n++] = strtoull(at, NULL, 16);
	return n;
}

/* Each exit is one of objdump's RETs of the functions, and all of them are exits. */
static void expect_exits(const struct probe_plan *p, const char *path, const char *const *functions, size_t n)
{
	size_t rets = 0;

	for (size_t i = 0; i < n; i++) {
		uint64_t v[32];
		size_t got = instructions(path, functions[i], "ret", v, 32);

		rets += got;
		for (size_t k = 0; k < got; k++) {
			bool found = false;

			for (size_t s = 0; s < p->site_n; s++)
				found |= p->sites[s].wire.kind == WCBPF_SITE_EXIT && p->sites[s].vaddr == v[k];
			cr_expect(found, "%s: RET at %#lx", functions[i], v[k]);
		}
	}
	cr_expect_eq(plans_site_n(p, WCBPF_SITE_EXIT), rets);
}

static void expect_plain(const char *args)
{
	_cleanup_(probe_set_freep) struct probe_set *s = NULL;
	_cleanup_(probe_plan_freep) struct probe_plan *p = NULL;
	static const char *const many[] = {"many"};
	const char *path = build_compile("p", args, source);
	const struct probe_site *entry;
	uint64_t start, end;

	p = plans_inline(path, "many", &s);
	extent(path, "many", &start, &end);
	cr_assert_eq(plans_site_n(p, WCBPF_SITE_ENTRY), 1, "%s: %s", args, plans_notes(p));
	entry = plans_site(p, WCBPF_SITE_ENTRY, 0);
	cr_expect(entry->vaddr >= start && entry->vaddr < end && entry->function == start, "%s", args);
	cr_expect(entry->vaddr < start + 24, "%s: near its begin", args);
	expect_exits(p, path, many, 1);
	for (size_t i = 0; i < p->site_n; i++) {
		_cleanup_(freep) char *bytes = NULL;
		struct objfile *o;
		uint64_t offset;

		cr_assert_eq(objfile_open_path(-1, path, &o), 0);
		cr_expect_eq(objfile_offset_of_vaddr(o, p->sites[i].vaddr, &offset), 0);
		cr_expect_eq(p->sites[i].file_offset, offset);
		objfile_free(o);
	}
}

/* Position-independent or not, with and without what compilers put at a function's begin. */
Test(sites, kinds_of_programs)
{
	expect_plain("-O2 -fno-inline");
	expect_plain("-O0");
	expect_plain("-O2 -fno-inline -no-pie -fcf-protection=none");
	expect_plain("-O2 -fno-inline -fcf-protection=full -fno-omit-frame-pointer");
	expect_plain("-O2 -fno-inline -static");
	expect_plain("-O2 -fno-inline -Wl,-z,noseparate-code");
}

/* The one exit is the jump, where there is no result yet. */
static void expect_jump(const struct probe_plan *p, const char *path, const char *name, const char *point)
{
	uint64_t jumps[8];
	size_t n = 0;

	cr_assert_eq(instructions(path, name, "ret", jumps, 8), 0, "the compiler made it a jump");
	cr_assert_eq(instructions(path, name, "jmp", jumps, 8), 1);
	for (size_t i = 0; i < p->site_n; i++) {
		const struct probe_site *site = &p->sites[i];

		if (site->wire.kind != WCBPF_SITE_EXIT || strcmp(p->points[site->point].name, point) != 0)
			continue;
		n++;
		cr_expect_eq(site->vaddr, jumps[0]);
		cr_expect(site->tail);
		cr_expect_eq(site->wire.fetch[0].from, WCBPF_FROM_NONE);
	}
	cr_expect_eq(n, 1);
}

Test(sites, tail_jumps)
{
	_cleanup_(probe_set_freep) struct probe_set *s = NULL, *both = NULL, *global = NULL;
	_cleanup_(probe_plan_freep) struct probe_plan *p = NULL, *q = NULL, *g = NULL;
	static const char *const part[] = {"part"};
	const char *path = build_compile("p", "-O2 -fno-inline", source);
	uint64_t rets[8];

	cr_assert_eq(instructions(path, "tail", "ret", rets, 8), 0, "the compiler made it a jump");
	/* Its exits are those of the function that is a part of it. */
	p = plans_inline(path, "tail ident={$retval}", &s);
	expect_exits(p, path, part, 1);
	cr_expect(p->points[0].shared_exits);
	cr_expect_eq(plans_site(p, WCBPF_SITE_EXIT, 0)->wire.fetch[0].from, WCBPF_FROM_REG);
	/* That one is probed itself. */
	both = plans_set("[op a]\nsymbol = tail\nident = {$retval}\n[op b]\nsymbol = part\n", NULL);
	q = plans_resolve(both, path);
	expect_jump(q, path, "tail", "test/a");
	/* That one is for all. */
	g = plans_inline(path, "other ident={$retval}", &global);
	expect_jump(g, path, "other", "other");
	cr_expect(!g->points[0].shared_exits);
	cr_expect(plans_has_note(g, "other: it ends where it jumps", "called by others too"), "%s", plans_notes(g));
}

/* What ends at the instruction where it begins would end before it begins, or take no time. */
Test(sites, entry_is_no_exit)
{
	static const char text[] = "__attribute__((noinline)) int impl(int n) { __asm__ volatile(\"\"); return n * 3; }\n"
				   "__attribute__((noinline)) int adds(int n) { return impl(n + 1); }\n"
				   "__attribute__((noinline)) int jumps(int n) { return impl(n); }\n"
				   "__attribute__((noinline)) int returns(void) { __asm__ volatile(\"\"); }\n"
				   "int main(int n, char **v) { returns(); return adds(n) + jumps(n); }\n";
	const char *path = build_compile("p", "-O2 -fno-inline -fcf-protection=none -fno-ipa-icf", text);
	_cleanup_(probe_set_freep) struct probe_set *s = NULL, *bare = NULL, *empty = NULL;
	_cleanup_(probe_plan_freep) struct probe_plan *p = plans_inline(path, "adds", &s), *q = NULL, *r = NULL;
	uint64_t rets[2];

	cr_assert(plans_site_n(p, WCBPF_SITE_ENTRY) == 1 && plans_site_n(p, WCBPF_SITE_EXIT) == 1, "%s", plans_notes(p));
	cr_expect_lt(plans_site(p, WCBPF_SITE_ENTRY, 0)->vaddr, plans_site(p, WCBPF_SITE_EXIT, 0)->vaddr);
	q = plans_inline(path, "jumps", &bare);
	cr_assert_eq(q->site_n, 1, "%s", plans_notes(q));
	cr_expect_eq(q->sites[0].wire.kind, WCBPF_SITE_MARK);
	cr_expect(plans_has_note(q, "jumps: it only jumps to another function", "not the time"), "%s", plans_notes(q));
	r = plans_inline(path, "returns ident={$retval}", &empty);
	cr_assert_eq(instructions(path, "returns", "ret", rets, 2), 1);
	cr_assert(r->site_n == 1 && r->sites[0].wire.kind == WCBPF_SITE_MARK, "%s", plans_notes(r));
	cr_expect_eq(r->sites[0].vaddr, rets[0]);
	cr_expect(plans_has_note(r, "returns: it only returns", "results aren't known"), "%s", plans_notes(r));
}

/* Of a conditional jump that is both, neither probe may be the first. */
Test(sites, entry_may_be_an_exit)
{
	static const char text[] = "__asm__(\".globl odd, away\\n\"\n"
				   "\".type odd,@function\\nodd: .cfi_startproc\\n.byte 0x0f,0x84\\n.long away-.-4\\nret\\n\"\n"
				   "\".cfi_endproc\\n.size odd,.-odd\\n\"\n"
				   "\".type away,@function\\naway: .cfi_startproc\\nret\\n.cfi_endproc\\n.size away,.-away\\n\");\n"
				   "extern void odd(void);\nint main(void) { odd(); return 0; }\n";
	_cleanup_(probe_set_freep) struct probe_set *s = NULL;
	_cleanup_(probe_plan_freep) struct probe_plan *p = plans_inline(build_compile("p", "-O2", text), "odd", &s);

	cr_expect_eq(p->site_n, 0);
	cr_expect(plans_has_note(p, "odd: not probed", "conditional jump"), "%s", plans_notes(p));
}

Test(sites, no_exit)
{
	_cleanup_(probe_set_freep) struct probe_set *s = NULL;
	_cleanup_(probe_plan_freep) struct probe_plan *p =
		plans_inline(build_compile("p", "-O2 -fno-inline", source), "leave", &s);

	cr_expect_eq(plans_site_n(p, WCBPF_SITE_ENTRY), 1);
	cr_expect_eq(plans_site_n(p, WCBPF_SITE_EXIT), 0);
	cr_expect(plans_has_note(p, "leave", "never returns"), "%s", plans_notes(p));
}

/* A moment needs no exit unless it happens there. */
Test(sites, moments)
{
	static const char text[] =
		"[begin a]\nsymbol = leaf\nkey = {$arg1}\nat = entry\n[begin b]\nsymbol = leaf\nkey = {$retval}\n"
		"[end c]\nsymbol = leaf\nkey = {$arg1}\n[key d]\nsymbol = leaf\nkey = {$retval}{$arg1}\n";
	_cleanup_(probe_set_freep) struct probe_set *s = plans_set(text, NULL);
	_cleanup_(probe_plan_freep) struct probe_plan *p =
		plans_resolve(s, build_compile("p", "-O2 -fno-inline", source));
	static const struct {
		size_t marks, entries, exits;
	} want[] = {{1, 0, 0}, {0, 1, 1}, {1, 0, 0}, {0, 1, 1}};

	cr_assert_eq(p->point_n, 4, "%s", plans_notes(p));
	for (uint32_t i = 0; i < 4; i++) {
		size_t n[WCBPF_SITE_MARK + 1] = {0};

		for (size_t k = 0; k < p->site_n; k++)
			if (p->sites[k].point == i)
				n[p->sites[k].wire.kind]++;
		cr_expect_eq(n[WCBPF_SITE_MARK], want[i].marks, "%s", p->points[i].name);
		cr_expect_eq(n[WCBPF_SITE_ENTRY], want[i].entries, "%s", p->points[i].name);
		cr_expect_eq(n[WCBPF_SITE_EXIT], want[i].exits, "%s", p->points[i].name);
	}
}

Test(sites, return_probe)
{
	_cleanup_(probe_set_freep) struct probe_set *s = NULL;
	const char *path = build_compile("p", "-O2 -fno-inline", source);
	_cleanup_(probe_plan_freep) struct probe_plan *p = plans_inline(path, "many exit=return ident={$retval}", &s);
	const struct probe_site *site = plans_site(p, WCBPF_SITE_EXIT, 0);
	uint64_t start, end;

	extent(path, "many", &start, &end);
	cr_assert_eq(plans_site_n(p, WCBPF_SITE_EXIT), 1);
	cr_expect(site->return_probe && site->vaddr == start);
	/* The return address has been taken off the stack when it is hit. */
	cr_expect(site->wire.cfa_reg == 7 && site->wire.cfa_off == 0);
	cr_expect(plans_has_note(p, "many", "a return probe, as asked for"));
}

/* Sites are in order, and nothing is probed twice for one point. */
Test(sites, order)
{
	_cleanup_(probe_set_freep) struct probe_set *s =
		plans_set("[op x]\nsymbol = m*\nsymbol = leaf\nsymbol = many\n", NULL);
	_cleanup_(probe_plan_freep) struct probe_plan *p =
		plans_resolve(s, build_compile("p", "-O2 -fno-inline", source));

	cr_assert_eq(p->point_n, 3, "main, many, leaf");
	cr_expect_eq(p->duplicates, 1, "many, again");
	for (size_t i = 1; i < p->site_n; i++)
		cr_expect(p->sites[i - 1].vaddr < p->sites[i].vaddr ||
			  (p->sites[i - 1].vaddr == p->sites[i].vaddr && p->sites[i - 1].point != p->sites[i].point));
}
