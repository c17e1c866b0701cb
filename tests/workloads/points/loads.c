/* SPDX-License-Identifier: (LGPL-2.1 OR BSD-2-Clause) */
/* loads LIBRARY MS: twice loads a library, waits MS ms, calls its function 100 times and unloads it. */
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

static long calls(const char *library, unsigned int ms)
{
	void *handle = dlopen(library, RTLD_NOW);
	int (*f)(int) = NULL;
	long sum = 0;

	if (handle)
		*(void **)&f = dlsym(handle, "loaded_work");
	if (!f) {
		fprintf(stderr, "loads: %s\n", dlerror());
		exit(99);
	}
	usleep(ms * 1000);
	for (int i = 0; i < 100; i++)
		sum += f(i);
	dlclose(handle);
	return sum;
}

int main(int argc, char **argv)
{
	long sum = 0;

	for (int i = 0; i < 2; i++)
		sum += argc > 2 ? calls(argv[1], (unsigned int)atoi(argv[2])) : 0;
	printf("sum=%ld\n", sum);
	return 10;
}
