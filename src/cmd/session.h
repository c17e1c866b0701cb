/* SPDX-License-Identifier: (LGPL-2.1 OR BSD-2-Clause) */
#pragma once
/* One recording from the folder to the exit code: the one event loop of wcbpf. */
#include <stdbool.h>

#include "cmd/launch.h"
#include "cmd/target.h"

struct session_options {
	const struct capture_config *config;
	const struct target *target; /* NULL: the workload */
	struct launch *launch;	     /* waits to be let go; NULL: no workload; stays the caller's */
	char *const *command;	     /* of the workload, NULL: none; ends with NULL */
	const char *options_text;    /* the command line as given */
	bool attach;
};

/* Records, writes the files, says so on stderr, waits for the workload. Gives the exit code. */
int session_run(const struct session_options *o);
