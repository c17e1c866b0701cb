/* SPDX-License-Identifier: (LGPL-2.1 OR BSD-2-Clause) */
/* The header is one value with a large string table: json-c reads it, and it is freed before the events come. */
#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "dump/facts.h"
#include "dump/reader.h"
#include "util/cleanup.h"

static void tokener_free(struct json_tokener **t)
{
	if (*t)
		json_tokener_free(*t);
}

/* By exact key, else without regard to case as the reference reader does. NULL if absent or null. */
static struct json_object *member(struct json_object *o, const char *name)
{
	struct json_object *value;

	if (!json_object_is_type(o, json_type_object))
		return NULL;
	if (json_object_object_get_ex(o, name, &value))
		return value;
	json_object_object_foreach(o, key, v) {
		if (strcasecmp(key, name) == 0)
			return v;
	}
	return NULL;
}

static bool member_int(struct json_object *o, const char *name, int64_t *ret)
{
	struct json_object *v = member(o, name);

	if (!json_object_is_type(v, json_type_int))
		return false;
	*ret = json_object_get_int64(v);
	return true;
}

static uint64_t member_uint(struct json_object *o, const char *name)
{
	struct json_object *v = member(o, name);

	return json_object_is_type(v, json_type_int) && json_object_get_int64(v) >= 0 ? json_object_get_uint64(v) : 0;
}

static struct string_words words_of(const char *text)
{
	enum wait_outcome outcome = WAIT_OUTCOME_NONE;
	enum waker_ctx ctx = WAKER_NONE;
	enum owner_unknown owner_unknown = OWNER_UNKNOWN_NONE;

	wait_outcome_parse(text, &outcome);
	waker_ctx_parse(text, &ctx);
	owner_unknown_parse(text, &owner_unknown);
	return (struct string_words){ .outcome = outcome, .ctx = ctx, .owner_unknown = owner_unknown };
}

static int strings_read(struct reader *r, struct json_object *array)
{
	size_t n = json_object_is_type(array, json_type_array) ? json_object_array_length(array) : 0;
	_cleanup_(freep) uint32_t *strings = calloc(n ? n : 1, sizeof(*strings));
	_cleanup_(freep) struct string_words *words = calloc(n ? n : 1, sizeof(*words));

	if (!strings || !words)
		return -ENOMEM;
	for (size_t i = 0; i < n; i++) {
		struct json_object *s = json_object_array_get_idx(array, i);

		if (!json_object_is_type(s, json_type_string)) {
			reader_complain(r, "string %zu of the header is no string", i);
			continue;
		}
		/* The first means "none", whatever it says. */
		if (i && strtab_intern(r->m->strings, json_object_get_string(s), &strings[i]) < 0)
			return -ENOMEM;
		words[i] = words_of(strtab_str(r->m->strings, strings[i]));
	}
	/* Of several dumps each has its own table. */
	free(r->strings);
	free(r->words);
	r->strings = TAKE_PTR(strings);
	r->words = TAKE_PTR(words);
	r->string_n = n;
	return 0;
}

/* Of an open op; as an event's, it may be behind the dump's time. */
static int64_t start_read(struct reader *r, int64_t ns)
{
	ns = ns < 0 ? 0 : ns > READER_NS_MAX ? READER_NS_MAX : ns;
	r->last_ns = ns > r->last_ns ? ns : r->last_ns;
	return ns;
}

