/* SPDX-License-Identifier: (LGPL-2.1 OR BSD-2-Clause) */
/*
 * The sums of what was fed are kept here by their own arithmetic, and each
 * finished model is checked against them and against the rules that hold of
 * every dump, whatever the test is about.
 */
#include "rig.h"

#include <criterion/criterion.h>
#include <criterion/new/assert.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

void rig_start_with(struct rig *r, const struct assemble_options *o)
{
	*r = (struct rig){ 0 };
	cr_assert_eq(model_new(&r->m), 0);
	cr_assert_eq(assemble_new(r->m, o, &r->a), 0);
}

void rig_start(struct rig *r, size_t event_cap)
{
	rig_start_with(r, &(struct assemble_options){ .begin_ns = RIG_BEGIN_NS, .epoch_unix_ns = 1700000000000000000,
						      .keep_args = true, .event_cap = event_cap });
}

void rig_stop(struct rig *r)
{
	assemble_free(r->a);
	model_free(r->m);
}

static uint64_t later(uint64_t a, uint64_t b)
{
	return a > b ? a : b;
}

int rig_interval(struct rig *r, const struct wcbpf_interval *given)
{
	struct wcbpf_interval e = *given;
	uint64_t out = later(e.out_ns, RIG_BEGIN_NS), in = later(e.head.time_ns, RIG_BEGIN_NS), wake;
	uint64_t recorded = r->m->integrity.recorded;
	int ret;

	e.head.kind = WCBPF_EV_INTERVAL;
	e.head.size = sizeof(e);
	ret = assemble_event(r->a, &e.head);
	if (r->m->integrity.recorded == recorded)
		return ret;
	wake = e.wake_ns ? later(e.wake_ns, RIG_BEGIN_NS) : in;
	if (e.flags & (WCBPF_IV_PREEMPTED | WCBPF_IV_NEW_THREAD | WCBPF_IV_WAKE_BEFORE) || wake < out)
		wake = out;
	if (wake > in)
		wake = in;
	r->row_count++;
	r->row_blocked_ns += wake - out;
	r->row_runnable_ns += in - wake;
	r->end_ns = later(r->end_ns, in);
	return ret;
}

int rig_fork(struct rig *r, uint64_t time_ns, uint32_t parent_tid, uint32_t parent_tgid, uint32_t tid, uint32_t tgid)
{
	struct wcbpf_fork e = {
		.head = { .kind = WCBPF_EV_FORK, .size = sizeof(e), .time_ns = time_ns },
		.parent_tid = parent_tid, .parent_tgid = parent_tgid, .tid = tid, .tgid = tgid,
		.start_ns = time_ns + 5, .comm = "app",
	};

	return assemble_event(r->a, &e.head);
}

int rig_exec(struct rig *r, uint64_t time_ns, uint32_t tgid, uint32_t old_tid, const char *comm, const char *argv,
	     size_t argv_len)
{
	struct wcbpf_exec e = {
		.head = { .kind = WCBPF_EV_EXEC, .time_ns = time_ns,
			  .size = (uint32_t)(offsetof(struct wcbpf_exec, argv) + argv_len) },
		.tid = tgid, .tgid = tgid, .old_tid = old_tid,
		.argv_len = (uint32_t)argv_len, .argv_total = (uint32_t)argv_len,
	};

	memcpy(e.comm, comm, strnlen(comm, sizeof(e.comm)));
	memcpy(e.argv, argv, argv_len);
	return assemble_event(r->a, &e.head);
}

int rig_exit(struct rig *r, uint64_t time_ns, uint32_t tid, uint32_t tgid, int code, bool group_dead)
{
	struct wcbpf_exit e = {
		.head = { .kind = WCBPF_EV_EXIT, .size = sizeof(e), .time_ns = time_ns },
		.tid = tid, .tgid = tgid, .exit_code = code, .group_dead = group_dead,
	};

	return assemble_event(r->a, &e.head);
}

int rig_totals(struct rig *r, const struct wcbpf_thread_totals *given)
{
	struct wcbpf_thread_totals e = *given;

	e.head = (struct wcbpf_head){ .kind = WCBPF_EV_THREAD, .size = sizeof(e), .time_ns = e.end_ns };
	return assemble_event(r->a, &e.head);
}

