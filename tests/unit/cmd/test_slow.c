/* SPDX-License-Identifier: (LGPL-2.1 OR BSD-2-Clause) */
#include <criterion/criterion.h>

#include "cmd/report-replay.h"

/* Of an engine that is right about the unchanged recording the answer is its own. */
Test(slow, an_exact_engine_is_believed)
{
	cr_expect(report_slow_then(20, 20, 5) == 5);
	cr_expect(report_slow_then(20, 20, 0) == 0);
	cr_expect(report_slow_then(20, 20, 20) == 20);
}

/* What it doesn't explain stays; what is more than there was can't be saved. */
Test(slow, of_another_what_it_saves)
{
	cr_expect(report_slow_then(20, 10, 5) == 15);
	cr_expect(report_slow_then(20, 40, 10) == 5);
	cr_expect(report_slow_then(20, 25, 24) == 19);
	cr_expect(report_slow_then(20, 40, 45) == 25);
	for (int64_t then = 1; then <= 33; then++)
		cr_expect(report_slow_then(20000, 33000, then * 1000) > 0);
}
