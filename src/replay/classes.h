/* SPDX-License-Identifier: (LGPL-2.1 OR BSD-2-Clause) */
#pragma once
/* Tags grouped to what users name: ops, functions, threads, programs, resources, locks. Private to replay/. */
#include "replay/emit.h"

/* Makes r->classes and r->shares of r->tags and the samples in them. The samples' hits are sorted. 0, -ENOMEM. */
int classes_make(struct replay *r, struct emit_samples *samples);
/* Adds up time on the critical path: by tag, computing and delays. Then sorts the classes. */
void classes_path(struct replay *r, const double *tag_ns);
