/* SPDX-License-Identifier: (LGPL-2.1 OR BSD-2-Clause) */
/*
 * The copy finishes the model as it was at the fork and writes it, at its
 * leisure: nicer than the loop, the first to go if memory is short, and never
 * longer than its parent. It begins by closing what it has of the kernel's: what
 * the recording detaches meanwhile must not stay attached because of it, and a
 * connection not open.
 *
 * Dumps of one run share one table of texts. Those of a copy are unknown to its
 * parent; so they are kept in a file in memory, which every copy reads, and
 * adds to when its dump is whole.
 */
#include "cmd/live-job.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "util/cleanup.h"
#include "util/strtab.h"

enum { BUFFER_BYTES = 1 << 16 };

struct job_result {
	int err;
	uint64_t size;
};

/* ---- texts ---- */

int live_texts_read(int fd, struct strtab **ret)
{
	_cleanup_(strtab_freep) struct strtab *t = NULL;
	_cleanup_(freep) char *bytes = NULL;
	struct stat st;
	uint32_t id;

	if (fstat(fd, &st) < 0)
		return -errno;
	bytes = malloc((size_t)st.st_size + 1);
	if (!bytes || strtab_new(&t) < 0)
		return -ENOMEM;
	for (size_t at = 0; at < (size_t)st.st_size;) {
		ssize_t n = pread(fd, bytes + at, (size_t)st.st_size - at, (off_t)at);

		if (n <= 0)
			return n < 0 ? -errno : -EIO;
		at += (size_t)n;
	}
	for (size_t at = 0; at < (size_t)st.st_size; at += strlen(bytes + at) + 1) {
		if (strtab_intern(t, bytes + at, &id) < 0)
			return -ENOMEM;
	}
	*ret = TAKE_PTR(t);
	return 0;
}

struct sink {
	int fd;
	size_t n;
	uint64_t size;
	char bytes[BUFFER_BYTES];
};

static int all_write(int fd, const char *bytes, size_t n)
{
	while (n) {
		ssize_t done = write(fd, bytes, n);

		if (done < 0 && errno == EINTR)
			continue;
		if (done <= 0)
			return done < 0 ? -errno : -EIO;
		bytes += done;
		n -= (size_t)done;
	}
	return 0;
}

static int sink_flush(struct sink *s)
{
	int r = all_write(s->fd, s->bytes, s->n);

	s->size += s->n;
	s->n = 0;
	return r;
}

static int sink_write(void *arg, const char *bytes, size_t n)
{
	struct sink *s = arg;
	int r = 0;

	while (n && r == 0) {
		size_t part = n < sizeof(s->bytes) - s->n ? n : sizeof(s->bytes) - s->n;

		memcpy(s->bytes + s->n, bytes, part);
		s->n += part;
		bytes += part;
		n -= part;
		if (s->n == sizeof(s->bytes))
			r = sink_flush(s);
	}
	return r;
}

/* Those after the first n. */
static int texts_write(int fd, const struct strtab *t, size_t n)
{
	_cleanup_(freep) struct sink *s = calloc(1, sizeof(*s));
	int r = 0;

	if (!s)
		return -ENOMEM;
	s->fd = fd;
	for (size_t i = n; r == 0 && i < strtab_n(t); i++) {
		const char *text = strtab_str(t, (uint32_t)i);

		r = sink_write(s, text, strlen(text) + 1);
	}
	return r < 0 ? r : sink_flush(s);
}

/* ---- the copy ---- */

/* Sockets, and whatever has no name: maps, links, events, timers. Files and pipes stay. */
static void kernels_close(void)
{
	DIR *d = opendir("/proc/self/fd");
	struct dirent *e;

	while (d && (e = readdir(d))) {
		char to[32];
		ssize_t n = readlinkat(dirfd(d), e->d_name, to, sizeof(to) - 1);

		if (n < 0)
			continue;
		to[n] = 0;
		if (strncmp(to, "anon_inode:", 11) == 0 || strncmp(to, "socket:", 7) == 0)
			close(atoi(e->d_name));
	}
	if (d)
		closedir(d);
}

/* A client waits for a dump, nobody for a checkpoint; on a busy host the nicest of all would never be done. */
enum { DUMP_NICE = 5, CHECKPOINT_NICE = 10 };

