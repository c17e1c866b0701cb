/* SPDX-License-Identifier: (LGPL-2.1 OR BSD-2-Clause) */
/*
 * A dump is millions of lines like {"e":"wait","p":7,"s":1,"d":2}. Building a
 * tree for each costs more than all the rest of reading, so such lines are
 * scanned in place. The scanner takes only what it is sure of; at the first
 * doubt (an escape, a fraction, a slip) json-c judges the whole line. Lines of
 * one sort have like keys in like order: it looks first whether the key is the
 * one that came behind the last key before.
 */
#include "dump/fields.h"

#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "util/jsonc.h"
#include "util/vec.h"

enum field_type { WORD, U64, U32, I64, I32, ARRAY };

_Static_assert(F_MAX <= 128, "present is a 128-bit set");

static const struct field_row {
	const char *key;
	uint8_t len, type;
	bool standard; /* a wrong type is damage; in an addition it's another producer's key of that name */
	char text[FIELDS_SLACK]; /* as it is in a line: "key": */
} rows[F_MAX] = {
#define STANDARD(key, type) { key, sizeof(key) - 1, type, true, "\"" key "\":" }
#define ADDED(key, type) { key, sizeof(key) - 1, type, false, "\"" key "\":" }
	[F_E] = STANDARD("e", WORD),
	[F_K] = STANDARD("k", WORD),
	[F_W] = STANDARD("w", WORD),
	[F_O] = STANDARD("o", WORD),
	[F_RS] = STANDARD("rs", WORD),
	[F_LK] = STANDARD("lk", WORD),
	[F_TR] = STANDARD("tr", WORD),
	[F_SP] = STANDARD("sp", WORD),
	[F_ID] = STANDARD("id", U64),
	[F_P] = STANDARD("p", U64),
	[F_T] = STANDARD("t", U64),
	[F_R] = STANDARD("r", U64),
	[F_C] = STANDARD("c", U32),
	[F_I] = STANDARD("i", U32),
	[F_CL] = STANDARD("cl", U32),
	[F_M] = STANDARD("m", U32),
	[F_S] = STANDARD("s", I64),
	[F_D] = STANDARD("d", I64),
	[F_PID] = ADDED("pid", U32),
	[F_TID] = ADDED("tid", U32),
	[F_EXIT_STATUS] = ADDED("exit_status", I32),
	[F_UNWOUND] = ADDED("unwound", U32),
	[F_CLIPPED] = ADDED("clipped", U32),
	[F_WAIT_KIND] = ADDED("wait_kind", U32),
	[F_OUTCOME] = ADDED("outcome", U32),
	[F_WAKE_NS] = ADDED("wake_ns", I64),
	[F_BLOCKED_NS] = ADDED("blocked_ns", I64),
	[F_RUNNABLE_NS] = ADDED("runnable_ns", I64),
	[F_ONCPU_NS] = ADDED("oncpu_ns", I64),
	[F_WAKER_PID] = ADDED("waker_pid", U32),
	[F_WAKER_TID] = ADDED("waker_tid", U32),
	[F_WAKER_COMM] = ADDED("waker_comm", U32),
	[F_WAKER_CTX] = ADDED("waker_ctx", U32),
	[F_OWNER_TID] = ADDED("owner_tid", U32),
	[F_OWNER_UNKNOWN] = ADDED("owner_unknown", U32),
	[F_TIMEOUT_NS] = ADDED("timeout_ns", I64),
	[F_FUTEX_VAL] = ADDED("futex_val", U32),
	[F_SYSCALL] = ADDED("syscall", I32),
	[F_FUTEX_OP] = ADDED("futex_op", U32),
	[F_KSTACK] = ADDED("kstack", U32),
	[F_USTACK] = ADDED("ustack", U32),
	[F_THREAD_NAME] = ADDED("thread_name", U32),
	[F_TASK_STATE] = ADDED("task_state", U32),
	[F_SID] = ADDED("sid", U32),
	[F_SIDE] = ADDED("side", WORD),
	[F_ENDED] = ADDED("ended", WORD),
	[F_FRAMES] = ADDED("frames", ARRAY),
	[F_MID] = ADDED("mid", U32),
	[F_PATH] = ADDED("path", WORD),
	[F_BUILD_ID] = ADDED("build_id", WORD),
	[F_BIAS] = ADDED("bias", U64),
	[F_COMM] = ADDED("comm", WORD),
	[F_OP] = ADDED("op", U64),
	[F_BEGIN_NS] = ADDED("begin_ns", I64),
	[F_END_NS] = ADDED("end_ns", I64),
	[F_LOST_NS] = ADDED("lost_ns", I64),
	[F_INTERVALS] = ADDED("intervals", U32),
	[F_LOST] = ADDED("lost", U32),
	[F_BELOW_MIN] = ADDED("below_min", U32),
	[F_VOLUNTARY] = ADDED("voluntary", U32),
	[F_INVOLUNTARY] = ADDED("involuntary", U32),
	[F_SAMPLES] = ADDED("samples", U64),
	[F_GOID] = ADDED("goid", U64),
	[F_PARENT_GOID] = ADDED("parent_goid", U64),
	[F_WAKER_GOID] = ADDED("waker_goid", U64),
	[F_WAKER_OP] = ADDED("waker_op", U64),
	[F_PARKED] = ADDED("parked", U32),
	[F_CPU_FROM] = ADDED("cpu_from", U32),
	[F_CPU_TO] = ADDED("cpu_to", U32),
	[F_CPUS_ALLOWED] = ADDED("cpus_allowed", U32),
	[F_AT] = ADDED("at", ARRAY),
	[F_WAKER_STACK] = ADDED("waker_stack", U32),
	[F_LEFT_OUT_NS] = ADDED("left_out_ns", I64),
};

