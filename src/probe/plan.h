/* SPDX-License-Identifier: (LGPL-2.1 OR BSD-2-Clause) */
#pragma once
/* A plan while it is made. */
#include "probe/bind.h"

struct planning {
	const struct probe_set *set;
	struct file file;
	struct probe_plan *plan;
	struct objfile_go_runtime go_runtime; /* of a Go program with plan->has_layout; owned */
	const char *go_why; /* why goroutines can't be told apart in this Go program; NULL: they can */
	const char *go_refusal; /* of each of its functions, for that */
	struct tail *tails; /* owned */
	size_t tail_n;
	size_t point_cap, site_cap, note_cap, tail_cap;
};

/* A jump by which a probed function leaves for another one. */
struct tail {
	struct probe_site site; /* an exit there; as if it had results */
	uint64_t target;	/* 0: not known */
};

/* "PLACE: SYMBOL: message"; place may be NULL. 0, -ENOMEM. */
int plan_note(struct planning *p, enum probe_severity severity, const char *place, const char *symbol, const char *fmt,
	      ...) __attribute__((format(printf, 5, 6)));
/* "FILE:LINE" of a line of a definition. NULL: no memory. */
const char *plan_place(struct planning *p, const struct definition *d, unsigned int line);
void plan_found(struct planning *p, size_t definition, enum probe_finding finding);
int plan_add_point(struct planning *p, const struct probe_point *point, uint32_t *ret);
/* Its file_offset is filled in. */
int plan_add_site(struct planning *p, const struct probe_site *site);

/* Which condition must be met for a hit of an entry to count. */
int8_t plan_entry_condition(const struct objfile_spot *entry);

/* What a definition means for one function or marker. */
struct meaning {
	struct probe_point point;
	struct wcbpf_fetch fetch[2][WCBPF_FETCHES_MAX]; /* of the entry, of the exit */
	uint8_t fetch_n[2];
	uint32_t needs;	     /* registers at the entry */
	const int8_t *slots; /* of each value of the definition: as pieces have it; -1: none */
};
/* 1: *ret. 0: it can't be recorded at all, a note says why. -ENOMEM. place: of the symbol. */
int meaning_make(struct planning *p, const struct binding *b, const char *place, struct meaning *ret);

/* resolve.c: an exit of a point as its site, by the site of another exit of it. */
struct probe_site plan_exit_site(const struct probe_site *like, const struct objfile_exit *e);
/*
 * Is the entry of that exit's function the same instruction, a return or a jump that is all there is of it? Then the
 * entry becomes a mark, of no length, and the exit is none.
 */
bool plan_entry_leaves(struct planning *p, const struct probe_site *exit);
/* markers.c: of a definition that has usdt. 0, -ENOMEM. */
int markers_plan(struct planning *p, size_t index);
/* tails.c: exits of functions that are left by a jump, when all other sites are there. 0, -ENOMEM. */
int tails_plan(struct planning *p);

/* go-runtime.c: where the Go runtime keeps a goroutine's number, or go_why not. 0, -ENOMEM. */
int go_runtime_learn(struct planning *p);
/* Sites of the Go runtime, when all others are there. Notes if they can't be had. 0, -ENOMEM. */
int go_runtime_plan(struct planning *p);
