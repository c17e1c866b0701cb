/* SPDX-License-Identifier: (LGPL-2.1 OR BSD-2-Clause) */
/* Tables in the form the BPF programs read them: looked up as they do, against the rows they were made from. */
#include <criterion/criterion.h>
#include <errno.h>
#include <fcntl.h>
#include <string.h>

#include "twin.h"
#include "util/cleanup.h"

static struct twin_store memory;
static struct unwind_store *store;

static void setup(void)
{
	twin_store_init(&memory);
	cr_assert_eq(unwind_store_new(&memory.memory, &store), 0);
	srand(7);
}

static void teardown(void)
{
	unwind_store_free(store);
	twin_store_done(&memory);
}

TestSuite(store, .init = setup, .fini = teardown);

static uint64_t bytes_used(void)
{
	uint64_t bytes;
	uint32_t rule_n;

	unwind_store_size(store, &bytes, &rule_n);
	return bytes;
}

static uint32_t rules_used(void)
{
	uint64_t bytes;
	uint32_t rule_n;

	unwind_store_size(store, &bytes, &rule_n);
	return rule_n;
}

/* n rows from start, a step of at most step_max apart; about a fifth of them without rules. */
static struct unwind_rows *make_rows(uint64_t start, size_t n, uint32_t step_max, int rule_max)
{
	struct unwind_rows *r = calloc(1, sizeof(*r));
	int last = 0;

	r->v = calloc(n, sizeof(*r->v));
	for (r->n = 0; r->n < n; r->n++) {
		/* The last row, and no neighbour of it, is without a rule. */
		bool none = r->n == n - 1 || (r->n != n - 2 && last && rand() % 5 == 0);
		int kind = none ? 0 : 1 + rand() % rule_max;

		r->v[r->n].vaddr = start;
		if (kind)
			r->v[r->n].rule = (struct wcbpf_rule){ .cfa = WCBPF_CFA_SP, .cfa_off = 8 * kind };
		last = kind;
		start += 1 + (uint64_t)rand() % step_max;
	}
	return r;
}

static struct wcbpf_rule find(const struct unwind_rows *rows, uint64_t vaddr)
{
	size_t low = 0, high = rows->n;

	while (low < high) {
		size_t middle = (low + high) / 2;

		if (rows->v[middle].vaddr <= vaddr)
			low = middle + 1;
		else
			high = middle;
	}
	return low ? rows->v[low - 1].rule : (struct wcbpf_rule){ 0 };
}

static void check_at(const struct unwind_rows *rows, const struct unwind_place *place, uint64_t vaddr)
{
	struct wcbpf_rule is = twin_store_lookup(&memory, place, vaddr), want = find(rows, vaddr);

	cr_assert_eq(memcmp(&is, &want, sizeof(is)), 0, "at %lx: kind %u %+d, expected %u %+d", (unsigned long)vaddr,
		     is.cfa, is.cfa_off, want.cfa, want.cfa_off);
}

/* At random addresses, at page bounds, at rows and before them; and what wire.h says of the form. */
static void check(const struct unwind_rows *rows, const struct unwind_place *place, size_t n)
{
	uint64_t first = rows->v[0].vaddr, length = rows->v[rows->n - 1].vaddr - first;

	for (size_t i = 0; i < n; i++) {
		uint64_t row = rows->v[(size_t)rand() % rows->n].vaddr;
		uint64_t page = (row & ~0xffffull) + ((uint64_t)rand() % 2 << 16);

		check_at(rows, place, first + (uint64_t)rand() * 77 % length);
		check_at(rows, place, row);
		check_at(rows, place, row - 1);
		check_at(rows, place, page);
		check_at(rows, place, page - 1);
	}
	check_at(rows, place, 0);
	check_at(rows, place, first - 1);
	check_at(rows, place, first + length + (1 << 20));
	check_at(rows, place, UINT64_MAX);
	for (uint32_t i = 0; i < place->page_n; i++) {
		const struct wcbpf_dir *d = &memory.memory.dirs[place->dir0 + i];
		bool any = false;

		if (!d->n)
			continue;
		cr_assert_eq(d->row / WCBPF_SHARD_ROWS, (d->row + d->n - 1) / WCBPF_SHARD_ROWS, "a page in two shards");
		const struct wcbpf_row *r = &memory.shards[d->row / WCBPF_SHARD_ROWS][d->row % WCBPF_SHARD_ROWS];

		cr_assert_eq(r[0].low, 0);
		for (uint32_t k = 0; k < d->n; k++) {
			any = any || r[k].rule;
			cr_assert(!k || r[k].low > r[k - 1].low);
		}
		cr_assert(any, "a page of nothing");
	}
}

