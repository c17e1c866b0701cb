/* SPDX-License-Identifier: (LGPL-2.1 OR BSD-2-Clause) */
/* Go programs, stripped: functions by Go's tables, values by what a profile states, return probes refused, the runtime. */
#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../objfile/build.h"
#include "../objfile/go.h"
#include "plans.h"

TestSuite(go_probes, .init = build_begin, .fini = build_end, .timeout = 200);

/* A function's extent, by nm of the twin that has its symbols; named as nm does it. */
static void extent(const char *name, uint64_t *start, uint64_t *end)
{
	_cleanup_(freep) char *text =
		build_output("nm -S %s | awk '$4 == \"%s\" {print $1, $2}'", go_program("plain"), name);
	unsigned long long v, size;

	cr_assert_eq(sscanf(text, "%llx %llx", &v, &size), 2, "%s", name);
	*start = v;
	*end = v + size;
}

/* The RETs there, by objdump. */
static size_t ret_n(uint64_t start, uint64_t end)
{
	_cleanup_(freep) char *text =
		build_output("objdump -d --no-show-raw-insn --start-address=%#lx --stop-address=%#lx %s | "
			     "grep -c '\tret'",
			     start, end, go_program("plain"));

	return strtoul(text, NULL, 10);
}

Test(go_probes, sites)
{
	static const char *const names[] = {"main.recovers", "main.deep", "main.inner", "os.(*File).Write"};

	for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++) {
		_cleanup_(probe_set_freep) struct probe_set *s = NULL;
		_cleanup_(probe_plan_freep) struct probe_plan *p = plans_inline(go_program("stripped"), names[i], &s);
		const struct probe_site *entry = plans_site(p, WCBPF_SITE_ENTRY, 0);
		uint64_t start, end;

		extent(names[i], &start, &end);
		cr_assert_not_null(entry, "%s: %s", names[i], plans_notes(p));
		cr_expect_eq(entry->function, start, "%s", names[i]);
		cr_expect(entry->vaddr >= start && entry->vaddr < end, "%s", names[i]);
		/* The way back from where the stack grows leads to the begin: an entry there would be hit twice. */
		cr_expect(!entry->repeats || entry->condition >= 0, "%s: %s", names[i], entry->text);
		cr_expect_eq(plans_site_n(p, WCBPF_SITE_EXIT), ret_n(start, end), "%s", names[i]);
		cr_expect_str_eq(entry->symbol, names[i]);
	}
}

/* Where Go's convention puts them: ax, bx, cx, di, si, r8, ... are DWARF's 0, 3, 2, 5, 4, 8. */
Test(go_probes, values)
{
	static const char text[] = "[op r]\nsymbol = main.recovers\nargs = n int, name string, w iface, more "
				   "slice\nresults = v iface, err error\n"
				   "ident = {n} {name} {more.len} {+8(w)} {+16(name):u8} {$arg2.len}\n"
				   "outcome = error if err != nil, hit if w, ok\n";
	static const struct {
		uint8_t type, reg, reg2, memory;
		uint16_t bytes;
		int32_t last;
	} want[] = {
		{WCBPF_VALUE_INT, 0, 0, 0, 8, 0},   {WCBPF_VALUE_GO_STRING, 3, 2, 0, WCBPF_VALUE_BYTES_MAX, 0},
		{WCBPF_VALUE_INT, 9, 0, 0, 8, 0},   {WCBPF_VALUE_UINT, 4, 0, 1, 8, 8},
		{WCBPF_VALUE_UINT, 3, 0, 1, 1, 16}, {WCBPF_VALUE_INT, 2, 0, 0, 8, 0},
		{WCBPF_VALUE_UINT, 5, 0, 0, 8, 0},
	};
	_cleanup_(probe_set_freep) struct probe_set *s = plans_set(text, NULL);
	_cleanup_(probe_plan_freep) struct probe_plan *p = plans_resolve(s, go_program("stripped"));
	const struct probe_site *entry = plans_site(p, WCBPF_SITE_ENTRY, 0), *exit = plans_site(p, WCBPF_SITE_EXIT, 0);

	cr_assert(entry && exit, "%s", plans_notes(p));
	cr_assert_eq(entry->wire.fetch_n, sizeof(want) / sizeof(*want), "%s", plans_notes(p));
	for (size_t i = 0; i < entry->wire.fetch_n; i++) {
		const struct wcbpf_fetch *f = &entry->wire.fetch[i];

		cr_expect(f->from == WCBPF_FROM_REG && f->reg == want[i].reg && f->memory == want[i].memory &&
				  f->bytes == want[i].bytes && f->last == want[i].last,
			  "%zu: reg %d", i, f->reg);
		cr_expect(f->type == want[i].type ||
			  (f->type != WCBPF_VALUE_GO_STRING && want[i].type != WCBPF_VALUE_GO_STRING));
		cr_expect(f->type != WCBPF_VALUE_GO_STRING || f->reg2 == want[i].reg2);
	}
	/* The second result's type word: the third register. */
	cr_assert_eq(exit->wire.fetch_n, 1);
	cr_expect_eq(exit->wire.fetch[0].reg, 2);
}

