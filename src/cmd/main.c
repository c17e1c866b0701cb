/* SPDX-License-Identifier: (LGPL-2.1 OR BSD-2-Clause) */
/* Apart from the rest, so that tests can link everything else. */
#include <errno.h>
#include <fcntl.h>
#include <malloc.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cmd/cmd.h"
#include "util/log.h"

/*
 * Left alone, malloc takes ever larger arrays from its heaps after the first large one was freed, where what is freed
 * mostly stays ours: of a large dump that was a fifth of all memory. So large ones are mapped, and go back at once.
 */
enum { MAPPED_BYTES = 4 << 20 };

/*
 * Who closes a standard stream would get the first file that is opened in its place: a report went into the dump's fd and
 * was well. What stands in for it can't be used the way round that the stream is, so a use is the error that it was; and
 * no program that is started has it.
 */
static void streams_hold(void)
{
	static const int flags[] = { O_WRONLY, O_RDONLY, O_RDONLY };

	for (int fd = STDIN_FILENO; fd <= STDERR_FILENO; fd++) {
		if (fcntl(fd, F_GETFD) < 0 && open("/dev/null", flags[fd] | O_CLOEXEC) < 0)
			return;
	}
}

int main(int argc, char **argv)
{
	int code;

	streams_hold();
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
