/* SPDX-License-Identifier: (LGPL-2.1 OR BSD-2-Clause) */
/* Queues, tails, children, clients and frames against plain counting in made-up recordings. */
#include <criterion/criterion.h>
#include <stdlib.h>
#include <string.h>

#include "rig.h"

enum { SEEDS = 100, LIST_MAX = 2048 };

static int u64_compare(const void *a, const void *b)
{
	uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;

	return x < y ? -1 : x > y;
}

/* The least value with at least p of a hundred at or below it. */
static uint64_t percentile(const uint64_t *sorted, size_t n, size_t p)
{
	for (size_t i = 0; i < n; i++) {
		if ((i + 1) * 100 >= p * n)
			return sorted[i];
	}
	return 0;
}

static void queued_check(const struct rig *r, const struct analyze_actors *a, const struct analyze_queued *q, bool all)
{
	uint64_t delays[LIST_MAX], wake_ns = 0, preempt_ns = 0, preempt_n = 0, longest = 0;
	size_t n = 0, placed = 0, moved = 0;

	for (size_t i = 1; i < r->m->wait_n; i++) {
		const struct model_wait *w = &r->m->waits[i];
		uint64_t ns = (uint64_t)w->runnable_ns;

		if (!all && a->of_thread[w->thread] != q->actor)
			continue;
		longest = ns > longest ? ns : longest;
		placed += w->cpu_from > 0 && w->cpu_to > 0;
		moved += w->cpu_from > 0 && w->cpu_to > 0 && w->cpu_from != w->cpu_to;
		if (w->row == r->cpu_row) {
			preempt_n++;
			preempt_ns += ns;
			continue;
		}
		delays[n++] = ns;
		wake_ns += ns;
	}
	qsort(delays, n, sizeof(delays[0]), u64_compare);
	cr_assert(q->wake_n == n && q->wake_ns == wake_ns && q->preempt_n == preempt_n && q->preempt_ns == preempt_ns);
	cr_assert(q->wake_p50_ns == percentile(delays, n, 50) && q->wake_p95_ns == percentile(delays, n, 95));
	cr_assert(q->placed_n == placed && q->migrated_n == moved);
	cr_assert(q->wake_max_ns == (n ? delays[n - 1] : 0));
	cr_assert(!longest || (uint64_t)r->m->waits[q->longest_wait].runnable_ns == longest);
}

Test(queues, of_each_actor_and_of_all)
{
	for (uint64_t seed = 1; seed <= SEEDS; seed++) {
		struct analyze_actors a;
		struct analyze_queues q;
		struct rig r;

		rig_make(&r, seed, false);
		cr_assert(analyze_actors(r.m, &a) == 0 && analyze_queues(r.m, NULL, &a, &q) == 0);
		queued_check(&r, &a, &q.all, true);
		for (size_t i = 0; i < q.n; i++)
			queued_check(&r, &a, &q.list[i], false);
		cr_assert(q.short_ns == 0);
		analyze_queues_done(&q);
		analyze_actors_done(&a);
		rig_done(&r);
	}
}

Test(actors, are_names_within_programs)
{
	struct analyze_actors a;
	struct rig r;

	rig_make(&r, 3, false);
	cr_assert(analyze_actors(r.m, &a) == 0);
	for (uint32_t i = 1; i < r.m->thread_n; i++) {
		for (uint32_t k = 1; k < r.m->thread_n; k++) {
			const struct model_thread *x = &r.m->threads[i], *y = &r.m->threads[k];
			bool same = x->comm_id == y->comm_id &&
				    r.m->processes[x->process].comm_id == r.m->processes[y->process].comm_id;

			cr_assert((a.of_thread[i] == a.of_thread[k]) == same);
		}
		cr_assert(a.list[a.of_thread[i]].name_id == r.m->threads[i].comm_id && a.of_thread[i]);
	}
	analyze_actors_done(&a);
	rig_done(&r);
}

static bool is_below(const struct model *m, uint32_t op, uint32_t above)
{
	while (op && op != above)
		op = m->ops[op].parent;
	return op == above;
}

