/* SPDX-License-Identifier: (LGPL-2.1 OR BSD-2-Clause) */
/* What is a profile and what is none: each error in its own words, with its line, and all of them at once. */
#include <criterion/criterion.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "plans.h"

TestSuite(profile, .timeout = 60);

#define BEFORE "[op a]\nsymbol = f\n"

static void expect_good(const char *text)
{
	_cleanup_(probe_set_freep) struct probe_set *s = NULL;
	_cleanup_(freep) char *why = NULL;

	cr_assert_eq(probe_set_new(&s), 0);
	cr_expect_eq(probe_set_add_text(s, "p", text, strlen(text), &why), 0, "%s\n%s", text, why ? why : "");
	cr_expect(!probe_set_is_empty(s));
}

/* The whole complaint. */
static void expect_bad(const char *text, const char *complaint)
{
	_cleanup_(probe_set_freep) struct probe_set *s = NULL;
	_cleanup_(freep) char *why = NULL;

	cr_assert_eq(probe_set_new(&s), 0);
	cr_expect_eq(probe_set_add_text(s, "p", text, strlen(text), &why), -EINVAL, "%s", text);
	cr_expect_not_null(why);
	if (why)
		cr_expect(!strncmp(why, complaint, strlen(complaint)), "%s\ngave     %s\nexpected %s", text, why,
			  complaint);
	cr_expect(probe_set_is_empty(s), "nothing of a bad profile is kept");
}

Test(profile, good)
{
	expect_good(BEFORE);
	expect_good("# a comment\n\n  \t\nabout = x\ntried = y # z\nfile = libc | program\nlanguage = native\n" BEFORE);
	expect_good(BEFORE
		    "kind=call_exec\nwork=user\nclass=c {$arg1:string} {{x}}\nident={%di}\nclient={+8(%si):u32}\n"
		    "meta=\" two blanks \"\nkey=k:{$arg1}\noutcome=error if $retval:s32 < 0, hit if $retval == 1, ok\n"
		    "hosts=yes\nroot=no\nstack=yes\nonly=$arg2 != 0 or $arg3 >= -5\nexit=return\noptional=yes\n");
	expect_good(
		"[wait w]\nsymbol = f\ntarget = x:{$arg1}\nreason = singleflight if $arg2, call_exec\nwait_kind = a_b\n"
		"contended = yes\n");
	expect_good("[lock l]\nsymbol = f\nresource = m:{$arg1}\n");
	expect_good("[begin b]\nsymbol = f\n[end e]\nsymbol = g\noutcome = ok\n");
	expect_good("[begin b]\nusdt = p:n\nkey = {$arg1}\n[end e]\nusdt = p:m\nkey = {$arg1}\n");
	expect_good("[op u]\nusdt = p:a\nusdt_end = p:b\nident = {$arg1@exit}\n");
	expect_good("[key k]\nsymbol = f\nkey = r:{$retval}\n");
	expect_good("[span s]\nsymbol = f\ntrace = {+0(%ax):x8[16]@exit}\nspan = x\n");
	expect_good(BEFORE "args = ctx iface, s string, t struct{*T; int}, m [2]int, *T, r ptr\nresults = error\n"
			   "let first = r->x | +8(r)\nident = {first} {s} {r->a.b[3]} {r{*main.T}->c}\n");
	expect_good(BEFORE "args = a ptr, \\\n  b ptr\nident = {b}\r\n");
	expect_good(BEFORE "ident = {%di:b4@2/8} {+4($arg2):b22@10/32} {$retval:b1@63/64} {%bp:b3@0/16@exit}\n"
			   "outcome = error if %di:b1@3/8 == 1, ok\n");
	expect_good("[op with blanks]\nsymbol = ns::f(int, char const*)\n");
	expect_good(BEFORE "ident = a\\#b #c\n");
	expect_good(BEFORE "ident = {$arg1:string || +8($arg2):string && \\\":\" || \\\"x\"} {$arg1 | $arg2||$arg3}\n");
	expect_good(BEFORE "inherits = class, client\nunder = x\nnested = {$arg1:string}\n");
	expect_good("[key k]\nsymbol = f\ntarget = x:{$arg1}\nident = {$arg2:string}\noutcome = error if $arg3\n");
	expect_good("[wait w]\nsymbol = f\ntarget = x:{$arg1}\nonce = yes\nunder = x\n");
	expect_good("include = otel\n" BEFORE);
	expect_good("include = otel\n");
}

