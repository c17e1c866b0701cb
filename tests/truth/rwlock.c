/* SPDX-License-Identifier: (LGPL-2.1 OR BSD-2-Clause) */
/* Readers and a writer; the lock prefers writers, or the readers would never let it in. */
#include "truth.h"

static pthread_rwlock_t lock;

static TRUTH_FUNCTION void read_part(void)
{
	truth_nap(truth_knob("read", 1000));
}

static TRUTH_FUNCTION void write_part(void)
{
	truth_nap(truth_knob("write", 4000));
}

static TRUTH_FUNCTION void think(void)
{
	truth_nap(truth_knob("think", 1000));
}

static void *reader(void *arg)
{
	for (unsigned long i = 0; i < truth_knob("rounds", 40); i++) {
		pthread_rwlock_rdlock(&lock);
		read_part();
		pthread_rwlock_unlock(&lock);
		think();
	}
	return arg;
}

static void *writer(void *arg)
{
	for (unsigned long i = 0; i < truth_knob("rounds", 40); i++) {
		pthread_rwlock_wrlock(&lock);
		write_part();
		pthread_rwlock_unlock(&lock);
		think();
	}
	return arg;
}

int main(int argc, char **argv)
{
	pthread_rwlockattr_t attr;
	pthread_t threads[4];

	truth_begin(argc, argv);
	pthread_rwlockattr_init(&attr);
	pthread_rwlockattr_setkind_np(&attr, PTHREAD_RWLOCK_PREFER_WRITER_NONRECURSIVE_NP);
	truth_check(pthread_rwlock_init(&lock, &attr), "pthread_rwlock_init");
	for (int i = 0; i < 4; i++)
		threads[i] = truth_thread(i ? reader : writer, NULL, i ? "reader" : "writer");
	for (int i = 0; i < 4; i++)
		pthread_join(threads[i], NULL);
	return truth_end();
}
