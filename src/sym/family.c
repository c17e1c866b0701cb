/* SPDX-License-Identifier: (LGPL-2.1 OR BSD-2-Clause) */
/*
 * One name is plain. Of several, only those of the POSIX and C11 thread
 * functions are known to mean one thing, the object that is waited for: that
 * is what a reader of a stack in libc wants to know. A callback may run long
 * after the one function that passed it has returned (pthread_create's thread),
 * so there one name isn't enough; those families pass theirs for clean-up only.
 */
#include "sym/family.h"

#include <string.h>

enum family {
	FAMILY_NONE,
	FAMILY_MUTEX,
	FAMILY_CONDVAR,
	FAMILY_RWLOCK,
	FAMILY_SEMAPHORE,
	FAMILY_BARRIER,
	FAMILY_JOIN,
	FAMILY_ONCE,
};

/* Names without leading underscores. */
static const struct {
	const char *prefix;
	enum family family;
} families[] = {
	{ "pthread_mutex_", FAMILY_MUTEX },
	{ "mtx_", FAMILY_MUTEX },
	{ "pthread_cond_", FAMILY_CONDVAR },
	{ "cnd_", FAMILY_CONDVAR },
	{ "pthread_rwlock_", FAMILY_RWLOCK },
	{ "sem_", FAMILY_SEMAPHORE },
	{ "pthread_barrier_", FAMILY_BARRIER },
	{ "pthread_join", FAMILY_JOIN },
	{ "pthread_tryjoin", FAMILY_JOIN },
	{ "pthread_timedjoin", FAMILY_JOIN },
	{ "pthread_clockjoin", FAMILY_JOIN },
	{ "thrd_join", FAMILY_JOIN },
	{ "pthread_once", FAMILY_ONCE },
	{ "call_once", FAMILY_ONCE },
};

static enum family family_of(const char *name)
{
	name += strspn(name, "_");
	for (size_t i = 0; i < sizeof(families) / sizeof(families[0]); i++) {
		if (!strncmp(name, families[i].prefix, strlen(families[i].prefix)))
			return families[i].family;
	}
	return FAMILY_NONE;
}

/* The one that both are about. A condition variable locks mutexes, a mutex knows no condition variables. */
static enum family join_families(enum family a, enum family b)
{
	if (a == b)
		return a;
	if ((a == FAMILY_MUTEX && b == FAMILY_CONDVAR) || (a == FAMILY_CONDVAR && b == FAMILY_MUTEX))
		return FAMILY_MUTEX;
	return FAMILY_NONE;
}

const char *family_name(const struct objfile_reached *r)
{
	enum family family = family_of(r->names[0]);
	const char *best = NULL;

	if (r->n == 1 && !r->passed)
		return r->names[0];
	for (size_t i = 1; i < r->n; i++)
		family = join_families(family, family_of(r->names[i]));
	for (size_t i = 0; i < r->n && family != FAMILY_NONE; i++) {
		if (family_of(r->names[i]) == family && (!best || strlen(r->names[i]) < strlen(best)))
			best = r->names[i];
	}
	return best;
}
