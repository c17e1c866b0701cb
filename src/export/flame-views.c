/* SPDX-License-Identifier: (LGPL-2.1 OR BSD-2-Clause) */
/*
 * What each view's stacks are. A recording has millions of waits and a few
 * thousand ways to them, so a stack's names are looked up once, and the node
 * of thread name and both stacks is found by its numbers.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "analyze/analyze.h"
#include "export/flame.h"
#include "export/label.h"
#include "export/lives.h"
#include "util/cleanup.h"
#include "util/escape.h"
#include "util/text.h"
#include "util/vec.h"

enum { OP_DEPTH_MAX = 64 };

struct growing {
	const struct export_job *job;
	const struct model *m;
	bool exact;
	uint32_t **stack_labels; /* by stack: of its entries, innermost first; NULL: not looked up yet */
	uint32_t *stack_label_n;
	struct pairs towers;	 /* ((name, user stack), kernel stack) */
	struct pairs feet;
	uint32_t *tower_nodes;	 /* by number of the tower */
	size_t tower_cap;
	struct text text;
	struct analyze_op_parts parts; /* where there are no threads */
	struct flame f;
};

static void growing_done(struct growing *g)
{
	for (size_t i = 0; g->stack_labels && i < g->m->stack_n; i++)
		free(g->stack_labels[i]);
	free(g->stack_labels);
	free(g->stack_label_n);
	pairs_done(&g->towers);
	pairs_done(&g->feet);
	free(g->tower_nodes);
	text_done(&g->text);
	analyze_op_parts_done(&g->parts);
	flame_done(&g->f);
}

static int stack_look_up(struct growing *g, uint32_t stack)
{
	enum flame_kind kind = g->m->stacks[stack].side == STACK_KERNEL ? FLAME_KERNEL : FLAME_USER;
	size_t n = model_stack_entry_n(g->m, stack);
	_cleanup_(freep) uint32_t *labels = calloc(n + 1, sizeof(*labels));

	if (!labels)
		return -ENOMEM;
	for (size_t i = 0; i < n; i++) {
		text_clear(&g->text);
		model_stack_entry_append(&g->text, g->m, stack, i, g->exact ? ENTRY_EXACT : ENTRY_FOLDED);
		if (text_error(&g->text) < 0 ||
		    flame_label(&g->f, model_stack_entry_frame(g->m, stack, i) ? kind : FLAME_WORD, text_str(&g->text),
				&labels[i]) < 0)
			return -ENOMEM;
	}
	g->stack_labels[stack] = TAKE_PTR(labels);
	g->stack_label_n[stack] = (uint32_t)n;
	return 0;
}

/* From node on the stack's frames, root first; inverted: innermost first, as the waker's. 0, -ENOMEM. */
static int stack_climb(struct growing *g, uint32_t stack, bool inverted, uint32_t *node)
{
	uint32_t n;

	if (!stack || stack >= g->m->stack_n)
		return 0;
	if (!g->stack_labels[stack] && stack_look_up(g, stack) < 0)
		return -ENOMEM;
	n = g->stack_label_n[stack];
	for (uint32_t i = 0; i < n; i++) {
		uint32_t label = g->stack_labels[stack][inverted ? i : n - 1 - i];

		if (inverted && flame_label(&g->f, FLAME_WAKER, strtab_str(g->f.texts, g->f.labels[label].text), &label) < 0)
			return -ENOMEM;
		if (flame_child(&g->f, *node, label, node) < 0)
			return -ENOMEM;
	}
	return 0;
}

static int word_climb(struct growing *g, enum flame_kind kind, const char *word, uint32_t *node)
{
	uint32_t label;

	if (flame_label(&g->f, kind, word, &label) < 0)
		return -ENOMEM;
	return flame_child(&g->f, *node, label, node);
}

