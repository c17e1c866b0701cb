/* SPDX-License-Identifier: (LGPL-2.1 OR BSD-2-Clause) */
#pragma once
/* json-c beside util/json.h: both have a json_bool, json-c's is only a name for int. Private to dump/. */
#define json_bool json_c_bool
#include <json-c/json.h>
#undef json_bool
