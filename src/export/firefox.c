/* SPDX-License-Identifier: (LGPL-2.1 OR BSD-2-Clause) */
/*
 * A thread's life as samples that weigh what they lasted: blocked and runnable
 * time by the stack that waited, time on the CPU by what was sampled in it, so
 * that weights sum to the life and threadCPUDelta to the time on the CPU. What
 * was waited for, and the ops, are markers.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "analyze/analyze.h"
#include "export/firefox-tables.h"
#include "export/formats.h"
#include "export/label.h"
#include "export/scene.h"
#include "util/cleanup.h"
#include "util/vec.h"

enum { GECKO_VERSION = 24, PROCESSED_VERSION = 49 };
enum { PHASE_INTERVAL = 1 };

struct sample {
	int64_t at_ns;
	uint64_t weight_ns, cpu_ns;
	uint32_t stack;
};

struct thread_samples {
	struct sample *v;
	size_t n, cap;
};

struct profile {
	const struct export_job *job;
	const struct model *m;
	struct export_told *told;
	struct json *j;
	struct scene scene;
	struct firefox_libs libs;
	/* Moments of samples by thread, in time order: from moment_first[thread] on. */
	uint32_t *moments;
	size_t *moment_first;
	uint64_t *sample_n;   /* by thread: all samples, with a moment or not */
	uint64_t *untimed_n;  /* by sample: those without */
	uint32_t *name_strings; /* of the thread being written: of each marker */
};

static void profile_done(struct profile *p)
{
	json_free(p->j);
	scene_done(&p->scene);
	firefox_libs_done(&p->libs);
	free(p->moments);
	free(p->moment_first);
	free(p->sample_n);
	free(p->untimed_n);
	free(p->name_strings);
}

static void ms_write(struct json *j, int64_t ns)
{
	json_double(j, (double)ns / 1e6, 6);
}

/* ---- samples ---- */

static int moments_make(struct profile *p)
{
	const struct model *m = p->m;

	p->moments = calloc(m->sample_time_n + 1, sizeof(*p->moments));
	p->moment_first = calloc(m->thread_n + 1, sizeof(*p->moment_first));
	p->sample_n = calloc(m->thread_n, sizeof(*p->sample_n));
	p->untimed_n = calloc(m->sample_n, sizeof(*p->untimed_n));
	if (!p->moments || !p->moment_first || !p->sample_n || !p->untimed_n)
		return -ENOMEM;
	for (size_t i = 1; i < m->sample_n; i++) {
		p->sample_n[m->samples[i].thread] += m->samples[i].count;
		p->untimed_n[i] = m->samples[i].count;
	}
	for (size_t i = 0; i < m->sample_time_n; i++) {
		p->untimed_n[m->sample_times[i].sample]--;
		p->moment_first[m->samples[m->sample_times[i].sample].thread + 1]++;
	}
	for (size_t i = 0; i < m->thread_n; i++)
		p->moment_first[i + 1] += p->moment_first[i];
	/* The offsets move on while the moments are dealt out, and are put back. */
	for (size_t i = 0; i < m->sample_time_n; i++)
		p->moments[p->moment_first[m->samples[m->sample_times[i].sample].thread]++] = (uint32_t)i;
	memmove(p->moment_first + 1, p->moment_first, m->thread_n * sizeof(*p->moment_first));
	p->moment_first[0] = 0;
	return 0;
}

static int sample_add(struct thread_samples *s, int64_t at_ns, uint64_t weight_ns, uint64_t cpu_ns, uint32_t stack)
{
	if (VEC_RESERVE(s->v, s->cap, s->n + 1) < 0)
		return -ENOMEM;
	s->v[s->n++] = (struct sample){ .at_ns = at_ns, .weight_ns = weight_ns, .cpu_ns = cpu_ns, .stack = stack };
	return 0;
}

/* Shares of the thread's time on the CPU that sum to it. */
struct shares {
	uint64_t total_ns, count, seen_n, given_ns;
};

