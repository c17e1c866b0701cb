/* SPDX-License-Identifier: (LGPL-2.1 OR BSD-2-Clause) */
#pragma once
/* What userspace decides: constants before load (cfg_*), and what is learned while running (rt). */
#include "wire.h"

enum cfg_scope { CFG_SCOPE_PIDS, CFG_SCOPE_TIDS, CFG_SCOPE_CGROUP, CFG_SCOPE_ALL };

const volatile __u32 cfg_scope;
const volatile bool cfg_inherit;
const volatile bool cfg_hold; /* record: the seeded thread counts from its exec on, not from the launcher's gate */
const volatile __s32 cfg_restart_syscall; /* the number of restart_syscall(2) */
const volatile __u32 cfg_ustack;   /* enum wcbpf_ustack */
const volatile bool cfg_waker_stacks;
const volatile __u32 cfg_copies_max; /* stacks copied a CPU and COPY_PERIOD_NS */
const volatile bool cfg_has_prev_state; /* sched_switch's fourth argument, 5.18+ */
const volatile __s64 cfg_preempt_count_distance; /* from a CPU's run queue to its preempt count; 0: unknown */
const volatile __u64 cfg_min_ns;
const volatile __u64 cfg_cgroup_id;
const volatile __u32 cfg_wakeup_bytes; /* ring fill at which userspace is woken */
const volatile __u16 cfg_syscall_class[WCBPF_SYSCALLS_MAX]; /* WCBPF_SC_*, by system call number */

struct wcbpf_rt rt;
