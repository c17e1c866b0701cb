/* SPDX-License-Identifier: (LGPL-2.1 OR BSD-2-Clause) */
#include <criterion/criterion.h>
#include <errno.h>
#include <signal.h>

#include "cmd/exitcode.h"

/* Statuses as wait(2) encodes them on Linux: code << 8, or the signal, with 0x80 for a core. */
#define EXITED(code) ((code) << 8)

Test(exitcode, table)
{
	static const struct {
		struct exitcode_facts facts;
		int code;
	} cases[] = {
		{{.has_status = true, .status = EXITED(0)}, 0},
		{{.has_status = true, .status = EXITED(7)}, 7},
		{{.has_status = true, .status = EXITED(255)}, 255},
		{{.has_status = true, .status = SIGSEGV | 0x80}, 139},
		{{.has_status = true, .status = SIGKILL}, 137},
		/* our failure shows only when the workload has nothing to say */
		{{.has_status = true, .status = EXITED(0), .failed = true}, 125},
		{{.has_status = true, .status = EXITED(3), .failed = true}, 3},
		{{.has_status = true, .status = SIGTERM, .failed = true}, 143},
		{{.failed = true}, 125},
		{{.start_error = -ENOENT, .failed = true, .has_status = true, .status = EXITED(1)}, 127},
		{{.start_error = -EACCES, .failed = true}, 126},
		{{.start_error = -ENOEXEC, .failed = true}, 126},
		{{.start_error = -EPERM, .failed = true}, 126},
		/* attach: the command was a timer */
		{{.attach = true}, 0},
		{{.attach = true, .has_status = true, .status = EXITED(3)}, 0},
		{{.attach = true, .failed = true, .has_status = true, .status = EXITED(3)}, 125},
		{{.attach = true, .start_error = -ENOENT, .failed = true}, 127},
		/* a second signal: not waited for */
		{{.left_on_signal = SIGINT}, 130},
		{{.left_on_signal = SIGINT, .failed = true}, 125},
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++)
		cr_expect_eq(exitcode(&cases[i].facts), cases[i].code, "case %zu: %d", i, exitcode(&cases[i].facts));
}
