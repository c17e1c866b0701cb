/* SPDX-License-Identifier: (LGPL-2.1 OR BSD-2-Clause) */
/*
 * What is written and what the kernel's side is told to fetch, field by field,
 * worked out by hand from the System V ABI (x86_64) and bpf/wire.h: DWARF's
 * numbers are ax 0, dx 1, cx 2, bx 3, si 4, di 5, bp 6, sp 7, r8 8, r9 9; the
 * CFA is the stack pointer before the call, so the seventh word is at it.
 */
#include <criterion/criterion.h>
#include <stdio.h>
#include <string.h>

#include "../objfile/build.h"
#include "plans.h"

TestSuite(values, .init = build_begin, .fini = build_end, .timeout = 60);

static const char fixture[] =
	"__attribute__((noinline)) long f(long a, long b, long c, long d, long e, long g, long h, long i)\n"
	"{ __asm__ volatile(\"\"); return a + b * c - d + e * g + h - i; }\n"
	"int main(void) { return (int)f(1, 2, 3, 4, 5, 6, 7, 8); }\n";

#define REG(n) .from = WCBPF_FROM_REG, .reg = (n)
#define CFA(n) .from = WCBPF_FROM_CFA, .at = (n)
#define U(n) .type = WCBPF_VALUE_UINT, .bytes = (n)
#define S(n) .type = WCBPF_VALUE_INT, .bytes = (n)
#define BITS(n, from) .bit_n = (n), .bit_at = (from)
#define MEMORY(n) .memory = 1, .last = (n)
#define STRING .type = WCBPF_VALUE_STRING, .bytes = WCBPF_VALUE_BYTES_MAX
#define TWO_WORDS .type = WCBPF_VALUE_GO_STRING, .bytes = WCBPF_VALUE_BYTES_MAX

static void expect_fetch(const struct wcbpf_fetch *got, const struct wcbpf_fetch *want, const char *value)
{
	cr_expect_eq(got->from, want->from, "%s: from %d", value, got->from);
	cr_expect_eq(got->reg, want->reg, "%s: reg %d", value, got->reg);
	cr_expect_eq(got->reg2, want->reg2, "%s: reg2 %d", value, got->reg2);
	cr_expect_eq(got->at, want->at, "%s: at %lld", value, (long long)got->at);
	cr_expect_eq(got->type, want->type, "%s: type %d", value, got->type);
	cr_expect_eq(got->bytes, want->bytes, "%s: bytes %d", value, got->bytes);
	cr_expect_eq(got->bit_n, want->bit_n, "%s: bit_n %d", value, got->bit_n);
	cr_expect_eq(got->bit_at, want->bit_at, "%s: bit_at %d", value, got->bit_at);
	cr_expect_eq(got->memory, want->memory, "%s: memory %d", value, got->memory);
	cr_expect_eq(got->last, want->last, "%s: last %d", value, got->last);
	cr_expect_eq(got->deref_n, want->deref_n, "%s: deref_n %d", value, got->deref_n);
	for (size_t i = 0; i < want->deref_n; i++)
		cr_expect_eq(got->deref[i], want->deref[i], "%s: deref[%zu] %d", value, i, got->deref[i]);
}

static void expect_value(const char *path, const char *args, const char *value, int exit,
			 const struct wcbpf_fetch *want, enum probe_format format)
{
	_cleanup_(probe_set_freep) struct probe_set *s = NULL;
	_cleanup_(probe_plan_freep) struct probe_plan *p = NULL;
	char text[512];
	const struct probe_site *site;

	snprintf(text, sizeof(text), "[op f]\nsymbol = f\n%s\nident = {%s}\n", args, value);
	s = plans_set(text, NULL);
	p = plans_resolve(s, path);
	site = plans_site(p, exit ? WCBPF_SITE_EXIT : WCBPF_SITE_ENTRY, 0);
	cr_assert(site && site->wire.fetch_n == 1, "%s: %s", value, plans_notes(p));
	cr_expect_eq(plans_site(p, exit ? WCBPF_SITE_ENTRY : WCBPF_SITE_EXIT, 0)->wire.fetch_n, 0);
	expect_fetch(&site->wire.fetch[0], want, value);
	cr_assert_eq(p->points[0].ident.n, 1);
	cr_expect_eq(p->points[0].ident.v[0].value, exit ? 8 : 0, "%s", value);
	cr_expect_eq(p->points[0].ident.v[0].format, format, "%s: format %d", value, p->points[0].ident.v[0].format);
}

struct row {
	const char *args, *value;
	int exit;
	struct wcbpf_fetch fetch;
	enum probe_format format;
};