/* A name of the target's: thread, op. */
static int name_climb(struct growing *g, enum flame_kind kind, const char *name, uint32_t *node)
{
	if (!g->exact) {
		text_clear(&g->text);
		escape_name(&g->text, name);
		if (text_error(&g->text) < 0)
			return -ENOMEM;
		name = text_str(&g->text);
	} else if (!*name) {
		name = "[unnamed]";
	}
	return word_climb(g, kind, name, node);
}

/* "name; user frames; kernel frames". */
static int tower_at(struct growing *g, uint32_t comm_id, uint32_t ustack, uint32_t kstack, uint32_t *ret)
{
	uint32_t foot, tower, node = 0;
	bool is_new;

	if (pairs_intern(&g->feet, comm_id, ustack, &foot, NULL) < 0 ||
	    VEC_RESERVE(g->tower_nodes, g->tower_cap, (size_t)g->towers.n + 2) < 0 ||
	    pairs_intern(&g->towers, foot, kstack, &tower, &is_new) < 0)
		return -ENOMEM;
	if (is_new) {
		if (name_climb(g, FLAME_THREAD, strtab_str(g->m->strings, comm_id), &node) < 0 ||
		    stack_climb(g, ustack, false, &node) < 0 || stack_climb(g, kstack, false, &node) < 0 ||
		    (!ustack && !kstack && word_climb(g, FLAME_WORD, "[no stack]", &node) < 0))
			return -ENOMEM;
		g->tower_nodes[tower] = node;
	}
	*ret = g->tower_nodes[tower];
	return 0;
}

/* ---- where there are no threads, as in dumps of the engine: ops instead of frames ---- */

static bool of_ops(const struct growing *g)
{
	return g->parts.parents != NULL;
}

/* An execution is of the same class as the call that it is for. */
static int op_climb(struct growing *g, uint32_t op, uint32_t parent, enum flame_kind kind, uint32_t *node)
{
	const char *name = label_op(g->m, op), *word = op_kind_name(g->m->ops[op].kind);
	char *both;
	int err;

	if (!parent || strcmp(name, label_op(g->m, parent)) != 0 || strcmp(name, word) == 0)
		return name_climb(g, kind, name, node);
	both = text_format("%s (%s)", name, word);
	if (!both)
		return -ENOMEM;
	err = name_climb(g, kind, both, node);
	free(both);
	return err;
}

/* "client; outermost op; ...; op". What is deeper than is drawn begins with the outermost that is. */
static int op_tower(struct growing *g, uint32_t op, uint32_t *ret)
{
	const struct model *m = g->m;
	const char *client = strtab_str(m->strings, m->ops[op].client_id);
	uint32_t chain[OP_DEPTH_MAX], node = 0;
	size_t n = 0;

	for (uint32_t at = op; at && n < OP_DEPTH_MAX; at = g->parts.parents[at])
		chain[n++] = at;
	if (n)
		client = strtab_str(m->strings, m->ops[chain[n - 1]].client_id);
	if (*client ? name_climb(g, FLAME_THREAD, client, &node) < 0 :
		      word_climb(g, FLAME_WORD, op ? "[no client]" : "[no op]", &node) < 0)
		return -ENOMEM;
	if (n && g->parts.parents[chain[n - 1]] && word_climb(g, FLAME_WORD, "[more ops around]", &node) < 0)
		return -ENOMEM;
	while (n--)
		if (op_climb(g, chain[n], g->parts.parents[chain[n]], FLAME_OP, &node) < 0)
			return -ENOMEM;
	*ret = node;
	return 0;
}

/* "[lock]; cache-volume". */
static int awaited_climb(struct growing *g, const struct model_wait *w, uint32_t *node)
{
	const char *reason = label_wait(g->m, (uint32_t)(w - g->m->waits));
	const char *name = strtab_str(g->m->strings, analyze_awaited_name(g->m, w));
	char *word = text_format("[%s]", reason);
	int err;

	if (!word)
		return -ENOMEM;
	err = name_climb(g, FLAME_WORD, word, node);
	free(word);
	return err < 0 || !*name ? err : name_climb(g, FLAME_AWAITED, name, node);
}

