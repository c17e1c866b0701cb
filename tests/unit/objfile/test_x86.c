/* SPDX-License-Identifier: (LGPL-2.1 OR BSD-2-Clause) */
/* Instructions and the extents of functions, against objdump and readelf. */
#include <criterion/criterion.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "build.h"
#include "objfile/extents.h"
#include "objfile/objfile.h"
#include "objfile/x86.h"
#include "util/cleanup.h"

DEFINE_CLEANUP(struct objfile *, objfile_free)

TestSuite(x86, .init = build_begin, .fini = build_end);

struct line {
	uint64_t addr;
	uint8_t code[16];
	size_t len;
	const char *text; /* mnemonic and operands */
};

/* " 26381:\te8 19 00 00 00 \tcall 2639f <abort>". False: no such line. */
static bool parse_line(char *s, struct line *ret)
{
	char *code = strchr(s, '\t'), *text = code ? strchr(code + 1, '\t') : NULL;

	if (!text)
		return false;
	ret->addr = strtoull(s, NULL, 16);
	ret->text = text + 1;
	ret->len = 0;
	for (*text = '\0'; code && ret->len < sizeof(ret->code); ret->len++) {
		unsigned int byte;

		if (sscanf(code, "%2x", &byte) != 1)
			break;
		ret->code[ret->len] = (uint8_t)byte;
		code = strchr(code + 1, ' ');
	}
	return ret->len > 0;
}

/* What objdump says the instruction names; false: nothing of ours. */
static bool names_code(const struct line *l, enum x86_sort *ret_sort, uint64_t *ret)
{
	const char *comment = strchr(l->text, '#'), *word = l->text; /* "lea 0x10(%rip),%r9   # 1234 <f>" */

	while (!strncmp(word, "bnd ", 4) || !strncmp(word, "notrack ", 8) || !strncmp(word, "data16 ", 7))
		word = strchr(word, ' ') + 1;
	if (!strncmp(word, "lea", 3) && comment) {
		*ret_sort = X86_ADDRESS;
		return sscanf(comment, "# %" SCNx64, ret) == 1;
	}
	*ret_sort = X86_BRANCH;
	return (word[0] == 'j' || !strncmp(word, "call", 4) || !strncmp(word, "loop", 4)) &&
	       sscanf(word, "%*s %" SCNx64, ret) == 1;
}

static void check_line(const struct line *l)
{
	struct x86_insn insn = { 0 };
	enum x86_sort sort;
	uint64_t target;

	cr_assert_eq(x86_decode(l->code, l->len, &insn), 0, "%" PRIx64 ": %s", l->addr, l->text);
	cr_assert_eq(insn.len, l->len, "%" PRIx64 ": %s has %zu bytes, not %u", l->addr, l->text, l->len, insn.len);
	if (!names_code(l, &sort, &target)) {
		cr_assert_eq(insn.sort, X86_OTHER, "%" PRIx64 ": %s", l->addr, l->text);
		return;
	}
	cr_assert_eq(insn.sort, sort, "%" PRIx64 ": %s", l->addr, l->text);
	cr_assert_eq(l->addr + (uint64_t)insn.target, target, "%" PRIx64 ": %s", l->addr, l->text);
	/* Not all of it there. */
	cr_assert_eq(x86_decode(l->code, l->len - 1, &insn), -EBADMSG, "%" PRIx64 ": %s", l->addr, l->text);
}

static size_t check_file(const char *path)
{
	_cleanup_(freep) char *text =
		build_output("objdump -dw --insn-width=16 %s | grep -v -e '(bad)' -e '\\.byte'", path);
	struct line l;
	size_t n = 0;
	char *save;

	for (char *s = strtok_r(text, "\n", &save); s; s = strtok_r(NULL, "\n", &save)) {
		/* objdump shows fwait and what follows as one. */
		if (parse_line(s, &l) && l.code[0] != 0x9b) {
			check_line(&l);
			n++;
		}
	}
	return n;
}

Test(x86, all_of_libc)
{
	_cleanup_(freep) char *path = build_output("gcc -print-file-name=libc.so.6 | tr -d '\\n'");

	cr_assert_gt(check_file(path), 300000);
}

