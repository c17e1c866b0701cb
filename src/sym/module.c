/* SPDX-License-Identifier: (LGPL-2.1 OR BSD-2-Clause) */
/*
 * A file's module is kept at the file itself (proc_file.objfile is sym's), so
 * all processes that map it share one. Symbols, its debug file's too, are read
 * at once and the files are closed again: proc/ already holds one descriptor a
 * file. Only for debug information, and where a function has no symbol and its
 * code is to be read, is the file opened once more.
 */
#include "sym/module.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "sym/family.h"
#include "sym/go.h"
#include "util/cleanup.h"
#include "util/text.h"

DEFINE_CLEANUP(struct objfile *, objfile_free)

static size_t names_of_symbols(struct sym *s, struct module *m, uint64_t vaddr, struct sym_function *ret);
static size_t names_of_callers(struct sym *s, struct module *m, uint64_t vaddr, struct sym_function *ret);

/* The surest first. */
static const struct module_names names[] = {
	{ go_names_find },
	{ names_of_symbols },
	{ names_of_callers },
};

static struct module *module_free(struct module *m)
{
	if (!m)
		return NULL;
	if (m->file)
		m->file->objfile = NULL;
	objfile_free(m->objfile);
	objfile_callers_free(m->callers);
	objfile_go_free(m->go);
	objfile_source_free(m->source);
	sym_answers_free(m->answers);
	free(m->path);
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

int module_open_file(const struct module *m, struct objfile **ret)
{
	_cleanup_(closep) int fd = -1;
	int err;

	if (m->path)
		return objfile_open_path(-1, m->path, ret);
	if (!m->file)
		return objfile_open_vdso(ret);
	err = proc_file_open(m->file, &fd);
	return err ? err : objfile_open_fd(fd, ret);
}

/* Symbols, with those of a debug file if the file itself lacks some of what one could have. */
static void read_symbols(struct sym *s, struct module *m)
{
	_cleanup_(objfile_freep) struct objfile *debug = NULL;
	_cleanup_(module_search_done) struct objfile_search search;

	module_search_init(s, m, &search);
	m->has_debug = objfile_has_source(m->objfile);
	if (!m->has_debug || !objfile_has_symtab(m->objfile)) {
		if (!objfile_open_debug(m->objfile, &search, &debug))
			m->has_debug |= objfile_has_source(debug);
	}
	objfile_read_symbols(m->objfile, debug); /* fails: no names, as when they can't be read later */
	objfile_detach(m->objfile, true);
}

static struct module *module_new(void)
{
	_cleanup_(module_freep) struct module *m = calloc(1, sizeof(*m));

	if (!m || map_new(&m->answers))
		return NULL;
	return TAKE_PTR(m);
}

static struct module *module_add(struct sym *s, struct module *m)
{
	m->next = s->modules;
	s->modules = m;
	return m;
}

/* One that can't be read is remembered too: it won't be tried again for each frame. */
static struct module *module_new_mapped(struct sym *s, uint32_t pid, struct proc_file *file)
{
	_cleanup_(module_freep) struct module *m = module_new();
	int err;

	if (!m)
		return NULL;
	m->pid = pid;
	m->file = file;
	err = module_open_file(m, &m->objfile);
	if (err == -ENOMEM || err == -EMFILE || err == -ENFILE)
		return NULL;
	if (!err)
		read_symbols(s, m);
	return module_add(s, TAKE_PTR(m));
}

struct module *module_new_stored(struct sym *s, struct objfile *o)
{
	_cleanup_(module_freep) struct module *m = module_new();

	if (!m)
		return NULL;
	m->path = strdup(objfile_path(o));
	if (!m->path)
		return NULL;
	m->objfile = o;
	read_symbols(s, m);
	return module_add(s, TAKE_PTR(m));
}

struct module *module_get(struct sym *s, uint32_t pid, const struct proc_mapping *map)
{
	/* The door lends sym this one field of a file that is otherwise not its to write. */
	struct proc_file *file = (struct proc_file *)map->file;

