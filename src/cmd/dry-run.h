/* SPDX-License-Identifier: (LGPL-2.1 OR BSD-2-Clause) */
#pragma once
#include "cmd/options.h"
#include "cmd/target.h"

/* Prints what would be probed. target NULL: of command. Gives the exit code. */
int dry_run(const struct capture_config *c, const struct target *target, char *const *command);
