/* SPDX-License-Identifier: (LGPL-2.1 OR BSD-2-Clause) */
#pragma once
/*
 * Goroutines: made, parked, woken, run, ended, by the runtime's own functions
 * (enum wcbpf_site_kind), with the runtime's structures as userspace has found
 * them to lie. A park becomes one event when it is over, as an off-CPU interval does.
 *
 * A goroutine is named by its goid, never by its g, which is used again. What a
 * program says of one happens in the order of the runtime's own locks: it is not
 * woken before it has parked, nor run before it is woken. So entries need no lock.
 */
#include "filter.bpf.h"
#include "ring.bpf.h"
#include "slot.bpf.h"

/* of the runtime: atomicstatus without its scan bit */
#define GO_RUNNABLE 1
#define GO_RUNNING 2
#define GO_SYSCALL 3
#define GO_WAITING 4
#define GO_POINTER_MIN 4096 /* pollDesc.rg and wg hold small numbers when they hold no g */

static __always_inline const struct wcbpf_go_layout *go_layout(const struct wcbpf_site *site)
{
	__u32 key = site->layout;

	return key ? bpf_map_lookup_elem(&go_layouts, &key) : NULL;
}

static __always_inline __u64 go_word(__u64 at)
{
	__u64 v;

	return bpf_probe_read_user(&v, sizeof(v), (void *)at) ? 0 : v;
}

/* The goroutine that a thread with this g register runs; on the scheduler's stack the one it runs for. False: none. */
static __always_inline bool go_current(const struct wcbpf_go_layout *l, __u64 g, __u64 *ret_goid, __u64 *ret_stack_hi)
{
	__u64 goid = go_word(g + l->goid);

	if (!goid) {
		g = go_word(go_word(g + l->m) + l->curg);
		goid = g ? go_word(g + l->goid) : 0;
	}
	if (!goid)
		return false;
	*ret_goid = goid;
	*ret_stack_hi = go_word(g + l->stack_hi);
	return true;
}

static __always_inline struct wcbpf_goroutine_key goroutine_key_of(const struct thread *t, __u64 goid)
{
	return (struct wcbpf_goroutine_key){ .tgid = bpf_get_current_pid_tgid() >> 32, .life = life_of(t), .goid = goid };
}

static __always_inline void birth_emit(const struct wcbpf_go_layout *l, const struct thread *t, __u64 g, __u64 goid,
				       __u64 parent, __u32 flags, __u64 now)
{
	void *ring = ring_of_cpu();
	struct wcbpf_go_birth *e = ring ? bpf_ringbuf_reserve(ring, sizeof(*e), 0) : NULL;

	count(WCBPF_CNT_GO_EVENTS);
	if (!e) {
		count(WCBPF_CNT_LOST_GO_EVENTS);
		return;
	}
	head_fill(&e->head, WCBPF_EV_GO_BIRTH, sizeof(*e), now);
	e->goid = goid;
	e->parent_goid = parent ? parent : l->parent_goid ? go_word(g + l->parent_goid) : 0;
	e->start_pc = go_word(g + l->start_pc);
	e->go_pc = go_word(g + l->gopc);
	e->tid = t->tid;
	e->tgid = t->tgid;
	e->flags = flags;
	e->pad = 0;
	bpf_ringbuf_submit(e, ring_flags(ring));
}

/* Not on the stack: of that there is too little left before 6.1, with all who call each other here. */
static const struct wcbpf_goroutine blank_goroutine;

/* Takes up a goroutine in that phase. NULL: no room (counted). */
static __always_inline struct wcbpf_goroutine *goroutine_insert(const struct wcbpf_goroutine_key *key, const struct thread *t,
							  __u8 phase, __u64 since_ns)
{
	struct wcbpf_goroutine *s;

	if (bpf_map_update_elem(&goroutines, key, &blank_goroutine, BPF_ANY)) {
		count(WCBPF_CNT_GOROUTINES_FULL);
		return NULL;
	}
	s = bpf_map_lookup_elem(&goroutines, key);
	if (!s)
		return NULL;
	s->goid = key->goid;
	s->exec_id = t->exec_id;
	s->since_ns = since_ns;
	s->tgid = t->tgid;
	s->phase = phase;
	return s;
}

