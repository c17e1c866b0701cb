/* SPDX-License-Identifier: (LGPL-2.1 OR BSD-2-Clause) */
#pragma once
/* The call frame information of each mapped file. */
#include <elfutils/libdw.h>
#include <stdint.h>

#include "proc/proc.h"

struct objects;

int objects_new(struct objects **ret);
struct objects *objects_free(struct objects *o);
/*
 * The rules for the code at addr of a mapping, to be free()d. -ENOENT: there
 * are none. -ENOMEM.
 */
int objects_frame(struct objects *o, const struct proc_mapping *map, uint64_t addr, Dwarf_Frame **ret);
