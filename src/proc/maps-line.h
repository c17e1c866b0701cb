/* SPDX-License-Identifier: (LGPL-2.1 OR BSD-2-Clause) */
#pragma once
/* One line of /proc/PID/maps. */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct maps_line {
	uint64_t start, end, pgoff, ino;
	uint32_t maj, min;
	bool exec;
	char *name; /* inside the line that was parsed, unescaped, without " (deleted)"; "" if none */
};

/* Parses line (n bytes, no newline, writable, line[n] writable too: it gets a NUL). -EBADMSG. */
int maps_line_parse(char *line, size_t n, struct maps_line *ret);
/* Takes a trailing " (deleted)" off, in place. */
void maps_name_trim(char *name);
