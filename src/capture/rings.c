/* SPDX-License-Identifier: (LGPL-2.1 OR BSD-2-Clause) */
/*
 * The rings of all CPUs and the lifecycle ring, drained together and merged by
 * time. An event's time is taken before it reaches its ring, so an event of
 * another CPU may come out a round later than younger ones: a round hands out
 * only what is not younger than the youngest event of the round before it, and,
 * as programs of probes can be preempted before they send theirs, only what has
 * some age.
 */
#include <bpf/bpf.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "capture/internal.h"
#include "util/cleanup.h"

struct place {
	uint64_t time_ns;
	size_t at;
};

struct rings {
	struct ring_buffer *set;
	int *fds;
	size_t fd_n;
	char *bytes; /* events read and not handed out, one after another */
	size_t byte_n, byte_cap;
	struct place *places;
	size_t place_n, place_cap;
	uint64_t watermark_ns;
	uint64_t before_ns; /* what is younger stays */
	uint64_t damaged_n;
	void (*peek)(void *arg, const struct wcbpf_head *e); /* NULL: nobody */
	void *peek_arg;
};

static int rings_copy(void *arg, void *data, size_t size)
{
	struct rings *r = arg;
	const struct wcbpf_head *e = data;

	if (size < sizeof(*e) || e->size < sizeof(*e) || e->size > size) {
		r->damaged_n++;
		return 0;
	}
	if (r->byte_n + size > r->byte_cap) {
		size_t cap = r->byte_cap ? r->byte_cap * 2 : 1 << 20;
		char *bytes;

		while (cap < r->byte_n + size)
			cap *= 2;
		bytes = realloc(r->bytes, cap);
		if (!bytes)
			return -ENOMEM;
		r->bytes = bytes;
		r->byte_cap = cap;
	}
	if (r->place_n == r->place_cap) {
		size_t cap = r->place_cap ? r->place_cap * 2 : 8192;
		struct place *places = reallocarray(r->places, cap, sizeof(*places));

		if (!places)
			return -ENOMEM;
		r->places = places;
		r->place_cap = cap;
	}
	if (r->peek)
		r->peek(r->peek_arg, e);
	memcpy(r->bytes + r->byte_n, data, e->size);
	r->places[r->place_n++] = (struct place){ e->time_ns, r->byte_n };
	r->byte_n += (e->size + 7) & ~(size_t)7;
	return 0;
}

int rings_push(struct rings *r, const struct wcbpf_head *e)
{
	return rings_copy(r, (void *)e, e->size);
}

int rings_new(int rings_map_fd, int lifecycle_fd, uint32_t cpu_n, uint64_t (*bytes_of_cpu)(void *arg, uint32_t cpu),
	      void *arg, struct rings **ret)
{
	_cleanup_(freep) struct rings *r = calloc(1, sizeof(*r));
	int err = 0;

	if (!r)
		return -ENOMEM;
	r->fds = calloc(cpu_n, sizeof(*r->fds));
	if (!r->fds)
		return -ENOMEM;
	r->set = ring_buffer__new(lifecycle_fd, rings_copy, r, NULL);
	if (!r->set)
		err = -errno;
	for (uint32_t cpu = 0; !err && cpu < cpu_n; cpu++) {
		r->fds[cpu] = bpf_map_create(BPF_MAP_TYPE_RINGBUF, "ring", 0, 0, bytes_of_cpu(arg, cpu), NULL);
		if (r->fds[cpu] < 0) {
			err = -errno;
			break;
		}
		r->fd_n = cpu + 1;
		if (bpf_map_update_elem(rings_map_fd, &cpu, &r->fds[cpu], BPF_ANY))
			err = -errno;
		else
			err = ring_buffer__add(r->set, r->fds[cpu], rings_copy, r);
	}
	if (err) {
		rings_free(TAKE_PTR(r));
		return err;
	}
	*ret = TAKE_PTR(r);
	return 0;
}

