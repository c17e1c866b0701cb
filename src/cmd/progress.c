/* SPDX-License-Identifier: (LGPL-2.1 OR BSD-2-Clause) */
/* One write(2) a drawing, so that it doesn't tear the output of others on the same terminal. */
#include "cmd/progress.h"

#include <stdio.h>
#include <unistd.h>

#include "cmd/wording.h"
#include "util/log.h"

#define PERIOD_NS 1000000000ull
#define LINE_START "\r\033[K"

void progress_init(struct progress *p, bool workload)
{
	*p = (struct progress){
		.on = log_level() >= LOG_WARNING && isatty(STDERR_FILENO) && !(workload && isatty(STDOUT_FILENO)),
	};
}

bool progress_due(const struct progress *p, uint64_t now_ns)
{
	return p->on && now_ns - p->drawn_ns >= PERIOD_NS;
}

static void bytes_write(const char *bytes, int n)
{
	ssize_t written = write(STDERR_FILENO, bytes, (size_t)n);

	(void)written; /* a terminal that is gone needs no status */
}

void progress_draw(struct progress *p, const struct capture_status *status, uint64_t elapsed_ns, uint64_t now_ns)
{
	char line[240];
	int n = snprintf(line, sizeof(line), LINE_START "%s  %s  %s  lost %s%s  Ctrl-C ends it",
			 wording_duration(elapsed_ns).text, wording_counted(status->intervals, "interval", NULL).text,
			 wording_counted(status->threads, "thread", NULL).text,
			 wording_count(status->lost).text, status->cap_reached ? "  dump full, totals go on" : "");

	p->drawn = true;
	p->drawn_ns = now_ns;
	if (n > 0)
		bytes_write(line, n < (int)sizeof(line) ? n : (int)sizeof(line) - 1);
}

void progress_clear(struct progress *p)
{
	if (p->drawn)
		bytes_write(LINE_START, sizeof(LINE_START) - 1);
	p->drawn = false;
}
