/* SPDX-License-Identifier: (LGPL-2.1 OR BSD-2-Clause) */
/*
 * What each wait is. A wait that somebody of the recording ended lasts until he
 * does so; one that a timer, a device or a stranger ended has a length of its own.
 *
 * Waits are merged where a program waits for one thing in several calls: it took
 * a wake for a lock that another then got first, or its time ran out and it
 * waited again. Only the last wake counts then. What it did in between must be
 * next to nothing, or it is no such loop: it has a meaning that we don't know.
 *
 * Only mutexes have owners that can be told from their waits (holds.c). Of the
 * others a recording has too little to simulate them by their rules: a reader
 * that comes while others read, or leaves before the last of them, makes no call;
 * a post of a semaphore, a put into a queue that nobody waits at leave nothing,
 * so how many are left is not known at any time. Their waits depend on whoever
 * woke them, in both engines, and the grade says that contention which is new
 * would not be seen.
 *
 * A wait for an op that is known, and that was given up before that had ended,
 * ends by its limit or with the op, whichever is first.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "replay/draft.h"
#include "replay/numbers.h"
#include "util/cleanup.h"
#include "util/map.h"
#include "util/vec.h"

/* On its CPU between two waits of one loop: looks at the lock, at its condition, and goes back. */
#define RETRY_LOCK_NS 20000
#define RETRY_TIMEOUT_NS 50000
/* So many times as long as that is a wait whose time ran out: what is done after a long one may take longer. */
#define RETRY_PART 1000

int draft_token_add(struct draft *d, uint32_t lock, uint32_t *ret)
{
	struct replay *r = d->r;
	size_t cap = r->token_cap;

	if (r->token_n >= NONE - 1 || VEC_RESERVE(r->token_lock, cap, r->token_n + 1) < 0 ||
	    VEC_RESERVE(r->token_need, r->token_cap, r->token_n + 1) < 0)
		return -ENOMEM;
	r->token_lock[r->token_n] = lock;
	r->token_need[r->token_n] = 0;
	*ret = (uint32_t)r->token_n++;
	return 0;
}

static int by_start(const void *a, const void *b, void *arg)
{
	const struct model_wait *waits = arg, *x = &waits[*(const uint32_t *)a], *y = &waits[*(const uint32_t *)b];

	if (x->start_ns != y->start_ns)
		return x->start_ns < y->start_ns ? -1 : 1;
	if (x->end_ns != y->end_ns)
		return x->end_ns < y->end_ns ? -1 : 1;
	return x < y ? -1 : 1;
}

/* Recorders write a thread's waits in order of time, but a dump need not have them so. */
static void strand_waits_sort(const struct model *m, uint32_t *waits, size_t n)
{
	for (size_t i = 1; i < n; i++) {
		model_wait_prefetch(m, waits, i, n);
		if (by_start(&waits[i - 1], &waits[i], m->waits) > 0) {
			qsort_r(waits, n, sizeof(*waits), by_start, m->waits);
			return;
		}
	}
}

