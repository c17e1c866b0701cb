/* SPDX-License-Identifier: (LGPL-2.1 OR BSD-2-Clause) */
/* names HEX...: takes each name (bytes in hex, cut by the kernel at 15) in turn and sleeps 50 ms under it. */
#include <sys/prctl.h>

#include "lib.h"

int main(int argc, char **argv)
{
	truth_begin();
	for (int i = 1; i < argc; i++) {
		char name[64] = { 0 }, now[16] = { 0 }, hex[40] = { 0 };
		uint64_t start;

		for (size_t j = 0; argv[i][2 * j] && argv[i][2 * j + 1] && j < sizeof(name) - 1; j++) {
			char digits[3] = { argv[i][2 * j], argv[i][2 * j + 1], 0 };

			name[j] = (char)strtoul(digits, NULL, 16);
		}
		prctl(PR_SET_NAME, name, 0, 0, 0);
		prctl(PR_GET_NAME, now, 0, 0, 0);
		for (size_t j = 0; now[j]; j++)
			snprintf(hex + 2 * j, 3, "%02x", (unsigned char)now[j]);
		start = now_ns();
		usleep(50000);
		truth_wait("sleep", start, now_ns(), "comm=%s", hex);
	}
	truth_end();
	return 0;
}
