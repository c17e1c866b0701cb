/* SPDX-License-Identifier: (LGPL-2.1 OR BSD-2-Clause) */
/*
 * Recording must not block, or it would make waits of its own: slots of arrays
 * are taken by one atomic addition, and strings are interned when the dump is
 * written, by a walk over the table: there are few.
 */
#include "recorder.h"

#include <errno.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#define OPS_MAX 65536
#define EVENTS_MAX 65536
#define STRINGS_MAX 8192

struct op {
	const char *kind, *class, *ident, *client, *outcome;
	rec_op parent;
	uint64_t start_ns;
	_Atomic uint64_t end_ns; /* 0: open */
};

struct event {
	const char *reason; /* NULL: a link to a process */
	const char *resource;
	const rec_op *target;
	rec_op op;
	int pid;
	uint64_t process_start_ns;
	uint64_t start_ns, end_ns;
};

static const char *dump_path; /* NULL: off */
static struct op *ops;	      /* [0] is none */
static struct event *events;
static atomic_uint op_n = 1, event_n;
static int64_t epoch_unix_ns;
static uint64_t begin_ns;
static _Thread_local rec_op current;

static uint64_t clock_read(clockid_t clock)
{
	struct timespec t;

	clock_gettime(clock, &t);
	return (uint64_t)t.tv_sec * 1000000000 + (uint64_t)t.tv_nsec;
}

uint64_t rec_clock(void)
{
	return clock_read(CLOCK_MONOTONIC);
}

void rec_start(const char *path)
{
	epoch_unix_ns = (int64_t)clock_read(CLOCK_REALTIME);
	begin_ns = rec_clock();
	if (!path || !*path)
		return;
	ops = calloc(OPS_MAX, sizeof(*ops));
	events = calloc(EVENTS_MAX, sizeof(*events));
	if (!ops || !events)
		abort();
	dump_path = path;
}

void rec_clock_print(void)
{
	printf("clock realtime=%lld monotonic=%llu\n", (long long)epoch_unix_ns, (unsigned long long)begin_ns);
}

rec_op rec_open(const char *kind, const char *class, const char *ident, const char *client)
{
	rec_op op;

	if (!dump_path)
		return 0;
	op = atomic_fetch_add(&op_n, 1);
	if (op >= OPS_MAX)
		abort();
	ops[op] = (struct op){.kind = kind, .class = class, .ident = ident, .client = client, .parent = current,
			      .start_ns = rec_clock()};
	return op;
}

void rec_close(rec_op op, const char *outcome)
{
	if (!op)
		return;
	ops[op].outcome = outcome;
	atomic_store(&ops[op].end_ns, rec_clock());
}

rec_op rec_begin(const char *kind, const char *class, const char *ident, const char *client)
{
	rec_op op = rec_open(kind, class, ident, client);

	current = op;
	return op;
}

void rec_end(rec_op op, const char *outcome)
{
	if (!op)
		return;
	current = ops[op].parent;
	rec_close(op, outcome);
}

rec_op rec_current(void)
{
	return current;
}

void rec_enter(rec_op parent)
{
	current = parent;
}

static struct event *event_add(void)
{
	unsigned int n = atomic_fetch_add(&event_n, 1);

	if (n >= EVENTS_MAX)
		abort();
	return &events[n];
}

void rec_wait(const char *reason, const rec_op *target, const char *resource, uint64_t start_ns)
{
	uint64_t end_ns = rec_clock();

	if (!dump_path)
		return;
	*event_add() = (struct event){.reason = reason, .resource = resource, .target = target, .op = current,
				      .start_ns = start_ns, .end_ns = end_ns};
}

/* When a process began, in ns since boot as far as /proc tells: field 22 of its stat. */
static uint64_t process_start_ns(int pid)
{
	char path[64], text[1024], *at;
	unsigned long long ticks = 0;
	size_t n;
	FILE *f;

	snprintf(path, sizeof(path), "/proc/%d/stat", pid);
	f = fopen(path, "re");
	if (!f)
		return 0;
	n = fread(text, 1, sizeof(text) - 1, f);
	fclose(f);
	text[n] = 0;
	at = strrchr(text, ')');
	if (at)
		sscanf(at + 1, " %*c %*d %*d %*d %*d %*d %*u %*u %*u %*u %*u %*u %*u %*d %*d %*d %*d %*d %*d %llu", &ticks);
	return ticks * (1000000000 / (uint64_t)sysconf(_SC_CLK_TCK));
}

void rec_link_process(rec_op host, int pid)
{
	uint64_t now = rec_clock();

	if (!dump_path)
		return;
	*event_add() = (struct event){.op = host, .pid = pid, .process_start_ns = process_start_ns(pid),
				      .start_ns = now, .end_ns = now};
}

