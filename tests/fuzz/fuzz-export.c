/* SPDX-License-Identifier: (LGPL-2.1 OR BSD-2-Clause) */
/* Every file for other programs, and every picture, of a dump that its reader lets pass. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

#include "dump/dump.h"
#include "export/export.h"
#include "input.h"
#include "replay/replay.h"

static int nowhere(void *arg, const char *bytes, size_t n)
{
	size_t *sum = arg;

	*sum += n + (n ? (unsigned char)bytes[n - 1] & 0 : 0);
	return 0;
}

/* Without -1 as a time: stretches lie in the recording and follow each other. */
static struct export_stretch *path_make(const struct model *m, size_t *ret_n)
{
	struct replay_stretch *found = NULL;
	struct export_stretch *path = NULL;
	struct replay *r = NULL;
	size_t n = 0;

	if (replay_new(m, NULL, &r) < 0)
		return NULL;
	if (replay_path(r, &found, &n) == 0)
		path = calloc(n + 1, sizeof(*path));
	for (size_t i = 0; path && i < n; i++)
		path[i] = (struct export_stretch){ .start_ns = found[i].start_ns, .end_ns = found[i].end_ns,
						   .thread = found[i].thread, .op = found[i].op, .wait = found[i].wait,
						   .state = (uint8_t)(i % 4), .jumped = found[i].jumped };
	*ret_n = path ? n : 0;
	free(found);
	replay_free(r);
	return path;
}

static void write_one(const struct export_format *f, struct export_job *job, enum export_view view)
{
	struct export_told told = { 0 };
	size_t sum = 0;
	int err;

	job->view = view;
	err = export_write(f, job, nowhere, &sum, &told);
	if (err && err != -ENODATA) {
		fprintf(stderr, "%s of view %s: %d\n", f->name ? f->name : "a picture", export_view_name(view), err);
		abort();
	}
}

static void write_all(const struct model *m)
{
	struct export_job job = { .m = m, .name = "</script>\"&", .version = "1", .idle_too = true };
	struct export_stretch *path = path_make(m, &job.path_n);

	job.path = path;
	for (const struct export_format *f = export_formats; f->name; f++)
		write_one(f, &job, EXPORT_OFFCPU);
	for (int view = 0; view < EXPORT_VIEW_MAX; view++) {
		write_one(export_format_find("folded"), &job, (enum export_view)view);
		write_one(&export_flamegraph, &job, (enum export_view)view);
	}
	write_one(&export_timeline, &job, EXPORT_OFFCPU);
	free(path);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
	struct dump_problem problem = { 0 };
	struct dump_facts facts = { 0 };
	struct model *m = NULL;
	struct input x;

	input_init(&x, data, n);
	if (dump_read_merged(x.paths, x.n, &m, &facts, &problem) == 0) {
		write_all(m);
		model_free(m);
		dump_facts_done(&facts);
	}
	input_done(&x);
	return 0;
}
