/* SPDX-License-Identifier: (LGPL-2.1 OR BSD-2-Clause) */
/*
 * The timers that sample: one software event (cpu-clock) a CPU, which needs no
 * PMU. They run whatever is on their CPU; which threads count is the program's
 * question. A CPU that goes offline takes its event with it, and one that comes
 * online has none: so the list of CPUs is looked at again now and then. (One that
 * was away for less than the time between two looks is sampled no more.)
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
#include "util/parse.h"

#define ONLINE_PATH "/sys/devices/system/cpu/online"
#define RATE_PATH "/proc/sys/kernel/perf_event_max_sample_rate"

struct sampling {
	struct bpf_program *prog;
	uint32_t hz;
	uint32_t cpu_n;		/* CPUs there may ever be */
	struct bpf_link **links; /* by CPU; NULL: none */
	char online[256];	/* ONLINE_PATH as it was last read */
	char problem[200];
};

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
	if (s->links[cpu])
		return 0;
	err = errno ? -errno : -EINVAL;
	close(fd);
	return err;
}

static void cpu_end(struct sampling *s, uint32_t cpu)
{
	bpf_link__destroy(s->links[cpu]);
	s->links[cpu] = NULL;
}

static bool first_line(const char *path, char *ret, int size)
{
	_cleanup_(fclosep) FILE *f = fopen(path, "re");

	return f && fgets(ret, size, f);
}

/* The CPUs that are online as bits by number; malloc'd bytes, one a CPU. NULL: not known. */
static uint8_t *cpus_online(const char *text, uint32_t cpu_n)
{
	_cleanup_(freep) uint32_t *list = NULL;
	uint8_t *online;
	size_t n = 0;

	if (parse_range_list(text, &list, &n))
		return NULL;
	online = calloc(cpu_n, 1);
	for (size_t i = 0; online && i < n; i++)
		if (list[i] < cpu_n)
			online[list[i]] = 1;
	return online;
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

	for (uint32_t cpu = 0; cpu < s->cpu_n; cpu++) {
		int err = cpu_begin(s, cpu);

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

int sampling_new(struct bpf_program *prog, uint32_t cpu_n, uint32_t hz, struct sampling **ret)
{
	struct sampling *s = calloc(1, sizeof(*s));
	int err = -ENOMEM;

	if (s)
		s->links = calloc(cpu_n, sizeof(struct bpf_link *));
	if (s && s->links) {
		s->prog = prog;
		s->hz = hz;
		s->cpu_n = cpu_n;
		if (!first_line(ONLINE_PATH, s->online, sizeof(s->online)))
			s->online[0] = 0;
		err = all_begin(s);
	}
	if (err) {
		sampling_free(s);
		return err;
	}
	*ret = s;
	return 0;
}

void sampling_refresh(struct sampling *s)
{
	_cleanup_(freep) uint8_t *before = NULL, *after = NULL;
	char line[sizeof(s->online)];
	bool all = true;

	if (!s->online[0] || !first_line(ONLINE_PATH, line, sizeof(line)) || !strcmp(line, s->online))
		return;
	before = cpus_online(s->online, s->cpu_n);
	after = cpus_online(line, s->cpu_n);
	if (!before || !after)
		return;
	for (uint32_t cpu = 0; cpu < s->cpu_n; cpu++) {
		if (before[cpu] == after[cpu])
			continue;
		cpu_end(s, cpu);
		if (after[cpu] && cpu_begin(s, cpu))
			all = false;
	}
	/* else on its way up, or gone again: the next look tells */
	if (all)
		memcpy(s->online, line, sizeof(s->online));
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
	for (uint32_t cpu = 0; s->links && cpu < s->cpu_n; cpu++)
		bpf_link__destroy(s->links[cpu]);
	free(s->links);
	free(s);
	return NULL;
}