static void add_and_check(uint64_t start, size_t n, uint32_t step_max)
{
	struct unwind_rows *rows = make_rows(start, n, step_max, 50);
	struct unwind_place place;

	cr_assert_eq(unwind_store_add(store, rows, &place), 0);
	check(rows, &place, 2000);
	unwind_rows_free(rows);
}

Test(store, dense_and_sparse)
{
	add_and_check(0x1040, 20000, 20);
	add_and_check(0x400000, 3000, 4000);
	/* Rows pages apart, and pages with none. */
	add_and_check(0x7fff0000, 300, 400000);
	add_and_check(0x10000, 2, 1);
	add_and_check(0xffff, 2, 1);
	add_and_check(0xffff, 3, 1);
	add_and_check(0x10000 - 5, 11, 1);
	add_and_check(0, 10, 0x10000);
	cr_assert_leq(rules_used(), 52);
}

/* Of whole pages of one byte a row, four fill a shard; of those a little smaller, a rest stays free. */
Test(store, shards)
{
	struct unwind_rows *rows = make_rows(0x20000, 9 * 65536 + 100, 1, 200);
	struct unwind_place place, second;

	cr_assert_eq(unwind_store_add(store, rows, &place), 0);
	check(rows, &place, 2000);
	cr_assert_eq(memory.shard_n, 3);
	unwind_rows_free(rows);
	rows = make_rows(0x20000, 300000, 2, 200);
	cr_assert_eq(unwind_store_add(store, rows, &second), 0);
	check(rows, &second, 2000);
	cr_assert_eq(second.dir0, place.dir0 + place.page_n);
	unwind_rows_free(rows);
}

/* A page that just fits what is left of a shard, and one that doesn't by one row. */
Test(store, end_of_shard)
{
	for (size_t more = 0; more < 2; more++) {
		struct unwind_rows *rows = make_rows(0, 3 * 65536 + 1, 1, 200), *rest;
		struct unwind_place place;

		if (more) {
			teardown();
			setup();
		}
		/* The row that ends a file begins on a page of its own and takes no room. */
		cr_assert_eq(unwind_store_add(store, rows, &place), 0);
		unwind_rows_free(rows);
		rows = make_rows(0, 1001, 1, 200);
		cr_assert_eq(unwind_store_add(store, rows, &place), 0);
		rest = make_rows(0, 65536 - 1001 + more, 1, 200);
		cr_assert_eq(unwind_store_add(store, rest, &place), 0);
		cr_assert_eq(memory.shard_n, 1 + more);
		check(rest, &place, 1000);
		unwind_rows_free(rest);
		unwind_rows_free(rows);
	}
}

/* What a reader may see of earlier files stays the same, byte for byte. */
Test(store, what_is_in_use_stays)
{
	struct unwind_rows *rows = make_rows(0x1000, 200000, 9, 100);
	struct unwind_place place;
	uint32_t rules;
	size_t last;

	cr_assert_eq(unwind_store_add(store, rows, &place), 0);
	const struct wcbpf_dir *dirs = memory.memory.dirs;

	last = dirs[place.dir0 + place.page_n - 1].row + dirs[place.dir0 + place.page_n - 1].n;
	rules = rules_used();
	_cleanup_(freep) struct wcbpf_dir *old_dirs = malloc(place.page_n * sizeof(*dirs));
	_cleanup_(freep) struct wcbpf_row *old_rows = malloc(last * sizeof(struct wcbpf_row));
	_cleanup_(freep) struct wcbpf_rule *old_rules = malloc(rules * sizeof(struct wcbpf_rule));

	memcpy(old_dirs, dirs, place.page_n * sizeof(*dirs));
	memcpy(old_rows, memory.shards[0], last * sizeof(*old_rows));
	memcpy(old_rules, memory.memory.rules, rules * sizeof(*old_rules));
	add_and_check(0x5000, 50000, 30);
	add_and_check(0x9000, 90000, 3);
	cr_assert_eq(memcmp(old_dirs, dirs, place.page_n * sizeof(*dirs)), 0);
	cr_assert_eq(memcmp(old_rows, memory.shards[0], last * sizeof(*old_rows)), 0);
	cr_assert_eq(memcmp(old_rules, memory.memory.rules, rules * sizeof(*old_rules)), 0);
	check(rows, &place, 1000);
	unwind_rows_free(rows);
}

static void expect_no_trace(const struct unwind_rows *rows, int err)
{
	uint64_t bytes = bytes_used();
	uint32_t rules = rules_used();
	struct unwind_place place = { 77, 77, 77 };

	cr_assert_eq(unwind_store_add(store, rows, &place), err);
	cr_assert(place.dir0 == 77 && place.page0 == 77 && place.page_n == 77);
	cr_assert_eq(bytes_used(), bytes);
	cr_assert_eq(rules_used(), rules);
}

