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

static void object_put(struct json_object **o)
{
	json_object_put(*o);
}

static int text_take(struct json_object *o, const char *key, char **text)
{
	struct json_object *v;

	if (*text || !json_object_object_get_ex(o, key, &v) || !json_object_is_type(v, json_type_string))
		return 0;
	*text = strdup(json_object_get_string(v));
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
	struct json_object *v;
	size_t size;
	FILE *f;

	if (*command || !json_object_object_get_ex(o, "command", &v))
		return 0;
	if (!json_object_is_type(v, json_type_array))
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

/* The count of an object, or of one in it; 0: none. */
static uint64_t count_of(struct json_object *o, const char *key)
{
	struct json_object *v = o;

	if (key && !json_object_object_get_ex(o, key, &v))
		return 0;
	if (!json_object_object_get_ex(v, "count", &v) || !json_object_is_type(v, json_type_int))
		return 0;
	return json_object_get_int64(v) > 0 ? json_object_get_uint64(v) : 0;
}

static void stacks_take(struct json_object *o, struct dump_facts *x)
{
	struct json_object *v;

	if (x->user_stack_n || !json_object_object_get_ex(o, "stacks", &v) || !json_object_object_get_ex(v, "user", &v))
		return;
	x->user_stack_n = count_of(v, NULL);
	x->complete_user_stack_n = count_of(v, "complete");
}

int dump_facts_from_object(struct dump_facts *x, struct json_object *o)
{
	struct json_object *v;

	if (!x->has_exit_status && json_object_object_get_ex(o, "exit_status", &v) &&
	    json_object_is_type(v, json_type_int)) {
		x->has_exit_status = true;
		x->exit_status = json_object_get_int(v);
	}
	stacks_take(o, x);
	if (json_object_object_get_ex(o, "tracer", &v) && json_object_object_get_ex(v, "cpu_ns", &v) &&
	    json_object_is_type(v, json_type_int) && json_object_get_int64(v) > 0)
		x->tracer_cpu_ns = json_object_get_uint64(v);
	if (text_take(o, "version", &x->version) < 0 || text_take(o, "host", &x->host) < 0 ||
	    text_take(o, "kernel", &x->kernel) < 0 || text_take(o, "clock", &x->clock) < 0 ||
	    text_take(o, "target", &x->target) < 0 || text_take(o, "options", &x->options) < 0 ||
	    text_take(o, "state", &x->capture_state) < 0 || text_take(o, "caveat_message", &x->caveat_message) < 0)
		return -ENOMEM;
	return command_take(o, &x->command);
}

int dump_facts_from_summary(const char *path, struct dump_facts *facts)
{
	_cleanup_(object_put) struct json_object *o = NULL;
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
	*x = (struct dump_facts){ 0 };
}
