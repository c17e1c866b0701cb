/* SPDX-License-Identifier: (LGPL-2.1 OR BSD-2-Clause) */
#include "target.h"

#include <criterion/criterion.h>
#include <elfutils/libdwfl.h>
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/uio.h>
#include <sys/user.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "proc/proc.h"
#include "util/cleanup.h"

/* Asleep and staying so: three looks with the same count of switches. */
static bool is_blocked(uint32_t pid, uint32_t tid)
{
	uint64_t v, first = 0, nv;
	struct proc_stat s;

	for (int i = 0; i < 3; i++) {
		if (proc_stat_read(tid, &s) || s.state != 'S' || proc_switches(pid, tid, &v, &nv))
			return false;
		if (i && v != first)
			return false;
		first = v;
		usleep(3000);
	}
	return true;
}

static uint32_t wait_until_blocked(uint32_t pid, const char *path, int other_thread)
{
	for (int tries = 0; tries < 2000; tries++) {
		_cleanup_(freep) uint32_t *tids = NULL;
		_cleanup_(freep) char *cmdline = NULL;
		size_t n = 0, cmdline_n;

		usleep(2000);
		/* Not before its exec: it has our arguments until then. */
		if (proc_cmdline(pid, &cmdline, &cmdline_n) || proc_threads(pid, &tids, &n))
			continue;
		if (!strcmp(cmdline, path) && n > (size_t)other_thread && is_blocked(pid, tids[other_thread]))
			return tids[other_thread];
	}
	cr_assert_fail("the program does not block");
	return 0;
}

static void read_stack(struct target *t)
{
	size_t want = TARGET_STACK_MAX;

	t->stack = malloc(want);
	/* The whole would fail beyond the stack's end; so page by page. */
	for (t->stack_n = 0; t->stack_n < want;) {
		uint64_t at = t->regs[7] + t->stack_n;
		size_t n = 4096 - at % 4096;
		struct iovec to = { t->stack + t->stack_n, n < want - t->stack_n ? n : want - t->stack_n };
		struct iovec from = { (void *)at, to.iov_len };

		if (process_vm_readv(t->pid, &to, 1, &from, 1, 0) != (ssize_t)to.iov_len)
			break;
		t->stack_n += to.iov_len;
	}
	cr_assert_gt(t->stack_n, 0);
}

struct target target_start(const char *path, const char *arg, int other_thread)
{
	struct target t = { 0 };
	struct user_regs_struct r;
	int status;

	t.pid = fork();
	if (!t.pid) {
		prctl(PR_SET_PDEATHSIG, SIGKILL); /* a failed test leaves nobody behind */
		execl(path, path, arg, NULL);
		_exit(127);
	}
	t.tid = (pid_t)wait_until_blocked((uint32_t)t.pid, path, other_thread);
	cr_assert_eq(ptrace(PTRACE_SEIZE, t.tid, 0, PTRACE_O_EXITKILL), 0);
	cr_assert_eq(ptrace(PTRACE_INTERRUPT, t.tid, 0, 0), 0);
	cr_assert_eq(waitpid(t.tid, &status, __WALL), t.tid);
	cr_assert(WIFSTOPPED(status));
	cr_assert_eq(ptrace(PTRACE_GETREGS, t.tid, 0, &r), 0);
	const uint64_t regs[] = { r.rax, r.rdx, r.rcx, r.rbx, r.rsi, r.rdi, r.rbp, r.rsp, r.r8,
				  r.r9,	 r.r10, r.r11, r.r12, r.r13, r.r14, r.r15, r.rip };
	memcpy(t.regs, regs, sizeof(regs));
	read_stack(&t);
	return t;
}

struct found {
	uint64_t *frames;
	size_t n;
};

static int take_frame(Dwfl_Frame *state, void *arg)
{
	struct found *f = arg;
	Dwarf_Addr pc;
	bool is_activation;

	if (f->n == TARGET_FRAMES_MAX || !dwfl_frame_pc(state, &pc, &is_activation))
		return DWARF_CB_ABORT;
	f->frames[f->n++] = pc;
	return DWARF_CB_OK;
}

size_t target_dwfl(const struct target *t, uint64_t *frames)
{
	static char *no_debug_files;
	static const Dwfl_Callbacks callbacks = {
		.find_elf = dwfl_linux_proc_find_elf,
		.find_debuginfo = dwfl_standard_find_debuginfo,
		.debuginfo_path = &no_debug_files,
	};
	Dwfl *dwfl = dwfl_begin(&callbacks);
	struct found f = { .frames = frames };

	unsetenv("DEBUGINFOD_URLS");
	cr_assert_not_null(dwfl);
	cr_assert_eq(dwfl_linux_proc_report(dwfl, t->pid), 0);
	cr_assert_eq(dwfl_report_end(dwfl, NULL, NULL), 0);
	cr_assert_geq(dwfl_linux_proc_attach(dwfl, t->pid, true), 0);
	dwfl_getthread_frames(dwfl, t->tid, take_frame, &f);
	dwfl_end(dwfl);
	return f.n;
}

void target_end(struct target *t)
{
	kill(t->pid, SIGKILL);
	/* A traced thread is the tracer's to reap, and its leader waits for it. */
	if (t->tid != t->pid)
		waitpid(t->tid, NULL, __WALL);
	waitpid(t->pid, NULL, __WALL);
	free(t->stack);
	t->stack = NULL;
}
