/* SPDX-License-Identifier: (LGPL-2.1 OR BSD-2-Clause) */
#pragma once
/*
 * A program that runs under ptrace, instruction by instruction or from one
 * breakpoint to the next: what it really does is what scans and values are
 * compared with.
 */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "objfile/objfile.h"

#define TARGET_BREAKPOINTS_MAX 32

struct target {
	pid_t pid; /* 0: it has ended */
	pid_t tid; /* the thread that has stopped */
	int mem;
	int status; /* of waitpid, when it has ended */
	bool followed; /* threads too */
	struct {
		uint64_t at;
		uint8_t byte;
	} breakpoints[TARGET_BREAKPOINTS_MAX];
	size_t breakpoint_n;
	int at; /* the breakpoint that was hit last, -1: none */
};

struct target_state {
	uint64_t reg[16]; /* by DWARF number */
	uint64_t rip, flags;
};

/* Starts it, with one argument or NULL, its output thrown away; it stands at its loader's first instruction. */
void target_start(struct target *t, const char *path, const char *arg);
/* What is to be added to addresses of the program's own file, of a library's (by a part of its path). */
uint64_t target_bias(const struct target *t, const struct objfile *o, const char *path);
/* Addresses as they are in memory. */
void target_break(struct target *t, uint64_t at);
/* Runs to the next breakpoint: its number; -1: it has ended. */
int target_run(struct target *t);
/* One instruction. False: it has ended. */
bool target_step(struct target *t);
void target_state(const struct target *t, struct target_state *ret);
/* False: not readable. */
bool target_read(const struct target *t, uint64_t at, void *ret, size_t n);
uint64_t target_word(const struct target *t, uint64_t at);
void target_end(struct target *t);

/* A value as a text: number, "string", bytes in hex; "?": not readable. Reads it as enum wcbpf_value_type is described. */
const char *target_value(const struct target *t, const struct wcbpf_fetch *f, uint64_t cfa);
/* CFA at a spot where it stands. */
uint64_t target_cfa(const struct target *t, const struct objfile_spot *spot);
/* Does x86's condition (0 to 15) hold? */
bool target_condition(const struct target *t, int condition);
