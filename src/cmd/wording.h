/* SPDX-License-Identifier: (LGPL-2.1 OR BSD-2-Clause) */
#pragma once
/* Numbers and command lines as people read them. */
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

struct wording {
	char text[64];
};

/* "3,104" */
struct wording wording_count(uint64_t n);
/* "1 wait", "3,104 waits"; the plural is the word and an s unless given */
struct wording wording_counted(uint64_t n, const char *word, const char *plural);
/* "80.0 s", "1.250 s", "12.3 ms", "2 h 03 m" */
struct wording wording_duration(uint64_t ns);
/* "exit 3", "killed by SIGSEGV (core dumped)" */
struct wording wording_status(int status);
/* The words with blanks between, quoted as a shell needs it. malloc'd; NULL: no memory. argv ends with NULL. */
char *wording_command(const char *const *argv);
/*
 * The text with no line longer than so many columns, where there are blanks to break it at: what follows stands below the
 * text of that line, behind its numbers. Colours take no columns.
 */
void wording_fit(FILE *f, const char *text, unsigned columns);
/* Is the option among those of a recording, as its files have them? */
bool wording_has_option(const char *options, const char *word);
/* By what intervals were left out in a recording with these options; NULL: not known. */
const char *wording_left_out(const char *options);
