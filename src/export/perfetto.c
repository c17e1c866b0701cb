/* SPDX-License-Identifier: (LGPL-2.1 OR BSD-2-Clause) */
/*
 * A Perfetto trace (perfetto.dev, trace_packet.proto): the scheduler's events
 * (perfetto-sched.c), and on tracks of processes and threads the ops, what was
 * waited for, flows from who woke to whom was woken, and the critical path.
 * Slices of one track must nest, so what overlaps is on tracks below. Times
 * are those of the wall clock, which the trace takes for its own.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "analyze/analyze.h"
#include "export/formats.h"
#include "export/label.h"
#include "export/perfetto.h"
#include "util/cleanup.h"

/* Fields of TrackDescriptor, ProcessDescriptor, ThreadDescriptor, ClockSnapshot, SystemInfo, PerfSample. */
enum { TRACK_UUID = 1, TRACK_NAME = 2, TRACK_PROCESS = 3, TRACK_THREAD = 4, TRACK_PARENT = 5 };
enum { PROCESS_PID = 1, PROCESS_NAME = 6 };
enum { THREAD_PID = 1, THREAD_TID = 2, THREAD_NAME = 5 };
enum { SNAPSHOT_CLOCK = 1, SNAPSHOT_PRIMARY = 2 };
enum { CLOCK_ID = 1, CLOCK_TIMESTAMP = 2 };
enum { SYSTEM_UTSNAME = 1 };
enum { UTSNAME_SYSNAME = 1, UTSNAME_RELEASE = 3, UTSNAME_MACHINE = 4 };
enum { DEFAULTS_SAMPLE = 12, DEFAULTS_TIMEBASE = 1, TIMEBASE_FREQUENCY = 2, TIMEBASE_COUNTER = 4, SW_CPU_CLOCK = 1 };
enum { SAMPLE_PID = 2, SAMPLE_TID = 3, SAMPLE_STACK = 4, SAMPLE_MODE = 5, MODE_KERNEL = 1, MODE_USER = 2 };
enum { SEQUENCE_ID = 1 };

#define UUID_GROUP (UINT64_C(1) << 48)
#define UUID_ACTOR (UINT64_C(2) << 48)
#define UUID_OTHER (UINT64_C(3) << 48)

static void trace_done(struct trace *t)
{
	scene_done(&t->scene);
	strtab_free(t->texts);
	for (size_t i = 0; i < PERFETTO_STRINGS_MAX; i++)
		pairs_done(&t->strings[i]);
	pairs_done(&t->frames);
	pairs_done(&t->frame_spots);
	pairs_done(&t->frame_places);
	pairs_done(&t->stacks);
	free(t->mappings);
	text_done(&t->interned);
	text_done(&t->packet);
}

/* ---- packets ---- */

static void defaults_put(struct trace *t)
{
	struct text *b = &t->packet;
	size_t at = proto_begin(b, PACKET_DEFAULTS), sample = proto_begin(b, DEFAULTS_SAMPLE);
	size_t timebase = proto_begin(b, DEFAULTS_TIMEBASE);

	proto_uint(b, TIMEBASE_FREQUENCY, t->m->sample_hz ? t->m->sample_hz : 1);
	proto_uint(b, TIMEBASE_COUNTER, SW_CPU_CLOCK);
	proto_end(b, timebase);
	proto_end(b, sample);
	proto_uint(b, PACKET_CLOCK_ID, CLOCK_ID_BOOTTIME);
	proto_end(b, at);
}

void packet_begin(struct trace *t, int64_t ns)
{
	text_clear(&t->packet);
	t->packet_begin = proto_begin(&t->packet, TRACE_PACKET);
	proto_uint(&t->packet, PACKET_TIMESTAMP, trace_ns(t, ns));
	proto_uint(&t->packet, PACKET_CLOCK_ID, CLOCK_ID_BOOTTIME);
	proto_uint(&t->packet, PACKET_SEQUENCE, SEQUENCE_ID);
	proto_uint(&t->packet, PACKET_FLAGS, t->started ? SEQUENCE_NEEDS_STATE : SEQUENCE_CLEARED);
	if (!t->started)
		defaults_put(t);
	t->started = true;
}

