/* SPDX-License-Identifier: (LGPL-2.1 OR BSD-2-Clause) */
/*
 * Each fault of a target has its own sentence: a number that nobody has, a
 * zombie, a thread where a process was meant. The kernel's errno would be the
 * same for most of them.
 */
#include "cmd/target.h"

#include <errno.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "cmd/cgroup.h"
#include "proc/proc.h"
#include "util/cleanup.h"
#include "util/text.h"
#include "util/vec.h"

static int note_add(struct target *t, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

static int note_add(struct target *t, const char *fmt, ...)
{
	size_t cap = t->note_n;
	char *note = NULL;
	va_list args;

	if (VEC_RESERVE(t->notes, cap, t->note_n + 1) < 0)
		return -ENOMEM;
	va_start(args, fmt);
	note = text_vformat(fmt, args);
	va_end(args);
	if (!note)
		return -ENOMEM;
	t->notes[t->note_n++] = note;
	return 0;
}

static int id_add(struct target *t, uint32_t id)
{
	size_t cap = t->id_n;

	for (size_t i = 0; i < t->id_n; i++)
		if (t->ids[i] == id)
			return 0;
	if (VEC_RESERVE(t->ids, cap, t->id_n + 1) < 0)
		return -ENOMEM;
	t->ids[t->id_n++] = id;
	return 0;
}

static int absent_refuse(uint32_t id, const char *what, char **ret_why)
{
	if (kill((pid_t)id, 0) == 0 || errno == EPERM)
		return options_refuse(ret_why,
				      "%s %u is there, but /proc hides it (mount option hidepid): run as root or "
				      "as its owner", what, id);
	return options_refuse(ret_why, "no %s %u", what, id);
}

/* A leader that left before its other threads looks like a zombie, but the process lives. */
static bool threads_remain(uint32_t pid)
{
	_cleanup_(freep) uint32_t *tids = NULL;
	size_t n;

	return proc_threads(pid, &tids, &n) == 0 && n > 1;
}

/* What holds for a process and for a thread. *ret_tgid: the process it belongs to. */
static int id_check(struct target *t, uint32_t id, const char *what, uint32_t self, uint32_t *ret_tgid, char **ret_why)
{
	struct proc_stat st;
	uint32_t tgid;
	int r = proc_stat_read(id, &st);

	if (r == 0)
		r = proc_tgid(id, &tgid);
	if (r == -ESRCH || (r == 0 && (st.state == 'X' || st.state == 'x')))
		return absent_refuse(id, what, ret_why);
	if (r < 0)
		return options_refuse(ret_why, "%s %u: can't read /proc/%u/stat: %s", what, id, id, strerror(-r));
	if (tgid == self)
		return options_refuse(ret_why, "%s %u is wcbpf itself", what, id);
	if (st.state == 'Z' && !threads_remain(id))
		return options_refuse(ret_why,
				      "%s %u is a zombie: it has exited and waits for its parent %u to notice; "
				      "nothing is left to record", what, id, st.ppid);
	if (st.kthread) {
		r = note_add(t, "%u is a kernel thread (%s): it has no user stack", id, st.comm);
		if (r < 0)
			return r;
	}
	*ret_tgid = tgid;
	return 0;
}

static int ids_check(struct target *t, const struct capture_config *c, uint32_t self, char **ret_why)
{
	bool processes = c->scope == CAPTURE_PIDS;

	for (size_t i = 0; i < c->id_n; i++) {
		uint32_t id = c->ids[i], tgid = 0;
		int r = id_check(t, id, processes ? "process" : "thread", self, &tgid, ret_why);

		if (r == 0 && processes && tgid != id)
			r = note_add(t, "%u is a thread of process %u: recording the whole process "
				     "(-t %u: the thread alone)", id, tgid, id);
		if (r == 0)
			r = id_add(t, processes ? tgid : id);
		if (r < 0)
			return r;
	}
	return 0;
}

static int cgroup_check(struct target *t, const char *given, char **ret_why)
{
	_cleanup_(freep) char *path = NULL;
	int r = cgroup_find("/proc/self/mountinfo", given, &path, &t->cgroup_id, ret_why);

	if (r < 0)
		return r;
	t->text = text_format("cgroup %s", path);
	if (!t->text)
		return -ENOMEM;
	return 0;
}

static int ids_text(struct target *t)
{
	_cleanup_(freep) char *text = NULL;
	size_t size;
	FILE *f = open_memstream(&text, &size);

	if (!f)
		return -ENOMEM;
	fputs(t->scope == CAPTURE_PIDS ? "pid " : "tid ", f);
	for (size_t i = 0; i < t->id_n; i++)
		fprintf(f, "%s%u", i ? "," : "", t->ids[i]);
	if (fclose(f) != 0)
		return -ENOMEM;
	t->text = TAKE_PTR(text);
	return 0;
}

int target_check(const struct capture_config *c, uint32_t self, struct target *ret, char **ret_why)
{
	_cleanup_(target_done) struct target t = {.scope = c->scope};
	int r = 0;

	switch (c->scope) {
	case CAPTURE_PIDS:
	case CAPTURE_TIDS:
		r = ids_check(&t, c, self, ret_why);
		if (r == 0)
			r = ids_text(&t);
		break;
	case CAPTURE_CGROUP:
		r = cgroup_check(&t, c->cgroup, ret_why);
		break;
	case CAPTURE_ALL:
		t.text = strdup("all");
		r = t.text ? 0 : -ENOMEM;
		break;
	}
	if (r < 0)
		return r;
	*ret = t;
	t = (struct target){0};
	return 0;
}

void target_done(struct target *t)
{
	for (size_t i = 0; i < t->note_n; i++)
		free(t->notes[i]);
	free(t->notes);
	free(t->ids);
	free(t->text);
	*t = (struct target){0};
}
