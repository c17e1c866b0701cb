/* SPDX-License-Identifier: (LGPL-2.1 OR BSD-2-Clause) */
/*
 * A wait refers to what it was for by a small number until the recording is
 * over: the name of a file may come later than the wait, and whether a futex
 * is a condition variable is known when stacks have names.
 *
 * A private futex is named with its process, whose address it is. A shared one
 * is not: forked processes share it at one address. A condition variable of
 * glibc (2.25 and later) waits in turn on two words, __data.__g_signals[0] and
 * [1], the last eight of its 48 bytes, so it is named by its own address.
 */
#include "assemble/resource.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "util/vec.h"

#define CONDVAR_SIGNALS_OFFSET 40
/* Majors of the kernel's devices.txt: tty devices, /dev/tty and console, Unix98 PTYs, USB serial. */
#define MAJOR_TTY 4
#define MAJOR_TTYAUX 5
#define MAJOR_PTY_FIRST 128
#define MAJOR_PTY_LAST 143
#define MAJOR_TTYACM 166
#define MAJOR_TTYUSB 188

static const char *const sort_words[RESOURCE_SORT_MAX] = {
	[RESOURCE_UNKNOWN] = "",	   [RESOURCE_FILE] = "file",	   [RESOURCE_PIPE] = "pipe",
	[RESOURCE_SOCKET] = "socket",	   [RESOURCE_TTY] = "tty",	   [RESOURCE_DEVICE] = "device",
	[RESOURCE_EPOLL] = "epoll",	   [RESOURCE_EVENTFD] = "eventfd", [RESOURCE_TIMERFD] = "timerfd",
	[RESOURCE_SIGNALFD] = "signalfd",  [RESOURCE_INOTIFY] = "inotify", [RESOURCE_PIDFD] = "pidfd",
	[RESOURCE_FANOTIFY] = "fanotify",  [RESOURCE_IO_URING] = "io_uring", [RESOURCE_ANON] = "anon",
};

const char *assemble_resource_word(enum resource_sort sort)
{
	return (unsigned)sort < RESOURCE_SORT_MAX ? sort_words[sort] : "";
}

static bool is_tty_major(uint32_t major)
{
	return major == MAJOR_TTY || major == MAJOR_TTYAUX || major == MAJOR_TTYACM || major == MAJOR_TTYUSB ||
	       (major >= MAJOR_PTY_FIRST && major <= MAJOR_PTY_LAST);
}

static uint32_t file_class(const struct wcbpf_resource *e)
{
	uint32_t major = e->rdev >> 20;

	switch (e->mode & S_IFMT) {
	case S_IFIFO:
		return RESOURCE_PIPE;
	case S_IFSOCK:
		return RESOURCE_SOCKET;
	case S_IFCHR:
		return is_tty_major(major) ? RESOURCE_TTY : RESOURCE_DEVICE | major << 8;
	default:
		return RESOURCE_FILE;
	}
}

static uint32_t resource_class(const struct wcbpf_resource *e)
{
	static const uint8_t anon[] = {
		[WCBPF_FOP_UNKNOWN] = RESOURCE_ANON,	   [WCBPF_FOP_EPOLL] = RESOURCE_EPOLL,
		[WCBPF_FOP_EVENTFD] = RESOURCE_EVENTFD,	   [WCBPF_FOP_TIMERFD] = RESOURCE_TIMERFD,
		[WCBPF_FOP_SIGNALFD] = RESOURCE_SIGNALFD,  [WCBPF_FOP_INOTIFY] = RESOURCE_INOTIFY,
		[WCBPF_FOP_PIDFD] = RESOURCE_PIDFD,	   [WCBPF_FOP_FANOTIFY] = RESOURCE_FANOTIFY,
		[WCBPF_FOP_IO_URING] = RESOURCE_IO_URING,
	};

	switch (e->kind) {
	case WCBPF_RES_FILE:
		return file_class(e);
	case WCBPF_RES_SOCKET:
		return RESOURCE_SOCKET;
	case WCBPF_RES_ANON:
		return e->fop_kind < sizeof(anon) ? anon[e->fop_kind] : RESOURCE_ANON;
	default:
		return RESOURCE_UNKNOWN;
	}
}

int assemble_resource_index(struct assemble *a, uint64_t id, uint32_t *ret)
{
	uint64_t index = 0;

	if (!id) {
		*ret = 0;
		return 0;
	}
	if (!map_get(a->resource_ids, id, &index)) {
		if (VEC_RESERVE(a->resources, a->resource_cap, a->resource_n + 1) < 0)
			return -ENOMEM;
		index = a->resource_n;
		if (map_put(a->resource_ids, id, index) < 0)
			return -ENOMEM;
		a->resources[a->resource_n++] = (struct resource){ .id = id };
	}
	*ret = (uint32_t)index;
	return 0;
}

int assemble_resource_event(struct assemble *a, const struct wcbpf_resource *e)
{
	struct resource *res;
	uint32_t index;

	if (assemble_resource_index(a, e->id, &index) < 0)
		return -ENOMEM;
	if (!index)
		return 0;
	res = &a->resources[index];
	res->class = resource_class(e);
	res->ino = e->ino;
	res->file = e->file;
	res->dev = e->dev;
	res->known = true;
	return 0;
}

