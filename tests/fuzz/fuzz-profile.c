/* SPDX-License-Identifier: (LGPL-2.1 OR BSD-2-Clause) */
/* The reader of profiles as samply saves them. */
#include "dump/dump.h"
#include "input.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
	struct dump_problem problem = { 0 };
	struct dump_facts facts = { 0 };
	struct model *m = NULL;
	struct input x;

	input_init(&x, data, n);
	dump_is_profile(x.paths[0]);
	if (dump_read_profile(x.paths[0], &m, &facts, &problem) == 0) {
		model_free(m);
		dump_facts_done(&facts);
	}
	input_done(&x);
	return 0;
}
