/* SPDX-License-Identifier: (LGPL-2.1 OR BSD-2-Clause) */
#pragma once
/*
 * The only contract between the BPF programs and userspace.
 *
 * Every event starts with struct wcbpf_head. Times are CLOCK_MONOTONIC ns as
 * bpf_ktime_get_ns() gives them. tid and tgid (the process) are numbers of the
 * PID namespace wcbpf runs in, unless a name says `kernel_`. Event kinds and
 * flags are append-only. All padding is explicit and zero.
 */
#ifndef __bpf__
#include <linux/types.h>
#endif

#define WCBPF_COMM_LEN 16
#define WCBPF_STACK_DEPTH_MAX 127
#define WCBPF_STACK_COPY_MAX 8192 /* bytes of user stack sent for unwinding by userspace */
#define WCBPF_ARGV_MAX 8192	  /* bytes of argv an exec event carries at most */
#define WCBPF_SYSCALLS_MAX 512	  /* size of the syscall class table */
#define WCBPF_FOPS_MAX 16	  /* kinds of file told by f_op alone */
#define WCBPF_NAME_LEN 64	  /* last path component, unix socket path */

enum wcbpf_event_kind {
	WCBPF_EV_INTERVAL = 1,	   /* struct wcbpf_interval */
	WCBPF_EV_STACK = 2,	   /* struct wcbpf_stack */
	WCBPF_EV_RESOURCE = 3,	   /* struct wcbpf_resource */
	WCBPF_EV_FORK = 4,	   /* struct wcbpf_fork */
	WCBPF_EV_EXEC = 5,	   /* struct wcbpf_exec */
	WCBPF_EV_EXIT = 6,	   /* struct wcbpf_exit */
	WCBPF_EV_THREAD = 7,	   /* struct wcbpf_thread_totals */
	WCBPF_EV_FUTEX_RESULT = 8, /* struct wcbpf_futex_result */
	WCBPF_EV_SEED = 9,	   /* struct wcbpf_seed */
	WCBPF_EV_SAMPLE = 10,	   /* struct wcbpf_sample */
	WCBPF_EV_OP = 11,	   /* struct wcbpf_op */
	WCBPF_EV_GO_BIRTH = 12,	   /* struct wcbpf_go_birth */
	WCBPF_EV_GO_INTERVAL = 13, /* struct wcbpf_go_interval */
	WCBPF_EV_GO_DEATH = 14,	   /* struct wcbpf_go_death */
};

struct wcbpf_head {
	__u16 kind;	/* enum wcbpf_event_kind */
	__u16 cpu;	/* where it was emitted */
	__u32 size;	/* bytes of the whole event, head included */
	__u64 time_ns;	/* when it happened */
};

/* How an off-CPU interval began, went on and ended. */
enum wcbpf_interval_flags {
	WCBPF_IV_PREEMPTED = 1 << 0,	 /* left the CPU runnable: never blocked */
	WCBPF_IV_BEGAN_BEFORE = 1 << 1,	 /* was off the CPU when recording began: out_ns is that moment */
	WCBPF_IV_OPEN_AT_END = 1 << 2,	 /* still off the CPU when recording ended: time_ns is that moment */
	WCBPF_IV_SAME_CALL = 1 << 3,	 /* in the same system call as this thread's interval before (seq - 1) */
	WCBPF_IV_WAKE_EARLY = 1 << 4,	 /* the wake came before the switch-out; wake_ns was raised to out_ns */
	WCBPF_IV_WAKE_UNSEEN = 1 << 5,	 /* blocked, ran again, but no wake was seen */
	WCBPF_IV_SIGNAL = 1 << 6,	 /* a deliverable signal was pending at the wake: it ended the wait */
	WCBPF_IV_EXITED = 1 << 7,	 /* ended by the thread's exit, not by running again */
	WCBPF_IV_KSTACK_FAILED = 1 << 8, /* no kernel stack could be read */
	WCBPF_IV_USTACK_FAILED = 1 << 9, /* no user stack could be read */
	WCBPF_IV_NEW_THREAD = 1 << 10,	 /* from fork to the first run: runnable only */
	WCBPF_IV_KTHREAD = 1 << 11,	 /* a thread without user memory: no user stack is no failure */
	WCBPF_IV_EXITING = 1 << 12,	 /* between its exit event and its last switch */
	WCBPF_IV_OWNER_READ = 1 << 13,	 /* owner_tid was read from user memory */
	WCBPF_IV_OWNER_FAULT = 1 << 14,	 /* owner_tid could not be read (page not present) */
	WCBPF_IV_WAKER_KNOWN = 1 << 15,	 /* waker_ctx and waker_* are set */
	WCBPF_IV_WAKE_BEFORE = 1 << 16,	 /* was already runnable when recording began */
	WCBPF_IV_IN_INFERRED = 1 << 18, /* its switch-in was not seen: time_ns comes from the kernel's run time of the thread */
	WCBPF_IV_KILLED = 1 << 17,	 /* its process was being killed (or exiting as a group) at the wake */
};

enum wcbpf_waker_ctx {
	WCBPF_WAKER_UNKNOWN = 0,
	WCBPF_WAKER_TASK = 1,	/* waker_tid's own doing */
	WCBPF_WAKER_TIMER = 2,	/* hrtimer or timer wheel */
	WCBPF_WAKER_DISK = 3,	/* block softirq, or an interrupt of a disk */
	WCBPF_WAKER_NET = 4,	/* network softirq raised by an interrupt */
	WCBPF_WAKER_IRQ = 5,	/* a hard interrupt; waker_irq says which (0: unknown) */
};

