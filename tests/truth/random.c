/* SPDX-License-Identifier: (LGPL-2.1 OR BSD-2-Clause) */
/*
 * Threads whose steps follow from seed=N: naps and work on the CPU, some within
 * one of two mutexes; perhaps the first makes items for the second, by a short
 * queue. Nobody chose them because a model gets them right. show=1 prints them.
 */
#include <stdbool.h>

#include "truth.h"

enum { THREADS_MAX = 5, STEPS_MAX = 5, PARTS = 6, LOCKS = 2, SLOTS = 2 };
enum role { ALONE, MAKES, TAKES };

struct step {
	unsigned int part, how; /* how: 0 without a lock, else with the one of that number - 1 */
};

struct plan {
	struct step steps[STEPS_MAX];
	unsigned int step_n, rounds;
	enum role role;
};

static struct plan plans[THREADS_MAX];
static unsigned int plan_n;
static unsigned long part_us[PARTS];
static bool part_burns[PARTS];
static pthread_mutex_t locks[LOCKS] = { PTHREAD_MUTEX_INITIALIZER, PTHREAD_MUTEX_INITIALIZER };
static struct {
	pthread_mutex_t lock;
	pthread_cond_t filled, emptied;
	unsigned int n;
} queue = { PTHREAD_MUTEX_INITIALIZER, PTHREAD_COND_INITIALIZER, PTHREAD_COND_INITIALIZER, 0 };

/* ---- what threads do: each part, and each way to do it, is a function of its own ---- */

static void work(unsigned int part)
{
	if (part_burns[part])
		truth_burn(part_us[part]);
	else
		truth_nap(part_us[part]);
}

#define PART(letter, number)                                                                                        \
	static TRUTH_FUNCTION void part_##letter(void)                                                              \
	{                                                                                                           \
		work(number);                                                                                       \
		__asm__ volatile("");                                                                               \
	}                                                                                                           \
	static TRUTH_FUNCTION void free_##letter(void)                                                              \
	{                                                                                                           \
		part_##letter();                                                                                    \
		__asm__ volatile("");                                                                               \
	}                                                                                                           \
	static TRUTH_FUNCTION void first_##letter(void)                                                             \
	{                                                                                                           \
		pthread_mutex_lock(&locks[0]);                                                                      \
		part_##letter();                                                                                    \
		pthread_mutex_unlock(&locks[0]);                                                                    \
	}                                                                                                           \
	static TRUTH_FUNCTION void second_##letter(void)                                                            \
	{                                                                                                           \
		pthread_mutex_lock(&locks[1]);                                                                      \
		part_##letter();                                                                                    \
		pthread_mutex_unlock(&locks[1]);                                                                    \
	}

PART(a, 0)
PART(b, 1)
PART(c, 2)
PART(d, 3)
PART(e, 4)
PART(f, 5)

static void (*const ways[PARTS][LOCKS + 1])(void) = {
	{ free_a, first_a, second_a }, { free_b, first_b, second_b }, { free_c, first_c, second_c },
	{ free_d, first_d, second_d }, { free_e, first_e, second_e }, { free_f, first_f, second_f },
};

static void put(void)
{
	pthread_mutex_lock(&queue.lock);
	while (queue.n == SLOTS)
		pthread_cond_wait(&queue.emptied, &queue.lock);
	queue.n++;
	pthread_cond_signal(&queue.filled);
	pthread_mutex_unlock(&queue.lock);
}

static void get(void)
{
	pthread_mutex_lock(&queue.lock);
	while (!queue.n)
		pthread_cond_wait(&queue.filled, &queue.lock);
	queue.n--;
	pthread_cond_signal(&queue.emptied);
	pthread_mutex_unlock(&queue.lock);
}

static void *follow(void *arg)
{
	const struct plan *p = arg;

	for (unsigned int r = 0; r < p->rounds; r++) {
		if (p->role == TAKES)
			get();
		for (unsigned int i = 0; i < p->step_n; i++)
			ways[p->steps[i].part][p->steps[i].how]();
		if (p->role == MAKES)
			put();
	}
	return NULL;
}

/* ---- which of it: knobs half_a=1 and so on, without another change ---- */

static unsigned int pick(uint64_t *state, unsigned int n)
{
	*state = *state * 6364136223846793005u + 1442695040888963407u;
	return (unsigned int)(*state >> 33) % n;
}

static void parts_make(uint64_t *state)
{
	for (unsigned int i = 0; i < PARTS; i++) {
		char knob[] = "half_a";

		knob[5] = (char)('a' + i);
		part_us[i] = 500 + 250 * pick(state, 15);
		part_burns[i] = pick(state, 4) == 0;
		part_us[i] /= part_burns[i] ? 2 : 1;
		part_us[i] /= truth_knob(knob, 0) ? 2 : 1;
	}
}

static void plans_make(uint64_t *state)
{
	bool queued;

	plan_n = 2 + pick(state, THREADS_MAX - 1);
	queued = pick(state, 2);
	for (unsigned int i = 0; i < plan_n; i++) {
		struct plan *p = &plans[i];

		p->step_n = 1 + pick(state, STEPS_MAX);
		p->rounds = 20 + pick(state, 20);
		for (unsigned int k = 0; k < p->step_n; k++) {
			unsigned int part = pick(state, PARTS), way = pick(state, 4);

			p->steps[k] = (struct step){ .part = part, .how = way < 2 ? 0 : way - 1 };
		}
	}
	if (!queued)
		return;
	plans[0].role = MAKES;
	plans[1].role = TAKES;
	plans[1].rounds = plans[0].rounds;
}

static void show(void)
{
	static const char *const roles[] = { "", " makes items", " takes items" };

	for (unsigned int i = 0; i < PARTS; i++)
		printf("part_%c %lu us%s\n", 'a' + i, part_us[i], part_burns[i] ? " on the CPU" : "");
	for (unsigned int i = 0; i < plan_n; i++) {
		printf("thread %u%s %u rounds:", i, roles[plans[i].role], plans[i].rounds);
		for (unsigned int k = 0; k < plans[i].step_n; k++)
			printf(" %c%s", 'a' + plans[i].steps[k].part, (const char *const[]){ "", "(1)", "(2)" }[plans[i].steps[k].how]);
		putchar('\n');
	}
}

int main(int argc, char **argv)
{
	pthread_t threads[THREADS_MAX];
	uint64_t state;

	truth_begin(argc, argv);
	state = truth_knob("seed", 1) * 0x9e3779b97f4a7c15u;
	pick(&state, 2);
	parts_make(&state);
	plans_make(&state);
	if (truth_knob("show", 0)) {
		show();
		return 0;
	}
	for (unsigned int i = 0; i < plan_n; i++) {
		char name[16];

		snprintf(name, sizeof(name), "t%u", i);
		threads[i] = truth_thread(follow, &plans[i], name);
	}
	for (unsigned int i = 0; i < plan_n; i++)
		pthread_join(threads[i], NULL);
	return truth_end();
}