static void expect_left_out(const char *text, const char *a, const char *b)
{
	_cleanup_(probe_set_freep) struct probe_set *s = NULL;
	_cleanup_(probe_plan_freep) struct probe_plan *p = plans_inline(go_program("stripped"), text, &s);

	cr_expect_eq(p->point_n, 1);
	cr_expect(plans_has_note(p, a, b), "%s", plans_notes(p));
}

Test(go_probes, refused)
{
	_cleanup_(probe_set_freep) struct probe_set *s = NULL, *first = NULL;
	_cleanup_(probe_plan_freep) struct probe_plan *p = NULL, *q = NULL;

	p = plans_inline(go_program("stripped"), "main.recovers exit=return", &s);
	cr_expect_eq(p->point_n, 0);
	cr_expect(plans_has_note(p, "main.recovers", "a return probe would kill a Go program"), "%s", plans_notes(p));
	expect_left_out("main.recovers ident={$arg2}", "{$arg2} is left out", "depends on the types before it");
	expect_left_out("main.recovers args='c char' ident={c}", "{c} is left out", "'char' is no type of Go");
	/* The first one needs no statement. */
	q = plans_inline(go_program("stripped"), "main.recovers ident={$arg1}", &first);
	cr_expect_eq(plans_site(q, WCBPF_SITE_ENTRY, 0)->wire.fetch[0].reg, 0);
}

/* main.once is nowhere but in others; Go's own tables know where. */
Test(go_probes, inlined)
{
	_cleanup_(probe_set_freep) struct probe_set *s = NULL;
	_cleanup_(probe_plan_freep) struct probe_plan *p = plans_inline(go_program("stripped"), "main.once", &s);
	const struct probe_plan *plans[] = {p};
	struct probe_note *notes;
	size_t n;

	cr_expect_eq(p->point_n, 0);
	cr_assert_eq(probe_set_missing(s, plans, 1, &notes, &n), 0);
	cr_assert_eq(n, 1);
	cr_expect_not_null(strstr(notes[0].text, "-e: main.once: exists only inlined into others, at "), "%s",
			   notes[0].text);
	probe_notes_free(notes, n);
}

static size_t runtime_n(const struct probe_plan *p)
{
	size_t n = 0;

	for (size_t i = 0; i < p->site_n; i++)
		n += p->sites[i].point == PROBE_NO_POINT;
	return n;
}

Test(go_probes, runtime)
{
	static const struct {
		enum wcbpf_site_kind kind;
		const char *symbol;
	} want[] = {{WCBPF_SITE_GO_PARK, "runtime.gopark"},
		    {WCBPF_SITE_GO_EXECUTE, "runtime.execute"},
		    {WCBPF_SITE_GO_BORN, "runtime.newproc1"}};
	_cleanup_(probe_set_freep) struct probe_set *s = NULL, *none = NULL;
	_cleanup_(freep) char *why = NULL;
	_cleanup_(probe_plan_freep) struct probe_plan *p = plans_inline(go_program("stripped"), "main.recovers", &s),
						      *q = NULL;

	cr_assert(p->has_layout && p->follows_go && !p->layout.unfollowed, "%s", plans_notes(p));
	cr_expect_gt(p->go_reason_n, 10);
	for (size_t i = 0; i < sizeof(want) / sizeof(*want); i++) {
		const struct probe_site *site = plans_site(p, want[i].kind, 0);
		uint64_t start, end;

		cr_assert_not_null(site, "%s", want[i].symbol);
		extent(want[i].symbol, &start, &end);
		cr_expect(site->vaddr >= start && site->vaddr < end, "%s", want[i].symbol);
	}
	for (size_t i = 0; i < p->site_n; i++)
		cr_expect(p->sites[i].go);
	none = plans_set(NULL, "main.recovers");
	cr_assert_eq(probe_set_add(none, "none", &why), 0);
	q = plans_resolve(none, go_program("stripped"));
	/* Ops are of goroutines all the same. */
	cr_expect(q->has_layout && q->layout.unfollowed && q->layout.goid == p->layout.goid, "%s", plans_notes(q));
	cr_expect(!q->follows_go && runtime_n(q) == 0 && q->point_n == 1 && q->sites[0].go);
	cr_expect(plans_has_note(q, "its runtime is not probed", ""), "%s", plans_notes(q));
}

