/* SPDX-License-Identifier: (LGPL-2.1 OR BSD-2-Clause) */
/* Debug files from a debuginfod of our own, which says in its log what it was asked for. */
#include <arpa/inet.h>
#include <criterion/criterion.h>
#include <fcntl.h>
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "../objfile/build.h"
#include "sym/sym.h"
#include "util/cleanup.h"

DEFINE_CLEANUP(struct sym *, sym_free)

#define ID "00112233445566778899aabbccddeeff00112233"
#define UNKNOWN "ff112233445566778899aabbccddeeff00112233"
#define RECORDED "/srv/app/bin/prog" /* where it was; not here */

static const char source[] =
	"extern int getppid(void);\n"
	"static inline __attribute__((always_inline)) int deep(int x)\n{\n\treturn getppid()*x;\n}\n"
	"static __attribute__((noinline,noclone)) int hid(int x)\n{\n\treturn deep(x)+\n\t\tdeep(x+1);\n}\n"
	"int main(int c,char**v){ return hid(c)+hid(c+1)==77; }\n";

static pid_t server;
static uint64_t hid; /* address of the function */

/* A socket on a port of 127.0.0.1 that was free, which is told. */
static int socket_new(unsigned *ret_port)
{
	struct sockaddr_in a = { .sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	socklen_t n = sizeof(a);

	cr_assert(fd >= 0 && !bind(fd, (struct sockaddr *)&a, n) && !getsockname(fd, (struct sockaddr *)&a, &n));
	*ret_port = ntohs(a.sin_port);
	return fd;
}

static void ask_at(unsigned port)
{
	char url[64];

	snprintf(url, sizeof(url), "http://127.0.0.1:%u", port);
	setenv("DEBUGINFOD_URLS", url, 1);
}

/* How many lines of the server's log have these words. */
static unsigned logged(const char *words)
{
	_cleanup_(freep) char *n = build_output("grep -cs '%s' %s || true", words, build_path("log"));

	return (unsigned)strtoul(n, NULL, 10);
}

static void server_start(void)
{
	static const char *const environment[] = { "HOME=/nonexistent", "PATH=/usr/bin:/bin", NULL };
	char port_text[16];
	unsigned port;
	int fd = socket_new(&port);

	close(fd);
	snprintf(port_text, sizeof(port_text), "%u", port);
	server = fork();
	cr_assert_geq(server, 0);
	if (!server) {
		int out = open(build_path("log"), O_WRONLY | O_CREAT | O_APPEND, 0600);

		dup2(out, 1);
		dup2(out, 2);
		prctl(PR_SET_PDEATHSIG, SIGKILL); /* a test that crashes tidies nothing up */
		execle("/usr/bin/debuginfod", "debuginfod", "-F", "-p", port_text, "-d", build_path("db"), build_path("served"),
		       NULL, environment);
		_exit(127);
	}
	/* When it has looked through the folder it knows the file; it counts what it knows when told to tidy up. */
	for (int i = 0; !logged("files scanned (#) 1"); i++) {
		cr_assert_lt(i, 300, "debuginfod isn't ready after a minute");
		if (logged("traversed source paths"))
			kill(server, SIGUSR2);
		usleep(200000);
	}
	ask_at(port);
}

/* prog with a debug file that only the server has; stripped is without. */
static void begin(void)
{
	_cleanup_(freep) char *nm = NULL;

	build_begin();
	build_compile("prog", "-g -O2 -Wl,--build-id=0x" ID, source);
	build_run("cd %s && mkdir served && objcopy --only-keep-debug prog served/prog.debug && strip -s -o stripped prog",
		  build_path(""));
	nm = build_output("nm %s | grep ' hid$'", build_path("prog"));
	hid = strtoull(nm, NULL, 16);
	setenv("DEBUGINFOD_CACHE_PATH", build_path("cache"), 1);
	setenv("HOME", build_path(""), 1);
	if (access("/usr/bin/debuginfod", X_OK))
		cr_skip_test("there is no debuginfod: not tested at all (install debuginfod, libdebuginfod1)");
	server_start();
}

static void end(void)
{
	if (server > 0) {
		kill(server, SIGTERM);
		waitpid(server, NULL, 0);
	}
	build_end();
}

TestSuite(fetch, .init = begin, .fini = end);

static struct sym *open_fetching(void)
{
	struct sym *s = NULL;

	cr_assert_eq(sym_open_later(NULL, 0, &s), 0);
	cr_assert_eq(sym_fetch(s), 0);
	return s;
}

/* The names at an address in hid() are those that addr2line finds in the program, inlined ones too. */
static void check_named(struct sym *s, const char *path)
{
	size_t deepest = 0;

	for (uint64_t vaddr = hid; vaddr < hid + 24; vaddr++) {
		_cleanup_(freep) char *want = build_output("addr2line -i -f -e %s %" PRIx64, build_path("prog"), vaddr);
		struct sym_frame f[SYM_FRAMES_MAX];
		size_t n = sym_stored(s, path, ID, vaddr, false, f, SYM_FRAMES_MAX);
		char *save = NULL, *at = want;

		cr_assert_gt(n, 0);
		for (size_t i = 0; i < n; i++, at = NULL) {
			char *name = strtok_r(at, "\n", &save), *place = strtok_r(NULL, "\n", &save);

			cr_assert_str_eq(f[i].name, name);
			cr_assert_eq(f[i].line, strtoul(strrchr(place, ':') + 1, NULL, 10));
		}
		deepest = n > deepest ? n : deepest;
	}
	cr_assert_eq(deepest, 2);
}

/* There are that many notes, the last with these words. */
static void check_note(struct sym *s, size_t want_n, const char *words)
{
	const char *const *notes;
	size_t n = sym_notes(s, &notes);

	cr_assert_eq(n, want_n, "%zu notes, the first: %s", n, n ? notes[0] : "");
	cr_assert(strstr(notes[n - 1], words), "%s", notes[n - 1]);
}

Test(fetch, only_on_request)
{
	_cleanup_(sym_freep) struct sym *s = NULL;
	struct sym_frame f;

	cr_assert_eq(sym_open_later(NULL, 0, &s), 0);
	cr_assert_eq(sym_stored(s, RECORDED, ID, hid, false, &f, 1), 0);
	sym_stored(s, build_path("stripped"), ID, hid, false, &f, 1); /* it has .eh_frame, so maybe a "main~" */
	cr_assert_eq(logged("GET "), 0);
}

/* There is nothing of it on this machine; it is asked for once. */
Test(fetch, program_not_here)
{
	_cleanup_(sym_freep) struct sym *s = open_fetching();

	check_named(s, RECORDED);
	check_named(s, "/another/path");
	cr_assert_eq(logged("GET /buildid/" ID "/debuginfo 200"), 1);
	cr_assert_eq(logged("GET "), 1);
}

Test(fetch, program_without_its_debug_file)
{
	_cleanup_(sym_freep) struct sym *s = open_fetching();

	check_named(s, build_path("stripped"));
	cr_assert_eq(logged("GET /buildid/" ID "/debuginfo 200"), 1);
}

/* What is here is not asked for. */
Test(fetch, debug_file_is_here)
{
	_cleanup_(sym_freep) struct sym *s = NULL;
	const char *dir = build_path("served");

	cr_assert_eq(sym_open_later(&dir, 1, &s), 0);
	cr_assert_eq(sym_fetch(s), 0);
	check_named(s, RECORDED);
	check_named(s, build_path("prog"));
	cr_assert_eq(logged("GET "), 0);
}

Test(fetch, not_on_the_server)
{
	_cleanup_(sym_freep) struct sym *s = open_fetching();
	struct sym_frame f;

	for (int i = 0; i < 3; i++)
		cr_assert_eq(sym_stored(s, i < 2 ? RECORDED : "/another", UNKNOWN, hid + (unsigned)i, false, &f, 1), 0);
	check_note(s, 1, "no server has the debug file of build id " UNKNOWN " (" RECORDED ")");
	cr_assert_eq(logged("GET "), 1);
	check_named(s, RECORDED);
}

/* What came is of another build, for a program that is here and for one that isn't. */
Test(fetch, another_build)
{
	_cleanup_(sym_freep) struct sym *s = open_fetching();
	struct sym_frame f;

	build_run("mkdir -p %s/" UNKNOWN " && cp %s %s/" UNKNOWN "/debuginfo", build_path("cache"),
		  build_path("served/prog.debug"), build_path("cache"));
	cr_assert_eq(sym_stored(s, RECORDED, UNKNOWN, hid, false, &f, 1), 0);
	check_note(s, 1, "has another build id: not used");
	build_run("strip -s %s", build_compile("other", "-O2 -Wl,--build-id=0x" UNKNOWN, source));
	if (sym_stored(s, build_path("other"), UNKNOWN, hid, false, &f, 1)) /* by its callers */
		cr_assert(strchr(f.name, '~') && !f.line, "%s", f.name);
	check_note(s, 2, "debug file "); /* told by who looked for it */
}

/* A recording can say anything: that is no part of a path or a URL. */
Test(fetch, what_is_no_build_id)
{
	static const char *const ids[] = { "", "0", "001", "00/../../../x", "../../../../etc/passwd", "001122334455667788AABB",
					   "00112233?x=00", "00 11 22 33" };
	_cleanup_(sym_freep) struct sym *s = open_fetching();
	const char *const *notes;
	struct sym_frame f;

	for (size_t i = 0; i < sizeof(ids) / sizeof(*ids); i++)
		cr_assert_eq(sym_stored(s, RECORDED, ids[i], hid, false, &f, 1), 0, "%s", ids[i]);
	cr_assert_eq(logged("GET "), 0);
	cr_assert_eq(sym_notes(s, &notes), 0);
}

Test(fetch, nobody_listens)
{
	_cleanup_(sym_freep) struct sym *s = open_fetching();
	struct sym_frame f;
	unsigned port;
	int fd = socket_new(&port);

	ask_at(port);
	cr_assert_eq(sym_stored(s, RECORDED, ID, hid, false, &f, 1), 0);
	check_note(s, 1, "(" RECORDED ") can't be fetched: Connection refused");
	close(fd);
}

/* It takes connections and says nothing. Twice is enough. */
Test(fetch, silent_server)
{
	_cleanup_(sym_freep) struct sym *s = open_fetching();
	const char *const *notes;
	struct sym_frame f;
	unsigned port;
	int fd = socket_new(&port);
	time_t begin_s = time(NULL);

	cr_assert_eq(listen(fd, 8), 0);
	ask_at(port);
	cr_assert_eq(sym_stored(s, RECORDED, ID, hid, false, &f, 1), 0);
	check_note(s, 1, "no answer in time for build id " ID " (" RECORDED ")");
	cr_assert_eq(sym_stored(s, RECORDED, UNKNOWN, hid, false, &f, 1), 0);
	check_note(s, 2, "nothing more is asked for");
	cr_assert_eq(sym_stored(s, "/third", "aabbccdd", hid, false, &f, 1), 0);
	cr_assert_eq(sym_notes(s, &notes), 2);
	/* 2 * 15 s; some more on a busy machine, never the 90 s of each that libdebuginfod would take. */
	cr_assert(time(NULL) - begin_s >= 28 && time(NULL) - begin_s < 80, "%ld s", (long)(time(NULL) - begin_s));
	close(fd);
}
