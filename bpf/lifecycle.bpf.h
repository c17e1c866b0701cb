/* SPDX-License-Identifier: (LGPL-2.1 OR BSD-2-Clause) */
#pragma once
/* Threads and processes come, change program, and go. These events have a ring of their own. */
#include "filter.bpf.h"
#include "ring.bpf.h"

static __always_inline void totals_fill(struct wcbpf_thread_totals *e, const struct thread *t, __u64 end_ns)
{
	head_fill(&e->head, WCBPF_EV_THREAD, sizeof(*e), end_ns);
	e->tid = t->tid;
	e->tgid = t->tgid;
	e->start_ns = t->start_ns;
	e->begin_ns = t->begin_ns;
	e->end_ns = end_ns;
	e->oncpu_ns = t->oncpu_ns;
	e->runnable_ns = t->runnable_ns;
	e->blocked_ns = t->blocked_ns;
	e->lost_ns = t->lost_ns;
	e->interval_n = t->interval_n;
	e->lost_n = t->lost_n;
	e->below_min_n = t->below_min_n;
	e->seeded = t->seeded;
	e->open = 0;
	e->voluntary_n = t->voluntary_n;
	e->involuntary_n = t->involuntary_n;
	e->cpu_allowed_n = 0;
}

static __always_inline bool totals_emit(const struct thread *t, struct task_struct *task, __u64 now)
{
	struct wcbpf_thread_totals *e = bpf_ringbuf_reserve(&lifecycle, sizeof(*e), 0);

	if (!e)
		return false;
	totals_fill(e, t, now);
	e->cpu_allowed_n = BPF_CORE_READ(task, nr_cpus_allowed);
	bpf_probe_read_kernel_str(e->comm, sizeof(e->comm), &task->comm);
	bpf_ringbuf_submit(e, ring_flags(&lifecycle));
	return true;
}

static __always_inline __u64 switches_of(struct task_struct *task)
{
	return BPF_CORE_READ(task, nvcsw) + BPF_CORE_READ(task, nivcsw);
}

static __always_inline void thread_clear(struct thread *t, struct task_struct *task, __u64 now)
{
	t->oncpu_ns = t->runnable_ns = t->blocked_ns = t->lost_ns = 0;
	t->interval_n = t->lost_n = t->below_min_n = t->voluntary_n = t->involuntary_n = t->seq = 0;
	t->exec_ns = BPF_CORE_READ(task, se.sum_exec_runtime);
	t->begin_ns = t->last_ns = now;
	t->seeded = t->held = 0;
}

/*
 * Its times count from now on; gives when that was. Newer kernels may preempt it here, and what the switch programs
 * booked in between would count twice, or not: then once more.
 */
static __always_inline __u64 thread_restart(struct thread *t, struct task_struct *task, __u64 now)
{
	for (int i = 0; i < 4; i++) {
		__u64 n = switches_of(task);

		thread_clear(t, task, now);
		barrier();
		if (switches_of(task) == n)
			break;
		now = bpf_ktime_get_ns();
	}
	return now;
}

/*
 * A thread has left the CPU for the last time. If the ring is full its entry
 * stays and is read when recording ends, so its times are not lost.
 */
static __always_inline void thread_end(struct thread *t, struct task_struct *task, __u32 tid, __u64 now)
{
	t->phase = PHASE_DEAD;
	t->last_ns = now;
	bpf_map_delete_elem(&tids_of_tasks, &t->task);
	if (totals_emit(t, task, now))
		bpf_map_delete_elem(&threads, &tid);
}

static __always_inline bool fork_in_scope(struct task_struct *parent, struct task_struct *child)
{
	__u32 tid = BPF_CORE_READ(parent, pid);
	bool thread = BPF_CORE_READ(child, tgid) == BPF_CORE_READ(parent, tgid);

	if (cfg_scope == CFG_SCOPE_TIDS)
		return false;
	if (cfg_scope == CFG_SCOPE_ALL || cfg_scope == CFG_SCOPE_CGROUP)
		return in_scope(child, BPF_CORE_READ(child, pid), BPF_CORE_READ(child, tgid));
	if (!thread && !cfg_inherit)
		return false;
	return thread_of(parent, tid) || in_scope(child, BPF_CORE_READ(child, pid), BPF_CORE_READ(parent, tgid));
}

