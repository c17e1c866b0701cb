/* SPDX-License-Identifier: (LGPL-2.1 OR BSD-2-Clause) */
/* wcprof.ndjson: the dump itself is dump/'s; here is what its header says of the recording. */
#include "dump/dump.h"
#include "output/endings.h"
#include "output/integrity.h"
#include "output/job.h"
#include "output/points.h"
#include "output/recording.h"

static void write_header(void *arg, struct json *j)
{
	const struct output_job *job = arg;

	recording_write_facts(j, job->f);
	json_kv_uint_nz(j, "cpus", job->m->cpu_n);
	json_kv_uint_nz(j, "sample_hz", job->m->sample_hz);
	points_write_detached(j, job->f);
	json_key(j, "integrity");
	json_begin_object(j);
	integrity_write_counters(j, job->m);
	json_end_object(j);
	endings_write(j, job->m); /* fails for want of memory: then there is none */
}

int dump_file_write(const struct output_job *job, json_sink sink, void *arg)
{
	/* The callback only reads: the cast drops const for its void *. */
	return dump_write_next(job->m, job->f->texts, write_header, (void *)(uintptr_t)job, sink, arg);
}
