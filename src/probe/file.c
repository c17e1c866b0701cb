/* SPDX-License-Identifier: (LGPL-2.1 OR BSD-2-Clause) */
/*
 * Go programs are asked by Go's own tables, which are there however the program
 * was stripped; what they don't know (C code linked in) by the symbol tables,
 * as all other files.
 */
#include "probe/file.h"

#include <errno.h>
#include <string.h>

#include "util/vec.h"

#define TYPES_BYTES_MAX ((size_t)1 << 30)

DEFINE_CLEANUP(struct objfile_names *, objfile_names_free)
DEFINE_CLEANUP(struct objfile_code *, objfile_code_free)
DEFINE_CLEANUP(struct objfile_types *, objfile_types_free)
DEFINE_CLEANUP(struct objfile_inlines *, objfile_inlines_free)
DEFINE_CLEANUP(struct objfile_markers *, objfile_markers_free)

void file_done(struct file *f)
{
	objfile_names_freep(&f->names);
	objfile_code_freep(&f->code);
	objfile_inlines_freep(&f->inlines);
	objfile_types_freep(&f->types);
	objfile_markers_freep(&f->markers);
}

struct objfile_names *file_names(struct file *f)
{
	if (!f->names_tried && objfile_names_new(f->o->file, f->o->debug, &f->names) < 0)
		f->names = NULL;
	f->names_tried = true;
	return f->names;
}

struct objfile_code *file_code(struct file *f)
{
	if (!f->code_tried && objfile_code_new(f->o->file, f->o->go, &f->code) < 0)
		f->code = NULL;
	f->code_tried = true;
	return f->code;
}

struct objfile_types *file_types(struct file *f)
{
	static const struct objfile_search nowhere = {.root_fd = -1};
	struct objfile *o = objfile_has_source(f->o->file) ? f->o->file : f->o->debug;

	if (!f->types_tried && o &&
	    objfile_types_new(o, f->o->where ? f->o->where : &nowhere, TYPES_BYTES_MAX, &f->types) < 0)
		f->types = NULL;
	f->types_tried = true;
	return f->types;
}

struct objfile_markers *file_markers(struct file *f)
{
	if (!f->markers_tried && objfile_markers_new(f->o->file, &f->markers) < 0)
		f->markers = NULL;
	f->markers_tried = true;
	return f->markers;
}

static bool readable_match(const struct symbol_pattern *p, const char *mangled)
{
	_cleanup_(freep) char *readable = NULL, *name = NULL;
	size_t n;

	if ((mangled[0] != '_' && mangled[0] != '.') || (p->needle && !strstr(mangled, p->needle)))
		return false;
	if (symbol_clone(mangled, &n) == CLONE_PART)
		return false;
	name = strndup(mangled, n);
	readable = name ? objfile_demangle(name) : NULL;
	return readable && symbol_pattern_match_readable(p, readable);
}

/* As the symbol table has it, or a copy of that; of parts only what is named so. */
static bool raw_match(const struct symbol_pattern *p, const char *name)
{
	_cleanup_(freep) char *plain = NULL;
	size_t n;

	if (!strchr(name, '.') || strchr(p->text, '.'))
		return symbol_pattern_match(p, name, false);
	if (symbol_clone(name, &n) == CLONE_PART)
		return false;
	plain = strndup(name, n);
	return plain && symbol_pattern_match(p, plain, false);
}

uint32_t file_inlined(struct file *f, const struct symbol_pattern *p)
{
	const struct objfile_inline *all;
	size_t n;
	uint64_t sum = 0;

	if (!f->inlines_tried && (f->o->go || file_types(f)) &&
	    objfile_inlines_new(f->o->go ? NULL : f->types, f->o->go, &f->inlines) < 0)
		f->inlines = NULL;
	f->inlines_tried = true;
	n = f->inlines ? objfile_inlines_all(f->inlines, &all) : 0;
	for (size_t i = 0; i < n; i++)
		if (symbol_pattern_match(p, all[i].name, f->o->go != NULL) ||
		    (all[i].linkage && (raw_match(p, all[i].linkage) || readable_match(p, all[i].linkage))))
			sum += all[i].site_n;
	return sum > UINT32_MAX ? UINT32_MAX : (uint32_t)sum;
}

/* ---- functions ---- */

