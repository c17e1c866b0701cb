/* SPDX-License-Identifier: (LGPL-2.1 OR BSD-2-Clause) */
#pragma once
/* A model built by hand, a folder to write it to, and the files read back. */
/* json-c has a type of this name, util/json.h a function. */
#define json_bool jsonc_bool
#include <json-c/json.h>
#undef json_bool

#include "model/model.h"
#include "output/output.h"

/* A fresh folder of the test's own, removed by fixture_rmdir(). malloc'd. */
char *fixture_mkdtemp(void);
void fixture_rmdir(char *path);
/* A text file of a folder, malloc'd; NULL if there is none. */
char *fixture_read(const char *dir, const char *name);
void fixture_write(const char *dir, const char *name, const char *text);
bool fixture_exists(const char *dir, const char *name);
/* path + "/" + name, malloc'd. */
char *fixture_path(const char *dir, const char *name);

struct model *fixture_model(void);
uint32_t fixture_string(struct model *m, const char *s);
/* names: innermost first, NULL-terminated; offset of frame i is 10 * i + 1. */
uint32_t fixture_stack(struct model *m, enum stack_side side, const char *ended, const char *const *names);
struct model_row *fixture_row(struct model *m, const char *comm, uint32_t ustack, uint32_t kstack, uint64_t count,
			      uint64_t blocked_ns);

struct output_facts fixture_facts(enum output_mode mode);
/* Writes to dir/out (made, checked for success) and gives that path, malloc'd. */
char *fixture_output(const char *dir, const struct model *m, const struct output_facts *f);
/* The parsed summary of dir. */
struct json_object *fixture_summary(const char *dir);
/* A member by a path like "capture_integrity.status"; fails the test if it is missing. */
struct json_object *fixture_get(struct json_object *o, const char *path);
/* NULL for JSON null. */
const char *fixture_get_string(struct json_object *o, const char *path);
int64_t fixture_get_int(struct json_object *o, const char *path);
