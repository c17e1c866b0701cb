/* SPDX-License-Identifier: (LGPL-2.1 OR BSD-2-Clause) */
/*
 * Keys are rows of a table: what a key is for, which roles it makes sense in,
 * and who reads it. Names must be known before values that use them, so a
 * section's lines are read in passes, and errors still come in order of lines
 * within a pass.
 */
#include "probe/definition.h"

#include <errno.h>
#include <string.h>

#include "util/vec.h"

#define SYMBOLS_MAX 64
#define LETS_MAX 32
#define GUARDS_MAX 16

enum {
	IN_OP = 1 << PROBE_OP,
	IN_BEGIN = 1 << PROBE_BEGIN,
	IN_END = 1 << PROBE_END,
	IN_WAIT = 1 << PROBE_WAIT,
	IN_LOCK = 1 << PROBE_LOCK,
	IN_KEY = 1 << PROBE_KEY,
	IN_SPAN = 1 << PROBE_SPAN,
	IN_SPAN_END = 1 << PROBE_SPAN_END,
	IN_ALL = (1 << (PROBE_SPAN_END + 1)) - 1,
	IN_OPS = IN_OP | IN_BEGIN,
	IN_WAITS = IN_WAIT | IN_LOCK,
	IN_SPANS = IN_SPAN | IN_SPAN_END,
	IN_MOMENTS = IN_BEGIN | IN_END | IN_KEY | IN_SPANS,
	IN_LATE = IN_BEGIN | IN_SPAN, /* of the moments: they happen at the exit */
};

static const char *const role_words[] = {
	[PROBE_OP] = "op",     [PROBE_BEGIN] = "begin", [PROBE_END] = "end",   [PROBE_WAIT] = "wait",
	[PROBE_LOCK] = "lock", [PROBE_KEY] = "key",	[PROBE_SPAN] = "span", [PROBE_SPAN_END] = "span_end",
};
#define ROLE_N (sizeof(role_words) / sizeof(*role_words))

struct making {
	struct source *source;
	struct definition *d;
	struct names names;
	const char *arg_names[PARAMETERS_MAX], *result_names[PARAMETERS_MAX], *let_names[LETS_MAX];
	struct value let_values[LETS_MAX];
	struct symbol_pattern symbols[SYMBOLS_MAX];
	struct guard guards[GUARDS_MAX];
	bool at_entry;
};

typedef int key_reader(struct making *m, const char *value);

static int read_symbol(struct making *m, const char *value)
{
	if (m->d->symbol_n == SYMBOLS_MAX)
		return source_refuse(m->source, "more than %d symbols in one section", SYMBOLS_MAX);
	return symbol_pattern_parse(m->source, value, &m->symbols[m->d->symbol_n++]);
}

static int marker_parse(struct making *m, const char *key, const char *value, const char **ret_provider,
			const char **ret_name)
{
	const char *colon = strchr(value, ':');

	if (!colon || colon == value || !colon[1])
		return source_refuse(m->source, "%s = %s: PROVIDER:NAME was expected", key, value);
	*ret_provider = pool_copy(m->source->pool, value, (size_t)(colon - value));
	*ret_name = colon + 1;
	return *ret_provider ? 0 : -ENOMEM;
}

static int read_usdt(struct making *m, const char *value)
{
	return marker_parse(m, "usdt", value, &m->d->provider, &m->d->marker);
}

static int read_usdt_end(struct making *m, const char *value)
{
	return marker_parse(m, "usdt_end", value, &m->d->end_provider, &m->d->end_marker);
}

static int guard_add(struct making *m, const char *value, bool without)
{
	if (m->d->guard_n == GUARDS_MAX)
		return source_refuse(m->source, "more than %d of with and without in one section", GUARDS_MAX);
	if (!*value)
		return source_refuse(m->source, "with%s: a function's name was expected", without ? "out" : "");
	m->guards[m->d->guard_n++] = (struct guard){.symbol = value, .without = without};
	return 0;
}

static int read_with(struct making *m, const char *value)
{
	return guard_add(m, value, false);
}

