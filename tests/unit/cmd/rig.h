/* SPDX-License-Identifier: (LGPL-2.1 OR BSD-2-Clause) */
#pragma once
/*
 * Runs the whole command line (with the fake capture) in a child of its own
 * process group and a folder of its own, and keeps what it wrote.
 */
#include <stdbool.h>
#include <sys/types.h>

struct rig {
	char dir[64];	      /* working folder of the runs, made by rig_init() */
	const char *fake;     /* FAKE_CAPTURE, NULL: all goes well */
	void (*prepare)(void *arg); /* called in the child before anything of wcbpf; NULL: none */
	void *arg;
	bool direct;	      /* exec argv itself instead of giving it to wcbpf: the truth to compare with */
	pid_t pid;	      /* of the run, and its process group */
	int code;	      /* as a shell shows it */
	double seconds;
	char *out, *err;      /* of the last run */
	double began;
};

void rig_init(struct rig *r);
void rig_done(struct rig *r); /* removes the folder */
/* argv without "wcbpf", ends with NULL. */
void rig_start(struct rig *r, const char *const *argv);
void rig_wait(struct rig *r);
void rig_run(struct rig *r, const char *const *argv);
#define RIG_START(r, ...) rig_start(r, (const char *const[]){__VA_ARGS__, NULL})
#define RIG_RUN(r, ...) rig_run(r, (const char *const[]){__VA_ARGS__, NULL})
#define RIG_SH(r, script, ...) RIG_RUN(r, "record", ##__VA_ARGS__, "--", "sh", "-c", script)

bool rig_has(const struct rig *r, const char *path);
/* A whole file of the folder, malloc'd; "" if there is none. */
char *rig_read(const struct rig *r, const char *path);
/* Waits up to 5 s for a file of the folder that is not empty. */
bool rig_await(const struct rig *r, const char *path);
/* The number in a file that rig_await() waited for; 0: none. */
pid_t rig_read_pid(const struct rig *r, const char *path);
void rig_sleep(double seconds);
double rig_now(void);
/* A string or number of the summary: "state", "capture_integrity.status"; malloc'd, "" if it isn't there. */
char *rig_summary(const struct rig *r, const char *folder, const char *key);
