/* SPDX-License-Identifier: (LGPL-2.1 OR BSD-2-Clause) */
/* socket tcp|unix [ROUNDS [MS]]: a thread waits in accept, then in recv; main connects and sends. */
#include <arpa/inet.h>
#include <netinet/in.h>
#include <stddef.h>
#include <sys/socket.h>
#include <sys/un.h>

#include "lib.h"

static int listener;
static bool tcp;
static unsigned int rounds, ms, port;
static char name[64];
static atomic_int waiting, main_tid, server_tid;

static void *server(void *arg)
{
	uint64_t begin = now_ns(), start;
	struct sockaddr_in peer = { 0 };
	socklen_t len = sizeof(peer);
	char c;
	int conn;

	atomic_store(&server_tid, own_tid());
	start = now_ns();
	atomic_store(&waiting, 1);
	conn = accept(listener, NULL, NULL);
	if (conn < 0)
		die("accept");
	truth_wait("socket", start, now_ns(), "call=accept port=%u name=%s waker=%d outcome=woken", port, name,
		   atomic_load(&main_tid));
	if (tcp && getpeername(conn, (struct sockaddr *)&peer, &len))
		die("getpeername");
	for (unsigned int i = 1; i <= rounds; i++) {
		start = now_ns();
		atomic_store(&waiting, 1 + (int)i);
		if (recv(conn, &c, 1, 0) != 1)
			die("recv");
		truth_wait("socket", start, now_ns(), "call=recv port=%u peer=%u name=%s waker=%d outcome=woken", port,
			   ntohs(peer.sin_port), name, atomic_load(&main_tid));
	}
	truth_thread(begin);
	return arg;
}

static int listen_tcp(struct sockaddr_in *sa)
{
	socklen_t len = sizeof(*sa);
	int fd = socket(AF_INET, SOCK_STREAM, 0);

	sa->sin_family = AF_INET;
	sa->sin_addr.s_addr = htonl(INADDR_LOOPBACK);
	if (fd < 0 || bind(fd, (struct sockaddr *)sa, len) || listen(fd, 1) ||
	    getsockname(fd, (struct sockaddr *)sa, &len))
		die("listen");
	port = ntohs(sa->sin_port);
	return fd;
}

static int listen_unix(struct sockaddr_un *sa)
{
	int fd = socket(AF_UNIX, SOCK_STREAM, 0);

	sa->sun_family = AF_UNIX;
	snprintf(name, sizeof(name), "wl-socket-%d", getpid());
	snprintf(sa->sun_path + 1, sizeof(sa->sun_path) - 1, "%s", name);
	if (fd < 0 || bind(fd, (struct sockaddr *)sa, (socklen_t)(offsetof(struct sockaddr_un, sun_path) + 1 +
								   strlen(name))) || listen(fd, 1))
		die("listen");
	return fd;
}

int main(int argc, char **argv)
{
	struct sockaddr_in in = { 0 };
	struct sockaddr_un un = { 0 };
	pthread_t thread;
	int fd, rc;

	truth_begin();
	tcp = argc < 2 || !strcmp(argv[1], "tcp");
	rounds = arg_number(argc, argv, 2, 1);
	ms = arg_number(argc, argv, 3, 500);
	listener = tcp ? listen_tcp(&in) : listen_unix(&un);
	atomic_store(&main_tid, own_tid());
	thread = thread_start(server, NULL);
	nap_until(&waiting, 1);
	nap_ms(ms);
	fd = socket(tcp ? AF_INET : AF_UNIX, SOCK_STREAM, 0);
	rc = tcp ? connect(fd, (struct sockaddr *)&in, sizeof(in)) :
		   connect(fd, (struct sockaddr *)&un,
			   (socklen_t)(offsetof(struct sockaddr_un, sun_path) + 1 + strlen(name)));
	if (fd < 0 || rc)
		die("connect");
	for (unsigned int i = 1; i <= rounds; i++) {
		nap_until(&waiting, 1 + (int)i);
		nap_ms(ms);
		if (send(fd, "x", 1, 0) != 1)
			die("send");
	}
	thread_join(thread, &server_tid);
	truth_end();
	return 0;
}
