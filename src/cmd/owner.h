/* SPDX-License-Identifier: (LGPL-2.1 OR BSD-2-Clause) */
#pragma once
/* To whom the files belong. */
#include <sys/types.h>

/* Under sudo the invoking user; else -1, -1: whoever wcbpf runs as. */
void owner_find(uid_t *ret_uid, gid_t *ret_gid);