/* A new process has its parent's mappings; userspace follows, but it may run before that. */
static __always_inline void tables_inherit(__u32 parent, __u32 child)
{
	struct wcbpf_proc *p = bpf_map_lookup_elem(&procs, &parent), copy;

	if (!p) {
		bpf_map_delete_elem(&procs, &child);
		return;
	}
	copy = *p;
	bpf_map_update_elem(&procs, &child, &copy, BPF_ANY);
}

static __always_inline void on_fork(struct task_struct *parent, struct task_struct *child)
{
	__u32 tid = BPF_CORE_READ(child, pid), tgid = BPF_CORE_READ(child, tgid);
	__u64 now = bpf_ktime_get_ns();
	struct thread *t, *by;
	struct wcbpf_fork *e;
	__u8 one = 1;

	if (!fork_in_scope(parent, child))
		return;
	if (cfg_scope == CFG_SCOPE_PIDS && tid == tgid)
		bpf_map_update_elem(&targets, &tgid, &one, BPF_ANY);
	t = bpf_map_lookup_elem(&threads, &tid);
	if (t && t->phase == PHASE_DEAD) /* totals that found no room, and now their place is needed */
		count(WCBPF_CNT_LOST_LIFECYCLE);
	t = thread_insert(child, tid, now, PHASE_NEW, BPF_ANY);
	if (!t)
		return;
	if (tid == tgid)
		tables_inherit(ns_tgid(parent), t->tgid);
	e = bpf_ringbuf_reserve(&lifecycle, sizeof(*e), 0);
	if (!e) {
		count(WCBPF_CNT_LOST_LIFECYCLE);
		return;
	}
	head_fill(&e->head, WCBPF_EV_FORK, sizeof(*e), now);
	e->parent_tid = ns_pid(parent);
	e->parent_tgid = ns_tgid(parent);
	e->tid = t->tid;
	e->tgid = t->tgid;
	e->start_ns = t->start_ns;
	e->exec_id = BPF_CORE_READ(child, self_exec_id);
	by = thread_of(parent, BPF_CORE_READ(parent, pid));
	e->goid = by ? by->goid : 0;
	bpf_probe_read_kernel_str(e->comm, sizeof(e->comm), &child->comm);
	bpf_ringbuf_submit(e, rt.fork_wakes && tid == tgid ? BPF_RB_FORCE_WAKEUP : ring_flags(&lifecycle));
}

/*
 * execve by a thread that is no leader: it takes over the leader's tid, whose
 * thread is gone. Three lives, none overlapping another of the same number.
 */
static __always_inline struct thread *exec_take_over(struct task_struct *task, __u32 old_tid, __u32 tid, __u64 now)
{
	struct thread *leader = bpf_map_lookup_elem(&threads, &tid), *t;

	if (leader && leader->task != (__u64)task) {
		/* what it did since its last switch that was seen under this number is unknown */
		if (leader->phase != PHASE_DEAD && now > leader->last_ns)
			leader->lost_ns += now - leader->last_ns;
		thread_end(leader, task, tid, now);
	}
	t = bpf_map_lookup_elem(&threads, &old_tid);
	if (!t || t->task != (__u64)task)
		return NULL;
	/* under its old number it ends here; under the new one it begins */
	if (now > t->last_ns)
		t->oncpu_ns += now - t->last_ns;
	if (!totals_emit(t, task, now))
		count(WCBPF_CNT_LOST_LIFECYCLE);
	thread_restart(t, task, now);
	t->tid = t->tgid;
	bpf_map_update_elem(&threads, &tid, t, BPF_ANY);
	bpf_map_update_elem(&tids_of_tasks, &t->task, &tid, BPF_ANY);
	bpf_map_delete_elem(&threads, &old_tid);
	return bpf_map_lookup_elem(&threads, &tid);
}

