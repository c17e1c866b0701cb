/* SPDX-License-Identifier: (LGPL-2.1 OR BSD-2-Clause) */
/*
 * A condition variable with a time limit. Odd rounds are answered in time; even
 * ones never are: there the limit runs out, and something else is done.
 */
#include "truth.h"

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t asked = PTHREAD_COND_INITIALIZER, answered;
static unsigned long question, answer;

static TRUTH_FUNCTION void answer_work(void)
{
	truth_nap(truth_knob("work", 4000));
}

static TRUTH_FUNCTION void fall_back(void)
{
	truth_nap(truth_knob("fallback", 1000));
}

static void *helper(void *arg)
{
	unsigned long rounds = truth_knob("rounds", 30);

	for (unsigned long i = 1; i <= rounds; i += 2) {
		pthread_mutex_lock(&lock);
		while (question < i)
			pthread_cond_wait(&asked, &lock);
		pthread_mutex_unlock(&lock);
		answer_work();
		pthread_mutex_lock(&lock);
		answer = i;
		pthread_cond_signal(&answered);
		pthread_mutex_unlock(&lock);
	}
	return arg;
}

/* True: in time. */
static TRUTH_FUNCTION int ask(unsigned long i)
{
	uint64_t until = truth_clock(CLOCK_MONOTONIC) + truth_knob("limit", 10000) * 1000;
	struct timespec t = { .tv_sec = (time_t)(until / 1000000000u), .tv_nsec = (long)(until % 1000000000u) };
	int err = 0;

	pthread_mutex_lock(&lock);
	question = i;
	if (i % 2)
		pthread_cond_signal(&asked);
	while (answer < i && !err)
		err = pthread_cond_timedwait(&answered, &lock, &t);
	pthread_mutex_unlock(&lock);
	return !err;
}

int main(int argc, char **argv)
{
	pthread_condattr_t attr;
	pthread_t t;

	truth_begin(argc, argv);
	pthread_condattr_init(&attr);
	pthread_condattr_setclock(&attr, CLOCK_MONOTONIC);
	pthread_cond_init(&answered, &attr);
	t = truth_thread(helper, NULL, "helper");
	for (unsigned long i = 1; i <= truth_knob("rounds", 30); i++) {
		if (!ask(i))
			fall_back();
	}
	pthread_join(t, NULL);
	return truth_end();
}
