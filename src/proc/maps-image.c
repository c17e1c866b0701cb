/* SPDX-License-Identifier: (LGPL-2.1 OR BSD-2-Clause) */
/*
 * Two arrays: nearly every question is about what is mapped to the end, which
 * is a binary search by address; what was replaced is ordered by its end, so
 * that a JIT compiler's thousands of old mappings cost a search by time and
 * not a walk.
 */
#include "proc/maps-image.h"

#include <errno.h>
#include <string.h>

#include "util/cleanup.h"

DEFINE_CLEANUP(struct image *, image_free)

int image_new(uint64_t from_ns, uint64_t until_ns, struct image **ret)
{
	struct image *i = calloc(1, sizeof(*i));

	if (!i)
		return -ENOMEM;
	i->from_ns = from_ns;
	i->until_ns = until_ns;
	*ret = i;
	return 0;
}

struct image *image_free(struct image *i)
{
	if (!i)
		return NULL;
	free(i->live.v);
	free(i->past.v);
	free(i);
	return NULL;
}

/* Room for more further elements. By halves: there are thousands of these. */
static int vec_reserve(struct mapping_vec *vec, size_t more)
{
	size_t want = vec->n + more;
	struct proc_mapping *p;

	if (want <= vec->cap)
		return 0;
	if (want < vec->cap + vec->cap / 2)
		want = vec->cap + vec->cap / 2;
	p = realloc(vec->v, want * sizeof(*p));
	if (!p)
		return -ENOMEM;
	vec->v = p;
	vec->cap = want;
	return 0;
}

/* The next three need room reserved before. */
static void vec_insert(struct mapping_vec *vec, size_t at, const struct proc_mapping *m)
{
	memmove(&vec->v[at + 1], &vec->v[at], (vec->n - at) * sizeof(*vec->v));
	vec->v[at] = *m;
	vec->n++;
}

static void vec_remove(struct mapping_vec *vec, size_t at)
{
	vec->n--;
	memmove(&vec->v[at], &vec->v[at + 1], (vec->n - at) * sizeof(*vec->v));
}

/* Index of the first live mapping that ends above addr. */
static size_t live_above(const struct mapping_vec *vec, uint64_t addr)
{
	size_t lo = 0, hi = vec->n;

	while (lo < hi) {
		size_t mid = lo + (hi - lo) / 2;

		if (vec->v[mid].end <= addr)
			lo = mid + 1;
		else
			hi = mid;
	}
	return lo;
}

/* Index of the first past mapping that held after time_ns. */
static size_t past_after(const struct mapping_vec *vec, uint64_t time_ns)
{
	size_t lo = 0, hi = vec->n;

	while (lo < hi) {
		size_t mid = lo + (hi - lo) / 2;

		if (vec->v[mid].until_ns <= time_ns)
			lo = mid + 1;
		else
			hi = mid;
	}
	return lo;
}

static void live_insert(struct image *i, const struct proc_mapping *m)
{
	vec_insert(&i->live, live_above(&i->live, m->start), m);
}

/* A mapping that never held is not kept. */
static void past_insert(struct image *i, const struct proc_mapping *m)
{
	if (m->from_ns < m->until_ns)
		vec_insert(&i->past, past_after(&i->past, m->until_ns), m);
}

static bool overlaps(const struct proc_mapping *a, const struct proc_mapping *b)
{
	return a->start < b->end && b->start < a->end;
}

/* The part of m in [start, end). */
static struct proc_mapping part(const struct proc_mapping *m, uint64_t start, uint64_t end)
{
	struct proc_mapping p = *m;

	p.start = start;
	p.end = end;
	p.pgoff += start - m->start;
	return p;
}

/* Does m show all of what n shows? */
static bool shows(const struct proc_mapping *m, const struct proc_mapping *n)
{
	return m->start <= n->start && n->end <= m->end && m->file == n->file && !strcmp(m->name, n->name) &&
	       (!m->file || m->pgoff + (n->start - m->start) == n->pgoff);
}