	if (file) {
		if (!file->objfile)
			file->objfile = module_new_mapped(s, pid, file);
		return file->objfile;
	}
	if (strcmp(map->name, "[vdso]"))
		return NULL;
	if (!s->vdso)
		s->vdso = module_new_mapped(s, pid, NULL);
	return s->vdso;
}

static const struct objfile_callers *module_callers(struct module *m)
{
	_cleanup_(objfile_freep) struct objfile *o = NULL;

	if (m->callers_tried || !m->file || objfile_static_known(m->objfile))
		return m->callers;
	m->callers_tried = true;
	if (!module_open_file(m, &o))
		objfile_callers_new(o, &m->callers); /* fails: no names, as for other machines */
	return m->callers;
}

/* A static function's name out of those that reach it; NULL: none that is sure. */
static const char *reached_name(struct sym *s, const struct objfile_reached *r)
{
	_cleanup_(freep) char *marked = NULL;
	const char *name = family_name(r);

	name = name ? sym_readable(s, name) : NULL;
	if (!name)
		return NULL;
	marked = text_format("%s~", name);
	return marked ? sym_keep(s, marked) : NULL;
}

static size_t names_of_callers(struct sym *s, struct module *m, uint64_t vaddr, struct sym_function *ret)
{
	const struct objfile_callers *callers = module_callers(m);
	struct objfile_reached reached;

	if (!callers || objfile_callers_find(callers, vaddr, &reached))
		return 0;
	*ret = (struct sym_function){ .name = reached_name(s, &reached), .start = reached.start };
	return ret->name ? 1 : 0;
}

static const char *whole_path(struct sym *s, const struct objfile_place *p)
{
	_cleanup_(freep) char *whole = NULL;

	if (!p->dir || *p->file == '/')
		return sym_keep(s, p->file);
	whole = text_format("%s/%s", p->dir, p->file);
	return whole ? sym_keep(s, whole) : NULL;
}

/* The symbol says who has the code; debug information, if there is some, who is inlined there, and the lines. */
static size_t names_of_symbols(struct sym *s, struct module *m, uint64_t vaddr, struct sym_function *ret)
{
	struct objfile_place places[SYM_FRAMES_MAX];
	struct objfile_symbol symbol = { 0 };
	size_t place_n, n = 0;

	if (objfile_symbol(m->objfile, vaddr, &symbol))
		symbol.name = NULL;
	place_n = module_source_find(s, m, vaddr, symbol.name, places, SYM_FRAMES_MAX);
	for (size_t i = 0; i < place_n; i++) {
		struct objfile_place *p = &places[i];
		bool own = i + 1 == place_n;
		struct sym_function f = { .start = own ? p->start : 0 };

		/* An address between functions has a line too, the one before's. */
		if (!p->name && !(own && (symbol.name || n)))
			continue;
		if (p->name && !(own && symbol.name))
			f.name = sym_readable(s, p->name);
		f.file = p->file ? whole_path(s, p) : NULL;
		f.line = f.file ? p->line : 0;
		ret[n++] = f;
	}
	if (!symbol.name)
		return n;
	if (!place_n)
		ret[n++] = (struct sym_function){ 0 };
	ret[n - 1].name = sym_readable(s, symbol.name);
	ret[n - 1].start = symbol.value;
	ret[n - 1].alias_n = symbol.alias_n;
	return n;
}

const struct answer *module_lookup(struct sym *s, struct module *m, uint64_t vaddr)
{
	struct answer *a = map_get_ptr(m->answers, vaddr);
	struct sym_function found[SYM_FRAMES_MAX];
	size_t n = 0;

	if (a)
		return a;
	a = sym_answer_add(m->answers, vaddr);
	if (!a)
		return NULL;
	for (size_t i = 0; !n && i < sizeof(names) / sizeof(*names); i++)
		n = names[i].find(s, m, vaddr, found);
	if (!n)
		return a;
	a->own = found[n - 1];
	if (n > 1) {
		a->inlined = calloc(n - 1, sizeof(*found));
		if (a->inlined) {
			memcpy(a->inlined, found, (n - 1) * sizeof(*found));
			a->inlined_n = (uint32_t)(n - 1);
		}
	}
	return a;
}