Test(profile, bad)
{
	static const struct {
		const char *text, *complaint;
	} bad[] = {
		{"", "p: there is no section in it"},
		{"symbol = f\n", "p:1: symbol: before the first section"},
		{"about = x\n", "p: there is no section"},
		{"[op a\nsymbol = f\n", "p:1: [op a: ']' is missing"},
		{"[op]\nsymbol = f\n", "p:1: [op]: a section begins with its role and its name"},
		{"[opp a]\nsymbol = f\n", "p:1: 'opp': one of op, begin"},
		{"[op a]\n", "p:1: symbol is missing"},
		{"[op a]\nsymbol f\n", "p:2: symbol f: 'key = value' was expected"},
		{BEFORE "symbl = g\n", "p:3: symbl: no such key (is it 'symbol'?)"},
		{BEFORE "cla = g\n", "p:3: cla: no such key"},
		{BEFORE "kind = x\n", "p:3: kind = x: call, call_exec"},
		{BEFORE "work = x\n", "p:3: work = x: engine"},
		{BEFORE "kind = io\nkind = io\n", "p:4: kind: given before, in line 3"},
		{BEFORE "target = x\n", "p:3: target: not of a section of the kind [op]"},
		{BEFORE "contended = maybe\n", "p:3: contended: not of a section"},
		{BEFORE "root = maybe\n", "p:3: root = maybe: yes or no"},
		{BEFORE "exit = never\n", "p:3: exit = never: all"},
		{BEFORE "language = cobol\n", "p:3: language = cobol: go, native"},
		{BEFORE "file = a ||b\n", "p:3: 'a ||b': a file's name is missing"},
		{BEFORE "symbol = *\n", "p:3: '*': every function there is"},
		{BEFORE "symbol =\n", "p:3: the symbol's name is missing"},
		{BEFORE "symbol = f@\n", "p:3: 'f@': a version was expected"},
		{BEFORE "usdt = p\n", "p:3: usdt = p: PROVIDER:NAME"},
		{BEFORE "usdt = p:n\nusdt_end = p:m\n", "p:1: either symbol or usdt"},
		{"[op a]\nusdt = p:n\n", "p:1: a marker is a moment"},
		{"[begin a]\nusdt = p:n\nkey = {$retval}\n", "p:1: a marker (usdt) has no results"},
		{"[key a]\nsymbol = f\n", "p:1: key is missing"},
		{"[span a]\nsymbol = f\ntrace = x\n", "p:1: a span is known by its ids"},
		{BEFORE "ident = {$arg0}\n", "p:3: $arg0: arguments and results are counted from 1"},
		{BEFORE "ident = {$argx}\n", "p:3: $argx: no such variable"},
		{BEFORE "ident = {$comm}\n", "p:3: $comm: the thread's name"},
		{BEFORE "ident = {$arg1\n", "p:3: '{$arg1': '}' was expected"},
		{BEFORE "ident = {%eip}\n", "p:3: %eip: no register"},
		{BEFORE "ident = {+8(%di}\n", "p:3: ')' is missing"},
		{BEFORE "ident = {+8%di}\n", "p:3: '(' was expected behind the offset 8"},
		{BEFORE "ident = {+99999999999(%di)}\n", "p:3: +99999999999: this offset is too large"},
		{BEFORE "ident = {+(%di)}\n", "p:3: '(%di)}': a number was expected"},
		{BEFORE "ident = {%di:u9}\n", "p:3: :u9: no such type"},
		{BEFORE "ident = {%di:x8[0]}\n", "p:3: :x8[0]: a length from 1"},
		{BEFORE "ident = {%di:u32[4]}\n", "p:3: :u32[4]: of arrays only those of bytes"},
		{BEFORE "ident = {%di->x}\n", "p:3: 'x': only arguments and results have fields"},
		{BEFORE "ident = {(+8($arg1))->x}\n", "p:3: '(+8($arg1))->x}': no value begins so"},
		{BEFORE "ident = {$arg1->}\n", "p:3: '}': a field's name was expected"},
		{BEFORE "ident = {$arg1@noon}\n", "p:3: @noon: a value is taken @entry or @exit"},
		{BEFORE "ident = {$arg1@exit}\n", "p:1: an argument's place may hold something else @exit"},
		{BEFORE "ident = {$retval@entry}\n", "p:3: a result is not there yet"},
		{BEFORE "ident = {$arg1 | $retval}\n", "p:3: of alternatives all must be taken at"},
		{BEFORE "ident = {\\\"x}\n", "p:3: \\\"x}: the text has no end"},
		{BEFORE "ident = a } b\n", "p:3: '} b': '}' without a '{'"},
		{BEFORE "args = a ptr\nident = {b}\n", "p:4: b: neither a name in args"},
		{BEFORE "args = a blah\n", "p:3: 'blah': no type"},
		{BEFORE "args = a ptr, a ptr\n", "p:3: a: a second argument"},
		{BEFORE "let x = $arg1\nlet x = $arg2\n", "p:4: let x: this name is taken"},
		{BEFORE "let 1-2 = $arg1\n", "p:3: let 1-2: a name was expected"},
		{BEFORE "let x = $arg1 $arg2\n", "p:3: let x: the end of the line was expected before '$arg2'"},
		{BEFORE "outcome = good\n", "p:3: 'good': one of hit, executed"},
		{BEFORE "outcome = ok, error if $retval\n", "p:3: 'error if $retval': never chosen"},
		{BEFORE "outcome = error if $retval < x\n", "p:3: 'x': a number was expected behind '<'"},
		{BEFORE "outcome = error if $arg1:string == 1\n", "p:3: '$arg1:string ': only numbers"},
		{BEFORE "only = $arg1 == 1 and $arg2\n", "p:3: 'and $arg2': 'or' or the end"},
		{"[begin a]\nsymbol = f\nat = entry\nkey = {$retval}\n",
		 "p:1: at = entry, but a value is only there at the exit"},
		{"[op a]\nsymbol = f\n[wait a]\nsymbol = f\n", "p:3: a: a second section of this name"},
		{BEFORE "ident = {$arg1 ||}\n", "p:3: '}': no value begins so"},
		{BEFORE "ident = {$arg1 && $arg2}\n", "p:3: '$arg2}': a text was expected behind '&&'"},
		{BEFORE "ident = {$arg1 & \\\"x\"}\n", "p:3: '{$arg1 ': '}' was expected before '& "},
		{BEFORE "inherits = class, ident\n", "p:3: inherits = class, ident: class, client or both"},
		{BEFORE "once = yes\n", "p:3: once: not of a section of the kind [op]"},
		{"[key k]\nsymbol = f\ntarget = x\n", "p:1: key is missing (or ident, class"},
		{"include = others\n" BEFORE, "p:1: include = others: no profile that comes with wcbpf"},
	};

	for (size_t i = 0; i < sizeof(bad) / sizeof(*bad); i++)
		expect_bad(bad[i].text, bad[i].complaint);
}

