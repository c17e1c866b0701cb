/* SPDX-License-Identifier: (LGPL-2.1 OR BSD-2-Clause) */
#include "fixture.h"

#include <criterion/criterion.h>
#include <fcntl.h>
#include <ftw.h>
#include <string.h>
#include <sys/stat.h>

#include "util/files.h"

char *fixture_mkdtemp(void)
{
	char *path = strdup("/tmp/wcbpf-output-XXXXXX");

	cr_assert(path && mkdtemp(path));
	return path;
}

static int remove_one(const char *path, const struct stat *st, int type, struct FTW *ftw)
{
	(void)st;
	(void)type;
	(void)ftw;
	return remove(path);
}

void fixture_rmdir(char *path)
{
	nftw(path, remove_one, 16, FTW_DEPTH | FTW_PHYS);
	free(path);
}

char *fixture_path(const char *dir, const char *name)
{
	char *path;

	cr_assert(asprintf(&path, "%s/%s", dir, name) > 0);
	return path;
}

char *fixture_read(const char *dir, const char *name)
{
	_cleanup_(freep) char *path = fixture_path(dir, name);
	char *text = NULL;

	return files_read(AT_FDCWD, path, 64 << 20, &text, NULL) ? NULL : text;
}

void fixture_write(const char *dir, const char *name, const char *text)
{
	_cleanup_(freep) char *path = fixture_path(dir, name);
	_cleanup_(fclosep) FILE *f = fopen(path, "w");

	cr_assert(f && fputs(text, f) >= 0);
}

bool fixture_exists(const char *dir, const char *name)
{
	_cleanup_(freep) char *path = fixture_path(dir, name);
	struct stat st;

	return !lstat(path, &st);
}

struct model *fixture_model(void)
{
	struct model *m;

	cr_assert(!model_new(&m));
	m->epoch_unix_ns = 1700000000000000000;
	m->end_ns = 5000000000;
	return m;
}

uint32_t fixture_string(struct model *m, const char *s)
{
	uint32_t id;

	cr_assert(!strtab_intern(m->strings, s, &id));
	return id;
}

uint32_t fixture_stack(struct model *m, enum stack_side side, const char *ended, const char *const *names)
{
	struct model_frame frames[32] = {0};
	uint32_t stack;
	size_t n = 0;

	for (; names && names[n]; n++) {
		frames[n].name_id = fixture_string(m, names[n]);
		frames[n].offset = (uint32_t)(10 * n + 1);
		frames[n].address = 0x1000 * (n + 1);
	}
	cr_assert(!model_stack_add(m, side, &stack));
	cr_assert(!model_stack_set(m, stack, ended, frames, n));
	return stack;
}

struct model_row *fixture_row(struct model *m, const char *comm, uint32_t ustack, uint32_t kstack, uint64_t count,
			      uint64_t blocked_ns)
{
	struct model_row *r;
	uint32_t row;

	cr_assert(!model_row_add(m, &row));
	r = &m->rows[row];
	r->comm_id = fixture_string(m, comm);
	r->ustack = ustack;
	r->kstack = kstack;
	r->count = count;
	r->blocked_ns = blocked_ns;
	r->state = blocked_ns ? 1 : 0;
	r->syscall = -1;
	r->reason = blocked_ns ? REASON_SLEEP : REASON_CPU;
	return r;
}

struct output_facts fixture_facts(enum output_mode mode)
{
	return (struct output_facts){
		.mode = mode,
		.version = "1.2.3",
		.kernel = "6.1.0-test",
		.host = "box",
		.clock = "CLOCK_MONOTONIC",
		.target = "all",
		.options = "--mode time",
	};
}

char *fixture_output(const char *dir, const struct model *m, const struct output_facts *f)
{
	_cleanup_(output_dir_freep) struct output_dir *d = NULL;
	_cleanup_(freep) char *why = NULL;
	char *path = fixture_path(dir, "out");
	int err = output_dir_open(path, (uid_t)-1, (gid_t)-1, &d, &why);

	cr_assert_eq(err, 0, "%s", why);
	err = m ? output_write(d, m, f, &why) : output_write_failure(d, f, true, &why);
	cr_assert_eq(err, 0, "%s", why);
	cr_assert_null(why);
	return path;
}

struct json_object *fixture_summary(const char *dir)
{
	_cleanup_(freep) char *text = fixture_read(dir, "offcpu.summary.json");
	struct json_tokener *tokener = json_tokener_new();
	struct json_object *o;

	cr_assert(text && tokener);
	json_tokener_set_flags(tokener, JSON_TOKENER_STRICT | JSON_TOKENER_VALIDATE_UTF8);
	o = json_tokener_parse_ex(tokener, text, (int)strlen(text));
	cr_assert(o, "%s in:\n%s", json_tokener_error_desc(json_tokener_get_error(tokener)), text);
	json_tokener_free(tokener);
	return o;
}

struct json_object *fixture_get(struct json_object *o, const char *path)
{
	_cleanup_(freep) char *copy = strdup(path);
	char *rest = NULL;

	for (char *key = strtok_r(copy, ".", &rest); key; key = strtok_r(NULL, ".", &rest)) {
		if (json_object_is_type(o, json_type_array)) {
			size_t i = strtoul(key, NULL, 10);

			cr_assert_lt(i, json_object_array_length(o), "no %s", path);
			o = json_object_array_get_idx(o, i);
		} else {
			cr_assert(json_object_object_get_ex(o, key, &o), "no %s", path);
		}
	}
	return o;
}

const char *fixture_get_string(struct json_object *o, const char *path)
{
	struct json_object *v = fixture_get(o, path);

	cr_assert(!v || json_object_is_type(v, json_type_string), "%s is no string", path);
	return v ? json_object_get_string(v) : NULL;
}

int64_t fixture_get_int(struct json_object *o, const char *path)
{
	struct json_object *v = fixture_get(o, path);

	cr_assert(json_object_is_type(v, json_type_int), "%s is no int", path);
	return json_object_get_int64(v);
}
