/* SPDX-License-Identifier: (LGPL-2.1 OR BSD-2-Clause) */
#pragma once
/* Ownership a reader can check without reading the callees: scope-bound cleanup and explicit hand-over. */
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#define _cleanup_(f) __attribute__((cleanup(f)))

#define TAKE_PTR(p)                      \
	({                               \
		__typeof__(p) _p = (p);  \
		(p) = NULL;              \
		_p;                      \
	})
#define TAKE_FD(fd)                \
	({                         \
		int _fd = (fd);    \
		(fd) = -1;         \
		_fd;               \
	})

/* DEFINE_CLEANUP(struct model *, model_free) makes model_freep() for _cleanup_(model_freep). */
#define DEFINE_CLEANUP(type, func)                                    \
	static inline __attribute__((unused)) void func##p(type *p) \
	{                                                             \
		if (*p)                                               \
			func(*p);                                     \
	}

static inline void freep(void *p)
{
	free(*(void **)p);
}
static inline void closep(int *fd)
{
	if (*fd >= 0)
		close(*fd);
}
static inline void fclosep(FILE **f)
{
	if (*f)
		fclose(*f);
}
