/* SPDX-License-Identifier: (LGPL-2.1 OR BSD-2-Clause) */
#pragma once
/* Under which op each op hangs. Private to analyze/. */
#include "model/model.h"

/*
 * By op: its parent or, where it has none, the op that hosts its client (a nested_client link: a child process, a
 * client of the engine); 0: a root. Whatever a dump says, no op is below itself. ret is malloc'd, op_n entries. 0,
 * -ENOMEM.
 */
int parents_make(const struct model *m, uint32_t **ret);
