/* SPDX-License-Identifier: (LGPL-2.1 OR BSD-2-Clause) */
#include "cmd/cmd.h"
#include "cmd/picture.h"

const struct option_row options_timeline_rows[] = {
	{'o', "output", "FILE", NULL, "where to; -: standard output (default: timeline.html)", picture_set_output},
	PICTURE_ROWS,
};

int cmd_timeline(int argc, char **argv)
{
	struct picture_options o = { .format = &export_timeline };

	return picture_run("timeline", options_timeline_rows, &o, argc, argv);
}
