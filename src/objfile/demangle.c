/* SPDX-License-Identifier: (LGPL-2.1 OR BSD-2-Clause) */
/*
 * libiberty does the work. Its callback interface is used rather than
 * cplus_demangle(): names come from files nobody vouches for, and a name of 200
 * bytes whose substitutions refer to each other prints as gigabytes. The
 * callback can't say stop, but the callback demanglers hold no memory of their
 * own (that is what they are for), so leaving them by longjmp loses nothing.
 */
#include "objfile/objfile.h"

#include <libiberty/demangle.h>
#include <setjmp.h>
#include <string.h>

#include "util/cleanup.h"

#define MANGLED_MAX (16u << 10)
#define DEMANGLED_MAX (64u << 10)

struct output {
	char *text;
	size_t n;
	jmp_buf full;
};

static void append(const char *s, size_t n, void *arg)
{
	struct output *o = arg;

	if (n >= DEMANGLED_MAX - o->n)
		longjmp(o->full, 1);
	if (n)
		memcpy(o->text + o->n, s, n);
	o->n += n;
}

/* Rust first: its older scheme is also a C++ name, but a hash ends it. */
static int run(const char *mangled, struct output *o)
{
	const int options = DMGL_AUTO | DMGL_PARAMS | DMGL_ANSI;

	if (setjmp(o->full))
		return 0;
	if (rust_demangle_callback(mangled, options, append, o))
		return 1;
	o->n = 0;
	return cplus_demangle_v3_callback(mangled, options, append, o);
}

char *objfile_demangle(const char *name)
{
	_cleanup_(freep) char *mangled = NULL;
	_cleanup_(freep) char *text = NULL;
	struct output o = { 0 };
	const char *suffix;
	char *fit;
	size_t n = strlen(name);

	if (n > MANGLED_MAX || (strncmp(name, "_Z", 2) && strncmp(name, "_R", 2) && strncmp(name, "_GLOBAL_", 8)))
		return NULL;
	/* ThinLTO's mark on a renamed local says nothing about the function. */
	suffix = strstr(name, ".llvm.");
	mangled = strndup(name, suffix ? (size_t)(suffix - name) : n);
	text = malloc(DEMANGLED_MAX);
	if (!mangled || !text)
		return NULL;
	o.text = text;
	if (!run(mangled, &o))
		return NULL;
	text[o.n] = '\0';
	fit = realloc(text, o.n + 1);
	if (fit)
		text = fit;
	return TAKE_PTR(text);
}