/* The goroutine of that g; one that is seen first is taken up, in that phase since recording began. */
static __always_inline struct wcbpf_goroutine *goroutine_find(const struct wcbpf_go_layout *l, const struct thread *t, __u64 g,
							__u64 goid, __u8 phase, __u64 now)
{
	struct wcbpf_goroutine_key key = goroutine_key_of(t, goid);
	struct wcbpf_goroutine *s = bpf_map_lookup_elem(&goroutines, &key);

	if (s)
		return s;
	s = goroutine_insert(&key, t, phase, rt.begin_ns);
	if (!s)
		return NULL;
	s->flags = WCBPF_GO_BEGAN_BEFORE;
	s->tid = t->tid;
	bpf_probe_read_user(&s->reason, 1, (void *)(g + l->wait_reason));
	birth_emit(l, t, g, goid, 0, WCBPF_GO_SEEN_FIRST, now);
	return s;
}

static __always_inline void go_interval_fill(struct wcbpf_go_interval *e, const struct wcbpf_goroutine *s, __u32 flags, __u64 now)
{
	head_fill(&e->head, WCBPF_EV_GO_INTERVAL, sizeof(*e), now);
	e->goid = s->goid;
	e->park_ns = s->since_ns;
	e->wake_ns = s->wake_ns;
	e->resource = s->resource;
	e->ustack_id = s->ustack_id;
	e->waker_goid = s->waker_goid;
	e->waker_ustack_id = s->waker_ustack_id;
	e->tid = 0;
	e->tgid = s->tgid;
	e->park_tid = s->tid;
	e->waker_tid = s->waker_tid;
	e->flags = s->flags | flags;
	e->reason = s->reason;
	e->waker_ctx = s->waker_ctx;
	e->pad[0] = e->pad[1] = 0;
}

static __always_inline void go_interval_emit(const struct wcbpf_goroutine *s, const struct thread *t, __u64 now)
{
	void *ring = ring_of_cpu();
	struct wcbpf_go_interval *e;

	if (now - s->since_ns < cfg_min_ns)
		return;
	e = ring ? bpf_ringbuf_reserve(ring, sizeof(*e), 0) : NULL;
	count(WCBPF_CNT_GO_EVENTS);
	if (!e) {
		count(WCBPF_CNT_LOST_GO_EVENTS);
		return;
	}
	go_interval_fill(e, s, s->wake_ns ? 0 : WCBPF_GO_WAKE_UNSEEN, now);
	e->tid = t->tid;
	bpf_ringbuf_submit(e, ring_flags(ring));
}

/* Begins a stretch in which it doesn't run. */
static __always_inline void goroutine_stop(struct wcbpf_goroutine *s, const struct thread *t, __u8 phase, __u32 flags, __u64 now)
{
	s->since_ns = now;
	s->wake_ns = phase == GOROUTINE_RUNNABLE ? now : 0;
	s->resource = s->ustack_id = s->waker_goid = s->waker_ustack_id = 0;
	s->tid = t->tid;
	s->kernel_tid = bpf_get_current_pid_tgid();
	s->waker_tid = 0;
	s->flags = flags;
	s->reason = s->waker_ctx = 0;
	s->phase = phase;
}

static __always_inline void go_park(const struct wcbpf_go_layout *l, struct thread *t, __u64 g, __u64 resource, __u8 reason,
				    __u64 now)
{
	__u64 goid = go_word(g + l->goid);
	struct wcbpf_goroutine *s;

	t->goid = 0;
	if (!goid)
		return;
	s = goroutine_find(l, t, g, goid, GOROUTINE_RUNNING, now);
	if (!s)
		return;
	goroutine_stop(s, t, GOROUTINE_PARKED, 0, now);
	s->reason = reason;
	s->resource = resource;
	s->ustack_id = t->park_ustack_id;
}

/*
 * The goroutine of g becomes runnable, by the thread whose g register is running_g. Several of the runtime's functions
 * may tell of one wake: the first is the one that knows. ctx: what it is if no goroutine does it. A function for the
 * verifier, see stack.bpf.h.
 */
