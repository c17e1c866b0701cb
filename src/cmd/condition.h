/* SPDX-License-Identifier: (LGPL-2.1 OR BSD-2-Clause) */
#pragma once
/* --fail-if: "lock > 10%, p99:Query.run >= 50ms, deadlocks > 0"; any of them is enough. */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct measures;

struct condition {
	char *text; /* as given */
	char *key;
	char op[3]; /* > >= < <= == != */
	double value;
	bool percent; /* of the measure's whole; of the value in A if it is a growth */
	bool relative; /* "+5%", "+10ms": by how much it grew, in diff only */
	uint8_t unit; /* enum measure_unit, if not percent */
};
struct conditions {
	struct condition *list;
	size_t n, cap;
};
/* Adds what the expression says. 0, -ENOMEM; -EINVAL with *ret_why, which begins with "--fail-if". */
int conditions_parse(struct conditions *c, const char *expr, char **ret_why);
void conditions_done(struct conditions *c);
/*
 * Does one hold? 1: yes, *ret_why says which and with what number; 0: no; -EINVAL with *ret_why: it asks for what is
 * not there, or for a growth. damage: what is wrong with the file, NULL: nothing. Of a file that is not whole only its
 * losses can be told: what else is asked counts as holding, or half a file would pass where the whole one doesn't.
 */
int conditions_judge(const struct conditions *c, const struct measures *m, const char *damage, char **ret_why);
/* The same for one, with a value found otherwise. */
bool condition_holds(const struct condition *c, double value);
