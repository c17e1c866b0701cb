/* SPDX-License-Identifier: (LGPL-2.1 OR BSD-2-Clause) */
/*
 * Programs have more goroutines than threads, by orders of magnitude, and most
 * live shortly. So what is kept of one ends with it, but for its entry in the
 * model; and a few numbers, since one that has just ended may still be named as
 * who woke another.
 *
 * Goroutine ids are never used again (runtime.sched.goidgen), so they need no
 * chains of holders as tids do.
 */
#include "assemble/goroutines.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "assemble/go-reasons.h"
#include "assemble/ops.h"
#include "assemble/resource.h"
#include "assemble/scope.h"
#include "assemble/threads.h"
#include "assemble/waits.h"
#include "util/vec.h"

/* Of those that ended, so many are remembered. */
#define ENDED_MAX 16384

struct goroutine {
	struct strand strand;
	uint64_t goid, parent_goid;
	uint64_t begin_ns;
	uint32_t function;
	uint32_t tid; /* that runs it, or ran it last */
	bool born;    /* its birth was seen */
	bool no_place;
};

struct go_runtime {
	bool followed;		/* the runtime tells whatever its threads run; else only ops say who they are of */
	struct map *goroutines; /* goid -> struct goroutine, or of one that has ended its entry << 1 | 1 */
	struct map *functions;	/* start_pc -> of a->functions */
	uint32_t *reasons;	/* by the runtime's number, of a->go_reasons */
	size_t reason_n;
	uint64_t *ended; /* goids, a ring */
	size_t ended_n, ended_cap;
};

static bool is_living(uint64_t value)
{
	return !(value & 1);
}

static struct goroutine *living(uint64_t value)
{
	return is_living(value) ? (struct goroutine *)(uintptr_t)value : NULL;
}

static struct goroutine *goroutine_find(const struct go_runtime *go, uint64_t goid)
{
	uint64_t value = 0;

	return go && map_get(go->goroutines, goid, &value) ? living(value) : NULL;
}

static void runtime_free(struct go_runtime *go)
{
	uint64_t goid, value;

	if (!go)
		return;
	for (size_t at = 0; go->goroutines && map_next(go->goroutines, &at, &goid, &value);) {
		struct goroutine *g = living(value);

		if (g) {
			assemble_strand_done(&g->strand);
			free(g);
		}
	}
	map_free(go->goroutines);
	map_free(go->functions);
	free(go->reasons);
	free(go->ended);
	free(go);
}

static void runtime_freep(struct go_runtime **go)
{
	runtime_free(*go);
}

static int runtime_make(struct assemble *a, uint32_t process, struct go_runtime **ret)
{
	_cleanup_(runtime_freep) struct go_runtime *go = NULL;

	if (a->processes[process].go) {
		*ret = a->processes[process].go;
		return 0;
	}
	go = calloc(1, sizeof(*go));
	if (!go || map_new(&go->goroutines) < 0 || map_new(&go->functions) < 0)
		return -ENOMEM;
	*ret = a->processes[process].go = TAKE_PTR(go);
	return 0;
}

static int process_of(struct assemble *a, uint32_t tgid, uint32_t *ret)
{
	struct assemble_span span = { .from_ns = UINT64_MAX, .to_ns = UINT64_MAX };
	uint32_t process = assemble_process_at(a, tgid, UINT64_MAX);

	if (process && !a->processes[process].death_ns) {
		*ret = process;
		return 0;
	}
	span.from_ns = span.to_ns = a->o.begin_ns;
	return assemble_process_for(a, tgid, &span, ret);
}

int assemble_go_set(struct assemble *a, uint32_t tgid, const char *const *reasons, size_t n)
{
	uint32_t process, *ids = NULL;
	struct go_runtime *go;

	if (process_of(a, tgid, &process) < 0 || runtime_make(a, process, &go) < 0)
		return -ENOMEM;
	if (n) {
		ids = calloc(n, sizeof(*ids));
		if (!ids)
			return -ENOMEM;
	}
	for (size_t i = 0; i < n; i++) {
		if (strtab_intern(a->go_reasons, reasons[i], &ids[i]) < 0) {
			free(ids);
			return -ENOMEM;
		}
	}
	free(go->reasons);
	go->reasons = ids;
	go->reason_n = n;
	go->followed = true;
	return 0;
}

