/* SPDX-License-Identifier: (LGPL-2.1 OR BSD-2-Clause) */
/*
 * pprof's profile.proto (github.com/google/pprof, proto/profile.proto): one
 * sample for what is alike in name, process, stacks, reason and kind of wait,
 * innermost location first. A location is an address of a file with all
 * functions that are inlined there. Messages of locations and functions are
 * made when first met, and written when all samples are. Of a dump without
 * threads, as the engine writes it, the ops are the locations.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "analyze/analyze.h"
#include "export/flame.h"
#include "export/formats.h"
#include "export/label.h"
#include "export/pairs.h"
#include "export/proto.h"
#include "util/cleanup.h"
#include "util/strtab.h"
#include "util/vec.h"

/* Field numbers of profile.proto. */
enum { PROFILE_SAMPLE_TYPE = 1, PROFILE_SAMPLE, PROFILE_MAPPING, PROFILE_LOCATION, PROFILE_FUNCTION, PROFILE_STRING,
       PROFILE_TIME_NS = 9, PROFILE_DURATION_NS, PROFILE_COMMENT = 13, PROFILE_DEFAULT_TYPE };
enum { VALUE_TYPE = 1, VALUE_UNIT };
enum { SAMPLE_LOCATION = 1, SAMPLE_VALUE, SAMPLE_LABEL };
enum { LABEL_KEY = 1, LABEL_STRING, LABEL_NUMBER };
enum { MAPPING_ID = 1, MAPPING_START, MAPPING_LIMIT, MAPPING_OFFSET, MAPPING_FILE, MAPPING_BUILD_ID,
       MAPPING_HAS_FUNCTIONS };
enum { LOCATION_ID = 1, LOCATION_MAPPING, LOCATION_ADDRESS, LOCATION_LINE };
enum { LINE_FUNCTION = 1, LINE_NUMBER };
enum { FUNCTION_ID = 1, FUNCTION_NAME, FUNCTION_SYSTEM_NAME, FUNCTION_FILE };

enum { OP_DEPTH_MAX = 64 };

struct row {
	uint32_t comm_id, pid, ustack, kstack, kind_id;
	uint32_t tower; /* without threads: number of ops and what they wait for, in place of stacks; 0: none */
	uint8_t reason;
	uint64_t count, blocked_ns, runnable_ns;
};

struct module_use {
	uint64_t limit; /* greatest address + 1, 0: not used */
	bool named;	/* some function of it has a name */
};

struct profile {
	const struct export_job *job;
	const struct model *m;
	json_sink sink;
	void *arg;
	struct strtab *strings;
	struct pairs keys[4]; /* of rows: (name, pid), (stacks), (reason, kind), all */
	struct pairs row_numbers;
	struct row *rows;
	size_t row_n, row_cap;
	struct pairs functions, lines, chains, addresses, places, locations;
	struct pairs towers;  /* (tower below, string) */
	struct floor {
		uint32_t below, word; /* string of strings */
	} *floors; /* by number of the tower - 1 */
	size_t floor_cap;
	struct module_use *modules;
	struct text sample, function_bytes, location_bytes;
};

static void profile_done(struct profile *p)
{
	strtab_free(p->strings);
	for (size_t i = 0; i < sizeof(p->keys) / sizeof(p->keys[0]); i++)
		pairs_done(&p->keys[i]);
	pairs_done(&p->row_numbers);
	pairs_done(&p->towers);
	free(p->floors);
	free(p->rows);
	pairs_done(&p->functions);
	pairs_done(&p->lines);
	pairs_done(&p->chains);
	pairs_done(&p->addresses);
	pairs_done(&p->places);
	pairs_done(&p->locations);
	free(p->modules);
	text_done(&p->sample);
	text_done(&p->function_bytes);
	text_done(&p->location_bytes);
}