static void copy_settle(pid_t parent, bool checkpoint)
{
	_cleanup_(closep) int fd = open("/proc/self/oom_score_adj", O_WRONLY | O_CLOEXEC);

	prctl(PR_SET_PDEATHSIG, SIGKILL);
	if (getppid() != parent)
		_exit(1);
	prctl(PR_SET_NAME, "wcbpf-dump");
	setpriority(PRIO_PROCESS, 0, getpriority(PRIO_PROCESS, 0) + (checkpoint ? CHECKPOINT_NICE : DUMP_NICE));
	/* Refused or not: it makes the dump. */
	if (fd >= 0 && write(fd, "1000", 4) < 0)
		errno = 0;
}

static int dump_make(const struct live_job_request *q, int file_fd, uint64_t *ret_size)
{
	_cleanup_(strtab_freep) struct strtab *texts = NULL;
	_cleanup_(freep) struct sink *s = calloc(1, sizeof(*s));
	struct output_facts facts = *q->facts;
	int r = s ? live_texts_read(q->texts_fd, &texts) : -ENOMEM;
	size_t text_n;

	if (r < 0)
		return r;
	text_n = strtab_n(texts);
	facts.texts = texts;
	r = capture_snapshot(q->capture);
	if (r == 0 && q->checkpoint) {
		r = output_stop_write(q->dir, capture_model(q->capture), &facts);
	} else if (r == 0) {
		s->fd = file_fd;
		r = output_dump(capture_model(q->capture), &facts, sink_write, s);
		if (r == 0)
			r = sink_flush(s);
	}
	if (r == 0)
		r = texts_write(q->texts_fd, texts, text_n);
	*ret_size = s->size;
	return r;
}

static void copy_run(const struct live_job_request *q, int file_fd, int result_fd) __attribute__((noreturn));

static void copy_run(const struct live_job_request *q, int file_fd, int result_fd)
{
	struct job_result result = {0};

	result.err = capture_account(q->capture);
	kernels_close();
	if (result.err == 0)
		result.err = dump_make(q, file_fd, &result.size);
	_exit(all_write(result_fd, (const char *)&result, sizeof(result)) < 0);
}

/* ---- its parent ---- */

int live_job_begin(const struct live_job_request *q, struct live_job *ret)
{
	_cleanup_(closep) int file_fd = -1, read_fd = -1, write_fd = -1;
	pid_t parent = getpid(), pid;
	int fds[2], r = q->checkpoint ? 0 : output_unnamed_open(q->dir, &file_fd);

	if (r < 0)
		return r;
	if (pipe2(fds, O_CLOEXEC | O_NONBLOCK) < 0)
		return -errno;
	read_fd = fds[0];
	write_fd = fds[1];
	if (q->flush && capture_settle(q->capture) < 0)
		return -ENOMEM;
	pid = fork();
	if (pid == 0) {
		copy_settle(parent, q->checkpoint);
		copy_run(q, file_fd, write_fd);
	}
	if (pid < 0) {
		r = -errno;
		if (q->flush)
			capture_flush_drop(q->capture);
		return r;
	}
	*ret = (struct live_job){.pid = pid, .result_fd = TAKE_FD(read_fd), .file_fd = TAKE_FD(file_fd), .flush = q->flush};
	return 0;
}

static void job_reap(struct live_job *j)
{
	while (waitpid(j->pid, NULL, 0) < 0 && errno == EINTR)
		;
	j->pid = 0;
	closep(&j->result_fd);
	j->result_fd = -1;
}

int live_job_poll(struct live_job *j, uint64_t *ret_size)
{
	struct job_result result;
	ssize_t n = read(j->result_fd, &result, sizeof(result));

	if (n < 0 && (errno == EAGAIN || errno == EINTR))
		return -EAGAIN;
	/* It was killed, by whom there was no more memory for. */
	if (n != sizeof(result))
		result = (struct job_result){.err = -ENOMEM};
	job_reap(j);
	*ret_size = result.size;
	return result.err == -EAGAIN ? -EIO : result.err;
}

void live_job_kill(struct live_job *j)
{
	if (!j->pid)
		return;
	kill(j->pid, SIGKILL);
	job_reap(j);
	closep(&j->file_fd);
	j->file_fd = -1;
}
