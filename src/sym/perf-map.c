/* SPDX-License-Identifier: (LGPL-2.1 OR BSD-2-Clause) */
/*
 * A JIT compiler appends "START SIZE NAME" lines (hexadecimal, some write 0x)
 * as it makes code, and code moves and is replaced, so of several lines that
 * cover an address the last one counts. Only what was appended is parsed.
 *
 * The file lies in a folder everybody can write to: it must be a regular file of
 * the process's user or of root, sizes are bounded, and one that was last
 * written before its process started is another process's that had the same
 * number. It is kept open from the first time it is needed: when the process has
 * gone, that one is read to its end, and none that has come in its place. Of a
 * process that had gone by then nothing is known but its number.
 */
#include "sym/perf-map.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>

#include "proc/proc.h"
#include "util/cleanup.h"
#include "util/parse.h"
#include "util/vec.h"

#define TEXT_MAX (512u << 20)
#define LINES_MAX (8u << 20)
#define OVERLAP_MAX 16 /* how many starts before an address may reach over it */
#define START_SLACK_S 1	/* clock ticks and the boot time are rounded */

struct line {
	uint64_t start, size;
	uint32_t name; /* offset in names */
	uint32_t seq;  /* in the file */
};

struct perf_map {
	uint32_t pid, ns_pid; /* ns_pid 0: could not be learned */
	int64_t started_s;    /* wall clock; 0: not known */
	uint64_t start_ticks; /* likewise, since boot */
	uid_t uid;	      /* if started_s is known */
	int fd;		      /* the file that was read last, or -1 */
	dev_t dev;
	ino_t ino;
	uint64_t read_n; /* bytes of the file that are parsed */
	struct line *v;	 /* by start, then seq */
	size_t n, cap;
	char *names;
	size_t names_n, names_cap;
};

/* Who it is and since when, if it is still there. */
static void learn_process(struct perf_map *m)
{
	struct timespec now, boot;
	struct proc_stat st;
	long ticks_s = sysconf(_SC_CLK_TCK);
	uid_t uid;

	if (ticks_s <= 0 || proc_stat_read(m->pid, &st) || proc_uid(m->pid, &uid))
		return;
	clock_gettime(CLOCK_REALTIME, &now);
	clock_gettime(CLOCK_BOOTTIME, &boot);
	m->started_s = now.tv_sec - boot.tv_sec + (int64_t)(st.start_ticks / (uint64_t)ticks_s);
	m->start_ticks = st.start_ticks;
	m->uid = uid;
}

static bool has_gone(const struct perf_map *m)
{
	struct proc_stat st;

	return !m->started_s || proc_stat_read(m->pid, &st) || st.start_ticks != m->start_ticks;
}

static int open_candidate(const struct perf_map *m, const char *path, int *ret, struct stat *ret_st)
{
	_cleanup_(closep) int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY | O_NOFOLLOW);
	struct stat st;

	if (fd < 0)
		return -errno;
	if (fstat(fd, &st))
		return -errno;
	if (!S_ISREG(st.st_mode) || (m->started_s && st.st_mtime + START_SLACK_S < m->started_s))
		return -ENOENT;
	if (m->started_s && st.st_uid != m->uid && st.st_uid)
		return -EPERM;
	*ret = TAKE_FD(fd);
	*ret_st = st;
	return 0;
}

/* In the target's own /tmp under the number it knows itself by; when it has gone, in ours. */
static int open_map(const struct perf_map *m, int *ret, struct stat *ret_st)
{
	char path[80];

	if (m->ns_pid) {
		snprintf(path, sizeof(path), "/proc/%" PRIu32 "/root/tmp/perf-%" PRIu32 ".map", m->pid, m->ns_pid);
		if (!open_candidate(m, path, ret, ret_st))
			return 0;
	}
	snprintf(path, sizeof(path), "/tmp/perf-%" PRIu32 ".map", m->pid);
	return open_candidate(m, path, ret, ret_st);
}

/* m->fd becomes what there is now, with *ret_st; what was read of another file is forgotten. False: there is none. */
static bool look(struct perf_map *m, struct stat *ret_st)
{
	int fd;

	if (m->fd >= 0 && has_gone(m))
		return !fstat(m->fd, ret_st);
	if (open_map(m, &fd, ret_st))
		return m->fd >= 0 && !fstat(m->fd, ret_st);
	closep(&m->fd);
	m->fd = fd;
	if (ret_st->st_dev != m->dev || ret_st->st_ino != m->ino || (uint64_t)ret_st->st_size < m->read_n) {
		m->dev = ret_st->st_dev;
		m->ino = ret_st->st_ino;
		m->n = m->names_n = 0;
		m->read_n = 0;
	}
	return true;
}

int perf_map_new(uint32_t pid, struct perf_map **ret)
{
	struct perf_map *m = calloc(1, sizeof(*m));
	struct stat st;

	if (!m)
		return -ENOMEM;
	m->pid = pid;
	m->fd = -1;
	if (proc_ns_pid(pid, &m->ns_pid))
		m->ns_pid = 0;
	learn_process(m);
	look(m, &st);
	*ret = m;
	return 0;
}