/* One off-CPU interval, sent when the thread runs again (or exits, or recording ends). head.time_ns is that moment. */
struct wcbpf_interval {
	struct wcbpf_head head;
	__u64 out_ns;	   /* left the CPU */
	__u64 wake_ns;	   /* made runnable, out_ns <= wake_ns <= time_ns; 0: never seen. PREEMPTED: out_ns */
	__u64 kstack_id;   /* id of a WCBPF_EV_STACK, 0: none */
	__u64 ustack_id;   /* likewise */
	__u64 resource_id; /* id of a WCBPF_EV_RESOURCE, 0: none */
	__u64 waker_ustack_id; /* user stack of waker_tid at the wake, 0: none */
	__u64 goid;	   /* the goroutine that the thread ran when it left the CPU, 0: none or not known */
	__u64 args[6];	   /* the system call's arguments, meaningless if syscall < 0; futex_waitv: args[4] and
			    * args[5] are flags and address of its first futex, 0 if that can't be read */
	__s64 timeout_ns;  /* futex, sleep, poll: the time asked for as given to the kernel (relative or absolute); -1: none or unreadable */
	__u32 flags;	   /* enum wcbpf_interval_flags */
	__u32 tid;
	__u32 tgid;
	__s32 syscall;	   /* system call number, -1: not in a system call */
	__u32 state;	   /* task state bits at switch-out (kernel's TASK_*), 0 if PREEMPTED */
	__u32 seq;	   /* counts this thread's intervals, emitted or not, from 1 */
	__u32 waker_tid;
	__u32 waker_tgid;
	__u32 waker_irq;   /* number of the hard interrupt, or vector of the softirq */
	__u32 owner_tid;   /* futex WAIT: the word at address + 8 (a glibc mutex's owner); LOCK_PI: the owner in the futex word; see flags */
	__u16 cpu_out;
	__u16 cpu_in;
	__u8 waker_ctx;	   /* enum wcbpf_waker_ctx */
	__u8 pad[3];
	char comm[WCBPF_COMM_LEN];	/* of the thread, when it ran again; IN_INFERRED: when it left the CPU */
	char waker_comm[WCBPF_COMM_LEN];
};

enum wcbpf_stack_side {
	WCBPF_STACK_KERNEL = 0, /* of a thread that is off the CPU: it is in __schedule, whether that is a frame or not */
	WCBPF_STACK_USER = 1,
	WCBPF_STACK_KERNEL_RUNNING = 2, /* of a thread that runs: exactly its frames */
};

/* How user stacks are taken: --call-graph. */
enum wcbpf_ustack {
	WCBPF_USTACK_NONE,
	WCBPF_USTACK_FP,     /* frame pointers */
	WCBPF_USTACK_TABLES, /* by the tables below; what they don't know (yet) by a copy, as long as there are not too many */
	WCBPF_USTACK_COPY,   /* always by a copy */
};

/* How the walk of a stack ended. */
enum wcbpf_stack_end {
	WCBPF_STACK_FP = 0,	     /* user: by frame pointers alone, may have lost or guessed frames */
	WCBPF_STACK_COMPLETE = 1,    /* at the outermost frame: user, by tables, where the return address is undefined */
	WCBPF_STACK_TRUNCATED = 2,   /* deeper than WCBPF_STACK_DEPTH_MAX: the root side is missing */
	/* user, by tables: what stopped the walk before the outermost frame */
	WCBPF_STACK_NO_TABLES = 3,   /* the process has none (yet) */
	WCBPF_STACK_NO_MAPPING = 4,  /* an address in no mapping that is known */
	WCBPF_STACK_PENDING = 5,     /* an address in a file whose tables are not made yet */
	WCBPF_STACK_NO_FRAME = 6,    /* code without rows, and the frame pointer leads nowhere */
	WCBPF_STACK_UNSUPPORTED = 7, /* a rule that the tables can't express */
	WCBPF_STACK_UNREADABLE = 8,  /* stack memory that is not present */
	WCBPF_STACK_BAD_CFA = 9,     /* a frame that lies not above the one before */
	WCBPF_STACK_ZERO = 10,	     /* a return address of 0 where the rules promise one */
};

/* Registers of a new user stack, by DWARF number of x86_64 (0 rax ... 7 rsp ... 15 r15, 16 the return address column: rip). */
#define WCBPF_REGS_MAX 17

/*
 * The body of a stack, sent once for each id (again when the kernel side
 * forgot having sent it). Innermost frame first.
 *
 * The id of a user stack covers process, exec generation, frames and how it
 * ended. With a copy (copy_len > 0: the memory from regs[7], rsp, upwards) it is
 * this one moment's alone, for userspace to unwind; frames are what the walk
 * found without it.
 *
 * A kernel stack with a copy is a specimen to make skeletons of: the memory from
 * regs[7], where it was frozen, up to the user's registers; regs[0] is the system
 * call number, the rest of regs zero. With frame_n 0 its frames came before, with
 * another body of that id.
 */
struct wcbpf_stack {
	struct wcbpf_head head;
	__u64 id;
	__u32 tgid;
	__u8 side; /* enum wcbpf_stack_side */
	__u8 end;  /* enum wcbpf_stack_end */
	__u16 frame_n;
	__u32 copy_len;
	__u32 tid;
	__u64 guessed[2]; /* in a walk by tables, bit i: frames[i] was found by a frame pointer, or is the last for its being 0 */
	__u64 regs[WCBPF_REGS_MAX];
	__u64 frames[WCBPF_STACK_DEPTH_MAX];
	__u8 copy[WCBPF_STACK_COPY_MAX]; /* head.size ends after copy_len bytes */
};

/*
 * ---- skeletons of kernel stacks, made by userspace ----
 *
 * A skeleton says which words of a thread's kernel stack, at which distance from
 * the stack pointer with which it left the CPU, make it the stack with this id:
 * return addresses, and pointers into the stack itself (which move with it). All
 * are compared. They cover the stack up to the return into the function that
 * handles all system calls, above which there is a gap of random size and
 * nothing unknown, or up to the user's registers.
 *
 * The key only steers the search. A skeleton never changes while it can be
 * found; its room is used again when no program can be looking at it any more.
 */
