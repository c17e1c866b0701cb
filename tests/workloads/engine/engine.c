/* SPDX-License-Identifier: (LGPL-2.1 OR BSD-2-Clause) */
/*
 * Functions that other files don't use are global too, as far as a tracer is to
 * find them when all but the dynamic symbols is stripped.
 */
#include "engine.h"

#include <errno.h>
#include <spawn.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>

extern char **environ;

int engine_execute(struct execution *x);
int engine_wait(struct execution *x, bool joined, unsigned int timeout_ms);
void engine_publish(struct execution *x);
int lazy_evaluate(struct lazy *l);
int lazy_wait(struct lazy *l);
int service_start(struct service *s);
int service_wait(struct service *s);
int executor_exec(struct process *p);
int executor_start(struct process *p);
int executor_reap(struct process *p);
int executor_wait(struct process *p);
void executor_setup(struct process *p, const char *phase, unsigned int ms);

void nap_ms(unsigned int ms)
{
	struct timespec t = {.tv_sec = ms / 1000, .tv_nsec = (long)(ms % 1000) * 1000000};

	while (clock_nanosleep(CLOCK_MONOTONIC, 0, &t, &t) == EINTR)
		;
}

static const char *ok_or_error(int status)
{
	return status == -ECANCELED ? "canceled" : status < 0 ? "error" : "ok";
}

/* ---- latches ---- */

static void deadline_set(struct timespec *t, unsigned int ms)
{
	clock_gettime(CLOCK_REALTIME, t);
	t->tv_nsec += (long)(ms % 1000) * 1000000;
	t->tv_sec += ms / 1000 + t->tv_nsec / 1000000000;
	t->tv_nsec %= 1000000000;
}

/* Its status; -ECANCELED after timeout_ms. */
static int latch_wait(struct latch *l, unsigned int timeout_ms)
{
	struct timespec deadline;
	int status, r = 0;

	deadline_set(&deadline, timeout_ms);
	pthread_mutex_lock(&l->mutex);
	l->waiters++;
	pthread_cond_signal(&l->joined);
	while (!l->done && r == 0)
		r = timeout_ms ? pthread_cond_timedwait(&l->ended, &l->mutex, &deadline) :
				 pthread_cond_wait(&l->ended, &l->mutex);
	status = l->done ? l->status : -ECANCELED;
	pthread_mutex_unlock(&l->mutex);
	return status;
}

static void latch_open(struct latch *l, int status)
{
	pthread_mutex_lock(&l->mutex);
	l->status = status;
	l->done = true;
	pthread_cond_broadcast(&l->ended);
	pthread_mutex_unlock(&l->mutex);
}

void latch_gather(struct latch *l, unsigned int n)
{
	struct timespec deadline;
	int r = 0;

	deadline_set(&deadline, 1000);
	pthread_mutex_lock(&l->mutex);
	while (l->waiters < n && r == 0)
		r = pthread_cond_timedwait(&l->joined, &l->mutex, &deadline);
	pthread_mutex_unlock(&l->mutex);
}

/* ---- threads ---- */

struct task {
	struct engine *engine;
	int (*fn)(void *);
	void *arg;
	rec_op parent;
};

static void *task_run(void *arg)
{
	struct task *t = arg;

	rec_enter(t->parent);
	t->fn(t->arg);
	pthread_mutex_lock(&t->engine->threads_mutex);
	if (--t->engine->thread_n == 0)
		pthread_cond_signal(&t->engine->threads_ended);
	pthread_mutex_unlock(&t->engine->threads_mutex);
	return NULL;
}

void engine_spawn(struct engine *e, int (*fn)(void *), void *arg)
{
	struct task *t = calloc(1, sizeof(*t));
	pthread_attr_t attr;
	pthread_t thread;

	if (!t)
		abort();
	*t = (struct task){.engine = e, .fn = fn, .arg = arg, .parent = rec_current()};
	pthread_mutex_lock(&e->threads_mutex);
	e->thread_n++;
	pthread_mutex_unlock(&e->threads_mutex);
	pthread_attr_init(&attr);
	pthread_attr_setdetachstate(&attr, PTHREAD_CREATE_DETACHED);
	pthread_attr_setstacksize(&attr, 256 << 10);
	if (pthread_create(&thread, &attr, task_run, t) != 0)
		abort();
	pthread_attr_destroy(&attr);
}

void engine_drain(struct engine *e)
{
	pthread_mutex_lock(&e->threads_mutex);
	while (e->thread_n)
		pthread_cond_wait(&e->threads_ended, &e->threads_mutex);
	pthread_mutex_unlock(&e->threads_mutex);
}

/* ---- calls ---- */

