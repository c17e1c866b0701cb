/* SPDX-License-Identifier: (LGPL-2.1 OR BSD-2-Clause) */
#pragma once
/* Both faces of one command: record runs a workload, attach takes what runs. */
#include <stdbool.h>

int record_run(int argc, char **argv, bool attach);
