/* SPDX-License-Identifier: (LGPL-2.1 OR BSD-2-Clause) */
#pragma once
/*
 * Every map. All are preallocated: the programs run under the run-queue lock,
 * where allocating could deadlock.
 */
#include "compat.bpf.h"

enum thread_phase { PHASE_ONCPU, PHASE_OFF, PHASE_NEW, PHASE_DEAD };

/* A traced thread, by its kernel-wide tid. Written at its own switches, but for the wake fields: by the waker. */
struct thread {
	__u64 task; /* address of its task_struct: exec swaps tids between tasks */
	__u64 start_ns;
	__u64 exec_id; /* task->self_exec_id as of its last exec that is over */
	__u64 begin_ns;
	__u64 last_ns; /* since when in this phase */
	__u64 oncpu_ns, runnable_ns, blocked_ns, lost_ns;
	__u64 exec_ns; /* the kernel's run time of the thread (se.sum_exec_runtime) when it last left the CPU */
	__u64 goid; /* the goroutine it runs, 0: none or not known */
	__u64 out_goid; /* when it left the CPU */
	__u64 park_ustack_id; /* of that goroutine, which is about to park or wakes another */
	/* the off-CPU interval under way */
	__u64 out_ns;
	__u64 kstack_id; /* walked at switch-out: with raw_tp, or see leaving_walk_due(); else 0 */
	__u64 ustack_id, resource_id;
	/* what was sent last, and the file the resource id stands for */
	__u64 kstack_sent, ustack_sent, resource_sent;
	__u64 resource_file, resource_inode, resource_ino, resource_private;
	__u32 resource_generation;
	__u32 pad2;
	__u64 resource_last;
	__u64 args[6];
	__u64 call_ip, call_sp;
	__s64 timeout_ns;
	__u32 flags; /* WCBPF_IV_* */
	__u32 state;
	__s32 syscall;
	__u32 owner_tid;
	__u32 seq;
	__u16 cpu_out;
	__u8 phase;
	__u8 futex_pending; /* blocked in a futex call that has not returned */
	/* the last wake */
	__u64 wake_ns;
	__u32 waker_tid, waker_tgid;
	__u32 waker_irq;
	__u32 waker_ctx;
	__u64 waker_ustack_id;
	__u32 wake_signal; /* WCBPF_IV_SIGNAL, WCBPF_IV_KILLED: it was a signal that woke */
	char waker_comm[WCBPF_COMM_LEN];
	char comm[WCBPF_COMM_LEN]; /* its own when it left the CPU; "" if it was off when recording began */
	__u8 known_calls[8]; /* calls whose kernel stack was recognized by a skeleton, see call_tag() */
	/* identity and counts */
	__u32 tid, tgid; /* as the user sees them */
	__u32 interval_n, lost_n, below_min_n, voluntary_n, involuntary_n;
	__u32 twin; /* the site whose hit a newer link's program has left to an older one's; 0: none */
	__u8 seeded;
	__u8 exiting;
	__u8 kthread;
	__u8 held; /* see cfg_hold */
	__u8 closed; /* its totals were written at the end of recording */
	__u8 pad3;
	__u8 to_other; /* the CPU went to a thread that is not traced */
	__u8 closed_interval; /* so was the interval that was open then */
};

struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, 65536);
	__type(key, __u32);
	__type(value, struct thread);
} threads SEC(".maps");

/* Processes in scope, by kernel-wide tgid: their threads are taken up whenever they are seen. */
struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, 16384);
	__type(key, __u32);
	__type(value, __u8);
} targets SEC(".maps");

/* What the user named with -p or -t: PIDs or TIDs as the user sees them. */
struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, 1024);
	__type(key, __u32);
	__type(value, __u8);
} wanted SEC(".maps");

/* Ids of stacks and resources whose bodies were sent. Forgetting one costs a resend, no loss. */
struct {
	__uint(type, BPF_MAP_TYPE_LRU_HASH);
	__uint(max_entries, 131072);
	__type(key, __u64);
	__type(value, __u8);
} seen SEC(".maps");

/* One ring a CPU, made by userspace. */
struct ring {
	__uint(type, BPF_MAP_TYPE_RINGBUF);
	__uint(max_entries, 4096);
};
struct {
	__uint(type, BPF_MAP_TYPE_ARRAY_OF_MAPS);
	__uint(max_entries, 1);
	__type(key, __u32);
	__array(values, struct ring);
} rings SEC(".maps");

