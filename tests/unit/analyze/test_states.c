/* SPDX-License-Identifier: (LGPL-2.1 OR BSD-2-Clause) */
/* States, classes, windows and dead air against a picture of single nanoseconds. */
#include <criterion/criterion.h>
#include <stdlib.h>
#include <string.h>

#include "rig.h"

enum { SEEDS = 200 };

/* Of the threads' own accounts: what is hidden from the waits is not on the CPU. */
static uint64_t hidden_ns(const struct rig *r)
{
	uint64_t ns = 0;

	for (uint32_t t = 1; t <= RIG_THREADS; t++) {
		uint64_t running = 0;

		for (int i = 0; i < RIG_NS; i++)
			running += r->ns[t][i].where == WHERE_RUNNING;
		ns += running - r->m->threads[t].oncpu_ns;
	}
	return ns;
}

Test(states, sum_to_all_threads_lives)
{
	for (uint64_t seed = 1; seed <= SEEDS; seed++) {
		struct analyze_states s;
		struct rig r;
		uint64_t ns[WHERE_MAX] = { 0 }, total = 0;

		rig_make(&r, seed, seed % 2);
		cr_assert(analyze_states(r.m, NULL, &s) == 0);
		for (uint32_t t = 1; t <= RIG_THREADS; t++) {
			for (int i = 0; i < RIG_NS; i++) {
				if (r.ns[t][i].where == WHERE_MAX)
					continue;
				ns[r.ns[t][i].where]++;
				total++;
			}
		}
		ns[WHERE_RUNNING] -= hidden_ns(&r);
		ns[WHERE_UNKNOWN] += hidden_ns(&r);
		cr_assert(!s.of_ops && s.gap_ns == 0 && s.total_ns == total);
		for (unsigned i = 0; i < WHERE_MAX; i++)
			cr_assert(s.ns[i] == ns[i], "seed %lu, %s: %lu, in the picture %lu", seed,
				  analyze_where_name((enum analyze_where)i), s.ns[i], ns[i]);
		rig_done(&r);
	}
}

Test(states, a_dump_that_contradicts_itself_has_a_gap)
{
	struct analyze_states s;
	struct rig r;

	rig_make(&r, 1, false);
	r.m->threads[1].runnable_ns += 7;
	cr_assert(analyze_states(r.m, NULL, &s) == 0);
	cr_assert(s.gap_ns == -7, "%ld", s.gap_ns);
	r.m->threads[2].end_ns += 20;
	cr_assert(analyze_states(r.m, NULL, &s) == 0);
	cr_assert(s.gap_ns == 13);
	rig_done(&r);
}

Test(states, of_one_class_of_ops)
{
	for (uint64_t seed = 1; seed <= SEEDS; seed++) {
		static const char *const classes[] = { "c1" };
		struct analyze_filter f = { .classes = classes, .class_n = 1 };
		uint64_t ns[WHERE_MAX] = { 0 };
		struct analyze_states s;
		struct rig r;

		rig_make(&r, seed, false);
		cr_assert(analyze_states(r.m, &f, &s) == 0);
		for (uint32_t t = 1; t <= RIG_THREADS; t++) {
			for (int i = 0; i < RIG_NS; i++) {
				uint32_t op = r.ns[t][i].op;

				while (op && strcmp(strtab_str(r.m->strings, r.m->ops[op].class_id), "c1") != 0)
					op = r.m->ops[op].parent;
				if (op)
					ns[r.ns[t][i].where]++;
			}
		}
		cr_assert(s.of_ops && s.gap_ns == 0);
		for (unsigned i = 0; i < WHERE_MAX; i++)
			cr_assert(s.ns[i] == ns[i], "seed %lu, %s: %lu, in the picture %lu", seed,
				  analyze_where_name((enum analyze_where)i), s.ns[i], ns[i]);
		rig_done(&r);
	}
}

static const struct analyze_class *class_find(const struct analyze_class *list, size_t n, uint8_t kind,
					      uint32_t class_id)
{
	for (size_t i = 0; i < n; i++) {
		if (list[i].kind == kind && list[i].class_id == class_id)
			return &list[i];
	}
	return NULL;
}

