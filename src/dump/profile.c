/* SPDX-License-Identifier: (LGPL-2.1 OR BSD-2-Clause) */
/*
 * A Firefox Profiler profile as "samply record --save-only" saves it, made a
 * recording: threads with samples, off-CPU time as waits of no known reason.
 * A sample stands for the CPU time since the one before it (threadCPUDelta),
 * not for a tick; one without any is the rest of a stretch off the CPU that
 * ends at its time. Names that are only an address in hex are none: the frame
 * keeps its address in its library, which the build id lets others name.
 *
 * Everything is untrusted: a column that is missing or short reads as null.
 */
#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <zlib.h>

#include "dump/dump.h"
#include "util/cleanup.h"
#include "util/jsonc.h"
#include "util/map.h"
#include "util/vec.h"

enum { PROFILE_BYTES_MAX = INT_MAX - 1, READ_BYTES = 1 << 20, DEPTH_MAX = 2048, UNSEEN_NS_MAX = 1000000000 };

struct profile {
	struct model *m;
	struct json_object *root, *shared;
	double interval_ns, delta_ns; /* between samples; one unit of threadCPUDelta */
	uint32_t *modules;	      /* by lib */
	bool *kernel_libs;
	size_t lib_n;
	struct map *processes; /* by pid */
	uint32_t row_kind_id;
	bool symbolicated;
};

/* One thread's tables. */
struct tables {
	struct json_object *strings, *func_name, *func_resource, *resource_lib, *frame_func, *frame_address;
	struct json_object *stack_frame, *stack_prefix;
	struct map *stacks; /* by stack: kernel << 32 | user */
	struct map *rows, *samples; /* by the same pair */
};

static void tokener_free(struct json_tokener **t)
{
	if (*t)
		json_tokener_free(*t);
}

static void profile_done(struct profile *p)
{
	model_free(p->m);
	json_object_put(p->root);
	free(p->modules);
	free(p->kernel_libs);
	map_free(p->processes);
}

static void tables_done(struct tables *t)
{
	map_free(t->stacks);
	map_free(t->rows);
	map_free(t->samples);
}

static struct json_object *member(struct json_object *o, const char *key)
{
	struct json_object *v;

	return json_object_is_type(o, json_type_object) && json_object_object_get_ex(o, key, &v) ? v : NULL;
}

static struct json_object *column_at(struct json_object *column, size_t i)
{
	return json_object_is_type(column, json_type_array) && i < json_object_array_length(column) ?
		       json_object_array_get_idx(column, i) : NULL;
}

/* -1: null, negative or no number. */
static int64_t index_at(struct json_object *column, size_t i)
{
	struct json_object *v = column_at(column, i);
	int64_t n = json_object_is_type(v, json_type_int) ? json_object_get_int64(v) : -1;

	return n < 0 ? -1 : n;
}

static bool number_of(struct json_object *v, double *ret)
{
	if (!json_object_is_type(v, json_type_int) && !json_object_is_type(v, json_type_double))
		return false;
	*ret = json_object_get_double(v);
	return *ret >= -1e18 && *ret <= 1e18;
}

static const char *text_of(struct json_object *v)
{
	return json_object_is_type(v, json_type_string) ? json_object_get_string(v) : "";
}

static int64_t ms_to_ns(double ms)
{
	double ns = ms * 1e6;

	return ns <= 0 ? 0 : ns >= 4e18 ? (int64_t)4e18 : (int64_t)(ns + 0.5);
}

/* Of what a damaged file says no more than some days. */
static double ns_clamp(double ns)
{
	return ns > 0 ? ns < 1e15 ? ns : 1e15 : 0;
}

static bool lib_is_kernel(const char *name)
{
	return strncmp(name, "[kernel", 7) == 0 || strncmp(name, "vmlinux", 7) == 0;
}

