/* SPDX-License-Identifier: (LGPL-2.1 OR BSD-2-Clause) */
/*
 * The stacks of a running process as libdwfl unwinds them: an unwinder that
 * shares no code with wcbpf, on memory that stands still. Usage: dwflstacks PID
 * ROUNDS PAUSE_MS [SECONDS]. Each round stops every thread by ptrace, prints one
 * JSON line a thread and lets it go; pauses vary around PAUSE_MS, so as not to
 * run in step with the program. No round begins after SECONDS:
 *
 *   {"tid":N, "from":NS, "to":NS, "whole":true, "error":"", "frames":[["file", address in it], ...]}
 *
 * The thread was stopped from before "from" until after "to" (CLOCK_MONOTONIC);
 * frames are innermost first, return addresses as they are. A thread stopped so
 * has just left the CPU: a tracer of context switches has seen this very stack.
 */
#include <ctype.h>
#include <dirent.h>
#include <elfutils/libdwfl.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ptrace.h>
#include <sys/wait.h>
#include <time.h>

#define THREADS_MAX 4096
#define FRAMES_MAX 1024

static pid_t seized[THREADS_MAX];
static size_t seized_n;

struct frame {
	const char *file;
	uint64_t address;
};

static struct frame frames[FRAMES_MAX];
static size_t frame_n;

static uint64_t now_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

static bool is_seized(pid_t tid)
{
	for (size_t i = 0; i < seized_n; i++)
		if (seized[i] == tid)
			return true;
	if (seized_n == THREADS_MAX || ptrace(PTRACE_SEIZE, tid, NULL, NULL))
		return false;
	seized[seized_n++] = tid;
	return true;
}

/*
 * Stops a seized thread; signals that come first are passed on. waitpid() may
 * tell of the stop while the thread is still on its way off the CPU; any other
 * request waits until it has left it.
 */
static bool stop(pid_t tid)
{
	unsigned long message;
	int status;

	if (ptrace(PTRACE_INTERRUPT, tid, NULL, NULL))
		return false;
	for (;;) {
		if (waitpid(tid, &status, __WALL) != tid || !WIFSTOPPED(status))
			return false;
		if (status >> 16 == PTRACE_EVENT_STOP)
			return !ptrace(PTRACE_GETEVENTMSG, tid, NULL, &message);
		if (ptrace(PTRACE_CONT, tid, NULL, (void *)(uintptr_t)WSTOPSIG(status)))
			return false;
	}
}

static int take_frame(Dwfl_Frame *frame, void *arg)
{
	Dwfl *dwfl = dwfl_thread_dwfl(dwfl_frame_thread(frame));
	Dwfl_Module *module;
	const char *file = NULL, *name = "";
	Dwarf_Addr pc;
	GElf_Addr bias = 0;
	bool exact;

	(void)arg;
	if (frame_n == FRAMES_MAX || !dwfl_frame_pc(frame, &pc, &exact))
		return DWARF_CB_ABORT;
	module = dwfl_addrmodule(dwfl, pc - !exact);
	if (module) {
		name = dwfl_module_info(module, NULL, NULL, NULL, NULL, NULL, &file, NULL);
		if (!dwfl_module_getelf(module, &bias))
			bias = 0;
	}
	frames[frame_n++] = (struct frame){ file ? file : name, pc - bias };
	return DWARF_CB_OK;
}

static void print_frames(pid_t tid, uint64_t from, uint64_t to, bool whole)
{
	printf("{\"tid\":%d,\"from\":%llu,\"to\":%llu,\"whole\":%s,\"error\":\"%s\",\"frames\":[", tid,
	       (unsigned long long)from, (unsigned long long)to, whole ? "true" : "false", whole ? "" : dwfl_errmsg(-1));
	for (size_t i = 0; i < frame_n; i++)
		printf("%s[\"%s\",%llu]", i ? "," : "", frames[i].file, (unsigned long long)frames[i].address);
	printf("]}\n");
}

/* NULL: it can't be read now; it may be within an exec. */
static Dwfl *report(pid_t pid)
{
	static char *no_debuginfo;
	static const Dwfl_Callbacks callbacks = {
		.find_elf = dwfl_linux_proc_find_elf,
		.find_debuginfo = dwfl_standard_find_debuginfo,
		.debuginfo_path = &no_debuginfo,
	};
	Dwfl *dwfl = dwfl_begin(&callbacks);

	if (dwfl && !dwfl_linux_proc_report(dwfl, pid) && !dwfl_report_end(dwfl, NULL, NULL) &&
	    !dwfl_linux_proc_attach(dwfl, pid, true))
		return dwfl;
	dwfl_end(dwfl);
	return NULL;
}

/* Whether the process could be looked at. */
static bool one_round(pid_t pid)
{
	char folder[64];
	struct dirent *entry;
	Dwfl *dwfl = report(pid);
	DIR *dir;

	if (!dwfl)
		return false;
	snprintf(folder, sizeof(folder), "/proc/%d/task", pid);
	dir = opendir(folder);
	if (!dir) {
		dwfl_end(dwfl);
		return false;
	}
	while ((entry = readdir(dir))) {
		pid_t tid = atoi(entry->d_name);
		uint64_t from;
		bool whole;

		if (!isdigit((unsigned char)entry->d_name[0]) || !is_seized(tid) || !stop(tid))
			continue;
		from = now_ns();
		frame_n = 0;
		whole = !dwfl_getthread_frames(dwfl, tid, take_frame, NULL);
		print_frames(tid, from, now_ns(), whole);
		ptrace(PTRACE_CONT, tid, NULL, NULL);
	}
	closedir(dir);
	dwfl_end(dwfl);
	fflush(stdout);
	return true;
}

int main(int argc, char **argv)
{
	pid_t pid = argc > 1 ? atoi(argv[1]) : 0;
	int rounds = argc > 2 ? atoi(argv[2]) : 1;
	long pause_ms = argc > 3 ? atol(argv[3]) : 10;
	int good_n = 0;
	uint64_t end_ns = argc > 4 ? now_ns() + strtoull(argv[4], NULL, 0) * 1000000000u : UINT64_MAX;

	if (pid <= 0 || rounds <= 0 || pause_ms < 0) {
		fprintf(stderr, "usage: dwflstacks PID ROUNDS PAUSE_MS [SECONDS]\n");
		return 2;
	}
	for (int i = 0; i < rounds && now_ns() < end_ns; i++) {
		long pause_us = (long)(drand48() * 2000 * (double)pause_ms);

		good_n += one_round(pid);
		nanosleep(&(struct timespec){ pause_us / 1000000, pause_us % 1000000 * 1000 }, NULL);
	}
	if (!good_n)
		fprintf(stderr, "dwflstacks: process %d could not be read: %s\n", pid, dwfl_errmsg(-1));
	return !good_n;
}