static struct execution *cache_find(struct engine *e, const char *digest)
{
	for (struct execution *x = e->cache; x; x = x->next)
		if (!strcmp(x->request->digest, digest))
			return x;
	return NULL;
}

/* A failed execution is no result: who asks later tries again. */
static void cache_drop(struct engine *e, struct execution *x)
{
	pthread_mutex_lock(&e->mutex);
	for (struct execution **at = &e->cache; *at; at = &(*at)->next)
		if (*at == x) {
			*at = x->next;
			break;
		}
	pthread_mutex_unlock(&e->mutex);
}

void engine_publish(struct execution *x)
{
	rec_op op = rec_begin("internal", "dagql.publishResult", x->request->digest, x->session->id);

	nap_ms(1);
	rec_end(op, NULL);
}

int engine_execute(struct execution *x)
{
	rec_op op = x->op = rec_begin("call_exec", x->request->field, x->request->digest, x->session->id);
	int r = x->request->resolve(x);

	if (r < 0)
		cache_drop(x->session->engine, x);
	else
		engine_publish(x);
	latch_open(&x->latch, r);
	rec_end(op, ok_or_error(r));
	return r;
}

static int execute_task(void *arg)
{
	return engine_execute(arg);
}

int engine_wait(struct execution *x, bool joined, unsigned int timeout_ms)
{
	uint64_t start_ns = rec_clock();
	int r = latch_wait(&x->latch, timeout_ms);

	rec_wait(joined ? "singleflight" : "call_exec", &x->op, NULL, start_ns);
	if (r == -ECANCELED)
		x->abandoned = true;
	return r;
}

static struct execution *execution_new(struct session *s, const struct request *r)
{
	struct execution *x = calloc(1, sizeof(*x));

	if (!x)
		abort();
	*x = (struct execution){.request = r, .session = s, .latch = LATCH_INIT};
	return x;
}

static int call_cached(struct engine *e, struct session *s, const struct request *r)
{
	struct execution *x;
	bool joined, done;
	int status;

	pthread_mutex_lock(&e->mutex);
	x = cache_find(e, r->digest);
	joined = x != NULL;
	if (!x) {
		x = execution_new(s, r);
		x->next = e->cache;
		e->cache = x;
	}
	pthread_mutex_unlock(&e->mutex);
	pthread_mutex_lock(&x->latch.mutex);
	done = x->latch.done && x->latch.status >= 0;
	pthread_mutex_unlock(&x->latch.mutex);
	if (done)
		return CALL_HIT;
	if (!joined)
		engine_spawn(e, execute_task, x);
	status = engine_wait(x, joined, r->timeout_ms);
	return status < 0 ? status : joined ? CALL_JOINED : CALL_EXECUTED;
}

int engine_call(struct engine *e, struct session *s, const struct request *r)
{
	static const char *const outcomes[] = {[CALL_EXECUTED] = "executed", [CALL_HIT] = "hit", [CALL_JOINED] = "joined",
					       [CALL_NOT_CACHED] = "do_not_cache"};
	rec_op op = rec_begin("call", r->field, r->digest, s->id);
	int how;

	if (r->do_not_cache) {
		how = r->resolve(execution_new(s, r));
		if (how >= 0)
			how = CALL_NOT_CACHED;
	} else {
		how = call_cached(e, s, r);
	}
	rec_end(op, how < 0 ? ok_or_error(how) : outcomes[how]);
	return how;
}

void engine_name_result(struct engine *e, struct execution *x, const char *name)
{
	struct named_result *n = calloc(1, sizeof(*n));

	if (!n)
		abort();
	pthread_mutex_lock(&e->mutex);
	*n = (struct named_result){.name = name, .execution = x, .next = e->results};
	e->results = n;
	pthread_cond_broadcast(&e->named);
	pthread_mutex_unlock(&e->mutex);
}

static struct execution *result_find(struct engine *e, const char *name)
{
	for (struct named_result *n = e->results; n; n = n->next)
		if (!strcmp(n->name, name))
			return n->execution;
	return NULL;
}

int engine_await_result(struct engine *e, const char *name)
{
	uint64_t start_ns = rec_clock();
	struct execution *x;
	int r;

	pthread_mutex_lock(&e->mutex);
	while (!(x = result_find(e, name)))
		pthread_cond_wait(&e->named, &e->mutex);
	pthread_mutex_unlock(&e->mutex);
	r = latch_wait(&x->latch, 0);
	rec_wait("call_exec", &x->op, NULL, start_ns);
	return r;
}

/* ---- lazy values and services: one begins, all wait ---- */

static bool first(pthread_mutex_t *once, bool *started)
{
	bool is_first;

	pthread_mutex_lock(once);
	is_first = !*started;
	*started = true;
	pthread_mutex_unlock(once);
	return is_first;
}