static int libs_read(struct profile *p)
{
	struct json_object *libs = member(p->root, "libs");

	p->lib_n = json_object_is_type(libs, json_type_array) ? json_object_array_length(libs) : 0;
	p->modules = calloc(p->lib_n + 1, sizeof(*p->modules));
	p->kernel_libs = calloc(p->lib_n + 1, sizeof(*p->kernel_libs));
	if (!p->modules || !p->kernel_libs)
		return -ENOMEM;
	for (size_t i = 0; i < p->lib_n; i++) {
		struct json_object *lib = json_object_array_get_idx(libs, i);
		const char *path = text_of(member(lib, "path")), *name = text_of(member(lib, "name"));
		struct model_module *module;

		p->kernel_libs[i] = lib_is_kernel(name) || lib_is_kernel(path);
		if (p->kernel_libs[i])
			path = "[kernel]";
		if (model_module_add(p->m, &p->modules[i]) < 0)
			return -ENOMEM;
		module = &p->m->modules[p->modules[i]];
		if (strtab_intern(p->m->strings, *path ? path : name, &module->path_id) < 0 ||
		    strtab_intern(p->m->strings, text_of(member(lib, "codeId")), &module->build_id_id) < 0)
			return -ENOMEM;
	}
	return 0;
}

static void units_read(struct profile *p)
{
	struct json_object *meta = member(p->root, "meta");
	const char *unit = text_of(member(member(meta, "sampleUnits"), "threadCPUDelta"));
	double ms;

	p->interval_ns = number_of(member(meta, "interval"), &ms) && ms > 0 && ms < 1e6 ? ms * 1e6 : 1e6;
	p->delta_ns = strcmp(unit, "ns") == 0 ? 1 : 1000;
	p->symbolicated = json_object_get_boolean(member(meta, "symbolicated"));
	p->m->sample_hz = p->interval_ns >= 1000 ? (uint32_t)(1e9 / p->interval_ns + 0.5) : 0;
}

/* Versions of the format differ in whether a table is the thread's or all threads'. */
static struct json_object *table_of(struct profile *p, struct json_object *thread, const char *key)
{
	struct json_object *v = member(thread, key);

	return v ? v : member(p->shared, key);
}

static int tables_init(struct tables *t, struct profile *p, struct json_object *thread)
{
	struct json_object *funcs = table_of(p, thread, "funcTable"), *frames = table_of(p, thread, "frameTable");
	struct json_object *stacks = table_of(p, thread, "stackTable");

	t->strings = table_of(p, thread, "stringArray");
	t->func_name = member(funcs, "name");
	t->func_resource = member(funcs, "resource");
	t->resource_lib = member(table_of(p, thread, "resourceTable"), "lib");
	t->frame_func = member(frames, "func");
	t->frame_address = member(frames, "address");
	t->stack_frame = member(stacks, "frame");
	t->stack_prefix = member(stacks, "prefix");
	return map_new(&t->stacks) < 0 || map_new(&t->rows) < 0 || map_new(&t->samples) < 0 ? -ENOMEM : 0;
}

/* "0x1a2b": what an unsymbolicated profile has for a name. */
static bool is_address(const char *name, uint64_t *ret)
{
	char *end;

	if (strncmp(name, "0x", 2) != 0 || !name[2])
		return false;
	*ret = strtoull(name + 2, &end, 16);
	return !*end;
}

static int frame_make(struct profile *p, const struct tables *t, int64_t frame, struct model_frame *ret,
		      bool *ret_kernel)
{
	int64_t func = index_at(t->frame_func, (size_t)frame), address = index_at(t->frame_address, (size_t)frame);
	int64_t resource = func >= 0 ? index_at(t->func_resource, (size_t)func) : -1;
	int64_t lib = resource >= 0 ? index_at(t->resource_lib, (size_t)resource) : -1;
	int64_t name_index = func >= 0 ? index_at(t->func_name, (size_t)func) : -1;
	const char *name = name_index >= 0 ? text_of(column_at(t->strings, (size_t)name_index)) : "";
	struct model_frame f = { 0 };
	uint64_t relative = 0;

	*ret_kernel = lib >= 0 && (size_t)lib < p->lib_n && p->kernel_libs[lib];
	if (lib >= 0 && (size_t)lib < p->lib_n)
		f.module = p->modules[lib];
	if (is_address(name, &relative))
		name = "";
	f.address = address >= 0 ? (uint64_t)address : relative;
	if (strtab_intern(p->m->strings, name, &f.name_id) < 0)
		return -ENOMEM;
	*ret = f;
	return 0;
}