bool image_has(const struct image *i, const struct proc_mapping *map)
{
	size_t at = live_above(&i->live, map->start);

	return at < i->live.n && shows(&i->live.v[at], map);
}

bool mapping_same(const struct proc_mapping *a, const struct proc_mapping *b)
{
	if (a->file || b->file)
		return a->file == b->file && a->pgoff - a->start == b->pgoff - b->start;
	return !strcmp(a->name, b->name);
}

static void known_note(struct image_known *known, const struct proc_mapping *m, const struct proc_mapping *map)
{
	known->any = true;
	known->other |= !mapping_same(m, map);
}

struct image_known image_known(const struct image *i, const struct proc_mapping *map, uint64_t from_ns)
{
	struct image_known known = { 0 };

	for (size_t at = live_above(&i->live, map->start); at < i->live.n && overlaps(&i->live.v[at], map); at++)
		known_note(&known, &i->live.v[at], map);
	for (size_t at = past_after(&i->past, from_ns); at < i->past.n; at++)
		if (overlaps(&i->past.v[at], map))
			known_note(&known, &i->past.v[at], map);
	return known;
}

/* m ends at n->from_ns where n lies; what sticks out on either side stays to m's end. Takes up to 3 places. */
static void split(struct image *i, struct proc_mapping m, const struct proc_mapping *n, bool live)
{
	uint64_t start = m.start > n->start ? m.start : n->start, end = m.end < n->end ? m.end : n->end;
	struct proc_mapping middle = part(&m, start, end);
	void (*keep)(struct image *, const struct proc_mapping *) = live ? live_insert : past_insert;

	middle.until_ns = n->from_ns;
	past_insert(i, &middle);
	if (m.start < start) {
		struct proc_mapping left = part(&m, m.start, start);

		keep(i, &left);
	}
	if (end < m.end) {
		struct proc_mapping right = part(&m, end, m.end);

		keep(i, &right);
	}
}

static void cut_live(struct image *i, struct proc_mapping *n)
{
	size_t at = live_above(&i->live, n->start);

	while (at < i->live.n && overlaps(&i->live.v[at], n)) {
		struct proc_mapping m = i->live.v[at];

		if (m.from_ns > n->from_ns) {
			if (n->until_ns > m.from_ns)
				n->until_ns = m.from_ns;
			at++;
			continue;
		}
		vec_remove(&i->live, at);
		split(i, m, n, true);
		at = live_above(&i->live, n->start);
	}
}

/* Only a record that came late finds anything here. */
static void cut_past(struct image *i, struct proc_mapping *n)
{
	size_t at = past_after(&i->past, n->from_ns);

	while (at < i->past.n) {
		struct proc_mapping m = i->past.v[at];

		if (!overlaps(&m, n)) {
			at++;
		} else if (m.from_ns > n->from_ns) {
			if (n->until_ns > m.from_ns)
				n->until_ns = m.from_ns;
			at++;
		} else {
			vec_remove(&i->past, at);
			split(i, m, n, false);
			at = past_after(&i->past, n->from_ns);
		}
	}
}

/* Does m begin or end inside n, to stay there when n comes before it? *ret is where. */
static bool edge_inside(const struct proc_mapping *m, const struct proc_mapping *n, uint64_t *ret)
{
	if (m->from_ns <= n->from_ns || !overlaps(m, n))
		return false;
	*ret = m->start > n->start ? m->start : m->end;
	return *ret > n->start && *ret < n->end;
}

/* Where a late record is to be cut in two, since only one part of it is known to have been replaced later. */
static bool late_edge(const struct image *i, const struct proc_mapping *n, uint64_t *ret)
{
	for (size_t at = live_above(&i->live, n->start); at < i->live.n && overlaps(&i->live.v[at], n); at++)
		if (edge_inside(&i->live.v[at], n, ret))
			return true;
	for (size_t at = past_after(&i->past, n->from_ns); at < i->past.n; at++)
		if (edge_inside(&i->past.v[at], n, ret))
			return true;
	return false;
}