/* Own time of a class: ns whose innermost op is one; of processes: ns of all their threads. */
static void class_check(const struct rig *r, const struct analyze_class *c, uint64_t seed)
{
	uint64_t ns[WHERE_MAX] = { 0 }, sum = 0, total = 0, count = 0, longest = 0, outcomes[OP_OUTCOME_MAX] = { 0 };

	for (uint32_t t = 1; t <= RIG_THREADS; t++) {
		for (int i = 0; i < RIG_NS; i++) {
			const struct model_op *o = &r->m->ops[r->ns[t][i].op];

			if (r->ns[t][i].where == WHERE_MAX)
				continue;
			if (c->kind == OP_EXEC || (o->kind == c->kind && o->class_id == c->class_id))
				ns[r->ns[t][i].where]++;
		}
	}
	for (size_t i = 1; i < r->m->op_n; i++) {
		const struct model_op *o = &r->m->ops[i];
		uint64_t d = (uint64_t)(o->end_ns - o->start_ns);

		if (o->kind != c->kind || o->class_id != c->class_id)
			continue;
		count++;
		total += d;
		longest = d > longest ? d : longest;
		outcomes[o->outcome]++;
	}
	cr_assert(c->count == count && c->total_ns == total && c->max_ns == longest && c->outside_ns == 0);
	cr_assert(memcmp(c->outcomes, outcomes, sizeof(outcomes)) == 0);
	for (unsigned i = 0; i < WHERE_MAX; i++) {
		sum += c->ns[i];
		cr_assert(c->ns[i] == ns[i], "seed %lu, %s %s: %lu, in the picture %lu", seed,
			  strtab_str(r->m->strings, c->class_id), analyze_where_name((enum analyze_where)i), c->ns[i],
			  ns[i]);
	}
	if (c->kind != OP_EXEC)
		cr_assert(sum + c->child_ns == c->total_ns);
}

static int u64_compare(const void *a, const void *b)
{
	uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;

	return x < y ? -1 : x > y;
}

/* Nearest rank, by its definition: the least value with at least p of a hundred at or below it. */
static uint64_t percentile(const uint64_t *sorted, size_t n, size_t p)
{
	for (size_t i = 0; i < n; i++) {
		if ((i + 1) * 100 >= p * n)
			return sorted[i];
	}
	return 0;
}

static void quantiles_check(const struct rig *r, const struct analyze_class *c)
{
	uint64_t d[1024];
	size_t n = 0;

	for (size_t i = 1; i < r->m->op_n && n < 1024; i++) {
		const struct model_op *o = &r->m->ops[i];

		if (o->kind == c->kind && o->class_id == c->class_id)
			d[n++] = (uint64_t)(o->end_ns - o->start_ns);
	}
	qsort(d, n, sizeof(d[0]), u64_compare);
	cr_assert(c->p50_ns == percentile(d, n, 50) && c->p95_ns == percentile(d, n, 95));
}

/* Executions of an ident of the class, each but the first. */
static void duplicates_check(const struct rig *r, const struct analyze_class *c)
{
	uint64_t n = 0, ns = 0;

	for (size_t i = 1; i < r->m->op_n; i++) {
		const struct model_op *o = &r->m->ops[i];
		bool before = false;

		if (o->kind != c->kind || o->class_id != c->class_id || !o->ident_id || o->outcome == OUTCOME_HIT ||
		    o->outcome == OUTCOME_JOINED)
			continue;
		for (size_t k = 1; k < i; k++) {
			const struct model_op *x = &r->m->ops[k];

			before |= x->kind == o->kind && x->class_id == o->class_id && x->ident_id == o->ident_id &&
				  x->outcome != OUTCOME_HIT && x->outcome != OUTCOME_JOINED;
		}
		n += before;
		ns += before ? (uint64_t)(o->end_ns - o->start_ns) : 0;
	}
	cr_assert(c->duplicate_n == n && c->duplicate_ns == ns);
}

Test(classes, own_time_is_what_the_picture_shows)
{
	for (uint64_t seed = 1; seed <= SEEDS; seed++) {
		struct analyze_class *list;
		struct rig r;
		size_t n;

		rig_make(&r, seed, false);
		cr_assert(analyze_classes(r.m, NULL, &list, &n) == 0);
		for (size_t i = 0; i < n; i++) {
			class_check(&r, &list[i], seed);
			quantiles_check(&r, &list[i]);
			if (list[i].kind == OP_CALL)
				duplicates_check(&r, &list[i]);
			cr_assert(class_find(list, n, list[i].kind, list[i].class_id) == &list[i]);
			cr_assert(!i || list[i - 1].total_ns >= list[i].total_ns);
		}
		free(list);
		rig_done(&r);
	}
}

