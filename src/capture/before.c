/* SPDX-License-Identifier: (LGPL-2.1 OR BSD-2-Clause) */
/*
 * Goroutines that were parked before their program was attached to: nothing
 * would tell of them until they are woken, which in a program that hangs is
 * never. So they are read out of its memory, once the probes are there, and put
 * to those that the programs know.
 *
 * Whatever happens to one meanwhile is told by the probes before it happens, and
 * whoever is told of is in the map: so it is added only if it isn't there, and
 * what it was told of stands. One that has ended was in the map and is not any
 * more; so it must be alive after it was added. There remains one that was woken
 * in the instant between the attaching and the recording: it is not parked any
 * more and yet not known to be woken, and is left out, counted.
 */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "capture/go-list.h"
#include "capture/probing.h"
#include "capture/programs.h"
#include "capture/state.h"
#include "util/cleanup.h"

struct before {
	struct capture *c;
	const struct probing_listed *listed;
	struct go_list_target target;
	size_t found_n, untold_n, no_room_n;
};

static uint64_t stack_id(const struct before *b, const struct go_parked *p)
{
	uint64_t h = (0x676f706172ull ^ b->listed->kernel_tgid) * 0x9e3779b97f4a7c15ull;

	h = ((h ^ h >> 29) ^ p->goid) * 0x9e3779b97f4a7c15ull;
	return (h ^ h >> 29 ^ b->listed->life) | 1;
}

static int stack_take(struct before *b, struct go_parked *p, uint64_t id, uint64_t now_ns)
{
	struct wcbpf_seed seed = { .head.time_ns = now_ns, .ustack_id = id, .tgid = b->listed->pid };

	seed.regs[6] = p->bp;
	seed.regs[7] = p->sp;
	seed.regs[16] = p->pc;
	return resolve_take_memory(b->c->resolve, &seed, &p->stack, p->stack_n);
}

/* Is what was added still true? */
static bool is_true(struct before *b, const struct wcbpf_goroutine_key *key, const struct go_parked *p)
{
	enum go_now now = go_list_now(&b->target, p);
	struct wcbpf_goroutine known;

	if (now == GO_NOW_PARKED)
		return true;
	if (now == GO_NOW_ELSE && (programs_goroutine_read(b->c->programs, key, &known) || known.wake_ns ||
				   known.phase != GOROUTINE_PARKED || known.since_ns != b->listed->since_ns))
		return true; /* it was told of */
	programs_goroutine_remove(b->c->programs, key);
	b->untold_n++;
	return false;
}

static int parked_take(void *arg, struct go_parked *p)
{
	struct before *b = arg;
	const struct probing_listed *l = b->listed;
	struct wcbpf_goroutine_key key = { .tgid = l->kernel_tgid, .life = l->life, .goid = p->goid };
	uint64_t now_ns = bpf_now(b->c);
	struct wcbpf_goroutine g = { .goid = p->goid, .exec_id = l->exec_id, .since_ns = l->since_ns,
				     .resource = p->resource, .tid = l->pid, .tgid = l->pid,
				     .flags = WCBPF_GO_BEGAN_BEFORE, .phase = GOROUTINE_PARKED, .reason = p->reason };
	struct wcbpf_go_birth birth = { .head = { .kind = WCBPF_EV_GO_BIRTH, .size = sizeof(birth), .time_ns = now_ns },
					.goid = p->goid, .parent_goid = p->parent_goid, .start_pc = p->start_pc,
					.go_pc = p->go_pc, .tid = l->pid, .tgid = l->pid, .flags = WCBPF_GO_SEEN_FIRST };
	int err;

	if (b->target.stacks && p->stack_n)
		g.ustack_id = stack_id(b, p);
	err = programs_goroutine_add(b->c->programs, &key, &g);
	if (err == -EEXIST)
		return 0;
	if (err) {
		b->no_room_n++;
		return 0;
	}
	if (!is_true(b, &key, p))
		return 0;
	b->found_n++;
	err = rings_push(b->c->rings, &birth.head);
	return err || !g.ustack_id ? err : stack_take(b, p, g.ustack_id, now_ns);
}

static void outcome_tell(const struct before *b, int err, size_t moved_n, const char *why)
{
	char text[400];

	if (err == -ESRCH)
		return;
	if (err)
		snprintf(text, sizeof(text), "process %u: goroutines that were parked before it was attached to are seen once "
			 "they are woken, those that stay parked are not seen: %s", b->listed->pid, *why ? why : strerror(-err));
	else
		snprintf(text, sizeof(text), "process %u: %zu goroutines were parked before it was attached to", b->listed->pid,
			 b->found_n);
	choke_note(b->c, text);
	if (!err && b->no_room_n + b->untold_n + moved_n) {
		snprintf(text, sizeof(text), "process %u: of %zu more it can't be told since when they were parked: they went "
			 "on in that instant (%zu), or there was no room (%zu)", b->listed->pid,
			 b->no_room_n + b->untold_n + moved_n, b->untold_n + moved_n, b->no_room_n);
		choke_note(b->c, text);
	}
}

int before_list(void *arg, const struct probing_listed *l)
{
	struct capture *c = arg;
	struct before b = { .c = c, .listed = l };
	struct objfile_why why = { "" };
	size_t moved_n = 0;
	int err = 0;

	b.target = (struct go_list_target){ .pid = l->pid, .bias = l->bias, .layout = &l->plan->layout,
					    .where = &l->plan->go_list, .io_reason = -1,
					    .stacks = c->options.user_stacks != WCBPF_USTACK_NONE };
	for (size_t i = 0; i < l->plan->go_reason_n; i++)
		if (!strcmp(l->plan->go_reasons[i], "IO wait"))
			b.target.io_reason = (int)i;
	/* Of some threads only what these do is told: it would never be seen that others wake them. */
	if (c->options.scope == CAPTURE_TIDS)
		return 0;
	if (l->plan->go_list_why) {
		snprintf(why.text, sizeof(why.text), "%s", l->plan->go_list_why);
		err = -ENOTSUP;
	}
	if (!err)
		err = go_list_each(&b.target, parked_take, &b, &moved_n, &why);
	outcome_tell(&b, err, moved_n, why.text);
	return err == -ENOMEM ? err : 0;
}
