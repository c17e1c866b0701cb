/* SPDX-License-Identifier: (LGPL-2.1 OR BSD-2-Clause) */
/* migrate [ROUNDS]: moves itself from CPU to CPU, with work and a nap on each. */
#include <sched.h>

#include "lib.h"

static cpu_set_t allowed;

/* The n-th CPU this process may run on, modulo their number. */
static int nth_cpu(unsigned int n)
{
	n %= (unsigned int)CPU_COUNT(&allowed);
	for (int cpu = 0; cpu < CPU_SETSIZE; cpu++)
		if (CPU_ISSET(cpu, &allowed) && !n--)
			return cpu;
	return 0;
}

int main(int argc, char **argv)
{
	unsigned int rounds = arg_number(argc, argv, 1, 200), moved = 0;

	truth_begin();
	sched_getaffinity(0, sizeof(allowed), &allowed);
	for (unsigned int i = 0; i < rounds; i++) {
		uint64_t until;
		cpu_set_t set;
		int cpu = nth_cpu(i);

		CPU_ZERO(&set);
		CPU_SET(cpu, &set);
		if (sched_setaffinity(0, sizeof(set), &set))
			die("sched_setaffinity");
		moved += sched_getcpu() == cpu;
		until = now_ns() + 200000;
		while (now_ns() < until)
			;
		nap_ms(2);
	}
	truth("moved n=%u cpus=%d", moved, CPU_COUNT(&allowed));
	truth_end();
	return 0;
}
