/* SPDX-License-Identifier: (LGPL-2.1 OR BSD-2-Clause) */
/*
 * One event into the model, its references kept aside: an op may come after
 * what refers to it, in dumps of the engine it mostly does.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "dump/reader.h"
#include "util/vec.h"

/*
 * An end behind the dump's time is no damage: the recorder's clock goes on evenly, the dump's time is the wall clock's,
 * which may have been set back. What begins before the recording is cut, and counted.
 */
static int interval_read(struct reader *r, const struct fields *f, const char *ends_first, int64_t *ret_start,
			 int64_t *ret_end, const char **ret_why)
{
	int64_t s = (int64_t)fields_number(f, F_S), d = (int64_t)fields_number(f, F_D);

	if (d < s) {
		*ret_why = ends_first;
		return -EBADMSG;
	}
	if (d > READER_NS_MAX) {
		*ret_why = "a time is beyond any recording's";
		return -EBADMSG;
	}
	r->early_n += s < 0;
	r->last_ns = d > r->last_ns ? d : r->last_ns;
	*ret_start = s < 0 ? 0 : s;
	*ret_end = d < 0 ? 0 : d;
	return 0;
}

static uint32_t string_field(struct reader *r, const struct fields *f, enum field i)
{
	return fields_has(f, i) ? reader_string(r, f->number[i]) : 0;
}

static struct string_words words_field(struct reader *r, const struct fields *f, enum field i)
{
	uint64_t id = fields_number(f, i);

	/* Counts one outside the table. */
	reader_string(r, id);
	return id < r->string_n ? r->words[id] : (struct string_words){ 0 };
}

static int op_event(struct reader *r, const struct fields *f, const char **ret_why)
{
	enum op_kind kind = OP_INTERNAL; /* also for a kind of a later engine */
	enum op_outcome outcome = OUTCOME_NONE;
	enum work_type work = WORK_ENGINE;
	struct model_op op = { .id = fields_number(f, F_ID) };

	if (!op.id) {
		*ret_why = "an op has no id";
		return -EBADMSG;
	}
	if (interval_read(r, f, "an op ends before it starts", &op.start_ns, &op.end_ns, ret_why) < 0)
		return -EBADMSG;
	op_kind_parse(fields_word(f, F_K), &kind);
	op_outcome_parse(fields_word(f, F_O), &outcome);
	work_type_parse(fields_word(f, F_W), &work);
	op.kind = kind;
	op.outcome = outcome;
	op.work = work;
	op.result = fields_number(f, F_R);
	op.class_id = string_field(r, f, F_C);
	op.ident_id = string_field(r, f, F_I);
	op.client_id = string_field(r, f, F_CL);
	op.meta_id = string_field(r, f, F_M);
	op.pid = (uint32_t)fields_number(f, F_PID);
	op.tid = (uint32_t)fields_number(f, F_TID);
	op.goid = fields_number(f, F_GOID);
	op.ustack = (uint32_t)fields_number(f, F_USTACK); /* an id of the dump until all is read */
	op.has_exit_status = fields_has(f, F_EXIT_STATUS);
	op.exit_status = (int32_t)fields_number(f, F_EXIT_STATUS);
	op.unwound = fields_number(f, F_UNWOUND) != 0;
	op.clipped = fields_number(f, F_CLIPPED) & (CLIPPED_BEFORE | CLIPPED_AFTER);
	return reader_op_add(r, &op, fields_number(f, F_P));
}

static int wait_row_read(struct reader *r, const struct fields *f, uint32_t *ret)
{
	const char *word = fields_word(f, F_RS);
	enum wait_reason reason = REASON_OTHER;
	struct model_row row = { .syscall = -1 };

	row.kind_id = string_field(r, f, F_WAIT_KIND);
	/* A reason of a later engine stays visible as the kind. */
	if (wait_reason_parse(word, &reason) < 0 && !row.kind_id) {
		if (r->apart)
			return -ENOTSUP;
		if (strtab_intern(r->m->strings, word, &row.kind_id) < 0)
			return -ENOMEM;
	}
	row.reason = reason;
	row.kstack = (uint32_t)fields_number(f, F_KSTACK);
	row.ustack = (uint32_t)fields_number(f, F_USTACK);
	row.comm_id = fields_has(f, F_THREAD_NAME) ? string_field(r, f, F_THREAD_NAME) : UINT32_MAX;
	if (fields_has(f, F_SYSCALL))
		row.syscall = (int32_t)f->number[F_SYSCALL];
	row.state = (uint32_t)fields_number(f, F_TASK_STATE);
	row.parked = fields_number(f, F_PARKED) != 0;
	row.has_futex_op = fields_has(f, F_FUTEX_OP);
	row.futex_op = (uint32_t)fields_number(f, F_FUTEX_OP);
	return rows_intern(&r->rows, &row, ret);
}

