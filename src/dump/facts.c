/* SPDX-License-Identifier: (LGPL-2.1 OR BSD-2-Clause) */
/*
 * The header's "wcbpf" object and the summary file use the same keys, so one
 * reader serves both. All of it is optional: a key that is missing or has
 * another type is simply not known.
 */
#include "dump/facts.h"

#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>

#include "util/cleanup.h"
#include "util/files.h"

enum { SUMMARY_BYTES_MAX = 256 << 20 };

static int text_take(struct json_object *o, const char *key, char **text)
{
	const char *s = jsonc_text(o, key);

	if (*text || !s)
		return 0;
	*text = strdup(s);
	return *text ? 0 : -ENOMEM;
}

static bool argument_is_plain(const char *s)
{
	if (!*s)
		return false;
	for (; *s; s++) {
		if (!isalnum((unsigned char)*s) && (unsigned char)*s < 0x80 && !strchr("%+,-./:=@_", *s))
			return false;
	}
	return true;
}

static void argument_put(FILE *f, const char *s)
{
	if (argument_is_plain(s)) {
		fputs(s, f);
		return;
	}
	fputc('\'', f);
	for (; *s; s++) {
		if (*s == '\'')
			fputs("'\\''", f);
		else
			fputc(*s, f);
	}
	fputc('\'', f);
}

static int command_take(struct json_object *o, char **command)
{
	struct json_object *v = jsonc_member(o, "command", json_type_array);
	size_t size;
	FILE *f;

	if (*command)
		return 0;
	if (!v)
		return text_take(o, "command", command);
	if (!json_object_array_length(v))
		return 0;
	f = open_memstream(command, &size);
	if (!f)
		return -ENOMEM;
	for (size_t i = 0; i < json_object_array_length(v); i++) {
		struct json_object *argument = json_object_array_get_idx(v, i);

		if (i)
			fputc(' ', f);
		if (json_object_is_type(argument, json_type_string))
			argument_put(f, json_object_get_string(argument));
	}
	return fclose(f) == 0 ? 0 : -ENOMEM;
}

static void stacks_take(struct json_object *o, struct dump_facts *x)
{
	struct json_object *v = jsonc_member(jsonc_member(o, "stacks", json_type_object), "user", json_type_object);

	if (x->user_stack_n || !v)
		return;
	x->user_stack_n = jsonc_uint(v, "count");
	x->complete_user_stack_n = jsonc_uint(jsonc_member(v, "complete", json_type_object), "count");
}

/* Malloc'd; "" if there is none. */
static char *text_of(struct json_object *o, const char *key)
{
	const char *s = jsonc_text(o, key);

	return strdup(s ? s : "");
}

static void points_free(struct dump_point *points, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		free(points[i].name);
		free(points[i].file);
	}
	free(points);
}

static int point_take(struct json_object *o, const char *detached_key, struct dump_point *ret)
{
	struct json_object *detached = jsonc_member(o, detached_key, json_type_int);
	uint64_t entry_n = jsonc_uint(o, "entries"), exit_n = jsonc_uint(o, "exits"), other_n = jsonc_uint(o, "by_others");

	*ret = (struct dump_point){
		.name = text_of(o, "name"), .file = text_of(o, "file"), .cost_ns = jsonc_uint(o, "cost_ns"),
		.detached = detached, .detached_ns = detached ? json_object_get_int64(detached) : 0,
	};
	/* What is claimed may be beyond all counting. */
	if (__builtin_add_overflow(entry_n, exit_n, &ret->hit_n) || __builtin_add_overflow(ret->hit_n, other_n, &ret->hit_n))
		ret->hit_n = UINT64_MAX;
	return ret->name && ret->file ? 0 : -ENOMEM;
}

static int by_cost(const void *a, const void *b)
{
	const struct dump_point *x = a, *y = b;

	if (x->cost_ns != y->cost_ns)
		return x->cost_ns > y->cost_ns ? -1 : 1;
	if (x->detached != y->detached)
		return x->detached ? -1 : 1;
	return strcmp(x->name, y->name);
}

/* Instead of those that are known. */
static int points_take(struct json_object *array, const char *detached_key, struct dump_facts *x)
{
	size_t n = json_object_array_length(array), k = 0;
	struct dump_point *points = calloc(n + 1, sizeof(*points));
	int e = points ? 0 : -ENOMEM;

	for (size_t i = 0; i < n && e == 0; i++) {
		struct json_object *o = json_object_array_get_idx(array, i);

		if (json_object_is_type(o, json_type_object))
			e = point_take(o, detached_key, &points[k++]);
	}
	if (e < 0) {
		points_free(points, k);
		return e;
	}
	if (k)
		qsort(points, k, sizeof(*points), by_cost);
	points_free(x->points, x->point_n);
	x->points = points;
	x->point_n = k;
	return 0;
}

