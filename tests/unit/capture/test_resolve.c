/* SPDX-License-Identifier: (LGPL-2.1 OR BSD-2-Clause) */
/* From bodies and intervals to the model's stacks, with two libraries of one layout and other names at one address. */
#include <criterion/criterion.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <time.h>
#include <unistd.h>

#include "../objfile/build.h"
#include "assemble/assemble.h"
#include "capture/internal.h"
#include "proc/proc.h"
#include "util/cleanup.h"

#define BASE 0x7f0000000000ull
#define MAIN 0x550000000000ull
#define NONE 0x660000000000ull

static struct proc_maps *maps;
static struct model *m;
static struct assemble *a;
static struct resolve *r;
static uint32_t pid;
static uint64_t at[2]; /* of the library's two functions */

static void begin(bool symbols)
{
	struct assemble_options o = { .begin_ns = 1 };

	pid = (uint32_t)getpid();
	build_begin();
	cr_assert_eq(proc_maps_new(&maps), 0);
	cr_assert_eq(model_new(&m), 0);
	cr_assert_eq(assemble_new(m, &o, &a), 0);
	cr_assert_eq(resolve_new(m, maps, symbols, &r), 0);
	cr_assert_eq(resolve_start(r, a), 0);
}

static void end(void)
{
	resolve_free(r);
	assemble_free(a);
	model_free(m);
	proc_maps_free(maps);
	build_end();
}

/* A library of two functions (64 bytes each) with these names; their addresses by nm. */
static const char *library(const char *name, const char *inner, const char *outer)
{
	_cleanup_(freep) char *source = NULL, *list = NULL;
	const char *path, *names[] = { inner, outer };

	cr_assert_geq(asprintf(&source,
			       "__attribute__((aligned(64))) int %s(int n) { return n + 1; }\n"
			       "__attribute__((aligned(64))) int %s(int n) { return %s(n) + 1; }\n",
			       inner, outer, inner), 0);
	path = build_compile(name, "-shared -fPIC -O1 -Wl,-z,norelro", source);
	for (int i = 0; i < 2; i++) {
		free(list);
		list = build_output("nm %s | awk '$3 == \"%s\" {print \"0x\" $1}'", path, names[i]);
		at[i] = BASE + strtoull(list, NULL, 16);
	}
	return path;
}

/* Whole at start: its addresses are its offsets. */
static void map(uint64_t time_ns, uint64_t start, const char *path)
{
	struct stat st;

	cr_assert_eq(stat(path, &st), 0);
	cr_assert_eq(proc_maps_add(maps, pid, time_ns, start, 0x100000, 0, major(st.st_dev), minor(st.st_dev), st.st_ino,
				   path), 0);
}

static struct wcbpf_stack stack(uint64_t id, uint64_t time_ns, uint8_t how, const uint64_t *frames, uint16_t n)
{
	struct wcbpf_stack s = { .head = { .kind = WCBPF_EV_STACK, .time_ns = time_ns, .size = offsetof(struct wcbpf_stack, copy) },
				 .id = id, .tgid = pid, .tid = pid, .side = WCBPF_STACK_USER, .end = how, .frame_n = n };

	memcpy(s.frames, frames, n * sizeof(*frames));
	return s;
}

static void take(uint64_t id, uint64_t time_ns, uint8_t how, const uint64_t *frames, uint16_t n)
{
	struct wcbpf_stack s = stack(id, time_ns, how, frames, n);

	cr_assert_eq(resolve_take(r, &s), 0);
}

/* An interval of that time with that stack: the model's stack for it. */
static uint32_t use(uint64_t id, uint64_t out_ns)
{
	__u64 era = id;
	uint32_t index;

	cr_assert_eq(resolve_use(r, out_ns, &era), 0);
	cr_assert_eq(assemble_stack_index(a, STACK_USER, era, &index), 0);
	return index;
}

/* "inner < outer (complete)" */
static const char *told(uint32_t index)
{
	static char text[4][200];
	static unsigned next;
	const struct model_stack *s = &m->stacks[index];
	char *to = text[next++ % 4];
	int n = 0;

	if (!s->resolved)
		return "unresolved";
	for (uint32_t i = 0; i < s->frame_n; i++)
		n += sprintf(to + n, "%s%s", i ? " < " : "", strtab_str(m->strings, s->frames[i].name_id));
	sprintf(to + n, " (%s)", strtab_str(m->strings, s->ended_id));
	return to;
}