static int read_without(struct making *m, const char *value)
{
	return guard_add(m, value, true);
}

static int read_file(struct making *m, const char *value)
{
	return file_patterns_parse(m->source, value, &m->d->files);
}

static int language_parse(struct source *s, const char *value, enum definition_language *ret)
{
	static const char *const words[] = {[LANGUAGE_ANY] = "any", [LANGUAGE_GO] = "go", [LANGUAGE_NATIVE] = "native"};

	for (size_t i = 0; i < sizeof(words) / sizeof(*words); i++)
		if (!strcmp(words[i], value)) {
			*ret = (enum definition_language)i;
			return 0;
		}
	return source_refuse(s, "language = %s: go, native or any was expected", value);
}

static int read_language(struct making *m, const char *value)
{
	return language_parse(m->source, value, &m->d->language);
}

static int read_args(struct making *m, const char *value)
{
	int r = signature_parse(m->source, value, &m->d->args);

	for (size_t i = 0; r == 0 && i < m->d->args.n; i++)
		m->arg_names[i] = m->d->args.v[i].name;
	return r;
}

static int read_results(struct making *m, const char *value)
{
	int r = signature_parse(m->source, value, &m->d->results);

	for (size_t i = 0; r == 0 && i < m->d->results.n; i++)
		m->result_names[i] = m->d->results.v[i].name;
	return r;
}

static int read_exit(struct making *m, const char *value)
{
	static const char *const words[] = {[DEFINITION_EXIT_ALL] = "all", [DEFINITION_EXIT_RETURN] = "return"};

	for (size_t i = 0; i < sizeof(words) / sizeof(*words); i++)
		if (!strcmp(words[i], value)) {
			m->d->exit = (enum definition_exit)i;
			return 0;
		}
	return source_refuse(m->source,
			     "exit = %s: all (each return instruction) or return (a return probe) was expected", value);
}

static int read_at(struct making *m, const char *value)
{
	if (strcmp(value, "entry") != 0 && strcmp(value, "exit") != 0)
		return source_refuse(m->source, "at = %s: entry or exit was expected", value);
	m->at_entry = value[1] == 'n';
	return 0;
}

static int read_kind(struct making *m, const char *value)
{
	if (op_kind_parse(value, &m->d->kind) < 0)
		return source_refuse(
			m->source,
			"kind = %s: call, call_exec, lazy, exec, exec_phase, service_start, session_phase, "
			"io or internal was expected",
			value);
	return 0;
}

static int read_work(struct making *m, const char *value)
{
	if (work_type_parse(value, &m->d->work) < 0)
		return source_refuse(m->source, "work = %s: engine, user or external was expected", value);
	return 0;
}

static int read_text(struct making *m, const char *value, struct template *ret)
{
	return template_parse(m->source, &m->names, &m->d->values, value, ret);
}

static int read_class(struct making *m, const char *value)
{
	return read_text(m, value, &m->d->class);
}
static int read_ident(struct making *m, const char *value)
{
	return read_text(m, value, &m->d->ident);
}
static int read_client(struct making *m, const char *value)
{
	return read_text(m, value, &m->d->client);
}
static int read_meta(struct making *m, const char *value)
{
	return read_text(m, value, &m->d->meta);
}
static int read_key(struct making *m, const char *value)
{
	return read_text(m, value, &m->d->key);
}
static int read_target(struct making *m, const char *value)
{
	return read_text(m, value, &m->d->target);
}
static int read_resource(struct making *m, const char *value)
{
	return read_text(m, value, &m->d->resource);
}

static int read_under(struct making *m, const char *value)
{
	return read_text(m, value, &m->d->under);
}
static int read_nested(struct making *m, const char *value)
{
	return read_text(m, value, &m->d->nested);
}

static int read_trace(struct making *m, const char *value)
{
	return read_text(m, value, &m->d->trace);
}
static int read_span(struct making *m, const char *value)
{
	return read_text(m, value, &m->d->span);
}

