/* SPDX-License-Identifier: (LGPL-2.1 OR BSD-2-Clause) */
/* Prints what capture/ finds out; knows nothing of kernels itself. */
#include <errno.h>
#include <string.h>

#include "cmd/answer-json.h"
#include "cmd/cmd.h"
#include "cmd/options.h"
#include "cmd/target.h"
#include "cmd/verb.h"
#include "util/cleanup.h"
#include "util/json.h"
#include "util/log.h"
#include "util/parse.h"


struct doctor_config {
	struct options_all all;
	uint32_t pid; /* 0: none */
	bool json;
};

static int set_pid(void *config, const char *value, char **ret_why)
{
	uint32_t pid;

	if (parse_u32(value, &pid) < 0 || pid == 0 || pid > INT32_MAX)
		return options_refuse(ret_why, "-p %s: not a process id", value);
	((struct doctor_config *)config)->pid = pid;
	return 0;
}

static int set_json(void *config, const char *value, char **ret_why)
{
	(void)value, (void)ret_why;
	((struct doctor_config *)config)->json = true;
	return 0;
}

const struct option_row options_doctor_rows[] = {
	{'p', NULL, "PID", NULL, "check also what can be seen of this process", set_pid},
	{0, "json", NULL, NULL, "print JSON", set_json},
	OPTIONS_ALL_ROWS,
};

static const char *const state_words[] = {
	[CHECK_OK] = "ok", [CHECK_DEGRADED] = "degraded", [CHECK_MISSING] = "missing"};
static const char *const state_colors[] = {
	[CHECK_OK] = "\033[32m", [CHECK_DEGRADED] = "\033[33m", [CHECK_MISSING] = "\033[31m"};

static size_t state_count(const struct capture_check *checks, size_t n, enum capture_check_state state)
{
	size_t count = 0;

	for (size_t i = 0; i < n; i++)
		count += checks[i].state == state;
	return count;
}

static void text_print(const struct capture_check *checks, size_t n, bool color)
{
	size_t missing = state_count(checks, n, CHECK_MISSING), degraded = state_count(checks, n, CHECK_DEGRADED);
	int width = 0;

	for (size_t i = 0; i < n; i++)
		if ((int)strlen(checks[i].what) > width)
			width = (int)strlen(checks[i].what);
	for (size_t i = 0; i < n; i++)
		printf("%s%-8s%s  %-*s  %s\n", color ? state_colors[checks[i].state] : "", state_words[checks[i].state],
		       color ? "\033[0m" : "", width, checks[i].what, checks[i].detail);
	if (missing)
		printf("\nwcbpf can't record here as this user: %zu missing\n", missing);
	else if (degraded)
		printf("\nwcbpf can record here; %zu degraded\n", degraded);
	else
		printf("\nwcbpf can record here\n");
}

static int json_print(const struct capture_check *checks, size_t n, uint32_t pid)
{
	_cleanup_(json_freep) struct json *j = NULL;
	int r = answer_json_begin(stdout, "wcbpf_doctor", &j);

	if (r < 0)
		return r;
	json_kv_string(j, "version", WCBPF_VERSION);
	if (pid)
		json_kv_uint(j, "pid", pid);
	json_kv_bool(j, "usable", state_count(checks, n, CHECK_MISSING) == 0);
	json_key(j, "checks");
	json_begin_array(j);
	for (size_t i = 0; i < n; i++) {
		json_begin_object(j);
		json_kv_string(j, "what", checks[i].what);
		json_kv_string(j, "state", state_words[checks[i].state]);
		json_kv_string(j, "detail", checks[i].detail);
		json_end_object(j);
	}
	json_end_array(j);
	return answer_json_end(j);
}

/* -p: the same questions as attach asks. False: told why not. */
static bool pid_check(struct doctor_config *c)
{
	_cleanup_(target_done) struct target t = {0};
	_cleanup_(freep) char *why = NULL;
	struct capture_config capture = {.scope = CAPTURE_PIDS, .ids = &c->pid, .id_n = 1};
	int r = target_check(&capture, (uint32_t)getpid(), &t, &why);

	if (r < 0) {
		log_error("%s", why ? why : strerror(-r));
		return false;
	}
	for (size_t i = 0; i < t.note_n; i++)
		log_warning("%s", t.notes[i]);
	c->pid = t.ids[0];
	return true;
}

int cmd_doctor(int argc, char **argv)
{
	struct doctor_config c = {0};
	_cleanup_(freep) char *why = NULL;
	_cleanup_(freep) struct capture_check *checks = NULL;
	size_t n;
	int status, rest, r = options_parse(options_doctor_rows, &c, argc, argv, &rest, &why);

	if (r == 0 && rest < argc)
		r = options_refuse(&why, "%s: doctor takes no operand", argv[rest]);
	if (verb_settle("doctor", r, why, &c.all, EXIT_USAGE, &status))
		return status;
	if (c.pid && !pid_check(&c))
		return EXIT_USAGE;
	r = capture_doctor(c.pid, &checks, &n);
	if (r == 0 && c.json)
		r = json_print(checks, n, c.pid);
	else if (r == 0)
		text_print(checks, n, options_color_for(&c.all, STDOUT_FILENO));
	if (r < 0) {
		log_error("the host could not be checked: %s", strerror(-r));
		return EXIT_FAILURE;
	}
	return 0;
}
