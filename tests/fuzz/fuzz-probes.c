/* SPDX-License-Identifier: (LGPL-2.1 OR BSD-2-Clause) */
/* The language of choke-point profiles, and a line of it as -e takes it. */
#include <stdlib.h>
#include <string.h>

#include "input.h"
#include "probe/probe.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
	_cleanup_(probe_set_freep) struct probe_set *s = NULL;
	_cleanup_(freep) char *why = NULL, *why_inline = NULL, *line = calloc(n + 1, 1);

	if (!line || probe_set_new(&s) < 0)
		return 0;
	if (n)
		memcpy(line, data, n);
	/* A refusal has a reason, and leaves nothing. */
	if (probe_set_add_text(s, "input", (const char *)data, n, &why) < 0 && (!why || !probe_set_is_empty(s)))
		abort();
	probe_set_add_inline(s, line, &why_inline);
	probe_set_concerns(s, "/usr/bin/program", true);
	probe_set_wants_go(s);
	return 0;
}