static bool is_done(struct latch *l, int *status)
{
	bool done;

	pthread_mutex_lock(&l->mutex);
	done = l->done;
	*status = l->status;
	pthread_mutex_unlock(&l->mutex);
	return done;
}

int lazy_evaluate(struct lazy *l)
{
	rec_op op = l->op = rec_begin("lazy", l->made_by, l->name, l->session->id);
	int r = l->evaluate(l);

	latch_open(&l->latch, r);
	rec_end(op, ok_or_error(r));
	return r;
}

static int lazy_task(void *arg)
{
	return lazy_evaluate(arg);
}

int lazy_wait(struct lazy *l)
{
	uint64_t start_ns = rec_clock();
	int r = latch_wait(&l->latch, 0);

	rec_wait("lazy", &l->op, NULL, start_ns);
	return r;
}

int lazy_force(struct lazy *l)
{
	int status;

	if (is_done(&l->latch, &status))
		return status;
	if (first(&l->once, &l->started))
		engine_spawn(l->session->engine, lazy_task, l);
	return lazy_wait(l);
}

int service_start(struct service *s)
{
	rec_op op = s->op = rec_begin("service_start", "Service.start", s->host, s->session->id);

	nap_ms(s->start_ms);
	latch_open(&s->latch, 0);
	rec_end(op, "ok");
	return 0;
}

static int service_task(void *arg)
{
	return service_start(arg);
}

int service_wait(struct service *s)
{
	uint64_t start_ns = rec_clock();
	int r = latch_wait(&s->latch, 0);

	rec_wait("service", &s->op, NULL, start_ns);
	return r;
}

int service_get(struct service *s)
{
	int status;

	if (is_done(&s->latch, &status))
		return status;
	if (first(&s->once, &s->started))
		engine_spawn(s->session->engine, service_task, s);
	return service_wait(s);
}

/* ---- locks: waiting for one that is free is none ---- */

void lock_take(struct named_lock *l)
{
	uint64_t start_ns;

	if (pthread_mutex_trylock(&l->mutex) == 0)
		return;
	start_ns = rec_clock();
	pthread_mutex_lock(&l->mutex);
	rec_wait("lock", NULL, l->name, start_ns);
}

void lock_drop(struct named_lock *l)
{
	pthread_mutex_unlock(&l->mutex);
}

/* ---- transfers: begin here, end where the last byte comes ---- */

void transfer_begin(struct transfer *t)
{
	t->op = rec_open("io", "engine.transfer", t->ref, NULL);
}

void transfer_end(struct transfer *t, int status)
{
	rec_close(t->op, ok_or_error(status));
	latch_open(&t->latch, status);
}

int transfer_wait(struct transfer *t)
{
	uint64_t start_ns = rec_clock();
	int r = latch_wait(&t->latch, 0);

	rec_wait("io", &t->op, NULL, start_ns);
	return r;
}

/* ---- the executor ---- */

void executor_setup(struct process *p, const char *phase, unsigned int ms)
{
	rec_op op = rec_begin("exec_phase", phase, p->id, p->session->id);

	nap_ms(ms);
	rec_end(op, NULL);
}

int executor_start(struct process *p)
{
	rec_op op = rec_begin("exec_phase", "exec.containerStart", p->id, p->session->id);
	int r = posix_spawn(&p->pid, p->argv[0], NULL, NULL, (char *const *)(uintptr_t)p->argv, environ);

	if (r == 0)
		rec_link_process(p->op, p->pid);
	rec_end(op, r ? "error" : "ok");
	return -r;
}

int executor_reap(struct process *p)
{
	rec_op op = rec_begin("exec_phase", "exec.processRun", p->id, p->session->id);
	int r;

	while ((r = waitpid(p->pid, &p->status, 0)) < 0 && errno == EINTR)
		;
	rec_end(op, r < 0 ? "error" : "ok");
	return r < 0 ? -errno : 0;
}

int executor_exec(struct process *p)
{
	rec_op op = p->op = rec_begin("exec", "Container.exec", p->id, p->session->id);
	int r;

	executor_setup(p, "exec.setupNetwork", 1);
	executor_setup(p, "exec.setupRootfs", 2);
	r = executor_start(p);
	if (r == 0)
		r = executor_reap(p);
	if (r == 0 && p->status)
		r = -EIO;
	latch_open(&p->latch, r);
	rec_end(op, ok_or_error(r));
	return r;
}

static int exec_task(void *arg)
{
	return executor_exec(arg);
}

int executor_wait(struct process *p)
{
	uint64_t start_ns = rec_clock();
	int r = latch_wait(&p->latch, 0);

	rec_wait("exec", &p->op, NULL, start_ns);
	return r;
}

int executor_run(struct process *p)
{
	engine_spawn(p->session->engine, exec_task, p);
	return executor_wait(p);
}
