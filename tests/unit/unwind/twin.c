/* SPDX-License-Identifier: (LGPL-2.1 OR BSD-2-Clause) */
#include "twin.h"

#include <dwarf.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <ucontext.h>
#include <unistd.h>

#include "util/cleanup.h"

#define DEPTH 32

uint64_t twin_memory(uint64_t addr)
{
	uint64_t x = addr * 0x9e3779b97f4a7c15ull;

	x ^= x >> 29;
	x *= 0xbf58476d1ce4e5b9ull;
	return x ^ x >> 32;
}

static struct twin_number number(uint64_t v)
{
	return (struct twin_number){ true, v };
}

/* ---- the table's side ---- */

static struct twin_number saved(uint8_t kind, int16_t off, uint64_t reg, uint64_t bp, uint64_t cfa)
{
	switch (kind) {
	case WCBPF_SAVED_SAME: return number(reg);
	case WCBPF_SAVED_CFA: return number(twin_memory(cfa + (uint64_t)(int64_t)off));
	case WCBPF_SAVED_BP: return number(twin_memory(bp + (uint64_t)(int64_t)off));
	}
	return (struct twin_number){ false, 0 };
}

/* As the kernel's struct ucontext has them, which libc declares alike (REG_* are its indices). */
static uint64_t greg(uint64_t sigcontext, int index)
{
	return twin_memory(sigcontext + (uint64_t)index * 8);
}

static struct twin_caller of_signal(uint64_t sigcontext)
{
	return (struct twin_caller){ TWIN_VALUE, number(greg(sigcontext, REG_RSP)), number(greg(sigcontext, REG_RIP)),
				     number(greg(sigcontext, REG_RBP)), number(greg(sigcontext, REG_RBX)), true };
}

struct twin_caller twin_of_rule(const struct wcbpf_rule *r, const uint64_t *regs)
{
	struct twin_caller c = { TWIN_VALUE };
	uint64_t off = (uint64_t)(int64_t)r->cfa_off, sp = regs[7], bp = regs[6], bx = regs[3], cfa;
	int16_t bp_off = r->bp_off;

	switch (r->cfa) {
	case WCBPF_CFA_STOP: c.state = TWIN_STOP; return c;
	case WCBPF_CFA_SP: case WCBPF_CFA_SP_RA_DI: cfa = sp + off; break;
	case WCBPF_CFA_BP: cfa = bp + off; break;
	case WCBPF_CFA_BX: cfa = bx + off; break;
	case WCBPF_CFA_BP_DEREF: cfa = twin_memory(bp + off); break;
	case WCBPF_CFA_SP_DEREF: cfa = twin_memory(sp + off); break;
	case WCBPF_CFA_PLT: cfa = sp + off + ((int16_t)(regs[16] % 16) >= bp_off ? 8 : 0); break;
	case WCBPF_CFA_SIGNAL: return of_signal(sp + off);
	default: c.state = TWIN_UNKNOWN; return c;
	}
	c.sp = number(cfa);
	c.ra = number(r->cfa == WCBPF_CFA_SP_RA_DI ? regs[5] : twin_memory(cfa - 8));
	c.bp = saved(r->bp, bp_off, bp, bp, cfa);
	c.bx = saved(r->bx, r->bx_off, bx, bp, cfa);
	return c;
}

/* ---- libdw's side ---- */

static bool run_binary(uint8_t atom, uint64_t *stack, size_t *n)
{
	uint64_t b, a;

	if (*n < 2)
		return false;
	b = stack[--*n];
	a = stack[*n - 1];
	switch (atom) {
	case DW_OP_plus: a += b; break;
	case DW_OP_minus: a -= b; break;
	case DW_OP_and: a &= b; break;
	case DW_OP_ge: a = (int64_t)a >= (int64_t)b; break;
	case DW_OP_shl: a = b < 64 ? a << b : 0; break;
	default: return false;
	}
	stack[*n - 1] = a;
	return true;
}

