/* SPDX-License-Identifier: (LGPL-2.1 OR BSD-2-Clause) */
/* What was asked for is checked as a whole before anything is probed: a profile with an error adds nothing. */
#include "probe/set.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>

#include "util/files.h"
#include "util/text.h"
#include "util/vec.h"

#define PROFILE_BYTES_MAX (1u << 20)
#define INLINE_BYTES_MAX 4096

int probe_set_new(struct probe_set **ret)
{
	_cleanup_(probe_set_freep) struct probe_set *s = calloc(1, sizeof(*s));

	if (!s || pool_new(&s->pool) < 0)
		return -ENOMEM;
	*ret = TAKE_PTR(s);
	return 0;
}

struct probe_set *probe_set_free(struct probe_set *s)
{
	if (!s)
		return NULL;
	for (size_t i = 0; i < s->n; i++)
		definition_done(&s->v[i]);
	free(s->v);
	free(s->sources);
	pool_free(s->pool);
	free(s);
	return NULL;
}

static bool is_there(const struct probe_set *s, const char *name)
{
	for (size_t i = 0; i < s->source_n; i++)
		if (!strcmp(s->sources[i], name))
			return true;
	return false;
}

/* Hands the text of the complaints over, if there is one. */
static int complaints_give(struct complaints *c, int r, char **ret_why)
{
	if (r < 0 && c->text)
		*ret_why = TAKE_PTR(c->text);
	return r;
}

static int text_add(struct probe_set *s, const char *name, const char *shown, const char *text, size_t n,
		    char **ret_why)
{
	_cleanup_(complaints_done) struct complaints c = {0};
	struct source source = {.pool = s->pool, .complaints = &c};
	const char *kept = pool_string(s->pool, name);
	int r;

	source.name = pool_string(s->pool, shown);
	if (!kept || !source.name)
		return -ENOMEM;
	r = profile_parse(&source, s, kept, text, n);
	/* It may have added others, which it includes. */
	if (r == 0 && VEC_RESERVE(s->sources, s->source_cap, s->source_n + 1) < 0)
		return -ENOMEM;
	if (r == 0)
		s->sources[s->source_n++] = kept;
	return complaints_give(&c, r, ret_why);
}

static const struct builtin_text *builtin_find(const char *name)
{
	for (size_t i = 0; i < builtin_text_n; i++)
		if (!strcmp(builtin_texts[i].name, name))
			return &builtin_texts[i];
	return NULL;
}

int set_include(struct source *source, struct probe_set *s, const char *name)
{
	const struct builtin_text *b = builtin_find(name);
	_cleanup_(freep) char *why = NULL;
	char shown[64];
	int r;

	if (!b)
		return source_refuse(source, "include = %s: no profile that comes with wcbpf has this name", name);
	if (is_there(s, name))
		return 0;
	snprintf(shown, sizeof(shown), "%s.profile", name);
	r = text_add(s, name, shown, b->text, b->n, &why);
	if (r == -EINVAL)
		return source_refuse(source, "include = %s: %s", name, why ? why : "it has an error");
	return r;
}

static int file_add(struct probe_set *s, const char *path, char **ret_why)
{
	_cleanup_(freep) char *text = NULL, *name = NULL;
	const char *slash = strrchr(path, '/'), *dot;
	size_t n;
	int r = files_read(AT_FDCWD, path, PROFILE_BYTES_MAX, &text, &n);

	if (r < 0) {
		if (r != -ENOMEM)
			*ret_why = text_format("%s: %s%s", path, strerror(-r),
					       slash ? ""
						     : "; neither a profile that comes with wcbpf ('wcbpf probes' lists "
						       "them) nor a file");
		return r;
	}
	/* Ops are named by the file without its folder and ending. */
	dot = strrchr(slash ? slash : path, '.');
	name = strndup(slash ? slash + 1 : path, dot ? (size_t)(dot - (slash ? slash + 1 : path)) : SIZE_MAX / 2);
	return name ? text_add(s, name, path, text, n, ret_why) : -ENOMEM;
}

int probe_set_add(struct probe_set *s, const char *name_or_path, char **ret_why)
{
	const struct builtin_text *b = builtin_find(name_or_path);
	char shown[64];
	int r;

	if (!strcmp(name_or_path, "none")) {
		s->none = true;
		return 0;
	}
	if (!b)
		return is_there(s, name_or_path) ? 0 : file_add(s, name_or_path, ret_why);
	if (is_there(s, name_or_path))
		return 0;
	snprintf(shown, sizeof(shown), "%s.profile", name_or_path);
	r = text_add(s, name_or_path, shown, b->text, b->n, ret_why);
	if (r == 0 && !strcmp(name_or_path, "go"))
		s->go = true;
	return r;
}

int probe_set_add_text(struct probe_set *s, const char *name, const char *text, size_t n, char **ret_why)
{
	return text_add(s, name, name, text, n, ret_why);
}

int probe_set_add_inline(struct probe_set *s, const char *text, char **ret_why)
{
	_cleanup_(complaints_done) struct complaints c = {0};
	struct source source = {.pool = s->pool, .complaints = &c, .name = "-e"};

	if (strlen(text) > INLINE_BYTES_MAX)
		return complaints_give(&c, source_refuse(&source, "longer than %d bytes", INLINE_BYTES_MAX), ret_why);
	return complaints_give(&c, inline_parse(&source, s, text), ret_why);
}

bool probe_set_is_empty(const struct probe_set *s)
{
	return s->n == 0;
}

bool probe_set_wants_go(const struct probe_set *s)
{
	return s->go || (s->n && !s->none);
}

bool probe_set_concerns(const struct probe_set *s, const char *path, bool is_program)
{
	if (is_program && probe_set_wants_go(s))
		return true;
	for (size_t i = 0; i < s->n; i++)
		if (file_patterns_match(&s->v[i].files, path, is_program))
			return true;
	return false;
}

/* ---- those that come with the program ---- */

#define BUILTINS_MAX 32
static struct probe_builtin builtins[BUILTINS_MAX];
static struct probe_pool *builtins_pool; /* for the life of the program */

static void builtins_read(void)
{
	_cleanup_(complaints_done) struct complaints c = {0};
	struct source source = {.complaints = &c, .name = "built-in"};

	if (pool_new(&builtins_pool) < 0)
		return;
	source.pool = builtins_pool;
	for (size_t i = 0; i < builtin_text_n && i < BUILTINS_MAX; i++) {
		const struct builtin_text *b = &builtin_texts[i];

		builtins[i].name = b->name;
		builtins[i].about = builtins[i].tried = "";
		profile_head(&source, b->text, b->n, &builtins[i].about, &builtins[i].tried);
	}
}

const struct probe_builtin *probe_builtins(size_t *ret_n)
{
	static pthread_once_t once = PTHREAD_ONCE_INIT;

	pthread_once(&once, builtins_read);
	*ret_n = builtins_pool ? (builtin_text_n < BUILTINS_MAX ? builtin_text_n : BUILTINS_MAX) : 0;
	return builtins;
}