/* ---- the dump ---- */

static struct {
	const char *v[STRINGS_MAX];
	unsigned int n;
} table;

static unsigned int intern(const char *s)
{
	if (!s || !*s)
		return 0;
	for (unsigned int i = 1; i < table.n; i++)
		if (!strcmp(table.v[i], s))
			return i;
	if (table.n == STRINGS_MAX)
		abort();
	table.v[table.n] = s;
	return table.n++;
}

static const char *process_ident(const struct event *e)
{
	char *text;

	if (asprintf(&text, "%d:%llu", e->pid, (unsigned long long)e->process_start_ns) < 0)
		abort();
	return text; /* of the table, to the end */
}

static void id_print(FILE *f, const char *key, const char *string)
{
	unsigned int id = intern(string);

	if (id)
		fprintf(f, ",\"%s\":%u", key, id);
}

static void op_print(FILE *f, rec_op id, const struct op *op)
{
	fprintf(f, "{\"e\":\"op\",\"k\":\"%s\"", op->kind);
	if (op->outcome)
		fprintf(f, ",\"o\":\"%s\"", op->outcome);
	fprintf(f, ",\"id\":%u", id);
	if (op->parent)
		fprintf(f, ",\"p\":%u", op->parent);
	id_print(f, "c", op->class);
	id_print(f, "i", op->ident);
	id_print(f, "cl", op->client);
	fprintf(f, ",\"s\":%llu,\"d\":%llu}\n", (unsigned long long)(op->start_ns - begin_ns),
		(unsigned long long)(op->end_ns - begin_ns));
}

static void event_print(FILE *f, const struct event *e)
{
	if (e->reason)
		fprintf(f, "{\"e\":\"wait\",\"rs\":\"%s\"", e->reason);
	else
		fprintf(f, "{\"e\":\"link\",\"lk\":\"nested_client\"");
	if (e->op)
		fprintf(f, ",\"p\":%u", e->op);
	if (e->target && *e->target)
		fprintf(f, ",\"t\":%u", *e->target);
	id_print(f, "i", e->reason ? e->resource : process_ident(e));
	fprintf(f, ",\"s\":%llu,\"d\":%llu}\n", (unsigned long long)(e->start_ns - begin_ns),
		(unsigned long long)(e->end_ns - begin_ns));
}

/* The strings that events name; those of the engine need no escapes. */
static void header_print(FILE *f, uint64_t now_ns, unsigned int count, bool any_open)
{
	fprintf(f, "{\"schema_version\":1,\"epoch_unix_nano\":%lld,\"dumped_unix_nano\":%lld,\"dropped_events\":0,"
		"\"event_count\":%u,\"strings\":[\"\"", (long long)epoch_unix_ns,
		(long long)(epoch_unix_ns + (int64_t)(now_ns - begin_ns)), count);
	for (unsigned int i = 1; i < table.n; i++)
		fprintf(f, ",\"%s\"", table.v[i]);
	fprintf(f, "]");
	for (unsigned int i = 1, first = 1; any_open && i < op_n; i++) {
		if (ops[i].end_ns)
			continue;
		fprintf(f, "%s{\"op_id\":%u", first ? ",\"open_ops\":[" : ",", i);
		first = 0;
		if (ops[i].parent)
			fprintf(f, ",\"parent_id\":%u", ops[i].parent);
		fprintf(f, ",\"kind\":\"%s\"", ops[i].kind);
		id_print(f, "class_id", ops[i].class);
		id_print(f, "ident_id", ops[i].ident);
		id_print(f, "client_id", ops[i].client);
		fprintf(f, ",\"start_ns\":%llu}", (unsigned long long)(ops[i].start_ns - begin_ns));
	}
	fprintf(f, any_open ? "]}\n" : "}\n");
}

int rec_dump(void)
{
	uint64_t now_ns = rec_clock();
	unsigned int count = event_n;
	bool any_open = false;
	char *body = NULL;
	size_t body_n;
	FILE *f;

	if (!dump_path)
		return 0;
	f = open_memstream(&body, &body_n);
	if (!f)
		return -errno;
	table.v[0] = "";
	table.n = 1;
	for (unsigned int i = 1; i < op_n; i++) {
		intern(ops[i].class), intern(ops[i].ident), intern(ops[i].client);
		if (!ops[i].end_ns) {
			any_open = true;
			continue;
		}
		count++;
		op_print(f, i, &ops[i]);
	}
	for (unsigned int i = 0; i < event_n; i++)
		event_print(f, &events[i]);
	fclose(f);
	f = fopen(dump_path, "we");
	if (!f)
		return -errno;
	header_print(f, now_ns, count, any_open);
	fwrite(body, 1, body_n, f);
	free(body);
	return fclose(f) ? -errno : 0;
}
