/* SPDX-License-Identifier: (LGPL-2.1 OR BSD-2-Clause) */
/*
 * OTLP in JSON (opentelemetry.io, "OTLP specification", JSON encoding): ids in
 * hex, 64-bit integers as strings, enums as numbers. One resource a process,
 * one span an op, under the ids that the program gave it if it has such spans
 * itself. A wait is a link on the span that waited. It leads to the
 * span whose end it waited for, and to none (all zeros) where that is not
 * known: a target that is wrong would be worse.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "export/formats.h"
#include "export/label.h"
#include "export/scene.h"
#include "util/cleanup.h"
#include "util/map.h"

enum { KIND_INTERNAL = 1, STATUS_ERROR = 2 };

struct spans {
	const struct export_job *job;
	const struct model *m;
	struct json *j;
	struct scene scene;
	uint32_t *parents;  /* by op: over nested_client links too */
	uint32_t *span_of_op; /* index of its own OTel span, 0: none */
	uint32_t *trace_of_op; /* whose own trace it is in: itself, the nearest above that has one, 0: none has */
	uint32_t *waits;    /* by op: from wait_first[op] on */
	size_t *wait_first;
	uint32_t *ops;	    /* by group: from op_first[group] on */
	size_t *op_first;
	char trace_id[33];
};

static void spans_done(struct spans *s)
{
	json_free(s->j);
	scene_done(&s->scene);
	free(s->parents);
	free(s->span_of_op);
	free(s->trace_of_op);
	free(s->waits);
	free(s->wait_first);
	free(s->ops);
	free(s->op_first);
}

static uint64_t mix(uint64_t h, uint64_t v)
{
	h = (h ^ v) * UINT64_C(0x9e3779b97f4a7c15);
	return h ^ h >> 29;
}

/* The same for every export of one recording, another for another host or time. */
static void trace_id_make(struct spans *s)
{
	uint64_t low = mix(1, (uint64_t)s->m->epoch_unix_ns);

	for (const char *c = s->job->host ? s->job->host : ""; *c; c++)
		low = mix(low, (uint8_t)*c);
	snprintf(s->trace_id, sizeof(s->trace_id), "%016" PRIx64 "%016" PRIx64, (uint64_t)s->m->epoch_unix_ns, low | 1);
}

/* ---- what belongs together ---- */

static bool op_is_shown(const struct spans *s, uint32_t op)
{
	return op && op < s->m->op_n && s->scene.actor_of_op[op];
}

/* A client's ops without a parent hang under the op that a link names: a child process under who started it. */
static int parents_make(struct spans *s)
{
	const struct model *m = s->m;
	_cleanup_(map_freep) struct map *starters = NULL;
	uint64_t from;

	s->parents = calloc(m->op_n, sizeof(*s->parents));
	if (!s->parents || map_new(&starters) < 0)
		return -ENOMEM;
	for (size_t i = 1; i < m->link_n; i++)
		if (m->links[i].kind == LINK_NESTED_CLIENT && m->links[i].ident_id &&
		    map_put(starters, m->links[i].ident_id, m->links[i].from) < 0)
			return -ENOMEM;
	for (uint32_t i = 1; i < m->op_n; i++) {
		const struct model_op *o = &m->ops[i];

		s->parents[i] = o->parent;
		/* Not under itself, or a circle of two. */
		if (!o->parent && o->client_id && map_get(starters, o->client_id, &from) && from && from < m->op_n &&
		    m->ops[from].client_id != o->client_id && m->ops[from].start_ns <= o->start_ns && from != i)
			s->parents[i] = (uint32_t)from;
	}
	return 0;
}