static uint64_t share_next(struct shares *x, uint64_t n)
{
	uint64_t ns;

	x->seen_n += n;
	ns = (uint64_t)((__extension__(unsigned __int128)x->total_ns) * x->seen_n / x->count) - x->given_ns;
	x->given_ns += ns;
	return ns;
}

static int oncpu_add(struct firefox_tables *t, const struct model_sample *s, int64_t at_ns, uint64_t ns,
		     struct thread_samples *to)
{
	uint32_t stack;

	if (firefox_stack(t, s->ustack, s->kstack, "[no stack]", s->kstack ? FIREFOX_KERNEL : FIREFOX_USER, &stack) < 0)
		return -ENOMEM;
	return sample_add(to, at_ns, ns, ns, stack);
}

static int oncpu_samples(struct profile *p, struct firefox_tables *t, uint32_t thread, struct thread_samples *to)
{
	const struct model *m = p->m;
	const struct model_thread *of = &m->threads[thread];
	struct shares x = { .total_ns = of->oncpu_ns, .count = p->sample_n[thread] };

	for (size_t i = p->moment_first[thread]; i < p->moment_first[thread + 1]; i++) {
		const struct model_sample_time *at = &m->sample_times[p->moments[i]];

		if (oncpu_add(t, &m->samples[at->sample], at->at_ns, share_next(&x, 1), to) < 0)
			return -ENOMEM;
	}
	if (x.seen_n == x.count)
		return 0;
	/* Where the others lie isn't known; they are put at its beginning. */
	for (size_t i = 1; i < m->sample_n; i++) {
		if (m->samples[i].thread != thread || !p->untimed_n[i])
			continue;
		p->told->untimed_n += p->untimed_n[i];
		if (oncpu_add(t, &m->samples[i], of->begin_ns, share_next(&x, p->untimed_n[i]), to) < 0)
			return -ENOMEM;
	}
	return 0;
}

/*
 * A thread that was never sampled: its times between waits, of which only the length is known. A goroutine's are its
 * thread's, which has them too: here they are no time on the CPU.
 */
static int unsampled_add(struct firefox_tables *t, bool goroutine, int64_t from_ns, int64_t to_ns,
			 struct thread_samples *to)
{
	uint64_t ns = to_ns > from_ns ? (uint64_t)(to_ns - from_ns) : 0;
	uint32_t stack;

	if (!ns)
		return 0;
	if (firefox_stack(t, 0, 0, goroutine ? "[running]" : "[on-cpu, not sampled]", FIREFOX_OTHER, &stack) < 0)
		return -ENOMEM;
	return sample_add(to, from_ns, ns, goroutine ? 0 : ns, stack);
}

static int wait_samples(struct profile *p, struct firefox_tables *t, uint32_t wait, struct thread_samples *to)
{
	const struct model_wait *w = &p->m->waits[wait];
	const struct model_row *r = &p->m->rows[w->row];
	uint32_t stack;

	if (w->blocked_ns) {
		if (firefox_stack(t, r->ustack, r->kstack, "[no stack]", firefox_category_of_wait(r->reason), &stack) < 0 ||
		    sample_add(to, w->start_ns, (uint64_t)w->blocked_ns, 0, stack) < 0)
			return -ENOMEM;
	}
	if (!w->runnable_ns)
		return 0;
	if (firefox_stack(t, r->ustack, r->kstack, "[no stack]", FIREFOX_RUNNABLE, &stack) < 0)
		return -ENOMEM;
	return sample_add(to, scene_wait_ready_ns(p->m, wait), (uint64_t)w->runnable_ns, 0, stack);
}

static int sample_compare(const void *a, const void *b)
{
	const struct sample *x = a, *y = b;

	if (x->at_ns != y->at_ns)
		return x->at_ns < y->at_ns ? -1 : 1;
	if (x->stack != y->stack)
		return x->stack < y->stack ? -1 : 1;
	return x->weight_ns < y->weight_ns ? -1 : x->weight_ns > y->weight_ns;
}

