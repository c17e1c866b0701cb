/* SPDX-License-Identifier: (LGPL-2.1 OR BSD-2-Clause) */
#include "nm.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

char *nm_next(char *text, struct nm *ret)
{
	while (text && *text) {
		char *end = strchr(text, '\n');

		if (end)
			*end++ = '\0';
		if (sscanf(text, "%" SCNx64 " %" SCNx64 " %c %1999s", &ret->value, &ret->size, &ret->type,
			   ret->name) == 4)
			return end ? end : text + strlen(text);
		text = end;
	}
	return NULL;
}
