/* SPDX-License-Identifier: (LGPL-2.1 OR BSD-2-Clause) */
#pragma once
/*
 * The task iterator: learns facts about wcbpf itself, takes up the threads that
 * run already, tells what is open meanwhile, and closes it at the end. What it writes goes through
 * its own file, so no ring can be too small. A task may be shown twice (when
 * the output buffer was full), so every step can be repeated.
 */
#include "lifecycle.bpf.h"
#include "offcpu.bpf.h"

static __always_inline void iter_learn(struct task_struct *task)
{
	__u32 self = bpf_get_current_pid_tgid() >> 32;
	struct pid *pid;
	struct upid up;

	rt.self_tgid = self;
	rt.learned_ns = bpf_ktime_get_ns();
	if ((__u32)task->pid != self)
		return;
	pid = BPF_CORE_READ(task, thread_pid);
	rt.pidns_level = BPF_CORE_READ(pid, level);
	if (!bpf_probe_read_kernel(&up, sizeof(up), (char *)pid + bpf_core_field_offset(pid->numbers) +
				   rt.pidns_level * sizeof(up)))
		rt.pidns = (__u64)up.ns;
	for (int i = 0; i < WCBPF_FOPS_MAX; i++) {
		struct file *file = rt.learn_fds[i] >= 0 ? file_of_fd(task, rt.learn_fds[i], true) : NULL;

		if (file)
			rt.fops[i] = (__u64)BPF_CORE_READ(file, f_op);
	}
}

#define ANCESTORS_MAX 24

/* One of the named processes, or (if children are followed) a descendant of one. */
static __always_inline bool is_wanted_process(struct task_struct *task)
{
	for (int i = 0; i < ANCESTORS_MAX; i++) {
		__u32 id = ns_tgid(task);

		if (id && bpf_map_lookup_elem(&wanted, &id))
			return true;
		if (!cfg_inherit || BPF_CORE_READ(task, tgid) <= 1)
			return false;
		task = BPF_CORE_READ(task, real_parent);
		if (!task)
			return false;
	}
	return false;
}

static __always_inline bool seed_wanted(struct task_struct *task)
{
	__u32 tid;

	if ((__u32)task->tgid == rt.self_tgid)
		return false;
	switch (cfg_scope) {
	case CFG_SCOPE_PIDS:
		return is_wanted_process(task);
	case CFG_SCOPE_TIDS:
		tid = ns_pid(task);
		return tid && bpf_map_lookup_elem(&wanted, &tid);
	}
	return in_scope(task, task->pid, task->tgid);
}

/* Puts a thread that is off the CPU into the state its switch-out would have left. */
static __always_inline void seed_offcpu(struct scratch *s, struct thread *t, struct task_struct *task,
					__u32 state, bool has_regs, __u64 now)
{
	__u16 class;

	t->out_ns = rt.begin_ns;
	t->flags = WCBPF_IV_BEGAN_BEFORE;
	t->cpu_out = BPF_CORE_READ(task, wake_cpu);
	t->timeout_ns = -1;
	t->state = state;
	if (!state)
		t->flags |= WCBPF_IV_PREEMPTED | WCBPF_IV_WAKE_BEFORE;
	t->seq = 1;
	if (t->kthread) {
		t->flags |= WCBPF_IV_KTHREAD;
	} else if (has_regs) {
		const struct regs *r = &s->regs;

		t->syscall = REGS_SYSCALL(r);
		t->call_ip = REGS_IP(r);
		t->call_sp = REGS_SP(r);
		regs_args(r, t->args);
		if (syscall_class(t->syscall) & WCBPF_SC_WAITV)
			t->args[4] = t->args[5] = 0;
		class = syscall_class(t->syscall);
		if (state && class & (WCBPF_SC_FUTEX | WCBPF_SC_FUTEX2))
			t->futex_pending = 1;
		if (state && class & WCBPF_SC_FD_MASK && (class & WCBPF_SC_FD_MASK) <= 6)
			t->resource_id = resource_of_fd(&s->resource, t, task,
							t->args[((class & WCBPF_SC_FD_MASK) - 1) & 7], now, true);
	}
}

/*
 * real_parent is the thread that forked the process, another of that one's process when it has ended, or a reaper
 * when they all have: only the process is told.
 */
