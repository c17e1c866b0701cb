/* SPDX-License-Identifier: (LGPL-2.1 OR BSD-2-Clause) */
/*
 * Plain arrays: an index is a name for as long as anything refers to it, and
 * 4 Mi waits cost what 4 Mi structs cost. Only ops and goroutines of a recording
 * that was flushed leave entries behind, which the next ones take.
 * Only events (ops, waits, links) are capped; rows, threads and stacks carry
 * the totals, which stay right beyond the cap, and are few.
 */
#include "model/model.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "util/map.h"
#include "util/vec.h"

/* The cap of 4 Mi events promises 400 MB, strings and all. */
#define INDEX_24_MAX 0xffffffu /* rows and wakers: a wait refers to them in 24 bits */

_Static_assert(sizeof(struct model_wait) <= 88, "a wait is what a recording holds most of");
_Static_assert(sizeof(struct model_op) <= 88, "events share one cap");
_Static_assert(sizeof(struct model_link) <= 80, "events share one cap");

/* Appends a zeroed entry to one of the model's vectors. */
#define APPEND(m, name, ret)                                                              \
	({                                                                                \
		int _a = (m)->name##_n >= UINT32_MAX ? -ENOMEM :                          \
			 VEC_RESERVE((m)->name##s, (m)->name##_cap, (m)->name##_n + 1);   \
		if (_a == 0) {                                                            \
			memset(&(m)->name##s[(m)->name##_n], 0, sizeof((m)->name##s[0])); \
			*(ret) = (uint32_t)(m)->name##_n++;                               \
		}                                                                         \
		_a;                                                                       \
	})

/* "processes" is no plain plural of "process". */
static int process_append(struct model *m, uint32_t *ret)
{
	if (m->process_n >= UINT32_MAX || VEC_RESERVE(m->processes, m->process_cap, m->process_n + 1) < 0)
		return -ENOMEM;
	m->processes[m->process_n] = (struct model_process){ 0 };
	*ret = (uint32_t)m->process_n++;
	return 0;
}

static int blanks_append(struct model *m)
{
	uint32_t none;

	if (APPEND(m, op, &none) < 0 || APPEND(m, wait, &none) < 0 || APPEND(m, link, &none) < 0 ||
	    APPEND(m, row, &none) < 0 || APPEND(m, thread, &none) < 0 || APPEND(m, sample, &none) < 0 ||
	    process_append(m, &none) < 0 || APPEND(m, span, &none) < 0 || APPEND(m, waker, &none) < 0 || APPEND(m, aside, &none) < 0 ||
	    APPEND(m, stack, &none) < 0 || APPEND(m, module, &none) < 0)
		return -ENOMEM;
	/* A reader that follows a 0 meets "none", not system call 0 or a wake at time 0. */
	m->rows[0].syscall = m->samples[0].syscall = -1;
	m->waits[0].wake_ns = -1;
	return 0;
}

int model_new(struct model **ret)
{
	_cleanup_(model_freep) struct model *m = calloc(1, sizeof(*m));

	if (!m || strtab_new(&m->strings) < 0 || map_new(&m->waker_ids) < 0 || map_new(&m->aside_tids) < 0 || blanks_append(m) < 0)
		return -ENOMEM;
	*ret = TAKE_PTR(m);
	return 0;
}

struct model *model_free(struct model *m)
{
	if (!m)
		return NULL;
	for (size_t i = 0; i < m->stack_n; i++)
		free(m->stacks[i].frames);
	free(m->ops);
	free(m->waits);
	free(m->links);
	free(m->rows);
	free(m->threads);
	free(m->samples);
	free(m->sample_times);
	free(m->processes);
	free(m->spans);
	free(m->wakers);
	map_free(m->waker_ids);
	map_free(m->aside_tids);
	free(m->asides);
	free(m->stacks);
	free(m->modules);
	strtab_free(m->strings);
	free(m);
	return NULL;
}

size_t model_event_n(const struct model *m)
{
	return m->op_n - m->flushed_op_n + m->wait_n + m->link_n + m->span_n - 4;
}

bool model_op_is_process(const struct model_op *o)
{
	if (o->kind != OP_EXEC || !o->pid)
		return false;
	return o->ident_id ? o->ident_id == o->client_id : !o->parent;
}

bool model_has_places(const struct model *m, size_t n)
{
	return !m->event_cap || model_event_n(m) + MODEL_GOROUTINE_PLACES * m->goroutine_n + n <= m->event_cap;
}

/* Counts those that have none. */
static bool event_has_places(struct model *m, size_t n)
{
	if (model_has_places(m, n))
		return true;
	m->integrity.dropped_events++;
	return false;
}

int model_op_add(struct model *m, uint32_t *ret)
{
	uint32_t op = m->free_op;

	if (!event_has_places(m, 1))
		return -ENOSPC;
	if (!op)
		return APPEND(m, op, ret);
	m->free_op = m->ops[op].parent;
	m->flushed_op_n--;
	m->ops[op] = (struct model_op){ 0 };
	*ret = op;
	return 0;
}

void model_op_release(struct model *m, uint32_t op)
{
	m->ops[op] = (struct model_op){ .flushed = true, .parent = m->free_op };
	m->free_op = op;
}

int model_wait_add(struct model *m, uint32_t *ret)
{
	return event_has_places(m, 1) ? APPEND(m, wait, ret) : -ENOSPC;
}

int model_link_add(struct model *m, uint32_t *ret)
{
	return event_has_places(m, 1) ? APPEND(m, link, ret) : -ENOSPC;
}

int model_row_add(struct model *m, uint32_t *ret)
{
	if (m->row_n > INDEX_24_MAX)
		return -ENOMEM;
	return APPEND(m, row, ret);
}

int model_thread_add(struct model *m, uint32_t *ret)
{
	return APPEND(m, thread, ret);
}

int model_span_add(struct model *m, uint32_t *ret)
{
	return event_has_places(m, 1) ? APPEND(m, span, ret) : -ENOSPC;
}

int model_goroutine_add(struct model *m, uint64_t goid, uint32_t *ret)
{
	uint32_t thread = m->free_thread;
	int r = event_has_places(m, MODEL_GOROUTINE_PLACES) ? 0 : -ENOSPC;

	if (r == 0 && !thread)
		r = APPEND(m, thread, &thread);
	if (r < 0)
		return r;
	if (m->threads[thread].flushed)
		m->free_thread = m->threads[thread].op;
	m->threads[thread] = (struct model_thread){ .goid = goid };
	m->goroutine_n++;
	*ret = thread;
	return 0;
}

void model_goroutine_release(struct model *m, uint32_t thread)
{
	m->threads[thread] = (struct model_thread){ .flushed = true, .op = m->free_thread };
	m->free_thread = thread;
	m->goroutine_n--;
}

int model_sample_add(struct model *m, uint32_t *ret)
{
	return APPEND(m, sample, ret);
}

int model_sample_time_add(struct model *m, uint32_t sample, int64_t at_ns)
{
	if (m->event_cap && m->sample_time_n >= m->event_cap)
		return -ENOSPC;
	if (VEC_RESERVE(m->sample_times, m->sample_time_cap, m->sample_time_n + 1) < 0)
		return -ENOMEM;
	m->sample_times[m->sample_time_n++] = (struct model_sample_time){ .at_ns = at_ns, .sample = sample };
	return 0;
}

static int sample_time_compare(const void *a, const void *b)
{
	const struct model_sample_time *x = a, *y = b;

	if (x->at_ns != y->at_ns)
		return x->at_ns < y->at_ns ? -1 : 1;
	return x->sample < y->sample ? -1 : x->sample > y->sample;
}

void model_sample_times_sort(struct model *m)
{
	if (m->sample_time_n)
		qsort(m->sample_times, m->sample_time_n, sizeof(*m->sample_times), sample_time_compare);
}

int model_process_add(struct model *m, uint32_t *ret)
{
	return process_append(m, ret);
}

int model_stack_add(struct model *m, enum stack_side side, uint32_t *ret)
{
	uint32_t stack;

	if (APPEND(m, stack, &stack) < 0)
		return -ENOMEM;
	m->stacks[stack].side = side;
	*ret = stack;
	return 0;
}

int model_module_add(struct model *m, uint32_t *ret)
{
	return APPEND(m, module, ret);
}

/* A waker's numbers stay while its name may change: those of one number are chained. */
int model_waker_intern(struct model *m, uint32_t pid, uint32_t tid, uint32_t comm_id, uint32_t *ret)
{
	uint64_t key = (uint64_t)pid << 32 | tid, newest = 0;
	uint32_t w;

	map_get(m->waker_ids, key, &newest);
	for (w = (uint32_t)newest; w; w = m->wakers[w].next) {
		if (m->wakers[w].comm_id == comm_id) {
			*ret = w;
			return 0;
		}
	}
	if (m->waker_n > INDEX_24_MAX || map_put(m->waker_ids, key, newest) < 0 || APPEND(m, waker, &w) < 0)
		return -ENOMEM;
	m->wakers[w] = (struct model_waker){ .pid = pid, .tid = tid, .comm_id = comm_id, .next = (uint32_t)newest };
	map_put(m->waker_ids, key, w); /* replaces a value: takes no memory */
	*ret = w;
	return 0;
}

bool model_wait_waker(const struct model *m, const struct model_wait *w, uint32_t *ret_pid, uint32_t *ret_tid,
		      uint32_t *ret_comm_id)
{
	if (w->waker && w->waker < m->thread_n) {
		*ret_pid = m->threads[w->waker].pid;
		*ret_tid = m->threads[w->waker].tid;
		*ret_comm_id = m->threads[w->waker].comm_id;
		return true;
	}
	if (w->waker || !w->outside_waker || w->outside_waker >= m->waker_n)
		return false;
	*ret_pid = m->wakers[w->outside_waker].pid;
	*ret_tid = m->wakers[w->outside_waker].tid;
	*ret_comm_id = m->wakers[w->outside_waker].comm_id;
	return true;
}

/* An op beyond 24 bits, of a recording with a very large cap, is one that is not known. */
enum { WAKER_OP_OWN, WAKER_OP_UNKNOWN = INDEX_24_MAX };

uint32_t model_wait_waker_op(const struct model *m, const struct model_wait *w)
{
	if (!w->waker || w->waker >= m->thread_n || w->outside_waker == WAKER_OP_UNKNOWN)
		return 0;
	return w->outside_waker == WAKER_OP_OWN ? m->threads[w->waker].op : w->outside_waker;
}

void model_wait_waker_op_set(const struct model *m, struct model_wait *w, uint32_t op)
{
	if (op == m->threads[w->waker < m->thread_n ? w->waker : 0].op)
		w->outside_waker = WAKER_OP_OWN;
	else
		w->outside_waker = !op || op >= WAKER_OP_UNKNOWN ? WAKER_OP_UNKNOWN : op & INDEX_24_MAX;
}

/*
 * A lock of which the owner is known is one of glibc's: a PI mutex, without
 * an expected value, or one whose word says "locked, with waiters". So the two
 * share a word; a wait that has both, and another value, is rare.
 */
enum { WORD_OWNER, WORD_VALUE, WORD_MUTEX, WORD_ASIDE };
enum { MUTEX_VAL = 2 }; /* sysdeps/nptl/lowlevellock.h of glibc */

/* A thread's number alone is that of many waits, and kept once. */
static int aside_index(struct model *m, const struct model_wait_words *words, uint32_t *ret)
{
	bool shared = !words->owner_tid && !words->has_futex_val;
	uint64_t known;
	uint32_t aside;

	if (shared && map_get(m->aside_tids, words->tid, &known)) {
		*ret = (uint32_t)known;
		return 0;
	}
	if (APPEND(m, aside, &aside) < 0 || (shared && map_put(m->aside_tids, words->tid, aside) < 0))
		return -ENOMEM;
	m->asides[aside] = *words;
	*ret = aside;
	return 0;
}

int model_wait_words_set(struct model *m, struct model_wait *w, const struct model_wait_words *words)
{
	bool both = words->owner_tid && words->has_futex_val;
	uint32_t aside;

	if (words->tid || (both && words->futex_val != MUTEX_VAL)) {
		if (aside_index(m, words, &aside) < 0)
			return -ENOMEM;
		w->word_kind = WORD_ASIDE;
		w->word = aside;
		return 0;
	}
	w->word_kind = both ? WORD_MUTEX : words->has_futex_val ? WORD_VALUE : WORD_OWNER;
	w->word = words->owner_tid || !words->has_futex_val ? words->owner_tid : words->futex_val;
	return 0;
}

struct model_wait_words model_wait_words(const struct model *m, const struct model_wait *w)
{
	switch (w->word_kind) {
	case WORD_VALUE:
		return (struct model_wait_words){ .has_futex_val = true, .futex_val = w->word };
	case WORD_MUTEX:
		return (struct model_wait_words){ .owner_tid = w->word, .has_futex_val = true, .futex_val = MUTEX_VAL };
	case WORD_ASIDE:
		return m->asides[w->word < m->aside_n ? w->word : 0];
	default:
		return (struct model_wait_words){ .owner_tid = w->word };
	}
}

int model_stack_set(struct model *m, uint32_t stack, const char *ended, const struct model_frame *frames, size_t n)
{
	struct model_frame *copy = NULL;
	struct model_stack *s;
	uint32_t ended_id;

	if (!stack || stack >= m->stack_n || n > UINT32_MAX)
		return -EINVAL;
	if (strtab_intern(m->strings, ended, &ended_id) < 0)
		return -ENOMEM;
	if (n) {
		copy = reallocarray(NULL, n, sizeof(*copy));
		if (!copy)
			return -ENOMEM;
		memcpy(copy, frames, n * sizeof(*copy));
	}
	s = &m->stacks[stack];
	free(s->frames);
	s->frames = copy;
	s->frame_n = (uint32_t)n;
	s->ended_id = ended_id;
	s->resolved = true;
	return 0;
}

/* Each interval once, however much of it was lost. Counters read from a file need not fit each other. */
void model_integrity_balance(struct model_integrity *i)
{
	uint64_t told = i->recorded + i->below_min + i->out_of_scope + i->lost_ring_full + i->lost_unprocessed + i->lost_clock_back;

	if (i->attempted > told)
		i->lost_unprocessed += i->attempted - told;
}

uint64_t model_lost_stack_traces(const struct model *m)
{
	const struct model_integrity *i = &m->integrity;
	uint64_t stacks = i->lost_stack_bodies + i->failed_kernel_stacks + i->failed_user_stacks;

	stacks -= i->repeated_stack_losses < stacks ? i->repeated_stack_losses : 0;
	return i->lost_ring_full + i->lost_unprocessed + i->lost_clock_back + stacks;
}

bool model_is_complete(const struct model *m)
{
	const struct model_integrity *i = &m->integrity;

	return !model_lost_stack_traces(m) && !i->lost_lifecycle && !i->lost_futex_results && !i->lost_resources &&
	       !i->lost_map_full && !i->lost_recursion && !i->lost_mappings && !i->unbalanced && !i->dropped_events &&
	       !i->lost_samples && !i->failed_sample_stacks && !i->mismatched_kernel_stacks && !i->lost_ops &&
	       !i->lost_go_events && !i->lost_goroutines && !i->detached_probes && !i->lost_waker_stacks &&
	       !i->unlisted_goroutines && !i->lost_values;
}