static int samples_make(struct profile *p, struct firefox_tables *t, const struct scene_actor *a,
			struct thread_samples *ret)
{
	const struct model_thread *thread = &p->m->threads[a->thread];
	bool sampled = p->sample_n[a->thread] > 0;
	int64_t at_ns = thread->begin_ns;

	for (size_t i = 0; i < a->wait_n; i++) {
		uint32_t wait = p->scene.waits[a->wait_first + i];
		const struct model_wait *w = &p->m->waits[wait];

		if (!sampled && unsampled_add(t, thread->goid, at_ns, w->start_ns, ret) < 0)
			return -ENOMEM;
		at_ns = w->end_ns > at_ns ? scene_wait_run_ns(p->m, wait) : at_ns;
		if (wait_samples(p, t, wait, ret) < 0)
			return -ENOMEM;
	}
	if (sampled ? oncpu_samples(p, t, a->thread, ret) < 0 :
		      unsampled_add(t, thread->goid, at_ns, thread->end_ns, ret) < 0)
		return -ENOMEM;
	if (ret->n)
		qsort(ret->v, ret->n, sizeof(*ret->v), sample_compare);
	return 0;
}

static void samples_write(struct json *j, const struct thread_samples *s)
{
	json_key(j, "samples");
	json_begin_object(j);
	json_kv_uint(j, "length", s->n);
	json_kv_string(j, "weightType", "tracing-ms");
	json_key(j, "stack");
	json_begin_array(j);
	for (size_t i = 0; i < s->n; i++)
		json_uint(j, s->v[i].stack);
	json_end_array(j);
	json_key(j, "time");
	json_begin_array(j);
	for (size_t i = 0; i < s->n; i++)
		ms_write(j, s->v[i].at_ns);
	json_end_array(j);
	json_key(j, "weight");
	json_begin_array(j);
	for (size_t i = 0; i < s->n; i++)
		ms_write(j, (int64_t)s->v[i].weight_ns);
	json_end_array(j);
	json_key(j, "threadCPUDelta");
	json_begin_array(j);
	for (size_t i = 0; i < s->n; i++)
		json_double(j, (double)s->v[i].cpu_ns / 1e3, 3);
	json_end_array(j);
	json_end_object(j);
}

/* ---- markers ---- */

static const char *item_name(const struct profile *p, const struct scene_item *item)
{
	return item->wait ? label_wait(p->m, item->wait) : label_op(p->m, item->op);
}

static void wait_data_write(const struct profile *p, uint32_t wait)
{
	const struct model_wait *w = &p->m->waits[wait];
	const struct strtab *s = p->m->strings;
	struct json *j = p->j;

	json_kv_string(j, "type", "Wait");
	json_kv_string(j, "reason", wait_reason_name(p->m->rows[w->row].reason));
	json_kv_string_nz(j, "resource", strtab_str(s, w->ident_id));
	if (w->target && !analyze_wait_is_given_up(p->m, w))
		json_kv_string(j, "target", label_op(p->m, w->target));
	json_kv_string_nz(j, "waker", label_waker(p->m, wait));
	json_kv_string_nz(j, "outcome", wait_outcome_name(w->outcome));
	json_key(j, "blocked");
	ms_write(j, w->blocked_ns);
	json_key(j, "runnable");
	ms_write(j, w->runnable_ns);
}

static void op_data_write(const struct profile *p, uint32_t op)
{
	const struct model_op *o = &p->m->ops[op];
	const struct strtab *s = p->m->strings;
	struct json *j = p->j;

	json_kv_string(j, "type", "Op");
	json_kv_string(j, "kind", op_kind_name(o->kind));
	json_kv_string(j, "work", work_type_name(o->work));
	json_kv_string_nz(j, "outcome", op_outcome_name(o->outcome));
	json_kv_string_nz(j, "ident", strtab_str(s, o->ident_id));
	json_kv_string_nz(j, "client", strtab_str(s, o->client_id));
	json_kv_string_nz(j, "meta", strtab_str(s, o->meta_id));
}

