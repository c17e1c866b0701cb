/* SPDX-License-Identifier: (LGPL-2.1 OR BSD-2-Clause) */
#pragma once
/* Plans of compiled fixtures, for what is asked of them here. */
#include "probe/probe.h"

DEFINE_CLEANUP(struct objfile *, objfile_free)
DEFINE_CLEANUP(struct objfile_go *, objfile_go_free)

/* A set with one profile text (or NULL) and one -e (or NULL); fails the test unless they are right. */
struct probe_set *plans_set(const char *profile, const char *inline_text);
/* Its plan of a file, as a program. */
struct probe_plan *plans_resolve(const struct probe_set *s, const char *path);
/* The same with what the process sees it as, and whether it is its program. */
struct probe_plan *plans_resolve_as(const struct probe_set *s, const char *path, const char *seen, bool is_program);
/* Of one -e. *ret_set must outlive the plan. */
struct probe_plan *plans_inline(const char *path, const char *inline_text, struct probe_set **ret_set);
/* The i-th site of that kind. NULL: there are fewer. */
const struct probe_site *plans_site(const struct probe_plan *p, enum wcbpf_site_kind kind, size_t i);
size_t plans_site_n(const struct probe_plan *p, enum wcbpf_site_kind kind);
/* Is there a note that has both texts? */
bool plans_has_note(const struct probe_plan *p, const char *a, const char *b);
/* All notes, a line each; for messages. Valid until the next call. */
const char *plans_notes(const struct probe_plan *p);