static int outcome_word(const char *word, uint8_t *ret)
{
	enum op_outcome o;
	int r = op_outcome_parse(word, &o);

	if (r < 0 || o == OUTCOME_NONE)
		return -EINVAL;
	*ret = (uint8_t)o;
	return 0;
}

static int reason_word(const char *word, uint8_t *ret)
{
	enum wait_reason reason;
	int r = wait_reason_parse(word, &reason);

	if (r < 0)
		return r;
	*ret = (uint8_t)reason;
	return 0;
}

static int read_outcome(struct making *m, const char *value)
{
	return choices_parse(m->source, &m->names, &m->d->values, value, outcome_word,
			     "hit, executed, joined, do_not_cache, ok, error, canceled", &m->d->outcome);
}

static int read_reason(struct making *m, const char *value)
{
	return choices_parse(m->source, &m->names, &m->d->values, value, reason_word,
			     "call_exec, singleflight, lazy, service, lock, exec, io, sync, sleep, poll, other",
			     &m->d->reason);
}

static int read_only(struct making *m, const char *value)
{
	return condition_parse(m->source, &m->names, &m->d->values, value, &m->d->only);
}

static int read_wait_kind(struct making *m, const char *value)
{
	if (!*value || expr_word_len(value) != strlen(value))
		return source_refuse(m->source, "wait_kind = %s: one word was expected", value);
	m->d->wait_kind = value;
	return 0;
}

static int yes_or_no(struct source *s, const char *key, const char *value, bool *ret)
{
	bool yes = !strcmp(value, "yes") || !strcmp(value, "true") || !strcmp(value, "1");

	if (!yes && strcmp(value, "no") != 0 && strcmp(value, "false") != 0 && strcmp(value, "0") != 0)
		return source_refuse(s, "%s = %s: yes or no was expected", key, value);
	*ret = yes;
	return 0;
}

static int read_first(struct making *m, const char *value)
{
	return yes_or_no(m->source, "first", value, &m->d->first_only);
}
static int read_contended(struct making *m, const char *value)
{
	return yes_or_no(m->source, "contended", value, &m->d->contended);
}
static int read_hosts(struct making *m, const char *value)
{
	return yes_or_no(m->source, "hosts", value, &m->d->hosts);
}
static int read_root(struct making *m, const char *value)
{
	return yes_or_no(m->source, "root", value, &m->d->root);
}
static int read_once(struct making *m, const char *value)
{
	return yes_or_no(m->source, "once", value, &m->d->once);
}

/* "class, client" */
static int read_inherits(struct making *m, const char *value)
{
	for (const char *at = value; *at;) {
		size_t n = strcspn(at, ", \t");

		if (n == 5 && !strncmp(at, "class", n))
			m->d->inherits_class = true;
		else if (n == 6 && !strncmp(at, "client", n))
			m->d->inherits_client = true;
		else
			return source_refuse(m->source, "inherits = %s: class, client or both were expected", value);
		at += n + strspn(at + n, ", \t");
	}
	return 0;
}

static int read_stack(struct making *m, const char *value)
{
	return yes_or_no(m->source, "stack", value, &m->d->takes_stack);
}

static int read_optional(struct making *m, const char *value)
{
	return yes_or_no(m->source, "optional", value, &m->d->optional);
}