/* Appends a field with a string's number. */
static int string_field(struct profile *p, struct text *t, unsigned field, const char *s)
{
	uint32_t id;

	if (strtab_intern(p->strings, s, &id) < 0)
		return -ENOMEM;
	if (id)
		proto_uint(t, field, id);
	return 0;
}

static int out(struct profile *p, struct text *t)
{
	int err = text_error(t);

	if (!err && t->n)
		err = p->sink(p->arg, text_str(t), t->n);
	text_clear(t);
	return err;
}

/* ---- rows ---- */

static int row_at(struct profile *p, const struct row *key, struct row **ret)
{
	uint32_t who, stacks, why, number;
	bool is_new;

	if (pairs_intern(&p->keys[0], key->comm_id, key->pid, &who, NULL) < 0 ||
	    pairs_intern(&p->keys[1], key->tower ?: key->ustack, key->tower ? UINT32_MAX : key->kstack, &stacks, NULL) < 0 ||
	    pairs_intern(&p->keys[2], key->reason, key->kind_id, &why, NULL) < 0 ||
	    pairs_intern(&p->keys[3], who, stacks, &number, NULL) < 0 ||
	    VEC_RESERVE(p->rows, p->row_cap, p->row_n + 1) < 0 ||
	    pairs_intern(&p->row_numbers, number, why, &number, &is_new) < 0)
		return -ENOMEM;
	if (is_new)
		p->rows[p->row_n++] = *key;
	*ret = &p->rows[number - 1];
	return 0;
}

static int floor_add(struct profile *p, const char *word, uint32_t *tower)
{
	uint32_t id, number;
	bool is_new;

	if (strtab_intern(p->strings, word, &id) < 0 ||
	    VEC_RESERVE(p->floors, p->floor_cap, (size_t)p->towers.n + 1) < 0 ||
	    pairs_intern(&p->towers, *tower, id, &number, &is_new) < 0)
		return -ENOMEM;
	if (is_new)
		p->floors[number - 1] = (struct floor){ *tower, id };
	*tower = number;
	return 0;
}

/* The ops around a wait, its reason, what it was for. */
static int tower_of(struct profile *p, const struct analyze_op_parts *parts, const struct model_wait *w, uint32_t *ret)
{
	const char *name = strtab_str(p->m->strings, analyze_awaited_name(p->m, w));
	uint32_t chain[OP_DEPTH_MAX], tower = 0;
	_cleanup_(text_done) struct text reason = { 0 };
	size_t n = 0;

	for (uint32_t op = w->op; op && n < OP_DEPTH_MAX; op = parts->parents[op])
		chain[n++] = op;
	while (n--)
		if (floor_add(p, label_op(p->m, chain[n]), &tower) < 0)
			return -ENOMEM;
	text_appendf(&reason, "[%s]", label_wait(p->m, (uint32_t)(w - p->m->waits)));
	if (text_error(&reason) < 0 || floor_add(p, text_str(&reason), &tower) < 0 ||
	    (*name && floor_add(p, name, &tower) < 0))
		return -ENOMEM;
	*ret = tower;
	return 0;
}

static int rows_make(struct profile *p)
{
	_cleanup_(analyze_op_parts_done) struct analyze_op_parts parts = { 0 };
	const struct model *m = p->m;

	if (flame_is_of_ops(m) && analyze_op_parts(m, &parts) < 0)
		return -ENOMEM;

	for (size_t i = 1; i < m->wait_n; i++) {
		const struct model_wait *w = &m->waits[i];
		const struct model_row *r = &m->rows[w->row];
		struct row key = { .comm_id = r->comm_id, .ustack = r->ustack, .kstack = r->kstack, .kind_id = r->kind_id,
				   .reason = r->reason };
		struct row *row;

		if ((p->job->waits && !p->job->waits[i]) || r->parked != (p->job->view == EXPORT_GOROUTINES))
			continue;
		key.pid = w->thread ? m->threads[w->thread].pid : m->ops[w->op].pid;
		if (parts.parents && tower_of(p, &parts, w, &key.tower) < 0)
			return -ENOMEM;
		if (row_at(p, &key, &row) < 0)
			return -ENOMEM;
		row->count++;
		row->blocked_ns += (uint64_t)w->blocked_ns;
		row->runnable_ns += (uint64_t)w->runnable_ns;
	}
	return 0;
}