void assemble_go_unfollow(struct assemble *a)
{
	for (size_t i = 0; i < a->m->process_n; i++)
		if (a->processes[i].go)
			a->processes[i].go->followed = false;
	for (size_t i = 0; i < a->m->thread_n; i++)
		a->threads[i].goid = 0;
}

bool assemble_go_is_followed(const struct assemble *a, uint32_t process)
{
	return a->processes[process].go && a->processes[process].go->followed;
}

static int function_index(struct assemble *a, struct go_runtime *go, uint64_t start_pc, uint32_t *ret)
{
	uint64_t index = 0;

	if (start_pc && !map_get(go->functions, start_pc, &index)) {
		index = a->function_n;
		if (VEC_RESERVE(a->functions, a->function_cap, a->function_n + 1) < 0 ||
		    map_put(go->functions, start_pc, index) < 0)
			return -ENOMEM;
		a->functions[a->function_n++] = (struct function){ 0 };
	}
	*ret = (uint32_t)index;
	return 0;
}

int assemble_go_function(struct assemble *a, uint32_t tgid, uint64_t start_pc, const char *name)
{
	uint32_t process, function;
	struct go_runtime *go;
	char *copy;

	if (process_of(a, tgid, &process) < 0 || runtime_make(a, process, &go) < 0 ||
	    function_index(a, go, start_pc, &function) < 0)
		return -ENOMEM;
	if (!function)
		return 0;
	copy = strdup(name);
	if (!copy)
		return -ENOMEM;
	free(a->functions[function].name);
	a->functions[function].name = copy;
	return 0;
}

/* ---- who is who ---- */

static int goroutine_make(struct assemble *a, uint32_t process, uint64_t goid, uint64_t begin_ns, struct goroutine **ret)
{
	struct go_runtime *go;
	struct goroutine *g;

	if (runtime_make(a, process, &go) < 0)
		return -ENOMEM;
	g = goroutine_find(go, goid);
	if (!g) {
		g = calloc(1, sizeof(*g));
		if (!g || map_put_ptr(go->goroutines, goid, g) < 0) {
			free(g);
			return -ENOMEM;
		}
		*g = (struct goroutine){ .goid = goid, .begin_ns = begin_ns };
		g->strand.goroutine = g;
		g->strand.process = process;
	}
	*ret = g;
	return 0;
}

/* A thread that runs it: all that it does until it runs another is the goroutine's, if that other will be told of. */
static void goroutine_runs(struct assemble *a, struct goroutine *g, uint32_t thread)
{
	if (assemble_go_is_followed(a, g->strand.process))
		a->threads[thread].goid = g->goid;
	g->tid = a->m->threads[thread].tid;
	if (g->strand.thread)
		a->m->threads[g->strand.thread].tid = g->tid;
}

int assemble_goroutine_at(struct assemble *a, uint32_t thread, uint64_t goid, uint64_t time_ns, struct goroutine **ret)
{
	if (goroutine_make(a, a->m->threads[thread].process, goid, time_ns, ret) < 0)
		return -ENOMEM;
	goroutine_runs(a, *ret, thread);
	return 0;
}

struct goroutine *assemble_goroutine_on(const struct assemble *a, uint32_t thread)
{
	uint64_t goid = a->threads[thread].goid;

	return goid ? goroutine_find(a->processes[a->m->threads[thread].process].go, goid) : NULL;
}

struct strand *assemble_goroutine_strand(struct goroutine *g)
{
	return &g->strand;
}

uint32_t assemble_goroutine_function(const struct goroutine *g)
{
	return g->function;
}

/* ---- its entry ---- */

static int entry_fill(struct assemble *a, struct goroutine *g, uint32_t thread)
{
	struct process_state *p = &a->processes[g->strand.process];
	struct model_thread *t = &a->m->threads[thread];
	uint32_t op;

	a->threads[thread] = (struct thread_state){
		.begin_ns = g->begin_ns,
		.origin = g->born ? ORIGIN_FORKED : ORIGIN_SEEN,
		.strand = &g->strand,
		.sibling = p->thread,
	};
	p->thread = thread;
	g->strand.thread = thread;
	t->parent_goid = g->parent_goid;
	t->pid = a->m->processes[g->strand.process].pid;
	t->tid = g->tid;
	t->process = g->strand.process;
	t->comm_id = g->function; /* an index until it has its name */
	t->begin_ns = t->end_ns = assemble_relative(a, g->begin_ns);
	t->clipped = g->born ? 0 : CLIPPED_BEFORE;
	if (assemble_op_begin(a, OP_INTERNAL, g->begin_ns, &op) < 0)
		return -ENOMEM;
	t->op = op;
	if (!op)
		return 0;
	a->m->ops[op].parent = g->strand.spawn_op ?: a->m->processes[t->process].op;
	a->m->ops[op].pid = t->pid;
	a->m->ops[op].tid = t->tid;
	a->m->ops[op].goid = g->goid;
	a->m->ops[op].clipped = t->clipped;
	return 0;
}

