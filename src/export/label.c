/* SPDX-License-Identifier: (LGPL-2.1 OR BSD-2-Clause) */
#include "export/label.h"

#include <inttypes.h>
#include <string.h>

const char *label_op(const struct model *m, uint32_t op)
{
	const struct model_op *o = &m->ops[op];

	return o->class_id ? strtab_str(m->strings, o->class_id) : op_kind_name(o->kind);
}

const char *label_wait(const struct model *m, uint32_t wait)
{
	const struct model_row *r = &m->rows[m->waits[wait].row];

	if (r->kind_id)
		return strtab_str(m->strings, r->kind_id);
	return r->reason == REASON_CPU ? "preempted" : wait_reason_name(r->reason);
}

const char *label_thread(const struct model *m, uint32_t thread)
{
	const char *name = strtab_str(m->strings, m->threads[thread].comm_id);

	return *name ? name : m->threads[thread].goid ? "goroutine" : "thread";
}

void label_thread_append(struct text *t, const struct model *m, uint32_t thread)
{
	const struct model_thread *of = &m->threads[thread];

	if (of->goid)
		text_appendf(t, "goroutine %" PRIu64 "%s", of->goid, of->comm_id ? " " : "");
	text_append(t, of->goid ? strtab_str(m->strings, of->comm_id) : label_thread(m, thread));
}

const char *label_waker(const struct model *m, uint32_t wait)
{
	static const char *const interrupts[WAKER_CTX_MAX] = {
		[WAKER_TIMER] = "timer", [WAKER_DISK] = "disk interrupt",
		[WAKER_NET] = "network interrupt", [WAKER_IRQ] = "interrupt",
	};
	const struct model_wait *w = &m->waits[wait];
	uint32_t pid, tid, comm_id;

	if (w->ctx < WAKER_CTX_MAX && interrupts[w->ctx])
		return interrupts[w->ctx];
	if (!model_wait_waker(m, w, &pid, &tid, &comm_id))
		return "";
	return comm_id ? strtab_str(m->strings, comm_id) : "thread";
}

const char *label_module(const struct model *m, uint32_t module)
{
	const char *path = module < m->module_n ? strtab_str(m->strings, m->modules[module].path_id) : "";
	const char *slash = strrchr(path, '/');

	return slash && slash[1] ? slash + 1 : path;
}
