/* SPDX-License-Identifier: (LGPL-2.1 OR BSD-2-Clause) */
/* Writes to a file and waits until it is on the device, then does something else: FILE ROUNDS. */
#include <fcntl.h>

#include "truth.h"

static TRUTH_FUNCTION void save(int fd, unsigned long i)
{
	char block[4096];

	memset(block, (int)i, sizeof(block));
	truth_check(pwrite(fd, block, sizeof(block), (off_t)(i % 64) * 4096) != sizeof(block) ? errno : 0, "pwrite");
	truth_check(fdatasync(fd) < 0 ? errno : 0, "fdatasync");
}

static TRUTH_FUNCTION void compute(void)
{
	truth_nap(truth_knob("compute", 1000));
}

int main(int argc, char **argv)
{
	int fd;

	truth_begin(argc, argv);
	fd = open(argc > 1 ? argv[1] : "device.dat", O_RDWR | O_CREAT, 0600);
	truth_check(fd < 0 ? errno : 0, "open");
	for (unsigned long i = 0; i < truth_knob("rounds", 40); i++) {
		save(fd, i);
		compute();
	}
	return truth_end();
}
