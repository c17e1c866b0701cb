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
/* A regular file by its path, in our root or, if root_fd isn't -1, taken as inside that folder. */
int objfile_open_path(int root_fd, const char *path, struct objfile **ret);
/* From memory (the vDSO); copied. */
int objfile_open_memory(const void *image, size_t n, struct objfile **ret);
/* The vDSO of the running kernel, out of our own memory. -ENOENT when there is none. */
int objfile_open_vdso(struct objfile **ret);
struct objfile *objfile_free(struct objfile *o);
/*
 * Closes the file. What has been read stays (of objfile_elf() what its user has
 * read), what has not can't be any more. with_symbols: reads the symbols first,
 * if they have not been; only they, build id and segments stay, there is no
 * objfile_elf() any more.
 */
void objfile_detach(struct objfile *o, bool with_symbols);

/* Hex, "" if it has none. */
const char *objfile_build_id(const struct objfile *o);
/* As it was opened by objfile_open_path(); NULL if not so. */
const char *objfile_path(const struct objfile *o);
/* The descriptor, o's. -1: from memory or detached. */
int objfile_fd(const struct objfile *o);
/* The Elf handle, for libdw. Owned by o. */
Elf *objfile_elf(struct objfile *o);
/* The st_value-space address of a file offset, by its PT_LOAD segments. -ENOENT. */
int objfile_vaddr_of_offset(const struct objfile *o, uint64_t offset, uint64_t *ret);
/* n bytes of the file from an offset on. -EBADMSG: it isn't that long. -EBADF: detached. -errno. */
int objfile_read(const struct objfile *o, uint64_t offset, void *ret, size_t n);
/* The same from an address on; all must lie in one PT_LOAD's part of the file, else -EBADMSG. */
int objfile_read_vaddr(const struct objfile *o, uint64_t vaddr, void *ret, size_t n);

/* ---- function symbols ---- */

struct objfile_symbol {
	const char *name; /* raw, mangled; without the version that linkers append (name@@VERSION); of a stub name@plt */
	uint64_t value, size;
	uint32_t alias_n; /* how many other names of functions are at value, but for spellings of it: __x, __GI___x, __libc_x */
};
/*
 * The function symbol that covers vaddr; a symbol of size 0 reaches to the next
 * one in its section. Of several with one address: the one not local, then with
 * the fewest leading underscores, then the shortest, then the alphabetically
 * first name. -ENOENT when none covers it: nothing is guessed. Reads the file's
 * own symbols if none have been read.
 */
int objfile_symbol(struct objfile *o, uint64_t vaddr, struct objfile_symbol *ret);
/*
 * Reads, anew, the symbols of .symtab and .dynsym of the file and of its debug
 * file (or NULL); if neither has a .symtab, those of .gnu_debugdata. debug is
 * not needed afterwards. -EBADF: detached, -ENOMEM.
 */
int objfile_read_symbols(struct objfile *o, struct objfile *debug);
/* Has the file a .symtab? */
bool objfile_has_symtab(const struct objfile *o);
/* Are there static functions among the symbols that were read? */
bool objfile_static_known(const struct objfile *o);

/* ---- separate debug files ---- */

/* Where the debug files of a file are looked for. */
struct objfile_search {
	const char *path;	 /* the file's own, as its user saw it; NULL: not known */
	const char *const *dirs; /* folders to look in before the system's, in ours; each may have a .build-id/ */
	size_t dir_n;
	int root_fd; /* the root the file was seen in, if it is another than ours, else -1 */
	/* Called for a file that lies where it would be but is not used: its path, and why. May be NULL. */
	void (*refused)(void *arg, const char *path, const char *why);
	/*
	 * Asked when there is no such file: where one of this build id (hex) lies now, for the file at path (NULL: not
	 * known). Its answer, NULL for none, is valid until the next call. May be NULL.
	 */
	const char *(*fetch)(void *arg, const char *path, const char *build_id);
	void *arg;
};
/*
 * The debug file of o: DIR/.build-id/xx/yyyy.debug; by .gnu_debuglink DIR/NAME, NAME in the file's folder and its
 * .debug/, and its folder below DIR, with DIR those given and /usr/lib/debug. Its build id is o's; if one of them has
 * none, its checksum is that of .gnu_debuglink. -ENOENT.
 */
int objfile_open_debug(struct objfile *o, const struct objfile_search *where, struct objfile **ret);
/*
 * The file that a debug file shares contents with (.gnu_debugaltlink, made by dwz), with the name and build id that it
 * states; where->path is the debug file's. -ENOENT.
 */
int objfile_open_shared(const char *name, const char *build_id, const struct objfile_search *where, struct objfile **ret);

/* ---- inlined functions and source lines ---- */

/* One of the functions at an address. */
struct objfile_place {
	const char *name; /* raw: the linkage name, else the plain one; NULL: not known */
	const char *file; /* as the debug information names it; NULL: not known */
	const char *dir;  /* what a file that begins with no slash is relative to; NULL: not known */
	uint32_t line;	  /* where it calls the one before, of the first: of the address. 0: not known */
	uint64_t start;	  /* of the last one, the function itself: its first address. 0: not known */
};
struct objfile_source;
/* Has the file debug information (DWARF)? */
bool objfile_has_source(struct objfile *o);
/*
 * What the file's debug information says of addresses. Of the file what is needed is read at once (at most bytes_max,
 * unpacked), so o isn't needed afterwards; of its contents what is asked for. where: for the file it shares contents
 * with, see objfile_open_shared(). -ENOENT: it has none, -EFBIG: more than bytes_max, -EBADMSG, -errno.
 */
