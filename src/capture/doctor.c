/* SPDX-License-Identifier: (LGPL-2.1 OR BSD-2-Clause) */
/* What this host, this user and this target allow; each check says what is lost without. */
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/utsname.h>
#include <unistd.h>

#include "capture/internal.h"
#include "capture/privileges.h"
#include "capture/programs.h"
#include "capture/sites.h"
#include "proc/proc.h"
#include "util/cleanup.h"

DEFINE_CLEANUP(struct ksyms *, ksyms_free)
DEFINE_CLEANUP(struct programs *, programs_free)
DEFINE_CLEANUP(struct mappings *, mappings_free)
DEFINE_CLEANUP(struct online *, online_free)

#define CHECKS_MAX 24
struct checks {
	struct capture_check *list;
	size_t n;
};

__attribute__((format(printf, 4, 5))) static void
add(struct checks *c, enum capture_check_state state, const char *what, const char *fmt, ...)
{
	struct capture_check *k = &c->list[c->n];
	va_list args;

	if (c->n == CHECKS_MAX)
		return;
	k->state = state;
	snprintf(k->what, sizeof(k->what), "%s", what);
	va_start(args, fmt);
	vsnprintf(k->detail, sizeof(k->detail), fmt, args);
	va_end(args);
	c->n++;
}

static void check_kernel(struct checks *c)
{
	struct utsname u;

	if (!uname(&u))
		add(c, CHECK_OK, "kernel", "%s %s %s", u.sysname, u.release, u.machine);
}

static void check_privileges(struct checks *c)
{
	const char *name, *what;
	bool held;

	for (size_t i = 0; privilege_check(i, &name, &what, &held); i++) {
		if (held)
			add(c, CHECK_OK, name, "held");
		else
			add(c, CHECK_MISSING, name, "missing: %s; run as root or give it with setcap", what);
	}
}

static void check_btf(struct checks *c)
{
	struct features f = { 0 };

	if (features_read(&f)) {
		add(c, CHECK_MISSING, "BTF", "no /sys/kernel/btf/vmlinux: nothing can be recorded; the kernel needs "
		    "CONFIG_DEBUG_INFO_BTF=y");
		return;
	}
	add(c, CHECK_OK, "BTF", "/sys/kernel/btf/vmlinux");
}

static void check_lockdown(struct checks *c)
{
	_cleanup_(fclosep) FILE *f = fopen("/sys/kernel/security/lockdown", "re");
	char line[128] = "";

	if (!f || !fgets(line, sizeof(line), f))
		return; /* absence is no lockdown */
	if (strstr(line, "[confidentiality]"))
		add(c, CHECK_MISSING, "lockdown", "confidentiality: BPF may not read kernel memory; boot with lockdown=integrity");
	else
		add(c, CHECK_OK, "lockdown", "%s", strstr(line, "[none]") ? "none" : "integrity");
}

static void check_tracefs(struct checks *c)
{
	_cleanup_(closep) int fd = tracefs_open();
	uint32_t id;

	if (fd < 0)
		add(c, CHECK_DEGRADED, "tracefs", "can't be opened (%s): results of futex calls are unknown", strerror(-fd));
	else if (tracefs_event_id(fd, "syscalls/sys_exit_futex", &id))
		add(c, CHECK_DEGRADED, "tracefs", "has no syscalls/sys_exit_futex (CONFIG_FTRACE_SYSCALLS): results of futex "
		    "calls are unknown");
	else
		add(c, CHECK_OK, "tracefs", "sys_exit_futex is event %u", id);
}

static void check_kallsyms(struct checks *c)
{
	_cleanup_(ksyms_freep) struct ksyms *k = NULL;
	int err = ksyms_new(NULL, &k);

	if (err == -EPERM)
		add(c, CHECK_DEGRADED, "kernel symbols", "addresses are hidden (kernel.kptr_restrict): kernel frames have no names");
	else if (err)
		add(c, CHECK_DEGRADED, "kernel symbols", "/proc/kallsyms: %s: kernel frames have no names", strerror(-err));
	else
		add(c, CHECK_OK, "kernel symbols", "/proc/kallsyms");
}

static void ignore_mapping(void *arg, uint32_t pid, uint64_t time_ns, uint64_t start, uint64_t len, uint64_t pgoff,
			   uint32_t maj, uint32_t min, uint64_t ino, const char *path)
{
	(void)arg, (void)pid, (void)time_ns, (void)start, (void)len, (void)pgoff, (void)maj, (void)min, (void)ino, (void)path;
}

static void ignore_exec(void *arg, uint32_t pid, uint64_t time_ns)
{
	(void)arg, (void)pid, (void)time_ns;
}

static bool never(void *arg, uint32_t pid)
{
	(void)arg, (void)pid;
	return false;
}

static int cpus_list(struct online **ret)
{
	int n = libbpf_num_possible_cpus();

	return n < 1 ? -ENOSYS : online_new(NULL, (uint32_t)n, ret);
}