struct perf_map *perf_map_free(struct perf_map *m)
{
	if (!m)
		return NULL;
	closep(&m->fd);
	free(m->v);
	free(m->names);
	free(m);
	return NULL;
}

/* "START SIZE NAME" of n bytes; false: not of that shape. */
static bool parse_line(const char *p, size_t n, struct line *ret, const char **ret_name, size_t *ret_name_n)
{
	const char *end = p + n, *space = memchr(p, ' ', n), *second;
	struct line l = { 0 };

	if (!space || parse_hex_n(p, (size_t)(space - p), &l.start))
		return false;
	second = memchr(space + 1, ' ', (size_t)(end - space - 1));
	if (!second || second + 1 == end || parse_hex_n(space + 1, (size_t)(second - space - 1), &l.size))
		return false;
	*ret = l;
	*ret_name = second + 1;
	*ret_name_n = (size_t)(end - second - 1);
	return l.size > 0;
}

static int add_line(struct perf_map *m, const char *p, size_t n)
{
	struct line l;
	const char *name;
	size_t name_n;

	if (n && p[n - 1] == '\r')
		n--;
	if (!parse_line(p, n, &l, &name, &name_n))
		return 0;
	if (m->n >= LINES_MAX)
		return -EFBIG;
	if (VEC_RESERVE(m->v, m->cap, m->n + 1) < 0 || VEC_RESERVE(m->names, m->names_cap, m->names_n + name_n + 1) < 0)
		return -ENOMEM;
	l.name = (uint32_t)m->names_n;
	l.seq = (uint32_t)m->n;
	memcpy(m->names + m->names_n, name, name_n);
	m->names[m->names_n + name_n] = '\0';
	m->names_n += name_n + 1;
	m->v[m->n++] = l;
	return 0;
}

static int by_start(const void *pa, const void *pb)
{
	const struct line *a = pa, *b = pb;

	if (a->start != b->start)
		return a->start < b->start ? -1 : 1;
	return (a->seq > b->seq) - (a->seq < b->seq);
}

/* Sorts the lines from index from on into those before, which are sorted. */
static int merge_new(struct perf_map *m, size_t from)
{
	_cleanup_(freep) struct line *tail = NULL;
	size_t a = from, b = m->n - from;

	qsort(m->v + from, b, sizeof(*m->v), by_start);
	if (!from || !b || by_start(&m->v[from - 1], &m->v[from]) < 0)
		return 0;
	tail = malloc(b * sizeof(*tail));
	if (!tail) {
		m->n = from; /* half-sorted lines would give wrong names */
		return -ENOMEM;
	}
	memcpy(tail, m->v + from, b * sizeof(*tail));
	for (size_t to = m->n; b;) {
		if (a && by_start(&m->v[a - 1], &tail[b - 1]) > 0)
			m->v[--to] = m->v[--a];
		else
			m->v[--to] = tail[--b];
	}
	return 0;
}

/* The whole lines between what has been read and size. */
static int read_added(struct perf_map *m, int fd, uint64_t size)
{
	_cleanup_(freep) char *text = NULL;
	size_t want = size - m->read_n, have = 0, from = m->n;
	const char *p, *nl;
	int err = 0;

	text = malloc(want);
	if (!text)
		return -ENOMEM;
	while (have < want) {
		ssize_t n = pread(fd, text + have, want - have, (off_t)(m->read_n + have));

		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0)
			break;
		have += (size_t)n;
	}
	for (p = text; !err && (nl = memchr(p, '\n', (size_t)(text + have - p))); p = nl + 1)
		err = add_line(m, p, (size_t)(nl - p));
	m->read_n += (size_t)(p - text);
	return merge_new(m, from);
}

static void refresh(struct perf_map *m)
{
	struct stat st;

	if (look(m, &st) && (uint64_t)st.st_size != m->read_n && st.st_size <= TEXT_MAX)
		read_added(m, m->fd, (uint64_t)st.st_size); /* fails: what is there is right */
}

static const struct line *find(const struct perf_map *m, uint64_t addr)
{
	const struct line *best = NULL;
	size_t lo = 0, hi = m->n;

	while (lo < hi) {
		size_t mid = lo + (hi - lo) / 2;

		if (m->v[mid].start <= addr)
			lo = mid + 1;
		else
			hi = mid;
	}
	for (size_t back = 0, starts = 0; back < lo && starts <= OVERLAP_MAX; back++) {
		const struct line *l = &m->v[lo - 1 - back];

		/* Of one start the newest comes first, going back; the older ones are gone. */
		if (back && l->start == l[1].start)
			continue;
		starts++;
		if (addr - l->start < l->size && (!best || l->seq > best->seq))
			best = l;
	}
	return best;
}

const char *perf_map_find(struct perf_map *m, uint64_t addr, uint64_t *ret_start)
{
	const struct line *l;

	refresh(m);
	l = find(m, addr);
	if (!l)
		return NULL;
	*ret_start = l->start;
	return m->names + l->name;
}