#define WCBPF_SKELETONS_MAX 2048      /* power of two */
#define WCBPF_SKELETON_SLOTS_MAX 64
#define WCBPF_VARIANTS_MAX 8
#define WCBPF_FROZEN_MAX 4096	      /* bytes of a stack up to the user's registers; deeper ones are walked */
#define WCBPF_SKELETON_CHECK_OF 128   /* of so many stacks recognized, wcbpf_rt.skeleton_checks are walked to compare */
#define WCBPF_SLOT_RELATIVE 1	      /* with a slot's place: the word counts from the stack pointer */

struct wcbpf_skeleton {
	__u64 stack_id;
	__u16 slot_n;
	__u16 depth;  /* bytes from the stack pointer to the end of the last word that is to be there */
	__u8 at_top;  /* the user's registers follow */
	__u8 dead;    /* by a program: a walk has found other frames */
	__u8 pad[2];
	__u16 at[WCBPF_SKELETON_SLOTS_MAX]; /* bytes from the stack pointer, by address; WCBPF_SLOT_RELATIVE */
	__u64 word[WCBPF_SKELETON_SLOTS_MAX];
};

struct wcbpf_skeleton_key {
	__s32 syscall;
	__u32 pad;
	__u64 word[2]; /* at wcbpf_rt.key_at; 0: not an address of the kernel's code */
};

struct wcbpf_variants {
	__u32 index[WCBPF_VARIANTS_MAX]; /* ends with 0 */
};

/*
 * ---- tables for unwinding user stacks, made by userspace ----
 *
 * A process (by tgid as the user sees it) has a segment of mapents, sorted by
 * address. A mapping of a file with rules has directory entries, one a 64 KB
 * page of the file's address space (vaddr, as st_value counts): which rows are
 * the page's. A row holds from its address to the next row's; the first of a
 * page has low == 0. Rules are shared by all files.
 */
#define WCBPF_MAPENTS_MAX 65536	       /* power of two */
#define WCBPF_PROC_MAPENTS_MAX 4095    /* of one process */
#define WCBPF_DIRS_MAX (1 << 17)
#define WCBPF_SHARD_ROWS (1 << 18)
#define WCBPF_SHARDS_MAX 64
#define WCBPF_RULES_MAX 32768
#define WCBPF_PAGE_SHIFT 16

struct wcbpf_proc {
	__u32 first, n;	 /* mapents[first, first + n) */
	__u32 gen;	 /* of this segment: unique, never 0; mapents of another were reused */
	__u32 pad;
	__u64 exec_id;	 /* task->self_exec_id: after the next exec this is no more true */
};

enum wcbpf_mapent_kind {
	WCBPF_MAP_ROWS = 0,
	WCBPF_MAP_NO_ROWS = 1,	/* code that has no rules (JIT, a file without .eh_frame) */
	WCBPF_MAP_PENDING = 2,	/* its tables are being made */
};

struct wcbpf_mapent {
	__u64 start, end; /* [start, end) */
	__u64 bias;	  /* address - bias = vaddr */
	__u32 dir0;	  /* of the first page */
	__u32 page0, page_n; /* vaddr >> WCBPF_PAGE_SHIFT in [page0, page0 + page_n) */
	__u32 gen;
	__u32 kind;	  /* enum wcbpf_mapent_kind */
	__u32 pad;
};

struct wcbpf_dir {
	__u32 row; /* shard * WCBPF_SHARD_ROWS + index of the page's first; a page's rows lie in one shard */
	__u32 n;   /* 0: none */
};

struct wcbpf_row {
	__u16 low;  /* low 16 bits of the vaddr it begins at */
	__u16 rule; /* index of rules; 0: no rule here */
};

/*
 * Where the canonical frame address (the caller's stack pointer) is. The return
 * address lies at CFA - 8 unless said. x86_64.
 */
enum wcbpf_cfa {
	WCBPF_CFA_NONE = 0,	  /* no rule: rules[0] */
	WCBPF_CFA_STOP = 1,	  /* the outermost frame: its return address is undefined */
	WCBPF_CFA_SP = 2,	  /* rsp + cfa_off */
	WCBPF_CFA_BP = 3,	  /* rbp + cfa_off */
	WCBPF_CFA_BX = 4,	  /* rbx + cfa_off */
	WCBPF_CFA_BP_DEREF = 5,	  /* the word at rbp + cfa_off */
	WCBPF_CFA_SP_DEREF = 6,	  /* the word at rsp + cfa_off */
	WCBPF_CFA_PLT = 7,	  /* rsp + cfa_off, and 8 more if (rip & 15) >= bp_off */
	WCBPF_CFA_SIGNAL = 8,	  /* a signal frame: rsp + cfa_off is its struct sigcontext */
	WCBPF_CFA_SP_RA_DI = 9,	  /* rsp + cfa_off; the return address is in rdi (vfork), innermost frame only */
	WCBPF_CFA_UNSUPPORTED = 10,
	WCBPF_CFA_BP_SWITCH = 11, /* rbp + cfa_off, on the stack that this function came from: above or below this one */
};

/* Where the caller's rbp or rbx is. */
enum wcbpf_saved {
	WCBPF_SAVED_SAME = 0,	/* still in the register */
	WCBPF_SAVED_CFA = 1,	/* the word at CFA + off */
	WCBPF_SAVED_BP = 2,	/* the word at (this frame's) rbp + off */
	WCBPF_SAVED_LOST = 3,	/* undefined, or an expression */
};

struct wcbpf_rule {
	__s32 cfa_off;
	__s16 bp_off, bx_off;
	__u8 cfa;    /* enum wcbpf_cfa */
	__u8 bp, bx; /* enum wcbpf_saved */
	__u8 pad;
};

