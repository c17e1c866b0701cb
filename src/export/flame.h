/* SPDX-License-Identifier: (LGPL-2.1 OR BSD-2-Clause) */
#pragma once
/* A tree of stacks with time at their ends: what flame graphs and folded lines are made of. Private to export/. */
#include "export/export.h"
#include "export/pairs.h"
#include "util/strtab.h"

enum flame_kind {
	FLAME_ALL,	/* the root */
	FLAME_THREAD,	/* a thread's name */
	FLAME_OP,
	FLAME_USER, FLAME_KERNEL, /* functions */
	FLAME_WORD,	/* ours, in brackets: why there is no frame, what the time was */
	FLAME_BREAK,	/* "--": what follows is of who ended the wait, from the waking point down */
	FLAME_WAKER,	/* a function or the name of it */
	FLAME_AWAITED,	/* what an op waits for, behind the reason */
	FLAME_KIND_MAX,
};

struct flame_label {
	uint32_t text; /* string of flame.texts */
	uint8_t kind;
};

/* Node 0 is the root. A parent comes before its children. */
struct flame_node {
	uint32_t parent, label;
	uint64_t self_ns, total_ns;
	uint32_t child, next; /* set by flame_finish(): most time first; 0: none */
	uint32_t depth;
};

struct flame {
	struct strtab *texts;
	struct flame_label *labels;
	struct flame_node *nodes;
	size_t label_n, label_cap, node_n, node_cap;
	uint32_t depth_max;
	/* private */
	struct pairs label_numbers, node_numbers;
};

int flame_init(struct flame *f); /* 0, -ENOMEM */
void flame_done(struct flame *f);
int flame_label(struct flame *f, enum flame_kind kind, const char *text, uint32_t *ret); /* 0, -ENOMEM */
/* The child of node that has that label; made if there is none. 0, -ENOMEM. */
int flame_child(struct flame *f, uint32_t node, uint32_t label, uint32_t *ret);
void flame_add(struct flame *f, uint32_t node, uint64_t ns);
/* Sums and order; call once, after all was added. 0, -ENOMEM. */
int flame_finish(struct flame *f);
/* The next node in depth-first order, 0 at the end. */
uint32_t flame_next(const struct flame *f, uint32_t node);
const char *flame_text(const struct flame *f, uint32_t node);
enum flame_kind flame_node_kind(const struct flame *f, uint32_t node);

/* There are no threads, but ops: they are what stands for frames, and their time for the threads' lives. */
bool flame_is_of_ops(const struct model *m);

/*
 * The tree of job->view. exact: names as they are, else escaped for folded lines. told: hidden_ns, value_ns. 0;
 * -ENODATA: the recording has nothing of that view; -ENOMEM.
 */
int flame_make(const struct export_job *job, bool exact, struct flame *ret, struct export_told *told);
