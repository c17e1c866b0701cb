/* SPDX-License-Identifier: (LGPL-2.1 OR BSD-2-Clause) */
/*
 * Executable mappings of all processes as they are made, and execs, which end
 * them: a dummy software event a CPU, whose only output are mmap2 and comm
 * records. Needs no PMU and no BPF. (The exec tracepoint would not do: it comes
 * after the new program's segments have been mapped.)
 *
 * A buffer of its own a CPU, for CPUs come and go: the event of one that went is
 * dead, also when it comes back.
 */
#include <bpf/bpf.h>
#include <errno.h>
#include <linux/perf_event.h>
#include <string.h>
#include <sys/epoll.h>
#include <time.h>
#include <unistd.h>

#include "capture/internal.h"
#include "util/cleanup.h"
#include "util/map.h"

#define RING_PAGES 64 /* a CPU */

struct source {
	struct perf_buffer *buffer; /* NULL: none */
	uint32_t turn;		    /* of its CPU, that it is for; 0: none */
	uint64_t missed_ns;	    /* since when the CPU may run without one; 0: it doesn't */
	bool refused;
};

struct mappings {
	const struct online *online;
	struct source *sources; /* by CPU */
	int epoll_fd;
	int map_fd; /* libbpf wants one, nothing writes to it */
	mapping_fn f;
	mapping_exec_fn exec;
	bool (*wanted)(void *arg, uint32_t pid);
	void *arg;
	uint64_t lost;
	struct waiting *first, **last; /* oldest first */
	struct map *waiting; /* PID -> struct waiting, its first that was not handed out */
};

DEFINE_CLEANUP(struct mappings *, mappings_free)

#define RETRY_NS 300000000ull /* by then the fork event of a traced process has been read */

/* A record of a process that was not known to be traced: its fork event may come a round later. */
struct waiting {
	struct waiting *next;
	struct waiting *same, **same_last; /* the next of its process; of the first one: where that list ends */
	bool over; /* handed out */
	struct perf_event_header record[] __attribute__((aligned(8))); /* the whole record */
};

struct mmap2_record {
	struct perf_event_header header;
	uint32_t pid, tid;
	uint64_t start, len, pgoff;
	union {
		struct {
			uint32_t maj, min;
			uint64_t ino, ino_generation;
		};
		struct {
			uint8_t build_id_size, reserved[3];
			uint8_t build_id[20];
		};
	};
	uint32_t prot, flags;
	char path[];
};

/* The id words behind a record: {pid, tid} if PERF_SAMPLE_TID, time. We ask for time only. */
static uint64_t record_time(const struct perf_event_header *h)
{
	uint64_t t;

	memcpy(&t, (const char *)h + h->size - sizeof(t), sizeof(t));
	return t;
}

static void hand_out(struct mappings *m, const struct perf_event_header *h)
{
	const struct mmap2_record *r = (const void *)h;

	if (h->type == PERF_RECORD_COMM)
		m->exec(m->arg, r->pid, record_time(h));
	else
		m->f(m->arg, r->pid, record_time(h), r->start, r->len, r->pgoff, r->maj, r->min, r->ino, r->path);
}

static uint32_t record_pid(const struct waiting *w)
{
	return ((const struct mmap2_record *)w->record)->pid; /* a comm record has it there too */
}

static int put_aside(struct mappings *m, const struct perf_event_header *h)
{
	_cleanup_(freep) struct waiting *w = calloc(1, sizeof(*w) + h->size);
	struct waiting *first;
	int err;

	if (!w)
		return -ENOMEM;
	memcpy(w->record, h, h->size);
	first = map_get_ptr(m->waiting, record_pid(w));
	if (!first) {
		w->same_last = &w->same;
		err = map_put_ptr(m->waiting, record_pid(w), w);
		if (err)
			return err;
	} else {
		*first->same_last = w;
		first->same_last = &w->same;
	}
	*m->last = w;
	m->last = &w->next;
	TAKE_PTR(w);
	return 0;
}

