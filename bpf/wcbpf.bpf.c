// SPDX-License-Identifier: (LGPL-2.1 OR BSD-2-Clause)
/*
 * Entry points only. Scheduler programs come twice: as tp_btf (typed task
 * pointers, so plain loads and bpf_get_task_stack()), and as raw_tp for hosts
 * that refuse BTF tracing programs; userspace loads one set.
 */
#include "vmlinux.h"
#include <bpf/bpf_core_read.h>
#include <bpf/bpf_endian.h>
#include <bpf/bpf_helpers.h>
#include <bpf/bpf_tracing.h>

#include "wire.h"
#include "compat.bpf.h"
#include "config.bpf.h"
#include "maps.bpf.h"
#include "ring.bpf.h"
#include "filter.bpf.h"
#include "stack.bpf.h"
#include "resource.bpf.h"
#include "wakeup.bpf.h"
#include "offcpu.bpf.h"
#include "lifecycle.bpf.h"
#include "iter.bpf.h"
#include "oncpu.bpf.h"
#include "slot.bpf.h"
#include "go.bpf.h"
#include "op.bpf.h"

/* Learns what rt.same_call_mask and rt.hardirq_mask are made of: at the switches of one thread of ours. */
static __always_inline void calibrate(struct task_struct *prev, const bool btf)
{
	__u32 n = rt.calibration_n;
	__s64 count = compat_preempt_count(btf);

	if (count >= 0)
		rt.task_bits |= count;
	if ((__u32)FIELD(btf, prev, tgid) != rt.self_tgid || ns_pid(prev) != rt.calibrating || n >= 16)
		return;
	if (compat_task_queued(prev, btf))
		return;
	barrier_var(n); /* or the mask goes, and 5.10 does not see that n is below 16 */
	rt.calibration_flags[n & 15] = BPF_CORE_READ(prev, thread_info.flags);
	rt.calibration_n = n + 1;
}

/* thread_of(), also between an execve's taking over of the leader's tid and the report of the exec. */
static __always_inline struct thread *thread_find(struct task_struct *task, __u32 tid, const bool btf)
{
	struct thread *t = thread_of(task, tid);
	__u64 address = (__u64)task;
	__u32 *key;

	if (t || tid != (__u32)FIELD(btf, task, tgid) || !in_scope(task, tid, tid))
		return t;
	key = bpf_map_lookup_elem(&tids_of_tasks, &address);
	return key ? thread_of(task, *key) : NULL;
}

static __always_inline int on_switch(void *ctx, bool preempt, struct task_struct *prev, struct task_struct *next,
				     __u32 state, const bool btf)
{
	__u32 prev_tid = FIELD(btf, prev, pid), next_tid = FIELD(btf, next, pid);
	__u64 now = bpf_ktime_get_ns();
	struct thread *t, *next_t;

	if (rt.calibrating) {
		calibrate(prev, btf);
		if (btf)
			skeleton_calibrate(next);
	}
	if (rt.on == WCBPF_CLOSING) {
		t = thread_find(next, next_tid, btf);
		if (t)
			offcpu_close(t, next, btf);
		return 0;
	}
	if (rt.on != WCBPF_ON)
		return 0;
	next_t = thread_find(next, next_tid, btf);
	t = thread_find(prev, prev_tid, btf);
	if (!t && !(state & TASK_DEAD) && in_scope(prev, prev_tid, FIELD(btf, prev, tgid))) {
		t = thread_insert(prev, prev_tid, now, PHASE_ONCPU, BPF_NOEXIST);
		if (t)
			t->seeded = 1;
	}
	if (t)
		oncpu_end(ctx, t, prev, now, btf);
	if (t && state & TASK_DEAD)
		thread_end(t, prev, prev_tid, now);
	else if (t)
		offcpu_begin(ctx, t, prev, state, preempt || !state || compat_task_queued(prev, btf), !next_t,
			      now, btf);
	if (next_t)
		offcpu_end(ctx, next_t, next, now, btf);
	return 0;
}

