/* SPDX-License-Identifier: (LGPL-2.1 OR BSD-2-Clause) */
/*
 * The timers that sample: one software event (cpu-clock) a CPU, which needs no
 * PMU. They run whatever is on their CPU; which threads count is the program's
 * question. A CPU that goes offline takes its event with it, and one that comes
 * online has none: each gets one anew with each of its turns (online.c).
 */
#include <errno.h>
#include <linux/perf_event.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "capture/internal.h"
#include "util/cleanup.h"

#define RATE_PATH "/proc/sys/kernel/perf_event_max_sample_rate"

struct sampling {
	struct bpf_program *prog;
	uint32_t hz;
	const struct online *online;
	struct bpf_link **links; /* by CPU; NULL: none */
	uint32_t *turns;	 /* by CPU: for which of its turns that is */
	char problem[200];
};

DEFINE_CLEANUP(struct sampling *, sampling_free)

static int timer_open(uint32_t cpu, uint32_t hz)
{
	struct perf_event_attr attr = { .type = PERF_TYPE_SOFTWARE, .config = PERF_COUNT_SW_CPU_CLOCK, .size = sizeof(attr),
					.freq = 1, .sample_freq = hz, .exclude_idle = 1 };
	int fd = syscall(SYS_perf_event_open, &attr, -1, cpu, -1, PERF_FLAG_FD_CLOEXEC);

	return fd < 0 ? -errno : fd;
}

static int cpu_begin(struct sampling *s, uint32_t cpu)
{
	int fd = timer_open(cpu, s->hz), err;

	if (fd < 0)
		return fd;
	s->links[cpu] = bpf_program__attach_perf_event(s->prog, fd);
	if (s->links[cpu]) {
		s->turns[cpu] = online_turn(s->online, cpu);
		return 0;
	}
	err = errno ? -errno : -EINVAL;
	close(fd);
	return err;
}

static void cpu_end(struct sampling *s, uint32_t cpu)
{
	bpf_link__destroy(s->links[cpu]);
	s->links[cpu] = NULL;
	s->turns[cpu] = 0;
}

static bool first_line(const char *path, char *ret, int size)
{
	_cleanup_(fclosep) FILE *f = fopen(path, "re");

	return f && fgets(ret, size, f);
}

/* The kernel allows no more than kernel.perf_event_max_sample_rate, which it lowers itself under load. */
static bool rate_lower(struct sampling *s)
{
	char line[32];
	unsigned long most;

	if (!first_line(RATE_PATH, line, sizeof(line)))
		return false;
	most = strtoul(line, NULL, 10);
	if (!most || most >= s->hz)
		return false;
	snprintf(s->problem, sizeof(s->problem),
		 "threads are sampled %lu times a second, not %u: kernel.perf_event_max_sample_rate allows no more", most,
		 s->hz);
	s->hz = most;
	return true;
}

/* Begins on every CPU there is. The first failure that isn't the CPU's absence, if there is no timer at all. */
static int all_begin(struct sampling *s)
{
	uint32_t begun = 0, failed = 0;
	int first = 0;

	for (uint32_t cpu = 0; cpu < online_cpu_n(s->online); cpu++) {
		int err = online_turn(s->online, cpu) ? cpu_begin(s, cpu) : -ENODEV;

		if (err == -EINVAL && !begun && rate_lower(s))
			err = cpu_begin(s, cpu);
		begun += !err;
		if (err == -ENODEV || !err) /* -ENODEV: offline */
			continue;
		failed++;
		first = first ? first : err;
	}
	if (begun && failed)
		snprintf(s->problem, sizeof(s->problem), "%u of %u CPUs can't be sampled (perf_event_open: error %d)",
			 failed, begun + failed, -first);
	return begun ? 0 : first ? first : -ENODEV;
}

int sampling_new(struct bpf_program *prog, const struct online *online, uint32_t hz, struct sampling **ret)
{
	_cleanup_(sampling_freep) struct sampling *s = calloc(1, sizeof(*s));
	int err;

	if (!s)
		return -ENOMEM;
	s->prog = prog;
	s->hz = hz;
	s->online = online;
	s->links = calloc(online_cpu_n(online), sizeof(struct bpf_link *));
	s->turns = calloc(online_cpu_n(online), sizeof(*s->turns));
	if (!s->links || !s->turns)
		return -ENOMEM;
	err = all_begin(s);
	if (err)
		return err;
	*ret = TAKE_PTR(s);
	return 0;
}

void sampling_refresh(struct sampling *s)
{
	for (uint32_t cpu = 0; cpu < online_cpu_n(s->online); cpu++) {
		uint32_t turn = online_turn(s->online, cpu);

		if (turn == s->turns[cpu])
			continue;
		cpu_end(s, cpu);
		if (turn)
			cpu_begin(s, cpu); /* else on its way up, or gone again: the next look tells */
	}
}

uint32_t sampling_hz(const struct sampling *s)
{
	return s->hz;
}

const char *sampling_problem(const struct sampling *s)
{
	return s->problem[0] ? s->problem : NULL;
}

struct sampling *sampling_free(struct sampling *s)
{
	if (!s)
		return NULL;
	for (uint32_t cpu = 0; s->links && cpu < online_cpu_n(s->online); cpu++)
		bpf_link__destroy(s->links[cpu]);
	free(s->links);
	free(s->turns);
	free(s);
	return NULL;
}
