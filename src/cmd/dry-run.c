/* SPDX-License-Identifier: (LGPL-2.1 OR BSD-2-Clause) */
/* --dry-run of record and attach: the same text as `wcbpf probes`, of what would be recorded. */
#include "cmd/dry-run.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "cmd/cmd.h"
#include "cmd/command-files.h"
#include "cmd/launch.h"
#include "cmd/probes.h"
#include "util/cleanup.h"
#include "util/log.h"

static int process_show(const struct capture_config *c, uint32_t pid, char **ret_why)
{
	_cleanup_(probes_found_done) struct probes_found found = {0};
	int r = probes_find_process(c->probes, pid, &found, ret_why);

	if (r == 0)
		probes_print(stdout, &found, options_color_for(&c->all, 1));
	return r;
}

static int command_show(const struct capture_config *c, const char *command, char **ret_why)
{
	_cleanup_(probes_found_done) struct probes_found found = {0};
	_cleanup_(command_files_done) struct command_files files = {0};
	_cleanup_(freep) char *program = NULL;
	int r = launch_find(command, &program);

	if (r < 0)
		return options_refuse(ret_why, "can't run %s: %s", command, strerror(-r));
	r = command_files_find(program, &files);
	if (r == 0)
		r = probes_find_files(c->probes, (const char *const *)files.v, files.n, &found, ret_why);
	if (r == 0)
		probes_print(stdout, &found, options_color_for(&c->all, 1));
	return r;
}

int dry_run(const struct capture_config *c, const struct target *target, char *const *command)
{
	_cleanup_(freep) char *why = NULL;
	int r = 0;

	if (!c->probes) {
		log_error("--dry-run: nothing would be probed: there is no --probes and no -e");
		return EXIT_OWN_FAILURE;
	}
	if (target && target->scope != CAPTURE_PIDS) {
		log_error("--dry-run: of processes (-p) and commands only");
		return EXIT_OWN_FAILURE;
	}
	for (size_t i = 0; target && i < target->id_n && r == 0; i++)
		r = process_show(c, target->ids[i], &why);
	if (!target)
		r = command_show(c, command[0], &why);
	if (r < 0) {
		log_error("%s", why ? why : strerror(-r));
		return EXIT_OWN_FAILURE;
	}
	return 0;
}
