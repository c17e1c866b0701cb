/* SPDX-License-Identifier: (LGPL-2.1 OR BSD-2-Clause) */
/*
 * Functions with the symbols that Rust compilers give, in both manglings: the
 * examples of the documents that define them, so that no compiler is needed.
 * Sleeps below main and all of them in turn.
 */
#include "frames.h"

/* RFC 2603: mycrate::example in a crate whose disambiguator is left out of the name. */
int v0_function(void) __asm__("_RNvCs1234_7mycrate7example");
/* RFC 2603, "Unambiguous Encoding": a method of an inherent impl, a closure in it, a generic instance. */
int v0_method(void) __asm__("_RNvMCs1234_7mycrateNtB2_3Foo3bar");
int v0_closure(void) __asm__("_RNCNvCs1234_7mycrate7example0B3_");
int v0_generic(void) __asm__("_RINvNtC3std3mem8align_ofjE");
/* The older one, Itanium's with a hash at the end. */
int legacy(void) __asm__("_ZN4core3fmt9Formatter3pad17h0123456789abcdefE");
int legacy_closure(void) __asm__("_ZN7mycrate7example28_$u7b$$u7b$closure$u7d$$u7d$17hfedcba9876543210E");

FRAME int v0_function(void)
{
	ROOM(24);
	return LEAVE(frames_nap(1000));
}

FRAME int v0_method(void)
{
	ROOM(40);
	return LEAVE(v0_function());
}

FRAME int v0_closure(void)
{
	ROOM(56);
	return LEAVE(v0_method());
}

FRAME int v0_generic(void)
{
	ROOM(72);
	return LEAVE(v0_closure());
}

FRAME int legacy(void)
{
	ROOM(88);
	return LEAVE(v0_generic());
}

FRAME int legacy_closure(void)
{
	ROOM(104);
	return LEAVE(legacy());
}

int main(void)
{
	frames_ready();
	while (frames_go_on())
		legacy_closure();
	return 0;
}
