/* SPDX-License-Identifier: (LGPL-2.1 OR BSD-2-Clause) */
/*
 * The words of waitReasonStrings in the runtime's runtime2.go, versions 1.19 to
 * 1.27. The same word may have another number in each version, so numbers never
 * come here. A word of a later version is its own kind, for the reason "other".
 */
#include "assemble/go-reasons.h"

#include <string.h>

struct word {
	const char *text;
	uint8_t reason; /* enum wait_reason */
	const char *kind;
};

static const struct word words[] = {
	{ "IO wait", REASON_IO, "netpoll" },
	{ "chan receive", REASON_SYNC, "chan_receive" },
	{ "chan receive (nil chan)", REASON_SYNC, "chan_receive" },
	{ "chan receive (synctest)", REASON_SYNC, "chan_receive" },
	{ "chan receive (durable)", REASON_SYNC, "chan_receive" },
	{ "chan send", REASON_SYNC, "chan_send" },
	{ "chan send (nil chan)", REASON_SYNC, "chan_send" },
	{ "chan send (synctest)", REASON_SYNC, "chan_send" },
	{ "chan send (durable)", REASON_SYNC, "chan_send" },
	{ "select", REASON_SYNC, "chan_select" },
	{ "select (no cases)", REASON_SYNC, "chan_select" },
	{ "select (synctest)", REASON_SYNC, "chan_select" },
	{ "select (durable)", REASON_SYNC, "chan_select" },
	{ "semacquire", REASON_SYNC, "semaphore" },
	{ "sleep", REASON_SLEEP, "sleep" },
	{ "sync.Cond.Wait", REASON_SYNC, "condvar" },
	{ "sync.Mutex.Lock", REASON_LOCK, "mutex" },
	{ "sync.RWMutex.RLock", REASON_LOCK, "rwlock" },
	{ "sync.RWMutex.Lock", REASON_LOCK, "rwlock" },
	{ "sync.WaitGroup.Wait", REASON_SYNC, "waitgroup" },
	{ "sync.WaitGroup.Wait (durable)", REASON_SYNC, "waitgroup" },
	{ "coroutine", REASON_SYNC, "coroutine" },
	{ "synctest.Run", REASON_SYNC, "synctest" },
	{ "synctest.Wait", REASON_SYNC, "synctest" },
	{ "preempted", REASON_CPU, "preempted" },
	{ "debug call", REASON_STOPPED, "debug_call" },
	/* the program waits for the collector */
	{ "GC assist marking", REASON_OTHER, "gc" },
	{ "GC assist wait", REASON_OTHER, "gc" },
	{ "GC mark termination", REASON_OTHER, "gc" },
	{ "GC weak to strong wait", REASON_OTHER, "gc" },
	{ "garbage collection", REASON_OTHER, "gc" },
	{ "garbage collection scan", REASON_OTHER, "gc" },
	{ "wait for GC cycle", REASON_OTHER, "gc" },
	{ "stopping the world", REASON_OTHER, "gc" },
	{ "flushing proc caches", REASON_OTHER, "gc" },
	/* the runtime's own wait for work */
	{ "GC sweep wait", REASON_SYNC, GO_IDLE_KIND },
	{ "GC scavenge wait", REASON_SYNC, GO_IDLE_KIND },
	{ "GC worker (idle)", REASON_SYNC, GO_IDLE_KIND },
	{ "GC worker (active)", REASON_SYNC, GO_IDLE_KIND },
	{ "GOMAXPROCS updater (idle)", REASON_SYNC, GO_IDLE_KIND },
	{ "cleanup wait", REASON_SYNC, GO_IDLE_KIND },
	{ "finalizer wait", REASON_SYNC, GO_IDLE_KIND },
	{ "force gc (idle)", REASON_SYNC, GO_IDLE_KIND },
	{ "timer goroutine (idle)", REASON_SYNC, GO_IDLE_KIND },
	{ "trace reader (blocked)", REASON_SYNC, GO_IDLE_KIND },
	{ "page trace flush", REASON_SYNC, GO_IDLE_KIND },
	{ "wait until GC ends", REASON_OTHER, "gc" },
	{ "dumping heap", REASON_OTHER, "heap_dump" },
	{ "panicwait", REASON_OTHER, "panic" },
};

