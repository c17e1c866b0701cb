/* SPDX-License-Identifier: (LGPL-2.1 OR BSD-2-Clause) */
#pragma once
/* The link that leads to a process from the op it hangs below: one at most, whoever told of the parent. And to clients. */
#include "assemble/state.h"

/* Its fork by that thread was seen. 0, -ENOMEM. */
int assemble_link_fork(struct assemble *a, uint32_t parent_thread, uint32_t process, uint64_t time_ns);
/* Its seed names a parent, of the recording or not. What a fork or an earlier seed said stands. 0, -ENOMEM. */
int assemble_link_seed(struct assemble *a, uint32_t process, const struct assemble_seed *seed);
/* Ops without parent of that client hang below the op. 0, also if there is no place; -ENOMEM. */
int assemble_link_nested(struct assemble *a, uint32_t op, uint32_t client_id, uint64_t time_ns);
/* Ties what seeds named, as far as it is known: those links are as the others. 0, -ENOMEM. */
int assemble_links_settle(struct assemble *a);
/* Takes out those that are tied, of the first n. */
void assemble_links_flush(struct assemble *a, size_t n);
/* Ties what seeds named, when all processes are known. Before the links get their idents. 0, -ENOMEM. */
int assemble_links_finish(struct assemble *a);
