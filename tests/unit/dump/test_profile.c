/* SPDX-License-Identifier: (LGPL-2.1 OR BSD-2-Clause) */
/* Profiles as samply saves them: the numbers of one, what versions of the format differ in, and damage. */
#include <criterion/criterion.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <zlib.h>

#include "dump/dump.h"

/* Two threads of a process; what stands for %s is the tables of a thread, or of all. */
static const char tables[] =
	"\"stringArray\":[\"0x100\",\"0x10\",\"sys_read\",\"a\",\"b\",\"k\"],"
	"\"resourceTable\":{\"length\":3,\"lib\":[0,1,2],\"name\":[3,4,5]},"
	"\"funcTable\":{\"length\":3,\"name\":[0,1,2],\"resource\":[0,1,2]},"
	"\"frameTable\":{\"length\":3,\"address\":[256,16,7],\"func\":[0,1,2]},"
	"\"stackTable\":{\"length\":3,\"frame\":[0,1,2],\"prefix\":[null,0,1]}";
static const char head[] =
	"{\"meta\":{\"product\":\"prog\",\"interval\":2,\"startTime\":1000,"
	"\"sampleUnits\":{\"threadCPUDelta\":\"%s\"}},"
	"\"libs\":[{\"name\":\"prog\",\"path\":\"/bin/prog\",\"codeId\":\"AB12\"},"
	"{\"name\":\"libc.so.6\",\"path\":\"/lib/libc.so.6\"},"
	"{\"name\":\"[kernel.kallsyms]\",\"path\":\"\"}]%s,\"threads\":[%s]}";
static const char thread[] =
	"{\"name\":\"%s\",\"processName\":\"prog\",\"pid\":%s,\"tid\":\"%d\",\"registerTime\":1,"
	"\"unregisterTime\":21%s,"
	"\"samples\":{\"stack\":[0,2,1],\"weight\":[1,1,5],%s,\"threadCPUDelta\":[%s]}}";

static char *profile_make(const char *unit, bool shared, const char *times, const char *deltas)
{
	char *one, *two, *both, *all, *own, *common;

	cr_assert(asprintf(&own, shared ? "%s" : ",%s", shared ? "" : tables) >= 0);
	cr_assert(asprintf(&common, shared ? ",\"shared\":{%s}" : "%s", shared ? tables : "") >= 0);
	cr_assert(asprintf(&one, thread, "main", "\"300\"", 300, own, times, deltas) >= 0);
	cr_assert(asprintf(&two, thread, "aide", "\"300.1\"", 301, own, times, deltas) >= 0);
	cr_assert(asprintf(&both, "%s,%s", one, two) >= 0);
	cr_assert(asprintf(&all, head, unit, common, both) >= 0);
	free(own);
	free(common);
	free(one);
	free(two);
	free(both);
	return all;
}

static int profile_read(const char *text, size_t n, bool gzip, struct model **ret, struct dump_facts *facts)
{
	char path[] = "/tmp/wcbpf-profile-XXXXXX";
	struct dump_problem problem = { 0 };
	int fd = mkstemp(path), e;

	cr_assert(fd >= 0);
	if (gzip) {
		gzFile gz = gzdopen(fd, "w");

		cr_assert(gz && gzwrite(gz, text, (unsigned)n) == (int)n && gzclose(gz) == Z_OK);
	} else {
		cr_assert(write(fd, text, n) == (ssize_t)n);
		close(fd);
	}
	cr_assert(n < 7 || strncmp(text, "{\"meta\"", 7) != 0 || dump_is_profile(path));
	e = dump_read_profile(path, ret, facts, &problem);
	cr_assert(e != -EINVAL || problem.message[0]);
	unlink(path);
	return e;
}

static void frame_check(const struct model *m, const struct model_frame *f, const char *path, uint64_t address,
			const char *name)
{
	cr_assert(strcmp(strtab_str(m->strings, m->modules[f->module].path_id), path) == 0);
	cr_assert(f->address == address && strcmp(strtab_str(m->strings, f->name_id), name) == 0);
}

