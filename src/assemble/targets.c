/* SPDX-License-Identifier: (LGPL-2.1 OR BSD-2-Clause) */
/*
 * A target says: this wait ended because that op ended. A wrong one makes
 * readers of the dump drop the wait as abandoned, so there is one only for a
 * child or a joined thread that woke the waiter and was seen to exit: before the
 * wake (from 6.16 on the exit event comes first, and taking down a large address
 * space lies between the two), or at most 1 ms after it (older kernels). A child
 * that woke its parent by being stopped is alive, and no target.
 *
 * Readers also resolve a wait of reason exec by its ident, to the exec op with
 * that ident, so the same care holds there: the bare key of a process that
 * outlived the wait is not given, but "child:" and the key.
 *
 * An op that ended a wait ends no later than that wait. It holds its own waits
 * all the same: one of an instant after the wake keeps it as long as that takes,
 * which readers allow for up to their slack of 1 ms. Beyond it such a wait, of a
 * thread that needed a CPU to die, is cut: it is nobody's business any more.
 *
 * All this waits for the end of the recording, since an exit event may come
 * after the wake that it explains, and idents after names.
 */
#include "assemble/targets.h"

#include <errno.h>
#include <stdio.h>

#include "assemble/resource.h"

enum word { WORD_CHILD, WORD_JOIN, WORD_MUTEX, WORD_PI_MUTEX, WORD_KERNEL, WORD_MAX };

/* String ids of the kinds that matter here; 0 if no row has that kind. */
struct words {
	uint32_t id[WORD_MAX];
};

static bool is_within(uint64_t a_ns, uint64_t b_ns, uint64_t ns)
{
	return (a_ns > b_ns ? a_ns - b_ns : b_ns - a_ns) <= ns;
}

/* Had the waker exited by its wake, as far as the order of the two events tells? */
static bool is_dead_by(uint64_t death_ns, uint64_t wake_ns)
{
	return death_ns <= wake_ns + ASSEMBLE_SLACK_NS;
}

/* When the wait was over for its waker: absolute. */
static uint64_t wake_of(const struct assemble *a, const struct model_wait *w)
{
	return a->o.begin_ns + (uint64_t)(w->wake_ns >= 0 ? w->wake_ns : w->end_ns);
}

static int64_t last_wait_of_thread(const struct assemble *a, uint32_t thread)
{
	int64_t ns = assemble_relative(a, a->threads[thread].last_wait_ns);

	return ns < a->m->end_ns ? ns : a->m->end_ns;
}

static int64_t last_wait_of_process(const struct assemble *a, uint32_t process)
{
	int64_t last_ns = 0, ns;

	for (uint32_t t = a->processes[process].thread; t; t = a->threads[t].sibling) {
		ns = last_wait_of_thread(a, t);
		last_ns = ns > last_ns ? ns : last_ns;
	}
	return last_ns;
}

static void target_set(struct assemble *a, struct model_wait *w, uint32_t op, int64_t last_wait_ns)
{
	struct model_op *o = &a->m->ops[op];
	int64_t end_ns = w->end_ns > last_wait_ns ? w->end_ns : last_wait_ns;

	if (end_ns > w->end_ns + (int64_t)ASSEMBLE_SLACK_NS)
		end_ns = w->end_ns;
	w->target = op;
	/* A SIGCHLD is pending as well when a child has ended. */
	w->outcome = WAIT_WOKEN;
	if (o->end_ns > end_ns)
		o->end_ns = end_ns > o->start_ns ? end_ns : o->start_ns;
}

/* Is it a process that this one may wait for? Ones that were there before have parents unknown. */
static bool is_child(const struct assemble *a, uint32_t process, uint32_t child, uint32_t asked)
{
	uint32_t parent = a->processes[child].parent;

	if (child == process)
		return false;
	if (asked)
		return child == asked || (a->processes[asked].parent != process && parent == process);
	/* The orphans of a dead parent are someone else's children. */
	return parent == process || !parent || a->processes[parent].death_ns;
}

/* The process that a wait4 waited for: the one whose thread woke it, or the one asked for. 0: any. */
static uint32_t child_of(const struct assemble *a, const struct model_wait *w, uint32_t asked)
{
	uint32_t process = a->m->threads[w->thread].process;
	uint32_t waker = a->m->threads[w->waker].process;

	return w->waker && is_child(a, process, waker, asked) ? waker : asked;
}

static int child_resolve(struct assemble *a, struct model_wait *w, uint32_t *ret_ident_id)
{
	uint32_t child = child_of(a, w, a->idents[w->ident_id].key.process);
	const struct process_state *s = &a->processes[child];
	const struct model_process *p = &a->m->processes[child];
	const struct model_op *op = &a->m->ops[p->op];
	char text[64];

	*ret_ident_id = 0;
	if (!child)
		return 0;
	if (w->waker && a->m->threads[w->waker].process == child && s->exit_seen && p->op &&
	    is_dead_by(s->death_ns, wake_of(a, w)))
		target_set(a, w, p->op, last_wait_of_process(a, child));
	if (p->op && op->end_ns <= w->end_ns + (int64_t)ASSEMBLE_SLACK_NS) {
		*ret_ident_id = p->key_id;
		return 0;
	}
	snprintf(text, sizeof(text), "child:%s", strtab_str(a->m->strings, p->key_id));
	return strtab_intern(a->m->strings, text, ret_ident_id);
}