size_t waits_find(const struct replay *r, const uint32_t *waits, const size_t *first, uint32_t strand, int64_t ns)
{
	size_t low = first[strand], high = first[strand + 1];

	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (r->m->waits[waits[middle]].start_ns < ns)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

/* ret_first: strand_n + 1. */
static int waits_by_strand(const struct replay *r, uint32_t **ret, size_t **ret_first)
{
	const struct model *m = r->m;
	size_t n = r->strand_n;
	_cleanup_(freep) size_t *next = calloc(n + 1, sizeof(*next)), *first = calloc(n + 2, sizeof(*first));
	uint32_t *waits;

	if (!next || !first)
		return -ENOMEM;
	for (size_t i = 1; i < m->wait_n; i++) {
		uint32_t s = wait_strand(r, &m->waits[i]);

		if (s != NONE)
			first[s + 1]++;
	}
	for (size_t s = 0; s < n; s++) {
		first[s + 1] += first[s];
		next[s] = first[s];
	}
	waits = malloc((first[n] + 1) * sizeof(*waits));
	if (!waits)
		return -ENOMEM;
	for (size_t i = 1; i < m->wait_n; i++) {
		uint32_t s = wait_strand(r, &m->waits[i]);

		if (s != NONE)
			waits[next[s]++] = (uint32_t)i;
	}
	for (size_t s = 0; s < n; s++)
		strand_waits_sort(m, waits + first[s], first[s + 1] - first[s]);
	*ret = waits;
	*ret_first = TAKE_PTR(first);
	return 0;
}

/* A target that ended a little later than the wait did end it; one that went on was given up. */
#define TARGET_SLACK_NS 1000000

/* The op that it waited for, if that has an end; 0. Of a process also by its name, as the format has it. */
static uint32_t wanted_of(const struct draft *d, const struct model_wait *w)
{
	const struct model *m = d->m;
	uint32_t target = w->target;
	uint64_t named;

	if (!target && m->rows[w->row].reason == REASON_EXEC && w->ident_id && map_get(d->execs, w->ident_id, &named))
		target = (uint32_t)named;
	return target && target < m->op_n && d->r->strand_of_op[target] != NONE && !m->ops[target].open ? target : 0;
}

/* The same if it ended the wait. */
static uint32_t target_of(const struct draft *d, const struct model_wait *w)
{
	uint32_t target = wanted_of(d, w);

	return target && d->m->ops[target].end_ns <= w->end_ns + TARGET_SLACK_NS ? target : 0;
}

/* The same if the wait was given up before: had it ended in time, that would have been the wait's end. */
static uint32_t given_up_of(const struct draft *d, const struct model_wait *w)
{
	uint32_t target = wanted_of(d, w);

	if (!target || d->r->strand_of_op[target] == wait_strand(d->r, w) || d->m->ops[target].start_ns > w->end_ns)
		return 0;
	if (w->outcome == WAIT_TIMEOUT)
		return d->m->ops[target].end_ns >= wait_wake_ns(w) ? target : 0;
	return d->m->ops[target].end_ns > w->end_ns + TARGET_SLACK_NS ? target : 0;
}

/* The longest exec op of each ident. */
static int execs_find(struct draft *d)
{
	const struct model *m = d->m;
	uint64_t at;

	if (map_new(&d->execs) < 0)
		return -ENOMEM;
	for (size_t i = 1; i < m->op_n; i++) {
		const struct model_op *o = &m->ops[i];

		if (o->kind != OP_EXEC || !o->ident_id)
			continue;
		if (map_get(d->execs, o->ident_id, &at) &&
		    m->ops[at].end_ns - m->ops[at].start_ns >= o->end_ns - o->start_ns)
			continue;
		if (map_put(d->execs, o->ident_id, i) < 0)
			return -ENOMEM;
	}
	return 0;
}

/* The strand of who ended it; NONE: nobody of the recording, or not known. */
static uint32_t waker_strand(const struct draft *d, const struct model_wait *w)
{
	const struct model *m = d->m;

	if (w->waker && w->waker < m->thread_n && w->waker != w->thread &&
	    (w->ctx == WAKER_TASK || w->ctx == WAKER_NONE || w->ctx == WAKER_UNKNOWN))
		return draft_strand_at(d, w->waker, wait_wake_ns(w));
	return NONE;
}

static enum wait_use wait_use_of(const struct draft *d, const struct strand *s, const struct model_wait *w, bool first)
{
	const struct model_row *row = &d->m->rows[w->row < d->m->row_n ? w->row : 0];

	if (w->clipped & CLIPPED_AFTER)
		return USE_OPEN;
	if (row->reason == REASON_CPU)
		/* Who was forked ran first when somebody had started it. */
		return first && w->start_ns <= s->begin_ns && w->waker && waker_strand(d, w) != NONE ? USE_START : USE_RUNQ;
	if (w->outcome == WAIT_TIMEOUT || (waker_strand(d, w) == NONE && !target_of(d, w)))
		return given_up_of(d, w) ? USE_EITHER : USE_DELAY;
	return USE_TOKEN;
}

/* Do two waits that follow each other wait for the same, in one loop? */
static bool is_retry(const struct draft *d, const struct model_wait *w, const struct model_wait *next)
{
	const struct model_row *a = &d->m->rows[w->row], *b = &d->m->rows[next->row];
	int64_t gap_ns = next->start_ns - w->end_ns;

	if (!w->ident_id || w->ident_id != next->ident_id || a->reason != b->reason || a->ustack != b->ustack)
		return false;
	if (w->outcome == WAIT_TIMEOUT)
		return a->reason == REASON_SYNC && (gap_ns <= RETRY_TIMEOUT_NS || gap_ns * RETRY_PART <= w->end_ns - w->start_ns);
	return a->reason == REASON_LOCK && gap_ns <= RETRY_LOCK_NS && d->use[w - d->m->waits] == USE_TOKEN;
}

/* Backwards, so that a loop's end is known when its parts are met. */
static void retries_merge(struct draft *d, size_t from, size_t to)
{
	const struct model *m = d->m;
	uint32_t next = 0;

	for (size_t i = to; i-- > from;) {
		uint32_t wait = d->waits[i];

		if (i >= from + 8)
			__builtin_prefetch(&m->waits[d->waits[i - 8]]);
		if (d->use[wait] == USE_SKIP)
			continue;
		/* What is merged with one that is a delay stays a delay by itself: a time limit that paces a loop. */
		if (next && (d->use[next] == USE_TOKEN || d->use[next] == USE_MERGED) &&
		    (d->use[wait] == USE_TOKEN || d->use[wait] == USE_DELAY) &&
		    is_retry(d, &m->waits[wait], &m->waits[next])) {
			d->use[wait] = USE_MERGED;
			d->r->facts.spurious_n++;
		}
		next = wait;
	}
}

/* Spurious wakes in it. Times of a dump may be anything. */
static int64_t wait_oncpu_ns(const struct model_wait *w)
{
	int64_t ns = w->end_ns - w->start_ns, off_ns;

	if (__builtin_add_overflow(w->blocked_ns, w->runnable_ns, &off_ns) || off_ns < 0 || off_ns > ns)
		return 0;
	return ns - off_ns;
}

/*
 * What a thread did between its waits it did on a CPU, unless its account knows of less: waits may be lost, or too short,
 * or come when it had left already, and was off its CPU once more before it was gone.
 */
static void strand_account(const struct draft *d, struct strand *x, int64_t between_ns, int64_t within_ns)
{
	const struct model_thread *t = &d->m->threads[x->thread];
	const struct model_op *o = &d->m->ops[x->op];
	int64_t cpu_ns = t->oncpu_ns < INT64_MAX ? (int64_t)t->oncpu_ns : INT64_MAX;

	cpu_ns = cpu_ns > within_ns ? cpu_ns - within_ns : 0;
	x->exit_ns = x->op && !o->open && o->end_ns < x->end_ns && o->end_ns > x->begin_ns ? o->end_ns : x->end_ns;
	if (t->has_totals && between_ns > cpu_ns)
		x->unplaced_ns = between_ns - cpu_ns;
}

static void strand_waits_use(struct draft *d, uint32_t s)
{
	const struct model *m = d->m;
	struct strand *x = &d->r->strands[s];
	int64_t cursor_ns = x->begin_ns, between_ns = 0, within_ns = 0;

	for (size_t i = d->wait_first[s]; i < d->wait_first[s + 1]; i++) {
		const struct model_wait *w = &m->waits[d->waits[i]];
		int64_t end_ns = w->end_ns < x->end_ns ? w->end_ns : x->end_ns;
		const struct model_row *row = &m->rows[w->row < m->row_n ? w->row : 0];
		enum wait_use use = w->row < m->row_n ? wait_use_of(d, x, w, i == d->wait_first[s]) : USE_SKIP;

		model_wait_prefetch(m, d->waits, i, d->wait_first[s + 1]);
		d->site[i] = row->reason == REASON_CPU || row->ustack >= m->stack_n ? 0 : row->ustack;
		/* One of no length is none the less for somebody: who started a thread matters even if it ran at once. */
		if (use == USE_SKIP || end_ns < cursor_ns || (end_ns == cursor_ns && w->start_ns < cursor_ns) ||
		    w->start_ns > x->end_ns) {
			d->use[d->waits[i]] = USE_SKIP;
			d->site[i] = 0;
			continue;
		}
		d->use[d->waits[i]] = (uint8_t)use;
		between_ns += w->start_ns > cursor_ns ? w->start_ns - cursor_ns : 0;
		within_ns += wait_oncpu_ns(w);
		cursor_ns = end_ns;
		if (d->use[d->waits[i]] == USE_OPEN) {
			x->end_ns = w->start_ns > x->begin_ns ? w->start_ns : x->begin_ns;
			x->open = true;
		}
	}
	between_ns += x->end_ns > cursor_ns ? x->end_ns - cursor_ns : 0;
	strand_account(d, x, between_ns, within_ns);
	retries_merge(d, d->wait_first[s], d->wait_first[s + 1]);
}

static bool is_lock(const struct draft *d, const struct model_wait *w)
{
	static const char *const kinds[] = { "mutex", "pi_mutex" };
	const struct model_row *row = &d->m->rows[w->row];
	const char *kind = strtab_str(d->m->strings, row->kind_id);

	if (row->reason != REASON_LOCK || !w->ident_id)
		return false;
	for (size_t i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++) {
		if (strcmp(kind, kinds[i]) == 0)
			return true;
	}
	return false;
}

static void strand_started(struct draft *d, uint32_t s, uint32_t by, uint32_t token)
{
	d->r->strands[s].token = token;
	d->r->strands[s].parent = by;
}

static int wait_token(struct draft *d, uint32_t wait)
{
	const struct model_wait *w = &d->m->waits[wait];
	uint32_t waker = waker_strand(d, w);
	struct item signal = { .at_ns = wait_wake_ns(w), .strand = waker, .what = POINT_SIGNAL, .ref = wait };

	if (waker == NONE || d->use[wait] == USE_EITHER) {
		uint32_t target = d->use[wait] == USE_EITHER ? given_up_of(d, w) : target_of(d, w);

		signal.strand = d->r->strand_of_op[target];
		signal.at_ns = d->m->ops[target].end_ns;
		signal.order = ITEM_AT_END;
	}
	if (draft_token_add(d, NONE, &d->token[wait]) < 0)
		return -ENOMEM;
	if (d->use[wait] == USE_START)
		strand_started(d, wait_strand(d->r, w), waker, d->token[wait]);
	else if (d->use[wait] == USE_TOKEN && is_lock(d, w))
		d->use[wait] = USE_LOCK;
	signal.object = d->token[wait];
	d->r->token_need[d->token[wait]]++;
	return draft_item_add(d, &signal);
}

int draft_gap_add(struct draft *d, uint32_t strand, int64_t from_ns, int64_t to_ns, uint32_t token)
{
	struct item x = { .at_ns = from_ns, .strand = strand, .what = POINT_WAIT, .order = UINT8_MAX - 1, .object = token,
			  .ref = ITEM_GAP + (uint32_t)d->gap_n };

	if (d->gap_n >= ITEM_GAP || VEC_RESERVE(d->gaps, d->gap_cap, d->gap_n + 1) < 0)
		return -ENOMEM;
	d->gaps[d->gap_n++] = (struct gap){ .to_ns = to_ns, .token = token };
	return draft_item_add(d, &x);
}

int draft_item_add(struct draft *d, const struct item *item)
{
	if (VEC_RESERVE(d->items, d->item_cap, d->item_n + 1) < 0)
		return -ENOMEM;
	d->items[d->item_n++] = *item;
	return 0;
}

/* Timeouts that are points in time are so on a clock whose zero is not told. The least that one was late is taken for none. */
static void timer_offset_find(struct draft *d)
{
	const struct model *m = d->m;

	for (size_t i = 1; i < m->wait_n; i++) {
		const struct model_wait *w = &m->waits[i];
		int64_t offset_ns;

		if (!w->has_timeout || w->wake_ns < 0 || w->ctx != WAKER_TIMER || w->timeout_ns <= m->end_ns ||
		    w->timeout_ns > INT64_MAX / 4 || w->timeout_ns > m->epoch_unix_ns / 2)
			continue;
		offset_ns = w->timeout_ns - w->wake_ns;
		if (!d->has_timer_offset || offset_ns > d->timer_offset_ns)
			d->timer_offset_ns = offset_ns;
		d->has_timer_offset = true;
	}
}

/* Who forked each process, by the link that leads to it: its strand at that time, NONE. malloc'd. */
static int forkers_find(const struct draft *d, uint32_t **ret)
{
	const struct model *m = d->m;
	uint32_t *forkers = malloc(m->op_n * sizeof(*forkers));

	if (!forkers)
		return -ENOMEM;
	memset(forkers, 0xff, m->op_n * sizeof(*forkers));
	for (size_t i = 1; i < m->link_n; i++) {
		const struct model_link *l = &m->links[i];

		if (l->kind == LINK_NESTED_CLIENT && l->to && l->to < m->op_n && l->from < m->op_n)
			forkers[l->to] = d->r->strand_of_op[l->from];
	}
	*ret = forkers;
	return 0;
}

/* Who may have started a strand that tells nothing of it. */
struct starters {
	struct numbers numbers;
	uint32_t *forkers; /* by op */
	uint32_t *awaited; /* by thread: the first wait that it ended, and that had begun before it had; 0: none */
};

static void starters_done(struct starters *x)
{
	numbers_done(&x->numbers);
	free(x->forkers);
	free(x->awaited);
}

static void awaited_find(const struct draft *d, uint32_t *awaited)
{
	const struct model *m = d->m;

	for (uint32_t i = 1; i < m->wait_n; i++) {
		const struct model_wait *w = &m->waits[i];
		const struct model_thread *t = &m->threads[w->waker < m->thread_n ? w->waker : 0];
		uint32_t *at = &awaited[w->waker < m->thread_n ? w->waker : 0];

		if (d->use[i] != USE_SKIP && t->goid && w->start_ns < t->begin_ns && t->begin_ns <= wait_wake_ns(w) &&
		    w->thread != w->waker && (!*at || wait_wake_ns(w) < wait_wake_ns(&m->waits[*at])))
			*at = i;
	}
}

static int starters_make(const struct draft *d, struct starters *x)
{
	x->awaited = calloc(d->m->thread_n, sizeof(*x->awaited));
	if (!x->awaited || forkers_find(d, &x->forkers) < 0 || numbers_make(d->m, &x->numbers) < 0)
		return -ENOMEM;
	if (d->has_go)
		awaited_find(d, x->awaited);
	return 0;
}

/*
 * A goroutine's is known by number; where nobody's go statement began it a timer did, and who waits for it is taken to
 * have set that. op: of its process.
 */
static uint32_t starter_of(const struct draft *d, const struct starters *x, uint32_t s, uint32_t op)
{
	const struct model *m = d->m;
	const struct model_thread *t = &m->threads[d->r->strands[s].thread];
	uint32_t parent = t->parent_goid ? numbers_goroutine(m, &x->numbers, t->pid, t->parent_goid) : 0;
	uint32_t awaited = t->goid && !t->parent_goid ? x->awaited[d->r->strands[s].thread] : 0;

	if (parent)
		return d->r->strand_of_thread[parent];
	if (awaited)
		return wait_strand(d->r, &m->waits[awaited]);
	return d->r->strand_of_op[op] == s ? x->forkers[op] : d->r->strand_of_op[op];
}

/* The wait in which a strand was at that time, 0: in none. */
static uint32_t wait_at(const struct draft *d, uint32_t s, int64_t ns)
{
	for (size_t i = waits_find(d->r, d->waits, d->wait_first, s, ns); i-- > d->wait_first[s];) {
		if (d->use[d->waits[i]] != USE_SKIP)
			return d->m->waits[d->waits[i]].end_ns > ns ? d->waits[i] : 0;
	}
	return 0;
}

/* Who waits starts nobody: what begins then does so that long after he began to wait. */
static int unseen_start_add(struct draft *d, uint32_t s, uint32_t by)
{
	int64_t begin_ns = d->r->strands[s].begin_ns;
	uint32_t wait = wait_at(d, by, begin_ns), token;
	struct item start = { .at_ns = begin_ns, .strand = by, .what = POINT_SIGNAL };

	if (draft_token_add(d, NONE, &token) < 0)
		return -ENOMEM;
	strand_started(d, s, by, token);
	d->r->token_need[token]++;
	if (wait)
		return draft_clock_add(d, by, wait, begin_ns, token);
	start.object = token;
	return draft_item_add(d, &start);
}

/*
 * A thread that ran at once leaves no wait that says who started it. A process's first thread was started by who forked
 * it, its others most likely by its first.
 */
static int unseen_starts_add(struct draft *d)
{
	const struct model *m = d->m;
	struct replay *r = d->r;
	_cleanup_(starters_done) struct starters x = { 0 };
	size_t n = r->strand_n;

	if (starters_make(d, &x) < 0)
		return -ENOMEM;
	for (uint32_t s = 0; s < n; s++) {
		const struct strand *strand = &r->strands[s];
		uint32_t process = strand->process && strand->process < m->process_n ? strand->process : 0;
		uint32_t op = m->processes[process].op, by;

		if (strand->token != NONE || !strand->thread || m->threads[strand->thread].clipped & CLIPPED_BEFORE || !op ||
		    op >= m->op_n)
			continue;
		by = starter_of(d, &x, s, op);
		if (by != NONE && by != s && r->strands[by].begin_ns <= strand->begin_ns &&
		    r->strands[by].end_ns >= strand->begin_ns && unseen_start_add(d, s, by) < 0)
			return -ENOMEM;
	}
	return 0;
}

int draft_waits(struct draft *d)
{
	const struct model *m = d->m;

	d->use = calloc(m->wait_n, sizeof(*d->use));
	d->token = malloc(m->wait_n * sizeof(*d->token));
	d->lock = malloc(m->wait_n * sizeof(*d->lock));
	if (!d->use || !d->token || !d->lock || execs_find(d) < 0 ||
	    waits_by_strand(d->r, &d->waits, &d->wait_first) < 0 || draft_go_runs(d) < 0)
		return -ENOMEM;
	d->site = calloc(d->wait_first[d->r->strand_n] + 1, sizeof(*d->site));
	if (!d->site)
		return -ENOMEM;
	memset(d->token, 0xff, m->wait_n * sizeof(*d->token));
	memset(d->lock, 0xff, m->wait_n * sizeof(*d->lock));
	timer_offset_find(d);
	for (size_t s = 0; s < d->r->strand_n; s++)
		strand_waits_use(d, (uint32_t)s);
	if (draft_attempts(d) < 0)
		return -ENOMEM;
	for (size_t s = 0; s < d->r->strand_n; s++) {
		for (size_t i = d->wait_first[s]; i < d->wait_first[s + 1]; i++) {
			uint8_t use = d->use[d->waits[i]];

			model_wait_prefetch(m, d->waits, i, d->wait_first[s + 1]);
			if ((use == USE_TOKEN || use == USE_START || use == USE_EITHER) && wait_token(d, d->waits[i]) < 0)
				return -ENOMEM;
		}
	}
	return unseen_starts_add(d);
}
