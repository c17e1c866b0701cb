/* SPDX-License-Identifier: (LGPL-2.1 OR BSD-2-Clause) */
/*
 * predict DUMP [EXPR...]
 *
 * What the engines say of a recording, as JSON lines: first of the whole, then
 * of each what-if. Without EXPR: also the classes with most time on the
 * critical path.
 */
#include <stdio.h>
#include <string.h>

#include "dump/dump.h"
#include "replay/replay.h"

static int whole_print(const struct replay *r)
{
	struct replay_facts f;
	int64_t wcprof_ns;
	int e = replay_wcprof_ns(r, &wcprof_ns);

	if (e < 0)
		return e;
	replay_facts(r, &f);
	printf("{\"makespan_ns\":%ld,\"e1_ns\":%ld,\"e2_ns\":%ld,\"wcprof_ns\":%ld,\"cpus\":%u,\"strands\":%u,"
	       "\"points\":%zu,\"waits\":%lu,\"unknown_wakers\":%lu,\"holds\":%lu,\"inferred_holds\":%lu,\"forced\":%lu,"
	       "\"missing\":[",
	       (long)f.makespan_ns, (long)f.e1_ns, (long)f.e2_ns, (long)wcprof_ns, f.cpu_n, f.strand_n, f.point_n,
	       (unsigned long)f.wait_n, (unsigned long)f.unknown_waker_n, (unsigned long)f.hold_n,
	       (unsigned long)f.inferred_hold_n, (unsigned long)f.forced_n);
	for (unsigned bit = 1, n = 0; bit <= REPLAY_OPEN; bit <<= 1) {
		if (f.missing & bit)
			printf("%s\"%s\"", n++ ? "," : "", replay_missing_text(bit));
	}
	puts("]}");
	return 0;
}

static void classes_print(const struct replay *r, const struct model *m)
{
	static const char *const kinds[] = { "op", "fn", "thread", "program", "resource", "lock" };

	for (size_t i = 0, shown = 0; i < replay_class_n(r); i++) {
		const struct replay_class *c = replay_class(r, i);

		if (i && c->kind != replay_class(r, i - 1)->kind)
			shown = 0;
		if (shown++ >= 12 || !(c->cpu_ns + c->delay_ns))
			continue;
		printf("%-9s %-40s cpu %9.3f ms delay %9.3f ms; path cpu %9.3f delay %9.3f  n %lu\n", kinds[c->kind],
		       c->name_id ? strtab_str(m->strings, c->name_id) : strtab_str(m->strings, c->kind_id),
		       (double)c->cpu_ns / 1e6, (double)c->delay_ns / 1e6, (double)c->path_cpu_ns / 1e6,
		       (double)c->path_delay_ns / 1e6, (unsigned long)c->count);
	}
}

static int change_print(const struct replay *r, const char *expr)
{
	struct replay_scenario s = { 0 };
	struct replay_outcome o;
	char *error = NULL;
	int e = replay_parse(r, expr, &s, &error);

	if (e == 0)
		e = replay_evaluate(r, &s, 1, REPLAY_E1 | REPLAY_E2 | REPLAY_WCPROF, &o);
	replay_scenario_done(&s);
	if (e < 0) {
		fprintf(stderr, "predict: %s: %s\n", expr, error ? error : strerror(-e));
		free(error);
		return e;
	}
	printf("{\"expr\":\"%s\",\"e1_ns\":%ld,\"e2_ns\":%ld,\"wcprof_ns\":%ld,\"best_ns\":%ld,\"low_ns\":%ld,"
	       "\"high_ns\":%ld,\"grade\":\"%c\",\"why\":[",
	       expr, (long)o.e1_ns, (long)o.e2_ns, (long)o.wcprof_ns, (long)o.best_ns, (long)o.low_ns, (long)o.high_ns,
	       o.grade);
	for (uint32_t left = o.why; left; left &= left - 1)
		printf("%s\"%s\"", left == o.why ? "" : ",", replay_why_text((enum replay_grade_why)(left & -left)));
	puts("]}");
	return 0;
}

int main(int argc, char **argv)
{
	struct dump_problem problem = { 0 };
	struct replay *r = NULL;
	struct model *m = NULL;
	int e;

	if (argc < 2) {
		fputs("usage: predict DUMP [EXPR...]\n", stderr);
		return 2;
	}
	e = dump_read(argv[1], &m, &problem);
	if (e == 0)
		e = replay_new(m, NULL, &r);
	if (e < 0) {
		fprintf(stderr, "predict: %s: %s %s\n", argv[1], strerror(-e), problem.message);
		return 2;
	}
	e = whole_print(r);
	if (argc == 2)
		classes_print(r, m);
	for (int i = 2; i < argc && e == 0; i++)
		e = change_print(r, argv[i]);
	replay_free(r);
	model_free(m);
	return e < 0 ? 2 : 0;
}