enum wcbpf_resource_kind {
	WCBPF_RES_FILE = 1,   /* mode tells: regular, directory, char, block, fifo */
	WCBPF_RES_SOCKET = 2,
	WCBPF_RES_ANON = 3,   /* anonymous inode; fop_kind tells, 0: unknown */
};

enum wcbpf_fop_kind {
	WCBPF_FOP_UNKNOWN = 0,
	WCBPF_FOP_EPOLL = 1,
	WCBPF_FOP_EVENTFD = 2,
	WCBPF_FOP_TIMERFD = 3,
	WCBPF_FOP_SIGNALFD = 4,
	WCBPF_FOP_INOTIFY = 5,
	WCBPF_FOP_PIDFD = 6,
	WCBPF_FOP_FANOTIFY = 7,
	WCBPF_FOP_IO_URING = 8,
};

/* What a waited-for file descriptor is; sent once for each id, like a stack. */
struct wcbpf_resource {
	struct wcbpf_head head;
	__u64 id;
	__u64 ino;
	__u64 file;	/* address of struct file, and of what it stands for: tell two anonymous files apart */
	__u64 private_data;
	__u32 dev;	/* kernel's encoding: major << 20 | minor */
	__u32 rdev;	/* of a device node, else 0 */
	__u32 mode;	/* i_mode */
	__u32 tgid;
	__s32 fd;
	__u8 kind;	/* enum wcbpf_resource_kind */
	__u8 fop_kind;	/* enum wcbpf_fop_kind */
	__u16 family;	/* sockets: AF_*, 0 unknown */
	__u16 protocol; /* sockets: IPPROTO_* */
	__u16 type;	/* sockets: SOCK_* */
	__u16 local_port, remote_port; /* host byte order */
	__u8 local_addr[16], remote_addr[16]; /* network byte order; IPv4 in the first four */
	__u32 generation; /* of the inode: its number is used again */
	__u32 pad;
	char name[WCBPF_NAME_LEN]; /* last path component, or the unix socket's path ('@' for abstract) */
};

struct wcbpf_fork {
	struct wcbpf_head head;
	__u32 parent_tid, parent_tgid;
	__u32 tid, tgid; /* tgid == parent_tgid: a thread, else a process */
	__u64 start_ns;	 /* the child's start_boottime, with pid it names a process for ever */
	__u64 exec_id;	 /* the child's task->self_exec_id */
	__u64 goid;	 /* the goroutine that the parent ran, 0: none or not known */
	char comm[WCBPF_COMM_LEN];
};

struct wcbpf_exec {
	struct wcbpf_head head;
	__u32 tid, tgid;
	__u32 old_tid;	/* of the thread that called execve, before it took over the tgid */
	__u32 argv_len; /* bytes of argv that follow; arguments end in NUL */
	__u32 argv_total; /* bytes there were; larger than argv_len: cut */
	__u32 pad;
	__u64 exec_id;	 /* task->self_exec_id from now on */
	char comm[WCBPF_COMM_LEN];
	char argv[WCBPF_ARGV_MAX]; /* head.size ends after argv_len bytes */
};

#define WCBPF_EXIT_UNKNOWN (-1)
struct wcbpf_exit {
	struct wcbpf_head head;
	__u32 tid, tgid;
	__s32 exit_code;  /* as wait(2) gives it; WCBPF_EXIT_UNKNOWN: the end was noticed from outside, later */
	__u32 group_dead; /* 1: the process's last thread */
};

/* Where a thread's lifetime within the recording went; the four times sum to end_ns - begin_ns. */
struct wcbpf_thread_totals {
	struct wcbpf_head head;
	__u32 tid, tgid;
	__u64 start_ns; /* of the process: start_boottime of its leader */
	__u64 begin_ns, end_ns;
	__u64 oncpu_ns, runnable_ns, blocked_ns;
	__u64 lost_ns;	/* off-CPU time that was measured and could not be emitted */
	__u32 interval_n;   /* all that were attempted */
	__u32 lost_n;	    /* of them not emitted: no room in the ring */
	__u32 below_min_n;  /* of them shorter than --min: in the times, not emitted */
	__u32 seeded;	    /* 1: was alive when recording began */
	__u32 open;	    /* 1: was alive when recording ended */
	__u32 voluntary_n, involuntary_n; /* switches-out blocked, preempted */
	__u32 cpu_allowed_n; /* CPUs that it might run on at that moment; 0: not known */
	char comm[WCBPF_COMM_LEN];
};

/* A futex call that blocked has returned. */
struct wcbpf_futex_result {
	struct wcbpf_head head;
	__u32 tid, tgid;
	__s64 result;
	__u64 address; /* futex_waitv: of the futex that was woken; 0: none, or another call */
	__u32 seq; /* of the last interval of that call */
	__u32 pad;
};

/* A thread that was there when recording began; comes from the task iterator only. */
struct wcbpf_seed {
	struct wcbpf_head head;
	__u64 start_ns;	 /* of its process, start_boottime */
	__u64 exec_id;	 /* task->self_exec_id */
	__u64 ustack_id; /* of the stack that userspace is to unwind from regs and the target's memory; 0: none due */
	__u64 regs[WCBPF_REGS_MAX];
	__u64 args[6];	 /* of the system call it is in */
	__u64 switch_n;	 /* times it has left the CPU: unchanged while its stack is */
	__u64 parent_start_ns; /* of the parent process, start_boottime */
	__u32 parent_tgid; /* who waits for its process: who started it or, when that has ended, a reaper; 0: not visible */
	__u32 tid, tgid;
	__u32 state;	 /* TASK_* bits, 0: running or runnable */
	__s32 syscall;
	__u32 life;	  /* as in wcbpf_goroutine_key, with this program */
	__u32 kernel_tgid;
	__u32 pad;
	char comm[WCBPF_COMM_LEN];
};