/* Spans that the program itself has, and which trace each op is in. */
static int traces_make(struct spans *s)
{
	const struct model *m = s->m;

	s->span_of_op = calloc(m->op_n, sizeof(*s->span_of_op));
	s->trace_of_op = calloc(m->op_n, sizeof(*s->trace_of_op));
	if (!s->span_of_op || !s->trace_of_op)
		return -ENOMEM;
	for (uint32_t i = 1; i < m->span_n; i++)
		if (m->spans[i].op < m->op_n)
			s->span_of_op[m->spans[i].op] = i;
	for (uint32_t i = 1; i < m->op_n; i++) {
		enum { STEPS_MAX = 1000 };
		uint32_t above = i;

		/* Damaged dumps have circles. */
		for (unsigned n = 0; above && !s->span_of_op[above] && n < STEPS_MAX; n++)
			above = s->trace_of_op[above] ? s->trace_of_op[above] : s->parents[above];
		s->trace_of_op[i] = above && s->span_of_op[above] ? above : 0;
	}
	return 0;
}

static bool wait_is_shown(const struct spans *s, size_t wait)
{
	return op_is_shown(s, s->m->waits[wait].op) && (!s->job->waits || s->job->waits[wait]);
}

static int waits_make(struct spans *s)
{
	const struct model *m = s->m;
	size_t n = 0;

	s->waits = calloc(m->wait_n, sizeof(*s->waits));
	s->wait_first = calloc(m->op_n + 2, sizeof(*s->wait_first));
	if (!s->waits || !s->wait_first)
		return -ENOMEM;
	for (size_t i = 1; i < m->wait_n; i++)
		if (wait_is_shown(s, i))
			s->wait_first[m->waits[i].op + 2]++;
	for (size_t i = 2; i < m->op_n + 2; i++) {
		n += s->wait_first[i];
		s->wait_first[i] = n;
	}
	/* wait_first[op + 1] moves from the first of op's to the first of the next one's. */
	for (uint32_t i = 1; i < m->wait_n; i++)
		if (wait_is_shown(s, i))
			s->waits[s->wait_first[m->waits[i].op + 1]++] = i;
	return 0;
}

static int ops_make(struct spans *s)
{
	size_t n = 0;

	s->ops = calloc(s->m->op_n, sizeof(*s->ops));
	s->op_first = calloc(s->scene.group_n + 2, sizeof(*s->op_first));
	if (!s->ops || !s->op_first)
		return -ENOMEM;
	for (uint32_t i = 1; i < s->m->op_n; i++)
		if (op_is_shown(s, i))
			s->op_first[s->scene.actors[s->scene.actor_of_op[i] - 1].group + 2]++;
	for (size_t i = 2; i < s->scene.group_n + 2; i++) {
		n += s->op_first[i];
		s->op_first[i] = n;
	}
	for (uint32_t i = 1; i < s->m->op_n; i++)
		if (op_is_shown(s, i))
			s->ops[s->op_first[s->scene.actors[s->scene.actor_of_op[i] - 1].group + 1]++] = i;
	return 0;
}

/* ---- writing ---- */

static void attribute_string(struct json *j, const char *key, const char *value)
{
	if (!*value)
		return;
	json_begin_object(j);
	json_kv_string(j, "key", key);
	json_key(j, "value");
	json_begin_object(j);
	json_kv_string(j, "stringValue", value);
	json_end_object(j);
	json_end_object(j);
}

static void attribute_int(struct json *j, const char *key, int64_t value)
{
	char digits[24];

	snprintf(digits, sizeof(digits), "%" PRId64, value);
	json_begin_object(j);
	json_kv_string(j, "key", key);
	json_key(j, "value");
	json_begin_object(j);
	json_kv_string(j, "intValue", digits);
	json_end_object(j);
	json_end_object(j);
}

static void unix_ns(const struct spans *s, int64_t ns, char ret[24])
{
	snprintf(ret, 24, "%" PRId64, s->m->epoch_unix_ns + ns);
}

static void hex(const uint8_t *bytes, size_t n, char *ret)
{
	for (size_t i = 0; i < n; i++)
		snprintf(ret + 2 * i, 3, "%02x", bytes[i]);
}