/* The value of an expression; *ret_is_place: it is the address of what is meant. */
static bool run(const Dwarf_Op *ops, size_t n, const uint64_t *regs, const uint64_t *cfa, uint64_t *ret,
		bool *ret_is_place)
{
	uint64_t stack[DEPTH];
	size_t depth = 0;

	*ret_is_place = true;
	for (size_t i = 0; i < n; i++) {
		const Dwarf_Op *op = &ops[i];
		uint8_t a = op->atom;

		if (depth == DEPTH)
			return false;
		if (a == DW_OP_regx || (a >= DW_OP_reg0 && a <= DW_OP_reg31)) {
			uint64_t reg = a == DW_OP_regx ? op->number : (uint64_t)(a - DW_OP_reg0);

			*ret = reg <= 16 ? regs[reg] : 0;
			*ret_is_place = false;
			return n == 1 && reg <= 16;
		} else if (a == DW_OP_bregx || (a >= DW_OP_breg0 && a <= DW_OP_breg31)) {
			uint64_t reg = a == DW_OP_bregx ? op->number : (uint64_t)(a - DW_OP_breg0);

			if (reg > 16)
				return false;
			stack[depth++] = regs[reg] + (a == DW_OP_bregx ? op->number2 : op->number);
		} else if (a >= DW_OP_lit0 && a <= DW_OP_lit31) {
			stack[depth++] = a - DW_OP_lit0;
		} else if (a == DW_OP_call_frame_cfa && cfa) {
			stack[depth++] = *cfa;
		} else if (a == DW_OP_stack_value && depth) {
			*ret_is_place = false;
		} else if (a == DW_OP_plus_uconst && depth) {
			stack[depth - 1] += op->number;
		} else if (a == DW_OP_deref && depth) {
			stack[depth - 1] = twin_memory(stack[depth - 1]);
		} else if (!run_binary(a, stack, &depth)) {
			return false;
		}
	}
	if (!depth)
		return false;
	*ret = stack[depth - 1];
	return true;
}

enum said { SAID_VALUE, SAID_UNDEFINED, SAID_SAME, SAID_CANNOT };

static enum said reg_of_frame(Dwarf_Frame *frame, int reg, const uint64_t *regs, const uint64_t *cfa,
			      uint64_t *ret)
{
	Dwarf_Op mem[3], *ops;
	bool is_place;
	size_t n;

	if (dwarf_frame_register(frame, reg, mem, &ops, &n))
		return SAID_CANNOT;
	if (!n && ops)
		return SAID_UNDEFINED;
	if (!n) {
		*ret = regs[reg];
		return SAID_SAME;
	}
	if (!run(ops, n, regs, cfa, ret, &is_place))
		return SAID_CANNOT;
	if (is_place)
		*ret = twin_memory(*ret);
	return SAID_VALUE;
}

struct twin_caller twin_of_frame(Dwarf_Frame *frame, const uint64_t *regs)
{
	struct twin_caller c = { TWIN_UNKNOWN };
	uint64_t cfa = 0, ra, sp, v;
	enum said said;
	Dwarf_Op *ops;
	bool is_place;
	size_t n;

	if (!frame || dwarf_frame_info(frame, NULL, NULL, &c.is_signal) != 16)
		return c;
	said = reg_of_frame(frame, 16, regs, NULL, &ra);
	if (said == SAID_UNDEFINED) {
		c.state = TWIN_STOP;
		return c;
	}
	if (dwarf_frame_cfa(frame, &ops, &n) || !n || !run(ops, n, regs, NULL, &cfa, &is_place))
		return c;
	if (reg_of_frame(frame, 16, regs, &cfa, &ra) != SAID_VALUE ||
	    reg_of_frame(frame, 7, regs, &cfa, &sp) != SAID_VALUE)
		return c;
	c.state = TWIN_VALUE;
	c.sp = number(sp);
	c.ra = number(ra);
	said = reg_of_frame(frame, 6, regs, &cfa, &v);
	if (said == SAID_VALUE || said == SAID_SAME)
		c.bp = number(v);
	said = reg_of_frame(frame, 3, regs, &cfa, &v);
	if (said == SAID_VALUE || said == SAID_SAME)
		c.bx = number(v);
	return c;
}

static bool is_same(struct twin_number a, struct twin_number b)
{
	return a.known == b.known && a.v == b.v;
}

/* Could the tables say it: rsp, rbp or rbx plus a number, return address below? Only then "unsupported" is a fault. */
static bool is_expressible(Dwarf_Frame *frame, const uint64_t *regs, const struct twin_caller *c)
{
	static const int bases[] = { 3, 6, 7 };
	uint64_t moved[17];

	if (c->is_signal || c->ra.v != twin_memory(c->sp.v - 8))
		return false;
	for (size_t i = 0; i < 3; i++) {
		int64_t off = (int64_t)(c->sp.v - regs[bases[i]]);
		struct twin_caller d;

		memcpy(moved, regs, sizeof(moved));
		moved[bases[i]] += 0x123450;
		d = twin_of_frame(frame, moved);
		if (d.sp.v - c->sp.v == 0x123450 && off == (int32_t)off)
			return true;
	}
	return false;
}

/* "Lost" is a fault if the word lies at a place relative to the CFA that the tables can say. */
static bool is_lost_rightly(struct twin_number v, uint64_t cfa)
{
	for (int64_t off = -32768; v.known && off < 32768; off++)
		if (v.v == twin_memory(cfa + (uint64_t)off))
			return false;
	return true;
}

