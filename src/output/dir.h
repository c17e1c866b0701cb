/* SPDX-License-Identifier: (LGPL-2.1 OR BSD-2-Clause) */
#pragma once
/* What the writers need of a recording's folder beyond output.h. */
#include "output/output.h"
#include "util/files.h"

/* The folder itself; owned by d. */
int dir_fd(const struct output_dir *d);
/* Owner and mode of files in it. */
void dir_file_options(const struct output_dir *d, struct files_writer_options *ret);
/* A recording was put aside for what comes, of which nothing has come yet. */
bool dir_replaces_recording(const struct output_dir *d);
/*
 * A recording is about to be written: the folder stays now, also if writing
 * fails, and the recording before the last one is removed.
 */
void dir_keep(struct output_dir *d);