static void expect_rows(const struct row *rows, size_t n)
{
	const char *path = build_compile("f", "-O1 -s -rdynamic", fixture);

	for (size_t i = 0; i < n; i++)
		expect_value(path, rows[i].args, rows[i].value, rows[i].exit, &rows[i].fetch, rows[i].format);
}

Test(values, bits)
{
	static const struct row rows[] = {
		{"", "%di:b4@2/8", 0, {REG(5), U(1), BITS(4, 2)}, PROBE_FORMAT_TYPE},
		{"", "%di:b64@0/64", 0, {REG(5), U(8), BITS(64, 0)}, PROBE_FORMAT_TYPE},
		{"", "+6(%di):b1@15/16", 0, {REG(5), U(2), BITS(1, 15), MEMORY(6)}, PROBE_FORMAT_TYPE},
		{"", "$arg8:b0x10@3/32", 0, {CFA(8), U(4), BITS(16, 3), MEMORY(0)}, PROBE_FORMAT_TYPE},
		{"", "$retval:b5@3/8", 1, {REG(0), U(1), BITS(5, 3)}, PROBE_FORMAT_TYPE},
		{"", "%bp:b5@3/8@exit", 1, {REG(6), U(1), BITS(5, 3)}, PROBE_FORMAT_TYPE},
	};

	expect_rows(rows, sizeof(rows) / sizeof(*rows));
}