Test(resolve, names_are_of_their_time)
{
	uint64_t frames[2];
	uint32_t old, new, other;

	begin(true);
	map(10, BASE, library("one.so", "one_inner", "one_outer"));
	frames[0] = at[0] + 1;
	frames[1] = at[1] + 5;
	take(77, 20, WCBPF_STACK_COMPLETE, frames, 2);
	old = use(77, 20);
	map(50, BASE, library("two.so", "two_inner", "two_outer"));
	new = use(77, 60);
	other = use(77, 40);
	cr_assert_eq(other, old);
	cr_assert_neq(new, old);
	/* too young: nothing is given to the thread */
	cr_assert_eq(resolve_some(r, 20), 0);
	cr_assert_str_eq(told(old), "unresolved");
	cr_assert_eq(resolve_finish(r), 0);
	cr_assert_str_eq(told(old), "one_inner < one_outer (complete)");
	cr_assert_str_eq(told(new), "two_inner < two_outer (complete)");
	cr_assert_neq(m->stacks[old].frames[0].module, m->stacks[new].frames[0].module);
	cr_assert_eq(m->stacks[old].frames[1].address, at[1] + 5 - BASE);
	end();
}

Test(resolve, while_recording)
{
	static const struct timespec pause = { .tv_nsec = 1000000 };
	uint64_t frames[2];
	uint32_t index;

	begin(true);
	map(10, BASE, library("one.so", "one_inner", "one_outer"));
	frames[0] = at[0];
	frames[1] = at[1] + 5;
	take(77, 20, WCBPF_STACK_COMPLETE, frames, 2);
	take(77, 25, WCBPF_STACK_COMPLETE, frames, 1); /* sent again: passed over */
	index = use(77, 20);
	for (int i = 0; i < 5000 && !m->stacks[index].resolved; i++) {
		cr_assert_eq(resolve_some(r, 21), 0);
		nanosleep(&pause, NULL);
	}
	cr_assert_str_eq(told(index), "one_inner < one_outer (complete)");
	end();
}

Test(resolve, without_symbols_one_frame_an_address)
{
	uint64_t frames[2];
	uint32_t index;

	begin(false);
	map(10, BASE, library("one.so", "one_inner", "one_outer"));
	frames[0] = at[0] + 1;
	frames[1] = at[1] + 5;
	take(77, 20, WCBPF_STACK_COMPLETE, frames, 2);
	index = use(77, 20);
	cr_assert_eq(resolve_finish(r), 0);
	cr_assert_str_eq(told(index), " <  (complete)");
	for (int i = 0; i < 2; i++) {
		const struct model_frame *f = &m->stacks[index].frames[i];
		const struct model_module *o = &m->modules[f->module];

		cr_assert_eq(f->address + o->bias, frames[i]);
		cr_assert_not_null(strstr(strtab_str(m->strings, o->path_id), "/one.so"));
		cr_assert_eq(strlen(strtab_str(m->strings, o->build_id_id)), 40);
		cr_assert_eq(f->offset, i ? 5 : 1);
	}
	end();
}

Test(resolve, how_it_ended)
{
	uint64_t frames[3] = { 0 };
	uint32_t index[8];
	struct wcbpf_stack s;

	begin(true);
	map(10, BASE, library("one.so", "one_inner", "one_outer"));
	frames[0] = at[0];
	frames[1] = at[1] + 5;
	frames[2] = NONE;
	take(1, 20, WCBPF_STACK_TRUNCATED, frames, 2);
	take(2, 20, WCBPF_STACK_FP, frames, 2);
	take(3, 20, WCBPF_STACK_UNREADABLE, frames, 2);
	s = stack(4, 20, WCBPF_STACK_COMPLETE, frames, 2);
	s.guessed[0] = 2;
	cr_assert_eq(resolve_take(r, &s), 0);
	take(5, 20, WCBPF_STACK_COMPLETE, frames, 3); /* the last leads nowhere: not a complete one */
	take(6, 20, 200, frames, 1);
	take(7, 20, WCBPF_STACK_FP, frames, 3);
	for (uint64_t i = 1; i < 8; i++)
		index[i] = use(i, 20);
	/* what can't be a body */
	s.frame_n = WCBPF_STACK_DEPTH_MAX + 1;
	cr_assert_eq(resolve_take(r, &s), -EBADMSG);
	s.frame_n = 1;
	s.copy_len = 1;
	cr_assert_eq(resolve_take(r, &s), -EBADMSG);
	cr_assert_eq(resolve_finish(r), 0);
	cr_expect_str_eq(told(index[1]), "one_inner < one_outer (truncated)");
	cr_expect_str_eq(told(index[2]), "one_inner < one_outer (fp)");
	cr_expect_str_eq(told(index[3]), "one_inner < one_outer (unreadable)");
	cr_expect_str_eq(told(index[4]), "one_inner < one_outer (guessed)");
	cr_expect_str_eq(told(index[5]), "one_inner < one_outer (no_mapping)");
	cr_expect_str_eq(told(index[6]), "one_inner (unknown)");
	cr_expect_str_eq(told(index[7]), "one_inner < one_outer (fp)");
	cr_expect_eq(m->integrity.truncated_stacks, 1);
	end();
}

