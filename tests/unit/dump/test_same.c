/* SPDX-License-Identifier: (LGPL-2.1 OR BSD-2-Clause) */
/*
 * Lines that are written as dumps usually are take a quick way, all others go
 * through json-c. Both must come to the same: the tests' dumps and a large one
 * are read as they are, in a form that no quick way can take, and written anew
 * with keys in any order, blanks and escapes.
 */
#include <criterion/criterion.h>
#include <glob.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "fixture.h"
#include "tests/bench/generate.h"
#include "util/files.h"
#include "util/jsonc.h"

enum style {
	STYLE_SLOW,  /* as it is, with a key in front that only json-c takes */
	STYLE_PLAIN, /* other order, blanks */
	STYLE_WILD,  /* other order, blanks, escapes, other case of keys */
	STYLES,
};

static unsigned pick(unsigned *seed, unsigned n)
{
	return (unsigned)rand_r(seed) % n;
}

static void put(struct text *t, const char *s)
{
	text_sink(t, s, strlen(s));
}

static void blanks_put(struct text *t, unsigned *seed)
{
	static const char *const some[] = { "", "", "", " ", "\t", "  ", " \r " };

	put(t, some[pick(seed, sizeof(some) / sizeof(some[0]))]);
}

/* Strings hold no character beyond ASCII escaped: those are copied as they are. */
static void string_put(struct text *t, unsigned *seed, const char *s, bool escapes)
{
	put(t, "\"");
	for (; *s; s++) {
		char one[8];

		if (*s == '"' || *s == '\\' || (unsigned char)*s < 0x20 ||
		    (escapes && (unsigned char)*s < 0x80 && !pick(seed, 5)))
			snprintf(one, sizeof(one), "\\u%04x", (unsigned)*s);
		else
			snprintf(one, sizeof(one), "%c", *s);
		put(t, one);
	}
	put(t, "\"");
}

static void key_put(struct text *t, unsigned *seed, const char *key, enum style style)
{
	char other[64];

	snprintf(other, sizeof(other), "%s", key);
	if (style == STYLE_WILD && strlen(key) < sizeof(other) && !pick(seed, 4))
		other[0] = (char)(other[0] >= 'a' && other[0] <= 'z' ? other[0] - 'a' + 'A' : other[0]);
	string_put(t, seed, strlen(key) < sizeof(other) ? other : key, style == STYLE_WILD && !pick(seed, 4));
}

enum { KEYS_MAX = 64 };
struct member {
	const char *key;
	struct json_object *value;
};

/* Its members in any order; as they come if two keys differ in case only, for then the last counts. */
static size_t members_of(struct json_object *o, unsigned *seed, struct member *v)
{
	bool twice = false;
	size_t n = 0;

	json_object_object_foreach(o, key, value) {
		cr_assert(n < KEYS_MAX);
		for (size_t i = 0; i < n; i++)
			twice |= strcasecmp(v[i].key, key) == 0;
		v[n++] = (struct member){ key, value };
	}
	for (size_t i = n; i > 1 && !twice; i--) {
		size_t k = pick(seed, (unsigned)i);
		struct member x = v[k];

		v[k] = v[i - 1];
		v[i - 1] = x;
	}
	return n;
}

static void line_put(struct text *t, unsigned *seed, struct json_object *o, enum style style)
{
	struct member members[KEYS_MAX];
	size_t n = members_of(o, seed, members);

	blanks_put(t, seed);
	put(t, "{");
	for (size_t i = 0; i < n; i++) {
		struct json_object *v = members[i].value;

		blanks_put(t, seed);
		key_put(t, seed, members[i].key, style);
		blanks_put(t, seed);
		put(t, ":");
		blanks_put(t, seed);
		if (json_object_is_type(v, json_type_string))
			string_put(t, seed, json_object_get_string(v), style == STYLE_WILD);
		else
			put(t, v ? json_object_to_json_string_ext(v, JSON_C_TO_STRING_NOSLASHESCAPE) : "null");
		blanks_put(t, seed);
		put(t, i + 1 < n ? "," : "");
	}
	put(t, "}");
	blanks_put(t, seed);
}

/* Lines that are no JSON stay as they are, and so does the header: there is but one way for it. */
static void lines_rewrite(const char *text, size_t n, unsigned *seed, enum style style, struct text *ret)
{
	const char *end = text + n;
	bool header = true;

	for (const char *line = text, *next; line < end; line = next) {
		const char *newline = memchr(line, '\n', (size_t)(end - line));
		size_t length = (size_t)((newline ? newline : end) - line);
		char *copy = strndup(line, length);
		struct json_object *o = header || strlen(copy) != length ? NULL : json_tokener_parse(copy);
		struct json_tokener *strict = json_tokener_new();
		bool good;

		json_tokener_set_flags(strict, JSON_TOKENER_STRICT);
		json_object_put(json_tokener_parse_ex(strict, copy, (int)length + 1));
		good = json_tokener_get_error(strict) == json_tokener_success && json_object_is_type(o, json_type_object) &&
		       json_object_object_length(o);
		if (good && style == STYLE_SLOW) {
			put(ret, "{\"zz\":[],");
			put(ret, strchr(copy, '{') + 1);
		} else if (good) {
			line_put(ret, seed, o, style);
		} else {
			text_sink(ret, line, length);
		}
		if (newline)
			put(ret, "\n");
		json_tokener_free(strict);
		json_object_put(o);
		free(copy);
		next = newline ? newline + 1 : end;
		header = false;
	}
}

