/* SPDX-License-Identifier: (LGPL-2.1 OR BSD-2-Clause) */
/* Names of C++ and Rust for people; whatever else is left alone; nothing takes gigabytes. */
#include <criterion/criterion.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "build.h"
#include "objfile/objfile.h"
#include "util/cleanup.h"

static void check(const char *mangled, const char *want)
{
	_cleanup_(freep) char *got = objfile_demangle(mangled);

	if (!want)
		cr_assert_null(got, "%s became %s", mangled, got ? got : "");
	else
		cr_assert(got && !strcmp(got, want), "%s became %s, not %s", mangled, got ? got : "nothing", want);
}

Test(demangle, cxx)
{
	check("_Z3foov", "foo()");
	check("_ZN5outer5innerC1Eic", "outer::inner::inner(int, char)");
	check("_ZN1AclEic", "A::operator()(int, char)");
	check("_ZNSt6vectorIiSaIiEE9push_backEOi", "std::vector<int, std::allocator<int> >::push_back(int&&)");
	check("_ZTv0_n24_N1BD1Ev", "virtual thunk to B::~B()");
	check("_Z3foov.cold", "foo() [clone .cold]");
	check("_ZZ4mainENKUlvE_clEv", "main::{lambda()#1}::operator()() const");
	check("_GLOBAL__sub_I_x", NULL);
}

Test(demangle, rust_legacy)
{
	check("_ZN4core3fmt5Write9write_fmt17h0123456789abcdefE", "core::fmt::Write::write_fmt");
	check("_ZN71_$LT$Test$u20$$u2b$$u20$$u27$static$u20$as$u20$foo..Bar$LT$Test$GT$$GT$3bar17h930b740aa94f1d3aE",
	      "<Test + 'static as foo::Bar<Test>>::bar");
	check("_ZN4main4main17he714a2e23ed7db23E.llvm.1234567890", "main::main");
	check("_ZN4main4main28_$u7b$$u7b$closure$u7d$$u7d$17h0123456789abcdefE", "main::main::{{closure}}");
}

Test(demangle, rust_v0)
{
	check("_RNvCs1234_7mycrate3foo", "mycrate::foo");
	check("_RNCNvC4main4main0", "main::main::{closure#0}");
	check("_RINvNtC3std3mem8align_ofdE", "std::mem::align_of::<f64>");
	check("_RNvMs0_NtCs5l0EXQi9Wo1_21rustc_data_structures17obligation_forestINtB5_16ObligationForestNtNtNtCsdozMG8X9FIu_"
	      "21rustc_trait_selection6traits7fulfill26PendingPredicateObligationE22register_obligation_atB1v_",
	      "<rustc_data_structures::obligation_forest::ObligationForest<rustc_trait_selection::traits::fulfill::"
	      "PendingPredicateObligation>>::register_obligation_at");
}

/* All functions of a program of rustc's, in a scheme of its own and its standard library's. */
static void check_rustc(const char *options)
{
	static const char source[] =
		"trait Run { fn run(&self, f: &dyn Fn(u32) -> u32) -> u32; }\n"
		"struct W<T>(T);\n"
		"impl<T: Copy + Into<u64>> Run for W<T> {\n"
		"\t#[inline(never)] fn run(&self, f: &dyn Fn(u32) -> u32) -> u32 { f(self.0.into() as u32) } }\n"
		"#[inline(never)] fn apply<F: Fn(u32) -> u32>(f: F, x: u32) -> u32 { f(x) + 1 }\n"
		"fn main() { let n = std::env::args().count() as u32;\n"
		"\tprintln!(\"{}\", W(n).run(&|x| apply(|y| y * 3, x)) + W(n as u8).run(&|x| x + 1)); }\n";
	_cleanup_(fclosep) FILE *f = fopen(build_path("g.rs"), "we");
	_cleanup_(freep) char *names = NULL;
	size_t n = 0, closures = 0, generic = 0;
	char *save;

	fputs(source, f);
	fclose(TAKE_PTR(f));
	build_run("RUSTC_BOOTSTRAP=1 rustc --crate-name gen -C opt-level=0 %s -o %s %s", options, build_path("g"), build_path("g.rs"));
	names = build_output("nm %s | awk '$2 ~ /[Tt]/ && $3 ~ /^(_R|_ZN)/ {print $3}'", build_path("g"));
	for (char *name = strtok_r(names, "\n", &save); name; name = strtok_r(NULL, "\n", &save)) {
		_cleanup_(freep) char *got = objfile_demangle(name);

		cr_assert(got && strncmp(got, "_R", 2) && !strstr(got, "_ZN") && !strstr(got, "17h"), "%s: %s", name,
			  got);
		n++;
		closures += !strncmp(got, "gen::main::{", strlen("gen::main::{")) && strstr(got, "closure");
		generic += strstr(got, "gen::W<") && strstr(got, "gen::Run>::run");
	}
	cr_assert(n > 100 && closures >= 1 && generic >= 2, "%s: %zu, %zu, %zu", options, n, closures, generic);
}

