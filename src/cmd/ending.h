/* SPDX-License-Identifier: (LGPL-2.1 OR BSD-2-Clause) */
#pragma once
/* The few lines on stderr when a recording has ended. */
#include <stdbool.h>
#include <stdint.h>

#include "model/model.h"

struct ending {
	const struct model *model;
	const char *what;     /* the command or the target */
	const char *reason;   /* why it ended, NULL: by the end of what */
	const char *options;  /* as given */
	const char *no_rows_reason; /* told when nothing blocked */
	bool files_failed;    /* some file could not be written, which has been said */
	bool color;
	const char *out_path;
	bool has_status;
	int status;	      /* of the workload */
	bool waits;	      /* the workload runs on and is waited for */
	int workload_pid;
};
/* Silenced by -q. */
void ending_print(const struct ending *e);