enum wcbpf_sample_flags {
	WCBPF_SM_USER = 1 << 0,		 /* interrupted in user mode: there is no kernel stack */
	WCBPF_SM_KTHREAD = 1 << 1,	 /* a thread without user memory: no user stack is no failure */
	WCBPF_SM_EXITING = 1 << 2,	 /* past its exit event: likewise */
	WCBPF_SM_KSTACK_FAILED = 1 << 3, /* a stack was due and could not be read */
	WCBPF_SM_USTACK_FAILED = 1 << 4,
};

/* What a traced thread was doing when the sampling timer found it on a CPU. */
struct wcbpf_sample {
	struct wcbpf_head head;
	__u64 kstack_id; /* id of a WCBPF_EV_STACK, 0: none */
	__u64 ustack_id; /* likewise */
	__u32 tid, tgid;
	__s32 syscall;	 /* system call number, -1: not in a system call */
	__u32 flags;	 /* enum wcbpf_sample_flags */
	char comm[WCBPF_COMM_LEN];
};

/*
 * ---- choke points, made by userspace ----
 *
 * A point is a line of a profile in one executable file; a site one probed
 * address of it. Its cookie, or (tgid, address) where the kernel gives none,
 * leads to its site. What values mean is userspace's to know: the program
 * fetches them and says where in the stack the function's frame is.
 */
#define WCBPF_SITES_MAX 16384
#define WCBPF_POINTS_MAX 4096	/* point numbers lie in [1, WCBPF_POINTS_MAX) */
#define WCBPF_FETCHES_MAX 8	/* values of one site */
#define WCBPF_DEREFS_MAX 6
#define WCBPF_VALUE_BYTES_MAX 256
#define WCBPF_GO_LAYOUTS_MAX 64

enum wcbpf_site_kind {
	WCBPF_SITE_NONE = 0,
	WCBPF_SITE_ENTRY = 1,	 /* a function begins */
	WCBPF_SITE_EXIT = 2,	 /* it returns or jumps to another */
	WCBPF_SITE_MARK = 3,	 /* something happened: a static marker (USDT), a function entry that has no exit */
	/* choke points of the Go runtime; register use as of its ABIInternal */
	WCBPF_SITE_GO_PARK = 4,	    /* runtime.gopark: the goroutine r14 is about to wait, cl why */
	WCBPF_SITE_GO_READY = 5,    /* runtime.ready: the goroutine rax is woken */
	WCBPF_SITE_GO_STATUS = 6,   /* runtime.casgstatus: rax goes from status ebx to ecx */
	WCBPF_SITE_GO_EXECUTE = 7,  /* runtime.execute: the goroutine rax is about to run on this thread */
	WCBPF_SITE_GO_BORN = 8,	    /* runtime.newproc1 returns: rax is the new goroutine */
	WCBPF_SITE_GO_DEATH = 9,    /* runtime.gdestroy, to 1.21 goexit0: the goroutine rax has ended */
	WCBPF_SITE_GO_NETREADY = 10, /* runtime.netpollready: those who wait on the pollDesc rbx are about to be woken */
};

enum wcbpf_fetch_from {
	WCBPF_FROM_NONE = 0,
	WCBPF_FROM_REG = 1,   /* register reg, by DWARF number */
	WCBPF_FROM_CFA = 2,   /* the address CFA + at: arguments and results on the stack */
	WCBPF_FROM_CONST = 3, /* the value at; with memory an address */
};

enum wcbpf_value_type {
	WCBPF_VALUE_UINT = 1,	   /* bytes is 1, 2, 4 or 8 */
	WCBPF_VALUE_INT = 2,	   /* likewise, signed */
	WCBPF_VALUE_STRING = 3,	   /* at the address, up to a NUL, at most bytes */
	WCBPF_VALUE_GO_STRING = 4, /* address and length: of memory two words at the address, else registers reg and reg2 */
	WCBPF_VALUE_BYTES = 5,	   /* bytes of memory at the address */
};

/*
 * One value. It starts with `from`; each deref replaces what there is by the
 * word at it + deref[i]. Then, if memory, the value lies at it + last; else it
 * is the value itself (UINT, INT, GO_STRING), or its address (STRING, BYTES).
 */
struct wcbpf_fetch {
	__u8 from;	/* enum wcbpf_fetch_from */
	__u8 reg, reg2; /* DWARF numbers */
	__u8 type;	/* enum wcbpf_value_type */
	__u8 deref_n;
	__u8 memory;
	__u16 bytes;	/* at most WCBPF_VALUE_BYTES_MAX */
	__s32 deref[WCBPF_DEREFS_MAX];
	__s32 last;
	__u8 bit_n;	/* of a UINT or INT: only so many bits of it, */
	__u8 bit_at;	/* from this one on, 0 the lowest; bit_n 0: all. bit_at + bit_n is at most its bits */
	__u8 length_at; /* of GO_STRING in memory: how many words behind the address its length is; 0: one */
	__u8 pad;
	__s64 at;
};

enum wcbpf_site_flags {
	WCBPF_SITE_STACK = 1 << 0, /* take the user stack; GO_STATUS: if it is a wake */
	WCBPF_SITE_STEPPED = 1 << 1, /* the kernel single-steps its instruction: its hits are counted apart */
	/*
	 * A hit counts only if the flags meet `condition`: a conditional jump out of the function is an exit if it is taken; at
	 * Go's to where the stack grows, and from there back to the begin, the function is entered if it isn't.
	 */
	WCBPF_SITE_IF = 1 << 2,
};

struct wcbpf_site {
	__u32 point;
	__u32 flags;   /* enum wcbpf_site_flags */
	__u32 generation; /* of the link whose hits count, see WCBPF_COOKIE; while one link replaces another there are two */
	__u8 condition;	  /* x86's number of it, 0 to 15 */
	__u8 pad[3];
	__u8 kind;     /* enum wcbpf_site_kind */
	__u8 fetch_n;
	__u8 layout;   /* of Go's structures: index of layouts; 0: no Go code */
	__u8 cfa_reg;  /* DWARF number: 7 rsp, 6 rbp */
	__s32 cfa_off; /* at this instruction CFA is cfa_reg + cfa_off */
	struct wcbpf_fetch fetch[WCBPF_FETCHES_MAX];
};

