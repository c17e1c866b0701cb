/* SPDX-License-Identifier: (LGPL-2.1 OR BSD-2-Clause) */
/* Three stages with bounded queues between them: the slowest stage sets the pace. */
#include "truth.h"

#define SLOTS 4

struct queue {
	pthread_mutex_t lock;
	pthread_cond_t filled, emptied;
	unsigned int n;
};

static struct queue queues[2] = {
	{ PTHREAD_MUTEX_INITIALIZER, PTHREAD_COND_INITIALIZER, PTHREAD_COND_INITIALIZER, 0 },
	{ PTHREAD_MUTEX_INITIALIZER, PTHREAD_COND_INITIALIZER, PTHREAD_COND_INITIALIZER, 0 },
};

static void put(struct queue *q)
{
	pthread_mutex_lock(&q->lock);
	while (q->n == SLOTS)
		pthread_cond_wait(&q->emptied, &q->lock);
	q->n++;
	pthread_cond_signal(&q->filled);
	pthread_mutex_unlock(&q->lock);
}

static void get(struct queue *q)
{
	pthread_mutex_lock(&q->lock);
	while (!q->n)
		pthread_cond_wait(&q->filled, &q->lock);
	q->n--;
	pthread_cond_signal(&q->emptied);
	pthread_mutex_unlock(&q->lock);
}

static TRUTH_FUNCTION void stage_one(void)
{
	truth_nap(truth_knob("one", 2000));
}

static TRUTH_FUNCTION void stage_two(void)
{
	truth_nap(truth_knob("two", 3000));
}

static TRUTH_FUNCTION void stage_three(void)
{
	truth_nap(truth_knob("three", 1000));
}

static void *first(void *arg)
{
	for (unsigned long i = 0; i < truth_knob("items", 80); i++) {
		stage_one();
		put(&queues[0]);
	}
	return arg;
}

static void *second(void *arg)
{
	for (unsigned long i = 0; i < truth_knob("items", 80); i++) {
		get(&queues[0]);
		stage_two();
		put(&queues[1]);
	}
	return arg;
}

static void *third(void *arg)
{
	for (unsigned long i = 0; i < truth_knob("items", 80); i++) {
		get(&queues[1]);
		stage_three();
	}
	return arg;
}

int main(int argc, char **argv)
{
	pthread_t a, b, c;

	truth_begin(argc, argv);
	a = truth_thread(first, NULL, "first");
	b = truth_thread(second, NULL, "second");
	c = truth_thread(third, NULL, "third");
	pthread_join(a, NULL);
	pthread_join(b, NULL);
	pthread_join(c, NULL);
	return truth_end();
}