static int stack_store(struct profile *p, enum stack_side side, const struct model_frame *frames, size_t n, bool cut,
		       uint32_t *ret)
{
	*ret = 0;
	if (!n)
		return 0;
	if (model_stack_add(p->m, side, ret) < 0)
		return -ENOMEM;
	return model_stack_set(p->m, *ret, cut ? "truncated" : "complete", frames, n);
}

/* The kernel's innermost frames are one stack, all others the user's. */
static int stack_make(struct profile *p, struct tables *t, int64_t stack, uint64_t *ret)
{
	struct model_frame frames[DEPTH_MAX];
	size_t n = 0, kernel_n = 0;
	uint32_t k, u;

	if (stack < 0) {
		*ret = 0;
		return 0;
	}
	if (map_get(t->stacks, (uint64_t)stack, ret))
		return 0;
	for (int64_t at = stack; at >= 0 && n < DEPTH_MAX; at = index_at(t->stack_prefix, (size_t)at)) {
		int64_t frame = index_at(t->stack_frame, (size_t)at);
		bool kernel;

		if (frame < 0)
			break;
		if (frame_make(p, t, frame, &frames[n], &kernel) < 0)
			return -ENOMEM;
		kernel_n += kernel && kernel_n == n;
		n++;
	}
	if (stack_store(p, STACK_KERNEL, frames, kernel_n, false, &k) < 0 ||
	    stack_store(p, STACK_USER, frames + kernel_n, n - kernel_n, n == DEPTH_MAX, &u) < 0)
		return -ENOMEM;
	*ret = (uint64_t)k << 32 | u;
	return map_put(t->stacks, (uint64_t)stack, *ret);
}

static int sample_add(struct profile *p, struct tables *t, uint32_t thread, uint64_t stacks, uint64_t ns, int64_t at_ns)
{
	struct model_sample *s;
	uint64_t at;
	uint32_t index;

	if (!map_get(t->samples, stacks, &at)) {
		if (model_sample_add(p->m, &index) < 0 || map_put(t->samples, stacks, index) < 0)
			return -ENOMEM;
		at = index;
		p->m->samples[at] = (struct model_sample){ .thread = thread, .kstack = (uint32_t)(stacks >> 32),
							   .ustack = (uint32_t)stacks, .syscall = -1,
							   .comm_id = p->m->threads[thread].comm_id };
	}
	s = &p->m->samples[at];
	s->count++;
	s->ns += ns;
	p->m->threads[thread].oncpu_ns += ns;
	p->m->threads[thread].sample_n++;
	return model_sample_time_add(p->m, (uint32_t)at, at_ns);
}

static int wait_add(struct profile *p, struct tables *t, uint32_t thread, uint64_t stacks, int64_t from_ns,
		    int64_t to_ns)
{
	struct model_wait w = { .start_ns = from_ns, .end_ns = to_ns, .blocked_ns = to_ns - from_ns, .wake_ns = -1,
				.thread = thread, .op = p->m->threads[thread].op };
	struct model_row *row;
	uint64_t at;
	uint32_t index;

	if (!map_get(t->rows, stacks, &at)) {
		if (model_row_add(p->m, &index) < 0 || map_put(t->rows, stacks, index) < 0)
			return -ENOMEM;
		at = index;
		p->m->rows[at] = (struct model_row){ .reason = REASON_OTHER, .kind_id = p->row_kind_id, .syscall = -1,
						     .kstack = (uint32_t)(stacks >> 32), .ustack = (uint32_t)stacks,
						     .comm_id = p->m->threads[thread].comm_id };
	}
	if (at > 0xffffff)
		return -ENOMEM;
	w.row = (uint32_t)at & 0xffffff;
	row = &p->m->rows[at];
	row->count++;
	row->blocked_ns += (uint64_t)w.blocked_ns;
	p->m->threads[thread].blocked_ns += (uint64_t)w.blocked_ns;
	if (model_wait_add(p->m, &index) < 0)
		return -ENOMEM;
	p->m->waits[index] = w;
	return 0;
}

