/* SPDX-License-Identifier: (LGPL-2.1 OR BSD-2-Clause) */
/*
 * A made-up run is dumped once as a whole, and as two: at some moment, and at
 * the end, with a flush between them or without. Read together the two are the
 * whole.
 */
#include <criterion/criterion.h>
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "dump/dump.h"

enum { OPS = 30, WAITS = 40, END = 1000, SEEDS = 60, PARTS = 2 };

struct interval {
	unsigned id, parent, ident;
	int start, end;
	unsigned tid; /* of waits; 0: none */
};

static uint64_t state;

static unsigned random_below(unsigned n)
{
	state = state * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
	return (unsigned)(state >> 33) % n;
}

static struct interval interval_make(unsigned id)
{
	int start = (int)random_below(END);

	return (struct interval){ .id = id,
				  .parent = id ? random_below(id) : 0,
				  .ident = random_below(3),
				  .start = start,
				  .end = start + (int)random_below((unsigned)(END - start) + 1) };
}

/* Waits of one thread follow each other. */
static void waits_make(struct interval waits[WAITS])
{
	int at[4] = { 0 };

	for (unsigned i = 0; i < WAITS; i++) {
		unsigned tid = random_below(4);

		waits[i] = interval_make(OPS + i);
		waits[i].parent = 1 + random_below(OPS - 1);
		waits[i].tid = tid ? 10 + tid : 0;
		if (!tid)
			continue;
		waits[i].start = at[tid] + (int)random_below(20);
		waits[i].end = waits[i].start + 1 + (int)random_below(60);
		waits[i].start = waits[i].start < END ? waits[i].start : END;
		waits[i].end = waits[i].end < END ? waits[i].end : END;
		at[tid] = waits[i].end + 1;
	}
}

/* What a recorder tells at one moment of what ended after another. The table of strings grows. */
static void dump_print(FILE *f, const struct interval *ops, const struct interval *waits, int now, int since,
		       unsigned dropped)
{
	bool first = true;

	fprintf(f,
		"{\"schema_version\":1,\"epoch_unix_nano\":7000,\"dumped_unix_nano\":%d,\"dropped_events\":%u,"
		"\"event_count\":0,\"strings\":[\"\",\"a\",\"b\"%s],\"open_ops\":[",
		7000 + now, dropped, now == END ? ",\"late\"" : "");
	for (unsigned i = 1; i < OPS; i++) {
		if (ops[i].start > now || ops[i].end <= now)
			continue;
		fprintf(f, "%s{\"op_id\":%u,\"parent_id\":%u,\"kind\":\"call\",\"ident_id\":%u,\"start_ns\":%d}",
			first ? "" : ",", ops[i].id, ops[i].parent, ops[i].ident, ops[i].start);
		first = false;
	}
	fputs("]}\n", f);
	for (unsigned i = 1; i < OPS; i++) {
		if (ops[i].end <= now && ops[i].end > since)
			fprintf(f, "{\"e\":\"op\",\"k\":\"call\",\"id\":%u,\"p\":%u,\"i\":%u,\"s\":%d,\"d\":%d}\n",
				ops[i].id, ops[i].parent, ops[i].ident, ops[i].start, ops[i].end);
	}
	for (unsigned i = 0; i < WAITS; i++) {
		const struct interval *w = &waits[i];
		int end = w->end < now ? w->end : now;

		/* A thread's wait that lasts is told of, cut; an op's is not. */
		if (w->start > now || w->end <= since || (w->end > now && !w->tid))
			continue;
		fprintf(f, "{\"e\":\"wait\",\"rs\":\"lock\",\"p\":%u,\"i\":%u,\"s\":%d,\"d\":%d", w->parent, w->ident,
			w->start, end);
		if (w->tid)
			fprintf(f, ",\"pid\":10,\"tid\":%u", w->tid);
		if (w->end > now)
			fputs(",\"clipped\":2", f);
		fputs("}\n", f);
	}
	for (unsigned tid = 11; tid <= 13; tid++)
		fprintf(f, "{\"e\":\"thread\",\"pid\":10,\"tid\":%u,\"comm\":\"t\",\"begin_ns\":0,\"end_ns\":%d}\n",
			tid, now);
}

static void file_make(char path[32], const struct interval *ops, const struct interval *waits, int now, int since,
		      unsigned dropped)
{
	FILE *f;
	int fd;

	strcpy(path, "/tmp/wcbpf-merge-XXXXXX");
	fd = mkstemp(path);
	f = fdopen(fd, "w");
	cr_assert(f);
	dump_print(f, ops, waits, now, since, dropped);
	fclose(f);
}

static struct model *read_all(char (*paths)[32], size_t n)
{
	const char *list[PARTS];
	struct dump_problem problem = { 0 };
	struct model *m;

	for (size_t i = 0; i < n; i++)
		list[i] = paths[i];
	cr_assert(dump_read_merged(list, n, &m, NULL, &problem) == 0, "%s", problem.message);
	return m;
}

