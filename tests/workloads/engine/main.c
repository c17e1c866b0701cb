/* SPDX-License-Identifier: (LGPL-2.1 OR BSD-2-Clause) */
/*
 * engine [SESSIONS [ROUNDS [SEED]]]: the stand-in at work. Sessions, each on a
 * thread, go through rounds in lock step. Which call is shared, fails, is
 * abandoned or runs a process follows from the numbers; who comes first is the
 * scheduler's, so one dump is compared with another of the same run only.
 *
 * ENGINE_WCPROF names the file for its own dump; ENGINE_BURN=N adds N threads
 * that burn CPU and stacks meanwhile. It prints the clock of its dump's time 0.
 */
#include <errno.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "engine.h"

#define SESSIONS_MAX 32
#define ROUNDS_MAX 64
#define PARTS 3

static struct engine engine = {
	.mutex = PTHREAD_MUTEX_INITIALIZER, .named = PTHREAD_COND_INITIALIZER,
	.threads_mutex = PTHREAD_MUTEX_INITIALIZER, .threads_ended = PTHREAD_COND_INITIALIZER, .name = "stand-in",
};

static unsigned int session_n = 6, round_n = 4;
static uint64_t seed = 1;
static pthread_barrier_t barrier;

/* What all sessions of a round share. */
static struct round {
	char name[24];
	struct request module, broken, image, part[PARTS];
	char module_digest[32], broken_digest[32], image_digest[32], part_digest[PARTS][32];
	struct lazy directory;
	struct service service;
	struct named_lock cache_volume, lazy_mu;
} rounds[ROUNDS_MAX];

/* A request and its digest; of the sessions' own, made when needed. */
struct own {
	struct request request;
	char digest[48];
};

static struct request *request_new(const char *field, const char *digest, unsigned int round, unsigned int session,
				   int (*resolve)(struct execution *))
{
	struct own *o = calloc(1, sizeof(*o));

	if (!o)
		abort();
	snprintf(o->digest, sizeof(o->digest), "sha:%s-%u-%u", digest, round, session);
	o->request = (struct request){.field = field, .digest = o->digest, .resolve = resolve, .number = round};
	return &o->request;
}

/* Durations: some milliseconds, by seed and what is asked for. */
static unsigned int some_ms(unsigned int a, unsigned int b, unsigned int most)
{
	uint64_t x = seed * 0x9e3779b97f4a7c15u + a * 0xbf58476d1ce4e5b9u + b * 0x94d049bb133111ebu;

	x ^= x >> 31;
	x *= 0xff51afd7ed558ccdu;
	return 1 + (unsigned int)((x >> 33) % most);
}

static void burn(unsigned int rounds_of_it)
{
	volatile unsigned int x = 1;

	for (unsigned int i = 0; i < rounds_of_it * 10000; i++)
		x = x * 1664525 + 1013904223;
}

/* ---- resolvers ---- */

struct part_task {
	struct session *session;
	const struct request *request;
	struct latch latch;
};

static int part_call(void *arg)
{
	struct part_task *t = arg;
	int r = engine_call(t->session->engine, t->session, t->request);

	pthread_mutex_lock(&t->latch.mutex);
	t->latch.done = true;
	pthread_cond_signal(&t->latch.ended);
	pthread_mutex_unlock(&t->latch.mutex);
	return r;
}

static int part_resolve(struct execution *x)
{
	burn(20);
	nap_ms(some_ms(x->request->number, 7, 6));
	return 0;
}

/* Loads the parts of a module at once, each on a thread, while others join. */
static int module_resolve(struct execution *x)
{
	struct round *r = &rounds[x->request->number];
	struct part_task *tasks = calloc(PARTS, sizeof(*tasks));

	if (!tasks)
		abort();
	for (size_t i = 0; i < PARTS; i++) {
		tasks[i] = (struct part_task){.session = x->session, .request = &r->part[i], .latch = LATCH_INIT};
		engine_spawn(&engine, part_call, &tasks[i]);
	}
	for (size_t i = 0; i < PARTS; i++) {
		pthread_mutex_lock(&tasks[i].latch.mutex);
		while (!tasks[i].latch.done)
			pthread_cond_wait(&tasks[i].latch.ended, &tasks[i].latch.mutex);
		pthread_mutex_unlock(&tasks[i].latch.mutex);
	}
	latch_gather(&x->latch, x->request->joiners + 1);
	nap_ms(2);
	return 0;
}

static int broken_resolve(struct execution *x)
{
	latch_gather(&x->latch, x->request->joiners + 1);
	nap_ms(1);
	return -EIO;
}

static int transfer_receive(void *arg)
{
	struct transfer *t = arg;

	nap_ms(4);
	t->bytes = 1 << 20;
	transfer_end(t, 0);
	return 0;
}

