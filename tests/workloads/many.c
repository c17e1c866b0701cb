/* SPDX-License-Identifier: (LGPL-2.1 OR BSD-2-Clause) */
/* many [THREADS [MS]]: that many threads with small stacks, each sleeps once. Prints how many there were. */
#include <limits.h>

#include "lib.h"

static unsigned int ms;

static void *sleeper(void *arg)
{
	usleep(ms * 1000);
	return arg;
}

int main(int argc, char **argv)
{
	unsigned int n = arg_number(argc, argv, 1, 12000), made = 0;
	pthread_attr_t attr;
	pthread_t *threads = calloc(n, sizeof(*threads));

	truth_begin();
	ms = arg_number(argc, argv, 2, 2000);
	pthread_attr_init(&attr);
	pthread_attr_setstacksize(&attr, PTHREAD_STACK_MIN + 16384);
	pthread_attr_setguardsize(&attr, 0);
	if (!threads)
		die("calloc");
	while (made < n && !pthread_create(&threads[made], &attr, sleeper, NULL))
		made++;
	for (unsigned int i = 0; i < made; i++)
		pthread_join(threads[i], NULL);
	free(threads);
	truth("made n=%u", made);
	truth_end();
	return 0;
}