static void markers_write(const struct profile *p, const struct scene_actor *a)
{
	const struct scene_item *items = p->scene.items + a->item_first;
	struct json *j = p->j;

	json_key(j, "markers");
	json_begin_object(j);
	json_kv_uint(j, "length", a->item_n);
	json_key(j, "category");
	json_begin_array(j);
	for (size_t i = 0; i < a->item_n; i++)
		json_uint(j, items[i].wait ? firefox_category_of_wait(p->m->rows[p->m->waits[items[i].wait].row].reason) :
					     FIREFOX_OTHER);
	json_end_array(j);
	json_key(j, "data");
	json_begin_array(j);
	for (size_t i = 0; i < a->item_n; i++) {
		json_begin_object(j);
		if (items[i].wait)
			wait_data_write(p, items[i].wait);
		else
			op_data_write(p, items[i].op);
		json_end_object(j);
	}
	json_end_array(j);
	json_key(j, "startTime");
	json_begin_array(j);
	for (size_t i = 0; i < a->item_n; i++)
		ms_write(j, items[i].at.start_ns);
	json_end_array(j);
	json_key(j, "endTime");
	json_begin_array(j);
	for (size_t i = 0; i < a->item_n; i++)
		ms_write(j, items[i].at.end_ns);
	json_end_array(j);
	json_key(j, "name");
	json_begin_array(j);
	for (size_t i = 0; i < a->item_n; i++)
		json_uint(j, p->name_strings[i]);
	json_end_array(j);
	json_key(j, "phase");
	json_begin_array(j);
	for (size_t i = 0; i < a->item_n; i++)
		json_uint(j, PHASE_INTERVAL);
	json_end_array(j);
	json_end_object(j);
}

static int marker_names_make(struct profile *p, struct firefox_tables *t, const struct scene_actor *a)
{
	free(p->name_strings);
	p->name_strings = calloc(a->item_n + 1, sizeof(*p->name_strings));
	if (!p->name_strings)
		return -ENOMEM;
	for (size_t i = 0; i < a->item_n; i++)
		if (firefox_string(t, item_name(p, &p->scene.items[a->item_first + i]), &p->name_strings[i]) < 0)
			return -ENOMEM;
	return 0;
}

/* ---- threads ---- */

static void thread_head_write(const struct profile *p, const struct scene_actor *a, uint32_t again)
{
	const struct scene_group *g = &p->scene.groups[a->group];
	const struct model_thread *t = &p->m->threads[a->thread];
	struct json *j = p->j;
	char pid[32], tid[32];

	/* A pid is what tells processes apart there: one that was used again gets a suffix, as samply gives it. */
	snprintf(pid, sizeof(pid), again ? "%u.%u" : "%u", g->pid, again);
	if (t->goid)
		snprintf(tid, sizeof(tid), "goid %" PRIu64, t->goid);
	else
		snprintf(tid, sizeof(tid), a->thread ? "%u" : "ops of %u", a->thread ? t->tid : g->pid);
	json_kv_string(j, "name", a->thread ? label_thread(p->m, a->thread) : "ops");
	json_kv_string(j, "processName", scene_group_name(&p->scene, p->m, a->group));
	json_kv_string(j, "processType", "default");
	json_kv_bool(j, "isMainThread", a->thread && !t->goid && t->tid == t->pid);
	json_kv_string(j, "pid", pid);
	json_kv_string(j, "tid", tid);
	json_key(j, "processStartupTime");
	ms_write(j, g->start_ns);
	json_key(j, "processShutdownTime");
	json_null(j);
	json_key(j, "registerTime");
	ms_write(j, a->thread ? t->begin_ns : g->start_ns);
	json_key(j, "unregisterTime");
	if (a->thread && !(t->clipped & CLIPPED_AFTER))
		ms_write(j, t->end_ns);
	else
		json_null(j);
	json_key(j, "pausedRanges");
	json_begin_array(j);
	json_end_array(j);
	json_kv_bool(j, "showMarkersInTimeline", !a->thread);
}

