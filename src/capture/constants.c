/* SPDX-License-Identifier: (LGPL-2.1 OR BSD-2-Clause) */
/*
 * Which file a constant is of is told by the executable mappings, the only
 * ones that are known: a file's segments lie at one distance from each other.
 * A segment that is not written to is in memory what it is in the file, also
 * when the process has gone; one that the dynamic linker relocates is none.
 */
#include "capture/constants.h"

#include <errno.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "objfile/objfile.h"
#include "proc/proc.h"
#include "util/cleanup.h"
#include "util/map.h"

#define FILES_MAX 128 /* that are kept open: to close and open them again for each hit would stop the reader */

struct constants {
	struct proc_maps *maps;
	struct map *files; /* struct proc_file -> its struct objfile, NULL: can't be read */
};

DEFINE_CLEANUP(struct constants *, constants_free)

int constants_new(struct proc_maps *maps, struct constants **ret)
{
	_cleanup_(constants_freep) struct constants *c = calloc(1, sizeof(*c));

	if (!c || map_new(&c->files) < 0)
		return -ENOMEM;
	c->maps = maps;
	*ret = TAKE_PTR(c);
	return 0;
}

struct constants *constants_free(struct constants *c)
{
	uint64_t key, value;

	if (!c)
		return NULL;
	for (size_t at = 0; c->files && map_next(c->files, &at, &key, &value);)
		objfile_free((struct objfile *)(uintptr_t)value);
	map_free(c->files);
	free(c);
	return NULL;
}

/* *ret stays NULL if it can't be read, or there are too many. */
static int file_find(struct constants *c, const struct proc_file *source, struct objfile **ret)
{
	_cleanup_(closep) int fd = -1;
	struct objfile *o = NULL;
	uint64_t known;

	if (map_get(c->files, (uintptr_t)source, &known)) {
		*ret = (struct objfile *)(uintptr_t)known;
		return 0;
	}
	if (map_n(c->files) >= FILES_MAX)
		return 0;
	if (proc_file_open(source, &fd) == 0 && objfile_open_fd(fd, &o) < 0)
		o = NULL;
	if (map_put(c->files, (uintptr_t)source, (uintptr_t)o) < 0) {
		objfile_free(o);
		return -ENOMEM;
	}
	*ret = o;
	return 0;
}

/* Bytes at an address of a process, at most n. */
struct search {
	struct constants *c;
	uint64_t address;
	uint8_t *bytes;
	size_t n;
	size_t got; /* 0: not found so far */
};

static int mapping_search(void *arg, const struct proc_mapping *map)
{
	struct search *s = arg;
	struct objfile *o = NULL;
	uint64_t vaddr;
	int err;

	if (!map->file)
		return 0;
	err = file_find(s->c, map->file, &o);
	if (err || !o || objfile_vaddr_of_offset(o, map->pgoff, &vaddr))
		return err;
	return objfile_read_constant(o, vaddr + (s->address - map->start), s->bytes, s->n, &s->got) == 0;
}

/* One value of a hit, as it is to be: v with the bytes that follow it. */
struct filled {
	struct wcbpf_value v;
	uint8_t bytes[WCBPF_VALUE_BYTES_MAX + 8];
};

/* A string ends with its NUL; whether it goes on behind n bytes is told by one more. */
static bool string_cut(struct filled *f, size_t n, size_t got)
{
	const uint8_t *end = memchr(f->bytes, 0, got);

	if (!end && got <= n)
		return false; /* the segment ends before the string */
	f->v.total = end ? (uint32_t)(end - f->bytes) : (uint32_t)n + 1;
	f->v.len = (uint16_t)(f->v.total < n ? f->v.total : n);
	return true;
}