static int wait_compare(const void *a, const void *b)
{
	const struct model_wait *x = a, *y = b;

	if (x->thread != y->thread)
		return x->thread < y->thread ? -1 : 1;
	if (x->start_ns != y->start_ns)
		return x->start_ns < y->start_ns ? -1 : 1;
	if (x->op != y->op)
		return x->op < y->op ? -1 : 1;
	if (x->ident_id != y->ident_id)
		return x->ident_id < y->ident_id ? -1 : 1;
	return x->end_ns < y->end_ns ? -1 : x->end_ns > y->end_ns;
}

static void same(const struct model *a, const struct model *b, uint64_t seed)
{
	cr_assert(a->op_n == b->op_n && a->wait_n == b->wait_n && a->thread_n == b->thread_n && a->end_ns == b->end_ns,
		  "seed %" PRIu64 ": %zu and %zu ops, %zu and %zu waits, %zu and %zu threads", seed, a->op_n, b->op_n,
		  a->wait_n, b->wait_n, a->thread_n, b->thread_n);
	for (size_t i = 1; i < a->op_n; i++) {
		const struct model_op *x = &a->ops[i], *y = &b->ops[i];

		cr_assert(x->id == y->id && x->start_ns == y->start_ns && x->end_ns == y->end_ns &&
			  x->open == y->open && x->parent == y->parent);
		cr_assert(strcmp(strtab_str(a->strings, x->ident_id), strtab_str(b->strings, y->ident_id)) == 0);
	}
	qsort(a->waits + 1, a->wait_n - 1, sizeof(*a->waits), wait_compare);
	qsort(b->waits + 1, b->wait_n - 1, sizeof(*b->waits), wait_compare);
	for (size_t i = 1; i < a->wait_n; i++)
		cr_assert(wait_compare(&a->waits[i], &b->waits[i]) == 0 && a->waits[i].end_ns == b->waits[i].end_ns &&
			  a->waits[i].clipped == b->waits[i].clipped, "seed %" PRIu64 ", wait %zu", seed, i);
	for (size_t i = 1; i < a->thread_n; i++)
		cr_assert(a->threads[i].tid == b->threads[i].tid && a->threads[i].end_ns == b->threads[i].end_ns);
	cr_assert(dump_dropped_events(a) == dump_dropped_events(b));
}

/* Two waits of one op that are equal in all are one wait to whoever reads several dumps. */
static bool has_twins(const struct interval *waits)
{
	for (unsigned i = 0; i < WAITS; i++) {
		for (unsigned k = i + 1; k < WAITS; k++) {
			if (!waits[i].tid && !waits[k].tid && waits[i].parent == waits[k].parent &&
			    waits[i].start == waits[k].start && waits[i].ident == waits[k].ident)
				return true;
		}
	}
	return false;
}

static void run_check(uint64_t seed, bool flushed)
{
	struct interval ops[OPS], waits[WAITS];
	char whole[1][32], parts[PARTS][32];
	struct model *a, *b;
	int now;

	state = seed;
	for (unsigned i = 0; i < OPS; i++)
		ops[i] = interval_make(i);
	waits_make(waits);
	if (has_twins(waits))
		return;
	now = 1 + (int)random_below(END - 1);
	file_make(whole[0], ops, waits, END, -1, 5);
	/* In either order. */
	file_make(parts[seed % 2], ops, waits, now, -1, 2);
	file_make(parts[1 - seed % 2], ops, waits, END, flushed ? now : -1, 5);
	a = read_all(whole, 1);
	b = read_all(parts, 2);
	same(a, b, seed);
	model_free(a);
	model_free(b);
	unlink(whole[0]);
	unlink(parts[0]);
	unlink(parts[1]);
}

Test(merge, two_dumps_are_the_whole)
{
	for (uint64_t seed = 1; seed <= SEEDS; seed++) {
		run_check(seed, true);
		run_check(seed, false);
	}
}

static void text_file(char path[32], const char *text)
{
	int fd;

	strcpy(path, "/tmp/wcbpf-merge-XXXXXX");
	fd = mkstemp(path);
	cr_assert(fd >= 0 && write(fd, text, strlen(text)) == (ssize_t)strlen(text));
	close(fd);
}

#define HEADER(epoch, dumped) \
	"{\"schema_version\":1,\"epoch_unix_nano\":" #epoch ",\"dumped_unix_nano\":" #dumped ",\"strings\":[\"\"]}\n"

Test(merge, of_another_run_is_refused)
{
	struct dump_problem problem = { 0 };
	char paths[2][32];
	struct model *m = NULL;

	text_file(paths[0], HEADER(5, 100));
	text_file(paths[1], HEADER(6, 100));
	cr_assert(dump_read_merged((const char *const[]){ paths[0], paths[1] }, 2, &m, NULL, &problem) == -EINVAL &&
		  !m);
	cr_assert(strstr(problem.message, "of another run"), "%s", problem.message);
	unlink(paths[0]);
	unlink(paths[1]);
}

