/* SPDX-License-Identifier: (LGPL-2.1 OR BSD-2-Clause) */
/*
 * One pass in an order in which every event follows what it refers to:
 * modules, stacks, threads, samples, ops, links, spans, waits. A file cut short (disk full)
 * then loses waits, not the names of those it kept.
 *
 * Strictness lives here, not in the callers: ids that are none become 0 and
 * are left out, an end before its start is moved to it, nothing ends after
 * the dump.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "dump/dump.h"
#include "dump/strings.h"
#include "util/cleanup.h"

enum { TASK_INTERRUPTIBLE_BIT = 1 };

struct writer {
	const struct model *m;
	struct json *j;
	struct dump_strings strings;
	size_t *sample_time_first; /* by sample, one more than there are: where its moments begin in sample_times */
	uint32_t *sample_times;	   /* indexes of the model's, by sample, each in time order */
	uint32_t outcome_ids[WAIT_OUTCOME_MAX], ctx_ids[WAKER_CTX_MAX], owner_unknown_ids[OWNER_UNKNOWN_MAX];
};

static void writer_json_free(struct json **j)
{
	json_free(*j);
}

static void kv_id_nz(struct writer *w, const char *key, uint32_t string_id)
{
	json_kv_uint_nz(w->j, key, dump_strings_id(&w->strings, string_id));
}

/* The id of an op in the dump, 0 if index names none. */
static uint64_t op_id(const struct writer *w, uint32_t index)
{
	if (!index || index >= w->m->op_n)
		return 0;
	return w->m->ops[index].id ? w->m->ops[index].id : index;
}

static const struct model_thread *thread_at(const struct writer *w, uint32_t index)
{
	return index && index < w->m->thread_n ? &w->m->threads[index] : NULL;
}

static int64_t time_clamp(int64_t ns, int64_t from, int64_t to)
{
	return ns < from ? from : ns > to ? to : ns;
}

static void interval_write(struct writer *w, int64_t start_ns, int64_t end_ns, int64_t *ret_start, int64_t *ret_end)
{
	int64_t s = time_clamp(start_ns, 0, w->m->end_ns), d = time_clamp(end_ns, s, w->m->end_ns);

	json_kv_int(w->j, "s", s);
	json_kv_int(w->j, "d", d);
	if (ret_start)
		*ret_start = s;
	if (ret_end)
		*ret_end = d;
}

static void module_write(struct writer *w, size_t index)
{
	const struct model_module *o = &w->m->modules[index];

	json_begin_object(w->j);
	json_kv_string(w->j, "e", "module");
	json_kv_uint(w->j, "mid", index);
	json_kv_string(w->j, "path", dump_strings_text(&w->strings, o->path_id));
	json_kv_string_nz(w->j, "build_id", dump_strings_text(&w->strings, o->build_id_id));
	json_kv_uint_nz(w->j, "bias", o->bias);
	json_end_object(w->j);
	json_newline(w->j);
}

/* [module, address, name], as long as what is known needs it: [.., source file, line, 1 if inlined, other names]. */
static void frame_write(struct writer *w, const struct model_frame *f)
{
	json_begin_array(w->j);
	json_uint(w->j, f->module < w->m->module_n ? f->module : 0);
	json_uint(w->j, f->address);
	json_uint(w->j, dump_strings_id(&w->strings, f->name_id));
	if (f->file_id || f->line || f->inlined || f->alias_n) {
		json_uint(w->j, dump_strings_id(&w->strings, f->file_id));
		json_uint(w->j, f->line);
	}
	if (f->inlined || f->alias_n)
		json_uint(w->j, f->inlined);
	if (f->alias_n)
		json_uint(w->j, f->alias_n);
	json_end_array(w->j);
}