int packet_end(struct trace *t)
{
	int err = text_error(&t->interned);

	if (!err && t->interned.n)
		proto_bytes(&t->packet, PACKET_INTERNED, text_str(&t->interned), t->interned.n);
	text_clear(&t->interned);
	proto_end(&t->packet, t->packet_begin);
	if (!err)
		err = text_error(&t->packet);
	return err ? err : t->sink(t->arg, text_str(&t->packet), t->packet.n);
}

static int head_write(struct trace *t)
{
	static const unsigned clocks[] = { CLOCK_ID_BOOTTIME, CLOCK_ID_REALTIME };
	const char *kernel = t->job->kernel, *machine = kernel ? strchr(kernel, ' ') : NULL;
	struct text *b = &t->packet;
	size_t at;
	int err;

	packet_begin(t, 0);
	at = proto_begin(b, PACKET_CLOCKS);
	for (size_t i = 0; i < 2; i++) {
		size_t clock = proto_begin(b, SNAPSHOT_CLOCK);

		proto_uint(b, CLOCK_ID, clocks[i]);
		proto_uint(b, CLOCK_TIMESTAMP, trace_ns(t, 0));
		proto_end(b, clock);
	}
	proto_uint(b, SNAPSHOT_PRIMARY, CLOCK_ID_BOOTTIME);
	proto_end(b, at);
	err = packet_end(t);
	if (err || !kernel)
		return err;
	packet_begin(t, 0);
	at = proto_begin(b, PACKET_SYSTEM);
	{
		size_t utsname = proto_begin(b, SYSTEM_UTSNAME);

		proto_string(b, UTSNAME_SYSNAME, "Linux");
		proto_bytes(b, UTSNAME_RELEASE, kernel, machine ? (size_t)(machine - kernel) : strlen(kernel));
		if (machine)
			proto_string(b, UTSNAME_MACHINE, machine + 1);
		proto_end(b, utsname);
	}
	proto_end(b, at);
	return packet_end(t);
}

/* ---- tracks ---- */

static uint64_t group_uuid(uint32_t group)
{
	return UUID_GROUP + group + 1;
}

static uint64_t actor_uuid(size_t actor)
{
	return UUID_ACTOR + actor + 1;
}

static void track_begin(struct trace *t, uint64_t uuid, uint64_t parent, const char *name, size_t *ret)
{
	packet_begin(t, 0);
	*ret = proto_begin(&t->packet, PACKET_TRACK);
	proto_uint(&t->packet, TRACK_UUID, uuid);
	if (parent)
		proto_uint(&t->packet, TRACK_PARENT, parent);
	if (name)
		proto_string(&t->packet, TRACK_NAME, name);
}

static int track_end(struct trace *t, size_t at)
{
	proto_end(&t->packet, at);
	return packet_end(t);
}

static int group_track_write(struct trace *t, uint32_t group)
{
	const struct scene_group *g = &t->scene.groups[group];
	const char *name = scene_group_name(&t->scene, t->m, group);
	size_t at, process;

	track_begin(t, group_uuid(group), 0, g->pid ? NULL : name, &at);
	if (g->pid) {
		process = proto_begin(&t->packet, TRACK_PROCESS);
		proto_uint(&t->packet, PROCESS_PID, g->pid);
		proto_string(&t->packet, PROCESS_NAME, name);
		proto_end(&t->packet, process);
	}
	return track_end(t, at);
}

static int actor_track_write(struct trace *t, size_t actor)
{
	const struct scene_actor *a = &t->scene.actors[actor];
	const struct model_thread *of = &t->m->threads[a->thread];
	size_t at, thread;

	_cleanup_(text_done) struct text name = { 0 };

	/* Perfetto knows no goroutines: each is a track of its process. */
	if (of->goid)
		label_thread_append(&name, t->m, a->thread);
	track_begin(t, actor_uuid(actor), group_uuid(a->group), of->goid ? text_str(&name) : a->thread ? NULL : "ops", &at);
	if (a->thread && !of->goid) {
		thread = proto_begin(&t->packet, TRACK_THREAD);
		proto_uint(&t->packet, THREAD_PID, of->pid);
		proto_uint(&t->packet, THREAD_TID, of->tid);
		proto_string(&t->packet, THREAD_NAME, label_thread(t->m, a->thread));
		proto_end(&t->packet, thread);
	}
	return track_end(t, at);
}

