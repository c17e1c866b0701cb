/* SPDX-License-Identifier: (LGPL-2.1 OR BSD-2-Clause) */
/*
 * The rows of Go code against what the processor does: the main thread of a
 * stripped program is stepped from the runtime's main on, calls and returns are
 * kept count of, and at every instruction the rule must lead to the place where
 * the return address was pushed, and to the rbp that the caller had.
 */
#include <criterion/criterion.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/ptrace.h>
#include <sys/uio.h>
#include <sys/user.h>
#include <sys/wait.h>

#include "../objfile/go.h"
#include "objfile/objfile.h"
#include "unwind/rows.h"
#include "unwind/unwind.h"
#include "util/cleanup.h"

DEFINE_CLEANUP(struct objfile *, objfile_free)
DEFINE_CLEANUP(struct objfile_go *, objfile_go_free)

#define CALLS_MAX 4096
#define INSTRUCTION_MAX 16 /* bytes */
#define SIGNAL_EVERY 7000 /* steps */

struct call {
	uint64_t cfa, bp;
};

struct stepped {
	pid_t pid;
	uint64_t bias;
	struct objfile_go *go;
	struct unwind_rows *rows;
	bool with_signals; /* C's trampoline isn't followed */
	struct call calls[CALLS_MAX]; /* those since the stack was last lost track of */
	size_t call_n;
	struct proc_maps *maps;
	struct unwind *unwind;
	size_t copies, copies_complete;
	size_t steps, checked, unsupported, lost_bp, stops, switched, signals, signals_all;
	uint64_t resumes_ip, resumes_sp; /* where the rule says that a signal came; 0: not in the trampoline */
};

static uint64_t peek(pid_t pid, uint64_t address)
{
	uint64_t word = 0;
	struct iovec local = { &word, 8 }, remote = { (void *)address, 8 };

	process_vm_readv(pid, &local, 1, &remote, 1, 0);
	return word;
}

/* A call or return between two stops? */
static void keep_count(struct stepped *s, const struct user_regs_struct *before, const struct user_regs_struct *now)
{
	uint64_t code = peek(s->pid, before->rip);
	const uint8_t *p = (const uint8_t *)&code;
	size_t at = (p[0] & 0xf0) == 0x40; /* REX */
	bool call = p[at] == 0xe8 || (p[at] == 0xff && (p[at + 1] & 0x38) == 0x10);

	if (call && now->rsp == before->rsp - 8) {
		if (s->call_n == CALLS_MAX)
			s->call_n = 0;
		s->calls[s->call_n++] = (struct call){ now->rsp + 8, now->rbp };
	} else if (p[0] == 0xc3 && s->call_n) {
		/* Back to another place than the last call came from: that was on another stack. */
		if (s->calls[s->call_n - 1].cfa == now->rsp)
			s->call_n--;
		else
			s->call_n = 0;
	}
}

static void check_rule(struct stepped *s, const struct user_regs_struct *now, const struct objfile_go_function *f)
{
	const struct wcbpf_rule *rule = rows_find(s->rows, now->rip - s->bias);
	const struct call *call = &s->calls[s->call_n - 1];
	uint64_t cfa = now->rsp + (int64_t)rule->cfa_off, bp = now->rbp;

	if (rule->cfa == WCBPF_CFA_STOP || rule->cfa == WCBPF_CFA_UNSUPPORTED) {
		s->stops += rule->cfa == WCBPF_CFA_STOP;
		s->unsupported += rule->cfa == WCBPF_CFA_UNSUPPORTED;
		return;
	}
	if (rule->cfa == WCBPF_CFA_BP_SWITCH)
		cfa = now->rbp + (int64_t)rule->cfa_off;
	else
		cr_assert_eq(rule->cfa, WCBPF_CFA_SP, "%s+%#llx: %u", f->name, now->rip - s->bias - f->start, rule->cfa);
	s->switched += rule->cfa == WCBPF_CFA_BP_SWITCH;
	cr_assert_eq(cfa, call->cfa, "%s+%#llx: CFA %#lx, is %#lx", f->name, now->rip - s->bias - f->start, cfa, call->cfa);
	if (rule->bp == WCBPF_SAVED_CFA)
		bp = peek(s->pid, cfa + (int64_t)rule->bp_off);
	if (rule->bp == WCBPF_SAVED_LOST)
		s->lost_bp++;
	else
		cr_assert_eq(bp, call->bp, "%s+%#llx: rbp %#lx, is %#lx", f->name, now->rip - s->bias - f->start, bp,
			     call->bp);
	s->checked++;
}

#define COPY_EVERY 97 /* checked steps */

