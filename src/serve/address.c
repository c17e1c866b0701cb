/* SPDX-License-Identifier: (LGPL-2.1 OR BSD-2-Clause) */
/*
 * An address is numbers, never a name: what a name leads to can change, and no
 * address but these two is this machine's alone.
 */
#include "serve/address.h"

#include <arpa/inet.h>
#include <errno.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "util/cleanup.h"
#include "util/parse.h"
#include "util/text.h"

enum { BACKLOG = 16 };

static int refuse(int err, char **ret_why, const char *fmt, ...) __attribute__((format(printf, 3, 4)));

static int refuse(int err, char **ret_why, const char *fmt, ...)
{
	va_list args;
	char *why;

	va_start(args, fmt);
	why = text_vformat(fmt, args);
	va_end(args);
	if (!why)
		return -ENOMEM;
	*ret_why = why;
	return err;
}

static int unix_parse(const char *text, const char *path, struct serve_address *ret, char **ret_why)
{
	struct sockaddr_un un = {.sun_family = AF_UNIX};

	if (!*path)
		return refuse(-EINVAL, ret_why, "--listen %s: the path is empty", text);
	if (strlen(path) >= sizeof(un.sun_path))
		return refuse(-EINVAL, ret_why, "--listen %s: the path of a socket has at most %zu bytes", text,
			      sizeof(un.sun_path) - 1);
	memcpy(un.sun_path, path, strlen(path));
	*ret = (struct serve_address){.n = sizeof(un), .local = true};
	memcpy(&ret->addr, &un, sizeof(un));
	return 0;
}

static bool port_parse(const char *text, uint16_t *ret)
{
	uint32_t port;

	if (parse_u32(text, &port) < 0 || port < 1 || port > UINT16_MAX)
		return false;
	*ret = htons((uint16_t)port);
	return true;
}

int serve_address_parse(const char *text, struct serve_address *ret, char **ret_why)
{
	struct sockaddr_in in = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
	struct sockaddr_in6 in6 = {.sin6_family = AF_INET6, .sin6_addr = IN6ADDR_LOOPBACK_INIT};
	static const char v4[] = "127.0.0.1:", v6[] = "[::1]:", local[] = "unix:";

	if (strncmp(text, local, strlen(local)) == 0)
		return unix_parse(text, text + strlen(local), ret, ret_why);
	if (strncmp(text, v4, strlen(v4)) == 0 && port_parse(text + strlen(v4), &in.sin_port)) {
		*ret = (struct serve_address){.n = sizeof(in)};
		memcpy(&ret->addr, &in, sizeof(in));
		return 0;
	}
	if (strncmp(text, v6, strlen(v6)) == 0 && port_parse(text + strlen(v6), &in6.sin6_port)) {
		*ret = (struct serve_address){.n = sizeof(in6)};
		memcpy(&ret->addr, &in6, sizeof(in6));
		return 0;
	}
	return refuse(-EINVAL, ret_why,
		      "--listen %s: only unix:PATH, 127.0.0.1:PORT and [::1]:PORT (1 to 65535), where nobody else can reach it",
		      text);
}

/* One that was left behind goes. 0: the path is free, or was never taken. */
static int stale_remove(const char *text, const struct serve_address *a, char **ret_why)
{
	const char *path = ((const struct sockaddr_un *)&a->addr)->sun_path;
	_cleanup_(closep) int fd = -1;
	struct stat st;

	if (lstat(path, &st) < 0)
		return 0;
	if (!S_ISSOCK(st.st_mode))
		return refuse(-EEXIST, ret_why, "--listen %s: there is something that is no socket; say another path", text);
	fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	if (fd < 0)
		return -errno;
	if (connect(fd, (const struct sockaddr *)&a->addr, a->n) == 0 || errno != ECONNREFUSED)
		return refuse(-EADDRINUSE, ret_why, "--listen %s: somebody listens there; say another path", text);
	return unlink(path) < 0 && errno != ENOENT ? -errno : 0;
}

static int bind_(const struct serve_address *a, int fd)
{
	mode_t mask = a->local ? umask(0177) : 0;
	int r = bind(fd, (const struct sockaddr *)&a->addr, a->n) < 0 ? -errno : 0;

	if (a->local)
		umask(mask);
	return r;
}

static int listen_(const struct serve_address *a, uid_t uid, gid_t gid, int fd, dev_t *ret_dev, ino_t *ret_ino)
{
	const char *path = ((const struct sockaddr_un *)&a->addr)->sun_path;
	struct stat st = {0};
	int one = 1, r;

	/* What was closed a moment ago is no reason to wait a minute. */
	if (!a->local && setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &one, sizeof(one)) < 0)
		return -errno;
	r = bind_(a, fd);
	if (r < 0)
		return r;
	if (a->local && uid != (uid_t)-1 && lchown(path, uid, gid) < 0)
		return -errno;
	if (listen(fd, BACKLOG) < 0 || (a->local && lstat(path, &st) < 0))
		return -errno;
	*ret_dev = st.st_dev;
	*ret_ino = st.st_ino;
	return 0;
}

int serve_address_listen(const char *text, const struct serve_address *a, uid_t uid, gid_t gid, int *ret_fd,
			 dev_t *ret_dev, ino_t *ret_ino, char **ret_why)
{
	_cleanup_(closep) int fd = socket(a->addr.ss_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	char *why = NULL;
	int r = fd < 0 ? -errno : a->local ? stale_remove(text, a, &why) : 0;

	if (r == 0)
		r = listen_(a, uid, gid, fd, ret_dev, ret_ino);
	if (r == 0) {
		*ret_fd = TAKE_FD(fd);
		return 0;
	}
	if (!why)
		return refuse(r, ret_why, "--listen %s: %s%s", text, strerror(-r),
			      r == -EADDRINUSE ? "; say another port" : "");
	*ret_why = why;
	return r;
}