int rig_result(struct rig *r, uint64_t time_ns, uint32_t tid, uint32_t tgid, uint32_t seq, int64_t result)
{
	struct wcbpf_futex_result e = {
		.head = { .kind = WCBPF_EV_FUTEX_RESULT, .size = sizeof(e), .time_ns = time_ns },
		.tid = tid, .tgid = tgid, .seq = seq, .result = result,
	};

	return assemble_event(r->a, &e.head);
}

static int resource(struct rig *r, struct wcbpf_resource *e)
{
	e->head = (struct wcbpf_head){ .kind = WCBPF_EV_RESOURCE, .size = sizeof(*e), .time_ns = RIG_BEGIN_NS };
	e->ino = e->id + 1000;
	e->dev = 8 << 20 | 1;
	e->file = e->id << 8;
	return assemble_event(r->a, &e->head);
}

int rig_file(struct rig *r, uint64_t id, uint32_t mode, uint32_t rdev)
{
	return resource(r, &(struct wcbpf_resource){ .id = id, .kind = WCBPF_RES_FILE, .mode = mode, .rdev = rdev });
}

int rig_anon(struct rig *r, uint64_t id, enum wcbpf_fop_kind kind)
{
	return resource(r, &(struct wcbpf_resource){ .id = id, .kind = WCBPF_RES_ANON, .fop_kind = (uint8_t)kind });
}

int rig_socket(struct rig *r, uint64_t id)
{
	return resource(r, &(struct wcbpf_resource){ .id = id, .kind = WCBPF_RES_SOCKET, .mode = S_IFSOCK });
}

int rig_seed(struct rig *r, uint32_t pid, uint32_t tid, const char *comm)
{
	return assemble_seed(r->a, &(struct assemble_seed){ .pid = pid, .tid = tid, .comm = comm, .before = true,
							    .now_ns = RIG_BEGIN_NS,
							    .start_time_ns = pid * 10000000ull });
}

int rig_seed_child(struct rig *r, uint32_t pid, uint32_t tid, uint64_t start_ns, uint32_t parent,
		   uint64_t parent_start_ns)
{
	return assemble_seed(r->a, &(struct assemble_seed){ .pid = pid, .tid = tid, .comm = "app", .before = true,
							    .now_ns = RIG_BEGIN_NS, .start_time_ns = start_ns,
							    .parent_pid = parent,
							    .parent_start_time_ns = parent_start_ns });
}

static uint32_t module_of(struct rig *r, const char *path)
{
	uint32_t id, module;

	cr_assert_eq(strtab_intern(r->m->strings, path, &id), 0);
	for (module = 1; module < r->m->module_n; module++) {
		if (r->m->modules[module].path_id == id)
			return module;
	}
	cr_assert_eq(model_module_add(r->m, &module), 0);
	r->m->modules[module].path_id = id;
	return module;
}

void rig_stack(struct rig *r, enum stack_side side, uint64_t id, const char *frames)
{
	struct model_frame list[16] = { 0 };
	char text[512], *save = NULL, *colon;
	uint32_t stack;
	size_t n = 0;

	snprintf(text, sizeof(text), "%s", frames);
	for (char *word = strtok_r(text, " ", &save); word; word = strtok_r(NULL, " ", &save), n++) {
		if (strcmp(word, "-") == 0)
			continue;
		colon = strchr(word, ':');
		if (colon) {
			*colon = 0;
			list[n].module = module_of(r, word);
			word = colon + 1;
		}
		cr_assert_eq(strtab_intern(r->m->strings, word, &list[n].name_id), 0);
	}
	cr_assert_eq(assemble_stack_index(r->a, side, id, &stack), 0);
	cr_assert_eq(model_stack_set(r->m, stack, "complete", list, n), 0);
}

