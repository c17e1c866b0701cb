/* SPDX-License-Identifier: (LGPL-2.1 OR BSD-2-Clause) */
/*
 * Layout: tools/perf/Documentation/jitdump-specification.txt of the kernel. The
 * file grows while the process runs, and most of it is the code itself, which
 * is passed over: each record is one read of its beginning.
 *
 * A piece of code holds its place from its record on until another one takes
 * some of it or it is moved away, so every question has a time. Times are of
 * CLOCK_MONOTONIC; a file with the processor's counter instead has them all
 * counted as the beginning of time, and of several the last one is meant.
 */
#include "sym/jitdump.h"

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <string.h>
#include <sys/stat.h>

#include "util/bytes.h"
#include "util/cleanup.h"
#include "util/strtab.h"
#include "util/vec.h"

#define MAGIC 0x4a695444u /* in the byte order of who wrote it */
#define FLAG_ARCH_TIMESTAMP 1
#define HEADER_N 40
#define PREFIX_N 16
#define HEAD_MAX 4096 /* of a record: what it says before the code, name included */
#define LINES_RECORD_MAX (16u << 20)
#define PIECES_MAX (8u << 20)
#define LINES_MAX (32u << 20)

enum record_id { CODE_LOAD = 0, CODE_MOVE = 1, CODE_DEBUG_INFO = 2 };

/* One stay of some code at one place. */
struct piece {
	uint64_t start, size;
	uint64_t from_ns, until_ns;
	uint64_t index; /* of the code, which moves keep */
	uint32_t name;	/* in strings */
	uint32_t line_at, line_n; /* in lines; addresses are the first place's */
	uint32_t seq;
	uint64_t made_at; /* the first place */
};

struct line {
	uint64_t address;
	uint32_t file, line;
};

struct jitdump {
	int fd;
	bool bad, timeless;
	uint64_t read_n; /* of the file; 0: not even the header */
	struct piece *v; /* by start, then seq; the first sorted_n of them */
	size_t n, cap, sorted_n;
	uint64_t size_max; /* the largest piece's */
	struct line *lines;
	size_t line_n, line_cap;
	uint64_t lines_of; /* the address of the code that the last lines_pending are about */
	uint32_t lines_pending;
	struct strtab *strings;
};

DEFINE_CLEANUP(struct jitdump *, jitdump_free)

int jitdump_new(int fd, struct jitdump **ret)
{
	_cleanup_(jitdump_freep) struct jitdump *d = calloc(1, sizeof(*d));
	int err;

	if (!d)
		return -ENOMEM;
	d->fd = fcntl(fd, F_DUPFD_CLOEXEC, 3);
	if (d->fd < 0)
		return -errno;
	err = strtab_new(&d->strings);
	if (err)
		return err;
	*ret = TAKE_PTR(d);
	return 0;
}

struct jitdump *jitdump_free(struct jitdump *d)
{
	if (!d)
		return NULL;
	closep(&d->fd);
	strtab_free(d->strings);
	free(d->v);
	free(d->lines);
	free(d);
	return NULL;
}

static size_t read_at(int fd, uint64_t offset, void *ret, size_t n)
{
	size_t have = 0;

	while (have < n) {
		ssize_t got = pread(fd, (uint8_t *)ret + have, n - have, (off_t)(offset + have));

		if (got < 0 && errno == EINTR)
			continue;
		if (got <= 0)
			break;
		have += (size_t)got;
	}
	return have;
}

/* True when there is one, now or before. */
static bool read_header(struct jitdump *d)
{
	uint8_t raw[HEADER_N] = { 0 };
	struct bytes b = bytes_init(raw, sizeof(raw));
	uint32_t magic = 0, version = 0, size = 0;
	uint64_t flags = 0;

	if (d->read_n)
		return true;
	if (d->bad || read_at(d->fd, 0, raw, sizeof(raw)) < sizeof(raw))
		return false;
	bytes_u32(&b, &magic);
	bytes_u32(&b, &version);
	bytes_u32(&b, &size);
	bytes_seek(&b, 32);
	bytes_u64(&b, &flags);
	if (magic != MAGIC || !version || size < HEADER_N) {
		d->bad = true;
		return false;
	}
	d->timeless = flags & FLAG_ARCH_TIMESTAMP;
	d->read_n = size;
	return true;
}