/* What a file comes to: all of the model that a dump can tell, what was wrong, and what only the model knows. */
static char *reading_of(const char *text, size_t n)
{
	const char *path = fixture_file(text, n, false);
	struct dump_problem problem = { 0 };
	struct model *m = NULL;
	struct text t = { 0 };
	char line[512];
	int e = dump_read(path, &m, &problem);

	snprintf(line, sizeof(line), "%d, line %zu, %zu bad: %s\n", e, problem.line, problem.bad_n, problem.message);
	put(&t, line);
	if (e < 0)
		return t.s;
	snprintf(line, sizeof(line), "%zu ops %zu waits %zu links %zu rows %zu threads %zu goroutines %zu samples %zu times "
		 "%zu processes %zu spans %zu wakers %zu asides %zu stacks %zu modules, %ld ns\n", m->op_n, m->wait_n, m->link_n,
		 m->row_n, m->thread_n, m->goroutine_n, m->sample_n, m->sample_time_n, m->process_n, m->span_n, m->waker_n,
		 m->aside_n, m->stack_n, m->module_n, (long)m->end_ns);
	put(&t, line);
	for (size_t i = 1; i < m->wait_n; i++) {
		const struct model_wait *w = &m->waits[i];

		snprintf(line, sizeof(line), "%u %u %u %u %u %u %u\n", w->row, w->op, w->target, w->thread, w->waker,
			 w->outside_waker, model_wait_waker_op(m, w));
		put(&t, line);
	}
	cr_assert(dump_write(m, NULL, NULL, text_sink, &t) == 0);
	model_free(m);
	return t.s;
}

static bool header_only(const char *text, size_t n)
{
	const char *newline = memchr(text, '\n', n);

	return !newline || newline + 1 == text + n;
}

static void check_all_ways(const char *name, const char *text, size_t n)
{
	char *usual = reading_of(text, n);
	unsigned seed = 1;

	for (int round = 0; round < 2 * STYLES; round++) {
		struct text other = { 0 };
		char *reading;

		lines_rewrite(text, n, &seed, (enum style)(round % STYLES), &other);
		cr_assert(header_only(text, n) || other.n != n || memcmp(other.s, text, n) != 0, "%s: nothing is new", name);
		reading = reading_of(other.s, other.n);
		cr_expect(strcmp(usual, reading) == 0, "%s, style %d:\n%.3000s\n-- read as --\n%.3000s\n-- but from --\n%.3000s",
			  name, round % STYLES, usual, reading, other.s);
		free(reading);
		free(other.s);
	}
	free(usual);
}

Test(same, golden_dumps, .timeout = 120)
{
	glob_t files;

	cr_assert(glob(WCBPF_SOURCE_ROOT "/tests/golden/*.ndjson", 0, NULL, &files) == 0 && files.gl_pathc > 5);
	for (size_t i = 0; i < files.gl_pathc; i++) {
		char *text = NULL;
		size_t n;

		cr_assert(files_read(-100, files.gl_pathv[i], 1 << 24, &text, &n) == 0);
		check_all_ways(files.gl_pathv[i], text, n);
		free(text);
	}
	globfree(&files);
}

Test(same, one_of_everything)
{
	struct model *m = fixture_model();
	char *text = fixture_write(m);

	check_all_ways("the fixture", text, strlen(text));
	free(text);
	model_free(m);
}

Test(same, a_large_one, .timeout = 240)
{
	struct model *m;
	char *text;

	cr_assert(generate(4000, 3, &m) == 0);
	text = fixture_write(m);
	check_all_ways("a large one", text, strlen(text));
	free(text);
	model_free(m);
}

