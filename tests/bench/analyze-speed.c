/* SPDX-License-Identifier: (LGPL-2.1 OR BSD-2-Clause) */
/*
 * analyze-speed EVENTS [FILE]
 *
 * How long the engines take for a recording of so many events, and how much
 * memory; with FILE the recording is written there as a dump and read again.
 */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <time.h>

#include "dump/dump.h"
#include "generate.h"
#include "replay/replay.h"
#include "util/cleanup.h"
#include "util/files.h"

static double now_s(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

static double cpu_s(void)
{
	struct rusage u;

	getrusage(RUSAGE_SELF, &u);
	return (double)(u.ru_utime.tv_sec + u.ru_stime.tv_sec) + (double)(u.ru_utime.tv_usec + u.ru_stime.tv_usec) / 1e6;
}

static void step_print(const char *what, double *since_s, double *since_cpu_s)
{
	struct rusage u;

	getrusage(RUSAGE_SELF, &u);
	printf("%-42s %8.2f s %8.2f CPU-s %8ld MB at most\n", what, now_s() - *since_s, cpu_s() - *since_cpu_s, u.ru_maxrss / 1024);
	fflush(stdout);
	*since_s = now_s();
	*since_cpu_s = cpu_s();
}

static int write_and_read(struct model **m, const char *path, double *s, double *cpu)
{
	_cleanup_(files_writer_freep) struct files_writer *w = NULL;
	struct dump_problem problem = { 0 };
	int e = files_writer_new(-100, path, NULL, &w);

	if (e == 0)
		e = dump_write(*m, NULL, NULL, files_writer_write, w);
	if (e == 0)
		e = files_writer_commit(w);
	if (e < 0)
		return e;
	step_print("written", s, cpu);
	*m = model_free(*m);
	e = dump_read(path, m, &problem);
	step_print("read", s, cpu);
	return e;
}

static void answers_time(const struct replay *r, double *s, double *cpu)
{
	_cleanup_(freep) struct replay_stretch *path = NULL;
	_cleanup_(freep) struct replay_blame *blames = NULL;
	struct replay_savings_options o = { .e2_top = 0 };
	struct replay_lock *locks;
	size_t n;

	if (replay_path(r, &path, &n) == 0)
		step_print("critical path", s, cpu);
	if (replay_blames(r, &blames, &n) == 0)
		step_print("blame", s, cpu);
	if (replay_locks(r, &locks, &n) == 0) {
		step_print("locks", s, cpu);
		replay_locks_free(locks, n);
	}
	for (; o.e2_top <= 20; o.e2_top += 20) {
		_cleanup_(freep) struct replay_saving *savings = NULL;

		if (replay_savings(r, &o, &savings, &n) == 0)
			step_print(o.e2_top ? "the same, 20 simulated" : "all classes x 3 factors", s, cpu);
	}
}

int main(int argc, char **argv)
{
	_cleanup_(model_freep) struct model *m = NULL;
	_cleanup_(replay_freep) struct replay *r = NULL;
	double s = now_s(), cpu = cpu_s();
	struct replay_facts f;
	int e;

	if (argc < 2) {
		fputs("usage: analyze-speed EVENTS [FILE]\n", stderr);
		return 2;
	}
	e = generate(strtoul(argv[1], NULL, 10), 1, &m);
	step_print("generated", &s, &cpu);
	if (e == 0 && argc > 2)
		e = write_and_read(&m, argv[2], &s, &cpu);
	if (e == 0)
		e = replay_new(m, NULL, &r);
	if (e < 0) {
		fprintf(stderr, "analyze-speed: %s\n", strerror(-e));
		return 2;
	}
	step_print("compiled, baselines", &s, &cpu);
	replay_facts(r, &f);
	printf("%zu events, %zu points, %zu classes; makespan %.3f s, E1 %+.2f%%, E2 %+.2f%%\n", model_event_n(m), f.point_n,
	       replay_class_n(r), (double)f.makespan_ns / 1e9, 100 * ((double)f.e1_ns / (double)f.makespan_ns - 1),
	       100 * ((double)f.e2_ns / (double)f.makespan_ns - 1));
	answers_time(r, &s, &cpu);
	return 0;
}