static int op_wait_tower(struct growing *g, uint32_t wait, uint32_t *ret)
{
	const struct model_wait *w = &g->m->waits[wait];

	return op_tower(g, w->op, ret) < 0 || awaited_climb(g, w, ret) < 0 ? -ENOMEM : 0;
}

/* Is it shown? What is hidden is counted. */
static bool wait_shown(const struct growing *g, uint32_t wait, struct export_told *told)
{
	const struct model_wait *w = &g->m->waits[wait];

	if ((g->job->waits && !g->job->waits[wait]) || g->m->rows[w->row].parked != (g->job->view == EXPORT_GOROUTINES))
		return false;
	if (g->job->idle_too || !analyze_wait_is_idle(g->m, w))
		return true;
	told->hidden_ns += (uint64_t)w->blocked_ns + (g->job->view == EXPORT_WALL ? (uint64_t)w->runnable_ns : 0);
	return false;
}

static int wait_tower(struct growing *g, uint32_t wait, uint32_t *ret)
{
	const struct model_row *r = &g->m->rows[g->m->waits[wait].row];

	return of_ops(g) ? op_wait_tower(g, wait, ret) : tower_at(g, r->comm_id, r->ustack, r->kstack, ret);
}

/* Stands for a whole thread or process: its name is there already. */
static bool op_is_actor(const struct model *m, uint32_t op, uint32_t thread)
{
	return op == m->threads[thread].op || lives_op_is_process(m, op);
}

/* What it was at when it woke: the innermost op first. */
static int waker_ops_climb(struct growing *g, const struct model_wait *w, uint32_t *node)
{
	uint32_t op = w->waker ? model_wait_waker_op(g->m, w) : 0;

	for (unsigned depth = 0; op && depth < OP_DEPTH_MAX; op = g->m->ops[op].parent, depth++)
		if (!op_is_actor(g->m, op, w->waker) && name_climb(g, FLAME_WAKER, label_op(g->m, op), node) < 0)
			return -ENOMEM;
	return 0;
}

/* Whose end it was, and where that was: the innermost op first. */
static int target_climb(struct growing *g, const struct model_wait *w, uint32_t *node)
{
	uint32_t op = w->target;

	if (analyze_wait_is_given_up(g->m, w))
		return word_climb(g, FLAME_WORD, "[given up]", node);
	for (unsigned depth = 0; op && depth < OP_DEPTH_MAX; op = g->parts.parents[op], depth++)
		if (op_climb(g, op, g->parts.parents[op], FLAME_WAKER, node) < 0)
			return -ENOMEM;
	return 0;
}

static int waker_climb(struct growing *g, uint32_t wait, uint32_t *node)
{
	const struct model_wait *w = &g->m->waits[wait];
	const char *waker = label_waker(g->m, wait);

	if (word_climb(g, FLAME_BREAK, "--", node) < 0)
		return -ENOMEM;
	if (w->clipped & CLIPPED_AFTER)
		return word_climb(g, FLAME_WORD, "[not ended]", node);
	if (!*waker && of_ops(g) && w->target)
		return target_climb(g, w, node);
	if (!*waker)
		return word_climb(g, FLAME_WORD, "[waker unknown]", node);
	if (g->m->stacks[w->waker_stack < g->m->stack_n ? w->waker_stack : 0].frame_n) {
		if (stack_climb(g, w->waker_stack, true, node) < 0)
			return -ENOMEM;
	} else if (waker_ops_climb(g, w, node) < 0) {
		return -ENOMEM;
	}
	return name_climb(g, FLAME_WAKER, waker, node);
}