/* At each of these the quick way must leave the line to json-c, or say itself what json-c would. */
Test(same, oddities)
{
	static const char *const lines[] = {
		"{\"e\":\"op\",\"id\":1,\"s\":1,\"d\":2,\"id\":3}",
		"{\"e\":\"op\",\"ID\":1,\"s\":1,\"d\":2}",
		"{\"e\":\"op\",\"id\":18446744073709551615,\"s\":1,\"d\":2}",
		"{\"e\":\"op\",\"id\":4,\"s\":-1,\"d\":2}",
		"{\"e\":\"op\",\"id\":5,\"s\":-0,\"d\":2}",
		"{\"e\":\"op\",\"id\":6,\"s\":01,\"d\":2}",
		"{\"e\":\"op\",\"id\":7,\"s\":1.0,\"d\":2}",
		"{\"e\":\"op\",\"id\":8,\"s\":1e1,\"d\":20}",
		"{\"e\":\"op\",\"id\":9,\"s\":\"1\",\"d\":2}",
		"{\"e\":\"op\",\"id\":10,\"s\":null,\"d\":2}",
		"{\"e\":\"op\",\"id\":11,\"s\":1,\"d\":2,\"pid\":\"x\"}",
		"{\"e\":\"op\",\"id\":12,\"s\":1,\"d\":2,\"pid\":4294967296}",
		"{\"e\":\"op\",\"id\":13,\"s\":1,\"d\":2,\"c\":4294967296}",
		"{\"e\":\"op\",\"id\":14,\"s\":9223372036854775807,\"d\":9223372036854775807}",
		"{\"e\":\"op\",\"id\":15,\"s\":1,\"d\":9223372036854775808}",
		"{\"e\":\"op\",\"id\":16,\"s\":1,\"d\":2,}",
		"{\"e\":\"op\",\"id\":17,\"s\":1,\"d\":2",
		"{\"e\":\"op\",\"id\":18,\"s\":1,\"d\":2}}",
		"{\"e\":\"op\",\"id\":19,\"s\":1,\"d\":2} x",
		"{\"e\":7,\"id\":20,\"s\":1,\"d\":2}",
		"{\"e\":\"o\\u0070\",\"id\":21,\"s\":1,\"d\":2}",
		"{\"\\u0065\":\"op\",\"id\":22,\"s\":1,\"d\":2}",
		"{\"e\":\"op\" \"id\":23,\"s\":1,\"d\":2}",
		"{\"e\":\"op\",\"id\":24,\"s\":1,\"d\":2,\"other\":{\"s\":5}}",
		"{\"e\":\"op\",\"id\":25,\"s\":1,\"d\":2,\"other\":tru}",
		"{\"e\":\"op\",\"id\":26,\"s\":+1,\"d\":2}",
		"{\"e\":\"op\",\"id\":27,\"s\":1,\"d\":2,\"k\":\"a\xff\"}",
		"{\"e\":\"op\",\"id\":28,\"s\":1,\"d\":2,\"m\":1,\"M\":2}",
		"{\"e\":\"stack\",\"sid\":1,\"side\":\"user\",\"ended\":\"complete\",\"frames\":[[1,2,3],[0,1,1,1,5,1,2,9]]}",
		"{\"e\":\"stack\",\"sid\":2,\"side\":\"user\",\"ended\":\"complete\",\"frames\":[[1,2]]}",
		"{\"e\":\"stack\",\"sid\":3,\"side\":\"user\",\"ended\":\"complete\",\"frames\":[[1,2,\"x\"]]}",
		"{\"e\":\"stack\",\"sid\":4,\"side\":\"user\",\"ended\":\"complete\",\"frames\":[1]}",
		"{\"e\":\"stack\",\"sid\":5,\"side\":\"user\",\"ended\":\"complete\",\"frames\":[[1,-2,3]]}",
		"{\"e\":\"stack\",\"sid\":6,\"side\":\"user\",\"ended\":\"complete\",\"frames\":[[1,2,3,]]}",
		"{\"e\":\"stack\",\"sid\":7,\"side\":\"user\",\"ended\":\"complete\",\"frames\":7}",
		"{\"e\":\"sample\",\"samples\":3,\"at\":[1,2,-3,1.5,\"x\"]}",
		"[]", "7", "\"e\"", "{}", " {\"e\":\"op\",\"id\":99,\"s\":1,\"d\":2}\t",
	};
	static const char header[] = "{\"schema_version\":1,\"epoch_unix_nano\":5000,\"dumped_unix_nano\":6000,"
				     "\"dropped_events\":0,\"strings\":[\"\",\"a\",\"b\",\"c\"]}\n";

	for (size_t i = 0; i < sizeof(lines) / sizeof(lines[0]); i++) {
		struct text quick = { 0 }, slow = { 0 };
		const char *brace = strchr(lines[i], '{');
		char *a, *b;

		put(&quick, header);
		put(&quick, lines[i]);
		put(&slow, header);
		if (brace && brace[1] != '}' && lines[i][0] != '"') {
			put(&slow, "{\"zz\":[],");
			put(&slow, brace + 1);
		} else {
			put(&slow, lines[i]);
		}
		put(&quick, "\n");
		put(&slow, "\n");
		a = reading_of(quick.s, quick.n);
		b = reading_of(slow.s, slow.n);
		cr_expect(strcmp(a, b) == 0, "%s\n%s\n-- json-c's --\n%s", lines[i], a, b);
		free(a);
		free(b);
		free(quick.s);
		free(slow.s);
	}
}