/* ---- locations ---- */

static int function_at(struct profile *p, const char *name, const char *file, uint32_t *ret)
{
	struct text *t = &p->function_bytes;
	uint32_t name_id, file_id;
	bool is_new;
	size_t at;

	if (strtab_intern(p->strings, name, &name_id) < 0 || strtab_intern(p->strings, file, &file_id) < 0 ||
	    pairs_intern(&p->functions, name_id, file_id, ret, &is_new) < 0)
		return -ENOMEM;
	if (!is_new)
		return 0;
	at = proto_begin(t, PROFILE_FUNCTION);
	proto_uint(t, FUNCTION_ID, *ret);
	proto_uint(t, FUNCTION_NAME, name_id);
	proto_uint(t, FUNCTION_SYSTEM_NAME, name_id);
	if (file_id)
		proto_uint(t, FUNCTION_FILE, file_id);
	proto_end(t, at);
	return 0;
}

/* One more function of a location: its key grows, and *t gets the message. */
static int line_add(struct profile *p, const char *name, const char *file, uint32_t line, uint32_t *chain,
		    struct text *t)
{
	uint32_t function, key;
	size_t at;

	if (function_at(p, name, file, &function) < 0 || pairs_intern(&p->lines, function, line, &key, NULL) < 0 ||
	    pairs_intern(&p->chains, *chain, key, chain, NULL) < 0)
		return -ENOMEM;
	at = proto_begin(t, LOCATION_LINE);
	proto_uint(t, LINE_FUNCTION, function);
	if (line)
		proto_uint(t, LINE_NUMBER, line);
	proto_end(t, at);
	return 0;
}

static int location_put(struct profile *p, uint32_t module, uint64_t address, uint32_t chain, const struct text *lines,
			uint32_t *ret)
{
	struct text *t = &p->location_bytes;
	uint32_t place;
	bool is_new;
	size_t at;

	if (pairs_intern(&p->addresses, (uint32_t)(address >> 32), (uint32_t)address, &place, NULL) < 0 ||
	    pairs_intern(&p->places, module, place, &place, NULL) < 0 ||
	    pairs_intern(&p->locations, place, chain, ret, &is_new) < 0 || text_error(lines) < 0)
		return -ENOMEM;
	if (!is_new)
		return 0;
	at = proto_begin(t, PROFILE_LOCATION);
	proto_uint(t, LOCATION_ID, *ret);
	if (module) {
		struct module_use *use = &p->modules[module];

		proto_uint(t, LOCATION_MAPPING, module);
		use->limit = address + 1 > use->limit ? address + 1 : use->limit;
		use->named |= lines->n > 0;
	}
	if (address)
		proto_uint(t, LOCATION_ADDRESS, address);
	text_append_n(t, text_str(lines), lines->n);
	proto_end(t, at);
	return 0;
}

/* A word instead of a frame. */
static int word_location(struct profile *p, const char *word, uint32_t *ret)
{
	_cleanup_(text_done) struct text lines = { 0 };
	uint32_t chain = 0;

	if (line_add(p, word, "", 0, &chain, &lines) < 0)
		return -ENOMEM;
	return location_put(p, 0, 0, chain, &lines, ret);
}