static void stack_write(struct writer *w, size_t index)
{
	const struct model_stack *s = &w->m->stacks[index];

	json_begin_object(w->j);
	json_kv_string(w->j, "e", "stack");
	json_kv_uint(w->j, "sid", index);
	json_kv_string(w->j, "side", s->side == STACK_USER ? "user" : "kernel");
	json_kv_string(w->j, "ended", s->resolved ? dump_strings_text(&w->strings, s->ended_id) : "lost");
	json_key(w->j, "frames");
	json_begin_array(w->j);
	for (uint32_t i = 0; i < s->frame_n; i++)
		frame_write(w, &s->frames[i]);
	json_end_array(w->j);
	json_end_object(w->j);
	json_newline(w->j);
}

static void thread_write(struct writer *w, size_t index)
{
	const struct model_thread *t = &w->m->threads[index];
	struct json *j = w->j;

	json_begin_object(j);
	json_kv_string(j, "e", "thread");
	json_kv_uint(j, "pid", t->pid);
	json_kv_uint(j, "tid", t->tid);
	json_kv_uint_nz(j, "goid", t->goid);
	json_kv_uint_nz(j, "parent_goid", t->parent_goid);
	json_kv_string(j, "comm", dump_strings_text(&w->strings, t->comm_id));
	json_kv_uint_nz(j, "op", op_id(w, t->op));
	json_kv_int_nz(j, "clipped", t->clipped);
	json_kv_int(j, "begin_ns", time_clamp(t->begin_ns, 0, w->m->end_ns));
	json_kv_int(j, "end_ns", time_clamp(t->end_ns, 0, w->m->end_ns));
	if (t->has_totals) {
		json_kv_uint(j, "oncpu_ns", t->oncpu_ns);
		json_kv_uint(j, "runnable_ns", t->runnable_ns);
		json_kv_uint(j, "blocked_ns", t->blocked_ns);
		json_kv_uint(j, "lost_ns", t->lost_ns);
	}
	json_kv_uint_nz(j, "left_out_ns", t->left_out_ns);
	json_kv_uint_nz(j, "intervals", t->interval_n);
	json_kv_uint_nz(j, "lost", t->lost_n);
	json_kv_uint_nz(j, "below_min", t->below_min_n);
	json_kv_uint_nz(j, "voluntary", t->voluntary_n);
	json_kv_uint_nz(j, "involuntary", t->involuntary_n);
	json_kv_uint_nz(j, "cpus_allowed", t->cpu_allowed_n);
	json_kv_uint_nz(j, "samples", t->sample_n);
	json_end_object(j);
	json_newline(j);
}

static void sample_times_write(struct writer *w, size_t index)
{
	size_t from = w->sample_time_first[index], to = w->sample_time_first[index + 1];

	if (from == to)
		return;
	json_key(w->j, "at");
	json_begin_array(w->j);
	for (size_t i = from; i < to; i++)
		json_int(w->j, time_clamp(w->m->sample_times[w->sample_times[i]].at_ns, 0, w->m->end_ns));
	json_end_array(w->j);
}

/* The thread's begin tells it from others that had its number. */
static void sample_write(struct writer *w, size_t index)
{
	const struct model_sample *s = &w->m->samples[index];
	const struct model_thread *t = thread_at(w, s->thread);
	struct json *j = w->j;

	json_begin_object(j);
	json_kv_string(j, "e", "sample");
	json_kv_uint(j, "pid", t ? t->pid : 0);
	json_kv_uint(j, "tid", t ? t->tid : 0);
	json_kv_int(j, "begin_ns", t ? time_clamp(t->begin_ns, 0, w->m->end_ns) : 0);
	if (!t || dump_strings_id(&w->strings, t->comm_id) != dump_strings_id(&w->strings, s->comm_id))
		kv_id_nz(w, "thread_name", s->comm_id);
	if (s->syscall >= 0)
		json_kv_int(j, "syscall", s->syscall);
	json_kv_uint_nz(j, "kstack", s->kstack < w->m->stack_n ? s->kstack : 0);
	json_kv_uint_nz(j, "ustack", s->ustack < w->m->stack_n ? s->ustack : 0);
	json_kv_uint(j, "samples", s->count);
	sample_times_write(w, index);
	json_end_object(j);
	json_newline(j);
}

