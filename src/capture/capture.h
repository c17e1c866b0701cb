/* SPDX-License-Identifier: (LGPL-2.1 OR BSD-2-Clause) */
#pragma once
/*
 * Loads and attaches the BPF programs, drains their rings into the model. The
 * only user of libbpf.
 */
#include "bpf/wire.h"
#include "model/model.h"

struct capture;
struct probe_set;

enum capture_scope { CAPTURE_PIDS, CAPTURE_TIDS, CAPTURE_CGROUP, CAPTURE_ALL };

/* How the kernel stacks of blocked threads are taken. */
enum capture_kernel_stacks {
	CAPTURE_KSTACKS_AUTO,  /* recognized where possible (skeletons, see bpf/wire.h), a share of them walked to compare */
	CAPTURE_KSTACKS_WALK,  /* always walked */
	CAPTURE_KSTACKS_CHECK, /* recognized, and all walked to compare */
};

struct capture_options {
	enum capture_scope scope;
	const uint32_t *ids; /* PIDs or TIDs */
	size_t id_n;
	uint64_t cgroup_id;
	bool inherit;	     /* follow children */
	bool hold_until_exec; /* record: the one PID is a child waiting to exec; what it does before is not the workload */
	/* What that child will map, whole paths, its program first: tables are made and probes placed before it does. */
	const char *const *files;
	size_t file_n;
	uint64_t min_ns;
	size_t event_cap;
	bool keep_args;
	bool symbols;	     /* false: --no-symbols */
	enum capture_kernel_stacks kernel_stacks;
	enum wcbpf_ustack user_stacks;
	bool waker_stacks;   /* user stacks of who wakes */
	bool copies;	     /* what the tables don't know is copied and unwound here, within a budget */
	uint32_t sample_hz;  /* how often a CPU's running thread is looked at; 0: never */
	const struct probe_set *probes; /* choke points; NULL: none */
	double overhead_max; /* of a CPU that they may take: a probe that breaks it is detached; 0: no limit */
	const char *only;    /* --only, see assemble.h; NULL: all */
	bool rows_by_thread; /* as analyze_wall() needs them */
	bool live;	     /* dumps are made while recording goes on */
	bool starts_off;     /* live: nothing is recorded until capture_switch() */
	uint64_t ring_bytes; /* a CPU; 0: default */
};

enum { CAPTURE_TEXT_BYTES = 400 };

/* A failure in one line (what, why, what to do), and its class for the summary. */
struct capture_error {
	bool missing;	     /* the host can't: tool_missing; else tool_failed */
	const char *kind;    /* permission_denied, load_failed, ... */
	char message[CAPTURE_TEXT_BYTES];
};

/* Opens, loads, seeds and attaches; recording is on when it returns 0. -errno with *ret_error filled. */
int capture_start(const struct capture_options *o, struct capture **ret, struct capture_error *ret_error);
/* An epoll fd for the caller's loop: readable or after at most 100 ms, call capture_poll(). */
int capture_fd(const struct capture *c);
/* Drains what is there. 0, -errno (recording can't go on; stop and write what there is). */
int capture_poll(struct capture *c);
/* Live numbers for the status line. */
struct capture_status {
	uint64_t intervals, lost, events, bytes;
	size_t threads; /* alive */
	bool cap_reached;
};
void capture_status(struct capture *c, struct capture_status *ret);
/* True when every traced process of a PID/TID scope has exited. */
bool capture_targets_gone(const struct capture *c);
/* ---- while recording goes on (option live) ---- */
/* Off: what begins from now on is left out. 0, -ENOMEM. */
int capture_switch(struct capture *c, bool on);
/* Stacks that are to get their frames, and those that have them, in the same order: how many so far. */
void capture_stacks(const struct capture *c, uint64_t *ret_taken_n, uint64_t *ret_done_n);
/*
 * The waits that go on right now: they are in the copies that are made from now on, cut at this moment. Their stacks are
 * among those taken; so it is to be called once before these are waited for, and again before the copy. 0, -errno.
 */
int capture_open_look(struct capture *c);
/*
 * In a forked copy of the process, in which nothing else of c may be used: the model of this moment. First its
 * losses and what was open; after that nothing of the kernel's is needed. 0, -ENOMEM.
 */
int capture_account(struct capture *c);
int capture_snapshot(struct capture *c);
/* Before a copy is made whose dump will be flushed, and after. As assemble_settle(). */
int capture_settle(struct capture *c);
int capture_flush(struct capture *c);
void capture_flush_drop(struct capture *c);

/* Detaches, drains, closes intervals, resolves, finishes the model. */
int capture_stop(struct capture *c);
/* The model; owned by c, complete after capture_stop(). */
struct model *capture_model(struct capture *c);
/* Facts for the summary: lines for the diagnostics (NULL-terminated), tracer cost. */
const char *const *capture_diagnostics(const struct capture *c);
/* Lines about choke points that were asked for and are missing or incomplete (NULL-terminated). */
const char *const *capture_caveats(const struct capture *c);
/* Likewise what is good to know of them. */
const char *const *capture_notes(const struct capture *c);
/* A choke point, after capture_stop(). */
struct capture_point {
	const char *name, *path;
	uint64_t entry_n, exit_n;
	uint64_t other_n;   /* hits by who is not recorded */
	uint64_t stepped_n; /* of all hits: single-stepped */
	uint32_t value_n;   /* fetched at each entry */
	uint64_t cost_ns;
	int64_t detached_ns; /* since the recording's begin; -1: it was not */
};
/* The array is malloc'd, its strings are c's. 0, -ENOENT: none were asked for, -ENOMEM. */
int capture_points(const struct capture *c, struct capture_point **ret, size_t *ret_n);
/* What a hit was measured to cost, and a value more. 0: not known. */
void capture_point_costs(const struct capture *c, uint64_t *ret_hit_ns, uint64_t *ret_stepped_ns, uint64_t *ret_value_ns);
void capture_cost(const struct capture *c, uint64_t *ret_run_n, uint64_t *ret_run_ns);
/* Of these the runs of the sampling timers. */
void capture_sample_cost(const struct capture *c, uint64_t *ret_run_n, uint64_t *ret_run_ns);
struct capture *capture_free(struct capture *c);

/* ---- doctor ---- */
enum capture_check_state { CHECK_OK, CHECK_DEGRADED, CHECK_MISSING };
struct capture_check {
	enum capture_check_state state;
	char what[48];	  /* "BTF", "CAP_BPF", "tracefs", ... */
	/* What was found; if not OK: what is lost by it and what to do. May be an error's message. */
	char detail[CAPTURE_TEXT_BYTES];
};
/* All checks of this host and user; pid 0: no target. ret is malloc'd. Works without privileges. */
int capture_doctor(uint32_t pid, struct capture_check **ret, size_t *ret_n);