/* Tracks of an actor's lanes: the first is its own. malloc'd. */
static int lanes_write(struct trace *t, size_t actor, uint64_t **ret)
{
	const struct scene_actor *a = &t->scene.actors[actor];
	_cleanup_(freep) uint64_t *uuids = calloc((size_t)a->lane_n + 1, sizeof(*uuids));
	int err = 0;

	if (!uuids)
		return -ENOMEM;
	uuids[0] = actor_uuid(actor);
	for (uint32_t i = 1; i < a->lane_n && !err; i++) {
		_cleanup_(text_done) struct text name = { 0 };
		size_t at;

		uuids[i] = UUID_OTHER + ++t->track_n;
		text_appendf(&name, "%s, beside (%u)", a->thread ? label_thread(t->m, a->thread) : "ops", i + 1);
		track_begin(t, uuids[i], actor_uuid(actor), text_str(&name), &at);
		err = track_end(t, at);
	}
	*ret = TAKE_PTR(uuids);
	return err;
}

/* ---- slices ---- */

static int event_begin(struct trace *t, int64_t ns, uint64_t track, unsigned type, const char *category,
		       const char *name, size_t *ret)
{
	struct text *b = &t->packet;
	uint32_t category_number, name_number;

	packet_begin(t, ns);
	*ret = proto_begin(b, PACKET_EVENT);
	proto_uint(b, EVENT_TYPE, type);
	proto_uint(b, EVENT_TRACK, track);
	if (!name)
		return 0;
	if (perfetto_string(t, PERFETTO_CATEGORY, category, &category_number) < 0 ||
	    perfetto_string(t, PERFETTO_NAME, name, &name_number) < 0)
		return -ENOMEM;
	proto_uint(b, EVENT_CATEGORY, category_number);
	proto_uint(b, EVENT_NAME, name_number);
	return 0;
}

static int event_end(struct trace *t, size_t at)
{
	proto_end(&t->packet, at);
	return packet_end(t);
}

static int end_write(struct trace *t, int64_t ns, uint64_t track)
{
	size_t at;

	event_begin(t, ns, track, TYPE_END, NULL, NULL, &at);
	return event_end(t, at);
}

static int stack_put(struct trace *t, uint32_t ustack, uint32_t kstack)
{
	uint32_t stack;

	if (perfetto_stack(t, ustack, kstack, &stack) < 0)
		return -ENOMEM;
	if (stack)
		proto_uint(&t->packet, EVENT_STACK, stack);
	return 0;
}

static int op_annotate(struct trace *t, uint32_t op)
{
	const struct model_op *o = &t->m->ops[op];
	const struct strtab *s = t->m->strings;

	if (perfetto_annotate(t, "kind", op_kind_name(o->kind)) < 0 ||
	    perfetto_annotate(t, "work", work_type_name(o->work)) < 0 ||
	    perfetto_annotate(t, "outcome", op_outcome_name(o->outcome)) < 0 ||
	    perfetto_annotate(t, "ident", strtab_str(s, o->ident_id)) < 0 ||
	    perfetto_annotate(t, "client", strtab_str(s, o->client_id)) < 0 ||
	    perfetto_annotate(t, "meta", strtab_str(s, o->meta_id)) < 0)
		return -ENOMEM;
	if (o->has_exit_status && perfetto_annotate_int(t, "exit_status", o->exit_status) < 0)
		return -ENOMEM;
	return stack_put(t, o->ustack, 0);
}