/* hint: where to look first; keys of like lines come in like order. F_MAX if the key is unknown. */
static unsigned field_find(const char *key, size_t len, unsigned hint)
{
	for (unsigned i = 0; i < F_MAX; i++) {
		unsigned at = hint + i < F_MAX ? hint + i : hint + i - F_MAX;

		if (rows[at].len == len && memcmp(rows[at].key, key, len) == 0)
			return at;
	}
	for (unsigned i = 0; i < F_MAX; i++) {
		if (rows[i].len == len && strncasecmp(rows[i].key, key, len) == 0)
			return i;
	}
	return F_MAX;
}

static int wrong_type(struct fields *f, unsigned field)
{
	if (!rows[field].standard)
		return 0;
	f->why = "a key has a value of the wrong type";
	return -EBADMSG;
}

static void field_mark(struct fields *f, unsigned field)
{
	f->present[field / 64] |= UINT64_C(1) << field % 64;
}

static int word_set(struct fields *f, unsigned field, const char *word)
{
	if (rows[field].type != WORD)
		return wrong_type(f, field);
	f->word[field] = word;
	field_mark(f, field);
	return 0;
}

/* The value is magnitude, or its negative. */
static int number_set(struct fields *f, unsigned field, bool negative, uint64_t magnitude)
{
	static const uint64_t positive_max[] = { [U64] = UINT64_MAX, [U32] = UINT32_MAX, [I64] = INT64_MAX,
						 [I32] = INT32_MAX };
	static const uint64_t negative_max[] = { [U64] = 0, [U32] = 0, [I64] = (uint64_t)INT64_MAX + 1,
						 [I32] = (uint64_t)INT32_MAX + 1 };
	uint8_t type = rows[field].type;

	if (type == WORD || type == ARRAY || magnitude > (negative ? negative_max[type] : positive_max[type]))
		return wrong_type(f, field);
	f->number[field] = negative ? -magnitude : magnitude;
	field_mark(f, field);
	return 0;
}

static inline char *blanks_skip(char *p)
{
	while (*p == ' ' || *p == '\t' || *p == '\r' || *p == '\n')
		p++;
	return p;
}

/* A string without escapes, p behind its opening quote: its end, or NULL. */
static inline char *plain_string_end(char *p)
{
	while ((unsigned char)*p >= 0x20 && *p != '"' && *p != '\\')
		p++;
	return *p == '"' ? p : NULL;
}

