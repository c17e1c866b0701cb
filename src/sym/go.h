/* SPDX-License-Identifier: (LGPL-2.1 OR BSD-2-Clause) */
#pragma once
/* Functions of Go programs, by the tables of their runtime. */
#include "sym/module.h"

/* As in struct module_names. */
size_t go_names_find(struct sym *s, struct module *m, uint64_t vaddr, struct sym_function *ret);
