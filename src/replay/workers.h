/* SPDX-License-Identifier: (LGPL-2.1 OR BSD-2-Clause) */
#pragma once
/* Threads that may take their work from one place. Private to replay/. */
#include <stdbool.h>

#include "replay/plan.h"

/*
 * Are there several of one process and one name that each compute 5% of the whole or more, and are woken for work by
 * others of their process? Which of them takes which item then hangs on who is free, so on the CPUs too. The recording
 * doesn't tell items apart (one that is taken without waiting leaves no event), and a replay leaves each with who had it.
 */
bool workers_are_alike(const struct replay *r);