static const struct key {
	const char *name;
	key_reader *read;
	unsigned int roles;
	bool first; /* before the values that use its names */
	bool again; /* may be given more than once */
} keys[] = {
	{"symbol", read_symbol, IN_ALL, .again = true},
	{"usdt", read_usdt, IN_ALL},
	{"usdt_end", read_usdt_end, IN_OP | IN_WAITS},
	{"first", read_first, IN_ALL},
	{"with", read_with, IN_ALL, .again = true},
	{"without", read_without, IN_ALL, .again = true},
	{"file", read_file, IN_ALL},
	{"language", read_language, IN_ALL},
	{"args", read_args, IN_ALL, .first = true},
	{"results", read_results, IN_ALL, .first = true},
	{"exit", read_exit, IN_ALL},
	{"at", read_at, IN_LATE},
	{"kind", read_kind, IN_OPS},
	{"work", read_work, IN_OPS},
	{"class", read_class, IN_OPS | IN_KEY},
	{"ident", read_ident, IN_OPS | IN_KEY},
	{"client", read_client, IN_OPS | IN_KEY},
	{"meta", read_meta, IN_OPS | IN_KEY},
	{"inherits", read_inherits, IN_OPS},
	{"outcome", read_outcome, IN_OP | IN_END | IN_KEY},
	{"hosts", read_hosts, IN_OPS},
	{"root", read_root, IN_OPS},
	{"key", read_key, IN_OPS | IN_END | IN_KEY},
	{"trace", read_trace, IN_SPANS},
	{"span", read_span, IN_SPANS},
	{"target", read_target, IN_WAIT | IN_KEY},
	{"under", read_under, IN_OP | IN_WAITS | IN_KEY},
	{"nested", read_nested, IN_OPS | IN_KEY},
	{"resource", read_resource, IN_WAITS},
	{"reason", read_reason, IN_WAIT},
	{"wait_kind", read_wait_kind, IN_WAITS},
	{"contended", read_contended, IN_WAIT},
	{"once", read_once, IN_WAIT},
	{"only", read_only, IN_ALL},
	{"stack", read_stack, IN_ALL},
	{"optional", read_optional, IN_ALL},
};
#define KEY_N (sizeof(keys) / sizeof(*keys))

static const struct key *key_find(const char *name)
{
	for (size_t i = 0; i < KEY_N; i++)
		if (!strcmp(keys[i].name, name))
			return &keys[i];
	return NULL;
}

/* "let NAME": the name, blanks skipped; NULL: another key. */
static const char *let_name(const char *key)
{
	if (strncmp(key, "let", 3) != 0 || (key[3] != ' ' && key[3] != '\t'))
		return NULL;
	return key + 3 + strspn(key + 3, " \t");
}

static int read_let(struct making *m, const char *name, const char *value)
{
	struct names *n = &m->names;
	struct value *v = &m->let_values[n->let_n];
	const char *at = value;
	int r;

	if (!*name || expr_word_len(name) != strlen(name))
		return source_refuse(m->source, "let %s: a name was expected, letters and digits", name);
	if (n->let_n == LETS_MAX)
		return source_refuse(m->source, "more than %d names by let in one section", LETS_MAX);
	for (size_t i = 0; i < n->let_n; i++)
		if (!strcmp(m->let_names[i], name))
			return source_refuse(m->source, "let %s: this name is taken", name);
	r = value_parse(m->source, n, &at, v);
	if (r < 0)
		return r;
	if (*at)
		return source_refuse(m->source, "let %s: the end of the line was expected before '%.20s'", name, at);
	m->let_names[n->let_n++] = name;
	return 0;
}

/* A key that is nearly right: one letter changed, left out or added. */
static const char *key_like(const char *name)
{
	for (size_t i = 0; i < KEY_N; i++) {
		const char *a = keys[i].name, *b = name;

		while (*a && *a == *b)
			a++, b++;
		if (!strcmp(*a ? a + 1 : a, *b ? b + 1 : b) || (*a && !strcmp(a + 1, b)) || (*b && !strcmp(a, b + 1)))
			return keys[i].name;
	}
	return NULL;
}

static int key_check(struct making *m, const struct assignment *v, size_t i)
{
	const struct key *k = key_find(v[i].key);
	const char *like;

	if (let_name(v[i].key))
		return 0;
	if (!k) {
		like = key_like(v[i].key);
		return source_refuse(m->source, "%s: no such key%s%s%s", v[i].key, like ? " (is it '" : "",
				     like ? like : "", like ? "'?)" : "");
	}
	if (!(k->roles & (1u << m->d->role)))
		return source_refuse(m->source, "%s: not of a section of the kind [%s]", k->name,
				     role_words[m->d->role]);
	for (size_t j = 0; j < i && !k->again; j++)
		if (!strcmp(v[j].key, k->name))
			return source_refuse(m->source, "%s: given before, in line %u", k->name, v[j].line);
	return 0;
}

