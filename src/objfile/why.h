/* SPDX-License-Identifier: (LGPL-2.1 OR BSD-2-Clause) */
#pragma once
/* Reasons for people, written where something fails. */
#include <stdarg.h>
#include <stdio.h>

#include "objfile/objfile.h"

/* Sets *ret (or NULL: nobody wants to know) and gives back err. */
static inline int __attribute__((format(printf, 3, 4))) why(struct objfile_why *ret, int err, const char *format, ...)
{
	va_list args;

	if (!ret)
		return err;
	va_start(args, format);
	vsnprintf(ret->text, sizeof(ret->text), format, args);
	va_end(args);
	return err;
}
