/* SPDX-License-Identifier: (LGPL-2.1 OR BSD-2-Clause) */
#pragma once
/* What probing.c, probing-links.c and probing-budget.c share. Private to these. */
#include "capture/probed-file.h"
#include "capture/probing.h"
#include "capture/sites.h"
#include "util/map.h"

#define PROBING_SAVED_NS 100000000 /* CPU time that probes may take beyond their share, if it was not taken before */

/* A probed address of a process, and the sites that it has. */
struct place {
	uint64_t address;
	struct wcbpf_sites_at at;
};

/* Something of a file that is attached in a process, or is being. */
struct attached {
	struct probed_file *file;
	struct site_link *links[2]; /* [1]: at returns. NULL: none */
	struct site_link *next[2];  /* that replace them */
	uint32_t asked_n;	    /* jobs under way */
	bool refused;		    /* the kernel did not: not asked for again */
	uint64_t done_ns;	    /* when they were made; our clock */
};

struct probed_process {
	uint32_t pid; /* 0: stands for all processes, see probed_file.everyone */
	bool dirty;   /* what it maps may be new */
	bool gone;    /* freed when no job is under way any more */
	struct attached *v;
	size_t n, cap;
	const struct probed_file *go; /* the Go program that it runs; NULL: none that is followed */
	bool had_go;		      /* since probing_go_over() was last asked */
	uint64_t go_bias;	      /* address - bias: as the file counts */
	bool list_due;		      /* it ran when recording began: its goroutines are to be listed */
	uint32_t kernel_tgid, life;   /* as of then */
	uint64_t exec_id;
	struct place *places; /* its addresses in sites_at, sorted; SITES_ADDRESS alone */
	size_t place_n;
};

/* A point, by its number. */
struct point {
	struct probed_file *file; /* NULL: [0], the calibration's */
	const char *name;
	const struct probe_point *meaning; /* NULL: none */
	bool runtime;		  /* of Go's: goes only with all of them */
	uint32_t value_n;	  /* values that an entry and an exit fetch */
	struct wcbpf_hits last;	  /* as counted at the last look */
	uint64_t cost_ns;	  /* until then */
	uint64_t detached_ns;	  /* 0: it is attached */
};

struct link_job {
	struct job job;
	enum { LINK_MAKE, LINK_REMOVE, LINK_DROP } what;
	enum site_how how;
	int program, fd;
	uint32_t pid;
	struct probed_process *process;
	struct probed_file *file;
	bool replaces;
	uint64_t since_ns; /* when the file was mapped; 0: nobody could have run it yet */
	struct site_place *places; /* n[0] and then n[1] at returns */
	size_t n[2];
	struct site_link *links[2]; /* LINK_DROP: not owned */
	uint64_t *offsets; /* LINK_DROP: of which addresses */
	size_t offset_n;
	int err;
	uint64_t done_ns; /* our clock */
};

struct probing {
	struct probing_options o;
	struct site_fds fds;
	struct map *files;     /* struct proc_file * -> struct probed_file */
	struct map *processes; /* pid -> struct probed_process */
	struct map *replaced;  /* struct probed_file * -> jobs under way that replace its links */
	struct map *functions; /* start_pc of goroutines that were told */
	struct worker *resolver, *linker, *closer;
	size_t resolving_n, linking_n, closing_n;
	bool dirty;	       /* some process is */
	bool filter_drops_threads; /* the kernel's: links are for all processes */
	uint32_t site_n;       /* numbers given, [0] is none */
	uint8_t layout_n;
	struct point *points;  /* by number */
	size_t point_n, point_cap;
	struct probing_point *ends; /* after the end */
	struct probing_costs costs;
	int64_t spent_ns;      /* more than allowed, so far; negative: less */
	uint64_t begin_ns, looked_ns;
	int64_t clock_offset_ns; /* the programs' clock - ours */
	size_t late_n;	       /* processes' files that were attached when they could have been hit */
	uint64_t late_max_ns;
	size_t refused_n;
	bool park_stacks;      /* of goroutines that park */
	bool go_off;	       /* goroutines are followed no more */
	bool full_told;
};

/* printf-like; a line. */
void probing_tell(struct probing *p, bool caveat, const char *fmt, ...) __attribute__((format(printf, 3, 4)));

/* ---- probing-links.c ---- */
void link_run(void *arg, struct job *job); /* in a thread */
void link_job_free(struct job *job);
/* The entry of a process; made if there is none. NULL: no memory. */
struct probed_process *process_get(struct probing *p, uint32_t pid);
/* All its links go; so does it. */
void process_remove(struct probing *p, struct probed_process *process);
/* Frees, with its links: the end. */
void process_free(struct probed_process *process);
/* NULL: nothing of that file. */
struct attached *attached_find(const struct probed_process *process, const struct probed_file *file);
/* Hands links to the thread that removes them. */
void links_remove(struct probing *p, struct site_link *links[2]);
/* Attaches what a file has to a process, unless it is. since_ns: see link_job. 0, -ENOMEM. */
int link_ask(struct probing *p, struct probed_process *process, struct probed_file *file, uint64_t since_ns);
/* Where files have sites that are off: new links without them, everywhere. 0, -ENOMEM. */
int links_replace_due(struct probing *p);
/* Takes what is attached. 0, -ENOMEM. */
int links_take(struct probing *p);

/* ---- probing-addresses.c: where programs find sites by address; else these do nothing ---- */
/* The addresses of what is attached, by what the process maps now. 0, -ENOMEM. */
int addresses_refresh(struct probing *p, struct probed_process *process);
/* A forked process has its parent's. */
void addresses_copy(struct probing *p, const struct probed_process *from, struct probed_process *to);
void addresses_forget(struct probing *p, struct probed_process *process);

/* ---- probing-sites.c: numbers, and the programs' maps ---- */
/* A file's plan is there: gives its points and sites numbers, tells what they mean. 0, -ENOMEM. */
int sites_number(struct probing *p, struct probed_file *file);
/* Writes a site into the map anew: kind none if it is off. */
int site_write(struct probing *p, const struct probed_file *file, size_t i, uint32_t generation);

/* ---- probing-budget.c ---- */
/* Prices the hits since the last look; detaches what is too expensive if there is a limit. 0, -ENOMEM. */
int budget_look(struct probing *p, uint64_t now_ns, bool keep);
