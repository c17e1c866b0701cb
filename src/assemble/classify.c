/* SPDX-License-Identifier: (LGPL-2.1 OR BSD-2-Clause) */
/*
 * From the surest evidence to the weakest: the scheduler's (preempted), the
 * task state (stopped), the kernel stack (frozen, a kernel lock, a page
 * fault), the system call and what its file is, and only for futexes the
 * names of libc's functions in the user stack.
 *
 * A futex whose caller is not known is reason sync, kind futex: it may be an
 * idle condition variable, and calling that lock contention would be the
 * worse mistake. One exception: no libc frame has a name, the word has the
 * value of glibc's contended low-level lock, and the word where glibc keeps a
 * mutex's owner names a living thread of the same process.
 */
#include "assemble/classify.h"

#include <linux/futex.h>
#include <stdlib.h>
#include <string.h>

#include "assemble/go-reasons.h"
#include "assemble/goroutines.h"
#include "assemble/points.h"
#include "assemble/resource.h"
#include "assemble/syscall.h"

struct verdict {
	enum wait_reason reason;
	const char *kind;
};

/* What the names of the kernel stack say. */
struct kernel_facts {
	bool frozen, fault, lock, vfork, disk;
	const struct verdict *file; /* what was read or written; NULL: no name says */
	const struct verdict *restarted; /* what restart_syscall goes on with */
};

static bool has_prefix(const char *s, const char *prefix)
{
	return strncmp(s, prefix, strlen(prefix)) == 0;
}

static bool is_any_prefix(const char *name, const char *const *prefixes)
{
	for (; *prefixes; prefixes++) {
		if (has_prefix(name, *prefixes))
			return true;
	}
	return false;
}

/* The functions through which every sleeper goes; what it sleeps for is the first frame below. */
static const char *const scheduler_names[] = {
	"__schedule", "schedule", "io_schedule", "preempt_schedule", "__cond_resched", "rt_mutex_schedule",
	"__traceiter_sched_switch", NULL,
};
static const char *const lock_names[] = {
	"__mutex_lock", "mutex_lock", "__ww_mutex_lock", "ww_mutex_lock", "rwsem_down_", "down_", "__down_",
	"percpu_rwsem_wait", "__percpu_down_", "rt_mutex_slowlock", "__rt_mutex_slowlock", "rt_spin_lock",
	"rtlock_slowlock", NULL,
};
static const char *const fault_names[] = {
	"handle_mm_fault", "exc_page_fault", "asm_exc_page_fault", "do_user_addr_fault", "filemap_fault",
	"do_page_fault", "do_translation_fault", "handle_userfault", NULL,
};
static const char *const freezer_names[] = { "__refrigerator", "do_freezer_trap", NULL };

struct file_name {
	const char *prefix;
	struct verdict verdict;
};
/* For file descriptors that could not be looked at. */
static const struct file_name file_names[] = {
	{ "pipe_", { REASON_IO, "pipe" } },
	{ "anon_pipe_", { REASON_IO, "pipe" } },
	{ "fifo_open", { REASON_IO, "pipe" } },
	{ "wait_for_partner", { REASON_IO, "pipe" } },
	{ "sock_", { REASON_IO, "socket" } },
	{ "inet_", { REASON_IO, "socket" } },
	{ "tcp_", { REASON_IO, "socket" } },
	{ "udp_", { REASON_IO, "socket" } },
	{ "unix_", { REASON_IO, "socket" } },
	{ "sk_wait_", { REASON_IO, "socket" } },
	{ "sk_stream_", { REASON_IO, "socket" } },
	{ "n_tty_", { REASON_IO, "tty" } },
	{ "tty_", { REASON_IO, "tty" } },
	{ "eventfd_", { REASON_IO, "eventfd" } },
	{ "timerfd_", { REASON_SLEEP, "timerfd" } },
	{ "signalfd_", { REASON_IO, "signalfd" } },
	{ "inotify_", { REASON_IO, "inotify" } },
	{ "fanotify_", { REASON_IO, "fanotify" } },
};
static const struct file_name restarted_names[] = {
	{ "do_nanosleep", { REASON_SLEEP, "sleep" } },
	{ "hrtimer_nanosleep", { REASON_SLEEP, "sleep" } },
	{ "alarm_timer_nsleep", { REASON_SLEEP, "sleep" } },
	{ "futex_", { REASON_SYNC, "futex" } },
	{ "do_poll", { REASON_POLL, "poll" } },
	{ "do_sys_poll", { REASON_POLL, "poll" } },
};

