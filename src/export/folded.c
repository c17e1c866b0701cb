/* SPDX-License-Identifier: (LGPL-2.1 OR BSD-2-Clause) */
/*
 * "outermost;...;innermost NANOSECONDS", the format of FlameGraph's collapsed
 * stacks: names escaped as in the files of a recording (wcbpf-output(5)), the
 * values not rounded, so that they sum to what the recording has.
 */
#include <errno.h>
#include <inttypes.h>

#include "export/flame.h"
#include "export/formats.h"
#include "util/cleanup.h"
#include "util/text.h"

/* The line of a node. path has room for the deepest one. */
static void line_append(struct text *t, const struct flame *f, uint32_t node, uint32_t *path)
{
	uint32_t n = 0;

	for (uint32_t i = node; i; i = f->nodes[i].parent)
		path[n++] = i;
	while (n--) {
		text_append(t, flame_text(f, path[n]));
		text_append(t, n ? ";" : " ");
	}
	text_appendf(t, "%" PRIu64 "\n", f->nodes[node].self_ns);
}

int export_folded_write(const struct export_job *job, json_sink sink, void *arg, struct export_told *told)
{
	_cleanup_(flame_done) struct flame f = { 0 };
	_cleanup_(text_done) struct text line = { 0 };
	_cleanup_(freep) uint32_t *path = NULL;
	int err = flame_make(job, false, &f, told);

	if (err)
		return err;
	path = calloc((size_t)f.depth_max + 1, sizeof(*path));
	if (!path)
		return -ENOMEM;
	for (uint32_t node = flame_next(&f, 0); node; node = flame_next(&f, node)) {
		if (!f.nodes[node].self_ns)
			continue;
		text_clear(&line);
		line_append(&line, &f, node, path);
		err = text_error(&line);
		if (!err)
			err = sink(arg, text_str(&line), line.n);
		if (err)
			return err;
		told->line_n++;
	}
	return 0;
}