Test(values, notation)
{
	static const struct row rows[] = {
		{"", "%di", 0, {REG(5), U(8)}, PROBE_FORMAT_POINTER},
		{"", "%rdi:u32", 0, {REG(5), U(4)}, PROBE_FORMAT_TYPE},
		{"", "%edi", 0, {REG(5), U(4)}, PROBE_FORMAT_POINTER},
		{"", "%si:s16", 0, {REG(4), S(2)}, PROBE_FORMAT_TYPE},
		{"", "%di:string", 0, {REG(5), STRING}, PROBE_FORMAT_TYPE},
		{"", "+0(%di):string", 0, {REG(5), STRING, MEMORY(0)}, PROBE_FORMAT_TYPE},
		{"", "+8(%si):string", 0, {REG(4), STRING, MEMORY(8)}, PROBE_FORMAT_TYPE},
		{"", "+8(%si)", 0, {REG(4), U(8), MEMORY(8)}, PROBE_FORMAT_POINTER},
		{"", "+u8(%si):u8", 0, {REG(4), U(1), MEMORY(8)}, PROBE_FORMAT_TYPE},
		{"", "-16(%si):s64", 0, {REG(4), S(8), MEMORY(-16)}, PROBE_FORMAT_TYPE},
		{"", "+0(+8(%si)):u32", 0, {REG(4), U(4), MEMORY(0), .deref_n = 1, .deref = {8}}, PROBE_FORMAT_TYPE},
		{"",
		 "+4(+0x10(-8(%dx))):x16",
		 0,
		 {REG(1), U(2), MEMORY(4), .deref_n = 2, .deref = {-8, 16}},
		 PROBE_FORMAT_POINTER},
		{"",
		 "+0(+8(%si)):string",
		 0,
		 {REG(4), STRING, MEMORY(0), .deref_n = 1, .deref = {8}},
		 PROBE_FORMAT_TYPE},
		{"", "%di:x8[16]", 0, {REG(5), .type = WCBPF_VALUE_BYTES, .bytes = 16}, PROBE_FORMAT_TYPE},
		{"",
		 "+4(%di):u8[32]",
		 0,
		 {REG(5), .type = WCBPF_VALUE_BYTES, .bytes = 32, MEMORY(4)},
		 PROBE_FORMAT_TYPE},
		{"", "%di:string[20]", 0, {REG(5), .type = WCBPF_VALUE_STRING, .bytes = 20}, PROBE_FORMAT_TYPE},
		{"", "%di:str", 0, {REG(5), .reg2 = 4, TWO_WORDS}, PROBE_FORMAT_TYPE},
		{"", "+16(%di):gostring", 0, {REG(5), TWO_WORDS, MEMORY(16)}, PROBE_FORMAT_TYPE},
		{"", "$arg1", 0, {REG(5), U(8)}, PROBE_FORMAT_POINTER},
		{"", "$arg4:s32", 0, {REG(2), S(4)}, PROBE_FORMAT_TYPE},
		{"", "$arg6", 0, {REG(9), U(8)}, PROBE_FORMAT_POINTER},
		{"", "$arg7", 0, {CFA(0), U(8), MEMORY(0)}, PROBE_FORMAT_POINTER},
		{"", "$arg8:u32", 0, {CFA(8), U(4), MEMORY(0)}, PROBE_FORMAT_TYPE},
		{"", "$arg8:string", 0, {CFA(8), STRING, .deref_n = 1, .deref = {0}}, PROBE_FORMAT_TYPE},
		{"", "+24($arg8)", 0, {CFA(8), U(8), MEMORY(24), .deref_n = 1, .deref = {0}}, PROBE_FORMAT_POINTER},
		{"", "$stack", 0, {CFA(-8), U(8)}, PROBE_FORMAT_POINTER},
		{"", "%sp", 0, {CFA(-8), U(8)}, PROBE_FORMAT_POINTER},
		{"", "$stack0", 0, {CFA(-8), U(8), MEMORY(0)}, PROBE_FORMAT_POINTER},
		{"", "$stack3:u32", 0, {CFA(-8), U(4), MEMORY(24)}, PROBE_FORMAT_TYPE},
		{"", "$retval", 1, {REG(0), U(8)}, PROBE_FORMAT_POINTER},
		{"", "$retval:s32", 1, {REG(0), S(4)}, PROBE_FORMAT_TYPE},
		{"", "+8($ret2):u64", 1, {REG(1), U(8), MEMORY(8)}, PROBE_FORMAT_TYPE},
		{"", "+0(%bp):u8@exit", 1, {REG(6), U(1), MEMORY(0)}, PROBE_FORMAT_TYPE},
		/* with types stated */
		{"args = a ptr, b int, c string", "a", 0, {REG(5), U(8)}, PROBE_FORMAT_POINTER},
		{"args = a ptr, b int, c string", "b", 0, {REG(4), S(4)}, PROBE_FORMAT_TYPE},
		{"args = a ptr, b int, c string", "c", 0, {REG(1), STRING}, PROBE_FORMAT_TYPE},
		{"args = a ptr, x double, b u16", "b", 0, {REG(4), U(2)}, PROBE_FORMAT_TYPE},
		{"args = s str, b bool", "s", 0, {REG(5), .reg2 = 4, TWO_WORDS}, PROBE_FORMAT_TYPE},
		{"args = s str, b bool", "b", 0, {REG(1), U(1)}, PROBE_FORMAT_TYPE},
		{"args = s str, b bool", "s.len", 0, {REG(4), U(8)}, PROBE_FORMAT_TYPE},
		{"args = s str, b bool", "+3(s):u8", 0, {REG(5), U(1), MEMORY(3)}, PROBE_FORMAT_TYPE},
		{"args = ptr, ptr, ptr, ptr, ptr, ptr, x ptr, n s16",
		 "n",
		 0,
		 {CFA(8), S(2), MEMORY(0)},
		 PROBE_FORMAT_TYPE},
		{"args = a ptr\nlet x = +8(a)",
		 "+16(x)",
		 0,
		 {REG(5), U(8), MEMORY(16), .deref_n = 1, .deref = {8}},
		 PROBE_FORMAT_POINTER},
		{"results = n int", "n", 1, {REG(0), S(4)}, PROBE_FORMAT_TYPE},
		{"results = n long, p ptr", "p", 1, {REG(1), U(8)}, PROBE_FORMAT_POINTER},
		/* the first that can be had: there is no debug information */
		{"args = a ptr", "a->x.y | +40(a):u16", 0, {REG(5), U(2), MEMORY(40)}, PROBE_FORMAT_TYPE},
	};

	expect_rows(rows, sizeof(rows) / sizeof(*rows));
}

/* Only what is the same in all is fetched once: not other bits of the same number. */
Test(values, fetched_once)
{
	static const struct {
		const char *ident;
		size_t n;
	} rows[] = {
		{"{%di:u32} {%di:u32}", 1},	       {"{%di:u32} {%di:s32}", 2},
		{"{%di:b3@0/32} {%di:b3@0/32}", 1},    {"{%di:b3@0/32} {%di:b4@0/32}", 2},
		{"{%di:b3@0/32} {%di:b3@1/32}", 2},    {"{%di:b3@0/32} {%di:b3@0/16}", 2},
		{"{%di:b3@0/32} {+0(%di):b3@0/32}", 2}, {"{%di:b32@0/32} {%di:u32}", 2},
	};
	const char *path = build_compile("f", "-O1 -s -rdynamic", fixture);

	for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
		_cleanup_(probe_set_freep) struct probe_set *s = NULL;
		_cleanup_(probe_plan_freep) struct probe_plan *p = NULL;
		char text[128];

		snprintf(text, sizeof(text), "[op f]\nsymbol = f\nident = %s\n", rows[i].ident);
		s = plans_set(text, NULL);
		p = plans_resolve(s, path);
		cr_expect_eq(plans_site(p, WCBPF_SITE_ENTRY, 0)->wire.fetch_n, rows[i].n, "%s", rows[i].ident);
	}
}