Test(store, no_room)
{
	struct unwind_row far[2] = { { 0x1000, { .cfa = WCBPF_CFA_SP } }, { (uint64_t)WCBPF_DIRS_MAX << 16, { 0 } } };
	struct unwind_rows rows = { far, 2, 0 };
	struct unwind_place place;

	/* Exactly all directory entries, then one more. */
	far[1].vaddr = ((uint64_t)WCBPF_DIRS_MAX << 16) + 1;
	expect_no_trace(&rows, -ENOSPC);
	far[1].vaddr = UINT64_MAX;
	expect_no_trace(&rows, -ENOSPC);
	far[0].vaddr = UINT64_MAX - 1;
	expect_no_trace(&rows, -ENOSPC);
	far[0].vaddr = 0x1000;
	far[1].vaddr = (uint64_t)WCBPF_DIRS_MAX << 16;
	cr_assert_eq(unwind_store_add(store, &rows, &place), 0);
	cr_assert_eq(place.page_n, WCBPF_DIRS_MAX);
	far[1].vaddr = 0x1001;
	expect_no_trace(&rows, -ENOSPC);
	/* A row a page, and in the first one the row that says "nothing yet". */
	cr_assert_eq(bytes_used(), WCBPF_DIRS_MAX * (sizeof(struct wcbpf_dir) + sizeof(struct wcbpf_row)) +
				   sizeof(struct wcbpf_row));
}

/* Rows for all shards there are. */
Test(store, no_shard_left)
{
	struct unwind_rows *rows = make_rows(0, 65536 + 1, 1, 9);
	struct unwind_place place;

	for (int i = 0; i < 4 * WCBPF_SHARDS_MAX; i++)
		cr_assert_eq(unwind_store_add(store, rows, &place), 0, "file %d", i);
	expect_no_trace(rows, -ENOSPC);
	check(rows, &place, 1000);
	unwind_rows_free(rows);
}

/* The second shard can't be made now, and can later. */
Test(store, shard_fails)
{
	struct unwind_rows *rows = make_rows(0, 300000, 1, 9);
	struct unwind_place place;

	memory.shard_max = 1;
	expect_no_trace(rows, -ENOMEM);
	memory.shard_error = -E2BIG;
	expect_no_trace(rows, -E2BIG);
	memory.shard_max = 9;
	cr_assert_eq(unwind_store_add(store, rows, &place), 0);
	cr_assert_eq(memory.shard_n, 2);
	check(rows, &place, 1000);
	unwind_rows_free(rows);
}

Test(store, rules_run_out)
{
	size_t n = WCBPF_RULES_MAX + 500;
	struct unwind_rows rows = { calloc(n + 1, sizeof(struct unwind_row)), n + 1, 0 };
	struct unwind_place place;
	size_t refused = 0;

	for (size_t i = 0; i <= n; i++) {
		rows.v[i].vaddr = 0x1000 + 4 * i;
		if (i < n)
			rows.v[i].rule = (struct wcbpf_rule){ .cfa = WCBPF_CFA_BP, .cfa_off = (int32_t)i };
	}
	cr_assert_eq(unwind_store_add(store, &rows, &place), 0);
	for (size_t i = 0; i < n; i++) {
		struct wcbpf_rule is = twin_store_lookup(&memory, &place, 0x1000 + 4 * i + 3);

		refused += is.cfa == WCBPF_CFA_UNSUPPORTED;
		cr_assert(is.cfa == WCBPF_CFA_UNSUPPORTED || is.cfa_off == (int32_t)i);
	}
	/* All but the empty and the unsupported rule were there to be had. */
	cr_assert_eq(refused, 502);
	cr_assert_eq(rules_used(), WCBPF_RULES_MAX);
	/* A row that reaches into the next page is written twice. */
	cr_assert_geq(unwind_store_refused_n(store), refused);
	cr_assert_leq(unwind_store_refused_n(store), refused + 2);
	free(rows.v);
}

/* Rows of real files, one behind the other. */
Test(store, files)
{
	char *paths[TWIN_OBJECTS_MAX];
	size_t n = twin_objects(paths), total = 0;

	for (size_t i = 0; i < n; i++) {
		_cleanup_(freep) char *path = paths[i];
		_cleanup_(closep) int fd = open(path, O_RDONLY | O_CLOEXEC);
		struct unwind_place place;
		struct unwind_rows *rows;

		if (i > 20 || unwind_rows_read(fd, &rows))
			continue;
		cr_assert_eq(unwind_store_add(store, rows, &place), 0, "%s", path);
		check(rows, &place, 2000);
		total += rows->n;
		unwind_rows_free(rows);
	}
	cr_assert_gt(total, 30000);
	/* 4 bytes a row, and little beside it. */
	cr_assert_lt(bytes_used(), total * 4 * 11 / 10);
	cr_assert_lt(rules_used(), 4000);
}