static const struct verdict *find_verdict(const struct file_name *table, size_t n, const char *name)
{
	for (size_t i = 0; i < n; i++) {
		if (has_prefix(name, table[i].prefix))
			return &table[i].verdict;
	}
	return NULL;
}

static const char *frame_name(const struct model *m, const struct model_stack *s, uint32_t frame)
{
	return strtab_str(m->strings, s->frames[frame].name_id);
}

static struct kernel_facts kernel_facts(const struct model *m, uint32_t stack)
{
	const struct model_stack *s = &m->stacks[stack];
	struct kernel_facts f = { 0 };
	bool in_scheduler = true;

	for (uint32_t i = 0; i < s->frame_n; i++) {
		const char *name = frame_name(m, s, i);

		if (!*name)
			continue;
		if (in_scheduler && is_any_prefix(name, scheduler_names)) {
			f.disk |= has_prefix(name, "io_schedule");
			continue;
		}
		if (in_scheduler) {
			f.lock = is_any_prefix(name, lock_names);
			/* Compilers inline wait_for_vfork_done(); of clone() it is the only wait of its own. */
			f.vfork = has_prefix(name, "kernel_clone") || has_prefix(name, "_do_fork");
		}
		in_scheduler = false;
		f.frozen |= is_any_prefix(name, freezer_names);
		f.fault |= is_any_prefix(name, fault_names);
		f.vfork |= has_prefix(name, "wait_for_vfork_done");
		f.file = f.file ?: find_verdict(file_names, sizeof(file_names) / sizeof(file_names[0]), name);
		f.restarted = f.restarted ?: find_verdict(restarted_names,
							  sizeof(restarted_names) / sizeof(restarted_names[0]), name);
	}
	return f;
}

/* libc's file, by the last component of its path: glibc's old and new names, its libpthread, musl's. */
static bool is_libc(const char *path)
{
	static const char *const names[] = {
		"libc.so", "libc-2.", "libpthread.so", "libpthread-2.", "ld-musl-", "libc.musl-", NULL,
	};
	const char *slash = strrchr(path, '/');

	return is_any_prefix(slash ? slash + 1 : path, names);
}

/*
 * glibc 2.25 and later, whose condition variables have their two futex words
 * in one place. From 2.34 on the file is libc.so.6 itself.
 */
static bool has_condvar_words(const struct model *m, uint32_t ustack)
{
	const struct model_stack *s = &m->stacks[ustack];
	uint32_t module = s->frame_n ? s->frames[0].module : 0;
	const char *path, *slash, *pthread_2 = "libpthread-2.";

	if (!module || module >= m->module_n)
		return false;
	path = strtab_str(m->strings, m->modules[module].path_id);
	slash = strrchr(path, '/');
	path = slash ? slash + 1 : path;
	if (has_prefix(path, pthread_2))
		return strtoul(path + strlen(pthread_2), NULL, 10) >= 25;
	return strcmp(path, "libc.so.6") == 0 || strcmp(path, "libpthread.so.0") == 0;
}