/* An integer that fits 64 bits: behind its end, or NULL. */
static inline char *plain_number(char *p, bool *ret_negative, uint64_t *ret)
{
	enum { DIGITS_SURE = 19 };
	uint64_t v = 0;
	char *start;

	*ret_negative = *p == '-';
	p += *ret_negative;
	start = p;
	while ((unsigned)(*p - '0') <= 9 && p - start < DIGITS_SURE)
		v = v * 10 + (unsigned)(*p++ - '0');
	while ((unsigned)(*p - '0') <= 9) {
		if (__builtin_mul_overflow(v, 10, &v) || __builtin_add_overflow(v, (uint64_t)(*p - '0'), &v))
			return NULL;
		p++;
	}
	if (p == start || (*start == '0' && p - start > 1) || *p == '.' || *p == 'e' || *p == 'E')
		return NULL;
	*ret = v;
	return p;
}

enum quick { QUICK_OK, QUICK_UNSURE, QUICK_BAD, QUICK_NOMEM };

/* Integers up to a closing bracket, p behind the opening one: behind it, or NULL; *ret_full: for want of memory. */
static char *integers_scan(struct fields *f, char *p, bool *ret_full)
{
	for (p = blanks_skip(p); *p != ']';) {
		bool negative;

		if (VEC_RESERVE(f->integers, f->integer_cap, f->integer_n + 1) < 0) {
			*ret_full = true;
			return NULL;
		}
		p = plain_number(p, &negative, &f->integers[f->integer_n]);
		if (!p || negative)
			return NULL;
		f->integer_n++;
		p = blanks_skip(p);
		if (*p == ']')
			break;
		if (*p != ',')
			return NULL;
		p = blanks_skip(p + 1);
		if (*p == ']')
			return NULL;
	}
	return p + 1;
}

/* Integers and arrays of them, *p behind the opening bracket. */
static enum quick array_scan(struct fields *f, char **p, unsigned field)
{
	char *at = blanks_skip(*p);
	bool full = false;

	f->item_n = f->integer_n = 0;
	while (*at != ']') {
		struct field_item item = { .first = (uint32_t)f->integer_n, .n = 1, .nested = *at == '[' };
		bool negative;

		if (VEC_RESERVE(f->items, f->item_cap, f->item_n + 1) < 0 ||
		    VEC_RESERVE(f->integers, f->integer_cap, f->integer_n + 1) < 0)
			return QUICK_NOMEM;
		if (item.nested) {
			at = integers_scan(f, at + 1, &full);
		} else {
			at = plain_number(at, &negative, &f->integers[f->integer_n++]);
			at = at && negative ? NULL : at;
		}
		if (!at)
			return full ? QUICK_NOMEM : QUICK_UNSURE;
		item.n = (uint32_t)f->integer_n - item.first;
		f->items[f->item_n++] = item;
		at = blanks_skip(at);
		if (*at == ']')
			break;
		if (*at != ',')
			return QUICK_UNSURE;
		at = blanks_skip(at + 1);
		if (*at == ']')
			return QUICK_UNSURE;
	}
	f->array = NULL;
	field_mark(f, field);
	*p = at + 1;
	return QUICK_OK;
}

/* One value behind its colon; *p moves behind it. Words are cut with a NUL later, when the line is sure to be ours. */
static inline enum quick value_scan(struct fields *f, char **p, unsigned field)
{
	bool negative;
	uint64_t v;
	char *end;

	if (**p == '"') {
		end = plain_string_end(*p + 1);
		if (!end || f->cut_n == F_MAX)
			return QUICK_UNSURE;
		if (field < F_MAX) {
			if (word_set(f, field, *p + 1) < 0)
				return QUICK_BAD;
			f->cuts[f->cut_n++] = end;
		}
		*p = end + 1;
		return QUICK_OK;
	}
	if (**p == '[' && field < F_MAX && rows[field].type == ARRAY) {
		(*p)++;
		return array_scan(f, p, field);
	}
	end = plain_number(*p, &negative, &v);
	if (!end)
		return QUICK_UNSURE;
	if (field < F_MAX && number_set(f, field, negative, v) < 0)
		return QUICK_BAD;
	*p = end;
	return QUICK_OK;
}