static void caveats_free(struct dump_facts *x)
{
	for (size_t i = 0; i < x->point_caveat_n; i++)
		free(x->point_caveats[i]);
	free(x->point_caveats);
	x->point_caveats = NULL;
	x->point_caveat_n = 0;
}

static int caveats_take(struct json_object *array, struct dump_facts *x)
{
	size_t n = array ? json_object_array_length(array) : 0;

	caveats_free(x);
	x->point_caveats = calloc(n + 1, sizeof(*x->point_caveats));
	if (!x->point_caveats)
		return -ENOMEM;
	for (size_t i = 0; i < n; i++) {
		struct json_object *line = json_object_array_get_idx(array, i);

		if (!json_object_is_type(line, json_type_string))
			continue;
		x->point_caveats[x->point_caveat_n] = strdup(json_object_get_string(line));
		if (!x->point_caveats[x->point_caveat_n])
			return -ENOMEM;
		x->point_caveat_n++;
	}
	return 0;
}

/* The summary knows all of them, and what they cost; a dump's header those that are missing from then on. */
static int choke_points_take(struct json_object *o, struct dump_facts *x)
{
	struct json_object *all = jsonc_member(o, "choke_points", json_type_object), *max = jsonc_member(all, "overhead_max", json_type_double);
	struct json_object *points = jsonc_member(all, "points", json_type_array);
	struct json_object *detached = jsonc_member(o, "detached_probes", json_type_array);

	if (points) {
		x->points_are_priced = true;
		x->hit_ns = jsonc_uint(all, "hit_ns");
		x->stepped_hit_ns = jsonc_uint(all, "single_stepped_hit_ns");
		x->value_ns = jsonc_uint(all, "value_ns");
		x->overhead_max = max ? json_object_get_double(max) : 0;
		if (caveats_take(jsonc_member(all, "caveats", json_type_array), x) < 0)
			return -ENOMEM;
		return points_take(points, "detached_ns", x);
	}
	/* Of several dumps the latest's. */
	return detached && !x->points_are_priced ? points_take(detached, "at_ns", x) : 0;
}

int dump_facts_from_object(struct dump_facts *x, struct json_object *o)
{
	struct json_object *status = jsonc_member(o, "exit_status", json_type_int);
	uint64_t tracer_cpu_ns = jsonc_uint(jsonc_member(o, "tracer", json_type_object), "cpu_ns");

	if (!x->has_exit_status && status) {
		x->has_exit_status = true;
		x->exit_status = json_object_get_int(status);
	}
	stacks_take(o, x);
	if (choke_points_take(o, x) < 0)
		return -ENOMEM;
	if (tracer_cpu_ns)
		x->tracer_cpu_ns = tracer_cpu_ns;
	if (text_take(o, "version", &x->version) < 0 || text_take(o, "host", &x->host) < 0 ||
	    text_take(o, "kernel", &x->kernel) < 0 || text_take(o, "clock", &x->clock) < 0 ||
	    text_take(o, "target", &x->target) < 0 || text_take(o, "options", &x->options) < 0 ||
	    text_take(o, "state", &x->capture_state) < 0 || text_take(o, "caveat_message", &x->caveat_message) < 0)
		return -ENOMEM;
	return command_take(o, &x->command);
}

int dump_facts_from_summary(const char *path, struct dump_facts *facts)
{
	_cleanup_(jsonc_putp) struct json_object *o = NULL;
	_cleanup_(freep) char *text = NULL;
	int r = files_read(AT_FDCWD, path, SUMMARY_BYTES_MAX, &text, NULL);

	if (r < 0)
		return r;
	o = json_tokener_parse(text);
	if (!json_object_is_type(o, json_type_object))
		return -EINVAL;
	return dump_facts_from_object(facts, o);
}

void dump_facts_done(struct dump_facts *x)
{
	free(x->version);
	free(x->host);
	free(x->kernel);
	free(x->clock);
	free(x->target);
	free(x->options);
	free(x->command);
	free(x->capture_state);
	free(x->caveat_message);
	points_free(x->points, x->point_n);
	caveats_free(x);
	*x = (struct dump_facts){ 0 };
}