/* What a line of an op and its entry in open_ops share of our additions. */
static void op_additions_write(struct writer *w, const struct model_op *o)
{
	json_kv_uint_nz(w->j, "pid", o->pid);
	json_kv_uint_nz(w->j, "tid", o->tid);
	json_kv_uint_nz(w->j, "goid", o->goid);
	if (o->has_exit_status)
		json_kv_int(w->j, "exit_status", o->exit_status);
	json_kv_int_nz(w->j, "unwound", o->unwound);
	json_kv_int_nz(w->j, "clipped", o->clipped);
	json_kv_uint_nz(w->j, "ustack", o->ustack < w->m->stack_n ? o->ustack : 0);
}

static void op_write(struct writer *w, size_t index)
{
	const struct model_op *o = &w->m->ops[index];
	struct json *j = w->j;

	json_begin_object(j);
	json_kv_string(j, "e", "op");
	json_kv_string(j, "k", op_kind_name(o->kind));
	if (o->work != WORK_ENGINE)
		json_kv_string_nz(j, "w", work_type_name(o->work));
	json_kv_string_nz(j, "o", op_outcome_name(o->outcome));
	json_kv_uint(j, "id", op_id(w, (uint32_t)index));
	json_kv_uint_nz(j, "p", op_id(w, o->parent));
	json_kv_uint_nz(j, "r", o->result);
	kv_id_nz(w, "c", o->class_id);
	kv_id_nz(w, "i", o->ident_id);
	kv_id_nz(w, "cl", o->client_id);
	kv_id_nz(w, "m", o->meta_id);
	interval_write(w, o->start_ns, o->end_ns, NULL, NULL);
	op_additions_write(w, o);
	json_end_object(j);
	json_newline(j);
}

static void open_op_write(struct writer *w, size_t index)
{
	const struct model_op *o = &w->m->ops[index];
	struct json *j = w->j;

	json_begin_object(j);
	json_kv_uint(j, "op_id", op_id(w, (uint32_t)index));
	json_kv_uint_nz(j, "parent_id", op_id(w, o->parent));
	json_kv_string(j, "kind", op_kind_name(o->kind));
	if (o->work != WORK_ENGINE)
		json_kv_string_nz(j, "work_type", work_type_name(o->work));
	kv_id_nz(w, "class_id", o->class_id);
	kv_id_nz(w, "ident_id", o->ident_id);
	kv_id_nz(w, "client_id", o->client_id);
	kv_id_nz(w, "meta_id", o->meta_id);
	json_kv_int(j, "start_ns", time_clamp(o->start_ns, 0, w->m->end_ns));
	op_additions_write(w, o);
	json_end_object(j);
}

static void link_write(struct writer *w, size_t index)
{
	const struct model_link *l = &w->m->links[index];
	struct json *j = w->j;

	json_begin_object(j);
	json_kv_string(j, "e", "link");
	json_kv_string(j, "lk", link_kind_name(l->kind));
	json_kv_uint_nz(j, "p", op_id(w, l->from));
	json_kv_uint_nz(j, "t", op_id(w, l->to));
	json_kv_uint_nz(j, "r", l->result);
	kv_id_nz(w, "i", l->ident_id);
	interval_write(w, l->start_ns, l->end_ns, NULL, NULL);
	json_end_object(j);
	json_newline(j);
}

/* The format gives these lines four keys and no time. */
static void span_write(struct writer *w, size_t index)
{
	const struct model_span *x = &w->m->spans[index];
	char trace[2 * sizeof(x->trace) + 1], span[2 * sizeof(x->span) + 1];

	for (size_t i = 0; i < sizeof(x->trace); i++)
		snprintf(trace + 2 * i, 3, "%02x", x->trace[i]);
	for (size_t i = 0; i < sizeof(x->span); i++)
		snprintf(span + 2 * i, 3, "%02x", x->span[i]);
	json_begin_object(w->j);
	json_kv_string(w->j, "e", "span");
	json_kv_uint_nz(w->j, "id", op_id(w, x->op));
	json_kv_string(w->j, "tr", trace);
	json_kv_string(w->j, "sp", span);
	json_end_object(w->j);
	json_newline(w->j);
}