int assemble_strand_thread(struct assemble *a, struct strand *s, uint64_t time_ns, uint32_t *ret)
{
	struct goroutine *g = s->goroutine;
	uint32_t thread;
	int r;

	if (!s->thread && g && !g->no_place) {
		g->begin_ns = g->begin_ns < time_ns ? g->begin_ns : time_ns;
		if (VEC_RESERVE(a->threads, a->thread_cap, a->m->thread_n + 1) < 0)
			return -ENOMEM;
		/* With its op: one without the other is no use. */
		g->no_place = !model_has_places(a->m, MODEL_GOROUTINE_PLACES + 1);
		a->m->integrity.dropped_events += g->no_place;
		r = g->no_place ? -ENOSPC : model_goroutine_add(a->m, g->goid, &thread);
		if (r == 0)
			r = entry_fill(a, g, thread);
		if (r < 0 && r != -ENOSPC)
			return r;
	}
	*ret = s->thread;
	return 0;
}

/* ---- events ---- */

/* dying: it may have ended before, when its process did. */
static int os_thread(struct assemble *a, uint32_t tid, uint32_t tgid, uint64_t time_ns, bool dying, uint32_t *ret)
{
	struct assemble_span span = { .from_ns = time_ns, .to_ns = time_ns, .dying = dying };

	return assemble_thread_for(a, tid, tgid, &span, ret);
}

int assemble_go_birth(struct assemble *a, const struct wcbpf_go_birth *e)
{
	bool born = (e->parent_goid || e->start_pc) && !(e->flags & WCBPF_GO_SEEN_FIRST);
	uint32_t thread, process;
	struct goroutine *g, *parent;
	struct go_runtime *go;
	struct place from = { 0 };

	if (!e->goid || !e->tid || !e->tgid)
		return -EBADMSG;
	if (os_thread(a, e->tid, e->tgid, e->head.time_ns, false, &thread) < 0)
		return -ENOMEM;
	process = a->m->threads[thread].process;
	if (runtime_make(a, process, &go) < 0 || goroutine_make(a, process, e->goid, e->head.time_ns, &g) < 0)
		return -ENOMEM;
	parent = born ? goroutine_find(go, e->parent_goid) : NULL;
	if (parent) {
		goroutine_runs(a, parent, thread);
		from = assemble_strand_spawns(a, &parent->strand);
	}
	g->born = g->born || born;
	g->parent_goid = e->parent_goid;
	if (born) {
		g->begin_ns = g->begin_ns < e->head.time_ns ? g->begin_ns : e->head.time_ns;
		g->strand.spawn_op = from.op;
		g->strand.spawn_in_scope = from.in_scope;
	}
	if (function_index(a, go, e->start_pc, &g->function) < 0)
		return -ENOMEM;
	if (g->strand.thread)
		a->m->threads[g->strand.thread].comm_id = g->function;
	return 0;
}

static uint32_t reason_id(const struct go_runtime *go, const struct wcbpf_go_interval *e)
{
	return e->reason < go->reason_n ? go->reasons[e->reason] : 0;
}

static int ident_of(struct assemble *a, uint32_t process, const struct wcbpf_go_interval *e, const char *reason,
		    uint32_t *ret)
{
	struct ident_key key = { .process = process, .address = e->resource,
				 .kind = assemble_go_ident_kind(reason) };

	*ret = 0;
	return e->resource && key.kind != IDENT_NONE ? assemble_ident_index(a, &key, ret) : 0;
}

/* The entry of a goroutine that may have ended; 0: it has none, or is forgotten. */
static uint32_t waker_of(struct go_runtime *go, uint64_t goid)
{
	uint64_t value = 0;

	if (!goid || !map_get(go->goroutines, goid, &value))
		return 0;
	return is_living(value) ? living(value)->strand.thread : (uint32_t)(value >> 1);
}

