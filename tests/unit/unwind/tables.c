/* SPDX-License-Identifier: (LGPL-2.1 OR BSD-2-Clause) */
/*
 * What the unwind tables of given files come to, and how long they take:
 *
 *   unwind-tables FILE...
 *   unwind-tables --check [FILE...]
 *
 * One line a file: rows, bytes of rows and of directory entries as the BPF
 * programs have them, distinct rules, seconds; then the rules that the tables
 * can't express, by form, as libdw gives them. With --check all rows of the
 * files (without any: of some programs with their libraries) are compared with
 * libdw's frames; the unit tests do that for some of them.
 */
#include <dwarf.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "twin.h"
#include "util/cleanup.h"

#define FORMS_MAX 1000

struct form {
	char text[200];
	size_t n;
	uint64_t bytes, example;
};

static struct form forms[FORMS_MAX];
static size_t form_n;

static void put_ops(char *to, size_t size, const Dwarf_Op *ops, size_t n, bool with_offset)
{
	for (size_t i = 0; i < n; i++) {
		size_t at = strlen(to);
		uint8_t a = ops[i].atom;

		if (a == DW_OP_bregx)
			snprintf(to + at, size - at, with_offset ? " r%lu%+ld" : " r%lu+N", ops[i].number,
				 (long)ops[i].number2);
		else if (a >= DW_OP_breg0 && a <= DW_OP_breg31)
			snprintf(to + at, size - at, with_offset ? " r%d%+ld" : " r%d+N", a - DW_OP_breg0,
				 (long)ops[i].number);
		else if (a >= DW_OP_lit0 && a <= DW_OP_lit31)
			snprintf(to + at, size - at, " %d", a - DW_OP_lit0);
		else if (a == DW_OP_call_frame_cfa)
			snprintf(to + at, size - at, " cfa");
		else if (a == DW_OP_plus_uconst)
			snprintf(to + at, size - at, " %+ld", (long)ops[i].number);
		else if (a == DW_OP_regx)
			snprintf(to + at, size - at, " in-r%lu", ops[i].number);
		else
			snprintf(to + at, size - at, " op%02x", a);
	}
}

static void put_register(char *to, size_t size, const char *name, Dwarf_Frame *frame, int reg)
{
	Dwarf_Op mem[3], *ops;
	size_t n, at = strlen(to);

	snprintf(to + at, size - at, "; %s", name);
	at = strlen(to);
	if (dwarf_frame_register(frame, reg, mem, &ops, &n))
		snprintf(to + at, size - at, " unreadable");
	else if (!n)
		snprintf(to + at, size - at, ops ? " undefined" : " same");
	else
		put_ops(to, size, ops, n, true);
}

static void describe(Dwarf_Frame *frame, char *to, size_t size)
{
	Dwarf_Op *ops;
	size_t n;
	bool is_signal;

	*to = '\0';
	if (!frame) {
		snprintf(to, size, "libdw can't run it");
		return;
	}
	dwarf_frame_info(frame, NULL, NULL, &is_signal);
	snprintf(to, size, is_signal ? "signal; cfa" : "cfa");
	if (dwarf_frame_cfa(frame, &ops, &n) || !n)
		snprintf(to + strlen(to), size - strlen(to), " unreadable");
	else
		put_ops(to, size, ops, n, n > 2);
	put_register(to, size, "ra", frame, 16);
	put_register(to, size, "rsp", frame, 7);
}

static void count_form(const char *text, uint64_t vaddr, uint64_t bytes)
{
	size_t i = 0;

	while (i < form_n && strcmp(forms[i].text, text))
		i++;
	if (i == FORMS_MAX)
		return;
	if (i == form_n) {
		snprintf(forms[i].text, sizeof(forms[i].text), "%s", text);
		forms[i].n = forms[i].bytes = 0;
		forms[i].example = vaddr;
		form_n++;
	}
	forms[i].n++;
	forms[i].bytes += bytes;
}

