/* SPDX-License-Identifier: (LGPL-2.1 OR BSD-2-Clause) */
#pragma once
/* What libFuzzer makes up, as files for readers that take paths. */
#include <stddef.h>
#include <stdint.h>

/* A line of its own that lies between the files of one input. */
#define INPUT_BETWEEN "\n=\n"
enum { INPUT_FILES_MAX = 4 };

struct input {
	int fds[INPUT_FILES_MAX];
	char names[INPUT_FILES_MAX][32];
	const char *paths[INPUT_FILES_MAX]; /* names */
	size_t n; /* at least one */
};

/* Aborts if there is no memory: that is no finding. */
void input_init(struct input *x, const uint8_t *data, size_t n);
void input_done(struct input *x);

/* What every target defines. */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n);
