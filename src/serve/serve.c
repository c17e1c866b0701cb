/* SPDX-License-Identifier: (LGPL-2.1 OR BSD-2-Clause) */
/*
 * The library runs in the caller's loop, without threads of its own: what a
 * request asks for is done where the recording is. It never waits for a client:
 * sockets don't block, an answer is a file that is complete before its first
 * byte is sent, and who neither sends nor reads for a while is cut off.
 *
 * A dump takes its time. Its connection is suspended, in a queue: one dump is
 * made at a time.
 */
#include "serve/serve.h"

#include <errno.h>
#include <microhttpd.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "serve/address.h"
#include "serve/request.h"
#include "util/log.h"
#include "util/text.h"

/* Each may hold a dump's file open. */
#define CONNECTIONS_MAX 16
#define IDLE_SECONDS 30
#define MEMORY_BYTES 16384
#define RUN_NS 2000000 /* so long at a time answers are sent: the caller records */
/* Of a body that is too long anyway so much is read, so that the answer arrives. */
#define BODY_READ_MAX 65536

#define OVER "recording is over: its last dump is in its folder"

enum wait { WAIT_NONE, WAIT_QUEUED, WAIT_MADE, WAIT_DONE };

/* One request. */
struct exchange {
	struct MHD_Connection *connection;
	struct exchange *next; /* in the queue */
	size_t read_n;	       /* of its body */
	uint64_t size;
	int fd, err;	       /* WAIT_DONE: the dump, -1: none and why */
	enum wait wait;
	bool flush;
	char body[SERVE_BODY_MAX + 1];
};

struct serve {
	struct serve_host host;
	struct MHD_Daemon *daemon;
	int epoll_fd, again_fd; /* of both: the library's fd and ours */
	struct exchange *queue; /* the first's dump is being made */
	size_t exchange_n;	/* requests that are not answered to the end */
	bool local, over;
	char *path;		/* of the unix socket */
	dev_t dev;
	ino_t ino;
};

static enum MHD_Result answer(struct MHD_Connection *c, unsigned status, struct MHD_Response *r, const char *type)
{
	enum MHD_Result ok;

	if (!r)
		return MHD_NO;
	MHD_add_response_header(r, MHD_HTTP_HEADER_CONTENT_TYPE, type);
	MHD_add_response_header(r, MHD_HTTP_HEADER_CACHE_CONTROL, "no-store");
	MHD_add_response_header(r, "X-Content-Type-Options", "nosniff");
	ok = MHD_queue_response(c, status, r);
	MHD_destroy_response(r);
	return ok;
}

static enum MHD_Result answer_text(struct MHD_Connection *c, unsigned status, const char *text, const char *allow)
{
	char line[400];
	struct MHD_Response *r;

	snprintf(line, sizeof(line), "%s\n", text);
	r = MHD_create_response_from_buffer(strlen(line), line, MHD_RESPMEM_MUST_COPY);
	if (r && allow)
		MHD_add_response_header(r, MHD_HTTP_HEADER_ALLOW, allow);
	return answer(c, status, r, "text/plain; charset=utf-8");
}

static enum MHD_Result answer_state(struct serve *s, struct MHD_Connection *c)
{
	bool enabled, active;
	char text[80];

	s->host.state(s->host.arg, &enabled, &active);
	snprintf(text, sizeof(text), "{\"global_enabled\":%s,\"recorder_active\":%s}\n", enabled ? "true" : "false",
		 active ? "true" : "false");
	return answer(c, MHD_HTTP_OK, MHD_create_response_from_buffer(strlen(text), text, MHD_RESPMEM_MUST_COPY),
		      "application/json");
}

static enum MHD_Result answer_switch(struct serve *s, struct MHD_Connection *c, bool on)
{
	char text[160];
	int r = s->over ? -ESHUTDOWN : s->host.set(s->host.arg, on);

	if (r == 0)
		return answer_state(s, c);
	snprintf(text, sizeof(text), "recording can't be switched: %s", r == -ESHUTDOWN ? "it is over" : strerror(-r));
	return answer_text(c, MHD_HTTP_SERVICE_UNAVAILABLE, text, NULL);
}

/* ---- dumps ---- */

static void dump_begin(struct serve *s)
{
	struct exchange *x = s->queue;

	if (!x || x->wait != WAIT_QUEUED)
		return;
	x->wait = WAIT_MADE;
	s->host.dump(s->host.arg, x->flush);
}

static enum MHD_Result dump_ask(struct serve *s, struct exchange *x, bool flush)
{
	struct exchange **last = &s->queue;
	bool enabled, active;