/* The first that waits of its process is no more to be handed out. */
static void forget_first(struct mappings *m, struct waiting *w)
{
	uint32_t pid = record_pid(w);

	w->over = true;
	if (!w->same) {
		map_remove(m->waiting, pid, NULL);
		return;
	}
	w->same->same_last = w->same_last;
	map_put_ptr(m->waiting, pid, w->same); /* replaces a value: takes no memory */
}

static void retry(struct mappings *m, uint64_t before_ns)
{
	while (m->first && record_time(m->first->record) < before_ns) {
		struct waiting *w = m->first;

		if (!w->over) {
			forget_first(m, w);
			if (m->wanted(m->arg, record_pid(w)))
				hand_out(m, w->record);
		}
		m->first = w->next;
		if (!m->first)
			m->last = &m->first;
		free(w);
	}
}

void mappings_known(struct mappings *m, uint32_t pid)
{
	struct waiting *w;

	while ((w = map_get_ptr(m->waiting, pid))) {
		forget_first(m, w);
		hand_out(m, w->record);
	}
}

static void take_or_put_aside(struct mappings *m, const struct perf_event_header *h)
{
	const struct mmap2_record *r = (const void *)h; /* pid is where a comm record has it too */

	if (m->wanted(m->arg, r->pid))
		hand_out(m, h);
	else if (put_aside(m, h))
		m->lost++;
}

static enum bpf_perf_event_ret take_record(void *arg, int cpu, struct perf_event_header *h)
{
	const struct mmap2_record *r = (const void *)h;
	struct mappings *m = arg;

	(void)cpu;
	if (h->type == PERF_RECORD_LOST) {
		m->lost += ((uint64_t *)(h + 1))[1];
	} else if (h->type == PERF_RECORD_COMM && h->misc & PERF_RECORD_MISC_COMM_EXEC) {
		take_or_put_aside(m, h);
	} else if (h->type == PERF_RECORD_MMAP2 && h->size > sizeof(*r) + sizeof(uint64_t)) {
		size_t room = h->size - sizeof(*r) - sizeof(uint64_t);

		if (strnlen(r->path, room) == room)
			m->lost++;
		else
			take_or_put_aside(m, h);
	}
	return LIBBPF_PERF_EVENT_CONT;
}

/* ---- the CPUs ---- */

static int source_open(struct mappings *m, uint32_t cpu)
{
	struct perf_event_attr attr = {
		.size = sizeof(attr),
		.type = PERF_TYPE_SOFTWARE,
		.config = PERF_COUNT_SW_DUMMY,
		.sample_type = PERF_SAMPLE_TIME,
		.sample_id_all = 1,
		.mmap = 1,
		.mmap2 = 1,
		.comm = 1,
		.comm_exec = 1,
		.use_clockid = 1,
		.clockid = CLOCK_MONOTONIC,
		.watermark = 1,
		.wakeup_watermark = 1, /* at once: a short process's files can be opened only while it lives */
	};
	int number = (int)cpu;
	LIBBPF_OPTS(perf_buffer_raw_opts, opts, .cpu_cnt = 1, .cpus = &number, .map_keys = &number);
	struct epoll_event ev = { .events = EPOLLIN };
	struct source *s = &m->sources[cpu];
	int err;

	s->buffer = perf_buffer__new_raw(m->map_fd, RING_PAGES, &attr, take_record, m, &opts);
	if (!s->buffer)
		return -errno;
	if (epoll_ctl(m->epoll_fd, EPOLL_CTL_ADD, perf_buffer__buffer_fd(s->buffer, 0), &ev)) {
		err = -errno;
		perf_buffer__free(s->buffer);
		s->buffer = NULL;
		return err;
	}
	s->turn = online_turn(m->online, cpu);
	s->missed_ns = 0;
	s->refused = false;
	return 0;
}

static void source_close(struct mappings *m, struct source *s)
{
	if (s->buffer) /* the kernel still holds the event a while after it was closed */
		epoll_ctl(m->epoll_fd, EPOLL_CTL_DEL, perf_buffer__buffer_fd(s->buffer, 0), NULL);
	perf_buffer__free(s->buffer);
	s->buffer = NULL;
	s->turn = 0;
}