/* ns of an op on its thread, with all that is below it, by the picture. */
static void op_count(const struct rig *r, uint32_t op, uint64_t ns[WHERE_MAX])
{
	for (uint32_t t = 1; t <= RIG_THREADS; t++) {
		for (int i = 0; i < RIG_NS; i++) {
			if (r->ns[t][i].where < WHERE_MAX && r->ns[t][i].op && is_below(r->m, r->ns[t][i].op, op))
				ns[r->ns[t][i].where]++;
		}
	}
}

static void tail_check(const struct rig *r, const struct analyze_tail *x)
{
	uint64_t ns[WHERE_MAX] = { 0 }, longest[LIST_MAX], slow_waits = 0, listed = 0;
	size_t n = 0;

	for (size_t i = 1; i < r->m->op_n; i++) {
		const struct model_op *o = &r->m->ops[i];

		if (o->kind == x->kind && o->class_id == x->class_id)
			longest[n++] = (uint64_t)(o->end_ns - o->start_ns);
	}
	qsort(longest, n, sizeof(longest[0]), u64_compare);
	cr_assert(x->op_n == n && x->slow.n >= 1 && x->median.n >= 1);
	cr_assert(x->p99_ns == percentile(longest, n, 99) && x->median_ns == longest[(n - 1) / 2]);
	for (size_t i = 0; i < x->slow.n; i++) {
		const struct model_op *o = &r->m->ops[x->slow_ops[i]];

		cr_assert((uint64_t)(o->end_ns - o->start_ns) == longest[n - 1 - i]);
		op_count(r, x->slow_ops[i], ns);
		for (size_t k = 1; k < r->m->wait_n; k++)
			slow_waits += is_below(r->m, r->m->waits[k].op, x->slow_ops[i]);
	}
	cr_assert(memcmp(ns, x->slow.ns, sizeof(ns)) == 0);
	for (size_t i = 0; i < x->resource_n; i++)
		listed += x->resources[i].slow_n;
	cr_assert(listed == slow_waits);
}

Test(tail, groups_are_the_slowest_and_the_middle)
{
	for (uint64_t seed = 1; seed <= SEEDS; seed++) {
		struct analyze_tail x;
		struct rig r;

		rig_make(&r, seed, false);
		cr_assert(analyze_tail(r.m, NULL, OP_CALL, rig_string(r.m, "c2"), &x) == 0);
		if (x.op_n)
			tail_check(&r, &x);
		analyze_tail_done(&x);
		rig_done(&r);
	}
}

Test(tail, of_two_hundred_the_slowest_two)
{
	struct analyze_tail x;
	struct model *m;
	uint32_t i;

	cr_assert(model_new(&m) == 0);
	m->end_ns = 1000;
	for (int k = 1; k <= 200; k++) {
		cr_assert(model_op_add(m, &i) == 0);
		m->ops[i] = (struct model_op){ .id = i, .kind = OP_CALL, .start_ns = 0, .end_ns = k };
	}
	cr_assert(analyze_tail(m, NULL, OP_CALL, 0, &x) == 0);
	/* From the 198th on (99 of a hundred are 198), the middle tenth from the 90th to the 110th. */
	cr_assert(x.p99_ns == 198 && x.slow.n == 3 && x.slow.total_ns == 198 + 199 + 200);
	cr_assert(x.median.n == 21 && x.median.total_ns == 21 * 100);
	analyze_tail_done(&x);
	model_free(m);
}