/* For a resource known only by the word it was given. A word that is none of ours makes a class of its own. */
static uint32_t word_class(const char *word, uint32_t kind_id)
{
	for (uint32_t sort = RESOURCE_UNKNOWN + 1; sort < RESOURCE_SORT_MAX; sort++) {
		if (strcmp(word, sort_words[sort]) == 0)
			return sort;
	}
	return kind_id ? RESOURCE_ANON | kind_id << 8 : RESOURCE_UNKNOWN;
}

int assemble_resource_name(struct assemble *a, uint64_t id, const char *kind, const char *name)
{
	uint32_t index, kind_id, name_id;

	if (assemble_resource_index(a, id, &index) < 0 || strtab_intern(a->m->strings, kind, &kind_id) < 0 ||
	    strtab_intern(a->m->strings, name, &name_id) < 0)
		return -ENOMEM;
	if (!index)
		return 0;
	a->resources[index].kind_id = kind_id;
	a->resources[index].name_id = name_id;
	if (!a->resources[index].known)
		a->resources[index].class = word_class(strtab_str(a->m->strings, kind_id), kind_id);
	return 0;
}

uint32_t assemble_resource_kind_id(const struct assemble *a, uint32_t resource)
{
	return resource < a->resource_n ? a->resources[resource].kind_id : 0;
}

/* A name, or else numbers that tell it from any other. */
static int resource_string(struct assemble *a, uint32_t resource, uint32_t *ret)
{
	struct resource *res = &a->resources[resource];
	enum resource_sort sort = assemble_resource_sort(res->class);
	char text[96];
	int r;

	if (res->string_id || res->name_id) {
		*ret = res->string_id ?: res->name_id;
		return 0;
	}
	if (!res->known)
		snprintf(text, sizeof(text), "resource:0x%" PRIx64, res->id);
	else if (sort >= RESOURCE_EPOLL)
		snprintf(text, sizeof(text), "%s:[0x%" PRIx64 "]", assemble_resource_word(sort), res->file);
	else if (sort == RESOURCE_PIPE || sort == RESOURCE_SOCKET)
		snprintf(text, sizeof(text), "%s:[%" PRIu64 "]", assemble_resource_word(sort), res->ino);
	else
		snprintf(text, sizeof(text), "%s:%u:%u:[%" PRIu64 "]", assemble_resource_word(sort), res->dev >> 20,
			 res->dev & 0xfffff, res->ino);
	r = strtab_intern(a->m->strings, text, &res->string_id);
	if (r < 0)
		return r;
	*ret = res->string_id;
	return 0;
}

int assemble_ident_index(struct assemble *a, const struct ident_key *key, uint32_t *ret)
{
	uint64_t hash = assemble_hash(key, sizeof(*key)), first = 0;

	if (key->kind == IDENT_NONE) {
		*ret = 0;
		return 0;
	}
	map_get(a->ident_hashes, hash, &first);
	for (uint32_t i = (uint32_t)first; i; i = a->idents[i].next) {
		if (memcmp(&a->idents[i].key, key, sizeof(*key)) == 0) {
			*ret = i;
			return 0;
		}
	}
	if (VEC_RESERVE(a->idents, a->ident_cap, a->ident_n + 1) < 0 || map_put(a->ident_hashes, hash, a->ident_n) < 0)
		return -ENOMEM;
	a->idents[a->ident_n] = (struct ident){ .key = *key, .next = (uint32_t)first };
	*ret = (uint32_t)a->ident_n++;
	return 0;
}

static void futex_string(const struct assemble *a, const struct ident_key *key, enum ident_name name, char *text,
			 size_t size)
{
	const char *owner = "shared";
	uint64_t address = key->address;

	if (key->process)
		owner = strtab_str(a->m->strings, a->m->processes[key->process].key_id);
	if (name == IDENT_NAME_JOIN)
		snprintf(text, size, "tid:%u", a->m->threads[key->thread].tid);
	else if (name == IDENT_NAME_CONDVAR)
		snprintf(text, size, "condvar:%s:0x%" PRIx64, owner, (address & ~(uint64_t)7) - CONDVAR_SIGNALS_OFFSET);
	else
		snprintf(text, size, "futex:%s:0x%" PRIx64, owner, address);
}

int assemble_ident_string(struct assemble *a, uint32_t ident, enum ident_name name, uint32_t *ret)
{
	struct ident *id = &a->idents[ident];
	char text[128];
	int r;

	if (id->string_id[name]) {
		*ret = id->string_id[name];
		return 0;
	}
	switch (id->key.kind) {
	case IDENT_RESOURCE:
		return resource_string(a, id->key.resource, ret);
	case IDENT_CHILD: /* decided wait by wait: targets.c */
		*ret = 0;
		return 0;
	case IDENT_CHANNEL:
	case IDENT_NETPOLL:
		snprintf(text, sizeof(text), "%s:%s:0x%" PRIx64, id->key.kind == IDENT_CHANNEL ? "chan" : "netpoll",
			 strtab_str(a->m->strings, a->m->processes[id->key.process].key_id), id->key.address);
		break;
	case IDENT_FUTEX:
		futex_string(a, &id->key, name, text, sizeof(text));
		break;
	default:
		snprintf(text, sizeof(text), "%s", id->key.kind == IDENT_SLEEP ? "sleep" : "");
	}
	r = strtab_intern(a->m->strings, text, &id->string_id[name]);
	if (r < 0)
		return r;
	*ret = id->string_id[name];
	return 0;
}
