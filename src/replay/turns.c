/* SPDX-License-Identifier: (LGPL-2.1 OR BSD-2-Clause) */
#include "replay/turns.h"

#include <errno.h>
#include <stdlib.h>

int turns_init(struct turns *t, size_t strand_n)
{
	struct turns x = { .n = 1 };

	while (x.n < strand_n)
		x.n *= 2;
	x.v = malloc(2 * x.n * sizeof(*x.v));
	if (!x.v)
		return -ENOMEM;
	for (size_t i = 0; i < 2 * x.n; i++)
		x.v[i] = TURNS_NOBODY;
	*t = x;
	return 0;
}

void turns_done(struct turns *t)
{
	free(t->v);
	*t = (struct turns){ 0 };
}