const char *twin_compare(const struct wcbpf_rule *rule, Dwarf_Frame *frame, uint64_t vaddr, uint64_t seed)
{
	struct twin_caller want, got;
	uint64_t regs[17];

	for (size_t i = 0; i < 16; i++)
		regs[i] = 0x100000000000ull + twin_memory(seed + i) % 0x10000000000ull * 8;
	regs[16] = vaddr;
	want = twin_of_frame(frame, regs);
	got = twin_of_rule(rule, regs);
	if (rule->cfa == WCBPF_CFA_NONE)
		return frame ? "no row where libdw has a frame" : NULL;
	if (!frame)
		return rule->cfa == WCBPF_CFA_UNSUPPORTED ? NULL : "a row where libdw has no frame";
	if (rule->cfa == WCBPF_CFA_UNSUPPORTED)
		return want.state == TWIN_STOP || (want.state == TWIN_VALUE && is_expressible(frame, regs, &want)) ?
			       "unsupported without need" : NULL;
	if (want.state != got.state)
		return "one ends here, or can't be computed";
	if (want.state != TWIN_VALUE)
		return NULL;
	if (!is_same(want.sp, got.sp))
		return "another stack pointer";
	if (!is_same(want.ra, got.ra))
		return "another return address";
	if (want.is_signal != got.is_signal)
		return "a signal frame for one only";
	if (got.bp.known ? !is_same(want.bp, got.bp) : !is_lost_rightly(want.bp, want.sp.v))
		return "another rbp";
	/* libdw calls an rbx that is not mentioned undefined: then either is right. */
	if (!want.bx.known)
		return got.bx.known && got.bx.v != regs[3] ? "an invented rbx" : NULL;
	if (got.bx.known ? !is_same(want.bx, got.bx) : !is_lost_rightly(want.bx, want.sp.v))
		return "another rbx";
	return NULL;
}

/* ---- files ---- */

bool twin_open(const char *path, struct twin_file *ret)
{
	struct twin_file f = { .fd = open(path, O_RDONLY | O_CLOEXEC) };
	GElf_Ehdr ehdr;
	Elf_Scn *scn = NULL;
	size_t strings;

	if (f.fd < 0)
		return false;
	elf_version(EV_CURRENT);
	f.elf = elf_begin(f.fd, ELF_C_READ, NULL);
	if (!f.elf || elf_kind(f.elf) != ELF_K_ELF || !gelf_getehdr(f.elf, &ehdr) || ehdr.e_machine != EM_X86_64) {
		twin_close(&f);
		return false;
	}
	f.eh = dwarf_getcfi_elf(f.elf);
	/* A Dwarf handle reads all debug sections: only where there is something to find. */
	elf_getshdrstrndx(f.elf, &strings);
	while ((scn = elf_nextscn(f.elf, scn))) {
		GElf_Shdr shdr;
		const char *name = gelf_getshdr(scn, &shdr) ? elf_strptr(f.elf, strings, shdr.sh_name) : NULL;

		if (name && strstr(name, "debug_frame"))
			f.dwarf = dwarf_begin_elf(f.elf, DWARF_C_READ, NULL);
	}
	f.debug = f.dwarf ? dwarf_getcfi(f.dwarf) : NULL;
	*ret = f;
	return true;
}

void twin_close(struct twin_file *f)
{
	if (f->eh)
		dwarf_cfi_end(f->eh);
	if (f->dwarf)
		dwarf_end(f->dwarf);
	if (f->elf)
		elf_end(f->elf);
	close(f->fd);
}

Dwarf_Frame *twin_frame(const struct twin_file *f, uint64_t vaddr)
{
	Dwarf_Frame *frame;

	if (f->eh && !dwarf_cfi_addrframe(f->eh, vaddr, &frame))
		return frame;
	if (f->debug && !dwarf_cfi_addrframe(f->debug, vaddr, &frame))
		return frame;
	return NULL;
}

static const char *compare_at(const struct unwind_row *row, const struct twin_file *f, uint64_t vaddr)
{
	Dwarf_Frame *frame = twin_frame(f, vaddr);
	const char *wrong = NULL;
	GElf_Ehdr ehdr;

	/* What is begun at needs no rules to say so. */
	if (frame || row->rule.cfa != WCBPF_CFA_STOP || !gelf_getehdr(f->elf, &ehdr) || vaddr < ehdr.e_entry ||
	    vaddr >= ehdr.e_entry + 128)
		wrong = twin_compare(&row->rule, frame, vaddr, vaddr * 31);
	free(frame);
	return wrong;
}

