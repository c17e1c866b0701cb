/* SPDX-License-Identifier: (LGPL-2.1 OR BSD-2-Clause) */
#include "cmd/answer.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "cmd/options.h"
#include "util/log.h"

int answer_begin(const struct answer_question *q, struct report *r, struct report_options *o, const char **ret, char **ret_why)
{
	struct stat st;

	if (!o->input_n)
		return options_refuse(ret_why, "%s", q->missing);
	if (o->input_n == 1 && report_is_input(o->inputs[0]))
		return options_refuse(ret_why, "%s is a recording; %s comes before it: wcbpf %s %s", o->inputs[0], q->what,
				      q->example, o->inputs[0]);
	if (o->input_n == 2 && stat(o->inputs[0], &st) == 0 && stat(o->inputs[1], &st) < 0)
		return options_refuse(ret_why, "%s is a recording; %s comes before it: wcbpf %.*s '%s' %s", o->inputs[0],
				      q->what, (int)strcspn(q->example, " "), q->example, o->inputs[1], o->inputs[0]);
	*ret = o->inputs[0];
	memmove(o->inputs, o->inputs + 1, --o->input_n * sizeof(*o->inputs));
	return report_load(r, o, ret_why);
}

int answer_end(int e, const char *what)
{
	if (e == 0 && (fflush(stdout) != 0 || ferror(stdout)))
		e = errno ? -errno : -EIO;
	if (e == 0 || e == -EPIPE)
		return 0;
	log_error("%s could not be written: %s", what, strerror(-e));
	return EXIT_FAILURE;
}