Test(profile, bad_bits)
{
	static const struct {
		const char *text, *complaint;
	} bad[] = {
		{BEFORE "ident = {%di:b4}\n", "p:3: :b4}: of bits is said which"},
		{BEFORE "ident = {%di:b4@2}\n", "p:3: :b4@2}: of bits is said of how many, :b4@2/"},
		{BEFORE "ident = {%di:b4@/8}\n", "p:3: '/8}': a number was expected"},
		{BEFORE "ident = {%di:b4@2/12}\n", "p:3: :b4@2/12: bits of a number of 8, 16, 32 or 64"},
		{BEFORE "ident = {%di:b0@2/8}\n", "p:3: :b0@2/8: a number of 8 bits has no such"},
		{BEFORE "ident = {%di:b7@2/8}\n", "p:3: :b7@2/8: a number of 8 bits has no such"},
		{BEFORE "ident = {%di:b1@64/64}\n", "p:3: :b1@64/64: a number of 64 bits has no such"},
		{BEFORE "ident = {%di:b9223372036854775807@9223372036854775807/64}\n",
		 "p:3: :b9223372036854775807@9223372036854775807/64: a number of 64 bits has no such"},
		{BEFORE "ident = {%di:b18446744073709551615@1/64}\n",
		 "p:3: :b18446744073709551615@1/64: a number of 64 bits has no such"},
		{BEFORE "ident = {%di:b4@2/8[2]}\n", "p:3: '{%di:b4@2/8': '}' was expected"},
	};

	for (size_t i = 0; i < sizeof(bad) / sizeof(*bad); i++)
		expect_bad(bad[i].text, bad[i].complaint);
}