static int value_find(struct constants *c, const struct wcbpf_op *op, const struct wcbpf_value_place *place, struct filled *f)
{
	bool string = f->v.type == WCBPF_VALUE_STRING;
	struct search s = { .c = c, .address = place->address, .bytes = f->bytes, .n = place->bytes + string };
	int err;

	if (!place->bytes || place->bytes > WCBPF_VALUE_BYTES_MAX)
		return -EBADMSG;
	err = proc_maps_each(c->maps, op->tgid, op->head.time_ns, mapping_search, &s);
	if (err < 0)
		return err;
	if (s.got < (string ? 1 : place->bytes) || (string && !string_cut(f, place->bytes, s.got)))
		return -ENOENT;
	if (!string)
		f->v.len = (uint16_t)place->bytes;
	f->v.error = WCBPF_VALUE_READ;
	return 0;
}

/* Is there a value that was absent? The number of those that were lost on the way. -EBADMSG. */
static int values_look(const struct wcbpf_op *op, bool *ret_absent, size_t *ret_lost_n)
{
	size_t lost_n = 0, at = 0;
	bool absent = false;

	if (op->value_n > WCBPF_FETCHES_MAX || op->data_len > WCBPF_OP_DATA_MAX ||
	    op->head.size < offsetof(struct wcbpf_op, data) + op->data_len)
		return -EBADMSG;
	for (uint32_t i = 0; i < op->value_n; i++) {
		struct wcbpf_value v;

		if (at > op->data_len || op->data_len - at < sizeof(v))
			return -EBADMSG;
		memcpy(&v, op->data + at, sizeof(v));
		at += sizeof(v);
		if (op->data_len - at < v.len || v.len > WCBPF_VALUE_BYTES_MAX)
			return -EBADMSG;
		if (v.error == WCBPF_VALUE_ABSENT && v.len != sizeof(struct wcbpf_value_place))
			return -EBADMSG;
		at += (v.len + 7u) & ~7u;
		absent |= v.error == WCBPF_VALUE_ABSENT;
		lost_n += v.error == WCBPF_VALUE_LOST;
	}
	*ret_absent = absent;
	*ret_lost_n = lost_n;
	return 0;
}

/* Copies the values of a hit that was looked at to `to`, with those that can be found; how long they are then. */
static int values_fill(struct constants *c, const struct wcbpf_op *op, uint8_t *to, size_t *ret_n, size_t *lost_n)
{
	size_t at = 0, n = 0;

	for (uint32_t i = 0; i < op->value_n; i++) {
		struct wcbpf_value_place place;
		struct filled f = { 0 };
		size_t from = at + sizeof(f.v);

		memcpy(&f.v, op->data + at, sizeof(f.v));
		at = from + ((f.v.len + 7u) & ~7u);
		if (f.v.error == WCBPF_VALUE_ABSENT) {
			int err;

			memcpy(&place, op->data + from, sizeof(place));
			err = value_find(c, op, &place, &f);
			if (err == -ENOMEM)
				return err;
			if (err) {
				f.v.error = WCBPF_VALUE_LOST;
				f.v.len = 0;
				(*lost_n)++;
			}
		} else {
			memcpy(f.bytes, op->data + from, f.v.len);
		}
		memcpy(to + n, &f.v, sizeof(f.v));
		memcpy(to + n + sizeof(f.v), f.bytes, f.v.len);
		n += sizeof(f.v) + ((f.v.len + 7u) & ~7u);
	}
	*ret_n = n;
	return 0;
}

int constants_fill(struct constants *c, struct wcbpf_op *op, size_t *ret_lost_n)
{
	uint8_t data[WCBPF_OP_DATA_MAX] = { 0 };
	size_t n, lost_n;
	bool absent;
	int err = values_look(op, &absent, &lost_n);

	if (!err && absent) {
		err = values_fill(c, op, data, &n, &lost_n);
		if (!err) {
			memcpy(op->data, data, n);
			op->data_len = (uint16_t)n;
			op->head.size = (__typeof__(op->head.size))(offsetof(struct wcbpf_op, data) + n);
		}
	}
	if (err)
		return err;
	*ret_lost_n = lost_n;
	return 0;
}