int objfile_source_new(struct objfile *o, const struct objfile_search *where, size_t bytes_max,
		       struct objfile_source **ret);
struct objfile_source *objfile_source_free(struct objfile_source *s);
/*
 * The functions at vaddr: those inlined there, innermost first, then the one that has the code, with at most ret_max
 * the outermost of them. Of several functions with the same code the one that prefer (or NULL) is the linkage name of.
 * Strings live as long as s. Their number; 0: nothing known. With a line only, no function, the only one has no name.
 */
size_t objfile_source_find(struct objfile_source *s, uint64_t vaddr, const char *prefer, struct objfile_place *ret,
			   size_t ret_max);
/* Bytes that it takes, an estimate; grows with what is asked. */
size_t objfile_source_bytes(const struct objfile_source *s);

/* ---- functions without a symbol ---- */

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

/* ---- Go ---- */

/*
 * The tables of a Go program's runtime: they are there, and exact, however it
 * was stripped or linked. Any program of Go 1.16 or later for a 64-bit machine
 * in our byte order; later formats than are known give -ENOTSUP.
 */
struct objfile_go;
/*
 * Reads all that is ever needed: o isn't, afterwards; nothing changes any more,
 * so any thread may ask. -ENOENT: no Go program. -EBADMSG: a damaged one.
 */
int objfile_go_open(struct objfile *o, struct objfile_go **ret);
struct objfile_go *objfile_go_free(struct objfile_go *g);
/* "go1.24.4"; "" when it isn't stated. */
const char *objfile_go_version(const struct objfile_go *g);
/* The Go part of the code, [start, end): a program linked by a C linker has other code around it. */
void objfile_go_text(const struct objfile_go *g, uint64_t *ret_start, uint64_t *ret_end);

struct objfile_go_function {
	const char *name;    /* "net/http.(*conn).serve", "main.main.func1"; owned by g */
	uint64_t start, end; /* padding included */
	bool wrapper;	     /* made by the compiler around a function of the same name */
	bool top_frame;	     /* has no caller on its stack (or none in Go) */
	bool sp_write;	     /* sets the stack pointer to what the table doesn't tell */
	uint32_t record;     /* of g alone */
};
size_t objfile_go_function_n(const struct objfile_go *g);
/* The i-th, by address. -ENOENT, -EBADMSG. */
int objfile_go_function_at(const struct objfile_go *g, size_t i, struct objfile_go_function *ret);
/* The one that covers vaddr. -ENOENT, -EBADMSG. */
int objfile_go_function(const struct objfile_go *g, uint64_t vaddr, struct objfile_go_function *ret);

struct objfile_go_place {
	const char *name; /* of the function */
	const char *file; /* as the compiler was given it; NULL: unknown */
	uint32_t line;	  /* 0: unknown */
	bool wrapper;
};
/*
 * Whose code vaddr is, innermost first: what was inlined there, and last the
 * function that it all lies in. Returns their number (at most ret_max, then the
 * outermost are left out); -ENOENT, -EBADMSG.
 */
int objfile_go_inlined(const struct objfile_go *g, uint64_t vaddr, struct objfile_go_place *ret, size_t ret_max);

/* How far the stack pointer is below where it was at the function's first instruction, from start up to end. */
struct objfile_go_sp {
	uint64_t start, end;
	int32_t delta;
};
/* Walks a function's ranges, by address, gapless. */
struct objfile_go_sp_walk {
	const struct objfile_go *g;
	uint64_t pc, end;
	size_t at;
	uint32_t value;
	bool begun;
};
int objfile_go_sp_begin(const struct objfile_go *g, const struct objfile_go_function *f, struct objfile_go_sp_walk *ret);
/* 1: one more. 0: that was all. -EBADMSG. */
int objfile_go_sp_next(struct objfile_go_sp_walk *w, struct objfile_go_sp *ret);

/*
 * What a function's code does with rbp and rsp, beyond the table. x86_64. CFA:
 * the stack pointer of its first instruction plus 8. Addresses; 0: never.
 */
#define OBJFILE_GO_RESTORES_MAX 8
struct objfile_go_frame {
	uint64_t saved_from; /* from here on, while delta > saved_above, the caller's rbp is at CFA + saved_off */
	int32_t saved_off, saved_above;
	uint64_t pointer_from; /* from here on, while delta > saved_above, CFA is rbp + pointer_off */
	int32_t pointer_off;
	/* Only looked for if sp_write: */
	uint64_t switch_from; /* from here on rsp may be on another stack */
	uint64_t restored_from[OBJFILE_GO_RESTORES_MAX]; /* from here on, while delta stays, rbp is the caller's again */
	size_t restored_n;
};
/* code: its code_n first bytes; -EBADMSG if that is too few. */
int objfile_go_frame(const struct objfile_go *g, const struct objfile_go_function *f, const uint8_t *code, size_t code_n,
		     struct objfile_go_frame *ret);
