/* SPDX-License-Identifier: (LGPL-2.1 OR BSD-2-Clause) */
#include "target.h"

#include <criterion/criterion.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ptrace.h>
#include <sys/user.h>
#include <sys/wait.h>
#include <unistd.h>

#include "util/cleanup.h"

static void run_child(const char *path, const char *arg)
{
	int null = open("/dev/null", O_RDWR);

	dup2(null, 0);
	dup2(null, 1);
	dup2(null, 2);
	unsetenv("LD_PRELOAD");
	setenv("GOMAXPROCS", "1", 1);
	setenv("GODEBUG", "asyncpreemptoff=1", 1);
	ptrace(PTRACE_TRACEME, 0, NULL, NULL);
	execl(path, path, arg, (char *)NULL);
	_exit(127);
}

void target_start(struct target *t, const char *path, const char *arg)
{
	char name[64];
	int status;

	*t = (struct target){ .at = -1 };
	t->pid = fork();
	cr_assert_geq(t->pid, 0);
	if (!t->pid)
		run_child(path, arg);
	t->tid = t->pid;
	cr_assert_eq(waitpid(t->pid, &status, 0), t->pid);
	cr_assert(WIFSTOPPED(status), "%s", path);
	cr_assert_eq(ptrace(PTRACE_SETOPTIONS, t->pid, NULL, PTRACE_O_EXITKILL | PTRACE_O_TRACECLONE), 0);
	snprintf(name, sizeof(name), "/proc/%d/mem", t->pid);
	t->mem = open(name, O_RDWR | O_CLOEXEC);
	cr_assert_geq(t->mem, 0);
}

void target_end(struct target *t)
{
	pid_t tid;

	if (t->pid) {
		kill(t->pid, SIGKILL);
		/* Its threads have to be waited for too: it ends when they have. */
		do
			tid = waitpid(-1, &t->status, __WALL);
		while (tid > 0 && (tid != t->pid || WIFSTOPPED(t->status)));
	}
	t->pid = 0;
	closep(&t->mem);
	t->mem = -1;
}

uint64_t target_bias(const struct target *t, const struct objfile *o, const char *path)
{
	char name[64], line[4096];
	_cleanup_(fclosep) FILE *f = NULL;
	uint64_t start, offset, vaddr;

	snprintf(name, sizeof(name), "/proc/%d/maps", t->pid);
	f = fopen(name, "re");
	cr_assert_not_null(f);
	while (fgets(line, sizeof(line), f)) {
		if (sscanf(line, "%lx-%*x r-x%*s %lx", &start, &offset) != 2 || !strstr(line, path))
			continue;
		cr_assert_eq(objfile_vaddr_of_offset(o, offset, &vaddr), 0);
		return start - vaddr;
	}
	cr_assert_fail("%s isn't mapped", path);
	return 0;
}

bool target_read(const struct target *t, uint64_t at, void *ret, size_t n)
{
	return pread(t->mem, ret, n, (off_t)at) == (ssize_t)n;
}

uint64_t target_word(const struct target *t, uint64_t at)
{
	uint64_t word = 0;

	target_read(t, at, &word, sizeof(word));
	return word;
}

static void put_byte(const struct target *t, uint64_t at, uint8_t byte)
{
	cr_assert_eq(pwrite(t->mem, &byte, 1, (off_t)at), 1, "%#lx", at);
}

void target_break(struct target *t, uint64_t at)
{
	size_t n = t->breakpoint_n++;

	cr_assert_lt(n, (size_t)TARGET_BREAKPOINTS_MAX);
	t->breakpoints[n].at = at;
	cr_assert(target_read(t, at, &t->breakpoints[n].byte, 1));
	put_byte(t, at, 0xcc);
}

void target_state(const struct target *t, struct target_state *ret)
{
	struct user_regs_struct r;

	cr_assert_eq(ptrace(PTRACE_GETREGS, t->tid, NULL, &r), 0);
	*ret = (struct target_state){
		.reg = { r.rax, r.rdx, r.rcx, r.rbx, r.rsi, r.rdi, r.rbp, r.rsp, r.r8, r.r9, r.r10, r.r11, r.r12, r.r13,
			 r.r14, r.r15 },
		.rip = r.rip,
		.flags = r.eflags,
	};
}

/* Until something is to be looked at; signals are handed on. False: it has ended. */
static bool wait_for_stop(struct target *t)
{
	for (;;) {
		pid_t tid = waitpid(-1, &t->status, __WALL);
		int sig;

		cr_assert_gt(tid, 0);
		if (WIFEXITED(t->status) || WIFSIGNALED(t->status)) {
			if (tid != t->pid)
				continue;
			t->pid = 0;
			return false;
		}
		sig = WSTOPSIG(t->status);
		if (sig == SIGTRAP && !(t->status >> 16)) {
			t->tid = tid;
			return true;
		}
		/* A thread is born with a stop. */
		if (sig == SIGTRAP || sig == SIGSTOP)
			sig = 0;
		ptrace(PTRACE_CONT, tid, NULL, (void *)(long)sig);
	}
}

