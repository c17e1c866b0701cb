/* SPDX-License-Identifier: (LGPL-2.1 OR BSD-2-Clause) */
#pragma once
/* Models made by hand. Everything aborts the test on failure. */
#include <criterion/criterion.h>

#include "export/export.h"

struct model *fixture_model(int64_t end_ns);
uint32_t fixture_string(struct model *m, const char *s);
uint32_t fixture_thread(struct model *m, uint32_t pid, uint32_t tid, const char *name, int64_t begin_ns,
			int64_t end_ns);
uint32_t fixture_op(struct model *m, enum op_kind kind, const char *class, uint32_t pid, uint32_t tid, int64_t start_ns,
		    int64_t end_ns);
/* Of a process: its exec op too. */
uint32_t fixture_process(struct model *m, uint32_t pid, const char *program, int64_t start_ns, int64_t end_ns);
/* Blocked from start to ready, ready until end. */
uint32_t fixture_wait(struct model *m, uint32_t thread, int64_t start_ns, int64_t ready_ns, int64_t end_ns);
/* A user stack of functions, innermost first, NULL at the end. */
uint32_t fixture_stack(struct model *m, const char *const *names);
/* Gives a wait a row of its own. */
struct model_row *fixture_row(struct model *m, uint32_t wait, enum wait_reason reason);