Test(x86, every_kind_of_prefix_and_immediate)
{
	static const char source[] =
		"void f(void){__asm__(\""
		"movabs $0x123456789abcdef0,%rax; movabs 0x123456789abcdef0,%al; addr32 mov %al,0x12345678;"
		"mov $0x1234,%ax; mov $0x12345678,%eax; add $0x1234,%ax; enter $16,$2; ret $8; out %al,$3; loop .; jrcxz .;"
		"testb $1,(%rax); testw $0x1234,8(%rax,%rbx); testl $5,0x12345678(,%rbx,4); testq $5,(%r13); notl (%r12);"
		"imul $0x1234,%ax,%bx; push $1; push $0x12345678; pushw $0x1234; lock cmpxchg16b 0x10(%rsp);"
		"lea 0x10(%rip),%r9; lea 0x10(%eip),%eax; lea 8(%rax),%rcx; mov 0x10(%rip),%rax; jmp . + 100; jmp . + 1000;"
		"jne . + 3; jne . + 3000; bnd jmp . + 3000; rep stosb; xbegin . + 64; vzeroupper;"
		"pshufd $1,%xmm0,%xmm1; palignr $1,%xmm0,%xmm1; crc32b %al,%ecx; vpaddd %ymm0,%ymm1,%ymm2; vpshufd $1,(%rax),%ymm3;"
		"vpermq $1,0x20(%rdi),%ymm1; vpaddd 0x40(%rdi){1to16},%zmm1,%zmm2; vpternlogd $1,%zmm0,%zmm1,%zmm2;"
		"vcmpps $1,%zmm0,%zmm1,%k1; vaddph %zmm0,%zmm1,%zmm2; kmovq %k1,%rax; andn %eax,%ebx,%ecx; rorx $3,%eax,%ebx;"
		"vpperm %xmm0,%xmm1,%xmm2,%xmm3; vphaddwq %xmm1,%xmm2; bextr $0x12345678,%eax,%ebx; pop (%rax); xabort $1;"
		"bt $3,%eax; shld $3,%eax,%ebx; ud2; syscall; endbr64; pfadd %mm0,%mm1\");}";

	cr_assert_gt(check_file(build_compile("kinds", "-c -O2", source)), 56);
}

Test(x86, no_instruction)
{
	static const uint8_t prefixes[32] = { [0 ... 31] = 0x66 }, pop_es[] = { 0x07 };
	struct x86_insn insn = { .len = 77 };

	cr_assert_eq(x86_decode(prefixes, sizeof(prefixes), &insn), -EBADMSG);
	cr_assert_eq(x86_decode(pop_es, sizeof(pop_es), &insn), -EBADMSG);
	cr_assert_eq(x86_decode(pop_es, 0, &insn), -EBADMSG);
	cr_assert_eq(insn.len, 77);
}

static void check_extents(const char *path)
{
	_cleanup_(freep) char *text =
		build_output("readelf --debug-dump=frames %s 2>&1 | sed -n "
			     "'s/.* FDE .*pc=\\([0-9a-f]*\\)\\.\\.\\([0-9a-f]*\\)$/\\1 \\2/p' | sort", path);
	_cleanup_(closep) int fd = open(path, O_RDONLY | O_CLOEXEC);
	_cleanup_(objfile_freep) struct objfile *o = NULL;
	_cleanup_(freep) struct extent *extents = NULL;
	size_t n, i = 0;
	char *save;

	cr_assert_eq(objfile_open_fd(fd, &o), 0);
	cr_assert_eq(extents_read(objfile_elf(o), &extents, &n), 0);
	for (char *s = strtok_r(text, "\n", &save); s; s = strtok_r(NULL, "\n", &save), i++) {
		uint64_t start, end;

		cr_assert_eq(sscanf(s, "%" SCNx64 " %" SCNx64, &start, &end), 2);
		cr_assert_lt(i, n, "%s: %zu extents", path, n);
		cr_assert(extents[i].start == start && extents[i].end == end, "%s: %s, not %" PRIx64 "..%" PRIx64, path, s,
			  extents[i].start, extents[i].end);
	}
	cr_assert_eq(i, n);
	cr_assert_gt(n, 2);
}

Test(x86, extents)
{
	_cleanup_(freep) char *c = build_output("gcc -print-file-name=libc.so.6 | tr -d '\\n'");
	_cleanup_(freep) char *cxx = build_output("realpath $(gcc -print-file-name=libstdc++.so.6) | tr -d '\\n'");

	check_extents(c);
	check_extents(cxx);
	check_extents(build_compile("fixed", "-no-pie -O2", "int g(int x){return x;} int main(int c,char**v){return g(c);}"));
	check_extents(build_compile("cxx.so", "-xc++ -shared -fPIC -O1",
				    "struct A{~A();}; void h(); int f(int x){A a; h(); return x;} int g(){A a; return f(2);}"));
}
