/* SPDX-License-Identifier: (LGPL-2.1 OR BSD-2-Clause) */
#include <string.h>

#include "cmd/cmd.h"
#include "cmd/picture.h"

static int set_format(void *config, const char *value, char **ret_why)
{
	struct picture_options *o = config;

	o->format = export_format_find(value);
	if (!o->format)
		return options_refuse(ret_why, "-f %s: there are perfetto, firefox, pprof, folded and otlp", value);
	return 0;
}

const struct option_row options_export_rows[] = {
	{'f', "format", "FORMAT", "perfetto|firefox|pprof|folded|otlp", "what to write", set_format},
	{'o', "output", "FILE", NULL, "where to; -: standard output (default: the format's name)", picture_set_output},
	PICTURE_ROW_VIEW,
	PICTURE_ROWS,
};

int cmd_export(int argc, char **argv)
{
	/* Programs that read it have filters of their own: they get all of it. */
	struct picture_options o = { .idle_too = true };

	return picture_run("export", options_export_rows, &o, argc, argv);
}
