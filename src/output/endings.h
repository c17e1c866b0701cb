/* SPDX-License-Identifier: (LGPL-2.1 OR BSD-2-Clause) */
#pragma once
/* How the recording's stacks ended, for the summary and the dump's header. */
#include "model/model.h"
#include "util/json.h"

/* The key "stacks" and its object. 0, -ENOMEM. */
int endings_write(struct json *j, const struct model *m);
