/* SPDX-License-Identifier: (LGPL-2.1 OR BSD-2-Clause) */
/*
 * sudo names the invoking user in the environment. It is believed only when we
 * are root, who may give files to anyone; for others the variables mean nothing.
 */
#include "cmd/owner.h"

#include <stdbool.h>
#include <stdlib.h>
#include <unistd.h>

#include "util/parse.h"

static bool env_id(const char *name, uint32_t *ret)
{
	const char *value = getenv(name);

	/* (uid_t)-1 means "nobody in particular" to chown */
	return value && parse_u32(value, ret) == 0 && *ret != UINT32_MAX;
}

void owner_find(uid_t *ret_uid, gid_t *ret_gid)
{
	uint32_t uid, gid;
	bool sudo = geteuid() == 0 && env_id("SUDO_UID", &uid) && env_id("SUDO_GID", &gid);

	*ret_uid = sudo ? uid : (uid_t)-1;
	*ret_gid = sudo ? gid : (gid_t)-1;
}
