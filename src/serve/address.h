/* SPDX-License-Identifier: (LGPL-2.1 OR BSD-2-Clause) */
#pragma once
/* Where the endpoint listens: a unix socket or a port of the loopback interface, and nothing else. */
#include <stdbool.h>
#include <sys/socket.h>
#include <sys/types.h>
#include <sys/un.h>

struct serve_address {
	struct sockaddr_storage addr;
	socklen_t n;
	bool local; /* AF_UNIX */
};

/* 0, -EINVAL with one malloc'd line, -ENOMEM. */
int serve_address_parse(const char *text, struct serve_address *ret, char **ret_why);
/* A listening socket. A unix socket's file is *ret_dev's *ret_ino. -errno with one malloc'd line. */
int serve_address_listen(const char *text, const struct serve_address *a, uid_t uid, gid_t gid, int *ret_fd,
			 dev_t *ret_dev, ino_t *ret_ino, char **ret_why);