static int wait_annotate(struct trace *t, uint32_t wait)
{
	const struct model_wait *w = &t->m->waits[wait];
	const struct model_row *r = &t->m->rows[w->row];

	if (perfetto_annotate(t, "reason", wait_reason_name(r->reason)) < 0 ||
	    perfetto_annotate(t, "for", strtab_str(t->m->strings, w->ident_id)) < 0 ||
	    perfetto_annotate(t, analyze_wait_is_given_up(t->m, w) ? "given up before the end of" : "until the end of",
			      w->target ? label_op(t->m, w->target) : "") < 0 ||
	    perfetto_annotate(t, "waker", label_waker(t->m, wait)) < 0 ||
	    perfetto_annotate(t, "outcome", wait_outcome_name(w->outcome)) < 0 ||
	    perfetto_annotate_int(t, "blocked_ns", w->blocked_ns) < 0 ||
	    perfetto_annotate_int(t, "runnable_ns", w->runnable_ns) < 0)
		return -ENOMEM;
	return stack_put(t, r->ustack, r->kstack);
}

static int begin_write(struct trace *t, const struct scene_item *item, uint64_t track)
{
	bool wait = item->wait != 0;
	size_t at;
	int err = event_begin(t, item->at.start_ns, track, TYPE_BEGIN, wait ? "wait" : "op",
			      wait ? label_wait(t->m, item->wait) : label_op(t->m, item->op), &at);

	if (!err)
		err = wait ? wait_annotate(t, item->wait) : op_annotate(t, item->op);
	return err ? err : event_end(t, at);
}

/* Slices open on each lane, as items; depth of an item is its place. */
struct open {
	uint32_t *lane_top; /* by lane: item + 1 of the innermost, 0: none */
	uint32_t *under;    /* by item: the one that it lies in, as lane_top */
};

static int lane_close(struct trace *t, const struct scene_actor *a, struct open *o, uint32_t lane, uint64_t track,
		      int64_t ns)
{
	const struct scene_item *items = t->scene.items + a->item_first;
	int err = 0;

	while (o->lane_top[lane] && items[o->lane_top[lane] - 1].at.end_ns <= ns && !err) {
		uint32_t top = o->lane_top[lane] - 1;

		err = end_write(t, items[top].at.end_ns, track);
		o->lane_top[lane] = o->under[top];
	}
	return err;
}

static int items_write(struct trace *t, size_t actor)
{
	const struct scene_actor *a = &t->scene.actors[actor];
	const struct scene_item *items = t->scene.items + a->item_first;
	_cleanup_(freep) uint64_t *uuids = NULL;
	_cleanup_(freep) uint32_t *lane_top = calloc((size_t)a->lane_n + 1, sizeof(*lane_top));
	_cleanup_(freep) uint32_t *under = calloc(a->item_n + 1, sizeof(*under));
	struct open open = { .lane_top = lane_top, .under = under };
	int err = lane_top && under ? lanes_write(t, actor, &uuids) : -ENOMEM;

	for (size_t i = 0; i < a->item_n && !err; i++) {
		uint32_t lane = items[i].at.lane;

		err = lane_close(t, a, &open, lane, uuids[lane], items[i].at.start_ns);
		if (!err)
			err = begin_write(t, &items[i], uuids[lane]);
		under[i] = lane_top[lane];
		lane_top[lane] = (uint32_t)i + 1;
	}
	for (uint32_t lane = 0; lane < a->lane_n && !err; lane++)
		err = lane_close(t, a, &open, lane, uuids[lane], INT64_MAX);
	return err;
}

/* ---- flows ---- */

static int instant_write(struct trace *t, int64_t ns, uint64_t track, const char *name, const char *who,
			 unsigned flow_field, uint64_t flow)
{
	size_t at;
	int err = event_begin(t, ns, track, TYPE_INSTANT, "wake", name, &at);

	if (!err)
		err = perfetto_annotate(t, "who", who);
	if (err)
		return err;
	proto_fixed64(&t->packet, flow_field, flow);
	return event_end(t, at);
}