/* 1000 ops of 1 ms, one every 10 ms; 6 of 30 ms that begin at 2 s, 4 at 7 s, 1 at 5 s: the eleven slowest of 1011. */
Test(tail, spikes_are_slow_ops_that_come_together)
{
	static const struct {
		int64_t at_ms;
		int n;
	} bursts[] = { { 2000, 6 }, { 5000, 1 }, { 7000, 4 } };
	struct analyze_tail x;
	struct model *m;
	uint32_t i;

	cr_assert(model_new(&m) == 0);
	m->end_ns = 10000000000;
	for (int64_t k = 0; k < 1000; k++) {
		cr_assert(model_op_add(m, &i) == 0);
		m->ops[i] = (struct model_op){ .id = i, .kind = OP_CALL, .start_ns = k * 10000000,
					       .end_ns = k * 10000000 + 1000000 };
	}
	for (size_t b = 0; b < sizeof(bursts) / sizeof(bursts[0]); b++) {
		for (int k = 0; k < bursts[b].n; k++) {
			int64_t start_ns = (bursts[b].at_ms + 5 * k) * 1000000;

			cr_assert(model_op_add(m, &i) == 0);
			m->ops[i] = (struct model_op){ .id = i, .kind = OP_CALL, .start_ns = start_ns,
						       .end_ns = start_ns + 30000000 };
		}
	}
	cr_assert(analyze_tail(m, NULL, OP_CALL, 0, &x) == 0);
	cr_assert(x.slow.n == 11 && x.spike_n == 3);
	cr_expect(x.spikes[0].n == 6 && x.spikes[0].from_ns == 2000000000 && x.spikes[0].to_ns == 2055000000);
	cr_expect(x.spikes[1].n == 4 && x.spikes[1].from_ns == 7000000000 && x.spikes[1].to_ns == 7045000000);
	cr_expect(x.spikes[2].n == 1 && x.spikes[2].from_ns == 5000000000);
	analyze_tail_done(&x);
	model_free(m);
}

/* ns of a parent's life in which one of its children of the class runs. */
static void child_check(const struct rig *r, const struct analyze_child *c)
{
	uint64_t count = 0, covered = 0;
	int cover[RIG_NS];

	for (uint32_t p = c->root ? 0 : 1; p < (c->root ? 1 : r->m->op_n); p++) {
		const struct model_op *o = &r->m->ops[p];

		if (!c->root && (o->kind != c->parent_kind || o->class_id != c->parent_class_id))
			continue;
		memset(cover, 0, sizeof(cover));
		for (size_t i = 1; i < r->m->op_n; i++) {
			const struct model_op *x = &r->m->ops[i];

			if (x->parent != p || x->kind != c->kind || x->class_id != c->class_id)
				continue;
			count++;
			for (int64_t k = x->start_ns; k < x->end_ns; k++)
				cover[k] = 1;
		}
		for (int k = 0; k < RIG_NS; k++)
			covered += cover[k] && (c->root || (k >= o->start_ns && k < o->end_ns));
	}
	cr_assert(c->count == count && c->covered_ns == covered);
}

Test(children, cover_their_parents)
{
	for (uint64_t seed = 1; seed <= SEEDS; seed++) {
		struct analyze_child *list;
		uint64_t count = 0;
		struct rig r;
		size_t n;

		rig_make(&r, seed, false);
		cr_assert(analyze_children(r.m, NULL, &list, &n) == 0);
		for (size_t i = 0; i < n; i++) {
			child_check(&r, &list[i]);
			count += list[i].count;
		}
		cr_assert(count == r.m->op_n - 1);
		free(list);
		rig_done(&r);
	}
}

Test(children, of_a_client_hang_under_its_host)
{
	struct analyze_child *list;
	struct model *m;
	uint32_t i;
	size_t n;

	cr_assert(model_new(&m) == 0);
	for (uint32_t k = 1; k <= 2; k++) {
		cr_assert(model_op_add(m, &i) == 0);
		m->ops[i] = (struct model_op){ .id = k,
					       .kind = OP_EXEC,
					       .class_id = rig_string(m, k == 1 ? "sh" : "ls"),
					       .end_ns = 10,
					       .client_id = rig_string(m, k == 1 ? "1:1" : "2:2") };
	}
	cr_assert(model_link_add(m, &i) == 0);
	m->links[i] = (struct model_link){
		.kind = LINK_NESTED_CLIENT, .from = 1, .to = 2, .ident_id = rig_string(m, "2:2")
	};
	/* And a host of the host that is below it: such a circle is cut. */
	cr_assert(model_link_add(m, &i) == 0);
	m->links[i] = (struct model_link){
		.kind = LINK_NESTED_CLIENT, .from = 2, .to = 1, .ident_id = rig_string(m, "1:1")
	};
	cr_assert(analyze_children(m, NULL, &list, &n) == 0 && n == 2);
	for (size_t k = 0; k < n; k++)
		cr_assert(list[k].count == 1 && list[k].root + (list[k].parent_class_id != list[k].class_id) >= 1);
	cr_assert(list[0].root != list[1].root);
	free(list);
	model_free(m);
}

