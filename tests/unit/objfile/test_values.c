/* SPDX-License-Identifier: (LGPL-2.1 OR BSD-2-Clause) */
/*
 * Each value is fetched from a running program, where a probe would, and must
 * be what the program's source says it is.
 */
#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>

#include "build.h"
#include "go.h"
#include "values.h"

TestSuite(values, .init = build_begin, .fini = build_end, .timeout = 200);

#define CHECK(program, cases, signature) values_check(program, cases, sizeof(cases) / sizeof(*(cases)), signature)

static const char c_source[] =
	"#include <stdint.h>\n"
	"struct inner { short s; const char *text; };\n"
	"struct big { int id; struct inner in; struct inner *next; char name[8]; unsigned bit : 3; uint8_t raw[4];\n"
	"             union { int u_int; float u_float; }; double d; int64_t table[3]; };\n"
	"struct pair { long a, b; };\n"
	"struct half { int a, b; };\n"
	"struct mixed { long a; double b; };\n"
	"struct wide { long a, b, c; };\n"
	"enum color { RED, GREEN = -7 };\n"
	"volatile int sink;\n"
	"#define KEEP __attribute__((noipa))\n"
	"KEEP int ints(int8_t a, uint16_t b, int c, unsigned long d, _Bool e, enum color f, long g, int h)\n"
	"{ sink = a + b + c + (int)d + e + f + (int)g + h; return -5; }\n"
	"KEEP const char *texts(const char *a, struct big *b, void *c)\n"
	"{ sink = a[0] + b->id + *(char *)c; return b->in.text; }\n"
	"KEEP struct pair pairs(struct pair p, struct half h, struct mixed m, struct wide w, double x, long last)\n"
	"{ sink = p.a + h.a + m.a + w.a + x + last; return (struct pair){ p.b, 77 }; }\n"
	"KEEP struct wide returned(long x, struct half *h)\n"
	"{ sink = h->b; return (struct wide){ x, 2, 3 }; }\n"
	"KEEP float number(float f, int after) { sink = after; return f; }\n"
	"int main(void)\n"
	"{\n"
	"  struct inner n = { -2, \"next\" };\n"
	"  struct big b = { 11, { 5, \"inner\" }, &n, \"abc\", 3, { 1, 2, 0xab, 4 }, .u_int = 99, .d = 1.5, .table = { 7, 8, -9 } };\n"
	"  struct half h = { 21, 22 };\n"
	"  ints(-1, 65535, -100000, 1ul << 40, 1, GREEN, 1234567890123, 42);\n"
	"  texts(\"hello\", &b, &b);\n"
	"  pairs((struct pair){ 1, 2 }, h, (struct mixed){ 3, 4.0 }, (struct wide){ 5, 6, 7 }, 8.0, 9);\n"
	"  returned(31, &h);\n"
	"  number(1.0f, 17);\n"
	"  return 0;\n"
	"}\n";

