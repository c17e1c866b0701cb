/* SPDX-License-Identifier: (LGPL-2.1 OR BSD-2-Clause) */
/* Apart from the rest, so that tests can link everything else. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "cmd/cmd.h"
#include "util/log.h"

int main(int argc, char **argv)
{
	int code = cmd_main(argc, argv);

	/* Results that did not get out are no success; a reader that had enough is (EPIPE ends us by its signal). */
	if ((fflush(stdout) != 0 || ferror(stdout)) && code == 0) {
		log_error("writing to stdout: %s", strerror(errno));
		return EXIT_FAILURE;
	}
	return code;
}