/* Times are absolute, or each the distance from the one before; both in ms. */
static bool time_next(struct json_object *samples, size_t i, double *ms)
{
	struct json_object *times = member(samples, "time");
	double v;

	if (!number_of(column_at(times ? times : member(samples, "timeDeltas"), i), &v))
		return false;
	*ms = times ? v : *ms + v;
	return true;
}

static int samples_read(struct profile *p, struct tables *t, struct json_object *thread, uint32_t index)
{
	struct json_object *samples = member(thread, "samples"), *stack = member(samples, "stack");
	struct json_object *weights = member(samples, "weight"), *deltas = member(samples, "threadCPUDelta");
	size_t n = json_object_is_type(stack, json_type_array) ? json_object_array_length(stack) : 0;
	int64_t last_ns = p->m->threads[index].begin_ns, at_ns;
	double ms = 0;

	for (size_t i = 0; i < n; i++) {
		double weight = 1, delta = 0, wall_ns, delta_ns;
		uint64_t stacks;
		int e;

		if (!time_next(samples, i, &ms))
			continue;
		at_ns = ms_to_ns(ms) > last_ns ? ms_to_ns(ms) : last_ns;
		number_of(column_at(weights, i), &weight);
		wall_ns = ns_clamp(weight * p->interval_ns);
		delta_ns = number_of(column_at(deltas, i), &delta) ? ns_clamp(delta * p->delta_ns) :
			   deltas				   ? 0 :
								     wall_ns;
		e = stack_make(p, t, index_at(stack, i), &stacks);
		if (e == 0 && delta_ns >= 1)
			e = sample_add(p, t, index, stacks, (uint64_t)delta_ns, at_ns);
		else if (e == 0 && wall_ns > 0 && at_ns > last_ns)
			e = wait_add(p, t, index, stacks,
				     at_ns - last_ns > (int64_t)wall_ns ? at_ns - (int64_t)wall_ns : last_ns, at_ns);
		if (e < 0)
			return e;
		last_ns = at_ns;
	}
	if (last_ns > p->m->threads[index].end_ns)
		p->m->threads[index].end_ns = last_ns;
	return 0;
}

static int process_get(struct profile *p, struct json_object *thread, uint32_t pid, uint32_t *ret)
{
	const char *name = text_of(member(thread, "processName"));
	struct model_process *x;
	uint64_t at;
	uint32_t op;

	if (map_get(p->processes, pid, &at)) {
		*ret = (uint32_t)at;
		return 0;
	}
	if (model_process_add(p->m, ret) < 0 || map_put(p->processes, pid, *ret) < 0 || model_op_add(p->m, &op) < 0)
		return -ENOMEM;
	x = &p->m->processes[*ret];
	x->pid = pid;
	x->op = op;
	if (strtab_intern(p->m->strings, name, &x->comm_id) < 0)
		return -ENOMEM;
	p->m->ops[op] = (struct model_op){
		.id = op, .kind = OP_EXEC, .work = WORK_USER, .class_id = x->comm_id, .pid = pid, .start_ns = INT64_MAX
	};
	return 0;
}

static uint32_t id_of(struct json_object *v)
{
	/* A string in newer versions, "123" or "123.1". */
	uint64_t n = json_object_is_type(v, json_type_string) ? strtoull(json_object_get_string(v), NULL, 10) :
		     json_object_is_type(v, json_type_int) ? json_object_get_uint64(v) : 0;

	return n <= UINT32_MAX ? (uint32_t)n : 0;
}

