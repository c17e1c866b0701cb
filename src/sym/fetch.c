/* SPDX-License-Identifier: (LGPL-2.1 OR BSD-2-Clause) */
/*
 * libdebuginfod is opened when it is asked for, not linked: it brings curl and
 * what curl brings, some thirty libraries, which every recording would load for
 * what few reports want; and it need not be there. Its functions and their
 * types are those of <elfutils/debuginfod.h>; the name has the version in it.
 *
 * What it fetches it keeps ($DEBUGINFOD_CACHE_PATH), and what no server had it
 * remembers there for a while too.
 */
#include "sym/fetch.h"

#include <dlfcn.h>
#include <errno.h>
#include <string.h>
#include <time.h>

#include "sym/state.h"
#include "util/cleanup.h"

#define LIBRARY "libdebuginfod.so.1"
#define BUILD_ID_MIN 4	  /* hex digits */
#define BUILD_ID_MAX 128  /* what libdebuginfod takes */
#define SILENT_S_MAX 15	  /* without a byte: given up. Its own limit, DEBUGINFOD_TIMEOUT, is 90 s, for a slow answer too */
#define SILENT_N_MAX 2	  /* given up so often, nothing is asked any more: a report that never comes is no report */

struct fetch {
	void *library, *client;
	void *(*begin)(void);
	void (*end)(void *client);
	int (*find)(void *client, const unsigned char *build_id, int build_id_n, char **path);
	void (*set_progress)(void *client, int (*progress)(void *client, long got, long size));
	struct map *known; /* id of a build id -> id of its file's path, 0: none could be had */
	long got;	   /* bytes of the present file, as last heard */
	time_t heard_s;	   /* when they became more */
	bool silent;	   /* given up */
	unsigned silent_n;
};

/* Whose progress it is: the callback is told the client alone. */
static _Thread_local struct fetch *asking;

DEFINE_CLEANUP(struct fetch *, fetch_free)

static time_t now_s(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return t.tv_sec;
}

/* Called about once a second. Until a server has the file, got counts the calls. */
static int on_progress(void *client, long got, long size)
{
	struct fetch *f = asking;

	(void)client, (void)size;
	if (got > f->got + 1)
		f->heard_s = now_s();
	f->got = got;
	f->silent = now_s() - f->heard_s >= SILENT_S_MAX;
	return f->silent;
}

static int symbol(const struct fetch *f, const char *name, void *ret)
{
	void *at = dlsym(f->library, name);

	memcpy(ret, &at, sizeof(at));
	return at ? 0 : -ENOENT;
}

int fetch_new(struct fetch **ret)
{
	_cleanup_(fetch_freep) struct fetch *f = calloc(1, sizeof(*f));

	if (!f || map_new(&f->known))
		return -ENOMEM;
	/* It stays: it may have left something to do at exit. */
	f->library = dlopen(LIBRARY, RTLD_NOW | RTLD_LOCAL | RTLD_NODELETE);
	if (!f->library || symbol(f, "debuginfod_begin", &f->begin) || symbol(f, "debuginfod_end", &f->end) ||
	    symbol(f, "debuginfod_find_debuginfo", &f->find) ||
	    symbol(f, "debuginfod_set_progressfn", &f->set_progress))
		return -ENOENT;
	f->client = f->begin();
	if (!f->client)
		return -ENOMEM;
	f->set_progress(f->client, on_progress);
	*ret = TAKE_PTR(f);
	return 0;
}

struct fetch *fetch_free(struct fetch *f)
{
	if (!f)
		return NULL;
	if (f->client)
		f->end(f->client);
	if (f->library)
		dlclose(f->library);
	map_free(f->known);
	free(f);
	return NULL;
}

/* Build ids become parts of paths and URLs; those of a recording can be anything. */
static bool is_build_id(const char *text)
{
	size_t n = strlen(text);

	return n >= BUILD_ID_MIN && n <= BUILD_ID_MAX && n % 2 == 0 && strspn(text, "0123456789abcdef") == n;
}

/* 0, -errno. */
static int ask(struct fetch *f, const char *build_id, char **ret)
{
	int fd;

	f->got = 0;
	f->heard_s = now_s();
	f->silent = false;
	asking = f;
	fd = f->find(f->client, (const unsigned char *)build_id, 0, ret);
	asking = NULL;
	closep(&fd);
	f->silent |= fd == -ETIME || fd == -ETIMEDOUT;
	f->silent_n += f->silent;
	return fd < 0 ? fd : 0;
}

static void note_failure(struct sym *s, const char *module, const char *build_id, int err)
{
	if (s->fetch->silent)
		sym_note(s, "debuginfod: no answer in time for build id %s (%s)%s", build_id, module,
			 s->fetch->silent_n == SILENT_N_MAX ? "; nothing more is asked for" : "");
	else if (err == -ENOENT)
		sym_note(s, "debuginfod: no server has the debug file of build id %s (%s)", build_id, module);
	else
		sym_note(s, "debuginfod: the debug file of build id %s (%s) can't be fetched: %s", build_id, module,
			 strerror(-err));
}

const char *fetch_debug_file(struct sym *s, const char *module, const char *build_id)
{
	_cleanup_(freep) char *path = NULL;
	struct fetch *f = s->fetch;
	uint32_t id, path_id = 0;
	uint64_t known;
	int err;

	if (!f || !is_build_id(build_id) || strtab_intern(s->names, build_id, &id))
		return NULL;
	if (map_get(f->known, id, &known))
		return known ? strtab_str(s->names, (uint32_t)known) : NULL;
	if (f->silent_n == SILENT_N_MAX)
		return NULL;
	err = ask(f, build_id, &path);
	if (!err)
		err = strtab_intern(s->names, path, &path_id);
	if (err)
		note_failure(s, module ? module : "", build_id, err);
	map_put(f->known, id, path_id); /* fails: it is asked for again, and in the cache */
	return path_id ? strtab_str(s->names, path_id) : NULL;
}