Test(classes, what_a_thread_hides_is_not_its_ops_time_on_the_cpu)
{
	for (uint64_t seed = 1; seed <= SEEDS; seed++) {
		uint64_t cpu_ns = 0, oncpu_ns = 0;
		struct analyze_class *list;
		struct rig r;
		size_t n;

		rig_make(&r, seed, true);
		cr_assert(analyze_classes(r.m, NULL, &list, &n) == 0);
		for (uint32_t t = 1; t <= RIG_THREADS; t++)
			oncpu_ns += r.m->threads[t].oncpu_ns;
		for (size_t i = 0; i < n; i++)
			cpu_ns += list[i].kind == OP_EXEC ? list[i].ns[WHERE_RUNNING] : 0;
		cr_assert(cpu_ns == oncpu_ns);
		free(list);
		rig_done(&r);
	}
}

/* Ops of an engine have no threads: a root with two children that overlap, and waits beside and inside them. */
Test(classes, of_an_engine)
{
	struct analyze_class *list;
	const struct analyze_class *c;
	struct model *m;
	uint32_t i, row;
	size_t n;

	cr_assert(model_new(&m) == 0);
	m->end_ns = 100;
	cr_assert(model_row_add(m, &row) == 0);
	m->rows[row] = (struct model_row){ .reason = REASON_LAZY, .syscall = -1 };
	cr_assert(model_op_add(m, &i) == 0);
	m->ops[i] = (struct model_op){ .id = 1, .class_id = rig_string(m, "root"), .start_ns = 0, .end_ns = 100 };
	cr_assert(model_op_add(m, &i) == 0);
	m->ops[i] = (struct model_op){
		.id = 2, .class_id = rig_string(m, "kid"), .parent = 1, .start_ns = 10, .end_ns = 50
	};
	cr_assert(model_op_add(m, &i) == 0);
	m->ops[i] = (struct model_op){
		.id = 3, .class_id = rig_string(m, "kid"), .parent = 1, .start_ns = 30, .end_ns = 120
	};
	m->ops[i].end_ns = 60;
	/* 20..40 lies in the children: it is waited for, not theirs. 90..95 lies in none. */
	cr_assert(model_wait_add(m, &i) == 0);
	m->waits[i] = (struct model_wait){
		.op = 1, .row = row, .start_ns = 20, .end_ns = 40, .blocked_ns = 20, .wake_ns = -1
	};
	cr_assert(model_wait_add(m, &i) == 0);
	m->waits[i] = (struct model_wait){
		.op = 1, .row = row, .start_ns = 90, .end_ns = 95, .blocked_ns = 5, .wake_ns = -1
	};
	cr_assert(analyze_classes(m, NULL, &list, &n) == 0 && n == 2);
	c = class_find(list, n, OP_CALL, rig_string(m, "root"));
	/* Children: 10..20 and 40..60. The rest, 0..10, 60..90 and 95..100, is its own. */
	cr_assert(c && c->ns[WHERE_WORK] == 25 && c->child_ns == 30 && c->ns[WHERE_UNKNOWN] == 45 &&
		  c->outside_ns == 0);
	c = class_find(list, n, OP_CALL, rig_string(m, "kid"));
	cr_assert(c && c->count == 2 && c->total_ns == 70 && c->ns[WHERE_UNKNOWN] == 70);
	free(list);
	model_free(m);
}

/* Requests are their clients': they hang under nothing, and yet are what their thread does. */
Test(classes, ops_that_hang_elsewhere_are_not_their_threads_own_time)
{
	for (uint64_t seed = 1; seed <= SEEDS; seed++) {
		struct analyze_class *list;
		struct rig r;
		size_t n;

		rig_make(&r, seed, false);
		for (uint32_t i = 1; i < r.m->op_n; i++) {
			struct model_op *o = &r.m->ops[i];
			bool hangs_in_a_thread = o->kind == OP_CALL && o->tid;

			if (hangs_in_a_thread && rig_random(&r, 2))
				o->parent = 0;
		}
		cr_assert(analyze_classes(r.m, NULL, &list, &n) == 0);
		for (size_t i = 0; i < n; i++)
			class_check(&r, &list[i], seed);
		free(list);
		rig_done(&r);
	}
}