/* Entry i of a stack and those that it is inlined into; *ret_next is the entry behind them. */
static int frame_location(struct profile *p, uint32_t stack, size_t i, size_t *ret_next, uint32_t *ret)
{
	_cleanup_(text_done) struct text lines = { 0 };
	const struct model_frame *f, *first = model_stack_entry_frame(p->m, stack, i);
	const struct strtab *s = p->m->strings;
	uint32_t module = first->module < p->m->module_n ? first->module : 0, chain = 0;

	do {
		f = model_stack_entry_frame(p->m, stack, i++);
		if (f->name_id &&
		    line_add(p, strtab_str(s, f->name_id), strtab_str(s, f->file_id), f->line, &chain, &lines) < 0)
			return -ENOMEM;
	} while (f->inlined && model_stack_entry_frame(p->m, stack, i));
	*ret_next = i;
	/* What is neither named nor in a file would have nothing to be shown by. */
	if (!chain && !module && line_add(p, "[unknown]", "", 0, &chain, &lines) < 0)
		return -ENOMEM;
	return location_put(p, module, first->address, chain, &lines, ret);
}

static int stack_append(struct profile *p, uint32_t stack)
{
	size_t n = model_stack_entry_n(p->m, stack), next;
	uint32_t location;

	for (size_t i = 0; i < n; i = next) {
		if (model_stack_entry_frame(p->m, stack, i)) {
			if (frame_location(p, stack, i, &next, &location) < 0)
				return -ENOMEM;
		} else {
			_cleanup_(text_done) struct text word = { 0 };

			next = i + 1;
			model_stack_entry_append(&word, p->m, stack, i, ENTRY_EXACT);
			if (text_error(&word) < 0 || word_location(p, text_str(&word), &location) < 0)
				return -ENOMEM;
		}
		proto_varint(&p->sample, location);
	}
	return 0;
}

/* ---- the file ---- */

static int label_append(struct profile *p, const char *key, const char *value)
{
	size_t at = proto_begin(&p->sample, SAMPLE_LABEL);
	int err = string_field(p, &p->sample, LABEL_KEY, key);

	if (!err)
		err = string_field(p, &p->sample, LABEL_STRING, value);
	proto_end(&p->sample, at);
	return err;
}

static int row_write(struct profile *p, const struct row *r)
{
	struct text *t = &p->sample;
	const struct strtab *s = p->m->strings;
	size_t sample = proto_begin(t, PROFILE_SAMPLE), at = proto_begin(t, SAMPLE_LOCATION);
	uint32_t location;

	if (stack_append(p, r->kstack) < 0 || stack_append(p, r->ustack) < 0)
		return -ENOMEM;
	for (uint32_t tower = r->tower; tower; tower = p->floors[tower - 1].below) {
		if (word_location(p, strtab_str(p->strings, p->floors[tower - 1].word), &location) < 0)
			return -ENOMEM;
		proto_varint(t, location);
	}
	if (!r->kstack && !r->ustack && !r->tower) {
		if (word_location(p, "[no stack]", &location) < 0)
			return -ENOMEM;
		proto_varint(t, location);
	}
	proto_end(t, at);
	at = proto_begin(t, SAMPLE_VALUE);
	proto_varint(t, r->count);
	proto_varint(t, r->blocked_ns);
	proto_varint(t, r->runnable_ns);
	proto_end(t, at);
	if (label_append(p, "thread", strtab_str(s, r->comm_id)) < 0 ||
	    label_append(p, "reason", wait_reason_name(r->reason)) < 0 ||
	    (r->kind_id && label_append(p, "kind", strtab_str(s, r->kind_id)) < 0))
		return -ENOMEM;
	if (r->pid) {
		at = proto_begin(t, SAMPLE_LABEL);
		if (string_field(p, t, LABEL_KEY, "pid") < 0)
			return -ENOMEM;
		proto_uint(t, LABEL_NUMBER, r->pid);
		proto_end(t, at);
	}
	proto_end(t, sample);
	return out(p, t);
}

static int type_append(struct profile *p, const char *type, const char *unit)
{
	size_t at = proto_begin(&p->sample, PROFILE_SAMPLE_TYPE);
	int err = string_field(p, &p->sample, VALUE_TYPE, type);

	if (!err)
		err = string_field(p, &p->sample, VALUE_UNIT, unit);
	proto_end(&p->sample, at);
	return err;
}

