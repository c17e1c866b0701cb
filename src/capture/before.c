/* SPDX-License-Identifier: (LGPL-2.1 OR BSD-2-Clause) */
/*
 * Goroutines that were parked before their program was attached to: nothing
 * would tell of them until they are woken, which in a program that hangs is
 * never. So they are read out of its memory, once the probes are there, and put
 * to those that the programs know.
 *
 * Whatever happens to one meanwhile is told by the probes before it happens, and
 * whoever is told of is in the map: so it is added only if it isn't there. That
 * it could be added says that nothing has happened to it since the attaching, so
 * what was read of it before then is true, its stack too. One that has ended was
 * in the map and is not any more; so it must be alive after it was added. There
 * remains one that was woken in the instant between the attaching and the
 * recording: it is not parked any more and yet not known to be woken. It is taken
 * out, and looked at again: it may have parked while it was being taken out, and
 * would be taken for one that was parked all along when it is woken.
 *
 * There may be very many: some milliseconds' worth are done each round of the
 * loop, so that the rings are read meanwhile; and some of the room is left to
 * those that come.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "capture/go-list.h"
#include "capture/probing.h"
#include "capture/programs.h"
#include "capture/state.h"
#include "util/cleanup.h"
#include "util/log.h"

#define ROUND_NS 4000000
#define LISTED_MAX (WCBPF_GOROUTINES_MAX / 4 * 3)

struct before {
	struct capture *c;
	struct probing_listed listed;
	struct go_list *list;
	struct wcbpf_goroutine_key keys[GO_LIST_BATCH]; /* of the batch */
	struct wcbpf_goroutine added[GO_LIST_BATCH];	/* goid 0: it was not */
	enum go_now now[GO_LIST_BATCH];
	uint64_t begun_ns, spent_ns;
	size_t found_n, again_n, no_room_n;
};

static uint64_t mix(uint64_t h, uint64_t word)
{
	h = (h ^ word) * 0x9e3779b97f4a7c15ull;
	return h ^ h >> 29;
}

/*
 * Those whose stacks are walked alike have one: a walk of Go code depends on nothing but the words that are code's
 * addresses, and where they are.
 */
static uint64_t stack_id(const struct before *b, const struct go_parked *p)
{
	const struct probing_listed *l = &b->listed;
	uint64_t h = mix(mix(mix(0x676f706172ull, (uint64_t)l->kernel_tgid << 32 | l->life), p->pc), p->bp - p->sp);

	for (size_t i = 0; (i + 1) * 8 <= p->stack_n; i++) {
		uint64_t word;

		memcpy(&word, p->stack + i * 8, sizeof(word));
		if (word - l->bias - l->text >= l->text_n)
			continue;
		h = mix(mix(h, word), i);
	}
	return mix(h, p->stack_n) | 1;
}

static int stack_take(struct before *b, const struct go_parked *p, uint64_t id, uint64_t now_ns)
{
	struct wcbpf_seed seed = { .head.time_ns = now_ns, .ustack_id = id, .tgid = b->listed.pid };
	_cleanup_(freep) uint8_t *stack = NULL;

	if (resolve_has(b->c->resolve, id))
		return 0;
	stack = malloc(p->stack_n);
	if (!stack)
		return -ENOMEM;
	memcpy(stack, p->stack, p->stack_n);
	seed.regs[6] = p->bp;
	seed.regs[7] = p->sp;
	seed.regs[16] = p->pc;
	return resolve_take_memory(b->c->resolve, &seed, &stack, p->stack_n);
}

/* ---- a batch ---- */

static void parked_add(struct before *b, const struct go_parked *p, size_t i, uint64_t since_ns)
{
	const struct probing_listed *l = &b->listed;
	struct wcbpf_goroutine g = { .goid = p->goid, .exec_id = l->exec_id, .since_ns = since_ns, .resource = p->resource,
				     .tid = l->pid, .tgid = l->pid, .flags = WCBPF_GO_BEGAN_BEFORE,
				     .phase = GOROUTINE_PARKED, .reason = p->reason };
	int err;

	b->added[i].goid = 0;
	b->keys[i] = (struct wcbpf_goroutine_key){ .tgid = l->kernel_tgid, .life = l->life, .goid = p->goid };
	if (b->c->listed_n >= LISTED_MAX) {
		b->no_room_n++;
		return;
	}
	if (p->stack_n && b->c->options.user_stacks != WCBPF_USTACK_NONE)
		g.ustack_id = stack_id(b, p);
	err = programs_goroutine_add(b->c->programs, &b->keys[i], &g);
	b->no_room_n += err && err != -EEXIST;
	if (err)
		return;
	b->added[i] = g;
	b->c->listed_n++;
}

/* Was anything told of it since? */
static bool is_told(const struct before *b, size_t i)
{
	struct wcbpf_goroutine known;

	return programs_goroutine_read(b->c->programs, &b->keys[i], &known) || known.wake_ns ||
	       known.phase != GOROUTINE_PARKED || known.since_ns != b->added[i].since_ns;
}

/* It is as it was told: goes to the model. */
static int parked_tell(struct before *b, const struct go_parked *p, size_t i, uint64_t now_ns)
{
	const struct probing_listed *l = &b->listed;
	struct wcbpf_go_birth birth = { .head = { .kind = WCBPF_EV_GO_BIRTH, .size = sizeof(birth), .time_ns = now_ns },
					.goid = p->goid, .parent_goid = p->parent_goid, .start_pc = p->start_pc,
					.go_pc = p->go_pc, .tid = l->pid, .tgid = l->pid, .flags = WCBPF_GO_SEEN_FIRST };
	int err = rings_push(b->c->rings, &birth.head);

	b->found_n++;
	b->again_n -= go_list_is_again(b->list);
	return err || !b->added[i].ustack_id ? err : stack_take(b, p, b->added[i].ustack_id, now_ns);
}