/* From its go statement to its first run: like a thread's from its fork, with who made it. */
static bool is_birth(const struct goroutine *g, const struct wcbpf_go_interval *e)
{
	return g->born && e->park_ns == g->begin_ns && e->flags & WCBPF_GO_RUNNABLE_ONLY &&
	       e->flags & WCBPF_GO_WAKER_KNOWN && e->waker_goid;
}

/*
 * What no goroutine woke and no file that was ready is told as woken by a timer. The runtime wakes what is its own so
 * too; and a file that has been waited for since before the recording is not recognized.
 */
static bool is_timer_sure(const struct wcbpf_go_interval *e, const char *reason)
{
	return assemble_go_has_timer(reason) &&
	       !(e->flags & WCBPF_GO_BEGAN_BEFORE && assemble_go_ident_kind(reason) == IDENT_NETPOLL);
}

static void stretch_waker(struct go_runtime *go, const struct wcbpf_go_interval *e, const char *reason,
			  struct stretch *x)
{
	static const uint8_t known[] = {
		[WCBPF_WAKER_UNKNOWN] = WAKER_UNKNOWN, [WCBPF_WAKER_TASK] = WAKER_TASK,
		[WCBPF_WAKER_TIMER] = WAKER_TIMER,     [WCBPF_WAKER_DISK] = WAKER_UNKNOWN,
		[WCBPF_WAKER_NET] = WAKER_NET,
	};

	if (x->blocked && e->flags & WCBPF_GO_EXITED)
		x->outcome = WAIT_KILLED;
	if (!x->blocked || (e->flags & (WCBPF_GO_OPEN_AT_END | WCBPF_GO_EXITED) && !e->wake_ns))
		return;
	x->ctx = WAKER_UNKNOWN;
	if (e->flags & WCBPF_GO_WAKER_KNOWN && e->waker_ctx < sizeof(known))
		x->ctx = known[e->waker_ctx];
	if (x->ctx == WAKER_TIMER && !is_timer_sure(e, reason))
		x->ctx = WAKER_UNKNOWN;
	x->waker = e->flags & WCBPF_GO_WAKER_KNOWN ? waker_of(go, e->waker_goid) : 0;
	if (!x->waker && x->ctx == WAKER_TASK) {
		x->waker_pid = e->tgid;
		x->waker_tid = e->waker_tid;
	}
	x->outcome = e->flags & WCBPF_GO_OPEN_AT_END ? WAIT_OUTCOME_NONE :
		     e->flags & WCBPF_GO_EXITED ? WAIT_KILLED :
		     x->ctx == WAKER_TIMER && assemble_go_is_sleep(reason) ? WAIT_TIMEOUT : WAIT_WOKEN;
}

static int stretch_of(struct assemble *a, struct go_runtime *go, struct goroutine *g,
		      const struct wcbpf_go_interval *e, struct stretch *ret)
{
	const char *reason = strtab_str(a->go_reasons, reason_id(go, e));
	bool runnable = e->flags & (WCBPF_GO_RUNNABLE_ONLY | WCBPF_GO_SYSCALL);
	uint64_t park_ns = e->flags & WCBPF_GO_SYSCALL && e->wake_ns ? e->wake_ns : e->park_ns;
	struct stretch x = {
		.start_ns = assemble_clip(a, park_ns), .end_ns = assemble_clip(a, e->head.time_ns), .blocked = !runnable,
		.timeout_ns = -1, .syscall = -1, .words.tid = e->tid, .last = e->flags & (WCBPF_GO_OPEN_AT_END | WCBPF_GO_EXITED),
		.key = { .syscall = -1, .function = g->function, .go_reason = 1 },
	};
	uint64_t wake_ns = e->wake_ns ? assemble_clip(a, e->wake_ns) : x.end_ns;

	x.start_ns = x.start_ns < x.end_ns ? x.start_ns : x.end_ns;
	if (runnable)
		wake_ns = x.start_ns;
	wake_ns = wake_ns < x.start_ns ? x.start_ns : wake_ns > x.end_ns ? x.end_ns : wake_ns;
	x.blocked_ns = wake_ns - x.start_ns;
	x.runnable_ns = x.end_ns - wake_ns;
	x.wake_ns = !runnable && e->wake_ns ? wake_ns : 0;
	x.clipped = e->flags & WCBPF_GO_BEGAN_BEFORE || park_ns < a->o.begin_ns ? CLIPPED_BEFORE : 0;
	x.clipped |= e->flags & WCBPF_GO_OPEN_AT_END ? CLIPPED_AFTER : 0;
	if (runnable) {
		x.key.flags = ROW_PREEMPTED;
	} else {
		x.key.go_reason += reason_id(go, e);
		x.key.state = TASK_INTERRUPTIBLE;
	}
	stretch_waker(go, e, reason, &x);
	if (is_birth(g, e)) {
		x.wake_ns = x.start_ns;
		x.waker = waker_of(go, e->waker_goid);
		x.ctx = x.waker ? WAKER_TASK : WAKER_NONE;
	}
	if (assemble_stack_index(a, STACK_USER, e->ustack_id, &x.key.ustack) < 0 ||
	    (x.ctx == WAKER_TASK && assemble_stack_index(a, STACK_USER, e->waker_ustack_id, &x.waker_stack) < 0) ||
	    (!runnable && ident_of(a, g->strand.process, e, reason, &x.ident) < 0))
		return -ENOMEM;
	*ret = x;
	return 0;
}

