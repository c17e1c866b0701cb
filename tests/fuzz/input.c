/* SPDX-License-Identifier: (LGPL-2.1 OR BSD-2-Clause) */
#include "input.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

static void file_add(struct input *x, const uint8_t *data, size_t n)
{
	int fd = memfd_create("input", MFD_CLOEXEC);

	if (fd < 0 || (n && write(fd, data, n) != (ssize_t)n)) {
		perror("input");
		abort();
	}
	snprintf(x->names[x->n], sizeof(x->names[x->n]), "/proc/self/fd/%d", fd);
	x->paths[x->n] = x->names[x->n];
	x->fds[x->n++] = fd;
}

void input_init(struct input *x, const uint8_t *data, size_t n)
{
	static const size_t between_n = sizeof(INPUT_BETWEEN) - 1;

	x->n = 0;
	while (x->n < INPUT_FILES_MAX - 1) {
		const uint8_t *end = n ? memmem(data, n, INPUT_BETWEEN, between_n) : NULL;

		if (!end)
			break;
		file_add(x, data, (size_t)(end - data) + 1); /* with its newline */
		n -= (size_t)(end - data) + between_n;
		data = end + between_n;
	}
	file_add(x, data, n);
}

void input_done(struct input *x)
{
	for (size_t i = 0; i < x->n; i++)
		close(x->fds[i]);
}