/* Names of libc's functions from a futex call's callers, without __GI_ and leading underscores. */
static const struct file_name caller_names[] = {
	{ "pthread_mutex_", { REASON_LOCK, "mutex" } },
	{ "lll_lock_wait", { REASON_LOCK, "mutex" } },
	{ "lll_timedlock_wait", { REASON_LOCK, "mutex" } },
	{ "lll_clocklock_wait", { REASON_LOCK, "mutex" } },
	{ "mtx_", { REASON_LOCK, "mutex" } },
	{ "pthread_rwlock_", { REASON_LOCK, "rwlock" } },
	{ "pthread_cond_", { REASON_SYNC, "condvar" } },
	{ "cnd_", { REASON_SYNC, "condvar" } },
	{ "sem_", { REASON_SYNC, "semaphore" } },
	{ "new_sem_", { REASON_SYNC, "semaphore" } },
	{ "old_sem_", { REASON_SYNC, "semaphore" } },
	{ "pthread_barrier_", { REASON_SYNC, "barrier" } },
	{ "pthread_join", { REASON_SYNC, "join" } },
	{ "pthread_timedjoin", { REASON_SYNC, "join" } },
	{ "pthread_clockjoin", { REASON_SYNC, "join" } },
	{ "thrd_join", { REASON_SYNC, "join" } },
	{ "lll_wait_tid", { REASON_SYNC, "join" } },
	{ "pthread_once", { REASON_SYNC, "once" } },
	{ "call_once", { REASON_SYNC, "once" } },
};

/*
 * A static function (sym.h: the ~) of pthread_cond_wait() and its like. Since
 * 2.25 glibc waits for the condition in those functions themselves; what it
 * calls to wait takes the mutex again.
 */
static bool is_condvar_relock(const struct model *m, uint32_t ustack, const char *name)
{
	return has_prefix(name, "pthread_cond_") && strstr(name, "wait") && strchr(name, '~') &&
	       has_condvar_words(m, ustack);
}

/*
 * The innermost of libc's frames whose name says what the caller wanted; the
 * leading frames only, since libc also calls the program (qsort, callbacks).
 * *ret_named: one of them has a name at all.
 */
static const struct verdict *futex_caller(const struct model *m, uint32_t stack, bool *ret_named)
{
	static const struct verdict relock = { REASON_LOCK, "mutex" };
	const struct model_stack *s = &m->stacks[stack];
	bool named = false;

	for (uint32_t i = 0; i < s->frame_n; i++) {
		uint32_t module = s->frames[i].module;
		const char *name = frame_name(m, s, i);
		const struct verdict *v;

		if (module >= m->module_n || !is_libc(strtab_str(m->strings, m->modules[module].path_id)))
			break;
		named |= *name != 0;
		name += strspn(name, "_");
		name += has_prefix(name, "GI_") ? strlen("GI_") : 0;
		name += strspn(name, "_");
		v = find_verdict(caller_names, sizeof(caller_names) / sizeof(caller_names[0]), name);
		if (v) {
			*ret_named = true;
			return is_condvar_relock(m, stack, name) ? &relock : v;
		}
	}
	*ret_named = named;
	return NULL;
}

static struct verdict futex_verdict(const struct model *m, const struct row_key *key)
{
	uint32_t cmd = key->futex_op & FUTEX_CMD_MASK;
	const struct verdict *caller;
	bool named;

	if (cmd == FUTEX_LOCK_PI || cmd == FUTEX_LOCK_PI2)
		return (struct verdict){ REASON_LOCK, "pi_mutex" };
	if (cmd == FUTEX_WAIT_REQUEUE_PI)
		return (struct verdict){ REASON_SYNC, "condvar" };
	if (key->flags & ROW_JOIN)
		return (struct verdict){ REASON_SYNC, "join" };
	caller = futex_caller(m, key->ustack, &named);
	if (caller)
		return *caller;
	if ((key->flags & ROW_OWNER_KNOWN) && !named)
		return (struct verdict){ REASON_LOCK, "mutex" };
	return (struct verdict){ REASON_SYNC, "futex" };
}

static struct verdict file_verdict(const struct row_key *key, const struct kernel_facts *k, enum syscall_sort sort)
{
	enum resource_sort resource = assemble_resource_sort(key->resource_class);

	if (resource == RESOURCE_TIMERFD)
		return (struct verdict){ REASON_SLEEP, "timerfd" };
	if (resource != RESOURCE_UNKNOWN)
		return (struct verdict){ REASON_IO, assemble_resource_word(resource) };
	if (sort == SYSCALL_SOCKET)
		return (struct verdict){ REASON_IO, "socket" };
	if (k->file)
		return *k->file;
	return (struct verdict){ REASON_IO, k->disk || (key->flags & ROW_DISK) ? "file" : syscall_name(key->syscall) };
}

