/* SPDX-License-Identifier: (LGPL-2.1 OR BSD-2-Clause) */
/*
 * A sample says that its thread was there at one moment, and nothing of how
 * long: samples are counted. Their weight is found when the thread's time on
 * the CPU is known, by whoever shows them.
 *
 * A sample may come after its thread's exit event: what a thread does to end
 * itself is its own time too.
 */
#include "assemble/samples.h"

#include <errno.h>
#include <string.h>

#include "assemble/threads.h"
#include "util/vec.h"

/* No padding: hashed as bytes. */
struct sample_key {
	uint32_t thread, kstack, ustack, comm_id;
	int32_t syscall;
};

static bool sample_is(const struct model_sample *s, const struct sample_key *key)
{
	return s->thread == key->thread && s->kstack == key->kstack && s->ustack == key->ustack &&
	       s->comm_id == key->comm_id && s->syscall == key->syscall;
}

static int sample_index(struct assemble *a, const struct sample_key *key, uint32_t *ret)
{
	uint64_t hash = assemble_hash(key, sizeof(*key)), first = 0;
	uint32_t sample;

	map_get(a->sample_hashes, hash, &first);
	for (sample = (uint32_t)first; sample; sample = a->sample_next[sample]) {
		if (sample_is(&a->m->samples[sample], key)) {
			*ret = sample;
			return 0;
		}
	}
	if (VEC_RESERVE(a->sample_next, a->sample_cap, a->m->sample_n + 1) < 0 ||
	    map_put(a->sample_hashes, hash, first) < 0 || model_sample_add(a->m, &sample) < 0)
		return -ENOMEM;
	map_put(a->sample_hashes, hash, sample); /* replaces a value: takes no memory */
	a->sample_next[sample] = (uint32_t)first;
	a->m->samples[sample] = (struct model_sample){
		.thread = key->thread,
		.kstack = key->kstack,
		.ustack = key->ustack,
		.comm_id = key->comm_id,
		.syscall = key->syscall,
	};
	*ret = sample;
	return 0;
}

int assemble_sample(struct assemble *a, const struct wcbpf_sample *e)
{
	struct assemble_span span = {
		.from_ns = e->head.time_ns,
		.to_ns = e->head.time_ns,
		.dying = e->flags & WCBPF_SM_EXITING || assemble_outlives_process(a, e->tid, e->tgid, e->head.time_ns),
	};
	struct sample_key key = { .syscall = e->syscall < 0 ? -1 : e->syscall };
	char comm[WCBPF_COMM_LEN + 1] = { 0 };
	uint32_t sample;

	if (!e->tid || !e->tgid)
		return -EBADMSG;
	if (assemble_is_off(a, e->head.time_ns)) {
		a->off_sample_n++;
		return 0;
	}
	memcpy(comm, e->comm, WCBPF_COMM_LEN);
	span.comm = comm;
	if (assemble_thread_for(a, e->tid, e->tgid, &span, &key.thread) < 0 ||
	    assemble_thread_name(a, key.thread, e->comm) < 0 ||
	    assemble_stack_index(a, STACK_KERNEL, e->kstack_id, &key.kstack) < 0 ||
	    assemble_stack_index(a, STACK_USER, e->ustack_id, &key.ustack) < 0)
		return -ENOMEM;
	a->threads[key.thread].seen = true;
	key.comm_id = a->m->threads[key.thread].comm_id;
	if (sample_index(a, &key, &sample) < 0)
		return -ENOMEM;
	/* Of so many that there is no place for their times the counts are still right. */
	if (model_sample_time_add(a->m, sample, assemble_relative(a, e->head.time_ns)) == -ENOMEM)
		return -ENOMEM;
	a->m->samples[sample].count++;
	a->m->threads[key.thread].sample_n++;
	a->m->integrity.recorded_samples++;
	if (e->flags & (WCBPF_SM_KSTACK_FAILED | WCBPF_SM_USTACK_FAILED))
		a->m->integrity.failed_sample_stacks++;
	return 0;
}

void assemble_samples_finish(struct assemble *a)
{
	struct model *m = a->m;

	for (size_t i = 1; i < m->sample_n; i++) {
		const struct model_sample *s = &m->samples[i];

		if ((s->kstack && !m->stacks[s->kstack].resolved) || (s->ustack && !m->stacks[s->ustack].resolved))
			m->integrity.failed_sample_stacks += s->count;
	}
}