struct span_id {
	char text[17];
};

/* The op's own span's, where the program has one; else its number. */
static struct span_id span_id(const struct spans *s, uint32_t op)
{
	struct span_id id;

	if (s->span_of_op[op])
		hex(s->m->spans[s->span_of_op[op]].span, 8, id.text);
	else
		snprintf(id.text, sizeof(id.text), "%016" PRIx64, s->m->ops[op].id);
	return id;
}

/* op 0: none. */
static void context_write(const struct spans *s, uint32_t op)
{
	char trace[33] = "00000000000000000000000000000000";
	uint32_t from = s->trace_of_op[op];

	if (from)
		hex(s->m->spans[s->span_of_op[from]].trace, 16, trace);
	json_kv_string(s->j, "traceId", op && !from ? s->trace_id : trace);
	json_kv_string(s->j, "spanId", span_id(s, op).text);
}

static bool same_trace(const struct spans *s, uint32_t a, uint32_t b)
{
	uint32_t x = s->trace_of_op[a], y = s->trace_of_op[b];

	return x == y || (x && y && memcmp(s->m->spans[s->span_of_op[x]].trace, s->m->spans[s->span_of_op[y]].trace, 16) == 0);
}

/* A parent is of the same trace; one that isn't is linked to. */
static void parent_link_write(const struct spans *s, uint32_t op)
{
	json_begin_object(s->j);
	context_write(s, s->parents[op]);
	json_key(s->j, "attributes");
	json_begin_array(s->j);
	attribute_string(s->j, "wcbpf.link.purpose", "parent");
	json_end_array(s->j);
	json_end_object(s->j);
}

static void link_write(const struct spans *s, uint32_t wait)
{
	const struct model_wait *w = &s->m->waits[wait];
	const struct strtab *strings = s->m->strings;
	struct json *j = s->j;
	char ns[24];

	json_begin_object(j);
	context_write(s, op_is_shown(s, w->target) ? w->target : 0);
	json_key(j, "attributes");
	json_begin_array(j);
	attribute_string(j, "dagger.io/link.purpose", "wait");
	unix_ns(s, w->start_ns, ns);
	attribute_string(j, "wcprof.wait.start_unix_ns", ns);
	unix_ns(s, w->end_ns, ns);
	attribute_string(j, "wcprof.wait.end_unix_ns", ns);
	attribute_string(j, "wcprof.wait.reason", wait_reason_name(s->m->rows[w->row].reason));
	attribute_string(j, "wcprof.wait.ident", strtab_str(strings, w->ident_id));
	attribute_string(j, "wcbpf.wait.kind", strtab_str(strings, s->m->rows[w->row].kind_id));
	attribute_string(j, "wcbpf.wait.waker", label_waker(s->m, wait));
	json_end_array(j);
	json_end_object(j);
}

static void attributes_write(const struct spans *s, const struct model_op *o)
{
	const struct strtab *strings = s->m->strings;
	struct json *j = s->j;

	json_key(j, "attributes");
	json_begin_array(j);
	attribute_string(j, "wcprof.op.kind", op_kind_name(o->kind));
	attribute_string(j, "wcprof.work_type", work_type_name(o->work));
	attribute_string(j, "wcprof.op.outcome", op_outcome_name(o->outcome));
	attribute_string(j, "wcprof.op.ident", strtab_str(strings, o->ident_id));
	attribute_string(j, "wcprof.op.client", strtab_str(strings, o->client_id));
	attribute_string(j, "wcprof.op.meta", strtab_str(strings, o->meta_id));
	if (o->pid)
		attribute_int(j, "process.pid", o->pid);
	if (o->tid)
		attribute_int(j, "thread.id", o->tid);
	if (o->goid)
		attribute_int(j, "wcbpf.goid", (int64_t)o->goid);
	if (o->has_exit_status)
		attribute_int(j, "wcbpf.exit_status", o->exit_status);
	if (o->open)
		attribute_string(j, "wcbpf.open", "not ended when the recording did");
	json_end_array(j);
}