/* By op: that of a process, one of its programs, a thread or a goroutine; all others are of choke points. */
static bool *natural_ops(const struct model *m)
{
	bool *natural = calloc(m->op_n, sizeof(*natural));

	cr_assert_not_null(natural);
	for (size_t i = 1; i < m->process_n; i++)
		natural[m->processes[i].op] = true;
	for (size_t i = 1; i < m->thread_n; i++)
		natural[m->threads[i].op] = true;
	natural[0] = false;
	for (size_t i = 1; i < m->op_n; i++) {
		uint32_t parent = m->ops[i].parent;

		natural[i] |= m->ops[i].kind == OP_EXEC_PHASE && m->ops[parent].kind == OP_EXEC && natural[parent] &&
			      !m->ops[i].ident_id;
	}
	return natural;
}

static void check_ops(const struct model *m)
{
	bool *natural = natural_ops(m);

	for (size_t i = 1; i < m->op_n; i++) {
		const struct model_op *op = &m->ops[i];

		cr_assert(op->start_ns >= 0 && op->start_ns <= op->end_ns && op->end_ns <= m->end_ns, "op %zu", i);
		cr_assert(op->id == i && op->parent < m->op_n && op->parent != i, "op %zu", i);
		cr_assert(op->class_id < strtab_n(m->strings) && op->ident_id < strtab_n(m->strings), "op %zu", i);
		cr_assert(op->client_id < strtab_n(m->strings) && op->meta_id < strtab_n(m->strings), "op %zu", i);
		cr_assert(op->kind < OP_KIND_MAX && op->work < WORK_TYPE_MAX, "op %zu", i);
		if (op->open)
			cr_assert(op->end_ns == m->end_ns && (op->clipped & CLIPPED_AFTER), "op %zu", i);
		if (op->kind == OP_EXEC && natural[i])
			cr_assert_eq(op->parent, 0);
		if (op->unwound)
			cr_assert(op->outcome == OUTCOME_CANCELED && !op->open, "op %zu", i);
		/* What was begun by an op of a choke point may outlast it. */
		if (op->parent && natural[i] && natural[op->parent])
			cr_assert(op->start_ns >= m->ops[op->parent].start_ns && op->end_ns <= m->ops[op->parent].end_ns,
				  "op %zu outlasts its parent", i);
	}
	free(natural);
	for (size_t i = 1; i < m->link_n; i++) {
		const struct model_link *l = &m->links[i];

		cr_assert(l->from && l->from < m->op_n && l->to < m->op_n, "link %zu", i);
		cr_assert(l->start_ns >= 0 && l->start_ns <= l->end_ns && l->end_ns <= m->end_ns, "link %zu", i);
		/* What leads to no op leads to a client. */
		cr_assert(l->ident_id && l->ident_id < strtab_n(m->strings), "link %zu", i);
		if (!l->to)
			continue;
		cr_assert_eq(l->ident_id, m->ops[l->to].client_id);
		for (size_t k = 1; k < i; k++)
			cr_assert_neq(m->links[k].to, l->to, "links %zu and %zu lead to one process", k, i);
	}
}

static void check_waits(const struct model *m)
{
	bool *natural = natural_ops(m);

	for (size_t i = 1; i < m->wait_n; i++) {
		const struct model_wait *w = &m->waits[i];

		cr_assert(w->start_ns >= 0 && w->start_ns <= w->end_ns && w->end_ns <= m->end_ns, "wait %zu", i);
		cr_assert(w->blocked_ns >= 0 && w->runnable_ns >= 0, "wait %zu", i);
		cr_assert(w->blocked_ns + w->runnable_ns <= w->end_ns - w->start_ns, "wait %zu", i);
		cr_assert(w->op && w->op < m->op_n && w->row && w->row < m->row_n, "wait %zu", i);
		cr_assert(w->thread && w->thread < m->thread_n && w->waker < m->thread_n, "wait %zu", i);
		cr_assert(w->target < m->op_n && w->ident_id < strtab_n(m->strings), "wait %zu", i);
		cr_assert(w->wake_ns == -1 || (w->wake_ns >= w->start_ns && w->wake_ns <= w->end_ns), "wait %zu", i);
		cr_assert(w->target == 0 || w->target != w->op, "wait %zu", i);
		/* Else readers drop it as abandoned; a choke point's wait may be that, as in the engine's own dumps. */
		if (w->target && natural[w->target])
			cr_assert(m->ops[w->target].end_ns <= w->end_ns + 1000000 && !m->ops[w->target].open, "wait %zu", i);
		cr_assert(w->start_ns >= m->ops[w->op].start_ns && w->end_ns <= m->ops[w->op].end_ns, "wait %zu", i);
		cr_assert(model_wait_waker_op(m, w) < m->op_n, "wait %zu", i);
		cr_assert(w->waker || w->outside_waker < m->waker_n, "wait %zu", i);
		cr_assert(w->owner_unknown < OWNER_UNKNOWN_MAX, "wait %zu", i);
		cr_assert(model_wait_words(m, w).owner_tid == 0 || w->owner_unknown == 0, "wait %zu", i);
		cr_assert(w->ctx < WAKER_CTX_MAX && w->outcome < WAIT_OUTCOME_MAX, "wait %zu", i);
	}
	free(natural);
}

