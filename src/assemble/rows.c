/* SPDX-License-Identifier: (LGPL-2.1 OR BSD-2-Clause) */
/*
 * A row keeps of a call's arguments only what decides its reason and kind, as
 * flags: addresses and file descriptors would make a row of each interval.
 */
#include "assemble/rows.h"

#include <fcntl.h>
#include <linux/futex.h>
#include <linux/sched.h>
#include <string.h>

#include "assemble/goroutines.h"
#include "assemble/resource.h"
#include "assemble/syscall.h"
#include "assemble/threads.h"
#include "util/vec.h"

/* linux/wait.h clashes with libc's */
#define WAITID_P_PID 1
/* glibc's low-level lock: locked, with waiters (sysdeps/nptl/lowlevellock.h) */
#define LLL_LOCKED_CONTENDED 2

/* Facts of a call, as far as its sort has any. */
struct call_facts {
	enum syscall_sort sort;
	uint32_t flags; /* enum row_flags */
	uint32_t futex_op;
	struct ident_key ident;
};

static bool futex_waits(uint32_t op)
{
	return (op & FUTEX_CMD_MASK) == FUTEX_WAIT || (op & FUTEX_CMD_MASK) == FUTEX_WAIT_BITSET;
}

/* Several at once are in memory: only the first one's address is known. */
bool assemble_futex_val(const struct wcbpf_interval *e, uint32_t *ret)
{
	uint32_t command = (uint32_t)e->args[1] & FUTEX_CMD_MASK;

	if (e->flags & (WCBPF_IV_PREEMPTED | WCBPF_IV_NEW_THREAD))
		return false;
	switch (syscall_sort(e->syscall)) {
	case SYSCALL_FUTEX:
		if (command != FUTEX_WAIT && command != FUTEX_WAIT_BITSET && command != FUTEX_WAIT_REQUEUE_PI)
			return false;
		*ret = (uint32_t)e->args[2];
		return true;
	case SYSCALL_FUTEX_WAIT:
		*ret = (uint32_t)e->args[1];
		return true;
	default:
		return false;
	}
}

/*
 * pthread_join() waits, with a shared operation, until the kernel clears the
 * word that holds the joined thread's tid. It may be a tail call, which leaves
 * no frame: so the value is asked, not only the stack.
 */
static void futex_call(const struct assemble *a, uint32_t process, const struct wcbpf_interval *e, struct call_facts *c)
{
	uint32_t value;

	c->futex_op = (uint32_t)e->args[1];
	if (c->sort == SYSCALL_FUTEX_WAIT)
		c->futex_op = FUTEX_WAIT_BITSET | ((uint32_t)e->args[3] & FUTEX_PRIVATE_FLAG);
	c->ident.kind = IDENT_FUTEX;
	c->ident.address = e->args[0];
	if (c->sort == SYSCALL_FUTEX_WAITV) {
		/* known by the first of its futexes, see wire.h; none: the list could not be read */
		c->futex_op = (uint32_t)e->args[4] & FUTEX_PRIVATE_FLAG;
		c->ident.address = e->args[5];
		c->ident.kind = e->args[5] ? IDENT_FUTEX : IDENT_NONE;
		c->ident.process = c->futex_op ? process : 0;
		return;
	}
	c->ident.process = c->futex_op & FUTEX_PRIVATE_FLAG ? process : 0;
	if (!futex_waits(c->futex_op) || !assemble_futex_val(e, &value))
		return;
	if (!(c->futex_op & FUTEX_PRIVATE_FLAG) && value != e->tid) {
		c->ident.thread = assemble_thread_in(a, value, process, e->out_ns);
		c->flags |= c->ident.thread ? ROW_JOIN : 0;
	}
	if (value == LLL_LOCKED_CONTENDED && (e->flags & WCBPF_IV_OWNER_READ) && e->owner_tid &&
	    assemble_thread_in(a, e->owner_tid, process, e->out_ns))
		c->flags |= ROW_OWNER_KNOWN;
}

static void child_call(const struct assemble *a, const struct wcbpf_interval *e, struct call_facts *c)
{
	int32_t pid = 0;

	if (c->sort == SYSCALL_WAIT4)
		pid = (int32_t)e->args[0];
	else if ((int32_t)e->args[0] == WAITID_P_PID)
		pid = (int32_t)e->args[1];
	c->ident.kind = IDENT_CHILD;
	c->ident.process = pid > 0 ? assemble_process_at(a, (uint32_t)pid, e->out_ns) : 0;
}

static bool waits_for_no_file(enum syscall_sort sort, const __u64 *args)
{
	if (sort == SYSCALL_POLL)
		return (uint32_t)args[1] == 0;
	return (int32_t)args[0] == 0 || (!args[1] && !args[2] && !args[3]);
}

