/* SPDX-License-Identifier: (LGPL-2.1 OR BSD-2-Clause) */
#pragma once
/*
 * What threads do while they hold a lock, learned from the stretches of which
 * both ends were seen. Private to replay/.
 *
 * A site is a user stack with which a thread waits. One that is met within such
 * stretches of a lock, and never while another thread has it, lies inside: where
 * it is met else, the lock was held too, and nobody wanted it.
 */
#include "replay/draft.h"

struct lock_habits {
	uint32_t full_n;	/* stretches learned from */
	uint32_t waits;		/* usual number of waits of member sites in one */
	int64_t hold_ns;	/* usual length */
	int64_t lead_ns, trail_ns; /* usual time from the acquire to the first of those waits, from the last to the release */
};

struct site_lock {
	uint32_t lock, next; /* next: of the same site, NONE */
};

struct sites {
	struct map *members;	/* lock << 32 | ustack -> nothing */
	struct map *of_site;	/* ustack -> first of its locks */
	struct site_lock *locks;
	size_t lock_n, lock_cap;
	struct lock_habits *habits; /* by lock */
};

/* full: stretches with both ends seen, sorted by lock and time. 0, -ENOMEM. */
int sites_learn(const struct draft *d, const struct hold *full, size_t n, struct sites *ret);
void sites_done(struct sites *s);
/* The first of `locks` that a site is a member of, NONE. */
uint32_t sites_first_lock(const struct sites *s, uint32_t site);
bool sites_is_member(const struct sites *s, uint32_t lock, uint32_t site);
/* The strand's waits by time: index into d->waits of the first that starts at ns or later. */
size_t sites_wait_at(const struct draft *d, uint32_t strand, int64_t ns);
