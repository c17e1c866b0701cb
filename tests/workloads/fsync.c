/* SPDX-License-Identifier: (LGPL-2.1 OR BSD-2-Clause) */
/* fsync FILE [ROUNDS]: writes a block and syncs it, over and over. */
#include "lib.h"

int main(int argc, char **argv)
{
	static char block[65536];
	unsigned int rounds = arg_number(argc, argv, 2, 20);
	int fd;

	truth_begin();
	fd = argc > 1 ? open(argv[1], O_CREAT | O_RDWR | O_TRUNC, 0600) : -1;
	if (fd < 0)
		die("open");
	for (unsigned int i = 0; i < rounds; i++) {
		uint64_t start;

		memset(block, (int)i + 1, sizeof(block));
		if (write(fd, block, sizeof(block)) != sizeof(block))
			die("write");
		start = now_ns();
		if (fsync(fd))
			die("fsync");
		truth_wait("fsync", start, now_ns(), "path=%s", argv[1]);
	}
	unlink(argv[1]);
	truth_end();
	return 0;
}
