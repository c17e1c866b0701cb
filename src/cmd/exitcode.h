/* SPDX-License-Identifier: (LGPL-2.1 OR BSD-2-Clause) */
#pragma once
/* The exit code of record and attach; man/wcbpf-record.1, EXIT STATUS, says the same in words. */
#include <stdbool.h>

struct exitcode_facts {
	bool attach;	    /* the workload, if any, was a timer: its status counts for nothing */
	int start_error;    /* the workload could not be started: its -errno, else 0 */
	bool failed;	    /* capture or files failed, or --strict and something was lost */
	bool has_status;
	int status;	    /* of the workload, as wait(2) gives it */
	int left_on_signal; /* wcbpf didn't wait for the workload: the second signal's number, else 0 */
};
int exitcode(const struct exitcode_facts *f);
/* What a shell would show of a status of wait(2): 0..255. */
int exitcode_of_status(int status);
