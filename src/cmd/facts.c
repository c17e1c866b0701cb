/* SPDX-License-Identifier: (LGPL-2.1 OR BSD-2-Clause) */
/* Only gathering; how the facts are worded in the files is output/'s business. */
#include "cmd/facts.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>

#include "cmd/wording.h"

void facts_init(struct facts *f, const struct capture_config *c, const char *target, const char *options,
		const char *const *command)
{
	*f = (struct facts){
		.output = {
			.mode = c->mode,
			.version = WCBPF_VERSION,
			.clock = "CLOCK_MONOTONIC",
			.command = command,
			.target = target,
			.options = options,
			.gzip = c->gzip,
			.sample_hz_asked = c->sample_hz,
			.overhead_max = c->overhead_max,
		},
	};
	if (command && !c->keep_args) {
		f->program[0] = command[0];
		f->output.command = f->program;
	}
	if (uname(&f->uts) == 0) {
		snprintf(f->kernel, sizeof(f->kernel), "%s %s", f->uts.release, f->uts.machine);
		f->output.kernel = f->kernel;
		f->output.host = f->uts.nodename;
	}
}

void facts_set_error(struct facts *f, const struct capture_error *e)
{
	if (!e->missing) {
		f->output.failed = e->message;
		f->output.failed_kind = e->kind;
		return;
	}
	f->output.missing = e->message;
	/* The words by which a harness tells a refused privilege, also from a host that can't trace. */
	if (e->kind && strcmp(e->kind, "permission_denied") == 0 && !strstr(e->message, strerror(EPERM))) {
		f->lines[0] = strerror(EPERM);
		f->output.diagnostics = f->lines;
	}
}

static uint64_t cpu_ns(void)
{
	struct rusage u;

	if (getrusage(RUSAGE_SELF, &u) < 0)
		return 0;
	return ((uint64_t)u.ru_utime.tv_sec + (uint64_t)u.ru_stime.tv_sec) * 1000000000ull +
	       ((uint64_t)u.ru_utime.tv_usec + (uint64_t)u.ru_stime.tv_usec) * 1000ull;
}

static void no_rows_word(struct facts *f, const struct model *m)
{
	const struct model_integrity *i = &m->integrity;
	const struct wording attempted = wording_count(i->attempted);

	if (i->attempted == 0 && m->thread_n <= m->goroutine_n + 1)
		snprintf(f->no_rows, sizeof(f->no_rows), "nothing matched: no thread of the target was seen");
	else if (i->attempted == 0)
		snprintf(f->no_rows, sizeof(f->no_rows), "nothing blocked: %s seen, and no interval off the CPU",
			 wording_counted(m->thread_n - m->goroutine_n - 1, "thread", NULL).text);
	else if (i->below_min == i->attempted)
		snprintf(f->no_rows, sizeof(f->no_rows), "nothing matched: all %s intervals were shorter than --min",
			 attempted.text);
	else if (i->below_min + i->out_of_scope == i->attempted)
		snprintf(f->no_rows, sizeof(f->no_rows),
			 "nothing matched: %s of %s intervals were left out %s%s", wording_count(i->out_of_scope).text,
			 attempted.text, wording_left_out(f->output.options),
			 i->below_min ? ", the others were shorter than --min" : "");
	else if (i->recorded == 0)
		snprintf(f->no_rows, sizeof(f->no_rows), "nothing could be read: all %s intervals were lost",
			 attempted.text);
	else
		snprintf(f->no_rows, sizeof(f->no_rows),
			 "nothing blocked: in %s off the CPU every thread was ready to run",
			 wording_counted(i->attempted, "interval", NULL).text);
	f->output.no_rows_reason = f->no_rows;
}

void facts_done(struct facts *f)
{
	free(TAKE_PTR(f->points));
}

/* Without memory there are no numbers. */
static void points_set(struct facts *f, const struct capture *c)
{
	_cleanup_(freep) struct capture_point *all = NULL;
	size_t n = 0;
	int r = capture_points(c, &all, &n);

	if (r == -ENOENT)
		return;
	f->output.has_points = true;
	f->output.point_caveats = capture_caveats(c);
	f->output.point_notes = capture_notes(c);
	capture_point_costs(c, &f->output.hit_ns, &f->output.stepped_hit_ns, &f->output.value_ns);
	f->points = r == 0 ? calloc(n + 1, sizeof(*f->points)) : NULL;
	for (size_t i = 0; f->points && i < n; i++)
		f->points[i] = (struct output_point){
			.name = all[i].name, .file = all[i].path, .entry_n = all[i].entry_n, .exit_n = all[i].exit_n,
			.other_n = all[i].other_n, .stepped_n = all[i].stepped_n, .value_n = all[i].value_n,
			.cost_ns = all[i].cost_ns,
			.detached = all[i].detached_ns >= 0, .detached_ns = all[i].detached_ns};
	f->output.points = f->points;
	f->output.point_n = f->points ? n : 0;
}

void facts_set_capture(struct facts *f, struct capture *c)
{
	f->output.diagnostics = capture_diagnostics(c);
	f->output.tracer_cpu_ns = cpu_ns();
	capture_cost(c, &f->output.bpf_run_n, &f->output.bpf_run_ns);
	capture_sample_cost(c, &f->output.sample_run_n, &f->output.sample_run_ns);
	if (f->output.bpf_run_n)
		f->output.interval_ns_per_run = f->output.bpf_run_ns / f->output.bpf_run_n;
	points_set(f, c);
	no_rows_word(f, capture_model(c));
}

void facts_set_never_on(struct facts *f)
{
	snprintf(f->no_rows, sizeof(f->no_rows), "recording was never switched on (--start-off)");
	f->output.no_rows_reason = f->no_rows;
}
