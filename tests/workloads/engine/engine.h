/* SPDX-License-Identifier: (LGPL-2.1 OR BSD-2-Clause) */
#pragma once
/*
 * An engine stand-in: what a build engine of the Dagger kind is made of, small.
 * A cache of calls with single flight, lazy values, services, named locks,
 * transfers that end on another thread, an executor of processes. Its functions
 * get what an engine's do; which ops and waits these are, a tracer must know
 * from outside. Beside it the engine keeps its own record (recorder.h).
 *
 * Nothing is freed before the end, as keys are addresses.
 */
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "recorder.h"

struct engine;
struct execution;

/* Something that ends once, with a status, and who waits for it. */
struct latch {
	pthread_mutex_t mutex;
	pthread_cond_t ended, joined;
	unsigned int waiters;
	int status;
	bool done;
};
#define LATCH_INIT \
	{ .mutex = PTHREAD_MUTEX_INITIALIZER, .ended = PTHREAD_COND_INITIALIZER, .joined = PTHREAD_COND_INITIALIZER }

struct session {
	const char *id;
	struct engine *engine;
	unsigned int number;
};

struct request {
	const char *field;  /* "Container.withExec" */
	const char *digest; /* of the whole recipe: the cache's key */
	bool do_not_cache;
	int (*resolve)(struct execution *x);
	unsigned int timeout_ms; /* how long the caller has patience, 0: for ever */
	unsigned int joiners;	 /* resolve waits until so many have joined */
	unsigned int number;	 /* for resolve */
};

/* One run of a request's resolver, shared by all who ask for it. */
struct execution {
	const struct request *request;
	struct session *session; /* of who came first */
	struct latch latch;
	struct execution *next; /* in the cache */
	atomic_bool abandoned;	/* a caller had no patience */
	rec_op op;
};

/* Outcomes of engine_call() that are no errors. */
enum { CALL_EXECUTED, CALL_HIT, CALL_JOINED, CALL_NOT_CACHED };

struct lazy {
	const char *made_by; /* field of the call that made it */
	const char *name;
	struct session *session;
	int (*evaluate)(struct lazy *l);
	struct latch latch;
	pthread_mutex_t once;
	bool started;
	unsigned int number;
	rec_op op;
};

struct service {
	struct session *session;
	char host[40];
	struct latch latch;
	pthread_mutex_t once;
	bool started;
	unsigned int start_ms;
	rec_op op;
};

struct transfer {
	const char *ref;
	uint64_t bytes;
	struct latch latch;
	rec_op op;
};

struct named_lock {
	pthread_mutex_t mutex;
	const char *name;
};

struct named_result {
	const char *name;
	struct execution *execution;
	struct named_result *next;
};

/* What a container run is here: a process. */
struct process {
	const char *id;
	const char *const *argv;
	struct session *session;
	int pid;
	int status;
	struct latch latch;
	rec_op op;
};

struct engine {
	pthread_mutex_t mutex;
	struct execution *cache;
	struct named_result *results;
	pthread_cond_t named;
	pthread_mutex_t threads_mutex;
	pthread_cond_t threads_ended;
	unsigned int thread_n;
	const char *name;
};

/* Runs fn on a thread of its own, which engine_drain() waits for. */
void engine_spawn(struct engine *e, int (*fn)(void *), void *arg);
void engine_drain(struct engine *e);

/* CALL_*, or -errno: what the resolver ended with, -ECANCELED. */
int engine_call(struct engine *e, struct session *s, const struct request *r);
/* The execution is what others can refer to by this name. */
void engine_name_result(struct engine *e, struct execution *x, const char *name);
/* Waits until the execution with this result has ended. */
int engine_await_result(struct engine *e, const char *name);

int lazy_force(struct lazy *l);
int service_get(struct service *s);
void lock_take(struct named_lock *l);
void lock_drop(struct named_lock *l);
void transfer_begin(struct transfer *t);
void transfer_end(struct transfer *t, int status);
int transfer_wait(struct transfer *t);
/* Runs a process on the executor's thread and waits for it: its exit status, -errno. */
int executor_run(struct process *p);

/* Waits until n others wait for l, at most a second. */
void latch_gather(struct latch *l, unsigned int n);
void nap_ms(unsigned int ms);
