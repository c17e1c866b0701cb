/* SPDX-License-Identifier: (LGPL-2.1 OR BSD-2-Clause) */
/*
 * The BPF programs read these tables while they grow. So nothing that was
 * written changes again, and what leads to something is written after it: rules,
 * then rows, then directory entries (and then, by the caller, mapents). A first
 * pass over the rows counts what the second will write, with the same code: a
 * file has room or leaves no trace.
 */
#include <errno.h>
#include <string.h>

#include "unwind/rows.h"
#include "unwind/rule.h"
#include "unwind/unwind.h"
#include "util/cleanup.h"

#define BUCKETS_N (2u * WCBPF_RULES_MAX) /* power of two */
#define PAGE_BYTES (1ull << WCBPF_PAGE_SHIFT)

/* Where the next row and directory entry go. */
struct end {
	uint32_t row; /* as in struct wcbpf_dir */
	uint32_t dir;
};

struct unwind_store {
	struct unwind_store_memory memory;
	struct wcbpf_row *shards[WCBPF_SHARDS_MAX];
	uint32_t shard_n;
	struct end end;
	uint32_t row_n; /* without the gaps at the ends of shards */
	uint32_t rule_n;
	uint32_t unsupported; /* index of that rule */
	uint64_t refused_n;
	uint16_t buckets[BUCKETS_N]; /* index of rules; 0: free */
};

_Static_assert(WCBPF_RULES_MAX <= UINT16_MAX + 1, "struct wcbpf_row has 16 bits for it");
_Static_assert(WCBPF_SHARD_ROWS >= PAGE_BYTES, "a page's rows must fit a shard");

DEFINE_CLEANUP(struct unwind_store *, unwind_store_free)

/* FNV-1a. */
static uint32_t rule_hash(const struct wcbpf_rule *rule)
{
	const uint8_t *bytes = (const uint8_t *)rule;
	uint32_t h = 2166136261u;

	for (size_t i = 0; i < sizeof(*rule); i++)
		h = (h ^ bytes[i]) * 16777619u;
	return h ^ h >> 15;
}

/* The rule's index; when all are taken, that of the unsupported one. */
static uint32_t rule_intern(struct unwind_store *s, const struct wcbpf_rule *rule)
{
	uint32_t at = rule_hash(rule);

	if (rule->cfa == WCBPF_CFA_NONE)
		return 0;
	for (; s->buckets[at %= BUCKETS_N]; at++)
		if (rule_is_equal(&s->memory.rules[s->buckets[at]], rule))
			return s->buckets[at];
	if (s->rule_n == WCBPF_RULES_MAX) {
		s->refused_n++;
		return s->unsupported;
	}
	s->memory.rules[s->rule_n] = *rule;
	s->buckets[at] = (uint16_t)s->rule_n;
	return s->rule_n++;
}

int unwind_store_new(const struct unwind_store_memory *memory, struct unwind_store **ret)
{
	struct unwind_store *s = calloc(1, sizeof(*s));

	if (!s)
		return -ENOMEM;
	s->memory = *memory;
	s->rule_n = 1;
	s->unsupported = rule_intern(s, &rule_unsupported);
	*ret = s;
	return 0;
}

struct unwind_store *unwind_store_free(struct unwind_store *s)
{
	free(s);
	return NULL;
}

/* The rows of one page: rows->v[first, first + n), and before them the one that reaches into it. */
struct page {
	uint32_t number;
	const struct wcbpf_rule *carry; /* NULL: a row begins where the page does, or none reaches into it */
	size_t first, n;
	uint32_t row_n; /* that it takes */
};

/* The page with that number; *at is its first row, and then the next page's. */
static struct page page_next(const struct unwind_rows *rows, uint32_t number, size_t *at)
{
	uint64_t start = (uint64_t)number << WCBPF_PAGE_SHIFT;
	struct page p = { .number = number, .first = *at };
	bool any;

	while (*at < rows->n && rows->v[*at].vaddr - start < PAGE_BYTES)
		++*at;
	p.n = *at - p.first;
	any = p.n;
	if (!p.n || rows->v[p.first].vaddr != start) {
		static const struct wcbpf_rule none;

		p.carry = p.first ? &rows->v[p.first - 1].rule : &none;
		any = any || p.carry->cfa != WCBPF_CFA_NONE;
	} else if (p.n == 1) {
		any = rows->v[p.first].rule.cfa != WCBPF_CFA_NONE;
	}
	p.row_n = any ? (uint32_t)p.n + !!p.carry : 0;
	return p;
}

