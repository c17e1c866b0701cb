/* SPDX-License-Identifier: (LGPL-2.1 OR BSD-2-Clause) */
#pragma once
/* Emitting events: reserve, fill, submit; a full ring is counted by the caller. */
#include "config.bpf.h"
#include "maps.bpf.h"

/*
 * The reader drains on a timer. Waking it costs an interrupt, so it is woken
 * only when a ring fills faster than that.
 */
static __always_inline __u64 ring_flags(void *ring)
{
	return bpf_ringbuf_query(ring, BPF_RB_AVAIL_DATA) >= cfg_wakeup_bytes ? BPF_RB_FORCE_WAKEUP : BPF_RB_NO_WAKEUP;
}

static __always_inline void *ring_of_cpu(void)
{
	__u32 cpu = bpf_get_smp_processor_id();

	return bpf_map_lookup_elem(&rings, &cpu);
}

static __always_inline void head_fill(struct wcbpf_head *head, enum wcbpf_event_kind kind, __u32 size, __u64 now)
{
	head->kind = kind;
	head->cpu = bpf_get_smp_processor_id();
	head->size = size;
	head->time_ns = now;
}
