/* SPDX-License-Identifier: (LGPL-2.1 OR BSD-2-Clause) */
/*
 * A message is put together first and written with one write(2), so that lines
 * of wcbpf and of a workload on the same terminal don't mix. Messages quote
 * names from outside; control characters in them could move a terminal's
 * cursor or forge a second line, so they are shown as '?'.
 */
#include "util/log.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

static enum log_level level_max = LOG_WARNING;

void log_set_level(enum log_level level)
{
	level_max = level;
}

enum log_level log_level(void)
{
	return level_max;
}

static __attribute__((format(printf, 2, 0))) void log_line(enum log_level level, const char *fmt, va_list args)
{
	static const char prefix[] = "wcbpf: ", cut[] = "...";
	char line[4096];
	size_t at = sizeof(prefix) - 1, room = sizeof(line) - at - 1;
	ssize_t written;
	int n;

	if (level > level_max)
		return;
	memcpy(line, prefix, at);
	n = vsnprintf(line + at, room, fmt, args);
	if (n < 0)
		return;
	if ((size_t)n >= room) {
		n = (int)room - 1;
		memcpy(line + at + n - (sizeof(cut) - 1), cut, sizeof(cut) - 1);
	}
	for (char *c = line + at; c < line + at + n; c++)
		if ((unsigned char)*c < 0x20 || *c == 0x7f)
			*c = '?';
	line[at + n] = '\n';
	/* There is nobody left to tell that stderr is closed. */
	written = write(STDERR_FILENO, line, at + n + 1);
	(void)written;
}

#define DEFINE_LOG(name, level)               \
	void name(const char *fmt, ...)       \
	{                                     \
		va_list args;                 \
                                              \
		va_start(args, fmt);          \
		log_line(level, fmt, args);   \
		va_end(args);                 \
	}

DEFINE_LOG(log_error, LOG_ERROR)
DEFINE_LOG(log_warning, LOG_WARNING)
DEFINE_LOG(log_info, LOG_INFO)
DEFINE_LOG(log_debug, LOG_DEBUG)