Test(profile, all_errors_at_once)
{
	static const char text[] =
		"[op a]\nsymbol = f\nkind = x\nnope = 1\n\n[op b]\nsymbol = g\n[wait c]\nroot = yes\n";
	_cleanup_(probe_set_freep) struct probe_set *s = NULL;
	_cleanup_(freep) char *why = NULL;

	cr_assert_eq(probe_set_new(&s), 0);
	cr_assert_eq(probe_set_add_text(s, "p", text, sizeof(text) - 1, &why), -EINVAL);
	cr_expect_not_null(strstr(why, "p:4: nope: no such key"), "%s", why);
	cr_expect_not_null(strstr(why, "p:9: root: not of a section of the kind [wait]"), "%s", why);
	free(TAKE_PTR(why));
	cr_expect_eq(probe_set_add_text(s, "p", "a\0b", 3, &why), -EINVAL);
	cr_expect_not_null(strstr(why, "this is no text"), "%s", why);
}

Test(profile, too_many_values)
{
	_cleanup_(probe_set_freep) struct probe_set *s = NULL;
	_cleanup_(freep) char *why = NULL;
	char text[512] = BEFORE "ident = ";

	for (int i = 1; i <= 9; i++)
		snprintf(text + strlen(text), sizeof(text) - strlen(text), "{$arg%d}", i);
	cr_assert_eq(probe_set_new(&s), 0);
	cr_expect_eq(probe_set_add_text(s, "p", text, strlen(text), &why), -EINVAL);
	cr_expect_not_null(strstr(why, "9 values at the entry; at most 8"), "%s", why);
}

/* Any cut of a good text is good or bad, and never anything worse; so is any text with one byte changed. */
Test(profile, mutations)
{
	static const char text[] =
		"about = x\n[op a]\nsymbol = (*T).f*\nargs = a ptr, s string\nlet q = a->b.c[2]{T}->d | +8(+0(a))\n"
		"class = {q} {{}} {s:gostring}\noutcome = error if $retval:s32 < -1, ok\nonly = a or s\n"
		"[lock l]\nsymbol = f@V_1\nresource = m:{@0x10:x8[4]|\\\"n\"}\n";

	for (size_t i = 0; i < sizeof(text); i++)
		for (int c = 0; c < 3; c++) {
			static const char changes[] = {'{', ' ', '='};
			_cleanup_(probe_set_freep) struct probe_set *s = NULL;
			_cleanup_(freep) char *why = NULL;
			char copy[sizeof(text)];
			int r;

			memcpy(copy, text, sizeof(text));
			if (i < sizeof(text) - 1)
				copy[i] = changes[c];
			cr_assert_eq(probe_set_new(&s), 0);
			r = probe_set_add_text(s, "p", c ? copy : text, c ? sizeof(text) - 1 : i, &why);
			cr_expect((r == 0) == (why == NULL) && (r == 0 || r == -EINVAL), "%zu: %d %s", i, r,
				  why ? why : "");
		}
}