/* pprof takes the first mapping for the program: libraries and what is no file come behind. */
static int mapping_rank(const char *path)
{
	if (path[0] == '[' || path[0] == '\0' || strncmp(path, "//", 2) == 0)
		return 2;
	return strstr(path, ".so") ? 1 : 0;
}

static int mapping_write(struct profile *p, uint32_t module)
{
	const struct model_module *o = &p->m->modules[module];
	struct text *t = &p->sample;
	size_t at = proto_begin(t, PROFILE_MAPPING);

	/* Addresses count from the file's start, as if it had been mapped there. */
	proto_uint(t, MAPPING_ID, module);
	proto_uint(t, MAPPING_LIMIT, p->modules[module].limit);
	if (string_field(p, t, MAPPING_FILE, strtab_str(p->m->strings, o->path_id)) < 0 ||
	    string_field(p, t, MAPPING_BUILD_ID, strtab_str(p->m->strings, o->build_id_id)) < 0)
		return -ENOMEM;
	proto_uint(t, MAPPING_HAS_FUNCTIONS, p->modules[module].named);
	proto_end(t, at);
	return out(p, t);
}

static int mappings_write(struct profile *p)
{
	for (int rank = 0; rank < 3; rank++) {
		for (uint32_t i = 1; i < p->m->module_n; i++) {
			int err;

			if (!p->modules[i].limit ||
			    mapping_rank(strtab_str(p->m->strings, p->m->modules[i].path_id)) != rank)
				continue;
			err = mapping_write(p, i);
			if (err)
				return err;
		}
	}
	return 0;
}

static int strings_write(struct profile *p)
{
	for (uint32_t i = 0; i < strtab_n(p->strings); i++) {
		int err;

		proto_string(&p->sample, PROFILE_STRING, strtab_str(p->strings, i));
		err = out(p, &p->sample);
		if (err)
			return err;
	}
	return 0;
}

static int tail_write(struct profile *p)
{
	struct text *t = &p->sample;

	proto_int(t, PROFILE_TIME_NS, p->m->epoch_unix_ns);
	proto_int(t, PROFILE_DURATION_NS, p->m->end_ns);
	if (string_field(p, t, PROFILE_COMMENT, p->job->name ? p->job->name : "wcbpf") < 0 ||
	    string_field(p, t, PROFILE_DEFAULT_TYPE, "offcpu") < 0)
		return -ENOMEM;
	return out(p, t);
}

int export_pprof_write(const struct export_job *job, json_sink sink, void *arg, struct export_told *told)
{
	_cleanup_(profile_done) struct profile p = { .job = job, .m = job->m, .sink = sink, .arg = arg };
	int err;

	p.modules = calloc(p.m->module_n, sizeof(*p.modules));
	if (!p.modules || strtab_new(&p.strings) < 0 || rows_make(&p) < 0)
		return -ENOMEM;
	if (!p.row_n && job->view == EXPORT_GOROUTINES)
		return -ENODATA;
	if (type_append(&p, "waits", "count") < 0 || type_append(&p, "offcpu", "nanoseconds") < 0 ||
	    type_append(&p, "runnable", "nanoseconds") < 0)
		return -ENOMEM;
	err = out(&p, &p.sample);
	for (size_t i = 0; i < p.row_n && !err; i++) {
		told->value_ns += p.rows[i].blocked_ns;
		err = row_write(&p, &p.rows[i]);
	}
	if (!err)
		err = mappings_write(&p);
	if (!err)
		err = out(&p, &p.location_bytes);
	if (!err)
		err = out(&p, &p.function_bytes);
	if (!err)
		err = tail_write(&p);
	/* Last: all others add to them. */
	return err ? err : strings_write(&p);
}