static __always_inline void seed_parent(struct wcbpf_seed *e, struct task_struct *task)
{
	struct task_struct *parent = BPF_CORE_READ(task, group_leader, real_parent, group_leader);

	if (!parent)
		return;
	e->parent_tgid = ns_tgid(parent);
	e->parent_start_ns = BPF_CORE_READ(parent, start_boottime);
}

static __always_inline int iter_seed(struct seq_file *seq, struct task_struct *task)
{
	struct wcbpf_seed e = {};
	__u32 tid = task->pid, tgid = task->tgid, state;
	__u64 now = bpf_ktime_get_ns();
	struct scratch *s = scratch_get(SCRATCH_ITER);
	bool has_regs = false;
	struct thread *t;
	__u8 one = 1;

	if (!s || !tid || !seed_wanted(task) || task->exit_state)
		return 0;
	if (cfg_scope == CFG_SCOPE_PIDS)
		bpf_map_update_elem(&targets, &tgid, &one, BPF_ANY);
	t = thread_of(task, tid);
	if (!t) {
		/*
		 * Not seen by the switch programs before it is whole: one that came and went in between would have its
		 * times counted from its switch-out, and again from the beginning of the recording.
		 */
		t = thread_prepare(task, tid, rt.begin_ns, PHASE_ONCPU, BPF_NOEXIST);
		if (!t)
			return 0;
		t->seeded = !cfg_hold;
		t->held = cfg_hold;
		state = compat_task_state(task, true);
		if (!t->kthread)
			has_regs = compat_user_regs(task, true, &s->regs);
		if (!compat_task_on_cpu(task)) {
			if (compat_task_queued(task, true))
				state = 0;
			seed_offcpu(s, t, task, state, has_regs, now);
			if (has_regs && cfg_ustack)
				t->ustack_id = hash_word(hash_word(0x73656564, tid), now) | 1;
			/* unless it came back while we looked; what that leaves undone, its next switch-out mends */
			if (task->se.sum_exec_runtime == t->exec_ns && !compat_task_on_cpu(task))
				t->phase = PHASE_OFF;
		}
		thread_show(t, task, tid);
		t->exec_id = BPF_CORE_READ(task, self_exec_id); /* an exec in between found no thread */
		if (task->exit_state && !compat_task_on_cpu(task)) { /* nor did its last switch */
			bpf_map_delete_elem(&tids_of_tasks, &t->task);
			bpf_map_delete_elem(&threads, &tid);
			return 0;
		}
	} else if (!t->seeded) {
		return 0; /* born since: its fork event tells of it */
	} else if (t->phase != PHASE_OFF) {
		state = 0;
	} else {
		state = t->state;
		if (!t->kthread)
			has_regs = compat_user_regs(task, true, &s->regs);
	}
	head_fill(&e.head, WCBPF_EV_SEED, sizeof(e), now);
	e.start_ns = t->start_ns;
	if (t->seeded && t->phase == PHASE_OFF && t->flags & WCBPF_IV_BEGAN_BEFORE)
		e.ustack_id = t->ustack_id;
	e.exec_id = BPF_CORE_READ(task, self_exec_id);
	e.life = life_of(t);
	e.kernel_tgid = tgid;
	e.switch_n = BPF_CORE_READ(task, nvcsw) + BPF_CORE_READ(task, nivcsw);
	e.tid = t->tid;
	e.tgid = t->tgid;
	e.state = state;
	e.syscall = t->syscall;
	seed_parent(&e, task);
	if (has_regs)
		regs_dwarf(&s->regs, e.regs);
	if (t->syscall >= 0)
		__builtin_memcpy(e.args, t->args, sizeof(e.args));
	bpf_probe_read_kernel_str(e.comm, sizeof(e.comm), &task->comm);
	bpf_seq_write(seq, &e, sizeof(e));
	return 0;
}