/* To 1.19 all of sync waits by "semacquire"; and what is polled shows in the callers. */
static const struct caller {
	const char *text; /* of the reason */
	const char *prefix;
	uint8_t reason;
	const char *kind;
} callers[] = {
	{ "semacquire", "sync.(*Mutex)", REASON_LOCK, "mutex" },
	{ "semacquire", "internal/sync.(*Mutex)", REASON_LOCK, "mutex" },
	{ "semacquire", "sync.runtime_SemacquireMutex", REASON_LOCK, "mutex" },
	{ "semacquire", "sync.(*RWMutex)", REASON_LOCK, "rwlock" },
	{ "semacquire", "sync.(*WaitGroup)", REASON_SYNC, "waitgroup" },
	{ "IO wait", "internal/poll.(*FD).Accept", REASON_IO, "accept" },
	{ "IO wait", "net.(*netFD)", REASON_IO, "socket" },
	{ "IO wait", "net.(*conn)", REASON_IO, "socket" },
};

static bool has_prefix(const char *s, const char *prefix)
{
	return strncmp(s, prefix, strlen(prefix)) == 0;
}

/* Who waits is near the innermost frames; a rwlock's wait may go through a mutex of its own, so the outer one wins. */
static const struct caller *caller_find(const struct model *m, const char *reason, uint32_t ustack)
{
	enum { FRAMES_MAX = 12 };
	const struct model_stack *s = &m->stacks[ustack];
	const struct caller *found = NULL;

	for (uint32_t i = 0; i < s->frame_n && i < FRAMES_MAX; i++) {
		const char *name = strtab_str(m->strings, s->frames[i].name_id);
		const struct caller *c = NULL;

		for (size_t k = 0; k < sizeof(callers) / sizeof(callers[0]) && !c; k++) {
			if (strcmp(callers[k].text, reason) == 0 && has_prefix(name, callers[k].prefix))
				c = &callers[k];
		}
		if (!c && found && !has_prefix(name, "sync.") && !has_prefix(name, "internal/"))
			break;
		/* An accept is one of a socket too. */
		if (c && !(found && c->reason == REASON_IO))
			found = c;
	}
	return found;
}

void assemble_go_verdict(const struct model *m, const char *reason, uint32_t ustack, enum wait_reason *ret_reason,
			 const char **ret_kind)
{
	const struct caller *c = caller_find(m, reason, ustack);

	*ret_reason = REASON_OTHER;
	*ret_kind = reason;
	if (c) {
		*ret_reason = c->reason;
		*ret_kind = c->kind;
		return;
	}
	for (size_t i = 0; i < sizeof(words) / sizeof(words[0]); i++) {
		if (strcmp(words[i].text, reason) == 0) {
			*ret_reason = words[i].reason;
			*ret_kind = words[i].kind;
			return;
		}
	}
}

enum ident_kind assemble_go_ident_kind(const char *reason)
{
	/* Their lock is the channel's own, or the poll descriptor; that of a semaphore is a table's, shared by many. */
	if (strcmp(reason, "chan receive") == 0 || strcmp(reason, "chan send") == 0)
		return IDENT_CHANNEL;
	return strcmp(reason, "IO wait") == 0 ? IDENT_NETPOLL : IDENT_NONE;
}

/* Of a timer's functions, that don't run in a goroutine: sendTime, goroutineReady, netpollDeadline and so on. */
bool assemble_go_has_timer(const char *reason)
{
	static const char *const kinds[] = { "sleep", "chan_receive", "chan_select", "netpoll" };

	for (size_t i = 0; i < sizeof(words) / sizeof(words[0]); i++) {
		if (strcmp(words[i].text, reason))
			continue;
		for (size_t k = 0; k < sizeof(kinds) / sizeof(kinds[0]); k++)
			if (!strcmp(words[i].kind, kinds[k]))
				return true;
	}
	return false;
}

bool assemble_go_is_sleep(const char *reason)
{
	return strcmp(reason, "sleep") == 0;
}

/* As the runtime's isSystemGoroutine(): what begins in it, but for the program's own main. */
bool assemble_go_is_system(const char *function)
{
	return has_prefix(function, "runtime.") && strcmp(function, "runtime.main") != 0;
}
