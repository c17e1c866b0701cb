/* SPDX-License-Identifier: (LGPL-2.1 OR BSD-2-Clause) */
#pragma once
/*
 * Probes of single addresses, by what the kernel has: many with one link
 * (uprobe_multi, 6.6), or a perf event each. Nothing is pinned, nothing is
 * written to tracefs: all goes with its file descriptor.
 */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "bpf/wire.h"

enum site_how {
	SITES_NONE,
	SITES_MULTI,
	SITES_COOKIE,  /* perf events that give the program a cookie (5.15) */
	SITES_ADDRESS, /* perf events; the program knows a site by process and address */
};

/* BPF_TRACE_UPROBE_MULTI: libbpf 1.1 and the headers of Debian 12 don't know it. */
#define SITES_ATTACH_MULTI 48

/* What programs.c has loaded for them; not owned. */
struct site_fds {
	int program;
	int sites, sites_at, go_layouts, hits;
	uint32_t cpu_n; /* of per-CPU maps */
	struct wcbpf_rt *rt;
};

struct features;
/* By trying. What is told by the environment (WCBPF_UPROBES=cookie, address; for tests) goes first. */
enum site_how sites_how(const struct features *f);

/* One address to be probed. */
struct site_place {
	uint64_t offset;     /* in the file */
	uint64_t ref_offset; /* of a semaphore that counts who looks, 0: none */
	uint64_t cookie;
};

struct site_link;
/*
 * Attaches. file: an open descriptor of it. pid: of the process, 0: whoever maps the file. returning: at the return of
 * the function that begins there. 0, -errno.
 */
int site_link_new(enum site_how how, int program, int file, uint32_t pid, bool returning, const struct site_place *places,
		  size_t n, struct site_link **ret);
/* Detaches some, by their offsets. -ENOTSUP: one link can't lose a part. */
int site_link_drop(struct site_link *l, const uint64_t *offsets, size_t n);
/* Detaches: takes some ten ms, of perf events each. */
struct site_link *site_link_free(struct site_link *l);
