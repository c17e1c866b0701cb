/* SPDX-License-Identifier: (LGPL-2.1 OR BSD-2-Clause) */
/*
 * A page has 40 lines. Which sections are on it depends on what the recording
 * is about, and how many lines each may have on what the others need: so they
 * are printed to memory, lines that are too long broken, the lines counted, and
 * where it is too much the least important give way, line by line and then as
 * a whole.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "cmd/report-sections.h"
#include "cmd/wording.h"
#include "util/cleanup.h"

enum { PAGE_LINES = 40, GROWTH_MAX = 4 };

struct block {
	enum report_section section;
	size_t line_min; /* of its table */
	char *text;
	size_t line_n; /* of text; 0: it has no place */
};

static size_t lines_of(const char *text)
{
	size_t n = 0;

	for (; text && *text; text++)
		n += *text == '\n';
	return n;
}

/* What print prints, lines that are too long broken: as they stand on the page. NULL: no memory. The caller frees. */
static char *part_make(struct page *p, void (*print)(const struct page *p))
{
	_cleanup_(freep) char *text = NULL;
	char *fitted = NULL;
	size_t size;
	FILE *whole = p->f, *f = open_memstream(&text, &size);

	if (!f)
		return NULL;
	p->f = f;
	print(p);
	p->f = whole;
	if (fclose(f) != 0)
		return NULL;
	f = open_memstream(&fitted, &size);
	if (!f)
		return NULL;
	wording_fit(f, text, p->columns);
	if (fclose(f) == 0)
		return fitted;
	free(fitted);
	return NULL;
}

static int block_print(struct page *p, struct block *b)
{
	char *text = part_make(p, report_section_rows[b->section].text);

	if (!text)
		return -ENOMEM;
	free(b->text);
	b->text = text;
	b->line_n = lines_of(b->text);
	return 0;
}

/* Most important first. lines: of its table if there is room. */
static const struct {
	enum report_section section;
	size_t line_min, lines;
} plan[] = {
	{ SECTION_PATH, 3, 6 },	    { SECTION_WHATIF, 2, 4 }, { SECTION_OPEN, 1, 5 },	{ SECTION_WALL, 0, 0 },
	{ SECTION_TAIL, 1, 1 },	    { SECTION_LOCKS, 1, 3 },  { SECTION_RESOURCES, 1, 4 }, { SECTION_CLASSES, 2, 4 },
	{ SECTION_ONCPU, 1, 3 },    { SECTION_STACKS, 1, 3 }, { SECTION_WAKERS, 1, 3 }, { SECTION_OPS, 1, 3 },
	{ SECTION_LIBRARY, 2, 4 },  { SECTION_SELF, 2, 7 },   { SECTION_INCLUSIVE, 2, 6 }, { SECTION_NEAREST, 2, 6 },
};
enum { PLAN_N = sizeof(plan) / sizeof(plan[0]) };

/* Where locks take much of the time that something was to be done in, they come before the slowest ops. */
static size_t place_of(const struct report *r, size_t i)
{
	const struct analyze_states *s = &r->states;

	if (s->ns[WHERE_LOCK] * 5 < s->total_ns - s->ns[WHERE_IDLE] - s->ns[WHERE_CHILD])
		return i;
	return plan[i].section == SECTION_TAIL ? i + 1 : plan[i].section == SECTION_LOCKS ? i - 1 : i;
}

/* In this order they are read: what it comes to, then from the whole to the detail. */
static const enum report_section order[] = {
	SECTION_PATH,	 SECTION_WHATIF, SECTION_WALL,	    SECTION_TAIL,    SECTION_CLASSES, SECTION_OPEN,
	SECTION_LOCKS,	 SECTION_ONCPU,	 SECTION_RESOURCES, SECTION_WAKERS,  SECTION_STACKS,  SECTION_OPS,
	SECTION_LIBRARY, SECTION_SELF,	 SECTION_INCLUSIVE, SECTION_NEAREST,
};
enum { ORDER_N = sizeof(order) / sizeof(order[0]) };
_Static_assert((int)ORDER_N == (int)PLAN_N, "what is planned is printed");

/* The least important section gives up lines, then its place, before a more important one gives up any. 0, -ENOMEM. */
static int blocks_fit(struct page *p, struct block *blocks, size_t n, size_t room)
{
	size_t used = 0;

	for (size_t i = 0; i < n; i++)
		used += blocks[i].line_n;
	for (size_t i = n; i-- > 0 && used > room;) {
		struct block *b = &blocks[i];
		size_t *lines = &p->lines[b->section];

		while (b->line_n && used > room && *lines > b->line_min) {
			size_t over = used - room, spare = *lines - b->line_min;

			*lines -= over < spare ? over : spare;
			used -= b->line_n;
			if (block_print(p, b) < 0)
				return -ENOMEM;
			used += b->line_n;
		}
		if (used > room && i) {
			used -= b->line_n;
			b->line_n = 0;
		}
	}
	/* What a large one left may do for a small one. */
	for (size_t i = 0; i < n; i++) {
		if (!blocks[i].line_n && used + lines_of(blocks[i].text) <= room) {
			blocks[i].line_n = lines_of(blocks[i].text);
			used += blocks[i].line_n;
		}
	}
	return 0;
}

