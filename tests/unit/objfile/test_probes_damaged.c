/* SPDX-License-Identifier: (LGPL-2.1 OR BSD-2-Clause) */
/* What probes need to know of files whose bytes have been changed: any answer or error will do, under the sanitizers. */
#include <criterion/criterion.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "build.h"
#include "objfile/objfile.h"
#include "util/cleanup.h"

DEFINE_CLEANUP(struct objfile *, objfile_free)
DEFINE_CLEANUP(struct objfile_names *, objfile_names_free)
DEFINE_CLEANUP(struct objfile_code *, objfile_code_free)
DEFINE_CLEANUP(struct objfile_types *, objfile_types_free)
DEFINE_CLEANUP(struct objfile_inlines *, objfile_inlines_free)
DEFINE_CLEANUP(struct objfile_markers *, objfile_markers_free)

TestSuite(probes_damaged, .init = build_begin, .fini = build_end, .timeout = 250);

static const char source[] =
	"#include <string>\n"
	"volatile int sink;\n"
	"namespace ns { struct Base { int base; }; struct Other; struct Big : Base { std::string s; Big *next; Other *other;\n"
	"  int table[4]; union { int a; float b; }; }; }\n"
	"static inline int twice(int x) { return x * 2 + sink; }\n"
	"extern \"C\" __attribute__((noinline)) int wanted(ns::Big *b, int x, std::string s, double d) {\n"
	"  asm volatile(\"990: nop\\n.pushsection .note.stapsdt,\\\"?\\\",\\\"note\\\"\\n.balign 4\\n.4byte 992f-991f,994f-993f,3\\n\"\n"
	"    \"991: .asciz \\\"stapsdt\\\"\\n992: .balign 4\\n993: .8byte 990b\\n.8byte 0\\n.8byte 0\\n.asciz \\\"p\\\"\\n\"\n"
	"    \".asciz \\\"m\\\"\\n.asciz \\\"8@%rdi -4@8(%rsi)\\\"\\n994: .balign 4\\n.popsection\\n\");\n"
	"  switch (x) { case 0: return 1; case 1: sink = 3; break; case 2: return twice(x); case 3: sink = 5; break; case 4: return 8; }\n"
	"  if (__builtin_expect(x == 77, 0)) abort(); return twice(b->table[x & 3]) + (int)s.size() + (int)d; }\n"
	"extern \"C\" int second(int x) { sink++; return wanted(0, x, \"\", 1.0); }\n";

/* The number of things that it could tell. */
static size_t use_code(struct objfile *o, const struct objfile_names *names)
{
	_cleanup_(objfile_code_freep) struct objfile_code *code = NULL;
	const struct objfile_name *all;
	size_t n = objfile_names_all(names, &all), told = 0;

	if (objfile_code_new(o, NULL, &code))
		return 0;
	for (size_t i = 0; i < n && i < 200; i++) {
		struct objfile_scan scan;
		struct objfile_why why = { "" };

		if (all[i].imported)
			continue;
		if (objfile_code_scan(code, all[i].vaddr, all[i].size, OBJFILE_NEEDS(5), &scan, &why))
			continue;
		cr_assert_lt(strlen(scan.entry.text), sizeof(scan.entry.text));
		told += 1 + scan.exit_n;
		objfile_scan_done(&scan);
	}
	return told;
}

static size_t use_types(struct objfile *o, uint64_t wanted)
{
	static const char *const paths[] = { "b->base", "b->s", "b->next->next->table[3]", "b->other{ns::Big}->a", "x", "s", "d",
					     "$arg1", "$retval", "b{ns::Big}->next[1].s" };
	_cleanup_(objfile_types_freep) struct objfile_types *types = NULL;
	_cleanup_(objfile_inlines_freep) struct objfile_inlines *inlines = NULL;
	struct objfile_search search = { .path = "/x.so", .root_fd = -1 };
	size_t told = 0;

	if (objfile_types_new(o, &search, 16u << 20, &types))
		return 0;
	for (size_t i = 0; i < sizeof(paths) / sizeof(*paths); i++) {
		struct objfile_value value;
		struct objfile_why why = { "" };

		if (objfile_types_value(types, wanted, "wanted", paths[i], &value, &why))
			continue;
		cr_assert_leq(value.fetch.deref_n, WCBPF_DEREFS_MAX);
		cr_assert_leq(value.fetch.bytes, WCBPF_VALUE_BYTES_MAX);
		told++;
	}
	if (!objfile_inlines_new(types, NULL, &inlines))
		told += objfile_inlines_n(inlines, "twice");
	return told;
}