/* fork, exec, exit and thread totals have their own ring: a flood of switches can't drown an end. */
struct {
	__uint(type, BPF_MAP_TYPE_RINGBUF);
	__uint(max_entries, 4 << 20);
} lifecycle SEC(".maps");

/*
 * Its key in threads, by the address of a task. A thread that is no leader and
 * calls execve has the leader's tid some time before the exec is reported.
 */
struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, 65536);
	__type(key, __u64);
	__type(value, __u32);
} tids_of_tasks SEC(".maps");

/*
 * A thread's entry before anything is known: the programs' own stack is too small for one. Never written but [1]: that
 * of wcbpf's own thread that measures what a hit costs.
 */
struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 2);
	__type(key, __u32);
	__type(value, struct thread);
} blank SEC(".maps");

/* The tables for unwinding, see wire.h. One element each, so that userspace can map them and fill them like memory. */
struct mapents {
	struct wcbpf_mapent v[WCBPF_MAPENTS_MAX];
};
struct dirs {
	struct wcbpf_dir v[WCBPF_DIRS_MAX];
};
struct rules {
	struct wcbpf_rule v[WCBPF_RULES_MAX];
};
struct shard {
	struct wcbpf_row v[WCBPF_SHARD_ROWS];
};
struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 1);
	__uint(map_flags, BPF_F_MMAPABLE);
	__type(key, __u32);
	__type(value, struct mapents);
} mapents SEC(".maps");
struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 1);
	__uint(map_flags, BPF_F_MMAPABLE);
	__type(key, __u32);
	__type(value, struct dirs);
} dirs SEC(".maps");
struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 1);
	__uint(map_flags, BPF_F_MMAPABLE);
	__type(key, __u32);
	__type(value, struct rules);
} rules SEC(".maps");
struct shard_map {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 1);
	__uint(map_flags, BPF_F_MMAPABLE);
	__uint(key_size, sizeof(__u32));
	__uint(value_size, sizeof(struct shard)); /* a type would become a forward declaration */
};
struct {
	__uint(type, BPF_MAP_TYPE_ARRAY_OF_MAPS);
	__uint(max_entries, WCBPF_SHARDS_MAX);
	__type(key, __u32);
	__array(values, struct shard_map);
} shards SEC(".maps");
/* Processes that have tables, by tgid as the user sees it. */
struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, 16384);
	__type(key, __u32);
	__type(value, struct wcbpf_proc);
} procs SEC(".maps");

/* Skeletons of kernel stacks, see wire.h: made by userspace, [0] is none. */
struct skeletons {
	struct wcbpf_skeleton v[WCBPF_SKELETONS_MAX];
};
struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 1);
	__uint(map_flags, BPF_F_MMAPABLE);
	__type(key, __u32);
	__type(value, struct skeletons);
} skeletons SEC(".maps");
struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, WCBPF_SKELETONS_MAX);
	__type(key, struct wcbpf_skeleton_key);
	__type(value, struct wcbpf_variants);
} skeleton_keys SEC(".maps");
/* How many stacks were walked, by id: some are sent as specimens to learn from. */
struct {
	__uint(type, BPF_MAP_TYPE_LRU_HASH);
	__uint(max_entries, 16384);
	__type(key, __u64);
	__type(value, __u32);
} specimens SEC(".maps");

/* Rules found lately: most addresses come again and again. */
#define RULE_CACHE_N 4096
struct rule_cached {
	__u64 addr;
	__u32 gen, rule;
};
struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, RULE_CACHE_N);
	__type(key, __u32);
	__type(value, struct rule_cached);
} rule_cache SEC(".maps");

/* A register of the frame a walk has come to. */
struct saved_reg {
	__u64 value;
	__u64 at;  /* the address it was saved at, 0: value is known */
	__u8 lost; /* not saved where the rules could tell */
	__u8 pad[7];
};
struct walk {
	struct wcbpf_proc proc;
	__u64 pc, sp;
	struct saved_reg bp, bx;
	__u8 exact;  /* pc is what runs next, not what was called from */
	__u8 tables; /* false: by frame pointers alone */
	__u8 pending; /* has met a file whose tables are not made yet */
	__u8 pad[5];
};