/* The interval of a thread that is off the CPU when recording ends; gives when it was woken, 0: not yet. */
static __always_inline __u64 close_interval(struct seq_file *seq, struct thread *t, struct task_struct *task, __u64 end)
{
	struct scratch *s = scratch_get(SCRATCH_ITER);
	struct wcbpf_interval *e;
	__u64 wake, kstack_id;

	open_settle(t, end, &wake);
	if (!s)
		return wake;
	/* once it has run again, its stack is another wait's */
	kstack_id = 0;
	if (task->se.sum_exec_runtime == t->exec_ns && !compat_task_on_cpu(task))
		kstack_id = stack_kernel_read(&s->stack, SCRATCH_ITER, task, end);
	if (kstack_id)
		bpf_seq_write(seq, &s->stack, STACK_SIZE_FIXED);
	else
		t->flags |= WCBPF_IV_KSTACK_FAILED;
	e = &s->interval;
	interval_fill(e, t, wake, end);
	e->kstack_id = kstack_id;
	bpf_probe_read_kernel_str(e->comm, sizeof(e->comm), &task->comm);
	bpf_seq_write(seq, e, sizeof(*e));
	return wake;
}

/* Books the time of an interval that is open at end, made runnable at wake (0: not yet). */
static __always_inline void open_book(struct wcbpf_thread_totals *e, const struct thread *t, __u64 end, __u64 wake)
{
	e->interval_n++;
	if (!wake) {
		e->blocked_ns += end - t->out_ns;
	} else {
		e->blocked_ns += wake - t->out_ns;
		e->runnable_ns += end - wake;
	}
}

/* A thread that the task iterator did not find: it has ended since, or its end found no room in the ring. */
static __always_inline void leftover_close(struct seq_file *seq, struct thread *t)
{
	struct wcbpf_thread_totals e = {};
	__u64 end = t->last_ns, wake;

	if (t->phase != PHASE_DEAD && rt.end_ns > end)
		end = rt.end_ns;
	totals_fill(&e, t, end);
	if (t->phase == PHASE_ONCPU) {
		e.oncpu_ns += end - t->last_ns;
	} else if (t->closed_interval) {
		open_settle(t, end, &wake);
		open_book(&e, t, end, wake);
	} else if (t->phase != PHASE_DEAD) {
		e.interval_n++;
		e.lost_n++;
		e.lost_ns += end - t->last_ns;
		count(WCBPF_CNT_UNBALANCED);
	}
	bpf_seq_write(seq, &e, sizeof(e));
}

static __always_inline int iter_close(struct seq_file *seq, struct task_struct *task)
{
	struct wcbpf_thread_totals e = {};
	struct thread *t = thread_of(task, task->pid);
	__u64 end = rt.end_ns, wake;

	if (!t || t->phase == PHASE_DEAD || t->held)
		return 0;
	t->closed = 1;
	if (t->last_ns > end) /* switched after the end was taken, before the programs saw it */
		end = t->last_ns;
	totals_fill(&e, t, end);
	e.open = 1;
	e.cpu_allowed_n = BPF_CORE_READ(task, nr_cpus_allowed);
	if (t->phase == PHASE_ONCPU) {
		e.oncpu_ns += end - t->last_ns;
	} else {
		if (t->closed_interval)
			open_settle(t, end, &wake);
		else
			wake = close_interval(seq, t, task, end);
		open_book(&e, t, end, wake);
	}
	bpf_probe_read_kernel_str(e.comm, sizeof(e.comm), &task->comm);
	bpf_seq_write(seq, &e, sizeof(e));
	return 0;
}

/*
 * What the thread waits in while recording goes on. Of a copy: its interval is not over, and will come whole. The time
 * was taken before the look, so whoever has been off the CPU since before it was so at that time.
 */
static __always_inline int iter_look(struct seq_file *seq, struct task_struct *task)
{
	struct scratch *s = scratch_get(SCRATCH_ITER);
	struct thread *t = thread_of(task, task->pid), *open;
	__u64 at = rt.look_ns;

	if (!s || !t || t->held)
		return 0;
	open = &s->open;
	__builtin_memcpy(open, t, sizeof(*open));
	/* It may have come back while it was copied. */
	if (open->seq != t->seq || open->phase != t->phase || open->out_ns != t->out_ns || open->last_ns != t->last_ns)
		return 0;
	if ((open->phase != PHASE_OFF && open->phase != PHASE_NEW) || open->last_ns > at || open->closed_interval)
		return 0;
	close_interval(seq, open, task, at);
	return 0;
}