static void step_over(struct target *t)
{
	size_t n = (size_t)t->at;
	int status;

	put_byte(t, t->breakpoints[n].at, t->breakpoints[n].byte);
	do {
		cr_assert_eq(ptrace(PTRACE_SINGLESTEP, t->tid, NULL, NULL), 0);
		cr_assert_eq(waitpid(t->tid, &status, __WALL), t->tid);
	} while (WIFSTOPPED(status) && WSTOPSIG(status) != SIGTRAP);
	put_byte(t, t->breakpoints[n].at, 0xcc);
	t->at = -1;
}

int target_run(struct target *t)
{
	struct user_regs_struct r;

	if (t->at >= 0)
		step_over(t);
	cr_assert_eq(ptrace(PTRACE_CONT, t->tid, NULL, NULL), 0);
	for (;;) {
		if (!wait_for_stop(t))
			return -1;
		cr_assert_eq(ptrace(PTRACE_GETREGS, t->tid, NULL, &r), 0);
		for (size_t i = 0; i < t->breakpoint_n; i++) {
			if (t->breakpoints[i].at != r.rip - 1)
				continue;
			r.rip--;
			cr_assert_eq(ptrace(PTRACE_SETREGS, t->tid, NULL, &r), 0);
			t->at = (int)i;
			return t->at;
		}
		ptrace(PTRACE_CONT, t->tid, NULL, NULL);
	}
}

bool target_step(struct target *t)
{
	if (t->at >= 0) {
		step_over(t);
		return true;
	}
	cr_assert_eq(ptrace(PTRACE_SINGLESTEP, t->tid, NULL, NULL), 0);
	return wait_for_stop(t);
}

uint64_t target_cfa(const struct target *t, const struct objfile_spot *spot)
{
	struct target_state s;

	target_state(t, &s);
	return s.reg[spot->cfa_reg] + (uint64_t)(int64_t)spot->cfa_off;
}

bool target_condition(const struct target *t, int condition)
{
	struct target_state s;
	bool c, p, z, sign, o, holds = false;

	target_state(t, &s);
	c = s.flags & 1;
	p = s.flags & 4;
	z = s.flags & 0x40;
	sign = s.flags & 0x80;
	o = s.flags & 0x800;
	switch (condition >> 1) {
	case 0: holds = o; break;
	case 1: holds = c; break;
	case 2: holds = z; break;
	case 3: holds = c || z; break;
	case 4: holds = sign; break;
	case 5: holds = p; break;
	case 6: holds = sign != o; break;
	case 7: holds = z || sign != o; break;
	}
	return holds != (condition & 1);
}

static const char *show_text(const struct target *t, uint64_t at, size_t n, bool to_nul)
{
	static char text[WCBPF_VALUE_BYTES_MAX + 3];
	size_t i = 0;

	text[i++] = '"';
	for (; i <= n && i <= WCBPF_VALUE_BYTES_MAX; i++) {
		if (!target_read(t, at + i - 1, &text[i], 1))
			return "?";
		if (to_nul && !text[i])
			break;
	}
	text[i] = '"';
	text[i + 1] = '\0';
	return text;
}

static const char *show_bytes(const struct target *t, uint64_t at, size_t n)
{
	static char text[2 * WCBPF_VALUE_BYTES_MAX + 1];

	for (size_t i = 0; i < n; i++) {
		uint8_t byte;

		if (!target_read(t, at + i, &byte, 1))
			return "?";
		snprintf(text + 2 * i, 3, "%02x", byte);
	}
	return text;
}

static const char *show_number(const struct wcbpf_fetch *f, uint64_t value)
{
	static char text[32];
	unsigned int unused = 64 - (f->bit_n ? f->bit_n : 8u * f->bytes);

	if (f->bit_n)
		value >>= f->bit_at;
	if (f->type == WCBPF_VALUE_INT)
		snprintf(text, sizeof(text), "%ld", (int64_t)(value << unused) >> unused);
	else
		snprintf(text, sizeof(text), "%lu", value << unused >> unused);
	return text;
}

const char *target_value(const struct target *t, const struct wcbpf_fetch *f, uint64_t cfa)
{
	struct target_state s;
	uint64_t it, other;

	target_state(t, &s);
	it = f->from == WCBPF_FROM_REG ? s.reg[f->reg] : f->from == WCBPF_FROM_CFA ? cfa + (uint64_t)f->at : (uint64_t)f->at;
	other = s.reg[f->reg2];
	for (size_t i = 0; i < f->deref_n; i++)
		if (!target_read(t, it + (uint64_t)(int64_t)f->deref[i], &it, sizeof(it)))
			return "?";
	if (f->memory)
		it += (uint64_t)(int64_t)f->last;
	switch (f->type) {
	case WCBPF_VALUE_STRING:
		return show_text(t, it, f->bytes, true);
	case WCBPF_VALUE_BYTES:
		return show_bytes(t, it, f->bytes);
	case WCBPF_VALUE_GO_STRING:
		if (f->memory && (!target_read(t, it + (f->length_at ? 8 * f->length_at : 8), &other, 8) || !target_read(t, it, &it, 8)))
			return "?";
		return show_text(t, it, other, false);
	}
	if (f->memory && !target_read(t, it, &it, f->bytes))
		return "?";
	return show_number(f, it);
}
