/* SPDX-License-Identifier: (LGPL-2.1 OR BSD-2-Clause) */
#pragma once
/*
 * Is what -p, -t and -G name there, and can it be recorded? Asked before
 * anything is made or loaded, so that a wrong number costs one line.
 */
#include "cmd/options.h"

struct target {
	enum capture_scope scope;
	uint32_t *ids; /* owned; each once; under -p processes, never threads */
	size_t id_n;
	uint64_t cgroup_id;
	char *text; /* owned: "pid 12,13", "tid 5", "cgroup /sys/fs/cgroup/x", "all" */
	char **notes; /* owned, note_n lines the user should see */
	size_t note_n;
};

/* self: wcbpf's own PID, which is refused. 0; -EINVAL with *ret_why (one malloc'd line); -ENOMEM. */
int target_check(const struct capture_config *c, uint32_t self, struct target *ret, char **ret_why);
void target_done(struct target *t);
