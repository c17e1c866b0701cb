/* SPDX-License-Identifier: (LGPL-2.1 OR BSD-2-Clause) */
#pragma once
/*
 * One call of output_write(): what the formats share, so that the capture, the
 * diagnostics and the summary never disagree. A format is one row of the
 * registry in output.c and one function job -> bytes below.
 */
#include "analyze/analyze.h"
#include "output/output.h"
#include "output/tally.h"
#include "util/json.h"
#include "util/text.h"

struct output_job {
	const struct model *m;	      /* NULL: the recording could not run */
	const struct output_facts *f; /* never NULL */
	const char *folder;
	const char *capture, *dump, *diagnostics, *summary; /* names inside the folder */
	struct tally lines; /* the folded lines, in their order; rounded */
	/* Mode wall: what the lines are made of, an entry's row is an index here; in other modes it is one of the model's. */
	struct analyze_piece *pieces;
	size_t piece_n;
	size_t row_n;	      /* what the capture file is made of; 0: it is empty */
	/* How writing went so far: 0 or -errno. */
	int capture_error, dump_error, diagnostics_error;
	bool brief; /* the disk is full: the summary's lists are short, to leave room for the dump */
};

/* At 6 a million waits take longer than the 3 s in which files are to be complete. */
enum { DUMP_GZIP_LEVEL = 3 };

int folded_write(const struct output_job *job, json_sink sink, void *arg);
int stacks_write(const struct output_job *job, json_sink sink, void *arg);
int dump_file_write(const struct output_job *job, json_sink sink, void *arg);
int diagnostics_write(const struct output_job *job, json_sink sink, void *arg);
int summary_write(const struct output_job *job, json_sink sink, void *arg);

/* The folded lines of a model, rounded and sorted. 0, -ENOMEM. */
int folded_tally(const struct model *m, struct tally *ret);
/* Appends a stack's frames, outermost first, each after a ';'. */
void folded_append_stack(struct text *t, const struct model *m, uint32_t stack);
/* The same of mode wall, from analyze_wall()'s pieces. */
int wall_tally(const struct model *m, const struct analyze_piece *pieces, size_t n, struct tally *ret);
/* The word at the end of such a line. */
const char *wall_leaf(enum analyze_state state);
/* Rows of which stacks_write() makes its entries; 0: it will write nothing. */
size_t stacks_row_n(const struct model *m);
