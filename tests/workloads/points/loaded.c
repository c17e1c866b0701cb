/* SPDX-License-Identifier: (LGPL-2.1 OR BSD-2-Clause) */
/* The library of loads. */
int loaded_work(int i);

static volatile int sink;

int loaded_work(int i)
{
	sink += i;
	return sink & i;
}
