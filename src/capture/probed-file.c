/* SPDX-License-Identifier: (LGPL-2.1 OR BSD-2-Clause) */
/*
 * Finding a file's choke points means reading its symbols and disassembling
 * some of its functions: up to a second for a big program. So a thread does it,
 * and the loop takes the result as a whole. The file stays open: links name it
 * by its descriptor.
 */
#include "capture/probed-file.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "capture/sites.h"
#include "proc/proc.h"
#include "util/cleanup.h"

DEFINE_CLEANUP(struct objfile *, objfile_free)
DEFINE_CLEANUP(struct probed_file *, probed_file_free)

int probed_file_new(const struct probe_set *set, const struct proc_file *source, bool program, struct probed_file **ret)
{
	_cleanup_(probed_file_freep) struct probed_file *f = calloc(1, sizeof(*f));

	if (!f)
		return -ENOMEM;
	f->fd = -1;
	f->set = set;
	f->source = source;
	f->program = program;
	f->path = strdup(source->path);
	if (!f->path)
		return -ENOMEM;
	*ret = TAKE_PTR(f);
	return 0;
}

struct probed_file *probed_file_free(struct probed_file *f)
{
	if (!f)
		return NULL;
	closep(&f->fd);
	probe_plan_free(f->plan);
	objfile_free(f->objfile);
	objfile_go_free(f->go);
	free(f->points);
	free(f->site_points);
	free(f->off);
	free(f->path);
	free(f);
	return NULL;
}

/* The tables of a Go program; *ret_why: why there are none though it is one, static or why's. */
static struct objfile_go *go_open(struct objfile *o, const char **ret_why)
{
	struct objfile_go *go = NULL;
	int err = objfile_go_open(o, &go);

	*ret_why = NULL;
	if (err == -ENOTSUP)
		*ret_why = "the tables of this version of Go are not known";
	else if (err == -EBADMSG)
		*ret_why = "its Go tables are damaged";
	return err ? NULL : go;
}

/* WCBPF_GO_WAKES=status, ready, for tests: as it would be with another release of Go. */
static enum probe_go_wakes go_wakes(void)
{
	const char *asked = getenv("WCBPF_GO_WAKES");

	if (asked && !strcmp(asked, "status"))
		return PROBE_GO_WAKES_BY_STATUS;
	return asked && !strcmp(asked, "ready") ? PROBE_GO_WAKES_BY_READY : PROBE_GO_WAKES_CHEAPEST;
}

static int resolve(struct probed_file *f)
{
	_cleanup_(objfile_freep) struct objfile *o = NULL, *debug = NULL;
	struct objfile_search where = { .path = f->path, .root_fd = -1 };
	struct probe_object object = { .path = f->path, .is_program = f->program, .where = &where,
				       .go_wakes = go_wakes() };
	int err = proc_file_open(f->source, &f->fd);

	if (!err)
		err = objfile_open_fd(f->fd, &o);
	if (err)
		return err;
	if (objfile_open_debug(o, &where, &debug))
		debug = NULL;
	f->go = go_open(o, &object.go_why);
	object.file = o;
	object.debug = debug;
	object.go = f->go;
	err = probe_resolve(f->set, &object, &f->plan);
	if (err)
		return err;
	if (!f->plan->has_layout)
		f->go = objfile_go_free(f->go);
	objfile_detach(o, false);
	f->objfile = TAKE_PTR(o);
	return 0;
}

void probed_file_resolve(struct probed_file *f)
{
	f->err = resolve(f);
}

bool probed_file_is_empty(const struct probed_file *f)
{
	if (!f->done || f->err || !f->plan)
		return true;
	for (size_t i = 0; i < f->plan->site_n; i++)
		if (!f->off[i])
			return false;
	return true;
}

size_t probed_file_places(const struct probed_file *f, bool returning, uint32_t generation, struct site_place *ret)
{
	size_t n = 0;

	for (size_t i = 0; i < f->plan->site_n; i++) {
		const struct probe_site *s = &f->plan->sites[i];

		if (f->off[i] || s->return_probe != returning)
			continue;
		ret[n++] = (struct site_place){ .offset = s->file_offset, .ref_offset = s->ref_offset,
						.cookie = WCBPF_COOKIE(f->first_site + i, generation) };
	}
	return n;
}
