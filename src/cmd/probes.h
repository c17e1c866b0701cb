/* SPDX-License-Identifier: (LGPL-2.1 OR BSD-2-Clause) */
#pragma once
/* What would be probed in a process or a file, without touching it: of `probes` and of --dry-run. */
#include <stdio.h>

#include "probe/probe.h"

/* One file of the target and its plan. */
struct probes_file {
	char *path; /* as the target sees it */
	struct objfile *file, *debug;
	struct objfile_go *go;
	struct probe_plan *plan; /* never NULL */
	bool is_program;
};
struct probes_found {
	struct probes_file *files; /* with something to say only */
	size_t file_n, file_cap;
	struct probe_note *missing; /* of the target as a whole */
	size_t missing_n;
};
void probes_found_done(struct probes_found *f);
/* All files that a running process has mapped. -EINVAL with *ret_why, one malloc'd line; -ENOMEM. */
int probes_find_process(const struct probe_set *s, uint32_t pid, struct probes_found *ret, char **ret_why);
/* A program and the libraries that it will map, n paths with the program's first. Likewise. */
int probes_find_files(const struct probe_set *s, const char *const *paths, size_t n, struct probes_found *ret,
		      char **ret_why);

/* Points, sites, expected cost, what can't be and why. */
void probes_print(FILE *f, const struct probes_found *found, bool color);
/* The same as JSON. 0, -errno. target: what -p was given. */
int probes_print_json(FILE *f, const char *target, const struct probes_found *found);
/* "op", "wait", ... */
const char *probes_role_word(enum probe_role role);