static void span_write(const struct spans *s, uint32_t op)
{
	const struct model_op *o = &s->m->ops[op];
	struct json *j = s->j;
	bool has_parent = op_is_shown(s, s->parents[op]), together = has_parent && same_trace(s, op, s->parents[op]);
	char ns[24];

	json_begin_object(j);
	context_write(s, op);
	if (together)
		json_kv_string(j, "parentSpanId", span_id(s, s->parents[op]).text);
	json_kv_string(j, "name", label_op(s->m, op));
	json_kv_int(j, "kind", KIND_INTERNAL);
	unix_ns(s, o->start_ns, ns);
	json_kv_string(j, "startTimeUnixNano", ns);
	unix_ns(s, o->end_ns, ns);
	json_kv_string(j, "endTimeUnixNano", ns);
	attributes_write(s, o);
	if (s->wait_first[op + 1] > s->wait_first[op] || (has_parent && !together)) {
		json_key(j, "links");
		json_begin_array(j);
		if (has_parent && !together)
			parent_link_write(s, op);
		for (size_t i = s->wait_first[op]; i < s->wait_first[op + 1]; i++)
			link_write(s, s->waits[i]);
		json_end_array(j);
	}
	json_key(j, "status");
	json_begin_object(j);
	if (o->outcome == OUTCOME_ERROR)
		json_kv_int(j, "code", STATUS_ERROR);
	json_end_object(j);
	json_end_object(j);
}

static void resource_write(const struct spans *s, uint32_t group)
{
	const struct scene_group *g = &s->scene.groups[group];
	struct json *j = s->j;

	json_key(j, "resource");
	json_begin_object(j);
	json_key(j, "attributes");
	json_begin_array(j);
	attribute_string(j, "service.name", scene_group_name(&s->scene, s->m, group));
	attribute_string(j, "host.name", s->job->host ? s->job->host : "");
	if (g->pid)
		attribute_int(j, "process.pid", g->pid);
	json_end_array(j);
	json_end_object(j);
}

static int group_write(const struct spans *s, uint32_t group)
{
	struct json *j = s->j;

	if (s->op_first[group + 1] == s->op_first[group])
		return 0;
	json_begin_object(j);
	resource_write(s, group);
	json_key(j, "scopeSpans");
	json_begin_array(j);
	json_begin_object(j);
	json_key(j, "scope");
	json_begin_object(j);
	json_kv_string(j, "name", "wcbpf");
	json_kv_string(j, "version", WCBPF_VERSION);
	json_end_object(j);
	json_key(j, "spans");
	json_begin_array(j);
	for (size_t i = s->op_first[group]; i < s->op_first[group + 1]; i++)
		span_write(s, s->ops[i]);
	json_end_array(j);
	json_end_object(j);
	json_end_array(j);
	json_end_object(j);
	return json_error(j);
}

int export_otlp_write(const struct export_job *job, json_sink sink, void *arg, struct export_told *told)
{
	_cleanup_(spans_done) struct spans s = { .job = job, .m = job->m };
	int err = json_new(sink, arg, JSON_COMPACT, &s.j);

	(void)told;
	if (!err)
		err = scene_make(job, false, &s.scene);
	if (!err && (parents_make(&s) < 0 || traces_make(&s) < 0 || waits_make(&s) < 0 || ops_make(&s) < 0))
		err = -ENOMEM;
	if (err)
		return err;
	trace_id_make(&s);
	json_begin_object(s.j);
	json_key(s.j, "resourceSpans");
	json_begin_array(s.j);
	for (uint32_t i = 0; i < s.scene.group_n && !err; i++)
		err = group_write(&s, i);
	json_end_array(s.j);
	json_end_object(s.j);
	json_newline(s.j);
	return err ? err : json_flush(s.j);
}
