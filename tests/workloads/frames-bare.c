/* SPDX-License-Identifier: (LGPL-2.1 OR BSD-2-Clause) */
/*
 * A program without unwind tables, built with frame pointers (frames-bare-fp)
 * and without (frames-bare): sleeps below main, bare_outer, bare_middle and
 * bare_inner.
 */
#include "frames.h"

static FRAME int bare_inner(unsigned int i)
{
	ROOM(120);
	return LEAVE(frames_nap(1000 + i % 7 * 200));
}

static FRAME int bare_middle(unsigned int i)
{
	ROOM(248);
	return LEAVE(bare_inner(i));
}

static FRAME int bare_outer(unsigned int i)
{
	ROOM(40);
	return LEAVE(bare_middle(i));
}

int main(void)
{
	frames_ready();
	for (unsigned int i = 0; frames_go_on(); i++)
		bare_outer(i);
	return 0;
}