static void model_check(const struct model *m)
{
	const struct model_thread *t = &m->threads[1];

	cr_assert(m->thread_n == 3 && m->process_n == 2 && m->sample_n == 5 && m->wait_n == 3);
	cr_assert(m->epoch_unix_ns == 1000000000 && m->sample_hz == 500);
	/* 1.5 and 0.5 ms on the CPU; the third sample has none: 5 x 2 ms before 19 ms, off it. */
	cr_assert(t->pid == 300 && t->tid == 300 && t->begin_ns == 1000000 && t->end_ns == 21000000 && t->has_totals);
	cr_assert(t->oncpu_ns == 2000000 && t->blocked_ns == 10000000 && t->lost_ns == 8000000 && t->sample_n == 2);
	cr_assert(m->waits[1].start_ns == 9000000 && m->waits[1].end_ns == 19000000 && m->waits[1].thread == 1);
	cr_assert(m->samples[1].ns == 1500000 && m->samples[2].ns == 500000 && m->samples[2].count == 1);
	/* Stack 2: the kernel's frame, called by libc's, called by the program's. */
	cr_assert(m->stacks[m->samples[2].kstack].frame_n == 1 && m->stacks[m->samples[2].ustack].frame_n == 2);
	frame_check(m, &m->stacks[m->samples[2].kstack].frames[0], "[kernel]", 7, "sys_read");
	frame_check(m, &m->stacks[m->samples[2].ustack].frames[0], "/lib/libc.so.6", 16, "");
	frame_check(m, &m->stacks[m->samples[2].ustack].frames[1], "/bin/prog", 256, "");
	cr_assert(strcmp(strtab_str(m->strings, m->modules[1].build_id_id), "AB12") == 0);
	cr_assert(m->ops[m->threads[2].op].parent == m->processes[1].op && m->threads[2].process == 1);
	cr_assert(m->sample_time_n == 4 && m->sample_times[0].at_ns == 3000000);
}

Test(profile, the_numbers_of_one)
{
	static const char *const times[] = { "\"time\":[3,5.5,19]", "\"timeDeltas\":[3,2.5,13.5]" };

	for (int i = 0; i < 8; i++) {
		char *text = profile_make(i & 1 ? "ns" : "\xc2\xb5s", i & 2, times[i >> 2],
					  i & 1 ? "1500000,500000,0" : "1500,500,null");
		struct dump_facts facts = { 0 };
		struct model *m;

		cr_assert(profile_read(text, strlen(text), i & 1, &m, &facts) == 0);
		cr_assert(strcmp(facts.target, "prog") == 0 && !facts.is_wcbpf);
		model_check(m);
		dump_facts_done(&facts);
		model_free(m);
		free(text);
	}
}

/* Of 20 ms of life. What was measured, on the CPU, stands; what is off it is shorter, or life is longer. */
Test(profile, more_time_than_there_is)
{
	static const struct {
		const char *deltas;
		uint64_t oncpu_ns, blocked_ns, life_ns;
	} cases[] = {
		{ "12000,3000,null", 15000000, 5000000, 20000000 },
		{ "19000,1000,null", 20000000, 0, 20000000 },
		{ "22000,500,null", 22500000, 0, 22500000 },
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		char *text = profile_make("us", false, "\"time\":[3,5.5,19]", cases[i].deltas);
		struct dump_facts facts = { 0 };
		struct model *m;

		cr_assert(profile_read(text, strlen(text), false, &m, &facts) == 0);
		for (size_t t = 1; t < m->thread_n; t++) {
			const struct model_thread *x = &m->threads[t];

			cr_assert(x->has_totals && x->oncpu_ns == cases[i].oncpu_ns && x->lost_ns == 0);
			cr_assert(x->blocked_ns == cases[i].blocked_ns, "%lu", x->blocked_ns);
			cr_assert((uint64_t)(x->end_ns - x->begin_ns) == cases[i].life_ns);
			cr_assert(m->ops[x->op].end_ns == x->end_ns && m->end_ns >= x->end_ns);
		}
		for (size_t k = 1; k < m->wait_n; k++)
			cr_assert(m->waits[k].end_ns == 19000000 &&
				  m->waits[k].end_ns - m->waits[k].start_ns == (int64_t)cases[i].blocked_ns);
		dump_facts_done(&facts);
		model_free(m);
		free(text);
	}
}

/* Cut anywhere, any byte another: read or refused, never more than that. ASan sees the rest. */
Test(profile, damage_is_survived)
{
	char *text = profile_make("ns", false, "\"time\":[3,5.5,19]", "1500000,500000,0");
	size_t n = strlen(text);
	uint64_t x = 88172645463325252ull;

	for (int i = 0; i < 3000; i++) {
		char *copy = strdup(text);
		struct dump_facts facts = { 0 };
		struct model *m = NULL;
		size_t length = n;

		x ^= x << 13;
		x ^= x >> 7;
		x ^= x << 17;
		if (i % 4 == 0)
			length = x % n;
		else
			copy[x % n] = "0123456789-{}[],:\"en\xff"[(x >> 32) % 21];
		if (profile_read(copy, length, false, &m, &facts) == 0)
			cr_assert(m->thread_n >= 1);
		dump_facts_done(&facts);
		model_free(m);
		free(copy);
	}
	free(text);
}

Test(profile, a_dump_is_none)
{
	char path[] = "/tmp/wcbpf-profile-XXXXXX";
	int fd = mkstemp(path);
	static const char text[] = "{\"schema_version\":1,\"meta\":{}}\n";

	cr_assert(fd >= 0 && write(fd, text, sizeof(text) - 1) > 0);
	cr_assert(!dump_is_profile(path) && !dump_is_profile("/nosuch"));
	close(fd);
	unlink(path);
}
