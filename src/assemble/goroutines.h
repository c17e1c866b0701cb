/* SPDX-License-Identifier: (LGPL-2.1 OR BSD-2-Clause) */
#pragma once
/* Goroutines: strands that have entries among the model's threads once there is something to tell of them. */
#include "assemble/strand.h"

struct stretch;

int assemble_go_birth(struct assemble *a, const struct wcbpf_go_birth *e);
int assemble_go_interval(struct assemble *a, const struct wcbpf_go_interval *e);
int assemble_go_death(struct assemble *a, const struct wcbpf_go_death *e);

/* The goroutine of a hit on that thread; made if it isn't known. 0, -ENOMEM. */
int assemble_goroutine_at(struct assemble *a, uint32_t thread, uint64_t goid, uint64_t time_ns, struct goroutine **ret);
/* An interval of its thread is its own: whose strand and entry (0: no place), and x's names, are set. 0, -ENOMEM. */
int assemble_goroutine_blocks(struct assemble *a, const struct wcbpf_interval *e, struct stretch *x,
			      struct strand **ret_strand, uint32_t *ret_thread);

/* Is it told whenever a thread of the process runs another goroutine? */
bool assemble_go_is_followed(const struct assemble *a, uint32_t process);
/* The one that the thread ran last. NULL: it is no thread of a Go program, or that is not known. */
struct goroutine *assemble_goroutine_on(const struct assemble *a, uint32_t thread);
struct strand *assemble_goroutine_strand(struct goroutine *g);
/* Its function, of a->functions; 0: not known. */
uint32_t assemble_goroutine_function(const struct goroutine *g);
/* The model's entry of a strand, made if need be. *ret 0: it has no place. 0, -ENOMEM. */
int assemble_strand_thread(struct assemble *a, struct strand *s, uint64_t time_ns, uint32_t *ret);

struct function {
	char *name; /* NULL: not told */
};
/* The process has no goroutines any more; what is open on them is closed. 0, -ENOMEM. */
int assemble_go_end(struct assemble *a, uint32_t process, uint64_t time_ns);
/* Calls with every strand of the process's goroutines. 0, or what it gave. */
int assemble_go_each(struct assemble *a, uint32_t process, int (*visit)(struct assemble *a, struct strand *s, uint64_t ns),
		     uint64_t ns);
/* Forgets who they were that have ended and whose entry is not marked. 0, -ENOMEM. */
int assemble_go_forget(struct assemble *a);
void assemble_go_free(struct assemble *a);
/* Names of entries and rows, at the end. 0, -ENOMEM. */
int assemble_go_finish(struct assemble *a);