static void waker_write(struct writer *w, const struct model_wait *x)
{
	const struct model_thread *t = thread_at(w, x->waker);
	uint32_t pid = 0, tid = 0, comm_id = 0;

	model_wait_waker(w->m, x, &pid, &tid, &comm_id);
	json_kv_uint_nz(w->j, "waker_pid", pid);
	/* A goroutine is no thread's; which one ran it then is not kept. */
	if (t && t->goid)
		json_kv_uint(w->j, "waker_goid", t->goid);
	else
		json_kv_uint_nz(w->j, "waker_tid", tid);
	if (t)
		json_kv_uint_nz(w->j, "waker_op", op_id(w, model_wait_waker_op(w->m, x)));
	else
		kv_id_nz(w, "waker_comm", comm_id);
	if (x->ctx < WAKER_CTX_MAX)
		kv_id_nz(w, "waker_ctx", w->ctx_ids[x->ctx]);
	json_kv_uint_nz(w->j, "waker_stack", x->waker_stack < w->m->stack_n ? x->waker_stack : 0);
	json_kv_uint_nz(w->j, "owner_tid", model_wait_words(w->m, x).owner_tid);
	if (x->owner_unknown < OWNER_UNKNOWN_MAX)
		kv_id_nz(w, "owner_unknown", w->owner_unknown_ids[x->owner_unknown]);
}

/* What the row and the thread say: written with each wait, so that a line stands alone. */
static void wait_row_write(struct writer *w, const struct model_row *row, const struct model_thread *t)
{
	struct json *j = w->j;

	if (row->comm_id && (!t || dump_strings_id(&w->strings, t->comm_id) != dump_strings_id(&w->strings, row->comm_id)))
		kv_id_nz(w, "thread_name", row->comm_id);
	if (row->state != TASK_INTERRUPTIBLE_BIT)
		json_kv_uint_nz(j, "task_state", row->state);
	if (row->syscall >= 0)
		json_kv_int(j, "syscall", row->syscall);
	if (row->has_futex_op)
		json_kv_uint(j, "futex_op", row->futex_op);
	json_kv_uint_nz(j, "kstack", row->kstack < w->m->stack_n ? row->kstack : 0);
	json_kv_uint_nz(j, "ustack", row->ustack < w->m->stack_n ? row->ustack : 0);
}

/* The three times sum to d - s: runnable and blocked are cut to fit, on-CPU is the rest. */
static void wait_times_write(struct writer *w, const struct model_wait *x, int64_t start_ns, int64_t end_ns)
{
	int64_t blocked_ns = time_clamp(x->blocked_ns, 0, end_ns - start_ns);
	int64_t runnable_ns = time_clamp(x->runnable_ns, 0, end_ns - start_ns - blocked_ns);

	if (x->wake_ns >= 0)
		json_kv_int(w->j, "wake_ns", time_clamp(x->wake_ns, start_ns, end_ns));
	json_kv_int_nz(w->j, "blocked_ns", blocked_ns);
	json_kv_int_nz(w->j, "runnable_ns", runnable_ns);
	json_kv_int_nz(w->j, "oncpu_ns", end_ns - start_ns - blocked_ns - runnable_ns);
}

/* What the call asked for. */
static void wait_call_write(struct writer *w, const struct model_wait *x)
{
	struct model_wait_words words = model_wait_words(w->m, x);

	if (x->has_timeout)
		json_kv_int(w->j, "timeout_ns", x->timeout_ns);
	if (words.has_futex_val)
		json_kv_uint(w->j, "futex_val", words.futex_val);
}