/* The joined thread: the one whose tid word was waited for, else the one that woke us. 0: unknown. */
static uint32_t joined_of(const struct assemble *a, const struct model_wait *w, uint32_t asked)
{
	if (asked)
		return asked;
	if (w->waker && w->waker != w->thread &&
	    a->m->threads[w->waker].process == a->m->threads[w->thread].process)
		return w->waker;
	return 0;
}

static int join_resolve(struct assemble *a, struct model_wait *w, uint32_t *ret_ident_id)
{
	uint32_t asked = a->idents[w->ident_id].key.thread, thread = joined_of(a, w, asked);
	const struct thread_state *s = &a->threads[thread];
	uint64_t wake_ns = wake_of(a, w);
	bool certain, close;
	char text[32];

	*ret_ident_id = 0;
	if (!thread)
		return 0;
	/* Only its exit clears a thread's tid word: it may come late, if it needed a CPU, but not after a sleep. */
	certain = asked && w->waker == asked && s->block_ns <= wake_ns && s->death_ns >= wake_ns;
	close = w->waker == thread ? is_dead_by(s->death_ns, wake_ns) :
				     !w->waker && is_within(s->death_ns, wake_ns, ASSEMBLE_SLACK_NS);
	if (s->exit_seen && a->m->threads[thread].op && w->outcome != WAIT_TIMEOUT && !(w->clipped & CLIPPED_AFTER) &&
	    (certain || close))
		target_set(a, w, a->m->threads[thread].op, last_wait_of_thread(a, thread));
	if (asked)
		return assemble_ident_string(a, w->ident_id, IDENT_NAME_JOIN, ret_ident_id);
	snprintf(text, sizeof(text), "tid:%u", a->m->threads[thread].tid);
	return strtab_intern(a->m->strings, text, ret_ident_id);
}

/* False if it waited for something else than what its call names. */
static bool has_ident(const struct model_row *row, const struct words *words)
{
	switch (row->reason) {
	case REASON_CPU:
	case REASON_STOPPED:
	case REASON_FAULT:
		return false;
	case REASON_LOCK:
		return row->kind_id != words->id[WORD_KERNEL];
	default:
		return true;
	}
}

static int owner_forget(struct assemble *a, struct model_wait *w)
{
	struct model_wait_words words = model_wait_words(a->m, w);

	w->owner_unknown = OWNER_UNKNOWN_NONE;
	if (!words.owner_tid)
		return 0;
	words.owner_tid = 0;
	return model_wait_words_set(a->m, w, &words);
}

static int wait_resolve(struct assemble *a, struct model_wait *w, const struct words *words)
{
	const struct model_row *row = &a->m->rows[w->row];
	uint32_t kind = row->kind_id, ident_id = 0;
	int r = 0;

	/* A choke point's wait has its words already. */
	if (a->rows[w->row].key.point)
		return 0;
	/* A lock's owner is read before its kind is known; only these have it in that place. */
	if ((row->reason != REASON_LOCK || (kind != words->id[WORD_MUTEX] && kind != words->id[WORD_PI_MUTEX])) &&
	    owner_forget(a, w) < 0)
		return -ENOMEM;
	if (w->ident_id && has_ident(row, words)) {
		if (row->reason == REASON_EXEC && kind == words->id[WORD_CHILD])
			r = child_resolve(a, w, &ident_id);
		else if (row->reason == REASON_SYNC && kind == words->id[WORD_JOIN])
			r = join_resolve(a, w, &ident_id);
		else
			r = assemble_ident_string(a, w->ident_id, a->rows[w->row].condvar ? IDENT_NAME_CONDVAR :
											    IDENT_NAME_PLAIN,
						  &ident_id);
	}
	w->ident_id = ident_id;
	return r;
}

int assemble_targets(struct assemble *a)
{
	static const char *const names[WORD_MAX] = {
		[WORD_CHILD] = "child", [WORD_JOIN] = "join", [WORD_MUTEX] = "mutex", [WORD_PI_MUTEX] = "pi_mutex", [WORD_KERNEL] = "kernel",
	};
	struct words words;

	for (int i = 0; i < WORD_MAX; i++)
		words.id[i] = strtab_find(a->m->strings, names[i]);
	for (size_t i = 1; i < a->m->wait_n; i++) {
		if (wait_resolve(a, &a->m->waits[i], &words) < 0)
			return -ENOMEM;
	}
	return 0;
}
