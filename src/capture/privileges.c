/* SPDX-License-Identifier: (LGPL-2.1 OR BSD-2-Clause) */
/* Which of the needed capabilities this process lacks, by name. */
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "capture/privileges.h"
#include "util/cleanup.h"

static const struct {
	int bit;
	const char *name;
	const char *for_what;
} needed[] = {
	{ 39, "CAP_BPF", "loading BPF programs and maps" },
	{ 38, "CAP_PERFMON", "attaching to tracepoints and reading mapping records" },
	{ 19, "CAP_SYS_PTRACE", "reading other processes' maps, files and memory" },
};
#define CAP_SYS_ADMIN_BIT 21 /* includes CAP_BPF and CAP_PERFMON */

/* Effective capabilities; 0 when they can't be read. */
static uint64_t effective(void)
{
	_cleanup_(fclosep) FILE *f = fopen("/proc/self/status", "re");
	char line[256];
	unsigned long long caps = 0;

	while (f && fgets(line, sizeof(line), f))
		if (sscanf(line, "CapEff: %llx", &caps) == 1)
			break;
	return caps;
}

/* Capabilities of a user namespace of one's own are none for BPF. */
static bool in_initial_user_namespace(void)
{
	_cleanup_(fclosep) FILE *f = fopen("/proc/self/uid_map", "re");
	unsigned long long inside, outside, n;

	if (!f || fscanf(f, "%llu %llu %llu", &inside, &outside, &n) != 3)
		return true; /* no user namespaces in this kernel */
	return !inside && !outside && n == UINT32_MAX;
}

bool privilege_check(size_t i, const char **ret_name, const char **ret_for_what, bool *ret_held)
{
	uint64_t caps = in_initial_user_namespace() ? effective() : 0;
	bool admin = caps >> CAP_SYS_ADMIN_BIT & 1;

	if (i >= sizeof(needed) / sizeof(needed[0]))
		return false;
	*ret_name = needed[i].name;
	*ret_for_what = needed[i].for_what;
	*ret_held = caps >> needed[i].bit & 1 || (admin && needed[i].bit >= 38);
	return true;
}

size_t privileges_missing(char *ret, size_t n)
{
	const char *name, *what;
	size_t count = 0, at = 0;
	bool held;

	ret[0] = 0;
	for (size_t i = 0; privilege_check(i, &name, &what, &held); i++) {
		if (held)
			continue;
		at += snprintf(ret + at, at < n ? n - at : 0, "%s%s (%s)", count ? ", " : "", name, what);
		count++;
	}
	return count;
}