/* Recording's end was told of it when its process's end was not known yet, which ends it too. */
static bool is_over(const struct assemble *a, const struct wcbpf_go_interval *e)
{
	uint32_t process = assemble_process_at(a, e->tgid, e->park_ns);

	return e->flags & WCBPF_GO_OPEN_AT_END && process && a->processes[process].death_ns &&
	       a->processes[process].death_ns <= e->head.time_ns;
}

int assemble_go_interval(struct assemble *a, const struct wcbpf_go_interval *e)
{
	uint32_t thread, entry = 0;
	struct goroutine *g;
	struct stretch x;

	if (!e->goid || !e->tid || !e->tgid)
		return -EBADMSG;
	if (e->park_ns > e->head.time_ns) {
		a->m->integrity.lost_go_events++;
		return 0;
	}
	if (is_over(a, e))
		return 0;
	/* Of what ended with its process, or lasts, the thread is the one that had to do with it last: that may be gone. */
	if (os_thread(a, e->tid, e->tgid, e->head.time_ns, e->flags & (WCBPF_GO_EXITED | WCBPF_GO_OPEN_AT_END), &thread) < 0 ||
	    assemble_goroutine_at(a, thread, e->goid, e->park_ns, &g) < 0 ||
	    stretch_of(a, a->processes[g->strand.process].go, g, e, &x) < 0)
		return -ENOMEM;
	entry = g->strand.thread;
	if (!assemble_is_off(a, e->park_ns) && assemble_in_scope(a, &g->strand, 0) &&
	    assemble_strand_thread(a, &g->strand, e->park_ns, &entry) < 0)
		return -ENOMEM;
	return assemble_stretch_take(a, &g->strand, entry, &x);
}

int assemble_goroutine_blocks(struct assemble *a, const struct wcbpf_interval *e, struct stretch *x,
			      struct strand **ret_strand, uint32_t *ret_thread)
{
	struct goroutine *g;
	uint32_t entry = 0;

	if (!a->processes[a->m->threads[*ret_thread].process].go)
		return 0;
	if (assemble_goroutine_at(a, *ret_thread, e->goid, e->out_ns, &g) < 0)
		return -ENOMEM;
	entry = g->strand.thread;
	if (!assemble_is_off(a, e->out_ns) && assemble_in_scope(a, &g->strand, 0) &&
	    assemble_strand_thread(a, &g->strand, e->out_ns, &entry) < 0)
		return -ENOMEM;
	x->words.tid = e->tid;
	x->key.comm_id = 0;
	x->key.function = g->function;
	*ret_strand = &g->strand;
	*ret_thread = entry;
	return 0;
}

/* ---- its end ---- */

static int ended_remember(struct go_runtime *go, uint64_t goid, uint32_t thread)
{
	uint64_t *slot, value;

	if (go->ended_cap < ENDED_MAX && VEC_RESERVE(go->ended, go->ended_cap, go->ended_n % ENDED_MAX + 1) < 0)
		return -ENOMEM;
	slot = &go->ended[go->ended_n % ENDED_MAX];
	if (go->ended_n >= ENDED_MAX && map_get(go->goroutines, *slot, &value) && !is_living(value))
		map_remove(go->goroutines, *slot, NULL);
	*slot = goid;
	go->ended_n++;
	return map_put(go->goroutines, goid, (uint64_t)thread << 1 | 1);
}

