/* SPDX-License-Identifier: (LGPL-2.1 OR BSD-2-Clause) */
#pragma once
/* Which of the functions that reach a static one may stand for it. */
#include "objfile/objfile.h"

/* One of r's names; NULL: none of them says what the function is for. */
const char *family_name(const struct objfile_reached *r);
