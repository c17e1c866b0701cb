/* SPDX-License-Identifier: (LGPL-2.1 OR BSD-2-Clause) */
/* Names for functions that have none: by the set of those that reach them, and in a library of this process. */
#include <criterion/criterion.h>
#include <dlfcn.h>
#include <link.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "../objfile/build.h"
#include "sym/family.h"
#include "sym/sym.h"
#include "util/cleanup.h"

DEFINE_CLEANUP(struct proc_maps *, proc_maps_free)
DEFINE_CLEANUP(struct sym *, sym_free)

TestSuite(family, .init = build_begin, .fini = build_end);

struct set {
	const char *names[4];
	bool passed;
	const char *want; /* NULL: none */
};

Test(family, of_sets)
{
	static const struct set sets[] = {
		{ { "f" }, false, "f" },
		{ { "f" }, true, NULL },
		{ { "f", "g" }, false, NULL },
		{ { "sem_clockwait", "sem_timedwait", "sem_wait" }, false, "sem_wait" },
		{ { "sem_timedwait", "sem_wait" }, true, "sem_wait" },
		{ { "sem_wait", "semop" }, false, NULL },
		{ { "pthread_clockjoin_np", "pthread_join", "pthread_timedjoin_np", "pthread_tryjoin_np" }, false,
		  "pthread_join" },
		{ { "pthread_cond_timedwait", "pthread_cond_wait", "pthread_mutex_timedlock" }, true,
		  "pthread_mutex_timedlock" },
		{ { "__pthread_mutex_lock", "pthread_cond_wait" }, false, "__pthread_mutex_lock" },
		{ { "pthread_cond_wait", "pthread_cond_timedwait" }, true, "pthread_cond_wait" },
		{ { "pthread_cond_wait", "pthread_join" }, false, NULL },
		{ { "pthread_cond_wait", "pthread_mutex_lock", "sem_wait" }, false, NULL },
		{ { "pthread_mutex_lock", "pthread_rwlock_rdlock" }, false, NULL },
		{ { "pthread_create", "pthread_join" }, false, NULL },
		{ { "pthread_create" }, true, NULL },
		{ { "pthread_rwlock_rdlock", "pthread_rwlock_wrlock" }, false, "pthread_rwlock_rdlock" },
		{ { "call_once", "pthread_once" }, true, "call_once" },
		{ { "read", "sem_wait" }, false, NULL },
	};

	for (size_t i = 0; i < sizeof(sets) / sizeof(sets[0]); i++) {
		struct objfile_reached r = { .passed = sets[i].passed };
		const char *got;

		while (r.n < 4 && sets[i].names[r.n]) {
			r.names[r.n] = sets[i].names[r.n];
			r.n++;
		}
		got = family_name(&r);
		cr_assert((!got && !sets[i].want) || (got && sets[i].want && !strcmp(got, sets[i].want)),
			  "set %zu: %s, not %s", i, got ?: "none", sets[i].want ?: "none");
	}
}

static const char source[] =
	"extern \"C\" int getppid(); extern void *volatile kept;\n"
	"#define HID static __attribute__((noinline,noclone))\n"
	"HID int one(int x){return getppid()+x;} HID int two(int x){return getppid()*x;}\n"
	"HID int cb(int x){return getppid()-x;}\n"
	"namespace ns { int f(int x){return one(x+1)*3+two(x);}\n"
	"struct A{int g(int);}; int A::g(int x){return two(x)+1;} }\n"
	"void *volatile kept; void h(){kept=(void*)cb;}\n";

/* The frame of a static function, by its name in the library before it was stripped. */
static struct sym_frame frame_of(struct sym *sym, const char *nm, const char *function, uint64_t base)
{
	char *at = strstr(nm, function);
	struct sym_frame f;
	uint64_t value;

	cr_assert_not_null(at, "%s", function);
	while (at > nm && at[-1] != '\n')
		at--;
	value = strtoull(at, NULL, 16);
	sym_user(sym, (uint32_t)getpid(), 1, base + value + 5, true, &f, 1);
	cr_assert_eq(f.address, value + 5);
	cr_assert_eq(f.bias, base);
	return f;
}

Test(family, in_a_stripped_library)
{
	const char *path = build_compile("libcalls.so", "-xc++ -shared -fPIC -O1 -Wl,--build-id=sha1", source);
	_cleanup_(freep) char *nm = build_output("nm %s", path);
	_cleanup_(proc_maps_freep) struct proc_maps *maps = NULL;
	_cleanup_(sym_freep) struct sym *sym = NULL;
	struct link_map *link;
	struct sym_frame f;
	void *handle;

	build_run("strip %s", path);
	handle = dlopen(path, RTLD_NOW);
	cr_assert_not_null(handle, "%s", dlerror());
	cr_assert_eq(dlinfo(handle, RTLD_DI_LINKMAP, &link), 0);
	cr_assert_eq(proc_maps_new(&maps), 0);
	cr_assert_eq(sym_new(maps, NULL, &sym), 0);
	cr_assert_eq(proc_maps_snapshot(maps, (uint32_t)getpid(), 0), 0);
	f = frame_of(sym, nm, " _ZL3onei", link->l_addr);
	cr_assert_str_eq(f.name, "ns::f(int)~");
	cr_assert_eq(f.offset, 5);
	cr_assert_null(frame_of(sym, nm, " _ZL3twoi", link->l_addr).name);
	cr_assert_null(frame_of(sym, nm, " _ZL2cbi", link->l_addr).name);
	f = frame_of(sym, nm, " _ZN2ns1fEi", link->l_addr);
	cr_assert_str_eq(f.name, "ns::f(int)");
	/* What is asked again is answered the same. */
	cr_assert_str_eq(frame_of(sym, nm, " _ZL3onei", link->l_addr).name, "ns::f(int)~");
	dlclose(handle);
}