static int offcpu_grow(struct growing *g, bool wakers, struct export_told *told)
{
	for (uint32_t i = 1; i < g->m->wait_n; i++) {
		const struct model_wait *w = &g->m->waits[i];
		uint32_t node;

		if (!w->blocked_ns || !wait_shown(g, i, told))
			continue;
		if (wait_tower(g, i, &node) < 0 || (wakers && waker_climb(g, i, &node) < 0))
			return -ENOMEM;
		flame_add(&g->f, node, (uint64_t)w->blocked_ns);
	}
	return 0;
}

/* ---- wall: each thread's life, in the order of how well its pieces are known ---- */

struct account {
	uint64_t waits_blocked_ns, waits_runnable_ns; /* in its waits */
	uint64_t sample_n, seen_n, given_ns;
};

static int piece_add(struct growing *g, uint32_t node, const char *word, uint64_t ns)
{
	if (!ns)
		return 0;
	if (word_climb(g, FLAME_WORD, word, &node) < 0)
		return -ENOMEM;
	flame_add(&g->f, node, ns);
	return 0;
}

static int wall_waits(struct growing *g, const struct lives *lives, struct account *accounts, struct export_told *told)
{
	for (uint32_t i = 1; i < g->m->wait_n; i++) {
		const struct model_wait *w = &g->m->waits[i];
		uint32_t node, thread = lives_thread_of_wait(lives, g->m, i);

		if (!thread)
			continue;
		accounts[thread].waits_blocked_ns += (uint64_t)w->blocked_ns;
		accounts[thread].waits_runnable_ns += (uint64_t)w->runnable_ns;
		if (!wait_shown(g, i, told))
			continue;
		if (wait_tower(g, i, &node) < 0 || piece_add(g, node, "[blocked]", (uint64_t)w->blocked_ns) < 0 ||
		    piece_add(g, node, "[runnable]", (uint64_t)w->runnable_ns) < 0)
			return -ENOMEM;
	}
	return 0;
}

static bool thread_shown(const struct growing *g, uint32_t thread)
{
	return !g->m->threads[thread].goid && (!g->job->threads || g->job->threads[thread]);
}

/* A sample's share of its thread's time on the CPU; shares sum to it exactly. */
static uint64_t sample_share_ns(struct account *a, uint64_t oncpu_ns, uint64_t count)
{
	uint64_t ns;

	a->seen_n += count;
	ns = (uint64_t)((__extension__(unsigned __int128)oncpu_ns) * a->seen_n / a->sample_n) - a->given_ns;
	a->given_ns += ns;
	return ns;
}

static int wall_samples(struct growing *g, struct account *accounts)
{
	for (size_t i = 1; i < g->m->sample_n; i++)
		accounts[g->m->samples[i].thread].sample_n += g->m->samples[i].count;
	for (size_t i = 1; i < g->m->sample_n; i++) {
		const struct model_sample *s = &g->m->samples[i];
		uint32_t node;
		uint64_t ns;

		if (!s->thread || !s->count || !thread_shown(g, s->thread))
			continue;
		ns = sample_share_ns(&accounts[s->thread], g->m->threads[s->thread].oncpu_ns, s->count);
		if (tower_at(g, s->comm_id, s->ustack, s->kstack, &node) < 0 || piece_add(g, node, "[on-cpu]", ns) < 0)
			return -ENOMEM;
	}
	return 0;
}

static uint64_t above(uint64_t a, uint64_t b)
{
	return a > b ? a - b : 0;
}

/* What of a thread's life is in no wait and no sample. */
static int wall_rest(struct growing *g, uint32_t thread, const struct account *a)
{
	const struct model_thread *t = &g->m->threads[thread];
	uint64_t life_ns = (uint64_t)(t->end_ns - t->begin_ns), waits_ns = a->waits_blocked_ns + a->waits_runnable_ns;
	uint64_t off_ns = above(t->blocked_ns + t->runnable_ns, t->left_out_ns);
	uint32_t node = 0;

	if (name_climb(g, FLAME_THREAD, strtab_str(g->m->strings, t->comm_id), &node) < 0)
		return -ENOMEM;
	if (!t->has_totals)
		return piece_add(g, node, "[not accounted]", above(life_ns, waits_ns));
	if (piece_add(g, node, "[on-cpu, not sampled]", a->sample_n ? 0 : t->oncpu_ns) < 0 ||
	    piece_add(g, node, t->below_min_n ? "[shorter than --min]" : "[lost]", above(off_ns, waits_ns)) < 0 ||
	    piece_add(g, node, "[lost]", t->lost_ns) < 0 || piece_add(g, node, "[left out by --only]", t->left_out_ns) < 0)
		return -ENOMEM;
	return 0;
}