/* What the link of a site gives its program: which site, and the link's generation. */
#define WCBPF_COOKIE(site, generation) ((__u64)(generation) << 32 | (site))

/* Without cookies (before 5.15): which sites an address of a process has. */
#define WCBPF_SITES_AT_MAX 4
struct wcbpf_address {
	__u64 address;
	__u32 tgid;
	__u32 pad;
};
struct wcbpf_sites_at {
	__u32 site[WCBPF_SITES_AT_MAX]; /* ends with 0 */
};

/* Hits of a point, counted whatever becomes of their events; [0] are those of the calibration. */
struct wcbpf_hits {
	__u64 entry_n; /* of entries, marks and sites of the Go runtime */
	__u64 exit_n;
	__u64 stepped_n; /* of all: at single-stepped instructions */
	__u64 other_n;	 /* by threads that are not traced, in no other number but stepped_n */
};

/* Where a Go runtime keeps what is needed; offsets in bytes. */
struct wcbpf_go_layout {
	__u16 stack_hi, m, status, goid, wait_reason, gopc, start_pc; /* in g */
	__u16 parent_goid; /* in g; 0: it has none (before 1.21) */
	__u16 curg;	   /* in m */
	__u8 wakes_by_status; /* casgstatus is probed and tells every wake; else ready does, but of files */
	__u8 unfollowed; /* the runtime isn't probed: what a thread runs is known at a hit of an op, and no longer */
	__u8 pad[4];
};

enum wcbpf_value_error {
	WCBPF_VALUE_READ = 0,
	WCBPF_VALUE_NOWHERE = 1, /* the site can't have it, or a pointer on the way is none; 0 bytes follow */
	WCBPF_VALUE_LOST = 2,	 /* memory on the way to it was not readable; 0 bytes follow */
	WCBPF_VALUE_ABSENT = 3,	 /* its own bytes were not readable: a struct wcbpf_value_place follows instead */
};

/* Where a string or bytes lie that were not readable: a constant's page that nobody has touched yet, say. */
struct wcbpf_value_place {
	__u64 address;
	__u64 bytes; /* how many are wanted, at most WCBPF_VALUE_BYTES_MAX */
};

/* A value as fetched: a header, then bytes padded to 8. A number is 8 bytes, extended by its sign if it has one. */
struct wcbpf_value {
	__u8 type;  /* enum wcbpf_value_type */
	__u8 error; /* enum wcbpf_value_error */
	__u16 len;  /* bytes that follow */
	__u32 total; /* bytes there were, of a string; more than len: cut */
};

#define WCBPF_OP_DATA_MAX (WCBPF_FETCHES_MAX * (8 + WCBPF_VALUE_BYTES_MAX))

/* A site was hit. */
struct wcbpf_op {
	struct wcbpf_head head;
	__u64 goid;	/* 0: not in a goroutine */
	__u64 cfa;	/* of the function's frame: what identifies the call among those open on this stack */
	__u64 stack_hi; /* Go: where the goroutine's stack ends; it moves, stack_hi - cfa does not. Else 0 */
	__u64 ustack_id; /* id of a WCBPF_EV_STACK, 0: none */
	__u32 tid, tgid;
	__u32 point;
	__u8 kind;	/* enum wcbpf_site_kind: ENTRY, EXIT, MARK */
	__u8 value_n;
	__u16 data_len;
	__u8 data[WCBPF_OP_DATA_MAX]; /* value_n times struct wcbpf_value and its bytes; head.size ends after data_len */
};

enum wcbpf_go_birth_flags {
	WCBPF_GO_SEEN_FIRST = 1 << 0, /* it was there before, nobody knows since when */
};

/* A goroutine was made, by a go statement; or is seen first. */
struct wcbpf_go_birth {
	struct wcbpf_head head;
	__u64 goid, parent_goid;
	__u64 start_pc, go_pc; /* of its function; of the go statement. 0: not known */
	__u32 tid, tgid;
	__u32 flags; /* enum wcbpf_go_birth_flags */
	__u32 pad;
};

enum wcbpf_go_flags {
	WCBPF_GO_BEGAN_BEFORE = 1 << 0, /* was waiting when recording began, or its park was not seen: park_ns is that moment */
	WCBPF_GO_OPEN_AT_END = 1 << 1,
	WCBPF_GO_RUNNABLE_ONLY = 1 << 2, /* it gave way, was preempted, or is new: it waited for nothing but to run */
	WCBPF_GO_WAKE_UNSEEN = 1 << 3,
	WCBPF_GO_WAKER_KNOWN = 1 << 4,
	WCBPF_GO_SYSCALL = 1 << 5, /* from the end of a system call (wake_ns) to running again */
	WCBPF_GO_EXITED = 1 << 6,  /* ended with its process, not by running again */
};

/* A goroutine did not run, from park_ns to head.time_ns. */
struct wcbpf_go_interval {
	struct wcbpf_head head;
	__u64 goid;
	__u64 park_ns, wake_ns; /* wake_ns 0: not seen */
	__u64 resource;	  /* gopark's lock argument: address of what it waits on, 0: none */
	__u64 ustack_id;  /* of the goroutine, when it parked */
	__u64 waker_goid; /* 0: no goroutine did it */
	__u64 waker_ustack_id;
	__u32 tid, tgid;  /* the thread that runs it now; OPEN_AT_END, EXITED: that had to do with it last */
	__u32 park_tid;	  /* the one that had to do with it before: ran or made it, saw it first */
	__u32 waker_tid;
	__u32 flags;	  /* enum wcbpf_go_flags */
	__u8 reason;	  /* the runtime's own number (waitReason) */
	__u8 waker_ctx;	  /* enum wcbpf_waker_ctx: TASK a goroutine, TIMER, NET the network poller, UNKNOWN the scheduler */
	__u8 pad[2];
};