/* The same from a copy of the stack: the return addresses of the calls that are known. */
static void check_copy(struct stepped *s, const struct user_regs_struct *r)
{
	static uint8_t stack[65536];
	uint64_t regs[WCBPF_REGS_MAX] = { [3] = r->rbx, [6] = r->rbp, [7] = r->rsp, [16] = r->rip }, frames[64];
	struct iovec local = { stack, sizeof(stack) }, remote[16];
	struct unwind_input in = { (uint32_t)s->pid, 1, regs, stack, 0 };
	enum unwind_end end;
	size_t n;
	ssize_t got;

	for (size_t i = 0; i < 16; i++) {
		uint64_t at = i ? (r->rsp & ~4095ull) + i * 4096 : r->rsp;

		remote[i] = (struct iovec){ (void *)at, (r->rsp & ~4095ull) + (i + 1) * 4096 - at };
	}
	got = process_vm_readv(s->pid, &local, 1, remote, 16, 0); /* up to where the mapping ends */
	cr_assert_gt(got, 0);
	in.stack_n = (size_t)got;
	cr_assert_eq(unwind_copy(s->unwind, &in, frames, 64, &n, &end), 0);
	for (size_t i = 1; i < n && i <= s->call_n; i++) {
		struct objfile_go_function f;

		cr_assert_eq(frames[i], peek(s->pid, s->calls[s->call_n - i].cfa - 8), "%zu of %zu frames from %#llx", i,
			     n, r->rip - s->bias);
		/* What a signal interrupted has called nobody. */
		if (!objfile_go_function(s->go, frames[i] - s->bias, &f) && !strncmp(f.name, "runtime.sigreturn", 17))
			break;
	}
	s->copies++;
	s->copies_complete += end == UNWIND_COMPLETE;
}

/* What takes up another goroutine, or sets the stack up from nothing: the calls on it are not known. */
static bool forgets(const char *name)
{
	return !strcmp(name, "gogo") || !strcmp(name, "runtime.gogo") || !strcmp(name, "runtime.mcall") ||
	       !strcmp(name, "runtime.morestack") || !strcmp(name, "runtime.cgocallback") ||
	       !strcmp(name, "runtime.goexit");
}

/* The kernel calls the handler, and the trampoline returns to the kernel, which goes back to where the signal came. */
static bool is_signal(struct stepped *s, const struct user_regs_struct *now, const struct objfile_go_function *f)
{
	if (s->resumes_ip && strncmp(f->name, "runtime.sigreturn", 17)) {
		struct user_regs_struct there = { .rip = s->resumes_ip, .rsp = s->resumes_sp };

		/* The step out of the kernel may be one instruction of what goes on, and that one a branch. */
		if (now->rip != s->resumes_ip)
			keep_count(s, &there, now);
		s->signals += now->rip - s->resumes_ip < INSTRUCTION_MAX && now->rsp == s->resumes_sp;
		s->resumes_ip = 0;
		s->signals_all++;
	}
	if (!strcmp(f->name, "runtime.sigtramp") && now->rip - s->bias == f->start && s->call_n < CALLS_MAX)
		s->calls[s->call_n++] = (struct call){ now->rsp + 8, now->rbp };
	if (!strncmp(f->name, "runtime.sigreturn", 17) && now->rip - s->bias == f->start) {
		/* Found like any caller: by the byte before its first. */
		const struct wcbpf_rule *rule = rows_find(s->rows, f->start - 1);
		uint64_t context = now->rsp + (uint64_t)rule->cfa_off;

		cr_assert_eq(rule->cfa, WCBPF_CFA_SIGNAL);
		s->resumes_sp = peek(s->pid, context + offsetof(struct sigcontext, rsp));
		s->resumes_ip = peek(s->pid, context + offsetof(struct sigcontext, rip));
	}
	return !strncmp(f->name, "runtime.sigreturn", 17);
}

static void step(struct stepped *s, size_t max)
{
	struct user_regs_struct before = { 0 }, now;
	int status = 0;

	while (s->steps < max) {
		struct objfile_go_function f;

		cr_assert_eq(ptrace(PTRACE_GETREGS, s->pid, NULL, &now), 0);
		if (s->steps++)
			keep_count(s, &before, &now);
		/* The runtime's own, which it takes for a preemption that is no more wanted. */
		if (s->with_signals && s->steps % SIGNAL_EVERY == 0)
			tgkill(s->pid, s->pid, SIGURG);
		if (!objfile_go_function(s->go, now.rip - s->bias, &f)) {
			bool signal = !forgets(f.name) && is_signal(s, &now, &f);

			if (forgets(f.name))
				s->call_n = 0;
			else if (!signal && s->call_n)
				check_rule(s, &now, &f);
			/* What a signal interrupted has called nobody. */
			if (s->call_n && !signal && s->checked % COPY_EVERY == 1)
				check_copy(s, &now);
		}
		before = now;
		if (ptrace(PTRACE_SINGLESTEP, s->pid, NULL, WIFSTOPPED(status) && WSTOPSIG(status) != SIGTRAP ?
			   WSTOPSIG(status) : 0) || waitpid(s->pid, &status, 0) != s->pid || !WIFSTOPPED(status))
			return;
	}
	kill(s->pid, SIGKILL);
	waitpid(s->pid, &status, 0);
}

