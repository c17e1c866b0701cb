/* SPDX-License-Identifier: (LGPL-2.1 OR BSD-2-Clause) */
/*
 * A library to load late, built twice: from LIBRARY, a or b, come the name of
 * the function that sleeps and the size of its frame, so that one taken for the
 * other shows.
 */
#include "frames.h"

int library_nap(void);

#define NAME_OF_(x) inside_##x
#define NAME_OF(x) NAME_OF_(x)

static FRAME int NAME_OF(LIBRARY)(void)
{
	ROOM(LIBRARY_ROOM);
	return LEAVE(frames_nap(1000));
}

int library_nap(void)
{
	ROOM(64 + LIBRARY_ROOM);
	return LEAVE(NAME_OF(LIBRARY)());
}
