/* SPDX-License-Identifier: (LGPL-2.1 OR BSD-2-Clause) */
#pragma once
/* What time belongs to, each combination once. Private to replay/. */
#include "replay/draft.h"
#include "util/map.h"

struct tags {
	struct replay *r;
	struct map *tag_hashes, *op_keys, *strand_keys;
};

int tags_init(struct tags *t, struct replay *r); /* 0, -ENOMEM */
void tags_done(struct tags *t);
/* The tag that equals key in all that is no sum. 0, -ENOMEM. */
int tags_intern(struct tags *t, const struct tag *key, uint32_t *ret);
/* By kind and class of an op; class_id is the thread's name where it has no class. 0, -ENOMEM. */
int tags_op_key(struct tags *t, uint8_t kind, uint32_t class_id, uint32_t *ret);
int tags_strand_key(struct tags *t, const struct strand *s, uint32_t *ret);
