/* SPDX-License-Identifier: (LGPL-2.1 OR BSD-2-Clause) */
#pragma once
/* Choke points by their numbers, and the texts and words that they make of values. */
#include "assemble/state.h"

struct point {
	struct assemble_point p; /* everything in it owned */
	struct point *replaced;	 /* that had the number before: open calls may be its */
	uint32_t number;
	bool acts_at_exit; /* KEY, SPAN, BEGIN, END: there, not at the entry */
	bool late_only;	   /* `only` needs values of the exit */
	bool keeps_entry;  /* values of the entry are needed at the exit */
};

/* NULL: never set. */
const struct point *assemble_point_at(const struct assemble *a, uint32_t number);
void assemble_points_free(struct assemble *a);

/* A value of a hit; bytes are the event's. */
struct value {
	const uint8_t *bytes;
	uint32_t total;
	uint16_t len;
	uint8_t type;
	bool error;
};
struct values {
	struct value v[WCBPF_FETCHES_MAX];
	uint32_t n;
};
/* What a point's texts are made of; NULL: not there (yet). */
struct hit_values {
	const struct values *entry, *exit;
};
/* 0, -EBADMSG. */
int assemble_values_read(const struct wcbpf_op *e, struct values *ret);
/* A copy that outlives the event; free() it. 0, -ENOMEM. */
int assemble_values_keep(const struct values *v, struct values **ret);

bool assemble_text_is_late(const struct assemble_text *t); /* needs values of the exit */
/* Into a->text. 0, -ENOMEM. */
int assemble_text_make(struct assemble *a, const struct assemble_text *t, const struct hit_values *v);
/* As a string of the model, up to a NUL. 0, -ENOMEM. */
int assemble_text_intern(struct assemble *a, const struct assemble_text *t, const struct hit_values *v, uint32_t *ret);
/* False, *ret untouched: there are none, or none holds. */
bool assemble_choice_find(const struct assemble_choices *c, const struct hit_values *v, uint8_t *ret);