	if (s->over)
		return answer_text(x->connection, MHD_HTTP_SERVICE_UNAVAILABLE, OVER, NULL);
	s->host.state(s->host.arg, &enabled, &active);
	if (!active)
		return answer_text(x->connection, MHD_HTTP_SERVICE_UNAVAILABLE,
				   "there is nothing to dump: recording was not switched on yet (POST on to /debug/wcprof/enabled)",
				   NULL);
	while (*last)
		last = &(*last)->next;
	*last = x;
	x->wait = WAIT_QUEUED;
	x->flush = flush;
	MHD_suspend_connection(x->connection);
	dump_begin(s);
	return MHD_YES;
}

static enum MHD_Result dump_answer(struct exchange *x)
{
	struct MHD_Response *r;
	char text[200];

	if (x->err) {
		if (x->err == -ESHUTDOWN)
			return answer_text(x->connection, MHD_HTTP_SERVICE_UNAVAILABLE, OVER, NULL);
		snprintf(text, sizeof(text), "no dump could be made, nothing was taken out: %s", strerror(-x->err));
		return answer_text(x->connection, MHD_HTTP_INTERNAL_SERVER_ERROR, text, NULL);
	}
	/* Takes the fd. */
	r = MHD_create_response_from_fd64(x->size, x->fd);
	if (r)
		x->fd = -1;
	return answer(x->connection, MHD_HTTP_OK, r, "application/x-ndjson");
}

/* The first of the queue has its answer. */
static void dump_end(struct serve *s, int err, int fd, uint64_t size)
{
	struct exchange *x = s->queue;

	s->queue = x->next;
	x->err = err;
	x->fd = fd;
	x->size = size;
	x->wait = WAIT_DONE;
	MHD_resume_connection(x->connection);
}

void serve_dump_done(struct serve *s, int err, int fd, uint64_t size)
{
	if (!s->queue || s->queue->wait != WAIT_MADE) {
		closep(&fd);
		return;
	}
	dump_end(s, err, fd, size);
	dump_begin(s);
}

void serve_close_dumps(struct serve *s)
{
	s->over = true;
	while (s->queue)
		dump_end(s, -ESHUTDOWN, -1, 0);
}

/* ---- requests ---- */

static enum MHD_Result request_answer(struct serve *s, struct exchange *x, const char *method, const char *path)
{
	struct MHD_Connection *c = x->connection;
	struct serve_verdict v = serve_judge(&(struct serve_request){
		.method = method,
		.path = path,
		.v = MHD_lookup_connection_value(c, MHD_GET_ARGUMENT_KIND, "v"),
		.flush = MHD_lookup_connection_value(c, MHD_GET_ARGUMENT_KIND, "flush"),
		.host = MHD_lookup_connection_value(c, MHD_HEADER_KIND, MHD_HTTP_HEADER_HOST),
		.origin = MHD_lookup_connection_value(c, MHD_HEADER_KIND, MHD_HTTP_HEADER_ORIGIN),
		.fetch_site = MHD_lookup_connection_value(c, MHD_HEADER_KIND, "Sec-Fetch-Site"),
		.local = s->local,
		.body = x->body,
		.body_n = x->read_n,
	});

	switch (v.action) {
	case SERVE_STATE:
		return answer_state(s, c);
	case SERVE_ON:
	case SERVE_OFF:
		return answer_switch(s, c, v.action == SERVE_ON);
	case SERVE_DUMP:
	case SERVE_DUMP_KEEP:
		return dump_ask(s, x, v.action == SERVE_DUMP);
	default:
		return answer_text(c, v.status, v.text, v.allow);
	}
}

static enum MHD_Result on_request(void *arg, struct MHD_Connection *c, const char *path, const char *method,
				  const char *version, const char *bytes, size_t *n, void **exchange)
{
	struct serve *s = arg;
	struct exchange *x = *exchange;

	(void)version;
	/* First its headers are told, then its body in pieces, then that that is all. */
	if (!x) {
		x = calloc(1, sizeof(*x));
		if (!x)
			return MHD_NO;
		x->connection = c;
		x->fd = -1;
		*exchange = x;
		s->exchange_n++;
		return MHD_YES;
	}
	if (*n) {
		size_t room = x->read_n < sizeof(x->body) ? sizeof(x->body) - x->read_n : 0;

		if (room)
			memcpy(x->body + x->read_n, bytes, *n < room ? *n : room);
		x->read_n += *n;
		*n = 0;
		return x->read_n <= BODY_READ_MAX ? MHD_YES : MHD_NO;
	}
	return x->wait == WAIT_DONE ? dump_answer(x) : request_answer(s, x, method, path);
}

static void on_completed(void *arg, struct MHD_Connection *c, void **exchange, enum MHD_RequestTerminationCode code)
{
	struct exchange *x = *exchange;
	struct serve *s = arg;

	(void)c, (void)code;
	if (!x)
		return;
	/* While the queue has it, its connection is suspended, and ends only with all. */
	for (struct exchange **at = &s->queue; *at; at = &(*at)->next) {
		if (*at != x)
			continue;
		*at = x->next;
		break;
	}
	closep(&x->fd);
	free(x);
	*exchange = NULL;
	s->exchange_n--;
}