/* Pulls an image: others know it by name before it is there. */
static int image_resolve(struct execution *x)
{
	struct transfer *t = calloc(1, sizeof(*t));

	if (!t)
		abort();
	*t = (struct transfer){.ref = x->request->digest, .latch = LATCH_INIT};
	engine_name_result(&engine, x, x->request->digest);
	transfer_begin(t);
	engine_spawn(&engine, transfer_receive, t);
	nap_ms(some_ms(x->request->number, 3, 3));
	return transfer_wait(t);
}

static int image_digest_resolve(struct execution *x)
{
	return engine_await_result(&engine, rounds[x->request->number].image_digest);
}

static int directory_evaluate(struct lazy *l)
{
	struct request *r = request_new("Directory.entries", "entries", l->number, 0, part_resolve);

	latch_gather(&l->latch, session_n);
	return engine_call(&engine, l->session, r) < 0 ? -EIO : 0;
}

static int container_resolve(struct execution *x)
{
	static const char *const argv[] = {"/bin/sleep", "0.01", NULL};
	struct process *p = calloc(1, sizeof(*p));

	if (!p)
		abort();
	*p = (struct process){.id = x->request->digest, .argv = argv, .session = x->session, .latch = LATCH_INIT};
	return executor_run(p);
}

static int fails_resolve(struct execution *x)
{
	static const char *const argv[] = {"/bin/false", NULL};
	struct process *p = calloc(1, sizeof(*p));

	if (!p)
		abort();
	*p = (struct process){.id = x->request->digest, .argv = argv, .session = x->session, .latch = LATCH_INIT};
	return executor_run(p);
}

/* Goes on when its caller has left; every other one stops then. */
static int slow_resolve(struct execution *x)
{
	nap_ms(60 + x->request->number);
	return x->abandoned && x->request->number % 2 ? -ECANCELED : 0;
}

/* A call within the resolver of the one before, some deep. */
static int chain_resolve(struct execution *x)
{
	struct request *r = request_new("Chain.step", x->request->digest + strlen("sha:"), 0, 0, chain_resolve);

	if (strlen(r->digest) > 40)
		return 0;
	return engine_call(&engine, x->session, r) < 0 ? -EIO : 0;
}

/* Not cached itself, but asks for what is. */
static int version_resolve(struct execution *x)
{
	return engine_call(&engine, x->session, &rounds[x->request->number].module);
}

/* ---- sessions ---- */

typedef void query_fn(struct session *s, unsigned int round);

void engine_serve_query(struct session *s, const char *name, query_fn *query, unsigned int round);
void engine_serve_session(struct session *s);

static void query_load(struct session *s, unsigned int round)
{
	struct round *r = &rounds[round];
	struct request *version = request_new("Query.version", "version", round, s->number, version_resolve);

	engine_call(&engine, s, &r->module);
	version->do_not_cache = true;
	engine_call(&engine, s, version);
	engine_call(&engine, s, &r->broken);
	lazy_force(&r->directory);
	lazy_force(&r->directory);
}

static void query_build(struct session *s, unsigned int round)
{
	struct round *r = &rounds[round];
	struct request *q;

	if (s->number == 0) {
		engine_call(&engine, s, &r->image);
	} else {
		q = request_new("Image.digest", "digest", round, s->number, image_digest_resolve);
		q->do_not_cache = true;
		engine_call(&engine, s, q);
	}
	service_get(&r->service);
	service_get(&r->service);
	engine_call(&engine, s, request_new("Container.withExec", "exec", round, s->number,
					    s->number == 1 ? fails_resolve : container_resolve));
	engine_call(&engine, s, request_new("Chain.step", "chain", round, s->number, chain_resolve));
}

static void query_export(struct session *s, unsigned int round)
{
	struct round *r = &rounds[round];
	struct named_lock own = {.mutex = PTHREAD_MUTEX_INITIALIZER, .name = "own.lock"};
	struct request *q;

	for (int i = 0; i < 100; i++) {
		lock_take(&own);
		lock_drop(&own);
	}
	lock_take(&r->cache_volume);
	nap_ms(5);
	lock_drop(&r->cache_volume);
	if (s->number % 2) {
		lock_take(&r->lazy_mu);
		nap_ms(7);
		lock_drop(&r->lazy_mu);
	}
	if (s->number == 1 + round % (session_n - 1)) {
		q = request_new("Container.slow", "slow", round, s->number, slow_resolve);
		q->timeout_ms = 20;
		engine_call(&engine, s, q);
	}
}

void engine_serve_query(struct session *s, const char *name, query_fn *query, unsigned int round)
{
	rec_op op = rec_begin("session_phase", "engine.query", name, s->id);

	query(s, round);
	rec_end(op, NULL);
}

