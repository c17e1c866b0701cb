/* SPDX-License-Identifier: (LGPL-2.1 OR BSD-2-Clause) */
#pragma once
/* Every difference between kernels and architectures, in one place, each with its reason. */
#include "config.bpf.h"

#define TASK_DEAD 0x80
#define TASK_INTERRUPTIBLE 0x1
#define TASK_WAKEKILL 0x100 /* the same in all kernels from 4.x on */
#define PF_KTHREAD 0x00200000
#define SIGNAL_GROUP_EXIT 0x4

/*
 * BTF: the program is a tp_btf one, so fields of task pointers from the context
 * are plain loads and helpers that want a task accept them; in the raw_tp
 * fallback the same pointers are numbers to the verifier.
 */
#define FIELD(btf, p, field) ((btf) ? (p)->field : BPF_CORE_READ((p), field))

struct task_struct___old { /* before 5.14, 2f064a59a11f */
	volatile long state;
} __attribute__((preserve_access_index));

static __always_inline __u32 compat_task_state(struct task_struct *task, const bool btf)
{
	if (bpf_core_field_exists(task->__state))
		return FIELD(btf, task, __state);
	return BPF_CORE_READ((struct task_struct___old *)task, state);
}

struct sched_entity___delayed { /* 6.12, 152e11f6df29: a blocked task may stay queued for a while */
	unsigned char sched_delayed;
} __attribute__((preserve_access_index));

/* An int, a byte on 7.x: read at whatever size it has. */
static __always_inline bool compat_task_on_cpu(struct task_struct *task)
{
	return BPF_CORE_READ_BITFIELD_PROBED(task, on_cpu);
}

/* On the run queue because it could run, not because its dequeue was put off. */
static __always_inline bool compat_task_queued(struct task_struct *task, const bool btf)
{
	struct sched_entity___delayed *se = (void *)__builtin_preserve_access_index(&task->se);

	if (!(btf ? BPF_CORE_READ_BITFIELD(task, on_rq) : BPF_CORE_READ_BITFIELD_PROBED(task, on_rq)))
		return false;
	if (bpf_core_field_exists(se->sched_delayed) && BPF_CORE_READ(se, sched_delayed))
		return false;
	return true;
}

/*
 * The preempt count of this CPU, or -1 when it can't be known. On x86 it is a
 * per-CPU variable that programs can't name on kernels whose kallsyms has no
 * data symbols, so it is found from another per-CPU variable that every task
 * leads to: its run queue. Userspace takes the distance between the two from
 * the kernel's BTF (it is a member of pcpu_hot from 6.2 to 6.14). On arm64 it
 * is a field of the current task. Where its hard interrupt bits lie is learned at
 * start (rt.hardirq_mask): they moved up with the counts of disabled interrupts (7.x).
 */
static __always_inline __s64 compat_preempt_count(const bool btf)
{
	char *rq;
	__u32 n;

#if defined(__TARGET_ARCH_arm64)
	return BPF_CORE_READ((struct task_struct *)bpf_get_current_task(), thread_info.preempt.count);
#endif
	/* without CONFIG_FAIR_GROUP_SCHED no task leads to its run queue */
	if (!cfg_preempt_count_distance || !bpf_core_field_exists(((struct sched_entity *)0)->cfs_rq) ||
	    !bpf_core_field_exists(((struct cfs_rq *)0)->rq))
		return -1;
	/* typed current task: 5.11 (3ca1032ab7ab) */
	if (btf && bpf_core_enum_value_exists(enum bpf_func_id, BPF_FUNC_get_current_task_btf))
		rq = (char *)bpf_get_current_task_btf()->se.cfs_rq->rq;
	else
		rq = (char *)BPF_CORE_READ((struct task_struct *)bpf_get_current_task(), se.cfs_rq, rq);
	if (!rq || bpf_probe_read_kernel(&n, sizeof(n), rq + cfg_preempt_count_distance))
		return -1;
	return n;
}

#if defined(__TARGET_ARCH_x86)
#define THREAD_SIZE 16384
struct task_struct___rt { /* CONFIG_PREEMPT_RT: softirqs are counted in the task that runs them */
	int softirq_disable_cnt;
} __attribute__((preserve_access_index));

static __always_inline bool compat_serving_softirq(__s64 preempt_count)
{
	struct task_struct___rt *task = (void *)bpf_get_current_task();

	if (bpf_core_field_exists(task->softirq_disable_cnt))
		preempt_count = BPF_CORE_READ(task, softirq_disable_cnt);
	return preempt_count & 0x100; /* SOFTIRQ_OFFSET */
}

