/* SPDX-License-Identifier: (LGPL-2.1 OR BSD-2-Clause) */
/*
 * The registry. A new format is a row here, a file of its own, a line in meson.build, and in its test a reader that is
 * not ours.
 */
#include "export/export.h"

#include <string.h>

#include "export/formats.h"
#include "export/gzip.h"
#include "util/cleanup.h"

const struct export_format export_formats[] = {
	{"perfetto", "trace.pftrace", "a trace for ui.perfetto.dev: states of threads, ops, wakes, stacks", true, false,
	 true, export_perfetto_write},
	{"firefox", "profile.json.gz", "a profile for profiler.firefox.com and scripts for samply's profiles", true, true,
	 false, export_firefox_write},
	{"pprof", "profile.pb.gz", "a profile for go tool pprof: waits, time off the CPU, time in the run queue", true, true,
	 false, export_pprof_write},
	{"folded", "out.folded", "stacks for flamegraph.pl, speedscope, inferno", false, false, false,
	 export_folded_write},
	{"otlp", "trace.otlp.json", "ops as OpenTelemetry spans, OTLP in JSON; waits are links", false, false,
	 false, export_otlp_write},
	{0},
};

const struct export_format export_flamegraph = {
	"flamegraph", "flamegraph.svg", "an SVG picture", false, false, false, export_flamegraph_write,
};
const struct export_format export_timeline = {
	"timeline", "timeline.html", "an HTML page", false, false, true, export_timeline_write,
};

const struct export_format *export_format_find(const char *name)
{
	for (const struct export_format *f = export_formats; f->name; f++)
		if (strcmp(f->name, name) == 0)
			return f;
	return NULL;
}

static const struct {
	const char *name, *about;
} views[EXPORT_VIEW_MAX] = {
	[EXPORT_OFFCPU] = {"offcpu", "blocked time"},
	[EXPORT_OFFWAKE] = {"offwake", "blocked time, by who waited and who ended it"},
	[EXPORT_WALL] = {"wall", "all threads' lifetimes"},
	[EXPORT_PATH] = {"path", "critical path"},
	[EXPORT_GOROUTINES] = {"goroutines", "time that goroutines were parked"},
};

const char *export_view_name(enum export_view view)
{
	return (unsigned)view < EXPORT_VIEW_MAX ? views[view].name : NULL;
}

const char *export_view_about(enum export_view view)
{
	return (unsigned)view < EXPORT_VIEW_MAX ? views[view].about : NULL;
}

int export_write(const struct export_format *f, const struct export_job *job, json_sink sink, void *arg,
		 struct export_told *ret_told)
{
	_cleanup_(gzip_freep) struct gzip *g = NULL;
	struct export_told told = { 0 };
	int err = 0;

	if (f->gzip)
		err = gzip_new(sink, arg, &g);
	if (!err)
		err = g ? f->write(job, gzip_write, g, &told) : f->write(job, sink, arg, &told);
	if (!err && g)
		err = gzip_end(g);
	*ret_told = told;
	return err;
}