void rig_finish(struct rig *r, uint64_t end_ns)
{
	const struct model *m = r->m;
	uint64_t count = 0, blocked = 0, runnable = 0;

	cr_assert_eq(assemble_finish(r->a, end_ns), 0);
	cr_assert_eq(m->end_ns, (int64_t)(end_ns - RIG_BEGIN_NS));
	check_ops(m);
	check_waits(m);
	for (size_t i = 1; i < m->row_n; i++) {
		cr_assert(m->rows[i].reason < REASON_MAX && m->rows[i].kind_id < strtab_n(m->strings), "row %zu", i);
		if (m->rows[i].parked)
			continue;
		count += m->rows[i].count;
		blocked += m->rows[i].blocked_ns;
		runnable += m->rows[i].runnable_ns;
	}
	cr_assert_eq(count, r->row_count);
	cr_assert_eq(count, m->integrity.recorded);
	if (r->end_ns <= end_ns) {
		cr_assert_eq(blocked, r->row_blocked_ns);
		cr_assert_eq(runnable, r->row_runnable_ns);
	}
	for (size_t i = 1; i < m->thread_n; i++) {
		const struct model_thread *t = &m->threads[i];

		cr_assert(t->begin_ns >= 0 && t->begin_ns <= t->end_ns && t->end_ns <= m->end_ns, "thread %zu", i);
		cr_assert(t->process && t->process < m->process_n, "thread %zu", i);
		cr_assert(t->comm_id < strtab_n(m->strings) && t->op < m->op_n, "thread %zu", i);
	}
	for (size_t i = 1; i < m->span_n; i++)
		cr_assert(m->spans[i].op && m->spans[i].op < m->op_n, "span %zu", i);
	if (m->event_cap)
		cr_assert(model_event_n(m) <= m->event_cap);
	for (size_t i = 1; i < m->op_n; i++) {
		/* Parents don't go in circles. */
		uint32_t op = (uint32_t)i, steps = 0;

		while (op && steps++ <= m->op_n)
			op = m->ops[op].parent;
		cr_assert_eq(op, 0, "op %zu", i);
	}
}

const char *rig_str(const struct rig *r, uint32_t id)
{
	return strtab_str(r->m->strings, id);
}

void rig_expect_kind(const struct rig *r, uint32_t wait, enum wait_reason reason, const char *kind)
{
	const struct model_row *row = &r->m->rows[r->m->waits[wait].row];

	cr_assert_lt(wait, r->m->wait_n);
	cr_expect_str_eq(wait_reason_name(row->reason), wait_reason_name(reason), "wait %u (%s)", wait, kind);
	cr_expect_str_eq(rig_str(r, row->kind_id), kind, "wait %u", wait);
}

uint32_t rig_op_of_process(const struct rig *r, uint32_t pid)
{
	for (uint32_t i = 1; i < r->m->process_n; i++) {
		if (r->m->processes[i].pid == pid)
			return r->m->processes[i].op;
	}
	return 0;
}

uint32_t rig_op_of_thread(const struct rig *r, uint32_t tid)
{
	for (uint32_t i = 1; i < r->m->thread_n; i++) {
		if (r->m->threads[i].tid == tid)
			return r->m->threads[i].op;
	}
	return 0;
}
