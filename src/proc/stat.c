/* SPDX-License-Identifier: (LGPL-2.1 OR BSD-2-Clause) */
/*
 * Single facts about a process. Each call reads anew: a PID is only as good as
 * the moment it is asked for, so nothing is kept here.
 */
#include "proc/proc.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "proc/read.h"
#include "util/cleanup.h"

#define STAT_MAX 8192
#define STATUS_MAX (64 << 10)
#define CMDLINE_MAX (8 << 20)
/* include/linux/sched.h; part of what /proc/PID/stat shows, so it never changed */
#define PF_KTHREAD 0x00200000

int proc_stat_read(uint32_t pid, struct proc_stat *ret)
{
	_cleanup_(freep) char *buf = NULL;
	struct proc_stat s = { .pid = pid };
	char *open, *close;
	unsigned int flags;
	size_t n, comm_n;
	int err = read_pid_file(pid, "stat", STAT_MAX, &buf, &n);

	if (err)
		return err == -EFBIG ? -EBADMSG : err;
	/* The name may hold anything, parentheses and spaces too: what follows it does not. */
	open = memchr(buf, '(', n);
	close = memrchr(buf, ')', n);
	if (!open || !close || close < open)
		return -EBADMSG;
	comm_n = (size_t)(close - open - 1);
	if (comm_n >= sizeof(s.comm))
		comm_n = sizeof(s.comm) - 1;
	memcpy(s.comm, open + 1, comm_n);
	/* state ppid pgrp session tty tpgid flags, 4 faults, 4 times, priority nice threads itreal starttime */
	if (sscanf(close + 1,
		   " %c %" SCNu32 " %" SCNu32 " %" SCNu32 " %*d %*d %u %*u %*u %*u %*u %*u %*u %*d %*d %*d %*d %*d %*d"
		   " %" SCNu64,
		   &s.state, &s.ppid, &s.pgrp, &s.session, &flags, &s.start_ticks) != 6)
		return -EBADMSG;
	s.kthread = flags & PF_KTHREAD;
	*ret = s;
	return 0;
}

/* The text after "KEY:" at a line start of a status file. The Name line can't fake one: its newlines are escaped. */
static const char *status_field(const char *status, const char *key)
{
	size_t n = strlen(key);

	for (const char *line = status; line; line = strchr(line, '\n')) {
		if (*line == '\n')
			line++;
		if (!strncmp(line, key, n) && line[n] == ':')
			return line + n + 1;
	}
	return NULL;
}

int proc_tgid(uint32_t tid, uint32_t *ret)
{
	_cleanup_(freep) char *buf = NULL;
	const char *field;
	size_t n;
	uint32_t tgid;
	int err = read_pid_file(tid, "status", STATUS_MAX, &buf, &n);

	if (err)
		return err;
	field = status_field(buf, "Tgid");
	if (!field || sscanf(field, "%" SCNu32, &tgid) != 1)
		return -EBADMSG;
	*ret = tgid;
	return 0;
}

int proc_uid(uint32_t pid, uid_t *ret)
{
	_cleanup_(freep) char *buf = NULL;
	const char *field;
	uint32_t uid;
	size_t n;
	int err = read_pid_file(pid, "status", STATUS_MAX, &buf, &n);

	if (err)
		return err;
	field = status_field(buf, "Uid"); /* real, effective, saved, file system */
	if (!field || sscanf(field, "%*u %*u %*u %" SCNu32, &uid) != 1)
		return -EBADMSG;
	*ret = uid;
	return 0;
}

int proc_ns_pid(uint32_t pid, uint32_t *ret)
{
	_cleanup_(freep) char *buf = NULL;
	const char *field;
	size_t n;
	uint32_t v, last = 0;
	int used, err = read_pid_file(pid, "status", STATUS_MAX, &buf, &n);

	if (err)
		return err;
	field = status_field(buf, "NSpid");
	if (!field)
		return -EBADMSG;
	/* Outermost first, this line's end ends it. */
	for (; sscanf(field, "%*[ \t]%" SCNu32 "%n", &v, &used) == 1; field += used)
		last = v;
	if (!last)
		return -EBADMSG;
	*ret = last;
	return 0;
}

int proc_switches(uint32_t pid, uint32_t tid, uint64_t *ret_voluntary, uint64_t *ret_involuntary)
{
	_cleanup_(freep) char *buf = NULL;
	const char *v, *nv;
	uint64_t voluntary, involuntary;
	char name[32];
	size_t n;
	int err;

	snprintf(name, sizeof(name), "task/%" PRIu32 "/status", tid);
	err = read_pid_file(pid, name, STATUS_MAX, &buf, &n);
	if (err)
		return err;
	v = status_field(buf, "voluntary_ctxt_switches");
	nv = status_field(buf, "nonvoluntary_ctxt_switches");
	if (!v || !nv || sscanf(v, "%" SCNu64, &voluntary) != 1 || sscanf(nv, "%" SCNu64, &involuntary) != 1)
		return -EBADMSG;
	*ret_voluntary = voluntary;
	*ret_involuntary = involuntary;
	return 0;
}

int proc_cmdline(uint32_t pid, char **ret, size_t *ret_n)
{
	return read_pid_file(pid, "cmdline", CMDLINE_MAX, ret, ret_n);
}