enum pass { PASS_CHECK, PASS_NAMES, PASS_LETS, PASS_REST, PASS_N };

static int assignment_read(struct making *m, const struct assignment *v, size_t i, enum pass pass)
{
	const char *name = let_name(v[i].key);
	const struct key *k = name ? NULL : key_find(v[i].key);

	m->source->line = v[i].line;
	if (pass == PASS_CHECK)
		return key_check(m, v, i);
	if (name)
		return pass == PASS_LETS ? read_let(m, name, v[i].value) : 0;
	if (k->first != (pass == PASS_NAMES) || pass == PASS_LETS)
		return 0;
	return k->read(m, v[i].value);
}

/* All that is wrong in one pass is told; later passes would only repeat it. */
static int assignments_read(struct making *m, const struct assignment *v, size_t n)
{
	for (enum pass pass = 0; pass < PASS_N; pass++) {
		int worst = 0;

		for (size_t i = 0; i < n; i++) {
			int r = assignment_read(m, v, i, pass);

			if (r == -ENOMEM)
				return r;
			worst = r < 0 ? r : worst;
		}
		if (worst < 0)
			return worst;
		if (pass == PASS_NAMES) {
			m->names.arg_n = m->d->args.n;
			m->names.result_n = m->d->results.n;
			m->names.stated = m->d->args.stated || m->d->results.stated;
		}
	}
	return 0;
}

/* A moment at the entry needs no more than a mark; one at the exit both, for values of the entry may be part of it. */
static int moment_check(struct making *m)
{
	struct definition *d = m->d;
	unsigned int role = 1u << d->role;
	bool exit = false;

	for (size_t i = 0; i < d->values.n; i++)
		exit |= d->values.v[i].at_exit;
	if (!(role & IN_MOMENTS))
		return 0;
	if (d->provider && exit)
		return source_refuse(m->source, "a marker (usdt) has no results");
	if (m->at_entry && exit)
		return source_refuse(m->source, "at = entry, but a value is only there at the exit");
	if (d->provider || m->at_entry || (!exit && !(role & IN_LATE)))
		d->exit = DEFINITION_EXIT_NONE;
	return 0;
}

static int count_check(struct making *m)
{
	size_t n[2] = {0};

	for (size_t i = 0; i < m->d->values.n; i++) {
		const struct value *v = &m->d->values.v[i];

		n[v->at_exit] += v->alternatives[0].base != EXPR_CONST && v->alternatives[0].base != EXPR_WORD;
	}
	for (size_t i = 0; i < 2; i++)
		if (n[i] > WCBPF_FETCHES_MAX)
			return source_refuse(m->source, "%zu values at the %s; at most %d can be taken", n[i],
					     i ? "exit" : "entry", WCBPF_FETCHES_MAX);
	return 0;
}

static bool has_late_argument(const struct values *v)
{
	for (size_t i = 0; i < v->n; i++)
		for (size_t k = 0; k < v->v[i].alternative_n; k++) {
			const struct expr *e = &v->v[i].alternatives[k];

			if ((e->base == EXPR_ARG || e->base == EXPR_NAME) && e->moment == EXPR_EXIT)
				return true;
		}
	return false;
}

static int definition_check(struct making *m)
{
	struct definition *d = m->d;

	if (!d->symbol_n && !d->provider)
		return source_refuse(m->source, "symbol is missing (or usdt)");
	if (d->symbol_n && d->provider)
		return source_refuse(m->source, "either symbol or usdt, not both");
	if (!d->provider != !d->end_provider && !((1u << d->role) & IN_MOMENTS))
		return source_refuse(m->source, "a marker is a moment: usdt and usdt_end together make a [%s]",
				     role_words[d->role]);
	if (!d->end_provider && has_late_argument(&d->values))
		return source_refuse(m->source,
				     "an argument's place may hold something else @exit; a result or a register can be "
				     "taken there");
	if (d->role == PROBE_KEY && !d->key.n && !d->class.n && !d->ident.n && !d->client.n && !d->meta.n &&
	    !d->outcome.n && !d->nested.n)
		return source_refuse(m->source, "key is missing (or ident, class, client, meta, outcome, nested)");
	if (((1u << d->role) & IN_SPANS) && (!d->trace.n || !d->span.n))
		return source_refuse(m->source, "a span is known by its ids: trace and span are missing");
	if (d->role == PROBE_LOCK)
		d->contended = true;
	return count_check(m) < 0 ? -EINVAL : moment_check(m);
}

