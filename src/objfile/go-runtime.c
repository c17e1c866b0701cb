/* SPDX-License-Identifier: (LGPL-2.1 OR BSD-2-Clause) */
/*
 * Nothing in a stripped program tells where its runtime keeps a goroutine's
 * number or why it waits, and an offset that is wrong by eight gives numbers
 * that look right. So it is read from code that must use it:
 *
 *   casgstatus    lock cmpxchg %ecx,STATUS(%reg)
 *   gopark        mov 0x30(%r14),%mp; mov CURG(%mp),%gp; mov STATUS(%gp),...; mov %cl,WAIT_REASON(%gp)
 *   newproc1      has stores of a register to GOPC, START_PC and PARENT_GOID of something
 *
 * and must be what the release is known to have. The goroutine's number lies
 * behind its status and a lock of four bytes in all releases.
 *
 * Names of wait reasons are in the program itself: waitReason.String() indexes
 * the table of them.
 */
#include <errno.h>
#include <string.h>

#include "objfile/go.h"
#include "objfile/go-layouts.h"
#include "objfile/insn.h"
#include "objfile/why.h"
#include "util/cleanup.h"

#define CODE_MAX 8192
#define REASONS_MAX 128
#define REASON_BYTES_MAX 64
#define M_IN_G 0x30
#define STACK_GUARD_IN_G 0x10

void objfile_go_runtime_done(struct objfile_go_runtime *r)
{
	for (size_t i = 0; r->reasons && i < r->reason_n; i++)
		free(r->reasons[i]);
	free(r->reasons);
	*r = (struct objfile_go_runtime){ 0 };
}

const char *objfile_go_wait_reason(const struct objfile_go_runtime *r, uint8_t number)
{
	return r->reasons && number < r->reason_n && *r->reasons[number] ? r->reasons[number] : NULL;
}

/* What has been read from code; -1: not seen. */
struct seen {
	int64_t status, curg, wait_reason;
	bool guard, contradicts;
	ZydisRegister mp, gp; /* registers in gopark that have m and the goroutine */
	const struct wcbpf_go_layout *stores_of; /* in newproc1 */
	bool gopc, start_pc, parent_goid;
};

static bool is_load(const struct insn_full *i)
{
	return i->raw.mnemonic == ZYDIS_MNEMONIC_MOV && i->operands[0].type == ZYDIS_OPERAND_TYPE_REGISTER &&
	       i->operands[1].type == ZYDIS_OPERAND_TYPE_MEMORY &&
	       i->operands[1].mem.index == ZYDIS_REGISTER_NONE;
}

static bool is_store(const struct insn_full *i)
{
	return i->raw.mnemonic == ZYDIS_MNEMONIC_MOV && i->operands[1].type == ZYDIS_OPERAND_TYPE_REGISTER &&
	       i->operands[0].type == ZYDIS_OPERAND_TYPE_MEMORY &&
	       i->operands[0].mem.index == ZYDIS_REGISTER_NONE;
}

static void look_in_casgstatus(const struct insn_full *i, struct seen *s)
{
	if (i->raw.mnemonic != ZYDIS_MNEMONIC_CMPXCHG || !(i->raw.attributes & ZYDIS_ATTRIB_HAS_LOCK) ||
	    i->operands[1].reg.value != ZYDIS_REGISTER_ECX)
		return;
	if (s->status >= 0 && s->status != i->operands[0].mem.disp.value)
		s->contradicts = true;
	s->status = i->operands[0].mem.disp.value;
}

static void look_in_gopark(const struct insn_full *i, struct seen *s)
{
	const ZydisDecodedOperand *o = i->operands;

	if (i->raw.mnemonic == ZYDIS_MNEMONIC_CMP && o[1].type == ZYDIS_OPERAND_TYPE_MEMORY &&
	    o[1].mem.base == ZYDIS_REGISTER_R14 && o[1].mem.disp.value == STACK_GUARD_IN_G)
		s->guard = true;
	if (is_load(i) && o[1].mem.base == ZYDIS_REGISTER_R14 && o[1].mem.disp.value == M_IN_G && s->curg < 0) {
		s->mp = o[0].reg.value;
	} else if (is_load(i) && s->mp && s->curg < 0 && o[1].mem.base == s->mp &&
		   o[0].reg.value >= ZYDIS_REGISTER_RAX && o[0].reg.value <= ZYDIS_REGISTER_R15) {
		s->curg = o[1].mem.disp.value;
		s->gp = o[0].reg.value;
	} else if (is_load(i) && s->gp && s->wait_reason < 0 && o[1].mem.base == s->gp && o[1].size == 32) {
		s->contradicts |= s->status != o[1].mem.disp.value;
	} else if (is_store(i) && s->gp && o[1].reg.value == ZYDIS_REGISTER_CL && o[0].mem.base == s->gp) {
		s->wait_reason = o[0].mem.disp.value;
	}
}

