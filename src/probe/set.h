/* SPDX-License-Identifier: (LGPL-2.1 OR BSD-2-Clause) */
#pragma once
/* The definitions that were asked for, and where they came from. */
#include "probe/definition.h"

struct probe_set {
	struct probe_pool *pool;
	struct definition *v;
	size_t n, cap;
	const char **sources; /* profiles that are there already, as they were named */
	size_t source_n, source_cap;
	bool none, go;
};

/* A text that comes with the program. */
struct builtin_text {
	const char *name, *text;
	size_t n;
};
extern const struct builtin_text builtin_texts[]; /* made by embed; by name */
extern const size_t builtin_text_n;

/* profile.c: adds the text's definitions. name: of the profile; s->name: for messages. -EINVAL: told. -ENOMEM. */
int profile_parse(struct source *s, struct probe_set *set, const char *name, const char *text, size_t n);
/* The lines about a profile, without its definitions: about and tried, in the pool; NULL where there are none. */
int profile_head(struct source *s, const char *text, size_t n, const char **ret_about, const char **ret_tried);
/* set.c: adds the built-in profile of that name, unless it is there. -EINVAL: told. -ENOMEM. */
int set_include(struct source *s, struct probe_set *set, const char *name);
/* inline.c: adds the one of -e. */
int inline_parse(struct source *s, struct probe_set *set, const char *text);
