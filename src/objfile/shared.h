/* SPDX-License-Identifier: (LGPL-2.1 OR BSD-2-Clause) */
#pragma once
/* The file that a debug file shares contents with (dwz). */
#include <stddef.h>

#include "objfile/image.h"
#include "objfile/objfile.h"

/*
 * Reads it, if o names one and it is to be had, at most bytes_max, and makes of's libdw handle know it. Without it
 * nothing fails: *ret stays empty. -ENOMEM, -EFBIG.
 */
int shared_read(struct objfile *o, const struct objfile_search *where, size_t bytes_max, const struct image *of,
		struct image *ret);