__noinline int go_wake(__u32 layout, __u64 g, __u64 running_g, __u32 ctx)
{
	const struct wcbpf_go_layout *l = bpf_map_lookup_elem(&go_layouts, &layout);
	__u64 now = bpf_ktime_get_ns(), goid, waker = 0, stack_hi;
	const struct thread *t = thread_of((void *)bpf_get_current_task(), bpf_get_current_pid_tgid());
	struct wcbpf_goroutine *s;

	if (!l || !t)
		return 0;
	goid = go_word(g + l->goid);
	if (!goid)
		return 0;
	s = goroutine_find(l, t, g, goid, GOROUTINE_PARKED, now);
	if (!s || s->phase == GOROUTINE_RUNNABLE)
		return 0;
	if (s->phase == GOROUTINE_RUNNING) /* stopped by other means than gopark: by the garbage collector */
		goroutine_stop(s, t, GOROUTINE_RUNNABLE, WCBPF_GO_RUNNABLE_ONLY, now);
	s->phase = GOROUTINE_RUNNABLE;
	s->wake_ns = now;
	s->flags |= WCBPF_GO_WAKER_KNOWN;
	s->waker_ctx = ctx;
	/* who finds that a file is ready has no part in it */
	if (ctx == WCBPF_WAKER_NET || !go_current(l, running_g, &waker, &stack_hi))
		return 0;
	s->waker_goid = waker;
	s->waker_tid = t->tid;
	s->waker_ctx = WCBPF_WAKER_TASK;
	s->waker_ustack_id = t->park_ustack_id;
	return 0;
}

/* It runs on this thread now; on the one before no more. */
static __always_inline void goroutine_move(struct wcbpf_goroutine *s, struct thread *t, __u64 goid)
{
	__u32 tid = bpf_get_current_pid_tgid(), before = s->kernel_tid;
	struct thread *other;

	t->goid = goid;
	s->kernel_tid = tid;
	if (before == tid)
		return;
	other = before ? bpf_map_lookup_elem(&threads, &before) : NULL;
	if (other && other->goid == goid && other->tgid == t->tgid)
		other->goid = 0;
}

static __always_inline void go_run(const struct wcbpf_go_layout *l, struct thread *t, __u64 g, __u64 now)
{
	__u64 goid = go_word(g + l->goid);
	struct wcbpf_goroutine *s;

	if (!goid)
		return;
	s = goroutine_find(l, t, g, goid, GOROUTINE_RUNNING, now);
	if (!s)
		return;
	if (s->phase != GOROUTINE_RUNNING)
		go_interval_emit(s, t, now);
	s->phase = GOROUTINE_RUNNING;
	s->flags = 0;
	s->tid = t->tid;
	goroutine_move(s, t, goid);
}

/* It can't go on though it could run: it gave way, or comes out of a system call and finds no processor. */
static __always_inline void go_yield(const struct wcbpf_go_layout *l, struct thread *t, __u64 g, __u32 flags, __u64 now)
{
	__u64 goid = go_word(g + l->goid);
	struct wcbpf_goroutine *s;

	if (!goid)
		return;
	s = goroutine_find(l, t, g, goid, GOROUTINE_RUNNING, now);
	if (s && s->phase == GOROUTINE_RUNNING)
		goroutine_stop(s, t, GOROUTINE_RUNNABLE, flags, now);
	if (t->goid == goid)
		t->goid = 0;
}

static __always_inline void go_status(const struct wcbpf_go_layout *l, __u32 layout, struct thread *t, __u64 running_g, __u64 g,
				      __u32 from, __u32 to, __u64 now)
{
	if (from == GO_WAITING && to == GO_RUNNABLE)
		go_wake(layout, g, running_g, WCBPF_WAKER_TIMER);
	else if (from == GO_RUNNABLE && to == GO_RUNNING)
		go_run(l, t, g, now);
	else if (from == GO_RUNNING && to == GO_RUNNABLE)
		go_yield(l, t, g, WCBPF_GO_RUNNABLE_ONLY, now);
	else if (from == GO_SYSCALL && to == GO_RUNNABLE)
		go_yield(l, t, g, WCBPF_GO_SYSCALL, now);
}

static __always_inline void go_born(const struct wcbpf_go_layout *l, const struct thread *t, __u64 running_g, __u64 g, __u64 now)
{
	__u64 goid = go_word(g + l->goid), parent = 0, stack_hi;
	struct wcbpf_goroutine_key key = goroutine_key_of(t, goid);
	struct wcbpf_goroutine *s;

	if (!goid)
		return;
	go_current(l, running_g, &parent, &stack_hi);
	birth_emit(l, t, g, goid, parent, 0, now);
	s = goroutine_insert(&key, t, GOROUTINE_RUNNABLE, now);
	if (!s)
		return;
	s->tid = t->tid;
	s->wake_ns = now;
	s->flags = WCBPF_GO_RUNNABLE_ONLY | (parent ? WCBPF_GO_WAKER_KNOWN : 0);
	s->waker_goid = parent;
	s->waker_tid = parent ? t->tid : 0;
	s->waker_ctx = parent ? WCBPF_WAKER_TASK : WCBPF_WAKER_UNKNOWN;
}