Test(demangle, rustc, .init = build_begin, .fini = build_end)
{
	if (system("rustc --version >/dev/null 2>&1"))
		cr_skip_test("no rustc");
	check_rustc("-C symbol-mangling-version=v0");
	check_rustc("-Z unstable-options -C symbol-mangling-version=legacy");
}

Test(demangle, others_are_left_alone)
{
	static const char *const names[] = { "", "main", "_Z", "_R", "_ZN", "_start", "_RNv", "pthread_cond_wait",
					     "main.main", "runtime.mcall", "Z3foov", "_ZN4core", "_Z3foov_", "\xff\xfe" };

	for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++)
		check(names[i], NULL);
}

/* Against c++filt (-i: std::istream, not what it is short for), for every C++ name that a library exports. */
Test(demangle, all_of_libstdcxx)
{
	_cleanup_(freep) char *names = NULL;
	_cleanup_(freep) char *want = NULL;
	char *name, *name_save, *line, *line_save;
	size_t n = 0;

	names = build_output("nm -D --defined-only --without-symbol-versions $(gcc -print-file-name=libstdc++.so.6) | "
			     "awk '$3 ~ /^_Z/ {print $3}'");
	want = build_output("nm -D --defined-only --without-symbol-versions $(gcc -print-file-name=libstdc++.so.6) | "
			    "awk '$3 ~ /^_Z/ {print $3}' | c++filt -i");
	for (name = strtok_r(names, "\n", &name_save), line = strtok_r(want, "\n", &line_save); name && line;
	     name = strtok_r(NULL, "\n", &name_save), line = strtok_r(NULL, "\n", &line_save), n++)
		check(name, strcmp(name, line) ? line : NULL);
	cr_assert_null(name);
	cr_assert_null(line);
	cr_assert_gt(n, 3000);
}

/* Each template argument is the pair of the one before with itself: 60 steps would print 2^60 names. */
Test(demangle, bombs)
{
	char bomb[4096] = "_Z1fI1A";
	struct timespec a, b;
	_cleanup_(freep) char *got = NULL;
	_cleanup_(freep) char *deep = NULL;
	size_t at = strlen(bomb);

	at += (size_t)sprintf(bomb + at, "1BIS_S_E");
	for (int i = 0; i < 60; i++)
		at += (size_t)sprintf(bomb + at, "1CIS%c_S%c_E", i < 10 ? '0' + i : 'A' + i % 26, i < 10 ? '0' + i : 'A' + i % 26);
	sprintf(bomb + at, "Evv");
	clock_gettime(CLOCK_MONOTONIC, &a);
	got = objfile_demangle(bomb);
	cr_assert(!got || strlen(got) < (64 << 10));
	deep = malloc(200001);
	memset(deep, 'P', 200000);
	memcpy(deep, "_Z1f", 4);
	deep[200000] = '\0';
	check(deep, NULL);
	deep[16000] = '\0';
	free(objfile_demangle(deep));
	clock_gettime(CLOCK_MONOTONIC, &b);
	cr_assert_lt(b.tv_sec - a.tv_sec, 5);
}

Test(demangle, random_bytes)
{
	static const char alphabet[] = "_ZNRKISTtvcifE0123456789LXJBCDpPFO$.";
	char name[64];

	srand(7);
	for (int i = 0; i < 30000; i++) {
		size_t n = 2 + (size_t)rand() % 60;

		memcpy(name, i & 1 ? "_Z" : "_R", 2);
		for (size_t j = 2; j < n; j++)
			name[j] = alphabet[(size_t)rand() % (sizeof(alphabet) - 1)];
		name[n] = '\0';
		free(objfile_demangle(name));
	}
}