/* A stack that touches what was mapped when the tables didn't know it yet is a guess. */
Test(resolve, walked_by_tables_of_before)
{
	uint64_t both[2], first[1];
	uint32_t index[6];

	begin(true);
	map(10, BASE, library("one.so", "one_inner", "one_outer"));
	both[0] = first[0] = at[0];
	both[1] = MAIN + at[1] + 5 - BASE;
	take(1, 20, WCBPF_STACK_COMPLETE, first, 1); /* nothing was ever told of the process */
	cr_assert_eq(resolve_tables_published(r, pid, 15), 0);
	map(30, MAIN, build_path("one.so"));
	take(2, 40, WCBPF_STACK_COMPLETE, both, 2);
	take(3, 40, WCBPF_STACK_COMPLETE, first, 1); /* touches nothing new */
	cr_assert_eq(resolve_tables_published(r, pid, 45), 0);
	take(4, 50, WCBPF_STACK_COMPLETE, both, 2);
	take(5, 44, WCBPF_STACK_COMPLETE, both, 2); /* taken before, told after */
	for (uint64_t i = 1; i < 6; i++)
		index[i] = use(i, i == 1 ? 20 : i == 4 ? 50 : 44);
	cr_assert_eq(resolve_finish(r), 0);
	cr_expect_str_eq(told(index[1]), "one_inner (complete)");
	cr_expect_str_eq(told(index[2]), "one_inner < one_outer (guessed)");
	cr_expect_str_eq(told(index[3]), "one_inner (complete)");
	cr_expect_str_eq(told(index[4]), "one_inner < one_outer (complete)");
	cr_expect_str_eq(told(index[5]), "one_inner < one_outer (guessed)");
	end();
}

/* Freed with work in every state. */
Test(resolve, given_up)
{
	const uint64_t frames[] = { BASE };

	begin(true);
	for (uint64_t i = 1; i < 300; i++)
		take(i, i, WCBPF_STACK_COMPLETE, frames, 1);
	cr_assert_eq(resolve_some(r, 200), 0);
	end();
}

/* A child has its parent's mappings and tables, with what the tables lacked. */
Test(resolve, tables_of_a_forked_child)
{
	uint32_t child = 0x7ff00000u, index[4];
	uint64_t first[1];
	struct wcbpf_stack s;

	begin(true);
	map(10, BASE, library("one.so", "one_inner", "one_outer"));
	first[0] = at[0];
	s = stack(1, 25, WCBPF_STACK_COMPLETE, first, 1);
	s.tgid = child;
	/* of a parent without tables there is nothing to say */
	cr_assert_eq(proc_maps_fork(maps, child, pid, 20), 0);
	cr_assert_eq(resolve_forked(r, child, pid, 20), 0);
	cr_assert_eq(resolve_take(r, &s), 0);
	cr_assert_eq(resolve_tables_published(r, pid, 26), 0);
	cr_assert_eq(proc_maps_fork(maps, child, pid, 27), 0);
	cr_assert_eq(resolve_forked(r, child, pid, 27), 0);
	s.id = 2;
	s.head.time_ns = 30;
	cr_assert_eq(resolve_take(r, &s), 0);
	map(31, MAIN, build_path("one.so"));
	cr_assert_eq(proc_maps_fork(maps, child, pid, 32), 0);
	cr_assert_eq(resolve_forked(r, child, pid, 32), 0);
	s.id = 3;
	s.head.time_ns = 33;
	cr_assert_eq(resolve_take(r, &s), 0);
	for (uint64_t i = 1; i < 4; i++)
		cr_assert_eq(assemble_stack_index(a, STACK_USER, i, &index[i]), 0);
	cr_assert_eq(resolve_finish(r), 0);
	cr_expect_str_eq(told(index[1]), "one_inner (complete)");
	cr_expect_str_eq(told(index[2]), "one_inner (complete)");
	cr_expect_str_eq(told(index[3]), "one_inner (guessed)");
	end();
}