static int parked_settle(struct before *b, const struct go_parked *p, size_t i, uint64_t now_ns)
{
	if (b->now[i] == GO_NOW_PARKED || (b->now[i] == GO_NOW_ELSE && is_told(b, i)))
		return parked_tell(b, p, i, now_ns);
	programs_goroutine_remove(b->c->programs, &b->keys[i]);
	b->c->listed_n--;
	if (b->now[i] == GO_NOW_GONE)
		return 0;
	b->again_n += !go_list_is_again(b->list);
	return go_list_is_again(b->list) ? 0 : go_list_again(b->list, p);
}

/* 0, -ENODATA when all is done. */
static int batch_do(struct before *b)
{
	uint64_t read_ns = bpf_now(b->c), now_ns;
	struct go_parked *v;
	size_t n;
	int err = go_list_next(b->list, &v, &n);
	uint64_t since_ns = go_list_is_again(b->list) ? read_ns : b->listed.since_ns;

	for (size_t i = 0; !err && i < n; i++)
		parked_add(b, &v[i], i, since_ns);
	if (err || !n)
		return err;
	now_ns = bpf_now(b->c);
	go_list_now(b->list, b->now);
	for (size_t i = 0; !err && i < n; i++)
		if (b->added[i].goid)
			err = parked_settle(b, &v[i], i, now_ns);
	return err;
}

/* ---- all of them ---- */

static void failure_tell(struct capture *c, uint32_t pid, const char *why)
{
	char text[400];

	snprintf(text, sizeof(text), "process %u: goroutines that were parked before it was attached to are seen once they are "
		 "woken, those that stay parked are not seen: %s", pid, why);
	choke_caveat(c, text);
}

static void outcome_tell(struct before *b, size_t left_n)
{
	size_t coroutine_n = go_list_coroutine_n(b->list), n = left_n + b->no_room_n + b->again_n + coroutine_n;
	char text[400];

	snprintf(text, sizeof(text), "process %u: %zu goroutines were parked before it was attached to", b->listed.pid, b->found_n);
	choke_note(b->c, text);
	log_debug("process %u: its goroutines were read in %.1f ms, over %.1f ms", b->listed.pid, (double)b->spent_ns / 1e6,
		  (double)(bpf_now(b->c) - b->begun_ns) / 1e6);
	b->c->model->integrity.unlisted_goroutines += n;
	if (!n)
		return;
	snprintf(text, sizeof(text), "process %u: of %zu more goroutines it can't be told since when they were parked: no room "
		 "for them (%zu), they went on in that instant (%zu), they are in coroutines (%zu), the recording ended (%zu)",
		 b->listed.pid, n, b->no_room_n, b->again_n, coroutine_n, left_n);
	choke_caveat(b->c, text);
}

void before_free(struct capture *c)
{
	if (c->before)
		go_list_free(c->before->list);
	free(c->before);
	c->before = NULL;
}

void before_end(struct capture *c)
{
	if (c->before)
		outcome_tell(c->before, go_list_left_n(c->before->list));
	before_free(c);
}

static int begin(struct capture *c, const struct probing_listed *l)
{
	struct go_list_target target = { .pid = l->pid, .bias = l->bias, .layout = &l->plan->layout,
					 .where = &l->plan->go_list, .io_reason = -1, .coroutine_reason = -1,
					 .stacks = c->options.user_stacks != WCBPF_USTACK_NONE };
	struct objfile_why why = { "" };
	int err;

	for (size_t i = 0; i < l->plan->go_reason_n; i++) {
		if (!strcmp(l->plan->go_reasons[i], "IO wait"))
			target.io_reason = (int)i;
		if (!strcmp(l->plan->go_reasons[i], "coroutine"))
			target.coroutine_reason = (int)i;
	}
	if (l->plan->go_list_why) {
		failure_tell(c, l->pid, l->plan->go_list_why);
		return -ENOTSUP;
	}
	before_free(c); /* of one that is no more */
	c->before = calloc(1, sizeof(*c->before));
	if (!c->before)
		return -ENOMEM;
	c->before->c = c;
	c->before->listed = *l;
	c->before->begun_ns = bpf_now(c);
	err = go_list_new(&target, &c->before->list, &why);
	if (!err)
		return 0;
	before_free(c);
	if (err != -ESRCH && err != -ENOMEM)
		failure_tell(c, l->pid, why.text[0] ? why.text : strerror(-err));
	return err;
}

int before_list(void *arg, const struct probing_listed *l)
{
	struct capture *c = arg;
	uint64_t begun_ns = bpf_now(c);
	int err = 0;

	/* Of some threads only what these do is told: it would never be seen that others wake them. */
	if (c->options.scope == CAPTURE_TIDS) {
		choke_note(c, "goroutines that were parked before the attach are not looked for: of some threads alone it would "
			      "not be seen who wakes them");
		return 0;
	}
	if (!c->before || c->before->listed.kernel_tgid != l->kernel_tgid || c->before->listed.life != l->life)
		err = begin(c, l);
	if (err)
		return err == -ENOMEM ? err : 0;
	while (!err && bpf_now(c) - begun_ns < ROUND_NS)
		err = batch_do(c->before);
	c->before->spent_ns += bpf_now(c) - begun_ns;
	if (!err)
		return -EAGAIN;
	if (err == -ENODATA)
		before_end(c);
	else
		before_free(c); /* it has ended */
	return err == -ENOMEM ? err : 0;
}
