/* SPDX-License-Identifier: (LGPL-2.1 OR BSD-2-Clause) */
/* One thread, three steps a round: what is saved in a step is saved in all. */
#include "truth.h"

static TRUTH_FUNCTION void fetch(unsigned long us)
{
	truth_nap(us);
}

static TRUTH_FUNCTION void parse(unsigned long us)
{
	truth_burn(us);
}

static TRUTH_FUNCTION void store(unsigned long us)
{
	truth_nap(us);
}

int main(int argc, char **argv)
{
	truth_begin(argc, argv);
	for (unsigned long i = 0; i < truth_knob("rounds", 40); i++) {
		fetch(truth_knob("fetch", 4000));
		parse(truth_knob("parse", 1000));
		store(truth_knob("store", 1000));
	}
	return truth_end();
}
