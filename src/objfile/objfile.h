/* SPDX-License-Identifier: (LGPL-2.1 OR BSD-2-Clause) */
#pragma once
/*
 * One ELF file: its build id, segments and function symbols; its code, as far
 * as probes need it. Contents are untrusted: never asserted, always
 * bounds-checked (libelf does the reading).
 */
#include <gelf.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "bpf/wire.h"

struct objfile;

/* Why something can't be had, for people: one clause without a full stop. Set only by calls that fail. */
struct objfile_why {
	char text[200];
};

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
/* The file offset of an address, by the same. -ENOENT: it isn't in the file. */
int objfile_offset_of_vaddr(const struct objfile *o, uint64_t vaddr, uint64_t *ret);
/* The dynamic linker that a program asks for (PT_INTERP). -ENOENT: none, it is static; -ENAMETOOLONG, -EBADMSG. */
int objfile_interpreter(const struct objfile *o, char *ret, size_t size);
/* n bytes of the file from an offset on. -EBADMSG: it isn't that long. -EBADF: detached. -errno. */
int objfile_read(const struct objfile *o, uint64_t offset, void *ret, size_t n);
/* The same from an address on; all must lie in one PT_LOAD's part of the file, else -EBADMSG. */
int objfile_read_vaddr(const struct objfile *o, uint64_t vaddr, void *ret, size_t n);
/*
 * The same of what no process changes (no segment that is written to): up to n > 0 bytes, as many as the segment has.
 * -ENOENT: there is no such segment.
 */
int objfile_read_constant(const struct objfile *o, uint64_t vaddr, void *ret, size_t n, size_t *ret_n);

/* ---- function symbols ---- */

