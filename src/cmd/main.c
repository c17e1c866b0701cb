/* SPDX-License-Identifier: (LGPL-2.1 OR BSD-2-Clause) */
/* Apart from the rest, so that tests can link everything else. */
#include <errno.h>
#include <malloc.h>
#include <stdlib.h>
#include <string.h>

#include "cmd/cmd.h"
#include "util/log.h"

/*
 * Left alone, malloc takes ever larger arrays from its heaps after the first large one was freed, where what is freed
 * mostly stays ours: of a large dump that was a fifth of all memory. So large ones are mapped, and go back at once.
 */
enum { MAPPED_BYTES = 4 << 20 };

int main(int argc, char **argv)
{
	int code;

	mallopt(M_MMAP_THRESHOLD, MAPPED_BYTES);
	mallopt(M_TRIM_THRESHOLD, 2 * MAPPED_BYTES);
	code = cmd_main(argc, argv);

	/* Results that did not get out are no success; a reader that had enough is (EPIPE ends us by its signal). */
	if ((fflush(stdout) != 0 || ferror(stdout)) && code == 0) {
		log_error("writing to stdout: %s", strerror(errno));
		return EXIT_FAILURE;
	}
	return code;
}
