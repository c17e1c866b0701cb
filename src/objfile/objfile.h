/* SPDX-License-Identifier: (LGPL-2.1 OR BSD-2-Clause) */
#pragma once
/*
 * One ELF file: its build id, segments and function symbols. Contents are
 * untrusted: never asserted, always bounds-checked (libelf does the reading).
 */
#include <gelf.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct objfile;

/* From an open file (dup'ed). -ENOEXEC when it is no ELF file, -errno. */
int objfile_open_fd(int fd, struct objfile **ret);
/* From memory (the vDSO); copied. */
int objfile_open_memory(const void *image, size_t n, struct objfile **ret);
/* The vDSO of the running kernel, out of our own memory. -ENOENT when there is none. */
int objfile_open_vdso(struct objfile **ret);
struct objfile *objfile_free(struct objfile *o);
/*
 * Closes the file. What has been read stays (all but objfile_elf(); of that
 * what its user has read), what has not can't be any more. Reads the symbols
 * first if with_symbols.
 */
void objfile_detach(struct objfile *o, bool with_symbols);

/* Hex, "" if it has none. */
const char *objfile_build_id(const struct objfile *o);
/* The Elf handle, for libdw. Owned by o. */
Elf *objfile_elf(struct objfile *o);
/* The st_value-space address of a file offset, by its PT_LOAD segments. -ENOENT. */
int objfile_vaddr_of_offset(const struct objfile *o, uint64_t offset, uint64_t *ret);

struct objfile_symbol {
	const char *name; /* raw, mangled */
	uint64_t value, size;
};
/*
 * The function symbol that covers vaddr: .symtab and .dynsym (libdw's and
 * libelf's view), a symbol of size 0 reaches to the next one in its section.
 * Of several with one address: the one not local, then with the fewest leading
 * underscores, then the shortest, then the alphabetically first name. -ENOENT
 * when none covers it: nothing is guessed. The table is built at the first call.
 */
int objfile_symbol(struct objfile *o, uint64_t vaddr, struct objfile_symbol *ret);

/*
 * A function that no symbol covers, by the named ones that can lead to it:
 * directly, or through other unnamed ones. x86_64 only.
 */
#define OBJFILE_REACHED_MAX 16
struct objfile_reached {
	uint64_t start; /* of the unnamed function, by .eh_frame */
	bool passed;	/* some only take the address of a function on the way: it may be called when they are over */
	size_t n;	/* 1 to OBJFILE_REACHED_MAX */
	/* Raw, without version; sorted, each once; valid until objfile_callers_free(). */
	const char *names[OBJFILE_REACHED_MAX];
};
struct objfile_callers;
/*
 * Reads all of the file's code (10 ms for glibc), so o must not be detached;
 * it isn't needed afterwards. -ENOTSUP: another machine, a fixed address, too big.
 */
int objfile_callers_new(struct objfile *o, struct objfile_callers **ret);
struct objfile_callers *objfile_callers_free(struct objfile_callers *c);
/* -ENOENT: no such function, or its callers are more than that or not all known (data has its address). */
int objfile_callers_find(const struct objfile_callers *c, uint64_t vaddr, struct objfile_reached *ret);

/* C++ (Itanium) and Rust (legacy, v0) names made readable, malloc'd; NULL if it is no mangled name. */
char *objfile_demangle(const char *name);