static void print_forms(const char *path, const struct unwind_rows *rows)
{
	struct twin_file f;
	size_t lost_bp = 0, lost_bx = 0;

	form_n = 0;
	if (!twin_open(path, &f))
		return;
	for (size_t i = 0; i + 1 < rows->n; i++) {
		const struct unwind_row *r = &rows->v[i];
		char text[200];

		lost_bp += r->rule.bp == WCBPF_SAVED_LOST;
		lost_bx += r->rule.bx == WCBPF_SAVED_LOST;
		if (r->rule.cfa != WCBPF_CFA_UNSUPPORTED)
			continue;
		Dwarf_Frame *frame = twin_frame(&f, r->vaddr);

		describe(frame, text, sizeof(text));
		free(frame);
		count_form(text, r->vaddr, rows->v[i + 1].vaddr - r->vaddr);
	}
	for (size_t i = 0; i < form_n; i++)
		printf("      %6zu rows %7lu bytes of code, first at %lx: %s\n", forms[i].n,
		       (unsigned long)forms[i].bytes, (unsigned long)forms[i].example, forms[i].text);
	if (lost_bp || lost_bx)
		printf("      rows that lose rbp: %zu, rbx: %zu\n", lost_bp, lost_bx);
	twin_close(&f);
}

static double now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

static void print_file(const char *path)
{
	_cleanup_(closep) int fd = open(path, O_RDONLY | O_CLOEXEC);
	struct unwind_rows *rows;
	struct unwind_store *store;
	struct unwind_place place;
	struct twin_store memory;
	double begin = now();
	uint64_t bytes;
	uint32_t rule_n;
	int err = fd < 0 ? fd : unwind_rows_read(fd, &rows);

	if (err) {
		printf("%s: %s\n", path, strerror(-err));
		return;
	}
	double read = now();

	twin_store_init(&memory);
	if (unwind_store_new(&memory.memory, &store) || unwind_store_add(store, rows, &place)) {
		printf("%s: no room\n", path);
		exit(1);
	}
	double stored = now();

	unwind_store_size(store, &bytes, &rule_n);
	printf("%s: %zu rows, %.2f MB (of it directory %.1f KB), %u rules, read in %.3f s, stored in %.3f s,"
	       " unsupported %zu\n",
	       path, rows->n, (double)bytes / 1e6, place.page_n * sizeof(struct wcbpf_dir) / 1e3, rule_n, read - begin,
	       stored - read, rows->unsupported_n);
	print_forms(path, rows);
	unwind_store_free(store);
	twin_store_done(&memory);
	unwind_rows_free(rows);
}

/* 0: right, 1: wrong, 2: nothing to compare. */
static int check_file(const char *path)
{
	_cleanup_(closep) int fd = open(path, O_RDONLY | O_CLOEXEC);
	struct unwind_rows *rows;
	struct twin_file f;
	const char *wrong;
	uint64_t vaddr;
	size_t n;
	int err = fd < 0 ? fd : unwind_rows_read(fd, &rows);

	if (err == -ENOENT || err == -ENOEXEC)
		return 2;
	if (err || !twin_open(path, &f)) {
		printf("FAILED %s: %s\n", path, strerror(-err));
		return 1;
	}
	wrong = twin_compare_rows(rows, &f, 0, &vaddr, &n);
	if (wrong)
		printf("FAILED %s: at %lx: %s\n", path, (unsigned long)vaddr, wrong);
	else
		printf("ok %s: %zu rows, compared at %zu addresses, unsupported %zu\n", path, rows->n, n,
		       rows->unsupported_n);
	twin_close(&f);
	unwind_rows_free(rows);
	return wrong ? 1 : 0;
}

static int check(char **paths, size_t n)
{
	char *found[TWIN_OBJECTS_MAX];
	unsigned int results[3] = { 0 };

	if (!n) {
		n = twin_objects(found);
		paths = found;
	}
	for (size_t i = 0; i < n; i++) {
		results[check_file(paths[i])]++;
		if (paths == found)
			free(found[i]);
	}
	printf("tables: %u passed, %u failed, 0 skipped\n", results[0], results[1] + !results[0]);
	return results[1] || !results[0];
}

int main(int argc, char **argv)
{
	if (argc > 1 && !strcmp(argv[1], "--check"))
		return check(argv + 2, (size_t)argc - 2);
	for (int i = 1; i < argc; i++)
		print_file(argv[i]);
	return 0;
}