static int wall_grow(struct growing *g, struct export_told *told)
{
	_cleanup_(freep) struct account *accounts = calloc(g->m->thread_n, sizeof(*accounts));
	_cleanup_(lives_done) struct lives lives = { 0 };

	if (!accounts || lives_make(g->m, &lives) < 0)
		return -ENOMEM;
	if (wall_waits(g, &lives, accounts, told) < 0 || wall_samples(g, accounts) < 0)
		return -ENOMEM;
	for (uint32_t i = 1; i < g->m->thread_n; i++)
		if (thread_shown(g, i) && wall_rest(g, i, &accounts[i]) < 0)
			return -ENOMEM;
	return 0;
}

/* The same of ops: what each did itself, and its waits. */
static int wall_of_ops(struct growing *g, struct export_told *told)
{
	const struct model *m = g->m;
	uint32_t node;

	for (uint32_t i = 1; i < m->op_n; i++) {
		if (!g->parts.self_ns[i] || (g->job->ops && !g->job->ops[i]))
			continue;
		if (op_tower(g, i, &node) < 0 || piece_add(g, node, "[self]", g->parts.self_ns[i]) < 0)
			return -ENOMEM;
	}
	for (uint32_t i = 1; i < m->wait_n; i++) {
		if (!g->parts.wait_ns[i] || !wait_shown(g, i, told))
			continue;
		if (op_wait_tower(g, i, &node) < 0)
			return -ENOMEM;
		flame_add(&g->f, node, g->parts.wait_ns[i]);
	}
	return 0;
}

/* ---- the critical path ---- */

/* The ops that one is under, the outermost first. */
static int ops_climb(struct growing *g, uint32_t thread, uint32_t op, uint32_t *node)
{
	uint32_t chain[OP_DEPTH_MAX];
	size_t n = 0;

	for (; op && n < OP_DEPTH_MAX; op = g->m->ops[op].parent)
		if (!op_is_actor(g->m, op, thread))
			chain[n++] = op;
	while (n--)
		if (name_climb(g, FLAME_OP, label_op(g->m, chain[n]), node) < 0)
			return -ENOMEM;
	return 0;
}

