/* SPDX-License-Identifier: (LGPL-2.1 OR BSD-2-Clause) */
#pragma once
/* One event line taken apart: known keys with checked types. Private to dump/. */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct json_object;

enum field {
	/* the format's own */
	F_E, F_K, F_W, F_O, F_RS, F_LK, F_TR, F_SP,
	F_ID, F_P, F_T, F_R, F_C, F_I, F_CL, F_M, F_S, F_D,
	/* our additions */
	F_PID, F_TID, F_EXIT_STATUS, F_UNWOUND, F_CLIPPED, F_WAIT_KIND, F_OUTCOME, F_WAKE_NS, F_BLOCKED_NS,
	F_RUNNABLE_NS, F_ONCPU_NS, F_WAKER_PID, F_WAKER_TID, F_WAKER_COMM, F_WAKER_CTX, F_OWNER_TID, F_OWNER_UNKNOWN,
	F_TIMEOUT_NS, F_FUTEX_VAL, F_THREAD_NAME, F_TASK_STATE, F_SYSCALL, F_FUTEX_OP, F_KSTACK, F_USTACK,
	F_SID, F_SIDE, F_ENDED, F_FRAMES, F_MID, F_PATH, F_BUILD_ID, F_BIAS,
	F_COMM, F_OP, F_BEGIN_NS, F_END_NS, F_LOST_NS, F_INTERVALS, F_LOST, F_BELOW_MIN, F_VOLUNTARY, F_INVOLUNTARY,
	F_SAMPLES, F_GOID, F_PARENT_GOID, F_WAKER_GOID, F_WAKER_OP, F_PARKED, F_CPU_FROM, F_CPU_TO, F_CPUS_ALLOWED, F_AT,
	F_LEFT_OUT_NS, F_WAKER_STACK,
	F_MAX,
};

/* An element of an array: an integer, or an array of integers. */
struct field_item {
	uint32_t first, n; /* of items; n 1 of an integer */
	bool nested;
};

struct fields {
	uint64_t present[2];	       /* bit by enum field */
	uint64_t number[F_MAX];	       /* numbers; signed ones in two's complement */
	const char *word[F_MAX];       /* strings, NUL-terminated; valid until the line or tree goes */
	struct json_object *array;     /* the last array, owned by tree; NULL: it is in items */
	struct json_object *tree;      /* NULL when the quick way sufficed */
	const char *why;	       /* of a bad line, static */
	char *cuts[F_MAX];	       /* private, as what follows: quotes that became NULs */
	size_t cut_n;
	struct field_item *items;
	size_t item_n, item_cap;
	uint64_t *integers;
	size_t integer_n, integer_cap;
	uint8_t guess[16][F_MAX + 1][2]; /* which keys came behind a key, in lines of one sort */
};

/*
 * Parses a line of n bytes; line[n] must be writable and FIELDS_SLACK bytes from there on readable, the line is written
 * to. Keys match exactly or without regard to case, the last of equal keys counts, null is no value. Any legal JSON is
 * taken; objects of plain words, integers and arrays of them, as dumps have them, take a quick way. f is blank before
 * the first line. 0; -EBADMSG: damaged, or a key of the format has a wrong type (why tells); -ENOMEM. fields_done()
 * after each, fields_free() after the last.
 */
enum { FIELDS_SLACK = 16 };
int fields_parse(struct fields *f, char *line, size_t n);
void fields_done(struct fields *f);
/* Makes the line what it was, so that it can be parsed again; words are no longer valid. */
void fields_undo(struct fields *f);
void fields_free(struct fields *f);

/* Of the array: elements; element i if it is an integer; if it is an array of at most max integers that, else false. */
size_t fields_array_n(const struct fields *f);
bool fields_array_int(const struct fields *f, size_t i, int64_t *ret);
bool fields_array_ints(const struct fields *f, size_t i, uint64_t *ret, size_t max, size_t *ret_n);

static inline bool fields_has(const struct fields *f, enum field i)
{
	return f->present[i / 64] >> (i % 64) & 1;
}
/* 0 and "" if absent. */
static inline uint64_t fields_number(const struct fields *f, enum field i)
{
	return fields_has(f, i) ? f->number[i] : 0;
}
static inline const char *fields_word(const struct fields *f, enum field i)
{
	return fields_has(f, i) ? f->word[i] : "";
}