/* The thread ends 20 behind its op, as one does that somebody waited for: 10 ready and 2 blocked are in no wait. */
Test(classes, an_exit_behind_the_op_is_not_in_it)
{
	struct analyze_class *list;
	const struct analyze_class *c;
	struct model *m;
	uint32_t i;
	size_t n;

	cr_assert(model_new(&m) == 0);
	m->end_ns = 120;
	cr_assert(model_op_add(m, &i) == 0);
	m->ops[i] = (struct model_op){ .id = 1, .kind = OP_INTERNAL, .class_id = rig_string(m, "t"), .pid = 1, .tid = 1,
				       .end_ns = 100 };
	cr_assert(model_thread_add(m, &i) == 0);
	m->threads[i] = (struct model_thread){ .pid = 1, .tid = 1, .op = 1, .end_ns = 120, .has_totals = true,
					       .oncpu_ns = 108, .runnable_ns = 10, .blocked_ns = 2 };
	cr_assert(analyze_classes(m, NULL, &list, &n) == 0);
	c = class_find(list, n, OP_INTERNAL, rig_string(m, "t"));
	cr_assert(c && c->ns[WHERE_RUNNING] == 100 && analyze_class_self_ns(c) == 100 && !analyze_class_blocked_ns(c));
	free(list);
	/* Of 30 more than that was there. */
	m->threads[1].oncpu_ns = 80;
	m->threads[1].runnable_ns = 30;
	m->threads[1].blocked_ns = 10;
	cr_assert(analyze_classes(m, NULL, &list, &n) == 0);
	c = class_find(list, n, OP_INTERNAL, rig_string(m, "t"));
	cr_assert(c && c->ns[WHERE_RUNNABLE] == 10 && c->ns[WHERE_UNKNOWN] == 10 && c->ns[WHERE_RUNNING] == 80);
	cr_assert(analyze_class_self_ns(c) == 80 && analyze_class_blocked_ns(c) == 10);
	free(list);
	model_free(m);
}

static void window_check(struct rig *r, int64_t from, int64_t to, uint64_t seed)
{
	struct analyze_states s;
	uint64_t ns[WHERE_MAX] = { 0 }, total = 0;
	size_t waits = 0;
	bool met[4096] = { false };

	for (uint32_t t = 1; t <= RIG_THREADS; t++) {
		for (int64_t i = from; i < to; i++) {
			const struct rig_ns *x = &r->ns[t][i];

			if (x->where == WHERE_MAX)
				continue;
			ns[x->where]++;
			total++;
			waits += x->wait && !met[x->wait];
			met[x->wait] = true;
		}
	}
	cr_assert(analyze_window(r->m, from, to) == 0);
	cr_assert(analyze_states(r->m, NULL, &s) == 0);
	cr_assert(r->m->end_ns == to - from && r->m->wait_n - 1 == waits, "seed %lu: %zu waits, %zu in the picture",
		  seed, r->m->wait_n - 1, waits);
	cr_assert(s.total_ns == total && s.gap_ns == 0);
	for (unsigned i = 0; i < WHERE_MAX; i++)
		cr_assert(s.ns[i] == ns[i], "seed %lu, %s: %lu, in the picture %lu", seed,
			  analyze_where_name((enum analyze_where)i), s.ns[i], ns[i]);
	for (size_t i = 1; i < r->m->wait_n; i++) {
		const struct model_wait *w = &r->m->waits[i];

		cr_assert(w->start_ns >= 0 && w->end_ns <= to - from &&
			  w->blocked_ns + w->runnable_ns <= w->end_ns - w->start_ns);
		cr_assert(w->op && w->op < r->m->op_n && w->thread && w->thread < r->m->thread_n);
		cr_assert(r->m->ops[w->op].tid == r->m->threads[w->thread].tid);
	}
}

Test(window, is_a_part_of_the_picture)
{
	for (uint64_t seed = 1; seed <= SEEDS; seed++) {
		int64_t from, to;
		struct rig r;

		rig_make(&r, seed, false);
		from = rig_random(&r, RIG_NS - 1);
		to = from + 1 + rig_random(&r, (uint32_t)(RIG_NS - from));
		window_check(&r, from, to, seed);
		rig_done(&r);
	}
}

Test(window, keeps_the_samples_taken_in_it)
{
	struct rig r;
	uint32_t a, b;

	rig_make(&r, 9, false);
	cr_assert(model_sample_add(r.m, &a) == 0 && model_sample_add(r.m, &b) == 0);
	r.m->threads[1].begin_ns = r.m->threads[2].begin_ns = 0;
	r.m->threads[1].end_ns = r.m->threads[2].end_ns = RIG_NS;
	r.m->samples[a] = (struct model_sample){ .thread = 1, .count = 3 };
	r.m->samples[b] = (struct model_sample){ .thread = 2, .count = 5 }; /* of no known time */
	for (int64_t at = 50; at <= 150; at += 50)
		cr_assert(model_sample_time_add(r.m, a, at) == 0);
	cr_assert(analyze_window(r.m, 50, 150) == 0);
	cr_assert(r.m->samples[a].count == 2 && r.m->samples[b].count == 0);
	cr_assert(r.m->sample_time_n == 2 && r.m->sample_times[0].at_ns == 0 && r.m->sample_times[1].at_ns == 50);
	rig_done(&r);
}