/* Room that a program's own 512 bytes don't have. */
#define COPY_CHUNK 4096
struct scratch {
	struct wcbpf_stack stack;
	__u8 slack[COPY_CHUNK]; /* behind stack.copy: see stack_copy() */
	struct wcbpf_resource resource;
	struct regs regs;
	struct wcbpf_interval interval;
	struct thread open; /* a copy, of one whose interval goes on: see iter_look() */
	struct walk walk;
	__u32 kernel_part, kernel_first; /* frames_caller_find()'s: in memory, so that the verifier need not follow them */
};
/*
 * Scheduler programs (interrupts off); iterators, which those may interrupt; the sampling timer, which may interrupt these.
 * Programs of choke points may be preempted by one another: each claims one of several.
 */
#define SITE_SLOTS 4
enum scratch_user { SCRATCH_SCHED, SCRATCH_ITER, SCRATCH_SAMPLE, SCRATCH_SITE, SCRATCH_USERS = SCRATCH_SITE + SITE_SLOTS };
struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, SCRATCH_USERS);
	__type(key, __u32);
	__type(value, struct scratch);
} scratches SEC(".maps");

static __always_inline struct scratch *scratch_get(enum scratch_user user)
{
	__u32 key = user;

	return bpf_map_lookup_elem(&scratches, &key);
}

/* How many stacks this CPU has copied in this stretch of time. */
struct copies {
	__u64 since_ns;
	__u64 n;
};
struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, struct copies);
} copy_counts SEC(".maps");

/* ---- choke points: made small before loading when there are none ---- */

/* What is probed, by site number: made by userspace, [0] is none. */
struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, WCBPF_SITES_MAX);
	__type(key, __u32);
	__type(value, struct wcbpf_site);
} sites SEC(".maps");
/* Where programs get no cookies. */
struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, WCBPF_SITES_MAX);
	__type(key, struct wcbpf_address);
	__type(value, struct wcbpf_sites_at);
} sites_at SEC(".maps");
struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, WCBPF_GO_LAYOUTS_MAX);
	__type(key, __u32);
	__type(value, struct wcbpf_go_layout);
} go_layouts SEC(".maps");
struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, WCBPF_POINTS_MAX);
	__type(key, __u32);
	__type(value, struct wcbpf_hits);
} hits SEC(".maps");

/* An event in the making. Behind its data is room that the verifier wants: it bounds offset and length each, not their sum. */
#define DATA_MASK 4095
struct site_scratch {
	struct wcbpf_op op;
	__u8 slack[DATA_MASK + 1 + 8 + 2 * WCBPF_VALUE_BYTES_MAX + 8 - WCBPF_OP_DATA_MAX];
	__u64 regs[32]; /* by DWARF number, as many as there are */
	__u32 len;	/* of the data so far */
	__u32 pad;
};
struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, SITE_SLOTS);
	__type(key, __u32);
	__type(value, struct site_scratch);
} site_scratches SEC(".maps");
/* Empty: see stack_own(). */
struct {
	__uint(type, BPF_MAP_TYPE_PROG_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, __u32);
} no_programs SEC(".maps");
/* Which of these, and of scratches from SCRATCH_SITE on, are in use. */
struct site_claims {
	__u32 busy[SITE_SLOTS];
};
struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, struct site_claims);
} site_claims SEC(".maps");

/* Goroutines, while they live. Those of a process that has ended, or has another program now, are removed by userspace. */
struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, WCBPF_GOROUTINES_MAX);
	__type(key, struct wcbpf_goroutine_key);
	__type(value, struct wcbpf_goroutine);
} goroutines SEC(".maps");

struct counters {
	__u64 n[WCBPF_CNT_MAX];
};
struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, struct counters);
} counts SEC(".maps");

/* What this CPU is doing besides its task, for telling a waker's context. */
#define SOFTIRQS 10
struct origin {
	__u32 tid, tgid; /* kernel-wide; tid 0: an interrupt */
	__u32 ambiguous; /* raised by several since it last ran */
	__u32 raised;
};
struct cpu_context {
	__u32 irq;	 /* number + 1 of the handler that runs, 0: none */
	__u32 hrtimer;	 /* an hrtimer's function runs */
	__u32 softirq;	 /* vector + 1, 0: none */
	__u32 pad;
	struct origin raised[SOFTIRQS];
	struct origin running;
};
struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, struct cpu_context);
} cpu_contexts SEC(".maps");

static __always_inline void count(enum wcbpf_counter which)
{
	__u32 zero = 0;
	struct counters *c = bpf_map_lookup_elem(&counts, &zero);

	if (c)
		c->n[which]++;
}