const char *twin_compare_rows(const struct unwind_rows *rows, const struct twin_file *f, size_t rows_max,
			      uint64_t *ret_vaddr, size_t *ret_n)
{
	size_t stride = rows_max ? rows->n / rows_max + 1 : 1;
	const char *wrong = NULL;

	*ret_n = 0;
	for (size_t i = 0; i < rows->n && !wrong; i += stride) {
		const struct unwind_row *r = &rows->v[i];
		uint64_t n = i + 1 < rows->n ? r[1].vaddr - r->vaddr : 64, steps = r->rule.cfa ? 2 : 40;

		/* From the first address to the last. */
		for (uint64_t k = 0; k <= steps && k < n && !wrong; k++) {
			*ret_vaddr = r->vaddr + (n <= steps ? k : (n - 1) * k / steps);
			wrong = compare_at(r, f, *ret_vaddr);
			++*ret_n;
		}
	}
	if (!wrong && rows->v[0].vaddr) {
		*ret_vaddr = rows->v[0].vaddr - 1;
		wrong = compare_at(&(struct unwind_row){ 0 }, f, *ret_vaddr);
	}
	return wrong;
}

struct wcbpf_rule twin_rule(const struct unwind_rows *rows, uint64_t vaddr)
{
	struct wcbpf_rule rule = { 0 };

	for (size_t i = 0; i < rows->n && rows->v[i].vaddr <= vaddr; i++)
		rule = rows->v[i].rule;
	return rule;
}

static void add_path(char **paths, size_t *n, const char *path)
{
	_cleanup_(freep) char *real = realpath(path, NULL);

	for (size_t i = 0; real && i < *n; i++)
		if (!strcmp(paths[i], real))
			return;
	if (real && *n < TWIN_OBJECTS_MAX)
		paths[(*n)++] = TAKE_PTR(real);
}

/* The paths among a command's or file's words. */
static void add_words(FILE *from, char **paths, size_t *n)
{
	char word[4096];

	while (from && fscanf(from, "%4095s", word) == 1)
		if (*word == '/' && !access(word, R_OK))
			add_path(paths, n, word);
}

size_t twin_objects(char **ret)
{
	size_t n = 0;
	FILE *f = popen("awk '$2 ~ /x/ && $6 ~ \"^/\" {print $6}' /proc/$PPID/maps", "r");

	add_words(f, ret, &n);
	pclose(f);
	f = popen("for p in /usr/bin/python3 sh redis-server nginx node"
		  " $(ls /usr/lib/postgresql/*/bin/postgres 2>/dev/null); do"
		  " p=$(readlink -f \"$(command -v $p)\") && echo $p && ldd $p 2>/dev/null; done", "r");
	add_words(f, ret, &n);
	pclose(f);
	return n;
}

/* ---- the store ---- */

static int make_shard(void *arg, uint32_t index, struct wcbpf_row **ret)
{
	struct twin_store *s = arg;

	if (index >= s->shard_max)
		return s->shard_error;
	if (index != s->shard_n)
		abort();
	s->shards[index] = calloc(WCBPF_SHARD_ROWS, sizeof(**ret));
	s->shard_n++;
	*ret = s->shards[index];
	return 0;
}

void twin_store_init(struct twin_store *s)
{
	*s = (struct twin_store){ .shard_max = WCBPF_SHARDS_MAX, .shard_error = -ENOMEM };
	s->memory.rules = calloc(WCBPF_RULES_MAX, sizeof(*s->memory.rules));
	s->memory.dirs = calloc(WCBPF_DIRS_MAX, sizeof(*s->memory.dirs));
	s->memory.shard = make_shard;
	s->memory.arg = s;
}

void twin_store_done(struct twin_store *s)
{
	for (uint32_t i = 0; i < s->shard_n; i++)
		free(s->shards[i]);
	free(s->memory.rules);
	free(s->memory.dirs);
}

struct wcbpf_rule twin_store_lookup(const struct twin_store *s, const struct unwind_place *place, uint64_t vaddr)
{
	uint64_t page = vaddr >> WCBPF_PAGE_SHIFT;
	const struct wcbpf_dir *dir;
	const struct wcbpf_row *rows;
	uint32_t base = 0, n;

	if (page < place->page0 || page - place->page0 >= place->page_n)
		return (struct wcbpf_rule){ 0 };
	dir = &s->memory.dirs[place->dir0 + page - place->page0];
	if (!dir->n)
		return (struct wcbpf_rule){ 0 };
	rows = &s->shards[dir->row / WCBPF_SHARD_ROWS][dir->row % WCBPF_SHARD_ROWS];
	for (n = dir->n; n > 1; n -= n / 2)
		if (rows[base + n / 2].low <= (vaddr & 0xffff))
			base += n / 2;
	return s->memory.rules[rows[base].rule];
}