static int64_t part_ns(const struct fields *f, enum field i, int64_t max_ns)
{
	int64_t ns = (int64_t)fields_number(f, i);

	return ns < 0 ? 0 : ns > max_ns ? max_ns : ns;
}

static void wait_times_read(const struct reader *r, const struct fields *f, struct model_wait *x)
{
	int64_t all_ns = x->end_ns - x->start_ns;

	x->wake_ns = -1;
	if (fields_has(f, F_WAKE_NS)) {
		int64_t wake_ns = (int64_t)f->number[F_WAKE_NS];

		x->wake_ns = wake_ns < x->start_ns ? x->start_ns : wake_ns > x->end_ns ? x->end_ns : wake_ns;
	}
	if (!fields_has(f, F_BLOCKED_NS) && !fields_has(f, F_RUNNABLE_NS) && !fields_has(f, F_ONCPU_NS)) {
		/* Not measured apart: the engine's hooks see blocking only. */
		if (r->rows.items[x->row].reason == REASON_CPU)
			x->runnable_ns = all_ns;
		else
			x->blocked_ns = all_ns;
		return;
	}
	x->blocked_ns = part_ns(f, F_BLOCKED_NS, all_ns);
	x->runnable_ns = part_ns(f, F_RUNNABLE_NS, all_ns - x->blocked_ns);
}

/* Few goroutines have most waits: each id is kept once. */
int reader_goid(struct reader *r, uint64_t goid, uint32_t *ret)
{
	uint64_t index = 0;

	if (!r->goid_n) {
		if (map_new(&r->goid_indexes) < 0 || VEC_RESERVE(r->goids, r->goid_cap, 1) < 0)
			return -ENOMEM;
		r->goids[r->goid_n++] = 0;
	}
	if (goid && !map_get(r->goid_indexes, goid, &index)) {
		index = r->goid_n;
		if (index > UINT32_MAX || VEC_RESERVE(r->goids, r->goid_cap, r->goid_n + 1) < 0 ||
		    map_put(r->goid_indexes, goid, index) < 0)
			return -ENOMEM;
		r->goids[r->goid_n++] = goid;
	}
	*ret = (uint32_t)index;
	return 0;
}

static int wait_refs_read(struct reader *r, const struct fields *f, struct wait_refs *ret)
{
	uint64_t waker_op = fields_number(f, F_WAKER_OP);

	*ret = (struct wait_refs){
		.op = fields_number(f, F_P),
		.target = fields_number(f, F_T),
		.waker_op = waker_op <= UINT32_MAX ? (uint32_t)waker_op : 0,
		.pid = (uint32_t)fields_number(f, F_PID),
		.tid = (uint32_t)fields_number(f, F_TID),
		.waker_pid = (uint32_t)fields_number(f, F_WAKER_PID),
		.waker_tid = (uint32_t)fields_number(f, F_WAKER_TID),
		.waker_comm = string_field(r, f, F_WAKER_COMM),
	};
	if (reader_goid(r, fields_number(f, F_GOID), &ret->goid) < 0 ||
	    reader_goid(r, fields_number(f, F_WAKER_GOID), &ret->waker_goid) < 0)
		return -ENOMEM;
	return 0;
}

/* Number + 1, 0: unknown. */
static uint16_t cpu_read(const struct fields *f, enum field i)
{
	return fields_has(f, i) && f->number[i] < UINT16_MAX ? (uint16_t)(f->number[i] + 1) : 0;
}