SEC("tp_btf/sched_switch")
int switch_btf(u64 *ctx)
{
	struct task_struct *prev = (void *)ctx[1];

	return on_switch(ctx, ctx[0] & 1, prev, (void *)ctx[2],
			 cfg_has_prev_state ? (__u32)ctx[3] : compat_task_state(prev, true), true);
}

SEC("raw_tp/sched_switch")
int switch_raw(struct bpf_raw_tracepoint_args *ctx)
{
	struct task_struct *prev = (void *)ctx->args[1];

	return on_switch(ctx, ctx->args[0] & 1, prev, (void *)ctx->args[2],
			 cfg_has_prev_state ? (__u32)ctx->args[3] : compat_task_state(prev, false), false);
}

SEC("tp_btf/sched_waking")
int BPF_PROG(waking_btf, struct task_struct *task)
{
	if (rt.on == WCBPF_ON)
		on_wake(task, true);
	return 0;
}

SEC("raw_tp/sched_waking")
int waking_raw(struct bpf_raw_tracepoint_args *ctx)
{
	if (rt.on == WCBPF_ON)
		on_wake((void *)ctx->args[0], false);
	return 0;
}

SEC("tp_btf/sched_wakeup_new")
int BPF_PROG(wakeup_new_btf, struct task_struct *task)
{
	if (rt.on == WCBPF_ON)
		on_wake(task, true);
	return 0;
}

SEC("raw_tp/sched_wakeup_new")
int wakeup_new_raw(struct bpf_raw_tracepoint_args *ctx)
{
	if (rt.on == WCBPF_ON)
		on_wake((void *)ctx->args[0], false);
	return 0;
}

/* The rest needs no typed pointers: raw_tp for all hosts. */

SEC("raw_tp/sched_process_fork")
int process_fork(struct bpf_raw_tracepoint_args *ctx)
{
	if (rt.on == WCBPF_ON)
		on_fork((void *)ctx->args[0], (void *)ctx->args[1]);
	return 0;
}

SEC("raw_tp/sched_process_exec")
int process_exec(struct bpf_raw_tracepoint_args *ctx)
{
	if (rt.on == WCBPF_ON)
		on_exec((void *)ctx->args[0], ctx->args[1]);
	return 0;
}

SEC("raw_tp/sched_process_exit")
int process_exit(struct bpf_raw_tracepoint_args *ctx)
{
	if (rt.on == WCBPF_ON)
		on_exit((void *)ctx->args[0]);
	return 0;
}

SEC("raw_tp/irq_handler_entry")
int irq_entry(struct bpf_raw_tracepoint_args *ctx)
{
	struct cpu_context *c = cpu_context();

	if (c)
		c->irq = (__u32)ctx->args[0] + 1;
	return 0;
}

SEC("raw_tp/irq_handler_exit")
int irq_exit(struct bpf_raw_tracepoint_args *ctx)
{
	struct cpu_context *c = cpu_context();

	if (c)
		c->irq = 0;
	return 0;
}

SEC("raw_tp/hrtimer_expire_entry")
int hrtimer_entry(struct bpf_raw_tracepoint_args *ctx)
{
	struct cpu_context *c = cpu_context();

	if (c)
		c->hrtimer = 1;
	if (rt.calibrating) {
		__s64 count = compat_preempt_count(false);

		if (count >= 0 && !compat_serving_softirq(count)) {
			rt.hardirq_bits &= count;
			rt.hardirq_n++;
		}
	}
	return 0;
}

SEC("raw_tp/hrtimer_expire_exit")
int hrtimer_exit(struct bpf_raw_tracepoint_args *ctx)
{
	struct cpu_context *c = cpu_context();

	if (c)
		c->hrtimer = 0;
	return 0;
}

SEC("raw_tp/softirq_raise")
int softirq_raise(struct bpf_raw_tracepoint_args *ctx)
{
	on_softirq_raise(ctx->args[0]);
	return 0;
}

