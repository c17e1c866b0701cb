/* SPDX-License-Identifier: (LGPL-2.1 OR BSD-2-Clause) */
#pragma once
/* What reading a dump keeps besides the model, and its three stages. Private to dump/. */
#include "dump/dump.h"
#include "dump/fields.h"
#include "dump/ids.h"
#include "dump/lines.h"
#include "dump/rows.h"
#include "model/model.h"
#include "util/map.h"

/*
 * The longest recording, more than a year. Later times are those of damage, and so many that their sums don't fit are
 * not to be had from what is left.
 */
#define READER_NS_MAX (INT64_C(1) << 55)

/* References as the dump has them, until all that they may mean has been read. By index of the model's vector. */
struct wait_refs {
	uint64_t op, target;
	uint32_t waker_op; /* 0: none, or beyond 32 bits, as no recording of ours has them */
	uint32_t pid, tid, waker_pid, waker_tid, waker_comm;
	uint32_t goid, waker_goid; /* of goids */
};
struct sample_refs {
	uint32_t pid, tid;
	int64_t begin_ns;
};
struct link_refs {
	uint64_t from, to;
};

/* What strings mean where they stand for a word: enums of the model, 0 where they are none. */
struct string_words {
	uint8_t outcome, ctx, owner_unknown;
};

struct reader {
	struct model *m;
	struct dump_problem problem;
	uint32_t *strings; /* string id of the model by id of the dump */
	struct string_words *words; /* by id of the dump */
	size_t string_n;
	bool merged; /* several dumps of one run */
	bool apart; /* reads some lines for another reader, whose strings and words these are, and adds no string */
	bool end_known; /* m->end_ns is the dump's time; until all is read: last_ns may be later */
	int64_t last_ns; /* latest end of an event */
	uint64_t announced_n; /* the header's event_count */
	bool has_announced;
	uint64_t line_n;      /* events that came */
	uint64_t bad_string_n; /* string ids outside the table */
	uint64_t early_n;      /* events that begin before the recording did */
	uint64_t same_id_n;    /* ended ops with the id of another one that is not the same */
	struct ids op_ids, stack_ids, module_ids;
	uint64_t *op_parents;
	size_t op_parent_cap;
	struct wait_refs *wait_refs;
	size_t wait_ref_cap;
	struct link_refs *link_refs;
	size_t link_ref_cap;
	struct sample_refs *sample_refs;
	size_t sample_ref_cap;
	uint64_t *span_refs; /* op ids */
	size_t span_ref_cap;
	uint64_t *goids; /* of waits, each once; 0 is 0 */
	size_t goid_n, goid_cap;
	struct map *goid_indexes;
	uint64_t *thread_ops;
	size_t thread_op_cap;
	/* Until resolved: stacks are sids, comm_id UINT32_MAX is "the thread's name". A wait's row is an index here. */
	struct rows rows;
};

void reader_done(struct reader *r);
/*
 * One line. 0, -ENOMEM; -EBADMSG: a bad one, for which *ret_why is static; of a reader apart also what
 * reader_event() gives. The second counts a bad line and tells of the first one: 0, -ENOMEM.
 */
int reader_line(struct reader *r, const struct line *l, struct fields *f, const char **ret_why);
int reader_line_all(struct reader *r, const struct line *l, size_t number, struct fields *f);
void reader_bad_line(struct reader *r, size_t number, const char *why);
/* The first complaint stays. */
void reader_complain(struct reader *r, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
/* The model's string for an id of the dump; one outside the table is none, and counted. */
uint32_t reader_string(struct reader *r, uint64_t id);
/* The number under which a goroutine is kept in wait_refs. 0, -ENOMEM. */
int reader_goid(struct reader *r, uint64_t goid, uint32_t *ret);
/* An op, ended or open, under its id in the dump. 0, -ENOMEM. */
int reader_op_add(struct reader *r, const struct model_op *op, uint64_t parent_id);

/* header.c: line 1; facts may be filled in part on failure. 0, -EINVAL (complained), -ENOMEM. */
int reader_header(struct reader *r, const char *line, size_t n, struct dump_facts *facts);
/*
 * event.c: any other line. 0, -EBADMSG with *ret_why static, -ENOMEM. Of a reader apart also -EAGAIN: the reader of all
 * must read it, -ENOTSUP: and what is beside it.
 */
int reader_event(struct reader *r, const struct fields *f, const char **ret_why);
/* header.c: what a header says of its place among the dumps of a run. 0, -EINVAL (complained), -ENOMEM. */
int reader_header_times(struct reader *r, const char *line, size_t n, int64_t *ret_epoch_unix_ns,
			int64_t *ret_dumped_unix_ns);
/*
 * merge.c: of what several dumps told, each once. last_sample_first: where the samples of the last dump begin.
 * Before reader_resolve(). 0, -ENOMEM.
 */
int reader_merge(struct reader *r, size_t last_sample_first);
/* resolve.c: ids to indexes, rows, threads, processes. 0, -ENOMEM. */
int reader_resolve(struct reader *r);