static size_t use_markers(struct objfile *o)
{
	_cleanup_(objfile_markers_freep) struct objfile_markers *m = NULL;
	const struct objfile_marker *all;
	size_t n, told = 0;

	if (objfile_markers_new(o, &m))
		return 0;
	n = objfile_markers_all(m, &all);
	for (size_t i = 0; i < n; i++) {
		for (unsigned int k = 1; k < 4; k++) {
			struct objfile_value value;

			told += !objfile_marker_value(&all[i], k, &value, NULL);
		}
	}
	return told;
}

static size_t use(const unsigned char *bytes, size_t n, uint64_t wanted)
{
	_cleanup_(closep) int fd = memfd_create("damaged", MFD_CLOEXEC);
	_cleanup_(objfile_freep) struct objfile *o = NULL;
	_cleanup_(objfile_names_freep) struct objfile_names *names = NULL;

	cr_assert_eq(write(fd, bytes, n), (ssize_t)n);
	if (objfile_open_fd(fd, &o) || objfile_names_new(o, NULL, &names))
		return 0;
	return use_code(o, names) + use_types(o, wanted) + use_markers(o);
}

/* Where sections lie in the file: "NAME OFFSET SIZE". */
struct part {
	size_t at, n;
};

static size_t find_parts(const char *path, struct part *ret, size_t max)
{
	_cleanup_(freep) char *text = build_output("readelf -SW %s | sed 's/^ *\\[ *[0-9]*\\] *//' | "
						   "awk '$1 ~ /^\\.(text|eh_frame|gcc_except_table|debug_info|debug_abbrev|debug_loc.*|"
						   "note.stapsdt|symtab|dynsym|gnu.version.*|rodata|strtab)$/ {print $4, $5}'", path);
	char *save = NULL;
	size_t n = 0;

	for (char *line = strtok_r(text, "\n", &save); line && n < max; line = strtok_r(NULL, "\n", &save))
		if (sscanf(line, "%zx %zx", &ret[n].at, &ret[n].n) == 2 && ret[n].n)
			n++;
	return n;
}

Test(probes_damaged, random_bits)
{
	const char *path = build_compile("x.so", "-xc++ -g -O2 -shared -fPIC", source);
	_cleanup_(freep) char *text = build_output("nm %s | awk '$3 == \"wanted\" {print $1}'", path);
	_cleanup_(freep) unsigned char *bytes = NULL;
	_cleanup_(freep) unsigned char *copy = NULL;
	uint64_t wanted = strtoull(text, NULL, 16);
	struct part parts[32];
	size_t n, part_n = find_parts(path, parts, 32), whole, told = 0, rounds = 600;

	cr_assert_geq(part_n, 10);
	bytes = build_read(path, &n);
	copy = malloc(n);
	whole = use(bytes, n, wanted);
	cr_assert_gt(whole, 20, "%zu", whole);
	srand(13);
	for (size_t i = 0; i < rounds; i++) {
		memcpy(copy, bytes, n);
		for (int hits = 1 + rand() % 8; hits; hits--) {
			const struct part *part = &parts[(size_t)rand() % part_n];
			size_t at = part->at + (size_t)rand() % part->n;

			copy[at] = rand() % 2 ? (unsigned char)rand() : copy[at] ^ (unsigned char)(1 << rand() % 8);
		}
		told += use(copy, n, wanted);
	}
	/* Most of the hits don't matter. */
	cr_assert_gt(told, rounds * whole / 3);
}
