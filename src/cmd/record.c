/* SPDX-License-Identifier: (LGPL-2.1 OR BSD-2-Clause) */
/*
 * Everything that can be wrong with a command line is found here, in the order
 * of cost: options, target, program, user. Then the workload is forked, before
 * the session opens a file or changes a signal.
 */
#include "cmd/record.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "cmd/cmd.h"
#include "cmd/dry-run.h"
#include "cmd/launch.h"
#include "cmd/options.h"
#include "cmd/session.h"
#include "cmd/target.h"
#include "cmd/verb.h"
#include "cmd/wording.h"
#include "objfile/objfile.h"
#include "util/log.h"

/* The first fault of what was asked for as a whole, or NULL. */
static const char *request_fault(const struct capture_config *c, bool attach, bool command, bool dashes)
{
	if (attach && command && !dashes)
		return "attach takes its target with -p, -t, -G or -a; a command that ends it comes after '--'";
	if (attach && !c->has_scope)
		return "attach to what? -p PID, -t TID, -G CGROUP or -a";
	if (!c->has_scope && !command)
		return "record what? a command: wcbpf record -- CMD ARGS, or -p, -t, -G, -a";
	if (c->user && !command)
		return "--user is for the command that is run, and there is none";
	if (c->has_sample_hz && c->mode != OUTPUT_WALL)
		return "-F is for mode wall: modes time and stacks take no samples";
	if (c->only && !c->probes)
		return "--only is for ops of choke points: there is no --probes and no -e";
	if (c->starts_off && !c->listen)
		return "--start-off is for --listen: nobody could switch recording on";
	return NULL;
}

/* What the recording's files say of how it was asked for: a record's own command has its own place. */
static char *options_text(char **argv, int rest, bool attach, bool keep_args)
{
	if (attach && keep_args)
		return wording_command((const char *const *)argv + 1);
	_cleanup_(freep) const char **words = calloc((size_t)rest + 1, sizeof(*words));
	size_t n = 0;

	if (!words)
		return NULL;
	for (int i = 1; i < rest; i++)
		if (i < rest - 1 || strcmp(argv[i], "--") != 0)
			words[n++] = argv[i];
	return wording_command(words);
}

static int program_refuse(const char *program, int r)
{
	if (r == -ENOENT)
		log_error("can't run %s: %s", program,
			  strchr(program, '/') ? strerror(ENOENT) : "not found in PATH");
	else
		log_error("can't run %s: %s", program, strerror(-r));
	return r == -ENOENT ? EXIT_NOT_FOUND : EXIT_CANNOT_RUN;
}

/* Exit code, or 0: *ret and *user are set. */
static int workload_prepare(const struct capture_config *c, char *const *command, struct launch_user *user,
			    struct launch **ret)
{
	int r = launch_find(command[0], NULL);

	if (r < 0)
		return program_refuse(command[0], r);
	if (c->user) {
		r = launch_user_find(c->user, user);
		if (r < 0) {
			log_error("--user %s: %s", c->user, r == -ENOENT ? "no such user" : strerror(-r));
			return EXIT_OWN_FAILURE;
		}
	}
	r = launch_new(command, c->user ? user : NULL, ret);
	if (r < 0) {
		log_error("can't start a process for %s: %s", command[0], strerror(-r));
		return EXIT_OWN_FAILURE;
	}
	return 0;
}

static int target_prepare(const struct capture_config *c, struct target *ret)
{
	_cleanup_(freep) char *why = NULL;
	int r = target_check(c, (uint32_t)getpid(), ret, &why);

	if (r < 0) {
		log_error("%s", why ? why : strerror(-r));
		return EXIT_OWN_FAILURE;
	}
	for (size_t i = 0; i < ret->note_n; i++)
		log_warning("%s", ret->notes[i]);
	return 0;
}

DEFINE_CLEANUP(struct objfile *, objfile_free)
DEFINE_CLEANUP(struct objfile_go *, objfile_go_free)

static bool is_go(const char *path)
{
	_cleanup_(objfile_freep) struct objfile *o = NULL;
	_cleanup_(objfile_go_freep) struct objfile_go *go = NULL;

	return objfile_open_path(-1, path, &o) == 0 && objfile_go_open(o, &go) == 0;
}

/* Threads of a Go program say little: where they wait, goroutines don't. */
static void go_hint(const struct capture_config *c, const struct target *target, char *const *command)
{
	_cleanup_(freep) char *program = NULL;
	char pid[16] = "", path[64] = "";

	if (c->probes || log_level() < LOG_WARNING)
		return;
	if (command && launch_find(command[0], &program) < 0)
		return;
	if (!command && target && target->id_n) {
		snprintf(pid, sizeof(pid), "%" PRIu32, target->ids[0]);
		snprintf(path, sizeof(path), "/proc/%s/exe", pid);
	}
	if (is_go(program ? program : path))
		log_warning("%s%s is a Go program: what its goroutines wait for is seen with --probes go",
			    command ? "" : "pid ", command ? command[0] : pid);
}

/* command: ends with NULL; NULL: none. */
static int request_run(const struct capture_config *c, char *const *command, const char *text, bool attach)
{
	_cleanup_(target_done) struct target target = {0};
	_cleanup_(launch_user_done) struct launch_user user = {0};
	_cleanup_(launch_freep) struct launch *launch = NULL;
	int r = c->has_scope ? target_prepare(c, &target) : 0;

	if (r)
		return r;
	if (c->dry_run)
		return dry_run(c, c->has_scope ? &target : NULL, command);
	if (command) {
		r = workload_prepare(c, command, &user, &launch);
		if (r)
			return r;
	}
	if (c->call_graph_dwarf)
		log_warning("--call-graph dwarf: taken as ehframe, stacks are walked by .eh_frame and not copied (copy does that)");
	go_hint(c, c->has_scope ? &target : NULL, command);
	if (c->keep_args)
		log_info("the arguments of programs are stored in the dump (--no-args leaves them out)");
	return session_run(&(struct session_options){
		.config = c,
		.target = c->has_scope ? &target : NULL,
		.launch = launch,
		.command = command,
		.options_text = text,
		.attach = attach,
	});
}

int record_run(int argc, char **argv, bool attach)
{
	_cleanup_(capture_config_done) struct capture_config c;
	_cleanup_(freep) char *why = NULL;
	const char *verb = attach ? "attach" : "record";
	int status, rest;

	capture_config_init(&c);
	int r = options_parse(options_capture_rows, &c, argc, argv, &rest, &why);
	if (verb_settle(verb, r, why, &c.all, EXIT_OWN_FAILURE, &status))
		return status;
	if (c.listen && !c.has_checkpoint)
		c.checkpoint_ns = OPTIONS_CHECKPOINT_DEFAULT_NS;
	bool command = rest < argc;
	const char *fault = request_fault(&c, attach, command, rest > 1 && strcmp(argv[rest - 1], "--") == 0);
	_cleanup_(freep) char *text = options_text(argv, rest, attach, c.keep_args);
	if (!fault && !text)
		fault = strerror(ENOMEM);
	if (fault) {
		verb_refuse(verb, fault);
		return EXIT_OWN_FAILURE;
	}
	return request_run(&c, command ? argv + rest : NULL, text, attach);
}

int cmd_record(int argc, char **argv)
{
	return record_run(argc, argv, false);
}