static pid_t start(const char *path)
{
	pid_t pid = fork();
	int status;

	if (!pid) {
		char *const argv[] = { (char *)path, NULL };
		char procs[] = "GOMAXPROCS=1", debug[] = "GODEBUG=asyncpreemptoff=1";
		char *const env[] = { procs, debug, NULL };

		ptrace(PTRACE_TRACEME, 0, NULL, NULL);
		dup2(open("/dev/null", O_WRONLY), 1);
		execve(path, argv, env);
		_exit(127);
	}
	cr_assert_eq(waitpid(pid, &status, 0), pid);
	cr_assert(WIFSTOPPED(status));
	ptrace(PTRACE_SETOPTIONS, pid, NULL, PTRACE_O_EXITKILL);
	return pid;
}

/* Where the program's lowest mapping is. */
static uint64_t program_start(pid_t pid)
{
	unsigned long start = 0;
	char path[64];
	FILE *f;

	snprintf(path, sizeof(path), "/proc/%d/maps", pid);
	f = fopen(path, "re");
	cr_assert_not_null(f);
	cr_assert_eq(fscanf(f, "%lx", &start), 1);
	fclose(f);
	return start;
}

/* Lets it run up to the runtime's main, of which there is one thread then: before that it reads its tables, at length. */
static void run_to_main(const struct stepped *s)
{
	struct objfile_go_function f = { 0 };
	struct user_regs_struct regs;
	uint64_t at, word;
	int status;

	for (size_t i = 0; i < objfile_go_function_n(s->go); i++) {
		if (!objfile_go_function_at(s->go, i, &f) && !strcmp(f.name, "runtime.main"))
			break;
	}
	cr_assert_str_eq(f.name, "runtime.main");
	at = f.start + s->bias;
	word = peek(s->pid, at);
	cr_assert_eq(ptrace(PTRACE_POKETEXT, s->pid, at, (word & ~0xffull) | 0xcc), 0);
	cr_assert_eq(ptrace(PTRACE_CONT, s->pid, NULL, NULL), 0);
	cr_assert_eq(waitpid(s->pid, &status, 0), s->pid);
	cr_assert(WIFSTOPPED(status) && WSTOPSIG(status) == SIGTRAP);
	cr_assert_eq(ptrace(PTRACE_POKETEXT, s->pid, at, word), 0);
	cr_assert_eq(ptrace(PTRACE_GETREGS, s->pid, NULL, &regs), 0);
	cr_assert_eq(regs.rip, at + 1);
	regs.rip = at;
	cr_assert_eq(ptrace(PTRACE_SETREGS, s->pid, NULL, &regs), 0);
}

static void step_program(const char *name, size_t max, struct stepped *s)
{
	_cleanup_(objfile_freep) struct objfile *o = NULL;
	const char *path = go_program(name);
	_cleanup_(closep) int fd = open(path, O_RDONLY | O_CLOEXEC);
	GElf_Ehdr ehdr;

	cr_assert_eq(objfile_open_fd(fd, &o), 0, "%s", path);
	cr_assert_eq(objfile_go_open(o, &s->go), 0);
	cr_assert_eq(unwind_rows_read(fd, &s->rows), 0);
	cr_assert_not_null(gelf_getehdr(objfile_elf(o), &ehdr));
	s->pid = start(path);
	s->bias = ehdr.e_type == ET_DYN ? program_start(s->pid) : 0;
	run_to_main(s);
	cr_assert_eq(proc_maps_new(&s->maps), 0);
	cr_assert_eq(proc_maps_snapshot(s->maps, (uint32_t)s->pid, 0), 0);
	cr_assert_eq(unwind_new(s->maps, &s->unwind), 0);
	step(s, max);
	fprintf(stderr, "%s (%s): %zu steps, %zu checked, %zu across stacks, rbp lost at %zu, stop %zu, unsupported %zu, signals %zu of %zu\n",
		name, objfile_go_version(s->go), s->steps, s->checked, s->switched, s->lost_bp, s->stops, s->unsupported,
		s->signals, s->signals_all);
	fprintf(stderr, "  %zu copies, %zu complete\n", s->copies, s->copies_complete);
	cr_assert_gt(s->copies, 100);
	cr_assert_gt(s->copies_complete, s->copies / 4);
	s->unwind = unwind_free(s->unwind);
	s->maps = proc_maps_free(s->maps);
	s->go = objfile_go_free(s->go);
	s->rows = unwind_rows_free(s->rows);
}

Test(go_rows, every_step)
{
	static struct stepped s = { .with_signals = true };

	step_program("stripped", 150000, &s);
	/* Each time the stack is lost track of, what is called after that. */
	cr_assert_gt(s.checked, s.steps / 2);
	cr_assert_gt(s.switched, 50);
	cr_assert_gt(s.signals, 5);
	cr_assert_gt(s.signals * 4, s.signals_all * 3);
	/* In the handler's entry from the kernel. */
	cr_assert_lt(s.lost_bp, s.checked / 10);
	cr_assert_lt(s.unsupported, s.checked / 50);
}

Test(go_rows, every_step_with_c)
{
	static struct stepped s;

	step_program("c-stripped", 250000, &s);
	/* Most of it is the dynamic linker. */
	cr_assert_gt(s.checked, 20000);
	cr_assert_gt(s.switched, 10);
}