/* A call that has no wait of its own, or none at all. */
static struct verdict other_verdict(const struct row_key *key, const struct kernel_facts *k)
{
	if (k->vfork || (key->flags & ROW_VFORK))
		return (struct verdict){ REASON_EXEC, "vfork" };
	if (key->syscall >= 0 && k->file)
		return *k->file;
	if (k->disk || (key->flags & ROW_DISK))
		return (struct verdict){ REASON_IO, "file" };
	if (key->syscall >= 0)
		return (struct verdict){ REASON_OTHER, syscall_name(key->syscall) };
	if (key->flags & ROW_KTHREAD)
		return (struct verdict){ REASON_OTHER, "kthread" };
	return (struct verdict){ REASON_OTHER, key->flags & ROW_EXITING ? "exit" : "" };
}

static struct verdict call_verdict(const struct model *m, const struct row_key *key, const struct kernel_facts *k)
{
	enum syscall_sort sort = syscall_sort(key->syscall);

	switch (sort) {
	case SYSCALL_FUTEX:
	case SYSCALL_FUTEX_WAIT:
	case SYSCALL_FUTEX_WAITV:
		return futex_verdict(m, key);
	case SYSCALL_FILE:
	case SYSCALL_SOCKET:
		return file_verdict(key, k, sort);
	case SYSCALL_ACCEPT:
		return (struct verdict){ REASON_IO, "accept" };
	case SYSCALL_FSYNC:
		return (struct verdict){ REASON_IO, "fsync" };
	case SYSCALL_EPOLL:
		return (struct verdict){ REASON_POLL, "epoll" };
	case SYSCALL_POLL:
	case SYSCALL_SELECT:
		if (key->flags & ROW_NO_FILES)
			return (struct verdict){ REASON_SLEEP, "sleep" };
		return (struct verdict){ REASON_POLL, "poll" };
	case SYSCALL_SLEEP:
		return (struct verdict){ REASON_SLEEP, "sleep" };
	case SYSCALL_WAIT4:
	case SYSCALL_WAITID:
		return (struct verdict){ REASON_EXEC, "child" };
	case SYSCALL_SIGNAL:
		return (struct verdict){ REASON_SIGNAL, "signal" };
	case SYSCALL_FLOCK:
		return (struct verdict){ REASON_LOCK, "flock" };
	case SYSCALL_FCNTL:
		if (key->flags & ROW_LOCK_FILE)
			return (struct verdict){ REASON_LOCK, "flock" };
		return other_verdict(key, k);
	case SYSCALL_MESSAGE:
		return (struct verdict){ REASON_IO, "mqueue" };
	case SYSCALL_SEMOP:
		return (struct verdict){ REASON_SYNC, "semaphore" };
	case SYSCALL_AIO:
		return (struct verdict){ REASON_IO, "aio" };
	case SYSCALL_IO_URING:
		return (struct verdict){ REASON_IO, "io_uring" };
	case SYSCALL_VFORK:
		return (struct verdict){ REASON_EXEC, "vfork" };
	case SYSCALL_RESTART:
		if (k->restarted && k->restarted->reason == REASON_SYNC)
			return futex_verdict(m, key);
		return k->restarted ? *k->restarted : other_verdict(key, k);
	default:
		return other_verdict(key, k);
	}
}

/* A wait of a choke point is what its profile says; what it waited for by itself doesn't matter. */
static struct verdict point_verdict(const struct assemble *a, const struct row_key *key)
{
	const struct point *p = assemble_point_at(a, key->point);
	const char *kind = p->p.wait_kind ?: p->p.role == ASSEMBLE_ROLE_LOCK ? "mutex" : "";

	return (struct verdict){ (enum wait_reason)key->reason, kind };
}

/* A goroutine that didn't run. */
static struct verdict go_verdict(const struct assemble *a, const struct row_key *key)
{
	const char *function = a->functions[key->function].name;
	struct verdict v;