static const struct {
	const char *name;
	query_fn *run;
} queries[] = {{"load", query_load}, {"build", query_build}, {"export", query_export}};

void engine_serve_session(struct session *s)
{
	rec_op op = rec_begin("session_phase", "engine.session", s->id, s->id);

	for (unsigned int round = 0; round < round_n; round++)
		for (size_t i = 0; i < sizeof(queries) / sizeof(*queries); i++) {
			char *name;

			if (asprintf(&name, "%s/%u/%s", s->id, round, queries[i].name) < 0)
				abort();
			pthread_barrier_wait(&barrier);
			engine_serve_query(s, name, queries[i].run, round);
		}
	rec_end(op, NULL);
}

static int session_task(void *arg)
{
	engine_serve_session(arg);
	return 0;
}

/* ---- all of it ---- */

static void shared_request(struct request *r, char digest[static 32], const char *field, const char *name,
			   unsigned int round, int (*resolve)(struct execution *))
{
	snprintf(digest, 32, "sha:%s-%u", name, round);
	*r = (struct request){.field = field, .digest = digest, .resolve = resolve, .joiners = session_n - 1,
			      .number = round};
}

static void round_init(struct round *r, unsigned int number, struct session *owner)
{
	static const char *const names[PARTS] = {"part-a", "part-b", "part-c"};

	snprintf(r->name, sizeof(r->name), "round-%u", number);
	shared_request(&r->module, r->module_digest, "Module.load", "module", number, module_resolve);
	shared_request(&r->broken, r->broken_digest, "Module.broken", "broken", number, broken_resolve);
	shared_request(&r->image, r->image_digest, "Image.pull", "image", number, image_resolve);
	for (size_t i = 0; i < PARTS; i++)
		shared_request(&r->part[i], r->part_digest[i], "Module.part", names[i], number, part_resolve);
	r->directory = (struct lazy){.made_by = "Module.source", .name = r->name, .session = owner,
				     .evaluate = directory_evaluate, .latch = LATCH_INIT,
				     .once = PTHREAD_MUTEX_INITIALIZER, .number = number};
	r->service = (struct service){.session = owner, .latch = LATCH_INIT, .once = PTHREAD_MUTEX_INITIALIZER,
				      .start_ms = 3 + some_ms(number, 5, 8)};
	snprintf(r->service.host, sizeof(r->service.host), "svc-%u.local", number);
	r->cache_volume = (struct named_lock){.mutex = PTHREAD_MUTEX_INITIALIZER, .name = "cachelock:modules"};
	r->lazy_mu = (struct named_lock){.mutex = PTHREAD_MUTEX_INITIALIZER, .name = "core.LazyState.LazyMu"};
}

static atomic_bool burning = true;

static unsigned int deep(unsigned int n)
{
	volatile char room[512];

	room[0] = (char)n;
	return n ? deep(n - 1) + (unsigned char)room[0] : 0;
}

static int burner(void *arg)
{
	(void)arg;
	while (burning) {
		deep(100);
		burn(10);
	}
	return 0;
}

static unsigned int number(int argc, char **argv, int i, unsigned int otherwise, unsigned int least, unsigned int most)
{
	unsigned long v = i < argc ? strtoul(argv[i], NULL, 10) : otherwise;

	return v < least ? least : v > most ? most : (unsigned int)v;
}

int main(int argc, char **argv)
{
	static struct session sessions[SESSIONS_MAX];
	static char names[SESSIONS_MAX][8];
	struct engine burners = engine;
	const char *burn_n = getenv("ENGINE_BURN");
	int r;

	session_n = number(argc, argv, 1, session_n, 2, SESSIONS_MAX);
	round_n = number(argc, argv, 2, round_n, 1, ROUNDS_MAX);
	seed = number(argc, argv, 3, 1, 0, UINT32_MAX);
	pthread_barrier_init(&barrier, NULL, session_n);
	rec_start(getenv("ENGINE_WCPROF"));
	for (unsigned int i = 0; burn_n && i < strtoul(burn_n, NULL, 10); i++)
		engine_spawn(&burners, burner, NULL);
	for (unsigned int i = 0; i < session_n; i++) {
		snprintf(names[i], sizeof(names[i]), "s%u", i);
		sessions[i] = (struct session){.id = names[i], .engine = &engine, .number = i};
	}
	for (unsigned int i = 0; i < round_n; i++)
		round_init(&rounds[i], i, &sessions[0]);
	for (unsigned int i = 0; i < session_n; i++)
		engine_spawn(&engine, session_task, &sessions[i]);
	engine_drain(&engine);
	burning = false;
	engine_drain(&burners);
	r = rec_dump();
	if (r < 0)
		fprintf(stderr, "engine: %s\n", strerror(-r));
	rec_clock_print();
	printf("%u sessions, %u rounds\n", session_n, round_n);
	return r < 0;
}
