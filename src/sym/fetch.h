/* SPDX-License-Identifier: (LGPL-2.1 OR BSD-2-Clause) */
#pragma once
/* Debug files from the debuginfod servers that DEBUGINFOD_URLS names. Only for who asked for it. */
#include "sym/sym.h"

struct fetch;

/* -ENOENT: libdebuginfod isn't installed, -ENOMEM. */
int fetch_new(struct fetch **ret);
struct fetch *fetch_free(struct fetch *f);
/*
 * Where the debug file of a build id (hex) now lies, which a server had; owned by s. module is the path of what it is
 * for, for the note that tells why there is none. NULL: none, also when s doesn't ask. Each is asked for once.
 */
const char *fetch_debug_file(struct sym *s, const char *module, const char *build_id);
