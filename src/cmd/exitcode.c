/* SPDX-License-Identifier: (LGPL-2.1 OR BSD-2-Clause) */
/* A pure function of a few facts, so that the whole table can be tested. */
#include "cmd/exitcode.h"

#include <errno.h>
#include <sys/wait.h>

#include "cmd/cmd.h"

int exitcode_of_status(int status)
{
	return WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
}

int exitcode(const struct exitcode_facts *f)
{
	int workload = 0;

	if (f->start_error)
		return f->start_error == -ENOENT ? EXIT_NOT_FOUND : EXIT_CANNOT_RUN;
	if (f->has_status && !f->attach)
		workload = exitcode_of_status(f->status);
	if (workload)
		return workload;
	if (f->failed)
		return EXIT_OWN_FAILURE;
	return f->left_on_signal ? 128 + f->left_on_signal : 0;
}
