/* SPDX-License-Identifier: (LGPL-2.1 OR BSD-2-Clause) */
#pragma once
/*
 * What a table's rule and what libdw's frame make of one and the same made-up
 * machine: numbers for CFA, return address, rsp, rbp and rbx are compared, so
 * that nothing depends on how either side writes a rule. Also the look-up that
 * the BPF programs do, in C.
 */
#include <elfutils/libdw.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "unwind/unwind.h"

enum twin_state {
	TWIN_VALUE,
	TWIN_STOP,    /* the return address is undefined */
	TWIN_UNKNOWN, /* no such number: not computable, or a kind that has none */
};

struct twin_number {
	bool known;
	uint64_t v;
};

struct twin_caller {
	enum twin_state state; /* TWIN_VALUE: sp and ra are known */
	struct twin_number sp, ra, bp, bx;
	bool is_signal;
};

/* regs: DWARF numbering, [16] the ip. Memory is a function of the address. */
uint64_t twin_memory(uint64_t addr);
struct twin_caller twin_of_rule(const struct wcbpf_rule *rule, const uint64_t *regs);
/* frame NULL: no rules. */
struct twin_caller twin_of_frame(Dwarf_Frame *frame, const uint64_t *regs);

/* NULL: they agree, or what is wrong. vaddr goes into regs[16]; the rest of them is made up from seed. */
const char *twin_compare(const struct wcbpf_rule *rule, Dwarf_Frame *frame, uint64_t vaddr, uint64_t seed);

/* All rules that libdw has for a file: as frames, each by a look-up of its own. */
struct twin_file {
	int fd;
	Elf *elf;
	Dwarf_CFI *eh;	     /* or NULL */
	Dwarf *dwarf;	     /* or NULL */
	Dwarf_CFI *debug;    /* or NULL */
};
bool twin_open(const char *path, struct twin_file *ret);
void twin_close(struct twin_file *f);
/* malloc'd, or NULL. */
Dwarf_Frame *twin_frame(const struct twin_file *f, uint64_t vaddr);

/*
 * Compares rows with a file's frames: the first, middle and last address of each
 * row, and a number of addresses of each gap; of about rows_max rows (0: of
 * all). NULL or what is wrong at *ret_vaddr; *ret_n addresses were compared.
 */
const char *twin_compare_rows(const struct unwind_rows *rows, const struct twin_file *f, size_t rows_max,
			      uint64_t *ret_vaddr, size_t *ret_n);

/* The rule of a row that holds at vaddr, by going through all of them; none: all zero. */
struct wcbpf_rule twin_rule(const struct unwind_rows *rows, uint64_t vaddr);

/*
 * Paths of the files with code that this process, and those programs that are
 * installed (python3, sh, redis-server, postgres, nginx, node), consist of; each
 * once. malloc'd strings.
 */
#define TWIN_OBJECTS_MAX 512
size_t twin_objects(char **ret);

/* The tables' memory, and the look-up of the BPF programs in it. */
struct twin_store {
	struct unwind_store_memory memory;
	struct wcbpf_row *shards[WCBPF_SHARDS_MAX];
	uint32_t shard_n, shard_max;
	int shard_error; /* beyond shard_max */
};
void twin_store_init(struct twin_store *s);
void twin_store_done(struct twin_store *s);
struct wcbpf_rule twin_store_lookup(const struct twin_store *s, const struct unwind_place *place, uint64_t vaddr);