/* Closes all of it, but for what the map says. */
static int goroutine_close(struct assemble *a, struct goroutine *g, uint64_t time_ns)
{
	uint32_t thread = g->strand.thread;

	if (assemble_strand_end(a, &g->strand, time_ns) < 0)
		return -ENOMEM;
	if (!thread)
		return 0;
	if (assemble_wait_flush(a, thread) < 0)
		return -ENOMEM;
	a->threads[thread].strand = NULL;
	assemble_thread_end(a, thread, time_ns);
	return 0;
}

int assemble_go_death(struct assemble *a, const struct wcbpf_go_death *e)
{
	struct goroutine *g;
	struct go_runtime *go;
	uint32_t thread, entry;

	if (!e->goid || !e->tid || !e->tgid)
		return -EBADMSG;
	if (os_thread(a, e->tid, e->tgid, e->head.time_ns, false, &thread) < 0)
		return -ENOMEM;
	go = a->processes[a->m->threads[thread].process].go;
	g = goroutine_find(go, e->goid);
	if (!g)
		return 0;
	if (goroutine_close(a, g, e->head.time_ns) < 0)
		return -ENOMEM;
	entry = g->strand.thread;
	if (ended_remember(go, e->goid, entry) < 0)
		return -ENOMEM;
	if (a->threads[thread].goid == e->goid)
		a->threads[thread].goid = 0;
	assemble_strand_done(&g->strand);
	free(g);
	return 0;
}

int assemble_go_each(struct assemble *a, uint32_t process, int (*visit)(struct assemble *a, struct strand *s, uint64_t ns),
		     uint64_t ns)
{
	struct go_runtime *go = a->processes[process].go;
	uint64_t goid, value;
	int r;

	for (size_t at = 0; go && map_next(go->goroutines, &at, &goid, &value);) {
		r = living(value) ? visit(a, &living(value)->strand, ns) : 0;
		if (r < 0)
			return r;
	}
	return 0;
}

static int strand_close(struct assemble *a, struct strand *s, uint64_t ns)
{
	return goroutine_close(a, s->goroutine, ns);
}

int assemble_go_end(struct assemble *a, uint32_t process, uint64_t time_ns)
{
	int r = assemble_go_each(a, process, strand_close, time_ns);

	if (r < 0)
		return r;
	runtime_free(a->processes[process].go);
	a->processes[process].go = NULL;
	return 0;
}

/* The walk must not see the map change: so they are found first. */
static int ended_forget(struct assemble *a, struct go_runtime *go)
{
	_cleanup_(freep) uint64_t *gone = NULL;
	uint64_t goid, value;
	size_t n = 0, cap = 0;

	for (size_t at = 0; map_next(go->goroutines, &at, &goid, &value);) {
		uint32_t thread = (uint32_t)(value >> 1);

		if (is_living(value) || (thread && a->thread_marks[thread]))
			continue;
		if (VEC_RESERVE(gone, cap, n + 1) < 0)
			return -ENOMEM;
		gone[n++] = goid;
	}
	for (size_t i = 0; i < n; i++)
		map_remove(go->goroutines, gone[i], NULL);
	return 0;
}

int assemble_go_forget(struct assemble *a)
{
	for (size_t i = 1; i < a->m->process_n; i++) {
		if (a->processes[i].go && ended_forget(a, a->processes[i].go) < 0)
			return -ENOMEM;
	}
	return 0;
}

void assemble_go_free(struct assemble *a)
{
	for (size_t i = 0; i < a->m->process_n; i++)
		runtime_free(a->processes[i].go);
	for (size_t i = 0; i < a->function_n; i++)
		free(a->functions[i].name);
	free(a->functions);
	strtab_free(a->go_reasons);
}

static int name_intern(struct assemble *a, uint32_t function, uint32_t *ret)
{
	return strtab_intern(a->m->strings, a->functions[function < a->function_n ? function : 0].name, ret);
}

int assemble_go_finish(struct assemble *a)
{
	for (uint32_t i = 1; i < a->m->thread_n; i++) {
		struct model_thread *t = &a->m->threads[i];

		if (t->goid && name_intern(a, t->comm_id, &t->comm_id) < 0)
			return -ENOMEM;
	}
	for (uint32_t i = 1; i < a->m->row_n; i++) {
		uint32_t function = a->rows[i].key.function;

		if (function && name_intern(a, function, &a->m->rows[i].comm_id) < 0)
			return -ENOMEM;
	}
	return 0;
}