/* Does the line go on with this key and its colon? All keys fit into two words. */
static inline bool key_is_next(const char *p, unsigned field)
{
	size_t n = (size_t)rows[field].len + 3;
	uint64_t have[2], want[2], mask[2];

	memcpy(have, p, sizeof(have));
	memcpy(want, rows[field].text, sizeof(want));
	mask[0] = n >= 8 ? UINT64_MAX : (UINT64_C(1) << 8 * n) - 1;
	mask[1] = n >= 16 ? UINT64_MAX : n <= 8 ? 0 : (UINT64_C(1) << 8 * (n - 8)) - 1;
	return !((have[0] ^ want[0]) & mask[0]) && !((have[1] ^ want[1]) & mask[1]);
}

/* The key at *p, which moves behind its colon; guess: what came here in the lines before. Unknown keys are F_MAX. */
static inline enum quick key_scan(char **p, uint8_t *guess, unsigned *ret)
{
	char *key = *p + 1, *end;

	for (unsigned i = 0; i < 2; i++) {
		unsigned field = guess[i];

		if (!key_is_next(*p, field))
			continue;
		if (i) {
			guess[1] = guess[0];
			guess[0] = (uint8_t)field;
		}
		*p += rows[field].len + 3;
		*ret = field;
		return QUICK_OK;
	}
	if (**p != '"')
		return QUICK_UNSURE;
	end = plain_string_end(key);
	if (!end)
		return QUICK_UNSURE;
	*ret = field_find(key, (size_t)(end - key), guess[0]);
	if (*ret < F_MAX) {
		guess[1] = guess[0];
		guess[0] = (uint8_t)*ret;
	}
	end = blanks_skip(end + 1);
	if (*end != ':')
		return QUICK_UNSURE;
	*p = end + 1;
	return QUICK_OK;
}

static enum quick line_scan(struct fields *f, char *line, size_t n)
{
	uint8_t (*guess)[2] = f->guess[0];
	unsigned field, last = F_MAX;
	char *p = blanks_skip(line);

	if (*p++ != '{')
		return QUICK_UNSURE;
	for (;;) {
		enum quick q;

		p = blanks_skip(p);
		q = key_scan(&p, guess[last], &field);
		if (q != QUICK_OK)
			return q;
		p = blanks_skip(p);
		q = value_scan(f, &p, field);
		if (q != QUICK_OK)
			return q;
		/* The sorts of events differ in this by their first letter; were two alike it would only be slower. */
		if (field == F_E)
			guess = f->guess[f->word[F_E][0] & 15];
		last = field;
		p = blanks_skip(p);
		if (*p == '}')
			break;
		if (*p++ != ',')
			return QUICK_UNSURE;
	}
	if (blanks_skip(p + 1) != line + n)
		return QUICK_UNSURE;
	for (size_t i = 0; i < f->cut_n; i++)
		*f->cuts[i] = 0;
	return QUICK_OK;
}

/* json-c makes the nearest of a number that doesn't fit: one that is at the end of all must be so in the line. */
static bool number_fits(struct json_object *value, const char *line)
{
	int64_t v = json_object_get_int64(value);

	if (v == INT64_MIN)
		return strstr(line, "-9223372036854775808");
	return v != INT64_MAX || json_object_get_uint64(value) != UINT64_MAX || strstr(line, "18446744073709551615");
}

static int tree_value_set(struct fields *f, unsigned field, struct json_object *value, const char *line)
{
	int64_t v;

	switch (json_object_get_type(value)) {
	case json_type_null:
		return 0;
	case json_type_string:
		return word_set(f, field, json_object_get_string(value));
	case json_type_int:
		v = json_object_get_int64(value);
		if (!number_fits(value, line))
			return wrong_type(f, field);
		return v < 0 ? number_set(f, field, true, -(uint64_t)v) :
			       number_set(f, field, false, json_object_get_uint64(value));
	case json_type_array:
		if (rows[field].type != ARRAY)
			return wrong_type(f, field);
		f->array = value;
		field_mark(f, field);
		return 0;
	default:
		return wrong_type(f, field);
	}
}

