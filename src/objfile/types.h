/* SPDX-License-Identifier: (LGPL-2.1 OR BSD-2-Clause) */
#pragma once
/* Types as debug information tells them: what they are, what they have inside. */
#include <elfutils/libdw.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "objfile/image.h"
#include "objfile/objfile.h"
#include "objfile/units.h"
#include "util/map.h"
#include "util/strtab.h"

struct objfile_types {
	struct image image, shared;
	bool is_x86_64;
	struct units *units;
	struct strtab *names;	 /* of structures; NULL: not read yet */
	struct map *definitions; /* id of a name -> offset of the entry that defines it */
};

/* ---- type.c ---- */

/* Without typedefs, const and the like. False: void, or damaged. */
bool type_peel(Dwarf_Die *type, Dwarf_Die *ret);
/* The type of a variable, member, pointer, array, not peeled. False: void. */
bool type_of(Dwarf_Die *die, Dwarf_Die *ret);
/* False: not stated, or not a number. */
bool die_number(Dwarf_Die *die, unsigned int attribute, uint64_t *ret);
bool die_flag(Dwarf_Die *die, unsigned int attribute);
/* NULL: it has none. */
const char *die_name(Dwarf_Die *die);
/* Bytes; false: not known. */
bool type_size(Dwarf_Die *type, uint64_t *ret);
/* Of an array: how many elements, of all dimensions. False: not known. */
bool type_element_n(Dwarf_Die *array, uint64_t *ret);
/* As people know it: "char *", "main.Req", "uint32_t [4]". */
void type_text(Dwarf_Die *type, char *ret, size_t n);
bool type_is_structure(Dwarf_Die *type); /* struct, class, union; of a peeled one */
bool type_is_pointer(Dwarf_Die *type);	 /* or reference */
/* Where a member or base class is in its structure. False: not at a fixed place. */
bool member_offset(Dwarf_Die *member, uint64_t *ret);
/*
 * Is it a bit field? Its lowest bit, from the structure's beginning, and how many; *ret_begin -1: where is not known. type is
 * its type.
 */
bool member_bits(Dwarf_Die *member, Dwarf_Die *type, int64_t *ret_begin, uint64_t *ret_n);
/* Calls f for each entry directly below die, in the file's order, until it gives true, which is given back. */
bool die_each_child(Dwarf_Die *die, bool (*f)(void *arg, Dwarf_Die *child), void *arg);

/* ---- definitions.c ---- */

/* The structure of a name, "ns::T", "pkg.T". -ENOENT, -ENOMEM. The first call reads all of them. */
int types_definition(struct objfile_types *t, const char *name, Dwarf_Die *ret);
/* A peeled structure that is only declared there becomes its definition, if there is one. */
int types_complete(struct objfile_types *t, Dwarf_Die *type);

/* ---- layout.c ---- */

enum leaf_kind {
	LEAF_INTEGER, /* numbers, pointers, enumerations, bool */
	LEAF_FLOAT,
	LEAF_LONG_DOUBLE,
};
struct leaf {
	uint32_t off, size;
	uint8_t kind; /* enum leaf_kind */
};
#define LEAVES_MAX 64
/* What a value consists of, as far as how it is handed over depends on it. */
struct layout {
	struct leaf v[LEAVES_MAX]; /* by offset */
	size_t n;
	uint64_t size;
	uint32_t align;
	bool too_many;	   /* there are more leaves */
	bool array;	   /* has an array of more than one element inside */
	bool by_reference; /* C++: its address is handed over, not itself */
};
/* -ENOTSUP: its size isn't known. */
int layout_of(struct objfile_types *t, Dwarf_Die *type, struct layout *ret);
/* One more leaf of a value that is put together by hand; keeps the order. */
void layout_add(struct layout *l, uint64_t off, uint32_t size, enum leaf_kind kind);

/* cxx-class.c: is an object of this peeled class handed over by its address? Never so in other languages. */
bool class_by_reference(struct objfile_types *t, Dwarf_Die *class);

/* ---- places of values ---- */

struct piece {
	uint32_t off, size; /* of the value */
	uint8_t reg;	    /* DWARF number */
	bool lost;	    /* in no general register */
};
enum place_sort {
	PLACE_NONE,	 /* it isn't anywhere */
	PLACE_REGISTERS, /* pieces */
	PLACE_CFA,	 /* in memory at CFA + at */
	PLACE_POINTER,	 /* in memory at reg + at */
	PLACE_STACK_POINTER, /* in memory, at the address that is at CFA + at */
	PLACE_CONST,	 /* it is the number at */
};
struct place {
	struct piece v[LEAVES_MAX];
	size_t n;
	enum place_sort sort;
	uint8_t reg;
	int64_t at;
};