/* ---- its life ---- */

int serve_check(const char *address, char **ret_why)
{
	struct serve_address a;

	return serve_address_parse(address, &a, ret_why);
}

static int refuse_start(const char *address, char **ret_why)
{
	*ret_why = text_format("--listen %s: the HTTP library could not be started", address);
	return *ret_why ? -EIO : -ENOMEM;
}

static int epoll_add(struct serve *s, int fd)
{
	struct epoll_event event = {.events = EPOLLIN};

	return epoll_ctl(s->epoll_fd, EPOLL_CTL_ADD, fd, &event) < 0 ? -errno : 0;
}

/* One fd for two: the library's, and ours for what is left to do. */
static int events_open(struct serve *s)
{
	const union MHD_DaemonInfo *info = MHD_get_daemon_info(s->daemon, MHD_DAEMON_INFO_EPOLL_FD);
	int r;

	s->epoll_fd = epoll_create1(EPOLL_CLOEXEC);
	s->again_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	if (s->epoll_fd < 0 || s->again_fd < 0)
		return -errno;
	r = epoll_add(s, s->again_fd);
	return r < 0 ? r : epoll_add(s, info->epoll_fd);
}

int serve_new(const char *address, uid_t uid, gid_t gid, const struct serve_host *host, struct serve **ret, char **ret_why)
{
	_cleanup_(serve_freep) struct serve *s = calloc(1, sizeof(*s));
	_cleanup_(closep) int fd = -1;
	struct serve_address a;
	int r = s ? serve_address_parse(address, &a, ret_why) : -ENOMEM;

	if (s)
		s->epoll_fd = s->again_fd = -1;
	if (r == 0)
		r = serve_address_listen(address, &a, uid, gid, &fd, &s->dev, &s->ino, ret_why);
	if (r < 0)
		return r;
	s->host = *host;
	s->local = a.local;
	if (a.local) {
		s->path = strdup(((struct sockaddr_un *)&a.addr)->sun_path);
		if (!s->path)
			return -ENOMEM;
	}
	s->daemon = MHD_start_daemon(MHD_USE_EPOLL | MHD_ALLOW_SUSPEND_RESUME, 0, NULL, NULL, on_request, s,
				     MHD_OPTION_LISTEN_SOCKET, (MHD_socket)fd,
				     MHD_OPTION_CONNECTION_LIMIT, (unsigned)CONNECTIONS_MAX,
				     MHD_OPTION_CONNECTION_TIMEOUT, (unsigned)IDLE_SECONDS,
				     MHD_OPTION_CONNECTION_MEMORY_LIMIT, (size_t)MEMORY_BYTES,
				     MHD_OPTION_NOTIFY_COMPLETED, on_completed, s, MHD_OPTION_END);
	if (!s->daemon)
		return refuse_start(address, ret_why);
	TAKE_FD(fd); /* the library's */
	r = events_open(s);
	if (r < 0)
		return r;
	*ret = TAKE_PTR(s);
	return 0;
}

struct serve *serve_free(struct serve *s)
{
	struct stat st;

	if (!s)
		return NULL;
	/* Suspended connections must be resumed before the library stops. */
	if (s->daemon) {
		serve_close_dumps(s);
		MHD_run(s->daemon);
		MHD_stop_daemon(s->daemon);
	}
	if (s->path && lstat(s->path, &st) == 0 && st.st_dev == s->dev && st.st_ino == s->ino)
		unlink(s->path);
	closep(&s->again_fd);
	closep(&s->epoll_fd);
	free(s->path);
	free(s);
	return NULL;
}

static uint64_t now_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

int serve_fd(const struct serve *s)
{
	return s->epoll_fd;
}

/*
 * A run sends one piece of each answer, and the library's fd tells of changes alone: that there is more to send only
 * its timeout says. What a moment is too short for goes on when the caller comes back, which it does at once.
 */
void serve_run(struct serve *s)
{
	uint64_t until_ns = now_ns() + RUN_NS, ring;
	MHD_UNSIGNED_LONG_LONG ms;
	bool more;

	if (read(s->again_fd, &ring, sizeof(ring)) < 0 && errno != EAGAIN)
		log_debug("serve: %s", strerror(errno));
	do {
		MHD_run(s->daemon);
		more = MHD_get_timeout(s->daemon, &ms) == MHD_YES && ms == 0;
	} while (more && now_ns() < until_ns);
	ring = 1;
	if (more && write(s->again_fd, &ring, sizeof(ring)) < 0)
		log_debug("serve: %s", strerror(errno));
}

bool serve_is_busy(const struct serve *s)
{
	return s->exchange_n > 0;
}