struct wcbpf_go_death {
	struct wcbpf_head head;
	__u64 goid;
	__u32 tid, tgid;
};

#define WCBPF_GOROUTINES_MAX 131072 /* a program that has a hundred thousand that wait is none that hangs: servers do */

/* Of the map of goroutines, that userspace adds those to which were parked when it came. */
struct wcbpf_goroutine_key {
	__u32 tgid; /* kernel-wide */
	__u32 life; /* of that number, see goroutine_key_of() of go.bpf.h and wcbpf_seed.life */
	__u64 goid;
};
enum wcbpf_goroutine_phase { GOROUTINE_RUNNING, GOROUTINE_PARKED, GOROUTINE_RUNNABLE };
struct wcbpf_goroutine {
	__u64 goid;
	__u64 exec_id; /* its process's */
	__u64 since_ns; /* in this phase */
	__u64 wake_ns;
	__u64 resource, ustack_id;
	__u64 waker_goid, waker_ustack_id;
	__u32 tid, tgid, waker_tid; /* as the user sees them; tid: that ran it last */
	__u32 kernel_tid;	    /* likewise, kernel-wide */
	__u32 flags;		    /* WCBPF_GO_* */
	__u8 phase, reason, waker_ctx, pad;
};

/* Losses and oddities, one counter each, per CPU. */
enum wcbpf_counter {
	WCBPF_CNT_INTERVALS,	      /* attempted */
	WCBPF_CNT_EMITTED,	      /* intervals that reached the ring */
	WCBPF_CNT_BELOW_MIN,
	WCBPF_CNT_LOST_RING_FULL,     /* intervals */
	WCBPF_CNT_LOST_STACK_BODY,    /* stack bodies that found no room */
	WCBPF_CNT_LOST_RESOURCE_BODY,
	WCBPF_CNT_LOST_LIFECYCLE,     /* fork, exec, exit, thread totals */
	WCBPF_CNT_LOST_FUTEX_RESULT,
	WCBPF_CNT_THREADS_FULL,	      /* threads that could not be followed */
	WCBPF_CNT_WAKE_UNSEEN,
	WCBPF_CNT_CLOCK_BACK,	      /* intervals discarded: end before start */
	WCBPF_CNT_UNBALANCED,	      /* intervals whose switch-out was not seen: their time is in lost_ns */
	WCBPF_CNT_INFERRED,	      /* intervals whose switch-in was not seen, see WCBPF_IV_IN_INFERRED */
	WCBPF_CNT_SAMPLES,	      /* of traced threads, attempted */
	WCBPF_CNT_LOST_SAMPLES,	      /* of them without room in the ring */
	WCBPF_CNT_SKELETON_HITS,      /* kernel stacks known by a skeleton */
	WCBPF_CNT_SKELETON_CHECKS,    /* of them walked for comparison */
	WCBPF_CNT_SKELETON_WRONG,     /* of them found to be others */
	WCBPF_CNT_OPS,		      /* hits of choke points in traced threads, those of the Go runtime left out */
	WCBPF_CNT_LOST_OPS,	      /* of them without room in the ring */
	WCBPF_CNT_GO_EVENTS,	      /* births, intervals and deaths of goroutines, attempted */
	WCBPF_CNT_LOST_GO_EVENTS,
	WCBPF_CNT_GOROUTINES_FULL,    /* goroutines that could not be followed */
	WCBPF_CNT_MAX,
};

/* What a system call's arguments mean to the programs: one word of cfg_syscall_class. */
#define WCBPF_SC_FD(arg) ((arg) + 1)	   /* bits 0-3: the file descriptor is argument arg; 0: none */
#define WCBPF_SC_FD_MASK 0xf
#define WCBPF_SC_TIMEOUT(kind, arg) (((kind) << 4) | ((arg) << 8)) /* bits 4-7 kind, 8-11 argument */
#define WCBPF_SC_TIMEOUT_KIND(c) (((c) >> 4) & 0xf)
#define WCBPF_SC_TIMEOUT_ARG(c) (((c) >> 8) & 0xf)
#define WCBPF_SC_FUTEX (1 << 12)	   /* futex(2) */
#define WCBPF_SC_FUTEX2 (1 << 13)	   /* futex_wait, futex_waitv, futex_requeue: results, no owner */
#define WCBPF_SC_WAITV (1 << 15)	   /* argument 0: struct futex_waitv[argument 1] */
#define WCBPF_SC_POLL (1 << 14)		   /* argument 0: struct pollfd[argument 1] */
enum wcbpf_timeout_kind {
	WCBPF_TIMEOUT_NONE = 0,
	WCBPF_TIMEOUT_TIMESPEC = 1, /* pointer */
	WCBPF_TIMEOUT_TIMEVAL = 2,  /* pointer */
	WCBPF_TIMEOUT_MS = 3,	    /* value, negative: none */
};

enum wcbpf_iter_mode {
	WCBPF_ITER_LEARN, /* fill in what wcbpf_rt learns from wcbpf's own task */
	WCBPF_ITER_SEED,  /* take up the threads that are in scope: struct wcbpf_seed each */
	WCBPF_ITER_CLOSE, /* end of recording: open intervals, totals */
	WCBPF_ITER_LOOK,  /* recording goes on: intervals that are open at look_ns, as if they ended then */
};

/* What the programs do. */
enum wcbpf_on {
	WCBPF_OFF,
	WCBPF_ON,
	WCBPF_CLOSING, /* after end_ns: a thread that comes back ends its open interval, for its stack is about to go */
};

#define WCBPF_CALIBRATION_FROZEN_MAX 8
#define WCBPF_CALIBRATION_WORDS 64