static void wait_write(struct writer *w, size_t index)
{
	const struct model_wait *x = &w->m->waits[index];
	const struct model_row *row = &w->m->rows[x->row < w->m->row_n ? x->row : 0];
	const struct model_thread *t = thread_at(w, x->thread);
	int64_t start_ns, end_ns;
	struct json *j = w->j;

	json_begin_object(j);
	json_kv_string(j, "e", "wait");
	json_kv_string(j, "rs", wait_reason_name(row->reason));
	json_kv_uint_nz(j, "p", op_id(w, x->op));
	json_kv_uint_nz(j, "t", op_id(w, x->target));
	kv_id_nz(w, "i", x->ident_id);
	interval_write(w, x->start_ns, x->end_ns, &start_ns, &end_ns);
	if (t) {
		json_kv_uint_nz(j, "pid", t->pid);
		json_kv_uint_nz(j, "tid", model_wait_words(w->m, x).tid ?: t->tid);
		json_kv_uint_nz(j, "goid", t->goid);
	}
	json_kv_int_nz(j, "parked", row->parked);
	kv_id_nz(w, "wait_kind", row->kind_id);
	if (x->outcome < WAIT_OUTCOME_MAX)
		kv_id_nz(w, "outcome", w->outcome_ids[x->outcome]);
	json_kv_int_nz(j, "clipped", x->clipped);
	wait_times_write(w, x, start_ns, end_ns);
	if (x->cpu_from)
		json_kv_uint(j, "cpu_from", x->cpu_from - 1u);
	if (x->cpu_to)
		json_kv_uint(j, "cpu_to", x->cpu_to - 1u);
	waker_write(w, x);
	wait_call_write(w, x);
	wait_row_write(w, row, t);
	json_end_object(j);
	json_newline(j);
}

uint64_t dump_dropped_events(const struct model *m)
{
	const struct model_integrity *i = &m->integrity;

	return i->dropped_events + i->lost_ring_full + i->lost_unprocessed + i->lost_clock_back;
}

static size_t open_op_n(const struct model *m)
{
	size_t n = 0;

	for (size_t i = 1; i < m->op_n; i++)
		n += m->ops[i].open && !m->ops[i].flushed;
	return n;
}

static void header_write(struct writer *w, void (*wcbpf)(void *arg, struct json *j), void *arg)
{
	const struct model *m = w->m;
	size_t open_n = open_op_n(m), string_n = strtab_n(w->strings.table);
	struct json *j = w->j;

	json_begin_object(j);
	json_kv_int(j, "schema_version", 1);
	json_kv_int(j, "epoch_unix_nano", m->epoch_unix_ns);
	json_kv_int(j, "dumped_unix_nano", m->epoch_unix_ns + m->end_ns);
	json_kv_uint(j, "dropped_events", dump_dropped_events(m));
	json_kv_uint(j, "event_count", model_event_n(m) - open_n + m->stack_n + m->module_n + m->thread_n +
		     m->sample_n - 4);
	json_key(j, "strings");
	json_begin_array(j);
	for (size_t i = 0; i < string_n; i++)
		json_string(j, strtab_str(w->strings.table, (uint32_t)i));
	json_end_array(j);
	if (open_n) {
		json_key(j, "open_ops");
		json_begin_array(j);
		for (size_t i = 1; i < m->op_n; i++) {
			if (m->ops[i].open && !m->ops[i].flushed)
				open_op_write(w, i);
		}
		json_end_array(j);
	}
	if (wcbpf) {
		json_key(j, "wcbpf");
		json_begin_object(j);
		wcbpf(arg, j);
		json_end_object(j);
	}
	json_end_object(j);
	json_newline(j);
}

static int events_write(struct writer *w)
{
	const struct model *m = w->m;

	for (size_t i = 1; i < m->module_n; i++)
		module_write(w, i);
	for (size_t i = 1; i < m->stack_n; i++)
		stack_write(w, i);
	for (size_t i = 1; i < m->thread_n; i++)
		thread_write(w, i);
	for (size_t i = 1; i < m->sample_n && !json_error(w->j); i++)
		sample_write(w, i);
	for (size_t i = 1; i < m->op_n; i++) {
		if (!m->ops[i].open && !m->ops[i].flushed)
			op_write(w, i);
	}
	for (size_t i = 1; i < m->link_n; i++)
		link_write(w, i);
	for (size_t i = 1; i < m->span_n; i++)
		span_write(w, i);
	/* Millions: a sink that has failed need not see them all. */
	for (size_t i = 1; i < m->wait_n && !json_error(w->j); i++)
		wait_write(w, i);
	return json_flush(w->j);
}