static void expect_refusal(const char *path, const char *args, const char *value, const char *why)
{
	_cleanup_(probe_set_freep) struct probe_set *s = NULL;
	_cleanup_(probe_plan_freep) struct probe_plan *p = NULL;
	char text[512];

	snprintf(text, sizeof(text), "[op f]\nsymbol = f\n%s\nident = x{%s}\n", args, value);
	s = plans_set(text, NULL);
	p = plans_resolve(s, path);
	cr_assert_eq(p->point_n, 1, "it is probed nevertheless");
	cr_expect_eq(p->points[0].ident.n, 0, "%s: nothing half", value);
	cr_expect(plans_has_note(p, "test:4: f: ident:", why), "%s: %s", value, plans_notes(p));
}

Test(values, refused)
{
	const char *path = build_compile("f", "-O1 -s -rdynamic", fixture);

	expect_refusal(path, "", "who", "names of arguments need debug information");
	expect_refusal(path, "", "$arg1->x", "fields by name need debug information");
	expect_refusal(path, "", "$ret3", "there is no such result");
	expect_refusal(path, "args = a ptr", "$arg2", "the profile states only 1");
	expect_refusal(path, "args = a ptr, b double", "b", "floating-point");
	expect_refusal(path, "args = a ptr, b struct{x; y}, c ptr", "c", "doesn't follow from the types");
	expect_refusal(path, "args = ptr, ptr, ptr, ptr, ptr, s str", "s", "doesn't follow from the types");
	expect_refusal(path, "", "@0x1000", "fixed one (no PIE");
	expect_refusal(path, "", "+1(+1(+1(+1(+1(+1(+1(+1(%di))))))))", "more than 6 pointers");
	expect_refusal(path, "", "%r15:str", "no register follows %r15");
}

/* An address is known where a program is always at the same place. */
Test(values, fixed_address)
{
	static const struct wcbpf_fetch number = {.from = WCBPF_FROM_CONST, .at = 0x404010, U(4), MEMORY(0)};
	static const struct wcbpf_fetch text = {.from = WCBPF_FROM_CONST, .at = 0x404010, STRING};
	const char *path = build_compile("f", "-O1 -s -rdynamic -no-pie", fixture);

	expect_value(path, "", "@0x404010:u32", 0, &number, PROBE_FORMAT_TYPE);
	expect_value(path, "", "@0x404010:string", 0, &text, PROBE_FORMAT_TYPE);
}

/* Constants need no slot; what they decide is decided. */
Test(values, constants)
{
	static const char text[] = "[op f]\nsymbol = f\nargs = a ptr\nclass = {$symbol} in {$file}\n"
				   "ident = n{\\5}{a->x | \\\"none\"}{\\-7}\n"
				   "outcome = hit if \\1 == 2, joined if a->x | \\3 == 3, ok\n";
	_cleanup_(probe_set_freep) struct probe_set *s = plans_set(text, NULL);
	_cleanup_(probe_plan_freep) struct probe_plan *p =
		plans_resolve(s, build_compile("prog", "-O1 -s -rdynamic", fixture));
	static const char *const class[] = {"f", " in ", "prog"}, *const ident[] = {"n", "5", "none", "-7"};
	const struct probe_point *point = &p->points[0];

	cr_assert_eq(p->point_n, 1);
	cr_assert_eq(point->class.n, 3);
	for (size_t i = 0; i < 3; i++)
		cr_expect_str_eq(point->class.v[i].literal, class[i]);
	cr_assert_eq(point->ident.n, 4);
	for (size_t i = 0; i < 4; i++) {
		cr_expect_eq(point->ident.v[i].value, -1);
		cr_expect_str_eq(point->ident.v[i].literal, ident[i]);
	}
	cr_assert_eq(point->outcome.n, 2);
	cr_expect_eq(point->outcome.v[0].word, OUTCOME_JOINED);
	cr_expect_eq(point->outcome.v[0].cmp, PROBE_ALWAYS);
	cr_expect_eq(plans_site(p, WCBPF_SITE_ENTRY, 0)->wire.fetch_n, 0);
}

