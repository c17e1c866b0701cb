/* SPDX-License-Identifier: (LGPL-2.1 OR BSD-2-Clause) */
#pragma once
/* An op, wait or lock as a profile defines it: parsed and checked, not yet bound to any file. */
#include "probe/pattern.h"
#include "probe/probe.h"
#include "probe/signature.h"
#include "probe/template.h"

enum definition_exit {
	DEFINITION_EXIT_ALL,	/* every RET and tail jump */
	DEFINITION_EXIT_RETURN, /* a return probe */
	DEFINITION_EXIT_NONE,	/* none is needed: its entry is a mark */
};

enum definition_language { LANGUAGE_ANY, LANGUAGE_GO, LANGUAGE_NATIVE };

/* with, without: a function that the file must, or must not have. */
struct guard {
	const char *symbol;
	bool without;
};

struct definition {
	const char *name;	 /* "dagger/call" */
	const char *place;	 /* of its first line */
	const char *source_name; /* of the profile, for places of single lines */
	enum probe_role role;
	struct file_patterns files;
	enum definition_language language;
	struct symbol_pattern *symbols;
	size_t symbol_n;
	bool first_only; /* of the symbols the first that is there */
	struct guard *guards;
	size_t guard_n;
	const char *provider, *marker;	       /* usdt; NULL: symbols */
	const char *end_provider, *end_marker; /* usdt_end; NULL: none */
	struct signature args, results;
	enum definition_exit exit;
	bool takes_stack;
	enum op_kind kind;
	enum work_type work;
	struct values values;
	struct template class, ident, client, meta, key, target, resource, trace, span, under, nested;
	struct choices outcome, reason, only;
	const char *wait_kind;
	bool contended, hosts, root, once, inherits_class, inherits_client;
	bool optional; /* some versions lack it: that is no caveat */
};

/* A line of a section: key and value, or of -e. Strings in the pool. */
struct assignment {
	const char *key, *value;
	unsigned int line;
};

/* What holds for all of a profile. */
struct profile {
	const char *name; /* "dagger" */
	const char *about, *tried;
	struct file_patterns files; /* n 0: any */
	enum definition_language language;
};

/*
 * From the lines of one section, in order. name: of the section; class_of_symbol: a class that isn't given is the
 * symbol's name, else the section's. -EINVAL: told, all that is wrong. -ENOMEM.
 * definition_done() frees what isn't the pool's.
 */
int definition_make(struct source *s, const struct profile *p, const char *role, const char *name, bool class_of_symbol,
		    const struct assignment *v, size_t n, struct definition *ret);
void definition_done(struct definition *d);
/* Keys of a profile before its first section. -EINVAL: told. */
int profile_key(struct source *s, struct profile *p, const char *key, const char *value);
