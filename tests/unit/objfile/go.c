/* SPDX-License-Identifier: (LGPL-2.1 OR BSD-2-Clause) */
#include "go.h"

#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>

const char *go_program(const char *name)
{
	static char paths[4][512];
	static unsigned int next;
	char *path = paths[next++ % 4], command[1200];
	const char *folder = getenv("WCBPF_GO_PROGRAMS");
	int status;

	if (!folder)
		folder = WCBPF_BUILD_ROOT "/go-programs";
	snprintf(command, sizeof(command), "%s/tests/lib/go-programs %s >&2", WCBPF_SOURCE_ROOT, folder);
	status = system(command);
	if (WIFEXITED(status) && WEXITSTATUS(status) == 77)
		cr_skip_test("there is no Go compiler: not tested at all (install golang-go)");
	cr_assert_eq(status, 0, "%s", command);
	snprintf(path, sizeof(paths[0]), "%s/%s", folder, name);
	return path;
}