static __always_inline void go_death(const struct wcbpf_go_layout *l, struct thread *t, __u64 g, __u64 now)
{
	__u64 goid = go_word(g + l->goid);
	struct wcbpf_goroutine_key key = goroutine_key_of(t, goid);
	void *ring = ring_of_cpu();
	struct wcbpf_go_death *e;

	if (!goid)
		return;
	t->goid = 0;
	bpf_map_delete_elem(&goroutines, &key);
	e = ring ? bpf_ringbuf_reserve(ring, sizeof(*e), 0) : NULL;
	count(WCBPF_CNT_GO_EVENTS);
	if (!e) {
		count(WCBPF_CNT_LOST_GO_EVENTS);
		return;
	}
	head_fill(&e->head, WCBPF_EV_GO_DEATH, sizeof(*e), now);
	e->goid = goid;
	e->tid = t->tid;
	e->tgid = t->tgid;
	bpf_ringbuf_submit(e, ring_flags(ring));
}

/*
 * A file is ready. Its pollDesc has the g that waits for reading and that for writing, in two words whose place
 * differs by version; gopark was given the word's address as what is waited on, so it is known which is one.
 */
static __always_inline void go_netready(const struct wcbpf_go_layout *l, __u32 layout, const struct thread *t, __u64 running_g,
					__u64 desc)
{
	for (int at = 16; at <= 48; at += 8) {
		__u64 g = go_word(desc + at), goid = g >= GO_POINTER_MIN ? go_word(g + l->goid) : 0;
		struct wcbpf_goroutine_key key = goroutine_key_of(t, goid);
		struct wcbpf_goroutine *s = goid ? bpf_map_lookup_elem(&goroutines, &key) : NULL;

		if (s && s->phase == GOROUTINE_PARKED && s->resource == desc + at)
			go_wake(layout, g, running_g, WCBPF_WAKER_NET);
	}
}

/* Of the many changes of a status only that which wakes. */
static __always_inline bool go_takes_stack(__u8 kind, __u32 from, __u32 to)
{
	return kind != WCBPF_SITE_GO_STATUS || (from == GO_WAITING && to == GO_RUNNABLE);
}

/* A hit in the runtime: g is the thread's, the rest the function's arguments. A function for the verifier. */
__noinline int go_site(__u32 site_number, __u64 g, __u64 ax, __u64 bx, __u64 cx)
{
	struct wcbpf_site *site = bpf_map_lookup_elem(&sites, &site_number);
	const struct wcbpf_go_layout *l = site ? go_layout(site) : NULL;
	__u64 now = bpf_ktime_get_ns();
	struct thread *t = thread_of((void *)bpf_get_current_task(), bpf_get_current_pid_tgid());

	if (!site || !l || !t)
		return 0;
	switch (site->kind) {
	case WCBPF_SITE_GO_PARK:
		go_park(l, t, g, bx, cx, now);
		break;
	case WCBPF_SITE_GO_READY:
		go_wake(site->layout, ax, g, WCBPF_WAKER_TIMER);
		break;
	case WCBPF_SITE_GO_STATUS:
		go_status(l, site->layout, t, g, ax, bx, cx, now);
		break;
	case WCBPF_SITE_GO_EXECUTE:
		go_run(l, t, ax, now);
		break;
	case WCBPF_SITE_GO_BORN:
		go_born(l, t, g, ax, now);
		break;
	case WCBPF_SITE_GO_DEATH:
		go_death(l, t, ax, now);
		break;
	case WCBPF_SITE_GO_NETREADY:
		go_netready(l, site->layout, t, g, bx);
		break;
	}
	return 0;
}

/* A goroutine that does not run when recording, or its process, ends. */
static __always_inline void goroutine_close(struct seq_file *seq, const struct wcbpf_goroutine_key *at, const struct wcbpf_goroutine *s)
{
	struct wcbpf_goroutine_key key = *at;
	struct wcbpf_go_interval e;

	if ((rt.go_close_tgid && s->tgid != rt.go_close_tgid) || (rt.go_close_exec_id && s->exec_id >= rt.go_close_exec_id))
		return;
	if (s->phase != GOROUTINE_RUNNING && s->since_ns < rt.go_close_ns) {
		go_interval_fill(&e, s, rt.go_close_flags, rt.go_close_ns);
		e.tid = s->tid; /* no thread runs it now */
		bpf_seq_write(seq, &e, sizeof(e));
	}
	if (rt.go_close_tgid)
		bpf_map_delete_elem(&goroutines, &key);
}