static int wait_event(struct reader *r, const struct fields *f, const char **ret_why)
{
	struct model_wait x = { 0 };
	struct model_wait_words words;
	uint32_t index, row;
	int e;

	if (interval_read(r, f, "a wait ends before it starts", &x.start_ns, &x.end_ns, ret_why) < 0)
		return -EBADMSG;
	e = wait_row_read(r, f, &row);
	if (e < 0)
		return e;
	x.row = row;
	wait_times_read(r, f, &x);
	x.outcome = words_field(r, f, F_OUTCOME).outcome;
	x.ctx = words_field(r, f, F_WAKER_CTX).ctx;
	x.owner_unknown = words_field(r, f, F_OWNER_UNKNOWN).owner_unknown;
	x.ident_id = string_field(r, f, F_I);
	words = (struct model_wait_words){
		.owner_tid = (uint32_t)fields_number(f, F_OWNER_TID),
		.has_futex_val = fields_has(f, F_FUTEX_VAL),
		.futex_val = (uint32_t)fields_number(f, F_FUTEX_VAL),
	};
	x.has_timeout = fields_has(f, F_TIMEOUT_NS) && (int64_t)f->number[F_TIMEOUT_NS] >= 0;
	x.timeout_ns = x.has_timeout ? (int64_t)f->number[F_TIMEOUT_NS] : 0;
	x.clipped = fields_number(f, F_CLIPPED) & (CLIPPED_BEFORE | CLIPPED_AFTER);
	x.cpu_from = cpu_read(f, F_CPU_FROM);
	x.cpu_to = cpu_read(f, F_CPU_TO);
	x.waker_stack = (uint32_t)fields_number(f, F_WAKER_STACK); /* an id of the dump until all is read */
	if (model_wait_words_set(r->m, &x, &words) < 0 ||
	    VEC_RESERVE(r->wait_refs, r->wait_ref_cap, r->m->wait_n + 1) < 0 || model_wait_add(r->m, &index) < 0)
		return -ENOMEM;
	r->m->waits[index] = x;
	return wait_refs_read(r, f, &r->wait_refs[index]);
}

static int link_event(struct reader *r, const struct fields *f, const char **ret_why)
{
	enum link_kind kind;
	struct model_link x = { 0 };
	uint32_t index;

	if (link_kind_parse(fields_word(f, F_LK), &kind) < 0)
		return 0; /* of a later engine */
	if (interval_read(r, f, "a link ends before it starts", &x.start_ns, &x.end_ns, ret_why) < 0)
		return -EBADMSG;
	x.kind = kind;
	x.ident_id = string_field(r, f, F_I);
	x.result = fields_number(f, F_R);
	if (VEC_RESERVE(r->link_refs, r->link_ref_cap, r->m->link_n + 1) < 0 || model_link_add(r->m, &index) < 0)
		return -ENOMEM;
	r->m->links[index] = x;
	r->link_refs[index] = (struct link_refs){ .from = fields_number(f, F_P), .to = fields_number(f, F_T) };
	return 0;
}

enum { FRAME_MODULE, FRAME_ADDRESS, FRAME_NAME, FRAME_FILE, FRAME_LINE, FRAME_INLINED, FRAME_ALIASES, FRAME_PART_N };

/*
 * [module id, address, string id of the name], and where known the string id of the source file, the line, whether it
 * is inlined, the number of the function's other names: false if it isn't. What later versions add behind is passed over. The module stays an id of the dump.
 */
static bool frame_read(struct reader *r, const struct fields *f, size_t i, struct model_frame *ret)
{
	uint64_t part[FRAME_PART_N] = { 0 };
	size_t n;

	if (!fields_array_ints(f, i, part, FRAME_PART_N, &n) || n <= FRAME_NAME)
		return false;
	*ret = (struct model_frame){
		.module = part[FRAME_MODULE] <= UINT32_MAX ? (uint32_t)part[FRAME_MODULE] : 0,
		.address = part[FRAME_ADDRESS],
		.name_id = reader_string(r, part[FRAME_NAME]),
		.file_id = reader_string(r, part[FRAME_FILE]),
		.line = part[FRAME_LINE] <= INT32_MAX ? (uint32_t)part[FRAME_LINE] & INT32_MAX : 0,
		.inlined = part[FRAME_INLINED] != 0,
		.alias_n = part[FRAME_ALIASES] <= UINT32_MAX ? (uint32_t)part[FRAME_ALIASES] : 0,
	};
	return true;
}