struct rings *rings_free(struct rings *r)
{
	if (!r)
		return NULL;
	ring_buffer__free(r->set);
	for (size_t i = 0; i < r->fd_n; i++)
		close(r->fds[i]);
	free(r->fds);
	free(r->bytes);
	free(r->places);
	free(r);
	return NULL;
}

int rings_replace(struct rings *r, int rings_map_fd, uint32_t cpu, uint64_t bytes)
{
	_cleanup_(closep) int fd = bpf_map_create(BPF_MAP_TYPE_RINGBUF, "ring", 0, 0, bytes, NULL);
	int *fds, err;

	if (fd < 0)
		return -errno;
	fds = reallocarray(r->fds, r->fd_n + 1, sizeof(*fds));
	if (!fds)
		return -ENOMEM;
	r->fds = fds;
	err = ring_buffer__add(r->set, fd, rings_copy, r);
	if (!err && bpf_map_update_elem(rings_map_fd, &cpu, &fd, BPF_ANY))
		err = -errno; /* it is read all the same, but nobody writes to it */
	r->fds[r->fd_n++] = TAKE_FD(fd);
	return err;
}

void rings_hold(struct rings *r, uint64_t before_ns)
{
	r->before_ns = before_ns;
}

void rings_peek(struct rings *r, void (*f)(void *arg, const struct wcbpf_head *e), void *arg)
{
	r->peek = f;
	r->peek_arg = arg;
}

int rings_fd(const struct rings *r)
{
	return ring_buffer__epoll_fd(r->set);
}

static int place_compare(const void *a, const void *b)
{
	const struct place *x = a, *y = b;

	if (x->time_ns != y->time_ns)
		return x->time_ns < y->time_ns ? -1 : 1;
	return x->at < y->at ? -1 : x->at > y->at; /* of one CPU: as they came */
}

/* Keeps the events from place first on, moved to the beginning. */
static void rings_keep(struct rings *r, size_t first)
{
	size_t kept = r->place_n - first, at = 0;
	char *bytes;

	if (!kept) {
		r->place_n = r->byte_n = 0;
		return;
	}
	memmove(r->places, r->places + first, kept * sizeof(*r->places));
	r->place_n = kept;
	bytes = malloc(r->byte_cap);
	if (!bytes) /* the bytes stay where they are: more room used, nothing lost */
		return;
	for (size_t i = 0; i < kept; i++) {
		const struct wcbpf_head *e = (const void *)(r->bytes + r->places[i].at);

		memcpy(bytes + at, e, e->size);
		r->places[i].at = at;
		at += (e->size + 7) & ~(size_t)7;
	}
	free(r->bytes);
	r->bytes = bytes;
	r->byte_n = at;
}

int rings_read(struct rings *r)
{
	int n = ring_buffer__consume(r->set);

	return n < 0 && n != -EINTR ? n : 0;
}

int rings_hand_out(struct rings *r, bool all, int (*f)(void *arg, const struct wcbpf_head *e), void *arg)
{
	uint64_t youngest_ns = r->watermark_ns;
	size_t i;
	uint64_t until_ns = all ? UINT64_MAX : r->before_ns && r->before_ns < r->watermark_ns ? r->before_ns : r->watermark_ns;
	int err = 0;

	if (!r->place_n)
		return 0;
	qsort(r->places, r->place_n, sizeof(*r->places), place_compare);
	if (r->places[r->place_n - 1].time_ns > youngest_ns)
		youngest_ns = r->places[r->place_n - 1].time_ns;
	for (i = 0; i < r->place_n && !err; i++) {
		if (r->places[i].time_ns > until_ns)
			break;
		err = f(arg, (const void *)(r->bytes + r->places[i].at));
	}
	rings_keep(r, i);
	r->watermark_ns = youngest_ns;
	return err;
}

uint64_t rings_damaged(const struct rings *r)
{
	return r->damaged_n;
}