	if (key->flags & ROW_PREEMPTED)
		return (struct verdict){ REASON_CPU, "runqueue" };
	assemble_go_verdict(a->m, strtab_str(a->go_reasons, key->go_reason - 1), key->ustack, &v.reason, &v.kind);
	if (function && assemble_go_is_system(function) && v.reason != REASON_CPU)
		return (struct verdict){ v.reason, GO_IDLE_KIND };
	return v;
}

static bool has_runtime_frame(const struct model *m, uint32_t stack)
{
	for (uint32_t i = 0; i < m->stacks[stack].frame_n; i++) {
		if (has_prefix(frame_name(m, &m->stacks[stack], i), "runtime."))
			return true;
	}
	return false;
}

/*
 * Threads of a Go program without a goroutine look for one, or sleep until they
 * are needed; so does the runtime's monitor. Threads that C code has made are
 * none of these: who has never run a goroutine shows Go's functions, or is taken
 * for what it is by itself.
 */
static bool is_go_scheduler(const struct model *m, const struct row_key *key)
{
	enum syscall_sort sort = syscall_sort(key->syscall);

	if (!(key->flags & ROW_GO_THREAD) || (!(key->flags & ROW_GO_RAN) && !has_runtime_frame(m, key->ustack)))
		return false;
	return sort == SYSCALL_FUTEX || sort == SYSCALL_EPOLL || sort == SYSCALL_SLEEP;
}

static struct verdict row_verdict(const struct model *m, const struct row_key *key)
{
	struct kernel_facts k;

	if (key->flags & ROW_NEW_THREAD)
		return (struct verdict){ REASON_CPU, "new_thread" };
	if (key->flags & ROW_PREEMPTED)
		return (struct verdict){ REASON_CPU, "preempted" };
	if (key->state & TASK_TRACED)
		return (struct verdict){ REASON_STOPPED, "traced" };
	if (key->state & TASK_STOPPED)
		return (struct verdict){ REASON_STOPPED, "stopped" };
	k = kernel_facts(m, key->kstack);
	if ((key->state & TASK_FROZEN) || k.frozen)
		return (struct verdict){ REASON_STOPPED, "frozen" };
	/* A PI futex sleeps in the kernel's own rt_mutex: that lock is the program's. */
	if (k.lock && syscall_sort(key->syscall) != SYSCALL_FUTEX)
		return (struct verdict){ REASON_LOCK, "kernel" };
	if (k.fault)
		return (struct verdict){ REASON_FAULT, "page_fault" };
	if (is_go_scheduler(m, key))
		return (struct verdict){ call_verdict(m, key, &k).reason, GO_SCHEDULER_KIND };
	return call_verdict(m, key, &k);
}

int assemble_row_classify(struct assemble *a, uint32_t row)
{
	struct row_state *s = &a->rows[row];
	struct model_row *r = &a->m->rows[row];
	uint32_t named = assemble_resource_kind_id(a, s->resource);
	struct row_key key = s->key;
	enum resource_sort sort;
	struct verdict v;

	/* The resource may have come after the first interval that waited for it. */
	if (!key.resource_class)
		key.resource_class = a->resources[s->resource].class;
	sort = assemble_resource_sort(key.resource_class);
	v = key.point ? point_verdict(a, &key) : key.go_reason ? go_verdict(a, &key) : row_verdict(a->m, &key);
	r->reason = (uint8_t)v.reason;
	/* A REQUEUE_PI call by hand waits on a word of its own; glibc's condition variables make none since 2.25. */
	s->condvar = v.reason == REASON_SYNC && strcmp(v.kind, "condvar") == 0 &&
		     (key.futex_op & FUTEX_CMD_MASK) != FUTEX_WAIT_REQUEUE_PI && has_condvar_words(a->m, key.ustack);
	/* Whoever named the file knew more than such numbers do. */
	if (v.reason == REASON_IO && named && syscall_sort(key.syscall) == SYSCALL_FILE &&
	    (sort == RESOURCE_UNKNOWN || sort == RESOURCE_DEVICE || sort == RESOURCE_ANON)) {
		r->kind_id = named;
		return 0;
	}
	return strtab_intern(a->m->strings, v.kind, &r->kind_id);
}