/* Whichever way wakes are seen with this release, the other works too. */
Test(go_probes, wakes)
{
	_cleanup_(probe_set_freep) struct probe_set *s = plans_set(NULL, "main.recovers");

	for (int by_status = 0; by_status < 2; by_status++) {
		_cleanup_(objfile_freep) struct objfile *o = NULL;
		_cleanup_(objfile_go_freep) struct objfile_go *g = NULL;
		_cleanup_(probe_plan_freep) struct probe_plan *p = NULL;
		struct probe_object object = {.path = "stripped", .is_program = true,
					      .go_wakes = by_status ? PROBE_GO_WAKES_BY_STATUS : PROBE_GO_WAKES_BY_READY};

		cr_assert_eq(objfile_open_path(-1, go_program("stripped"), &o), 0);
		cr_assert_eq(objfile_go_open(o, &g), 0);
		object.file = o;
		object.go = g;
		cr_assert_eq(probe_resolve(s, &object, &p), 0);
		cr_assert(p->follows_go, "%s", plans_notes(p));
		cr_expect_eq(p->layout.wakes_by_status, by_status);
		cr_expect_eq(plans_site_n(p, WCBPF_SITE_GO_STATUS), (size_t)by_status);
		cr_expect_eq(plans_site_n(p, WCBPF_SITE_GO_READY), (size_t)!by_status);
		cr_expect_eq(plans_site_n(p, WCBPF_SITE_GO_NETREADY), 1);
	}
}

/* The program as if another version of Go had built it. */
static const char *program_of(const char *version)
{
	const char *copy = build_path("version");
	size_t n;
	unsigned char *file = build_read(go_program("stripped"), &n), *at = memmem(file, n, "\xff Go buildinf:", 14);
	FILE *out = fopen(copy, "we");

	cr_assert(at && !memcmp(at + 33, "go1.", 4) && out);
	memcpy(at + 33, version, strlen(version));
	cr_assert_eq(fwrite(file, 1, n, out), n);
	fclose(out);
	free(file);
	return copy;
}

/* Where goroutines can't be told apart each call would nest in whatever its thread ran before. */
Test(go_probes, unknown_runtime)
{
	_cleanup_(probe_set_freep) struct probe_set *s = plans_set(NULL, "main.recovers"),
						    *none = plans_set(NULL, "main.recovers");
	_cleanup_(probe_plan_freep) struct probe_plan *p = NULL, *q = NULL;
	_cleanup_(freep) char *why = NULL;
	const char *path = program_of("go1.98");
	struct probe_note *notes;
	size_t n;

	p = plans_resolve(s, path);
	cr_expect(!p->has_layout && !p->follows_go && !p->site_n && !p->point_n);
	cr_expect(plans_has_note(p, "-e: main.recovers: not probed: which goroutine calls it can't be known", "1.98"), "%s",
		  plans_notes(p));
	cr_expect(plans_has_note(p, "goroutines can't be followed", "1.98"), "%s", plans_notes(p));
	/* That is all there is to say. */
	cr_assert_eq(probe_set_missing(s, (const struct probe_plan *[]){p}, 1, &notes, &n), 0);
	cr_expect_eq(n, 0);
	probe_notes_free(notes, n);
	cr_assert_eq(probe_set_add(none, "none", &why), 0);
	q = plans_resolve(none, path);
	cr_expect(!q->site_n && plans_has_note(q, "main.recovers: not probed", "1.98"), "%s", plans_notes(q));
}

/* What C code has in the register is nothing of Go's. */
Test(go_probes, code_of_c)
{
	_cleanup_(probe_set_freep) struct probe_set *s = NULL;
	_cleanup_(probe_plan_freep) struct probe_plan *p = plans_inline(go_program("c"), "_cgo_*_Cfunc_work", &s);

	cr_assert_not_null(plans_site(p, WCBPF_SITE_ENTRY, 0), "%s", plans_notes(p));
	for (size_t i = 0; i < p->site_n; i++)
		cr_expect_eq(p->sites[i].go, p->sites[i].point == PROBE_NO_POINT);
}