static const struct value_case c_cases[] = {
	{ "ints", "$arg1", "-1" },
	{ "ints", "$arg2", "65535" },
	{ "ints", "c", "-100000" },
	{ "ints", "$arg4", "1099511627776" },
	{ "ints", "e", "1" },
	{ "ints", "f", "-7" },
	{ "ints", "$arg7", "1234567890123" }, /* on the stack */
	{ "ints", "h", "42" },
	{ "ints", "$retval", "-5" },
	{ "ints", "$arg9", "!only 8 arguments" },
	{ "ints", "nobody", "!no argument named nobody" },
	{ "ints", "c.x", "!has no fields" },
	{ "ints", "arg1 ", "!no argument named arg1" },
	{ "ints", "$args", "!doesn't begin" },
	{ "texts", "a", "\"hello\"" },
	{ "texts", "a[1]", "101" },
	{ "texts", "b->id", "11" },
	{ "texts", "$arg2.in.text", "\"inner\"" },
	{ "texts", "b->next->s", "-2" },
	{ "texts", "b->next->text", "\"next\"" },
	{ "texts", "b->name", "\"abc\"" },
	{ "texts", "b->raw", "0102ab04" },
	{ "texts", "b->raw[2]", "171" },
	{ "texts", "b->u_int", "99" },
	{ "texts", "b->table[2]", "-9" },
	{ "texts", "b->table[3]", "!only 3 elements" },
	{ "texts", "b->bit", "3" },
	{ "texts", "b->bit.x", "!has no fields" },
	{ "texts", "b->d", "!floating point" },
	{ "texts", "b->in", "!structure" },
	{ "texts", "b->none", "!no field none" },
	{ "texts", "c->id", "!{TYPE}" },
	{ "texts", "c{big}->next->s", "-2" },
	{ "texts", "c{struct big}->id", "11" },
	{ "texts", "c{other}->id", "!no structure other" },
	{ "texts", "$retval", "\"inner\"" },
	{ "pairs", "p.b", "2" },
	{ "pairs", "h.a", "21" },
	{ "pairs", "h.b", "!a part of register" },
	{ "pairs", "m.a", "3" },
	{ "pairs", "m.b", "!" },
	{ "pairs", "w.c", "7" },
	{ "pairs", "x", "!" },
	{ "pairs", "last", "9" },
	{ "pairs", "$retval.b", "77" },
	{ "returned", "x", "31" },
	{ "returned", "h->b", "22" },
	{ "returned", "$retval.c", "3" },
	{ "number", "after", "17" },
	{ "number", "$retval", "!" },
};

Test(values, c_optimized)
{
	CHECK(build_compile("values", "-g -O2", c_source), c_cases, NULL);
}

Test(values, c_not_optimized)
{
	CHECK(build_compile("values", "-g -O0", c_source), c_cases, NULL);
}

Test(values, c_older_debug_information)
{
	CHECK(build_compile("values", "-gdwarf-4 -O1 -fcf-protection -no-pie -fno-omit-frame-pointer", c_source), c_cases,
	      NULL);
}

/* Bits in all places: across bytes, in structures without a name, in bases, with a sign, in registers, packed. */
static const char bits_source[] =
	"#include <stdint.h>\n"
	"enum level { LOW, MIDDLE, HIGH };\n"
	"struct in { uint64_t : 5; uint64_t far : 9; int64_t near : 4; };\n"
	"struct bits { char first; unsigned a : 3, b : 7; int c : 5, d : 30; _Bool yes : 1, no : 1; enum level level : 2;\n"
	"  uint64_t wide : 40, top : 24; uint8_t small : 2, rest : 6; union { struct { uint16_t : 9, deep : 7; }; int all; };\n"
	"  struct in in; struct bits *next; };\n"
	"struct __attribute__((packed)) tight { uint8_t x : 3; uint32_t y : 32; uint64_t z : 60; uint8_t w : 1; };\n"
	"struct word { uint32_t lo : 12, mid : 12, hi : 8; uint32_t second : 20; int32_t third : 12; };\n"
	"volatile int sink;\n"
	"#define KEEP __attribute__((noipa))\n"
	"KEEP int pointed(struct bits *s, struct tight *t) { sink = s->b + t->w; return 1; }\n"
	"KEEP int handed(struct word w, int after) { sink = w.mid + after; return 2; }\n"
	"int main(void)\n"
	"{\n"
	"  struct bits n = { .c = 15, .d = -1, .next = 0 };\n"
	"  struct bits s = { 'x', 5, 99, -7, -500000000, 1, 0, HIGH, 0xabcdef0123, 0x876543, 2, 61, .deep = 77,\n"
	"    .in = { 300, -8 }, .next = &n };\n"
	"  struct tight t = { 6, 0xdeadbeef, 0x123456789abcdef, 1 };\n"
	"  pointed(&s, &t);\n"
	"  handed((struct word){ 0xabc, 0xdef, 0x81, 0x98765, -1234 }, 5);\n"
	"  return 0;\n"
	"}\n";

