/* SPDX-License-Identifier: (LGPL-2.1 OR BSD-2-Clause) */
/* Where a futex's owner lies is as for the programs: see owner_read() in bpf/offcpu.bpf.h. */
#include "capture/owners.h"

#include <errno.h>
#include <linux/futex.h>
#include <sys/syscall.h>
#include <sys/uio.h>

#include "util/cleanup.h"
#include "util/map.h"

struct owners {
	struct map *by_tid; /* owner's tid */
};

int owners_new(struct owners **ret)
{
	_cleanup_(freep) struct owners *o = calloc(1, sizeof(*o));
	int err;

	if (!o)
		return -ENOMEM;
	err = map_new(&o->by_tid);
	if (err)
		return err;
	*ret = TAKE_PTR(o);
	return 0;
}

struct owners *owners_free(struct owners *o)
{
	if (!o)
		return NULL;
	map_free(o->by_tid);
	free(o);
	return NULL;
}

/* Address of the word with the owner, 0: this call has none. */
static uint64_t owner_word(const struct wcbpf_seed *s)
{
	if (s->syscall != SYS_futex || !s->state)
		return 0;
	switch (s->args[1] & FUTEX_CMD_MASK) {
	case FUTEX_WAIT:
	case FUTEX_WAIT_BITSET:
		return s->args[0] + 8;
	case FUTEX_LOCK_PI:
	case FUTEX_LOCK_PI2:
		return s->args[0];
	}
	return 0;
}

int owners_note(struct owners *o, const struct wcbpf_seed *seed)
{
	uint64_t at = owner_word(seed);
	uint32_t owner;
	struct iovec local = { &owner, sizeof(owner) }, remote = { (void *)(uintptr_t)at, sizeof(owner) };

	if (!at || process_vm_readv(seed->tgid, &local, 1, &remote, 1, 0) != sizeof(owner))
		return 0;
	return map_put(o->by_tid, seed->tid, owner & FUTEX_TID_MASK);
}

void owners_fill(struct owners *o, struct wcbpf_interval *e, bool over)
{
	uint64_t owner;

	if (!(e->flags & WCBPF_IV_BEGAN_BEFORE) || !map_get(o->by_tid, e->tid, &owner))
		return;
	if (over)
		map_remove(o->by_tid, e->tid, NULL);
	e->owner_tid = owner;
	e->flags |= WCBPF_IV_OWNER_READ;
}