/* From a thread that is shown to one that is; the number of a flow is its wait's. */
static int flows_write(struct trace *t)
{
	const struct model *m = t->m;
	int err = 0;

	for (uint32_t wait = 1; wait < m->wait_n && !err; wait++) {
		const struct model_wait *w = &m->waits[wait];
		uint32_t waker = w->waker < m->thread_n ? t->scene.actor_of_thread[w->waker] : 0;

		if (!waker || !t->scene.actor_of_thread[w->thread] || w->wake_ns < 0 || (t->job->waits && !t->job->waits[wait]))
			continue;
		err = instant_write(t, w->wake_ns, actor_uuid(waker - 1), "wakes", label_thread(m, w->thread), EVENT_FLOW, wait);
		if (!err)
			err = instant_write(t, w->wake_ns, actor_uuid(t->scene.actor_of_thread[w->thread] - 1), "woken",
					    label_thread(m, w->waker), EVENT_FLOW_END, wait);
	}
	return err;
}

/* ---- samples, critical path ---- */

static int samples_write(struct trace *t)
{
	const struct model *m = t->m;
	struct text *b = &t->packet;
	int err = 0;

	for (size_t i = 0; i < m->sample_time_n && !err; i++) {
		const struct model_sample *s = &m->samples[m->sample_times[i].sample];
		uint32_t stack;
		size_t at;

		if (!s->thread || !t->scene.actor_of_thread[s->thread])
			continue;
		packet_begin(t, m->sample_times[i].at_ns);
		if (perfetto_stack(t, s->ustack, s->kstack, &stack) < 0)
			return -ENOMEM;
		at = proto_begin(b, PACKET_SAMPLE);
		proto_uint(b, SAMPLE_PID, m->threads[s->thread].pid);
		proto_uint(b, SAMPLE_TID, m->threads[s->thread].tid);
		if (stack)
			proto_uint(b, SAMPLE_STACK, stack);
		proto_uint(b, SAMPLE_MODE, s->kstack ? MODE_KERNEL : MODE_USER);
		proto_end(b, at);
		err = packet_end(t);
	}
	return err;
}

static int stretch_write(struct trace *t, const struct export_stretch *x, uint64_t track)
{
	static const char *const states[] = {
		[EXPORT_PATH_ONCPU] = "on CPU", [EXPORT_PATH_RUNNABLE] = "runnable",
		[EXPORT_PATH_BLOCKED] = "blocked", [EXPORT_PATH_UNKNOWN] = "unknown",
	};
	size_t at;
	int err = event_begin(t, x->start_ns, track, TYPE_BEGIN, "path",
			      x->thread ? label_thread(t->m, x->thread) : states[x->state], &at);

	if (!err)
		err = perfetto_annotate(t, "state", states[x->state]);
	if (!err && x->op)
		err = perfetto_annotate(t, "op", label_op(t->m, x->op));
	if (!err && x->wait)
		err = perfetto_annotate(t, "wait", label_wait(t->m, x->wait));
	if (err)
		return err;
	err = event_end(t, at);
	return err ? err : end_write(t, x->end_ns, track);
}

static int path_write(struct trace *t)
{
	uint64_t track = UUID_OTHER + ++t->track_n;
	size_t at;
	int err;

	if (!t->job->path_n)
		return 0;
	track_begin(t, track, 0, "critical path", &at);
	err = track_end(t, at);
	for (size_t i = 0; i < t->job->path_n && !err; i++)
		err = stretch_write(t, &t->job->path[i], track);
	return err;
}

int export_perfetto_write(const struct export_job *job, json_sink sink, void *arg, struct export_told *told)
{
	_cleanup_(trace_done) struct trace t = { .job = job, .m = job->m, .told = told, .sink = sink, .arg = arg };
	int err;

	t.mappings = calloc(t.m->module_n, sizeof(*t.mappings));
	if (!t.mappings || strtab_new(&t.texts) < 0 || scene_make(job, true, &t.scene) < 0)
		return -ENOMEM;
	err = head_write(&t);
	for (uint32_t i = 0; i < t.scene.group_n && !err; i++)
		err = group_track_write(&t, i);
	for (size_t i = 0; i < t.scene.actor_n && !err; i++)
		err = actor_track_write(&t, i);
	if (!err)
		err = perfetto_sched_write(&t);
	if (!err)
		err = path_write(&t);
	for (size_t i = 0; i < t.scene.actor_n && !err; i++)
		err = items_write(&t, i);
	if (!err)
		err = flows_write(&t);
	return err ? err : samples_write(&t);
}
