/* SPDX-License-Identifier: (LGPL-2.1 OR BSD-2-Clause) */
#pragma once
/* The critical path of a scenario, as points. Private to replay/. */
#include "replay/e1.h"

/* Points first to last of one strand are on it. */
struct path_leg {
	uint32_t strand;
	size_t first, last; /* of all points */
	bool jumped;	    /* it came from another strand: from the token of `first`, or of the strand's beginning */
	bool whole;	    /* all of `first` is on it; else only what follows its token */
	double slack;	    /* by how much `first` would have come earlier without the token; at a beginning infinite */
};
struct path {
	struct path_leg *legs; /* in time order */
	size_t n, cap;
	int64_t begin_ns;      /* where the first leg's strand began */
};

/* d: with times and sources of the same weights. 0, -ENOMEM. */
int path_find(const struct replay *r, const struct weights *w, const struct e1_detail *d, struct path *ret);
void path_done(struct path *p);
/* How long a point of EITHER waited; times: by point, of an e1_detail. */
double point_given_up_ns(const struct replay *r, const double *times, size_t i, bool no_runqueue);
/* Time on it by tag, under the weights, of which times are; tag_ns: r->tag_n zeros. */
void path_tags(const struct replay *r, const struct path *p, const struct weights *w, const double *times,
	       double *tag_ns);