static int call_of(struct assemble *a, uint32_t process, const struct wcbpf_interval *e, struct call_facts *ret)
{
	struct call_facts c = { .sort = syscall_sort(e->syscall) };
	uint32_t resource;

	if (assemble_resource_index(a, e->resource_id, &resource) < 0)
		return -ENOMEM;
	switch (c.sort) {
	case SYSCALL_FUTEX:
	case SYSCALL_FUTEX_WAIT:
	case SYSCALL_FUTEX_WAITV:
		futex_call(a, process, e, &c);
		break;
	case SYSCALL_WAIT4:
	case SYSCALL_WAITID:
		child_call(a, e, &c);
		break;
	case SYSCALL_SLEEP:
		c.ident.kind = IDENT_SLEEP;
		break;
	case SYSCALL_POLL:
	case SYSCALL_SELECT:
		if (waits_for_no_file(c.sort, e->args)) {
			c.flags |= ROW_NO_FILES;
			c.ident.kind = IDENT_SLEEP;
		}
		break;
	case SYSCALL_FCNTL:
		c.flags |= (int32_t)e->args[1] == F_SETLKW || (int32_t)e->args[1] == F_OFD_SETLKW ? ROW_LOCK_FILE : 0;
		break;
	case SYSCALL_CLONE:
		c.flags |= e->args[0] & CLONE_VFORK ? ROW_VFORK : 0;
		break;
	default:
		break;
	}
	if ((c.sort == SYSCALL_OTHER || c.sort == SYSCALL_FCNTL || (c.sort == SYSCALL_FILE && !resource)) &&
	    e->syscall >= 0 && (e->flags & WCBPF_IV_WAKER_KNOWN) && e->waker_ctx == WCBPF_WAKER_DISK)
		c.flags |= ROW_DISK;
	if (c.ident.kind == IDENT_NONE && resource)
		c.ident = (struct ident_key){ .kind = IDENT_RESOURCE, .resource = resource };
	*ret = c;
	return 0;
}

int assemble_row_index(struct assemble *a, const struct row_key *key, uint32_t resource, uint32_t *ret)
{
	uint64_t hash = assemble_hash(key, sizeof(*key)), first = 0;
	uint32_t row;

	map_get(a->row_hashes, hash, &first);
	for (row = (uint32_t)first; row; row = a->rows[row].next) {
		if (memcmp(&a->rows[row].key, key, sizeof(*key)) == 0) {
			*ret = row;
			return 0;
		}
	}
	if (VEC_RESERVE(a->rows, a->row_cap, a->m->row_n + 1) < 0 || map_put(a->row_hashes, hash, first) < 0 ||
	    model_row_add(a->m, &row) < 0)
		return -ENOMEM;
	map_put(a->row_hashes, hash, row); /* replaces a value: takes no memory */
	a->rows[row] = (struct row_state){ .key = *key, .next = (uint32_t)first, .resource = resource };
	a->m->rows[row] = (struct model_row){
		.comm_id = key->comm_id,
		.thread = key->thread,
		.kstack = key->kstack,
		.ustack = key->ustack,
		.state = key->state,
		.syscall = key->syscall,
		.reason = REASON_OTHER,
		.parked = key->go_reason != 0,
		.has_futex_op = syscall_sort(key->syscall) == SYSCALL_FUTEX && !(key->flags & (ROW_PREEMPTED | ROW_NEW_THREAD)),
	};
	if (a->m->rows[row].has_futex_op)
		a->m->rows[row].futex_op = key->futex_op;
	*ret = row;
	return 0;
}

/* A thread of a Go program without a goroutine looks for one, or waits until there is one. */
static uint32_t go_flags(const struct assemble *a, uint32_t thread, const struct wcbpf_interval *e)
{
	if (e->goid || !assemble_go_is_followed(a, a->m->threads[thread].process))
		return 0;
	return ROW_GO_THREAD | (a->threads[thread].goid ? ROW_GO_RAN : 0);
}

int assemble_row_key(struct assemble *a, uint32_t thread, const struct wcbpf_interval *e, struct row_key *ret,
		     uint32_t *ret_resource, uint32_t *ret_ident)
{
	/* The thread has just been given the interval's name. */
	struct row_key key = {
		.syscall = e->syscall < 0 ? -1 : e->syscall,
		.comm_id = a->m->threads[thread].comm_id,
		.thread = a->o.rows_by_thread ? thread : 0,
	};
	uint32_t ident = 0, resource = 0;
	struct call_facts c = { 0 };

	if (assemble_stack_index(a, STACK_KERNEL, e->kstack_id, &key.kstack) < 0 ||
	    assemble_stack_index(a, STACK_USER, e->ustack_id, &key.ustack) < 0)
		return -ENOMEM;
	key.flags |= e->flags & WCBPF_IV_PREEMPTED ? ROW_PREEMPTED : 0;
	key.flags |= e->flags & WCBPF_IV_NEW_THREAD ? ROW_NEW_THREAD : 0;
	key.flags |= e->flags & WCBPF_IV_KTHREAD ? ROW_KTHREAD : 0;
	key.flags |= e->flags & WCBPF_IV_EXITING ? ROW_EXITING : 0;
	/* Who was only preempted waited for nothing that the call names. */
	if (!(key.flags & (ROW_PREEMPTED | ROW_NEW_THREAD))) {
		key.state = e->state;
		if (call_of(a, a->m->threads[thread].process, e, &c) < 0 ||
		    assemble_ident_index(a, &c.ident, &ident) < 0)
			return -ENOMEM;
		resource = c.ident.kind == IDENT_RESOURCE ? c.ident.resource : 0;
		key.flags |= c.flags | go_flags(a, thread, e);
		key.futex_op = c.futex_op;
		key.resource_class = a->resources[resource].class;
	}
	*ret = key;
	*ret_resource = resource;
	*ret_ident = ident;
	return 0;
}
