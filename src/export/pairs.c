/* SPDX-License-Identifier: (LGPL-2.1 OR BSD-2-Clause) */
#include "export/pairs.h"

#include <errno.h>

void pairs_done(struct pairs *p)
{
	map_free(p->numbers);
	*p = (struct pairs){ 0 };
}

int pairs_intern(struct pairs *p, uint32_t a, uint32_t b, uint32_t *ret, bool *ret_new)
{
	uint64_t key = (uint64_t)a << 32 | b, number;
	bool known;

	if (!p->numbers && map_new(&p->numbers) < 0)
		return -ENOMEM;
	known = map_get(p->numbers, key, &number);
	if (!known) {
		number = (uint64_t)p->n + 1;
		if (number > UINT32_MAX || map_put(p->numbers, key, number) < 0)
			return -ENOMEM;
		p->n++;
	}
	*ret = (uint32_t)number;
	if (ret_new)
		*ret_new = !known;
	return 0;
}