static int add_piece(struct jitdump *d, const struct piece *p)
{
	struct piece copy = *p;

	if (!p->size || p->start + p->size < p->start)
		return 0;
	if (d->n >= PIECES_MAX)
		return -EFBIG;
	if (VEC_RESERVE(d->v, d->cap, d->n + 1) < 0)
		return -ENOMEM;
	copy.seq = (uint32_t)d->n;
	d->v[d->n++] = copy;
	if (p->size > d->size_max)
		d->size_max = p->size;
	return 0;
}

static int add_load(struct jitdump *d, struct bytes *b, uint64_t time_ns)
{
	struct piece p = { .from_ns = time_ns, .until_ns = UINT64_MAX };
	const char *name;
	int err = bytes_skip(b, 16); /* pid, tid, vma */

	if (!err)
		err = bytes_u64(b, &p.start);
	if (!err)
		err = bytes_u64(b, &p.size);
	if (!err)
		err = bytes_u64(b, &p.index);
	if (!err)
		err = bytes_str(b, &name);
	if (err)
		return err;
	err = strtab_intern(d->strings, name, &p.name);
	if (err)
		return err;
	p.made_at = p.start;
	if (d->lines_pending && d->lines_of == p.start) {
		p.line_n = d->lines_pending;
		p.line_at = (uint32_t)(d->line_n - p.line_n);
	}
	d->lines_pending = 0;
	return add_piece(d, &p);
}

static int add_move(struct jitdump *d, struct bytes *b, uint64_t time_ns)
{
	uint64_t from, to, size, index;
	struct piece moved;
	int err = bytes_skip(b, 16);

	if (!err)
		err = bytes_u64(b, &from);
	if (!err)
		err = bytes_u64(b, &to);
	if (!err)
		err = bytes_u64(b, &size);
	if (!err)
		err = bytes_u64(b, &index);
	if (err)
		return err;
	for (size_t i = d->n; i--;) { /* most likely a late one */
		struct piece *p = &d->v[i];

		if (p->index != index || p->start != from || p->until_ns != UINT64_MAX)
			continue;
		p->until_ns = time_ns;
		moved = *p;
		moved.start = to;
		moved.size = size;
		moved.from_ns = time_ns;
		moved.until_ns = UINT64_MAX;
		return add_piece(d, &moved);
	}
	return 0; /* of code that was never told */
}

/* Lines of the code that the next record is to tell. All of the record is in b. */
static int add_lines(struct jitdump *d, struct bytes *b)
{
	uint64_t n, of;
	uint32_t file = 0;
	size_t before = d->line_n;
	int err = bytes_u64(b, &of);

	if (!err)
		err = bytes_u64(b, &n);
	for (uint64_t i = 0; !err && i < n; i++) {
		struct line l;
		const char *name;

		err = bytes_u64(b, &l.address);
		if (!err)
			err = bytes_u32(b, &l.line);
		if (!err)
			err = bytes_skip(b, 4); /* discriminator */
		if (!err)
			err = bytes_str(b, &name);
		if (!err && strcmp(name, "\xff")) /* else the name of the one before */
			err = strtab_intern(d->strings, name, &file);
		if (!err && d->line_n >= LINES_MAX)
			err = -EFBIG;
		if (!err && VEC_RESERVE(d->lines, d->line_cap, d->line_n + 1) < 0)
			err = -ENOMEM;
		l.file = file;
		if (!err)
			d->lines[d->line_n++] = l;
	}
	if (err) {
		d->line_n = before;
		return err;
	}
	d->lines_of = of;
	d->lines_pending = (uint32_t)(d->line_n - before);
	return 0;
}