Test(clients, are_active_while_an_op_of_theirs_runs)
{
	for (uint64_t seed = 1; seed <= SEEDS; seed++) {
		static const char *const names[] = { "a", "b" };
		struct analyze_client *list;
		struct rig r;
		size_t n;

		rig_make(&r, seed, false);
		for (size_t i = 1; i < r.m->op_n; i++)
			r.m->ops[i].client_id = rig_random(&r, 3) ? rig_string(r.m, names[rig_random(&r, 2)]) : 0;
		cr_assert(analyze_clients(r.m, NULL, &list, &n) == 0 && n <= 2);
		for (size_t i = 0; i < n; i++) {
			bool active[RIG_NS] = { false };
			uint64_t ns = 0, count = 0;

			for (size_t k = 1; k < r.m->op_n; k++) {
				const struct model_op *o = &r.m->ops[k];

				if (o->client_id != list[i].client_id)
					continue;
				count++;
				for (int64_t at = o->start_ns; at < o->end_ns; at++)
					active[at] = true;
			}
			for (int k = 0; k < RIG_NS; k++)
				ns += active[k];
			cr_assert(list[i].op_n == count && list[i].active_ns == ns);
		}
		free(list);
		rig_done(&r);
	}
}

/* Samples, and waits as they are; every frame is "f0".."f5", the first three of the library. */
static void samples_make(struct rig *r)
{
	for (int i = 0; i < 12; i++) {
		uint32_t at, thread = 1 + rig_random(r, RIG_THREADS);

		cr_assert(model_sample_add(r->m, &at) == 0);
		r->m->samples[at] = (struct model_sample){ .thread = thread,
							   .count = 1 + rig_random(r, 5),
							   .syscall = -1,
							   .ustack = r->stacks[rig_random(r, 8)] };
	}
}

static bool is_library(const struct model *m, const struct model_frame *f)
{
	return strcmp(strtab_str(m->strings, m->modules[f->module].path_id), "/lib/libc.so.6") == 0;
}

/* By the words of analyze.h: is this function, by its name and its file, of the stack credited? */
static bool credited(const struct rig *r, enum analyze_frames_view view, const struct model_stack *s,
		     const struct model_frame *of)
{
	uint32_t first_own = UINT32_MAX, outermost = UINT32_MAX, f1 = rig_string(r->m, "f1");

	for (uint32_t i = s->frame_n; i-- > 0;) {
		first_own = is_library(r->m, &s->frames[i]) ? first_own : i;
		if (outermost == UINT32_MAX && s->frames[i].name_id == f1)
			outermost = i;
	}
	for (uint32_t i = 0; i < s->frame_n; i++) {
		if (s->frames[i].name_id != of->name_id || is_library(r->m, &s->frames[i]) != is_library(r->m, of))
			continue;
		if ((view == ANALYZE_FRAMES_SELF && i == 0) || view == ANALYZE_FRAMES_INCLUSIVE ||
		    (view == ANALYZE_FRAMES_OWN_SELF && i == 0 && first_own == 0) ||
		    (view == ANALYZE_FRAMES_OWN_INCLUSIVE && !is_library(r->m, &s->frames[i])) ||
		    (view == ANALYZE_FRAMES_NEAREST && i == first_own) ||
		    (view == ANALYZE_FRAMES_BELOW && outermost != UINT32_MAX && i == outermost + 1))
			return true;
	}
	return false;
}

static void frame_check(const struct rig *r, enum analyze_frames_view view, const struct analyze_frame *f)
{
	uint64_t blocked_ns = 0, samples = 0;

	for (size_t i = 1; i < r->m->wait_n; i++) {
		const struct model_wait *w = &r->m->waits[i];

		if (w->row != r->cpu_row &&
		    credited(r, view, &r->m->stacks[r->m->rows[w->row].ustack], &f->frame))
			blocked_ns += (uint64_t)w->blocked_ns;
	}
	for (size_t i = 1; i < r->m->sample_n; i++) {
		if (credited(r, view, &r->m->stacks[r->m->samples[i].ustack], &f->frame))
			samples += r->m->samples[i].count;
	}
	cr_assert(f->blocked_ns == blocked_ns && f->cpu_n == samples,
		  "view %d, %s: %lu ns, %lu samples, counted %lu, %lu", view,
		  strtab_str(r->m->strings, f->frame.name_id), f->blocked_ns, f->cpu_n, blocked_ns, samples);
}