static void check_mappings(struct checks *c)
{
	_cleanup_(online_freep) struct online *online = NULL;
	_cleanup_(mappings_freep) struct mappings *m = NULL;
	int err = cpus_list(&online);

	if (!err)
		err = mappings_new(online, ignore_mapping, ignore_exec, never, NULL, &m);

	if (err)
		add(c, CHECK_DEGRADED, "mapping records", "perf_event_open: %s: names of programs and libraries that are mapped "
		    "while recording are missing", strerror(-err));
	else
		add(c, CHECK_OK, "mapping records", "perf events of all CPUs");
}

/* The real thing: load, attach, learn. */
static void check_programs(struct checks *c)
{
	/* libbpf's own lines would come before the first check */
	static const uint32_t nobody = UINT32_MAX;
	struct capture_options o = { .scope = CAPTURE_PIDS, .ids = &nobody, .id_n = 1, .sample_hz = 99,
				     .ring_bytes = 4096 };
	_cleanup_(online_freep) struct online *online = NULL;
	_cleanup_(programs_freep) struct programs *p = NULL;
	struct capture_error e = { 0 };
	struct rings *rings = NULL;
	int64_t offset;

	if (cpus_list(&online)) {
		add(c, CHECK_MISSING, "BPF programs", "the CPUs can't be listed");
		return;
	}
	if (programs_new(&o, online, &p, &e) || programs_attach(p, &offset, &e)) {
		add(c, CHECK_MISSING, "BPF programs", "%s", e.message);
		return;
	}
	if (programs_rings(p, o.ring_bytes, &rings))
		add(c, CHECK_MISSING, "ring buffers", "can't be made: %s", strerror(errno));
	rings_free(rings);
	add(c, CHECK_OK, "BPF programs", "load and attach%s", offset ? "; this is a time namespace, its offset is allowed for" : "");
	if (programs_are_typed(p))
		add(c, CHECK_OK, "BTF programs", "load");
	else
		add(c, CHECK_DEGRADED, "BTF programs", "refused: raw tracepoints stand in for them, at a higher cost; "
		    "'wcbpf record -vv' shows why, please report it");
	for (size_t i = 0; programs_problem(p, i); i++)
		add(c, CHECK_DEGRADED, "BPF programs", "%s", programs_problem(p, i));
}

/* Without them a recording has no ops of choke points and no goroutines. */
static void check_probes(struct checks *c)
{
	struct features f = { 0 };
	char missing[256];
	enum site_how how = features_read(&f) ? SITES_NONE : sites_how(&f);

	if (how == SITES_NONE || access("/sys/bus/event_source/devices/uprobe/type", R_OK))
		add(c, CHECK_DEGRADED, "choke points", "the kernel has no probes of programs (CONFIG_UPROBE_EVENTS): --probes and -e "
		    "find nothing");
	else if (how == SITES_MULTI)
		add(c, CHECK_OK, "choke points", "one link for many addresses (uprobe_multi)");
	else if (privileges_missing(missing, sizeof(missing)))
		add(c, CHECK_DEGRADED, "choke points", "how they can be attached here is only known with the privileges above");
	else
		add(c, CHECK_DEGRADED, "choke points", "a perf event an address (before Linux 6.6): to attach and detach takes a "
		    "tenth of a second each");
}

static void check_target(struct checks *c, uint32_t pid)
{
	_cleanup_(freep) char *argv = NULL;
	struct proc_stat st;
	char path[64];
	size_t n;
	int err = proc_stat_read(pid, &st);

	if (err) {
		add(c, CHECK_MISSING, "target", "pid %u: %s", pid, err == -ESRCH ? "no such process" : strerror(-err));
		return;
	}
	if (st.state == 'Z') {
		add(c, CHECK_MISSING, "target", "pid %u is a zombie: it has ended, its parent has not waited for it", pid);
		return;
	}
	snprintf(path, sizeof(path), "/proc/%u/maps", pid);
	if (st.kthread)
		add(c, CHECK_DEGRADED, "target", "pid %u (%s) is a kernel thread: no user stacks", pid, st.comm);
	else if (access(path, R_OK) || proc_cmdline(pid, &argv, &n))
		add(c, CHECK_DEGRADED, "target", "pid %u (%s): its maps can't be read (CAP_SYS_PTRACE): no names", pid, st.comm);
	else
		add(c, CHECK_OK, "target", "pid %u (%s) can be traced", pid, st.comm);
}

int capture_doctor(uint32_t pid, struct capture_check **ret, size_t *ret_n)
{
	struct checks c = { .list = calloc(CHECKS_MAX, sizeof(*c.list)) };

	if (!c.list)
		return -ENOMEM;
	check_kernel(&c);
	check_privileges(&c);
	check_btf(&c);
	check_lockdown(&c);
	check_tracefs(&c);
	check_kallsyms(&c);
	check_mappings(&c);
	check_programs(&c);
	check_probes(&c);
	if (pid)
		check_target(&c, pid);
	*ret = c.list;
	*ret_n = c.n;
	return 0;
}
