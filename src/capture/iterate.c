/* SPDX-License-Identifier: (LGPL-2.1 OR BSD-2-Clause) */
/* Runs BPF iterators: their output is a plain stream of wire events. */
#include <bpf/bpf.h>
#include <errno.h>
#include <string.h>
#include <unistd.h>

#include "capture/internal.h"
#include "util/cleanup.h"

DEFINE_CLEANUP(struct bpf_link *, bpf_link__destroy)

/* Events in buf of n bytes; *ret_used is what was whole. */
static int events_walk(const char *buf, size_t n, size_t *ret_used, int (*f)(void *, const struct wcbpf_head *), void *arg)
{
	size_t at = 0;

	while (n - at >= sizeof(struct wcbpf_head)) {
		const struct wcbpf_head *e = (const void *)(buf + at);
		int r;

		if (e->size < sizeof(*e) || e->size > sizeof(struct wcbpf_exec))
			return -EBADMSG;
		if (e->size > n - at)
			break;
		r = f(arg, e);
		if (r)
			return r;
		at += e->size;
	}
	*ret_used = at;
	return 0;
}

int iterate(struct bpf_program *prog, int map_fd, int (*f)(void *arg, const struct wcbpf_head *e), void *arg)
{
	union bpf_iter_link_info info = { .map.map_fd = map_fd };
	LIBBPF_OPTS(bpf_iter_attach_opts, opts, .link_info = &info, .link_info_len = sizeof(info));
	_cleanup_(bpf_link__destroyp) struct bpf_link *link = NULL;
	_cleanup_(closep) int fd = -1;
	_cleanup_(freep) char *buf = NULL;
	size_t have = 0, used, size = 64 << 10;

	buf = malloc(size); /* aligned for any type; events' sizes are multiples of 8 */
	if (!buf)
		return -ENOMEM;
	link = bpf_program__attach_iter(prog, map_fd >= 0 ? &opts : NULL);
	if (!link)
		return -errno;
	fd = bpf_iter_create(bpf_link__fd(link));
	if (fd < 0)
		return -errno;
	for (;;) {
		ssize_t n = read(fd, buf + have, size - have);
		int r;

		if (n < 0 && (errno == EINTR || errno == EAGAIN))
			continue;
		if (n < 0)
			return -errno;
		if (!n)
			return have ? -EBADMSG : 0;
		have += n;
		r = events_walk(buf, have, &used, f, arg);
		if (r)
			return r;
		memmove(buf, buf + used, have - used);
		have -= used;
	}
}
