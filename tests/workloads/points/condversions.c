/* SPDX-License-Identifier: (LGPL-2.1 OR BSD-2-Clause) */
/*
 * condversions default|old [N]: N waits on a condition variable, signalled by a
 * second thread, through the current pthread_cond_wait() or that of glibc 2.2.5.
 */
#include <dlfcn.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
/* The old one is a pointer to a new one, made at first use: room for either, zeroed. */
static union {
	pthread_cond_t new;
	void *old;
} cond;
static int (*cond_wait)(void *, pthread_mutex_t *), (*cond_signal)(void *);
static int turns, wanted;

static void *signaller(void *arg)
{
	(void)arg;
	for (int i = 1; i <= wanted; i++) {
		usleep(1000);
		pthread_mutex_lock(&mutex);
		turns = i;
		cond_signal(&cond);
		pthread_mutex_unlock(&mutex);
		for (bool taken = false; !taken; usleep(100)) {
			pthread_mutex_lock(&mutex);
			taken = turns == 0;
			pthread_mutex_unlock(&mutex);
		}
	}
	return NULL;
}

static void *function(const char *name, bool old)
{
	void *f = old ? dlvsym(RTLD_DEFAULT, name, "GLIBC_2.2.5") : dlsym(RTLD_DEFAULT, name);

	if (!f) {
		fprintf(stderr, "condversions: no %s\n", name);
		exit(99);
	}
	return f;
}

int main(int argc, char **argv)
{
	bool old = argc > 1 && !strcmp(argv[1], "old");
	int waits = 0;
	pthread_t thread;

	wanted = argc > 2 ? atoi(argv[2]) : 100;
	*(void **)&cond_wait = function("pthread_cond_wait", old);
	*(void **)&cond_signal = function("pthread_cond_signal", old);
	pthread_create(&thread, NULL, signaller, NULL);
	for (int i = 0; i < wanted; i++) {
		pthread_mutex_lock(&mutex);
		while (!turns) {
			cond_wait(&cond, &mutex);
			waits++;
		}
		turns = 0;
		pthread_mutex_unlock(&mutex);
	}
	pthread_join(thread, NULL);
	printf("waits=%d\n", waits);
	return 7;
}