/* As image_add(), of a mapping that later ones cover whole or not at all. */
static int add_uncut(struct image *i, struct proc_mapping map)
{
	size_t overlap_n = 0, past_n = 0;

	map.until_ns = i->until_ns;
	if (map.from_ns >= map.until_ns)
		return 0;
	for (size_t at = live_above(&i->live, map.start); at < i->live.n && overlaps(&i->live.v[at], &map); at++) {
		if (i->live.v[at].from_ns <= map.from_ns && shows(&i->live.v[at], &map))
			return 0;
		overlap_n++;
	}
	for (size_t at = past_after(&i->past, map.from_ns); at < i->past.n; at++)
		past_n += overlaps(&i->past.v[at], &map);
	if (vec_reserve(&i->live, 3) || vec_reserve(&i->past, overlap_n + 2 * past_n + 1))
		return -ENOMEM;
	cut_live(i, &map);
	cut_past(i, &map);
	if (map.until_ns == i->until_ns)
		live_insert(i, &map);
	else
		past_insert(i, &map);
	return 0;
}

int image_add(struct image *i, struct proc_mapping map)
{
	uint64_t edge;
	int err;

	if (map.start >= map.end)
		return -EINVAL;
	if (map.from_ns < i->from_ns)
		map.from_ns = i->from_ns;
	if (!late_edge(i, &map, &edge))
		return add_uncut(i, map);
	err = image_add(i, part(&map, map.start, edge));
	return err ? err : image_add(i, part(&map, edge, map.end));
}

int image_end_live(struct image *i, size_t index, uint64_t time_ns)
{
	struct proc_mapping m;

	if (vec_reserve(&i->past, 1))
		return -ENOMEM;
	m = i->live.v[index];
	m.until_ns = time_ns;
	vec_remove(&i->live, index);
	past_insert(i, &m);
	return 0;
}

/* Of vec, what began at time_ns or later goes to next, the rest ends then if it hasn't before. */
static void vec_cut(struct mapping_vec *vec, uint64_t time_ns, struct image *next)
{
	size_t n = 0;

	for (size_t at = 0; at < vec->n; at++) {
		struct proc_mapping m = vec->v[at];

		if (m.from_ns < time_ns) {
			if (m.until_ns > time_ns)
				m.until_ns = time_ns;
			vec->v[n++] = m;
		} else if (next && m.until_ns == next->until_ns) {
			live_insert(next, &m);
		} else if (next) {
			past_insert(next, &m);
		}
	}
	vec->n = n;
}

int image_cut(struct image *i, uint64_t time_ns, struct image *next)
{
	size_t later_n = 0;

	for (size_t at = 0; at < i->live.n; at++)
		later_n += i->live.v[at].from_ns >= time_ns;
	for (size_t at = 0; at < i->past.n; at++)
		later_n += i->past.v[at].from_ns >= time_ns;
	if (next && later_n && (vec_reserve(&next->live, later_n) || vec_reserve(&next->past, later_n)))
		return -ENOMEM;
	vec_cut(&i->live, time_ns, next);
	vec_cut(&i->past, time_ns, next);
	i->until_ns = time_ns;
	return 0;
}

const struct proc_mapping *image_find(const struct image *i, uint64_t time_ns, uint64_t addr)
{
	size_t at = live_above(&i->live, addr);

	if (at < i->live.n && i->live.v[at].start <= addr && mapping_holds(&i->live.v[at], time_ns))
		return &i->live.v[at];
	for (at = past_after(&i->past, time_ns); at < i->past.n; at++) {
		const struct proc_mapping *m = &i->past.v[at];

		if (m->start <= addr && addr < m->end && mapping_holds(m, time_ns))
			return m;
	}
	return NULL;
}

static void vec_shrink(struct mapping_vec *vec)
{
	struct proc_mapping *p;

	if (!vec->n) {
		free(vec->v);
		*vec = (struct mapping_vec){ 0 };
		return;
	}
	p = realloc(vec->v, vec->n * sizeof(*p));
	if (!p)
		return;
	vec->v = p;
	vec->cap = vec->n;
}

void image_shrink(struct image *i)
{
	vec_shrink(&i->live);
	vec_shrink(&i->past);
}
