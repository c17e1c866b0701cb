/* SPDX-License-Identifier: (LGPL-2.1 OR BSD-2-Clause) */
#include "rig.h"

#include <criterion/criterion.h>
#include <stdio.h>
#include <string.h>

uint32_t rig_random(struct rig *r, uint32_t n)
{
	/* splitmix64 */
	uint64_t x = r->seed += UINT64_C(0x9e3779b97f4a7c15);

	x = (x ^ x >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
	x = (x ^ x >> 27) * UINT64_C(0x94d049bb133111eb);
	return (uint32_t)((x ^ x >> 31) % n);
}

uint32_t rig_string(struct model *m, const char *s)
{
	uint32_t id;

	cr_assert(strtab_intern(m->strings, s, &id) == 0);
	return id;
}

static uint32_t row_make(struct rig *r, enum wait_reason reason, const char *kind)
{
	uint32_t i;

	cr_assert(model_row_add(r->m, &i) == 0);
	r->m->rows[i] = (struct model_row){ .reason = reason, .kind_id = rig_string(r->m, kind), .syscall = -1,
					    .ustack = r->stacks[i % 8] };
	return i;
}

static void rows_make(struct rig *r)
{
	static const struct {
		enum analyze_where where;
		enum wait_reason reason;
		const char *kind;
	} rows[] = {
		{ WHERE_LOCK, REASON_LOCK, "mutex" },	{ WHERE_DISK, REASON_IO, "fsync" },
		{ WHERE_NET, REASON_IO, "socket" },	{ WHERE_PIPE, REASON_IO, "pipe" },
		{ WHERE_TIMER, REASON_SLEEP, "sleep" }, { WHERE_CHILD, REASON_SYNC, "join" },
		{ WHERE_WORK, REASON_LAZY, "" },	{ WHERE_IDLE, REASON_POLL, "epoll" },
		{ WHERE_UNKNOWN, REASON_OTHER, "" },
	};

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
		r->rows[rows[i].where] = row_make(r, rows[i].reason, rows[i].kind);
	r->cpu_row = row_make(r, REASON_CPU, "");
}

/* "f0".."f5": stacks of one to five frames, with repeats. */
static void stacks_make(struct rig *r)
{
	uint32_t module;

	cr_assert(model_module_add(r->m, &module) == 0);
	r->m->modules[module].path_id = rig_string(r->m, "/opt/app");
	cr_assert(model_module_add(r->m, &module) == 0);
	r->m->modules[module].path_id = rig_string(r->m, "/lib/libc.so.6");
	for (size_t i = 0; i < 8; i++) {
		struct model_frame frames[5] = { 0 };
		size_t n = 1 + rig_random(r, 5);

		for (size_t k = 0; k < n; k++) {
			uint32_t which = rig_random(r, 6);
			char name[8];

			snprintf(name, sizeof(name), "f%u", which);
			frames[k].name_id = rig_string(r->m, name);
			/* The program and the library both have an f5. */
			frames[k].module = which < 3 || (which == 5 && k % 2) ? 2 : 1;
			frames[k].address = which;
		}
		cr_assert(model_stack_add(r->m, STACK_USER, &r->stacks[i]) == 0);
		cr_assert(model_stack_set(r->m, r->stacks[i], "complete", frames, n) == 0);
	}
}

static uint32_t op_make(struct rig *r, enum op_kind kind, uint32_t class, uint32_t parent, uint32_t pid, uint32_t tid,
			int64_t from, int64_t to)
{
	char name[8];
	uint32_t i;

	snprintf(name, sizeof(name), "c%u", class);
	cr_assert(model_op_add(r->m, &i) == 0);
	r->m->ops[i] = (struct model_op){ .id = i, .kind = kind, .class_id = rig_string(r->m, name), .parent = parent,
					  .pid = pid, .tid = tid, .start_ns = from, .end_ns = to,
					  .outcome = (uint8_t)rig_random(r, OP_OUTCOME_MAX),
					  .ident_id = rig_random(r, 4) };
	return i;
}

static void paint(struct rig *r, uint32_t thread, int64_t from, int64_t to, struct rig_ns ns)
{
	ns.can_run = ns.where == WHERE_RUNNING || ns.where == WHERE_RUNNABLE;
	for (int64_t i = from; i < to; i++)
		r->ns[thread][i] = ns;
}

static void wait_make(struct rig *r, uint32_t thread, uint32_t op, int64_t from, int64_t to)
{
	enum analyze_where where = WHERE_RUNNABLE + rig_random(r, WHERE_MAX - WHERE_RUNNABLE);
	struct model_wait w = { .start_ns = from, .end_ns = to, .op = op, .thread = thread };
	struct model_thread *t = &r->m->threads[thread];
	struct model_row *row;
	uint32_t i;

	w.row = where == WHERE_RUNNABLE ? r->cpu_row : r->rows[where];
	if (where == WHERE_RUNNABLE) {
		w.runnable_ns = to - from;
	} else {
		w.blocked_ns = 1 + rig_random(r, (uint32_t)(to - from));
		w.runnable_ns = rig_random(r, (uint32_t)(to - from - w.blocked_ns) + 1);
	}
	w.wake_ns = to - w.runnable_ns;
	w.cpu_from = (uint16_t)rig_random(r, 3);
	w.cpu_to = (uint16_t)rig_random(r, 3);
	w.ident_id = rig_random(r, 2) ? rig_string(r->m, rig_random(r, 2) ? "one" : "other") : 0;
	cr_assert(model_wait_add(r->m, &i) == 0);
	r->m->waits[i] = w;
	row = &r->m->rows[w.row];
	row->count++;
	row->blocked_ns += (uint64_t)w.blocked_ns;
	row->runnable_ns += (uint64_t)w.runnable_ns;
	t->blocked_ns += (uint64_t)w.blocked_ns;
	t->runnable_ns += (uint64_t)w.runnable_ns;
	paint(r, thread, from, from + w.blocked_ns, (struct rig_ns){ .where = where, .op = op, .wait = i });
	paint(r, thread, from + w.blocked_ns, to - w.runnable_ns,
	      (struct rig_ns){ .where = WHERE_RUNNING, .op = op, .wait = i });
	paint(r, thread, to - w.runnable_ns, to, (struct rig_ns){ .where = WHERE_RUNNABLE, .op = op, .wait = i });
}

/* What an op does from its begin to its end: runs, waits, calls others. */
static void op_fill(struct rig *r, uint32_t thread, uint32_t op, int64_t from, int64_t to, int depth)
{
	const struct model_thread *t = &r->m->threads[thread];

	for (int64_t at = from, end; at < to; at = end) {
		end = at + 1 + rig_random(r, 20);
		end = end < to ? end : to;
		switch (rig_random(r, 4)) {
		case 0:
			paint(r, thread, at, end, (struct rig_ns){ .where = WHERE_RUNNING, .op = op });
			break;
		case 1:
			if (depth < 4) {
				op_fill(r, thread,
					op_make(r, OP_CALL, rig_random(r, RIG_CLASSES), op, t->pid, t->tid, at, end),
					at, end, depth + 1);
				break;
			}
			/* fallthrough */
		default:
			wait_make(r, thread, op, at, end);
		}
	}
}

/* Off the CPU, seen by no wait: taken from what looks like running. */
static void hide(struct rig *r, uint32_t thread)
{
	struct model_thread *t = &r->m->threads[thread];
	uint64_t hidden_ns = rig_random(r, (uint32_t)t->oncpu_ns + 1), lost_ns = rig_random(r, (uint32_t)hidden_ns + 1);

	t->oncpu_ns -= hidden_ns;
	t->lost_ns = lost_ns;
	t->blocked_ns += hidden_ns - lost_ns;
}

static void thread_make(struct rig *r, bool hidden)
{
	static const char *const names[] = { "main", "worker" };
	uint32_t process = 1 + rig_random(r, RIG_PROCESSES), i;
	int64_t from = rig_random(r, RIG_NS / 2), to = from + 1 + rig_random(r, (uint32_t)(RIG_NS - from));
	struct model_thread *t;

	cr_assert(model_thread_add(r->m, &i) == 0);
	t = &r->m->threads[i];
	*t = (struct model_thread){ .pid = 100 + process,
				    .tid = i == 1 ? 100 + process : 1000 + i,
				    .process = process,
				    .begin_ns = from,
				    .end_ns = to,
				    .has_totals = true,
				    .comm_id = rig_string(r->m, names[rig_random(r, 2)]) };
	t->op = op_make(r, OP_INTERNAL, 9, r->m->processes[process].op, t->pid, t->tid, from, to);
	r->m->ops[t->op].class_id = t->comm_id;
	op_fill(r, i, t->op, from, to, 0);
	t->oncpu_ns = (uint64_t)(to - from) - t->blocked_ns - t->runnable_ns;
	if (hidden)
		hide(r, i);
}

void rig_make(struct rig *r, uint64_t seed, bool hidden)
{
	memset(r, 0, sizeof(*r));
	r->seed = seed;
	cr_assert(model_new(&r->m) == 0);
	r->m->end_ns = RIG_NS;
	for (uint32_t i = 0; i <= RIG_THREADS; i++)
		paint(r, i, 0, RIG_NS, (struct rig_ns){ .where = WHERE_MAX });
	stacks_make(r);
	rows_make(r);
	for (uint32_t i = 1, at; i <= RIG_PROCESSES; i++) {
		cr_assert(model_process_add(r->m, &at) == 0);
		r->m->processes[at].pid = 100 + at;
		r->m->processes[at].comm_id = rig_string(r->m, at == 1 ? "server" : "client");
		r->m->processes[at].op = op_make(r, OP_EXEC, 8, 0, 100 + at, 100 + at, 0, RIG_NS);
		/* Its key; the leader's number too, as wcbpf writes it. */
		r->m->ops[r->m->processes[at].op].ident_id = r->m->ops[r->m->processes[at].op].client_id =
			rig_string(r->m, at == 1 ? "101:5" : at == 2 ? "102:6" : "103:7");
	}
	for (int i = 0; i < RIG_THREADS; i++)
		thread_make(r, hidden);
}

void rig_done(struct rig *r)
{
	model_free(r->m);
}
