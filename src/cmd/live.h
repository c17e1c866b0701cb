/* SPDX-License-Identifier: (LGPL-2.1 OR BSD-2-Clause) */
#pragma once
/* What goes on beside a recording: the debug endpoint, dumps while it goes on, checkpoints. */
#include "cmd/facts.h"
#include "output/output.h"

struct live;

struct live_options {
	const struct capture_config *config;
	const char *target, *options;	 /* as facts_init() has them */
	const char *const *command;	 /* likewise, NULL: none */
	struct output_dir *dir;
	uid_t uid; /* whose the socket is, -1: ours */
	gid_t gid;
};

/* Listens, if that is asked for. -errno with one malloc'd line. o is copied, what it points to outlives *ret. */
int live_new(const struct live_options *o, struct live **ret, char **ret_why);
/* NULL-safe, gives NULL. */
struct live *live_free(struct live *l);
DEFINE_CLEANUP(struct live *, live_free)

/* An epoll fd: call live_run() when it is readable, and a few times a second. */
int live_fd(const struct live *l);
/* Recording has begun; c outlives it, or live_end() comes before. */
void live_begin(struct live *l, struct capture *c);
void live_run(struct live *l);
/* Before capture_stop(): a dump that is being made is given up, nothing was taken out for it. */
void live_end(struct live *l);
/* Was recording ever on? */
bool live_was_on(const struct live *l);
/* What the files need to go on where the dumps left off. Once; its strings are l's. */
void live_facts(struct live *l, struct output_facts *f);
/* Gives clients some seconds to read what they were promised. */
void live_drain(struct live *l);