static int open_op_read(struct reader *r, struct json_object *o)
{
	struct json_object *kind = member(o, "kind"), *work = member(o, "work_type");
	struct model_op op = { .open = true, .kind = OP_INTERNAL };
	enum op_kind k = OP_INTERNAL;
	enum work_type w = WORK_ENGINE;
	int64_t start_ns = 0, status;

	op.id = member_uint(o, "op_id");
	if (!op.id) {
		reader_complain(r, "an entry of open_ops has no op_id");
		return 0;
	}
	if (json_object_is_type(kind, json_type_string))
		op_kind_parse(json_object_get_string(kind), &k);
	if (json_object_is_type(work, json_type_string))
		work_type_parse(json_object_get_string(work), &w);
	op.kind = k;
	op.work = w;
	op.class_id = reader_string(r, member_uint(o, "class_id"));
	op.ident_id = reader_string(r, member_uint(o, "ident_id"));
	op.client_id = reader_string(r, member_uint(o, "client_id"));
	op.meta_id = reader_string(r, member_uint(o, "meta_id"));
	member_int(o, "start_ns", &start_ns);
	op.start_ns = op.end_ns = start_read(r, start_ns); /* the end comes when the dump's is known */
	op.pid = (uint32_t)member_uint(o, "pid");
	op.tid = (uint32_t)member_uint(o, "tid");
	op.goid = member_uint(o, "goid");
	op.ustack = (uint32_t)member_uint(o, "ustack");
	op.clipped = member_uint(o, "clipped") & (CLIPPED_BEFORE | CLIPPED_AFTER);
	op.unwound = member_uint(o, "unwound") != 0;
	op.has_exit_status = member_int(o, "exit_status", &status) && status >= INT32_MIN && status <= INT32_MAX;
	if (op.has_exit_status)
		op.exit_status = (int32_t)status;
	return reader_op_add(r, &op, member_uint(o, "parent_id"));
}

static int open_ops_read(struct reader *r, struct json_object *array)
{
	size_t n = json_object_is_type(array, json_type_array) ? json_object_array_length(array) : 0;

	for (size_t i = 0; i < n; i++) {
		int e = open_op_read(r, json_object_array_get_idx(array, i));

		if (e < 0)
			return e;
	}
	return 0;
}

/* Counters of our header object, there or in the object it shares with the summary. */
static void integrity_read(struct reader *r, struct json_object *wcbpf)
{
	struct json_object *o = member(wcbpf, "capture_integrity");
	struct model_integrity *x = &r->m->integrity;

	if (!o)
		o = member(wcbpf, "integrity");
	if (!o)
		o = wcbpf;
	const struct {
		const char *key;
		uint64_t *value;
	} counters[] = {
#define COUNTER(name) { #name, &x->name }
		COUNTER(attempted), COUNTER(recorded), COUNTER(below_min), COUNTER(lost_ring_full),
		COUNTER(lost_unprocessed), COUNTER(lost_clock_back), COUNTER(lost_stack_bodies),
		COUNTER(failed_kernel_stacks), COUNTER(failed_user_stacks), COUNTER(lost_lifecycle),
		COUNTER(lost_futex_results), COUNTER(lost_resources), COUNTER(lost_map_full), COUNTER(lost_recursion),
		COUNTER(lost_mappings), COUNTER(unmatched_wakes), COUNTER(inferred_switches), COUNTER(unbalanced),
		COUNTER(truncated_stacks), COUNTER(mismatched_kernel_stacks), COUNTER(repeated_stack_losses),
		COUNTER(samples), COUNTER(recorded_samples), COUNTER(lost_samples), COUNTER(failed_sample_stacks),
		COUNTER(out_of_scope), COUNTER(ops), COUNTER(recorded_ops), COUNTER(lost_ops), COUNTER(unmatched_exits),
		COUNTER(unwound_ops), COUNTER(lost_go_events), COUNTER(lost_goroutines),
		COUNTER(detached_probes), COUNTER(lost_waker_stacks), COUNTER(unlisted_goroutines), COUNTER(lost_values),
#undef COUNTER
	};

	for (size_t i = 0; i < sizeof(counters) / sizeof(counters[0]); i++)
		*counters[i].value = member_uint(o, counters[i].key);
}

