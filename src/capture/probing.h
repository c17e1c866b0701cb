/* SPDX-License-Identifier: (LGPL-2.1 OR BSD-2-Clause) */
#pragma once
/*
 * The choke points of a recording: found in the files that its processes map,
 * attached in each process as it appears, counted, priced, and detached when
 * they cost too much.
 */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "capture/programs.h"
#include "probe/probe.h"

struct probing;
struct proc_file;
struct proc_maps;

enum probing_tone {
	PROBING_NOTE,
	PROBING_CAVEAT, /* something that was asked for is missing */
	PROBING_AHEAD,	/* likewise, before recording: a caveat if what is loaded later doesn't have it */
};

/* A Go program that ran before it was attached to. */
struct probing_listed {
	uint32_t pid, kernel_tgid, life; /* see wcbpf_goroutine_key */
	uint64_t exec_id;
	uint64_t bias;	   /* address - bias: as its file counts */
	uint64_t text, text_n; /* Go's code, as its file counts */
	uint64_t since_ns; /* when it was attached to, or recording began, whichever was later */
	const struct probe_plan *plan;
};

struct probing_options {
	const struct probe_set *set;
	const struct site_fds *fds;
	enum site_how how;
	const struct proc_maps *maps;
	bool stacks;	     /* user stacks are taken: of goroutines that park, too */
	bool waker_stacks;   /* and of those that wake others */
	bool inherit;	     /* children are traced, too */
	bool all;	     /* everything on this host is traced */
	double overhead_max; /* of a CPU; 0: no limit */
	int wake_fd;	     /* written when there is something for probing_update() */
	/* Is this process traced, as far as is known? */
	bool (*is_traced)(void *arg, uint32_t pid);
	/* What a point's hits mean; before the first of them. 0, -ENOMEM. */
	int (*point)(void *arg, uint32_t number, const struct probe_point *p);
	/* A process has a Go runtime that is followed from now on. reasons: names of wait reasons. 0, -ENOMEM. */
	int (*go)(void *arg, uint32_t pid, const char *const *reasons, size_t n);
	/* Its goroutines are followed from now on: those that are parked are to be found. 0, -ENOMEM, -EAGAIN: there
	 * is more to do, as soon as the rings have been read. */
	int (*list)(void *arg, const struct probing_listed *l);
	/* Goroutines are followed no more, from now_ns on: those that wait are told of now. */
	void (*go_off)(void *arg, uint64_t now_ns);
	/* A line for the diagnostics. */
	void (*tell)(void *arg, enum probing_tone tone, const char *text);
	void *arg;
};

/* Copies the options. 0, -errno. */
int probing_new(const struct probing_options *o, struct probing **ret);
/* Detaches what is attached. */
struct probing *probing_free(struct probing *p);

/* Measures what hits cost, with probes of functions of our own; once the programs are loaded and not yet on. */
void probing_calibrate(struct probing *p);
/*
 * A file that process pid is about to run, or (not program) to map as we do: probed in it as soon as it does. file lives
 * as long as the maps.
 */
void probing_expect(struct probing *p, uint32_t pid, const struct proc_file *file, bool program);
/* pid has mapped something, or is seen first. */
void probing_changed(struct probing *p, uint32_t pid);
/* The process of that thread ran when recording began. */
void probing_ran(struct probing *p, const struct wcbpf_seed *s);
/* A process was forked at time_ns: what is attached in its parent alone is attached in it. Can be told twice. */
void probing_forked(struct probing *p, uint32_t pid, uint32_t parent, uint64_t time_ns);
/* It has called execve: what it ran before is gone. Comes before its new mappings. */
void probing_execed(struct probing *p, uint32_t pid);
/* Tells `go` again of a process that is followed: who is told of its exec or fork by now has forgotten. 0, -ENOMEM. */
int probing_go_again(struct probing *p, uint32_t pid);
/* Were goroutines of a program of this process followed? Asked once: false from now on until the next such program. */
bool probing_go_over(struct probing *p, uint32_t pid);
/* Tells `point` and `go` again of all that was told. 0, -ENOMEM. */
int probing_tell_again(struct probing *p);
/* Are goroutines followed no more? */
bool probing_go_is_off(const struct probing *p);
/* A thread that is no leader has called execve and is the leader now: what was attached is attached to a thread that has gone. */
void probing_moved(struct probing *p, uint32_t pid);
void probing_exited(struct probing *p, uint32_t pid);
/* Takes what the threads have done, gives them what there is to do, keeps the budget. begin_ns: of the recording. 0, -ENOMEM. */
int probing_update(struct probing *p, uint64_t now_ns, uint64_t begin_ns);
/* Likewise until all is attached, or for that long; tells what is in no file so far. Before recording. 0, -ENOMEM. */
int probing_wait(struct probing *p, uint64_t wait_ns);
/* The function at start_pc of a Go process; NULL: not known. */
const char *probing_go_function(struct probing *p, uint32_t pid, uint64_t start_pc);
/* Recording has ended: reads the counts, detaches, tells what there is to tell. */
void probing_end(struct probing *p, uint64_t now_ns);

/* What became of a point; after probing_end(). */
struct probing_point {
	const char *name, *path;
	uint64_t entry_n, exit_n, other_n, stepped_n;
	uint32_t value_n; /* fetched at each entry */
	uint64_t cost_ns;
	uint64_t detached_ns; /* 0: it was not, else when */
};
const struct probing_point *probing_points(const struct probing *p, size_t *ret_n);
/* What a hit costs here, measured; 0: not known. */
struct probing_costs {
	uint64_t emulated_ns, nop_ns, stepped_ns; /* with an event */
	uint64_t value_ns; /* a value more */
};
void probing_costs(const struct probing *p, struct probing_costs *ret);