static int thread_start(struct profile *p, struct json_object *thread, uint32_t *ret)
{
	struct model_thread t = { .pid = id_of(member(thread, "pid")), .tid = id_of(member(thread, "tid")) };
	double begin = 0, end;

	number_of(member(thread, "registerTime"), &begin);
	t.begin_ns = ms_to_ns(begin);
	t.end_ns = number_of(member(thread, "unregisterTime"), &end) && ms_to_ns(end) > t.begin_ns ? ms_to_ns(end) :
												     t.begin_ns;
	if (strtab_intern(p->m->strings, text_of(member(thread, "name")), &t.comm_id) < 0 ||
	    process_get(p, thread, t.pid, &t.process) < 0 || model_op_add(p->m, &t.op) < 0 ||
	    model_thread_add(p->m, ret) < 0)
		return -ENOMEM;
	p->m->threads[*ret] = t;
	p->m->ops[t.op] = (struct model_op){ .id = t.op, .kind = OP_INTERNAL, .work = WORK_USER, .class_id = t.comm_id,
					     .parent = p->m->processes[t.process].op, .pid = t.pid, .tid = t.tid };
	return 0;
}

/* What a thread ran is measured, when it didn't run is guessed from when it was looked at: that gives way. */
static void waits_shorten(struct profile *p, uint32_t thread, size_t first_wait, uint64_t room_ns)
{
	struct model_thread *t = &p->m->threads[thread];
	double part = t->blocked_ns ? (double)room_ns / (double)t->blocked_ns : 0;

	t->blocked_ns = 0;
	for (size_t i = first_wait; i < p->m->wait_n; i++) {
		struct model_wait *w = &p->m->waits[i];
		int64_t ns = (int64_t)((double)w->blocked_ns * part);

		p->m->rows[w->row].blocked_ns -= (uint64_t)(w->blocked_ns - ns);
		w->blocked_ns = ns;
		w->start_ns = w->end_ns - ns;
		t->blocked_ns += (uint64_t)ns;
	}
}

/* Its life closes: what neither samples nor stretches off the CPU cover is lost to the profile. */
static void thread_end(struct profile *p, uint32_t thread, size_t first_wait)
{
	struct model_thread *t = &p->m->threads[thread];
	struct model_op *process = &p->m->ops[p->m->processes[t->process].op], *op = &p->m->ops[t->op];
	uint64_t life_ns;

	/* It ran before it was seen first. More than a little is damage. */
	if (t->oncpu_ns > (uint64_t)(t->end_ns - t->begin_ns) &&
	    t->oncpu_ns - (uint64_t)(t->end_ns - t->begin_ns) < UNSEEN_NS_MAX)
		t->end_ns = t->begin_ns + (int64_t)t->oncpu_ns;
	life_ns = (uint64_t)(t->end_ns - t->begin_ns);
	t->has_totals = t->oncpu_ns <= life_ns;
	if (t->has_totals && t->blocked_ns > life_ns - t->oncpu_ns)
		waits_shorten(p, thread, first_wait, life_ns - t->oncpu_ns);
	t->lost_ns = t->has_totals ? life_ns - t->oncpu_ns - t->blocked_ns : 0;
	op->start_ns = t->begin_ns;
	op->end_ns = t->end_ns;
	process->start_ns = t->begin_ns < process->start_ns ? t->begin_ns : process->start_ns;
	process->end_ns = t->end_ns > process->end_ns ? t->end_ns : process->end_ns;
	p->m->end_ns = t->end_ns > p->m->end_ns ? t->end_ns : p->m->end_ns;
}

static int thread_read(struct profile *p, struct json_object *thread)
{
	_cleanup_(tables_done) struct tables t = { 0 };
	size_t first_wait = p->m->wait_n;
	uint32_t index;
	int e = tables_init(&t, p, thread);

	if (e == 0)
		e = thread_start(p, thread, &index);
	if (e == 0)
		e = samples_read(p, &t, thread, index);
	if (e == 0)
		thread_end(p, index, first_wait);
	return e;
}