/* One value in several texts is one fetch; conditions are numbers. */
Test(values, shared_and_compared)
{
	static const char text[] =
		"[wait f]\nsymbol = f\nargs = a ptr, s str, n int, c string\nresults = r int\n"
		"target = t:{a}\nresource = {a}{n}\nreason = lazy if s, lock if n >= -3, call_exec if c == NULL, io\n"
		"only = n != 4 or a\n";
	_cleanup_(probe_set_freep) struct probe_set *s = plans_set(text, NULL);
	_cleanup_(probe_plan_freep) struct probe_plan *p =
		plans_resolve(s, build_compile("f", "-O1 -s -rdynamic", fixture));
	const struct probe_point *point = &p->points[0];
	const struct wcbpf_site *w = &plans_site(p, WCBPF_SITE_ENTRY, 0)->wire;
	static const struct {
		uint8_t word, cmp;
		int64_t than;
		struct wcbpf_fetch fetch;
	} want[] = {
		{REASON_LAZY, PROBE_NE, 0, {REG(1), U(8)}},
		{REASON_LOCK, PROBE_GE, -3, {REG(2), S(4)}},
		{REASON_CALL_EXEC, PROBE_EQ, 0, {REG(8), U(8)}},
	};

	cr_assert_eq(point->reason.n, 4);
	cr_expect_eq(point->reason.v[3].cmp, PROBE_ALWAYS);
	cr_expect_eq(point->reason.v[3].word, REASON_IO);
	for (size_t i = 0; i < 3; i++) {
		cr_expect_eq(point->reason.v[i].word, want[i].word);
		cr_expect_eq(point->reason.v[i].cmp, want[i].cmp);
		cr_expect_eq(point->reason.v[i].than, want[i].than);
		expect_fetch(&w->fetch[point->reason.v[i].value], &want[i].fetch, "reason");
	}
	cr_assert_eq(point->only.n, 2);
	cr_expect_eq(point->only.v[0].than, 4);
	cr_expect_eq(point->only.v[0].value, point->reason.v[1].value);
	cr_expect_eq(point->target.v[1].value, point->resource.v[0].value);
}

/* With debug information names and fields are enough. */
Test(values, debug_information)
{
	static const char source[] =
		"struct in { char tag[8]; unsigned short port; };\n"
		"struct req { long id; struct in *in; const char *name; struct in here; };\n"
		"__attribute__((noinline)) int f(int n, struct req *r) { __asm__ volatile(\"\");\n"
		"return n + r->in->port + r->name[0] + r->here.port; }\n"
		"int main(void) { struct in i = {.port = 1}; struct req r = {1, &i, \"x\"}; return f(1, &r); }\n";
	static const struct wcbpf_fetch port = {REG(4), U(2), MEMORY(8), .deref_n = 1, .deref = {8}};
	static const struct wcbpf_fetch name = {REG(4), STRING, .deref_n = 1, .deref = {16}};
	static const struct wcbpf_fetch inside = {REG(4), U(2), MEMORY(32)}, n = {REG(5), S(4)};
	static const struct wcbpf_fetch third = {REG(1), S(4)};
	const char *path = build_compile("f", "-O1 -g", source);

	expect_value(path, "", "n", 0, &n, PROBE_FORMAT_TYPE);
	expect_value(path, "", "r->in->port", 0, &port, PROBE_FORMAT_TYPE);
	expect_value(path, "", "$arg2->in->port", 0, &port, PROBE_FORMAT_TYPE);
	expect_value(path, "args = a int, b ptr", "b->in->port | +1(b)", 0, &port, PROBE_FORMAT_TYPE);
	expect_value(path, "", "r->name", 0, &name, PROBE_FORMAT_TYPE);
	expect_value(path, "", "r->here.port", 0, &inside, PROBE_FORMAT_TYPE);
	expect_refusal(path, "", "r->nope", "nope");
	expect_refusal(path, "", "$arg2->nope", "req has no field nope");
	/* What lies in the registers of arguments that it has not is anybody's, unless the profile knows better. */
	expect_refusal(path, "", "$arg3", "it has only 2 arguments");
	expect_refusal(path, "", "$arg9:string", "it has only 2 arguments");
	expect_value(path, "args = a int, b ptr, c int", "$arg3", 0, &third, PROBE_FORMAT_TYPE);
}

/* One that may be handed more than it declares has them where the rules say. */
Test(values, more_than_is_declared)
{
	static const char source[] = "#include <stdarg.h>\n"
				     "__attribute__((noinline)) int f(int n, ...) { va_list ap; va_start(ap, n);\n"
				     "n += va_arg(ap, int); va_end(ap); return n; }\n"
				     "int main(void) { return f(1, 2); }\n";
	static const struct wcbpf_fetch second = {REG(4), U(8)};

	expect_value(build_compile("f", "-O1 -g", source), "", "$arg2", 0, &second, PROBE_FORMAT_POINTER);
}