void functions_done(struct functions *fs)
{
	free(fs->v);
	*fs = (struct functions){0};
}

static int function_add(struct functions *fs, struct function fn)
{
	for (size_t i = 0; i < fs->n; i++)
		if (fs->v[i].vaddr == fn.vaddr && fs->v[i].imported == fn.imported) {
			fs->duplicates += !fn.imported;
			return 0;
		}
	if (VEC_RESERVE(fs->v, fs->cap, fs->n + 1) < 0)
		return -ENOMEM;
	fs->v[fs->n++] = fn;
	return 0;
}

/* A package below a vendor/ folder is called as where it comes from. */
static const char *without_vendor(const char *name)
{
	const char *at = name;

	for (const char *next; (next = strstr(at, "/vendor/"));)
		at = next + strlen("/vendor/");
	return at;
}

static int go_functions(struct file *f, struct probe_pool *pool, const struct symbol_pattern *p, struct functions *fs)
{
	const struct objfile_go *g = f->o->go;
	size_t n = objfile_go_function_n(g);

	for (size_t i = 0; i < n; i++) {
		struct objfile_go_function fn;
		const char *name;
		int r;

		if (objfile_go_function_at(g, i, &fn) < 0 || fn.wrapper || !symbol_pattern_match(p, fn.name, true))
			continue;
		name = pool_string(pool, without_vendor(fn.name));
		if (!name)
			return -ENOMEM;
		r = function_add(fs, (struct function){.raw = fn.name,
						       .name = name,
						       .vaddr = fn.start,
						       .size = fn.end - fn.start,
						       .go = true});
		if (r < 0)
			return r;
	}
	return 0;
}

static bool version_match(const struct symbol_pattern *p, const struct objfile_name *name)
{
	return !p->version || (name->version && !strcmp(name->version, p->version));
}

static int native_add(struct probe_pool *pool, const struct objfile_name *name, struct functions *fs)
{
	_cleanup_(freep) char *readable = NULL, *plain = NULL, *whole = NULL;
	struct function fn = {.raw = name->name,
			      .vaddr = name->vaddr,
			      .size = name->size,
			      .ifunc = name->ifunc,
			      .imported = name->imported};
	size_t n;

	fn.copy = symbol_clone(name->name, &n) == CLONE_COPY;
	whole = strndup(name->name, n);
	readable = whole ? objfile_demangle(whole) : NULL;
	plain = readable ? symbol_plain(readable) : NULL;
	if (!whole || (readable && !plain))
		return -ENOMEM;
	fn.name = pool_printf(pool, "%s%s", plain ? plain : whole, name->name + n);
	if (!fn.name)
		return -ENOMEM;
	return function_add(fs, fn);
}

static int raw_functions(struct file *f, struct probe_pool *pool, const struct symbol_pattern *p, struct functions *fs)
{
	const struct objfile_name *v;
	size_t n = objfile_names_all(f->names, &v);

	for (size_t i = 0; i < n; i++) {
		int r = raw_match(p, v[i].name) && version_match(p, &v[i]) ? native_add(pool, &v[i], fs) : 0;

		if (r < 0)
			return r;
	}
	return 0;
}

static int readable_functions(struct file *f, struct probe_pool *pool, const struct symbol_pattern *p,
			      struct functions *fs)
{
	const struct objfile_name *all;
	size_t n = objfile_names_all(f->names, &all);

	for (size_t i = 0; i < n; i++) {
		int r = readable_match(p, all[i].name) ? native_add(pool, &all[i], fs) : 0;

		if (r < 0)
			return r;
	}
	return 0;
}

int file_functions(struct file *f, struct probe_pool *pool, const struct symbol_pattern *p, struct functions *ret)
{
	_cleanup_(functions_done) struct functions fs = {0};
	int r = 0;

	if (f->o->go && !p->version)
		r = go_functions(f, pool, p, &fs);
	if (r == 0 && !fs.n && file_names(f)) {
		r = raw_functions(f, pool, p, &fs);
		/* A C++ name without its namespace is no raw name: asked second, for it costs more. */
		if (r == 0 && !p->version && (p->wildcards || !fs.n))
			r = readable_functions(f, pool, p, &fs);
	}
	if (r < 0)
		return r;
	*ret = fs;
	fs = (struct functions){0};
	return 0;
}
