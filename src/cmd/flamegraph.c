/* SPDX-License-Identifier: (LGPL-2.1 OR BSD-2-Clause) */
#include "cmd/cmd.h"
#include "cmd/picture.h"

const struct option_row options_flamegraph_rows[] = {
	{'o', "output", "FILE", NULL, "where to; -: standard output (default: flamegraph.svg)", picture_set_output},
	PICTURE_ROW_VIEW,
	{0, "all", NULL, NULL, "show also waits that are idle by design", picture_set_idle},
	PICTURE_ROWS,
};

int cmd_flamegraph(int argc, char **argv)
{
	struct picture_options o = { .format = &export_flamegraph };

	return picture_run("flamegraph", options_flamegraph_rows, &o, argc, argv);
}
