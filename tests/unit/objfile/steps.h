/* SPDX-License-Identifier: (LGPL-2.1 OR BSD-2-Clause) */
#pragma once
/*
 * A program run instruction by instruction, with a shadow of its stack: each
 * call of a function must pass its entry once and leave by exactly one of its
 * exits, where CFA is what the scan says. The processor is the truth.
 */
#include <stddef.h>
#include <stdint.h>

struct steps_result {
	size_t instructions;
	size_t calls;	  /* that were checked from entry to exit */
	size_t functions; /* different ones, of them */
	size_t tails;	  /* left by a jump */
	size_t conditional;
	size_t unknown;	  /* calls of functions whose exits the scan doesn't know */
	size_t unwound;	  /* calls that were left otherwise: longjmp, exceptions */
	size_t wrong;	  /* each is a failed expectation too */
};

/* From main on to its end. Functions of the program and of the libraries whose paths are given (parts of them). */
void steps_run(const char *program, const char *const *libraries, struct steps_result *ret);
