/* SPDX-License-Identifier: (LGPL-2.1 OR BSD-2-Clause) */
#pragma once
/* Strings that a program only has on disk yet: the programs that read values can't have a page that nobody touched. */
#include <stddef.h>

#include "bpf/wire.h"

struct constants;
struct proc_maps;

/* maps: to be there as long as this is; asked by the thread that writes them. */
int constants_new(struct proc_maps *maps, struct constants **ret);
struct constants *constants_free(struct constants *c);
/*
 * Puts into a hit (of which head.size says how long it is) the bytes of those of its values that were absent, where
 * they are constants of a file that its process has mapped. *ret_lost_n: values whose memory was not readable, and
 * that are not to be had in this way either. -EBADMSG: no hit, nothing was changed. -ENOMEM.
 */
int constants_fill(struct constants *c, struct wcbpf_op *op, size_t *ret_lost_n);