static const struct value_case bits_cases[] = {
	{ "pointed", "s->first", "120" },
	{ "pointed", "s->a", "5" },
	{ "pointed", "s->b", "99" },
	{ "pointed", "s->c", "-7" },
	{ "pointed", "s->d", "-500000000" },
	{ "pointed", "s->yes", "1" },
	{ "pointed", "s->no", "0" },
	{ "pointed", "s->level", "2" },
	{ "pointed", "$arg1->wide", "737894400291" },
	{ "pointed", "s->top", "8873283" },
	{ "pointed", "s->small", "2" },
	{ "pointed", "s->rest", "61" },
	{ "pointed", "s->deep", "77" },
	{ "pointed", "s->in.far", "300" },
	{ "pointed", "s->in.near", "-8" },
	{ "pointed", "s->next->c", "15" },
	{ "pointed", "s->next->d", "-1" },
	{ "pointed", "s->next->a", "0" },
	{ "pointed", "t->x", "6" },
	{ "pointed", "t->y", "3735928559" },
	{ "pointed", "t->z", "81985529216486895" },
	{ "pointed", "t->w", "1" },
	{ "handed", "w.lo", "2748" },
	{ "handed", "w.mid", "3567" },
	{ "handed", "w.hi", "129" },
	{ "handed", "w.second", "624485" },
	{ "handed", "w.third", "-1234" },
	{ "handed", "after", "5" },
};

static void check_bits(const char *options)
{
	CHECK(build_compile("values", options, bits_source), bits_cases, NULL);
}

Test(values, bits_dwarf_5)
{
	check_bits("-gdwarf-5 -O2");
	check_bits("-gdwarf-5 -O0");
}

/* Strictly: what came later isn't used, and bits are counted from the highest. */
Test(values, bits_dwarf_4)
{
	check_bits("-gdwarf-4 -O2");
	check_bits("-gdwarf-4 -gstrict-dwarf -O0");
}

Test(values, bits_dwarf_3)
{
	check_bits("-gdwarf-3 -gstrict-dwarf -O1");
	check_bits("-gdwarf-3 -gstrict-dwarf -O0");
}

/* What the optimizer makes of a static function keeps names but not places. */
static const char clone_source[] =
	"volatile int sink;\n"
	"struct s { int unused, used; };\n"
	"static __attribute__((noinline)) int clone(int constant, struct s *s, int x) { sink = s->used * x + constant; return x; }\n"
	"int main(int argc, char **argv) { struct s s = { 1, 33 }; sink = clone(5, &s, argc + 50); return sink != 51; }\n";

Test(values, clones)
{
	const char *program = build_compile("clone", "-g -O2", clone_source);
	char *name = build_output("nm %s | sed -n 's/.* \\(clone[.a-z0-9]*\\)$/\\1/p'", program);
	struct value_case cases[] = { { name, "x", "51" }, { name, "constant", "!" } };

	name[strcspn(name, "\n")] = '\0';
	cr_assert_not_null(strchr(name, '.'), "the compiler has made no clone: %s", name);
	CHECK(program, cases, NULL);
	free(name);
}

static const char cxx_source[] =
	"#include <string>\n"
	"volatile int sink;\n"
	"#define KEEP __attribute__((noipa))\n"
	"namespace ns { struct Opaque; struct Base { virtual ~Base() {} int base = 61; };\n"
	"struct Other { long other = 62; };\n"
	"struct Derived : Base, Other { int own = 63; std::string text = \"a text that is not short\"; Opaque *opaque; \n"
	"  KEEP int method(int x, const std::string &s, std::string by_value, const int &n) const;\n"
	"  KEEP std::string give(int x) { sink = x; return text; } };\n"
	"struct Opaque { int inside = 64; }; }\n"
	"int ns::Derived::method(int x, const std::string &s, std::string by_value, const int &n) const\n"
	"{ sink = x + s.size() + by_value.size() + n + own; return sink; }\n"
	"int main() { ns::Derived d; ns::Opaque o; d.opaque = &o; int n = 65; d.method(3, \"short\", \"by value\", n);\n"
	"  return d.give(66).size() != 24; }\n";