Test(frames, each_view_credits_what_its_words_say)
{
	for (uint64_t seed = 1; seed <= SEEDS; seed++) {
		for (int view = ANALYZE_FRAMES_SELF; view <= ANALYZE_FRAMES_BELOW; view++) {
			bool below[256] = { false };
			struct analyze_frames_options o = { .view = (enum analyze_frames_view)view, .below = below };
			struct analyze_frames x;
			struct rig r;

			rig_make(&r, seed, false);
			samples_make(&r);
			below[rig_string(r.m, "f1")] = true;
			cr_assert(strtab_n(r.m->strings) < 256);
			cr_assert(analyze_frames(r.m, &o, &x) == 0);
			for (size_t i = 0; i < x.n; i++) {
				if (!x.list[i].none)
					frame_check(&r, o.view, &x.list[i]);
			}
			analyze_frames_done(&x);
			rig_done(&r);
		}
	}
}

Test(frames, time_on_the_cpu_is_the_threads_divided)
{
	struct analyze_frames_options o = { .view = ANALYZE_FRAMES_LIBRARY };
	struct analyze_frames x;
	struct rig r;
	uint64_t ns = 0, sum = 0;

	rig_make(&r, 11, false);
	samples_make(&r);
	for (uint32_t t = 1; t <= RIG_THREADS; t++) {
		bool sampled = false;

		for (size_t i = 1; i < r.m->sample_n; i++)
			sampled |= r.m->samples[i].thread == t;
		ns += sampled ? r.m->threads[t].oncpu_ns : 0;
	}
	cr_assert(analyze_frames(r.m, &o, &x) == 0 && x.n == 2);
	for (size_t i = 0; i < x.n; i++)
		sum += x.list[i].cpu_ns;
	cr_assert(sum == ns && x.all_cpu_ns == ns);
	analyze_frames_done(&x);
	rig_done(&r);
}

static bool is_process_of(const struct rig *r, uint32_t op, uint32_t thread)
{
	return r->m->ops[op].kind == OP_EXEC && r->m->ops[op].pid == r->m->threads[thread].pid;
}

static void subtree_check(const struct rig *r, uint32_t op, const struct analyze_subtree *x)
{
	uint64_t ns[WHERE_MAX] = { 0 };
	size_t below = 0, waits = 0;

	op_count(r, op, ns);
	if (r->m->ops[op].kind == OP_EXEC) {
		memset(ns, 0, sizeof(ns));
		for (uint32_t t = 1; t <= RIG_THREADS; t++) {
			for (int i = 0; i < RIG_NS && is_process_of(r, op, t); i++) {
				if (r->ns[t][i].where < WHERE_MAX)
					ns[r->ns[t][i].where]++;
			}
		}
	}
	for (uint32_t i = 1; i < r->m->op_n; i++)
		below += is_below(r->m, i, op);
	for (size_t i = 1; i < r->m->wait_n; i++)
		waits += is_below(r->m, r->m->waits[i].op, op);
	cr_assert(memcmp(ns, x->ns, sizeof(ns)) == 0 && x->op_n == below && x->wait_n == waits && x->ops[0].op == op);
	for (size_t i = 1; i < x->op_n; i++) {
		/* Depth first: an op's parent is the last before it that is less deep. */
		size_t k = i - 1;

		while (x->ops[k].depth >= x->ops[i].depth)
			k--;
		cr_assert(r->m->ops[x->ops[i].op].parent == x->ops[k].op && x->ops[i].depth == x->ops[k].depth + 1);
	}
	for (size_t i = 1; i < x->wait_n; i++)
		cr_assert(r->m->waits[x->waits[i - 1]].start_ns <= r->m->waits[x->waits[i]].start_ns);
	for (size_t i = 0; i < x->parent_n; i++)
		cr_assert(r->m->ops[i ? x->parents[i - 1] : op].parent == x->parents[i]);
}

