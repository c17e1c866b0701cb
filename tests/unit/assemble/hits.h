/* SPDX-License-Identifier: (LGPL-2.1 OR BSD-2-Clause) */
#pragma once
/*
 * Choke points and their hits by hand. A text is written as a profile writes it,
 * "exec:{0}", {x0} for hex and {p0} for a pointer; {8} is the first value of the exit; {|1} and {|word} only if
 * nothing was written of the group that they go on with, {&word} only if something was of what is before. Values are
 * words: "u7" "i-7" numbers, "sNAME" a string, "gNAME" a Go string, "b00ff" bytes, "!" one that could not be read.
 */
#include "rig.h"

struct assemble_text text_of(const char *text); /* of static memory, for the next dozen calls */
#define TEXT(s) text_of(s)
#define CHOICES(...)                                                                              \
	(struct assemble_choices){ (const struct assemble_choice[]){ __VA_ARGS__ },               \
				   sizeof((const struct assemble_choice[]){ __VA_ARGS__ }) /      \
					   sizeof(struct assemble_choice) }
#define POINT(r, number, ...) \
	cr_assert_eq(assemble_point_set((r)->a, (number), &(struct assemble_point){ .name = "test/point", __VA_ARGS__ }), 0)

/* Where the hit is; the rest of a call is its defaults: process 100. */
struct where {
	uint64_t goid, stack_hi, ustack_id;
	uint32_t tid, tgid;
	uint64_t cfa;
};
int hit(struct rig *r, enum wcbpf_site_kind kind, uint64_t time_ns, uint32_t point, struct where w,
	const char *const *values);
#define VALUES(...) ((const char *const[]){ NULL, ##__VA_ARGS__, NULL } + 1)
#define ENTER(r, time, point, where, ...) cr_assert_eq(hit(r, WCBPF_SITE_ENTRY, time, point, where, VALUES(__VA_ARGS__)), 0)
#define LEAVE(r, time, point, where, ...) cr_assert_eq(hit(r, WCBPF_SITE_EXIT, time, point, where, VALUES(__VA_ARGS__)), 0)
#define MARK(r, time, point, where, ...) cr_assert_eq(hit(r, WCBPF_SITE_MARK, time, point, where, VALUES(__VA_ARGS__)), 0)

/* A frame of thread tid of process 100, so many bytes below the top of its stack. */
#define FRAME(t, depth) ((struct where){ .tid = (t), .tgid = 100, .cfa = 0x7ff000000000ull + (t) * 0x10000000ull - (depth) })
/* One of a goroutine, which thread t runs. */
#define GO_FRAME(t, g, hi, depth) \
	((struct where){ .tid = (t), .tgid = 100, .goid = (g), .stack_hi = (hi), .cfa = (hi) - (depth) })

int go_birth(struct rig *r, uint64_t time_ns, uint32_t tid, uint64_t parent, uint64_t goid, uint64_t start_pc);
int go_death(struct rig *r, uint64_t time_ns, uint32_t tid, uint64_t goid);
#define GO_WAIT(r, g, park, wake, run, ...)                                                       \
	go_interval((r), &(struct wcbpf_go_interval){ .head.time_ns = (run), .goid = (g), .park_ns = (park), \
						      .wake_ns = (wake), .tid = 100, .tgid = 100, __VA_ARGS__ })
int go_interval(struct rig *r, const struct wcbpf_go_interval *e);

/* The n-th op of that class, from 1; fails the test if there is none. */
uint32_t op_of_class(const struct rig *r, const char *class, unsigned n);
unsigned ops_of_class(const struct rig *r, const char *class);
/* The thread entry of a goroutine, 0: none. */
uint32_t entry_of(const struct rig *r, uint64_t goid);