struct rseq_data___new { /* from 6.19 on rseq is a struct in the task */
	void *usrptr;
} __attribute__((preserve_access_index));
struct task_struct___rseq {
	struct rseq_data___new rseq;
} __attribute__((preserve_access_index));

/* Has the thread registered restartable sequences (glibc 2.35 and later does for every thread)? */
static __always_inline bool compat_has_rseq(struct task_struct *task)
{
	struct task_struct___rseq *new = (void *)task;

	if (bpf_core_field_exists(new->rseq.usrptr))
		return BPF_CORE_READ(new, rseq.usrptr);
	return bpf_core_field_exists(task->rseq) && BPF_CORE_READ(task, rseq);
}

struct regs {
	__u64 r15, r14, r13, r12, bp, bx, r11, r10, r9, r8, ax, cx, dx, si, di, orig_ax, ip, cs, flags, sp, ss;
};
_Static_assert(sizeof(struct regs) == 168, "struct pt_regs of x86_64");

/*
 * What a perf_event program gets: struct bpf_perf_event_data, whose registers are uABI. The kernel's own type has
 * fields in them that may not be read at their size (cs is 16 bits wide since 6.9).
 */
struct sample_context {
	struct regs regs; /* of what was interrupted, user or kernel */
	__u64 sample_period, addr;
};
#define REGS_ARE_USER(r) (((r)->cs & 3) != 0)

#define REGS_IP(r) ((r)->ip)
#define REGS_SP(r) ((r)->sp)
#define REGS_BP(r) ((r)->bp)
#define REGS_BX(r) ((r)->bx)
#define REGS_RESULT(r) ((r)->ax) /* of the system call, on the way back */
#define REGS_VFORK_RETURN(r) ((r)->di) /* where glibc's vfork keeps its return address */
#define REGS_32BIT(r) ((r)->cs == 0x23) /* other frames, other rules */

static __always_inline bool compat_is_clone(__s32 syscall)
{
	return syscall == 56 || syscall == 58 || syscall == 435; /* clone, vfork, clone3 */
}

/* -1 outside system calls: exceptions and interrupts put -1 there (or ~vector). 32-bit callers have other numbers. */
#define REGS_SYSCALL(r) ((__s64)(r)->orig_ax < 0 || REGS_32BIT(r) ? -1 : (__s32)(r)->orig_ax)
static __always_inline void regs_args(const struct regs *r, __u64 args[6])
{
	args[0] = r->di;
	args[1] = r->si;
	args[2] = r->dx;
	args[3] = r->r10;
	args[4] = r->r8;
	args[5] = r->r9;
}
static __always_inline void regs_dwarf(const struct regs *r, __u64 out[WCBPF_REGS_MAX])
{
	out[0] = r->ax;
	out[1] = r->dx;
	out[2] = r->cx;
	out[3] = r->bx;
	out[4] = r->si;
	out[5] = r->di;
	out[6] = r->bp;
	out[7] = r->sp;
	out[8] = r->r8;
	out[9] = r->r9;
	out[10] = r->r10;
	out[11] = r->r11;
	out[12] = r->r12;
	out[13] = r->r13;
	out[14] = r->r14;
	out[15] = r->r15;
	out[16] = r->ip;
}
/* Go's own calling convention (ABIInternal): the g, and the first integer arguments and results. */
#define REGS_GO_G(r) ((r)->r14)
#define REGS_GO_ARG(r, i) ((i) == 0 ? (r)->ax : (i) == 1 ? (r)->bx : (r)->cx)

#define EFLAGS_CF 0x01
#define EFLAGS_PF 0x04
#define EFLAGS_ZF 0x40
#define EFLAGS_SF 0x80
#define EFLAGS_OF 0x800

/* Would a conditional jump of that number (its opcode's low four bits) be taken? Intel's manual, appendix B.1.4.7. */
static __always_inline bool regs_meet(const struct regs *r, __u8 condition)
{
	__u64 f = r->flags;
	bool less = !(f & EFLAGS_SF) != !(f & EFLAGS_OF), met = false;

	switch (condition >> 1) {
	case 0:
		met = f & EFLAGS_OF;
		break;
	case 1:
		met = f & EFLAGS_CF;
		break;
	case 2:
		met = f & EFLAGS_ZF;
		break;
	case 3:
		met = f & (EFLAGS_CF | EFLAGS_ZF);
		break;
	case 4:
		met = f & EFLAGS_SF;
		break;
	case 5:
		met = f & EFLAGS_PF;
		break;
	case 6:
		met = less;
		break;
	case 7:
		met = less || f & EFLAGS_ZF;
		break;
	}
	return met != (condition & 1);
}
#else
#error "no register layout for this architecture: add it here"
#endif