Test(subtree, of_every_op)
{
	for (uint64_t seed = 1; seed <= 20; seed++) {
		struct rig r;

		rig_make(&r, seed, false);
		for (uint32_t op = 1; op < r.m->op_n; op++) {
			struct analyze_subtree x;

			cr_assert(analyze_subtree(r.m, op, &x) == 0);
			subtree_check(&r, op, &x);
			analyze_subtree_done(&x);
		}
		rig_done(&r);
	}
}

Test(where, words_and_rules)
{
	static const struct {
		enum wait_reason reason;
		const char *kind, *name;
		uint8_t ctx, outcome;
		enum analyze_where expected;
	} rows[] = {
		{ REASON_LOCK, "mutex", "futex:1", 0, 0, WHERE_LOCK },
		{ REASON_SYNC, "semaphore", "", 0, 0, WHERE_LOCK },
		{ REASON_SYNC, "condvar", "", 0, 0, WHERE_IDLE },
		{ REASON_SYNC, "join", "tid:3", 0, 0, WHERE_CHILD },
		{ REASON_SYNC, "chan_receive", "chan:1", 0, 0, WHERE_WORK },
		{ REASON_SYNC, "waitgroup", "", 0, 0, WHERE_WORK },
		{ REASON_SYNC, "go_idle", "", 0, 0, WHERE_IDLE },
		{ REASON_EXEC, "child", "", 0, 0, WHERE_CHILD },
		{ REASON_EXEC, "", "4:5", 0, 0, WHERE_CHILD },
		{ REASON_IO, "file", "/x", 0, 0, WHERE_DISK },
		{ REASON_FAULT, "page_fault", "", 0, 0, WHERE_DISK },
		{ REASON_IO, "socket", "tcp 1.2.3.4:5", 0, 0, WHERE_NET },
		{ REASON_IO, "socket", "unix /run/x", 0, 0, WHERE_PIPE },
		{ REASON_IO, "socket", "", WAKER_NET, 0, WHERE_NET },
		{ REASON_IO, "accept", "", 0, 0, WHERE_IDLE },
		{ REASON_IO, "pipe", "pipe:[1]", 0, 0, WHERE_PIPE },
		{ REASON_IO, "io_uring", "", WAKER_DISK, 0, WHERE_DISK },
		{ REASON_IO, "read", "", WAKER_NET, 0, WHERE_NET },
		{ REASON_IO, "read", "", WAKER_TASK, 0, WHERE_UNKNOWN },
		{ REASON_SLEEP, "sleep", "", 0, 0, WHERE_TIMER },
		{ REASON_POLL, "poll", "", 0, WAIT_TIMEOUT, WHERE_TIMER },
		{ REASON_POLL, "poll", "", 0, WAIT_WOKEN, WHERE_IDLE },
		{ REASON_POLL, "epoll", "", 0, 0, WHERE_IDLE },
		{ REASON_LAZY, "", "", 0, 0, WHERE_WORK },
		{ REASON_SINGLEFLIGHT, "", "", 0, 0, WHERE_WORK },
		{ REASON_CPU, "preempted", "", 0, 0, WHERE_RUNNABLE },
		{ REASON_OTHER, "kthread", "", 0, 0, WHERE_IDLE },
		{ REASON_OTHER, "", "", WAKER_DISK, 0, WHERE_DISK },
		{ REASON_OTHER, "bpf", "", 0, 0, WHERE_UNKNOWN },
	};
	struct model *m;

	cr_assert(model_new(&m) == 0);
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct model_wait w = { .ctx = rows[i].ctx,
					.outcome = rows[i].outcome,
					.ident_id = rig_string(m, rows[i].name) };
		uint32_t row;

		cr_assert(model_row_add(m, &row) == 0);
		m->rows[row] = (struct model_row){ .reason = rows[i].reason,
						   .kind_id = rig_string(m, rows[i].kind),
						   .syscall = -1 };
		w.row = row;
		cr_expect(analyze_wait_where(m, &w) == rows[i].expected, "%s %s %s: %s",
			  wait_reason_name(rows[i].reason), rows[i].kind, rows[i].name,
			  analyze_where_name(analyze_wait_where(m, &w)));
	}
	model_free(m);
}
