/* SPDX-License-Identifier: (LGPL-2.1 OR BSD-2-Clause) */
/*
 * Seen in the debug information of programs that these releases have built.
 * The table alone is not to be believed: a distributor's patch or an experiment
 * moves fields. See go-runtime.c for what it is compared with.
 *
 * wakes_by_status: up to 1.25 each system call changes a goroutine's status, so
 * that watching changes of status for wakes is dearer than watching those who wake.
 */
#include "objfile/go-layouts.h"

#include <stdio.h>
#include <string.h>

/* By release, ascending. */
static const struct go_layout layouts[] = {
	{ 19, 19, { .stack_hi = 8, .m = 48, .status = 144, .goid = 152, .wait_reason = 176, .gopc = 296, .start_pc = 312,
		    .parent_goid = 0, .curg = 192 } },
	{ 21, 22, { .stack_hi = 8, .m = 48, .status = 144, .goid = 152, .wait_reason = 176, .gopc = 280, .start_pc = 296,
		    .parent_goid = 272, .curg = 192 } },
	{ 23, 24, { .stack_hi = 8, .m = 48, .status = 152, .goid = 160, .wait_reason = 184, .gopc = 288, .start_pc = 304,
		    .parent_goid = 280, .curg = 192 } },
	{ 25, 25, { .stack_hi = 8, .m = 48, .status = 144, .goid = 152, .wait_reason = 176, .gopc = 280, .start_pc = 296,
		    .parent_goid = 272, .curg = 184 } },
	{ 26, 27, { .stack_hi = 8, .m = 48, .status = 144, .goid = 152, .wait_reason = 176, .gopc = 288, .start_pc = 304,
		    .parent_goid = 280, .curg = 184, .wakes_by_status = 1 } },
};

#define LAYOUT_N (sizeof(layouts) / sizeof(*layouts))

size_t go_layouts_of(uint32_t minor, const struct go_layout **ret)
{
	for (size_t i = 0; i < LAYOUT_N; i++) {
		if (minor > layouts[i].last)
			continue;
		if (minor >= layouts[i].first) {
			*ret = &layouts[i];
			return 1;
		}
		if (!i)
			return 0;
		*ret = &layouts[i - 1];
		return 2;
	}
	return 0;
}

bool go_minor_version(const char *version, uint32_t *ret)
{
	if (!strncmp(version, "devel ", 6))
		version += 6;
	return sscanf(version, "go1.%3u", ret) == 1;
}