static int thread_write(struct profile *p, const struct scene_actor *a, uint32_t again)
{
	_cleanup_(firefox_tables_freep) struct firefox_tables *t = NULL;
	struct thread_samples samples = { 0 };
	int err = firefox_tables_new(p->m, &p->libs, &t);

	if (!err && a->thread)
		err = samples_make(p, t, a, &samples);
	if (!err)
		err = marker_names_make(p, t, a);
	if (!err) {
		json_begin_object(p->j);
		thread_head_write(p, a, again);
		samples_write(p->j, &samples);
		markers_write(p, a);
		firefox_tables_write(t, p->j);
		json_end_object(p->j);
		err = json_error(p->j);
	}
	free(samples.v);
	return err;
}

/* How many groups before this one have its pid. They are few: it was reused within the recording. */
static int again_make(const struct scene *s, uint32_t **ret)
{
	_cleanup_(map_freep) struct map *seen = NULL;
	_cleanup_(freep) uint32_t *again = calloc(s->group_n + 1, sizeof(*again));

	if (!again || map_new(&seen) < 0)
		return -ENOMEM;
	for (size_t i = 0; i < s->group_n; i++) {
		uint64_t n = 0;

		map_get(seen, s->groups[i].pid, &n);
		again[i] = (uint32_t)n;
		if (map_put(seen, s->groups[i].pid, n + 1) < 0)
			return -ENOMEM;
	}
	*ret = TAKE_PTR(again);
	return 0;
}

static int threads_write(struct profile *p)
{
	_cleanup_(freep) uint32_t *again = NULL;
	int err = again_make(&p->scene, &again);

	json_key(p->j, "threads");
	json_begin_array(p->j);
	for (size_t i = 0; i < p->scene.actor_n && !err; i++)
		err = thread_write(p, &p->scene.actors[i], again[p->scene.actors[i].group]);
	json_end_array(p->j);
	return err;
}

/* ---- meta ---- */

static void schema_field(struct json *j, const char *key, const char *label, const char *format)
{
	json_begin_object(j);
	json_kv_string(j, "key", key);
	json_kv_string(j, "label", label);
	json_kv_string(j, "format", format);
	json_kv_bool(j, "searchable", strcmp(format, "string") == 0);
	json_end_object(j);
}

static void schema_begin(struct json *j, const char *name, const char *tooltip, const char *table)
{
	json_begin_object(j);
	json_kv_string(j, "name", name);
	json_kv_string(j, "tooltipLabel", tooltip);
	json_kv_string(j, "tableLabel", table);
	json_kv_string(j, "chartLabel", tooltip);
	json_key(j, "display");
	json_begin_array(j);
	json_string(j, "marker-chart");
	json_string(j, "marker-table");
	json_end_array(j);
	json_key(j, "data");
	json_begin_array(j);
}

static void schema_end(struct json *j)
{
	json_end_array(j);
	json_end_object(j);
}

static void marker_schema_write(struct json *j)
{
	json_key(j, "markerSchema");
	json_begin_array(j);
	schema_begin(j, "Wait", "{marker.name}", "{marker.data.reason} {marker.data.resource}");
	schema_field(j, "reason", "Reason", "string");
	schema_field(j, "resource", "Waited for", "string");
	schema_field(j, "target", "Until the end of", "string");
	schema_field(j, "waker", "Ended by", "string");
	schema_field(j, "outcome", "Outcome", "string");
	schema_field(j, "blocked", "Blocked", "duration");
	schema_field(j, "runnable", "Ready, not running", "duration");
	schema_end(j);
	schema_begin(j, "Op", "{marker.name}", "{marker.data.kind} {marker.data.ident}");
	schema_field(j, "kind", "Kind", "string");
	schema_field(j, "work", "Work", "string");
	schema_field(j, "outcome", "Outcome", "string");
	schema_field(j, "ident", "Ident", "string");
	schema_field(j, "client", "Client", "string");
	schema_field(j, "meta", "Meta", "string");
	schema_end(j);
	json_end_array(j);
}