SEC("raw_tp/softirq_entry")
int softirq_entry(struct bpf_raw_tracepoint_args *ctx)
{
	on_softirq_entry(ctx->args[0]);
	return 0;
}

SEC("raw_tp/softirq_exit")
int softirq_exit(struct bpf_raw_tracepoint_args *ctx)
{
	on_softirq_exit();
	return 0;
}

/* Attached to the exit of each futex call there is; tells only of calls that blocked. */
SEC("tracepoint/syscalls/sys_exit_futex")
int futex_exit(struct trace_event_raw_sys_exit *ctx)
{
	__u32 tid = bpf_get_current_pid_tgid();
	struct thread *t = bpf_map_lookup_elem(&threads, &tid);

	if (rt.on == WCBPF_ON && t && t->futex_pending)
		on_futex_exit(t, ctx->ret);
	return 0;
}

/* Attached to a timer of each CPU (a perf event of the kind cpu-clock). */
SEC("perf_event")
int sample(struct sample_context *ctx)
{
	struct task_struct *task = (struct task_struct *)bpf_get_current_task();
	struct thread *t;

	if (rt.on != WCBPF_ON)
		return 0;
	t = thread_find(task, bpf_get_current_pid_tgid(), false);
	if (t && !t->held)
		on_sample(ctx, t);
	return 0;
}

/*
 * A choke point. Three times: for links of many addresses (uprobe_multi, 6.6), for perf events with a cookie, and for
 * those without (before 5.15, 7adfc6c9b315), where neither atomics can be used. Userspace loads one.
 */
SEC("uprobe")
int site_multi(struct regs *ctx)
{
	__u64 cookie = bpf_get_attach_cookie(ctx);

	stack_own(ctx);
	on_site(ctx, cookie, cookie >> 32, true, true);
	return 0;
}

SEC("uprobe")
int site_cookie(struct regs *ctx)
{
	__u64 cookie = bpf_get_attach_cookie(ctx);

	stack_own(ctx);
	on_site(ctx, cookie, cookie >> 32, true, true);
	return 0;
}

SEC("uprobe")
int site_address(struct regs *ctx)
{
	struct wcbpf_address key = { .address = REGS_IP(ctx), .tgid = ns_tgid((void *)bpf_get_current_task()) };
	struct wcbpf_sites_at *at = bpf_map_lookup_elem(&sites_at, &key);

	stack_own(ctx); /* not on kernels that need this one, but it can be asked for on others */
	for (int i = 0; at && i < WCBPF_SITES_AT_MAX; i++) {
		if (!at->site[i])
			break;
		on_site(ctx, at->site[i], 0, false, false);
	}
	return 0;
}

SEC("iter/task")
int tasks(struct bpf_iter__task *ctx)
{
	struct task_struct *task = ctx->task;

	if (!task)
		return 0;
	switch (rt.iter_mode) {
	case WCBPF_ITER_LEARN:
		iter_learn(task);
		return 0;
	case WCBPF_ITER_SEED:
		return iter_seed(ctx->meta->seq, task);
	case WCBPF_ITER_CLOSE:
		return iter_close(ctx->meta->seq, task);
	case WCBPF_ITER_LOOK:
		return iter_look(ctx->meta->seq, task);
	}
	return 0;
}

/*
 * Threads that the task iterator did not find when recording had ended: those
 * whose end found no room in the lifecycle ring, or that ended in between.
 */
SEC("iter/bpf_map_elem")
int leftovers(struct bpf_iter__bpf_map_elem *ctx)
{
	struct thread *t = ctx->value;

	if (t && !t->closed && !t->held && t->task)
		leftover_close(ctx->meta->seq, t);
	return 0;
}

SEC("iter/bpf_map_elem")
int goroutines_left(struct bpf_iter__bpf_map_elem *ctx)
{
	const struct wcbpf_goroutine_key *key = ctx->key;
	const struct wcbpf_goroutine *s = ctx->value;

	if (key && s)
		goroutine_close(ctx->meta->seq, key, s);
	return 0;
}

char LICENSE[] SEC("license") = "Dual BSD/GPL";