static int stack_event(struct reader *r, const struct fields *f, const char **ret_why)
{
	size_t n = fields_has(f, F_FRAMES) ? fields_array_n(f) : 0;
	bool user = strcmp(fields_word(f, F_SIDE), "user") == 0;
	struct model_frame *frames = NULL;
	uint32_t index;
	int e = 0;

	if (n) {
		frames = calloc(n, sizeof(*frames));
		if (!frames)
			return -ENOMEM;
	}
	for (size_t i = 0; i < n && e == 0; i++) {
		if (!frame_read(r, f, i, &frames[i])) {
			*ret_why = "a stack's frame is malformed";
			e = -EBADMSG;
		}
	}
	if (e == 0)
		e = model_stack_add(r->m, user ? STACK_USER : STACK_KERNEL, &index);
	if (e == 0)
		e = ids_add(&r->stack_ids, fields_number(f, F_SID), index);
	/* "lost" without frames is how a body that never came is written. */
	if (e == 0 && (n || strcmp(fields_word(f, F_ENDED), "lost") != 0))
		e = model_stack_set(r->m, index, fields_word(f, F_ENDED), frames, n);
	free(frames);
	return e;
}

static int module_event(struct reader *r, const struct fields *f)
{
	struct model_module *o;
	uint32_t index, path_id, build_id_id;

	if (strtab_intern(r->m->strings, fields_word(f, F_PATH), &path_id) < 0 ||
	    strtab_intern(r->m->strings, fields_word(f, F_BUILD_ID), &build_id_id) < 0 ||
	    model_module_add(r->m, &index) < 0)
		return -ENOMEM;
	o = &r->m->modules[index];
	o->path_id = path_id;
	o->build_id_id = build_id_id;
	o->bias = fields_number(f, F_BIAS);
	return ids_add(&r->module_ids, fields_number(f, F_MID), index);
}

static uint64_t total_ns(const struct fields *f, enum field i)
{
	int64_t ns = (int64_t)fields_number(f, i);

	return ns < 0 ? 0 : (uint64_t)ns;
}

static int thread_event(struct reader *r, const struct fields *f, const char **ret_why)
{
	struct model_thread t = {
		.goid = fields_number(f, F_GOID),
		.parent_goid = fields_number(f, F_PARENT_GOID),
		.pid = (uint32_t)fields_number(f, F_PID),
		.tid = (uint32_t)fields_number(f, F_TID),
		.begin_ns = (int64_t)fields_number(f, F_BEGIN_NS),
		.end_ns = (int64_t)fields_number(f, F_END_NS),
		.has_totals = fields_has(f, F_ONCPU_NS),
		.oncpu_ns = total_ns(f, F_ONCPU_NS),
		.runnable_ns = total_ns(f, F_RUNNABLE_NS),
		.blocked_ns = total_ns(f, F_BLOCKED_NS),
		.lost_ns = total_ns(f, F_LOST_NS),
		.left_out_ns = total_ns(f, F_LEFT_OUT_NS),
		.interval_n = (uint32_t)fields_number(f, F_INTERVALS),
		.lost_n = (uint32_t)fields_number(f, F_LOST),
		.below_min_n = (uint32_t)fields_number(f, F_BELOW_MIN),
		.voluntary_n = (uint32_t)fields_number(f, F_VOLUNTARY),
		.involuntary_n = (uint32_t)fields_number(f, F_INVOLUNTARY),
		.sample_n = (uint32_t)fields_number(f, F_SAMPLES),
		.cpu_allowed_n = (uint32_t)fields_number(f, F_CPUS_ALLOWED),
		.clipped = fields_number(f, F_CLIPPED) & (CLIPPED_BEFORE | CLIPPED_AFTER),
	};
	uint32_t index;

	if (t.begin_ns < 0 || t.end_ns < t.begin_ns || t.end_ns > (r->end_known ? r->m->end_ns : READER_NS_MAX)) {
		*ret_why = "a thread's lifetime is not within the recording";
		return -EBADMSG;
	}
	if (strtab_intern(r->m->strings, fields_word(f, F_COMM), &t.comm_id) < 0 ||
	    VEC_RESERVE(r->thread_ops, r->thread_op_cap, r->m->thread_n + 1) < 0 ||
	    (t.goid ? model_goroutine_add(r->m, t.goid, &index) : model_thread_add(r->m, &index)) < 0)
		return -ENOMEM;
	r->m->threads[index] = t;
	r->thread_ops[index] = fields_number(f, F_OP);
	return 0;
}

