/* SPDX-License-Identifier: (LGPL-2.1 OR BSD-2-Clause) */
/*
 * A file's module is kept at the file itself (proc_file.objfile is sym's), so
 * all processes that map it share one. Symbols are read at once and the file is
 * closed again: proc/ already holds one descriptor a file. Only where a
 * function has no symbol is the file opened once more, to read its code.
 */
#include "sym/module.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "sym/family.h"
#include "util/cleanup.h"

DEFINE_CLEANUP(struct objfile *, objfile_free)

static struct module *module_free(struct module *m)
{
	if (!m)
		return NULL;
	if (m->file)
		m->file->objfile = NULL;
	objfile_free(m->objfile);
	objfile_callers_free(m->callers);
	sym_answers_free(m->answers);
	free(m);
	return NULL;
}
DEFINE_CLEANUP(struct module *, module_free)

void module_free_all(struct sym *s)
{
	while (s->modules) {
		struct module *next = s->modules->next;

		module_free(s->modules);
		s->modules = next;
	}
}

static int open_file(const struct proc_file *file, struct objfile **ret)
{
	_cleanup_(closep) int fd = -1;
	int err;

	if (file->fd >= 0)
		return objfile_open_fd(file->fd, ret);
	err = proc_file_open(file, &fd);
	return err ? err : objfile_open_fd(fd, ret);
}

/* One that can't be read is remembered too: it won't be tried again for each frame. */
static struct module *module_new(struct sym *s, struct proc_file *file)
{
	_cleanup_(module_freep) struct module *m = calloc(1, sizeof(*m));
	int err;

	if (!m || map_new(&m->answers))
		return NULL;
	err = file ? open_file(file, &m->objfile) : objfile_open_vdso(&m->objfile);
	if (err == -ENOMEM || err == -EMFILE || err == -ENFILE)
		return NULL;
	if (!err)
		objfile_detach(m->objfile, true);
	m->file = file;
	m->next = s->modules;
	s->modules = m;
	return TAKE_PTR(m);
}

struct module *module_get(struct sym *s, const struct proc_mapping *map)
{
	/* The door lends sym this one field of a file that is otherwise not its to write. */
	struct proc_file *file = (struct proc_file *)map->file;

	if (file) {
		if (!file->objfile)
			file->objfile = module_new(s, file);
		return file->objfile;
	}
	if (strcmp(map->name, "[vdso]"))
		return NULL;
	if (!s->vdso)
		s->vdso = module_new(s, NULL);
	return s->vdso;
}

/* A symbol's name for people: demangled, else without the version that linkers append (name@@VERSION). */
static const char *readable(struct sym *s, const char *raw)
{
	_cleanup_(freep) char *cut = strdup(raw);
	_cleanup_(freep) char *demangled = NULL;
	char *at;

	if (!cut)
		return NULL;
	at = strchr(cut, '@');
	if (at && at > cut)
		*at = '\0';
	demangled = objfile_demangle(cut);
	return sym_keep(s, demangled ? demangled : cut);
}

static const struct objfile_callers *module_callers(struct module *m)
{
	_cleanup_(objfile_freep) struct objfile *o = NULL;

	if (m->callers_tried || !m->file)
		return m->callers;
	m->callers_tried = true;
	if (!open_file(m->file, &o))
		objfile_callers_new(o, &m->callers); /* fails: no names, as for other machines */
	return m->callers;
}

/* A static function's name out of those that reach it; NULL: none that is sure. */
static const char *reached_name(struct sym *s, const struct objfile_reached *r)
{
	_cleanup_(freep) char *marked = NULL;
	const char *name = family_name(r);

	name = name ? readable(s, name) : NULL;
	if (!name)
		return NULL;
	if (asprintf(&marked, "%s~", name) < 0)
		marked = NULL; /* it is undefined then */
	return marked ? sym_keep(s, marked) : NULL;
}

const struct answer *module_lookup(struct sym *s, struct module *m, uint64_t vaddr)
{
	struct answer *a = map_get_ptr(m->answers, vaddr);
	const struct objfile_callers *callers;
	struct objfile_symbol symbol;
	struct objfile_reached reached;

	if (a)
		return a;
	a = sym_answer_add(m->answers, vaddr);
	if (!a)
		return NULL;
	if (!objfile_symbol(m->objfile, vaddr, &symbol)) {
		a->name = readable(s, symbol.name);
		a->start = symbol.value;
		return a;
	}
	callers = module_callers(m);
	if (callers && !objfile_callers_find(callers, vaddr, &reached)) {
		a->name = reached_name(s, &reached);
		a->start = reached.start;
	}
	return a;
}