/* Lines that are left over go to the tables that can use them, a few each. 0, -ENOMEM. */
static int blocks_grow(struct page *p, struct block *blocks, size_t n, size_t room)
{
	size_t used = 0;

	for (size_t i = 0; i < n; i++)
		used += blocks[i].line_n;
	for (size_t i = 0; i < n && used < room; i++) {
		struct block *b = &blocks[i];
		size_t before = b->line_n, more = room - used < GROWTH_MAX ? room - used : GROWTH_MAX;

		if (!before || b->section == SECTION_TAIL || b->section == SECTION_LOCKS || b->section == SECTION_WALL)
			continue;
		p->lines[b->section] += more;
		if (block_print(p, b) < 0)
			return -ENOMEM;
		/* A row may take two lines, or a line of the rest come with it. */
		while (b->line_n > before + (room - used)) {
			p->lines[b->section]--;
			if (block_print(p, b) < 0)
				return -ENOMEM;
		}
		used += b->line_n - before;
	}
	return 0;
}

static int blocks_print(struct page *p, struct block *blocks, size_t room)
{
	size_t n = 0;

	for (size_t i = 0; i < PLAN_N; i++) {
		size_t at = place_of(p->r, i);
		enum report_section section = plan[at].section;

		if (!(p->r->sections >> section & 1))
			continue;
		p->lines[section] = plan[at].lines;
		blocks[n] = (struct block){ .section = section, .line_min = plan[at].line_min };
		if (block_print(p, &blocks[n++]) < 0)
			return -ENOMEM;
	}
	if (blocks_fit(p, blocks, n, room) < 0 || blocks_grow(p, blocks, n, room) < 0)
		return -ENOMEM;
	for (size_t s = 0; s < ORDER_N; s++) {
		for (size_t i = 0; i < n; i++) {
			if (blocks[i].section == order[s] && blocks[i].line_n)
				fputs(blocks[i].text, p->f);
		}
	}
	return 0;
}

/* What stands above and below the sections. */
static void head_print(const struct page *p)
{
	report_head_print(p);
	report_filter_print(p);
	report_verdict_print(p);
}

static void foot_print(const struct page *p)
{
	report_idle_print(p);
	report_foot_print(p);
}

static void blocks_done(struct block (*blocks)[PLAN_N])
{
	for (size_t i = 0; i < PLAN_N; i++)
		free((*blocks)[i].text);
}

static int first_page_print(struct page *p)
{
	_cleanup_(blocks_done) struct block blocks[PLAN_N] = { 0 };
	_cleanup_(freep) char *head = part_make(p, head_print), *foot = part_make(p, foot_print);
	size_t used = lines_of(head) + lines_of(foot);
	int e;

	if (!head || !foot)
		return -ENOMEM;
	fputs(head, p->f);
	e = blocks_print(p, blocks, used < PAGE_LINES ? PAGE_LINES - used : 0);
	fputs(foot, p->f);
	return e;
}

/* Who asks for a section is told that there is nothing in it. */
static void section_print(const struct page *p, enum report_section section)
{
	_cleanup_(freep) char *text = NULL;
	struct page inner = *p;
	size_t size;

	inner.f = open_memstream(&text, &size);
	if (!inner.f)
		return;
	report_section_rows[section].text(&inner);
	if (fclose(inner.f) != 0)
		return;
	if (*text)
		fputs(text, p->f);
	else if (p->r->o->sections && p->r->o->sections != SECTIONS_ALL)
		fprintf(p->f, "\n%s%s%s  nothing was recorded for this section%s\n", p->bold, report_section_name(section),
			p->plain, report_is_filtered(p->r) ? " of what was asked for" : "");
}

static void sections_print(const struct page *p)
{
	report_head_print(p);
	report_filter_print(p);
	for (unsigned i = 0; i < SECTION_MAX; i++) {
		if (p->r->sections >> i & 1)
			section_print(p, (enum report_section)i);
	}
	report_idle_print(p);
}

int report_text_print(struct report *r, FILE *f, unsigned columns, bool color)
{
	_cleanup_(freep) char *text = NULL;
	struct page p;

	page_init(&p, r, f, columns, color);
	if (!r->o->sections && !r->o->everything && !r->o->top)
		return first_page_print(&p);
	text = part_make(&p, sections_print);
	if (!text)
		return -ENOMEM;
	fputs(text, f);
	return 0;
}