static int read_lines(struct jitdump *d, uint64_t offset, uint32_t size)
{
	_cleanup_(freep) uint8_t *raw = NULL;
	struct bytes b;

	if (size > LINES_RECORD_MAX)
		return 0;
	raw = malloc(size);
	if (!raw)
		return -ENOMEM;
	b = bytes_init(raw, read_at(d->fd, offset, raw, size));
	return bytes_skip(&b, PREFIX_N) ? -EBADMSG : add_lines(d, &b);
}

/* The record at d->read_n, of which all is there. A damaged one is passed over: its size was right. */
static int read_record(struct jitdump *d, uint32_t id, uint32_t size, struct bytes *b, uint64_t time_ns)
{
	int err = 0;

	if (d->timeless)
		time_ns = 0;
	if (id == CODE_LOAD)
		err = add_load(d, b, time_ns);
	else if (id == CODE_MOVE)
		err = add_move(d, b, time_ns);
	else if (id == CODE_DEBUG_INFO)
		err = read_lines(d, d->read_n, size);
	return err == -EBADMSG ? 0 : err;
}

static int by_start(const void *pa, const void *pb)
{
	const struct piece *a = pa, *b = pb;

	if (a->start != b->start)
		return a->start < b->start ? -1 : 1;
	return (a->seq > b->seq) - (a->seq < b->seq);
}

/* All whole records that have come since. */
static void read_added(struct jitdump *d)
{
	uint8_t head[HEAD_MAX] = { 0 };
	struct stat st;
	int err = 0;

	if (!read_header(d) || fstat(d->fd, &st))
		return;
	while (!err && (uint64_t)st.st_size >= d->read_n + PREFIX_N) {
		size_t n = read_at(d->fd, d->read_n, head, sizeof(head));
		struct bytes b = bytes_init(head, n), record;
		uint32_t id, size;
		uint64_t time_ns;

		if (bytes_u32(&b, &id) || bytes_u32(&b, &size) || bytes_u64(&b, &time_ns))
			break;
		if (size < PREFIX_N) {
			d->bad = true; /* where the next one begins can't be known */
			break;
		}
		if (size > (uint64_t)st.st_size - d->read_n)
			break;
		record = bytes_init(head, n < size ? n : size);
		bytes_skip(&record, PREFIX_N);
		err = read_record(d, id, size, &record, time_ns);
		d->read_n += size;
	}
	if (d->n == d->sorted_n)
		return;
	qsort(d->v, d->n, sizeof(*d->v), by_start);
	d->sorted_n = d->n;
}

static const struct piece *find(const struct jitdump *d, uint64_t addr, uint64_t time_ns)
{
	const struct piece *best = NULL;
	size_t lo = 0, hi = d->n;

	while (lo < hi) {
		size_t mid = lo + (hi - lo) / 2;

		if (d->v[mid].start <= addr)
			lo = mid + 1;
		else
			hi = mid;
	}
	while (lo && addr - d->v[lo - 1].start < d->size_max) {
		const struct piece *p = &d->v[--lo];

		/* What was told last by then has taken the place of what was there. */
		if (addr - p->start < p->size && p->from_ns <= time_ns && (!best || p->seq > best->seq))
			best = p;
	}
	return best && time_ns < best->until_ns ? best : NULL;
}

static void line_of(const struct jitdump *d, const struct piece *p, uint64_t addr, struct jitdump_code *code)
{
	uint64_t at = addr - p->start + p->made_at, nearest = 0;

	for (uint32_t i = 0; i < p->line_n; i++) {
		const struct line *l = &d->lines[p->line_at + i];

		if (l->address > at || l->address < nearest || !l->file)
			continue;
		nearest = l->address;
		code->file = strtab_str(d->strings, l->file);
		code->line = l->line;
	}
}

int jitdump_find(struct jitdump *d, uint64_t addr, uint64_t time_ns, struct jitdump_code *ret)
{
	struct jitdump_code code = { 0 };
	const struct piece *p;

	/* Always: what is known of the address may have been replaced. */
	if (!d->bad)
		read_added(d);
	p = find(d, addr, time_ns);
	if (!p)
		return -ENOENT;
	code.name = strtab_str(d->strings, p->name);
	code.start = p->start;
	line_of(d, p, addr, &code);
	*ret = code;
	return 0;
}
