/* SPDX-License-Identifier: (LGPL-2.1 OR BSD-2-Clause) */
#include "build.h"

#include <criterion/criterion.h>
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "util/cleanup.h"

static char folder[] = "/tmp/wcbpf-build-XXXXXX";

void build_begin(void)
{
	/* What the tests run need not be checked for leaks, and under a sanitizer's preload can't. */
	setenv("ASAN_OPTIONS", "detect_leaks=0", 1);
	cr_assert_not_null(mkdtemp(folder));
}

void build_end(void)
{
	build_run("rm -rf %s", folder);
}

const char *build_path(const char *name)
{
	static char paths[16][256];
	static unsigned int next;
	char *path = paths[next++ % 16];

	snprintf(path, sizeof(paths[0]), "%s/%s", folder, name);
	return path;
}

void build_run(const char *format, ...)
{
	_cleanup_(freep) char *command = NULL;
	va_list args;

	va_start(args, format);
	cr_assert_geq(vasprintf(&command, format, args), 0);
	va_end(args);
	cr_assert_eq(system(command), 0, "%s", command);
}

const char *build_compile(const char *name, const char *args, const char *source)
{
	const char *path = build_path(name), *text = build_path("source");
	FILE *f = fopen(text, "we");

	cr_assert_not_null(f);
	fputs(source, f);
	fclose(f);
	build_run("gcc %s -o %s -w %s %s", strstr(args, "-x") ? "" : "-xc", path, args, text);
	return path;
}

char *build_output(const char *format, ...)
{
	_cleanup_(freep) char *command = NULL;
	char *text = NULL;
	size_t n = 0, got;
	va_list args;
	FILE *f;

	va_start(args, format);
	cr_assert_geq(vasprintf(&command, format, args), 0);
	va_end(args);
	f = popen(command, "re");
	cr_assert_not_null(f);
	do {
		text = realloc(text, n + 65537);
		got = fread(text + n, 1, 65536, f);
		n += got;
	} while (got);
	text[n] = '\0';
	cr_assert_eq(pclose(f), 0, "%s", command);
	return text;
}

unsigned char *build_read(const char *path, size_t *ret_n)
{
	_cleanup_(fclosep) FILE *f = fopen(path, "re");
	unsigned char *bytes = NULL;
	size_t n = 0, got;

	cr_assert_not_null(f, "%s", path);
	do {
		bytes = realloc(bytes, n + 65536);
		got = fread(bytes + n, 1, 65536, f);
		n += got;
	} while (got);
	*ret_n = n;
	return bytes;
}
