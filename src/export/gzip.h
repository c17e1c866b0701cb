/* SPDX-License-Identifier: (LGPL-2.1 OR BSD-2-Clause) */
#pragma once
/* A sink that compresses into another one. Private to export/. */
#include "util/cleanup.h"
#include "util/json.h"

struct gzip;

int gzip_new(json_sink sink, void *arg, struct gzip **ret); /* 0, -ENOMEM */
struct gzip *gzip_free(struct gzip *g); /* NULL-safe, gives NULL; ends nothing */
DEFINE_CLEANUP(struct gzip *, gzip_free)
int gzip_write(void *g, const char *bytes, size_t n); /* a json_sink */
int gzip_end(struct gzip *g); /* what is left, and the trailer. 0 or -errno */
