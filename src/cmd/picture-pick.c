/* SPDX-License-Identifier: (LGPL-2.1 OR BSD-2-Clause) */
/* A wait goes with its thread, an op with its process or thread: what is shown is whole for those that are shown. */
#include <errno.h>
#include <string.h>

#include "cmd/picture.h"

static bool number_passes(const uint32_t *numbers, size_t n, uint32_t number)
{
	for (size_t i = 0; i < n; i++)
		if (numbers[i] == number)
			return true;
	return n == 0;
}

static bool passes(const struct report_options *o, uint32_t pid, uint32_t tid)
{
	return number_passes(o->pids, o->pid_n, pid) && number_passes(o->tids, o->tid_n, tid);
}

int picture_pick_make(const struct model *m, const struct report_options *o, struct picture_pick *ret)
{
	struct picture_pick p = { 0 };

	*ret = p;
	if (!o->pid_n && !o->tid_n && !o->comm)
		return 0;
	p.threads = calloc(m->thread_n, sizeof(*p.threads));
	p.ops = calloc(m->op_n, sizeof(*p.ops));
	p.waits = calloc(m->wait_n, sizeof(*p.waits));
	if (!p.threads || !p.ops || !p.waits) {
		picture_pick_done(&p);
		return -ENOMEM;
	}
	for (size_t i = 1; i < m->thread_n; i++)
		p.threads[i] = passes(o, m->threads[i].pid, m->threads[i].tid) &&
			       (!o->comm || strcmp(o->comm, strtab_str(m->strings, m->threads[i].comm_id)) == 0);
	for (size_t i = 1; i < m->op_n; i++)
		p.ops[i] = !o->comm && passes(o, m->ops[i].pid, m->ops[i].tid);
	for (size_t i = 1; i < m->wait_n; i++)
		p.waits[i] = m->waits[i].thread ? p.threads[m->waits[i].thread] : p.ops[m->waits[i].op];
	*ret = p;
	return 0;
}

void picture_pick_done(struct picture_pick *p)
{
	free(p->threads);
	free(p->ops);
	free(p->waits);
	*p = (struct picture_pick){ 0 };
}