struct objfile_symbol {
	const char *name; /* raw, mangled; without the version that linkers append (name@@VERSION); of a stub name@plt */
	uint64_t value, size;
	uint32_t alias_n; /* how many other names of functions are at value, but for spellings of it: __x, __GI___x, __libc_x, __new_x */
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
/* The first of exactly that name that is no wrapper. Looks at all of them. -ENOENT, -EBADMSG. */
int objfile_go_function_named(const struct objfile_go *g, const char *name, struct objfile_go_function *ret);

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

/* ---- all names of functions ---- */

/* A name that a symbol table has for a function. */
struct objfile_name {
	const char *name;    /* raw, mangled; without version */
	const char *version; /* "GLIBC_2.2.5"; NULL: none */
	uint64_t vaddr;	     /* imported: 0 */
	uint64_t size;	     /* 0: not stated */
	bool local;	     /* static */
	bool ifunc;	     /* the code there only chooses the function that is run */
	bool imported;	     /* another file has the function */
	bool old_version;    /* what programs that are linked now don't get */
};
struct objfile_names;
/*
 * Those of .symtab and .dynsym of the file and its debug file (or NULL), else of .gnu_debugdata too; each once. Sorted
 * by name, then version (none first), then address. Neither file is needed afterwards. -EBADF: detached, -ENOMEM.
 */
int objfile_names_new(struct objfile *o, struct objfile *debug, struct objfile_names **ret);
struct objfile_names *objfile_names_free(struct objfile_names *n);
/* All of them; *ret is the array, its strings live as long as n. Their number. */
size_t objfile_names_all(const struct objfile_names *n, const struct objfile_name **ret);
/* Those of exactly that name: their number, *ret the first; 0: none. */
size_t objfile_names_find(const struct objfile_names *n, const char *name, const struct objfile_name **ret);
/* The i-th (from 0) of those at an address, by name; NULL: there are no more. */
const struct objfile_name *objfile_names_at(const struct objfile_names *n, uint64_t vaddr, size_t i);
/* Are they spellings of one name, as __x, __GI___x, __libc_x, __new_x and x64 are of x? */
bool objfile_names_alike(const char *a, const char *b);

/* ---- where a function can be probed ---- */

/* What it takes the kernel to go on after a breakpoint there; the first is the cheapest by far. */
enum objfile_step {
	OBJFILE_STEP_EMULATED, /* does what the instruction does (push, jumps, call, nop) */
	OBJFILE_STEP_NOP,      /* a nop of several bytes: from Linux 6.18 on as the first, before as the next */
	OBJFILE_STEP_SINGLE,   /* runs a copy of it under the single-step trap */
};

#define OBJFILE_ALWAYS (-1)
/* An instruction. */
struct objfile_spot {
	uint64_t vaddr;
	uint8_t len;
	uint8_t step;	 /* enum objfile_step */
	uint8_t cfa_reg; /* DWARF number, 7 or 6: when it is reached, CFA is cfa_reg + cfa_off */
	bool repeats;	 /* reached more than once in some calls: again with the same CFA */
	int8_t branch;	 /* a conditional jump: x86's number of its condition, 0 to 15; else OBJFILE_ALWAYS */
	int32_t cfa_off;
	char text[64];	 /* AT&T syntax */
};

/* Where a function is left for good, to its caller or to a function that returns to it. */
struct objfile_exit {
	struct objfile_spot at;
	bool tail;	  /* a jump to another function */
	int8_t condition; /* OBJFILE_ALWAYS; else 0 to 15, x86's number of the condition that must hold: else it is no exit */
	uint64_t target;  /* of a direct jump; else 0 */
};

struct objfile_scan {
	struct objfile_spot entry;
	struct objfile_exit *exits; /* by address */
	size_t exit_n;		    /* 0 though they are known: it never returns */
	bool exits_known;
	struct objfile_why why_not; /* if they aren't */
};
void objfile_scan_done(struct objfile_scan *scan);

/* What a scan needs of one file, kept for its functions. x86_64 only. */
struct objfile_code;
/*
 * go: the file's tables if it is a Go program, else NULL; both must outlive c. o must not be detached as long as c is
 * used, for code is read when asked for, by pread: a mapping shows the breakpoints that are set. -ENOTSUP: another machine.
 */
int objfile_code_new(struct objfile *o, const struct objfile_go *go, struct objfile_code **ret);
struct objfile_code *objfile_code_free(struct objfile_code *c);
/* For needs: the register of that DWARF number must still have what the caller gave it. */
#define OBJFILE_NEEDS(reg) (1u << (reg))
/*
 * The function that begins at vaddr. size 0: not known, then what .eh_frame or Go's tables say. entry is the first
 * instruction that is emulated, past endbr64, before one of the registers needed is lost and before the code branches,
 * and if possible one that is reached once a call; if there is none, the first that is not endbr64. In Go code up to 1.20
 * it mostly is the branch to where the stack is grown, which comes back to it: it is taken then, and not the second time.
 * -ENOTSUP with *ret_why: no instruction of it can be probed, or nothing tells where it ends; -EBADMSG, -errno.
 */
int objfile_code_scan(struct objfile_code *c, uint64_t vaddr, uint64_t size, uint32_t needs, struct objfile_scan *ret,
		      struct objfile_why *ret_why);

/* ---- where functions are inlined ---- */

struct objfile_inline {
	const char *name;  /* plain ("dup_string", "pkg.(*T).m") */
	const char *linkage; /* mangled; NULL: none */
	uint32_t site_n;
};
struct objfile_types;
struct objfile_inlines;
/* By Go's inline trees (types NULL) or by debug information (go NULL), all of which is walked. Strings live as long as they. */
int objfile_inlines_new(struct objfile_types *types, const struct objfile_go *go, struct objfile_inlines **ret);
struct objfile_inlines *objfile_inlines_free(struct objfile_inlines *i);
/* *ret: the array, by name. Their number. */
size_t objfile_inlines_all(const struct objfile_inlines *i, const struct objfile_inline **ret);
/* Sites of that name, plain or linkage. 0: none known. */
uint32_t objfile_inlines_n(const struct objfile_inlines *i, const char *name);

/* ---- values of functions, by the types that debug information states ---- */

/*
 * The file (or its debug file) may go afterwards. Reads at most bytes_max, like objfile_source_new(), and fails like it.
 */
int objfile_types_new(struct objfile *o, const struct objfile_search *where, size_t bytes_max, struct objfile_types **ret);
struct objfile_types *objfile_types_free(struct objfile_types *t);

struct objfile_value {
	struct wcbpf_fetch fetch;
	uint32_t needs;	   /* OBJFILE_NEEDS() of the registers that it comes from */
	char type[128];	   /* of the value, as the program's language has it; "" if not known */
};
/*
 * Where a value of a function is, of which path says which:
 *
 *   $argN     the N-th argument from 1 on; the receiver or `this` counts
 *   NAME      the argument of that name
 *   $retval   the result; $retvalN the N-th (Go)
 *
 * and then any of
 *
 *   .FIELD, ->FIELD   of a structure, or what a pointer to one leads to; also of a base class, an embedded or unnamed member
 *   [N]               of an array, or of what a pointer or slice leads to
 *   {TYPE}            what is here is a pointer to a TYPE (for void *, Go's unsafe.Pointer, data words of interfaces)
 *   .ptr .len .cap    of Go's and Rust's strings and slices
 *   .type .data       of Go's interfaces: the words that it consists of
 *
 * Arguments are for the function's entry, results for its exits. vaddr: where the function begins; name: the symbol
 * by which it was found, to tell functions with one code apart (NULL: any). The fetch has the type's natural
 * form: numbers as they are, char * and Rust's and Go's strings as strings, arrays as bytes, structures can't be.
 * -ENOENT: no such function, argument or field; -ERANGE: it has fewer arguments; -ENOTSUP: it is
 * nowhere where it could be fetched; *ret_why tells.
 */
int objfile_types_value(struct objfile_types *t, uint64_t vaddr, const char *name, const char *path,
			struct objfile_value *ret, struct objfile_why *ret_why);

/*
 * The same for a Go function (amd64, Go 1.17 or later) without debug information, by the types of its arguments
 * and results, receiver first: "(*Cache, context.Context:any, string, *T, func) (*R, error)". Known are Go's basic types, pointers (*X),
 * slices ([]X), arrays ([N]X), struct{X; X}, any, error, interface, func, map, chan; X:Y names an X for the reader and is
 * a Y. Fields are .ptr .len .cap .type .data; struct's are .0 .1 and so on.
 */
int objfile_go_value(const char *signature, const char *path, struct objfile_value *ret, struct objfile_why *ret_why);

/* ---- the runtime of a Go program ---- */

/* By enum wcbpf_site_kind, WCBPF_SITE_GO_PARK first. */
#define OBJFILE_GO_POINTS (WCBPF_SITE_GO_NETREADY - WCBPF_SITE_GO_PARK + 1)
struct objfile_go_runtime {
	struct wcbpf_go_layout layout;
	uint64_t points[OBJFILE_GO_POINTS]; /* where the functions begin; newproc1 for WCBPF_SITE_GO_BORN */
	uint32_t minor;			    /* of the version, 1.minor */
	uint32_t reason_n;
	char **reasons; /* names of wait reasons by number; "" for one that has none. NULL: they aren't known */
};
/*
 * Read from the code and compared with what is known of the version. -ENOTSUP with *ret_why: they contradict each other,
 * or the version isn't known.
 */
int objfile_go_runtime(struct objfile *o, const struct objfile_go *g, struct objfile_go_runtime *ret,
		       struct objfile_why *ret_why);
void objfile_go_runtime_done(struct objfile_go_runtime *r);
/* NULL: not known. */
const char *objfile_go_wait_reason(const struct objfile_go_runtime *r, uint8_t number);

/* Where all goroutines are listed, and the registers of one that doesn't run. */
struct objfile_go_list {
	uint64_t allgs; /* a slice (address, length, capacity) of addresses of g */
	uint16_t sp, pc, bp; /* in g; behind pc is the address of g itself */
};
/* Read from the code of a runtime that is known. -ENOTSUP with *ret_why: it is another than is known. */
int objfile_go_list(const struct objfile *o, const struct objfile_go *g, const struct objfile_go_runtime *r,
		    struct objfile_go_list *ret, struct objfile_why *ret_why);

/* ---- static markers (USDT) ---- */

struct objfile_marker {
	const char *provider, *name;
	const char *arguments;	/* "8@%rdi -4@$5"; "" for none */
	uint64_t vaddr;		/* of the nop */
	uint64_t semaphore;	/* address of the counter of those who listen; 0: none */
	uint64_t semaphore_offset; /* in the file, for the kernel's ref_ctr_offset; 0: none */
};
struct objfile_markers;
/* None is no error. */
int objfile_markers_new(struct objfile *o, struct objfile_markers **ret);
struct objfile_markers *objfile_markers_free(struct objfile_markers *m);
/* *ret: the array, by address. Their number. */
size_t objfile_markers_all(const struct objfile_markers *m, const struct objfile_marker **ret);
/* The i-th argument, from 1 on. -ENOENT: it has none; -ENOTSUP with *ret_why: it is nowhere where it could be fetched. */
int objfile_marker_value(const struct objfile_marker *m, unsigned int i, struct objfile_value *ret,
			 struct objfile_why *ret_why);