Test(window, of_all_changes_nothing_that_waits_tell)
{
	struct analyze_states before, after;
	struct rig r;

	rig_make(&r, 5, true);
	cr_assert(analyze_states(r.m, NULL, &before) == 0);
	cr_assert(analyze_window(r.m, 0, RIG_NS) == 0);
	cr_assert(analyze_states(r.m, NULL, &after) == 0);
	cr_assert(before.total_ns == after.total_ns && after.gap_ns == 0);
	/* Hidden time stays hidden time. */
	cr_assert(memcmp(before.ns, after.ns, sizeof(before.ns)) == 0);
	rig_done(&r);
}

static bool of_process(const struct rig *r, uint32_t thread, uint32_t process)
{
	return !process || r->m->threads[thread].process == process;
}

static bool is_gap(const struct rig *r, uint32_t process, int i)
{
	bool alive = false, can_run = false;

	for (uint32_t t = 1; t <= RIG_THREADS; t++) {
		if (r->ns[t][i].where == WHERE_MAX || !of_process(r, t, process))
			continue;
		alive = true;
		can_run |= r->ns[t][i].can_run;
	}
	return alive && !can_run;
}

/* The state of the one thread that goes on behind a gap; WHERE_MAX: several do, or none. *ret_any: at least one. */
static enum analyze_where ended_by(const struct rig *r, uint32_t process, int end, bool *ret_any)
{
	enum analyze_where where = WHERE_MAX;
	int n = 0;

	for (uint32_t t = 1; t <= RIG_THREADS; t++) {
		const struct rig_ns *x = &r->ns[t][end - 1];

		if (end == RIG_NS || !of_process(r, t, process))
			continue;
		n += r->m->threads[t].begin_ns == end ? 2 : 0;
		if (x->where == WHERE_MAX)
			continue;
		/* Its blocked part ends there, even if the next wait begins at once. */
		if (r->m->waits[x->wait].start_ns + r->m->waits[x->wait].blocked_ns == end) {
			where = x->where;
			n++;
		}
	}
	*ret_any = n != 0;
	return n == 1 ? where : WHERE_MAX;
}

static void dead_check(const struct rig *r, const struct analyze_dead *d, uint64_t seed)
{
	uint64_t ns[WHERE_MAX + 1] = { 0 }, dead = 0, longest = 0;

	for (int i = 0, end; i < RIG_NS; i = end) {
		enum analyze_where where;
		bool ended;

		end = i + 1;
		if (!is_gap(r, d->process, i))
			continue;
		where = ended_by(r, d->process, end, &ended);
		/* A wait's end is a gap's end too, if the thread waits again at once. */
		while (end < RIG_NS && !ended && is_gap(r, d->process, end))
			where = ended_by(r, d->process, ++end, &ended);
		ns[where] += (uint64_t)(end - i);
		dead += (uint64_t)(end - i);
		longest = (uint64_t)(end - i) > longest ? (uint64_t)(end - i) : longest;
	}
	cr_assert(d->dead_ns == dead, "seed %lu, process %u: %lu dead, in the picture %lu", seed, d->process,
		  d->dead_ns, dead);
	cr_assert(d->longest_ns <= longest);
	for (unsigned i = 0; i < WHERE_MAX; i++)
		cr_assert(d->ns[i] >= ns[i] && d->ns[i] <= ns[i] + ns[WHERE_MAX],
			  "seed %lu, process %u, %s: %lu, in the picture %lu + %lu", seed, d->process,
			  analyze_where_name((enum analyze_where)i), d->ns[i], ns[i], ns[WHERE_MAX]);
}

Test(dead_air, is_when_no_thread_can_run)
{
	for (uint64_t seed = 1; seed <= SEEDS; seed++) {
		struct analyze_dead *list;
		struct rig r;
		size_t n;

		rig_make(&r, seed, false);
		cr_assert(analyze_dead_air(r.m, NULL, &list, &n) == 0);
		for (size_t i = 0; i < n; i++) {
			uint64_t sum = 0;

			dead_check(&r, &list[i], seed);
			for (unsigned k = 0; k < WHERE_MAX; k++)
				sum += list[i].ns[k];
			cr_assert(sum == list[i].dead_ns);
		}
		free(list);
		rig_done(&r);
	}
}
