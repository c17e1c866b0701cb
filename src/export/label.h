/* SPDX-License-Identifier: (LGPL-2.1 OR BSD-2-Clause) */
#pragma once
/* What things are called in every format. Private to export/. */
#include "model/model.h"
#include "util/text.h"

/* "cc1plus"; an op without a class is called by its kind. */
const char *label_op(const struct model *m, uint32_t op);
/* "mutex"; of a wait without a kind the reason, of one that only stood in the run queue "preempted". */
const char *label_wait(const struct model *m, uint32_t wait);
/* The thread's name, a goroutine's first function; "thread", "goroutine" if it has none. */
const char *label_thread(const struct model *m, uint32_t thread);
/* Appends "worker", "goroutine 12 main.serve". */
void label_thread_append(struct text *t, const struct model *m, uint32_t thread);
/* Who ended it: "worker", "disk interrupt"; "" if that isn't known. */
const char *label_waker(const struct model *m, uint32_t wait);
/* "libc.so.6" of a module's path; "" for none. */
const char *label_module(const struct model *m, uint32_t module);
