/* SPDX-License-Identifier: (LGPL-2.1 OR BSD-2-Clause) */
#pragma once
/* Small programs and libraries, compiled when a test runs, in a folder of their own that goes with the test. */
#include <stddef.h>

/* Before the others; and as the test's last step. */
void build_begin(void);
void build_end(void);
/* A path in the folder. Valid until the 16th call from here. */
const char *build_path(const char *name);
/* "gcc ARGS -o FOLDER/NAME" on source (language c, or c++ if args say -xc++). The path; fails the test on an error. */
const char *build_compile(const char *name, const char *args, const char *source);
/* Runs a command line; fails the test unless it succeeds. */
void build_run(const char *format, ...) __attribute__((format(printf, 1, 2)));
/* The output of a command line, malloc'd. */
char *build_output(const char *format, ...) __attribute__((format(printf, 1, 2)));
/* A file's bytes, malloc'd. */
unsigned char *build_read(const char *path, size_t *ret_n);
