/* SPDX-License-Identifier: (LGPL-2.1 OR BSD-2-Clause) */
/* spin [MS [PROCESSES]]: busy loops that never block, each in a process of its own. */
#include <sys/wait.h>

#include "lib.h"

static __attribute__((noinline)) void spin_for(uint64_t ns)
{
	uint64_t until = now_ns() + ns;

	while (now_ns() < until)
		;
}

int main(int argc, char **argv)
{
	unsigned int ms = arg_number(argc, argv, 1, 2000), n = arg_number(argc, argv, 2, 1);

	for (unsigned int i = 0; i < n; i++) {
		pid_t pid = fork();

		if (pid < 0)
			die("fork");
		if (pid)
			continue;
		truth_begin();
		spin_for((uint64_t)ms * 1000000);
		truth_thread(truth_main_begin_ns);
		truth_flush();
		return 0;
	}
	for (unsigned int i = 0; i < n; i++)
		wait(NULL);
	return 0;
}