static int file_read(const char *path, char **ret, size_t *ret_n)
{
	_cleanup_(freep) char *text = NULL;
	size_t n = 0, cap = 0;
	gzFile gz = gzopen(path, "rbe");
	int got = 1;

	if (!gz)
		return errno ? -errno : -ENOMEM;
	while (got > 0 && n < PROFILE_BYTES_MAX - READ_BYTES) {
		if (VEC_RESERVE(text, cap, n + READ_BYTES + 1) < 0)
			break;
		got = gzread(gz, text + n, READ_BYTES);
		n += got > 0 ? (size_t)got : 0;
	}
	gzclose(gz);
	if (got != 0)
		return got < 0 ? -EIO : !text || n < PROFILE_BYTES_MAX - READ_BYTES ? -ENOMEM : -EFBIG;
	text[n] = 0;
	*ret = TAKE_PTR(text);
	*ret_n = n;
	return 0;
}

static int profile_parse(const char *path, struct json_object **ret)
{
	_cleanup_(tokener_free) struct json_tokener *tok = json_tokener_new_ex(JSON_TOKENER_DEFAULT_DEPTH * 4);
	_cleanup_(freep) char *text = NULL;
	size_t n = 0;
	int e = file_read(path, &text, &n);

	if (e < 0 || !tok)
		return e < 0 ? e : -ENOMEM;
	*ret = json_tokener_parse_ex(tok, text, (int)n + 1);
	return json_tokener_get_error(tok) == json_tokener_success && json_object_is_type(*ret, json_type_object) ?
		       0 :
		       -EINVAL;
}

bool dump_is_profile(const char *path)
{
	char head[4097];
	gzFile gz = gzopen(path, "rbe");
	int n;

	if (!gz)
		return false;
	n = gzread(gz, head, sizeof(head) - 1);
	gzclose(gz);
	head[n > 0 ? n : 0] = 0;
	/* A dump's header is one line that begins otherwise; a profile's first key is "meta". */
	return head[strspn(head, " \t\r\n{")] == '"' && strncmp(head + strspn(head, " \t\r\n{"), "\"meta\"", 6) == 0;
}

static int threads_read(struct profile *p)
{
	struct json_object *threads = member(p->root, "threads");
	size_t n = json_object_is_type(threads, json_type_array) ? json_object_array_length(threads) : 0;
	double start_ms;

	if (number_of(member(member(p->root, "meta"), "startTime"), &start_ms))
		p->m->epoch_unix_ns = ms_to_ns(start_ms);
	for (size_t i = 0; i < n; i++) {
		int e = thread_read(p, json_object_array_get_idx(threads, i));

		if (e < 0)
			return e;
	}
	model_sample_times_sort(p->m);
	return n ? 0 : -EINVAL;
}

int dump_read_profile(const char *path, struct model **ret, struct dump_facts *ret_facts,
		      struct dump_problem *ret_problem)
{
	_cleanup_(profile_done) struct profile p = { 0 };
	const char *product;
	int e = profile_parse(path, &p.root);

	if (e == 0 && (model_new(&p.m) < 0 || map_new(&p.processes) < 0 ||
		       strtab_intern(p.m->strings, "off_cpu", &p.row_kind_id) < 0))
		e = -ENOMEM;
	p.shared = member(p.root, "shared");
	if (e == 0) {
		units_read(&p);
		e = libs_read(&p);
	}
	if (e == 0)
		e = threads_read(&p);
	if (e == -EINVAL)
		snprintf(ret_problem->message, sizeof(ret_problem->message),
			 "no profile that can be read: no JSON object with threads");
	if (e < 0)
		return e;
	product = text_of(member(member(p.root, "meta"), "product"));
	ret_facts->target = *product ? strdup(product) : NULL;
	*ret = TAKE_PTR(p.m);
	return 0;
}
