/* SPDX-License-Identifier: (LGPL-2.1 OR BSD-2-Clause) */
/* Futex waits in a libc without debug symbols: its static functions have the names of those that reach them. */
#include <criterion/criterion.h>
#include <string.h>

#include "rig.h"

static struct rig rig;

static void start(void)
{
	rig_start(&rig, 0);
	rig_seed(&rig, 100, 100, "app");
	rig_seed(&rig, 100, 101, "app");
}

static void stop(void)
{
	rig_stop(&rig);
}

TestSuite(static_names, .init = start, .fini = stop);

/* Stacks as recorded of glibc 2.36 in Debian's build; the unnamed frame is its futex wrapper, reached by all. */
static const struct {
	const char *user;
	enum wait_reason reason;
	const char *kind;
} cases[] = {
	{ "libc.so.6: libc.so.6:sem_wait~ app:f", REASON_SYNC, "semaphore" },
	{ "libc.so.6: libc.so.6:sem_timedwait~ app:f", REASON_SYNC, "semaphore" },
	{ "libc.so.6:pthread_mutex_lock~ app:f", REASON_LOCK, "mutex" },
	{ "libc.so.6: libc.so.6:pthread_mutex_clocklock~ app:f", REASON_LOCK, "mutex" },
	{ "libc.so.6: libc.so.6:pthread_join~ app:f", REASON_SYNC, "join" },
	{ "libc.so.6:pthread_once~ app:f", REASON_SYNC, "once" },
	{ "libc.so.6: libc.so.6:pthread_rwlock_rdlock~ app:f", REASON_LOCK, "rwlock" },
	/* The condition; the mutex, plain and robust, that is locked again after it. */
	{ "libc.so.6: libc.so.6:pthread_cond_wait app:f", REASON_SYNC, "condvar" },
	{ "libc.so.6:pthread_mutex_lock~ libc.so.6:pthread_cond_wait~ libc.so.6:pthread_cond_wait app:f",
	  REASON_LOCK, "mutex" },
	{ "libc.so.6:pthread_cond_wait~ libc.so.6:pthread_cond_wait app:f", REASON_LOCK, "mutex" },
	{ "libc.so.6:pthread_cond_timedwait~ libc.so.6:pthread_cond_timedwait app:f", REASON_LOCK, "mutex" },
	/* Another libc may wait for the condition in a function of its own; a signaller locks no mutex. */
	{ "ld-musl-x86_64.so.1:pthread_cond_wait~ ld-musl-x86_64.so.1:pthread_cond_wait app:f", REASON_SYNC,
	  "condvar" },
	{ "libc.so.6:pthread_cond_signal~ libc.so.6:pthread_cond_signal app:f", REASON_SYNC, "condvar" },
	/* Not of libc, or nothing that waits. */
	{ "libx.so:sem_wait~ app:f", REASON_SYNC, "futex" },
	{ "libc.so.6: libc.so.6:getaddrinfo_a~ app:f", REASON_SYNC, "futex" },
};

Test(static_names, futexes)
{
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		stop();
		start();
		rig_stack(&rig, STACK_USER, 2, cases[i].user);
		RIG_INTERVAL(&rig, MS(1), MS(2), MS(3), .seq = 1, .ustack_id = 2);
		rig_finish(&rig, MS(10));
		if (rig.m->rows[1].reason != cases[i].reason ||
		    strcmp(rig_str(&rig, rig.m->rows[1].kind_id), cases[i].kind) != 0)
			cr_log_error("case %zu: %s", i, cases[i].user);
		rig_expect_kind(&rig, 1, cases[i].reason, cases[i].kind);
	}
}
