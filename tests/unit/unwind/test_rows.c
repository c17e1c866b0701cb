/* SPDX-License-Identifier: (LGPL-2.1 OR BSD-2-Clause) */
/*
 * The tables of files as they are installed, against libdw at the same
 * addresses: all of the small, a sample of the large ones ("unwind-tables
 * --check" does all).
 */
#include <criterion/criterion.h>
#include <errno.h>
#include <fcntl.h>
#include <link.h>
#include <stdio.h>
#include <string.h>
#include <sys/auxv.h>

#include "../objfile/build.h"
#include "twin.h"
#include "unwind/rows.h"

#define ROWS_MAX 1000

Test(rows, as_libdw_says)
{
	char *paths[TWIN_OBJECTS_MAX];
	size_t n = twin_objects(paths), compared = 0, unsupported = 0, rows_n = 0;

	cr_assert_gt(n, 5);
	for (size_t i = 0; i < n; i++) {
		_cleanup_(freep) char *path = paths[i];
		_cleanup_(closep) int fd = open(path, O_RDONLY | O_CLOEXEC);
		_cleanup_(unwind_rows_freep) struct unwind_rows *rows = NULL;
		struct twin_file f;
		const char *wrong;
		uint64_t vaddr;
		size_t at_n;
		int err = unwind_rows_read(fd, &rows);

		if (err == -ENOEXEC || err == -ENOENT)
			continue; /* a script; a library of stubs */
		cr_assert_eq(err, 0, "%s: %s", path, strerror(-err));
		cr_assert(twin_open(path, &f));
		wrong = twin_compare_rows(rows, &f, ROWS_MAX, &vaddr, &at_n);
		cr_assert_null(wrong, "%s: at %lx: %s", path, (unsigned long)vaddr, wrong);
		compared += at_n;
		rows_n += rows->n;
		unsupported += rows->unsupported_n;
		twin_close(&f);
	}
	cr_assert_gt(compared, 10000);
	/* Hand-written assembly, of libcrypto above all. */
	cr_assert_lt(unsupported, rows_n / 200, "%zu of %zu", unsupported, rows_n);
}

Test(rows, vdso, .init = build_begin, .fini = build_end)
{
	const char *image = (const char *)getauxval(AT_SYSINFO_EHDR), *path = build_path("vdso.so");
	struct unwind_rows *rows;
	struct twin_file f;
	const char *wrong;
	uint64_t vaddr;
	ElfW(Ehdr) ehdr;
	size_t n;

	if (!image)
		cr_skip_test("no vDSO");
	memcpy(&ehdr, image, sizeof(ehdr));
	FILE *to = fopen(path, "we");

	n = ehdr.e_shoff + (size_t)ehdr.e_shnum * ehdr.e_shentsize;
	cr_assert_eq(fwrite(image, 1, n, to), n);
	fclose(to);
	cr_assert_eq(unwind_rows_read_vdso(&rows), 0);
	cr_assert(twin_open(path, &f));
	wrong = twin_compare_rows(rows, &f, 0, &vaddr, &n);
	cr_assert_null(wrong, "at %lx: %s", (unsigned long)vaddr, wrong);
	cr_assert_gt(n, 20);
	twin_close(&f);
	unwind_rows_free(rows);
}

/* ---- laid over each other: against each address by itself ---- */

static struct wcbpf_rule rule_of(int kind)
{
	return kind ? (struct wcbpf_rule){ .cfa = WCBPF_CFA_SP, .cfa_off = 8 * kind } : (struct wcbpf_rule){ 0 };
}

/* Random rules for addresses 0 to 255, and rows that say so; false: no rule at all. */
static bool make_rows(int *kinds, struct unwind_rows **ret)
{
	static const struct wcbpf_rule none;
	struct rows_builder b;

	cr_assert_eq(rows_begin(&b), 0);
	for (int i = 0, kind = 0; i < 256; i++) {
		if (rand() % 8 == 0)
			kind = rand() % 4;
		kinds[i] = kind;
		struct wcbpf_rule rule = rule_of(kind);

		cr_assert_eq(rows_put(&b, (uint64_t)i, &rule), 0);
	}
	cr_assert_eq(rows_put(&b, 256, &none), 0);
	int err = rows_end(&b, ret);

	if (err)
		unwind_rows_free(b.rows);
	return !err;
}

Test(rows, overlay)
{
	int first[256], second[256];

	srand(11);
	for (int round = 0; round < 300; round++) {
		struct unwind_rows *a, *b, *both;

		if (!make_rows(first, &a) || !make_rows(second, &b))
			continue;
		cr_assert_eq(rows_overlay(a, b, &both), 0);
		for (int i = 0; i < 256; i++) {
			struct wcbpf_rule is = twin_rule(both, (uint64_t)i);
			struct wcbpf_rule want = rule_of(first[i] ? first[i] : second[i]);

			cr_assert_eq(memcmp(&is, &want, sizeof(is)), 0, "at %d", i);
		}
		for (size_t i = 1; i < both->n; i++)
			cr_assert(memcmp(&both->v[i].rule, &both->v[i - 1].rule, sizeof(struct wcbpf_rule)));
		cr_assert_eq(both->v[both->n - 1].rule.cfa, WCBPF_CFA_NONE);
		unwind_rows_free(a);
		unwind_rows_free(b);
		unwind_rows_free(both);
	}
}
