/* SPDX-License-Identifier: (LGPL-2.1 OR BSD-2-Clause) */
#pragma once
/*
 * Learns skeletons of kernel stacks (wire.h) from stacks that were walked and
 * came with what lay on them. Pure: what it knows of the kernel it is told.
 */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "bpf/wire.h"

struct skeletons;

struct skeletons_kernel {
	/* [start, end) of the kernel proper's code, and of its scheduler's and locks' */
	uint64_t text[2], sched[2], lock[2];
	/* Name of the function that covers an address of the kernel's, NULL: none. */
	const char *(*name)(void *arg, uint64_t address);
	void *arg;
};

/* Where skeletons go. */
struct skeletons_place {
	struct wcbpf_skeleton *all; /* WCBPF_SKELETONS_MAX, seen by the programs, zero; [0] stays unused */
	/* Which skeletons a key leads to from now on. 0, -errno. */
	int (*publish)(void *arg, const struct wcbpf_skeleton_key *key, const struct wcbpf_variants *variants);
	void *arg;
};

/*
 * Where the words of a key lie: in stacks of a thread that blocked in recv(2) on
 * a socket, the returns into schedule and into its caller. -ENOENT: not found.
 */
int skeletons_key_places(const struct skeletons_kernel *k, const uint64_t (*stacks)[WCBPF_CALIBRATION_WORDS], size_t n,
			 uint32_t ret[2]);

int skeletons_new(const struct skeletons_kernel *k, const struct skeletons_place *place, const uint32_t key_at[2],
		  struct skeletons **ret);
struct skeletons *skeletons_free(struct skeletons *s);
/*
 * Takes the body of a kernel stack; one with a copy is a specimen. What can't be understood is passed over. now_ns is
 * the time now, not the body's: by it a place is given to another when no program can be looking at it any more.
 * -ENOMEM; -errno of publish().
 */
int skeletons_learn(struct skeletons *s, const struct wcbpf_stack *body, uint64_t now_ns);
/* How many the programs can find now. */
size_t skeletons_n(const struct skeletons *s);