static const struct value_case cxx_cases[] = {
	{ "_ZNK2ns7Derived6methodEiRKNSt7__cxx1112basic_stringIcSt11char_traitsIcESaIcEEES6_RKi", "this->own", "63" },
	{ "_ZNK2ns7Derived6methodEiRKNSt7__cxx1112basic_stringIcSt11char_traitsIcESaIcEEES6_RKi", "$arg1->base", "61" },
	{ "_ZNK2ns7Derived6methodEiRKNSt7__cxx1112basic_stringIcSt11char_traitsIcESaIcEEES6_RKi", "this->other", "62" },
	{ "_ZNK2ns7Derived6methodEiRKNSt7__cxx1112basic_stringIcSt11char_traitsIcESaIcEEES6_RKi", "this->text",
	  "\"a text that is not short\"" },
	{ "_ZNK2ns7Derived6methodEiRKNSt7__cxx1112basic_stringIcSt11char_traitsIcESaIcEEES6_RKi", "this->opaque->inside",
	  "64" },
	{ "_ZNK2ns7Derived6methodEiRKNSt7__cxx1112basic_stringIcSt11char_traitsIcESaIcEEES6_RKi", "this->opaque{ns::Opaque}->inside",
	  "64" },
	{ "_ZNK2ns7Derived6methodEiRKNSt7__cxx1112basic_stringIcSt11char_traitsIcESaIcEEES6_RKi", "x", "3" },
	{ "_ZNK2ns7Derived6methodEiRKNSt7__cxx1112basic_stringIcSt11char_traitsIcESaIcEEES6_RKi", "s", "\"short\"" },
	{ "_ZNK2ns7Derived6methodEiRKNSt7__cxx1112basic_stringIcSt11char_traitsIcESaIcEEES6_RKi", "by_value",
	  "\"by value\"" },
	{ "_ZNK2ns7Derived6methodEiRKNSt7__cxx1112basic_stringIcSt11char_traitsIcESaIcEEES6_RKi", "n", "65" },
	{ "_ZN2ns7Derived4giveB5cxx11Ei", "this->own", "63" },
	{ "_ZN2ns7Derived4giveB5cxx11Ei", "x", "66" },
	{ "_ZN2ns7Derived4giveB5cxx11Ei", "$retval", "\"a text that is not short\"" },
};

Test(values, cxx_optimized)
{
	CHECK(build_compile("values", "-xc++ -g -O2 -Wl,--no-as-needed -lstdc++", cxx_source), cxx_cases, NULL);
}

Test(values, cxx_not_optimized)
{
	CHECK(build_compile("values", "-xc++ -g -O0 -Wl,--no-as-needed -lstdc++", cxx_source), cxx_cases, NULL);
}

static const char rust_source[] =
	"fn black_box<T>(x: T) -> T { let y = unsafe { std::ptr::read_volatile(&x) }; std::mem::forget(x); y }\n"
	"pub struct Inner { pub id: u32, pub name: String }\n"
	"pub struct Big { pub a: i64, pub inner: Box<Inner>, pub c: [u16; 3] }\n"
	"#[no_mangle] #[inline(never)] pub fn plain(a: i32, s: &str, b: &Big, v: &[u32], t: &String, big: Big, last: u8) -> usize\n"
	"{ black_box(a); black_box(s); black_box(b); black_box(v); black_box(t); black_box(&big); black_box(last) as usize }\n"
	"#[no_mangle] #[inline(never)] pub fn pair(x: u64) -> &'static str { black_box(x); black_box(\"given back\") }\n"
	"#[no_mangle] #[inline(never)] pub fn large(x: u64) -> Big\n"
	"{ black_box(Big { a: x as i64, inner: Box::new(Inner { id: 4, name: String::from(\"n\") }), c: [7, 8, 9] }) }\n"
	"fn main() {\n"
	"  let big = large(81);\n"
	"  plain(black_box(-3), black_box(\"slice\"), &big, &[5, 6], &String::from(\"owned\"), large(82), 83);\n"
	"  pair(84);\n"
	"}\n";