#define ARGV_SMALL 192
#define ARGV_MEDIUM 1024
static __always_inline void exec_send(const struct wcbpf_exec *head, __u64 argv, __u32 total, const __u32 room)
{
	struct wcbpf_exec *e = bpf_ringbuf_reserve(&lifecycle, __builtin_offsetof(struct wcbpf_exec, argv) + room, 0);
	__u32 n = total < room ? total : room;

	if (!e) {
		count(WCBPF_CNT_LOST_LIFECYCLE);
		return;
	}
	__builtin_memcpy(e, head, __builtin_offsetof(struct wcbpf_exec, argv));
	e->head.size = __builtin_offsetof(struct wcbpf_exec, argv) + room;
	e->argv_len = 0;
	if (n <= room && !bpf_probe_read_user(e->argv, n, (void *)argv))
		e->argv_len = n;
	bpf_ringbuf_submit(e, ring_flags(&lifecycle));
}

struct exec_head { /* a wcbpf_exec without argv, small enough for the stack */
	__u64 words[__builtin_offsetof(struct wcbpf_exec, argv) / 8];
};

static __always_inline void on_exec(struct task_struct *task, __u32 old_tid)
{
	__u32 tid = BPF_CORE_READ(task, pid);
	__u64 now = bpf_ktime_get_ns(), start;
	struct exec_head room = {};
	struct wcbpf_exec *head = (void *)&room;
	struct thread *t = bpf_map_lookup_elem(&threads, &old_tid);
	__u32 user_old_tid = t ? t->tid : 0;

	t = old_tid == tid ? thread_of(task, tid) : exec_take_over(task, old_tid, tid, now);
	if (!t)
		return;
	t->exec_id = BPF_CORE_READ(task, self_exec_id);
	t->goid = 0;
	if (t->held)
		now = thread_restart(t, task, now);
	head_fill(&head->head, WCBPF_EV_EXEC, 0, now);
	head->tid = t->tid;
	head->tgid = t->tgid;
	head->old_tid = user_old_tid;
	start = BPF_CORE_READ(task, mm, arg_start);
	head->exec_id = t->exec_id;
	head->argv_total = BPF_CORE_READ(task, mm, arg_end) - start;
	bpf_probe_read_kernel_str(head->comm, sizeof(head->comm), &task->comm);
	if (head->argv_total <= ARGV_SMALL)
		exec_send(head, start, head->argv_total, ARGV_SMALL);
	else if (head->argv_total <= ARGV_MEDIUM)
		exec_send(head, start, head->argv_total, ARGV_MEDIUM);
	else
		exec_send(head, start, head->argv_total, WCBPF_ARGV_MAX);
}

static __always_inline void on_exit(struct task_struct *task)
{
	__u32 tid = BPF_CORE_READ(task, pid);
	struct signal_struct *sig = BPF_CORE_READ(task, signal);
	struct thread *t = thread_of(task, tid);
	__u32 tgid = BPF_CORE_READ(task, tgid);
	struct wcbpf_exit *e;
	bool last;

	last = BPF_CORE_READ(sig, live.counter) == 0;
	/* also for a thread that could not be followed: its number may be a stranger's next. Two may see 0: one deletes. */
	if (last && cfg_scope == CFG_SCOPE_PIDS)
		last = !bpf_map_delete_elem(&targets, &tgid);
	if (!t)
		return;
	t->exiting = 1;
	e = bpf_ringbuf_reserve(&lifecycle, sizeof(*e), 0);
	if (!e) {
		count(WCBPF_CNT_LOST_LIFECYCLE);
		return;
	}
	head_fill(&e->head, WCBPF_EV_EXIT, sizeof(*e), bpf_ktime_get_ns());
	e->tid = t->tid;
	e->tgid = t->tgid;
	e->group_dead = last;
	/* what wait(2) will say: of the whole group if it was told to exit, else of its leader */
	if (BPF_CORE_READ(sig, flags) & SIGNAL_GROUP_EXIT)
		e->exit_code = BPF_CORE_READ(sig, group_exit_code);
	else
		e->exit_code = BPF_CORE_READ(task, group_leader, exit_code);
	bpf_ringbuf_submit(e, ring_flags(&lifecycle));
}