static int line_parse_tree(struct fields *f, const char *line, size_t n)
{
	struct json_tokener *tok;
	enum json_tokener_error e;

	if (n >= INT_MAX) {
		f->why = "the line is too long";
		return -EBADMSG;
	}
	if (memchr(line, 0, n)) {
		f->why = "the line has a NUL byte";
		return -EBADMSG;
	}
	tok = json_tokener_new();
	if (!tok)
		return -ENOMEM;
	json_tokener_set_flags(tok, JSON_TOKENER_STRICT);
	/* With its NUL, so that a number at the end is known to be whole. */
	f->tree = json_tokener_parse_ex(tok, line, (int)n + 1);
	e = json_tokener_get_error(tok);
	f->why = e == json_tokener_success ? NULL :
		 e == json_tokener_continue || e == json_tokener_error_parse_eof ? "the line is cut short" :
		 "the line is no JSON";
	json_tokener_free(tok);
	if (!f->why && !json_object_is_type(f->tree, json_type_object))
		f->why = "the line is no JSON object";
	if (f->why)
		return -EBADMSG;
	json_object_object_foreach(f->tree, key, value) {
		unsigned field = field_find(key, strlen(key), 0);

		if (field < F_MAX && tree_value_set(f, field, value, line) < 0)
			return -EBADMSG;
	}
	return 0;
}

int fields_parse(struct fields *f, char *line, size_t n)
{
	f->present[0] = f->present[1] = 0;
	f->tree = f->array = NULL;
	f->why = NULL;
	f->cut_n = 0;
	line[n] = 0;
	switch (line_scan(f, line, n)) {
	case QUICK_OK:
		return 0;
	case QUICK_BAD:
		f->cut_n = 0;
		return -EBADMSG;
	case QUICK_NOMEM:
		return -ENOMEM;
	default:
		f->present[0] = f->present[1] = 0;
		f->cut_n = 0;
		return line_parse_tree(f, line, n);
	}
}

void fields_done(struct fields *f)
{
	if (f->tree)
		json_object_put(f->tree);
	f->tree = f->array = NULL;
}

void fields_undo(struct fields *f)
{
	while (f->cut_n)
		*f->cuts[--f->cut_n] = '"';
}

void fields_free(struct fields *f)
{
	fields_done(f);
	free(f->items);
	free(f->integers);
}

size_t fields_array_n(const struct fields *f)
{
	return f->array ? json_object_array_length(f->array) : f->item_n;
}

bool fields_array_int(const struct fields *f, size_t i, int64_t *ret)
{
	struct json_object *v;

	if (!f->array) {
		uint64_t u = f->items[i].n ? f->integers[f->items[i].first] : 0;

		*ret = u <= INT64_MAX ? (int64_t)u : INT64_MAX;
		return !f->items[i].nested;
	}
	v = json_object_array_get_idx(f->array, i);
	*ret = json_object_get_int64(v);
	return json_object_is_type(v, json_type_int);
}

bool fields_array_ints(const struct fields *f, size_t i, uint64_t *ret, size_t max, size_t *ret_n)
{
	struct json_object *parts;
	size_t n;

	if (!f->array) {
		const struct field_item *item = &f->items[i];

		n = item->n < max ? item->n : max;
		for (size_t k = 0; k < n; k++)
			ret[k] = f->integers[item->first + k];
		*ret_n = n;
		return item->nested;
	}
	parts = json_object_array_get_idx(f->array, i);
	if (!json_object_is_type(parts, json_type_array))
		return false;
	n = json_object_array_length(parts) < max ? json_object_array_length(parts) : max;
	for (size_t k = 0; k < n; k++) {
		struct json_object *v = json_object_array_get_idx(parts, k);

		if (!json_object_is_type(v, json_type_int))
			return false;
		ret[k] = json_object_get_uint64(v);
	}
	*ret_n = n;
	return true;
}
