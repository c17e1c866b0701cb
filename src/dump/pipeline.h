/* SPDX-License-Identifier: (LGPL-2.1 OR BSD-2-Clause) */
#pragma once
/* All lines of a dump behind its header, on all CPUs. Private to dump/. */
#include "dump/lines.h"
#include "dump/reader.h"

/* r has read the header. 0, -ENOMEM, -EIO. */
int pipeline_read(struct reader *r, struct lines *lines);
