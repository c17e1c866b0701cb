/* SPDX-License-Identifier: (LGPL-2.1 OR BSD-2-Clause) */
#pragma once
/* One line a message on stderr. Only cmd/ and capture/ call it; leaves return -errno. */
#include <stdarg.h>

enum log_level { LOG_ERROR, LOG_WARNING, LOG_INFO, LOG_DEBUG };

/* The only global of wcbpf. Default LOG_WARNING; -q LOG_ERROR, -v LOG_INFO, -vv LOG_DEBUG. */
void log_set_level(enum log_level level);
enum log_level log_level(void);
/* Writes "wcbpf: " + message + newline with one write(2). */
void log_error(const char *fmt, ...) __attribute__((format(printf, 1, 2)));
void log_warning(const char *fmt, ...) __attribute__((format(printf, 1, 2)));
void log_info(const char *fmt, ...) __attribute__((format(printf, 1, 2)));
void log_debug(const char *fmt, ...) __attribute__((format(printf, 1, 2)));