static void look_in_newproc1(const struct insn_full *i, struct seen *s)
{
	int64_t to;

	if (!is_store(i) || i->operands[0].size != 64 || i->operands[0].mem.base == ZYDIS_REGISTER_RSP)
		return;
	to = i->operands[0].mem.disp.value;
	s->gopc |= to == s->stores_of->gopc;
	s->start_pc |= to == s->stores_of->start_pc;
	s->parent_goid |= to == s->stores_of->parent_goid;
}

static int each_insn(const struct objfile *o, const struct objfile_go_function *f,
		     void (*look)(const struct insn_full *i, struct seen *s), struct seen *s)
{
	_cleanup_(freep) uint8_t *code = NULL;
	size_t n = f->end - f->start;
	struct insn_full i;
	int err;

	if (n > CODE_MAX)
		return -EBADMSG;
	code = malloc(n + 1);
	if (!code)
		return -ENOMEM;
	err = objfile_read_vaddr(o, f->start, code, n);
	for (size_t at = 0; !err && at < n && !insn_decode(code + at, n - at, f->start + at, &i); at += i.brief.len)
		look(&i, s);
	return err;
}

/* NULL: what the code says is this layout; else the name of what isn't. */
static const char *difference(const struct seen *s, const struct wcbpf_go_layout *l)
{
	if (!s->guard)
		return "the stack's bounds";
	if (s->contradicts || s->status != l->status || l->goid != l->status + 8)
		return "a goroutine's status";
	if (s->curg != l->curg)
		return "a thread's goroutine";
	if (s->wait_reason != l->wait_reason)
		return "the wait reason";
	if (!s->gopc || !s->start_pc || (l->parent_goid && !s->parent_goid))
		return "where a goroutine was started";
	return NULL;
}

/* The runtime's functions that are needed, GO_PARK first. */
static const char *const point_names[OBJFILE_GO_POINTS][2] = {
	[WCBPF_SITE_GO_PARK - WCBPF_SITE_GO_PARK] = { "runtime.gopark" },
	[WCBPF_SITE_GO_READY - WCBPF_SITE_GO_PARK] = { "runtime.ready" },
	[WCBPF_SITE_GO_STATUS - WCBPF_SITE_GO_PARK] = { "runtime.casgstatus" },
	[WCBPF_SITE_GO_EXECUTE - WCBPF_SITE_GO_PARK] = { "runtime.execute" },
	[WCBPF_SITE_GO_BORN - WCBPF_SITE_GO_PARK] = { "runtime.newproc1" },
	[WCBPF_SITE_GO_DEATH - WCBPF_SITE_GO_PARK] = { "runtime.gdestroy", "runtime.goexit0" },
	[WCBPF_SITE_GO_NETREADY - WCBPF_SITE_GO_PARK] = { "runtime.netpollready" },
};

static int find_points(const struct objfile_go *g, struct objfile_go_function *f, struct objfile_why *ret_why)
{
	for (size_t i = 0; i < OBJFILE_GO_POINTS; i++) {
		int err = objfile_go_function_named(g, point_names[i][0], &f[i]);

		if (err == -ENOENT && point_names[i][1])
			err = objfile_go_function_named(g, point_names[i][1], &f[i]);
		if (err == -ENOENT)
			return why(ret_why, -ENOTSUP, "its runtime has no function %s", point_names[i][0]);
		if (err)
			return err;
	}
	return 0;
}

static int compare(const struct objfile *o, const struct objfile_go_function *f, const struct go_layout *known,
		   size_t known_n, struct objfile_go_runtime *r, struct objfile_why *ret_why)
{
	const char *differs = NULL;

	for (size_t i = known_n; i--;) {
		struct seen s = { .status = -1, .curg = -1, .wait_reason = -1, .stores_of = &known[i].layout };
		int err = each_insn(o, &f[WCBPF_SITE_GO_STATUS - WCBPF_SITE_GO_PARK], look_in_casgstatus, &s);

		if (!err)
			err = each_insn(o, &f[0], look_in_gopark, &s);
		if (!err)
			err = each_insn(o, &f[WCBPF_SITE_GO_BORN - WCBPF_SITE_GO_PARK], look_in_newproc1, &s);
		if (err)
			return err;
		differs = difference(&s, &known[i].layout);
		if (!differs) {
			r->layout = known[i].layout;
			return 0;
		}
	}
	return why(ret_why, -ENOTSUP, "its runtime isn't as Go 1.%u's is known to be: %s lies elsewhere", r->minor,
		   differs);
}

