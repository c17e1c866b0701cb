/* SPDX-License-Identifier: (LGPL-2.1 OR BSD-2-Clause) */
#pragma once
/*
 * Go programs for tests (tests/lib/go-programs), built once a build folder;
 * without a Go compiler the test is skipped. For another Go than the system's
 * set GO (and perhaps GOROOT), and WCBPF_GO_PROGRAMS to a folder of its own.
 */

/* The path of one. Valid until the fourth call from here. */
const char *go_program(const char *name);
