/* SPDX-License-Identifier: (LGPL-2.1 OR BSD-2-Clause) */
#pragma once
/* The debug information of a file, read into memory, for libdw. */
#include <elfutils/libdw.h>
#include <stdbool.h>
#include <stddef.h>

#include "objfile/objfile.h"

struct image {
	void *bytes;  /* as long as the file, with what libdw needs to know of it */
	size_t n;
	bool places;
	size_t read_n; /* bytes of memory it takes, unpacked sections included */
	Elf *elf;
	Dwarf *dwarf;
};

/* places: with where variables are, at each address. o is not needed afterwards. -ENOENT: no debug information, -EFBIG: more than bytes_max, -EBADMSG, -errno. */
int image_read(struct objfile *o, size_t bytes_max, bool places, struct image *ret);
void image_done(struct image *image);
