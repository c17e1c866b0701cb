/* SPDX-License-Identifier: (LGPL-2.1 OR BSD-2-Clause) */
/* Without a target: which profiles there are. Without profiles: what each of them would find in the target. */
#include <errno.h>
#include <string.h>

#include "cmd/answer-json.h"
#include "cmd/cmd.h"
#include "cmd/options.h"
#include "cmd/probes.h"
#include "cmd/target.h"
#include "cmd/verb.h"
#include "util/cleanup.h"
#include "util/json.h"
#include "util/log.h"
#include "util/parse.h"
#include "util/vec.h"


struct probes_config {
	struct options_all all;
	const char *target;    /* NULL: none */
	struct probe_set *set; /* owned */
	size_t asked;	       /* --probes and -e given */
	bool json;
};

static void probes_config_done(struct probes_config *c)
{
	probe_set_free(c->set);
}

static int set_target(void *config, const char *value, char **ret_why)
{
	if (!*value)
		return options_refuse(ret_why, "-p: a process id or a file was expected");
	((struct probes_config *)config)->target = value;
	return 0;
}

static int set_json(void *config, const char *value, char **ret_why)
{
	(void)value, (void)ret_why;
	((struct probes_config *)config)->json = true;
	return 0;
}

/* What is wrong in a profile can be more than one line. */
static int asked(struct probes_config *c, const char *option, int r, char *why, char **ret_why)
{
	_cleanup_(freep) char *owned = why;

	c->asked++;
	if (r == 0 || r == -ENOMEM)
		return r;
	return options_refuse(ret_why, "%s: %s", option, owned ? owned : strerror(-r));
}

static int set_probes(void *config, const char *value, char **ret_why)
{
	struct probes_config *c = config;
	char *why = NULL;
	int r = probe_set_add(c->set, value, &why);

	return asked(c, "--probes", r, why, ret_why);
}

static int set_inline(void *config, const char *value, char **ret_why)
{
	struct probes_config *c = config;
	_cleanup_(freep) char *why = NULL;
	int r = probe_set_add_inline(c->set, value, &why);

	c->asked++;
	/* It says "-e: ..." itself. */
	return r == 0 || r == -ENOMEM ? r : options_refuse(ret_why, "%s", why ? why : strerror(-r));
}

const struct option_row options_probes_rows[] = {
	{'p', NULL, "PID|FILE", NULL, "the process, or the program's file, to look at", set_target},
	{0, "probes", "NAME|FILE", NULL, "a profile of choke points; may be repeated", set_probes},
	{'e', NULL, "SYMBOL", NULL, "one more: '[FILE:]SYMBOL [KEY=VALUE...]'; may be repeated", set_inline},
	{0, "json", NULL, NULL, "print JSON", set_json},
	OPTIONS_ALL_ROWS,
};

/* ---- which profiles there are ---- */

static int builtins_json(void)
{
	size_t n;
	const struct probe_builtin *v = probe_builtins(&n);
	_cleanup_(json_freep) struct json *j = NULL;
	int r = answer_json_begin(stdout, "wcbpf_profiles", &j);

	if (r < 0)
		return r;
	json_kv_string(j, "version", WCBPF_VERSION);
	json_key(j, "profiles");
	json_begin_array(j);
	for (size_t i = 0; i < n; i++) {
		json_begin_object(j);
		json_kv_string(j, "name", v[i].name);
		json_kv_string(j, "about", v[i].about);
		json_kv_string(j, "tried", v[i].tried);
		json_end_object(j);
	}
	json_end_array(j);
	return answer_json_end(j);
}

static void builtins_print(bool color)
{
	size_t n;
	const struct probe_builtin *v = probe_builtins(&n);

	for (size_t i = 0; i < n; i++)
		printf("%s%-10s%s  %s\n%12stried on: %s\n", color ? "\033[1m" : "", v[i].name, color ? "\033[0m" : "",
		       v[i].about, "", v[i].tried);
}

/* ---- a target ---- */

/* Digits only are a process. */
static int target_find(const struct probes_config *c, const struct probe_set *set, struct probes_found *ret,
		       char **ret_why)
{
	_cleanup_(target_done) struct target t = {0};
	uint32_t pid;
	struct capture_config capture = {.scope = CAPTURE_PIDS, .ids = &pid, .id_n = 1};
	int r;

	if (parse_u32(c->target, &pid) < 0)
		return probes_find_files(set, &c->target, 1, ret, ret_why);
	r = target_check(&capture, (uint32_t)getpid(), &t, ret_why);
	return r < 0 ? r : probes_find_process(set, t.ids[0], ret, ret_why);
}

static size_t definitions_found(const struct probes_found *found, size_t *ret_all)
{
	size_t n = 0;

	*ret_all = 0;
	for (size_t i = 0; i < found->file_n; i++) {
		const struct probe_plan *p = found->files[i].plan;

		*ret_all = p->finding_n;
		for (size_t k = 0; k < p->finding_n; k++)
			n += p->findings[k] == PROBE_FOUND;
	}
	return n;
}

/* No profile was named: which would find something? */
static int suggestions_print(const struct probes_config *c, char **ret_why)
{
	size_t n, some = 0;
	const struct probe_builtin *v = probe_builtins(&n);

	for (size_t i = 0; i < n; i++) {
		_cleanup_(probe_set_freep) struct probe_set *set = NULL;
		_cleanup_(probes_found_done) struct probes_found found = {0};
		size_t all, there;
		int r = probe_set_new(&set);

		if (r == 0)
			r = probe_set_add(set, v[i].name, ret_why);
		if (r == 0)
			r = target_find(c, set, &found, ret_why);
		if (r < 0)
			return r;
		there = definitions_found(&found, &all);
		if (there && ++some)
			printf("--probes %-10s  finds %zu of its %zu choke points here\n", v[i].name, there, all);
	}
	if (!some)
		printf("none of the built-in profiles finds anything here; -e and --probes FILE name functions of your "
		       "own\n");
	return 0;
}

static int target_show(const struct probes_config *c, char **ret_why)
{
	_cleanup_(probes_found_done) struct probes_found found = {0};
	int r;

	if (!c->asked && !c->json)
		return suggestions_print(c, ret_why);
	r = target_find(c, c->set, &found, ret_why);
	if (r < 0)
		return r;
	if (c->json)
		return probes_print_json(stdout, c->target, &found);
	probes_print(stdout, &found, options_color_for(&c->all, STDOUT_FILENO));
	return 0;
}

static int run(const struct probes_config *c, char **ret_why)
{
	if (c->target)
		return target_show(c, ret_why);
	if (c->asked)
		return options_refuse(ret_why, "-p is missing: the process or file to look at");
	if (c->json)
		return builtins_json();
	builtins_print(options_color_for(&c->all, STDOUT_FILENO));
	return 0;
}

int cmd_probes(int argc, char **argv)
{
	_cleanup_(probes_config_done) struct probes_config c = {0};
	_cleanup_(freep) char *why = NULL;
	int status, rest, r = probe_set_new(&c.set);

	if (r == 0)
		r = options_parse(options_probes_rows, &c, argc, argv, &rest, &why);
	if (r == 0 && rest < argc)
		r = options_refuse(&why, "%s: probes takes no operand; the target is given with -p", argv[rest]);
	if (verb_settle("probes", r, why, &c.all, EXIT_USAGE, &status))
		return status;
	r = run(&c, &why);
	if (r < 0) {
		log_error("%s", why ? why : strerror(-r));
		return r == -EINVAL ? EXIT_USAGE : EXIT_FAILURE;
	}
	return 0;
}
