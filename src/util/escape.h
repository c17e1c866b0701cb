/* SPDX-License-Identifier: (LGPL-2.1 OR BSD-2-Clause) */
#pragma once
/* Names made safe for line formats, by the rules in wcbpf-output(5), ESCAPES, and for XML. */
#include "util/text.h"

/* Appends a thread's name. An empty name becomes "[unnamed]". */
void escape_name(struct text *t, const char *name);
/*
 * Appends a function's or file's name: by the same rules, and so that it can
 * neither be taken for a word of our own in brackets, nor for a line of map
 * text, nor end in what reads as a value.
 */
void escape_frame(struct text *t, const char *name);
/* One diagnostic as one line: only what would break the line is escaped. */
void escape_line(struct text *t, const char *line);
/* Bytes that are not UTF-8 become U+FFFD; all else stays. */
void escape_utf8(struct text *t, const char *s);
/* As text of an element or an attribute's value in XML 1.0 and HTML; characters that XML lacks are escaped as \xHH. */
void escape_xml(struct text *t, const char *s);
