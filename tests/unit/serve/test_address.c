/* SPDX-License-Identifier: (LGPL-2.1 OR BSD-2-Clause) */
/* Where it may listen, and what becomes of what is in the way there. */
#include <arpa/inet.h>
#include <criterion/criterion.h>
#include <errno.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "serve/address.h"
#include "serve/serve.h"
#include "util/cleanup.h"

static int parse(const char *text, struct serve_address *ret)
{
	_cleanup_(freep) char *why = NULL;
	int r = serve_address_parse(text, ret, &why);

	if (r < 0) {
		cr_expect(why && strstr(why, text), "%s", why);
		cr_expect_not(strchr(why, '\n'));
	}
	return r;
}

Test(address, loopback_and_sockets)
{
	struct serve_address a;

	cr_assert_eq(parse("127.0.0.1:9000", &a), 0);
	cr_expect_eq(((struct sockaddr_in *)&a.addr)->sin_port, htons(9000));
	cr_expect_eq(((struct sockaddr_in *)&a.addr)->sin_addr.s_addr, htonl(0x7f000001));
	cr_assert_eq(parse("[::1]:65535", &a), 0);
	cr_expect_eq(a.addr.ss_family, AF_INET6);
	cr_expect_eq(memcmp(&((struct sockaddr_in6 *)&a.addr)->sin6_addr, &in6addr_loopback, 16), 0);
	cr_assert_eq(parse("unix:/run/x.sock", &a), 0);
	cr_expect_str_eq(((struct sockaddr_un *)&a.addr)->sun_path, "/run/x.sock");
	cr_expect(a.local);
}

Test(address, nothing_else)
{
	static const char *const bad[] = {
		"", ":9000", "9000", "0.0.0.0:9000", "[::]:9000", "*:9000", "localhost:9000", "10.0.0.1:80", "127.0.0.2:80",
		"127.0.0.1", "127.0.0.1:", "127.0.0.1:0", "127.0.0.1:65536", "127.0.0.1:-1", "127.0.0.1: 80", "127.0.0.1:80x",
		"[::1]", "::1:80", "[::1]:0", "unix:", "tcp:127.0.0.1:80", "/run/x.sock", "http://127.0.0.1:80",
	};
	struct serve_address a;
	char path[200] = "unix:/";

	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
		cr_expect_eq(parse(bad[i], &a), -EINVAL, "%s", bad[i]);
	memset(path + 6, 'x', 106);
	cr_expect_eq(parse(path, &a), 0);
	path[6 + 106] = 'x';
	cr_expect_eq(parse(path, &a), -EINVAL);
}

static void state(void *arg, bool *ret_enabled, bool *ret_active)
{
	(void)arg;
	*ret_enabled = *ret_active = false;
}

static int open_(const char *address, struct serve **ret)
{
	struct serve_host host = {.state = state};
	_cleanup_(freep) char *why = NULL;
	int r = serve_new(address, (uid_t)-1, (gid_t)-1, &host, ret, &why);

	cr_expect_eq(r < 0, why != NULL, "%s", why);
	return r;
}

static char *sock_path(void)
{
	static char path[64];

	snprintf(path, sizeof(path), "/tmp/wcbpf-serve.%d", getpid());
	return path;
}

Test(address, what_is_in_the_way)
{
	char address[80], *path = sock_path();
	struct serve *first, *second;
	struct stat st;
	int fd;

	snprintf(address, sizeof(address), "unix:%s", path);
	cr_assert_eq(open_(address, &first), 0);
	cr_assert_eq(stat(path, &st), 0);
	cr_expect_eq(st.st_mode, S_IFSOCK | 0600);
	cr_expect_eq(open_(address, &second), -EADDRINUSE, "somebody listens");
	serve_free(first);
	cr_expect_eq(lstat(path, &st), -1, "it is gone with who made it");
	/* One that was left behind. */
	struct sockaddr_un un = {.sun_family = AF_UNIX};
	memcpy(un.sun_path, path, strlen(path));
	fd = socket(AF_UNIX, SOCK_STREAM, 0);
	cr_assert_eq(bind(fd, (struct sockaddr *)&un, sizeof(un)), 0);
	close(fd);
	cr_assert_eq(open_(address, &first), 0);
	/* Another's in its place is not taken away. */
	cr_assert_eq(unlink(path), 0);
	cr_assert_eq(open_(address, &second), 0);
	serve_free(first);
	cr_expect_eq(lstat(path, &st), 0);
	serve_free(second);
	/* No socket: it stays. */
	FILE *f = fopen(path, "w");
	cr_assert(f && fclose(f) == 0);
	cr_expect_eq(open_(address, &second), -EEXIST);
	cr_expect_eq(lstat(path, &st), 0);
	unlink(path);
	cr_expect_eq(open_("unix:/nonexistent/x", &second), -ENOENT);
}

Test(address, a_port_that_is_taken)
{
	struct sockaddr_in in = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
	socklen_t n = sizeof(in);
	struct serve *s;
	char address[40];
	int fd = socket(AF_INET, SOCK_STREAM, 0);

	cr_assert(bind(fd, (struct sockaddr *)&in, n) == 0 && listen(fd, 1) == 0);
	cr_assert_eq(getsockname(fd, (struct sockaddr *)&in, &n), 0);
	snprintf(address, sizeof(address), "127.0.0.1:%u", ntohs(in.sin_port));
	cr_expect_eq(open_(address, &s), -EADDRINUSE);
	close(fd);
	cr_assert_eq(open_(address, &s), 0);
	serve_free(s);
}