/* What has no class is called as its section, or as its function. */
static int defaults_set(struct making *m, const char *name, bool class_of_symbol)
{
	static const struct chunk symbol = {.kind = CHUNK_SYMBOL};
	struct chunk *chunk = pool_alloc(m->source->pool, sizeof(*chunk));
	struct definition *d = m->d;

	if (!chunk)
		return -ENOMEM;
	*chunk = class_of_symbol && !d->provider ? symbol : (struct chunk){.kind = CHUNK_LITERAL, .literal = name};
	if (((1u << d->role) & IN_OPS) && !d->class.n)
		d->class = (struct template){.v = chunk, .n = 1};
	if (d->role == PROBE_LOCK && !d->resource.n)
		d->resource = (struct template){.v = chunk, .n = 1};
	d->symbols = pool_alloc(m->source->pool, d->symbol_n * sizeof(*d->symbols));
	if (!d->symbols)
		return -ENOMEM;
	memcpy(d->symbols, m->symbols, d->symbol_n * sizeof(*d->symbols));
	d->guards = pool_alloc(m->source->pool, d->guard_n * sizeof(*d->guards));
	if (!d->guards)
		return -ENOMEM;
	memcpy(d->guards, m->guards, d->guard_n * sizeof(*d->guards));
	return 0;
}

static int role_parse(struct source *s, const char *word, enum probe_role *ret)
{
	for (size_t i = 0; i < ROLE_N; i++)
		if (!strcmp(role_words[i], word)) {
			*ret = (enum probe_role)i;
			return 0;
		}
	return source_refuse(s, "'%s': one of op, begin, end, wait, lock, key, span, span_end was expected", word);
}

int definition_make(struct source *s, const struct profile *p, const char *role, const char *name, bool class_of_symbol,
		    const struct assignment *v, size_t n, struct definition *ret)
{
	struct definition d = {.files = p->files, .language = p->language, .source_name = s->name};
	struct making *m = NULL;
	unsigned int line = s->line;
	int r = role_parse(s, role, &d.role);

	if (r < 0)
		return r;
	m = pool_alloc(s->pool, sizeof(*m));
	d.place = source_place(s);
	d.name = p->name ? pool_printf(s->pool, "%s/%s", p->name, name) : name;
	if (!m || !d.place || !d.name)
		return -ENOMEM;
	m->source = s;
	m->d = &d;
	m->names = (struct names){
		.args = m->arg_names, .results = m->result_names, .lets = m->let_names, .let_values = m->let_values};
	r = assignments_read(m, v, n);
	s->line = line;
	if (r == 0)
		r = definition_check(m);
	if (r == 0)
		r = defaults_set(m, name, class_of_symbol);
	if (r < 0) {
		definition_done(&d);
		return r;
	}
	*ret = d;
	return 0;
}

void definition_done(struct definition *d)
{
	free(d->values.v);
	d->values = (struct values){0};
}

int profile_key(struct source *s, struct profile *p, const char *key, const char *value)
{
	if (!strcmp(key, "about"))
		p->about = value;
	else if (!strcmp(key, "tried"))
		p->tried = value;
	else if (!strcmp(key, "file"))
		return file_patterns_parse(s, value, &p->files);
	else if (!strcmp(key, "language"))
		return language_parse(s, value, &p->language);
	else
		return source_refuse(s, "%s: before the first section there are only about, tried, include, file and "
				     "language",
				     key);
	return 0;
}
