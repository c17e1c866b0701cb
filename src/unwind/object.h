/* SPDX-License-Identifier: (LGPL-2.1 OR BSD-2-Clause) */
#pragma once
/* The call frame information of each mapped file. */
#include <elfutils/libdw.h>
#include <stdbool.h>
#include <stdint.h>

#include "bpf/wire.h"
#include "proc/proc.h"

struct objects;

/* Register numbers are a machine's: those of another one would be taken for ours. */
bool object_is_of_our_machine(Elf *elf);

int objects_new(struct objects **ret);
struct objects *objects_free(struct objects *o);
/*
 * The rules for the code at addr of a mapping: to be free()d; or of Go code a
 * row, which lives as long as o, with ret untouched (else *ret_row is NULL). -ENOENT: there
 * are none. -ECHILD: none, and none needed, for it is the file's entry point,
 * which nobody has called. -ENOMEM.
 */
int objects_frame(struct objects *o, const struct proc_mapping *map, uint64_t addr, Dwarf_Frame **ret,
		  const struct wcbpf_rule **ret_row);
