/* SPDX-License-Identifier: (LGPL-2.1 OR BSD-2-Clause) */
#pragma once
/* One dump, made by a forked copy of the process. */
#include "cmd/facts.h"

struct live_job {
	pid_t pid;     /* 0: there is none */
	int result_fd; /* readable when it is done */
	int file_fd;   /* of a dump for a client; -1: a checkpoint */
	bool flush;
	uint64_t begin_ns;
};

struct live_job_request {
	struct capture *capture;
	const struct output_dir *dir;
	const struct output_facts *facts;
	int texts_fd; /* see texts_read() */
	bool checkpoint, flush;
};

/* Forks. 0, -errno: nothing has happened. */
int live_job_begin(const struct live_job_request *request, struct live_job *ret);
/* -EAGAIN: it is not done; 0: it is, *ret_size bytes of dump; or what it failed with. It is over then but for file_fd. */
int live_job_poll(struct live_job *j, uint64_t *ret_size);
/* Ends it, whatever it does. */
void live_job_kill(struct live_job *j);

/* The texts of the dumps so far, each with its NUL, as a dump leaves them for the next. 0, -errno. */
int live_texts_read(int fd, struct strtab **ret);