/* The format wants these words as string ids; only those in use, so that a table read back is the same. */
static int words_intern(struct writer *w)
{
	const struct model *m = w->m;
	bool outcome_used[WAIT_OUTCOME_MAX] = { 0 }, ctx_used[WAKER_CTX_MAX] = { 0 };
	bool unknown_used[OWNER_UNKNOWN_MAX] = { 0 };

	for (size_t i = 1; i < m->wait_n; i++) {
		if (m->waits[i].outcome < WAIT_OUTCOME_MAX)
			outcome_used[m->waits[i].outcome] = true;
		if (m->waits[i].ctx < WAKER_CTX_MAX)
			ctx_used[m->waits[i].ctx] = true;
		if (m->waits[i].owner_unknown < OWNER_UNKNOWN_MAX)
			unknown_used[m->waits[i].owner_unknown] = true;
	}
	for (unsigned i = 0; i < WAIT_OUTCOME_MAX; i++) {
		if (outcome_used[i] && strtab_intern(m->strings, wait_outcome_name(i), &w->outcome_ids[i]) < 0)
			return -ENOMEM;
	}
	for (unsigned i = 0; i < WAKER_CTX_MAX; i++) {
		if (ctx_used[i] && strtab_intern(m->strings, waker_ctx_name(i), &w->ctx_ids[i]) < 0)
			return -ENOMEM;
	}
	for (unsigned i = 0; i < OWNER_UNKNOWN_MAX; i++) {
		if (unknown_used[i] &&
		    strtab_intern(m->strings, owner_unknown_name(i), &w->owner_unknown_ids[i]) < 0)
			return -ENOMEM;
	}
	return 0;
}

/* The model has moments in time order, the dump has them by sample. */
static int sample_times_group(struct writer *w)
{
	const struct model *m = w->m;
	size_t *next;

	w->sample_time_first = calloc(m->sample_n + 1, sizeof(*w->sample_time_first));
	w->sample_times = calloc(m->sample_time_n + 1, sizeof(*w->sample_times));
	next = calloc(m->sample_n + 1, sizeof(*next));
	if (!w->sample_time_first || !w->sample_times || !next) {
		free(next);
		return -ENOMEM;
	}
	for (size_t i = 0; i < m->sample_time_n; i++) {
		if (m->sample_times[i].sample < m->sample_n)
			w->sample_time_first[m->sample_times[i].sample + 1]++;
	}
	for (size_t i = 0; i < m->sample_n; i++) {
		w->sample_time_first[i + 1] += w->sample_time_first[i];
		next[i] = w->sample_time_first[i];
	}
	for (size_t i = 0; i < m->sample_time_n; i++) {
		if (m->sample_times[i].sample < m->sample_n)
			w->sample_times[next[m->sample_times[i].sample]++] = (uint32_t)i;
	}
	free(next);
	return 0;
}

int dump_write_next(const struct model *m, struct strtab *texts, void (*wcbpf)(void *arg, struct json *j), void *arg,
		    json_sink sink, void *sink_arg)
{
	_cleanup_(writer_json_free) struct json *j = NULL;
	struct writer w = { .m = m };
	int r;

	if (json_new(sink, sink_arg, JSON_COMPACT, &j) < 0 || words_intern(&w) < 0)
		return -ENOMEM;
	r = sample_times_group(&w);
	if (r == 0)
		r = dump_strings_init(&w.strings, m->strings, texts);
	if (r == 0) {
		w.j = j;
		header_write(&w, wcbpf, arg);
		r = events_write(&w);
		dump_strings_done(&w.strings);
	}
	free(w.sample_time_first);
	free(w.sample_times);
	return r;
}

int dump_write(const struct model *m, void (*wcbpf)(void *arg, struct json *j), void *arg, json_sink sink,
	       void *sink_arg)
{
	return dump_write_next(m, NULL, wcbpf, arg, sink, sink_arg);
}