static void categories_write(struct json *j)
{
	static const struct {
		const char *name, *color;
	} categories[FIREFOX_CATEGORY_MAX] = {
#define X(id, name, color) {name, color},
		FIREFOX_CATEGORIES(X)
#undef X
	};

	json_key(j, "categories");
	json_begin_array(j);
	for (size_t i = 0; i < FIREFOX_CATEGORY_MAX; i++) {
		json_begin_object(j);
		json_kv_string(j, "name", categories[i].name);
		json_kv_string(j, "color", categories[i].color);
		json_key(j, "subcategories");
		json_begin_array(j);
		json_string(j, "Other");
		json_end_array(j);
		json_end_object(j);
	}
	json_end_array(j);
}

/* Is any function's name known? Else the page, or a script, is to look them up. */
static bool is_symbolicated(const struct model *m)
{
	for (size_t i = 1; i < m->stack_n; i++)
		for (uint32_t k = 0; m->stacks[i].side == STACK_USER && k < m->stacks[i].frame_n; k++)
			if (m->stacks[i].frames[k].name_id)
				return true;
	return false;
}

static void meta_write(const struct profile *p)
{
	static const char *const extension_columns[] = { "id", "name", "baseURL" };
	struct json *j = p->j;

	json_key(j, "meta");
	json_begin_object(j);
	json_kv_int(j, "version", GECKO_VERSION);
	json_kv_int(j, "preprocessedProfileVersion", PROCESSED_VERSION);
	json_kv_string(j, "product", p->job->name ? p->job->name : "wcbpf");
	json_kv_string(j, "oscpu", p->job->kernel ? p->job->kernel : "Linux");
	json_kv_int(j, "processType", 0);
	json_key(j, "interval");
	json_double(j, p->m->sample_hz ? 1000.0 / p->m->sample_hz : 1, 6);
	json_key(j, "startTime");
	json_double(j, (double)p->m->epoch_unix_ns / 1e6, 3);
	json_kv_bool(j, "debug", false);
	json_kv_bool(j, "symbolicated", is_symbolicated(p->m));
	json_kv_bool(j, "usesOnlyOneStackType", true);
	json_kv_bool(j, "doesNotUseFrameImplementation", true);
	json_kv_bool(j, "sourceCodeIsNotOnSearchfox", true);
	json_key(j, "sampleUnits");
	json_begin_object(j);
	json_kv_string(j, "time", "ms");
	json_kv_string(j, "eventDelay", "ms");
	json_kv_string(j, "threadCPUDelta", "\xc2\xb5s");
	json_end_object(j);
	json_key(j, "extensions");
	json_begin_object(j);
	json_kv_int(j, "length", 0);
	for (size_t i = 0; i < 3; i++) {
		json_key(j, extension_columns[i]);
		json_begin_array(j);
		json_end_array(j);
	}
	json_end_object(j);
	categories_write(j);
	marker_schema_write(j);
	json_end_object(j);
}

int export_firefox_write(const struct export_job *job, json_sink sink, void *arg, struct export_told *told)
{
	_cleanup_(profile_done) struct profile p = { .job = job, .m = job->m, .told = told };
	int err = json_new(sink, arg, JSON_COMPACT, &p.j);

	if (!err)
		err = scene_make(job, true, &p.scene);
	if (!err)
		err = firefox_libs_make(p.m, &p.libs);
	if (!err)
		err = moments_make(&p);
	if (err)
		return err;
	json_begin_object(p.j);
	meta_write(&p);
	firefox_libs_write(&p.libs, p.m, p.j);
	json_key(p.j, "pages");
	json_begin_array(p.j);
	json_end_array(p.j);
	err = threads_write(&p);
	json_end_object(p.j);
	json_newline(p.j);
	return err ? err : json_flush(p.j);
}