/* Either each dump tells of all samples so far, or of the new ones: the thread's own count tells which. */
static void samples_check(unsigned first, unsigned second, unsigned told, unsigned expected)
{
	struct dump_problem problem = { 0 };
	char paths[2][32], text[2][512];
	struct model *m;
	uint64_t sum = 0;

	for (int i = 0; i < 2; i++)
		snprintf(text[i], sizeof(text[i]),
			 HEADER(5, %d)
			 "{\"e\":\"thread\",\"pid\":1,\"tid\":2,\"comm\":\"t\",\"begin_ns\":0,\"end_ns\":10,"
			 "\"samples\":%u}\n"
			 "{\"e\":\"sample\",\"pid\":1,\"tid\":2,\"begin_ns\":0,\"samples\":%u}\n",
			 100 + i, i ? told : first, i ? second : first);
	text_file(paths[0], text[0]);
	text_file(paths[1], text[1]);
	cr_assert(dump_read_merged((const char *const[]){ paths[0], paths[1] }, 2, &m, NULL, &problem) == 0);
	for (size_t i = 1; i < m->sample_n; i++)
		sum += m->samples[i].count;
	cr_assert(sum == expected, "%" PRIu64, sum);
	model_free(m);
	unlink(paths[0]);
	unlink(paths[1]);
}

Test(merge, samples_of_all_or_of_the_rest)
{
	samples_check(3, 8, 8, 8);
	samples_check(3, 5, 8, 8);
}

/*
 * Goroutine 7 on thread 2, then 8 on the same one, from the same moment; 7 waits twice, in the first dump the second
 * wait is still open. An op of it has a span.
 */
#define GO_LINES(end)                                                                                                  \
	"{\"e\":\"thread\",\"pid\":1,\"tid\":2,\"comm\":\"t\",\"begin_ns\":0,\"end_ns\":" #end "}\n"                   \
	"{\"e\":\"thread\",\"pid\":1,\"tid\":2,\"goid\":7,\"comm\":\"a\",\"begin_ns\":0,\"end_ns\":" #end "}\n"        \
	"{\"e\":\"thread\",\"pid\":1,\"tid\":2,\"goid\":8,\"comm\":\"b\",\"begin_ns\":0,\"end_ns\":" #end "}\n"        \
	"{\"e\":\"op\",\"k\":\"call\",\"id\":5,\"s\":0,\"d\":90,\"pid\":1,\"tid\":2,\"goid\":7}\n"                     \
	"{\"e\":\"span\",\"id\":5,\"tr\":\"0af7651916cd43dd8448eb211c80319c\",\"sp\":\"b7ad6b7169203331\"}\n"          \
	"{\"e\":\"wait\",\"rs\":\"sync\",\"p\":5,\"s\":10,\"d\":20,\"pid\":1,\"tid\":2,\"goid\":7,\"parked\":1}\n"      \
	"{\"e\":\"wait\",\"rs\":\"sync\",\"s\":10,\"d\":30,\"pid\":1,\"tid\":2,\"goid\":8,\"parked\":1}\n"              \
	"{\"e\":\"wait\",\"rs\":\"sync\",\"p\":5,\"s\":40,\"d\":" #end ",\"pid\":1,\"tid\":2,\"goid\":7,\"parked\":1}\n"

Test(merge, goroutines_by_their_own_numbers)
{
	struct dump_problem problem = { 0 };
	char paths[2][32];
	struct model *m;

	text_file(paths[0], HEADER(5, 105) GO_LINES(100));
	/* On another thread by now. */
	text_file(paths[1], HEADER(5, 205) GO_LINES(200)
		  "{\"e\":\"thread\",\"pid\":1,\"tid\":3,\"goid\":8,\"comm\":\"b\",\"begin_ns\":0,\"end_ns\":200}\n"
		  "{\"e\":\"span\",\"id\":5,\"tr\":\"0af7651916cd43dd8448eb211c80319c\",\"sp\":\"b7ad6b7169203332\"}\n");
	cr_assert(dump_read_merged((const char *const[]){ paths[0], paths[1] }, 2, &m, NULL, &problem) == 0);
	cr_assert(m->thread_n - 1 == 3 && m->goroutine_n == 2 && m->span_n - 1 == 2 && m->op_n - 1 == 1);
	cr_assert(m->wait_n - 1 == 3);
	for (size_t i = 1; i < m->wait_n; i++) {
		const struct model_thread *t = &m->threads[m->waits[i].thread];

		cr_assert(t->goid == (m->waits[i].op ? 7 : 8));
		cr_assert(m->waits[i].start_ns == 10 || m->waits[i].end_ns == 200);
	}
	for (size_t i = 1; i < m->thread_n; i++)
		cr_assert(m->threads[i].end_ns == 200 && m->threads[i].tid == (m->threads[i].goid == 8 ? 3 : 2));
	model_free(m);
	unlink(paths[0]);
	unlink(paths[1]);
}
