/* SPDX-License-Identifier: (LGPL-2.1 OR BSD-2-Clause) */
#pragma once
/* .gnu_debugdata: the symbols of static functions, packed, that some distributions leave in stripped files. */
#include <gelf.h>
#include <stddef.h>

/* Unpacked, an ELF file; malloc'd. -ENOENT: none, -EBADMSG: damaged, -EFBIG: too big, -ENOMEM. */
int minidebug_read(Elf *elf, void **ret, size_t *ret_n);
