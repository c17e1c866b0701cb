/* SPDX-License-Identifier: (LGPL-2.1 OR BSD-2-Clause) */
#pragma once
/* The choke points of one file: found by a thread, then given numbers and written to the programs' maps. */
#include "capture/worker.h"
#include "objfile/objfile.h"
#include "probe/probe.h"

struct proc_file;
struct site_place;

/* Of one file. What is below `job` is the thread's until done. */
struct probed_file {
	struct job job;
	const struct probe_set *set;
	const struct proc_file *source;
	char *path;
	bool program;
	int err; /* it can't be read */
	int fd;	 /* -1: none */
	struct probe_plan *plan;
	struct objfile *objfile; /* detached: its segments */
	struct objfile_go *go;	 /* NULL: no Go program that is followed */
	/* of the loop */
	bool done;
	uint32_t first_site;  /* numbers: [first_site, first_site + plan->site_n) */
	uint32_t *points;     /* of each point of the plan: its number; 0: none */
	uint32_t *site_points; /* likewise of each site */
	bool *off;	      /* sites that are detached, or were never attached */
	uint8_t layout;	      /* of go_layouts, 0: none */
	uint32_t generation;  /* of the links in force */
	bool everyone;	      /* probed in whoever runs it, with one link; else a link a process */
	bool refused;	      /* the kernel won't: told once */
	bool replace_due;     /* its links have sites that are off */
};

/* 0, -ENOMEM. */
int probed_file_new(const struct probe_set *set, const struct proc_file *source, bool program, struct probed_file **ret);
struct probed_file *probed_file_free(struct probed_file *f);
/* In a thread: reads the file and makes the plan. */
void probed_file_resolve(struct probed_file *f);
/* Has it anything to attach? */
bool probed_file_is_empty(const struct probed_file *f);
/*
 * The places of what is to be attached: returning or not. ret: room for plan->site_n. Their number.
 */
size_t probed_file_places(const struct probed_file *f, bool returning, uint32_t generation, struct site_place *ret);
