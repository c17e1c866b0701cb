/* SPDX-License-Identifier: (LGPL-2.1 OR BSD-2-Clause) */
#pragma once
/* Refusals of the kernel that are no answer: a signal came, or it was busy. */
#include <errno.h>
#include <stdbool.h>

#define TRANSIENT_TRIES 5

/* Is a call that gave err (0, -errno) to be made once more? *tries: how often it was, 0 before; is counted up. */
static inline bool transient_again(int err, unsigned *tries)
{
	return (err == -EAGAIN || err == -EINTR) && ++*tries < TRANSIENT_TRIES;
}
