/* SPDX-License-Identifier: (LGPL-2.1 OR BSD-2-Clause) */
/* The profiles that come with wcbpf can be read, and say what they are and what they were tried on. */
#include <criterion/criterion.h>
#include <string.h>

#include "plans.h"

TestSuite(builtins, .timeout = 60);

Test(builtins, all)
{
	static const char *const names[] = {"buildkit", "dagger", "go",	   "otel",    "postgres",
					    "pthread",	"python", "redis", "rust-std"};
	size_t n;
	const struct probe_builtin *v = probe_builtins(&n);

	cr_assert_eq(n, sizeof(names) / sizeof(*names));
	for (size_t i = 0; i < n; i++) {
		_cleanup_(probe_set_freep) struct probe_set *s = NULL;
		_cleanup_(freep) char *why = NULL;

		cr_expect_str_eq(v[i].name, names[i]);
		cr_expect(v[i].about && *v[i].about && v[i].about[strlen(v[i].about) - 1] != '.', "%s", names[i]);
		cr_expect(v[i].tried && *v[i].tried, "%s", names[i]);
		cr_assert_eq(probe_set_new(&s), 0);
		cr_expect_eq(probe_set_add(s, names[i], &why), 0, "%s", why);
		cr_expect_eq(probe_set_add(s, names[i], &why), 0, "again is no error");
		cr_expect(!probe_set_is_empty(s));
	}
}