static int sources_open(struct mappings *m)
{
	uint32_t opened = 0;

	for (uint32_t cpu = 0; cpu < online_cpu_n(m->online); cpu++) {
		int err = online_turn(m->online, cpu) ? source_open(m, cpu) : -ENODEV;

		if (err && err != -ENODEV) /* -ENODEV: offline */
			return err;
		opened += !err;
	}
	return opened ? 0 : -ENODEV;
}

/* A CPU without an event: 0 when it has one now. */
static int source_renew(struct mappings *m, uint32_t cpu, uint64_t looked_ns, uint64_t *ret_from_ns)
{
	struct source *s = &m->sources[cpu];
	uint64_t from_ns;
	int err;

	if (!s->missed_ns)
		s->missed_ns = looked_ns;
	from_ns = s->missed_ns;
	err = source_open(m, cpu);
	if (err && err != -ENODEV && !s->refused) { /* -ENODEV: gone again, the next look tells */
		s->refused = true;
		m->lost++;
	}
	if (!err)
		*ret_from_ns = from_ns;
	return err;
}

bool mappings_refresh(struct mappings *m, uint64_t looked_ns, uint64_t *ret_from_ns)
{
	uint64_t first_ns = UINT64_MAX, from_ns;

	for (uint32_t cpu = 0; cpu < online_cpu_n(m->online); cpu++) {
		struct source *s = &m->sources[cpu];
		uint32_t turn = online_turn(m->online, cpu);

		if (turn == s->turn)
			continue;
		if (s->buffer)
			perf_buffer__consume(s->buffer);
		source_close(m, s);
		if (!turn)
			s->missed_ns = 0;
		else if (!source_renew(m, cpu, looked_ns, &from_ns) && from_ns < first_ns)
			first_ns = from_ns;
	}
	if (first_ns == UINT64_MAX)
		return false;
	*ret_from_ns = first_ns;
	return true;
}

int mappings_new(const struct online *online, mapping_fn f, mapping_exec_fn exec,
		 bool (*wanted)(void *arg, uint32_t pid), void *arg, struct mappings **ret)
{
	_cleanup_(mappings_freep) struct mappings *m = calloc(1, sizeof(*m));
	int err;

	if (!m)
		return -ENOMEM;
	m->online = online;
	m->f = f;
	m->exec = exec;
	m->wanted = wanted;
	m->arg = arg;
	m->last = &m->first;
	m->map_fd = -1;
	m->epoll_fd = epoll_create1(EPOLL_CLOEXEC);
	if (m->epoll_fd < 0)
		return -errno;
	err = map_new(&m->waiting);
	if (err)
		return err;
	m->sources = calloc(online_cpu_n(online), sizeof(*m->sources));
	if (!m->sources)
		return -ENOMEM;
	m->map_fd = bpf_map_create(BPF_MAP_TYPE_PERF_EVENT_ARRAY, "mappings", 4, 4, online_cpu_n(online), NULL);
	if (m->map_fd < 0)
		return -errno;
	err = sources_open(m);
	if (err)
		return err;
	*ret = TAKE_PTR(m);
	return 0;
}

struct mappings *mappings_free(struct mappings *m)
{
	if (!m)
		return NULL;
	while (m->first) {
		struct waiting *w = m->first;

		m->first = w->next;
		free(w);
	}
	map_free(m->waiting);
	for (uint32_t cpu = 0; m->sources && cpu < online_cpu_n(m->online); cpu++)
		source_close(m, &m->sources[cpu]);
	free(m->sources);
	closep(&m->map_fd);
	closep(&m->epoll_fd);
	free(m);
	return NULL;
}

int mappings_fd(const struct mappings *m)
{
	return m->epoll_fd;
}

void mappings_drain(struct mappings *m, uint64_t now_ns, bool all)
{
	for (uint32_t cpu = 0; cpu < online_cpu_n(m->online); cpu++)
		if (m->sources[cpu].buffer)
			perf_buffer__consume(m->sources[cpu].buffer);
	retry(m, all ? UINT64_MAX : now_ns - RETRY_NS);
}

uint64_t mappings_lost(const struct mappings *m)
{
	return m->lost;
}