static const struct value_case rust_cases[] = {
	{ "large", "x", "81" },
	{ "large", "$retval.c[2]", "9" },
	{ "plain", "a", "-3" },
	{ "plain", "s", "\"slice\"" },
	{ "plain", "s.len", "5" },
	{ "plain", "t[0]", "\"owned\"" },
	{ "plain", "big.a", "82" },
	{ "plain", "last", "83" },
	{ "plain", "b->inner->id", "4" },
	{ "plain", "b.inner.name", "\"n\"" },
	{ "plain", "v.len", "2" },
	{ "plain", "v[1]", "6" },
	{ "pair", "x", "84" },
	{ "pair", "$retval", "\"given back\"" },
};

static const char *build_rust(const char *options)
{
	const char *program = build_path("rust"), *source = build_path("rust.rs");
	FILE *f = fopen(source, "we");

	if (system("rustc --version >/dev/null 2>&1"))
		cr_skip_test("there is no rustc: Rust's values are not tested");
	cr_assert_not_null(f);
	fputs(rust_source, f);
	fclose(f);
	build_run("rustc -g %s -o %s %s 2>/dev/null", options, program, source);
	return program;
}

Test(values, rust_optimized)
{
	CHECK(build_rust("-O"), rust_cases, NULL);
}

Test(values, rust_not_optimized)
{
	CHECK(build_rust(""), rust_cases, NULL);
}

static const struct value_case go_cases[] = {
	{ "main.(*request).do", "$arg1->name", "\"the name\"" },
	{ "main.(*request).do", "r.inner.a", "-12" },
	{ "main.(*request).do", "r.b", "\"embedded\"" },
	{ "main.(*request).do", "r.n[1]", "34" },
	{ "main.(*request).do", "r.items[1].k", "56" },
	{ "main.(*request).do", "s", "\"a string\"" },
	{ "main.(*request).do", "s.len", "8" },
	{ "main.(*request).do", "data", "\"bytes\"" },
	{ "main.(*request).do", "data[1]", "121" },
	{ "main.(*request).do", "data.cap", "5" },
	{ "main.(*request).do", "any", "!structure" },
	{ "main.(*request).do", "any.data{main.inner}->a", "-78" },
	/* What doesn't fit goes to the stack, as does an array. */
	{ "main.(*request).do", "st.b", "91" },
	{ "main.(*request).do", "arr[1]", "93" },
	{ "main.(*request).do", "last", "94" },
	{ "main.(*request).do", "fl", "!" },
	{ "main.(*request).do", "$retval", "95" },
	{ "main.(*request).do", "$retval2", "\"result\"" },
	{ "main.(*request).do", "$retval3", "!only 2 results" },
	{ "main.many", "$arg10", "10" },
	{ "main.many", "$retval10", "20" },
};

Test(values, go)
{
	CHECK(go_program("values"), go_cases, NULL);
}

Test(values, go_not_optimized)
{
	CHECK(go_program("values-debug"), go_cases, NULL);
}

static const struct value_case go_signature_cases[] = {
	{ "main.(*request).do", "$arg2", "\"a string\"" },
	{ "main.(*request).do", "$arg2.len", "8" },
	{ "main.(*request).do", "$arg3", "\"bytes\"" },
	{ "main.(*request).do", "$arg3[1]", "121" },
	{ "main.(*request).do", "$arg5", "!interface" },
	{ "main.(*request).do", "$arg6.1", "91" },
	{ "main.(*request).do", "$arg7[1]", "93" },
	{ "main.(*request).do", "$arg8", "94" },
	{ "main.(*request).do", "$arg9", "!floating" },
	{ "main.(*request).do", "$retval", "95" },
	{ "main.(*request).do", "$retval2", "\"result\"" },
	{ "main.(*request).do", "$retval2.nothing", "!no field nothing" },
};

Test(values, go_by_signature)
{
	CHECK(go_program("values"), go_signature_cases,
	      "(r:*request, s:string, data:[]byte, f:func(int) (int, error), any:interface, st:struct{a:int; b:int}, "
	      "[2]int, uint8, float64) (int, string)");
}
