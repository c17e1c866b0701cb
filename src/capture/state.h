/* SPDX-License-Identifier: (LGPL-2.1 OR BSD-2-Clause) */
#pragma once
/*
 * A recording as capture.c, feed.c and account.c share it: its life, what comes
 * in, and what is said of it in the end. Private to these.
 */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "capture/internal.h"

#define CAPTURE_LINES_MAX 256

struct capture {
	struct capture_options options;
	struct programs *programs;
	struct rings *rings;
	struct online *online;
	struct mappings *mappings;
	struct proc_maps *maps;
	struct reread *reread;
	struct model *model;
	struct assemble *assemble;
	struct resolve *resolve;
	struct constants *constants; /* NULL: no choke points */
	struct tables *tables; /* NULL: user stacks are not walked by tables */
	struct skeletons *skeletons; /* NULL: every kernel stack is walked */
	struct probing *probing; /* NULL: no choke points */
	char *ahead[CAPTURE_LINES_MAX]; /* told before recording: will be caveats, if nothing comes of it */
	size_t ahead_n, warning_n;
	char *caveats[CAPTURE_LINES_MAX + 1]; /* of choke points: what was asked for and is missing */
	char *notes[CAPTURE_LINES_MAX + 1]; /* likewise: good to know */
	size_t note_n;
	size_t caveat_n;
	struct before *before; /* goroutines that are being listed; NULL: none */
	size_t listed_n; /* of all processes */
	struct map *go_functions; /* start_pc and process of goroutines whose function was told */
	struct owners *owners;
	struct map *closed; /* tids whose last interval was cut by the recording's end */
	struct map *known; /* processes that are or were traced -> when their program began (fork, exec), 1: before all */
	struct map *leaving; /* threads between their exit and their last switch, which ends their times */
	uint64_t left_ns;    /* when the latest of them exited */
	uint64_t ended_ns;   /* when the latest process ended */
	struct map *alive; /* traced processes (TID scope: threads) that have not ended */
	int epoll_fd, timer_fd, wake_fd;
	long tick_ns;
	int64_t clock_offset_ns; /* programs' clock - ours: time namespaces */
	uint64_t begin_ns;
	uint64_t bytes;
	uint64_t looked_ns; /* when CPUs were last looked at; the programs' clock */
	uint64_t swept_ns;  /* when ends of processes were last asked for */
	bool cpu_came;	    /* while recording */
	bool ended_unread;  /* and a process ended before it was noticed */
	uint32_t held_pid; /* record's child that waits for its exec, 0: none */
	uint64_t held_start_ns;
	bool had_targets, stopped;
	/* What was open when it was last looked at: struct wcbpf_interval and wcbpf_go_interval, one behind the other. */
	char *open;
	size_t open_n, open_cap;
	uint64_t open_ns; /* when; 0: never */
	char *lines[CAPTURE_LINES_MAX + 1];
	size_t line_n;
};

/* The programs' clock. */
static inline uint64_t bpf_now(const struct capture *c)
{
	return monotonic_ns() + c->clock_offset_ns;
}

/* Has a program's file among the files known, as if we had mapped it ourselves. */
/* A fact for the diagnostics (copied; NULL: none), said once. */
void capture_line_add(struct capture *c, const char *text);

/* ---- feed.c: arg is the recording ---- */
/* As mappings_new() calls them. */
void feed_mapping(void *arg, uint32_t pid, uint64_t time_ns, uint64_t start, uint64_t len, uint64_t pgoff,
		  uint32_t maj, uint32_t min, uint64_t ino, const char *path);
void feed_exec(void *arg, uint32_t pid, uint64_t time_ns);
bool feed_is_wanted(void *arg, uint32_t pid);
/* As reread_new() has them. */
uint64_t feed_clock(void *arg);
void feed_amended(void *arg, uint32_t pid);
/* What was mapped since from_ns was perhaps not told: reads the maps of all traced processes again. 0, -ENOMEM. */
int feed_maps_again(struct capture *c, uint64_t from_ns);
/* As tables_update() calls it. */
void feed_published(void *arg, uint32_t pid);
/* A thread that the iterator found when recording began. */
int feed_seed(void *arg, const struct wcbpf_head *e);
/* An event of the rings, in time order. -ENOMEM ends the recording. */
int feed_event(void *arg, const struct wcbpf_head *e);
/* As rings_peek() calls it: new processes can't wait for their turn. */
void feed_peek(void *arg, const struct wcbpf_head *e);
/* A goroutine that does not run when its process, or the recording, ends. */
int feed_goroutine(void *arg, const struct wcbpf_head *e);
/* What is open while recording goes on: is kept in c->open, with the model's stacks. */
int feed_open(void *arg, const struct wcbpf_head *e);
void feed_process_over(struct capture *c, uint32_t pid, uint64_t time_ns);

/* ---- choke.c: arg is the recording ---- */
/* What is good to know. */
void choke_note(struct capture *c, const char *text);
/* What is missing. */
void choke_caveat(struct capture *c, const char *text);
/* Makes c->probing if choke points were asked for. 0, -errno. */
int choke_open(struct capture *c);
/* Attaches what is about to be recorded, as far as it is known. 0, -ENOMEM. */
int choke_prepare(struct capture *c);

/* ---- before.c ---- */
struct probing_listed;
/* As probing has it: takes up the goroutines that are parked. */
int before_list(void *arg, const struct probing_listed *l);
/* The recording has ended: what was not looked at by now is told. */
void before_end(struct capture *c);
void before_free(struct capture *c);

/* ---- account.c: once the programs are detached ---- */
/* The model's integrity, and a line for each thing that was lost or left out. */
void account_close(struct capture *c);
/* The model's integrity as of now: what the programs have told of but not handed over yet is not attempted yet. */
void account_now(struct capture *c);
/* When all has been read and resolved: of names, and of the mappings they came from. */
void account_names(struct capture *c);
void account_untold(struct capture *c); /* likewise, after what is assembled */