/* The first moment of a sample not before ns. */
static size_t moment_at(const struct model *m, int64_t ns)
{
	size_t low = 0, high = m->sample_time_n;

	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (m->sample_times[middle].at_ns < ns)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

static const struct model_sample *moment_of(const struct model *m, size_t i, uint32_t thread)
{
	const struct model_sample *s = &m->samples[m->sample_times[i].sample];

	return s->thread == thread ? s : NULL;
}

/* Time on the CPU goes to what was sampled in it, in equal parts. */
static int path_oncpu(struct growing *g, const struct export_stretch *x, uint32_t node)
{
	const struct model *m = g->m;
	size_t first = moment_at(m, x->start_ns), last = moment_at(m, x->end_ns), n = 0, given = 0;
	uint64_t ns = (uint64_t)(x->end_ns - x->start_ns);

	for (size_t i = first; i < last; i++)
		n += moment_of(m, i, x->thread) != NULL;
	if (!n)
		return piece_add(g, node, "[on-cpu]", ns);
	for (size_t i = first; i < last; i++) {
		const struct model_sample *s = moment_of(m, i, x->thread);
		uint32_t top = node;

		if (!s)
			continue;
		given++;
		if (stack_climb(g, s->ustack, false, &top) < 0 || stack_climb(g, s->kstack, false, &top) < 0 ||
		    piece_add(g, top, "[on-cpu]", ns * given / n - ns * (given - 1) / n) < 0)
			return -ENOMEM;
	}
	return 0;
}

/* Nobody measured whether ops were on a CPU. */
static int path_stretch_of_ops(struct growing *g, const struct export_stretch *x)
{
	uint64_t ns = (uint64_t)(x->end_ns - x->start_ns);
	uint32_t node = 0;

	if (op_tower(g, x->op, &node) < 0)
		return -ENOMEM;
	if (!x->wait)
		return piece_add(g, node, x->op && x->state == EXPORT_PATH_ONCPU ? "[self]" : "[unknown]", ns);
	if (awaited_climb(g, &g->m->waits[x->wait], &node) < 0)
		return -ENOMEM;
	flame_add(&g->f, node, ns);
	return 0;
}

static int path_stretch(struct growing *g, const struct export_stretch *x)
{
	static const char *const words[] = {
		[EXPORT_PATH_RUNNABLE] = "[runnable]", [EXPORT_PATH_BLOCKED] = "[blocked]",
		[EXPORT_PATH_UNKNOWN] = "[unknown]",
	};
	const char *name = x->thread ? strtab_str(g->m->strings, g->m->threads[x->thread].comm_id) : "[no thread]";
	uint32_t node = 0;

	if (x->end_ns <= x->start_ns)
		return 0;
	if (of_ops(g))
		return path_stretch_of_ops(g, x);
	if (name_climb(g, FLAME_THREAD, name, &node) < 0 || ops_climb(g, x->thread, x->op, &node) < 0)
		return -ENOMEM;
	if (x->state == EXPORT_PATH_ONCPU)
		return path_oncpu(g, x, node);
	if (x->wait) {
		const struct model_row *r = &g->m->rows[g->m->waits[x->wait].row];

		if (stack_climb(g, r->ustack, false, &node) < 0 || stack_climb(g, r->kstack, false, &node) < 0)
			return -ENOMEM;
	}
	return piece_add(g, node, words[x->state], (uint64_t)(x->end_ns - x->start_ns));
}

static int path_grow(struct growing *g)
{
	for (size_t i = 0; i < g->job->path_n; i++)
		if (path_stretch(g, &g->job->path[i]) < 0)
			return -ENOMEM;
	return 0;
}

static int grow(struct growing *g, struct export_told *told)
{
	switch (g->job->view) {
	case EXPORT_OFFCPU:
	case EXPORT_GOROUTINES:
		return offcpu_grow(g, false, told);
	case EXPORT_OFFWAKE:
		return offcpu_grow(g, true, told);
	case EXPORT_WALL:
		return of_ops(g) ? wall_of_ops(g, told) : wall_grow(g, told);
	default:
		return path_grow(g);
	}
}

bool flame_is_of_ops(const struct model *m)
{
	return m->thread_n <= 1 && m->op_n > 1;
}

int flame_make(const struct export_job *job, bool exact, struct flame *ret, struct export_told *told)
{
	_cleanup_(growing_done) struct growing g = { .job = job, .m = job->m, .exact = exact };
	int err = flame_init(&g.f);

	g.stack_labels = calloc(job->m->stack_n, sizeof(*g.stack_labels));
	g.stack_label_n = calloc(job->m->stack_n, sizeof(*g.stack_label_n));
	if (err || !g.stack_labels || !g.stack_label_n || (flame_is_of_ops(job->m) && analyze_op_parts(job->m, &g.parts) < 0))
		return -ENOMEM;
	err = grow(&g, told);
	if (!err)
		err = flame_finish(&g.f);
	if (err)
		return err;
	told->value_ns = g.f.nodes[0].total_ns;
	if (!told->value_ns)
		return -ENODATA;
	*ret = g.f;
	g.f = (struct flame){ 0 };
	return 0;
}