/* Where n rows of one page go: not beyond the end of a shard. */
static uint32_t place_rows(struct end *end, uint32_t n)
{
	uint32_t left = WCBPF_SHARD_ROWS - end->row % WCBPF_SHARD_ROWS, at;

	if (n > left)
		end->row += left;
	at = end->row;
	end->row += n;
	return at;
}

static uint32_t page_of(uint64_t vaddr)
{
	return (uint32_t)(vaddr >> WCBPF_PAGE_SHIFT);
}

/* The pages of a file, and what is in use after it. -ENOSPC. */
static int measure(const struct unwind_store *s, const struct unwind_rows *rows, struct unwind_place *ret,
		   struct end *ret_end)
{
	uint64_t last = rows->n ? rows->v[rows->n - 1].vaddr : 0;
	struct unwind_place place = { .dir0 = s->end.dir };
	struct end end = s->end;
	size_t at = 0;

	/* The last row only ends the one before. */
	if (rows->n > 1) {
		if ((last - 1) >> WCBPF_PAGE_SHIFT >= UINT32_MAX)
			return -ENOSPC;
		place.page0 = page_of(rows->v[0].vaddr);
		place.page_n = page_of(last - 1) - place.page0 + 1;
	}
	if (place.page_n > WCBPF_DIRS_MAX - end.dir)
		return -ENOSPC;
	for (uint32_t i = 0; i < place.page_n; i++) {
		place_rows(&end, page_next(rows, place.page0 + i, &at).row_n);
		if (end.row > WCBPF_SHARDS_MAX * WCBPF_SHARD_ROWS)
			return -ENOSPC;
	}
	end.dir += place.page_n;
	*ret = place;
	*ret_end = end;
	return 0;
}

static int make_shards(struct unwind_store *s, const struct end *end)
{
	uint32_t need = (end->row + WCBPF_SHARD_ROWS - 1) / WCBPF_SHARD_ROWS;

	while (s->shard_n < need) {
		int err = s->memory.shard(s->memory.arg, s->shard_n, &s->shards[s->shard_n]);

		if (err)
			return err;
		s->shard_n++;
	}
	return 0;
}

/* The rules of a page are written before the first row that names them is. */
static void write_page(struct unwind_store *s, const struct unwind_rows *rows, const struct page *p, uint32_t at)
{
	struct wcbpf_row *to = &s->shards[at / WCBPF_SHARD_ROWS][at % WCBPF_SHARD_ROWS];

	if (p->carry)
		*to++ = (struct wcbpf_row){ 0, (uint16_t)rule_intern(s, p->carry) };
	for (size_t i = p->first; i < p->first + p->n; i++)
		*to++ = (struct wcbpf_row){ (uint16_t)rows->v[i].vaddr, (uint16_t)rule_intern(s, &rows->v[i].rule) };
}

int unwind_store_add(struct unwind_store *s, const struct unwind_rows *rows, struct unwind_place *ret)
{
	struct unwind_place place;
	struct end end;
	size_t at = 0;
	int err = measure(s, rows, &place, &end);

	if (!err)
		err = make_shards(s, &end);
	if (err)
		return err;
	for (uint32_t i = 0; i < place.page_n; i++) {
		struct page p = page_next(rows, place.page0 + i, &at);
		struct wcbpf_dir *dir = &s->memory.dirs[place.dir0 + i];

		if (!p.row_n)
			continue;
		dir->row = place_rows(&s->end, p.row_n);
		write_page(s, rows, &p, dir->row);
		s->row_n += p.row_n;
		__atomic_store_n(&dir->n, p.row_n, __ATOMIC_RELEASE);
	}
	s->end = end;
	*ret = place;
	return 0;
}

void unwind_store_size(const struct unwind_store *s, uint64_t *ret_bytes, uint32_t *ret_rule_n)
{
	*ret_bytes = s->row_n * sizeof(struct wcbpf_row) + s->end.dir * sizeof(struct wcbpf_dir);
	*ret_rule_n = s->rule_n;
}

uint64_t unwind_store_refused_n(const struct unwind_store *s)
{
	return s->refused_n;
}