/* Run-time state shared by mapping the object's .bss. */
struct wcbpf_rt {
	__u32 on;		/* enum wcbpf_on */
	__u32 iter_mode;	/* enum wcbpf_iter_mode */
	__u64 begin_ns, end_ns; /* of the recording */
	__u64 look_ns;		/* of WCBPF_ITER_LOOK */
	__u64 learned_ns;	/* the programs' clock during WCBPF_ITER_LEARN */
	/* The kernel's code, its scheduler functions, and its lock functions; bytes 0: not known. */
	__u64 text, text_bytes;
	__u64 sched_text, sched_text_bytes, lock_text, lock_text_bytes;
	__u64 pidns;		/* our PID namespace's address */
	__u32 pidns_level;
	__u32 self_tgid;	/* kernel-wide */
	__s32 learn_fds[WCBPF_FOPS_MAX];  /* in: files of our own, by enum wcbpf_fop_kind; -1: none */
	__u64 fops[WCBPF_FOPS_MAX];	  /* out: their f_op */
	/* Thread flag bits that are set from a switch until the return to user mode: tell one system call from the next. */
	__u64 same_call_mask;
	/* Bit of the preempt count that is set in hard interrupts alone; 0: the tracepoints must tell. */
	__u32 hardirq_mask;
	__u32 hardirq_bits, hardirq_n; /* calibration: set in all of n hard interrupts (starts with all ones) */
	__u32 task_bits;	       /* calibration: set in some task's switch */
	__u32 calibrating;	/* tid of the thread of ours whose blocking switches' flags are recorded; 0: none */
	__u32 calibration_n;
	__u64 calibration_flags[16];
	/* Of that thread's stack at its switches-in: as many as fit. */
	__u32 frozen_n;
	__u32 skeleton_checks; /* of WCBPF_SKELETON_CHECK_OF */
	__u64 frozen[WCBPF_CALIBRATION_FROZEN_MAX][WCBPF_CALIBRATION_WORDS];
	__u64 regs_offset; /* from the begin of a thread's kernel stack to its user registers */
	__u32 key_at[2]; /* places of a skeleton key's words; 0: no skeletons are used */
	__u32 probing_tid; /* calibration: our thread that calls a probed function; 0: none */
	__u32 go_off;	   /* goroutines are followed no more: what threads ran is not known */
	__u32 fork_wakes;  /* userspace hears at once of new processes: it has to attach probes to them */
	/* which goroutines an iteration closes: of this process, with programs before this exec (0: all), at that time */
	__u32 go_close_flags;
	__u32 go_close_tgid; /* 0: of all */
	__u32 never;	     /* 0, always: for what the verifier is to believe may happen */
	__u64 go_close_exec_id, go_close_ns;
};

#ifndef __cplusplus
_Static_assert(sizeof(struct wcbpf_head) == 16, "wire layout");
_Static_assert(sizeof(struct wcbpf_interval) == 208, "wire layout");
_Static_assert(sizeof(struct wcbpf_stack) == 56 + 8 * (WCBPF_REGS_MAX + WCBPF_STACK_DEPTH_MAX) + WCBPF_STACK_COPY_MAX, "wire layout");
_Static_assert(sizeof(struct wcbpf_skeleton) == 16 + 10 * WCBPF_SKELETON_SLOTS_MAX, "wire layout");
_Static_assert(sizeof(struct wcbpf_skeleton_key) == 24, "wire layout");
_Static_assert(sizeof(struct wcbpf_variants) == 4 * WCBPF_VARIANTS_MAX, "wire layout");
_Static_assert(sizeof(struct wcbpf_proc) == 24, "wire layout");
_Static_assert(sizeof(struct wcbpf_mapent) == 48, "wire layout");
_Static_assert(sizeof(struct wcbpf_dir) == 8, "wire layout");
_Static_assert(sizeof(struct wcbpf_row) == 4, "wire layout");
_Static_assert(sizeof(struct wcbpf_rule) == 12, "wire layout");
_Static_assert(sizeof(struct wcbpf_resource) == 184, "wire layout");
_Static_assert(sizeof(struct wcbpf_fork) == 72, "wire layout");
_Static_assert(sizeof(struct wcbpf_exec) == 64 + WCBPF_ARGV_MAX, "wire layout");
_Static_assert(sizeof(struct wcbpf_exit) == 32, "wire layout");
_Static_assert(sizeof(struct wcbpf_thread_totals) == 128, "wire layout");
_Static_assert(sizeof(struct wcbpf_futex_result) == 48, "wire layout");
_Static_assert(sizeof(struct wcbpf_sample) == 64, "wire layout");
_Static_assert(sizeof(struct wcbpf_fetch) == 48, "wire layout");
_Static_assert(sizeof(struct wcbpf_site) == 24 + 48 * WCBPF_FETCHES_MAX, "wire layout");
_Static_assert(sizeof(struct wcbpf_go_layout) == 24, "wire layout");
_Static_assert(sizeof(struct wcbpf_address) == 16, "wire layout");
_Static_assert(sizeof(struct wcbpf_hits) == 32, "wire layout");
_Static_assert(sizeof(struct wcbpf_value) == 8, "wire layout");
_Static_assert(sizeof(struct wcbpf_op) == 64 + WCBPF_OP_DATA_MAX, "wire layout");
_Static_assert(sizeof(struct wcbpf_go_birth) == 64, "wire layout");
_Static_assert(sizeof(struct wcbpf_go_interval) == 96, "wire layout");
_Static_assert(sizeof(struct wcbpf_go_death) == 32, "wire layout");
_Static_assert(sizeof(struct wcbpf_goroutine_key) == 16, "wire layout");
_Static_assert(sizeof(struct wcbpf_goroutine) == 88, "wire layout");
_Static_assert(sizeof(struct wcbpf_seed) == 152 + 8 * WCBPF_REGS_MAX, "wire layout");
#endif
