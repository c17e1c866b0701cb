// SPDX-License-Identifier: (LGPL-2.1 OR BSD-2-Clause)
/* One place, so that no verb forgets -V, or words a refusal in its own way. */
#include <stdio.h>
#include <string.h>

#include "cmd/cmd.h"
#include "cmd/verb.h"
#include "util/log.h"

void verb_refuse(const char *verb, const char *why)
{
	log_error("%s ('wcbpf help %s' lists the options)", why, verb);
}

bool verb_settle(const char *verb, int err, const char *why, const struct options_all *all, int refused, int *ret_status)
{
	if (err < 0) {
		verb_refuse(verb, why ? why : strerror(-err));
		*ret_status = refused;
		return true;
	}
	*ret_status = 0;
	if (all->help) {
		help_print_subcommand(stdout, cmd_subcommand_find(verb));
		return true;
	}
	if (all->version) {
		puts("wcbpf " WCBPF_VERSION);
		return true;
	}
	options_all_apply(all);
	return false;
}
