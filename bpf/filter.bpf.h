/* SPDX-License-Identifier: (LGPL-2.1 OR BSD-2-Clause) */
#pragma once
/* Is this task traced? Who is it, in the user's PID namespace? */
#include "compat.bpf.h"
#include "config.bpf.h"
#include "maps.bpf.h"

/* A pid as the user sees it; 0: not visible from the user's namespace. */
static __always_inline __u32 ns_pid(struct task_struct *task)
{
	struct pid *pid = BPF_CORE_READ(task, thread_pid);
	struct upid up;

	if (!rt.pidns_level) /* everything is visible from the initial namespace */
		return BPF_CORE_READ(task, pid);
	if (!pid || BPF_CORE_READ(pid, level) < rt.pidns_level)
		return 0;
	if (bpf_probe_read_kernel(&up, sizeof(up), (char *)pid + bpf_core_field_offset(pid->numbers) +
				  rt.pidns_level * sizeof(up)))
		return 0;
	return (__u64)up.ns == rt.pidns ? up.nr : 0;
}

static __always_inline __u32 ns_tgid(struct task_struct *task)
{
	if (!rt.pidns_level)
		return BPF_CORE_READ(task, tgid);
	return ns_pid(BPF_CORE_READ(task, group_leader));
}

/* In the cgroup, or in one below it (v2 hierarchy). */
static __always_inline bool in_cgroup(struct task_struct *task)
{
	struct cgroup *c = BPF_CORE_READ(task, cgroups, dfl_cgrp);

	for (int i = 0; i < 16 && c; i++) {
		if (BPF_CORE_READ(c, kn, id) == cfg_cgroup_id)
			return true;
		c = (struct cgroup *)BPF_CORE_READ(c, self.parent);
	}
	return false;
}

/* For a task that is not in threads: should it be? */
static __always_inline bool in_scope(struct task_struct *task, __u32 tid, __u32 tgid)
{
	if (!tid || tgid == rt.self_tgid)
		return false;
	switch (cfg_scope) {
	case CFG_SCOPE_ALL:
		return true;
	case CFG_SCOPE_CGROUP:
		return in_cgroup(task);
	case CFG_SCOPE_PIDS:
		return bpf_map_lookup_elem(&targets, &tgid);
	}
	return false;
}

/*
 * A thread's entry, which no other program finds yet: thread_show() makes it theirs, and from then on its state and
 * times are theirs alone. NULL: the map is full (counted) or the task is not visible to the user.
 */
static __always_inline struct thread *thread_prepare(struct task_struct *task, __u32 tid, __u64 now, __u8 phase,
						    __u64 flags)
{
	__u32 zero = 0, user_tid = ns_pid(task);
	struct thread *t = bpf_map_lookup_elem(&blank, &zero);

	if (!t || !user_tid)
		return NULL;
	if (bpf_map_update_elem(&threads, &tid, t, flags)) {
		if (flags != BPF_NOEXIST || !bpf_map_lookup_elem(&threads, &tid))
			count(WCBPF_CNT_THREADS_FULL);
		return NULL;
	}
	t = bpf_map_lookup_elem(&threads, &tid);
	if (!t)
		return NULL;
	t->start_ns = BPF_CORE_READ(task, group_leader, start_boottime);
	t->begin_ns = t->last_ns = now;
	t->exec_ns = BPF_CORE_READ(task, se.sum_exec_runtime);
	t->exec_id = BPF_CORE_READ(task, self_exec_id);
	t->tid = user_tid;
	t->tgid = ns_tgid(task);
	t->kthread = !!(BPF_CORE_READ(task, flags) & PF_KTHREAD);
	t->syscall = -1;
	t->phase = phase;
	return t;
}

static __always_inline void thread_show(struct thread *t, struct task_struct *task, __u32 tid)
{
	barrier();
	t->task = (__u64)task; /* last: until then thread_of() doesn't find it */
	bpf_map_update_elem(&tids_of_tasks, &t->task, &tid, BPF_ANY);
}

static __always_inline struct thread *thread_insert(struct task_struct *task, __u32 tid, __u64 now, __u8 phase,
						    __u64 flags)
{
	struct thread *t = thread_prepare(task, tid, now, phase, flags);

	if (t)
		thread_show(t, task, tid);
	return t;
}

/* The traced thread that this task is, or NULL. */
static __always_inline struct thread *thread_of(struct task_struct *task, __u32 tid)
{
	struct thread *t = bpf_map_lookup_elem(&threads, &tid);

	return t && t->task == (__u64)task ? t : NULL;
}
