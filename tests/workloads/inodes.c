/* SPDX-License-Identifier: (LGPL-2.1 OR BSD-2-Clause) */
/* inodes FOLDER [FILES]: file-0, file-1, ... one after another written, synced, removed: they share an inode number. */
#include <sys/stat.h>

#include "lib.h"

int main(int argc, char **argv)
{
	static char block[65536];
	unsigned int files = arg_number(argc, argv, 2, 6);

	truth_begin();
	if (argc < 2)
		return 2;
	memset(block, 1, sizeof(block));
	for (unsigned int i = 0; i < files; i++) {
		char path[128];
		struct stat st;
		uint64_t start;
		int fd;

		snprintf(path, sizeof(path), "%s/file-%u", argv[1], i);
		fd = open(path, O_CREAT | O_RDWR | O_TRUNC | O_CLOEXEC, 0600);
		if (fd < 0 || write(fd, block, sizeof(block)) != sizeof(block) || fstat(fd, &st))
			die(path);
		start = now_ns();
		if (fsync(fd))
			die("fsync");
		truth_wait("fsync", start, now_ns(), "path=%s", path);
		truth("file number=%u inode=%llu", i, (unsigned long long)st.st_ino);
		close(fd);
		unlink(path);
	}
	truth_end();
	return 0;
}