static int header_parse(struct reader *r, const char *line, size_t n, struct json_object **ret)
{
	_cleanup_(tokener_free) struct json_tokener *tok = json_tokener_new();
	_cleanup_(jsonc_putp) struct json_object *o = NULL;
	enum json_tokener_error e;
	int64_t version;

	if (!tok)
		return -ENOMEM;
	if (n >= INT_MAX || memchr(line, 0, n)) {
		reader_complain(r, "line 1 is no wcprof dump header");
		return -EINVAL;
	}
	json_tokener_set_flags(tok, JSON_TOKENER_STRICT);
	o = json_tokener_parse_ex(tok, line, (int)n + 1);
	e = json_tokener_get_error(tok);
	if ((e == json_tokener_continue || e == json_tokener_error_parse_eof) && n) {
		reader_complain(r, "the header (line 1) is cut short");
		return -EINVAL;
	}
	if (e != json_tokener_success || !json_object_is_type(o, json_type_object) || !member(o, "schema_version")) {
		reader_complain(r, "line 1 is no wcprof dump header");
		return -EINVAL;
	}
	if (!member_int(o, "schema_version", &version) || version != 1) {
		reader_complain(r, "schema_version is %.20s, only 1 can be read",
				json_object_get_string(member(o, "schema_version")));
		return -EINVAL;
	}
	*ret = TAKE_PTR(o);
	return 0;
}

int reader_header_times(struct reader *r, const char *line, size_t n, int64_t *ret_epoch_unix_ns,
			int64_t *ret_dumped_unix_ns)
{
	_cleanup_(jsonc_putp) struct json_object *o = NULL;
	int e = header_parse(r, line, n, &o);

	if (e < 0)
		return e;
	if (!member_int(o, "epoch_unix_nano", ret_epoch_unix_ns))
		*ret_epoch_unix_ns = 0;
	if (!member_int(o, "dumped_unix_nano", ret_dumped_unix_ns))
		*ret_dumped_unix_ns = 0;
	return 0;
}

int reader_header(struct reader *r, const char *line, size_t n, struct dump_facts *facts)
{
	_cleanup_(jsonc_putp) struct json_object *o = NULL;
	struct json_object *wcbpf;
	int64_t dumped, count, total_ns;
	uint64_t dropped, lost;
	int e = header_parse(r, line, n, &o);

	if (e < 0)
		return e;
	member_int(o, "epoch_unix_nano", &r->m->epoch_unix_ns);
	/* Its sum with any time of the recording is a time. */
	if (r->m->epoch_unix_ns < 0 || r->m->epoch_unix_ns > INT64_MAX - 2 * READER_NS_MAX) {
		reader_complain(r, "epoch_unix_nano is no time");
		r->m->epoch_unix_ns = 0;
	}
	if (member_int(o, "dumped_unix_nano", &dumped) &&
	    !__builtin_sub_overflow(dumped, r->m->epoch_unix_ns, &total_ns) && total_ns > 0) {
		total_ns = total_ns > READER_NS_MAX ? READER_NS_MAX : total_ns;
		r->m->end_ns = total_ns > r->m->end_ns ? total_ns : r->m->end_ns;
		r->end_known = true;
	}
	r->has_announced = member_int(o, "event_count", &count) && count >= 0;
	r->announced_n += r->has_announced ? (uint64_t)count : 0;
	wcbpf = member(o, "wcbpf");
	if (json_object_is_type(wcbpf, json_type_object))
		integrity_read(r, wcbpf);
	r->m->sample_hz = (uint32_t)member_uint(wcbpf, "sample_hz");
	r->m->cpu_n = (uint32_t)member_uint(wcbpf, "cpus");
	/* What the header calls dropped holds lost intervals too; the rest went over the event cap. */
	dropped = member_uint(o, "dropped_events");
	r->m->integrity.dropped_events = 0; /* of several dumps the last one's: it counts them all */
	lost = dump_dropped_events(r->m);
	r->m->integrity.dropped_events = dropped > lost ? dropped - lost : 0;
	e = strings_read(r, member(o, "strings"));
	if (e == 0)
		e = open_ops_read(r, member(o, "open_ops"));
	if (e == 0 && json_object_is_type(wcbpf, json_type_object)) {
		facts->is_wcbpf = true;
		e = dump_facts_from_object(facts, wcbpf);
	}
	return e;
}
