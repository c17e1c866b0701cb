/* SPDX-License-Identifier: (LGPL-2.1 OR BSD-2-Clause) */
#pragma once
/* How every verb begins: what its options alone may settle. */
#include "cmd/options.h"

/*
 * err and why (NULL: of err) are of reading the options of verb. True: it has nothing more to do, the options were
 * refused or asked for help or the version, and *ret_status is its exit status, refused where they were. False: the
 * options that all verbs have are in force.
 */
bool verb_settle(const char *verb, int err, const char *why, const struct options_all *all, int refused, int *ret_status);
/* Says that verb can't do what the options ask for, and where to look. */
void verb_refuse(const char *verb, const char *why);
