/* SPDX-License-Identifier: (LGPL-2.1 OR BSD-2-Clause) */
/* Names of waited-for files, against files, sockets and terminals of this very process. */
#include <arpa/inet.h>
#include <criterion/criterion.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include "capture/internal.h"

#define KERNEL_DEV(d) (major(d) << 20 | minor(d))

/* What the programs would read of one of our own fds. */
static struct wcbpf_resource of_fd(int fd, const char *last_component)
{
	struct wcbpf_resource r = { .kind = WCBPF_RES_FILE, .fd = fd, .tgid = (uint32_t)getpid() };
	struct stat st;

	cr_assert_eq(fstat(fd, &st), 0);
	r.ino = st.st_ino;
	r.dev = KERNEL_DEV(st.st_dev);
	r.rdev = KERNEL_DEV(st.st_rdev);
	r.mode = st.st_mode;
	snprintf(r.name, sizeof(r.name), "%s", last_component);
	return r;
}

static void expect(const struct wcbpf_resource *r, const char *kind, const char *name)
{
	struct resource_name got;

	memset(&got, 'x', sizeof(got));
	resource_name(r, &got);
	cr_expect_str_eq(got.kind, kind);
	cr_expect_str_eq(got.name, name);
}

Test(resources, files_by_path_while_open)
{
	char path[] = "/tmp/wcbpf-unit-XXXXXX";
	int fd = mkstemp(path);
	struct wcbpf_resource r = of_fd(fd, strrchr(path, '/') + 1);
	char gone[64];

	expect(&r, "file", path);
	/* another file has the fd now: only what the kernel saw is sure */
	r.ino++;
	snprintf(gone, sizeof(gone), "...%s", strrchr(path, '/'));
	expect(&r, "file", gone);
	r.tgid = 0x7fffffff; /* no such process */
	expect(&r, "file", gone);
	r.name[0] = 0;
	r.ino = 77;
	r.dev = 8 << 20 | 1;
	expect(&r, "file", "file 8:1:77");
	unlink(path);
	close(fd);
}

Test(resources, a_full_name_field_is_no_string)
{
	struct wcbpf_resource r = { .kind = WCBPF_RES_FILE, .mode = S_IFREG, .tgid = 0x7fffffff };
	struct resource_name got;

	memset(r.name, 'a', sizeof(r.name));
	resource_name(&r, &got);
	cr_expect_eq(strlen(got.name), 4 + sizeof(r.name));
}

Test(resources, pipes_terminals_devices)
{
	int pair[2], null = open("/dev/null", O_RDONLY), tty = posix_openpt(O_RDWR | O_NOCTTY);
	struct wcbpf_resource r;
	char name[64];

	cr_assert_eq(pipe(pair), 0);
	r = of_fd(pair[0], "");
	snprintf(name, sizeof(name), "pipe:[%llu]", (unsigned long long)r.ino);
	expect(&r, "pipe", name);
	r = of_fd(null, "null");
	expect(&r, "device", "/dev/null");
	if (tty >= 0) {
		r = of_fd(tty, "ptmx");
		r.tgid = 0x7fffffff;
		expect(&r, "tty", ".../ptmx");
	}
}

Test(resources, sockets)
{
	struct wcbpf_resource r = { .kind = WCBPF_RES_SOCKET, .family = AF_INET, .protocol = IPPROTO_TCP,
				    .type = SOCK_STREAM, .local_port = 6379, .mode = S_IFSOCK, .ino = 5 };

	cr_assert_eq(inet_pton(AF_INET, "127.0.0.1", r.local_addr), 1);
	expect(&r, "socket", "tcp 127.0.0.1:6379 listening");
	r.remote_port = 40000;
	cr_assert_eq(inet_pton(AF_INET, "10.0.0.7", r.remote_addr), 1);
	expect(&r, "socket", "tcp 10.0.0.7:40000");
	r.protocol = IPPROTO_UDP;
	r.type = SOCK_DGRAM;
	r.remote_port = 0;
	expect(&r, "socket", "udp 127.0.0.1:6379");
	r.family = AF_INET6;
	r.remote_port = 53;
	cr_assert_eq(inet_pton(AF_INET6, "2001:db8::1", r.remote_addr), 1);
	expect(&r, "socket", "udp [2001:db8::1]:53");
	r.family = AF_UNIX;
	expect(&r, "socket", "unix socket:[5]");
	snprintf(r.name, sizeof(r.name), "/run/x.sock");
	expect(&r, "socket", "unix /run/x.sock");
	r.family = 31;
	expect(&r, "socket", "socket:[5] family 31");
}

Test(resources, anonymous)
{
	struct wcbpf_resource r = { .kind = WCBPF_RES_ANON, .fop_kind = WCBPF_FOP_EPOLL, .fd = 6, .tgid = 99 };

	expect(&r, "epoll", "epoll fd 6 of pid 99");
	r.fop_kind = 200; /* of a newer program */
	expect(&r, "anonymous file", "anonymous file fd 6 of pid 99");
}
