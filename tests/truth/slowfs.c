/* SPDX-License-Identifier: (LGPL-2.1 OR BSD-2-Clause) */
/*
 * slowfs FOLDER MICROSECONDS
 *
 * A file system with one file, "data", on a device that takes so long to say
 * that all is safe: fsync waits for it, nothing else does. Speaks FUSE with the
 * kernel itself, so that nothing needs to be installed. Prints "ready" when it is
 * mounted; ends when it is unmounted. Needs root.
 */
#include <errno.h>
#include <fcntl.h>
#include <linux/fuse.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

enum { ROOT = FUSE_ROOT_ID, DATA = 2, SIZE = 1 << 20, REQUEST_MAX = (1 << 17) + 4096 };

static char data[SIZE];
static uint64_t size;

static void attr_fill(uint64_t node, struct fuse_attr *a)
{
	memset(a, 0, sizeof(*a));
	a->ino = node;
	a->mode = node == ROOT ? S_IFDIR | 0755 : S_IFREG | 0600;
	a->nlink = 1;
	a->size = node == ROOT ? 0 : size;
	a->blksize = 4096;
}

static void reply(int fd, const struct fuse_in_header *in, int error, const void *body, size_t n)
{
	static char out[sizeof(struct fuse_out_header) + SIZE];
	struct fuse_out_header h = { .len = (uint32_t)(sizeof(h) + (error ? 0 : n)), .error = -error, .unique = in->unique };

	memcpy(out, &h, sizeof(h));
	if (!error && n)
		memcpy(out + sizeof(h), body, n);
	/* An answer that nobody wants any more is refused, which is fine. */
	if (write(fd, out, h.len) < 0 && errno != ENOENT)
		perror("slowfs: write");
}

static void nap(unsigned long us)
{
	struct timespec t;
	uint64_t until;

	clock_gettime(CLOCK_MONOTONIC, &t);
	until = (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec + us * 1000;
	t = (struct timespec){ .tv_sec = (time_t)(until / 1000000000u), .tv_nsec = (long)(until % 1000000000u) };
	while (clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &t, NULL) == EINTR)
		;
}

static void answer_lookup(int fd, const struct fuse_in_header *in, const char *name)
{
	struct fuse_entry_out out = { .nodeid = DATA, .attr_valid = 0 };

	attr_fill(DATA, &out.attr);
	reply(fd, in, in->nodeid == ROOT && strcmp(name, "data") == 0 ? 0 : ENOENT, &out, sizeof(out));
}

static void answer_attr(int fd, const struct fuse_in_header *in, const struct fuse_setattr_in *set)
{
	struct fuse_attr_out out = { .attr_valid = 0 };

	if (set && set->valid & FATTR_SIZE && in->nodeid == DATA)
		size = set->size < SIZE ? set->size : SIZE;
	attr_fill(in->nodeid, &out.attr);
	reply(fd, in, 0, &out, sizeof(out));
}

static void answer_write(int fd, const struct fuse_in_header *in, const struct fuse_write_in *w)
{
	struct fuse_write_out out = { .size = w->size };

	if (w->offset + w->size > SIZE) {
		reply(fd, in, ENOSPC, NULL, 0);
		return;
	}
	memcpy(data + w->offset, w + 1, w->size);
	size = size < w->offset + w->size ? w->offset + w->size : size;
	reply(fd, in, 0, &out, sizeof(out));
}

static void answer_read(int fd, const struct fuse_in_header *in, const struct fuse_read_in *r)
{
	uint64_t n = r->offset < size ? size - r->offset : 0;

	reply(fd, in, 0, data + (n ? r->offset : 0), n < r->size ? n : r->size);
}

static void answer_init(int fd, const struct fuse_in_header *in)
{
	struct fuse_init_out out = { .major = FUSE_KERNEL_VERSION, .minor = 31, .max_write = 1 << 17 };

	reply(fd, in, 0, &out, sizeof(out));
}

static void answer(int fd, const struct fuse_in_header *in, unsigned long us)
{
	const void *body = in + 1;
	struct fuse_open_out opened = { .fh = 1, .open_flags = FOPEN_DIRECT_IO };
	struct fuse_statfs_out statfs = { .st = { .bsize = 4096, .frsize = 4096, .namelen = 255 } };

	switch (in->opcode) {
	case FUSE_INIT:
		return answer_init(fd, in);
	case FUSE_LOOKUP:
		return answer_lookup(fd, in, body);
	case FUSE_GETATTR:
		return answer_attr(fd, in, NULL);
	case FUSE_SETATTR:
		return answer_attr(fd, in, body);
	case FUSE_OPEN:
	case FUSE_OPENDIR:
		return reply(fd, in, 0, &opened, sizeof(opened));
	case FUSE_WRITE:
		return answer_write(fd, in, body);
	case FUSE_READ:
		return answer_read(fd, in, body);
	case FUSE_FSYNC:
		nap(us);
		return reply(fd, in, 0, NULL, 0);
	case FUSE_FLUSH:
	case FUSE_RELEASE:
	case FUSE_RELEASEDIR:
		return reply(fd, in, 0, NULL, 0);
	case FUSE_STATFS:
		return reply(fd, in, 0, &statfs, sizeof(statfs));
	case FUSE_FORGET:
	case FUSE_BATCH_FORGET:
	case FUSE_INTERRUPT:
		return;
	default:
		return reply(fd, in, ENOSYS, NULL, 0);
	}
}

int main(int argc, char **argv)
{
	static _Alignas(8) char request[REQUEST_MAX];
	char options[128];
	unsigned long us;
	int fd;

	if (argc != 3) {
		fputs("usage: slowfs FOLDER MICROSECONDS\n", stderr);
		return 2;
	}
	us = strtoul(argv[2], NULL, 10);
	prctl(PR_SET_TIMERSLACK, 1000ul);
	fd = open("/dev/fuse", O_RDWR | O_CLOEXEC);
	snprintf(options, sizeof(options), "fd=%d,rootmode=40755,user_id=0,group_id=0", fd);
	if (fd < 0 || mount("slowfs", argv[1], "fuse.slowfs", MS_NOSUID | MS_NODEV, options) < 0) {
		fprintf(stderr, "slowfs: %s: %s\n", argv[1], strerror(errno));
		return 1;
	}
	puts("ready");
	fflush(stdout);
	for (;;) {
		ssize_t n = read(fd, request, sizeof(request));

		if (n < 0 && (errno == EINTR || errno == ENOENT || errno == EAGAIN))
			continue;
		if (n < (ssize_t)sizeof(struct fuse_in_header))
			return errno == ENODEV ? 0 : 1; /* unmounted */
		answer(fd, (const struct fuse_in_header *)request, us);
	}
}
