/* SPDX-License-Identifier: (LGPL-2.1 OR BSD-2-Clause) */
#pragma once
/* What waits were for: files and sockets by their wire ids, and idents, the named resources of the dump. */
#include "assemble/state.h"

/* The sorts of resource a row tells apart; the low byte of a class. */
enum resource_sort {
	RESOURCE_UNKNOWN, /* none, or its event never came */
	RESOURCE_FILE,	  /* regular, directory, block device */
	RESOURCE_PIPE,
	RESOURCE_SOCKET,
	RESOURCE_TTY,
	RESOURCE_DEVICE,  /* any other character device; its major, if known, in the upper bytes of the class */
	RESOURCE_EPOLL,
	RESOURCE_EVENTFD,
	RESOURCE_TIMERFD,
	RESOURCE_SIGNALFD,
	RESOURCE_INOTIFY,
	RESOURCE_PIDFD,
	RESOURCE_FANOTIFY,
	RESOURCE_IO_URING,
	RESOURCE_ANON,	  /* an anonymous inode of another kind, or anything whose kind is a word of its own */
	RESOURCE_SORT_MAX,
};
static inline enum resource_sort assemble_resource_sort(uint32_t class)
{
	return (enum resource_sort)(class & 0xff);
}
/* The wait_kind word of a sort; "" for UNKNOWN. */
const char *assemble_resource_word(enum resource_sort sort);

/* Index of a wire id, made when first asked for; 0 for id 0. 0, -ENOMEM. */
int assemble_resource_index(struct assemble *a, uint64_t id, uint32_t *ret);
/* 0, -ENOMEM. */
int assemble_resource_event(struct assemble *a, const struct wcbpf_resource *e);
/* String id of the kind word given by assemble_resource_name(), 0: none. */
uint32_t assemble_resource_kind_id(const struct assemble *a, uint32_t resource);

/* Index of an ident, 0 for kind IDENT_NONE. 0, -ENOMEM. */
int assemble_ident_index(struct assemble *a, const struct ident_key *key, uint32_t *ret);
/* Its string. Once processes have keys and resources their last names. 0, -ENOMEM. */
int assemble_ident_string(struct assemble *a, uint32_t ident, enum ident_name name, uint32_t *ret);