/* Where the table of names may be, and its length: of waitReason.String(). */
struct table {
	uint64_t at[4];
	size_t at_n, n;
};

static int find_table(const struct objfile *o, const struct objfile_go_function *f, struct table *ret)
{
	uint8_t code[512];
	size_t n = f->end - f->start < sizeof(code) ? f->end - f->start : sizeof(code);
	struct insn_full i;

	*ret = (struct table){ 0 };
	if (objfile_read_vaddr(o, f->start, code, n))
		return -EBADMSG;
	for (size_t at = 0; at < n && !insn_decode(code + at, n - at, f->start + at, &i); at += i.brief.len) {
		ZyanU64 address;

		if (i.raw.mnemonic == ZYDIS_MNEMONIC_CMP && i.operands[0].type == ZYDIS_OPERAND_TYPE_REGISTER &&
		    i.operands[0].reg.value == ZYDIS_REGISTER_AL &&
		    i.operands[1].type == ZYDIS_OPERAND_TYPE_IMMEDIATE && !ret->n)
			ret->n = (uint8_t)i.operands[1].imm.value.u;
		if (i.raw.mnemonic == ZYDIS_MNEMONIC_LEA && i.operands[1].mem.base == ZYDIS_REGISTER_RIP &&
		    ret->at_n < sizeof(ret->at) / sizeof(*ret->at) &&
		    ZYAN_SUCCESS(ZydisCalcAbsoluteAddress(&i.raw, &i.operands[1], i.brief.vaddr, &address)))
			ret->at[ret->at_n++] = address;
	}
	return ret->n && ret->n <= REASONS_MAX && ret->at_n ? 0 : -ENOENT;
}

static void reasons_free(char **v, size_t n)
{
	for (size_t i = 0; v && i < n; i++)
		free(v[i]);
	free(v);
}

/* n strings at vaddr, as pointer and length each. NULL: it is something else. */
static char **read_strings(struct objfile *o, uint64_t vaddr, size_t n)
{
	uint64_t words[2 * REASONS_MAX];
	char **v = NULL;

	if (vaddr % 8 || go_words_read(o, vaddr, words, 2 * n))
		return NULL;
	v = calloc(n, sizeof(*v));
	for (size_t i = 0; v && i < n; i++) {
		char text[REASON_BYTES_MAX + 1] = "";
		uint64_t len = words[2 * i + 1];

		if (len > REASON_BYTES_MAX || (len && objfile_read_vaddr(o, words[2 * i], text, len)) ||
		    strlen(text) != len || !(v[i] = strdup(text))) {
			reasons_free(v, n);
			return NULL;
		}
	}
	/* Number 2 is this one in all releases. */
	if (v && n > 2 && !*v[0] && !strcmp(v[2], "IO wait"))
		return v;
	reasons_free(v, v ? n : 0);
	return NULL;
}

static void read_reasons(struct objfile *o, const struct objfile_go *g, struct objfile_go_runtime *r)
{
	struct objfile_go_function f;
	struct table table;

	if (objfile_go_function_named(g, "runtime.waitReason.String", &f) || find_table(o, &f, &table))
		return;
	for (size_t i = 0; !r->reasons && i < table.at_n; i++)
		r->reasons = read_strings(o, table.at[i], table.n);
	r->reason_n = r->reasons ? (uint32_t)table.n : 0;
}

int objfile_go_runtime(struct objfile *o, const struct objfile_go *g, struct objfile_go_runtime *ret,
		       struct objfile_why *ret_why)
{
	struct objfile_go_function f[OBJFILE_GO_POINTS];
	struct objfile_go_runtime r = { 0 };
	const struct go_layout *known;
	size_t known_n;
	GElf_Ehdr ehdr;
	int err;

	if (!objfile_elf(o) || !gelf_getehdr(objfile_elf(o), &ehdr) || ehdr.e_machine != EM_X86_64)
		return why(ret_why, -ENOTSUP, "only x86_64's code is understood");
	if (!go_minor_version(g->version, &r.minor))
		return why(ret_why, -ENOTSUP, "it doesn't tell which Go built it");
	known_n = go_layouts_of(r.minor, &known);
	if (!known_n)
		return why(ret_why, -ENOTSUP, "the runtime of %s isn't known", g->version);
	err = find_points(g, f, ret_why);
	if (!err)
		err = compare(o, f, known, known_n, &r, ret_why);
	if (err)
		return err;
	for (size_t i = 0; i < OBJFILE_GO_POINTS; i++)
		r.points[i] = f[i].start;
	read_reasons(o, g, &r);
	*ret = r;
	return 0;
}
