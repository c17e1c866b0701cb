/* SPDX-License-Identifier: (LGPL-2.1 OR BSD-2-Clause) */
/* attach is record with a target that must be given; a command is only its timer. */
#include "cmd/cmd.h"
#include "cmd/record.h"

int cmd_attach(int argc, char **argv)
{
	return record_run(argc, argv, true);
}
