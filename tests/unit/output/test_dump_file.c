/* SPDX-License-Identifier: (LGPL-2.1 OR BSD-2-Clause) */
/* wcprof.ndjson(.gz) beside the summary: both must say the same of one recording. */
#include <criterion/criterion.h>
#include <stdio.h>
#include <string.h>

#include "dump/dump.h"
#include "fixture.h"
#include "util/cleanup.h"

static struct model *model_with_losses(void)
{
	struct model *m = fixture_model();
	uint64_t *counters = (uint64_t *)&m->integrity;

	for (size_t i = 0; i < sizeof(m->integrity) / sizeof(*counters); i++)
		counters[i] = 100 + i;
	fixture_row(m, "bench", 0, 0, 3, 4200000);
	return m;
}

/* The first line of a dump, parsed. */
static struct json_object *header_of(const char *dir)
{
	_cleanup_(freep) char *text = fixture_read(dir, "wcprof.ndjson");
	struct json_object *o;

	cr_assert_not_null(text);
	*strchrnul(text, '\n') = '\0';
	o = json_tokener_parse(text);
	cr_assert_not_null(o);
	return o;
}

Test(output_dump_file, header_and_summary_agree)
{
	_cleanup_(model_freep) struct model *m = model_with_losses();
	struct output_facts f = fixture_facts(OUTPUT_TIME);
	char *dir = fixture_mkdtemp();
	_cleanup_(freep) char *out = fixture_output(dir, m, &f);
	struct json_object *header = header_of(out), *summary = fixture_summary(out);
	struct json_object *integrity = fixture_get(header, "wcbpf.integrity");
	static const char *const facts[] = {"version", "host", "kernel", "clock", "target", "options"};
	size_t n = 0;

	json_object_object_foreach(integrity, key, value) {
		_cleanup_(freep) char *path = NULL;

		cr_assert(asprintf(&path, "capture_integrity.%s", key) > 0);
		cr_expect_eq(json_object_get_int64(value), fixture_get_int(summary, path), "%s", key);
		n++;
	}
	/* Every counter, and the number of lost stack traces, and what the header calls dropped. */
	cr_expect_eq(n, sizeof(m->integrity) / sizeof(uint64_t) + 2);
	cr_expect_eq(fixture_get_int(header, "dropped_events"),
		     fixture_get_int(summary, "capture_integrity.dump_dropped_events"));
	for (size_t i = 0; i < sizeof(facts) / sizeof(facts[0]); i++) {
		_cleanup_(freep) char *path = NULL;

		cr_assert(asprintf(&path, "wcbpf.%s", facts[i]) > 0);
		cr_expect_str_eq(fixture_get_string(header, path), fixture_get_string(summary, facts[i]));
	}
	json_object_put(header);
	json_object_put(summary);
	fixture_rmdir(dir);
}

Test(output_dump_file, gzip_reads_back)
{
	_cleanup_(model_freep) struct model *m = model_with_losses(), *back = NULL;
	struct output_facts f = fixture_facts(OUTPUT_TIME);
	char *dir = fixture_mkdtemp();
	_cleanup_(freep) char *out = NULL, *path = NULL;
	struct dump_problem problem;

	f.gzip = true;
	out = fixture_output(dir, m, &f);
	cr_expect(!fixture_exists(out, "wcprof.ndjson"));
	path = fixture_path(out, "wcprof.ndjson.gz");
	cr_assert_eq(dump_read(path, &back, &problem), 0, "%s", problem.message);
	cr_expect_eq(problem.line, 0, "%s", problem.message);
	cr_expect_eq(back->epoch_unix_ns, m->epoch_unix_ns);
	cr_expect_eq(back->end_ns, m->end_ns);
	cr_expect_eq(back->integrity.lost_ring_full, m->integrity.lost_ring_full);
	cr_expect_eq(back->integrity.truncated_stacks, m->integrity.truncated_stacks);
	fixture_rmdir(dir);
}