Test(profile, inline)
{
	static const char *const good[] = {"f",
					   "libc:f",
					   "ns::f(int, char*)",
					   "libx.so:ns::f class=x",
					   "/a/b:f",
					   "main.(*T).f ident={$arg1:gostring} class='two words' kind=io",
					   "f@V_1 role=lock",
					   "usdt:python:gc__start role=begin",
					   "usdt:/usr/bin/p:python:gc__start role=key key=k",
					   "f outcome=\"error if $retval:s32 < 0, ok\" role=op",
					   " f "};
	static const struct {
		const char *text, *complaint;
	} bad[] = {
		{"", "-e: a function's name was expected"},
		{"f class", "-e: class: key=value was expected"},
		{"f clas=x", "-e: clas: no such key (is it 'class'?)"},
		{"f class='x", "-e: class=x: a quote has no end"},
		{"f role=x", "-e: 'x': one of op"},
		{"usdt:x", "-e: usdt:x: usdt:PROVIDER:NAME was expected"},
		{"f ident={$arg1", "-e: '{$arg1': '}' was expected before ''"},
	};

	for (size_t i = 0; i < sizeof(good) / sizeof(*good); i++)
		probe_set_free(plans_set(NULL, good[i]));
	for (size_t i = 0; i < sizeof(bad) / sizeof(*bad); i++) {
		_cleanup_(probe_set_freep) struct probe_set *s = NULL;
		_cleanup_(freep) char *why = NULL;

		cr_assert_eq(probe_set_new(&s), 0);
		cr_expect_eq(probe_set_add_inline(s, bad[i].text, &why), -EINVAL, "%s", bad[i].text);
		cr_expect(why && !strncmp(why, bad[i].complaint, strlen(bad[i].complaint)), "%s: %s", bad[i].text, why);
	}
}

Test(profile, files_and_none)
{
	_cleanup_(probe_set_freep) struct probe_set *s = NULL;
	_cleanup_(freep) char *why = NULL;
	char path[] = "/tmp/wcbpf-profile-XXXXXX";
	int fd = mkstemp(path);

	cr_assert_geq(fd, 0);
	cr_assert_eq(write(fd, BEFORE, strlen(BEFORE)), (ssize_t)strlen(BEFORE));
	close(fd);
	cr_assert_eq(probe_set_new(&s), 0);
	cr_expect(!probe_set_wants_go(s));
	cr_expect_eq(probe_set_add(s, path, &why), 0);
	cr_expect(probe_set_wants_go(s));
	cr_expect_eq(probe_set_add(s, "none", &why), 0);
	cr_expect(!probe_set_wants_go(s));
	cr_expect(probe_set_concerns(s, "/any/lib.so", false), "no file: any");
	unlink(path);
	cr_expect_eq(probe_set_add(s, "/nowhere/x.profile", &why), -ENOENT);
	cr_expect_not_null(strstr(why, "/nowhere/x.profile: No such file"), "%s", why);
	free(TAKE_PTR(why));
	cr_expect_eq(probe_set_add(s, "pthreads", &why), -ENOENT);
	cr_expect_not_null(strstr(why, "neither a profile that comes with wcbpf"), "%s", why);
}

/* What a profile includes is there once, and not at all if the profile is wrong. */
Test(profile, what_it_includes)
{
	static const char text[] = "include = otel\ninclude = otel\n" BEFORE, wrong[] = "include = otel\n[op a]\n";
	_cleanup_(probe_set_freep) struct probe_set *s = NULL, *otel = NULL;
	_cleanup_(freep) char *why = NULL;
	_cleanup_(probe_plan_freep) struct probe_plan *of_all = NULL, *of_otel = NULL;

	cr_assert_eq(probe_set_new(&s), 0);
	cr_assert_eq(probe_set_new(&otel), 0);
	cr_assert_eq(probe_set_add(otel, "otel", &why), 0);
	cr_expect_eq(probe_set_add_text(s, "w", wrong, strlen(wrong), &why), -EINVAL);
	cr_expect(probe_set_is_empty(s));
	free(TAKE_PTR(why));
	cr_assert_eq(probe_set_add_text(s, "p", text, strlen(text), &why), 0);
	cr_assert_eq(probe_set_add(s, "otel", &why), 0);
	of_all = plans_resolve(s, "/proc/self/exe");
	of_otel = plans_resolve(otel, "/proc/self/exe");
	cr_expect_eq(of_all->finding_n, of_otel->finding_n + 1);
}