/* abi-*.c: where arguments are when a function begins, results when it ends; ret_args has arg_n, ret_results result_n. */
struct signature {
	const struct layout *args, *results;
	size_t arg_n, result_n; /* result_n at most 1, but for Go */
};
void abi_sysv(const struct signature *s, struct place *ret_args, struct place *ret_results);
void abi_go(const struct signature *s, struct place *ret_args, struct place *ret_results);
/* Rust's own is no standard: what may be otherwise in some release is PLACE_NONE. */
void abi_rust(const struct signature *s, struct place *ret_args, struct place *ret_results);

/* location.c: what debug information says of an argument's place at its function's first address, vaddr. */
enum location {
	LOCATION_UNKNOWN, /* nothing that is true there */
	LOCATION_KNOWN,
	LOCATION_GONE, /* it has been optimized away */
};
enum location location_at(Dwarf_Die *variable, Dwarf_Die *function, uint64_t vaddr, struct place *ret);

/* ---- value.c: steps from a place to a value in it ---- */

/* Of a number: a bit field. */
struct bits {
	uint8_t n;     /* 0: it is no bit field */
	uint8_t at;    /* 0 the lowest */
	uint8_t bytes; /* of the number that they are part of */
};
struct cursor {
	struct wcbpf_fetch fetch; /* if memory: what leads to the structure, value at last */
	const struct place *place; /* NULL: in memory by now */
	uint64_t off;		   /* in the place's value */
	struct bits bits;	   /* of what is here */
	uint32_t needs;
};
int cursor_begin(const struct place *place, struct cursor *ret, struct objfile_why *ret_why);
/* To what lies off bytes further on. */
int cursor_move(struct cursor *c, int64_t off, struct objfile_why *ret_why);
/* To what the pointer here leads to. */
int cursor_follow(struct cursor *c, struct objfile_why *ret_why);
/* If what is here is a reference of C++: to what it stands for, whose type *type becomes. */
int cursor_refer(struct cursor *c, Dwarf_Die *type, struct objfile_why *ret_why);
/* What is here as a value of that kind; bytes is its size. */
int cursor_number(struct cursor *c, uint32_t bytes, bool is_signed, struct objfile_why *ret_why);
int cursor_c_string(struct cursor *c, struct objfile_why *ret_why);	 /* here is a pointer to it */
int cursor_counted_string(struct cursor *c, uint64_t length_off, struct objfile_why *ret_why); /* a pointer is here */
int cursor_bytes(struct cursor *c, uint64_t bytes, bool is_text, struct objfile_why *ret_why);
/* By the type that is here. */
int cursor_finish(struct cursor *c, struct objfile_types *t, Dwarf_Die *type, struct objfile_value *ret,
		  struct objfile_why *ret_why);

/* ---- path.c ---- */

enum path_head {
	PATH_ARGUMENT, /* number */
	PATH_NAMED,    /* an argument, by name */
	PATH_RESULT,   /* number */
};
#define PATH_NAME_MAX 128
struct path {
	enum path_head head;
	unsigned int number; /* from 1 on */
	char name[PATH_NAME_MAX];
	const char *rest; /* what follows */
};
/* -EINVAL with *ret_why. */
int path_begin(const char *text, struct path *ret, struct objfile_why *ret_why);
enum path_step {
	PATH_END,
	PATH_MEMBER, /* name */
	PATH_INDEX,  /* index */
	PATH_CAST,   /* name */
};
/* The next step at *text, which moves on. -EINVAL with *ret_why. */
int path_next(const char **text, enum path_step *ret, char ret_name[static PATH_NAME_MAX], uint64_t *ret_index,
	      struct objfile_why *ret_why);
/* From what c is at along a path by types; *type becomes that of where it ends. */
int path_walk(struct objfile_types *t, const char *text, struct cursor *c, Dwarf_Die *type, struct objfile_why *ret_why);

/* ---- member.c ---- */

#define STEPS_MAX 8
/* From a structure to a member, also one of those inside it. */
struct steps {
	struct {
		uint64_t off;
		bool follow; /* what is there is a pointer, to be followed */
	} v[STEPS_MAX];
	size_t n;
	struct bits bits; /* of the last: at its offset */
};
/* -ENOENT, -ENOTSUP: it is a bit field that can't be read as one number. type is a peeled structure. */
int member_find(struct objfile_types *t, Dwarf_Die *type, const char *name, struct steps *ret, Dwarf_Die *ret_type);