/*
 * The user registers a task entered the kernel with. bpf_task_pt_regs() is
 * 5.15+ and tp_btf only; without it they lie at the top of the kernel stack
 * (not with FRED, which is younger than the helper).
 */
static __always_inline bool compat_user_regs(struct task_struct *task, const bool btf, struct regs *ret)
{
	void *p;

	if (btf && bpf_core_enum_value_exists(enum bpf_func_id, BPF_FUNC_task_pt_regs))
		p = (void *)bpf_task_pt_regs(task);
	else
		p = (char *)BPF_CORE_READ(task, stack) + THREAD_SIZE - sizeof(struct regs);
	return !bpf_probe_read_kernel(ret, sizeof(*ret), p);
}

struct uprobe_task___here { /* whose fields lie in a union without name */
	unsigned long vaddr, xol_vaddr;
} __attribute__((preserve_access_index));
struct task_struct___uprobes {
	struct uprobe_task___here *utask;
} __attribute__((preserve_access_index));

/*
 * A thread that single-steps a probed instruction does so on a copy of it, in a page ("[uprobes]") that no unwind table
 * knows: as if it were at the instruction itself. One that has just met the breakpoint is a byte behind it, which may be
 * another function; TIF_UPROBE says so, bit 12 and, where the bits are the same for all architectures (6.18), 8, of
 * which the other means other things: so the breakpoint must be there too.
 */
#define XOL_BYTES 16
#define TIF_UPROBE_BITS (1 << 12 | 1 << 8)
#define BREAKPOINT 0xcc
static __always_inline void regs_leave_copy(struct regs *r, struct task_struct *task)
{
	struct task_struct___uprobes *t = (void *)task;
	struct uprobe_task___here *u;
	__u64 copy, into;
	__u8 code;

	if (!bpf_core_field_exists(t->utask))
		return;
	u = BPF_CORE_READ(t, utask);
	if (!u)
		return;
	copy = BPF_CORE_READ(u, xol_vaddr);
	into = REGS_IP(r) - copy;
	if (copy && into <= XOL_BYTES)
		r->ip = BPF_CORE_READ(u, vaddr) + into;
	else if (BPF_CORE_READ(task, thread_info.flags) & TIF_UPROBE_BITS &&
		 !bpf_probe_read_user(&code, 1, (void *)(REGS_IP(r) - 1)) && code == BREAKPOINT)
		r->ip--;
}

/* The same of the current task, in programs that have no typed pointer to it (that one: 5.11, 3ca1032ab7ab). */
static __always_inline __u64 compat_current_exec_id(void)
{
	return BPF_CORE_READ((struct task_struct *)bpf_get_current_task(), self_exec_id);
}

static __always_inline bool compat_current_user_regs(struct regs *ret)
{
	if (bpf_core_enum_value_exists(enum bpf_func_id, BPF_FUNC_get_current_task_btf) &&
	    bpf_core_enum_value_exists(enum bpf_func_id, BPF_FUNC_task_pt_regs))
		return compat_user_regs(bpf_get_current_task_btf(), true, ret);
	return compat_user_regs((struct task_struct *)bpf_get_current_task(), false, ret);
}

/* The stack pointer of a task that is off the CPU (or being switched in). */
static __always_inline __u64 compat_frozen_sp(struct task_struct *task)
{
	return task->thread.sp;
}

/*
 * How far the user registers lie above the begin of a task's stack: depends on its
 * size (KASAN) and, with FRED, on padding at its end. The verifier allows no
 * arithmetic with the pointer, but a pointer that is stored is a number again.
 */
static __always_inline __u64 compat_user_regs_offset(struct task_struct *task, __u64 *room)
{
	if (!bpf_core_enum_value_exists(enum bpf_func_id, BPF_FUNC_task_pt_regs))
		return THREAD_SIZE - sizeof(struct regs);
	*room = (__u64)bpf_task_pt_regs(task);
	barrier();
	return *(volatile __u64 *)room - (__u64)BPF_CORE_READ(task, stack);
}
