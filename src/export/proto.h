/* SPDX-License-Identifier: (LGPL-2.1 OR BSD-2-Clause) */
#pragma once
/* Protocol buffers, written: fields of a message appended to a byte string. Errors stick in it, see util/text.h. */
#include <stddef.h>
#include <stdint.h>

#include "util/text.h"

void proto_varint(struct text *t, uint64_t v); /* bare, as inside packed fields */
void proto_uint(struct text *t, unsigned field, uint64_t v); /* uint32, uint64, bool, enum; int64 too if not negative */
void proto_int(struct text *t, unsigned field, int64_t v);   /* int32, int64: ten bytes if negative */
void proto_fixed64(struct text *t, unsigned field, uint64_t v);
void proto_bytes(struct text *t, unsigned field, const void *bytes, size_t n);
/* As a string field must be: strict UTF-8, what isn't becomes U+FFFD. */
void proto_string(struct text *t, unsigned field, const char *s);

/*
 * A field that is a message, or packed: what is appended until proto_end() is
 * in it. Nest as you like; each begin has its end.
 */
size_t proto_begin(struct text *t, unsigned field);
void proto_end(struct text *t, size_t begin);