/* Fewer than the count are fine: their times may have found no place. What is no time of the recording is passed over. */
static int sample_times_read(struct reader *r, const struct fields *f, uint32_t sample, uint64_t count)
{
	size_t n = fields_has(f, F_AT) ? fields_array_n(f) : 0;
	int e = 0;

	for (size_t i = 0; i < n && i < count && e == 0; i++) {
		int64_t at_ns;

		if (!fields_array_int(f, i, &at_ns) || at_ns < 0 || (r->end_known && at_ns > r->m->end_ns))
			continue;
		e = model_sample_time_add(r->m, sample, at_ns);
	}
	return e == -ENOSPC ? 0 : e;
}

/* Its stacks stay ids of the dump, its thread a name without an index, until all is read. */
static int sample_event(struct reader *r, const struct fields *f, const char **ret_why)
{
	struct model_sample s = {
		.count = fields_number(f, F_SAMPLES),
		.kstack = (uint32_t)fields_number(f, F_KSTACK),
		.ustack = (uint32_t)fields_number(f, F_USTACK),
		.comm_id = fields_has(f, F_THREAD_NAME) ? string_field(r, f, F_THREAD_NAME) : UINT32_MAX,
		.syscall = fields_has(f, F_SYSCALL) ? (int32_t)f->number[F_SYSCALL] : -1,
	};
	uint32_t index;

	/* Sums of counts must not overflow. */
	if (!s.count || s.count > UINT32_MAX) {
		*ret_why = "a sample has no possible count";
		return -EBADMSG;
	}
	if (VEC_RESERVE(r->sample_refs, r->sample_ref_cap, r->m->sample_n + 1) < 0 ||
	    model_sample_add(r->m, &index) < 0)
		return -ENOMEM;
	r->m->samples[index] = s;
	r->sample_refs[index] = (struct sample_refs){
		.pid = (uint32_t)fields_number(f, F_PID),
		.tid = (uint32_t)fields_number(f, F_TID),
		.begin_ns = (int64_t)fields_number(f, F_BEGIN_NS),
	};
	return sample_times_read(r, f, index, s.count);
}

static bool hex_read(const char *word, uint8_t *ret, size_t n)
{
	if (strlen(word) != 2 * n || strspn(word, "0123456789abcdefABCDEF") != 2 * n)
		return false;
	for (size_t i = 0; i < n; i++) {
		const char digits[] = { word[2 * i], word[2 * i + 1], 0 };

		ret[i] = (uint8_t)strtoul(digits, NULL, 16);
	}
	return true;
}

static int span_event(struct reader *r, const struct fields *f, const char **ret_why)
{
	struct model_span x = { 0 };
	uint32_t index;

	if (!hex_read(fields_word(f, F_TR), x.trace, sizeof(x.trace)) ||
	    !hex_read(fields_word(f, F_SP), x.span, sizeof(x.span))) {
		*ret_why = "a span's ids are no 32 and 16 hex digits";
		return -EBADMSG;
	}
	if (VEC_RESERVE(r->span_refs, r->span_ref_cap, r->m->span_n + 1) < 0 || model_span_add(r->m, &index) < 0)
		return -ENOMEM;
	r->m->spans[index] = x;
	r->span_refs[index] = fields_number(f, F_ID);
	return 0;
}

int reader_event(struct reader *r, const struct fields *f, const char **ret_why)
{
	const char *e = fields_word(f, F_E);

	if (strcmp(e, "wait") == 0)
		return wait_event(r, f, ret_why);
	if (strcmp(e, "op") == 0)
		return op_event(r, f, ret_why);
	if (strcmp(e, "link") == 0)
		return link_event(r, f, ret_why);
	if (strcmp(e, "span") == 0)
		return span_event(r, f, ret_why);
	/* Few, and with strings of their own. */
	if (r->apart)
		return -EAGAIN;
	if (strcmp(e, "stack") == 0)
		return stack_event(r, f, ret_why);
	if (strcmp(e, "module") == 0)
		return module_event(r, f);
	if (strcmp(e, "sample") == 0)
		return sample_event(r, f, ret_why);
	if (strcmp(e, "thread") == 0)
		return thread_event(r, f, ret_why);
	return 0; /* what later versions add */
}
